"""Audits: exact curves of listed laws, and black-box bounds that break what is broken and spare what is not.

False alarms: an audit at the default confidence errs with probability 1e-6 at most; tests that need power have
margins of four standard deviations or more.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from support.refusals import expect_code, raises_code

import privet as pv
from privet.audits import Audit, Check, Checks, Claim, Rows, Witness, audit, exact_delta, exact_epsilon, privacy_curve
from privet.core.exponential import exp_enclosure
from privet.core.laws import DiscreteGaussian, DiscreteLaplace, Law
from privet.errors import InvalidInputError
from privet.estimates.calibration import gaussian_delta, gaussian_for
from privet.stats import binomial

BITS = 300
Probabilities = dict[Any, Fraction]


def noise_at(law: Law, center: int, reach: int) -> Probabilities:
    """The noise law around `center`, each probability rounded down: f at its low end over the sum at its high end."""
    heights = {x: exp_enclosure(law.exponent(x), BITS) for x in range(-reach, reach + 1)}
    fall = law.exponent(reach + 1) - law.exponent(reach)
    tail = Fraction(heights[reach][1] << BITS, (1 << BITS) - exp_enclosure(fall, BITS)[1])  # a geometric series
    total = sum(high for _, high in heights.values()) + 2 * tail
    return {center + x: low / total for x, (low, _) in heights.items()}


def clamped_geometric(center: int) -> Probabilities:
    """P[x] = 2**-|x - center| / 3 and the tails at the ends 0 and 10: sums to 1 exactly."""
    law: Probabilities = {}
    for x in range(center - 60, center + 61):
        place = min(max(x, 0), 10)
        law[place] = law.get(place, Fraction(0)) + Fraction(1, 3 * 2 ** abs(x - center))
    rest = (1 - sum(law.values())) / 2
    law[0] += rest
    law[10] += rest
    return law


def uniform(center: int) -> Probabilities:
    return {center + x: Fraction(1, 7) for x in range(-3, 4)}


# --- exact curves ---


def test_geometric_has_exactly_its_epsilon() -> None:
    p, q = clamped_geometric(4), clamped_geometric(5)
    epsilon = exact_epsilon(p, q)
    assert epsilon.missing == 0
    assert epsilon.low <= math.log(2) <= epsilon.high
    assert epsilon.high - epsilon.low < 1e-15
    assert exact_delta(p, q, factor=2).high == 0
    below = exact_delta(p, q, factor=Fraction(3, 2))
    assert below.low == below.high == Fraction(1, 6)  # P[x <= 4] = 2/3 against 1/3


@pytest.mark.parametrize(("scale", "epsilon"), [("1", 1), ("1/2", 2), ("5/2", Fraction(2, 5)), ("10", Fraction(1, 10))])
def test_discrete_laplace_has_its_epsilon_although_its_tails_are_cut(scale: str, epsilon: Fraction) -> None:
    law = DiscreteLaplace(Fraction(scale))
    reach = math.ceil(40 * law.scale)
    p, q = noise_at(law, 0, reach), noise_at(law, 1, reach)
    pure = exact_epsilon(p, q)
    assert epsilon - Fraction(1, 10**15) < pure.low <= epsilon
    assert pure.high == math.inf  # what is missing might be disjoint
    close = exact_epsilon(p, q, delta=Fraction(1, 10**15))
    assert abs(close.low - float(epsilon)) < 1e-13
    assert abs(close.high - float(epsilon)) < 1e-13
    assert 0 < close.missing < Fraction(1, 10**15)


@pytest.mark.parametrize(("sigma", "sensitivity", "epsilon"), [("2", 1, 1), ("3.7", 2, "0.3"), ("0.8", 1, 3)])
def test_discrete_gaussian_has_its_delta(sigma: str, sensitivity: int, epsilon: object) -> None:
    law = DiscreteGaussian(Fraction(sigma) ** 2)
    p, q = noise_at(law, 0, 50), noise_at(law, sensitivity, 50)
    found = exact_delta(p, q, epsilon)
    known = gaussian_delta(law, sensitivity, Fraction(epsilon))
    assert found.low <= known
    assert abs(known - found.low) < Fraction(1, 10**30)
    assert abs(known - found.high) < Fraction(1, 10**30)


def test_randomized_response() -> None:
    """Warner's: the truth with probability 3/4, so that e**epsilon is 3."""
    p, q = {"yes": Fraction(3, 4), "no": Fraction(1, 4)}, {"yes": "0.25", "no": 0.75}
    assert exact_delta(p, q, factor=3).high == 0
    assert exact_delta(p, q, factor=1).low == exact_delta(p, q, 0).high == Fraction(1, 2)
    epsilon = exact_epsilon(p, q)
    assert epsilon.low <= math.log(3) <= epsilon.high <= math.nextafter(epsilon.low, 2) + 1e-15
    half = exact_epsilon(p, q, delta=Fraction(1, 2))
    assert half.low == half.high == 0


def test_uniform_noise_is_not_private() -> None:
    """C6: the ends of the support give it away, at any epsilon."""
    assert exact_epsilon(uniform(0), uniform(1)).low == math.inf
    for factor in (1, 5, 10**9):
        assert exact_delta(uniform(0), uniform(1), factor=factor).low == Fraction(1, 7)
    assert exact_epsilon(uniform(0), uniform(1), delta=Fraction(1, 7)).high == 0
    assert exact_epsilon(uniform(0), uniform(1), delta=Fraction(1, 8)).low == math.inf


def test_disjoint_supports() -> None:
    p, q = {0: 1}, {1: 1}
    assert exact_delta(p, q, 1000).low == 1
    assert exact_epsilon(p, q, delta=Fraction(999, 1000)).low == math.inf
    assert exact_epsilon(p, q, delta=1).high == 0
    assert exact_epsilon(p, p).high == 0
    assert exact_delta(p, {0: 1, 5: 0}, 0).high == 0


def test_missing_mass_widens_the_bounds() -> None:
    p, q = {0: Fraction(1, 2), 1: Fraction(2, 5)}, {0: Fraction(1, 4), 1: Fraction(7, 10)}
    found = exact_delta(p, q, factor=1)
    assert found.missing == Fraction(1, 10)
    assert found.low == Fraction(3, 10) - Fraction(1, 10)  # {1} is likelier under q, but p may hide a tenth there
    assert found.high == Fraction(3, 10) + Fraction(1, 20)
    assert exact_delta({0: "0.1"}, {1: "0.1"}, 1).high == 1
    assert exact_delta({0: "0.1"}, {1: "0.1"}, 1).low == 0


def test_extreme_likelihood_ratios_have_certified_logarithms() -> None:
    tiny, hair = Fraction(1, 10**350), Fraction(1, 10**60)
    epsilon = exact_epsilon({0: 1 - tiny, 1: tiny}, {0: tiny, 1: 1 - tiny})
    assert abs(epsilon.low - 350 * math.log(10)) < 1e-9
    assert 0 <= epsilon.high - epsilon.low < 1e-9
    half = Fraction(1, 2)
    near = exact_epsilon({0: half + hair, 1: half - hair}, {0: half, 1: half})
    assert 0 <= near.low <= 2e-60 <= near.high < 1e-30


def test_a_curve_is_delta_at_each_epsilon() -> None:
    p, q = clamped_geometric(4), clamped_geometric(5)
    epsilons = [0, "0.1", 0.5, 1]
    curve = privacy_curve(p, q, epsilons)
    assert curve == [exact_delta(p, q, epsilon) for epsilon in epsilons]
    assert [point.high for point in curve] == sorted((point.high for point in curve), reverse=True)
    assert curve[0].low == curve[0].high == Fraction(1, 3)
    assert 0 < curve[1].high - curve[1].low < Fraction(1, 10**30)


@st.composite
def laws(draw: st.DrawFn) -> Probabilities:
    """Over a, b, c, d and e, with some of the mass missing or not."""
    weights = draw(st.lists(st.integers(0, 9), min_size=5, max_size=5).filter(any))
    total = sum(weights) + draw(st.sampled_from([0, 0, 1]))
    return {name: Fraction(weight, total) for name, weight in zip("abcde", weights, strict=True) if weight}


FACTORS = st.fractions(1, 20, max_denominator=12)


@settings(max_examples=100)
@given(laws(), laws(), FACTORS)
def test_both_directions_count(p: Probabilities, q: Probabilities, factor: Fraction) -> None:
    assert exact_delta(p, q, factor=factor) == exact_delta(q, p, factor=factor)
    assert exact_epsilon(p, q) == exact_epsilon(q, p)


@settings(max_examples=100)
@given(laws(), laws(), FACTORS)
def test_delta_is_the_largest_gap_over_all_sets(p: Probabilities, q: Probabilities, factor: Fraction) -> None:
    """By brute force over the 32 sets, with the missing mass put on one more output: a possible truth."""
    p, q = {**p, "p only": 1 - sum(p.values())}, {**q, "q only": 1 - sum(q.values())}
    names = sorted({*p, *q})
    sets = [[name for i, name in enumerate(names) if chosen >> i & 1] for chosen in range(1 << len(names))]
    gaps = [(sum(p.get(x, 0) for x in s), sum(q.get(x, 0) for x in s)) for s in sets]
    truth = max(max(a - factor * b, b - factor * a) for a, b in gaps)
    found = exact_delta(p, q, factor=factor)
    assert found.low == truth == found.high
    short = exact_delta(
        {k: v for k, v in p.items() if k != "p only"}, {k: v for k, v in q.items() if k != "q only"}, factor=factor
    )
    assert short.low <= truth <= short.high


@settings(max_examples=100)
@given(laws(), laws(), FACTORS, st.lists(st.integers(0, 2), min_size=5, max_size=5))
def test_post_processing_never_increases(p: Probabilities, q: Probabilities, factor: Fraction, to: list[int]) -> None:
    def processed(law: Probabilities) -> Probabilities:
        merged: Probabilities = {}
        for name, value in law.items():
            place = to["abcde".index(name)]
            merged[place] = merged.get(place, Fraction(0)) + value
        return merged

    before, after = exact_delta(p, q, factor=factor), exact_delta(processed(p), processed(q), factor=factor)
    assert after.low <= before.low
    assert after.high <= before.high
    assert exact_epsilon(processed(p), processed(q)).high <= exact_epsilon(p, q).high


@settings(max_examples=100)
@given(laws(), laws(), st.fractions(0, 1, max_denominator=20))
def test_epsilon_and_delta_are_inverse(p: Probabilities, q: Probabilities, delta: Fraction) -> None:
    epsilon = exact_epsilon(p, q, delta)
    assert 0 <= epsilon.low <= epsilon.high
    if epsilon.high < math.inf:
        assert exact_delta(p, q, Fraction(epsilon.high)).high <= delta
    if 1e-9 < epsilon.low < math.inf:
        assert exact_delta(p, q, Fraction(epsilon.low) * (1 - Fraction(1, 10**12))).high > delta


GOOD = {0: Fraction(1)}


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        (lambda: exact_delta(GOOD, GOOD), "not-exactly-one: factor"),
        (lambda: exact_delta(GOOD, GOOD, 1, factor=2), "not-exactly-one: factor"),
        (lambda: exact_delta(GOOD, GOOD, -1), "too-small: epsilon … least 0"),
        (lambda: exact_delta(GOOD, GOOD, 1001), "too-large: 1000"),
        (lambda: exact_delta(GOOD, GOOD, factor="1/2"), "too-small: factor … least 1"),
        (lambda: exact_delta(GOOD, GOOD, "x"), "not-a-number: epsilon"),
        (lambda: exact_epsilon(GOOD, GOOD, -1), "too-small: delta … least 0"),
        (lambda: exact_epsilon({}, GOOD), "wrong-type: p must … mapping"),
        (lambda: exact_epsilon(GOOD, [1]), "wrong-type: q … mapping"),
        (lambda: exact_epsilon({0: float("nan")}, GOOD), "not-finite: probability"),
        (lambda: exact_epsilon({0: -0.5, 1: 1}, GOOD), "negative"),
        (lambda: exact_epsilon(GOOD, {0: 0.5, 1: 0.6}), "too-large: than 1"),
        (lambda: privacy_curve(GOOD, GOOD, [0, None]), "not-a-number: epsilon"),
    ],
)
def test_bad_laws_get_one_clear_error(call: Callable[[], object], problem: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        call()
    expect_code(problem, caught.value)
    assert caught.value.remedy


# --- Clopper–Pearson ---


@pytest.mark.parametrize("draws", [1, 2, 17, 1000, 375_000, 10_000_000])
@pytest.mark.parametrize("miss", [0.3, 1e-3, 1e-9])
def test_bounds_agree_with_scipy_and_round_outward(draws: int, miss: float) -> None:
    shares = (0, 1e-5, 0.01, 0.27, 0.5, 0.73, 0.999)
    for hits in sorted({*(int(share * draws) for share in shares), min(3, draws), draws - 1, draws}):
        high = binomial.upper(hits, draws, miss)
        low = binomial.lower(hits, draws, miss)
        known_high = stats.beta.isf(miss, hits + 1, draws - hits) if hits < draws else 1.0
        known_low = stats.beta.ppf(miss, hits, draws - hits + 1) if hits else 0.0
        assert -1e-14 < high - known_high < 1e-10  # scipy rounds to nearest
        assert -1e-14 < known_low - low < 1e-10
        assert 0 <= low <= hits / draws <= high <= 1


def test_zero_hits_have_their_formula() -> None:
    assert math.isclose(binomial.upper(0, 1000, 0.05), 1 - 0.05**0.001, rel_tol=1e-9)
    assert binomial.lower(0, 1000, 0.05) == 0
    assert binomial.upper(1000, 1000, 0.05) == 1


@pytest.mark.parametrize("draws", [1, 5, 20, 60])
def test_coverage_by_enumeration(draws: int) -> None:
    """For every p of a grid: the exact probability of the counts whose bound is wrong is at most `miss`."""
    miss = 0.01
    hits = np.arange(draws + 1)
    lows = np.array([binomial.lower(int(k), draws, miss) for k in hits])
    highs = np.array([binomial.upper(int(k), draws, miss) for k in hits])
    worst = 0.0
    for p in np.concatenate([np.linspace(0, 1, 1001), lows - 1e-12, highs + 1e-12]).clip(0, 1):
        weights = stats.binom.pmf(hits, draws, p)
        for wrong in (lows > p, highs < p):
            assert weights[wrong].sum() <= miss * (1 + 1e-9)
            worst = max(worst, weights[wrong].sum())
    assert worst > 0.99 * miss  # and no wider than need be, right beside a bound


# --- the black-box audit ---


def laplace(scale: object) -> Callable[[int, int], np.ndarray]:
    return lambda data, size: data + pv.noise.discrete_laplace(scale, size)


def test_our_laplace_is_certified_up_to_98_percent() -> None:
    """With a million draws the bound is 0.991 with a deviation of 0.0018: below 0.98 once in 1e9 audits."""
    found = audit(laplace(1), Claim(epsilon=1), (0, 1), samples=1_000_000)
    assert 0.98 <= found.lower_bound <= 1
    seen = "able to see 1.5 times the claim in outputs with a probability of about 0.16 % or more"
    assert found.verdict == f"consistent up to {math.floor(found.ceiling * 100) / 100:.2f} on the pair given, {seen}"
    assert not found.violated
    assert 11 < found.ceiling < 11.5
    assert found.samples == 1_000_000
    assert found.seconds > 0


def test_uniform_noise_is_flagged() -> None:
    generator = np.random.default_rng()
    found = audit(lambda data, size: data + generator.integers(-3, 4, size), Claim(1), (0, 1))
    assert found.verdict == "violated"
    assert found.lower_bound > 1.5
    assert found.samples < 2000  # of 1,000,000: it stops at the first violation
    assert found.witness.neighbors == ("0", "1")


def test_float_laplace_is_flagged_by_its_last_bits() -> None:
    """Mironov 2012: 1 + noise is always a multiple of 2**-53, 0 + noise is not."""
    generator = np.random.default_rng()
    found = audit(lambda data, size: data + generator.laplace(size=size), Claim(1), (0.0, 1.0), samples=100_000)
    assert found.violated
    assert found.lower_bound > 2
    assert found.method == "last bits of output"
    assert "2^-" in found.witness.event  # which bits are named is up to the draws
    assert found.witness.hits[1] == 0


def test_half_the_noise_is_flagged() -> None:
    found = audit(laplace("1/2"), Claim(1), (0, 1), samples=20_000)
    assert found.violated
    assert 1.2 < found.lower_bound <= 2


def test_a_fifth_too_little_noise_is_flagged() -> None:
    found = audit(laplace("5/6"), Claim(1), (0, 1))
    assert found.violated
    assert 1 < found.lower_bound <= 1.2


def test_a_delta_that_is_too_small_is_flagged() -> None:
    """Uniform noise is (0, 1/7)-DP and no better: delta counts."""
    generator = np.random.default_rng()

    def noise(data: int, size: int) -> np.ndarray:
        return data + generator.integers(-3, 4, size)

    assert audit(noise, Claim(1, 0.12), (0, 1), samples=100_000).violated
    assert not audit(noise, Claim(1, Fraction(1, 7)), (0, 1), samples=100_000).violated


def gaussian(data: int, size: int) -> np.ndarray:
    sigma = Fraction(math.isqrt(int(gaussian_for(Fraction(1), Fraction(1, 100), 1).variance * 10**12)) + 1, 10**6)
    return data + pv.noise.discrete_gaussian(sigma, size)


def response(data: int, size: int) -> np.ndarray:
    return pv.noise.randomized_response(np.full(size, data), categories=3, epsilon=1)


def winner(data: list[int]) -> int:
    return pv.noise.noisy_max(data, epsilon=1, sensitivity=1, monotone=True)


@pytest.mark.proof
@pytest.mark.parametrize(
    ("mechanism", "claim", "neighbors", "samples", "repetitions"),
    [
        (laplace(1), Claim(1), (0, 1), 20_000, 20),
        (laplace(100), Claim("0.01"), (0, 1), 20_000, 20),
        (gaussian, Claim(1, Fraction(1, 100)), (0, 1), 20_000, 20),
        (response, Claim(1), (0, 2), 20_000, 20),
        (winner, Claim(1), ([1, 0, 0], [0, 0, 0]), 1000, 20),
    ],
    ids=["laplace", "wide laplace", "gaussian", "randomized response", "noisy max"],
)
def test_what_is_private_is_never_flagged(
    mechanism: Callable[..., Any], claim: Claim, neighbors: tuple[Any, Any], samples: int, repetitions: int
) -> None:
    for _ in range(repetitions):
        found = audit(mechanism, claim, neighbors, samples=samples)
        assert not found.violated, str(found)


def test_confidence_is_kept_where_it_can_be_seen() -> None:
    """At confidence 0.5 the true bound is missed in well under half of 60 audits (far fewer: bounds are joint)."""
    wrong = sum(audit(laplace(1), Claim(1), (0, 1), samples=1000, confidence=0.5).violated for _ in range(60))
    assert wrong <= 30


def test_outputs_of_every_kind() -> None:
    generator = np.random.default_rng()

    def biased(data: float, size: int) -> np.ndarray:
        return generator.random(size) < data

    kinds: list[Callable[[np.ndarray], Any]] = [
        lambda bits: bits,
        lambda bits: np.where(bits, "yes", "no"),
        lambda bits: bits.tolist(),
        lambda bits: [("yes", 1) if bit else None for bit in bits],
        lambda bits: [2**70 if bit else 0 for bit in bits],
        lambda bits: [0.5 if bit else 1 for bit in bits],
        lambda bits: tuple(Fraction(1, 3) if bit else Fraction(1) for bit in bits),
        lambda bits: bits.astype(np.float32) * 0.1,
        lambda bits: np.where(bits, np.inf, -np.inf),
        lambda bits: bits.astype(np.uint64),
        lambda bits: bits.tolist() if bits.sum() % 2 else ["some text", *bits.tolist()[1:]],
    ]
    for kind in kinds:
        found = audit(
            lambda data, size, kind=kind: kind(biased(data, size)), Claim(1), (0.1, 0.9), samples=4000, batch=True
        )
        assert 1.4 < found.lower_bound < math.log(9), str(found)


def test_the_bound_holds_in_both_orders() -> None:
    def rare(data: float, size: int) -> np.ndarray:
        return np.random.default_rng().random(size) < data

    for neighbors, likelier in (((0.001, 0.05), 1), ((0.05, 0.001), 0)):
        found = audit(rare, Claim(1), neighbors, samples=40_000)
        assert found.violated
        assert found.witness.likelier == likelier
        assert found.witness.hits[0] > found.witness.hits[1]


def test_a_constant_mechanism_says_nothing() -> None:
    found = audit(lambda _, size: np.zeros(size), Claim(1), (0, 1), samples=1000)
    assert found.lower_bound == 0
    assert found.verdict.startswith("consistent up to ")


def test_too_few_samples_are_inconclusive() -> None:
    found = audit(laplace(1), Claim(5), (0, 1), samples=1000)
    assert found.verdict == "inconclusive"
    assert found.rarest > 0.99
    assert "Take more samples" in str(found)
    assert audit(laplace(1), Claim(1000, 0.9999), (0, 1), samples=1000).ceiling == 0


def result(lower_bound: float, ceiling: float = 9.999) -> Audit:
    witness = Witness("output is 4", 1, (1234, 0), 3000)
    return Audit(
        claim=Claim(1), lower_bound=lower_bound, confidence=0.999999, ceiling=ceiling,
        rarest=1.5e-4, witness=witness, samples=4000, seconds=0.25,
    )  # fmt: skip


def test_results_read_well() -> None:
    assert str(result(0.9876)) == (
        "consistent up to 9.99: nothing seen contradicts the claim of epsilon = 1, delta = 0; epsilon is at least "
        "0.987 (confidence 0.999999): “output is 4” came up in 1,234 of 3,000 draws on the second data set and in 0 on "
        "the first. This is not a proof: only this pair of data sets and a few events were tried, and a leak in "
        "outputs with a probability below 1.5e-04 would not have been seen (4,000 draws a data set, 0.2 s)."
    )
    assert str(result(8.08)).startswith(
        "violated: the claim of epsilon = 1, delta = 0 is false; epsilon is at least 8.0"
    )
    assert result(1.0).verdict == "consistent up to 9.99"  # the claim itself
    for text in (str(result(0.5)), str(result(2.0)), str(result(0.5, 0.9))):
        assert "proved" not in text
        assert "\n" not in text


def test_results_as_json() -> None:
    data = result(1.5).to_json()
    assert data["verdict"] == "violated"
    assert data["witness"] == {
        "event": "output is 4",
        "likelier": 1,
        "hits": [1234, 0],
        "draws": 3000,
        "neighbors": ["", ""],
    }
    assert data["claim"] == {"epsilon": 1.0, "delta": 0.0}


def odd_once() -> Callable[[int, int], Any]:
    """Raises when asked for many, and returns a number when asked for one."""

    def mechanism(_: int, size: int) -> int:
        return 7 if size == 1 else 1 // 0

    return mechanism


def test_checks_of_one_subject() -> None:
    fine = Check(name="a", verdict="consistent", says="3 of 3")
    open_ = Check(name="b", verdict="inconclusive", says="too few", figures={"n": 2})
    bad = Check(name="c", verdict="violated", says="4 of 3")
    assert [Checks(subject="s", checks=some).verdict for some in ((fine,), (fine, open_), (fine, open_, bad))] == [
        "consistent", "inconclusive", "violated",
    ]  # fmt: skip
    found = Checks(subject="s", checks=(fine, bad), not_tested=("time",))
    assert found.violated
    assert str(found).splitlines() == [
        "violated: s", "  consistent   a: 3 of 3", "  violated     c: 4 of 3", "  not tested   time",
    ]  # fmt: skip
    data = found.to_json()
    assert data["checks"][1] == {"name": "c", "verdict": "violated", "says": "4 of 3", "figures": {}}


def test_a_discrete_gaussian_is_bounded_within_5_percent() -> None:
    """At delta 1/100 with two million draws: 0.975 of the truth with a deviation of 0.005, so five deviations."""
    sigma = Fraction(math.isqrt(int(gaussian_for(Fraction(1), Fraction(1, 100), 1).variance * 10**12)) + 1, 10**6)
    laws = [noise_at(DiscreteGaussian(sigma**2), center, 40) for center in (0, 1)]
    truth = exact_epsilon(*laws, "0.01")
    found = audit(gaussian, Claim(1, "0.01"), (0, 1), samples=2_000_000)
    assert 0.95 * truth.high < found.lower_bound <= truth.low


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"claim": 1}, "wrong-type: not 1"),
        ({"neighbors": (1, 2, 3)}, "wrong-shape: neighbors"),
        ({"neighbors": "ab"}, "wrong-shape: neighbors"),
        ({"neighbors": []}, "wrong-shape: neighbors"),
        ({"neighbors": "search", "domain": 3}, "wrong-type: not 3"),
        ({"domain": Rows([0, 1])}, "contradictory-options"),
        ({"samples": 999}, "too-small: 1000"),
        ({"samples": 1e6}, "not-whole"),
        ({"seconds": 0}, "not-positive: seconds … above 0"),
        ({"confidence": 1}, "out-of-range: 0.5 … below 1"),
        ({"confidence": 0.1}, "out-of-range: 0.5 … below 1"),
        ({"mechanism": 3}, "not-callable: mechanism … callable"),
        ({"mechanism": lambda data: data, "batch": True}, "not-callable: size"),
        ({"batch": False}, "not-callable: called"),
        ({"mechanism": lambda data, _: data}, "wrong-output: 12 … returned 0"),
        ({"mechanism": lambda _, size: np.zeros((2, size))}, "wrong-output: 12 … shape … 2,"),
        ({"mechanism": lambda _, size: [0] * (size + 1)}, "wrong-output: 13"),
        ({"mechanism": max, "batch": True}, "wrong-output: returned 12"),  # hides its arguments
        ({"mechanism": lambda data: data[0]}, "code-fails: TypeError … 'int'"),
        ({"mechanism": lambda data, size: data[size]}, "code-fails: TypeError … 'int'"),
        ({"mechanism": odd_once()}, "wrong-output: for 1 outputs … returned 7"),
    ],
)
def test_bad_audits_get_one_clear_error(change: dict[str, Any], problem: str) -> None:
    asked = {"mechanism": laplace(1), "claim": Claim(1), "neighbors": (0, 1), "samples": 1000, **change}
    with pytest.raises(InvalidInputError) as caught:
        audit(asked.pop("mechanism"), asked.pop("claim"), asked.pop("neighbors"), **asked)
    expect_code(problem, caught.value)
    assert caught.value.remedy


@pytest.mark.parametrize(("epsilon", "delta"), [(0, 0), (-1, 0), (math.inf, 0), ("x", 0), (1, 1), (1, -0.1), (1, None)])
def test_bad_claims_get_one_clear_error(epsilon: object, delta: object) -> None:
    with raises_code(InvalidInputError, "not-a-number|not-finite|not-positive|out-of-range"):
        Claim(epsilon, delta)

"""Grey-box replay: small programs with one mistake each, and their correct twins."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction as F
from typing import Any

import numpy as np
import pytest
from mpmath import mp
from mpmath import mpf as real
from support.refusals import raises_code

import privet as pv
from privet.audits import Checks, Claim, Recorder, costs, replay
from privet.audits.replay import pairs_of
from privet.audits.verdict import CONSISTENT, INCONCLUSIVE, VIOLATED
from privet.errors import InvalidInputError

DATA = ([3, 7, 7, 1], [3, 7, 7])
ONE = Claim(epsilon=1)
Program = Callable[[Any, Recorder], Any]


def verdicts(found: Checks) -> dict[str, str]:
    return {check.name: check.verdict for check in found.checks}


def said(found: Checks, name: str) -> str:
    return next(check.says for check in found.checks if check.name == name)


# Correct programs


def count(data: list[int], r: Recorder) -> float:
    return float(r.laplace(len(data), sensitivity=1, scale=1))


def histogram(data: list[int], r: Recorder) -> Any:
    return r.geometric([data.count(n) for n in range(9)], sensitivity=1, scale=1)


def one_by_one(data: list[int], r: Recorder) -> list[float]:
    """Each row is in one cell: parallel composition, though the declared prices add up to 9."""
    return [r.laplace(data.count(n), sensitivity=1, scale=1) for n in range(9)]


def clipped_mean(data: list[int], r: Recorder) -> float:
    total = r.laplace(sum(min(x, 5) for x in data), sensitivity=5, scale=10)
    size = r.laplace(len(data), sensitivity=1, scale=2)
    return float(total / max(size, 1))


def adaptive(data: list[int], r: Recorder) -> Any:
    """What is asked second depends on what the first gave, and on nothing else."""
    size = r.laplace(len(data), sensitivity=1, scale=2)
    if size > 3.5:
        return size, r.laplace(sum(min(x, 5) for x in data), sensitivity=5, scale=10)
    return size, r.geometric(data.count(7), sensitivity=1, scale=2)


def most_common(data: list[int], r: Recorder) -> int:
    return r.choose([data.count(n) for n in range(9)], sensitivity=1, epsilon=1, monotone=True)


def sparse(data: list[int], r: Recorder) -> int | None:
    return r.first_above([data.count(n) for n in range(9)], 2, sensitivity=1, epsilon=1)


def in_place(data: list[int], r: Recorder) -> Any:
    noisy = r.laplace([len(data), len(data)], sensitivity=2, scale=2)
    noisy -= 1.0
    return noisy


def staircase(data: list[int], r: Recorder) -> Any:
    draw = lambda: len(data) + float(np.random.default_rng().integers(-9, 9))  # noqa: E731
    return r.noisy(len(data), draw, kind="staircase", sensitivity=1, epsilon=1)


@pytest.mark.parametrize(
    "program",
    [count, histogram, one_by_one, clipped_mean, adaptive, most_common, sparse, in_place, staircase],
)
def test_correct_programs_are_not_flagged(program: Program) -> None:
    found = replay(program, ONE, DATA)
    assert set(verdicts(found).values()) == {CONSISTENT}, str(found)
    assert found.subject == f"replay of {program.__name__} against the claim of epsilon = 1, delta = 0"
    assert len(found.not_tested) == 2


# Broken ones: the check that must find it, and what it says


def wide(data: list[int], r: Recorder) -> float:
    return float(r.laplace(sum(data), sensitivity=1, scale=1))


def of_a_vector(data: list[int], r: Recorder) -> Any:
    """Two cells, each of sensitivity 1; together 2."""
    return r.laplace([len(data), len(data)], sensitivity=1, scale=1)


def mean_with_private_n(data: list[int], r: Recorder) -> float:
    return float(r.laplace(sum(min(x, 5) for x in data) / len(data), sensitivity=5 / len(data), scale=5 / len(data)))


def bounds_from_data(data: list[int], r: Recorder) -> float:
    return float(r.laplace(sum(data), sensitivity=10, scale=10 * max(data)))


def skips_the_noise(data: list[int], r: Recorder) -> float:
    return float(r.laplace(len(data), sensitivity=1, scale=1)) if len(data) > 3 else 0.0


def group_by(data: list[int], r: Recorder) -> dict[int, float]:
    return {n: r.laplace(data.count(n), sensitivity=1, scale=1) for n in sorted(set(data))}


def size_of_domain(data: list[int], r: Recorder) -> Any:
    return r.laplace([data.count(n) for n in sorted(set(data))], sensitivity=1, scale=1)


def another_mechanism(data: list[int], r: Recorder) -> float:
    if len(data) > 3:
        return float(r.laplace(len(data), sensitivity=1, scale=1))
    return float(r.geometric(len(data), sensitivity=1, scale=1))


def clamped_and_raw(data: list[int], r: Recorder) -> tuple[float, int]:
    return r.laplace(len(data), sensitivity=1, scale=1), sum(data)


def fails_on_some(data: list[int], r: Recorder) -> float:
    noisy = r.laplace(len(data), sensitivity=1, scale=1)
    if 1 not in data:
        raise ValueError("no row has a 1")
    return float(noisy)


def not_monotone(data: list[int], r: Recorder) -> int:
    return r.choose([len(data), -len(data)], sensitivity=1, epsilon=1, monotone=True)


def not_a_number(data: list[int], r: Recorder) -> float:
    return float(r.laplace(math.nan if 1 in data else 3.0, sensitivity=1, scale=1))


LINE = r"\(laplace, line \d+ of "
BROKEN = [
    (wide, "distances", r"request 1 " + LINE + r"wide\): values 0 and 9 differ by 9; declared 1"),
    (of_a_vector, "distances", r"vectors of 2 are 2 apart \(l1\), the first difference is 4 and 3 at 0; declared 1"),
    (mean_with_private_n, "the same noise", r"sensitivity is 1\.25 on one data set and 1\.6\d* on the other"),
    (bounds_from_data, "the same noise", r"scale is 70 on one data set and 30 on the other"),
    (skips_the_noise, "the same requests", LINE + r"skips_the_noise\) is made on one data set only"),
    (group_by, "the same requests", r"request 3 " + LINE + r".*\) is made on one data set only"),
    (size_of_domain, "the same requests", r"laplace for 3 numbers \(line .* on one data set and laplace for 2"),
    (another_mechanism, "the same requests", r"laplace for one number .* geometric for one number"),
    (clamped_and_raw, "the output", r"it gives \(.*, 18\) on one data set and \(.*, 17\) on the other"),
    (fails_on_some, "the output", r"and ValueError: no row has a 1 on the other"),
    (not_monotone, "distances", "some scores rise and some fall; declared monotone"),
    (not_a_number, "distances", r"values nan and 3 differ by inf; declared 1"),
]  # fmt: skip


@pytest.mark.parametrize(("program", "name", "words"), BROKEN, ids=[program.__name__ for program, _, _ in BROKEN])
def test_broken_programs_are_found(program: Program, name: str, words: str) -> None:
    pairs: list[Any] = [([3, 3, 7], [3, 3])] if program is bounds_from_data else [DATA]
    if program is wide:
        assert not replay(program, ONE, DATA).violated  # a pair that does not show it
        pairs = [DATA, ([], [9])]
    found = replay(program, ONE, pairs)
    assert found.violated
    assert verdicts(found)[name] == VIOLATED, str(found)
    assert re.search(words, said(found, name)), said(found, name)


def test_a_branch_that_honest_noise_never_takes() -> None:
    """The second request is reached with a probability of exp(-25); ten times the noise gets there."""

    def rare(data: list[int], r: Recorder) -> Any:
        noisy = r.laplace(0, sensitivity=0, scale=1)
        return (noisy, sum(data)) if abs(noisy) > 25 else (noisy, 0)

    def often() -> Iterator[bool]:
        for _ in range(16):
            yield replay(rare, ONE, DATA, runs=64).violated

    assert any(often())  # missed with odds below 1e-9: 16 of 64 histories get there with probability exp(-2.5) each


# Prices


def twice(data: list[int], r: Recorder) -> Any:
    """Two outputs, each at the full epsilon."""
    return [r.laplace(len(data), sensitivity=1, scale=1) for _ in range(2)]


def noisy_max(data: list[int], r: Recorder) -> int:
    """Private, though the requests cost 2: the noisy counts do not get out."""
    return int(np.argmax([r.laplace(len(data) - n, sensitivity=1, scale=1) for n in range(2)]))


def vector(data: list[int], r: Recorder) -> Any:
    return r.gaussian([len(data), len(data)], sensitivity=math.sqrt(2), sigma=2)


def test_prices_that_add_up_to_more_than_the_claim() -> None:
    found = replay(twice, ONE, DATA)
    assert verdicts(found)["price"] == VIOLATED
    assert said(found, "price") == (
        "all requests together cost epsilon 2, and the output has every noisy value; the claim is 1"
    )
    assert found.checks[-1].figures == {"declared": 2, "moved": 2}
    assert verdicts(replay(twice, ONE, DATA, runs=1))["price"] == INCONCLUSIVE
    assert verdicts(replay(twice, Claim(epsilon=2), DATA))["price"] == CONSISTENT
    found = replay(noisy_max, ONE, DATA)
    assert verdicts(found)["price"] == INCONCLUSIVE
    assert "ask for it in one request, by choose, first_above or noisy" in said(found, "price")
    found = replay(one_by_one, ONE, DATA)
    assert "adds up to epsilon 9, but one person never moved more than 1 of it" in said(found, "price")
    assert verdicts(replay(twice, Claim(epsilon=1, delta=1e-9), DATA))["price"] == INCONCLUSIVE  # not attained


@pytest.mark.parametrize(
    ("claim", "verdict"),
    [
        (Claim(rho="0.25"), CONSISTENT), (Claim(rho="0.2"), VIOLATED),
        (Claim(mu="0.7072"), CONSISTENT), (Claim(mu="0.7"), VIOLATED),
        (Claim(epsilon=3, delta=1e-5), CONSISTENT), (Claim(epsilon=1, delta=1e-5), VIOLATED),
        (Claim(epsilon=5), VIOLATED),
    ],
)  # fmt: skip
def test_gaussian_noise_is_priced_exactly(claim: Claim, verdict: str) -> None:
    found = replay(vector, claim, DATA)
    assert verdicts(found) == {**dict.fromkeys(verdicts(found), CONSISTENT), "price": verdict}
    assert (found.checks[-1].figures["moved"] is None) == (claim.parameter == "epsilon" and not claim.delta)


def test_a_gaussian_that_is_too_wide_in_l2() -> None:
    found = replay(lambda data, r: r.gaussian([len(data)] * 4, sensitivity=1, sigma=1), Claim(rho=9), DATA)
    assert "two vectors of 4 are 2.0 apart (l2)" in said(found, "distances")
    assert "; declared 1" in said(found, "distances")


def test_the_price_of_any_other_law() -> None:
    def with_rho(data: list[int], r: Recorder) -> Any:
        return r.noisy(len(data), lambda: 0, kind="mine", sensitivity=1, norm="l2", rho="0.5")

    def with_delta(data: list[int], r: Recorder) -> Any:
        return r.noisy([len(data)], lambda: [0], kind="mine", sensitivity=1, norm="linf", epsilon=1, delta="1e-6")

    assert not replay(with_rho, Claim(rho="0.5"), DATA).violated
    assert verdicts(replay(with_rho, Claim(rho="0.4"), DATA))["price"] == INCONCLUSIVE
    assert verdicts(replay(with_rho, Claim(mu=9), DATA))["price"] == INCONCLUSIVE
    assert verdicts(replay(with_delta, Claim(epsilon=1, delta="1e-6"), DATA))["price"] == CONSISTENT
    assert verdicts(replay(with_delta, Claim(epsilon=1), DATA))["price"] == INCONCLUSIVE
    assert verdicts(replay(with_delta, Claim(rho=9), DATA))["price"] == INCONCLUSIVE
    changed = replay(lambda data, r: (with_rho if 1 in data else _otherwise)(data, r), Claim(rho=1), DATA)
    assert said(changed, "the same noise").endswith("norm is l2 on one data set and l1 on the other")
    changed = replay(lambda data, r: (_otherwise if 1 in data else _otherwise_again)(data, r), Claim(rho=1), DATA)
    assert said(changed, "the same noise").endswith("rho is 0.5 on one data set and None on the other")


def _otherwise(data: list[int], r: Recorder) -> Any:
    return r.noisy(len(data), lambda: 0, kind="mine", sensitivity=1, rho="0.5")


def _otherwise_again(data: list[int], r: Recorder) -> Any:
    return r.noisy(len(data), lambda: 0, kind="mine", sensitivity=1, epsilon="0.5")


def test_no_sensitivity_but_it_moves() -> None:
    found = replay(lambda data, r: r.choose([len(data), 0], sensitivity=0, epsilon=1), ONE, DATA)
    assert verdicts(found)["distances"] == VIOLATED
    assert verdicts(found)["price"] == CONSISTENT  # as declared it costs nothing


def test_composition_of_costs() -> None:
    gauss, laplace = costs.gaussian(F(1)), costs.pure(F(1, 10))
    claim = Claim(epsilon=1, delta=1e-6)
    alone = costs.together([gauss], claim)
    with mp.workdps(40):  # the Gaussian mechanism with sigma 1 has this delta there, by other arithmetic
        assert abs(mp.ncdf(0.5 - alone) - mp.exp(alone) * mp.ncdf(-0.5 - alone) - real("1e-6")) < 1e-18
    both = costs.together([gauss, laplace], claim)
    assert alone < both < alone + 0.1  # everything as one Gaussian is better than adding up
    many = costs.together([laplace] * 400, claim)
    assert many < 15  # not 40: mu is sqrt(400) * 0.125
    assert costs.together([laplace] * 3, Claim(epsilon=1)) == pytest.approx(0.3)
    assert costs.together([costs.AuditCost(rho=F(1, 2))], claim) == pytest.approx(
        0.5 + 2 * math.sqrt(0.5 * math.log(1e6))
    )
    assert costs.together([costs.gaussian(F(900))], claim) == pytest.approx(450 + 30 * math.sqrt(2 * math.log(1e6)))
    assert costs.together([costs.pure(F(50))], claim) == 50
    assert costs.together([costs.FREE], claim) == 0
    assert costs.epsilon_of(1e-9, 0.1) == 0
    assert costs.together([], claim) == 0


@pytest.mark.parametrize("epsilon", [F(1, 100), F(1), F(5)])
def test_the_curve_of_mu_lies_below_that_of_epsilon(epsilon: F) -> None:
    """For every error a of the first kind, the least error of the second kind, by other code; and it touches."""
    mu = costs.pure(epsilon).mu
    assert mu is not None
    with mp.workdps(30):
        e = mp.exp(real(epsilon.numerator) / epsilon.denominator)
        gaps = []
        for n in range(1, 100):
            a = real(n) / 100
            z = mp.sqrt(2) * mp.erfinv(2 * (1 - a) - 1)
            gaps.append(max(0, 1 - e * a, (1 - a) / e) - mp.ncdf(z - mu))
        assert min(gaps) > -1e-12
        z = mp.sqrt(2) * mp.erfinv(2 * e / (1 + e) - 1)
        assert abs(mp.ncdf(z - mu) - 1 / (1 + e)) < 1e-12


# What the audit cannot see, and says so


def test_noise_from_elsewhere_is_noticed() -> None:
    chance = np.random.default_rng()
    found = replay(lambda data, r: count(data, r) + chance.random(), ONE, DATA)
    assert not found.violated
    assert verdicts(found)["the output"] == verdicts(found)["the same requests"] == INCONCLUSIVE
    assert "there is chance in it that does not come from the recorder" in said(found, "the output")
    assert said(found, "the same requests").startswith("on the same data and with the same noise it gave ")

    def by_chance(data: list[int], r: Recorder) -> None:
        for _ in range(int(chance.integers(3))):
            count(data, r)

    found = replay(by_chance, ONE, DATA, runs=60)
    assert verdicts(found)["the same requests"] == INCONCLUSIVE
    assert not found.violated


def test_outputs_that_cannot_be_compared() -> None:
    class Box:
        pass

    assert verdicts(replay(lambda *_: Box(), ONE, DATA))["the output"] == INCONCLUSIVE


def test_everything_goes_another_way() -> None:
    found = replay(lambda data, r: [count(data, r) for _ in data], ONE, DATA)
    assert verdicts(found)["price"] == INCONCLUSIVE
    assert said(found, "price") == "no history was the same on both data sets, so nothing can be added up"


def test_rounding_of_floats() -> None:
    def total(data: list[float], r: Recorder) -> float:
        return float(r.laplace(sum(data), sensitivity=0.1, scale=1))

    pair = ([0.1, 0.1, 0.1], [0.1, 0.1])
    found = replay(total, ONE, pair)
    assert not found.violated
    assert "by the rounding of floats: request 1 (laplace" in said(found, "distances")
    assert "differ by 0.10000000000000003; declared 0.1" in said(found, "distances")
    assert replay(total, ONE, pair, tolerance=0).violated
    assert replay(total, ONE, ([0.1, 1e16], [1e16])).violated is False
    found = replay(lambda data, r: r.laplace(sum(data), sensitivity=1, scale=1), ONE, ([1.0, 1.0, 1e16], [1.0, 1e16]))
    assert "differ by 2; declared 1" in said(found, "distances")


def test_runs_of_different_length_are_told() -> None:
    found = replay(adaptive, ONE, DATA)
    assert said(found, "the same requests").startswith("2 requests a run")

    def sometimes(data: list[int], r: Recorder) -> Any:
        return [count(data, r)] + ([count(data, r)] if count(data, r) > 3.5 else [])

    assert said(replay(sometimes, Claim(epsilon=3), DATA, runs=60), "the same requests").startswith("2 to 3 requests")


# The recorder


def test_the_recorder_gives_noise_of_its_law() -> None:
    """Means of |noise| over 20,000 draws within 6.5 standard errors; so a scale 10 % off is seen."""
    r, size = Recorder(), 20_000
    zeros = np.zeros(size)
    for noisy, mean, spread in (
        (r.laplace(zeros, sensitivity=1, scale=3), 3.0, 3.0),
        (r.gaussian(zeros, sensitivity=1, sigma=3), 3 * math.sqrt(2 / math.pi), 1.81),
        (r.geometric(zeros, sensitivity=1, scale=3), 1 / math.sinh(1 / 3), 3.0),
    ):
        assert noisy.shape == (size,)
        assert abs(float(np.abs(noisy).mean()) - mean) < 6.5 * spread / math.sqrt(size)
    picked = [r.choose([0, 2], sensitivity=1, epsilon=1) for _ in range(size // 16)]
    assert abs(np.mean(picked) - 1 / (1 + math.exp(-1))) < 6.5 * 0.5 / math.sqrt(size / 16)
    picked = [r.choose([0, 1], sensitivity=1, epsilon=1, monotone=True) for _ in range(size // 16)]
    assert abs(np.mean(picked) - 1 / (1 + math.exp(-1))) < 6.5 * 0.5 / math.sqrt(size / 16)
    first = [r.first_above([0, 1000, 0], 500, sensitivity=1, epsilon=1) for _ in range(200)]
    assert set(first) == {1}
    assert r.first_above([0], 10**6, sensitivity=1, epsilon=1) is None


def test_values_of_every_kind() -> None:
    r = Recorder(width=0)
    assert r.laplace(3, sensitivity=1, scale="1/3") == 3.0
    assert r.geometric(10**30, sensitivity=1, scale=F(1, 2)) == 10**30
    assert r.geometric(True, sensitivity=1, scale=1) == 1
    assert r.laplace(F(1, 3), sensitivity=1, scale=Decimal("0.1")) == 1 / 3
    assert r.gaussian(np.float32(0.5), sensitivity=1, sigma=1) == 0.5
    assert r.laplace([[1, 2], [3, 4]], sensitivity=1, scale=1).tolist() == [[1, 2], [3, 4]]
    assert r.gaussian(np.array([1, 2]), sensitivity=1, sigma=1).tolist() == [1, 2]
    assert r.choose([1, 5, 2], sensitivity=1, epsilon=1) == 1
    assert r.first_above([1, 5, 7], 4, sensitivity=1, epsilon=1) == 1
    assert [request.value[0] for request in r.requests[:3]] == [3, 10**30, 1]
    assert r.requests[5].shape == (2, 2)
    assert [out if isinstance(out, float | int) else 0 for out in r.outputs[:3]] == [3.0, 10**30, 1]


@pytest.mark.parametrize(
    "ask",
    [
        lambda r: r.laplace("x", sensitivity=1, scale=1),
        lambda r: r.laplace([[1], [1, 2]], sensitivity=1, scale=1),
        lambda r: r.laplace(1, sensitivity=-1, scale=1),
        lambda r: r.laplace(1, sensitivity=math.inf, scale=1),
        lambda r: r.gaussian(1, sensitivity=1, sigma=0),
        lambda r: r.geometric(1.5, sensitivity=1, scale=1),
        lambda r: r.geometric(math.nan, sensitivity=1, scale=1),
        lambda r: r.choose([], sensitivity=1, epsilon=1),
        lambda r: r.choose(3, sensitivity=1, epsilon=1),
        lambda r: r.first_above([1], math.nan, sensitivity=1, epsilon=1),
        lambda r: r.noisy(1, int, kind="k", sensitivity=1),
        lambda r: r.noisy(1, int, kind="k", sensitivity=1, epsilon=1, rho=1),
        lambda r: r.noisy(1, int, kind="k", sensitivity=1, norm="l3", epsilon=1),
    ],
)
def test_bad_requests(ask: Callable[[Recorder], object]) -> None:
    with pytest.raises(InvalidInputError, match="\n  remedy: "):
        ask(Recorder())


def test_bad_calls() -> None:
    for program, claim, neighbors in (
        (count, 1, DATA), ("count", ONE, DATA), (count, ONE, [1, 2]), (count, ONE, []), (count, ONE, "x"),
        (count, ONE, ([1], [2], [3])), (count, ONE, DATA[0]),
    ):  # fmt: skip
        with pytest.raises(InvalidInputError):
            replay(program, claim, neighbors)  # type: ignore[arg-type]
    with raises_code(InvalidInputError, "code-fails: ZeroDivisionError"):
        replay(lambda *_: 1 / 0, ONE, DATA)


def test_domains_of_pairs() -> None:
    """Nobody has to think of the pair that shows it: corners of the domain come first."""
    found = replay(histogram, ONE, pv.audits.Rows(range(9)), pairs=30, runs=2)
    assert not found.violated
    assert "(60 histories on 30 pairs)" in said(found, "distances")
    assert replay(wide, Claim(epsilon=9), pv.audits.Rows(range(10))).violated
    assert not replay(wide, ONE, pv.audits.Rows([0, 1])).violated
    rows_of_people = replay(count, ONE, pv.audits.People(range(3)))
    assert "values 0 and 8 differ by 8; declared 1" in said(rows_of_people, "distances")
    assert [list(pairs_of(given)) for given in ([DATA, DATA], DATA, list(DATA))] == [[DATA, DATA], [DATA], [DATA]]

"""Message passing finds what its forecast says, is as sure as it may be, and knows when it does not apply."""

from __future__ import annotations

import math
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, optimize, stats
from support.dense import Dense
from support.refusals import raises_code

from privet.attacks.subsets.decoders import Errors, amp, error_laws, evolution, normal
from privet.attacks.subsets.decoders.intervals_of_people import Ranges
from privet.attacks.subsets.decoders.listed import Sparse
from privet.attacks.subsets.decoders.packed import Packed
from privet.errors import InvalidInputError

LAWS = [Errors("normal", 2.0), Errors("laplace", 1.5), Errors("bounded", 3.0), Errors("outliers", 2.0, 0.2)]
LAWS += [Errors("exact"), Errors("laplace", 1e-4), Errors("bounded", 1e-4), Errors("outliers", 1.0, 0.0)]
WIDTH = 60.0
SMALL = Packed.random(8, 4, 1)


def drawn(errors: Errors, count: int, people: int, generator: np.random.Generator) -> np.ndarray:
    """Errors of a law; wild answers are off by up to half the number of people."""
    if errors.law == "laplace":
        return generator.laplace(0, errors.size, count)
    if errors.law == "bounded":
        return generator.uniform(-errors.size, errors.size, count)
    made = generator.normal(0, errors.size, count) if errors.law != "exact" else np.zeros(count)
    wild = generator.random(count) < errors.share
    made[wild] = generator.uniform(-people / 2, people / 2, wild.sum())
    return made


class Trial:
    """Secrets of people, random subsets of them, and their answers."""

    def __init__(self, people: int, ratio: float, errors: Errors, seed: int, rate: float = 0.5) -> None:
        generator = np.random.default_rng([seed, people])
        self.errors = errors
        self.matrix = Packed.random(round(people * ratio), people, seed)
        self.bits = (generator.random(people) < rate).astype(np.uint8)
        self.sums = self.matrix.times(self.bits.astype(float))
        self.answers = self.sums + drawn(errors, len(self.sums), people, generator)

    def share(self, found: amp.Decoded) -> float:
        return float((found.bits == self.bits).mean())


# The normal law and channels


def test_the_normal_law_far_into_its_tails() -> None:
    x = np.concatenate([np.linspace(-37, 37, 149), [24.999, 25.0, 25.001, 1e3, 1e8, -25.001, -25.0, -24.999]])
    with mpmath.workdps(700):
        tails = [mpmath.erfc(mpmath.mpf(v) / mpmath.sqrt(2)) / 2 for v in x]
        ratios = [
            float(tail / mpmath.npdf(v)) if v < 1000 else 1 / v - v**-3 + 3 * v**-5
            for v, tail in zip(x, tails, strict=True)
        ]
        logs = [float(mpmath.log1p(-tail) if v > 0 else mpmath.log(1 - tail)) for v, tail in zip(x, tails, strict=True)]
    np.testing.assert_allclose(normal.mills(x), ratios, rtol=1e-12)
    np.testing.assert_allclose(normal.log_cdf(x), logs, rtol=1e-12, atol=5e-324)
    np.testing.assert_allclose(normal.cdf(x), stats.norm.cdf(x), rtol=1e-12)
    np.testing.assert_allclose(normal.density(x), stats.norm.pdf(x), rtol=1e-12)
    assert normal.mills(np.array([-50.0])) == math.inf
    assert normal.log_cdf(np.array([-1e8])) == pytest.approx(-5e15)


def convolved(errors: Errors, u: float, t: float) -> float:
    """The density of belief and error together, by integration over the error."""
    s = math.sqrt(t)
    laws = {
        "normal": lambda w: stats.norm.pdf(w, scale=errors.size),
        "laplace": lambda w: stats.laplace.pdf(w, scale=errors.size),
        "bounded": lambda w: stats.uniform.pdf(w, -errors.size, 2 * errors.size),
        "outliers": lambda w: (1 - errors.share) * stats.norm.pdf(w, scale=errors.size),
    }
    edges = sorted({-errors.size, 0.0, errors.size, u, u - 12 * s, u + 12 * s})
    inner = [edge for edge in edges if u - 12 * s <= edge <= u + 12 * s]
    total, _ = integrate.quad(
        lambda w: laws[errors.law](w) * stats.norm.pdf(u - w, scale=s),
        inner[0], inner[-1], points=inner, limit=500, epsabs=0, epsrel=1e-10,
    )  # fmt: skip
    return total + (errors.share / WIDTH if abs(u) <= WIDTH / 2 else 0.0)


@pytest.mark.parametrize("errors", LAWS[:4], ids=lambda errors: errors.law)
@pytest.mark.parametrize("t", [0.05, 1.0, 30.0])
def test_densities_are_convolutions(errors: Errors, t: float) -> None:
    u = np.array([-7.0, -2.9, 0.0, 0.4, 3.1, 9.0])
    expected = [convolved(errors, value, t) for value in u]
    np.testing.assert_allclose(error_laws.density(errors, u, t, WIDTH), expected, rtol=1e-8, atol=1e-60)


@pytest.mark.parametrize("errors", LAWS, ids=str)
@pytest.mark.parametrize("t", [0.05, 1.0, 30.0])
def test_pulls_are_derivatives_of_densities(errors: Errors, t: float) -> None:
    """That is their definition; the derivatives are differences here."""
    law = error_laws.channel(errors, WIDTH)
    step = 1e-4 * math.sqrt(t)
    u = np.linspace(-4, 4, 41) * math.sqrt(t) + 1e-3
    pulls, sure = law(u, t)
    after, before = (np.log(error_laws.density(errors, u + sign * step, t, WIDTH)) for sign in (1, -1))
    np.testing.assert_allclose(pulls, (before - after) / (2 * step), rtol=1e-5, atol=1e-6 / math.sqrt(t))
    after, before = (law(u + sign * step, t)[0] for sign in (1, -1))
    np.testing.assert_allclose(sure, (after - before) / (2 * step), rtol=1e-5, atol=1e-6 / t)


@settings(max_examples=200)
@given(
    st.sampled_from(LAWS), st.floats(-1e9, 1e9), st.floats(1e-9, 1e9), st.floats(1e-6, 1e6), st.sampled_from([0, 0.3])
)
def test_no_answer_breaks_a_channel(errors: Errors, u: float, t: float, size: float, share: float) -> None:
    """The posterior variance of the sum is from 0 to t, but for a wild answer, whose like may be either; the pull is
    toward the answer and not beyond it, but for rounding: a millionth of the belief's deviation."""
    (pull,), (sure,) = error_laws.channel(Errors(errors.law, size, share), 1e9)(np.array([u]), t)
    assert np.isfinite(pull)
    assert np.isfinite(sure)
    rounding = 1e-6 * math.sqrt(t)
    assert -rounding <= t * pull * np.copysign(1, u) <= abs(u) * (1 + 1e-6) + rounding
    if errors.law != "outliers":
        assert 0 <= t * sure <= 1 + 1e-6


@pytest.mark.parametrize(
    ("errors", "problem"),
    [
        (Errors("normal", -1.0), "negative: -1.0"),
        (Errors("bounded", math.nan), "negative: nan"),
        (Errors("laplace", 1e200), "negative: 1e+200"),
        (Errors("outliers", 1.0, 1.0), "out-of-range: 1.0 … answers"),
        (Errors("cauchy", 1.0), "unknown-choice: the … 'cauchy'"),  # type: ignore[arg-type]
    ],
)
def test_errors_that_cannot_be(errors: Errors, problem: str) -> None:
    for call in (lambda: evolution.forecast(10, 40, errors), lambda: evolution.convex("L1", 10, 40, errors)):
        with raises_code(InvalidInputError, problem):
            call()
    with raises_code(InvalidInputError, problem):
        amp.decode(Packed.random(8, 4, 1), np.zeros(8), errors)


# What is found


@pytest.mark.proof
@pytest.mark.parametrize(
    ("law", "alpha", "ratio"),
    [("normal", 0.25, 4), ("normal", 0.5, 8), ("laplace", 0.25, 1.5), ("bounded", 1, 2), ("outliers", 0.25, 4)],
)
def test_as_much_is_found_as_forecast(law: Any, alpha: float, ratio: float) -> None:
    """The share found in 4 times 3,000 people varies at most 1.6 times as much as a binomial one (measured over 25
    seeds at n = 1,000, where the law of large numbers holds less): 5 such deviations are a false alarm in a million,
    .012 to .03 here. A forecast for noise 40 % larger or smaller is off by 1.5 times that, so it would be noticed with
    a chance of .99."""
    people = 3000
    errors = Errors(law, alpha * math.sqrt(people), 0.1 if law == "outliers" else 0.0)
    expected = evolution.forecast(people, round(people * ratio), errors).recovered
    trials = [Trial(people, ratio, errors, seed) for seed in range(4)]
    found = [amp.decode(trial.matrix, trial.answers, errors) for trial in trials]
    assert all(one.converged for one in found)
    share = np.mean([trial.share(one) for trial, one in zip(trials, found, strict=True)])
    assert abs(share - expected) <= 5 * 1.6 * math.sqrt(expected * (1 - expected) / (4 * people))
    probabilities = np.concatenate([one.right for one in found])
    right = np.concatenate([one.bits == trial.bits for trial, one in zip(trials, found, strict=True)])
    for low, high in ((0.5, 0.6), (0.6, 0.8), (0.8, 0.95), (0.95, 0.999), (0.999, 1.001)):
        some = (probabilities >= low) & (probabilities < high)
        if some.sum() > 100:  # as sure as it says it is, in each part
            chance = float(probabilities[some].mean())
            wide = 5 * math.sqrt(chance * (1 - chance) / some.sum()) + 5 / some.sum()
            assert abs(right[some].mean() - chance) <= 1.6 * wide + 0.01


def test_the_numbers_of_the_field() -> None:
    """Random halves, m = 4n. Bounded errors: as all bits of 2,000 people, where the largest residual finds 98.8 %."""
    assert evolution.forecast(16_000, 64_000, Errors("normal", 0.25 * 16_000**0.5)).recovered == pytest.approx(
        0.9727, abs=1e-4
    )
    errors = Errors("bounded", 0.5 * 2000**0.5)
    assert evolution.forecast(2000, 8000, errors).recovered > 0.9999
    trial = Trial(2000, 4, errors, 1)
    found = amp.decode(trial.matrix, trial.answers, errors)
    assert trial.share(found) > 0.999


@pytest.mark.parametrize(("people", "ratio"), [(60, 2.0), (500, 1.0), (1000, 0.9)])
def test_exact_answers_give_everybody_away(people: int, ratio: float) -> None:
    for errors in (Errors("exact"), Errors("normal"), Errors("laplace"), Errors("bounded"), Errors("outliers")):
        trial = Trial(people, ratio, errors, 3)
        found = amp.decode(trial.matrix, trial.answers, errors)
        assert found.converged
        assert (found.bits == trial.bits).all()
        assert (found.decoder, found.errors, found.values.dtype) == ("amp", errors, np.float64)
        assert evolution.forecast(people, round(people * ratio), errors).recovered > 0.999


def test_wild_answers_among_exact_ones() -> None:
    trial = Trial(500, 4, Errors("outliers", 0.0, 0.3), 1)
    found = amp.decode(trial.matrix, trial.answers, trial.errors)
    assert (found.bits == trial.bits).all()


@pytest.mark.parametrize("shape", ["near the bound", "near zero", "half", "one-sided"])
def test_bounded_errors_of_other_laws(shape: str) -> None:
    """As good as least squares would be at that variance, at least: all but the first have half that of uniform errors
    or less, at which the forecast is 99 %, and the first are nearly exact once told apart. Taken for uniform, one-sided
    ones would leave a tenth of 1,000 people wrong. 97 % are 6 deviations below the forecast."""
    trial, generator = Trial(1000, 4, Errors("exact"), 5), np.random.default_rng(5)
    bound = 0.5 * math.sqrt(1000)
    made = {
        "near the bound": bound * generator.choice([-1.0, 1.0], 4000),
        "near zero": generator.triangular(-bound, 0, bound, 4000),
        "half": generator.uniform(-bound / 2, bound / 2, 4000),
        "one-sided": generator.uniform(0, bound, 4000),
    }[shape]
    found = amp.decode(trial.matrix, trial.sums + made, Errors("bounded", bound))
    assert found.converged
    assert trial.share(found) > 0.97


def test_a_bound_so_wide_that_nothing_is_known() -> None:
    trial = Trial(100, 2, Errors("exact"), 1)
    found = amp._iterate(
        amp.Centered.of(trial.matrix), trial.answers, error_laws.channel(Errors("bounded", 1e6), 1.0), 0.3, None
    )
    assert found[0].error == math.inf
    assert (found[0].values == 0.3).all()


@pytest.mark.parametrize("rate", [0.05, 0.9])
def test_few_or_many_ones(rate: float) -> None:
    """Told or learned. Deviations of the share found in 4,000 people are .0035 at most; 6 of them are allowed."""
    errors = Errors("normal", 0.5 * math.sqrt(4000))
    trial = Trial(4000, 4, errors, 1, rate)
    expected = evolution.forecast(4000, 16_000, errors, rate=rate).recovered
    for prior in (rate, None):
        found = amp.decode(trial.matrix, trial.answers, errors, rate=prior)
        assert trial.share(found) == pytest.approx(expected, abs=0.021)
    assert expected > max(rate, 1 - rate) + 0.005


def test_other_matrices_of_independent_entries() -> None:
    """A tenth of all people in each sum, as bits and as lists; and coefficients that are no subsets at all."""
    generator = np.random.default_rng(2)
    bits = generator.random(1000) < 0.5
    plain = generator.random((4000, 1000)) < 0.1
    lists = Sparse.of([np.flatnonzero(row) for row in plain], 1000)
    signs = Dense(generator.choice([-1.0, 1.0], (4000, 1000)))
    for matrix, variance in ((Packed.of(plain), 0.09), (lists, 0.09), (signs, 1.0)):
        size = 0.5 * math.sqrt(1000 * variance)
        answers = matrix.times(bits.astype(float)) + generator.normal(0, size, 4000)
        found = amp.decode(matrix, answers, Errors("normal", size))
        assert found.converged
        expected = evolution.forecast(1000, 4000, Errors("normal", 0.5 * math.sqrt(90)), share=0.1).recovered
        assert (found.bits == bits).mean() == pytest.approx(expected, abs=6 * 0.006)


def test_shorter_steps_where_entries_are_not_independent() -> None:
    """Subsets of very different sizes: with full steps everything swings, and half of the bits are right."""
    generator = np.random.default_rng(1)
    matrix = Packed.of(generator.random((1200, 300)) < 0.3 + 0.4 * generator.random((1200, 1)))
    bits = generator.random(300) < 0.5
    answers = matrix.times(bits.astype(float)) + generator.normal(0, 4, 1200)
    assert (amp.decode(matrix, answers, Errors("normal", 4.0)).bits == bits).mean() > 0.85


def test_what_has_not_settled_claims_no_probability(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(amp, "ROUNDS", 4)
    trial = Trial(300, 4, Errors("normal", 5.0), 5)
    seen: list[tuple[str, int, int]] = []
    found = amp.decode(trial.matrix, trial.answers, trial.errors, progress=lambda *done: seen.append(done))
    assert not found.converged
    assert found.right is None
    assert found.rounds == 4
    assert seen == [("rounds", done, 4) for done in range(4)]


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        (lambda: amp.decode(SMALL, np.zeros(9), Errors("exact")), "wrong-length: 9 … for 8 answers"),
        (lambda: amp.decode(SMALL, np.full(8, np.nan), Errors("exact")), "not-finite: answer … infinite or"),
        (lambda: amp.decode(SMALL, np.full(8, 1e300), Errors("exact")), "not-finite: answer … infinite or"),
        (lambda: amp.decode(SMALL, np.zeros(8), Errors("exact"), rate=0.0), "out-of-range: rate … 0.0"),
        (lambda: amp.decode(Packed.of(np.zeros((8, 4))), np.zeros(8), Errors("exact")), "no-variation: same"),
        (lambda: amp.decode(Packed.of(np.ones((8, 4))), np.zeros(8), Errors("exact")), "no-variation: same"),
        (lambda: amp.decode(Packed.random(0, 4, 1), np.zeros(0), Errors("exact")), "empty: 0 answers … about 4 people"),
        (lambda: evolution.forecast(0, 4, Errors("exact")), "not-positive: 4 answers … about 0 people"),
        (lambda: evolution.forecast(4, 4, Errors("exact"), rate=1.0), "out-of-range: rate … 1.0"),
        (lambda: evolution.forecast(4, 4, Errors("exact"), share=0.0), "out-of-range: a share … 0.0"),
        (lambda: evolution.convex("amp", 4, 4, Errors("exact")), "unknown-choice: 'amp'"),
    ],
)
def test_what_cannot_be_decoded_is_refused(call: Any, problem: str) -> None:
    with raises_code(InvalidInputError, problem):
        call()


def matrices() -> list[tuple[str, Any, bool]]:
    generator = np.random.default_rng(7)
    fair = generator.random((800, 200)) < 0.5
    bounds = np.sort(generator.integers(0, 201, (800, 2)), axis=1)
    hadamard = np.array([[(i & j).bit_count() % 2 for j in range(256)] for i in range(256)])
    return [
        ("fair", Packed.of(fair), True),
        ("square", Packed.random(300, 300, 1), True),
        ("few answers", Packed.random(100, 300, 1), True),
        ("a fifth", Packed.of(generator.random((800, 200)) < 0.2), True),
        ("equal sizes", Packed.of(np.argsort(generator.random((800, 200)), 1) < 100), True),
        ("normal coefficients", Dense(generator.normal(size=(400, 100))), True),
        ("hardly anybody", Packed.of(generator.random((800, 200)) < 0.05), False),
        ("small", Packed.random(60, 40, 1), False),
        ("all the same", Packed.of(np.ones((60, 60))), False),
        ("sizes vary", Packed.of(generator.random((800, 200)) < generator.random((800, 1))), False),
        ("people vary", Packed.of(generator.random((800, 200)) < generator.random(200)), False),
        ("intervals", Ranges(bounds[:, 0], bounds[:, 1], 200), False),
        ("pairs of people", Packed.of(np.repeat(fair[:, :100], 2, axis=1)), False),
        ("rows again and again", Packed.of(np.repeat(fair[:200], 4, axis=0)), False),
        ("orthogonal", Packed.of(hadamard), False),
        ("a pattern", Packed.of(fair ^ np.outer(np.arange(800) % 2, np.arange(200) % 2) & fair), False),
    ]


@pytest.mark.parametrize(("matrix", "random"), [pytest.param(m, r, id=name) for name, m, r in matrices()])
def test_matrices_that_look_random(matrix: Any, random: bool) -> None:
    assert amp.looks_random(matrix) is random


# Forecasts


@pytest.mark.parametrize("errors", LAWS, ids=str)
def test_information_is_the_mean_square_of_pulls(errors: Errors) -> None:
    law = error_laws.channel(errors, WIDTH)
    for belief in (0.05, 1.0, 30.0):
        total, _ = integrate.quad(
            lambda u, t=belief: (
                error_laws.density(errors, np.array([u]), t, WIDTH)[0] * law(np.array([u]), t)[0][0] ** 2
            ),
            0, 40, points=[errors.size], limit=1000, epsabs=1e-12, epsrel=1e-8,
        )  # fmt: skip
        assert evolution._information(errors, belief, int(WIDTH)) == pytest.approx(2 * total, rel=1e-5)


@pytest.mark.parametrize("error", [0.002, 0.05, 1.0, 20.0])
def test_what_is_left_unknown_of_people(error: float) -> None:
    """By integration over the evidence, of which each bit makes a normal law."""
    d = math.sqrt(error)
    for rate in (0.5, 0.1):
        spread = 0.0
        for bit, chance in ((0, 1 - rate), (1, rate)):
            posterior = lambda r, rate=rate: 1 / (1 + (1 - rate) / rate * math.exp(min(700, (0.5 - r) / error)))  # noqa: E731
            spread += chance * integrate.quad(
                lambda r, b=bit, p=posterior: stats.norm.pdf(r, b, d) * p(r) * (1 - p(r)), bit - 9 * d, bit + 9 * d,
                points=[0.5], limit=500,
            )[0]  # fmt: skip
        assert evolution._spread(error, rate) == pytest.approx(spread, rel=1e-6, abs=1e-10)
    miss, inside = evolution._clipped(error)
    expected = integrate.quad(
        lambda r: stats.norm.pdf(r, 0, d) * min(max(r, 0), 1) ** 2, -9 * d, 1 + 9 * d, points=[0, 1], limit=500
    )[0]
    assert miss == pytest.approx(expected, rel=1e-6)
    assert inside == pytest.approx(stats.norm.cdf(1 / d) - 0.5, rel=1e-9)


def fitted(decoder: str, plain: np.ndarray, answers: np.ndarray) -> np.ndarray:
    """By solvers of another make."""
    rows, people = plain.shape
    if decoder == "box least squares":
        return optimize.lsq_linear(plain, answers, (0, 1)).x
    if decoder == "L1":
        both = np.hstack([plain, np.eye(rows), -np.eye(rows)])
        cost = np.concatenate([np.zeros(people), np.ones(2 * rows)])
        bounds = [(0, 1)] * people + [(0, None)] * (2 * rows)
        return optimize.linprog(cost, A_eq=both, b_eq=answers, bounds=bounds).x[:people]
    ones = np.ones((rows, 1))
    both = np.vstack([np.hstack([plain, -ones]), np.hstack([-plain, -ones])])
    cost = np.append(np.zeros(people), 1)
    limits = np.concatenate([answers, -answers])
    return optimize.linprog(cost, A_ub=both, b_ub=limits, bounds=[(0, 1)] * people + [(0, None)]).x[:people]


@pytest.mark.proof
@pytest.mark.parametrize(
    ("decoder", "errors"),
    [
        ("box least squares", Errors("normal", 3.0)), ("box least squares", Errors("bounded", 5.0)),
        ("L1", Errors("laplace", 3.0)), ("L1", Errors("outliers", 1.5, 0.1)),
        ("Chebyshev", Errors("bounded", 5.0)), ("Chebyshev", Errors("normal", 2.0)),
    ],
)  # fmt: skip
def test_forecasts_of_other_decoders(decoder: str, errors: Errors) -> None:
    """Of 6 times 100 people, at whose number forecasts for many people are a little off: within 6 deviations of a
    share, .012 to .02, which is 1e-6 with room. Least squares taken for Chebyshev at bounded errors is .05 off."""
    shares = []
    for seed in range(6):
        trial = Trial(100, 4, errors, seed)
        values = fitted(decoder, trial.matrix.block(0, 400), trial.answers)
        shares.append(float(((values > 0.5) == trial.bits).mean()))
    expected = evolution.convex(decoder, 100, 400, errors)
    assert expected.decoder == decoder
    assert np.mean(shares) == pytest.approx(expected.recovered, abs=6 * math.sqrt(0.25 * 0.25 / 600))


def test_rounds_only_help(monkeypatch: pytest.MonkeyPatch) -> None:
    settled = evolution.forecast(100, 400, Errors("normal", 2.5)).recovered
    monkeypatch.setattr(evolution, "ROUNDS", 1)
    assert evolution.forecast(100, 400, Errors("normal", 2.5)).recovered < settled - 0.001


def test_forecasts_in_the_limits() -> None:
    for decoder in evolution.CONVEX:
        assert evolution.convex(decoder, 100, 400, Errors("exact")).recovered > 0.9999
        assert evolution.convex(decoder, 100, 400, Errors("normal", 1e4)).recovered == pytest.approx(0.5, abs=0.01)
        assert evolution.convex(decoder, 1000, 10, Errors("laplace", 1.0)).recovered < 0.6
        assert evolution.convex(decoder, 100, 400, Errors("laplace", 1e90)).recovered == pytest.approx(0.5, abs=1e-4)
    assert evolution.forecast(100, 400, Errors("bounded", 1e90)).recovered == pytest.approx(0.5, abs=1e-4)
    noisy = evolution.forecast(100, 400, Errors("normal", 1e4), rate=0.2)
    assert noisy.recovered == pytest.approx(0.8, abs=1e-3)  # everybody is a 0
    assert noisy.why.startswith("state evolution")

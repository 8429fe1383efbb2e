"""Running counters: exact posteriors against all 2^T histories, and what is refused."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.refusals import raises_code

from privet.attacks import Errors, attack_counter
from privet.attacks.subsets.counter import Steps, forecast, mixed, posterior, steps_of
from privet.errors import InvalidInputError


def enumerated(steps: Steps, errors: Errors, rate: float) -> np.ndarray[Any, Any]:
    """The mean step of every history, weighted by how likely it is: the slow reference."""
    ends, total, means = np.cumsum(steps.sizes), 0.0, np.zeros(len(steps.sizes))
    for bits in product((0, 1), repeat=len(steps.names)):
        counts = np.cumsum(bits)[ends - 1]
        gaps = np.abs(counts - steps.counts)
        if errors.law == "normal":
            log = -0.5 * ((gaps / errors.size) ** 2).sum()
        elif errors.law == "laplace":
            log = -(gaps / errors.size).sum()
        else:
            log = 0.0 if (gaps <= errors.size + 1e-6).all() else -np.inf
        weight = np.exp(log) * rate ** sum(bits) * (1 - rate) ** (len(bits) - sum(bits))
        total += weight
        means += weight * np.diff(counts, prepend=0)
    return means / total


@settings(deadline=None, max_examples=25)
@given(
    law=st.sampled_from(["normal", "laplace", "bounded", "exact"]),
    sizes=st.lists(st.integers(1, 3), min_size=1, max_size=4),
    rate=st.floats(0.05, 0.95),
    seed=st.integers(0, 10**6),
)
def test_posteriors_are_those_of_all_histories(law: Any, sizes: list[int], rate: float, seed: int) -> None:
    draw = np.random.default_rng(seed)
    errors = Errors(law, 0.0 if law == "exact" else float(draw.uniform(0.3, 3)))
    bits = draw.random(sum(sizes)) < rate
    noise = draw.uniform(-errors.size, errors.size, len(sizes))
    steps = steps_of(np.cumsum(bits)[np.cumsum(sizes) - 1] + noise, sizes, None)
    assert posterior(steps, errors, rate) == pytest.approx(enumerated(steps, errors, rate), abs=1e-9)


def test_twelve_arrivals_one_by_one() -> None:
    counts = np.array([0.4, 1.9, 1.2, 2.8, 2.1, 3.9, 3.3, 5.2, 5.9, 5.1, 7.3, 6.8])
    steps = steps_of(counts, None, None)
    for errors in (Errors("laplace", 0.7), Errors("normal", 0.9)):
        assert posterior(steps, errors, 0.4) == pytest.approx(enumerated(steps, errors, 0.4), abs=1e-12)


def test_guesses_are_as_right_as_they_say_and_as_expected() -> None:
    """2,000 arrivals: a share is off by 6 points (five standard deviations and more) with a chance below 1e-7."""
    draw = np.random.default_rng(1)
    bits = draw.integers(0, 2, 2000)
    told: list[str] = []
    found = attack_counter(
        np.cumsum(bits) + draw.laplace(0, 0.5, 2000), errors=Errors("laplace", 0.5), rate=0.5, truth=bits,
        progress=lambda what, *_: told.append(what),
    )  # fmt: skip
    assert told[0].startswith("forecast: ")
    assert found.score is not None
    assert found.numbers["recovered"] == pytest.approx(found.numbers["forecast"], abs=0.06)
    assert found.numbers["recovered"] == pytest.approx(found.numbers["expected"], abs=0.06)
    assert found.score.advantage.low > 0.15
    assert found.score.control is not None
    assert 0.44 < found.score.control.value < 0.56
    assert found.pictures[0].title == "How sure the attack was, and how right"
    assert found.headline.endswith("of 2,000 people's arrivals are guessed right")
    assert found.findings[0].confidence == max(one.confidence or 0 for one in found.findings)


def test_rounded_counts_prove_little_and_several_arrivals_only_their_sum() -> None:
    found = attack_counter([3, 3, 7], errors=Errors("exact"), arrivals=[3, 2, 9], names=[f"p{n}" for n in range(14)])
    assert found.headline.startswith("The guesses are expected")
    claims = {finding.claim for finding in found.findings}
    assert claims == {f"p{n} {said}" for n, said in enumerate(["added 1 to the count"] * 3 + ["added nothing to the count"] * 2)}  # noqa: E501  # fmt: skip
    assert "only their sum" in found.tables[0].text
    assert found.pictures == ()
    assert found.numbers["rate"] == pytest.approx(0.5)  # 7 of 14


def test_a_rate_that_the_counts_leave_open_makes_nobody_sure() -> None:
    """The mixture over rates against all histories; and noise as large as the number of people, which ends low: by a
    rate read off that one count everybody's 0 would be sure, at any true rate."""
    steps, errors, rates = steps_of([0.4, 1.9, 1.2, 2.8, 2.1], None, None), Errors("laplace", 0.7), np.array([0.2, 0.5])
    histories = np.array(list(product((0, 1), repeat=5)))
    seen = np.exp(-np.abs(np.cumsum(histories, axis=1) - steps.counts).sum(axis=1) / 0.7)
    ones = histories.sum(axis=1)
    weights = np.array([(seen * one**ones * (1 - one) ** (5 - ones)).sum() for one in rates])
    weights /= weights.sum()
    means, rate = mixed(steps, errors, rates)
    slow = sum(weight * enumerated(steps, errors, one) for weight, one in zip(weights, rates, strict=True))
    assert means == pytest.approx(slow, abs=1e-9)
    assert rate == pytest.approx(weights @ rates)
    draw = np.random.default_rng(3)
    counts = np.cumsum(draw.integers(0, 2, 20)) + draw.laplace(0, 20, 20)
    counts[-1] = -15
    found = attack_counter(counts, errors=Errors("laplace", 20))
    assert found.claimed == 0
    assert 0.1 < found.numbers["rate"] < 0.9
    assert found.numbers["expected"] < 0.9


def test_forecasts_of_exact_and_bounded_counters() -> None:
    steps = steps_of(np.arange(40.0), None, None)
    assert forecast(steps, Errors("exact"), 0.5) == 1
    assert 0.5 < forecast(steps, Errors("bounded", 2), 0.5) < 0.95
    assert 0.5 < forecast(steps, Errors("normal", 2), 0.5) < 0.95


def test_rounded_counters_are_expected_to_be_rounded() -> None:
    """Rounding to tens tells less than even errors up to 5, which are drawn anew for every count: about 61 and 65 % of
    4,000 are right, four points or five standard deviations apart. A share is off by 4 with a chance below 1e-6."""
    bits = np.random.default_rng(2).integers(0, 2, 4000)
    counts = 10 * np.rint(np.cumsum(bits) / 10)
    found = attack_counter(counts, errors=Errors("bounded", 5), rate=0.5, truth=bits)
    assert found.numbers["forecast"] < forecast(steps_of(counts + 0.5, None, None), Errors("bounded", 5), 0.5) - 0.02
    assert found.numbers["recovered"] == pytest.approx(found.numbers["forecast"], abs=0.04)


def test_many_arrivals_tell_their_rate() -> None:
    found = attack_counter(np.arange(1, 901) // 3, errors=Errors("exact"))
    assert found.numbers["rate"] == pytest.approx(301 / 902)
    assert found.claimed == 900


def test_rates_that_are_out_of_the_question_do_no_harm() -> None:
    """A rate of 1 in 700 makes the forward and the backward sums too small to meet."""
    draw = np.random.default_rng(1)
    counts = np.cumsum(draw.integers(0, 2, 700)) + draw.laplace(0, 80, 700)
    found = attack_counter(counts, errors=Errors("laplace", 80))
    assert 0.5 <= found.numbers["expected"] < 0.8


@pytest.mark.parametrize(
    ("counts", "given", "problem"),
    [
        ([], {}, "empty: counts"),
        ([1, 2], {"arrivals": [1, 0]}, "not-positive: than 1"),
        ([1, 2], {"arrivals": [1.5, 1]}, "not-positive: than 1"),
        ([1, 2], {"arrivals": [1]}, "wrong-length: to 1 queries"),
        ([1, np.nan], {}, "not-finite: 1 of … not finite"),
        ([1, 2], {"names": ["a"]}, "wrong-length: 1 different"),
        ([1, 2], {"names": ["a", "a"]}, "wrong-length: 1 different"),
        ([1, 2], {"rate": 0}, "out-of-range: rate … of 0"),
        ([1, 2], {"errors": Errors("outliers", 1, 0.1)}, "not-supported: outliers"),
        ([1, 2], {"errors": Errors("laplace", -1)}, "negative: size … -1"),
        ([1, 5], {"errors": Errors("exact")}, "contradiction: count 2"),
        ([0, 40], {"errors": Errors("bounded", 1)}, "contradiction: count 2"),
        ([1e300, 2], {}, "contradiction: count 1"),
        ([0, -90, 0], {}, "contradiction: count 2"),
        (np.arange(2000) / 2, {"rate": 1e-4, "errors": Errors("normal", 200)}, "contradiction: together"),
    ],
)
def test_what_is_no_counter_is_refused(counts: Any, given: dict[str, Any], problem: str) -> None:
    with raises_code(InvalidInputError, problem):
        attack_counter(counts, **({"errors": Errors("laplace", 1)} | given))

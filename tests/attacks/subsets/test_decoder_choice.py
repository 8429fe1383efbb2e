"""Forecasts against what happens, the choice of a decoder, and what none can decode."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from support.dense import Dense
from support.made_sums import made, ranges, right, subsets, uneven
from support.refusals import expect_code, raises_code

from privet.attacks.subsets.decoders import Errors, amp, chebyshev, choice, evolution, expected, known, residuals
from privet.attacks.subsets.decoders.listed import Sparse
from privet.attacks.subsets.decoders.packed import Packed
from privet.errors import InvalidInputError

CASES = [
    ("box", Errors("normal", 3.0)), ("L1", Errors("outliers", 3.0, 0.1)), ("l1", Errors("laplace", 3.0)),
    ("Chebyshev", Errors("bounded", 8.0)), ("amp", Errors("normal", 3.0)),
]  # fmt: skip


@pytest.mark.proof
@pytest.mark.parametrize(("decoder", "errors"), CASES)
def test_forecasts_are_within_two_points(decoder: str, errors: Errors) -> None:
    """For random subsets, and by simulation for uneven ones. 12 problems of 200 people each time: the share has a
    standard deviation of about .3 %, the simulation of .2 %."""
    for matrix, size in ((subsets(200), errors.size), (uneven(100), errors.size / 2)):
        law = replace(errors, size=size)
        told = expected.forecast(decoder, matrix, law, seed=1)
        shares = []
        for seed in range(12 * 200 // matrix.shape[1]):
            secrets, answers = made(matrix, law, seed + 100)
            shares.append(right(known.decode(known.named(decoder), matrix, answers, law, rate=0.5), secrets))
        assert 0.9 < told.recovered < 0.999
        assert told.decoder == known.named(decoder)
        assert told.recovered == pytest.approx(float(np.mean(shares)), abs=0.02)


def test_a_large_problem_is_forecast_by_a_small_one() -> None:
    told = []
    matrix, errors = subsets(1500), Errors("bounded", 0.6 * math.sqrt(1500))
    found = expected.forecast("Chebyshev", matrix, errors, progress=lambda *news: told.append(news))
    assert told[0] == ("simulating", 0, 6)
    assert found.why == "by simulation: 6,000 made-up secrets were decoded"
    secrets, answers = made(matrix, errors, 1)
    assert right(chebyshev.decode(matrix, answers, errors), secrets) == pytest.approx(found.recovered, abs=0.02)


@pytest.mark.proof
def test_forecasts_of_all_decoders() -> None:
    names = {found.decoder for found in choice.forecasts(subsets(100), Errors("normal", 3.0))}
    assert names == {"box least squares", "L1", "amp"}
    small = choice.forecasts(subsets(8), Errors("bounded", 0.4))
    assert {found.decoder for found in small} == {"box least squares", "L1", "Chebyshev", "exhaustive"}
    assert small[0].recovered == max(found.recovered for found in small)
    assert choice.forecasts(ranges(30), Errors("exact"))[0].recovered == 1


# ---- the choice


@pytest.mark.parametrize(
    ("errors", "size"),
    [("exact", 0.0), ("normal", 5.0), ("bounded", 8.0), ("laplace", 5.0), ("outliers", 5.0)],
)
def test_the_law_of_errors_by_residuals(errors: str, size: float) -> None:
    """Of 400 people and 1,600 answers: seen right in 100 of 100 problems for every law."""
    law = Errors(errors, size, 0.1 if errors == "outliers" else 0.0)  # type: ignore[arg-type]
    matrix = subsets(400)
    _, answers = made(matrix, law, seed=4)
    found = residuals.guessed(matrix, answers)
    assert found.law == errors
    assert found.size == pytest.approx(size, rel=0.25)
    assert found.share == pytest.approx(law.share, abs=0.04)


def test_which_decoder_is_taken() -> None:
    normal, bounded = Errors("normal", 2.0), Errors("bounded", 2.0)
    for matrix, errors, name in (
        (subsets(200), normal, "amp"), (subsets(200), bounded, "amp"), (ranges(80), normal, "box least squares"),
        (ranges(80), bounded, "Chebyshev"), (ranges(80), Errors("laplace", 1.0), "L1"),
        (ranges(80), Errors("outliers", 0.5, 0.1), "L1"), (ranges(80), Errors("exact"), "box least squares"),
        (subsets(12), Errors("bounded", 0.4), "exhaustive"), (subsets(12), Errors("exact"), "exhaustive"),
        (subsets(12), normal, "box least squares"), (ranges(80), None, "box least squares"),
    ):  # fmt: skip
        _, answers = made(matrix, errors or normal, 3)
        assert choice.decode(matrix, answers, errors).decoder == name
    secrets, answers = made(subsets(12), bounded, 3)
    none_fits = choice.decode(subsets(12), answers, Errors("bounded", 0.1))
    assert (none_fits.decoder, none_fits.converged) == ("Chebyshev", False)
    for name in (*known.NAMES, "box", "l1", "CHEBYSHEV"):
        found = choice.decode(subsets(12), subsets(12).times(secrets), decoder=name, rate=0.5)
        assert found.decoder == known.named(name)
    by_name = choice.decode(subsets(200), made(subsets(200), normal, 1)[1], normal, decoder="box")
    assert by_name.right is not None


@pytest.mark.parametrize("law", ["exact", "normal", "bounded", "laplace", "outliers"])
def test_message_passing_is_checked(law: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """If it did not come to rest, or does not fit, the decoder for any matrix has a try; the better one is taken."""
    matrix, errors = subsets(100), Errors(law, 0.0 if law == "exact" else 1.0, 0.0)  # type: ignore[arg-type]
    secrets, answers = made(matrix, errors, 3)
    truly = choice.decode(matrix, answers, errors)
    assert truly.decoder == "amp"
    assert residuals.misfit(matrix, answers, truly) <= residuals.FITS
    lost = replace(truly, bits=1 - truly.bits)
    assert residuals.misfit(matrix, answers, lost) > 2 * residuals.FITS
    monkeypatch.setattr(amp, "decode", lambda *_, **__: lost)
    assert choice.decode(matrix, answers, errors).decoder == choice.MATCHED[law]
    monkeypatch.setattr(amp, "decode", lambda *_, **__: replace(truly, converged=False))
    assert right(choice.decode(matrix, answers, errors), secrets) >= 0.95


# ---- what cannot be decoded

WRONG = [
    ({"matrix": subsets(20, 1).block(0, 10)}, "too-few: 10 … 20", "10 more"),
    ({"matrix": np.zeros((0, 3))}, "empty: 0 queries … about 3 people", ""),
    ({"matrix": np.eye(5)[[0, 1, 2, 3, 3]]}, "not-mentioned: 1 … 5 people … person 5", ""),
    ({"matrix": np.eye(6)[:, :4]}, "empty: 2 … 6 queries … query 5", ""),
    ({"answers": [1.0, 2.0]}, "wrong-length: 2 answers … to 6 queries", ""),
    ({"answers": [1.0, math.nan, 1, math.inf, 1, 1]}, "not-finite: 2", ""),
    ({"answers": ["a"] * 6}, "not-a-number: answers", ""),
    ({"answers": np.zeros((6, 1))}, "wrong-shape: 2 dimensions", ""),
    ({"rate": 1.0}, "out-of-range: of 1 leaves … secret", "between 0 and 1"),
    ({"rate": math.nan}, "out-of-range: nan", "between 0 and 1"),
    ({"errors": Errors("normal", -1.0)}, "negative: not -1", ""),
    ({"errors": Errors("normal", math.nan)}, "negative: nan", ""),
    ({"errors": Errors("cauchy", 1.0)}, "unknown-choice: 'cauchy' … is", "exact, normal"),  # type: ignore[arg-type]
    ({"errors": Errors("outliers", 1.0, 0.7)}, "out-of-range: 0.7", "below 0.5"),
    ({"decoder": "magic"}, "unknown-choice: 'magic'", "auto, amp, box least squares"),
    ({"top": [1, 2]}, "wrong-length: 2 largest … for 3 people", ""),
    ({"top": [1, 0, 1]}, "out-of-range: from 1 … 255", ""),
    ({"top": [1, 1.5, 1]}, "out-of-range: from 1 … 255", ""),
    ({"top": [1, 300, 1]}, "out-of-range: from 1 … 255", ""),
    ({"top": [1, 2, 1], "decoder": "exhaustive"}, "not-supported: exhaustive", ""),
]  # fmt: skip


@pytest.mark.parametrize(("change", "problem", "remedy"), WRONG)
def test_what_cannot_be_decoded(change: dict[str, object], problem: str, remedy: str) -> None:
    given = {
        "matrix": np.vstack([np.eye(3), 1 - np.eye(3)]),
        "answers": np.zeros(6),
        "errors": Errors("exact"),
        **change,
    }
    matrix = Dense(given.pop("matrix"))
    if "answers" not in change:
        given["answers"] = np.zeros(matrix.shape[0])
    with pytest.raises(InvalidInputError) as raised:
        choice.decode(matrix, given.pop("answers"), **given)  # type: ignore[arg-type]
    expect_code(problem, raised.value)
    assert remedy in raised.value.remedy
    assert "\n" not in raised.value.problem


def test_forecasts_of_what_cannot_be() -> None:
    with raises_code(InvalidInputError, "too-few: settle"):
        choice.forecasts(Dense(np.ones((2, 3))), Errors("exact"))
    with raises_code(InvalidInputError, "out-of-range: rate … of 0 "):
        expected.forecast("box", subsets(20), Errors("exact"), rate=0)
    with raises_code(InvalidInputError, "negative: size … -1"):
        choice.forecasts(subsets(20), Errors("normal", -1.0))
    with raises_code(InvalidInputError, "missing-option: law"):
        known.decode("amp", subsets(20), np.zeros(80), None)


@pytest.mark.proof
def test_forecasts_of_few_people_in_a_query_and_of_bounded_errors_of_few_people() -> None:
    """1,100 people of whom 32 are in a query: a smaller problem would ask about nobody. Bounded errors of 200 people: a
    world's share has a deviation of 6 points, the mean of 24 and the simulated one of 1.2 each, so that 9 are beyond
    five of these; the law of many people says that all are right."""
    draw = np.random.default_rng(1)
    sparse = Sparse.of([draw.choice(1100, 32, replace=False) for _ in range(1650)], 1100)
    assert 0.5 < expected.forecast("L1", sparse, Errors("exact"), random=True).recovered <= 1
    errors, shares = Errors("bounded", 0.8 * 200**0.5), []
    for seed in range(24):
        matrix, secrets = Packed.random(800, 200, seed), draw.integers(0, 2, 200).astype(np.float64)
        answers = matrix.times(secrets) + draw.uniform(-errors.size, errors.size, 800)
        shares.append((choice.decode(matrix, answers, errors, rate=0.5).bits == secrets).mean())
    assert expected.forecast("amp", matrix, errors).recovered == pytest.approx(np.mean(shares), abs=0.09)
    assert expected.forecast("amp", matrix, errors).recovered < 0.96 < evolution.forecast(200, 800, errors).recovered

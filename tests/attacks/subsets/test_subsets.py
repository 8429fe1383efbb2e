"""Secret bits from sums over known subsets: what is found, how surely, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from scipy.stats import poisson
from support.refusals import raises_code

import privet as pv
from privet.attacks import Errors, Strength, attack_subsets, check, simulate
from privet.attacks.subsets.findings import findings_of
from privet.attacks.subsets.made import Made
from privet.attacks.subsets.score import calibration, scored, shuffled
from privet.attacks.subsets.subset_sums import KnownBits, as_rounded, attacked, secrets_of, sums_of
from privet.errors import InvalidInputError

KEYS = {"recovered", "forecast", "decoder", "people", "queries", "alpha", "errors", "baseline", "most_wrong"}


def members(made: Made) -> np.ndarray[Any, Any]:
    return np.asarray(made.queries.block(0, made.queries.shape[0]))


def test_most_secrets_are_right_and_other_peoples_are_not() -> None:
    """About 97.5 % are to be expected of 400: fewer than 90 % has a chance below 1e-9. The control is a fair coin 400
    times: 35 to 65 % but for 1e-8."""
    made = simulate(400, 4, 0.25, seed=2)
    told: list[str] = []
    found = attack_subsets(
        made.queries, made.answers, errors=made.errors, truth=made.secrets, progress=lambda what, *_: told.append(what)
    )
    assert found.score is not None
    assert found.score.success.value == found.numbers["recovered"] > 0.9
    assert found.score.control is not None
    assert 0.35 < found.score.control.value < 0.65
    assert found.score.advantage.low > 0.25
    assert found.headline == f"{round(found.numbers['recovered'] * 400):,} of 400 people's secrets are right"
    assert found.numbers.keys() >= KEYS
    assert "seconds" in found.to_json()
    assert found.numbers["alpha"] == pytest.approx(0.25)
    assert abs(found.numbers["recovered"] - found.numbers["forecast"]) < 0.06  # eight standard deviations
    first = next(place for place, what in enumerate(told) if what.startswith("forecast: "))
    assert set(told[:first]) <= {"simulating"}  # nothing was decoded yet
    assert found.tables[0].title == "What was to be expected"
    assert [row[-1] for row in found.tables[0].rows] == ["used: amp"]
    assert found.findings[0].strength is Strength.CONFIDENCE
    assert found.claimed == len(found.findings)
    assert [picture.title for picture in found.pictures][-1] == "What larger errors would change"


def test_without_the_truth_it_says_what_is_to_be_expected() -> None:
    made = simulate(60, 4, 0.25)
    found = attack_subsets(made.queries, made.answers)  # nor is it told how large errors are
    assert found.headline.startswith("The guesses are expected to be right for about")
    assert found.score is None
    assert found.numbers["recovered"] is None
    assert found.numbers["forecast"] is not None
    assert 0 < found.numbers["errors"]["size"] < 60


def test_names_and_lists_and_a_truth_of_some() -> None:
    made = simulate(30, 3, 0.1, law="exact", rate=0.3)
    rows = [np.flatnonzero(row).tolist() for row in members(made)]
    names = [f"Ada {number}" for number in range(30)]
    found = attack_subsets(
        rows, made.answers, errors=Errors("exact"), names=names, rate=0.3, truth={"Ada 3": int(made.secrets[3])},
        control=1 - made.secrets, decoder="box",
    )  # fmt: skip
    assert found.headline == "1 of 1 people's secrets are right"
    assert found.score is not None
    assert found.score.control is not None
    assert found.score.control.value == 0  # of others who have the opposite
    assert {finding.claim for finding in found.findings} == {
        f"{name}: secret {bit}" for name, bit in zip(names, made.secrets, strict=True)
    }
    again = attack_subsets(members(made), made.answers, errors=Errors("exact"), truth=made.secrets, decoder="amp")
    assert again.numbers["recovered"] == 1


def test_proofs_are_of_bits_that_no_fitting_data_set_has_otherwise() -> None:
    """Against all 2^7 data sets: what is the same in every one that fits is proven, and nothing else; each certificate
    is accepted by the checker."""
    counted = []
    for trial in range(8):
        made = simulate(7, 2, 0.12 * trial, law="bounded", seed=trial)
        rows = members(made)
        fitting = [
            bits for bits in product((0, 1), repeat=7)
            if (np.abs(rows @ bits - made.answers) <= made.errors.size + 1e-6).all()
        ]  # fmt: skip
        same = {place: fitting[0][place] for place in range(7) if len({bits[place] for bits in fitting}) == 1}
        found = attack_subsets(made.queries, made.answers, errors=made.errors, truth=made.secrets, decoder="exhaustive")
        proven = [one for one in found.findings if one.strength is Strength.PROOF]
        assert {one.claim for one in proven} == {f"person {place + 1}: secret {bit}" for place, bit in same.items()}
        assert all(check(*one.certificate) and one.evidence for one in proven)
        assert (found.word, found.proven) == ("certain", len(proven))
        counted.append(len(proven))
    assert max(counted) == 7 > min(counted)


def test_what_was_not_said_of_errors_proves_nothing() -> None:
    made = simulate(7, 3, 0, law="exact")
    assert attack_subsets(made.queries, made.answers, decoder="exhaustive").numbers["proven"] == 0
    off = attack_subsets(
        made.queries, made.answers + 0.5, errors=Errors("bounded", 0.1), decoder="box"
    )  # no data set fits
    assert off.numbers["proven"] == 0


@pytest.mark.proof
@pytest.mark.parametrize(
    ("people", "stated"),
    [
        (30, Errors("normal", 0.5)),
        (60, Errors("bounded", 1)),
        (60, Errors("exact")),
        (60, Errors("outliers", 0.2, 0.1)),
    ],
)
def test_errors_that_were_stated_too_small_make_nobody_sure(people: int, stated: Errors) -> None:
    """Errors of deviation 8 on sums of some 15 or 30 leave about 65 or 70 % right; stated are a tenth of these. Residuals are ten
    times too large, and everybody would be called sure."""  # noqa: E501
    made = simulate(people, 4, 8 / people**0.5, seed=5)
    found = attack_subsets(made.queries, made.answers, errors=stated, truth=made.secrets)
    assert found.numbers["doubted"]
    assert found.tables[0].title == "The answers do not fit what was said of them"
    assert found.numbers["errors"]["size"] == pytest.approx(8, rel=0.4)
    assert found.claimed < people / 3
    assert not attack_subsets(made.queries, made.answers, errors=made.errors).numbers["doubted"]


def test_what_fits_nothing_is_called_no_better_than_a_coin() -> None:
    made = simulate(60, 4, 0.1, seed=5)
    known = KnownBits(errors=made.errors, rate=None, truth=made.secrets, control=None)
    found = attacked(sums_of(made.queries, made.answers, None, "made"), known, "auto", None)
    assert findings_of(found).claimed > 50
    told = findings_of(replace(found, doubted=True, unfit=True))
    assert (told.certain, told.numbers["expected"], told.numbers["fit"]) == (0, 0.5, False)
    assert "than a coin's" in told.tables[0].text


def test_rounded_answers_are_known_by_their_common_divisor_and_zeros_say_nothing() -> None:
    made = simulate(12, 4, 0, law="exact", seed=2)
    found = attack_subsets(made.queries, 5 * np.round(made.answers / 5))
    assert found.numbers["errors"] == {"law": "bounded", "size": 2.5, "share": 0.0}
    assert found.numbers["proven"] == 0
    with raises_code(InvalidInputError, "missing-option: are 0"):
        attack_subsets(made.queries, np.zeros(48))


def test_the_smallest_bound_that_fits_makes_nobody_sure() -> None:
    """Errors of deviation 3 on sums of six: often one data set has the smallest bound, and is wrong."""
    made = simulate(12, 4, 3 / 12**0.5, seed=1)
    found = attack_subsets(made.queries, made.answers, decoder="exhaustive")
    assert found.claimed == 0
    assert found.numbers["expected"] <= found.numbers["forecast"] < 0.95


def test_all_subsets_and_the_bound_of_four_errors() -> None:
    made = simulate(8, 1, 1.0 / 8**0.5, law="bounded", structure="all", seed=3)
    assert made.queries.shape == (255, 8)
    found = attack_subsets(made.queries, made.answers, errors=made.errors, decoder="exhaustive", truth=made.secrets)
    assert found.numbers["decoder"] == "exhaustive"
    assert found.numbers["most_wrong"] is not None
    wrong = round(8 * (1 - found.numbers["recovered"]))
    assert wrong <= found.numbers["most_wrong"] <= 4
    assert any(table.title == "What can be wrong at most" for table in found.tables)


@pytest.mark.parametrize("structure", ["random", "sparse", "ranges", "prefix"])
def test_made_queries_are_about_somebody_and_exact_answers_tell_all(structure: Any) -> None:
    made = simulate(12, 4, 0, law="exact", structure=structure, seed=4)
    rows = members(made)
    assert rows.shape == (48, 12)
    assert set(np.unique(rows)) <= {0, 1}
    assert rows.sum(axis=1).min() >= 1
    assert (rows @ made.secrets == made.answers).all()
    if structure in ("ranges", "prefix"):
        assert (np.abs(np.diff(rows, axis=1)).sum(axis=1) <= 2).all()
    found = attack_subsets(
        made.queries, made.answers, errors=made.errors, truth=made.secrets, decoder="box least squares"
    )
    assert found.numbers["recovered"] >= (1 if structure != "ranges" else 0.75)  # ranges may leave two people together
    assert [row[0] for row in found.tables[0].rows] == ["box least squares"]


@pytest.mark.parametrize(
    ("law", "spread"), [("normal", 1.0), ("laplace", 2**0.5), ("bounded", 3**-0.5), ("outliers", None), ("exact", 0.0)]
)
def test_made_errors_have_the_size_that_was_asked_for(law: Any, spread: float | None) -> None:
    """4,000 errors: their standard deviation is right to an eighth but for 1e-10, the heavy tails of Laplace included
    (seven standard deviations of it)."""
    made = simulate(400, 10, 0.5, law=law, share=0.2, seed=1)
    off = made.answers - members(made) @ made.secrets
    size = 0.5 * 20
    if spread is None:
        assert made.errors == Errors("outliers", size, 0.2)
        assert 0.14 < (np.abs(off) > 5 * size).mean() < 0.2  # of those that are anything some are near by chance
    else:
        assert off.std() == pytest.approx(spread * size, rel=0.125)
        assert law != "bounded" or np.abs(off).max() <= size


def test_few_people_are_in_every_random_query() -> None:
    assert members(simulate(2, 500, 1)).any(axis=1).all()


def test_made_data_are_the_same_again() -> None:
    one, other = simulate(30, 2, 0.2, rate=0.1, seed=9), simulate(30, 2, 0.2, rate=0.1, seed=9)
    assert (one.answers == other.answers).all()
    assert (one.answers != simulate(30, 2, 0.2, rate=0.1, seed=8).answers).any()


def test_score_and_calibration() -> None:
    truth = np.array([1, 1, 1, 0, -1], np.int8)
    guesses, sure = np.array([1, 1, 0, 0, 1], np.int8), np.array([0.99, 0.97, 0.6, 0.96, 0.99])
    score = scored(guesses, sure, truth, None)
    assert (score.claimed, score.right) == (3, 3)
    assert score.success.value == score.baseline.value == 0.75
    assert sorted(shuffled(truth)[:4]) == [0, 1, 1, 1]
    drawn = calibration(guesses, sure, truth)
    assert drawn is not None
    assert drawn.curves[1].x == pytest.approx((0.6, (0.96 + 0.97 + 0.99) / 3))
    assert drawn.curves[1].y == (0, 1)
    assert calibration(guesses, np.full(5, 0.9), truth) is None


# Fewer answers than people, sparse matrices, rounding


def test_fewer_answers_than_people_prove_what_every_fitting_data_set_has() -> None:
    """Against all 2^7 data sets, exact answers and answers that are off by up to 0.6; each certificate is accepted. Of
    these systems some determine all people and some determine a few."""
    counted = []
    for trial in range(10):
        draw = np.random.default_rng(trial)
        rows, secrets = draw.integers(0, 2, (5, 7)), draw.integers(0, 2, 7)
        rows[:, 0] |= ~rows.any(axis=1)
        size = 0.0 if trial % 2 else 0.6
        answers = rows @ secrets + draw.uniform(-size, size, 5)
        fitting = [bits for bits in product((0, 1), repeat=7) if (np.abs(rows @ bits - answers) <= size + 1e-6).all()]
        same = {place: fitting[0][place] for place in range(7) if len({bits[place] for bits in fitting}) == 1}
        stated = Errors("exact") if not size else Errors("bounded", size)
        found = attack_subsets(rows, answers, errors=stated, rate=0.5)
        proven = [one for one in found.findings if one.strength is Strength.PROOF]
        assert {one.claim for one in proven} == {f"person {place + 1}: secret {bit}" for place, bit in same.items()}
        assert all(check(*one.certificate) for one in proven)
        assert found.numbers["forecast"] is None
        counted.append(len(proven))
    assert min(counted) < max(counted) == 7


def test_fewer_answers_than_people_say_who_cannot_be_told() -> None:
    """80 people: three are asked about alone, two more by a difference, the others only all together."""
    rows = np.zeros((6, 80), np.int64)
    rows[[0, 1, 2], [0, 1, 2]] = 1
    rows[3, 3:], rows[4, 4:], rows[5, 5:] = 1, 1, 1
    secrets = np.random.default_rng(3).integers(0, 2, 80)
    found = attack_subsets(rows, rows @ secrets, errors=Errors("exact"), truth=secrets)
    table = found.tables[0]
    assert table.title == "Fewer answers than people"
    assert table.rows[0] == ("determined by the row space of the queries", "5")
    assert found.claimed == 5
    assert found.score is not None
    assert found.score.right == 5
    assert found.headline == "5 of 80 people are found; 6 answers are too few to tell about the others"
    assert "not safe" in table.text
    unsaid = attack_subsets(rows, rows @ secrets)
    assert unsaid.claimed == 0  # nobody stated that answers are exact
    with raises_code(InvalidInputError, "too-few: 9,000 people"):
        attack_subsets(simulate(9000, 1, 1, structure="prefix").queries.block(0, 1000), np.zeros(1000))


@pytest.mark.proof
@pytest.mark.parametrize("law", ["normal", "laplace", "exact"])
def test_claims_from_fewer_answers_than_people_are_as_often_right_as_they_say(law: Any) -> None:
    """20 seeds of 120 people and 90 answers about two to four of them. Wrong claims are not more than the upper end of
    the exact interval (1e-4) for as many as expected."""
    expected = wrong = claims = 0.0
    for seed in range(20):
        draw = np.random.default_rng((seed, 3))
        rows = [np.sort(draw.choice(120, int(draw.integers(2, 5)), replace=False)).tolist() for _ in range(90)]
        secrets = draw.integers(0, 2, 120)
        exact = np.array([secrets[row].sum() for row in rows], np.float64)
        stated = Errors("exact") if law == "exact" else Errors(law, 0.15)
        noise = {"normal": draw.normal, "laplace": draw.laplace}.get(law)
        answers = exact if noise is None else exact + noise(0, 0.15, 90)
        sums = sums_of(rows, answers, [f"p{one}" for one in range(120)], "made")
        found = attacked(sums, KnownBits(errors=stated, rate=0.5, truth=None, control=None), "auto", None)
        sure = found.confidence >= 0.95
        claims += float(sure.sum())
        expected += float((1 - found.confidence[sure]).sum())
        wrong += float((found.decoded.bits != secrets)[sure].sum())
    assert claims > 200
    assert poisson.sf(wrong - 1, max(expected, 0.1)) > 1e-4


@pytest.mark.parametrize("kind", ["csr_matrix", "coo_matrix", "csc_array"])
def test_sparse_matrices_of_scipy_are_queries(kind: str) -> None:
    made = simulate(30, 3, 0.1, structure="sparse", seed=3)
    plain = attack_subsets(members(made), made.answers, errors=made.errors).numbers
    given = getattr(scipy.sparse, kind)(members(made))
    assert attack_subsets(given, made.answers, errors=made.errors).numbers["expected"] == plain["expected"]


@pytest.mark.parametrize(
    ("given", "problem"),
    [(scipy.sparse.eye(3) * 2, "not-binary"), (scipy.sparse.coo_matrix((0, 3)), "wrong-shape")],
)
def test_sparse_matrices_that_are_no_queries_are_refused(given: Any, problem: str) -> None:
    with raises_code(InvalidInputError, problem):
        attack_subsets(given, np.ones(given.shape[0]))


def test_rounding_wider_than_sums_vary_promises_nothing() -> None:
    """Sums of 200 people vary by 7 around 50: rounded to 50 nearly all are 50. Errors up to 25 of any law promised 85 %
    and made everybody look as sure; a blind guess gets about as much as the attack."""
    made = simulate(200, 4, 0, law="exact", seed=1)
    found = attack_subsets(
        made.queries, 50 * np.rint(made.answers / 50), errors=Errors("bounded", 25), truth=made.secrets, decoder="box"
    ).numbers
    assert abs(found["forecast"] - found["recovered"]) < 0.1  # of 200 people: three standard deviations
    assert found["forecast"] < 0.65
    assert found["sure"] == 0
    assert as_rounded(Errors("bounded", 2.5), np.array([5.0, 15.0])).step == 5
    assert as_rounded(Errors("bounded", 2.5), np.array([5.0, 16.0])).step == 0
    assert as_rounded(Errors("normal", 2.5), np.array([5.0, 15.0])).step == 0


FEW = [[0, 1], [1, 2], [0, 2]]
EYE = np.eye(3)


@pytest.mark.parametrize(
    ("queries", "answers", "given", "problem"),
    [
        ("text", [1], {}, "wrong-type"),
        (np.ones(3), [1], {}, "wrong-shape: shape"),
        (np.full((3, 3), 2), [1, 1, 1], {}, "not-binary: 0 … 1"),
        (np.array([["a", "b"], ["c", "d"]]), [1, 1], {}, "not-binary: 0 … 1"),
        ([], [], {}, "empty: no queries"),
        ([[0.5], [1.5]], [1, 1], {}, "not-a-list: people's"),
        ([[[0], [1, 2]], [0]], [1, 1], {}, "not-a-list: people's"),
        ([[0, 0], [1]], [1, 1], {}, "duplicate-name: twice"),
        ([[0, 3]], [1], {"names": ["a", "b"]}, "unknown-person: the 2"),
        ([[-1]], [1], {}, "unknown-person: none"),
        ([[], []], [1, 1], {}, "empty: asks … anybody"),
        ([[0], []], [1, 1], {}, "empty: 2 asks"),
        (EYE, [1, 1], {}, "wrong-length: to 3 queries"),
        (EYE, ["a", 1, 1], {}, "not-a-number: numbers"),
        (EYE, [np.nan, 1, 1], {}, "not-finite: 1 of … not finite"),
        (EYE, [1, 1, 1], {"names": ["a", "b"]}, "wrong-length: 2 names … for 3"),
        (EYE, [1, 1, 1], {"names": ["a", "b", "a"]}, "duplicate-name: people"),
        (FEW, [1, 1, 1], {"errors": Errors("normal", -1)}, "negative: size … -1"),
        (FEW, [1, 1, 1], {"errors": Errors("normal", 0)}, "not-positive: size 0"),
        (FEW, [1, 1, 1], {"errors": Errors("outliers", 1, 1)}, "out-of-range: outliers"),
        (FEW, [1, 1, 1], {"rate": 1}, "out-of-range: rate … of 1"),
        (FEW, [1, 1, 1], {"truth": [0, 1, 2]}, "not-binary: 0 … 1"),
        (FEW, [1, 1, 1], {"truth": ["yes", 1, 0]}, "not-binary: 0 … 1"),
        (FEW, [1, 1, 1], {"truth": [0, 1]}, "wrong-length: 2 values … for 3"),
        (FEW, [1, 1, 1], {"truth": {"nobody": 1}}, "unknown-person: not"),
        (FEW, [1, 1, 1], {"truth": {}}, "empty: empty"),
        (FEW, [1, 1, 1], {"control": [0, 1]}, "wrong-length: control"),
    ],
)
def test_what_cannot_be_decoded_is_refused(queries: Any, answers: Any, given: dict[str, Any], problem: str) -> None:
    with raises_code(InvalidInputError, problem):
        attack_subsets(queries, answers, **given)


@pytest.mark.parametrize(
    ("people", "each", "alpha", "given", "problem"),
    [
        (0, 4, 1, {}, "not-positive: 0 people"),
        (9, 0.5, 1, {}, "out-of-range: queries"),
        (9, 4, 0, {}, "not-positive: of 0"),
        (9, 4, 1, {"law": "odd"}, "unknown-choice: errors … odd"),
        (9, 4, 1, {"structure": "odd"}, "unknown-choice: queries"),
        (99, 4, 1, {"structure": "all"}, "too-many: subsets"),
        (9, 4, 1, {"share": 1}, "out-of-range: not between … between 0 … 1"),
        (9, 4, 1, {"rate": 0}, "out-of-range: not between … between 0 … 1"),
    ],
)
def test_what_cannot_be_made_is_refused(
    people: int, each: float, alpha: float, given: dict[str, Any], problem: str
) -> None:
    with raises_code(InvalidInputError, problem):
        simulate(people, each, alpha, **given)


def test_a_matrix_of_ones_own_is_taken_as_it_is() -> None:
    made = simulate(12, 3, 0.1)
    assert sums_of(made.queries, made.answers, None, "x").matrix is made.queries
    assert secrets_of(None, ("a",), "truth") is None
    assert pv.attacks.attack_subsets is attack_subsets

"""`audit_training`: which records go into which training, what failures and scores count for, and what is refused.

The audits here are wrong with a chance of 1e-7 at most where a training is right, and all of them are seeded.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from support.refusals import raises_code

from privet.audits import Claim, audit_training, canary_runs
from privet.audits.canary_rows import canaries_of, kinds_from, read_data, rows_from, valid_from
from privet.audits.canary_runs import Design, over_runs
from privet.audits.canary_scores import scored, usual_score
from privet.core.unit import Neighbors
from privet.errors import InvalidInputError

SURE = 1 - Fraction(1, 10**7)
DRAW = np.random.default_rng(0)
ROWS = DRAW.random((12, 2))
LABELS = np.array(["no", "yes"] * 6)
UNITS = np.arange(12) // 2


def design(relation: Neighbors, units: Any = None) -> tuple[Design, Any]:
    """Three slots: one of each kind."""
    data = read_data((ROWS, LABELS), units)
    valid = valid_from(data, (0, 1), None, None)
    drawn = [
        canaries_of(kind, 1, data, valid, np.random.default_rng(1), rows_from(None, data))
        for kind in kinds_from(None, data)
    ]
    if relation is Neighbors.ADD_REMOVE:
        drawn = [one.alone() for one in drawn]
    found = Design(data, Claim(epsilon=1), relation, 1, Fraction(1, 2))
    return found, found.pool(drawn)


# ---------------------------------------------------------------------------------------------------- coins and records


def records(data: Any) -> Counter[Any]:
    units = [None] * len(data) if data.units is None else data.units.tolist()
    return Counter(zip(map(tuple, data.rows.tolist()), data.labels.tolist(), units, strict=True))


@pytest.mark.parametrize("relation", Neighbors)
@pytest.mark.parametrize(
    "units", [None, UNITS, np.array([f"p{one}" for one in UNITS])], ids=["rows", "numbers", "texts"]
)
def test_a_coin_changes_one_unit_and_nothing_else(relation: Neighbors, units: Any) -> None:
    """All coins of all slots, and every one that is turned: one unit comes or goes, or another is in its place."""
    made, pool = design(relation, units)
    slots = len(pool.here)
    assert slots == (2 if units is None else 3)
    order = np.random.default_rng(2).permutation(len(pool.records))
    for coins in product((False, True), repeat=slots):
        data = pool.data(np.array(coins), order)
        for slot in range(slots):
            turned = np.array([coin ^ (at == slot) for at, coin in enumerate(coins)])
            other = pool.data(turned, order)
            more, less = records(data) - records(other), records(other) - records(data)
            rows = 4 if slot == 2 else 1  # a repeated canary has twice the two rows of a person
            assert sorted((more.total(), less.total())) == (
                [rows, rows] if relation is Neighbors.REPLACE else [0, rows]
            )
            assert all(len({unit for _, _, unit in found}) <= 1 for found in (more, less))
            if units is not None:
                assert {unit for _, _, unit in more + less}.isdisjoint(units.tolist())
        assert records(pool.data(np.array(coins), order[::-1])) == records(data)
        assert not records(made.data) - records(data)


def test_a_canary_that_leaves_moves_nobody_else() -> None:
    _, pool = design(Neighbors.ADD_REMOVE)
    order = np.random.default_rng(2).permutation(len(pool.records))
    both, one = (pool.data(np.array([True, last]), order).rows.tolist() for last in (True, False))
    at = next(place for place, row in enumerate([*one, None]) if row != both[place])
    assert both[:at] + both[at + 1 :] == one


def told(odds: float) -> Callable[..., Any]:
    """A training that tells of each record that there may be whether it is in, rightly with these odds: if a claim of
    log(odds) is true, then barely. A score is looked up."""

    def fit(X: Any, y: Any, seed: int) -> Any:  # noqa: N803, ARG001
        draw, inside = np.random.default_rng(seed), {tuple(row) for row in X.tolist()}

        def score(rows: Any) -> list[float]:
            right = draw.random(len(rows)) < odds / (1 + odds)
            return [float((tuple(row) in inside) == bool(one)) for row, one in zip(rows.tolist(), right, strict=True)]

        return score

    return fit


def look_up(model: Any, rows: Any, labels: Any) -> Any:  # noqa: ARG001
    return model(rows)


@pytest.mark.parametrize(("canaries", "runs"), [(400, 1), (100, 4)])
def test_a_training_that_barely_keeps_its_claim_is_never_flagged_and_a_worse_one_always(
    canaries: int, runs: int
) -> None:
    """Coins of several trainings count like coins of one. At odds e**3, 400 coins show more than an epsilon of 1."""
    for seed in range(10):
        settings: dict[str, Any] = {
            "canaries": canaries,
            "runs": runs,
            "kinds": "corner",
            "score": look_up,
            "seed": seed,
        }
        fair, worse = (
            audit_training(told(odds), (ROWS, LABELS), Claim(epsilon=1), confidence=SURE, **settings)
            for odds in (math.e, math.e**3)
        )
        assert not fair.violated
        assert worse.violated
        assert 1 < worse.lower_bound < min(3, worse.ceiling)
        assert worse.trainings == runs


@pytest.mark.proof
def test_bounds_are_wrong_no_more_often_than_stated() -> None:
    """At 90 %, randomized response at exactly the claim: 200 audits, of both designs. Red once in 10^9."""
    false = sum(
        audit_training(
            told(math.e),
            (ROWS, LABELS),
            Claim(epsilon=1),
            canaries=canaries,
            runs=runs,
            kinds="corner",
            score=look_up,
            seed=seed,
            confidence=0.9,
        ).violated
        for seed in range(100)
        for canaries, runs in ((60, 1), (1, 60))
    )
    assert false <= stats.binom.isf(1e-9, 200, 0.1)


# ----------------------------------------------------------------------------------------------- what canaries are like


@pytest.mark.parametrize("size", [1, 8, 40])
@pytest.mark.parametrize("kind", ["mislabeled", "corner", "repeated"])
def test_canaries_are_valid_records_and_unlike_others(kind: Any, size: int) -> None:
    data = read_data((ROWS, LABELS), UNITS)
    valid = valid_from(data, [(0, 1), (-2, 3)], ["no", "yes", "never"], None)
    made = canaries_of(kind, size, data, valid, np.random.default_rng(3), 5)
    assert made.there is not None
    for side in (made.here, made.there):
        assert side.rows.shape == (size, 2)
        assert (side.rows >= [0, -2]).all()
        assert (side.rows <= [1, 3]).all()
        assert set(side.labels) <= {"no", "yes", "never"}
    assert made.here.labels[0] == "never"  # the rarest class
    assert len({tuple(row) for row in made.here.rows.tolist()}) >= 0.8 * size
    if kind == "mislabeled":
        assert (made.here.rows == made.there.rows).all()
        assert (made.here.labels != made.there.labels).all()
    else:
        assert made.here.rows[0, 1] == 3  # the farther end
        assert made.here.rows + made.there.rows == pytest.approx(np.tile([1.0, 1.0], (size, 1)))
    assert made.rows == (5 if kind == "repeated" else 1)


def test_categories_and_whole_numbers_stay_what_they_are() -> None:
    rows = np.array([["a", 1.0, 0.5], ["a", 2.0, None], ["b", 3.0, 0.25]], object)
    data = read_data((rows, np.array([0.5, 1.5, 2.0])), None)
    valid = valid_from(data, [["a", "b", "c"], (0, 9), None], None, (0, 3))
    assert str(valid) == "Every canary is a valid record: columns as declared or as in the data, labels as declared"
    made = canaries_of("corner", 30, data, valid, np.random.default_rng(3), 1)
    assert made.here.rows[0].tolist() == ["c", 9.0, made.here.rows[0, 2]]
    assert set(made.here.rows[:, 0]) == {"a", "b", "c"}
    assert set(made.here.rows[:, 1]) == {0.0, 9.0}
    assert set(made.here.labels) == {0.0, 3.0}
    wrong = canaries_of("mislabeled", 3, data, valid, np.random.default_rng(3), 1)
    assert sorted(wrong.here.labels) == [0.0, 3.0, 3.0]
    listed = valid_from(read_data(rows, None), None, None, None)
    assert [ends.values for ends in listed.columns] == [("a", "b"), (1.0, 3.0), (0.25, 0.5)]
    assert str(listed) == "Every canary is a valid record: columns as in the data"


def test_whole_numbers_stay_within_a_range_of_fractions() -> None:
    data = read_data(np.array([[1, 2], [2, 2], [3, 2]]), None)
    made = canaries_of("corner", 9, data, valid_from(data, [(0.5, 3.5), None], None, None), np.random.default_rng(3), 1)
    assert made.here.rows.dtype == data.rows.dtype
    assert set(made.here.rows[:, 0]) == {1, 3}
    assert set(made.here.rows[:, 1]) == {2}


def test_data_frames_stay_data_frames() -> None:
    frame = pd.DataFrame({"age": [30, 40, 50, 60], "ward": ["A", "B", "A", "A"]}, index=[3, 1, 4, 5])
    frame["ward"] = frame["ward"].astype("category")
    seen: list[Any] = []

    def fit(X: Any, y: Any) -> Any:  # noqa: N803
        seen.append(X)
        return SimpleNamespace(predict=lambda rows: np.full(len(rows), y[0]), frame=X)

    found = audit_training(fit, (frame, np.array([0, 1, 0, 1])), Claim(epsilon=9), canaries=40)
    assert found.records == 4
    assert list(seen[0].dtypes) == list(frame.dtypes)
    assert 10 < len(seen[0]) < 40
    assert set(seen[0]["ward"]) == {"A", "B"}


# ----------------------------------------------------------------------------------------------------- failures, scores


def constant(X: Any, y: Any) -> Any:  # noqa: N803, ARG001
    return lambda rows: ["no"] * len(rows)


UNKNOWN = 9.0  # what is said of other records: no class


def recalling(form: Callable[[Any], Any]) -> Callable[[Any, Any], Any]:
    """A training that knows its records by heart, and writes classes in a form of its own."""

    def fit(X: Any, y: Any) -> Any:  # noqa: N803
        known = {tuple(row): label for row, label in zip(X.tolist(), y.tolist(), strict=True)}
        return lambda rows: [form(known.get(tuple(row), UNKNOWN)) for row in rows.tolist()]

    return fit


def chances(form: Callable[[Any], Any]) -> Callable[[Any, Any], Any]:
    """The same with a probability for each class."""

    def fit(X: Any, y: Any) -> Any:  # noqa: N803
        said, classes = recalling(lambda one: one)(X, y), np.unique(y)
        return SimpleNamespace(
            classes_=[form(one) for one in classes.tolist()],
            predict_proba=lambda rows: np.where(np.array(said(rows))[:, None] == classes, 0.9, 0.1),
        )

    return fit


NUMBERS = (DRAW.random((30, 2)), np.resize([0.0, 1.0], 30))


@pytest.mark.parametrize("fit", [recalling, chances])
@pytest.mark.parametrize("form", [float, int, bool, str])
def test_classes_may_be_written_in_another_form(fit: Any, form: Any) -> None:
    """Classes of a file are numbers with decimals; a training may turn them into whole numbers or texts."""
    found = audit_training(fit(form), NUMBERS, Claim(epsilon=1), canaries=30, kinds="corner", runs=10, confidence=SURE)
    assert found.violated


@pytest.mark.parametrize("fit", [recalling(lambda _: 0.37), chances(lambda one: f"class {one}")])
def test_a_model_of_other_classes_is_refused(fit: Any) -> None:
    with raises_code(InvalidInputError, "not-supported"):
        audit_training(fit, NUMBERS, Claim(epsilon=1), canaries=30)


@pytest.mark.parametrize("settings", [{"canaries": 200}, {"canaries": 1, "runs": 200}])
@pytest.mark.parametrize("value", [0.5, math.nan])
def test_scores_that_are_all_alike_are_no_green_light(settings: dict[str, int], value: float) -> None:
    found = audit_training(
        constant,
        (ROWS, LABELS),
        Claim(epsilon=1),
        score=lambda _model, rows, _labels: np.full(len(rows), value),
        **settings,
    )
    assert found.verdict == "inconclusive"
    assert "All scores are alike" in str(found)


def test_trainings_most_of_which_fail_are_no_green_light() -> None:
    calls = iter(range(100))

    def fit(X: Any, y: Any) -> Any:  # noqa: N803
        if next(calls) % 5:
            raise RuntimeError
        return recalling(float)(X, y)

    found = audit_training(fit, NUMBERS, Claim(epsilon=8), canaries=30, runs=20)
    assert found.verdict == "inconclusive"
    assert "Most trainings failed (RuntimeError)" in str(found)


def test_one_training_that_did_not_fail_is_not_compared_with_itself() -> None:
    rows = over_runs([None, np.array([1.0, 2.0, 4.0]), None], 3)
    assert rows[1].tolist() == [1, 2, 4]


def test_a_training_that_fails_tells_by_failing() -> None:
    """Fails with a record of the highest first column: seen from failures alone. 160 trainings at most show 1.8."""

    def fit(X: Any, y: Any) -> Any:  # noqa: N803
        if X[:, 0].max() >= 1:
            raise ValueError("1.0 is too large")
        return constant(X, y)

    found = audit_training(
        fit, (ROWS, LABELS), Claim(epsilon=1), canaries=1, runs=160, bounds=(-5, 1), kinds="corner", confidence=SURE
    )
    assert not found.violated  # the corner is at -5
    found = audit_training(
        fit, (ROWS, LABELS), Claim(epsilon=1), canaries=1, runs=160, bounds=(0, 5), kinds="corner", confidence=SURE
    )
    assert found.violated
    assert (found.failed, found.error) == (80, "ValueError")
    assert (found.kinds[0].failed, found.kinds[0].failed_with) == (80, 80)
    assert "too large" not in f"{found}{found.text()}{found.to_json()}"
    assert "80 of 160, 80 of them with the canary" in " ".join(found.text().split())


def test_trainings_that_fail_by_chance_are_counted_and_show_nothing() -> None:
    draw = np.random.default_rng(5)

    def fit(X: Any, y: Any) -> Any:  # noqa: N803
        if draw.random() < 0.5:
            raise RuntimeError
        return constant(X, y)

    for canaries, runs in ((1, 100), (20, 30)):
        found = audit_training(fit, (ROWS, LABELS), Claim(epsilon="0.5"), canaries=canaries, runs=runs, confidence=SURE)
        assert not found.violated
        assert 0 < found.failed < found.trainings
        assert found.error == "RuntimeError"
        assert f"{found.failed} failed" in str(found)


def test_the_first_trainings_all_fail() -> None:
    def fit(X: Any, y: Any) -> Any:  # noqa: N803, ARG001
        raise KeyError("secret")

    for settings, words in (({"canaries": 50}, "the training failed"), ({"canaries": 1, "runs": 40}, "6")):
        with raises_code(InvalidInputError, f"code-fails: {words} … KeyError") as caught:
            audit_training(fit, (ROWS, LABELS), Claim(epsilon=1), **settings)
        assert "secret" not in str(caught.value)


def test_a_score_that_fails_is_a_training_that_fails() -> None:
    def score(model: Any, rows: Any, labels: Any) -> Any:  # noqa: ARG001
        raise ZeroDivisionError

    with raises_code(InvalidInputError, "code-fails: ZeroDivisionError"):
        audit_training(constant, (ROWS, LABELS), Claim(epsilon=1), canaries=50, score=score)


def test_scores_over_runs() -> None:
    """A canary is compared with itself; of a failed training nothing is known; what is lowest stays so."""
    found = over_runs([np.array([1.0, 10.0]), None, np.array([3.0, -np.inf])], 2)
    assert found.tolist() == [[-1.0, 0.0], [0.0, 0.0], [1.0, -np.inf]]
    assert over_runs([np.array([1.0, 10.0])], 2).tolist() == [[1.0, 10.0]]
    assert over_runs([None, None], 2).tolist() == [[0.0, 0.0], [0.0, 0.0]]


def model(**methods: Any) -> Any:
    return SimpleNamespace(**{name: (lambda _, answer=answer: np.array(answer)) for name, answer in methods.items()})


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (model(predict_proba=[[0.25, 0.75], [0.5, 0.5]]), [-math.log(3), 0]),
        (model(predict_proba=[[1.0, 0.0], [1.0, 0.0]]), [math.inf, -math.inf]),
        (model(predict_proba=[[np.nan, 0.0], [0.5, 0.5]]), [-math.inf, 0]),
        (model(decision_function=[2.0, -1.0]), [-2, -1]),
        (model(decision_function=[[2.0, -1.0], [3.0, 5.0]]), [3, 2]),
        (model(predict=["a", "a"]), [1, 0]),
        (lambda _: ["a", "b"], [1, 1]),
    ],
)
def test_the_usual_score_of_classes(given: Any, expected: list[float]) -> None:
    assert scored(usual_score(("a", "b")), given, np.zeros((2, 1)), np.array(["a", "b"])) == pytest.approx(expected)


def test_a_class_that_the_model_does_not_know_has_no_odds() -> None:
    given = model(predict_proba=[[1.0], [1.0]])
    given.classes_ = np.array(["b"])
    assert scored(usual_score(("a", "b")), given, np.zeros((2, 1)), np.array(["a", "b"])).tolist() == [-np.inf, np.inf]


def test_the_usual_score_without_classes() -> None:
    rows = np.array([[3.0, 4.0]])
    score = usual_score(None)
    assert scored(score, model(predict=[2.0]), rows, np.array([5.0])).tolist() == [-9]
    assert scored(score, model(score_samples=[-7.0]), rows, None).tolist() == [-7]
    assert scored(score, model(transform=[[3.0, 4.0]]), rows, None).tolist() == [-25]
    near = model(transform=[[3.0, 4.0]])
    near.cluster_centers_ = np.zeros((2, 2))
    assert scored(score, near, rows, None).tolist() == [-3]
    back = model(transform=[[3.0]], inverse_transform=[[3.0, 2.0]])
    back.components_ = np.zeros((1, 2))
    assert scored(score, back, rows, None).tolist() == [-4]


# ------------------------------------------------------------------------------------------------ what is said of it


def remember(X: Any, y: Any) -> Any:  # noqa: N803, ARG001
    inside = {tuple(row) for row in X.tolist()}
    return lambda rows: [tuple(row) in inside for row in rows.tolist()]


def test_what_is_said_of_a_violation(tmp_path: Path) -> None:
    seen: list[tuple[str, int, int]] = []
    found = audit_training(
        remember,
        (ROWS, LABELS),
        Claim(epsilon=1),
        neighbors="replace",
        canaries=300,
        runs=2,
        score=look_up,
        progress=lambda *told: seen.append(told),
    )
    assert found.violated
    assert found.verdict == "violated"
    assert seen == [("training", 0, 2), ("training", 1, 2)]
    assert found.ceiling >= found.lower_bound == max(one.lower_bound for one in found.kinds)
    told = json.loads(json.dumps(found.to_json(), allow_nan=False))
    assert (told["neighbors"], told["records"], told["trainings"], told["failed"]) == ("replace", 12, 2, 0)
    assert [one["kind"] for one in told["kinds"]] == ["mislabeled", "corner"]
    assert told["method"] == "300 canaries, each in or out by a coin, in 2 trainings"
    page = found.report(tmp_path / "report.html").read_text()
    text = " ".join(found.text().split())
    for words in ("The canaries", "mislabeled", "columns as in the data", "one data set has another record"):
        assert words in page
        assert words in text
    assert "each column at or near an end of its range" in text


def test_what_is_said_where_nothing_was_seen_or_could_be() -> None:
    found = audit_training(constant, (ROWS, LABELS), Claim(epsilon=1), canaries=200)
    assert found.verdict.startswith("consistent up to ")
    assert "only these canaries were tried" in str(found)
    few = audit_training(chances(str), (ROWS, LABELS), Claim(epsilon=8), canaries=1, runs=20)
    assert few.verdict == "inconclusive"
    assert "Use more canaries, or more trainings (one canary, in every second of 20 trainings" in str(few)
    assert "too few canaries or trainings" in few.text()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"fit": 1}, "not-callable: 1"),
        ({"units": UNITS}, "not-supported: units"),
        ({"units": UNITS[:3]}, "wrong-shape: (12, 2) … (3,)"),
        ({"data": ROWS[:, 0]}, "wrong-shape: (12,)"),
        ({"data": ROWS[:1]}, "too-few: 1"),
        ({"data": (ROWS, ["no"] * 12)}, "no-variation"),
        ({"canaries": 19}, "too-few: 19 … 2 … 20"),
        ({"canaries": 1, "runs": 19}, "too-few: 20 … 19"),
        ({"canaries": 0}, "too-small: canaries"),
        ({"kinds": ["nosuch"]}, "unknown-choice: 'nosuch'"),
        ({"kinds": []}, "empty: kinds"),
        ({"kinds": "repeated"}, "missing-value: people … units="),
        ({"kinds": "mislabeled", "data": ROWS}, "missing-value: labels … (X, y)"),
        ({"bounds": [(0, 1)]}, "wrong-length: 1 … 2"),
        ({"bounds": (1, 0)}, "reversed-range: column 1"),
        ({"bounds": [(0, 1), 3]}, "reversed-range: column 2"),
        ({"bounds": (0, 0.5)}, "out-of-range: column 1 … 0 to 0.5"),
        ({"classes": ["no"]}, "out-of-range: y"),
        ({"classes": "no"}, "wrong-type: classes"),
        ({"data": (ROWS, ROWS[:, 0]), "targets": 1}, "wrong-type: targets"),
        ({"bounds": 1}, "wrong-type: bounds"),
        ({"data": (ROWS, ROWS[:, 0]), "targets": [0, 0.1]}, "out-of-range: y … 0 to 0.1"),
        ({"data": (np.full((3, 1), np.nan), np.arange(3))}, "reversed-range: column 1"),
        ({"neighbors": "both"}, "unknown-choice|not-one-of|wrong-value: both"),
        ({"rows": 1}, "too-small: rows"),
        ({"confidence": 1}, "out-of-range: confidence"),
        ({"claim": 1}, "wrong-type: claim"),
        ({"score": lambda *_: [1.0]}, "wrong-shape: (1,)"),
        ({"fit": lambda *_: 3}, "not-supported: predict … score="),
    ],
)
def test_what_does_not_fit_is_refused(given: dict[str, Any], words: str) -> None:
    settings: dict[str, Any] = {"fit": constant, "data": (ROWS, LABELS), "claim": Claim(epsilon=1), "canaries": 100}
    with raises_code(InvalidInputError, words):
        audit_training(**(settings | given))


def test_a_function_that_does_not_tell_its_parameters_gets_no_seed() -> None:
    """A built-in one."""
    assert not canary_runs.takes(dict, "seed")
    assert canary_runs.takes(told(1.0), "seed")

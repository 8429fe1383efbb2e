"""What a model says of records, whatever kind of model it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from support.refusals import raises_code

from privet.attacks.models import outputs as module
from privet.attacks.models.outputs import FARTHEST, RIGHT, TOP, Asking, kind_of, outputs
from privet.attacks.models.records import Records, classes_of, records_from, repeated, shared
from privet.errors import InvalidInputError

ROWS = np.arange(6.0).reshape(3, 2)
THREE = np.array([0, 1, 2])


class Model:
    """Says what it is told to."""

    def __init__(self, method: str, answers: Any, classes: Any = None) -> None:
        setattr(self, method, lambda rows: np.asarray(answers)[: len(rows)])
        if classes is not None:
            self.classes_ = np.asarray(classes)


def said(model: Any, labels: Any = (0, 1, 2), classes: Any = THREE, answers: str = "auto") -> Any:
    records = Records(ROWS, np.asarray(labels))
    return outputs(model, records, np.asarray(classes), kind_of(model, answers), Asking(retries=0))


def log_odds(p: Any) -> Any:
    return np.log(p) - np.log1p(-np.asarray(p))


PROBABILITIES = np.array([[0.7, 0.2, 0.1], [0.3, 0.6, 0.1], [0.05, 0.15, 0.8]])


def test_odds_of_the_true_class() -> None:
    found, kind = said(Model("predict_proba", PROBABILITIES))
    assert kind == "probabilities"
    assert found.odds == pytest.approx(log_odds([0.7, 0.6, 0.8]))
    assert found.top[0] == pytest.approx(log_odds([0.7, 0.2, 0.1]))


def test_scores_give_the_same_as_probabilities() -> None:
    found, kind = said(Model("decision_function", np.log(PROBABILITIES) + 3))
    assert kind == "scores"
    assert found.odds == pytest.approx(log_odds([0.7, 0.6, 0.8]))


def test_large_scores_are_not_cut() -> None:
    """Margins have no scale. Cut like log odds of probabilities they would say which class, and no more."""
    found, _ = said(Model("decision_function", [4000.0, 5000.0, -6000.0]), labels=(1, 0, 0), classes=(0, 1))
    assert found.odds == pytest.approx([4000, -5000, 6000])
    found, _ = said(Model("decision_function", [[4000.0, 0.0, -9.0], [0.0, 0.0, 3e5], [0.0, 70.0, 0.0]]))
    assert found.odds == pytest.approx([4000, -3e5, -70])
    found, _ = said(Model("decision_function", [[400.0, 0.0], [0.0, 50.0], [80.0, 0.0]], classes=[0, 1]))
    assert np.isfinite(found.odds).all()
    assert found.odds == pytest.approx([400, 50, -400])  # a class never seen: no likelier than anything else


def test_a_model_that_changes_its_rows_changes_nothing_else() -> None:
    def spoils(rows: Any) -> Any:
        rows -= 100
        return PROBABILITIES

    before = ROWS.copy()
    said(spoils)
    model = Model("predict_proba", PROBABILITIES)
    model.predict_proba = spoils  # type: ignore[attr-defined]
    said(model)
    assert np.array_equal(ROWS, before)


def test_one_score_is_of_the_second_class() -> None:
    found, _ = said(Model("decision_function", [2.0, 2.0, -1.0]), labels=(1, 0, 0), classes=(0, 1))
    assert found.odds == pytest.approx([2, -2, 1])
    assert found.top.shape == (3, TOP)
    found, kind = said(lambda _: np.array([0.9, 0.9, 0.2]), labels=(1, 0, 0), classes=(0, 1))
    assert kind == "probabilities"
    assert found.odds == pytest.approx(log_odds([0.9, 0.1, 0.8]))


def test_near_certainty_is_not_rounded_away() -> None:
    sure = np.array([[1.0, 1e-11, 1e-12], [1e-12, 1.0, 1e-12], [0.0, 0.0, 1.0]])
    found, _ = said(Model("predict_proba", sure))
    assert found.odds[:2] == pytest.approx([-np.log(1.1e-11), -np.log(2e-12)])
    assert found.odds[2] == FARTHEST


def test_classes_in_another_order_and_a_class_never_seen() -> None:
    found, _ = said(Model("predict_proba", PROBABILITIES[:, [2, 0, 1]], classes=[2, 0, 1]))
    assert found.odds == pytest.approx(log_odds([0.7, 0.6, 0.8]))
    found, _ = said(Model("predict_proba", [[0.7, 0.3]] * 3, classes=[0, 1]))
    assert found.odds == pytest.approx([*log_odds([0.7, 0.3]), -FARTHEST])


def test_labels_alone() -> None:
    found, kind = said(Model("predict", [0, 0, 2]))
    assert kind == "labels"
    assert found.odds == pytest.approx(log_odds(RIGHT) * np.array([1, -1, 1]))
    assert said(Model("predict_proba", PROBABILITIES), answers="auto")[1] == "probabilities"
    texts = said(lambda _: np.array(["a", "b", "b"]), labels=("a", "b", "a"), classes=("a", "b"))
    assert texts[1] == "labels"
    assert (texts[0].odds > 0).tolist() == [True, True, False]


def test_what_is_not_a_number_is_known_as_such() -> None:
    answers = PROBABILITIES.copy()
    answers[1, 2] = np.nan
    found, _ = said(Model("predict_proba", answers))
    assert np.isnan(found.odds).tolist() == [False, True, False]
    found, _ = said(Model("decision_function", [[1.0, 0.0, 0.0], [np.inf, 0.0, 0.0], [0.0, 0.0, 5.0]]))
    assert np.isnan(found.odds).tolist() == [False, True, False]
    found, kind = said(lambda _: answers)
    assert kind == "probabilities"
    assert np.isnan(found.odds).tolist() == [False, True, False]
    found, _ = said(Model("predict_proba", [[np.nan, 0.5]] * 3, classes=[0, 1]))
    assert np.isnan(found.odds).all()


def test_a_function_tells_its_kind_by_its_answers() -> None:
    assert said(lambda _: PROBABILITIES)[1] == "probabilities"
    assert said(lambda _: PROBABILITIES * 3)[1] == "scores"
    assert said(lambda _: np.array([0, 1, 1]), labels=(0, 1, 0), classes=(0, 1))[1] == "labels"
    assert said(lambda _: np.array([[0.2], [0.3], [0.4]]), labels=(0, 1, 0), classes=(0, 1))[1] == "scores"


@pytest.mark.parametrize(
    ("model", "code"),
    [
        (3, "not-callable"),
        (Model("predict_proba", None), "code-fails: IndexError"),
        (Model("predict_proba", PROBABILITIES[:2]), "wrong-length"),
        (Model("predict_proba", PROBABILITIES[:, :2]), "wrong-shape"),
        (lambda _: np.array(["x", "y", "z"]), "wrong-type"),
        (Model("predict", [0.4, 0.1, 0.7]), "not-supported"),
        (Model("predict_proba", PROBABILITIES, classes=["a", "b", "c"]), "not-supported"),
    ],
)
def test_answers_that_cannot_be_used(model: Any, code: str) -> None:
    with raises_code(InvalidInputError, code):
        said(model)


@pytest.mark.parametrize(
    ("answers", "code"), [("labels", "wrong-shape"), ("scores", "not-a-number"), ("probabilities", "not-a-number")]
)
def test_a_function_answers_otherwise_than_said(answers: str, code: str) -> None:
    found = PROBABILITIES if answers == "labels" else np.array(["a", "b", "c"])
    with raises_code(InvalidInputError, code):
        said(lambda _: found, answers=answers)


def test_how_a_function_is_asked_is_checked() -> None:
    for wrong in ({"batch": 0}, {"retries": -1}, {"batch": 1.5}):
        with raises_code(InvalidInputError, "out-of-range|too-small|negative|not-whole"):
            Asking(**wrong)  # type: ignore[arg-type]


def test_a_model_without_such_answers_is_not_asked(pauses: list[float]) -> None:
    with raises_code(InvalidInputError, "not-supported"):
        outputs(Model("predict", [0, 1, 2]), Records(ROWS, THREE), THREE, "scores", Asking())
    assert pauses == []


def test_a_kind_must_exist() -> None:
    with raises_code(InvalidInputError, "unknown-choice"):
        kind_of(Model("predict", []), "logits")
    with raises_code(InvalidInputError, "not-supported"):
        kind_of(Model("predict", []), "scores")
    assert kind_of(len, "labels") == "labels"


# A function that fails


class Service:
    """Fails at some calls, counted from 0; sometimes with an answer of the wrong length."""

    def __init__(self, failing: set[int], *, short: bool = False) -> None:
        self.failing, self.short, self.calls, self.rows = failing, short, 0, 0

    def __call__(self, rows: npt.NDArray[Any]) -> npt.NDArray[Any]:
        self.calls += 1
        if self.calls - 1 in self.failing:
            if self.short:
                return np.full(len(rows) - 1, 0.5)
            raise TimeoutError("too many requests")
        self.rows += len(rows)
        return np.asarray(1 / (1 + np.exp(-rows[:, 0])))


RECORDS = Records(np.linspace(-1, 1, 25)[:, None], np.arange(25) % 2)


def asked(service: Service, asking: Asking) -> Any:
    return outputs(service, RECORDS, np.array([0, 1]), None, asking)[0].odds


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    told: list[float] = []
    monkeypatch.setattr(module.time, "sleep", told.append)
    return told


@pytest.mark.parametrize("short", [False, True])
def test_a_failure_is_tried_again_with_longer_pauses(pauses: list[float], short: bool) -> None:
    asking = Asking(batch=10, pause=0.5)
    found = asked(Service({1, 2}, short=short), asking)
    assert found == pytest.approx(asked(Service(set()), Asking()))
    assert pauses == [0.5, 1.0]
    assert asking.asked == 25 + 2 * 10


@pytest.mark.usefixtures("pauses")
def test_nothing_that_was_asked_is_asked_again(tmp_path: Path) -> None:
    kept = tmp_path / "answers"
    service = Service(set(range(2, 100)))
    with raises_code(InvalidInputError, "code-fails: 4 … TimeoutError"):
        asked(service, Asking(batch=10, kept=kept))
    assert service.rows == 20
    better = Service(set())
    found = asked(better, Asking(batch=10, kept=kept))
    assert better.rows == 5 + 10  # a kept batch is compared
    assert found == pytest.approx(asked(Service(set()), Asking()))
    assert asked(Service(set(range(100))), Asking(batch=10, kept=kept)) == pytest.approx(found)


def test_kept_answers_of_another_model_are_noticed(tmp_path: Path) -> None:
    def doubt(model: Any, **more: Any) -> str:
        asking = Asking(batch=10, retries=0, kept=tmp_path, **more)
        outputs(model, RECORDS, np.array([0, 1]), None, asking)
        return asking.doubt

    assert doubt(Service(set())) == ""
    assert doubt(Service(set())) == ""
    assert "not compared" in doubt(Service({0}))
    assert "not what the model answers now" in doubt(lambda rows: np.full(len(rows), 0.4))
    assert "not what the model answers now" in doubt(lambda rows: rows[:, 0] > 0)
    assert "not what the model answers now" in doubt(lambda _: 0.5)


@pytest.mark.usefixtures("pauses")
def test_texts_are_kept_and_garbage_is_asked_again(tmp_path: Path) -> None:
    def service(rows: Any) -> Any:
        return np.array(["a"] * len(rows), object)

    classes = np.array(["a", "b"])
    records = Records(ROWS, np.array(["a", "b", "a"]))
    for _ in range(2):
        asking = Asking(kept=tmp_path)
        assert outputs(service, records, classes, None, asking)[1] == "labels"
        assert asking.doubt == ""
    with raises_code(InvalidInputError, "code-fails: 4 … object"):
        outputs(lambda rows: np.array([None] * len(rows)), records, classes, None, Asking())


def test_other_rows_are_other_questions() -> None:
    pandas = pytest.importorskip("pandas")
    seen = {module._digest(rows) for rows in (ROWS, ROWS + 1, ROWS.astype(np.float32), ROWS.T.copy())}
    frames = [pandas.DataFrame({"a": [1, 2]}), pandas.DataFrame({"b": [1, 2]}), pandas.DataFrame({"a": ["1", "2"]})]
    texts = [np.array([["a"], ["b"]], object), np.array([["a"], ["c"]], object)]
    seen |= {module._digest(rows) for rows in (*frames, *texts)}
    assert len(seen) == 9
    assert module._digest(texts[0]) == module._digest(np.array([["a"], ["b"]], object))


def test_a_service_whose_width_changes_is_refused() -> None:
    widths = iter([2, 3])
    with raises_code(InvalidInputError, "wrong-shape"):
        outputs(lambda rows: np.ones((len(rows), next(widths))), RECORDS, np.array([0, 1]), None, Asking(batch=20))


# Records


def test_pairs_of_rows_and_classes() -> None:
    with raises_code(InvalidInputError, "wrong-type"):
        records_from(ROWS, "members")
    with raises_code(InvalidInputError, "wrong-shape"):
        records_from((ROWS, [1, 2]), "members")
    with raises_code(InvalidInputError, "too-few"):
        records_from((ROWS[:1], [1]), "others")
    two = records_from((ROWS, THREE), "members")
    with raises_code(InvalidInputError, "wrong-shape"):
        two.and_then(records_from((ROWS[:, :1], THREE), "others"))


def test_frames_stay_frames() -> None:
    pandas = pytest.importorskip("pandas")
    frame = records_from((pandas.DataFrame({"a": [1, 2, 3]}, index=[7, 8, 9]), THREE), "members")
    both = frame.and_then(frame).take(np.array([4, 0]))
    assert both.rows["a"].tolist() == [2, 1]
    assert both.labels.tolist() == [1, 0]
    with raises_code(InvalidInputError, "wrong-type"):
        frame.and_then(records_from((ROWS, THREE), "others"))


def test_categories_stay_categories() -> None:
    pandas = pytest.importorskip("pandas")
    one, other = (
        records_from((pandas.DataFrame({"n": [1, 2, 3], "c": pandas.Categorical(list(texts))}), THREE), "members")
        for texts in ("aab", "bca")
    )
    both = one.and_then(other).rows
    assert both["c"].tolist() == list("aabbca")
    assert both["c"].cat.categories.tolist() == list("abc")
    assert both["n"].tolist() == [1, 2, 3] * 2


def test_frames_with_other_columns_are_refused() -> None:
    """Joined they would have gaps, which tell members from others by themselves."""
    pandas = pytest.importorskip("pandas")
    one, other = (records_from((pandas.DataFrame({name: [1, 2, 3]}), THREE), name) for name in ("age", "Age"))
    with raises_code(InvalidInputError, "wrong-shape"):
        one.and_then(other)


def test_copies_are_counted_whatever_their_type() -> None:
    one = records_from((np.array([[1, 2], [3, 4], [1, 2], [5, 6]]), [0, 1, 0, 1]), "members")
    other = records_from((np.array([[3.0, 4.0], [5.0, 6.0]]), [1.0, 0.0]), "others")
    assert shared(one, other) == 1
    assert (repeated(one), repeated(other)) == (2, 0)


@pytest.mark.parametrize(
    ("labels", "code"),
    [([1, 1, 1], "no-variation"), ([0.5, 1.0, 2.0], "not-supported"), ([1.0, np.nan, 2], "not-supported")],
)
def test_classes_that_cannot_be_attacked(labels: Any, code: str) -> None:
    records = records_from((ROWS, labels), "members")
    with raises_code(InvalidInputError, code):
        classes_of(records, records)


def test_mixed_classes_are_refused() -> None:
    one, two = records_from((ROWS, np.array([1, "a", 2], object)), "members"), records_from((ROWS, THREE), "others")
    with raises_code(InvalidInputError, "wrong-type"):
        classes_of(one, two)

"""How much a model looks as if it had been trained on a record: a number per record, larger for those that were in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from privet.errors import InvalidInputError
from privet.typing import Floats

Labels = npt.NDArray[Any]
Score = Callable[[Any, Any, Labels | None], Any]  # model, rows, labels -> a number per record


def usual_score(classes: tuple[Any, ...] | None) -> Score:
    """By what the model offers: the log odds of the label, else less of a loss or of a distance.

    `classes`: those there are, where labels are classes."""

    def score(model: Any, rows: Any, labels: Labels | None) -> Floats:
        if labels is None:
            return _nearness(model, rows)
        if classes is None:
            return -((np.asarray(_told(model, "predict")(rows), np.float64) - labels.astype(np.float64)) ** 2)
        return _of_label(model, rows, labels, classes)

    return score


def scored(score: Score, model: Any, rows: Any, labels: Labels | None) -> Floats:
    """What is no number counts as the lowest score: it is part of what the model tells, too."""
    found = np.asarray(score(model, rows, labels), np.float64)
    if found.shape != (len(rows),):
        raise InvalidInputError(
            f"the score has shape {found.shape} for {len(rows)} records",
            "return one number per record",
            "wrong-shape",
        )
    return np.where(np.isnan(found), -np.inf, found)


def _told(model: Any, method: str) -> Callable[[Any], Any]:
    found = getattr(model, method, None)
    if found is None and method == "predict" and callable(model):
        found = model
    if not callable(found):
        raise InvalidInputError(
            f"the model has no {method}, so there is no usual score for it",
            "give score=, a function of (model, rows, labels) that returns one number per record",
            "not-supported",
        )
    return found  # type: ignore[no-any-return]


def _of_label(model: Any, rows: Any, labels: Labels, classes: tuple[Any, ...]) -> Floats:
    own = np.asarray(getattr(model, "classes_", sorted(classes))).tolist()
    places = _places(labels.tolist(), own, classes)
    if callable(getattr(model, "predict_proba", None)):
        with np.errstate(divide="ignore"):
            each = np.log(np.maximum(np.asarray(model.predict_proba(rows), np.float64), 0))
    elif callable(getattr(model, "decision_function", None)):
        found = np.asarray(model.decision_function(rows), np.float64)
        each = np.stack([-found / 2, found / 2], axis=1) if found.ndim == 1 else found
    else:
        return _right(np.asarray(_told(model, "predict")(rows)).tolist(), labels.tolist(), classes)
    return np.array([_odds(row, place) for row, place in zip(each, places, strict=True)])


def _right(said: list[Any], labels: list[Any], classes: tuple[Any, ...]) -> Floats:
    known, answers = {_form(one) for one in classes}, [_form(one) for one in said]
    if known.isdisjoint(answers):
        raise InvalidInputError(
            "the model returns no class of the data",
            "return classes as in the data; if it predicts a number, declare the range of the label (targets)",
            "not-supported",
        )
    return np.array([float(one == _form(label)) for one, label in zip(answers, labels, strict=True)])


def _places(labels: list[Any], own: list[Any], classes: tuple[Any, ...]) -> list[int]:
    """Of each label among the model's own classes, -1 if the model does not know it."""
    known = {_form(one): place for place, one in enumerate(own)}
    if known.keys().isdisjoint(_form(one) for one in classes):
        raise InvalidInputError(
            "the model knows no class of the data", "train it on the classes as they are in the data", "not-supported"
        )
    return [known.get(_form(label), -1) for label in labels]


def _form(label: Any) -> float | str:
    """One form of a class: who trains may turn 1.0 into 1, True or a text."""
    try:
        return float(label)
    except (TypeError, ValueError):
        return str(label)


def _odds(logs: Floats, place: int) -> float:
    """Of one class against all others. A class that the model does not know has none."""
    if place < 0:
        return -np.inf
    others = np.delete(logs, place)
    most = others.max(initial=-np.inf)
    rest = most + np.log(np.exp(others - most).sum()) if np.isfinite(most) else most
    return float(logs[place] - rest) if np.isfinite(logs[place]) or np.isfinite(rest) else -np.inf


def _nearness(model: Any, rows: Any) -> Floats:
    """Of models without labels: a density, the nearest center, what is lost on the way back, or how usual a row is."""
    if callable(getattr(model, "score_samples", None)):
        return np.asarray(model.score_samples(rows), np.float64)
    moved = np.asarray(_told(model, "transform")(rows), np.float64)
    if hasattr(model, "cluster_centers_"):
        return np.asarray(-moved.min(axis=1))
    if hasattr(model, "components_"):
        back = np.asarray(model.inverse_transform(moved), np.float64)
        return np.asarray(-((back - np.asarray(rows, np.float64)) ** 2).sum(axis=1))
    return np.asarray(-(moved**2).sum(axis=1))

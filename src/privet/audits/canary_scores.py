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
    own = [str(one) for one in np.asarray(getattr(model, "classes_", sorted(classes))).tolist()]
    if callable(getattr(model, "predict_proba", None)):
        with np.errstate(divide="ignore"):
            each = np.log(np.maximum(np.asarray(model.predict_proba(rows), np.float64), 0))
    elif callable(getattr(model, "decision_function", None)):
        found = np.asarray(model.decision_function(rows), np.float64)
        each = np.stack([-found / 2, found / 2], axis=1) if found.ndim == 1 else found
    else:
        said = np.asarray(_told(model, "predict")(rows)).tolist()
        return np.array([float(str(one) == str(label)) for one, label in zip(said, labels.tolist(), strict=True)])
    places = [own.index(str(label)) if str(label) in own else -1 for label in labels.tolist()]
    return np.array([_odds(row, place) for row, place in zip(each, places, strict=True)])


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

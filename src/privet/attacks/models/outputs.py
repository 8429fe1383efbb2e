"""What a model says of labeled records, in one form: the log odds that it gives the true class, and its largest odds.

A model is an object with `predict_proba`, `decision_function` or `predict`, or a function of rows, such as a service
behind a network. A function that fails is asked again a few times, with longer and longer pauses; each answer is kept
before the next batch is asked, so an attack that was stopped goes on where it was.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from privet.attacks.models.records import Records
from privet.core.rational import whole
from privet.errors import InvalidInputError
from privet.typing import Floats

Kind = Literal["probabilities", "scores", "labels"]
METHODS: dict[Kind, str] = {"probabilities": "predict_proba", "scores": "decision_function", "labels": "predict"}
FARTHEST = 30.0  # log odds: beyond it floats of a probability say nothing
RIGHT = 0.99  # a label alone is taken for this probability
TOP = 3  # of the sorted probabilities
AGAIN = 20  # rows that are asked again to know a model
NEAR = 1e-3  # within which probabilities add up to 1: float32, and services that round


class NoAnswerError(Exception):
    """A service gave no usable answer, and may give one later. Its words hold no data: they are shown."""


@dataclass(frozen=True, slots=True, eq=False)
class Outputs:
    """`odds`: log of p / (1 - p) for the true class of each record; NaN where the model gave no finite number. `top`:
    the log odds of the model's likeliest classes, falling."""

    odds: Floats
    top: Floats


@dataclass(slots=True, kw_only=True)
class Asking:
    """How a function is queried.

    batch: rows per call. retries: how often a failed batch is tried again. pause: seconds before that, doubled each
    time. kept: a folder for the answers. `asked` counts the rows that were sent, including those sent again, `failed`
    the calls without a usable answer, and `doubt` says why the kept answers may be those of another model.
    Raises InvalidInputError if batch or retries is not a whole number in range.
    """

    batch: int = 1000
    retries: int = 3
    pause: float = 1.0
    kept: str | Path | None = None
    asked: int = field(default=0, init=False)
    failed: int = field(default=0, init=False)
    doubt: str = field(default="", init=False)
    tell: Callable[[int, int], object] = field(default=lambda *_: None, init=False, repr=False)

    def __post_init__(self) -> None:
        whole(self.batch, "batch", 1)
        whole(self.retries, "retries", 0)


def kind_of(model: object, said: str) -> Kind | None:
    """What is asked of an object: the most telling that it has. None: a function, whose answers tell."""
    if said not in ("auto", *METHODS):
        raise InvalidInputError(
            f"answers={said!r} is not known", f"give one of auto, {', '.join(METHODS)}", "unknown-choice"
        )
    has: list[Kind] = [kind for kind, method in METHODS.items() if callable(getattr(model, method, None))]
    if not has and not callable(model):
        raise InvalidInputError(
            "the model has no predict_proba, decision_function or predict, and is not a function",
            "give a fitted classifier, or a function that takes rows and returns probabilities, scores or labels",
            "not-callable",
        )
    if said != "auto":
        wanted: Kind = said  # type: ignore[assignment]
        if has and wanted not in has:
            raise InvalidInputError(
                f"the model has no {METHODS[wanted]}",
                f"give answers as one of {', '.join(has)}, or leave it out",
                "not-supported",
            )
        return wanted
    return has[0] if has else None


def outputs(
    model: Any, records: Records, classes: npt.NDArray[Any], kind: Kind | None, asking: Asking
) -> tuple[Outputs, Kind]:
    """What the model says of all records, and the kind of its answers."""
    method = None if kind is None else getattr(model, METHODS[kind], None)
    if method is None and not callable(model):
        raise InvalidInputError(
            f"a model that was trained again gives no {kind}", "answer as the model does", "not-supported"
        )
    answers = _asked(model, records, asking) if method is None else _said(method, records)
    if len(answers) != len(records):
        raise InvalidInputError(
            f"the model returned {len(answers):,} answers for {len(records):,} records",
            "return one answer per row",
            "wrong-length",
        )
    seen = kind or _kind(answers, classes)
    if seen == "labels" and answers.ndim != 1:
        raise InvalidInputError(
            f"the function returns numbers of shape {answers.shape}, not classes",
            "return one class per row, or leave answers out",
            "wrong-shape",
        )
    if seen == "labels":
        return _of_labels(answers, records, classes), seen
    own = np.asarray(getattr(model, "classes_", classes))
    if not np.isin(own, classes).any():
        raise _unknown("knows", classes)
    logs = _logs(answers, len(own), seen)
    return _of_logs(_placed(logs, own, classes), records, classes, seen), seen


def _unknown(does: str, classes: npt.NDArray[Any]) -> InvalidInputError:
    """The model was trained on other classes, or predicts a number. Its answers would all count as wrong."""
    words = "texts" if classes.dtype.kind in "UO" else "numbers"
    return InvalidInputError(
        f"the model {does} no class of the records",
        f"give a classifier with the classes of y, which are {words} here; models that predict a number are not tried",
        "not-supported",
    )


def _said(method: Callable[[Any], Any], records: Records) -> npt.NDArray[Any]:
    try:
        return np.asarray(method(records.rows.copy()))  # it may change them
    except Exception as error:  # whatever somebody's model raises
        raise InvalidInputError(
            f"the model fails on these records ({type(error).__name__})",
            "give X in the form in which the model takes it",
            "code-fails",
        ) from error


def _kind(answers: npt.NDArray[Any], classes: npt.NDArray[Any]) -> Kind:
    """Of a function: numbers that are not classes are probabilities if they are from 0 to 1 and add up to 1."""
    if answers.ndim == 1 and np.isin(answers, classes).all():
        return "labels"
    if answers.dtype.kind not in "fiu":
        raise InvalidInputError(
            "the function returns neither numbers nor known classes",
            "return probabilities or scores, one column per class in sorted order, or one class per row",
            "wrong-type",
        )
    known = answers[np.isfinite(answers).all(axis=-1)] if answers.ndim == 2 else answers[np.isfinite(answers)]
    within = bool(((known >= -NEAR) & (known <= 1 + NEAR)).all())
    whole = answers.ndim == 1 or bool((np.abs(known.sum(axis=1) - 1) < NEAR).all())
    return "probabilities" if within and whole else "scores"


def _logs(answers: npt.NDArray[Any], classes: int, kind: Kind) -> Floats:
    """A row of log probabilities (up to a constant) for each record. One number for each record: of two classes, the
    second one's."""
    try:
        values = np.asarray(answers, np.float64)
    except (TypeError, ValueError):
        raise InvalidInputError(
            "the answers are not numbers", 'give answers="labels" if they are classes', "not-a-number"
        ) from None
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    with np.errstate(divide="ignore", invalid="ignore"):
        if values.ndim == 1:
            odds = values if kind == "scores" else np.log(values) - np.log1p(-values)
            values = np.stack([np.zeros_like(odds), odds], axis=1)
        elif kind == "probabilities":
            values = np.log(np.maximum(values, 0.0))
    if values.ndim != 2 or values.shape[1] != classes:
        raise InvalidInputError(
            f"the model returns numbers of shape {np.shape(answers)} for {classes} classes",
            "return one column per class, in the order of classes_ or in sorted order",
            "wrong-shape",
        )
    return values


def _placed(logs: Floats, own: npt.NDArray[Any], classes: npt.NDArray[Any]) -> Floats:
    """Columns in the order of all classes. A class that the model never saw has no probability."""
    if np.array_equal(own, classes):
        return logs
    placed = np.full((len(logs), len(classes)), -np.inf)
    known = np.isin(own, classes)
    placed[:, np.searchsorted(classes, own[known])] = logs[:, known]
    placed[np.isnan(logs).any(axis=1)] = np.nan
    return placed


def _of_logs(logs: Floats, records: Records, classes: npt.NDArray[Any], kind: Kind) -> Outputs:
    """Scores may be of any size, so they are not cut: cut off, they would say as little as labels."""
    odds = _odds(logs)
    if kind == "probabilities":
        odds = np.clip(odds, -FARTHEST, FARTHEST)
    known = np.append(odds[np.isfinite(odds)], [-FARTHEST, FARTHEST])
    odds = np.clip(odds, known.min(), known.max())  # where the model never saw a class
    true = odds[np.arange(len(odds)), np.searchsorted(classes, records.labels)]
    return Outputs(true, _largest(odds))


def _odds(logs: Floats) -> Floats:
    """Of each class against all others; NaN where a number is missing. The likeliest class is compared with the sum of
    the others, and not with one less its share: near certainty that leaves rounding alone."""
    rows, likeliest = np.arange(len(logs)), logs.argmax(axis=1)
    others = logs.copy()
    others[rows, likeliest] = -np.inf
    best, second = logs.max(axis=1), others.max(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = np.exp(logs - best[:, None])
        odds = logs - best[:, None] - np.log(shares.sum(axis=1, keepdims=True) - shares)
        rest = np.where(np.isfinite(second), second, 0.0)
        odds[rows, likeliest] = best - rest - np.log(np.exp(others - rest[:, None]).sum(axis=1))
    odds[~np.isfinite(best) | np.isnan(logs).any(axis=1)] = np.nan
    return np.asarray(odds)


def _largest(odds: Floats) -> Floats:
    ranked = -np.sort(-odds, axis=1)[:, :TOP]
    return np.pad(ranked, ((0, 0), (0, TOP - ranked.shape[1])), constant_values=-FARTHEST)


def _of_labels(answers: npt.NDArray[Any], records: Records, classes: npt.NDArray[Any]) -> Outputs:
    """Whether the label is right. A label alone says nothing of how sure the model is."""
    if not np.isin(answers, classes).any():
        raise _unknown("returns", classes)
    sure = float(np.log(RIGHT / (1 - RIGHT)))
    odds = np.where(answers == records.labels, sure, -sure)
    told = (answers[:, None] == classes[None, :]) * 2.0 * sure - sure
    return Outputs(odds, _largest(told))


def _asked(model: Callable[[Any], Any], records: Records, asking: Asking) -> npt.NDArray[Any]:
    starts = range(0, len(records), asking.batch)
    batches = [records.take(np.arange(start, min(start + asking.batch, len(records)))) for start in starts]
    kept = next((batch for batch in batches if (place := _place(batch, asking)) and place.exists()), None)
    if kept is not None:
        asking.doubt = _doubt(model, kept, asking)
    parts = []
    for done, batch in enumerate(batches):
        asking.tell(done, len(batches))
        parts.append(_batch(model, batch, asking))
    try:
        return np.concatenate(parts)
    except ValueError:
        raise InvalidInputError(
            "the function returns arrays of different widths", "return the same columns for all rows", "wrong-shape"
        ) from None


def _place(records: Records, asking: Asking) -> Path | None:
    return None if asking.kept is None else Path(asking.kept) / f"{_digest(records.rows)}.npy"


def _doubt(model: Callable[[Any], Any], records: Records, asking: Asking) -> str:
    """A few rows are asked again: the folder may be of another model."""
    before, some = _batch(model, records, asking), records.take(np.arange(min(AGAIN, len(records))))
    asking.asked += len(some)
    try:
        now = _plain(model(some.rows.copy()))
    except Exception:  # whatever a service raises
        return "the model does not answer now, so it was not compared with its kept answers"
    return (
        ""
        if _alike(now, before[: len(some)])
        else "the kept answers are not what the model answers now: give each model a folder"
    )


def _alike(one: npt.NDArray[Any], other: npt.NDArray[Any]) -> bool:
    if one.shape != other.shape or {one.dtype.kind, other.dtype.kind} - set("fiub"):
        return np.array_equal(one, other)
    return np.allclose(one, other, rtol=NEAR, atol=NEAR, equal_nan=True)


def _batch(model: Callable[[Any], Any], records: Records, asking: Asking) -> npt.NDArray[Any]:
    """From the folder, if it was asked before."""
    place = _place(records, asking)
    if place is not None and place.exists():
        return np.asarray(np.load(place, allow_pickle=False))
    answers = _answered(model, records, asking)
    if place is not None:
        place.parent.mkdir(parents=True, exist_ok=True)
        unfinished = place.with_suffix(".part.npy")
        np.save(unfinished, answers, allow_pickle=False)
        unfinished.replace(place)
    return answers


def _answered(model: Callable[[Any], Any], records: Records, asking: Asking) -> npt.NDArray[Any]:
    for attempt in range(asking.retries + 1):
        if attempt:
            time.sleep(asking.pause * 2 ** (attempt - 1))
        asking.asked += len(records)
        try:
            answers = _plain(model(records.rows.copy()))  # it may change them
        except InvalidInputError:  # asking again would not help
            raise
        except Exception as error:  # whatever a service raises
            asking.failed += 1
            seen = str(error) if isinstance(error, NoAnswerError) else type(error).__name__
            continue
        if answers.ndim and len(answers) == len(records) and answers.dtype != object:
            return answers
        asking.failed += 1
        seen = f"answers of shape {answers.shape} and type {answers.dtype} for {len(records):,} rows"
    again = "run the same call again"
    remedy = (
        f"give a folder as kept= and {again}, which then sends only the missing batches"
        if asking.kept is None
        else f"{again}: answers so far are in {asking.kept}, and only the missing batches are sent"
    )
    raise InvalidInputError(
        f"the model failed {asking.retries + 1} times in a row ({seen})",
        f"see whether it answers as it should; {remedy}",
        "code-fails",
    )


def _plain(answers: Any) -> npt.NDArray[Any]:
    """Texts in an array of objects are an array of texts, which can be kept."""
    found = np.asarray(answers)
    return np.array(found.tolist()) if found.dtype == object else found


def _digest(rows: Any) -> str:
    """Of what is sent: its type, shape and values."""
    if hasattr(rows, "iloc"):
        text = f"{list(rows.columns)}{list(rows.dtypes)}{rows.to_numpy().tolist()!r}".encode()
    elif rows.dtype.kind == "O":
        text = repr(rows.tolist()).encode()
    else:
        text = f"{rows.dtype}{rows.shape}".encode() + np.ascontiguousarray(rows).tobytes()
    return hashlib.sha256(text).hexdigest()

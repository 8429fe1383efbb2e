"""Run a mechanism on two neighbors, count, and bound epsilon from below. Nothing is assumed of the mechanism."""

from __future__ import annotations

import inspect
import math
import numbers
import time
from collections.abc import Callable, Hashable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from privet.audits import binomial
from privet.audits.claims import Claim
from privet.audits.events import Event, Ints, Outputs, Pair, View, counts, find_events
from privet.audits.verdict import Audit, Witness
from privet.core.rational import rational, show, whole
from privet.errors import InvalidInputError

FEWEST_SAMPLES = 1000
EVENTS = 8  # tested; each costs two bounds out of the confidence
LOOKING = 8  # one part in 8 ranks, one part in 8 picks, the rest tests


def audit(  # noqa: PLR0913 -- what is audited, and three settings by name
    mechanism: Callable[..., Any],
    claim: Claim,
    neighbors: Sequence[Any],
    *,
    samples: int = 500_000,
    confidence: object = 0.999999,
    batch: bool = True,
) -> Audit:
    """A lower bound on the epsilon of `mechanism` on the pair `neighbors`, at the claim's delta.

    `mechanism(data, size)` returns `size` independent outputs; with batch=False `mechanism(data)` returns one. An
    output is a number, or anything hashable. `samples` are drawn from each of the two data sets: a quarter to find
    events, the rest, fresh, to test at most EVENTS of them with Clopper–Pearson bounds that hold jointly.
    """
    started = time.perf_counter()
    sure = _check(mechanism, claim, neighbors, confidence, batch)
    total = whole(samples, "samples", FEWEST_SAMPLES)
    looking = total // LOOKING
    testing = total - 2 * looking
    rank, pick, test = _alike([_draw(mechanism, neighbors, size, batch) for size in (looking, looking, testing)])
    events = find_events(rank, pick, float(claim.delta), EVENTS)
    miss = math.nextafter(float((1 - sure) / (2 * len(events))), 0)
    bound, witness = _best(events, test, testing, claim, miss)
    return Audit(
        claim=claim,
        lower_bound=bound,
        confidence=float(sure),
        ceiling=_least(claim, testing, 0, testing, miss),
        rarest=_rarest(testing, claim, miss),
        witness=witness,
        samples=total,
        seconds=time.perf_counter() - started,
    )


def _best(events: list[Event], test: Pair, draws: int, claim: Claim, miss: float) -> tuple[float, Witness]:
    """The event with the largest bound."""
    tables: dict[View, tuple[Ints, Ints]] = {
        view: (counts(view, test[0]), counts(view, test[1])) for view in {event.view for event in events}
    }
    found = []
    for event in events:
        table = tables[event.view]
        hits = [int(table[side][event.chosen].sum()) for side in (event.likelier, 1 - event.likelier)]
        found.append((_least(claim, hits[0], hits[1], draws, miss), (hits[0], hits[1]), event))
    bound, both, event = max(found, key=lambda item: item[0])
    return bound, Witness(str(event), event.likelier, both, draws)


def _least(claim: Claim, likelier: int, other: int, draws: int, miss: float) -> float:
    return claim.least(binomial.lower(likelier, draws, miss), binomial.upper(other, draws, miss))


def _rarest(draws: int, claim: Claim, miss: float) -> float:
    """What the probability of an event must exceed to contradict the claim, if the other data set never shows it."""
    most = float(claim.delta) + math.exp(min(float(claim.value), 700.0)) * binomial.upper(0, draws, miss)
    return min(1.0, most)


def _draw(mechanism: Callable[..., Any], neighbors: Sequence[Any], size: int, batch: bool) -> Pair:
    first, second = (
        _read(mechanism(data, size) if batch else [mechanism(data) for _ in range(size)], size) for data in neighbors
    )
    return first, second


def _read(raw: Any, size: int) -> Outputs:
    """Numbers as an array, anything else as a list."""
    shape = np.shape(raw) if isinstance(raw, np.ndarray) else (len(raw),) if isinstance(raw, list | tuple) else None
    if shape != (size,):
        given = show(raw) if shape is None else f"shape {shape}"
        raise InvalidInputError(
            f"the mechanism was asked for {size} outputs and returned {given}",
            "return a 1-d array or a list with one output a draw (a vector as a tuple), or give batch=False for a "
            "mechanism(data) that returns one output",
        )
    if isinstance(raw, np.ndarray) and raw.dtype.kind not in "biuf":
        raw = raw.tolist()
    array = raw if isinstance(raw, np.ndarray) else _numbers(raw)
    if array is None:
        return _names(raw)
    if array.dtype.kind == "f" and bool(np.isnan(array).any()):
        raise _not_a_number()
    return array.astype(np.int64) if array.dtype.kind == "b" else array


def _numbers(values: Sequence[Any]) -> Any:
    kinds = set(map(type, values))
    whole_kinds = {kind for kind in kinds if issubclass(kind, numbers.Integral)}
    if not all(issubclass(kind, float | np.floating) for kind in kinds - whole_kinds):
        return None
    try:
        return np.array(values, np.int64 if kinds == whole_kinds else np.float64)
    except OverflowError:  # Python's integers have no end
        return None


def _names(values: Sequence[Any]) -> list[Hashable]:
    for value in values:
        try:
            hash(value)
        except TypeError:
            raise InvalidInputError(
                f"the mechanism returned an output that cannot be counted, of type {type(value).__name__}",
                "return numbers, texts or tuples: a list as tuple(...), an array as tuple(array.tolist())",
            ) from None
        if isinstance(value, float) and math.isnan(value):
            raise _not_a_number()
    return list(values)


def _not_a_number() -> InvalidInputError:
    return InvalidInputError(
        "the mechanism returned nan", "name the case: return a text such as 'failed', or None, in its place"
    )


def _alike(draws: list[Pair]) -> list[Pair]:
    """All arrays or all lists: a mechanism may return a text once in a while."""
    if all(isinstance(part, np.ndarray) for pair in draws for part in pair):
        return draws
    return [(_as_list(first), _as_list(second)) for first, second in draws]


def _as_list(outputs: Outputs) -> list[Hashable]:
    return outputs.tolist() if isinstance(outputs, np.ndarray) else outputs


def _check(mechanism: object, claim: object, neighbors: object, confidence: object, batch: bool) -> Fraction:
    if not isinstance(claim, Claim):
        raise InvalidInputError(f"claim must be a Claim, not {show(claim)}", "write pv.audits.Claim(epsilon=1)")
    if not isinstance(neighbors, tuple | list) or len(neighbors) != 2:
        raise InvalidInputError(
            "neighbors must be a pair of data sets", "give neighbors=(data, data_without_one_person)"
        )
    sure = rational(confidence, "confidence")
    if not Fraction(1, 2) <= sure < 1:
        raise InvalidInputError(
            f"confidence must be at least 0.5 and below 1, not {show(confidence)}", "give confidence such as 0.999999"
        )
    if not callable(mechanism):
        raise InvalidInputError(f"the mechanism must be callable, not {show(mechanism)}", "give a function")
    _check_call(mechanism, batch)
    return sure


def _check_call(mechanism: Callable[..., Any], batch: bool) -> None:
    try:
        signature = inspect.signature(mechanism)
    except ValueError:  # some built-in functions do not tell
        return
    try:
        signature.bind(*(("data", 1) if batch else ("data",)))
    except TypeError:
        wanted = "mechanism(data, size)" if batch else "mechanism(data)"
        raise InvalidInputError(
            f"the mechanism cannot be called as {wanted}",
            f"wrap it in a lambda, or give batch={not batch} for a mechanism that "
            + ("returns one output a call" if batch else "returns many outputs a call"),
        ) from None

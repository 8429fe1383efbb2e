"""TRUSTED: rows in memory for learners, as whole numbers; of each unit as many as were priced, by a keyed hash."""

from __future__ import annotations

import hashlib
from collections import Counter

import numpy as np

from privet.backends import Course
from privet.backends.contributions import Rows
from privet.core.claim import claim
from privet.typing import Floats, Integers


class HeldRows:
    """A back end for learners alone. `units` has for each row the number of its unit; None: each row is one."""

    def __init__(self, raw: Floats, units: Integers | None = None) -> None:
        self._raw, self._units = raw, units

    def rows(self, course: Course) -> Rows:
        if (course.table.unit is None) != (self._units is None):
            raise ValueError("units are not declared, or not given")
        raw, units = self._raw, self._units
        if units is not None:
            places = bounded(raw, units, course)
            raw, units = raw[places], units[places]
        return Rows(raw, units, folds(raw, units, course) if course.folds else None)


@claim("bounding")
def bounded(raw: Floats, units: Integers, course: Course) -> Integers:
    """The places of at most `rows` rows of each unit, chosen by a keyed hash of that unit's rows alone. Rows with the
    same numbers count the same, so it does not matter which of these stays."""
    order = np.argsort(units, kind="stable")
    _, starts, counts = np.unique(units[order], return_index=True, return_counts=True)
    kept = [order[np.repeat(counts <= course.rows, counts)]]
    for start, count in zip(starts[counts > course.rows], counts[counts > course.rows], strict=True):
        own = order[start : start + count]
        words = [hashlib.blake2b(raw[place].tobytes(), key=course.secret).digest() for place in own]
        first = sorted(range(len(own)), key=lambda at: words[at])[: course.rows]
        kept.append(own[first])
    return np.sort(np.concatenate(kept))


@claim("folds-price")
def folds(raw: Floats, units: Integers | None, course: Course) -> Integers:
    """For each row the fold of its unit: a keyed hash of the rows of that unit and of how many units before it have the
    same rows. So one unit more is in one fold, and all others are where they were, but that units alike may swap."""
    found, alike = np.empty(len(raw), np.int64), Counter[bytes]()
    order = np.arange(len(raw)) if units is None else np.argsort(units, kind="stable")
    _, starts = np.unique(order if units is None else units[order], return_index=True)
    for own in np.split(order, starts[1:]):
        rows = b"".join(sorted(raw[place].tobytes() for place in own))
        word = hashlib.blake2b(rows + alike[rows].to_bytes(8, "big"), key=course.secret).digest()
        alike[rows] += 1
        found[own] = int.from_bytes(word, "big") % course.folds
    return found

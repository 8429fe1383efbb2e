"""TRUSTED: rows in memory for learners, as whole numbers; of each unit as many as were priced, by a keyed hash."""

from __future__ import annotations

import hashlib

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
        if self._units is None:
            return Rows(self._raw)
        places = bounded(self._raw, self._units, course)
        return Rows(self._raw[places], self._units[places])


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

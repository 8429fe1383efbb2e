"""What a value may be replaced by: itself, then wider and wider groups, up to a star that says nothing.

    age = Hierarchy("age", (("21", "28", "47"), ("20-29", "20-29", "40-49"), ("*", "*", "*")))
    age.grouping(1)                     # array([0, 0, 1]): the group of each ground value at level 1
    age.labels(1)                       # ("20-29", "40-49")

A row is a ground value. Levels only ever put values together: two that are the same at one level are the same at every
level above it. Otherwise a record that hides among others at one level would stand out again at the next.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from privet.core.rational import show
from privet.errors import InvalidInputError
from privet.records.microdata import RecordColumn
from privet.typing import Integers

Places = npt.NDArray[np.int32]
STAR = "*"  # what says nothing
MISSING = ""  # the ground value of a field that is empty


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """`levels[j][i]` is what ground value i is called at level j; level 0 has the ground values themselves."""

    name: str
    levels: tuple[tuple[str, ...], ...]
    _groups: tuple[tuple[Places, tuple[str, ...]], ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        levels = tuple(tuple(level) for level in self.levels)
        object.__setattr__(self, "levels", levels)
        if not levels or not levels[0]:
            raise InvalidInputError(
                f"the hierarchy of {show(self.name)} is empty", "give one row for each value", "empty"
            )
        if len({len(level) for level in levels}) > 1:
            raise InvalidInputError(
                f"the hierarchy of {show(self.name)} has levels of different lengths",
                "give each value a name at each level",
                "wrong-length",
            )
        object.__setattr__(self, "_groups", tuple(_grouped(level) for level in levels))
        if len(self.labels(0)) < len(levels[0]):
            raise InvalidInputError(
                f"the hierarchy of {show(self.name)} has {show(_repeated(levels[0]))} twice",
                "give each value one row",
                "duplicate-value",
            )
        for level in range(1, len(levels)):
            self._check(level)

    def _check(self, level: int) -> None:
        """Every level coarsens the one before."""
        below, above = self._groups[level - 1][0], self._groups[level][0]
        _, first = np.unique(below, return_index=True)
        apart = np.flatnonzero(above != above[first][below])
        if len(apart):
            one, other = int(first[below[apart[0]]]), int(apart[0])
            ground, upper = self.levels[0], self.levels[level]
            raise InvalidInputError(
                f"the hierarchy of {show(self.name)} contradicts itself: {show(ground[one])} and {show(ground[other])}"
                f" are both {show(self.levels[level - 1][one])} at level {level - 1}, but {show(upper[one])} and"
                f" {show(upper[other])} at level {level}",
                "values that are together at one level must stay together at all levels above",
                "contradiction",
            )

    @property
    def height(self) -> int:
        """The number of levels, with that of the ground values."""
        return len(self.levels)

    @property
    def values(self) -> tuple[str, ...]:
        """The ground values."""
        return self.levels[0]

    def grouping(self, level: int) -> Places:
        """For each ground value the place of its group in `labels(level)`."""
        return self._groups[level][0]

    def labels(self, level: int) -> tuple[str, ...]:
        """What the groups of a level are called, in the order in which they come first."""
        return self._groups[level][1]

    def sizes(self, level: int) -> Integers:
        """How many ground values each group of a level holds."""
        return np.bincount(self.grouping(level), minlength=len(self.labels(level)))

    def fitted(self, column: RecordColumn) -> tuple[Hierarchy, Places]:
        """The hierarchy for the values of a column, and the ground value of each of the column's codes.

        A missing value is a value of its own, called by the empty text, unless the hierarchy says otherwise. Where a
        level tells nothing apart, it does not tell who has no value either.
        """
        wider = self.with_missing() if None in column.texts else self
        place = {value: number for number, value in enumerate(wider.values)}
        texts = [MISSING if text is None else text for text in column.texts]
        absent = [text for text in texts if text not in place]
        if absent:
            raise _absent(self.name, absent)
        return wider, np.array([place[text] for text in texts], dtype=np.int32)

    def with_missing(self) -> Hierarchy:
        """The same with a row for missing values, if there is none."""
        if MISSING in self.levels[0]:
            return self
        rows = [level[0] if len(self.labels(number)) == 1 and number else MISSING
                for number, level in enumerate(self.levels)]  # fmt: skip
        return Hierarchy(self.name, tuple((*level, row) for level, row in zip(self.levels, rows, strict=True)))


def of_rows(name: str, rows: Iterable[Sequence[str]]) -> Hierarchy:
    """A hierarchy from its rows: a ground value, then what it is called at each level."""
    return Hierarchy(name, tuple(zip(*rows, strict=True)))


def _grouped(level: tuple[str, ...]) -> tuple[Places, tuple[str, ...]]:
    found: dict[str, int] = {}
    groups = np.fromiter((found.setdefault(label, len(found)) for label in level), dtype=np.int32, count=len(level))
    groups.flags.writeable = False
    return groups, tuple(found)


def _repeated(values: Iterable[str]) -> str:
    seen = set[str]()
    return next(value for value in values if value in seen or seen.add(value))  # type: ignore[func-returns-value]


def _absent(name: str, absent: Sequence[str]) -> InvalidInputError:
    named = ", ".join(show(text) for text in absent[:3]) + (", ..." if len(absent) > 3 else "")
    many = "1 value" if len(absent) == 1 else f"{len(absent)} values"
    return InvalidInputError(
        f"the hierarchy of {show(name)} has no row for {many} of the data: {named}",
        "add a row for each to its file, spelled as in the data",
        "not-declared",
    )

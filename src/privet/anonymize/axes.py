"""Columns as lines that can be cut: each value has a rank on its line, and a range of ranks has a name.

    numbers and dates     by size; named by both ends: 17-25, 1958-05-12 to 1961-01-03
    categories, codes     with a hierarchy in its order, named by the lowest node that holds them all;
                          without one in the order of their texts, named by listing those that are there: {a, b}

A missing value is behind all others, and farther from each than these are from each other. What is missing together
with values has no name but a star.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from privet.anonymize.builders import are_codes, is_number, number_of, suggest, time_of
from privet.anonymize.hierarchy import MISSING, STAR, Hierarchy
from privet.records.microdata import RecordColumn
from privet.typing import Floats, Words

Ranks = npt.NDArray[np.int64]
MOST_LISTED = 64  # values of a category without a hierarchy; one of more gets a suggested one
FAR = 2.0  # where a missing value is, on a line from 0 to 1


class Named(NamedTuple):
    """What some ranges are called; the share of the line that each loses; the records with a value that it covers."""

    texts: list[str | None]
    losses: Floats
    covered: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """`ranks` has the rank of each code; `texts`, `position` and each level of `groups` have an entry for each rank.

    Two ranks are the same at the first level where they are in the same group. `hierarchy` has the ground values in
    the order of ranks. `listing`: a set is told value by value.
    """

    name: str
    ranks: Ranks
    texts: tuple[str | None, ...]
    position: Floats
    groups: tuple[npt.NDArray[np.uint32], ...]
    hierarchy: Hierarchy | None = None
    listing: bool = False
    marks: tuple[str, str, str] = ("", "-", "")  # before, between and behind the ends of an interval

    @property
    def missing(self) -> int:
        """The rank of a missing value, or one that nothing has."""
        return len(self.texts) - 1 if self.texts[-1] is None else len(self.texts)

    def named(self, low: Ranks, high: Ranks, counts: Ranks) -> Named:
        """Ranges of ranks; `counts` says how many records have each rank."""
        if self.hierarchy is not None:
            found = [self._node(self.hierarchy, counts, *ends) for ends in zip(low, high, strict=True)]
            names, losses, covered = zip(*found, strict=True)
            return Named(list(names), np.array(losses), np.array(covered))
        (before, between, behind), texts = self.marks, self.texts
        named = [  # there may be millions of them
            texts[one] if one == other else f"{before}{texts[one]}{between}{texts[other]}{behind}"
            for one, other in zip(low.tolist(), high.tolist(), strict=True)
        ]
        mixed = (high == self.missing) & (low < high)
        for place in np.flatnonzero(mixed):
            named[place] = STAR
        upto = np.concatenate([[0.0], np.cumsum(counts)])
        covered_by = np.where(mixed, upto[-1], upto[high + 1] - upto[low])
        return Named(named, np.minimum(self.position[high] - self.position[low], 1.0), covered_by)

    def _node(self, hierarchy: Hierarchy, counts: Ranks, low: int, high: int) -> tuple[str | None, float, float]:
        """The lowest node that has both, and so all between."""
        level = 0
        while hierarchy.grouping(level)[low] != hierarchy.grouping(level)[high]:
            level += 1
            if level == hierarchy.height:
                return STAR, 1.0, float(counts.sum())
        within = hierarchy.grouping(level) == hierarchy.grouping(level)[low]
        name, share = hierarchy.levels[level][low], (int(within.sum()) - 1) / max(len(within) - 1, 1)
        return None if name == MISSING else name, share, float(counts[within].sum())

    def listed(self, sets: Words, counts: Ranks) -> Named:
        """The same for sets of ranks, a bit each."""
        held = [[rank for rank in range(len(self.texts)) if bits >> rank & 1] for bits in map(int, sets)]
        texts = [self._listed([self.texts[rank] for rank in ranks]) for ranks in held]
        stars = np.array([text == STAR and len(ranks) > 1 for text, ranks in zip(texts, held, strict=True)])
        losses = np.array([(len(ranks) - 1) / max(len(self.texts) - 1, 1) for ranks in held])
        covered = np.array([float(counts[ranks].sum()) for ranks in held])
        return Named(texts, np.where(stars, 1.0, losses), np.where(stars, counts.sum(), covered))

    def _listed(self, texts: Sequence[str | None]) -> str | None:
        if len(texts) == 1:
            return texts[0]
        return STAR if None in texts else f"{{{', '.join(map(str, texts))}}}"


def axis(column: RecordColumn, hierarchy: Hierarchy | None = None) -> Axis:
    """The line of a column. Numbers and dates have an order of their own; a hierarchy is for categories, and for
    numbers that are codes, as ZIP codes are."""
    texts = [text for text in column.texts if text is not None]
    coded = hierarchy is not None and are_codes(texts)
    if texts and all(map(is_number, texts)) and not coded:
        negative = any(text.lstrip().startswith("-") for text in texts)
        return _line(column, [float(text) for text in texts], ("[", ", ", "]") if negative else ("", "-", ""))
    if texts and time_of(texts[0]) is not None and None not in (times := [time_of(text) for text in texts]):
        return _line(column, [(time - dt.datetime.min).total_seconds() for time in times if time], ("", " to ", ""))
    if texts and (hierarchy is not None or len(column.texts) > MOST_LISTED):
        return _tree(column, *(hierarchy or suggest(column)).fitted(column))
    ranks = np.arange(len(column.texts), dtype=np.int64)
    return Axis(
        name=column.name, ranks=ranks, texts=column.texts, position=ranks / max(len(ranks) - 1, 1),
        groups=(_there(column.texts),), listing=True,
    )  # fmt: skip


def _there(texts: Sequence[str | None]) -> npt.NDArray[np.uint32]:
    """Whether there is a value: what comes apart first."""
    return np.array([text is None for text in texts], dtype=np.uint32)


def _line(column: RecordColumn, sizes: Sequence[float], marks: tuple[str, str, str]) -> Axis:
    """By size. Two texts of the same size, as 1 and 1.0, have one rank, called by the first of them."""
    distinct, first, inverse = np.unique(np.array(sizes), return_index=True, return_inverse=True)
    if len(distinct) < len(sizes) and marks[1] != " to ":  # the same, or too near to each other for floats
        exact = [number_of(text) or Fraction() for text in column.texts if text is not None]
        order = {size: number for number, size in enumerate(sorted(set(exact)))}
        inverse = np.array([order[size] for size in exact])
        _, first = np.unique(inverse, return_index=True)
        distinct = np.array([float(size - min(order)) for size in order])
    span = float(distinct[-1] - distinct[0]) or 1.0
    texts: list[str | None] = [column.texts[place] for place in first]
    position, ranks = (distinct - distinct[0]) / span, inverse.astype(np.int64)
    if len(sizes) < len(column.texts):
        texts, position, ranks = [*texts, None], np.append(position, FAR), np.append(ranks, len(texts))
    return Axis(
        name=column.name, ranks=ranks, texts=tuple(texts), position=position, groups=(_there(texts),), marks=marks
    )


def _tree(column: RecordColumn, hierarchy: Hierarchy, places: npt.NDArray[np.int32]) -> Axis:
    """In an order in which every node of the hierarchy is one range."""
    order = np.lexsort([hierarchy.grouping(level) for level in range(hierarchy.height)])
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    levels = tuple(tuple(level[place] for place in order) for level in hierarchy.levels)
    sorted_one = Hierarchy(hierarchy.name, levels)
    return Axis(
        name=column.name,
        ranks=rank[places],
        texts=tuple(None if value == MISSING else value for value in sorted_one.values),
        position=np.arange(len(order)) / max(len(order) - 1, 1),
        groups=tuple(sorted_one.grouping(level).astype(np.uint32) for level in range(1, sorted_one.height))
        or (np.arange(len(order), dtype=np.uint32),),
        hierarchy=sorted_one,
    )

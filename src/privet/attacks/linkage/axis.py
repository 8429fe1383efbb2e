"""One compared column of two tables: its values as intervals of whole numbers, so that arrays can be compared."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from privet.attacks.linkage.value_kinds import Interval, Point, Region, is_free, plain, regions_of
from privet.records.microdata import RecordColumn
from privet.typing import Floats, Integers, Truths


class AxisLevels(Protocol):
    """What is needed of a hierarchy: for each level the generalization of each ground value."""

    @property
    def levels(self) -> tuple[tuple[str, ...], ...]: ...


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AxisSide:
    """For each text of a column: from where to where it reaches, whether it says nothing, and its pieces if there are
    several (their hull is then `low` to `high`). `people` is how many records have it."""

    low: Integers
    high: Integers
    free: Truths
    pieces: dict[int, tuple[tuple[int, int], ...]]
    people: Integers


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LinkAxis:
    """A released and a known column. `texts` are the plain texts of both sides where each is one value, which may be
    wrong or misspelled; None where some are ranges, masks or words of a hierarchy."""

    name: str
    released: AxisSide
    known: AxisSide
    texts: tuple[npt.NDArray[np.str_], npt.NDArray[np.str_]] | None

    def overlap(self, released: Integers, known: Integers) -> Truths:
        """Whether two values, by their codes, may be of the same person. What says nothing overlaps with everything."""
        ours, theirs = self.released, self.known
        found = (ours.low[released] <= theirs.high[known]) & (theirs.low[known] <= ours.high[released])
        if ours.pieces or theirs.pieces:
            odd = np.isin(released, list(ours.pieces)) | np.isin(known, list(theirs.pieces))
            found[odd & found] = self._pieces_overlap(released[odd & found], known[odd & found])
        return np.asarray(found | ours.free[released] | theirs.free[known])

    def _pieces_overlap(self, released: Integers, known: Integers) -> Truths:
        """Few pairs of texts, of many records."""
        pairs, place = np.unique(np.stack([released, known]), axis=1, return_inverse=True)
        return np.array([self._one_overlaps(int(one), int(other)) for one, other in pairs.T], np.bool_)[place]

    def _one_overlaps(self, released: int, known: int) -> bool:
        ours, theirs = self.released, self.known
        mine = ours.pieces.get(released) or ((int(ours.low[released]), int(ours.high[released])),)
        other = theirs.pieces.get(known) or ((int(theirs.low[known]), int(theirs.high[known])),)
        return any(low <= end and start <= high for low, high in mine for start, end in other)

    def chance(self) -> Floats:
        """For each released text the share of known people who agree with it by chance: u of Fellegi and Sunter, for
        each value by itself, so that a rare one weighs more. People with a missing value are left out. At least half
        a person agrees, or a value that nobody has would prove everything; and what many records have is not rare
        because few of the known people happen to have it, so it is the share of both tables together, if that is
        larger."""
        ours, theirs = self.released, self.known
        there = ~theirs.free
        people = theirs.people[there]
        total = max(int(people.sum()), 1)
        starts, ends = np.argsort(theirs.low[there]), np.argsort(theirs.high[there])
        begun = np.concatenate([[0], np.cumsum(people[starts])])
        ended = np.concatenate([[0], np.cumsum(people[ends])])
        up_to = np.searchsorted(theirs.low[there][starts], ours.high, side="right")
        before = np.searchsorted(theirs.high[there][ends], ours.low, side="left")
        agree = (begun[up_to] - ended[before]).astype(np.float64)
        for code in ours.pieces:
            every = np.arange(len(theirs.low))
            fits = self.overlap(np.full(len(every), code), every) & there
            agree[code] = theirs.people[fits].sum()
        agree = np.maximum(agree, 0.5)
        records = max(int(ours.people[~ours.free].sum()), 1)
        together = (agree + ours.people) / (total + records)
        return np.asarray(np.minimum(np.maximum(agree / total, together), 1.0))

    def blocks(self) -> tuple[Integers, Integers]:
        """A number for each text on both sides; texts that overlap have the same. -1 for what says nothing."""
        ours, theirs = self.released, self.known
        low = np.concatenate([ours.low, theirs.low])
        high = np.concatenate([ours.high, theirs.high])
        order = np.argsort(low, kind="stable")
        reach = np.maximum.accumulate(high[order])
        fresh = np.concatenate([[True], low[order][1:] > reach[:-1]]) if len(low) else np.zeros(0, np.bool_)
        number = np.empty(len(low), np.int64)
        number[order] = np.cumsum(fresh)
        number[np.concatenate([ours.free, theirs.free])] = -1
        return number[: len(ours.low)], number[len(ours.low) :]


def axis(released: RecordColumn, known: RecordColumn, hierarchy: AxisLevels | None = None) -> LinkAxis:
    texts = [text for column in (released, known) for text in column.texts if not is_free(text)]
    spoken = [text for text in texts if text is not None]
    regions = of_levels(hierarchy, spoken) if hierarchy is not None else regions_of(spoken)
    places = _places(regions.values())
    simple = all(len(region) == 1 and region[0][0] == region[0][1] for region in regions.values())
    return LinkAxis(
        name=released.name,
        released=_side(released, regions, places),
        known=_side(known, regions, places),
        texts=(_listed(released), _listed(known)) if simple and hierarchy is None else None,
    )


def _listed(column: RecordColumn) -> npt.NDArray[np.str_]:
    return np.array(["" if text is None else plain(text) for text in column.texts], dtype=np.str_)


def of_levels(hierarchy: AxisLevels, texts: Sequence[str]) -> dict[str, Region]:
    """Ground values in the order of their generalizations, the coarsest first: what has one label is one interval. A
    text that no level has stands behind them, by itself."""
    rows = sorted(range(len(hierarchy.levels[0])), key=lambda row: [level[row] for level in hierarchy.levels[::-1]])
    found: dict[str, Region] = {}
    for level in hierarchy.levels[::-1]:
        names: dict[str, list[Interval]] = {}
        for place, row in enumerate(rows):
            names.setdefault(plain(level[row]), []).append(((place, 0), (place, 0)))
        found |= {name: _closed(intervals) for name, intervals in names.items()}
    unknown = dict.fromkeys(plain(text) for text in texts if plain(text) not in found)
    strangers = {text: (((len(rows) + place, 0), (len(rows) + place, 0)),) for place, text in enumerate(unknown)}
    return found | strangers


def _closed(intervals: Iterable[Interval]) -> Region:
    """Neighboring places as one interval."""
    found: list[Interval] = []
    for low, high in intervals:
        if found and low[0] == found[-1][1][0] + 1:
            found[-1] = (found[-1][0], high)
        else:
            found.append((low, high))
    return tuple(found)


def _places(regions: Iterable[Region]) -> dict[Point, int]:
    """The rank of every end of an interval."""
    ends = {end for region in regions for interval in region for end in interval}
    return {end: place for place, end in enumerate(sorted(ends))}


def _side(column: RecordColumn, regions: dict[str, Region], places: dict[Point, int]) -> AxisSide:
    free = np.array([is_free(text) for text in column.texts], np.bool_)
    found = [() if is_free(text) else regions[plain(str(text))] for text in column.texts]
    several = {
        code: tuple((places[low], places[high]) for low, high in region)
        for code, region in enumerate(found)
        if len(region) > 1
    }
    low = [places[region[0][0]] if region else -1 for region in found]
    high = [places[region[-1][1]] if region else -2 for region in found]
    people = np.bincount(column.codes, minlength=len(column.texts))
    return AxisSide(
        low=np.array(low, np.int64), high=np.array(high, np.int64), free=free, pieces=several, people=people
    )


def read_levels(
    hierarchies: Mapping[str, AxisLevels] | str | os.PathLike[str] | None, columns: Sequence[str]
) -> Mapping[str, AxisLevels]:
    """Those of a folder, or as they are."""
    if not isinstance(hierarchies, str | os.PathLike):
        return hierarchies or {}
    from privet.anonymize.hierarchy_file import read_hierarchies  # noqa: PLC0415  only who has files needs it

    return read_hierarchies(hierarchies, columns)

"""Which classes of an anonymized table a person may be in: 28 is in <30 and in 2*, 13012 in 130**."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from privet.attacks.homogeneity import Classes, homogeneous
from privet.attacks.linkage_values import Point, Region, is_free, plain, regions_of
from privet.microdata import Microdata

Truths = npt.NDArray[np.bool_]
Agreement = Mapping[str, Truths]  # by column: whether a text of a person and a text of a release agree
AT_A_TIME = 2**24  # cells of a table of people and classes


def overlaps(one: Sequence[str | None], other: Sequence[str | None]) -> Truths:
    """A table: whether a value of the one column and a value of the other can be the same person's. Points of all
    regions are numbered in their order, so that thousands of them are compared at once."""
    regions = regions_of(text for text in (*one, *other) if text is not None and not is_free(text))
    points = sorted({point for region in regions.values() for interval in region for point in interval})
    rank = {point: number for number, point in enumerate(points)}
    sides = [[_ranks(text, regions, rank) for text in texts] for texts in (one, other)]
    wide = [max((len(side) for side in some), default=0) for some in sides]
    found = np.zeros((len(one), len(other)), np.bool_)
    for a in range(wide[0]):
        low_a, high_a = _ends(sides[0], a)
        for b in range(wide[1]):
            low_b, high_b = _ends(sides[1], b)
            found |= (low_a[:, None] <= high_b) & (low_b <= high_a[:, None])
    return found


def agreement(classes: Classes, people: Microdata) -> Agreement:
    return {name: overlaps(people[name].texts, classes.data[name].texts) for name in classes.quasi}


def candidates(classes: Classes, people: Microdata, rows: npt.NDArray[np.intp], agree: Agreement) -> Truths:
    """A table: for each of these people, which classes they may be in."""
    found = np.ones((len(rows), len(classes.sizes)), np.bool_)
    for place, name in enumerate(classes.quasi):
        used, numbers = np.unique(people[name].codes[rows], return_inverse=True)
        found &= agree[name][used][:, classes.codes[:, place]][numbers]
    return found


def left_over(classes: Classes, person: Mapping[str, str | None]) -> set[str | None]:
    """The values of all records that somebody may have, one text and one record after the other: shares no line of
    code with the tables above but the reading of a text, and says whether they were right."""
    rows = range(len(classes.data))
    for name in classes.quasi:
        column, known = classes.data[name], person.get(name)
        if known is None or is_free(known):
            continue
        regions = regions_of(text for text in (*column.texts, known) if text is not None and not is_free(text))
        mine = regions[plain(known)]
        fitting = {
            code
            for code, text in enumerate(column.texts)
            if text is None or is_free(text)
            or any(a <= d and c <= b for a, b in mine for c, d in regions[plain(text)])
        }  # fmt: skip
        rows = [row for row in rows if int(column.codes[row]) in fitting]  # type: ignore[assignment]
    said = classes.data[classes.sensitive].codes
    seen = {classes.values[said[row]] for row in rows if classes.members[row] >= 0}
    return seen or {classes.values[said[row]] for row in range(len(classes.data)) if classes.members[row] < 0}


def certain_classes(classes: Classes) -> npt.NDArray[np.int64]:
    """Homogeneous classes, the largest first, but those that somebody may be taken for a member of who is in another
    class, with another value: 20-29 and 25-34 overlap. Where all texts say different things there are none of these."""
    alike = homogeneous(classes)
    tables = [overlaps(classes.data[name].texts, classes.data[name].texts) for name in classes.quasi]
    if all(np.count_nonzero(table) == len(table) for table in tables):
        return alike
    mine = classes.mode[alike]
    kept = [np.zeros(0, np.int64)]
    for some in in_parts(classes, np.arange(len(alike))):
        near = np.ones((len(some), len(classes.sizes)), np.bool_)
        for place, table in enumerate(tables):
            near &= table[classes.codes[alike[some], place]][:, classes.codes[:, place]]
        others = (classes.distinct != 1) | classes.unknown | (classes.mode != mine[some][:, None])
        kept.append(alike[some[~(near & others).any(axis=1)]])
    return np.concatenate(kept)


def in_parts(classes: Classes, rows: npt.NDArray[np.intp]) -> list[npt.NDArray[np.intp]]:
    """People a few at a time, so that the table of candidates stays small."""
    step = max(1, AT_A_TIME // max(1, len(classes.sizes)))
    return [rows[start : start + step] for start in range(0, len(rows), step)]


def value_counts(classes: Classes, found: Truths) -> npt.NDArray[np.float64]:
    """For each person, how many people of the candidate classes have each value."""
    table = np.zeros((len(classes.sizes), len(classes.values)), np.float64)
    table[classes.pair_class, classes.pair_value] = classes.pair_count
    return np.asarray(found @ table)


def _ranks(text: str | None, regions: dict[str, Region], rank: Mapping[Point, int]) -> list[tuple[int, int]]:
    if text is None or is_free(text):
        return [(-1, len(rank))]
    return [(rank[low], rank[high]) for low, high in regions[plain(text)]]


def _ends(sides: Sequence[Sequence[tuple[int, int]]], place: int) -> tuple[npt.NDArray[np.int64], ...]:
    """The ends of the intervals at this place; an empty interval where a region has fewer."""
    found = [side[place] if place < len(side) else (1, 0) for side in sides]
    low, high = np.array(found, np.int64).reshape(len(found), 2).T
    empty = low > high
    return np.where(empty, np.iinfo(np.int64).max, low), np.where(empty, np.iinfo(np.int64).min, high)

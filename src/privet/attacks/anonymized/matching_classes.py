"""Which classes of an anonymized table a person may be in: 28 is in <30 and in 2*, 13012 in 130**."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from privet.attacks.anonymized.homogeneity import SecretClasses, homogeneous
from privet.attacks.linkage.axis import AxisLevels, of_levels
from privet.attacks.linkage.value_kinds import Point, Region, is_free, plain, regions_of
from privet.records.microdata import Microdata
from privet.typing import Floats, Integers, Truths

Agreement = Mapping[str, Truths]  # by column: whether a text of a person and a text of a release agree
Hierarchies = Mapping[str, AxisLevels]
AT_A_TIME = 2**24  # cells of a table of people and classes
MANY = np.iinfo(np.int64).max  # values: a missing one may be any


def readable(texts: Sequence[str | None], hierarchy: AxisLevels | None = None) -> dict[str, Region]:
    """What each plain text says. Those that say nothing, and those that cannot be read, such as `old` among numbers or
    a word that no level of the hierarchy has, are left out: they may be anything."""
    spoken = [text for text in texts if text is not None and not is_free(text)]
    if hierarchy is not None:
        known = {plain(text) for level in hierarchy.levels for text in level}
        return {text: region for text, region in of_levels(hierarchy, spoken).items() if text in known}
    found = regions_of(spoken)
    return {text: region for text, region in found.items() if region[0][0][0] != float("inf")}


def overlaps(one: Sequence[str | None], other: Sequence[str | None], hierarchy: AxisLevels | None = None) -> Truths:
    """A table: whether a value of the one column and a value of the other can be the same person's. Points of all
    regions are numbered in their order, so that thousands of them are compared at once."""
    regions = readable((*one, *other), hierarchy)
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


class ClassMatch(NamedTuple):
    """`agree`: by column, which texts agree. `loose`: of whom too little is known to say which class they would be in:
    something is missing or cannot be read, or is a range that no text of the release spells. Such a person may be one
    of the suppressed although a class fits, too."""

    agree: Agreement
    loose: Truths


def agreement(classes: SecretClasses, people: Microdata, hierarchies: Hierarchies | None = None) -> ClassMatch:
    """A word that fits no word of the release may be meant by any of them: who knows whether a baker is a craftsman."""
    agree, loose = {}, np.zeros(len(people), np.bool_)
    for name in classes.quasi:
        ours, theirs = people[name].texts, classes.data[name].texts
        levels = (hierarchies or {}).get(name)
        table, regions = overlaps(ours, theirs, levels), readable((*ours, *theirs), levels)
        clear = [text is not None and plain(text) in regions for text in theirs]
        words = levels is None and any(isinstance(region[0][0][0], tuple) for region in regions.values())
        silent = np.array([text is None or plain(text) not in regions for text in ours], np.bool_)
        unread = silent | (words & ~table[:, clear].any(axis=1))
        table[unread] = True
        spelled = {plain(text) for text in theirs if text is not None}
        exact = [text is not None and (plain(text) in spelled or _is_point(regions.get(plain(text)))) for text in ours]
        loose |= (unread | ~np.array(exact, np.bool_))[people[name].codes]
        agree[name] = table
    return ClassMatch(agree, loose)


def _is_point(region: Region | None) -> bool:
    return region is not None and len(region) == 1 and region[0][0] == region[0][1]


def candidates(classes: SecretClasses, people: Microdata, rows: npt.NDArray[np.intp], agree: Agreement) -> Truths:
    """A table: for each of these people, which classes they may be in."""
    found = np.ones((len(rows), len(classes.sizes)), np.bool_)
    for place, name in enumerate(classes.quasi):
        used, numbers = np.unique(people[name].codes[rows], return_inverse=True)
        found &= agree[name][used][:, classes.codes[:, place]][numbers]
    return found


def left_over(
    classes: SecretClasses, people: Microdata, person: int, hierarchies: Hierarchies | None = None
) -> set[str | None]:
    """The values of all records that somebody may have, one text and one record after the other: shares no line of
    code with the tables above but the reading of a text, and says whether they were right."""
    rows, sure = list(range(len(classes.data))), True
    for name in classes.quasi:
        column, known = classes.data[name], people[name].texts[int(people[name].codes[person])]
        regions = readable((*people[name].texts, *column.texts), (hierarchies or {}).get(name))
        mine = None if known is None or is_free(known) else regions.get(plain(known))
        said = {code: regions.get(plain(text or "")) for code, text in enumerate(column.texts)}
        agreed = {
            code for code, other in said.items()
            if mine and other and any(a <= d and c <= b for a, b in mine for c, d in other)
        }  # fmt: skip
        word = mine and isinstance(mine[0][0][0], tuple)
        if mine is None or (word and not agreed):
            sure = False
            continue
        spelled = known is not None and plain(known) in {plain(text) for text in column.texts if text is not None}
        sure = sure and (spelled or (len(mine) == 1 and mine[0][0] == mine[0][1]))
        rows = [row for row in rows if said[int(column.codes[row])] is None or int(column.codes[row]) in agreed]
    values = classes.data[classes.sensitive].codes
    seen = {classes.values[values[row]] for row in rows if classes.members[row] >= 0}
    gone = {classes.values[values[row]] for row in range(len(classes.data)) if classes.members[row] < 0}
    return seen if seen and sure else seen | gone


def reach(classes: SecretClasses, most: int, hierarchies: Hierarchies | None = None) -> Integers:
    """How many values are left for whoever looks like each class: those of the class, and of all classes that somebody
    may be in who is taken for one of its members, as 20-29 and 25-34 overlap. Counted where the class itself has at
    most so many; MANY if one is missing."""
    found = np.where(classes.unknown, MANY, classes.distinct)
    texts = {name: classes.data[name].texts for name in classes.quasi}
    tables = [overlaps(some, some, (hierarchies or {}).get(name)) for name, some in texts.items()]
    if all(np.count_nonzero(table) == len(table) for table in tables):
        return np.asarray(found)
    there = np.zeros((len(classes.sizes), len(classes.values)), np.float32)
    there[classes.pair_class, classes.pair_value] = 1
    for some in in_parts(classes, np.flatnonzero(found <= most)):
        near = np.ones((len(some), len(classes.sizes)), np.bool_)
        for place, table in enumerate(tables):
            near &= table[classes.codes[some, place]][:, classes.codes[:, place]]
        found[some] = np.count_nonzero(near.astype(np.float32) @ there, axis=1)
        found[some[(near & classes.unknown).any(axis=1)]] = MANY
    return found


def certain_classes(classes: SecretClasses, left: Integers) -> Integers:
    """Homogeneous classes, the largest first, but those that somebody may be taken for a member of who is in another
    class, with another value."""
    alike = homogeneous(classes)
    return np.asarray(alike[left[alike] == 1])


def in_parts(classes: SecretClasses, rows: npt.NDArray[np.intp]) -> list[npt.NDArray[np.intp]]:
    """People a few at a time, so that the table of candidates stays small."""
    step = max(1, AT_A_TIME // max(1, len(classes.sizes)))
    return [rows[start : start + step] for start in range(0, len(rows), step)]


def value_counts(classes: SecretClasses, found: Truths) -> Floats:
    """For each person, how many people of the candidate classes have each value."""
    table = np.zeros((len(classes.sizes), len(classes.values)), np.float64)
    table[classes.pair_class, classes.pair_value] = classes.pair_count
    return np.asarray(found @ table)


def _ranks(text: str | None, regions: dict[str, Region], rank: Mapping[Point, int]) -> list[tuple[int, int]]:
    if text is None or is_free(text) or plain(text) not in regions:
        return [(-1, len(rank))]
    return [(rank[low], rank[high]) for low, high in regions[plain(text)]]


def _ends(sides: Sequence[Sequence[tuple[int, int]]], place: int) -> tuple[Integers, ...]:
    """The ends of the intervals at this place; an empty interval where a region has fewer."""
    found = [side[place] if place < len(side) else (1, 0) for side in sides]
    low, high = np.array(found, np.int64).reshape(len(found), 2).T
    empty = low > high
    return np.where(empty, np.iinfo(np.int64).max, low), np.where(empty, np.iinfo(np.int64).min, high)

"""Two anonymized tables with people in common: what fits in both is less than what fits in each.

Alice, 28, of 13012 was in two hospitals. The one's table leaves her three conditions and the other's four; they have
one in common. Neither hospital did anything wrong by its own k: k-anonymity says nothing about two releases together.
(Ganta, Kasiviswanathan and Smith, "Composition attacks and auxiliary information in data privacy", KDD 2008.)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from privet.attacks.anonymized.homogeneity import SecretClasses
from privet.attacks.anonymized.matching_classes import (
    Agreement,
    ClassMatch,
    Hierarchies,
    agreement,
    candidates,
    in_parts,
    overlaps,
    readable,
    value_counts,
)
from privet.attacks.linkage.value_kinds import plain
from privet.records.microdata import Microdata
from privet.typing import Truths

MOST_PAIRS = 2**24  # of classes that are looked at
MOST_VALUES = 5000  # of the sensitive column, if they are ranges


@dataclass(frozen=True, slots=True)
class Fit:
    """The values that somebody may have: those in a class of each release that fits what is known of the person. None
    is a missing value, which may be any. Empty if nothing fits, so the person is not in all of them. `alone`: the same
    by the first release alone."""

    row: int
    values: tuple[str | None, ...]
    alone: tuple[str | None, ...]

    @property
    def sure(self) -> bool:
        return len(self.values) == 1 and self.values[0] is not None

    @property
    def sure_alone(self) -> bool:
        return len(self.alone) == 1 and self.alone[0] is not None


@dataclass(frozen=True, slots=True)
class Pair:
    """Whoever is in these two classes has this value."""

    first: int
    second: int
    value: str


def fits(
    releases: Sequence[SecretClasses],
    people: Microdata,
    rows: npt.NDArray[np.intp],
    agree: Sequence[Agreement] | None = None,
    hierarchies: Hierarchies | None = None,
) -> list[Fit]:
    """For each of these people, all values that are in a fitting class of every release. `agree` says for each release
    which of its texts fit which of theirs, where the texts do not tell."""
    names, place = _names(releases)
    if agree is None:
        told = [agreement(one, people, hierarchies) for one in releases]
    else:
        told = [ClassMatch(one, np.zeros(len(people), np.bool_)) for one in agree]
    tables = [possible(one, people, rows, place, one_told) for one, one_told in zip(releases, told, strict=True)]
    together = _together(names, tables)
    return [
        Fit(int(row), _listed(names, both), _listed(names, alone))
        for row, both, alone in zip(rows, together, tables[0], strict=True)
    ]


def possible(
    classes: SecretClasses, people: Microdata, rows: npt.NDArray[np.intp], place: Mapping[str, int], told: ClassMatch
) -> Truths:
    """A table of people and values, and behind them a column for a missing one: whether a class that fits has it. Whom
    no class fits is one of the suppressed, if there are any; whom little is known of may be."""
    width = max(place.values(), default=-1) + 1
    columns = np.array([width if text is None else place[plain(text)] for text in classes.values], np.int64)
    hidden = np.zeros(width + 1, np.bool_)
    hidden[columns[np.unique(classes.data[classes.sensitive].codes[classes.members < 0])]] = True
    parts = [np.zeros((0, width + 1), np.bool_)]
    for some in in_parts(classes, rows):
        found = candidates(classes, people, some, told.agree)
        there = np.zeros((len(some), width + 1), np.bool_)
        for code, seen in enumerate((value_counts(classes, found) > 0).T):
            there[:, columns[code]] |= seen
        there[~found.any(axis=1) | told.loose[some]] |= hidden
        parts.append(there)
    return np.concatenate(parts)


def pairs(
    first: SecretClasses, second: SecretClasses, most: int, hierarchies: Hierarchies | None = None
) -> tuple[list[Pair], int]:
    """Pairs of classes that somebody may be in both of, and that have one value in common although each has several.
    At most so many of them, and how many there are."""
    rows = min(len(first.sizes), max(1, MOST_PAIRS // max(1, len(second.sizes))))
    agree = np.ones((rows, len(second.sizes)), np.bool_)
    for place, name in enumerate(first.quasi):
        table = overlaps(first.data[name].texts, second.data[name].texts, (hierarchies or {}).get(name))
        agree &= table[first.codes[:rows, place]][:, second.codes[:, place]]
    names, numbers = _names((first, second))
    one, other = (_table(classes, numbers) for classes in (first, second))
    same = _same(names)
    near = one[:rows].astype(np.float32) if same is None else one[:rows].astype(np.float32) @ same.astype(np.float32)
    common = near @ other.T.astype(np.float32)
    several = (first.distinct[:rows, None] > 1) & (second.distinct > 1)
    known = ~first.unknown[:rows, None] & ~second.unknown
    found = np.argwhere(agree & several & known & (common == 1))
    listed = [
        Pair(int(a), int(b), names[int(np.flatnonzero(one[a] & _near(other[b], same))[0])])
        for a, b in found[:most].tolist()
    ]  # fmt: skip
    return listed, len(found)


def _names(releases: Sequence[SecretClasses]) -> tuple[list[str], dict[str, int]]:
    """All values of all releases, and the number of each plain text: Flu and flu are one."""
    found = {plain(text): text for one in reversed(releases) for text in one.values if text is not None}
    listed = sorted(found)
    return [found[text] for text in listed], {text: number for number, text in enumerate(listed)}


def _same(names: Sequence[str]) -> Truths | None:
    """Which values may be the same person's: 25 and 20-30 are no contradiction. None if all exclude each other. All go
    together where they are too many to compare."""
    regions = readable(names)
    points = {region[0] for region in regions.values() if len(region) == 1 and region[0][0] == region[0][1]}
    if len(points) == len(names):
        return None
    return overlaps(names, names) if len(names) <= MOST_VALUES else np.ones((len(names), len(names)), np.bool_)


def _near(there: Truths, same: Truths | None) -> Truths:
    return there if same is None else np.asarray(there.astype(np.float32) @ same.astype(np.float32) > 0)


def _together(names: Sequence[str], tables: Sequence[Truths]) -> Truths:
    """What is left in all tables: a value that each has, or has one that goes with it, or has a missing one. Who is
    certain by the first alone stays so, unless the others exclude it."""
    same = _same(names) if len(tables) > 1 else None
    compatible = [_near(table[:, :-1], same) | table[:, -1:] for table in tables]
    both = np.logical_and.reduce(compatible)
    missing = np.logical_and.reduce([table[:, -1] for table in tables])
    found = np.column_stack([both, missing])
    alone = (tables[0].sum(axis=1) == 1) & ~tables[0][:, -1] & both.any(axis=1)
    return np.where(alone[:, None], tables[0], found) if len(tables) > 1 else tables[0]


def _table(classes: SecretClasses, place: Mapping[str, int]) -> Truths:
    numbers = np.array([-1 if text is None else place[plain(text)] for text in classes.values], np.int64)
    there = numbers[classes.pair_value] >= 0
    found = np.zeros((len(classes.sizes), len(place)), np.bool_)
    found[classes.pair_class[there], numbers[classes.pair_value[there]]] = True
    return found


def _listed(names: Sequence[str], there: Truths) -> tuple[str | None, ...]:
    return tuple(None if number == len(names) else names[number] for number in np.flatnonzero(there).tolist())

"""Two anonymized tables with people in common: what fits in both is less than what fits in each.

Alice, 28, of 13012 was in two hospitals. The one's table leaves her three conditions and the other's four; they have
one in common. Neither hospital did anything wrong by its own k: k-anonymity says nothing about two releases together.
(Ganta, Kasiviswanathan and Smith, "Composition attacks and auxiliary information in data privacy", KDD 2008.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from privet.attacks.homogeneity import Classes
from privet.attacks.matching_classes import Agreement, agreement, candidates, in_parts, overlaps, value_counts
from privet.microdata import Microdata

MOST_PAIRS = 2**24  # of classes that are looked at


@dataclass(frozen=True, slots=True)
class Fit:
    """The values that somebody may have: those in a class of each release that fits what is known of the person. Empty
    if nothing fits, so the person is not in all of them. `alone`: the same by the first release alone."""

    row: int
    values: tuple[str, ...]
    alone: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Pair:
    """Whoever is in these two classes has this value."""

    first: int
    second: int
    value: str


def fits(
    releases: Sequence[Classes],
    people: Microdata,
    rows: npt.NDArray[np.intp],
    agree: Sequence[Agreement] | None = None,
) -> list[Fit]:
    """For each of these people, all values that are in a fitting class of every release. `agree` says for each release
    which of its texts fit which of theirs, where the texts do not tell."""
    names = sorted({text for one in releases for text in one.values if text is not None})
    told = [agreement(one, people) for one in releases] if agree is None else agree
    tables = [possible(one, people, rows, names, one_told) for one, one_told in zip(releases, told, strict=True)]
    together = np.logical_and.reduce(tables)
    return [
        Fit(int(row), _listed(names, both), _listed(names, alone))
        for row, both, alone in zip(rows, together, tables[0], strict=True)
    ]


def possible(
    classes: Classes, people: Microdata, rows: npt.NDArray[np.intp], names: Sequence[str], agree: Agreement
) -> npt.NDArray[np.bool_]:
    """A table of people and values: whether a class that fits has it. A class with a missing value has them all. Whom
    no class fits is one of the suppressed, if there are any."""
    place = {text: number for number, text in enumerate(names)}
    columns = [place[text] for text in classes.values if text is not None]
    known = [number for number, text in enumerate(classes.values) if text is not None]
    gone = {classes.values[code] for code in np.unique(classes.data[classes.sensitive].codes[classes.members < 0])}
    hidden = np.array([None in gone or text in gone for text in names], np.bool_)
    parts = [np.zeros((0, len(names)), np.bool_)]
    for some in in_parts(classes, rows):
        found = candidates(classes, people, some, agree)
        there = np.zeros((len(some), len(names)), np.bool_)
        there[:, columns] = value_counts(classes, found)[:, known] > 0
        there[(found & classes.unknown).any(axis=1)] = True
        there[~found.any(axis=1)] = hidden
        parts.append(there)
    return np.concatenate(parts)


def pairs(first: Classes, second: Classes, most: int) -> tuple[list[Pair], int]:
    """Pairs of classes that somebody may be in both of, and that have one value in common although each has several.
    At most so many of them, and how many there are."""
    rows = min(len(first.sizes), max(1, MOST_PAIRS // max(1, len(second.sizes))))
    agree = np.ones((rows, len(second.sizes)), np.bool_)
    for place, name in enumerate(first.quasi):
        table = overlaps(first.data[name].texts, second.data[name].texts)
        agree &= table[first.codes[:rows, place]][:, second.codes[:, place]]
    names = sorted({text for text in (*first.values, *second.values) if text is not None})
    one, other = (_table(classes, names) for classes in (first, second))
    common = one[:rows].astype(np.float32) @ other.T.astype(np.float32)
    several = (first.distinct[:rows, None] > 1) & (second.distinct > 1)
    known = ~first.unknown[:rows, None] & ~second.unknown
    found = np.argwhere(agree & several & known & (common == 1))
    listed = [
        Pair(int(a), int(b), names[int(np.flatnonzero(one[a] & other[b])[0])])
        for a, b in found[:most].tolist()
    ]  # fmt: skip
    return listed, len(found)


def _table(classes: Classes, names: Sequence[str]) -> npt.NDArray[np.bool_]:
    place = {text: number for number, text in enumerate(names)}
    numbers = np.array([place.get(text, -1) if text is not None else -1 for text in classes.values])
    there = numbers[classes.pair_value] >= 0
    found = np.zeros((len(classes.sizes), len(names)), np.bool_)
    found[classes.pair_class[there], numbers[classes.pair_value[there]]] = True
    return found


def _listed(names: Sequence[str], there: npt.NDArray[np.bool_]) -> tuple[str, ...]:
    return tuple(names[number] for number in np.flatnonzero(there).tolist())

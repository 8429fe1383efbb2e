"""How two values of one column agree: the same, a slip, alike, different, or nothing to compare.

A column is compared by its kind, which is guessed from its values. Values that are ranges, masks or words of a
hierarchy agree if they overlap, and otherwise differ. Edit distances are rapidfuzz's: optimal string alignment (a
letter more, fewer, another, or two that changed places) and Jaro and Winkler's measure.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from rapidfuzz import process
from rapidfuzz.distance import OSA, JaroWinkler

from privet.attacks.linkage.axis import LinkAxis
from privet.attacks.linkage.join import JoinClasses
from privet.typing import Floats, Integers, Truths

Kind = Literal["name", "date", "digits", "number", "code", "range"]
Levels = npt.NDArray[np.int8]
Words = npt.NDArray[np.object_]
Sides = tuple[int, int]  # 0 the released table, 1 the known one: (0, 1) compares the two, (0, 0) the first with itself
MISSING, SAME, SLIP, ALIKE, DIFFERENT = -1, 0, 1, 2, 3
STEPS = 4  # of agreement, MISSING not counted
LEVEL_NAMES = ("the same", "a slip", "alike", "different")
FEW, SHARE_OF_ROWS, MOST_CODES = 12, 0.002, 60  # distinct values of a column of codes, such as sex or ward
MOST = 0.85  # of the distinct values have the form of the kind
CLOSE, NEAR = 0.005, 0.05  # of two numbers, relative to their sum
DECIMAL = re.compile(r"-?\d*\.\d+")
NUMERAL = re.compile(r"-?\d+(\.\d*)?|-?\.\d+")
YEAR_FIRST = re.compile(r"(\d{4})[-/. ]?(\d\d?)[-/. ]?(\d\d?)(?:[t ]\d\d:\d\d.*)?")
YEAR_LAST = re.compile(r"(\d\d?)[-/. ](\d\d?)[-/. ](\d{4})")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ComparedColumn:
    """`ids`: for each side and text code the number of its value, the same for what is the same, -1 for nothing.
    `words` has the text of each number, dates as yyyymmdd. `parts` are coarser: beginnings and ends of texts."""

    axis: LinkAxis
    kind: Kind
    words: Words
    ids: tuple[Integers, Integers]
    parts: tuple[tuple[Integers, Integers], ...]

    @property
    def name(self) -> str:
        return self.axis.name

    def on(self, sides: Sides) -> LinkAxis:
        """The axis between these two sides."""
        both = (self.axis.released, self.axis.known)
        return replace(self.axis, released=both[sides[0]], known=both[sides[1]])

    def levels(self, sides: Sides, one: Integers, other: Integers) -> Levels:
        """Of pairs of text codes; each pair of different values is measured once."""
        axis = self.on(sides)
        missing = axis.released.free[one] | axis.known.free[other]
        found = np.where(missing, MISSING, np.where(axis.overlap(one, other), SAME, DIFFERENT)).astype(np.int8)
        measure = {"name": _name_levels, "date": _date_levels, "digits": _digit_levels, "number": _number_levels}
        todo = np.flatnonzero(found == DIFFERENT)
        if self.kind in measure and len(todo):
            width = len(self.words)
            keys = self.ids[sides[0]][one[todo]] * width + self.ids[sides[1]][other[todo]]
            pairs, back = np.unique(keys, return_inverse=True)
            found[todo] = measure[self.kind](self.words, pairs // width, pairs % width)[back]
        return found


def compared(axis: LinkAxis, rows: int) -> ComparedColumn:
    """`rows`: of both tables together."""
    if axis.texts is None:
        ids = axis.blocks()
        return ComparedColumn(axis=axis, kind="range", words=np.zeros(0, object), ids=ids, parts=())
    sides = (axis.released, axis.known)
    places = np.unique(np.concatenate([side.low[~side.free] for side in sides]))
    ours, theirs = (np.where(side.free, -1, np.searchsorted(places, side.low)) for side in sides)
    ids = ours, theirs
    words = np.full(len(places), "", object)
    for number, texts in zip(ids, axis.texts, strict=True):
        words[number[number >= 0]] = texts[number >= 0].astype(object)
    dates = _dates(words.tolist())
    kind = "date" if dates is not None else _kind(words.tolist(), rows)
    words = words if dates is None else np.array(dates, object)
    parts = tuple(
        tuple(np.where(number >= 0, part[number], -1) for number in ids) for part in _parts(kind, words.tolist())
    )
    return ComparedColumn(axis=axis, kind=kind, words=words, ids=(ids[0], ids[1]), parts=parts)  # type: ignore[arg-type]


def _dates(words: list[str]) -> list[str] | None:
    """As yyyymmdd, or None if most are no dates. Day and month: in the order that is valid more often."""
    first = [YEAR_FIRST.fullmatch(word) for word in words]
    last = [None if found else YEAR_LAST.fullmatch(word) for found, word in zip(first, words, strict=True)]
    over = [sum(int(found[at]) > 12 for found in last if found) for at in (1, 2)]
    day, month = (1, 2) if over[0] >= over[1] else (2, 1)
    told, good = [], 0
    for word, one, other in zip(words, first, last, strict=True):
        parts = (one[1], one[2], one[3]) if one else (other[3], other[month], other[day]) if other else ("0", "0", "0")
        year, moon, sun = map(int, parts)
        good += 1850 <= year <= 2100 and 1 <= moon <= 12 and 1 <= sun <= 31
        told.append(f"{year:04d}{moon:02d}{sun:02d}" if one or other else word)
    return told if words and good > MOST * len(words) else None


def _kind(words: list[str], rows: int) -> Kind:
    if len(words) <= max(FEW, min(MOST_CODES, SHARE_OF_ROWS * rows)):
        return "code"
    if sum(bool(NUMERAL.fullmatch(word)) for word in words) > MOST * len(words):
        decimals = sum(bool(DECIMAL.fullmatch(word)) for word in words)
        return "number" if decimals > len(words) / 2 else "digits"
    digits = sum(sum(map(str.isdigit, word)) / max(len(word), 1) for word in words)
    return "digits" if digits > len(words) / 2 else "name"


def _parts(kind: Kind, words: list[str]) -> list[Integers]:
    """A number for each word, the same for words with the same beginning, and another with the same end."""
    match kind:
        case "name":
            cut = [[word[:4] for word in words], [word[-4:] for word in words]]
        case "date":
            cut = [[word[:6] for word in words], [word[4:] for word in words]]
        case "digits":
            cut = [[word[: (len(word) + 1) // 2] for word in words], [word[len(word) // 2 :] for word in words]]
        case _:
            return []
    return [np.unique(np.array(some, dtype=np.str_), return_inverse=True)[1] for some in cut]


def _edits(words: Words, one: Integers, other: Integers) -> tuple[Integers, Integers, Integers]:
    """Edits up to 4, and the lengths of the shorter and of the longer text."""
    left, right = words[one].tolist(), words[other].tolist()
    edits = process.cpdist(left, right, scorer=OSA.distance, score_cutoff=3, dtype=np.uint8, workers=1)
    length = np.array([len(word) for word in words], np.int64)
    return edits.astype(np.int64), np.minimum(length[one], length[other]), np.maximum(length[one], length[other])


def _name_levels(words: Words, one: Integers, other: Integers) -> Levels:
    edits, short, long = _edits(words, one, other)
    likeness: npt.NDArray[Any] = process.cpdist(
        words[one].tolist(), words[other].tolist(), scorer=JaroWinkler.normalized_similarity, score_cutoff=0.8,
        dtype=np.float32, workers=1,
    )  # fmt: skip
    first = np.array([word[:1] for word in words], dtype=np.str_)
    initial = (short == 1) & (first[one] == first[other])
    alike = (likeness >= 0.82) | (edits <= np.minimum(long // 3, 3)) | initial
    slip = (likeness >= 0.93) | ((edits <= 1) & (long > 3)) | ((edits <= 2) & (long > 8))
    return _levels(slip, alike)


def _digit_levels(words: Words, one: Integers, other: Integers) -> Levels:
    edits, _, long = _edits(words, one, other)
    close, near = _gaps(words, one, other)
    alike = ((edits <= 2) & (long > 5)) | ((edits <= 1) & (long > 2)) | near
    return _levels(((edits <= 1) & (long > 3)) | close, alike)


def _number_levels(words: Words, one: Integers, other: Integers) -> Levels:
    return _levels(*_gaps(words, one, other))


def _gaps(words: Words, one: Integers, other: Integers) -> tuple[Truths, Truths]:
    value = np.array([float(word) if NUMERAL.fullmatch(word) else np.nan for word in words])
    total = np.maximum(np.abs(value[one]) + np.abs(value[other]), 1e-9)
    gap = np.abs(value[one] - value[other]) / total
    return gap < CLOSE, gap < NEAR


def _date_levels(words: Words, one: Integers, other: Integers) -> Levels:
    """A slip: one digit, or day and month changed places. Alike: two of year, month and day."""
    edits, _, _ = _edits(words, one, other)
    cut = np.array([[word[:4], word[4:6], word[6:8]] for word in words], dtype=np.str_)
    left, right = cut[one], cut[other]
    turned = (left[:, 0] == right[:, 0]) & (left[:, 1] == right[:, 2]) & (left[:, 2] == right[:, 1])
    return _levels((edits <= 1) | turned, (left == right).sum(axis=1) >= 2)


def _levels(slip: Truths, alike: Truths) -> Levels:
    return np.where(slip, SLIP, np.where(alike, ALIKE, DIFFERENT)).astype(np.int8)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Comparer:
    """Two tables of classes, column by column, in both directions and each with itself."""

    columns: Sequence[ComparedColumn]
    tables: tuple[JoinClasses, JoinClasses]

    def levels(self, sides: Sides, one: Integers, other: Integers) -> Levels:
        """A row for each pair of classes, a column for each compared column."""
        found = np.empty((len(one), len(self.columns)), np.int8)
        for at, column in enumerate(self.columns):
            codes = self.tables[sides[0]].codes[one, at], self.tables[sides[1]].codes[other, at]
            found[:, at] = column.levels(sides, *codes)
        return found

    def log_chance(self, sides: Sides, one: Integers, levels: Levels, average: Floats) -> Floats:
        """For each pair and column the log of the chance that two people taken at random agree like this. A value that
        agrees has its own chance, so a rare one says more; `average` is the chance of each level of each column."""
        found = np.zeros(levels.shape)
        for at, column in enumerate(self.columns):
            own = np.log(column.on(sides).chance())[self.tables[sides[0]].codes[one, at]]
            level = levels[:, at]
            other = np.log(average[at])[np.maximum(level, 0)]
            found[:, at] = np.where(level == SAME, own, np.where(level == MISSING, 0.0, other))
        return found

"""Classes of an anonymized table: records that look alike, and what their sensitive values say about everybody in them.

k-anonymity hides which of k records is somebody's. It does not hide what all k of them share (homogeneity), nor what
most of them share (skewness), and who can rule out a value or two has fewer left (background knowledge).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from privet.attacks.linkage.value_kinds import is_free
from privet.core.rational import show
from privet.errors import InvalidInputError
from privet.records.microdata import Microdata
from privet.typing import Floats, Integers, Truths

SUPPRESSED = "*"


@dataclass(frozen=True, kw_only=True, eq=False)
class SecretClasses:
    """`members`: the class of each record, -1 if it is suppressed. `codes`: for each class the code of each quasi-
    identifier. A pair is a class and a sensitive value that it has: `pair_class`, `pair_value`, `pair_count`."""

    data: Microdata
    quasi: tuple[str, ...]
    sensitive: str
    members: Integers
    codes: Integers  # classes x quasi-identifiers
    sizes: Integers
    pair_class: Integers
    pair_value: Integers
    pair_count: Integers

    @cached_property
    def values(self) -> tuple[str | None, ...]:
        """Of the sensitive column, by code. A star, and an empty text, are no values: they may stand for any."""
        return tuple(None if is_free(text) else text for text in self.data[self.sensitive].texts)

    @property
    def suppressed(self) -> int:
        return int((self.members < 0).sum())

    @cached_property
    def distinct(self) -> Integers:
        """How many values each class has; a missing one counts, since it may be any."""
        found: Integers = np.bincount(self.pair_class, minlength=len(self.sizes))
        return found

    @cached_property
    def unknown(self) -> Truths:
        """Classes in which somebody's value is missing."""
        missing = np.array([text is None for text in self.values], np.bool_)
        found = np.zeros(len(self.sizes), np.bool_)
        found[self.pair_class[missing[self.pair_value]]] = True
        return found

    @cached_property
    def shares(self) -> Floats:
        """The share of each value in all records, those suppressed too: anybody can count it."""
        counts = np.bincount(self.data[self.sensitive].codes, minlength=len(self.values))
        return np.asarray(counts / max(1, counts.sum()), np.float64)

    @cached_property
    def mode(self) -> Integers:
        """The value that most people of each class have, -1 if all are missing; the first of several."""
        return _first_of_most(self, self.pair_count)

    def label(self, number: int) -> dict[str, str]:
        return {
            name: self.data[name].texts[code] or "" for name, code in zip(self.quasi, self.codes[number], strict=True)
        }

    def values_of(self, number: int) -> dict[str | None, int]:
        """The values of one class, with how many people have each."""
        here = slice(*np.searchsorted(self.pair_class, [number, number + 1]))
        return {
            self.values[value]: int(count)
            for value, count in zip(self.pair_value[here], self.pair_count[here], strict=True)
        }


def classes_of(data: Microdata, quasi: Sequence[str], sensitive: str, suppressed: str = SUPPRESSED) -> SecretClasses:
    """Records with the same quasi-identifiers are a class; those with a star in each of them are suppressed."""
    _check(data, quasi, sensitive)
    columns = [data[name] for name in quasi]
    gone = np.ones(len(data), np.bool_)
    members = np.zeros(len(data), np.int64)
    for column in columns:
        starred = [text is not None and text.strip() == suppressed for text in column.texts]
        gone &= np.array(starred, np.bool_)[column.codes]
        members = _numbered(members * len(column.texts) + column.codes)
    members = np.where(gone, -1, members)
    there = np.flatnonzero(~gone)
    found, first, numbers, sizes = np.unique(
        members[there], return_index=True, return_inverse=True, return_counts=True
    )  # fmt: skip
    members[there] = numbers
    values = data[sensitive]
    pairs, counts = np.unique(numbers * len(values.texts) + values.codes[there], return_counts=True)
    rows = there[first]
    return SecretClasses(
        data=data,
        quasi=tuple(quasi),
        sensitive=sensitive,
        members=members,
        codes=np.array([column.codes[rows] for column in columns], np.int64).T.reshape(len(found), len(columns)),
        sizes=sizes.astype(np.int64),
        pair_class=pairs // len(values.texts),
        pair_value=pairs % len(values.texts),
        pair_count=counts.astype(np.int64),
    )


def homogeneous(classes: SecretClasses) -> Integers:
    """Classes in which everybody has the same value, which is there: the largest first."""
    alike = np.flatnonzero((classes.distinct == 1) & ~classes.unknown)
    return alike[np.argsort(-classes.sizes[alike], kind="stable")]


def certain_without(classes: SecretClasses, left: Integers, most: int) -> list[int]:
    """How many people are certain once so many values, 0, 1, ... `most`, other than their own are ruled out; `left` is
    how many values are left for whoever looks like each class (see `matching_classes.reach`).

    Of d values the attacker must rule out all but one: d - 1. So with m values ruled out, those in classes with at most
    m + 1 values left are certain, and nobody else.
    """
    return [int(classes.sizes[left <= m + 1].sum()) for m in range(most + 1)]


@dataclass(frozen=True, slots=True)
class Skew:
    """In this class the value is so much more frequent than in all records."""

    number: int
    value: str
    people: int  # with this value
    inside: float
    overall: float


def skews(classes: SecretClasses, most: int) -> list[Skew]:
    """The largest gains of belief, in classes of more than one value."""
    inside = classes.pair_count / classes.sizes[classes.pair_class]
    overall = classes.shares[classes.pair_value]
    there = np.array([text is not None for text in classes.values], np.bool_)[classes.pair_value]
    gain = np.where((classes.distinct[classes.pair_class] > 1) & there, inside - overall, -1.0)
    order = np.lexsort((-classes.pair_count, -gain))[:most]
    return [
        Skew(
            int(classes.pair_class[at]), str(classes.values[classes.pair_value[at]]), int(classes.pair_count[at]),
            float(inside[at]), float(overall[at]),
        )
        for at in order
        if gain[at] > 0
    ]  # fmt: skip


def distance(classes: SecretClasses) -> float:
    """The largest distance of a class from all records: half the sum of |share inside - share overall|."""
    inside = classes.pair_count / classes.sizes[classes.pair_class]
    overall = classes.shares[classes.pair_value]
    # a value that the class does not have adds its overall share: 1 less those that it has
    added = np.bincount(classes.pair_class, np.abs(inside - overall) - overall, minlength=len(classes.sizes))
    return float(np.max((added + 1.0) / 2, initial=0.0))


def recheck(classes: SecretClasses, number: int) -> bool:
    """Whether everybody in the class has one value, by going through the records once more: shares no line of code
    with the counting above."""
    rows = np.arange(len(classes.data))
    for name, code in zip(classes.quasi, classes.codes[number], strict=True):
        rows = rows[classes.data[name].codes[rows] == code]
    seen = {classes.values[code] for code in classes.data[classes.sensitive].codes[rows].tolist()}
    return len(rows) == classes.sizes[number] and len(seen) == 1 and None not in seen


def _first_of_most(classes: SecretClasses, counts: Integers) -> Integers:
    there = np.array([text is not None for text in classes.values], np.bool_)[classes.pair_value]
    order = np.lexsort((classes.pair_value, -counts, classes.pair_class))
    order = order[there[order]]
    found, first = np.unique(classes.pair_class[order], return_index=True)
    mode = np.full(len(classes.sizes), -1, np.int64)
    mode[found] = classes.pair_value[order[first]]
    return mode


def _numbered(keys: Integers) -> Integers:
    """The same keys, numbered from 0, so that the next column can be added without an overflow."""
    return np.unique(keys, return_inverse=True)[1].astype(np.int64)


def _check(data: Microdata, quasi: Sequence[str], sensitive: str) -> None:
    if not len(data):
        raise InvalidInputError("the released table has no records", "give a table with at least one record", "empty")
    if not quasi:
        raise InvalidInputError("no quasi-identifiers are named", "name the columns that others know", "missing-option")
    if sensitive in quasi or len(set(quasi)) < len(quasi):
        twice = sensitive if sensitive in quasi else next(name for name in quasi if list(quasi).count(name) > 1)
        raise InvalidInputError(f"{show(twice)} is named twice", "name each column once", "duplicate-name")

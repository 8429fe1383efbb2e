"""The records of a release as a grid: attribute by attribute, the values that no published number tells apart are one.

A *category* is what a table calls people of one attribute: a single value, or a band or list that stands in a
condition. Somebody's age need not be known to the year: whoever knows the band knows the category.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from privet.attacks.release.domain import Codes, Mask, ReleaseDomain, values_text
from privet.attacks.release.statistics import Share, Tables
from privet.core.expression import And, Expression, Not, Or, Value
from privet.records.conditions import columns_of

if TYPE_CHECKING:
    from privet.attacks.tables.reconstruction import Reconstruction


@dataclass(frozen=True, slots=True)
class KnownCategory:
    """Classes of values of one attribute, and its words, such as "Other" or "18 to 24"."""

    attribute: str
    classes: frozenset[int]
    words: str


class CategoryGrid:
    """One cell for each combination of classes that the rules allow. `kind` is the kind of a cell's records, or -1 if
    the kind is gone; `sizes` is how many cells a kind has."""

    def __init__(self, found: Reconstruction) -> None:
        self._tables, self._domain = found.tables, found.encoded.domain
        self.names = self._domain.names
        measured = {m.attribute for s in found.tables.statistics for m in s.measures if not isinstance(m, Share)}
        leaves = list(dict.fromkeys(leaf for where in _conditions(found.tables) for leaf in _leaves(where)))
        self._classes = {
            name: np.arange(len(values)) if name in measured else _classes(self._domain, name, leaves)
            for name, values in self._domain.attributes.items()
        }
        codes = [self._classes[name][self._domain.codes(name)] for name in self.names]
        sizes = tuple(int(column.max(initial=0)) + 1 for column in codes)
        _, first = np.unique(np.ravel_multi_index(tuple(codes), sizes), return_index=True)
        self.codes = {name: column[first] for name, column in zip(self.names, codes, strict=True)}
        labels = np.full(self._domain.size, -1, dtype=np.int64)
        for kind, group in enumerate(found.encoded.kinds):
            labels[group] = kind
        self.kind, self._first = labels[first], first
        self.sizes = np.bincount(self.kind[self.kind >= 0], minlength=len(found.encoded.kinds))
        self.cells = np.arange(len(first))
        whole = np.full(self._domain.size, -1, dtype=np.int64)
        for kind, group in enumerate(found.prepared.whole.kinds):
            whole[group] = kind
        self.whole_kind = whole[first]  # the same by the kinds of the whole release, those that are gone included

    def values(self, name: str, classes: frozenset[int]) -> list[Value]:
        """The values of these classes."""
        pairs = zip(self._domain.attributes[name], self._classes[name].tolist(), strict=True)
        return [value for value, number in pairs if number in classes]

    def words(self, name: str, classes: frozenset[int]) -> str:
        return values_text(self.values(name, classes), len(self._domain.attributes[name]))

    def number_classes(self, name: str) -> bool:
        """Whether each class is one number: then a range of classes is a range of numbers."""
        values = self._domain.attributes[name]
        return isinstance(values[0], Fraction) and len(np.unique(self._classes[name])) == len(values)

    def number(self, name: str, number: int) -> Fraction:
        return self._domain.numbers(name)[number]

    @cached_property
    def categories(self) -> dict[str, list[KnownCategory]]:
        """Bands and lists of several classes that a condition names, larger ones first."""
        return {
            name: [KnownCategory(name, one, self.words(name, one)) for one in sets if len(one) > 1]
            for name, sets in self._named_classes.items()
        }

    @cached_property
    def _named_classes(self) -> dict[str, list[frozenset[int]]]:
        """The classes that conditions name, larger lists first, without those that are all of them."""
        found: dict[str, set[frozenset[int]]] = {name: set() for name in self.names}
        for statistic in self._tables.statistics:
            for name, classes in self._named(statistic.where):
                if 0 < len(classes) < len(np.unique(self._classes[name])):
                    found[name].add(classes)
        return {name: sorted(sets, key=lambda one: (-len(one), sorted(one))) for name, sets in found.items()}

    def is_named(self, name: str, classes: frozenset[int]) -> bool:
        """Whether it is one value, or within a band or list that a condition names."""
        return len(self.values(name, classes)) == 1 or any(classes <= named for named in self._named_classes[name])

    def category(self, name: str, number: int) -> KnownCategory:
        return KnownCategory(name, frozenset({number}), self.words(name, frozenset({number})))

    def _named(self, where: Expression) -> Iterator[tuple[str, frozenset[int]]]:
        """The classes of each attribute that a condition restricts by itself."""
        parts: dict[str, Mask] = {}
        for part in where.items if isinstance(where, And) else (where,):
            names = columns_of(part)
            if len(names) == 1 and (name := next(iter(names))) in self._classes:
                parts[name] = parts.get(name, np.True_) & self._domain.truths(part)
        for name, mask in parts.items():
            yield name, frozenset(self._classes[name][mask].tolist())

    def group(self, where: Expression) -> Codes:
        """The cells whose records a condition is true of."""
        return np.flatnonzero(self._domain.mask(where)[self._first])


def _conditions(tables: Tables) -> list[Expression]:
    """All conditions that published numbers are about."""
    shares = [m.of for s in tables.statistics for m in s.measures if isinstance(m, Share)]
    return [*(statistic.where for statistic in tables.statistics), *shares]


def _classes(domain: ReleaseDomain, name: str, leaves: Sequence[Expression]) -> Codes:
    """The class of each value: two values are one class if no condition tells them apart."""
    mine = [leaf for leaf in leaves if name in columns_of(leaf)]
    if any(len(columns_of(leaf)) > 1 for leaf in mine):
        return np.arange(len(domain.attributes[name]))
    columns = np.array([domain.truths(leaf) for leaf in mine], dtype=np.int64)
    rows = columns.reshape(len(mine), len(domain.attributes[name])).T
    _, first, label = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    rank = np.argsort(np.argsort(first))  # in the order in which the values were declared
    return np.asarray(rank[label.reshape(-1)])


def _leaves(condition: Expression) -> Iterator[Expression]:
    """Conditions on one attribute, which together say whether the whole is true; of several where that is needed."""
    match condition:
        case And(items) | Or(items):
            for item in items:
                yield from _leaves(item)
        case Not(item) if len(columns_of(item)) > 1:
            for leaf in _leaves(item):
                yield from (leaf, Not(leaf))  # neither is true where the leaf has no truth, as in a division by 0
        case _:
            yield condition

"""The kinds of record that a release can tell apart."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from functools import reduce

import numpy as np
import numpy.typing as npt

from privet.core.evaluate import evaluate
from privet.core.expression import And, Expression, Or, Value
from privet.errors import InvalidInputError
from privet.records.conditions import columns_of

MOST_RECORDS = 5_000_000
Mask = npt.NDArray[np.bool_]
Codes = npt.NDArray[np.int64]


class ReleaseDomain:
    """Every combination of attribute values that the rules allow, one after the other."""

    def __init__(self, attributes: Mapping[str, tuple[Value, ...]], rules: Iterable[Expression] = ()) -> None:
        self.attributes = dict(attributes)
        self.names = tuple(attributes)
        self._tables: dict[Expression, tuple[list[str], Mask]] = {}
        shape = tuple(len(values) for values in attributes.values())
        if math.prod(shape) > MOST_RECORDS:
            raise InvalidInputError(
                f"the attributes allow {math.prod(shape):,} kinds of record, more than {MOST_RECORDS:,}",
                "leave out attributes that no statistic mentions, or give numbers a coarser step",
                "too-many",
            )
        codes = np.indices(shape).reshape(len(shape), math.prod(shape))
        self.size = math.prod(shape)
        self._codes: dict[str, Codes] = dict(zip(self.names, codes, strict=True))
        allowed = np.ones(codes.shape[1], dtype=bool)
        for rule in rules:
            allowed &= self.mask(rule)
        self._codes = {name: places[allowed] for name, places in self._codes.items()}
        self._shape, self._allowed = shape, np.flatnonzero(allowed)
        self.size = len(self._allowed)

    def codes(self, name: str) -> Codes:
        """The place of each record's value in the attribute's list."""
        return self._codes[name]

    def place(self, record: Sequence[int]) -> int | None:
        """Where the record with these codes is, if the rules allow it."""
        flat = int(np.ravel_multi_index(tuple(record), self._shape))
        at = int(np.searchsorted(self._allowed, flat))
        return at if at < self.size and self._allowed[at] == flat else None

    def mask(self, condition: Expression) -> Mask:
        """For which records a condition is true. AND and OR are taken apart, since most tables are made of them."""
        match condition:
            case And(items):
                return reduce(np.logical_and, [self.mask(item) for item in items])
            case Or(items):
                return reduce(np.logical_or, [self.mask(item) for item in items])
        names, table = self._table(condition)
        return np.broadcast_to(table, (self.size,)) if not names else table[tuple(self._codes[name] for name in names)]

    def truths(self, condition: Expression) -> Mask:
        """For which values of its one attribute a condition is true."""
        return self._table(condition)[1]

    def _table(self, condition: Expression) -> tuple[list[str], Mask]:
        """The condition on each combination of what it mentions; kept, because cells of a table share conditions."""
        if condition not in self._tables:
            names = [name for name in self.names if name in columns_of(condition)]
            lists = [self.attributes[name] for name in names]
            rows = (dict(zip(names, row, strict=True)) for row in itertools.product(*lists))
            truth = [evaluate(condition, row) is True for row in rows]
            self._tables[condition] = names, np.array(truth, dtype=bool).reshape([len(values) for values in lists])
        return self._tables[condition]

    def groups(self, columns: Sequence[Codes]) -> list[Codes]:
        """The records that agree in all columns, as lists of places."""
        chance = np.random.default_rng(0)
        mixed = np.zeros(self.size, dtype=np.uint64)
        for column in columns:
            mixed += column.astype(np.uint64) * chance.integers(1, 2**63, dtype=np.uint64)
        _, first, label = np.unique(mixed, return_index=True, return_inverse=True)
        for column in columns:  # two groups that happen to have the same mixed number are taken apart
            if not np.array_equal(column, column[first][label]):
                return self._groups_one_by_one(columns)
        order = np.argsort(label, kind="stable")
        groups = np.split(order, np.flatnonzero(np.diff(label[order])) + 1)
        return sorted(groups, key=lambda group: int(group[0]))

    def _groups_one_by_one(self, columns: Sequence[Codes]) -> list[Codes]:
        places: dict[tuple[int, ...], list[int]] = {}
        for place, key in enumerate(zip(*(column.tolist() for column in columns), strict=True)):
            places.setdefault(key, []).append(place)
        return [np.array(group) for group in places.values()]

    def numbers(self, name: str) -> list[Fraction]:
        """The attribute's list as numbers; truths count as 1 and 0."""
        return [Fraction(value) for value in self.attributes[name]]  # type: ignore[arg-type]

    def record(self, group: Codes) -> dict[str, str | int | float | bool | None]:
        """The same for JSON: one value as it is, several in words."""
        words = self.described(group)
        lists = {name: np.unique(self.codes(name)[group]) for name in self.names}
        return {
            name: plain(self.attributes[name][codes[0]]) if len(codes) == 1 else words[name]
            for name, codes in lists.items()
        }

    def described(self, group: Codes) -> dict[str, str]:
        """What all records of a group have, attribute by attribute."""
        return {
            name: values_text(
                [self.attributes[name][code] for code in np.unique(self.codes(name)[group])], len(self.attributes[name])
            )
            for name in self.names
        }


def plain(value: Value) -> str | int | float | bool | None:
    """For JSON."""
    if isinstance(value, Fraction):
        return value.numerator if value.denominator == 1 else float(value)
    return value if isinstance(value, bool | None) else str(value)


def values_text(values: Sequence[Value], possible: int) -> str:
    """ "84", "18 to 24", "A or B", or "any"."""
    if len(values) == possible > 1:
        return "any"
    words = [value_text(value) for value in values]
    numbers = [value for value in values if isinstance(value, Fraction)]
    if len(numbers) == len(values) > 2:  # they need not be declared in order
        return f"{value_text(min(numbers))} to {value_text(max(numbers))}"
    return " or ".join(words)


def value_text(value: Value) -> str:
    match value:
        case bool():
            return "yes" if value else "no"
        case Fraction():
            return str(value.numerator) if value.denominator == 1 else f"{float(value):.12g}"
        case _:
            return str(value)

"""Random small systems of tables, and what is true of them by trying every data set.

Nothing is shared with the attack but the release itself. A data set is a list of counts, one for each combination of
values; it is tried cell by cell, and given up as soon as a published number is exceeded.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from privet.attacks.release.statistics import EVERYBODY, Between, Mark, Statistic, Tables
from privet.core.expression import And, Column, Compare, Expression, In, Literal, Relation

SHAPES = ((2, 2), (2, 3), (3, 3), (4, 4), (2, 4), (2, 2, 2), (2, 2, 3), (2, 2, 4), (2, 3, 2), (2, 2, 2, 2))
MOST_DATA_SETS = 6000
Values = frozenset[str]
Group = dict[str, Values]  # attribute -> one of these values
Counts = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Truth:
    """A release, the groups of its cells, and every data set that fits: one row each, one column for each record."""

    tables: Tables
    records: tuple[dict[str, str], ...]
    groups: dict[str, Group]  # of each statistic
    fitting: Counts

    def among(self, group: Group) -> npt.NDArray[np.bool_]:
        return np.array([all(record[name] in values for name, values in group.items()) for record in self.records])

    def people(self, group: Group) -> Counts:
        """How many people of the group there are in each data set."""
        return np.asarray(self.fitting[:, self.among(group)].sum(axis=1))

    def values(self, group: Group, name: str) -> Values:
        """What people of the group have in any data set."""
        there = self.among(group) & (self.fitting > 0).any(axis=0)
        return frozenset(record[name] for record, seen in zip(self.records, there, strict=True) if seen)

    def categories(self, name: str) -> list[Values]:
        """What people can be known by: each value, and each band that stands in a table."""
        bands = {group[name] for group in self.groups.values() if name in group}
        return sorted({frozenset({value}) for value in self.tables.attributes[name]} | bands, key=sorted)

    def disclosures(self, public: Sequence[str]) -> Iterator[tuple[Group, str, Values]]:
        """For every subset of the public attributes and everybody known by it: the attributes of which the tables
        leave one value, or one band, though all were possible."""
        for size in range(len(public) + 1):
            for names in itertools.combinations(public, size):
                for chosen in itertools.product(*(self.categories(name) for name in names)):
                    group = dict(zip(names, chosen, strict=True))
                    if self.people(group).min() < 1:
                        continue
                    for name in self.tables.attributes:
                        left = frozenset() if name in names else self.values(group, name)
                        one = any(
                            left <= category for category in self.categories(name) if len(category) < self._all(name)
                        )
                        if left and one and len(left) < self._all(name):
                            yield group, name, left

    def _all(self, name: str) -> int:
        return len(self.tables.attributes[name])


def random_system(seed: int) -> Truth:
    """Counts of 3 to 8 people: some margins, in part banded, suppressed or rounded. Tried again while it is too vague
    to enumerate."""
    chance = random.Random(seed)
    while True:
        truth = _system(chance)
        if truth is not None:
            return truth


def _system(chance: random.Random) -> Truth | None:
    shape = chance.choice(SHAPES)
    attributes = {f"a{at}": tuple(f"v{value}" for value in range(size)) for at, size in enumerate(shape)}
    records = tuple(dict(zip(attributes, row, strict=True)) for row in itertools.product(*attributes.values()))
    weights = [chance.random() ** 3 for _ in records]
    people = chance.choices(range(len(records)), weights, k=chance.randint(3, 8))
    real = np.bincount(people, minlength=len(records))
    statistics, groups = (
        [Statistic(name="total", count=Between(Fraction(len(people)), Fraction(len(people))))],
        {"total": Group()},
    )
    margins = [names for size in (1, 2, 3) for names in itertools.combinations(attributes, size)]
    for names in chance.sample(margins, min(len(margins), chance.randint(1, 3))):
        for group in _cells(chance, names, attributes):
            inside = [all(record[name] in values for name, values in group.items()) for record in records]
            count, mark = _said(chance, int(real[inside].sum()))
            name = ", ".join(f"{name} {'/'.join(sorted(values))}" for name, values in group.items())
            if name not in groups:
                groups[name] = group
                statistics.append(Statistic(name=name, where=_where(group), count=count, mark=mark))
    tables = Tables(attributes=attributes, statistics=tuple(statistics))
    fitting = _every(tables, records, groups, len(people))
    return None if fitting is None else Truth(tables, records, groups, fitting)


def _cells(chance: random.Random, names: Sequence[str], attributes: dict[str, tuple[str, ...]]) -> Iterator[Group]:
    """All cells of a table; an attribute with four values may be banded in it."""
    columns = []
    for name in names:
        values = attributes[name]
        banded = len(values) == 4 and chance.random() < 0.5
        columns.append([frozenset(values[:2]), frozenset(values[2:])] if banded else [frozenset({v}) for v in values])
    for chosen in itertools.product(*columns):
        yield dict(zip(names, chosen, strict=True))


def _said(chance: random.Random, count: int) -> tuple[Between, Mark]:
    """How a count is published: mostly as it is; small ones may be suppressed, any may be hidden or rounded."""
    draw = chance.random()
    if count < 3 and draw < 0.3:
        return Between(Fraction(chance.choice([0, min(count, 1)])), Fraction(2)), chance.choice(("", "primary"))
    if draw > 0.9:
        return Between(Fraction(0)), "complementary"
    if draw > 0.85:
        base = count - count % 3
        return Between(Fraction(max(0, base - 2)), Fraction(base + 2)), "rounded"
    return Between(Fraction(count), Fraction(count)), ""


def _where(group: Group) -> Expression:
    terms: list[Expression] = []
    for name, values in group.items():
        one = sorted(values)
        terms.append(
            Compare(Relation.EQUAL, Column(name), Literal(one[0])) if len(one) == 1 else In(Column(name), tuple(one))
        )
    return And(tuple(terms)) if len(terms) > 1 else terms[0] if terms else EVERYBODY


def _every(tables: Tables, records: Sequence[dict[str, str]], groups: dict[str, Group], people: int) -> Counts | None:
    """All data sets that fit, or None if there are too many."""
    rows = []
    for statistic in tables.statistics:
        group, count = groups[statistic.name], statistic.count
        assert count is not None
        inside = np.array([all(record[name] in values for name, values in group.items()) for record in records])
        rows.append((inside, int(count.low or 0), people if count.high is None else int(count.high)))
    member = np.array([row[0] for row in rows])
    low, high = np.array([row[1] for row in rows]), np.array([row[2] for row in rows])
    after = [member[:, at:].any(axis=1) for at in range(len(records) + 1)]  # whether more can be added to a sum
    found, looked = list[list[int]](), 0
    todo: list[tuple[list[int], Counts]] = [([], np.zeros(len(rows), dtype=np.int64))]
    while todo:
        counts, sums = todo.pop()
        looked += 1
        if len(found) > MOST_DATA_SETS or looked > 20 * MOST_DATA_SETS:
            return None
        at = len(counts)
        if (sums > high).any() or ((sums < low) & ~after[at]).any():
            continue
        if at == len(records):
            found.append(counts)
            continue
        todo += [([*counts, number], sums + number * member[:, at]) for number in range(people + 1 - sum(counts))]
    return np.array(found, dtype=np.int64)

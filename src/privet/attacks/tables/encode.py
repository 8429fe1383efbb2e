"""Published statistics as linear statements about how many people there are of each kind.

Everything is in whole numbers. A statistic that cannot be used (a median of a group of unknown size) is left out and
said so: an attack that uses less stays true.
"""

from __future__ import annotations

import bisect
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np

from privet.attacks.proofs.certificate import ProofRow, System, Terms, without
from privet.attacks.release.domain import Codes, Mask, ReleaseDomain
from privet.attacks.release.statistics import (
    Between,
    Largest,
    Mean,
    Quantile,
    Share,
    Smallest,
    Statistic,
    Tables,
    Total,
)
from privet.core.claim import claim
from privet.core.rational import show
from privet.errors import InvalidInputError
from privet.records.conditions import columns_of

MOST_KINDS = 100_000
MOST_PEOPLE = 10**10
LARGEST = 2**60  # that a sum may reach: solvers count in 64 bits
_Numbers = list[tuple[int, Fraction]]  # (kind, value)


@dataclass(frozen=True, slots=True)
class EncodedTables:
    """The first variables count the people of each kind; the others help. `unused` says what was left out."""

    domain: ReleaseDomain
    kinds: tuple[Codes, ...]  # the records of each kind, which no statistic tells apart
    system: System
    members: dict[str, tuple[int, ...]]  # the kinds that a statistic is about
    leaning: dict[str, str]  # the statistic that gives the size of another one's group, or its own
    limit: tuple[str, ...]  # the statistics that bound how many people there are
    unused: tuple[str, ...]

    def people(self, values: Sequence[int]) -> list[tuple[int, int]]:
        """(kind, how many) in a solution."""
        return [(kind, count) for kind, count in enumerate(values[: len(self.kinds)]) if count]


@dataclass(frozen=True, slots=True)
class Kinds:
    """The records that the statistics tell apart, group by group."""

    domain: ReleaseDomain
    groups: tuple[Codes, ...]
    masks: dict[str, Mask]  # by statistic, over all records


def kinds_of(tables: Tables) -> Kinds:
    names = [statistic.name for statistic in tables.statistics]
    twice = next((name for name in names if names.count(name) > 1), None) if len(set(names)) < len(names) else None
    if twice is not None:
        raise InvalidInputError(
            f"two statistics have the name {show(twice)}", "give each its own name", "duplicate-name"
        )
    mentioned = _mentioned(tables)
    attributes = {name: values for name, values in tables.attributes.items() if name in mentioned}
    domain = ReleaseDomain(attributes, tables.rules.values())
    if not domain.size:
        raise InvalidInputError(
            "the rules allow no record at all", "correct the rules: nobody fits them together", "contradiction"
        )
    masks = {statistic.name: domain.mask(statistic.where) for statistic in tables.statistics}
    groups = tuple(domain.groups(_columns(tables, domain, masks)))
    if len(groups) > MOST_KINDS:
        raise InvalidInputError(
            f"the statistics tell {len(groups):,} kinds of record apart, more than {MOST_KINDS:,}",
            "attack fewer tables at a time, or give numbers a coarser step",
            "too-many",
        )
    return Kinds(domain, groups, masks)


def _mentioned(tables: Tables) -> set[str]:
    """The attributes that a statistic or a rule looks at: nothing is learned about the others."""
    conditions = [statistic.where for statistic in tables.statistics] + list(tables.rules.values())
    names = set[str]()
    for measure in (measure for statistic in tables.statistics for measure in statistic.measures):
        if isinstance(measure, Share):
            conditions.append(measure.of)
        else:
            names.add(measure.attribute)
    return names.union(*(columns_of(condition) for condition in conditions))


@claim("tables-as-rows")
def encode(tables: Tables, kinds: Kinds, *, helpers: bool = True, gone: frozenset[int] = frozenset()) -> EncodedTables:
    """All statistics about these kinds. Without helpers: only what needs no further variables, which is less. Kinds
    that are gone are known to have nobody: they stay in the rows, so that it can be seen where that matters."""
    first = np.array([group[0] for group in kinds.groups])
    members = {one.name: tuple(np.flatnonzero(kinds.masks[one.name][first]).tolist()) for one in tables.statistics}
    sized = {members[one.name]: one for one in tables.statistics if _exactly(one.count) is not None}
    writer = _Writer(kinds.domain, first, gone, helping=helpers)
    for statistic in tables.statistics:
        group = members[statistic.name]
        writer.add(statistic, np.array(group, dtype=np.int64), _exactly(sized.get(group, statistic).count))
    leaning = {one.name: sized[members[one.name]].name for one in tables.statistics if members[one.name] in sized}
    system, limit = writer.finished(tables.statistics, members)
    system = without(system, tuple(gone))
    return EncodedTables(kinds.domain, kinds.groups, system, members, leaning, limit, tuple(writer.unused))


def compact(encoded: EncodedTables, gone: frozenset[int]) -> EncodedTables:
    """The same without the kinds that are gone. The rows keep their numbers."""
    system = encoded.system
    left = [at for at in range(len(system.low)) if at not in gone]
    number = {old: new for new, old in enumerate(left)}
    rows = [
        replace(row, terms=tuple((number[at], weight) for at, weight in row.terms if at not in gone))
        for row in system.rows
    ]
    small = System(tuple(system.low[at] for at in left), tuple(system.high[at] for at in left), tuple(rows))
    members = {name: tuple(number[at] for at in group if at not in gone) for name, group in encoded.members.items()}
    kinds = tuple(group for at, group in enumerate(encoded.kinds) if at not in gone)
    return replace(encoded, kinds=kinds, system=small, members=members)


def _columns(tables: Tables, domain: ReleaseDomain, masks: dict[str, Mask]) -> list[Codes]:
    """What the statistics look at: who is in a group, and there the value of what is summed or ranked."""
    columns = []
    for statistic in tables.statistics:
        mask = masks[statistic.name]
        columns.append(mask.astype(np.int64))
        for measure in statistic.measures:
            if isinstance(measure, Share):
                columns.append(domain.mask(measure.of).astype(np.int64))
            else:
                columns.append(np.where(mask, 1 + domain.codes(measure.attribute), 0))
    return columns


@dataclass(slots=True)
class _Writer:
    """Collects rows and helping variables. `first` is one record of each kind."""

    domain: ReleaseDomain
    first: Codes
    gone: frozenset[int]
    helping: bool
    rows: list[ProofRow] = field(default_factory=list)
    helpers: list[int] = field(default_factory=list)  # the high of each
    unused: list[str] = field(default_factory=list)

    def add(self, statistic: Statistic, places: Codes, size: int | None) -> None:
        """`size` is that of the group, if any statistic gives it exactly."""
        ones = tuple((int(place), 1) for place in places)
        count = statistic.count
        if count is not None:
            self._row(ones, count, statistic.name, "count")
        for measure in statistic.measures:
            match measure:
                case Share(value, of):
                    self._share(statistic, places, value, np.flatnonzero(self.domain.mask(of)[self.first]))
                case Total(attribute, value):
                    self._row(self._weighted(attribute, places), value, statistic.name, f"sum {attribute}")
                case Mean(attribute, value):
                    self._mean((statistic.name, f"mean {attribute}"), self._weighted(attribute, places), size, value)
                case Smallest(attribute, value):
                    self._ranked((statistic.name, f"min {attribute}"), self._weighted(attribute, places), 1, value)
                case Largest(attribute, value):
                    self._largest(statistic, attribute, value, places)
                case _:
                    self._quantile(statistic, measure, places, size)
            if not isinstance(measure, Total | Share):  # nobody adds up to 0, and is 0 % of the others
                self._somebody(statistic, ones)

    def _somebody(self, statistic: Statistic, ones: Terms) -> None:
        """A group with a mean, a rank, a least or a largest number is not empty."""
        if statistic.count is None or (statistic.count.low or 0) < 1:
            self.rows.append(ProofRow(ones, 1, None, statistic.name, "published"))

    def _row(self, terms: Sequence[tuple[int, Fraction | int]], value: Between, source: str, part: str) -> None:
        """Scaled so that all coefficients are whole and share no factor; the bounds are then turned inwards."""
        lcm = math.lcm(*(c.denominator for _, c in terms))
        whole = [(at, c.numerator * (lcm // c.denominator)) for at, c in terms if c]
        gcd = math.gcd(*(c for _, c in whole)) or 1
        low = None if value.low is None else math.ceil(value.low * lcm / gcd)
        high = None if value.high is None else math.floor(value.high * lcm / gcd)
        if (low, high) != (None, None):
            self.rows.append(ProofRow(tuple((at, c // gcd) for at, c in whole), low, high, source, part))

    def _weighted(self, attribute: str, places: Codes) -> _Numbers:
        numbers, codes = self.domain.numbers(attribute), self.domain.codes(attribute)[self.first[places]]
        return [(at, numbers[code]) for at, code in zip(places.tolist(), codes.tolist(), strict=True)]

    def _mean(self, said: tuple[str, str], numbers: _Numbers, size: int | None, value: Between) -> None:
        """The sum, where the size is known; else each end: sum - end * size has a sign."""
        if size is not None:
            self._row(numbers, _times(value, size), *said)
            return
        for end, bound in ((value.low, Between(Fraction(0))), (value.high, Between(None, Fraction(0)))):
            if end is not None:
                self._row([(at, number - end) for at, number in numbers], bound, *said)

    def _share(self, statistic: Statistic, places: Codes, value: Between, whole: Codes) -> None:
        inside = set(places.tolist())
        for end, bound in ((value.low, Between(Fraction(0))), (value.high, Between(None, Fraction(0)))):
            if end is not None:
                terms = [(at, (at in inside) - end) for at in whole.tolist()]
                self._row(terms, bound, statistic.name, "percent")
        self.rows.append(ProofRow(tuple((at, 1) for at in whole.tolist()), 1, None, statistic.name, "percent"))

    def _ranked(self, said: tuple[str, str], numbers: _Numbers, rank: int, value: Between) -> None:
        """The rank-th smallest number lies in a range: not too many are below it, and enough are not above it."""
        if value.low is not None:
            below = tuple((at, 1) for at, number in numbers if number < value.low)
            self.rows.append(ProofRow(below, None, rank - 1, *said))
        if value.high is not None:
            upto = tuple((at, 1) for at, number in numbers if number <= value.high)
            self.rows.append(ProofRow(upto, rank, None, *said))

    def _largest(self, statistic: Statistic, attribute: str, value: Between, places: Codes) -> None:
        numbers = self._weighted(attribute, places)
        if value.high is not None:
            above = tuple((at, 1) for at, number in numbers if number > value.high)
            self.rows.append(ProofRow(above, None, 0, statistic.name, f"max {attribute}"))
        if value.low is not None:
            reach = tuple((at, 1) for at, number in numbers if number >= value.low)
            self.rows.append(ProofRow(reach, 1, None, statistic.name, f"max {attribute}"))

    def _quantile(self, statistic: Statistic, measure: Quantile, places: Codes, size: int | None) -> None:
        part = "median" if measure.level == Fraction(1, 2) else f"quantile {float(measure.level):g}"
        if not size:
            self.unused.append(
                f"{statistic.name}: the {part} of {measure.attribute}, since the group's size is not known"
            )
            return
        if measure.discrete:
            rank, weight = max(1, math.ceil(measure.level * size)), Fraction(0)
        else:
            rank, weight = divmod((size - 1) * measure.level, 1)
            rank += 1
        said, numbers = (statistic.name, f"{part} {measure.attribute}"), self._weighted(measure.attribute, places)
        self._ranked(said, numbers, rank, Between(None, measure.value.high))
        self._ranked(said, numbers, rank + (weight > 0), Between(measure.value.low))
        if weight and self.helping and not self.gone.issuperset(places.tolist()):
            self._interpolated(said, numbers, (rank, weight, size), measure.value)

    def _interpolated(
        self, said: tuple[str, str], numbers: _Numbers, at: tuple[int, Fraction, int], value: Between
    ) -> None:
        """(1 - w) * lower + w * upper for two neighbors in rank. A helper a value says whether each is at most it."""
        rank, weight, size = at
        values, counts = self._cumulative(said, numbers, size)
        lower, upper = ([self._at_most(count, r, size, said) for count in counts] for r in (rank, rank + 1))
        for lists in (lower, upper):
            for here, there in itertools.pairwise(lists):
                self.rows.append(ProofRow(((there, 1), (here, -1)), 0, None, *said))
        steps = [b - a for a, b in itertools.pairwise(values)]
        terms = [(helper, -(1 - weight) * step) for helper, step in zip(lower, steps, strict=True)]
        terms += [(helper, -weight * step) for helper, step in zip(upper, steps, strict=True)]
        moved = Between(*(None if end is None else end - values[-1] for end in (value.low, value.high)))
        self._row(terms, moved, *said)
        if value.low is not None and value.low == value.high and weight == Fraction(1, 2):
            self._mirrored(values, (lower, upper), 2 * value.low, said)

    def _mirrored(
        self, values: Sequence[Fraction], helpers: tuple[list[int], list[int]], total: Fraction, said: tuple[str, str]
    ) -> None:
        """Where the two add up to `total`, the lower is at most v exactly when the upper is at least total - v."""
        lower, upper = helpers
        for place, value in enumerate(values[:-1]):
            before = [other for other, number in enumerate(values[:-1]) if number < total - value]
            if values[-1] < total - value:  # the upper would be too large
                self.rows.append(ProofRow(((lower[place], 1),), None, 0, *said))
            elif before:
                self.rows.append(ProofRow(((lower[place], 1), (upper[before[-1]], 1)), 1, 1, *said))
            else:
                self.rows.append(ProofRow(((lower[place], 1),), 1, None, *said))

    def _cumulative(self, said: tuple[str, str], numbers: _Numbers, size: int) -> tuple[list[Fraction], list[int]]:
        """The values that can occur, and helpers that count how many people are at most each but the last."""
        values = sorted({number for at, number in numbers if at not in self.gone})
        upto: list[list[int]] = [[] for _ in range(len(values) + 1)]
        for at, number in numbers:  # a kind that is gone is counted with the next value
            upto[bisect.bisect_left(values, number)].append(at)
        helpers = list[int]()
        for counted in upto[: len(values) - 1]:
            helper = self._helper(size)
            before = ((helpers[-1], -1),) if helpers else ()
            self.rows.append(ProofRow(((helper, 1), *before, *((at, -1) for at in counted)), 0, 0, *said))
            helpers.append(helper)
        return values, helpers

    def _at_most(self, count: int, rank: int, size: int, said: tuple[str, str]) -> int:
        """A helper that is 1 exactly when at least `rank` of `size` people are counted."""
        helper = self._helper(1)
        self.rows.append(ProofRow(((count, 1), (helper, -rank)), 0, None, *said))
        self.rows.append(ProofRow(((count, 1), (helper, -(size - rank + 1))), None, rank - 1, *said))
        return helper

    def _helper(self, high: int) -> int:
        self.helpers.append(high)
        return len(self.first) + len(self.helpers) - 1

    def finished(
        self, statistics: Sequence[Statistic], members: dict[str, tuple[int, ...]]
    ) -> tuple[System, tuple[str, ...]]:
        """With the box: as many of each kind as the smallest group that it lies in."""
        best: list[tuple[int, str] | None] = [None] * len(self.first)
        counted = [(int(s.count.high), s.name) for s in statistics if s.count is not None and s.count.high is not None]
        everybody = [(most, name) for most, name in counted if len(members[name]) == len(self.first)]
        for most, name in sorted(everybody)[:1] or sorted(counted):
            for kind in members[name]:
                best[kind] = best[kind] or (most, name)
        bounds = [bound for bound in best if bound is not None]
        if len(bounds) < len(self.first):
            raise InvalidInputError(
                "no statistic says how many people there are at most",
                "add a statistic without `where` that gives the count of everybody, or count = {most = 5000}",
                "missing-entry",
            )
        high = (*(max(bound, 0) for bound, _ in bounds), *self.helpers)
        if max(high) > MOST_PEOPLE:
            raise InvalidInputError(
                f"the statistics allow {max(high):,} people, more than {MOST_PEOPLE:,}",
                "publish a smaller count of everybody, or count = {most = 5000}",
                "too-many",
            )
        for row in self.rows:
            ends = (abs(end) for end in (row.low, row.high) if end is not None)
            if max((sum(abs(c) * high[at] for at, c in row.terms), *ends)) > LARGEST:
                raise InvalidInputError(
                    f"“{row.source}”: the {row.part} has too many digits to compute with",
                    "publish it with fewer decimals, or give the attribute a coarser step",
                    "too-long",
                )
        system = System((0,) * len(high), high, tuple(self.rows))
        return system, tuple(sorted({name for _, name in bounds}))


def _exactly(count: Between | None) -> int | None:
    """The size of a group that is known."""
    if count is None or count.low is None or count.low != count.high:
        return None
    return int(count.low)


def _times(value: Between, size: int) -> Between:
    return Between(*(None if end is None else end * size for end in (value.low, value.high)))

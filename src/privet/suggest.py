"""TRUSTED: bounds from the data, at a price: how many groups and rows a unit has, and where a column's numbers lie.

Every unit counts once in each of a few histograms over fixed grids (1, 2, 3, 4, 6, 8, 12, ... steps away from 0 for
numbers; 1, 2, 3-4, 5-8, ... for groups and rows), so each costs its share of the price whatever the data are. What is
suggested is read off the noisy histograms: free.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from types import MappingProxyType
from typing import Any

from privet.answer import loss_json, warnings_of
from privet.backends import BINS, Task
from privet.core.claim import claim
from privet.core.expression import And, Case, Column, Compare, Expression, IsNull, Literal, Not, Relation
from privet.core.laws import Law
from privet.core.loss import Loss
from privet.core.measures import ROWS
from privet.core.parts import Gauge, Part, Setting, priced, total_loss
from privet.core.plan import Aggregate, Function, Key, Plan, fingerprint
from privet.core.sensitivity import Bounds
from privet.core.shape import Form, Shape
from privet.engine import guarantee, run
from privet.errors import InvalidInputError
from privet.estimates.accuracy import half_width
from privet.estimates.fitting import UNITS_IN_BINS
from privet.estimates.priced import Outline, outline
from privet.ledger import Charge, Receipt
from privet.query import Query

UNITS, NUMBERS = Fraction(95, 100), Fraction(99, 100)  # that are covered by what is suggested
SURE = Fraction(95, 100)
NAMES = ("groups", "rows")


@dataclass(frozen=True, slots=True, kw_only=True)
class Suggestion:
    """What covers 95 % of units and 99 % of numbers, as far as noise lets one see. `histograms` are the noisy counts,
    those that may be noise alone as 0.

    Give it to `vault.sql(..., bounds=suggestion)`; ranges are for the owner's declarations, or for LEAST and GREATEST.
    """

    max_groups: int
    max_rows_per_group: int
    ranges: Mapping[str, tuple[Fraction, Fraction]]
    histograms: Mapping[str, tuple[int, ...]] = field(repr=False)
    cost: Loss
    receipt: Receipt
    replayed: bool = False
    warnings: tuple[str, ...] = ()
    guarantee: Mapping[str, Any] | None = field(default=None, repr=False)  # what `privet recheck` prices

    def dropped(self, max_groups: int | None = None) -> Fraction:
        """About which share of the groups of all units is beyond `max_groups`. A bin counts with its upper end."""
        limit = self.max_groups if max_groups is None else max_groups
        pairs = [(2**place, count) for place, count in enumerate(self.histograms.get("groups", ()))]
        total = sum(groups * count for groups, count in pairs)
        lost = sum(max(groups - limit, 0) * count for groups, count in pairs)
        return Fraction(lost, total) if total else Fraction(0)

    def __str__(self) -> str:
        beyond = f"(about {float(100 * self.dropped()):.2g} % of the groups of all units are beyond it)"
        lines = [f"!! {warning}" for warning in self.warnings]
        lines.append(f"max_groups          {self.max_groups:,}  {beyond}")
        lines.append(f"max_rows_per_group  {self.max_rows_per_group:,}")
        lines += [f"{name:<18}  {float(low):,.12g} to {float(high):,.12g}" for name, (low, high) in self.ranges.items()]
        paid = "answered again from the ledger, free of charge" if self.replayed else "paid now"
        return "\n".join([*lines, f"price: epsilon {float(self.cost.epsilon or 0):.6g}, {paid}"])

    def to_json(self) -> dict[str, Any]:
        return {
            "max_groups": self.max_groups,
            "max_rows_per_group": self.max_rows_per_group,
            "ranges": {name: {"low": float(low), "high": float(high)} for name, (low, high) in self.ranges.items()},
            "dropped": float(self.dropped()),
            "cost": loss_json(self.cost),
            "guarantee": self.guarantee,
            "receipt": {"entry": self.receipt.entry, "digest": self.receipt.digest},
            "replayed": self.replayed,
            "warnings": list(self.warnings),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Histogram:
    """One of the histograms, by name: of groups or rows if there is no outline, otherwise of a column's values."""

    name: str
    part: Part
    read: Outline | None = None
    edges: tuple[int, ...] = ()
    shape: Shape | None = None


@claim("one-bin-a-unit")
def suggest(query: Query, epsilon: Fraction) -> Suggestion:
    """Pay, look, and suggest bounds for this question: its groups, and the columns that it adds up."""
    query = query.of_all_groups()
    wanted = _histograms(query, epsilon)
    loss = total_loss([one.part for one in wanted])
    request = _request(query, wanted)
    ledger = query.gate.ledger
    stated = guarantee(tasks_of(query, wanted, b""), ledger.terms.neighbors, loss)
    stored = ledger.stored(request)
    if stored is not None:
        found = _read(wanted, stored.body, (loss, stored.receipt), replayed=True)
        return replace(found, guarantee=stated, warnings=warnings_of(ledger))
    query.check_ready()
    charge = Charge(
        loss=loss, request=request, analyst=query.analyst, note=f"bounds for: {query.text}", part=query.part
    )
    release = run(charge, tasks_of(query, wanted, query.gate.secret()), query.gate)
    found = _read(wanted, release.body, (loss, release.receipt), replayed=False)
    return replace(found, guarantee=stated, warnings=warnings_of(ledger))


def _people(query: Query) -> bool:
    return query.table.unit is not None


def _histograms(query: Query, epsilon: Fraction) -> list[Histogram]:
    """With equal shares of the price."""
    read = query.priced
    values = [aggregate.value for aggregate in read.plan.aggregates if aggregate.function is not Function.COUNT]
    columns = list(dict.fromkeys(value for value in values if isinstance(value, Column)))
    numbers = [column for column in columns if read.passing[column.name].form is Form.NUMBER]
    names = NAMES if _people(query) else ()
    if not names and not numbers:
        raise InvalidInputError(
            "there is nothing to suggest for this question",
            "give a query with SUM or AVG of a number column",
            "nothing-to-do",
        )
    share = epsilon / (len(names) + len(numbers))
    one = Bounds(groups=1, rows=1, neighbors=read.bounds.neighbors)
    found = [Histogram(name=name, part=_part(BINS, one, share)) for name in names]
    for column in numbers:
        shape = read.passing[column.name]
        edges = edges_of(shape.low, shape.high)
        beside = {name: table.columns for name, table in query.beside.items()}
        inner = outline(_binned(read.plan, column, shape, edges), query.table.columns, one, beside)
        part = _part(len(edges) + 1, one, share)
        found.append(Histogram(name=column.name, part=part, read=inner, edges=edges, shape=shape))
    return found


def _part(cells: int, bounds: Bounds, share: Fraction) -> Part:
    return priced([ROWS], Setting(cells=cells, bounds=bounds), Gauge.EPSILON, [share])[0]


def edges_of(low: int, high: int) -> tuple[int, ...]:
    """Where bins end, in steps: 0, and 1, 2, 3, 4, 6, 8, 12, ... on either side of it, as far as the range goes."""
    grid = sorted({2**i for i in range(128)} | {3 * 2**i for i in range(127)})
    sides = [-edge for edge in reversed(grid)] + [0] + grid
    return tuple(edge for edge in sides if low <= edge < high)


def _binned(plan: Plan, column: Column, shape: Shape, edges: Sequence[int]) -> Plan:
    """Rows that have a number, by the bin that it lies in: above one edge, and up to the next."""
    there: Expression = Not(IsNull(column))
    where = there if plan.where is None else And((plan.where, there))
    branches = tuple(
        (Compare(Relation.LESS_EQUAL, column, Literal(edge * shape.step)), Literal(Fraction(place)))
        for place, edge in enumerate(edges)
    )
    bins: Expression = Case(branches, Literal(Fraction(len(edges)))) if branches else Literal(Fraction(0))
    keys = (Key(name="bin", value=bins),) if branches else ()
    count = Aggregate(name="n", function=Function.COUNT)
    return Plan(table=plan.table, origin=plan.origin, where=where, keys=keys, aggregates=(count,), outputs=("n",))


def tasks_of(query: Query, wanted: Sequence[Histogram], secret: bytes) -> list[Task]:
    """One for the groups and rows of units together, and one for each column."""
    task, habits = replace(query.task(secret), top=None), [one for one in wanted if one.read is None]
    one_bin = Bounds(groups=1, rows=1, neighbors=task.bounds.neighbors)
    counted = replace(task, habits=NAMES, bins=BINS, measures=(UNITS_IN_BINS,) * len(NAMES), laws=_laws(habits))
    counted = replace(counted, bounds=one_bin)
    return ([counted] if habits else []) + [_column(task, one, one.read) for one in wanted if one.read is not None]


def _column(task: Task, one: Histogram, read: Outline) -> Task:
    task = replace(task, plan=read.plan, passing=read.passing, cells=read.cells, measures=read.measures)
    return replace(task, bounds=read.bounds, laws=_laws([one]), threshold=None)


def _laws(wanted: Sequence[Histogram]) -> tuple[Law, ...]:
    return tuple(one.part.law for one in wanted)  # type: ignore[misc]  # Laplace noise


def _request(query: Query, wanted: Sequence[Histogram]) -> str:
    parts = [[one.name, one.edges, one.part.law.scale] for one in wanted]  # type: ignore[union-attr]  # Laplace
    return fingerprint("bounds", query.request, parts)


def _read(wanted: Sequence[Histogram], body: bytes, paid: tuple[Loss, Receipt], *, replayed: bool) -> Suggestion:
    stored = json.loads(body)
    pairs = zip(stored.get("noisy") or stored["histograms"], wanted, strict=True)  # as older versions named them
    noisy = [seen(vector, one.part) for vector, one in pairs]
    found = dict(zip((one.name for one in wanted), noisy, strict=True))
    limits = {
        one.name: 2 ** covering(vector, UNITS)[1] for one, vector in zip(wanted, noisy, strict=True) if not one.shape
    }
    ranges = {one.name: _range(one, vector) for one, vector in zip(wanted, noisy, strict=True) if one.shape}
    return Suggestion(
        max_groups=limits.get("groups", 1),
        max_rows_per_group=limits.get("rows", 1),
        ranges=MappingProxyType(ranges),
        histograms=MappingProxyType(found),
        cost=paid[0],
        receipt=paid[1],
        replayed=replayed,
    )


def _range(one: Histogram, vector: Sequence[int]) -> tuple[Fraction, Fraction]:
    assert one.shape is not None  # noqa: S101  only columns have ranges
    ends = [one.shape.low, *one.edges, one.shape.high]
    first, last = covering(vector, NUMBERS)
    return ends[first] * one.shape.step, ends[last + 1] * one.shape.step


def seen(vector: Sequence[int], part: Part) -> tuple[int, ...]:
    """Without what noise alone reaches in any bin, with probability 95 %."""
    noise = half_width(part.law, 1 - (1 - SURE) / len(vector))
    return tuple(count if count > noise else 0 for count in vector)


def covering(vector: Sequence[int], share: Fraction) -> tuple[int, int]:
    """The first and last of the fewest bins side by side that hold such a share; of nothing, all bins."""
    sums = [0, *itertools.accumulate(vector)]
    if not sums[-1]:
        return 0, len(vector) - 1
    spans = [
        (last - first, first, last)
        for first, last in itertools.combinations_with_replacement(range(len(vector)), 2)
        if sums[last + 1] - sums[first] >= share * sums[-1]
    ]
    _, first, last = min(spans)
    return first, last

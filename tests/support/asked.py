"""Questions and answers for tests of what people see: made from the core alone, without a vault or data."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

from privet.answer import Answer
from privet.catalog.declarations import Source, Table
from privet.core.accountant import Budget
from privet.core.expression import Column, Expression, Period, Truncated
from privet.core.parts import Gauge
from privet.core.plan import Aggregate, Function, Key, Plan
from privet.core.schema import Boolean, Category, Date, Integer, Number, Text, Timestamp
from privet.core.sensitivity import Bounds
from privet.core.unit import Neighbors
from privet.engine import Gate
from privet.estimates.priced import Outline, Priced, outline, variants
from privet.estimates.pricing import Price, _cheapest, _shared, ask
from privet.ledger import Policy, Receipt, Terms, sqlite
from privet.query import Query

BUDGET = Budget(3, "1e-9")
KINDS = {
    "ward": Category(["A", "Emergency <script>alert(1)</script>", "", "日本語"]),
    "sex": Category(["f", "m"]),
    "smoker": Boolean(),
    "cost": Number(0, 5000, step="0.01"),
    "change": Number(-10, 10, step="0.5"),
    "nothing": Integer(0, 0),
    "age": Integer(0, 120),
    "day": Date("2026-01-01", "2026-12-31"),
    "time": Timestamp("2026-01-01", "2026-01-01T05:59"),
    "city": Text(),
}
N = Aggregate(name="n", function=Function.COUNT)


def key(name: str, value: Expression | None = None) -> Key:
    return Key(name=name, value=value or Column(name))


def total(name: str, column: str) -> Aggregate:
    return Aggregate(name=name, function=Function.SUM, value=Column(column))


def average(name: str, column: str) -> Aggregate:
    return Aggregate(name=name, function=Function.AVG, value=Column(column))


def month() -> Key:
    return key("month", Truncated(Period.MONTH, Column("day")))


def plan(keys: tuple[Key, ...], *aggregates: Aggregate, **rest: Any) -> Plan:
    names = tuple(item.name for item in (*keys, *aggregates))
    return Plan(**{"table": "visits", "keys": keys, "aggregates": aggregates, "outputs": names, **rest})


def bounds(groups: int = 2, rows: int = 3, neighbors: Neighbors = Neighbors.ADD_REMOVE) -> Bounds:
    return Bounds(groups=groups, rows=rows, neighbors=neighbors)


def question(asked: Plan, limits: Bounds | None = None, **price: object) -> Priced:
    return ask(outline(asked, KINDS, limits or bounds()), BUDGET, Price(**(price or {"epsilon": 1})))


def without_pairs(read: Outline, epsilon: object = 1) -> Priced:
    """The best way by Laplace noise on single numbers, for tests of what is made of these."""
    return _cheapest([_shared(one, Gauge.EPSILON, Fraction(str(epsilon)), None) for one in variants(read)])[1]


def single(asked: Plan, limits: Bounds | None = None, epsilon: object = 1) -> Priced:
    return without_pairs(outline(asked, KINDS, limits or bounds()), epsilon)


def answer(asked: Priced, *noisy: list[int], **facts: Any) -> Answer:
    """With these noisy numbers; the same number in every cell where a list has one."""
    cells = asked.cells.count
    vectors = tuple(tuple(numbers * cells if len(numbers) == 1 else numbers) for numbers in noisy)
    return Answer(priced=asked, noisy=vectors, receipt=Receipt(entry=3, digest="ab12" * 16), cost=asked.loss, **facts)


def ledger(
    folder: Path, policy: Policy = Policy.REFUSE, budget: Budget = BUDGET, *, testing: bool = False
) -> sqlite.SqliteLedger:
    terms = Terms(budget=budget, neighbors=Neighbors.ADD_REMOVE, policy=policy, testing=testing)
    return sqlite.create(folder / "ledger.sqlite", terms)


def query(asked: Priced, book: sqlite.SqliteLedger, *, unit: str | None = "patient_id", analyst: str = "") -> Query:
    """Without a backend: whoever touches data fails."""
    limits = asked.bounds
    table = Table(
        name="visits",
        source=Source(kind="csv", path="visits.csv"),
        unit=unit,
        columns=KINDS,
        max_groups=1 if unit is None else limits.groups,
        max_rows_per_group=1 if unit is None else limits.rows,
    )
    gate = Gate(ledger=book, backend=None, noise=None, secret=lambda: b"")  # type: ignore[arg-type]
    return Query(text="SELECT", priced=asked, table=table, analyst=analyst, gate=gate)

"""Several quantiles of one column: one inside the other, beside each by itself, at the same price.

    python benchmarks/quantiles.py [--tiny] [--trials 50] [--rows 200,1000,5000] [--json FILE]

Each row is a unit. At the engine's prices and with its samplers, without intervals; quantiles that are chosen apart are
put in order, as answers are. `apart` and `nested` are by how many rows a rank is off on average over the quantiles;
`taken` says whether Privet nests them; `worse` is by how many rows the way that is taken errs more than apart, and
`noise` the standard error of that difference. The summary of a number of quantiles has the ratio of both errors on
untied data (median and least), how often the way that is taken errs more than apart by over one row, certainly (by more
than four standard errors) and at all, and how often nesting would have gained as much but is not taken.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from fractions import Fraction
from statistics import median
from typing import Any
from unittest import mock

import numpy as np
from evidence import Evidence, mapped, options, parse

from privet.backends import Spread
from privet.core.accountant import Budget
from privet.core.expression import Column
from privet.core.laws import Choice, Choices
from privet.core.plan import Aggregate, Function, Plan
from privet.core.schema import Integer
from privet.core.sensitivity import Bounds
from privet.core.unit import Neighbors
from privet.engine import FreshNoise
from privet.estimates import families
from privet.estimates.priced import Priced, outline
from privet.estimates.pricing import ALIKE, Price, ask

PRICES = {
    "epsilon 0.1": Price(epsilon="0.1"),
    "epsilon 1": Price(epsilon=1),
    "rho 0.125": Price(rho="0.125"),
}
UNTIED = ("incomes", "gaps")
HIGHEST = {"incomes": 10**6, "gaps": 10**6, "ages": 110, "zeros": 10**6, "half": 10**6, "rounded": 10**6}
Job = tuple[str, int, int, Neighbors, str, int]
Row = dict[str, Any]


def values_of(data: str, rows: int) -> np.ndarray:
    """The same values in each run."""
    source = np.random.default_rng(15)
    incomes = np.minimum(np.exp(source.normal(10.3, 0.8, rows)).astype(np.int64), 10**6)
    match data:
        case "incomes":
            return incomes
        case "rounded":
            return incomes // 1_000 * 1_000
        case "gaps":  # ten towns far from each other
            return source.integers(0, 10, rows) * 100_000 + source.integers(0, 5_000, rows)
        case "ages":
            return np.minimum(source.gamma(4, 11, rows).astype(np.int64), 110)
        case "zeros":
            return np.where(source.random(rows) < 0.6, 0, incomes)
        case _:
            return np.where(source.random(rows) < 0.5, 30_000, incomes)


def asked(data: str, number: int, relation: Neighbors, price: Price, way: str) -> Priced:
    made = tuple(
        Aggregate(name=f"q{n}", function=Function.QUANTILE, value=Column("x"), quantile=Fraction(n, number + 1))
        for n in range(1, number + 1)
    )
    plan = Plan(table="t", keys=(), aggregates=made, outputs=tuple(one.name for one in made), intervals=False)
    read = outline(plan, {"x": Integer(0, HIGHEST[data])}, Bounds(groups=1, rows=1, neighbors=relation))
    if way == "apart":
        return ask(read, Budget(99), price, allowed=ALIKE)
    with mock.patch.object(families, "_errs_less", (lambda *_: True) if way == "nested" else families._errs_less):
        return ask(read, Budget(99), price)


def drawn(question: Priced, spread: Spread) -> list[int]:
    """What is published, ascending."""
    found: list[int] = []
    for part in question.parts:
        assert isinstance(part.law, Choice)
        if isinstance(part.law, Choices):
            found += FreshNoise().choose_all(spread, part.measure, part.law)
        else:
            found.append(FreshNoise().choose(spread, part.measure, part.law))
    return sorted(found)


def off(found: Sequence[int], values: np.ndarray) -> float:
    """By how many rows the ranks are off, on average."""
    shares = np.arange(1, len(found) + 1) / (len(found) + 1) * len(values)
    below, upto = (np.searchsorted(values, found, side) for side in ("left", "right"))
    return float(np.maximum(np.maximum(below - shares, shares - upto), 0).mean())


def measured(job: Job) -> Row:
    data, rows, number, relation, price, trials = job
    values = np.sort(values_of(data, rows))
    spread = Spread(*np.unique(values, return_counts=True))
    apart, nested, taken = (asked(data, number, relation, PRICES[price], way) for way in ("apart", "nested", "taken"))
    one, other = (
        np.array([off(drawn(question, spread), values) for _ in range(trials)]) for question in (apart, nested)
    )
    nests = families.has_families(taken)
    noise = float(np.hypot(one.std(), other.std()) / np.sqrt(trials))
    return {
        "data": data, "rows": rows, "quantiles": number, "relation": relation.value, "price": price,
        "apart": float(one.mean()), "nested": float(other.mean()), "taken": nests,
        "worse": float(other.mean() - one.mean()) if nests else 0.0, "noise": noise if nests else 0.0,
    }  # fmt: skip


def summary(found: Sequence[Row]) -> Iterator[Row]:
    for number in sorted({row["quantiles"] for row in found}):
        for relation in Neighbors:
            those = [row for row in found if row["quantiles"] == number and row["relation"] == relation.value]
            ratios = [row["apart"] / row["nested"] for row in those if row["data"] in UNTIED and row["taken"]]
            yield {
                "quantiles": number,
                "relation": relation.value,
                "settings": len(those),
                "nested": sum(row["taken"] for row in those),
                "untied_median": median(ratios) if ratios else None,
                "untied_least": min(ratios, default=None),
                "worse_by_over_a_row": sum(row["worse"] - 4 * row["noise"] > 1 for row in those),
                "seems_worse_by_over_a_row": sum(row["worse"] > 1 for row in those),
                "missed": sum(row["apart"] - row["nested"] > 1 + 4 * row["noise"] for row in those if not row["taken"]),
            }


def main(given: Sequence[str] | None = None) -> None:
    parser = options(__doc__)
    parser.add_argument("--trials", type=int, default=50)
    parser.add_argument("--rows", default="200,1000,5000", help="numbers of rows, with commas between them")
    parser.add_argument("--processes", type=int, default=1)
    read = parse(parser, given, trials=3, rows="200")
    evidence = Evidence(read, "quantiles")
    sizes = [int(size) for size in str(read.rows).split(",")]
    relations = list(Neighbors)
    every = itertools.product(HIGHEST, sizes, (3, 9, 19), relations, PRICES, [read.trials])
    found: list[Row] = []
    for row in mapped(measured, every, read.processes):
        found.append(row)
        if row["worse"] > 1:
            print("  worse:", row, flush=True)
        evidence.save({"trials": read.trials, "summary": list(summary(found)), "settings": found})
    facts = list(summary(found))
    for row in facts:
        print(
            ", ".join(
                f"{key} {value:.3g}" if isinstance(value, float) else f"{key} {value}" for key, value in row.items()
            )
        )


if __name__ == "__main__":
    main()

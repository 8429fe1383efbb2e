"""ORDER BY n DESC LIMIT k: groups chosen by their scores first, beside measuring all groups and showing the largest.

    python benchmarks/top.py [--tiny] [--trials 200] [--json FILE]

Counts of people in so many groups, at the engine's prices and with its samplers. "All" is the way that measures every
group, "best" the one that chooses groups first, both at the same price; `taken` says which one Privet takes. `recall`
is the share of the true top k that is shown, `behind` how much smaller than these the shown groups are on average,
`off` the average distance between a shown number and the exact one, `width` half of a printed 95 % interval, `held` how
often it holds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from evidence import Evidence, options, parse

from privet.core.accountant import Budget
from privet.core.expression import Column
from privet.core.laws import Top
from privet.core.plan import Aggregate, Function, Key, Order, Plan
from privet.core.schema import Category
from privet.core.sensitivity import Bounds
from privet.core.unit import Neighbors
from privet.estimates.estimate import total_error
from privet.estimates.priced import Outline, Priced, outline
from privet.estimates.pricing import ALL_GROUPS, Price, _cheapest, _ways, ask
from privet.estimates.top import by_scores
from privet.noise.fast import sampler
from privet.noise.top import choose_top

SHARE = Fraction(95, 100)
PRICES = {"epsilon 0.1": Price(epsilon="0.1"), "epsilon 1": Price(epsilon=1), "rho 0.005": Price(rho="0.005")}


def sizes(kind: str, groups: int) -> list[int]:
    """Of the groups, the largest first."""
    if kind == "Zipf":
        return [20_000 // rank for rank in range(1, groups + 1)]
    return [1_000] * groups if kind == "equal" else [1_100] * 10 + [1_000] * (groups - 10)


def question(groups: int, limit: int, each: int) -> Outline:
    """A unit has up to `each` groups."""
    n = Aggregate(name="n", function=Function.COUNT_DISTINCT)
    plan = Plan(
        table="t", keys=(Key(name="g", value=Column("g")),), aggregates=(n,), outputs=("g", "n"),
        order=(Order(name="n", descending=True),), limit=limit,
    )  # fmt: skip
    names = [f"g{number:04}" for number in range(groups)]
    bounds = Bounds(groups=each, rows=1, neighbors=Neighbors.ADD_REMOVE)
    return outline(plan, {"g": Category(names, never_missing=True)}, bounds)


def shown(asked: Priced, exact: Sequence[int], limit: int) -> tuple[list[int], list[int]]:
    """The places of the groups, and how far their numbers are off."""
    law = asked.parts[-1].law
    if isinstance(law, Top):
        places = choose_top(exact, law)
        return places, sampler(asked.parts[0].law).draw(limit).tolist()  # type: ignore[arg-type]
    noise = sampler(law).draw(len(exact))  # type: ignore[arg-type]
    places = np.argsort(-(np.array(exact) + noise), kind="stable")[:limit].tolist()
    return places, noise[places].tolist()


def figures(asked: Priced, exact: list[int], limit: int, trials: int) -> dict[str, float]:
    chosen = asked.top is not None
    share = SHARE if chosen else 1 - (1 - SHARE) / len(exact)
    width = float(total_error(asked.recipes[0], asked.parts, share))
    order = np.random.default_rng(7).permutation(len(exact))  # so that ties are not broken by size
    turned = [exact[place] for place in order]
    drawn = [shown(asked, turned, limit) for _ in range(trials)]
    found = np.array([[turned[place] for place in places] for places, _ in drawn])
    off = np.abs(np.array([noise for _, noise in drawn]))
    best = np.array(exact[:limit])
    return {
        "recall": float((found >= best[-1]).mean()),
        "behind": float((best.sum() - found.sum(axis=1)).mean() / limit),
        "off": float(off.mean()),
        "width": width,
        "held": float((off <= width).mean()),
    }


def cases(*, tiny: bool) -> Iterator[tuple[str, int, int, int, str]]:
    for kind in ("Zipf", "equal", "two levels"):
        for groups in (20,) if tiny else (100, 1_000):
            for limit, each in ((3, 10),) if tiny else ((3, 1), (3, 5), (3, 20), (10, 20)):
                for price in PRICES:
                    yield kind, groups, limit, each, price


def row(case: tuple[str, int, int, int, str], trials: int) -> dict[str, Any]:
    kind, groups, limit, each, name = case
    read, price, budget = question(groups, limit, each), PRICES[name], Budget(3, "1e-9")
    best = by_scores(read)
    assert best is not None
    ways = {
        "all": ask(read, budget, price, allowed=ALL_GROUPS),
        "best": _cheapest(list(_ways(best, price, None, ALL_GROUPS)))[1],
    }
    taken = "all" if ask(read, budget, price).top is None else "best"
    found = {way: figures(asked, sizes(kind, groups), limit, trials) for way, asked in ways.items()}
    return {
        "sizes": kind,
        "groups": groups,
        "limit": limit,
        "groups_per_unit": each,
        "price": name,
        "taken": taken,
        **found,
    }


def main(given: Sequence[str] | None = None) -> None:
    parser = options(__doc__)
    parser.add_argument("--trials", type=int, default=200)
    read = parse(parser, given, trials=5)
    evidence = Evidence(read, "top")
    rows = []
    for case in cases(tiny=read.tiny):
        one = row(case, read.trials)
        words = [f"{one[name]!s:>11}" for name in ("sizes", "groups", "limit", "groups_per_unit", "price", "taken")]
        numbers = [f"{name} {one['all'][name]:.5g} | {one['best'][name]:.5g}" for name in one["all"]]
        print(*words, *numbers, flush=True)
        rows.append(one)
    evidence.save({"trials": read.trials, "rows": rows})


if __name__ == "__main__":
    main()

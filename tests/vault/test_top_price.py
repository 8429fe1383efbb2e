"""Groups that are chosen and then measured, enumerated from the question to the charge: tiny tables, all neighbors.

The law of all that is published follows from the definition: which groups are chosen, and how far apart their exact
numbers lie. The numbers are those that the engine would add noise to.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from support.plain_statistics import top_law

import privet as pv
from privet.backends.reference import Reference
from privet.core.laws import DiscreteGaussian, DiscreteLaplace, Top
from privet.query import Query

GROUPS = ("a", "b", "c")
OTHERS = (("a", 2),) * 40 + (("b", -1), ("b", 2))  # each of somebody else who stays; one group is far ahead
ROWS = tuple(itertools.product(GROUPS, (2, -1)))
UNITS = [unit for size in range(3) for unit in itertools.combinations_with_replacement(ROWS, size)]
ORDERS = (1.01, 2, 8, 40)
QUESTIONS = [
    "SELECT g, COUNT(*) AS n FROM t GROUP BY g ORDER BY n DESC LIMIT 1",
    "SELECT g, SUM(x) AS n FROM t GROUP BY g ORDER BY n DESC LIMIT 1",
    "SELECT g, COUNT(DISTINCT who) AS n, SUM(x) AS s FROM t GROUP BY g ORDER BY n DESC LIMIT 1",
    "SELECT g, COUNT(*) AS n, AVG(x) AS a FROM t WHERE x > 0 GROUP BY g ORDER BY n DESC LIMIT 2",
]
Unit = tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class Published:
    """For each set of groups its probability, and the exact numbers of each part."""

    chances: dict[frozenset[int], float]
    numbers: dict[frozenset[int], list[list[int]]]


def published(asked: Query, unit: Unit) -> Published:
    people = [(f"stays {number}", (row,)) for number, row in enumerate(OTHERS)] + [("unit", unit)]
    rows = [{"who": who, "g": g, "x": x} for who, listed in people for g, x in listed]
    asked = replace(asked, gate=replace(asked.gate, backend=Reference({"t": rows})))
    keys = list(asked.priced.cells.keys())
    law = asked.priced.parts[-1].law
    assert isinstance(law, Top)
    numbers, chances = {}, defaultdict[frozenset[int], float](float)
    for places in itertools.combinations(range(len(keys)), law.rounds):
        found = pv.testing.exact(asked, key=b"key", keys=[keys[place] for place in places])
        numbers[frozenset(places)] = [[int(n) for n in part.values] for part in found.parts[:-1]]
    for outcome, chance in top_law(tuple(int(score) for score in found.parts[-1].values), law).items():
        chances[frozenset(outcome)] += chance
    return Published(dict(chances), numbers)


def losses(asked: Query, one: Published, two: Published) -> Iterator[tuple[float, float]]:
    """Of the law of both together: the loss in epsilon (all noise is Laplace) and in rho, at every order."""
    laws = [part.law for part in asked.priced.parts[:-1]]
    worst, moments = 0.0, dict.fromkeys(ORDERS, 0.0)
    for places, p in one.chances.items():
        q, pure, half = two.chances[places], 0.0, 0.0
        for law, a, b in zip(laws, one.numbers[places], two.numbers[places], strict=True):
            moves = [abs(y - x) for x, y in zip(a, b, strict=True)]
            if isinstance(law, DiscreteLaplace):
                pure += sum(moves) / float(law.scale)
            else:
                assert isinstance(law, DiscreteGaussian)
                half += sum(move**2 for move in moves) / 2 / float(law.variance)
        worst = max(worst, math.log(p / q) + pure)
        for order in ORDERS:
            moments[order] += p * (p / q) ** (order - 1) * math.exp(order * (order - 1) * half)
    yield from ((worst, math.log(moments[order]) / (order - 1) / order) for order in ORDERS)


@pytest.mark.parametrize("relation", ["add-remove", "replace"])
@pytest.mark.parametrize("text", QUESTIONS)
def test_choice_and_numbers_together_cost_what_is_charged(
    tmp_path: Path, text: str, relation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A count's epsilon is attained, under either relation: a group that is far behind is chosen less often without a
    person's rows, and shown with less."""
    monkeypatch.setattr("privet.estimates.pricing.missed", lambda _: math.inf)  # chosen first, however it errs
    with pv.create(tmp_path / "v", budget=pv.Budget(9, "1e-6"), neighbors=relation, testing=True) as vault:
        columns = {"g": pv.Category(GROUPS, never_missing=True), "x": pv.Integer(-1, 2)}
        data = {"who": ["w"], "g": ["a"], "x": [0]}
        vault.add_table("t", data, unit="who", max_groups=2, max_rows_per_group=2, columns=columns)
        for price in ({"epsilon": 2}, {"rho": "0.5"}):
            asked = vault.sql(text, **price)
            known = {unit: published(asked, unit) for unit in UNITS}
            pairs = itertools.permutations(known, 2)
            near = pairs if relation == "replace" else (pair for pair in pairs if () in pair)
            found = [loss for one, two in near for loss in losses(asked, known[one], known[two])]
            charged = asked.cost.rho if "rho" in price else asked.cost.epsilon
            assert charged is not None
            most = max(rho if "rho" in price else pure for pure, rho in found)
            assert 0 < most <= float(charged) * (1 + 1e-9)
            if text == QUESTIONS[0] and "epsilon" in price:
                assert most == pytest.approx(float(charged), rel=1e-5)

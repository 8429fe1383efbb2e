"""Pairs and squares in the engines: the same whole numbers as the definition; rows are bounded, missing and beyond a
range."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import privet as pv
from privet.backends.duckdb import DuckDb
from privet.backends.pairing import apart, joined
from privet.backends.reference import Reference
from privet.core.measures import Measure, Role
from privet.query import Query

QUESTIONS = [
    "SELECT ward, AVG(cost) AS a FROM visits GROUP BY ward",
    "SELECT COUNT(cost) AS n, SUM(cost) AS s, AVG(age) AS a FROM visits WHERE age > 20",
    "SELECT ward, COUNT(*) AS n, SUM(cost) AS s, STDDEV(age) AS d, MEDIAN(age) AS m FROM visits GROUP BY ward",
    "SELECT city, AVG(age) AS a, COUNT(DISTINCT age) AS v FROM visits GROUP BY city",
    "SELECT city, VAR_POP(cost) AS v, STDDEV(age * age) AS d, MAX(cost) AS m FROM visits GROUP BY city",
    "SELECT ward, CORR(cost, age) AS c, VAR_POP(2 * cost - age) AS v, COUNT(*) AS n FROM visits GROUP BY ward",
]
COLUMNS = {
    "age": pv.Integer(0, 120),
    "cost": pv.Number(-50, 4000, step="0.01"),
    "ward": pv.Category(["A", "B"]),
    "city": pv.Text(),
}


def table() -> pd.DataFrame:
    """Missing values, values beyond the declared range, and more rows of a person than count."""
    draw = np.random.default_rng(7)
    rows = 300
    cost = np.round(draw.normal(1000, 3000, rows), 2)
    return pd.DataFrame(
        {
            "person": draw.integers(0, 60, rows),
            "age": pd.Series(draw.integers(-5, 140, rows)).where(draw.random(rows) > 0.2).astype("Int64"),
            "cost": pd.Series(cost).where(draw.random(rows) > 0.2),
            "ward": draw.choice(["A", "B", "C"], rows),
            "city": draw.choice(["Oslo", "Bergen", "Aas"], rows),
        }
    )


def asked(folder: Path, text: str, frame: pd.DataFrame, **limits: Any) -> Query:
    vault = pv.create(folder, budget=pv.Budget(epsilon=9, delta="1e-6"), testing=True)
    vault.add_table("visits", frame, columns=COLUMNS, **limits)
    return vault.sql(text, epsilon=1, **({"delta": "1e-7"} if "city," in text else {}))


@pytest.mark.parametrize("limits", [{"unit": None}, {"unit": "person", "max_groups": 1, "max_rows_per_group": 2}])
@pytest.mark.parametrize("text", QUESTIONS)
def test_engines_compute_pairs_as_defined(text: str, limits: dict[str, Any], tmp_path: Path) -> None:
    """With and without the kernel. Where limits drop rows, the two ways keep others: then each is checked alone."""
    frame = table()
    query = asked(tmp_path / "v.privet", text, frame, **limits)
    task = query.task(b"secret", [("Oslo",), ("Aas",)] if query.priced.cells.private else None)
    pairs = [place for place, measure in enumerate(task.measures) if measure.numbers > 1]
    assert pairs
    rows = frame.astype(object).where(frame.notna(), None).to_dict("records")
    expected = Reference({"visits": rows}).exact(task)  # type: ignore[arg-type]
    with DuckDb(tmp_path, {"visits": frame}, portable=True) as sql:
        found = [sql.exact(task), query.gate.backend.exact(task)]
    assert [found[0][place] for place in pairs] == [expected[place] for place in pairs]
    for vectors in found:
        for place in pairs:
            check_shares(task.measures[place], vectors[place], task.cells.count)
    if limits["unit"] is None:
        assert found[0][pairs[0]] == found[1][pairs[0]]


def check_shares(measure: Measure, vector: Any, cells: int) -> None:
    """Each row divides one whole among the numbers of its cell."""
    sides = np.array_split(np.array(vector, object), measure.numbers)
    assert [len(side) for side in sides] == [cells] * measure.numbers
    assert (sum(sides) % measure.size == 0).all()
    assert all((side >= 0).all() for side in sides)
    if measure.role is Role.SQUARES:  # (sum of u)**2 is at most the rows times that of u**2, and 2 * u * v is even
        rows, (squares, products, _) = sum(sides) // measure.size, sides
        assert ((2 * squares + products) ** 2 <= 4 * measure.size * rows * squares).all()
        assert (products % 2 == 0).all()


@pytest.mark.parametrize("unit", [None, "person"])
@pytest.mark.parametrize("portable", [True, False])
@pytest.mark.parametrize(
    ("value", "expected"), [("age * 999", [55, 40, 105]), ("age * 100000000 + cost", [7 * 25, 0, 25])]
)
def test_squares_of_values_beyond_a_range_that_is_wrong_are_of_the_same_rows(
    unit: str | None, portable: bool, value: str, expected: list[int], tmp_path: Path
) -> None:
    """A mistake in ranges is planted: values are far above what the measure says, even above what its type holds (then
    the kernel misses them). Sum, squares and count are of the same rows and clamped values all the same."""
    limits = {"unit": unit, **({"max_groups": 1, "max_rows_per_group": 1} if unit else {})}
    frame = pd.DataFrame({"person": range(9), "age": [0, 1, 2, 3, 4, 5, 6, 120, None], "cost": 0.02})
    frame[["ward", "city"]] = "A", "Oslo"
    query = asked(tmp_path / "v.privet", f"SELECT AVG({value}) AS v FROM visits", frame, **limits)
    task = query.task(b"secret")
    (measure,) = task.measures
    task = replace(task, measures=(replace(measure, role=Role.SQUARES, center=2, high=5),))
    with DuckDb(tmp_path, {"visits": frame}, portable=portable) as backend:
        (vector,) = backend.exact(task)
    check_shares(task.measures[0], vector, 1)
    if portable or not unit:
        assert vector == expected
    else:  # what is one below the range, or does not fit its type, is missing in the kernel
        assert vector in (expected, [55, 40, 80], [0, 0, 25])


def test_a_pair_is_a_sum_and_a_count_of_the_same_rows(tmp_path: Path) -> None:
    query = asked(tmp_path / "v.privet", QUESTIONS[0], table(), unit=None)
    pieces = apart(query.task(b"s"))
    assert [measure.role for measure in pieces.measures] == [Role.SUM, Role.COUNT]
    (pair,) = query.task(b"s").measures
    assert [measure.value for measure in pieces.measures] == [pair.value, pair.value]
    assert (pieces.measures[0].low, pieces.measures[0].high) == (0, pair.high)
    assert joined(query.task(b"s"), [[3, 0, pair.high], [1, 0, 2]]) == [[3, 0, pair.high, pair.high - 3, 0, pair.high]]

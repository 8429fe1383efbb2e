"""All values of every cell, for quantiles, MIN and MAX: one SELECT for each value, and how its rows become spreads."""
# ruff: noqa: S608  # SQL from pieces, as in `sqlgen`

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from privet.backends import Spread, Task
from privet.backends.sqlgen import RANKED, kept_rows, passing_rows
from privet.backends.whole import NARROW, Whole, clamped, constant, minus, plus, scaled
from privet.core.claim import claim
from privet.core.expression import Expression
from privet.core.measures import Measure
from privet.errors import RefusedQueryError
from privet.sources import Raw
from privet.typing import Integers

FEW = 2**16  # possible values that the engine counts; of more it is faster to fetch the rows and sort them here
Wanted = tuple[Expression | None, int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class SpreadValues:
    """A query for the rows of all cells. Their cell and value are one number w, cell * span + value - low, or -1 where
    one of them is missing; n says how many rows have it, if the engine counts them. What may be too long for one number
    are two columns, cell and v: so it is where nobody knows yet how many cells there are."""

    sql: str
    low: int
    span: int

    def spreads(self, arrays: Mapping[str, npt.NDArray[Any]], cells: int) -> list[Spread]:
        """For every cell."""
        if "w" not in arrays:
            return _cell_by_cell(arrays["cell"], arrays["v"], cells)
        found, times = _sorted(arrays["w"], arrays.get("n"))
        ends = np.searchsorted(found, np.arange(cells + 1) * self.span).tolist()
        return [
            Spread(found[start:end] - (place * self.span - self.low), times[start:end])
            for place, (start, end) in enumerate(itertools.pairwise(ends))
        ]


def _sorted(numbers: Integers, times: Integers | None) -> tuple[Integers, Integers]:
    """Different numbers in order, and how often each is there."""
    if times is None:
        found, counts = np.unique(numbers, return_counts=True)
        return found, counts.astype(np.int64)
    order = np.argsort(numbers)
    return numbers[order], times[order]


def _cell_by_cell(cell: Integers, value: Integers, cells: int) -> list[Spread]:
    order = np.argsort(cell, kind="stable")
    value, ends = value[order], np.searchsorted(cell[order], np.arange(cells + 1)).tolist()
    return [Spread(*_sorted(value[start:end], None)) for start, end in itertools.pairwise(ends)]


def wanted(measure: Measure) -> Wanted:
    """Measures that want the same values share them."""
    return measure.value, measure.low, measure.high


def values(task: Task, raw: Raw) -> dict[Wanted, SpreadValues]:
    """The queries for all measures of a task that are chosen from values."""
    found = dict.fromkeys(wanted(measure) for measure in task.measures if measure.role in RANKED)
    return {one: _values(task, raw, *one) for one in found}


@claim("clamped-at-the-sum")
def _values(task: Task, raw: Raw, value: Expression | None, low: int, high: int) -> SpreadValues:
    assert value is not None  # noqa: S101  # what `measures_of` promises
    if max(abs(low - 1), abs(high)) >= NARROW:
        raise RefusedQueryError(
            "a quantile, MIN or MAX is asked of values that may need more than 62 bits",
            "declare a coarser step or a narrower range for the column, or round it first",
            "too-fine",
        )
    cells, span = NARROW if task.cells.private else max(task.cells.count, 1), high - low + 1
    layer, (term,) = passing_rows(task, raw, [value])
    within = f"CAST({clamped(term.whole, low, high).sql} AS BIGINT)"
    rows = f"SELECT cell, {within} AS v FROM ({kept_rows(task, raw, layer)})"
    sql = f"SELECT cell, v FROM ({rows}) WHERE cell IS NOT NULL AND v IS NOT NULL"
    if cells * span < NARROW:
        cell, place = Whole(sql="cell", low=0, high=cells - 1), Whole(sql="v", low=low, high=high)
        number = plus(scaled(cell, span), minus(place, constant(low)))
        sql = f"SELECT coalesce({number.sql}, CAST(-1 AS BIGINT)) AS w FROM ({rows})"
    if cells * span <= FEW:
        sql = f"SELECT w, count(*) AS n FROM ({sql}) GROUP BY w"
    return SpreadValues(sql=sql, low=low, span=span)

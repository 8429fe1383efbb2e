"""The rows of a vault's table that a learner is taught, as one SELECT of whole numbers, and fetched into memory."""
# ruff: noqa: S608  # SQL from pieces, as in `sqlgen`

from __future__ import annotations

import duckdb
import numpy as np

from privet.backends import Course
from privet.backends.arrays import batches
from privet.backends.held_rows import HeldRows
from privet.backends.originsql import scanned
from privet.backends.translate import SqlTerm, Translator
from privet.backends.whole import constant, minus
from privet.core.claim import claim
from privet.core.expression import columns_in
from privet.core.shape import Form
from privet.sources import Raw

UNIT = "u"


@claim("course-rows")
def statement(course: Course, raw: Raw) -> str:
    """Rows that pass and have a value in every column: whole numbers w0, w1, ..., and u, the number of their unit.
    Which number that is depends on who else is there: it names a unit, and nothing is decided by it."""
    used = set(columns_in([course.where, course.values]))
    layer = scanned(course.table, raw, [name for name in course.table.columns if name in used])
    translator = Translator(layer.columns)
    names = [f"w{place}" for place in range(len(course.values))]
    listed = [f"{_steps(translator.term(value))} AS {name}" for value, name in zip(course.values, names, strict=True)]
    condition = "" if course.where is None else f" WHERE {translator.term(course.where).sql}"
    rows = f"SELECT {', '.join([*listed, *([UNIT] if layer.unit else [])])} FROM ({layer.sql}){condition}"
    there = " AND ".join(f"{name} IS NOT NULL" for name in names)
    if layer.unit is None:
        return f"SELECT {', '.join(names)} FROM ({rows}) WHERE {there}"
    numbered = f"SELECT {UNIT}, row_number() OVER () AS code FROM (SELECT DISTINCT {UNIT} FROM base)"
    return (
        f"WITH base AS MATERIALIZED (SELECT * FROM ({rows}) WHERE {there}), units AS MATERIALIZED ({numbered})"
        f" SELECT units.code AS {UNIT}, {', '.join(f'base.{name}' for name in names)}"
        f" FROM base JOIN units ON base.{UNIT} = units.{UNIT}"
    )


def _steps(term: SqlTerm) -> str:
    """A value as a whole number from 0: of a truth 0 or 1, of all others the steps above the lowest one."""
    if term.shape.form is Form.TRUTH:
        return f"CAST({term.sql} AS BIGINT)"
    return f"TRY_CAST({minus(term.whole, constant(term.shape.low)).sql} AS BIGINT)"


def held(cursor: duckdb.DuckDBPyConnection, course: Course, raw: Raw) -> HeldRows:
    """All of these rows, before those of a unit are bounded."""
    found = list(batches(cursor, statement(course, raw)))
    names = [f"w{place}" for place in range(len(course.values))]
    matrix = np.empty((sum(len(batch[names[0]]) for batch in found), len(names)))
    start = 0
    for batch in found:
        end = start + len(batch[names[0]])
        for place, name in enumerate(names):
            matrix[start:end, place] = batch[name]
        start = end
    if course.table.unit is None:
        return HeldRows(matrix)
    codes = [batch[UNIT] for batch in found]
    return HeldRows(matrix, np.concatenate(codes) if codes else np.zeros(0, np.int64))

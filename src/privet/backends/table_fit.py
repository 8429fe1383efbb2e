"""How well a declaration fits the data, for the owner alone: what its limits and ranges keep, and what to change.

All of it is counted in the data. Nothing of it reaches an analyst.
"""
# ruff: noqa: S608  every name in a statement is quoted or generated here

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any, assert_never

import duckdb
import numpy as np

from privet.backends.reading import FLOATS, is_unit, reading
from privet.backends.spelling import quoted
from privet.catalog.declarations import LIMITS, Table
from privet.catalog.vault_file import column_line, section
from privet.core.rational import show
from privet.core.schema import EPOCH, Boolean, Category, Date, Integer, Kind, Number, Timestamp
from privet.sources import Raw
from privet.sources.number_draft import marks, percent, years
from privet.sources.relation import odd_rows
from privet.sources.unit_draft import (
    MOST_COLUMNS,
    MOST_ROWS,
    Counts,
    Limits,
    error,
    find_limits,
    placed,
    sampled,
    unit_rows,
)

Ranged = Integer | Number | Date | Timestamp
FARTHER = 2**40  # steps beyond a range that are still told apart
MOST_KEYS = 50  # of a column of whole numbers by which a question may group
NOTICED = Fraction(1, 40)  # of the values: a draft leaves out at most a hundredth at each end
PRICES = (0.1, 0.3, 1.0)  # of a first question
BETTER = 1.25  # times the error with other limits


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnFit:
    """Of one column the number of rows with a value, without one, with one that cannot be read, and, of those that can,
    how many are clamped to its lower and to its upper end. `change` is what to declare instead."""

    name: str
    values: int
    missing: int
    unreadable: int
    below: int = 0
    above: int = 0
    change: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableFit:
    """Of a table the rows, those without a unit, and the units; how many rows count in a question without groups ("")
    and in one by each column that can group; the limits, as declared. `change` says which to declare instead; `odd`,
    how many rows or lines of the file do not fit."""

    name: str
    rows: int
    unowned: int
    units: int
    limits: str
    kept: dict[str, int]
    columns: tuple[ColumnFit, ...]
    change: str = ""
    odd: str = ""

    @property
    def changes(self) -> list[str]:
        """What to declare instead, of limits and columns."""
        return [change for change in (self.change, *(one.change for one in self.columns)) if change]

    def lines(self) -> list[str]:
        """For a terminal."""
        owned = self.rows - self.unowned
        without = f"; {self.unowned:,} more belong to nobody and never count" if self.unowned else ""
        lines = ["  for the owner's eyes: these numbers are exact"]
        lines += [f"  rows: {owned:,}, of {self.units:,} units{without}"]
        lines += [f"  {self.odd}"] if self.odd else []
        counted: dict[int, list[str]] = {}
        for name, left in self.kept.items() if self.limits else ():
            counted.setdefault(left, []).append(f"by {name}" if name else "without groups")
        lines += [
            f"  with {self.limits}: {left:,} of them count in a question {', '.join(asked)}"
            for left, asked in counted.items()
        ]
        head = ("column", "values", "missing", "unreadable", "below low", "above high")
        rows = [head] + [
            (one.name, *(f"{number:,}" for number in (one.values, one.missing, one.unreadable, one.below, one.above)))
            for one in self.columns
        ]
        widths = [max(len(row[place]) for row in rows) for place in range(len(head))]
        lines += [
            "  "
            + row[0].ljust(widths[0])
            + "".join(f"  {text:>{width}}" for text, width in zip(row[1:], widths[1:], strict=True))
            for row in rows
        ]
        lines += [f"  change {change}" for change in self.changes] or ["  nothing to change"]
        if self.changes:
            lines.append(f"  make changes in vault.toml, in [tables.{self.name}], and raise the version there by one")
            lines.append("  this comes from the data, but a declaration is public: decide by what anybody may know")
        return lines


def table_fit(cursor: duckdb.DuckDBPyConnection, table: Table, raw: Raw) -> TableFit:
    """Counts everything. It reads the table several times."""
    columns = tuple(_column(cursor, table, raw, name) for name in table.columns)
    fit = partial(TableFit, name=table.name, columns=columns, odd=odd_rows(table.source.kind, raw.ragged))
    if table.unit is None:
        (rows,) = _row(cursor, f"SELECT count(*) FROM {raw.relation}")
        return fit(rows=rows, unowned=0, units=rows, limits="", kept={"": rows})
    own, type_ = raw.unit(table)
    source = f"source.{quoted(own)}"
    person = f"CASE WHEN {is_unit(type_, source)} THEN {source} END"
    rows, owned, units = _row(
        cursor,
        f"SELECT count(*), count(u), count(DISTINCT u) FROM (SELECT {person} AS u FROM {raw.relation} AS source)",
    )
    groups: dict[str | None, str] = {None: f"SELECT {person} AS u, NULL AS g FROM {raw.relation} AS source"}
    groups |= {name: _keys(table, raw, name, person) for name, kind in table.columns.items() if _groupable(kind)}
    found, part = dict[str | None, Counts](), owned // MOST_ROWS + 1
    for name, sql in list(groups.items())[: MOST_COLUMNS + 1]:
        found[name] = part * _kept(cursor, sampled(sql, part), _bounds(table, name))
    return fit(
        rows=rows,
        unowned=rows - owned,
        units=units,
        limits=_written(table),
        kept={name or "": round(left.sum()) for name, (_, left) in found.items()},
        change=_other_limit(table, found, _best_limits(cursor, groups)) if owned else "",
    )


def _row(cursor: duckdb.DuckDBPyConnection, sql: str) -> tuple[Any, ...]:
    return cursor.execute(sql).fetchall()[0]


# What counts of a unit


def _groupable(kind: Kind) -> bool:
    return isinstance(kind, Boolean | Category) or (isinstance(kind, Integer) and kind.high - kind.low < MOST_KEYS)


def _keys(table: Table, raw: Raw, name: str, person: str) -> str:
    """SQL of the unit and the key of every row, as questions read it."""
    how = reading(table.columns[name], raw.types[name], f"source.{quoted(name)}", "r")
    return f"SELECT u, {how.second} AS g FROM (SELECT {person} AS u, {how.first} AS r FROM {raw.relation} AS source)"


def _bounds(table: Table, name: str | None) -> tuple[int, int, int]:
    """How many groups of a unit count by a column, with how many rows in each and in all."""
    constant = name is None or table.columns[name].constant_per_unit
    groups, rows = 1 if constant else table.max_groups, table.max_rows_per_group
    return groups, rows, min(groups * rows, table.max_rows or groups * rows)


def _kept(cursor: duckdb.DuckDBPyConnection, rows: str, bounds: tuple[int, int, int]) -> Counts:
    """The rows of each group, and those of them that count."""
    groups, in_group, in_all = bounds
    counted = f"SELECT count(*), count(*) FILTER (place <= {in_all}) FROM ({placed(rows, groups, in_group)}) GROUP BY g"
    return np.array(cursor.execute(counted).fetchall(), dtype=np.float64).reshape(-1, 2).T


def _best_limits(cursor: duckdb.DuckDBPyConnection, groups: Mapping[str | None, str]) -> Limits:
    return find_limits(unit_rows(cursor, groups, people=True), epsilons=PRICES)


def _other_limit(table: Table, found: Mapping[str | None, Counts], best: Limits) -> str:
    """The limit with which questions would err less, if it is worth a change."""
    ratios: dict[float, float] = {}  # by price
    for asked, least in best.least.items():
        size, left = found[asked.column]
        of_counts, of_means = error(size, left, _bounds(table, asked.column)[2], asked.epsilon)
        ratio = (of_counts + asked.width * of_means) / least
        ratios[asked.epsilon] = max(ratio, ratios.get(asked.epsilon, 1.0))
    if min(ratios.values()) <= BETTER * best.ratio:  # at some price the limits are good
        return ""
    limit = "max_groups = 1, max_rows_per_group = 1" if best.max_rows == 1 else f"max_rows = {best.max_rows}"
    return (
        f"limits: write {limit} instead of {_written(table)}. Then {best.first}. With the declared limits, the error is"
        f" up to {max(ratios.values()):.2g} times what it could be"
    )


def _written(table: Table) -> str:
    lines = section(table).splitlines()
    return ", ".join(line for line in lines if line.partition(" ")[0] in LIMITS)


# What a column holds


def _column(cursor: duckdb.DuckDBPyConnection, table: Table, raw: Raw, name: str) -> ColumnFit:
    kind, type_, source = table.columns[name], raw.types[name], f"source.{quoted(name)}"
    wide = _wider(kind)
    how = reading(replace(wide, never_missing=False), type_, source, "r")
    value = f"nullif({source}, '')" if type_ == "VARCHAR" else source
    value = f"CASE WHEN NOT isnan({source}) THEN {source} END" if type_ in FLOATS else value
    read = f"SELECT {how.first} AS r, {value} IS NOT NULL AS v FROM {raw.relation} AS source"
    ends = "0, 0, NULL, NULL"
    if isinstance(kind, Ranged):
        low, high = kind.steps
        ends = f"count(*) FILTER (s < {low}), count(*) FILTER (s > {high}), min(s), max(s)"
    rows, values, unread, below, above, least, most = _row(
        cursor,
        f"SELECT count(*), count(*) FILTER (v), count(*) FILTER (v AND s IS NULL), {ends} "
        f"FROM (SELECT v, {how.second} AS s FROM ({read}))",
    )
    fit = ColumnFit(name=name, values=values, missing=rows - values, unreadable=unread, below=below, above=above)
    return replace(fit, change=_other_column(table, fit, least, most))


def _wider(kind: Kind) -> Kind:
    """A kind with a range so wide that what lies outside is still told apart."""
    match kind:
        case Integer():
            return replace(kind, low=kind.low - FARTHER, high=kind.high + FARTHER)
        case Number():
            return replace(kind, low=kind.low - FARTHER * kind.step, high=kind.high + FARTHER * kind.step)
        case Date():
            return Date(dt.date.min, dt.date.max)
        case Timestamp():
            return Timestamp(dt.datetime.min, dt.datetime.max)
        case _:
            return kind


def _other_column(table: Table, fit: ColumnFit, least: int | None, most: int | None) -> str:
    """What to declare instead, if much cannot be read or is clamped."""
    kind, said = table.columns[fit.name], list[str]()
    if fit.unreadable > NOTICED * fit.values:
        share = percent(fit.unreadable / fit.values)
        said.append(
            f"{share} of the texts are not in its list of values: add those that are possible"
            if isinstance(kind, Category)
            else f"{share} of the values cannot be read: compare its line with the one that `privet describe` drafts"
        )
    outside = fit.below + fit.above
    if isinstance(kind, Ranged) and least is not None and most is not None and outside > NOTICED * fit.values:
        line = column_line(replace(table, columns={**table.columns, fit.name: _fitting(kind, least, most)}), fit.name)
        said.append(f"{percent(outside / fit.values)} of the values are clamped. This range holds them all: {line}")
    return f"{show(fit.name)}: {'; '.join(said)}" if said else ""


def _fitting(kind: Ranged, least: int, most: int) -> Kind:
    """The same kind with a range that holds these steps, too, between marks of a coarse grid."""
    match kind:
        case Date():
            first, last = (EPOCH + dt.timedelta(days=days) for days in (least, most))
            begin, end = years(first, last)
            return replace(kind, low=min(begin.date(), kind.low), high=max(end.date(), kind.high))
        case Timestamp():
            begin, end = years(*(EPOCH + dt.timedelta(microseconds=moment) for moment in (least, most)))
            return replace(kind, low=min(begin, kind.low), high=max(end, kind.high))
        case Integer():
            low, high = _marked(kind, Fraction(1), least, most)
            return replace(kind, low=int(low), high=int(high))
        case Number():
            low, high = _marked(kind, kind.step, least, most)
            return replace(kind, low=low, high=high)
        case _:
            assert_never(kind)


def _marked(kind: Integer | Number, step: Fraction, least: int, most: int) -> tuple[Fraction, Fraction]:
    low, high = marks(float(least * step), float(most * step), whole=isinstance(kind, Integer))
    return min(low // step * step, Fraction(kind.low)), max(-(-high // step) * step, Fraction(kind.high))

"""The rows that a question is asked of, as one SELECT of canonical columns. What they are is defined by `origins`.

raw columns -> r, read halfway -> c, canonical; of tables side by side -> joined; of one unit's rows -> grouped
"""
# ruff: noqa: S608  # SQL from pieces, as in `sqlgen`

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import assert_never

from privet.backends import Task, spelling
from privet.backends.content import item
from privet.backends.origins import JOIN, check_unit_wise, declared_in, tables_of, told_by
from privet.backends.reading import is_unit, reading, same_unit, unit_text
from privet.backends.translate import SqlTerm, Translator, confined
from privet.backends.whole import NARROW, Whole, clamped, constant, minus, plus, scaled
from privet.catalog.declarations import Table
from privet.core.claim import claim
from privet.core.expression import Column, Compare, Relation, columns_in
from privet.core.narrow import narrowed
from privet.core.origin import MOST_ROWS, origin_of, shapes_of
from privet.core.plan import Function, Joined, Numbered, Origin, PerUnit, Scan
from privet.core.shape import Shape, Shapes, shape_of_kind
from privet.sources import Raw


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """A SELECT of the columns that were wanted, as c0, c1, ... in their order, and of the unit u, of this type; None
    where there is no unit."""

    sql: str
    columns: Mapping[str, SqlTerm]
    unit: str | None

    def called(self, alias: str) -> dict[str, SqlTerm]:
        """The columns, where the SELECT has a name."""
        return {name: replace(term, sql=f"{alias}.{term.sql}") for name, term in self.columns.items()}


def origin_rows(task: Task, raw: Raw, names: Sequence[str], unread: Collection[str] = ()) -> Layer:
    """The rows of a task's origin with these columns. Of a table there are also r0, r1, ..., which are read halfway;
    `unread` columns are only that."""
    origin = origin_of(task.plan)
    check_unit_wise(origin, tables_of(task))
    if isinstance(origin, Scan):
        return scanned(task.table, raw, names, unread)
    return _Layers(task, raw).rows(origin, names)


@claim("reading-is-row-wise")
def scanned(table: Table, raw: Raw, names: Sequence[str], unread: Collection[str] = ()) -> Layer:
    """The rows of a table, but for those of nobody."""
    first, second, columns = ["1 AS one"], [], {}
    for place, name in enumerate(names):
        kind = table.columns[name]
        how = reading(kind, raw.types[name], _source(name), f"r{place}")
        first.append(f"{how.first} AS r{place}")
        second += [f"r{place}", *([f"{how.second} AS c{place}"] if name not in unread else [])]
        columns[name] = SqlTerm(sql=f"c{place}", shape=shape_of_kind(kind), wide=how.wide)
    source, type_ = f"{raw.relation} AS source", None
    if table.unit is not None:
        own, type_ = raw.unit(table)
        column = _source(own)
        first.append(f"{column} AS u")
        second.append("u")
        source += f" WHERE {is_unit(type_, column)}"
    sql = f"SELECT {', '.join(second or ['one'])} FROM (SELECT {', '.join(first)} FROM {source})"
    return Layer(sql=sql, columns=columns, unit=type_)


def _source(name: str) -> str:
    """A raw column, also where it is called like one of ours."""
    return f"source.{spelling.quoted(name)}"


def row_text(columns: Iterable[str]) -> str:
    """See `content.items`."""
    return " || ".join(spelling.item(f"CAST({column} AS VARCHAR)") for column in columns) or "''"


class _Layers:
    """Origins as SELECTs, one inside the other. Each looks at one unit's rows and at public tables."""

    def __init__(self, task: Task, raw: Raw) -> None:
        self._tables, self._raws = tables_of(task), {**raw.beside, task.table.name: raw}
        self._declared, self._secret = declared_in(self._tables), task.secret

    @claim("unit-wise")
    def rows(self, origin: Origin, names: Iterable[str]) -> Layer:
        wanted = list(dict.fromkeys(names))
        match origin:
            case Scan():
                return scanned(self._tables[origin.table], self._raws[origin.table], wanted)
            case Joined():
                return self._joined(origin, wanted)
            case PerUnit():
                return self._per_unit(origin, wanted)
            case Numbered():
                return self._numbered(origin, wanted)
            case _:
                assert_never(origin)

    def _joined(self, origin: Joined, names: Sequence[str]) -> Layer:
        theirs, shapes = {here: name for name, here in origin.names}, shapes_of(origin, self._declared)
        own = [name for name in names if name not in theirs]
        left = self.rows(origin.left, [*(mine for mine, _ in origin.on), *own])
        right = self._chosen(origin, [theirs[name] for name in names if name in theirs])
        mine, yours = left.called("l"), right.called("r")
        terms = [yours[theirs[name]] if name in theirs else mine[name] for name in names]
        same = [_equal(mine[one], yours[other]) for one, other in origin.on]
        if origin.by_unit:
            assert left.unit is not None  # noqa: S101  # what `check_unit_wise` refuses
            assert right.unit is not None  # noqa: S101
            same = [same_unit((left.unit, "l.u"), (right.unit, "r.u")), *same]
        listed = [f"{term.sql} AS c{place}" for place, term in enumerate(terms)]
        listed += ["l.u AS u"] if left.unit is not None else []
        sql = (
            f"SELECT {', '.join(listed or ['1 AS one'])} FROM ({left.sql}) AS l"
            f" {'LEFT' if origin.outer else 'INNER'} JOIN ({right.sql}) AS r ON {' AND '.join(same) or 'TRUE'}"
        )
        return Layer(sql=sql, columns=_named(names, terms, shapes), unit=left.unit)

    def _chosen(self, origin: Joined, names: Sequence[str]) -> Layer:
        """The right of a join, with at most `most` rows of each unit; of a public table, for each row of the left."""
        told = told_by(origin)
        if origin.most is None:
            return self.rows(origin.right, [*(yours for _, yours in origin.on), *names])
        right = self.rows(origin.right, told)
        order, parts = "x", [right.columns[yours].sql for _, yours in origin.on]
        if origin.by_unit:
            assert right.unit is not None  # noqa: S101  # what `check_unit_wise` refuses
            head = [spelling.text(self._secret.hex()), spelling.item(unit_text(right.unit, "u"))]
            order, parts = f"{spelling.digest([*head, spelling.text(item(JOIN)), 'x'])}, x", ["u"]
        within = f"PARTITION BY {', '.join(parts)} " if parts else ""
        texts = f"SELECT *, {row_text(right.columns[name].sql for name in told)} AS x FROM ({right.sql})"
        ranked = f"SELECT *, row_number() OVER ({within}ORDER BY {order}) AS place FROM ({texts})"
        return replace(right, sql=f"SELECT * FROM ({ranked}) WHERE place <= {origin.most}")

    def _per_unit(self, origin: PerUnit, names: Sequence[str]) -> Layer:
        asked = [aggregate for aggregate in origin.aggregates if aggregate.name in names]
        used = columns_in([origin.where, origin.keys, [aggregate.value for aggregate in asked]])
        source, shapes = self.rows(origin.source, used), shapes_of(origin, self._declared)
        passing = narrowed(shapes_of(origin.source, self._declared), origin.where)
        inside = Translator({name: confined(term, passing[name]) for name, term in source.columns.items()})
        keys = [inside.term(key.value) for key in origin.keys]
        values = [None if one.value is None else inside.term(one.value) for one in asked]
        by = ["u", *(f"k{place}" for place in range(len(keys)))]
        rows = ["u", *(f"{term.sql} AS {name}" for term, name in zip(keys, by[1:], strict=True))]
        rows += [f"{term.sql} AS v{place}" for place, term in enumerate(values) if term is not None]
        where = "" if origin.where is None else f" WHERE {Translator(source.columns).term(origin.where).sql}"
        sums = _Sums()
        named = zip(origin.keys, keys, by[1:], strict=True)
        made = {key.name: replace(term, sql=name) for key, term, name in named}
        for place, (one, term) in enumerate(zip(asked, values, strict=True)):
            value = None if term is None else replace(term, sql=f"v{place}")
            made[one.name] = sums.made(one.function, value, shapes[one.name])
        sums_of = "".join(f", {sql} AS {name}" for sql, name in sums.found.items())
        groups = f"SELECT {', '.join(by)}{sums_of} FROM (SELECT {', '.join(rows)} FROM ({source.sql}){where})"
        terms = [made[name] for name in names]
        listed = ["u", *(f"{term.sql} AS c{place}" for place, term in enumerate(terms))]
        sql = f"SELECT {', '.join(listed)} FROM ({groups} GROUP BY {', '.join(by)})"
        return Layer(sql=sql, columns=_named(names, terms, shapes), unit=source.unit)

    @claim("numbered-rows")
    def _numbered(self, origin: Numbered, names: Sequence[str]) -> Layer:
        """Rows of one text are the same rows: which of them has which number makes no difference."""
        used = columns_in([origin.where, origin.keys, [one.value for one in origin.by]])
        source, shapes = self.rows(origin.source, [*origin.columns, *used]), shapes_of(origin, self._declared)
        passing = narrowed(shapes_of(origin.source, self._declared), origin.where)
        inside = Translator({name: confined(term, passing[name]) for name, term in source.columns.items()})
        columns = {name: inside.term(Column(name)) for name in origin.columns}
        where = "" if origin.where is None else f" WHERE {Translator(source.columns).term(origin.where).sql}"
        parts = ["u", *(inside.term(key).sql for key in origin.keys)]
        order = [f"{inside.term(one.value).sql} {'DESC' if one.descending else 'ASC'} NULLS LAST" for one in origin.by]
        listed = ["u", *(f"{term.sql} AS n{place}" for place, term in enumerate(columns.values()))]
        text = row_text(source.columns[name].sql for name in origin.columns)
        order.append(f"{text} DESC" if origin.by and origin.by[-1].descending else text)
        window = f"PARTITION BY {', '.join(parts)} ORDER BY {', '.join(order)}"
        rows = f"SELECT {', '.join(listed)}, row_number() OVER ({window}) AS number FROM ({source.sql}){where}"
        made = {name: replace(term, sql=f"n{place}") for place, (name, term) in enumerate(columns.items())}
        made[origin.name] = SqlTerm(sql="number", shape=shapes[origin.name])
        terms = [made[name] for name in names]
        listed = ["u", *(f"{term.sql} AS c{place}" for place, term in enumerate(terms))]
        kept = f"number BETWEEN {origin.first} AND {origin.last or MOST_ROWS}"
        sql = f"SELECT {', '.join(listed)} FROM ({rows}) WHERE {kept}"
        return Layer(sql=sql, columns=_named(names, terms, shapes), unit=source.unit)


def _named(names: Sequence[str], terms: Sequence[SqlTerm], shapes: Shapes) -> dict[str, SqlTerm]:
    """The columns of a layer that gives these terms."""
    return {
        name: SqlTerm(sql=f"c{place}", shape=shapes[name], wide=term.wide)
        for place, (name, term) in enumerate(zip(names, terms, strict=True))
    }


def _equal(left: SqlTerm, right: SqlTerm) -> str:
    """Whether two columns have the same value, on whatever grids they lie."""
    same = Compare(Relation.EQUAL, Column("left"), Column("right"))
    return Translator({"left": left, "right": right}).term(same).sql


class _Sums:
    """What the engine adds up of a unit's rows, each once; the results are a0, a1, ..."""

    def __init__(self) -> None:
        self.found: dict[str, str] = {}

    def made(self, function: Function, value: SqlTerm | None, shape: Shape) -> SqlTerm:
        """The result of an aggregate, clamped to its shape: see `origins.made_of`."""
        if value is None:
            sql = "min(1)" if function is Function.COUNT_DISTINCT else "count(*)"
            return _within(Whole(sql=self._place(sql), low=0, high=MOST_ROWS), shape)
        if function in (Function.COUNT, Function.COUNT_DISTINCT):
            different = "DISTINCT " if function is Function.COUNT_DISTINCT else ""
            return _within(Whole(sql=self._place(f"count({different}{value.sql})"), low=0, high=MOST_ROWS), shape)
        if function in (Function.MIN, Function.MAX) or value.nothing:
            extreme = "max" if function is Function.MAX else "min"
            return SqlTerm(sql=self._place(f"{extreme}({value.sql})"), shape=shape, wide=value.wide)
        if function is Function.AVG:
            return self._average(value, shape)
        total = Whole(sql=self._place(f"sum({value.sql})"), low=shape.low, high=shape.high, wide=True)
        return _within(total, shape)

    def _average(self, value: SqlTerm, shape: Shape) -> SqlTerm:
        """(2 * sum + n) // (2 * n), of steps above the lowest value: so nothing is below 0."""
        above = minus(value.whole, constant(shape.low))
        total = Whole(sql=self._place(f"sum({above.sql})"), low=0, high=above.high * MOST_ROWS, wide=True)
        number = Whole(sql=f"nullif({self._place(f'count({value.sql})')}, 0)", low=1, high=MOST_ROWS)
        top, bottom = plus(scaled(total, 2), number), scaled(number, 2)
        sql = f"({top.typed(True)} // {bottom.typed(True)})"
        return _within(plus(Whole(sql=sql, low=0, high=above.high, wide=True), constant(shape.low)), shape)

    def _place(self, sql: str) -> str:
        return self.found.setdefault(sql, f"a{len(self.found)}")


def _within(whole: Whole, shape: Shape) -> SqlTerm:
    """Clamped, and as short as its shape allows."""
    inside = clamped(whole, shape.low, shape.high)
    if inside.wide and max(abs(shape.low), abs(shape.high)) < NARROW:
        return SqlTerm(sql=f"CAST({inside.sql} AS BIGINT)", shape=shape)
    return SqlTerm(sql=inside.sql, shape=shape, wide=inside.wide)

"""Data frames that the owner hands in: pandas, polars, Arrow, or a dictionary of lists. They are copied once.

Their libraries are not needed by Privet; whoever hands in a frame has loaded its library already.
"""
# ruff: noqa: S608  every name in a statement is quoted or generated here

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from typing import Any

import duckdb
import numpy as np

from privet.catalog.declarations import Table
from privet.core.rational import show
from privet.core.schema import Kind
from privet.errors import InvalidInputError
from privet.sources.relation import (
    NOTHING,
    Given,
    Raw,
    check_recorded,
    described,
    extra,
    positions,
    projection,
    recorded,
    relation_name,
    spelled,
    wanted,
)  # fmt: skip
from privet.sources.rows import PLAIN, as_text, plain

FRAME = "privet_frame"
Pick = tuple[int, str, Kind | None]  # where a column stands, its name and its declared kind


def load(connection: duckdb.DuckDBPyConnection, table: Table, memory: Mapping[str, object]) -> Raw:
    """A copy of the declared columns: later changes of the frame do not reach the vault."""
    frame, picks = _frame(table, memory)
    return _copy(connection, table, frame, picks, "CREATE OR REPLACE TABLE {} AS")


def append(connection: duckdb.DuckDBPyConnection, table: Table, frame: object) -> None:
    """More rows of a frame that was loaded."""
    frame, picks = _frame(table, {table.name: frame})
    _copy(connection, table, frame, picks, "INSERT INTO {}")


def _copy(
    connection: duckdb.DuckDBPyConnection, table: Table, frame: object, picks: Sequence[Pick], statement: str
) -> Raw:
    types = _types(connection, frame, picks)
    check_recorded(table, {pick[1]: type_ for pick, type_ in zip(picks, types, strict=True)})
    given = [
        Given(sql=f"c{number}", type=type_, spelled=_mixed(frame, pick[0]))
        for number, (pick, type_) in enumerate(zip(picks, types, strict=True))
    ]
    select, read_as = projection(table, given)
    relation = relation_name(table)
    connection.register(FRAME, _picked(frame, picks))
    try:
        connection.execute(f"{statement.format(relation)} SELECT {select} FROM {FRAME}")
    finally:
        connection.unregister(FRAME)
    return Raw(relation=relation, types=read_as)


def types_of(connection: duckdb.DuckDBPyConnection, table: Table, memory: Mapping[str, object]) -> dict[str, str]:
    """The types to record; none of a dictionary, which has texts only."""
    frame, picks = _frame(table, memory)
    types = _types(connection, frame, picks)
    projection(table, [Given(sql="c", type=type_) for type_ in types])
    if _library(frame) == "dict":
        return {}
    found = {pick[1]: recorded(type_) for pick, type_ in zip(picks, types, strict=True)}
    check_recorded(table, found)
    return {name: word for name, word in found.items() if word != NOTHING}


def _frame(table: Table, memory: Mapping[str, object]) -> tuple[object, list[Pick]]:
    if table.name not in memory:
        raise InvalidInputError(
            "the data are not in memory", "attach the data frame again: vault.attach(NAME, frame)", "not-attached"
        )
    frame, columns = memory[table.name], wanted(table)
    places = positions(table, _names(frame), "check the name")
    return frame, [(place, column.source, column.kind) for place, column in zip(places, columns, strict=True)]


def _types(connection: duckdb.DuckDBPyConnection, frame: object, picks: Sequence[Pick]) -> list[str]:
    return [
        "VARCHAR" if _mixed(frame, pick[0]) else _type(connection, pick[1], _picked(frame, [pick])) for pick in picks
    ]


def _mixed(frame: Any, place: int) -> bool:
    """Does this column hold Python values, which become texts? Categories do, too: a missing one would turn a column of
    whole numbers into floats."""
    library = _library(frame)
    if library == "pandas":
        return frame.dtypes.iloc[place].name in ("object", "category")
    return library == "dict"


def schema(connection: duckdb.DuckDBPyConnection, frame: object) -> list[tuple[str, str]]:
    """Names and engine types of all columns."""
    names = _names(frame)
    return [(name, _type(connection, name, _picked(frame, [(at, name, None)]))) for at, name in enumerate(names)]


def _library(frame: object) -> str:
    """Which library a frame comes from; "" for what is no frame."""
    if isinstance(frame, dict):
        return "dict"
    name = type(frame).__module__.partition(".")[0]
    known = {"pandas": {"DataFrame"}, "polars": {"DataFrame", "LazyFrame"}, "pyarrow": {"Table", "RecordBatch"}}
    return name if type(frame).__name__ in known.get(name, ()) else ""


def _names(frame: Any) -> list[str]:
    match _library(frame):
        case "dict":
            return [str(name) for name in frame]
        case "pandas":
            return [str(name) for name in frame.columns]
        case "polars":
            return list(frame.collect_schema().names())
        case "pyarrow":
            return list(frame.schema.names)
        case _:
            raise InvalidInputError(
                f"{type(frame).__name__} is not a data frame that Privet knows",
                "give a pandas, polars or Arrow table, a dictionary of lists, or the path of a file",
                "not-a-table",
            )


def _picked(frame: Any, picks: Sequence[Pick]) -> Any:
    """These columns, named c0, c1, ..., as something that the engine can scan."""
    new = [f"c{number}" for number in range(len(picks))]
    match _library(frame):
        case "dict":
            values = list(frame.values())
            texts = [_texts(values[place], name, kind) for place, name, kind in picks]
            return dict(zip(new, texts, strict=True))
        case "pandas":
            columns = [(frame.iloc[:, place], place, name, kind) for place, name, kind in picks]
            series = [
                _texts(one.astype(object), name, kind) if _mixed(frame, place) else one.reset_index(drop=True)
                for one, place, name, kind in columns
            ]  # the index goes: it would align the columns
            return import_module("pandas").DataFrame(dict(zip(new, series, strict=True)))
        case "polars":
            extra("pyarrow", "a polars frame")
            names = frame.collect_schema().names()
            old = [names[place] for place, _, _ in picks]
            return frame.lazy().select(old).rename(dict(zip(old, new, strict=True))).collect()
        case _:
            return import_module("pyarrow").table([frame.column(place) for place, _, _ in picks], names=new)


def _texts(values: Iterable[object], name: str, kind: Kind | None) -> Any:
    own = [plain(value) for value in values]
    strange = {type(value).__name__ for value in own if not isinstance(value, PLAIN)}
    if strange:
        raise InvalidInputError(
            f"column {show(name)} holds Python values of type {min(strange)}, which have no plain text",
            "convert them to numbers, texts, dates or times, or to None",
            "unsupported-type",
        )
    texts = (as_text(value, kind) for value in own)
    return np.array([text and spelled(text, unit=kind is None) for text in texts], dtype=object)


def _type(connection: duckdb.DuckDBPyConnection, name: str, column: Any) -> str:
    """The engine's type of a frame with one column."""
    try:
        connection.register(FRAME, column)
        return described(connection, f"FROM {FRAME}")[0][1]
    except duckdb.Error:
        raise InvalidInputError(
            f"column {show(name)} has a type that cannot be read",
            "convert it to numbers, texts, dates or times",
            "unsupported-type",
        ) from None
    finally:
        connection.unregister(FRAME)

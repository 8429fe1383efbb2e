"""Records that somebody holds: columns of codes with the texts they stand for. What is linked, anonymized or attacked.

    data = read("patients.csv")
    age = data["age"]                   # age.texts[age.codes[7]] is the age of the eighth record
    write(data, "copy.csv")

Everything is text, as the file has it; what a text means, a number or a date, is for those who use it to say. A value
that is missing (an empty field) has the code of the text None. Records keep the order of their file.
"""
# ruff: noqa: S608  every name in a statement is quoted or generated here

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt

from privet.catalog.declarations import Source, Table
from privet.catalog.file_kinds import kind_of
from privet.core.rational import show
from privet.errors import InvalidInputError
from privet.output import new_output
from privet.output import spreadsheet_safe as inert
from privet.records.plain_csv import Encoded, encoded
from privet.sources import attach, frames
from privet.sources.describing import first_kinds, reading
from privet.sources.relation import Raw, positions, quoted
from privet.sources.relation import text as literal
from privet.sources.sniff import check_there, guess, schema
from privet.spelling import did_you_mean

NAME = "records"
ROWS = 2**17  # records that are written at a time
COMBINATIONS = 2**14  # of values of columns side by side that are written as one
LISTED = 2**12  # texts of a column that are part of a statement
Codes = npt.NDArray[np.uint8] | npt.NDArray[np.uint16] | npt.NDArray[np.uint32]


@dataclass(frozen=True, slots=True, eq=False)
class RecordColumn:
    """One column: a code for each record, and the text of each code, in the order of texts, None last."""

    name: str
    codes: Codes
    texts: tuple[str | None, ...]

    def listed(self) -> npt.NDArray[np.object_]:
        """The text of each record."""
        return np.array(self.texts, dtype=object)[self.codes]


@dataclass(frozen=True, slots=True, eq=False)
class Microdata:
    """Columns of the same length, by name, in the order of the file. `left_out`: names of columns that could not be
    read, because of their name, their type, or another of the same name."""

    columns: Mapping[str, RecordColumn]
    rows: int
    left_out: tuple[str, ...] = ()

    def __len__(self) -> int:
        return self.rows

    def __iter__(self) -> Iterator[RecordColumn]:
        return iter(self.columns.values())

    def __getitem__(self, name: str) -> RecordColumn:
        if name not in self.columns:
            raise InvalidInputError(
                f"there is no column {show(name)}",
                f"{did_you_mean(name, self.columns)}use one of {', '.join(map(show, self.columns))}",
                "unknown-column",
            )
        return self.columns[name]

    def only(self, names: Sequence[str]) -> Microdata:
        return Microdata({name: self[name] for name in names}, self.rows)


def column(name: str, texts: Sequence[str | None] | npt.NDArray[Any]) -> RecordColumn:
    """A column from the text of each record; None is missing."""
    values = np.asarray(texts, dtype=object)
    missing = np.fromiter((value is None for value in values), dtype=np.bool_, count=len(values))
    distinct, inverse = np.unique(values[~missing].astype(str), return_inverse=True)
    codes = np.full(len(values), len(distinct), dtype=np.uint32)
    codes[~missing] = inverse
    found: tuple[str | None, ...] = (*(str(text) for text in distinct), *((None,) if missing.any() else ()))
    return RecordColumn(name, narrow(codes, len(found)), found)


def narrow(codes: npt.NDArray[Any], size: int) -> Codes:
    """The same codes, in the smallest type that holds `size` of them."""
    return codes.astype(np.min_scalar_type(max(0, size - 1)), copy=False)


def read(data: object, *, columns: Sequence[str] | None = None, **options: Any) -> Microdata:
    """Records of a CSV, Excel, Parquet or DuckDB file, or of a data frame. Of a file's options, such as delimiter,
    encoding, sheet, table or missing, those not given are guessed. With `columns` only these are read.

    A text file is refused if a record has more or fewer fields than the header, or a quote is never closed: values
    would be in columns in which nobody looks for them, and be shipped there as they are.
    """
    if isinstance(data, Microdata):
        return data if columns is None else data.only(columns)
    with reading() as connection:
        connection.execute("SET preserve_insertion_order = true")
        return _read(connection, data, columns, options)


def _read(
    connection: duckdb.DuckDBPyConnection, data: object, columns: Sequence[str] | None, options: dict[str, Any]
) -> Microdata:
    if isinstance(data, str | os.PathLike):
        path = Path(os.path.abspath(data))  # noqa: PTH100  resolve() would follow links
        check_there(path, os.fspath(data))
        if (quick := _read_plain(connection, path, columns, options)) is not None:
            return quick
        source, memory = guess(path, options), dict[str, object]()
        found = schema(connection, source, path)
    else:
        path, source, memory = Path(), Source(kind="memory"), {NAME: data}
        found = frames.schema(connection, data)
    table, left_out = _table(source, found, columns)
    raw = attach(connection, table, path.parent, memory)
    _check_whole(raw, path.name)
    found_columns = {name: _encoded(connection, raw.relation, name) for name in table.columns}
    return Microdata(found_columns, len(next(iter(found_columns.values())).codes), left_out)


def _check_whole(raw: Raw, name: str) -> None:
    """Every field is in its column."""
    if raw.unclosed:
        raise InvalidInputError(
            f"{name} ends inside a quoted field", "close the quote: it swallows every record after it", "unclosed-quote"
        )
    if raw.ragged:
        many = "1 record has" if raw.ragged == 1 else f"{raw.ragged:,} records have"
        raise InvalidInputError(
            f"in {name} {many} more or fewer fields than the header",
            "give the delimiter, or correct them: a text with a delimiter or a line break in it must be in quotes",
            "wrong-length",
        )


def _table(
    source: Source, found: Sequence[tuple[str, str]], columns: Sequence[str] | None
) -> tuple[Table, tuple[str, ...]]:
    """What is to be read, and what is there and cannot be."""
    kinds, left_out = first_kinds(list(found))
    names = list(kinds) if columns is None else list(columns)
    for name in names:
        if name not in kinds:
            if name in left_out:
                raise InvalidInputError(f"column {show(name)} {left_out[name]}", "name another column", "not-supported")
            raise InvalidInputError(
                f"column {show(name)} is not there",
                f"{did_you_mean(name, kinds)}use one of {', '.join(map(show, kinds))}, or check the file's delimiter",
                "unknown-column",
            )
    if not names:
        raise InvalidInputError("there is no column to read", "check the header, delimiter and encoding", "empty")
    lost = tuple(name for name, _ in found if name not in kinds) if columns is None else ()
    return Table(name=NAME, source=source, unit=None, columns={name: kinds[name] for name in names}), lost


def _read_plain(
    connection: duckdb.DuckDBPyConnection, path: Path, columns: Sequence[str] | None, options: dict[str, Any]
) -> Microdata | None:
    """A CSV file without quotes; None for any other, and where anything is wrong, which is then said elsewhere."""
    if not path.is_file() or kind_of(path) != "csv" or options.get("kind", "csv") != "csv":
        return None
    try:
        source = guess(path, {"encoding": "utf-8"} | options)
        found = schema(connection, source, path)
        table, left_out = _table(source, found, columns)
        places = positions(table, [name for name, _ in found], "")
        read_columns = encoded(path, source, len(found), places)
    except (InvalidInputError, LookupError):
        return None
    if read_columns is None:
        return None
    made = [_decoded(name, one, source.missing) for name, one in zip(table.columns, read_columns, strict=True)]
    return Microdata({one.name: one for one in made}, len(made[0].codes), left_out)


def _decoded(name: str, found: Encoded, missing: Sequence[str]) -> RecordColumn:
    """Texts for bytes. Spaces around them do not count."""
    plain = [text.decode().strip(" ") for text in found.texts]
    texts = [None if not text or text in missing else text for text in plain]
    ordered: list[str | None] = [*sorted({text for text in texts if text is not None}), *({None} & set(texts))]
    place = {text: number for number, text in enumerate(ordered)}
    lookup = narrow(np.array([place[text] for text in texts], dtype=np.uint32), len(ordered))
    codes = lookup[found.codes]
    if None in place and not (codes == place[None]).any():  # only in lines that had no text at all
        ordered.pop()
        codes = narrow(codes, len(ordered))
    return RecordColumn(name, codes, tuple(ordered))


def _encoded(connection: duckdb.DuckDBPyConnection, relation: str, name: str) -> RecordColumn:
    """The codes of one column, by an ENUM of its texts."""
    value = f"CAST({quoted(name)} AS VARCHAR)"
    connection.execute("DROP TYPE IF EXISTS privet_texts")
    connection.execute(
        f"CREATE TYPE privet_texts AS ENUM (SELECT DISTINCT {value} FROM {relation}"
        f" WHERE {quoted(name)} IS NOT NULL ORDER BY 1)"
    )
    found = connection.execute("SELECT unnest(enum_range(NULL::privet_texts))").fetchnumpy()
    texts: list[str | None] = [str(text) for text in next(iter(found.values()))]
    codes = connection.execute(
        f"SELECT coalesce(enum_code(CAST({value} AS privet_texts)), {len(texts)})::UINTEGER AS c FROM {relation}"
    ).fetchnumpy()["c"]
    if (codes == len(texts)).any():
        texts.append(None)
    return RecordColumn(name, narrow(np.asarray(codes), len(texts)), tuple(texts))


def write(
    data: Microdata, path: str | os.PathLike[str], *, delimiter: str = ",", spreadsheet_safe: bool = False
) -> None:
    """A CSV or Parquet file, by the ending of its name. A missing value is an empty field. With `spreadsheet_safe` a
    CSV has an apostrophe before each text that a spreadsheet would take for a formula; numbers stay as they are.

    It gets its name when all is written: nobody takes a part of the records for all of them. A file that exists is
    not replaced: it may be the data themselves, or what somebody else made.
    """
    place = Path(path)
    if place.suffix.lower() not in (".csv", ".parquet"):
        raise InvalidInputError(
            f"{place.name} is neither CSV nor Parquet", "give a name that ends in .csv or .parquet", "wrong-ending"
        )
    try:
        with new_output(place) as new:
            if place.suffix.lower() == ".csv":
                _write_csv(_inert(data) if spreadsheet_safe else data, new, delimiter)
            else:
                _write_parquet(data, new)
    except (duckdb.IOException, OSError):
        raise InvalidInputError(
            f"{place} cannot be written", "name a file in a folder that you may write to", "cannot-write"
        ) from None


def _inert(data: Microdata) -> Microdata:
    """The same records, with no formula in them."""
    columns = {
        name: RecordColumn(inert(name), one.codes, tuple(None if text is None else inert(text) for text in one.texts))
        for name, one in data.columns.items()  # by their old names, which are all different
    }
    return Microdata(columns, data.rows)


def _write_csv(data: Microdata, path: Path, delimiter: str) -> None:
    """Columns side by side are put together where they have few combinations, whose text is then made once."""
    names = [one.name for one in data]
    groups = list(_groups(list(data)))
    with path.open("wb") as file:
        file.write(_line([_field(name, delimiter) for name in names], delimiter) + b"\n")
        parts = []
        for number, group in enumerate(groups):
            end = "\n" if number == len(groups) - 1 else delimiter
            fields = [[_field(text, delimiter, alone=len(names) == 1) for text in one.texts] for one in group]
            texts = [_line(row, delimiter) + end.encode() for row in product(*fields)]
            parts.append(np.array([*texts, None], dtype=object)[:-1])
        for start in range(0, len(data), ROWS):
            rows = slice(start, start + ROWS)
            found = [part[_together(group, rows)] for part, group in zip(parts, groups, strict=True)]
            file.write(b"".join(np.column_stack(found).ravel().tolist()))


def _groups(columns: Sequence[RecordColumn]) -> Iterator[list[RecordColumn]]:
    """Columns in their order, put together as long as there are few combinations."""
    group: list[RecordColumn] = []
    for one in columns:
        if group and prod(len(each.texts) for each in [*group, one]) > COMBINATIONS:
            yield group
            group = []
        group.append(one)
    yield group


def _together(group: Sequence[RecordColumn], rows: slice) -> npt.NDArray[np.intp]:
    """For each of these records the number of its combination, the last column being the fastest."""
    found = np.zeros(len(group[0].codes[rows]), dtype=np.intp)
    for one in group:
        found *= len(one.texts)
        found += one.codes[rows]
    return found


def _field(text: str | None, delimiter: str, *, alone: bool = False) -> str:
    """As CSV has it: in quotes where it must be. A line with a single missing value would be no line without them."""
    if text is None:
        return '""' if alone else ""
    if not text or set(text) & {delimiter, '"', "\n", "\r"}:
        return '"' + text.replace('"', '""') + '"'
    return text


def _line(fields: Sequence[str], delimiter: str) -> bytes:
    return delimiter.join(fields).encode("utf-8", "backslashreplace")


def _write_parquet(data: Microdata, path: Path) -> None:
    with duckdb.connect(":memory:") as connection:
        connection.execute("SET preserve_insertion_order = true")
        few = {one.name: len(one.texts) <= LISTED for one in data}
        held = {f"c{place}": one.codes if few[one.name] else one.listed() for place, one in enumerate(data)}
        connection.register("records", held)
        select = ", ".join(
            f"{_looked_up(f'c{place}', one) if few[one.name] else f'CAST(c{place} AS VARCHAR)'} AS {quoted(one.name)}"
            for place, one in enumerate(data)
        )
        connection.execute(f"COPY (SELECT {select} FROM records) TO {literal(str(path))} (FORMAT parquet)")


def _looked_up(code: str, column: RecordColumn) -> str:
    """The text of a code, in SQL."""
    texts = ", ".join("NULL" if text is None else literal(text) for text in column.texts)
    return f"CAST([{texts}] AS VARCHAR[])[CAST({code} AS INTEGER) + 1]"

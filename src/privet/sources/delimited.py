"""CSV and its relatives: every field is a text, and every file can be read.

The engine's own reader is faster than `records` but has its own mind about quotes. It is used where a file leaves it
no choice, so that nobody's row decides how the rows of others are read. One thing no reader can help: a quote that is
never closed takes in all that follows. `DuckDb.check` refuses a file that ends inside one.
"""

from __future__ import annotations

import codecs
import io
import re
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TextIO

import duckdb

from privet.catalog.declarations import Source, Table
from privet.catalog.file_kinds import find
from privet.core.rational import show
from privet.errors import InvalidInputError
from privet.sources.limits import open_bytes
from privet.sources.relation import Given, Raw, positions, projection, relation_name, spelled, text, unreadable
from privet.sources.rows import create, insert

# The records of a CSV file, one at a time. A record ends where its quotes say, however long it is.
#
# Python's csv module defines what a record means, and the tests compare. It is not used for reading: in a field beyond
# its limit, which the whole process shares, it stops, and would read the rest of that field as rows of other people.

LONGEST = 1 << 24  # characters of a record; a longer one is read to its end and is not a row
QUOTED = '"(?:[^"]++|"")*+'  # a quoted field without its last quote


class Records:
    """All rows with any text. Spaces at the ends of fields do not count and may be there or not.

    `lines` is the number of lines read so far; `unclosed` says, at the end, that the file ends inside a quoted field,
    of a record that begins in line `begun`.
    """

    def __init__(self, file: TextIO, delimiter: str) -> None:
        self.lines = self.begun = 0
        self.unclosed = False
        self._file, self._delimiter = file, delimiter
        mark, spaces = re.escape(delimiter), "" if delimiter == " " else " *+"
        inside = f"[^{mark}\r\n]*+"
        field = f'(?:{spaces}{QUOTED}"{inside}|{spaces}(?!"){inside})'
        self._end = re.compile(
            rf'(?:{field}{mark})*+(?:({spaces}{QUOTED}"\Z)|({spaces}{QUOTED}\Z)|({spaces}\Z)|({field}\Z)|)'
        )
        # For each way to end inside a record the shortest text that ends the same way.
        self._ends = (None, '""', '"', "", "y" if delimiter == "x" else "x")
        self._field = re.compile(rf'(?:\A|{mark})(?:{spaces}(")((?:[^"]++|"")*+)"?)?+({inside})')
        self._rows = self._read()

    def __iter__(self) -> Iterator[list[str]]:
        """Always the same iterator: a file is read once."""
        return self._rows

    def _read(self) -> Iterator[list[str]]:
        delimiter, nothing = self._delimiter, self._delimiter + " \r\n"
        while line := self._line():
            if '"' in line or line[-1] not in "\r\n":
                yield from self._record(line)
            elif line.strip(nothing):  # most lines; `_record` gives the same, but takes longer
                yield line.rstrip("\r\n").split(delimiter)

    def _line(self) -> str:
        """The next line, or a piece of it; nothing at the end."""
        self.lines += 1
        return self._file.readline(LONGEST)

    def _record(self, line: str) -> Iterator[list[str]]:
        """The record that begins with this line or piece of a line, unless it is too long or without text."""
        kept, size, self.begun = [line], len(line), self.lines
        goes_on = self._after("", line)
        while goes_on is not None and (line := self._line()):
            size += len(line)
            kept.append(line)
            if size > LONGEST:
                kept.clear()
            goes_on = self._after(goes_on, line)
        self.unclosed = goes_on == '"'
        fields = self._fields("".join(kept))
        if any(field.strip(" ") for field in fields):
            yield fields

    def _after(self, before: str, piece: str) -> str | None:
        """How a record goes on after a further line, or piece of a line; None if it ends there."""
        if '"' not in piece:
            if before == '"':
                return before
            if piece[-1] in "\r\n":
                return None
        found = self._end.match(before + piece)
        return self._ends[(found and found.lastindex) or 0]

    def _fields(self, text: str) -> list[str]:
        if '"' not in text:
            return text.rstrip("\r\n").split(self._delimiter)
        return [
            inside.replace('""', '"') + behind if quote else behind
            for quote, inside, behind in self._field.findall(text)
        ]


LONGEST_FAST = 131_072  # bytes of a row in the fast reader; far below the other's limit, so that never decides
BLOCK = 1 << 20
HINT = "check the name, and the source's delimiter, encoding and skip"
WITH_HALVES = ("utf-7", "unicode_escape", "raw-unicode-escape", "unicode-escape", "raw_unicode_escape")


def load(connection: duckdb.DuckDBPyConnection, table: Table, path: Path) -> Raw:
    """Copy the declared columns of a file, or of one after the other, into a table of texts."""
    made, unclosed, ragged = create(connection, table), 0, 0
    for file in files_at(path):
        rows_of_other_lengths, begun = _load(connection, table, file)
        unclosed, ragged = unclosed or begun, ragged + rows_of_other_lengths
    return replace(made, unclosed=unclosed, ragged=ragged)


def _load(connection: duckdb.DuckDBPyConnection, table: Table, path: Path) -> tuple[int, int]:
    """How many rows do not fit the header, and the line of the record in which the file ends inside a quoted field."""
    with open_text(path, table.source.encoding) as file:
        rows = open_records(file, table.source)
        names = header(rows, table.source)
        places = _places(table, names, path)
        if rows.lines <= 1 and _load_fast(connection, table, path, len(names), places):
            return 0, 0
        ragged = [0]
        insert(connection, table, places, _measured(rows, len(names), ragged))
        return ragged[0], table.source.skip + rows.begun if rows.unclosed else 0


def check_header(table: Table, path: Path) -> None:
    """Raise InvalidInputError unless all files can be opened and their headers have the wanted columns."""
    for each in files_at(path):
        with open_text(each, table.source.encoding) as file:
            _places(table, header(open_records(file, table.source), table.source), each)


def files_at(path: Path) -> tuple[Path, ...]:
    """The file, or those in a folder or of a pattern; what is not there cannot be opened, and then says so."""
    return find(path, "csv") or (path,)


def _places(table: Table, names: Sequence[str], path: Path) -> list[int]:
    """Where the wanted columns stand: in each file of a folder at places of its own."""
    hint = HINT if path.name == Path(table.source.path or "").name else f"{HINT}; this is about {show(path.name)}"
    return positions(table, names, hint)


def _measured(rows: Records, width: int, ragged: list[int]) -> Iterator[list[str]]:
    """The same rows; those that do not fit the header are counted. Empty fields behind its last column do no harm."""
    for row in rows:
        if len(row) != width and (len(row) < width or any(field.strip(" ") for field in row[width:])):
            ragged[0] += 1
        yield row


@contextmanager
def open_text(path: Path, encoding: str, errors: str = "privet.bytes") -> Iterator[TextIO]:
    """The file's text, unpacked if it is gzip. Bytes that the encoding does not know become U+DC00 and more, which no
    text has; `spelled` writes them so that different ids stay different."""
    codec = "utf-8-sig" if codecs.lookup(encoding).name == "utf-8" else encoding
    if codecs.lookup(encoding).name in WITH_HALVES:
        raise InvalidInputError(
            f"the encoding {encoding} can write halves of characters, so different ids could look the same",
            "convert the file to UTF-8",
            "unsupported-format",
        )
    try:
        with open_bytes(path) as opened, io.TextIOWrapper(opened, encoding=codec, errors=errors, newline="") as file:
            yield file
    except zlib.error:
        raise unreadable() from None


def _as_halves(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)  # noqa: S101  # nothing is written with it
    return "".join(chr(0xDC00 + byte) for byte in error.object[error.start : error.end]), error.end


codecs.register_error("privet.bytes", _as_halves)


def open_records(file: TextIO, source: Source) -> Records:
    """The records behind the lines to skip."""
    for _ in range(source.skip):
        while (piece := file.readline(BLOCK)) and piece[-1] not in "\r\n":
            pass
    return Records(file, source.delimiter)


def header(rows: Records, source: Source) -> tuple[str, ...]:
    """The names of all columns. Spaces around them do not count."""
    return source.names or tuple(spelled(name.strip(), unit=False) for name in next(iter(rows), []))


def _load_fast(
    connection: duckdb.DuckDBPyConnection, table: Table, path: Path, width: int, places: Sequence[int]
) -> bool:
    """By the engine's reader. False, and nothing is read, where it does not accept the file or might read it
    differently.

    On several threads it guesses where a row starts, and a text with line breaks could make it guess wrong. So one
    thread reads and several count. It also skips lines in another way: a quote there would count.
    """
    source = table.source
    encoding = codecs.lookup(source.encoding).name
    if source.delimiter == " " or encoding not in ("utf-8", "utf-8-sig") or set("*?[") & set(str(path)):
        return False
    if source.skip or not _well_quoted(path, source.delimiter.encode()):
        return False
    columns = [f"c{number}" for number in range(width)]
    given = [Given(sql=columns[place], type="VARCHAR", trimmed=True) for place in places]
    select, _ = projection(table, given)
    declared = ", ".join(f"{column}: 'VARCHAR'" for column in columns)
    options = (
        f"columns = {{{declared}}}, auto_detect = false, strict_mode = true, null_padding = false, "
        f"header = {not source.names}, delim = {text(source.delimiter)}, quote = '\"', "
        f"escape = '\"', nullstr = '', max_line_size = {LONGEST_FAST}, "
        f"compression = {text('gzip' if path.suffix == '.gz' else 'none')}"
    )
    anything = ", ".join(f"nullif(trim({column}, ' '), '')" for column in columns)
    one, many = (
        f"FROM read_csv({text(str(path))}, parallel = {parallel}, {options}) WHERE coalesce({anything}) IS NOT NULL"
        for parallel in (False, True)
    )
    connection.execute("BEGIN")
    try:
        inserted = connection.execute(f"INSERT INTO {relation_name(table)} SELECT {select} {one}").fetchall()
        if inserted == connection.execute(f"SELECT count(*) {many}").fetchall():
            connection.execute("COMMIT")
            return True
    except duckdb.Error:
        pass
    connection.execute("ROLLBACK")
    return False


def _well_quoted(path: Path, delimiter: bytes) -> bool:
    """Is every field that has a quote in it quoted as a whole, without spaces around, and every quote closed?"""
    mark, quoted = re.escape(delimiter), QUOTED.encode()
    fields = re.compile(rb'(?:[^"]*+(?:(?<=[\r\n])|(?<=%b))%b"(?=[\r\n]|%b))*+' % (mark, quoted, mark))
    rest = b"\n"
    for block in _blocks(path):
        rest += block
        found = fields.match(rest)
        rest = rest[found.end() if found else 0 :]
        quote = rest.find(b'"') if b'"' in rest else len(rest)
        rest = rest[max(0, quote - len(delimiter)) :]
        if len(rest) > LONGEST_FAST:
            return False
    return b'"' not in rest


def _blocks(path: Path) -> Iterator[bytes]:
    """The file without its mark of the encoding, and with the end of its last line."""
    with open_bytes(path) as file:
        yield file.read(BLOCK).removeprefix(codecs.BOM_UTF8)
        yield from iter(partial(file.read, BLOCK), b"")
    yield b"\n"

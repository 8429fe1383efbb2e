"""What is refused before it is read: pipes, files that unpack to far more than they are, and sheets with a far cell.

A library that is handed one of these waits forever, fills the disk, or ends the process.
"""

from __future__ import annotations

import gzip
import re
import zipfile
import zlib
from collections import deque
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO

from privet.core.rational import show
from privet.errors import InvalidInputError

GROWTH, FREE = 200, 2**28  # a packed file may grow 200 times, and to 256 MiB in any case
MOST_COLUMNS = 4_000  # of a draft
MOST_CELLS = 2**25  # of a sheet, counted as a rectangle: that is how it is held
BLOCK = 1 << 20
SHEET = re.compile(r"xl/worksheets/[^/]+\.(xml|bin)", re.IGNORECASE)
LAST_CELL = re.compile(rb'(?s:.*)<(?:\w+:)?c\s[^>]*?\br="[A-Z]{1,3}(\d{1,7})"[^>/]*>')
FAR_COLUMN = re.compile(rb'<(?:\w+:)?c\s[^>]*?\br="([A-Z]{2,3})\d{1,7}"[^>/]*>')  # of cells with something in them
OPEN_SHEETS = "content.xml"  # of an OpenDocument file: all of its sheets
OPEN_TAG = re.compile(
    rb"""<(/?)table:(table|table-row|table-cell|covered-table-cell)(?=[\s/>])((?:[^<>"']|"[^"]*"|'[^']*')*+)>"""
)
REPEATED = re.compile(rb"""\btable:number-(?:columns|rows)-repeated=["'](\d{1,9})["']""")
LONGEST_CELL = 2**24
SIZE_RECORD = b"\x94\x01\x10"  # of a binary sheet: first and last row, first and last column


def check_file(path: Path) -> None:
    """Raise InvalidInputError for a pipe or a device. What is not there at all is said elsewhere."""
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise InvalidInputError(
            f"{show(path.name)} is a pipe or a device, not a file",
            f"write it to a file first: cat {path.name} > data.csv",
            "not-a-file",
        )


def open_bytes(path: Path) -> IO[bytes]:
    """The bytes of a file, unpacked if it is gzip."""
    check_file(path)
    return _Unpacked(path) if path.suffix.lower() == ".gz" else path.open("rb")  # type: ignore[return-value]


class _Unpacked(gzip.GzipFile):
    """A packed file that is refused while it grows too far."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._growth = _Growth(path)

    def read(self, size: int | None = -1) -> bytes:
        return self._growth.counted(super().read(size))

    def read1(self, size: int = -1) -> bytes:
        return self._growth.counted(super().read1(size))


class _Growth:
    """Counts what came out of a packed file."""

    def __init__(self, path: Path) -> None:
        self._name, self._packed, self._unpacked = path.name, path.stat().st_size, 0

    def counted(self, data: bytes) -> bytes:
        self._unpacked += len(data)
        if self._unpacked > max(FREE, GROWTH * self._packed):
            raise InvalidInputError(
                f"{show(self._name)} has {self._packed:,} bytes but unpacks to more than {self._unpacked - 1:,},"
                f" over {GROWTH} times its size",
                "if that is as it should be, unpack it yourself and name the unpacked file",
                "too-large",
            )
        return data


def check_book(path: Path) -> None:
    """Raise InvalidInputError for a workbook that unpacks to too much, or has a cell far from all others."""
    check_file(path)
    if not zipfile.is_zipfile(path):  # the older format, whose sheets are small
        return
    try:
        _check_entries(path)
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, NotImplementedError):
        raise InvalidInputError(
            f"{show(path.name)} cannot be unpacked",
            "check that the file is complete and has no password",
            "unreadable-file",
        ) from None


def _check_entries(path: Path) -> None:
    growth = _Growth(path)
    with zipfile.ZipFile(path) as book:
        for entry in book.infolist():
            entry.file_size = 2**62  # what the archive says of it need not be so
            blocks = _counted(book, entry, growth)
            if entry.filename == OPEN_SHEETS:
                for rows, columns in _open_sizes(blocks):
                    _check_size(entry.filename, rows, columns)
            elif sheet := SHEET.fullmatch(entry.filename):
                sizes = [_size(block, binary=sheet[1].lower() == "bin") for block in _overlapping(blocks)]
                _check_size(entry.filename, *map(max, *sizes, (1, 1), (1, 1)))
            else:
                deque(blocks, maxlen=0)


def _counted(book: zipfile.ZipFile, entry: zipfile.ZipInfo, growth: _Growth) -> Iterator[bytes]:
    """The unpacked bytes, as long as they are not too many."""
    with book.open(entry) as file:
        while block := file.read(BLOCK):
            yield growth.counted(block)


def _overlapping(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """Each block begins with the end of the one before, from its last tag on."""
    rest = b""
    for block in blocks:
        yield rest + block
        rest = block[-1000:][block[-1000:].rfind(b"<") :] if b"<" in block[-1000:] else b""


def _size(block: bytes, *, binary: bool) -> tuple[int, int]:
    """The last row and the last column of this block in which something stands; of few columns, 26."""
    if binary:
        place = block.find(SIZE_RECORD, 0, 1000)
        words = [int.from_bytes(block[place + at : place + at + 4], "little") for at in (7, 15)]
        return (words[0] + 1, words[1] + 1) if place >= 0 else (1, 1)
    last = LAST_CELL.match(block)
    columns = set(FAR_COLUMN.findall(block))
    return int(last[1]) if last else 1, max(map(_number, columns), default=26)


def _open_sizes(blocks: Iterable[bytes]) -> Iterator[tuple[int, int]]:
    """Of the sheets of an OpenDocument file, row by row: the last row and the last column in which something stands,
    as far as is known. Rows and cells that are alike stand there once, with their number."""
    above = rows = columns = before = last = times = 0
    for closes, name, said in _open_tags(blocks):
        if name == b"table":
            above = rows = columns = 0
        elif name == b"table-row" and not closes:
            before, last, times = 0, 0, _times(said)
        elif name != b"table-row" and not closes:
            before += _times(said)
            if b"office:" in said or b"formula=" in said or not said.endswith(b"/"):
                last = before
        if name == b"table-row" and (closes or said.endswith(b"/")):
            above += times
            rows, columns = above if last else rows, max(columns, last)
            yield rows, columns


def _open_tags(blocks: Iterable[bytes]) -> Iterator[tuple[bytes, bytes, bytes]]:
    """The tags of sheets, rows and cells, and what they say."""
    rest = b""
    for block in blocks:
        rest += block
        end = 0
        for tag in OPEN_TAG.finditer(rest):
            end = tag.end()
            yield tag[1], tag[2], tag[3]
        begun = rest.rfind(b"<", end)
        rest = rest[begun:] if begun >= 0 else b""
        if len(rest) > LONGEST_CELL:
            raise InvalidInputError(
                f"a cell has more than {LONGEST_CELL:,} bytes", "shorten it, or save the sheet as CSV", "too-large"
            )


def _times(said: bytes) -> int:
    found = REPEATED.search(said)
    return int(found[1]) if found else 1


def _number(letters: bytes) -> int:
    """Of a column: A is 1, Z is 26, AA is 27."""
    number = 0
    for letter in letters:
        number = number * 26 + letter - 64
    return number


def _check_size(name: str, rows: int, columns: int) -> None:
    if rows * columns > MOST_CELLS:
        raise InvalidInputError(
            f"the sheet in {name} reaches to row {rows:,} and column {columns:,}: {rows * columns:,} cells, but at most"
            f" {MOST_CELLS:,} can be read",
            "delete cells far from the table (Ctrl+End goes to the last one), or save the sheet as CSV",
            "too-large",
        )

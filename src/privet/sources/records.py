"""The records of a CSV file, one at a time. A record ends where its quotes say, however long it is.

Python's csv module defines what a record means, and the tests compare. It is not used for reading: in a field beyond
its limit, which the whole process shares, it stops, and would read the rest of that field as the rows of other people.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TextIO

LONGEST = 1 << 24  # characters of a record; a longer one is read to its end and is not a row
QUOTED = '"(?:[^"]++|"")*+'  # a quoted field without its last quote


class Records:
    """All rows with any text. Spaces at the ends of fields do not count and may be there or not.

    `lines` is the number of lines read so far; `unclosed` says, at the end, that the file ends inside a quoted field.
    """

    def __init__(self, file: TextIO, delimiter: str) -> None:
        self.lines = 0
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
        self._field = re.compile(rf'(?:\A|{mark})(?:{spaces}"((?:[^"]++|"")*+)"?({inside})|({inside}))')
        self._rows = self._read()

    def __iter__(self) -> Iterator[list[str]]:
        return self

    def __next__(self) -> list[str]:
        return next(self._rows)

    def _read(self) -> Iterator[list[str]]:
        kept: list[str] = []
        size, end = 0, ""
        while piece := self._file.readline(LONGEST):
            self.lines += 1
            size += len(piece)
            kept.append(piece)
            if size > LONGEST:
                kept.clear()
            goes_on = self._after(end, piece)
            if goes_on is None:
                yield from self._row("".join(kept))
                kept, size = [], 0
            end = goes_on or ""
        self.unclosed = end == '"'
        yield from self._row("".join(kept))

    def _after(self, before: str, piece: str) -> str | None:
        """How a record goes on after a further line, or piece of a line; None if it ends there."""
        if '"' not in piece:
            if before == '"':
                return before
            if piece[-1] in "\r\n":
                return None
        found = self._end.match(before + piece)
        return self._ends[(found and found.lastindex) or 0]

    def _row(self, text: str) -> Iterator[list[str]]:
        if '"' not in text:
            fields = text.rstrip("\r\n").split(self._delimiter)
        else:
            fields = [
                found[3] if found[1] is None else found[1].replace('""', '"') + found[2]
                for found in self._field.finditer(text)
            ]
        if any(field.strip(" ") for field in fields):
            yield fields

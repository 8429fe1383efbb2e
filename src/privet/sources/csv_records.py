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
        kept, size = [line], len(line)
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

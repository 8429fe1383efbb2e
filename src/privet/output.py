"""Files that Privet writes for somebody: complete or not at all, and never over what was there before.

Reports and pictures are made again and again, so one that Privet wrote may be replaced by another; they bear a mark.
Nothing is ever written through a link: it may lead to the very data that were read.
"""

from __future__ import annotations

import os
import re
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from privet.errors import InvalidInputError
from privet.report.terminal import one_line

MARKS = {".html": '<meta name="generator" content="Privet">', ".svg": '<svg data-generator="Privet" '}
FORMULAS = frozenset("=+-@\t\r\n＝＋－＠")
NUMBER = re.compile(r"[-+]?([0-9]+([.,][0-9]*)?|[.,][0-9]+)([eE][-+]?[0-9]+)?")
HEAD = 1024  # bytes of a file in which its mark is looked for


def check_free(path: Path, name: str = "it") -> None:
    """Raise InvalidInputError if the file may not be written; `name` is what the remedy calls the place to name it."""
    reason = _obstacle(path)
    if reason is not None:
        raise InvalidInputError(
            f"{one_line(str(path))} {reason}", f"give {name} another name, or move that file away first", "file-exists"
        )


def _obstacle(path: Path) -> str | None:
    try:
        found = path.lstat()
    except OSError:  # nothing is there; or whatever else is wrong is said when the file is written
        return None
    mark = MARKS.get(path.suffix.lower())
    if stat.S_ISLNK(found.st_mode):
        return "is a link"
    if mark is None:
        return "exists already"
    if not stat.S_ISREG(found.st_mode) or mark.encode() not in _head(path):
        return "exists already and was not written by Privet"
    return None


def _head(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(HEAD)
    except OSError:  # then nobody can say that it is ours
        return b""


@contextmanager
def new_output(path: Path) -> Iterator[Path]:
    """A name to write to, which has the ending of `path`; the file gets the name `path` when all is written."""
    check_free(path)
    part = path.with_name(f".{secrets.token_hex(8)}{path.suffix}")
    try:
        yield part
        _take_name(part, path)
    finally:
        part.unlink(missing_ok=True)


def _take_name(part: Path, path: Path) -> None:
    """The name is reserved first: replacing alone would also replace what somebody else put there meanwhile."""
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        check_free(path)
        part.replace(path)  # a report of ours
        return
    try:
        part.replace(path)
    except BaseException:
        path.unlink()
        raise


def write_text(path: Path, text: str) -> None:
    """A text, in UTF-8; a picture gets its mark. Raises InvalidInputError if the file exists, and OSError."""
    if path.suffix.lower() == ".svg":
        text = text.replace("<svg ", MARKS[".svg"], 1)
    with new_output(path) as part:
        part.write_text(text, encoding="utf-8", newline="")


def spreadsheet_safe(text: str) -> str:
    """A text that no spreadsheet takes for a formula: with an apostrophe before it, if need be. Numbers stay."""
    return f"'{text}" if text[:1] in FORMULAS and not NUMBER.fullmatch(text) else text

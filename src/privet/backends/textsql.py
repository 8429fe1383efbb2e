"""How DuckDB writes the functions on texts. Each is total, and its cost grows no faster than the text."""

from __future__ import annotations

import string
from collections.abc import Sequence
from functools import cache
from typing import assert_never

from privet.backends import spelling
from privet.backends.whole import repeated
from privet.core import expression as e
from privet.core import texts
from privet.core.claim import claim
from privet.core.texts import Stretch, TextFunction

_PLAIN = set(string.ascii_letters + string.digits)
_TRIM = {e.Side.BOTH: "trim", e.Side.START: "ltrim", e.Side.END: "rtrim"}


@claim("texts-agree")
def applied(function: TextFunction, items: Sequence[str]) -> str:
    """The function on texts of this SQL, none of them always NULL; NULL where one is."""
    sql = items[0]
    match function:
        case e.Concat():
            return f"({' || '.join(items)})" if len(items) > 1 else sql
        case e.Recased(letters):
            return _recased(letters, repeated(sql))
        case e.Trimmed(side):
            return f"{_TRIM[side]}({sql}, ' ')"
        case e.Length():
            return f"CAST(length(left({sql}, {texts.LONGEST})) AS BIGINT)"
        case e.Sliced(_, start, stop):
            return _sliced(sql, start, stop)
        case e.Replaced(_, old, new):
            return f"replace({sql}, {spelling.text(old)}, {spelling.text(new)})"
        case e.Piece(_, separator, place):
            return f"split_part({sql}, {spelling.text(separator)}, {place})"
        case e.Like(_, pattern):
            return _like(sql, texts.pieces(pattern))
        case _:
            assert_never(function)


def _recased(letters: e.Letters, sql: str) -> str:
    """The engine knows more letters than we do, and which depends on its version: it is asked only where a text has
    none but letters that it turns as we do. Writing all letters out is much slower, and needed for few texts."""
    old, new = _letters(letters)
    known = f"regexp_full_match({sql}, '(?s)[{_known()}]*')"
    return f"(CASE WHEN {known} THEN {letters}({sql}) ELSE translate({sql}, {old}, {new}) END)"


@cache
def _letters(letters: e.Letters) -> tuple[str, str]:
    pairs = texts.CASED[letters]
    return spelling.text("".join(map(chr, pairs))), spelling.text("".join(pairs.values()))


@cache
def _known() -> str:
    """A class of characters in a regular expression."""
    return "".join(f"\\x{{{part.start:x}}}-\\x{{{part.stop - 1:x}}}" for part in (*texts.ALPHABETS, *texts.CASELESS))


def _sliced(sql: str, start: int, stop: int | None) -> str:
    if start < 0:
        sql, start = f"right({sql}, {-start})", 0
    if stop is None:
        return f"substring({sql}, {start + 1})" if start else sql
    if stop < 0:
        return f"substring(left({sql}, {stop}), {start + 1})"
    return f"substring({sql}, {start + 1}, {max(0, stop - start)})"


def _like(sql: str, stretches: Sequence[Stretch]) -> str:
    """Plain searches where they say it all; otherwise a regular expression, which this engine matches in a time that
    grows with the text only. Its LIKE tries again and again at every %."""
    first, *middle = (_text(stretch) for stretch in stretches)
    match (first, *middle):
        case (str(whole),):
            return f"({sql} = {whole})"
        case ("''", str(end)):
            return f"ends_with({sql}, {end})"
        case (str(begin), "''"):
            return f"starts_with({sql}, {begin})"
        case ("''", str(inside), "''"):
            return f"contains({sql}, {inside})"
    pattern = ".*".join("".join(map(_mark, stretch)) for stretch in stretches)
    return f"regexp_full_match({sql}, '(?s){pattern}')"


def _text(stretch: Stretch) -> str | None:
    """As a constant; None if a character can be any."""
    return None if None in stretch else spelling.text("".join(mark or "" for mark in stretch))


def _mark(mark: str | None) -> str:
    return "." if mark is None else mark if mark in _PLAIN else f"\\x{{{ord(mark):x}}}"

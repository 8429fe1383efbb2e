"""Texts in the form that the owner declared for their column: what each means, in plain Python, and the same in SQL.

A text that has another form is unreadable: `UNREADABLE` or a time beyond the calendar, which mean "missing" to whoever
reads them, and which the owner's check can count. No rule looks at more than one text.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence

from privet.catalog.writing import CODES, parts_of
from privet.core.claim import claim

UNREADABLE = "?"  # no number; it never fails to be one
NEVER = "infinity"
SPACES = " \t"
GAP = "[ \t\u00a0\u202f]*"
OFFSET = "(?:Z|z|UTC|(?P<sign>[+-])(?P<hours>[01][0-9]|2[0-3])(?::?(?P<minutes>[0-5][0-9]))?)"
ISO = (
    "(?P<year>[0-9]{4})-(?P<month>[0-9]{2})-(?P<day>[0-9]{2})"
    "(?:[ T](?P<hour>[0-9]{2}):(?P<minute>[0-9]{2})(?::(?P<second>[0-9]{2})(?:[.](?P<fraction>[0-9]{1,9}))?)?"
    f"(?: ?{OFFSET})?)?"
)
ISO_DAY = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
ISO_CLOCK = "(?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:[.][0-9]{1,9})?)?"
TO_MICROSECONDS = len("2020-01-31 12:00:00.000000")
MONTHS = (
    "january", "february", "march", "april", "may", "june",
    "july", "august", "september", "october", "november", "december",
)  # fmt: skip
SHORT = tuple(name[:3] for name in MONTHS)
CENTURY = 69  # the first year of two digits that is in the 20th century
WIDTHS = {"d": 2, "m": 2, "y": 2, "Y": 4, "H": 2, "I": 2, "M": 2, "S": 2}
SHORTER = set("dmHI")  # may be written with one digit, unless digits follow or come before


# Numbers


def number_pattern(decimal: str, thousands: str, marks: Sequence[str]) -> str:
    """Two places for a sign, the digits, and the exponent. Between thousands the groups have three digits, but for the
    first; inner ones may have two, as in 1,23,456."""
    point, between = re.escape(decimal), re.escape(thousands)
    whole = rf"[0-9]{{1,3}}(?:{between}[0-9]{{2,3}})*{between}[0-9]{{3}}|[0-9]+" if thousands else "[0-9]+"
    digits = rf"(?:{whole})(?:{point}[0-9]*)?|{point}[0-9]+"
    listed = "|".join(re.escape(mark) for mark in sorted(marks, key=lambda mark: (-len(mark), mark)))
    before, behind = (f"(?:(?:{listed}){GAP})?", f"(?:{GAP}(?:{listed}))?") if marks else ("", "")
    return rf"{GAP}([+-]?){GAP}{before}([+-]?)({digits})((?:[eE][+-]?[0-9]{{1,3}})?){behind}{GAP}"


@claim("forms-are-row-wise")
def plain_number(text: str, decimal: str, thousands: str, marks: Sequence[str]) -> str:
    """The number that a text spells, with a point and without marks; UNREADABLE if it spells none."""
    found = re.fullmatch(number_pattern(decimal, thousands, marks), text)
    if found is None:
        return UNREADABLE
    digits = found[3].replace(thousands, "") if thousands else found[3]
    return found[1] + found[2] + digits.replace(decimal, ".") + found[4]


def number_sql(sql: str, decimal: str, thousands: str, marks: Sequence[str]) -> str:
    pattern = number_pattern(decimal, thousands, marks)
    digits = "p['c']"
    if thousands:
        digits = f"replace({digits}, {_text(thousands)}, '')"
    if decimal != ".":
        digits = f"replace({digits}, {_text(decimal)}, '.')"
    read = _with_groups(sql, pattern, "abcd", f"nullif(p['a'] || p['b'] || {digits} || p['d'], '')")
    return _or_else(sql, read, _text(UNREADABLE))


# Dates and timestamps


@claim("forms-are-row-wise")
def moment(text: str, date_format: str | None, offset: str | None) -> dt.datetime | None:
    """The time that a text spells; None if it spells none. Without a format it is ISO 8601, with an offset or without.
    What follows the sixth digit of a second is cut off."""
    pattern = (
        ISO
        if date_format is None
        else "".join(f"(?P<{name}>{one})" if name else one for name, one in _pieces(date_format))
    )
    found = re.fullmatch(pattern, text.strip(SPACES))
    if found is None:
        return None
    said = {name: value for name, value in found.groupdict().items() if value is not None}
    try:
        time = _time(said)
        if offset == "utc" and "sign" in said:
            ahead = dt.timedelta(hours=int(said["hours"]), minutes=int(said.get("minutes", 0)))
            time = time + ahead if said["sign"] == "-" else time - ahead
    except (ValueError, OverflowError):  # no such day or hour, or beyond the years 1 to 9999
        return None
    return time


def _time(said: dict[str, str]) -> dt.datetime:
    year, month, hour = int(said["year"]), said["month"].lower(), int(said.get("hour", 0))
    if len(said["year"]) == 2:
        year += 1900 if year >= CENTURY else 2000
    if "half" in said:
        if not 1 <= hour <= 12:
            raise ValueError
        hour = hour % 12 + (12 if said["half"].lower() == "pm" else 0)
    number = 1 + SHORT.index(month[:3]) if month.isalpha() else int(month)
    minute, second = int(said.get("minute", 0)), int(said.get("second", 0))
    microsecond = int(f"{said.get('fraction', ''):0<6}"[:6])
    return dt.datetime(year, number, int(said["day"]), hour, minute, second, microsecond)


def _pieces(date_format: str) -> list[tuple[str, str]]:
    """The name of each part and its pattern; texts between parts have no name."""
    parts = parts_of(date_format)
    pieces = []
    for place, (code, literal) in enumerate(parts):
        beside = {parts[at][0] for at in (place - 1, place + 1) if 0 <= at < len(parts)}
        if not code:
            pieces.append(("", re.escape(literal)))
        elif code == "z":
            pieces.append(("", OFFSET))
        elif code in WIDTHS:
            least = 1 if code in SHORTER and not beside & {*WIDTHS, "f"} else WIDTHS[code]
            pieces.append((CODES[code], f"[0-9]{{{least},{WIDTHS[code]}}}"))
        else:
            words = {"b": SHORT, "B": MONTHS, "p": ("am", "pm")}.get(code)
            pieces.append((CODES[code], "[0-9]{1,9}" if words is None else "|".join(map(_any_case, words))))
    return pieces


def _any_case(word: str) -> str:
    return "".join(f"[{letter}{letter.upper()}]" for letter in word)


def moment_sql(sql: str, date_format: str | None, offset: str | None, type_: str) -> str:
    """A column of DATE or TIMESTAMP. What cannot be read is beyond the calendar."""
    text = f"trim({sql}, {_text(SPACES)})"
    if date_format is None:
        pattern, names = _iso_groups()
        body = f"TRY_CAST(left(p['a'] || p['b'], {TO_MICROSECONDS}) AS TIMESTAMP)"
    else:
        pattern, names, plain = _format_groups(date_format)
        body = f"try_strptime(p['a'] || p['b'], {_text(plain)})"
    if offset == "utc":
        minutes = "coalesce(TRY_CAST(p['h'] AS BIGINT), 0) * 60 + coalesce(TRY_CAST(p['m'] AS BIGINT), 0)"
        body = f"{{'t': {body}, 'n': CASE WHEN p['s'] = '-' THEN -({minutes}) ELSE {minutes} END}}"
        shifted = "CASE WHEN q['t'] >= TIMESTAMP '0001-01-01' THEN q['t'] - to_minutes(q['n']) END"
        body = f"list_transform([{body}], lambda q: {shifted})[1]"
    elif date_format is not None and offset is None and "%f" not in date_format:  # nothing to take apart
        read = f"CASE WHEN regexp_full_match({text}, {_text(pattern)}) THEN try_strptime({text}, {_text(plain)}) END"
        return _or_else(sql, f"CAST({read} AS {type_})", f"{type_} '{NEVER}'")
    read = _with_groups(text, pattern, names, body)
    return _or_else(sql, f"CAST({read} AS {type_})", f"{type_} '{NEVER}'")


def _iso_groups() -> tuple[str, str]:
    """A pattern and the names of its groups: a date, b date with time, sign, hours and minutes of the offset."""
    return f"(?:({ISO_DAY}[ T]{ISO_CLOCK})(?: ?{_groups(OFFSET)})?|({ISO_DAY}))", "ashmb"


def _format_groups(date_format: str) -> tuple[str, str, str]:
    """The same for a format, cut in two behind the sixth digit of a second; and what the engine reads in both parts."""
    pieces, parts = _pieces(date_format), parts_of(date_format)
    behind, plain = "()()()", date_format
    if pieces[-1][1] == OFFSET:
        gap = pieces[-2][1] if pieces[-2][0] == "" else ""
        behind, plain = gap + _groups(OFFSET), date_format.removesuffix("%z")
        plain = plain.removesuffix(parts[-2][1]) if gap else plain
        pieces = pieces[: -2 if gap else -1]
    names = [name for name, _ in pieces]
    cut = names.index("fraction") if "fraction" in names else len(names)
    before, after = ("".join(f"(?:{one})" for _, one in some) for some in (pieces[:cut], pieces[cut + 1 :]))
    fraction = ("[0-9]{1,6}", "[0-9]{0,3}") if cut < len(names) else ("", "")
    return f"({before}{fraction[0]}){fraction[1]}({after}){behind}", "abshm", plain


def _groups(pattern: str) -> str:
    """Groups without names."""
    return re.sub(r"\(\?P<\w+>", "(", pattern)


def _with_groups(sql: str, pattern: str, names: str, result: str) -> str:
    """A list of one item is the engine's way to compute a piece once: `p` has the groups, empty where none is found."""
    listed = ", ".join(f"'{name}'" for name in names)
    whole = rf"\A(?:{pattern})\z"
    found = f"regexp_extract({sql}, {_text(whole)}, [{listed}])"
    return f"list_transform([{found}], lambda p: {result})[1]"


def _or_else(sql: str, read: str, otherwise: str) -> str:
    return f"coalesce({read}, CASE WHEN {sql} IS NOT NULL THEN {otherwise} END)"


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"

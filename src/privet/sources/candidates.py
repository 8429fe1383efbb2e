"""Which form the texts of a column seem to have: dates in some order, offsets, decimal commas, units beside numbers.

For drafts and for remedies only, never for reading: what is found here is proposed to the owner, who declares it. The
facts come from the data and are for the owner alone.
"""
# ruff: noqa: S608  every name in a statement is quoted or generated here

from __future__ import annotations

import datetime as dt
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import duckdb

from privet.catalog.writing import Writing
from privet.sources.forms import UNREADABLE, moment, moment_sql, number_sql, plain_number
from privet.sources.relation import text

SAMPLE = 400  # different texts that are looked at; what they suggest is counted over all
ENOUGH = 0.5  # of the sample must fit, or nothing is counted
MOST_FORMS = 4  # of dates in one column, to be named
MOST_UNREAD = 0.1  # of the values, in what is proposed
CURRENCIES = ("$", "€", "£", "¥", "₹", "US$", "USD", "EUR", "GBP", "CHF", "Fr.", "Rs.", "Rs", "kr", "zł", "R$")
UNITS = (
    "%", "‰", "kg", "mg", "g", "µg", "lb", "lbs", "oz", "km", "cm", "mm", "m", "mi", "in", "ft", "ml", "mL", "l", "L",
    "°C", "°F", "h", "hr", "hrs", "hours", "min", "mins", "minutes", "s", "sec", "ms", "days", "day", "years", "yrs",
    "months", "weeks", "bpm", "mmHg", "mg/dL", "mmol/L", "kWh", "kcal", "km/h", "mph", "MB", "GB",
)  # fmt: skip
CLOCK = re.compile(
    r"(?P<before>[ T]|, |:)(?P<hour>\d{1,2}):\d{2}(?P<second>:\d{2})?(?P<fraction>[.,]\d{1,9})?"
    r"(?P<half> ?[AaPp][Mm])?(?P<zone> ?(?:Z|UTC|[+-]\d{2}:?(?:\d{2})?))?",
    re.ASCII,
)
NUMBER = re.compile(r"([+-]?)([^0-9+\-.,]*)([+-]?)([0-9][0-9.,'’ \u00a0\u202f]*|[.,][0-9]+)([^0-9].*)?", re.ASCII)
GAPS = " \u00a0\u202f\t"
ISO = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
DATES = tuple(
    (re.compile(pattern, re.ASCII), formats)
    for pattern, formats in (
        (r"\d{4}([-./])\d{1,2}\1\d{1,2}", ("%Y{0}%m{0}%d",)),
        (r"\d{1,2}([-./])\d{1,2}\1\d{4}", ("%d{0}%m{0}%Y", "%m{0}%d{0}%Y")),
        (r"\d{1,2}([-./])\d{1,2}\1\d{2}", ("%d{0}%m{0}%y", "%m{0}%d{0}%y")),
        (r"\d{1,2}([-/. ]?)[A-Za-z]{3}\1\d{4}", ("%d{0}%b{0}%Y",)),
        (r"\d{1,2}([-/. ]?)[A-Za-z]{3}\1\d{2}", ("%d{0}%b{0}%y",)),
        (r"\d{1,2}(\.?) [A-Za-z]{3,9} \d{4}", ("%d{0} %B %Y", "%d{0} %b %Y")),
        (r"[A-Za-z]{3,9} \d{1,2}(,?) \d{4}", ("%B %d{0} %Y", "%b %d{0} %Y")),
        (r"()\d{8}", ("%Y%m%d",)),
    )
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """How a column may be written. `rival` is another form that fits as well; `unread` is the share of values that
    cannot be read so."""

    writing: Writing
    number: bool = False
    whole: bool = True  # of numbers: none has a decimal mark
    time: bool = False  # of dates: there are hours
    rival: Writing | None = None
    unread: float = 0.0
    misread: bool = False  # whether the marks of a whole file would read a text that has another form: 1.5 as 15
    low: float = 0
    high: float = 0
    first: dt.datetime | None = None
    last: dt.datetime | None = None


def candidate(connection: duckdb.DuckDBPyConnection, values: str, *, comma: bool) -> Candidate | None:
    """The form that most of the texts have, from a table of texts `q` and their numbers `n`; None if there is none.
    With `comma` it is the decimal mark wherever it could be between thousands, too."""
    sample = _sample(connection, values)
    found = [one for one in (_of_moments(sample), _of_numbers(sample, comma=comma)) if one is not None]
    read = [counted for one in found if (counted := _counted(connection, values, one)) is not None]
    return min(read, key=lambda one: one.unread, default=None)


def several(connection: duckdb.DuckDBPyConnection, values: str) -> tuple[str, ...]:
    """The forms of dates that nearly all texts have together, none of them alone; none if there are no such forms."""
    left, forms = _sample(connection, values), list[str]()
    most = MOST_UNREAD * len(left)
    while len(left) > most and len(forms) < MOST_FORMS:
        fits = _fits(left)
        best = max(fits, key=lambda form: fits[form], default=None)
        if best is None or fits[best] <= most:
            return ()
        forms.append(best.date_format or "ISO 8601")
        left = [text for text in left if moment(text, best.date_format, best.offset) is None]
    return tuple(forms) if len(left) <= most else ()


def _sample(connection: duckdb.DuckDBPyConnection, values: str) -> list[str]:
    return [q for (q,) in connection.execute(f"SELECT q FROM {values} ORDER BY hash(q) LIMIT {SAMPLE}").fetchall()]


def _counted(connection: duckdb.DuckDBPyConnection, values: str, one: Candidate) -> Candidate | None:
    """With what all texts say."""
    how, lax = one.writing, "NULL"
    if one.number:
        sql = f"TRY_CAST({number_sql('q', how.decimal or '.', how.thousands or '', how.marks)} AS DOUBLE)"
        between = how.thousands or ("." if how.decimal == "," else "")
        if between:
            lax = f"TRY_CAST(replace(replace(q, {text(between)}, ''), {text(how.decimal or '.')}, '.') AS DOUBLE)"
    else:
        sql = moment_sql("q", how.date_format, how.offset, "TIMESTAMP")
    counts = ", ".join(f"{sum_} FILTER (WHERE isfinite(v))" for sum_ in ("sum(n)", "min(v)", "max(v)"))
    counts += ", count(lax) FILTER (WHERE v IS NULL)"
    query = f"SELECT sum(n), {counts} FROM (SELECT n, {sql} AS v, {lax} AS lax FROM {values})"
    rows, read, low, high, misread = connection.execute(query).fetchall()[0]
    unread = 1 - (read or 0) / rows
    if unread > MOST_UNREAD:
        return None
    if one.number:
        return replace(one, unread=unread, misread=misread > 0, low=low or 0, high=high or 0)
    return replace(one, unread=unread, first=low, last=high)


# Dates and timestamps


def _of_moments(sample: Sequence[str]) -> Candidate | None:
    fits = _fits(sample)
    best = max(fits.values(), default=0)
    if best < max(1, ENOUGH * len(sample)):
        return None
    forms = [form for form in fits if fits[form] == best]
    if not any(
        text.endswith(("Z", "z", "UTC")) or re.search("[+-][0-9]{2}:?([0-9]{2})?$", text[10:]) for text in sample
    ):
        forms.sort(key=lambda form: form.date_format is None)  # nothing has an offset
    first, *others = forms if forms[0].date_format else forms[:1]
    others = [form for form in others if form.date_format]
    hours = first.date_format is None or "%H" in first.date_format or "%I" in first.date_format
    return Candidate(writing=first, time=hours, rival=others[0] if others else None)


def _fits(sample: Sequence[str]) -> Counter[Writing]:
    """How many texts each form reads."""
    fits: Counter[Writing] = Counter()
    for one in sample:
        for form in _forms(_shape(one)):
            if (time := moment(one, form.date_format, form.offset)) is not None and 1800 <= time.year < 2200:
                fits[form] += 1
    return fits


def _shape(text: str) -> str:
    """The text with 0 for every digit and the same letter for letters, but for those of clocks and offsets."""
    words = re.sub("[A-Za-z]{3,}", lambda word: "U" * len(word[0]) if word[0] != "UTC" else word[0], text)
    return re.sub("[0-9]", "0", words)


@lru_cache(maxsize=1024)
def _forms(shape: str) -> tuple[Writing, ...]:
    """The forms that texts of this shape can have."""
    clock = next((found for found in CLOCK.finditer(shape) if found.end() == len(shape)), None)
    date = shape if clock is None else shape[: clock.start()]
    behind, zone = ("", "") if clock is None else _clock_format(clock)
    formats = [one.format(found[1]) for pattern, dates in DATES if (found := pattern.fullmatch(date)) for one in dates]
    forms = [Writing(date_format=one + behind + zone, offset="utc" if zone else None) for one in formats]
    iso = ISO.fullmatch(date) and clock is not None and clock["before"] in " T" and not clock["half"]
    return ((Writing(offset="utc"),) if iso else ()) + tuple(forms)


def _clock_format(clock: re.Match[str]) -> tuple[str, str]:
    hour = "%I" if clock["half"] else "%H"
    second = "%S" if clock["second"] else ""
    fraction = clock["fraction"][0] + "%f" if clock["fraction"] else ""
    half = clock["half"][:-2] + "%p" if clock["half"] else ""
    zone = re.sub(r"(?:Z|UTC|[+-].*)$", "%z", clock["zone"]) if clock["zone"] else ""
    return f"{clock['before']}{hour}:%M" + (f":{second}" if second else "") + fraction + half, zone


# Numbers


def _of_numbers(sample: Sequence[str], *, comma: bool) -> Candidate | None:
    parts = [found for text in sample if (found := NUMBER.fullmatch(text.strip(GAPS)))]
    if len(parts) < max(1, ENOUGH * len(sample)) or any(re.fullmatch("0[0-9]+", part[4].strip(GAPS)) for part in parts):
        return None  # 01234 is a code
    before, behind = (Counter(mark for part in parts if (mark := (part[at] or "").strip(GAPS))) for at in (2, 5))
    spaced = {part[5].strip(GAPS) for part in parts if part[5] and part[4][-1] in GAPS}
    marks = [mark for mark in before if mark in CURRENCIES]
    marks += [
        mark
        for mark in behind
        if mark in CURRENCIES or (mark in UNITS and (len(mark) > 1 or mark in spaced | {"%", "‰"}))
    ]
    if not marks and len(behind) == 1 and re.fullmatch(r"[^\W\d][^\d]{0,9}", next(iter(behind))):
        marks = [mark for mark in behind if mark in spaced and behind[mark] >= ENOUGH * len(sample)]
    decimal, thousands, rival = _number_marks([part[4].strip(GAPS) for part in parts], comma=comma)
    writing = Writing(decimal=decimal, thousands=thousands, marks=tuple(sorted(set(marks))))
    read = [plain for text in sample if (plain := plain_number(text, decimal, thousands, writing.marks)) != UNREADABLE]
    if len(read) < max(1, ENOUGH * len(sample)):
        return None
    other = None if rival is None else Writing(decimal=rival[0], thousands=rival[1], marks=writing.marks)
    return Candidate(writing=writing, number=True, whole=not any(set(".eE") & set(one) for one in read), rival=other)


def _number_marks(texts: Sequence[str], *, comma: bool) -> tuple[str, str, tuple[str, str] | None]:
    """The decimal mark, the mark between thousands, and what both may be as well."""
    between = next((mark for mark in "'’\u00a0\u202f " if any(mark in text for text in texts)), "")
    last = Counter(max(".,", key=text.rfind) for text in texts if "." in text and "," in text)
    used = [mark for mark in ",." if any(mark in text for text in texts)]
    if last or len(used) == 2:
        decimal = max(".,", key=lambda mark: last[mark]) if last else "." if _grouped(texts, ",") else ","
        return decimal, "," if decimal == "." else ".", None
    if not used:
        return "," if comma else ".", between, None
    mark, other = (",", ".") if used == [","] else (".", ",")
    if between or not _grouped(texts, mark):
        return mark, between, None
    if any(text.count(mark) > 1 for text in texts):
        return other, mark, None
    as_decimal, as_thousands = (mark, ""), (other, mark)
    return (*as_decimal, as_thousands) if mark == "." or comma else (*as_thousands, as_decimal)


def _grouped(texts: Sequence[str], mark: str) -> bool:
    """Could the mark stand between thousands wherever it stands?"""
    groups = re.compile(rf"[1-9][0-9]{{0,2}}(?:{re.escape(mark)}[0-9]{{2,3}})*{re.escape(mark)}[0-9]{{3}}")
    return all(groups.fullmatch(text) for text in texts if mark in text)

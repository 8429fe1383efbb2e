"""From raw values to canonical ones, in SQL: each rule looks at one value only and never fails.

What a raw value means is defined in `readable.py`. Numbers, dates and times become whole steps.
"""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import assert_never

from privet.backends import readable, spelling
from privet.backends.whole import Whole, clamped, constant, rounded
from privet.core.claim import claim
from privet.core.expression import Rounding
from privet.core.schema import Boolean, Category, Date, Integer, Kind, Number, Text, Timestamp
from privet.core.shape import ONE

BITS = {"TINYINT": 7, "SMALLINT": 15, "INTEGER": 31, "BIGINT": 63, "HUGEINT": 127}
BITS |= {f"U{name}": bits + 1 for name, bits in BITS.items()}
FLOATS = ("FLOAT", "DOUBLE")
HUGE = 2**126


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """Two steps, so that nothing is computed twice: `first` from the raw column, `second` from the first's result."""

    first: str
    second: str
    wide: bool = False


@claim("reading-is-row-wise")
def reading(kind: Kind, type_: str, raw: str, name: str) -> Reading:
    """How to read the column `raw` of an engine's type as declared; the first step's result is called `name`."""
    how = _reading(kind, type_, raw, name)
    if not kind.never_missing:
        return how
    if isinstance(kind, Category | Text):
        return replace(how, second=f"coalesce({how.second}, {spelling.text(str(readable.lowest(kind)))})")
    if isinstance(kind, Boolean):
        return replace(how, second=f"coalesce({how.second}, FALSE)")
    least = constant(kind.steps[0])
    wide = how.wide or least.wide
    return replace(how, second=f"coalesce({how.second}, {least.typed(wide)})", wide=wide)


def _reading(kind: Kind, type_: str, raw: str, name: str) -> Reading:
    match kind:
        case Integer() | Number():
            return _number(kind, type_, raw, name)
        case Boolean():
            return _truth(type_, raw, name)
        case Category():
            listed = f"CASE WHEN {name} IN ({spelling.texts(kind.values)}) THEN {name} END"
            return Reading(first=text_of(type_, raw), second=listed)
        case Text():
            return Reading(first=text_of(type_, raw), second=name)
        case Date():
            return _day(kind, type_, raw, name)
        case Timestamp():
            return _time(kind, type_, raw, name)
        case _:
            assert_never(kind)


def text_of(type_: str, raw: str) -> str:
    """The plain text of texts, truths, whole numbers and days; NULL for other types."""
    if type_ == "VARCHAR":
        return raw
    if type_ == "BOOLEAN" or type_ in BITS:
        return f"CAST({raw} AS VARCHAR)"
    if type_ == "DATE":
        return f"CASE WHEN {_in_calendar(type_, raw)} THEN CAST({raw} AS VARCHAR) END"
    return spelling.null("VARCHAR")


def unit_text(type_: str, raw: str) -> str:
    """What the hash sees of a unit, see `reference.unit_text`."""
    if type_ in FLOATS or type_.startswith("DECIMAL"):
        number = f"CAST({raw} AS DOUBLE)"
        whole = f"abs({number}) < {spelling.double(2.0**53)} AND {raw} = trunc({raw})"
        return f"CASE WHEN {whole} THEN CAST(TRY_CAST({raw} AS BIGINT) AS VARCHAR) ELSE '' END"
    if type_ == "TIMESTAMP":
        return f"CASE WHEN {_in_calendar(type_, raw)} THEN CAST(epoch_us({raw}) AS VARCHAR) ELSE '' END"
    return f"coalesce({text_of(type_, raw)}, '')"


@claim("unit-wise")
def same_unit(left: tuple[str, str], right: tuple[str, str]) -> str:
    """Whether two units, each a type and a column, are the same one: see `content.identity`."""
    (type_, one), (other, two) = left, right
    if type_ == other:
        return f"{one} = {two}"
    if type_ in FLOATS and other in FLOATS:
        return f"CAST({one} AS DOUBLE) = CAST({two} AS DOUBLE)"
    return f"{_unit_name(type_, one)} = {_unit_name(other, two)}"


def _unit_name(type_: str, raw: str) -> str:
    """The text by which a unit is found in columns of other types; NULL if it has none."""
    if type_.startswith("DECIMAL"):
        text = f"CAST({raw} AS VARCHAR)"
        return f"CASE WHEN contains({text}, '.') THEN rtrim(rtrim({text}, '0'), '.') ELSE {text} END"
    if type_ in FLOATS:
        return f"nullif({unit_text(type_, raw)}, '')"
    return text_of(type_, raw)


def is_unit(type_: str, raw: str) -> str:
    """NULL is nobody, and so are floats that are no number or too large, see `values.is_nobody`."""
    return f"abs({raw}) < {spelling.double(readable.TELLS_APART)}" if type_ in FLOATS else f"{raw} IS NOT NULL"


def _in_calendar(type_: str, raw: str) -> str:
    """Years 1 to 9999: no infinity, nothing BC."""
    write = spelling.day if type_ == "DATE" else spelling.moment
    return f"{raw} BETWEEN {write(spelling.FIRST)} AND {write(spelling.LAST)}"


def _matched(raw: str, pattern: str, *, strip: bool) -> tuple[str, str]:
    """(condition, text) for texts that a pattern describes."""
    inner = f"trim({raw}, {spelling.text(readable.SPACES)})" if strip else raw
    return f"regexp_full_match({inner}, {spelling.text(pattern)})", inner


def _number(kind: Integer | Number, type_: str, raw: str, name: str) -> Reading:
    if type_ in FLOATS:
        return _from_double(kind, f"CAST({raw} AS DOUBLE)", name)
    if type_ == "VARCHAR":
        rule = readable.decimals(kind)
        return _from_whole(kind, _written(rule, raw), name, 1 / Fraction(10) ** rule.places)
    whole, digits = unscaled(type_, raw)
    if whole is None:
        return Reading(first=spelling.null("BIGINT"), second=name)
    return _from_whole(kind, whole, name, Fraction(1, 10**digits))


@claim("texts-are-read-exactly")
def _written(rule: readable.Decimals, raw: str) -> Whole:
    """A text as a whole number of the last decimal that counts. Short ones, which most are, by the engine's own cast:
    with a power of ten behind them they are whole numbers, which it reads exactly. Others by their digits."""
    matches, inner = _matched(raw, readable.NUMBER, strip=True)
    type_, before = "HUGEINT" if rule.digits > readable.NARROW else "BIGINT", rule.digits - rule.places
    cases = [f"WHEN {matches} THEN {_by_digits(rule, inner, type_)}"]
    if 0 < rule.places < rule.digits:
        short = rf"[+-]?([0-9]{{1,{before}}}(\.[0-9]{{0,{rule.places}}})?|\.[0-9]{{1,{rule.places}}})"
        fits, _ = _matched(raw, short, strip=False)
        cut, _ = _matched(raw, rf"[0-9]{{1,{before}}}\.[0-9]*", strip=False)
        begin = f"left({raw}, strpos({raw}, '.') + {rule.places})"
        cases.insert(0, f"WHEN {fits} THEN TRY_CAST({raw} || 'e{rule.places}' AS {type_})")
        cases.insert(1, f"WHEN {cut} THEN TRY_CAST({begin} || 'e{rule.places}' AS {type_})")
    most = 10**rule.digits
    return Whole(sql=f"CASE {' '.join(cases)} END", low=-most - 1, high=most, wide=rule.digits > readable.NARROW)


def _by_digits(rule: readable.Decimals, text: str, type_: str) -> str:
    """The first digits of a number's text, rounded down: of a negative one that loses any but zeros, one more.

    A lambda over a list of one item is the engine's way to compute a piece once: `d` are the digits from the first that
    is not 0, and `n` is how many of them count. `p.d` would be a field of a column called p."""
    mantissa, power = f"regexp_extract({text}, '[0-9.]+')", f"regexp_extract({text}, '[eE](.+)', 1)"
    shift = f"coalesce(TRY_CAST({power} AS BIGINT), 0) + {rule.places}"
    first = f"{{'m': {mantissa}, 'n': {shift}, 'minus': starts_with({text}, '-')}}"
    digits, behind = "ltrim(replace(p['m'], '.', ''), '0')", "strlen(split_part(p['m'], '.', 2))"
    second = f"{{'d': {digits}, 'n': p['n'] - {behind} + strlen({digits}), 'minus': p['minus']}}"
    most, padded = rule.digits, f"rpad(q['d'], CAST(least(greatest(q['n'], 1), {rule.digits}) AS INTEGER), '0')"
    size = (
        f"CASE WHEN q['d'] = '' OR q['n'] <= 0 THEN CAST(0 AS {type_})"
        f" WHEN q['n'] > {most} THEN CAST({10**most} AS {type_})"
        f" ELSE TRY_CAST({padded} AS {type_}) END"
    )
    lost = f"CAST(strlen(rtrim(q['d'], '0')) > greatest(q['n'], 0) AS {type_})"
    third = f"CASE WHEN q['minus'] THEN -({size}) - {lost} ELSE {size} END"
    return f"list_transform(list_transform([{first}], lambda p: {second}), lambda q: {third})[1]"


def _from_double(kind: Integer | Number, first: str, name: str) -> Reading:
    """Between the bounds by arithmetic, beyond them the bound. In DuckDB NaN is above everything: it is asked first."""
    rule, (low, high) = readable.doubles(kind), kind.steps
    least, most = constant(low), constant(high)
    ends = rule.steps(rule.low), rule.steps(rule.high)
    wide = least.wide or most.wide
    steps = f"floor({name} / {spelling.double(rule.step)} + {spelling.double(0.5)})"
    inside = Whole(sql=f"TRY_CAST({steps} AS {'HUGEINT' if wide else 'BIGINT'})", low=ends[0], high=ends[1], wide=wide)
    if ends[0] < low or ends[1] > high:  # the arithmetic keeps order, so otherwise nothing can leave the range
        inside = clamped(inside, low, high)
    bottom, top = spelling.double(rule.low), spelling.double(rule.high)
    second = (
        f"CASE WHEN {name} BETWEEN {bottom} AND {top} THEN {inside.typed(wide)} WHEN isnan({name}) THEN NULL"
        f" WHEN {name} > {top} THEN {most.typed(wide)} WHEN {name} < {bottom} THEN {least.typed(wide)} END"
    )
    return Reading(first=first, second=second, wide=wide)


def unscaled(type_: str, raw: str) -> tuple[Whole | None, int]:
    """A truth, whole number or decimal as a whole number of 1 / 10**digits."""
    if type_ == "BOOLEAN":
        return Whole(sql=f"CAST({raw} AS BIGINT)", low=0, high=1), 0
    if type_ in BITS:
        bits = BITS[type_]
        low, high = (0 if type_.startswith("U") else -(2**bits)), 2**bits - 1
        if bits <= 63:
            return Whole(sql=f"CAST({raw} AS BIGINT)", low=low, high=high), 0
        if bits > 64:  # kept away from the ends of the type; LIMIT is far below
            low, high = max(low, -HUGE), HUGE
            least, most = f"CAST({low} AS {type_})", f"CAST({high} AS {type_})"
            raw = f"CASE WHEN {raw} > {most} THEN {most} WHEN {raw} < {least} THEN {least} ELSE {raw} END"
        return Whole(sql=f"CAST({raw} AS HUGEINT)", low=low, high=high, wide=True), 0
    found = re.fullmatch(r"DECIMAL\((\d+),(\d+)\)", type_)
    if found is None:
        return None, 0
    width, digits = int(found[1]), int(found[2])
    wide = width > 18
    name = "HUGEINT" if wide else "BIGINT"
    if width + digits < 38:
        room = width if width + digits < 18 else 38  # the engine does not widen a product of short decimals by itself
        sql = (
            f"CAST(CAST({raw} AS DECIMAL({room}, {digits})) * CAST({10**digits} AS DECIMAL({digits + 1}, 0)) AS {name})"
        )
    else:  # its text has all digits
        sql = f"CAST(replace(CAST({raw} AS VARCHAR), '.', '') AS {name})"
    return Whole(sql=sql, low=1 - 10**width, high=10**width - 1, wide=wide), digits


def _from_whole(kind: Integer | Number, whole: Whole, name: str, unit: Fraction) -> Reading:
    """Whole multiples of `unit`, rounded to steps with halves upwards. Bounds first, so that nothing overflows."""
    low, high = kind.steps
    ratio = unit / getattr(kind, "step", ONE)
    least, most = constant(low), constant(high)
    bottom = -((-(2 * low + 1) * ratio.denominator) // (2 * ratio.numerator)) - 1  # up to here the result is low
    top = -((-(2 * high - 1) * ratio.denominator) // (2 * ratio.numerator))  # from here on it is high
    between = Whole(sql=name, low=max(whole.low, bottom + 1), high=min(whole.high, top - 1), wide=whole.wide)
    inside = rounded(between, ratio, Rounding.NEAREST) if between.low <= between.high else least
    wide = inside.wide or least.wide or most.wide
    cases = [f"WHEN {name} <= {min(bottom, whole.high)} THEN {least.typed(wide)}"] if bottom >= whole.low else []
    cases += [f"WHEN {name} >= {max(top, whole.low)} THEN {most.typed(wide)}"] if top <= whole.high else []
    cases += [f"WHEN {name} IS NOT NULL THEN {inside.typed(wide)}"]
    return Reading(first=whole.sql, second=f"CASE {' '.join(cases)} END", wide=wide)


def _truth(type_: str, raw: str, name: str) -> Reading:
    if type_ == "BOOLEAN":
        return Reading(first=raw, second=name)
    if type_ == "VARCHAR":
        yes, _ = _matched(raw, readable.TRUE, strip=True)
        no, _ = _matched(raw, readable.FALSE, strip=True)
        return Reading(first=f"CASE WHEN {yes} THEN TRUE WHEN {no} THEN FALSE END", second=name)
    if type_ in FLOATS:
        return Reading(first=raw, second=f"CASE WHEN {name} = 0 THEN FALSE WHEN {name} = 1 THEN TRUE END")
    whole, digits = unscaled(type_, raw)
    if whole is None:
        return Reading(first=spelling.null("BOOLEAN"), second=name)
    return Reading(first=whole.sql, second=f"CASE WHEN {name} = 0 THEN FALSE WHEN {name} = {10**digits} THEN TRUE END")


def _day(kind: Date, type_: str, raw: str, name: str) -> Reading:
    match type_:
        case "DATE":
            first = raw
        case "TIMESTAMP":
            first = f"CASE WHEN {_in_calendar(type_, raw)} THEN CAST({raw} AS DATE) END"
        case "VARCHAR":
            matches, inner = _matched(raw, readable.DAY, strip=False)
            first = f"CASE WHEN {matches} THEN TRY_CAST({inner} AS DATE) END"
        case _:
            return Reading(first=spelling.null("BIGINT"), second=name)
    return Reading(first=first, second=_within(kind, name, f"{name} - DATE '1970-01-01'"))


def _time(kind: Timestamp, type_: str, raw: str, name: str) -> Reading:
    match type_:
        case "TIMESTAMP":
            first = raw
        case "DATE":
            first = f"CASE WHEN {_in_calendar(type_, raw)} THEN CAST({raw} AS TIMESTAMP) END"
        case "VARCHAR":
            matches, inner = _matched(raw, readable.TIME, strip=False)
            first = f"CASE WHEN {matches} THEN TRY_CAST({inner} AS TIMESTAMP) END"
        case _:
            return Reading(first=spelling.null("BIGINT"), second=name)
    return Reading(first=first, second=_within(kind, name, f"epoch_us({name})"))


def _within(kind: Date | Timestamp, name: str, steps: str) -> str:
    """Between the bounds by arithmetic, beyond them the bound, beyond the calendar nothing."""
    least, most = constant(kind.steps[0]).sql, constant(kind.steps[1]).sql
    low, high = _moment(kind.low), _moment(kind.high)
    calendar = _in_calendar("DATE" if isinstance(kind, Date) else "TIMESTAMP", name)
    return (
        f"CASE WHEN {name} BETWEEN {low} AND {high} THEN CAST({steps} AS BIGINT) WHEN NOT {calendar} THEN NULL"
        f" WHEN {name} < {low} THEN {least} WHEN {name} > {high} THEN {most} END"
    )


def _moment(value: dt.date | dt.datetime) -> str:
    return spelling.moment(value) if isinstance(value, dt.datetime) else spelling.day(value)

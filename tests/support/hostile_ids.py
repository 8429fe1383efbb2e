"""Ids that a reader might confuse, and who is meant by them: docs/declarations.md ("Who is one unit") in other code.

A database is written by a program, and the program decides which values stand there in the end: pandas makes floats of
whole numbers where one is missing. `person` looks at what was written, never at what was meant.
"""

from __future__ import annotations

import codecs
import datetime as dt
import math
import uuid
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

BIG = 2**53
SHORT = 2**24  # the same for floats of 32 bits
MISSING = ("NA", "999")  # what the owner may declare as "no value"
DAY, NOON = dt.date(2020, 1, 31), dt.datetime(2020, 1, 31, 12)
MIDNIGHT = dt.datetime(2020, 1, 31)
CODE = uuid.UUID(int=0xABC)
FINE = np.datetime64("2020-01-31T12:00:00.000000001")
FAMILIES: list[list[Any]] = [
    [BIG - 1, BIG, BIG + 1, BIG + 2, -BIG, -BIG - 1, -BIG - 2, float(BIG - 1), float(BIG), BIG + 2.0, Decimal(BIG + 1)],
    [str(BIG), str(BIG + 1), str(BIG + 2), f"{BIG}.0", BIG, BIG + 1, Decimal(BIG), 9.007199254740992e15],
    [2**62, 2**62 + 1, 2**63 - 1, 2**63 - 2, -(2**63), -(2**63) + 1, str(2**63 - 1), 2.0**62],
    [2**63, 2**63 + 1, 2**64, 2**64 + 1, 2**100, 2**100 + 1, str(2**64), 2.0**64, Decimal(2**64)],
    [SHORT - 1, SHORT, SHORT + 1, float(SHORT), SHORT + 1.0, str(SHORT + 1)],
    [10**399, 10**399 + 1, 10**400, 10**400 + 1, 10**4000, -(10**400), "1e999", "9" * 400, "9" * 401, Decimal("1e500")],
    [5, 5.0, "5", "05", "5.0", "+5", " 5", "5 ", "5e0", Decimal("5.00"), np.float32(5), np.int8(5), "5\t", "٥"],
    [1, 1.0, "1", True, "true", "True", "TRUE", Decimal("1.0"), np.bool_(True), "1.0", "yes"],
    [0, 0.0, -0.0, "0", "-0", "0.0", "-0.0", False, "false", Decimal("-0.0"), ""],
    [0.1, 0.1 + 2**-56, 0.30000000000000004, 0.3, "0.1", Decimal("0.1"), Decimal("0.1000000001"), np.float32(0.1)],
    [1e-7, "1e-07", "1e-7", "0.0000001", Decimal("0.0000001"), 1.5e-300, "1.5e-300", 0.5, ".5", "0.5"],
    [math.nan, math.inf, -math.inf, 1e300, "nan", "NaN", "inf", "NULL", "None", "null", "<NA>", "NaT", Decimal("NaN")],
    ["\\xfc", "\udcfc", "ü", "\\\\xfc", "\\\\\\xfc", "\\\udcfc", "\\xFC", "\\xfd", "\udcfd", "Ã¼", "\\udcfc"],
    ["\ud800", "\\ud800", "\\\\ud800", "\ud801", "\udc00", "\\udc00", "\ufffd", "?", "\\", "\\u", "\\x"],
    ["\udc81", "\\x81", "\x81", "\\\udc81", "a\udc81", "a\\x81", "\udc8d", "\\x8d"],
    ["A", "a", "Á", "á", "À", "ß", "ss", "SS", "ı", "I", "i", "İ", "ﬁ", "fi", "K", "\u212a", "Ａ"],
    ["é", "e\u0301", "É", "E\u0301", "Å", "A\u030a", "\u212b", "가", "\u1100\u1161"],
    ["a", "a ", " a", "a\t", "\ta", "a\xa0", "\u3000a", "a\u200b", "a\ufeff", "\ufeffa", "a\0", "a\0b", "a\0c", "\0"],
    ["", " ", "  ", "\t", "\xa0", "\u2003", None],
    ["a\nb", "a\rb", "a\r\nb", "ab", "a b", "a\u2028b", "a\x85b", "a\x0bb", "a,b", "a;b", 'a"b', '"ab"', 'a""b', '"'],
    [DAY, MIDNIGHT, "2020-01-31", NOON, NOON.replace(microsecond=1), "2020-01-31 12:00:00.000000", "31.01.2020"],
    [DAY, np.datetime64("2020-01-31"), np.datetime64(MIDNIGHT, "ns"), pd.Timestamp(MIDNIGHT), MIDNIGHT],
    [FINE, FINE + 1, FINE + 2, pd.Timestamp(FINE), pd.Timestamp(FINE + 2), np.datetime64(NOON, "us"), NOON],
    [NOON.replace(tzinfo=dt.UTC), NOON, NOON.replace(tzinfo=dt.timezone(dt.timedelta(hours=1)))],
    [NOON, NOON.replace(hour=11), pd.Timestamp(FINE, tz="UTC"), pd.Timestamp(NOON, tz="UTC"), np.datetime64(1, "ps")],
    [dt.date(1, 1, 1), dt.date(9999, 12, 31), dt.datetime(9999, 12, 31), dt.datetime(1, 1, 1), "0001-01-01"],
    [CODE, str(CODE), str(CODE).upper(), CODE.hex, uuid.UUID(int=6), str(uuid.UUID(int=6)), f"{{{CODE}}}"],
    ["1.234", "1234", "1,234", "1'234", 1234, 1.234, "1234,0", "1234.0", "1 234", "01.01.2020", "1.1.2020"],
    ["NA", "na", " NA", "999", 999, 999.0, Decimal("999.00"), "999.0", "0999", None],
    ["=1+1", "#N/A", "TRUE", "'5", "_x0041_", "A", "&amp;", "&", "<a>"],
]  # fmt: skip


def person(written: Any, *, trimmed: bool = False, missing: tuple[str, ...] = (), encoding: str = "") -> Any:
    """Who is meant by what stands in the unit's column: equal for one person; None for nobody.

    Fields of CSV files are bytes, and those of CSV and Excel are `trimmed`. What the owner calls `missing` is nobody.
    """
    name = _decoded(written, encoding) if isinstance(written, bytes) else _name(written)
    if trimmed and isinstance(name, str):
        name = name.strip(" ") or None
    return None if name in missing else name


def _decoded(field: bytes, encoding: str) -> str | tuple[str, bytes]:
    """A field that is damaged is like itself only, but spaces at its ends do not count either."""
    try:
        return field.decode(encoding)
    except UnicodeDecodeError:
        space = " ".encode(encoding)[-len(" ".encode(encoding)) :]
        while field.startswith(space):
            field = field.removeprefix(space)
        while field.endswith(space):
            field = field.removesuffix(space)
        return encoding, field


def _name(value: Any) -> str | None:
    """The text of a value, as docs/declarations.md says it."""
    if value is None or value is pd.NaT or value is pd.NA:
        return None
    match value:
        case str():
            return str(value)
        case bool() | np.bool_():
            return "true" if value else "false"
        case int() | np.integer():
            return _digits(Decimal(int(value)))
        case np.datetime64():
            return _time(value)
        case float() | np.floating():
            most = SHORT if isinstance(value, np.float32) and not isinstance(value, float) else BIG
            return _digits(Decimal(repr(float(value)))) if abs(value) < most else None
        case Decimal():
            return _digits(value) if value.is_finite() else None
        case pd.Timestamp() | dt.datetime() | dt.date():
            return _moment(value)
        case uuid.UUID():
            return str(value)
        case _:
            return None  # a duration


def _digits(number: Decimal) -> str | None:
    """All digits, without zeros behind a decimal point; nobody has more than 400 of them before it or that many zeros
    behind it."""
    if number and not -400 <= number.adjusted() < 400:
        return None
    text = format(number, "f")
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text == "-0" else text


def _time(value: np.datetime64) -> str | None:
    if np.isnat(value) or np.datetime_data(value.dtype)[0] in ("ps", "fs", "as"):
        same = not np.isnat(value) and value.astype("datetime64[ns]") == value
        return _time(value.astype("datetime64[ns]")) if same else None
    return _moment(pd.Timestamp(value))


def _moment(value: dt.date) -> str:
    """A day, or a time in UTC down to what it tells; midnight is the day."""
    if not isinstance(value, dt.datetime):
        return value.isoformat()
    fine = getattr(value, "nanosecond", 0)
    if value.tzinfo is not None:
        value = value.astimezone(dt.UTC).replace(tzinfo=None)
    if value.time() == dt.time() and not fine:
        return value.date().isoformat()
    whole = dt.datetime(value.year, value.month, value.day, value.hour, value.minute, value.second, value.microsecond)
    return whole.isoformat(" ", "microseconds") + (f"{fine:03}" if fine else "")


# What fits into a column of a type, and what it is there

ARROW = {
    "BIGINT": pa.int64(), "INTEGER": pa.int32(), "UBIGINT": pa.uint64(), "DOUBLE": pa.float64(), "FLOAT": pa.float32(),
    "DECIMAL": pa.decimal128(38, 10), "HUGEINT": pa.decimal128(38, 0), "VARCHAR": pa.string(), "BOOLEAN": pa.bool_(),
    "DATE": pa.date32(), "TIMESTAMP": pa.timestamp("us"), "TIMESTAMPTZ": pa.timestamp("us", "UTC"),
    "UUID": pa.string(), "NOCASE": pa.string(), "NOTHING": pa.null(),
}  # fmt: skip
RANGES = {
    "BIGINT": (-(2**63), 2**63),
    "INTEGER": (-(2**31), 2**31),
    "UBIGINT": (0, 2**64),
    "HUGEINT": (-(2**120), 2**120),
}


def fits(type_: str, value: Any) -> bool:
    """Can a column of this type hold it as it is?"""
    if value is None:
        return True
    whole = isinstance(value, int) and not isinstance(value, bool)
    match type_:
        case "BIGINT" | "INTEGER" | "UBIGINT" | "HUGEINT":
            return whole and RANGES[type_][0] <= value < RANGES[type_][1]
        case "DOUBLE":
            return type(value) is float or (whole and abs(value) < BIG)
        case "FLOAT":
            return (
                type(value) is np.float32 or (whole and abs(value) < SHORT) or (type(value) is float and value == 0.5)
            )
        case "DECIMAL":
            return (whole and abs(value) < 10**27) or (isinstance(value, Decimal) and _fits_decimal(value))
        case "VARCHAR" | "NOCASE":
            return isinstance(value, str) and not any(0xD800 <= ord(one) < 0xE000 for one in value)
        case "BOOLEAN":
            return isinstance(value, bool)
        case "DATE":
            return type(value) is dt.date
        case "TIMESTAMP" | "TIMESTAMPTZ":
            return type(value) is dt.datetime and (value.tzinfo is None) == (type_ == "TIMESTAMP")
        case "UUID":
            return isinstance(value, uuid.UUID)
        case _:
            return False


def _fits_decimal(value: Decimal) -> bool:
    return value.is_finite() and value.adjusted() < 27 and int(value.as_tuple().exponent) >= -10


def inferred(values: list[Any], *, nullable: bool) -> str:
    """The type that a program would choose for these values; without nullable types a missing number makes floats."""
    own = [value for value in values if value is not None]
    if not own:
        return "NOTHING" if nullable else "DOUBLE"
    if all(fits("BIGINT", value) for value in own):
        return "BIGINT" if nullable or len(own) == len(values) else "DOUBLE"
    if all(fits("BIGINT", value) or type(value) is float for value in own):
        return "DOUBLE"
    for type_ in ("BOOLEAN", "DATE", "TIMESTAMP", "DECIMAL"):
        if all(fits(type_, value) for value in own):
            return type_
    return "VARCHAR"


def stored(type_: str, value: Any) -> Any:
    """What a column of this type makes of it."""
    if value is None or fits(type_, value):
        return np.float32(value) if type_ == "FLOAT" and value is not None else _float(value, type_)
    return float(value) if type_ == "DOUBLE" else _name(value)


def _float(value: Any, type_: str) -> Any:
    return float(value) if type_ == "DOUBLE" and value is not None else value


def column(type_: str, values: list[Any]) -> pa.Array:
    """As an Arrow array."""
    match type_:
        case "UUID":
            values = [None if value is None else str(value) for value in values]
        case "DECIMAL" | "HUGEINT":
            digits = Decimal(1).scaleb(-10 if type_ == "DECIMAL" else 0)
            values = [None if value is None else _exact(value, digits) for value in values]
        case _:
            pass
    return pa.array(values, ARROW[type_], from_pandas=False)


def _exact(value: Any, digits: Decimal) -> Decimal:
    import decimal  # noqa: PLC0415

    with decimal.localcontext(prec=60):
        return Decimal(value).quantize(digits)


def encoded(value: Any, encoding: str) -> bytes | None:
    """A field of a CSV file in this encoding, damaged ones included; None if it cannot be written."""
    if isinstance(value, str):
        text = value
    elif isinstance(value, bool | int | float | Decimal | dt.date | uuid.UUID) and not isinstance(value, np.generic):
        text = "" if isinstance(value, int) and abs(value) > 10**1000 else str(value)  # Python writes no longer ones
    else:
        return None
    errors = "surrogatepass" if encoding.startswith("utf-16") else "surrogateescape"
    try:
        return text.encode(encoding, errors)
    except UnicodeEncodeError:
        return None


def plain_codec(encoding: str) -> str:
    """The codec of a field: the mark of the byte order stands at the beginning of the file only."""
    return "utf-16-le" if codecs.lookup(encoding).name == "utf-16" else encoding


def everything() -> Iterator[Any]:
    for family in FAMILIES:
        yield from family

"""Functions of one value in words close to SQL, with the words of that value inside."""

from __future__ import annotations

from typing import assert_never

from privet.core import expression as e
from privet.core.rational import show
from privet.report.terminal import one_line

OneValue = (
    e.Modulo | e.Power | e.Shifted | e.Local | e.Written | e.Recased | e.Trimmed | e.Length | e.Sliced
    | e.Replaced | e.Piece | e.Like
)  # fmt: skip
TRIM = {e.Side.BOTH: "TRIM", e.Side.START: "LTRIM", e.Side.END: "RTRIM"}
FORMATS = {e.Period.YEAR: "YYYY", e.Period.MONTH: "YYYY-MM", e.Period.DAY: "YYYY-MM-DD"}


def words_of_function(function: OneValue, item: str) -> str:
    match function:
        case e.Modulo(_, divisor):
            return f"({item} % {show(divisor)})"
        case e.Power(_, exponent):
            return f"POWER({item}, {exponent})"
        case e.Shifted():
            return f"({item} + INTERVAL '{_interval(function)}')"
        case e.Local(_, zone):
            return f"({item} AT TIME ZONE {_text(zone)})"
        case e.Written(period):
            return f"TO_CHAR({item}, '{FORMATS[period]}')"
        case e.Recased(letters):
            return f"{letters.upper()}({item})"
        case e.Trimmed(side):
            return f"{TRIM[side]}({item})"
        case e.Length():
            return f"LENGTH({item})"
        case e.Sliced(_, start, stop):
            return _sliced(item, start, stop)
        case e.Replaced(_, old, new):
            return f"REPLACE({item}, {_text(old)}, {_text(new)})"
        case e.Piece(_, separator, place):
            return f"SPLIT_PART({item}, {_text(separator)}, {place})"
        case e.Like(_, pattern):
            return f"({item} LIKE {_text(pattern)})"
        case _:
            assert_never(function)


def _interval(moved: e.Shifted) -> str:
    parts = [(moved.months, "months"), (moved.days, "days"), (moved.microseconds, "microseconds")]
    return " ".join(f"{number} {unit}" for number, unit in parts if number) or "0 days"


def _sliced(item: str, start: int, stop: int | None) -> str:
    if start < 0:
        item, start = f"RIGHT({item}, {-start})", 0
    if stop is not None and (stop < 0 or not start):
        item, stop = f"LEFT({item}, {stop})", None
    if not start and stop is None:
        return item
    size = "" if stop is None else f", {max(0, stop - start)}"
    return f"SUBSTRING({item}, {start + 1}{size})"


def _text(value: str) -> str:
    return "'" + one_line(value).replace("'", "''") + "'"

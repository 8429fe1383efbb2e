"""How the texts of one column are written, where numbers and dates are not as usual. The owner declares it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from privet.core.rational import show
from privet.core.schema import Date, Integer, Kind, Number, Timestamp
from privet.errors import InvalidInputError

CODES = {
    "d": "day", "m": "month", "b": "month", "B": "month", "Y": "year", "y": "year", "H": "hour", "I": "hour",
    "M": "minute", "S": "second", "f": "fraction", "p": "half", "z": "offset",
}  # fmt: skip
DAY = {"day", "month", "year"}
NEEDS = {"minute": "hour", "second": "minute", "fraction": "second"}
OFFSETS = ("utc", "ignore")
LONGEST_MARK, MOST_MARKS = 20, 20
PART = re.compile("%(.?)|([^%]+)", re.DOTALL)
_MARK = re.compile(r"(?![eE][+-]?[0-9])[^0-9+\-.,\s](.*\S)?", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Writing:
    """Of dates and timestamps `date_format`, such as "%m/%d/%Y %H:%M", and `offset`: "utc" makes 12:00 of 14:00+02:00,
    "ignore" keeps 14:00. Of numbers the decimal mark, the mark between thousands, and `marks`, such as "$", "%" or
    "kg", one of which may stand before or behind a number. What is not said is as in the table's source."""

    date_format: str | None = None
    offset: str | None = None
    decimal: str | None = None
    thousands: str | None = None
    marks: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if isinstance(self.marks, list):
            object.__setattr__(self, "marks", tuple(self.marks))
        if self.date_format is not None:
            _check_format(self.date_format)
        if self.offset not in (None, *OFFSETS):
            raise InvalidInputError(
                f"offset must be 'utc' or 'ignore', not {show(self.offset)}",
                'write offset = "utc" (14:00+02:00 is 12:00) or offset = "ignore" (it is 14:00)',
                "unknown-choice",
            )
        self._check_zone()
        if self.decimal not in (None, ".", ","):
            raise InvalidInputError(
                f"decimal must be '.' or ',', not {show(self.decimal)}", 'give "." or ","', "unknown-choice"
            )
        if self.thousands is not None and not (self.thousands == "" or is_thousands_mark(self.thousands)):
            raise InvalidInputError(
                f"thousands must be one mark, not {show(self.thousands)}", 'for example "," or "."', "invalid-mark"
            )
        _check_marks(self.marks)

    def _check_zone(self) -> None:
        named = self.date_format is not None and self.date_format.endswith("%z")
        if named and self.offset is None:
            raise InvalidInputError(
                f"date_format {show(self.date_format)} has %z, but nothing says what an offset means",
                'add offset = "utc" (14:00+02:00 is 12:00) or offset = "ignore" (it is 14:00)',
                "missing-option",
            )
        if self.date_format is not None and self.offset is not None and not named:
            raise InvalidInputError(
                f"offset is declared, but date_format {show(self.date_format)} does not end in %z",
                "end date_format in %z, or leave offset out",
                "contradictory-options",
            )

    @property
    def given(self) -> dict[str, Any]:
        """What was said, by its name."""
        return {part.name: value for part in fields(self) if (value := getattr(self, part.name)) != part.default}


NAMES = tuple(part.name for part in fields(Writing))
OF_DATES, OF_NUMBERS = {"date_format", "offset"}, {"decimal", "thousands", "marks"}


def writing_from(given: object, kind: Kind) -> Writing:
    """From a Writing, or from its parts by name; checked against what the column is."""
    if isinstance(given, Mapping):
        unknown = [name for name in given if name not in NAMES]
        if unknown:
            raise InvalidInputError(
                f"{show(unknown[0])} is not an option for how a column is written",
                f"the options are: {', '.join(NAMES)}",
                "unknown-option",
            )
        given = Writing(**given)
    if not isinstance(given, Writing):
        raise InvalidInputError(
            f"{show(given)} cannot describe how a column is written",
            'for example {"date_format": "%d.%m.%Y"}',
            "wrong-type",
        )
    known = options_of(type(kind))
    for name in given.given:
        if name not in known:
            raise InvalidInputError(
                f"{name} does not apply to a column of kind {type(kind).__name__.lower()}",
                f"leave it out, or declare {'a date or timestamp' if name in OF_DATES else 'an integer or number'}",
                "unneeded-option",
            )
    return given


def options_of(kind: type[Kind]) -> set[str]:
    """What can be said of a column of this kind."""
    return OF_DATES if kind in (Date, Timestamp) else OF_NUMBERS if kind in (Integer, Number) else set()


def parts_of(date_format: str) -> list[tuple[str, str]]:
    """The codes and the texts between them, in order: ("Y", "") and ("", "-")."""
    return [(found[1] or "", found[2] or "") for found in PART.finditer(date_format)]


def is_thousands_mark(text: object) -> bool:
    return isinstance(text, str) and len(text) == 1 and text not in "+-0123456789eE\0"


def _check_format(text: object) -> None:
    if not isinstance(text, str):
        raise InvalidInputError(f"date_format must be a text, not {show(text)}", 'for example "%d.%m.%Y"', "wrong-type")
    parts = parts_of(text)
    codes = [CODES.get(code, "") for code, literal in parts if not literal]
    said = set(codes)
    if "" in codes or len(said) < len(codes) or not said >= DAY:
        raise InvalidInputError(
            f"date_format {show(text)} does not name day, month and year once each",
            'use %d, %m (or %b, %B) and %Y (or %y), such as "%d.%m.%Y"; for times also %H (or %I with %p), %M, %S, %f,'
            " and %z at its end",
            "wrong-format",
        )
    fault = _fault(parts, said)
    if fault:
        raise InvalidInputError(f"date_format {show(text)} {fault[0]}", fault[1], "wrong-format")


def _fault(parts: list[tuple[str, str]], said: set[str]) -> tuple[str, str] | None:
    """What is wrong, and what to write."""
    lacking = [(part, needed) for part, needed in NEEDS.items() if part in said and needed not in said]
    if lacking:
        return f"has a {lacking[0][0]} and no {lacking[0][1]}", "for example %H:%M:%S.%f"
    hour = next((code for code, _ in parts if CODES.get(code) == "hour"), "")
    if (hour == "I") != ("half" in said):
        return "needs %I and %p together", "write %I:%M %p for 02:05 PM, or %H:%M for 14:05"
    if "offset" in said and parts[-1][0] != "z":
        return "has %z before its end", "write %z last"
    if any(re.search("[0-9\0]", literal) for _, literal in parts):
        return "has a digit between its codes", "write codes for all digits, such as %H:%M for 00:00"
    before = dict(zip([code for code, _ in parts], ["", *(literal for _, literal in parts)], strict=False))
    if before.get("f", ".") not in (".", ","):
        return "has %f without a point before it", "write %S.%f"
    return None


def _check_marks(marks: object) -> None:
    if not isinstance(marks, tuple) or not all(isinstance(mark, str) for mark in marks):
        raise InvalidInputError(
            f"marks must be a list of texts, not {show(marks)}", 'for example marks = ["$"]', "not-a-list"
        )
    if len(marks) > MOST_MARKS or len(set(marks)) < len(marks):
        raise InvalidInputError(
            f"marks must be at most {MOST_MARKS} different texts", "leave some out", "duplicate-value"
        )
    for mark in marks:
        if not _MARK.fullmatch(mark) or len(mark) > LONGEST_MARK or "\0" in mark:
            raise InvalidInputError(
                f"{show(mark)} cannot be a mark beside a number",
                f'give 1 to {LONGEST_MARK} characters that do not begin like a number, for example "$", "%" or "kg"',
                "invalid-mark",
            )

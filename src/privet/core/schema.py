"""What the owner declares about a column: which values there can be, and on which grid of whole steps they lie."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import TypeVar

from privet.core.rational import positive, rational, show, whole
from privet.errors import InvalidInputError

Moment = TypeVar("Moment", dt.date, dt.datetime)
FLAGS = ("never_missing", "constant_per_unit")
EPOCH = dt.datetime(1970, 1, 1)  # times are kept as declared, without a zone


@dataclass(frozen=True, slots=True, repr=False, init=False)
class Declared:
    """What all kinds share. With `never_missing` a value that is missing or cannot be read counts as the lowest one: of
    a category the first that is listed, of a boolean false, of a text the empty text. No row is dropped for it. With
    `constant_per_unit` all rows of a unit have the same value, so a unit counts in one group by such columns."""

    never_missing: bool
    constant_per_unit: bool

    def _set_flags(self, never_missing: object, constant_per_unit: object) -> None:
        for name, given in zip(FLAGS, (never_missing, constant_per_unit), strict=True):
            if not isinstance(given, bool):
                raise InvalidInputError(
                    f"{name} must be true or false, not {show(given)}", f"give {name}=True", "wrong-type"
                )
            object.__setattr__(self, name, given)

    def __repr__(self) -> str:
        """Names a declaration in digests that were stored before there were flags: only true ones are shown."""
        named = [part.name for part in fields(self) if part.name not in FLAGS]
        named += [name for name in FLAGS if getattr(self, name)]
        shown = [f"{name}={getattr(self, name)!r}" for name in named]
        return f"{type(self).__name__}({', '.join(shown)})"


@dataclass(frozen=True, slots=True, repr=False)
class Integer(Declared):
    """Whole numbers from low to high."""

    low: int
    high: int

    def __init__(
        self, low: object, high: object, *, never_missing: object = False, constant_per_unit: object = False
    ) -> None:
        self._set_flags(never_missing, constant_per_unit)
        object.__setattr__(self, "low", whole(low, "low"))
        object.__setattr__(self, "high", whole(high, "high"))
        _check_order(self.low, self.high)

    @property
    def steps(self) -> tuple[int, int]:
        return self.low, self.high


@dataclass(frozen=True, slots=True, repr=False)
class Number(Declared):
    """Numbers from low to high, rounded to multiples of step. Low and high are multiples themselves."""

    low: Fraction
    high: Fraction
    step: Fraction

    def __init__(
        self,
        low: object,
        high: object,
        *,
        step: object,
        never_missing: object = False,
        constant_per_unit: object = False,
    ) -> None:
        self._set_flags(never_missing, constant_per_unit)
        object.__setattr__(self, "low", rational(low, "low"))
        object.__setattr__(self, "high", rational(high, "high"))
        object.__setattr__(self, "step", positive(step, "step"))
        _check_order(self.low, self.high)
        for name, bound in (("low", self.low), ("high", self.high)):
            if bound % self.step:
                raise InvalidInputError(
                    f"{name} {show(bound)} is not a multiple of step {show(self.step)}",
                    f"move {name} to a multiple of step, or use a finer step",
                    "contradiction",
                )

    @property
    def steps(self) -> tuple[int, int]:
        return int(self.low / self.step), int(self.high / self.step)


@dataclass(frozen=True, slots=True, repr=False)
class Boolean(Declared):
    """True or false; 1 or 0 in a sum."""

    def __init__(self, *, never_missing: object = False, constant_per_unit: object = False) -> None:
        self._set_flags(never_missing, constant_per_unit)

    @property
    def steps(self) -> tuple[int, int]:
        return 0, 1


@dataclass(frozen=True, slots=True, repr=False)
class Category(Declared):
    """One of a list of values that anybody may know."""

    values: tuple[str, ...]

    def __init__(
        self, values: Sequence[str], *, never_missing: object = False, constant_per_unit: object = False
    ) -> None:
        self._set_flags(never_missing, constant_per_unit)
        listed = (values,) if isinstance(values, str) else tuple(values) if isinstance(values, list | tuple) else ()
        if not listed or not all(isinstance(value, str) for value in listed):
            raise InvalidInputError(
                "a category needs a list of texts", 'for example Category(["A", "B"])', "not-a-list"
            )
        if len(set(listed)) < len(listed):
            raise InvalidInputError("a category lists a value twice", "list each value once", "duplicate-value")
        object.__setattr__(self, "values", listed)


@dataclass(frozen=True, slots=True, repr=False)
class Date(Declared):
    """Days from low to high, in steps of one day since 1970-01-01."""

    low: dt.date
    high: dt.date

    def __init__(
        self, low: object, high: object, *, never_missing: object = False, constant_per_unit: object = False
    ) -> None:
        self._set_flags(never_missing, constant_per_unit)
        object.__setattr__(self, "low", _date(low, "low"))
        object.__setattr__(self, "high", _date(high, "high"))
        _check_order(self.low, self.high)

    @property
    def steps(self) -> tuple[int, int]:
        return (self.low - EPOCH.date()).days, (self.high - EPOCH.date()).days


@dataclass(frozen=True, slots=True, repr=False)
class Timestamp(Declared):
    """Times from low to high, in steps of one microsecond since 1970-01-01; no time zone."""

    low: dt.datetime
    high: dt.datetime

    def __init__(
        self, low: object, high: object, *, never_missing: object = False, constant_per_unit: object = False
    ) -> None:
        self._set_flags(never_missing, constant_per_unit)
        object.__setattr__(self, "low", _time(low, "low"))
        object.__setattr__(self, "high", _time(high, "high"))
        _check_order(self.low, self.high)

    @property
    def steps(self) -> tuple[int, int]:
        microsecond = dt.timedelta(microseconds=1)
        return (self.low - EPOCH) // microsecond, (self.high - EPOCH) // microsecond


@dataclass(frozen=True, slots=True, repr=False)
class Text(Declared):
    """Any text; its values are not public."""

    def __init__(self, *, never_missing: object = False, constant_per_unit: object = False) -> None:
        self._set_flags(never_missing, constant_per_unit)


Kind = Integer | Number | Boolean | Category | Date | Timestamp | Text


def _check_order(low: object, high: object) -> None:
    if not low <= high:  # type: ignore[operator]  # also when they cannot be compared, as with NaT
        raise InvalidInputError(
            f"low {show(low)} is above high {show(high)}", "give the smaller bound first", "reversed-range"
        )


def _date(value: object, name: str) -> dt.date:
    if isinstance(value, dt.date) and not isinstance(value, dt.datetime):
        return value
    return _parsed(dt.date.fromisoformat, value, name, "2020-01-31")


def _time(value: object, name: str) -> dt.datetime:
    time = (
        value if isinstance(value, dt.datetime) else _parsed(dt.datetime.fromisoformat, value, name, "2020-01-31T12:00")
    )
    if time.tzinfo is not None:
        raise InvalidInputError(
            f"{name} has a time zone", f"give {name} in the zone of the data, without naming it", "not-supported"
        )
    return time


def _parsed(read: Callable[[str], Moment], value: object, name: str, example: str) -> Moment:
    try:
        return read(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise InvalidInputError(
            f"{name} {show(value)} is not a date or time that can be read", f'for example "{example}"', "not-a-date"
        ) from None

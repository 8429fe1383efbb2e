"""Published numbers: what "33.5, rounded to one decimal" or "suppressed, below 3" says about the true number.

Where a number can be meant in two ways, the wider reading is taken: a proof must hold in both.
"""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import ceil, floor
from typing import Any

from privet.attacks.release.statistics import (  # fmt: skip
    EVERYBODY,
    Between,
    Largest,
    Mark,
    Mean,
    Measure,
    Quantile,
    Share,
    Smallest,
    Total,
)
from privet.catalog.declarations import inside, listed
from privet.core.expression import Expression, Value
from privet.core.rational import positive, rational, show, whole
from privet.errors import InvalidInputError
from privet.records.conditions import Conditions, grid_of

ROUNDINGS = ("exact", "decimals", "rounded", "random_rounded")
BOUNDS = ("below", "above", "least", "most")
QUALIFIERS = (*ROUNDINGS, *BOUNDS)
WORDS = ("value", *QUALIFIERS, "level", "discrete", "of")  # no measured attribute can have such a name
MEASURES = ("sum", "mean", "median", "quantile", "min", "max")
SAID = ("count", "percent", *MEASURES)
FINEST = 30  # decimals
DIGITS = 15  # of a double that are certain; a workbook's 33.333333333333336 says no more than that
HALF = Fraction(1, 2)


@dataclass(frozen=True, slots=True)
class Scale:
    """What the true number can be: between least and most, on multiples of grid.

    `exact_from` says when a number without a qualifier is exact: if its last digit stands at this place or a finer one.
    Otherwise, or if it is None, the number was rounded to the decimals that were written.
    """

    exact_from: Fraction | None = None
    least: Fraction | None = None
    most: Fraction | None = None
    grid: Fraction | None = None


COUNT = Scale(exact_from=Fraction(1), least=Fraction(0), grid=Fraction(1))
PERCENT = Scale(least=Fraction(0), most=Fraction(100))


def between(given: Mapping[str, Any], scale: Scale) -> Between:
    """Where the true number lies, by the value and the qualifiers in `given`."""
    only(given, ("value", *QUALIFIERS))
    rounding = [name for name in ROUNDINGS if name in given]
    if len(rounding) > 1:
        raise InvalidInputError(
            f"{' and '.join(rounding)} contradict each other", "keep one of them", "contradictory-options"
        )
    if "value" not in given and (rounding or not given):
        raise InvalidInputError(
            "the published number is missing", "add value = ..., or below = ... if it is suppressed", "missing-entry"
        )
    lows, highs = [scale.least], [scale.most]
    if "value" in given:
        low, high = _around(given, rounding, scale)
        lows.append(low)
        highs.append(high)
    bounds = {name: rational(given[name], name) for name in BOUNDS if name in given}
    lows += [bounds.get("least"), _beyond(bounds.get("above"), scale.grid, 1)]
    highs += [bounds.get("most"), _beyond(bounds.get("below"), scale.grid, -1)]
    return _meeting([low for low in lows if low is not None], [high for high in highs if high is not None], scale.grid)


def only(given: Mapping[str, Any], known: Iterable[str]) -> None:
    """Refuse a key that nobody reads: a misspelled qualifier would be a silent assumption."""
    for name in given:
        if name not in known:
            raise InvalidInputError(f"there is an unknown entry {show(name)}", f"use {listed(known)}", "unknown-entry")


def mapping(value: object, name: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise InvalidInputError(
            f"{name} must be a table, not {show(value)}", f"write {name} as name = value pairs", "not-a-table"
        )
    return value


def sequence(value: object, name: str) -> list[Any]:
    if not isinstance(value, list | tuple):
        raise InvalidInputError(f"{name} must be a list, not {show(value)}", f"write {name} = [...]", "not-a-list")
    return list(value)


def _number(value: object, scale: Scale) -> Fraction:
    """The number itself, if it can be true at all."""
    if isinstance(value, bool | str):
        raise InvalidInputError(
            f"{show(value)} is not a number", "write a number such as 4 or 33.5, without quotes", "not-a-number"
        )
    number = rational(value, "the published number")
    if scale.least is not None and number < scale.least:
        raise InvalidInputError(f"{show(value)} is negative", "publish 0 or more", "negative")
    if scale.most is not None and number > scale.most:
        raise InvalidInputError(f"{show(value)} is above {scale.most}", f"publish at most {scale.most}", "too-large")
    return number


def _around(given: Mapping[str, Any], rounding: list[str], scale: Scale) -> tuple[Fraction, Fraction]:
    """From the smallest to the largest number that would have been published as this one."""
    number = _number(given["value"], scale)
    match rounding:
        case []:
            unit = written_unit(given["value"])
            width = Fraction(0) if scale.exact_from is not None and unit <= scale.exact_from else unit * HALF
        case ["exact"]:
            if given["exact"] is not True:
                raise InvalidInputError(
                    f"exact is {show(given['exact'])}", "write exact = true or leave it out", "unknown-choice"
                )
            width = Fraction(0)
        case ["decimals"]:
            decimals = whole(given["decimals"], "decimals", 0)
            if decimals > FINEST:
                raise InvalidInputError(f"decimals is {show(decimals)}", f"write at most {FINEST}", "too-large")
            width = _base(number, Fraction(10) ** -decimals, given, "decimals") * HALF
        case ["rounded"]:
            width = _base(number, positive(given["rounded"], "rounded"), given, "rounded") * HALF
        case _:
            base = _base(number, positive(given["random_rounded"], "random_rounded"), given, "random_rounded")
            return _beyond(number - base, scale.grid, 1), _beyond(number + base, scale.grid, -1)
    return number - width, number + width


def _base(number: Fraction, base: Fraction, given: Mapping[str, Any], name: str) -> Fraction:
    if number % base:
        raise InvalidInputError(
            f"{show(given['value'])} cannot be the result of {name} = {show(given[name])}",
            f"correct the number, or leave {name} out",
            "contradiction",
        )
    return base


def written_unit(value: object) -> Fraction:
    """The place of the last digit that was written: 38 -> 1, 38.0 -> 1/10; 0 for a fraction, which is exact."""
    if isinstance(value, numbers.Integral):
        return Fraction(1)
    if isinstance(value, numbers.Rational):
        return Fraction(0)
    decimal = value if isinstance(value, Decimal) else Decimal(str(value))
    last = min(int(decimal.as_tuple().exponent), 0)
    return Fraction(10) ** max(last, decimal.adjusted() - DIGITS + 1)


def _beyond(bound: Any, grid: Fraction | None, direction: int) -> Any:
    """The first multiple of the grid strictly beyond a bound. Without a grid the bound itself: wider by one point."""
    if bound is None or grid is None:
        return bound
    steps = floor(bound / grid) + 1 if direction > 0 else ceil(bound / grid) - 1
    return steps * grid


def _meeting(lows: list[Fraction], highs: list[Fraction], grid: Fraction | None) -> Between:
    low, high = max(lows, default=None), min(highs, default=None)
    if grid is not None:
        low = low if low is None else ceil(low / grid) * grid
        high = high if high is None else floor(high / grid) * grid
    if low is not None and high is not None and low > high:
        remedy = "check the number and what is said about it"
        if grid is not None:
            remedy += f"; only multiples of {grid} are possible"
        raise InvalidInputError("no number fits what was published", remedy, "contradiction")
    return Between(low, high)


# What a statistic says


def suppression(kind: object) -> Mark:
    """Why a cell was suppressed: by the rule itself, or so that others cannot be computed."""
    if kind == "primary" or kind == "complementary":  # noqa: PLR1714  so that mypy sees which
        return kind
    raise InvalidInputError(
        f"{show(kind)} is no kind of suppression", 'write "primary" or "complementary"', "unknown-choice"
    )


@contextmanager
def at(place: str) -> Iterator[None]:
    """An error inside says where it was."""
    try:
        yield
    except InvalidInputError as error:
        raise inside(place, error) from None


class Reader:
    """Reads what was published about a group: the same keys in the file, in Python and behind a sheet's columns."""

    def __init__(self, attributes: Mapping[str, tuple[Value, ...]]) -> None:
        self.attributes = attributes
        self.conditions = Conditions(attributes)
        self._grids: dict[str, Fraction] = {}

    def count(self, given: Any) -> tuple[Between, Mark]:
        """What is known of a count, and why it is not exact. {suppressed = "complementary"} alone tells no number."""
        with at("count"):
            table = dict(given) if isinstance(given, Mapping) else {"value": given}
            if "suppressed" not in table:
                found = between(table, COUNT)
                return found, "rounded" if "value" in table and found.low != found.high else ""
            kind = suppression(table.pop("suppressed"))
            if "value" in table:
                raise InvalidInputError(
                    "it is suppressed and has a value", "leave one of them out", "contradictory-options"
                )
            return between(table, COUNT) if table else Between(COUNT.least), kind

    def measures(self, given: Mapping[str, Any]) -> tuple[Measure, ...]:
        """All but the count, in the order of the file. A list holds several tables of the same measure."""
        return tuple(
            measure
            for name, entries in given.items()
            if name in (*MEASURES, "percent")
            for entry in (entries if isinstance(entries, list | tuple) else [entries])
            for measure in self._measure(name, entry)
        )

    def share(self, given: Mapping[str, Any], of: Expression) -> Share:
        found = between(given, PERCENT)
        return Share(Between(_hundredth(found.low), _hundredth(found.high)), of)

    def _measure(self, name: str, entry: Any) -> list[Measure]:
        with at(name):
            if name == "percent":
                own = dict(entry) if isinstance(entry, Mapping) else {"value": entry}
                of = self.conditions.read(own.pop("of")) if "of" in own else EVERYBODY
                return [self.share(own, of)]
            table = self._measured(name, entry)
        found: list[Measure] = []
        for attribute, value in table.items():
            with at(f"{name} of {attribute}"):
                found.append(self._of(name, attribute, value, entry))
        return found

    def _measured(self, name: str, entry: Any) -> dict[str, Any]:
        """attribute -> its number or table, without the qualifiers that all of them share."""
        if not isinstance(entry, Mapping):
            raise InvalidInputError(
                f"{show(entry)} does not say of which attribute", f"write {name} = {{age = 33.5}}", "not-a-table"
            )
        shared = {*QUALIFIERS, *_options(name)}
        table = {key: value for key, value in entry.items() if key not in shared}
        for attribute in table:
            self.check_measured(attribute, name, shared)
        if not table:
            raise InvalidInputError("it names no attribute", f"write {name} = {{age = 33.5}}", "missing-entry")
        return table

    def check_measured(self, attribute: object, name: str, qualifiers: Iterable[str] = QUALIFIERS) -> None:
        """Only numbers can be measured."""
        if not isinstance(attribute, str) or attribute not in self.attributes:
            raise InvalidInputError(
                f"there is no attribute {show(attribute)}",
                f"the attributes are {listed(self.attributes)}; the qualifiers are {listed(qualifiers)}",
                "unknown-attribute",
            )
        if not isinstance(self.attributes[attribute][0], Fraction):
            raise InvalidInputError(
                f"{attribute} is not a number, so it has no {name}",
                "publish a count with a condition instead",
                "type-mismatch",
            )

    def _of(self, name: str, attribute: str, value: Any, entry: Mapping[str, Any]) -> Measure:
        """One number. The qualifiers in its own table replace the shared ones."""
        options = {key: entry[key] for key in _options(name) if key in entry}
        shared = {key: entry[key] for key in QUALIFIERS if key in entry}
        own = dict(value) if isinstance(value, Mapping) else {"value": value}
        options |= {key: own.pop(key) for key in _options(name) if key in own}
        given = own if set(own) - {"value"} else shared | own
        grid = self._grid(attribute)
        match name:
            case "sum":
                return Total(attribute, between(given, Scale(grid=grid)))
            case "mean":
                return Mean(attribute, between(given, Scale()))
            case "min":
                return Smallest(attribute, between(given, Scale(exact_from=grid, grid=grid)))
            case "max":
                return Largest(attribute, between(given, Scale(exact_from=grid, grid=grid)))
            case "median":  # somebody's value, or the middle of two
                return Quantile(attribute, between(given, Scale(exact_from=grid)), HALF, _discrete(options))
            case _:
                return Quantile(attribute, between(given, Scale()), _level(options), _discrete(options))

    def _grid(self, attribute: str) -> Fraction:
        if attribute not in self._grids:
            self._grids[attribute] = grid_of(self.attributes[attribute])
        return self._grids[attribute]


def _options(name: str) -> tuple[str, ...]:
    return {"median": ("discrete",), "quantile": ("level", "discrete")}.get(name, ())


def _level(options: Mapping[str, Any]) -> Fraction:
    if "level" not in options:
        raise InvalidInputError("level is missing", "add such as level = 0.75", "missing-entry")
    level = rational(options["level"], "level")
    if not 0 < level < 1:
        raise InvalidInputError(
            f"level {show(options['level'])} is not between 0 and 1",
            "write such as level = 0.75, or use min or max",
            "out-of-range",
        )
    return level


def _discrete(options: Mapping[str, Any]) -> bool:
    discrete = options.get("discrete", False)
    if not isinstance(discrete, bool):
        raise InvalidInputError(
            f"discrete is {show(discrete)}", "write discrete = true or discrete = false", "wrong-type"
        )
    return discrete


def _hundredth(bound: Fraction | None) -> Fraction | None:
    return None if bound is None else bound / 100

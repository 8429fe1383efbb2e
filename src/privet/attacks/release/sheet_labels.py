"""What a label beside or above a cell means: a value, a band such as 18-24, a total, or what the file says it means."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

from privet.attacks.release.published import Reader, at, mapping
from privet.attacks.release.sheet_cells import number_of
from privet.attacks.release.statistics import EVERYBODY
from privet.catalog.declarations import listed
from privet.core.evaluate import evaluate
from privet.core.expression import And, Column, Compare, Expression, In, Literal, Relation, Value
from privet.core.rational import rational, show
from privet.errors import InvalidInputError

TOTALS = (
    "total", "totals", "all", "any", "both", "both sexes", "all ages", "all persons", "all people", "persons",
    "everybody", "everyone",
)  # fmt: skip
TRUTHS = {"true": True, "yes": True, "false": False, "no": False}
NUMBER = r"([+-]?\d[\d.,]*)"
MORE, LESS = "(?:over|above|older|more|upwards?)", "(?:under|below|younger|less)"
BANDS: tuple[tuple[re.Pattern[str], tuple[Relation, ...]], ...] = tuple(
    (re.compile(pattern.replace("N", NUMBER)), relations)
    for pattern, relations in (
        ("N", (Relation.EQUAL,)),
        (r"(?:from )?N ?(?:-|to) ?N", (Relation.GREATER_EQUAL, Relation.LESS_EQUAL)),
        (rf"N ?(?:-|to) {LESS} ?N", (Relation.GREATER_EQUAL, Relation.LESS)),
        (rf"N ?\+|N (?:and|or) {MORE}|(?:>=|≥|at least|from) ?N", (Relation.GREATER_EQUAL,)),
        (r"(?:>|over|above|more than|older than) ?N", (Relation.GREATER,)),
        (r"(?:<|under|below|less than|younger than) ?N", (Relation.LESS,)),
        (rf"N (?:and|or) {LESS}|(?:<=|≤|up to|at most) ?N", (Relation.LESS_EQUAL,)),
    )
)
DASHES = re.compile("[\u2010-\u2015\u2212]")
UNITS = re.compile(r"\b(?:aged?|ages|(?:years?|yrs?)(?: old)?)\b")


def folded(text: str) -> str:
    """Case and spaces do not tell labels apart."""
    return " ".join(text.split()).casefold()


def both(parts: Iterable[Expression]) -> Expression:
    """All of these conditions at once."""
    kept = tuple(part for part in parts if part != EVERYBODY)
    return EVERYBODY if not kept else kept[0] if len(kept) == 1 else And(kept)


class Labels:
    """Reads the labels of one table. A name is an attribute, or a section of [labels] with labels of its own."""

    def __init__(self, reader: Reader, point: str, totals: Iterable[str], sections: Any) -> None:
        self._reader, self._point = reader, point
        self._totals = {folded(total) for total in (*TOTALS, *totals)}
        self._said = {
            name: self._section(name, mapping(section, f"labels.{name}"))
            for name, section in mapping(sections, "labels").items()
        }

    def check(self, name: object) -> str:
        """The name under which labels can be asked for."""
        known = {*self._reader.attributes, *self._said}
        same = [other for other in known if isinstance(name, str) and folded(other) == folded(name)]
        if isinstance(name, str) and name in known:
            return name
        if len(same) == 1:
            return same[0]
        raise InvalidInputError(
            f"there is no attribute or [labels] section {show(name)}",
            f"use {listed(known)}, or write {{column = ..., attribute = ...}}",
            "unknown-attribute",
        )

    def group(self, name: str, label: str) -> Expression:
        """Of whom a label speaks."""
        said = self._said.setdefault(name, {})
        key = folded(label)
        if key not in said:
            said[key] = self._meant(name, label, key)
        return said[key]

    def _meant(self, name: str, label: str, key: str) -> Expression:
        values = self._reader.attributes.get(name, ())
        found = self._own(name, values, label, key)
        if found is not None:
            return found
        if key in self._totals or key in (f"all {folded(name)}", f"all {folded(name)}s"):
            return EVERYBODY
        if values and isinstance(values[0], Fraction):
            found = self._band(name, values, key)
        if found is None:
            shown = ", ".join(show(str(value)) for value in values[:12]) or "only what [labels] says"
            raise InvalidInputError(
                f"{show(label)} is no {name}",
                f"{name} can be {shown}; say in [labels.{name}] what other labels mean",
                "not-declared",
            )
        return found

    def _own(self, name: str, values: tuple[Value, ...], label: str, key: str) -> Expression | None:
        """A text that is a value; upper and lower case may differ if only one value fits."""
        if values and isinstance(values[0], bool) and key in TRUTHS:
            return _equal(name, TRUTHS[key])
        if label in values:
            return _equal(name, label)
        fitting = [value for value in values if isinstance(value, str) and folded(value) == key]
        return _equal(name, fitting[0]) if len(fitting) == 1 else None

    def _band(self, name: str, values: tuple[Value, ...], key: str) -> Expression | None:
        text = " ".join(UNITS.sub(" ", DASHES.sub("-", key)).split())
        for pattern, relations in BANDS:
            found = pattern.fullmatch(text)
            if found is None:
                continue
            numbers = [number_of(digits, self._point) for digits in found.groups() if digits is not None]
            if None in numbers:
                return None
            band = both(
                Compare(relation, Column(name), Literal(Fraction(number)))
                for relation, number in zip(relations, numbers, strict=True)
                if number is not None
            )
            return band if any(evaluate(band, {name: value}) is True for value in values) else None
        return None

    def _section(self, name: str, section: Mapping[str, Any]) -> dict[str, Expression]:
        found = {}
        for label, meaning in section.items():
            with at(f"labels.{name}: {show(label)}"):
                found[folded(label)] = self._meaning(name, meaning)
        return found

    def _meaning(self, name: str, meaning: Any) -> Expression:
        """A value of the attribute, a list of its values, or a condition."""
        values = self._reader.attributes.get(name, ())
        if isinstance(meaning, str) and meaning not in values:
            return self._reader.conditions.read(meaning)
        listing = meaning if isinstance(meaning, list | tuple) else [meaning]
        exact = tuple(item if isinstance(item, bool | str) else rational(item, "a value") for item in listing)
        if not exact:
            raise InvalidInputError("its list is empty", "list the values that it stands for", "empty")
        for item, value in zip(listing, exact, strict=True):
            if not any(type(value) is type(other) and value == other for other in values):
                raise InvalidInputError(
                    f"{show(item)} is no value of {name}", "write a value or a condition in SQL", "not-declared"
                )
        return _equal(name, exact[0]) if len(exact) == 1 else In(Column(name), exact)


def _equal(name: str, value: Value) -> Expression:
    return Compare(Relation.EQUAL, Column(name), Literal(value))

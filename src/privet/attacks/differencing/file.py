"""Queries and their answers from a readable file, or from the same structure in Python.

docs/attacks/differencing.md has the format.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from privet.attacks.differencing.queries import Measure, Noise, PublishedQuery, Queries, Secret, answered, number
from privet.attacks.promise import Privacy, privacy
from privet.attacks.release.file import document_of
from privet.attacks.release.published import at, mapping, only, sequence
from privet.attacks.release.sheet_cells import Cell, number_of, open_sheet
from privet.attacks.release.statistics import Between
from privet.catalog.declarations import check_name, listed, texts
from privet.core.expression import Value
from privet.core.rational import positive, rational, show, whole
from privet.errors import InvalidInputError
from privet.records.conditions import Conditions, holds

KEYS = ("format", "kind", "people", "id", "delimiter", "secret", "privacy", "queries")
WHO = ("where", "of", "rows")
MEASURES: tuple[Measure, ...] = ("count", "sum", "mean")


@dataclass(frozen=True, slots=True)
class PeopleFile:
    """Names with sizes; where they come from a file, also what anybody can see of each."""

    sizes: dict[str, int]
    records: Mapping[str, Mapping[str, Value]] = field(default_factory=dict)
    conditions: Conditions | None = None


def read_queries(path: Path | str) -> Queries:
    path = Path(path)
    with document_of(path, "queries") as document:
        return replace(queries_of(document, path.parent), subject=path.name)


def queries_of(document: Mapping[str, Any], folder: Path | None = None) -> Queries:
    """What a document says. The file of people that it may name lies in the folder."""
    only(document, KEYS)
    people = _people(document, folder or Path())
    secret = _secret(mapping(document.get("secret", {}), "secret"))
    written = sequence(document.get("queries", []), "queries")
    return Queries(
        people=people.sizes,
        secret=secret,
        queries=tuple(_query(entry, place, people, secret) for place, entry in enumerate(written, 1)),
        privacy=_privacy(document),
    )


def _privacy(document: Mapping[str, Any]) -> Privacy | None:
    if "privacy" not in document:
        return None
    with at("privacy"):
        given = mapping(document["privacy"], "it")
        only(given, ("epsilon", "delta", "neighbors"))
        if "epsilon" not in given:
            raise InvalidInputError(
                "epsilon is missing", "write epsilon = 1, for all answers together", "missing-entry"
            )
        return privacy(**given)


def _secret(given: Mapping[str, Any]) -> Secret:
    with at("secret"):
        only(given, ("name", "values", "rate"))
        name, values = given.get("name", "the condition"), given.get("values", "boolean")
        check_name(name, "a secret")
        if isinstance(values, Mapping):
            only(values, ("min", "max", "step"))
            if not {"min", "max"} <= set(values):
                raise InvalidInputError(
                    "min or max is missing", "for example values = {min = 0, max = 500000}", "missing-entry"
                )
            if "rate" in given:
                raise InvalidInputError("a number has no rate", "leave rate out", "unneeded-option")
            return number(name, values["min"], values["max"], values.get("step", 1))
        if values != "boolean":
            raise InvalidInputError(
                f"values is {show(values)}",
                'write values = "boolean" or values = {min = 0, max = 500000}',
                "wrong-type",
            )
        rate = rational(given["rate"], "rate") if "rate" in given else None
        if rate is not None and not 0 < rate < 1:
            raise InvalidInputError(
                f"rate is {show(given['rate'])}",
                "write a share between 0 and 1, for example rate = 0.02",
                "out-of-range",
            )
        return Secret(name=name, rate=rate)


# People


def _people(document: Mapping[str, Any], folder: Path) -> PeopleFile:
    given = document.get("people")
    with at("people"):
        if isinstance(given, str):
            return _from_file(given, document, folder)
        if "id" in document or "delimiter" in document:
            raise InvalidInputError(
                "id and delimiter need a file of people",
                'write people = "people.csv", or leave them out',
                "unneeded-option",
            )
        sizes = {}
        for name, size in mapping(given, "people").items():
            check_name(name, "a person or group")
            sizes[name] = whole(size, f"the size of {show(name)}", 1)
        return PeopleFile(sizes)


def _from_file(name: str, document: Mapping[str, Any], folder: Path) -> PeopleFile:
    """One row a person, with names in the first row."""
    rows = open_sheet({"file": name, "delimiter": document.get("delimiter", ",")}, folder, None).rows
    filled = [row for row in rows if any(row)]
    if len(filled) < 2:
        raise InvalidInputError(f"{name} has no people", "write the column names, then one row per person", "empty")
    header = [str(cell) for cell in filled[0]]
    for column in header:
        check_name(column, f"a column of {name}")
    if len({column.lower() for column in header}) < len(header):
        raise InvalidInputError(f"{name} has two columns of the same name", "rename one", "duplicate-name")
    for place, row in enumerate(filled[1:], 1):
        if len(row) != len(header):
            raise InvalidInputError(
                f"{name}: person {place} has {len(row)} cells, not {len(header)}", "correct the row", "wrong-length"
            )
    who = document.get("id", header[0])
    if who not in header:
        raise InvalidInputError(
            f"{name} has no column {show(who)}", f"write id = one of {listed(header)}", "unknown-column"
        )
    names = _names([row[header.index(who)] for row in filled[1:]], name)
    columns = {column: _column([row[place] for row in filled[1:]]) for place, column in enumerate(header)}
    columns[str(who)] = list(names)
    records = {
        person: {column: values[place] for column, values in columns.items()} for place, person in enumerate(names)
    }
    known = {column: tuple(dict.fromkeys(v for v in values if v is not None)) for column, values in columns.items()}
    conditions = Conditions({column: values or ("",) for column, values in known.items()})
    return PeopleFile(dict.fromkeys(names, 1), records, conditions)


def _names(cells: Sequence[Cell], file: str) -> list[str]:
    names = [str(cell) for cell in cells]
    for place, name in enumerate(names, 1):
        if not name:
            raise InvalidInputError(
                f"{file}: person {place} has no name", "give everybody a name, or choose another id", "missing-name"
            )
    if len(set(names)) < len(names):
        twice = next(name for place, name in enumerate(names) if name in names[:place])
        raise InvalidInputError(
            f"{file}: two people have the name {show(twice)}", "choose a column of different names as id", "not-unique"
        )
    return names


def _column(cells: Sequence[Cell]) -> list[Value]:
    """Numbers, if all cells are, otherwise texts; an empty cell is unknown."""
    numbers = [number_of(cell, ".") for cell in cells]
    if all(found is not None or not cell for found, cell in zip(numbers, cells, strict=True)):
        return [None if found is None else Fraction(found) for found in numbers]
    return [str(cell) or None for cell in cells]


# Queries


def _query(entry: Any, place: int, people: PeopleFile, secret: Secret) -> PublishedQuery:
    name = entry.get("name") if isinstance(entry, Mapping) else None
    with at(f"query {show(name)}" if isinstance(name, str) else f"query number {place}"):
        given = mapping(entry, "it")
        only(given, ("name", *WHO, *MEASURES, "noise", "known"))
        called = given.get("name", f"query {place}")
        check_name(called, "a query")
        said = [measure for measure in MEASURES if measure in given]
        if len(said) != 1:
            raise InvalidInputError("it must have one answer", "write one of count, sum and mean", "not-exactly-one")
        measure = said[0]
        with at(measure):
            if "noise" not in given:
                noise, value = None, answered(measure, given[measure], secret)
            else:
                exact = rational(given[measure], "a noisy answer")
                noise, value = _noise(mapping(given["noise"], "noise")), Between(exact, exact)
        known = given.get("known", False)
        if not isinstance(known, bool):
            raise InvalidInputError(f"known is {show(known)}", "write known = true, or leave it out", "wrong-type")
        members = _members(given, people)
        return PublishedQuery(name=called, members=members, measure=measure, value=value, noise=noise, known=known)


def _noise(given: Mapping[str, Any]) -> Noise:
    only(given, ("sd", "laplace"))
    if len(given) != 1:
        raise InvalidInputError(
            "the noise is not stated", "write noise = {sd = 5} or noise = {laplace = 2}", "not-exactly-one"
        )
    ((word, scale),) = given.items()
    return Noise("normal" if word == "sd" else "laplace", positive(scale, word))


def _members(given: Mapping[str, Any], people: PeopleFile) -> tuple[str, ...]:
    said = [key for key in WHO if key in given]
    if len(said) > 1:
        raise InvalidInputError(f"{' and '.join(said)} both say who is counted", "keep one", "contradictory-options")
    match said:
        case []:
            return tuple(people.sizes)
        case ["of"]:
            return texts(given["of"], "of")
        case ["rows"]:
            names = list(people.sizes)
            places = [whole(place, "a row number", 1) for place in sequence(given["rows"], "rows")]
            if max(places, default=0) > len(names):
                raise InvalidInputError(
                    f"there is no row {max(places)}", f"there are {len(names)} people; 1 is the first", "out-of-range"
                )
            return tuple(names[place - 1] for place in places)
        case _:
            if people.conditions is None:
                raise InvalidInputError("where needs a file of people", 'write people = "people.csv"', "missing-option")
            condition = people.conditions.read(given["where"])
            return tuple(name for name, record in people.records.items() if holds(condition, record))

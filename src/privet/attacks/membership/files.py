"""Files for a membership attack: published means, and people as PLINK genotypes or as a table."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from privet.core.rational import show
from privet.errors import InvalidInputError
from privet.records.microdata import Microdata, RecordColumn, read
from privet.records.plink import ENDINGS, read_plink
from privet.typing import Floats

Progress = Callable[[str, int, int], object]
COMMA, PERCENT = re.compile(r"\s*-?\d*,\d+\s*"), re.compile(r"\s*-?[\d.,]+\s*%\s*")
MOST_GENOTYPES = 10**8  # numbers of 8 bytes, of which several copies are made: about 6 GB


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PeopleTable:
    """A row a person, a column an attribute; NaN is missing."""

    people: tuple[str, ...]
    attributes: tuple[str, ...]
    values: Floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Statistics:
    """Means by name, with how many people each is of, or the deviation of people, where the file says so."""

    names: tuple[str, ...]
    means: Floats
    counts: Floats | None
    deviations: Floats | None

    def in_order(self, names: Sequence[str]) -> Floats:
        """The means, and below them deviations if there are any, of these attributes."""
        places = _places(self.names, names, "population")
        rows = [self.means] if self.deviations is None else [self.means, self.deviations]
        return np.array([row[places] for row in rows])


def statistics_of(path: Path) -> Statistics:
    """A column `name`, and `mean`, or `frequency` of an allele, half of the mean number of its copies."""
    table = read(path)
    double = "mean" not in table.columns and "frequency" in table.columns
    names = _texts(table["name"], "name")
    means = _floats(table["frequency" if double else "mean"])
    return Statistics(
        names=_once(names, "statistic"),
        means=2 * means if double else means,
        counts=_floats(table["count"]) if "count" in table.columns else None,
        deviations=_floats(table["deviation"]) if "deviation" in table.columns else None,
    )


population_of = statistics_of


def people_of(path: Path, name: str) -> PeopleTable:
    """PLINK files by their ending; any other is a table, in which the column `name` says who is who, if it is there."""
    if path.suffix.lower() in ENDINGS:
        data = read_plink(path, most=MOST_GENOTYPES)
        values = data.counts.astype(np.float64)
        values[data.counts < 0] = np.nan
        return PeopleTable(people=data.people, attributes=_once(data.snps, "SNP"), values=values)
    table = read(path)
    columns = [column for column in table if column.name != name]
    if not columns or not len(table):
        raise InvalidInputError(
            f"{path.name} has no people with attributes", "give a row a person, a column an attribute", "empty"
        )
    return PeopleTable(
        people=_names(table, name),
        attributes=tuple(column.name for column in columns),
        values=np.column_stack([_floats(column) for column in columns]),
    )


def _names(table: Microdata, name: str) -> tuple[str, ...]:
    if name not in table.columns:
        return tuple(f"person {row + 1}" for row in range(len(table)))
    return _once(_texts(table[name], name), "person")


def in_order(people: PeopleTable, names: Sequence[str]) -> Floats:
    """Their values of these attributes."""
    return np.asarray(people.values[:, _places(people.attributes, names, "people")])


def names_in(path: Path, people: tuple[str, ...]) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Which of the people are named in a file, a line each."""
    try:
        lines = [line.strip() for line in path.read_text(encoding="utf-8-sig").splitlines()]
    except OSError as error:
        raise InvalidInputError(
            f"cannot read {path}: {error.strerror}", "name a file with a name in each line", "unreadable-file"
        ) from None
    except UnicodeDecodeError:
        raise InvalidInputError(
            f"{path} is not in UTF-8", "save the names as UTF-8, one in each line", "not-utf8"
        ) from None
    named = {line for line in lines if line}
    unknown = sorted(named - set(people))
    if unknown:
        raise InvalidInputError(
            f"{show(unknown[0])} of {path.name} is not among the people",
            "name people as the file of people does",
            "unknown-person",
        )
    return np.array([name in named for name in people])


def _places(there: Sequence[str], names: Sequence[str], what: str) -> list[int]:
    place = {name: number for number, name in enumerate(there)}
    missing = [name for name in names if name not in place]
    if missing:
        raise InvalidInputError(
            f"{what}: there is no {show(missing[0])}"
            + (f", nor {len(missing) - 1:,} others" if len(missing) > 1 else ""),
            "give every attribute that has a published mean, by the same name",
            "unknown-attribute",
        )
    return [place[name] for name in names]


def _once(names: tuple[str, ...], what: str) -> tuple[str, ...]:
    if len(set(names)) < len(names):
        seen = set[str]()
        twice = next(name for name in names if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise InvalidInputError(
            f"there are two of the {what} {show(twice)}", "give each a name of its own", "duplicate-name"
        )
    return names


def _texts(column: RecordColumn, what: str) -> tuple[str, ...]:
    if None in column.texts:
        raise InvalidInputError(f"a {what} is missing", "name every one", "missing-name")
    return tuple(str(text) for text in column.listed())


def _floats(column: RecordColumn) -> Floats:
    try:
        numbers = [math.nan if text is None else float(text) for text in column.texts]
    except ValueError:
        texts = [text for text in column.texts if text is not None]
        raise InvalidInputError(
            f"column {show(column.name)} has something that is not a number", _remedy(texts), "not-a-number"
        ) from None
    return np.array(numbers, np.float64)[column.codes]


def _remedy(texts: Sequence[str]) -> str:
    """What to change, for the two ways of writing numbers that are common and not read."""
    if any(PERCENT.fullmatch(text) for text in texts):
        return "write shares without the percent sign: 0.25 instead of 25%; leave empty what is missing"
    if any(COMMA.fullmatch(text) for text in texts):
        return "write decimals with a point: 0.25 instead of 0,25; leave empty what is missing"
    return "give numbers; leave empty what is missing"

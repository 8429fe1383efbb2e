"""The attack against the truth: only the owner can tell how right it was."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from privet.attacks.finding import Score
from privet.attacks.release.statistics import Knowledge, Tables
from privet.core.expression import Value
from privet.core.rational import show
from privet.errors import InvalidInputError
from privet.stats.binomial import share
from privet.stats.intervals import Interval

if TYPE_CHECKING:
    from privet.attacks.tables.reconstruction import Reconstruction

Record = Mapping[str, Value]
DRAWS = 200  # of a guess without the release
ERROR = 0.05
TRUTHS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


def records_of(rows: Iterable[Mapping[str, object]], tables: Tables) -> tuple[Record, ...]:
    """Rows of texts or numbers as records. Where an attribute has numbers, "07" is 7; where it has truths, "yes" is
    true; texts are compared as they are. What no statistic mentions may be missing."""
    known = {name: {_key(value, values[0]): value for value in values} for name, values in tables.attributes.items()}
    return tuple(
        {name: known[name].get(_key(value, tables.attributes[name][0]), str(value)) for name, value in row.items()
         if name in known}
        for row in rows
    )  # fmt: skip


def _key(value: object, like: Value) -> object:
    text = str(value).strip()
    match like:
        case bool():
            return TRUTHS.get(text.lower(), text)
        case Fraction():
            try:
                return Fraction(text)
            except (ValueError, ZeroDivisionError):
                return text
        case _:
            return text


def read_records(path: Path | str, tables: Tables) -> tuple[Record, ...]:
    """Records from a CSV file with a header."""
    try:
        with Path(path).open(encoding="utf-8-sig", newline="") as file:
            return records_of(csv.DictReader(file), tables)
    except (OSError, UnicodeDecodeError, csv.Error):
        raise InvalidInputError(
            f"{Path(path).name} cannot be read", "name a CSV file with a header, in UTF-8", "unreadable-file"
        ) from None


def scored(found: Reconstruction, knowledge: Knowledge) -> Score | None:
    if knowledge.truth is None:
        return None
    place = _Places(found)
    truth = Counter(place.of(knowledge.truth, "truth"))
    guess = Counter(dict(found.encoded.people(found.solutions[0])))
    people = max(len(knowledge.truth), 1)
    success = share(min(_overlap(guess, truth), people), people)
    baseline = _baseline(place, knowledge, truth, people)
    control = None
    if knowledge.control is not None:
        others = Counter(place.of(knowledge.control, "control"))
        most = max(min(people, len(knowledge.control)), 1)
        control = share(min(_overlap(guess, others), most), most)
    return Score(
        claimed=found.proven,
        right=sum(min(one.count, truth[one.kind]) for one in found.certain),
        success=success,
        baseline=baseline,
        control=control,
    )


def _overlap(one: Counter[int], other: Counter[int]) -> int:
    """People whom both have; -1 is a record of no kind, which nobody guesses."""
    return sum(min(count, other[kind]) for kind, count in one.items() if kind >= 0)


def _baseline(place: _Places, knowledge: Knowledge, truth: Counter[int], people: int) -> Interval:
    """As many records drawn from the population sample, or from everything that the attributes allow."""
    chance = np.random.default_rng(0)
    sample = knowledge.population
    pool = np.array(place.of(sample, "population")) if sample else place.labels
    hits = [_overlap(Counter(chance.choice(pool, people).tolist()), truth) / people for _ in range(DRAWS)]
    low, high = np.quantile(hits, [ERROR / 2, 1 - ERROR / 2])
    return Interval(float(np.mean(hits)), float(low), float(high))


class _Places:
    """The kind of a record; -1 where no kind is left that it could be."""

    def __init__(self, found: Reconstruction) -> None:
        self._domain = found.encoded.domain
        self.labels = np.full(self._domain.size, -1, dtype=np.int64)
        for kind, group in enumerate(found.encoded.kinds):
            self.labels[group] = kind
        lists = self._domain.attributes.items()
        self._codes = {name: {value: code for code, value in enumerate(values)} for name, values in lists}

    def of(self, records: Sequence[Record], what: str) -> list[int]:
        places = [self._domain.place(self._key(record, what)) for record in records]
        return [-1 if at is None else int(self.labels[at]) for at in places]

    def _key(self, record: Record, what: str) -> list[int]:
        for name in self._domain.names:
            if name not in record or record[name] not in self._codes[name]:
                said = f"has {name} {show(record[name])}" if name in record else f"has no {name}"
                raise InvalidInputError(
                    f"a record of the {what} {said}, which is no declared value",
                    f"declare all values of {name} under [attributes], or correct the record",
                    "not-declared",
                )
        return [self._codes[name][record[name]] for name in self._domain.names]

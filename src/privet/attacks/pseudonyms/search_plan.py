"""What to try against a column of pseudonyms, and how long that will take."""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from privet.attacks.pseudonyms.formats import Format, formats_of, space
from privet.attacks.pseudonyms.hash_search import Sweep, Targets
from privet.attacks.pseudonyms.schemes import HashReading, Scheme, algorithms, recognized, salted, schemes
from privet.errors import InvalidInputError
from privet.records import microdata

DECOYS = 10_000  # pseudonyms of nobody, at most, for control
MOST_SALTS = 10**6
MOST_NAMED = 5  # schemes in one line
YEAR = 365.25 * 24 * 3600
UNITS = ((YEAR, "years"), (24 * 3600.0, "days"), (3600.0, "hours"), (60.0, "minutes"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Pseudonyms:
    """A column of pseudonyms: each distinct one, and how often it is there."""

    name: str
    counts: Mapping[str, int]
    reading: HashReading
    others: int  # distinct values that look different


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchForecast:
    """What it takes to try everything, before anything was tried."""

    pseudonyms: int
    reading: str
    schemes: tuple[str, ...]
    formats: Mapping[str, int]
    ids: int
    rate: float  # hashes a second
    seconds: float  # for all ids, hashed in the likeliest ways

    def __str__(self) -> str:
        formats = f"{len(self.formats)} formats" if len(self.formats) > 1 else f"the format {next(iter(self.formats))}"
        return (
            f"{self.pseudonyms:,} pseudonyms ({self.reading}), {self.ids:,} ids in {formats}, hashed as"
            f" {' or '.join(self.schemes)}: at {self.rate / 1e6:.1f} million a second this takes at most"
            f" {duration(self.seconds)}"
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SearchPlan:
    """What to try."""

    subject: str
    pseudonyms: Pseudonyms
    formats: tuple[Format, ...]
    rounds: tuple[tuple[Scheme, ...], ...]  # the likely ways to hash before the others
    targets: Targets
    decoys: frozenset[int]  # their numbers among the targets
    declared: bool  # the formats

    @property
    def schemes(self) -> tuple[Scheme, ...]:
        return tuple(scheme for some in self.rounds for scheme in some)

    @property
    def pseudonyms_sought(self) -> int:
        return len(self.targets.numbers) - len(self.decoys)


def planned(  # noqa: PLR0913, PLR0917
    data: object,
    column: str | None,
    formats: str | Iterable[str] | None,
    algorithm: str | None,
    salt: str | bytes | None,
    key: bytes | None,
    salts: str | None,
) -> SearchPlan:
    if sum(one is not None for one in (salt, key, salts)) > 1:
        raise InvalidInputError(
            "a salt, salts to try and a key exclude each other", "give one of them", "contradictory-options"
        )
    pseudonyms = pseudonyms_of(data, column)
    names = algorithms(pseudonyms.reading, algorithm)
    known = salt.encode() if isinstance(salt, str) else salt
    rounds = [tuple(schemes(some, known, key)) for some in names]
    rounds += [tuple(salted(some, _salts(salts))) for some in names[:1]]
    if not any(rounds):
        raise InvalidInputError(
            "this hash cannot be used with an HMAC key", "leave the key out, or name another hash", "not-supported"
        )
    reading = pseudonyms.reading
    normal = [text for one in pseudonyms.counts if (text := reading.normal(one)) is not None]
    targets = Targets.of(reading, [*normal, *_decoys(reading, len(normal))])
    real = set(normal)
    return SearchPlan(
        subject=os.path.basename(data) if isinstance(data, str | os.PathLike) else "the column",  # noqa: PTH119
        pseudonyms=pseudonyms,
        formats=formats_of(formats),
        rounds=tuple(filter(None, rounds)),
        targets=targets,
        decoys=frozenset(number for text, number in targets.numbers.items() if text not in real),
        declared=formats is not None,
    )


def pseudonyms_of(data: object, column: str | None) -> Pseudonyms:
    if isinstance(data, Sequence) and not isinstance(data, str | bytes):
        values = microdata.column(column or "the column", [None if one is None else str(one) for one in data])
    elif column is None:
        raise InvalidInputError("no column is named", "name the column that has the pseudonyms", "missing-option")
    else:
        values = microdata.read(data, columns=[column])[column]
    counts = np.bincount(values.codes, minlength=len(values.texts)).tolist()
    texts = {text: count for text, count in zip(values.texts, counts, strict=True) if text is not None and count}
    reading = recognized(tuple(texts), values.name)
    hashes = {text: count for text, count in texts.items() if reading.normal(text) is not None}
    return Pseudonyms(name=values.name, counts=hashes, reading=reading, others=len(texts) - len(hashes))


def forecast_of(plan: SearchPlan) -> SearchForecast:
    """How fast it goes is measured, on the largest format."""
    ids, first = space(plan.formats), plan.rounds[0]
    largest = max(plan.formats, key=lambda format: format.size)
    rate, compiling = Sweep.of(largest, first[0], plan.targets).pace()
    return SearchForecast(
        pseudonyms=plan.pseudonyms_sought,
        reading=str(plan.pseudonyms.reading),
        schemes=(*map(str, first[:MOST_NAMED]), *(["more"] if len(first) > MOST_NAMED else [])),
        formats={format.text: format.size for format in plan.formats},
        ids=ids,
        rate=rate,
        seconds=ids * len(first) / rate + compiling * (len(first) - 1),  # the first way is compiled by now
    )


def _salts(salts: str | None) -> Iterator[bytes]:
    if salts is None:
        return
    listed = formats_of(salts)
    if space(listed) > MOST_SALTS:
        raise InvalidInputError(
            f"there are {space(listed):,} salts to try, more than {MOST_SALTS:,}",
            "give a shorter format of salts",
            "too-many",
        )
    for format in listed:
        yield from format.ids(0, format.size)


def _decoys(reading: HashReading, count: int) -> Iterator[str]:
    """Random digests: nobody has them, so whoever is found behind one was found by chance."""
    for _ in range(min(count, DECOYS)):
        yield reading.spelled(hashlib.shake_128(secrets.token_bytes(32)).digest(64))


def duration(seconds: float) -> str:
    """Such as "2.9 s", "3.4 hours" or "1e+22 years"."""
    for size, name in UNITS:
        if seconds >= 2 * size:
            number = seconds / size
            return f"{number:.0e} {name}" if number >= 1e6 else f"{number:,.1f} {name}"
    return f"{seconds:.1f} s" if seconds >= 0.1 else "less than 0.1 s"

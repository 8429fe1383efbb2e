"""Data sets that a mechanism takes, and pairs of them that are neighbors.

Wrong sensitivities show at the ends: nobody and one person, everybody alike, one record at the far end of the range or
one that is no number, a person with many rows or alone in a group. Such pairs come first, then random ones without end.
A value that is listed may be the only one that is handled wrongly, and a rule may start at a number of people: `cover`
tries every listed value, alone and among others, and sizes that double; see `coverage`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, islice, permutations, product, zip_longest
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np

from privet.audits.coverage import ADD_REMOVE, CORNERS, LARGEST, REPLACE, USUAL, Tried, covering, tally
from privet.audits.likeness import same
from privet.audits.values import Between, Listed, fields, read_values
from privet.core.rational import show
from privet.core.rational import whole as count
from privet.errors import InvalidInputError

LENGTHS = 9
HEAD = 24  # pairs before the first random one
CORE = 48  # and before those that cover all values and sizes

Data = Any
DataPair = tuple[Data, Data]


@runtime_checkable
class Domain(Protocol):
    """Pairs of neighbors, those worth a look first; and itself in words."""

    def pairs(self, generator: np.random.Generator) -> Iterator[DataPair]: ...

    def __str__(self) -> str: ...


@runtime_checkable
class Coverable(Protocol):
    """A domain that knows which pairs try everything that it lists, and what some pairs have tried."""

    def cover(self) -> Iterator[DataPair]: ...

    def tally(self, looked: Sequence[DataPair]) -> Tried: ...


@dataclass(frozen=True, slots=True, init=False)
class Rows:
    """Lists of records, each one of `values`; neighbors differ in one record.

    `values`: a list of records of any type, or Between(low, high). Lists have up to `most` records; if it is not given,
    mostly up to 8, and sizes double up to 64.
    """

    most_rows: ClassVar[int] = 1  # of a person
    values: Between | Listed
    neighbors: str
    most: int
    usual: int  # records of most data sets

    def __init__(self, values: object, *, neighbors: str = ADD_REMOVE, most: int | None = None) -> None:
        object.__setattr__(self, "values", read_values(values))
        object.__setattr__(self, "neighbors", _relation(neighbors))
        object.__setattr__(self, "most", LARGEST if most is None else count(most, "most", 1))
        object.__setattr__(self, "usual", USUAL if most is None else self.most)

    def __str__(self) -> str:
        return f"lists of up to {self.most} records ({self.values}), {self.neighbors}"

    def pairs(self, generator: np.random.Generator) -> Iterator[DataPair]:
        return _mixed(self._structured(), self._random(generator), self.cover())

    def cover(self) -> Iterator[DataPair]:
        return covering(self)

    @staticmethod
    def key(value: Any) -> str:
        """The value as it appears in a record, in words."""
        return repr(value)

    def one_more(self, records: list[Any], own: list[Any], other: list[Any]) -> DataPair:
        return (records if self.neighbors == ADD_REMOVE else [*records, *other]), [*records, *own]

    def tally(self, looked: Sequence[DataPair]) -> Tried:
        sizes = tuple(sorted({max(len(one), len(other)) for one, other in looked}))
        return tally(self, looked, sizes, "records")

    def _structured(self) -> Iterator[DataPair]:
        corners = self.values.corners()[:CORNERS]
        bases = list(self._bases(corners))
        if self.neighbors == REPLACE:
            changes = list(combinations(corners, 2)) or [(corners[0], corners[0])]
            some = [*product(bases[:1], changes[:4]), *product(bases[1:6], changes[:2])]
            for base, (one, other) in [*some, *product(self._lengths(corners), changes[:1]), *product(bases, changes)]:
                yield [*base, one], [*base, other]
                if base:
                    yield [one, *base], [other, *base]
            return
        with_one = [
            ([base], one) for base, one in permutations(corners[:4], 2) if self.usual > 1
        ]  # who comes may outweigh who is there
        with_many = list(product(bases[1:6], corners[:2]))
        turns = [turn for both in zip_longest(with_many, with_one) for turn in both if turn]
        for base, one in [*product(bases[:1], corners[:4]), *turns]:
            yield base, [*base, one]
        for base in self._lengths(corners):
            yield base, [*base, corners[0]]
        for base, one in product(bases[1:], corners):
            yield base, [one, *base]
            yield base, [*base, one]

    def _lengths(self, corners: Sequence[Any]) -> list[list[Any]]:
        """From nobody to all: a rule may hold from a certain number on."""
        return [[corners[-1]] * number for number in range(2, self.usual - 1, 1 + self.usual // LENGTHS)]

    def _bases(self, corners: Sequence[Any]) -> Iterator[list[Any]]:
        """What everybody else has: nothing, one record, all the same, two kinds one after the other, all kinds."""
        first, last, rest = corners[0], corners[min(1, len(corners) - 1)], self.usual - 1
        yield []
        lists = [[last] * rest, [first] * rest, [first] * (rest // 2) + [last] * (rest - rest // 2)]
        lists += [[last] * (rest // 2) + [first] * (rest - rest // 2), [last], [first], list(corners)[:rest]]
        lists += [[first, last] * (rest // 2), [last] * (rest - 1) + [first], [first] * (rest - 1) + [last]]
        seen: list[str] = ["[]"]
        for made in lists:
            if len(made) <= rest and repr(made) not in seen:
                seen.append(repr(made))
                yield made

    def _random(self, generator: np.random.Generator) -> Iterator[DataPair]:
        corners = self.values.corners()[:CORNERS]

        def record() -> Any:
            if generator.random() < 0.5:
                return corners[generator.integers(len(corners))]
            return self.values.draw(generator)

        while True:
            base = [record() for _ in range(generator.integers(self.usual))]
            place = int(generator.integers(len(base) + 1))
            one = [*base[:place], record(), *base[place:]]
            yield (base if self.neighbors == ADD_REMOVE else [*base[:place], record(), *base[place:]]), one


@dataclass(frozen=True, slots=True, init=False)
class People:
    """Lists of rows (person, *record), each record one of `values`; neighbors differ in all rows of one person.

    A person has up to `most_rows` rows. Under "replace" the person keeps the name and has other rows. The number of
    people doubles up to `most`.
    """

    values: Between | Listed
    neighbors: str
    most_rows: int
    most: int

    def __init__(self, values: object, *, neighbors: str = ADD_REMOVE, most_rows: int = 8, most: int = LARGEST) -> None:
        object.__setattr__(self, "values", read_values(values))
        object.__setattr__(self, "neighbors", _relation(neighbors))
        object.__setattr__(self, "most_rows", count(most_rows, "most_rows", 1))
        object.__setattr__(self, "most", count(most, "most", 1))

    def __str__(self) -> str:
        rows = f"up to {self.most_rows} rows each"
        return f"rows of up to {self.most} people with {rows} ({self.values}), {self.neighbors}"

    def pairs(self, generator: np.random.Generator) -> Iterator[DataPair]:
        return _mixed(self._structured(), self._random(generator), self.cover())

    def cover(self) -> Iterator[DataPair]:
        return covering(self)

    @staticmethod
    def key(value: Any) -> str:
        """The value as it appears in a row after the person, in words."""
        return repr(fields(value))

    def one_more(self, records: list[Any], own: list[Any], other: list[Any]) -> DataPair:
        """Person 0 comes with rows of their own; under "replace", has other ones."""
        crowd = _crowd(records)
        return (crowd if self.neighbors == ADD_REMOVE else _with(crowd, other)), _with(crowd, own)

    def tally(self, looked: Sequence[DataPair]) -> Tried:
        sizes = tuple(sorted({len({row[0] for data in pair for row in data}) for pair in looked}))
        records = [([row[1:] for row in one], [row[1:] for row in other]) for one, other in looked]
        return tally(self, records, sizes, "people")

    def _structured(self) -> Iterator[DataPair]:
        corners = self.values.corners()[:CORNERS]
        crowds, owns = list(self._crowds(corners)), list(self._own(corners))
        for crowd, own in [*product(crowds, owns[:3]), *product(crowds, owns[3:])]:
            if self.neighbors == REPLACE:
                yield _with(crowd, own), _with(crowd, [corners[min(1, len(corners) - 1)]] * len(own))
                yield _with(crowd, own), _with(crowd, [corners[-1]])
            else:
                yield crowd, _with(crowd, own)
                if crowd:
                    yield crowd, _with(crowd, own, first=True)

    def _crowds(self, corners: Sequence[Any]) -> Iterator[list[tuple[Any, ...]]]:
        """Nobody; three alike; many of all kinds but the first, so that a person can be alone with it; all kinds."""
        yield []
        yield _crowd([corners[-1]] * 3)
        yield _crowd([*corners[1:], *corners[1:]])
        yield _crowd([*corners, *corners, *corners])

    def _own(self, corners: Sequence[Any]) -> Iterator[list[Any]]:
        yield [corners[0]] * self.most_rows
        yield [corners[0]]
        yield [corners[n % len(corners)] for n in range(self.most_rows)]
        for corner in corners[1:]:
            yield [corner] * self.most_rows
            yield [corner]

    def _random(self, generator: np.random.Generator) -> Iterator[DataPair]:
        def own() -> list[Any]:
            return [self.values.draw(generator) for _ in range(generator.integers(1, self.most_rows + 1))]

        while True:
            crowd = [row for person in range(1, 1 + generator.integers(6)) for row in _rows(person, own())]
            first = bool(generator.integers(2))
            yield (crowd if self.neighbors == ADD_REMOVE else _with(crowd, own(), first)), _with(crowd, own(), first)


def _crowd(records: Sequence[Any]) -> list[tuple[Any, ...]]:
    """One row a person. Person 0 is not among them."""
    return [row for person, record in enumerate(records, 1) for row in _rows(person, [record])]


def _rows(person: int, records: Sequence[Any]) -> list[tuple[Any, ...]]:
    return [(person, *fields(record)) for record in records]


def _with(crowd: list[tuple[Any, ...]], own: Sequence[Any], first: bool = False) -> list[tuple[Any, ...]]:
    rows = _rows(0, own)
    return [*rows, *crowd] if first else [*crowd, *rows]


@dataclass(frozen=True, slots=True, init=False)
class Answers:
    """Vectors of true answers to `length` questions; one person changes each of them by at most `change`.

    `same_sign`: all in one direction, as counts are when a person comes. `whole`: answers are whole numbers. A vector
    of length 1 is a plain number.
    """

    length: int
    change: float
    low: float
    high: float
    same_sign: bool
    whole: bool

    def __init__(  # noqa: PLR0913 -- what the answers look like, by name
        self, length: int, change: float = 1, *, low: float = -10, high: float = 10, same_sign: bool = False,
        whole: bool = False,
    ) -> None:  # fmt: skip
        if not low < high or not change > 0:
            raise InvalidInputError(
                f"Answers needs low < high and a change above 0, not {show(low)}, {show(high)} and {show(change)}",
                "write Answers(3, change=1, low=0, high=10)",
                "reversed-range",
            )
        object.__setattr__(self, "length", count(length, "length", 1))
        given = {"change": change, "low": low, "high": high, "same_sign": same_sign, "whole": whole}
        for name, value in given.items():
            object.__setattr__(self, name, value)

    def __str__(self) -> str:
        kind = "whole answers" if self.whole else "answers"
        how = "in one direction" if self.same_sign else "up or down"
        return f"{self.length} {kind} from {self.low:g} to {self.high:g}, each changed by up to {self.change:g} {how}"

    def pairs(self, generator: np.random.Generator) -> Iterator[DataPair]:
        return _mixed(self._structured(), self._random(generator), iter(()))

    def cover(self) -> Iterator[DataPair]:
        """Nothing is listed here."""
        return iter(())

    def tally(self, looked: Sequence[DataPair]) -> Tried:
        return Tried(pairs=len(looked))

    def _structured(self) -> Iterator[DataPair]:
        moves = list(self._moves())
        for base in self._levels():
            for move in moves:
                start = np.full(self.length, float(base))
                start[move < 0] += self.change  # so that (0, 1) and (1, 0) are a pair
                yield self._pair(start, move)
        for move in moves:
            yield self._pair(np.linspace(self.low, self.high, self.length), move)

    def _levels(self) -> list[float]:
        inside = [0.0] if self.low <= 0 <= self.high else [self.low]
        return [*inside, self.high - self.change, self.low, (self.low + self.high) / 2]

    def _moves(self) -> Iterator[np.ndarray[Any, np.dtype[np.float64]]]:
        """All up; half up and half down; in turns; one alone; all but one."""
        up, place = np.full(self.length, float(self.change)), np.arange(self.length)
        moves = [up]
        if not self.same_sign:
            moves += [np.where(place < self.length // 2, up, -up), np.where(place % 2 == 0, up, -up)]
            moves += [np.where(place == self.length - 1, -up, up)]
        moves += [np.where(place == 0, up, 0), np.where(place == self.length - 1, up, 0), np.where(place > 0, up, 0)]
        seen: set[bytes] = set()
        for move in moves:
            if move.any() and move.tobytes() not in seen:
                seen.add(move.tobytes())
                yield move

    def _random(self, generator: np.random.Generator) -> Iterator[DataPair]:
        while True:
            level = generator.uniform(self.low, self.high)
            start = np.full(self.length, level)
            if generator.random() < 0.5:
                start = generator.uniform(self.low, self.high, self.length)
            move = generator.choice([-1.0, 0.0, 1.0], self.length) * self.change
            yield self._pair(start, np.abs(move) if self.same_sign else move)

    def _pair(self, start: Any, move: Any) -> DataPair:
        start = np.clip(np.round(start) if self.whole else start, self.low, self.high)
        end = np.clip(start + (np.trunc(move) if self.whole else move), self.low, self.high)
        if self.whole:
            start, end = start.astype(np.int64), end.astype(np.int64)
        return (start, end) if self.length > 1 else (start[0].item(), end[0].item())


@dataclass(frozen=True, slots=True, init=False)
class Pairs:
    """These pairs and no others."""

    listed: tuple[DataPair, ...]

    def __init__(self, listed: Sequence[DataPair]) -> None:
        if not isinstance(listed, list | tuple) or not listed or not all(map(is_pair, listed)):
            raise InvalidInputError(
                "neighbors must be a pair of data sets, or a list of such pairs",
                "give neighbors=(data, data_without_one_person)",
                "wrong-shape",
            )
        for place, (first, second) in enumerate(listed, 1):
            if _are_same(first, second):
                which = f" of pair {place}" if len(listed) > 1 else ""
                raise InvalidInputError(
                    f"the two data sets{which} are the same, so that an audit of them can show nothing",
                    "give two data sets that differ in one person, such as [1, 0] and [1]",
                    "no-variation",
                )
        object.__setattr__(self, "listed", tuple((first, second) for first, second in listed))

    def __str__(self) -> str:
        return "the pair given" if len(self.listed) == 1 else f"the {len(self.listed)} pairs given"

    def pairs(self, generator: np.random.Generator) -> Iterator[DataPair]:  # noqa: ARG002 -- nothing is left to chance
        return iter(self.listed)

    def cover(self) -> Iterator[DataPair]:
        """All of them: they were given."""
        return iter(self.listed)

    def tally(self, looked: Sequence[DataPair]) -> Tried:
        return Tried(pairs=len(looked), given=len(self.listed))


def _mixed(structured: Iterator[DataPair], random: Iterator[DataPair], cover: Iterator[DataPair]) -> Iterator[DataPair]:
    """The best of what is known to break things; then more of it and chance, in turns; after the first of these all
    that covers the domain; then chance forever."""
    yield from islice(structured, HEAD)
    turns = (pair for known in structured for pair in (known, next(random)))
    yield from islice(turns, CORE - HEAD)
    yield from cover
    yield from turns
    yield from random


def _are_same(one: Data, other: Data) -> bool:
    try:
        return same(one, other)
    except Exception:  # somebody's own type, which cannot be compared as a whole
        return False


def is_pair(value: object) -> bool:
    return isinstance(value, tuple | list) and len(value) == 2


def _relation(neighbors: object) -> str:
    if neighbors not in (ADD_REMOVE, REPLACE):
        raise InvalidInputError(
            f"neighbors must be 'add-remove' or 'replace', not {show(neighbors)}",
            "give neighbors='add-remove'",
            "unknown-choice",
        )
    return str(neighbors)

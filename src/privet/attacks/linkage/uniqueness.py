"""How many people a few known facts single out: columns of a table, or points of what people did.

    attack_uniqueness("people.csv", on=["sex", "birth", "zip"])  # which columns make how many people unique
    attack_uniqueness("visits.csv", person="phone", on=["cell", "hour"])  # how many of a person's points are enough

For a table it is exact: for every set of columns, the records that nobody shares. For points, people and their points
are drawn at random, and the share of people whom no one else fits has an interval (Clopper and Pearson).
"""

from __future__ import annotations

import itertools
import math
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from privet.attacks.finding import Findings, ShownTable
from privet.attacks.linkage.join import classes
from privet.attacks.proofs.work import STOPPED
from privet.core.rational import show
from privet.errors import InvalidInputError
from privet.records.microdata import Microdata, read
from privet.stats.binomial import share
from privet.stats.intervals import Interval
from privet.typing import Integers

Progress = Callable[[str, int, int], object]
MOST_SETS = 2000
SHOWN = 5  # sets of each size
PEOPLE = 2000  # drawn, of each number of points
LEAD_SETS = (
    "Unique means: no other record of this table has the same values. Whoever knows these of a person, and knows that"
    " the person is in the table, has found the record."
)
LEAD_POINTS = (
    "Unique means: nobody else in this table has all of the points that are known. Which points are known is drawn at"
    " random; somebody who picks them needs fewer."
)
TRUTHFUL = "What is known of a person is right, and is written as in the table."


def attack_uniqueness(  # noqa: PLR0913  options of one attack
    data: object,
    *,
    on: Sequence[str] | None = None,
    person: str | None = None,
    points: Sequence[int] = (1, 2, 3, 4),
    most: int = 3,
    people: int = PEOPLE,
    progress: Progress | None = None,
) -> Findings:
    """With `person`, a table of what people did: for each number of `points` the share of people singled out, by
    `people` drawn at random. Without, sets of up to `most` of the columns `on` (all of them, if none are named)."""
    start = time.perf_counter()
    tell = progress or (lambda *_: None)
    if most < 1 or people < 1 or not points or min(points) < 1:
        raise InvalidInputError(
            "there is nothing to look for", "give numbers of points, columns and people above 0", "not-positive"
        )
    tell("reading", 0, 1)
    names = None if on is None else list(dict.fromkeys([*([] if person is None else [person]), *on]))
    table = read(data, columns=names)
    if not len(table):
        raise InvalidInputError("the table has no rows", "give a table with at least one record", "empty")
    subject = Path(data).name if isinstance(data, str | os.PathLike) else "the table"
    columns = [name for name in table.columns if name != person]
    if not columns:
        raise InvalidInputError("there is no column but the person", "name a column of what people did", "too-few")
    if person is None:
        return _of_sets(table, columns, min(most, len(columns)), Run(subject, tell, start))
    visits = _visits(table, person, columns)
    rows = _rows(visits, sorted(set(points)), people, tell)
    return _of_points(columns, visits.people, rows, Run(subject, tell, start))


@dataclass(frozen=True, slots=True)
class Run:
    subject: str
    tell: Progress
    start: float


def unique_records(data: Microdata, names: Sequence[str]) -> int:
    """Records that nobody shares. A missing value is a value like others here."""
    return int((classes(data, names).people == 1).sum())


def _of_sets(table: Microdata, columns: list[str], most: int, run: Run) -> Findings:
    number = sum(math.comb(len(columns), size) for size in range(1, most + 1))
    if number > MOST_SETS:
        raise InvalidInputError(
            f"{len(columns)} columns have {number:,} sets of up to {most}, more than {MOST_SETS:,}",
            "name fewer columns, or a smaller number with most=",
            "too-many",
        )
    sets = [some for size in range(1, most + 1) for some in itertools.combinations(columns, size)]
    if len(columns) > most:
        sets.append(tuple(columns))
    found: list[tuple[tuple[str, ...], int]] = []
    for done, some in enumerate(sets):
        run.tell("counting", done, len(sets))
        if STOPPED.is_set() and found:
            break
        found.append((some, unique_records(table, some)))
    known, every = max(found, key=lambda one: (one[1], len(one[0])))  # all columns, unless somebody stopped it
    ranked = sorted(found, key=lambda one: (len(one[0]), -one[1]))
    shown = [row for _, same in itertools.groupby(ranked, lambda one: len(one[0])) for row in list(same)[:SHOWN]]
    rows = tuple(
        (", ".join(some), str(len(some)), f"{unique:,}", _share(unique / len(table))) for some, unique in shown
    )
    return Findings(
        attack="uniqueness",
        subject=run.subject,
        headline=f"{every:,} of {len(table):,} records are unique by {', '.join(map(show, known[:8]))}"
        + (" and more" if len(known) > 8 else ""),
        people=len(table),
        proven=every,
        findings=(),
        tables=(
            ShownTable(
                "Which columns make records unique",
                f"The {SHOWN} worst sets of each size, the smallest sets first. Exact counts.",
                ("columns known", "how many", "unique records", "share"),
                rows,
            ),
        ),
        assumptions=(TRUTHFUL, "A row is a person."),
        not_tried=("Values that are known roughly only: see the linkage attack.",),
        numbers={"records": len(table), "sets": [{"columns": list(some), "unique": unique} for some, unique in found]},
        seconds=time.perf_counter() - run.start,
        word="unique",
        lead=LEAD_SETS,
    )


def _share(value: float) -> str:
    return f"{100 * value:.1f} %"


class _Visits:
    """Pairs of a person and a point, each once, both ways round."""

    def __init__(self, person: Integers, point: Integers) -> None:
        self.width = int(point.max(initial=0)) + 1
        self.pairs = np.unique(person * self.width + point)
        self.person, self.point = self.pairs // self.width, self.pairs % self.width
        self.people = int(self.person.max(initial=-1)) + 1
        self.ends = np.searchsorted(self.person, np.arange(self.people + 1))
        self._by_point = np.argsort(self.point, kind="stable")
        self._starts = np.searchsorted(self.point[self._by_point], np.arange(self.width + 1))
        self.support = np.diff(self._starts)

    def alone(self, points: Integers) -> bool:
        """Whether one person only has all of these: those with the rarest point, and then who of them has the next."""
        points = points[np.argsort(self.support[points])]
        rarest = int(points[0])
        who = self.person[self._by_point[self._starts[rarest] : self._starts[rarest + 1]]]
        for point in points[1:]:
            if len(who) == 1:
                break
            keys = who * self.width + point
            at = np.minimum(np.searchsorted(self.pairs, keys), len(self.pairs) - 1)
            who = who[self.pairs[at] == keys]
        return len(who) == 1


Row = tuple[int, int, int, Interval]  # points, unique people, of how many, their share


def _rows(visits: _Visits, numbers: Sequence[int], people: int, tell: Progress) -> list[Row]:
    rows: list[Row] = []
    for number in numbers:
        tell("drawing points", number, numbers[-1])
        if STOPPED.is_set() and rows:
            break
        unique, of = _drawn(visits, number, people)
        rows.append((number, unique, of, share(unique, of)))
    return rows


def _of_points(columns: list[str], people: int, rows: list[Row], run: Run) -> Findings:
    number, unique, of, part = next((row for row in reversed(rows) if row[2]), rows[-1])
    return Findings(
        attack="uniqueness",
        subject=run.subject,
        headline=f"{number} random {'point' if number == 1 else 'points'} single out {_share(part.value)} of people",
        people=of,
        proven=unique,
        findings=(),
        tables=(
            ShownTable(
                "How many points are enough",
                f"People drawn at random, of whom this number of points ({', '.join(columns)}) is known. Intervals are"
                " 95 % (Clopper and Pearson).",
                ("points known", "unique people", "of", "share", "interval"),
                tuple(
                    (
                        str(number),
                        f"{unique:,}",
                        f"{of:,}",
                        _share(part.value),
                        f"{_share(part.low)} to {_share(part.high)}",
                    )
                    for number, unique, of, part in rows
                ),
            ),
        ),
        assumptions=(TRUTHFUL, "The people drawn stand for all people of the table."),
        not_tried=("Points that are known roughly, or wrong ones among them: see the scoreboard attack.",),
        numbers={
            "table_people": people,
            "points": [
                {"points": number, "unique": unique, "of": of, "value": part.value, "low": part.low, "high": part.high}
                for number, unique, of, part in rows
            ],
        },
        seconds=time.perf_counter() - run.start,
        word="unique",
        lead=LEAD_POINTS,
    )


def _visits(table: Microdata, person: str, columns: list[str]) -> _Visits:
    """A row with a missing person or point says nothing."""
    there = np.ones(len(table), np.bool_)
    for name in (person, *columns):
        there &= np.array([text is not None for text in table[name].texts], np.bool_)[table[name].codes]
    if not there.any():
        raise InvalidInputError("no row has a person and a point", "check the names of the columns", "missing-value")
    who = np.unique(table[person].codes[there], return_inverse=True)[1]
    return _Visits(who, classes(table, columns).of[there])


def _drawn(visits: _Visits, number: int, people: int) -> tuple[int, int]:
    """How many people are unique by `number` of their points, and of how many who have as many."""
    draw = np.random.default_rng(number)
    enough = np.flatnonzero(np.diff(visits.ends) >= number)
    who = draw.permutation(enough)[:people]
    points = (draw.permutation(visits.point[visits.ends[one] : visits.ends[one + 1]])[:number] for one in who)
    return sum(visits.alone(some) for some in points), len(who)

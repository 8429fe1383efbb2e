"""Who is it? A few things known of a person, against a table of what many people did: the scoreboard of Narayanan and
Shmatikov ("Robust De-anonymization of Large Sparse Datasets", 2008), which found Netflix users by their IMDB reviews.

    found = attack_scoreboard("ratings.csv", "points.csv", person="user", item="movie", value="stars", date="day")

Every person in the table has a score: for each known point that the person has too, 1 / log(support of the item), times
how alike value and date are. The best is named only if it stands out: (best - second) / standard deviation of all
scores, the eccentricity, must be above a threshold. Otherwise the verdict is "no match".

The threshold comes from decoys: people of the table whose points are scored against the table without them, so every
match would be false. If a target who is not in the table is like a decoy, the chance of a false match is at most the
rate that was asked for: with D decoys the threshold is the ceil((1 - rate) * (D + 1))-th smallest of their
eccentricities, which one more decoy exceeds with chance rate at most, as all orders are equally likely (the rank
argument of conformal prediction: Vovk, Gammerman and Shafer 2005, proposition 2.4).
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from privet.attacks.finding import Findings
from privet.attacks.linkage.value_kinds import as_days, plain
from privet.core.rational import show
from privet.errors import InvalidInputError
from privet.records.microdata import Microdata, RecordColumn, read
from privet.typing import Floats, Integers, Truths

Progress = Callable[[str, int, int], object]
RATE, DECOYS = 0.01, 1000
CELLS = 1 << 22  # scores at a time
VALUE_WIDTH, DATE_WIDTH = 1.5, 30.0  # a difference of so much is worth 1/e: stars of five, and days
NOBODY = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """Of columns: who, did what, with which number, and when."""

    who: str
    item: str
    value: str | None
    date: str | None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Events:
    """What each of `people` did: sorted by item, where `starts` says where an item begins. NaN: no value, no date."""

    person: Integers
    item: Integers
    value: Floats
    date: Floats
    starts: Integers
    people: int

    @property
    def weight(self) -> Floats:
        """Of each item: what few people have tells more."""
        return np.asarray(1 / np.log(np.maximum(np.diff(self.starts), 2)))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Points:
    """What is known of each of `targets`; an item that nobody has is -1."""

    target: Integers
    item: Integers
    value: Floats
    date: Floats
    targets: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ranking:
    """For each target the best person, its score, the next best score, and how far it stands out."""

    best: Integers
    score: Floats
    second: Floats
    eccentricity: Floats


def attack_scoreboard(  # noqa: PLR0913  columns and options of one attack
    released: object,
    points: object,
    *,
    person: str = "person",
    item: str = "item",
    value: str | None = None,
    date: str | None = None,
    target: str | None = None,
    truth: str | None = None,
    rate: float = RATE,
    widths: tuple[float, float] = (VALUE_WIDTH, DATE_WIDTH),
    decoys: int = DECOYS,
    progress: Progress | None = None,
) -> Findings:
    """`released` has a row for each person and item; `points` a row for each thing known of a target, in columns of the
    same names (`target` says whose it is, by default the column `person`). `truth` names a column of `points` with the
    person whom the target really is, empty if not in the table: for the score only. `rate` is the share of people who
    are not in the table for whom a match may be claimed; `widths`: how far off a value and a date (in days) may be."""
    from privet.attacks.linkage.scoreboard_findings import findings_of  # noqa: PLC0415  it knows this file

    start = time.perf_counter()
    tell = progress or (lambda *_: None)
    check(rate, widths, decoys)
    details = [name for name in (value, date) if name is not None]
    tell("reading", 0, 1)
    table = read(released, columns=_names([person, item, *details]))
    whose = person if target is None else target
    known = read(points, columns=_names([whose, item, *details, *([] if truth is None else [truth])]))
    names = Names(who=person, item=item, value=value, date=date)
    events = events_of(table, names)
    given = points_of(known, table[item], replace(names, who=whose))
    held, spare = decoy_rankings(events, given, decoys, widths, tell)
    threshold = quantile(held, rate)
    ranking = ranked(events, given, widths, tell)
    name = Path(released).name if isinstance(released, str | os.PathLike) else "the released table"
    setting = ScoreboardSetting(
        table=table, known=known, person=person, item=item, target=whose, truth=truth, rate=rate, subject=name
    )
    result = ScoreboardResult(
        events=events, points=given, ranking=ranking, threshold=threshold, decoys=held, spare=spare
    )
    return findings_of(setting, result, start)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ScoreboardSetting:
    table: Microdata
    known: Microdata
    person: str
    item: str
    target: str
    truth: str | None
    rate: float
    subject: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ScoreboardResult:
    """`decoys` set the threshold; `spare` ones, of other people, show what it is worth."""

    events: Events
    points: Points
    ranking: Ranking
    threshold: float
    decoys: Floats
    spare: Floats


def check(rate: float, widths: tuple[float, float], decoys: int) -> None:
    if not 0 < rate < 1:
        raise InvalidInputError(
            f"a rate of false matches of {rate:g} is none", "give one between 0 and 1, such as 0.01", "out-of-range"
        )
    if not all(0 < width < math.inf for width in widths):
        raise InvalidInputError(
            "a width must be above 0", "give how far off a value and a date may be, such as 1.5", "not-positive"
        )
    if decoys < 1:
        raise InvalidInputError(f"{decoys} decoys say nothing", "give at least 1 / rate of them", "too-few")


def _names(names: list[str]) -> list[str]:
    return list(dict.fromkeys(names))


def events_of(data: Microdata, names: Names) -> Events:
    """Rows without a person or an item say nothing."""
    who, what = data[names.who], data[names.item]
    there = _told(who) & _told(what)
    if not there.any():
        raise InvalidInputError("no row has a person and an item", "check the names of the columns", "missing-value")
    people, persons = np.unique(who.codes[there].astype(np.int64), return_inverse=True)
    items = what.codes[there].astype(np.int64)
    order = np.argsort(items, kind="stable")
    if len(people) < 3:
        raise InvalidInputError(
            f"{len(people)} people are too few to stand out from", "give a table of more people", "too-few"
        )
    return Events(
        person=persons[order],
        item=items[order],
        value=_numbers(data, names.value)[there][order],
        date=_days(data, names.date)[there][order],
        starts=np.searchsorted(items[order], np.arange(len(what.texts) + 1)),
        people=len(people),
    )


def points_of(data: Microdata, items: RecordColumn, names: Names) -> Points:
    there = _told(data[names.who])
    if not there.any():
        raise InvalidInputError("no point has a target", "say of whom each point is known", "missing-value")
    places = {plain(text): code for code, text in enumerate(items.texts) if text is not None}
    known = [NOBODY if text is None else places.get(plain(text), NOBODY) for text in data[names.item].texts]
    targets, place = np.unique(data[names.who].codes[there].astype(np.int64), return_inverse=True)
    return Points(
        target=place,
        item=np.array(known, np.int64)[data[names.item].codes[there]],
        value=_numbers(data, names.value)[there],
        date=_days(data, names.date)[there],
        targets=len(targets),
    )


def _told(column: RecordColumn) -> Truths:
    return np.array([text is not None for text in column.texts], np.bool_)[column.codes]


def _numbers(data: Microdata, name: str | None) -> Floats:
    return _read(data, name, float)


def _days(data: Microdata, name: str | None) -> Floats:
    def day(text: str) -> float:
        region = as_days(plain(text))
        return float(text) if region is None else (region[0][0][0] + region[0][1][0]) / 2

    return _read(data, name, day)


def _read(data: Microdata, name: str | None, number: Callable[[str], float]) -> Floats:
    if name is None:
        return np.full(len(data), np.nan)
    try:
        found = [math.nan if text is None else number(text) for text in data[name].texts]
    except ValueError:
        raise InvalidInputError(
            f"a value of {show(name)} is neither a number nor a date",
            "leave the column out, or correct it",
            "not-a-number",
        ) from None
    return np.array(found, np.float64)[data[name].codes]


def ranked(
    events: Events,
    points: Points,
    widths: tuple[float, float],
    progress: Progress,
    hidden: Integers | None = None,
) -> Ranking:
    """The best of each target. A person in `hidden`, one for each target, is left out of the table for it."""
    parts = []
    each = max(CELLS // events.people, 1)
    order = np.argsort(points.target, kind="stable")
    ends = np.searchsorted(points.target[order], np.arange(points.targets + 1))
    for first in range(0, points.targets, each):
        progress("scoring", first, points.targets)
        last = min(first + each, points.targets)
        scores = _scores(events, points, order[ends[first] : ends[last]], (first, last), widths)
        parts.append(_best(scores, None if hidden is None else hidden[first:last]))
    return Ranking(
        **{name: np.concatenate([getattr(part, name) for part in parts])
           for name in ("best", "score", "second", "eccentricity")}
    )  # fmt: skip


def _scores(
    events: Events, points: Points, some: Integers, targets: tuple[int, int], widths: tuple[float, float]
) -> Floats:
    """A row for each of these targets, a column for each person."""
    some = some[points.item[some] >= 0]
    item = points.item[some]
    start, count = events.starts[item], events.starts[item + 1] - events.starts[item]
    point = np.repeat(some, count)
    event = np.repeat(start, count) + np.arange(len(point)) - np.repeat(np.cumsum(count) - count, count)
    alike = _alike(points.value[point], events.value[event], widths[0])
    alike = (alike + _alike(points.date[point], events.date[event], widths[1])) / 2
    gain = events.weight[points.item[point]] * alike
    cell = (points.target[point] - targets[0]) * events.people + events.person[event]
    size = (targets[1] - targets[0]) * events.people
    return np.bincount(cell, gain, size).astype(np.float64, copy=False).reshape(-1, events.people)


def _alike(one: Floats, other: Floats, width: float) -> Floats:
    """1 for the same, 1/e for a width apart; 1 where one of the two is not told."""
    return np.exp(-np.nan_to_num(np.abs(one - other)) / width)


def _best(scores: Floats, hidden: Integers | None) -> Ranking:
    rows = np.arange(len(scores))
    if hidden is not None:
        scores[rows, hidden] = np.nan
    best = np.nanargmax(scores, axis=1)
    score = scores[rows, best]
    spread = np.nanstd(scores, axis=1)
    scores[rows, best] = -1.0
    second = np.nanmax(scores, axis=1)
    out = np.divide(score - second, spread, out=np.zeros(len(rows)), where=spread > 0)
    return Ranking(best=np.where(score > 0, best, NOBODY), score=score, second=second, eccentricity=out)


def decoy_rankings(
    events: Events, points: Points, decoys: int, widths: tuple[float, float], progress: Progress
) -> tuple[Floats, Floats]:
    """Eccentricities of people who are not in the table: for the threshold, and to check it. These are other people if
    there are enough, or else the same people with points drawn anew. A decoy has as many points as some target, drawn
    from what the person did. The draws are always the same."""
    draw = np.random.default_rng(0)
    half = min(decoys, events.people)
    who = np.resize(draw.permutation(events.people), 2 * half)
    sizes = draw.choice(np.bincount(points.target, minlength=points.targets), len(who))
    order = np.argsort(events.person, kind="stable")
    ends = np.searchsorted(events.person[order], np.arange(events.people + 1))
    rows = [
        draw.permutation(order[ends[person] : ends[person + 1]])[:size] for person, size in zip(who, sizes, strict=True)
    ]
    event = np.concatenate(rows)
    made = Points(
        target=np.repeat(np.arange(len(who)), [len(row) for row in rows]),
        item=events.item[event],
        value=events.value[event],
        date=events.date[event],
        targets=len(who),
    )
    found = ranked(events, made, widths, lambda _, done, of: progress("scoring decoys", done, of), hidden=who)
    return found.eccentricity[:half], found.eccentricity[half:]


def quantile(decoys: Floats, rate: float) -> float:
    """What a new decoy exceeds with chance `rate` at most; nothing if there are too few decoys to tell."""
    place = math.ceil((1 - rate) * (len(decoys) + 1) - 1e-9)
    return math.inf if place > len(decoys) else float(np.sort(decoys)[place - 1])

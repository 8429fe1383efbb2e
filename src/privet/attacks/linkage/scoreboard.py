"""Who is it? A few things known of a person, against a table of what many people did: the scoreboard of Narayanan and
Shmatikov ("Robust De-anonymization of Large Sparse Datasets", 2008), which found Netflix users by their IMDB reviews.

    found = attack_scoreboard("ratings.csv", "points.csv", person="user", item="movie", value="stars", date="day")

Every person in the table has a score: for each known point that the person has too, 1 / log(support of the item), times
how alike value and date are. The best is named only if it stands out: the eccentricity must be above a threshold.
Otherwise the verdict is "no match". The eccentricity is (best - second) / standard deviation of all scores, where the
best is counted without the one point that speaks most for it (the paper counts it with this point): a wrong point that
only one person has makes that person stand out, but no second point agrees.

The threshold comes from simulated strangers: people of the table whose points, some of them wrong, are scored against
the table without them, so every match would be false. `scoreboard_decoys` says which points are wrong, and how the
threshold follows.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from privet.attacks.finding import Findings
from privet.attacks.linkage.value_kinds import as_days, plain
from privet.core.rational import show
from privet.errors import InvalidInputError
from privet.records.microdata import Microdata, RecordColumn, read
from privet.typing import Floats, Integers, Truths

if TYPE_CHECKING:
    from privet.attacks.linkage.scoreboard_decoys import Strangers

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
        return weights(np.diff(self.starts))


def weights(support: Integers) -> Floats:
    """Of items, by how many rows have them."""
    return np.asarray(1 / np.log(np.maximum(support, 2)))


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
    are not in the table for whom a match may be claimed; `widths`: how far off a value and a date (in days) may be;
    `decoys`: how many strangers are simulated for each law of wrong points."""
    from privet.attacks.linkage.scoreboard_decoys import simulate_strangers  # noqa: PLC0415  it knows this file
    from privet.attacks.linkage.scoreboard_findings import findings_of  # noqa: PLC0415  so does this one

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
    ranking = ranked(events, given, widths, tell)
    strangers = simulate_strangers(events, given, ranking, decoys, rate, widths, tell)
    name = Path(released).name if isinstance(released, str | os.PathLike) else "the released table"
    setting = ScoreboardSetting(
        table=table, known=known, person=person, item=item, target=whose, truth=truth, rate=rate, subject=name
    )
    result = ScoreboardResult(events=events, points=given, ranking=ranking, strangers=strangers)
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
    events: Events
    points: Points
    ranking: Ranking
    strangers: Strangers


def check(rate: float, widths: tuple[float, float], decoys: int) -> None:
    if not 0 < rate < 1:
        raise InvalidInputError(
            f"the rate of false matches must be between 0 and 1, not {rate:g}", "for example 0.01", "out-of-range"
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
    """The best of each target. A person in `hidden`, one for each target, is left out of the table for it: as a person,
    and in how many rows have an item."""
    parts = []
    each = max(CELLS // events.people, 1)
    order = np.argsort(points.target, kind="stable")
    ends = np.searchsorted(points.target[order], np.arange(points.targets + 1))
    worth = _worth(events, points, hidden)
    for first in range(0, points.targets, each):
        progress("scoring", first, points.targets)
        last = min(first + each, points.targets)
        gains = _gains(events, points, order[ends[first] : ends[last]], first, widths, worth)
        parts.append(_best(gains, (last - first, events.people), None if hidden is None else hidden[first:last]))
    return Ranking(
        **{name: np.concatenate([getattr(part, name) for part in parts])
           for name in ("best", "score", "second", "eccentricity")}
    )  # fmt: skip


def held(events: Events, person: Integers, item: Integers) -> Integers:
    """How many rows each of these people has with this item; none where either is -1."""
    width = len(events.starts)
    keys = np.sort(events.person * width + events.item)
    wanted = np.where((person >= 0) & (item >= 0), person * width + item, -1)
    return np.searchsorted(keys, wanted, side="right") - np.searchsorted(keys, wanted, side="left")


def _worth(events: Events, points: Points, hidden: Integers | None) -> Floats:
    """Of each point: the weight of its item, in the table without the hidden person."""
    support = np.diff(events.starts)[points.item]
    return weights(support if hidden is None else support - held(events, hidden[points.target], points.item))


def _gains(  # noqa: PLR0913, PLR0917  two tables, and how they are compared
    events: Events, points: Points, some: Integers, first: int, widths: tuple[float, float], worth: Floats
) -> tuple[Integers, Floats]:
    """For each of these points and each person with its item: the place in targets x people, and what it adds."""
    some = some[points.item[some] >= 0]
    item = points.item[some]
    start, count = events.starts[item], events.starts[item + 1] - events.starts[item]
    point = np.repeat(some, count)
    event = np.repeat(start - (np.cumsum(count) - count), count) + np.arange(len(point))
    alike = _alike((points.value, point), (events.value, event), widths[0])
    alike = (alike + _alike((points.date, point), (events.date, event), widths[1])) / 2
    return (points.target[point] - first) * events.people + events.person[event], worth[point] * alike


def _alike(one: tuple[Floats, Integers], other: tuple[Floats, Integers], width: float) -> Floats | float:
    """Of numbers and the places of those compared: 1 for the same, 1/e for a width apart; 1 where one of the two is not
    told."""
    (left, here), (right, there) = one, other
    if np.isnan(left).all() or np.isnan(right).all():
        return 1.0
    apart = np.abs(left[here] - right[there])
    apart[np.isnan(apart)] = 0
    return np.exp(apart / -width)


def _best(gains: tuple[Integers, Floats], shape: tuple[int, int], hidden: Integers | None) -> Ranking:
    """By a table of scores with a row for each target and a column for each person."""
    cell, gain = gains
    scores = np.bincount(cell, gain, shape[0] * shape[1]).astype(np.float64, copy=False).reshape(shape)
    rows = np.arange(shape[0])
    if hidden is not None:
        scores[rows, hidden] = np.nan
    best = np.nanargmax(scores, axis=1)
    score = scores[rows, best]
    spread = np.nanstd(scores, axis=1)
    scores[rows, best] = -1.0
    second = np.nanmax(scores, axis=1)
    without = score - _largest(cell, gain, best, shape[1])
    out = np.divide(without - second, spread, out=np.zeros(len(rows)), where=spread > 0)
    return Ranking(best=np.where(score > 0, best, NOBODY), score=score, second=second, eccentricity=out)


def _largest(cell: Integers, gain: Floats, best: Integers, people: int) -> Floats:
    """Of what is added for the best person of each target; 0 where nothing is."""
    target = cell // people
    here = cell == target * people + best[target]
    most = np.zeros(len(best))
    np.maximum.at(most, target[here], gain[here])
    return most

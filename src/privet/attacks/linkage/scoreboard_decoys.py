"""How far the best of a scoreboard stands out for people who are not in the table: simulated strangers.

A stranger is a person of the table, scored against the table without them: their rows do not count, neither as a person
nor in how rare an item is. As many points are known of the stranger as of some target. Some of them are wrong, and what
is wrong decides how often somebody else stands out: a rare item points to the one or two people who have it. So there
are strangers for every law of wrong points in LAWS and every share of them in SHARES, besides strangers whose points
are all true, and the threshold is the largest that one of these families needs.

With D strangers in a family a threshold is needed that their own law exceeds with a chance of at most the rate, except
with chance MISS: the k-th largest of their eccentricities, with the largest k for which the upper bound of Clopper and
Pearson on the chance behind k - 1 of D is at most the rate. The largest over the families holds for all of them at
once with the same MISS: the family whose true quantile is largest has a threshold above it except with chance MISS, and
what is above the largest quantile is above all of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from privet.attacks.linkage.scoreboard import Events, Points, Progress, Ranking, held, ranked
from privet.stats.binomial import upper
from privet.typing import Floats, Integers

MISS = 0.05
SHARES = (0.25, 0.5)  # of the points of a stranger that are wrong
TRUE = "all points true"
UNIFORM, POPULAR, RARE, RAREST = "every item alike", "by popularity", "by rarity", "the rarest tenth"
ERRORS = "like the points that do not fit"
LAWS = (UNIFORM, POPULAR, RARE, RAREST, ERRORS)
SEED = (0, 1)

Widths = tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Family:
    """Strangers of one law: `needed` is the threshold that keeps the rate for them (infinity: too few to tell)."""

    law: str
    share: float
    eccentricity: Floats
    needed: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Strangers:
    """`spare` are fresh ones of the family that needs most: they show what the threshold is worth."""

    families: tuple[Family, ...]
    spare: Floats

    @property
    def worst(self) -> Family:
        return max(self.families, key=lambda family: family.needed)

    @property
    def threshold(self) -> float:
        return self.worst.needed


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Draws:
    """What strangers are drawn from: each person's rows, `order[ends[p] : ends[p + 1]]`, and how many points are known
    of the targets. `misfits` are points of targets that their best person does not have."""

    events: Events
    points: Points
    misfits: Integers
    order: Integers
    ends: Integers
    sizes: Integers

    @classmethod
    def of(cls, events: Events, points: Points, ranking: Ranking) -> Draws:
        order = np.argsort(events.person, kind="stable")
        there = held(events, ranking.best[points.target], points.item) > 0
        return cls(
            events=events,
            points=points,
            misfits=np.flatnonzero(~there),
            order=order,
            ends=np.searchsorted(events.person[order], np.arange(events.people + 1)),
            sizes=np.bincount(points.target, minlength=points.targets),
        )

    def strangers(self, law: str, share: float, who: Integers, draw: np.random.Generator) -> Points:
        """True points are rows of the person. A wrong one has another item, with the value and the date of the true
        one; one like the misfits has their value and date, too."""
        sizes = draw.choice(self.sizes, len(who))
        rows = [
            draw.permutation(self.order[self.ends[person] : self.ends[person + 1]])[:size]
            for person, size in zip(who, sizes, strict=True)
        ]
        event = np.concatenate(rows)
        item, value, date = self.events.item[event], self.events.value[event], self.events.date[event]
        wrong = np.flatnonzero(draw.random(len(event)) < share)
        if law == ERRORS:
            some = draw.choice(self.misfits, len(wrong))
            item[wrong], value[wrong], date[wrong] = (
                of[some] for of in (self.points.item, self.points.value, self.points.date)
            )
        elif law != TRUE:
            item[wrong] = draw.choice(len(self.events.starts) - 1, len(wrong), p=chances(self.events, law))
        return Points(
            target=np.repeat(np.arange(len(who)), [len(row) for row in rows]),
            item=item,
            value=value,
            date=date,
            targets=len(who),
        )


def chances(events: Events, law: str) -> Floats:
    """Of each item to be a wrong point, by one of the laws that know only how many people have it."""
    support = np.diff(events.starts).astype(np.float64)
    there = support > 0
    if law == POPULAR:
        weight = support
    elif law == RARE:
        weight = np.divide(1, support, out=np.zeros(len(support)), where=there)
    elif law == RAREST:
        order = np.argsort(np.where(there, support, np.inf), kind="stable")
        weight = np.zeros(len(support))
        weight[order[: max(int(there.sum()) // 10, 1)]] = 1
    else:
        weight = there.astype(np.float64)
    return np.asarray(weight / weight.sum())


def simulate_strangers(  # noqa: PLR0913, PLR0917  a table, targets, and how many
    events: Events, points: Points, ranking: Ranking, number: int, rate: float, widths: Widths, progress: Progress
) -> Strangers:
    """`ranking` is that of the targets. One stranger per person and family at most. The draws are always the same."""
    draw = np.random.default_rng(SEED)
    draws = Draws.of(events, points, ranking)
    number = min(number, events.people)
    kinds = [(TRUE, 0.0)] + [(law, share) for law in LAWS for share in SHARES if law != ERRORS or len(draws.misfits)]

    def scored(place: int, law: str, share: float) -> Floats:
        who = draw.permutation(events.people)[:number]
        made = draws.strangers(law, share, who, draw)
        tell = _part(progress, place, len(kinds) + 1)
        return ranked(events, made, widths, tell, hidden=who).eccentricity

    families = []
    for place, (law, share) in enumerate(kinds):
        found = scored(place, law, share)
        families.append(Family(law=law, share=share, eccentricity=found, needed=threshold(found, rate)))
    worst = max(families, key=lambda family: family.needed)
    return Strangers(families=tuple(families), spare=scored(len(kinds), worst.law, worst.share))


def _part(progress: Progress, place: int, of: int) -> Callable[[str, int, int], object]:
    return lambda _, done, targets: progress("scoring strangers", place * targets + done, of * targets)


def threshold(eccentricity: Floats, rate: float) -> float:
    """What one more stranger exceeds with chance `rate` at most, except with chance MISS; infinity if these are too few
    to tell."""
    number, above = len(eccentricity), -1
    while above + 1 < number and upper(above + 1, number, MISS) <= rate:
        above += 1
    return math.inf if above < 0 else float(np.sort(eccentricity)[number - 1 - above])


def fewest(rate: float) -> int:
    """How many strangers are needed for a threshold that none of them reaches."""
    return math.ceil(math.log(MISS) / math.log1p(-rate))

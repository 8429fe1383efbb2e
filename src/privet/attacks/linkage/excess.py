"""By how much more people are alike than independent columns would give.

Who lives in a city lives in its state, and a family has one name and one street. Two people who agree in some columns
then agree in others far more often than the product of the chances says, and a pair that agrees in all columns but one
may well be two people. How often is seen in the release itself, whose records are of different people: how many pairs
of records agree in all columns, and in all but one, against how many would.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from privet.attacks.linkage.axis import LinkAxis
from privet.attacks.linkage.join import KEYS, JoinClasses
from privet.attacks.linkage.name_likeness import SIMILAR, letters, similarity
from privet.typing import Floats, Integers

AGREE = -1  # no axis is wrong
TEN = 10  # pairs
POWERS, SPREAD = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2), 0.5


@dataclass(slots=True, kw_only=True, eq=False)
class Excess:
    """For each class of records, by the axis that disagrees, or AGREE: what the chance of a stranger is multiplied
    with. Each is found once, when it is asked for."""

    released: JoinClasses
    axes: Sequence[LinkAxis]
    chance: Sequence[Floats]  # for each axis the chance of each released text
    _found: dict[int, Floats] = field(init=False, default_factory=dict)

    def of(self, wrong: int) -> Floats:
        """At least 1.

        The others who agree with a record are X; independent columns would give an expected number e. The true
        expectation is taken as a Gamma law around r = k * e^p with shape a. The power p, at most 1, is for columns that
        say the same thing: a rare street in a rare town is not rare twice. k and a are fitted to all records by their
        first two moments; given X, the mean is r * (a + X) / (a + r), of which r itself is the least that is used.
        Where there are few pairs to count, or none, k is not known well: half a pair is added to those that were seen
        (the mean of the rate of a Poisson law, given one count and Jeffreys' prior), so a table of few records never
        shows that strangers do not agree.
        """
        if wrong not in self._found:
            self._found[wrong] = self._fitted(wrong)
        return self._found[wrong]

    def similar(self, at: int, overall: float) -> float:
        """The chance that the texts of two people look alike at this axis, if they agree in all others: rooms 101 and
        102 are in one house. Counted in pairs of records, as many as there are records at most; as if there were ten
        pairs more, of which as many look alike as `overall`."""
        texts = self.axes[at].texts
        if texts is None:
            return overall
        same = alike(self.released.codes, [place for place in range(len(self.axes)) if place != at])
        order = np.random.default_rng(0).permutation(len(same))
        order = order[np.argsort(same[order], kind="stable")]
        pairs = np.flatnonzero(np.diff(same[order]) == 0)
        one, other = (self.released.codes[order[pairs + step], at] for step in (0, 1))
        told = ~(self.axes[at].released.free[one] | self.axes[at].released.free[other])
        rows = letters(texts[0])
        seen = float((similarity(rows, rows, one[told], other[told]) >= SIMILAR).sum())
        return max(overall, (seen + TEN * overall) / (int(told.sum()) + TEN))

    def _fitted(self, wrong: int) -> Floats:
        people = self.released.people.astype(np.float64)
        others = self._others(wrong)
        expected, whole = self._expected(wrong)
        weight = people * whole
        if not float(weight @ expected) > 0:
            return np.ones(len(people))
        pairs = float(weight @ others) + 1  # each pair is counted from both of its records
        shrunk = expected ** _power(expected[whole], weight[whole], others[whole])
        mean = pairs / float(weight @ shrunk) * shrunk
        spread = float(weight @ ((others - mean) ** 2 - mean))
        shape = float(weight @ mean**2) / spread if spread > 0 else np.inf
        likely = mean if np.isinf(shape) else mean * np.maximum((shape + others) / (shape + mean), 1.0)
        average = pairs / float(weight @ expected)
        return np.maximum(np.where(whole, likely / expected, average), 1.0)

    def _others(self, wrong: int) -> Floats:
        """How many other records agree with each in all columns, or in all but the wrong one, where they differ."""
        people = self.released.people.astype(np.float64)
        if wrong == AGREE:
            return people - 1
        rest = [at for at in range(len(self.axes)) if at != wrong]
        same = alike(self.released.codes, rest)
        return np.asarray(np.bincount(same, people)[same] - people)

    def _expected(self, wrong: int) -> tuple[Floats, np.ndarray[tuple[int], np.dtype[np.bool_]]]:
        """How many independent columns would give, and for which records that can be said: those without a gap."""
        log, whole = np.zeros(len(self.released)), np.ones(len(self.released), np.bool_)
        for at, (axis, u) in enumerate(zip(self.axes, self.chance, strict=True)):
            codes = self.released.codes[:, at]
            whole &= ~axis.released.free[codes]
            log += np.log(u[codes] if at != wrong else np.maximum(1 - u[codes], 1e-6))
        return np.exp(log) * max(float(self.released.people.sum()) - 1, 0.0), whole


def _power(expected: Floats, weight: Floats, others: Floats) -> float:
    """The p of r = k * e^p that makes the counts of a Poisson law of mean r likeliest, with the best k for each p; a
    normal law around 1 is the prior, so without counts it is 1."""
    pairs = float(weight @ others)
    logs = np.log(expected)
    seen = float((weight * others) @ logs)

    def likelihood(power: float) -> float:
        total = float(weight @ np.exp(power * logs))
        return power * seen - pairs * math.log(total) - ((power - 1) / SPREAD) ** 2 / 2

    return max(POWERS, key=likelihood)


def alike(codes: Integers, columns: Sequence[int]) -> Integers:
    """A number for each row, the same for rows with the same codes in these columns."""
    key, size = np.zeros(len(codes), np.int64), 1
    for at in columns:
        width = int(codes[:, at].max(initial=0)) + 1
        if size * width >= KEYS:
            key = np.unique(key, return_inverse=True)[1]
            size = len(codes)
        key, size = key * width + codes[:, at], size * width
    return np.asarray(np.unique(key, return_inverse=True)[1])

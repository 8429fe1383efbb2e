"""How much a pair speaks for one person: the weights of Fellegi and Sunter (1969).

A value that agrees counts m / u: m is the chance that it agrees for one and the same person, u the chance that it
agrees for two people. u is the share of known people who agree with this very value, so a rare value weighs more. One
value of a pair may be wrong; it counts (1 - m) / (1 - u), or for a similar text the chances of such a one. m, and how
many people are in both tables, are estimated by expectation and maximization: from the probabilities of all pairs the
numbers that they would have come from, and again.

u takes columns as independent of each other. That they often are not is seen in the release itself, see linkage_excess.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from privet.attacks.linkage.axis import LinkAxis
from privet.attacks.linkage.excess import AGREE, Excess
from privet.attacks.linkage.join import Join, Pairs
from privet.attacks.linkage.matching import Messages
from privet.attacks.linkage.name_likeness import SIMILAR, letters, similarity
from privet.attacks.linkage.rings import held
from privet.typing import Floats, Integers, Truths

Progress = Callable[[str, int, int], object]
Texts = npt.NDArray[np.str_]
ROUNDS, ENOUGH = 40, 1e-4  # of the number of people in both tables
SWEEPS = 2  # of messages in a round; the last round goes on until they settle
DRAWS = 100_000  # pairs of texts, to see how many are similar by chance
FIRST_M, LEAST_M, MOST_M, FIRST_SIMILAR = 0.95, 0.8, 1 - 1e-4, 0.02
LETTERS = (1, 2, 3, 4, 6)  # by so many first, and last, letters misspelled texts are looked up: the fewest that will do
FASTEST = 64.0  # times the step of a round
TINY = 1e-6  # for a chance that is about 0
EXPLAINED = 0.99  # a record that people who fit it explain with this probability
NEGLIGIBLE = 1e-4  # of the largest weight that a record has


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Candidates:
    """Pairs of classes that agree, or disagree on one axis: `wrong` is that axis, or AGREE. `similar`: its two texts
    look alike. `skipped` axes were not allowed to be wrong, because too many pairs agree on all others."""

    released: Integers
    known: Integers
    wrong: Integers
    similar: Integers
    crowded: Integers  # released classes with too many candidates to list
    skipped: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.released)

    def only(self, which: Truths) -> Candidates:
        parts = (part[which] for part in (self.released, self.known, self.wrong, self.similar))
        released, known, wrong, similar = parts
        return replace(self, released=released, known=known, wrong=wrong, similar=similar)


@dataclass(slots=True, kw_only=True, eq=False)
class LinkChances:
    """What is estimated: how many people are in both tables, and for each axis how often its value agrees, and how
    often it is similar, for one and the same person."""

    both: float
    agrees: list[float]
    similar: list[float]


def candidates(join: Join, *, errors: bool, progress: Progress) -> Candidates:
    agreed = join.all_agree()
    found = [_marked((agreed.released, agreed.known), AGREE, 0)]
    skipped = []
    for at, axis in enumerate(join.axes if errors else ()):
        progress("looking for wrong values", at, len(join.axes))
        pairs = join.all_but(at) if len(join.axes) > 1 else None
        if pairs is None:
            skipped.append(axis.name if axis.texts is None else f"{axis.name} that looks unlike")
            pairs = _misspelled(join, at)
        found.append(_judged(axis, join, at, pairs))
    parts = [np.concatenate(some) for some in zip(*found, strict=True)]
    fine = ~agreed.crowded[parts[0]]
    released, known, wrong, similar = (part[fine] for part in parts)
    return Candidates(
        released=released,
        known=known,
        wrong=wrong,
        similar=similar,
        crowded=np.flatnonzero(agreed.crowded),
        skipped=tuple(skipped),
    )


def _marked(pairs: Pairs, wrong: int, similar: Integers | int) -> tuple[Integers, Integers, Integers, Integers]:
    size = len(pairs[0])
    return *pairs, np.full(size, wrong), np.broadcast_to(np.asarray(similar, np.int64), size)


def _misspelled(join: Join, at: int) -> Pairs:
    """Pairs that share the first or the last letters of a text, where leaving it out altogether gives too many."""
    texts = join.axes[at].texts
    if texts is None:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    width = max(len(join.known), 1)
    found = [np.zeros(0, np.int64)]
    for end in ("first", "last"):
        for length in LETTERS:
            pairs = join.all_but(
                at, _ends(join, at, texts, slice(0, length) if end == "first" else slice(-length, None))
            )
            if pairs is not None:
                found.append(pairs[0] * width + pairs[1])
                break
    both = np.unique(np.concatenate(found))
    return both // width, both % width


def _ends(join: Join, at: int, texts: tuple[Texts, Texts], part: slice) -> Pairs:
    """A number for each class, the same for texts with the same letters there."""
    ours, theirs = ([text[part] for text in side.tolist()] for side in texts)
    number = np.unique(np.array([*ours, *theirs], dtype=np.str_), return_inverse=True)[1]
    return number[: len(ours)][join.released.codes[:, at]], number[len(ours) :][join.known.codes[:, at]]


def _judged(axis: LinkAxis, join: Join, at: int, pairs: Pairs) -> tuple[Integers, Integers, Integers, Integers]:
    """Texts that look alike are marked; of an axis that would have given too many, only these are kept."""
    if axis.texts is None or not len(pairs[0]):
        return _marked(pairs, at, 0)
    one, other = join.released.codes[pairs[0], at], join.known.codes[pairs[1], at]
    width = len(axis.texts[1])
    both, place = np.unique(one * width + other, return_inverse=True)
    alike = similarity(letters(axis.texts[0]), letters(axis.texts[1]), both // width, both % width) >= SIMILAR
    return _marked(pairs, at, alike[place].astype(np.int64))


class LinkWeights:
    """The weights of candidates, given what is estimated. Candidates that tell of the same axes and have the same one
    wrong are of one pattern: what is estimated enters by pattern, so a round costs one look-up a candidate."""

    def __init__(self, join: Join, found: Candidates, excess: Excess) -> None:
        self._records, self._people = (int(side.people.sum()) for side in (join.released, join.known))
        ours, theirs = join.released.codes[found.released], join.known.codes[found.known]
        self._log = np.zeros(len(found))
        for wrong in np.unique(found.wrong).tolist():
            here = found.wrong == wrong
            self._log[here] = -np.log(excess.of(wrong)[found.released[here]])
        key = (found.wrong + 1) * 2 + found.similar
        for at, axis in enumerate(join.axes):
            told = ~(axis.released.free[ours[:, at]] | axis.known.free[theirs[:, at]])
            wrong = found.wrong == at
            u = excess.chance[at][ours[:, at]]
            by_chance = excess.similar(at, similar_by_chance(axis)) if wrong.any() else TINY
            self._log -= np.where(told & ~wrong, np.log(u), 0.0)
            unlike = np.where(found.similar > 0, by_chance, np.maximum(1 - u - by_chance, TINY))
            self._log -= np.where(wrong, np.log(unlike), 0.0)
            key = key * 2 + told
        patterns, self._pattern = np.unique(key, return_inverse=True)
        told_bits = patterns[:, None] >> np.arange(len(join.axes))[::-1] & 1
        rest = patterns >> len(join.axes)
        self._wrong, self._similar = (rest >> 1) - 1, (rest & 1) > 0
        self._told = told_bits > 0  # a row a pattern, a column an axis

    def odds(self, chances: LinkChances) -> float:
        """Of a record and a person of whom nothing is known: how many pairs are of one person, against how many are
        of two who are each in one table only. That is the prior weight if people fall into classes by a Poisson law."""
        alone = (self._records - chances.both) * (self._people - chances.both)
        return chances.both / alone

    def of(self, chances: LinkChances) -> Floats:
        agrees, similar = np.array(chances.agrees), np.array(chances.similar)
        right = self._told & (self._wrong[:, None] != np.arange(len(agrees)))
        by_pattern = np.log(self.odds(chances)) + (right * np.log(agrees)).sum(axis=1)
        unlike = np.log(np.where(self._similar[:, None], similar, np.maximum(1 - agrees - similar, TINY)))
        wrong = self._wrong >= 0
        by_pattern[wrong] += unlike[wrong, self._wrong[wrong]]
        return np.asarray(np.exp(np.minimum(self._log + by_pattern[self._pattern], 300.0)))

    def learned(self, pairs: Floats, both: float) -> LinkChances:
        """`pairs` is how many pairs of one person each candidate is thought to have."""
        sums = np.bincount(self._pattern, pairs, len(self._wrong))
        agrees, similar = [], []
        for at in range(self._told.shape[1]):
            wrong = self._wrong == at
            total = float(sums[self._told[:, at]].sum()) + 1.0
            alike = float(sums[wrong & self._similar].sum())
            similar.append(min(max(alike / total, 1e-4), 0.3))
            agrees.append(min(max(1 - float(sums[wrong].sum()) / total, LEAST_M), MOST_M))
        most = min(self._records, self._people) - 0.5
        return LinkChances(both=min(max(both, 0.5), most), agrees=agrees, similar=similar)


def similar_by_chance(axis: LinkAxis) -> float:
    """The share of similar texts among pairs of a record and a person drawn at random, always the same ones."""
    if axis.texts is None:
        return TINY
    draw = np.random.default_rng(0)
    sides = []
    for side, texts in zip((axis.released, axis.known), axis.texts, strict=True):
        people = np.where(side.free, 0, side.people).astype(np.float64)
        if not people.sum():
            return TINY
        sides.append((letters(texts), draw.choice(len(texts), DRAWS, p=people / people.sum())))
    (ours, left), (theirs, right) = sides
    width = len(axis.texts[1])
    both, count = np.unique(left * width + right, return_counts=True)
    alike = similarity(ours, theirs, both // width, both % width)
    equal = axis.overlap(both // width, both % width)
    return float(count[(alike >= SIMILAR) & ~equal].sum() + 0.5) / DRAWS


def estimated(join: Join, found: Candidates, progress: Progress) -> tuple[Candidates, Floats, LinkChances]:
    """The candidates that count, the probability of each pair of a record and a person of their classes, and what was
    estimated on the way."""
    ours, theirs = (side.people.astype(np.float64) for side in (join.released, join.known))
    chances = LinkChances(
        both=max(min(ours.sum(), theirs.sum()) / 2, 0.25),
        agrees=[FIRST_M] * len(join.axes),
        similar=[FIRST_SIMILAR] * len(join.axes),
    )
    excess = Excess(released=join.released, axes=join.axes, chance=[axis.chance() for axis in join.axes])
    if (found.wrong >= 0).any():
        agreed = found.only(found.wrong < 0)
        messages, weights, first = _learned(join, agreed, chances, excess, progress)
        chance = messages.settle(weights.of(first), weights.odds(first), sweeps=SWEEPS)
        explained = np.bincount(agreed.released, chance * theirs[agreed.known], len(ours)).astype(np.float64)
        found = _counting(join, found, explained, chances, excess)
        chances.both = first.both
    messages, weights, chances = _learned(join, found, chances, excess, progress)
    weight = weights.of(chances)
    return found, held(messages, weight, messages.settle(weight, weights.odds(chances))), chances


def _learned(
    join: Join, found: Candidates, chances: LinkChances, excess: Excess, progress: Progress
) -> tuple[Messages, LinkWeights, LinkChances]:
    """Expectation: how likely each pair is. Maximization: the chances that make this most likely. Until they settle."""
    ours, theirs = (side.people.astype(np.float64) for side in (join.released, join.known))
    weights = LinkWeights(join, found, excess)
    messages = Messages(found.released, found.known, ours, theirs, int(join.released.people[found.crowded].sum()))
    pairs = ours[found.released] * theirs[found.known]
    speed, rising, most = 0.5, True, float(min(ours.sum(), theirs.sum()))
    for number in range(ROUNDS):
        progress("weighing pairs", number, ROUNDS)
        odds = weights.odds(chances)
        matches = pairs * messages.settle(weights.of(chances), odds, sweeps=SWEEPS)
        both = float(matches.sum()) + messages.silent_matches(odds, matches / pairs)
        before, chances = chances, weights.learned(matches, both)
        if abs(chances.both - before.both) < ENOUGH * before.both:
            break
        speed = min(2 * speed, FASTEST) if (chances.both > before.both) is rising else 1.0
        rising = chances.both > before.both
        chances.both = _farther(before.both, chances.both, most, speed)
    return messages, weights, chances


def _farther(before: float, after: float, most: float, speed: float) -> float:
    """The step that expectation and maximization took, times `speed`, in log-odds: small steps all in one direction are
    far from the end, above all where everybody is in both tables."""
    logs = [math.log(both / (most - both)) for both in (before, after)]
    odds = math.exp(min(logs[0] + speed * (logs[1] - logs[0]), 30.0))
    return min(max(most * odds / (1 + odds), 0.5 * min(most, 1.0)), most - 0.5)


def _counting(join: Join, found: Candidates, explained: Floats, chances: LinkChances, excess: Excess) -> Candidates:
    """Without pairs with a wrong value that do not count: their record is explained by people who fit it, or they are
    next to nothing beside another pair of the same record."""
    left = explained[found.released] < EXPLAINED
    found = found.only((found.wrong < 0) | left)
    weight = LinkWeights(join, found, excess).of(chances)
    best = np.zeros(len(join.released))
    np.maximum.at(best, found.released, weight)
    return found.only((found.wrong < 0) | (weight >= NEGLIGIBLE * best[found.released]))

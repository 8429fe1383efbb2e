"""How many people are in both tables, and how many people nobody has seen look like a record.

Pairs that agree well are counted across the tables, and within each of them (decoys, which are two people). What is
left across when as many are taken off as decoys have, per pair, is of one person each: an unbiased count, whatever
columns go together, as long as people are in the two tables independently of each other. Of all scores from which on
pairs are counted, the one with the least error is used, and for claims a lower bound.

With E people in both of n and m, there are nm / E people in all (Lincoln 1930, Petersen 1896), of whom a share of
(1 - E/n)(1 - E/m) is in neither. A record that fits one person only is that person's with odds 1 : U, where U is how
many others like it are expected in neither table. U is the mean number of others times that share if people are alike
by chance; if they are alike in groups of a fixed size, as after anonymization, nobody seen means that all of them are
unseen. The variance of how many decoys a record has tells which (Panjer's class: binomial, Poisson, negative binomial).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from privet.attacks.linkage.model import Compared
from privet.typing import Floats

SURE = 1.0  # standard errors below the estimate
SCORES = np.arange(-18.0, 14.0, 1.0)  # logs of likelihood ratios, from the log of the number of pairs on
ENOUGH = 30.0  # decoys, to measure how they vary


@dataclass(frozen=True, slots=True, kw_only=True)
class InBoth:
    """How many people are in both tables: an estimate, and a bound that is below it unless we are unlucky."""

    estimate: float
    low: float
    records: int
    people: int

    @property
    def odds(self) -> float:
        """Of a record and a person of whom nothing else is known: pairs of one person, against pairs of two who are
        each in one table only."""
        return self.low / ((self.records - self.low) * (self.people - self.low))

    @property
    def unseen(self) -> float:
        """The share of all people who are in neither table."""
        return (1 - self.low / self.records) * (1 - self.low / self.people)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Scores:
    """Pairs with their log likelihood ratios. `left` is how many records are on the left, of `of` in the table; `right`
    how many people each of them is compared with."""

    pairs: Compared
    ratio: Floats
    sizes: Floats  # records of each class on the left
    left: float
    of: float
    right: float

    def each(self, score: float) -> Floats:
        """How many pairs that reach this score a record of each class has."""
        use = self.ratio >= score
        return np.bincount(self.pairs.one[use], self.pairs.many[use], len(self.sizes)) / self.sizes

    def above(self, score: float) -> tuple[float, float]:
        """How many pairs reach this score, and the sum of squares of how many each record has."""
        each = self.each(score)
        return float((self.sizes * each).sum()), float((self.sizes * each**2).sum())

    def spread(self, score: float) -> float:
        """The variance over the mean of how many pairs a record has; 1 if there are too few to tell."""
        total, squares = self.above(score)
        mean = total / max(self.left, 1.0)
        return (squares / self.left - mean**2) / mean if total >= ENOUGH else 1.0


def people_in_both(across: Scores, decoys: Sequence[Scores], chance: Floats | None) -> InBoth:
    """`chance`: of each pair across, as far as it is known. Pairs are counted from the score on at which the error is
    least: that of the count, and the pairs of one person below it. Without it, from where the bound is highest."""
    records, people = round(across.of), round(across.right)
    counted = [
        min((_counted(across, decoys, score), *_paired(across, decoys, score)), key=_error)
        for score in SCORES + np.log(across.of * across.right)
    ]
    if chance is None:
        found, error = max(counted, key=lambda some: some[0] - 2 * some[1])
    else:
        sure = chance * across.pairs.many * across.of / max(across.left, 1.0)
        below = [float(sure[across.ratio < score].sum()) for score in SCORES + np.log(across.of * across.right)]
        errors = [missed**2 + some[1] ** 2 for missed, some in zip(below, counted, strict=True)]
        found, error = counted[int(np.argmin(errors))]
    most = min(records, people) - min(0.5, 0.25 * min(records, people))
    low, estimate = (float(np.clip(number, 0.25, most)) for number in (found - SURE * error, found))
    return InBoth(estimate=estimate, low=low, records=records, people=people)


def _counted(across: Scores, decoys: Sequence[Scores], score: float) -> tuple[float, float]:
    """Pairs of one person from this score on, and the standard error of their number."""
    every, scale = across.of * across.right, across.of / max(across.left, 1.0)
    seen = across.above(score)[0]
    rates, noise = [], []
    for some in decoys:
        total, squares = some.above(score)
        pairs = max(some.left * some.right, 1.0)
        rates.append(total / pairs)
        noise.append((2 * squares + 2) / pairs**2 + 2 * squares / pairs / every)
    rate = float(np.mean(rates)) if rates else 1.0
    variance = every**2 * float(np.mean(noise)) if noise else 0.0
    return seen * scale - every * rate, float(np.sqrt(variance + scale * (scale - 1) * seen))


def _error(counted: tuple[float, float]) -> float:
    return counted[1]


def _paired(across: Scores, decoys: Sequence[Scores], score: float) -> Iterator[tuple[float, float]]:
    """The same, record by record: how many pairs it has across, less those that it has as a decoy. If both tables hold
    the same people, this is 1 for every record, however many look alike, and the error is small where that of two
    separate counts is not. Classes vary independently; the least error is that of one decoy more or less."""
    for some in decoys:
        whole = some.pairs.sides == (0, 0) and some.left == across.left == across.of and some.right >= across.of - 1.5
        if whole and len(across.sizes) > 1:
            scale = across.right / some.right
            excess = across.each(score) - scale * some.each(score)
            found, classes = float(across.sizes @ excess), len(across.sizes)
            apart = across.sizes * (excess - found / across.of)
            yield found, float(np.sqrt(apart @ apart * classes / (classes - 1) + 2 * scale**2))


def crowding(both: InBoth, decoys: Sequence[Scores], score: float) -> float:
    """By how much more unseen people are expected than if people were alike by chance, at least 1."""
    found = 1.0
    for some in decoys:
        share = both.low / (both.people if some.pairs.sides == (0, 0) else both.records)  # of all people, in this table
        spread = max(1 + (some.spread(score) - 1) / share, 0.0)
        found = max(found, 1 / max(1 + (1 - both.unseen) * min(spread - 1, 0.0), both.unseen))
    return found

"""The probability of each pair, if a record belongs to one person at most and a person has one record at most.

All ways to pair some records with some people are possible; a way has the product of the weights of its pairs, and the
probability of a pair is the share of the ways that have it. Nobody may be the answer: a way need not pair everybody.
Summing over all ways is out of reach (it is a permanent), so messages are passed along the pairs until they settle:

    x = 1 / (1 + the sum of weight * y over the other pairs of the record),  y likewise for the person
    probability of the pair = weight * x * y / (1 + weight * x * y)

This is exact where the pairs form no ring, so for whoever has one candidate and is one candidate's only one (belief
propagation on a tree: Pearl 1988, chapter 4), and the Bethe approximation elsewhere, see rings. Records of a
class are alike, so messages are passed between classes.

Most often b records that look alike fit c people whom nobody else fits, all equally well. Then the sum is known: k
pairs can be made in C(b, k) C(c, k) k! ways, each of weight w^k. There the probabilities are exact; tests compare them,
and those of messages, with the sum over all ways.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from privet.typing import Floats, Integers, Truths

SWEEPS = 100
SETTLED = 1e-6
SAME = 1e-9  # weights that differ by rounding only
TINY = 1e-300


@dataclass(slots=True, eq=False)
class Messages:
    """Pairs of classes, with `ours` records and `theirs` people in each class. `silent` records may be anybody's."""

    released: Integers
    known: Integers
    ours: Floats
    theirs: Floats
    silent: int = 0
    taken: float = field(init=False, default=1.0)  # 1, and how much silent records want a person
    _groups: _Groups | None = field(init=False, default=None)
    _to_record: Floats = field(init=False)
    _pool: float = field(init=False, default=1.0)  # the message of a silent record to each person

    def __post_init__(self) -> None:
        self._to_record = np.ones(len(self.released))

    def settle(self, weight: Floats, anybody: float, *, sweeps: int = SWEEPS) -> Floats:
        """The probability of each pair, given its weight; `anybody` is the weight of a silent record with a person.
        Goes on from where the last call stopped."""
        if self._groups is None:
            self._groups = _Groups(self, weight)
        before = np.full(len(weight), -1.0)
        for _ in range(sweeps):
            found = self._sweep(weight, anybody)
            if np.abs(found - before).max(initial=0.0) < SETTLED:
                break
            before = found
        self.taken = 1 + self.silent * anybody * self._pool
        return self._groups.exact(weight / self.taken, found)

    def in_groups(self) -> Truths:
        """Which pairs are of records that look alike and people whom nobody else fits."""
        found = np.zeros(len(self.released), np.bool_)
        found[[] if self._groups is None else self._groups.edges] = True
        return found

    def _sweep(self, weight: Floats, anybody: float) -> Floats:
        people, records = self.theirs[self.known], self.ours[self.released]
        offered = weight * self._to_record
        heard = np.bincount(self.released, offered * people, len(self.ours))
        to_person = 1 / (1 + np.maximum(heard[self.released] - offered, 0.0))
        asked = weight * to_person
        wanted = np.bincount(self.known, asked * records, len(self.theirs)) + self.silent * anybody * self._pool
        self._to_record = 1 / (1 + np.maximum(wanted[self.known] - asked, 0.0))
        if self.silent:
            self._pool = 1 / (1 + anybody * float((self.theirs / (1 + wanted)).sum()))
        both = weight * to_person * self._to_record
        return np.asarray(both / (1 + both))

    def silent_matches(self, anybody: float, found: Floats) -> float:
        """How many silent records belong to somebody, by the same messages."""
        if not self.silent:
            return 0.0
        taken = np.bincount(self.known, found * self.ours[self.released], len(self.theirs))
        left = float((self.theirs * np.clip(1 - taken, 0.0, 1.0)).sum())
        return self.silent * anybody * left * self._pool / (1 + anybody * left * self._pool)


class _Groups:
    """Released classes all of whose candidates have the same weight and no other record: b records, c people."""

    def __init__(self, pairs: Messages, weight: Floats) -> None:
        size = len(pairs.ours)
        degree = np.bincount(pairs.known, minlength=len(pairs.theirs))
        high, low = np.zeros(size), np.full(size, np.inf)
        np.maximum.at(high, pairs.released, weight)
        np.minimum.at(low, pairs.released, weight)
        shared = np.bincount(pairs.released, degree[pairs.known] > 1, size) > 0
        alike = (high <= low * (1 + SAME)) & ~shared & (high > 0)
        self.edges = np.flatnonzero(alike[pairs.released])
        classes, self._group = np.unique(pairs.released[self.edges], return_inverse=True)
        self._records = pairs.ours[classes]
        self._people = np.bincount(self._group, pairs.theirs[pairs.known[self.edges]], len(classes))
        self._first = np.zeros(len(classes), np.int64)
        self._first[self._group] = self.edges

    def exact(self, weight: Floats, found: Floats) -> Floats:
        """The mean number of pairs of each group, shared out among all of its possible pairs."""
        if not len(self.edges):
            return found
        mean = mean_pairs(self._records, self._people, weight[self._first])
        found = found.copy()
        found[self.edges] = (mean / (self._records * self._people))[self._group]
        return found


def mean_pairs(records: Floats | Integers, people: Floats | Integers, weight: Floats) -> Floats:
    """The mean number of pairs where all of b records fit all of c people with one weight, for each group of these."""
    b, c = records.astype(np.int64), people.astype(np.int64)
    number = np.minimum(b, c) + 1
    starts = np.cumsum(number) - number
    of = np.repeat(np.arange(len(number)), number)
    k = np.arange(len(of)) - starts[of]
    table = _log_factorials(int(max(b.max(initial=0), c.max(initial=0))))
    b, c = b[of], c[of]
    log = table[b] - table[b - k] + table[c] - table[c - k] - table[k] + k * np.log(np.maximum(weight, TINY))[of]
    share = np.exp(log - np.maximum.reduceat(log, starts)[of])
    return np.asarray(np.add.reduceat(share * k, starts) / np.add.reduceat(share, starts))


def _log_factorials(most: int) -> Floats:
    return np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, most + 1)))])

"""Pairs of versions trained again. Chance decides who is added and who is removed between the two of each pair."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from privet.attacks.models.outputs import Asking, Kind, outputs
from privet.attacks.models.records import Records
from privet.attacks.models.shadows import SEEDS, Progress, Refit, Stack, makers
from privet.typing import Floats, Integers, Truths


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Update:
    """`records`: first those in both versions (`base` of them), then candidates, then others. Everything else is about
    candidates and others, the people who are asked about. `usual`: others with whom everybody is compared. `control`:
    the rest of the others, treated as candidates are. `added` and `removed` are the truth, `known` if it was given."""

    records: Records
    base: int
    candidates: int
    usual: Truths
    added: Truths
    removed: Truths
    known: bool

    @property
    def asked(self) -> Records:
        return self.records.take(np.arange(self.base, len(self.records)))

    @property
    def labels(self) -> npt.NDArray[np.generic]:
        return np.asarray(self.records.labels[self.base :])

    @property
    def tested(self) -> Truths:
        """The candidates."""
        return np.arange(len(self.usual)) < self.candidates

    @property
    def control(self) -> Truths:
        return ~self.usual & ~self.tested

    def trained_on(self, inside: Truths) -> Integers:
        return np.append(np.arange(self.base), self.base + np.flatnonzero(inside))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Pairs:
    """The odds in the earlier (`first`) and in the later version (`second`), a row for each pair. `joined`: who is in
    the later one only. `left`: who is in the earlier one only."""

    first: Floats
    second: Floats
    joined: Truths
    left: Truths
    failed: int = 0
    error: str = ""

    def __len__(self) -> int:
        return len(self.first)

    def chosen(self, which: Truths) -> Pairs:
        return Pairs(
            first=self.first[which], second=self.second[which], joined=self.joined[which], left=self.left[which]
        )

    @property
    def turned(self) -> Pairs:
        """The same in the other direction of time: who was removed joins."""
        return Pairs(first=self.second, second=self.first, joined=self.left, left=self.joined)

    @property
    def later_alone(self) -> Pairs:
        """Without the first version."""
        return Pairs(first=np.zeros_like(self.first), second=self.second, joined=self.joined, left=self.left)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Training:
    """How versions are trained again, and what they are asked."""

    refit: Refit | Stack
    update: Update
    classes: npt.NDArray[np.generic]
    kind: Kind
    draw: np.random.Generator
    progress: Progress


def no_pairs(people: int) -> Pairs:
    none, nobody = np.empty((0, people)), np.empty((0, people), np.bool_)
    return Pairs(first=none, second=none, joined=nobody, left=nobody)


def changed_pairs(training: Training, pairs: int, what: str) -> Pairs:
    """As many are added and removed as in the update."""
    joined, left = _chances(training.update, pairs, training.draw)
    return _pairs(training, left, joined, (joined, left), what)


def unchanged_pairs(training: Training, pairs: int, inside: Truths, what: str) -> Pairs:
    """One version's records, trained on twice: what differs is the chance of training."""
    same = np.tile(inside, (pairs, 1))
    return _pairs(training, same, same, (same & False, same & False), what)


def _chances(update: Update, pairs: int, draw: np.random.Generator) -> tuple[Truths, Truths]:
    """Who joins and who leaves in each pair. Everybody has a turn before somebody has a second one, so all have about
    as many."""
    people, sizes = len(update.usual), (int(update.added.sum()), int(update.removed.sum()))
    turns = people // max(sum(sizes), 1)
    joined, left = np.zeros((2, pairs, people), np.bool_)
    for pair in range(pairs):
        if pair % turns == 0:
            order = draw.permutation(people)
        start = pair % turns * sum(sizes)
        joined[pair, order[start : start + sizes[0]]] = True
        left[pair, order[start + sizes[0] : start + sum(sizes)]] = True
    return joined, left


def _pairs(training: Training, before: Truths, after: Truths, who: tuple[Truths, Truths], what: str) -> Pairs:
    """A pair of which one training fails is left out."""
    told, errors, size = [], [], len(before)
    for start, insides in ((0, before), (size, after)):
        odds, problems = _told(training, insides, partial(_shifted, training.progress, what, start, 2 * size))
        told.append(odds)
        errors += problems
    there = np.isfinite(told[0]).any(axis=1) & np.isfinite(told[1]).any(axis=1)
    return Pairs(
        first=told[0][there],
        second=told[1][there],
        joined=who[0][there],
        left=who[1][there],
        failed=len(errors),
        error=errors[-1] if errors else "",
    )


def _shifted(progress: Progress, what: str, start: int, of: int, done: int) -> None:
    progress(what, start + done, of)


def _told(training: Training, insides: Truths, tell: Callable[[int], None]) -> tuple[Floats, list[str]]:
    """A row of odds for each training, NaN where it failed, and the kinds of the errors: their words may hold data."""
    update, draw, asked = training.update, training.draw, training.update.asked
    chosen = [draw.permutation(update.trained_on(row)) for row in insides]
    seeds = [int(seed) for seed in draw.integers(SEEDS, size=len(insides))]
    odds, errors = np.full(insides.shape, np.nan), []
    tell(0)
    for place, make in enumerate(makers(training.refit, update.records, chosen, seeds)):
        tell(place)
        try:
            found = outputs(make(), asked, training.classes, training.kind, Asking())[0].odds
            if not np.isfinite(found).any():
                raise ArithmeticError
            odds[place] = found
        except Exception as problem:  # whatever training raises
            errors.append(type(problem).__name__)
    return odds, errors

"""Trainings with canaries in them: who is in which one, what each model says of them, and what that shows.

With many canaries in one training (or in a few), each has a coin of its own, and guesses at all coins are counted
(`one_run`). With one canary, it is in every second training, and scores of either half are compared (`from_scores`).
Under "replace" a coin chooses which one of two records is in, so every training has as many.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from privet.audits.canaries import from_scores
from privet.audits.canary_rows import Canaries, LabeledRows, pick
from privet.audits.canary_scores import Score, scored
from privet.audits.claims import Claim
from privet.audits.one_run import one_run
from privet.audits.verdict import Audit
from privet.core.claim import claim
from privet.core.unit import Neighbors
from privet.errors import InvalidInputError
from privet.typing import Floats, Integers, Truths

Fit = Callable[..., Any]
Progress = Callable[[str, int, int], None]
SEEDS = 2**31
GIVE_UP = 6  # trainings that fail, the first ones and no others: a mistake in the call
MOST_FAILED = 0.5  # of the trainings, beyond which a bound that is not reached says nothing
OUT = {Neighbors.ADD_REMOVE: "without it", Neighbors.REPLACE: "with another record in its place"}


@dataclass(frozen=True, slots=True, eq=False)
class CanaryAudit:
    """What one kind of canary showed. `failed_with`: of the trainings that failed, those with the canary; None where
    each training has many. `alike`: all scores were the same, so they tell nothing."""

    canaries: Canaries
    audit: Audit
    failed: int
    alike: bool
    failed_with: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Pool:
    """All records there are, and which of them belong together: the rows of the data, and for each slot the rows of
    the canary and, under replace, those of the record in its place."""

    records: LabeledRows
    base: Integers
    here: list[Integers]
    there: list[Integers]

    @claim("training-coins")
    def data(self, coins: Truths, order: Integers) -> LabeledRows:
        """What a training gets, in an order that does not depend on coins."""
        chosen = [one if coin else other for coin, one, other in zip(coins, self.here, self.there, strict=True)]
        present = np.zeros(len(order), np.bool_)
        present[np.concatenate([self.base, *chosen])] = True
        return pick(self.records, order[present[order]])


@dataclass(slots=True, eq=False)
class Trainer:
    """Trains and scores. `draw` decides orders and seeds; coins come from elsewhere."""

    fit: Fit
    score: Score
    draw: np.random.Generator
    total: int
    tell: Progress
    done: int = 0
    failed: int = 0
    error: str = ""

    def scores(self, pool: Pool, coins: Truths, canaries: list[Canaries]) -> list[Floats] | None:
        """Of the canaries of each kind, from one model. None: the training failed."""
        self.tell("training", self.done, self.total)
        data = pool.data(coins, self.draw.permutation(len(pool.records)))
        seed = int(self.draw.integers(SEEDS))
        self.done += 1
        try:
            model = train_on(self.fit, data, seed)
        except Exception as problem:  # whatever somebody's function raises; its words may hold data
            self._note(problem)
            return None
        try:
            return [_scored(self.score, model, one) for one in canaries]
        except InvalidInputError:
            raise
        except Exception as problem:
            self._note(problem)
            return None

    def _note(self, problem: Exception) -> None:
        self.failed, self.error = self.failed + 1, type(problem).__name__
        if self.failed == self.done >= min(GIVE_UP, self.total):
            raise InvalidInputError(
                f"the first {self.done} trainings failed ({self.error})"
                if self.done > 1
                else f"the training failed ({self.error}), and one that fails shows nothing",
                "run the function and the score in Python on the same data to see where they fail",
                "code-fails",
            ) from None


@dataclass(frozen=True, slots=True, eq=False)
class Design:
    """What the trainings share. `share` is the confidence of the bound of one kind of canary."""

    data: LabeledRows
    claim: Claim
    relation: Neighbors
    runs: int
    share: Fraction

    def pool(self, canaries: list[Canaries]) -> Pool:
        parts, slots, start = [self.data], [list[Integers](), list[Integers]()], len(self.data)
        for one in canaries:
            for side, records in enumerate([one.here] if one.there is None else [one.here, one.there]):
                places = np.repeat(np.arange(len(records)), one.rows)
                parts.append(pick(records, places))
                slots[side] += np.split(start + np.arange(len(places)), len(records))
                start += len(places)
        here, there = slots[0], slots[1] or [np.empty(0, np.int64)] * len(slots[0])
        people = None if self.data.units is None else _with_people(self.data.units, here + slots[1], start)
        return Pool(_joined(parts, people), np.arange(len(self.data)), here, there)

    def many_in_one(self, trainer: Trainer, canaries: list[Canaries], draw: np.random.Generator) -> list[CanaryAudit]:
        """Coins of all trainings together are coins of one release: each changes one of its trainings."""
        pool = self.pool(canaries)
        coins = draw.random((self.runs, len(pool.here))) < 0.5
        told = [trainer.scores(pool, row, canaries) for row in coins]
        found, ends = [], np.cumsum([len(one) for one in canaries])
        for at, (one, own) in enumerate(zip(canaries, np.split(coins, ends[:-1], axis=1), strict=True)):
            scores = over_runs([None if row is None else row[at] for row in told], len(one))
            audit = one_run(scores.ravel(), own.ravel(), self.claim, confidence=self.share)
            audit, alike = _shown(audit, scores.ravel(), trainer.failed / self.runs)
            witness = replace(audit.witness, event=f"{audit.witness.event}; canary: {one.kind}")
            found.append(CanaryAudit(one, replace(audit, witness=witness), trainer.failed, alike))
        return found

    def one_in_many(self, trainer: Trainer, canary: Canaries) -> CanaryAudit:
        """Every second training has the canary. One that fails has the lowest score: that it fails may tell, too."""
        pool, failed = self.pool([canary]), [0, 0]
        sides: tuple[list[float], list[float]] = ([], [])
        for run in range(self.runs):
            told = trainer.scores(pool, np.array([run % 2 == 0]), [canary])
            failed[run % 2] += told is None
            sides[run % 2].append(-np.inf if told is None else float(told[0][0]))
        audit = from_scores(*sides, self.claim, confidence=self.share)
        audit, alike = _shown(audit, np.concatenate(sides), sum(failed) / self.runs)
        names = (f"with the canary ({canary.kind})", OUT[self.relation])
        return CanaryAudit(
            canary,
            replace(audit, witness=replace(audit.witness, neighbors=names)),
            sum(failed),
            alike,
            failed_with=failed[0],
        )


def _shown(audit: Audit, scores: Floats, failed: float) -> tuple[Audit, bool]:
    """Scores that are all alike, or trainings most of which failed, could not have shown more than they did. And
    whether the scores are alike."""
    alike = bool((scores == scores[0]).all())
    return (replace(audit, ceiling=audit.lower_bound) if alike or failed > MOST_FAILED else audit), alike


def takes(fit: Fit, name: str) -> bool:
    try:
        return name in inspect.signature(fit).parameters
    except (TypeError, ValueError):
        return False


def train_on(fit: Fit, data: LabeledRows, seed: int) -> Any:
    given = {"seed": seed, "units": data.units}
    settings = {name: value for name, value in given.items() if value is not None and takes(fit, name)}
    return fit(data.rows, **settings) if data.labels is None else fit(data.rows, data.labels, **settings)


def over_runs(told: list[Floats | None], size: int) -> Floats:
    """A row of scores for each training. With several of them, a canary is compared with itself: with its mean over
    trainings. One that failed says nothing of its canaries, which are neither high nor low then."""
    scores = np.array([np.full(size, np.nan) if row is None else row for row in told])
    known = np.isfinite(scores)
    if sum(row is not None for row in told) > 1:  # compared with itself alone it would say nothing
        scores = scores - np.where(known, scores, 0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    middle = float(np.median(scores[known])) if known.any() else 0.0
    return np.where(np.isnan(scores), middle, scores)


def _scored(score: Score, model: Any, canaries: Canaries) -> Floats:
    """Under replace: how much more it looks like the canary than like the record in its place."""
    here = scored(score, model, canaries.here.rows, canaries.here.labels)
    if canaries.there is None:
        return here
    with np.errstate(invalid="ignore"):
        found = here - scored(score, model, canaries.there.rows, canaries.there.labels)
    return np.where(np.isnan(found), 0.0, found)


def _joined(parts: list[LabeledRows], people: npt.NDArray[Any] | None) -> LabeledRows:
    rows, labels = [one.rows for one in parts], [one.labels for one in parts if one.labels is not None]
    together = None if not labels else np.concatenate(labels)
    if hasattr(rows[0], "iloc"):
        import pandas as pd  # noqa: PLC0415  who has a frame has it

        return LabeledRows(pd.concat(rows, ignore_index=True).astype(dict(rows[0].dtypes)), together, people)
    return LabeledRows(np.concatenate(rows), together, people)


def _with_people(units: npt.NDArray[Any], slots: list[Integers], size: int) -> npt.NDArray[Any]:
    """Every canary is a person of whom the data have no row."""
    numbers = units.dtype.kind in "iuf"
    longest = "" if numbers else max((str(one) for one in units.tolist()), key=len)
    people = np.empty(size, units.dtype if numbers else object)
    people[: len(units)] = units
    for at, places in enumerate(slots, 1):
        people[places] = np.nanmax(units) + at if numbers else f"{longest}-{at}"
    return people

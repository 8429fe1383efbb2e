"""Audit of a training: canaries go in or stay out, and from the models one tells which. How well bounds epsilon."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from privet.audits.canaries import read_confidence
from privet.audits.canary_rows import LabeledRows, canaries_of, kinds_from, read_data, rows_from, valid_from
from privet.audits.canary_runs import MOST_FAILED, CanaryAudit, Design, Fit, Progress, Trainer, takes
from privet.audits.canary_scores import Score, usual_score
from privet.audits.claims import Claim
from privet.audits.one_run import FEWEST
from privet.audits.verdict import Audit
from privet.core.rational import show, whole
from privet.core.unit import Neighbors, neighbors_from
from privet.errors import InvalidInputError

FEWEST_RUNS = 20  # with one canary: ten with it and ten without it
OTHER_DATA = "other ways to be unlike all others, and other data around them"


@dataclass(frozen=True, slots=True, kw_only=True)
class CanaryBound:
    """What one kind of canary showed. `failed_with`: of the trainings that failed, those with the canary; None where
    each training has many."""

    kind: str
    words: str
    canaries: int
    trainings: int
    failed: int
    failed_with: int | None
    lower_bound: float
    ceiling: float

    def to_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingAudit(Audit):
    """The bound of the kind of canary that showed most. The confidence is that of all kinds together.

    A unit is a record, or one of `people`; `records` are in every training. `failed` of the `trainings` raised an
        error, the last one `error`; `valid` says what makes canaries valid records. `alike`: all scores were the
        same."""

    kinds: tuple[CanaryBound, ...]
    neighbors: str
    people: bool
    records: int
    trainings: int
    failed: int
    error: str
    valid: str
    alike: bool

    @property
    def tries(self) -> str:
        return "canaries or trainings"

    @property
    def advice(self) -> str:
        if self.failed > MOST_FAILED * self.trainings:
            return f"Most trainings failed ({self.error}): run the function on the same data to see why."
        if self.alike:
            return "All scores are alike: return probabilities, or give a score that tells more."
        return "Use more canaries, or more trainings."

    @property
    def unseen(self) -> str:
        return "only these canaries were tried, in these data, and only their scores were looked at"

    @property
    def effort(self) -> str:
        failed = f" {self.failed:,} failed" if self.failed else ""
        return f"{self.method},{failed and failed + ','} {self.seconds:.1f} s"

    def to_json(self) -> dict[str, Any]:
        names = ("neighbors", "people", "records", "trainings", "failed", "error", "valid")
        return Audit.to_json(self) | {
            "kinds": [one.to_json() for one in self.kinds],
            **{name: getattr(self, name) for name in names},
        }


def audit_training(  # noqa: PLR0913  what is audited, what is declared, and how much is tried
    fit: Fit,
    data: Any,
    claim: Claim,
    *,
    neighbors: str = "add-remove",
    canaries: int = 1000,
    runs: int = 1,
    kinds: Any = None,
    bounds: Any = None,
    classes: Any = None,
    targets: Any = None,
    units: Any = None,
    rows: int | None = None,
    score: Score | None = None,
    confidence: object = 0.95,
    seed: int = 0,
    progress: Progress | None = None,
) -> TrainingAudit:
    """Test what is claimed of a training: `fit` trains models on data with canaries in it, and how well one can guess
    from the models which canaries were in bounds the claim's parameter from below. Returns the audit with this bound.

    fit: a function of (X, y), or of X alone, that returns a model. It gets `seed=` and `units=` if it takes them.
    data: X or (X, y): the records that are in every training. With fewer records, an audit usually shows more.
    claim: what is promised, for one unit more or less (neighbors="add-remove") or changed ("replace").
    canaries: how many there are in a training, of all kinds together; 1: the same one in every second training.
    runs: the number of trainings; with one canary, the number for each kind.
    kinds: "mislabeled", "corner", "repeated"; without it, all that the data allow.
    bounds, classes, targets: the declared range of each column (or a list of its categories), all labels, or the range
        of a label that is a number. What is not declared is taken from the data.
    units: the person of each record; a canary is a person then. rows: of a repeated canary.
    score: a function of (model, rows, labels) that returns a number per record, higher if it looks trained on. Without
        it: the log odds of the label, or minus the squared error, or minus a distance.
    confidence: how sure the bound is. seed: of coins, canaries, orders and of the seeds that `fit` gets.
    progress: a function that is called with a step's name, how many of its parts are done, and how many there are.

    Raises InvalidInputError if the data or the settings do not fit, or if the first trainings all fail."""
    started, sure = time.perf_counter(), read_confidence(claim, confidence)
    relation, known = neighbors_from(neighbors), read_data(data, units)
    valid = valid_from(known, bounds, classes, targets)
    chosen, copies = kinds_from(kinds, known), rows_from(rows, known)
    sizes = _sizes(whole(canaries, "canaries", 1), whole(runs, "runs", 1), len(chosen))
    _check_fit(fit, known)
    coins, made, orders = map(np.random.default_rng, np.random.SeedSequence(whole(seed, "seed", 0)).spawn(3))
    drawn = [canaries_of(kind, size, known, valid, made, copies) for kind, size in zip(chosen, sizes, strict=True)]
    if relation is Neighbors.ADD_REMOVE:
        drawn = [one.alone() for one in drawn]
    total = runs * (len(chosen) if canaries == 1 else 1)
    trainer = Trainer(fit, score or usual_score(valid.listed), orders, total, progress or (lambda *_: None))
    design = Design(known, claim, relation, runs, 1 - (1 - sure) / len(chosen))
    if canaries == 1:
        found = [design.one_in_many(trainer, one) for one in drawn]
    else:
        found = design.many_in_one(trainer, drawn, coins)
    return _result(found, design, trainer, str(valid), float(sure), time.perf_counter() - started)


def _result(  # noqa: PLR0913, PLR0917  what was found, and how
    found: list[CanaryAudit], design: Design, trainer: Trainer, valid: str, confidence: float, seconds: float
) -> TrainingAudit:
    best = max((one.audit for one in found), key=lambda one: one.lower_bound)
    return TrainingAudit(
        claim=design.claim,
        lower_bound=best.lower_bound,
        confidence=confidence,
        ceiling=max(one.audit.ceiling for one in found),
        rarest=best.rarest,
        witness=best.witness,
        samples=best.samples,
        seconds=seconds,
        method=_method(found, design.runs),
        roc=best.roc,
        not_tested=(*best.not_tested, OTHER_DATA),
        kinds=tuple(_bound(one, design.runs) for one in found),
        neighbors=design.relation.value,
        people=design.data.units is not None,
        records=len(design.data),
        trainings=trainer.done,
        failed=trainer.failed,
        error=trainer.error,
        valid=valid,
        alike=all(one.alike for one in found),
    )


def _sizes(canaries: int, runs: int, kinds: int) -> list[int]:
    """How many canaries of each kind."""
    if canaries == 1 and runs < FEWEST_RUNS:
        raise InvalidInputError(
            f"one canary needs {FEWEST_RUNS} trainings, not {runs}",
            f"use {FEWEST_RUNS} runs or more, a thousand if you can, or more canaries",
            "too-few",
        )
    sizes = [1] * kinds if canaries == 1 else [len(range(at, canaries, kinds)) for at in range(kinds)]
    if canaries > 1 and min(sizes) * runs < FEWEST:
        raise InvalidInputError(
            f"{canaries} canaries of {kinds} kinds are too few to bound anything",
            f"use {FEWEST * kinds} or more, a thousand if you can, or more runs",
            "too-few",
        )
    return sizes


def _check_fit(fit: Fit, data: LabeledRows) -> None:
    if not callable(fit):
        raise InvalidInputError(
            f"fit must be a function, not {show(fit)}", "give a function of (X, y) that returns a model", "not-callable"
        )
    if data.units is not None and not takes(fit, "units"):
        raise InvalidInputError(
            "the function takes no units, so it cannot know to whom each row belongs",
            "write fit(X, y, units), or leave units out: then each row is a person",
            "not-supported",
        )


def _method(found: list[CanaryAudit], runs: int) -> str:
    if found[0].failed_with is not None:
        return f"one canary, in every second of {runs:,} trainings"
    canaries = sum(len(one.canaries) for one in found)
    return f"{canaries:,} canaries, each in or out by a coin, in {runs:,} training{'s'[: runs > 1]}"


def _bound(found: CanaryAudit, runs: int) -> CanaryBound:
    return CanaryBound(
        kind=found.canaries.kind,
        words=str(found.canaries),
        canaries=len(found.canaries),
        trainings=runs,
        failed=found.failed,
        failed_with=found.failed_with,
        lower_bound=found.audit.lower_bound,
        ceiling=found.audit.ceiling,
    )

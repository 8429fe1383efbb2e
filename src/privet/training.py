"""TRUSTED: the gate for learners: rounds of noisy sums, priced all together before the first one, paid for once.

A learner is a lesson: a generator that gives the row function of a round, is sent the noisy sums, and gives the next.
It never gets a row. What it returns is computed again from the stored noisy sums, so a model is a function of these.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Protocol

from privet import recheck
from privet.backends import Course
from privet.backends.contributions import Lesson, Recode, RowFunction, Rows
from privet.core.claim import claim
from privet.core.loss import Loss
from privet.core.rounds import Noisy, Round
from privet.core.unit import Neighbors
from privet.engine import Gate, NoiseSource, Release, Watched, check_noise, cost_fields, delivered, law_fields, refuse
from privet.ledger import Charge

Taught = Callable[[], Lesson]
Tested = Callable[[Any], Lesson]  # of what a lesson returned: one round, with rows that it did not have


@claim("gate-price")
def guarantee(course: Course, neighbors: Neighbors, loss: Loss) -> dict[str, Any]:
    """The limits that are enforced on each row and unit in each round, the noise, and the charge."""
    parts = [_part(noisy, course.rows) for one in touched(course) for noisy in one]
    return {"neighbors": neighbors.value, "parts": parts, "cost": cost_fields(loss)}


@claim("folds-price")
def touched(course: Course) -> list[Round]:
    """The rounds that one unit is in, or as much as it is in. In folds it is learned from in all but one, and tested in
    that one."""
    return [*(course.folds - 1) * course.rounds, course.test] if course.folds else [*course.rounds]


def _part(noisy: Noisy, rows: int) -> dict[str, Any]:
    """`low`: what absolute values of what a row adds sum to; `high`: what squares do. All of it is enforced."""
    sums = noisy.sums
    return {
        "role": sums.form.value,
        "groups": 1,
        "rows": rows,
        "in_all": None,
        "cells": sums.numbers,
        "low": sums.l1**sums.power,
        "high": sums.most,
        "quantile": None,
        "law": law_fields(noisy.law),
        "threshold": None,
    }


@claim("spend-before-you-look", "gate-price", "rounds-see-noise-only")
def train(charge: Charge, course: Course, lesson: Taught, gate: Gate, tested: Tested | None = None) -> Release:
    """Price all rounds, charge once, then round by round: exact sums, noise, and what the learner asks next."""
    check_noise(gate)
    charge = _about(charge, course)
    stated = guarantee(course, gate.ledger.terms.neighbors, charge.loss)
    unlike = ["a course has folds exactly if it has a test"] if bool(course.folds) != (tested is not None) else []
    refuse([*unlike, *_contradictions(charge, course, gate), *recheck.problems(stated)])
    receipt = gate.ledger.spend(charge)

    def work(noise: NoiseSource) -> bytes:
        noisy: list[list[list[int]]] = []

        def answer(rows: Rows, one: Round, function: RowFunction) -> list[list[int]]:
            exact = rows.sums(function, [each.sums for each in one])
            noisy.append([_with_noise(vector, each, noise) for vector, each in zip(exact, one, strict=True)])
            return [list(vector) for vector in noisy[-1]]  # what is stored is what was drawn, whatever becomes of these

        _follow(course, lesson, tested, answer, gate.backend.rows(course))
        return json.dumps({"noisy": noisy}, separators=(",", ":")).encode()

    return delivered(receipt, gate, work)


def replayed(course: Course, lesson: Taught, body: bytes, tested: Tested | None = None) -> Any:
    """What a lesson returns, or of each fold what its test returns, from the stored noisy sums alone."""
    stored = iter(json.loads(body)["noisy"])
    return _follow(course, lesson, tested, lambda *_: next(stored), None)


@claim("folds-price")
def _follow(
    course: Course, lesson: Taught, tested: Tested | None, answer: Callable[..., Any], rows: Rows | None
) -> Any:
    """What the lesson returns. With folds each is left out once: what a lesson with the rows of all others returned is
    tested with the rows of this one."""
    if tested is None:
        return _play(lesson(), course.rounds, partial(answer, rows), rows)
    found = []
    for fold in range(course.folds):
        others, own = (None, None) if rows is None else rows.apart(fold)
        model = _play(lesson(), course.rounds, partial(answer, others), others)
        found.append(_play(tested(model), (course.test,), partial(answer, own), own))
    return found


class Work(Protocol):
    """What draws noise of its own, such as DP-SGD. The object that states the price is the one that does the work."""

    def price(self, rows: int, neighbors: Neighbors) -> Loss:
        """What it costs a unit with so many rows at most."""
        ...

    def done(self, rows: Rows) -> bytes:
        """What is stored and delivered. It sees the bounded rows once."""
        ...


@claim("paid-work", "spend-before-you-look")
def paid(charge: Charge, course: Course, work: Work, gate: Gate) -> Release:
    """The same path for work whose noise is not ours: its own price is charged before it sees a row."""
    check_noise(gate)
    charge = _about(charge, course)
    due = work.price(course.rows, gate.ledger.terms.neighbors)
    refuse([*_contradictions(charge, course, gate), *_shortages(charge.loss, due)])
    receipt = gate.ledger.spend(charge)

    def once(noise: Watched) -> bytes:
        noise.drawn = True  # by the work itself: it is not repeated without a price
        return work.done(gate.backend.rows(course))

    return delivered(receipt, gate, once)


def _shortages(charge: Loss, due: Loss) -> Iterator[str]:
    for name in ("epsilon", "delta", "rho", "rho_delta"):
        amount, least = getattr(charge, name), getattr(due, name)
        if amount is not None and (least is None or amount < least):
            yield f"the charge is smaller than the price: {name}"


def _contradictions(charge: Charge, course: Course, gate: Gate) -> Iterator[str]:
    if course.table.public:
        yield "learning from a public table needs no charge"
    if course.table.unit is None and course.rows != 1:
        yield "each row is a unit, but more than one was priced"
    if charge.part is not None:
        yield "learners are not charged to one part of the units"
    if gate.finite and charge.loss.epsilon is None:
        yield "its epsilon is infinite, and the owner allows no such charge"


def _about(charge: Charge, course: Course) -> Charge:
    table = course.table
    return replace(charge, domain=table.domain, tables=((table.name, table.protects),))


def _with_noise(exact: Sequence[int], each: Noisy, noise: NoiseSource) -> list[int]:
    if len(exact) != each.sums.numbers:
        raise ValueError("the number of sums differs from the number that was priced")
    return [value + int(more) for value, more in zip(exact, noise.draw(each.law, len(exact)), strict=True)]


@claim("rounds-see-noise-only")
def _play(
    lesson: Lesson,
    rounds: Sequence[Round],
    answer: Callable[[Round, RowFunction], list[list[int]]],
    rows: Rows | None,
) -> Any:
    """One answer for each round; between rounds rows may be recoded. A lesson that asks for more or less fails."""
    left = iter(rounds)
    step = next(lesson)
    while True:
        heard: list[list[int]] = []
        if not isinstance(step, Recode):
            one = next(left, None)
            if one is None:
                raise ValueError("the lesson goes on after its last round")
            heard = answer(one, step)
        elif rows is not None:
            rows.recode(step)
        try:
            step = lesson.send(heard)
        except StopIteration as end:
            if next(left, None) is not None:
                raise ValueError("the lesson ended before its rounds did") from None
            return end.value

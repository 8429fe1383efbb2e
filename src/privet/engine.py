"""TRUSTED: the one gate. Every release passes through `run`. No other code holds ledger, data and noise together.

The gate does not trust the price that it is given. It computes the price itself, from the limits that the back end
must enforce and from the noise that is drawn (`recheck`: one file that uses no other part of Privet), and refuses a
smaller charge. A crash at any line loses budget, never privacy: the charge is durable before data are read, the answer
is durable before it is delivered, and there are no refunds.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Protocol, assert_never

from privet import recheck
from privet.backends import HABITS, Backend, Spread, Task, Vector
from privet.core.cells import Keys, in_order, plain_keys
from privet.core.claim import claim
from privet.core.laws import Choice, Choices, DiscreteGaussian, DiscreteLaplace, Law, Top
from privet.core.loss import Amount, Loss
from privet.core.measures import KEYS, Measure, Role
from privet.core.partition import Partition, asks_part
from privet.core.ranks import rank
from privet.core.unit import Neighbors
from privet.errors import PrivetError, RefusedQueryError, ReleaseFailedError
from privet.ledger import Charge, Ledger, Receipt
from privet.ledger.units import writable
from privet.noise.fast import sampler
from privet.noise.nested import Piece, choose_nested
from privet.noise.ranked import RankLoss, choose_by_rank, flip_by_rank
from privet.noise.top import choose_top
from privet.typing import Integers


class NoiseSource(Protocol):
    """Where noise comes from: the operating system, except in vaults created for testing."""

    def draw(self, law: Law, size: int) -> Integers: ...
    def choose(self, spread: Spread, measure: Measure, law: Choice) -> int: ...
    def choose_all(self, spread: Spread, measure: Measure, law: Choices) -> list[int]: ...
    def top(self, scores: Sequence[int], law: Top) -> list[int]: ...


class FreshNoise:
    """Exact draws from the operating system's entropy."""

    def draw(self, law: Law, size: int) -> Integers:
        return sampler(law).draw(size)

    def choose(self, spread: Spread, measure: Measure, law: Choice) -> int:
        """A value between the measure's bounds, chosen by its rank among the values in the data."""
        sought = rank(measure, law, int(spread.counts.sum()))
        loss = RankLoss.of(sought, measure.low, measure.high)
        return (flip_by_rank if law.flip else choose_by_rank)(spread.values, spread.counts, loss, law)

    def top(self, scores: Sequence[int], law: Top) -> list[int]:
        """The places of the cells that are chosen by their scores, all different."""
        return choose_top(scores, law)

    def choose_all(self, spread: Spread, measure: Measure, law: Choices) -> list[int]:
        """A value for each quantile of the measure, one inside the other."""
        return choose_nested(Piece(spread.values, spread.counts, measure.low, measure.high), measure.quantiles, law)


class Watched:
    """The same noise source; records whether any noise was drawn."""

    def __init__(self, noise: NoiseSource) -> None:
        self._noise, self.drawn = noise, False

    def draw(self, law: Law, size: int) -> Integers:
        self.drawn = True
        return self._noise.draw(law, size)

    def choose(self, spread: Spread, measure: Measure, law: Choice) -> int:
        self.drawn = True
        return self._noise.choose(spread, measure, law)

    def top(self, scores: Sequence[int], law: Top) -> list[int]:
        self.drawn = True
        return self._noise.top(scores, law)

    def choose_all(self, spread: Spread, measure: Measure, law: Choices) -> list[int]:
        self.drawn = True
        return self._noise.choose_all(spread, measure, law)


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """Everything that a release needs. The vault that made the query holds it."""

    ledger: Ledger
    backend: Backend
    noise: NoiseSource
    secret: Callable[[], bytes]
    ready: Callable[[], None] = lambda: None  # raises, before anything is charged, if this process lacks the data
    finite: bool = False  # the owner declared that every charge has a finite epsilon


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """Tasks that differ in their limits. One of them follows on others: that at the place which `pick` gives. It sees
    the noisy numbers of those others and nothing else."""

    tasks: Sequence[Task]
    pick: Callable[[Sequence[Sequence[int]]], int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    receipt: Receipt
    body: bytes


@claim("spend-before-you-look", "one-repeat", "gate-price", "fitted-limits")
def run(charge: Charge, tasks: Sequence[Task], gate: Gate, fit: Fit | None = None) -> Release:
    """The path of every release. With `fit`, one more task is chosen by the noisy numbers of the others."""
    check_noise(gate)
    others = () if fit is None else tuple(fit.tasks)
    charge = _about(charge, [*tasks, *others])
    for each in others or (None,):  # whichever is picked
        _check(charge, tasks, gate, each)  # 1 sensitivity and 2 price
    written, waiting = ([[gate.backend.write(x) for x in _stages(task)] for task in some] for some in (tasks, others))
    receipt = gate.ledger.spend(charge)  # 3 durable, or raises; no data read yet

    def work(noise: NoiseSource) -> bytes:
        found = [_noisy(task, text, gate.backend, noise) for task, text in zip(tasks, written, strict=True)]  # 4
        place = None
        if fit is not None:
            place = fit.pick([vector for one in found for vector in one.vectors])
            found.append(_noisy(others[place], waiting[place], gate.backend, noise))
        return _body(found, place)

    return delivered(receipt, gate, work)


@claim("spend-before-you-look", "one-repeat")
def delivered(receipt: Receipt, gate: Gate, work: Callable[[Watched], bytes]) -> Release:
    """What `work` gives after the charge, stored before it is delivered. If it fails, nobody learns why."""
    noise = Watched(gate.noise)
    try:
        body = work(noise)
        gate.ledger.store(receipt, body)  # 5 durable before it is delivered
        return Release(receipt=receipt, body=body)
    except Exception:  # noqa: S110  the error may quote data, so it is not shown
        pass
    except BaseException as stop:
        stop.add_note(f"stopped after the charge: entry {receipt.entry} of the ledger stays charged")
        with suppress(PrivetError):  # the answer may be stored already
            gate.ledger.fail(receipt, before_any_draw=not noise.drawn)
        raise
    gate.ledger.fail(receipt, before_any_draw=not noise.drawn)
    raise ReleaseFailedError(
        f"the release failed after it was charged, and the charge stays (entry {receipt.entry} of the ledger)",
        "ask again (the first retry is free if the failure came before any noise was drawn);"
        " if it fails again, ask the owner to run `privet check VAULT`",
    )


def check_noise(gate: Gate) -> None:
    if type(gate.noise) is not FreshNoise and not gate.ledger.terms.testing:
        raise RefusedQueryError(
            "the noise was replaced, but this vault is not for testing", "open the vault again", "not-for-testing"
        )


def _about(charge: Charge, tasks: Sequence[Task]) -> Charge:
    """The charge, with each table and whom it protects. The ledger compares this with what it has recorded."""
    tables = {table.name: table for task in tasks for table in (task.table, *task.beside.values())}
    protects = tuple((name, table.protects) for name, table in tables.items())
    return replace(charge, domain=tasks[0].table.domain, tables=protects)


@claim("gate-price")
def guarantee(tasks: Sequence[Task], neighbors: Neighbors, loss: Loss) -> dict[str, Any]:
    """The limits that are enforced, the noise that is added, and the charge as the ledger writes it: all that the price
    depends on, as plain values. Every answer carries it, so that anyone can check the price (`privet recheck`)."""
    parts = [part for task in tasks for part in _parts(task)]
    return {"neighbors": neighbors.value, "parts": parts, "cost": cost_fields(loss)}


def cost_fields(loss: Loss) -> dict[str, str | None]:
    loss = writable(loss)
    return {name: _text(getattr(loss, name)) for name in ("epsilon", "delta", "rho", "rho_delta")}


def _check(charge: Charge, tasks: Sequence[Task], gate: Gate, picked: Task | None) -> None:
    """Is the charge enough for these tasks, and for the one that follows on them if it is picked?"""
    tasks = tasks if picked is None else [*tasks, picked]
    problems = [*_contradictions(tasks), *recheck.problems(guarantee(tasks, gate.ledger.terms.neighbors, charge.loss))]
    if picked is not None and (charge.loss.delta or charge.loss.rho_delta or any(task.top for task in tasks)):
        problems.append("it picks one of several tasks, and such a charge has no delta and chooses no cells")
    if charge.part is not None and not all(_about_part(task, gate.ledger.partition, charge.part) for task in tasks):
        problems.append("it is charged to one part of the units, but asked about others")
    if gate.finite and charge.loss.epsilon is None:
        problems.append("its epsilon is infinite, and the owner allows no such charge")
    refuse(problems)


def refuse(problems: Sequence[str]) -> None:
    """Refuse a release that has problems, before anything is charged."""
    if problems:
        raise RefusedQueryError(
            f"the gate refused this release: {'; '.join(problems)}",
            "nothing was charged; this is a bug in Privet: please report it, with the output of `explain`",
            "gate-refused",
        )


def _contradictions(tasks: Sequence[Task]) -> Iterator[str]:
    """Why the price would not apply: it assumes that each task bounds the units of its own table, in one domain."""
    tables = [table for task in tasks for table in (task.table, *task.beside.values())]
    if len({table.domain for table in tables if not table.public}) != 1:
        yield "some tables protect people and others rows"
    if len({table.name for table in tables}) != len({(table.name, table.protects) for table in tables}):
        yield "a table is declared in two ways"
    if any(task.plan.table != task.table.name for task in tasks):
        yield "the first table of a plan is not the table whose units are bounded"
    if any(task.top and (task.habits or task.cells.private) for task in tasks):
        yield "cells are chosen that are not public, or beside numbers of another kind"


def _about_part(task: Task, partition: Partition | None, part: str) -> bool:
    """Does the task see only units of the part that it is charged to, as the ledger divided them?"""
    tables = {table.name: table for table in (task.table, *task.beside.values())}
    if partition is None or partition.table not in tables:
        return False
    register = tables[partition.table]
    return register.digest == partition.register and asks_part(task.plan, partition, part, by_row=register.unit is None)


def _parts(task: Task) -> Iterator[dict[str, Any]]:
    """One part per noisy vector, and one for the choice of cells. With `top`, the other parts are about so many cells
    as there are rounds; a unit that is counted once in a cell has one row there."""
    kept = every = _limits(task)
    measures = [*task.measures, *([KEYS] if task.cells.private and not task.habits else [])]
    listed: list[tuple[Measure, Any]] = list(zip(measures, task.laws, strict=True))
    if task.top is not None:
        score, law = task.top
        kept, listed = _limits(task.measuring(law.rounds)) | {"cells": law.rounds}, [*listed, task.top]
        every = _limits(task.scoring(score)) | ({"rows": 1} if score.score is Role.PEOPLE else {})
    for measure, law in listed:
        yield {
            "role": measure.role.value,
            **(every if measure.role is Role.TOP else kept),
            **({"cells": 1} if measure.rest else {}),
            "low": measure.low,
            "high": measure.high,
            "quantile": list(map(str, measure.quantiles)) if measure.quantiles else _text(measure.quantile),
            "law": law_fields(law),
            "threshold": task.threshold if measure.role is Role.KEYS else None,
        }


def _limits(task: Task) -> dict[str, Any]:
    """If each row is a unit, no row occurs twice: see `check_unit_wise`."""
    if task.habits:  # each unit is in one bin per vector
        return {"groups": 1, "rows": 1, "in_all": None, "cells": task.bins}
    people = task.table.unit is not None
    return {
        "groups": task.bounds.groups if people else 1,
        "rows": task.bounds.rows if people else 1,
        "in_all": task.bounds.in_all if people else None,
        "cells": None if task.cells.private else task.cells.count,
    }


def law_fields(law: Law | Choice | Top) -> dict[str, Any]:
    match law:
        case DiscreteLaplace():
            return {"name": "laplace", "scale": str(law.scale)}
        case DiscreteGaussian():
            return {"name": "gaussian", "variance": str(law.variance)}
        case Choices():
            return {"name": "nested", "rates": list(map(str, law.rates))}
        case Choice() | Top():
            found = {"name": "permute-and-flip" if law.flip else "exponential", "rate": str(law.rate)}
            return found | ({"rounds": law.rounds} if isinstance(law, Top) else {})
        case _:
            assert_never(law)


def _text(amount: Amount) -> str | None:
    return None if amount is None else str(amount)


@dataclass(frozen=True, slots=True)
class _Noisy:
    """The noisy vectors of one task. If not all keys are shown, also those that are."""

    vectors: list[list[int]]
    shown: list[Keys] | None = None


def _stages(task: Task) -> list[Task]:
    """What the back end is asked, one after the other."""
    return [task] if task.top is None else [task.scoring(task.top[0]), task.measuring(task.top[1].rounds)]


def _noisy(task: Task, written: Sequence[object], backend: Backend, noise: NoiseSource) -> _Noisy:
    """The exact numbers of one task, each with its noise added."""
    if task.top is not None:
        return _best(_stages(task), task.top[1], written, backend, noise)
    (text,) = written
    if task.habits:
        habits = dict(zip(HABITS, backend.habits(task, text), strict=True))
        return _Noisy(_added(task, [merged(habits[name], task.bins) for name in task.habits], noise))
    if not task.cells.private:
        return _Noisy(_added(task, backend.exact(task, text), noise))
    shown = _shown(task, backend.people(task, text), noise)
    task = task.showing(shown)
    exact = backend.exact(task, text) if task.cells.count else [list[int]() for _ in task.measures]
    return _Noisy([*_added(task, exact, noise), list(shown.values())], list(shown))


@claim("top-measured")
def _best(stages: Sequence[Task], law: Top, written: Sequence[object], backend: Backend, noise: NoiseSource) -> _Noisy:
    """Some cells are chosen by their scores, and measured anew. Which they are is published, in the order of all cells;
    of the scores nothing else is."""
    scoring, measuring = stages
    ((*scores,),) = backend.exact(scoring, written[0])
    keys = list(scoring.cells.keys())
    chosen = [keys[place] for place in sorted(set(noise.top(scores, law)))]  # type: ignore[arg-type]
    if len(scores) != len(keys) or len(chosen) != law.rounds:
        raise ValueError("the number of cells differs from the number that was priced")
    measuring = measuring.showing(chosen)
    return _Noisy([*_added(measuring, backend.exact(measuring, written[1]), noise), []], chosen)


@claim("one-bin-a-unit")
def merged(vector: Sequence[int], bins: int) -> list[int]:
    """As many bins: the last one takes all that are above the others."""
    return [*vector[: bins - 1], sum(vector[bins - 1 :])]


@claim("private-keys")
def _shown(task: Task, people: Mapping[Keys, int], noise: NoiseSource) -> dict[Keys, int]:
    """The keys whose noisy number of people reaches the threshold, with these noisy numbers."""
    law, keys = task.laws[-1], in_order(people)
    assert task.threshold is not None and not isinstance(law, Choice)  # noqa: S101, PT018  `_check` made sure
    noisy = [people[key] + int(extra) for key, extra in zip(keys, noise.draw(law, len(keys)), strict=True)]
    return {key: number for key, number in zip(keys, noisy, strict=True) if number >= task.threshold}


@claim("people-of-the-rest")
def _added(task: Task, exact: Sequence[Vector], noise: NoiseSource) -> list[list[int]]:
    """The vectors with noise added, in integers that cannot overflow. Each has as many numbers as were paid for."""
    noisy = []
    for measure, law, vector in zip(task.measures, task.laws[: len(task.measures)], exact, strict=True):
        cells = task.bins if task.habits else task.cells.count * measure.numbers
        if len(vector) != cells:
            raise ValueError("the number of cells differs from the number that was priced")
        paid = vector[-1:] if measure.rest else vector
        if isinstance(law, Choices):
            chosen = [noise.choose_all(spread, measure, law) for spread in paid]  # type: ignore[arg-type]
            noisy.append([found[place] for place in range(len(measure.quantiles)) for found in chosen])
        elif isinstance(law, Choice):
            noisy.append([noise.choose(spread, measure, law) for spread in paid])  # type: ignore[arg-type]
        else:
            noisy.append([value + int(more) for value, more in zip(paid, noise.draw(law, len(paid)), strict=True)])  # type: ignore[operator]
    return noisy


def _body(found: Sequence[_Noisy], place: int | None = None) -> bytes:
    body: dict[str, Any] = {"noisy": [vector for one in found for vector in one.vectors]}
    if place is not None:
        body["picked"] = place
    if any(one.shown is not None for one in found):
        body["keys"] = [plain_keys(key) for one in found for key in one.shown or ()]
    return json.dumps(body, separators=(",", ":")).encode()

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
from privet.backends import Backend, Spread, Task, Vector
from privet.core.cells import Keys, in_order, plain_keys
from privet.core.claim import claim
from privet.core.laws import Choice, Choices, DiscreteGaussian, DiscreteLaplace, Law
from privet.core.loss import Amount, Loss
from privet.core.measures import KEYS, Measure, Role
from privet.core.partition import Partition, asks_part
from privet.core.ranks import rank
from privet.core.unit import Neighbors
from privet.errors import PrivetError, RefusedQueryError, ReleaseFailedError
from privet.ledger import Charge, Ledger, Receipt
from privet.ledger.units import writable
from privet.noise.fast import sampler
from privet.noise.ranked import Piece, RankLoss, choose_by_rank, choose_nested, flip_by_rank
from privet.typing import Integers

BINS = 41  # for the numbers of groups and rows per unit; the last bin counts everything above 2**39


class NoiseSource(Protocol):
    """Where noise comes from: the operating system, except in vaults created for testing."""

    def draw(self, law: Law, size: int) -> Integers: ...

    def choose(self, spread: Spread, measure: Measure, law: Choice) -> int: ...

    def choose_all(self, spread: Spread, measure: Measure, law: Choices) -> list[int]: ...


class FreshNoise:
    """Exact draws from the operating system's entropy."""

    def draw(self, law: Law, size: int) -> Integers:
        return sampler(law).draw(size)

    def choose(self, spread: Spread, measure: Measure, law: Choice) -> int:
        """A value between the measure's bounds, chosen by its rank among the values in the data."""
        sought = rank(measure, law, int(spread.counts.sum()))
        loss = RankLoss.of(sought, measure.low, measure.high)
        return (flip_by_rank if law.flip else choose_by_rank)(spread.values, spread.counts, loss, law)

    def choose_all(self, spread: Spread, measure: Measure, law: Choices) -> list[int]:
        """A value for each quantile of the measure, one inside the other."""
        return choose_nested(Piece(spread.values, spread.counts, measure.low, measure.high), measure.quantiles, law)


class Watched:
    """The same noise source; records whether any noise was drawn."""

    def __init__(self, noise: NoiseSource) -> None:
        self._noise = noise
        self.drawn = False

    def draw(self, law: Law, size: int) -> Integers:
        self.drawn = True
        return self._noise.draw(law, size)

    def choose(self, spread: Spread, measure: Measure, law: Choice) -> int:
        self.drawn = True
        return self._noise.choose(spread, measure, law)

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
class Release:
    receipt: Receipt
    body: bytes


@claim("spend-before-you-look", "one-repeat", "gate-price")
def run(charge: Charge, tasks: Sequence[Task], gate: Gate) -> Release:
    """The path of every release."""
    if type(gate.noise) is not FreshNoise and not gate.ledger.terms.testing:
        raise RefusedQueryError(
            "the noise was replaced, but this vault is not for testing", "open the vault again", "not-for-testing"
        )
    charge = _about(charge, tasks)
    _check(charge, tasks, gate)  # 1 sensitivity and 2 price
    written = [gate.backend.write(task) for task in tasks]
    receipt = gate.ledger.spend(charge)  # 3 durable, or raises; no data read yet
    noise = Watched(gate.noise)
    try:
        body = _body([_noisy(task, text, gate.backend, noise) for task, text in zip(tasks, written, strict=True)])  # 4
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
    raise _failed(receipt)


def _about(charge: Charge, tasks: Sequence[Task]) -> Charge:
    """The charge, with each table and whom it protects. The ledger compares this with what it has recorded."""
    tables = {table.name: table for task in tasks for table in (task.table, *task.beside.values())}
    protects = tuple((name, table.protects) for name, table in tables.items())
    return replace(charge, domain=tasks[0].table.domain, tables=protects)


@claim("gate-price")
def guarantee(tasks: Sequence[Task], neighbors: Neighbors, loss: Loss) -> dict[str, Any]:
    """The limits that are enforced, the noise that is added, and the charge as the ledger writes it: all that the price
    depends on, as plain values. Every answer carries it, so that anyone can check the price (`privet recheck`)."""
    loss = writable(loss)
    return {
        "neighbors": neighbors.value,
        "parts": [part for task in tasks for part in _parts(task)],
        "cost": {name: _text(getattr(loss, name)) for name in ("epsilon", "delta", "rho", "rho_delta")},
    }


def _check(charge: Charge, tasks: Sequence[Task], gate: Gate) -> None:
    stated = guarantee(tasks, gate.ledger.terms.neighbors, charge.loss)
    problems = [*_contradictions(tasks), *recheck.problems(stated)]
    if charge.part is not None and not all(_about_part(task, gate.ledger.partition, charge.part) for task in tasks):
        problems.append("it is charged to one part of the units, but asked about others")
    if gate.finite and charge.loss.epsilon is None:
        problems.append("its epsilon is infinite, and the owner allows no such charge")
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


def _about_part(task: Task, partition: Partition | None, part: str) -> bool:
    """Does the task see only units of the part that it is charged to, as the ledger divided them?"""
    tables = {table.name: table for table in (task.table, *task.beside.values())}
    if partition is None or partition.table not in tables:
        return False
    register = tables[partition.table]
    same = register.digest == partition.register
    return same and asks_part(task.plan, partition, part, by_row=register.unit is None)


def _parts(task: Task) -> Iterator[dict[str, Any]]:
    """One part per noisy vector. If each row is a unit, no row occurs twice: see `check_unit_wise`."""
    people = task.table.unit is not None
    kept = {
        "groups": task.bounds.groups if people else 1,
        "rows": task.bounds.rows if people else 1,
        "in_all": task.bounds.in_all if people else None,
        "cells": None if task.cells.private else task.cells.count,
    }
    if task.habits:  # each unit is in one bin per vector
        kept = {"groups": 1, "rows": 1, "in_all": None, "cells": BINS}
    measures = [*task.measures, *([KEYS] if task.cells.private and not task.habits else [])]
    for measure, law in zip(measures, task.laws, strict=True):
        yield {
            "role": measure.role.value,
            **kept,
            "low": measure.low,
            "high": measure.high,
            "quantile": list(map(str, measure.quantiles)) if measure.quantiles else _text(measure.quantile),
            "law": _law(law),
            "threshold": task.threshold if measure.role is Role.KEYS else None,
        }


def _law(law: Law | Choice) -> dict[str, Any]:
    match law:
        case DiscreteLaplace():
            return {"name": "laplace", "scale": str(law.scale)}
        case DiscreteGaussian():
            return {"name": "gaussian", "variance": str(law.variance)}
        case Choices():
            first = "permute-and-flip" if law.flip else "exponential"
            return {"name": "nested", "first": first, **{n: list(map(str, getattr(law, n))) for n in ("rates", "ties")}}
        case Choice():
            return {"name": "permute-and-flip" if law.flip else "exponential", "rate": str(law.rate)}
        case _:
            assert_never(law)


def _text(amount: Amount) -> str | None:
    return None if amount is None else str(amount)


@dataclass(frozen=True, slots=True)
class _Noisy:
    """The noisy vectors of one task. If the keys are not public, also the keys that are shown."""

    vectors: list[list[int]]
    shown: list[Keys] | None = None


def _noisy(task: Task, written: object, backend: Backend, noise: NoiseSource) -> _Noisy:
    """The exact numbers of one task, each with its noise added."""
    if task.habits:
        return _Noisy(_added(task, backend.habits(task, written), noise))
    if not task.cells.private:
        return _Noisy(_added(task, backend.exact(task, written), noise))
    shown = _shown(task, backend.people(task, written), noise)
    task = task.showing(shown)
    exact = backend.exact(task, written) if task.cells.count else [list[int]() for _ in task.measures]
    return _Noisy([*_added(task, exact, noise), list(shown.values())], list(shown))


@claim("private-keys")
def _shown(task: Task, people: Mapping[Keys, int], noise: NoiseSource) -> dict[Keys, int]:
    """The keys whose noisy number of people reaches the threshold, with these noisy numbers."""
    law, keys = task.laws[-1], in_order(people)
    assert task.threshold is not None and not isinstance(law, Choice)  # noqa: S101, PT018  `_check` made sure
    noisy = [people[key] + int(extra) for key, extra in zip(keys, noise.draw(law, len(keys)), strict=True)]
    return {key: number for key, number in zip(keys, noisy, strict=True) if number >= task.threshold}


def _added(task: Task, exact: Sequence[Vector], noise: NoiseSource) -> list[list[int]]:
    """The vectors with noise added, in integers that cannot overflow. Each has as many numbers as were paid for."""
    noisy = []
    for measure, law, vector in zip(task.measures, task.laws[: len(task.measures)], exact, strict=True):
        cells = BINS if task.habits else task.cells.count * (2 if measure.role is Role.PAIR else 1)
        if len(vector) != cells:
            raise ValueError("the number of cells differs from the number that was priced")
        if isinstance(law, Choices):
            chosen = [noise.choose_all(spread, measure, law) for spread in vector]  # type: ignore[arg-type]
            noisy.append([found[place] for place in range(len(measure.quantiles)) for found in chosen])
        elif isinstance(law, Choice):
            noisy.append([noise.choose(spread, measure, law) for spread in vector])  # type: ignore[arg-type]
        else:
            noisy.append([value + int(more) for value, more in zip(vector, noise.draw(law, cells), strict=True)])  # type: ignore[operator]
    return noisy


def _body(found: Sequence[_Noisy]) -> bytes:
    body: dict[str, Any] = {"noisy": [vector for one in found for vector in one.vectors]}
    shown = [plain_keys(key) for one in found for key in one.shown or ()]
    if any(one.shown is not None for one in found):
        body["keys"] = shown
    return json.dumps(body, separators=(",", ":")).encode()


def _failed(receipt: Receipt) -> ReleaseFailedError:
    return ReleaseFailedError(
        f"the release failed after it was charged, and the charge stays (entry {receipt.entry} of the ledger)",
        "ask again (the first retry is free if the failure came before any noise was drawn);"
        " if it fails again, ask the owner to run `privet check VAULT`",
    )

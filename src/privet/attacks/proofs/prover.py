"""Finds proofs: the linear program's dual gives the weights, branching does the rest, the checker decides.

A linear program is solved in floating point, which proves nothing. Its dual is rounded to whole weights; whatever
they are, `certificate.check` then says in exact arithmetic whether they prove the claim.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from ortools.linear_solver import pywraplp

from privet.attacks.proofs.certificate import (
    DENIAL,
    Branch,
    Leaf,
    Proof,
    ProofClaim,
    ProofRow,
    System,
    Terms,
    check,
    fits,
    without,
)
from privet.attacks.proofs.solver import Values
from privet.attacks.proofs.work import Work

MULTIPLES = (1, 2, 6, 12, 60, 2520)  # denominators of weights, simplest first
FINE = 2**40
TINY = 1e-9
MOST_NODES = 5000
MOST_STEPS = 10**9


class Prover:
    """One system."""

    def __init__(self, system: System, *, remembers: bool = True) -> None:
        self.system, self._remembers = system, remembers
        self._lowest = _Program(system, elastic=False)
        self._elastic: _Program | None = None
        self.seen: list[Values] = []  # solutions met on the way

    def nobody(self, variables: Sequence[int]) -> None:
        """These have been shown to be 0."""
        self.system = without(self.system, variables)
        self._lowest.nobody(variables)
        self._elastic = None

    def at_least(self, claim: ProofClaim, work: Work) -> Leaf | None:
        """A proof by one linear program."""
        value = self._lowest.minimize(claim.terms, work)
        if value is None:
            return None
        if value <= claim.least - 1:
            if self._remembers:
                self._remember(self._lowest.point())
            return None
        dual = [*self._lowest.dual(), (DENIAL, -1.0)]
        return next((leaf for leaf in _leaves(dual) if check(self.system, claim, leaf)), None)

    def lowest(self, terms: Terms, work: Work) -> tuple[int, Leaf] | None:
        """The largest bound that one linear program proves, with its proof."""
        value = self._lowest.minimize(terms, work)
        if value is None:
            return None
        least = math.ceil(value - 1e-6)
        leaf = self.at_least(ProofClaim(terms, least), work)
        return None if leaf is None else (least, leaf)

    def _remember(self, point: Sequence[float]) -> None:
        values = tuple(round(value) for value in point)
        if all(abs(value - number) < 1e-6 for value, number in zip(values, point, strict=True)) and fits(
            self.system, values
        ):
            self.seen.append(values)

    def prove(self, claim: ProofClaim, work: Work) -> Proof | None:
        """A proof that the checker accepts, or None."""
        if claim.terms:
            leaf = self.at_least(claim, work)
            if leaf is not None:
                return leaf
        if self._elastic is None:
            self._elastic = _Program(self.system, elastic=True)
        self._elastic.deny(claim)
        proof = self._closed(claim, work)
        return proof if proof is not None and check(self.system, claim, proof) else None

    def _closed(self, claim: ProofClaim, work: Work) -> Proof | None:
        """Depth first. A stack of decisions, each with the half that is done."""
        path: list[tuple[int, int, bool, Proof | None]] = []  # variable, value, in the upper half, proof of the lower
        for _ in range(MOST_NODES):
            step = self._leaf_or_split(claim, path, work)
            if step is None:
                return None
            if isinstance(step, tuple):
                path.append((*step, False, None))
                continue
            done: Proof = step
            while path and path[-1][2]:
                variable, value, _, lower = path.pop()
                assert lower is not None  # noqa: S101
                done = Branch(variable, value, lower, done)
            if not path:
                return done
            variable, value, _, _ = path.pop()
            path.append((variable, value, True, done))
        return None

    def _leaf_or_split(
        self, claim: ProofClaim, path: Sequence[tuple[int, int, bool, Proof | None]], work: Work
    ) -> Leaf | tuple[int, int] | None:
        low, high = list(self.system.low), list(self.system.high)
        for variable, value, upper, _ in path:
            if upper:
                low[variable] = max(low[variable], value + 1)
            else:
                high[variable] = min(high[variable], value)
        if any(a > b for a, b in zip(low, high, strict=True)):
            return Leaf(())
        assert self._elastic is not None  # noqa: S101
        slack = self._elastic.minimize_slack(low, high, work)
        if slack is None:
            return None
        if slack > TINY:
            boxed = System(tuple(low), tuple(high), self.system.rows)
            for leaf in _leaves(self._elastic.dual()):
                if check(boxed, claim, leaf):
                    return leaf
        return _fractional(self._elastic.point(), low, high)


def _fractional(point: Sequence[float], low: Sequence[int], high: Sequence[int]) -> tuple[int, int] | None:
    """Where to split: the narrowest variable that is furthest from whole, or None if all are whole."""
    best, chosen = (TINY * 1e3, 0.0), None
    for at, value in enumerate(point):
        off = abs(value - round(value))
        rank = (off / (1 + high[at] - low[at]), off)
        if off > 1e-6 and rank > best:
            best, chosen = rank, (at, math.floor(value))
    return chosen


def _leaves(dual: Sequence[tuple[int, float]]) -> Iterator[Leaf]:
    """Whole weights near the dual's, simplest first."""
    sizes = [abs(weight) for _, weight in dual if abs(weight) > TINY]
    if not sizes:
        return
    for unit in (min(sizes), 1.0):
        for multiple in MULTIPLES:
            if max(sizes) / unit * multiple < FINE:
                yield _leaf(dual, multiple / unit)
    yield _leaf(dual, FINE / max(sizes))


def _leaf(dual: Sequence[tuple[int, float]], scale: float) -> Leaf:
    weights = ((number, round(weight * scale)) for number, weight in dual)
    return Leaf(tuple((number, weight) for number, weight in weights if weight))


class _Program:
    """The linear relaxation. An elastic one lets every row be missed by the same amount, which is made small."""

    def __init__(self, system: System, *, elastic: bool) -> None:
        self._system = system
        self._solver = pywraplp.Solver.CreateSolver("GLOP")
        bounds = zip(system.low, system.high, strict=True)
        self._variables = [self._solver.NumVar(low, high, "") for low, high in bounds]
        self._slack = self._solver.NumVar(0, self._solver.infinity(), "") if elastic else None
        self._rows = [(number, part) for number, row in enumerate(system.rows) for part in self._add(row)]
        self._entries = len(self._variables) + sum(1 + len(row.terms) for row in system.rows)
        self._denial: Any = None
        self._goal: Terms = ()
        if elastic:
            self._solver.Objective().SetCoefficient(self._slack, 1)
        self._solver.Objective().SetMinimization()

    def _add(self, row: ProofRow) -> list[Any]:
        """An elastic row with two ends becomes two rows, so that each can be missed; so does one whose ends cross."""
        endless = self._solver.infinity()
        low, high = -endless if row.low is None else row.low, endless if row.high is None else row.high
        if self._slack is None and low <= high:
            return [self._constraint(row.terms, low, high)]
        parts = [] if row.low is None else [self._constraint(row.terms, row.low, endless, 1)]
        return parts if row.high is None else [*parts, self._constraint(row.terms, -endless, row.high, -1)]

    def _constraint(self, terms: Terms, low: float, high: float, slack: int = 0) -> Any:
        constraint = self._solver.Constraint(low, high)
        for at, coefficient in terms:
            constraint.SetCoefficient(self._variables[at], coefficient)
        if self._slack is not None:
            constraint.SetCoefficient(self._slack, slack)
        return constraint

    def nobody(self, variables: Sequence[int]) -> None:
        for at in variables:
            self._variables[at].SetBounds(0, 0)

    def deny(self, claim: ProofClaim) -> None:
        if self._denial is not None:
            self._denial.Clear()  # of its terms; a bound below 0 would then be missed for ever
            self._denial.SetBounds(-self._solver.infinity(), self._solver.infinity())
        row = claim.denied()
        assert row.high is not None  # noqa: S101
        self._denial = self._constraint(row.terms, -self._solver.infinity(), row.high, -1)

    def minimize(self, terms: Terms, work: Work) -> float | None:
        objective = self._solver.Objective()
        for at, _ in self._goal:
            objective.SetCoefficient(self._variables[at], 0)
        for at, coefficient in terms:
            objective.SetCoefficient(self._variables[at], coefficient)
        self._goal = terms
        return self._solved(work)

    def minimize_slack(self, low: Sequence[int], high: Sequence[int], work: Work) -> float | None:
        for variable, least, most in zip(self._variables, low, high, strict=True):
            variable.SetBounds(least, most)
        return self._solved(work)

    def _solved(self, work: Work) -> float | None:
        """The least value, or None if there is no best point, or no work left."""
        steps = min(work.steps(self._entries), MOST_STEPS)
        # without preprocessing, or each start is a cold one
        self._solver.SetSolverSpecificParametersAsString(f"use_preprocessing: false max_number_of_iterations: {steps}")
        found = self._solver.Solve()
        work.stepped(self._solver.iterations(), self._entries)
        if found != pywraplp.Solver.OPTIMAL:
            return None
        return float(self._solver.Objective().Value())

    def dual(self) -> list[tuple[int, float]]:
        """The weight of each row at the best point."""
        dual = [(number, constraint.dual_value()) for number, constraint in self._rows]
        if self._denial is not None:
            dual.append((DENIAL, self._denial.dual_value()))
        return [(number, weight) for number, weight in dual if abs(weight) > TINY]

    def point(self) -> list[float]:
        return [variable.solution_value() for variable in self._variables]

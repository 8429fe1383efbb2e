"""CP-SAT: solutions of a system, how many there are, and the least that a sum can be."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

from ortools.linear_solver import pywraplp
from ortools.sat.python import cp_model

from privet.attacks.proofs.certificate import ProofClaim, System, Terms, fits
from privet.attacks.proofs.work import STOPPED, Work

Values = tuple[int, ...]
UNIT = 2.0  # seconds of an ordinary machine in a unit of CP-SAT's deterministic time, about
MOST_NODES = 10**6
_running: list[cp_model.CpSolver] = []
NODE = 100  # steps of the simplex method that a branch of SCIP counts as


class Outcome(Enum):
    SOLVED = auto()  # a solution, and the best one where one was asked for
    IMPOSSIBLE = auto()
    UNKNOWN = auto()  # the work ran out: nothing is claimed


@dataclass(frozen=True, slots=True)
class Solved:
    outcome: Outcome
    values: Values | None = None  # a solution that fits, even where it is not known to be the best


class Solver:
    """One system, asked several times."""

    def __init__(self, system: System) -> None:
        self._system = system
        self._model: Any = cp_model.CpModel()
        bounds = zip(system.low, system.high, strict=True)
        self._variables = [self._model.new_int_var(low, high, f"x{at}") for at, (low, high) in enumerate(bounds)]
        for row in system.rows:
            low = cp_model.INT_MIN if row.low is None else row.low
            high = cp_model.INT_MAX if row.high is None else row.high
            if row.terms:
                self._model.add_linear_constraint(self._sum(row.terms), low, high)
            elif not low <= 0 <= high:  # a group that nobody can be in
                self._model.add_bool_or([])

    def _sum(self, terms: Terms) -> Any:
        variables, coefficients = zip(*terms, strict=True)
        return cp_model.LinearExpr.weighted_sum([self._variables[at] for at in variables], list(coefficients))

    def solve(self, work: Work, least: Terms | None = None) -> Solved:
        """A solution; the one in which `least` is smallest, if it is given."""
        self._model.clear_objective()
        if least is not None:
            self._model.minimize(self._sum(least))
        solver = _limited(work)
        status = _solved(solver, self._model)
        work.used(UNIT * solver.response_proto.deterministic_time)
        if status == cp_model.INFEASIBLE:
            return Solved(Outcome.IMPOSSIBLE)
        values = self._read(solver.value) if status in (cp_model.OPTIMAL, cp_model.FEASIBLE) else None
        return Solved(Outcome.SOLVED if status == cp_model.OPTIMAL and values else Outcome.UNKNOWN, values)

    def _read(self, value: Callable[[Any], int]) -> Values | None:
        """The solver's solution, if it is one: a solver that is wrong is not believed."""
        values = tuple(value(variable) for variable in self._variables)
        return values if fits(self._system, values) else None

    def every(self, work: Work, limit: int) -> tuple[list[Values], bool]:
        """Different solutions, at most `limit`, and whether these are all."""
        found: list[Values] = []
        read = self._read

        class Collect(cp_model.CpSolverSolutionCallback):
            def on_solution_callback(self) -> None:
                values = read(self.value)
                if values is not None:
                    found.append(values)
                if len(found) >= limit:
                    self.stop_search()

        self._model.clear_objective()
        solver = _limited(work)
        solver.parameters.enumerate_all_solutions = True
        status = _solved(solver, self._model, Collect())
        work.used(UNIT * solver.response_proto.deterministic_time)
        return found, status == cp_model.OPTIMAL and len(found) < limit


def _limited(work: Work) -> cp_model.CpSolver:
    """CP-SAT that stops after the work that is left, by its own count. One worker: several race, and what is found then
    depends on which is faster."""
    solver = cp_model.CpSolver()
    solver.parameters.max_deterministic_time = work.left / UNIT
    solver.parameters.num_workers = 1
    solver.parameters.catch_sigint_signal = False  # it would stop this search alone, and silently
    return solver


def _solved(solver: cp_model.CpSolver, model: Any, callback: Any = None) -> Any:
    """The status. Another thread may stop it."""
    _running.append(solver)
    try:
        return solver.solve(model, callback)
    finally:
        _running.remove(solver)


def stop() -> None:
    """No work is left for any attack, and the search that runs now ends. Called from another thread."""
    STOPPED.set()
    for solver in list(_running):
        solver.stop_search()


def impossible(system: System, claim: ProofClaim, work: Work) -> bool:
    """Whether a second solver (SCIP) also finds no solution in which the claim is false."""
    solver = pywraplp.Solver.CreateSolver("SCIP")
    endless = solver.infinity()
    variables = [solver.IntVar(low, high, "") for low, high in zip(system.low, system.high, strict=True)]
    for row in (*system.rows, claim.denied()):
        low, high = -endless if row.low is None else row.low, endless if row.high is None else row.high
        constraint = solver.Constraint(low, high)
        for at, coefficient in row.terms:
            constraint.SetCoefficient(variables[at], coefficient)
    entries = NODE * sum(1 + len(row.terms) for row in system.rows)
    solver.SetSolverSpecificParametersAsString(
        f"limits/totalnodes = {min(work.steps(entries), MOST_NODES)}\nmisc/catchctrlc = FALSE"
    )
    found = solver.Solve()
    work.stepped(solver.nodes(), entries)
    return bool(found == pywraplp.Solver.INFEASIBLE)


def smallest_cover(sets: Iterable[frozenset[str]], work: Work) -> frozenset[str] | None:
    """As few names as possible that meet every set; None if the work ran out."""
    wanted = list(sets)
    model = cp_model.CpModel()
    chosen = {name: model.new_bool_var(name) for name in sorted(frozenset().union(*wanted))}
    for names in wanted:
        model.add_bool_or([chosen[name] for name in sorted(names)])
    model.minimize(sum(chosen.values()))
    solver = _limited(work)
    status = _solved(solver, model)
    work.used(UNIT * solver.response_proto.deterministic_time)
    if status != cp_model.OPTIMAL:
        return None
    return frozenset(name for name, choice in chosen.items() if solver.boolean_value(choice))

"""Which single columns a set of sums determines, by linear algebra alone, over the rationals.

A row says the sum of some columns. Column i is determined if weights w of the rows give w.Q = e_i, a 1 at i and 0
elsewhere. Two things can go wrong with a fast answer; this is done about them:

- "determined" without being so: a combination is only returned after w.Q = e_i has been computed in whole numbers.
- "not determined" although it is: elimination is done modulo a prime, which can lose rank. Full rank modulo a prime is
  full rank; otherwise three primes are asked, and a column counts as inside if one of them says so. A prime misleads
  only if it divides one fixed number of at most n log2(n) / 2 bits, n being the smaller side: for n = 1000 at most 230
  of the 270,000 primes of 23 bits do. All three, drawn once by lot, would have to: less than one in a billion. The
  attack also confirms a "no" by two different solutions wherever it finds them.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import Any

import numpy as np
import numpy.typing as npt

from privet.attacks.proofs.work import Work
from privet.core.claim import claim
from privet.typing import Integers

Matrix = npt.NDArray[np.int64]
Marks = npt.NDArray[np.uint64]
Residues = npt.NDArray[np.float64]  # whole numbers from 0 to a prime

PRIMES = (
    5_548_841,
    8_062_007,
    8_346_101,
)  # below 2^23: BLOCK products of two residues sum up to less than 2^53, exact in doubles
BLOCK = 64
LARGEST_DENOMINATOR = 10**6  # of a weight that is read off floating point
TINY = 1e-9
MOST_STEPS = 10**9  # of the simplex method
MOST_ROWS = 100  # of a combination: nobody would read a longer one


@dataclass(frozen=True, slots=True)
class Combination:
    """Weights of rows, other than 0, under which exactly one column is left."""

    weights: tuple[tuple[int, Fraction], ...]


@dataclass(frozen=True, slots=True)
class RowSpace:
    """`inside` are the columns whose unit vector lies in the row space. `rows` are as many independent rows as were
    found, and `columns` as many columns in which they are independent."""

    inside: tuple[int, ...]
    rows: tuple[int, ...]
    columns: tuple[int, ...]


def row_space(matrix: Matrix) -> RowSpace:
    mentioned = np.flatnonzero(matrix.any(axis=0))
    best, found = RowSpace((), (), ()), set[int]()
    for prime in PRIMES:
        here = _modular(matrix[:, mentioned], prime)
        best = max(best, here, key=lambda one: len(one.rows))
        if len(best.rows) == len(mentioned):
            found = set(range(len(mentioned)))
            break
        found |= set(here.inside)
    return RowSpace(tuple(mentioned[sorted(found)].tolist()), best.rows, tuple(mentioned[list(best.columns)].tolist()))


def _modular(matrix: Matrix, prime: int) -> RowSpace:
    """The same modulo a prime.

    After elimination column i is inside if it is a pivot and its row is 0 in all free columns. Whether a row is 0
    is seen from two random sums of it: one that is 0 is never missed, and another looks like 0 once in 2^30 times.
    """
    reduced, rows, pivots = _echelon((matrix % prime).astype(np.float64), prime)
    rank = len(pivots)
    free = np.setdiff1d(np.arange(matrix.shape[1]), pivots)
    chance = np.random.default_rng(0).integers(1, 1 << 15, size=(len(free), 2))
    rest = (reduced[:rank, free].astype(np.int64) @ chance) % prime
    for row in range(rank - 1, 0, -1):
        above = reduced[:row, pivots[row], None].astype(np.int64)
        rest[:row] = (rest[:row] - above * rest[row]) % prime
    inside = tuple(column for column, sums in zip(pivots, rest, strict=True) if not sums.any())
    return RowSpace(inside, rows, tuple(pivots))


def _echelon(work: Residues, prime: int) -> tuple[Residues, tuple[int, ...], list[int]]:
    """Rows with a 1 at their pivot and 0 below it, where these rows came from, and the pivot columns. Most of the work
    is matrix products."""
    pivots: list[int] = []
    rows = np.arange(len(work))
    for start in range(0, work.shape[1], BLOCK):
        top = len(pivots)
        order, columns, inverse = _panel(work[top:, start : start + BLOCK], prime)
        work[top:], rows[top:] = work[top:][order], rows[top:][order]
        here = [start + column for column in columns]
        below = top + len(here)
        work[top:below, start:] = _modulo(inverse @ work[top:below, start:], prime)
        work[below:, start:] = _modulo(work[below:, start:] - work[below:, here] @ work[top:below, start:], prime)
        pivots += here
    return work, tuple(rows[: len(pivots)].tolist()), pivots


def _panel(panel: Residues, prime: int) -> tuple[Integers, list[int], Residues]:
    """A few columns: an order of rows in which pivot rows come first, their columns, and the inverse of that square."""
    work, order, columns = panel.copy(), np.arange(len(panel)), list[int]()
    changes = np.zeros((len(panel), 0))
    for column in range(panel.shape[1]):
        top = len(columns)
        places = np.flatnonzero(work[top:, column])
        if not len(places):
            continue
        swap = [top, top + int(places[0])]
        for rows in (work, order, changes):
            rows[swap] = rows[swap[::-1]]
        changes = np.hstack([changes, np.zeros((len(panel), 1))])
        changes[top, top] = 1
        scale = pow(int(work[top, column]), -1, prime)
        factors = work[:, column, None].copy()
        factors[top] = 0
        for rows in (work, changes):
            rows[top] = _modulo(rows[top] * scale, prime)
            rows[:] = _modulo(rows - factors * rows[top], prime)
        columns.append(column)
    return order, columns, changes[: len(columns)]


def _modulo(values: Residues, prime: int) -> Residues:
    """Whole numbers below 2^53 in size. The quotient may be off by one, so the result is put right."""
    values = values - np.floor(values * (1 / prime)) * prime
    values[values < 0] += prime
    values[values >= prime] -= prime
    return values


class Combinations:
    """Finds simple combinations: one row, the difference of two, otherwise small weights by a linear program."""

    def __init__(self, matrix: Matrix) -> None:
        self._matrix = matrix
        marks: Marks = np.random.default_rng(1).integers(1, 2**63, size=(1, matrix.shape[1]), dtype=np.uint64)
        sums: Marks = (matrix.astype(np.uint64) * marks).sum(axis=1)  # wraps around, as it may
        self._marks = [int(mark) for mark in marks[0]]
        self._totals = [int(total) for total in sums]
        self._first = {total: row for row, total in reversed(list(enumerate(self._totals)))}
        self._program: _Smallest | None = None

    def find(self, column: int, work: Work) -> Combination | None:
        """A combination that gives this column, or None if none was found: that alone does not mean there is none.
        Where no work is left, only one and two rows are tried."""
        found = self._one_or_two(column)
        if found is None and work.left:
            if self._program is None:
                self._program = _Smallest(self._matrix)
            found = self._program.find(column, work)
        return found if found is not None and verified(self._matrix, column, found) else None

    def _one_or_two(self, column: int) -> Combination | None:
        """A row that is the column itself, or a row and the same row without the column, by random marks."""
        mark = self._marks[column]
        for row, total in enumerate(self._totals):
            if total == mark:
                return Combination(((row, Fraction(1)),))
            other = self._first.get((total - mark) % 2**64)
            if other is not None and self._matrix[row, column]:
                return Combination(((row, Fraction(1)), (other, Fraction(-1))))
        return None


@claim("row-space")
def verified(matrix: Matrix, column: int, combination: Combination) -> bool:
    """Whether w.Q = e_i, in whole numbers of any length."""
    scale = lcm(*(weight.denominator for _, weight in combination.weights))
    total = np.zeros(matrix.shape[1], dtype=object)
    total[column] = -scale
    for row, weight in combination.weights:
        total = total + matrix[row].astype(object) * int(weight * scale)
    return not any(total)


class _Smallest:
    """The weights with the smallest sum of absolute values, which tends to leave out most rows."""

    def __init__(self, matrix: Matrix) -> None:
        from ortools.linear_solver import pywraplp  # noqa: PLC0415

        self._optimal = pywraplp.Solver.OPTIMAL
        self._solver = pywraplp.Solver.CreateSolver("GLOP")
        endless = self._solver.infinity()
        self._weights = [tuple(self._solver.NumVar(0, endless, "") for _ in range(2)) for _ in matrix]
        self._entries = int(2 * (np.count_nonzero(matrix) + len(matrix)) + matrix.shape[1])
        self._columns: list[Any] = [self._solver.Constraint(0, 0) for _ in range(matrix.shape[1])]
        for (plus, minus), row in zip(self._weights, matrix, strict=True):
            for column in np.flatnonzero(row).tolist():
                self._columns[column].SetCoefficient(plus, int(row[column]))
                self._columns[column].SetCoefficient(minus, -int(row[column]))
            self._solver.Objective().SetCoefficient(plus, 1)
            self._solver.Objective().SetCoefficient(minus, 1)

    def find(self, column: int, work: Work) -> Combination | None:
        self._columns[column].SetBounds(1, 1)
        steps = min(work.steps(self._entries), MOST_STEPS)
        self._solver.SetSolverSpecificParametersAsString(f"max_number_of_iterations: {steps}")
        solved = self._solver.Solve() == self._optimal
        work.stepped(self._solver.iterations(), self._entries)
        weights = [plus.solution_value() - minus.solution_value() for plus, minus in self._weights] if solved else []
        self._columns[column].SetBounds(0, 0)
        simple = {
            row: Fraction(weight).limit_denominator(LARGEST_DENOMINATOR)
            for row, weight in enumerate(weights)
            if abs(weight) > TINY
        }
        return Combination(tuple(simple.items())) if 0 < len(simple) <= MOST_ROWS else None

"""What answers without noise say for certain about each class of people, every bound with its proof.

People whom no query tells apart are one class. Its variable is the sum of their secrets, in steps above the smallest.
First linear algebra (`rowspace`), then ranges, rounding and thresholds by the prover and the solver. The last class is
made up: somebody who is in no query. Nothing may come out about this control.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import lcm

import numpy as np

from privet.attacks.differencing.queries import Queries
from privet.attacks.proofs.certificate import DENIAL, Leaf, Proof, ProofClaim, ProofRow, System, check, fits, rows_used
from privet.attacks.proofs.prover import Prover
from privet.attacks.proofs.rowspace import Combination, Combinations, Matrix, row_space
from privet.attacks.proofs.solver import Outcome, Solver, Values
from privet.attacks.proofs.work import Work
from privet.attacks.tables.certain import Progress, silent
from privet.core.rational import show
from privet.errors import InvalidInputError
from privet.typing import Floats

MOST_ENTRIES = 100_000  # of a matrix for which simple combinations are looked for: beyond, nobody could read them
ROUNDINGS = (2**24, 2**34, 2**44)  # finer and finer weights
MANY = 50  # classes
MOST_CLASHING = 60  # answers among which the fewest that clash are looked for


@dataclass(frozen=True, slots=True)
class AlikeClasses:
    """`matrix` has a row for each query and a column for each class; `places` are the rows without noise."""

    names: tuple[tuple[str, ...], ...]
    sizes: tuple[int, ...]
    matrix: Matrix
    places: tuple[int, ...]

    @property
    def control(self) -> int:
        return len(self.names) - 1


@dataclass(frozen=True, slots=True)
class ShownSum:
    """Claims about a system with their proofs: what the checker needs. `rows` are those that the proofs rest on, and
    `evidence` the queries that said them."""

    system: System
    claims: tuple[tuple[ProofClaim, Proof], ...]
    rows: tuple[int, ...]
    evidence: tuple[str, ...]

    def holds(self) -> bool:
        return all(check(self.system, claim, proof) for claim, proof in self.claims)


def shown(system: System, *claims: tuple[ProofClaim, Proof]) -> ShownSum:
    rows = tuple(sorted({row for _, proof in claims for row in rows_used(proof)}))
    return ShownSum(system, claims, rows, tuple(system.rows[row].source for row in rows))


@dataclass(frozen=True, slots=True)
class SecretRange:
    """The sum of a class lies between low and high. A combination, if there is one, is over the rows of the system."""

    low: int
    high: int
    shown: ShownSum
    combination: Combination | None = None


@dataclass(frozen=True, slots=True)
class Settled:
    """`ranges` by class. `exists` says that some values of everybody fit all answers: without that nothing is proven.
    `unsettled` are the classes for which time or proofs ran out."""

    classes: AlikeClasses
    system: System
    ranges: dict[int, SecretRange]
    exists: bool
    unsettled: tuple[int, ...]


def classes_of(queries: Queries) -> AlikeClasses:
    names = list(queries.people)
    place = {name: at for at, name in enumerate(names)}
    wide = np.zeros((len(queries.queries), len(names)), dtype=np.int64)
    for row, query in enumerate(queries.queries):
        wide[row, [place[name] for name in query.members]] = 1
    together: dict[bytes, list[int]] = {}
    for column in range(len(names)):
        together.setdefault(wide[:, column].tobytes(), []).append(column)
    groups = list(together.values())
    control = np.zeros((len(wide), 1), dtype=np.int64)
    return AlikeClasses(
        (*(tuple(names[at] for at in group) for group in groups), ()),
        (*(sum(queries.people[names[at]] for at in group) for group in groups), 1),
        np.hstack([wide[:, [group[0] for group in groups]], control]),
        tuple(row for row, query in enumerate(queries.queries) if query.noise is None),
    )


def system_of(queries: Queries, classes: AlikeClasses) -> System:
    rows = []
    for place in classes.places:
        query = queries.queries[place]
        steps = queries.steps(query)
        low, high = (None if bound is None else int(bound) for bound in (steps.low, steps.high))
        terms = tuple((int(at), 1) for at in np.flatnonzero(classes.matrix[place]))
        rows.append(ProofRow(terms, low, high, query.name, query.measure))
    top = queries.secret.top
    return System((0,) * len(classes.sizes), tuple(size * top for size in classes.sizes), tuple(rows))


def settle(queries: Queries, work: Work, progress: Progress = silent) -> Settled:
    """Everything certain that was found in time."""
    classes = classes_of(queries)
    system = system_of(queries, classes)
    search = _Search(classes, system, queries.secret.boolean, work, progress)
    search.by_combinations()
    exists = search.find_solution()
    if exists:
        search.all_at_once()
        search.one_by_one()
    return Settled(classes, system, search.ranges, exists, tuple(search.unsettled))


class _Search:
    def __init__(self, classes: AlikeClasses, system: System, boolean: bool, work: Work, progress: Progress) -> None:
        self.ranges: dict[int, SecretRange] = {}
        self.unsettled: list[int] = []
        self._classes, self._system, self._boolean = classes, system, boolean
        self._work, self._progress = work, progress
        self._exact = [number for number, row in enumerate(system.rows) if row.low == row.high]
        self._matrix = classes.matrix[[classes.places[number] for number in self._exact]]
        self._sums = [system.rows[number].low or 0 for number in self._exact]
        self._space = row_space(self._matrix)
        self._seen: list[Values] = []

    @cached_property
    def _inverse(self) -> Floats:
        """From what is wanted of the columns to the weights of the rows; 0 if that is beyond floating point."""
        square = self._matrix[np.ix_(self._space.rows, self._space.columns)]
        try:
            return np.asarray(np.linalg.inv(square.T.astype(float)))
        except np.linalg.LinAlgError:
            return np.zeros(square.shape)

    @cached_property
    def _prover(self) -> Prover:
        return Prover(self._system)

    @cached_property
    def _solver(self) -> Solver:
        return Solver(self._system)

    # Linear algebra

    def by_combinations(self) -> None:
        """Classes that a combination of exact answers gives, with the combination."""
        small = np.count_nonzero(self._matrix) <= MOST_ENTRIES
        search, work = Combinations(self._matrix), self._work.part(0.1 if small else 0)
        for done, column in enumerate(self._space.inside):
            self._progress("combinations", done, len(self._space.inside))
            found = search.find(column, work)
            if found is not None:
                self._combined(column, found)

    def _combined(self, column: int, found: Combination) -> None:
        value = sum((weight * self._sums[row] for row, weight in found.weights), Fraction(0))
        over_rows = Combination(tuple((self._exact[row], weight) for row, weight in found.weights))
        if value.denominator != 1 or not 0 <= value <= self._system.high[column]:
            raise _clash(self._system.rows[row].source for row, _ in over_rows.weights)
        scale = lcm(*(weight.denominator for _, weight in found.weights))
        weights = [(row, int(weight * scale)) for row, weight in over_rows.weights]
        claims = []
        for sign in (1, -1):
            signed = tuple((row, sign * weight) for row, weight in weights)
            claims.append((ProofClaim(((column, sign),), sign * int(value)), Leaf((*signed, (DENIAL, -scale)))))
        self._keep(column, int(value), int(value), shown(self._system, *claims), over_rows)

    def _keep(self, column: int, low: int, high: int, proven: ShownSum, combination: Combination | None = None) -> None:
        assert proven.holds()  # noqa: S101  every proof was checked when it was found; this is the last look
        self.ranges[column] = SecretRange(low, high, proven, combination)

    # Some values that fit

    def find_solution(self) -> bool:
        """Whether all answers can be true together; an error that names answers which cannot."""
        fixed = {column: found.low for column, found in self.ranges.items()}
        guess = self._rounded()
        if guess is None:
            low = tuple(fixed.get(at, bound) for at, bound in enumerate(self._system.low))
            high = tuple(fixed.get(at, bound) for at, bound in enumerate(self._system.high))
            solved = Solver(System(low, high, self._system.rows)).solve(self._work.part(0.5))
            if solved.outcome is Outcome.IMPOSSIBLE:
                raise _clash(_fewest(self._system, self._work))
            guess = solved.values
        if guess is None:
            return False
        asked = {at for row in self._system.rows for at, _ in row.terms}
        for side in (self._system.low, self._system.high):  # whoever is in no query may have any value
            self._seen.append(tuple(value if at in asked else side[at] for at, value in enumerate(guess)))
        return True

    def _rounded(self) -> Values | None:
        """What the exact answers give in whole numbers, with 0 where they leave it open, if that fits all answers."""
        values = np.zeros(len(self._system.low))
        sums = np.array([self._sums[row] for row in self._space.rows], dtype=float)
        values[list(self._space.columns)] = sums @ self._inverse
        whole = tuple(int(value) for value in np.rint(values))
        return whole if fits(self._system, whole) else None

    # Many at once

    def all_at_once(self) -> None:
        """Classes that linear algebra gives, but with weights too long to write down.

        If all are as low or as high as they can be, the signed sum of all is as high as it can be, which is one claim
        for everybody. The others have two claims each.
        """
        left = [column for column in self._space.inside if column not in self.ranges]
        values = self._seen[0]
        ends = [column for column in left if values[column] in (0, self._system.high[column])]
        if ends:
            claim = _at_their_ends(ends, values)
            leaf = self._rounded_proof(claim)
            if leaf is not None:
                together = shown(self._system, (claim, leaf))
                self.ranges |= {at: SecretRange(values[at], values[at], together) for at in ends}
        for done, column in enumerate(column for column in left if column not in self.ranges):
            if not self._work.left:
                return
            self._progress("people", done, len(left))
            claims = [ProofClaim(((column, sign),), sign * values[column]) for sign in (1, -1)]
            proofs = [(claim, leaf) for claim in claims if (leaf := self._rounded_proof(claim)) is not None]
            if len(proofs) == len(claims):
                self.ranges[column] = SecretRange(values[column], values[column], shown(self._system, *proofs))

    def _rounded_proof(self, claim: ProofClaim) -> Leaf | None:
        """Weights in floating point, rounded: whole numbers within bounds can be proven by weights that nearly fit."""
        wanted = np.zeros(len(self._system.low))
        for column, sign in claim.terms:
            wanted[column] = sign
        weights = self._inverse @ wanted[list(self._space.columns)]
        rows = [self._exact[row] for row in self._space.rows]
        for scale in ROUNDINGS:
            whole = ((row, round(float(weight) * scale)) for row, weight in zip(rows, weights, strict=True))
            leaf = Leaf((*((row, weight) for row, weight in whole if weight), (DENIAL, -scale)))
            if check(self._system, claim, leaf):
                return leaf
        return None

    # One at a time

    def one_by_one(self) -> None:
        if self._boolean:
            self._all_by_one_program()
        todo = [at for at in range(len(self._classes.sizes)) if at not in self.ranges]
        for done, column in enumerate(todo):
            self._progress("people", done, len(todo))
            if self._boolean:
                self._same_for_all(column)
            else:
                self._between(column)

    def _all_by_one_program(self) -> None:
        """Many classes that all seem to be at an end are first tried as one claim: one linear program for them all."""
        ends = [at for at in range(len(self._classes.sizes)) if at not in self.ranges and self._end(at) is not None]
        if len(ends) < MANY:
            return
        claim = _at_their_ends(ends, self._seen[0])
        leaf = self._prover.at_least(claim, self._work)
        self._seen += self._prover.seen
        if leaf is not None:
            together = shown(self._system, (claim, leaf))
            self.ranges |= {at: SecretRange(self._seen[0][at], self._seen[0][at], together) for at in ends}

    def _end(self, column: int) -> int | None:
        """The value of a class in all solutions seen so far, if it is one that says something about everybody in it."""
        values = {seen[column] for seen in self._seen}
        return min(values) if len(values) == 1 and values <= {0, self._system.high[column]} else None

    def _same_for_all(self, column: int) -> None:
        """Whether all of the class have it, or nobody; a class in between says nothing about anybody in it."""
        value = self._end(column)
        if value is None:
            return
        sign = 1 if value else -1
        found = self._least(column, sign)
        if found is None:
            if self._end(column) is not None:
                self.unsettled.append(column)
        elif found[0].least == sign * value:
            self._keep(column, value, value, shown(self._system, found))

    def _between(self, column: int) -> None:
        found = [self._least(column, sign) for sign in (1, -1)]
        claims = tuple(side for side in found if side is not None)
        low = self._system.low[column] if found[0] is None else found[0][0].least
        high = self._system.high[column] if found[1] is None else -found[1][0].least
        if len(claims) < 2:
            self.unsettled.append(column)
        self._keep(column, low, high, shown(self._system, *claims))

    def _least(self, column: int, sign: int) -> tuple[ProofClaim, Proof] | None:
        """The least that the class (or minus the class) can be, proven; None if that was not possible in time."""
        terms = ((column, sign),)
        end = self._system.low[column] if sign > 0 else -self._system.high[column]
        claim = ProofClaim(terms, min(sign * seen[column] for seen in self._seen))
        if claim.least == end:
            return claim, Leaf(((DENIAL, -1),))
        if not self._work.left:
            return None
        proof: Proof | None = self._prover.at_least(claim, self._work)
        self._seen += self._prover.seen
        self._prover.seen.clear()
        if proof is None:
            solved = self._solver.solve(self._work, least=terms)
            if solved.values is not None:
                self._seen.append(solved.values)
            if solved.outcome is not Outcome.SOLVED:
                return None
            claim = ProofClaim(terms, min(sign * seen[column] for seen in self._seen))
            proof = self._prover.prove(claim, self._work)
        return None if proof is None else (claim, proof)


def _at_their_ends(columns: Sequence[int], values: Values) -> ProofClaim:
    """Each is 0 or as high as it can be: only then is the sum of the high less that of the low ones the highest."""
    return ProofClaim(tuple((at, 1 if values[at] else -1) for at in columns), sum(values[at] for at in columns))


# Answers that clash


def _clash(names: Iterable[str]) -> InvalidInputError:
    listed = ", ".join(dict.fromkeys(show(name) for name in names))
    return InvalidInputError(
        f"these answers cannot all be true: {listed}", "check these numbers and who is counted", "contradiction"
    )


def _fewest(system: System, work: Work) -> list[str]:
    """Answers that clash, none of which can be left out; all that the contradiction rests on if time runs out."""
    proof = Prover(system).prove(ProofClaim((), 1), work.part(0.5))
    rows = [system.rows[number] for number in rows_used(proof)] if proof is not None else list(system.rows)
    if len(rows) > MOST_CLASHING:
        return [row.source for row in rows]
    for row in list(rows):
        fewer = [other for other in rows if other is not row]
        if Solver(System(system.low, system.high, tuple(fewer))).solve(work).outcome is Outcome.IMPOSSIBLE:
            rows = fewer
    return [row.source for row in rows]

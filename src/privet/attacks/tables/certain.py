"""How many people of each kind there are in every data set that fits: found by solvers, proven by certificates."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from privet.attacks.proofs.certificate import Proof, ProofClaim, System
from privet.attacks.proofs.prover import Prover
from privet.attacks.proofs.solver import Outcome, Solver, Values, impossible
from privet.attacks.proofs.work import Work

Progress = Callable[[str, int, int], None]  # what is being done, how much is done, of how much


def silent(_what: str, _done: int, _of: int) -> None:
    pass


@dataclass(frozen=True, slots=True)
class Certain:
    """At least `count` people of a kind. Without a proof it was solved twice, by different solvers."""

    kind: int
    count: int
    proof: Proof | None

    def rank(self) -> tuple[int, int]:
        return self.count, self.kind

    def claim(self) -> ProofClaim:
        return ProofClaim(((self.kind, 1),), self.count)


class Search:
    """One system, its kinds, and the solutions met so far. `floors` is the least count of each kind among them."""

    def __init__(self, system: System, kinds: int, work: Work, progress: Progress = silent) -> None:
        self.system, self.kinds, self.work, self.progress = system, kinds, work, progress
        self.solutions: list[Values] = []
        self.complete = False  # the solutions are all there are
        self.undecided = 0  # people for whom the work ran out
        self.floors: list[int] = []
        self._solver = Solver(system)

    def start(self, limit: int) -> Outcome:
        """A first solution, then more of them, up to `limit`."""
        first = self._solver.solve(self.work.part(0.7))
        if first.values is None:
            return first.outcome
        self.floors = list(first.values[: self.kinds])
        found, self.complete = self._solver.every(self.work.part(0.1), limit)
        self.solutions = found if first.values in found else [first.values, *found][:limit]
        for values in self.solutions:
            self._met(values)
        return Outcome.SOLVED

    def go_on(self, floors: Sequence[int]) -> None:
        """Start from the floors of a system with more rows: its solutions fit here, too. One more solution, with few
        people of the kinds in question, mostly settles who is not certain any more."""
        self.floors = list(floors)
        asked = tuple((kind, 1) for kind, floor in enumerate(floors) if floor)
        solved = self._solver.solve(self.work.part(0.2), asked) if asked else None
        if solved is not None and solved.values is not None:
            self._met(solved.values)

    def _met(self, values: Sequence[int]) -> None:
        self.floors = [min(floor, value) for floor, value in zip(self.floors, values, strict=False)]

    def certain(self, prover: Prover, kinds: Iterable[int] | None = None, *, prove: bool = True) -> list[Certain]:
        """Every kind, or each of these, of which somebody is certain. Kinds with few people come first: they are the
        worst. Without proofs CP-SAT is believed: that is enough to rank repairs."""
        found = []
        asked = range(self.kinds) if kinds is None else kinds
        todo = sorted((self.floors[kind], kind) for kind in asked if self.floors[kind])
        for done, (_, kind) in enumerate(todo):
            self.progress("proving", done, len(todo))
            one = self.decided(kind, prover, prove=prove)
            if one is not None:
                found.append(one)
        return found

    def decided(self, kind: int, prover: Prover, *, prove: bool) -> Certain | None:
        """How many people of this kind are certain, if any are."""
        while self.floors[kind] and self.work.left:
            one = Certain(kind, self.floors[kind], None)
            leaf = prover.at_least(one.claim(), self.work)
            while prover.seen:
                self._met(prover.seen.pop())
            if leaf is not None:
                return Certain(kind, one.count, leaf)
            final = self.floors[kind] == one.count and (self.complete or self._is_least(kind))
            if self.floors[kind] == one.count:
                sure = self._hard(one, prover) if final and prove else one if final else None
                if sure is not None:
                    return sure
                break
        self.undecided += self.floors[kind]
        return None

    def _is_least(self, kind: int) -> bool:
        """Whether CP-SAT finds that no data set has fewer people of this kind than the floor, which it may lower."""
        solved = self._solver.solve(self.work.part(0.2), ((kind, 1),))
        if solved.values is not None:
            self._met(solved.values)
        return solved.outcome is Outcome.SOLVED

    def _hard(self, one: Certain, prover: Prover) -> Certain | None:
        """No linear program shows it: branch, or ask a second solver."""
        proof = prover.prove(one.claim(), self.work.part(0.3))
        if proof is None and not impossible(self.system, one.claim(), self.work.part(0.2)):
            return None
        return Certain(one.kind, one.count, proof)

"""Whether a claim holds in every data set that fits: refuted by a data set, proven by a certificate, or open.

Data sets that were met are kept: each refutes all claims that are false in it, without a solver. Records that are
certain count as known: their proven counts are lower ends of the box, so that a proof need not find them again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from privet.attacks.proofs.certificate import DENIAL, Leaf, Proof, ProofClaim, Terms, leaves, weighted
from privet.attacks.proofs.prover import Prover
from privet.attacks.proofs.solver import Outcome, Solver, Values, impossible
from privet.attacks.proofs.work import Work

if TYPE_CHECKING:
    from privet.attacks.tables.reconstruction import Reconstruction

Counts = npt.NDArray[np.int64]
MOST_MET = 300  # data sets that are kept to refute claims; fewer if they are large
MOST_ENTRIES = 5_000_000  # of them together
PROOF_SHARE, SOLVER_SHARE = 0.1, 0.2  # of the work that is left, for one claim
NOTHING_TO_SHOW = Leaf(((DENIAL, -1),))  # that a sum of nothing is at least 0


class Decision(Enum):
    HOLDS = auto()
    FAILS = auto()
    OPEN = auto()  # the work ran out: neither is said


@dataclass(frozen=True, slots=True)
class Decided:
    """Where a claim holds without a proof, two solvers said so."""

    claim: ProofClaim
    answer: Decision
    proof: Proof | None = None


class Decider:
    """One release after its attack."""

    def __init__(self, found: Reconstruction) -> None:
        self.found = found
        self.system = found.lifted()
        self.complete = found.complete  # the data sets that were met are all there are
        self._most = max(2, min(MOST_MET, MOST_ENTRIES // max(1, len(self.system.low))))
        kept = found.solutions if found.complete else found.solutions[: self._most]
        self.met = np.array(kept, dtype=np.int64).reshape(len(kept), len(self.system.low))
        self.seen = np.any([np.array(values) > 0 for values in found.solutions], axis=0)  # in some data set
        self._solver = Solver(self.system)
        self._prover = Prover(self.system)
        self._lifted = {one.kind: one for one in found.certain if one.proof is not None}

    def meet(self, values: Values) -> None:
        """The first one stays; the oldest of the others makes room."""
        new = np.array(values, dtype=np.int64)
        room = 1 if len(self.met) >= self._most else 0
        self.met = np.vstack([self.met[:1], self.met[1 + room :], new])
        self.seen = self.seen | (new > 0)

    def sums(self, terms: Terms) -> Counts:
        """The sum in each data set that was met."""
        if not terms:
            return np.zeros(len(self.met), dtype=np.int64)
        at, weights = (np.array(part, dtype=np.int64) for part in zip(*terms, strict=True))
        return self.met[:, at] @ weights

    def decide(self, claim: ProofClaim, work: Work) -> Decided:
        """The cheapest first: a data set that was met, one linear program, the solver, a tree, a second solver."""
        if self.sums(claim.terms).min() < claim.least:
            return Decided(claim, Decision.FAILS)
        if not claim.terms:
            return Decided(claim, Decision.HOLDS, NOTHING_TO_SHOW)
        if not work.left:
            return Decided(claim, Decision.OPEN)
        leaf = self._prover.at_least(claim, work)
        while self._prover.seen:
            self.meet(self._prover.seen.pop())
        if leaf is not None:
            return Decided(claim, Decision.HOLDS, leaf)
        if self.sums(claim.terms).min() < claim.least:
            return Decided(claim, Decision.FAILS)
        if not self.complete:
            least = self.least(claim.terms, work.part(SOLVER_SHARE))
            if least is None or least < claim.least:
                return Decided(claim, Decision.OPEN if least is None else Decision.FAILS)
        return self._hard(claim, work)

    def _hard(self, claim: ProofClaim, work: Work) -> Decided:
        """CP-SAT says that it holds; no linear program shows it."""
        proof = self._prover.prove(claim, work.part(PROOF_SHARE))
        if proof is None and not impossible(self.system, claim, work.part(SOLVER_SHARE)):
            return Decided(claim, Decision.OPEN)
        return Decided(claim, Decision.HOLDS, proof)

    def least(self, terms: Terms, work: Work) -> int | None:
        """The least that the sum can be by CP-SAT; None if the work ran out and no smaller one was met."""
        before = int(self.sums(terms).min())
        solved = self._solver.solve(work, terms)
        if solved.values is not None:
            self.meet(solved.values)
        now = int(self.sums(terms).min())
        return now if solved.outcome is Outcome.SOLVED or now < before else None

    def bound(self, terms: Terms, work: Work) -> Decided:
        """The claim with the largest `least` that holds; if that stays open, the largest that was proven."""
        while True:
            claim = ProofClaim(terms, int(self.sums(terms).min()))
            decided = self.decide(claim, work)
            if decided.answer is Decision.HOLDS:
                return decided
            if decided.answer is Decision.OPEN:
                lowest = self._prover.lowest(terms, work) if work.left else None
                weaker = claim if lowest is None else ProofClaim(terms, lowest[0])
                return Decided(weaker, Decision.OPEN, None if lowest is None else lowest[1])

    def sources(self, decided: Sequence[Decided], nobody: Sequence[int] = ()) -> tuple[str, ...]:
        """The statistics that claims rest on, in the order of the release. `nobody` are kinds that are gone."""
        used = set[str]()
        for one in decided:
            used |= self.found.prepared.sources(one.claim, one.proof, nobody)
            for kind in self._lifted_in(one):
                used.update(self.found.sources(self._lifted[kind]))
        return tuple(one.name for one in self.found.tables.statistics if one.name in used)

    def _lifted_in(self, decided: Decided) -> set[int]:
        """The certain records without which the weighted sum could be larger."""
        if decided.proof is None:
            return set()
        rows, denial = self.system.rows, decided.claim.denied()
        totals = [weighted(rows, denial, leaf) for leaf in leaves(decided.proof)]
        return {at for total in totals for at, weight in total.items() if weight < 0 and at in self._lifted}

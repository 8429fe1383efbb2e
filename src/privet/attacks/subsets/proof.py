"""Bits that are the same in every data set that fits the answers, each with a certificate that the small checker takes.

Only where an answer says for sure what cannot be: exact ones, and those with a largest error. A bit is a whole number
from 0 to 1, an answer y with errors up to E a row between y - E and y + E, and the claim that the bit is 1 or 0.
"""

from __future__ import annotations

import math

import numpy as np

from privet.attacks.proofs.certificate import Proof, ProofClaim, ProofRow, System, rows_used
from privet.attacks.proofs.work import Work
from privet.attacks.subsets.decoders.problem import Bits, Errors
from privet.attacks.subsets.subset_sums import Sums

Certified = tuple[System, ProofClaim, Proof]
MOST_PEOPLE = 64  # a linear program each
FEW = 16  # for whom a proof may split into cases
MOST_CELLS = 1 << 14  # of queries and people in it; more queries than that are left out of the proofs
SECONDS = 10.0
ROUNDED = 1e-6  # answers are floats: a sum that is 2 may be written as 2.0000001


def proofs(sums: Sums, errors: Errors, bits: Bits) -> dict[int, Certified]:
    """By the place of the person. Empty if nothing is for sure, if there are too many, or if these bits do not fit: a
    proof needs a data set that exists."""
    people = len(sums.names)
    if errors.law not in ("exact", "bounded") or people > MOST_PEOPLE:
        return {}
    far = np.abs(sums.matrix.times(bits.astype(np.float64)) - sums.answers)
    if far.max() > errors.size + ROUNDED:
        return {}
    from privet.attacks.proofs.prover import Prover  # noqa: PLC0415  brings OR-Tools

    system = system_of(sums, errors.size)
    prover, work = Prover(system), Work(SECONDS)
    found: dict[int, Certified] = {}
    for place, bit in enumerate(bits):
        claim = ProofClaim(((place, 1),), 1) if bit else ProofClaim(((place, -1),), 0)
        proof = prover.prove(claim, work) if people <= FEW else prover.at_least(claim, work)
        if proof is not None:
            found[place] = (system, claim, proof)
    return found


def sources(proof: Certified) -> tuple[str, ...]:
    """The queries that a proof rests on."""
    system, _, how = proof
    return tuple(system.rows[row].source for row in rows_used(how))


def system_of(sums: Sums, size: float) -> System:
    people = len(sums.names)
    rows = min(sums.matrix.shape[0], max(MOST_CELLS // people, 1))
    members = sums.matrix.block(0, rows)
    return System(
        low=(0,) * people,
        high=(1,) * people,
        rows=tuple(
            ProofRow(
                tuple((int(at), 1) for at in np.flatnonzero(members[row])),
                math.ceil(answer - size - ROUNDED),
                math.floor(answer + size + ROUNDED),
                source=f"query {row + 1}",
            )
            for row, answer in enumerate(sums.answers[:rows])
        ),
    )

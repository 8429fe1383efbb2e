"""The finished attack run on decoys: whatever it claims there is false, and lowers what it claims.

Each record of a sample is compared with the other records of its own table, which are of other people. A claim at some
probability is made falsely as often, per pair of people without a match, as it is made of decoys. In each range of
probabilities at most 1 - false claims expected / claims made is kept.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privet.attacks.linkage.agreement import Comparer
from privet.attacks.linkage.both import InBoth
from privet.attacks.linkage.model import Decoys
from privet.typing import Floats

EDGES = np.array([0.05, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.95, 0.99, 0.999, 1.1])
CLAIM = 0.5
HALF = 0.5  # a claim more than decoys have, among all: few decoys never show that there are none


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Calibration:
    """For each range of probabilities: claims made, false ones expected, and the most that is kept. `strangers`: the
    share of people in one table only who are expected to be claimed with a probability of a half or more."""

    made: Floats
    false: Floats
    most: Floats
    strangers: float

    def lowered(self, chance: Floats) -> Floats:
        at = np.searchsorted(EDGES, chance, side="right") - 1
        return np.where(at >= 0, np.minimum(chance, self.most[np.clip(at, 0, len(self.most) - 1)]), chance)


def calibrated(made: Floats, decoys: list[tuple[Decoys, Floats]], comparer: Comparer, both: InBoth) -> Calibration:
    """`made` are the claims in each range of probabilities; `decoys` come with their weights."""
    pairs = (both.records - both.estimate) * (both.people - both.estimate)
    counts = np.array([_claimed(some, weight, comparer) for some, weight in decoys])
    sizes = np.array([max(some.left * some.right, 1.0) for some, _ in decoys])
    rate = np.ones(len(EDGES) - 1)
    if decoys:
        total = np.maximum(counts.sum(axis=0), 1e-9)
        rate = np.mean(counts / sizes[:, None], axis=0) * (1 + 1 / np.sqrt(total))
    likely = np.where(EDGES[:-1] >= CLAIM, made, 0.0)
    seen = sizes.max(initial=1.0)
    false = pairs * (rate + HALF / seen * likely / max(float(likely.sum()), 1.0))
    most = np.where(made > 0, 1 - false / np.maximum(made, 1e-9), 1 - false)
    strangers = float(false[EDGES[:-1] >= CLAIM].sum() / max(both.records - both.estimate, 1.0))
    return Calibration(made=made, false=false, most=np.maximum(most, 0.0), strangers=min(strangers, 1.0))


def claims(chance: Floats, people: Floats) -> Floats:
    """How many pairs of people there are in each range of probabilities."""
    return np.asarray(np.histogram(chance, EDGES, weights=people)[0], np.float64)


def _claimed(decoys: Decoys, weight: Floats, comparer: Comparer) -> Floats:
    """Claims in each range of probabilities. Each record is tried by itself: a stranger is taken for somebody whose own
    record is not in the release, so that no other record wants this person."""
    pairs = decoys.pairs
    people = comparer.tables[pairs.sides[0]].people
    wanted = np.bincount(pairs.one, weight * pairs.many, len(people)) / people
    return claims(weight / (1 + wanted[pairs.one]), pairs.many)

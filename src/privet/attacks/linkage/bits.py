"""The evidence of one link in bits: which columns speak for it, which against it, and what takes some of that back.

A column has log2 of (chance of this agreement for one person / chance for two people taken at random). Columns that
go together say less than their sum: what families, addresses and the like take back has a line of its own. So have the
odds that two rows are one person before anything is compared.
"""

from __future__ import annotations

import math

import numpy as np

from privet.attacks.linkage.agreement import LEVEL_NAMES, MISSING
from privet.attacks.linkage.evidence import Evidence
from privet.attacks.linkage.model import compare

TOGETHER, BEFORE = "columns that go together", "before comparing"


def bits_of(evidence: Evidence, released: int, known: int) -> list[tuple[str, str, int]]:
    """For a pair of classes: (column, how it agrees, whole bits), those that speak for the link first."""
    pair = np.array([released]), np.array([known])
    levels = evidence.comparer.levels((0, 1), *pair)
    chance = evidence.comparer.log_chance((0, 1), pair[0], levels, evidence.model.average)[0]
    model, found, total = evidence.model, [], 0.0
    for at, column in enumerate(evidence.comparer.columns):
        level = int(levels[0, at])
        if level == MISSING:
            found.append((column.name, "missing", 0.0))
            continue
        bits = (math.log(float(model.mix @ model.match[:, at, level])) - float(chance[at])) / math.log(2)
        total += bits
        found.append((column.name, LEVEL_NAMES[level], bits))
    ratio = float(model.log_ratio(compare(evidence.comparer, (0, 1), pair, model.average))[0]) / math.log(2)
    found.sort(key=lambda row: -row[2])
    more = [(TOGETHER, "", ratio - total), (BEFORE, "", math.log2(evidence.odds))]
    return [(name, how, round(bits)) for name, how, bits in [*found, *more]]

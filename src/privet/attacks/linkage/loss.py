"""What blocking loses: pairs of one person that no rule finds."""

from __future__ import annotations

import numpy as np

from privet.attacks.linkage.blocking import Blocking
from privet.attacks.linkage.comparison import STEPS, Comparer
from privet.attacks.linkage.model import AgreementModel
from privet.typing import Integers

DRAWN = 4000  # pairs of one person


def lost(model: AgreementModel, comparer: Comparer, blocking: Blocking | None, rows: Integers) -> float:
    """The share of people in both tables whose pair is no candidate, if values differ as the model says: pairs are drawn
    from it. A rule counts only where whole values are the same, so this is rather too much than too little."""
    draw = np.random.default_rng(1)
    who = draw.choice(rows, DRAWN)
    kind = draw.choice(len(model.mix), DRAWN, p=model.mix / model.mix.sum())
    same = np.empty((DRAWN, len(comparer.columns)), np.bool_)
    told = np.empty_like(same)
    for at, column in enumerate(comparer.columns):
        chances = np.cumsum(model.match[kind, at], axis=1)
        level = (draw.random(DRAWN)[:, None] > chances[:, : STEPS - 1]).sum(axis=1)
        theirs = comparer.tables[1]
        gaps = float(theirs.people[column.axis.known.free[theirs.codes[:, at]]].sum()) / len(theirs.of)
        told[:, at] = draw.random(DRAWN) >= gaps
        told[:, at] &= ~column.axis.released.free[comparer.tables[0].codes[who, at]]
        same[:, at] = level == 0
    found = (same | ~told).all(axis=1)
    if blocking is not None:
        for rule in blocking.rules:
            ours, theirs_hash = blocking.hash(rule, 0), blocking.hash(rule, 1)
            count = np.bincount(theirs_hash[theirs_hash >= 0], minlength=blocking.buckets)
            small = (ours[who] >= 0) & (count[np.maximum(ours[who], 0)] <= blocking.size)
            agree = np.all([same[:, at] & told[:, at] for at, _ in rule], axis=0)
            found |= small & agree
    return float(1 - found.mean())

"""What blocking loses: pairs of one person that no rule finds."""

from __future__ import annotations

import numpy as np

from privet.attacks.linkage.agreement import STEPS, Comparer
from privet.attacks.linkage.blocking import Blocking
from privet.attacks.linkage.model import AgreementModel

DRAWN = 4000  # pairs of one person


def lost(model: AgreementModel, comparer: Comparer, blocking: Blocking | None) -> float:
    """The share of people in both tables whose pair is no candidate, if values differ as the model says: pairs are
    drawn from it. A rule counts only where whole values are the same, so this is rather too much than too little."""
    draw = np.random.default_rng(1)
    ours = comparer.tables[0]
    who = ours.of[draw.integers(0, len(ours.of), DRAWN)]
    kind = draw.choice(len(model.mix), DRAWN, p=model.mix / model.mix.sum())
    same = np.empty((DRAWN, len(comparer.columns)), np.bool_)
    told = np.empty_like(same)
    order = sorted(range(len(comparer.columns)), key=lambda at: model.match[:, at].tolist())  # not that of the table
    for at in order:
        column = comparer.columns[at]
        chances = np.cumsum(model.match[kind, at], axis=1)
        level = (draw.random(DRAWN)[:, None] > chances[:, : STEPS - 1]).sum(axis=1)
        theirs = comparer.tables[1]
        gaps = float(theirs.people[column.axis.known.free[theirs.codes[:, at]]].sum()) / len(theirs.of)
        told[:, at] = draw.random(DRAWN) >= gaps
        told[:, at] &= ~column.axis.released.free[ours.codes[who, at]]
        same[:, at] = level == 0
    found = (same | ~told).all(axis=1)
    if blocking is not None:
        for rule in blocking.rules:
            small = blocking.searched(rule)[who]
            agree = np.all([same[:, at] & told[:, at] for at, _ in rule], axis=0)
            found |= small & agree
    return float(1 - found.mean())

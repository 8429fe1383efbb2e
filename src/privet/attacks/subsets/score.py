"""Guesses of secret bits against the truth, which only the owner has."""

from __future__ import annotations

import numpy as np

from privet.attacks.finding import Curve, Picture, Score
from privet.attacks.subsets.subset_sums import Guesses
from privet.stats.binomial import share
from privet.typing import Floats

SURE = 0.95  # a guess at least so likely is a claim
BINS = 10  # from 50 to 100 % sure


def scored(guesses: Guesses, confidence: Floats, truth: Guesses, control: Guesses | None) -> Score:
    """Of the people in the truth. The baseline says of everybody what most of them have; the control are the same
    guesses held against the secrets of others, by default those of the same people in another order."""
    known = truth >= 0
    right, claimed = guesses == truth, (confidence >= SURE) & known
    people, ones = int(known.sum()), int((truth == 1).sum())
    others = shuffled(truth) if control is None else control
    told = others >= 0
    success = share(int((right & known).sum()), people)
    baseline = share(max(ones, people - ones), people)
    against = share(int(((guesses == others) & told).sum()), int(told.sum()))
    return Score(
        claimed=int(claimed.sum()),
        right=int((claimed & right).sum()),
        success=success,
        baseline=baseline,
        control=against,
    )


def shuffled(truth: Guesses) -> Guesses:
    """The same secrets, given to others: always in the same order."""
    known = np.flatnonzero(truth >= 0)
    others = np.full_like(truth, -1)
    others[known] = truth[np.random.default_rng(0).permutation(known)]
    return others


def calibration(guesses: Guesses, confidence: Floats, truth: Guesses) -> Picture | None:
    """Of guesses that the decoder called about so likely, how many are right. None: it called all equally likely."""
    known = np.flatnonzero(truth >= 0)
    place = np.clip(((confidence[known] - 0.5) * 2 * BINS).astype(np.int64), 0, BINS - 1)
    parts = [part for step in range(BINS) if len(part := known[place == step])]
    said = [float(confidence[part].mean()) for part in parts]
    if len({float(one) for one in confidence[known]}) == 1:
        return None
    shares = [share(int((guesses[part] == truth[part]).sum()), len(part)) for part in parts]
    return Picture(
        title="How sure the attack was, and how right",
        text="People whose guesses were said to be about as sure are one point. On the line a guess is as often right"
        " as the attack said.",
        alt=f"For {len(parts)} groups of people the share of right guesses with its interval, against what was said.",
        x="said to be right",
        y="right",
        curves=(
            Curve(name="as said", x=(0.0, 1.0), y=(0.0, 1.0)),
            Curve(
                name="this attack",
                x=tuple(said),
                y=tuple(one.value for one in shares),
                low=tuple(one.low for one in shares),
                high=tuple(one.high for one in shares),
                style="points",
            ),
        ),
        shares=True,
    )

"""Attacks that are really run, on made data, for the picture of error regimes.

People have yes/no attributes with rates of 1/2, independent of each other. A release is d means with independent normal
errors of a given size. How well the attacks do depends on d / n and on error x sqrt(n) only, so a large number of
people is made as a smaller one with the same two.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from privet.stats.roc import roc

MEMBERS, SECRETS = 2000, 400  # people at most, for the one attack and the other
SEEN = 250  # people inside whose scores are looked at, and as many outside


def membership_aucs(people: int, ratio: float, errors: Sequence[float], random: np.random.Generator) -> list[float]:
    """The inner-product test: how far a person and the means lean to the same side. For rates of 1/2 it ranks people as
    the likelihood ratio does, up to a term that is the same for all. Errors are x sqrt(n)."""
    n = min(people, MEMBERS)
    attributes, seen = max(1, round(ratio * n)), min(n, SEEN)
    inside, outside = (random.integers(0, 2, (seen, attributes), np.int8).astype(np.float32) - 0.5 for _ in range(2))
    rest = random.binomial(n - seen, 0.5, attributes) - (n - seen) / 2
    means = (inside.sum(axis=0, dtype=np.float64) + rest) / n
    noise = random.normal(size=(len(errors), attributes)) * (np.array(errors) / math.sqrt(n))[:, None]
    published = (means + noise).astype(np.float32).T
    return [
        roc(mine, theirs).auc.value
        for mine, theirs in zip((inside @ published).T, (outside @ published).T, strict=True)
    ]


def recovered_shares(people: int, ratio: float, errors: Sequence[float], random: np.random.Generator) -> list[float]:
    """The best linear decoder of a secret yes or no of everybody, from d means over random halves of the people: ridge
    regression, with the weight that the size of the error asks for. Errors are x sqrt(n)."""
    n = min(people, SECRETS)
    answers = max(1, round(ratio * n))
    signs = random.integers(0, 2, (answers, n)).astype(np.float64) - 0.5
    secrets = random.integers(0, 2, n).astype(np.float64) - 0.5
    counted = signs - signs.mean(axis=0)  # what all answers have in common says nothing of one person
    left, sizes, right = np.linalg.svd(counted, full_matrices=False)
    clean = counted @ secrets
    noise = random.normal(size=answers)
    shares = []
    for error in errors:
        spread = error * math.sqrt(n)  # of a sum
        weights = sizes / (sizes**2 + 4 * spread**2 + 1e-9)  # 1/4 is the variance of a secret
        guess = right.T @ (weights * (left.T @ (clean + spread * (noise - noise.mean()))))
        shares.append(float((np.sign(guess) == np.sign(secrets)).mean()))
    return shares

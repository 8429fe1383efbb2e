"""Does it take longer on one of two data sets? A randomisation test that is exact, and what it could have seen.

Both data sets are asked once in each block, in an order that a coin decides. If the time of a slot does not depend on
which of them was asked, then, whatever slots do (drift, other programs, rare pauses), the sign of the difference in a
block is a fair coin, independent of its size and of other blocks. Differences are ranked by size; S is the sum of ranks
with their signs (Wilcoxon 1945), so that one long pause counts no more than the last rank. With fair coins

    P[|S| >= s] <= 2 * exp(-s**2 / (2 * sum of squared ranks))        (Hoeffding 1963, theorem 2, for ranks times +-1)

for every number of blocks, so the false-alarm rate holds without any normal approximation: at a rate of 1e-4 S must be
4.5 of its standard deviations off, where the normal law would ask for 3.9. What is assumed is that asking one data set
does not change how quickly the next is answered; blocks in both orders balance what a cache does.

With a `margin` only differences above it count: S is taken of the differences less the margin, in both directions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privet.typing import Floats

POWER = 0.9
RESAMPLES = 200
HALVINGS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """`seen`: the difference that would have raised the alarm with a probability of about POWER; None if none ever
    would."""

    odds: float  # of so large a sum of ranks, at most, if nothing depends on the data
    alarm: bool
    difference: float  # the median, in seconds, of second - first
    seen: float | None


def compare(differences: Floats, rate: float, margin: float = 0.0) -> Timing:
    """From the differences (second - first, in seconds) of all blocks."""
    size = len(differences)
    odds = float(_odds(np.stack([differences - margin, -differences - margin])).min())
    able = float(_odds(np.arange(1.0, size + 1)[None, :])[0]) <= rate
    return Timing(
        odds=odds,
        alarm=odds <= rate,
        difference=float(np.median(differences)),
        seen=_seen(differences, rate, margin) if able else None,
    )


def _odds(differences: Floats) -> Floats:
    """For each row a bound on the odds of a sum of signed ranks that is as large, in this direction; both are asked."""
    sizes = np.abs(differences)
    order = np.argsort(sizes, axis=1, kind="stable")
    ranks = np.empty_like(sizes)
    np.put_along_axis(ranks, order, np.broadcast_to(np.arange(1.0, sizes.shape[1] + 1), sizes.shape), axis=1)
    total = np.maximum((ranks * np.sign(differences)).sum(axis=1), 0)
    squares = (ranks**2).sum(axis=1)
    return np.asarray(np.minimum(1.0, 2 * np.exp(-(total**2) / (2 * squares))), np.float64)


def _seen(differences: Floats, rate: float, margin: float) -> float:
    """By resampling: blocks drawn from those that were seen, their median taken off, with a coin for each sign, as if
    nothing depended on the data; then a shift put on."""
    chance, size = np.random.default_rng(), len(differences)
    centered = differences - np.median(differences)
    made = chance.choice([-1.0, 1.0], (RESAMPLES, size)) * chance.choice(centered, (RESAMPLES, size))

    def power(shift: float) -> float:
        return float(np.mean(_odds(made + (shift - margin)) <= rate))

    low, high = margin, margin + 4 * float(np.abs(centered).max()) + 1e-9
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if power(middle) >= POWER else (middle, high)
    return high


def in_words(seconds: float) -> str:
    size = abs(seconds)
    unit, name = (1.0, "s") if size >= 1 else (1e-3, "ms") if size >= 1e-3 else (1e-6, "µs")
    return f"{seconds / unit:.3g} {name}"

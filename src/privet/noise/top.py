"""TRUSTED: cells chosen by their scores, the best first, in exact arithmetic.

docs/claims.md has the proofs. Scores are data, so errors never quote them. How long a choice takes depends on the
numbers of cells and rounds alone, except where a decision is closer than floats can tell.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from privet.core.claim import claim
from privet.core.laws import Top
from privet.errors import InvalidInputError
from privet.noise.entropy import KEYSTREAM, Bits, Source
from privet.noise.ranked import Stretches, choose_stretch
from privet.noise.selection import noisy_max
from privet.typing import Integers

FARTHEST = 1 << 60  # scores are moved to this, or less 1 * this: no unit moves them further apart by that


@claim("top-choice")
def choose_top(scores: Sequence[int], law: Top, source: Source = KEYSTREAM) -> list[int]:
    """The places of the chosen scores, all different, in the order in which they were chosen."""
    if not 1 <= law.rounds <= len(scores) or law.rate <= 0:
        raise InvalidInputError(
            "so many cells cannot be chosen", "choose at least 1 of them, at a positive rate", "out-of-range"
        )
    near = np.array([min(max(score, -FARTHEST), FARTHEST) for score in scores], np.int64)
    left = np.argsort(-near, kind="stable")  # the best first
    chosen = []
    for _ in range(law.rounds):
        place = _flipped(near[left], law) if law.flip else _drawn(near[left], law, Bits(source))
        chosen.append(int(left[place]))
        left = np.delete(left, place)
    return chosen


def _flipped(scores: Integers, law: Top) -> int:
    """The best after geometric noise of scale 1 / rate, ties by lot: permute-and-flip."""
    return noisy_max(scores, epsilon=law.rate, sensitivity=1, monotone=True)


def _drawn(scores: Integers, law: Top, bits: Bits) -> int:
    """The exponential mechanism: every cell is a stretch of one candidate, which loses what it is behind the best."""
    size = len(scores)
    stretches = Stretches(starts=np.arange(size), sizes=np.ones(size, np.int64), losses=scores[0] - scores, best=0)
    return choose_stretch(stretches, law.rate, bits, bits.take(64))

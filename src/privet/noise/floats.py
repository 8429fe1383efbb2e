"""TRUSTED: coins, and normal numbers in floats, from the keystream. For training by noisy gradients only.

A normal number in floats is not exact: it has 53 bits and ends at 8.6 deviations, and sums with it are rounded. What
uses it says "not float-exact". Coins are exact. Both come from the AES-256-CTR keystream and not from a generator of
NumPy: an attacker who sees all noise that a generator made so far must not be able to tell the next.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from privet.core.claim import claim
from privet.noise.entropy import KEYSTREAM, Keystream, Source
from privet.typing import Floats, Truths, Words

PIECE = 1 << 16
COIN_BITS = 32


class FloatNoise:
    """Draws for one training. Nothing is kept between two draws, so a copy or a fork repeats nothing."""

    def __init__(self, source: Source = KEYSTREAM) -> None:
        self._source = source

    @claim("coins")
    def coins(self, coin: int, size: int) -> Truths:
        """`size` independent coins; each is true with probability coin / 2^32, exactly."""
        words = np.empty((size + 1) // 2, np.uint64)
        self._source.fill(words)
        return np.asarray(words.view(np.uint32)[:size].astype(np.uint64) < np.uint64(coin))

    @claim("float-normals")
    def normals(self, size: int) -> Floats:
        """`size` independent standard normal numbers, by Box and Muller."""
        out = np.empty(size)
        for start in range(0, size, PIECE):
            part = out[start : start + PIECE]
            words = np.empty(len(part) + len(part) % 2, np.uint64)
            self.words(words)
            part[:] = self.normals_of(words)[: len(part)]
        return out

    def words(self, out: Words) -> None:
        """Overwrite `out` with uniform words, for `normals_of`."""
        self._source.fill(out)

    @staticmethod
    def normals_of(words: Words) -> Floats:
        """As many independent standard normal numbers as there are words; their number is even."""
        half = len(words) // 2
        shares = (words >> np.uint64(11)).astype(np.float64) * 2.0**-53  # in [0, 1)
        length = np.sqrt(-2 * np.log1p(-shares[:half]))
        angle = 2 * np.pi * shares[half:]
        return np.concatenate([length * np.cos(angle), length * np.sin(angle)])

    def apart(self, number: int) -> FloatNoise:
        """Draws for another thread, which wait for none of these."""
        return FloatNoise(_keystream(number)) if self._source is KEYSTREAM else self


@cache
def _keystream(number: int) -> Keystream:  # noqa: ARG001  one for each number
    return Keystream()

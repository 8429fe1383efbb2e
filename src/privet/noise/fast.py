"""TRUSTED: exact draws in bulk. docs/claims.md proves this page; read it beside the code.

The integers are cut into blocks of 2**shift. A 64-bit word proposes a value x: its top 16 bits choose one of
65,536 cells, each cell belongs to a block, and a block's `weight` (its number of cells) is at least
height * (the largest f in the block), where f(x) = exp(-exponent(x)); the low `shift` bits choose x in the block.

      16 bits       48 - shift bits       shift bits
    [ cell -> block | U = 0.vvvvvvvvv... | place in block ]

x is kept if U < height * f(x) / weight, so P[x] is proportional to f(x), exactly. For 19 draws in 20, V alone
settles it against an integer of the table (`quick`). Otherwise U gets 64 more bits and is compared with f in
floating point, good to 2**-28; what is closer than that is settled in integers, with as many bits as it takes.
"""

from __future__ import annotations

import math
import threading
from fractions import Fraction
from functools import lru_cache
from typing import NoReturn, assert_never

import numpy as np

from privet.core.claim import claim
from privet.core.exponential import is_below
from privet.core.laws import DiscreteGaussian, DiscreteLaplace, Law
from privet.errors import InvalidInputError, NoiseOverflowError
from privet.noise.entropy import KEYSTREAM, Bits, Source
from privet.typing import Floats, Integers, Truths, Words

CELL_BITS = 16
TAIL_BITS = 6  # beyond the blocks, strides of 2**(shift + 6) >= the scale, over which f falls by half or more
PIECE = 1 << 18  # draws at a time in large requests
CHUNK = 1 << 14  # words at a time: stays in the cache
FIRST_POOL, LARGEST_POOL = 1 << 9, 1 << 17  # small requests are served from batches that grow to this size
MARGIN = 2.0**-30  # added to f's upper, taken from its lower bounds in the table
SLACK = 2.0**-28  # how close U and the float may come before integers decide
CELL_SHIFT, U_SHIFT = np.uint64(64 - CELL_BITS), np.uint64(CELL_BITS)
TAYLOR = [1 / math.factorial(n) for n in range(12, -1, -1)]
SQUARINGS = 6
FARTHEST = 2.0 ** (SQUARINGS - 2)  # exponents above this are only known to be above
MAX_SCALE = 1 << 50
LIMIT = 1 << 62  # every draw is smaller than this


@claim("float-exp")
def exp_float(gamma: Floats, squarings: int) -> Floats:
    """exp(-gamma) with a relative error below 2**(squarings - 44); gammas above 2**(squarings - 2) count as that.

    Taylor on gamma / 2**squarings <= 1/4, then squared.
    """
    z = np.minimum(gamma, 2.0 ** (squarings - 2)) * -(2.0**-squarings)
    total = np.full_like(z, TAYLOR[0])
    for coefficient in TAYLOR[1:]:
        total *= z
        total += coefficient
    for _ in range(squarings):
        total *= total
    return total


@claim("block-sampler")
class Blocks:
    """The table of one law."""

    def __init__(self, law: Law) -> None:
        self.law = law
        scale, reach = _size(law)
        if scale >= MAX_SCALE:
            raise InvalidInputError(
                f"the noise scale is {MAX_SCALE} or more: a draw might not fit into 64 bits",
                "use a coarser step for the values or a larger epsilon, so that the noise is smaller in steps",
                "too-fine",
            )
        self.shift = max(0, scale.bit_length() - TAIL_BITS)
        self.half = math.ceil(Fraction(reach * (scale + 1), 1 << self.shift))  # blocks on either side of zero
        self.edge = self.half << self.shift
        self._rate = _rate(law)
        self._place_mask = np.uint64((1 << self.shift) - 1)
        block = np.arange(-self.half, self.half, dtype=np.int64)
        left, right = block << self.shift, (block + 1 << self.shift) - 1
        largest = exp_float(self.exponents(np.where(block < 0, right, left)), SQUARINGS) * (1 + MARGIN)
        farthest = self.exponents(np.where(block < 0, left, right))
        smallest = np.where(farthest <= FARTHEST, exp_float(farthest, SQUARINGS) * (1 - MARGIN), 0.0)
        beyond = float(exp_float(self.exponents(np.array([self.edge])), SQUARINGS)[0]) * (1 + MARGIN)
        beyond *= 4 << TAIL_BITS
        self.height = (2**CELL_BITS - len(block) - 2) / (float(largest.sum()) + beyond)
        weights = np.ceil(np.append(largest, beyond) * self.height).astype(np.int64)
        self.tail, self.dead = len(block), len(block) + 1
        self.weights = np.append(weights, 2**CELL_BITS - weights.sum())
        self._ratio = self.height / np.maximum(self.weights, 1)
        self.cells = np.repeat(np.arange(len(self.weights)), self.weights)
        self.kept_share = float((smallest * self.height).sum()) / 2**CELL_BITS  # the share of proposals that is kept
        self.quick = np.zeros(len(self.weights), np.uint64)
        self.quick[: self.tail] = self._quick(smallest * self.height / self.weights[: self.tail])

    def _quick(self, chance: Floats) -> Words:
        """The largest multiple of 2**(16 + shift) that U, written in 64 bits, may stay below and surely be kept."""
        bits = 64 - CELL_BITS - self.shift
        whole = np.floor(chance * (1 - MARGIN) * 2.0**bits).astype(np.uint64)
        return np.left_shift(whole, np.uint64(64 - bits))

    def exponents(self, x: Integers) -> Floats:
        """law.exponent as a float, with a relative error below 2**-50 (where it is at most 16)."""
        size = np.abs(x).astype(np.float64)
        if isinstance(self.law, DiscreteGaussian):
            size *= size
        return size * self._rate

    def propose(self, words: Words, x: Integers) -> Integers:
        """Write each word's proposal into x; return the places that `settle` has to decide."""
        scratch = words >> CELL_SHIFT
        # mode="clip" never clips here: it skips the check of every index
        block = self.cells.take(scratch.view(np.int64), mode="clip")
        np.left_shift(words, U_SHIFT, out=scratch)
        undecided = np.flatnonzero(scratch >= self.quick.take(block, mode="clip"))
        np.bitwise_and(words, self._place_mask, out=x.view(np.uint64))
        block -= self.half
        block <<= self.shift
        x |= block
        return undecided

    def settle(self, words: Words, x: Integers, source: Source) -> Truths:
        """Which of the proposals x that their words left open are kept. Tail draws get their value here."""
        block = self.cells.take((words >> CELL_SHIFT).view(np.int64))
        known = 64 - CELL_BITS - self.shift
        prefix = (words << U_SHIFT) >> np.uint64(64 - known)
        more = np.empty_like(words)
        source.fill(more)
        u = (prefix + more * 2.0**-64) * 2.0**-known
        gamma = self.exponents(x)
        excess = u - exp_float(gamma, SQUARINGS) * self._ratio.take(block)
        kept: Truths = (excess < -SLACK) & (gamma < FARTHEST) & (block < self.tail)
        unclear = ((excess < SLACK) & ~kept & (block < self.tail)) | (block == self.tail)
        random_bits = Bits(source)
        for i in np.flatnonzero(unclear):
            if block[i] == self.tail:
                x[i], kept[i] = self._tail_draw(random_bits)
            else:
                factor = Fraction(self.height) / int(self.weights[block[i]])
                u_bits = int(prefix[i]) << 64 | int(more[i])
                kept[i] = keep(u_bits, known + 64, factor, self.law.exponent(int(x[i])), random_bits)
        return kept

    def _tail_draw(self, bits: Bits) -> tuple[int, bool]:
        """A value beyond the blocks: side, stride (each half as likely as the one before), place in the stride."""
        left, strides = bits.take(1), 0
        while bits.take(1):
            strides += 1
        width = self.shift + TAIL_BITS
        distance = self.edge + (strides << width) + bits.take(width)
        x = -1 - distance if left else distance
        if abs(x) >= LIMIT:
            raise NoiseOverflowError(
                "a noise draw does not fit into 62 bits", "draw again, or use a coarser step for the values"
            )
        factor = Fraction(self.height) * (4 << TAIL_BITS + strides) / int(self.weights[self.tail])
        return x, keep(bits.take(64), 64, factor, self.law.exponent(x), bits)


@claim("exact-comparison")
def keep(u: int, known: int, factor: Fraction, gamma: Fraction, bits: Bits) -> bool:
    """U < factor * exp(-gamma)? U's first `known` bits are u; the rest is drawn as far as needed."""
    while (answer := is_below(u, known, factor, gamma)) is None:
        u, known = u << 64 | bits.take(64), known + 64
    return answer


def _size(law: Law) -> tuple[int, Fraction]:
    """The scale rounded down, and how many scales the blocks reach to each side: f < 2**-18 from there on."""
    match law:
        case DiscreteLaplace(scale=scale):
            return math.floor(scale), Fraction(25, 2)
        case DiscreteGaussian(variance=variance):
            return math.isqrt(math.floor(variance)), Fraction(5)
        case _:
            assert_never(law)


def _rate(law: Law) -> float:
    """law.exponent(1) as a float. Beyond 2**20 it only has to be large: a step is then never kept."""
    return float(min(law.exponent(1), Fraction(2**20)))


class Sampler:
    """Draws of one law. Small requests come out of a batch, so that their time tells nothing of their values."""

    def __init__(self, law: Law, source: Source = KEYSTREAM) -> None:
        self.blocks = Blocks(law)
        self._source = source
        self._lock = threading.Lock()
        self._pool = np.empty(0, np.int64)
        self._pool_size = FIRST_POOL
        self._epoch = source.epoch

    def draw(self, size: int) -> Integers:
        """`size` fresh draws. A process that was forked off in the middle of this starts over with its own words."""
        while True:
            epoch = self._source.epoch
            drawn = self._draw(size)
            if self._source.epoch == epoch:
                return drawn

    def _draw(self, size: int) -> Integers:
        if size > LARGEST_POOL // 4:
            return self._large(size)
        # A thread, a signal handler or a forked child that finds the pool in use draws for itself: never waits.
        if not self._lock.acquire(blocking=False):
            return self._batch(max(size, FIRST_POOL))[:size]
        try:
            if len(self._pool) < size or self._epoch != self._source.epoch:
                self._refill(size)
            taken, self._pool = self._pool[:size].copy(), self._pool[size:]
        finally:
            self._lock.release()
        return taken

    def _large(self, size: int) -> Integers:
        """Piece by piece, so that only the result itself has to leave the cache."""
        out = np.empty(size, np.int64)
        for start in range(0, size, PIECE):
            piece = out[start : start + PIECE]
            piece[:] = self._batch(len(piece))
        return out

    def _refill(self, size: int) -> None:
        self._epoch = self._source.epoch
        self._pool_size = min(LARGEST_POOL, 4 * max(self._pool_size, size))
        self._pool = self._batch(self._pool_size)

    def _batch(self, size: int) -> Integers:
        """Propose somewhat more than is needed; what is kept too many fills the places of what was refused."""
        values = np.empty(math.ceil(size / self.blocks.kept_share) + 2 * math.isqrt(size), np.int64)
        refused = self._propose(values)
        gaps, wasted = np.split(refused, np.searchsorted(refused, [size]))
        spare = np.delete(np.arange(size, len(values)), wasted - size)[: len(gaps)]
        values[gaps[: len(spare)]] = values[spare]
        if len(spare) < len(gaps):
            values[gaps[len(spare) :]] = self._batch(len(gaps) - len(spare))
        return values[:size]

    def _propose(self, out: Integers) -> Integers:
        """One proposal for every place of `out`; returns the places whose proposal was refused."""
        places, words = [], []
        buffer = np.empty(min(len(out), CHUNK), np.uint64)
        for start in range(0, len(out), CHUNK):
            chunk = out[start : start + CHUNK]
            chunk_words = buffer[: len(chunk)]
            self._source.fill(chunk_words)
            undecided = self.blocks.propose(chunk_words, chunk)
            places.append(undecided + start)
            words.append(chunk_words[undecided])
        rest = np.concatenate(places)
        values = out[rest]
        kept = self.blocks.settle(np.concatenate(words), values, self._source)
        out[rest] = values
        return rest[~kept]

    def __reduce__(self) -> NoReturn:
        raise TypeError("a sampler cannot be copied or pickled: two copies would draw the same noise")


@lru_cache(maxsize=32)
def sampler(law: Law) -> Sampler:
    """The process's sampler for a law."""
    return Sampler(law)

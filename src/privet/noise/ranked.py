"""TRUSTED: one value chosen by its rank among private values, in exact arithmetic: quantiles, MIN and MAX.

Candidates with the same loss lie side by side. m different values cut low ... high into at most m + 2 such stretches,
whose losses fall towards the one where the loss is smallest, and rise after it:

    values         x0          x1          x2 (holds the target)       x3          x4
    stretches [low    ) [x0       ) [x1       ) [x2] (x2            x3] (x3      x4] (x4      high]

A stretch is drawn with weight size * exp(-rate * loss), then a place in it. Floats draw it where they can prove their
decision, from the stretches near the target: all others together weigh less than floats can err. Integers decide the
rest (docs/claims.md, rank-choice). How many weights one quantile takes follows from the rate and the number of
different values, and not from what they are, except where a decision is closer than floats can tell: at most n in 2**31
draws with n stretches. Values, counts and the target are data, so errors never quote them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache

import numpy as np

from privet.core.claim import claim
from privet.core.exponential import exp_enclosure
from privet.core.laws import Choice
from privet.core.ranks import Rank
from privet.errors import InvalidInputError
from privet.noise.entropy import KEYSTREAM, Bits, Source
from privet.noise.fast import CHUNK, exp_float
from privet.noise.selection import noisy_max, settled
from privet.typing import Floats, Integers

SQUARINGS = 9  # exp_float then reaches to 128: 2**63 candidates beyond it weigh less than 2**-121
REACH = 128
LARGEST_RATE = 1 << 20  # as a float; a loss of 1 is beyond 128 with this rate as with any larger one
LARGEST_COUNT = 1 << 30  # of different values
LARGEST_ROWS = 1 << 40
LARGEST_BEYOND = 1 << 38  # rows at an end that nobody has
LARGEST_UNIT = 1 << 22  # so that unit * rows stays within 2**62
LARGEST_VALUE = (1 << 62) - 1
FLOAT_ERROR = 2.0**-32  # how far a float C[i] / C[last] may be off, and more
SPARE = 128  # bits of a weight beyond the known bits of U: the sizes take 63 of them, the errors of a walk 27


@dataclass(frozen=True, slots=True, kw_only=True)
class RankLoss:
    """loss(v) = max(unit * #{x < v} - target, target - unit * #{x <= v}) for the candidates v = low ... high.

    The a/b-quantile of n rows has unit b and target a * n: v has no loss above 0 if at most a share a/b of the rows is
    below v and at least that share is not above it. A value that many rows have gains by how many would have to change
    before it is not the quantile. Beside the rows there are `below` more at low and `above` more at high, which nobody
    has. The target is data where n is; everything else is public.
    """

    low: int
    high: int
    unit: int
    target: int = field(repr=False)
    below: int = 0
    above: int = 0

    @classmethod
    def of(cls, sought: Rank, low: int, high: int) -> RankLoss:
        """Of the candidates low ... high, for a rank that is sought."""
        return cls(low=low, high=high, unit=sought.unit, target=sought.target, below=sought.below, above=sought.above)

    def __post_init__(self) -> None:
        given = (self.low, self.high, self.unit, self.target, self.below, self.above)
        if not all(isinstance(part, int) for part in given):
            raise InvalidInputError(
                "low, high, unit, target, below and above must be whole numbers",
                "give each of them as an int",
                "not-whole",
            )
        if not 0 <= min(self.below, self.above) <= max(self.below, self.above) <= LARGEST_BEYOND:
            raise InvalidInputError(
                f"below and above must be between 0 and {LARGEST_BEYOND}", "pay more", "out-of-range"
            )
        if not -LARGEST_VALUE <= self.low <= self.high <= LARGEST_VALUE:
            raise InvalidInputError(
                "the candidates must be a range of whole numbers below 2**62, its lower end first",
                "give the lower end as low and the upper end as high, and use a coarser step for large values",
                "out-of-range",
            )
        if not 1 <= self.unit <= LARGEST_UNIT:
            raise InvalidInputError(
                f"unit must be between 1 and {LARGEST_UNIT}",
                "give the quantile with at most six digits after the point",
                "out-of-range",
            )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Stretches:
    """Where each stretch of equal loss starts, how many candidates it has, and by how much its loss is above the least.

    `best` is the least and has at least one candidate; losses never fall on the way from it to either end.
    """

    starts: Integers
    sizes: Integers
    losses: Integers
    best: int


@claim("rank-choice")
def choose_by_rank(values: Integers, counts: Integers, loss: RankLoss, law: Choice, source: Source = KEYSTREAM) -> int:
    """One v of low ... high, with probability proportional to exp(-rate * loss(v)), exactly.

    `values` ascend, all different, inside low ... high; counts[i] rows have values[i]. No values: all v are alike.
    """
    if law.rate <= 0:
        raise InvalidInputError("the rate of a choice must be above 0", "give a positive epsilon", "not-positive")
    ranks = checked(values, counts, loss)
    near, left_out = _near(values, ranks, loss, law.rate)
    return choose_near(near, lambda: _all_of(values, ranks, loss), law.rate, Bits(source), left_out=left_out)


def choose_near(near: Stretches, whole: Callable[[], Stretches], rate: Fraction, bits: Bits, *, left_out: bool) -> int:
    """A candidate of the whole, of which only `near` was looked at: all others weigh less than floats can err. They are
    looked at where floats do not know, and if some on the left are left out and U is as small as that."""
    u = bits.take(64)
    index, after = _between(near, rate, u)
    if index != after or (left_out and u < FLOAT_ERROR * 2.0**64):
        near = whole()
        index = choose_stretch(near, rate, bits, u)
    return int(near.starts[index]) + _place(int(near.sizes[index]), bits)


@claim("rank-flip")
def flip_by_rank(values: Integers, counts: Integers, loss: RankLoss, law: Choice) -> int:
    """One v of low ... high by permute-and-flip: the least loss after geometric noise, ties by lot. All are listed."""
    stretches = _all_of(values, checked(values, counts, loss), loss)
    losses = np.repeat(stretches.losses, stretches.sizes)
    return loss.low + noisy_max(-losses, epsilon=2 * law.rate, sensitivity=1)


def stretches_of(values: Integers, ranks: Integers, loss: RankLoss) -> Stretches:
    """Left of the target a value has the loss of the gap after it, right of the target that of the gap before it.

    ranks[j] is the number of rows at the first j values, and before them. A target beyond all ranks moves every loss by
    the same number; cut to the nearest rank, it gives the losses above the least, which is that of the value whose
    ranks hold it.
    """
    low, high = loss.low, loss.high
    if not len(values):
        return Stretches(starts=np.array([low]), sizes=np.array([high + 1 - low]), losses=np.array([0]), best=0)
    ranks = ranks * loss.unit
    target = min(max(loss.target, int(ranks[0])), int(ranks[-1]))
    best = max(1, int(np.searchsorted(ranks, target)))  # ranks[best - 1] < target <= ranks[best], or target ranks[0]
    starts = np.concatenate([[low], values[:best], values[best - 1 :] + 1])
    least = max(int(ranks[best - 1]) - target, target - int(ranks[best]))
    losses = np.concatenate([target - ranks[:best], [least], ranks[best:] - target]) - least
    return Stretches(starts=starts, sizes=np.diff(starts, append=high + 1), losses=losses, best=best)


def _all_of(values: Integers, ranks: Integers, loss: RankLoss) -> Stretches:
    """With the rows that nobody has."""
    for place, rows in ((loss.low, loss.below), (loss.high, loss.above)):
        values, ranks = _with_rows(values, ranks, place, rows) if rows else (values, ranks)
    return stretches_of(values, ranks, loss)


@claim("rank-choice")
def _near(values: Integers, ranks: Integers, loss: RankLoss, rate: Fraction) -> tuple[Stretches, bool]:
    """The stretches whose losses are less than REACH / rate above the least, and more; and whether any were left out on
    the left. Each different value has a row at least, so that losses grow by a unit a stretch."""
    width = math.ceil(REACH / (rate * loss.unit)) + 2
    sought = -(-loss.target // loss.unit) - loss.below
    middle = int(np.searchsorted(ranks, min(max(sought, 0), int(ranks[-1]))))
    first, last = middle - width, middle + width  # stretches start at values[first], end at values[last]
    low, high, below, above = loss.low, loss.high, loss.below, loss.above
    if last < len(values):
        high, above, values, ranks = int(values[last]), 0, values[:last], ranks[: last + 1]
    if first >= 0:
        low, below, values = int(values[first]), 0, values[first + 1 :]
        ranks = ranks[first + 1 :] + loss.below
    near = replace(loss, low=low, high=high, below=below, above=above)
    return _all_of(values, ranks, near), first >= 0


def choose_stretch(stretches: Stretches, rate: Fraction, bits: Bits, u: int) -> int:
    """With C[i] the sum of the first weights, i is drawn if C[i - 1] <= U * C[last] < C[i] for a uniform U, of which
    `u` is the first word."""
    known = 64
    first, after = _between(stretches, rate, u)
    if first == after:
        return first
    last = min(after, len(stretches.sizes) - 1)
    while (index := _settle(u, known, stretches, rate, (first, last))) is None:
        u, known = u << 64 | bits.take(64), known + 64
    return index


def _between(stretches: Stretches, rate: Fraction, u: int) -> tuple[int, int]:
    """The stretches between which floats place U; the same one twice if they know it."""
    sums, share = _float_sums(stretches, rate), u * 2.0**-64
    ends = [(share - FLOAT_ERROR) * sums[-1], (share + FLOAT_ERROR) * sums[-1]]
    first, after = np.searchsorted(sums, ends, "right").tolist()
    return int(first), int(after)


def _float_sums(stretches: Stretches, rate: Fraction) -> Floats:
    """The sums C[i] as floats, summed up in pieces: that errs less, and a piece stays in the cache."""
    sums = np.multiply(stretches.losses, float(min(rate, Fraction(LARGEST_RATE))), dtype=np.float64)
    total = 0.0
    for start in range(0, len(sums), CHUNK):
        piece = slice(start, start + CHUNK)
        sums[piece] = total + np.cumsum(exp_float(sums[piece], SQUARINGS) * stretches.sizes[piece])
        total = sums[piece][-1]
    return sums


def _settle(u: int, known: int, stretches: Stretches, rate: Fraction, among: tuple[int, int]) -> int | None:
    """The stretch among[0] ... among[1] that the first `known` bits of U settle, in integers; None if they do not."""
    first, last = among
    enclosures = _enclosures(stretches, rate, known + SPARE, among)
    part = settled(u, known, enclosures)
    return None if part is None or not 0 < part <= last - first + 1 else first + part - 1


def _enclosures(stretches: Stretches, rate: Fraction, bits: int, among: tuple[int, int]) -> list[tuple[int, int]]:
    """2**bits * weight between integers: of all stretches before among[0] together, of each one among, of all after.

    Walks from the best stretch to either end. A weight is its neighbor's times exp(-rate * step), and few steps are
    different; from loss > bits / rate on, all that has to be known of exp is that it is between 0 and 2**-bits.
    """
    first, last = among
    lows, highs = ([0] * (last - first + 3) for _ in range(2))
    part_of = np.clip(np.arange(1 - first, len(stretches.sizes) + 1 - first), 0, len(lows) - 1)
    farthest = bits * rate.denominator // rate.numerator
    factor = cache(lambda step: exp_enclosure(rate * step, bits))
    for walk in (np.arange(stretches.best, len(part_of)), np.arange(stretches.best)[::-1]):
        low = high = 1 << bits
        before = 0
        columns = (array[walk].tolist() for array in (part_of, stretches.losses, stretches.sizes))
        for part, loss, size in zip(*columns, strict=True):
            if loss > farthest:
                low, high = 0, 1
            elif loss > before:
                step_low, step_high = factor(loss - before)
                low, high, before = low * step_low >> bits, -(-high * step_high >> bits), loss
            lows[part] += size * low
            highs[part] += size * high
    return list(zip(lows, highs, strict=True))


def _place(size: int, bits: Bits) -> int:
    """Uniform below `size`: the whole part of size * U, with as many bits of U as settle it, however large the size."""
    u, known = bits.take(128), 128
    while u * size >> known != (u + 1) * size - 1 >> known:
        u, known = u << 64 | bits.take(64), known + 64
    return u * size >> known


def checked(values: Integers, counts: Integers, loss: RankLoss) -> Integers:
    """How many rows are at the first j values, for every j. The law is wrong for values out of order, so they are
    looked at; what is wrong with them is not said. Sums that do not fit would fall."""
    if all(array.ndim == 1 and array.dtype == np.int64 for array in (values, counts)) and (
        len(values) == len(counts) <= LARGEST_COUNT
    ):
        ranks = np.zeros(len(counts) + 1, np.int64)
        np.cumsum(counts, out=ranks[1:])
        if (
            np.all(values[1:] > values[:-1])
            and np.all(values[:1] >= loss.low)
            and np.all(values[-1:] <= loss.high)
            and np.all(ranks[1:] > ranks[:-1])
            and int(ranks[-1]) + loss.below + loss.above <= LARGEST_ROWS
        ):
            return ranks
    raise InvalidInputError(
        "values and counts must be int64 arrays: different values, ascending and inside the range, at most 2**30 "
        "of them and 2**40 rows",
        "clamp the values to the range, sort them, and count equal ones together",
        "wrong-shape",
    )


def _with_rows(values: Integers, ranks: Integers, place: int, rows: int) -> tuple[Integers, Integers]:
    """With so many more rows at one place; the arrays that were given stay as they are."""
    index = int(np.searchsorted(values, place))
    if index == len(values) or values[index] != place:
        values, ranks = np.insert(values, index, place), np.insert(ranks, index, ranks[index])
    return values, ranks + rows * (np.arange(len(ranks)) > index)

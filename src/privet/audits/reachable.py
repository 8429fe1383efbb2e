"""Which numbers can a sampler give at all? Noise made of a few random integers reaches few of the floats around it.

A sampler here takes noise apart: from an output less the supposed true value it works back to the random integers
behind it, with a bound on the rounding errors on the way. Where that bound is below 1/2 and the result is not near an
integer, the noise cannot have come from the sampler: the true value is another one. With the right true value every
output is reached, so "reached from the first center, not from the second" never comes up on the second data set.

The idea is Mironov's (2012) for Laplace, and Jin, McMurtry, Rubinstein and Ohrimenko's (2022) for Gaussian noise.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal, localcontext
from functools import cache

import numpy as np
import numpy.typing as npt

from privet.typing import Floats

Grades = npt.NDArray[np.int8]
HALF_ULP = 2.0**-53
LAYERS = 256
EDGE = "3.6541"  # the tail of a ziggurat of 256 layers begins near it
DIGITS = 50  # an error at the edge grows on the way up
MEASURED = 20_000
NEARLY = 1e-12
SHARES = (1.0, 0.5, 0.25)  # of an error bound
SMALL = 1 / 256  # ziggurat noise beyond it has too many layers that could have given it


@dataclass(frozen=True, slots=True)
class ReachSampler:
    """`grade(noise, slack)`: could each row be noise of this sampler, each number being right up to its slack?

    The grade says how well it fits: 0 if it cannot be, 1 if only just, len(SHARES) if it is within all shares of the
    error bound, which is for the worst case. Rows have `width` numbers: samplers of pairs need both.
    """

    name: str
    width: int
    grade: Callable[[Floats, Floats], Grades]
    least: int = 1


def noise_of(outputs: Floats, center: Floats | float, scale: float) -> tuple[Floats, Floats]:
    """The noise in units of the scale if `center` is the true value, and how far roundings may have moved it.

    The output is fl(center + fl(scale * noise)): two roundings; taking them back costs two more.
    """
    with np.errstate(all="ignore"):
        moved = outputs - center
        noise = moved / scale
        slack = (np.spacing(np.abs(outputs)) / 2 + np.spacing(np.abs(moved))) / scale + np.abs(noise) * 2 * HALF_ULP
    return noise, slack


def grades(sampler: ReachSampler, outputs: Floats, center: Floats | float, scale: float) -> Grades:
    """How well each row of outputs (one draw a row) fits `center` plus noise of the sampler. Its worst counts."""
    noise, slack = noise_of(outputs, center, scale)
    used = outputs.shape[1] // sampler.width * sampler.width
    pieces = (part[:, :used].reshape(-1, sampler.width) for part in (noise, slack))
    with np.errstate(all="ignore"):
        each = sampler.grade(*pieces).reshape(len(outputs), -1)
    return np.asarray(each.min(axis=1), np.int8)


def _grade(distance: Floats, error: Floats) -> Grades:
    """Shares of the error that the distance is within. What is no number fits: nothing can be said of it."""
    return np.asarray(sum((~(distance > share * error)).astype(np.int8) for share in SHARES), np.int8)


def _whole(value: Floats, error: Floats) -> Grades:
    """Is it an integer? Never more than a half away from one, so an error of a half or more says nothing."""
    return _grade(np.abs(value - np.rint(value)), error)


def _inverse_exponential(noise: Floats, slack: Floats) -> Grades:
    """|noise| = -log(k * 2**-53): Laplace and exponential noise from one uniform double."""
    size = np.abs(noise[:, 0])
    k = 2.0**53 * np.exp(-size)
    return _whole(k, k * (slack[:, 0] + (size + 4) * 2 * HALF_ULP))


def _radius(noise: Floats, slack: Floats) -> tuple[Floats, Floats]:
    """Half the squared length of a pair, and its error: roundings of a logarithm, a root and products."""
    half = (noise**2).sum(axis=1) / 2
    return half, (np.abs(noise) * slack).sum(axis=1) + half * 10 * HALF_ULP


def _box_muller(bits: int) -> Callable[[Floats, Floats], Grades]:
    """(r cos t, r sin t) with r = sqrt(-2 log(k * 2**-bits)) and t = 2 pi l * 2**-bits; either order of the pair."""

    def grade(noise: Floats, slack: Floats) -> Grades:
        half, error = _radius(noise, slack)
        k = 2.0**bits * np.exp(-half)
        radius = _whole(k, k * (error + 4 * HALF_ULP))
        angles = [angle(noise[:, ::step], slack[:, ::step], half) for step in (1, -1)]
        return np.minimum(radius, np.maximum(*angles))

    def angle(noise: Floats, slack: Floats, half: Floats) -> Grades:
        x, y = noise.T
        turn = np.arctan2(y, x) / (2 * np.pi) % 1.0
        error = (np.abs(x) * slack[:, 1] + np.abs(y) * slack[:, 0]) / (4 * np.pi * half) + turn * 6 * HALF_ULP
        error = error + np.abs(x * y) / half * HALF_ULP
        return _whole(2.0**bits * turn, 2.0**bits * error)

    return grade


def _polar(noise: Floats, slack: Floats) -> Grades:
    """f * (x, y), where x and y are multiples of 2**-52, s = x*x + y*y < 1 and f = sqrt(-2 log(s) / s)."""
    half, error = _radius(noise, slack)
    error = error + 4 * HALF_ULP  # of log(s), from the roundings of s
    shrink = np.sqrt(np.exp(-half) / (2 * half))
    relative = error / 2 * (1 + 1 / half) + 8 * HALF_ULP
    k = 2.0**52 * noise * shrink[:, None]
    error = np.abs(k) * relative[:, None] + 2.0**52 * slack * shrink[:, None]
    return np.asarray(_whole(k, error).min(axis=1), np.int8)


def _ziggurat(noise: Floats, slack: Floats) -> Grades:
    """k * width of a layer, with k below 2**52. Every layer is tried, so only small noise can be told."""
    size, error = np.abs(noise[:, 0]), slack[:, 0]
    best = np.full(len(noise), len(SHARES), np.int8)
    small = np.flatnonzero(size < SMALL)
    some = np.zeros(len(small), np.int8)
    for width in numpy_widths():
        k = size[small] / width
        some = np.maximum(some, _whole(k, error[small] / width + k * 4 * HALF_ULP))
    best[small] = some
    return best


@cache
def numpy_widths() -> tuple[float, ...]:
    """numpy's own table, measured: it was made in doubles, and is up to 70 half-ulps off the true widths.

    A draw takes 64 bits: 8 for the layer, one for the sign, 52 for k. Most draws are k * width, rounded, which holds
    the width between two bounds; what is rejected and drawn again is far from the true width and left out.
    """
    exact = np.array(ziggurat_widths())
    low, high = exact * (1 - NEARLY), exact * (1 + NEARLY)
    bits = np.random.PCG64(0)
    generator = np.random.Generator(bits)
    for _ in range(MEASURED):
        state = bits.state
        word = int(bits.random_raw())
        bits.state = state
        size = abs(generator.standard_normal())
        layer, k = -(word & 0xFF) % LAYERS, word >> 9 & (1 << 52) - 1  # the table counts down from the top
        half = math.ulp(size) / 2
        if low[layer] * k <= size + half and size - half <= high[layer] * k:
            low[layer] = max(low[layer], (size - half) / k)
            high[layer] = min(high[layer], (size + half) / k)
    return tuple(((low + high) / 2).tolist())


@cache
def ziggurat_widths() -> tuple[float, ...]:
    """Widths of 256 layers of equal area under exp(-x*x/2), over 2**52 (Marsaglia and Tsang 2000).

    The tail beyond an edge r belongs to the base layer, which is as wide as the area over f(r); from there upward
    f(next) = f(x) + area / x. The right edge is the one with which the top layer ends at height 1: by secants.
    """
    with localcontext() as context:
        context.prec = DIGITS
        before, after = Decimal(EDGE), Decimal(EDGE) + Decimal("1e-6")
        gap = _layers(before)[1]
        while abs(after - before) > Decimal(10) ** (8 - DIGITS):
            next_gap = _layers(after)[1]
            before, after, gap = after, after - next_gap * (after - before) / (next_gap - gap), next_gap
        return tuple(float(width / 2**52) for width in _layers(after)[0])


def _layers(edge: Decimal) -> tuple[list[Decimal], Decimal]:
    """The widths, and how far the top is above 1."""
    x, height = edge, (-edge * edge / 2).exp()
    area = edge * height + _tail_area(edge, height)
    widths = [area / height, edge]
    while len(widths) < LAYERS:
        height += area / x
        x = (-2 * height.ln()).sqrt()
        widths.append(x)
    return widths, height + area / x - 1


def _tail_area(edge: Decimal, height: Decimal) -> Decimal:
    """The area under exp(-x*x/2) beyond the edge: height / (edge + 1/(edge + 2/(edge + ...)))."""
    below = edge
    for place in range(400, 0, -1):
        below = edge + place / below
    return height / below


def _single_precision(noise: Floats, slack: Floats) -> Grades:
    """A 32-bit float, as many accelerators and array libraries make them."""
    value = noise[:, 0]
    return _grade(np.abs(value - value.astype(np.float32).astype(np.float64)), slack[:, 0])


SAMPLERS = (
    ReachSampler("Laplace or exponential noise from one uniform double", 1, _inverse_exponential),
    ReachSampler("noise in 32-bit floats", 1, _single_precision),
    ReachSampler("the ziggurat of numpy's Generator", 1, _ziggurat, 16),
    ReachSampler("the polar method (numpy.random.normal)", 2, _polar),
    ReachSampler("Box and Muller's method with 53 bits (random.gauss)", 2, _box_muller(53)),
    ReachSampler("Box and Muller's method with 32 bits", 2, _box_muller(33)),
)


def usable(numbers: int) -> tuple[ReachSampler, ...]:
    """Samplers that outputs of so many numbers can be taken apart by."""
    return tuple(sampler for sampler in SAMPLERS if max(sampler.width, sampler.least) <= numbers)

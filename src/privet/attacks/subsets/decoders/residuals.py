"""What the errors look like when nobody says: from the residuals of a first fit.

A fit takes a share of the errors away and mixes the rest: residuals are nearer to normal than errors are. So only what
stands out by far counts. The kurtosis of m normal numbers has standard deviation sqrt(24 / m), and 6 of these are not a
matter of chance; uniform errors lie below (-1.2), Laplace errors (3) and wild answers above.
"""

from __future__ import annotations

import math
from typing import assert_never

import numpy as np

from privet.attacks.subsets.decoders import absolute, box
from privet.attacks.subsets.decoders.problem import Decoded, Errors, Matrix
from privet.errors import InvalidInputError
from privet.typing import Floats

CLEAR = 6.0  # standard deviations of the kurtosis of normal residuals
FAR = 8.0  # standard deviations: one Laplace error of 3,000 is beyond, and no normal one
WILD = 0.005  # a larger share beyond is none of Laplace's
SCALES = math.log(2) * absolute.NORMAL  # the median of Laplace errors is log 2 scales
TINY = 1e-4
LARGEST = 2.0**53  # of whole numbers that floats hold
LARGE = 1.25  # the least factor of a mean square that is called too large
FEW = 8  # answers: fewer whole numbers may have a common divisor by chance
FITS = 1.5


def guessed(matrix: Matrix, answers: Floats, top: object = None) -> Errors:
    """The law of errors by the residuals of box least squares, or of L1 if these have heavy tails. Whole numbers that
    can all be divided by the same one were rounded to it: a fit can be near them and far from the truth."""
    rounded = _rounded(answers)
    if rounded is not None:
        return rounded
    first = box.decode(matrix, answers, top=top)
    if first.errors.size <= TINY:
        return Errors("exact")
    residuals = matrix.times(first.values) - answers
    z = _kurtosis(residuals) / math.sqrt(24 / len(residuals))
    if z < -CLEAR:
        return Errors("bounded", math.sqrt(3) * first.errors.size)
    return first.errors if z < CLEAR else _heavy(matrix, answers, absolute.decode(matrix, answers, top=top))


def _rounded(answers: Floats) -> Errors | None:
    if not answers.any():
        raise InvalidInputError(
            "all answers are 0, which does not say how large errors are",
            "state the errors: exact, or those of rounding",
            "missing-option",
        )
    if len(answers) < FEW or (answers != np.rint(answers)).any() or np.abs(answers).max() > LARGEST:
        return None
    step = int(np.gcd.reduce(answers.astype(np.int64)))
    return Errors("bounded", step / 2) if step > 1 else None


def _heavy(matrix: Matrix, answers: Floats, found: Decoded) -> Errors:
    beyond = np.abs(matrix.times(found.values) - answers) > FAR * found.errors.size
    return found.errors if beyond.mean() > WILD else Errors("laplace", found.errors.size / SCALES)


def _kurtosis(residuals: Floats) -> float:
    """Above that of a normal law."""
    centered = residuals - residuals.mean()
    return float((centered**4).mean() / (centered**2).mean() ** 2) - 3


def misfit(matrix: Matrix, answers: Floats, found: Decoded) -> float:
    """How large the residuals of the whole numbers found are against the errors that there should be: near 1, or below
    FITS if few bits are wrong (3 % of wrong bits make it 1.06 at errors of sqrt(n) / 4)."""
    sizes = np.abs(matrix.times(found.bits.astype(np.float64)) - answers)
    expected = max(found.errors.size, TINY)
    match found.errors.law:
        case "exact":
            return 1 + float(sizes.max())
        case "normal":
            return math.sqrt(float((sizes**2).mean())) / expected
        case "laplace":
            return float(sizes.mean()) / expected
        case "bounded":
            return float(np.quantile(sizes, 0.98)) / expected
        case "outliers":
            return float(np.median(sizes)) * absolute.NORMAL / expected
        case _:
            assert_never(found.errors.law)


def fits(matrix: Matrix, answers: Floats, found: Decoded, right: Floats, errors: Errors) -> bool:
    """Whether the whole numbers found are as near to the answers as errors of this size leave them, if each is `right`
    with this probability: otherwise either the errors or the probabilities are not as stated.

    The mean square of residuals is then that of the errors and, for each wrong bit in a sum, one more. Its deviation is
    at most sqrt(5 / m) of it, that of Laplace errors; six of these are no chance. Of bounded errors all may be at the
    bound, but none beyond it unless a bit is wrong. Of outliers nothing is known, so the nearer half of the others says
    it.
    """
    off, wrong = np.abs(matrix.times(found.bits.astype(np.float64)) - answers), 1 - right
    spare = float(matrix.times(wrong).mean())
    limit = LARGE + CLEAR * math.sqrt(5 / len(off))
    if errors.law == "outliers":
        near = absolute.NORMAL * float(np.quantile(off, (1 - errors.share) / 2))
        return near**2 <= limit * (errors.size**2 + spare) + TINY
    if errors.law in ("bounded", "exact") and float(wrong.sum()) < 0.5 and float(off.max()) > errors.size + TINY:
        return False
    factor = 2 if errors.law == "laplace" else 1
    return float((off**2).mean()) <= limit * (factor * errors.size**2 + spare) + TINY

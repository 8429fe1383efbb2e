"""TRUSTED: private choices, in exact arithmetic.

docs/claims.md has the proofs; test_selection.py enumerates the output probabilities. How long a choice takes does not
depend on the scores, except where a decision is closer than floats can tell: about n in 2**30 choices among
n candidates. Scores and tested values are data, so errors never quote them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import accumulate
from typing import NoReturn, TypeVar

import numpy as np
import numpy.typing as npt

from privet.core.claim import claim
from privet.core.exponential import exp_enclosure
from privet.core.laws import DiscreteLaplace
from privet.core.rational import positive, rational, whole
from privet.errors import InvalidInputError
from privet.noise.entropy import KEYSTREAM, Bits, Source
from privet.noise.fast import exp_float, keep, sampler
from privet.typing import Integers, Truths

Codes = npt.NDArray[np.integer]
Number = TypeVar("Number", int, Fraction)

FAR_SQUARINGS = 11  # exp_float then reaches to gamma = 512
LARGEST_SCORE = 1 << 61
LARGEST_CATEGORIES = 1 << 62


@claim("exponential-mechanism")
def exponential(scores: Sequence[object], *, epsilon: object, sensitivity: object, monotone: bool = False) -> int:
    """The index i with probability proportional to exp(epsilon * score[i] / (2 * sensitivity)).

    `monotone`: neighbors add or remove a person, and adding one never lowers a score (or never raises one); then
    the 2 is not needed.
    """
    exact = [_score(rational, score) for score in scores]
    if not exact:
        raise _nothing_to_choose()
    rate = positive(epsilon, "epsilon") / positive(sensitivity, "sensitivity") / (1 if monotone else 2)
    best = max(exact)
    return choose([rate * (best - score) for score in exact])


@claim("choose-exactly")
def choose(gammas: Sequence[Fraction], source: Source = KEYSTREAM) -> int:
    """The index i with probability proportional to exp(-gammas[i]); one gamma must be 0, none below.

    With C[i] the sum of the first weights, i is drawn if C[i - 1] <= U * C[last] < C[i] for a uniform U.
    """
    bits = Bits(source)
    u = bits.take(64)
    sums = np.cumsum(exp_float(np.array([float(min(gamma, Fraction(1 << 20))) for gamma in gammas]), FAR_SQUARINGS))
    error = 2.0**-31 + len(sums) * 2.0**-51  # relative, of a float sum of float weights, twice over
    target = u * 2.0**-64 * sums[-1]
    low, high = np.searchsorted(sums, [target * (1 - error), target * (1 + error)], "right")
    if low == high and target > sums[-1] * error:
        return int(low)
    known = 64
    while (index := settled(u, known, [exp_enclosure(gamma, known + 32) for gamma in gammas])) is None:
        u, known = u << 64 | bits.take(64), known + 64
    return index


def settled(u: int, known: int, enclosures: Sequence[tuple[int, int]]) -> int | None:
    """The index that the first `known` bits of U settle, with each weight between two integers; None if they do not."""
    lows = list(accumulate(low for low, _ in enclosures))
    highs = list(accumulate(high for _, high in enclosures))
    index = next(i for i, high in enumerate(highs) if u * lows[-1] < high << known)
    after = index == 0 or u * lows[-1] >= highs[index - 1] << known
    before = index == len(enclosures) - 1 or (u + 1) * highs[-1] <= lows[index] << known
    return index if after and before else None


@claim("noisy-max")
def noisy_max(scores: Sequence[object] | Codes, *, epsilon: object, sensitivity: int, monotone: bool = False) -> int:
    """The index of the largest score after one-sided geometric noise, ties broken by lot. Only the index.

    This is the permute-and-flip mechanism; it errs no more than `exponential` at the same price. Scores are whole
    numbers; `monotone` as there.
    """
    if not len(scores):
        raise _nothing_to_choose()
    exact = scores if isinstance(scores, np.ndarray) else np.array([_score(whole, score) for score in scores])
    if (
        exact.dtype.kind not in "iu"
        or exact.ndim != 1
        or not -LARGEST_SCORE < exact.min() <= exact.max() < LARGEST_SCORE
    ):
        raise InvalidInputError(
            "scores must be a list of whole numbers below 2**61",
            "round the scores, or use a coarser step for them",
            "out-of-range",
        )
    law = DiscreteLaplace(whole(sensitivity, "sensitivity", 1) * (1 if monotone else 2) / positive(epsilon, "epsilon"))
    noisy = exact.astype(np.int64) + geometric(law, len(exact))
    winners = np.flatnonzero(noisy == noisy.max())
    return int(winners[uniform(len(winners), 1)[0]])


@claim("one-sided-geometric")
def geometric(law: DiscreteLaplace, size: int) -> Integers:
    """Draws with P[x] proportional to exp(-x / scale) on x >= 0.

    A Laplace draw given x >= 0 has this law, and so has -1 - x given x < 0.
    """
    x = sampler(law).draw(size)
    return x ^ (x >> 63)


@claim("above-threshold")
class AboveThreshold:
    """Sparse vector: says of one value after another whether it is (noisily) at or above the threshold.

    The whole price is paid when it opens, however many values are tested, and it closes after `positives`
    times yes. Half of epsilon goes to the threshold, which is drawn once; half to the answers.
    """

    def __init__(
        self, threshold: int, *, epsilon: object, sensitivity: int, positives: int = 1, monotone: bool = False
    ) -> None:
        self._epoch = KEYSTREAM.epoch  # first: a process forked off in the middle of this must not answer either
        half = positive(epsilon, "epsilon") / 2
        step = whole(sensitivity, "sensitivity", 1)
        self._positives_left = whole(positives, "positives", 1)
        self._sampler = sampler(DiscreteLaplace((1 if monotone else 2) * self._positives_left * step / half))
        noise = sampler(DiscreteLaplace(step / half)).draw(1)
        self._threshold = whole(threshold, "threshold") + int(noise[0])
        self._lock = threading.Lock()

    @property
    def positives_left(self) -> int:
        """How often it can still say yes."""
        return self._positives_left

    def is_above(self, value: int) -> bool:
        """Test one more value, a whole number that moves by at most `sensitivity` between neighbors."""
        exact = _score(whole, value)
        self._check_process()  # before the lock, which a thread that a forked child lacks may hold
        with self._lock:  # or two threads could both get the last yes
            if self._positives_left == 0:
                raise InvalidInputError("this sparse vector is closed", "open a new one, at its own price", "closed")
            above = exact + int(self._sampler.draw(1)[0]) >= self._threshold
            self._check_process()  # a signal handler may have forked since
            self._positives_left -= above
        return above

    def _check_process(self) -> None:
        """Both processes would answer for one price, with the same noise on the threshold."""
        if self._epoch != KEYSTREAM.epoch:
            raise InvalidInputError(
                "this sparse vector belongs to another process", "open a new one, at its own price", "other-process"
            )

    def __reduce__(self) -> NoReturn:
        raise TypeError("a sparse vector cannot be copied or pickled: two copies would answer for one price")


@claim("randomized-response")
def randomized_response(codes: Codes, *, categories: int, epsilon: object) -> Integers:
    """Each person's code 0 ... categories - 1, kept with exp(epsilon) times the chance of any other code."""
    kinds, price = whole(categories, "categories", 2), positive(epsilon, "epsilon")
    if kinds > LARGEST_CATEGORIES:
        raise InvalidInputError(
            "there are more than 2**62 categories", "give the number of possible categories", "too-many"
        )
    if codes.dtype.kind not in "iu" or (codes.size and not 0 <= codes.min() <= codes.max() < kinds):
        raise InvalidInputError(
            f"codes must be whole numbers from 0 to {kinds - 1}",
            "number the categories from 0, as integers",
            "out-of-range",
        )
    truth = codes.ravel()
    answers = np.empty(truth.size, np.int64)
    pending = np.arange(truth.size)
    while len(pending):
        proposed = uniform(kinds, len(pending))
        kept = (proposed == truth[pending]) | flips_exp(price, len(pending), KEYSTREAM)
        answers[pending[kept]] = proposed[kept]
        pending = pending[~kept]
    return answers.reshape(codes.shape)


@claim("flips-exp")
def flips_exp(gamma: Fraction, count: int, source: Source) -> Truths:
    """`count` independent truths, each with probability exp(-gamma)."""
    words = np.empty(count, np.uint64)
    source.fill(words)
    low, high = exp_enclosure(gamma, 64)
    kept = words < low
    bits = Bits(source)
    for i in np.flatnonzero(~kept & (words < high)):
        kept[i] = keep(int(words[i]), 64, Fraction(1), gamma, bits)
    return kept


def uniform(limit: int, count: int, source: Source = KEYSTREAM) -> Integers:
    """`count` uniform integers below `limit`: just enough bits each, drawn again where too large."""
    words = np.empty(count, np.uint64)
    source.fill(words)
    values = (words >> np.uint64(64 - max(1, (limit - 1).bit_length()))).view(np.int64)
    too_large = np.flatnonzero(values >= limit)
    if len(too_large):
        values[too_large] = uniform(limit, len(too_large), source)
    return values


def _score(read: Callable[[object, str], Number], value: object) -> Number:
    """A score or a tested value, read without quoting it in an error."""
    try:
        return read(value, "a score")
    except InvalidInputError:
        kind, code = ("a whole number", "not-whole") if read is whole else ("a finite number", "not-a-number")
        raise InvalidInputError(f"a score or tested value is not {kind}", f"give each one as {kind}", code) from None


def _nothing_to_choose() -> InvalidInputError:
    return InvalidInputError("there is nothing to choose from", "give at least one score", "empty")

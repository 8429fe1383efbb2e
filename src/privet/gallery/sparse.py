"""The sparse vector technique: which of many answers are above a threshold, for the price of the few that are.

Numbered as in Lyu, Su and Li, "Understanding the sparse vector technique for differential privacy" (2017), where 1 and
2 are private and 3 to 6 are not. Answers are whole numbers that one person changes by at most 1, the noise is discrete
Laplace, so a shift of the noise by 1 or 2 (all that the proofs need) stays on the integers. An output has one column a
question: above (1), below (0), or not asked any more (-1).
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from privet.audits import Answers, Claim
from privet.gallery.draws import laplace, whole
from privet.gallery.entry import Make, Pair, Pick, pair
from privet.typing import Floats, Integers, Truths

ABOVE, BELOW, CLOSED = 1, 0, -1


def _questions(pick: Pick, least: int, most: int) -> tuple[int, Answers]:
    length = pick.whole(least, most)
    return length, Answers(length, 1, low=-5, high=5, whole=True)


def _until(above: Truths, positives: int) -> Integers:
    """The answers up to and with the last positive that is paid for."""
    before: Integers = np.cumsum(above, axis=1) - above
    return np.where(before < positives, above.astype(np.int64), CLOSED)


def _values(answers: Integers, shown: Integers, noise: Integers) -> Floats:
    """Noisy numbers in place of "above", nan for "below", infinity where nothing was asked any more."""
    numbers = np.where(shown == ABOVE, answers + noise, np.nan)
    return np.where(shown == CLOSED, np.inf, numbers)


def _plain(answers: Integers, epsilon: Fraction, positives: int, size: int) -> Integers:
    """Algorithm 1: half of epsilon for the threshold, drawn once; half for at most so many positives."""
    threshold = laplace(2 / epsilon, size, 1)
    noise = laplace(4 * positives / epsilon, size, len(answers))
    return _until(answers + noise >= threshold, positives)


def svt_three(pick: Pick) -> Pair:
    epsilon, (_, domain) = pick.epsilon(0.6, 1.2), _questions(pick, 8, 10)

    def broken(data: Any, size: int) -> Any:
        """Algorithm 3 (from lecture notes of 2011): the noise of the comparison is also the noise of the number that is
        shown, so the number tells how low the threshold was, and with it something about every answer below."""
        answers = whole(data)
        threshold, noise = laplace(2 / epsilon, size, 1), laplace(2 / epsilon, size, len(answers))
        return _values(answers, _until(answers + noise >= threshold, 1), noise)

    def fixed(data: Any, size: int) -> Any:
        """Numeric sparse vector: algorithm 1 at half the price says which, and the number gets fresh noise for the
        other half."""
        answers = whole(data)
        return _values(answers, _plain(answers, epsilon / 2, 1, size), laplace(2 / epsilon, size, len(answers)))

    return pair("svt-3-value-with-the-same-noise", Claim(epsilon=epsilon), domain, broken, fixed)


def svt_four(pick: Pick) -> Pair:
    epsilon, (_, domain) = pick.epsilon(0.6, 1.2), _questions(pick, 7, 9)
    positives = pick.whole(2, 3)

    def broken(data: Any, size: int) -> Any:
        """Algorithm 4 (published in 2014): the noise of the answers does not grow with the number of positives; it has
        (1 + 6c) / 4 times the epsilon that is claimed, for c positives."""
        answers = whole(data)
        threshold, noise = laplace(4 / epsilon, size, 1), laplace(4 / (3 * epsilon), size, len(answers))
        return _until(answers + noise >= threshold, positives)

    def fixed(data: Any, size: int) -> Any:
        """Algorithm 1: moving the threshold noise by 1 costs epsilon / 2 and pays for all that is below; each of c
        positives costs a shift by 2 at scale 4c / epsilon."""
        return _plain(whole(data), epsilon, positives, size)

    return pair("svt-4-noise-without-the-count", Claim(epsilon=epsilon), domain, broken, fixed)


def svt_five(pick: Pick) -> Pair:
    epsilon, (_, domain) = pick.epsilon(), _questions(pick, 5, 8)
    positives = pick.whole(1, 2)

    def broken(data: Any, size: int) -> Any:
        """Algorithm 5 (published in 2014): only the threshold is noisy, so of two answers it never calls the smaller
        one above and the larger one below."""
        return (whole(data) >= laplace(2 / epsilon, size, 1)).astype(np.int64)

    def fixed(data: Any, size: int) -> Any:
        """Algorithm 2: noise on the answers, and a fresh threshold after each of c positives, both with c in their
        scale: every round costs epsilon / c."""
        answers = whole(data)
        noise = laplace(4 * positives / epsilon, size, len(answers))
        thresholds = laplace(2 * positives / epsilon, size, positives)
        said, seen = np.full(noise.shape, CLOSED), np.zeros(size, np.int64)
        for question in range(len(answers)):
            is_open = np.flatnonzero(seen < positives)
            above = answers[question] + noise[is_open, question] >= thresholds[is_open, seen[is_open]]
            said[is_open, question] = above
            seen[is_open] += above
        return said

    return pair("svt-5-answers-without-noise", Claim(epsilon=epsilon), domain, broken, fixed)


def svt_six(pick: Pick) -> Pair:
    epsilon, (_, domain) = pick.epsilon(0.8, 1.5), _questions(pick, 7, 10)

    def broken(data: Any, size: int) -> Any:
        """Algorithm 6 (published in 2015): it says "above" as often as it likes and never closes, so its epsilon grows
        with the number of questions."""
        answers = whole(data)
        return (answers + laplace(2 / epsilon, size, len(answers)) >= laplace(2 / epsilon, size, 1)).astype(np.int64)

    def fixed(data: Any, size: int) -> Any:
        """Algorithm 1, which closes after the first positive."""
        return _plain(whole(data), epsilon, 1, size)

    return pair("svt-6-never-closes", Claim(epsilon=epsilon), domain, broken, fixed)


def svt_threshold_noise(pick: Pick) -> Pair:
    epsilon, (_, domain) = pick.epsilon(0.6, 1.2), _questions(pick, 6, 9)

    def broken(data: Any, size: int) -> Any:
        """The number that is shown gets the noise of the threshold again: whoever sees it can take it off, up to one
        person, and then knows where the threshold was for every answer below."""
        answers = whole(data)
        threshold, noise = laplace(2 / epsilon, size, 1), laplace(4 / epsilon, size, len(answers))
        return _values(answers, _until(answers + noise >= threshold, 1), np.broadcast_to(threshold, noise.shape))

    def fixed(data: Any, size: int) -> Any:
        """Numeric sparse vector with three quarters of epsilon for the comparisons and a quarter, with fresh noise, for
        the number."""
        answers = whole(data)
        shown = _plain(answers, epsilon * 3 / 4, 1, size)
        return _values(answers, shown, laplace(4 / epsilon, size, len(answers)))

    return pair("svt-threshold-noise-again", Claim(epsilon=epsilon), domain, broken, fixed)


ITEMS: tuple[Make, ...] = (svt_three, svt_four, svt_five, svt_six, svt_threshold_noise)

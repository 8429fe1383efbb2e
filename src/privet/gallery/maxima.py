"""Choosing: the largest of noisy scores, and the exponential mechanism. Scores are whole numbers that move by 1."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from privet.audits import Answers, Claim, Rows
from privet.gallery.draws import choose, counts, geometric, laplace, whole
from privet.gallery.entry import Make, Pair, Pick, pair
from privet.typing import Integers


def _scores(pick: Pick, least: int, most: int) -> Answers:
    return Answers(pick.whole(least, most), 1, low=-5, high=5, whole=True)


def _with_value(scores: Integers, epsilon: Fraction, size: int) -> Integers:
    """Half of epsilon chooses, half shows the chosen score with fresh noise."""
    chosen = np.argmax(scores + laplace(4 / epsilon, size, len(scores)), axis=1)
    return np.column_stack([chosen, scores[chosen] + laplace(2 / epsilon, size, 1)[:, 0]])


def max_value_laplace(pick: Pick) -> Pair:
    epsilon, domain = pick.epsilon(0.5, 1), _scores(pick, 6, 8)

    def broken(data: Any, size: int) -> Any:
        """Noisy max that shows the noisy maximum as well: the proof covers the index only. That all noisy scores are
        below some value is a statement about each of them, and costs epsilon / 2 each."""
        scores = whole(data)
        noisy = scores + laplace(2 / epsilon, size, len(scores))
        return np.column_stack([noisy.argmax(axis=1), noisy.max(axis=1)])

    def fixed(data: Any, size: int) -> Any:
        """The index from half of epsilon; its score with fresh noise from the other half. With the noise of the others
        fixed the index wins from some noise on, and a shift by 2 makes up for one person, also where ties go to the
        first."""
        return _with_value(whole(data), epsilon, size)

    return pair("noisy-max-shows-value-laplace", Claim(epsilon=epsilon), domain, broken, fixed)


def max_value_exponential(pick: Pick) -> Pair:
    epsilon, domain = pick.epsilon(0.5, 1.2), _scores(pick, 3, 6)

    def broken(data: Any, size: int) -> Any:
        """Noisy max with one-sided noise that shows the noisy maximum: it is never below the true one."""
        scores = whole(data)
        return (scores + geometric(2 / epsilon, size, len(scores))).max(axis=1)

    def fixed(data: Any, size: int) -> Any:
        """The index only. With the noise of the others fixed, i wins if its noise is at least some t; P[noise >= t] is
        min(1, exp(-epsilon * t / 2)), and one person moves t by at most 2."""
        scores = whole(data)
        return (scores + geometric(2 / epsilon, size, len(scores))).argmax(axis=1)

    return pair("noisy-max-shows-value-exponential", Claim(epsilon=epsilon), domain, broken, fixed)


def max_shared_noise(pick: Pick) -> Pair:
    epsilon, domain = pick.epsilon(), _scores(pick, 3, 6)

    def broken(data: Any, size: int) -> Any:
        """One noise for all scores: it moves them together, and the largest stays the largest."""
        return (whole(data) + laplace(2 / epsilon, size, 1)).argmax(axis=1)

    def fixed(data: Any, size: int) -> Any:
        """Independent noise for each score: the index costs epsilon at scale 2 / epsilon."""
        scores = whole(data)
        return (scores + laplace(2 / epsilon, size, len(scores))).argmax(axis=1)

    return pair("noisy-max-one-noise-for-all", Claim(epsilon=epsilon), domain, broken, fixed)


def exponential_off_by_two(pick: Pick) -> Pair:
    epsilon, domain = pick.epsilon(0.6, 1.5), _scores(pick, 3, 5)

    def broken(data: Any, size: int) -> Any:
        """The exponential mechanism without its factor 2, which is right only where all scores move one way: here one
        may rise while another falls."""
        return choose([-epsilon * int(score) for score in whole(data)], size)

    def fixed(data: Any, size: int) -> Any:
        """exp(epsilon * score / 2): the weight moves by epsilon / 2, and so does the sum of all weights."""
        return choose([-epsilon / 2 * int(score) for score in whole(data)], size)

    return pair("exponential-mechanism-off-by-two", Claim(epsilon=epsilon), domain, broken, fixed)


def exponential_rank_sensitivity(pick: Pick) -> Pair:
    epsilon, kinds = pick.epsilon(0.5, 1), pick.whole(3, 4)
    weight = pick.whole(2, 3)
    domain = Rows(list(range(kinds)), neighbors="replace")

    def broken(data: Any, size: int) -> Any:
        """Scores are counts times a weight, and the sensitivity of the bare counts is used."""
        scores = weight * counts(data, range(kinds))
        return choose([-epsilon / 2 * int(score) for score in scores], size)

    def fixed(data: Any, size: int) -> Any:
        """One row moves a score by the weight, so the weight divides it out again; another row in its place lowers one
        score and raises another, so the factor 2 stays."""
        scores = weight * counts(data, range(kinds))
        return choose([-epsilon / (2 * weight) * int(score) for score in scores], size)

    return pair("exponential-mechanism-weighted-score", Claim(epsilon=epsilon), domain, broken, fixed)


def median_among_data(pick: Pick) -> Pair:
    epsilon, top = pick.epsilon(), pick.whole(8, 20)
    domain = Rows(list(range(top + 1)), most=7)

    def losses(data: Any, candidates: Any) -> list[Fraction]:
        """How far a candidate is from having as many rows below as above; a row moves that by at most 1."""
        return [epsilon / 2 * abs(sum(x < c for x in data) - sum(x > c for x in data)) for c in candidates]

    def broken(data: Any, size: int) -> Any:
        """The exponential mechanism for a median whose candidates are the values in the data: what comes out is
        somebody's value."""
        candidates = np.array(sorted({*data, 0}))
        return candidates[choose(losses(data, candidates), size)]

    def fixed(data: Any, size: int) -> Any:
        """The candidates are all values of the declared range; rows below less rows above move by 1 at most."""
        return choose(losses(data, range(top + 1)), size)

    return pair("median-candidates-from-data", Claim(epsilon=epsilon), domain, broken, fixed)


ITEMS: tuple[Make, ...] = (
    max_value_laplace, max_value_exponential, max_shared_noise, exponential_off_by_two, exponential_rank_sensitivity,
    median_among_data,
)  # fmt: skip

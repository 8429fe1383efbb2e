"""Which keys are shown: that a key exists can be one person's secret."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np

from privet.audits import Claim, Rows
from privet.core.laws import DiscreteLaplace
from privet.core.mechanisms import key_threshold
from privet.gallery.draws import counts, laplace
from privet.gallery.entry import Make, Pair, Pick, pair
from privet.noise import discrete_laplace
from privet.typing import Floats, Integers

TOWNS = ("Aar", "Bex", "Cham", "Dole", "Elm")
UNDECIDED = -1


def _towns(pick: Pick) -> tuple[str, ...]:
    return TOWNS[: pick.whole(3, len(TOWNS))]


def domain_from_data(pick: Pick) -> Pair:
    epsilon, towns = pick.epsilon(), _towns(pick)

    def broken(data: Any, size: int) -> Any:
        """A histogram of the keys that the data have: the number of columns says how many different keys there are."""
        present = sorted(set(data))
        return counts(data, present) + laplace(1 / epsilon, size, len(present))

    def fixed(data: Any, size: int) -> Any:
        """The keys are declared; a key that nobody has gets its noisy 0."""
        return counts(data, towns) + laplace(1 / epsilon, size, len(towns))

    return pair("domain-from-data", Claim(epsilon=epsilon), Rows(list(towns)), broken, fixed)


def group_by(pick: Pick) -> Pair:
    epsilon, delta = pick.epsilon(), Fraction(1, 10 ** pick.whole(3, 6))
    towns = _towns(pick)
    law = DiscreteLaplace(1 / epsilon)
    threshold = key_threshold(law, delta, 1)

    def noisy(data: Any) -> dict[str, int]:
        found = Counter(data)
        return {
            key: found[key] + int(x)
            for key, x in zip(sorted(found), discrete_laplace(1 / epsilon, len(found)), strict=True)
        }

    def broken(data: Any) -> Any:
        """GROUP BY shows every key in the data with a noisy count: a key that one person has shows that person."""
        return noisy(data)

    def fixed(data: Any) -> Any:
        """A key is shown if its noisy count reaches a threshold, which a lone person's key does with probability delta
        at most."""
        return {key: count for key, count in noisy(data).items() if count >= threshold}

    return pair("group-by-without-threshold", Claim(epsilon=epsilon, delta=delta), Rows(list(towns)), broken, fixed)


def low_threshold(pick: Pick) -> Pair:
    epsilon, delta = pick.epsilon(), Fraction(1, 10 ** pick.whole(3, 5))
    towns = _towns(pick)
    threshold = key_threshold(DiscreteLaplace(1 / epsilon), delta, 1)
    too_low = pick.whole(2, 3)

    def selected(data: Any, least: int, size: int) -> Floats:
        """Noisy counts of the keys that occur and reach `least`; nan for all others, which look alike."""
        found = counts(data, towns)
        noisy = found + laplace(1 / epsilon, size, len(towns))
        return np.where((found > 0) & (noisy >= least), noisy, np.nan)

    def broken(data: Any, size: int) -> Any:
        """A histogram of the keys that occur whose threshold is too low for its delta."""
        return selected(data, too_low, size)

    def fixed(data: Any, size: int) -> Any:
        """The threshold is the smallest that a count of 1 reaches with probability delta at most."""
        return selected(data, threshold, size)

    return pair("key-threshold-too-low", Claim(epsilon=epsilon, delta=delta), Rows(list(towns)), broken, fixed)


def propose_without_test(pick: Pick) -> Pair:
    epsilon, delta = pick.epsilon(), Fraction(1, 10 ** pick.whole(2, 4))
    towns = _towns(pick)
    reach = (
        key_threshold(DiscreteLaplace(1 / epsilon), delta, 1) - 1
    )  # noise is as large with probability delta at most

    def stable(found: Integers) -> int:
        """How many rows must change before the most frequent key could be another, less one: moves by 1 with a row."""
        second, first = sorted(map(int, found))[-2:]
        return max(0, first - second - 1)

    def broken(data: Any, size: int) -> Any:
        """Propose-test-release without the test: the most frequent key is shown as it is, since it "rarely changes"."""
        return np.full(size, counts(data, towns).argmax())

    def fixed(data: Any, size: int) -> Any:
        """The key is shown if a noisy distance to the nearest data set with another answer is large. Where two
        neighbors have different answers both distances are 0, and the noise passes the test with probability delta at
        most."""
        found = counts(data, towns)
        passes = stable(found) + discrete_laplace(1 / epsilon, size) >= reach
        return np.where(passes, found.argmax(), UNDECIDED)

    domain = Rows(list(towns), most=12)
    return pair("propose-without-test", Claim(epsilon=epsilon, delta=delta), domain, broken, fixed)


ITEMS: tuple[Make, ...] = (domain_from_data, group_by, low_threshold, propose_without_test)

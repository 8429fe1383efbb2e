"""Attacks on two versions of a model: a score for each person, larger for those who joined between the two.

All of them start from the log odds that both versions give the true class of a record. `difference` is how much they
rose. `relative` compares that with people in neither version, of the same class and with about the same odds in the
first version. `LiRA` and `LiRA offline` are those of `model_scores`, on the rise that pairs of versions trained again
show for this record. A later version shares some of the chance of training with the first one (all of it if training
goes on from there, none if it starts anew), so that share of the first odds is taken off, as pairs show it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from privet.attacks.models.model_scores import FOLDS, Shadows, lira, lira_offline
from privet.attacks.models.outputs import Outputs
from privet.attacks.models.shadows import Told
from privet.attacks.models.version_pairs import Pairs
from privet.typing import Floats, Truths

NEIGHBORS = 25  # people with whom a rise is compared
LEAST = 1e-3  # a spread of log odds


@dataclass(frozen=True, slots=True, eq=False)
class Known:
    """The class of each person, the people known to be in neither version, and pairs of versions trained again."""

    labels: npt.NDArray[np.generic]
    usual: Truths
    pairs: Pairs

    @property
    def later_alone(self) -> Known:
        return replace(self, pairs=self.pairs.later_alone)


Attack = Callable[[Floats, Floats, Known], Floats]


def difference(first: Floats, second: Floats, _: Known) -> Floats:
    return second - first


def relative(first: Floats, second: Floats, known: Known) -> Floats:
    expected, spread = _expected(first, second, known)
    return np.asarray((second - first - expected) / spread)


def _expected(first: Floats, second: Floats, known: Known) -> tuple[Floats, Floats]:
    """Of the rise of each person: mean and standard deviation over people in neither version who are next to that
    person in the order of the first odds. Where a class has too few, people of any class are taken."""
    mean, spread = np.full((2, len(first)), np.nan)
    seen = known.usual & np.isfinite(first) & np.isfinite(second)
    for label in np.unique(known.labels):
        own = (known.labels == label) & np.isfinite(first)
        those = np.flatnonzero(seen & own if (seen & own).sum() > NEIGHBORS else seen)
        if len(those) < 2 or not own.any():
            continue
        places, mine = _next_to(first, those, np.flatnonzero(own))
        rises = np.where(mine, np.nan, (second - first)[places])
        mean[own], spread[own] = np.nanmean(rises, axis=1), np.nanstd(rises, axis=1)
    return mean, np.maximum(spread, LEAST)


def _next_to(first: Floats, those: npt.NDArray[np.int64], asked: npt.NDArray[np.int64]) -> tuple[Floats, Truths]:
    """For each of those asked a row of people next to them, and who of these does not count: the person, or, where
    the person is not among them, the last one."""
    order = those[np.argsort(first[those], kind="stable")]
    size = min(NEIGHBORS + 1, len(order))
    rank = np.full(len(first), -1)
    rank[order] = np.arange(len(order))
    at = np.where(rank[asked] >= 0, rank[asked], np.searchsorted(first[order], first[asked]))
    start = np.clip(at - size // 2, 0, len(order) - size)
    places = order[start[:, None] + np.arange(size)]
    mine = places == asked[:, None]
    mine[~mine.any(axis=1), -1] = True
    return places, mine


def ratio(first: Floats, second: Floats, known: Known) -> Floats:
    return lira(*_rises(first, second, known))


def ratio_offline(first: Floats, second: Floats, known: Known) -> Floats:
    return lira_offline(*_rises(first, second, known))


def _rises(first: Floats, second: Floats, known: Known) -> tuple[Outputs, Shadows]:
    """Who leaves in a pair is in its first version, so this pair says nothing of them."""
    pairs, kept = known.pairs, shared_chance(known.pairs)
    rises = np.where(pairs.left, np.nan, pairs.second - kept * pairs.first)
    none = np.empty((*rises.shape, 0))
    return Outputs(second - kept * first, none[0]), Shadows(Told(rises, none, pairs.joined), known.labels)


def shared_chance(pairs: Pairs) -> float:
    """By how much a person who is in neither version has higher odds in the second one if they are higher by one in
    the first one than this person's usual ones. 0 where first versions do not differ but by rounding."""
    out = ~pairs.joined & ~pairs.left & np.isfinite(pairs.first) & np.isfinite(pairs.second)
    seen = np.maximum(out.sum(axis=0), 1)
    off = [
        np.where(out, odds - np.where(out, odds, 0.0).sum(axis=0) / seen, 0.0) for odds in (pairs.first, pairs.second)
    ]
    squares = float((off[0] ** 2).sum())
    return float((off[0] * off[1]).sum()) / squares if squares > LEAST**2 * out.sum() else 0.0


ATTACKS: dict[str, Attack] = {
    "difference": difference,
    "relative": relative,
    "LiRA": ratio,
    "LiRA offline": ratio_offline,
}
OF_PAIRS = ("LiRA", "LiRA offline")


def scores_of(attack: Attack, first: Floats, second: Floats, known: Known) -> Floats:
    """Of everybody. Of whom a version said nothing, nothing is known: they come last."""
    scores = attack(first, second, known)
    told = np.isfinite(scores) & np.isfinite(first) & np.isfinite(second)
    return np.asarray(np.where(told, scores, float(scores[told].min()) - 1 if told.any() else 0.0))


def left_out(attack: Attack, known: Known) -> Iterator[Floats]:
    """The scores in each pair as if it were under attack by those of other folds. Whoever does not change is usual."""
    pairs, fold = known.pairs, np.arange(len(known.pairs)) % FOLDS
    for place in range(len(pairs)):
        usual = ~pairs.joined[place] & ~pairs.left[place]
        others = Known(known.labels, usual, pairs.chosen(fold != fold[place]))
        yield scores_of(attack, pairs.first[place], pairs.second[place], others)


def change_needed(name: str, first: Floats, second: Floats, known: Known, rate: float) -> float:
    """Of people in neither version: how much the odds of half of them would have to rise to be above the threshold."""
    score = threshold(scores_of(ATTACKS[name], first, second, known)[known.usual], rate)
    if name == "difference":
        return score
    expected, spread = _expected(first, second, known)
    needed = (expected + score * spread)[known.usual]
    return float(np.median(needed[np.isfinite(needed)])) if np.isfinite(needed).any() else np.inf


def threshold(usual: Floats, rate: float) -> float:
    """Which one more person like these passes with chance `rate` at most; infinite where they are too few."""
    above = int(rate * (len(usual) + 1) + 1e-9) - 1
    return np.inf if above < 0 else float(-np.sort(-usual)[above])


def chances(scores: Floats, usual: Floats) -> Floats:
    """Of a score as high or higher, if the person is one more like the usual ones: their rank among these."""
    higher = len(usual) - np.searchsorted(np.sort(usual), scores, side="left")
    return np.asarray((1 + higher) / (1 + len(usual)))


def wrong_shares(chance: Floats) -> Floats:
    """If everybody with a chance as low is claimed, which share of claims is expected to be wrong, at most (Benjamini
    and Hochberg 1995)."""
    order = np.argsort(chance, kind="stable")
    shares = chance[order] * len(chance) / np.arange(1, len(chance) + 1)
    found = np.empty(len(chance))
    found[order] = np.minimum(1.0, np.minimum.accumulate(shares[::-1])[::-1])
    return found

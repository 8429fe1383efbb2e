"""What attacks on two versions reached in one direction: on these versions, on the later one alone, on pairs trained
again, and where nobody can be found by design."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privet.attacks.models.likeness import unlike
from privet.attacks.models.measured import RATE, rank
from privet.attacks.models.over_models import share_over_models, student
from privet.attacks.models.quantile_regression import columns_of
from privet.attacks.models.shadows import Told
from privet.attacks.models.version_pairs import Pairs, Update, no_pairs
from privet.attacks.models.version_scores import (
    ATTACKS,
    NEIGHBORS,
    OF_PAIRS,
    Known,
    chances,
    change_needed,
    left_out,
    scores_of,
    threshold,
    wrong_shares,
)
from privet.stats.binomial import lower, share
from privet.stats.intervals import Interval
from privet.stats.roc import Roc, roc
from privet.typing import Floats, Truths

WRONG = 0.05  # of claims, at most, on average
USABLE = 4  # pairs, below which attacks that need them are not tried
FEW = 10  # records, below which no regression learns how they differ from others
RIDGE = 0.1  # of rows whose squares add up to about 2
DIFFER = 1e-3  # chance that people who are alike are taken for different


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Learned:
    """Pairs of versions trained again: to learn from, to attack, and without changes: the first version twice, and the
    second one twice."""

    shadows: Pairs
    models: Pairs
    unchanged: tuple[Pairs, Pairs]

    @staticmethod
    def nothing(people: int) -> Learned:
        none = no_pairs(people)
        return Learned(shadows=none, models=none, unchanged=(none, none))

    @property
    def turned(self) -> Learned:
        return Learned(shadows=self.shadows.turned, models=self.models.turned, unchanged=self.unchanged[::-1])

    @property
    def failed(self) -> tuple[int, str]:
        """How many trainings failed, and the kind of the last error."""
        every = (self.shadows, self.models, *self.unchanged)
        return sum(pairs.failed for pairs in every), max(pairs.error for pairs in every)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Reached:
    """One attack. `chance`: of a score as high, for somebody in neither version. `found`: those who joined with a
    chance of RATE at most; `alone`: by the later version alone; `again`, `again_alone`: over pairs trained again; None
    where the truth or pairs are missing. `control`: people in neither version who pass. `unchanged`: of those
    who joined, who pass if nothing changed."""

    scores: Floats
    chance: Floats
    curve: Roc | None
    found: Interval | None
    alone: Interval | None
    again: Interval | None
    again_alone: Interval | None
    control: Interval
    unchanged: Interval | None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Reach:
    """`main`: the attack chosen before candidates were scored. `sure`: of each candidate, 0 where nothing is claimed.
    `doubts`: why nobody is claimed. `unlike`: pairs trained again are not like these versions."""

    attacks: dict[str, Reached]
    main: str
    joined: Truths
    sure: Floats
    doubts: tuple[str, ...]
    unlike: bool

    @property
    def best(self) -> Reached:
        return self.attacks[self.main]


def reach(odds: tuple[Floats, Floats], update: Update, joined: Truths, left: Truths, learned: Learned) -> Reach:
    """Of those who joined between the first and the second version, with the odds that these give."""
    first, second = odds
    known = Known(update.labels, update.usual, learned.shadows)
    tried = ["difference"] + ["relative"] * (int(update.usual.sum()) > 2 * NEIGHBORS)
    tried += OF_PAIRS if len(learned.shadows) >= USABLE else ()
    main = _main(tried, first, second, known)
    attacks = {name: _reached(name, odds, update, joined, learned) for name in tried}
    doubts = _doubts(first, update, joined, attacks[main])
    other = _unlike(np.where(left, np.nan, second - first), joined, learned.shadows)
    sure = np.zeros(update.candidates) if doubts else sureness(attacks[main].chance[update.tested])
    return Reach(attacks=attacks, main=main, joined=joined, sure=sure, doubts=doubts, unlike=other)


def _main(tried: list[str], first: Floats, second: Floats, known: Known) -> str:
    """The attack that did best on shadow pairs. Without them, that which needs the smaller change of others."""
    if len(known.pairs) >= USABLE:
        return max(tried, key=lambda name: _taught(name, known))
    return min(tried, key=lambda name: change_needed(name, first, second, known, RATE))


def _taught(name: str, known: Known) -> tuple[float, float]:
    """What the attack reached on shadow pairs."""
    pairs = known.pairs
    rows = zip(left_out(ATTACKS[name], known), pairs.joined, pairs.left, strict=True)
    return rank([roc(scores[joined], scores[~joined & ~left]) for scores, joined, left in rows])


def _reached(
    name: str,
    odds: tuple[Floats, Floats],
    update: Update,
    joined: Truths,
    learned: Learned,
) -> Reached:
    (first, second), attack = odds, ATTACKS[name]
    known = Known(update.labels, update.usual, learned.shadows)
    scores = scores_of(attack, first, second, known)
    alone = scores_of(attack, np.zeros_like(first), second, known.later_alone)
    passed, passed_alone = (_passed(one, update.usual) for one in (scores, alone))
    others = ~update.tested
    truth = bool(joined.any())
    return Reached(
        scores=scores,
        chance=chances(scores, scores[update.usual]),
        curve=roc(scores[joined], scores[others]) if truth and others.any() else None,
        found=share(int(passed[joined].sum()), int(joined.sum())) if truth else None,
        alone=share(int(passed_alone[joined].sum()), int(joined.sum())) if truth else None,
        again=_again(name, known, learned.models),
        again_alone=_again(name, known.later_alone, learned.models.later_alone),
        control=share(int(passed[update.control].sum()), int(update.control.sum())),
        unchanged=_unchanged(name, known, learned.unchanged[0], joined),
    )


def _passed(scores: Floats, usual: Truths) -> Truths:
    return np.asarray(scores > threshold(scores[usual], RATE))


def _again(name: str, known: Known, models: Pairs) -> Interval | None:
    """Of those who joined in each further pair, by what shadow pairs teach."""
    if not len(models):
        return None

    def found(place: int) -> float:
        usual = ~models.joined[place] & ~models.left[place]
        seen = Known(known.labels, usual, known.pairs)
        scores = scores_of(ATTACKS[name], models.first[place], models.second[place], seen)
        return float(_passed(scores, usual)[models.joined[place]].mean())

    return share_over_models(np.array([found(place) for place in range(len(models))]), int(models.joined[0].sum()))


def _unchanged(name: str, known: Known, pairs: Pairs, joined: Truths) -> Interval | None:
    """Of those who joined, while both versions of a pair are without them."""
    if not len(pairs):
        return None
    rows = [scores_of(ATTACKS[name], *odds, known) for odds in zip(pairs.first, pairs.second, strict=True)]
    found = np.array([_passed(row, known.usual)[joined].mean() for row in rows])
    return share_over_models(found, int(joined.sum()))


def sureness(chance: Floats) -> Floats:
    """How sure it is that each candidate joined, 0 where nothing is claimed: who passes with a chance above RATE, or
    where more than WRONG of the claims could be wrong."""
    wrong = wrong_shares(chance)
    return np.where((chance <= RATE) & (wrong <= WRONG), 1 - wrong, 0.0)


def _doubts(first: Floats, update: Update, joined: Truths, best: Reached) -> tuple[str, ...]:
    """Whether those who joined differ from others in more than the update: then a change says less."""
    people, others, found = int(joined.sum()), ~update.tested, []
    if people and others.any() and _of_another_kind(first, joined, others):
        found.append("the records differ from others in the version without them, so nobody is claimed")
    if _of_other_columns(update, joined if update.known else update.tested):
        found.append("the records differ from others in their columns or classes, so nobody is claimed")
    fell = int(_passed(-best.scores, update.usual)[joined].sum())
    if people and lower(fell, people, DIFFER) > RATE:
        found.append("the odds of more records than of others fall by much, so nobody is claimed")
    if best.unchanged is not None and lower(int(best.unchanged.value * people), people, DIFFER) > RATE:  # same people
        found.append("the same records stand out where nothing changed, so nobody is claimed")
    return tuple(found)


def _of_another_kind(first: Floats, joined: Truths, others: Truths) -> bool:
    """By their odds in the version that has neither, and by how far these are from the middle."""
    known = np.isfinite(first)
    if not (joined & known).any() or not (others & known).any():
        return False
    far = np.abs(first - np.median(first[others & known]))
    return any(differ_in_rank(roc(odds[joined & known], odds[others & known])) for odds in (first, far))


def _of_other_columns(update: Update, ones: Truths) -> bool:
    """Whether a regression on columns and classes that learned from one half who is one of the others knows it of the
    other half; or these are farther from the middle. An update changes what it says of all people of a new kind."""
    others, columns = ~update.tested, columns_of(update.asked.rows)
    classes = update.labels[:, None] == np.unique(update.labels)
    places = np.random.default_rng(0).permutation(np.flatnonzero(ones | others))
    if not ones.any() or not others.any():
        return False
    far = (columns**2).sum(axis=1)
    if differ_in_rank(roc(far[ones], far[others])):
        return True
    if min(int(ones.sum()), int(others.sum())) < FEW:
        return False
    design = np.column_stack([columns, classes / np.sqrt(len(classes.T)), np.ones(len(columns))])
    for part, rest in ((places[::2], places[1::2]), (places[1::2], places[::2])):
        scores = design[part] @ _weights(design[rest], ones[rest])
        curve = roc(scores[ones[part]], scores[~ones[part]]) if 0 < ones[part].sum() < len(part) else None
        if curve is not None and curve.auc.value > 0.5 and differ_in_rank(curve):
            return True
    return False


def _weights(design: Floats, ones: Truths) -> Floats:
    """A ridge regression of which kind somebody is, both kinds with the same weight."""
    size = np.sqrt(np.where(ones, 1 / max(int(ones.sum()), 1), 1 / max(int((~ones).sum()), 1)))
    rows, kinds = design * size[:, None], np.where(ones, 1.0, -1.0) * size
    if rows.shape[1] <= rows.shape[0]:
        return np.asarray(np.linalg.solve(rows.T @ rows + RIDGE * np.eye(rows.shape[1]), rows.T @ kinds))
    return np.asarray(rows.T @ np.linalg.solve(rows @ rows.T + RIDGE * np.eye(rows.shape[0]), kinds))


def differ_in_rank(curve: Roc) -> bool:
    """By who is higher (Mann and Whitney)."""
    inside, outside = len(curve.inside), len(curve.outside)
    spread = ((inside + outside + 1) / (12 * inside * outside)) ** 0.5
    return bool(abs(curve.auc.value - 0.5) > student(10**6, DIFFER) * spread)


def _unlike(rises: Floats, joined: Truths, shadows: Pairs) -> bool:
    """By the rise of those who joined, and of those who did not."""
    usual = np.where(shadows.left, np.nan, shadows.second - shadows.first)
    told = Told(usual, np.empty((*usual.shape, 0)), shadows.joined)
    return bool(joined.any()) and unlike(rises, joined, told)

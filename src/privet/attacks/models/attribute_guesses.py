"""Guesses at the sensitive value of people: with the model, and the same attacker's without it.

The attacker knows all other columns and the true label of a person, may ask the model about the person with each value
of the sensitive column, and has similar records (`teach`) that were not in the training data.

`Fredrikson`: how frequent a value is, times how often the model is as right, or as wrong, about people with this label
(Fredrikson, Lantz, Jha, Lin, Page and Ristenpart 2014; here all wrong labels together). `confidence`: how likely a
value is by the known columns, times the model's probability of the true label with it (after Fredrikson, Jha and
Ristenpart 2015). `largest`: the value with which the model is surest of the true label (for two classes that of Mehnaz
and others 2022). `calibrated`: a logistic regression on the known columns, the label and the model's log odds.
`shadow`: the same, learned from models that were trained on the people who teach.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from privet.typing import Floats, Integers, Truths

STEPS = 300
RIDGE = 1.0
SETTLED = 1e-5  # of a weight, below which steps end
WIDEST = 5.0  # standard deviations of log odds, beyond which they count as this many
FOLDS = 5
SAME = 1e-9  # weights that differ by less are one
FEW = 1.0  # people of each kind, added before they are counted


@dataclass(frozen=True, slots=True, eq=False)
class Facts:
    """Of each person. `odds`: the model's log odds of the true label with each value (NaN: no finite answer), and
    whether that is its label (`says`). `plain`: the known columns, `full`: and the label. `codes`: the true value."""

    odds: Floats
    says: Truths
    plain: Floats
    full: Floats
    labels: Integers
    codes: Integers
    size: int

    @property
    def told(self) -> Truths:
        """Who has a finite answer with each value."""
        return np.asarray(np.isfinite(self.odds).all(axis=1))

    @property
    def sure(self) -> Floats:
        """The odds; 0 for whoever has no finite answer, where no guess goes by them."""
        return np.where(self.told[:, None], self.odds, 0.0)

    def take(self, places: Integers, odds: Floats, says: Truths) -> Facts:
        """These people, with the answers of another model."""
        return replace(
            self, odds=odds, says=says, plain=self.plain[places], full=self.full[places],
            labels=self.labels[places], codes=self.codes[places],
        )  # fmt: skip


def joined(some: list[Facts]) -> Facts:
    names = [name for name in Facts.__slots__ if name != "size"]
    parts: dict[str, Any] = {name: np.concatenate([getattr(one, name) for one in some]) for name in names}
    return replace(some[0], **parts)


Attack = Callable[[Facts, Integers], Floats]  # log weights of each value, learned from people at these places


def frequent(facts: Facts, teach: Integers) -> Floats:
    counts = np.bincount(facts.codes[teach], minlength=facts.size) + FEW
    return np.broadcast_to(np.log(counts / counts.sum()), (len(facts.codes), facts.size))


def known(facts: Facts, teach: Integers) -> Floats:
    return _learned(facts.full, facts, teach)


def fredrikson(facts: Facts, teach: Integers) -> Floats:
    says = facts.says[teach, facts.codes[teach]]
    right = np.empty(len(facts.labels))
    for label in np.unique(facts.labels):
        hits = says[facts.labels[teach] == label]
        right[facts.labels == label] = (hits.sum() + FEW) / (len(hits) + 2 * FEW)
    return frequent(facts, teach) + np.log(np.where(facts.says, right[:, None], 1 - right[:, None]))


def confidence(facts: Facts, teach: Integers) -> Floats:
    return _learned(facts.plain, facts, teach) - np.logaddexp(0.0, -facts.sure)


def largest(facts: Facts, _teach: Integers) -> Floats:
    return facts.sure


def calibrated(facts: Facts, teach: Integers) -> Floats:
    return _law(facts, teach)(facts)


def shadow(answers: list[Facts]) -> Attack:
    """Learned from what models trained on the people who teach say of these, and so of members."""
    every = joined(answers)
    law = _law(every, np.arange(len(every.codes)))
    return lambda facts, _teach: law(facts)


def _law(facts: Facts, teach: Integers) -> Callable[[Facts], Floats]:
    """Log weights by the known columns, the label, and how the log odds differ between values."""
    wide = max(float(_around(facts)[teach].std()), SAME)

    def design(some: Facts) -> Floats:
        return np.column_stack([some.full, np.clip(_around(some) / wide, -WIDEST, WIDEST)])

    weights = fitted(design(facts)[teach], facts.codes[teach], facts.size)
    return lambda some: log_chances(design(some), weights)


def _around(facts: Facts) -> Floats:
    return np.asarray(facts.sure - facts.sure.mean(axis=1, keepdims=True))


ATTACKS: dict[str, Attack] = {
    "calibrated": calibrated,
    "confidence": confidence,
    "Fredrikson": fredrikson,
    "largest": largest,
}


@dataclass(frozen=True, slots=True, eq=False)
class Guess:
    """Of each person: whether the guess is right, and the weight of the true value among all."""

    right: Truths
    weight: Floats


def without(facts: Facts, teach: Integers) -> tuple[str, Attack]:
    """The better way to guess without the model, on people of `teach` who are left out in turn."""
    ways: dict[str, Attack] = {"known columns": known, "most frequent value": frequent}
    name = _best(ways, facts, teach, frequent)
    return name, ways[name]


def best(facts: Facts, teach: Integers, plain: Attack) -> str:
    """The attack that guesses most people of `teach` right who are left out in turn. Nobody else is looked at. `shadow`
    is for members, and is tried on them only."""
    return _best(ATTACKS, facts, teach, plain)


def _best(ways: dict[str, Attack], facts: Facts, teach: Integers, plain: Attack) -> str:
    hits = dict.fromkeys(ways, 0)
    for part, rest in folds(teach):
        other = plain(facts, rest)
        for name, way in ways.items():
            hits[name] += int(guess(way(facts, rest), facts, other).right[part].sum())
    return max(hits, key=lambda name: hits[name])


def guess(weights: Floats, facts: Facts, other: Floats) -> Guess:
    """Where weights tie, and where the model gave no finite answer, those without the model (`other`) decide."""
    weights = np.where(facts.told[:, None], weights, other)
    tied = weights >= weights.max(axis=1, keepdims=True) - SAME
    guessed = np.where(tied, other, -np.inf).argmax(axis=1)
    shares = np.exp(_normal(weights))
    return Guess(guessed == facts.codes, shares[np.arange(len(shares)), facts.codes])


def folds(places: Integers, count: int = FOLDS) -> Iterator[tuple[Integers, Integers]]:
    turn = np.arange(len(places)) % count
    for at in range(min(count, len(places))):
        yield places[turn == at], places[turn != at]


def _learned(design: Floats, facts: Facts, teach: Integers) -> Floats:
    return log_chances(design, fitted(design[teach], facts.codes[teach], facts.size))


def fitted(design: Floats, codes: Integers, size: int) -> Floats:
    """Weights of a multinomial logistic regression with a ridge. Steps with a bound of the second derivatives (Böhning
    1992), so each one is small enough; accelerated (Nesterov 1983)."""
    rows = np.column_stack([np.ones(len(design)), design])
    ridge = np.full(rows.shape[1], RIDGE)
    ridge[0] = SETTLED
    bend = np.linalg.inv(rows.T @ rows / 2 + np.diag(ridge))
    truth, weights, ahead = np.eye(size)[codes], np.zeros((rows.shape[1], size)), np.zeros((rows.shape[1], size))
    for step in range(STEPS):
        slope = rows.T @ (truth - np.exp(_normal(rows @ ahead))) - ridge[:, None] * ahead
        moved = ahead + bend @ slope
        change, weights = moved - weights, moved
        ahead = weights + step / (step + 3) * change
        if float(np.abs(change).max()) < SETTLED:
            break
    return weights


def log_chances(design: Floats, weights: Floats) -> Floats:
    return _normal(np.column_stack([np.ones(len(design)), design]) @ weights)


def _normal(values: Floats) -> Floats:
    values = values - values.max(axis=1, keepdims=True)
    return np.asarray(values - np.log(np.exp(values).sum(axis=1, keepdims=True)))

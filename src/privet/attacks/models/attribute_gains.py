"""How much the model adds to guesses about members and about others, with intervals over people and over models."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from privet.attacks.models.attribute_guesses import Facts, Guess, fitted, folds, log_chances
from privet.attacks.models.over_models import mean_over_models, student
from privet.stats.binomial import LEVEL, lower, share, upper
from privet.stats.gains import apart, gain
from privet.stats.intervals import Interval
from privet.typing import Floats, Integers, Truths

SHIFT = 1e-3  # chance that members and others who are alike are taken for different
MANY = 10**6  # degrees of freedom: a normal law

Parts = tuple[Integers, Integers]  # places of members, and of others


@dataclass(frozen=True, slots=True, kw_only=True)
class Gains:
    """Shares that are right, `with_model` and without (`plain`), of members and of others.

    `inferred`: by how much others are guessed better with the model than by the most frequent value; `added`: than by
    the guess without the model. `leak`: what the model adds for members, less what it adds for others. `over`: the
    same over models trained again. The leaks of all attacks hold together with 95 %; every other interval has 95 %."""

    with_model: tuple[Interval, Interval]
    plain: tuple[Interval, Interval]
    inferred: Interval
    added: Interval
    leak: Interval
    over: OverModels | None

    def leaks(self, *, shifted: bool) -> bool:
        """Members are guessed better than without the model, and by more than others. Where members and others differ
        anyhow, only models in which coins decided say something."""
        here = self.leak.low > 0 and self.with_model[0].value > self.plain[0].value and not shifted
        return here or (self.over is not None and self.over.leak.low > 0 and self.over.added > 0)

    @property
    def differs(self) -> bool:
        return self.leak.low > 0 or (self.over is not None and self.over.leak.low > 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class OverModels:
    """`added`: what models trained again add for their members, on average."""

    leak: Interval
    added: float


@dataclass(frozen=True, slots=True, eq=False)
class Plain:
    """Guesses without the model: the best one, by `way`, and the most frequent value."""

    way: str
    guess: Guess
    frequent: Guess


def gains(found: Guess, without: Plain, parts: Parts, over: OverModels | None, attacks: int) -> Gains:
    plain = without.guess
    with_model, base = (tuple(shares_of(one, parts)) for one in (found, plain))
    inside, outside = (_gain(found.right[part], plain.right[part], LEVEL / attacks) for part in parts)
    return Gains(
        with_model=(with_model[0], with_model[1]),
        plain=(base[0], base[1]),
        inferred=_gain(found.right[parts[1]], without.frequent.right[parts[1]], LEVEL),
        added=_gain(found.right[parts[1]], plain.right[parts[1]], LEVEL),
        leak=apart(inside, outside),
        over=over,
    )


def shares_of(found: Guess, parts: Parts) -> list[Interval]:
    return [share(int(found.right[part].sum()), len(part)) for part in parts]


def _gain(right: Truths, plain: Truths, level: float) -> Interval:
    return gain(int((right & ~plain).sum()), int((plain & ~right).sum()), len(right), level)


def over_models(pairs: list[tuple[Truths, Truths]], inside: Truths, attacks: int) -> OverModels | None:
    """Of guesses with each model and without: what they gain for members of that model, less for others. Student's
    interval over models, and no narrower than over people."""
    if not pairs:
        return None
    level = LEVEL / attacks
    added = [[_mean(*pair, which), _mean(*pair, ~which)] for pair, which in zip(pairs, inside, strict=True)]
    each = np.array([members - others for members, others in added])
    over = mean_over_models((each / 2 + 1) / 2, level)  # from -2 to 2
    right, plain = (np.array([pair[side] for pair in pairs]) for side in (0, 1))
    people = apart(*(_gain(right[which], plain[which], level) for which in (inside, ~inside)))
    value, below, above = float(each.mean()), people.value - people.low, people.high - people.value
    leak = Interval(value, min(4 * over.low - 2, value - below), max(4 * over.high - 2, value + above))
    return OverModels(leak=leak, added=float(np.mean([members for members, _ in added])))


def _mean(right: Truths, plain: Truths, which: Truths) -> float:
    return float(right[which].mean() - plain[which].mean())


def shifted(facts: Facts, plain: Guess, parts: Parts) -> bool:
    """Whether members and others differ without the model: in how well they are guessed, or because a regression that
    learned from one half who is a member knows it of the other half."""
    shares = [(int(plain.right[part].sum()), len(part)) for part in parts]
    lows, highs = ([end(*one, SHIFT / 8) for one in shares] for end in (lower, upper))
    if lows[0] > highs[1] or lows[1] > highs[0]:
        return True
    places, member = np.concatenate(parts), np.repeat([1, 0], [len(part) for part in parts])
    pairs = facts.codes[places] * (int(facts.labels.max()) + 1) + facts.labels[places]
    design = np.column_stack([facts.full[places], pairs[:, None] == np.unique(pairs)])
    order = np.random.default_rng(0).permutation(len(places))
    return any(
        _apart(log_chances(design[part], fitted(design[rest], member[rest], 2))[:, 1], member[part] == 1, SHIFT / 4)
        for part, rest in folds(order, 2)
    )


def weightier(found: Guess, plain: Guess, parts: Parts, attacks: int) -> bool:
    """Whether the model adds more weight to the true value of members than to that of others."""
    added, places = found.weight - plain.weight, np.concatenate(parts)
    member = np.repeat([True, False], [len(part) for part in parts])
    return _apart(added[places], member, LEVEL / 2 / attacks)


def _apart(scores: Floats, which: Truths, level: float) -> bool:
    """Whether scores of one kind are higher, by ranks (Mann and Whitney). Ties only make it say so less often."""
    ones, others = np.sort(scores[which]), np.sort(scores[~which])
    if not len(ones) or not len(others):
        return False
    above = np.searchsorted(others, ones, side="left") + np.searchsorted(others, ones, side="right")
    auc = float(above.sum()) / (2 * len(ones) * len(others))
    wide = math.sqrt((len(ones) + len(others) + 1) / (12 * len(ones) * len(others)))
    return (auc - 0.5) / wide > student(MANY, 2 * level)

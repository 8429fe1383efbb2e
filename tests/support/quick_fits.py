"""Learners of ours fitted in a millisecond, for audits that fit hundreds of times: gate and ledger are left out, noise
is seeded. What is left are the rounds that are learned from, with the noise that was priced."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.random import Generator, default_rng

from privet import training
from privet.audits import Claim
from privet.backends.contributions import Recode, RowFunction, Rows
from privet.core.laws import DiscreteGaussian, DiscreteLaplace
from privet.core.rounds import Round
from privet.core.unit import Neighbors
from privet.learn.descent import Recipe, Step, Units
from privet.learn.network import Kind, Layers, scores
from privet.learn.schedule import Schedule, coin_of
from privet.noise.floats import FloatNoise
from privet.typing import Floats
from support.lessons import LEARNERS, Setting, raw_of, setting

Heard = list[list[list[int]]]


@dataclass(frozen=True)
class QuickFit:
    """A function of (X, y) that fits a learner. Its noise is `times` what it should be."""

    setting: Setting
    times: float = 1.0
    draw: Generator = field(default_factory=lambda: default_rng(7))

    @classmethod
    def of(cls, name: str, neighbors: Neighbors, times: float = 1.0, **declared: Any) -> QuickFit:
        """With a delta most learners add Gaussian noise, and the claim is about rho."""
        model = LEARNERS[name](**{"epsilon": 3, "delta": "0.01"} | declared)
        return cls(setting(model, neighbors), times)

    @property
    def claim(self) -> Claim:
        loss, (first, *_) = self.setting.prices.loss, self.setting.prices.rounds
        gaussian = isinstance(first[0].law, DiscreteGaussian)
        return Claim(rho=loss.rho) if gaussian else Claim(epsilon=loss.epsilon)

    def __call__(self, X: Any, y: Any = None) -> Any:  # noqa: N803
        one, rows = self.setting, Rows(raw_of(self.setting, X, y))
        heard: Heard = []

        def answer(measured: Round, function: RowFunction) -> list[list[int]]:
            exact = rows.sums(function, [each.sums for each in measured])
            heard.append([self._noisy(vector, each.law) for vector, each in zip(exact, measured, strict=True)])
            return heard[-1]

        model: Any = copy.copy(one.model)
        found = training._play(one.lesson(), one.prices.rounds, answer, rows)
        for name, value in (found | {"n_features_in_": len(one.declared.features), "heard": heard}).items():
            setattr(model, name, value)
        return model

    def _noisy(self, vector: list[int], law: Any) -> list[int]:
        if isinstance(law, DiscreteGaussian):
            noise = np.rint(self.draw.normal(0, math.sqrt(law.variance), len(vector)))
        else:
            up, down = self.draw.geometric(-math.expm1(-1 / law.scale), (2, len(vector)))
            noise = up - down
        return [value + round(self.times * float(more)) for value, more in zip(vector, noise, strict=True)]


class Beside(Rows):
    """The row of one record, and next to it those of all others."""

    def __init__(self, record: Floats, others: Floats) -> None:
        super().__init__(record)
        self.others = Rows(others)

    def recode(self, step: Recode) -> None:
        super().recode(step)
        self.others.recode(step)


def likelihood(fit: QuickFit, X: Any, y: Any) -> Callable[[Any, Any, Any], Floats]:  # noqa: N803
    """The best score there is, of somebody who saw all noisy sums and knows all other records: how much likelier they
    are with a record than without it."""
    one, others = fit.setting, raw_of(fit.setting, X, y)

    def gain(heard: Heard, record: Beside) -> float:
        told, found = iter(heard), [0.0]

        def answer(measured: Round, function: RowFunction) -> list[list[int]]:
            sums = [each.sums for each in measured]
            known, more, noisy = record.others.sums(function, sums), record.sums(function, sums), next(told)
            for without, own, vector, each in zip(known, more, noisy, measured, strict=True):
                gaps = np.subtract(vector, without)
                found[0] += _far(gaps, each.law) - _far(gaps - own, each.law)
            return noisy

        training._play(one.lesson(), one.prices.rounds, answer, record)
        return found[0]

    def score(model: Any, rows: Any, labels: Any) -> Floats:
        places = [np.array([at]) for at in range(len(rows))]
        records = [Beside(raw_of(one, rows[at], None if y is None else labels[at]), others) for at in places]
        return np.array([gain(model.heard, record) for record in records])

    return score


def _far(gaps: Any, law: Any) -> float:
    """From the middle of the law, as the exponent of its density."""
    if isinstance(law, DiscreteLaplace):
        return float(np.abs(gaps).sum() / law.scale)
    return float((np.asarray(gaps, float) ** 2).sum() / float(2 * law.variance))


class Seeded(FloatNoise):
    """Normal numbers that are the same in every run of a test; `times` what they should be."""

    def __init__(self, draw: Generator, times: float = 1.0) -> None:
        super().__init__()
        self.draw, self.times = draw, times

    def coins(self, coin: int, size: int) -> Any:
        return np.ones(size, np.bool_)

    def normals(self, size: int) -> Floats:
        return self.times * self.draw.normal(size=size)


@dataclass(frozen=True)
class OneStep:
    """One noisy step of a network without hidden layers, from zeros. The noise is that of 2 clip norms, so a unit more
    or less moves the weights by half a standard deviation at most: mu = 1/2."""

    step: Step
    classes: int = 3
    times: float = 1.0
    draw: Generator = field(default_factory=lambda: default_rng(7))

    def __call__(self, X: Any, y: Any, units: Any = None) -> OneStepModel:  # noqa: N803
        schedule = Schedule(coin=coin_of(Fraction(1)), steps=1, noise=Fraction(2), neighbors=Neighbors.ADD_REMOVE)
        kind = Kind(activation="tanh", classes=self.classes)
        ends = self.classes or 1
        given = Recipe(schedule=schedule, kind=kind, sizes=(2, ends), clip=0.25, rate=1.0)
        who = None if units is None else np.unique(units, return_inverse=True)[1]
        rows = Units.of(np.asarray(X, float), np.asarray(y, float), who)
        (moved,) = self.step([np.zeros((3, ends))], rows, given, Seeded(self.draw, self.times))
        return OneStepModel([-moved], kind)


@dataclass(frozen=True)
class OneStepModel:
    layers: Layers
    kind: Kind

    def decision_function(self, X: Any) -> Floats:  # noqa: N803
        return scores(self.layers, np.asarray(X, float), self.kind)

    def predict(self, X: Any) -> Floats:  # noqa: N803
        return np.asarray(self.decision_function(X)[:, 0])

"""What two neighbors may differ in, and what a price must pay for: by definition, and by other code than Privet's."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
from mpmath import mp, mpf

from privet.backends import Spread, Vector
from privet.core.cells import Keys
from privet.core.laws import Choice, DiscreteGaussian, DiscreteLaplace, Top
from privet.core.loss import sequential
from privet.core.measures import Role
from privet.core.parts import Part
from privet.core.ranks import rank
from privet.core.top import apart
from privet.core.unit import Neighbors
from privet.estimates.priced import Priced
from privet.testing import ExactPart

CHANGES = ("l1", "l2_squared", "linf", "max_parts_touched")
Far = tuple[int, int, int, int]
Values = Sequence[tuple[int, int]]  # (number in steps, how many rows have it)
CLOSE = mpf("1e-12")  # what is computed here may be off by so much


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question at a price, and the most that it may cost: None for what was not said."""

    priced: Priced
    epsilon: Fraction | None = None
    rho: Fraction | None = None
    delta: Fraction | None = None


def plain(vectors: Sequence[Vector]) -> list[list[Any]]:
    """With spreads as tuples that can be compared."""
    return [[_plain(value) for value in vector] for vector in vectors]


def _plain(value: int | Spread) -> Any:
    return tuple(zip(value.values.tolist(), value.counts.tolist(), strict=True)) if isinstance(value, Spread) else value


# How far two tables are apart


def changes(a: ExactPart, b: ExactPart) -> Far:
    """How far two vectors are apart: in sum, in squares, in one cell, and in how many cells."""
    return far_apart([abs(x - y) for x, y in zip(a.values, b.values, strict=True)])


def far_apart(differences: Sequence[int]) -> Far:
    return (
        sum(differences),
        sum(change * change for change in differences),
        max(differences, default=0),
        sum(change != 0 for change in differences),
    )


def moved(part: Part, a: ExactPart, b: ExactPart) -> Far:
    """The same; where a value is chosen, by how far the loss of some candidate is off in each cell."""
    if not isinstance(part.law, Choice):
        return changes(a, b)
    return far_apart(losses_apart(part, a.values, b.values))


def losses_apart(part: Part, a: Sequence[Values], b: Sequence[Values]) -> list[int]:
    """For every cell."""
    assert isinstance(part.law, Choice)
    return [_losses_apart(part, part.law, x, y) for x, y in zip(a, b, strict=True)]


def _losses_apart(part: Part, law: Choice, one: Values, two: Values) -> int:
    """Losses are the same for all candidates between two values, so those at and beside values stand for all."""
    if one == two:
        return 0
    low, high = part.measure.low, part.measure.high
    near = {value + side for value, _ in (*one, *two) for side in (-1, 0, 1)}
    candidates = [low, high, *(value for value in near if low <= value <= high)]
    pairs = zip(rank_losses(part, law, one, candidates), rank_losses(part, law, two, candidates), strict=True)
    return max(abs(a - b) for a, b in pairs)


def rank_losses(part: Part, law: Choice, values: Values, candidates: Sequence[int]) -> list[int]:
    """For each of them max(b * #{x < v} - t, t - b * #{x <= v}) with the engine's own b and t."""
    sought = rank(part.measure, law, sum(times for _, times in values))
    values = [*values, (part.measure.low, sought.below), (part.measure.high, sought.above)]
    found = []
    for candidate in candidates:
        below = sum(times for value, times in values if value < candidate)
        up_to = sum(times for value, times in values if value <= candidate)
        found.append(max(sought.unit * below - sought.target, sought.target - sought.unit * up_to))
    return found


def new_keys(one: Mapping[Keys, int], two: Mapping[Keys, int]) -> int:
    """How many keys are in one table only, on the side that has more of them; a key of several units counts as many."""
    return max(_lone(one, two), _lone(two, one))


def _lone(one: Mapping[Keys, int], two: Mapping[Keys, int]) -> int:
    return sum(units for key, units in one.items() if key not in two)


# What a price pays for


def problems_of_price(asked: Asked) -> list[str]:
    """The charge is the sum of the parts and not above what was asked; every part's noise is wide enough."""
    question, loss = asked.priced, asked.priced.loss
    found = [f"{text} in {part}" for part in question.parts for text in _problems(part, question)]
    if loss != sequential([part.loss for part in question.parts]):
        found.append("parts do not add up")
    for name in ("epsilon", "rho", "delta"):
        most, spent = getattr(asked, name), getattr(loss, name)
        if most is not None and (spent is None or spent > most):
            found.append(f"the {name} {spent} is above {most}")
    if asked.delta is None and (loss.delta or loss.rho_delta):
        found.append("there is a delta that nobody asked for")
    return [*found, *_joint(question)]


def _problems(part: Part, question: Priced) -> list[str]:
    far, loss, law = part.sensitivity, part.loss, part.law
    match law:
        case DiscreteLaplace():
            epsilon = far.l1 / law.scale
            paid = loss.epsilon is not None and epsilon <= loss.epsilon
            paid = paid and loss.rho is not None and epsilon**2 / 2 <= loss.rho
        case DiscreteGaussian():
            paid = loss.rho is not None and far.l2_squared / (2 * law.variance) <= loss.rho
            paid = paid and (loss.epsilon is None or loss.delta > 0)
        case Choice():
            square = law.rate**2 * far.l2_squared * (2 if law.flip else Fraction(1, 2))
            paid = loss.rho is not None and square <= loss.rho
            paid = paid and loss.epsilon is not None and (loss.delta > 0 or 2 * law.rate * far.l1 <= loss.epsilon)
        case Top():
            each = law.rate * apart(part.measure, question.bounds)
            square = law.rounds * each**2 / (2 if law.flip else 8)
            paid = loss.rho is not None and square <= loss.rho
            paid = paid and loss.epsilon is not None and (loss.delta > 0 or law.rounds * each <= loss.epsilon)
    found = [] if paid else ["too little noise"]
    if part.measure.role is Role.KEYS and not _hides(part, question):
        found.append("a threshold that is too low")
    return found


def _hides(part: Part, question: Priced) -> bool:
    """A unit's keys that nobody else has are all hidden but for delta.

    P[X >= t] = q**t / (1 + q) for t >= 0 and q = exp(-1 / scale); k keys have k times that. Of a unit that is replaced
    one goes and one comes, each with half of epsilon: delta * (1 + exp(epsilon / 2)). Gaussian noise pays for both at
    once; its tail is summed, or of wide noise taken from the normal law.
    """
    assert part.threshold is not None
    if isinstance(part.law, DiscreteGaussian):
        shown = question.bounds.groups * _bell(float(part.law.variance), part.threshold - 1)
        return part.threshold > 1 and shown <= min(float(part.loss.rho_delta) * (1 + 1e-9), 1)
    assert isinstance(part.law, DiscreteLaplace)
    assert part.loss.epsilon is not None
    with mp.workdps(80):
        q = mp.exp(-_real(1 / part.law.scale))
        shown = question.bounds.groups * q ** (part.threshold - 1) / (1 + q)
        if question.bounds.neighbors is Neighbors.REPLACE:
            shown *= 1 + mp.exp(_real(part.loss.epsilon / 2))
        delta = min(part.loss.delta, part.loss.rho_delta)
        return bool(part.threshold > 1 and shown <= min(_real(delta) * (1 + CLOSE), 1))


def _bell(variance: float, start: int) -> float:
    far = math.ceil(12 * math.sqrt(variance)) + 2
    if far > 10**5:
        return math.erfc((start - 0.5) / math.sqrt(2 * variance)) / 2
    terms = np.exp(-(np.arange(max(far, start + 2), dtype=np.float64) ** 2) / (2 * variance))
    return float(terms[start:].sum() / (2 * terms.sum() - 1))


def _joint(question: Priced) -> list[str]:
    """Parts that share one (epsilon, delta) by way of rho: zCDP with all their rho must imply it.

    For every a > 1 rho-zCDP is (epsilon, d)-DP with d = exp((a - 1) (a rho - epsilon)) / (a - 1) * (1 - 1 / a)**a.
    """
    shared = [
        replace(part.loss, delta=part.loss.delta - part.loss.rho_delta)
        for part in question.parts
        if part.loss.delta and (part.measure.role is not Role.KEYS or isinstance(part.law, DiscreteGaussian))
    ]
    if not shared:
        return []
    total = sequential(shared)
    assert total.epsilon is not None
    assert total.rho is not None
    epsilon, rho, delta = float(total.epsilon), float(total.rho), float(total.delta)

    def log_deltas(steps: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        a = 1 + np.exp(steps / 100)
        return (a - 1) * (a * rho - epsilon) - np.log(a - 1) + a * np.log1p(-1 / a)

    coarse = np.arange(-1000.0, 3000.0)
    near = coarse[log_deltas(coarse).argmin()]
    best = log_deltas(near + np.arange(-1000, 1001) / 1000).min()
    return [] if best <= math.log(delta) + 1e-6 else [f"rho {rho} does not imply ({epsilon}, {delta})"]


def _real(number: Fraction) -> Any:
    return mpf(number.numerator) / number.denominator

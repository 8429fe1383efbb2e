"""What the publisher of a release promises about it."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from privet.core.rational import positive, rational, show
from privet.core.unit import neighbors_from
from privet.errors import InvalidInputError


@dataclass(frozen=True, slots=True, kw_only=True)
class Privacy:
    """What the publisher promises for all answers together."""

    epsilon: Fraction
    delta: Fraction = Fraction(0)
    neighbors: str = "add-remove"


def privacy(epsilon: object, delta: object = 0, neighbors: str = "add-remove") -> Privacy:
    neighbors_from(neighbors)
    chance = rational(delta, "delta")
    if not 0 <= chance < 1:
        raise InvalidInputError(f"delta is {show(delta)}", "write a number from 0 to below 1", "out-of-range")
    return Privacy(epsilon=positive(epsilon, "epsilon"), delta=chance, neighbors=neighbors)

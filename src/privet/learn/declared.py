"""What is declared of the rows that a learner sees: ranges of columns, classes or the range of a target."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from privet.core.rational import show
from privet.errors import InvalidInputError
from privet.typing import Floats

TOP = 2**20  # steps from low to high, where nothing else is declared
WIDEST = 1e100  # squares of such numbers are still finite
HOW = "use public knowledge, or pay for a private estimate: vault.suggest_bounds(query, epsilon=...)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A row has a whole number from 0 to `top` here, which means low + number * (high - low) / top. Of a category it is
    the place of its value among `values`."""

    name: str
    low: float = 0.0
    high: float = 1.0
    top: int = TOP
    values: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """The columns of `Block.raw`, in order: the features, then the target if there is one."""

    features: tuple[Column, ...]
    target: Column | None = None
    rows: int = 1  # of a unit that count

    @property
    def columns(self) -> tuple[Column, ...]:
        return self.features if self.target is None else (*self.features, self.target)

    @property
    def lows(self) -> Floats:
        return np.array([column.low for column in self.features])

    @property
    def highs(self) -> Floats:
        return np.array([column.high for column in self.features])

    @property
    def tops(self) -> Floats:
        return np.array([float(column.top) for column in self.features])

    @property
    def classes(self) -> tuple[Any, ...]:
        return () if self.target is None else self.target.values


def ranges_from(bounds: object, names: Sequence[str], what: str = "bounds") -> tuple[Column, ...]:
    """One (low, high) for all columns, or one pair for each."""
    each = f", or one pair for each of the {len(names)} columns: {what}=[(0, 100), (0, 1), ...]"
    example = f"{what}=(0, 100)" + (each if len(names) > 1 else "")
    if bounds is None:
        raise InvalidInputError(
            f"{what} are missing: ranges never come from the data", f"give {example}; {HOW}", "not-declared"
        )
    try:
        pairs = np.asarray(bounds, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidInputError(f"{what} are not pairs of numbers", f"give {example}", "wrong-type") from None
    if pairs.shape == (2,):
        pairs = np.tile(pairs, (len(names), 1))
    if pairs.shape != (len(names), 2):
        raise InvalidInputError(f"{what} do not fit {len(names)} columns", f"give {example}", "wrong-type")
    spans = pairs[:, 1] - pairs[:, 0]
    if not (np.abs(pairs).max(initial=0) <= WIDEST and ((spans == 0) | (spans >= 1 / WIDEST)).all()):  # nor with NaN
        raise InvalidInputError(
            f"a low of {what} is above its high, a range is too wide or too narrow, or an end is no number",
            f"give {example}",
            "out-of-range",
        )
    return tuple(
        Column(name=name, low=float(low), high=float(high)) for name, (low, high) in zip(names, pairs, strict=True)
    )


def classes_from(classes: object) -> tuple[Any, ...]:
    """The labels, in order: numbers or texts."""
    if classes is None:
        raise InvalidInputError(
            "classes are missing: they never come from the data",
            'give classes=[0, 1], or classes=["no", "yes"]',
            "not-declared",
        )
    given = isinstance(classes, Sequence | range | np.ndarray) and not isinstance(classes, str)
    plain = np.asarray(list(classes)).tolist() if given else []  # type: ignore[call-overload]
    words = {isinstance(label, str) for label in plain}
    if len(plain) < 2 or len(words) > 1 or not all(isinstance(label, str | int | float) for label in plain):
        plain = []
    found = tuple(np.unique(plain).tolist())
    if not found or len(found) != len(plain) or found[-1] != found[-1]:  # NaN
        raise InvalidInputError(
            f"classes must be two or more different labels, all text or all numbers, not {show(classes)}",
            "for example classes=[0, 1]",
            "wrong-type",
        )
    return found


def steps_of(values: Floats, column: Column) -> Floats:
    """Each value as a whole number of steps, clipped: a function of that value alone. NaN stays NaN."""
    span = column.high - column.low
    if not span or math.isinf(span):
        return np.where(np.isnan(values), np.nan, 0.0)
    clipped = np.clip(values, column.low, column.high)
    return np.asarray(np.rint((clipped - column.low) / span * column.top), np.float64)

"""What a row adds in the rounds of logistic regression: to a first look, to the shape of all rows, and to gradients.

Everything is whole numbers. Rows are measured from the noisy middle, in the noisy width of all rows together; margins
are products of whole vectors, and links come from tables.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from privet.backends.contributions import Block, Scaled, Vectors
from privet.core.claim import claim
from privet.core.rounds import Sums, gram, vector
from privet.learn.look import UNIT, from_middle, one_hot, within
from privet.typing import Floats

LENGTH = 2**12  # steps of the longest row of the shape, and of a probability of 1
LIMIT = LENGTH**2  # the longest vector that a row adds to a gradient
FARTHEST = 2.0  # the longest row of a gradient, in widths
SHAPED = 1.5  # the same of the shape, where squares are measured
NARROW = 0.6  # absolute values of a row add up to so much of the most that its length allows
ACROSS = 1.4  # the same for residuals of several classes: few of them are large
CONSTANT = 0.4  # what stands for the intercept in each row, in widths
WEIGHT = 2**10  # steps of a coefficient
HEAVIEST = 2**24  # steps of the largest coefficient: margins stay exact
FINE = 64  # places of a table of links for each unit of a margin
FLAT = 16  # a margin so large is as good as any larger one


@dataclass(frozen=True, slots=True)
class Design:
    """How many columns and classes there are; `pure`: noise is by absolute values, so these are kept small."""

    columns: int
    classes: int
    pure: bool

    @property
    def outputs(self) -> int:
        """Two classes have one margin."""
        return 1 if self.classes == 2 else self.classes

    @property
    def fineness(self) -> int:
        """Steps of each column in the first look: all columns together are about as long as the rest."""
        return max(1, round(UNIT * (3 / self.columns if self.pure else 2 / math.sqrt(self.columns))))

    def first(self) -> Sums:
        """1, the class, the mean of all values and that of their squares, and each value."""
        columns, size = self.columns, 3 + self.classes + self.columns
        return vector(size, 4 * UNIT**2 + columns * self.fineness**2, l1=4 * UNIT + columns * self.fineness)

    def shape(self) -> Sums:
        """All products; where noise is by absolute values, squares only, which are far shorter."""
        if not self.pure:
            return gram(self.columns, LENGTH**2)
        return vector(self.columns, LENGTH**4, l1=LENGTH**2, positive=True)

    def gradient(self, first: bool) -> Sums:
        l1 = round(self.narrow(self.columns + 1) * LIMIT * (1 if self.starts(first) or self.outputs == 1 else ACROSS))
        return vector((self.columns + 1) * self.outputs, LIMIT**2, l1=l1 if self.pure else None)

    def starts(self, first: bool) -> bool:
        """Is this round of sums of each class? They are half as long as residuals of several classes."""
        return first and self.pure and self.outputs > 1

    def narrow(self, numbers: int) -> float:
        """Absolute values of so many numbers, for a length of 1."""
        return max(NARROW * math.sqrt(numbers), 1.0) if self.pure else math.sqrt(numbers)


@claim("row-functions")
def first_rows(block: Block, tops: Floats, design: Design) -> Floats:
    values = from_middle(block.raw[:, : design.columns], tops)
    mean = np.rint(values.sum(axis=1) / design.columns)
    squares = np.rint(np.einsum("ij,ij->i", values, values) / (UNIT * design.columns))
    ones = np.full(len(values), float(UNIT))
    classes = UNIT * one_hot(block.raw[:, -1], design.classes)
    return np.column_stack([ones, classes, mean, squares, np.rint(values * (design.fineness / UNIT))])


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """Rows are measured from the noisy middle of all, in their noisy width. Ranges of columns are read as -1 to 1."""

    tops: Floats
    middle: Floats
    width: float
    design: Design

    @claim("row-functions")
    def shape(self, raw: Floats) -> Floats:
        return within(
            self._away(raw) * (LENGTH / SHAPED), LENGTH * math.ceil(math.sqrt(self.design.columns)), LENGTH**2
        )

    @claim("row-functions")
    def gradient(self, raw: Floats, steps: float) -> Floats:
        """In so many steps of a width, with a last number that stands for the intercept."""
        most = FARTHEST * steps
        rows = within(self._away(raw) * steps, math.ceil(most * self.design.narrow(self.design.columns)), int(most**2))
        return np.column_stack([rows, np.full(len(rows), float(round(CONSTANT * steps)))])

    @claim("row-functions")
    def _away(self, raw: Floats) -> Floats:
        return (from_middle(raw[:, : self.design.columns], self.tops) / UNIT - self.middle) / self.width


def shape_rows(block: Block, design: Design) -> Vectors | Scaled:
    return Vectors(block.values**2) if design.pure else Scaled()


class Gradient:
    """The row function of a gradient: its residuals times each of its numbers, shortened."""

    def __init__(self, design: Design, sums: Sums, weights: Floats | None, unit: float) -> None:
        """`weights`: a column for each margin; None: a row adds its numbers to its class. `unit`: steps of a width."""
        self.design, self.sums = design, sums
        self.weights = None if weights is None else np.clip(np.rint(weights * WEIGHT), -HEAVIEST, HEAVIEST)
        self.places = FINE / (WEIGHT * unit)

    def __call__(self, block: Block) -> list[Scaled]:
        return [Scaled(scaled(self.residuals(block), block, self.sums))]

    @claim("row-functions")
    def residuals(self, block: Block) -> Floats:
        classes = block.raw[:, -1]
        if self.weights is None:
            return LENGTH * one_hot(classes, self.design.classes)
        margins = block.values @ self.weights
        if self.design.outputs == 1:
            return LENGTH * classes[:, None] - likely(margins, self.places)
        return LENGTH * one_hot(classes, self.design.classes) - shares(margins, self.places)


def _tables() -> tuple[Floats, Floats]:
    """Of margins from -FLAT to FLAT the probability; of margins from 0 to FLAT below the largest the exponential."""
    at = np.arange(-FLAT * FINE, FLAT * FINE + 1) / FINE
    return np.rint(LENGTH / (1 + np.exp(-at))), np.rint(2**20 * np.exp(-at[FLAT * FINE :]))


LIKELY, POWERS = _tables()


@claim("row-functions")
def likely(margins: Floats, places: float) -> Floats:
    """Also where noise left no number: a failure would tell that there is a row."""
    at = np.clip(np.nan_to_num(np.rint(margins * places)), -FLAT * FINE, FLAT * FINE)
    return np.asarray(LIKELY[(at + FLAT * FINE).astype(np.int64)], np.float64)


@claim("row-functions")
def shares(margins: Floats, places: float) -> Floats:
    """Probabilities of several classes."""
    below = np.nan_to_num(np.rint((margins.max(axis=1, keepdims=True) - margins) * places))
    powers = POWERS[np.clip(below, 0, FLAT * FINE).astype(np.int64)]
    return np.asarray(np.rint(powers * LENGTH / powers.sum(axis=1, keepdims=True)), np.float64)


@claim("row-functions")
def scaled(residuals: Floats, block: Block, sums: Sums) -> Floats:
    """Residuals made smaller, until the products with the row's numbers keep both limits."""
    squares = np.einsum("ij,ij->i", residuals, residuals) * block.squares
    sizes = np.abs(residuals).sum(axis=1) * block.sizes
    factor = np.minimum(np.sqrt(sums.l2_squared / np.maximum(squares, 1)), sums.l1 / np.maximum(sizes, 1))
    long = (squares > sums.l2_squared) | (sizes > sums.l1)
    return np.where(long[:, None], np.trunc(residuals * (factor * (1 - 2.0**-40))[:, None]), residuals)

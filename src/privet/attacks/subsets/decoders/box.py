"""Least squares in the box: the values from 0 to top whose sums are nearest to the answers. For any matrix.

For normal errors this is the likeliest point of the box, and rounding it gives the secrets. The box is worth much: with
four random queries a person it takes a third of the errors away that plain least squares makes.
"""

from __future__ import annotations

import math

import numpy as np

from privet.attacks.subsets.decoders import checked
from privet.attacks.subsets.decoders.descent import DescentSearch, Minimum, Progress
from privet.attacks.subsets.decoders.problem import Decoded, Errors, Matrix
from privet.typing import Floats

NAME = "box least squares"


class Squares:
    def each(self, residuals: Floats) -> Floats:
        return residuals**2 / 2

    def slope(self, residuals: Floats) -> Floats:
        return residuals


def decode(  # noqa: PLR0913  what every decoder takes
    matrix: Matrix,
    answers: object,
    errors: Errors | None = None,
    *,
    top: object = None,
    alike: bool = False,
    progress: Progress | None = None,
) -> Decoded:
    """`alike` says that all queries are random in the same way, which is what the probabilities `right` rest on."""
    asked = checked.question(matrix, answers, top)
    found = DescentSearch.of(matrix, asked, progress).minimum(Squares())
    return Decoded(
        decoder=NAME,
        values=found.values,
        bits=checked.whole(found.values, asked.top),
        right=chances(matrix, found, asked.weights) if alike and (asked.top == 1).all() else None,
        errors=Errors("normal", spread(found, asked.top)) if errors is None else errors,
        rounds=found.rounds,
        converged=found.converged,
    )


def spread(found: Minimum, top: Floats) -> float:
    """The standard deviation of errors, from residuals: values inside the box were fitted and took a share of it."""
    rows = len(found.residuals)
    return math.sqrt(float(found.residuals @ found.residuals) / max(rows - free(found.values, top), 1))


def free(values: Floats, top: Floats) -> int:
    return int(((values > 0) & (values < top)).sum())


def chances(matrix: Matrix, found: Minimum, weights: Floats) -> Floats:
    """The probability that each bit is right, if the entries of a column are independent and alike.

    Were a person's value fitted to residuals that do not know it yet, it would be the truth plus a normal error. For
    such matrices (approximate message passing; Donoho, Maleki and Montanari 2009) that residual is the one at the
    minimum over 1 - f / m, with f the number of values inside the box, and the error has its variance over the squares
    of the person's column around its mean. Between 0 and 1, equally likely, the odds are then e^(|value - 1/2| /
    variance). That is an approximation, which a test finds calibrated.
    """
    rows = len(found.residuals)
    columns = weights - matrix.back(np.ones(rows)) ** 2 / rows
    residuals = found.residuals / max(1 - free(found.values, np.ones(len(weights))) / rows, 1 / rows)
    columns = np.maximum(columns, 1e-9 * weights)
    fitted = found.values - matrix.back(residuals - residuals.mean()) / columns
    variance = float(residuals @ residuals) / rows / columns
    odds = np.abs(fitted - 0.5) / np.maximum(variance, 1e-12)
    agree = (fitted > 0.5) == (found.values >= 0.5)
    return np.asarray(1 / (1 + np.exp(np.clip(np.where(agree, -odds, odds), -700, 700))))

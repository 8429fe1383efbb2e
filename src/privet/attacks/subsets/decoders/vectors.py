"""What every matrix asks of the numbers it is given."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from privet.errors import InvalidInputError
from privet.typing import Floats


def vector(values: npt.ArrayLike, size: int, what: str) -> Floats:
    """`size` numbers in a row, as the loops want them."""
    numbers = np.ascontiguousarray(values, dtype=np.float64)
    if numbers.shape != (size,):
        raise InvalidInputError(
            f"{_shape(numbers)} for {size} {what}", f"give one number for each of the {what}", "wrong-length"
        )
    return numbers


def table(values: object) -> npt.NDArray[Any]:
    """Rows and columns of numbers."""
    try:
        array = np.asarray(values)
    except ValueError:
        raise InvalidInputError(
            "rows of the matrix have different lengths", "give answers x people", "wrong-shape"
        ) from None
    if array.ndim != 2 or array.dtype.kind not in "biuf":
        raise InvalidInputError(
            f"the matrix is {_shape(array)} of {array.dtype}",
            "give a table of numbers, answers x people",
            "wrong-shape",
        )
    return array


def _shape(array: npt.NDArray[Any]) -> str:
    return f"an array of shape {array.shape}"

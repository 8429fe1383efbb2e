"""Noise of OpenDP at epsilon 1 for a sensitivity of 1, a draw a call. Run by its own virtual environment.

The vectors draw many at once: a vector of equal numbers is the mechanism repeated, each with its own noise.
"""

from typing import Any

import numpy as np
import opendp.prelude as dp
from draws import Mechanism, serve

dp.enable_features("contrib")
BATCH = 10_000  # numbers of one call: each needs a few hundred bytes in the library


def repeated(measurement: Any, kind: type) -> Mechanism:
    """A measurement on vectors, as draws of one number."""

    def draw(data: float, size: int) -> Any:
        parts = [measurement([kind(data)] * min(BATCH, size - done)) for done in range(0, size, BATCH)]
        return np.array([number for part in parts for number in part], kind)

    return draw


def vectors(kind: str) -> Any:
    return dp.vector_domain(dp.atom_domain(T=kind, nan=False) if kind == "f64" else dp.atom_domain(T=kind))


FLOATS, WHOLE = vectors("f64"), vectors("i64")
MECHANISMS = {
    "laplace, floats": repeated(dp.m.make_laplace(FLOATS, dp.l1_distance(T="f64"), scale=1.0), float),
    "laplace, integers": repeated(dp.m.make_laplace(WHOLE, dp.l1_distance(T="i64"), scale=1.0), int),
    "gaussian, floats": repeated(dp.m.make_gaussian(FLOATS, dp.l2_distance(T="f64"), scale=1.0), float),
}


if __name__ == "__main__":
    serve(["opendp"], MECHANISMS)

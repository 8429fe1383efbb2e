"""Noise of NumPy, as a textbook adds it: the exact answer plus a float."""

import numpy as np
from draws import serve

GENERATOR = np.random.default_rng()
MECHANISMS = {
    "laplace, floats": lambda data, size: data + GENERATOR.laplace(0.0, 1.0, size),
    "gaussian, floats": lambda data, size: data + GENERATOR.normal(0.0, 1.0, size),
}


if __name__ == "__main__":
    serve(["numpy"], MECHANISMS)

"""SmartNoise SQL's own noise at epsilon 1 for a sensitivity of 1, many in one release. Run by its own environment."""

import numpy as np
from draws import serve
from snsql.sql._mechanisms.laplace import Laplace

MECHANISMS = {
    "laplace, floats": lambda data, size: np.array(Laplace(1.0, sensitivity=1).release([float(data)] * size)),
}


if __name__ == "__main__":
    serve(["smartnoise-sql", "opendp"], MECHANISMS)

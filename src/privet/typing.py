"""Arrays, by what is in them. One name for one kind in the whole house."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Truths = npt.NDArray[np.bool_]
Words = npt.NDArray[np.uint64]

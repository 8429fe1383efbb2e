"""The error function, compiled. Importing this file imports numba, so `normal` does it late."""

from __future__ import annotations

import math

from privet.machine_code import compiled
from privet.typing import Floats


@compiled
def erfc(numbers: Floats, into: Floats) -> None:
    for place in range(len(numbers)):
        into[place] = math.erfc(numbers[place])

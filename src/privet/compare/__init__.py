"""Ways to ship the same records, side by side: what is left to use, and what an attacker gets.

Above the rooms that anonymize, attack, and answer under differential privacy: it uses all three and is used by none.
"""

from typing import NoReturn

from privet.compare.comparison import compare_releases
from privet.compare.leakage import leak
from privet.compare.measured import Comparison, Measured
from privet.compare.ways import Way, ways

__all__ = ["Comparison", "Measured", "Way", "compare_releases", "leak", "ways"]


def __getattr__(name: str) -> NoReturn:
    if name == "compare":  # its name in version 0.1
        raise AttributeError("privet.compare.compare was renamed to compare_releases", name=name)
    raise AttributeError(f"module 'privet.compare' has no attribute '{name}'", name=name)

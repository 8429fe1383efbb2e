"""For tests of the guarantee: exact numbers, replays and side channels of vaults that were made for testing.

Such a vault is for ever labelled NOT PRIVATE. Nothing here works on any other.
"""

from __future__ import annotations

from privet.testing.asked import side_channels
from privet.testing.exact_vectors import Exact, ExactPart, exact
from privet.testing.frozen import replay

__all__ = ["Exact", "ExactPart", "exact", "replay", "side_channels"]

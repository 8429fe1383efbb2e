"""Columns of the tables that a linkage returns."""

from __future__ import annotations

import numpy as np

from privet.records.microdata import RecordColumn, narrow
from privet.typing import Floats, Integers


def numbered(name: str, numbers: Integers, missing: int | None = None) -> RecordColumn:
    distinct, codes = np.unique(numbers, return_inverse=True)
    texts = tuple(None if one == missing else str(one) for one in distinct.tolist())
    return RecordColumn(name, narrow(codes, len(texts)), texts)


def rounded(name: str, shares: Floats) -> RecordColumn:
    """To four digits, downward, so that nothing likely looks sure."""
    distinct, codes = np.unique(np.floor(shares * 10_000).astype(np.int64), return_inverse=True)
    return RecordColumn(name, narrow(codes, len(distinct)), tuple(f"{one / 10_000:.4f}" for one in distinct.tolist()))

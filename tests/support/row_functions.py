"""Is what a function gives of a row the same wherever the row stands, and whoever stands beside it?"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from privet.backends.contributions import Block, Recode, RowFunction, Scaled, Vectors, _measured
from privet.typing import Floats

PIECES = (1, 2, 3, 5, 8, 13)


def block_of(raw: Floats, recode: Recode | None = None) -> Block:
    return Block(raw, *_measured(raw if recode is None else recode.function(raw)))


def _bare(given: Vectors | Scaled) -> bool:
    return isinstance(given, Scaled) and given.by is None


def _given(function: RowFunction, raw: Floats, recode: Recode | None) -> list[Floats]:
    block = block_of(raw, recode)
    found = [one.matrix if isinstance(one, Vectors) else one.by for one in function(block) if not _bare(one)]
    return [block.values, *[np.asarray(one) for one in found]]


def assert_row_function(function: RowFunction, raw: Floats, recode: Recode | None = None) -> None:
    """Whole, in any order, and in pieces of any size: the same numbers for each row, bit by bit."""
    whole = _given(function, raw, recode)
    order = np.random.default_rng(5).permutation(len(raw))
    for one, other in zip(whole, _given(function, raw[order], recode), strict=True):
        np.testing.assert_array_equal(one[order], other)
    for size in PIECES:
        parts = [_given(function, raw[at : at + size], recode) for at in range(0, len(raw), size)]
        for place, one in enumerate(whole):
            np.testing.assert_array_equal(one, np.concatenate([part[place] for part in parts]))


def assert_matrix_function(function: Callable[[Floats], Floats], raw: Floats) -> None:
    assert_row_function(lambda block: [Vectors(function(block.raw))], raw)

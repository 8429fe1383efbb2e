"""Loops as machine code. Importing this file imports numba, which takes long: whoever has loops does it late."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

Loop = TypeVar("Loop", bound=Callable[..., Any])


def compiled(loop: Loop) -> Loop:
    """Machine code that other threads can run beside, kept on disk where there is a place for it."""
    try:
        return cast(Loop, numba.njit(nogil=True, cache=True)(loop))
    except RuntimeError:  # no folder to keep it in
        return cast(Loop, numba.njit(nogil=True)(loop))

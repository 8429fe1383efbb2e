"""Are two answers the same, and do they look the same? Of numbers a look keeps the type only: they may carry noise."""

from __future__ import annotations

import math
import re
from collections.abc import Hashable, Iterator, Mapping, Set
from typing import Any

import numpy as np

NUMBER = re.compile(r"[-+]?\d+(?:[.,]\d+)*(?:[eE][-+]?\d+)?")


def same(one: Any, two: Any) -> bool:
    """Equal for every reader: types, order of keys, the sign of zero; and NaN is NaN."""
    if type(one) is not type(two):
        return False
    match one:
        case float():
            return (one == two and math.copysign(1, one) == math.copysign(1, two)) or (
                math.isnan(one) and math.isnan(two)
            )
        case Mapping():
            return same(list(one.items()), list(two.items()))
        case list() | tuple():
            return len(one) == len(two) and all(same(a, b) for a, b in zip(one, two, strict=True))
        case np.ndarray():
            return one.dtype == two.dtype and one.shape == two.shape and same(one.tolist(), two.tolist())
        case _ if _is_frame(one):
            return same(list(one.columns), list(two.columns)) and bool(one.equals(two))
    return bool(one == two)


def leaves(value: Any) -> Iterator[Any]:
    """All that is in a nested answer, in order; the keys of a mapping are in it, too."""
    match value:
        case np.ndarray():
            yield from leaves(value.tolist())
        case Mapping():
            for key, item in value.items():
                yield key
                yield from leaves(item)
        case list() | tuple() | Set():
            for item in value:
                yield from leaves(item)
        case _:
            yield value


def look(value: Any) -> Hashable:
    """All of an answer but its numbers: types, lengths, order, names, texts with their numbers blanked out."""
    match value:
        case None | bool():
            return type(value).__name__
        case str():
            return "str", NUMBER.sub("#", value)
        case bytes():
            return "bytes", NUMBER.sub("#", value.decode("utf-8", "backslashreplace"))
        case float() if not math.isfinite(value):
            return type(value).__name__, str(value)
        case Mapping():
            return type(value).__name__, tuple((_name(key), look(item)) for key, item in value.items())
        case list() | tuple():
            return type(value).__name__, tuple(look(item) for item in value)
        case Set():
            return type(value).__name__, tuple(sorted(map(repr, map(look, value))))
        case np.ndarray():
            return "array", value.shape, str(value.dtype), tuple(look(item) for item in value.ravel().tolist())
        case BaseException():
            return "raised", type(value).__name__, str(value), tuple(_behind(value))
        case _ if _is_frame(value):
            columns = tuple((str(name), str(value[name].dtype)) for name in value.columns)
            return type(value).__name__, columns, len(value)
    return type(value).__name__


def _name(key: Any) -> Hashable:
    """Names of columns are a part of the look; numbers as keys, too."""
    return key if isinstance(key, str | int | None) else look(key)


def _behind(error: BaseException) -> Iterator[str]:
    """Errors that a printed traceback shows beside this one."""
    behind = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    while behind is not None:
        yield f"{type(behind).__name__}: {behind}"
        behind = behind.__cause__ or behind.__context__


def _is_frame(value: Any) -> bool:
    """Of pandas or polars, without importing either."""
    return hasattr(value, "columns") and hasattr(value, "equals")

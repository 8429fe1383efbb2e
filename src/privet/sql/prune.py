"""What of an origin is used: columns that nobody asks for are not read, and their declarations do not matter."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import assert_never

from privet.core.expression import columns_in
from privet.core.plan import Joined, Origin, PerUnit, Scan

Used = dict[str, set[str]]  # columns by table


def pruned(origin: Origin, needed: Collection[str], used: Used) -> Origin:
    """The same rows with no other columns than the needed ones. `used` is told what is read of each table."""
    match origin:
        case Scan():
            used.setdefault(origin.table, set()).update(needed)
            return origin
        case Joined():
            names = tuple((name, here) for name, here in origin.names if here in needed)
            inside = {here for _, here in origin.names}
            left = {name for name in needed if name not in inside} | {mine for mine, _ in origin.on}
            right = {name for name, _ in names} | {yours for _, yours in origin.on}
            return replace(
                origin, left=pruned(origin.left, left, used), right=pruned(origin.right, right, used), names=names
            )
        case PerUnit():
            kept = tuple(aggregate for aggregate in origin.aggregates if aggregate.name in needed)
            parts = (origin.where, tuple(key.value for key in origin.keys), kept)
            return replace(origin, source=pruned(origin.source, set(columns_in(parts)), used), aggregates=kept)
        case _:
            assert_never(origin)

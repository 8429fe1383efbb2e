"""ROLLUP, CUBE and GROUPING SETS: which groupings are asked for, finest first as they are written."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from sqlglot import exp

from privet.errors import RefusedQueryError

MOST_LEVELS = 64
Level = tuple[exp.Expr, ...]
ROLLED = (exp.Rollup, exp.Cube, exp.GroupingSets)


def is_rolled(group: exp.Expr) -> bool:
    """Is there more than one grouping?"""
    return any(isinstance(node, ROLLED) for node in group.expressions) or bool(_trailing(group))


def levels_of(group: exp.Expr) -> list[Level]:
    """Every grouping: each way of taking one from each item, since GROUP BY a, ROLLUP (b) has a in all of them."""
    trailing = _trailing(group)
    if trailing:
        (kind,) = trailing
        return _checked(_sets(type(kind), [_nodes(node) for node in group.expressions]))
    found: list[Level] = [()]
    for node in group.expressions:
        found = _checked([(*level, *more) for level in found for more in _levels(node)])
    return found


def _trailing(group: exp.Expr) -> list[exp.Expr]:
    """WITH ROLLUP, WITH CUBE."""
    return [*(group.args.get("rollup") or []), *(group.args.get("cube") or [])]


def _levels(node: exp.Expr) -> list[Level]:
    if isinstance(node, exp.GroupingSets):
        return _checked([level for item in node.expressions for level in _levels(item)])
    if isinstance(node, exp.Rollup | exp.Cube):
        return _sets(type(node), [_nodes(item) for item in node.expressions])
    return [_nodes(node)]


def _nodes(node: exp.Expr) -> Level:
    return tuple(node.expressions) if isinstance(node, exp.Tuple) else (node.unnest(),)


def _sets(kind: type[exp.Expr], items: Sequence[Level]) -> list[Level]:
    """ROLLUP leaves items out from the end, CUBE in all ways."""
    if len(items) > MOST_LEVELS or (kind is exp.Cube and 2 ** len(items) > MOST_LEVELS):
        return _checked([()] * (MOST_LEVELS + 1))
    sizes = range(len(items), -1, -1)
    if kind is exp.Cube:
        kept = [chosen for size in sizes for chosen in itertools.combinations(items, size)]
    else:
        kept = [tuple(items[:size]) for size in sizes]
    return [tuple(itertools.chain.from_iterable(chosen)) for chosen in kept]


def _checked(levels: list[Level]) -> list[Level]:
    if len(levels) > MOST_LEVELS:
        raise RefusedQueryError(
            f"GROUP BY asks for more than {MOST_LEVELS} groupings",
            "list those you need: GROUPING SETS ((a, b), (a), ())",
            "too-many",
        )
    return levels

"""Ties a trusted function to the statements in docs/claims.md that it must make true."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

Thing = TypeVar("Thing", bound=Callable[..., object])

CLAIMS: dict[str, list[str]] = {}


def claim(*ids: str) -> Callable[[Thing], Thing]:
    """Record that the decorated function or class makes the claims `ids` true."""

    def record(thing: Thing) -> Thing:
        for name in ids:
            CLAIMS.setdefault(name, []).append(f"{thing.__module__}.{thing.__qualname__}")
        return thing

    return record

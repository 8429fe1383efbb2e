"""A tree of words, as a terminal shows it: 100 columns, long words wrapped beside their branch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from textwrap import wrap

WIDTH = 100
NARROWEST = 30  # however deep the tree is


@dataclass(frozen=True, slots=True)
class TreeBranch:
    text: str
    items: tuple[TreeBranch, ...] = ()


def drawn(branches: Sequence[TreeBranch], before: str = "") -> Iterator[str]:
    """Line by line; `before` stands at the beginning of each."""
    for place, branch in enumerate(branches):
        last = place == len(branches) - 1
        below = before + ("   " if last else "│  ")
        room = max(WIDTH - len(below) - 3, NARROWEST)
        first, *more = wrap(branch.text, room, break_on_hyphens=False)
        yield before + ("└─ " if last else "├─ ") + first
        beside = "│  " if branch.items else "   "
        yield from (below + beside + line for line in more)
        yield from drawn(branch.items, below)

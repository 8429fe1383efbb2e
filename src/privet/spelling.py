"""Names that somebody may have meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def closest(name: object, names: Iterable[str], similar: float = 0.65) -> str | None:
    """Which of these names somebody may have meant, if one is alike. Upper and lower case count as the same, and so do
    "-" and "_"."""
    plain = {_plain(other): other for other in names}
    found = difflib.get_close_matches(_plain(str(name)[:100]), plain, 1, similar)
    return plain[found[0]] if found else None


def _plain(name: str) -> str:
    return name.lower().replace("-", "_")


def did_you_mean(name: object, names: Iterable[str], similar: float = 0.65) -> str:
    """The beginning of a remedy, or nothing."""
    near = closest(name, names, similar)
    return "" if near is None else f"did you mean {near if near.isprintable() else repr(near)}? "

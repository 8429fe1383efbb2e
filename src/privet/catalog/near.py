"""What somebody may have meant by a word that is not known."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def near(word: object, known: Iterable[str]) -> str:
    """What to say first of a word that is not known: the one of those known that it may be meant to be, if any."""
    by_lower = {name.lower().replace("-", "_"): name for name in known}
    close = difflib.get_close_matches(str(word)[:100].lower().replace("-", "_"), by_lower, 1, 0.65)
    return f"did you mean {by_lower[close[0]]}? " if close else ""

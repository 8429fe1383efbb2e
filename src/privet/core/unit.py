"""Who is protected, and what "neighbors" means. The owner says both; they are never mixed silently."""

from __future__ import annotations

from enum import StrEnum

from privet.core.rational import show
from privet.errors import InvalidInputError


class Neighbors(StrEnum):
    """Two tables are neighbors if one unit is added or removed, or if one unit's rows are replaced (n is public)."""

    ADD_REMOVE = "add-remove"
    REPLACE = "replace"


def neighbors_from(text: object) -> Neighbors:
    """The relation that a user wrote."""
    try:
        return Neighbors(text)  # type: ignore[arg-type]
    except ValueError:
        raise InvalidInputError(
            f"neighbors must be 'add-remove' or 'replace', not {show(text)}",
            "give 'add-remove' to hide whether a person is in the table, 'replace' if the number of people is public",
            "unknown-choice",
        ) from None

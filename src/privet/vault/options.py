"""What may be said with a query beside its text: the price, the limits, who asks, and of whom."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from privet.catalog.declarations import LIMITS, Table, with_limits
from privet.core.rational import show
from privet.errors import InvalidInputError
from privet.estimates.pricing import Price

if TYPE_CHECKING:
    from privet.suggest import Suggestion

AUTO = "auto"


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(Price):
    """The keywords of `Vault.sql`, which explains them; a weight is a part of the plan."""

    analyst: str = ""
    max_groups: int | None = None
    max_rows_per_group: int | None = None
    max_rows: int | None = None
    bounds: Suggestion | str | None = None
    private_keys: bool = False
    other: str | None = None
    quantile_intervals: bool = True
    part: str | None = None

    @property
    def chooses(self) -> bool:
        """Whether the question is to choose its limits itself."""
        if isinstance(self.bounds, str) and self.bounds != AUTO:
            raise InvalidInputError(
                f"bounds cannot be {show(self.bounds)}",
                'give bounds="auto", or what vault.suggest_bounds gave',
                "unknown-option",
            )
        return self.bounds == AUTO

    @property
    def suggestion(self) -> Suggestion | None:
        return None if self.bounds is None or isinstance(self.bounds, str) else self.bounds

    def limits(self, table: Table) -> dict[str, int]:
        """What is said of them; a suggestion counts where nothing else is said."""
        limits = with_limits({name: getattr(self, name) for name in LIMITS})
        found = self.suggestion
        if found is None or table.unit is None:
            return limits
        return {"max_groups": found.max_groups, "max_rows_per_group": found.max_rows_per_group, **limits}

    @property
    def label(self) -> str | None:
        """Of the row for all groups that are not shown."""
        if self.other is None or (isinstance(self.other, str) and self.other):
            return self.other
        raise InvalidInputError(
            f"other must be a text, not {show(self.other)}", 'for example other="all other cities"', "wrong-type"
        )

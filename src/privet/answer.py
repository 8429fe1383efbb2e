"""What was published, with its error, its price and its receipt. Data only: nothing here can reach the table."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from privet.core.estimate import Line, lines
from privet.core.expression import Value
from privet.core.loss import Loss
from privet.core.moments import Estimate
from privet.core.question import Question
from privet.core.rational import rational, show
from privet.errors import InvalidInputError
from privet.ledger import Receipt

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd
    import polars as pl
    import pyarrow as pa

SHARE = Fraction(95, 100)
SUREST = 1 - Fraction(1, 10**15)  # floats bound the tails, and end somewhere


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One row a group. `interval` says how far each value may be from the exact one, where that can be said: of a
    quantile, MIN or MAX it cannot."""

    question: Question = field(repr=False)
    noisy: tuple[tuple[int, ...], ...] = field(repr=False)
    receipt: Receipt
    cost: Loss
    replayed: bool = False
    warnings: tuple[str, ...] = ()
    dropped: Fraction | None = None  # about which share of the groups of units, if a suggestion was released

    @property
    def columns(self) -> tuple[str, ...]:
        return self.question.outline.plan.outputs

    def lines(self, share: object = SHARE) -> list[Line]:
        """The rows as exact numbers: what the views are made of."""
        return lines(self.question, self.noisy, _checked_share(share))

    @property
    def rows(self) -> list[dict[str, Any]]:
        """Plain values: whole numbers, floats, texts, dates, None."""
        return [{name: _plain(item) for name, item in line.items()} for line in self.lines()]

    def interval(self, share: object = SHARE) -> list[dict[str, Any]]:
        """Row by row, {"value", "low", "high"} for every published number; each holds with probability `share`."""
        return [{name: _with_interval(item) for name, item in line.items()} for line in self.lines(share)]

    def to_json(self) -> dict[str, Any]:
        """For `--json` and the server."""
        return {
            "columns": list(self.columns),
            "rows": [{name: _json(item) for name, item in row.items()} for row in self.interval()],
            "confidence": float(SHARE),
            "cost": loss_json(self.cost),
            "receipt": {"entry": self.receipt.entry, "digest": self.receipt.digest},
            "replayed": self.replayed,
            "warnings": list(self.warnings),
            "dropped": None if self.dropped is None else float(self.dropped),
        }

    def to_pandas(self, *, intervals: bool = False) -> pd.DataFrame:
        """With `intervals=True` every number n also has n_low and n_high."""
        import pandas as pd  # noqa: PLC0415  only who asks for it needs it

        return pd.DataFrame(self._table(intervals=intervals))

    def to_polars(self, *, intervals: bool = False) -> pl.DataFrame:
        import polars as pl  # noqa: PLC0415

        return pl.DataFrame(self._table(intervals=intervals), strict=False)

    def to_arrow(self, *, intervals: bool = False) -> pa.Table:
        import pyarrow as pa  # noqa: PLC0415

        return pa.table(self._table(intervals=intervals))

    def chart(self) -> alt.LayerChart | alt.VConcatChart:
        """Bars with error bars; one panel an aggregate."""
        from privet.report.answer_chart import chart  # noqa: PLC0415

        return chart(self)

    def __str__(self) -> str:
        from privet.report.answer_text import text  # noqa: PLC0415

        return text(self)

    def _repr_html_(self) -> str:
        from privet.report.answer_text import html  # noqa: PLC0415

        return html(self)

    def _table(self, *, intervals: bool) -> dict[str, list[Any]]:
        rows = self.interval()
        table: dict[str, list[Any]] = {}
        for name in self.columns:
            cells = [row[name] for row in rows]
            numbers = any(isinstance(cell, dict) for cell in cells)
            table[name] = [cell["value"] for cell in cells] if numbers else cells
            if numbers and intervals:
                table[f"{name}_low"] = [cell["low"] for cell in cells]
                table[f"{name}_high"] = [cell["high"] for cell in cells]
        return table


def loss_json(loss: Loss) -> dict[str, float | None]:
    """Both gauges as floats; None is infinite."""
    return {
        name: None if amount is None else float(amount)
        for name, amount in (
            ("epsilon", loss.epsilon), ("delta", loss.delta), ("rho", loss.rho), ("rho_delta", loss.rho_delta)
        )
    }  # fmt: skip


def _checked_share(share: object) -> Fraction:
    number = rational(share, "share")
    if not 0 < number <= SUREST:
        raise InvalidInputError(f"share must lie between 0 and 1 - 1e-15, not {show(share)}", "give such as 0.95")
    return number


def _number(number: Fraction) -> int | float:
    return int(number) if number.denominator == 1 else float(number)


def _plain(item: Value | Estimate) -> Any:
    value = item.value if isinstance(item, Estimate) else item
    return _number(value) if isinstance(value, Fraction) else value


def _with_interval(item: Value | Estimate) -> Any:
    if not isinstance(item, Estimate):
        return _plain(item)
    low, high = (None if end is None else _number(end) for end in (item.low, item.high))
    return {"value": _number(item.value), "low": low, "high": high}


def _json(item: Any) -> Any:
    return item.isoformat() if isinstance(item, dt.date) else item

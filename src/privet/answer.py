"""What was published, with its error, its price and its receipt. Data only: nothing here can reach the table."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from privet.core.expression import Value
from privet.core.loss import Loss
from privet.core.rational import rational, show
from privet.core.top import compared
from privet.errors import InvalidInputError
from privet.estimates.choosing import Affected, Selection, affected
from privet.estimates.estimate import Line, Row, chosen_by, rows_of
from privet.estimates.fitting import Fitted
from privet.estimates.levels import Level, finest
from privet.estimates.moments import Estimate
from privet.estimates.priced import Priced
from privet.estimates.publication import AS_RELEASED, Publication, check_publication
from privet.estimates.ranked import is_unknown
from privet.estimates.top import best_of
from privet.ledger import Ledger, Receipt

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd
    import polars as pl
    import pyarrow as pa

SHARE = Fraction(95, 100)
SUREST = 1 - Fraction(1, 10**15)  # floats bound the tails, and end somewhere


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One row a group, and one a total where totals were asked for: `levels` says which keys a row is about. `interval`
    says how far each value may be from the exact one, where that can be said. An average or a quantile that may be any
    value of its range is unknown: None instead of a number."""

    priced: Priced = field(repr=False)
    noisy: tuple[tuple[int, ...], ...] = field(repr=False)
    receipt: Receipt
    cost: Loss
    replayed: bool = False
    warnings: tuple[str, ...] = ()
    dropped: Fraction | None = None  # about which share of the groups of units, if a suggestion was released
    publication: Publication = AS_RELEASED
    rows_are_units: bool = False  # then there are no limits
    guarantee: Mapping[str, Any] | None = field(default=None, repr=False)  # what `privet recheck` prices
    fitted: Fitted | None = None  # if the question chose its limits
    kept: str = ""  # why it chose none, though somebody wished it

    @property
    def columns(self) -> tuple[str, ...]:
        return self.priced.plan.outputs

    @property
    def limits(self) -> tuple[str, ...]:
        """What of one unit counts at most, in words. A limit that cannot leave anything out is not named."""
        return () if self.rows_are_units else limits_of(self.priced)

    @property
    def choice_limits(self) -> tuple[str, ...]:
        """The same of groups that were chosen by their scores, for that choice: then there were all groups."""
        cells = replace(self.priced.cells, chosen=None)
        asked = replace(self.priced, cells=cells, bounds=compared(self.priced.bounds, cells.count))
        return () if self.rows_are_units else limits_of(asked)

    @property
    def selection(self) -> Selection:
        """How noisy numbers chose the rows (HAVING, ORDER BY with LIMIT), which their intervals allow for."""
        return chosen_by(self.priced, self.noisy, self.publication)

    @property
    def numbers(self) -> tuple[str, ...]:
        """The columns that are no keys."""
        keys = finest(self.priced.plan)
        return tuple(name for name in self.columns if name not in keys)

    @property
    def levels(self) -> list[Level]:
        """For every row the keys that it is about. Others are rolled up: None in the row, and meant is every value."""
        return [row.level for row in self.leveled()]

    def leveled(self, share: object = SHARE) -> list[Row]:
        """The rows as exact numbers, each with its level: what the views are made of."""
        return rows_of(self.priced, self.noisy, _checked_share(share), self.publication)

    def lines(self, share: object = SHARE) -> list[Line]:
        return [row.line for row in self.leveled(share)]

    def published(self, *, whole: bool = True, nonnegative: bool = True, additive: bool = True) -> Answer:
        """The same answer fit to print: counts and sums that are whole steps, never below 0, and add up to their
        totals. Nothing but the released numbers is used, so it is free. Each interval holds the exact number as before.
        """
        wished = Publication(whole=whole, nonnegative=nonnegative, additive=additive)
        check_publication(wished, self.priced.plan)
        return replace(self, publication=wished)

    @property
    def rows(self) -> list[dict[str, Any]]:
        """Plain values: whole numbers, floats, texts, dates, None."""
        return [{name: _plain(item) for name, item in line.items()} for line in self.lines()]

    def interval(self, share: object = SHARE) -> list[dict[str, Any]]:
        """Row by row, {"value", "low", "high"} for every published number; each holds with probability `share`."""
        return [self._intervals(line) for line in self.lines(share)]

    def _intervals(self, line: Line) -> dict[str, Any]:
        keys = finest(self.priced.plan)
        return {name: _plain(item) if name in keys else _with_interval(item) for name, item in line.items()}

    def to_json(self) -> dict[str, Any]:
        """For `--json` and the server. Where totals were asked for, `levels` has the keys that each row is about."""
        rows = self.leveled()
        plan = self.priced.plan
        return {
            "columns": list(self.columns),
            "rows": [{name: _json(item) for name, item in self._intervals(row.line).items()} for row in rows],
            **({"levels": [list(row.level) for row in rows]} if plan.levels else {}),
            **({} if self.publication == AS_RELEASED else {"published": asdict(self.publication)}),
            "confidence": float(SHARE),
            **self._chosen(),
            **self._best(),
            "cost": loss_json(self.cost),
            "guarantee": self.guarantee,
            "receipt": {"entry": self.receipt.entry, "digest": self.receipt.digest},
            "replayed": self.replayed,
            "warnings": list(self.warnings),
            "limits": list(self.limits),
            "fitted": None if self.fitted is None else self.fitted.to_json(),
            "dropped": None if self.dropped is None else float(self.dropped),
        }

    def _chosen(self) -> dict[str, Any]:
        """Whose intervals allow for a choice by noisy numbers; nothing where there was none."""
        selection = self.selection
        found = affected(self.priced, selection)
        return {} if found == Affected() else {"chosen": {"rows": selection.rows, **asdict(found)}}

    def _best(self) -> dict[str, Any]:
        """Of groups that were chosen by their scores: how many out of how many, by what, what of one person the choice
        counted, and how much more a group left out may have; nothing where none were."""
        best = best_of(self.priced, SHARE)
        if best is None:
            return {}
        return {"best": asdict(best) | {"left_out": _number(best.left_out), "limits": list(self.choice_limits)}}

    def to_pandas(self, *, intervals: bool = False) -> pd.DataFrame:
        """With `intervals=True` every number n also has n_low and n_high."""
        import pandas as pd  # noqa: PLC0415  only who asks for it needs it

        return pd.DataFrame(self.table(intervals=intervals))

    def to_polars(self, *, intervals: bool = False) -> pl.DataFrame:
        import polars as pl  # noqa: PLC0415

        return pl.DataFrame(self.table(intervals=intervals), strict=False)

    def to_arrow(self, *, intervals: bool = False) -> pa.Table:
        import pyarrow as pa  # noqa: PLC0415

        return pa.table(self.table(intervals=intervals))

    def chart(self) -> alt.LayerChart | alt.VConcatChart:
        """Bars with error bars; one panel an aggregate."""
        from privet.report.answer.chart import chart  # noqa: PLC0415

        return chart(self)

    def __str__(self) -> str:
        from privet.report.answer.text import text  # noqa: PLC0415

        return text(self)

    def _repr_html_(self) -> str:
        from privet.report.answer.text import html  # noqa: PLC0415

        return html(self)

    def table(self, *, intervals: bool = False, unknown: str | None = None) -> dict[str, list[Any]]:
        """Column by column; a number that is not known is `unknown`.

        Where totals were asked for, one more column names the keys that a row is about; another
        one has what every answer of this vault must say, if there is anything."""
        rows = self.leveled()
        lines = [self._intervals(row.line) for row in rows]
        table: dict[str, list[Any]] = {}
        for name in self.columns:
            cells = [line[name] for line in lines]
            table[name] = cells
            if name in self.numbers:
                table[name] = [cell["value"] for cell in cells]
                for place in (place for place, row in enumerate(rows) if is_unknown(row.line[name])):
                    table[name][place] = unknown
            if name in self.numbers and intervals:
                table[f"{name}_low"] = [cell["low"] for cell in cells]
                table[f"{name}_high"] = [cell["high"] for cell in cells]
        if self.priced.plan.levels:
            table[_unused("level", table)] = [", ".join(row.level) for row in rows]
        if self.warnings:  # they must not get lost where only rows are kept
            table[_unused("warning", table)] = ["; ".join(self.warnings)] * len(rows)
        return table


def limits_of(asked: Priced) -> tuple[str, ...]:
    """What of one person counts at most in the cells that are asked about."""
    bounds, cells = asked.bounds, asked.cells
    groups = bounds.groups if cells.private else min(bounds.groups, cells.count)
    in_all = bounds.in_all if bounds.in_all is not None and bounds.in_all < groups * bounds.rows else None
    if not asked.plan.keys or in_all == bounds.rows == bounds.groups:
        return (_at_most(min(bounds.rows, in_all or bounds.rows), "row"),)
    limited = cells.private or groups < cells.count
    return (
        *([_at_most(groups, "group")] if limited else []),
        f"{_at_most(bounds.rows, 'row')} in each group",
        *([] if in_all is None else [f"{_at_most(in_all, 'row')} in all"]),
    )


def _at_most(number: int, what: str) -> str:
    return f"at most {number:,} {what}{'' if number == 1 else 's'} per person"


def loss_json(loss: Loss) -> dict[str, float | None]:
    """Both gauges as floats; None is infinite."""
    return {
        name: None if amount is None else float(amount)
        for name, amount in (
            ("epsilon", loss.epsilon), ("delta", loss.delta), ("rho", loss.rho), ("rho_delta", loss.rho_delta)
        )
    }  # fmt: skip


def warnings_of(ledger: Ledger) -> tuple[str, ...]:
    """What every answer from this ledger must say."""
    return (
        *(["NOT PRIVATE: this vault was made for testing"] if ledger.terms.testing else []),
        *([] if ledger.spent().holds else ["the cap no longer holds: the owner's policy let charges pass it"]),
        *(
            ["the cap may not hold: entries of the ledger were lost, and what they spent is not counted"]
            if ledger.entries_lost
            else []
        ),
    )


def _checked_share(share: object) -> Fraction:
    number = rational(share, "share")
    if not 0 < number <= SUREST:
        raise InvalidInputError(
            f"share must lie between 0 and 1 - 1e-15, not {show(share)}", "for example 0.95", "out-of-range"
        )
    return number


def _number(number: Fraction) -> int | float:
    return int(number) if number.denominator == 1 else float(number)


def _plain(item: Value | Estimate) -> Any:
    value = item.shown if isinstance(item, Estimate) else item
    return _number(value) if isinstance(value, Fraction) else value


def _unused(name: str, taken: Mapping[str, Any]) -> str:
    return name if name not in taken else _unused(f"{name}_", taken)


def _with_interval(item: Value | Estimate) -> Any:
    """What is computed may be missing."""
    if not isinstance(item, Estimate):
        return {"value": None, "low": None, "high": None}
    low, high = (None if end is None else _number(end) for end in (item.low, item.high))
    return {"value": _plain(item), "low": low, "high": high}


def _json(item: Any) -> Any:
    return item.isoformat() if isinstance(item, dt.date) else item

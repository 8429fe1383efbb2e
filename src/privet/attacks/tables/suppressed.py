"""What suppressed and rounded counts hide: the fewest and the most people that a data set which fits can have there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from privet.attacks.finding import ShownTable
from privet.attacks.proofs.work import Work
from privet.attacks.release.domain import value_text
from privet.attacks.release.statistics import Mark, Share, Statistic, Tables
from privet.attacks.tables.beyond import is_hidden, rules
from privet.attacks.tables.decide import Decided, Decider, Decision
from privet.records.conditions import columns_of

if TYPE_CHECKING:
    from privet.attacks.tables.reconstruction import Reconstruction

COLUMNS = ("cell", "published", "in truth", "undone")
MARKS = {
    "": "suppressed",
    "primary": "primary",
    "complementary": "complementary",
    "rounded": "rounded",
    "empty": "empty",
}


@dataclass(frozen=True, slots=True)
class HiddenCell:
    """A count that was not published exactly. It lies between `low` and `high` in every data set that fits. Both are
    reached unless it is `open`: then the work ran out before that was shown. `empty`: nobody can be in it, whatever is
    published. `alarm`: that it is undone is a disclosure."""

    statistic: Statistic
    low: int
    high: int
    shown: tuple[Decided, ...]
    open: bool
    empty: bool
    alarm: bool = False

    @property
    def mark(self) -> Mark:
        return self.statistic.mark

    @property
    def undone(self) -> bool:
        return self.low == self.high and not self.open and not self.empty

    def to_json(self) -> dict[str, Any]:
        return {
            "cell": self.statistic.name,
            "mark": MARKS[self.mark],
            "low": self.low,
            "high": self.high,
            "decided": not self.open,
            "undone": self.undone,
            "alarm": self.alarm,
        }


def suppressed(found: Reconstruction, decider: Decider, work: Work) -> tuple[HiddenCell, ...]:
    """Every count that was suppressed or rounded, in the order of the release."""
    published = _published_groups(found)
    members = found.prepared.whole.members
    cells = [
        _bounded(found, decider, one, work)
        for one in found.tables.statistics
        if is_hidden(one) and not (one.hides and members[one.name] in published)
    ]
    suppressed_from_to = rules(found.tables)
    return tuple(_judged(cell, suppressed_from_to) for cell in cells)


def _published_groups(found: Reconstruction) -> set[tuple[int, ...]]:
    """The groups whose count was published: a percentage that was left out beside it hides nothing."""
    counts = [(one.name, one.count) for one in found.tables.statistics]
    exact = [name for name, count in counts if count is not None and count.low is not None and count.low == count.high]
    return {found.prepared.whole.members[name] for name in exact}


def not_audited(tables: Tables) -> int:
    """Suppressed means, sums, medians and extremes of attributes that a published number looks at: they may be
    computable, and nobody tried."""
    looked_at = set[str]()
    for one in tables.statistics:
        looked_at |= columns_of(one.where) | {m.attribute for m in one.measures if not isinstance(m, Share)}
    hidden = [one.hides.partition(" ")[2] for one in tables.statistics if one.hides and one.count is None]
    return sum(attribute in looked_at for attribute in hidden)


def _bounded(found: Reconstruction, decider: Decider, statistic: Statistic, work: Work) -> HiddenCell:
    ones = tuple((kind, 1) for kind in found.encoded.members[statistic.name])
    low = decider.bound(ones, work)
    high = decider.bound(tuple((kind, -1) for kind, _ in ones), work)
    left_open = Decision.OPEN in (low.answer, high.answer)
    least = low.claim.least if low.answer is Decision.HOLDS or low.proof is not None else 0
    most = -high.claim.least
    if high.answer is Decision.OPEN and high.proof is None:
        most = sum(decider.system.high[kind] for kind, _ in ones)
    return HiddenCell(
        statistic=statistic,
        low=least,
        high=most,
        shown=(low, high),
        open=left_open,
        empty=not found.prepared.whole.members[statistic.name],
    )


def _judged(cell: HiddenCell, suppressed_from_to: Sequence[tuple[int, int]]) -> HiddenCell:
    """A cell that was hidden to protect others, or left empty, is a disclosure only if its count would have been
    suppressed itself; where no rule is known, it might have been."""
    own_rule = not suppressed_from_to or any(low <= cell.low <= high for low, high in suppressed_from_to)
    alarm = cell.undone and (cell.mark not in ("complementary", "empty") or own_rule)
    if cell.mark == "empty" and not cell.high:
        alarm = False  # an empty cell often stands for nobody
    return HiddenCell(cell.statistic, cell.low, cell.high, cell.shown, cell.open, cell.empty, alarm)


def shown(cells: Sequence[HiddenCell]) -> tuple[ShownTable, ...]:
    """Undone ones first. Complementary cells are listed apart."""
    tables = []
    for title, marks, text in (
        ("Suppressed and rounded counts", ("", "primary", "rounded"), _TEXT),
        ("Complementary suppressed counts", ("complementary",), _COMPLEMENTARY),
        ("Cells that were left empty", ("empty",), _EMPTY),
    ):
        rows = [cell for cell in cells if cell.mark in marks]
        if rows:
            ordered = sorted(rows, key=lambda cell: (not cell.alarm, not cell.undone, not cell.open))
            tables.append(ShownTable(title, text, COLUMNS, tuple(_row(cell) for cell in ordered)))
    return tuple(tables)


_TEXT = "The fewest and the most people that a data set which fits the tables can have in each of these cells."
_COMPLEMENTARY = (
    "Cells that were hidden to protect others, with the fewest and the most people. One that is undone is a"
    " disclosure only if its count falls under the rule for suppression."
)
_EMPTY = (
    "Counts of which nothing was published. One that can be computed is a disclosure only if it falls under the rule"
    " for suppression and is not 0."
)


def _row(cell: HiddenCell) -> tuple[str, ...]:
    undone = "not decided" if cell.open else "" if not cell.undone else "yes" if cell.alarm else "yes, allowed"
    return cell.statistic.name, _published(cell.statistic), _words(cell), undone


def _published(statistic: Statistic) -> str:
    assert statistic.count is not None  # noqa: S101
    low, high = (None if end is None else value_text(end) for end in (statistic.count.low, statistic.count.high))
    words = f"{low or 0} to {high}" if high is not None else f"{low or 0} or more"
    words = "a percentage" if statistic.hides else words
    return f"{statistic.mark}, {words}" if statistic.mark else words


def _words(cell: HiddenCell) -> str:
    return f"{cell.low:,}" if cell.low == cell.high else f"{cell.low:,} to {cell.high:,}"

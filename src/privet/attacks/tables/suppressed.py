"""What suppressed and rounded cells hide."""

from __future__ import annotations

from typing import TYPE_CHECKING

from privet.attacks.finding import ShownTable
from privet.attacks.proofs.certificate import Terms
from privet.attacks.proofs.prover import Prover
from privet.attacks.proofs.work import Work
from privet.attacks.release.domain import value_text
from privet.attacks.release.statistics import Statistic

if TYPE_CHECKING:
    from privet.attacks.tables.reconstruction import Reconstruction

Range = tuple[int, int]


def certain_range(prover: Prover, terms: Terms, work: Work) -> Range | None:
    """The sum lies in this range in every data set that fits: both ends are proven, neither need be reached."""
    low = prover.lowest(terms, work)
    high = prover.lowest(tuple((at, -weight) for at, weight in terms), work)
    return None if low is None or high is None else (low[0], -high[0])


def suppressed(found: Reconstruction, work: Work) -> ShownTable | None:
    """How many people there are in cells that were not published exactly."""
    hidden = [one for one in found.tables.statistics if one.count is not None and one.count.low != one.count.high]
    if not hidden:
        return None
    prover = Prover(found.encoded.system)
    rows = []
    for statistic in hidden:
        ones = tuple((kind, 1) for kind in found.encoded.members[statistic.name])
        between = certain_range(prover, ones, work) if ones else (0, 0)
        if between is not None:
            undone = "yes" if between[0] == between[1] else ""
            rows.append((statistic.name, _published(statistic), _words(between), undone))
    text = "What the other cells prove about counts that were suppressed or rounded."
    return ShownTable("Suppressed and rounded counts", text, ("cell", "published", "in truth", "undone"), tuple(rows))


def _published(statistic: Statistic) -> str:
    assert statistic.count is not None  # noqa: S101
    low, high = (None if end is None else value_text(end) for end in (statistic.count.low, statistic.count.high))
    return f"{low or 0} to {high}" if high is not None else f"{low or 0} or more"


def _words(between: Range) -> str:
    return f"{between[0]:,}" if between[0] == between[1] else f"{between[0]:,} to {between[1]:,}"

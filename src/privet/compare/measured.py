"""What was measured of each way to ship records, for people and programs."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from privet.stats.intervals import Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """Shares are of people. `error`: of the two-way tables. `alone`: whose record is the only one of its class;
    `certain`: whose secret one release gives away for sure; `together`: two releases of overlapping people. `success`:
    for whom the best guess is right; `control`: the same for people who are not in the data. `problem`: why this way
    could not be gone; then all else is None."""

    name: str
    guarantee: str
    ncp: float | None = None
    suppressed: float | None = None
    error: float | None = None
    alone: float | None = None
    certain: Interval | None = None
    together: Interval | None = None
    success: Interval | None = None
    control: Interval | None = None
    advantage: Interval | None = None
    seconds: float = 0.0
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """All ways side by side, in the order in which they were given."""

    subject: str
    quasi: tuple[str, ...]
    sensitive: str
    records: int  # that were shipped; the other half was held out
    baseline: Interval  # the most frequent value, guessed of everybody
    ways: tuple[Measured, ...]
    seconds: float

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    def report(self, path: str | Path) -> Path:
        """Writes one HTML file that needs nothing else, and says where."""
        from privet.report.compare.page import page_of  # noqa: PLC0415
        from privet.report.page import write_html  # noqa: PLC0415  only who wants a picture pays for it

        return write_html(page_of(self), path)

    def __str__(self) -> str:
        from privet.report.compare.words import text_of  # noqa: PLC0415
        from privet.report.terminal import Pen  # noqa: PLC0415

        return text_of(self, Pen(color=False))

    def _repr_html_(self) -> str:
        from privet.report.compare.page import page_of  # noqa: PLC0415
        from privet.report.page import to_fragment  # noqa: PLC0415

        return to_fragment(page_of(self))

"""How people meet the result of an audit: a page, a terminal, a notebook, a picture."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    import altair as alt

    from privet.audits.verdict import Audit, Checks
    from privet.report.terminal import Pen


class Shown:
    """What `Audit` and `Checks` share. The room `report` is loaded when something is shown."""

    __slots__ = ()

    def report(self, path: str | Path) -> Path:
        """Writes one HTML file that needs nothing else, and says where."""
        from privet.report.audit.page import page_of  # noqa: PLC0415  only who wants a picture pays for it
        from privet.report.page import write_html  # noqa: PLC0415

        return write_html(page_of(self._found), path)

    def text(self, pen: Pen | None = None) -> str:
        """The same for a terminal, in color if the pen has any."""
        from privet.report.audit.text import page  # noqa: PLC0415
        from privet.report.terminal import Pen  # noqa: PLC0415

        return page(self._found, pen or Pen(color=False))

    def _repr_html_(self) -> str:
        from privet.report.audit.page import page_of  # noqa: PLC0415
        from privet.report.page import to_fragment  # noqa: PLC0415

        return to_fragment(page_of(self._found))

    @property
    def _found(self) -> Audit | Checks:
        return cast("Audit | Checks", self)


class Drawn(Shown):
    """An audit that counts has a picture, too."""

    __slots__ = ()

    def chart(self) -> alt.HConcatChart:
        """The tests that were seen, below the curve that the claim draws."""
        from privet.report.audit.chart import audit_chart  # noqa: PLC0415  brings Altair

        return audit_chart(cast("Any", self))

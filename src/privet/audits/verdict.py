"""What an audit found: a lower bound from counts (`Audit`), or a list of things that were checked (`Checks`)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from privet.audits.claims import Claim
from privet.audits.coverage import Tried

if TYPE_CHECKING:
    import altair as alt

    from privet.report.terminal import Pen


# How people meet the result of an audit: a page, a terminal, a notebook, a picture.


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


TIMES = 1.5  # a small violation
VIOLATED, INCONCLUSIVE, CONSISTENT = "violated", "inconclusive", "consistent"
IGNORE_BITS = "To look for other mistakes, ignore such bits: ignore_float_bits=True, or --ignore-float-bits."
MORE_PAIRS = "Allow more pairs (pairs=10000, or --pairs 10000) and more seconds, or list fewer values."


@dataclass(frozen=True, slots=True)
class Witness:
    """The event that gave the bound, and its counts."""

    event: str
    likelier: int  # 0 or 1: the data set, of the two neighbors, on which it comes up more often
    hits: tuple[int, int]  # on the likelier data set, on the other
    draws: int  # from each
    neighbors: tuple[str, str] = ("", "")  # the two data sets in words, cut if they are long
    other_draws: int = 0  # from the other data set, if not as many

    def __str__(self) -> str:
        name = ("first", "second")
        others = f" of {self.other_draws:,}" if self.other_draws else ""
        return (
            f"“{self.event}” came up in {self.hits[0]:,} of {self.draws:,} draws on the {name[self.likelier]} data set "
            f"and in {self.hits[1]:,}{others} on the {name[1 - self.likelier]}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit(Drawn):
    """A lower bound on the claim's parameter (epsilon at the claimed delta, rho or mu), true with chance `confidence`.

    `ceiling` is the most that this audit could have shown of any mechanism. An event can only contradict the claim if
    its probability is above `rarest` on one of the data sets. `samples` were drawn from each data set. `roc` has the
    share of draws on either data set that a threshold on the best score takes: (other, likelier), for the picture only.
    """

    claim: Claim
    lower_bound: float
    confidence: float
    ceiling: float
    rarest: float
    witness: Witness
    samples: int
    seconds: float
    method: str = "counts of outputs"  # how the witness was found, in a few words
    pairs: int = 1  # of neighbors that were looked at
    roc: tuple[tuple[float, float], ...] = ()
    not_tested: tuple[str, ...] = ()
    tried: Tried | None = None  # where neighbors were searched for, or given
    float_bits: str = ""  # a sentence, if the witness is made of the last bits of floating-point numbers
    rounded: str = ""  # how outputs were rounded, if bits were to be ignored
    visible: float | None = None  # see `power`

    @property
    def complete(self) -> bool:
        """Whether all values, sizes and pairs were tried that the user asked for."""
        return self.tried is None or self.tried.complete

    @property
    def violated(self) -> bool:
        return self.lower_bound > self.claim.value

    @property
    def verdict(self) -> str:
        if self.violated:
            return VIOLATED
        if self.ceiling <= self.claim.value or not self.complete:
            return INCONCLUSIVE
        return f"{CONSISTENT} up to {down(self.ceiling, 2)}{self.where}"

    @property
    def where(self) -> str:
        """What limits the verdict: " on the 64 pairs tried (all 2 values, some sizes up to 64)"."""
        ignored = ", last bits of floating-point numbers ignored" if self.rounded else ""
        return (f" on {self.tried}" if self.tried else "") + ignored + self.power

    @property
    def tries(self) -> str:
        """What there were too few of, where nothing could be decided."""
        return "draws"

    @property
    def advice(self) -> str:
        """What to do where nothing could be decided."""
        return "Take more samples."

    @property
    def unseen(self) -> str:
        """Why it is no proof."""
        looked = "this pair of data sets" if self.pairs == 1 else f"{self.pairs:,} pairs of data sets"
        return (
            f"only {looked} and a few events were tried, and a leak in outputs with "
            f"a probability below {self.rarest:.1e} would not have been seen"
        )

    @property
    def effort(self) -> str:
        tried = "" if self.pairs == 1 else f", {self.pairs:,} pairs of data sets"
        return f"{self.samples:,} draws a data set{tried}, {self.seconds:.1f} s"

    @property
    def power(self) -> str:
        """What so many draws can show of a small violation: "; a true epsilon of 1.5 would show in outputs of ..."."""
        if self.visible is None:
            return ""
        worse = f"a true {self.claim.parameter} of {TIMES * float(self.claim.value):.3g}"
        if self.visible >= 1:
            return f"; too few draws to show {worse}"
        return f"; {worse} would show in outputs of probability about {100 * self.visible:.2g} % or more"

    def __str__(self) -> str:
        name = self.claim.parameter
        found = f"{name} is at least {down(self.lower_bound, 3)} (confidence {self.confidence:.10g}): {self.witness}"
        work, ceiling = self.effort, down(self.ceiling, 2)
        if self.violated:
            bits = f"{self.float_bits} {IGNORE_BITS} " if self.float_bits else ""
            rounded = f"Outputs were rounded before: {self.rounded}. " if self.rounded else ""
            return (
                f"violated: the claim of {self.claim} is false; {found}. {bits}{rounded}"
                f"This audit could have shown {name} up to {ceiling}, so the truth may be worse ({work})."
            )
        if self.ceiling <= self.claim.value:
            return (
                f"inconclusive: this audit can show {name} up to {ceiling} only, so it could not contradict the claim "
                f"of {self.claim}; {found}. {self.advice.removesuffix('.')} ({work})."
            )
        if not self.complete:
            left = "; ".join(self.tried.left_out()) if self.tried else ""
            return (
                f"inconclusive: nothing seen contradicts the claim of {self.claim}{self.where}, but not all was tried "
                f"that the domain lists; {found}. Not tried: {left}. {MORE_PAIRS} ({work})."
            )
        return (
            f"consistent up to {ceiling}{self.where}: nothing seen contradicts the claim of {self.claim}; {found}. "
            f"This is not a proof: {self.unseen} ({work})."
        )

    def to_json(self) -> dict[str, Any]:
        claimed = {self.claim.parameter: float(self.claim.value)}
        return {
            "verdict": self.verdict,
            "violated": self.violated,
            "claim": claimed | ({"delta": float(self.claim.delta)} if self.claim.parameter == "epsilon" else {}),
            "lower_bound": self.lower_bound,
            "confidence": self.confidence,
            "ceiling": self.ceiling,
            "rarest": self.rarest,
            "visible_from": self.visible,
            "method": self.method,
            "witness": {
                "event": self.witness.event,
                "likelier": self.witness.likelier,
                "hits": list(self.witness.hits),
                "draws": self.witness.draws,
                "neighbors": list(self.witness.neighbors),
            },
            "pairs": self.pairs,
            "samples": self.samples,
            "seconds": self.seconds,
            "not_tested": list(self.not_tested),
            "tried": self.tried.to_json() if self.tried else None,
            "float_bits": self.float_bits,
            "rounded": self.rounded,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One thing that was looked at. `says` is a sentence with its numbers; `figures` has them for a program."""

    name: str
    verdict: str  # VIOLATED, INCONCLUSIVE or CONSISTENT
    says: str
    figures: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Checks(Shown):
    """Several checks of one subject. One violation breaks it; an inconclusive check leaves it open."""

    subject: str
    checks: tuple[Check, ...]
    not_tested: tuple[str, ...] = ()

    @property
    def violated(self) -> bool:
        return any(check.verdict == VIOLATED for check in self.checks)

    @property
    def verdict(self) -> str:
        found = {check.verdict for check in self.checks}
        return next((word for word in (VIOLATED, INCONCLUSIVE) if word in found), CONSISTENT)

    def __str__(self) -> str:
        lines = [f"{self.verdict}: {self.subject}"]
        lines += [f"  {check.verdict:<12} {check.name}: {check.says}" for check in self.checks]
        lines += [f"  not tested   {words}" for words in self.not_tested]
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        return {
            "verdict": self.verdict,
            "violated": self.violated,
            "subject": self.subject,
            "checks": [
                {"name": check.name, "verdict": check.verdict, "says": check.says, "figures": dict(check.figures)}
                for check in self.checks
            ],
            "not_tested": list(self.not_tested),
        }


def down(value: float, digits: int) -> str:
    """Rounded down: a lower bound is never printed larger than it is."""
    return f"{math.floor(value * 10**digits) / 10**digits:.{digits}f}" if math.isfinite(value) else str(value)

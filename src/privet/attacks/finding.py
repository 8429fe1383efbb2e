"""What every attack returns: claims about people, how sure they are, and what they rest on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from privet.stats.intervals import Interval, difference, larger

if TYPE_CHECKING:
    import pandas as pd


class Strength(StrEnum):
    """PROOF: true in every data set that fits the release, with a certificate that the small checker accepted.
    RESOLVED: the same by two solvers, without a certificate. CONFIDENCE: true with a stated probability."""

    PROOF = "proof"
    RESOLVED = "re-solved by a second solver"
    CONFIDENCE = "confidence"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One claim. `record` says what is known of each of these people; `evidence` names the cells or queries used."""

    claim: str
    strength: Strength
    people: int = 1
    record: Mapping[str, str] = field(default_factory=dict)
    evidence: tuple[str, ...] = ()
    reasoning: str = ""  # the arithmetic in one line, where there is one
    confidence: float | None = None
    certificate: Any = None
    section: str = ""  # the heading under which it stands, where an attack has several kinds of findings


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """The attack against the truth, which only the owner has.

    `right` of `claimed` claims are true. `success` is the share of people that the attack's best guess gets right;
    `baseline` the same for a guess without the release; `control` the same for people who are not in the data.
    """

    claimed: int
    right: int
    success: Interval
    baseline: Interval
    control: Interval | None

    @property
    def advantage(self) -> Interval:
        """Success less the larger of baseline and control: what the release adds."""
        return difference(self.success, larger(self.baseline, self.control))

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {"advantage": asdict(self.advantage)}


@dataclass(frozen=True, slots=True)
class ShownTable:
    """Rows to show under a title, in a terminal or on a page. `text` says what they mean. With `bars` the page also
    draws them: the first column names a bar, the last one has its whole number."""

    title: str
    text: str
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    bars: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """Points (x, y) of a picture, from left to right. `low` and `high` are the ends of an interval of each y.

    "line": joined. "steps": joined in steps, as an ROC is. "points": marks alone, such as simulations. "bound": a line
    that nothing crosses; what lies beyond is shaded."""

    name: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()
    style: Literal["line", "steps", "points", "bound"] = "line"


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """A chart on the page; a terminal shows its text. `alt` says in words what somebody would see in it."""

    title: str
    text: str
    alt: str
    x: str  # the words at an axis
    y: str
    curves: tuple[Curve, ...]
    log_x: bool = False
    log_y: bool = False
    shares: bool = False  # both axes from 0 to 100 %


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """The result of one attack, worst first. `numbers` are the attack's own figures, for a program to read."""

    attack: str  # such as "tables" or "differencing"
    subject: str  # the file or what else was attacked
    headline: str  # in people
    people: int | None  # in the data, if the release tells
    findings: tuple[Finding, ...]
    proven: int = 0  # people of whom something is known for sure: it holds in every data set that fits
    claimed: int = 0  # people of whom something is claimed with a stated probability
    tables: tuple[ShownTable, ...] = ()  # repair, ranges, and what else is worth showing
    pictures: tuple[Picture, ...] = ()
    score: Score | None = None
    assumptions: tuple[str, ...] = ()
    not_tried: tuple[str, ...] = ()
    numbers: Mapping[str, Any] = field(default_factory=dict)
    seconds: float = 0.0
    counted: bool = False  # the seconds are work that was counted, not time by the clock
    word: str = "certain"  # what those people are, if it is less than that
    lead: str = ""  # what this word means; needed where it is not "certain"
    alarm: Literal["bad", "neutral", "good"] | None = None  # the color, where it depends on more than people known

    @property
    def known(self) -> int:
        """People of whom something is known: proven, or claimed where nothing can be proven."""
        return self.proven or self.claimed

    @property
    def certain(self) -> int:
        """The older name of `proven`, for one version."""
        return self.proven

    def report(self, path: str | Path) -> Path:
        """Writes one HTML file that needs nothing else, and says where."""
        from privet.report.findings.page import page_of  # noqa: PLC0415  only who wants a picture pays for it
        from privet.report.page import write_html  # noqa: PLC0415

        return write_html(page_of(self), path)

    def to_pandas(self) -> pd.DataFrame:
        """One row a finding; what is known of the person has a column each, such as `record.age`."""
        import pandas as pd  # noqa: PLC0415  only who asks for it needs it

        columns = ["claim", "strength", "people", "confidence", "reasoning", "evidence"]
        names = dict.fromkeys(f"record.{name}" for finding in self.findings for name in finding.record)
        return pd.DataFrame([_row(finding) for finding in self.findings], columns=[*columns, *names])

    def to_json(self) -> dict[str, Any]:
        """Plain numbers, texts, lists and dicts. The attack's own numbers stand beside the common keys."""
        from privet.report.terminal import plain_numbers  # noqa: PLC0415

        common = {
            "attack": self.attack,
            "subject": self.subject,
            "headline": self.headline,
            "people": self.people,
            "proven": self.proven,
            "claimed": self.claimed,
            "certain": self.proven,  # the older name, for one version
            "findings": [_finding_json(finding) for finding in self.findings],
            "tables": [asdict(table) for table in self.tables],
            "pictures": [asdict(picture) for picture in self.pictures],
            "score": None if self.score is None else self.score.to_json(),
            "assumptions": self.assumptions,
            "not_tried": self.not_tried,
            "seconds": self.seconds,
        } | ({} if self.alarm is None else {"alarm": self.alarm})
        plain: dict[str, Any] = plain_numbers({**self.numbers, **common})
        return plain

    def __str__(self) -> str:
        from privet.report.findings.text import page  # noqa: PLC0415
        from privet.report.terminal import Pen  # noqa: PLC0415

        return page(self, Pen(color=False))

    def _repr_html_(self) -> str:
        from privet.report.findings.page import page_of  # noqa: PLC0415
        from privet.report.page import to_fragment  # noqa: PLC0415

        return to_fragment(page_of(self))


def _finding_json(finding: Finding) -> dict[str, Any]:
    """Without the certificate, which is for the checker."""
    return {
        "claim": finding.claim,
        "strength": finding.strength.value,
        "people": finding.people,
        "record": dict(finding.record),
        "evidence": finding.evidence,
        "reasoning": finding.reasoning,
        "confidence": finding.confidence,
    } | ({"section": finding.section} if finding.section else {})


def _row(finding: Finding) -> dict[str, Any]:
    plain = _finding_json(finding)
    return plain | {f"record.{name}": value for name, value in plain.pop("record").items()}

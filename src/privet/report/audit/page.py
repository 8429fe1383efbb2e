"""What an audit found as a report: the verdict, how far the audit could see, the witness, and what was not tested."""

from __future__ import annotations

from typing import TYPE_CHECKING

from privet.audits.training_audit import TrainingAudit
from privet.audits.verdict import Audit
from privet.report.audit import words
from privet.report.page import Cell, List, Noted, PageTable, PageText, Part, Report, Section, Verdict
from privet.report.terminal import percent

if TYPE_CHECKING:
    from privet.audits.verdict import Check, Checks

COLORS: dict[str, Verdict] = {"violated": "bad", "inconclusive": "neutral", "consistent": "good"}
MOST_FIGURES = 12  # tags of one check
CURVE = (
    "Somebody who wants to tell the two data sets apart names an event and says “it was that one” when it comes up. "
    "Up: how often that is right. Across: how often it is a false alarm. If the claim holds, no event lies in the gray."
)
BOX = (
    "The red point is the witness; its box, as the last column of the table, is where its two probabilities lie. "
    "The audit's own bound is for the best of several events, and so a little more careful. "
    "The blue line is made of bare counts: it may stray into the gray by chance, and decides nothing."
)


def page_of(found: Audit | Checks) -> Report:
    return _audit(found) if isinstance(found, Audit) else _checks(found)


def _audit(audit: Audit) -> Report:
    from privet.report.audit.chart import bars_figure, roc_figures  # noqa: PLC0415  brings Altair

    meaning = words.in_words(audit)
    levels: tuple[Part, ...] = (bars_figure(audit), *([PageText((meaning,))] if meaning else []))
    counts: list[Part] = [_counts(audit)] if words.counted(audit) else []
    box: list[Part] = [PageText((BOX,))] if words.counted(audit) else []
    sections = (
        Section(f"How large is {audit.claim.parameter}?", levels),
        Section("The witness", (PageText((_event(audit),)), *counts)),
        *([Section("The canaries", (_canaries(audit),))] if isinstance(audit, TrainingAudit) else []),
        Section("Can the two data sets be told apart?", (PageText((CURVE,)), roc_figures(audit), *box)),
        Section("What was tested", (List(tuple(words.work(audit))),)),
        Section("What was not tested", (List(tuple(words.limits(audit))),)),
        _words(words.word(audit.verdict)),
    )
    return Report(
        title=f"Audit of a claim of {words.claimed(audit.claim)}",
        headline=words.headline(audit),
        verdict=COLORS[words.word(audit.verdict)],
        lead=words.lead(audit),
        sections=sections,
    )


def _event(audit: Audit) -> str:
    return f"The event that tells most: {audit.witness.event}" if words.counted(audit) else f"{audit.witness}."


def _counts(audit: Audit) -> PageTable:
    columns = ("Data set", "Came up", "Of draws", "Share", "Probability")
    rows = tuple(
        (
            _named(audit, place),
            f"{one.hits:,}",
            f"{one.draws:,}",
            percent(one.share, 2),
            str(one),
        )
        for place, one in enumerate(words.chances(audit))
    )
    caption = f"How often it came up. Both probabilities lie in these ranges with confidence {audit.confidence:.10g}."
    return PageTable(caption, columns, rows, stacked=True)


def _canaries(audit: TrainingAudit) -> PageTable:
    name = audit.claim.parameter
    columns = ("Canary", "What it is", "Canaries", "Failed trainings", f"{name} at least", "Could show up to")
    caption = "What each kind of canary showed. All bounds hold together, with the confidence of the audit."
    return PageTable(caption, columns, tuple(words.canaries(audit)), stacked=True)


def _named(audit: Audit, place: int) -> Cell:
    here = audit.witness.neighbors[place]
    return Noted(f"The {words.PLACES[place]}", (here,) if here else ())


def _words(verdict: str) -> Section:
    return Section("What the verdict means", (PageText((words.VERDICTS[verdict],)),))


def _checks(checks: Checks) -> Report:
    rows = tuple(_row(check) for check in checks.checks)
    table = PageTable("What was checked", ("Check", "Verdict", "What was found", "Numbers"), rows, stacked=True)
    left = List(checks.not_tested) if checks.not_tested else PageText((words.NOTHING_LEFT_OUT,))
    used = List(tuple(words.VERDICTS[verdict] for verdict in dict.fromkeys(check.verdict for check in checks.checks)))
    return Report(
        title=f"Checks of {checks.subject}",
        headline=words.checks_headline(checks),
        verdict=COLORS[checks.verdict] if checks.checks else "neutral",
        lead=words.checks_lead(checks),
        sections=(
            *([Section("What was checked", (table,))] if rows else []),
            Section("What was not tested", (left,)),
            *([Section("What the verdicts mean", (used,))] if rows else []),
        ),
    )


def _row(check: Check) -> tuple[Cell, ...]:
    figures = [f"{name} {value}" for name, value in check.figures.items()]
    return check.name, check.verdict, check.says, tuple(figures[:MOST_FIGURES])

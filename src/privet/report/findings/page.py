"""What an attack found as a report: people first, then the worst records with the cells that gave them away."""

from __future__ import annotations

from typing import TYPE_CHECKING

from privet.report.findings.chart import bars_figure, people_figure, score_figure
from privet.report.findings.picture_chart import picture_figure
from privet.report.findings.words import (
    FORECASTS,
    MEANING,
    NOT_STATED,
    by_section,
    lead,
    more,
    score_sentences,
    sureness,
    title,
    took,
    used,
)
from privet.report.page import Cell, List, Noted, PageTable, PageText, Part, Report, Section, Verdict

if TYPE_CHECKING:
    from privet.attacks import finding as f

LIKELY = ("membership",)  # attacks that are never certain: without the truth, that nobody was found says little
MOST_RECORDS = 50
MOST_ROWS = 200
MOST_CELLS = 12  # tags in a row; more of them hide what matters
MOST_ATTRIBUTES = 6  # with a column each


def page_of(findings: f.Findings) -> Report:
    """Sections that have nothing to say are left out, but not the limits: what was assumed and what was not tried."""
    rest = "not certain, or not decided" if findings.numbers.get("undecided") else f"not {findings.word}"
    picture = people_figure(findings.people, findings.known, findings.word, rest)
    sections = [
        *([Section("The people", (picture,))] if picture else []),
        *map(_picture, findings.pictures),
        *(_records(heading, found) for heading, found in by_section(findings)),
        *map(_table, findings.tables),
        *([] if findings.score is None else [_score(findings.score)]),
        _list("What was assumed", findings.assumptions, NOT_STATED),
        _list("What was not tried", findings.not_tried, NOT_STATED),
        *([_proven(findings)] if findings.findings else []),
    ]
    return Report(
        title=title(findings),
        headline=findings.headline,
        verdict=verdict(findings),
        lead=lead(findings),
        sections=tuple(sections),
        foot=took(findings),
    )


def verdict(findings: f.Findings) -> Verdict:
    """Good needs more than that nobody is certain: nothing likely was found, and no guess is better for the release. A
    forecast is neither: nobody was attacked."""
    if findings.alarm is not None and not (findings.alarm == "good" and findings.score is not None):
        return findings.alarm
    if findings.known:
        return "bad"
    if findings.attack in FORECASTS:
        return "neutral"
    better = findings.score is not None and findings.score.advantage.low > 0
    unseen = findings.score is None and findings.attack in LIKELY
    return "neutral" if findings.findings or better or unseen else "good"


def _records(heading: str, found: tuple[f.Finding, ...]) -> Section:
    shown = found[:MOST_RECORDS]
    names = _shared_attributes(shown)
    many = any(finding.people != 1 for finding in shown)
    cells = any(finding.evidence for finding in shown)
    columns = ("What is known", *names, *(["People"] if many else []), "How sure", *(["Evidence"] if cells else []))
    rows = tuple(_record(finding, names, many=many)[: len(columns)] for finding in shown)
    left = len(found) - len(shown)
    caption = f"The worst {len(shown)} of {len(found):,} findings" if left else "All findings, the worst first"
    rest = (PageText((f"{more(left, 'findings').capitalize()}: to_json() and to_pandas() have all.",)),) if left else ()
    return Section(heading, (PageTable(caption, columns, rows, stacked=True), *rest))


def _shared_attributes(shown: tuple[f.Finding, ...]) -> tuple[str, ...]:
    """A column each, if all records have the same few attributes; otherwise they stand below the claim."""
    names = tuple(shown[0].record)
    same = all(tuple(finding.record) == names for finding in shown)
    return names if same and len(names) <= MOST_ATTRIBUTES else ()


def _record(finding: f.Finding, names: tuple[str, ...], *, many: bool) -> tuple[Cell, ...]:
    known = "" if names else ", ".join(f"{name} {value}" for name, value in finding.record.items())
    notes = tuple(note for note in (known, finding.reasoning) if note and note not in finding.claim)
    left = more(len(finding.evidence) - MOST_CELLS, "")
    cells = (*finding.evidence[:MOST_CELLS], *([left.strip()] if left else []))
    people = [f"{finding.people:,}"] if many else []
    return Noted(finding.claim, notes), *(finding.record[name] for name in names), *people, sureness(finding), cells


def _picture(picture: f.Picture) -> Section:
    figure = picture_figure(picture)
    parts: list[Part] = [PageText((picture.text,))] if picture.text else []
    return Section(picture.title, (*parts, figure or PageText(("There is nothing to draw.",))))


def _table(table: f.ShownTable) -> Section:
    parts: list[Part] = [PageText((table.text,))] if table.text else []
    if table.bars and table.rows:
        parts.append(bars_figure(table))
    if table.columns:
        parts.append(PageTable(table.title, table.columns, table.rows[:MOST_ROWS]))
        left = more(len(table.rows) - MOST_ROWS, "rows")
        parts += [PageText((f"{left.capitalize()}.",))] if left else []
    return Section(table.title, tuple(parts))


def _score(score: f.Score) -> Section:
    return Section("Compared with the truth", (PageText((" ".join(score_sentences(score)),)), score_figure(score)))


def _list(heading: str, items: tuple[str, ...], otherwise: str) -> Section:
    return Section(heading, (List(items) if items else PageText((otherwise,)),))


def _proven(findings: f.Findings) -> Section:
    return Section("How it is known", (List(tuple(MEANING[kind.name] for kind in used(findings))),))

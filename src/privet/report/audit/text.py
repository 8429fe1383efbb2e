"""What an audit found, for a terminal: at most 100 columns, the verdict first."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from privet.audits.training_audit import TrainingAudit
from privet.audits.verdict import Audit
from privet.report.audit import words
from privet.report.terminal import Pen, percent, wrapped

if TYPE_CHECKING:
    from privet.audits.verdict import Checks

BAR = 44  # letters
MARGIN = "   "


def page(found: Audit | Checks, pen: Pen) -> str:
    """The same order as on the HTML page."""
    parts = _audit(found, pen) if isinstance(found, Audit) else _checks(found, pen)
    return "\n\n".join("\n".join(lines) for lines in parts)


def _audit(audit: Audit, pen: Pen) -> list[list[str]]:
    mark = _mark(words.word(audit.verdict), pen)
    meaning = words.in_words(audit)
    return [
        [*map(mark, wrapped(words.headline(audit))), *wrapped(words.lead(audit))],
        [*_bars(audit, pen), *(wrapped(meaning) if meaning else [])],
        [pen.head("The witness"), *_witness(audit)],
        *([_block("The canaries", _canaries(audit), pen)] if isinstance(audit, TrainingAudit) else []),
        _block("What was tested", words.work(audit), pen),
        _block("What was not tested", words.limits(audit), pen),
    ]


def _mark(verdict: str, pen: Pen) -> Callable[[str], str]:
    return {"violated": pen.bad, "consistent": pen.good}.get(verdict, pen.head)


def _bars(audit: Audit, pen: Pen) -> list[str]:
    """Claimed, shown, could have been shown; shown in color if it is more than claimed."""
    shown = words.levels(audit)
    largest = max(number for _, number, _ in shown) or 1
    wide = max(len(name) for name, _, _ in shown)
    lines = [f"{name:<{wide}}  {'#' * max(1, round(BAR * number / largest))} {text}" for name, number, text in shown]
    return [lines[0], pen.bad(lines[1]) if audit.violated else lines[1], lines[2]]


def _witness(audit: Audit) -> list[str]:
    if not words.counted(audit):
        return wrapped(f"{audit.witness}.", MARGIN, MARGIN)
    lines = wrapped(audit.witness.event, f"{MARGIN}the event: ", f"{MARGIN}  ")
    for name, here, one in zip(words.PLACES, audit.witness.neighbors, words.chances(audit), strict=True):
        counts = f"on the {name} data set: {one.hits:,} of {one.draws:,} draws, {percent(one.share, 2)}"
        lines += wrapped(f"{counts}, {here}" if here else counts, f"{MARGIN}- ", f"{MARGIN}  ")
    return lines


def _canaries(audit: TrainingAudit) -> list[str]:
    name = audit.claim.parameter
    return [
        f"{kind} ({number}), {what}: {name} is at least {bound} and could have been shown up to {most}; failed "
        f"trainings: {failed}"
        for kind, what, number, failed, bound, most in words.canaries(audit)
    ]


def _checks(checks: Checks, pen: Pen) -> list[list[str]]:
    mark = _mark(checks.verdict if checks.checks else "", pen)
    lines = [line for check in checks.checks for line in _check(check.name, check.verdict, check.says, pen)]
    return [
        [
            *map(mark, wrapped(words.checks_headline(checks))),
            *wrapped(checks.subject),
            *wrapped(words.checks_lead(checks)),
        ],
        *([lines] if lines else []),
        _block("What was not tested", checks.not_tested or (words.NOTHING_LEFT_OUT,), pen),
    ]


def _check(name: str, verdict: str, says: str, pen: Pen) -> list[str]:
    first, *rest = wrapped(f"{name}: {says}", f"{verdict:<12}  ", " " * 14)
    return [first.replace(verdict, _mark(verdict, pen)(verdict), 1), *rest]


def _block(heading: str, items: Iterable[str], pen: Pen) -> list[str]:
    return [pen.head(heading), *(line for item in items for line in wrapped(item, f"{MARGIN}- ", f"{MARGIN}  "))]

"""The sentences that a page and a terminal share about what an audit found."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from privet.audits.training_audit import TrainingAudit
from privet.audits.verdict import IGNORE_BITS, MORE_PAIRS, Witness
from privet.report.terminal import ceiling, floor, seconds_words, share_at_least, share_at_most
from privet.stats import binomial

if TYPE_CHECKING:
    from privet.audits.claims import Claim
    from privet.audits.verdict import Audit, Checks

PLACES = ("first", "second")
LARGEST_FACTOR = 50  # of an epsilon whose e**epsilon is worth reading
FALSE_ALARMS = 0.05
NOTHING_LEFT_OUT = "Nothing is stated. That does not mean that everything was tested."
VERDICTS = {
    "violated": "Violated: the claim is false. Where draws decided, the chance that they misled the audit is stated.",
    "inconclusive": "Inconclusive: the audit could not have seen a violation, or did not try all that was listed. "
    "That none was seen says nothing.",
    "consistent": "Consistent: nothing seen contradicts the claim. That is no proof of it.",
}


@dataclass(frozen=True, slots=True)
class Chances:
    """Of the witness on one data set: the share of draws, and where the probability lies."""

    hits: int
    draws: int
    low: float
    high: float

    @property
    def share(self) -> float:
        return self.hits / self.draws

    def __str__(self) -> str:
        return f"{share_at_least(Fraction(self.low))} to {share_at_most(Fraction(self.high))}"


def word(verdict: str) -> str:
    """The verdict without its ceiling: violated, inconclusive or consistent."""
    return verdict.split(maxsplit=1)[0]


def claimed(claim: Claim) -> str:
    """Such as "epsilon 1" or "epsilon 1 at delta 1e-06"."""
    text = f"{claim.parameter} {float(claim.value):g}"
    return f"{text} at delta {float(claim.delta):g}" if claim.delta else text


def headline(audit: Audit) -> str:
    match word(audit.verdict):
        case "violated":
            return f"The claim of {claimed(audit.claim)} is false"
        case "inconclusive":
            if audit.complete:
                return f"Not decided: too few {audit.tries} to contradict the claim"
            return "Not decided: not everything was tried that was listed"
        case _:
            return f"Nothing contradicts the claim of {claimed(audit.claim)}{audit.where}"


def lead(audit: Audit) -> str:
    name, most = audit.claim.parameter, floor(Fraction(audit.ceiling))
    least, value = floor(Fraction(audit.lower_bound)), f"{float(audit.claim.value):g}"
    match word(audit.verdict):
        case "violated":
            return (
                f"One person's data show more than was promised: {name} is at least {least}, where {value} is claimed. "
                f"The chance that the draws misled this audit is at most {odds(audit.confidence)}."
                + (f" {audit.float_bits} {IGNORE_BITS}" if audit.float_bits else "")
            )
        case "inconclusive" if not audit.complete and audit.tried is not None:
            left = "; ".join(audit.tried.left_out())
            return f"Nothing seen contradicts the claim{audit.where}. Not tried: {left}. {MORE_PAIRS}"
        case "inconclusive":
            return (
                f"Whatever the mechanism does, so few {audit.tries} can show {name} up to {most} only, and {value} is "
                f"claimed. {audit.advice}"
            )
        case _:
            return (
                f"This audit has shown that {name} is at least {least} and could have shown up to {most}. "
                "That is no proof: what was not tested is listed below."
            )


def odds(confidence: float) -> str:
    """The chance of a false alarm, such as "1 in 1,000,000"."""
    return f"1 in {round(1 / (1 - confidence)):,}"


def levels(audit: Audit) -> list[tuple[str, float, str]]:
    """Claimed, shown, and what could have been shown: the name, the number, and the number as a text."""
    return [
        ("claimed", float(audit.claim.value), f"{float(audit.claim.value):g}"),
        ("shown, at least", audit.lower_bound, floor(Fraction(audit.lower_bound))),
        ("could have been shown", audit.ceiling, floor(Fraction(audit.ceiling))),
    ]


def in_words(audit: Audit) -> str:
    """What the claim says of one person, and what was seen beside it."""
    claim = audit.claim
    if claim.parameter != "epsilon":
        most = share_at_most(Fraction(claim.most(FALSE_ALARMS)))
        return (
            f"Claimed: whoever tells the two data sets apart with {FALSE_ALARMS:.0%} of false alarms is right in at "
            f"most {most} of the other cases."
        )
    if max(float(claim.value), audit.lower_bound) > LARGEST_FACTOR:
        return ""
    factor = ceiling(Fraction(math.exp(claim.value)))
    beside = f", apart from a chance of {float(claim.delta):g}" if claim.delta else ""
    said = f"Claimed: whatever comes out is at most {factor} times as likely with one person's data as without{beside}."
    if not counted(audit):
        return said
    seen = floor(Fraction(math.exp(audit.lower_bound)))  # from the event, or from its absence in the other direction
    return f"{said} Shown: the event below, or its absence, is at least {seen} times as likely{beside}."


def counted(audit: Audit) -> bool:
    """Whether the witness is an event on two data sets; a subclass of Witness is something else, such as guesses."""
    return type(audit.witness) is Witness


def chances(audit: Audit) -> tuple[Chances, Chances]:
    """Of the witness on the first and on the second data set. Both lie there, with the audit's confidence."""
    witness = audit.witness
    miss = (1 - audit.confidence) / 4  # two ends for each of two
    draws = (witness.draws, witness.other_draws or witness.draws)
    found = [
        Chances(hits, size, binomial.lower(hits, size, miss), binomial.upper(hits, size, miss))
        for hits, size in zip(witness.hits, draws, strict=True)
    ]
    return (found[0], found[1]) if witness.likelier == 0 else (found[1], found[0])


def work(audit: Audit) -> list[str]:
    """How it was tested."""
    return [
        f"Method: {audit.method}.",
        f"{_amount(audit)}, in {seconds_words(audit.seconds)}.",
        *(_trained(audit) if isinstance(audit, TrainingAudit) else []),
        *([] if audit.tried is None else [f"Tried: {audit.tried}; {audit.tried.events:,} sets of outputs compared."]),
        *([f"Last bits ignored: {audit.rounded}."] if audit.rounded else []),
        f"The bound holds with confidence {audit.confidence:.10g}: "
        f"a false alarm has a chance of at most {odds(audit.confidence)}.",
    ]


def _amount(audit: Audit) -> str:
    if not counted(audit):
        return f"{audit.samples:,} numbers"
    pairs = "One pair of data sets" if audit.pairs == 1 else f"{audit.pairs:,} pairs of data sets"
    fresh = "" if audit.witness.draws == audit.samples else f", {audit.witness.draws:,} of them fresh, for the count"
    return f"{pairs}; {audit.samples:,} outputs from each data set of the pair above{fresh}"


def _trained(audit: TrainingAudit) -> list[str]:
    """What the trainings had in common, and which ones failed."""
    failed = f"{audit.failed:,} failed, the last one with {audit.error}" if audit.failed else "none failed"
    unit = "person" if audit.people else "record"
    relation = f"has another {unit}" if audit.neighbors == "replace" else f"has one {unit} more or less"
    return [
        f"Trainings, on {audit.records:,} records and canaries: {audit.trainings:,}; {failed}.",
        f"Neighbors: one data set {relation}.",
        f"{audit.valid}.",
    ]


def canaries(audit: TrainingAudit) -> list[tuple[str, str, str, str, str, str]]:
    """Of each kind: what it is, how many, the trainings that failed, the bound, and the most it could have been."""
    return [
        (
            one.kind,
            one.words,
            f"{one.canaries:,}",
            f"{one.failed:,} of {one.trainings:,}"
            + ("" if not one.failed or one.failed_with is None else f", {one.failed_with:,} of them with the canary"),
            floor(Fraction(one.lower_bound)),
            floor(Fraction(one.ceiling)),
        )
        for one in audit.kinds
    ]


def limits(audit: Audit) -> list[str]:
    """What was not tested, as sentences."""
    return [_sentence(words) for words in audit.not_tested or (NOTHING_LEFT_OUT,)]


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def checks_headline(checks: Checks) -> str:
    found = Counter(check.verdict for check in checks.checks)
    total = len(checks.checks)
    bad, open_ = found["violated"], found["inconclusive"]
    if bad:
        return f"{bad} of {total} checks found a violation"
    if open_:
        return f"{open_} of {total} checks could not be decided"
    return f"{total} checks, no violation" if total else "Nothing was checked"


def checks_lead(checks: Checks) -> str:
    """The first of the worst, which a reader wants to know at once."""
    if not checks.checks:
        return "Nothing can be said."
    if checks.verdict == "consistent":
        return "Nothing seen contradicts the claim. That is no proof: what was not tested is listed below."
    worst = next(check for check in checks.checks if check.verdict == checks.verdict)
    return f"{worst.name}: {worst.says}"

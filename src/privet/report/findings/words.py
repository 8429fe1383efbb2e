"""The sentences that a page and a terminal share about what an attack found."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from privet.report.terminal import percent, seconds_words, share_at_least

if TYPE_CHECKING:
    from privet.attacks.finding import Finding, Findings, Score, Strength
    from privet.stats.intervals import Interval

LEAD_CERTAIN = "Certain means: it is so in every data set that fits what was published and the assumptions below."
LEAD_NOBODY = (
    "After this attack nobody is certain. That is no promise: another attack may find more. What was assumed"
    " and what was not tried is listed below."
)
FORECASTS = {  # what is no attack on somebody's release has a title of its own
    "regimes": "Error regimes of",
    "leak": "Leak against noise of",
}
NOT_STATED = "Nothing is stated."
SHORT = {"PROOF": "proof", "RESOLVED": "two solvers", "CONFIDENCE": "likely"}
MEANING = {
    "PROOF": "Proof: no data set that fits the release says otherwise. This comes with a certificate that a small"
    " program, independent of the solver, has checked.",
    "RESOLVED": "Two solvers: one solver found that no data set that fits the release says otherwise, and a second one"
    " found the same. There is no certificate to check.",
    "CONFIDENCE": "Likely: true with at least the probability shown, if the assumptions hold. This is no proof.",
}


def title(findings: Findings) -> str:
    return f"{FORECASTS.get(findings.attack, f'{findings.attack.capitalize()} attack on')} {findings.subject}"


def lead(findings: Findings) -> str:
    return findings.lead or (LEAD_CERTAIN if findings.known else LEAD_NOBODY)


def by_section(findings: Findings) -> list[tuple[str, tuple[Finding, ...]]]:
    """The findings under their headings, in the order in which these occur."""
    headings = dict.fromkeys(finding.section for finding in findings.findings)
    return [
        (heading or "Worst records", tuple(one for one in findings.findings if one.section == heading))
        for heading in headings
    ]


def took(findings: Findings) -> str:
    if findings.counted:
        return (
            f"The work was about {seconds_words(findings.seconds)} of an ordinary machine, by the solvers' own count."
        )
    return f"The attack took {seconds_words(findings.seconds)}."


def sureness(finding: Finding) -> str:
    """A confidence is rounded down: 99.999 % is never shown as 100 %."""
    if finding.confidence is None:
        return SHORT[finding.strength.name]
    return f"{SHORT[finding.strength.name]}, {share_at_least(Fraction(finding.confidence))}"


def used(findings: Findings) -> list[Strength]:
    """The kinds of evidence there are, the strongest first."""
    kinds = {finding.strength for finding in findings.findings}
    return sorted(kinds, key=lambda kind: list(SHORT).index(kind.name))


def score_sentences(score: Score) -> list[str]:
    """In the order in which somebody would ask."""
    false = score.claimed - score.right
    if not score.claimed:
        claims = "Nothing is claimed about a single person, record or cell."
    elif not false:
        claims = f"All {score.claimed:,} claims are true." if score.claimed > 1 else "The one claim is true."
    else:
        claims = f"{false:,} of {score.claimed:,} claims {'is' if false == 1 else 'are'} false."
    guess = f"With the release the best guess is right for {_share(score.success)} of people"
    compared = f", without it for {_share(score.baseline)}"
    control = "" if score.control is None else f"; for people who are not in the data, for {_share(score.control)}"
    gain = score.advantage
    return [
        claims,
        f"{guess}{compared}{control}.",
        f"The release adds {_points(gain.value)} percentage points ({_points(gain.low)} to {_points(gain.high)}).",
    ]


def more(number: int, what: str) -> str:
    """Such as "and 3 more cells"; empty if there are none."""
    return f"and {number:,} more {what}" if number > 0 else ""


def _share(interval: Interval) -> str:
    return f"{percent(interval.value)} ({percent(interval.low)} to {percent(interval.high)})"


def _points(share: float) -> str:
    return f"{share * 100:.1f}"

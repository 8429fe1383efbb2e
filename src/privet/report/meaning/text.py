"""What an epsilon says about a person, in words for a terminal: at most 40 lines of 100 columns, plain ASCII."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from privet.report.terminal import Pen, ceiling, share_at_least, share_at_most

if TYPE_CHECKING:
    from privet.interpret import Belief, Meaning

NOTES = "lecture notes S1, S3, S4, listed in docs/mission.md"
GUIDANCE = (  # epsilon, what is said of it, who says so
    ("0.01 to 1", "good", NOTES),
    ("0.1", "good privacy", NOTES),
    ("0.5 to 5", "what is used in practice", NOTES),
)
NO_POSTERIOR = (
    "No limit can be given for what somebody may come to believe: with probability up to delta",
    "anything may come out, even this person's whole record. Limited is how often a guess is right.",
)
NOT_PROMISED = (
    (
        "That nothing is learned about you. What a study finds about smokers will be believed of every",
        "smoker, in the table or not. Nor is it promised that a release does no harm.",
    ),
    (
        'That side knowledge is useless. "She is twice the average age" tells her age once the average',
        "is known, even if she is not in the table. No useful release prevents that (Dalenius' wish).",
    ),
)
SHOWN_GROUPS = 4
FACTS = {"membership": "this person is in the table", "value": "this person has a certain value (say: is ill)"}
CASES = {"membership": ("not in the table", "in it"), "value": ("healthy", "ill")}
QUESTIONS = {
    ("membership", "add-remove"): "is a certain person in the table, or not?",
    ("membership", "replace"): "is a certain person in the table, or somebody else in their place?",
    ("value", "add-remove"): "which of two values does a certain person have (say: ill or healthy)?",
    ("value", "replace"): "which of two values does a certain person have (say: ill or healthy)?",
}


def page(meaning: Meaning, pen: Pen) -> str:
    """The whole text, for a data steward who knows no mathematics."""
    parts = [
        _question(meaning, pen),
        _beliefs(meaning, pen) if meaning.examples else [pen.head("What somebody can come to believe"), *_why_none()],
        _guesses(meaning, pen),
        _groups(meaning, pen),
        _guidance(pen),
        _limits(pen),
    ]
    return "\n\n".join("\n".join(lines) for lines in parts)


def main_figures(meaning: Meaning) -> list[str]:
    """The few sentences to read first."""
    return [
        _title(meaning) + f". The question: {QUESTIONS[meaning.about, meaning.neighbors]}",
        *([_belief(meaning.posterior or meaning.examples[0], meaning.about)] if meaning.examples else NO_POSTERIOR),
        f"The most accurate guess between two equally likely cases is right with probability at most"
        f" {share_at_most(meaning.best_guess)} (a blind guess: 50 %).",
    ]


def price(epsilon: Fraction, delta: Fraction) -> str:
    """Such as "epsilon = 1, delta = 1e-6"."""
    return f"epsilon = {ceiling(epsilon, 6)}" + (f", delta = {ceiling(delta)}" if delta else "")


def number_of_people(number: int) -> str:
    if number == 1:
        return "1 person"
    return f"{number:,} people" if number <= 10**9 else f"{ceiling(Fraction(number))} people"


def _title(meaning: Meaning) -> str:
    return f"What {price(meaning.epsilon, meaning.delta)} says about one person"


def _question(meaning: Meaning, pen: Pen) -> list[str]:
    lines = [
        pen.head(_title(meaning)),
        f"The question: {QUESTIONS[meaning.about, meaning.neighbors]}",
        f"The price is that of everything released, all together, for {meaning.neighbors} neighbors.",
    ]
    if meaning.effective_epsilon == meaning.epsilon:
        return lines
    return [
        *lines,
        "Another value is two steps, the old one out and the new one in, so here it counts as",
        f"{price(meaning.effective_epsilon, meaning.effective_delta)}.",
    ]


def _beliefs(meaning: Meaning, pen: Pen) -> list[str]:
    first = meaning.posterior or meaning.examples[0]
    others = [belief for belief in meaning.examples if belief.prior != first.prior]
    odds = ceiling(meaning.odds_factor or Fraction(0))
    return [
        pen.head("What somebody can come to believe"),
        f"   Somebody who was {_prior(first)} sure that {FACTS[meaning.about]}",
        f"   can be {pen.good(f'at most {share_at_most(first.high)} sure')} after seeing everything released"
        f" (at least {share_at_least(first.low)}).",
        *(f"     {_prior(belief):>5} sure before: {_after(belief)} after" for belief in others),
        "   Assumed is the worst case, somebody who knows everybody else in the table.",
        f"   Whatever comes out, the odds grow or shrink by a factor of at most {odds}.",
    ]


def _why_none() -> list[str]:
    return [f"   {line}" for line in NO_POSTERIOR]


def _guesses(meaning: Meaning, pen: Pen) -> list[str]:
    alarms = [share_at_most(point.false_positive_rate) for point in meaning.trade_off]
    hits = [share_at_most(point.true_positive_rate) for point in meaning.trade_off]
    not_so, so = CASES[meaning.about]
    right = pen.good(f"at most {share_at_most(meaning.best_guess)}")
    return [
        pen.head("How well anybody can tell"),
        f"   An attack that points wrongly at {alarms[1]} of the people who are {not_so}",
        f"   points at {pen.good(f'no more than {hits[1]}')} of those who are {so}:",
        "     false alarms          " + _row(alarms),
        "     true alarms, at most  " + _row(hits),
        f"   A guess between two equally likely cases is right {right} of the time (blind: 50 %).",
    ]


def _groups(meaning: Meaning, pen: Pen) -> list[str]:
    rows = [
        f"     {number_of_people(group.people):<21} {price(group.epsilon, group.delta)};"
        f" a guess about all is right at most {share_at_most(group.best_guess)}"
        for group in meaning.groups[:SHOWN_GROUPS]
    ]
    hidden = len(meaning.groups) - len(rows)
    more = [f"     and {hidden} more groups in to_json()"] if hidden else []
    return [
        pen.head("Groups, such as a family, are protected less"),
        *rows,
        *more,
        "   Read the other way: a release can be useful for n >= 1/epsilon,"
        f" here {number_of_people(meaning.useful_from)} or more.",
    ]


def _guidance(pen: Pen) -> list[str]:
    rows = [f"   {span:<10} {words}" for span, words, _ in GUIDANCE]
    return [pen.head(f"Which epsilon? Not ours to choose. From {NOTES}:"), *rows]


def _limits(pen: Pen) -> list[str]:
    rows = [f"   {'- ' if line is lines[0] else '  '}{line}" for lines in NOT_PROMISED for line in lines]
    return [pen.head("Not promised (shown in docs/meaning.md)"), *rows]


def _belief(belief: Belief, about: str) -> str:
    return (
        f"Somebody who was {_prior(belief)} sure that {FACTS[about]} can be at most"
        f" {share_at_most(belief.high)} sure after seeing everything released (at least {share_at_least(belief.low)})."
    )


def _after(belief: Belief) -> str:
    return f"{share_at_least(belief.low)} to {share_at_most(belief.high)}"


def _prior(belief: Belief) -> str:
    return f"{float(100 * belief.prior):.12g} %"


def _row(cells: Sequence[str]) -> str:
    return "".join(f"{cell:>13}" for cell in cells)

"""What an attack by conditions found, in words, and what a promise of privacy leaves of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from privet.attacks.finding import Finding, Findings, Picture, Score, ShownTable, Strength
from privet.attacks.membership.trade_off import picture
from privet.attacks.promise import Privacy
from privet.attacks.subsets.findings import LEAD, MOST_LISTED, errors_words
from privet.attacks.subsets.predicates import PredicateQueries, PredicateResult, people_guessed
from privet.attacks.subsets.score import SURE, calibration, scored
from privet.attacks.subsets.subset_sums import Guesses
from privet.interpret import meaning
from privet.stats.roc import roc
from privet.typing import Floats

ASSUMED = (
    "The table of what anybody can see has everybody who is in the data, once, and no attribute is wrong.",
    "Errors of different answers are independent of each other.",
)
NOT_TRIED = (
    "Questions that are chosen after what was answered before, about people of whom little is known.",
    "Secrets that go together with the attributes, or with each other.",
)


def findings_of(asked: PredicateQueries, told: PredicateResult, seconds: float) -> Findings:
    guesses, sure, chance = people_guessed(asked)
    names, truth, privacy = asked.public.names, told.truth, told.privacy
    score = None if truth is None else scored(guesses, sure, truth, None)
    likely = np.flatnonzero(sure >= SURE)
    order = likely[np.argsort(-sure[likely], kind="stable")][:MOST_LISTED]
    return Findings(
        attack="subsets",
        subject=told.subject,
        headline=_headline(sure, truth, score),
        people=len(names),
        claimed=len(likely),
        findings=tuple(_finding(names[at], told.secret, int(guesses[at]), float(sure[at])) for at in order),
        tables=(_questions(asked), *_promise(privacy, truth, score)),
        pictures=_pictures(guesses, sure, chance, truth, privacy),
        score=score,
        assumptions=(*ASSUMED, f"The answers are counts {errors_words(asked.decoded.errors)}."),
        not_tried=NOT_TRIED,
        numbers=_numbers(asked, sure, truth, score, privacy),
        seconds=seconds,
        word="found",
        lead=LEAD,
    )


def _headline(sure: Floats, truth: Guesses | None, score: Score | None) -> str:
    if truth is None or score is None:
        return f"The guesses are expected to be right for about {100 * sure.mean():.1f} % of {len(sure):,} people"
    known = int((truth >= 0).sum())
    right, blind = (round(one.value * known) for one in (score.success, score.baseline))
    return f"{right:,} of {known:,} people's secrets are guessed right; without the answers {blind:,} are"


def _finding(name: str, secret: str, bit: int, confidence: float) -> Finding:
    return Finding(
        claim=f'"{secret}" is {"true" if bit else "false"} of {name}',
        strength=Strength.CONFIDENCE,
        confidence=confidence,
    )


def _questions(asked: PredicateQueries) -> ShownTable:
    classes, people = len(asked.public.top), len(asked.public.names)
    few = (
        " These are fewer answers than classes: many data sets fit them, and guesses lean on how many have it in all."
        if asked.questions < classes
        else ""
    )
    alike = (
        f" They fall into {classes:,} classes that conditions can tell apart: of a larger one only the number is told."
        if classes < people
        else ""
    )
    doubt = (
        f" The answers do not fit counts {errors_words(asked.stated)}: somebody else is in the data, an attribute is"
        " wrong, or errors are larger. How sure guesses are goes by the answers, not by what was said."
        if asked.stated is not None and asked.stated != asked.decoded.errors
        else ""
    )
    return ShownTable(
        "What was asked",
        f"{asked.questions:,} questions about {people:,} people; {asked.ended}.{alike}{few}{doubt}",
        ("question", "decoder", "classes", "questions"),
        ((asked.examples[0], asked.decoded.decoder, f"{classes:,}", f"{asked.questions:,}"),),
    )


def allowed(privacy: Privacy, rate: float) -> float:
    """The share of guesses between two values that can be expected to be right at most, where a share `rate` has it.

    A test with false alarms a and hits b is right with r b + (1 - r)(1 - a). Under the trade-off curve that is largest
    at one of its corners: (0, delta), (1 - delta, 1), or where the curve is as far from either axis, which is the best
    guess at 50:50 and the same for every r."""
    bound = meaning(epsilon=privacy.epsilon, delta=privacy.delta, neighbors=privacy.neighbors, about="value", groups=())
    most = max(rate, 1 - rate)
    return max(float(bound.best_guess), most + float(bound.effective_delta) * (1 - most))


def _promise(privacy: Privacy | None, truth: Guesses | None, score: Score | None) -> tuple[ShownTable, ...]:
    if privacy is None or truth is None or score is None:
        return ()
    rows = [
        ("guesses that are right", score.success.value, score.success.low, score.success.high),
        ("more than without the answers", score.advantage.value, score.advantage.low, score.advantage.high),
    ]
    most = allowed(privacy, _share_of(truth))
    shown = tuple((what, *(f"{100 * number:.1f} %" for number in numbers)) for what, *numbers in rows)
    return (
        ShownTable(
            "What the promise allows",
            f"Under epsilon {float(privacy.epsilon):g}, delta {float(privacy.delta):g} ({privacy.neighbors}) for all"
            f" answers together no guess at a person's secret is expected to be right in more than {100 * most:.1f} %"
            " of cases. What was seen is one run, with the interval of a share; all people of a run share its errors.",
            ("what was seen", "share", "from", "to"),
            shown,
        ),
    )


def _share_of(truth: Guesses) -> float:
    return float((truth[truth >= 0] == 1).mean())


def _steps(privacy: Privacy) -> int:
    """From one value of a person to another: out and in again, where neighbors differ by one person."""
    return 2 if privacy.neighbors == "add-remove" else 1


def _pictures(
    guesses: Guesses, sure: Floats, chance: Floats, truth: Guesses | None, privacy: Privacy | None
) -> tuple[Picture, ...]:
    if truth is None or not (truth == 0).any() or not (truth == 1).any():
        return ()
    steps = 1 if privacy is None else _steps(privacy)
    curve = roc(chance[truth == 1], chance[truth == 0])
    drawn = calibration(guesses, sure, truth)
    shown = picture(curve, privacy, "People with the secret who are found, against others", steps=steps)
    shown = replace(
        shown,
        text=shown.text.replace("people in the data", "people with the secret"),
        x="people without the secret who are suspected",
        y="people with the secret who are found",
    )
    return shown, *(() if drawn is None else (drawn,))


def _numbers(
    asked: PredicateQueries, sure: Floats, truth: Guesses | None, score: Score | None, privacy: Privacy | None
) -> dict[str, Any]:
    told = asked.decoded.errors
    return {
        "recovered": None if score is None else score.success.value,
        "expected": float(sure.mean()),
        "decoder": asked.decoded.decoder,
        "people": len(asked.public.names),
        "classes": len(asked.public.top),
        "queries": asked.questions,
        "ended": asked.ended,
        "rate": asked.rate,
        "errors": {"law": told.law, "size": told.size, "share": told.share},
        "baseline": None if score is None else score.baseline.value,
        "allowed": None if privacy is None or truth is None else allowed(privacy, _share_of(truth)),
        "sure": int((sure >= SURE).sum()),
    }

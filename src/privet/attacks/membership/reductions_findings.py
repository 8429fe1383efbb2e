"""What an attack made from another attack found, in words."""

from __future__ import annotations

import time
from collections.abc import Hashable, Sequence
from dataclasses import asdict

import numpy as np

from privet.attacks.finding import Findings, Score, ShownTable
from privet.attacks.membership.reductions import NOBODY, Guessed
from privet.attacks.membership.trade_off import picture
from privet.stats.binomial import share
from privet.stats.intervals import Interval, difference, exactly
from privet.stats.roc import roc
from privet.typing import Floats, Integers

LEAD_MEMBERSHIP = (
    "A reconstruction is a test of who is in the data: it has the secret of most people who are, and of others only as"
    " often as chance has it. Nobody is called certain."
)
LEAD_SECRETS = (
    "A test of who is in the data is a reconstruction: people are tested against the statistics of each value of the"
    " secret. Told means: one value was left. ⊥ means: not in the data, as far as the tests say."
)
ASSUMED_MEMBERSHIP = (
    "The attacker knows the person's secret, and wants to know whether it is in the data.",
    "The secrets of people outside have nothing to do with the data.",
)
ASSUMED_SECRETS = (
    "The attacker knows what the tests need of each person, but not the secret.",
    "People outside are like people inside in all but this; every second one set the thresholds, the others are shown.",
)
NOT_TRIED_MEMBERSHIP = ("A test made for membership, which may use more than one person's guess.",)
NOT_TRIED_SECRETS = ("What follows from the other people's records: a linear decoder uses all of them at once.",)
HALF = 0.5


def of_membership(inside: Floats, outside: Floats, chance: float, subject: str, start: float) -> Findings:
    """Scores of people in the data, and of others."""
    curve = roc(inside, outside)
    hits = (share(int((scores > HALF).sum()), len(scores)) for scores in (inside, outside))
    found, alarms = hits
    score = _score(int((inside > HALF).sum()), int((inside > HALF).sum()), found, chance, alarms)
    gain = difference(found, alarms)
    expected = found.value - chance
    rows = (
        ("people in the data called IN", _percent(found), "the share r of secrets that are right"),
        ("people outside called IN", _percent(alarms), f"chance: {100 * chance:.1f} %"),
        ("advantage", _percent(gain), f"r less chance: {100 * expected:.1f} %"),
    )
    return Findings(
        attack="membership by reconstruction",
        subject=subject,
        headline=f"A reconstruction that is right for {100 * found.value:.1f} % tells who is in the data with an"
        f" advantage of {100 * gain.value:.1f} points",
        people=None,
        findings=(),
        pictures=(picture(curve, None, "How well the reconstruction tells who is in the data"),),
        tables=(ShownTable("What follows from a reconstruction", "", ("what", "seen", "what follows"), rows),),
        score=score,
        assumptions=ASSUMED_MEMBERSHIP,
        not_tried=NOT_TRIED_MEMBERSHIP,
        numbers={
            "found": asdict(found), "alarms": asdict(alarms), "advantage": asdict(gain), "auc": asdict(curve.auc),
            "chance": chance,
        },
        seconds=time.perf_counter() - start,
        lead=LEAD_MEMBERSHIP,
    )  # fmt: skip


def of_reconstruction(
    guessed: tuple[Guessed, Guessed],
    secrets: tuple[Sequence[Hashable], Sequence[Hashable]],
    alarms: tuple[float, int],
    subject: str,
    start: float,
) -> Findings:
    """Of people in the data, and of others. `alarms`: how often there may be a false one, and how many people set the
    thresholds for it. `success` is that of the largest score, whatever the thresholds say: the
    guess about somebody who is known to be in the data."""
    (found, control), (rate, setters) = guessed, alarms
    mine, theirs = (_places(found.values, some) for some in secrets)
    people, told = len(mine), int((found.places != NOBODY).sum())
    right = int((found.places == mine).sum())
    spared = share(int((control.places == NOBODY).sum()), len(theirs))
    forced = [share(_best(guess, true), len(true)) for guess, true in ((found, mine), (control, theirs))]
    chance = float(np.bincount(mine).max() / people)
    own = found.scores[np.arange(people), mine] > found.thresholds[mine]
    return Findings(
        attack="reconstruction by membership",
        subject=subject,
        headline=f"Tests of who is in the data tell the secret of {right:,} of {people:,} people, and a wrong one of"
        f" {told - right:,}",
        people=people,
        claimed=told,
        findings=(),
        tables=(_counts(found, control, mine, theirs),),
        score=_score(told, right, forced[0], chance, forced[1]),
        assumptions=ASSUMED_SECRETS + _few(setters, rate),
        not_tried=NOT_TRIED_SECRETS,
        numbers={
            "told": told, "right": right, "undecided": people - told, "outside_undecided": asdict(spared),
            "recovered": asdict(forced[0]), "control": asdict(forced[1]), "rate": rate,
            "found_by_own_test": float(own.mean()),
        },
        seconds=time.perf_counter() - start,
        word="told",
        lead=LEAD_SECRETS,
    )  # fmt: skip


def _few(setters: int, rate: float) -> tuple[str, ...]:
    """Another person is as likely as each of them to have the highest score."""
    if setters * rate >= 1:
        return ()
    return (
        f"A rate of {100 * rate:g} % takes more people than the {setters:,} who set the thresholds: each test raises a"
        f" false alarm for one person in {setters + 1:,}, on average.",
    )


def _best(guess: Guessed, true: Integers) -> int:
    return int((guess.scores.argmax(axis=1) == true).sum())


def _places(values: Sequence[Hashable], secrets: Sequence[Hashable]) -> Integers:
    place = {value: at for at, value in enumerate(values)}
    return np.array([place[secret] for secret in secrets], np.int64)


def _counts(found: Guessed, control: Guessed, mine: Integers, theirs: Integers) -> ShownTable:
    rows = []
    for name, guess, true in (("in the data", found, mine), ("not in the data (control)", control, theirs)):
        said, of = guess.places, len(true)
        parts = (said == true, (said != true) & (said != NOBODY), said == NOBODY)
        shares = [share(int(part.sum()), of) for part in parts]
        rows.append((name, f"{of:,}", *map(_percent, shares)))
    return ShownTable(
        "What the tests say of people in the data and of others",
        "⊥ is the right answer for people who are not in the data. Intervals are 95 % ones.",
        ("people", "number", "secret right", "secret wrong", "⊥"),
        tuple(rows),
    )


def _score(claimed: int, right: int, success: Interval, chance: float, control: Interval) -> Score:
    return Score(claimed=claimed, right=right, success=success, baseline=exactly(chance), control=control)


def _percent(part: Interval) -> str:
    return f"{100 * part.value:.1f} % ({100 * part.low:.1f} to {100 * part.high:.1f})"

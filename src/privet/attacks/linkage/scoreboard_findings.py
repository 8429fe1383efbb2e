"""What a scoreboard found, in words."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from privet.attacks.finding import Finding, Findings, Score, ShownTable, Strength
from privet.attacks.linkage.scoreboard import ScoreboardResult, ScoreboardSetting
from privet.attacks.linkage.scoreboard_decoys import TRUE, Family, fewest
from privet.errors import InvalidInputError
from privet.stats.binomial import share
from privet.stats.intervals import exactly
from privet.typing import Floats, Integers

MOST_LISTED = 1000
LEAD = (
    "Matched means: of all people in the table one fits what is known far better than the next, even without the point"
    " that speaks most for this one, and by more than for people who are not in the table, except for the rate that is"
    " stated. The others have the verdict: no match."
)
ASSUMED = (
    "A row of the table is what one person did; the same name in it is the same person.",
    "Somebody who is not in the table looks like one of its people with the own rows taken out. At most half of what is"
    " known of a target is wrong, and wrong points follow one of the laws that the control names.",
)
NOT_TRIED = (
    "Wrong points that belong together: several from one person of the table, such as a partner or a shared account, or"
    " picked to look like somebody. Strangers are then matched more often than the stated rate says.",
    "Targets of whom more than half is wrong.",
    "Several targets at once, so that nobody is matched twice.",
    "What follows from items that go together, or from the times of day.",
)


def findings_of(setting: ScoreboardSetting, result: ScoreboardResult, start: float) -> Findings:
    matched = result.ranking.eccentricity > result.strangers.threshold
    names, targets = _people(setting), _targets(setting)
    score, right = _scored(setting, result, matched, names)
    claims = int(matched.sum())
    rightly = "" if right is None or not claims else f", {int(right[matched].sum()):,} of them rightly"
    rows = np.flatnonzero(matched)
    order = rows[np.argsort(-result.ranking.eccentricity[rows], kind="stable")][:MOST_LISTED]
    return Findings(
        attack="scoreboard",
        subject=setting.subject,
        headline=_headline(setting, result, claims) + rightly,
        people=len(matched),
        claimed=claims,
        findings=tuple(_finding(setting, result, int(row), names, targets) for row in order),
        tables=(_control(setting, result),),
        score=score,
        assumptions=ASSUMED,
        not_tried=NOT_TRIED,
        numbers=_numbers(setting, result, matched, right),
        seconds=time.perf_counter() - start,
        word="matched",
        alarm="neutral" if np.isinf(result.strangers.threshold) else None,
        lead=LEAD,
    )


def _headline(setting: ScoreboardSetting, result: ScoreboardResult, claims: int) -> str:
    if np.isinf(result.strangers.threshold):
        return (
            f"Nobody can be matched at a rate of {setting.rate:.3g}: {len(result.strangers.spare):,} simulated"
            f" strangers are too few, {fewest(setting.rate):,} are needed. That is no sign of safety"
        )
    return f"{claims:,} of {len(result.ranking.best):,} people are found by what is known of them"


def _people(setting: ScoreboardSetting) -> list[str]:
    """The name of each person, in the order of their numbers."""
    column, items = setting.table[setting.person], setting.table[setting.item]
    there = np.array([text is not None for text in items.texts], np.bool_)[items.codes]
    return [str(column.texts[code]) for code in np.unique(column.codes[there]) if column.texts[code] is not None]


def _targets(setting: ScoreboardSetting) -> list[str]:
    column = setting.known[setting.target]
    return [str(column.texts[code]) for code in np.unique(column.codes) if column.texts[code] is not None]


def _finding(
    setting: ScoreboardSetting, result: ScoreboardResult, row: int, names: list[str], targets: list[str]
) -> Finding:
    ranking, points = result.ranking, result.points
    texts = setting.table[setting.item].texts
    mine = points.item[points.target == row]
    place = int(ranking.best[row])
    theirs = set(result.events.item[result.events.person == place].tolist())
    shared = sorted({int(one) for one in mine if int(one) in theirs}, key=lambda one: -result.events.weight[one])
    return Finding(
        claim=f"target {targets[row]} is {setting.person} {names[place]}",
        strength=Strength.CONFIDENCE,
        evidence=tuple(f"{setting.item} {texts[one]}" for one in shared),
        reasoning=f"score {ranking.score[row]:.2f}, the next {ranking.second[row]:.2f}: without the strongest point"
        f" {ranking.eccentricity[row]:.1f} standard deviations, above {result.strangers.threshold:.1f}",
    )


def _scored(
    setting: ScoreboardSetting, result: ScoreboardResult, matched: np.ndarray[Any, np.dtype[np.bool_]], names: list[str]
) -> tuple[Score | None, np.ndarray[Any, np.dtype[np.bool_]] | None]:
    """Success is of targets who are in the table; control of those who are not: a match of one of them is false."""
    if setting.truth is None:
        return None, None
    truth = _truth(setting, names)
    right = (truth == result.ranking.best) & (truth >= 0)
    inside = truth >= 0
    if not inside.any():
        raise InvalidInputError(
            "no target is in the table, by the truth", "check which column the truth is in", "no-overlap"
        )
    success = share(int(right[inside].sum()), int(inside.sum()))
    score = Score(
        claimed=int(matched.sum()),
        right=int((matched & right).sum()),
        success=success,
        baseline=exactly(1 / result.events.people),
        control=None,
    )
    return score, right


def _truth(setting: ScoreboardSetting, names: list[str]) -> Integers:
    """The number of the person whom each target is, or -1."""
    column, target = setting.known[str(setting.truth)], setting.known[setting.target]
    numbers = {name: number for number, name in enumerate(names)}
    real = np.array([numbers.get(str(text), -1) if text is not None else -1 for text in column.texts], np.int64)
    there = np.array([text is not None for text in target.texts], np.bool_)[target.codes]
    _, first = np.unique(target.codes[there], return_index=True)
    return np.asarray(real[column.codes[there][first]])


def _control(setting: ScoreboardSetting, result: ScoreboardResult) -> ShownTable:
    """A row for each law and share of wrong points; fresh strangers of the worst one stand last."""
    strangers = result.strangers
    limit, worst = strangers.threshold, strangers.worst
    rows = [_row(_law(one), one.eccentricity, limit, one.needed) for one in strangers.families]
    rows.append(_row(f"fresh strangers: {_law(worst)}", strangers.spare, limit, None))
    return ShownTable(
        "Control: people who are not in the table",
        "Strangers are people of the table, scored against it without their own rows; some of their points are wrong,"
        " by each of these laws. The threshold is the largest that one of them needs to match at most"
        f" {100 * setting.rate:.3g} % of such strangers (with 95 % confidence):"
        + (" none, there are too few." if np.isinf(limit) else f" {limit:.2f}, for {_law(worst)}."),
        ("wrong points", "threshold needed", "matched", "of", "share", "interval"),
        tuple(rows),
    )


def _law(family: Family) -> str:
    return TRUE if family.law == TRUE else f"{100 * family.share:.0f} % wrong, {family.law}"


def _row(name: str, found: Floats, limit: float, needed: float | None) -> tuple[str, ...]:
    hits = int((found > limit).sum())
    part = share(hits, len(found))
    told = "" if needed is None else "cannot be told" if np.isinf(needed) else f"{needed:.2f}"
    between = f"{100 * part.low:.2f} % to {100 * part.high:.2f} %"
    return name, told, f"{hits:,}", f"{len(found):,}", f"{100 * part.value:.2f} %", between


def _numbers(
    setting: ScoreboardSetting,
    result: ScoreboardResult,
    matched: np.ndarray[Any, np.dtype[np.bool_]],
    right: np.ndarray[Any, np.dtype[np.bool_]] | None,
) -> dict[str, Any]:
    strangers = result.strangers
    limit = strangers.threshold
    false = share(int((strangers.spare > limit).sum()), len(strangers.spare))
    common = {
        "targets": len(matched),
        "matched": int(matched.sum()),
        "limits": ["too few simulated strangers for this rate"] if np.isinf(limit) else [],
        "no_match": int((~matched).sum()),
        "table_people": result.events.people,
        "rate": setting.rate,
        "threshold": None if np.isinf(limit) else limit,
        "decoys": len(strangers.spare),
        "laws": [
            {
                "law": one.law,
                "wrong": one.share,
                "threshold": None if np.isinf(one.needed) else one.needed,
                "matched": float((one.eccentricity > limit).mean()),
            }
            for one in strangers.families
        ],
        "worst_law": _law(strangers.worst),
        "control": {"value": false.value, "low": false.low, "high": false.high},
    }
    return common if right is None else common | {"right": int((matched & right).sum())}

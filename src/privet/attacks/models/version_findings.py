"""What attacks on two versions of a model found, in words."""

from __future__ import annotations

import time
from dataclasses import asdict, replace
from typing import Any, Literal

import numpy as np

from privet.attacks.finding import Finding, Findings, Picture, Score, ShownTable, Strength
from privet.attacks.membership.trade_off import picture
from privet.attacks.models.measured import RATE
from privet.attacks.models.model_attack import ENOUGH, PEOPLE
from privet.attacks.models.model_findings import MOST_LISTED
from privet.attacks.models.version_attack import VersionsResult
from privet.attacks.models.version_reach import USABLE, WRONG, Reach, differ_in_rank
from privet.attacks.models.version_scores import shared_chance
from privet.report.terminal import percent
from privet.stats.binomial import share, upper
from privet.stats.intervals import Interval, exactly
from privet.stats.roc import LEVEL

FEWEST_USUAL = round(1 / RATE) - 1  # people, below which nobody's chance can be as low as RATE
FIRST = {"added": "later", "removed": "earlier"}  # the version that has the record
LEAD = (
    "Recognized means: the odds of the record changed more than those of 99 in 100 people in neither version. Claimed"
    f" means in addition that at most {100 * WRONG:g} % of such claims are expected to be wrong. Nobody's record is"
    " certain from two models alone."
)
NOT_TRIED = (
    "More than two versions; several answers for one record, such as for slightly changed copies; the weights.",
    "Records that are in both versions with another value or class; rebuilding records from the change.",
)


def findings_of(result: VersionsResult, subject: str, start: float) -> Findings:
    limits = _limits(result)
    bad = any(_recognized(one, result) for one in result.reached.values())
    limits += [] if bad else _weak(result)
    claims = [
        (which, int(place)) for which, one in result.reached.items() for place in np.argsort(-one.sure, kind="stable")
        if one.sure[place] > 0
    ]  # fmt: skip
    return Findings(
        attack="versions",
        subject=subject,
        headline="; ".join([*_headline(result), *([f"limited: {', '.join(limits)}"] if limits else [])]),
        people=len(result.update.usual),
        claimed=len({place for _, place in claims}),
        findings=tuple(_finding(result, which, place) for which, place in claims[:MOST_LISTED]),
        tables=tuple(_tables(result)),
        pictures=tuple(_pictures(result)),
        score=_score(result),
        assumptions=tuple(_assumptions(result)),
        not_tried=NOT_TRIED,
        numbers=_numbers(result, limits),
        seconds=time.perf_counter() - start,
        word="claimed",
        alarm=_alarm(limits, bad=bad),
        lead=LEAD,
    )


def _alarm(limits: list[str], *, bad: bool) -> Literal["bad", "neutral"] | None:
    return "bad" if bad else "neutral" if limits else None


def _recognized(one: Reach, result: VersionsResult) -> bool:
    """Somebody is claimed, or more are recognized than chance explains: in these versions, or in pairs trained again,
    where chance decided who was added."""
    usual = int(result.update.usual.sum())
    most = upper(max(int(RATE * (usual + 1) + 1e-9) - 1, 0), usual, LEVEL / 2) if usual else 1.0
    here = one.best.found is not None and not one.doubts and one.best.found.low > most
    return bool((one.sure > 0).any()) or here or (one.best.again is not None and one.best.again.low > 2 * RATE)


def _limits(result: VersionsResult) -> list[str]:
    """Why an attack that finds nothing says less than it seems."""
    update, learned, found = result.update, result.learned, list(result.limits)
    usual, size = int(update.usual.sum()), len(learned.shadows)
    if usual < FEWEST_USUAL:
        found.append(_too_few(result))
    if not update.known:
        found.append("it is not said which candidates were added or removed, so claims are not scored")
    for which, one in result.reached.items():
        if update.known and (few := int(one.joined.sum())) < PEOPLE and not _recognized(one, result):
            found.append(
                f"{few} {which} {_records(few)}: too few to show that none is recognized ({PEOPLE} are needed)"
            )
        found += [f"{which}: {doubt}" for doubt in one.doubts]
    if learned.failed[0]:
        found.append(f"{learned.failed[0]} trainings failed ({learned.failed[1]})")
    if size < USABLE:
        found.append("too few pairs of versions trained again" if size else _no_pairs(result))
    elif size < ENOUGH:
        found.append(f"only {size} pairs trained again: the attacks are weaker than they could be")
    if result.kind == "labels" or all(len(np.unique(one[np.isfinite(one)])) <= 2 for one in result.odds):
        found.append("the versions return labels only: probabilities may reveal more")
    if any(one.unlike for one in result.reached.values()):
        found.append("the pairs trained again are unlike the two versions")
    return found


def _no_pairs(result: VersionsResult) -> str:
    missing = "" if result.update.base else " (records of both versions are needed)"
    return f"no pairs of versions were trained again{missing}"


def _too_few(result: VersionsResult) -> str:
    others = int((~result.update.tested).sum())
    if not others:
        return "no others were given, so nobody can be claimed"
    return f"{others} others are too few to claim anybody ({2 * FEWEST_USUAL} are needed)"


def _weak(result: VersionsResult) -> list[str]:
    """Nobody stands out, and yet those who changed differ from others by one attack or another."""
    found = []
    for which, one in result.reached.items():
        names = [name for name, each in one.attacks.items() if each.curve is not None and differ_in_rank(each.curve)]
        if names and not one.doubts:
            found.append(f"{which} records differ from others by {' and '.join(names)}, although nobody stands out")
    return found


def _headline(result: VersionsResult) -> list[str]:
    """In people, for these versions; then in shares, over pairs trained again."""
    if int(result.update.usual.sum()) < FEWEST_USUAL:
        return ["Nobody can be claimed"]
    if not result.update.known:
        counts = [f"{int((one.sure > 0).sum()):,} as {which}" for which, one in result.reached.items()]
        return [f"Claimed of {result.update.candidates:,} candidates: {' and '.join(counts)}"]
    parts = []
    for which, one in result.reached.items():
        of, best = int(one.joined.sum()), one.best
        found = best.found or exactly(0.0)
        hits, single = round(found.value * of), round(_alone(one).value * of)
        parts.append(
            f"{hits:,} of {of:,} {which} {_records(of)} {'is' if hits == 1 else 'are'} recognized from the two versions"
            f" ({_between(found)}; {one.main}), and at most 1 in 100 others; from the {FIRST[which]} version alone:"
            f" {single:,}"
        )
        if best.again is not None:
            parts.append(f"{percent(best.again.value)} over updates trained again ({_between(best.again)})")
    return parts


def _between(interval: Interval) -> str:
    return f"{percent(interval.low)} to {percent(interval.high)}"


def _shares(interval: Interval | None) -> str:
    return "not known" if interval is None else f"{percent(interval.value)} ({_between(interval)})"


def _records(count: int) -> str:
    return "record" if count == 1 else "records"


def _alone(one: Reach) -> Interval:
    """The best of all attacks on one version, seen afterwards: what two versions add is not overstated."""
    return max((each.alone for each in one.attacks.values() if each.alone), key=lambda it: it.value, default=exactly(0))


def _finding(result: VersionsResult, which: str, place: int) -> Finding:
    one, name = result.reached[which], result.names[place]
    wrong = "; this is wrong" if result.update.known and not one.joined[place] else ""
    return Finding(
        claim=f"{name} was {which}",
        strength=Strength.CONFIDENCE,
        record={"name": name},
        reasoning=f"{one.main} score {one.best.scores[place]:.4g}{wrong}",
        confidence=float(one.sure[place]),
        section=f"Records that were {which}",
    )


def _score(result: VersionsResult) -> Score | None:
    """Both directions together: each asks of a record whether it was added, or whether it was removed."""
    ways, update = list(result.reached.values()), result.update
    if not update.known or not update.control.any():
        return None
    hits = sum(round(one.best.found.value * int(one.joined.sum())) for one in ways if one.best.found)
    alarms = sum(round(one.best.control.value * int(update.control.sum())) for one in ways)
    claimed = [one.sure > 0 for one in ways]
    right = [mine & one.joined[: update.candidates] for mine, one in zip(claimed, ways, strict=True)]
    return Score(
        claimed=sum(int(mine.sum()) for mine in claimed),
        right=sum(int(mine.sum()) for mine in right),
        success=share(hits, sum(int(one.joined.sum()) for one in ways)),
        baseline=exactly(RATE),
        control=share(alarms, len(ways) * int(update.control.sum())),
    )


def _tables(result: VersionsResult) -> list[ShownTable]:
    rows = tuple(
        (
            which, name, "not known" if each.curve is None else f"{each.curve.auc.value:.3f}",
            _shares(each.found), _shares(each.alone), _shares(each.again), _shares(each.again_alone),
        )
        for which, one in result.reached.items() for name, each in one.attacks.items()
    )  # fmt: skip
    control = tuple(
        (which, _shares(one.best.control) if result.update.control.any() else "not known", _shares(one.best.unchanged))
        for which, one in result.reached.items()
    )
    pairs = len(result.learned.models)
    return [
        ShownTable(
            "Who is recognized from two versions",
            "AUC: the chance that the score of an added (or removed) record is higher than that of somebody in neither"
            " version. Recognized: above the threshold that at most 1 in 100 others passes. One version: the same"
            " attack on only the version that has the record. Intervals hold with 95 %: over people, or, for"
            f" {pairs} pairs trained again, over updates.",
            (
                "what", "attack", "AUC", "recognized", "from one version", "recognized, trained again",
                "from one version, trained again",
            ),
            rows,
        ),
        ShownTable(
            "Where nobody may be recognized",
            "People in neither version must pass the threshold in about 1 of 100 cases or fewer. Without changes: the"
            " same records, where both versions are trained without them (on the same data, with different seeds).",
            ("what", "people in neither version", "the same records, without changes"),
            control,
        ),
    ]  # fmt: skip


def _pictures(result: VersionsResult) -> list[Picture]:
    return [
        replace(
            picture(one.best.curve, None, f"Records that were {which}, and others, told apart"),
            text=f"How many {which} records are recognized, against how many others are taken for one, for every"
            " threshold. The band holds for all thresholds at once, with 95 %.",
            x=f"others who are taken for {which}",
            y=f"{which} records that are recognized",
        )
        for which, one in result.reached.items()
        if one.best.curve is not None
    ]


def _assumptions(result: VersionsResult) -> list[str]:
    update, learned = result.update, result.learned
    usual, control, pairs = int(update.usual.sum()), int(update.control.sum()), len(learned.shadows)
    told = [
        f"The versions return {result.kind}. Their answers for {update.candidates:,} candidates and"
        f" {usual + control:,} others are compared.",
        "Candidates and others are similar people, and each record is one person.",
        f"{usual:,} of the others show what an update does to people in neither version; the other {control:,} are the"
        " control.",
    ]
    if pairs >= USABLE:
        told.append(
            f"The attacker knows the {update.base:,} records of both versions, can train as the owner did, and has"
            f" {pairs} pairs of versions. In each pair, chance decided who of the candidates and others was added or"
            " removed. The attack that is shown first did best on them."
        )
    else:
        told.append(
            "The attack that is shown first is the one in which a smaller change of odds is enough to be recognized."
        )
    if models := len(learned.models):
        told.append(f"{models} further pairs show what the attacks find on other updates.")
    else:
        told.append("Intervals are for these two versions and more people like these, not for another update.")
    return told


def _numbers(result: VersionsResult, limits: list[str]) -> dict[str, Any]:
    update, learned = result.update, result.learned
    return {
        "answers": result.kind,
        "limits": limits,
        "candidates": update.candidates,
        "base": update.base,
        "others": int((~update.tested).sum()),
        "pairs": len(learned.shadows),
        "models": len(learned.models),
        "failed": learned.failed[0],
        "shared_chance": shared_chance(learned.shadows) if len(learned.shadows) else None,
        "reproducible": result.reproducible,
        "rows_asked": result.asked,
        **{which: _direction(result, one) for which, one in result.reached.items()},
    }


def _direction(result: VersionsResult, one: Reach) -> dict[str, Any]:
    order = [int(place) for place in np.argsort(-one.best.scores[: len(one.sure)], kind="stable")]
    return {
        "main": one.main,
        "records": int(one.joined.sum()),
        "alone": asdict(_alone(one)),
        "attacks": {
            name: {
                "auc": None if each.curve is None else asdict(each.curve.auc),
                **{
                    what: None if (interval := getattr(each, what)) is None else asdict(interval)
                    for what in ("found", "alone", "again", "again_alone", "control", "unchanged")
                },
            }
            for name, each in one.attacks.items()
        },
        "risk": [
            {
                "name": result.names[place],
                "score": float(one.best.scores[place]),
                "chance": float(one.best.chance[place]),
                "sure": float(one.sure[place]),
            }
            for place in order
        ],
    }

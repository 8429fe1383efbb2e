"""What attacks on a model found, in words."""

from __future__ import annotations

import time
from dataclasses import asdict, replace
from typing import Any, Literal

import numpy as np

from privet.attacks.finding import Finding, Findings, Picture, Score, ShownTable, Strength
from privet.attacks.membership.trade_off import picture
from privet.attacks.models.measured import MANY, RATE, STRICT, Measured, differ
from privet.attacks.models.model_attack import USABLE, ModelResult
from privet.stats.intervals import Interval, exactly
from privet.stats.roc import LEVEL, allowed

MOST_LISTED = 1000
LEAD = (
    "Claimed means: the score is above a threshold that at most one in 100 people outside the training data pass"
    " (found on shadow models), and at least 90 % of those above it were in, if in and out were equally likely before."
    " Nobody's membership is certain from a model alone."
)
NOT_TRIED = (
    "Several answers for one record, such as for slightly changed copies; attacks on the weights of the model.",
    "Several people at once; regressions on more people than those who are tested.",
    "Marks in an answer other than its odds, such as how it is rounded or how long it takes.",
    "What the model reveals about attributes (`privet attack attributes`); what two versions of it reveal together"
    " (`privet attack versions`).",
)


def findings_of(result: ModelResult, subject: str, start: float) -> Findings:
    result = _weak(result)
    claimed, best = result.sure > 0, result.best
    order = [int(place) for place in np.argsort(-best.scores, kind="stable") if claimed[place]]
    return Findings(
        attack="model",
        subject=subject,
        headline=_headline(result),
        people=len(result.pool.records),
        claimed=int(claimed.sum()),
        findings=tuple(_finding(result, place) for place in order[:MOST_LISTED]),
        tables=tuple(_tables(result)),
        pictures=(_picture(result),),
        score=Score(
            claimed=int(claimed.sum()),
            right=int((claimed & result.pool.truth).sum()),
            success=best.curve.tpr_at(RATE),
            baseline=exactly(RATE),
            control=best.curve.alarms_at(RATE),
        ),
        assumptions=tuple(_assumptions(result)),
        not_tried=NOT_TRIED,
        numbers=_numbers(result),
        seconds=time.perf_counter() - start,
        word="claimed",
        alarm=_alarm(result),
        lead=LEAD,
    )


def violated(result: ModelResult) -> bool:
    return bool(result.coins) and any(one.refuted for one in result.coins or ())


def _members_found(best: Measured) -> bool:
    """Beyond both intervals, on this model or over models. Only coins decide over models: where members and others
    differ anyhow, this model says nothing."""
    here = not best.shifted and best.curve.tpr_at(RATE).low > best.curve.alarms_at(RATE).high
    others = len(best.curve.outside)
    by_chance = (allowed(RATE, others) + 1) / (others + 1)  # above the threshold that so many others give
    return here or (best.found is not None and best.found.low > 2 * by_chance)


def _alarm(result: ModelResult) -> Literal["bad", "neutral"] | None:
    return "bad" if _bad(result) else "neutral" if result.limits else None


def _bad(result: ModelResult) -> bool:
    return bool((result.sure > 0).any()) or violated(result) or _members_found(result.best)


def _weak(result: ModelResult) -> ModelResult:
    """If nobody is found, and yet members and others differ by one attack or another: that is no green light. The
    attack that is shown did best on shadow models, which need not be like this one."""
    if _bad(result):
        return result
    seen, said = [auc for auc in (result.best.curve.auc, result.best.auc) if auc is not None and auc.low > 0.5], []
    level = LEVEL / len(result.attacks)
    others = [name for name, one in result.attacks.items() if name != result.main and differ(one.curve, level)]
    if seen:
        said.append(
            f"members score higher than others (AUC {max(auc.value for auc in seen):.2f}), although nobody stands out"
        )
    if result.best.curve.auc.high < 0.5:
        said.append(f"members score lower than others (AUC {result.best.curve.auc.value:.2f})")
    if others:
        said.append(f"members of this model differ from others by {' and '.join(others)}")
    tops = [(name, *one.top) for name, one in result.attacks.items() if one.top is not None]
    for name, hits, of in tops[:1]:
        said.append(
            f"a few stand out in models trained again: of the {of:,} highest scores ({name}), {hits:,} are of people"
            " who were in"
        )
    return replace(result, limits=(*result.limits, *said))


def _headline(result: ModelResult) -> str:
    """In people, for this model; then in shares, over models; then what keeps it from saying more."""
    best = result.best
    members, others = len(best.curve.inside), len(best.curve.outside)
    found = round(best.curve.tpr_at(RATE).value * members)
    at = "At one false alarm in 100" if others * RATE >= 1 else f"With no false alarm among {others:,} others"
    parts = [f"{at}, {found:,} of {members:,} members {'is' if found == 1 else 'are'} found ({result.main})"]
    if best.found is not None:
        parts.append(f"{_percent(best.found.value)} over models trained again ({_between(best.found)})")
    if violated(result):
        parts.append("the promise of privacy is not kept")
    if result.limits:
        parts.append(f"limited: {', '.join(result.limits)}")
    return "; ".join(parts)


def _finding(result: ModelResult, place: int) -> Finding:
    name, sure = result.names[place], float(result.sure[place])
    wrong = "" if result.pool.truth[place] else "; this is wrong"
    return Finding(
        claim=f"{name} was in the training data",
        strength=Strength.CONFIDENCE,
        record={"name": name},
        reasoning=f"{result.main} score {result.best.scores[place]:.4g}{wrong}",
        confidence=sure,
    )


def _tables(result: ModelResult) -> list[ShownTable]:
    tables = [_reached(result)]
    if result.coins:
        tables.append(coins_table(result))
    return tables


def _reached(result: ModelResult) -> ShownTable:
    rows = []
    for name, one in result.attacks.items():
        here, found = one.curve.auc, one.curve.tpr_at(RATE)
        rows.append(
            (
                name,
                f"{here.value:.3f} ({here.low:.3f} to {here.high:.3f})",
                f"{_percent(found.value)} ({_between(found)})",
                _decimals(one.auc),
                "not known" if one.found is None else f"{_percent(one.found.value)} ({_between(one.found)})",
                *(() if result.best.strict is None else (_shares(one.strict),)),
                _decimals(one.control),
            )
        )
    models = len(result.models.told)
    over = f"{models} models trained again" if models else "models trained again"
    return ShownTable(
        "How well members are distinguished from others",
        "AUC: the chance that a member scores higher than somebody who was not in the training data. Found: members"
        " above the threshold that one in 100 of the others passes. Intervals hold with 95 %: for this model over"
        f" people, for {over} over models."
        " Control: the same attack on shadow models, but scored by who was in this model; 0.5 if members and others"
        " are alike.",
        (
            "attack", "AUC, this model", "found, this model", f"AUC, {over}", f"found, {over}",
            *(() if result.best.strict is None else (f"found at {100 * STRICT:g} % false alarms",)), "control AUC",
        ),
        tuple(rows),
    )  # fmt: skip


def coins_table(result: ModelResult) -> ShownTable:
    rows = tuple(
        (
            f"{one.guessed:,}",
            f"{one.right:,}",
            _percent(one.share.value),
            _percent(one.share.low),
            "no promise stated" if one.most is None else _percent(one.most),
        )
        for one in result.coins or ()
    )
    return ShownTable(
        "Coins guessed",
        "In models trained again, a coin decided which of two people was in. The table counts the right ones among the"
        f" surest guesses ({result.guesser}). The low ends of the intervals hold together with 95 %. If one of them is"
        " above the limit, the promise is not kept.",
        ("guesses", "right", "share", "low end", "limit of the promise"),
        rows,
    )


def _picture(result: ModelResult) -> Picture:
    best = result.best
    if best.model_curve is None:
        return picture(best.curve, None, "Members and others, told apart: this model")
    steps = 2 if result.privacy is not None and result.privacy.neighbors == "add-remove" else 1
    return picture(
        best.model_curve,
        result.privacy,
        "Members and others, told apart: models trained again",
        steps=steps,
        verdict=verdict(result),
    )


def verdict(result: ModelResult) -> str | None:
    if result.privacy is None:
        return None
    if not result.coins:
        return " The promise was not tested: its delta is too large for so many records."
    refuted = [one for one in result.coins if one.refuted]
    if not refuted:
        return " The guesses of coins are within the promise, which does not prove that it is kept."
    worst = max(refuted, key=lambda one: one.share.low)
    return (
        f" Of {worst.guessed:,} coins at least {_percent(worst.share.low)} are guessed right, and the promise allows"
        f" {_percent(worst.most or 0)}: it is not kept (wrong in at most 5 % of cases)."
    )


def _assumptions(result: ModelResult) -> list[str]:
    slots, fixed, shadows, models = (
        len(result.pool.slots), len(result.pool.fixed), len(result.shadows.told), len(result.models.told),
    )  # fmt: skip
    told = [
        f"The model returns {result.kind}. Its answers for {slots:,} members and as many others are compared.",
        "Members and others are similar people, and each record is one person.",
    ]
    if fixed:
        told.append(f"{fixed:,} more members are in every model and are not tested, because there are fewer others.")
    if shadows:
        told.append(
            f"The attacker can train models as the owner did, and has {shadows} of them. For each model and each pair"
            " of a member and somebody else, a coin decided who was in."
            + (" The attack shown first did best on them." if shadows >= USABLE else "")
        )
    if shadows < USABLE:
        told.append(f"Without enough shadow models, the attack shown first was fixed beforehand: {result.main}.")
    if models:
        told.append(
            f"{models} further models, with coins of their own, show what the attacks find after another training."
        )
    if models < 2:
        told.append("Intervals are for this one model and more people like these, not for another training.")
    told.append("The probability of a claim assumes that the person was as likely in as out before.")
    return told


def _numbers(result: ModelResult) -> dict[str, Any]:
    best = result.best
    found = best.curve.tpr_at(RATE)
    return {
        "main": result.main,
        "guesser": result.guesser if result.coins else None,
        "answers": result.kind,
        "limits": list(result.limits),
        "slots": len(result.pool.slots),
        "always_in": len(result.pool.fixed),
        "shadows": len(result.shadows.told),
        "models": len(result.models.told),
        "failed": result.shadows.failed + result.models.failed,
        "reproducible": result.reproducible,
        "rows_asked": result.asked,
        "calls_failed": result.failed_calls,
        "auc": best.curve.auc.value,
        "auc_low": best.curve.auc.low,
        "auc_high": best.curve.auc.high,
        "tpr": found.value,
        "tpr_low": found.low,
        "tpr_high": found.high,
        "attacks": {name: _attack_numbers(one) for name, one in result.attacks.items()},
        "claimed_others": int(((result.sure > 0) & ~result.pool.truth).sum()),
        "violated": violated(result) if result.coins and result.privacy is not None else None,
        "coins": [
            {"guessed": one.guessed, "right": one.right, "low": one.share.low, "most": one.most}
            for one in result.coins or ()
        ],
        "enough_for_strict": len(result.models.told) * len(result.pool.slots) >= MANY,
        "risk": _risk(result),
    }


def _attack_numbers(one: Measured) -> dict[str, Any]:
    return {
        "auc": asdict(one.curve.auc),
        "found": asdict(one.curve.tpr_at(RATE)),
        "models_auc": None if one.auc is None else asdict(one.auc),
        "models_found": None if one.found is None else asdict(one.found),
        "models_found_strict": None if one.strict is None else asdict(one.strict),
        "control_auc": None if one.control is None else asdict(one.control),
    }


def _risk(result: ModelResult) -> list[dict[str, Any]]:
    """Every member who was asked about, the highest score first. `sure` is 0 where nothing is claimed."""
    members = [int(place) for place in np.argsort(-result.best.scores, kind="stable") if result.pool.truth[place]]
    return [
        {"name": result.names[place], "score": float(result.best.scores[place]), "sure": float(result.sure[place])}
        for place in members
    ]


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %" if share < 0.1 else f"{100 * share:.0f} %"


def _between(interval: Interval) -> str:
    return f"{100 * interval.low:.1f} to {100 * interval.high:.1f} %"


def _shares(interval: Interval | None) -> str:
    return "not known" if interval is None else f"{_percent(interval.value)} ({_between(interval)})"


def _decimals(interval: Interval | None) -> str:
    return "not known" if interval is None else f"{interval.value:.3f} ({interval.low:.3f} to {interval.high:.3f})"

"""What guesses at a sensitive column found, in words: a leak of the training data, or correlation."""

from __future__ import annotations

import time
from dataclasses import asdict
from typing import Any, Literal

import numpy as np

from privet.attacks.finding import Findings, Score, ShownTable
from privet.attacks.models.attribute_attack import AttributeResult
from privet.attacks.models.attribute_columns import MOST_VALUES
from privet.attacks.models.attribute_gains import Gains, shares_of
from privet.stats.intervals import Interval

MOST_LISTED = 20
LEAD = (
    "Leak means: the model adds more to guesses about the people it was trained on than to guesses about others."
    " Correlation means: it adds as much for people who were not in the data. It has learned how columns go together,"
    " and leaving a person out would not help that person. Points are percentage points of right guesses."
)
NOT_TRIED = (
    f"Several unknown columns at once; columns with more than {MOST_VALUES} values.",
    "Attacks on the weights of the model; several answers for one record with other columns changed.",
    "Guesses without the model that are better than a logistic regression: they may leave less to correlation.",
)


def findings_of(result: AttributeResult, subject: str, start: float) -> Findings:
    shown = result.attacks[shown_attack(result)]
    return Findings(
        attack="attributes",
        subject=subject,
        headline=_headline(result),
        people=None,
        findings=(),
        tables=tuple(_tables(result)),
        score=Score(
            claimed=0, right=0, success=shown.with_model[0], baseline=shown.plain[0], control=shown.with_model[1]
        ),
        assumptions=tuple(_assumptions(result)),
        not_tried=NOT_TRIED,
        numbers=_numbers(result),
        seconds=time.perf_counter() - start,
        lead=LEAD,
        alarm=_alarm(result),
    )


def leaking(result: AttributeResult) -> list[str]:
    """Attacks with a leak, the surest first."""
    found = [name for name, one in result.attacks.items() if one.leaks(shifted=result.shifted)]
    return sorted(found, key=lambda name: -_surest(result.attacks[name], shifted=result.shifted).low)


def _surest(one: Gains, *, shifted: bool) -> Interval:
    if one.over is None:
        return one.leak
    return one.over.leak if shifted else max(one.leak, one.over.leak, key=lambda leak: leak.low)


def shown_attack(result: AttributeResult) -> str:
    return next(iter(leaking(result) or _undecided(result)), result.main)


def _undecided(result: AttributeResult) -> list[str]:
    """Where members and others differ anyhow: attacks by which the model adds more for members, the surest first."""
    found = [name for name, one in result.attacks.items() if result.shifted and one.leak.low > 0]
    return sorted(found, key=lambda name: -result.attacks[name].leak.low)


def _correlated(result: AttributeResult) -> bool:
    """With the attack that was chosen on those who teach: the control took no part in the choice."""
    one = result.attacks[result.main]
    return max(one.added.low, one.inferred.low) > 0


def _alarm(result: AttributeResult) -> Literal["bad", "neutral"] | None:
    if leaking(result):
        return "bad"
    return "neutral" if result.limits or _correlated(result) else None


def _headline(result: AttributeResult) -> str:
    """In people, then what it means, then what keeps it from saying more."""
    name, attack = result.people.sensitive.name, shown_attack(result)
    one = result.attacks[attack]
    members, others = result.people.members, result.people.others
    here, there, plain, base = (
        round(part.value * of)
        for part, of in zip((*one.with_model, *one.plain), (members, others, members, others), strict=True)
    )
    guesses = (
        f"with the model {name} is guessed right for {here:,} of {members:,} members and {there:,} of {others:,} others"
        f" ({attack}), without it for {plain:,} and {base:,}"
    )
    limited = f"; limited: {', '.join(result.limits)}" if result.limits else ""
    return f"{_meaning(result, one)}: {guesses}{limited}"


def _meaning(result: AttributeResult, one: Gains) -> str:
    if leaking(result):
        leak = _surest(one, shifted=result.shifted)
        over = "" if leak is one.leak else f" over {result.models} models trained again"
        return f"The model leaks its training data: it adds {_points(leak)} more for members than for others{over}"
    if _undecided(result):
        return (
            f"Not decided: the model adds {_points(one.leak)} more for members than for others, but they differ by"
            " themselves"
        )
    if one.added.low > 0:
        return (
            f"No leak found, but correlation: the model adds {_points(one.added)} for people who were not in the data,"
            " which is no leak of the training data"
        )
    if _correlated(result):
        return (
            "No leak found, but correlation: the guesses work for people who were not in the data, and about as well"
            " without the model, which is no leak of the training data"
        )
    return "Neither a leak nor correlation was found"


def _tables(result: AttributeResult) -> list[ShownTable]:
    return [_guessed(result), *([given] if (given := _given_away(result)) else [])]


def _guessed(result: AttributeResult) -> ShownTable:
    blank = ("–",) * (3 if result.models else 2)
    ways = {"most frequent value": result.plain.frequent, result.plain.way: result.plain.guess}
    rows = [
        (f"without the model: {way}", *map(_share, shares_of(one, result.people.parts)), *blank)
        for way, one in ways.items()
    ]
    for name, one in result.attacks.items():
        over = [] if not result.models else ["not known" if one.over is None else _points(one.over.leak)]
        rows.append((name, *map(_share, one.with_model), _points(one.added), _points(one.leak), *over))
    columns = ("guess", "members", "others", "added for others", "leak")
    return ShownTable(
        f"How often {result.people.sensitive.name} is guessed right",
        "Added for others: right guesses about people who were not in the data with the model, less those without it;"
        " that is correlation. Leak: what the model adds for members, less what it adds for others, in percentage"
        f" points. Intervals are over people{', in the last column over models' if result.models else ''}; the leaks of"
        " all attacks hold together with 95 %, each other interval has 95 %.",
        (*columns, *([f"leak over {result.models} models trained again"] if result.models else [])),
        tuple(rows),
    )


def _given_away(result: AttributeResult) -> ShownTable | None:
    """Members whose value is guessed with the model alone."""
    listed = [one for one in _risk(result) if one["only_with_model"]]
    if not listed:
        return None
    found, parts = result.guesses[shown_attack(result)], result.people.parts
    others = int((found.right & ~result.plain.guess.right)[parts[1]].sum())
    rows = tuple(
        (one["name"], f"{one['weight']:.2f}", f"{one['without']:.2f}", f"{one['others']:.0%}".replace("%", " %"))
        for one in listed[:MOST_LISTED]
    )
    return ShownTable(
        f"Members whose {result.people.sensitive.name} is guessed right only with the model",
        f"These are {len(listed):,} of {result.people.members:,} members; at most {MOST_LISTED} are shown. The same is"
        f" true of {others:,} of {result.people.others:,} others, so being listed does not prove that the training data"
        " are the reason. Weight: how probable the attack calls the true value. Others: the share of others to"
        " whose true value the model adds at least as much.",
        ("member", "weight", "without the model", "others"),
        rows,
    )


def _risk(result: AttributeResult) -> list[dict[str, Any]]:
    """Every member, first those to whose true value the model adds the most weight."""
    found, plain, (inside, outside) = result.guesses[shown_attack(result)], result.plain.guess, result.people.parts
    added = found.weight - plain.weight
    usual = np.sort(added[outside])
    as_much = 1 - np.searchsorted(usual, added[inside], side="left") / len(usual)
    return [
        {
            "name": result.people.names[place],
            "added": float(added[place]),
            "weight": float(found.weight[place]),
            "without": float(plain.weight[place]),
            "others": float(as_much[place]),
            "only_with_model": bool(found.right[place] and not plain.right[place]),
        }
        for place in map(int, inside[np.argsort(-added[inside], kind="stable")])
    ]


def _assumptions(result: AttributeResult) -> list[str]:
    people = result.people
    values, asked = len(people.sensitive.values), len(people.records)
    return [
        "The attacker knows every other column and the label of a person, and may ask the model about the person with"
        f" each value of {people.sensitive.name}: {values} values for {asked:,} people are {values * asked:,} answers.",
        f"The model returns {result.kind}.",
        f"The attacker has {len(people.teach):,} records of people who were not in the training data, drawn from the"
        f" others. The other {people.others:,} are the control.",
        f"The attack {result.main} guessed the most of those {len(people.teach):,} people right in cross-validation,"
        " before members and control were looked at.",
        *(
            ["The attack `shadow` learned from models that were trained on those people."]
            if "shadow" in result.attacks
            else []
        ),
        "Members and others are similar people, and each record is one person.",
        f"In each of {result.models} models trained again, coins decided between a member and somebody of the control."
        if result.models
        else "Intervals are for this one model and more people like these, not for another training.",
    ]


def _numbers(result: AttributeResult) -> dict[str, Any]:
    return {
        "sensitive": result.people.sensitive.name,
        "values": len(result.people.sensitive.values),
        "main": result.main,
        "shown": shown_attack(result),
        "leak": bool(leaking(result)),
        "leaking": leaking(result),
        "correlation": _correlated(result),
        "without": result.plain.way,
        "answers": result.kind,
        "limits": list(result.limits),
        "members": result.people.members,
        "others": result.people.others,
        "taught": len(result.people.teach),
        "models": result.models,
        "failed": result.failed,
        "rows_asked": result.rows_asked,
        "attacks": {name: _gain_numbers(one) for name, one in result.attacks.items()},
        "risk": _risk(result),
    }


def _gain_numbers(one: Gains) -> dict[str, Any]:
    return {
        "members": asdict(one.with_model[0]),
        "others": asdict(one.with_model[1]),
        "members_without": asdict(one.plain[0]),
        "others_without": asdict(one.plain[1]),
        "inferred": asdict(one.inferred),
        "added": asdict(one.added),
        "leak": asdict(one.leak),
        "models_leak": None if one.over is None else asdict(one.over.leak),
    }


def _share(interval: Interval) -> str:
    return f"{100 * interval.value:.1f} % ({100 * interval.low:.1f} to {100 * interval.high:.1f} %)"


def _points(interval: Interval) -> str:
    value, low, high = (
        round(100 * end, 1) + 0.0 for end in (interval.value, interval.low, interval.high)
    )  # never -0.0
    return f"{value:.1f} points ({low:.1f} to {high:.1f})"

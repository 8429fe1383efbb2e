"""What a membership attack found, in words."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np

from privet.attacks.finding import Finding, Findings, Score, ShownTable, Strength
from privet.attacks.membership.forecast import Expected
from privet.attacks.membership.likelihoods import RATE
from privet.attacks.membership.members import MembershipResult
from privet.attacks.membership.trade_off import bound_at, picture, under
from privet.stats.intervals import Interval, exactly
from privet.stats.roc import Roc
from privet.typing import Floats

MOST_LISTED = 1000
RATES = (0.001, 0.01, 0.05)
SURE = 0.9
SPARE = 3.0  # standard deviations
UNLIKE = 0.5  # standard deviations between people who are out, from which on it is told
FEWEST = 30  # people who are known to be out: claims from 20 were wrong more often than they said
LEAD = (
    "Claimed means: at most one in {of:,} of the people who are {who} scores as high, and people who are in do so"
    " often enough that this person is in with 90 % or more, if in and out were equally likely before. That takes"
    " into account how few people are known to be out. Nobody's membership is certain from means alone."
)
OFF = (
    " It is not: people who are in differ from the others in more than being in, such as by origin, or the others are"
    " among those who say what is usual. The AUC seen is not that of this attack alone."
)
NOT_VALID = (
    " There is no forecast here: the made-up people have independent attributes, and those of the people asked about"
    " depend on each other. Give reference people who are not in the data."
)
NOT_TRIED = (
    "Several people at once, such as a family, whose evidence adds up.",
    "Statistics besides means: variances, p-values, regressions, a second study with some of the same people.",
)


def findings_of(result: MembershipResult, subject: str, start: float) -> Findings:
    sure = _sure(result)
    claimed = (result.p_values <= _rate(result) + 1e-12) & (sure >= SURE) & _high_enough(result)
    claimed &= not _why_nobody(result)
    order = [int(place) for place in np.argsort(-result.scores, kind="stable") if claimed[place]]
    shown = order[:MOST_LISTED] if result.target is None else [result.target]
    pictures = () if result.curve is None else (_picture(result, result.curve),)
    return Findings(
        attack="membership",
        subject=subject,
        headline=_headline(result, claimed),
        people=len(result.names),
        claimed=int(claimed.sum()),
        findings=tuple(_finding(result, place, float(sure[place]) if claimed[place] else None) for place in shown),
        tables=tuple(_tables(result)),
        pictures=pictures,
        score=None if result.curve is None else _score(result.curve, claimed, result.members),
        assumptions=tuple(_assumptions(result)),
        not_tried=NOT_TRIED,
        numbers=_numbers(result),
        seconds=time.perf_counter() - start,
        word="claimed",
        alarm="bad" if claimed.any() or _members_found(result) else "neutral" if _why_nobody(result) else None,
        lead=LEAD.format(of=round(1 / _rate(result)), who=_who(result)),
    )


def _members_found(result: MembershipResult) -> bool:
    """Whether the truth shows it, beyond both intervals: more people in the data are found than others."""
    curve = result.curve
    return curve is not None and curve.tpr_at(RATE).low > curve.alarms_at(RATE).high


def _why_nobody(result: MembershipResult) -> str:
    """Why no claim could have been made, whoever is in: that nobody is claimed then says nothing."""
    if result.alike:
        return "attributes depend on each other, and nobody who is known to be out was given"
    if result.calibration < FEWEST:
        return f"{result.calibration} people who are known to be out are too few, {FEWEST} are needed"
    if _unlike(result):
        return f"the people in the data are too different from those who are {_who(result)}"
    return ""


def _unlike(result: MembershipResult) -> bool:
    """Whether to be like the members raises a score by more than half of what it does to be one of them."""
    return result.unlike and result.ahead > result.forecast.shift / math.sqrt(result.forecast.outside) / 2


def _rate(result: MembershipResult) -> float:
    """Of false alarms: with few people who are out a p-value cannot get lower."""
    return max(RATE, 1 / (result.calibration + 1))


def _sure(result: MembershipResult) -> Floats:
    """The chance that somebody is in, if it was one half before. P-values come in steps, and each has the chance of one
    step for people who are out. With b the share of people in with just this p-value, by the forecast and at most what
    a promise allows, it is b / (b + step). (All those with this p-value or a lower one are in more often than that.)"""
    step = 1 / (result.calibration + 1)
    most = 1.0 if result.privacy is None else bound_at(step, result.privacy, _steps(result))
    said = {
        p: min(_found_up_to(result, p) - _found_up_to(result, p - step), most) for p in set(result.p_values.tolist())
    }
    ranked = np.array([said[p] / (said[p] + step) for p in result.p_values.tolist()])
    return np.asarray(np.minimum(ranked, _by_law(result)), np.float64)


def _by_law(result: MembershipResult) -> Floats:
    """The same if scores are normal, with a mean and a deviation that are known from few people only: Student's laws
    of one more person, in over out. By ranks alone, claims would be made just where these few happen to score low and
    alike, and so where more people than usual score higher."""
    said, free = result.forecast, result.calibration - 1
    apart, wide = said.shift / math.sqrt(said.outside), max(math.sqrt(said.inside / said.outside), 1.0)
    spread = free * (1 + 1 / result.calibration)
    most = (
        apart + math.sqrt(apart**2 + 4 * spread)
    ) / 2  # from here on the odds would fall; a higher score is no worse
    above = np.minimum(result.beyond, most)
    odds = ((spread + above**2) / (spread + ((above - apart) / wide) ** 2)) ** ((free + 1) / 2) / wide
    return np.asarray(odds / (1 + odds), np.float64)


def _high_enough(result: MembershipResult) -> Any:
    """Whoever scores less than half of what members should score is more likely out, however few others score as high:
    such as where the means are of other people than was said, and nobody is in. (But for errors of the forecast.)"""
    return result.beyond >= result.forecast.shift / math.sqrt(result.forecast.outside) / 2 - SPARE


def _found_up_to(result: MembershipResult, p: float) -> float:
    return 0.0 if p < 1e-12 else 1.0 if p > 1 - 1e-12 else result.forecast.found_at(p)


def _steps(result: MembershipResult) -> int:
    """People outside are compared with people inside the same number of people: one out and another one in."""
    return 2 if result.privacy is not None and result.privacy.neighbors == "add-remove" else 1


def _in_a_hundred(rate: float) -> str:
    return f"one false alarm in {round(1 / rate):,}"


def _headline(result: MembershipResult, claimed: np.ndarray[Any, np.dtype[np.bool_]]) -> str:
    nobody = _why_nobody(result)
    if result.target is not None:
        place = result.target
        verdict = (
            "is claimed to be in the data" if claimed[place] else "cannot be told from people who are not in the data"
        )
        because = f"; {nobody}" if nobody else ""
        return f"{result.names[place]} {verdict} (p = {result.p_values[place]:.2g}{because})"
    if result.curve is None and nobody:
        return f"Nobody can be told: {nobody}"
    if result.curve is None:
        verb = "looks" if claimed.sum() == 1 else "look"
        return (
            f"{int(claimed.sum()):,} of {len(claimed):,} people {verb} as if in the data,"
            f" at {_in_a_hundred(_rate(result))}"
        )
    members, rate = len(result.curve.inside), RATE
    found, others = round(result.curve.tpr_at(rate).value * members), len(result.curve.outside)
    at = (
        f"At {_in_a_hundred(rate)}"
        if others * rate >= 1
        else f"With no false alarm among {others:,} other{'s' if others > 1 else ''}"
    )
    return f"{at}, {found:,} of {members:,} members {'is' if found == 1 else 'are'} found"


def _finding(result: MembershipResult, place: int, sure: float | None) -> Finding:
    p = float(result.p_values[place])
    as_high = round(p * (result.calibration + 1)) - 1
    who = "made-up people" if result.made else "people who are out"
    verdict = "is not told from people who are out" if sure is None else "is in the data"
    return Finding(
        claim=f"{result.names[place]} {verdict}",
        strength=Strength.CONFIDENCE,
        record={"name": result.names[place]},
        reasoning=f"score {result.scores[place]:.4g}; of {result.calibration:,} {who}, "
        f"{as_high or 'nobody'} scored as high: p = {p:.2g}",
        confidence=sure,
    )


def _score(curve: Roc, claimed: np.ndarray[Any, Any], members: Any) -> Score:
    """People found at the rate of false alarms that counts, whether or not there was reason enough to claim it of one
    of them: few people who are known to be out leave nobody to claim, and everybody to find."""
    success, control = curve.tpr_at(RATE), curve.alarms_at(RATE)
    return Score(
        claimed=int(claimed.sum()),
        right=int((claimed & members).sum()),
        success=success,
        baseline=exactly(RATE),
        control=control,
    )


def _picture(result: MembershipResult, curve: Roc) -> Any:
    return picture(curve, result.privacy, "People in the data and others, told apart", steps=_steps(result))


def _tables(result: MembershipResult) -> list[ShownTable]:
    tables = [_forecast(result)]
    if result.curve is not None:
        tables = [_rates(result.curve), *tables, _controls(result, result.curve)]
    return tables


def _rates(curve: Roc) -> ShownTable:
    rows = [("AUC", f"{curve.auc.value:.4f}", f"{curve.auc.low:.4f} to {curve.auc.high:.4f}", "")]
    for rate in RATES:
        found, alarms = curve.tpr_at(rate), curve.alarms_at(rate)
        rows.append(
            (f"found at {100 * rate:g} % false alarms", _percent(found.value), _between(found), _between(alarms))
        )
    rows.append(("largest advantage", _percent(curve.largest_advantage.value), _between(curve.largest_advantage), ""))
    return ShownTable(
        "How well people in the data are told from others",
        "AUC: the chance that somebody in the data scores higher than somebody who is not. Advantage: people found less"
        " false alarms, at the best threshold. Intervals are 95 % ones, for this release and more people like these.",
        ("what", "seen", "interval", "false alarms among others"),
        tuple(rows),
    )


def _forecast(result: MembershipResult) -> ShownTable:
    ways = [("attributes taken for independent", result.plain_forecast, result.plain_curve)]
    if result.model.whitened:
        ways.append(("whitened", result.forecast, result.curve))
    rows = tuple(
        (name, *_said(result, said), "not known" if seen is None else f"{seen.auc.value:.3f}")
        for name, said, seen in ways
    )
    return ShownTable(
        "Forecast",
        f"Before anybody asked about was scored: {len(result.model.published.means):,} attributes tell as much as this"
        " number of independent ones would. Whitening takes out what attributes repeat, such as neighboring SNPs and"
        f" origin. The test was run on {result.calibration:,} people who are {_who(result)}, as they are and as if each"
        " were in; the interval has the AUC of the people asked about in it with 95 %."
        + (NOT_VALID if result.alike else ""),
        ("weights", "independent attributes", "AUC", "interval", f"found at {100 * RATE:g} % false alarms", "AUC seen"),
        rows,
    )


def _who(result: MembershipResult) -> str:
    return "made up" if result.made else "known to be out"


def _said(result: MembershipResult, said: Expected) -> tuple[str, str, str, str]:
    if result.alike:
        return ("cannot be told",) * 4
    auc = said.auc
    between = f"{auc.low:.3f} to {auc.high:.3f}"
    return f"{said.attributes:,.0f}", f"{auc.value:.3f}", between, _percent(said.found_at(RATE))


def _controls(result: MembershipResult, curve: Roc) -> ShownTable:
    rows = [
        ("people outside who are found, at 1 %", _percent(curve.alarms_at(RATE).value), _between(curve.alarms_at(RATE)))
    ]
    if result.control is not None:
        auc = result.control
        rows.append(("AUC on means of other people", f"{auc.value:.3f}", f"{auc.low:.3f} to {auc.high:.3f}"))
    return ShownTable(
        "Controls",
        "People in neither the data nor the reference; and the same attack on means of other people, where nobody who"
        " is asked about can be found, so that the AUC should be .5." + (OFF if _is_off(result.control) else ""),
        ("what", "seen", "interval"),
        tuple(rows),
    )


def _is_off(control: Interval | None) -> bool:
    return control is not None and not control.low <= 0.5 <= control.high


def _percent(value: float) -> str:
    return f"{100 * value:.1f} %"


def _between(interval: Interval) -> str:
    return f"{_percent(interval.low)} to {_percent(interval.high)}"


def _assumptions(result: MembershipResult) -> list[str]:
    usual, published = result.model.population, result.model.published
    told = [
        f"The published means are of {result.model.size:,.0f} people"
        + (", as their distance from the usual says." if result.sized else "."),
        "Who is not in the data is like the reference people, not one of them, and no relative of somebody in the data:"
        " a brother or a parent scores high, too."
        if not result.made
        else "Attributes of one person are independent: nobody who is known to be out was given.",
    ]
    if result.alike:
        told.append(
            "They are not: people asked about are more alike than that, so nobody is claimed to be in. Give reference"
            " people who are not in the data."
        )
    if result.unlike and result.ahead >= UNLIKE:
        told.append(
            f"The people in the data are not quite like those who are {_who(result)}: somebody who is out, but like the"
            f" people in the data, scores {result.ahead:.1f} standard deviations higher. "
            + ("That is too much to claim anything." if _unlike(result) else "Claims take this into account.")
        )
    if published.noise.any():
        told.append(f"The noise has a standard deviation of {published.noise.mean():.3g}, independent in each mean.")
    if np.isfinite(usual.people) and not result.stand_in:
        told.append(f"What is usual comes from {usual.people:,.0f} reference people; its error is taken into account.")
    if result.stand_in:
        told.append("The people asked about stand in for the population: few of them are in the data.")
    told.append("How sure a claim is: if the person was as likely in as out before, and members score as forecast.")
    if result.privacy is not None:
        told.append(
            f"The limit is for epsilon {float(result.privacy.epsilon):g}"
            + (", twice, as a person in is compared with another one in that place." if _steps(result) == 2 else ".")
        )
    return told


def _numbers(result: MembershipResult) -> dict[str, Any]:
    numbers: dict[str, Any] = {
        "test": result.model.test,
        "whitened": result.model.whitened,
        "attributes": len(result.model.published.means),
        "effective_attributes": None if result.alike else result.forecast.attributes,
        "size": result.model.size,
        "calibration": result.calibration,
        "ahead": result.ahead,
        "limits": [why] if (why := _why_nobody(result)) else [],
        "forecast": None if result.alike else result.forecast.auc.value,
        "forecast_low": None if result.alike else result.forecast.auc.low,
        "forecast_high": None if result.alike else result.forecast.auc.high,
        "forecast_tpr": None if result.alike else result.forecast.found_at(RATE),
        "plain_forecast": None if result.alike else result.plain_forecast.auc.value,
        "p_values": result.p_values.tolist(),
        "alike": result.alike,
    }
    if result.curve is None or result.plain_curve is None:
        return numbers
    tpr, control = result.curve.tpr_at(RATE), result.control
    numbers |= {
        "auc": result.curve.auc.value,
        "auc_low": result.curve.auc.low,
        "auc_high": result.curve.auc.high,
        "plain_auc": result.plain_curve.auc.value,
        "tpr": tpr.value,
        "tpr_low": tpr.low,
        "tpr_high": tpr.high,
        "largest_advantage": result.curve.largest_advantage.value,
        "largest_advantage_low": result.curve.largest_advantage.low,
        "largest_advantage_high": result.curve.largest_advantage.high,
        "control_auc": None if control is None else control.value,
        "control_low": None if control is None else control.low,
        "control_high": None if control is None else control.high,
    }
    if result.privacy is not None:
        numbers["under_limit"] = under(result.curve, result.privacy, steps=_steps(result)).holds
    return numbers

"""`explain`: one page in plain words about a question that has not been asked. Errors are rounded up, against us."""

from __future__ import annotations

import math
from fractions import Fraction
from textwrap import wrap
from typing import TYPE_CHECKING

from privet.core.expression import columns_in
from privet.core.measures import Role
from privet.core.plan import Computed, Function
from privet.core.sensitivity import Bounds
from privet.core.unit import Neighbors
from privet.estimates.calibration import epsilon_of_rho
from privet.estimates.computed import divides
from privet.estimates.fitting import is_open
from privet.estimates.priced import Priced
from privet.estimates.pricing import example_delta
from privet.estimates.top import Best
from privet.report.answer.text import price_words
from privet.report.explain.explanation import (
    INSIDE,
    Choosing,
    Chosen,
    Explanation,
    NoiseFacts,
    Outlook,
    Standing,
    TotalFacts,
    explanation,
)
from privet.report.explain.plan_tree import and_, level_words, tree
from privet.report.terminal import Pen, ceiling, decimals_for, fixed, floor, one_line
from privet.report.tree import drawn

if TYPE_CHECKING:
    from privet.query import Query

MANY_GROUPS = 100
MANY_ROWS = 1_000  # a sum that needs more rows than this to be within 10 % is called wide
MANY_OF_ONE = 10  # rows of one unit


def explain(query: Query, pen: Pen) -> str:
    """The page."""
    facts = explanation(query)
    parts = [
        [pen.head("What is asked"), *drawn(tree(query.priced, query.fitting), "   ")],
        [pen.head("Who is protected"), *_protected(query), *_choosing(query, facts.choosing)],
        [pen.head("Noise, and how far off it leaves a number (with probability 95 %)"), *_noises(query, facts)],
        [pen.head("Price"), *_price(facts, pen)],
        [pen.head("Advice"), *(f"   - {line}" for line in _advice(query, facts))],
        ["Nothing was spent, and no data were touched."],
    ]
    return "\n\n".join("\n".join(line for long in lines for line in _wrapped(long)) for lines in parts)


def _protected(query: Query) -> list[str]:
    table, bounds = query.table, query.priced.bounds
    presence = {
        Neighbors.ADD_REMOVE: "whether it is in the table at all (add-remove)",
        Neighbors.REPLACE: "whatever its rows say; how many there are is public (replace)",
    }[bounds.neighbors]
    if table.unit is None:
        return [f"   Each row by itself, {presence}."]
    unit = one_line(table.unit)
    return [
        f"   Each {unit} with all its rows, {presence}.",
        f"   At most {_first(query.priced, unit)}: rows beyond that are dropped, and so are rows without {unit}.",
        *_anew(query.priced, unit),
    ]


def _first(asked: Priced, unit: str) -> str:
    """The limits for everything, or for the choice of groups."""
    bounds = asked.bounds
    if asked.top is None or bounds.groups == 1:
        return _counted(bounds, unit)
    in_all = f" and {_times(bounds.in_all, 'row')} in all" if bounds.in_all else ""
    return f"{_times(bounds.rows, 'row')} of each {unit} count in each group{in_all}"


def _anew(asked: Priced, unit: str) -> list[str]:
    """The limits in groups that were chosen, unless they are those of the choice there."""
    measured = asked.setting().measured()
    same = asked.bounds.in_all is None and measured.bounds.groups == measured.cells
    if asked.top is None or same:
        return []
    return [
        f"   That limit is for the choice of groups. In the chosen groups at most {_counted(measured.bounds, unit)}."
    ]


def _choosing(query: Query, choosing: Choosing | None) -> list[str]:
    """What is spent on choosing limits, and what that does to errors."""
    if choosing is None:
        return []
    if choosing.kept:
        return [f"   The limits stay as declared, and nothing is spent on choosing them: {choosing.kept}."]
    unit, most = one_line(query.table.unit or ""), _times(choosing.limits[-1], choosing.what)
    listed = ", ".join(f"{limit:,}" for limit in choosing.limits[:-1])
    return [
        f"   It chooses how many {choosing.what}s of each {unit} count in all: {listed} or {most}, from a noisy"
        f" histogram for epsilon {ceiling(choosing.epsilon, 6)} of the price.",
        f"   The errors below are for {most}: {ceiling(Fraction(choosing.most), 2)} times those without a choice. For"
        f" {choosing.limits[0]} they are {up(Fraction(choosing.least))} times those, and what is beyond is dropped.",
    ]


def _counted(bounds: Bounds, unit: str) -> str:
    if bounds.in_all == bounds.groups == bounds.rows:
        return f"{_times(bounds.in_all, 'row')} of each {unit} count"
    parts = f"{_times(bounds.groups, 'group')} of each {unit} count, with {_times(bounds.rows, 'row')} in each"
    return f"{parts} and {_times(bounds.in_all, 'row')} in all" if bounds.in_all and bounds.binding else parts


def _noises(query: Query, facts: Explanation) -> list[str]:
    unit = "row" if query.table.unit is None else one_line(query.table.unit)
    lines = [line for outlook in facts.outlooks for line in _outlook(outlook, unit)]
    lines += [line for total in facts.totals for line in _total(total)]
    lines += [f"   {_follows(column)}" for column in query.plan.computed]
    lines += [] if facts.best is None else _best(facts.best)
    lines += [] if facts.chosen is None else _chosen(facts.chosen)
    return [*lines, *(["   (choosing the groups first and measuring only these would err more)"] * facts.could_choose)]


def _total(total: TotalFacts) -> list[str]:
    """Noise of several groups partly cancels out: a total is off by less than all of them together."""
    if total.cells is None:
        return [f"   a total {level_words(total.level)}: how far off it is depends on how many groups are shown"]
    off = ", ".join(f"{one_line(name)} {up(error)}" for name, error in total.errors)
    if not off:
        return []
    return [f"   a total {level_words(total.level)}, of {_times(total.cells, 'group')}: off by at most {off}"]


def _best(best: Best) -> list[str]:
    """Groups that are chosen first and measured by themselves."""
    name = one_line(best.by)
    return [
        f"   which groups: {best.groups:,} of {best.among:,}, chosen by {name} first; only these are measured, so no"
        " interval is widened",
        f"     no group that is left out exceeds one that is shown by more than {up(best.left_out)} in {name}, counted"
        " within the limits above; another LIMIT is another question, with its own price",
    ]


def _chosen(chosen: Chosen) -> list[str]:
    """Rows that noise puts on top are further off than others."""
    together, given, none = (
        and_(list(map(one_line, names))) if names else ""
        for names in (chosen.affected.together, chosen.affected.given, chosen.affected.none)
    )
    among = "all rows" if chosen.rows is None else f"all {_times(chosen.rows, 'row')}"
    off = ", ".join(f"{one_line(name)} {up(error)}" for name, error in chosen.errors)
    wider = f"   LIMIT chooses rows by noisy numbers: intervals of {together} are wider, to hold for {among} at once"
    return [
        *([f"{wider}{f' (of one group: {off})' if off else ''}"] if together else []),
        *([f"   HAVING chooses rows by {given}: near its limit, intervals reach further down"] if given else []),
        *([f"   HAVING or LIMIT chooses rows by the noise in {none}: no interval is given"] if none else []),
    ]


def _follows(column: Computed) -> str:
    """How the error of what is computed follows from those of what it is computed of."""
    name, used = one_line(column.name), [one_line(name) for name in dict.fromkeys(columns_in(column.value))]
    if not used:
        return f"{name}: it is known exactly"
    divided = "; none where what it is divided by may be 0" if divides(column.value) else ""
    joint = f"follows from those of {and_(used)}, which hold together"
    return f"{name}: its interval comes with the answer and {joint}{divided}"


def _outlook(outlook: Outlook, unit: str) -> list[str]:
    name = one_line(outlook.name)
    roles = {noise.role for noise in outlook.noises}
    if roles in ({Role.PAIR}, {Role.SQUARES}):
        off = "its interval comes with the answer" if len(outlook.noises) > 1 else f"off by at most{_off(outlook)}"
        return [*_pair(name, outlook, unit), f"     {off}"]
    if outlook.error is not None:
        moved = [f"     {noise.role}: {_moves(noise, unit)}" for noise in outlook.noises]
        if len(moved) == 1:
            return [f"   {name}: {_moves(outlook.noises[0], unit)}", f"     off by at most {up(outlook.error)}"]
        made = "a noisy sum around the middle of its range, and that middle for each of a noisy count"
        return [f"   {name}: {made}", *moved, f"     off by at most {up(outlook.error)}"]
    if outlook.rows is not None:
        return _ranked(name, outlook, unit)
    if outlook.function is Function.AVG:
        total, count = outlook.noises
        return [
            f"   {name}: a noisy sum around the middle of its range, divided by a noisy count",
            f"     sum: {_moves(total, unit)}",
            f"     {_role(count)}: {_moves(count, unit)}",
            f"     off by at most{_off(outlook)}",
        ]
    sums = [f"     {_role(noise)}: {_moves(noise, unit)}" for noise in dict.fromkeys(outlook.noises)]
    return [f"   {name}: from {len(sums)} noisy sums and counts; its interval comes with the answer", *sums]


def _off(outlook: Outlook) -> str:
    if outlook.error is not None:
        return f" {up(outlook.error)}"
    shown = [f"{rows:,} rows: {'the whole range' if error is None else up(error)}" for rows, error in outlook.errors]
    return f", if its group has {'; '.join(shown)}"


def _role(noise: NoiseFacts) -> str:
    return {Role.PAIR: "count, from a pair of sums", Role.SQUARES: "from sums of squares"}.get(
        noise.role, str(noise.role)
    )


def _pair(name: str, outlook: Outlook, unit: str) -> list[str]:
    """Two sums that hold a sum and its count, or three that hold that of squares, too."""
    noise = outlook.noises[0]
    ends, squared = f"above {nearest(outlook.low)} and below {nearest(outlook.high)}", noise.role is Role.SQUARES
    made = f"three noisy sums of squares and products of how far values are {ends}"
    return [
        f"   {name}: from {made if squared else f'a pair of noisy sums: how far values are {ends}'}",
        f"     {'all three' if squared else 'both'}: {_moves(noise, unit).replace('moves it', 'moves them')}",
    ]


def _ranked(name: str, outlook: Outlook, unit: str) -> list[str]:
    """A choice by rank."""
    (noise,) = outlook.noises
    inside = f"; it aims {outlook.rows:,} rows inside, so that it is nobody's own value"
    shown = [f"     {_interval_cost(outlook)}"] if outlook.beyond is not None else []
    return [
        f"   {name}: a value between {nearest(outlook.low)} and {nearest(outlook.high)}, chosen by its rank"
        f" ({noise.mechanism}); one {unit} moves ranks by {up(noise.sensitivity)} in all groups together",
        f"     off by at most {outlook.rows:,} rows in rank{'' if outlook.function is Function.QUANTILE else inside}",
        *shown,
    ]


def _interval_cost(outlook: Outlook) -> str:
    """What the interval of a choice by rank costs the value."""
    if outlook.rows == outlook.rows_alone:
        return "its interval is free: from the end of the range to the value"
    part = "part" if outlook.noises[0].mechanism.endswith(INSIDE) else "a third"
    return (
        f"its interval reaches about {outlook.beyond:,} rows of rank to either side and takes {part} of the price;"
        f" with quantile_intervals=False the rank would be off by at most {outlook.rows_alone:,} rows"
    )


def _moves(noise: NoiseFacts, unit: str) -> str:
    word = "scale" if noise.mechanism == "discrete Laplace" else "sigma"
    together = "in all groups together" if word == "scale" else "(root of the sum of squares over all groups)"
    return (
        f"one {unit} moves it by {up(noise.sensitivity)} {together}; {noise.mechanism} noise, {word} {up(noise.scale)}"
    )


def _price(facts: Explanation, pen: Pen) -> list[str]:
    lines = [f"   {price_words(facts.cost)}. Either gauge may certify it."]
    lines += [] if not facts.ends_epsilon else [f"   {pen.bad('It ends the gauge of epsilon.')}", *_ending(facts)]
    lines += [f"   Left of {one_line(standing.whose)}: {left_words(standing)}." for standing in facts.standings]
    if facts.stored:
        lines.append(f"   {pen.good('Answered before: asking again is free')} and gives the same numbers.")
    if facts.suspended:
        return [*lines, f"   {pen.bad('It would be refused')}: this analyst is suspended after three failures."]
    if facts.fits:
        return [*lines, f"   About {facts.more:,} more like this fit."]
    if facts.may_pass:
        return [*lines, f"   {pen.bad('It would pass the cap')}: it is answered, and the cap no longer holds."]
    return [*lines, *_refused(facts, pen)]


def _ending(facts: Explanation) -> list[str]:
    """What a price without an epsilon, or with too large a delta, does to later questions, and how to avoid it."""
    cap = facts.standings[0].cap
    later = "   From then on only rho counts: a question at epsilon=e is charged at most rho = e * e / 2."
    if facts.cost.epsilon is not None or facts.cost.rho is None:
        return [later, f"   All deltas together may have at most {ceiling(cap.delta / 4)}: give a smaller delta."]
    delta = example_delta(cap)
    epsilon = up(epsilon_of_rho(facts.cost.rho, Fraction(delta)))
    return [
        later,
        f"   With delta={delta} it would be booked as about epsilon {epsilon} as well, and both gauges last.",
    ]


def _refused(facts: Explanation, pen: Pen) -> list[str]:
    if facts.largest is None:
        return [f"   {pen.bad('It would be refused')}: nothing is left for such a question."]
    price, worse = facts.largest
    return [
        f"   {pen.bad('It would be refused.')} The largest price that fits is {price};",
        f"   errors would then be about {ceiling(worse, 2)} times as large.",
    ]


def left_words(standing: Standing) -> str:
    """Rounded down."""
    if not standing.holds:
        return "nothing, the cap no longer holds"
    cap, spent = standing.cap, standing.spent
    gauges = [("epsilon", cap.epsilon, spent.epsilon), *([("rho", cap.rho, spent.rho)] if cap.delta else [])]
    return ", ".join(
        f"no {name}" if used is None else f"{name} {floor(max(most - used, Fraction(0)), 6)} of {floor(most, 6)}"
        for name, most, used in gauges
    )


def _advice(query: Query, facts: Explanation) -> list[str]:
    """What declarations and price alone tell; the data may be kinder."""
    lines = [line for outlook in facts.outlooks for line in _useful(outlook)]
    measures = len(query.priced.parts) - (facts.best is not None)
    if measures > 1:
        lines.append(
            f"{measures} noisy numbers per group share the price: ask for fewer of them to get each with less noise."
        )
    bounds = query.priced.bounds
    shown = facts.cells or bounds.groups if facts.best is None else facts.best.groups
    most = min(bounds.groups, shown) * bounds.rows
    most = min(most, bounds.in_all or most)
    if most > MANY_OF_ONE:
        lines.append(
            f"One {one_line(query.table.unit or 'row')} may count {most:,} times: lower max_groups, max_rows_per_group"
            f" or max_rows mean less noise, but drop more rows{_remedy(query)}."
        )
    if facts.cells is not None and facts.best is None and facts.cells >= MANY_GROUPS:
        lines.append(
            f"Of {facts.cells:,} groups about {math.ceil(facts.cells / 20):,} are further off than said here, and empty"
            " groups get noise as well: ask for fewer and larger groups."
        )
    return lines


def _remedy(query: Query) -> str:
    """How to learn which limits fit."""
    if query.fitting is not None:
        return ""
    return (
        '; bounds="auto" (--bounds auto) chooses, for a quarter of epsilon'
        if is_open(query.priced) and query.priced.top is None
        else "; privet suggest says which fit"
    )


def _useful(outlook: Outlook) -> list[str]:
    name = one_line(outlook.name)
    if outlook.rows is not None:
        return [f"{name}: with fewer than about {about(20 * outlook.rows)} rows its rank may be off by 5 % or more."]
    if outlook.error is None and outlook.function is not Function.AVG:
        return []
    if outlook.error is None:
        width = outlook.high - outlook.low
        if not width:
            return [f"{name}: its range has one value, so the average is known without asking."]
        rows = about(outlook.rows_for(width / 20))
        span = f"{nearest(outlook.low)} to {nearest(outlook.high)}"
        return [
            f"{name}: with fewer than about {rows} rows in a group it may be off by 5 % of its range, {span}, or more."
        ]
    if outlook.function is not Function.SUM:
        return [f"{name}: groups with fewer than about {about(10 * outlook.error)} rows may be off by more than 10 %."]
    return _useful_sum(name, outlook, 10 * outlook.error)


def _useful_sum(name: str, outlook: Outlook, least: Fraction) -> list[str]:
    largest = max(abs(outlook.low), abs(outlook.high))
    if not largest:
        return [f"{name}: every value is 0, so the sum is known without asking."]
    rows = least / largest * 2
    useful = f"sums below {about(least)} may be off by more than 10 %"
    lines = [f"{name}: {useful}; that is about {about(rows)} rows of half the largest value, {nearest(largest)}."]
    if rows > MANY_ROWS:
        lines.append(f"{name}: narrow the range with LEAST and GREATEST, or ask for the average.")
    return lines


def up(number: Fraction) -> str:
    """Two digits at least, rounded up: 599, 0.013, 12,346."""
    return _bare(fixed(number, decimals_for(number) if number else 0, math.ceil))


def nearest(number: Fraction) -> str:
    return _bare(fixed(number, decimals_for(abs(number)) if number else 0))


def _bare(text: str) -> str:
    """Without zeros behind the last digit that says something."""
    return text.rstrip("0").rstrip(".") if "." in text else text


def about(number: Fraction | int) -> str:
    """Rounded up to two digits and to a whole number."""
    whole = math.ceil(number)
    unit = 10 ** max(len(str(whole)) - 2, 0)
    return f"{-(-whole // unit) * unit:,}"


def _wrapped(line: str) -> list[str]:
    """Lines of 100 columns; what follows is set in a little further. Colored lines are short."""
    indent = " " * (len(line) - len(line.lstrip()) + 2)
    return wrap(line, 100, subsequent_indent=indent, break_on_hyphens=False) if "\x1b" not in line else [line]


def _times(number: int, word: str) -> str:
    return f"{number:,} {word}{'' if number == 1 else 's'}"

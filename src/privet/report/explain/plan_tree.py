"""A question as a tree: what it is asked of, which noisy numbers are released at which part of the price, and what is
made of them for free."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import assert_never

from privet.core.expression import columns_in
from privet.core.loss import Loss
from privet.core.measures import Measure, Role
from privet.core.origin import origin_of
from privet.core.parts import Part
from privet.estimates.fitting import Fitting
from privet.estimates.levels import Level, finest, levels_of
from privet.estimates.priced import Outline, Priced
from privet.report.explain.explanation import mechanism_of
from privet.report.explain.plan_words import call, constant, inside, origin_tree, words_of
from privet.report.terminal import one_line, percent
from privet.report.tree import TreeBranch

LONGEST = 400  # letters of a condition


def tree(asked: Priced, fitting: Fitting | None = None) -> list[TreeBranch]:
    """From the rows to the answer. With `fitting`, the question chooses its limits first."""
    read = asked
    plan = read.plan
    where = [] if plan.where is None else [TreeBranch(f"only rows where {short(inside(plan.where))}")]
    whole = asked.loss if fitting is None else fitting.loss
    released = tuple(_part(number, part, whole) for number, part in enumerate(asked.parts, 1))
    return [
        origin_tree(origin_of(plan)),
        *where,
        *([] if fitting is None else [_histogram(fitting)]),
        _groups(asked),
        TreeBranch("noisy numbers of each group: nothing else is released", released),
        TreeBranch("made of them, free of charge", tuple(_made(read))),
    ]


def _histogram(fitting: Fitting) -> TreeBranch:
    share = percent(_share(fitting.histogram.loss, fitting.loss))
    item = TreeBranch(f"how many units have how many {fitting.what}s: {share} of the price, a noisy histogram")
    return TreeBranch("released first, to choose limits", (item,))


def _groups(asked: Priced) -> TreeBranch:
    """Those that are declared, or those that have enough people."""
    read = asked
    plan = read.plan
    if not plan.keys:
        return TreeBranch("one group of all rows")
    keys = short(", ".join(map(_key, finest(plan), (words_of(key.value) for key in plan.keys))))
    missing = any(domain[-1:] == (None,) for domain in read.cells.domains)
    items = (TreeBranch("rows whose group is missing are a group of their own"),) if missing else ()
    if read.top is not None:
        some = f"{plan.limit:,} of {read.cells.count:,}"
        return TreeBranch(f"{some} groups by {keys}, chosen before they are measured", items)
    if not read.cells.private:
        return TreeBranch(f"{read.cells.count:,} groups by {keys}", items)
    return TreeBranch(f"the groups by {keys} that have about {asked.parts[-1].threshold:,} units or more", items)


def _key(name: str, value: str) -> str:
    shown = one_line(name)
    return shown if shown == value else f"{shown} = {value}"


def _part(number: int, part: Part, whole: Loss) -> TreeBranch:
    share = _share(part.loss, whole)
    return TreeBranch(
        f"[{number}] {short(measure_words(part.measure))}: {percent(share)} of the price, {mechanism_of(part)}"
    )


def _share(part: Loss, whole: Loss) -> Fraction:
    """Of epsilon, where there is one; otherwise of rho."""
    if part.epsilon is not None and whole.epsilon is not None:
        return part.epsilon / whole.epsilon
    assert part.rho is not None and whole.rho is not None  # noqa: S101, PT018  all noise that a query uses has a rho
    return part.rho / whole.rho


def measure_words(measure: Measure) -> str:
    """Which number of a group it is."""
    value = "" if measure.value is None else inside(measure.value)
    match measure.role:
        case Role.COUNT:
            return f"how many rows have {value}" if value else "how many rows"
        case Role.SUM:
            middle = measure.center * measure.step
            return f"the sum of {value}" + (f", each less {constant(middle)}" if middle else "")
        case Role.PAIR:
            low, high = (end * measure.step for end in (measure.center, measure.center + measure.high))
            return f"two sums of {value}: how far it is above {constant(low)}, and below {constant(high)}"
        case Role.SQUARES:
            low, high = (end * measure.step for end in (measure.center, measure.center + measure.high))
            ends = f"u above {constant(low)} and v below {constant(high)}"
            return f"three sums, of u * u, 2 * u * v and v * v, where {value} is {ends}"
        case Role.PEOPLE:
            return "how many units" + (" the rest has" if measure.rest else "")
        case Role.DISTINCT:
            return f"how many different values of {value}"
        case Role.QUANTILE:
            if measure.quantiles:
                shares = and_([constant(share) for share in measure.quantiles])
                return f"the values of {value} with {shares} of the rows below them"
            sought = f"the value of {value} with {constant(measure.quantile)} of the rows below it"
            return sought if measure.end is None else f"the {measure.end} end of an interval for {sought}"
        case Role.MIN | Role.MAX:
            return f"nearly the {'smallest' if measure.role is Role.MIN else 'largest'} {value}"
        case Role.KEYS:
            return "which groups are shown, by how many units they have"
        case Role.TOP:
            assert measure.score is not None  # noqa: S101  what `by_scores` gives
            return f"which groups are shown, by {measure_words(replace(measure, role=measure.score, score=None))}"
        case _:
            assert_never(measure.role)


def _made(read: Outline) -> Iterator[TreeBranch]:
    plan = read.plan
    for recipe in read.recipes:
        places = set(recipe.measures)
        if len(read.measures) in places:  # the choice of keys
            places |= {place for place, measure in enumerate(read.measures) if measure.rest}
        numbers = " and ".join(f"[{place + 1}]" for place in sorted(places))
        yield TreeBranch(f"{one_line(recipe.aggregate.name)} = {short(call(recipe.aggregate))}, from {numbers}")
    totals = [level for level in levels_of(plan) if level != finest(plan)]
    if totals:
        yield TreeBranch(f"totals {and_(map(level_words, totals))}: sums over groups, so that parts add up")
    if totals and len(totals) == len(levels_of(plan)):
        yield TreeBranch("only these totals are shown, not their parts")
    for total in plan.totals:
        over = f"groups with the same {and_(list(map(one_line, total.level)))}" if total.level else "all groups"
        yield TreeBranch(f"{one_line(total.name)} = {one_line(total.aggregate)} of {over}, added up")
    for column in plan.computed:
        used = [one_line(name) for name in dict.fromkeys(columns_in(column.value))]
        yield TreeBranch(
            f"{one_line(column.name)} = {short(inside(column.value))}" + (f", from {and_(used)}" if used else "")
        )
    yield from _sifted(read)


def _sifted(read: Outline) -> Iterator[TreeBranch]:
    plan = read.plan
    if read.top is not None:
        yield TreeBranch("ORDER BY: it sorts the groups by published numbers")
    elif plan.having is not None or plan.order or plan.limit is not None:
        yield TreeBranch("HAVING, ORDER BY and LIMIT: they look at published numbers only")


def level_words(level: Level) -> str:
    return f"by {', '.join(map(one_line, level))}" if level else "of all"


def and_(words: Iterator[str] | Sequence[str]) -> str:
    *most, last = words
    return f"{', '.join(most)} and {last}" if most else last


def short(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."

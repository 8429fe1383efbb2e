"""What is known of a question before it is asked: noise, errors, price, what is left. No data, nothing spent."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from privet.answer import loss_json
from privet.core.accountant import Budget, accepts, how_many
from privet.core.families import off_by
from privet.core.laws import Choice, Choices, DiscreteLaplace, Top
from privet.core.loss import Loss
from privet.core.measures import End, Recipe, Role
from privet.core.parts import Gauge, Part
from privet.core.plan import Function
from privet.core.ranks import parts_of_a_row, root_below, rows_beyond
from privet.estimates.accuracy import half_width
from privet.estimates.choosing import Affected, affected, selection_of
from privet.estimates.estimate import SINGLE, total_error
from privet.estimates.levels import Level, finest, levels_of, rows_of_level
from privet.estimates.pairs import NoisyPair, furthest
from privet.estimates.priced import Priced
from privet.estimates.top import Best, best_of, by_scores
from privet.ledger import Policy
from privet.report.explain.plan_words import call
from privet.report.terminal import floor, plain_numbers

if TYPE_CHECKING:
    from privet.query import Query

SHARE = Fraction(95, 100)
ASSUMED_ROWS = (100, 1_000, 10_000)
LAPLACE, GAUSSIAN, CHOICE, FLIP = (
    "discrete Laplace", "discrete Gaussian", "exponential mechanism", "permute-and-flip"
)  # fmt: skip
INSIDE = ", quantiles one inside the other"
DIGITS = 10**6  # a square root is shown to a millionth, rounded up


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseFacts:
    """One noisy number a group, in its own unit: how far one unit moves all groups together, and the noise on each."""

    role: Role
    sensitivity: Fraction  # in sum for Laplace noise; the root of the sum of squares for Gaussian noise
    mechanism: str
    scale: Fraction  # of Laplace noise; sigma of Gaussian noise, rounded up; the rate of a choice
    error: Fraction  # with probability 95 %, more if other noisy numbers take part; rows of a rank for a choice


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    """One aggregate. `error` is for counts and sums; an average has an error for every assumed number of rows, a
    quantile is off by so many `rows` in rank; of a variance or correlation nothing can be said before."""

    name: str
    call: str
    function: Function
    noises: tuple[NoiseFacts, ...]
    low: Fraction  # of the number that one row adds, or of an average
    high: Fraction
    error: Fraction | None = None
    rows: int | None = None
    beyond: int | None = None  # how many rows of rank its interval keeps from it on either side; None: no interval
    rows_alone: int | None = None  # by how many rows its rank would be off if nothing were paid for an interval
    errors: tuple[tuple[int, Fraction | None], ...] = ()  # None: any average in the range is possible
    rows_error: Fraction | None = None  # how far the rows that a pair holds may be off, beside its sum

    def rows_for(self, error: Fraction) -> int:
        """From how many rows on an average is off by at most `error`."""
        total, rows = _most_off(self)
        return math.ceil(rows + total / error)


@dataclass(frozen=True, slots=True, kw_only=True)
class TotalFacts:
    """Rows that are sums over groups: by which keys, of how many groups each (None: that is not known before), and how
    far its counts and sums may be off."""

    level: Level
    cells: int | None
    errors: tuple[tuple[str, Fraction], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """What a choice of rows by noisy numbers does to intervals; among how many rows at most (None: that is not known
    before), and how far counts and sums of one group may then be off."""

    affected: Affected
    rows: int | None
    errors: tuple[tuple[str, Fraction], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Choosing:
    """A question that chooses how many rows or groups of a unit count: from which limits, at which part of the price;
    and how far off it is with the most and with the fewest, beside 1 for the declared limits at the whole price.
    `kept` says why it chooses nothing."""

    kept: str = ""
    what: str = ""
    limits: tuple[int, ...] = ()
    epsilon: Fraction = Fraction(0)
    most: float = 1
    least: float = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """One budget that the question must fit: that of all, or the analyst's own."""

    whose: str
    cap: Budget
    spent: Loss
    holds: bool

    def takes(self, loss: Loss) -> bool:
        return self.holds and accepts(self.cap, self.spent, loss)


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """`largest` is the price that still fits, as text such as "epsilon=0.1", and how much further off it would be."""

    outlooks: tuple[Outlook, ...]
    totals: tuple[TotalFacts, ...]
    chosen: Chosen | None  # None: noisy numbers choose no rows
    best: Best | None  # None: no groups are chosen by their scores
    could_choose: bool  # they could be, but that would err more
    cells: int | None  # None: they are chosen from the data
    threshold: int | None  # from how many units on, about
    standings: tuple[Standing, ...]
    cost: Loss
    more: int
    largest: tuple[str, Fraction] | None
    ends_epsilon: bool  # it fits, and from then on no question is certified by its epsilon
    may_pass: bool  # the owner's own questions, under the policy "warn"
    stored: bool
    suspended: bool
    choosing: Choosing | None = None  # None: nobody wished that it chooses its limits

    @property
    def fits(self) -> bool:
        return self.more > 0 and not self.suspended

    def to_json(self) -> dict[str, Any]:
        return {
            "cells": self.cells,
            "threshold": self.threshold,
            "confidence": float(SHARE),
            "aggregates": [plain_numbers(asdict(outlook)) for outlook in self.outlooks],
            "totals": [plain_numbers(asdict(total)) for total in self.totals],
            "chosen": None if self.chosen is None else plain_numbers(asdict(self.chosen)),
            "best": None if self.best is None else plain_numbers(asdict(self.best)),
            "cost": loss_json(self.cost),
            "budgets": [
                {
                    "whose": standing.whose,
                    "epsilon": float(standing.cap.epsilon),
                    "delta": float(standing.cap.delta),
                    "rho": float(standing.cap.rho),
                    "spent": loss_json(standing.spent),
                    "holds": standing.holds,
                }
                for standing in self.standings
            ],
            "about_n_more": self.more,
            "fits": self.fits,
            "ends_epsilon": self.ends_epsilon,
            "may_pass_the_cap": self.may_pass,
            "largest_price": None if self.largest is None else self.largest[0],
            "answered_before": self.stored,
            "suspended": self.suspended,
            "choosing": None if self.choosing is None else plain_numbers(asdict(self.choosing)),
        }


def explanation(query: Query) -> Explanation:
    """Everything that `explain` says, as numbers."""
    ledger, asked = query.gate.ledger, query.priced
    budgets, shares = _standings(query)
    return Explanation(
        outlooks=tuple(_outlook(recipe, asked.parts) for recipe in asked.recipes),
        totals=_totals(asked),
        chosen=_chosen(asked),
        best=best_of(asked, SHARE),
        could_choose=asked.top is None and by_scores(asked) is not None,
        cells=None if asked.cells.private else asked.cells.count,
        threshold=asked.parts[-1].threshold,
        standings=(_tightest(budgets, query.cost), *shares),
        cost=query.cost,
        more=query.about_n_more,
        largest=_largest((*budgets, *shares), query.cost),
        ends_epsilon=any(_ends_epsilon(standing, query.cost) for standing in (*budgets, *shares)),
        may_pass=ledger.terms.policy is Policy.WARN and not query.analyst,
        stored=query.answered,
        suspended=ledger.suspended(query.analyst),
        choosing=_choosing(query),
    )


def _choosing(query: Query) -> Choosing | None:
    chosen = query.fitting
    if chosen is None:
        return Choosing(kept=query.kept) if query.kept else None
    return Choosing(
        what=chosen.what, limits=chosen.limits, epsilon=chosen.share, most=chosen.error(-1), least=chosen.error(0)
    )


def mechanism_of(part: Part) -> str:
    """Its noise in words."""
    if isinstance(part.law, Top):
        return f"{FLIP if part.law.flip else CHOICE}, {part.law.rounds:,} times"
    if isinstance(part.law, Choice):
        inside = INSIDE if isinstance(part.law, Choices) else ""
        return f"chosen by rank with {FLIP if part.law.flip else f'the {CHOICE}'}{inside}"
    return f"{LAPLACE if isinstance(part.law, DiscreteLaplace) else GAUSSIAN} noise"


def _totals(asked: Priced) -> tuple[TotalFacts, ...]:
    read = asked
    found = []
    for level in levels_of(read.plan):
        cells = None if read.cells.private else read.cells.count // max(rows_of_level(read.cells, read.plan, level), 1)
        if level != finest(read.plan):
            errors = (
                []
                if cells is None
                else [
                    (recipe.aggregate.name, total_error(recipe, asked.parts, SHARE, cells))
                    for recipe in read.recipes
                    if recipe.aggregate.function in SINGLE
                ]
            )
            found.append(TotalFacts(level=level, cells=cells, errors=tuple(errors)))
    return tuple(found)


def _chosen(asked: Priced) -> Chosen | None:
    read = asked
    rows = (
        None if read.cells.private else sum(rows_of_level(read.cells, read.plan, one) for one in levels_of(read.plan))
    )
    found = affected(asked, selection_of(asked, rows))
    if found == Affected():
        return None
    wider = [recipe for recipe in read.recipes if recipe.aggregate.name in found.together]
    errors = [
        (recipe.aggregate.name, total_error(recipe, asked.parts, 1 - (1 - SHARE) / rows))
        for recipe in wider
        if rows and recipe.aggregate.function in SINGLE
    ]
    return Chosen(affected=found, rows=rows, errors=tuple(errors))


def _outlook(recipe: Recipe, parts: tuple[Part, ...]) -> Outlook:
    used, function = [parts[number] for number in recipe.measures], recipe.aggregate.function
    ranked = isinstance(used[0].law, Choice)
    each = SHARE if ranked else 1 - (1 - SHARE) / len(used)  # all hold together with probability SHARE
    measure = used[0].measure
    low, high = ((measure.center + bound) * measure.step for bound in (measure.low, measure.high))
    each = 1 - (1 - SHARE) / 2 if function is Function.AVG else each
    bare = Outlook(
        name=recipe.aggregate.name,
        call=call(recipe.aggregate),
        function=function,
        noises=tuple(_noise(part, each) for part in (used[:1] if ranked else used)),
        low=low,
        high=high,
        rows_error=_rows_error(used[-1], each),
    )
    if function in SINGLE:
        return replace(bare, error=total_error(recipe, parts, SHARE))
    if ranked:
        return _ranked(bare, used, parts)
    if function is Function.AVG:
        return replace(bare, errors=tuple((rows, _average_error(bare, rows)) for rows in ASSUMED_ROWS))
    return bare


def _ranked(bare: Outlook, used: list[Part], parts: tuple[Part, ...]) -> Outlook:
    """A rate grows like an epsilon, and with the root of a rho."""
    measure, law = used[0].measure, used[0].law
    assert isinstance(law, Choice)  # noqa: S101  it is chosen by rank
    rows = off_by(measure, law, SHARE)
    if measure.end is not None:
        return replace(bare, rows=rows, beyond=rows, rows_alone=rows)
    if len(used) == 1:
        return replace(bare, rows=rows)
    beyond = rows_beyond(used[1].measure, used[1].law)  # type: ignore[arg-type]
    if isinstance(law, Choices):
        return replace(bare, rows=rows, beyond=beyond, rows_alone=off_by(measure, _alone(used[0], law, parts), SHARE))
    rates = [part.law.rate for part in used if isinstance(part.law, Choice)]
    linear = used[0].gauge is Gauge.EPSILON
    rate = sum(rates) if linear else root_below(Fraction(sum(rate**2 for rate in rates)))
    return replace(bare, rows=rows, beyond=beyond, rows_alone=off_by(measure, Choice(Fraction(rate)), SHARE))


def _alone(value: Part, law: Choices, parts: tuple[Part, ...]) -> Choices:
    """Of quantiles one inside the other, with what is paid for the ends of them all."""
    members = {
        replace(value.measure, quantiles=(), quantile=one, end=end) for one in value.measure.quantiles for end in End
    }
    pure = value.gauge is Gauge.EPSILON
    own, *ends = (
        Fraction((part.loss.epsilon if pure else part.loss.rho) or 0)
        for part in (value, *(part for part in parts if part.measure in members))
    )
    more = 1 + sum(ends) / own
    factor = more if pure else root_below(more)
    return replace(law, rates=tuple(rate * factor for rate in law.rates))


def _average_error(outlook: Outlook, rows: int) -> Fraction | None:
    """With half widths a and b and half the range R: off by at most (a + R b) / (rows - b), and by the range."""
    total, count = _most_off(outlook)
    if rows - count < 1:
        return None
    error = total / (rows - count)
    return error if error < outlook.high - outlook.low else None


def _most_off(outlook: Outlook) -> tuple[Fraction, Fraction]:
    """How far a sum may be off, in which its middle was put back for every row, and how far its number of rows."""
    total, *counts = outlook.noises
    if outlook.rows_error is not None and not counts:
        return total.error, outlook.rows_error
    rows = outlook.rows_error if outlook.rows_error is not None else counts[0].error
    return total.error + (outlook.high - outlook.low) / 2 * rows, rows


def _rows_error(part: Part, share: Fraction) -> Fraction | None:
    measure, law = part.measure, part.law
    if measure.numbers == 1 or isinstance(law, Choice | Top):
        return None
    return NoisyPair(measure=measure, above=0, below=0, between=(0,) * (measure.numbers - 2), law=law).rows_width(share)


def _noise(part: Part, share: Fraction) -> NoiseFacts:
    step, law, far = part.measure.step, part.law, part.sensitivity
    assert not isinstance(law, Top)  # noqa: S101  no aggregate is made of a choice of groups
    if isinstance(law, Choice):
        unit = parts_of_a_row(part.measure)
        moved, off = Fraction(far.l1, unit), Fraction(off_by(part.measure, law, share))
        mechanism = (FLIP if law.flip else CHOICE) + (INSIDE if isinstance(law, Choices) else "")
        return NoiseFacts(role=part.measure.role, sensitivity=moved, mechanism=mechanism, scale=law.rate, error=off)
    numbers = part.measure.numbers
    error = (furthest(law, share, numbers) if numbers > 1 else half_width(law, share)) * step
    if part.measure.role is Role.SQUARES:  # its numbers are in squared steps; what it is off by is that of a sum
        error, step = error / part.measure.high, step**2
    if isinstance(law, DiscreteLaplace):
        mechanism, sensitivity, scale = LAPLACE, Fraction(far.l1), law.scale
    else:
        mechanism, sensitivity, scale = GAUSSIAN, _root(Fraction(far.l2_squared)), _root(law.variance)
    return NoiseFacts(
        role=part.measure.role, sensitivity=sensitivity * step, mechanism=mechanism, scale=scale * step, error=error
    )


def _root(square: Fraction) -> Fraction:
    """Exact for squares, otherwise rounded up."""
    top, bottom = math.isqrt(square.numerator), math.isqrt(square.denominator)
    if top**2 == square.numerator and bottom**2 == square.denominator:
        return Fraction(top, bottom)
    return Fraction(math.isqrt(math.ceil(square * DIGITS**2)) + 1, DIGITS)


def _standings(query: Query) -> tuple[list[Standing], list[Standing]]:
    """Budgets of everybody or of parts, and the analyst's own, if there is one."""
    ledger, name = query.gate.ledger, query.analyst
    found = [
        Standing(whose=one.name, cap=one.cap, spent=one.spent.loss, holds=one.spent.holds)
        for one in ledger.readings(query.part)
    ]
    own = ledger.granted(name) if name else None
    if own is None:
        return found, []
    used = ledger.spent(name)
    return found, [Standing(whose=f"{name}'s share", cap=own, spent=used.loss, holds=used.holds)]


def _tightest(budgets: list[Standing], cost: Loss) -> Standing:
    """Of as many budgets as there are parts, the one that is used up first."""

    def room(one: Standing) -> tuple[int, Fraction]:
        left = Fraction(-1) if one.spent.epsilon is None else one.cap.epsilon - one.spent.epsilon
        return how_many(one.cap, one.spent, cost), left

    return min(budgets, key=room)


def _ends_epsilon(standing: Standing, cost: Loss) -> bool:
    """Whether the basic gauge still certifies what was spent, and no question can be certified by it afterwards."""
    cap, spent = standing.cap, standing.spent
    share = cap.delta / 4
    alive = spent.epsilon is not None and spent.epsilon <= cap.epsilon and spent.delta <= share
    return alive and share > 0 and (cost.epsilon is None or spent.delta + cost.delta > share)


def _largest(standings: tuple[Standing, ...], cost: Loss) -> tuple[str, Fraction] | None:
    """The same question at the part of its price that every budget takes. Errors grow as the price shrinks.

    A delta stays as it is.
    """
    pure, rho = cost.epsilon, cost.rho or Fraction(0)  # all noise that a query uses has a rho

    def scaled(part: Fraction) -> Loss:
        epsilon, square = (None, part) if pure is None else (pure * part, part**2)
        return Loss(epsilon=epsilon, delta=cost.delta, rho=rho * square, rho_delta=cost.rho_delta)

    parts = [part for standing in standings for part in _parts(standing, pure, rho)]
    fitting = [part for part in parts if all(standing.takes(scaled(part)) for standing in standings)]
    if not fitting:
        return None
    part = max(fitting)
    if pure is None:
        return f"rho={floor(rho * part, 6)}", _root(1 / part)
    return f"epsilon={floor(pure * part, 6)}", 1 / part


def _parts(standing: Standing, pure: Fraction | None, rho: Fraction) -> list[Fraction]:
    """Which part of the price would use up one gauge: rho shrinks with the square of a Laplace price."""
    found = []
    if pure is not None and standing.spent.epsilon is not None:
        found.append((standing.cap.epsilon - standing.spent.epsilon) / pure)
    if standing.spent.rho is not None:
        left = max(standing.cap.rho - standing.spent.rho, Fraction(0)) / rho
        found.append(left if pure is None else Fraction(math.isqrt(int(left * DIGITS**4)), DIGITS**2))
    return [part for part in found if part > 0]

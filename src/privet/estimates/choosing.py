"""Which noisy numbers decide which rows are shown: HAVING, and ORDER BY where LIMIT or OFFSET leaves rows out.

A row that is there because of its own noise is further off than others, so its interval must know how it was chosen.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from privet.core.claim import claim
from privet.core.expression import And, Column, Compare, Expression, Literal, Relation, columns_in
from privet.core.laws import Choice
from privet.core.measures import Role
from privet.estimates.levels import levels_of
from privet.estimates.priced import Priced


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """How rows were chosen. A noisy number is named by its place among the parts.

    `floors`: a row is shown only if the number has at least this many steps. `tested`: the number decides in another
    way. `ordered`: rows are sorted by the number, and LIMIT or OFFSET leaves some out. `rows`: out of how many."""

    floors: Mapping[int, int] = field(default_factory=dict)
    tested: frozenset[int] = frozenset()
    ordered: frozenset[int] = frozenset()
    rows: int = 1

    @claim("chosen-interval")
    def share(self, measures: Iterable[int], share: Fraction) -> Fraction:
        """How surely an interval made of these numbers must hold. If all rows' intervals hold at once, so do those of
        any rows that are chosen among them."""
        return share if self.ordered.isdisjoint(measures) else 1 - (1 - share) / max(self.rows, 1)


NOTHING_CHOSEN = Selection()


def selection_of(asked: Priced, rows: int | None, *, released: bool = True) -> Selection:
    """`rows` is how many there are before HAVING, None if that is not known; `released` whether HAVING and ORDER BY see
    the numbers as they were released."""
    plan = asked.plan
    floors: dict[int, int] = {}
    tested: set[int] = set()
    for term in _terms(plan.having):
        floor = _floor(asked, term) if released else None
        if floor is None:
            tested |= measures_behind(asked, columns_in(term))
        else:
            place, steps = floor
            floors[place] = max(steps, floors.get(place, steps))
    cut = plan.offset > 0 or (plan.limit is not None and (rows is None or plan.limit < rows))
    cut = cut and asked.top is None  # or else rows are chosen by other numbers than they show
    if cut and len(levels_of(plan)) > 1:  # other rows with the same noise decide as well
        tested |= set(floors)
    return Selection(
        floors={place: steps for place, steps in floors.items() if place not in tested},
        tested=frozenset(tested),
        ordered=measures_behind(asked, (order.name for order in plan.order)) if cut else frozenset(),
    )


def measures_behind(asked: Priced, names: Iterable[str]) -> frozenset[int]:
    """The noisy numbers that columns are made of, computed ones included; keys are made of none."""
    read = asked
    computed = {column.name: column.value for column in read.plan.computed}
    wanted = {used for name in names for used in (columns_in(computed[name]) if name in computed else (name,))}
    wanted |= {total.aggregate for total in read.plan.totals if total.name in wanted}
    found = {place for recipe in read.recipes if recipe.aggregate.name in wanted for place in recipe.measures}
    ranked = {asked.parts[place].measure.value for place in found if isinstance(asked.parts[place].law, Choice)}
    return frozenset(found) | {  # quantiles of the same numbers are put in order together
        place for place, part in enumerate(asked.parts) if isinstance(part.law, Choice) and part.measure.value in ranked
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Affected:
    """Columns, by what the choice of rows did to their intervals.

    `together`: the intervals of all rows hold at once. `given`: an interval holds given that HAVING let the row pass.
    `none`: no interval is printed. Those of quantiles are paid for beforehand, so they cannot become wider."""

    together: tuple[str, ...] = ()
    given: tuple[str, ...] = ()
    none: tuple[str, ...] = ()


def affected(asked: Priced, selection: Selection) -> Affected:
    """The columns that are shown."""
    behind = {name: measures_behind(asked, (name,)) for name in asked.plan.outputs}
    ranked = {place for place in selection.ordered if isinstance(asked.parts[place].law, Choice)}
    none = [
        name
        for name, places in behind.items()
        if not (selection.tested | ranked).isdisjoint(places)
        or not selection.floors.keys().isdisjoint(places if _uses_total(asked, name) else ())
    ]
    rest = {name: places for name, places in behind.items() if name not in none}
    return Affected(
        together=tuple(name for name, places in rest.items() if not selection.ordered.isdisjoint(places)),
        given=tuple(name for name, places in rest.items() if not selection.floors.keys().isdisjoint(places)),
        none=tuple(none),
    )


def _uses_total(asked: Priced, name: str) -> bool:
    totals = {total.name for total in asked.plan.totals}
    return any(not totals.isdisjoint(columns_in(one.value)) for one in asked.plan.computed if one.name == name)


def _terms(having: Expression | None) -> Iterator[Expression]:
    """All of them must be true."""
    if isinstance(having, And):
        for item in having.items:
            yield from _terms(item)
    elif having is not None:
        yield having


def _floor(asked: Priced, term: Expression) -> tuple[int, int] | None:
    """The place of a count or a sum, and how many steps it must have at least, if that is what a term says."""
    match term:
        case Compare(Relation.GREATER | Relation.GREATER_EQUAL as relation, Column(name), Literal(Fraction() as least)):
            more = relation is Relation.GREATER
        case Compare(Relation.LESS | Relation.LESS_EQUAL as relation, Literal(Fraction() as least), Column(name)):
            more = relation is Relation.LESS
        case _:
            return None
    for recipe in asked.recipes:
        part = asked.parts[recipe.measures[0]]
        alone = len(recipe.measures) == 1 and part.measure.role is not Role.PAIR
        if recipe.aggregate.name == name and alone and not isinstance(part.law, Choice):
            steps = least / part.measure.step
            return recipe.measures[0], math.floor(steps) + 1 if more else math.ceil(steps)
    return None

"""From noisy whole numbers to published values with intervals. Sees nothing but what was published: free."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import islice

from privet.core.cells import Keys
from privet.core.evaluate import evaluate
from privet.core.expression import Value, columns_in
from privet.core.laws import Choice, Law, Top
from privet.core.measures import Recipe, Role
from privet.core.parts import Part
from privet.core.plan import Computed, Function, Order, Total
from privet.core.ranges import shape_of
from privet.core.ranks import SURE
from privet.core.shape import Form
from privet.estimates.accuracy import half_width
from privet.estimates.choosing import Selection, selection_of
from privet.estimates.computed import computed
from privet.estimates.families import nested_numbers
from privet.estimates.levels import Group, Level, finest, groups_of
from privet.estimates.moments import SQUARED, Estimate, MomentSpan, Noisy, moment
from privet.estimates.pairs import NoisyPair, as_rows, as_squares, as_sum, average_of, count_of, error_of_pair, sum_of
from privet.estimates.priced import Priced
from privet.estimates.publication import AS_RELEASED, Publication, printed, published, refitted
from privet.estimates.ranked import ascending, by_rank
from privet.estimates.weighted import added_half_width

Vectors = Sequence[Sequence[int]]  # one a part, one number a cell; of keys, none for the rest
Line = Mapping[str, Value | Estimate]
LARGE = 10**9
SINGLE = (Function.COUNT, Function.COUNT_DISTINCT, Function.SUM)
LIKELY = Fraction(1, 2)  # any probability will do where only values are wanted


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A published row. Keys that are not of its level are rolled up: they are NULL, and mean every value."""

    level: Level
    line: Line


def rows_of(asked: Priced, noisy: Vectors, share: Fraction, publication: Publication = AS_RELEASED) -> list[Row]:
    """The published rows after HAVING, ORDER BY and LIMIT, hidden columns left out."""
    plan = asked.plan
    kept = _kept(_table(asked, noisy, publication), share)
    for order in reversed(plan.order):
        kept = _sorted(kept, order)
    end = None if plan.limit is None else plan.offset + plan.limit
    return [
        Row(level=row.level, line={name: row.line[name] for name in plan.outputs})
        for row in islice(kept, plan.offset, end)
    ]


def lines(asked: Priced, noisy: Vectors, share: Fraction) -> list[Line]:
    """Their contents."""
    return [row.line for row in rows_of(asked, noisy, share)]


def chosen_by(asked: Priced, noisy: Vectors, publication: Publication = AS_RELEASED) -> Selection:
    """How noisy numbers chose the rows that are shown."""
    return _table(asked, noisy, publication).selection


def _table(asked: Priced, noisy: Vectors, publication: Publication) -> _Table:
    """With the rows that pass HAVING counted, where they are chosen among: that takes no intervals."""
    groups = list(groups_of(asked.plan, list(_keys(asked))))
    noisy = _with_rest(asked, noisy)
    table = _Table(
        asked=asked,
        noisy=noisy,
        groups=groups,
        numbers=[[_added(vector, group.cells) for vector in noisy] for group in groups],
        mirrored=_mirrored(asked, noisy, groups),
        nested=nested_numbers(asked, noisy, groups),
        publication=publication,
        selection=selection_of(asked, len(groups), released=publication == AS_RELEASED),
    )
    if not table.selection.ordered:
        return table
    among = len(groups) if asked.plan.having is None else len(_kept(table, LIKELY))
    return replace(table, selection=replace(table.selection, rows=among))


def _with_rest(asked: Priced, noisy: Vectors) -> Vectors:
    """Numbers of people, the last part: those of the rest after those of shown keys, where they are counted apart."""
    apart = [vector for part, vector in zip(asked.parts, noisy, strict=True) if part.measure.rest]
    return [*noisy[:-1], [*noisy[-1], *apart[0]]] if apart else noisy


def _kept(table: _Table, share: Fraction) -> list[Row]:
    return [row for row in _all_rows(table, share) if _passes(table.asked, row.line)]


def _all_rows(table: _Table, share: Fraction) -> list[Row]:
    asked, groups = table.asked, table.groups
    plan = asked.plan
    asked_alone = {
        recipe.aggregate.name: 1 - (1 - table.selection.share(recipe.measures, share)) / len(recipe.measures)
        for recipe in asked.recipes
    }
    found: list[dict[str, Value | Estimate]] = [
        {**dict.fromkeys(finest(plan)), **dict(zip(group.level, group.known, strict=True))} for group in groups
    ]
    for line, estimates in zip(found, table.estimates(asked_alone, alone=True), strict=True):
        line.update(estimates)
    for column in plan.computed:
        joint = _joint(table, column, share)
        ranked = _unproved(table, column, share)
        together = table.estimates(joint)
        totals = _totals(table, column, joint, together)
        for line, estimates, wholes in zip(found, together, totals, strict=True):
            bare = {
                name: replace(item, low=None, high=None)
                for name, item in line.items()
                if name in ranked and isinstance(item, Estimate)
            }
            line[column.name] = computed(column.value, {**line, **estimates, **bare, **wholes})
    return [Row(level=group.level, line=line) for group, line in zip(groups, found, strict=True)]


def _added(vector: Sequence[int], cells: Sequence[int]) -> int | None:
    """None for the rest where a vector has no number for it."""
    return sum(vector[cell] for cell in cells) if all(cell < len(vector) for cell in cells) else None


def _mirrored(asked: Priced, noisy: Vectors, groups: Sequence[Group]) -> list[dict[int, tuple[int, ...]]]:
    """For every row the further numbers of its pairs and squares, by the place of the part: its vector has the first
    ones of all cells, then the second ones."""
    found: list[dict[int, tuple[int, ...]]] = [{} for _ in groups]
    for place, (part, vector) in enumerate(zip(asked.parts, noisy, strict=True)):
        if part.measure.numbers > 1:
            size = len(vector) // part.measure.numbers
            for row, group in zip(found, groups, strict=True):
                begins = [size * number for number in range(1, part.measure.numbers)]
                row[place] = tuple(sum(vector[begin + cell] for cell in group.cells) for begin in begins)
    return found


def _totals(
    table: _Table, column: Computed, sure: Mapping[str, Fraction], together: Sequence[Mapping[str, Estimate]]
) -> list[dict[str, Estimate | None]]:
    """For every row what a column uses of several groups; None where the row is about more than these groups.

    HAVING that tests the noise of one group makes that of a total uncertain in a way for which nothing is proved: then
    a total has no interval."""
    found: list[dict[str, Estimate | None]] = [{} for _ in table.groups]
    for total in (one for one in table.asked.plan.totals if one.name in columns_in(column.value)):
        over = _over(table, total)
        there = {group.known: place for place, group in enumerate(over.groups)}
        estimates = over.estimates({total.aggregate: sure[total.aggregate]})
        printed = _printed_totals(table, total, together)
        for line, group in zip(found, table.groups, strict=True):
            known = group.part(total.level)
            estimate = estimates[there[known]][total.aggregate] if known in there else None
            if estimate is not None and known in printed:
                estimate = refitted(estimate, printed[known], nonnegative=False)
            line[total.name] = estimate
    return found


def _over(table: _Table, total: Total) -> _Table:
    """The same noisy numbers with one row for each group of a total."""
    asked = table.asked
    groups = list(groups_of(replace(asked.plan, levels=(total.level,)), list(_keys(asked))))
    selection = replace(table.selection, floors={}, tested=table.selection.tested | set(table.selection.floors))
    return replace(
        table,
        groups=groups,
        numbers=[[_added(vector, group.cells) for vector in table.noisy] for group in groups],
        mirrored=_mirrored(asked, table.noisy, groups),
        nested=nested_numbers(asked, table.noisy, groups),
        publication=AS_RELEASED,
        selection=selection,
    )


def _printed_totals(table: _Table, total: Total, printed: Sequence[Mapping[str, Estimate]]) -> dict[Keys, Fraction]:
    """What the printed numbers of the finest groups add up to; empty where none are printed."""
    recipe = next(one for one in table.asked.recipes if one.aggregate.name == total.aggregate)
    found: dict[Keys, Fraction] = {}
    if table.publication == AS_RELEASED or recipe.aggregate.function not in SINGLE:
        return found
    for group, estimates in zip(table.groups, printed, strict=True):
        if group.level == finest(table.asked.plan):
            known = group.part(total.level)
            found[known] = found.get(known, Fraction(0)) + estimates[total.aggregate].value
    return found


def _joint(table: _Table, column: Computed, share: Fraction) -> dict[str, Fraction]:
    """How sure each noisy number must be, so that all that a computed column is made of hold together."""
    used, _ = _used(table.asked, column)
    summed = [recipe for _, recipe in _summed(table.asked, column)]
    measures = {number for recipe in (*used, *summed) for number in recipe.measures}
    items = _items(table.asked, column)
    each = 1 - (1 - table.selection.share(measures, share)) / max(items, 1)
    return {recipe.aggregate.name: each for recipe in (*used, *summed)}


def _unproved(table: _Table, column: Computed, share: Fraction) -> set[str]:
    """The quantiles in a computed column whose intervals, paid for beforehand, are not sure enough to hold together
    with all else that it is made of."""
    _, ranked = _used(table.asked, column)
    items = _items(table.asked, column)
    return {recipe.aggregate.name for recipe in ranked if 1 - (1 - share) / items > SURE}


def _items(asked: Priced, column: Computed) -> int:
    """How many intervals must hold together: those of its own row, and those of each level of totals."""
    used, ranked = _used(asked, column)
    summed = _summed(asked, column)
    levels = {level for level, _ in summed}
    over = sum(_statements(asked, [recipe for of, recipe in summed if of == level]) for level in levels)
    return _statements(asked, used) + over + len(ranked)


def _summed(asked: Priced, column: Computed) -> list[tuple[Level, Recipe]]:
    """What a computed column uses of several groups, each with the level of its groups."""
    names = set(columns_in(column.value))
    recipes = {recipe.aggregate.name: recipe for recipe in asked.recipes}
    return [(total.level, recipes[total.aggregate]) for total in asked.plan.totals if total.name in names]


def _statements(asked: Priced, used: Sequence[Recipe]) -> int:
    """How many intervals of added noise must hold. Each number that is made of a pair is one by itself."""
    places = [place for recipe in used for place in recipe.measures]
    pairs = [place for place in places if asked.parts[place].measure.numbers > 1]
    return len(set(places) - set(pairs)) + len(pairs)


def _used(asked: Priced, column: Computed) -> tuple[list[Recipe], list[Recipe]]:
    """What a computed column is made of: by added noise, and by rank."""
    names = set(columns_in(column.value))
    used = [recipe for recipe in asked.recipes if recipe.aggregate.name in names]
    ranked = [recipe for recipe in used if isinstance(asked.parts[recipe.measures[0]].law, Choice)]
    return [recipe for recipe in used if recipe not in ranked], ranked


@dataclass(frozen=True, slots=True, kw_only=True)
class _Table:
    """The noisy numbers of every row, one a part, the further ones of pairs, and what they become in print."""

    asked: Priced
    noisy: Vectors
    groups: Sequence[Group]
    numbers: Sequence[Sequence[int | None]]
    mirrored: Sequence[Mapping[int, tuple[int, ...]]]
    nested: Sequence[Mapping[tuple[int, Fraction], int]]
    publication: Publication
    selection: Selection

    def estimates(self, sure: Mapping[str, Fraction], *, alone: bool = False) -> list[dict[str, Estimate]]:
        """For every row those of the named aggregates; each noisy number holds with the probability beside the name.
        If each aggregate holds `alone`, its noises are bounded together."""
        recipes = [recipe for recipe in self.asked.recipes if recipe.aggregate.name in sure]
        found = [
            {
                recipe.aggregate.name: self._estimate(recipe, row, sure[recipe.aggregate.name], alone=alone)
                for recipe in recipes
            }
            for row in range(len(self.groups))
        ]
        for recipe in recipes:
            self._print(recipe, found)
        return [estimates | ascending(self.asked, estimates) for estimates in found]

    def _estimate(self, recipe: Recipe, row: int, each: Fraction, *, alone: bool) -> Estimate:
        """Every noisy number lies in its interval with probability `each`. Where HAVING tested the numbers in a way for
        which nothing is proved, the estimate has no interval."""
        parts = self.asked.parts_of_rest if self._is_rest(row) else self.asked.parts
        tested = self.selection.tested
        first = parts[recipe.measures[0]]
        if isinstance(first.law, Choice):
            chosen = [self.numbers[row][place] or 0 for place in recipe.measures]
            if first.measure.quantiles and recipe.aggregate.quantile is not None:
                chosen[0] = self.nested[row][recipe.measures[0], recipe.aggregate.quantile]
            decides = tested | self.selection.ordered
            proved = decides.isdisjoint(recipe.measures) and 1 - (1 - each) * len(chosen) <= SURE
            return by_rank(first.measure, chosen, proved=proved)
        read = _Read(parts=parts, numbers=self.numbers[row], mirrored=self.mirrored[row])
        read = replace(read, cells=len(self.groups[row].cells))
        found = self._from_noise(recipe, read, each, alone=alone)
        usual = 1 - (1 - SURE) / len(recipe.measures)  # whether a value is known does not depend on who asks how surely
        if each != usual and recipe.aggregate.function not in SINGLE:
            found = replace(found, known=self._from_noise(recipe, read, usual, alone=alone).known)
        return found if tested.isdisjoint(recipe.measures) else replace(found, low=None, high=None)

    def _is_rest(self, row: int) -> bool:
        cells = self.asked.cells
        return cells.rest and self.groups[row].cells == (cells.count - 1,)

    def _from_noise(self, recipe: Recipe, read: _Read, each: Fraction, *, alone: bool) -> Estimate:
        if read.parts[recipe.measures[0]].measure.numbers > 1 and len(recipe.measures) == 1:
            return _of_pair(recipe.aggregate.function, read.pair(recipe.measures[0]), each)
        floors = self.selection.floors
        noisy = [
            replace(one, floor=max((end for end in (one.floor, floors.get(place)) if end is not None), default=None))
            for place, one in zip(recipe.measures, _noisy(recipe, read, each), strict=True)
        ]
        found = _estimate(recipe.aggregate.function, noisy)
        return _narrowed(found, recipe, read, each) if alone and all(one.floor is None for one in noisy) else found

    def _print(self, recipe: Recipe, found: list[dict[str, Estimate]]) -> None:
        """Counts and sums as the publication wants them."""
        if self.publication == AS_RELEASED or recipe.aggregate.function not in SINGLE:
            return
        name, column = recipe.aggregate.name, printed(recipe, self.asked.parts[recipe.measures[0]].measure)
        values = published(self.publication, column, self.groups, [estimates[name].value for estimates in found])
        cut = self.publication.nonnegative and column.nonnegative
        for estimates, value in zip(found, values, strict=True):
            estimates[name] = refitted(estimates[name], value, nonnegative=cut)


def _keys(asked: Priced) -> Iterator[Keys]:
    """The keys of every cell. In the row of the rest a text is what the user calls it; other keys are missing."""
    read = asked
    yield from read.cells.keys()
    if read.cells.rest:
        words = [shape_of(key.value, read.passing).form is Form.WORD for key in read.plan.keys]
        yield tuple(read.plan.other if word else None for word in words)


def _passes(asked: Priced, line: Line) -> bool:
    having = asked.plan.having
    return having is None or evaluate(having, {name: plain(item) for name, item in line.items()}) is True


def _sorted(kept: list[Row], order: Order) -> list[Row]:
    """Stable; NULLs last either way."""
    there = [row for row in kept if plain(row.line[order.name]) is not None]
    missing = [row for row in kept if plain(row.line[order.name]) is None]
    return sorted(there, key=lambda row: plain(row.line[order.name]), reverse=order.descending) + missing  # type: ignore[arg-type, return-value]


def plain(item: Value | Estimate) -> Value:
    return item.shown if isinstance(item, Estimate) else item


@dataclass(frozen=True, slots=True, kw_only=True)
class _Read:
    """The parts, and their noisy numbers in one row of `cells` cells."""

    parts: Sequence[Part]
    numbers: Sequence[int | None]
    mirrored: Mapping[int, tuple[int, ...]]
    cells: int = 1

    def pair(self, place: int) -> NoisyPair:
        part = self.parts[place]
        return NoisyPair(
            measure=part.measure,
            above=self.numbers[place] or 0,
            between=self.mirrored[place][:-1],
            below=self.mirrored[place][-1],
            law=_added_noise(part),
            cells=self.cells,
        )

    def noisy(self, place: int, each: Fraction) -> Noisy:
        part = self.parts[place]
        return Noisy(
            measure=part.measure,
            number=self.numbers[place] or 0,  # no recipe uses the keys where the rest has no number of people
            width=half_width(_added_noise(part), each, self.cells),
            floor=part.threshold,
        )


def _noisy(recipe: Recipe, read: _Read, each: Fraction) -> list[Noisy]:
    """The noisy numbers of an aggregate, each within its half width with probability `each`. The last is its count."""
    found, last = [], len(recipe.measures) - 1
    squared = {square for _, square in SQUARED.get(recipe.aggregate.function, ())}
    for number, place in enumerate(recipe.measures):
        measure = read.parts[place].measure
        if measure.numbers == 1:
            found.append(read.noisy(place, each))
            continue
        made = (
            as_rows if number == last else as_squares if number in squared and measure.role is Role.SQUARES else as_sum
        )
        found.append(made(read.pair(place), each))
    return found


def _of_pair(function: Function, pair: NoisyPair, share: Fraction) -> Estimate:
    """What is made of one pair alone."""
    match function:
        case Function.AVG:
            return average_of(pair, share)
        case Function.SUM:
            return sum_of(pair, share)
        case _:
            return count_of(pair, share)


def _added_noise(part: Part) -> Law:
    assert not isinstance(part.law, Choice | Top)  # noqa: S101  a choice adds none
    return part.law


def _estimate(function: Function, noisy: Sequence[Noisy]) -> Estimate:
    return _total(noisy) if function in SINGLE else moment(function, noisy)


def total_error(recipe: Recipe, parts: Sequence[Part], share: Fraction, cells: int = 1) -> Fraction:
    """How far a count or a sum over `cells` cells may be off, whatever its value."""
    each = 1 - (1 - share) / len(recipe.measures)
    mirrored = {place: (LARGE,) * (part.measure.numbers - 1) for place, part in enumerate(parts)}
    read = _Read(parts=parts, numbers=[LARGE] * len(parts), mirrored=mirrored)
    read = replace(read, cells=cells)
    if parts[recipe.measures[0]].measure.numbers > 1:
        return error_of_pair(recipe.aggregate.function, read.pair(recipe.measures[0]), share)
    estimate = _narrowed(_total(_noisy(recipe, read, each)), recipe, read, each)
    assert estimate.high is not None  # noqa: S101  counts and sums have intervals
    error = estimate.high - estimate.value
    if parts[recipe.measures[0]].measure.role is not Role.KEYS:
        return error
    of_rest = [half_width(_added_noise(part), share, cells) for part in parts if part.measure.rest]
    return max(error, Fraction(max(of_rest, default=0)))


def _narrowed(found: Estimate, recipe: Recipe, read: _Read, each: Fraction) -> Estimate:
    """A sum that is made of a centered one and a count: its two noises are bounded together, with the probability that
    both hold if each holds with `each`."""
    if recipe.aggregate.function is not Function.SUM or len(recipe.measures) == 1:
        return found
    total, count = (read.parts[place] for place in recipe.measures)
    if max(total.measure.numbers, count.measure.numbers) > 1:
        return found
    weights = (Fraction(1), Fraction(abs(total.measure.center)))
    noises = tuple(zip(weights, map(_added_noise, (total, count)), strict=True))
    off = math.floor(added_half_width(noises, 1 - 2 * (1 - each), read.cells)) * total.measure.step
    return replace(found, low=found.value - off, high=found.value + off)


def _total(noisy: Sequence[Noisy]) -> Estimate:
    """A count or a sum; a centered sum gets its center back for every row. No interval if one end is not known. Where
    rows are a fraction (of a pair), the value is the nearest whole number of steps."""
    total, *counts = noisy
    step, center = total.measure.step, Fraction(total.measure.center)
    value = math.floor(total.number + sum(center * count.number for count in counts) + Fraction(1, 2)) * step
    first, *others = (one.span for one in noisy)
    known = [span for span in others if span is not None]
    if first is None or len(known) < len(others):
        return Estimate(value=value, low=None, high=None)
    whole = sum((MomentSpan(center, center) * span for span in known), start=first)
    return Estimate(value=value, low=whole.low * step, high=whole.high * step)

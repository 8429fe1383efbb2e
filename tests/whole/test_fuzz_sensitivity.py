"""One unit moves an answer by as much as its price says, and by no more; and the search for more finds planted bugs."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from support import fuzz_checks, fuzz_sensitivity, nasty
from support.fuzz_checks import CHANGES, moved
from support.fuzz_sensitivity import About, fuzz

import privet as pv
from privet.backends import cellsql, kernel, keysql, originsql, reference, sqlgen, whole
from privet.backends.duckdb import DuckDb
from privet.backends.whole import Whole
from privet.catalog import declarations
from privet.catalog.vault_file import Table
from privet.core import measures, narrow, parts, ranges
from privet.core.expression import Arithmetic, Sign
from privet.core.measures import ROWS, Measure, Role
from privet.core.plan import Function, Plan
from privet.core.schema import Date, Integer, Number
from privet.core.shape import Form, Shape
from privet.core.top import apart
from privet.core.unit import Neighbors
from privet.estimates import pricing
from privet.query import Query
from privet.testing import Exact

CASES = 510
SEEDS = range(10)  # which ones does not matter: nothing may be found. benchmarks/fuzz.py takes new ones


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.proof) for seed in SEEDS[1:2])])
def test_no_unit_moves_an_answer_further_than_its_price_says(seed: int) -> None:
    """1,000 pairs of neighbors here; benchmarks/fuzz.py tries 200,000."""
    tally = fuzz(seed, CASES)
    assert tally.violations == []
    assert tally.cases >= CASES
    assert tally.from_sql > tally.rounds / 4
    assert tally.private >= tally.rounds / 10
    assert tally.too_long < tally.rounds / 10


# Witnesses: pairs of tables that attain every bound. X goes from -3 to 5, so that moving a row (10) does more in sum
# than changing it (8), and less in squares (50 and 64). Others are all at the lower end of x and at the upper end of w,
# so that every rank can move as far as it ever can.

COLUMNS = {
    "g": pv.Category(list("abcd")), "city": pv.Text(), "y": pv.Integer(0, 100),
    **{name: pv.Integer(-3, 5) for name in ("x", "z", "w")}
}  # fmt: skip
ASKED = [
    "COUNT(*)", "COUNT(x)", "COUNT(DISTINCT y)", "SUM(x)", "AVG(z)", "VAR_SAMP(x)", "COVAR_POP(x, z)", "CORR(x, z)",
    "MEDIAN(x)", "QUANTILE(x, 0.25)", "QUANTILE(w, 0.9)", "MIN(x)", "MAX(w)",
]  # fmt: skip
KEYS: dict[str, dict[str, Any]] = {
    "public": {}, "private": {"delta": "1e-6"}, "private and other": {"delta": "1e-6", "other": "rest"}
}  # fmt: skip
LIMITS = (
    None,
    (1, 1, None),
    *(pytest.param(most, marks=pytest.mark.proof) for most in ((2, 3, None), (2, 3, 5))),
)
OTHERS = 30  # in each group
Own = list[tuple[str, int, int]]


ENDS = ((5, 5), (-3, -3), (5, -3), (-3, 5))


def sets_of_rows(groups: int, rows: int, in_all: int | None, relation: str) -> list[Own]:
    """Nothing; in the first groups, and then in the others, x and z at their ends and in the middle.

    Where not all groups can be full, also: full in one group at one end, and what is left in another at the other end.
    Which group is full matters only where one set of rows replaces another.
    """
    first, second = "abcd"[:groups], "abcd"[groups : 2 * groups]
    filled = [(names, x, z) for names in (first, second) for x, z in ((5, 5), (-3, -3), (1, 1), (5, -3))]
    sets = [[(g, x, z) for g in names for _ in range(rows)][:in_all] for names, x, z in filled]
    if in_all is not None:
        orders = (first, first[::-1]) if relation == "replace" else (first,)
        for names, (x, z), (left_x, left_z) in itertools.product(orders, ENDS, ENDS):
            rest = in_all - rows
            sets.append([*[(names[0], x, z)] * rows, *[(names[1], left_x, left_z)] * rest])
    return [[], *sets]


def frame_of(own: Own) -> dict[str, list[Any]]:
    """Of y nobody has the same number twice."""
    people: list[tuple[Any, ...]] = [(f"{g}{n}", g, g, 50, -3, -3, 5) for g in "abcd" for n in range(OTHERS)]
    people += [("me", g, g, number, x, z, x) for number, (g, x, z) in enumerate(own)]
    return {name: [person[place] for person in people] for place, name in enumerate(("who", *COLUMNS))}


@pytest.mark.parametrize("relation", ["add-remove", "replace"])
@pytest.mark.parametrize("limits", LIMITS)
def test_every_bound_is_attained(tmp_path: Path, relation: str, limits: tuple[int, int, int | None] | None) -> None:
    """Rows as units, and people with so many groups, rows a group and rows; keys that are public and not."""
    unit: dict[str, Any] = {"unit": None}
    asked, bounds = [*ASKED, *(["COUNT(DISTINCT who)"] if limits else [])], {}
    if limits:
        unit = {"unit": "who", "max_groups": 4, "max_rows_per_group": 4}
        bounds = dict(zip(declarations.LIMITS, limits, strict=True))
    shown = {name: None if name == "public" else [(g,) for g in "abcd"] for name in KEYS}
    listed = ", ".join(f"{text} AS a{place}" for place, text in enumerate(asked))
    with pv.create(tmp_path / "vault", budget=pv.Budget(1000, "1e-3"), neighbors=relation, testing=True) as vault:
        vault.add_table("t", frame_of([]), columns=COLUMNS, **unit)
        queries, found = {}, {name: list[Exact]() for name in KEYS}
        for name, how in KEYS.items():
            key = "g" if name == "public" else "city"
            text = f"SELECT {key}, {listed} FROM t GROUP BY {key}"
            queries[name] = vault.sql(text, epsilon=900, **bounds, **how)
        for own in sets_of_rows(*(limits or (1, 1, None)), relation):
            vault.attach("t", frame_of(own))
            for name, query in queries.items():
                one = pv.testing.exact(query, key=b"fixed", keys=shown[name])
                found[name].append(one if name != "private and other" else _with_a_rest(query, one))
    for name, query in queries.items():
        _attained(query, found[name], relation)


def _with_a_rest(query: Query, found: Exact) -> Exact:
    """Where the people of the rest are counted by themselves: those of the first group, as if it were not shown."""
    hidden = pv.testing.exact(query, key=b"fixed", keys=[(g,) for g in "bcd"])
    three = zip(query.priced.parts, found.parts, hidden.parts, strict=True)
    return replace(found, parts=tuple(other if part.measure.rest else one for part, one, other in three))


def _attained(query: Query, found: list[Exact], relation: str) -> None:
    pairs = itertools.combinations(found, 2) if relation == "replace" else ((found[0], other) for other in found[1:])
    parts = query.priced.parts
    moves = [[moved(*three) for three in zip(parts, one.parts, two.parts, strict=True)] for one, two in pairs]
    for place, part in enumerate(found[0].parts):
        for limit, *seen in zip(CHANGES, *(change[place] for change in moves), strict=True):
            assert max(seen) == getattr(part, limit), (parts[place].measure, limit)
    assert sum(part.loss.epsilon for part in found[0].parts) == query.cost.epsilon == 900  # type: ignore[misc]


# Planted bugs. Each is found by rounds like those of the test above: some as a move that is too far, others as numbers
# that the reference does not confirm.


def caught(*kinds: str, about: About | None = None, first: int = 0) -> bool:
    """With `about` other questions are left out, which would only take time. `first` is a seed that finds it soon."""
    return any(fuzz(seed, CASES, kinds, about).found(kinds) for seed in (first, *SEEDS))


def of_people(_: Plan, table: Table) -> bool:
    return table.unit is not None


def of_sums(plan: Plan, table: Table) -> bool:
    """Of people and public keys: what the kernel always takes."""
    plain = all(aggregate.function in nasty.SUMS for aggregate in plan.aggregates)
    return plain and table.unit is not None and not plan.private_keys


def of_private_keys(plan: Plan, table: Table) -> bool:
    return plan.private_keys and table.unit is not None


def of_other(plan: Plan, table: Table) -> bool:
    return plan.other is not None and table.unit is not None


def of(*functions: Function) -> About:
    return lambda plan, _: any(aggregate.function in functions for aggregate in plan.aggregates)


def of_groups(plan: Plan, table: Table) -> bool:
    counted = all(one.function in (Function.COUNT, Function.SUM, Function.COUNT_DISTINCT) for one in plan.aggregates)
    return counted and bool(plan.keys) and not plan.private_keys and table.unit is not None


def test_scores_move_as_far_apart_as_is_paid_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """In rounds of their own; if half as much were paid, that would be found."""
    monkeypatch.setattr(fuzz_sensitivity, "CHOSEN_FIRST", 1)
    tally = fuzz(100, 60, about=of_groups)
    assert tally.violations == []
    assert tally.tops
    real = fuzz_sensitivity.too_far
    half = lambda *given: real(*given, reach=lambda *one: Fraction(apart(*one), 2))  # noqa: E731
    monkeypatch.setattr(fuzz_sensitivity, "too_far", half)
    assert any("move apart" in text for text in fuzz(100, CASES, ("sensitivity",), of_groups).violations)


def test_missing_clamps_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    real = originsql.reading

    def unclamped(kind: Any, *rest: str) -> Any:
        if isinstance(kind, Integer):
            kind = Integer(kind.low - 1000, kind.high + 1000)
        if isinstance(kind, Number):
            kind = Number(kind.low - 1000 * kind.step, kind.high + 1000 * kind.step, step=kind.step)
        return real(kind, *rest)

    monkeypatch.setattr(originsql, "reading", unclamped)
    monkeypatch.setattr(sqlgen, "clamped", lambda number, *_: number)
    assert caught("sensitivity")


def test_one_clamp_alone_is_enough_for_privacy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Second line of defense: without the clamp before the sum nothing moves too far, since values were clamped."""
    monkeypatch.setattr(sqlgen, "clamped", lambda number, *_: number)
    assert fuzz(0, CASES).violations == []


def two_corners(monkeypatch: pytest.MonkeyPatch) -> None:
    real = ranges._arithmetic

    def wrong(sign: Sign, left: Shape, right: Shape) -> Shape:
        shape = real(sign, left, right)
        if sign is not Sign.MULTIPLY:
            return shape
        low, high = sorted((left.low * right.low, left.high * right.high))
        return replace(shape, low=low, high=high)

    monkeypatch.setattr(ranges, "_arithmetic", wrong)


def too_narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    real = narrow._compared

    def wrong(shape: Shape, *rest: Any) -> Shape:
        found = real(shape, *rest)
        cut = found.form is Form.NUMBER and found.high < shape.high
        return replace(found, high=found.high - 1) if cut else found

    monkeypatch.setattr(narrow, "_compared", wrong)


def half_as_wide(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every number is thought to lie in the lower half of its range, by the core and by the engine's own bounds."""
    real, times = measures.shape_of, whole.times

    def wrong(value: Any, columns: Any) -> Shape:
        shape = real(value, columns)
        return replace(shape, high=(shape.low + shape.high) // 2) if shape.form is Form.NUMBER else shape

    def narrow_product(a: Whole, b: Whole) -> Whole:
        product = times(a, b)
        return replace(product, high=max(product.low, product.high // 2))

    monkeypatch.setattr(measures, "shape_of", wrong)
    monkeypatch.setattr(whole, "times", narrow_product)


def test_wrong_corners_of_a_product_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    two_corners(monkeypatch)
    assert caught("replay", "failed", about=lambda plan, _: "Arithmetic" in nasty.nodes_in(plan))


def test_narrowing_that_is_off_by_one_step_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    too_narrow(monkeypatch)
    assert caught("replay", "failed", about=lambda plan, _: plan.where is not None)


@pytest.mark.proof
@pytest.mark.parametrize("plant", [two_corners, too_narrow, half_as_wide])
@pytest.mark.parametrize("by_the_kernel", [0, 1])
def test_a_mistake_in_ranges_never_breaks_the_price(
    monkeypatch: pytest.MonkeyPatch, plant: Callable[[pytest.MonkeyPatch], None], by_the_kernel: int
) -> None:
    """Answers are wrong, and no unit moves them further than was paid for: in SQL, in the kernel, by the definition."""
    plant(monkeypatch)
    monkeypatch.setattr(reference, "steps_of", fuzz_sensitivity.DEFINED)
    monkeypatch.setattr(fuzz_sensitivity, "BY_THE_KERNEL", by_the_kernel)
    found = fuzz(0, CASES // 2)
    assert found.cases >= CASES // 4
    assert not found.found(("sensitivity", "price"))


def test_counted_nulls_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    real = sqlgen._Sums.recipe

    def every_row(self: Any, measure: Measure) -> tuple[int, int, int]:
        counts = measure.role is Role.COUNT
        return real(self, replace(measure, value=None) if counts else measure)

    monkeypatch.setattr(sqlgen._Sums, "recipe", every_row)
    assert caught("replay", "failed")


def test_a_merged_null_group_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    real = cellsql._index

    def merged(name: str, shape: Shape, domain: tuple[Any, ...], **rest: Any) -> Whole:
        index = real(name, shape, domain, **rest)
        missing = domain[-1] is None and len(domain) > 1
        return replace(index, sql=f"least({index.sql}, {len(domain) - 2})") if missing else index

    monkeypatch.setattr(cellsql, "_index", merged)
    assert caught("replay", "failed")


def test_rows_of_nobody_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows without a unit, taken for the rows of one more person."""
    monkeypatch.setattr(originsql, "is_unit", lambda *_: "TRUE")
    monkeypatch.setattr(sqlgen, "_bounded", with_units("coalesce(CAST(u AS VARCHAR), '')", "VARCHAR"))
    assert caught("replay")


@pytest.mark.parametrize(("limit", "first"), [("groups", 6), ("rows", 0), ("in_all", 5)])
def test_skipped_bounding_is_found(monkeypatch: pytest.MonkeyPatch, limit: str, first: int) -> None:
    real = sqlgen._bounded
    unbounded = lambda task, *rest: real(replace(task, bounds=replace(task.bounds, **{limit: 1000})), *rest)  # noqa: E731
    monkeypatch.setattr(sqlgen, "_bounded", unbounded)
    assert caught("sensitivity", about=of_people, first=first)


@pytest.mark.parametrize(("limit", "first"), [("groups", 14), ("rows", 2), ("in_all", 0)])
def test_skipped_bounding_in_the_kernel_is_found(monkeypatch: pytest.MonkeyPatch, limit: str, first: int) -> None:
    real = kernel._few

    def unbounded(totals: Any, task: Any, *rows: Any) -> None:
        real(totals, replace(task, bounds=replace(task.bounds, **{limit: 1000})), *rows)

    monkeypatch.setattr(fuzz_sensitivity, "BY_THE_KERNEL", 1)
    monkeypatch.setattr(kernel, "_few", unbounded)
    assert caught("sensitivity", about=of_sums, first=first)


def test_units_that_the_kernel_takes_for_one_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    real = kernel.Fetched.of

    def merged(*given: Any) -> kernel.Fetched:
        found = real(*given)
        return replace(found, unit=found.unit // 4)

    monkeypatch.setattr(fuzz_sensitivity, "BY_THE_KERNEL", 1)
    monkeypatch.setattr(kernel.Fetched, "of", merged)
    assert caught("sensitivity", about=of_sums)


def test_units_told_apart_by_a_hash_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two units that are bounded as one can double the change."""
    monkeypatch.setattr(sqlgen, "_bounded", with_units("strlen(CAST(u AS VARCHAR)) % 2", "BIGINT"))
    assert caught("sensitivity", about=of_people)


def with_units(sql: str, type_: str) -> Callable[[Any, str, str], str]:
    """The bounding of other units than those of the table."""
    real = sqlgen._bounded
    return lambda task, _, rows: real(task, type_, f"SELECT * REPLACE (CAST({sql} AS {type_}) AS u) FROM ({rows})")


def test_a_replacement_at_the_price_of_a_removal_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    real = parts.sensitivity

    def cheap(low: int, high: int, cells: int, bounds: Any) -> Any:
        return real(low, high, cells, replace(bounds, neighbors=Neighbors.ADD_REMOVE))

    monkeypatch.setattr(parts, "sensitivity", cheap)
    assert caught("sensitivity")


def test_a_part_that_is_not_charged_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    real = parts.total_loss
    monkeypatch.setattr("privet.estimates.priced.total_loss", lambda listed: real(listed[:1]))
    assert caught("price")


def test_noise_that_is_too_narrow_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    real = parts.laplace_for
    monkeypatch.setattr(parts, "laplace_for", lambda epsilon, sensitivity: real(2 * epsilon, sensitivity))
    assert caught("price")


def test_engine_failures_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cast that fails on some rows tells who is there."""
    real = sqlgen.passing_rows

    def partial(*given: Any) -> Any:
        sql, terms = real(*given)
        return sql.replace("TRY_CAST", "CAST"), terms

    monkeypatch.setattr(fuzz_sensitivity, "PLAIN", 0)  # simple tables have nothing that a cast could fail on
    monkeypatch.setattr(sqlgen, "passing_rows", partial)
    assert caught("failed", about=lambda _, table: any(isinstance(kind, Date) for kind in table.columns.values()))


# Planted bugs in what people, spreads, quantiles and keys need.


@pytest.mark.parametrize("role", [Role.QUANTILE, Role.MIN, Role.MAX])
def test_half_of_the_reach_of_a_rank_is_found(monkeypatch: pytest.MonkeyPatch, role: Role) -> None:
    real = parts.rank_sensitivity

    def half(measure: Measure, *rest: Any) -> Any:
        far = real(measure, *rest)
        if measure.role is not role:
            return far
        return replace(far, l1=-(-far.l1 // 2), l2_squared=-(-far.l2_squared // 4), linf=-(-far.linf // 2))

    monkeypatch.setattr(parts, "rank_sensitivity", half)
    assert caught("sensitivity", about=of(Function.QUANTILE, Function.MIN, Function.MAX))


def test_a_replaced_row_at_the_rank_price_of_a_removed_one_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The change that a rank loss of a/b has when a row goes, max(a, b - a), where a row changes: that is b."""
    real = parts.rank_sensitivity

    def cheap(measure: Measure, cells: Any, bounds: Any) -> Any:
        less = real(measure, cells, replace(bounds, neighbors=Neighbors.ADD_REMOVE))
        return replace(real(measure, cells, bounds), linf=less.linf)

    monkeypatch.setattr(parts, "rank_sensitivity", cheap)
    assert caught("sensitivity", about=of(Function.QUANTILE))


def test_an_extreme_that_aims_beyond_the_rows_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A rank of MIN and MAX that moves by two with a row moves losses by three."""
    real = fuzz_checks.rank
    steep = lambda measure, law, rows: replace(real(measure, law, rows), target=3 * rows)  # noqa: E731
    far = lambda measure, law, rows: steep(measure, law, rows) if measure.quantile is None else real(measure, law, rows)  # noqa: E731
    monkeypatch.setattr(fuzz_checks, "rank", far)
    assert caught("sensitivity")


def test_a_rest_that_is_not_bounded_again_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each unit's rows were bounded key by key, and what is left of several keys falls into one cell."""
    real = sqlgen._bounded

    def loose(task: Any, type_: str, rows: str) -> str:
        if not task.cells.rest:
            return real(task, type_, rows)
        wide = replace(task, bounds=replace(task.bounds, rows=task.bounds.rows * task.bounds.groups))
        rest = "CAST($rest AS BIGINT)"
        return (
            f"SELECT * FROM ({real(task, type_, rows)}) WHERE cell < {rest}"
            f" UNION ALL SELECT * FROM ({real(wide, type_, rows)}) WHERE cell = {rest}"
        )

    monkeypatch.setattr(sqlgen, "_bounded", loose)
    assert caught("sensitivity", about=of_other)


def test_a_threshold_for_one_key_alone_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A unit that brings k new keys has k chances that one is shown."""
    real = parts.key_threshold
    monkeypatch.setattr(parts, "key_threshold", lambda law, delta, _: real(law, delta, 1))
    assert caught("price", about=of_private_keys, first=11)


def test_a_threshold_for_a_removal_where_a_unit_is_replaced_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    real = parts.keys_for

    def cheap(epsilon: Any, delta: Any, bounds: Any) -> Any:
        law, threshold, loss = real(epsilon, delta, replace(bounds, neighbors=Neighbors.ADD_REMOVE))
        return replace(law, scale=2 * law.scale), threshold, loss

    monkeypatch.setattr(parts, "keys_for", cheap)
    assert caught("price")


def test_a_unit_that_counts_for_all_its_keys_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keysql, "first_groups", lambda *given: given[-1])
    assert caught("sensitivity", about=of_private_keys)


def test_keys_that_are_told_apart_by_their_place_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A new key moves the places of others, and with them which keys other units keep."""

    def place(task: Any) -> str:
        listed = ", ".join(f"k{number}" for number in range(len(task.plan.keys)))
        return f"CAST(dense_rank() OVER (ORDER BY {listed}) AS VARCHAR)"

    monkeypatch.setattr(keysql, "key_text", place)
    assert caught("sensitivity", about=of_private_keys, first=4)


def test_cells_that_are_told_apart_by_their_place_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which cells a unit keeps must not depend on what other keys were chosen."""
    places = lambda _, groups: f"SELECT *, CAST(cell AS VARCHAR) AS text FROM ({groups})"  # noqa: E731
    monkeypatch.setattr(sqlgen, "with_texts", places)
    assert caught("order", about=of_private_keys, first=5)


def test_squares_at_the_price_of_numbers_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The range of x, or of its root, for the sum of x * x."""
    real = parts.sensitivity_of

    def narrow_squares(measure: Measure, setting: Any) -> Any:
        value = measure.value
        if measure.role is Role.SUM and isinstance(value, Arithmetic) and value.left == value.right:
            side = math.isqrt(measure.high - measure.low)
            measure = replace(measure, low=-side, high=side)
        return real(measure, setting)

    monkeypatch.setattr(parts, "sensitivity_of", narrow_squares)
    assert caught("sensitivity")


@pytest.mark.parametrize("role", [Role.DISTINCT, Role.PEOPLE])
def test_rows_of_a_unit_beyond_its_bound_are_found(monkeypatch: pytest.MonkeyPatch, role: Role) -> None:
    """Different values of a unit are no more than its rows; and a unit counts once, however many rows it has."""
    both = lambda plan, table: of_people(plan, table) and of(Function.COUNT_DISTINCT)(plan, table)  # noqa: E731
    if role is Role.DISTINCT:
        real = sqlgen._bounded

        def every_value(task: Any, *rest: str) -> str:
            distinct = any(measure.role is role for measure in task.measures)
            return real(replace(task, bounds=replace(task.bounds, rows=1000)) if distinct else task, *rest)

        monkeypatch.setattr(sqlgen, "_bounded", every_value)
    else:
        recipe = sqlgen._Sums.recipe
        by_rows = lambda self, measure: recipe(self, ROWS if measure.role is role else measure)  # noqa: E731
        monkeypatch.setattr(sqlgen._Sums, "recipe", by_rows)
    assert caught("sensitivity", about=both)


def test_different_values_at_the_price_of_one_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    real = parts.sensitivity_of

    def one_value(measure: Measure, setting: Any) -> Any:
        return real(replace(measure, role=Role.PEOPLE) if measure.role is Role.DISTINCT else measure, setting)

    monkeypatch.setattr(parts, "sensitivity_of", one_value)
    assert caught("sensitivity", about=of(Function.COUNT_DISTINCT), first=3)


def test_a_center_that_is_taken_off_missing_values_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    real = sqlgen._Sums.recipe

    def every_row(self: Any, measure: Measure) -> tuple[int, int, int]:
        place, center, count = real(self, measure)
        return place, center, self._place("count(*)") if measure.role is Role.SUM else count

    monkeypatch.setattr(sqlgen._Sums, "recipe", every_row)
    assert caught("sensitivity")
    assert caught("replay")


def test_a_question_that_keeps_to_the_bounds_of_its_table_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A question may have its own bounds; what is computed must keep to those that were paid for."""
    real = sqlgen._bounded

    def declared(task: Any, *rest: str) -> str:
        table = task.table
        limits = replace(task.bounds, groups=table.max_groups, rows=table.max_rows_per_group, in_all=table.max_rows)
        return real(replace(task, bounds=limits), *rest)

    monkeypatch.setattr(sqlgen, "_bounded", declared)
    assert caught("sensitivity")


def test_a_rho_beyond_epsilon_and_delta_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    real = pricing.rho_cap
    monkeypatch.setattr(pricing, "rho_cap", lambda epsilon, delta: real(epsilon, delta) * Fraction(11, 10))
    assert caught("price")


def test_units_in_every_bin_of_their_groups_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Histograms behind suggested bounds in which a unit counts for every number up to its own."""
    real = DuckDb.habits

    def running(self: Any, task: Any, written: Any = None) -> Any:
        return tuple(list(itertools.accumulate(bins[::-1]))[::-1] for bins in real(self, task, written))

    monkeypatch.setattr(DuckDb, "habits", running)
    assert caught("sensitivity", first=17)

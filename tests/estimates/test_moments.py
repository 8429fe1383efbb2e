"""Intervals of averages, variances, covariances and correlations: the exact value is inside if every number is."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction as F

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.asked import without_pairs
from support.plain_statistics import (
    BOUNDS,
    KINDS,
    PAIRS,
    ROOTS,
    SHAPES,
    Row,
    X,
    Y,
    aggregate,
    exact,
    plan,
    rows,
    statistic,
)

from privet.core.expression import Literal
from privet.core.measures import Measure, Wish, measures_of
from privet.core.plan import Aggregate, Function
from privet.estimates.estimate import _total, lines, plain
from privet.estimates.moments import SAMPLE, Estimate, MomentSpan, Noisy, _root, moment
from privet.estimates.priced import outline

MOMENTS = [
    Function.AVG, Function.VAR_POP, Function.VAR_SAMP, Function.STDDEV_POP, Function.STDDEV_SAMP,
    Function.COVAR_POP, Function.COVAR_SAMP, Function.CORR,
]  # fmt: skip
WHOLE = {  # of x from -3 to 8 and y from 1/2 to 3
    Function.AVG: (-3, 8),
    Function.VAR_POP: (0, F(121, 4)),
    Function.VAR_SAMP: (0, F(121, 2)),
    Function.STDDEV_POP: (0, F(11, 2)),
    Function.COVAR_POP: (-F(55, 8), F(55, 8)),
    Function.COVAR_SAMP: (-F(55, 4), F(55, 4)),
    Function.CORR: (-1, 1),
}


def one(function: Function) -> Aggregate:
    return aggregate(function, X, Y if function in PAIRS else None)


def measures(function: Function, wish: Wish = Wish()) -> list[Measure]:  # noqa: B008  it never changes
    found, (recipe,) = measures_of(plan(one(function)), SHAPES, wish)
    return [found[number] for number in recipe.measures]


def squared(value: F, *, root: bool) -> F:
    """As `statistic` gives it: of a root its square, with its sign."""
    return value * abs(value) if root else value


def estimate(function: Function, numbers: Sequence[int], widths: Sequence[int]) -> Estimate:
    found = measures(function)
    return moment(
        function,
        [Noisy(measure=m, number=n, width=w) for m, n, w in zip(found, numbers, widths, strict=True)],
    )


ERRORS = st.lists(st.tuples(st.integers(-40, 40), st.integers(0, 10)), min_size=6, max_size=6)


def check(function: Function, table: list[Row], errors: list[tuple[int, int]]) -> None:
    found = measures(function)
    numbers = [exact(m, table) + error for m, (error, _) in zip(found, errors, strict=False)]
    widths = [abs(error) + more for _, (error, more) in zip(found, errors, strict=False)]
    got = estimate(function, numbers, widths)
    assert got.low is not None
    assert got.high is not None
    assert got.low <= got.value <= got.high
    if function in WHOLE:
        assert WHOLE[function][0] <= got.low
        assert got.high <= WHOLE[function][1]
    truth = statistic(one(function), table)
    if truth is not None:
        root = function in ROOTS
        assert squared(got.low, root=root) <= truth <= squared(got.high, root=root)


@pytest.mark.parametrize("function", MOMENTS)
@settings(max_examples=80)
@given(table=rows(), errors=ERRORS)
def test_the_exact_value_is_inside_if_every_number_is(
    function: Function, table: list[Row], errors: list[tuple[int, int]]
) -> None:
    check(function, table, errors)


@pytest.mark.parametrize("function", MOMENTS)
@settings(max_examples=40)
@given(table=rows(null=False, least=2), times=st.sampled_from([1, 40, 10_000]), errors=ERRORS)
def test_the_same_with_many_rows(
    function: Function, table: list[Row], times: int, errors: list[tuple[int, int]]
) -> None:
    """Each row many times: the intervals are short then, and must still hold the value. Sums grow as they would."""
    found = measures(function)
    numbers = [times * exact(m, table) + error for m, (error, _) in zip(found, errors, strict=False)]
    widths = [abs(error) + more for _, (error, more) in zip(found, errors, strict=False)]
    got = estimate(function, numbers, widths)
    truth = statistic(one(function), table)
    if truth is None or got.low is None or got.high is None:
        return
    if function in SAMPLE:
        n = len(table)
        truth = truth * (n - 1) / n * (n * times) / (n * times - 1)
    root = function in ROOTS
    assert squared(got.low, root=root) <= truth <= squared(got.high, root=root)
    assert got.low <= got.value <= got.high


@pytest.mark.parametrize("function", MOMENTS)
@pytest.mark.parametrize("value", [-3, 2, 8])
@pytest.mark.parametrize("people", [0, 1, 2, 50])
def test_equal_values_one_row_and_none(function: Function, value: int, people: int) -> None:
    table = [{"x": F(value), "y": F(1, 2), "on": None, "word": None, "unit": n} for n in range(people)]
    for error in (-30, -1, 0, 1, 30):
        for more in (0, 5):
            check(function, table, [(error, more)] * 6)


@pytest.mark.parametrize("function", MOMENTS)
def test_without_noise_the_interval_is_the_value_and_with_much_it_is_the_range(function: Function) -> None:
    table = [{"x": F(x), "y": F(y, 2)} for x, y in ((-3, 1), (8, 6), (0, 2), (1, 2))]
    numbers = [exact(m, table) for m in measures(function)]
    sharp = estimate(function, numbers, [0] * len(numbers))
    assert sharp.low is not None
    assert sharp.high is not None
    assert sharp.high - sharp.low <= F(1, 10**8)
    if function not in ROOTS:
        assert sharp.low == sharp.high
    blurred = estimate(function, numbers, [10**6] * len(numbers))
    bottom, top = WHOLE.get(function, (0, F(121, 2)))
    if function in (Function.STDDEV_SAMP,):
        top = blurred.high or top
        assert top**2 >= F(121, 2) > (top - F(1, 10**6)) ** 2
    assert (blurred.low, blurred.high) == (bottom, top)
    assert blurred.value == sharp.value


@pytest.mark.parametrize("function", MOMENTS)
@pytest.mark.parametrize("count", [-5, 0, 1, 2])
def test_negative_counts_and_wild_sums_stay_in_the_range(function: Function, count: int) -> None:
    for wild in (-(10**9), -1, 0, 10**9):
        numbers = [wild] * (len(measures(function)) - 1) + [count]
        got = estimate(function, numbers, [3] * len(numbers))
        bottom, top = WHOLE.get(function, (0, 8))
        assert bottom <= got.value <= top
        assert (got.low or 0) <= got.value <= (got.high or 0)


def test_a_deviation_is_the_root_of_the_variance() -> None:
    for deviation, variance in (
        (Function.STDDEV_POP, Function.VAR_POP),
        (Function.STDDEV_SAMP, Function.VAR_SAMP),
    ):
        for numbers in ([10, 500, 40], [10, -500, 40], [-700, 100, 41], [0, 0, 3], [5, 10**6, 2]):
            root, square = (estimate(function, numbers, [2, 9, 3]) for function in (deviation, variance))
            for a, b in ((root.low, square.low), (root.value, square.value), (root.high, square.high)):
                assert a is not None
                assert b is not None
                assert abs(a**2 - b) <= F(1, 10**7)


def test_roots_enclose_and_are_exact_where_they_can_be() -> None:
    for square in (F(0), F(9, 4), F(2), F(1, 3), F(1, 10**60), F(10**40 + 1), F(7, 10**31)):
        root = _root(MomentSpan(square, square))
        assert root.low**2 <= square <= root.high**2
        assert root.high <= root.low * (1 + F(1, 10**8))
        assert root.low >= 0
    assert _root(MomentSpan(F(9, 4), F(25, 16))) == MomentSpan(F(3, 2), F(5, 4))
    assert _root(MomentSpan(F(0), F(0))) == MomentSpan(F(0), F(0))


THREE = st.tuples(*[st.integers(-9, 9)] * 3).map(sorted)


@settings(max_examples=100)
@given(THREE, THREE)
def test_spans_hold_every_result(first: list[int], second: list[int]) -> None:
    (a, x, b), (c, y, d) = first, second
    left, right = MomentSpan(F(a), F(b)), MomentSpan(F(c), F(d))
    results = [(left + right, x + y), (left - right, x - y), (left * right, x * y), (left.square(), x * x)]
    if right.low > 0:
        results.append((left / right, F(x, y)))
    for span, result in results:
        assert span.low <= result <= span.high
    assert left.square().low >= 0
    assert left.within(F(0), F(3)) == MomentSpan(F(max(0, min(3, left.low))), F(max(0, min(3, left.high))))


@settings(max_examples=100)
@given(rows(), st.integers(-9, 9), st.integers(-9, 9), st.integers(0, 4))
def test_a_sum_from_a_centered_one_has_its_count_in_the_interval(table: list[Row], a: int, b: int, more: int) -> None:
    total = aggregate(Function.SUM, X, name="s")
    found, recipes = measures_of(plan(aggregate(Function.COUNT, None, name="n"), total), SHAPES, Wish(centered=True))
    centered, count = (found[number] for number in recipes[1].measures)
    assert centered.center
    got = _total(
        [
            Noisy(measure=centered, number=exact(centered, table) + a, width=abs(a) + more),
            Noisy(measure=count, number=exact(count, table) + b, width=abs(b) + more),
        ]
    )
    truth = statistic(total, table)
    assert truth is not None
    assert got.low is not None
    assert got.high is not None
    assert got.low <= truth <= got.high
    assert got.value - truth == a + b * centered.center


@settings(max_examples=100)
@given(st.integers(1, 50), st.integers(-300, 300))
def test_an_average_is_the_sum_over_the_count(count: int, total: int) -> None:
    """Where all three are asked together and the average is not clamped, the published numbers agree."""
    made = [
        aggregate(Function.SUM, X, name="s"),
        aggregate(Function.AVG, X, name="a"),
        aggregate(Function.COUNT, X, name="n"),
    ]
    asked = without_pairs(outline(plan(*made), KINDS, BOUNDS))
    assert len(asked.parts) == 2
    assert {str(part.measure.role) for part in asked.parts} == {"sum", "count"}
    noisy = [[count if part.measure.role == "count" else total] for part in asked.parts]
    (line,) = lines(asked, noisy, F(95, 100))
    s, a, n = (line[name] for name in "san")
    assert isinstance(s, Estimate)
    assert isinstance(a, Estimate)
    assert isinstance(n, Estimate)
    assert a.value == min(max(s.value / n.value, F(-3)), F(8))
    assert a.shown == (None if (a.low, a.high) == (-3, 8) else a.value)


def test_what_may_be_any_value_of_its_range_is_unknown_however_surely_it_is_asked() -> None:
    """HAVING and ORDER BY see no value, so the rows that are shown do not depend on how wide the intervals are."""
    for function in (Function.AVG, Function.STDDEV_SAMP, Function.COVAR_POP):
        asked = without_pairs(outline(plan(one(function)), KINDS, BOUNDS))
        (name,) = asked.plan.outputs
        for people, known in ((0, False), (10**7, True)):
            noisy = [[people] for part in asked.parts]
            shares = [F(1, 100), F(95, 100), 1 - F(1, 10**12)]
            found = [lines(asked, noisy, share)[0][name] for share in shares]
            assert [isinstance(item, Estimate) and item.known for item in found] == [known] * 3
            assert [plain(item) is not None for item in found] == [known] * 3


def test_a_constant_has_no_variance() -> None:
    constant = aggregate(Function.VAR_POP, Literal(F(7, 2)))
    found, (recipe,) = measures_of(plan(constant), SHAPES)
    noisy = [Noisy(measure=found[number], number=5, width=3) for number in recipe.measures]
    assert moment(Function.VAR_POP, noisy) == Estimate(value=F(0), low=F(0), high=F(0))

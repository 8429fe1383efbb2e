"""Functions of one row: their meaning, their ranges, their spellings, and that the engine computes what is defined."""

from __future__ import annotations

import datetime as dt
import itertools
import re
from collections.abc import Iterator, Sequence
from fractions import Fraction as F
from random import Random
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import nasty
from support.refusals import expect_code, raises_code
from support.sql_writer import TABLES, UNITS, sql_of

from privet.backends import textsql, whole
from privet.backends.reference import Reference
from privet.backends.translate import SqlTerm, Translator
from privet.catalog.vault_file import Source, Table
from privet.core import calendar, lettering, shifting, texts
from privet.core.cells import cells_of
from privet.core.evaluate import evaluate
from privet.core.expression import (
    And,
    Column,
    Compare,
    Concat,
    Expression,
    Extracted,
    Field,
    Length,
    Letters,
    Like,
    Literal,
    Local,
    Modulo,
    Not,
    Or,
    Period,
    Piece,
    Power,
    Recased,
    Relation,
    Replaced,
    Rounded,
    Rounding,
    Shifted,
    Side,
    Sliced,
    Trimmed,
    Truncated,
    Value,
    Written,
    columns_in,
)  # fmt: skip
from privet.core.narrow import narrowed
from privet.core.plan import Aggregate, Function, Key, Plan, fingerprint
from privet.core.ranges import shape_of
from privet.core.schema import Category, Date, Integer, Kind, Number, Text, Timestamp
from privet.core.shape import Form, Shape, shape_of_kind
from privet.errors import RefusedQueryError
from privet.records.conditions import columns_of
from privet.report.explain.plan_words import words_of
from privet.sql import plan_of
from privet.sql.spans import rules_of

X = Column("x")
HOUR = 3_600_000_000
TEXT = {"x": shape_of_kind(Text())}
SOME = "abAB %_\\-é\u0301ßΣςİıŉ👩\0\n'👩‍👩‍👧Ⓐა"


@pytest.fixture(scope="module")
def store() -> Iterator[nasty.Store]:
    made = nasty.Store()
    yield made
    made.close()


def computed(store: nasty.Store, expression: Expression, kind: Kind, given_values: Sequence[Value]) -> list[Any]:
    """What the engine says of each value of column x, whole steps as they are."""
    shape = shape_of_kind(kind)
    types = {Form.WORD: "VARCHAR", Form.TRUTH: "BOOLEAN"}
    term = Translator({"x": SqlTerm(sql="x", shape=shape)}).term(expression)
    type_ = types.get(shape.form, "BIGINT")
    plain = [_steps(value, shape) for value in given_values]
    sql = f"SELECT {term.sql} FROM (SELECT unnest(CAST($1 AS {type_}[])) AS x)"
    return [found for (found,) in store.connection.execute(sql, [plain]).fetchall()]


def _steps(value: Value, shape: Shape) -> Any:
    match value:
        case F():
            return int(value / shape.step)
        case dt.datetime():
            return calendar.microseconds(value)
        case dt.date():
            return calendar.days(value)
    return value


def defined(expression: Expression, kind: Kind, given_values: Sequence[Value]) -> list[Any]:
    shape = shape_of(expression, {"x": shape_of_kind(kind)})
    found = [evaluate(expression, {"x": value}) for value in given_values]
    assert all(nasty.fits(value, shape) for value in found)
    return [_steps(value, shape) for value in found]


def agree(store: nasty.Store, expression: Expression, kind: Kind, given_values: Sequence[Value]) -> bool:
    return computed(store, expression, kind, given_values) == defined(expression, kind, given_values)


# Texts

FUNCTIONS: list[Expression] = [
    *(Recased(letters, X) for letters in Letters), *(Trimmed(side, X) for side in Side), Length(X), Sliced(X, 0, 2),
    Sliced(X, 1, None), Sliced(X, 2, 4), Sliced(X, 3, 1), Sliced(X, -2, None), Sliced(X, 0, -1), Sliced(X, 1, -2),
    Sliced(X, -3, -1), Sliced(X, 0, None), Concat((X, Literal("'\0é"), X)), Concat((X,)), Replaced(X, "a", "bb"),
    Replaced(X, "aa", ""), Replaced(X, "\0", "é"), Piece(X, "-", 1), Piece(X, "--", 2), Piece(X, "a", 3),
    Recased(Letters.UPPER, Trimmed(Side.BOTH, Recased(Letters.LOWER, X))), *(Like(X, one) for one in nasty.PATTERNS),
]  # fmt: skip
LISTED: list[Value] = [None, *nasty.WORDS, "  ", "a" * 70_000, *(a + b for a, b in itertools.product(SOME, SOME))]


@pytest.mark.parametrize("function", FUNCTIONS, ids=repr)
def test_texts_agree(store: nasty.Store, function: Expression) -> None:
    assert agree(store, function, Text(), LISTED)


@settings(max_examples=150)
@given(text=st.text(), drawn=st.sampled_from(FUNCTIONS))
def test_any_text_agrees(store: nasty.Store, text: str, drawn: Expression) -> None:
    assert agree(store, drawn, Text(), [texts.held(text)])


def characters() -> list[Value]:
    """All that have upper and lower case, all of the first alphabets, and some of all others."""
    everything = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]
    cased = [one for one in everything if one.upper() != one or one.lower() != one]
    return list(dict.fromkeys([*everything[:0x3000:3], *cased, *everything[::499]]))


@pytest.mark.parametrize("letters", list(Letters))
def test_every_character_changes_as_defined(store: nasty.Store, letters: Letters) -> None:
    assert agree(store, Recased(letters, X), Text(), characters())


@pytest.mark.parametrize("letters", list(Letters))
def test_what_the_engine_is_asked_about_it_knows_as_we_do(store: nasty.Store, letters: Letters) -> None:
    """All characters of the fast way, and together: case depends on no neighbor."""
    known = [chr(code) for part in (*texts.ALPHABETS, *texts.CASELESS) for code in part]
    together = ["".join(known[i : i + 500]) for i in range(0, len(known), 500)]
    assert all(re.fullmatch(f"[{_python_class()}]*", text) for text in together)
    assert agree(store, Recased(letters, X), Text(), together)


def _python_class() -> str:
    parts = (*texts.ALPHABETS, *texts.CASELESS)
    return "".join(f"{re.escape(chr(part.start))}-{re.escape(chr(part.stop - 1))}" for part in parts)


def test_an_engine_that_is_trusted_with_all_letters_is_noticed(
    store: nasty.Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(textsql, "_known", lambda: "\\x{0}-\\x{10ffff}")
    assert not agree(store, Recased(Letters.UPPER, X), Text(), characters())


def test_letters_by_hand() -> None:
    def upper(text: str) -> Value:
        return evaluate(Recased(Letters.UPPER, Literal(text)), {})

    def lower(text: str) -> Value:
        return evaluate(Recased(Letters.LOWER, Literal(text)), {})

    assert [upper("straße"), upper("ÿµŉ"), upper("ωѣև"), upper("ა"), upper("ı")] == ["STRAẞE", "ŸΜŉ", "ΩѢև", "ა", "I"]
    assert [lower("ΣΑΣ"), lower("İI"), lower("Ⓐ"), lower("ẞ")] == ["σασ", "ii", "Ⓐ", "ß"]
    assert upper("\ud800a") == "\U0010ffffD800A"  # half a pair is in no data


def test_texts_by_hand() -> None:
    def of(node: Expression) -> Value:
        return evaluate(node, {"x": "  a-b--c "})

    assert of(Trimmed(Side.BOTH, X)) == "a-b--c"
    assert of(Trimmed(Side.START, X)) == "a-b--c "
    assert of(Trimmed(Side.END, X)) == "  a-b--c"
    assert of(Length(X)) == 9
    assert [of(Piece(X, "-", place)) for place in (1, 2, 3, 4, 5)] == ["  a", "b", "", "c ", ""]
    assert of(Replaced(X, "-", "+")) == "  a+b++c "
    assert of(Concat((X, Literal(None)))) is None
    assert evaluate(Length(X), {"x": "x" * 70_000}) == texts.LONGEST


MARKS = st.text(alphabet="ab%_\\\n", max_size=7)


def oracle(pattern: str, text: str) -> bool:
    """The pattern as a regular expression of Python."""
    marks = re.findall(r"\\.|.", pattern, re.DOTALL)
    parts = [{"%": ".*", "_": "."}.get(mark, re.escape(mark[-1])) for mark in marks]
    return re.fullmatch("".join(parts), text, re.DOTALL) is not None


@settings(max_examples=300)
@given(pattern=MARKS, text=st.text(alphabet="ab%_\\\n", max_size=8))
def test_patterns_against_another_definition(store: nasty.Store, pattern: str, text: str) -> None:
    expected = oracle(pattern, text)
    assert evaluate(Like(X, pattern), {"x": text}) is expected
    assert computed(store, Like(X, pattern), Text(), [text]) == [expected]
    if not re.search(r"(?<!\\)(\\\\)*\\$", pattern):  # DuckDB refuses a lone backslash at the end
        found = store.connection.execute("SELECT ? LIKE ? ESCAPE '\\'", [text, pattern]).fetchall()
        assert found == [(expected,)]


def test_stretches_of_a_pattern_do_not_overlap() -> None:
    assert evaluate(Like(X, "ab%ba"), {"x": "aba"}) is False
    assert evaluate(Like(X, "%ab%ba"), {"x": "aba"}) is False
    assert evaluate(Like(X, "a%b%c"), {"x": "acb"}) is False
    assert evaluate(Like(X, "%a%b%"), {"x": "xaxbx"}) is True


# Known texts

WARDS = Category(["a1", "a2", "B1", "ß"])
KNOWN = {"w": shape_of_kind(WARDS), "v": shape_of_kind(Category(["-", ""]))}
W, V = Column("w"), Column("v")


@pytest.mark.parametrize(
    ("function", "values"),
    [
        (Recased(Letters.UPPER, W), ("A1", "A2", "B1", "ẞ")),
        (Sliced(W, 0, 1), ("a", "B", "ß")),
        (Concat((W, V)), ("a1-", "a1", "a2-", "a2", "B1-", "B1", "ß-", "ß")),
        (Replaced(W, "1", "2"), ("a2", "B2", "ß")),
        (Piece(W, "1", 2), ("",)),
        (Trimmed(Side.END, V), ("-", "")),
    ],
    ids=repr,
)
def test_known_texts_stay_known(function: Expression, values: tuple[str, ...]) -> None:
    shape = shape_of(function, KNOWN)
    assert (shape.form, shape.values, shape.null) == (Form.WORD, values, True)
    rows = itertools.product([*WARDS.values, None], ["-", "", None])
    found = {evaluate(function, {"w": w, "v": v}) for w, v in rows}
    assert found == {*values, None}  # all of them occur


def test_lengths_of_known_texts_are_attained() -> None:
    shape = shape_of(Length(W), KNOWN)
    assert (shape.low, shape.high) == (1, 2)
    assert (shape_of(Length(X), TEXT).low, shape_of(Length(X), TEXT).high) == (0, texts.LONGEST)


def test_unknown_texts_stay_unknown() -> None:
    for function in (Recased(Letters.UPPER, X), Concat((X, Literal("a"))), Sliced(X, 0, 1)):
        assert shape_of(function, TEXT).values is None


def test_too_many_texts_are_taken_as_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shape_of(Concat((W, W)), KNOWN).values is not None
    monkeypatch.setattr(lettering, "MOST_VALUES", 15)
    assert shape_of(Concat((W, W)), KNOWN).values is None
    assert (
        shape_of(Written(Period.DAY, Column("d")), {"d": shape_of_kind(Date("2020-01-01", "2020-01-16"))}).values
        is None
    )
    monkeypatch.setattr(lettering, "MOST_VALUES", 16)
    monkeypatch.setattr(lettering, "MOST_CHARACTERS", 10)
    assert shape_of(Concat((W, W)), KNOWN).values is None


def test_nothing_makes_nothing() -> None:
    null = Literal(None)
    for function in (
        Recased(Letters.UPPER, null),
        Concat((X, null)),
        Length(null),
        Like(null, "a"),
        Sliced(null, 0, 1),
    ):
        assert shape_of(function, TEXT).form is Form.NOTHING
        assert evaluate(function, {"x": "a"}) is None
    for moved in (
        Shifted(null, 1, 1),
        Local(null, "z", 0, ()),
        Written(Period.DAY, null),
        Modulo(null, F(3)),
        Power(null, 2),
    ):
        assert shape_of(moved, {}).form is Form.NOTHING
        assert evaluate(moved, {}) is None


def test_conditions_on_known_texts_narrow_them() -> None:
    def kept(where: Expression) -> tuple[tuple[str, ...] | None, bool]:
        shape = narrowed(KNOWN, where)["w"]
        return shape.values, shape.null

    assert kept(Like(W, "a%")) == (("a1", "a2"), False)
    assert kept(Not(Like(W, "a%"))) == (("B1", "ß"), False)
    first = Compare(Relation.EQUAL, Sliced(W, 0, 1), Literal("a"))
    assert kept(first) == (("a1", "a2"), False)
    assert kept(And((first, Like(W, "%2")))) == (("a2",), False)
    missing = Or((Like(W, "B%"), Compare(Relation.EQUAL, Length(Concat((W,))), Literal(F(9)))))
    assert kept(missing) == (("B1",), False)
    everything = (WARDS.values, True)
    assert kept(Like(W, "z%")) == everything  # no row passes: any shape is true
    assert kept(Like(Concat((W, V)), "a%")) == everything  # two columns
    assert narrowed(TEXT, Like(X, "a%"))["x"].values is None


def test_groups_over_known_texts_are_public(store: nasty.Store) -> None:
    table = Table(name="t", source=Source(kind="memory"), unit=None, columns={"w": WARDS, "x": Text()})
    rows = [{"w": w, "x": x} for w, x in itertools.product([*WARDS.values, None, "z"], ["Aa", "b", None])]
    raw = store.put(nasty.Made(table=table, types={"w": "VARCHAR", "x": "VARCHAR"}, rows=rows))
    aggregate = Aggregate(name="n", function=Function.COUNT, value=None)
    for key in (Recased(Letters.UPPER, Sliced(W, 0, 1)), Concat((W, Literal("-"), W)), Length(W), Like(W, "a%")):
        plan = Plan(
            table="t", where=Like(Recased(Letters.LOWER, X), "a_"), keys=(Key(name="k", value=key),),
            aggregates=(aggregate,), outputs=("k", "n"),
        )  # fmt: skip
        task = nasty.task_of(plan, table)
        assert not cells_of(plan, task.passing).private
        found = store.exact(task, raw)
        assert found == Reference({"t": rows}).exact(task)
        assert sum(map(sum, found)) == 6


# What texts may cost


def test_texts_do_not_grow_without_limit() -> None:
    long = Replaced(X, "a", "a" * 100)
    assert shape_of(long, TEXT).growth == 100
    for function in (Replaced(long, "a", "aa"), Concat((long, X)), Replaced(X, "a", "a" * 101)):
        with raises_code(RefusedQueryError, "too-long: 100"):
            shape_of(function, TEXT)
    assert shape_of(Replaced(X, "ab", "cd"), TEXT).growth == 1


REFUSED: list[tuple[Expression, str | None]] = [
    (Replaced(X, "", "a"), "empty"), (Piece(X, "", 1), "empty"), (Piece(X, "-", 0), "out-of-range: counted … from 1"),
    (Piece(X, "-", 10**9), "out-of-range: counted … from 1"), (Sliced(X, -2, 1), "out-of-range: place"),
    (Sliced(X, 0, 10**9), "out-of-range: place"),
    (Concat(()), "too-few"), (Like(X, "a" * 1001), "too-long: pattern"),
    (Replaced(X, "a" * 1001, ""), "too-long: text"),
    (Recased(Letters.UPPER, Literal(F(1))), "type-mismatch: number"),
    (Written(Period.HOUR, Literal(dt.date(2020, 1, 1))), "not-supported: written"),
    (Modulo(Literal(F(1)), F(0)), "not-positive: divisor"), (Power(Literal(F(1)), 11), "out-of-range: exponent"),
    (Power(Literal(F(1)), 0), "out-of-range: exponent"), (Power(Literal(F(10) ** 9), 10), None),
    (Shifted(Literal(dt.date(2020, 1, 1)), 0, 0, 1), "type-mismatch: less"),
    (Shifted(Literal(dt.date(2020, 1, 1)), 120_001, 0), "too-large: 10,000"),
    (Local(Literal(dt.date(2020, 1, 1)), "z", 0, ()), "type-mismatch: date is used"),
    (Local(Literal(dt.datetime(2020, 1, 1)), "z", 0, ((2, 0), (1, 0))), "too-many: order"),
]  # fmt: skip


@pytest.mark.parametrize(("expression", "problem"), REFUSED, ids=repr)
def test_refused(expression: Expression, problem: str | None) -> None:
    if problem is None:
        assert shape_of(expression, TEXT).step == F(10) ** 90  # a constant changes the step, not the count of steps
        return
    with raises_code(RefusedQueryError, problem):
        shape_of(expression, TEXT)


def test_nesting_that_would_double_the_sql_is_refused() -> None:
    value: Expression = X
    for _ in range(5):
        value = Trimmed(Side.BOTH, Recased(Letters.UPPER, value))
    with raises_code(RefusedQueryError, "too-deep"):
        Translator({"x": SqlTerm(sql="x", shape=TEXT["x"])}).term(value)
    with raises_code(RefusedQueryError, "too-fine: digits"):
        whole.shifted_by_part(whole.Whole(sql="x" * 1000, low=0, high=89), [(i, i, i) for i in range(90)], 0, 999)


# Numbers

NUMBERS = [Integer(-7, 12), Integer(3, 5), Integer(-9, -4), Integer(20, 22), Number(-2, 3, step="0.5"), Integer(0, 0)]
BY_NUMBER: list[Expression] = [
    *(Modulo(X, divisor) for divisor in (F(1), F(3), F(10), F(7, 2), F(1, 3), F(100))),
    *(Power(X, exponent) for exponent in (1, 2, 3, 4, 10)),
    *(Rounded(Rounding.INWARD, X, step) for step in (F(1), F(3), F(7, 2), F(1, 3))),
]  # fmt: skip


@pytest.mark.parametrize("kind", NUMBERS, ids=str)
@pytest.mark.parametrize("function", BY_NUMBER, ids=repr)
def test_numbers_agree_and_attain_their_ranges(store: nasty.Store, function: Expression, kind: Kind) -> None:
    declared = shape_of_kind(kind)
    all_values = [steps * declared.step for steps in range(declared.low, declared.high + 1)]
    assert agree(store, function, kind, [*all_values, None])
    shape = shape_of(function, {"x": declared})
    found = [evaluate(function, {"x": value}) / shape.step for value in all_values]  # type: ignore[operator]
    ends = (min(found), max(found))
    if not isinstance(function, Modulo):
        assert ends == (shape.low, shape.high)
    elif declared.low // 1 <= 0 <= declared.high:
        assert shape.low <= ends[0] <= ends[1] <= shape.high


@pytest.mark.parametrize(
    ("low", "high", "divisor", "ends"),
    [
        (0, 100, F(10), (0, 9)), (0, 4, F(10), (0, 4)), (23, 27, F(10), (3, 7)), (18, 22, F(10), (0, 9)),
        (-100, -1, F(10), (-9, 0)), (-4, 3, F(10), (-4, 3)), (-100, 3, F(10), (-9, 3)),
    ],
)  # fmt: skip
def test_ranges_of_remainders(low: int, high: int, divisor: F, ends: tuple[int, int]) -> None:
    shape = shape_of(Modulo(X, divisor), {"x": shape_of_kind(Integer(low, high))})
    assert (shape.low, shape.high) == ends


def test_wide_numbers_are_cut_towards_zero(store: nasty.Store) -> None:
    kind = Integer(-(2**70), 2**70)
    term = Translator({"x": SqlTerm(sql="x", shape=shape_of_kind(kind), wide=True)}).term
    for value in (-(2**70), -8, -7, -1, 0, 1, 6, 7, 2**70):
        for function in (Rounded(Rounding.INWARD, X, F(7)), Modulo(X, F(7)), Modulo(X, F(2**65))):
            sql = f"SELECT {term(function).sql} FROM (SELECT CAST({value} AS HUGEINT) AS x)"
            meant = evaluate(function, {"x": F(value)})
            assert store.connection.execute(sql).fetchall() == [
                (_steps(meant, shape_of(function, {"x": shape_of_kind(kind)})),)
            ]


# Dates

DAYS = [dt.date.fromisoformat(day) for day in nasty.DAYS]
DAYS += [dt.date(2020, 1, 1) + dt.timedelta(days=n) for n in range(-40, 120)]
TIMES = [dt.datetime.fromisoformat(time) for time in nasty.TIMES]
TIMES += [calendar.midnight(day) + dt.timedelta(seconds=86_399 * n % 86_400) for n, day in enumerate(DAYS)]
ALL_DAYS, ALL_TIMES = Date(dt.date.min, dt.date.max), Timestamp(dt.datetime.min, dt.datetime.max)
SHIFTS = [
    (0, 1, 0), (0, -40, 0), (1, 0, 0), (-1, 0, 0), (12, 0, 0), (13, -1, 0), (1, -1, 0), (120_000, 0, 0),
    (-120_000, 5, 0), (0, 0, HOUR), (0, 0, -1), (1, 1, 5 * HOUR), (120_000, 0, -HOUR), (0, 0, 0),
]  # fmt: skip


@pytest.mark.parametrize("shift", SHIFTS)
def test_moved_dates_agree(store: nasty.Store, shift: tuple[int, int, int]) -> None:
    if not shift[2]:
        assert agree(store, Shifted(X, *shift), ALL_DAYS, [*DAYS, None])
        assert agree(store, Shifted(X, *shift), Date("2019-11-22", "2020-04-29"), DAYS[12:])
    assert agree(store, Shifted(X, *shift), ALL_TIMES, [*TIMES, None])
    inside = [time for time in TIMES if time.year in (2019, 2020)]
    assert agree(store, Shifted(X, *shift), Timestamp("2019-01-01", "2021-01-01"), inside)


def test_moved_dates_are_the_engines_own(store: nasty.Store) -> None:
    """Away from the ends of the calendar it is what DuckDB, PostgreSQL and the others give."""
    for months, days in itertools.product((-25, -1, 0, 1, 11, 12), (-31, 0, 3)):
        for day in DAYS[12:]:
            sql = f"SELECT CAST(DATE '{day}' + INTERVAL '{months} months' + INTERVAL '{days} days' AS DATE)"
            assert [(evaluate(Shifted(Literal(day), months, days), {}),)] == store.connection.execute(sql).fetchall()


@pytest.mark.parametrize("shift", SHIFTS)
def test_ranges_of_moved_days_are_attained(shift: tuple[int, int, int]) -> None:
    for low, high in itertools.product((DAYS[0], dt.date(2020, 1, 30)), (dt.date(2020, 2, 1), DAYS[1])):
        if not shift[2]:
            shape = shape_of(Shifted(X, *shift), {"x": shape_of_kind(Date(low, high))})
            ends = [evaluate(Shifted(X, *shift), {"x": day}) for day in (low, high)]
            assert [calendar.day_at(shape.low), calendar.day_at(shape.high)] == ends


def test_later_times_may_be_moved_to_before_earlier_ones() -> None:
    """January 31 at 1:00 and January 30 at 23:00 both move to February 29: the ends do not give the range."""
    kind = Timestamp("2020-01-30T23:00", "2020-01-31T01:00")
    shape = shape_of(Shifted(X, 1, 0), {"x": shape_of_kind(kind)})
    for time in (kind.low, kind.high, dt.datetime(2020, 1, 31)):
        assert nasty.fits(evaluate(Shifted(X, 1, 0), {"x": time}), shape)
    assert evaluate(Shifted(X, 1, 0), {"x": kind.low}) > evaluate(Shifted(X, 1, 0), {"x": kind.high})  # type: ignore[operator]


PERIODS: list[tuple[Period, tuple[int, int, int], bool]] = [
    (Period.MONTH, (1, 0, 0), True), (Period.MONTH, (0, 1, 0), False), (Period.QUARTER, (1, 0, 0), False),
    (Period.QUARTER, (3, 0, 0), True), (Period.YEAR, (12, 0, 0), True), (Period.YEAR, (0, 0, 1), False),
    (Period.WEEK, (0, 14, 0), True), (Period.WEEK, (0, 1, 0), False), (Period.WEEK, (1, 0, 0), False),
    (Period.DAY, (1, 3, 0), True), (Period.DAY, (0, 0, HOUR), False), (Period.HOUR, (1, 3, 2 * HOUR), True),
    (Period.HOUR, (0, 0, 1), False),
]  # fmt: skip


@pytest.mark.parametrize(("period", "shift", "kept"), PERIODS)
def test_starts_of_periods_stay_such_if_moved_by_whole_ones(
    period: Period, shift: tuple[int, int, int], kept: bool
) -> None:
    columns = {"x": shape_of_kind(Timestamp("2019-12-30", "2020-03-05"))}
    value = Shifted(Truncated(period, X), *shift)
    shape = shape_of(value, columns)
    assert shape.period == (period if kept else None)
    if kept:
        plan = Plan(table="t", keys=(Key(name="k", value=value),), aggregates=(), outputs=())
        listed = set(cells_of(plan, columns).domains[0])
        hours = [dt.datetime(2019, 12, 30) + dt.timedelta(hours=n) for n in range(24 * 66)]
        assert {evaluate(value, {"x": time}) for time in hours} <= listed
    late = shape_of(
        Shifted(Truncated(period, X), 120_000, 0), {"x": shape_of_kind(Timestamp("2020-01-01", "2020-03-05"))}
    )
    assert late.period is None  # cut off at the end of the calendar


def test_last_days_of_months() -> None:
    for day in (*DAYS, dt.date(9999, 12, 5)):
        last = evaluate(Shifted(Truncated(Period.MONTH, Literal(day)), 1, -1), {})
        assert isinstance(last, dt.date)
        assert (last.year, last.month) == (day.year, day.month)
        assert last == dt.date.max or (last + dt.timedelta(days=1)).day == 1


@pytest.mark.parametrize("period", [Period.YEAR, Period.MONTH, Period.DAY])
def test_written_dates_agree(store: nasty.Store, period: Period) -> None:
    assert agree(store, Written(period, X), ALL_DAYS, [*DAYS, None])
    assert agree(store, Written(period, X), ALL_TIMES, [*TIMES, None])
    shape = shape_of(Written(period, X), {"x": shape_of_kind(Date("2020-01-30", "2020-03-02"))})
    days = [dt.date(2020, 1, 30) + dt.timedelta(days=n) for n in range(33)]
    assert list(shape.values or ()) == list(dict.fromkeys(day.isoformat()[: calendar.WRITTEN[period]] for day in days))


@pytest.mark.parametrize("field", calendar.GROWING)
def test_ranges_of_years_and_months_are_attained(store: nasty.Store, field: Field) -> None:
    kind = Date("2019-12-30", "2021-01-03")
    shape = shape_of(Extracted(field, X), {"x": shape_of_kind(kind)})
    days = [kind.low + dt.timedelta(days=n) for n in range(371)]
    assert days[-1] == kind.high
    found = {evaluate(Extracted(field, X), {"x": day}) for day in days}
    assert (min(found), max(found)) == (shape.low, shape.high)  # type: ignore[type-var]
    assert agree(store, Extracted(field, X), kind, days)
    assert agree(store, Extracted(field, X), ALL_DAYS, DAYS)
    assert agree(store, Extracted(field, X), ALL_TIMES, TIMES)


# Time zones

ZONES = [
    "Europe/Berlin", "America/New_York", "Asia/Kathmandu", "Australia/Lord_Howe", "Africa/Casablanca",
    "Africa/Freetown", "Pacific/Apia", "UTC", "Etc/GMT+12", "Europe/Dublin",
]  # fmt: skip


@pytest.mark.parametrize("zone", ZONES)
def test_zones_are_those_of_the_system(store: nasty.Store, zone: str) -> None:
    first, changes = rules_of(zone)
    there = Local(X, zone, first, changes)
    rng = Random(zone)
    near = [place + offset for place, _ in changes for offset in (-1, 0, 1, -HOUR, HOUR)]
    span = (calendar.microseconds(dt.datetime(1900, 1, 1)), calendar.microseconds(dt.datetime(2099, 12, 31)))
    moments = [calendar.time_at(moment) for moment in [*near, *(rng.randint(*span) for _ in range(500))]]
    for time in moments:
        aware = time.replace(tzinfo=dt.UTC).astimezone(ZoneInfo(zone))
        assert evaluate(there, {"x": time}) == aware.replace(tzinfo=None)
    assert agree(store, there, ALL_TIMES, [*moments, *TIMES, None])
    assert len(changes) < shifting.MOST_CHANGES


def test_ranges_of_local_times_are_attained() -> None:
    """Clocks go back at the end of the range: the latest reading is not that of the latest moment."""
    berlin = Local(X, "Europe/Berlin", *rules_of("Europe/Berlin"))
    for low, high in (("2020-10-24T23:00", "2020-10-25T01:30"), ("2020-03-29T00:30", "2020-03-29T01:30")):
        kind = Timestamp(low, high)
        shape = shape_of(berlin, {"x": shape_of_kind(kind)})
        seconds = int((kind.high - kind.low).total_seconds())
        times = [kind.low + dt.timedelta(seconds=n) for n in range(seconds + 1)]
        times += [time - calendar.MICROSECOND for time in times[1:]]
        found = [calendar.microseconds(evaluate(berlin, {"x": time})) for time in times]  # type: ignore[arg-type]
        assert (min(found), max(found)) == (shape.low, shape.high)


def test_no_zone_has_changes_that_are_close() -> None:
    """The rules are found by looking every two days."""
    for zone in ZONES:
        places = [place for place, _ in rules_of(zone)[1]]
        assert all(b - a > 3 * calendar.DAY for a, b in itertools.pairwise(places))


# Spellings

SPELLED = """
UPPER(city) => UPPER(city)
ucase(city) => UPPER(city)
LOWER(UPPER(city)) => LOWER(city)
LCASE(TRIM(city)) => LOWER(TRIM(city))
LTRIM(city) => LTRIM(city)
RTRIM(city) => RTRIM(city)
BTRIM(city) => TRIM(city)
BTRIM(city, ' ') => TRIM(city)
TRIM(BOTH ' ' FROM city) => TRIM(city)
TRIM(LEADING FROM city) => LTRIM(city)
TRIM(TRAILING ' ' FROM city) => RTRIM(city)
TRIM(city, ' ') => TRIM(city)
LENGTH(city) => LENGTH(city)
CHAR_LENGTH(city) => LENGTH(city)
CHARACTER_LENGTH(city) => LENGTH(city)
LEN(city) => LENGTH(city)
SUBSTR(city, 2, 3) => SUBSTRING(city, 2, 3)
SUBSTRING(city FROM 2 FOR 3) => SUBSTRING(city, 2, 3)
SUBSTRING(city, 2) => SUBSTRING(city, 2)
SUBSTRING(city FOR 2) => LEFT(city, 2)
SUBSTRING(city, 2, 0) => SUBSTRING(city, 2, 0)
LEFT(city, 2) => LEFT(city, 2)
LEFT(city, -2) => LEFT(city, -2)
RIGHT(city, 2) => RIGHT(city, 2)
RIGHT(city, -2) => SUBSTRING(city, 3)
RIGHT(city, 0) => LEFT(city, 0)
CONCAT(city, '-', ward) => (COALESCE(city, '') || '-' || COALESCE(ward, ''))
city || '-' || ward => (city || '-' || ward)
REPLACE(city, 'it''s', 'b') => REPLACE(city, 'it''s', 'b')
SPLIT_PART(city, '-', 1) => SPLIT_PART(city, '-', 1)
city LIKE 'B%' => (city LIKE 'B%')
city NOT LIKE 'B%' => (NOT (city LIKE 'B%'))
city LIKE ('B' || '_') => (city LIKE 'B_')
city ILIKE 'b_S%' => (LOWER(city) LIKE 'b_s%')
city NOT ILIKE 'ß%' => (NOT (LOWER(city) LIKE 'ß%'))
city LIKE '10!%!!' ESCAPE '!' => (city LIKE '10\\%!')
city ILIKE 'A!_' ESCAPE '!' => (LOWER(city) LIKE 'a\\_')
city NOT LIKE '10\\%' ESCAPE '\\' => (NOT (city LIKE '10\\%'))
city LIKE 'a\\b' ESCAPE '' => (city LIKE 'a\\\\b')
STARTS_WITH(city, 'B') => (city LIKE 'B%')
STARTSWITH(city, '5%') => (city LIKE '5\\%%')
PREFIX(city, 'B') => (city LIKE 'B%')
city ^@ 'B' => (city LIKE 'B%')
ENDS_WITH(city, 'B') => (city LIKE '%B')
ENDSWITH(city, 'B') => (city LIKE '%B')
SUFFIX(city, 'B') => (city LIKE '%B')
CONTAINS(city, 'a_b') => (city LIKE '%a\\_b%')
ISOYEAR(day) => extract(isoyear from day)
EXTRACT(ISOYEAR FROM day) => extract(isoyear from day)
EXTRACT(ISOWEEK FROM day) => extract(week from day)
EXTRACT(DAYOFWEEK FROM day) => extract(dow from day)
YEAROFWEEK(day) => extract(isoyear from day)
DATE_PART('years', arrived) => extract(year from arrived)
DATEPART(month, arrived) => extract(month from arrived)
DAYOFWEEK(day) => extract(dow from day)
DAYOFWEEK_ISO(day) => extract(isodow from day)
TO_CHAR(day, 'YYYY-MM') => TO_CHAR(day, 'YYYY-MM')
STRFTIME(day, '%Y-%m') => TO_CHAR(day, 'YYYY-MM')
STRFTIME('%Y', arrived) => TO_CHAR(arrived, 'YYYY')
FORMAT_DATE('%Y-%m-%d', day) => TO_CHAR(day, 'YYYY-MM-DD')
DATE_FORMAT(day, 'yyyy-MM') => TO_CHAR(day, 'YYYY-MM')
DATE_DIFF('day', day, DATE '2024-01-01') => ('2024-01-01' - day)
DATEDIFF('month', day, DATE '2024-01-01') => (24288 - extract(monthcount from day))
DATEDIFF(years, day, arrived) => (extract(year from CAST(arrived AS DATE)) - extract(year from day))
DATEDIFF(DATE '2024-01-01', day) => ('2024-01-01' - day)
DATE_DIFF(arrived, date, MONTH) => (extract(monthcount from CAST(arrived AS DATE)) - extract(monthcount from date))
day + INTERVAL 3 DAY => (day + INTERVAL '3 days')
day + INTERVAL '3 days' => (day + INTERVAL '3 days')
arrived - INTERVAL '1' MONTH => (arrived + INTERVAL '-1 months')
INTERVAL 1 DAY + day => (day + INTERVAL '1 days')
day + INTERVAL '1 year -2 days' => (day + INTERVAL '12 months -2 days')
day + INTERVAL '1 hour' => (CAST(day AS TIMESTAMP) + INTERVAL '3600000000 microseconds')
day + INTERVAL '0 days' => (day + INTERVAL '0 days')
day + 3 => (day + INTERVAL '3 days')
day - 3 => (day + INTERVAL '-3 days')
DATE_ADD(day, INTERVAL 3 WEEK) => (day + INTERVAL '21 days')
DATE_ADD(day, 3) => (day + INTERVAL '3 days')
DATEADD(day, 3, day) => (day + INTERVAL '3 days')
DATEADD('quarter', -1, day) => (day + INTERVAL '-3 months')
DATE_SUB(day, INTERVAL 3 MONTH) => (day + INTERVAL '-3 months')
ADD_MONTHS(day, 2) => (day + INTERVAL '2 months')
LAST_DAY(day) => (date_trunc('month', day) + INTERVAL '1 months -1 days')
LAST_DAY(arrived, MONTH) => (date_trunc('month', CAST(arrived AS DATE)) + INTERVAL '1 months -1 days')
arrived AT TIME ZONE 'Europe/Berlin' => (arrived AT TIME ZONE 'Europe/Berlin')
TIMEZONE('Europe/Berlin', arrived) => (arrived AT TIME ZONE 'Europe/Berlin')
FROM_UTC_TIMESTAMP(arrived, 'Europe/Berlin') => (arrived AT TIME ZONE 'Europe/Berlin')
DATETIME(arrived, 'Europe/Berlin') => (arrived AT TIME ZONE 'Europe/Berlin')
DATETIME(day) => CAST(day AS TIMESTAMP)
HOUR(arrived AT TIME ZONE 'UTC') => extract(hour from (arrived AT TIME ZONE 'UTC'))
MOD(age, 3) => (age % 3)
age % -3 => (age % 3)
age // 10 => TRUNC((age * 0.1) to multiples of 1)
age DIV 10 => TRUNC((age * 0.1) to multiples of 1)
POWER(cost, 2) => POWER(cost, 2)
POW(age, 3) => POWER(age, 3)
age ** 2 => POWER(age, 2)
age ^ 2 => POWER(age, 2)
TRUNC(cost) => TRUNC(cost to multiples of 1)
TRUNCATE(cost, 1) => TRUNC(cost to multiples of 0.1)
SAFE_DIVIDE(cost, 4) => (cost * 0.25)
SAFE_DIVIDE(cost, age) => (cost / CASE WHEN (age = 0) THEN NULL ELSE age END)
cost / NULLIF(age, 0) => (cost / CASE WHEN (age = 0) THEN NULL ELSE age END)
cost / (age + 1) => (cost / (age + 1))
cost // (age + 1) => TRUNC((cost / (age + 1)) to multiples of 1)
ROUND(cost / (age + 1), 2) => ROUND((cost / (age + 1)) to multiples of 0.01)
SQRT(age) => SQRT(age)
CBRT(age) => CBRT(age)
POWER(age, 0.5) => SQRT(age)
POWER(age, 1.5) => SQRT(POWER(age, 3))
POWER(age, 0.25) => POWER(age, 1 / 4)
POWER(age + 1, -1) => (1 / (age + 1))
POWER(age + 1, -0.5) => SQRT((1 / (age + 1)))
POWER(age, 1.0 / 3) => CBRT(age)
LN(age + 1) => LN((age + 1))
LOG10(age + 1) => LOG(10, (age + 1))
LOG2(age + 1) => LOG(2, (age + 1))
LOG(7, age + 1) => LOG(7, (age + 1))
LOG(age + 1, 7) => LOG(7, (age + 1))
EXP(age / 10) => EXP((age * 0.1))
NVL2(age, 1, 2) => CASE WHEN (age IS NULL) THEN 2 ELSE 1 END
DECODE(ward, 'A', 1, NULL, 2, 3) => CASE WHEN (ward = 'A') THEN 1 WHEN (ward IS NULL) THEN 2 ELSE 3 END
DECODE(ward, 'A', 1) => CASE WHEN (ward = 'A') THEN 1 ELSE NULL END
DATE_TRUNC('month', day) => date_trunc('month', day)
DATE_TRUNC(day, MONTH) => date_trunc('month', day)
TIMESTAMP_TRUNC(arrived, HOUR) => date_trunc('hour', arrived)
"""
PAIRS = [tuple(line.split(" => ")) for line in SPELLED.strip().splitlines()]


def value_of(text: str) -> Expression:
    plan = plan_of(f"SELECT COUNT(DISTINCT {text}) FROM visits", TABLES, units=UNITS)
    assert plan.aggregates[0].value is not None
    return plan.aggregates[0].value


@pytest.mark.parametrize(("text", "meant"), PAIRS, ids=[text for text, _ in PAIRS])
def test_spellings(text: str, meant: str) -> None:
    value = value_of(text)
    assert words_of(value) == meant
    assert columns_of(value) == set(columns_in(value))


@pytest.mark.parametrize("text", [text for text, _ in PAIRS if text.isascii()])
def test_written_as_sql_it_is_read_the_same(text: str) -> None:
    plan = plan_of(f"SELECT COUNT(DISTINCT {text}) FROM visits", TABLES, units=UNITS)
    again = plan_of(sql_of(plan, UNITS["visits"]), TABLES, units=UNITS)
    assert fingerprint(again.aggregates) == fingerprint(plan.aggregates)


NOT_ANSWERED = """
age LIKE 'a' => type-mismatch: LIKE
city LIKE ward => constant-needed: LIKE … 'B%'
city LIKE 'a\\b' => invalid-pattern: backslash
city LIKE '!' ESCAPE '!' => invalid-pattern: character
city LIKE 'a' ESCAPE '!!' => invalid-mark: ESCAPE
city ~ 'a' => unsupported-sql: ~ … answered
city SIMILAR TO 'a' => unsupported-sql: SIMILAR TO
REGEXP_MATCHES(city, 'a') => unsupported-function: REGEXP_MATCHES
city GLOB 'a*' => unsupported-sql: GLOB
city LIKE ANY ('a', 'b') => unsupported-function: ANY
SUBSTR(city, 0) => out-of-range: SUBSTRING … from 1
SUBSTR(city, 1, -1) => out-of-range: SUBSTRING … from 1
SUBSTR(city, age) => not-whole: SUBSTRING … 1 … 3
REPLACE(city, '', 'a') => empty: REPLACE
SPLIT_PART(city, '', 1) => empty: COUNT DISTINCT
SPLIT_PART(city, '-', 0) => out-of-range: COUNT DISTINCT … from 1
TRIM(city, 'x') => unsupported-function: TRIM
BTRIM() => unsupported-sql: BTRIM
PREFIX(city) => unsupported-sql: PREFIX
SUFFIX(city) => unsupported-sql: SUFFIX
CONCAT(city, age) => type-mismatch: CONCAT
city || age => type-mismatch
INITCAP(city) => unsupported-function: INITCAP
WEEKDAY(day) => unsupported-function: WEEKDAY
EXTRACT(fortnight FROM day) => unknown-choice: 'FORTNIGHT' … part
ISOYEAR(day, day) => unsupported-sql: ISOYEAR
DATE_PART('year') => unsupported-sql: DATE_PART … 'year'
DATE_TRUNC('month') => unsupported-sql: DATE_TRUNC … 'month'
DATE_TRUNC('decade', day) => unknown-choice: 'decade'
LN(age) => out-of-domain: LN … no value at 0 … LN(NULLIF(age, 0)) … LN(GREATEST(age, 1)) … WHERE age > 0
LN(age - 9) => out-of-domain: LN … from -9 … LN(GREATEST(x, 1)) … WHERE x > 0
SQRT(age - 9) => out-of-domain: SQRT … below 0 … SQRT(GREATEST(x, 0)) … WHERE x >= 0
LN(0) => out-of-domain: no value
LOG(age) => wrong-arguments: LOG … LN(x) or LOG10(x)
LOG(1, age) => out-of-range: LOG … LOG(2, x)
LOG(cost, age) => out-of-range: LOG … LOG(2, x)
EXP(age) => too-large: EXP … 120 … EXP(LEAST(age, 80))
LN(cost * cost + 1) => too-fine: different values … coarser step … LN(ROUND(x / 1e2) * 1e2)
POWER(age, 0) => out-of-range: POWER … 0 … 0.5
POWER(age, 0.1) => out-of-range: POWER … 0.1 … 0.5
POWER(age, cost) => out-of-range: POWER … 0.5
cost / age => out-of-domain: by age … can be 0 … NULLIF(age, 0) … GREATEST(age, 1) … WHERE age > 0
cost / 0 => division-by-zero
1 / SQRT(age) => out-of-domain: can be 0 … GREATEST(x, 1)
ROUND(SQRT(cost), 30) => too-fine: 4
age % 0 => constant-needed: 'age % 0' … than 0
MOD(age, cost) => constant-needed: 'age % cost' … than 0
age // 0 => division-by-zero: 'age // 0'
day + INTERVAL age DAY => unsupported-sql: INTERVAL … answered
day + INTERVAL '1 fortnight' => unknown-choice: 'FORTNIGHT' … span
day + INTERVAL 'x' => syntax-error: "INTERVAL 'x'"
day + INTERVAL '' => constant-needed: "INTERVAL ''"
day + INTERVAL '999999999999 years' => too-large: far
day + INTERVAL '20000 years' => too-large: COUNT DISTINCT … 10,000
INTERVAL 1 DAY - day => unsupported-sql: "INTERVAL '1' DAY"
INTERVAL 1 DAY + INTERVAL 1 DAY => unsupported-sql: "INTERVAL '1' DAY"
day + age => type-mismatch: defined
day + 0.5 => type-mismatch: defined
DATE_ADD(day) => unsupported-sql: DATE_ADD … understood
DATE_ADD(day, age) => not-whole: DATE_ADD … INTERVAL … 7 … DAY
DATE_SUB('day', day, day) => unsupported-sql: DATE_SUB … 'day'
LAST_DAY(day, YEAR) => unknown-choice: LAST_DAY
DATE_DIFF('hour', day, arrived) => unknown-choice: 'hour' … DATE_DIFF
DATE_DIFF(day) => unsupported-sql: DATE_DIFF
AGE(day) => unsupported-function: AGE
TO_CHAR(day, 'DD.MM') => unknown-choice: answered
TO_CHAR(day) => unsupported-sql: TO_CHAR
day AT TIME ZONE 'Europe/Berlin' => type-mismatch: AT TIME ZONE
arrived AT TIME ZONE 'Europe/Nowhere' => unknown-choice: 'Europe/Nowhere'
arrived AT TIME ZONE '../../etc/passwd' => unknown-choice: '../../etc/passwd'
arrived AT TIME ZONE 'Europe' => unknown-choice: 'Europe'
arrived AT TIME ZONE ward => constant-needed: zone
TIMEZONE('UTC') => unsupported-sql: TIMEZONE … 'UTC'
FROM_UTC_TIMESTAMP(arrived) => unsupported-sql: FROM_UTC_TIMESTAMP
DIV(age, 10) => unsupported-function: DIV
WIDTH_BUCKET(age, 0, 0, 10) => constant-needed: WIDTH_BUCKET … 0, 0, … 10
WIDTH_BUCKET(age, 0, cost, 10) => constant-needed: WIDTH_BUCKET … cost … 10
TRUNC(day, 'MM') => not-whole: TRUNC … 2
DECODE(ward, 'A') => unsupported-sql: DECODE … 'A'
"""
NOT_PAIRS = [tuple(line.split(" => ")) for line in NOT_ANSWERED.strip().splitlines()]


@pytest.mark.parametrize(("text", "problem"), NOT_PAIRS, ids=[text for text, _ in NOT_PAIRS])
def test_not_answered(text: str, problem: str) -> None:
    with pytest.raises(RefusedQueryError) as caught:
        value_of(text)
    expect_code(problem, caught.value)


# What DuckDB itself makes of the same words

SAME_WORDS = """
UPPER(city) LOWER(city) TRIM_1 LENGTH(city) SUBSTR(city,2,3) SUBSTRING(city,2) LEFT(city,2) LEFT(city,-2)
RIGHT(city,2) RIGHT(city,-2) RIGHT(city,0) CONCAT(city,'-',ward) city||'-'||ward REPLACE(city,'a','bb')
SPLIT_PART(city,'-',2) STARTS_WITH(city,'a') ENDS_WITH(city,'b') CONTAINS(city,'a%') PREFIX(city,'a') SUFFIX(city,'b')
ISOYEAR(day) EXTRACT(isoyear_FROM_arrived) DATE_PART('isoyear',day) DAYNAME(day) MONTHNAME(arrived) DAYOFWEEK(day)
STRFTIME(day,'%Y-%m') STRFTIME(arrived,'%Y-%m-%d') LAST_DAY(day) DATE_DIFF('day',day,arrived) day+3 day-3
DATE_DIFF('week',day,date) DATE_DIFF('month',day,date) DATE_DIFF('quarter',date,day) DATE_DIFF('year',day,arrived)
DATE_DIFF('week',date,day) age%7 MOD(age-60,7) (age-60)//7 SIGN(age-60) POWER(age-60,3) (age-60)^2 age**2
TRUNC(cost) NVL2 IFNULL(city,'none') NULLIF(age,3) LIKE_1 LIKE_2 LIKE_3 LIKE_4
"""
LONG = {
    "TRIM_1": "TRIM(city, ' ')", "NVL2": "CASE WHEN age IS NOT NULL THEN 1 ELSE 2 END",
    "LIKE_1": "city LIKE 'a%b'", "LIKE_2": "city NOT LIKE '_a%'",
    "LIKE_3": "city LIKE '%!%%' ESCAPE '!'", "LIKE_4": "city ILIKE 'A_%'",
}  # fmt: skip
ASKED = [LONG.get(text, text.replace("_FROM_", " FROM ")) for text in SAME_WORDS.split()]


@pytest.mark.parametrize("text", ASKED)
def test_duckdb_gives_the_same_for_the_same_words(store: nasty.Store, text: str) -> None:
    rng = Random(text)
    words = [None, "a-b", "aXb", "", "Zürich ", " ab", "a%b", "Straße", "ΣΑΣ", "ab"]
    days = [*DAYS[2:], None]
    rows = [
        {
            "city": rng.choice(words), "ward": rng.choice(["A", "B", None]), "age": rng.choice([None, *range(99)]),
            "cost": rng.choice([None, 0, 1.25, 99.5]), "day": rng.choice(days), "date": rng.choice(days),
            "arrived": rng.choice([None, *TIMES[2:]]),
        }
        for _ in range(60)
    ]  # fmt: skip
    types = {"city": "VARCHAR", "ward": "VARCHAR", "age": "INTEGER", "cost": "DOUBLE", "day": "DATE", "date": "DATE"}
    store.put(nasty.Made(table=None, types={**types, "arrived": "TIMESTAMP"}, rows=rows))  # type: ignore[arg-type]
    answers = [answer for (answer,) in store.connection.execute(f"SELECT {text} FROM stored").fetchall()]
    value = value_of(text)
    for row, answer in zip(rows, answers, strict=True):
        numbers = {name: F(item) if isinstance(item, int | float) else item for name, item in row.items()}
        assert evaluate(value, numbers) == answer, row  # type: ignore[arg-type]


def test_buckets_by_hand() -> None:
    value = value_of("WIDTH_BUCKET(cost, 10, 100, 9)")
    found = [
        evaluate(value, {"cost": None if cost is None else F(cost)}) for cost in (None, 0, 10, 19.5, 20, 99, 100, 999)
    ]
    assert found == [None, 0, 1, 1, 2, 9, 10, 10]
    shape = shape_of(value, {"cost": shape_of_kind(Number(0, 5000, step="0.01"))})
    assert (shape.low, shape.high, shape.step) == (0, 10, 1)


def test_choices_by_hand() -> None:
    decode = value_of("DECODE(ward, 'A', 1, NULL, 2, 3)")
    assert [evaluate(decode, {"ward": ward}) for ward in ("A", None, "B")] == [1, 2, 3]
    assert evaluate(value_of("NVL2(age, 'there', 'missing')"), {"age": None}) == "missing"


def test_constants_are_computed_at_once() -> None:
    plan = plan_of("SELECT COUNT(*) FROM visits WHERE day > DATE '2024-01-31' + INTERVAL 1 MONTH", TABLES, units=UNITS)
    assert plan.where == Compare(Relation.GREATER, Column("day"), Literal(dt.date(2024, 2, 29)))
    plan = plan_of("SELECT COUNT(*) FROM visits WHERE day > '2024-01-31' - INTERVAL '1 week'", TABLES, units=UNITS)
    assert plan.where == Compare(Relation.GREATER, Column("day"), Literal(dt.date(2024, 1, 24)))
    plan = plan_of("SELECT COUNT(*) FROM visits WHERE city = UPPER('ß') || 'x'", TABLES, units=UNITS)
    assert plan.where == Compare(Relation.EQUAL, Column("city"), Literal("ẞx"))
    assert value_of("COALESCE(age, LENGTH(NULL + INTERVAL 1 DAY))") is not None


def test_functions_in_having_see_the_answer() -> None:
    plan = plan_of(
        "SELECT UPPER(ward) AS w, COUNT(*) AS n FROM visits GROUP BY w HAVING w LIKE 'A%' AND n % 2 = 0",
        TABLES,
        units=UNITS,
    )
    assert plan.having is not None
    assert evaluate(plan.having, {"w": "A1", "n": F(4)}) is True


def test_words_that_slow_the_parser_down_do_not_reach_it() -> None:
    for words in (
        "interval '1' list array ",
        "interval 1 struct < ",
        "interval '1' day interval ",
        "x like ",
        "at time zone ",
    ):
        with pytest.raises(RefusedQueryError):
            plan_of("SELECT COUNT(*) FROM visits WHERE " + words * 24, TABLES, units=UNITS)


def test_columns_named_like_words_of_functions() -> None:
    columns: dict[str, Kind] = {name: Integer(0, 9) for name in ("interval", "time", "zone", "at", "replace", "left")}
    plan = plan_of('SELECT SUM(interval + time + zone + at + "replace" + "left") FROM t', {"t": columns})
    assert plan.aggregates[0].value is not None
    assert set(columns_in(plan.aggregates[0].value)) == set(columns)

"""Outputs of any kind become columns and tokens, and views sort them; nothing that could be seen is lost."""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.refusals import raises_code

from privet.audits import Claim, audit, counted, outputs
from privet.audits.events import _whole, find_events
from privet.audits.outputs import MISSING, OTHER, OutputColumn, OutputReader, Outputs, Raised, joined
from privet.audits.views import BinView, DecimalView, Digits, GridView, LastBits, Sorter, ValueView
from privet.errors import InvalidInputError


@dataclass
class Point:
    x: float
    y: float


class Odd:
    """Has no text of its own: where it lies in memory is chance."""


class Vector:
    def tolist(self) -> list[int]:
        return [1, 2]


LEAVES = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**80), 2**80), st.floats(), st.text(max_size=5), st.binary(max_size=3),
    st.fractions(), st.decimals(), st.complex_numbers(), st.dates(),
)  # fmt: skip
NESTED = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.tuples(inner, inner), st.dictionaries(st.text(max_size=2), inner, max_size=3)
    ),
    max_leaves=6,
)


@settings(max_examples=200)
@given(st.lists(NESTED, min_size=1, max_size=6))
def test_anything_can_be_read_and_read_again(raw: list[Any]) -> None:
    """The same outputs give the same columns and tokens, in whatever order other outputs come between."""
    reader = OutputReader()
    first = reader.read(raw, len(raw))
    again = reader.read(raw[::-1], len(raw)).widened(reader.width)
    first = first.widened(reader.width)
    assert np.array_equal(first.numbers, again.numbers[::-1])
    tokens = [np.zeros(part.numbers.shape) if part.tokens is None else part.tokens for part in (first, again)]
    assert np.array_equal(tokens[0], tokens[1][::-1])
    assert np.array_equal(first.shapes, again.shapes[::-1])
    assert np.isfinite(first.numbers.astype(float)).all() or not first.numbers.size or np.isinf(first.numbers).any()
    assert all(reader.words(first, row) for row in range(len(raw)))


@pytest.mark.parametrize(
    "alike",
    [
        (1, True), (0, False), (0.0, -0.0), (math.nan, None), ([1], (1,)), ([1, 2], [1, 2, 3]), ("a", "b"),
        ("1.5", "1.50"),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}), ({1}, {2}), ({1}, {1, 2}), (Fraction(1, 2), Fraction(1, 3)), (1j, 2j),
        (2**70, 2**70 + 1), (math.inf, -math.inf), (Decimal("1.0"), Decimal("1.00")), (Raised("A"), Raised("B")),
        (Point(1, 2), Point(1, 3)), (date(2020, 1, 1), date(2020, 1, 2)), (b"x", b"y"), ([], [[]]),
        (10**400, -(10**400)),
        (np.array([1.0, 2.0]), np.array([1.0, 3.0])), (np.float32(0.1), 0.1), (1.0, None), ("", None),
        (Vector(), [1, 3]),
        ("seen 3 of 4", "seen 4 of 3"),
    ],
    ids=lambda pair: " ".join(type(one).__name__ for one in pair),
)  # fmt: skip
def test_what_a_reader_could_tell_apart_is_told_apart(alike: tuple[Any, Any]) -> None:
    found = audit(lambda data: alike[data], Claim(1), (0, 1), samples=1000)
    assert found.lower_bound > 1, str(found)


def test_where_an_object_lies_is_no_event() -> None:
    assert audit(lambda _: Odd(), Claim(1), (0, 1), samples=1000).lower_bound == 0
    assert audit(lambda _: np.array(3.0), Claim(1), (0, 1), samples=1000).lower_bound == 0


def test_plain_arrays_stay_as_they_are() -> None:
    reader = OutputReader()
    for raw in (np.arange(6), np.arange(6.0), np.arange(6, dtype=np.uint8), np.arange(6) > 2, list(range(6))):
        assert reader.read(raw, 6).numbers[:, 0].tolist() == [float(x) for x in raw]
    wide = OutputReader()
    assert wide.read(np.arange(6).reshape(3, 2), 3).numbers.tolist() == [[0, 1], [2, 3], [4, 5]]
    assert wide.read([(0, 1), (2, 3)], 2).numbers.tolist() == [[0, 1], [2, 3]]
    assert wide.read([np.array([0, 1]), np.array([2, 3])], 2).numbers.tolist() == [[0, 1], [2, 3]]
    assert wide.width == 2
    assert wide.read(np.array(["a", "b"]), 2).tokens is not None
    assert wide.read(np.arange(8).reshape(2, 2, 2), 2).numbers.shape == (2, 7)
    assert wide.place(0) == "part 0"
    assert wide.place(wide.width - 1) == "part 1 of part 1"
    assert OutputReader().read(np.array([2**64 - 1, 0], np.uint64), 2).numbers.shape == (2, 2)
    assert OutputReader().read([2.0**60, 1], 2).numbers.dtype == np.float64
    assert OutputReader().read([2.0**60, 1, 2**60], 3).numbers.shape == (3, 2)
    assert OutputReader().read([(1,), (1, 2)], 2).numbers.shape == (2, 2)
    assert OutputReader().read([(1, "a"), (1, "b")], 2).numbers.shape == (2, 2)


def test_columns_that_come_later_are_missing_before() -> None:
    reader = OutputReader()
    first = reader.read([[1], [2]], 2)
    second = reader.read([[1, 2.5], ["x", 4]], 2)
    both = joined([first, second, reader.read(np.array([7.0]), 1)])
    assert both.numbers.shape == (5, 3)
    assert both.tokens is not None
    assert both.tokens[0].tolist() == [0, MISSING, MISSING]
    assert both.tokens[4].tolist() == [MISSING, MISSING, 0]
    assert reader.token(MISSING) == "missing"
    assert reader.token(OTHER) == "another text"
    assert joined([first, first]).tokens is None
    cut = both.widened(1)
    assert cut.numbers.shape == cut.tokens.shape == (5, 1)
    assert first.widened(1) is first


def test_too_many_texts_share_a_token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("privet.audits.outputs.MOST_TOKENS", 3)
    found = OutputReader().read(["a", "b", "c", "d", "e"], 5)
    assert found.tokens[:, 0].tolist()[-2:] == [OTHER, OTHER]


# --- views ---


def view(kind: type[Sorter], first: Any, second: Any) -> Sorter:
    return kind("output", OutputColumn(np.asarray(first)), OutputColumn(np.asarray(second)))


def test_last_bits() -> None:
    bits = view(LastBits, [0.0], [1.0])
    values = np.array([1.0, 3.0, -0.75, 2.0**-53, 5e-324, 1e300 * 0, np.inf, 96.0])
    assert (bits.cells(OutputColumn(values)) - 1074).tolist() == [0, 0, -2, -53, -1074, 1024, 1024, 5]
    whole = bits.cells(OutputColumn(np.array([1, -6, 0, 2**62, -(2**63), 2**53 + 2]))) - 1074
    assert whole.tolist() == [0, 1, 1024, 62, 63, 1]

    def text(*powers: int) -> str:
        chosen = np.zeros(bits.size, bool)
        chosen[np.array(powers) + 1074] = True
        return bits.describe(chosen)

    assert text(*range(-1074, -53)) == "output is not a multiple of 2^-53"
    assert text(*range(-53, 1025)) == "output is a multiple of 2^-53"
    assert text(-3, -2) == "the last bit of output is one of 2^-3, 2^-2"
    assert text(*range(0, 16, 2)) == "the last bit of output is one of 2^0, 2^2, 2^4, 2^6, 2^8, 2^10 and 2 more"


def test_bins_describe_themselves() -> None:
    bins = view(BinView, np.arange(10.0), np.arange(5.0, 15.0))
    cells = bins.cells(OutputColumn(np.array([-1.0, 0.0, 14.0, 15.0, 2.0, 4.0, 6.0, 8.0])))

    def text(*places: int) -> str:
        chosen = np.zeros(bins.size, bool)
        chosen[cells[list(places)]] = True
        return bins.describe(chosen)

    assert text(0) == "output < 0"
    assert text(3) == "14 < output"
    assert text(1) == "output is 0"
    assert text(4, 5, 6, 7) == "2 <= output < 3 or 4 <= output < 5 or 6 <= output < 7 or 1 more intervals"
    assert bins.describe(np.ones(bins.size, bool)) == "output is a number"


def test_values_describe_themselves() -> None:
    first, second = np.repeat(np.arange(9), 60), np.concatenate([np.repeat(np.arange(9), 60), [77]])
    values = view(ValueView, np.concatenate([first, [55]]), second)
    assert values.cells(OutputColumn(np.array([3, 8, 55, 77, 99]))).tolist() == [3, 8, 9, 10, 12]
    chosen = np.arange(values.size)
    assert values.describe(chosen == 3) == "output is 3"
    assert values.describe(chosen == 9) == "output is a rare value seen on the first data set only"
    assert values.describe(chosen < 9) == "output is one of 0, 1, 2, 3, 4, 5 and 3 more"
    empty = view(ValueView, np.zeros(0), np.zeros(0))
    assert empty.cells(OutputColumn(np.array([1.0, 2.0]))).tolist() == [0, 0]
    assert empty.describe(np.array([True])) == "output is a number"
    assert view(BinView, np.zeros(0), np.zeros(0)).cells(OutputColumn(np.array([1.0]))).tolist() == [0]


def test_digits_decimals_and_steps() -> None:
    digits = view(Digits, [1.25, 2.5], [3.0, 4.0])
    assert digits.cells(OutputColumn(np.array([1.25, 0.07, np.inf]))).tolist() == [125, 7, 0]
    assert digits.describe(np.arange(240) == 125) == "output in units of 1e-2 is 125 modulo 240"
    whole = view(Digits, [1, 2], [3, 4])
    assert whole.cells(OutputColumn(np.array([241, -1]))).tolist() == [1, 239]
    assert whole.describe(np.arange(240) == 1) == "output is 1 modulo 240"
    stored = view(Digits, [math.pi], [math.e])
    assert stored.cells(OutputColumn(np.array([1.0, np.nextafter(1, 2)]))).tolist() == [0, 1]
    assert stored.describe(np.arange(16) == 1) == "the last 4 bits of output are 1"
    decimals = view(DecimalView, [1.0], [1.0])
    found = (
        decimals.cells(OutputColumn(np.array([0.1234567, 3.0, 1200.0, 0.1, 0.1 + 0.2, 123456.78, 1e300])))
        + DecimalView.LEAST
    )
    assert found.tolist()[:6] == [7, 0, -2, 1, 16, 2]
    chosen = np.zeros(decimals.size, bool)
    chosen[[8, -1]] = True
    assert decimals.describe(chosen) == "output has one of 2, more than 15 decimals"
    grid = view(GridView, np.arange(10) * 0.3, np.arange(10) * 0.7)
    assert grid.cells(OutputColumn(np.array([0.3, 0.7, 2.1, 0.5, np.inf]))).tolist() == [1, 2, 3, 0, 3]
    assert grid.describe(np.arange(4) == 1) == "output is a multiple of 0.3 and not of 0.7"
    lone = view(GridView, [5.0], np.zeros(0))
    assert lone.cells(OutputColumn(np.array([10.0, 3.0]))).tolist() == [3, 2]


def test_tokens_have_cells_of_their_own() -> None:
    reader = OutputReader()
    raw = ["yes"] * 5 + ["no"] * 5 + [1.5] * 5
    column = reader.read(raw, 15).part(0)
    sorter = BinView("output", column, column, reader)
    cells = sorter.cells(column)
    assert len(set(cells.tolist())) == 3
    new = reader.read(["maybe", "yes"], 2).part(0)
    assert sorter.cells(new).tolist() == [sorter.size - 1, cells[0]]
    chosen = np.zeros(sorter.size, bool)
    chosen[[cells[0], cells[5], sorter.size - 1]] = True
    assert sorter.describe(chosen) == "output is one of 'yes', 'no' or output is something not seen before"
    known_none = BinView("output", OutputColumn(np.arange(3.0)), OutputColumn(np.arange(3.0)), reader)
    assert known_none.cells(new).tolist() == [known_none.size - 1] * 2
    for method in (sorter.learn, sorter.sort, sorter.say):
        assert callable(method)
    base = object.__new__(Sorter)
    for call in (lambda: base.learn(raw, raw), lambda: base.sort(raw), lambda: base.say(raw)):  # type: ignore[arg-type]
        with pytest.raises(NotImplementedError):
            call()


# --- every view has a leak that it alone shows ---


def made(change: Callable[[np.random.Generator, int, int], Any]) -> Callable[[int, int], Any]:
    draw = np.random.default_rng(11)
    return lambda data, size: change(draw, data, size)


def twice(draw: np.random.Generator, data: int, size: int) -> np.ndarray:
    """Two parts that are each other's mirror or the same: no part shows it alone."""
    one = draw.integers(0, 4, size)
    return np.stack([one, one if data else 3 - one], axis=1)


def ranks(draw: np.random.Generator, data: int, size: int) -> np.ndarray:
    """Six different numbers in random order; of the data only how many neighbors rise."""
    found = draw.permuted(np.tile(np.arange(6), (size, 1)), axis=1)
    return np.sort(found, axis=1) if data else found


def slight(draw: np.random.Generator, data: int, size: int) -> np.ndarray:
    return (draw.random((size, 40)) < (0.6 if data else 0.5)).astype(int)


LEAKS: list[tuple[str, Callable[..., Any], str]] = [
    ("interval", lambda d, data, n: d.geometric(0.2, n) + 9 * data, "intervals of output"),
    ("value", lambda d, _data, n: np.where(d.random(n) < 0.5, _data * 17 % 5, d.integers(0, 40, n)), "output"),
    ("last bits", lambda d, data, n: d.integers(0, 2**40, n) * 2 + data, "last"),
    ("digits", lambda d, data, n: d.integers(0, 2**40, n) * 3 + data, "last digits"),
    ("decimals", lambda d, data, n: np.round(d.random(n), 2 + data), "output"),
    ("step", lambda d, data, n: d.integers(0, 10**6 // (7 - 4 * data), n) * math.pi * (7 - 4 * data), "of a step"),
    ("structure", lambda _, data, n: [[1], (1,)][data : data + 1] * n, "the structure of the output"),
    ("together", twice, "part"),
    ("rises", ranks, "of"),
    ("many parts", slight, "sum"),
    ("squares", lambda d, data, n: d.normal(size=(n, 12)) * (2.5 if data else 1), "of"),
]


@pytest.mark.parametrize(("name", "change", "method"), LEAKS, ids=[leak[0] for leak in LEAKS])
def test_every_view_catches_its_leak(name: str, change: Callable[..., Any], method: str) -> None:
    found = audit(made(change), Claim("0.5"), (0, 1), samples=20_000)
    assert found.violated, str(found)
    assert method in found.method, (name, found.method)


def test_no_more_events_than_asked_for() -> None:
    draw, reader = np.random.default_rng(3), OutputReader()

    def some(shift: int) -> tuple[Outputs, Outputs]:
        return tuple(reader.read(draw.geometric(0.3, 5000) + side * shift, 5000) for side in (0, 1))  # type: ignore[return-value]

    for limit in (1, 2, 3, 6):
        events, hope = find_events(some(1), some(1), Claim(1), limit, reader, size=1_000_000, brief=False)
        assert hope > events[0].promised
        assert len(events) == limit
        assert any(event.plain for event in events)
        assert [event.promised for event in events] == sorted((event.promised for event in events), reverse=True)


def test_views_of_long_vectors_are_screened() -> None:
    draw = np.random.default_rng(4)
    found = audit(
        lambda data, size: draw.integers(0, 2, (size, 30)) + (np.arange(30) == 17) * data * 5, Claim(1), (0, 1),
        samples=60_000, confidence=0.9999999999999,
    )  # fmt: skip
    assert found.violated
    late = audit(
        lambda data, size: draw.integers(0, 3, (size, 12)) + 0 * len(data), Claim(1), ([1], []), samples=60_000
    )
    assert not late.violated


def test_whole_outputs_are_told_in_words() -> None:
    reader = OutputReader()
    first, second = (reader.read([(letter, n % 2) for n in range(100)], 100) for letter in "ab")
    view = _whole((first, second), reader)
    chosen = np.zeros(view.size, bool)
    chosen[view.sorter.cells(view.feature.column(second))[0]] = True
    assert view.sorter.describe(chosen) == "output is ('b', 0)"


def test_numbers_that_are_not_there_are_no_trouble() -> None:
    """Infinities and NaN in two parts at once: their difference is nothing, without a warning."""
    draw = np.random.default_rng(5)

    def odd(data: int, size: int) -> list[tuple[float, float, float]]:
        values = [math.inf, math.nan, 1.0]
        return [(values[n], values[n], float(data)) for n in draw.integers(0, 3, size)]

    assert audit(odd, Claim(1), (0, 1), samples=2000).violated


def test_what_is_cut_off_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """At 40 parts instead of 4,096: what is looked at for each of them would only take time."""
    assert outputs.MOST_COLUMNS == counted.MOST_COLUMNS == 4096
    monkeypatch.setattr(outputs, "MOST_COLUMNS", 40)
    monkeypatch.setattr(counted, "MOST_COLUMNS", 40)

    def wide(_: int, size: int) -> Any:
        return np.random.default_rng().integers(0, 2, (size, 41))

    def nested(_: int) -> Any:
        return [[0] * 41, None]

    def many_keys(_: int) -> Any:
        return {secrets.token_hex(8): 1 for _place in range(3)}

    for mechanism in (wide, nested, many_keys):
        found = audit(mechanism, Claim(1), (0, 1), samples=1500)
        assert any("40 parts" in text for text in found.not_tested), mechanism
    for width in (3, 40):
        found = audit(lambda _, size, width=width: np.zeros((size, width)), Claim(1), (0, 1), samples=1500)
        assert not any("parts" in text for text in found.not_tested)


def test_an_output_without_end_is_refused() -> None:
    def endless(_: int) -> Any:
        found: list[Any] = []
        found.append(found)
        return found

    with raises_code(InvalidInputError, "wrong-output: without"):
        audit(endless, Claim(1), (0, 1), samples=1500)


def test_progress_must_be_callable() -> None:
    with raises_code(InvalidInputError, "not-callable: progress"):
        audit(lambda data: data, Claim(1), (0, 1), progress=3)  # type: ignore[arg-type]

"""Exact distances of functions between neighbors, and sums of floats that move by more than the numbers say."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from support.refusals import raises_code

from privet.audits import float_sum, sensitivity
from privet.errors import InvalidInputError


class Bits:
    """Lists of four bits that differ in one."""

    def pairs(self, generator: np.random.Generator) -> Iterator[tuple[list[int], list[int]]]:
        while True:
            data = generator.integers(0, 2, 4).tolist()
            yield data, [1 - data[0], *data[1:]]


def naive(values: list[float]) -> float:
    """What `sum` does before Python 3.12, which compensates."""
    total = 0.0
    for value in values:
        total += value
    return total


def kahan(values: list[float]) -> float:
    total = lost = 0.0
    for value in values:
        step = value - lost
        after = total + step
        lost = (after - total) - step
        total = after
    return total


def single(values: list[float]) -> Any:
    return np.sum(np.array(values, np.float32))


def test_a_bound_that_is_attained_is_no_violation() -> None:
    found = sensitivity(sum, 1, Bits())
    assert found.verdict == "consistent"
    assert found.checks[0].figures["attained"]
    assert found.checks[0].figures["pairs"] == 500
    assert not sensitivity(sum, 2, Bits(), pairs=7).checks[0].figures["attained"]


def test_a_bound_that_is_too_small_comes_with_its_pair() -> None:
    found = sensitivity(lambda data: 2 * sum(data), 1, ([0, 0], [0, 1]))
    assert found.violated
    assert found.checks[0].says.endswith("moved by 2, 1 more than declared: [0, 0] against [0, 1]")
    assert found.checks[0].figures["excess"] == 1


@pytest.mark.parametrize(("norm", "distance"), [("l1", 7.0), ("l2", 5.0), ("linf", 4.0)])
def test_norms(norm: str, distance: float) -> None:
    pairs = [([0], [3]), ([1], [1])]

    def curve(data: list[int]) -> Any:
        return np.array([data[0], 4 * data[0] / 3, 0 if data[0] else 0.0])

    found = sensitivity(curve, Fraction(distance), pairs, norm=norm)
    assert found.verdict == "consistent"
    assert found.checks[0].figures["distance"] == distance
    small = sensitivity(curve, Fraction(distance) * Fraction(999, 1000), pairs, norm=norm)
    assert small.violated
    assert small.checks[0].figures["excess"] == pytest.approx(distance / 1000)


def test_mappings_numbers_and_long_data() -> None:
    counts = sensitivity(lambda data: {value: data.count(value) for value in data}, 1, ([5, 5, 7], [5, 5]))
    assert counts.checks[0].figures["distance"] == 1
    assert sensitivity(lambda _: {}, 1, ([1], [2]), norm="linf").checks[0].figures["distance"] == 0
    long = sensitivity(lambda data: np.float32(len(data)), 1, (np.zeros(99), np.zeros(97)))
    assert long.violated
    assert "… (99 records)" in long.checks[0].says


def test_one_ulp_too_many_is_seen() -> None:
    found = sensitivity(float, 1, (0.0, math.nextafter(1, 2)))
    assert found.violated
    assert found.checks[0].figures["excess"] == 2.0**-52


def test_nan_and_infinity_are_violations() -> None:
    found = sensitivity(lambda data: math.inf if data else 0.0, 1, [(0, 1), (0, 0), (1, 1)])
    assert [check.name for check in found.checks] == ["distance between neighbors", "finite"]
    assert found.checks[1].verdict == "violated"


def test_reordered_data() -> None:
    """First record: moves by up to 9 on the same records, and by 5 between these neighbors as they stand."""
    pair = ([9.0, 0.0, 1.0], [4.0, 0.0, 1.0])
    assert sensitivity(lambda data: data[0], 5, pair).verdict == "consistent"
    found = sensitivity(lambda data: data[0], 5, pair, order="any")
    assert [check.verdict for check in found.checks] == ["violated", "violated"]
    assert found.checks[0].figures["distance"] == found.checks[1].figures["distance"] == 9
    clean = sensitivity(sorted, 5, pair, order="any")
    assert clean.verdict == "consistent"
    assert "gave the same result" in clean.checks[1].says


def test_orders_of_records_without_an_order_and_of_arrays() -> None:
    pair = ([{"a": 1}, {"a": 3}], [{"a": 1}, {"a": 2}])
    found = sensitivity(lambda data: data[0]["a"], 2, pair, order="any")
    assert found.checks[0].figures["distance"] == 2
    arrays = sensitivity(lambda data: data[:1].sum(), 2, (np.array([1, 3]), np.array([1])), order="any", norm="l2")
    assert arrays.checks[0].figures["distance"] == 2
    assert arrays.checks[1].verdict == "consistent"
    assert sensitivity(len, 1, ([], [1]), order="any").verdict == "consistent"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"norm": "l3"}, "unknown-choice: norm … l1 … l2"),
        ({"order": "some"}, "unknown-choice: 'fixed' … 'any'"),
        ({"declared": 0}, "not-positive: declared … above 0"),
        ({"neighbors": 3}, "wrong-shape: neighbors"),
        ({"neighbors": [1, 2, 3]}, "wrong-shape: neighbors"),
        ({"function": lambda _: "text"}, "wrong-output: function"),
        ({"function": lambda _: None}, "wrong-output: function"),
        ({"order": "any", "neighbors": (3, 4)}, "not-a-list: data"),
    ],
)
def test_wrong_arguments_are_refused(arguments: dict[str, Any], words: str) -> None:
    given: dict[str, Any] = {"function": float, "declared": 1, "neighbors": (1, 2)}
    with raises_code(InvalidInputError, words):
        sensitivity(**(given | arguments))


# --- sums of floats ---


@pytest.mark.parametrize("neighbors", ["replace", "add-remove"])
@pytest.mark.parametrize(("low", "high"), [(0, 1), (-1, 1), (5, 10), (0, "0.1"), (-3, -1)])
@pytest.mark.parametrize(
    ("function", "dtype"),
    [(naive, "float64"), (np.sum, "float64"), (single, "float32")],
    ids=["naive", "numpy", "single"],
)
def test_float_sums_move_too_far(
    function: Callable[..., Any], dtype: str, low: object, high: object, neighbors: str
) -> None:
    found = float_sum(function, low=low, high=high, length=100, neighbors=neighbors, dtype=dtype)
    assert found.violated
    assert 0 < found.checks[0].figures["excess"] < 1e-2


def test_a_compensated_and_an_exact_sum_still_round_once() -> None:
    for function in (kahan, math.fsum, sum):
        found = float_sum(function, low=0, high=1, length=100)
        assert found.violated
        assert found.checks[0].figures["excess"] < (1e-14 if function is not sum else 1e-13)


def test_sums_of_whole_numbers_do_not_move_too_far() -> None:
    for neighbors in ("replace", "add-remove"):
        found = float_sum(lambda values: sum(map(round, values)), low=-4, high=9, length=40, neighbors=neighbors)
        assert found.verdict == "consistent"
        assert found.checks[0].figures["attained"]


def test_order_adds_to_the_excess() -> None:
    fixed = float_sum(naive, low=0, high=1, length=100, tries=100)
    free = float_sum(naive, low=0, high=1, length=100, tries=100, order="any")
    assert free.checks[0].figures["excess"] > 2 * fixed.checks[0].figures["excess"]
    assert free.checks[1].figures["distance"] > 0
    exact = float_sum(math.fsum, low=0, high=1, length=100, tries=50, order="any")
    assert exact.checks[1].figures["distance"] == 0


def test_ends_are_rounded_inward() -> None:
    found = float_sum(lambda values: max(map(float, values)), low="-0.3", high="0.1", length=5, tries=20)
    assert Fraction(found.checks[0].figures["declared"]) <= Fraction(4, 10)
    assert found.verdict == "consistent"


@pytest.mark.parametrize(
    "arguments",
    [{"low": 1, "high": 1}, {"neighbors": "other"}, {"dtype": "float16"}],
)
def test_wrong_ranges_are_refused(arguments: dict[str, Any]) -> None:
    given: dict[str, Any] = {"low": 0, "high": 1, "length": 10}
    with raises_code(InvalidInputError, "reversed-range|unknown-choice: below"):
        float_sum(sum, **(given | arguments))

"""Every model against its definition, on all small classes and on the border; what follows from it; what is refused."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import Any

import numpy as np
import pytest
from support import anonymity_oracle as oracle
from support.refusals import raises_code

from privet.anonymize import models
from privet.anonymize.models import DistinctL, EntropyL, K, RecursiveL, T, asked, columns_of, values_of
from privet.core.rational import rational
from privet.errors import InvalidInputError
from privet.records.microdata import RecordColumn, column

OVERALL = np.array([6, 3, 2, 1])
CLASSES = np.array([c for c in itertools.product(range(5), repeat=4) if sum(c)])
MODELS = [
    DistinctL(1, "s"), DistinctL(2, "s"), DistinctL(4, "s"), DistinctL(5, "s"),
    *(EntropyL(least, "s") for least in (1, 1.5, 2, "1.7547653506033232", 3, "2.8", 4)),
    *(RecursiveL(c, least, "s") for c in (1, "0.5", 2, 3) for least in (1, 2, 3, 5)),
    *(T(t, "s", ordered) for t in (0, "1/12", 0.25, "1/3", 0.5, 1) for ordered in (False, True)),
]  # fmt: skip


def named(row: Any) -> Counter[str]:
    return Counter({f"v{place}": int(count) for place, count in enumerate(row) if count})


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_a_class_holds_as_defined(model: Any) -> None:
    found = model.holds(CLASSES, OVERALL)
    wanted = [oracle.holds(model, named(row), named(OVERALL)) for row in CLASSES]
    assert found.tolist() == wanted
    assert found.dtype == np.bool_
    needed = model.distinct(OVERALL)
    assert ((CLASSES > 0).sum(axis=1)[found] >= needed).all()


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_no_part_that_holds_is_larger_than_told(model: Any) -> None:
    """All parts of all classes of up to three records a value; and some class has a part of that size."""
    small = CLASSES[(CLASSES <= 3).all(axis=1)]
    holds, sizes = model.holds(small, OVERALL), small.sum(axis=1)
    told = model.most(small, OVERALL)
    reached = 0
    for row, most in zip(small[~holds], told[~holds], strict=True):
        inside = (small <= row).all(axis=1) & holds
        largest = int(sizes[inside].max(initial=0))
        assert largest <= most <= row.sum()
        reached += largest == most
    vague = isinstance(model, T) and model.ordered and rational(model.t, "t") * 3 >= 1  # then nothing is said
    assert reached or vague or holds.all()


def test_classes_that_hold_hold_together() -> None:
    chance = np.random.default_rng(5)
    for model in MODELS:
        good = CLASSES[model.holds(CLASSES, OVERALL)]
        if len(good):
            pairs = good[chance.integers(0, len(good), (500, 2))].sum(axis=1)
            assert model.holds(pairs, OVERALL).all(), model


def test_k_counts_records() -> None:
    assert K(3).most(np.array([[1, 1]]), np.array([3, 5])).tolist() == [0]
    assert K(3).holds(np.array([[1, 1], [2, 1], [0, 3]]), np.array([3, 5])).tolist() == [False, True, True]
    assert K(3).distinct(OVERALL) == 1
    assert K(3).column is None


@pytest.mark.parametrize("times", [1, 1000, 10**6])
def test_the_border_does_not_depend_on_the_number_of_records(times: int) -> None:
    rows = CLASSES[:200] * times
    for model in MODELS:
        assert (model.holds(rows, OVERALL * times) == model.holds(CLASSES[:200], OVERALL)).all(), model


def test_numbers_beyond_64_bits() -> None:
    many, overall = np.array([[6 * 10**9, 2 * 10**9]]), np.array([14 * 10**9, 6 * 10**9])
    for t, ordered in itertools.product(("0.0499999", "0.05"), (False, True)):
        assert T(t, "s", ordered).holds(many, overall).tolist() == [t == "0.05"]
    assert RecursiveL("3.000000001", 2, "s").holds(many, overall).tolist() == [True]
    assert RecursiveL(3, 2, "s").holds(many, overall).tolist() == [False]
    assert RecursiveL("3.000000001", 2, "s").most(many, overall).tolist() == [8 * 10**9]
    assert RecursiveL(3, 2, "s").most(many, overall).tolist() == [8 * 10**9 - 1]


def test_an_entropy_that_is_too_near_to_tell_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    near = np.array([[4, 2, 2]])  # 2 ** 1.5 equally frequent values, which is no fraction
    border = EntropyL("2.82842712474619", "s"), EntropyL("2.82842712474620", "s")
    assert [one.holds(near, OVERALL[:3]).tolist() for one in border] == [[True], [False]]
    monkeypatch.setattr(models, "EXPONENT", 3)
    assert [one.holds(near, OVERALL[:3]).tolist() for one in border] == [[False], [False]]


def test_fewest_values_for_a_distance() -> None:
    assert [T(t, "s").distinct(OVERALL) for t in (0, "1/12", "0.25", "0.49", "0.5", 1)] == [4, 3, 2, 2, 1, 1]
    assert T(0, "s", ordered=True).distinct(OVERALL) == 1


def test_what_is_asked_for() -> None:
    assert asked(5, 2, "0.2", [EntropyL(2, "b"), K(5)], ["a", "c"]) == (
        K(5), DistinctL(2, "a"), DistinctL(2, "c"), T("0.2", "a"), T("0.2", "c"), EntropyL(2, "b"),
    )  # fmt: skip
    assert columns_of(asked(None, None, None, [EntropyL(2, "b"), K(2)], []), ["a"]) == ("a", "b")
    assert [str(one) for one in (K(5), DistinctL(2, "a"), EntropyL(2, "a"), RecursiveL(3, 2, "a"))] == [
        "k=5", "distinct l=2 of a", "entropy l=2 of a", "recursive c=3, l=2 of a",
    ]  # fmt: skip
    assert [str(T(0.2, "a", ordered)) for ordered in (False, True)] == ["t=0.2 of a", "ordered t=0.2 of a"]


@pytest.mark.parametrize(
    ("problem", "work"),
    [
        ("too-small: k … least 1", lambda: K(0)),
        ("not-whole", lambda: K(2.5)),
        ("too-small: l must … least 1", lambda: DistinctL(0, "s")),
        ("too-small: l must … least 1", lambda: EntropyL(0.5, "s")),
        ("not-a-number: l must", lambda: EntropyL("x", "s")),
        ("not-positive: c must … above 0", lambda: RecursiveL(0, 2, "s")),
        ("too-small: l must … least 1", lambda: RecursiveL(1, 0, "s")),
        ("out-of-range: t must … from 0 … 1", lambda: T(1.5, "s")),
        ("not-finite: t must", lambda: T(float("nan"), "s")),
        ("missing-name: l needs … sensitive", lambda: asked(5, 2, None, (), ())),
        ("missing-name: t needs … sensitive", lambda: asked(5, None, 0.2, (), ())),
        ("missing-option", lambda: asked(None, None, None, (), ())),
        ("wrong-type: 5", lambda: asked(None, None, None, (5,), ())),
    ],
)
def test_what_is_refused(problem: str, work: Any) -> None:
    with raises_code(InvalidInputError, problem):
        work()


def test_numbers_are_ordered_by_size_and_texts_as_texts() -> None:
    numbers = column("n", ["10", "9", None, "-1.5", "10"])
    assert values_of(numbers)[0].tolist() == [2, 1, 3, 0, 2]
    words = column("w", ["b", "a", "10"])
    assert values_of(words)[0].tolist() == [2, 1, 0]
    assert values_of(column("w", ["10", "nan", "9"]))[0].tolist() == [0, 2, 1]  # as texts: nan is no number
    assert values_of(column("w", ["10", "9_9", "11"]))[0].tolist() == [0, 2, 1]
    assert values_of(column("w", [None, None]))[1].tolist() == [2]


def test_values_that_nobody_has_are_not_counted() -> None:
    codes, counts = values_of(RecordColumn("n", np.array([3, 1, 1], dtype=np.uint8), ("x", "9", "z", "10", None)))
    assert (codes.tolist(), counts.tolist()) == ([1, 0, 0], [2, 1])

"""What rows add in a round of a learner: exactly, within the limits, each row by itself; and which rows of a unit."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from support.row_functions import assert_row_function, block_of

from privet.backends import Course
from privet.backends import contributions as rooms
from privet.backends.contributions import Block, Recode, RowFunction, Rows, Scaled, Vectors
from privet.backends.held_rows import HeldRows, bounded
from privet.catalog.declarations import Source, Table
from privet.core.rounds import LONGEST, Sums, counts, gram, priced, vector
from privet.core.schema import Integer
from privet.core.unit import Neighbors
from privet.typing import Floats

WIDE = 2**26


def exactly(sums: Sums, rows: list[list[int]]) -> list[int]:
    """The definition, in Python's integers."""
    total = [0] * sums.numbers
    for row in rows:
        short = sum(map(abs, row)) <= sums.l1 and sum(x * x for x in row) <= sums.l2_squared
        if short and (sums.form.value != "counts" or min(row) >= 0):
            added = [a * b for a in row for b in row] if sums.form.value == "gram" else row
            total = [one + more for one, more in zip(total, added, strict=True)]
    return total


def table(rows: list[list[int]]) -> Floats:
    return np.array(rows, float).reshape(len(rows), -1)


@pytest.mark.parametrize(
    "sums",
    [
        vector(3, 50), vector(3, 50, l1=9), vector(3, 50, l1=9, positive=True), counts(3, 2), gram(3, 50),
        vector(3, LONGEST), gram(3, WIDE),
    ],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("rows", [0, 1, 700])
def test_sums_are_those_of_whole_numbers(sums: Sums, rows: int) -> None:
    rng = np.random.default_rng(3)
    far = 9 if sums.l2_squared < WIDE else int(sums.l2_squared**0.5)
    made = rng.integers(-far // 2, far, (rows, 3)).tolist() + [[far, 0, 0], [0, 1, 1]] * (rows > 0)
    found = Rows(table(made) if made else np.zeros((0, 3))).sums(lambda block: [Vectors(block.raw)], [sums])
    assert found == [exactly(sums, made)]
    assert all(type(number) is int for number in found[0])


@pytest.mark.parametrize("sums", [vector(4, 90), vector(4, 90, l1=12), vector(4, 30, l1=12, positive=True)], ids=str)
def test_products_of_two_short_vectors(sums: Sums) -> None:
    """The squared length of all products is the product of the squared lengths."""
    rng = np.random.default_rng(4)
    by, values = rng.integers(-1, 5, (300, 2)), rng.integers(-1, 6, (300, 2))
    made = [[int(a * b) for a in one for b in other] for one, other in zip(by, values, strict=True)]
    allowed = [row for row, other in zip(made, values, strict=True) if sums.form.value != "counts" or min(other) >= 0]
    raw = np.column_stack([by, values]).astype(float)
    rows = Rows(raw)
    rows.recode(Recode(lambda matrix: matrix[:, 2:]))
    assert rows.sums(lambda block: [Scaled(block.raw[:, :2])], [sums])[0] == exactly(
        sums, [row for row in allowed if min(row) >= 0 or sums.form.value != "counts"]
    )
    squares = gram(2, 40)
    assert rows.sums(lambda _: [Scaled()], [squares]) == [exactly(squares, values.tolist())]


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 0.5, 2.0**53, -(2.0**60), 1e300, -1e300, 3.0, -3.0], ids=str)
@pytest.mark.parametrize("sums", [vector(2, 8), gram(2, 8), counts(2, 2)], ids=str)
def test_a_row_that_breaks_a_limit_adds_nothing(bad: float, sums: Sums) -> None:
    """Wherever the number stands, and beside whatever other one."""
    for other in (0.0, 1.0, 1e300):
        for row in ([bad, other], [other, bad]):
            raw = np.array([[1.0, 1.0], row])
            expected = exactly(sums, [[1, 1]])
            assert Rows(raw).sums(lambda block: [Vectors(block.raw)], [sums]) == [expected]
            rows = Rows(raw)
            if sums.form.value == "gram":
                assert rows.sums(lambda _: [Scaled()], [sums]) == [expected]
            else:
                assert rows.sums(lambda block: [Scaled(np.ones((len(block.raw), 1)))], [sums]) == [expected]
                by = Rows(np.column_stack([raw, np.ones(2)]))
                by.recode(Recode(lambda matrix: matrix[:, 2:]))
                assert by.sums(lambda block: [Scaled(block.raw[:, :2])], [sums]) == [expected]


def test_nothing_is_added_just_above_a_limit() -> None:
    """Squares that floats would round: 2**52 is a limit that is kept, one more is not."""
    at, above = [WIDE, 0], [WIDE, 1]
    sums = vector(2, LONGEST)
    assert Rows(table([at])).sums(lambda block: [Vectors(block.raw)], [sums]) == [[WIDE, 0]]
    assert Rows(table([above])).sums(lambda block: [Vectors(block.raw)], [sums]) == [[0, 0]]


def test_sums_beyond_the_exact_floats() -> None:
    """The largest vectors there can be, in more rows than one addition may take."""
    many = 3 * rooms.ROWS_AT_A_TIME + 5
    raw = np.full((many, 1), float(WIDE))
    raw[::2] = 1 - WIDE
    expected = sum(map(int, raw[:, 0]))
    assert Rows(raw).sums(lambda block: [Vectors(block.raw)], [vector(1, LONGEST)]) == [[expected]]
    squares = Rows(np.full((many, 1), 8191.0)).sums(lambda block: [Vectors(block.raw)], [gram(1, WIDE)])
    assert squares == [[many * 8191**2]]


def test_a_block_of_long_rows_fits_into_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rooms, "NUMBERS_AT_A_TIME", 16)
    sizes: list[int] = []

    def noted(block: Block) -> list[Vectors]:
        sizes.append(len(block.raw))
        return [Vectors(block.raw)]

    assert Rows(np.ones((70, 3))).sums(noted, [vector(3, 3)]) == [[70, 70, 70]]
    assert sizes == [5] * 14
    sizes.clear()
    Rows(np.ones((2, 20))).sums(noted, [vector(20, 20)])
    assert sizes == [1, 1]
    sizes.clear()
    Rows(np.ones((4, 2))).sums(
        lambda block: [*noted(block), Vectors(np.ones((len(block.raw), 8)))], [vector(2, 2), vector(8, 8)]
    )
    assert sizes == [2, 2]


def test_the_largest_block_adds_up_exactly() -> None:
    assert rooms.ROWS_AT_A_TIME * math.isqrt(LONGEST) < 2**53


def test_other_shapes_than_were_priced_fail() -> None:
    rows = Rows(np.ones((5, 2)))
    wrong: list[tuple[RowFunction, Sums]] = [
        (lambda block: [Vectors(block.raw)], vector(3, 9)),
        (lambda block: [Vectors(block.raw[1:])], vector(2, 9)),
        (lambda block: [Scaled(block.raw)], vector(3, 9)),
        (lambda block: [Scaled(block.raw[1:])], vector(4, 9)),
        (lambda _: [Scaled()], gram(3, 9)),
    ]
    for function, sums in wrong:
        with pytest.raises(ValueError, match="the number of sums differs from the number that was priced"):
            rows.sums(function, [sums])
    for other in (lambda _: [Scaled()], lambda block: [Vectors(block.raw)] * 2, lambda _: []):
        with pytest.raises(ValueError, match=r"only a gram|zip"):
            rows.sums(other, [vector(2, 9)])


@pytest.mark.parametrize("mistake", [lambda raw: np.tile(raw, (3, 1)), lambda raw: raw[1:]], ids=["more", "less"])
@pytest.mark.parametrize("rows", [5, rooms.ROWS_AT_A_TIME + 1])
def test_as_many_rows_are_recoded_as_there_are(mistake: Any, rows: int) -> None:
    """A gram is made of recoded rows alone: each that came back three times would move it by three times its price."""
    with pytest.raises(ValueError, match="number of rows"):
        Rows(np.ones((rows, 2))).recode(Recode(mistake))


def test_rows_are_recoded_one_by_one() -> None:
    def twice(raw: Floats) -> Floats:
        return np.rint(raw * 2)

    raw = np.random.default_rng(6).integers(0, 9, (20, 2)).astype(float)
    assert_row_function(lambda block: [Vectors(block.values)], raw, Recode(twice))
    for some in (raw, raw[:0]):
        rows = Rows(some)
        rows.recode(Recode(twice))
        assert rows.sums(lambda block: [Vectors(block.values)], [vector(2, 4000)]) == [
            [int(2 * x) for x in some.sum(axis=0)]
        ]
        assert rows.raw is some


@pytest.mark.parametrize("mistake", [lambda raw: raw - np.rint(raw.mean(axis=0)), lambda raw: raw[::-1]])
def test_a_function_of_other_rows_is_noticed(mistake: Any) -> None:
    """Planted: a mean over the rows, and rows in another order."""
    raw = np.random.default_rng(7).integers(0, 9, (20, 2)).astype(float)
    with pytest.raises(AssertionError):
        assert_row_function(lambda block: [Vectors(mistake(block.raw))], raw)
    with pytest.raises(AssertionError):
        assert_row_function(lambda block: [Vectors(block.values)], raw, Recode(mistake))


def test_what_is_measured_of_values() -> None:
    block = block_of(np.array([[3.0, -4.0], [0.5, 1.0]]))
    assert block.values.tolist() == [[3, -4], [0, 0]]
    assert (block.squares.tolist(), block.sizes.tolist()) == ([25, 0], [7, 0])


# ------------------------------------------------------------------------------------------------- the rows of a unit


def course(rows: int, unit: str | None = "who", secret: bytes = b"s" * 16) -> Course:
    rounds = priced([[(counts(1), Fraction(1))]], rows, Neighbors.ADD_REMOVE, Fraction(1), Fraction(0)).rounds
    made = Table(name="t", source=Source(kind="memory"), unit=unit, columns={"x": Integer(0, 99)})
    return Course(table=made, columns=(), rows=rows, rounds=rounds, secret=secret)


def test_as_many_rows_of_a_unit_as_were_priced() -> None:
    units = np.array([0, 1, 0, 2, 0, 0, 1])
    raw = np.arange(7.0)[:, None]
    for rows in (1, 2, 3, 4):
        kept = bounded(raw, units, course(rows))
        assert sorted(set(kept)) == list(kept)
        found = dict(zip(*np.unique(units[kept], return_counts=True), strict=True))
        assert found == {0: min(4, rows), 1: min(2, rows), 2: 1}


def test_which_rows_depends_on_the_unit_and_the_secret_alone() -> None:
    raw = np.arange(60.0)[:, None] % 17
    units = np.repeat(np.arange(6), 10)
    order = np.random.default_rng(8).permutation(60)

    def of_unit(some: Any, names: Any, secret: bytes = b"s" * 16) -> list[float]:
        kept = bounded(raw[some], names, course(3, secret=secret))
        return sorted(raw[some][kept][names[kept] == 4][:, 0].tolist())

    alone = of_unit(units == 4, units[units == 4])
    assert of_unit(slice(None), units) == alone
    assert of_unit(order, units[order]) == alone
    assert of_unit(units != 2, units[units != 2]) == alone
    chosen = {tuple(of_unit(slice(None), units, secret=bytes([n]) * 16)) for n in range(40)}
    assert len(chosen) > 20


def test_every_row_of_a_unit_may_be_kept() -> None:
    raw, units = np.arange(4.0)[:, None], np.zeros(4, int)
    found = [int(bounded(raw, units, course(1, secret=n.to_bytes(16)))[0]) for n in range(200)]
    assert min(np.bincount(found, minlength=4)) > 20  # 50 are expected of each; fewer than 21 has a chance below 1e-6


def test_rows_in_memory() -> None:
    raw = np.ones((6, 1))
    units = np.array([0, 0, 0, 1, 1, 1])
    assert len(HeldRows(raw).rows(course(1, unit=None)).raw) == 6
    kept = HeldRows(raw, units).rows(course(2))
    assert len(kept.raw) == 4
    assert kept.units is not None
    assert sorted(kept.units.tolist()) == sorted(2 * units[:1].tolist() + 2 * units[-1:].tolist())
    assert HeldRows(raw).rows(course(1, unit=None)).units is None
    with pytest.raises(ValueError, match="not declared, or not given"):
        HeldRows(raw).rows(course(2))
    with pytest.raises(ValueError, match="not declared, or not given"):
        HeldRows(raw, units).rows(course(1, unit=None))
    assert len(HeldRows(raw[:0], units[:0]).rows(course(2)).raw) == 0

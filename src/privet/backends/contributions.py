"""TRUSTED: what each row adds in a round of a learner, checked and summed in whole numbers.

Numbers are floats that hold whole numbers, because linear algebra on floats is fast. It is exact here: a row whose
vector is longer than declared adds nothing, and so few rows are added at a time that no sum can pass 2**53.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from privet.core.claim import claim
from privet.core.rounds import Form, Sums
from privet.typing import Floats, Integers, Truths

ROWS_AT_A_TIME = 2**11  # numbers of a row that is kept are at most 2**26, so a block adds up to at most 2**37: exact
NUMBERS_AT_A_TIME = 2**24  # of one vector of a block: more take too much memory
QUIET = np.errstate(all="ignore")  # a warning would tell of a row


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Some rows. `raw` is what was read; `values` is what they were recoded to, with the squared length and the sum of
    absolute values of each row."""

    raw: Floats
    values: Floats
    squares: Floats
    sizes: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Vectors:
    """A row adds its row of this matrix; to a gram the products of two numbers of it."""

    matrix: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Scaled:
    """A row adds each of its numbers here times each of its values: `size` is their product, the former slower. To a
    gram the products of its values, if this is `None`."""

    by: Floats | None = None


RowFunction = Callable[[Block], Sequence[Vectors | Scaled]]


@dataclass(frozen=True, slots=True)
class Recode:
    """No release: from now on the values of a row are what this gives of its `raw` ones, whole numbers."""

    function: Callable[[Floats], Floats]


Lesson = Generator[Recode | RowFunction, list[list[int]], Any]  # sent nothing after a `Recode`


class Rows:
    """The bounded rows of a course. Each row of what a row function gives must depend on that row alone. `units` has
    for each row the number of its unit, for work that looks at all rows of a unit together; None: each row is one.
    `folds` has for each row the fold of its unit."""

    def __init__(self, raw: Floats, units: Integers | None = None, folds: Integers | None = None) -> None:
        self._raw, self.units, self._folds = raw, units, folds
        self._recoded: list[tuple[Floats, Floats, Floats]] = []  # piece by piece; none: values are the raw ones

    @property
    def raw(self) -> Floats:
        return self._raw

    @claim("folds-price")
    def apart(self, fold: int) -> tuple[Rows, Rows]:
        """The rows of all other folds, and those of this one."""
        if self._folds is None:
            raise ValueError("these rows are not in folds")
        own = self._folds == fold
        return Rows(self._raw[~own]), Rows(self._raw[own])

    @claim("row-functions")
    @QUIET
    def recode(self, step: Recode) -> None:
        self._recoded = []  # makes room
        self._recoded = [_recoded(step, raw) for raw in self._pieces()]

    @claim("exact-row-sums")
    @QUIET
    def sums(self, function: RowFunction, measured: Sequence[Sums]) -> list[list[int]]:
        """Of each vector the exact sum over all rows."""
        at_a_time = max(NUMBERS_AT_A_TIME // max(one.size for one in measured), 1)
        totals = [np.zeros(one.numbers, object) for one in measured]
        for block in self._blocks(at_a_time):
            added = zip(measured, function(block), strict=True)
            found = [_sum(one, given, block).astype(np.int64) for one, given in added]
            totals = [total + more for total, more in zip(totals, found, strict=True)]
        return [[int(number) for number in total] for total in totals]

    def _pieces(self) -> Iterator[Floats]:
        return (self._raw[at : at + ROWS_AT_A_TIME] for at in range(0, len(self._raw), ROWS_AT_A_TIME))

    def _blocks(self, at_a_time: int) -> Iterator[Block]:
        for raw, recoded in itertools.zip_longest(self._pieces(), self._recoded):
            columns = (raw, *(recoded or _measured(raw)))
            for start in range(0, len(raw), at_a_time):
                yield Block(*(column[start : start + at_a_time] for column in columns))


def _recoded(step: Recode, raw: Floats) -> tuple[Floats, Floats, Floats]:
    found = _measured(step.function(raw))
    if len(found[0]) != len(raw):  # a row that came back twice would count twice
        raise ValueError("the number of rows differs from the number that was recoded")
    return found


def _measured(values: Floats) -> tuple[Floats, Floats, Floats]:
    """Rows that are not whole numbers become 0. Squares and sums above 2**53 may be off, but stay above it."""
    whole = np.isfinite(values).all(axis=1)
    whole &= (np.rint(values) == values).all(axis=1)
    if not whole.all():
        values = np.where(whole[:, None], values, 0.0)
    values = np.ascontiguousarray(values, np.float64)
    return values, np.einsum("ij,ij->i", values, values), np.abs(values).sum(axis=1)


@claim("exact-row-sums")
def _sum(sums: Sums, given: Vectors | Scaled, block: Block) -> Floats:
    """Rows that break what was declared are left out: that is decided for each row by itself, exactly."""
    if isinstance(given, Vectors):
        matrix, squares, sizes = _measured(given.matrix)
        _check_shape(matrix.shape, (len(block.values), sums.size))
        kept = _kept(sums, squares, sizes, matrix)
        matrix = matrix if kept.all() else np.where(kept[:, None], matrix, 0.0)
        return (matrix.T @ matrix).ravel() if sums.form is Form.GRAM else matrix.sum(axis=0)
    values = block.values
    if sums.form is Form.GRAM:
        _check_shape(values.shape[1:], (sums.size,))
        kept = _kept(sums, block.squares, block.sizes, values)
        values = values if kept.all() else np.where(kept[:, None], values, 0.0)
        return (values.T @ values).ravel()
    if given.by is None:
        raise ValueError("only a gram is made of values alone")
    by, squares, sizes = _measured(given.by)
    _check_shape((len(by), by.shape[1] * values.shape[1]), (len(values), sums.size))
    kept = _kept(sums, squares * block.squares, sizes * block.sizes, by)
    if sums.form is Form.COUNTS:
        kept &= (values >= 0).all(axis=1)
    return (by.T @ (values if kept.all() else np.where(kept[:, None], values, 0.0))).ravel()


def _kept(sums: Sums, squares: Floats, sizes: Floats, matrix: Floats) -> Truths:
    kept = (squares <= sums.l2_squared) & (sizes <= sums.l1)
    return kept & (matrix >= 0).all(axis=1) if sums.form is Form.COUNTS else kept


def _check_shape(found: tuple[int, ...], wanted: tuple[int, ...]) -> None:
    if found != wanted:
        raise ValueError("the number of sums differs from the number that was priced")

"""Mechanisms that spend a little more than they claim: by a factor of 1.2 to 1.5, each in its own way.

Each is made with its factor. With a factor of 1 it is sound, and as bad as its claim allows: the twin that is easiest
to flag by mistake. `WEAK` has them by name: how to make one, its domain, its claim and the factor.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from privet.audits import Claim, Domain, People, Rows

Draw = np.random.Generator
Mechanism = Callable[[Any, int], Any]  # data and how many outputs
CAP, ODD, START, ROWS, OPTIONS = 10, 57, 23, 4, 4
TAIL = 4  # from here on noise falls off faster
RARE = 0.1


def noise(draw: Draw, scale: float, size: Any) -> Any:
    """Discrete Laplace: the difference of two geometric numbers."""
    chance = -np.expm1(-1 / scale)
    return draw.geometric(chance, size) - draw.geometric(chance, size)


def one_value(draw: Draw, factor: float) -> Mechanism:
    """A sum of values up to 10; one value of 101 counts a little more."""
    worth = [min(value, CAP) for value in range(101)]
    worth[ODD] = round(CAP * factor)
    return lambda data, size: sum(worth[value] for value in data) + noise(draw, CAP, size)


def from_a_number_on(draw: Draw, factor: float) -> Mechanism:
    """A sum of 0s and 1s, in tenths; the 23rd record and later ones count a little more."""
    more = round(CAP * factor)
    return lambda data, size: CAP * sum(data[: START - 1]) + more * sum(data[START - 1 :]) + noise(draw, CAP, size)


def half_open(draw: Draw, factor: float) -> Mechanism:
    """Noise for a record that comes or goes, and a bit: as if values from -1 to 1 moved a sum by less than 2."""
    return lambda data, size: sum(data) + noise(draw, 2 / factor, size)


def tails(draw: Draw, factor: float) -> Mechanism:
    """Noise that falls off faster from 4 on, on both sides."""

    def sums(data: list[int], size: int) -> Any:
        plain = noise(draw, 1, size)
        beyond = np.abs(plain) >= TAIL
        faster = TAIL + draw.geometric(-np.expm1(-factor), size) - 1
        return sum(data) + np.where(beyond, np.sign(plain) * faster, plain)

    return sums


def three_answers(draw: Draw, factor: float) -> Mechanism:
    """Three counts of the same people: each alone is within its third, together they are not."""
    return lambda data, size: sum(data) + noise(draw, 3 / factor, (size, 3))


def rare_branch(draw: Draw, factor: float) -> Mechanism:
    """One call in ten takes another way, with less noise, and shows it."""

    def sums(data: list[int], size: int) -> Any:
        rare = draw.random(size) < RARE
        value = np.where(rare, noise(draw, 1 / factor, size), noise(draw, 1, size)) + sum(data)
        return np.stack([rare, value], axis=1).astype(np.int64)

    return sums


def below_zero(draw: Draw, factor: float) -> Mechanism:
    """A sum of -1, 0 and 1, in tenths; negative values count a little more."""
    less = round(CAP * factor)
    return lambda data, size: sum(v * (less if v < 0 else CAP) for v in data) + noise(draw, CAP, size)


def rows_of_a_person(draw: Draw, factor: float) -> Mechanism:
    """Noise for 4 rows of a person; more are kept (off by one)."""
    most = round(ROWS * factor)

    def sums(rows: list[tuple[int, int]], size: int) -> Any:
        kept: dict[int, list[int]] = {}
        for person, value in rows:
            kept.setdefault(person, []).append(value)
        return sum(sum(values[:most]) for values in kept.values()) + noise(draw, ROWS, size)

    return sums


def response(draw: Draw, factor: float) -> Mechanism:
    """Randomized response to whether a value is there, with a little too much truth."""
    return lambda data, size: draw.random(size) < 1 / (1 + np.exp(factor - 2 * factor * (ODD in data)))


def normal(draw: Draw, factor: float) -> Mechanism:
    """A mean's sum with normal noise, in steps of 1/64."""
    return lambda data, size: np.round(64 * (sum(data) + draw.normal(0, 1 / factor, size))) / 64


def choice(draw: Draw, factor: float) -> Mechanism:
    """The most frequent of four options, by the exponential mechanism of counts, in which one person moves two."""

    def chosen(data: list[int], size: int) -> Any:
        weights = np.exp(factor * np.bincount(np.array(data, np.int64), minlength=OPTIONS) / 2)
        return draw.choice(OPTIONS, size, p=weights / weights.sum())

    return chosen


def two_cells(draw: Draw, factor: float) -> Mechanism:
    """A histogram in which a person can move from one cell to another, with too little noise for both."""

    def cells(data: list[int], size: int) -> Any:
        return np.bincount(np.array(data, np.int64), minlength=3) + noise(draw, 2 / factor, (size, 3))

    return cells


@dataclass(frozen=True, slots=True)
class Weak:
    """A kind of mechanism, its domain, and the factor by which it spends more than epsilon (or mu) 1."""

    make: Callable[[Draw, float], Mechanism]
    domain: Domain
    factor: float
    claim: Claim = Claim(1)  # noqa: RUF009 -- frozen


REPLACE = "replace"
WEAK: dict[str, Weak] = {
    "one value of 101": Weak(one_value, Rows(list(range(101))), 1.3),
    "from 23 records on": Weak(from_a_number_on, Rows([0, 1]), 1.4),
    "sum, replace": Weak(half_open, Rows([-1, 0, 1], neighbors=REPLACE), 1.25),
    "tails": Weak(tails, Rows([0, 1]), 1.5),
    "three answers together": Weak(three_answers, Rows([0, 1]), 1.25),
    "a rare branch": Weak(rare_branch, Rows([0, 1]), 1.5),
    "negative values": Weak(below_zero, Rows([-1, 0, 1]), 1.3),
    "one row too many": Weak(rows_of_a_person, People([0, 1]), 1.25),
    "randomized response to one value": Weak(response, Rows(list(range(101))), 1.2),
    "normal noise": Weak(normal, Rows([0, 1]), 1.25, Claim(mu=1)),
    "exponential choice, replace": Weak(choice, Rows(list(range(OPTIONS)), neighbors=REPLACE), 1.4),
    "histogram, replace": Weak(two_cells, Rows([0, 1, 2], neighbors=REPLACE), 1.2),
}

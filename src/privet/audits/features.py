"""Features of an output: one column made of all its parts. Those of a whole vector show what no part shows alone.

Differences of parts show noise that two parts share; the order of parts and the largest of them, what a choice gave
away; the two learnt scores add up what many parts say a little of. They learn from draws that are not used to test.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from privet.audits.outputs import MISSING, PLAIN, Numbers, OutputColumn, OutputReader, Outputs
from privet.typing import Floats, Words

Pair = tuple[Outputs, Outputs]

COARSE = 12  # intervals a part is cut into, for a score
SMOOTH = 0.5
RIDGE = 1e-10
ORDERED = 5  # parts whose whole order is looked at: 120 orders


@dataclass(frozen=True, slots=True, eq=False)
class Feature:
    """A column made from outputs, and its name in words."""

    words: str
    column: Callable[[Outputs], OutputColumn]


def part(place: int, reader: OutputReader) -> Feature:
    width = reader.width
    return Feature(reader.place(place), lambda outputs: outputs.widened(width).part(place))


def structure() -> Feature:
    def column(outputs: Outputs) -> OutputColumn:
        return OutputColumn(np.zeros(len(outputs), np.int64), outputs.shapes)

    return Feature("the structure of the output", column)


def difference(one: int, other: int, reader: OutputReader) -> Feature:
    width = reader.width

    def column(outputs: Outputs) -> OutputColumn:
        a, b = (outputs.widened(width).part(place) for place in (one, other))
        with np.errstate(all="ignore"):  # of numbers that are not there
            apart = a.numbers - b.numbers
        if a.tokens is None or b.tokens is None:
            return OutputColumn(apart)
        both = (a.tokens == PLAIN) & (b.tokens == PLAIN)
        return OutputColumn(np.where(both, apart, 0), np.where(both, PLAIN, MISSING).astype(np.int32))

    return Feature(f"{reader.place(one)} − {reader.place(other)}", column)


def whole(reader: OutputReader) -> Feature:
    """Every output with a number of its own, the same for the same output: a linear hash of 64 bits.

    Two outputs that share a number would be counted as one event, which is an event too.
    """
    width = reader.width

    def column(outputs: Outputs) -> OutputColumn:
        wide = outputs.widened(width)
        bits = np.ascontiguousarray(wide.numbers.astype(np.float64) + 0.0).view(np.uint64)
        found = _mixed(bits) @ _odd_weights(width, 1)
        found += outputs.shapes.astype(np.uint64) * _odd_weights(1, 3)
        if wide.tokens is not None:
            found += wide.tokens.astype(np.uint64) @ _odd_weights(width, 2)
        return OutputColumn(found.view(np.int64))

    return Feature("output", column)


def examples(reader: OutputReader, feature: Feature, rank: Pair) -> Callable[[int], str]:
    """What the numbers of whole outputs stand for, in words, when somebody wants to know."""

    def words(number: int) -> str:
        places = ((outputs, np.flatnonzero(feature.column(outputs).numbers == number)) for outputs in rank)
        return next(reader.words(outputs, int(rows[0])) for outputs, rows in places if len(rows))

    return words


def _mixed(bits: Words) -> Words:
    """Doubles differ in their high bits; products need them in the low ones."""
    return np.asarray(bits ^ (bits >> np.uint64(32)) ^ (bits >> np.uint64(47)), np.uint64)


def _odd_weights(width: int, seed: int) -> Words:
    return np.random.default_rng(seed).integers(0, 2**63, width, dtype=np.uint64) * np.uint64(2) + np.uint64(1)


# --- of all numbers of an output ---


def matrix(outputs: Outputs, width: int, absent: float = 0.0) -> Floats:
    """The numbers as doubles, with `absent` where there is none."""
    wide = outputs.widened(width)
    values = wide.numbers.astype(np.float64)
    return values if wide.tokens is None else np.where(wide.tokens == PLAIN, values, absent)


def summaries(reader: OutputReader) -> list[Feature]:
    """The plain functions of a vector."""
    width = reader.width
    found: dict[str, Callable[[Outputs], Numbers]] = {
        "the sum of the parts": lambda outputs: matrix(outputs, width).sum(axis=1),
        "the largest part": lambda outputs: matrix(outputs, width, -np.inf).max(axis=1),
        "the smallest part": lambda outputs: matrix(outputs, width, np.inf).min(axis=1),
        "the place of the largest part": lambda outputs: matrix(outputs, width, -np.inf).argmax(axis=1),
        "the place of the smallest part": lambda outputs: matrix(outputs, width, np.inf).argmin(axis=1),
        "the range of the parts": lambda outputs: np.ptp(matrix(outputs, width), axis=1),
        "the sum of the squares": lambda outputs: (matrix(outputs, width) ** 2).sum(axis=1),
        "the number of different parts": lambda outputs: _different(matrix(outputs, width, np.inf)),
        "the gap below the largest part": lambda outputs: _gap(matrix(outputs, width, -np.inf)),
        "the number of rises": lambda outputs: (np.diff(matrix(outputs, width), axis=1) > 0).sum(axis=1),
    }
    if width <= ORDERED:
        found["the order of the parts, as a number,"] = lambda outputs: _order(matrix(outputs, width, np.inf))
    return [Feature(words, _quiet(numbers)) for words, numbers in found.items()]


def _quiet(numbers: Callable[[Outputs], Numbers]) -> Callable[[Outputs], OutputColumn]:
    def column(outputs: Outputs) -> OutputColumn:
        with np.errstate(all="ignore"):
            values = numbers(outputs)
        return OutputColumn(
            np.nan_to_num(values, nan=0.0, posinf=np.inf, neginf=-np.inf) if values.dtype == float else values
        )

    return column


def _different(values: Floats) -> Numbers:
    return np.asarray((np.diff(np.sort(values, axis=1), axis=1) != 0).sum(axis=1) + 1)


def _gap(values: Floats) -> Numbers:
    top = np.sort(values, axis=1)[:, -2:]
    return np.asarray(top[:, 1] - top[:, 0])


def _order(values: Floats) -> Numbers:
    places = np.argsort(values, axis=1, kind="stable")
    return np.asarray(places @ (10 ** np.arange(values.shape[1])[::-1]))


# --- scores that are learnt ---


def direction(reader: OutputReader, rank: Pair) -> Feature:
    """Fisher's linear discriminant: the weighted sum of the parts that differs most, measured in its own noise.

    Noise that parts share in any proportion cancels along some direction, where this looks.
    """
    width = reader.width
    first, second = (_tamed(matrix(part, width)) for part in rank)
    spread = np.cov(first, rowvar=False) + np.cov(second, rowvar=False)
    shift = second.mean(axis=0) - first.mean(axis=0)
    scale = np.sqrt(np.diag(spread)) + 1e-9 * np.abs(shift) + 1e-100  # a part may have no noise at all
    alike = spread / np.outer(scale, scale) + RIDGE * np.eye(width)
    weights = np.linalg.lstsq(alike, shift / scale, rcond=None)[0] / scale
    return Feature(
        "a weighted sum of the parts",
        _quiet(lambda outputs: _tamed(matrix(outputs, width)) @ weights),
    )


def _tamed(values: Floats) -> Floats:
    return np.clip(np.nan_to_num(values), -1e50, 1e50)


def score(reader: OutputReader, rank: Pair, *, in_order: bool) -> Feature:
    """Naive Bayes: the sum over the parts of log-ratios of counts in intervals. What k parts say adds up in it.

    `in_order` sorts the parts by size first, for outputs that come in a random order.
    """
    width = reader.width

    def values(outputs: Outputs) -> Floats:
        found = matrix(outputs, width, np.inf)
        return np.sort(found, axis=1) if in_order else found

    tables = [_table(first, second) for first, second in zip(*(values(part).T for part in rank), strict=True)]

    def total(outputs: Outputs) -> Floats:
        found = np.zeros(len(outputs))
        for (edges, ratios), column in zip(tables, values(outputs).T, strict=True):
            found += ratios[np.searchsorted(edges, column, side="right")]
        return found

    kind = "sorted parts" if in_order else "parts"
    return Feature(f"the sum of the log-ratios of the {kind}", _quiet(total))


def _table(first: Floats, second: Floats) -> tuple[Floats, Floats]:
    """Edges of intervals, and the log-ratio of the second data set to the first in each."""
    both = np.sort(np.concatenate([first, second]))
    edges = np.unique(both[(np.arange(1, COARSE) * len(both)) // COARSE])
    edges = np.unique(np.concatenate([edges, np.nextafter(edges, np.inf)]))  # a value that comes up often is a cell
    counts = [
        np.bincount(np.searchsorted(edges, part, side="right"), minlength=len(edges) + 1) + SMOOTH
        for part in (first, second)
    ]
    return edges, np.asarray(np.log(counts[1] / counts[0]), np.float64)

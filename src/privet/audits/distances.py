"""How far does a function really move between neighbors? Compared exactly, float by float, with what was declared.

Sums of floats round, and the roundings depend on the data and on its order: a sum of values clamped to [low, high] can
move by more than high - low (Casacuberta, Shoemate, Vadhan and Wagaman 2022). Noise calibrated to high - low then keeps
less than it promises.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from typing import Any

import numpy as np

from privet.audits.verdict import CONSISTENT, VIOLATED, Check, Checks
from privet.core.rational import positive, rational, show, whole
from privet.errors import InvalidInputError

NORMS = ("l1", "l2", "linf")
Vector = dict[object, Fraction]
SHOWN = 60  # characters of a data set in words
DIGITS = 17


@dataclass(frozen=True, slots=True)
class _Move:
    """The farthest pair so far. `square` is the distance, squared for l2, so that it is exact."""

    square: Fraction
    words: str

    def further(self, other: _Move) -> _Move:
        return other if other.square > self.square else self


STILL = _Move(Fraction(0), "")


def sensitivity(  # noqa: PLR0913 -- what is audited, and settings by name
    function: Callable[[Any], Any],
    declared: object,
    neighbors: Any,
    *,
    norm: str = "l1",
    order: str = "fixed",
    pairs: int = 500,
    orders: int = 6,
    seed: int = 0,
) -> Checks:
    """Does a deterministic function move by at most `declared` between neighbors? Distances are exact fractions.

    `neighbors` is a pair, a list of pairs, or a domain with `pairs(generator)`, of which `pairs` are tried. With
    order="any" a data set is a bag: the same records in another order are the same data, so that either neighbor is
    tried in several orders, and the farthest of them count.
    The result is a number, a vector, or a mapping (a missing key counts as 0).
    """
    bound = positive(declared, "declared")
    if norm not in NORMS or order not in ("fixed", "any"):
        raise InvalidInputError(
            f"norm must be one of {', '.join(NORMS)} and order 'fixed' or 'any', not {show(norm)} and {show(order)}",
            "write norm='l1', order='fixed'",
            "unknown-choice",
        )
    generator = np.random.default_rng(seed)
    farthest, same, tried, odd = STILL, STILL, 0, ""
    for data, other in _pairs(neighbors, generator, whole(pairs, "pairs", 1)):
        views = [_orders(side, orders, generator) if order == "any" else [side] for side in (data, other)]
        found = [[_vector(function(view)) for view in side] for side in views]
        tried += 1
        if any(isinstance(vector, str) for side in found for vector in side):
            odd = odd or f"not a finite number on {_short(data)} or {_short(other)}"
            continue
        farthest = farthest.further(_farthest(found[0], found[1], views[0], views[1], norm))
        for side, texts in zip(found, views, strict=True):
            same = same.further(_farthest(side, side, texts, texts, norm))
    checks = [_distance_check("distance between neighbors", farthest, bound, norm, tried)]
    if order == "any":
        checks.append(_same_check(same, bound, norm))
    if odd:
        checks.append(Check(name="finite", verdict=VIOLATED, says=f"the function is {odd}", figures={}))
    return Checks(
        subject=f"{norm} sensitivity of at most {float(bound):g}",
        checks=tuple(checks),
        not_tested=(f"pairs other than these {tried:,}",),
    )


def _distance_check(name: str, move: _Move, bound: Fraction, norm: str, tried: int) -> Check:
    limit = bound**2 if norm == "l2" else bound
    broken = move.square > limit
    distance = _root(move.square, norm)
    excess = f", {_over(move.square, bound, norm):.3g} more than declared" if broken else ""
    return Check(
        name=name,
        verdict=VIOLATED if broken else CONSISTENT,
        says=f"the farthest of {tried:,} pairs moved by {distance:.{DIGITS}g}{excess}"
        + (f": {move.words}" if move.words else ""),
        figures={
            "distance": distance,
            "excess": max(0.0, _over(move.square, bound, norm)),
            "declared": float(bound),
            "attained": move.square == limit,
            "pairs": tried,
        },
    )


def _same_check(move: _Move, bound: Fraction, norm: str) -> Check:
    """A result that depends on the order has moved although nobody's data did; more than declared is a violation."""
    distance = _root(move.square, norm)
    says = "the same records in another order gave the same result"
    if move.square:
        says = f"the same records in another order moved the result by {distance:.3g}: {move.words}"
    broken = move.square > (bound**2 if norm == "l2" else bound)
    return Check(
        name="reordered data",
        verdict=VIOLATED if broken else CONSISTENT,
        says=says,
        figures={"distance": distance},
    )


def _farthest(first: list[Any], second: list[Any], left: list[Any], right: list[Any], norm: str) -> _Move:
    best = STILL
    for a, data in zip(first, left, strict=True):
        for b, other in zip(second, right, strict=True):
            distance = _distance(a, b, norm)
            if distance > best.square:
                best = _Move(distance, f"{_short(data)} against {_short(other)}")
    return best


def _distance(a: Vector, b: Vector, norm: str) -> Fraction:
    zero = Fraction(0)
    moves = [abs(a.get(key, zero) - b.get(key, zero)) for key in {**a, **b}]
    if norm == "linf":
        return max(moves, default=zero)
    return sum((move**2 if norm == "l2" else move for move in moves), zero)


def _root(square: Fraction, norm: str) -> float:
    return math.sqrt(square) if norm == "l2" else float(square)


def _over(square: Fraction, bound: Fraction, norm: str) -> float:
    """The distance less the bound; from squares (a - b)(a + b) = a^2 - b^2, so that a small excess is not lost."""
    if norm != "l2":
        return float(square - bound)
    return float((square - bound**2) / (Fraction(math.sqrt(square)) + bound))


def _vector(result: Any) -> Vector | str:
    """Entries by key or place as exact fractions; a text where one is nan or infinite."""
    if isinstance(result, Mapping):
        entries = dict(result.items())
    elif isinstance(result, numbers.Number):
        entries = {0: result}
    elif isinstance(result, str) or not isinstance(result, Iterable):
        raise InvalidInputError(
            f"the function must return numbers, not {show(result)}",
            "return a number, a vector or a mapping to numbers",
            "wrong-output",
        )
    else:
        entries = dict(enumerate(np.asarray(result).reshape(-1).tolist()))
    vector: Vector = {}
    for key, value in entries.items():
        if isinstance(value, float | np.floating):
            if not math.isfinite(value):
                return "not finite"
            vector[key] = Fraction(float(value))  # the double itself, not the decimal it is written as
        else:
            vector[key] = rational(value, "a result of the function")
    return vector


def _pairs(neighbors: Any, generator: np.random.Generator, most: int) -> Iterator[tuple[Any, Any]]:
    if hasattr(neighbors, "pairs"):
        yield from islice(neighbors.pairs(generator), most)
    elif isinstance(neighbors, tuple) and len(neighbors) == 2:
        yield neighbors
    elif isinstance(neighbors, list) and all(isinstance(pair, tuple) and len(pair) == 2 for pair in neighbors):
        yield from neighbors
    else:
        raise InvalidInputError(
            "neighbors must be a pair of data sets, a list of pairs, or a domain",
            "give neighbors=(data, data_without_one), or a domain such as pv.audits.Rows([0, 1])",
            "wrong-shape",
        )


def _orders(data: Any, most: int, generator: np.random.Generator) -> list[Any]:
    """The records as they are, backward, sorted up and down where they can be, and shuffled. Of the same type."""
    if not isinstance(data, list | np.ndarray):
        raise InvalidInputError(
            f"data must be a list of records to be reordered, not {show(data)}",
            "give lists, or order='fixed'",
            "not-a-list",
        )
    size = len(data)
    try:
        rising = sorted(range(size), key=lambda place: data[place])
    except (TypeError, ValueError):  # records without an order
        rising = []
    places = [list(range(size)), list(range(size))[::-1], rising, rising[::-1]]
    places += [generator.permutation(size).tolist() for _ in range(most)]
    kept = [order for order in places if order or size == 0]
    return [data[order] if isinstance(data, np.ndarray) else [data[place] for place in order] for order in kept]


def _short(data: Any) -> str:
    text = str(data.tolist() if isinstance(data, np.ndarray) else data)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}… ({len(data):,} records)"


# --- sums of floats ---


def float_sum(  # noqa: PLR0913 -- what is audited, and settings by name
    function: Callable[[Any], Any] = sum,
    *,
    low: object,
    high: object,
    length: int,
    neighbors: str = "replace",
    order: str = "fixed",
    dtype: str = "float64",
    tries: int = 400,
    seed: int = 0,
) -> Checks:
    """Can a sum of `length` floats in [low, high] move by more than the numbers say? Lists are built to round badly.

    Declared is high - low under "replace", the larger of |low| and |high| under "add-remove". Lists are of Python
    floats that are exact in `dtype`. A violation comes with its list; a clean result means that the search found none.
    """
    ends = (rational(low, "low"), rational(high, "high"))
    if not ends[0] < ends[1] or neighbors not in ("replace", "add-remove") or dtype not in ("float64", "float32"):
        raise InvalidInputError(
            "low must be below high, neighbors 'replace' or 'add-remove', dtype 'float64' or 'float32'",
            "write float_sum(sum, low=0, high=1, length=100)",
            "reversed-range" if ends[0] >= ends[1] else "unknown-choice",
        )
    generator = np.random.default_rng(seed)
    bad = _BadLists(_inside(ends, dtype), whole(length, "length", 2), dtype, neighbors == "replace", generator)
    exact = [Fraction(end) for end in bad.ends]
    declared = exact[1] - exact[0] if bad.replace else max(map(abs, exact))
    found = sensitivity(
        function, declared, list(islice(bad.pairs(), whole(tries, "tries", 1))), order=order, seed=seed, orders=2
    )
    return Checks(
        subject=f"a sum of {bad.length:,} values in [{bad.ends[0]:g}, {bad.ends[1]:g}] moves by {float(declared):g}",
        checks=found.checks,
        not_tested=("lists that the search did not build: a clean result is no proof",),
    )


def _inside(ends: tuple[Fraction, Fraction], dtype: str) -> tuple[float, float]:
    """The range rounded inward to floats of the type."""
    kind = np.dtype(dtype).type
    low, high = (kind(float(end)) for end in ends)
    low = np.nextafter(low, kind(np.inf)) if Fraction(float(low)) < ends[0] else low
    high = np.nextafter(high, kind(-np.inf)) if Fraction(float(high)) > ends[1] else high
    return float(low), float(high)


@dataclass(frozen=True, slots=True)
class _BadLists:
    """Neighboring lists whose sums round in different directions.

    A head brings the running sum near a power of two; one record of it is the low or the high end, so that the two sums
    lie on different sides, where floats have different gaps, or round to even differently. The tail repeats a value
    that is a little more than half a gap beyond a multiple of it: each addition rounds up on one side, and not on the
    other. Random lists come between: one rounding at the end (math.fsum) can be exceeded by them alone.
    """

    ends: tuple[float, float]
    length: int
    dtype: str
    replace: bool
    generator: np.random.Generator

    def pairs(self) -> Iterator[tuple[list[float], list[float]]]:
        while True:
            yield self._neighbors(self._random(), int(self.generator.integers(self.length)))
            lanes = int(self.generator.choice([1, 8]))  # numpy adds eight running sums
            head = int(self.generator.integers(1, max(2, self.length // lanes)))
            records = self._random() if lanes == 1 else [self._near_zero()] * self.length
            places = list(range(0, self.length, lanes))
            for place in places[:head]:
                records[place] = self.ends[1]
            reached = math.fsum(records[place] for place in places[:head]) or self.ends[1]
            for place in places[head:]:
                records[place] = self._tail(reached)
            yield self._neighbors(records, places[int(self.generator.integers(head))])

    def _random(self) -> list[float]:
        low, high = self.ends
        return [self._clip(value) for value in self.generator.uniform(low, high, self.length)]

    def _near_zero(self) -> float:
        return min(max(0.0, self.ends[0]), self.ends[1])

    def _tail(self, reached: float) -> float:
        """Near zero or the low end, and half a gap of the running sum (a little more or less) beyond a multiple."""
        kind = np.dtype(self.dtype).type
        gap = float(np.spacing(kind(abs(reached)))) * 2.0 ** int(self.generator.integers(-1, 2))
        base = math.ceil(self._near_zero() / gap) * gap
        part = float(self.generator.choice([0.5, 0.5 + 2**-10, 0.5 - 2**-10, 0.75]))
        return self._clip(base + part * gap)

    def _clip(self, value: float) -> float:
        rounded = float(np.dtype(self.dtype).type(value))
        return min(max(rounded, self.ends[0]), self.ends[1])

    def _neighbors(self, records: list[float], place: int) -> tuple[list[float], list[float]]:
        low, high = self.ends
        if not self.replace:
            far = low if abs(low) > abs(high) else high
            more = [*records[:place], far, *records[place + 1 :]]
            return more, more[:place] + more[place + 1 :]
        return ([*records[:place], low, *records[place + 1 :]], [*records[:place], high, *records[place + 1 :]])

"""Whole numbers as SQL that cannot overflow: every expression carries its bounds, and they choose its type.

This file and `spelling` know how DuckDB writes things; the rest of the room does not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from privet.core.claim import claim
from privet.core.elementary import floor_root, round_to
from privet.core.expression import Rounding
from privet.errors import RefusedQueryError

NARROW = 2**62  # below it a number is a BIGINT
WIDE = 2**127  # the end of HUGEINT
FEW = 8  # results that are written out one by one
LONGEST = 10_000  # characters of SQL that may be repeated; without a limit nested expressions could grow exponentially


@dataclass(frozen=True, slots=True, kw_only=True)
class Whole:
    """SQL of a whole number from low to high, or NULL; of type HUGEINT if wide, otherwise of BIGINT."""

    sql: str
    low: int
    high: int
    wide: bool = False

    def typed(self, wide: bool) -> str:
        return f"CAST({self.sql} AS HUGEINT)" if wide and not self.wide else self.sql


def constant(number: int) -> Whole:
    if abs(number) >= WIDE:
        raise _too_long()
    wide = abs(number) >= NARROW
    sql = f"CAST({number} AS {'HUGEINT' if wide else 'BIGINT'})"
    return Whole(sql=sql, low=number, high=number, wide=wide)


def plus(a: Whole, b: Whole) -> Whole:
    return _joined("+", a, b, a.low + b.low, a.high + b.high)


def minus(a: Whole, b: Whole) -> Whole:
    return _joined("-", a, b, a.low - b.high, a.high - b.low)


def times(a: Whole, b: Whole) -> Whole:
    ends = [x * y for x in (a.low, a.high) for y in (b.low, b.high)]
    return _joined("*", a, b, min(ends), max(ends))


def scaled(a: Whole, factor: int) -> Whole:
    return a if factor == 1 else times(a, constant(factor))


@claim("exact-integers")
def _joined(sign: str, a: Whole, b: Whole, low: int, high: int) -> Whole:
    if max(abs(low), abs(high)) >= WIDE:
        raise _too_long()
    wide = a.wide or b.wide or max(abs(low), abs(high)) >= NARROW
    return Whole(sql=f"({a.typed(wide)} {sign} {b.typed(wide)})", low=low, high=high, wide=wide)


def quotient(a: Whole, divisor: int) -> Whole:
    """Rounded down. SQL rounds towards zero, so the number is moved above zero first, and back."""
    if divisor == 1:
        return a
    turns = max(0, -(a.low // divisor))
    if a.high + turns * divisor >= WIDE:
        return _long_quotient(a, divisor)
    above = plus(a, constant(turns * divisor)) if turns else a
    whole = _joined("//", above, constant(divisor), above.low // divisor, above.high // divisor)
    return minus(whole, constant(turns)) if turns else whole


def _long_quotient(a: Whole, divisor: int) -> Whole:
    """The same without a sum that would be too long."""
    x = _repeated(a).typed(True)
    sql = f"(CASE WHEN {x} >= 0 THEN {x} // {divisor} ELSE -(-({x} + 1) // {divisor}) - 1 END)"
    return Whole(sql=sql, low=a.low // divisor, high=a.high // divisor, wide=True)


@claim("whole-quotients")
def divided(a: Whole, b: Whole, ratio: Fraction, rounding: Rounding) -> Whole:
    """a / b * ratio, rounded. b is never 0; where it can have both signs, there are two ways."""
    top, bottom = scaled(a, ratio.numerator), scaled(b, ratio.denominator)
    if bottom.low > 0:
        return _over(top, bottom, rounding)
    if bottom.high < 0:
        return _over(scaled(top, -1), scaled(bottom, -1), rounding)
    _repeated(a), _repeated(b)
    below = _over(scaled(top, -1), scaled(replace(bottom, high=-1), -1), rounding)
    above = _over(top, replace(bottom, low=1), rounding)
    wide = below.wide or above.wide
    sql = f"(CASE WHEN {b.sql} < 0 THEN {below.typed(wide)} ELSE {above.typed(wide)} END)"
    return Whole(sql=sql, low=min(below.low, above.low), high=max(below.high, above.high), wide=wide)


def _over(a: Whole, b: Whole, rounding: Rounding) -> Whole:
    """a / b for b > 0, rounded. SQL rounds towards zero."""
    ends = [round_to(rounding, Fraction(x, y)) for x in (a.low, a.high) for y in (b.low, b.high)]
    if rounding is Rounding.NEAREST:
        a, b = plus(scaled(a, 2), _repeated(b)), scaled(b, 2)
    elif rounding is Rounding.UP:
        a = plus(a, minus(_repeated(b), constant(1)))
    found = _joined("//", a, b, min(ends), max(ends))
    if a.low >= 0 or rounding is Rounding.INWARD:
        return found
    x, wide = _repeated(a), found.wide
    below = _joined("//", minus(constant(-1), x), b, 0, -1 - a.low)
    turned = f"-{below.typed(wide)} - {constant(1).typed(wide)}"
    return replace(found, sql=f"(CASE WHEN {x.sql} < 0 THEN {turned} ELSE {found.sql} END)", wide=wide or below.wide)


@claim("whole-quotients")
def root(a: Whole, degree: int) -> Whole:
    """Rounded down, for a >= 0. A float proposes the whole number nearest to the root, and its power decides: it is the
    answer or one more, if the float is off by less than 1/4."""
    most = floor_root(a.high, degree)
    x = _repeated(a).sql
    how = {2: f"sqrt({x})", 3: f"cbrt({x})"}.get(degree, f"pow({x}, CAST('{1 / degree!r}' AS DOUBLE))")
    near = Whole(sql=f"CAST({how.replace(x, f'CAST({x} AS DOUBLE)', 1)} AS BIGINT)", low=0, high=most + 1)
    many = power(near, degree)
    wide = many.wide or a.wide
    sql = f"({near.sql} - CAST(({many.typed(wide)} > {a.typed(wide)}) AS BIGINT))"
    return Whole(sql=sql, low=floor_root(a.low, degree), high=most)


def root_above(a: Whole, degree: int) -> Whole:
    """Rounded up: one more than the root of one less."""
    below = root(kept_within(minus(a, constant(1)), 0, max(a.high - 1, 0)), degree)
    more = plus(below, constant(1))
    sql = f"(CASE WHEN {_repeated(a).sql} = 0 THEN {constant(0).typed(more.wide)} ELSE {more.sql} END)"
    return replace(more, sql=sql, low=0)


def remainder(a: Whole, divisor: int) -> Whole:
    """From 0 to divisor - 1."""
    turns = max(0, -(a.low // divisor))
    above = plus(a, constant(turns * divisor)) if turns else a
    return _joined("%", above, constant(divisor), 0, divisor - 1)


def modulo(a: Whole, divisor: int, low: int, high: int) -> Whole:
    """With the sign of the number, as SQL has it."""
    return _joined("%", a, constant(divisor), low, high)


def power(a: Whole, exponent: int) -> Whole:
    found = a if exponent == 1 else _repeated(a)
    for _ in range(exponent - 1):
        found = times(found, a)
    return found


def shifted_by_part(a: Whole, parts: Sequence[tuple[int, int, int]], low: int, high: int) -> Whole:
    """a and a number that depends on the part (begin, end, number) it lies in, clamped from low to high where needed.

    The parts follow one another. A tree of comparisons, so that few of many are made."""
    if len(a.sql) * len(parts) > LONGEST * FEW:
        raise _too_long()
    leaves = [kept_within(plus(replace(a, low=begin, high=end), constant(by)), low, high) for begin, end, by in parts]
    sql = _tree(a.sql, [(begin, leaf.sql) for (begin, _, _), leaf in zip(parts, leaves, strict=True)])
    return Whole(sql=sql, low=min(leaf.low for leaf in leaves), high=max(leaf.high for leaf in leaves))


def _tree(sql: str, leaves: Sequence[tuple[int, str]]) -> str:
    middle = len(leaves) // 2
    if not middle:
        return leaves[0][1]
    left, right = _tree(sql, leaves[:middle]), _tree(sql, leaves[middle:])
    return f"(CASE WHEN {sql} < {leaves[middle][0]} THEN {left} ELSE {right} END)"


def _repeated(a: Whole) -> Whole:
    if len(a.sql) > LONGEST:
        raise _too_long()
    return a


def repeated(sql: str) -> str:
    """The same, where it will be written more than once."""
    if len(sql) > LONGEST:
        raise RefusedQueryError("functions are nested too deeply", "apply fewer functions to one value", "too-deep")
    return sql


def _too_long() -> RefusedQueryError:
    return RefusedQueryError(
        "a step of the calculation needs too many digits",
        "declare coarser steps, or round to simpler fractions",
        "too-fine",
    )


@claim("exact-integers")
def rounded(a: Whole, ratio: Fraction, rounding: Rounding) -> Whole:
    """a * ratio, rounded. Where the product could be too long there are two ways around it."""
    if rounding is Rounding.INWARD:
        return _inward(a, ratio)
    low, high = round_to(rounding, a.low * ratio), round_to(rounding, a.high * ratio)
    p, q = ratio.numerator, ratio.denominator
    if max(abs(a.low), abs(a.high), 1) * 2 * p + 4 * q < WIDE:
        result = _rounded(a, p, q, rounding)
    elif high - low <= FEW:
        result = _thresholds(_repeated(a), ratio, rounding, range(low, high))
    else:  # whole multiples of the divisor are taken out first
        x = _repeated(a).typed(True)
        sql = f"(CASE WHEN {x} % {q} < 0 THEN {x} % {q} + {q} ELSE {x} % {q} END)"
        rest = Whole(sql=sql, low=0, high=q - 1, wide=True)
        result = plus(scaled(quotient(a, q), p), _rounded(rest, p, q, rounding))
    return replace(result, low=low, high=high)


def _inward(a: Whole, ratio: Fraction) -> Whole:
    """Down above zero, up below it."""
    if a.low >= 0:
        return rounded(a, ratio, Rounding.DOWN)
    if a.high <= 0:
        return rounded(a, ratio, Rounding.UP)
    down, up = (rounded(_repeated(a), ratio, rounding) for rounding in (Rounding.DOWN, Rounding.UP))
    wide = down.wide or up.wide
    sql = f"(CASE WHEN {a.sql} < 0 THEN {up.typed(wide)} ELSE {down.typed(wide)} END)"
    return Whole(sql=sql, low=up.low, high=down.high, wide=wide)


def _rounded(a: Whole, p: int, q: int, rounding: Rounding) -> Whole:
    if q == 1:
        return scaled(a, p)
    if rounding is Rounding.NEAREST:
        return quotient(plus(scaled(a, 2 * p), constant(q)), 2 * q)
    top = scaled(a, p)
    return quotient(plus(top, constant(q - 1)) if rounding is Rounding.UP else top, q)


def _thresholds(a: Whole, ratio: Fraction, rounding: Rounding, results: range) -> Whole:
    """The few possible results, written out: each holds up to the last number that gives it."""
    shift = {Rounding.DOWN: Fraction(1), Rounding.NEAREST: Fraction(1, 2), Rounding.UP: Fraction(0)}[rounding]
    cases = []
    for result in results:
        end = (result + shift) / ratio  # from here on it is more; rounding up, only beyond it
        last = math.floor(end) if rounding is Rounding.UP else math.ceil(end) - 1
        cases.append(f"WHEN {a.sql} <= {last} THEN {constant(result).typed(True)}")
    cases.append(f"WHEN {a.sql} IS NOT NULL THEN {constant(results.stop).typed(True)}")
    return Whole(sql=f"(CASE {' '.join(cases)} END)", low=results.start, high=results.stop, wide=True)


def kept_within(a: Whole, low: int, high: int) -> Whole:
    """Clamped where it can be outside."""
    return a if low <= a.low and a.high <= high else clamped(_repeated(a), low, high)


def clamped(a: Whole, low: int, high: int) -> Whole:
    """Never left out, even where the bounds seem to make it so. A CASE is several times faster than LEAST."""
    bottom, top = constant(low), constant(high)
    wide = a.wide or bottom.wide or top.wide
    x, least, most = a.typed(wide), bottom.typed(wide), top.typed(wide)
    inside = f"CASE WHEN {x} BETWEEN {least} AND {most} THEN {x}"
    sql = f"{inside} WHEN {x} < {least} THEN {least} WHEN {x} > {most} THEN {most} END"
    return Whole(sql=f"({sql})", low=low, high=high, wide=wide)

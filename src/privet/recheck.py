"""TRUSTED: computes the price of a release again, from what its answer carries: `python recheck.py answer.json`.

It uses the standard library only, so it can be copied and run alone. Prices follow from enforced limits and the law of
the noise, in fractions or in decimals rounded up. docs/budgets.md has the format. What is not recognized is refused.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal, localcontext
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

RELATIONS = {"add-remove": "one unit is added or removed", "replace": "one unit is replaced by another"}
PARAMETER = {"laplace": "scale", "gaussian": "variance", "exponential": "rate", "permute-and-flip": "rate"}
NOISE, CHOICE = ("laplace", "gaussian"), ("exponential", "permute-and-flip")
VECTORS = {"vector": 2, "counts": 1, "gram": 1}  # sums of whole rows; replacing doubles squares so many times
LAWS = dict.fromkeys(("count", "sum", "pair", "squares", "people", "distinct", "keys", *VECTORS), NOISE)
LAWS |= dict.fromkeys(("quantile", "min", "max", "top"), CHOICE)
JOINT = {"pair": 2, "squares": 3}  # numbers of a cell that a row divides: (u, v), or (u * u, 2 * u * v, v * v)
FIELDS = ("role", "groups", "rows", "in_all", "cells", "low", "high", "quantile", "law", "threshold")
FRACTION = re.compile(r"[0-9]{1,600}(/[1-9][0-9]{0,599})?")
MOST_PARTS, MOST_NESTED, LARGEST, FINEST = 1_000, 99, 10**500, 2**4_096  # so that no input takes long
UP, DOWN, PI_BELOW = ROUND_CEILING, ROUND_FLOOR, Fraction(314159265358979323846, 10**20)
UNSEEN = """This check cannot see whether the back end enforced these limits and drew this noise.
Tests and audits check that: see docs/testing.md and `privet audit`."""


class Part(NamedTuple):  # what the back end must enforce for one vector of cells, and the noise on it
    role: str
    groups: int
    rows: int
    in_all: int | None
    cells: int | None
    ends: tuple[int, int]  # how far one row moves a cell in each direction, the larger first
    law: str
    parameter: Fraction
    threshold: int | None
    rounds: int | None  # in which some of the cells are chosen


class Sensitivity(NamedTuple):  # the most that one unit changes the vector
    l1: Fraction | int
    l2_squared: Fraction | int
    linf: Fraction | int
    cells: int


class Cost(NamedTuple):  # on the basic gauge and on the zCDP gauge; None is infinite
    epsilon: Fraction | None
    delta: Fraction
    rho: Fraction | None
    rho_delta: Fraction


class Recheck(NamedTuple):
    neighbors: str
    parts: list[tuple[Part, Sensitivity, Cost]]
    price: Cost
    charge: Cost
    problems: list[str]  # why the charge is not enough


def problems(guarantee: object) -> list[str]:
    """Why the charge does not cover the price; empty if it does. Unreadable input is a problem, too: never raises."""
    try:
        return recheck(guarantee).problems
    except ValueError as error:
        return [str(error)]


def recheck(guarantee: object) -> Recheck:
    """Price every part of a guarantee and compare the sum with the charge. Raises ValueError."""
    fields = _fields(guarantee, "the guarantee", ("neighbors", "parts", "cost"))
    neighbors, listed = _one_of(fields["neighbors"], RELATIONS, "neighbors"), fields["parts"]
    if not isinstance(listed, list) or not 1 <= len(listed) <= MOST_PARTS:
        raise ValueError(f"parts must be a list of 1 to {MOST_PARTS:,} parts")
    cost = _fields(fields["cost"], "cost", Cost._fields)
    charge = Cost(*(_fraction(cost[n], n, nullable=n in ("epsilon", "rho")) for n in Cost._fields))
    given = [one for number, part in enumerate(listed, 1) for one in _parts(part, f"part {number}")]
    parts = [(part, moved := sensitivity(part, neighbors), price(part, moved, neighbors)) for part in given]
    total = _sum(cost for _, _, cost in parts)
    return Recheck(neighbors, parts, total, charge, list(_shortages(parts, total, charge)))


def sensitivity(part: Part, neighbors: str) -> Sensitivity:
    """The largest change, exactly, over all units within the limits (docs/claims.md, bounded-contributions)."""
    far, near = part.ends
    limit = part.groups * part.rows if part.in_all is None else part.in_all
    rows, groups = min(part.rows, limit), min(part.groups, limit)
    cells = 2 * groups if part.cells is None else part.cells  # two units touch no more than that
    groups = min(groups, cells)
    most = min(limit, groups * rows)
    full, rest = divmod(most, rows)  # the worst case for squares: full cells, and one cell with the rest
    times = 1 + (neighbors == "replace")
    if part.role in VECTORS:  # a row adds `near` in sum and `far` in squares; only vectors can be opposite
        return Sensitivity(l1 := times * limit * near, times ** VECTORS[part.role] * limit**2 * far, l1, groups)
    if part.role == "top":  # only differences matter: a round's scores move half as far as any two of them move apart
        by = Fraction(times * (far * rows + near * min(rows, limit - rows) * (part.groups > 1)), 2)
        return Sensitivity((part.rounds or 0) * by, (part.rounds or 0) * by**2, by, min(times * groups, cells))
    unit = Sensitivity(far * most, far**2 * (full * rows**2 + rest**2), far * rows, groups)
    if part.role in JOINT:  # a row divides `far` among the numbers of a cell; what goes and what comes do not cancel
        touched = min(JOINT[part.role] * groups, far * most)
        touched = min(times * touched, JOINT[part.role] * cells)
        return Sensitivity(times * unit.l1, times * unit.l2_squared, unit.linf, touched)
    if neighbors == "add-remove":
        return unit
    half = cells // 2  # half of the cells have old rows at the far end, the others new rows
    apart = sum(min(most, min(groups, side) * rows) for side in (half, cells - half))
    l1, l2_squared = (far - near) * apart + 2 * near * most, max(_swaps(part.ends, (full, rows, rest), cells))
    return Sensitivity(l1, l2_squared, (far + near) * rows, min(2 * groups, cells))


def _swaps(ends: tuple[int, int], unit: tuple[int, int, int], cells: int) -> Iterator[int]:
    """Squared changes from one worst unit to another, for each overlap of their cells (linear in the full ones)."""
    (far, near), (full, rows, rest) = ends, unit
    alone, both, mixed = (rows * far) ** 2, (rows * (far + near)) ** 2, (rows * far + rest * near) ** 2
    for over, met in ((0, 0), (1, 0), (2, 0), (0, 1)) if rest else ((0, 0),):  # rests on full cells; on each other
        single = 2 - over - 2 * met if rest else 0  # rests in cells of their own
        fewest, largest = max(0, 2 * full + single + met - cells), full - min(over, 1)
        for shared in (fewest, largest) if fewest <= largest else ():
            rests = over * mixed + met * (rest * (far + near)) ** 2 + single * (rest * far) ** 2
            yield shared * both + (2 * full - 2 * shared - over) * alone + rests


def price(part: Part, moved: Sensitivity, neighbors: str) -> Cost:
    """The cost of this noise on a vector with this sensitivity."""
    if part.role == "keys":
        return (_price_of_keys if part.law == "laplace" else _price_of_gaussian_keys)(part, moved, neighbors)
    (l1, l2_squared, _, _), number, nothing = moved, part.parameter, Fraction(0)
    epsilon, rho = {
        "laplace": (l1 / number, (l1 / number) ** 2 / 2),
        "gaussian": (None, l2_squared / (2 * number)),
        "exponential": (2 * number * l1, number**2 * l2_squared / 2),  # bounded range
        "permute-and-flip": (2 * number * l1, 2 * number**2 * l2_squared),  # only its pure price is known
    }[part.law]
    return Cost(epsilon, nothing, rho, nothing)


def _price_of_keys(part: Part, _: Sensitivity, neighbors: str) -> Cost:
    """A unit moves `groups` counts by 1. A key that no other unit has is shown with the probability of the tail."""
    scale, above, delta = part.parameter, (part.threshold or 0) - 1, Fraction(1)
    epsilon, digits = part.groups / scale, 50 + int(scale).bit_length() // 3
    if above >= 0:  # P[X >= j] = q**j / (1 + q) with q = exp(-1/scale)
        delta = part.groups * _bound(Context.exp, -above / scale, UP, digits)
        delta /= 1 + _bound(Context.exp, -1 / scale, DOWN, digits)
    if neighbors == "replace":  # one unit less, then one more
        least = _bound(Context.exp, -epsilon, DOWN, digits)
        delta, epsilon = delta * (1 + 1 / least) if least else Fraction(1), 2 * epsilon
    return Cost(epsilon, min(delta, Fraction(1)), epsilon**2 / 2, min(delta, Fraction(1)))


def _price_of_gaussian_keys(part: Part, moved: Sensitivity, _: str) -> Cost:
    """Given that no key of one unit alone is shown on either side, zCDP of the other counts: delta has no factor."""
    above = (part.threshold or 0) - 1
    delta = min(part.groups * _tail(part.parameter, above), Fraction(1)) if above > 0 else Fraction(1)
    return Cost(None, delta, moved.l2_squared / (2 * part.parameter), delta)


def _tail(variance: Fraction, start: int) -> Fraction:
    """P[X >= start] or slightly more: eight terms, then an integral, over the law's sum (claim gaussian-tail)."""

    def curve(x: Fraction | int, rounding: str) -> Fraction:
        return _bound(Context.exp, -(Fraction(x) ** 2) / (2 * variance), rounding, 50)

    end = start + 8 - Fraction(1, 2)  # of half a step before the first number that is left; a step, if not convex there
    end -= 0 if end**2 >= variance else Fraction(1, 2)
    rest = curve(end, UP) * 4 * variance / (3 * end + _bound(Context.sqrt, end**2 + 8 * variance, DOWN, 50))
    whole = max(_bound(Context.sqrt, 2 * PI_BELOW * variance, DOWN, 50), 1 + 2 * curve(1, DOWN) + 2 * curve(2, DOWN))
    return (sum(curve(x, UP) for x in range(start, start + 8)) + rest) / whole


def _sum(prices: Iterable[Cost]) -> Cost:
    """The sum of all prices; rounded up where it is finer than any charge can be."""
    total: list[Any] = [Fraction(0)] * 4
    for each in prices:
        total = [None if one is None or more is None else one + more for one, more in zip(total, each, strict=True)]
        total = [n if not n or n.denominator <= FINEST else Fraction(-(-n * FINEST // 1), FINEST) for n in total]
    return Cost._make(total)


def _shortages(parts: Sequence[tuple[Part, Sensitivity, Cost]], price: Cost, charge: Cost) -> Iterator[str]:
    if 0 in (charge.epsilon, charge.rho) or (charge.epsilon is None and charge.rho is None):
        yield "the charge must be above 0 for epsilon and for rho, and finite for at least one of them"
    compared = () if charge.epsilon is None or _covers_basic(parts, price, charge) else ("epsilon", "delta")
    for name in compared + (() if charge.rho is None else ("rho", "rho_delta")):
        paid, due = getattr(charge, name), getattr(price, name)
        if due is None or paid < due:
            instead = f"the {name} that rho {show(price.rho)} implies" if due is None else show(due)
            yield f"the charge is smaller than the price: {name} {show(paid)} instead of {instead}"


def _covers_basic(parts: Sequence[tuple[Part, Sensitivity, Cost]], price: Cost, charge: Cost) -> bool:
    """By sums, but for one zCDP conversion: of the parts without a pure epsilon, or of all but keys that have one."""
    for kept in ([part.role for part, _, _ in parts], ["keys"]):  # these keep their pure epsilon if they have one
        pure = [cost.epsilon is not None and part.role in kept for part, _, cost in parts]
        one, other = (
            _sum(c for (_, _, c), own in zip(parts, pure, strict=True) if own == wanted) for wanted in (True, False)
        )
        left, delta = (charge.epsilon or Fraction(0)) - (one.epsilon or 0), charge.delta - price.delta
        if implies(other.rho, left, delta) if other.rho else min(left, delta) >= 0:
            return True
    return False


def implies(rho: Fraction, epsilon: Fraction, delta: Fraction) -> bool:
    """Whether rho-zCDP gives (epsilon, delta)-DP at the best order. True is certain; False may be wrong by a hair."""
    if epsilon < 0 or delta <= 0 or rho - epsilon > 1_000:
        return False
    beta = _best_order(rho, epsilon)  # order less 1; any value above 0 gives a valid proof
    digits = 50 + int(beta).bit_length() // 3
    at, after = _bound(Context.ln, beta, UP, digits), _bound(Context.ln, beta + 1, DOWN, digits)
    exponent = beta * ((beta + 1) * rho - epsilon) + beta * at - (beta + 1) * after
    return exponent <= _bound(Context.ln, delta, DOWN, digits)


def _best_order(rho: Fraction, epsilon: Fraction) -> Fraction:
    """The root of (2b + 1)rho - epsilon - ln(1 + 1/b), which grows and is concave: Newton's steps from its left."""
    with localcontext(Context(30, DOWN, MIN_EMIN, MAX_EMAX, traps=[])):
        r, e = (Decimal(number.numerator) / number.denominator for number in (rho, epsilon))
        beta = (e - r) / (2 * r) if e > r else (e - r - 2).exp() / (r + 1)
        step, left = beta, 60
        while abs(step) > beta.scaleb(-12) and (left := left - 1):
            step = (e + (1 + 1 / beta).ln() - (2 * beta + 1) * r) / (2 * r + 1 / (beta * (beta + 1)))
            beta += step
        return Fraction(max(1 / Decimal(LARGEST), min(beta, Decimal(LARGEST))))


def _bound(growing: Callable[[Context, Decimal], Decimal], number: Fraction, rounding: str, digits: int) -> Fraction:
    """exp or ln, rounded down or up: decimal is accurate to half a unit of the last digit, and one unit is allowed."""
    if growing is Context.exp and number < -10_000:
        return Fraction(0) if rounding == DOWN else Fraction(1, 10**4_000)
    context = Context(digits, rounding, MIN_EMIN, MAX_EMAX, traps=[])
    value = growing(context, context.divide(number.numerator, number.denominator))
    widened = context.next_minus(value) if rounding == DOWN else context.next_plus(value)
    return Fraction(widened if value else value)  # ln(1) is exactly 0


def _parts(given: object, what: str) -> Iterator[Part]:
    """One; or of quantiles that are chosen one inside the other all choices, level by level. On a level a row is ranked
    in one piece of its cell only; the rows of two units can be in different pieces, as if there were more cells
    (docs/claims.md, nested-quantiles)."""
    law = given.get("law") if isinstance(given, dict) else None
    if not isinstance(given, dict) or not isinstance(law, dict) or law.get("name") != "nested":
        yield _part(given, what)
        return
    shares = _fractions(given.get("quantile"), what)
    rates = _fractions(_fields(law, f"law of {what}", ("name", "rates"))["rates"], what)
    if not shares or shares != sorted({*shares}) or not 0 < shares[0] <= shares[-1] < 1:
        raise ValueError(f"{what}: quantiles one inside the other ascend between 0 and 1")
    far = list(_furthest([(Fraction(0), shares, Fraction(1))]))
    if len(rates) != len(far):
        raise ValueError(f"{what}: there must be a rate for each level")
    groups = _whole(given.get("groups"), f"groups of {what}")
    cells = _whole(given.get("cells"), f"cells of {what}", nullable=True)
    pieces = given if cells is None else {**given, "groups": min(groups, cells), "cells": 2 * cells}
    for level, (share, rate) in enumerate(zip(far, rates, strict=True)):
        own = {"name": "exponential", "rate": str(rate / share.denominator)}
        yield _part({**(pieces if level else given), "quantile": str(share), "law": own}, what)


def _furthest(pieces: list[tuple[Fraction, list[Fraction], Fraction]]) -> Iterator[Fraction]:
    """By how many rows one row moves a rank, level by level: the middle quantile of a piece, which lies between two
    that were chosen before, seeks a share of the rows there."""
    found, inside = [], []
    for low, shares, high in pieces:
        at = (len(shares) - 1) // 2
        share = (shares[at] - low) / (high - low)
        found.append(max(share, 1 - share))
        inside += [(low, shares[:at], shares[at]), (shares[at], shares[at + 1 :], high)]
    if found:
        yield max(found)
        yield from _furthest([piece for piece in inside if piece[1]])


def _fractions(given: object, what: str) -> list[Fraction]:
    if not isinstance(given, list) or len(given) > MOST_NESTED:
        raise ValueError(f"{what} must have lists of at most {MOST_NESTED} fractions")
    return [_fraction(one, f"a number of {what}") for one in given]


def _part(given: object, what: str) -> Part:
    fields = _fields(given, what, FIELDS)
    role = _one_of(fields["role"], LAWS, f"role of {what}")
    law = fields["law"] if isinstance(fields["law"], dict) else {}
    name = _one_of(law.get("name"), LAWS[role], f"law of {what} ({role})")
    law = _fields(law, f"law of {what}", ("name", PARAMETER[name], *["rounds"] * (role == "top")))
    number, rounds = _fraction(law[PARAMETER[name]], f"law of {what}"), law.get("rounds")
    rounds = _whole(rounds, f"rounds of {what}", nullable=role != "top")
    groups, rows, in_all, cells = (_whole(fields[n], f"{n} of {what}", nullable=n in FIELDS[3:5]) for n in FIELDS[1:5])
    threshold = _whole(fields["threshold"], f"threshold of {what}", -LARGEST, nullable=role != "keys")
    if number == 0 or (threshold is not None and role != "keys") or (cells is not None and role == "keys"):
        raise ValueError(f"{what}: {PARAMETER[name]} must be above 0; only keys have a threshold, and no cells")
    once, in_all = role in ("people", "keys"), None if role == "keys" else in_all  # a unit counts once in a cell
    return Part(role, groups, 1 if once else rows, in_all, cells, _ends(fields, what), name, number, threshold, rounds)


def _ends(fields: dict[str, Any], what: str) -> tuple[int, int]:
    role, given = fields["role"], fields["quantile"]
    ranged, least = role in ("sum", "top", *JOINT, *VECTORS), 0 if role in VECTORS else -LARGEST
    low, high = (_whole(fields[n], f"{n} of {what}", least, nullable=not ranged) or 0 for n in ("low", "high"))
    share = _fraction(given, f"quantile of {what}", nullable=role != "quantile")
    if role in JOINT and (low != 0 or high < JOINT[role] - 1):
        raise ValueError(f"{what}: rows of a pair have a low of 0 and a high of 1 or more, those of squares 2 or more")
    if low > high or (share is not None and (role != "quantile" or not 0 < share < 1 or str(share) != given)):
        raise ValueError(f"{what}: low must not exceed high; a quantile is between 0 and 1, in lowest terms")
    high = high**2 if role == "squares" else high  # u + v is at most `high`, and so (u + v)**2 at most its square
    ends = (max(high, 0), max(-low, 0)) if ranged else (2 if role in ("min", "max") else 1, 0)  # min, max: half rows
    ends = (high, low) if role in VECTORS else (share.numerator, share.denominator - share.numerator) if share else ends
    return (max(ends), min(ends)) if any(ends) else (1, 0)  # a sum that is always 0 is priced as a count


def _fields(given: object, what: str, names: Sequence[str]) -> dict[str, Any]:
    if not isinstance(given, dict) or given.keys() != set(names):
        raise ValueError(f"{what} must be an object with exactly these fields: {', '.join(names)}")
    return given


def _one_of(given: object, names: Iterable[str], what: str) -> str:
    if not isinstance(given, str) or given not in names:
        raise ValueError(f"{what} must be one of: {', '.join(names)}")
    return given


def _whole(given: object, what: str, least: int = 1, *, nullable: bool = False) -> Any:
    if not (given is None and nullable) and not (type(given) is int and least <= given <= LARGEST):
        raise ValueError(f"{what} must be a whole number" + (" of 1 or more" if least == 1 else ""))
    return given


def _fraction(given: object, what: str, *, nullable: bool = False) -> Any:
    if not (given is None and nullable) and not (isinstance(given, str) and FRACTION.fullmatch(given)):
        raise ValueError(f'{what} must be a fraction of 0 or more in quotes, for example "3/7"')
    return None if given is None else Fraction(str(given))


def show(number: Fraction | int | None) -> str:
    if number is None or max(number.numerator, number.denominator) < 10**40:
        return "infinite" if number is None else str(number)
    return f"about {Context(10, UP, MIN_EMIN, MAX_EMAX).divide(number.numerator, number.denominator).normalize()}"


def report(found: Recheck) -> str:
    lines = []
    for number, (part, moved, cost) in enumerate(found.parts, 1):
        limits = [f"{n} {x}" for n in (*FIELDS[1:5], "threshold", "rounds") if (x := getattr(part, n)) is not None]
        lines += [f"part {number}, {part.role}: {', '.join(limits)}; one row moves a cell by at most {part.ends[0]}"]
        lines += [f"  noise: {part.law}, {PARAMETER[part.law]} {show(part.parameter)}"]
        lines += [f"  sensitivity: {_in_words(moved)}", f"  price: {_in_words(cost)}"]
    lines += [f"total price if {RELATIONS[found.neighbors]}: {_in_words(found.price)}"]
    lines += [f"charge: {_in_words(found.charge)}"]
    lines += [f"NOT ENOUGH: {problem}" for problem in found.problems] or ["The charge covers the price."]
    return "\n".join([*lines, UNSEEN])


def _in_words(numbers: Sensitivity | Cost) -> str:
    return ", ".join(f"{name} {show(number)}" for name, number in numbers._asdict().items())


def guarantee_of(text: str) -> Any:
    """The guarantee in the JSON of an answer, a model or a model card. Raises ValueError."""
    try:
        return (found := json.loads(text)).get("result", found)["guarantee"]
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError):
        raise ValueError("the input is not the JSON of an answer with a guarantee") from None


def main(arguments: Sequence[str]) -> int:
    """Exit code 0: the charge covers the price; 1: it does not; 2: bad input."""
    try:
        name = " ".join(arguments)
        found = recheck(guarantee_of(sys.stdin.read() if name == "-" else Path(name).read_text(encoding="utf-8-sig")))
    except (OSError, ValueError) as error:
        sys.stderr.write(f"recheck: {error}\n  remedy: give the file from `privet query ... --json`, or - for stdin\n")
        return 2
    sys.stdout.write(report(found) + "\n")
    return min(len(found.problems), 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Proofs about whole numbers that fit linear statements, and the small checker that every proof must pass.

Nothing here solves anything, and nothing but the standard library is used: whoever doubts a proof reads this file.
A proof denies its claim and arrives at a contradiction. It is a tree: a branch splits on a whole number (at most v, or
at least v + 1), and a leaf gives weights under which the weighted rows cannot all hold inside the box of that leaf.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from privet.core.claim import claim

DENIAL = -1  # in place of a row's number: the denied claim
Terms = tuple[tuple[int, int], ...]  # (variable, coefficient)


@dataclass(frozen=True, slots=True)
class ProofRow:
    """low <= sum of coefficient times variable <= high; None is no bound. `source` is the statistic that says so, and
    `part` which number of it."""

    terms: Terms
    low: int | None
    high: int | None
    source: str = ""
    part: str = ""


@dataclass(frozen=True, slots=True)
class System:
    """Whole numbers between `low` and `high`, place by place, for which all rows hold."""

    low: tuple[int, ...]
    high: tuple[int, ...]
    rows: tuple[ProofRow, ...]


@dataclass(frozen=True, slots=True)
class ProofClaim:
    """The sum of the terms is at least `least` in every solution. Without terms and with 1: there is no solution."""

    terms: Terms
    least: int

    def denied(self) -> ProofRow:
        return ProofRow(self.terms, None, self.least - 1)


@dataclass(frozen=True, slots=True)
class Leaf:
    """Whole weights of rows (by number, or DENIAL). A positive one uses the row's low, a negative one its high."""

    weights: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Branch:
    variable: int
    value: int
    below: Leaf | Branch  # variable <= value
    above: Leaf | Branch  # variable >= value + 1


Proof = Leaf | Branch


@dataclass(frozen=True, slots=True)
class Nobody:
    """A step on the way: all these variables are 0. Later steps and proofs build on it."""

    variables: tuple[int, ...]
    proof: Proof

    def claim(self) -> ProofClaim:
        return ProofClaim(tuple((at, -1) for at in self.variables), 0)


@claim("nobody-steps")
def narrowed(system: System, steps: Sequence[Nobody]) -> System | None:
    """The system after the steps, or None if one of them is not proven."""
    for step in steps:
        if not check(system, step.claim(), step.proof) or any(system.low[at] < 0 for at in step.variables):
            return None  # a sum of 0 says that all are 0 only where none is negative
        system = without(system, step.variables)
    return system


@claim("least-steps")
def lifted(system: System, steps: Sequence[tuple[int, int, Proof]]) -> System | None:
    """The system with proven least values (variable, least, proof) as lower ends of the box, or None if one of them is
    not proven. Each is proven about the system itself."""
    low = list(system.low)
    for at, least, proof in steps:
        if not check(system, ProofClaim(((at, 1),), least), proof):
            return None
        low[at] = max(low[at], least)
    return System(tuple(low), system.high, system.rows)


def without(system: System, variables: Sequence[int]) -> System:
    high = list(system.high)
    for at in variables:
        high[at] = min(high[at], 0)
    return System(system.low, tuple(high), system.rows)


@claim("proof-certificate")
def check(system: System, claim: ProofClaim, proof: Proof) -> bool:
    """Whether the proof shows that the claim holds in every solution of the system."""
    if not all(0 <= at < len(system.low) for at, _ in claim.terms):
        return False
    denial = claim.denied()
    todo: list[tuple[Proof, tuple[int, ...], tuple[int, ...]]] = [(proof, system.low, system.high)]
    while todo:
        node, low, high = todo.pop()
        if isinstance(node, Branch):
            at, value = node.variable, node.value
            if not (0 <= at < len(low) and isinstance(value, int)):  # between 1/2 and 3/2 there is 1
                return False
            todo.append((node.below, low, (*high[:at], min(high[at], value), *high[at + 1 :])))
            todo.append((node.above, (*low[:at], max(low[at], value + 1), *low[at + 1 :]), high))
        elif not (_empty(low, high) or _contradicts(system.rows, denial, node, low, high)):
            return False
    return True


def _empty(low: Sequence[int], high: Sequence[int]) -> bool:
    return any(least > most for least, most in zip(low, high, strict=True))


def _contradicts(
    rows: Sequence[ProofRow], denial: ProofRow, leaf: Leaf, low: Sequence[int], high: Sequence[int]
) -> bool:
    """The weighted sum is at least `needed` by the rows, and at most `reached` inside the box: less is impossible."""
    needed = 0
    for number, weight in leaf.weights:
        row = _row(rows, denial, number) if isinstance(weight, int) else None  # no rounding, no overflow
        bound = None if row is None else row.low if weight > 0 else row.high
        if bound is None:
            return False
        needed += weight * bound
    total = weighted(rows, denial, leaf)
    reached = sum(weight * (high[at] if weight > 0 else low[at]) for at, weight in total.items())
    return reached < needed


def _row(rows: Sequence[ProofRow], denial: ProofRow, number: int) -> ProofRow | None:
    if number == DENIAL:
        return denial
    return rows[number] if 0 <= number < len(rows) else None


def weighted(rows: Sequence[ProofRow], denial: ProofRow, leaf: Leaf) -> dict[int, int]:
    """The coefficient of each variable in the weighted sum of rows. Where it is positive, the proof needs a high."""
    total = dict[int, int]()
    for number, weight in leaf.weights:
        for variable, coefficient in (denial if number == DENIAL else rows[number]).terms:
            total[variable] = total.get(variable, 0) + weight * coefficient
    return total


def only(system: System, sources: frozenset[str]) -> System:
    """What these sources say alone. The box stays."""
    return System(system.low, system.high, tuple(row for row in system.rows if row.source in sources))


def leaves(proof: Proof) -> list[Leaf]:
    found, todo = [], [proof]
    while todo:
        node = todo.pop()
        if isinstance(node, Branch):
            todo += [node.below, node.above]
        else:
            found.append(node)
    return found


def rows_used(proof: Proof) -> tuple[int, ...]:
    """The numbers of the rows that a proof rests on."""
    return tuple(sorted({number for leaf in leaves(proof) for number, _ in leaf.weights if number != DENIAL}))


def fits(system: System, values: Sequence[int]) -> bool:
    """Whether these values are a solution."""
    inside = all(low <= value <= high for low, value, high in zip(system.low, values, system.high, strict=True))
    return inside and all(_holds(row, values) for row in system.rows)


def _holds(row: ProofRow, values: Sequence[int]) -> bool:
    total = sum(coefficient * values[at] for at, coefficient in row.terms)
    return (row.low is None or row.low <= total) and (row.high is None or total <= row.high)

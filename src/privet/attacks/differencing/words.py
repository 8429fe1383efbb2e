"""The differencing attack's claims and arithmetic in words."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import lcm

from privet.attacks.differencing.determined import AlikeClasses, SecretRange
from privet.attacks.differencing.queries import PublishedQuery, Queries, Secret
from privet.attacks.proofs.certificate import DENIAL, Branch, Leaf, ProofRow, leaves

MOST_NAMES = 3
MOST_TERMS = 8  # of an arithmetic that somebody would read


def number_text(value: Fraction) -> str:
    """Exact: 61,000 or 12.5 or 1/3."""
    if value.denominator == 1:
        return f"{value.numerator:,}"
    bottom = value.denominator
    while bottom % 2 == 0:
        bottom //= 2
    while bottom % 5 == 0:
        bottom //= 5
    if bottom > 1:
        return f"{value.numerator:,}/{value.denominator:,}"
    decimals = next(places for places in range(1, 10**4) if (value * 10**places).denominator == 1)
    whole, digits = divmod(abs(int(value * 10**decimals)), 10**decimals)
    return f"{'-' if value < 0 else ''}{whole:,}.{digits:0{decimals}}"


def who(classes: AlikeClasses, column: int) -> str:
    names = classes.names[column]
    shown = ", ".join(names[:MOST_NAMES])
    return shown if len(names) <= MOST_NAMES else f"{shown} and {len(names) - MOST_NAMES:,} more"


def value_claim(classes: AlikeClasses, column: int, secret: Secret, steps: int) -> str:
    """What is so of everybody in a class."""
    size, name = classes.sizes[column], who(classes, column)
    if not secret.boolean:
        owner = f"{name}: {secret.name} is" if size == 1 else f"Each of {size:,} people ({name}): {secret.name} is"
        return f"{owner} {number_text(secret.value(steps))}"
    if size == 1:
        return f"{name} {'has' if steps else 'does not have'} {secret.name}"
    return f"{f'All {size:,}' if steps else f'None of {size:,}'} people ({name}) have {secret.name}"


def range_claim(classes: AlikeClasses, column: int, secret: Secret, low: Fraction, high: Fraction) -> str:
    size, name = classes.sizes[column], who(classes, column)
    owner = name if size == 1 else f"Each of {size:,} people ({name})"
    return f"{owner}: {secret.name} is from {number_text(low)} to {number_text(high)}"


def reasoning(queries: Queries, classes: AlikeClasses, found: SecretRange) -> str:
    """The arithmetic, or the bounds, in one line; nothing if nobody would read it."""
    if found.combination is not None:
        return _arithmetic(queries, classes, found)
    if len(found.shown.rows) > MOST_TERMS:
        return f"{len(found.shown.rows):,} answers together, with weights that the certificate lists"
    parts = []
    for _, proof in found.shown.claims:
        if isinstance(proof, Branch):
            parts.append(f"{len(leaves(proof)):,} cases were checked, and no other value fits")
        else:
            parts += _bounds(queries, found, proof)
    return "; ".join(dict.fromkeys(parts))


def _arithmetic(queries: Queries, classes: AlikeClasses, found: SecretRange) -> str:
    """after − before = 5 − 4 = 1"""
    assert found.combination is not None  # noqa: S101
    weights = sorted(found.combination.weights, key=lambda item: item[1] < 0)
    scale = lcm(*(weight.denominator for _, weight in weights))
    if len(weights) > MOST_TERMS:
        return f"{len(weights):,} answers together, with weights that the certificate lists"
    asked = [queries.queries[classes.places[row]] for row, _ in weights]
    sums = [_sum(queries, found.shown.system.rows[row], query) for (row, _), query in zip(weights, asked, strict=True)]
    whole = [int(weight * scale) for _, weight in weights]
    total = sum((times * value for times, (value, _) in zip(whole, sums, strict=True)), Fraction(0)) / scale
    names = _signed(whole, [query.name for query in asked], scale)
    if len(weights) == 1 and scale == 1:
        return f"{names} = {sums[0][1]}"
    return f"{names} = {_signed(whole, [text for _, text in sums], scale)} = {number_text(total)}"


def _signed(whole: Sequence[int], texts: Sequence[str], scale: int) -> str:
    terms = [text if abs(times) == 1 else f"{abs(times)} × {text}" for times, text in zip(whole, texts, strict=True)]
    line = terms[0]
    for times, term in zip(whole[1:], terms[1:], strict=True):
        line += f" {'−' if times < 0 else '+'} {term}"
    return line if scale == 1 else f"({line}) / {scale}"


def _sum(queries: Queries, row: ProofRow, query: PublishedQuery) -> tuple[Fraction, str]:
    """The sum that an exact answer says, and how to write it: a mean times its people."""
    size = queries.size(query)
    total = size * queries.secret.low + (row.low or 0) * queries.secret.step
    if query.measure == "mean" and query.value.low is not None and query.value.low == query.value.high:
        return total, f"{size:,} × {number_text(query.value.low)}"
    return total, number_text(total)


def _bounds(queries: Queries, found: SecretRange, leaf: Leaf) -> list[str]:
    parts = []
    asked = {query.name: query for query in queries.queries}
    for number, weight in leaf.weights:
        if number != DENIAL:
            row = found.shown.system.rows[number]
            size = queries.size(asked[row.source])
            steps = (row.low if weight > 0 else row.high) or 0
            total = number_text(size * queries.secret.low + steps * queries.secret.step)
            side = "at least" if weight > 0 else "at most"
            parts.append(f"{row.source}: {side} {total} in all, of {size:,} {'person' if size == 1 else 'people'}")
    return parts

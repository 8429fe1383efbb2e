"""For tests of the guarantee: the exact numbers behind a release, on vaults that were made for testing.

Such a vault is for ever labelled NOT PRIVATE. Nothing here works on any other.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from privet.core.expression import Value
from privet.core.laws import DiscreteLaplace
from privet.core.loss import Loss
from privet.errors import InvalidInputError
from privet.query import Query


@dataclass(frozen=True, slots=True, kw_only=True)
class ExactPart:
    """One part before its noise: `values` in the order of `Exact.keys`, in whole steps."""

    role: str
    mechanism: str
    scale: Fraction  # of Laplace noise; the variance of Gaussian noise
    loss: Loss
    l1: int
    l2_squared: int
    linf: int
    max_parts_touched: int  # how many cells one unit can change
    step: Fraction
    values: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Exact:
    """All parts of one question. The charge is the sum of their losses."""

    keys: tuple[tuple[Value, ...], ...]
    parts: tuple[ExactPart, ...]


def exact(query: Query, *, key: bytes) -> Exact:
    """What the release of this query would add noise to, with the bounding secret fixed to `key`. Charges nothing."""
    if not query.gate.ledger.terms.testing:
        raise InvalidInputError(
            "exact numbers are for vaults made for testing", "make one with pv.create(..., testing=True)"
        )
    vectors = query.gate.backend.exact(query.task(key))
    parts = [
        ExactPart(
            role=str(part.measure.role),
            mechanism="laplace" if isinstance(part.law, DiscreteLaplace) else "gaussian",
            scale=part.law.scale if isinstance(part.law, DiscreteLaplace) else part.law.variance,
            loss=part.loss,
            l1=part.reach.l1,
            l2_squared=part.reach.l2_squared,
            linf=part.reach.linf,
            max_parts_touched=part.reach.touched,
            step=part.measure.step,
            values=tuple(vector),
        )
        for part, vector in zip(query.question.parts, vectors, strict=True)
    ]
    return Exact(keys=tuple(query.question.outline.cells.keys()), parts=tuple(parts))

"""The exact numbers behind a release, on vaults that were made for testing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from typing import Any, assert_never

from privet.backends import HABITS, Spread
from privet.core.cells import Keys, in_order
from privet.core.laws import Choice, DiscreteGaussian, DiscreteLaplace, Top
from privet.core.loss import Loss
from privet.core.measures import Role
from privet.core.parts import Part
from privet.engine import merged
from privet.errors import InvalidInputError
from privet.query import Query


@dataclass(frozen=True, slots=True, kw_only=True)
class ExactPart:
    """One part before its noise: `values` in the order of `Exact.keys` and then of the rest, or of the rest alone, in
    whole steps.

    Of quantiles, MIN and MAX a value is a list of (number in steps, how many rows have it), and the bounds are for the
    loss of a candidate, see `privet.core.ranks`. Where keys are not public the last part has the units of each key.
    Where groups are chosen by their scores it has the scores of all groups, and so many `rounds`.
    """

    role: str
    mechanism: str
    scale: Fraction  # of Laplace noise; the variance of Gaussian noise; the rate of a choice
    loss: Loss
    l1: int
    l2_squared: int
    linf: int
    max_parts_touched: int  # how many cells one unit can change
    step: Fraction
    values: tuple[Any, ...]
    threshold: int | None = None
    rounds: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Exact:
    """All parts of one question. The charge is the sum of their losses."""

    keys: tuple[Keys, ...]
    parts: tuple[ExactPart, ...]


def exact(query: Query, *, key: bytes, keys: Sequence[Keys] | None = None, way: int = -1) -> Exact:
    """What the release of this query would add noise to, with the bounding secret fixed to `key`. Charges nothing.

    Keys that are not public are all that occur, or those that are given. Where groups are chosen by their scores, they
    are the first ones, or those that are given. Of a question that chooses its limits, first the histogram of rows per
    unit, then the parts with the limits at the place `way`: the last are the declared ones.
    """
    check_testing(query)
    if query.fitting is not None:
        task, then = query.choosing(key), exact(query.ways[way], key=key)
        habits = query.gate.backend.habits(task)[HABITS.index("in_all")]
        return Exact(keys=then.keys, parts=(_part(query.fitting.histogram, merged(habits, task.bins)), *then.parts))
    backend, people, task = query.gate.backend, None, query.task(key)
    scores = None
    if task.top is not None:
        score, law = task.top
        (scores,) = backend.exact(task.scoring(score))
        listed = islice(task.cells.keys(), law.rounds) if keys is None else keys
        task = task.measuring(law.rounds).showing(listed)
    elif task.cells.private:
        people = backend.people(task)
        shown = in_order(people) if keys is None else list(keys)
        people = {one: people.get(one, 0) for one in shown}
        task = query.task(key, shown)
    vectors = [[_plain(value) for value in vector] for vector in backend.exact(task)]
    if people is not None:
        vectors.append(list(people.values()))
    if scores is not None:
        vectors.append(list(scores))
    parts = [
        _part(part, vector[-1:] if part.measure.rest else vector)
        for part, vector in zip(query.priced.parts, vectors, strict=True)
    ]
    return Exact(keys=tuple(task.cells.keys()), parts=tuple(parts))


def check_testing(query: Query) -> None:
    if not query.gate.ledger.terms.testing:
        raise InvalidInputError(
            "exact numbers are for vaults made for testing", "make one: pv.create(..., testing=True)", "not-for-testing"
        )


def check_fixed(query: Query) -> None:
    if query.fitting is not None:
        raise InvalidInputError(
            "this question chooses its limits, so two releases differ in more than their noise",
            "test the question with each of these limits: query.ways",
            "not-supported",
        )


def _part(part: Part, values: list[Any]) -> ExactPart:
    law = part.law
    match law:
        case DiscreteLaplace():
            mechanism, scale = "laplace", law.scale
        case DiscreteGaussian():
            mechanism, scale = "gaussian", law.variance
        case Choice() | Top():
            mechanism, scale = "permute-and-flip" if law.flip else "exponential", law.rate
        case _:
            assert_never(law)
    return ExactPart(
        role=str(part.measure.role),
        mechanism=mechanism,
        scale=scale,
        loss=part.loss,
        l1=part.sensitivity.l1,
        l2_squared=part.sensitivity.l2_squared,
        linf=part.sensitivity.linf,
        max_parts_touched=part.sensitivity.touched,
        step=part.measure.step ** (2 if part.measure.role is Role.SQUARES else 1),
        values=tuple(values),
        threshold=part.threshold,
        rounds=law.rounds if isinstance(law, Top) else None,
    )


def _plain(value: int | Spread) -> Any:
    if isinstance(value, int):
        return value
    return tuple(zip(value.values.tolist(), value.counts.tolist(), strict=True))

"""Groups chosen by their scores, for the fuzzer: how far one unit moves two scores apart, and the chosen groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from random import Random
from typing import Any

from privet.backends import Task, Vector
from privet.backends.reference import Reference
from privet.core.cells import Keys
from privet.core.measures import SCORES, Role
from privet.core.parts import Gauge
from privet.core.shape import LIMIT
from privet.core.top import apart
from privet.core.unit import Neighbors
from privet.estimates.priced import Priced, at_price
from privet.testing import Exact
from support.fuzz_checks import CHANGES, moved

MOST = 4  # groups that are chosen


def choosing(rng: Random, question: Priced) -> Priced | None:
    """The same question with LIMIT, by any of its counts and sums, at a price that nobody could pay; None if it has
    none, or if there is nothing to choose from."""
    scores = [measure for measure in question.measures if measure.role in SCORES]
    if question.cells.private or question.cells.count < 2 or not scores:
        return None
    score = rng.choice(scores)
    limit = rng.randint(1, min(MOST, question.cells.count - 1))
    top = replace(score, role=Role.TOP, score=score.role)
    read = replace(question, plan=replace(question.plan, limit=limit), top=top, parts=())
    return at_price(read, Gauge.EPSILON, [Fraction(LIMIT) ** 3] * len(read.released))


def chosen_keys(rng: Random, question: Priced) -> list[Keys]:
    """Any, in the order of all cells: which they are is public when they are measured."""
    keys, limit = list(question.cells.keys()), question.plan.limit
    assert limit is not None
    return [keys[place] for place in sorted(rng.sample(range(len(keys)), limit))]


class Compared:
    """An engine, compared with the reference: the scores of all cells, and the measures of the chosen ones."""

    def __init__(self, engine: Any, rows: dict[str, Any], plain: Any) -> None:
        self.engine, self.rows, self.plain = engine, rows, plain
        self.wrong: list[str] = []

    def exact(self, task: Task) -> list[Vector]:
        found: list[Vector] = self.engine.exact(task)
        if self.plain(found) != self.plain(Reference(self.rows).exact(task)):
            self.wrong.append(f"replay: {found} for {task}")
        return found


def too_far(question: Priced, relation: Neighbors, pair: tuple[Exact, Exact], reach: Any = apart) -> list[str]:
    """What moves further than is paid for."""
    found = []
    for part, a, b in zip(question.parts, pair[0].parts, pair[1].parts, strict=True):
        for limit, change in zip(CHANGES, moved(part, a, b), strict=True):
            if change > getattr(a, limit):
                found.append(f"sensitivity: {limit} of {a.role} moves by {change} > {getattr(a, limit)}, {relation}")
    far, most = moved_apart(pair), reach(question.parts[-1].measure, question.bounds)
    return [*found, *([f"sensitivity: scores move apart by {far} > {most}, {relation}"] if far > most else [])]


def moved_apart(pair: tuple[Exact, Exact]) -> int:
    moves: Sequence[int] = [b - a for a, b in zip(pair[0].parts[-1].values, pair[1].parts[-1].values, strict=True)]
    return max(moves) - min(moves)

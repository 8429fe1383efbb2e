"""Privet's own engine as a grey box: a real release on one table, and again on a neighbor with all noise frozen.

Both releases run through everything: plan, charge, backend, noise, answer. The gate of each query gets the same
bounding secret, a backend that notes the vectors it gives, and a source of noise that notes what it is asked for. On
the second table the source gives the noise that makes every noisy number what it was on the first: value + noise =
value' + noise'. If the vectors are within reach of each other, noise of the declared law does that at the price paid.

Of keys that are not public, those that only one of the tables has are hidden in both releases: that is what happens but
for delta. How many there are, and that the threshold hides them well enough, is checked by itself.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, assert_never

import numpy as np
import numpy.typing as npt

from privet.answer import Answer
from privet.audits.verdict import CONSISTENT, VIOLATED, Check, Checks
from privet.backends import Backend, Spread, Task, Vector
from privet.core.cells import Keys, in_order
from privet.core.laws import Choice, Choices, DiscreteGaussian, DiscreteLaplace, Top
from privet.core.loss import Loss
from privet.core.measures import Measure, Role
from privet.core.parts import Law, Part
from privet.core.ranks import rank
from privet.core.rational import whole
from privet.core.top import apart
from privet.core.unit import Neighbors
from privet.engine import FreshNoise
from privet.errors import InvalidInputError
from privet.ledger import Entry, Receipt
from privet.query import Query
from privet.testing.exact_vectors import check_fixed, check_testing

CLOSE = 1e-9  # relative; what is computed here in floats may be off by much less
LONG = 10**5  # terms
LIMITS = ("l1", "l2_squared", "linf", "touched")
NOT_TESTED = ("neighbors other than these two tables", "whether noise has its law: see the audits and tests of draws")
Values = dict[Hashable, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class FrozenQuery:
    """One request for noise: the exact value of each cell, and what was released for it."""

    law: Law
    values: Values
    noisy: Values


@dataclass(slots=True, kw_only=True)
class _Source:
    """Fresh noise, noted; or, with an `earlier` list, the noise that gives the same numbers again."""

    query: Query
    common: frozenset[Keys] | None  # keys that both tables have
    earlier: Sequence[FrozenQuery] | None = None
    asked: list[FrozenQuery] = field(default_factory=list)
    waiting: list[Values] = field(default_factory=list)  # vectors that will get noise, in this order
    stray: bool = False  # noise was asked for that belongs to no vector

    def expect_keys(self, people: Mapping[Keys, int]) -> None:
        self.waiting.append({key: people[key] for key in in_order(people)})

    def expect(self, vectors: Sequence[Vector]) -> None:
        for part, vector in zip(self.query.priced.parts, vectors, strict=False):
            if not isinstance(part.law, Choice):
                self.waiting.append(dict(enumerate(vector[-1:] if part.measure.rest else vector)))

    def draw(self, law: Any, size: int) -> npt.NDArray[Any]:
        fresh = FreshNoise().draw(law, size).tolist()
        values = self.waiting.pop(0) if self.waiting else {}
        if len(values) != size:
            self.stray = True
            return np.array(fresh, dtype=object)
        before = self._before()
        noisy: Values = {}
        for (label, value), extra in zip(values.items(), fresh, strict=True):
            if isinstance(label, tuple) and self.common is not None and label not in self.common:
                noisy[label] = self._hidden()
            else:
                noisy[label] = before.get(label, value + extra)
        self.asked.append(FrozenQuery(law=law, values=values, noisy=noisy))
        return np.array([noisy[label] - value for label, value in values.items()], dtype=object)

    def choose(self, spread: Spread, measure: Measure, law: Choice) -> int:
        before = self._before()
        chosen = int(before.get(0, FreshNoise().choose(spread, measure, law)))
        self.asked.append(FrozenQuery(law=law, values={0: spread}, noisy={0: chosen}))
        return chosen

    def top(self, scores: Sequence[int], law: Top) -> list[int]:
        before = self._before()
        places = list(before.get(0, FreshNoise().top(scores, law)))
        self.asked.append(FrozenQuery(law=law, values=dict(enumerate(scores)), noisy={0: tuple(places)}))
        return places

    def choose_all(self, spread: Spread, measure: Measure, law: Choices) -> list[int]:
        chosen: list[int] = list(self._before().get(0, None) or FreshNoise().choose_all(spread, measure, law))
        self.asked.append(FrozenQuery(law=law, values={0: spread}, noisy={0: chosen}))
        return chosen

    def _before(self) -> Values:
        place = len(self.asked)
        return {} if self.earlier is None or place >= len(self.earlier) else self.earlier[place].noisy

    def _hidden(self) -> int:
        threshold = self.query.priced.parts[-1].threshold
        assert threshold is not None  # noqa: S101  the last part of such a question chooses its keys
        return threshold - 1


class _Watched:
    """The query's backend, with the source of noise told what it computes."""

    def __init__(self, backend: Backend, source: _Source) -> None:
        self._backend, self._source = backend, source

    def exact(self, task: Task, written: Any = None) -> list[Vector]:
        found = self._backend.exact(task, written)
        if task.laws:  # or else they are scores, which get no noise
            self._source.expect(found)
        return found

    def people(self, task: Task, written: Any = None) -> dict[Keys, int]:
        found = self._backend.people(task, written)
        self._source.expect_keys(found)
        return found

    def __getattr__(self, name: str) -> Any:
        return getattr(self._backend, name)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Released:
    """One release, as everybody sees it, and what went on inside."""

    asked: Sequence[FrozenQuery]
    stray: bool
    answer: object  # with the digest of the ledger taken out
    failed: bool
    entries: Sequence[Entry]


def replay(first: Query, second: Query, *, key: bytes = b"the same for both", runs: int = 3) -> Checks:
    """The same question on two neighboring tables, in two vaults made for testing in the same way; `runs` times.

    Are noise, charge, text and order the same, is every vector within reach of its neighbor, and does the noise pay for
    that reach? Each run charges both vaults.
    """
    _check(first, second)
    common = _common(first, second, key)
    found = _Found(part_names=[str(part.measure.role) for part in first.priced.parts])
    found.same("before", "what is said before the release", _before(first), _before(second))
    for text in [words for part in first.priced.parts for words in _unpaid(part, first)]:
        found.note("price", text)
    for _ in range(whole(runs, "runs", 1)):
        one = _release(first, key, common, None)
        _compare(first, one, _release(second, key, common, one.asked), found)
    if common is not None:
        _compare_keys(first, second, key, found)
    return found.checks(first, runs)


@dataclass(slots=True, kw_only=True)
class _Found:
    """The first violation of each kind."""

    part_names: Sequence[str]
    first: dict[str, str] = field(default_factory=dict)

    def note(self, name: str, words: str) -> None:
        self.first.setdefault(name, words)

    def same(self, name: str, what: str, one: object, two: object) -> None:
        if one != two:
            self.note(name, f"{what} is {_cut(one)} on one table and {_cut(two)} on the other")

    def checks(self, query: Query, runs: int) -> Checks:
        said = {
            "before": "price, errors and text are the same before the release",
            "requests": f"the same laws and sizes, as the {len(self.part_names)} parts say, in {runs} releases a table",
            "distance": "every vector is within reach of its neighbor: in sum, in squares, in one cell, in cells",
            "price": "the noise of every part pays for its sensitivity, and the charge is the sum of the parts",
            "charge": "the same entries in both ledgers",
            "answer": "columns, order, labels, numbers and text are the same, once the noise is frozen",
            **({"keys": "a person has no more keys of their own than the threshold hides"} if _private(query) else {}),
        }
        made = [
            Check(name=name, verdict=VIOLATED if name in self.first else CONSISTENT, says=self.first.get(name, words))
            for name, words in said.items()
        ]
        return Checks(subject=f"replay of {query.text}", checks=tuple(made), not_tested=NOT_TESTED)


def _check(first: Query, second: Query) -> None:
    for query in (first, second):
        check_testing(query)
        check_fixed(query)
    if first.plan != second.plan:
        raise InvalidInputError(
            "the two questions are not the same", "ask both vaults the same question", "not-comparable"
        )
    sizes = [len(list(query.gate.ledger.entries())) for query in (first, second)]
    if sizes[0] != sizes[1] or first.gate.ledger is second.gate.ledger:
        raise InvalidInputError(
            "the two ledgers do not have the same number of entries", "make and ask both vaults alike", "not-comparable"
        )


def _private(query: Query) -> bool:
    return query.priced.cells.private


def _common(first: Query, second: Query, key: bytes) -> frozenset[Keys] | None:
    if not _private(first):
        return None
    one, two = (query.gate.backend.people(query.task(key)) for query in (first, second))
    return frozenset(one) & frozenset(two)


def _before(query: Query) -> list[object]:
    return [query.explain(), query.cost, query.error, query.request, query.priced.parts]


def _release(
    query: Query, key: bytes, common: frozenset[Keys] | None, earlier: Sequence[FrozenQuery] | None
) -> _Released:
    source = _Source(query=query, common=common, earlier=earlier)
    watched: Any = _Watched(query.gate.backend, source)
    gate = replace(query.gate, backend=watched, noise=source, secret=lambda: key)
    size = len(list(query.gate.ledger.entries()))
    failed = False
    try:
        answer: object = _shown(replace(query, gate=gate).release(fresh=True))
    except Exception as error:
        answer, failed = (type(error).__name__, str(error), repr(error.__cause__), repr(error.__context__)), True
    entries = list(query.gate.ledger.entries())[size:]
    return _Released(asked=source.asked, stray=source.stray, answer=answer, failed=failed, entries=entries)


def _shown(answer: Answer) -> list[object]:
    """All that a reader can see; the digest of the ledger depends on its times."""
    seen = replace(answer, receipt=Receipt(entry=answer.receipt.entry, digest=""))
    return [seen.columns, seen.rows, seen.interval(), str(seen), repr(seen), seen._repr_html_(), seen.to_json()]


def _compare(query: Query, one: _Released, two: _Released, found: _Found) -> None:
    for released in (one, two):
        _check_requests(query, released, found)
    found.same("requests", "the list of requests", *([(a.law, _labels(a)) for a in r.asked] for r in (one, two)))
    found.same(
        "charge", "what the ledger notes", *([(e.kind, e.loss, e.over, e.note) for e in r.entries] for r in (one, two))
    )
    found.same("answer", "the answer", one.answer, two.answer)
    charged = [entry.loss for entry in one.entries if entry.loss is not None]
    total = _sum([part.loss for part in query.priced.parts])
    if not one.failed and charged != [total]:
        found.note("price", f"the parts cost {total} together, and {charged} was charged")
    for part, a, b in _matched(query, one, two):
        _check_distance(part, a, b, found)
        if isinstance(part.law, Top) and a:
            _check_apart(apart(part.measure, query.priced.bounds), a[0], b[0], found)


def _labels(asked: FrozenQuery) -> list[Hashable]:
    """Of keys that are not public only some are in both tables."""
    return [label for label in asked.values if not isinstance(label, tuple)]


def _check_requests(query: Query, released: _Released, found: _Found) -> None:
    """Noise for every part, of its own law, for every number of it; after a failure there may be less."""
    if released.stray:
        found.note("requests", "noise was asked for that belongs to no vector")
    laws = [asked.law for asked in released.asked]
    expected = [part.law for part in _in_order(query) for _ in range(_times(part, query, released))]
    if not released.failed and laws != expected:
        found.note("requests", f"noise was asked for with the laws {laws}; the parts say {expected}")


def _in_order(query: Query) -> list[Part]:
    """Keys are chosen before anything else, and so are the best cells."""
    parts = list(query.priced.parts)
    return [parts[-1], *parts[:-1]] if _private(query) or query.priced.top is not None else parts


def _times(part: Part, query: Query, released: _Released) -> int:
    """One draw for a vector; one choice for a cell."""
    return _cells(query, released) if isinstance(part.law, Choice) else 1


def _cells(query: Query, released: _Released) -> int:
    """How many there are; of keys that are not public, those that were shown and the rest."""
    cells, threshold = query.priced.cells, query.priced.parts[-1].threshold
    if threshold is None:
        return query.priced.setting().limit or cells.count
    shown = [number >= threshold for asked in released.asked[:1] for number in asked.noisy.values()]
    return shown.count(True) + cells.rest


def _matched(query: Query, one: _Released, two: _Released) -> list[tuple[Part, list[FrozenQuery], list[FrozenQuery]]]:
    """For every part its requests on both tables, if both have them all."""
    made, start = [], 0
    for part in _in_order(query):
        stop = start + _times(part, query, one)
        made.append((part, list(one.asked[start:stop]), list(two.asked[start:stop])))
        start = stop
    return [(part, a, b) for part, a, b in made if len(a) == len(b)]


def _check_distance(part: Part, one: Sequence[FrozenQuery], two: Sequence[FrozenQuery], found: _Found) -> None:
    steps = [_apart(part, a, b, label) for a, b in zip(one, two, strict=True) for label in {**a.values, **b.values}]
    far = (sum(steps), sum(step * step for step in steps), max(steps, default=0), sum(step != 0 for step in steps))
    for name, size in zip(LIMITS, far, strict=True):
        limit = getattr(part.sensitivity, name)
        if size > limit:
            words = f"the {part.measure.role} moves by {size} ({name}, in steps of {part.measure.step})"
            found.note("distance", f"{words}; {limit} is paid for")


def _check_apart(most: int, one: FrozenQuery, two: FrozenQuery, found: _Found) -> None:
    """A choice depends on differences between scores alone: how far one moves away from another one."""
    moves = [int(two.values[label]) - int(value) for label, value in one.values.items()]
    if max(moves) - min(moves) > most:
        words = f"a score moves away from another one by {max(moves) - min(moves)}"
        found.note("distance", f"{words}; {most} is paid for")


def _apart(part: Part, one: FrozenQuery, two: FrozenQuery, label: Hashable) -> int:
    if isinstance(part.law, Choice):
        return _losses_apart(part.measure, part.law, one.values[label], two.values[label])
    return abs(int(one.values.get(label, 0)) - int(two.values.get(label, 0)))


def _losses_apart(measure: Measure, law: Choice, one: Spread, two: Spread) -> int:
    """How far the loss of some candidate moves. It is the same between two values, so a few stand for all."""
    near = {int(value) + side for spread in (one, two) for value in spread.values for side in (-1, 0, 1)}
    candidates = {measure.low, measure.high, *(value for value in near if measure.low <= value <= measure.high)}
    return max(abs(_loss(measure, law, one, value) - _loss(measure, law, two, value)) for value in candidates)


def _loss(measure: Measure, law: Choice, spread: Spread, candidate: int) -> int:
    sought = rank(measure, law, int(spread.counts.sum()))
    below = int(spread.counts[spread.values < candidate].sum()) + sought.below * (candidate > measure.low)
    up_to = int(spread.counts[spread.values <= candidate].sum())
    up_to += sought.below + sought.above * (candidate == measure.high)
    return max(sought.unit * below - sought.target, sought.target - sought.unit * up_to)


def _unpaid(part: Part, query: Query) -> list[str]:
    """What is wrong with the noise of a part: its law must pay for its sensitivity, by the mechanisms' formulas."""
    far, loss, law = part.sensitivity, part.loss, part.law
    match law:
        case DiscreteLaplace():
            epsilon = far.l1 / law.scale
            paid = _at_most(epsilon, loss.epsilon) and _at_most(epsilon**2 / 2, loss.rho)
        case DiscreteGaussian():
            paid = _at_most(far.l2_squared / (2 * law.variance), loss.rho) and (loss.epsilon is None or loss.delta > 0)
        case Choice():
            square = law.rate**2 * far.l2_squared / 2
            paid = _at_most(square * (4 if law.flip else 1), loss.rho)
            paid = paid and (loss.delta > 0 or _at_most(2 * law.rate * far.l1, loss.epsilon))
        case Top():
            each = law.rate * apart(part.measure, query.priced.bounds)
            paid = _at_most(law.rounds * each**2 / (2 if law.flip else 8), loss.rho)
            paid = paid and (loss.delta > 0 or _at_most(law.rounds * each, loss.epsilon))
        case _:
            assert_never(law)
    found = [] if paid else [f"the {part.measure.role} reaches {far}; {law} is too little noise for {loss}"]
    if part.measure.role is Role.KEYS and not _hides(part, query):
        found.append(f"a threshold of {part.threshold} does not hide the keys of one person but for {part.loss.delta}")
    return found


def _at_most(price: Any, paid: Any) -> bool:
    return paid is None or price <= paid


def _hides(part: Part, query: Query) -> bool:
    """All keys of a person that nobody else has stay hidden, but for delta.

    Of Laplace noise P[1 + X >= t] = q**(t - 1) / (1 + q) with q = exp(-1 / scale). When a person is replaced, one goes
    and one comes, each at half of epsilon: delta * (1 + e^(epsilon / 2)). Gaussian noise pays for both at once.
    """
    bounds = query.priced.bounds
    assert part.threshold is not None  # noqa: S101
    if isinstance(part.law, DiscreteGaussian):
        shown = bounds.groups * _bell_tail(float(part.law.variance), part.threshold - 1)
    else:
        assert isinstance(part.law, DiscreteLaplace)  # noqa: S101  keys are counted
        assert part.loss.epsilon is not None  # noqa: S101
        log_q = -1 / float(part.law.scale)
        shown = bounds.groups * math.exp((part.threshold - 1) * log_q) / (1 + math.exp(log_q))
        if bounds.neighbors is Neighbors.REPLACE:
            shown *= 1 + math.exp(float(part.loss.epsilon) / 2)
    return part.threshold > 1 and shown <= float(min(part.loss.delta, part.loss.rho_delta)) * (1 + CLOSE)


def _bell_tail(variance: float, start: int) -> float:
    """P[X >= start]: as the sum that it is, or by the normal law where that would be long."""
    far = math.ceil(10 * math.sqrt(variance)) + 2
    if far > LONG:
        return math.erfc((start - 0.5) / math.sqrt(2 * variance)) / 2
    logs = [-x * x / (2 * variance) for x in range(start, start + far)]
    return math.fsum(map(math.exp, logs)) / (
        1 + 2 * math.fsum(math.exp(-x * x / (2 * variance)) for x in range(1, far))
    )


def _compare_keys(first: Query, second: Query, key: bytes, found: _Found) -> None:
    """A person has at most so many keys; one that nobody else has counts one person."""
    one, two = (query.gate.backend.people(query.task(key)) for query in (first, second))
    most = first.priced.bounds.groups
    for here, there in ((one, two), (two, one)):
        lone = [count for name, count in here.items() if name not in there]
        if sum(lone) > most:
            words = f"one table has {len(lone)} keys of {sum(lone)} people that the other lacks"
            found.note("keys", f"{words}; {most} are hidden")


def _sum(losses: Sequence[Loss]) -> Loss:
    """By other code than the engine's."""
    epsilon, rho = [loss.epsilon for loss in losses], [loss.rho for loss in losses]
    return Loss(
        epsilon=None if None in epsilon else sum(epsilon),  # type: ignore[arg-type]
        delta=sum(loss.delta for loss in losses),  # type: ignore[arg-type]
        rho=None if None in rho else sum(rho),  # type: ignore[arg-type]
        rho_delta=sum(loss.rho_delta for loss in losses),  # type: ignore[arg-type]
    )


def _cut(value: object) -> str:
    text = str(value)
    return text if len(text) <= 200 else text[:197] + "..."

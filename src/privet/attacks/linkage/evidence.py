"""The probability that a record belongs to a person, for all pairs that are worth a look.

1 candidates    pairs that fit in every column, and pairs that share something rare (join, blocking)
2 comparison    how each column agrees (agreement)
3 model         what that says for one person, for kin and for strangers, learned without labels (model)
4 in both       how many people are in both tables, from pairs beyond those that decoys have (both)
5 matching      a person has one record at most, and nobody may be the answer (matching, rings)
6 calibration   the finished attack is run on decoys; what it claims there lowers what it claims (decoy_check)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from privet.attacks.linkage.agreement import SAME, ComparedColumn, Comparer, Sides
from privet.attacks.linkage.blocking import Blocking
from privet.attacks.linkage.blocking_loss import lost
from privet.attacks.linkage.both import InBoth, Scores, crowding, people_in_both
from privet.attacks.linkage.decoy_check import Calibration, calibrated, claims
from privet.attacks.linkage.join import Join, JoinClasses, Pairs, distinct
from privet.attacks.linkage.matching import Messages
from privet.attacks.linkage.model import AgreementModel, Compared, Decoys, average_levels, compare, first_model
from privet.attacks.linkage.rings import held
from privet.typing import Floats, Integers, Truths

Progress = Callable[[str, int, int], object]
FITTED = 8000  # classes of the released table on which the model is learned
DECOYS = 3000  # classes of each table that are compared with their own table
ROUNDS, EVERY, SWEEPS = 15, 3, 2  # of learning; of counting who is in both; of messages in a round
AT_ONCE = 50_000  # classes whose pairs are compared in one go
SETTLED = 1e-3  # of the number of people in both tables
NEGLIGIBLE, NEXT_TO_NOTHING = 1e-6, 1e-4  # weights: by themselves, and beside the best of the record
LARGEST = 300.0  # log of a weight
NO_COMMON = (np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))  # of pairs that are weighed already


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Candidates:
    """Pairs of classes. `fits`: nothing in them disagrees. `crowded` released classes fit more than can be listed."""

    released: Integers
    known: Integers
    fits: Truths
    crowded: Integers

    def __len__(self) -> int:
        return len(self.released)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Evidence:
    """What was learned. `chance` is the probability of each candidate; `loss` the share of people in both tables whose
    pair is not among the candidates."""

    comparer: Comparer
    found: Candidates
    chance: Floats
    model: AgreementModel
    both: InBoth
    odds: float  # that a record and a person are one, before anything is compared
    crowding: float
    loss: float
    calibration: Calibration
    blocking: Blocking | None
    skipped: int  # released records for which not everybody who fits was looked for


@dataclass(slots=True, eq=False)
class _Search:
    """The two tables, with what is needed to list candidates between any two sides."""

    comparer: Comparer
    blocking: Blocking | None

    def pairs(self, sides: Sides, rows: Integers, others: Integers | None = None) -> tuple[Pairs, Truths, int]:
        """Pairs of these classes of the left side, with all of the right side or these others; which of them (by class)
        are crowded, and how many were skipped."""
        left, right = (self.comparer.tables[side] for side in sides)
        others = np.arange(len(right)) if others is None else others
        some, rest = _part(left, rows), _part(right, others)
        agreed = Join([column.on(sides) for column in self.comparer.columns], some, rest).all_agree()
        one, other = rows[agreed.released], others[agreed.known]
        if sides[0] == sides[1]:
            real = (one != other) | (left.people[one] > 1)
            one, other = one[real], other[real]
        if self.blocking is not None:
            more = self.blocking.pairs(sides, rows, others)
            keys = distinct(np.concatenate([one * len(right) + other, more[0] * len(right) + more[1]]))
            one, other = keys // len(right), keys % len(right)
        crowded = np.zeros(len(left), np.bool_)
        crowded[rows[agreed.crowded]] = True
        fine = ~crowded[one]
        return (one[fine], other[fine]), crowded, int(some.people[agreed.skipped].sum())


def _part(table: JoinClasses, rows: Integers) -> JoinClasses:
    return JoinClasses(codes=table.codes[rows], of=np.arange(len(rows)), people=table.people[rows])


def weigh(comparer: Comparer, *, errors: bool, progress: Progress) -> Evidence:
    """All of it. Without `errors` every value is taken as right."""
    search = _Search(comparer, Blocking(comparer) if errors else None)
    ours, theirs = comparer.tables
    draw = np.random.default_rng(0)
    rows = np.sort(draw.permutation(len(ours))[:FITTED])
    progress("comparing", 0, 1)
    if search.blocking is not None:
        search.blocking.fit(rows)
    use = _decoy_sides(comparer)
    average = average_levels(comparer, use)
    decoys = [_decoys(search, side, average) for side in use]
    pairs, crowded, skipped = search.pairs((0, 1), rows)
    across = compare(comparer, (0, 1), pairs, average)
    sample = _Sample(across, float(ours.people[rows].sum()), decoys, int(ours.people[crowded].sum()))
    model, both, crowd = _learned(comparer, sample, average, progress)
    loss = lost(model, comparer, search.blocking)
    weights = _Weights(model, both, crowd, loss)
    progress("weighing pairs", ROUNDS, ROUNDS)
    if len(rows) < len(ours):
        across, crowded, skipped, weight = _everything(search, average, weights, progress)
    else:
        across, weight = _worth(across, weights.of(across), len(ours))
    sizes = ours.people.astype(np.float64), theirs.people.astype(np.float64)
    messages = Messages(across.one, across.other, *sizes, int(ours.people[crowded].sum()))
    chance = held(messages, weight, messages.settle(weight, weights.anybody))
    made = claims(chance, sizes[0][across.one] * sizes[1][across.other])
    audit = calibrated(made, [(some, weights.of(some.pairs)) for some in decoys], comparer, both)
    fits = np.all(across.levels <= SAME, axis=1)[across.pattern]
    return Evidence(
        comparer=comparer,
        found=Candidates(released=across.one, known=across.other, fits=fits, crowded=np.flatnonzero(crowded)),
        chance=audit.lowered(chance),
        model=model,
        both=both,
        odds=weights.anybody,
        crowding=crowd,
        loss=loss,
        calibration=audit,
        blocking=search.blocking,
        skipped=skipped,
    )


def _decoy_sides(comparer: Comparer) -> tuple[int, ...]:
    """The tables whose own pairs agree as pairs across do: where one has ranges, the one with the ranges."""
    general = [any(_ranges(column, side) for column in comparer.columns) for side in (0, 1)]
    use = (0, 1) if general[0] == general[1] else (0,) if general[0] else (1,)
    return tuple(side for side in use if len(comparer.tables[side].of) > 1)


def _ranges(column: ComparedColumn, side: int) -> bool:
    part = (column.axis.released, column.axis.known)[side]
    return bool(part.pieces) or bool((part.low < part.high).any())


def _decoys(search: _Search, side: int, average: Floats) -> Decoys:
    """Some classes, each with as many others as the known table has: blocks are as full as across the tables."""
    table, draw = search.comparer.tables[side], np.random.default_rng(side)
    order = draw.permutation(len(table))
    others = np.sort(order[: len(search.comparer.tables[1])])
    rows = np.sort(draw.permutation(len(table))[:DECOYS])
    pairs = compare(search.comparer, (side, side), search.pairs((side, side), rows, others)[0], average)
    return Decoys(pairs, float(table.people[rows].sum()), float(table.people[others].sum()) - len(others) / len(table))


@dataclass(frozen=True, slots=True)
class _Weights:
    """The weight of a pair in a matching: the odds that a record and a person are one, for what agrees in them."""

    model: AgreementModel
    both: InBoth
    crowd: float
    loss: float

    @property
    def anybody(self) -> float:
        """Of a pair of which nothing is told. A record's person may be among those that were not listed, too."""
        both = self.both
        unlisted = self.loss * both.low
        rest = (1 + unlisted / (both.records - both.low)) * (1 + unlisted / (both.people - both.low))
        return both.odds / self.crowd / rest

    def of(self, pairs: Compared) -> Floats:
        return np.asarray(np.exp(np.minimum(self.model.log_ratio(pairs) + np.log(self.anybody), LARGEST)))


@dataclass(frozen=True, slots=True)
class _Sample:
    """What the model is learned from: pairs of `left` records across the tables, decoys, and how many records are
    silent."""

    across: Compared
    left: float
    decoys: list[Decoys]
    silent: int


def _learned(
    comparer: Comparer, sample: _Sample, average: Floats, progress: Progress
) -> tuple[AgreementModel, InBoth, float]:
    """Expectation: how likely each pair is. Maximization: the model that makes this most likely. In between, how many
    people are in both tables is counted again."""
    across, decoys = sample.across, sample.decoys
    ours, theirs = (table.people.astype(np.float64) for table in comparer.tables)
    total = sum(some.left * some.right for some in decoys)
    first = model = first_model(average, [some.pairs for some in decoys], total)
    messages = Messages(across.one, across.other, ours, theirs, sample.silent)
    both, crowd = _counted(comparer, sample, model, None)
    for number in range(ROUNDS):
        progress("weighing pairs", number, ROUNDS)
        weight = np.exp(np.minimum(model.log_ratio(across) + np.log(both.odds / crowd), LARGEST))
        chance = messages.settle(weight, both.odds, sweeps=SWEEPS)
        model = model.learned(across, chance, first)
        if number % EVERY == EVERY - 1:
            before = both.low
            both, crowd = _counted(comparer, sample, model, chance)
            if abs(both.low - before) <= SETTLED * before:
                break
    return model, both, crowd


def _counted(comparer: Comparer, sample: _Sample, model: AgreementModel, chance: Floats | None) -> tuple[InBoth, float]:
    """Who is in both tables by this model, and how crowded people are who look alike."""
    sizes = [table.people.astype(np.float64) for table in comparer.tables]
    every, right = (float(size.sum()) for size in sizes)
    real = Scores(
        pairs=sample.across, ratio=model.log_ratio(sample.across), sizes=sizes[0], left=sample.left, of=every,
        right=right,
    )  # fmt: skip
    false = [
        Scores(
            pairs=some.pairs, ratio=model.log_ratio(some.pairs), sizes=sizes[some.pairs.sides[0]], left=some.left,
            of=some.left, right=some.right,
        )
        for some in sample.decoys
    ]  # fmt: skip
    both = people_in_both(real, false, chance)
    return both, crowding(both, false, -float(np.log(both.odds)))


def _worth(pairs: Compared, weight: Floats, size: int) -> tuple[Compared, Floats]:
    """Without pairs that are next to nothing, by themselves or beside the best pair of the same record."""
    best = np.zeros(size)
    np.maximum.at(best, pairs.one, weight)
    fits = np.all(pairs.levels <= SAME, axis=1)[pairs.pattern]
    use = fits | ((weight > NEGLIGIBLE) & (weight >= NEXT_TO_NOTHING * best[pairs.one]))
    return _some(pairs, use), weight[use]


def _some(pairs: Compared, use: Truths) -> Compared:
    return replace(
        pairs,
        one=pairs.one[use],
        other=pairs.other[use],
        many=pairs.many[use],
        pattern=pairs.pattern[use],
        log_chance=pairs.log_chance[use],
        common=NO_COMMON,
    )


def _everything(
    search: _Search, average: Floats, weights: _Weights, progress: Progress
) -> tuple[Compared, Truths, int, Floats]:
    """Pairs of all classes, compared and weighed some at a time; what counts for nothing is not kept."""
    size = len(search.comparer.tables[0])
    parts, kept, skipped, crowded = [], [], 0, np.zeros(size, np.bool_)
    for start in range(0, size, AT_ONCE):
        progress("comparing", start, size)
        rows = np.arange(start, min(start + AT_ONCE, size))
        pairs, many, left_out = search.pairs((0, 1), rows)
        some = compare(search.comparer, (0, 1), pairs, average)
        worth, weight = _worth(some, weights.of(some), size)
        parts.append(worth)
        kept.append(weight)
        crowded |= many
        skipped += left_out
    return _joined(parts), crowded, skipped, np.concatenate(kept)


def _joined(parts: list[Compared]) -> Compared:
    steps = np.cumsum([0, *(len(part.levels) for part in parts)])
    return Compared(
        sides=(0, 1),
        one=np.concatenate([part.one for part in parts]),
        other=np.concatenate([part.other for part in parts]),
        many=np.concatenate([part.many for part in parts]),
        levels=np.concatenate([part.levels for part in parts]),
        pattern=np.concatenate([part.pattern + step for part, step in zip(parts, steps, strict=False)]),
        log_chance=np.concatenate([part.log_chance for part in parts]),
        common=NO_COMMON,
    )

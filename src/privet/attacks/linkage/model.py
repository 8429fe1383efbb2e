"""How values of one person agree, and values of two: the model of Fellegi and Sunter (1969), learned without labels.

Pairs of one person are of two kinds, those with few and those with many wrong values; in each the columns are
independent. Pairs of two people are strangers, who agree by chance, or kin: a family, a house, columns that say the
same thing twice. Kin are learned from decoys, pairs within one table, which are two people by assumption, with all the
families and shared addresses there are. How one person's values agree is learned from pairs across the tables
by expectation and maximization (Dempster, Laird and Rubin 1977).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

import numpy as np

from privet.attacks.linkage.agreement import DIFFERENT, MISSING, SAME, STEPS, Comparer, Levels, Sides
from privet.attacks.linkage.join import Pairs
from privet.typing import Floats, Integers

FEW_WRONG, MANY_WRONG = (0.88, 0.06, 0.02, 0.04), (0.6, 0.12, 0.08, 0.2)  # the first guess of the two kinds
NEVER = 0.005  # the share of a level that a column of codes does not have
PRIOR = 20.0  # pairs that the first guess is worth
KIN = 4
KIN_ROUNDS = 15
FIRST_KIN = 0.1  # of the decoys that are listed
RANDOM_PAIRS = 50_000
LEAST = 1e-5
COMMON = 2.0  # times the mean share of a value


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Compared:
    """Pairs of classes with how they agree. Pairs that agree in the same way are of one `pattern`, and `levels`
    has a row for each pattern. `many`: how many pairs of people each stands for."""

    sides: Sides
    one: Integers
    other: Integers
    many: Floats
    levels: Levels
    pattern: Integers
    log_chance: Floats
    common: tuple[Integers, Integers, Floats]  # pairs, columns, and how much commoner than others their value is


@dataclass(frozen=True, slots=True)
class Decoys:
    """Pairs within one table: of `left` records, each with `right` others."""

    pairs: Compared
    left: float
    right: float


def compare(comparer: Comparer, sides: Sides, pairs: Pairs, average: Floats) -> Compared:
    levels = comparer.levels(sides, *pairs)
    rows, pattern = patterns(levels)
    ours, theirs = (comparer.tables[side].people.astype(np.float64) for side in sides)
    many = ours[pairs[0]] * theirs[pairs[1]]
    if sides[0] == sides[1]:
        many = np.where(pairs[0] == pairs[1], many - ours[pairs[0]], many)
    chances = comparer.log_chance(sides, pairs[0], levels, average)
    use = np.nonzero((levels == SAME) & (chances - np.log(average[:, SAME]) > np.log(COMMON)))
    return Compared(
        sides=sides,
        one=pairs[0],
        other=pairs[1],
        many=many,
        levels=rows,
        pattern=pattern,
        log_chance=chances.sum(axis=1),
        common=(use[0], use[1], np.exp(chances[use]) / average[use[1], SAME]),
    )


def patterns(levels: Levels) -> tuple[Levels, Integers]:
    """The different rows, and for each row which it is."""
    key = np.zeros(len(levels), np.int64)
    for at in range(levels.shape[1]):
        if at and at % 20 == 0:
            key = np.unique(key, return_inverse=True)[1]
        key = key * (STEPS + 1) + levels[:, at] - MISSING
    _, first, pattern = np.unique(key, return_index=True, return_inverse=True)
    return levels[first], pattern


def average_levels(comparer: Comparer, use: tuple[int, ...]) -> Floats:
    """For each column the share of each level among pairs within these tables, drawn by a fixed seed."""
    draw = np.random.default_rng(0)
    counts = np.full((len(comparer.columns), STEPS), 0.5)
    for side in use:
        table = comparer.tables[side]
        if len(table.of) < 2:
            continue
        one = draw.integers(0, len(table.of), RANDOM_PAIRS)
        other = (one + draw.integers(1, len(table.of), RANDOM_PAIRS)) % len(table.of)
        levels = comparer.levels((side, side), table.of[one], table.of[other])
        for level in range(STEPS):
            counts[:, level] += (levels == level).sum(axis=0)
    return np.asarray(counts / counts.sum(axis=1, keepdims=True))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AgreementModel:
    """Chances of each level in each column (kinds x columns x levels), for one person and for kin; `mix` and `share`
    say how common each kind is, the latter among all pairs of two people."""

    match: Floats
    mix: Floats
    kin: Floats
    share: Floats
    average: Floats  # of two people taken at random

    def log_match(self, levels: Levels) -> Floats:
        """For each pattern and kind of one person's pairs."""
        return _log_levels(levels, self.match) + np.log(self.mix)

    def log_ratio(self, pairs: Compared) -> Floats:
        """For each pair the log of: chance that one person's values agree like this, over that of two people's."""
        yes = np.logaddexp.reduce(self.log_match(pairs.levels), axis=1)
        kin = np.logaddexp.reduce(self.log_kin(pairs), axis=1)
        no = np.logaddexp(pairs.log_chance + np.log1p(-self.share.sum()), kin)
        return np.asarray(yes[pairs.pattern] - no)

    def log_kin(self, pairs: Compared) -> Floats:
        """For each pair and kind of kin. What kin do not share for a reason they share by chance, common values more
        often than others."""
        found = _log_levels(pairs.levels, self.kin)[pairs.pattern] + np.log(self.share)
        who, column, times = pairs.common
        for kind in range(len(self.share)):
            same = self.kin[kind, column, SAME]
            chance = np.minimum(same, self.average[column, SAME])
            more = np.minimum(same + chance * (times - 1), 1.0) / same
            found[:, kind] += np.bincount(who, np.log(more), len(found))
        return found

    def learned(self, pairs: Compared, chance: Floats, first: AgreementModel) -> AgreementModel:
        """The same with what the pairs of one person, each with its chance, say of it."""
        logs = self.log_match(pairs.levels)
        part = np.exp(logs - logs.max(axis=1, keepdims=True))
        part /= part.sum(axis=1, keepdims=True)
        weight = part * np.bincount(pairs.pattern, chance * pairs.many, len(pairs.levels))[:, None]
        match = levels_of(weight, pairs.levels, PRIOR * first.match)
        total = weight.sum(axis=0) + 1
        return replace(self, match=match, mix=total / total.sum())


def _log_levels(levels: Levels, chances: Floats) -> Floats:
    """For each pattern and kind, the sum over columns; what is missing says nothing."""
    logs = np.zeros((chances.shape[1], STEPS + 1, len(chances)))  # the last level is that of what is missing
    logs[:, :STEPS] = np.log(chances).transpose(1, 2, 0)
    found = np.zeros((len(levels), len(chances)))
    for at in range(levels.shape[1]):
        found += logs[at][levels[:, at]]
    return found


def by_pattern(pairs: Compared, part: Floats) -> Floats:
    """The sum of each column over the pairs of each pattern."""
    sums = [np.bincount(pairs.pattern, column, len(pairs.levels)) for column in part.T]
    return np.asarray(np.stack(sums, axis=1), np.float64)


def levels_of(weight: Floats, levels: Levels, prior: Floats) -> Floats:
    """Chances of levels, from the weight of each pattern in each kind and a prior counted in pairs."""
    counts = _sums(weight, levels) + prior
    return np.asarray(np.maximum(counts / counts.sum(axis=2, keepdims=True), LEAST))


def _sums(weight: Floats, levels: Levels) -> Floats:
    """How many pairs of each kind have each level in each column."""
    found = np.empty((weight.shape[1], levels.shape[1], STEPS))
    for at in range(levels.shape[1]):
        place = levels[:, at].astype(np.int64) - MISSING
        for kind in range(len(found)):
            found[kind, at] = np.bincount(place, weight[:, kind], STEPS + 1)[1:]
    return found


def first_model(average: Floats, decoys: list[Compared], total: float) -> AgreementModel:
    """With kin learned from decoys, of `total` pairs in all; of one person's pairs the first guess."""
    match = first_match(average)
    mix = np.full(len(match), 1 / len(match))
    kin, share = _kin(average, decoys, total)
    return AgreementModel(match=match, mix=mix, kin=kin, share=share, average=average)


def first_match(average: Floats) -> Floats:
    """The first guess of how one person's values agree, for few and for many wrong ones."""
    match = np.array([[kind] * len(average) for kind in (FEW_WRONG, MANY_WRONG)])
    codes = average[:, 1:DIFFERENT].sum(axis=1) < LEAST * 4  # a column that has no slips
    match[:, codes, 1:DIFFERENT] = NEVER
    return np.asarray(match / match.sum(axis=2, keepdims=True))


def _kin(average: Floats, decoys: list[Compared], total: float) -> tuple[Floats, Floats]:
    """Kinds of pairs that agree more than by chance, by expectation and maximization over decoys."""
    kin = first_kin(average, decoys, total)
    prior = PRIOR * np.repeat(average[None], KIN, axis=0)
    listed = sum(float(some.many.sum()) for some in decoys)
    share = np.full(KIN, min(max(FIRST_KIN * listed, 0.1) / max(total, 1.0), FIRST_KIN) / KIN)
    for _ in range(KIN_ROUNDS if listed else 0):
        model = AgreementModel(match=kin, mix=np.ones(KIN), kin=kin, share=share, average=average)
        counts, sums = prior.copy(), np.zeros(KIN)
        for some in decoys:
            logs = model.log_kin(some)
            every = np.logaddexp(some.log_chance + np.log1p(-share.sum()), np.logaddexp.reduce(logs, axis=1))
            part = np.exp(logs - every[:, None]) * some.many[:, None]
            weight = by_pattern(some, part)
            counts += _sums(weight, some.levels)
            sums += weight.sum(axis=0)
        kin = np.maximum(counts / counts.sum(axis=2, keepdims=True), LEAST)
        share = np.clip((sums + 0.5) / max(total, 1.0), 1e-14, 0.2)
    return kin, share


def first_kin(average: Floats, decoys: list[Compared], total: float) -> Floats:
    """The commonest ways in which decoys agree too well for chance, and that everything agrees: of few coarse columns
    no single pair is too good for chance, but there may be too many."""
    count: Counter[int] = Counter()
    for some in decoys:
        bits = ((some.levels == SAME) * (1 << np.arange(len(average)) % 62)).sum(axis=1)
        rare = some.log_chance + np.log(max(total, 1.0)) < 0
        seen = np.bincount(some.pattern[rare], some.many[rare], len(bits))
        for pattern in np.flatnonzero(seen).tolist():
            count[int(bits[pattern])] += float(seen[pattern])  # type: ignore[assignment]
    top = [bits for bits, _ in sorted(count.items(), key=lambda item: (-item[1], item[0]))[: KIN - 1]]
    top.append((1 << min(len(average), 62)) - 1)
    kin = np.repeat(average[None], KIN, axis=0)
    for place in range(KIN):
        bits = top[place] if place < len(top) else 0
        same = np.array([bits >> at % 62 & 1 for at in range(len(average))], np.bool_)
        kin[place, same] = 0.8 * np.eye(STEPS)[SAME] + 0.2 * average[same]
    return np.asarray(kin)

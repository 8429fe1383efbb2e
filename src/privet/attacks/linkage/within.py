"""Who is twice in one table: pairs of its rows that are one person, although values differ.

The same comparison and model as between two tables. There are no decoys: pairs within the table are what is looked
for. Kin and one person's pairs are learned together. Kin differ in the same columns again and again, such as first name
and birth; one person's values are wrong here and there. Nothing audits what is claimed, and the report says so.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from privet.attacks.linkage.agreement import DIFFERENT, Comparer
from privet.attacks.linkage.blocking import Blocking
from privet.attacks.linkage.evidence import Progress
from privet.attacks.linkage.join import distinct
from privet.attacks.linkage.model import (
    KIN,
    PRIOR,
    AgreementModel,
    Compared,
    average_levels,
    by_pattern,
    compare,
    first_kin,
    first_match,
    levels_of,
)
from privet.attacks.linkage.rings import parts
from privet.typing import Floats, Integers

ROUNDS = 20
FIRST_SHARE = 0.1  # of the rows, in pairs of one person
KIN_DIFFER = 2  # columns in which pairs differ that are first taken for kin
MOST_DIFFERENT = 0.25  # of one person's values in a column: what differs more often tells people apart
FEWEST_BITS = 10.0  # beyond chance, over all pairs of the table


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Repeats:
    """Pairs of rows with the probability that they are one person."""

    one: Integers
    other: Integers
    chance: Floats
    model: AgreementModel
    blocking: Blocking

    def people(self, precision: float, rows: int) -> list[list[int]]:
        """Rows of one person each, where pairs that are likely enough hang together; the largest groups first."""
        use = self.chance >= precision
        one, other = self.one[use], self.other[use]
        group = parts(one, other, rows, rows) if len(one) else one
        found: dict[int, set[int]] = {}
        for number, *members in zip(group.tolist(), one.tolist(), other.tolist(), strict=True):
            found.setdefault(number, set()).update(members)
        return sorted((sorted(rows_of) for rows_of in found.values()), key=lambda some: (-len(some), some))


def repeats(comparer: Comparer, progress: Progress) -> Repeats:
    """`comparer` has the same table on both sides, one class for each row."""
    rows = len(comparer.tables[0])
    blocking = Blocking(comparer)
    progress("comparing", 0, 1)
    every = np.arange(rows)
    blocking.fit(every)
    one, other = blocking.pairs((0, 0), every, every)
    keys = distinct(np.minimum(one, other) * rows + np.maximum(one, other))
    average = average_levels(comparer, (0,))
    pairs = compare(comparer, (0, 0), (keys // max(rows, 1), keys % max(rows, 1)), average)
    model, share = _learned(pairs, average, rows, progress)
    total = rows * (rows - 1) / 2
    logs = model.log_ratio(pairs) + np.log(share / (1 - share))
    chance = 1 / (1 + np.exp(-np.clip(logs, -50, 50)))
    by_chance = pairs.log_chance + np.log(max(total, 1.0)) > -FEWEST_BITS * np.log(2)
    chance = np.where(by_chance, np.minimum(chance, 0.5), chance)
    return Repeats(one=pairs.one, other=pairs.other, chance=chance, model=model, blocking=blocking)


def _learned(pairs: Compared, average: Floats, rows: int, progress: Progress) -> tuple[AgreementModel, float]:
    """The model, and the share of pairs of one person among all pairs."""
    total = max(rows * (rows - 1) / 2, 1.0)
    match = first_match(average)
    share = FIRST_SHARE * rows / total
    model = AgreementModel(
        match=match, mix=np.full(len(match), 1 / len(match)), kin=np.repeat(average[None], KIN, axis=0),
        share=np.full(KIN, share / KIN), average=average,
    )  # fmt: skip
    differ = (pairs.levels == DIFFERENT).sum(axis=1)[pairs.pattern]
    unlike = replace(pairs, many=np.where(differ >= KIN_DIFFER, pairs.many, 0.0))
    model = replace(model, kin=first_kin(average, [unlike], total))
    for number in range(ROUNDS):
        progress("weighing pairs", number, ROUNDS)
        kin, one = model.log_kin(pairs), model.log_match(pairs.levels)[pairs.pattern] + np.log(share)
        chance = pairs.log_chance + np.log(max(1 - model.share.sum() - share, 0.1))
        logs = np.concatenate([kin, one], axis=1)
        every = np.logaddexp(chance, np.logaddexp.reduce(logs, axis=1))
        part = np.exp(logs - every[:, None])
        weight = by_pattern(pairs, part)
        sums = weight.sum(axis=0)
        model = AgreementModel(
            kin=levels_of(weight[:, :KIN], pairs.levels, PRIOR * np.repeat(average[None], KIN, axis=0)),
            share=np.clip((sums[:KIN] + 0.5) / total, 1e-14, 0.2),
            match=_bounded(levels_of(weight[:, KIN:], pairs.levels, PRIOR * match)),
            mix=(sums[KIN:] + 1) / (sums[KIN:] + 1).sum(),
            average=average,
        )
        share = float(np.clip(sums[KIN:].sum(), 0.5, 2 * rows) / total)
    return model, min(share, 0.5)


def _bounded(match: Floats) -> Floats:
    """The same with MOST_DIFFERENT as the largest share of different values in a column."""
    over = np.minimum(MOST_DIFFERENT / match[:, :, DIFFERENT], 1.0)
    rest = (1 - over * match[:, :, DIFFERENT]) / (1 - match[:, :, DIFFERENT])
    found = match * rest[:, :, None]
    found[:, :, DIFFERENT] = over * match[:, :, DIFFERENT]
    return np.asarray(found)

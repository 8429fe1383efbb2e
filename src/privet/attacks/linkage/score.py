"""A linkage against the truth: how many claims are right, and whether people not in the release are left alone."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from privet.attacks.finding import Score
from privet.attacks.linkage.evidence import Progress
from privet.attacks.linkage.linking import Linked, LinkSetting, attack, without
from privet.attacks.proofs.work import STOPPED
from privet.errors import InvalidInputError
from privet.stats.binomial import share
from privet.stats.intervals import Interval, exactly
from privet.typing import Integers, Truths

HELD_OUT, MOST_HELD_OUT = 0.1, 5000
Texts = np.ndarray[tuple[int, ...], np.dtype[np.object_]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """`right` of `claimed` claims are of the right person. `unique` records can be linked at all, `found` of them were.
    `false` of `held_out` people whose records were taken out of the release were claimed to be in it all the same."""

    score: Score
    claimed: int
    right: int
    precision: Interval
    unique: int
    found: int
    recall: Interval
    held_out: int
    false: int
    control: Interval


def scored(setting: LinkSetting, linked: Linked, progress: Progress) -> Scored | None:
    if setting.truth is None:
        return None
    ids, names = setting.released[setting.truth[0]].listed(), setting.known[setting.truth[1]].listed()
    person = linked.guesses.person
    right = (person >= 0) & (ids == names[np.where(person >= 0, person, 0)]) & _given(ids)
    claimed, unique = linked.claimed(setting.precision), linked.unique()
    there = np.isin(ids.astype(str), names[_given(names)].astype(str)) & _given(ids)
    if not there.any() and setting.truth[0] != setting.truth[1]:
        raise InvalidInputError(
            "no id of the released table is in the known table",
            "check which columns the truth names; if nobody is in both tables, call the columns of ids alike",
            "no-overlap",
        )
    success = share(int(right[there].sum()), int(there.sum()))
    baseline = exactly(1 / len(names))  # who knows nothing of a record can only name somebody
    strangers = len(names), len(np.unique(person[claimed]))  # if nobody is in both tables
    held_out, false = _control(setting, ids, names, there, progress) if there.any() else strangers
    linkable = unique & there
    found = int((claimed & right & linkable).sum())
    return Scored(
        score=Score(
            claimed=int(claimed.sum()),
            right=int((claimed & right).sum()),
            success=success,
            baseline=baseline,
            control=None,
        ),
        claimed=int(claimed.sum()),
        right=int((claimed & right).sum()),
        precision=share(int((claimed & right).sum()), int(claimed.sum())),
        unique=int(linkable.sum()),
        found=found,
        recall=share(found, int(linkable.sum())),
        held_out=held_out,
        false=false,
        control=share(false, held_out),
    )


class _NoControlError(Exception):
    """Somebody stopped the attack: the links are kept, without a control."""


def _given(ids: Texts) -> Truths:
    return np.fromiter((one is not None for one in ids), np.bool_, len(ids))


def _control(setting: LinkSetting, ids: Texts, names: Texts, there: Truths, progress: Progress) -> tuple[int, int]:
    """Some known people lose their records, the attack is run again, and those of them who are claimed are counted."""
    present = np.unique(ids[there].astype(str))
    number = min(max(round(HELD_OUT * len(present)), 1), MOST_HELD_OUT)
    held = np.random.default_rng(0).choice(present, number, replace=False)
    gone: Integers = np.flatnonzero(np.isin(ids.astype(str), held))
    if len(gone) == len(ids):
        return 0, 0
    fewer = replace(setting, released=without(setting.released, gone))

    def tell(what: str, done: int, of: int) -> None:
        progress(f"control: {what}", done, of)
        if STOPPED.is_set():
            raise _NoControlError

    try:
        again = attack(fewer, tell)
    except _NoControlError:
        return 0, 0
    claimed = again.guesses.person[again.claimed(setting.precision)]
    found = np.unique(names[claimed].astype(str))
    return number, int(np.isin(found, held).sum())

"""Where pairs form rings, messages are too sure of themselves: what is claimed there needs a number that holds.

In a small part (records and people that hang together by pairs) all ways are summed, record by record, over the sets
of people taken so far. Elsewhere a bound that needs no sum: a way without the pair leaves its record with one of the
other pairs or with none, its person likewise, and the rest is a way that the pair would have allowed, too. The odds of
the pair are its weight times the probability that its record, and then its person, is free without it, at least
weight / ((1 + S) (1 + T)). S is the sum of the other weights of the record, each times the most that the probability
of this other person being free can be: 1 / (1 + the least that others want that person). T likewise. A walk of three
steps meets nobody twice where pairs have two sides, so this holds with rings, too (Godsil's tree of paths).

A person in a group of people and records that all fit each other is free less often than three steps show. Where pairs
have two sides, a person is free the more often, the fewer records there are (Heilmann and Lieb 1972). So the group by
itself is a bound, too, and there all ways are summed by a formula.
"""

from __future__ import annotations

import numpy as np

from privet.attacks.linkage.matching import SAME, Messages, mean_pairs
from privet.typing import Floats, Integers, Truths

FEW, MANY = 10, 40  # members of the smaller and of the larger side of a part that is summed
WORK = 100_000  # pairs of all parts that are summed
WORTH = 0.5  # what is less likely is not claimed in any case


def held(pairs: Messages, weight: Floats, found: Floats) -> Floats:
    """The same probabilities; where pairs form rings, exact or less. For messages that have settled."""
    part = parts(pairs.released, pairs.known, len(pairs.ours), len(pairs.theirs))
    ringed = _ringed(pairs, part) & ~pairs.in_groups()
    if not ringed.any():
        return found
    weight = weight / pairs.taken
    least = found.copy()
    least[ringed] = np.minimum(found, weight / (weight + _others(pairs, weight)))[ringed]
    order = np.argsort(part, kind="stable")
    worth = np.unique(part[ringed & (found >= WORTH)])
    ends = zip(*(np.searchsorted(part[order], worth, side) for side in ("left", "right")), strict=True)
    work = WORK
    for start, stop in ends:
        edges = order[start:stop]
        size = int((pairs.ours[pairs.released[edges]] * pairs.theirs[pairs.known[edges]]).sum())
        if size <= min(work, FEW * MANY) and (exact := _summed(pairs, weight, edges)) is not None:
            least[edges] = exact
            work -= size
    return least


def parts(released: Integers, known: Integers, ours: int, theirs: int) -> Integers:
    """A number for each pair, the same for all that hang together: the least number of a class that can be reached."""
    label = np.arange(ours + theirs)
    other = known + ours
    while True:
        low = np.minimum(label[released], label[other])
        fresh = label.copy()
        np.minimum.at(fresh, released, low)
        np.minimum.at(fresh, other, low)
        fresh = fresh[fresh]
        if (fresh == label).all():
            return np.asarray(label[released])
        label = fresh


def _ringed(pairs: Messages, part: Integers) -> Truths:
    """Parts with more pairs than a tree has: one fewer than members."""
    size = int(part.max(initial=-1)) + 1
    number = np.bincount(part, pairs.ours[pairs.released] * pairs.theirs[pairs.known], size)
    members = np.zeros(size)
    for classes, people in ((pairs.released, pairs.ours), (pairs.known, pairs.theirs)):
        named, first = np.unique(classes, return_index=True)
        members += np.bincount(part[first], people[named], size)
    return np.asarray(number[part] > members[part] - 1)


def _others(pairs: Messages, weight: Floats) -> Floats:
    """(1 + S) (1 + T) for each pair."""
    ours, theirs = (pairs.released, pairs.ours), (pairs.known, pairs.theirs)
    people, records = _free_in_groups(pairs, weight)
    return np.asarray((1 + _wanted(weight, ours, theirs, people)) * (1 + _wanted(weight, theirs, ours, records)))


def _wanted(weight: Floats, ours: tuple[Integers, Floats], theirs: tuple[Integers, Floats], most: Floats) -> Floats:
    """S for each pair, seen from this end of it: the weights of its other pairs, each times the most likely that its
    far end is free. That end is free the less, the more its own other pairs want it; how free their far ends are at
    least is 1 / (1 + the sum of their other weights). `most`: the same bound from groups."""
    free = 1 / (1 + _rest(weight, ours, theirs))
    most = np.minimum(most, 1 / (1 + _rest(weight * free, theirs, ours)))
    return _rest(weight * most, ours, theirs)


def _free_in_groups(pairs: Messages, weight: Floats) -> tuple[Floats, Floats]:
    """For each pair the most that its person can be free without this record, and its record without this person. A
    group is a class of records and the people whom it fits best, all equally well. A person is free the more, the
    fewer records there are, so those outside the group are left out; likewise the people, for a record of the group.
    What the members of a group want elsewhere is free in the worst case."""
    one, other, ours, theirs = pairs.released, pairs.known, pairs.ours, pairs.theirs
    best = np.zeros(len(ours))
    np.maximum.at(best, one, weight)
    top = weight >= best[one] * (1 - SAME)
    size = np.bincount(one[top], theirs[other[top]], len(ours))
    sure = best / (1 + np.bincount(one[~top], (weight * theirs[other])[~top], len(ours)))
    edges = np.flatnonzero(top)[np.argsort(sure[one[top]], kind="stable")]
    group = np.full(len(theirs), -1)  # the class of records that each person belongs to
    group[other[edges]] = one[edges]
    inside = top & (group[other] == one)
    members = np.bincount(one[inside], theirs[other[inside]], len(ours))
    rivals = np.zeros(len(ours))
    wanted = np.bincount(other, weight * ours[one], len(theirs))
    np.maximum.at(rivals, one[inside], np.maximum(wanted[other] - weight * ours[one], 0.0)[inside])
    person = [1 - mean_pairs(np.maximum(ours - gone, 0), size, sure) / np.maximum(size, 1) for gone in (0, 1)]
    record = [1 - mean_pairs(ours, np.maximum(members - gone, 0), best / (1 + rivals)) / ours for gone in (0, 1)]
    at = group[other]
    free = np.where(at == one, person[1][at], person[0][at])
    return np.where(at < 0, 1.0, free), np.where(inside, record[1][one], record[0][one])


def _rest(weight: Floats, near: tuple[Integers, Floats], far: tuple[Integers, Floats]) -> Floats:
    """The sum of the weights of all other pairs at the near end of each pair."""
    sums = np.bincount(near[0], weight * far[1][far[0]], len(near[1]))
    return np.asarray(np.maximum(sums[near[0]] - weight, 0.0))


def _summed(pairs: Messages, weight: Floats, edges: Integers) -> Floats | None:
    """The exact probabilities of one part, or None if it is too large."""
    sides = [
        (*np.unique(part[edges], return_inverse=True), people)
        for part, people in ((pairs.released, pairs.ours), (pairs.known, pairs.theirs))
    ]
    (ours, one, records), (theirs, other, people) = sides
    sizes = records[ours].astype(np.int64), people[theirs].astype(np.int64)
    if min(sizes[0].sum(), sizes[1].sum()) > FEW or max(sizes[0].sum(), sizes[1].sum()) > MANY:
        return None
    table = np.zeros((len(ours), len(theirs)))
    table[one, other] = weight[edges]
    whole = np.repeat(np.repeat(table, sizes[0], axis=0), sizes[1], axis=1)
    exact = all_ways(whole) if whole.shape[1] <= whole.shape[0] else all_ways(whole.T).T
    first = [np.cumsum(size) - size for size in sizes]
    return np.asarray(exact[first[0][one], first[1][other]])


def all_ways(weight: Floats) -> Floats:
    """The share of all ways, by weight, that have each pair. The columns taken so far are the bits of a set."""
    rows, columns = weight.shape
    scale = 1 / np.maximum(weight.max(axis=1), 1.0)  # of all that a row may do, so that nothing overflows
    weight, alone = weight * scale[:, None], scale
    sets = np.arange(1 << columns)
    before = [(sets == 0).astype(np.float64)]  # after each row, by the set of columns taken
    after = [np.ones(1 << columns)]  # what the last rows may do, given what is taken before them
    free = [np.flatnonzero(sets >> at & 1 == 0) for at in range(columns)]
    for row in range(rows):
        step = before[-1] * alone[row]
        for at in range(columns):
            step[free[at] | 1 << at] += before[-1][free[at]] * weight[row, at]
        before.append(step)
    for row in reversed(range(rows)):
        step = after[-1] * alone[row]
        for at in range(columns):
            step[free[at]] += after[-1][free[at] | 1 << at] * weight[row, at]
        after.append(step)
    after.reverse()
    total = after[0][0]
    found = np.empty(weight.shape)
    for row in range(rows):
        for at in range(columns):
            found[row, at] = weight[row, at] * (before[row][free[at]] @ after[row + 1][free[at] | 1 << at])
    return np.asarray(found / total)

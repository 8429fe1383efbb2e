"""For each released record the person whom it most likely belongs to, one by one or all at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privet.attacks.linkage.evidence import Candidates
from privet.attacks.linkage.join import JoinClasses
from privet.errors import InvalidInputError
from privet.typing import Floats, Integers, Truths

STEPS = 1_000_000  # a probability in whole numbers, for the solver
MOST_ARCS = 4_000_000
NOBODY = -1


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Guesses:
    """For each released record: the known row, or NOBODY; the probability that it is this one; the probability that it
    is nobody whom we know; how many known people fit it; and how many records fit the person who is guessed."""

    person: Integers
    probability: Floats
    nobody: Floats
    fitting: Integers
    rivals: Integers
    silent: Truths  # fits more people than can be listed


def guesses(tables: tuple[JoinClasses, JoinClasses], found: Candidates, chance: Floats, *, one_to_one: bool) -> Guesses:
    ours, theirs = tables
    agree = found.fits
    fitting = np.bincount(found.released[agree], theirs.people[found.known[agree]], len(ours)).astype(np.int64)
    rivals = np.bincount(found.known[agree], ours.people[found.released[agree]], len(theirs)).astype(np.int64)
    matched = np.bincount(found.released, chance * theirs.people[found.known], len(ours))
    if one_to_one:
        person, probability = _all_at_once(tables, found, chance)
    else:
        person, probability = _one_by_one(tables, found, chance)
    there = person >= 0
    crowded = np.zeros(len(ours), np.bool_)
    crowded[found.crowded] = True
    return Guesses(
        person=person,
        probability=probability,
        nobody=np.asarray(np.clip(1 - matched, 0.0, 1.0), np.float64)[ours.of],
        fitting=np.where(crowded, int(theirs.people.sum()), fitting)[ours.of],
        rivals=np.where(there, rivals[theirs.of[np.where(there, person, 0)]], 0),
        silent=crowded[ours.of],
    )


def _members(side: JoinClasses) -> tuple[Integers, Integers]:
    """Records sorted by class, in random order within a class (always the same one), and where each class starts. The
    order of a file is no knowledge: two tables of the same people are often sorted alike."""
    shuffled = np.random.default_rng(0).permutation(len(side.of))
    return shuffled[np.argsort(side.of[shuffled], kind="stable")], np.concatenate([[0], np.cumsum(side.people)[:-1]])


def _one_by_one(tables: tuple[JoinClasses, JoinClasses], found: Candidates, chance: Floats) -> tuple[Integers, Floats]:
    """The most likely person of each record; two records may have the same one."""
    ours, theirs = tables
    order = np.lexsort((chance, found.released))
    last = np.flatnonzero(np.diff(found.released[order], append=-1))
    best = order[last]  # an edge a released class
    probability, person = np.zeros(len(ours)), np.full(len(ours), NOBODY)
    probability[found.released[best]] = chance[best]
    person[found.released[best]] = found.known[best]
    place = person[ours.of]
    rows, starts = _members(theirs)
    there = place >= 0
    draw = np.random.default_rng(1).random(len(place))
    at = starts[place[there]] + (draw[there] * theirs.people[place[there]]).astype(np.int64)
    guess = np.full(len(place), NOBODY)
    guess[there] = rows[at]
    return guess, probability[ours.of]


def _all_at_once(tables: tuple[JoinClasses, JoinClasses], found: Candidates, chance: Floats) -> tuple[Integers, Floats]:
    """Each person is given to one record at most, so that the expected number of right pairs is the greatest."""
    ours, theirs = tables
    flow = assigned(found, chance, ours.people, theirs.people)
    used = np.flatnonzero(flow)
    records, people = (_handed_out(side, part[used], flow[used]) for side, part in
                       ((ours, found.released), (theirs, found.known)))  # fmt: skip
    guess, probability = np.full(len(ours.of), NOBODY), np.zeros(len(ours.of))
    guess[records] = people
    probability[records] = np.repeat(chance[used], flow[used])
    return guess, probability


def _handed_out(side: JoinClasses, place: Integers, flow: Integers) -> Integers:
    """So many members of each class named, no one twice."""
    rows, starts = _members(side)
    order = np.argsort(place, kind="stable")
    before = np.cumsum(flow[order]) - flow[order]
    fresh = np.diff(place[order], prepend=-1) != 0
    within = before - np.maximum.accumulate(np.where(fresh, before, 0))
    first = np.empty(len(place), np.int64)
    first[order] = starts[place[order]] + within
    offset = np.arange(int(flow.sum())) - np.repeat(np.cumsum(flow) - flow, flow)
    return np.asarray(rows[np.repeat(first, flow) + offset])


def assigned(found: Candidates, chance: Floats, records: Integers, people: Integers) -> Integers:
    """How many pairs of each candidate are in the best assignment: a flow of greatest value, exact. What does not hang
    together does not disturb each other, so one flow solves all parts."""
    if len(found) > MOST_ARCS:
        raise InvalidInputError(
            f"{len(found):,} pairs are too many to assign one-to-one",
            "leave one_to_one out, or compare more columns",
            "too-many",
        )
    if not len(found):
        return np.zeros(0, np.int64)
    from ortools.graph.python import min_cost_flow  # noqa: PLC0415  slow to load

    ours, theirs = (np.unique(part, return_inverse=True) for part in (found.released, found.known))
    source, sink = len(ours[0]) + len(theirs[0]), len(ours[0]) + len(theirs[0]) + 1
    supply, room = records[ours[0]], people[theirs[0]]
    solver = min_cost_flow.SimpleMinCostFlow()
    most = np.minimum(supply[ours[1]], room[theirs[1]])
    cost = -np.round(chance * STEPS).astype(np.int64)
    arcs = solver.add_arcs_with_capacity_and_unit_cost(ours[1], len(ours[0]) + theirs[1], most, cost)
    each, every = np.arange(len(ours[0])), np.arange(len(theirs[0])) + len(ours[0])
    solver.add_arcs_with_capacity_and_unit_cost(np.full(len(each), source), each, supply, np.zeros(len(each), np.int64))
    solver.add_arcs_with_capacity_and_unit_cost(every, np.full(len(every), sink), room, np.zeros(len(every), np.int64))
    total = int(supply.sum())
    solver.add_arc_with_capacity_and_unit_cost(source, sink, total, 0)  # a record that nobody gets
    solver.set_nodes_supplies(np.array([source, sink]), np.array([total, -total]))
    solver.solve()  # always possible: everything may pass by
    return np.asarray(solver.flows(arcs), np.int64)

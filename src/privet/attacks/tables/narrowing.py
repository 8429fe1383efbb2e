"""Which kinds of record cannot occur at all: found by linear programs, each with its proof.

A person of unknown age who is alone in a group of known total has that total as age, but a linear program spreads the
person over two ages. It does see that nobody in the group can be younger: that needs somebody whole. So the ends of
every group are tried first, and what is left is small.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from privet.attacks.proofs.certificate import (
    Leaf,
    Nobody,
    Proof,
    ProofClaim,
    ProofRow,
    leaves,
    narrowed,
    rows_used,
    weighted,
)
from privet.attacks.proofs.prover import Prover
from privet.attacks.proofs.work import Work
from privet.attacks.release.statistics import Share, Tables
from privet.attacks.tables.encode import EncodedTables, Kinds, compact, encode


@dataclass(frozen=True, slots=True)
class Prepared:
    """The steps are proven about `coarse`. `whole` has all statistics and all kinds, those that are gone with nobody in
    them; `encoded` is the same without them, row by row."""

    coarse: EncodedTables
    steps: tuple[Nobody, ...]
    whole: EncodedTables
    encoded: EncodedTables
    places: tuple[int, ...]  # of the variables of `encoded` in `whole`

    def sources(self, claim: ProofClaim, proof: Proof | None, nobody: Iterable[int] = ()) -> frozenset[str]:
        """The statistics that a claim about `encoded` rests on, those of the steps that it needs included. `nobody` are
        kinds of `whole` that are gone, which the claim is about, too."""
        rows = self.whole.system.rows
        if proof is None:
            return frozenset(row.source for row in rows)
        moved = ProofClaim(tuple((self.places[at], weight) for at, weight in claim.terms), claim.least)
        by = {at: number for number, step in enumerate(self.steps) for at in step.variables}
        first = self._steps_used(rows, moved, proof, by) | self._steps_behind_helpers(proof, by)
        first.update(by[at] for at in nobody)
        needed, todo = set[int](), [first]
        while todo:
            for number in todo.pop() - needed:
                needed.add(number)
                step = self.steps[number]
                todo.append(self._steps_used(self.coarse.system.rows, step.claim(), step.proof, by) - {number})
        used = {rows[number].source for number in rows_used(proof)}
        coarse = self.coarse.system.rows
        used |= {coarse[row].source for number in needed for row in rows_used(self.steps[number].proof)}
        used |= {self.whole.leaning[name] for name in used if name in self.whole.leaning}
        return frozenset(used.union(self.whole.limit))

    def _steps_behind_helpers(self, proof: Proof, by: Mapping[int, int]) -> set[int]:
        """Helpers know only the values that are left: their rows rest on whatever is gone from their group."""
        kinds, rows = len(self.whole.kinds), [self.whole.system.rows[number] for number in rows_used(proof)]
        groups = {row.source for row in rows if any(at >= kinds for at, _ in row.terms)}
        return {by[at] for name in groups for at in self.whole.members[name] if at in by}

    def _steps_used(self, rows: Sequence[ProofRow], claim: ProofClaim, proof: Proof, by: Mapping[int, int]) -> set[int]:
        """The steps without which the weighted sum could be larger."""
        totals = [weighted(rows, claim.denied(), leaf) for leaf in leaves(proof)]
        return {by[at] for total in totals for at, weight in total.items() if weight > 0 and at in by}


def prepare(tables: Tables, kinds: Kinds, work: Work, like: Prepared | None = None) -> Prepared:
    """Tries the ends of each group, by each number that is summed or ranked, until nothing changes. The steps that
    worked for a release like this one are tried first: that takes the checker only."""
    coarse = encode(tables, kinds, helpers=False)
    attributes = _ranked(tables)
    known = _again(like, coarse) if like is not None else []
    steps = _steps(coarse, attributes, known, work) if attributes else []
    gone = frozenset(at for step in steps for at in step.variables)
    whole = encode(tables, kinds, gone=gone)
    places = tuple(at for at in range(len(whole.system.low)) if at not in gone)
    return Prepared(coarse, tuple(steps), whole, compact(whole, gone), places)


def _again(like: Prepared, coarse: EncodedTables) -> list[Nobody]:
    """The steps of another release whose proofs hold here too."""
    number = {row: place for place, row in enumerate(coarse.system.rows)}
    system, steps = coarse.system, list[Nobody]()
    for step in like.steps:
        rows = {place: number.get(like.coarse.system.rows[place]) for place in rows_used(step.proof)}
        if isinstance(step.proof, Leaf) and None not in rows.values():
            moved = tuple((rows.get(place, place), weight) for place, weight in step.proof.weights)
            same = Nobody(step.variables, Leaf(moved))  # type: ignore[arg-type]
            after = narrowed(system, [same])
            if after is not None:
                system = after
                steps.append(same)
    return steps


def _steps(coarse: EncodedTables, attributes: Sequence[str], known: Sequence[Nobody], work: Work) -> list[Nobody]:
    steps, gone = list(known), {at for step in known for at in step.variables}
    prover = Prover(coarse.system, remembers=False)
    prover.nobody(tuple(gone))
    orders = [_ordered(coarse, group, attribute) for attribute in attributes for group in _groups(coarse)]
    while work.left:
        before = len(steps)
        for order in orders:
            for side in (order, order[::-1]):
                step = _longest(prover, [[at for at in level if at not in gone] for level in side], work)
                if step is not None:
                    prover.nobody(step.variables)
                    steps.append(step)
                    gone.update(step.variables)
        if len(steps) == before:
            break
    return steps


def _ranked(tables: Tables) -> list[str]:
    measures = [measure for statistic in tables.statistics for measure in statistic.measures]
    return list(dict.fromkeys(measure.attribute for measure in measures if not isinstance(measure, Share)))


def _groups(encoded: EncodedTables) -> list[tuple[int, ...]]:
    return [group for group in dict.fromkeys(encoded.members.values()) if group]


def _ordered(encoded: EncodedTables, group: Sequence[int], attribute: str) -> list[list[int]]:
    """The kinds of a group by their value, smallest first."""
    codes, numbers = encoded.domain.codes(attribute), encoded.domain.numbers(attribute)
    by_value: dict[object, list[int]] = {}
    for kind in sorted(group, key=lambda kind: numbers[codes[encoded.kinds[kind][0]]]):
        by_value.setdefault(codes[encoded.kinds[kind][0]], []).append(kind)
    return list(by_value.values())


def _longest(prover: Prover, levels: Sequence[Sequence[int]], work: Work) -> Nobody | None:
    """The longest beginning of the list in which there is provably nobody: the more, the harder, so it is halved."""
    levels = [level for level in levels if level]
    best, low, high = None, 0, len(levels)
    while low < high and work.left:
        middle = (low + high + 1) // 2 if best else 1  # mostly not even the first can be shown
        variables = tuple(at for level in levels[:middle] for at in level)
        leaf = prover.at_least(ProofClaim(tuple((at, -1) for at in variables), 0), work)
        if leaf is not None:
            best, low = Nobody(variables, leaf), middle
        else:
            high = middle - 1
    return best

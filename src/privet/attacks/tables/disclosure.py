"""What the tables tell about people whom one knows: somebody's public attributes are known, the rest follows."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from privet.attacks.finding import Finding, Strength
from privet.attacks.proofs.certificate import Proof, ProofClaim, Terms
from privet.attacks.proofs.prover import Prover
from privet.attacks.proofs.work import Work
from privet.attacks.release.domain import value_text
from privet.attacks.release.statistics import Knowledge
from privet.core.rational import show
from privet.errors import InvalidInputError

if TYPE_CHECKING:
    from privet.attacks.tables.encode import EncodedTables
    from privet.attacks.tables.reconstruction import Reconstruction


Proofs = tuple[tuple[ProofClaim, Proof], ...]


@dataclass(frozen=True, slots=True)
class _Group:
    """Everybody with the same public attributes."""

    known: dict[str, str]
    kinds: tuple[int, ...]
    nobody: tuple[int, ...]  # kinds of the whole release that are gone, and might have had them
    people: int


@dataclass(frozen=True, slots=True)
class _Fact:
    """What all people of a group have, with the claims that prove it."""

    attribute: str
    value: str
    proofs: Proofs


def disclosed(found: Reconstruction, knowledge: Knowledge, work: Work) -> list[Finding]:
    """For every group of people with the same public attributes: what is certain about all of them."""
    names = tuple(dict.fromkeys((*found.tables.public, *knowledge.public)))
    if not names:
        return []
    encoded = found.encoded
    for name in names:
        if name not in encoded.domain.names:
            raise InvalidInputError(
                f"no statistic mentions the public attribute {show(name)}",
                f"the attributes are: {', '.join(encoded.domain.names)}",
                "unknown-attribute",
            )
    others = [name for name in encoded.domain.names if name not in names]
    prover, findings = Prover(encoded.system, remembers=False), []
    for group in _groups(found, names):
        size = _size(prover, group, work) if work.left else None
        if size is not None:
            facts = [_fact(prover, found, group, name, work) for name in others]
            told = [fact for fact in facts if fact is not None]
            if told:
                findings.append(_finding(found, group, told, size))
    return sorted(findings, key=lambda finding: finding.people)


def _groups(found: Reconstruction, public: Sequence[str]) -> Iterator[_Group]:
    """Public values that somebody has in the first data set, with all kinds that have them."""
    encoded, first = found.encoded, found.solutions[0]
    kinds: dict[tuple[int, ...], list[int]] = {}
    for kind, group in enumerate(encoded.kinds):
        codes = [np.unique(encoded.domain.codes(name)[group]) for name in public]
        if any(len(places) > 1 for places in codes):
            return  # the statistics do not tell these attributes apart: nobody's group is known for sure
        kinds.setdefault(tuple(int(places[0]) for places in codes), []).append(kind)
    for key, members in kinds.items():
        people = sum(first[kind] for kind in members)
        if people:
            values = [encoded.domain.attributes[name][code] for name, code in zip(public, key, strict=True)]
            known = {name: value_text(value) for name, value in zip(public, values, strict=True)}
            yield _Group(known, tuple(members), tuple(_gone(found, public, key)), people)


def _gone(found: Reconstruction, public: Sequence[str], key: Sequence[int]) -> Iterator[int]:
    """The kinds with these public values that were shown to have nobody: the group's size rests on that."""
    whole, left = found.prepared.whole, frozenset(found.prepared.places)
    codes = [whole.domain.codes(name) for name in public]
    for at, group in enumerate(whole.kinds):
        if at not in left and all(code in column[group] for column, code in zip(codes, key, strict=True)):
            yield at


def _size(prover: Prover, group: _Group, work: Work) -> Proofs | None:
    """That there are as many people in the group as in the first data set: neither fewer, nor more."""
    proofs = []
    for sign in (1, -1):
        claim = ProofClaim(tuple((kind, sign) for kind in group.kinds), sign * group.people)
        proof = prover.at_least(claim, work)
        if proof is None:
            return None
        proofs.append((claim, proof))
    return tuple(proofs)


def _fact(prover: Prover, found: Reconstruction, group: _Group, name: str, work: Work) -> _Fact | None:
    """Whether all people of the group have the same value; or, of one person, in which range a number lies."""
    encoded = found.encoded
    for code, value in enumerate(encoded.domain.attributes[name]):
        having = [kind for kind in group.kinds if _codes(encoded, kind, name) == [code]]
        if all(sum(values[kind] for kind in having) == group.people for values in found.solutions):
            claim = ProofClaim(tuple((kind, 1) for kind in having), group.people)
            proof = prover.prove(claim, work.part(0.1))
            if proof is not None:
                return _Fact(name, value_text(value), ((claim, proof),))
    values = encoded.domain.attributes[name]
    if group.people == 1 and all(isinstance(value, Fraction) for value in values):
        return _range(prover, encoded, group, name, work)
    return None


def _codes(encoded: EncodedTables, kind: int, name: str) -> list[int]:
    return [int(code) for code in np.unique(encoded.domain.codes(name)[encoded.kinds[kind]])]


def _range(prover: Prover, encoded: EncodedTables, group: _Group, name: str, work: Work) -> _Fact | None:
    """The ends between which the only person's number lies, if they are narrower than what was declared."""
    numbers = encoded.domain.numbers(name)
    scale = math.lcm(*(number.denominator for number in numbers))
    ends, proofs = [], []
    for sign in (1, -1):
        terms: Terms = tuple(
            (kind, int(min(sign * scale * numbers[code] for code in _codes(encoded, kind, name))))
            for kind in group.kinds
        )
        bound = prover.lowest(terms, work)
        if bound is None:
            return None
        ends.append(Fraction(sign * bound[0], scale))
        proofs.append((ProofClaim(terms, bound[0]), bound[1]))
    if ends[0] <= min(numbers) and ends[1] >= max(numbers):
        return None
    words = value_text(ends[0]) if ends[0] == ends[1] else f"{value_text(ends[0])} to {value_text(ends[1])}"
    return _Fact(name, words, tuple(proofs))


def _finding(found: Reconstruction, group: _Group, facts: Sequence[_Fact], size: Proofs) -> Finding:
    who = ", ".join(f"{name} {value}" for name, value in group.known.items())
    what = ", ".join(f"{fact.attribute} {fact.value}" for fact in facts)
    proofs = (*size, *(pair for fact in facts for pair in fact.proofs))
    used = frozenset().union(*(found.prepared.sources(claim, proof, group.nobody) for claim, proof in proofs))
    claim = f"the only person with {who} has {what}"
    return Finding(
        claim=claim if group.people == 1 else f"all {group.people} people with {who} have {what}",
        strength=Strength.PROOF if found.tables.confidence is None else Strength.CONFIDENCE,
        confidence=None if found.tables.confidence is None else float(found.tables.confidence),
        people=group.people,
        record={**group.known, **{fact.attribute: fact.value for fact in facts}},
        evidence=tuple(one.name for one in found.tables.statistics if one.name in used),
        certificate=proofs,
    )

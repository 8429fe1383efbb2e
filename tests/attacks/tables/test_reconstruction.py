"""The attack on published tables against a slow oracle: every list of people that fits, one after the other."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import event, given, settings
from support.made_releases import SECONDS, Made, lies, records_of, releases, solved
from support.refusals import raises_code
from support.table_oracle import Truth, every_data_set, fits

from privet.attacks.proofs.certificate import check, narrowed
from privet.attacks.proofs.work import Work
from privet.attacks.release.statistics import Tables
from privet.attacks.tables.encode import kinds_of
from privet.attacks.tables.narrowing import prepare
from privet.attacks.tables.reconstruction import Reconstruction
from privet.errors import InvalidInputError


def compare(found: Reconstruction, truth: Truth) -> None:
    """Everything that the attack says is what the oracle found; nothing is claimed that is not so, or left out."""
    assert found.encoded.domain.names == truth.names
    assert found.undecided == 0
    assert found.checked()
    everything = not found.encoded.unused  # else the attack knows less: it may claim less, never more
    assert found.complete or not everything
    assert found.count() == len(truth.fitting) or (found.count() > len(truth.fitting) and not everything)
    claimed = {one.kind: one.count for one in found.certain}
    kinds = found.encoded.kinds
    for kind, group in enumerate(kinds):
        least = truth.range_of(records_of(found.encoded.domain, group))[0]
        assert claimed.get(kind, 0) <= least
        assert claimed.get(kind, 0) == least or not everything or len(kinds_of(found.tables).groups) == 1
    left = {record for group in kinds for record in records_of(found.encoded.domain, group)}
    assert all(person in left for people in truth.fitting for person in people)


@settings(max_examples=200)
@given(releases())
def test_the_attack_says_what_the_oracle_finds(made: Made) -> None:
    assert fits(made.tables, made.people)
    found = solved(made.tables)
    compare(found, every_data_set(made.tables))
    for one in found.certain:
        if one.proof is not None:
            assert check(found.encoded.system, one.claim(), one.proof)
    event(f"steps: {min(len(found.prepared.steps), 3)}")


@pytest.mark.proof
@settings(max_examples=100)
@given(releases())
def test_evidence_is_enough(made: Made) -> None:
    """What a claim is said to rest on proves it without the other statistics."""
    found = solved(made.tables)
    for one in found.certain:
        named = found.sources(one)
        kept = tuple(s for s in made.tables.statistics if s.name in named)
        truth = every_data_set(replace(made.tables, statistics=kept), found.encoded.domain.names)
        assert truth.range_of(records_of(found.encoded.domain, found.encoded.kinds[one.kind]))[0] >= one.count


@pytest.mark.proof
@settings(max_examples=100)
@given(lies())
def test_a_contradiction_is_reported_exactly_when_there_is_one(tables: Tables) -> None:
    truth = every_data_set(tables)
    if truth.fitting:
        event("fits")
        compare(solved(tables), truth)
        return
    with raises_code(InvalidInputError, "contradiction: data"):
        solved(tables)


@settings(max_examples=100)
@given(releases(most=2))
def test_narrowing_removes_no_true_record(made: Made) -> None:
    prepared = prepare(made.tables, kinds_of(made.tables), Work(SECONDS))
    left = {r for group in prepared.encoded.kinds for r in records_of(prepared.encoded.domain, group)}
    assert all(tuple(person[n] for n in prepared.encoded.domain.names) in left for person in made.people)
    assert narrowed(prepared.coarse.system, prepared.steps) is not None

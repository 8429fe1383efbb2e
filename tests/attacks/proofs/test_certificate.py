"""The checker under attack: whatever it is given, it accepts no false claim, and does not fall over."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import assume, event, given, settings
from hypothesis import strategies as st

from privet.attacks.proofs.certificate import (  # fmt: skip
    DENIAL,
    Branch,
    Leaf,
    Nobody,
    Proof,
    ProofClaim,
    ProofRow,
    System,
    check,
    fits,
    leaves,
    lifted,
    narrowed,
    only,
    rows_used,
    weighted,
    without,
)
from privet.attacks.proofs.prover import Prover
from privet.attacks.proofs.work import Work

small = st.integers(-3, 3)
ROW_NUMBERS = st.integers(-4, 4) | st.sampled_from([DENIAL, DENIAL, DENIAL, 10**30, -(10**30)])


def solutions(system: System) -> Iterator[tuple[int, ...]]:
    """Tried one by one, with arithmetic of its own."""
    for values in itertools.product(*(range(a, b + 1) for a, b in zip(system.low, system.high, strict=True))):
        sums = [(row, sum(weight * values[at] for at, weight in row.terms)) for row in system.rows]
        if all((r.low is None or r.low <= s) and (r.high is None or s <= r.high) for r, s in sums):
            yield values


def true(system: System, claim: ProofClaim) -> bool:
    return all(sum(weight * values[at] for at, weight in claim.terms) >= claim.least for values in solutions(system))


@st.composite
def terms(draw: st.DrawFn, size: int) -> tuple[tuple[int, int], ...]:
    return tuple((at, weight) for at in range(size) if (weight := draw(small)))


@st.composite
def systems(draw: st.DrawFn) -> System:
    size = draw(st.integers(1, 3))
    low = tuple(draw(st.integers(-2, 1)) for _ in range(size))
    high = tuple(at + draw(st.integers(-1, 3)) for at in low)
    rows = []
    for _ in range(draw(st.integers(0, 3))):
        bound = draw(st.integers(-6, 6))
        ends = draw(st.sampled_from([(bound, bound), (bound, None), (None, bound), (bound, bound + 2), (None, None)]))
        rows.append(ProofRow(draw(terms(size)), *ends))
    return System(low, high, tuple(rows))


def proofs(numbers: st.SearchStrategy[int] = ROW_NUMBERS) -> st.SearchStrategy[Proof]:
    leaf = st.lists(st.tuples(numbers, st.integers(-4, 4)), max_size=4).map(lambda pairs: Leaf(tuple(pairs)))
    return st.recursive(
        leaf,
        lambda below: st.builds(Branch, st.integers(-2, 4), st.integers(-3, 4), below, below),
        max_leaves=6,
    )


def test_no_false_claim_is_accepted_in_thousands_of_tries() -> None:
    """Tiny systems, where a proof drawn blindly is often right: of those accepted none is false."""
    chance = random.Random(1)
    accepted = 0
    for _ in range(20_000):
        size = chance.randint(1, 2)
        low = tuple(chance.randint(-1, 1) for _ in range(size))
        high = tuple(a + chance.randint(0, 2) for a in low)
        rows = tuple(_drawn_row(chance, size) for _ in range(chance.randint(1, 2)))
        system = System(low, high, rows)
        claim = ProofClaim(tuple((at, chance.choice((-1, 1, 2))) for at in range(size)), chance.randint(-2, 3))
        if check(system, claim, _drawn_proof(chance, 2)):
            accepted += 1
            assert true(system, claim)
    assert accepted > 200


def _drawn_row(chance: random.Random, size: int) -> ProofRow:
    bound = chance.randint(-3, 3)
    low, high = chance.choice(((bound, bound), (bound, None), (None, bound)))
    return ProofRow(tuple((at, chance.randint(-2, 2)) for at in range(size)), low, high)


def _drawn_proof(chance: random.Random, depth: int) -> Proof:
    if depth and chance.random() < 0.4:
        halves = _drawn_proof(chance, depth - 1), _drawn_proof(chance, depth - 1)
        return Branch(chance.randint(-1, 2), chance.randint(-2, 2), *halves)
    weights = [(chance.choice((0, 1, 2, -2)), chance.randint(-2, 2)) for _ in range(chance.randint(0, 2))]
    return Leaf((*weights, (DENIAL, chance.choice((-1, -1, -2, 1)))))


@settings(max_examples=100)
@given(st.data())
def test_no_false_claim_is_accepted_whatever_the_proof(data: st.DataObject) -> None:
    system = data.draw(systems())
    claim = ProofClaim(data.draw(terms(len(system.low))), data.draw(st.integers(-4, 4)))
    proof = data.draw(proofs())
    if check(system, claim, proof):
        event("accepted")
        assert true(system, claim)


@settings(max_examples=200)
@given(st.data())
def test_no_false_claim_is_accepted_from_a_proof_of_another(data: st.DataObject) -> None:
    """Real proofs, then damaged: another claim, another weight, another row, another branch."""
    system = data.draw(systems())
    assume(all(a <= b for a, b in zip(system.low, system.high, strict=True)))
    aim = data.draw(terms(len(system.low)))
    totals = [sum(weight * values[at] for at, weight in aim) for values in solutions(system)]
    claim = ProofClaim(aim, min(totals)) if totals else ProofClaim((), 1)
    proof = Prover(system).prove(claim, Work(60))
    if proof is None:
        event("no proof found")
        return
    assert check(system, claim, proof)
    assert true(system, claim)
    wrong = _damaged(proof, data)
    other = ProofClaim(claim.terms, claim.least + data.draw(st.integers(0, 1)))
    if check(system, other, wrong):
        event("damaged and accepted")
        assert true(system, other)


def _damaged(proof: Proof, data: st.DataObject) -> Proof:
    if isinstance(proof, Branch):
        return Branch(
            proof.variable + data.draw(st.sampled_from([0, 0, 0, 1, -1])),
            proof.value + data.draw(st.sampled_from([0, 0, 0, 1, -1])),
            _damaged(proof.below, data),
            _damaged(proof.above, data),
        )
    return Leaf(
        tuple(
            (n + data.draw(st.sampled_from([0, 0, 0, 1, -1])), w + data.draw(st.sampled_from([0, 0, 0, 1, -1])))
            for n, w in proof.weights
        )
    )


AT_LEAST_3 = System((0, 0), (9, 9), (ProofRow(((0, 1), (1, 1)), 7, 7, "sum"), ProofRow(((1, 1),), None, 4, "second")))
THREE = ProofClaim(((0, 1),), 3)
PROOF = Leaf(((0, 1), (1, -1), (DENIAL, -1)))


def test_a_right_proof_is_accepted_and_no_stronger_claim() -> None:
    assert check(AT_LEAST_3, THREE, PROOF)
    assert not check(AT_LEAST_3, ProofClaim(((0, 1),), 4), PROOF)
    assert fits(AT_LEAST_3, (3, 4))  # the bound is reached: 3 is the most that can be claimed


@pytest.mark.parametrize(
    "proof",
    [
        Leaf(()),
        Leaf(((0, 1),)),
        Leaf(((0, 0), (1, 0), (DENIAL, 0))),
        Leaf(((0, -1), (1, 1), (DENIAL, 1))),  # signs turned
        Leaf(((0, 1), (1, 1), (DENIAL, -1))),  # the second row has no low
        Leaf(((0, 1), (-2, -1), (DENIAL, -1))),  # no row is counted from the end
        Leaf(((0, 1), (2, -1), (DENIAL, -1))),
        Leaf(((0, 1), (10**30, -1), (DENIAL, -1))),
        Leaf(((0, 1), (1, -1), (1, 1), (DENIAL, -1))),
        Branch(2, 0, PROOF, PROOF),
        Branch(-1, 0, PROOF, PROOF),
        Branch(0, 5, PROOF, Leaf(())),
        Branch(0, -1, Leaf(()), Leaf(())),  # the lower half is empty, the upper is not
        Branch(0, 9, Leaf(()), Leaf(())),
    ],
)
def test_a_wrong_proof_is_refused(proof: Proof) -> None:
    assert not check(AT_LEAST_3, THREE, proof)


def test_an_empty_half_needs_no_reason() -> None:
    assert check(AT_LEAST_3, THREE, Branch(0, -1, Leaf(()), PROOF))
    assert check(AT_LEAST_3, THREE, Branch(0, 9, PROOF, Leaf(())))
    assert check(System((1,), (0,), ()), ProofClaim(((0, 1),), 99), Leaf(()))


@pytest.mark.parametrize("half", [Fraction(1, 2), 0.5])
def test_a_branch_must_not_jump_over_a_whole_number(half: Any) -> None:
    """x <= 1/2 or x >= 3/2 leaves out 1, the only solution."""
    system = System((0,), (2,), (ProofRow(((0, 1),), 1, 1),))
    nothing = ProofClaim((), 1)
    assert not check(system, nothing, Branch(0, half, Leaf(((0, 1),)), Leaf(((0, -1),))))


def test_weights_are_whole_numbers() -> None:
    """In floating point 1e16 + 1 is 1e16, and a true denial would look contradictory."""
    system = System((0, 0), (1, 1), (ProofRow(((0, 1), (1, 1)), 1, 1),))
    weights: Any = ((0, 1e16), (DENIAL, -1e16))
    assert not check(system, ProofClaim(((0, 1),), 1), Leaf(weights))
    assert not check(AT_LEAST_3, THREE, Leaf(((0, 1.0), (1, -1.0), (DENIAL, -1.0))))  # type: ignore[arg-type]


@pytest.mark.parametrize("at", [2, -1, 10**30])
def test_a_claim_about_no_variable_is_refused(at: int) -> None:
    claim = ProofClaim(((at, 1),), 0)
    assert not check(AT_LEAST_3, claim, Leaf(((DENIAL, -1),)))


def test_a_deep_proof_is_checked_without_recursion() -> None:
    levels = 5000
    system = System((0,), (levels,), (ProofRow(((0, 1),), levels, None),))
    proof: Proof = Leaf(((DENIAL, -1),))
    for value in range(levels - 1, -1, -1):
        proof = Branch(0, value, Leaf(((0, 1),)), proof)
    claim = ProofClaim(((0, 1),), levels)
    assert check(system, claim, proof)
    assert len(leaves(proof)) == levels + 1
    assert rows_used(proof) == (0,)
    assert not check(system, ProofClaim(((0, 1),), levels + 1), proof)


@settings(max_examples=150)
@given(systems(), st.data())
def test_steps_keep_every_solution(system: System, data: st.DataObject) -> None:
    steps = []
    for _ in range(data.draw(st.integers(1, 2))):
        variables = tuple(data.draw(st.sets(st.integers(0, len(system.low) - 1), min_size=1, max_size=2)))
        claim = Nobody(variables, Leaf(())).claim()
        found = None if data.draw(st.booleans()) else Prover(system).prove(claim, Work(60))
        proof = data.draw(proofs()) if found is None else found
        steps.append(Nobody(variables, proof))
    after = narrowed(system, steps)
    if after is not None:
        event("proven")
        assert list(solutions(after)) == list(solutions(system))


@settings(max_examples=100)
@given(systems(), st.data())
def test_least_values_keep_every_solution(system: System, data: st.DataObject) -> None:
    at, least = data.draw(st.integers(0, len(system.low) - 1)), data.draw(st.integers(-2, 3))
    found = None if data.draw(st.booleans()) else Prover(system).prove(ProofClaim(((at, 1),), least), Work(60))
    after = lifted(system, [(at, least, data.draw(proofs()) if found is None else found)])
    if after is not None:
        event("proven")
        assert list(solutions(after)) == list(solutions(system))


def test_a_least_value_without_a_proof_lifts_nothing() -> None:
    system = System((0,), (3,), (ProofRow(((0, 1),), 2, None, "a"),))
    proof = Leaf(((0, 1), (DENIAL, -1)))
    assert lifted(system, [(0, 2, proof)]) == System((2,), (3,), system.rows)
    assert lifted(system, [(0, 3, proof)]) is None


def test_a_sum_of_nothing_with_negative_numbers_does_not_mean_nobody() -> None:
    """x = -1, y = 1 adds up to 0, and neither is 0."""
    system = System((-1, 0), (1, 1), (ProofRow(((0, 1), (1, 1)), 0, 0),))
    step = Nobody((0, 1), Leaf(((0, -1), (DENIAL, -1))))
    assert check(system, step.claim(), step.proof)
    assert narrowed(system, [step]) is None


def test_steps_build_on_each_other() -> None:
    system = System((0, 0), (3, 3), (ProofRow(((0, 1),), None, 0, "a"), ProofRow(((0, -1), (1, 1)), None, 0, "b")))
    first, second = Nobody((0,), Leaf(((0, -1), (DENIAL, -1)))), Nobody((1,), Leaf(((1, -1), (DENIAL, -1))))
    after = narrowed(system, [first, second])
    assert after is not None
    assert after.high == (0, 0)
    assert narrowed(system, [second, first]) is None
    assert without(system, (1,)).high == (3, 0)


def test_what_one_source_says_and_what_a_leaf_adds_up_to() -> None:
    assert only(AT_LEAST_3, frozenset({"second"})).rows == AT_LEAST_3.rows[1:]
    assert weighted(AT_LEAST_3.rows, THREE.denied(), PROOF) == {0: 0, 1: 0}


@given(systems(), st.lists(st.integers(-3, 5), min_size=3, max_size=3))
def test_a_solution_is_recognized(system: System, values: list[int]) -> None:
    given_values = tuple(values[: len(system.low)])
    assert fits(system, given_values) == (given_values in set(solutions(system)))

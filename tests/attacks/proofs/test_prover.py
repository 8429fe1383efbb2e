"""Solvers and provers: what they find is true, a bound that is reached is the best, and no time is no proof."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from privet.attacks.proofs import prover as prover_module
from privet.attacks.proofs.certificate import Branch, Leaf, ProofClaim, ProofRow, System, check, fits
from privet.attacks.proofs.prover import Prover
from privet.attacks.proofs.solver import Outcome, Solved, Solver, impossible, smallest_cover
from privet.attacks.proofs.work import Work
from privet.attacks.tables import certain as certain_module
from privet.attacks.tables.certain import Certain, Search, silent

SECONDS = 60
NOTHING = ProofClaim((), 1)
UNEVEN = System((0, 0), (2, 2), (ProofRow(((0, 2), (1, 2)), 3, 3),))  # twice a whole number is not 3
HALF = System((0, 0, 0), (1, 1, 1), (ProofRow(((0, 2), (1, 2), (2, 1)), 3, 3),))  # the third is 1, by parity only
SUM = System((0, 0), (5, 5), (ProofRow(((0, 1), (1, 1)), 7, 7),))  # each at least 2


def solutions(system: System) -> Iterator[tuple[int, ...]]:
    boxes = (range(a, b + 1) for a, b in zip(system.low, system.high, strict=True))
    return (values for values in itertools.product(*boxes) if fits(system, values))


@st.composite
def systems(draw: st.DrawFn) -> System:
    size = draw(st.integers(1, 4))
    rows = []
    for _ in range(draw(st.integers(1, 3))):
        terms = tuple((at, weight) for at in range(size) if (weight := draw(st.integers(-2, 3))))
        bound = draw(st.integers(-2, 8))
        rows.append(ProofRow(terms, *draw(st.sampled_from([(bound, bound), (bound, None), (None, bound)]))))
    return System((0,) * size, tuple(draw(st.integers(0, 3)) for _ in range(size)), tuple(rows))


@settings(max_examples=150)
@given(systems(), st.data())
def test_what_is_proven_is_true_and_what_is_true_is_proven(system: System, data: st.DataObject) -> None:
    """One prover for several claims. Small systems leave it no excuse."""
    every = list(solutions(system))
    prover = Prover(system)
    if not every:
        proof = prover.prove(NOTHING, Work(SECONDS))
        assert proof is not None
        assert check(system, NOTHING, proof)
        return
    for _ in range(2):
        terms = tuple((at, weight) for at in range(len(system.low)) if (weight := data.draw(st.integers(-2, 2))))
        assume(terms)
        least = min(sum(weight * values[at] for at, weight in terms) for values in every)
        right = prover.prove(ProofClaim(terms, least), Work(SECONDS))
        assert right is not None
        assert check(system, ProofClaim(terms, least), right)
        assert prover.prove(ProofClaim(terms, least + 1), Work(SECONDS)) is None
        bound = prover.lowest(terms, Work(SECONDS))
        assert bound is not None
        assert bound[0] <= least
        assert check(system, ProofClaim(terms, bound[0]), bound[1])
    assert all(fits(system, values) for values in prover.seen)


@settings(max_examples=100)
@given(systems())
def test_both_solvers_agree_with_trying_everything(system: System) -> None:
    every = list(solutions(system))
    solver = Solver(system)
    found, complete = solver.every(Work(SECONDS), 10_000)
    assert sorted(found) == sorted(every)
    assert complete == bool(every)
    first = solver.solve(Work(SECONDS), ((0, 1),))
    assert first.outcome is (Outcome.SOLVED if every else Outcome.IMPOSSIBLE)
    if first.values is not None:
        assert first.values[0] == min(values[0] for values in every)
    least = min((values[0] for values in every), default=1)
    assert impossible(system, ProofClaim(((0, 1),), least), Work(SECONDS))
    assert impossible(system, ProofClaim(((0, 1),), least + 1), Work(SECONDS)) == (not every)


def test_a_tight_bound_is_reached() -> None:
    prover = Prover(SUM)
    assert prover.lowest(((0, 1),), Work(SECONDS)) == (2, Leaf(((0, 1), (-1, -1))))
    assert fits(SUM, (2, 5))
    high = prover.lowest(((0, -1), (1, -1)), Work(SECONDS))
    assert high is not None
    assert high[0] == -7


def test_where_no_linear_program_helps_branches_do() -> None:
    prover = Prover(HALF)
    claim = ProofClaim(((2, 1),), 1)
    assert prover.at_least(claim, Work(SECONDS)) is None
    proof = prover.prove(claim, Work(SECONDS))
    assert isinstance(proof, Branch)
    assert check(HALF, claim, proof)
    assert isinstance(Prover(UNEVEN).prove(NOTHING, Work(SECONDS)), Branch)


def test_claims_with_a_negative_bound_do_not_spoil_later_ones() -> None:
    prover = Prover(HALF)
    assert prover.prove(ProofClaim(((0, -1), (1, -1)), -1), Work(SECONDS)) is not None  # needs branches
    assert prover.prove(ProofClaim(((0, -1), (1, -1)), 0), Work(SECONDS)) is None
    assert prover.prove(ProofClaim(((2, 1),), 1), Work(SECONDS)) is not None


def test_nobody_narrows_all_that_follows() -> None:
    prover = Prover(System((0, 0), (5, 5), (ProofRow(((0, 1), (1, 1)), 3, None),)))
    assert prover.prove(ProofClaim(((0, 1),), 3), Work(SECONDS)) is None
    prover.nobody((1,))
    assert prover.prove(ProofClaim(((0, 1),), 3), Work(SECONDS)) is not None
    assert prover.system.high == (5, 0)


@pytest.mark.parametrize("remembers", [True, False])
def test_a_point_that_denies_the_claim_is_kept_if_it_is_a_solution(remembers: bool) -> None:
    prover = Prover(SUM, remembers=remembers)
    assert prover.at_least(ProofClaim(((0, 1),), 3), Work(SECONDS)) is None
    assert prover.seen == ([(2, 5)] if remembers else [])
    third = Prover(System((0, 0), (5, 5), (ProofRow(((0, 3), (1, 1)), 4, 4), ProofRow(((1, 1),), None, 0))))
    assert third.at_least(ProofClaim(((0, 1),), 3), Work(SECONDS)) is None  # 4/3 is no solution
    assert third.seen == []


def test_an_impossible_system_has_no_lowest_point() -> None:
    none = System((0,), (1,), (ProofRow(((0, 1),), 5, None),))
    assert Prover(none).lowest(((0, 1),), Work(SECONDS)) is None
    assert Prover(none).at_least(ProofClaim(((0, 1),), 1), Work(SECONDS)) is None
    assert Prover(none).prove(ProofClaim(((0, 1),), 1), Work(SECONDS)) is not None
    empty = System((1,), (0,), ())
    assert Prover(empty).prove(NOTHING, Work(SECONDS)) == Leaf(())


def test_a_row_whose_ends_cross_is_a_contradiction() -> None:
    crossed = System((0,), (5,), (ProofRow(((0, 1),), 3, 2),))  # such as a count of exactly 2.5
    proof = Prover(crossed).prove(NOTHING, Work(SECONDS))
    assert proof is not None
    assert check(crossed, NOTHING, proof)
    assert Prover(crossed).at_least(ProofClaim(((0, 1),), 1), Work(SECONDS)) is None


def test_too_many_branches_prove_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prover_module, "MOST_NODES", 1)
    assert Prover(UNEVEN).prove(NOTHING, Work(SECONDS)) is None


def test_weights_that_the_checker_refuses_prove_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    infeasible = System((0,), (1,), (ProofRow(((0, 1),), 5, None),))
    monkeypatch.setattr(prover_module, "_leaves", lambda _dual: iter([Leaf(((0, -1),))]))
    assert Prover(infeasible).prove(NOTHING, Work(SECONDS)) is None
    assert Prover(SUM).lowest(((0, 1),), Work(SECONDS)) is None


def test_large_numbers_are_rounded_and_checked() -> None:
    """Floats cannot hold these: a proof is either right or not given."""
    big = 10**15
    system = System((0, 0), (9, 9), (ProofRow(((0, big + 1), (1, big)), 3 * big + 1, 3 * big + 1),))
    for claim in (ProofClaim(((0, 1),), 1), ProofClaim(((0, 1),), 2), ProofClaim(((1, 1),), 2)):
        proof = Prover(system).prove(claim, Work(SECONDS))
        assert proof is None or all(values[claim.terms[0][0]] >= claim.least for values in solutions(system))


def test_weights_are_whole_and_simple_ones_come_first() -> None:
    assert next(prover_module._leaves([(0, 0.5), (1, -1.5)])) == Leaf(((0, 1), (1, -3)))
    assert list(prover_module._leaves([])) == []
    huge = list(prover_module._leaves([(0, 1.0), (1, 2.0**45)]))  # no multiple is small enough
    assert huge == [Leaf(((1, 2**40),))]


def test_no_time_is_no_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prover_module._Program, "minimize_slack", lambda *_: None)
    assert Prover(UNEVEN).prove(NOTHING, Work(SECONDS)) is None


def test_work_counts_down_by_what_was_used_and_by_nothing_else() -> None:
    work = Work(100)
    assert work.spent == 0
    part = work.part(0.5).at_most(20)
    part.used(15)
    assert (work.left, part.left) == (85, 5)
    part.used(15)
    assert (work.left, part.left) == (70, 0)
    assert work.at_most(1000).left == 70
    assert Work(-1).left == 0
    assert work.steps(1000) > 10**6
    assert Work(0).steps(1000) == 1
    work.stepped(work.steps(1000), 1000)
    assert work.left < 1e-3


@pytest.mark.parametrize("system", [UNEVEN, SUM])
def test_every_solver_says_what_it_used(system: System) -> None:
    for ask in (
        lambda work: Solver(system).solve(work),
        lambda work: Solver(system).every(work, 10),
        lambda work: Prover(system).at_least(ProofClaim(((0, 1),), 1), work),
        lambda work: impossible(system, ProofClaim(((0, 1),), 1), work),
        lambda work: smallest_cover([frozenset("ab"), frozenset("bc")], work),
    ):
        spent = []
        for _ in range(2):
            work = Work(SECONDS)
            ask(work)
            spent.append(SECONDS - work.left)
        assert spent[0] == spent[1]
        assert 0 <= spent[0] < 1


def test_the_same_is_found_every_time_and_costs_the_same() -> None:
    """Fewer steps than are needed: where the work ends does not depend on the machine."""
    rng = random.Random(5)
    rows = tuple(
        ProofRow(
            tuple((at, rng.randint(1, 9)) for at in sorted(rng.sample(range(40), 12))), total, total + 1, f"r{number}"
        )
        for number, total in enumerate(rng.randint(200, 300) for _ in range(25))
    )
    hard = System((0,) * 40, (9,) * 40, rows)
    for seconds in (0.02, 0.1):
        found = []
        for _ in range(2):
            work = Work(seconds)
            found.append((Solver(hard).solve(work), Prover(hard).lowest(((0, 1),), Work(seconds)), work.left))
        assert found[0] == found[1]


def test_a_solution_that_does_not_fit_is_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    solver = Solver(SUM)
    monkeypatch.setattr("privet.attacks.proofs.solver.fits", lambda *_: False)
    assert solver.solve(Work(SECONDS)) == Solved(Outcome.UNKNOWN, None)
    assert solver.every(Work(SECONDS), 10)[0] == []


def test_a_limit_ends_the_list() -> None:
    found, complete = Solver(SUM).every(Work(SECONDS), 2)
    assert len(found) == 2
    assert not complete


def test_the_fewest_names_that_meet_every_set() -> None:
    sets = [frozenset("ab"), frozenset("bc"), frozenset("cd"), frozenset("bd")]
    chosen = smallest_cover(sets, Work(SECONDS))
    assert chosen is not None
    assert len(chosen) == 2
    assert all(chosen & one for one in sets)
    assert smallest_cover([frozenset("a"), frozenset()], Work(SECONDS)) is None  # nothing meets an empty set


def started(system: System, *, limit: int = 100) -> Search:
    search = Search(system, len(system.low), Work(SECONDS))
    assert search.start(limit) is Outcome.SOLVED
    return search


def test_what_a_search_finds_certain() -> None:
    silent("nothing", 0, 1)
    search = started(SUM)
    found = search.certain(Prover(SUM))
    assert [(one.kind, one.count) for one in found] == [(0, 2), (1, 2)]
    assert all(one.proof is not None and check(SUM, one.claim(), one.proof) for one in found)
    assert [one.rank() for one in found] == [(2, 0), (2, 1)]
    assert Search(UNEVEN, 2, Work(SECONDS)).start(5) is Outcome.IMPOSSIBLE


@pytest.mark.parametrize("limit", [1, 100])
def test_a_hard_claim_is_proven_by_branching(limit: int) -> None:
    """With one solution listed CP-SAT is asked for the least; with all of them it is known."""
    found = started(HALF, limit=limit).certain(Prover(HALF))
    assert [(one.kind, one.count, type(one.proof)) for one in found] == [(2, 1, Branch)]


def test_without_proofs_the_first_solver_is_believed() -> None:
    assert started(HALF).certain(Prover(HALF), prove=False) == [Certain(2, 1, None)]


def test_a_second_solver_where_there_is_no_certificate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Prover, "prove", lambda *_: None)
    assert started(HALF).certain(Prover(HALF)) == [Certain(2, 1, None)]
    monkeypatch.setattr(certain_module, "impossible", lambda *_: False)  # it does not agree, or has no time
    search = started(HALF)
    assert search.certain(Prover(HALF)) == []
    assert search.undecided == 1


def test_unknown_is_not_certain(monkeypatch: pytest.MonkeyPatch) -> None:
    """CP-SAT has no time for the least count: not even a proof by branching is tried, and nothing is claimed."""
    search = started(HALF, limit=1)
    solve = search._solver.solve

    def unknown(work: Work, least: Any = None) -> Solved:
        return Solved(Outcome.UNKNOWN, solve(work, least).values)

    monkeypatch.setattr(search._solver, "solve", unknown)
    assert search.certain(Prover(HALF)) == []
    assert search.undecided == 1
    monkeypatch.setattr(search._solver, "solve", lambda *_: Solved(Outcome.UNKNOWN))
    assert search.certain(Prover(HALF)) == []
    assert search.start(5) is Outcome.UNKNOWN


def test_no_time_left_leaves_everybody_undecided() -> None:
    search = started(SUM)
    search.work = Work(0)
    assert search.certain(Prover(SUM)) == []
    assert search.undecided == 4

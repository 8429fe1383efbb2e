"""The differencing attack: against all possible secrets, on the examples, with noise, and on wrong input."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.places import EXAMPLES
from support.refusals import expect_code

from privet.attacks.differencing import determined
from privet.attacks.differencing.determined import classes_of, settle
from privet.attacks.differencing.difference import NO_TIME, attack_differencing
from privet.attacks.differencing.file import queries_of, read_queries
from privet.attacks.differencing.noisy import Law, NoisyEstimate, ceiling, estimates, has_it, pooled_rate
from privet.attacks.differencing.queries import Noise, PublishedQuery, Queries, Secret, number, two_means, two_releases
from privet.attacks.differencing.words import number_text
from privet.attacks.finding import Findings, Strength
from privet.attacks.promise import Privacy, privacy
from privet.attacks.proofs.prover import Prover
from privet.attacks.proofs.solver import Outcome, Solved, Solver
from privet.attacks.proofs.work import Work
from privet.attacks.release.statistics import Between
from privet.errors import InvalidInputError

PAY = {"min": 0, "max": 9}
SALARY = number("salary", 0, 500_000)


def of(people: Mapping[str, int], *queries: Mapping[str, Any], **more: Any) -> Queries:
    return queries_of({"people": people, "queries": list(queries), **more})


def named(found: Findings) -> list[str]:
    names: list[str] = found.numbers["determined"]
    return sorted(names)


def all_hold(found: Findings) -> bool:
    return all(one.certificate.holds() for one in found.findings if one.strength is Strength.PROOF)


# Against every possible secret


@st.composite
def small_queries(draw: st.DrawFn) -> Queries:
    """A few people, mostly with answers that a real secret gave; often rounded or with one bound."""
    sizes = draw(st.lists(st.sampled_from([1, 1, 2]), min_size=1, max_size=4))
    people = {f"p{at}": size for at, size in enumerate(sizes)}
    top = draw(st.sampled_from([1, 1, 3]))
    secret = Secret() if top == 1 else number("pay", -2, 4, 2)
    real = {name: [secret.value(draw(st.integers(0, top))) for _ in range(size)] for name, size in people.items()}
    queries = []
    for at in range(draw(st.integers(1, 5))):
        members = tuple(sorted(draw(st.sets(st.sampled_from(list(people)), min_size=1))))
        total = sum((sum(real[name], Fraction(0)) for name in members), Fraction(0))
        low = total - draw(st.sampled_from([0, 0, 1, 2]))
        high = total + draw(st.sampled_from([0, 0, 1, 2]))
        if draw(st.integers(0, 19)) == 0:
            low = high = total + 1
        bounds = Between(*draw(st.sampled_from([(low, high), (low, high), (low, None), (None, high)])))
        measure = "sum"
        if draw(st.booleans()):
            size, measure = sum(people[name] for name in members), "mean"
            bounds = Between(*(None if side is None else side / size for side in (bounds.low, bounds.high)))
        queries.append((f"q{at}", members, measure, bounds))
    parts = tuple(PublishedQuery(name=n, members=m, measure=k, value=v) for n, m, k, v in queries)  # type: ignore[arg-type]
    return _unchecked(people, secret, parts)


def _unchecked(people: dict[str, int], secret: Secret, parts: tuple[PublishedQuery, ...]) -> Queries:
    made = object.__new__(Queries)
    given = {"people": people, "secret": secret, "queries": parts, "privacy": None, "subject": "x"}
    for name, value in given.items():
        object.__setattr__(made, name, value)
    return made


def possible(queries: Queries) -> list[dict[str, tuple[Fraction, ...]]]:
    """All secrets of everybody that fit all answers."""
    values = [queries.secret.value(steps) for steps in range(queries.secret.top + 1)]
    names = [name for name, size in queries.people.items() for _ in range(size)]
    found = []
    for choice in itertools.product(values, repeat=len(names)):
        each = {name: tuple(v for n, v in zip(names, choice, strict=True) if n == name) for name in queries.people}
        if all(_fits(query, each) for query in queries.queries):
            found.append(each)
    return found


def _fits(query: PublishedQuery, each: Mapping[str, tuple[Fraction, ...]]) -> bool:
    values = [value for name in query.members for value in each[name]]
    said = sum(values, Fraction(0)) / (len(values) if query.measure == "mean" else 1)
    low, high = query.value.low, query.value.high
    return (low is None or low <= said) and (high is None or said <= high)


@settings(max_examples=200)
@given(small_queries())
def test_exactly_those_are_determined_who_have_one_value_in_all_possible_secrets(queries: Queries) -> None:
    secrets = possible(queries)
    try:
        found = attack_differencing(Queries(people=queries.people, secret=queries.secret, queries=queries.queries))
    except InvalidInputError:
        assert not secrets
        return
    assert secrets
    seen = {name: {value for each in secrets for value in each[name]} for name in queries.people}
    assert named(found) == sorted(name for name, values in seen.items() if len(values) == 1)
    assert all_hold(found)
    assert found.numbers["unsettled"] == []
    settled = settle(queries, Work(60))
    if not queries.secret.boolean:
        for at, names in enumerate(settled.classes.names[:-1]):
            sums = {sum((sum(each[name], Fraction(0)) for name in names), Fraction(0)) for each in secrets}
            ends = (settled.ranges[at].low, settled.ranges[at].high)
            start = settled.classes.sizes[at] * queries.secret.low
            assert ends == tuple((total - start) / queries.secret.step for total in (min(sums), max(sums)))


def test_a_branch_is_needed_where_the_linear_program_allows_halves() -> None:
    """Of three people at most one in every pair has it. A linear program lets 1.5 of the three have it, whole people
    are at most 1; so of two such threes and Dan, 3 have it only with Dan."""
    pairs = [{"name": pair, "of": list(pair), "count": {"most": 1}} for pair in ("ab", "bc", "ac", "ef", "fg", "eg")]
    people = {**dict.fromkeys("abcefg", 1), "Dan": 1}
    found = attack_differencing(of(people, *pairs, {"name": "all", "count": {"least": 3}}))
    assert named(found) == ["Dan"]
    assert all_hold(found)
    assert "cases were checked" in found.findings[0].reasoning


# What must be found


def test_hospital() -> None:
    found = attack_differencing(read_queries(EXAMPLES / "hospital.toml"), truth={"Ada": True})
    assert (found.headline, found.people, found.proven) == ("1 of 2,437 people is certain", 2437, 1)
    (one,) = found.findings
    assert one.claim == "Ada has the condition: week 2 − week 1 = 5 − 4 = 1"
    assert one.evidence == ("week 1", "week 2")
    assert one.strength is Strength.PROOF
    assert one.certificate.holds()
    assert one.record == {"name": "Ada", "the condition": "yes"}
    assert found.numbers == {
        "determined": ["Ada"], "queries": 2, "up_to_noise": 0, "in_range": 0, "limits": [], "unsettled": [],
    }  # fmt: skip
    assert found.subject == "hospital.toml"
    assert found.score is not None
    assert (found.score.claimed, found.score.right) == (1, 1)


def test_two_releases_with_somebody_who_left() -> None:
    found = attack_differencing(two_releases((4, 10), (4, 10), joined=["Ada"], left=["Ben"]))
    assert named(found) == []
    found = attack_differencing(two_releases((4, 10), (5, 10), joined=["Ada"], left=["Ben"]))
    assert named(found) == ["Ada", "Ben"]
    assert {one.claim for one in found.findings} == {"Ada has the condition", "Ben does not have the condition"}
    assert attack_differencing(two_releases((0, 1), (1, 2), joined="Ada", left=())).proven == 2


def test_everybody_left_and_somebody_came() -> None:
    assert named(attack_differencing(two_releases((1, 1), (0, 1), joined="Ada", left="Ben"))) == ["Ada", "Ben"]


def test_salary_of_a_hire() -> None:
    exact = [({"value": mean, "exact": True}, size) for mean, size in ((50_000, 24), (50_440, 25))]
    found = attack_differencing(two_means(exact[0], exact[1], joined="Ada", secret=SALARY))
    assert found.findings[0].reasoning == "after − before = 25 × 50,440 − 24 × 50,000 = 61,000"
    assert named(found) == ["Ada"]


def test_a_rounded_mean_leaves_a_proven_range() -> None:
    found = attack_differencing(
        two_means((50_000, 24), (50_440, 25), joined="Ada", secret=SALARY), truth={"Ada": 61_000}
    )
    assert found.headline == "None of 25 people is certain, 1 within a narrow range"
    assert found.findings[0].record["salary"] == "60,976 to 61,024"  # 25 * 50,439.5 - 24 * 50,000.5 and the other way
    assert "before: at most 1,200,012 in all, of 24 people" in found.findings[0].reasoning
    assert all_hold(found)
    assert found.score is not None
    assert (found.score.claimed, found.score.right) == (1, 1)


def test_a_mean_in_whole_steps_is_written_as_a_sum() -> None:
    """Rounded to one decimal, but only one sum of whole numbers rounds to each: 451 of nine and 505 of ten people."""
    found = attack_differencing(two_means((Decimal("50.1"), 9), (Decimal("50.5"), 10), joined="Ada", secret=SALARY))
    assert found.findings[0].reasoning == "after − before = 505 − 451 = 54"


def test_tracker_of_five_innocent_queries() -> None:
    queries = read_queries(EXAMPLES / "tracker.toml")
    assert min(queries.size(query) for query in queries.queries) >= 5
    found = attack_differencing(queries)
    assert named(found) == ["Ada"]
    assert len(found.findings[0].evidence) == 5
    assert found.findings[0].reasoning.endswith("= (3 + 5 + 2 − 4 − 4) / 2 = 1")
    for left_out in range(5):
        fewer = queries.queries[:left_out] + queries.queries[left_out + 1 :]
        assert named(attack_differencing(Queries(people=queries.people, secret=queries.secret, queries=fewer))) == []


def test_audience_counts() -> None:
    found = attack_differencing(read_queries(EXAMPLES / "audience.toml"))
    assert named(found) == ["Ada", "Ben"]  # neither Cleo and Dan, nor the accounts that the attacker knows anyway
    claims = {one.claim: one.evidence for one in found.findings}
    assert claims["Ada has an interest in gambling"] == ("own accounts", "audience 1")
    assert "Ben does not have an interest in gambling" in claims


def test_rounding_to_ten_protects_where_nobody_is_at_an_edge() -> None:
    people = {"readers": 300, "Ada": 1}
    rounded = {"value": 120, "rounded": 10}
    found = attack_differencing(of(people, {"of": ["readers"], "count": rounded}, {"count": rounded}))
    assert (found.proven, found.findings) == (0, ())
    assert found.headline == "None of 301 people is certain"


def test_a_threshold_tells_of_one_more() -> None:
    found = attack_differencing(
        of({"readers": 40, "Ada": 1}, {"of": ["readers"], "count": {"below": 20}}, {"count": 20})
    )
    assert named(found) == ["Ada"]


def test_all_or_nobody() -> None:
    found = attack_differencing(
        of({"A": 12, "B": 3, "Ada": 1}, {"of": ["A"], "count": {"least": 12}}, {"of": ["B", "Ada"], "count": 0})
    )
    assert found.proven == 16
    assert [one.claim for one in found.findings] == [
        "None of 4 people (B, Ada) have the condition: query 2 = 0",
        "All 12 people (A) have the condition",
    ]


def test_names_of_many() -> None:
    people = dict.fromkeys("abcde", 1)
    found = attack_differencing(of(people, {"sum": 0}, secret={"name": "pay", "values": {"min": 0, "max": 9}}))
    assert found.findings[0].claim == "Each of 5 people (a, b, c and 2 more): pay is 0: query 1 = 0"


def test_everybody_within_a_narrow_range() -> None:
    found = attack_differencing(
        of({"A": 2}, {"sum": {"most": 1}}, secret={"name": "pay", "values": {"min": 0, "max": 90}})
    )
    assert found.findings[0].claim == "Each of 2 people (A): pay is from 0 to 1"


def test_a_number_follows_from_a_long_combination() -> None:
    """More answers than anybody would read."""
    people = {f"p{at}": 1 for at in range(11)}
    ring = [{"of": [f"p{at}", f"p{(at + 1) % 11}"], "sum": 7} for at in range(11)]
    found = attack_differencing(
        of(people, *ring, secret={"name": "pay", "values": {"min": 0, "max": 9, "step": "0.5"}})
    )
    assert found.proven == 0  # rounded sums
    ring = [{**query, "sum": {"value": 7, "exact": True}} for query in ring]
    found = attack_differencing(
        of(people, *ring, secret={"name": "pay", "values": {"min": 0, "max": 9, "step": "0.5"}})
    )
    assert found.proven == 11
    assert found.findings[0].claim.startswith("p0: pay is 3.5: 11 answers together")


def random_release(people: int, queries: int, top: int) -> tuple[Queries, dict[str, object]]:
    chance = np.random.default_rng(people)
    values = chance.integers(0, top + 1, people)
    inside = chance.random((queries, people)) < 0.5
    names = [f"p{at}" for at in range(people)]
    secret = Secret() if top == 1 else number("pay", 0, top)
    parts = tuple(
        PublishedQuery(
            name=f"q{at}", members=tuple(itertools.compress(names, row)), measure="sum",
            value=Between(Fraction(int(values[row].sum())), Fraction(int(values[row].sum()))),
        )
        for at, row in enumerate(inside)
    )  # fmt: skip
    truth: dict[str, object] = {name: int(value) for name, value in zip(names, values, strict=True)}
    return Queries(people=dict.fromkeys(names, 1), secret=secret, queries=parts), truth


@pytest.mark.parametrize("top", [1, 20])
def test_weights_too_long_to_write_down(top: int, monkeypatch: pytest.MonkeyPatch) -> None:
    queries, truth = random_release(40, 44, top)
    monkeypatch.setattr(determined, "MOST_ENTRIES", 0)
    found = attack_differencing(queries, truth=truth)
    assert (found.proven, found.score.claimed, found.score.right) == (40, 40, 40)  # type: ignore[union-attr]
    assert all_hold(found)
    assert "with weights that the certificate lists" in found.findings[0].reasoning


def test_fewer_queries_than_people_can_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """No row space at all: yes or no is enough to pin everybody down, in one linear program."""
    queries, truth = random_release(60, 56, 1)
    assert not determined.row_space(classes_of(queries).matrix).inside
    found = attack_differencing(queries, truth=truth)
    assert (found.proven, found.score.right) == (60, 60)  # type: ignore[union-attr]
    monkeypatch.setattr(determined, "MANY", 10**6)
    assert attack_differencing(queries).proven == 60


def test_floating_point_that_fails_is_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: object) -> None:
        raise np.linalg.LinAlgError

    queries, _ = random_release(12, 12, 20)
    monkeypatch.setattr(determined, "MOST_ENTRIES", 0)
    monkeypatch.setattr(np.linalg, "inv", fail)
    assert attack_differencing(queries).proven == 12


# Time


def test_without_time_for_a_solution_nothing_is_claimed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Solver, "solve", lambda *_, **__: Solved(Outcome.UNKNOWN))
    queries = of({"A": 9, "B": 9, "Ada": 1}, {"of": ["A"], "count": 4}, {"of": ["A", "Ada"], "count": 5},
                 {"of": ["A", "B"], "count": {"least": 12}})  # fmt: skip
    found = attack_differencing(queries)
    assert (found.headline, found.proven, found.findings) == (NO_TIME, 0, ())
    assert found.tables[0].title == "Not claimed"
    assert NO_TIME in found.not_tried
    less = attack_differencing(of({"A": 9, "B": 9}, {"of": ["A"], "count": {"least": 2}}))
    assert less.tables == ()


def test_without_time_for_proofs_people_are_unsettled() -> None:
    queries = of({"A": 40, "Ada": 1}, {"of": ["A"], "count": {"below": 20}}, {"count": 20})
    found = attack_differencing(queries, seconds=0)
    assert found.proven == 0
    assert (found.alarm, len(found.numbers["limits"])) == ("neutral", 1)
    pay = {"name": "pay", "values": {"min": 0, "max": 9}}
    assert attack_differencing(of({"Ada": 1}, {"sum": {"least": 8}}, secret=pay), seconds=0).proven == 0


@pytest.mark.parametrize("answer", [Solved(Outcome.UNKNOWN), Solved(Outcome.UNKNOWN, (19, 1, 1))])
def test_a_solver_that_gives_up_settles_nothing(answer: Solved, monkeypatch: pytest.MonkeyPatch) -> None:
    real = Solver.solve

    def solve(self: Solver, work: Work, least: Any = None) -> Solved:
        return real(self, work) if least is None else answer

    monkeypatch.setattr(Solver, "solve", solve)
    monkeypatch.setattr(Prover, "at_least", lambda *_: None)
    found = attack_differencing(of({"A": 40, "Ada": 1}, {"of": ["A"], "count": {"below": 20}}, {"count": 20}))
    assert found.numbers["unsettled"] == ["Ada"]
    assert "For 1 people no proof was found in time, for or against." in found.not_tried


def test_a_solver_that_gives_up_may_still_have_seen_another_value(monkeypatch: pytest.MonkeyPatch) -> None:
    real = Solver.solve
    monkeypatch.setattr(Prover, "at_least", lambda *_: None)
    monkeypatch.setattr(Solver, "solve", lambda *a, **b: Solved(Outcome.UNKNOWN, real(*a, **b).values))
    rounded = {"value": 120, "rounded": 10}
    found = attack_differencing(of({"A": 300, "Ada": 1}, {"of": ["A"], "count": rounded}, {"count": rounded}))
    assert (found.proven, found.numbers["unsettled"]) == (0, [])


def test_no_proof_no_claim(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Prover, "at_least", lambda *_: None)
    monkeypatch.setattr(Prover, "prove", lambda *_: None)
    queries, _ = random_release(60, 56, 1)
    assert attack_differencing(queries, seconds=5).proven == 0
    monkeypatch.setattr(determined, "MOST_ENTRIES", 0)
    assert attack_differencing(random_release(12, 12, 20)[0], seconds=0).proven < 12
    monkeypatch.setattr(determined, "ROUNDINGS", ())
    assert attack_differencing(random_release(12, 12, 20)[0], seconds=5).proven == 0


def test_progress_is_told() -> None:
    told = []
    attack_differencing(read_queries(EXAMPLES / "audience.toml"), progress=lambda *news: told.append(news))
    assert {what for what, _, _ in told} == {"combinations", "people"}


# Noise


def noisy(noise: Mapping[str, Any], after: object = "5.2", **more: Any) -> Queries:
    return of({"others": 40, "Ada": 1}, {"name": "before", "of": ["others"], "count": "4.1", "noise": noise},
              {"name": "after", "count": after, "noise": noise}, **more)  # fmt: skip


def test_little_noise_is_no_protection_but_no_proof_either() -> None:
    found = attack_differencing(noisy({"sd": "0.1"}), truth={"Ada": True})
    assert (found.proven, found.numbers["up_to_noise"]) == (0, 1)
    (one,) = found.findings
    assert one.strength is Strength.CONFIDENCE
    assert one.claim == "Ada has the condition, probably"
    assert one.confidence is not None
    assert 0.95 <= one.confidence < 1
    assert one.evidence == ("before", "after")
    assert "say 1.1 ± 0.14" in one.reasoning
    assert found.headline == "None of 41 people is certain, 1 up to noise"
    assert found.score is not None
    assert (found.score.claimed, found.score.right) == (1, 1)


def test_the_estimate_has_the_smallest_variance() -> None:
    """Ada twice, with 3 and with 4: weights 16/25 and 9/25, standard deviation 12/5."""
    queries = of({"Ada": 1}, {"sum": 10, "noise": {"sd": 3}}, {"sum": 20, "noise": {"sd": 4}},
                 secret={"name": "pay", "values": {"min": 0, "max": 1000}})  # fmt: skip
    found = estimates(queries, classes_of(queries), {})[0]
    assert found.value == pytest.approx(0.64 * 10 + 0.36 * 20)
    assert found.law.sd == pytest.approx(2.4)
    told = attack_differencing(queries)
    assert told.findings[0].claim == "Ada: pay is from 8 to 19, probably"
    assert told.findings[0].confidence == 0.95


def test_exact_answers_and_known_people_help_noisy_ones() -> None:
    """All three are 100 together, Cleo is 30, Ben is 20 with noise: Ada is 50, with Ben's noise."""
    queries = of({"Ada": 1, "Ben": 1, "Cleo": 1}, {"sum": {"value": 100, "exact": True}},
                 {"of": ["Ben"], "sum": 20, "noise": {"laplace": 1}},
                 {"of": ["Cleo"], "mean": {"value": 30, "exact": True}},
                 {"of": ["Cleo", "Ben"], "sum": {"least": 1}},
                 secret={"name": "pay", "values": {"min": 0, "max": 1000}})  # fmt: skip
    found = estimates(queries, classes_of(queries), {2: 30})
    assert set(found) == {0, 1}
    assert found[0].value == pytest.approx(50)
    assert found[0].law.laplace == pytest.approx((1.0,))
    assert found[0].law.halfwidth() == pytest.approx(math.log(20), rel=0.05)  # P[|Laplace| > log 20] = 1/20


def test_hardly_any_noise_is_still_no_certainty() -> None:
    (one,) = attack_differencing(noisy({"sd": "1e-9"}, after="5.1")).findings
    assert (one.strength, one.confidence) == (Strength.CONFIDENCE, 1 - 1e-9)


def test_noise_of_other_people_does_not_matter() -> None:
    queries = of({"Ada": 1, "Ben": 1}, {"of": ["Ada"], "count": 1, "noise": {"laplace": 1}},
                 {"of": ["Ben"], "count": 1, "noise": {"laplace": 9}})  # fmt: skip
    found = estimates(queries, classes_of(queries), {})
    assert (found[0].law.laplace, found[0].rows) == ((1.0,), (0,))


def test_a_noisy_mean_counts_for_all_its_people() -> None:
    queries = of({"A": 9, "Ada": 1}, {"of": ["A"], "sum": {"value": 9, "exact": True}},
                 {"mean": 2, "noise": {"sd": "0.5"}}, secret={"name": "pay", "values": PAY})  # fmt: skip
    found = estimates(queries, classes_of(queries), {})[1]
    assert (found.value, found.law.sd) == pytest.approx((11, 5))
    assert attack_differencing(queries).numbers["up_to_noise"] == 0


def test_the_law_of_noise() -> None:
    values = np.array([0.0, 1.0])
    zero, one = Law((2.0,), 0.0).density(values)
    assert one / zero == pytest.approx(math.exp(-1 / 2))
    zero, one = Law((), 2.0).density(values)
    assert one / zero == pytest.approx(math.exp(-1 / 8))
    zero, one = Law((1.0, 1.0), 0.0).density(values)
    assert one / zero == pytest.approx(2 * math.exp(-1), rel=0.03)  # the sum of two has density (1 + |x|) e^-|x| / 4
    zero, one = Law((0.01,), 3.0).density(values)
    assert one / zero == pytest.approx(math.exp(-1 / 18), rel=0.2)
    assert Law((), 1e-9).density(np.array([5.0, 6.0]))[0] == 1  # far out, nothing vanishes


@given(st.lists(st.integers(1, 9), min_size=1, max_size=4), st.floats(-50, 50), st.floats(0.01, 0.99))
def test_no_posterior_is_above_what_laplace_noise_allows(scales: list[int], shift: float, rate: float) -> None:
    """Every query has Ada alone: scale b is epsilon 1/b."""
    queries = of(
        {"Ada": 1}, *({"count": shift, "noise": {"laplace": scale}} for scale in scales), secret={"rate": rate}
    )
    found = estimates(queries, classes_of(queries), {})[0]
    chance = has_it(found, Fraction(rate))
    factor = chance / (1 - chance) / (rate / (1 - rate))
    assert abs(math.log(factor)) <= sum(1 / scale for scale in scales) + 1e-6


def test_normal_confidence_is_calibrated() -> None:
    """Claims of 95 % and more are right that often: four standard deviations below would come up once in 30,000."""
    chance, rate = np.random.default_rng(5), Fraction(3, 10)
    real = chance.random(4000) < float(rate)
    shares = [
        has_it(NoisyEstimate(float(value), Law((), 0.4), (0,)), rate) for value in real + chance.normal(0, 0.4, 4000)
    ]
    sure = [(one >= 0.5) == truth for one, truth in zip(shares, real, strict=True) if max(one, 1 - one) >= 0.95]
    assert len(sure) > 2000
    assert sum(sure) / len(sure) > 0.95 - 4 * math.sqrt(0.05 * 0.95 / len(sure))


def test_private_answers_protect_and_the_cap_is_kept() -> None:
    queries = noisy(
        {"laplace": 4}, after="29", privacy={"epsilon": "0.5", "neighbors": "add-remove"}, secret={"rate": "0.5"}
    )
    found = attack_differencing(queries, truth={"Ada": True})
    assert (found.proven, found.numbers["up_to_noise"], found.findings) == (0, 0, ())
    limit = math.e / (1 + math.e)  # e^(2 * 0.5) : 1
    assert ceiling(Fraction(1, 2), queries.privacy) == pytest.approx(limit)
    (table,) = found.tables
    assert table.rows[0][:2] == ("Ada", "yes")
    assert float(table.rows[0][2].removesuffix(" %")) <= limit * 100 + 0.05
    assert any("No confidence is above what epsilon 0.5 allows, counted twice" in line for line in found.assumptions)


def test_a_cap_cuts_a_claim_that_is_too_bold() -> None:
    """Noise that is smaller than what epsilon would need: the promise is believed, not the arithmetic."""
    bold = noisy({"sd": "0.01"}, privacy={"epsilon": 1, "neighbors": "replace"}, secret={"rate": "0.5"})
    found = attack_differencing(bold)
    assert found.numbers["up_to_noise"] == 0
    assert found.tables[0].rows[0][2] == "73.1 %"
    pay = {"name": "pay", "values": {"min": 0, "max": 999}}
    one = {"sum": 500, "noise": {"sd": 1}}
    assert attack_differencing(of({"Ada": 1}, one, secret=pay)).numbers["up_to_noise"] == 1
    assert attack_differencing(of({"Ada": 1}, one, secret=pay, privacy={"epsilon": 1})).numbers["up_to_noise"] == 0


def test_a_delta_is_no_cap() -> None:
    found = attack_differencing(noisy({"sd": "0.1"}, privacy={"epsilon": 1, "delta": "1e-6", "neighbors": "replace"}))
    assert found.numbers["up_to_noise"] == 1
    assert any("delta 0.000001" in line for line in found.assumptions)


def test_an_estimate_outside_the_range_is_moved_into_it() -> None:
    pay = {"name": "pay", "values": {"min": 0, "max": 100}}
    for answer, claim in ((-50, "from 0 to 0"), (500, "from 100 to 100")):
        found = attack_differencing(of({"Ada": 1}, {"sum": answer, "noise": {"laplace": "0.5"}}, secret=pay))
        assert claim in found.findings[0].claim


def test_the_expected_rate() -> None:
    third = {"of": ["A"], "mean": Decimal("0.33")}  # 3 of 9
    assert pooled_rate(of({"A": 9, "B": 1}, {"count": 4}, third)) == Fraction(697, 1900)
    assert pooled_rate(of({"A": 98}, {"count": 0})) == Fraction(1, 100)
    assert pooled_rate(of({"A": 98}, {"of": [], "count": 0})) == Fraction(1, 2)
    assert pooled_rate(of({"A": 9}, {"sum": {"least": 3}}, {"sum": {"most": 3}})) == Fraction(15, 36)
    assert ceiling(Fraction(1, 2), None) == 1


# Score


def test_score_against_a_constant_guess_and_people_in_no_query() -> None:
    people = dict.fromkeys(("Ada", "Ben", "Cleo", "Dan", "Eve"), 1)
    queries = of(people, {"of": ["Ada"], "count": 1}, {"of": ["Ben", "Cleo"], "count": 1})
    found = attack_differencing(queries, truth={"Ada": 1, "Ben": False, "Cleo": 1, "Dan": 0, "Eve": 0})
    score = found.score
    assert score is not None
    assert (score.claimed, score.right) == (1, 1)
    assert (score.success.value, score.baseline.value) == (0.8, 0.6)
    assert score.control is not None
    assert score.control.value == 1  # both have what everybody would guess
    assert score.advantage.value == pytest.approx(-0.2)
    assert score.advantage.low < -0.2 < score.advantage.high
    fewer = attack_differencing(queries, truth={"Ada": 1, "Ben": 0, "Cleo": 0, "Dan": 1}).score
    assert fewer is not None
    assert fewer.control is not None
    assert fewer.advantage.value == pytest.approx(fewer.success.value - fewer.baseline.value)


def test_a_false_claim_is_counted() -> None:
    score = attack_differencing(two_releases((4, 9), (5, 10), joined="Ada"), truth={"Ada": False}).score
    assert score is not None
    assert (score.claimed, score.right, score.success.value) == (1, 0, 0)


# Wrong input: one line each


def refused(call: Any, text: str) -> None:
    with pytest.raises(InvalidInputError) as error:
        call()
    expect_code(text, error.value)
    assert "\n" not in error.value.problem
    assert error.value.remedy


ADA = {"Ada": 1, "Ben": 1}


@pytest.mark.parametrize(
    ("document", "text"),
    [
        ({"people": {}, "queries": [{"count": 1}]}, "empty: there … people"),
        ({"people": ADA, "queries": []}, "empty: queries"),
        ({"people": ADA}, "empty: queries"),
        ({"queries": [{"count": 1}]}, "not-a-table: people"),
        ({"people": ADA, "queries": [{"count": 1}], "query": 1}, "unknown-entry: 'query'"),
        ({"people": ADA, "id": "name", "queries": [{"count": 1}]}, "unneeded-option: delimiter"),
        ({"people": {"Ada": 0}, "queries": [{"count": 1}]}, "too-small: 'Ada' … least 1"),
        ({"people": ADA, "queries": [{"of": ["Eve"], "count": 1}]}, "unknown-person: 'Eve' … among"),
        ({"people": ADA, "queries": [{"of": [["Ada"]], "count": 1}]}, "not-a-list"),
        ({"people": ADA, "queries": [{"of": ["Ada", "Ada"], "count": 1}]}, "duplicate-name: names"),
        ({"people": ADA, "queries": [{"name": "x", "count": 1}, {"name": "x", "count": 1}]}, "duplicate-name: queries"),
        ({"people": ADA, "queries": [{"count": -1}]}, "negative: -1"),
        ({"people": ADA, "queries": [{"count": 3}]}, "out-of-range: its 2 people"),
        ({"people": ADA, "queries": [{"of": ["Ada"], "count": 2}]}, "out-of-range: its 1 person"),
        ({"people": ADA, "queries": [{"sum": -3}]}, "out-of-range: less"),
        ({"people": ADA, "queries": [{"mean": {"value": Decimal("0.4"), "exact": True}}]}, "contradiction: values"),
        ({"people": ADA, "queries": [{"of": [], "mean": 1}]}, "empty: nobody"),
        ({"people": ADA, "queries": [{"of": ["Ada"], "rows": [1], "count": 1}]}, "contradictory-options"),
        ({"people": ADA, "queries": [{"rows": [3], "count": 1}]}, "out-of-range: row 3"),
        ({"people": ADA, "queries": [{"where": "age > 3", "count": 1}]}, "missing-option"),
        ({"people": ADA, "queries": [{"count": 1, "sum": 1}]}, "not-exactly-one: answer"),
        ({"people": ADA, "queries": [7]}, "not-a-table: number 1"),
        ({"people": ADA, "queries": [{"name": "x", "count": 1, "noise": {}}]}, "not-exactly-one: 'x'"),
        ({"people": ADA, "queries": [{"count": 1, "known": 1}]}, "wrong-type: is 1"),
        ({"people": ADA, "privacy": {"epsilon": 1}, "queries": [{"count": 1}]}, "contradiction: noise"),
        ({"people": ADA, "privacy": {}, "queries": [{"count": 1}]}, "missing-entry: epsilon"),
        ({"people": ADA, "privacy": {"epsilon": 1, "delta": 2}, "queries": [{"count": 1}]}, "out-of-range: delta"),
        ({"people": ADA, "secret": {"values": "x"}, "queries": [{"count": 1}]}, "wrong-type: 'x'"),
        ({"people": ADA, "secret": {"values": {"min": 0}}, "queries": [{"sum": 1}]}, "missing-entry: min"),
        ({"people": ADA, "secret": {"values": PAY, "rate": 1}, "queries": [{"sum": 1}]}, "unneeded-option: rate"),
        ({"people": ADA, "secret": {"values": {"min": 9, "max": 9}}, "queries": [{"sum": 1}]}, "reversed-range: 9"),
        ({"people": ADA, "secret": {"values": {**PAY, "step": 2}}, "queries": [{"sum": 1}]}, "off-grid"),
        ({"people": ADA, "secret": {"rate": 2}, "queries": [{"count": 1}]}, "out-of-range: rate … is 2"),
        ({"people": ADA, "secret": {"values": {"min": 0, "max": 9}}, "queries": [{"count": 1}]}, "type-mismatch"),
        ({"people": {"A": 2**60}, "queries": [{"count": 1}]}, "too-many"),
    ],
)  # fmt: skip
def test_wrong_documents(document: dict[str, Any], text: str) -> None:
    refused(lambda: queries_of(document), text)


def test_answers_that_clash_are_named() -> None:
    people = {"A": 9, "B": 5, "Ada": 1}
    fine = {"name": "fine", "of": ["B"], "count": 2}
    exact = [{"name": "before", "of": ["A"], "count": 4}, fine, {"name": "after", "of": ["A", "Ada"], "count": 6}]
    refused(lambda: attack_differencing(of(people, *exact)), "contradiction: 'after' … 'before'")
    loose = [
        {"name": "few", "of": ["A"], "count": {"most": 3}},
        fine,
        {"name": "many", "of": ["A"], "count": {"least": 5}},
    ]
    refused(lambda: attack_differencing(of(people, *loose)), "contradiction: 'few', 'many'")


def test_clashing_answers_without_a_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    people = {"A": 9, "B": 5}
    loose = [
        {"name": "few", "of": ["A"], "count": {"most": 3}},
        {"name": "fine", "of": ["B"], "count": {"least": 2}},
        {"name": "many", "of": ["A"], "count": {"least": 5}},
    ]
    monkeypatch.setattr(Prover, "prove", lambda *_: None)
    refused(lambda: attack_differencing(of(people, *loose)), "contradiction: 'few', 'many'")
    monkeypatch.setattr(determined, "MOST_CLASHING", 1)
    refused(lambda: attack_differencing(of(people, *loose)), "contradiction: 'few' … 'fine' … 'many'")


def test_wrong_moves() -> None:
    refused(lambda: two_releases((4, 10), (5, 12), joined="Ada"), "contradiction: 12")
    refused(lambda: two_releases((4, 10), (5, 10), joined="Ada", left="Ada"), "duplicate-name: named")
    refused(lambda: two_releases((4, 0), (5, 1), joined="Ada"), "too-small: least 1")


def test_wrong_truth() -> None:
    queries = two_releases((4, 9), (5, 10), joined="Ada")
    refused(lambda: attack_differencing(queries, truth={"Eve": True}), "unknown-person: truth … 'Eve'")
    refused(lambda: attack_differencing(queries, truth={"Ada": 2}), "not-declared: 'Ada' … is 2")
    refused(lambda: attack_differencing(queries, truth={}), "empty: truth")


# Files


def written(folder: Path, text: str, people: str | None = None) -> Path:
    path = folder / "x.toml"
    path.write_text(text, encoding="utf-8")
    if people is not None:
        (folder / "p.csv").write_text(people, encoding="utf-8")
    return path


HEAD = 'format = 1\nkind = "queries"\n'
FILE = HEAD + 'people = "p.csv"\n'


def test_people_from_a_file(tmp_path: Path) -> None:
    people = "age;name;unit;empty\n31;Ada;A;\n;Ben;A;\n\n50;Cleo;B;\n"
    text = (
        FILE
        + 'id = "name"\ndelimiter = ";"\n[[queries]]\nwhere = "age > 30"\ncount = 1\n[[queries]]\nrows = [3]\ncount = 0'
    )
    queries = read_queries(written(tmp_path, text, people))
    assert [query.members for query in queries.queries] == [("Ada", "Cleo"), ("Cleo",)]
    assert named(attack_differencing(queries)) == ["Ada", "Cleo"]
    assert queries.subject == "x.toml"


@pytest.mark.parametrize(
    ("people", "more", "text"),
    [
        ("name\n", "", "empty: p.csv"),
        ("name,name\nAda,1\n", "", "duplicate-name: columns"),
        ("name,age\nAda\n", "", "wrong-length: 1 cells … not 2"),
        ("name,age\nAda,3\n", 'id = "x"\n', "unknown-column: p.csv … 'x'"),
        ("name,age\n,3\n", "", "missing-name: 1"),
        ("name,age\nAda,3\nAda,4\n", "", "not-unique: 'Ada'"),
        ("name,\nAda,3\n", "", "invalid-name: p.csv"),
        (None, "", "unreadable-file: p.csv"),
    ],
)
def test_wrong_people(tmp_path: Path, people: str | None, more: str, text: str) -> None:
    path = written(tmp_path, f"{FILE}{more}[[queries]]\ncount = 1", people)
    refused(lambda: read_queries(path), text)


def test_wrong_files(tmp_path: Path) -> None:
    refused(lambda: read_queries(tmp_path / "none.toml"), "unreadable-file: none.toml")
    refused(lambda: read_queries(written(tmp_path, "x =")), "wrong-format: TOML")
    refused(lambda: read_queries(written(tmp_path, "format = 2")), "unsupported-format: is 2")
    refused(lambda: read_queries(written(tmp_path, 'format = 1\nkind = "tables"')), "unsupported-format: 'tables'")
    path = written(tmp_path, FILE + '[[queries]]\nwhere = "agee > 3"\ncount = 1', "name,age\nAda,3\n")
    refused(lambda: read_queries(path), "unknown-column: 'agee'")


# Words


def test_numbers_in_words() -> None:
    shown = [number_text(Fraction(text)) for text in ("61000", "12.5", "-0.05", "1/3", "-2000/3", "1234.75")]
    assert shown == ["61,000", "12.5", "-0.05", "1/3", "-2,000/3", "1,234.75"]


def test_python_parts() -> None:
    assert privacy(1, "1e-6") == Privacy(epsilon=Fraction(1), delta=Fraction(1, 10**6))
    assert Noise("laplace", Fraction(2)).law == "laplace"

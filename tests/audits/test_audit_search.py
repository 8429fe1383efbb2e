"""What a search must not miss: one listed value that is handled wrongly, a rule that starts at a number of people, a
mistake behind the last bits of floats. And what it did not try limits what it says."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from support.sequential import Rates, decide

from privet.audits import Audit, Between, Claim, NotPrivateError, People, Rows, assert_private, audit
from privet.audits.coarse import BITS, OutputGrid, learn, to_grid
from privet.audits.coverage import Tried, is_plain, round_sizes_to, sizes_to, spans
from privet.audits.joint import least
from privet.audits.outlook import visible_from
from privet.audits.outputs import OutputReader

VALUES = list(range(101))
CAP = 10
RELATIONS = ("add-remove", "replace")


class Draws:
    """The same noise in every run, so that a search which finds something today finds it tomorrow."""

    generator = np.random.default_rng(0)


@pytest.fixture(autouse=True)
def _same_draws() -> None:
    Draws.generator = np.random.default_rng(0)


def noise(scale: int, size: int) -> np.ndarray:
    """Discrete Laplace: the difference of two geometric numbers."""
    first, second = Draws.generator.geometric(-np.expm1(-1 / scale), (2, size))
    return first - second


def clipped_sum(data: list[int], size: int) -> np.ndarray:
    return sum(min(value, CAP) for value in data) + noise(CAP, size)


def one_value_unclipped(data: list[int], size: int) -> np.ndarray:
    return sum(value if value == 57 else min(value, CAP) for value in data) + noise(CAP, size)


def one_value_counts_double(data: list[int], size: int) -> np.ndarray:
    return sum(2 * CAP if value == 57 else min(value, CAP) for value in data) + noise(CAP, size)


def count(data: list[Any], size: int) -> np.ndarray:
    return sum(data) + noise(1, size)


def without_noise_from(people: int) -> Callable[[list[int], int], np.ndarray]:
    return lambda data, size: count(data, size) if len(data) < people else np.full(size, sum(data))


# --- every listed value ---


@pytest.mark.proof
def test_one_value_of_101_that_counts_a_little_more_is_not_lost_by_chance() -> None:
    """Epsilon is 1.3 instead of 1. A search that chooses its last pairs by a few hundred draws finds it in one run of
    four; that of today in 30 of 30 (benchmarks/audit_weak.py)."""

    def mechanism(data: list[int], size: int) -> np.ndarray:
        return sum(13 if value == 57 else min(value, CAP) for value in data) + noise(CAP, size)

    found = [audit(mechanism, Claim(1), domain=Rows(VALUES), samples=40_000) for _ in range(6)]
    assert sum(one.violated for one in found) >= 5


@pytest.mark.parametrize("relation", RELATIONS)
def test_one_value_of_101_that_is_not_clipped_is_found(relation: str) -> None:
    found = audit(one_value_unclipped, Claim(1), domain=Rows(VALUES, neighbors=relation), samples=40_000)
    assert found.violated, str(found)
    assert any("57" in words for words in found.witness.neighbors)


@pytest.mark.proof
@pytest.mark.parametrize("relation", RELATIONS)
def test_one_value_of_101_that_counts_double_is_found(relation: str) -> None:
    """Epsilon is 2 instead of 1: a few draws of each value do not show it, more of the suspicious ones do."""
    found = audit(one_value_counts_double, Claim(1), domain=Rows(VALUES, neighbors=relation), samples=40_000)
    assert found.violated, str(found)
    assert any("57" in words for words in found.witness.neighbors)


def test_one_value_of_a_person_is_found() -> None:
    def mechanism(rows: list[tuple[int, int]], size: int) -> np.ndarray:
        return one_value_unclipped(list(dict(rows).values()), size)  # one row a person

    found = audit(mechanism, Claim(1), domain=People(VALUES, most_rows=1), samples=20_000)
    assert found.violated, str(found)


def test_all_pairs_given_are_tried() -> None:
    """There are more of them than the search takes of a domain, and only the last one leaks."""
    pairs = [(0, 1)] * 99 + [(0, 9)]
    found = audit(lambda data, size: data + noise(1, size), Claim(1), pairs, samples=4000)
    assert found.violated
    assert found.pairs == 100
    some = audit(lambda data, size: data + noise(1, size), Claim(1), pairs, samples=4000, pairs=60)
    assert some.verdict == "inconclusive"
    assert "on 60 of the 100 pairs given" in str(some)
    assert "40 of the 100 pairs given" in some.not_tested


# --- sizes ---


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("people", [12, 40])
def test_a_mistake_that_starts_at_a_number_of_records_is_found(people: int, relation: str) -> None:
    mechanism = without_noise_from(people)
    found = audit(mechanism, Claim(1), domain=Rows([0, 1], neighbors=relation), samples=20_000)
    assert found.violated, str(found)


@pytest.mark.parametrize("relation", RELATIONS)
def test_a_mistake_that_starts_at_12_people_is_found(relation: str) -> None:
    def mechanism(rows: list[tuple[int, int]], size: int) -> np.ndarray:
        people = {person: value for person, value in rows}  # noqa: C416 -- the last row of each counts
        return without_noise_from(12)(list(people.values()), size)

    found = audit(mechanism, Claim(1), domain=People([0, 1], neighbors=relation), samples=20_000)
    assert found.violated, str(found)


@pytest.mark.parametrize("rule", [lambda n: n >= 20, lambda n: n > 30, lambda n: n >= 12])
def test_a_rule_that_shows_only_where_it_starts_is_found(rule: Callable[[int], bool]) -> None:
    """On either side of the start the answer says nothing at all."""
    found = audit(lambda data: "many" if rule(len(data)) else "few", Claim(1), samples=2000)
    assert found.violated, str(found)


def test_a_larger_limit_is_the_users_to_give() -> None:
    mechanism = without_noise_from(100)
    usual = audit(mechanism, Claim(1), domain=Rows([0, 1]), samples=4000)
    assert usual.verdict.endswith("pairs tried (all 2 values, some sizes up to 64)" + usual.power)
    assert audit(mechanism, Claim(1), domain=Rows([0, 1], most=128), samples=4000).violated


def test_sizes_double_and_end_at_the_limit() -> None:
    assert sizes_to(1) == [1]
    assert sizes_to(12) == list(range(1, 13))
    assert sizes_to(200) == [*range(1, 17), 32, 64, 128, 200]
    assert round_sizes_to(30) == [20, 21, 25, 26, 30]
    for domain, noun in itertools.product((Rows, People), RELATIONS):
        tried = domain([0, 1, 2], neighbors=noun, most=40).tally(
            list(domain([0, 1, 2], neighbors=noun, most=40).cover())
        )
        assert tried.sizes == tuple(sorted({*range(1, 17), 32, 40, 20, 21, 25, 26, 30, 31}))
        assert tried.complete


# --- what was not tried limits the verdict ---


def test_values_that_were_not_tried_leave_it_open() -> None:
    found = audit(clipped_sum, Claim(1), domain=Rows(VALUES), samples=4000, pairs=90)
    assert found.verdict == "inconclusive"
    assert not found.violated
    told = found.to_json()["tried"]
    assert told["pairs"] == 90
    assert told["values"] < told["values_listed"] == 101
    assert not told["complete"]
    assert told["events"] > 90
    left = f"{101 - told['values']} of the 101 values listed"
    assert left in found.not_tested
    assert left in str(found)
    assert left in found.text()
    assert "Not decided: not everything was tried that was listed" in found.text()
    assert "pairs=10000" in str(found)
    assert json.dumps(found.to_json())
    with pytest.raises(NotPrivateError, match=r"What was not\s+tried counts as failed"):
        assert_private(clipped_sum, 1, domain=Rows(VALUES), samples=4000, pairs=90)


def test_what_was_tried_is_in_the_sentence() -> None:
    found = audit(clipped_sum, Claim(1), domain=Rows(VALUES), samples=4000)
    where = f"on the {found.pairs} pairs tried (all 101 values, some pairs of values, some sizes up to 64)"
    assert found.verdict == f"consistent up to {int(found.ceiling * 100) / 100:.2f} {where}{found.power}"
    assert where in str(found)
    shown = " ".join(found.text().split())
    assert f"Nothing contradicts the claim of epsilon 1 {where}" in shown
    assert "sets of outputs compared" in shown
    assert (
        "Data sets with other numbers of records than 1 to 16, 20 to 21, 25 to 26, 30 to 32, 50 to 51 and 64" in shown
    )
    assert "proved" not in shown


# --- values that leak only together ---


def leak_of_both(data: list[int], size: int) -> np.ndarray:
    """The count, and 500 more where 3 and 7 are both there: no value is wrong by itself."""
    return len(data) + noise(1, size) + (500 if {3, 7} <= set(data) else 0)


@pytest.mark.parametrize("relation", RELATIONS)
def test_two_values_that_leak_only_together_are_found(relation: str) -> None:
    found = audit(leak_of_both, Claim(2), domain=Rows(range(8), neighbors=relation), samples=4000)
    assert found.violated, str(found)


@pytest.mark.parametrize("domain", [Rows, People])
@pytest.mark.parametrize("relation", RELATIONS)
def test_pairs_of_values_are_counted_where_one_data_set_has_both(domain: type[Rows | People], relation: str) -> None:
    few, many = domain(range(12), neighbors=relation), domain(range(13), neighbors=relation)
    tried = few.tally(list(few.cover()))
    assert (tried.together, tried.couples) == (66, 66)
    assert "(all 12 values, all pairs of values, some sizes up to 64)" in str(tried)
    assert "most combinations of three or more values, or of values that repeat" in tried.left_out()
    tried = many.tally(list(many.cover()))
    assert 0 < tried.together < tried.couples == 78
    assert "(all 13 values, some pairs of values, some sizes up to 64)" in str(tried)
    left = f"{78 - tried.together} of the 78 pairs of values in one data set, and most combinations of three or more"
    assert any(words.startswith(left) for words in tried.left_out())
    assert tried.to_json()["value_pairs"] == tried.together
    assert tried.to_json()["value_pairs_listed"] == 78


def test_values_that_both_data_sets_have_do_not_count_as_tried_together() -> None:
    domain = Rows([1, 2, 3])
    assert domain.tally([([1, 2], [1, 2, 3])]).together == 2  # 1 and 2 are in both
    assert domain.tally([([1, 2], [1, 2, 1])]).together == 0
    assert Rows([1, 2, 3], most=1).tally([([], [1])]).couples == 0  # no room for two


# --- everybody alike, and one of them changes ---


@pytest.mark.parametrize("domain", [Rows, People])
def test_somebody_leaves_others_who_are_all_alike_at_each_size(domain: type[Rows | People]) -> None:
    made = domain([0, 1, 2], neighbors="replace")
    values = [[[row[-1] for row in data] if domain is People else data for data in pair] for pair in made.cover()]
    sizes = {len(one) for one, other in values if len(set(one)) == 1 < len(set(other))}
    assert sizes >= set(sizes_to(64)) - {1}


def test_an_answer_that_shows_that_six_people_agree_is_found() -> None:
    def mechanism(data: list[int], size: int) -> np.ndarray:
        return noise(1, size) + (500 if len(data) == 6 and len(set(data)) == 1 else 0)

    found = audit(mechanism, Claim(1), domain=Rows([0, 1, 2], neighbors="replace"), samples=4000)
    assert found.violated, str(found)


def test_the_headline_says_what_so_few_draws_could_not_show() -> None:
    """Noise that falls off 1.5 times too fast from 4 on leaks in 1 output of 75. Where that is too rare for the draws,
    the headline says from which probability on it would have been seen; with enough draws it is seen."""

    def tails(data: list[int], size: int) -> np.ndarray:
        plain = noise(1, size)
        faster = np.sign(plain) * (3 + Draws.generator.geometric(-np.expm1(-1.5), size))
        return sum(data) + np.where(np.abs(plain) >= 4, faster, plain)

    few = audit(tails, Claim(1), (0 * [1], [1]), samples=10_000)
    assert not few.violated
    assert few.visible is not None
    assert 0.05 < few.visible < 0.5
    said = f"; a true epsilon of 1.5 would show in outputs of probability about {100 * few.visible:.2g} % or more"
    assert said in few.verdict
    assert said in str(few)
    assert said in " ".join(few.text().split())
    assert few.to_json()["visible_from"] == few.visible
    many = audit(tails, Claim(1), (0 * [1], [1]), samples=400_000)
    assert many.violated
    none = audit(tails, Claim(0.01), (0 * [1], [0]), samples=1000)
    assert none.power == "; too few draws to show a true epsilon of 0.015"


@pytest.mark.parametrize("claim", [Claim(1), Claim(0.5, 1e-3), Claim(mu=1), Claim(rho=0.2)])
def test_what_should_be_visible_refutes_the_claim_by_its_exact_bound(claim: Claim) -> None:
    """Counts as expected of an event that is 1.5 times as telling as claimed, with the smallest probability at which it
    is said to show: the bound of the test is above the claim. With a tenth of that it is not."""
    draws, miss = 30_000, 1e-6
    visible = visible_from(claim, draws, miss, 1.5)
    worse = Claim(**{claim.parameter: 1.5 * float(claim.value)}, delta=claim.delta)

    def bound(likelier: float) -> float:
        rare, often = 0.0, 1.0
        for _ in range(60):
            middle = (rare + often) / 2
            rare, often = (middle, often) if worse.most(middle) < likelier else (rare, middle)
        return least(claim, round(likelier * draws), round(often * draws), draws, miss)

    assert bound(visible) > claim.value
    assert bound(visible / 10) <= claim.value


def test_numbers_of_a_range_are_counted_and_not_called_all() -> None:
    found = audit(lambda data, size: len(data) + noise(1, size), Claim(1), Rows(Between(0, 9)), samples=4000)
    assert found.tried is not None
    assert found.tried.listed is None
    assert 12 <= found.tried.values < found.pairs
    assert f"({found.tried.values} different values, some sizes up to 64)" in found.verdict


def test_seconds_that_end_the_search_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [time.perf_counter()]
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])

    def slow(data: list[int]) -> int:
        now[0] += 0.001
        return len(data) + int(np.random.default_rng().integers(-9, 9))

    found = audit(slow, Claim(1), domain=Rows(VALUES), seconds=2)
    assert found.verdict == "inconclusive"
    assert any("the given seconds left no time" in words for words in found.not_tested)


def test_tried_in_words() -> None:
    assert str(Tried(pairs=1, given=1)) == "the pair given"
    assert str(Tried(pairs=3, given=3)) == "the 3 pairs given"
    assert str(Tried(pairs=48)) == "the 48 pairs tried"
    assert str(Tried(pairs=4, values=1, listed=1, sizes=(1, 2), largest=2)) == (
        "the 4 pairs tried (the only value, all sizes up to 2)"
    )
    assert not Tried(pairs=4, values=1, listed=1, sizes=(1, 2), largest=3).complete
    assert spans([3]) == "3"
    assert spans([1, 2, 4]) == "1 to 2 and 4"
    assert spans([*range(1, 43, 2)]).endswith(", 35, 37, 1 other and 41")
    assert spans([*range(1, 45, 2)]).endswith(", 35, 37, 2 others and 43")
    assert "outputs on 2 pairs on which every call raised" in Tried(pairs=4, raised=2).left_out()
    assert is_plain([(1, "a"), [None, 2.0]])
    assert not is_plain([np.zeros(2)])


def test_a_single_value_under_replace_is_all_there_is() -> None:
    found = audit(count, Claim(1), Rows([1], neighbors="replace"), samples=1000)
    assert found.tried is not None
    assert found.tried.complete


def test_little_memory_keeps_the_best_candidates(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draws of about 40 pairs fit; what was dropped was tried all the same."""
    monkeypatch.setattr("privet.audits.pair_search.CELLS", 2000)
    found = audit(one_value_unclipped, Claim(1), domain=Rows(VALUES), samples=8000)
    assert found.violated
    fine = audit(clipped_sum, Claim(1), domain=Rows(VALUES), samples=4000)
    assert fine.tried is not None
    assert fine.tried.complete
    assert fine.tried.events > fine.pairs > 200


# --- the clock ---


def test_without_seconds_nothing_depends_on_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    def once(tick: float) -> Audit:
        clock = itertools.count()
        monkeypatch.setattr(time, "perf_counter", lambda: tick * next(clock))
        draw = np.random.default_rng(5)
        return audit(lambda data, size: len(data) + draw.geometric(0.4, size), Claim(1), samples=60_000)

    quick, slow = (once(tick).to_json() | {"seconds": 0} for tick in (1e-9, 5.0))
    assert quick == slow


# --- bits of floats ---


def float_sum(scale: float) -> Callable[[list[float], int], np.ndarray]:
    draw = np.random.default_rng()
    return lambda data, size: sum(data) + draw.laplace(0, scale, size)


def test_a_finding_of_float_bits_is_explained_in_one_sentence() -> None:
    found = audit(float_sum(1), Claim(1), samples=20_000)
    assert found.violated
    assert found.float_bits.startswith("This comes from the last bits of floating-point numbers: ")
    assert found.float_bits.count(". ") == 0
    assert "come up only on the" in found.float_bits
    for text in (str(found), " ".join(found.text().split()), found._repr_html_()):
        assert found.float_bits in text
        assert "--ignore-float-bits" in text
    assert found.to_json()["float_bits"] == found.float_bits


def test_ignoring_bits_finds_the_next_mistake_or_none() -> None:
    wrong = audit(float_sum(0.5), Claim(1), samples=40_000, ignore_float_bits=True)
    assert wrong.violated
    assert 1 < wrong.lower_bound < 2
    assert not wrong.float_bits
    assert "rounded to multiples of 2^-" in str(wrong)
    right = audit(float_sum(1), Claim(1), samples=40_000, ignore_float_bits=True)
    assert not right.violated, str(right)
    assert right.lower_bound > 0.8
    where = "(all 2 values, some sizes up to 64), last bits of floating-point numbers ignored"
    assert right.verdict.endswith(where + right.power)
    assert any("the last bits of floating-point numbers" in words for words in right.not_tested)
    assert "Last bits ignored: numbers with fractions were rounded" in " ".join(right.text().split())
    assert right.to_json()["rounded"].startswith("numbers with fractions")


@pytest.mark.parametrize(
    "mechanism",
    [
        lambda data, size: np.where(np.random.default_rng().random(size) < 0.9 - 0.8 * data, np.pi, 1 / 3),
        lambda data, size: np.random.default_rng().uniform(-1, 1, size) + data,
        lambda data, size: np.round(np.random.default_rng().laplace(0, 1, size), 3 - data),
        lambda data, size: 2 * noise(1, size) + data,
    ],
    ids=["two values", "uniform noise", "decimals", "parity"],
)
def test_other_findings_are_not_blamed_on_floats(mechanism: Callable[..., Any]) -> None:
    found = audit(mechanism, Claim(1), (0, 1), samples=20_000)
    assert found.violated
    assert not found.float_bits, str(found)


def test_bits_in_texts_and_signs_of_zero_are_ignored_too() -> None:
    draw = np.random.default_rng()

    def printed(data: int) -> str:
        return f"about {data + draw.laplace()}"

    assert audit(printed, Claim(1), (0, 1), samples=8000).float_bits
    assert not audit(printed, Claim(1), (0, 1), samples=8000, ignore_float_bits=True).violated

    def signed(data: int, size: int) -> np.ndarray:
        return np.full(size, -0.0 if data else 0.0)

    assert audit(signed, Claim(1), (0, 1), samples=2000).violated
    assert not audit(signed, Claim(1), (0, 1), samples=2000, ignore_float_bits=True).violated


def test_the_grid_is_a_power_of_two_below_the_spread() -> None:
    reader, draw = OutputReader(), np.random.default_rng(1)
    sides = [reader.read(draw.normal(center, 8, (4000, 2)) * [1, 2.0**40], 4000) for center in (0, 1)]
    grid = learn(sides, reader)
    assert grid.steps.tolist() == [2.0**-7, 2.0**33]  # half of the outputs lie within 10.8
    rounded = grid.rounded(sides[0]).numbers
    assert np.array_equal(rounded % grid.steps, np.zeros_like(rounded))
    assert np.abs(rounded - sides[0].numbers).max(axis=0) == pytest.approx(grid.steps / 2, rel=0.01)
    assert str(grid) == "numbers with fractions were rounded to multiples of 2^-7 to 2^33, about 1/1024 of their spread"


def test_numbers_without_a_grid_keep_their_first_bits() -> None:
    values = np.array([[3.0, 1e300, np.inf, np.pi, -0.0, 2.0**-1000 / 3]])
    found = to_grid(values, np.zeros(6))
    assert found[0, :3].tolist() == [3.0, 1e300, np.inf]
    assert abs(found[0, 3] - np.pi) < np.pi * 2.0**-BITS
    assert found[0, 3] * 2.0 ** (BITS - 2) % 1 == 0
    assert not np.signbit(found[0, 4])
    assert (
        str(OutputGrid(np.zeros(1), OutputReader()))
        == f"numbers with fractions were rounded to their first {BITS} bits"
    )
    reader = OutputReader()
    constant = [reader.read(np.full(9, 0.1), 9)] * 2
    assert learn(constant, reader).steps[0] == 2.0 ** (-3 - 40)


# --- false alarms ---


@pytest.mark.proof
@pytest.mark.parametrize("mechanism", ["clipped sum", "count", "choice", "float sum"])
def test_a_wide_search_raises_no_more_false_alarms_than_stated(mechanism: str) -> None:
    """Audits at confidence 0.9. A rate of 0.1 is rejected with a chance of 1e-6 at most, a rate of 0.5 is accepted with
    a chance of 0.01 at most (of 24 audits, more than 12 alarms would come with a chance of 0.42 at that rate)."""
    made: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
        "clipped sum": (clipped_sum, {}),
        "count": (lambda data, size: len(data) + noise(1, size), {}),
        "choice": (lambda data, size: np.random.default_rng().random(size) < 1 / (1 + np.exp(-(57 in data))), {}),
        "float sum": (
            lambda data, size: float_sum(1)([value > 50 for value in data], size),
            {"ignore_float_bits": True},
        ),
    }
    function, settings = made[mechanism]

    def alarms() -> Iterator[tuple[int, int]]:
        while True:
            found = audit(function, Claim(1), Rows(VALUES[40:60]), samples=1000, confidence=0.9, **settings)
            yield int(found.violated), 1

    assert decide(Rates(stated=0.1, too_high=0.5, alarm=1e-6, miss=0.01), alarms()).accepted

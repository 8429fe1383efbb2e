"""Domains give neighbors and nothing else; the search finds the pair that tells; stages, clock and progress."""

from __future__ import annotations

import itertools
import math
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.refusals import expect_code, raises_code

from privet.audits import Answers, Between, Claim, Pairs, People, Rows, audit
from privet.audits.outputs import OutputReader
from privet.audits.source import AuditSource
from privet.audits.stages import BREADTH, Clock, Stages, Track, sizes
from privet.errors import InvalidInputError

RECORDS = st.one_of(
    st.just(Between(-3, 7)), st.just(Between(0, 1)), st.lists(st.integers(-5, 5), min_size=1, max_size=9),
    st.just(["a", "b", None]), st.just([("x", 1), ("y", 2), ("z", math.nan)]), st.just([1.0, math.inf, 1e300]),
)  # fmt: skip
RELATIONS = st.sampled_from(["add-remove", "replace"])


def first(domain: Any, count: int, seed: int = 0) -> list[tuple[Any, Any]]:
    return list(itertools.islice(domain.pairs(np.random.default_rng(seed)), count))


def bag(data: list[Any]) -> Counter[str]:
    return Counter(map(repr, data))


@settings(max_examples=60)
@given(RECORDS, RELATIONS, st.integers(1, 12))
def test_rows_differ_in_one_record(values: Any, relation: str, most: int) -> None:
    for one, other in first(Rows(values, neighbors=relation, most=most), 150):
        more, fewer = bag(other) - bag(one), bag(one) - bag(other)
        assert max(len(one), len(other)) <= most
        if relation == "add-remove":
            assert (more.total(), fewer.total()) == (1, 0)
        else:
            assert len(one) == len(other) >= 1
            assert more.total() == fewer.total() <= 1


@settings(max_examples=40)
@given(RECORDS, RELATIONS, st.integers(1, 9))
def test_people_differ_in_the_rows_of_one(values: Any, relation: str, most: int) -> None:
    for one, other in first(People(values, neighbors=relation, most_rows=most), 150):
        people = [{row[0] for row in data} for data in (one, other)]
        rest = [[row for row in data if row[0] != 0] for data in (one, other)]
        assert bag(rest[0]) == bag(rest[1])
        assert 0 in people[1]
        assert (0 in people[0]) == (relation == "replace")
        assert max(Counter(row[0] for row in other).values()) <= most


@settings(max_examples=60)
@given(
    st.integers(1, 9), st.sampled_from([1, 0.5, 3]), st.booleans(), st.booleans(),
    st.sampled_from([(-10, 10), (0, 4), (5, 9)]),
)  # fmt: skip
def test_answers_move_by_at_most_the_change(
    length: int, change: float, same_sign: bool, whole: bool, ends: tuple[float, float]
) -> None:
    domain = Answers(length, change, low=ends[0], high=ends[1], same_sign=same_sign, whole=whole)
    for one, other in first(domain, 120):
        if length == 1:
            assert isinstance(one, int if whole else float)
        moved = np.atleast_1d(np.asarray(other) - np.asarray(one))
        assert len(moved) == length
        assert np.abs(moved).max() <= change + 1e-9
        assert np.min([one, other]) >= ends[0]
        assert np.max([one, other]) <= ends[1]
        if same_sign:
            assert moved.min() >= 0 or moved.max() <= 0


def test_the_known_pairs_come_first() -> None:
    assert first(Rows([0, 1]), 2) == [([], [1]), ([], [0])]
    pairs = [(one.tolist(), other.tolist()) for one, other in first(Answers(4), 30)]
    assert ([0, 0, 0, 0], [1, 1, 1, 1]) in pairs
    assert ([0, 1, 0, 1], [1, 0, 1, 0]) in pairs
    assert ([0, 0, 1, 1], [1, 1, 0, 0]) in pairs
    rows = first(Rows([1.0, 9.0], most=50), 40)
    assert ([1.0] * 49, [9.0] + [1.0] * 49) in rows
    assert any(math.isnan(other[-1]) for _, other in first(Rows([0.0, 1.0, math.nan]), 4))
    people = first(People(["a", "b"], most_rows=5), 10)
    assert ([], [(0, "a")] * 5) in people
    opposite = first(Rows([0, 5, 9], neighbors="replace"), 3)
    assert opposite[0] == ([9], [0])
    assert first(Rows([7], neighbors="replace"), 1) == [([7], [7])]


def test_domains_in_words() -> None:
    assert str(Rows([0, 1])) == "lists of up to 64 records (2 different ones), add-remove"
    assert (
        str(Rows(Between(0, 2.5), neighbors="replace", most=3)) == "lists of up to 3 records (from 0 to 2.5), replace"
    )
    assert str(People([1])) == "rows of up to 64 people with up to 8 rows each (1 different ones), add-remove"
    assert str(Answers(3, whole=True, same_sign=True)) == (
        "3 whole answers from -10 to 10, each changed by up to 1 in one direction"
    )
    assert str(Answers(3)) == "3 answers from -10 to 10, each changed by up to 1 up or down"
    assert str(Pairs([(0, 1)])) == "the pair given"
    assert str(Pairs([(0, 1), (1, 2)])) == "the 2 pairs given"


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        (lambda: Between(1, 1), "reversed-range: not 1"),
        (lambda: Between(0, math.inf), "reversed-range: two"),
        (lambda: Rows([]), "not-a-list: values"),
        (lambda: Rows(3), "not-a-list: values"),
        (lambda: Rows([1], neighbors="both"), "unknown-choice: 'add-remove' … 'replace' … 'both'"),
        (lambda: Rows([1], most=0), "too-small: most must … least 1"),
        (lambda: People([1], most_rows=0), "too-small: most_rows … least 1"),
        (lambda: Answers(0), "too-small: length … least 1"),
        (lambda: Answers(2, change=0), "reversed-range: above 0"),
        (lambda: Answers(2, low=1, high=1), "reversed-range: Answers"),
        (lambda: Pairs([(1, 2, 3)]), "wrong-shape: neighbors"),
        (lambda: Pairs([([1, 0], [1, 0])]), "no-variation: the two data sets are the same"),
        (lambda: Pairs([(0, 1), (np.ones(2), np.ones(2))]), "no-variation: pair 2"),
    ],
)
def test_bad_domains_get_one_clear_error(call: Callable[[], object], problem: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        call()
    expect_code(problem, caught.value)
    assert caught.value.remedy


# --- the search ---


def test_the_pair_that_tells_is_found() -> None:
    """Only lists of exactly five records leak; and pairs that raise on both sides are passed over."""
    draw = np.random.default_rng(1)

    def mechanism(data: list[int]) -> int:
        if len(data) > 6:
            raise ValueError
        return int(draw.integers(0, 3)) if len(data) != 5 else 3

    found = audit(mechanism, Claim(1), domain=Rows([0, 1]), samples=20_000)
    assert found.violated
    assert 5 in [len(eval(words)) for words in found.witness.neighbors]
    assert found.tried is not None
    assert found.pairs > found.tried.raised > 20
    listed = audit(mechanism, Claim(1), [([], [1]), ([1] * 4, [1] * 5)], samples=20_000)
    assert listed.violated
    assert listed.pairs == 2
    assert listed.witness.neighbors == ("[1, 1, 1, 1]", "[1, 1, 1, 1, 1]")
    assert not audit(mechanism, Claim(1), Rows([0, 1], most=3), samples=20_000).violated


def test_a_list_of_two_data_sets_is_a_pair() -> None:
    found = audit(len, Claim(1), [[1, 2], [1]], samples=1000)
    assert found.pairs == 1
    assert found.violated


def test_long_data_are_cut_in_words() -> None:
    found = audit(lambda data: float(np.sum(data)), Claim(1), (np.zeros(100), np.ones(100)), samples=1000)
    assert all(len(words) == 60 and words.endswith("…") for words in found.witness.neighbors)


def test_data_that_are_changed_in_place_are_handed_over_fresh() -> None:
    def mechanism(data: list[int]) -> int:
        data.append(1)
        return len(data)

    found = audit(mechanism, Claim(1), ([], [1]), samples=1000)
    assert found.witness.hits in ((750, 0), (0, 750))


# --- stages ---


@settings(max_examples=200)
@given(st.integers(1000, 50_000_000))
def test_stages_use_all_samples_and_grow(samples: int) -> None:
    looking, tests = sizes(samples)
    assert looking + sum(tests) == samples
    assert tests[-1] >= 0.6 * samples
    assert looking + tests[0] < 6100
    assert all(2 < later / before < 14 for before, later in itertools.pairwise(tests))


def test_the_default_starts_below_2000() -> None:
    looking, tests = sizes(500_000)
    assert looking + tests[0] < 2000
    assert len(tests) == 5


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """A clock that stands still unless a mechanism moves it: what is found does not depend on the machine."""
    moment = [time.perf_counter()]
    monkeypatch.setattr(time, "perf_counter", lambda: moment[0])
    return moment


def test_time_is_kept_and_slow_mechanisms_are_tested_with_less(now: list[float]) -> None:
    def slow(data: list[int]) -> int:
        now[0] += 0.0002
        return int(np.random.default_rng().integers(0, 5)) + 0 * len(data)

    found = audit(slow, Claim(1), domain=Rows([0, 1]), seconds=1)
    assert 100 <= found.samples < 20_000
    assert found.verdict.startswith(("consistent", "inconclusive"))
    assert found.witness.draws < 20_000


def test_a_stage_that_takes_too_long_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock stands still until the test has begun; then all time is over."""
    monkeypatch.setattr(Clock, "over", property(lambda _: True))
    monkeypatch.setattr("privet.audits.source.CELLS", 1)
    with raises_code(InvalidInputError, "out-of-time"):
        audit(lambda data: data, Claim(1), (0, 1), samples=4000, seconds=1000)


def test_when_no_time_is_left_the_stages_end(now: list[float]) -> None:
    clock = Clock(0.5)
    assert not clock.over
    clock.started -= 10
    assert clock.over
    assert clock.left < 0
    assert Clock(None).left == math.inf
    assert not Clock(None).over
    calls: list[int] = []

    def mechanism(data: int, size: int) -> np.ndarray:
        calls.append(size)
        now[0] += 0.02 if size < 1000 else 0.3
        return np.zeros(size) + 0 * data

    found = audit(mechanism, Claim(1), (0, 1), samples=4_000_000, seconds=0.6)
    assert found.samples < 4_000_000


def test_a_stage_that_would_be_too_small_is_not_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = iter([(1425, False), (10, True)])
    monkeypatch.setattr("privet.audits.stages.Stages._size", lambda *_: next(answers))
    found = audit(lambda data, size: np.zeros(size) + 0 * data, Claim(1), (0, 1))
    assert found.witness.draws == 1425


def test_progress_is_told() -> None:
    told: list[tuple[str, int, int]] = []
    audit(
        lambda data, size: np.zeros(size) + 0 * len(data), Claim(1), samples=20_000,
        progress=lambda *news: told.append(news),
    )  # fmt: skip
    assert {text for text, _, _ in told} == {"searching for neighbors", "testing draws"}
    assert all(0 <= done <= total for _, done, total in told)


def test_large_tests_are_counted_in_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def mechanism(_: int, size: int) -> np.ndarray:
        asked.append(size)
        return np.random.default_rng().integers(0, 3, size)

    monkeypatch.setattr("privet.audits.source.CELLS", 5000)
    monkeypatch.setattr("privet.audits.stages.KEPT", 3000)
    found = audit(mechanism, Claim(1), (0, 1), samples=60_000)
    assert max(asked) == 5000
    assert found.samples == 60_000
    assert found.witness.draws > 40_000 or found.lower_bound == 0
    assert not found.violated


def test_what_was_not_tested_is_said() -> None:
    found = audit(lambda data: 0 * len(data), Claim(1), samples=2000)
    assert len(found.not_tested) == 5
    assert "lists of up to 64 records" in found.not_tested[0]
    assert f"{found.pairs} pairs of data sets" in found.not_tested[0]
    assert found.roc[-1] == (1, 1)
    single = audit(lambda data: 0 * data, Claim(1), (0, 1), samples=2000)
    assert single.not_tested[0] == "other inputs: one pair of data sets out of the pair given"


# --- the source ---


def test_batches_that_raise_or_repeat_are_drawn_one_by_one() -> None:
    draw = np.random.default_rng(2)

    def raises(data: int, size: int) -> np.ndarray:
        found = draw.integers(0, 10, size) + data
        if (found == 10).any():
            raise OverflowError
        return found

    found = audit(raises, Claim(1), (0, 1), samples=4000)
    assert found.violated
    assert "raised OverflowError" in found.witness.event or "output" in found.witness.event
    same = audit(lambda data, size: np.random.default_rng(1).normal(size=size) + data, Claim(1), (0, 1))
    assert same.violated
    source = AuditSource(lambda data, size: [data] * size, None)
    assert len(source.first(1, 41, OutputReader())) == 41
    track = Track((0, 1))
    track.look(source, 0)
    assert track.drawn == 0
    lengths = audit(lambda data, size: [[1] * int(draw.integers(1, 3 + data)) for _ in range(size)], Claim(1), (0, 1))
    assert lengths.violated
    growing = iter(range(1, 10**6))
    late = AuditSource(lambda _, size: [[0] * next(growing)] * size, None)
    assert late.first(0, 40, OutputReader()).numbers.shape == (40, 2)


def test_the_signature_says_what_a_mechanism_returns() -> None:
    def optional(data: int, size: int = 3) -> int:
        return data * size

    found = audit(optional, Claim(1), (0, 1), samples=1000)
    assert found.witness.hits in ((750, 0), (0, 750))
    assert audit(len, Claim(1), ([], [1]), samples=1000).violated
    assert audit(max, Claim(1), ([0], [1]), samples=1000).violated  # tells nobody what it takes


def test_pairs_beyond_the_tested_ones_have_a_share_of_the_time() -> None:
    """A clock on which every look takes a twentieth of what is left: three pairs are tested, then the share is soon
    over."""

    class Running(Clock):
        @property
        def left(self) -> float:
            self.started -= 0.05 * (super().left if self.seconds else 0)
            return super().left

    source = AuditSource(lambda data, size: np.full(size, data), None)
    stages = Stages(claim=Claim(1), source=source, clock=Running(100.0), miss=0.1, progress=lambda *_: None)

    def looked_at() -> list[Track]:
        tracks = [Track((0, 1)) for _ in range(10)]
        for track in tracks:
            track.look(source, 8)
            track.find(Claim(1), 1, 100)
        return tracks

    assert BREADTH[-1] <= len(stages._narrowed(looked_at(), to_come=4, looking=20, samples=1000)) < 5
    stages = Stages(claim=Claim(1), source=source, clock=Clock(None), miss=0.1, progress=lambda *_: None)
    assert len(stages._narrowed(looked_at(), to_come=4, looking=20, samples=1000)) == 10

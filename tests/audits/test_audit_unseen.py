"""Mechanisms that the auditor was not made for: bugs as people write them, each with a twin that does it right.

Audits run at the confidence of 0.999999: a right twin is flagged with a probability of 1e-6 at most. What is broken is
so far from its claim that the first few thousand draws show it: no miss in five seeds. The generator is seeded.
"""

from __future__ import annotations

import math
import random
import time
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from scipy import stats
from support.refusals import raises_code

from privet.audits import Answers, Between, Claim, People, Rows, audit
from privet.audits.outputs import MOST_COLUMNS, OutputReader, OutputRow, Outputs
from privet.audits.source import AuditSource
from privet.errors import InvalidInputError

DRAW = np.random.default_rng(2024)
Mechanism = Callable[..., Any]
SAMPLES, FEWER = 10_000, 1000


def noise(epsilon: float = 1, size: Any = None) -> Any:
    """Two-sided geometric."""
    q = 1 - math.exp(-epsilon)
    found = DRAW.geometric(q, size) - DRAW.geometric(q, size)
    return found if size is not None else int(found)


@dataclass(frozen=True, slots=True)
class Case:
    name: str
    make: Callable[[bool], Mechanism]  # broken or right
    where: Any
    claim: Claim = Claim(1)  # noqa: RUF009 -- frozen
    right: Claim | None = None  # what the twin claims, if that is something else


def clipped_mean(broken: bool) -> Mechanism:
    def mechanism(data: list[float]) -> float:
        mean = min(1, sum(data) / len(data)) if broken else sum(min(1, x) for x in data) / len(data)
        return round((mean + DRAW.laplace(scale=1 / len(data))) * 64) / 64

    return mechanism


def rounded(broken: bool) -> Mechanism:
    def mechanism(data: list[int]) -> int:
        unit = 10 ** (len(str(max(data, default=0))) - 1) if broken else 10
        return round((sum(min(5, x) for x in data) + DRAW.laplace(scale=5)) / unit) * unit

    return mechanism


def noisy_max(broken: bool) -> Mechanism:
    """The last candidate gets no noise: a loop that ends one too early."""

    def mechanism(answers: np.ndarray) -> int:
        gumbel = DRAW.gumbel(0, 2, len(answers))
        gumbel[-1] *= not broken
        return int(np.argmax(answers + gumbel))

    return mechanism


def histogram(keys: Callable[[list[str]], Any]) -> Callable[[bool], Mechanism]:
    def make(broken: bool) -> Mechanism:
        def mechanism(data: list[str]) -> dict[str, int]:
            count = Counter(data)
            return {key: count[key] + noise() for key in (keys(data) if broken else "abc")}

        return mechanism

    return make


def kind_of_number(broken: bool) -> Mechanism:
    """The sum of no floats is a whole number, and prints as 5 where others print as 5.0."""
    return lambda data: (sum(data) if broken else float(sum(data))) + noise()


def length(broken: bool) -> Mechanism:
    return lambda data: [int(DRAW.integers(2)) for _ in range(max(0, len(data) + (0 if broken else noise())))]


def gradients(broken: bool) -> Mechanism:
    def clip(vector: np.ndarray) -> np.ndarray:
        return vector / max(1, float(np.linalg.norm(vector)))

    def mechanism(data: list[tuple[float, float]]) -> np.ndarray:
        rows = [np.array(row) for row in data]
        total = clip(sum(rows, np.zeros(2)) / 4) * 4 if broken else sum(map(clip, rows), np.zeros(2))
        return np.round((total + DRAW.normal(size=2)) * 16) / 16

    return mechanism


def median(broken: bool) -> Mechanism:
    def mechanism(data: list[int]) -> int:
        middle = sorted(data)[len(data) // 2]
        if broken and data.count(middle) > max(2, len(data) / 2):
            return middle
        far = np.array([abs(sum(x < c for x in data) - sum(x > c for x in data)) / 2 for c in range(1, 6)])
        return 1 + int(np.argmax(DRAW.gumbel(0, 2, 5) - far))

    return mechanism


def half(broken: bool) -> Mechanism:
    """Privacy amplified by sampling, though the sample is always the same one."""
    return lambda data: sum(data[::2] if broken else [x for x in data if DRAW.random() < 0.5]) + noise()


def shared(broken: bool) -> Mechanism:
    """One noise for three answers."""
    return lambda answers, size: answers + noise(1 / 3, (size, 1 if broken else 3))


def flag(broken: bool) -> Mechanism:
    def mechanism(data: list[int]) -> dict[str, Any]:
        count = len(data) + noise()
        return {"count": count, "enough": (len(data) if broken else count) >= 5}

    return mechanism


def sign_of_zero(broken: bool) -> Mechanism:
    def mechanism(data: list[float]) -> float:
        found = float(sum(data) + noise())
        return found if found else math.copysign(0.0, sum(data) if broken else 1)

    return mechanism


def as_is(_: bool) -> Mechanism:
    """One answer in ten has no noise, but a mark: that is a delta of 0.1."""

    def mechanism(data: list[int]) -> float:
        return sum(data) + (0.5 if DRAW.random() < 0.1 else float(noise()))

    return mechanism


def logarithm(broken: bool) -> Mechanism:
    return lambda data: round(math.log1p(sum(data)) + DRAW.laplace(scale=1 if broken else math.log(11)), 3)


def response(broken: bool) -> Mechanism:
    def mechanism(data: list[int]) -> list[int]:
        found = [x ^ int(DRAW.random() < 1 / (1 + math.e)) for x in data]
        return [*found[:-1], data[-1]] if broken else found

    return mechanism


def raises(broken: bool) -> Mechanism:
    def mechanism(data: list[int]) -> int:
        if broken and max(data, default=0) > 5 and DRAW.random() < 0.2:
            raise ValueError("an outlier")
        return sum(min(1, x) for x in data) + noise()

    return mechanism


def eight_bits(broken: bool) -> Mechanism:
    return lambda answer, size: int(np.int64(answer).astype(np.int8 if broken else np.int64)) + noise(1, size)


def groups(broken: bool) -> Mechanism:
    def mechanism(rows: list[tuple[int, str]]) -> dict[str, int]:
        kept = {(person, group) if broken else person: group for person, group in rows}
        count = Counter(kept.values())
        return {group: count[group] + noise() for group in "abc"}

    return mechanism


def seeded(broken: bool) -> Mechanism:
    def mechanism(data: list[int]) -> int:
        draw = random.Random(sum(data) * 1000 + int(DRAW.integers(4))) if broken else random.Random()
        up, down = (math.floor(-math.log(1 - draw.random())) for _ in range(2))
        return len(data) + up - down

    return mechanism


def halves(broken: bool) -> Mechanism:
    """Whole noise is added before halves are rounded to the even number: 0.5 becomes even, 1.5 becomes even.

    The twin rounds halves up: rounded to even, one more person would move 0.5, which is 0, to 1.5, which is 2.
    """

    def mechanism(data: list[Decimal]) -> Decimal:
        total = sum(data, Decimal(0))
        return Decimal(round(total + noise())) if broken else Decimal(math.floor(total + Decimal("0.5")) + noise())

    return mechanism


class Table:
    """As much of a table as is looked at."""

    def __init__(self, keys: list[int], counts: list[int]) -> None:
        self.columns, self.dtypes, self._counts = ["n"], ["int64"], counts
        self.index = np.array(keys)

    def to_numpy(self) -> np.ndarray:
        return np.array(self._counts).reshape(-1, 1)


def table(broken: bool) -> Mechanism:
    """The labels of the rows come in the order of the data."""

    def mechanism(data: list[int]) -> Table:
        count = Counter(data)
        keys = list(dict.fromkeys([*data, 1, 2, 3])) if broken else [1, 2, 3]
        return Table(keys, [count[key] + noise() for key in keys])

    return mechanism


BITS, LETTERS = Rows([0, 1]), Rows(["a", "b", "c"])
AMPLIFIED = Claim(math.log(1 + (math.e - 1) / 2) + 1e-9)
CASES = [
    Case("mean clipped", clipped_mean, Rows([0.0, 1.0, 50.0], neighbors="replace")),
    Case("unit of rounding", rounded, Rows([0, 5, 40, 700])),
    Case("noisy max", noisy_max, Answers(4, whole=True)),
    Case("empty bins", histogram(lambda data: sorted(set(data))), LETTERS),
    Case("whole or not", kind_of_number, Rows([0.0, 1.0])),
    Case("length", length, BITS),
    Case("gradients", gradients, Rows([(1.0, 0.0), (0.0, 1.0), (-30.0, 40.0)]), Claim(mu=1)),
    Case("median", median, Rows([1, 2, 3, 4, 5], neighbors="replace")),
    Case("fixed half", half, BITS, AMPLIFIED),
    Case("shared noise", shared, Answers(3, whole=True)),
    Case("flag", flag, BITS),
    Case("sign of zero", sign_of_zero, Rows([-1.0, 1.0], neighbors="replace"), Claim(2)),
    Case("as is", as_is, Rows([0, 1], neighbors="replace"), Claim(1, "0.001"), Claim(1, "0.1")),
    Case("logarithm", logarithm, Rows(Between(0, 10))),
    Case("response", response, Rows([0, 1], neighbors="replace")),
    Case("raises", raises, Rows([0, 1, 9])),
    Case("eight bits", eight_bits, Answers(1, low=120, high=135, whole=True)),
    Case("groups", groups, People(["a", "b", "c"])),
    Case("seeded", seeded, BITS),
    Case("halves", halves, Rows([Decimal(1), Decimal("0.25")])),
    Case("table", table, Rows([1, 2, 3])),
]


@pytest.mark.proof
@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_what_is_broken_is_found_and_its_twin_is_not(case: Case) -> None:
    found = audit(case.make(True), case.claim, domain=case.where, samples=SAMPLES)
    assert found.violated, str(found)
    right = audit(case.make(False), case.right or case.claim, domain=case.where, samples=FEWER)
    assert not right.violated, str(right)


# --- false alarms ---


def powers(data: int, size: int) -> list[int]:
    """Whole numbers of which one in ten thousand or so is beyond 64 bits."""
    return [int(found) << 59 for found in data + noise(0.6, size)]


def unsigned(data: int, size: int) -> np.ndarray:
    return np.clip(data + noise(0.6, size) + 8, 0, 31).astype(np.uint64) << np.uint64(59)


def rarely_a_quarter(data: int, size: int) -> list[float]:
    return [int(one) + 0.25 * int(DRAW.random() < 3e-4) or 0 for one in data + noise(1, size)]


def rarely_raises(data: int, size: int) -> np.ndarray:
    """A batch in which one draw fails fails as a whole. A draw fails with a chance of 8e-4 or e * 8e-4."""
    if DRAW.random() < 1 - (1 - 8e-4 * math.exp(data)) ** size:
        raise ValueError
    return DRAW.integers(0, 2, size)


def fair(data: int, size: int) -> np.ndarray:
    return np.where(DRAW.random(size) < math.e / (1 + math.e), data, 1 - data)


ALARMS: list[tuple[Mechanism, Claim]] = [
    (powers, Claim("0.6")),
    (unsigned, Claim("0.6")),
    (rarely_a_quarter, Claim(1)),
    (rarely_raises, Claim("1.001")),
    (fair, Claim(1)),
]


@pytest.mark.proof
@pytest.mark.parametrize(("mechanism", "claim"), ALARMS, ids=[alarm[0].__name__ for alarm in ALARMS])
def test_no_false_alarms(mechanism: Mechanism, claim: Claim) -> None:
    """Eight audits: one is wrong with a probability of 8e-6. Draws that are miscounted show at any confidence."""
    assert not any(audit(mechanism, claim, (0, 1), samples=6000).violated for _ in range(8))


def test_false_alarms_stay_below_their_rate() -> None:
    """Of 40 audits at a rate of 0.5 each, 35 alarms or more come with a probability of 7e-7."""
    alarms = sum(audit(fair, Claim(1), (0, 1), samples=1000, confidence=0.5).violated for _ in range(40))
    assert stats.binom.sf(alarms - 1, 40, 0.5) > 1e-6, alarms


def cells(outputs: Outputs, row: int, width: int) -> list[tuple[float, int]]:
    wide = outputs.widened(width)
    tokens = np.zeros(width, np.int32) if wide.tokens is None else wide.tokens[row]
    return [*zip(wide.numbers[row].astype(float).tolist(), tokens.tolist(), strict=True), (0, int(wide.shapes[row]))]


RAW: list[Any] = [
    [1, 2**53, 3, -(2**53)],
    [1, 2**63, 3],
    [1, 2.0, 2.5, -0.0, True, np.bool_(False), np.int8(3), np.float32(0.1), None, 2**60],
    [[1, 2], [1.0, 2], [2**70, 1], [True, 1], (1, 2), (1, 2.0), [], [1]],
    [np.array([1, 2]), np.array([1.0, 2]), np.array([[1, 2]]), np.array(["a", 1], object), np.array(3)],
]
ARRAYS: list[np.ndarray] = [
    np.array([1, 2**62]),
    np.array([1, 2**63], np.uint64),
    np.array([1.0, 2.5]),
    np.array([True, False]),
    np.array([[1, 2], [3, 2**60]]),
    np.array([[[1, 2]], [[3, 4]]]),
    np.array(["a1", "b"]),
    np.array([["a", 1], ["b", 2.0]], object),
    np.array([1 + 2j, 3]),
]


@pytest.mark.parametrize("raw", RAW, ids=range(len(RAW)))
def test_a_draw_is_read_the_same_alone_and_among_others(raw: list[Any]) -> None:
    reader = OutputReader()
    together = reader.read(raw, len(raw))
    alone = [reader.read([one], 1) for one in raw]
    pairs = [reader.read([one, one], 2) for one in raw]
    for row, (single, double) in enumerate(zip(alone, pairs, strict=True)):
        assert cells(together, row, reader.width) == cells(single, 0, reader.width) == cells(double, 1, reader.width)


@pytest.mark.parametrize("raw", ARRAYS, ids=range(len(ARRAYS)))
def test_a_draw_of_a_batch_is_read_the_same_in_any_batch(raw: np.ndarray) -> None:
    """The type of the array is that of the batch: numpy chose it for all draws together."""
    reader = OutputReader()
    together = reader.read(raw, len(raw))
    alone = [reader.read(raw[n : n + 1], 1) for n in range(len(raw))]
    rows = reader.read([OutputRow(raw[n : n + 1]) for n in range(len(raw))], len(raw))
    mixed = reader.read([OutputRow(raw[:1]), "text"], 2)
    for row, single in enumerate(alone):
        assert cells(together, row, reader.width) == cells(single, 0, reader.width) == cells(rows, row, reader.width)
    assert cells(together, 0, reader.width) == cells(mixed, 0, reader.width)


def test_whole_and_float_batches_are_alike_but_whole_and_float_numbers_are_not() -> None:
    reader = OutputReader()
    whole, floats = (reader.read(np.array([1, 2], kind), 2) for kind in (np.int64, np.float64))
    assert cells(whole, 0, 1) == cells(floats, 0, 1)
    one, other = (reader.read(raw, 1) for raw in ([1], [1.0]))
    assert one.shapes[0] != other.shapes[0]


# --- outputs and data of other kinds ---


class Vector:
    """As polars has it."""

    dtype, name = "Int64", "n"

    def to_list(self) -> list[int]:
        return [1, 2]


class Note:
    def __init__(self, text: str) -> None:
        self.text = text


def test_iterators_vectors_and_plain_objects_are_looked_into() -> None:
    reader = OutputReader()
    first = reader.read([iter([1, 2]), Vector(), Note("a"), object()], 4)
    second = reader.read([iter([1, 3]), Vector(), Note("b"), object()], 4)
    same = [cells(first, row, reader.width) == cells(second, row, reader.width) for row in range(4)]
    assert same == [False, True, False, True]


def test_random_keys_and_long_outputs_are_cut_off() -> None:
    reader = OutputReader()
    for _ in range(3):
        reader.read([{DRAW.random(): 1} for _ in range(MOST_COLUMNS // 2)], MOST_COLUMNS // 2)
    assert reader.width == MOST_COLUMNS
    reader = OutputReader()
    assert reader.read([np.zeros(MOST_COLUMNS + 1)], 1).numbers.shape == (1, MOST_COLUMNS)
    assert reader.read([np.zeros(MOST_COLUMNS + 1), None], 2).numbers.shape[1] <= MOST_COLUMNS


def drops_one(data: Any) -> Any:
    data.pop()
    return len(data)


def drops_a_field(data: list[list[int]]) -> int:
    data[0].pop()
    return len(data[0])


@pytest.mark.parametrize(
    ("mechanism", "data"),
    [(drops_one, [1] * 9), (drops_one, deque([1] * 9)), (drops_one, {1, 2, 3}), (drops_a_field, [[1] * 9])],
)
def test_what_a_mechanism_does_to_its_data_is_undone(mechanism: Mechanism, data: Any) -> None:
    outputs = AuditSource(mechanism, None).draw(data, 3, OutputReader())
    assert len(set(outputs.numbers[:, 0].tolist())) == 1


def test_data_that_cannot_be_copied_are_given_as_they_are() -> None:
    class Connection:
        __hash__ = None  # type: ignore[assignment]

        def __deepcopy__(self, memo: object) -> Connection:
            raise TypeError("not that")

    data = Connection()
    assert AuditSource(lambda given: given is data, None).draw(data, 1, OutputReader()).numbers[0, 0] == 1


# --- slow mechanisms, on a clock of their own ---


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Where it starts is taken from the real clock, as audits do; what passes is up to the mechanism."""
    now = [time.perf_counter()]
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    return now


def test_slow_mechanisms_end_in_time(clock: list[float]) -> None:
    def slow(data: list[int]) -> int:
        clock[0] += 0.05
        return len(data)

    started = clock[0]
    found = audit(slow, Claim(1), seconds=10)
    assert found.violated
    assert found.pairs >= 2
    assert clock[0] - started < 21


def test_a_mechanism_that_is_too_slow_is_said_to_be(clock: list[float]) -> None:
    def slow(data: list[int]) -> int:
        clock[0] += 1
        return len(data)

    started = clock[0]
    with raises_code(InvalidInputError, "out-of-time"):
        audit(slow, Claim(1), seconds=3)
    assert clock[0] - started < 30

"""Side channels of anything that answers: planted ones are found, honest askers are left alone.

Time is measured by a clock that the tests turn, so that no machine is too slow for them; the real clock is used against
a server that sleeps.
"""

from __future__ import annotations

import math
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import product
from random import Random, SystemRandom
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.refusals import raises_code

from privet.audits import Checks, Claim, side_channels
from privet.audits.channels import _explains
from privet.audits.likeness import leaves, look, same
from privet.audits.timing import _odds, compare, in_words
from privet.audits.verdict import CONSISTENT, INCONCLUSIVE, VIOLATED
from privet.errors import InvalidInputError
from privet.noise import discrete_laplace

PAIR = (3, 4)  # data sets: a number of people


def laplace(data: int) -> int:
    return data + int(discrete_laplace(1, 1)[0])


class Clock:
    """Runs by a little chance with every reading, and by what an asker adds."""

    def __init__(self) -> None:
        self.now = 0.0
        self._chance = Random(8)

    def __call__(self) -> float:
        self.now += self._chance.uniform(1e-3, 2e-3)
        return self.now


class Meter:
    """An asker with a budget for each data set."""

    def __init__(self, price: Callable[[int], float] = lambda _: 1.0) -> None:
        self.spent: dict[int, float] = dict.fromkeys(PAIR, 0.0)
        self._price = price

    def ask(self, data: int) -> int:
        self.spent[data] += self._price(data)
        return laplace(data)

    def charge(self, data: int) -> float:
        return self.spent[data]


def checked(ask: Callable[[Any], Any], neighbors: tuple[Any, Any] = PAIR, **more: Any) -> Checks:
    return side_channels(ask, neighbors, **{"repeats": 70, "rate": 1e-9, "clock": Clock(), **more})


def verdict(found: Checks, name: str) -> str:
    return next(check.verdict for check in found.checks if check.name == name)


def says(found: Checks, name: str) -> str:
    return next(check.says for check in found.checks if check.name == name)


def test_an_honest_asker() -> None:
    meter = Meter()
    found = checked(meter.ask, charge=meter.charge, start=lambda: laplace)
    assert [check.name for check in found.checks] == ["look", "charge", "repeats", "seeds", "time"]
    assert found.verdict == CONSISTENT, str(found)
    assert says(found, "look") == "73 answers on each data set all look the same"
    assert says(found, "charge") == "the same after each of 73 questions"
    assert says(found, "repeats").endswith("of 146 answers to the same question were new, and each was paid for")
    assert found.not_tested == ("neighbors other than these two",)
    assert found.subject == "side channels of ask on two neighbors"
    assert len(checked(laplace).not_tested) == 3


# Looks


@pytest.mark.parametrize(
    "ask",
    [
        lambda data: [0] * data,
        lambda data: {"n": 1} if data == 3 else {"m": 1},
        lambda data: 1 if data == 3 else 1.0,
        lambda data: ["a", "b"] if data == 3 else ["b", "a"],
        lambda data: f"about {laplace(data)} people" + " " * data,
        lambda data: 1 / (data - 3),
        lambda data: {}["ward A" if data == 3 else "ward B"],
    ],
)
def test_looks_that_depend_on_the_data(ask: Callable[[int], Any]) -> None:
    found = checked(ask)
    assert verdict(found, "look") == VIOLATED, str(found)
    assert says(found, "look").startswith("answers look like ")


def test_looks_that_change_with_every_question() -> None:
    asked = dict.fromkeys(PAIR, 0)

    def ask(data: int) -> str:
        asked[data] += 1
        return "x" * asked[data]

    assert says(checked(ask), "look") == "73 answers on each data set look the same, question by question"


def test_errors_behind_an_error() -> None:
    """What a traceback would print beside the error is seen, too."""

    def ask(data: int, *, hide: bool) -> None:
        try:
            raise KeyError(data)
        except KeyError:
            if hide:
                raise ValueError("refused") from None
            raise ValueError("refused")  # noqa: B904  the planted leak

    assert verdict(checked(lambda data: ask(data, hide=False)), "look") == VIOLATED
    found = checked(lambda data: ask(data, hide=True))
    assert verdict(found, "look") == CONSISTENT
    assert says(found, "repeats") == "the same question got the same answer, 146 times"


def test_looks_that_depend_on_noise() -> None:
    """A group is shown from a noisy count on: allowed, and held against the claim."""

    def shown(data: int) -> list[str]:
        return ["A"] if laplace(data) > 3 else []

    found = checked(shown, repeats=100)
    assert verdict(found, "look") == INCONCLUSIVE
    assert "2 looks on one data set, 2 on the other" in says(found, "look")
    found = checked(shown, claim=Claim(epsilon=2), repeats=400)
    assert verdict(found, "look") == CONSISTENT, str(found)
    assert "could have been shown; the claim is 2" in says(found, "look")
    assert verdict(checked(shown, claim=Claim(epsilon=1), repeats=20), "look") == INCONCLUSIVE
    bare = checked(lambda data: ["A"] if data > 3 else [], claim=Claim(epsilon=1), repeats=400)
    assert verdict(bare, "look") == VIOLATED
    figures = bare.checks[0].figures
    assert figures["bound"] == figures["ceiling"] > 2  # type: ignore[operator]


def test_odds_that_noise_has_for_two_constant_looks() -> None:
    """P[one look always here, never there], the worst over p and q of a pure claim, by a grid."""
    for asked in (12, 20, 60, 400):
        epsilon = _explains(asked)
        worst = max(
            (p * (1 - q)) ** (asked - 1)
            for p, q in product(np.linspace(0, 1, 401), repeat=2)
            if p <= math.exp(epsilon) * q + 1e-12
        )
        assert 2 * worst <= 1e-6 * 1.0001
    assert _explains(5) == 0


def test_a_look_is_all_but_the_numbers() -> None:
    frame = pd.DataFrame({"ward": ["A"], "n": [1]})
    pairs = [
        (1, 2), (1.5, -2.5), ("12 people", "-3.5e7 people"), (b"n=1", b"n=22"), ([1, "x"], [7, "x"]),
        ({"a": 1}, {"a": 2}), ({1, 2}, {3, 4}), (np.array([1.0]), np.array([2.0])), (frame, frame * 2),
        ({(1, 2): 1}, {(1, 3): 1}), (object(), object()),
    ]  # fmt: skip
    assert all(look(one) == look(two) for one, two in pairs if not isinstance(one, pd.DataFrame))
    assert look(frame) == look(frame.assign(n=5))
    different = [
        (1, 1.0), (1, True), (None, 0), ("a", "b"), (b"a", "a"), ([1], (1,)), ([1], [1, 1]), ({"a": 1}, {"b": 1}),
        ({1: 1}, {2: 1}), ({"a": 1, "b": 1}, {"b": 1, "a": 1}), (math.nan, 1.0), (math.inf, -math.inf),
        (np.array([1]), np.array([1.0])), (np.zeros(2), np.zeros((2, 1))), (frame, frame[["n"]]), ({1}, {1, 2.0}),
        (ValueError("a"), ValueError("b")), (ValueError("a"), KeyError("a")),
    ]  # fmt: skip
    assert all(look(one) != look(two) for one, two in different)


def test_the_same_answer() -> None:
    frame = pd.DataFrame({"n": [1]})
    one: Any = {"a": [1, math.nan, (None, "x")], "b": np.array([1.0, math.nan]), "c": frame}
    assert same(one, {"a": [1, math.nan, (None, "x")], "b": np.array([1.0, math.nan]), "c": frame.copy()})
    for a, b in [
        (1, 1.0), (0.0, -0.0), ([1], [1, 2]), ({"a": 1, "b": 2}, {"b": 2, "a": 1}), (np.zeros(1), np.zeros(2)),
        (np.zeros(1), np.zeros(1, int)), (frame, frame + 1), (frame, frame.rename(columns={"n": "m"})), ("a", "b"),
    ]:  # fmt: skip
        assert not same(a, b)
    assert sorted(map(str, leaves({"a": [1, {2}], "b": np.array([3])}))) == ["1", "2", "3", "a", "b"]


# Charges and repeats


def test_a_charge_that_depends_on_the_data() -> None:
    meter = Meter(lambda data: 0.1 * data)
    found = checked(meter.ask, charge=meter.charge)
    assert verdict(found, "charge") == VIOLATED
    assert says(found, "charge").startswith("after question 1 0.3")


def test_a_refund_after_a_failure() -> None:
    """Only one of the two fails, and what failed is not charged: the budget tells which it was."""
    meter = Meter()

    def ask(data: int) -> int:
        if data == 3:
            raise RuntimeError("the release failed")
        return meter.ask(data)

    assert verdict(checked(ask, charge=meter.charge), "charge") == VIOLATED


def test_both_sides_start_alike() -> None:
    meter = Meter()
    meter.ask(3)
    with raises_code(InvalidInputError, "not-comparable"):
        checked(meter.ask, charge=meter.charge)


def test_repeats() -> None:
    free = checked(laplace, charge=lambda _: 0.0)
    assert verdict(free, "repeats") == VIOLATED
    assert "averages the noise away" in says(free, "repeats")
    assert verdict(checked(laplace), "repeats") == INCONCLUSIVE
    stored = {data: laplace(data) for data in PAIR}
    spent = dict.fromkeys(PAIR, 0)

    def once(data: int) -> int:
        spent[data] = 1
        return stored[data]

    found = checked(once, charge=spent.get)
    assert verdict(found, "repeats") == CONSISTENT
    retry = checked(lambda data: stored[data] + SystemRandom().randrange(2), charge=lambda _: 0)
    assert verdict(retry, "repeats") == VIOLATED


# Seeds


def test_seeds() -> None:
    def seeded() -> Callable[[int], int]:
        chance = Random(1)
        return lambda data: data + chance.randrange(-5, 6)

    found = checked(laplace, start=seeded)
    assert verdict(found, "seeds") == VIOLATED
    assert "21 fresh starts give the same answer each time, and it depends on the data" in says(found, "seeds")
    assert verdict(checked(laplace, start=lambda: lambda _: "no"), "seeds") == CONSISTENT
    assert verdict(checked(laplace, start=lambda: laplace), "seeds") == CONSISTENT


def test_seeds_of_processes() -> None:
    """Hashes of texts are the same in every process that fixes their seed."""

    def start(seed: str) -> Callable[[], Callable[[int], str]]:
        def ask(data: int) -> str:
            code = f"print(hash('noise') % 1000 + {data})"
            run = subprocess.run(
                [sys.executable, "-I", "-S", "-c", code] if seed == "random" else [sys.executable, "-S", "-c", code],
                capture_output=True, text=True, check=True, env={"PYTHONHASHSEED": seed}, timeout=60,
            )  # fmt: skip
            return run.stdout

        return lambda: ask

    assert verdict(checked(laplace, start=start("1"), starts=3), "seeds") == VIOLATED
    assert verdict(checked(laplace, start=start("random"), starts=3), "seeds") == CONSISTENT


# Time


def test_time_by_a_clock_of_our_own() -> None:
    clock = Clock()

    def ask(data: int) -> int:
        clock.now += 0.001 * (data - 3)
        return 0

    found = checked(ask, clock=clock, repeats=100)
    assert verdict(found, "time") == VIOLATED
    assert says(found, "time").startswith("the second data set takes longer, by ")
    assert "odds of at most " in says(found, "time")
    assert verdict(checked(ask, (4, 3), clock=clock, repeats=100), "time") == VIOLATED
    assert says(checked(ask, (4, 3), clock=clock, repeats=100), "time").startswith("the first data set takes longer")
    within = checked(ask, clock=clock, repeats=100, margin=0.002)
    assert verdict(within, "time") == CONSISTENT
    assert says(within, "time").startswith("no difference beyond 2 ms shows in 100 questions to each side")
    assert verdict(checked(ask, clock=clock, repeats=100, margin=0.0002), "time") == VIOLATED
    few = checked(ask, clock=clock, repeats=10)
    assert verdict(few, "time") == INCONCLUSIVE
    assert "can never show a difference" in says(few, "time")


def test_the_number_of_blocks_is_fixed_by_the_time_there_is() -> None:
    found = checked(lambda _: 0, seconds=0.5, repeats=10_000)
    figures = next(check.figures for check in found.checks if check.name == "time")
    assert 10 < figures["blocks"] < 200  # type: ignore[operator]
    few = checked(lambda _: 0, seconds=0.001)
    assert next(check.figures for check in few.checks if check.name == "time")["blocks"] == 2


def test_false_alarms_of_signed_ranks_by_enumeration() -> None:
    """All 2**14 signs of 14 differences: for every rate the share of alarms is at most the rate."""
    sizes = np.array([0.3, 5, 0.1, 9, 2, 7, 100, 0.7, 3, 1, 4, 0.2, 6, 8])
    signs = np.array(list(product((-1.0, 1.0), repeat=14)))
    odds = np.minimum(_odds(signs * sizes), _odds(-signs * sizes))
    assert odds.min() < 0.02
    for rate in np.unique(odds):
        assert np.mean(odds <= rate) <= rate
    assert np.mean(odds <= 0.05) > 0.003  # a tenth of the rate: the price of a bound that needs no approximation


def test_power_is_what_is_said() -> None:
    """At the stated differences about nine of ten experiments raise the alarm, at a quarter of them hardly any."""
    chance = np.random.default_rng()

    def blocks(*size: int) -> Any:
        return chance.exponential(1e-3, size) - chance.exponential(1e-3, size)

    many, power, little = blocks(1000, 60), [], []
    for _ in range(20):
        seen = compare(blocks(60), 1e-4).seen
        assert seen is not None
        power.append(np.mean(_odds(many + seen) <= 1e-4))
        little.append(np.mean(_odds(many + seen / 4) <= 1e-4))
    assert 0.6 < np.mean(power) < 0.99  # 0.86 on average, 0.03 off: one set of blocks does not tell all about noise
    assert np.mean(little) < 0.2
    assert compare(np.zeros(100), 1e-4).seen == pytest.approx(0, abs=1e-8)


def test_times_in_words() -> None:
    assert [in_words(t) for t in (2.0, 0.0123, 4.5e-6, -0.5)] == ["2 s", "12.3 ms", "4.5 µs", "-500 ms"]


# Settings


@pytest.mark.parametrize(
    "more",
    [{"ask": 1}, {"neighbors": [3, 4]}, {"neighbors": (1, 2, 3)}, {"claim": 1}, {"repeats": 1}, {"repeats": "x"},
     {"rate": "x"}, {"start": lambda: laplace, "starts": 1}],
)  # fmt: skip
def test_bad_settings(more: dict[str, Any]) -> None:
    given = {"ask": laplace, "neighbors": PAIR, "repeats": 5, "clock": Clock(), **more}
    with pytest.raises(InvalidInputError):
        side_channels(given.pop("ask"), given.pop("neighbors"), **given)


# A server


class Handler(BaseHTTPRequestHandler):
    """One path for each way to leak who is in the table."""

    def do_GET(self) -> None:
        _, leak, data = self.path.split("/")
        people = int(data)
        if leak == "status" and people == 4:
            self.send_error(418)
            return
        if leak == "time" and people == 4:
            time.sleep(0.05)
        body = f'{{"n": {laplace(people)}}}'.encode() + b" " * (people if leak == "length" else 0)
        self.send_response(200, "Found 4" if leak == "text" and people == 4 else None)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nothing is printed."""


@contextmanager
def server() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as made:
        thread = threading.Thread(target=made.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{made.server_port}"
        made.shutdown()
        thread.join()


def test_a_server_on_this_machine() -> None:
    """Status, text of the status, length of the body and time; an honest path is left alone.

    Its time is compared with a margin of 40 ms at a rate of 1e-9: no pause of the machine repeats itself on one side.
    """
    with server() as address:

        def asker(leak: str) -> Callable[[int], Any]:
            def ask(data: int) -> Any:
                try:
                    with urllib.request.urlopen(f"{address}/{leak}/{data}", timeout=60) as reply:
                        return reply.status, reply.reason, reply.read()
                except urllib.error.HTTPError as error:
                    with error:
                        return error.code, error.reason, b""

            return ask

        for leak in ("status", "text", "length"):
            found = side_channels(asker(leak), PAIR, repeats=20)
            assert verdict(found, "look") == VIOLATED, leak
        honest = side_channels(asker("none"), PAIR, repeats=60, rate=1e-9, margin=0.04)
        assert verdict(honest, "look") == verdict(honest, "time") == CONSISTENT, str(honest)
        slow = side_channels(asker("time"), PAIR, repeats=60)
        assert verdict(slow, "time") == VIOLATED, str(slow)

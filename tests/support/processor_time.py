"""Processor time of every test and its child processes, summed per room beside a budget. It never fails a run.

It measures processor time, not time by the clock, because a busy machine takes longer but does no more work.

tests/slow.txt lists the tests that are too slow for `make quick`. To write it again, run `make test` with
PRIVET_TEST_TIMES=times.json, then `python tests/support/processor_time.py times.json`.
"""

from __future__ import annotations

import json
import os
import sys
import time
import tomllib
from collections import defaultdict
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePath

import pytest

try:
    import resource
except ImportError:  # Windows does not count children
    resource = None  # type: ignore[assignment]

TESTS = Path(__file__).resolve().parent.parent
BUDGET, SLOW = TESTS / "budget.toml", TESTS / "slow.txt"
PROPERTY = "processor seconds"
LEFT_OUT = "tests left out"
STARTING = "start-up and collection"
NO_ROOM = "in no room"
IN_COVER = " and not covered"  # what CI adds to `make test`
LONG = 0.5  # seconds of one test that are too many for `make quick`
LONG_IN_ALL = 2.0  # the same for all tests of one function


@dataclass(frozen=True, slots=True)
class Room:
    name: str
    minutes: float
    folders: tuple[str, ...]
    trusted: bool = False


@dataclass(frozen=True, slots=True)
class Tier:
    name: str
    minutes: float
    select: str


@cache
def budget() -> tuple[tuple[Room, ...], tuple[Tier, ...]]:
    read = tomllib.loads(BUDGET.read_text(encoding="utf-8"))
    rooms = (Room(name, **{**given, "folders": tuple(given["folders"])}) for name, given in read["rooms"].items())
    return tuple(rooms), tuple(Tier(name, **given) for name, given in read["tiers"].items())


def room_of(nodeid: str) -> Room | None:
    """The room of tests/attacks/tables/test_encode.py::test_one is that of the folder `attacks`."""
    folder = folder_of(nodeid)
    return next((room for room in budget()[0] if folder in room.folders), None)


def folder_of(nodeid: str) -> str | None:
    """The folder in tests/ that a test stands in; `.` if it stands directly there."""
    match nodeid.partition("::")[0].split("/"):
        case ["tests", _]:
            return "."
        case ["tests", folder, *_]:
            return folder
    return None


def function_of(nodeid: str) -> str:
    """File and function, without a class or parameters: test_ledger.py::test_one."""
    path, _, rest = nodeid.partition("::")
    return f"{PurePath(path).name}::{rest.partition('[')[0].rpartition('::')[2]}"


@cache
def slow_functions() -> frozenset[str]:
    return frozenset(SLOW.read_text(encoding="utf-8").split())


def found_slow(tests: Mapping[str, float]) -> list[str]:
    """The functions that took too long for `make quick`."""
    longest: dict[str, float] = defaultdict(float)
    sums: dict[str, float] = defaultdict(float)
    for nodeid, used in tests.items():
        name = function_of(nodeid)
        longest[name], sums[name] = max(longest[name], used), sums[name] + used
    return sorted(name for name, used in sums.items() if longest[name] >= LONG or used >= LONG_IN_ALL)


def seconds_used() -> float:
    """Processor seconds of this process and of the children that it has waited for."""
    own = time.process_time()
    if resource is None:
        return own
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return own + children.ru_utime + children.ru_stime


class Meter:
    """Reads what was used since the last reading, in each process that runs tests; adds up where reports arrive."""

    def __init__(self, select: str) -> None:
        self.select, self.read, self.starting = select, 0.0, 0.0
        self.tests: dict[str, float] = defaultdict(float)
        self.left_out: dict[str, int] = defaultdict(int)

    def since(self) -> float:
        now = seconds_used()
        used, self.read = now - self.read, now
        return used

    def pytest_deselected(self, items: list[pytest.Item]) -> None:
        for item in items:
            self.left_out["proof" if item.get_closest_marker("proof") else "other"] += 1

    def pytest_collection_finish(self) -> None:
        self.starting += self.since()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        report.user_properties.append((PROPERTY, self.since()))
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.tests[report.nodeid] += sum(
            float(str(value)) for name, value in report.user_properties if name == PROPERTY
        )

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        output = getattr(session.config, "workeroutput", None)
        if output is not None:
            output[PROPERTY], output[LEFT_OUT] = self.starting, dict(self.left_out)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: object) -> None:
        output = getattr(node, "workeroutput", {})
        self.starting += output.get(PROPERTY, 0.0)
        self.left_out.update(output.get(LEFT_OUT, {}))  # the same in every worker

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
        if hasattr(config, "workerinput"):  # a worker has its own tests only
            return
        for line in (*table(self.tests, self.starting, self.select), *left_out(self.left_out, self.select)):
            terminalreporter.write_line(line)
        if path := os.environ.get("PRIVET_TEST_TIMES"):
            Path(path).write_text(json.dumps({STARTING: self.starting, **self.tests}, indent=0))


def table(tests: Mapping[str, float], starting: float, select: str) -> list[str]:
    """One line per room and one for the total. Rooms over their budget are marked. Empty for fewer than 100 tests."""
    if len(tests) < 100:
        return []
    rooms, tiers = budget()
    tier = next((tier for tier in tiers if tier.select == select.removesuffix(IN_COVER)), None)
    sums: dict[str, float] = defaultdict(float)
    for nodeid, used in tests.items():
        room = room_of(nodeid)
        sums[room.name if room else NO_ROOM] += used
    whole = tier is not None and tier.name == "test"  # rooms have their budgets there
    lines = ["minutes of processor time" + (" (budget)" if whole else "")]
    lines += [_line(room.name, sums[room.name], room.minutes if whole else None) for room in rooms if sums[room.name]]
    lines += [_line(NO_ROOM, sums[NO_ROOM], None)] if sums[NO_ROOM] else []
    lines += [_line(STARTING, starting, None)]
    return [*lines, _line("total", sum(sums.values()) + starting, tier.minutes if tier else None)]


def _line(name: str, seconds: float, minutes: float | None) -> str:
    used = seconds / 60
    beside = "" if minutes is None else f" ({minutes:.2f})" + ("  OVER" if used > minutes else "")
    return f"  {name:<28}{used:6.2f}{beside}"


def left_out(counts: Mapping[str, int], select: str) -> list[str]:
    """What a tier did not run, and how to run it."""
    if not select or not any(counts.values()):
        return []
    proofs, others = counts.get("proof", 0), counts.get("other", 0)
    lines = [_left_out(proofs, "proof", "make proofs")] if proofs else []
    lines += (
        [_left_out(others, "other test", f"make {'cover' if select.endswith(IN_COVER) else 'test'}")] if others else []
    )
    return [*lines, "coverage was not measured (measure it with `make cover`)"] if select == "not proof" else lines


def _left_out(number: int, what: str, command: str) -> str:
    them = "it" if number == 1 else "them"
    return f"left out: {number:,} {what}{'' if number == 1 else 's'} (run {them} with `{command}`)"


if __name__ == "__main__":
    times = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    SLOW.write_text("\n".join(found_slow({name: used for name, used in times.items() if "::" in name})) + "\n")

"""The tiers leave nothing out: every folder has a room, every tier its command, and what a run says adds up."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator

import pytest
from conftest import pytest_collection_modifyitems
from support.places import ROOT, TESTS
from support.processor_time import (
    IN_COVER,
    LEFT_OUT,
    PROPERTY,
    STARTING,
    Meter,
    budget,
    folder_of,
    found_slow,
    left_out,
    room_of,
    seconds_used,
    slow_functions,
    table,
)

ROOMS, TIERS = budget()


def test_every_folder_is_in_one_room() -> None:
    there = {folder_of(path.relative_to(ROOT).as_posix()) for path in TESTS.rglob("test_*.py")}
    assert sorted(there) == sorted(folder for room in ROOMS for folder in room.folders)


def test_a_test_has_the_room_of_its_folder() -> None:
    assert room_of("tests/ledger/test_ledger.py::test_one[a/b]") is room_of("tests/ledger/test_other.py")
    assert folder_of("tests/attacks/tables/test_encode.py::test_one") == "attacks"
    assert folder_of("tests/test_engine.py::test_one") == "."
    assert room_of("elsewhere/test_nothing_of_ours.py::test_one") is None
    assert room_of("test_nothing_of_ours.py::test_one") is None


def test_the_makefile_runs_the_tiers_as_they_are_written_down() -> None:
    makefile = (ROOT / "Makefile").read_text()
    for tier in TIERS:
        recipe = re.search(rf"^{tier.name}:.*\n((?:\t.*\n)+)", makefile, re.MULTILINE)
        assert recipe is not None, tier.name
        in_ci = "$(IN_COVER)" if tier.name == "test" else ""
        assert f'-m "{tier.select}{in_ci}"' in recipe[1], tier.name
    assert f"$(CI)),{IN_COVER})" in makefile


def test_continuous_integration_runs_all_but_the_quick_one() -> None:
    steps = (ROOT / ".ci" / "run").read_text()
    for tier in TIERS:
        found = re.search(rf'^step "{tier.name}" ([0-9.]+) ', steps, re.MULTILINE)
        assert (found is None) == (tier.name == "quick")
        assert found is None or float(found[1]) == tier.minutes


def test_continuous_integration_tells_what_each_step_used_also_where_one_fails() -> None:
    step = re.search(r"^notes=.*?^}", (ROOT / ".ci" / "run").read_text(), re.MULTILINE | re.DOTALL)
    assert step is not None
    script = f"set -euo pipefail\n{step[0]}\nstep busy 0 {sys.executable} -c pass\nstep bad 3 false\nstep never 3 true"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    busy, bad = done.stdout.splitlines()
    assert re.fullmatch(r"busy +0\.\d\d minutes of processor time \(budget 0\.0\)  OVER", busy)
    assert re.fullmatch(r"bad +0\.00 minutes of processor time \(budget 3\.0\)", bad)


def test_most_slow_tests_are_there() -> None:
    """A slow test that was renamed only runs too often. If many were renamed, write the list again."""
    texts = {path.name: path.read_text() for path in TESTS.rglob("test_*.py")}
    names = [name.partition("::") for name in slow_functions()]
    gone = [f"{path}::{name}" for path, _, name in names if f"def {name}(" not in texts.get(path, "")]
    assert len(gone) <= len(names) / 10, gone


def test_long_tests_are_found_slow() -> None:
    times = {
        "tests/test_a.py::test_one": 0.6,
        "tests/test_a.py::A::test_two[x::y[0]]": 0.1,
        "tests/test_b.py::test_one": 0.1,
    }
    assert found_slow(times) == ["test_a.py::test_one"]
    many = {f"tests/test_a.py::A::test_two[{n}]": 0.1 for n in range(30)}
    assert found_slow(times | many) == ["test_a.py::test_one", "test_a.py::test_two"]


def test_markers_are_declared() -> None:
    markers = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]["markers"]
    assert {"counted", "covered", "proof", "slow"} <= {marker.partition(":")[0] for marker in markers}


class Item:
    fixturenames = ("monkeypatch",)

    def __init__(self, nodeid: str, *marks: str) -> None:
        self.nodeid, self.originalname, self.marks = nodeid, nodeid.partition("::")[2], list(marks)

    def add_marker(self, mark: pytest.MarkDecorator) -> None:
        self.marks.append(mark.name)

    def iter_markers(self) -> Iterator[pytest.MarkDecorator]:
        return (getattr(pytest.mark, name) for name in self.marks)


def test_planted_bugs_are_proofs_by_their_names() -> None:
    items = [Item(f"tests/{room}/test_one.py::test_a_bug_is_noticed") for room in ("ledger", "cli")]
    pytest_collection_modifyitems(items)  # type: ignore[arg-type]
    assert [item.marks for item in items] == [["proof"], ["proof"]]


def test_lines_are_counted_by_tests_of_trusted_rooms_that_are_quick_or_needed() -> None:
    marks = [(), ("slow",), ("slow", "counted"), ("proof",)]
    items = [Item("tests/ledger/test_ledger.py::test_one", *given) for given in marks]
    items += [Item("tests/cli/test_cli.py::test_one")]
    pytest_collection_modifyitems(items)  # type: ignore[arg-type]
    assert ["covered" in item.marks for item in items] == [True, False, True, False, False]


def test_what_is_over_its_budget_is_named() -> None:
    tests = {f"tests/ledger/test_ledger.py::test_{n}": 6.0 for n in range(100)}
    tests |= {"tests/new/test_new.py::test_one": 60.0}
    lines = table(tests, 30.0, "not proof")
    assert lines[0] == "minutes of processor time (budget)"
    assert next(line for line in lines if "ledger" in line).endswith("OVER")
    assert f"  {'in no room':<28}  1.00" in lines
    assert f"  {STARTING:<28}  0.50" in lines
    assert lines[-1] == f"  {'total':<28} 11.50 (9.00)  OVER"
    assert not any("OVER" in line for line in table(tests, 30.0, "")), "no tier, no budget"
    assert table(dict(list(tests.items())[:5]), 1.0, "not proof") == []


def test_what_was_left_out_is_said_with_how_to_run_it() -> None:
    assert left_out({"proof": 1234}, "not proof") == [
        "left out: 1,234 proofs (run them with `make proofs`)",
        "coverage was not measured (measure it with `make cover`)",
    ]
    assert left_out({"proof": 1, "other": 2}, "not proof and not slow") == [
        "left out: 1 proof (run it with `make proofs`)",
        "left out: 2 other tests (run them with `make test`)",
    ]
    assert left_out({"other": 3}, "not proof and not covered") == [
        "left out: 3 other tests (run them with `make cover`)"
    ]
    assert left_out({"other": 5}, "") == left_out({}, "not proof") == []


def test_processor_time_is_read_from_reports_and_workers() -> None:
    meter = Meter("proof")
    begun = seconds_used()
    assert begun <= meter.since() <= seconds_used()
    for used in (1.5, 0.25):
        report = pytest.TestReport("tests/test_a.py::b", ("", 0, ""), {}, "passed", None, "call")
        report.user_properties = [(PROPERTY, used), ("other", "x")]
        meter.pytest_runtest_logreport(report)
    assert meter.tests == {"tests/test_a.py::b": 1.75}

    class Node:
        workeroutput = {PROPERTY: 2.0, LEFT_OUT: {"proof": 7}}  # noqa: RUF012

    meter.pytest_testnodedown(Node())
    meter.pytest_testnodedown(Node())
    assert (meter.starting, meter.left_out) == (4.0, {"proof": 7})

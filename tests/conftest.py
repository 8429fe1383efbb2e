"""Settings for the whole suite."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers
from support.processor_time import Meter, function_of, room_of, slow_functions

IN_CI = os.environ.get("CI") == "true"

# The same examples in every run. Hypothesis also tries constants of the modules that happen to be loaded,
# which depends on the tests that ran before in the same process; and it fails a test whose examples take long to draw.
settings.register_profile(
    "repeatable",
    derandomize=True,
    deadline=None,
    max_examples=300,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("repeatable")
providers.is_local_module_file = lambda _path: False  # tests/design/test_repeatable.py fails if this does nothing


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Meter(config.option.markexpr), "processor-time")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that plant bugs are proofs. tests/slow.txt lists slow tests. Tests of trusted rooms count lines."""
    for item in items:
        name, fixtures = getattr(item, "originalname", None) or "", getattr(item, "fixturenames", ())
        if "monkeypatch" in fixtures and name.endswith(("_found", "_noticed", "_caught")):
            item.add_marker(pytest.mark.proof)
        if function_of(item.nodeid) in slow_functions():
            item.add_marker(pytest.mark.slow)
        room, marked = room_of(item.nodeid), {mark.name for mark in item.iter_markers()}
        trusted = room is not None and room.trusted
        if trusted and "proof" not in marked and ("counted" in marked or "slow" not in marked):
            item.add_marker(pytest.mark.covered)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    skipped = len(terminalreporter.stats.get("skipped", []))
    terminalreporter.write_line(f"skipped tests: {skipped}" + (" (in CI a skipped test is a failure)" if IN_CI else ""))


def pytest_sessionfinish(session: pytest.Session) -> None:
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if IN_CI and reporter is not None and reporter.stats.get("skipped"):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED

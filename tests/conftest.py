"""Settings for the whole suite."""

from __future__ import annotations

import os

import pytest
from hypothesis import settings

IN_CI = os.environ.get("CI") == "true"

settings.register_profile("repeatable", derandomize=True, deadline=None, max_examples=300, database=None)
settings.load_profile("repeatable")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    skipped = len(terminalreporter.stats.get("skipped", []))
    terminalreporter.write_line(f"skipped: {skipped}" + (" (a failure here: CI has every part)" if IN_CI else ""))


def pytest_sessionfinish(session: pytest.Session) -> None:
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if IN_CI and reporter is not None and reporter.stats.get("skipped"):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED

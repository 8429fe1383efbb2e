"""Settings for the whole suite."""

from __future__ import annotations

import os

import pytest
from hypothesis import settings

IN_CI = os.environ.get("CI") == "true"

settings.register_profile("repeatable", derandomize=True, deadline=None, max_examples=300, database=None)
settings.load_profile("repeatable")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests of planted bugs run code that was changed on purpose: lines that only they run are not tested."""
    for item in items:
        name, fixtures = getattr(item, "originalname", None) or "", getattr(item, "fixturenames", ())
        if "monkeypatch" in fixtures and name.endswith(("_found", "_noticed", "_caught")):
            item.add_marker(pytest.mark.no_cover)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    skipped = len(terminalreporter.stats.get("skipped", []))
    terminalreporter.write_line(f"skipped: {skipped}" + (" (a failure here: CI has every part)" if IN_CI else ""))


def pytest_sessionfinish(session: pytest.Session) -> None:
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if IN_CI and reporter is not None and reporter.stats.get("skipped"):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED

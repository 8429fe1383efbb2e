"""The pytest plugin of Privet: a fixture `assert_private` for the tests of anybody who writes private code.

pytest loads this file in every run where Privet is installed. It imports nothing of Privet until a test asks for the
fixture, so it costs nothing where it is not used.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

PROPERTY = "privet_audit"  # in the reports of a run, in junit.xml, and over the wires of pytest-xdist
SETTINGS: dict[str, tuple[Callable[[str], Any], str]] = {
    "samples": (int, "draws from each of the two data sets (100000)"),
    "confidence": (str, "that a lower bound is true; 0.999999: one false alarm in 1,000,000 audits"),
    "seconds": (float, "stop an audit after that long; the verdict may then depend on the machine"),
}
MARKER = "privet(samples, confidence, seconds, allow_inconclusive): settings of assert_private in this test"


def pytest_addoption(parser: pytest.Parser) -> None:
    for name, (_, text) in SETTINGS.items():
        parser.addini(f"privet_{name}", f"assert_private: {text}", default="")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", MARKER)


@pytest.fixture
def assert_private(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """assert_private(mechanism, epsilon=1, delta=0, neighbors=(data, neighbor)): fail if the claim is contradicted.

    The same as `privet.audits.assert_private`, with settings from the configuration (privet_samples, ...) and from
    @pytest.mark.privet(...). Returns the audit.
    """
    usual = _from_configuration(request.config) | _from_markers(request.node)

    def check(mechanism: Callable[..., Any], *claim: Any, **settings: Any) -> Any:
        __tracebackhide__ = True
        from privet.audits.assertion import NotPrivateError, assert_private  # noqa: PLC0415  see above
        from privet.errors import PrivetError  # noqa: PLC0415

        try:
            found = assert_private(mechanism, *claim, **(usual | settings))
        except NotPrivateError as failure:
            _note(request.node, failure.audit)
            raise
        except PrivetError as wrong:  # a claim or a setting that makes no sense: one line, and where it was written
            raise wrong.with_traceback(None) from None
        _note(request.node, found)
        return found

    return check


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    audits = _audits(terminalreporter)
    if audits:
        terminalreporter.write_line(summary(audits))


def summary(audits: list[dict[str, Any]]) -> str:
    """One line: how many, how many failed, how far the weakest could see, and how often such a run errs by chance."""
    count = {word: sum(one["verdict"].startswith(word) for one in audits) for word in ("violated", "inconclusive")}
    open_ = f", {count['inconclusive']} inconclusive" if count["inconclusive"] else ""
    weakest: dict[str, float] = {}
    for one in audits:
        name = one["parameter"]
        weakest[name] = min(one["ceiling"], weakest.get(name, one["ceiling"]))
    seen = ", ".join(f"{name} {int(value * 10) / 10:g}" for name, value in weakest.items())
    chance = sum(1 - one["confidence"] for one in audits)
    number = f"{len(audits)} mechanism{'' if len(audits) == 1 else 's'} audited"
    errs = f"a false alarm in 1 of {round(1 / chance):,} such runs at most" if chance < 1 else "false alarms are likely"
    return f"privet: {number}, {count['violated']} violated{open_}, up to {seen} ({errs})"


def _audits(reporter: pytest.TerminalReporter) -> list[dict[str, Any]]:
    """Of every test the longest list: set-up, call and tear-down report the same properties, one after the other."""
    found: dict[str, list[dict[str, Any]]] = {}
    for reports in reporter.stats.values():
        for report in reports:
            own = [json.loads(value) for name, value in getattr(report, "user_properties", ()) if name == PROPERTY]
            if len(own) > len(found.get(report.nodeid, ())) if own else False:
                found[report.nodeid] = own
    return [one for own in found.values() for one in own]


def _note(node: Any, found: Any) -> None:
    facts = {
        "verdict": found.verdict,
        "parameter": found.claim.parameter,
        "claimed": float(found.claim.value),
        "delta": float(found.claim.delta),
        "lower_bound": found.lower_bound,
        "ceiling": found.ceiling,
        "confidence": found.confidence,
    }
    node.user_properties.append((PROPERTY, json.dumps(facts)))


def _from_configuration(config: pytest.Config) -> dict[str, Any]:
    given = {name: config.getini(f"privet_{name}") for name in SETTINGS}
    try:
        return {name: SETTINGS[name][0](text) for name, text in given.items() if text}
    except ValueError as error:
        raise pytest.UsageError(f"privet_samples and privet_seconds are numbers: {error}") from None


def _from_markers(node: Any) -> dict[str, Any]:
    """The closest marker counts: that of the test before that of its class and module."""
    given: dict[str, Any] = {}
    for marker in reversed(list(node.iter_markers("privet"))):
        unknown = set(marker.kwargs) - {*SETTINGS, "allow_inconclusive"}
        if unknown or marker.args:
            raise pytest.UsageError(f"the marker is {MARKER}")
        given |= marker.kwargs
    return given

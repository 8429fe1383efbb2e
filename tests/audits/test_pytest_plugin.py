"""`assert_private` as somebody meets it who tests private code of their own: in a run of pytest by itself."""

from __future__ import annotations

import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from importlib.metadata import entry_points

import pytest
from support.places import ROOT
from support.refusals import raises_code

import privet as pv
from privet.errors import InvalidInputError

pytest_plugins = ["pytester"]
INSTALLED = any(entry.value == "pytest_privet" for entry in entry_points(group="pytest11"))
PLUGIN = [] if INSTALLED else ["-p", "pytest_privet"]
HEAD = """
import numpy as np
import pytest
import privet as pv

def right(data, size):
    return data + pv.noise.discrete_laplace(1, size)

def wrong(data, size):
    return data + np.random.default_rng().integers(-3, 4, size)
"""
FAST = "\n[pytest]\nprivet_samples = 20000\n"


def run(pytester: pytest.Pytester, body: str, *options: str, ini: str = FAST) -> pytest.RunResult:
    pytester.makeini(ini)
    pytester.makepyfile(HEAD + body)
    return pytester.runpytest_subprocess(*PLUGIN, "-p", "no:cacheprovider", *options)


def test_it_passes_in_silence_and_fails_with_the_paragraph(pytester: pytest.Pytester) -> None:
    result = run(
        pytester,
        """
def test_right(assert_private):
    found = assert_private(right, epsilon=1, neighbors=(0, 1))
    assert found.verdict.startswith("consistent up to")

def test_wrong(assert_private):
    assert_private(wrong, epsilon=1, neighbors=(0, 1))
""",
    )
    result.assert_outcomes(passed=1, failed=1)
    text = result.stdout.str()
    said = re.sub(r"\s*\nE\s+", " ", text)  # where lines break depends on what was found
    assert "violated: the claim of epsilon = 1, delta = 0 is false; epsilon is at least" in said
    assert "came up in" in said
    assert "0.999999): “" in said
    assert "assert_private(wrong, epsilon=1, neighbors=(0, 1))" in text  # the line of the test
    assert not re.search(r"^(.*privet.*|.*assertion)\.py:\d+", text, re.MULTILINE)  # and none of ours
    assert max(map(len, re.findall(r"^E .*", text, re.MULTILINE))) <= 160
    line = r"^privet: 2 mechanisms audited, 1 violated, up to epsilon [4-7]\.\d \(a false alarm in 1 of 500,000 such"
    assert re.search(line, text, re.MULTILINE)
    assert "such runs at most)" in text


def test_what_could_not_have_failed_fails(pytester: pytest.Pytester) -> None:
    result = run(
        pytester,
        """
def test_small(assert_private):
    assert_private(right, epsilon=9, neighbors=(0, 1))

def test_allowed(assert_private):
    assert assert_private(right, epsilon=9, neighbors=(0, 1), allow_inconclusive=True).verdict == "inconclusive"

@pytest.mark.privet(allow_inconclusive=True)
def test_marked(assert_private):
    assert_private(right, epsilon=9, neighbors=(0, 1))
""",
    )
    result.assert_outcomes(passed=2, failed=1)
    said = re.sub(r"\s*\nE\s+", " ", result.stdout.str())  # where lines break depends on the event that was found
    assert re.search(r"inconclusive: this audit can show epsilon up to [\d.]+ only", said)
    assert "A test that cannot fail counts as failed, unless allow_inconclusive=True." in said
    result.stdout.fnmatch_lines(["privet: 3 mechanisms audited, 0 violated, 3 inconclusive, up to epsilon *"])


def test_the_closest_setting_counts(pytester: pytest.Pytester) -> None:
    result = run(
        pytester,
        """
pytestmark = pytest.mark.privet(samples=5000, confidence=0.99)

def test_module(assert_private):
    found = assert_private(right, epsilon=1, neighbors=(0, 1))
    assert (found.samples, found.confidence) == (pytest.approx(5000, rel=0.1), 0.99)

@pytest.mark.privet(samples=6000)
def test_own(assert_private):
    found = assert_private(right, rho=0.5, neighbors=(0, 1))
    assert (found.samples, found.confidence) == (pytest.approx(6000, rel=0.1), 0.99)

def test_call(assert_private):
    found = assert_private(right, 1, 1e-6, (0, 1), samples=8000)
    assert (found.samples, found.claim.delta) == (pytest.approx(8000, rel=0.1), pv.audits.Claim(1, 1e-6).delta)
""",
        ini="[pytest]\nprivet_samples = 9000\nprivet_confidence = 0.9\n",
    )
    result.assert_outcomes(passed=3)
    result.stdout.fnmatch_lines(["privet: 3 mechanisms audited, 0 violated, up to epsilon *, rho * in 1 of 33 such*"])


def test_the_configuration_counts(pytester: pytest.Pytester) -> None:
    body = """
def test_it(assert_private):
    found = assert_private(right, epsilon=1, neighbors=(0, 1))
    assert (found.samples, found.confidence) == (pytest.approx(9000, rel=0.1), 0.9)
"""
    result = run(pytester, body, "-o", "privet_samples=9000", "-o", "privet_confidence=0.9")
    result.assert_outcomes(passed=1)
    result = run(pytester, body, "-o", "privet_samples=many")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*privet_samples and privet_seconds are numbers*many*"])


def test_a_wrong_marker_is_told(pytester: pytest.Pytester) -> None:
    result = run(
        pytester,
        """
@pytest.mark.privet(sample=1)
def test_it(assert_private):
    pass
""",
        "--strict-markers",
    )
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*the marker is privet(samples, confidence, seconds, allow_inconclusive)*"])


def test_bad_input_is_a_short_error(pytester: pytest.Pytester) -> None:
    result = run(
        pytester,
        """
def test_it(assert_private):
    assert_private(right, neighbors=(0, 1))
""",
    )
    result.assert_outcomes(failed=1)
    text = result.stdout.str()
    assert re.search(r"^E +privet\.errors\.InvalidInputError: .*epsilon.*\brho\b.*\bmu$", text, re.MULTILINE)
    assert "remedy: write Claim(epsilon=1)" in text
    assert "claims.py" not in text
    assert not re.search(r"^privet:", text, re.MULTILINE)


def test_audits_in_other_fixtures_and_processes_are_counted_once(pytester: pytest.Pytester) -> None:
    body = """
@pytest.fixture
def audited(assert_private):
    return assert_private(right, epsilon=1, neighbors=(0, 1))

@pytest.mark.parametrize("number", range(3))
def test_it(audited, assert_private, number):
    assert_private(right, mu=2, neighbors=(0, 1))
"""
    result = run(pytester, body, "-p", "xdist", "-n", "2")
    result.assert_outcomes(passed=3)
    result.stdout.fnmatch_lines(["privet: 6 mechanisms audited, 0 violated, up to epsilon *, mu * such runs at most)"])


def test_other_tools_find_the_numbers_in_the_junit_file(pytester: pytest.Pytester) -> None:
    body = "def test_it(assert_private):\n    assert_private(right, epsilon=1, neighbors=(0, 1))\n"
    run(pytester, body, "--junitxml", "junit.xml").assert_outcomes(passed=1)
    (found,) = ET.parse(pytester.path / "junit.xml").findall(".//property")
    assert found.get("name") == "privet_audit"
    assert '"verdict": "consistent up to' in (found.get("value") or "")


def test_a_run_without_it_knows_nothing_of_privet(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        "import sys\ndef test_it():\n    assert 'privet' not in sys.modules\n    assert 'numpy' not in sys.modules\n"
    )
    result = pytester.runpytest_subprocess(*PLUGIN, "-p", "no:cacheprovider")
    result.assert_outcomes(passed=1)
    assert not re.search(r"^privet:", result.stdout.str(), re.MULTILINE)


def test_the_summary_of_odd_runs() -> None:
    code = (
        "import pytest_privet as p; one = {'verdict': 'violated', 'parameter': 'epsilon', 'ceiling': 8.19,"
        " 'confidence': 0.5}; print(p.summary([one])); print(p.summary([one] * 2))"
    )
    lines = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    ).stdout.splitlines()
    assert lines == [
        "privet: 1 mechanism audited, 1 violated, up to epsilon 8.1 (a false alarm in 1 of 2 such runs at most)",
        "privet: 2 mechanisms audited, 2 violated, up to epsilon 8.1 (false alarms are likely)",
    ]


def test_the_plain_function() -> None:
    """The same without pytest: an AssertionError with all that was found."""

    def right(data: int, size: int) -> object:
        return data + pv.noise.discrete_laplace(1, size)

    found = pv.audits.assert_private(right, epsilon=1, neighbors=(0, 1), samples=20_000)
    assert not found.violated
    with pytest.raises(pv.audits.NotPrivateError, match=r"^violated: the claim") as caught:
        pv.audits.assert_private(right, epsilon=0.1, neighbors=(0, 1), samples=20_000)
    assert isinstance(caught.value, AssertionError)
    assert caught.value.audit.lower_bound > 0.5
    assert max(map(len, str(caught.value).split("\n"))) <= 96
    with pytest.raises(pv.audits.NotPrivateError, match=r"unless\s+allow_inconclusive=True"):
        pv.audits.assert_private(right, epsilon=9, neighbors=(0, 1), samples=20_000)
    with raises_code(InvalidInputError, "not-exactly-one: claim"):
        pv.audits.assert_private(right, neighbors=(0, 1))


def test_the_wheel_has_the_plugin() -> None:
    text = (ROOT / "pyproject.toml").read_text()
    assert '[project.entry-points.pytest11]\nprivet = "pytest_privet"' in text
    assert "src/pytest_privet.py" in text

"""`privet audit function`, `scores` and `vault` as people and pipelines meet them."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.made_audits import laplace
from support.refusals import expect_code, refused

import privet as pv
from privet import cli
from privet.cli.audit import made_pair
from privet.cli.audit import vault as audit_vault

MECHANISMS = '''
"""Functions to audit."""
import json  # a callable of another module is not listed
import numpy as np
import privet as pv
from beside import shift

LEVEL = 3

def right(data, size):
    return sum(data) + shift + pv.noise.discrete_laplace(1, size)

def wrong(data, size):
    return sum(data) + np.random.default_rng().integers(-3, 4, size)

def floats(data, size):
    return sum(data) + np.random.default_rng().laplace(0, 1, size)

def number(data, size):
    return data + pv.noise.discrete_laplace(1, size)

def people(data):
    return len({person for person, _ in data})

def answers(data):
    return float(data[0]) if len(data) == 2 else "?"
'''


@pytest.fixture
def file(tmp_path: Path) -> str:
    (tmp_path / "beside.py").write_text("shift = 0\n")
    path = tmp_path / "mechanisms.py"
    path.write_text(MECHANISMS)
    return str(path)


@pytest.fixture(autouse=True)
def _nothing_is_left(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield
    for name in ("mechanisms", "beside", "broken"):
        sys.modules.pop(name, None)


PAIR = ["--neighbors", "[1, 1]", "[1]", "--samples", "20000"]


def test_a_claim_that_holds(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["audit", "function", f"{file}:right", "--epsilon", "1", *PAIR]) == 0
    text = capsys.readouterr().out
    assert text.startswith("Nothing contradicts the claim of epsilon 1 on the pair given; a true epsilon of 1.5")
    assert "What was not tested" in text


def test_what_was_tried_and_what_was_not(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["audit", "function", f"{file}:right", "--epsilon", "1", "--samples", "2000"]
    assert cli.main([*words, "--most", "4"]) == 0
    assert "(all 2 values, all sizes up to 4)" in capsys.readouterr().out
    assert cli.main([*words, "--domain", "rows:0,1", "--pairs", "3", "--json"]) == 3
    assert json.loads(capsys.readouterr().out)["result"]["tried"]["pairs"] == 3


def test_bits_of_floats_are_ignored_when_asked(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["audit", "function", f"{file}:floats", "--epsilon", "1", "--neighbors", "[0]", "[1]", "--samples", "5000"]
    assert cli.main(words) == 1
    assert "last bits of floating-point numbers" in " ".join(capsys.readouterr().out.split())
    assert cli.main([*words, "--ignore-float-bits"]) == 0
    assert "last bits of floating-point numbers ignored" in " ".join(capsys.readouterr().out.split())


def test_a_claim_that_is_false_for_a_program(file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "audit.html"
    words = ["audit", "function", f"{file}:wrong", "--epsilon", "1", *PAIR, "--out", str(out)]
    assert cli.main([*words, "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert (told["privet"], told["kind"], told["result"]["violated"]) == (1, "audit", True)
    assert told["result"]["lower_bound"] > 1
    assert "is false" in out.read_text()
    assert cli.main(words) == 1
    assert capsys.readouterr().out.rstrip().endswith(f"The report is in {out}")


def test_too_few_draws(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["audit", "function", f"{file}:number", "--epsilon", "20", "--neighbors", "0", "1", "--samples", "2000"]
    assert cli.main(words) == 3
    assert capsys.readouterr().out.startswith("Not decided")


@pytest.mark.parametrize(
    ("name", "domain", "code"),
    [
        ("wrong", [], 1),
        ("wrong", ["--replace"], 1),
        ("wrong", ["--domain", "rows:0,1"], 1),
        ("wrong", ["--domain", "rows:0..1", "--replace"], 1),
        ("people", ["--domain", "people:a,b"], 1),
        ("answers", ["--domain", "answers:2"], 1),
    ],
)
def test_neighbors_are_searched(
    name: str, domain: list[str], code: int, file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["audit", "function", f"{file}:{name}", "--epsilon", "1", *domain, "--samples", "5000", "--json"]
    assert cli.main(words) == code
    assert json.loads(capsys.readouterr().out)["result"]["violated"]


@pytest.mark.parametrize(
    ("function", "options", "problem"),
    [
        ("right", PAIR, "syntax-error: function"),
        ("{file}", PAIR, "syntax-error: function"),
        ("{file}:", PAIR, "syntax-error: function"),
        ("missing.py:right", PAIR, "missing-file: missing"),
        ("{file}:left", PAIR, "unknown-function: 'left'"),
        ("{file}:LEVEL", PAIR, "unknown-function: 'LEVEL'"),
        ("{file}:right", ["--neighbors", "[1", "[1]"], "syntax-error: '[1' … JSON"),
        ("{file}:right", [*PAIR, "--domain", "rows:0,1"], "contradictory-options: --neighbors … --domain"),
        ("{file}:right", [*PAIR, "--replace"], "unneeded-option: --replace … --neighbors"),
        ("{file}:right", [*PAIR, "--most", "9"], "unneeded-option: --most … --neighbors"),
        ("{file}:right", ["--neighbors", "[1, 0]", "[1, 0]"], "no-variation: the two data sets … same"),
        ("{file}:right", ["--domain", "answers:2", "--most", "9"], "unknown-choice: 'answers:2'"),
        ("{file}:right", [*PAIR, "--pairs", "0"], "too-small: pairs"),
        ("{file}:right", ["--domain", "lines:1"], "unknown-choice: 'lines:1'"),
        ("{file}:right", ["--domain", "answers:2", "--replace"], "unknown-choice: 'answers:2'"),
        ("{file}:right", ["--domain", "rows:"], "unknown-choice: 'rows:'"),
        ("{file}:right", ["--domain", "rows:a..b"], "syntax-error: 'a..b'"),
        ("{file}:right", ["--domain", "rows:3..1"], "reversed-range"),
        ("{file}:right", [*PAIR, "--out", "report.pdf"], "wrong-ending: HTML"),
        ("{file}:right", [*PAIR, "--rho", "1"], "not-exactly-one: epsilon"),
        ("{file}:right", [*PAIR, "--confidence", "2"], "out-of-range: confidence"),
    ],
)
def test_bad_input_is_one_clear_line(
    function: str, options: list[str], problem: str, file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["audit", "function", function.replace("{file}", file), "--epsilon", "1", *options]
    expect_code(problem, refused(words, capsys))


def test_a_file_that_fails_is_one_clear_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "broken.py"
    path.write_text("1 / 0\n")
    words = ["audit", "function", f"{path}:f", "--epsilon", "1"]
    expect_code(f"code-fails: {path} … ZeroDivisionError: division by zero", refused(words, capsys))
    path.write_text("x = 1\n")
    expect_code("unknown-function: 'f'", refused(words, capsys))
    path.write_text("def other(data): return 1\n")
    expect_code("unknown-function: other", refused(words, capsys))


def test_help_tells_the_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    for what in ("function", "scores", "vault"):
        with pytest.raises(SystemExit):
            cli.main(["audit", what, "--help"])
        text = capsys.readouterr().out
        assert "1    violated: the claim is false" in text
        assert "3    inconclusive" in text


@pytest.fixture
def clinic(tmp_path: Path) -> Iterator[str]:
    """A vault whose data are not there: nothing of them is needed."""
    vault = pv.create(tmp_path / "clinic.privet", budget=pv.Budget(epsilon=3, delta=1e-6))
    data = tmp_path / "visits.csv"
    data.write_text("patient,age,cost,ward,city,seen,at\n")
    columns = {
        "age": pv.Integer(-10, 120), "cost": pv.Number(-50, 5, step="0.5"), "ward": pv.Category(["A", "B"]),
        "city": pv.Text(), "seen": pv.Boolean(), "at": pv.Date("2020-01-01", "2020-12-31"),
    }  # fmt: skip
    vault.add_table("visits", data, unit="patient", max_groups=2, max_rows_per_group=2, columns=columns)
    wards = tmp_path / "wards.csv"
    wards.write_text("ward,beds\n")
    kinds = {"ward": pv.Category(["A", "B"]), "beds": pv.Integer(1, 9)}
    vault.add_table("wards", wards, public=True, key="ward", columns=kinds)
    vault.close()
    for path in (data, wards):
        path.unlink()
    yield str(vault.folder)
    with pv.open(vault.folder) as again:
        assert len(list(again.ledger.entries())) == entries_of_a_new_vault(tmp_path)  # nothing was charged


def entries_of_a_new_vault(folder: Path) -> int:
    with pv.create(folder / "new.privet", budget=pv.Budget(epsilon=1)) as vault:
        return len(list(vault.ledger.entries()))


QUICK = ["--seconds", "0.5", "--releases", "1000", "--json"]


@pytest.fixture
def two_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    """The far ends and one pair of random rows, where a test is not about the search for neighbors."""
    monkeypatch.setattr(made_pair, "PAIRS", 2)


BY_WARD = "SELECT w.beds, COUNT(*) AS n FROM visits v JOIN wards w ON v.ward = w.ward GROUP BY w.beds"


def checked(words: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, dict[str, Any]]]:
    code = cli.main(words)
    told = json.loads(capsys.readouterr().out)
    assert told["kind"] == "checks"
    assert any("the real data, which were not read" in line for line in told["result"]["not_tested"])
    return code, {check["name"]: check for check in told["result"]["checks"]}


def no_clock(found: dict[str, dict[str, Any]]) -> list[str]:
    """Verdicts without that on time, which this machine may be too busy for."""
    return sorted({check["verdict"] for name, check in found.items() if name != "time"})


def test_a_question_of_a_vault_on_made_up_neighbors(clinic: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["audit", "vault", clinic, "--sql", "SELECT ward, SUM(cost) AS c FROM visits GROUP BY ward"]
    _, found = checked([*words, "--epsilon", "0.5", *QUICK], capsys)
    assert no_clock(found) == ["consistent"]
    assert {"replay, distance", "replay, charge", "released numbers", "look", "charge", "repeats"} <= set(found)
    assert found["released numbers"]["figures"]["ceiling"] > 5
    assert found["released numbers"]["figures"]["lower bound"] > 0.1  # the one who differs was found


@pytest.mark.usefixtures("two_pairs")
def test_a_price_in_rho_and_a_join(clinic: str, capsys: pytest.CaptureFixture[str]) -> None:
    _, found = checked(["audit", "vault", clinic, "--sql", BY_WARD, "--rho", "0.1", *QUICK], capsys)
    assert no_clock(found) == ["consistent"]
    assert "rho" in found["released numbers"]["says"]


@dataclass
class Stub:
    """In place of the audit, which would take a while: looks at what it is asked for, and draws once."""

    outputs: list[object] = field(default_factory=list)
    settings: dict[str, Any] = field(default_factory=dict)
    claim: Any = None

    def __call__(self, mechanism: Any, claim: object, pair: Any, **settings: Any) -> object:
        self.claim = claim
        self.outputs = [mechanism(side) for side in pair]
        self.settings = settings
        return laplace()


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch) -> Stub:
    made = Stub()
    monkeypatch.setattr("privet.audits.audit", made)
    return made


@pytest.mark.usefixtures("two_pairs")
@pytest.mark.parametrize(
    "words",
    [
        ["SELECT MEDIAN(age) AS m FROM visits", "--epsilon", "0.5"],
        ["SELECT city, COUNT(*) AS n FROM visits GROUP BY city", "--epsilon", "0.5", "--delta", "1e-8"],
    ],
)
def test_more_than_added_noise_is_released(
    words: list[str], clinic: str, stub: Stub, capsys: pytest.CaptureFixture[str]
) -> None:
    """A choice, and keys that are not public: the whole release is what is counted."""
    _, found = checked(["audit", "vault", clinic, "--sql", *words, *QUICK], capsys)
    assert found["released numbers"]["figures"] == {"lower bound": 0.955, "ceiling": 8.417}
    assert stub.settings["batch"] is False
    assert stub.settings["samples"] == 1000
    assert all(isinstance(noisy, tuple) and isinstance(keys, tuple) for noisy, keys in stub.outputs)  # type: ignore[misc]
    assert ("replay, keys" in found) == ("city" in words[0])


@pytest.mark.usefixtures("two_pairs")
def test_numbers_too_far_apart_to_draw_are_released(
    clinic: str, stub: Stub, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(audit_vault, "FARTHEST", 2)
    sql = "SELECT SUM(cost) AS c FROM visits"
    checked(["audit", "vault", clinic, "--sql", sql, "--epsilon", "0.5", *QUICK], capsys)
    assert stub.settings["batch"] is False


@pytest.mark.usefixtures("two_pairs")
def test_a_rho_with_a_delta_is_audited_as_the_epsilon_that_is_booked(
    clinic: str, stub: Stub, capsys: pytest.CaptureFixture[str]
) -> None:
    sql = "SELECT city, COUNT(*) AS n FROM visits GROUP BY city"
    checked(["audit", "vault", clinic, "--sql", sql, "--rho", "0.1", "--delta", "1e-8", *QUICK], capsys)
    assert stub.claim.parameter == "epsilon"
    assert stub.claim.delta == Fraction(1, 10**8)
    assert 1 < stub.claim.value < 0.1 + 2 * math.sqrt(0.1 * math.log(1e8))


@pytest.mark.usefixtures("two_pairs")
def test_a_question_that_nobody_changes_is_inconclusive(clinic: str, capsys: pytest.CaptureFixture[str]) -> None:
    sql = "SELECT COUNT(*) AS n FROM visits WHERE age < -10"
    code, found = checked(["audit", "vault", clinic, "--sql", sql, "--epsilon", "0.5", *QUICK], capsys)
    assert found["released numbers"]["says"] == "no made-up person changes a number of this question"
    assert code in (1, 3)


@pytest.mark.usefixtures("two_pairs")
def test_rows_as_units_under_replace(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pv.create(tmp_path / "rows.privet", budget=pv.Budget(epsilon=3), neighbors="replace") as vault:
        (tmp_path / "t.csv").write_text("x,id\n")
        columns = {"x": pv.Integer(0, 9), "id": pv.Integer(1, 50)}
        vault.add_table("t", tmp_path / "t.csv", unit=None, columns=columns)
        vault.add_table("other", tmp_path / "t.csv", unit=None, columns=columns)
    words = ["audit", "vault", str(vault.folder), "--sql", "SELECT SUM(x) AS s FROM t", "--epsilon", "1", *QUICK]
    _, found = checked(words, capsys)
    assert no_clock(found) == ["consistent"]
    assert found["released numbers"]["figures"]["lower bound"] > 0.8  # 9 in place of 0 uses all that was paid for


@pytest.mark.usefixtures("two_pairs")
def test_people_with_declared_names(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pv.create(tmp_path / "named.privet", budget=pv.Budget(epsilon=3)) as vault:
        (tmp_path / "t.csv").write_text("id\n")
        vault.add_table("t", tmp_path / "t.csv", unit="id", columns={"id": pv.Integer(1, 9)}, max_rows=3)
    words = ["audit", "vault", str(vault.folder), "--sql", "SELECT COUNT(*) AS n FROM t", "--epsilon", "1", *QUICK]
    _, found = checked(words, capsys)
    assert no_clock(found) == ["consistent"]
    assert found["released numbers"]["figures"]["lower bound"] > 0.8


def test_the_folder_of_made_up_vaults(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(made_pair, "MEMORY", tmp_path)
    assert made_pair._quick_folder() == str(tmp_path)
    monkeypatch.setattr(made_pair, "MEMORY", tmp_path / "missing")
    assert made_pair._quick_folder() is None


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--seconds", "0"], "not-positive: seconds … above 0"),
        (["--releases", "9"], "too-few: 9 releases"),
        (["--out", "report.txt"], "wrong-ending: HTML"),
        (["--rho", "1"], "several-prices"),
    ],
)
def test_bad_input_about_a_vault(
    options: list[str], problem: str, clinic: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["audit", "vault", clinic, "--sql", "SELECT COUNT(*) AS n FROM visits", "--epsilon", "1", *options]
    expect_code(problem, refused(words, capsys))


@pytest.fixture
def scores(tmp_path: Path) -> str:
    """A model that remembers half of its canaries well."""
    generator = np.random.default_rng(5)
    lines = ["name,score,included"]
    for number in range(400):
        inside = bool(generator.integers(2))
        lines.append(f"c{number},{generator.normal() + 6 * inside},{'yes' if inside else '0'}")
    path = tmp_path / "scores.csv"
    path.write_text("\n".join(lines) + "\n")
    return str(path)


@pytest.mark.parametrize("runs", ["one", "many"])
def test_scores_of_canaries(runs: str, scores: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "scores.html"
    words = ["audit", "scores", scores, "--runs", runs, "--out", str(out), "--json"]
    assert cli.main([*words, "--epsilon", "0.5"]) == 1
    told = json.loads(capsys.readouterr().out)["result"]
    assert (told["violated"], told["confidence"]) == (True, 0.99)
    assert ("guesses were right" in out.read_text()) == (runs == "one")
    assert cli.main([*words, "--epsilon", "30", "--confidence", "0.999"]) == 3


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "wrong-columns: column score"),
        ("score\n1\n", "wrong-columns: column included"),
        ("score,included\n1,1\nmuch,0\n", "not-a-number: 3 … 'much'"),
        ("score,included\n1,1\n2\n", "not-binary: 3 … ''"),
        ("score,included\n1,1\n2,maybe\n", "not-binary: 3 … 'maybe'"),
        ("score,included\n\n1,1\n", "wrong-shape: least 2 numbers"),
    ],
)
def test_bad_scores_are_one_clear_line(
    text: str, problem: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "bad.csv"
    path.write_text(text)
    expect_code(problem, refused(["audit", "scores", str(path), "--runs", "many", "--epsilon", "1"], capsys))
    expect_code(
        "unreadable-file",
        refused(["audit", "scores", "none.csv", "--runs", "one", "--epsilon", "1"], capsys),
    )

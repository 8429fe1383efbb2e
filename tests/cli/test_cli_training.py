"""`privet audit training`. What is violated here is so by design, and seeds are fixed: nothing is left to chance."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.refusals import refused

from privet import cli

CODE = """
import numpy as np
from privet.learn import StandardScaler

class Lookup:
    def __init__(self, X, units=None):
        self.rows, self.people = {tuple(row) for row in X.tolist()}, units

def remember(X, y=None, units=None):
    return Lookup(X, units)

def constant(X, y):
    return lambda rows: np.full(len(rows), y[0])

def persons(X, y, units):
    return constant(X, y)

def scaled(X):
    return StandardScaler(epsilon=1, bounds=(0, 1)).fit(X)

def broken(X, y):
    raise ValueError("private")

def score(model, rows, labels):
    return [tuple(row) in model.rows for row in rows.tolist()]
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("train.py").write_text(CODE)
    draw = np.random.default_rng(0)
    rows = [(f"{a:.3f}", f"{b:.3f}") for a, b in draw.random((20, 2))]
    known = [f"p{at // 2},{a},{b},{'yes' if a > b else 'no'},{at % 2}" for at, (a, b) in enumerate(rows)]
    Path("people.csv").write_text("\n".join(["who,a,b,answer,number", *known]) + "\n")
    Path("rows.csv").write_text("\n".join(["a,b", *map(",".join, rows)]) + "\n")
    Path("gap.csv").write_text("a,answer\n1,yes\n2,\n3,no\n")


def words(function: str, *more: str) -> list[str]:
    return ["audit", "training", f"train.py:{function}", "--epsilon", "1", *more]


LABELED = ("--data", "people.csv", "--label", "answer", "--unit", "who")


def told(capsys: pytest.CaptureFixture[str], code: int, *given: str) -> dict[str, Any]:
    assert cli.main([*words(*given), "--json"]) == code
    result: dict[str, Any] = json.loads(capsys.readouterr().out)["result"]
    return result


@pytest.mark.usefixtures("here")
def test_a_training_that_remembers_is_violated(capsys: pytest.CaptureFixture[str]) -> None:
    more = ("--score", "train.py:score", "--neighbors", "replace", "--out", "r.html")
    found = told(capsys, 1, "remember", *LABELED, *more)
    assert (found["violated"], found["neighbors"], found["people"], found["records"]) == (True, "replace", True, 20)
    assert [one["kind"] for one in found["kinds"]] == ["mislabeled", "corner", "repeated"]
    assert "a person with 4 rows" in found["kinds"][2]["words"]
    assert "The canaries" in Path("r.html").read_text()


@pytest.mark.usefixtures("here")
def test_nothing_is_seen_of_a_constant(capsys: pytest.CaptureFixture[str]) -> None:
    given = ("--range", "a=0..1", "--range", "b=0..2", "--classes", "yes,no", "--rows", "3", "--canaries", "150")
    assert cli.main(words("persons", *LABELED, *given, "--range", "number=0..1")) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "Every canary is a valid record: columns as declared, labels as declared." in text
    found = told(capsys, 3, "persons", *LABELED, "--canaries", "1", "--runs", "20", "--kinds", "repeated, corner")
    assert [one["kind"] for one in found["kinds"]] == ["corner", "repeated"]
    assert (found["trainings"], found["lower_bound"]) == (40, 0)


@pytest.mark.usefixtures("here")
def test_rows_without_labels(capsys: pytest.CaptureFixture[str]) -> None:
    """A learner of ours: it is flagged once in 10^7."""
    found = told(capsys, 0, "scaled", "--data", "rows.csv", "--canaries", "60", "--confidence", "0.9999999")
    assert found["valid"] == "Every canary is a valid record: columns as in the data"
    number = told(capsys, 0, "constant", "--data", "people.csv", "--label", "number", "--classes", "0,1,2")
    assert number["valid"].endswith("labels as declared")


REFUSED = [
    ("remember", ("--data", "none.csv"), "missing-file|unreadable-file"),
    ("remember", ("--data", "people.csv", "--label", "nosuch"), "unknown-column"),
    ("remember", ("--data", "gap.csv", "--label", "answer"), "missing-value"),
    ("remember", ("--data", "gap.csv", "--label", "answer", "--unit", "a"), "missing-value|empty"),
    ("remember", (*LABELED, "--range", "c=0..1"), "unknown-column"),
    ("remember", (*LABELED, "--range", "a=0-1"), "syntax-error"),
    ("constant", LABELED, "not-supported"),
    ("constant", ("--data", "people.csv", "--label", "number", "--classes", "yes"), "wrong-type"),
    ("broken", LABELED[:4], "code-fails"),
    ("nosuch", LABELED, "unknown-function"),
    ("remember", (*LABELED, "--kinds", "nosuch"), "unknown-choice"),
]


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(("function", "more", "code"), REFUSED)
def test_what_cannot_be_audited_is_refused(
    function: str, more: tuple[str, ...], code: str, capsys: pytest.CaptureFixture[str]
) -> None:
    error = refused(words(function, *more), capsys)
    assert error.code in code.split("|")
    assert "private" not in str(error)

"""`privet attack versions`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.refusals import expect_code, refused

from privet import cli

CODE = """
import numpy as np
from privet.attacks import Stacked

def fit(X, y, seed):
    return Stacked(hidden=(32,), epochs=60, batch=20, rate=0.01).fit(X, y, seed=seed)

def broken(X, y):
    return X @ 1

def early(X):
    return np.full(len(X), "yes")

def late(X):
    return np.where(X[:, 0] > 0, "yes", "no")
"""
HEAD = "a,b,c,d,e,f,g,h,answer"


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    """The later version has 30 records more, without 5 of the earlier one, in another order."""
    draw = np.random.default_rng(0)
    rows = draw.normal(size=(355, 8)).round(3)
    classes = np.where(rows[:, 0] + 2 * draw.normal(size=355) > 0, "yes", "no")
    lines = [",".join(map(str, [*row, label])) for row, label in zip(rows.tolist(), classes, strict=True)]
    parts = {"before": lines[:65], "after": lines[94:4:-1], "others": lines[95:]}
    for name, part in parts.items():
        (tmp_path / f"{name}.csv").write_text("\n".join([HEAD, *part]) + "\n")
    (tmp_path / "train.py").write_text(CODE)
    return {name: str(tmp_path / name) for name in ("train.py", "before.csv", "after.csv", "others.csv", "kept")}


def words(files: dict[str, str], *more: str) -> list[str]:
    where = [word for name in ("before", "after", "others") for word in (f"--{name}", files[f"{name}.csv"])]
    start = ["attack", "versions", f"{files['train.py']}:fit", *where, "--label", "answer"]
    return [*start, "--shadows", "4", "--models", "1", *more]


def told(files: dict[str, str], capsys: pytest.CaptureFixture[str], code: int, *more: str) -> dict[str, Any]:
    assert cli.main([*words(files, *more), "--json"]) == code
    result: dict[str, Any] = json.loads(capsys.readouterr().out)["result"]
    return result


def test_versions_that_are_trained_here(
    files: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main([*words(files), "--json", "--out", str(tmp_path / "report.html")]) in (1, 3)
    found = json.loads(capsys.readouterr().out)["result"]
    assert (found["attack"], found["subject"]) == ("versions", "before.csv and after.csv")
    assert (found["added"]["records"], found["removed"]["records"], found["base"]) == (30, 5, 60)
    assert (found["candidates"], found["others"], found["pairs"], found["models"]) == (35, 260, 4, 1)
    assert {one["name"] for one in found["added"]["risk"]} == {
        *(f"record {place} of after.csv" for place in range(1, 31)),
        *(f"record {place} of before.csv" for place in range(1, 6)),
    }
    assert "recognized" in (tmp_path / "report.html").read_text()


def test_services_that_tell_labels(files: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    services = [f"{files['train.py']}:{name}" for name in ("early", "late")]
    line = ("--model-before", services[0], "--model-after", services[1], "--kept", files["kept"])
    found = told(files, capsys, 3, *line)
    assert (found["answers"], found["claimed"], found["rows_asked"]) == ("labels", 0, 2 * 295)
    assert told(files, capsys, 3, *line)["rows_asked"] == 40


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (["--label", "nothing"], "unknown-column"),
        (["--kept", "here"], "missing-option"),
        (["--model-before", "train.py:early"], "missing-option: --model-after"),
        (["--model-after", "train.py:late"], "missing-option: --model-before"),
        (["--model-before", "train.py:early", "--model-after", "train.py:late"], "missing-file"),
        (["--answers", "odds"], "unknown-choice"),
        (["--answers", "scores", "--shadows", "-1"], "negative|out-of-range|too-small"),
    ],
)
def test_mistakes(files: dict[str, str], change: list[str], code: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert expect_code(code, refused([*words(files, *change), "--json"], capsys))


def test_data_that_are_no_update(files: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    same = [*words(files), "--after", files["before.csv"], "--json"]
    assert refused(same, capsys).code == "no-variation"
    failing = [word.replace(":fit", ":broken") for word in words(files, "--json")]
    assert "before the update (ValueError)" in refused(failing, capsys).problem


def test_versions_without_a_record_in_common(files: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    lines = Path(files["before.csv"]).read_text().splitlines()
    Path(files["before.csv"]).write_text("\n".join(lines[:6]) + "\n")
    found = told(files, capsys, 3)
    assert (found["base"], found["pairs"], found["removed"]["records"]) == (0, 0, 5)
    assert any("no pairs" in one for one in found["limits"])

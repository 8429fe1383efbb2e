"""`privet attack model` and `privet attack attributes`."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.refusals import expect_code, refused

from privet import cli

CODE = """
import numpy as np
from privet.attacks import Stacked

class Encoded:
    def __init__(self, X, y, seed):
        self.model = Stacked(hidden=(16,), epochs=40, batch=20, rate=0.01).fit(_numbers(X), y, seed=seed)
        self.classes_ = self.model.classes_

    def predict_proba(self, X):
        return self.model.predict_proba(_numbers(X))

def fit(X, y, seed):
    return Encoded(X, y, seed)

class Even:
    def predict_proba(self, X):
        return np.full((len(X), 2), 0.5) + np.array([0.01, -0.01]) * (X[:, :1] > 0)

def private(X, y):
    return Even()

def broken(X, y):
    return X @ 1

def answer(X):
    return np.full(len(X), "yes")

def smokers(X):
    if not np.isin(X[:, 5], ["yes", "no"]).all():
        raise ValueError
    second = np.where(X[:, 5] == "yes", 0.8, 0.3)
    return np.column_stack([1 - second, second])

def _numbers(X):
    return (X == "red").astype(float) if X.dtype == object else X
"""


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    draw = np.random.default_rng(0)
    (tmp_path / "train.py").write_text(CODE)
    for name in ("members", "others"):
        rows = draw.normal(size=(60, 5)).round(3)
        classes = np.where(rows[:, 0] + 2 * draw.normal(size=60) > 0, "yes", "no")
        lines = [",".join(map(str, [*row, label])) for row, label in zip(rows.tolist(), classes, strict=True)]
        (tmp_path / f"{name}.csv").write_text("\n".join(["a,b,c,d,e,answer", *lines]) + "\n")
    return {name: str(tmp_path / name) for name in ("train.py", "members.csv", "others.csv", "kept")}


def words(files: dict[str, str], *more: str) -> list[str]:
    where = ["--members", files["members.csv"], "--others", files["others.csv"], "--label", "answer"]
    return ["attack", "model", f"{files['train.py']}:fit", *where, "--shadows", "16", "--models", "3", *more]


def told(files: dict[str, str], capsys: pytest.CaptureFixture[str], code: int, *more: str) -> dict[str, Any]:
    assert cli.main([*words(files, *more), "--json"]) == code
    result: dict[str, Any] = json.loads(capsys.readouterr().out)["result"]
    return result


def test_a_model_that_is_trained_here(files: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    found = told(files, capsys, 1, "--epsilon", "0.1", "--delta", "1e-9")
    assert (found["attack"], found["subject"], found["answers"]) == ("model", "members.csv", "probabilities")
    assert (found["shadows"], found["models"], found["violated"]) == (16, 3, True)


def test_a_service_that_tells_labels(files: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    """It always says the same, as no model that is trained here does."""
    found = told(files, capsys, 3, "--model", f"{files['train.py']}:answer", "--kept", files["kept"])
    assert found["answers"] == "labels"
    assert (found["claimed"], found["rows_asked"]) == (0, 120)
    assert len(list(Path(files["kept"]).iterdir())) == 1
    assert told(files, capsys, 3, "--model", f"{files['train.py']}:answer", "--kept", files["kept"])["rows_asked"] == 20


def test_texts_stay_texts(files: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    for name, color in (("members.csv", "red"), ("others.csv", "blue")):
        lines = Path(files[name]).read_text().splitlines()
        table = [f"{color if place else 'color'},{line}" for place, line in enumerate(lines)]
        Path(files[name]).write_text("\n".join(table) + "\n")
    assert told(files, capsys, 3)["slots"] == 60


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (["--label", "nothing"], "unknown-column"),
        (["--kept", "here"], "missing-option"),
        (["--model", "train.py:fit"], "missing-file"),
        (["--answers", "odds"], "unknown-choice"),
        (["--answers", "scores"], "not-supported"),
    ],
)
def test_mistakes(files: dict[str, str], change: list[str], code: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert refused([*words(files, *change), "--json"], capsys).code == code


def test_files_with_other_columns_or_classes(files: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    path = Path(files["others.csv"])
    before = path.read_text()
    path.write_text(before.replace("yes", "1").replace("no", "0"))
    found = refused([*words(files), "--json"], capsys)
    assert (found.code, "no class in common" in found.problem) == ("wrong-type", True)
    path.write_text("\n".join(line.partition(",")[2] for line in before.splitlines()) + "\n")
    found = refused([*words(files), "--json"], capsys)
    assert (found.code, found.problem.startswith("others.csv has no column")) == ("unknown-column", True)


def test_a_class_that_is_missing(files: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    path = Path(files["members.csv"])
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines[:-1], lines[-1].rpartition(",")[0] + ","]) + "\n")
    assert refused([*words(files), "--json"], capsys).code == "missing-value"
    path.write_text(
        "\n".join([lines[0], *(f"{line.rpartition(',')[0]},{at % 2 or ''}" for at, line in enumerate(lines[1:]))])
        + "\n"
    )
    Path(files["others.csv"]).write_text(path.read_text().replace(",\n", ",0\n"))
    assert refused([*words(files), "--json"], capsys).code == "missing-value"
    path.write_text("answer\nyes\nno\n")
    assert refused([*words(files), "--json"], capsys).code == "empty"


def test_training_that_fails(files: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    line = [word.replace(":fit", ":broken") for word in words(files, "--json")]
    assert "ValueError" in refused(line, capsys).problem


@pytest.mark.parametrize("ends", ["import sys\nsys.exit(0)\n", "def fit(X, y):\n    raise SystemExit\n"])
def test_a_file_that_ends_the_program_is_no_green_light(
    files: dict[str, str], ends: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """It would end with 0, which says that nothing was found."""
    Path(files["train.py"]).write_text(ends)
    assert refused([*words(files), "--json"], capsys).code == "code-fails"


def test_training_in_place_does_not_change_the_members(
    files: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Otherwise members would differ from others in being shifted."""
    promise = ("--epsilon", "0.1", "--delta", "1e-9")
    first = told(files, capsys, 1, *promise)
    code = CODE.replace("return Encoded(X, y, seed)", "model = Encoded(X, y, seed); X += 9; return model")
    Path(files["train.py"]).write_text(code)
    assert told(files, capsys, 1, *promise)["attacks"] == first["attacks"]


# A sensitive column


@pytest.fixture
def smoking(files: dict[str, str]) -> dict[str, str]:
    """The same files with a column that says who smokes, more often of those whose answer is yes."""
    draw = np.random.default_rng(1)
    for name in ("members.csv", "others.csv"):
        header, *rows = [line.rpartition(",") for line in Path(files[name]).read_text().splitlines()]
        smoke = [draw.random() < (0.7 if label == "yes" else 0.3) for _, _, label in rows]
        lines = [f"{row},{'yes' if one else 'no'},{label}" for (row, _, label), one in zip(rows, smoke, strict=True)]
        Path(files[name]).write_text("\n".join([f"{header[0]},smoker,{header[2]}", *lines]) + "\n")
    return files


def inferring(files: dict[str, str], *more: str) -> list[str]:
    where = ["--members", files["members.csv"], "--others", files["others.csv"], "--label", "answer"]
    model = ["--model", f"{files['train.py']}:smokers", "--models", "0"]
    return [
        "attack",
        "attributes",
        f"{files['train.py']}:fit",
        *where,
        "--sensitive",
        "smoker",
        *model,
        *more,
        "--json",
    ]


def test_a_sensitive_column(smoking: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    """Sixty people of either kind are too few to be sure, and the model knows nobody."""
    page = Path(smoking["kept"]).with_suffix(".html")
    assert cli.main(inferring(smoking, "--kept", smoking["kept"], "--out", str(page))) == 3
    found = json.loads(capsys.readouterr().out)["result"]
    assert (found["attack"], found["subject"], found["sensitive"]) == ("attributes", "members.csv", "smoker")
    assert (found["values"], found["rows_asked"], found["leak"], found["models"]) == (2, 240, False, 0)
    assert found["limits"]
    assert "guessed right" in page.read_text()
    cli.main(inferring(smoking, "--kept", smoking["kept"]))
    assert json.loads(capsys.readouterr().out)["result"]["rows_asked"] == 20


def test_a_column_of_a_model_that_is_trained_here(files: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("members.csv", "others.csv"):  # a to three values
        header, *rows = Path(files[name]).read_text().splitlines()
        short = [f"{round(max(-1.0, min(1.0, float(row.split(',')[0]))))},{row.partition(',')[2]}" for row in rows]
        Path(files[name]).write_text("\n".join([header, *short]) + "\n")
    where = ["--members", files["members.csv"], "--others", files["others.csv"], "--label", "answer"]
    line = ["attack", "attributes", f"{files['train.py']}:fit", *where, "--sensitive", "a", "--models", "3", "--json"]
    assert cli.main(line) in (1, 3)
    found = json.loads(capsys.readouterr().out)["result"]
    assert (found["values"], found["models"], found["answers"]) == (3, 3, "probabilities")
    assert "shadow" in found["attacks"]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (["--sensitive", "smokr"], "unknown-column: did you mean smoker"),
        (["--sensitive", "answer"], "contradictory-options"),
        (["--sensitive", "a"], "too-many: 20"),
        (["--label", "nothing"], "unknown-column: nothing"),
        (["--others", "there.csv"], "missing-file"),
    ],
)
def test_mistakes_about_columns(
    smoking: dict[str, str], change: list[str], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert expect_code(expected, refused(inferring(smoking, *change), capsys))


def test_a_private_model_beside_it(files: dict[str, str], capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    page = tmp_path / "both.html"
    more = ("--compare", f"{files['train.py']}:private", "--epsilon", "1", "--out", str(page))
    found = told(files, capsys, 3, *more)
    assert (found["attack"], found["violated"]) == ("model comparison", False)
    assert found["model"]["accuracy"]["members"]["value"] > found["private"]["accuracy"]["members"]["value"]
    assert "private model" in page.read_text()
    broken = told(files, capsys, 1, "--compare", f"{files['train.py']}:fit", "--epsilon", "0.1", "--delta", "1e-9")
    assert broken["violated"] is True


@pytest.mark.parametrize(
    ("drop", "change"),
    [
        ("", ["--compare", "train.py:private"]),
        (":fit", ["--compare", "train.py:private", "--model", "train.py:answer", "--epsilon", "1"]),
    ],
)
def test_a_comparison_needs_both_functions_and_the_promise(
    files: dict[str, str], drop: str, change: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    line = [word for word in words(files, *change, "--json") if not drop or not word.endswith(drop)]
    assert refused(line, capsys).code == "missing-option"


# A model behind an address


@pytest.fixture
def address() -> Iterator[tuple[str, list[Any]]]:
    """A service that returns the logistic function of the first column, and what it was asked."""
    asked: list[Any] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            asked.append((self.headers["X-Key"], request))
            body = json.dumps({"out": {"p": [1 / (1 + np.exp(-row[0])) for row in request["rows"]]}}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None: ...

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.005})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/predict", asked
        server.shutdown()
        thread.join()


def test_a_model_behind_an_address(
    files: dict[str, str],
    address: tuple[str, list[Any]],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Without a function that trains one."""
    monkeypatch.setenv("KEY", "k-1")
    line = [word for word in words(files) if not word.endswith(":fit")]
    line += ["--model", address[0], "--header", "X-Key: key ${KEY}", "--request", "rows", "--response", "out.p"]
    assert cli.main([*line, "--rate", "1000", "--batch", "50", "--kept", files["kept"], "--json"]) == 3
    found = json.loads(capsys.readouterr().out)["result"]
    assert (found["rows_asked"], found["answers"], found["main"]) == (120, "probabilities", "quantile regression")
    assert [(key, len(request["rows"])) for key, request in address[1]] == [("key k-1", n) for n in (50, 50, 20)]


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (["--rate", "2"], "unneeded-option"),
        (["--model", "http://models.example/"], "unsafe-address"),
        (["--model", "HTTPS://models.example/", "--header", "Authorization: s3cr3t"], "syntax-error"),
        (["--model", "https://models.example/", "--header", "$HOME"], "syntax-error"),
        (["--model", "https://models.example/", "--header", "A: $NOT_SET_ANYWHERE"], "missing-name"),
        (["--model", "https://models.example/", "--rate", "0"], "not-positive"),
    ],
)
def test_mistakes_with_an_address(
    files: dict[str, str], change: list[str], code: str, capsys: pytest.CaptureFixture[str]
) -> None:
    found = refused([*words(files, *change), "--json"], capsys)
    assert found.code == code
    assert "s3cr3t" not in f"{found.problem}{found.remedy}"


def test_something_to_attack_is_needed(files: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    line = [word for word in words(files, "--json") if not word.endswith(":fit")]
    assert refused(line, capsys).code == "missing-option"

"""`privet attack membership`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.refusals import expect_code, refused

from privet import cli


def table(path: Path, rows: np.ndarray[Any, Any], first: str = "p") -> str:
    names = ",".join(f"a{place}" for place in range(rows.shape[1]))
    lines = [f"{first}{place},{','.join(str(value) for value in row)}" for place, row in enumerate(rows.tolist())]
    path.write_text("\n".join([f"name,{names}", *lines]) + "\n")
    return str(path)


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    """40 people are the study; of 100 asked about 40 are in it."""
    draw = np.random.default_rng(0)
    usual = draw.uniform(0.2, 0.8, 300)
    people, reference = (draw.binomial(1, usual, (number, 300)) for number in (100, 90))
    means = people[:40].mean(axis=0)
    lines = [f"a{place},{mean},40" for place, mean in enumerate(means.tolist())]
    (tmp_path / "means.csv").write_text("\n".join(["name,mean,count", *lines]) + "\n")
    halves = [f"a{place},{mean / 2}" for place, mean in enumerate(means.tolist())]
    (tmp_path / "frequencies.csv").write_text("\n".join(["name,frequency", *halves]) + "\n")
    known = [f"a{place},{value},{(value * (1 - value)) ** 0.5}" for place, value in enumerate(usual.tolist())]
    (tmp_path / "usual.csv").write_text("\n".join(["name,mean,deviation", *known]) + "\n")
    (tmp_path / "in.txt").write_text("\n".join(f"p{place}" for place in range(40)) + "\n")
    return {
        "means": str(tmp_path / "means.csv"),
        "frequencies": str(tmp_path / "frequencies.csv"),
        "usual": str(tmp_path / "usual.csv"),
        "in": str(tmp_path / "in.txt"),
        "people": table(tmp_path / "people.csv", people),
        "reference": table(tmp_path / "reference.csv", reference, "r"),
        "all": table(tmp_path / "all.csv", np.concatenate([people, reference]), "q"),
    }


def told(words: list[str], capsys: pytest.CaptureFixture[str], code: int = 1) -> dict[str, Any]:
    assert cli.main(["attack", "membership", *words, "--json"]) == code
    result: dict[str, Any] = json.loads(capsys.readouterr().out)["result"]
    return result


def test_published_means(files: dict[str, str], capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    words = [files["means"], "--people", files["people"], "--reference", files["reference"]]
    found = told([*words, "--members", files["in"], "--epsilon", "1", "--neighbors", "replace"], capsys)
    assert found["auc"] > 0.85
    assert (found["attributes"], found["size"], found["under_limit"]) == (300, 40, False)
    again = told([files["frequencies"], *words[1:], "--members", files["in"], "--size", "40"], capsys)
    assert again["auc"] == found["auc"]  # half of the mean number of copies is the same
    known = [files["means"], "--people", files["people"], "--population", files["usual"], "--target", "p3"]
    assert told(known, capsys)["headline"].startswith("p3 ")
    out = tmp_path / "report.html"
    assert cli.main(["attack", "membership", *words, "--no-whiten", "--test", "Homer", "--out", str(out)]) == 1
    assert "Membership attack on means.csv" in capsys.readouterr().out
    assert out.exists()


def test_a_trial(files: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--data", files["all"], "--size", "40", "--seed", "2"]
    exact, noisy = told(words, capsys), told([*words, "--epsilon", "1", "--no-whiten"], capsys, 3)
    assert exact["auc"] > 0.85
    assert exact["subject"] == "all.csv, 40 people drawn"
    assert noisy["under_limit"]
    assert noisy["forecast"] < 0.6


def test_a_trial_of_genotypes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    draw = np.random.default_rng(1)
    (tmp_path / "x.bed").write_bytes(b"\x6c\x1b\x01" + draw.integers(0, 256, 500 * 15, np.uint8).tobytes())
    (tmp_path / "x.bim").write_text("".join(f"1 rs{snp} 0 {snp} A C\n" for snp in range(500)))
    (tmp_path / "x.fam").write_text("".join(f"f p{person} 0 0 0 0\n" for person in range(60)))
    assert told(["--data", str(tmp_path / "x.bed"), "--size", "20"], capsys)["auc"] > 0.9


def test_wrong_words(files: dict[str, str], capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    means, people = files["means"], files["people"]
    given = [means, "--people", people, "--reference", files["reference"]]
    (tmp_path / "empty.csv").write_text("name\nx\n")
    (tmp_path / "short.csv").write_text("name,a0\nx,1\n")
    (tmp_path / "words.csv").write_text("name,mean\na0,much\n")
    (tmp_path / "comma.csv").write_text("name;mean\na0;0,5\n")
    (tmp_path / "percent.csv").write_text("name,mean\na0,50%\n")
    (tmp_path / "twice.csv").write_text("name,mean\na0,1\na0,1\n")
    (tmp_path / "unnamed.csv").write_text("name,mean\n,1\na0,1\n")
    (tmp_path / "other.txt").write_text("somebody\n")
    (tmp_path / "latin.txt").write_bytes(b"\xe8ve\n")
    at = {path.name: str(path) for path in tmp_path.iterdir()}
    cases = [
        ([], "not-exactly-one: STATISTICS … --data"),
        ([means, "--data", people], "not-exactly-one: STATISTICS … --data"),
        ([means], "missing-option: people"),
        (["--data", people], "missing-option: draw"),
        (["--data", people, "--size", "9", "--delta", "0.1"], "unneeded-delta"),
        ([means, "--people", at["empty.csv"]], "empty: attributes"),
        ([means, "--people", at["short.csv"]], "unknown-attribute: 'a1' … 298"),
        ([at["words.csv"], "--people", people], "not-a-number: 'mean'"),
        ([at["comma.csv"], "--people", people], "not-a-number: 'mean' … 0.25 instead of 0,25"),
        ([at["percent.csv"], "--people", people], "not-a-number: 'mean' … percent sign"),
        ([files["means"], "--people", people, "--reference", people], "contradictory-options: reference people"),
        ([at["twice.csv"], "--people", people], "duplicate-name: 'a0'"),
        ([at["unnamed.csv"], "--people", people], "missing-name: missing"),
        ([*given, "--members", at["other.txt"]], "unknown-person: 'somebody'"),
        ([*given, "--members", at["latin.txt"]], "not-utf8: in UTF-8"),
        ([*given, "--members", str(tmp_path / "none.txt")], "unreadable-file"),
    ]
    for words, says in cases:
        expect_code(says, refused(["attack", "membership", *words], capsys))


def test_people_without_names(tmp_path: Path, files: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    found = told(["--data", files["all"], "--size", "40", "--target", "q7", "--name", "name"], capsys)
    assert found["headline"].startswith("q7")
    lines = Path(files["all"]).read_text().splitlines()
    (tmp_path / "bare.csv").write_text("\n".join(line.partition(",")[2] for line in lines) + "\n")
    named = told(["--data", str(tmp_path / "bare.csv"), "--size", "40", "--target", "person 8"], capsys)
    assert named["p_values"] == found["p_values"]

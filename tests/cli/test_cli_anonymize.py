"""`privet anonymize` as people and pipelines meet it."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.refusals import expect_code, refused

from privet import cli
from privet.anonymize.checks import check
from privet.records.microdata import read

DATA = os.environ.get("PRIVET_DATA")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """200 people, with a hierarchy of their cities."""
    monkeypatch.chdir(tmp_path)
    draw = np.random.default_rng(0)
    lines = ["name,age,sex,city,sick"]
    for place in range(200):
        age, sex, city, sick = draw.integers([18, 0, 0, 0], [96, 2, 4, 3])
        town = ["Bonn", "Köln", "Lyon", "Nice"][city]
        lines.append(f"n{place},{age},{'FM'[sex]},{town},{['flu', 'cold', 'none'][sick]}")
    (tmp_path / "people.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "trees").mkdir()
    (tmp_path / "trees" / "city.csv").write_text("Bonn;DE;*\nKöln;DE;*\nLyon;FR;*\nNice;FR;*\n")
    return tmp_path


ASKED = ["anonymize", "people.csv", "--quasi", "age,sex,city", "--drop", "name"]


def document(words: list[str], capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    assert cli.main([*words, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["privet"], found["kind"]) == (1, "anonymize")
    result: dict[str, Any] = found["result"]
    return result


def test_what_is_written_is_what_is_said(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = [*ASKED, "--hierarchies", "trees", "--k", "6", "--l", "2", "--sensitive", "sick", "--out", "shipped.csv"]
    result = document(words, capsys)
    found = check(read(folder / "shipped.csv"), ["age", "sex", "city"], "sick")
    assert found.k == result["k"] >= 6
    assert found.suppressed == result["suppressed"] <= 10
    assert found.diversity["sick"].distinct == result["l"]["sick"] >= 2
    assert result["t"]["sick"] == found.diversity["sick"].t
    assert result["risks"]["prosecutor"]["highest"] == 1 / found.k
    assert 0 < result["ncp"] < 1
    assert result["seconds"] >= 0
    assert set(result["node"]) == {"age", "sex", "city"}
    assert result["suggested"] == ["age", "sex"]
    assert (result["dropped"], result["out"]) == (["name"], "shipped.csv")
    assert [one["column"] for one in result["columns"]] == ["age", "sex", "city"]
    assert list(read(folder / "shipped.csv").columns) == ["age", "sex", "city", "sick"]


def test_the_text_tells_what_was_done_and_what_it_does_not_promise(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main([*ASKED, "--hierarchies", "trees", "--top-code", "age=90", "--out", "out.parquet"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("people.csv: 200 records, k=5\n\nage: ")
    assert "above 90 and are now 90, which means 90 or more" in text
    assert "left out: name" in text
    assert re.search(r"^age +[1-4] of 4  +\d+ ", text, re.MULTILINE)
    assert "suggested hierarchy" in text
    assert "city" in text.split("suggested hierarchy")[-1]  # it has a file
    assert "the optimum by ncp" in text
    assert "suppressed: " in text
    assert "k=" in text.split("counted again in the records to ship")[1]
    assert "risk of being found: at most " in text
    assert "This is no guarantee." in text
    assert "No --sensitive column was named" in text
    assert "docs/attacks/anonymized.md" in text
    assert "Shipped unchanged and not checked: sick." in text
    assert "a value of their own" not in text
    assert "The records are in out.parquet\n" in text
    assert "in the order of the data" in text
    assert len(read(folder / "out.parquet")) == 200 - int(re.findall(r"without the (\d+) that", text)[0])


def test_mondrian(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = [*ASKED, "--method", "mondrian", "--hierarchies", "trees", "--sensitive", "sick", "--out", "out.csv"]
    result = document(words, capsys)
    assert (result["node"], result["suppressed"], result["method"]) == (None, 0, "strict Mondrian")
    assert check(read(folder / "out.csv"), ["age", "sex", "city"]).k >= 5
    words = words[:-2]
    relaxed = document([*words, "--relaxed", "--t", "0.4", "--k", "2"], capsys)
    assert relaxed["method"] == "relaxed Mondrian"
    assert relaxed["t"]["sick"] <= 0.4
    assert cli.main([*words, "--bottom-code", "age=30", "--out", "coded.csv"]) == 0
    text = capsys.readouterr().out
    assert "below 30 and are now 30" in text
    assert "strict Mondrian, " in text
    assert "  cut  " in text
    assert "suggested hierarchy" not in text


def test_classes_in_which_all_are_alike_are_told(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "same.csv").write_text("a,s\n" + "x,flu\n" * 5 + "y,cold\n" * 5)
    assert cli.main(["anonymize", "same.csv", "--quasi", "a", "--sensitive", "s"]) == 0
    text = capsys.readouterr().out
    assert (
        "10 records are in classes where all have the same s: this reveals the value without finding the record."
        in text
    )
    assert "a       0 of 1  x               x" in text  # nothing had to change
    assert "left out" not in text


@pytest.mark.usefixtures("folder")
def test_other_models_and_measures(capsys: pytest.CaptureFixture[str]) -> None:
    words = [*ASKED, "--sensitive", "sick"]
    mixed = document([*words, "--entropy-l", "2", "--recursive-l", "2,2", "--measure", "class-size"], capsys)
    assert mixed["measure"] == "average_class_size"
    assert mixed["diversity"]["sick"]["entropy"] >= 2
    assert mixed["diversity"]["sick"]["recursive"]["2"] < 2
    assert "recursive c=2, l=2 of sick" in mixed["models"]
    quick = document([*words, "--seconds", "60", "--measure", "discernibility"], capsys)
    assert quick["optimal"]


def test_suppressed_records_are_stars_or_left_out(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "one.csv").write_text("a,b\n" + "x,1\n" * 30 + "y,2\n")
    words = ["anonymize", "one.csv", "--quasi", "a", "--k", "2", "--out"]
    result = document([*words, "1.csv"], capsys)
    assert (result["suppressed"], result["suppressed_written"]) == (1, False)  # it would be alone with its star
    assert list(read(folder / "1.csv")["a"].listed()) == ["x"] * 30
    assert cli.main([*words, "2.csv"]) == 0
    assert "without the 1 that are suppressed: as a class of their own" in capsys.readouterr().out
    assert document([*words, "3.csv", "--keep-suppressed"], capsys)["suppressed_written"]
    assert list(read(folder / "3.csv")["a"].listed()) == ["x"] * 30 + ["*"]
    assert cli.main([*words, "4.csv", "--keep-suppressed"]) == 0
    assert "they are too few, or too alike" in capsys.readouterr().out
    (folder / "one.csv").write_text("a,b\n" + "x,1\n" * 60 + "y,2\nz,3\n")
    assert document([*words, "5.csv"], capsys)["suppressed_written"]
    assert list(read(folder / "5.csv")["a"].listed()) == ["x"] * 60 + ["*"] * 2
    assert cli.main([*words, "6.csv", "--drop-suppressed", "--shuffle"]) == 0
    text = capsys.readouterr().out
    assert "without the 2 that are suppressed\n" in text
    assert "in the order of the data" not in text
    assert len(read(folder / "6.csv")) == 60


def test_the_top_of_all_hierarchies_is_one_class(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "few.csv").write_text("a,b\n" + "".join(f"{place},{place}\n" for place in range(6)))
    result = document(["anonymize", "few.csv", "--quasi", "a,b", "--k", "6", "--suppress", "0"], capsys)
    assert (result["ncp"], result["suppressed"], result["k"]) == (1, 0, 6)
    assert result["risks"]["prosecutor"]["highest"] == 1 / 6


def test_names_are_told_and_may_have_commas(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "odd.csv").write_text('"größe, cm",who,b\n' + "".join(f"170,n{place},1\n" for place in range(6)))
    words = ["anonymize", "odd.csv", "--quasi", '"größe, cm", b']
    result = document(words, capsys)
    assert (result["quasi"], result["untouched"], result["telling"]) == (["größe, cm", "b"], ["who"], ["who"])
    assert cli.main(words) == 0
    assert "Most records have a value of their own in who: leave it out with --drop." in capsys.readouterr().out


def test_examples_are_frequent_values_and_not_of_one_person(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "rare.csv").write_text("a,b\n94,zz\n" + "30,x\n" * 6 + "94,zz\n40,y\n" * 2)
    result = document(["anonymize", "rare.csv", "--quasi", "a,b", "--k", "11", "--suppress", "0"], capsys)
    assert [(one["before"], one["after"]) for one in result["columns"]] == [("30", "*"), ("x", "*")]


def test_what_is_read_is_not_written_over(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--quasi", "age,city", "--drop", "name"]
    (folder / "parts").mkdir()
    document(["anonymize", "people.csv", *words, "--out", "parts/p1.parquet"], capsys)
    for data, out in {"parts": "parts/p2.parquet", "parts/p*.parquet": "parts/p3.parquet"}.items():
        told = refused(["anonymize", data, "--quasi", "age,city", "--out", out], capsys)
        expect_code("would-overwrite: --out … data", told)
    (folder / "link.csv").hardlink_to(folder / "people.csv")
    expect_code("file-exists: link.csv", refused(["anonymize", "people.csv", *words, "--out", "link.csv"], capsys))
    told = refused(["anonymize", "people.csv", *words, "--hierarchies", "trees", "--out", "trees/city.csv"], capsys)
    expect_code("would-overwrite: --out … hierarchy", told)
    document(["anonymize", "people.csv", *words, "--hierarchies", "trees", "--out", "trees/out.csv"], capsys)


def test_stopping_writes_nothing(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: Any) -> None:
    def stop(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("privet.anonymize.generalization.generalize", stop)
    assert cli.main([*ASKED, "--out", "out.csv"]) == 130
    assert "privet: stopped: nothing was written" in capsys.readouterr().err
    assert not (folder / "out.csv").exists()


def test_missing_values_and_long_texts(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [",b"] + ["y" * 60 + ",b"] * 30 + [",b"] * 30
    (folder / "m.csv").write_text("a,b\n" + "\n".join(rows) + "\n")
    assert cli.main(["anonymize", "m.csv", "--quasi", "a"]) == 0
    text = capsys.readouterr().out
    assert "(missing)" in text
    (folder / "long.csv").write_text("a,b\n" + "\n".join("y" * 60 + f"{n},b" for n in range(10)) + "\n")
    assert cli.main(["anonymize", "long.csv", "--quasi", "a"]) == 0
    assert "y" * 25 + "..." in capsys.readouterr().out


def test_files_are_read_as_they_are_said_to_be(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "old.csv").write_bytes(("stadt|b\n" + "Köln|1\n" * 6).encode("cp1252"))
    words = ["anonymize", "old.csv", "--quasi", "stadt"]
    assert document([*words, "--encoding", "cp1252", "--delimiter", "|"], capsys)["columns"][0]["before"] == "Köln"
    expect_code("wrong-encoding: old.csv … utf-8", refused([*words, "--encoding", "utf-8"], capsys))
    expect_code("wrong-encoding: old.csv … utf-16", refused([*words, "--encoding", "utf-16"], capsys))
    for header in ("a,a,b", "A,a,b"):
        (folder / "twice.csv").write_text(f"{header}\n1,2,3\n")
        expect_code("duplicate-name: twice.csv", refused(["anonymize", "twice.csv", "--quasi", "b"], capsys))
    (folder / "odd.csv").write_text("a," + "b" * 300 + "\n1,2\n")
    odd = refused(["anonymize", "odd.csv", "--quasi", "a"], capsys)  # or the column would be lost
    expect_code(f"not-supported: '{'b' * 36}...", odd)
    document(["anonymize", "odd.csv", "--quasi", "a", "--k", "1", "--drop", "b" * 300], capsys)
    expect_code("unknown-column: 'nobody'", refused([*ASKED[:-1], "nobody"], capsys))
    document([*ASKED, "--out", "out.parquet"], capsys)
    document(["anonymize", "out.parquet", "--quasi", "age", "--encoding", "utf-8"], capsys)  # not of such a file


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--quasi", ""], "missing-name: quasi-identifier"),
        (["--quasi", "age,age"], "duplicate-name: 'age'"),
        (["--quasi", "age", "--sensitive", "age"], "duplicate-name: 'age'"),
        (["--quasi", "age", "--drop", "age"], "duplicate-name: 'age'"),
        (["--quasi", "income"], "unknown-column: 'income'"),
        (["--quasi", "age", "--k", "201"], "too-large: --k 201 … 200"),
        (["--quasi", "age", "--k", "0"], "too-small: least 1"),
        (["--quasi", "age", "--k", "many"], "wrong-usage: --k"),
        (["--quasi", "age", "--l", "2"], "missing-name: l needs … sensitive"),
        (["--quasi", "age", "--t", "0.2"], "missing-name: t needs … sensitive"),
        (["--quasi", "age", "--entropy-l", "2"], "missing-name: l needs … sensitive"),
        (["--quasi", "age", "--entropy-l", "", "--sensitive", "sick"], "not-a-number: l must … finite"),
        (["--quasi", "age", "--recursive-l", "", "--sensitive", "sick"], "syntax-error: ''"),
        (["--quasi", "age", "--recursive-l", "2", "--sensitive", "sick"], "syntax-error: '2' … C,L"),
        (["--quasi", "age", "--recursive-l", "2,x", "--sensitive", "sick"], "syntax-error: '2,x'"),
        (["--quasi", "age", "--l", "4", "--sensitive", "sick"], "unreachable-model: keeps"),
        (["--quasi", "age", "--l", "4", "--sensitive", "sick", "--method", "mondrian"], "unreachable-model: records"),
        (["--quasi", "age", "--hierarchies", "none"], "folder-missing"),
        (["--quasi", "city", "--hierarchies", "bad"], "contradiction: 'Bonn' … 'Köln' … 'DE' … level 1"),
        (["--quasi", "city", "--hierarchies", "few"], "not-declared: for 3 values … 'Köln' … 'Lyon' … 'Nice'"),
        (["--quasi", "age", "--top-code", "age"], "syntax-error: 'age'"),
        (["--quasi", "age", "--top-code", "city=5"], "not-a-number: 'Bonn' … 'city'"),
        (["--quasi", "age", "--seconds", "0"], "not-positive: seconds … above 0"),
        (["--quasi", "age", "--relaxed"], "unneeded-option: --relaxed … --method"),
        (["--quasi", "age", "--suppress", "2"], "out-of-range: from 0 … 1"),
        (["--quasi", "age", "--out", "people.csv"], "would-overwrite: --out … data"),
        (["--quasi", "age", "--out", "out.xlsx"], "wrong-ending: CSV"),
        (["--quasi", "age", "--out", "none/out.csv"], "cannot-write: out.csv"),
        (["--quasi", "age", "--encoding", "klingon"], "unknown-choice: encoding"),
    ],
)
def test_mistakes_are_one_line(folder: Path, capsys: pytest.CaptureFixture[str], words: list[str], said: str) -> None:
    (folder / "bad").mkdir()
    (folder / "bad" / "city.csv").write_text("Bonn;DE;1\nKöln;DE;2\nLyon;FR;1\nNice;FR;1\n")
    (folder / "few").mkdir()
    (folder / "few" / "city.csv").write_text("Bonn;*\n")
    expect_code(said, refused(["anonymize", "people.csv", *words], capsys))


def test_files_that_are_not_there_or_empty(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    expect_code("missing-file: 'none.csv'", refused(["anonymize", "none.csv", "--quasi", "a"], capsys))
    (folder / "header.csv").write_text("a,b\n")
    expect_code("empty: header.csv", refused(["anonymize", "header.csv", "--quasi", "a"], capsys))
    (folder / "empty.csv").write_text("")
    refused(["anonymize", "empty.csv", "--quasi", "a"], capsys)
    (folder / "nothing.csv").write_text("a,b\n,1\n,2\n")
    expect_code("empty: values", refused(["anonymize", "nothing.csv", "--quasi", "a", "--k", "1"], capsys))


@pytest.mark.skipif(DATA is None, reason="PRIVET_DATA is not set: no real data here")
def test_real_records_reach_the_known_optimum(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = Path(str(DATA)) / "adult_arx"
    quasi = "sex,age,race,marital-status,education,native-country,workclass,occupation"
    words = ["anonymize", str(folder / "adult.csv.gz"), "--quasi", quasi, "--hierarchies", str(folder)]
    result = document([*words, "--out", str(tmp_path / "out.csv")], capsys)
    assert (round(result["ncp"], 4), result["suppressed"], result["k"]) == (0.2618, 1248, 5)

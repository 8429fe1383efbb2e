"""`privet attack subsets` and `privet attack counter`, on made data, files and a vault."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.refusals import expect_code, raises_code, refused

import privet as pv
from privet import cli
from privet.attacks.subsets.decoders import Errors
from privet.attacks.subsets.file import read_counts, read_errors, read_subsets
from privet.errors import InvalidInputError, PrivetError

NAMES = ("Ada", "Bo", "Cy", "Dé")
SECRETS = (1, 0, 1, 0)
ROWS = ((1, 1, 0, 0), (0, 1, 1, 0), (0, 0, 1, 1), (1, 0, 0, 0), (1, 1, 1, 0), (0, 1, 0, 1))


def told(words: list[str], capsys: pytest.CaptureFixture[str], code: int = 0) -> dict[str, Any]:
    assert cli.main(["attack", *words, "--json"]) == code
    answer = json.loads(capsys.readouterr().out)
    assert (answer["privet"], answer["kind"]) == (1, "attack")
    result: dict[str, Any] = answer["result"]
    return result


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same sums as one file, as two, and as arrays; and the truth."""
    monkeypatch.chdir(tmp_path)
    answers = np.array(ROWS) @ SECRETS
    lines = [",".join(map(str, [answer, *row])) for answer, row in zip(answers, ROWS, strict=True)]
    Path("wide.csv").write_text("\n".join(["answer," + ",".join(NAMES), *lines]), encoding="utf-8")
    Path("answers.csv").write_text("query,answer\n" + "\n".join(f"q{n},{a}" for n, a in enumerate(answers)))
    pairs = [f"q{n},{NAMES[at]}" for n, row in enumerate(ROWS) for at, bit in enumerate(row) if bit]
    Path("members.csv").write_text("query,person\n" + "\n".join(pairs), encoding="utf-8")
    np.savez("sums.npz", queries=np.array(ROWS), answers=answers)
    np.savez("named.npz", queries=np.array(ROWS), answers=answers, names=np.array(NAMES))
    pairs = [f"{name},{bit}" for name, bit in zip(NAMES, SECRETS, strict=True)]
    Path("truth.csv").write_text("name,value\n" + "\n".join(pairs) + "\n\n", encoding="utf-8")
    return tmp_path


def test_made_people(capsys: pytest.CaptureFixture[str]) -> None:
    """About 97 % of 300 are right: less than 88 % has a chance below 1e-9."""
    words = ["subsets", "--simulate", "--people", "300", "--queries-per-person", "4", "--alpha", "0.25"]
    result = told(words, capsys)
    assert result.keys() >= {"recovered", "forecast", "decoder", "seconds"}
    assert result["recovered"] > 0.88
    again = told([*words[:-2], "--error", str(0.25 * 300**0.5)], capsys)
    assert again["recovered"] == result["recovered"]


def test_forecasts_are_printed_first(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    out = tmp_path / "report.html"
    words = ["attack", "subsets", "--simulate", "--people", "90", "--outliers", "0.1", "--alpha", "0.1"]
    assert cli.main([*words, "--rate", "0.4", "--seed", "3", "--out", str(out)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("forecast: ")
    assert any("of 90 people's secrets are right" in line for line in lines)
    assert "<svg" in out.read_text(encoding="utf-8")


def test_every_subset_of_few_people(capsys: pytest.CaptureFixture[str]) -> None:
    result = told(["subsets", "--simulate", "--people", "8", "--exhaustive", "--error", "0.5"], capsys)
    assert result["decoder"] == "exhaustive"
    assert result["queries"] == 255
    assert 8 * (1 - result["recovered"]) <= result["most_wrong"] <= 2


def test_files_of_each_kind(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert folder.exists()
    kinds = (["wide.csv"], ["answers.csv", "--members", "members.csv"], ["named.npz"])
    for kind in kinds:
        words = ["subsets", *kind, "--noise", "exact", "--decoder", "exhaustive", "--rate", "0.5"]
        found = told([*words, "--truth", "truth.csv"], capsys, 1)
        assert found["recovered"] == 1
        assert found["proven"] == 4
        assert sorted(one["claim"] for one in found["findings"]) == sorted(
            f"{name}: secret {bit}" for name, bit in zip(NAMES, SECRETS, strict=True)
        )
    unnamed = told(["subsets", "sums.npz", "--decoder", "exhaustive", "--noise", "exact"], capsys, 1)
    assert unnamed["findings"][0]["claim"].startswith("person ")
    unsaid = told(["subsets", "sums.npz", "--decoder", "exhaustive"], capsys, 1)
    assert unsaid["proven"] == 0  # nobody said how large errors are


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "empty: rows"),
        ("answer,a\n", "empty: rows"),
        ("sum,a\n1,1\n", "wrong-columns: first"),
        ("answer,a,a\n1,1,0\n1,0,1\n", "duplicate-name: twice"),
        ("answer,a,b\n1,1\n", "wrong-length: 2"),
        ("answer,a,b\n1,1,x\n2,1,1\n", "not-a-number: no number"),
        ("answer,a,b\n1,1,3\n2,1,1\n", "not-binary: 0 … 1"),
        ("answer,a,b\n1,1,0\n1,0,0\n", "empty: 2 asks"),
        ("answer,a,b\ninf,1,0\n1,0,1\n", "not-a-number: no number"),
        ("a\x00b\n", "empty: rows"),
    ],
)
def test_wrong_files_are_told_in_one_line(
    text: str, problem: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "sums.csv"
    path.write_text(text, encoding="utf-8")
    expect_code(problem, refused(["attack", "subsets", str(path)], capsys))


def test_other_wrong_files(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def why(*words: str) -> PrivetError:
        return refused(["attack", "subsets", *words], capsys)

    Path("latin.csv").write_bytes("answer,Zoë\n1,1\n".encode("latin-1"))
    expect_code("wrong-format: read", why("latin.csv"))
    expect_code("unreadable-file", why(str(folder / "gone.csv")))
    Path("odd.npz").write_bytes(b"PK nothing")
    expect_code("unreadable-file: arrays", why("odd.npz"))
    np.savez("half.npz", answers=[1])
    expect_code("missing-entry: queries", why("half.npz"))
    Path("who.csv").write_text("query,person\nq9,Ada\n")
    expect_code("contradiction: answer", why("answers.csv", "--members", "who.csv"))
    expect_code("wrong-columns: wide.csv", why("wide.csv", "--members", "members.csv"))
    Path("two.csv").write_text("query,answer\nq1,1\nq1,2\n")
    expect_code("duplicate-name: twice", why("two.csv", "--members", "members.csv"))
    Path("bits.csv").write_text("name,value\nAda,2\n")
    expect_code("not-binary: 0 … 1", why("wide.csv", "--truth", "bits.csv"))
    Path("bits.csv").write_text("name,value\nAda,1\nAda,0\n")
    expect_code("duplicate-name: twice", why("wide.csv", "--truth", "bits.csv"))


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ([], "not-exactly-one: target"),
        (["x.csv", "--simulate"], "not-exactly-one: target"),
        (["--simulate"], "not-whole"),
        (["--simulate", "--people", "ten"], "not-whole"),
        (["--simulate", "--people", "10"], "not-exactly-one: errors"),
        (["--simulate", "--people", "10", "--alpha", "1", "--error", "1"], "not-exactly-one: errors"),
        (["--simulate", "--people", "10", "--alpha", "1", "--decoder", "odd"], "unknown-choice: odd"),
        (["--vault", "v.privet", "--people", "p.csv"], "missing-option: --table"),
        (["x.csv", "--noise", "normal"], "syntax-error: describes"),
        (["x.csv", "--noise", "normal:many"], "not-a-number: no number"),
        (["x.csv", "--noise", "normal:-3"], "negative: -3"),
        (["--simulate", "--people", "10", "--alpha", "1", "--out", "x.pdf"], "wrong-ending: HTML"),
    ],
)
def test_wrong_words_are_told_in_one_line(words: list[str], problem: str, capsys: pytest.CaptureFixture[str]) -> None:
    expect_code(problem, refused(["attack", "subsets", *words], capsys))


def test_errors_as_text() -> None:
    assert read_errors("outliers:3:0.1") == Errors("outliers", 3, 0.1)
    assert read_errors("exact") == Errors("exact")
    with raises_code(InvalidInputError, "unreadable-file"):
        read_subsets("gone.csv")


@pytest.mark.parametrize("unit", ["id", None])
def test_a_vault_is_asked_until_its_budget_ends(
    unit: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    ill = np.random.default_rng(0).integers(0, 2, 12)
    ids = range(1, 13)
    lines = [f"{n},{2 - n % 2},{'true' if bit else 'false'}" for n, bit in zip(ids, ill, strict=True)]
    Path("visits.csv").write_text("\n".join(["id,ward,ill", *lines]))
    kinds = {"id": pv.Integer(1, 12), "ward": pv.Category(["1", "2"]), "ill": pv.Boolean()}
    with pv.create("clinic.privet", budget=pv.Budget(1)) as vault:
        vault.add_table("visits", "visits.csv", unit=unit, columns=kinds)
    Path("public.csv").write_text("id,ward\n" + "\n".join(f"{n},{2 - n % 2}" for n in ids))
    Path("truth.csv").write_text("name,value\n" + "\n".join(f"{n},{bit}" for n, bit in zip(ids, ill, strict=True)))
    words = ["subsets", "--vault", "clinic.privet", "--table", "visits", "--secret", "ill", "--attributes", "id,ward"]
    found = told(
        [*words, "--people", "public.csv", "--epsilon", "0.125", "--queries", "20", "--truth", "truth.csv"], capsys
    )
    assert found["queries"] == 8
    assert "no more were given" in found["ended"]
    assert found["errors"]["law"] == "laplace"
    assert found["errors"]["size"] == pytest.approx(8, rel=0.05)
    assert found["allowed"] == pytest.approx(max(1 / (1 + np.exp(-2)), float(max(ill.mean(), 1 - ill.mean()))))


def test_counters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    Path("named.csv").write_text("count,name\n1,Ada\n1,Bo\n2,Cy\n")
    Path("truth.csv").write_text("name,value\nAda,1\nBo,0\nCy,1\n")
    found = told(["counter", "named.csv", "--noise", "exact", "--truth", "truth.csv", "--rate", "0.5"], capsys, 1)
    assert found["recovered"] == found["forecast"] == 1
    Path("plain.csv").write_text("count\n1\n1.2\n")
    assert cli.main(["attack", "counter", "plain.csv", "--noise", "laplace:1"]) == 0
    assert capsys.readouterr().out.startswith("forecast: ")
    Path("many.csv").write_text("count,arrivals\n1,2\n4,3\n")
    assert read_counts("many.csv") == ([1, 4], [2, 3], None)
    for text, problem in (("count,arrivals\n1,0\n", "not-positive: whole"), ("n\n1\n", "wrong-columns: columns n")):
        Path("odd.csv").write_text(text)
        expect_code(problem, refused(["attack", "counter", "odd.csv", "--noise", "exact"], capsys))


def test_a_count_that_is_missing_is_not_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Counts 1, unknown, 2: either the second or the third person added 1. Without the row of the second the third
    would be sure; arrivals that are merged leave both at a half."""
    monkeypatch.chdir(tmp_path)
    for text, problem in (
        ("count,name\n1,a\nn/a,b\n2,c\n", "not-a-number: merge … arrivals"),
        ("count\n1\n\n2\n", "missing-entry: line 3 … merge"),
        ("count,name\n1,a\n,\n2,c\n\n", "missing-entry: line 3 … merge"),
    ):
        Path("odd.csv").write_text(text)
        expect_code(problem, refused(["attack", "counter", "odd.csv", "--noise", "exact"], capsys))
    Path("merged.csv").write_text("count,arrivals\n1,1\n2,2\n\n\n")
    assert told(["counter", "merged.csv", "--noise", "exact"], capsys, code=1)["sure"] == 1


def test_semicolons_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("semi.csv").write_text("\ufeffanswer;a;b\n6,5;1;0\n", encoding="utf-8")
    expect_code("wrong-format: semicolons", refused(["attack", "subsets", "semi.csv"], capsys))

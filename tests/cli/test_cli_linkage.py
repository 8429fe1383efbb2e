"""`privet attack linkage`, `scoreboard` and `uniqueness`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.made_linkage import pair, world
from support.refusals import expect_code, refused

from privet import cli
from privet.records.microdata import write


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    made = pair(400)
    paths = [tmp_path / "released.csv", tmp_path / "known.csv"]
    write(made.released, paths[0])
    write(made.known, paths[1])
    return [str(path) for path in paths]


def told(words: list[str], capsys: pytest.CaptureFixture[str], code: int = 1) -> dict[str, object]:
    assert cli.main([*words, "--json"]) == code
    answer = json.loads(capsys.readouterr().out)
    assert (answer["privet"], answer["kind"]) == (1, "attack")
    result: dict[str, object] = answer["result"]
    return result


def test_linkage_for_a_program(files: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    matches = tmp_path / "matches.csv"
    words = ["attack", "linkage", *files, "--on", "sex,age=age,zip", "--truth", "id", "--matches", str(matches)]
    result = told(words, capsys)
    assert result["compared"] == {"sex": "sex", "age": "age", "zip": "zip"}
    assert result["linked"] == result["right"]
    assert len(matches.read_text().splitlines()) == 401
    exact = told(["attack", "linkage", *files, "--truth", "id=id", "--exact", "--one-to-one"], capsys)
    assert "name" in dict(exact["compared"])  # type: ignore[call-overload]


def test_linkage_for_a_person(files: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "report.html"
    assert cli.main(["attack", "linkage", *files, "--on", "age,zip", "--precision", "0.9", "--out", str(out)]) == 1
    text = capsys.readouterr().out
    assert "Linkage attack on released.csv" in text
    assert text.rstrip().endswith(f"The report is in {out}")
    assert "<title>" in out.read_text()


def test_scoreboard_for_a_program(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = world(people=150, outside=20)
    write(made.released, tmp_path / "ratings.csv")
    write(made.points, tmp_path / "points.csv")
    words = ["attack", "scoreboard", str(tmp_path / "ratings.csv"), str(tmp_path / "points.csv"), "--value", "stars"]
    result = told([*words, "--date", "day", "--target", "target", "--truth", "truth", "--rate", "0.05"], capsys)
    assert result["targets"] == 40
    assert int(str(result["right"])) >= 12


def test_uniqueness_for_a_program(files: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    sets = told(["attack", "uniqueness", files[0], "--on", "sex,age", "--most", "2"], capsys, 0)["sets"]
    assert [one["columns"] for one in sets] == [["sex"], ["age"], ["sex", "age"]]  # type: ignore[attr-defined]
    points = told(["attack", "uniqueness", files[0], "--person", "sex", "--on", "zip", "--points", "1, 2"], capsys, 0)
    assert [one["points"] for one in points["points"]] == [1, 2]  # type: ignore[attr-defined]
    assert "id" in told(["attack", "uniqueness", files[0], "--most", "1"], capsys)["headline"]  # type: ignore[operator]


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["linkage", "FILE", "FILE", "--on", "=a"], "syntax-error: --on … =a"),
        (["linkage", "FILE", "FILE", "--on", "a="], "syntax-error: --on … a="),
        (["linkage", "FILE", "FILE", "--truth", "a,b"], "syntax-error: --truth"),
        (["linkage", "FILE", "FILE", "--precision", "2"], "out-of-range: of 2"),
        (["linkage", "FILE", "nowhere.csv"], "missing-file: no file"),
        (["linkage", "FILE", "FILE", "--out", "x.pdf"], "wrong-ending: HTML"),
        (["uniqueness", "FILE", "--points", "one"], "syntax-error: --points"),
        (["uniqueness", "FILE", "--on", "height"], "unknown-column: not there"),
        (["scoreboard", "FILE", "FILE"], "unknown-column: not there"),
    ],
)
def test_wrong_input_is_one_clear_line(
    words: list[str], problem: str, files: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    expect_code(problem, refused(["attack", *(files[0] if word == "FILE" else word for word in words)], capsys))


def test_words_of_a_release_are_read_by_hierarchies(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With a folder of them a released craft fits a known baker."""
    (tmp_path / "h").mkdir()
    (tmp_path / "h" / "job.csv").write_text("baker;craft;*\nsmith;craft;*\njudge;court;*\n")
    (tmp_path / "r.csv").write_text("job,age,ill\n" + "".join(f"craft,{age},no\n" for age in range(20, 60)))
    (tmp_path / "k.csv").write_text("name,job,age\n" + "".join(f"n{age},baker,{age}\n" for age in range(20, 60)))
    words = ["attack", "linkage", str(tmp_path / "r.csv"), str(tmp_path / "k.csv"), "--exact", "--json"]
    assert cli.main(words) == 0
    assert json.loads(capsys.readouterr().out)["result"]["fit_nobody"] == 40
    assert cli.main([*words, "--hierarchies", str(tmp_path / "h")]) == 1
    assert json.loads(capsys.readouterr().out)["result"]["uniquely_linkable"] == 40
    expect_code("folder-missing", refused([*words, "--hierarchies", str(tmp_path / "nowhere")], capsys))


@pytest.mark.parametrize("diagnoses", [("flu", "flu"), ("flu", "asthma"), ("", "")])
def test_the_headline_says_what_groups_give_away(
    diagnoses: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two people of each age, so no record is linked to one. With one diagnosis for each age, nobody needs a link."""
    ages = range(20, 60)
    rows = [f"{age},{diagnosis}\n" for age in ages for diagnosis in diagnoses]
    (tmp_path / "r.csv").write_text("age,diagnosis\n90,measles\n" + "".join(rows))
    (tmp_path / "k.csv").write_text("name,age\n" + "".join(f"{n}{age},{age}\n" for age in ages for n in "ab"))
    words = ["attack", "linkage", str(tmp_path / "r.csv"), str(tmp_path / "k.csv"), "--exact"]
    told_by_group = diagnoses == ("flu", "flu")
    result = told(words, capsys, 1 if told_by_group else 0)
    assert result["given_away"] == ({"diagnosis": 80} if told_by_group else {})
    words_of_groups = "; groups that look alike give away diagnosis of 80 records"
    assert str(result["headline"]).endswith(words_of_groups) == told_by_group


def test_too_few_strangers_for_a_rate_is_inconclusive(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "r.csv").write_text("person,item\n" + "".join(f"p{n},i{n}\n" for n in range(9)))
    (tmp_path / "p.csv").write_text("person,item\nx,i1\n")
    result = told(["attack", "scoreboard", str(tmp_path / "r.csv"), str(tmp_path / "p.csv")], capsys, 3)
    assert result["limits"] == ["too few simulated strangers for this rate"]
    assert "belong together: several from one person" in str(result["not_tried"])

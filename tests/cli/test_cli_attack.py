"""`privet attack` and `privet preflight` as people and pipelines meet them."""

from __future__ import annotations

import argparse
import json
import shutil
from pathlib import Path

import openpyxl
import pytest
from support.places import EXAMPLES
from support.refusals import expect_code, refused

from privet import cli
from privet.cli import attack
from privet.cli.attack import release
from privet.cli.attack.result import exit_code

BLOCK = str(EXAMPLES / "census-block.toml")
SMALL = """
format = 1
kind = "tables"
[attributes]
sex = ["F", "M"]
smokes = "boolean"
[[statistics]]
name = "everybody"
count = 3
[[statistics]]
name = "women"
where = "sex = 'F'"
count = {women}
[[statistics]]
name = "smokers"
where = "smokes"
count = {smokers}
"""


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """One woman, two men, all three smoke."""
    path = tmp_path / "small.toml"
    path.write_text(SMALL.replace("{women}", "1").replace("{smokers}", "3"))
    return path


@pytest.fixture
def safe(tmp_path: Path) -> Path:
    path = tmp_path / "safe.toml"
    path.write_text(SMALL.replace("{women}", "{below = 3}").replace("{smokers}", "{below = 3}"))
    return path


def test_the_census_block_is_solved_for_a_program(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["attack", "tables", BLOCK, "--no-repair", "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert (told["privet"], told["kind"]) == (1, "attack")
    result = told["result"]
    assert (result["solutions"], result["proven"], result["people"]) == (1, 7, 7)
    assert sorted(record["age"] for record in result["records"]) == [8, 18, 24, 30, 36, 66, 84]
    assert result["certificates_checked"]
    assert result["seconds"] > 0
    assert (result["told_apart"], result["undone"], result["alarm"]) == (7, 7, "bad")
    assert result["learned"] >= 20


def test_a_person_reads_the_headline_first_and_finds_the_report(
    small: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    truth = tmp_path / "truth.csv"
    truth.write_text("sex,smokes\nF,yes\nM,yes\nM,yes\n")
    out = tmp_path / "report.html"
    words = ["attack", "tables", str(small), "--out", str(out), "--truth", str(truth), "--public", "sex"]
    assert cli.main(words) == 1
    text = capsys.readouterr().out
    assert text.startswith("3 of 3 people are certain: only one data set fits the tables")
    assert "all 3 people have smokes yes" in text
    assert text.rstrip().endswith(f"The report is in {out}")
    assert "<title>" in out.read_text()


def test_queries_are_attacked_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["attack", "differencing", str(EXAMPLES / "hospital.toml"), "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["result"]["certain"] >= 1


def test_several_releases_in_one_run(
    small: Path, safe: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = tmp_path / "broken.toml"
    broken.write_text("format = 1")
    words = ["attack", "tables", str(small), str(safe), str(broken), "--no-repair"]
    assert cli.main([*words, "--json"]) == 1
    result = json.loads(capsys.readouterr().out)["result"]
    assert (result["certain"], result["learned"]) == (3, 1)
    assert [Path(one["file"]).name for one in result["releases"]] == ["small.toml", "safe.toml", "broken.toml"]
    assert "kind is None" in result["releases"][2]["problem"]
    options = argparse.Namespace(chosen="tables", seconds=9, limit=9, truth=None, public="", no_repair=True)
    assert release._one(small, options)["certain"] == 3  # what each process does
    assert set(release._one(broken, options)) == {"problem", "remedy"}
    assert cli.main(words) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "3 of 6 people are certain; things learned about known people: 1"
    assert lines[2].startswith("small.toml: 3 of 3 people are certain")
    assert lines[4].startswith("broken.toml: ")


def test_preflight_stops_a_pipeline_when_somebody_is_certain(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("clinic-tables.xlsx", "clinic-tables.toml"):
        shutil.copy(EXAMPLES / name, tmp_path)
    code = cli.main(["preflight", str(tmp_path / "clinic-tables.xlsx"), "--seconds", "1"])
    text = capsys.readouterr().out
    assert code == 1
    assert text.splitlines()[-1].startswith("preflight: do not publish these tables as they are (")


def workbook(path: Path, cells: list[list[object]]) -> Path:
    book = openpyxl.Workbook()
    book.active.title = "T"
    for row in cells:
        book.active.append(row)
    book.save(path)
    return path


MAPPING = """
format = 1
kind = "tables"
suppressed = {marks = ["D"], below = 5}
[attributes]
sex = ["F", "M"]
ill = "boolean"
[[tables]]
sheet = "T"
rows = ["sex"]
values = {All = "count", Ill = {count = true, where = "ill"}}
"""


def test_preflight_lets_harmless_tables_pass(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    book = workbook(tmp_path / "b.xlsx", [["sex", "All", "Ill"], ["Total", 90, 30], ["F", 40, "D"], ["M", 50, "D"]])
    (tmp_path / "b.toml").write_text(MAPPING.replace("below = 5", "below = 45"))
    assert cli.main(["preflight", str(book)]) == 0
    text = capsys.readouterr().out
    assert text.splitlines()[-1] == "preflight: nothing was found in these tables alone"
    assert "none of 2 suppressed or rounded counts is undone" in " ".join(text.split())


@pytest.mark.parametrize("how", ["", ', kind = "primary"', ', kind = "complementary"'])
def test_preflight_is_red_where_a_suppressed_cell_can_be_computed(
    how: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One hidden cell in a row with its total. A complementary one is red only if the rule would hide its count."""
    rows = [["sex", "All", "Ill"], ["Total", 90, 30], ["F", 40, "D"], ["M", 50, 11]]
    book = workbook(tmp_path / "b.xlsx", rows)
    (tmp_path / "b.toml").write_text(MAPPING.replace(", below = 5", how))
    assert cli.main(["preflight", str(book)]) == 1
    text = capsys.readouterr().out
    assert text.splitlines()[0] == "1 of 1 suppressed cell is undone"
    assert text.splitlines()[-1].endswith("(suppressed cells undone: 1)")


CROSS = """
format = 1
kind = "tables"
suppressed = [{marks = ["c"], below = 3, kind = "primary"}, {marks = ["x"], kind = "complementary"}]
[attributes]
ward = ["A", "B", "C"]
ill = ["p", "q", "r"]
[[tables]]
sheet = "T"
rows = ["ward"]
columns = "ill"
value = "count"
"""


def test_an_undone_complementary_cell_that_no_rule_hides_is_listed_and_no_alarm(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The rule hides counts below 3; the cell that can be computed is 7. The four others protect each other."""
    folder = tmp_path / "book"
    folder.mkdir()
    (tmp_path / "book.toml").write_text(CROSS)
    rows = ("ward,p,q,r,Total", "A,c,x,9,16", "B,x,x,11,36", "C,14,8,x,29", "Total,20,34,27,81")
    (folder / "T.csv").write_text("\n".join(rows))
    assert cli.main(["preflight", str(folder), "--json"]) == 0
    result = json.loads(capsys.readouterr().out)["result"]
    assert (result["undone"], result["undone_complementary"], result["alarm"]) == (0, 1, "neutral")
    assert len(result["cells"]) == 5
    assert cli.main(["preflight", str(folder)]) == 0
    text = capsys.readouterr().out
    assert text.splitlines()[-1].startswith("preflight: passed, with remarks")
    assert "Complementary suppressed counts" in text


def test_an_empty_cell_that_can_be_computed_is_red_if_the_rule_would_hide_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ward C has one of q: 29 - 14 - 14. The empty cell of ward B is nobody, and no alarm."""
    folder = tmp_path / "book"
    folder.mkdir()
    (tmp_path / "book.toml").write_text(CROSS)
    rows = ("ward,p,q,r,Total", "A,7,5,4,16", "B,18,,18,36", "C,14,,14,29", "Total,39,6,36,81")
    (folder / "T.csv").write_text("\n".join(rows))
    assert cli.main(["preflight", str(folder), "--json"]) == 1
    result = json.loads(capsys.readouterr().out)["result"]
    assert {cell["cell"]: (cell["low"], cell["alarm"]) for cell in result["cells"]} == {
        "T C3 (ward B, ill q)": (0, False), "T C4 (ward C, ill q)": (1, True),
    }  # fmt: skip
    assert result["undone"] == 1


PERCENTS = """
format = 1
kind = "tables"
suppressed = {marks = ["c"], below = 5}
[attributes]
ward = ["A", "B", "C"]
ill = "boolean"
[[tables]]
sheet = "T"
rows = ["ward"]
values = {All = "count", Ill = {percent = true, where = "ill", of = ["ward"], decimals = 1}}
"""


def percents(folder: Path, *, ill: str = "c") -> list[str]:
    """10 of 50 are ill: 4 of 20 in ward A, 5 of 20 in C, and 1 of 10 in B."""
    (folder / "book").mkdir()
    (folder / "book.toml").write_text(PERCENTS)
    (folder / "book" / "T.csv").write_text(f"ward,All,Ill\nA,20,20.0\nB,10,{ill}\nC,20,25.0\nTotal,50,20.0")
    return ["preflight", str(folder / "book"), "--json"]


def test_a_suppressed_percentage_that_can_be_computed_is_red(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(percents(tmp_path)) == 1
    result = json.loads(capsys.readouterr().out)["result"]
    assert [(cell["cell"], cell["low"], cell["high"]) for cell in result["cells"]] == [
        ("T C3 (percent, ill, ward B)", 1, 1)
    ]
    assert result["undone"] == 1


def test_a_percentage_left_out_beside_its_count_hides_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = percents(tmp_path)
    (tmp_path / "book.toml").write_text(
        PERCENTS.replace("values = {", 'values = {Sick = {count = true, where = "ill"}, ')
    )
    rows = "ward,All,Sick,Ill\nA,20,4,20.0\nB,10,1,c\nC,20,5,25.0\nTotal,50,10,20.0"
    (tmp_path / "book" / "T.csv").write_text(rows)
    cli.main(words)
    assert json.loads(capsys.readouterr().out)["result"]["cells"] == []


@pytest.mark.parametrize(("total", "limits"), [("30", ["1 suppressed mean or sum not audited"]), ("c", [])])
def test_a_suppressed_mean_is_not_called_safe(
    total: str, limits: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ages of ward A follow from those of everybody. If no mean is published, nothing does."""
    (tmp_path / "book").mkdir()
    mapping = PERCENTS.replace('ill = "boolean"', "age = {min = 0, max = 99}")
    (tmp_path / "book.toml").write_text(
        mapping[: mapping.index("values")] + 'values = {All = "count", Age = "mean age"}'
    )
    (tmp_path / "book" / "T.csv").write_text(f"ward,All,Age\nA,20,c\nTotal,50,{total}")
    assert cli.main(["preflight", str(tmp_path / "book"), "--json"]) == (3 if limits else 0)
    result = json.loads(capsys.readouterr().out)["result"]
    assert (result["limits"], result["undone"]) == (limits, 0)


def test_the_verdict_names_what_limits_it() -> None:
    result = {"alarm": "neutral", "limits": ["2 people not decided"], "learned_if_present": 0}
    assert attack._verdict(result) == "preflight: not decided (2 people not decided); try --seconds with more"
    assert exit_code(result) == 3
    absent = {"alarm": "neutral", "limits": [], "learned_if_present": 1}
    assert attack._verdict(absent).startswith("preflight: look at what would be learned")
    assert exit_code(absent) == 1


@pytest.mark.parametrize(
    ("result", "code"),
    [
        ({}, 0),
        ({"alarm": "neutral", "limits": []}, 0),
        ({"proven": 1, "limits": ["2 people not decided"]}, 1),
        ({"claimed": 1}, 1),
        ({"alarm": "bad"}, 1),
        ({"learned_if_present": 1, "limits": ["2 people not decided"]}, 1),
        ({"problem": "no such file"}, 2),
        ({"alarm": "neutral", "limits": ["2 people not decided"]}, 3),
    ],
)
def test_one_rule_for_the_exit_code_of_every_attack(result: dict[str, object], code: int) -> None:
    assert exit_code(result) == code


def test_several_releases_end_with_the_worst_of_their_codes(
    small: Path, safe: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    missing = tmp_path / "missing.toml"
    words = ["attack", "tables", "--no-repair", "--json", str(safe)]
    assert [cli.main([*words, str(one)]) for one in (safe, missing, small)] == [0, 2, 1]
    capsys.readouterr()


NARROW = """
format = 1
kind = "queries"
people = {Ada = 1, Bo = 1, Cy = 1}
[secret]
name = "pay"
values = {min = 0, max = 5000}
[[queries]]
name = "all"
sum = {value = 6000, rounded = 10}
[[queries]]
name = "without Ada"
of = ["Bo", "Cy"]
sum = {value = 4000, rounded = 10}
"""


def test_a_person_within_a_narrow_range_is_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Ada's pay is the difference of two rounded sums: nobody is certain, and Ada has 1,990 to 2,010 of 0 to 5,000."""
    (tmp_path / "pay.toml").write_text(NARROW)
    assert cli.main(["attack", "differencing", str(tmp_path / "pay.toml"), "--json"]) == 1
    result = json.loads(capsys.readouterr().out)["result"]
    assert (result["proven"], result["in_range"], result["alarm"], result["limits"]) == (0, 1, "bad", [])


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["attack", "tables", BLOCK, "--seconds", "0"], "not-positive: seconds … above 0"),
        (["attack", "tables", BLOCK, "--out", "x.pdf"], "wrong-ending: HTML"),
        (["attack", "tables", BLOCK, BLOCK, "--out", "x.html"], "contradictory-options: --out … --truth"),
        (["attack", "tables", "nowhere.toml"], "unreadable-file: nowhere.toml"),
        (["attack", "graphs", BLOCK], "wrong-usage: attack graphs"),
        (["attack", "tables", BLOCK, "--truth", "nowhere.csv"], "unreadable-file: nowhere.csv"),
        (["preflight", "nowhere.xlsx"], "missing-file: nowhere.xlsx"),
    ],
)
def test_wrong_input_is_one_clear_line(words: list[str], problem: str, capsys: pytest.CaptureFixture[str]) -> None:
    expect_code(problem, refused(words, capsys))


def test_a_workbook_without_a_mapping_says_what_to_write(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    book = workbook(tmp_path / "b.xlsx", [])
    expect_code("missing-file: b.toml … b.xlsx", refused(["preflight", str(book)], capsys))
    (tmp_path / "b.toml").write_text(MAPPING)
    expect_code("empty: b.toml", refused(["preflight", str(book)], capsys))  # an empty workbook

"""Drafted release files: numbers mean the people they were made from, what is planted is found, doubts are asked."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from openpyxl.styles import Alignment
from support.office_books import (
    Count,
    Office,
    census_office,
    database_office,
    island_office,
    line_office,
    survey_office,
    union_office,
)
from support.refusals import raises_code
from support.table_oracle import untrue

from privet import cli
from privet.attacks import attack_tables, draft_release, read_tables, tables_of
from privet.attacks.drafts.release_draft import DraftRelease
from privet.attacks.drafts.vocabulary import Meaning, band_of, meaning_of, measure_of, rounding_of
from privet.attacks.release.statistics import Between, Statistic, Tables
from privet.core.evaluate import evaluate
from privet.errors import InvalidInputError

OFFICES: list[Callable[[], Office]] = [
    database_office, census_office, survey_office, line_office, union_office, island_office,
]  # fmt: skip
Rows = Sequence[Sequence[object]]


def exact(person: Mapping[str, Any]) -> dict[str, Any]:
    return {name: Fraction(value) if isinstance(value, int) else value for name, value in person.items()}


def place(statistic: Statistic) -> str:
    return statistic.name.split(" (")[0]


def drafted(office: Office, folder: Path) -> tuple[DraftRelease, Tables]:
    """The draft as it is read again from its text."""
    csv = office.pages[0].name.endswith(".csv")
    path = office.write(folder / (office.pages[0].name if csv else "book.xlsx"))
    draft = draft_release(path)
    (folder / "book.toml").write_text(draft.toml(), encoding="utf-8")
    return draft, read_tables(folder / "book.toml")


@pytest.mark.parametrize("make", OFFICES)
def test_every_number_is_about_the_people_it_was_made_from(make: Callable[[], Office], tmp_path: Path) -> None:
    """All cells, and none besides; what each says is true of these people; and fewer people do not fit."""
    office = make()
    _, tables = drafted(office, tmp_path)
    read = {place(one): one for one in tables.statistics}
    assert set(read) == {cell for cell, _ in office.cells()}
    for cell, meant in office.cells():
        got = [evaluate(read[cell].where, exact(record)) is True for record in office.records()]
        assert got == [bool(meant.who(record)) for record in office.records()], cell
    people = [exact(person) for person in office.people]
    assert untrue(tables, people) == []
    assert all(untrue(tables, people[:left] + people[left + 3 :]) for left in range(len(people) - 3))


@pytest.mark.parametrize("make", [database_office, census_office, survey_office])
def test_what_is_planted_is_found(make: Callable[[], Office], tmp_path: Path) -> None:
    """Hidden counts have exactly the bounds that remain when all lists of people are tried one after the other."""
    office = make()
    _, tables = drafted(office, tmp_path)
    found = attack_tables(tables, repair=False, seconds=20).to_json()
    bounds = {cell["cell"].split(" (")[0]: (cell["low"], cell["high"]) for cell in found["cells"]}
    possible = office.possible(lambda shown, number: office.shown(number) == shown)
    counts = {cell for cell, meant in office.cells() if isinstance(meant, Count)}
    assert {cell: bounds[cell] for cell in counts & set(bounds)} == {
        cell: possible[cell] for cell in counts & set(bounds)
    }
    hidden = {cell for cell, meant in office.cells() if cell in counts and isinstance(office.printed(meant), str)}
    assert hidden - set(bounds) <= {cell for cell in hidden if possible[cell] == (0, 0)}  # a sign for nothing
    assert found["undone"] >= 3
    assert found["alarm"] == "bad"


def test_what_the_drafts_of_the_offices_ask(tmp_path: Path) -> None:
    asked = {}
    for make in OFFICES:
        (tmp_path / make.__name__).mkdir()
        asked[make.__name__] = drafted(make(), tmp_path / make.__name__)[0].questions[2:]
    words = {
        "database_office": ["what does '.' mean"],
        "census_office": ["Cover, Notes"],
        "survey_office": [],
        "line_office": ["what does '.' mean", "0-20 and 20+ overlap"],
        "union_office": ["what does ':' mean", "Summary"],
        "island_office": [],
    }
    for name, expected in words.items():
        assert len(asked[name]) == len(expected)
        assert all(word in question for word, question in zip(expected, asked[name], strict=True)), asked[name]


# One sheet at a time


def book(path: Path, rows: Rows, indents: Mapping[str, int] | None = None, **formats: str) -> Path:
    made = openpyxl.Workbook()
    sheet = made.active
    assert sheet is not None
    sheet.title = "T"
    for row in rows:
        sheet.append(list(row))
    for cell, depth in (indents or {}).items():
        sheet[cell].alignment = Alignment(indent=depth)
    for cell, form in formats.items():
        sheet[cell].number_format = form
    made.save(path)
    return path


def draft_of(folder: Path, rows: Rows, indents: Mapping[str, int] | None = None, **formats: str) -> DraftRelease:
    return draft_release(book(folder / "b.xlsx", rows, indents, **formats))


def cells(draft: DraftRelease, folder: Path) -> dict[str, Statistic]:
    return {place(one).removeprefix("T "): one for one in tables_of(draft.document, folder).statistics}


def is_about(statistic: Statistic, **person: Any) -> bool:
    return evaluate(statistic.where, exact(person)) is True


def test_regions_made_of_wards_and_counts_in_thousands(tmp_path: Path) -> None:
    rows: Rows = [
        ["Employed persons (thousands) by region, 2023 and 2024"],
        [],
        ["Region", 2023, 2024],
        ["Whole country", 10.5, 11.0], ["North", 4.0, 4.5], ["Arden", 1.5, 2.0], ["Bree", 2.5, 2.5],
        ["South", 6.5, 6.5], ["Corin", 3.0, 3.5], ["Dale", 3.5, 3.0],
    ]  # fmt: skip
    draft = draft_of(tmp_path, rows, {"A5": 1, "A6": 2, "A7": 2, "A8": 1, "A9": 2, "A10": 2})
    assert draft.document["attributes"] == {"year": [2023, 2024], "region": ["Arden", "Bree", "Corin", "Dale"]}
    assert draft.document["labels"] == {"region": {"North": ["Arden", "Bree"], "South": ["Corin", "Dale"]}}
    (table,) = draft.document["tables"]
    assert (table["lines"], table["columns"], table["total"], table["times"]) == (
        ["4:10"], "year", ["Whole country"], 1000,
    )  # fmt: skip
    assert (
        cells(draft, tmp_path)["B5"].count == Between(Fraction(3950), Fraction(4050)) or "4 has no decimals in a file"
    )


def test_headings_that_divide_everybody_anew_are_attributes_of_their_own(tmp_path: Path) -> None:
    rows: Rows = [
        ["Employment of persons aged 16 and over"],
        ["Characteristic", "In work", "Looking for work", "Total"],
        ["Total, 16 years and over", 90, 10, 100],
        ["Sex"], ["Men", 50, 6, 56], ["Women", 40, 4, 44],
        ["Age"], ["16 to 24 years", 20, 4, 24], ["25 years and over", 70, 6, 76],
    ]  # fmt: skip
    draft = draft_of(tmp_path, rows)
    assert draft.document["attributes"] == {
        "sex": ["Men", "Women"], "age": {"min": 16, "max": 115}, "group1": ["In work", "Looking for work"],
    }  # fmt: skip
    assert [question for question in draft.questions[2:] if "group1" in question]
    found = cells(draft, tmp_path)
    assert is_about(found["B9"], sex="Men", age=30, group1="In work")
    assert is_about(found["B5"], sex="Men", age=17, group1="In work")
    assert is_about(found["D3"], sex="Men", age=17, group1="In work")
    assert not is_about(found["B9"], sex="Men", age=17, group1="In work")


def test_percentages_of_a_row_of_a_column_and_in_percent_format(tmp_path: Path) -> None:
    of_rows: Rows = [
        ["Pupils by school type and mother tongue, per cent"],
        ["School type", "Total", "Dutch", "Frisian"],
        ["Primary", 100, 60.2, 39.8],
        ["Secondary", 100, 70.5, 29.5],
    ]
    draft = draft_of(tmp_path, of_rows)
    (table,) = draft.document["tables"]
    assert (table["columns"], table["value"]) == ("mother_tongue", {"percent": True, "of": ["school_type"]})
    beside: Rows = [
        ["Branch", "Members", "Women", "% women", "% of all"],
        ["East", 10, 6, 0.6, 0.25], ["West", 30, 9, 0.3, 0.75], ["All branches", 40, 15, 0.375, 1],
    ]  # fmt: skip
    formats = {f"{column}{row}": "0%" for column in "DE" for row in (2, 3, 4)}
    draft = draft_of(tmp_path, beside, **formats)
    values = {one["column"]: one for one in draft.document["tables"][0]["values"]}
    assert values["% women"] == {
        "column": "% women", "percent": True, "of": ["branch"], "times": 100, "where": "sex = 'Women'",
    }  # fmt: skip
    assert values["% of all"] == {"column": "% of all", "percent": True, "times": 100}


def test_a_heading_inside_a_table_may_change_the_measure(tmp_path: Path) -> None:
    rows: Rows = [
        ["Prisoners by sex and state"],
        ["State", "Males", None, "Females", None],
        [None, "Born here", "Born elsewhere", "Born here", "Born elsewhere"],
        ["NUMBER"], ["Esk", 12, 20, 4, 5], ["Tarn", 6, 25, 3, 5],
        ["PROPORTION (%)"], ["Esk", 37.5, 62.5, 44.4, 55.6], ["Tarn", 19.4, 80.6, 37.5, 62.5],
    ]  # fmt: skip
    draft = draft_of(tmp_path, rows)
    assert [table["lines"] for table in draft.document["tables"]] == [["5:6"], ["8:9"], ["8:9"]]
    assert [table.get("where") for table in draft.document["tables"]] == [None, "sex = 'Males'", "sex = 'Females'"]
    assert any("upper heading" in question for question in draft.questions)
    people = [
        {"sex": sex, "state": state, "group1": born}
        for state, numbers in (("Esk", (12, 20, 4, 5)), ("Tarn", (6, 25, 3, 5)))
        for (sex, born), number in zip(
            [(sex, born) for sex in ("Males", "Females") for born in ("Born here", "Born elsewhere")],
            numbers,
            strict=True,
        )
        for _ in range(number)
    ]
    assert untrue(tables_of(draft.document, tmp_path), people) == []


def test_tables_beside_and_below_each_other_codes_and_numbers_with_footnotes(tmp_path: Path) -> None:
    rows: Rows = [
        ["sex", "age group", "Persons", "Mean age", None, "Code", "Ward", "Cases"],
        ["F", "0-17", 4, 9.5, None, "W01", "A", 3],
        ["F", "18+", "16 (r)", 40.1, None, "W02", "B", 7],
        ["M", "0-17", 5, 8.2, None, "W03", "C", "<3"],
        ["M", "18+", "<3", "<3", None, "W04", "Total", 11],
        [],
        ["Table 2: members"],
        ["sex", "Members"],
        ["F", 3],
        ["M", 4],
    ]
    draft = draft_of(tmp_path, rows)
    assert [table["lines"] for table in draft.document["tables"]] == [["2:5"], ["2:5"], ["9:10"]]
    assert draft.document["tables"][0]["skip"] == ["C3"]
    assert draft.document["tables"][1]["ignore"] == ["F:F"]
    assert draft.unread == ("cell C3 of T",)
    assert draft.document["suppressed"] == [{"marks": ["<3"], "kind": "primary", "below": 3}]


def test_margins_of_error_and_two_levels_of_indented_labels(tmp_path: Path) -> None:
    rows: Rows = [
        ["", "Ash County", "", "Birch County", ""],
        ["Label", "Estimate", "Margin of Error", "Estimate", "Margin of Error"],
        ["Total:", 24, "±2", 21, "±4"],
        ["    Male:", 13, "±2", 9, "±2"],
        ["        Under 18 years", 6, "±2", 4, "±3"], ["        18 years and over", 7, "±2", 5, "±3"],
        ["    Female:", 11, "±2", 12, "±2"],
        ["        Under 18 years", 5, "±2", 5, "±2"], ["        18 years and over", 6, "±2", 7, "±2"],
    ]  # fmt: skip
    draft = draft_of(tmp_path, rows)
    assert draft.unread == ("column 'Margin of Error' of T",)
    found = cells(draft, tmp_path)
    assert set(found) == {f"{column}{row}" for column in "BD" for row in range(3, 10)}
    girl = {"sex": "Female", "age": 5, "group1": "Ash County"}
    assert [cell for cell in sorted(found) if is_about(found[cell], **girl)] == ["B3", "B7", "B8"]


def test_a_list_with_a_financial_year_and_codes_of_letters(tmp_path: Path) -> None:
    """2022-23 is no band of ages, and a mark among labels is a mark."""
    rows: Rows = [
        ["Period", "ORG_CODE", "ORG_NAME", "SEX", "ADMISSIONS"],
        ["2022-23", "RAA", "Abbey Trust", "Female", 37], ["2022-23", "RAA", "Abbey Trust", "Male", "*"],
        ["2022-23", "RCC", "Castle Trust", "Female", 12], ["2022-23", "RCC", "Castle Trust", "Male", 26],
        [], ["Values between 1 and 7 are shown as *. Other values are not changed."],
    ]  # fmt: skip
    draft = draft_of(tmp_path, rows)
    assert draft.document["attributes"] == {
        "period": ["2022-23"], "org_name": ["Abbey Trust", "Castle Trust"], "sex": ["Female", "Male"],
    }  # fmt: skip
    assert draft.document["suppressed"] == [{"marks": ["*"], "kind": "primary", "below": 8, "least": 1}]
    assert draft.document["tables"][0]["ignore"] == ["B:B"]
    assert draft.questions[2:] == ()


QUESTIONS: list[tuple[Rows, str]] = [
    ([["sex", "n"], ["F", 4], ["M", "-"]], "what does '-' mean"),
    ([["sex", "n"], ["F", 4], ["M", "c"], ["Total", 5], ["c: confidential"]], "Which counts does it hide"),
    ([["sex", "n", "%"], ["F", 4, 11.1], ["M", 5, 12.2]], "percentages in column C"),
    ([["sex", "n", "rate"], ["F", 4, 11.1], ["M", 5, 12.2]], "numbers in column C"),
    ([["Ward", "n", "m"], *([f"w{n}", 5 * n, 15 + 5 * n] for n in range(2, 9))], "14 counts are multiples of 5"),
    ([["sex", "n"], ["F", 5], ["M", 10], ["Counts were rounded to base 5"]], "nearest 5"),
    ([["sex", "n"], ["F", 4], ["M", 11], ["All counts are rounded to the nearest 5"]], "not all counts are multiples"),
    ([["sex", "n"], ["F", 4], ["M", 5], ["Random noise was added to the counts"]], "changed at random"),
    ([["age", "n"], ["16-64", 9], ["16-24", 4], ["25-64", 5]], "16-64 and 16-24 overlap"),
    ([["Ward", "n"], ["A", 4], ["B", 5], ["Total", 11]], "do not add up to the total"),
    ([["Tongue", "n"], ["Dutch", 4], ["Frisian", 5], ["Total", 7]], "can one person count in several"),
    ([["Ward", "n"], ["A", 4], ["B", 5], ["Elsewhere", 9]], "is 'Elsewhere' the total"),
    ([["no", "Ward", "n"], [11, "A", 4], [12, "B", 5]], "column A only codes"),
    ([["Site", "Cases", "n"], ["A1", "1-4", 40], ["B2", "5-9", 50]], "texts in column A only codes"),
    ([["sex", "n"], ["F", 4], ["M", "c"]], "what does 'c' mean"),
    ([["sex", "n"], ["F", "c"], ["M", 4]], "what does 'c' mean"),
    ([["sex", "n"], ["F", 4], ["M", "secret"], ["Total", 9]], "does row 3 belong to the table above it"),
    ([["sex", "n"], ["F", 4], ["M", "secret"]], "does row 3 belong to the table above it"),
    ([["", "Ill", "Well"], ["F", 4, 3], ["M", 5, 3]], "exactly one of 'Ill', 'Well'"),
    ([["F", 4], ["M", 5], [], ["sex", "n"], ["F", 4]], "no row above them names the columns"),
    ([["Of 2022", ""], ["sex", "n"], ["F", 4], [], ["Of 2023", ""], ["sex", "n"], ["F", 5]], "tables of 2022, 2023"),
    ([["sex", "a", "Mean income"], ["F", 4, 30.5], ["M", 5, 20.5]], "seems to be the mean income"),
    ([["People aged 16 and over"], ["sex", "n"], ["F", 4], [], [], ["sex", "n"], ["F", 5]], "aged 16+"),
]


@pytest.mark.parametrize(("rows", "words"), QUESTIONS)
def test_what_cannot_be_decided_is_asked(rows: Rows, words: str, tmp_path: Path) -> None:
    draft = draft_of(tmp_path, rows)
    assert [question for question in draft.questions if words in question], draft.questions
    assert tomllib.loads(draft.toml())["questions"] == list(draft.questions)


def test_years_in_titles_tell_tables_apart(tmp_path: Path) -> None:
    rows: Rows = [["Of 2022"], ["sex", "n"], ["F", 4], ["M", 3], [], ["Of 2023"], ["sex", "n"], ["F", 5], ["M", 3]]
    draft = draft_of(tmp_path, rows)
    assert [table["where"] for table in draft.document["tables"]] == ["year = 2022", "year = 2023"]
    assert attack_tables(tables_of(draft.document, tmp_path), repair=False, seconds=5).people == 15


def test_a_number_without_a_label_is_named_as_not_read(tmp_path: Path) -> None:
    assert draft_of(tmp_path, [["sex", "n"], ["F", 4], ["", 5]]).unread == ("row 3 of T",)


# Words


@pytest.mark.parametrize(
    ("note", "mark", "meaning"),
    [
        ("c = confidential: fewer than 3 people", "c", Meaning(below=3, kind="primary", sure=True)),
        ("D: fewer than 10 persons", "D", Meaning(below=10, kind="primary", sure=True)),
        ("Counts below 5 are replaced by '*'.", "*", Meaning(below=5, kind="primary", sure=True)),
        ("Key: - = nil; x = suppressed to protect other cells", "-", Meaning(zero=True, sure=True)),
        ("Key: - = nil; x = suppressed to protect other cells", "x", Meaning(kind="complementary", sure=True)),
        ("[c] denotes counts of 1 to 4", "[c]", Meaning(least=1, below=5, kind="primary", sure=True)),
        ("s = suppressed, 5 or fewer", "s", Meaning(below=6, kind="primary", sure=True)),
        ("(D) Withheld to avoid disclosing data", "(D)", Meaning(kind="primary")),
        ("- zero or rounds to zero", "-", Meaning()),
        ("x = fewer than 3, or hidden so that other cells cannot be computed", "x", Meaning(sure=True)),
        ("", "<5", Meaning(below=5, kind="primary", sure=True)),
        ("", "≤4", Meaning(below=5, kind="primary", sure=True)),
        ("c = fewer than 3", "d", Meaning()),
    ],
)
def test_what_notes_say_of_marks(note: str, mark: str, meaning: Meaning) -> None:
    """A mark that hides two sorts of counts hides any number."""
    assert meaning_of(mark, [note]) == meaning


@pytest.mark.parametrize(
    ("note", "said"),
    [
        ("Counts are rounded to the nearest 5.", (5, "rounded")),
        ("Cells were randomly rounded to base 3", (3, "random_rounded")),
        ("Figures have been rounded to multiples of 10", (10, "")),
        ("Numbers may not add up due to rounding", None),
    ],
)
def test_what_notes_say_of_rounding(note: str, said: tuple[int, str] | None) -> None:
    assert rounding_of([note]) == said


def test_measures_and_bands() -> None:
    said = {
        text: measure_of(text) for text in ("Number of persons", "% women", "Mean age (years)", "Rate per 1,000", "Men")
    }
    assert list(said.values()) == ["count", "percent", "mean age", "other", ""]
    bands = [band_of(text) for text in ("under 5", "18 to under 65 years", "From 15 to 24 years", "65+", "Men")]
    assert [band and (band.low, band.high) for band in bands] == [(None, 4), (18, 64), (15, 24), (65, None), None]


# Never green


PLAIN: Rows = [["sex", "Persons"], ["F", 40], ["M", 50], ["Total", 90]]


def test_no_draft_is_green_until_its_questions_are_answered(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    book(tmp_path / "b.xlsx", PLAIN)
    assert cli.main(["preflight", "b.xlsx"]) == 2
    assert "`privet describe b.xlsx --release --out b.toml`" in capsys.readouterr().err
    assert cli.main(["attack", "tables", "b.xlsx"]) == 2
    assert "`privet describe b.xlsx --release --out b.toml`" in capsys.readouterr().err
    assert cli.main(["describe", "b.xlsx", "--release", "--out", "b.toml"]) == 0
    shown = capsys.readouterr().out
    assert "1. Does [attributes] list every value" in shown
    assert "privet attack tables b.toml" in shown
    for command in (["preflight", "b.xlsx"], ["attack", "tables", "b.toml"]):
        assert cli.main(command) == 3
        assert "2 questions of the release file not answered" in " ".join(capsys.readouterr().out.split())
    text = (tmp_path / "b.toml").read_text()
    start, end = text.index("questions = ["), text.index("]\n", text.index("questions = [")) + 2
    (tmp_path / "b.toml").write_text(text[:start] + text[end:])
    assert cli.main(["preflight", "b.xlsx"]) == 0


def test_a_question_is_a_limit_that_more_work_does_not_lift(tmp_path: Path) -> None:
    book(tmp_path / "b.xlsx", PLAIN)
    found = attack_tables(tables_of(draft_release(tmp_path / "b.xlsx").document, tmp_path), repair=False, seconds=5)
    assert found.alarm == "neutral"
    assert any(line.startswith("not answered: Does [attributes]") for line in found.not_tried)
    assert not any("--seconds" in line for line in found.not_tried)


def test_the_command_writes_where_it_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = book(tmp_path / "b.xlsx", PLAIN)
    (tmp_path / "more").mkdir()
    assert cli.main(["describe", str(path), "--release", "--out", str(tmp_path / "more/r.toml")]) == 0
    assert read_tables(tmp_path / "more/r.toml").statistics[0].name == "T B2 (sex F)"
    capsys.readouterr()
    assert cli.main(["describe", str(path), "--release"]) == 0
    assert tomllib.loads(capsys.readouterr().out)["workbook"] == "b.xlsx"
    assert cli.main(["describe", str(path), "--release", "--json"]) == 0
    assert '"questions": [' in capsys.readouterr().out
    assert cli.main(["describe", str(path), "--release", "--sheet", "T"]) == 2


def test_a_folder_and_single_csv_files(tmp_path: Path) -> None:
    (tmp_path / "book").mkdir()
    text = "Region;Persons;Share\nNorth;1.234;61,7\nSouth;766;38,3\nTotal;2.000;100,0\n"
    (tmp_path / "book/T1.csv").write_text(text)
    for path, places in ((tmp_path / "book", "T1"), (tmp_path / "book/T1.csv", "T1.csv")):
        draft = draft_release(path)
        tables = tables_of(draft.document, path.parent)
        counts = {place(one): one.count for one in tables.statistics}
        assert counts[f"{places} B2"] == Between(Fraction(1234), Fraction(1234))
        assert draft.document["decimal"] == ","
        assert draft.document["tables"][0]["delimiter"] == ";"


# Hostile files


def test_stray_cells_and_hidden_sheets(tmp_path: Path) -> None:
    made = openpyxl.load_workbook(book(tmp_path / "b.xlsx", PLAIN))
    far, secret = made.create_sheet("far"), made.create_sheet("secret")
    far["XFD1048576"], secret["A1"] = 1, "Ada"
    secret.sheet_state = "hidden"
    made.save(tmp_path / "b.xlsx")
    draft = draft_release(tmp_path / "b.xlsx")
    assert draft.unread == ("hidden sheet 'secret'", "sheet 'far'")
    assert any("17,179,869,184 cells" in question for question in draft.questions)
    del made["T"]
    made.save(tmp_path / "b.xlsx")
    with raises_code(InvalidInputError, "too-large: 17,179,869,184"):
        draft_release(tmp_path / "b.xlsx")
    with raises_code(InvalidInputError, "too-large: 17,179,869,184"):
        tables_of({"attributes": {"a": ["b"]}, "tables": [{"sheet": "far"}]}, tmp_path, tmp_path / "b.xlsx")


@pytest.mark.parametrize(
    ("rows", "code"),
    [
        ([*PLAIN[:3], ["Total", "=B2+B3"]], "formula-without-value: 1 formulas … =B2+B3 … B4"),
        ([["hello"]], "empty: no table"),
        ([], "empty: no table"),
        ([["F", 3], ["M", 4]], "empty: no row above them names the columns"),
    ],
)
def test_books_without_a_table_that_can_be_read(rows: Rows, code: str, tmp_path: Path) -> None:
    with raises_code(InvalidInputError, code):
        draft_of(tmp_path, rows)


def test_files_that_are_no_workbook(tmp_path: Path) -> None:
    for name, code in (("b.xls", "wrong-ending"), ("b.xlsx", "unreadable-file"), ("b.csv", "unreadable-file")):
        (tmp_path / name).write_bytes(b"PK\xff\xfe nonsense")
        with raises_code(InvalidInputError, f"{code}: {name}"):
            draft_release(tmp_path / name)


def test_a_pipe_and_a_field_without_an_end(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.csv")
    with raises_code(InvalidInputError, "not-a-file: pipe.csv"):
        draft_release(tmp_path / "pipe.csv")
    (tmp_path / "open.csv").write_text('a,b\nx,1\n"y,2\n' + "z,3\n" * 50_000)
    with raises_code(InvalidInputError, "unreadable-file: open.csv … line 3 … 131,072"):
        draft_release(tmp_path / "open.csv")


def test_many_rows_are_refused_with_their_number(tmp_path: Path) -> None:
    (tmp_path / "b.csv").write_text("a,b\n" + "x,1\n" * 150_000)
    with raises_code(InvalidInputError, "too-large: 300,002"):
        draft_release(tmp_path / "b.csv")


def test_labels_nested_without_end(tmp_path: Path) -> None:
    rows: Rows = [["A", "n"], *([f"L{row}", row] for row in range(200))]
    draft = draft_of(tmp_path, rows, {f"A{row + 2}": row for row in range(200)})
    assert draft.cells <= 200

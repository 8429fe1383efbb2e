"""What a release file does not speak of is named: sheets, columns and rows with data, and formulas without a value."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import openpyxl
import pandas as pd
import pytest
from support.refusals import raises_code

from privet import cli
from privet.attacks.release.file import published_tables, tables_of
from privet.attacks.release.statistics import Tables
from privet.errors import InvalidInputError

ATTRIBUTES = {"sex": ["F", "M"], "ill": "boolean"}
ROWS: list[list[object]] = [["sex", "Persons"], ["F", 40], ["M", 50], ["Total", 90]]
TABLE = {"sheet": "T1", "rows": ["sex"], "values": {"Persons": "count"}}


def book(path: Path, **sheets: list[list[object]]) -> Path:
    made = openpyxl.Workbook()
    made.remove(made.active)
    for name, rows in sheets.items():
        sheet = made.create_sheet(name)
        for row in rows:
            sheet.append(row)
        sheet.sheet_state = "hidden" if name == "raw" else "visible"
    made.save(path)
    return path


def of(workbook: Path, *tables: dict[str, Any], **more: Any) -> Tables:
    return tables_of({"attributes": ATTRIBUTES, "tables": list(tables), **more}, workbook.parent, workbook)


def test_sheets_that_no_table_is_about_are_named_hidden_ones_first(tmp_path: Path) -> None:
    path = book(tmp_path / "b.xlsx", T1=ROWS, T2=ROWS, raw=[["Ada", "ill"]], nothing=[])
    assert of(path, TABLE).unread == ("hidden sheet 'raw'", "sheet 'T2'")
    left = of(path, TABLE, ignore=["raw", "t2"])
    assert (left.unread, left.ignored) == ((), ("sheet 'raw'", "sheet 't2'"))
    assert of(path, TABLE, {**TABLE, "sheet": "T2"}).unread == ("hidden sheet 'raw'",)


def test_a_sheet_with_nothing_but_formulas_and_one_with_a_chart_are_named(tmp_path: Path) -> None:
    path = book(tmp_path / "b.xlsx", T1=ROWS, T2=[["=1+1"]])
    made = openpyxl.load_workbook(path)
    made.create_chartsheet("picture")
    made.save(path)
    assert of(path, TABLE).unread == ("sheet 'T2'", "sheet 'picture'")


def test_a_workbook_is_compared_with_a_file_that_has_statistics_only(tmp_path: Path) -> None:
    path = book(tmp_path / "b.xlsx", T1=ROWS)
    said = {"attributes": ATTRIBUTES, "statistics": [{"count": 90}]}
    assert tables_of(said, tmp_path, path).unread == ("sheet 'T1'",)
    assert tables_of({**said, "workbook": "b.xlsx"}, tmp_path).unread == ("sheet 'T1'",)
    assert tables_of(said, tmp_path).unread == ()


def test_files_of_a_folder_that_no_table_is_about_are_named(tmp_path: Path) -> None:
    folder = tmp_path / "book"
    (folder / "more").mkdir(parents=True)
    for name in ("T1.csv", "T2.csv", "T3.csv", "more/T1.csv", "readme.txt"):
        (folder / name).write_text("sex,Persons\nF,40\nM,50\n")
    file = {"file": "T2.csv", "rows": ["sex"], "values": {"Persons": "count"}}
    assert of(folder, TABLE, file).unread == ("file 'T3.csv'", "file 'more/T1.csv'")
    assert of(folder, TABLE, file, ignore=["T3", "more/T1.csv"]).unread == ()


def frame(cells: dict[str, list[object]], **more: Any) -> Tables:
    table = {"frame": pd.DataFrame(cells), "name": "T", "rows": ["sex"], **more}
    return published_tables(attributes=ATTRIBUTES, tables=[table])


def test_columns_that_a_table_does_not_use_are_named() -> None:
    columns: dict[str, list[object]] = {"sex": ["F", "M"], "Persons": [40, 50], "HIV": [40, 7], "Remark": ["", "one"]}
    values = {"values": {"Persons": "count"}}
    assert frame(columns, **values).unread == ("column 'HIV' of T", "column 'Remark' of T")
    assert frame(columns, **values, ignore=["HIV", "D"]).unread == ()
    assert frame({**columns, "HIV": ["", ""]}, **values, ignore=["Remark"]).unread == ()


def test_a_column_of_a_cross_table_without_a_label_is_named() -> None:
    columns: dict[str, list[object]] = {"sex": ["F", "M"], "yes": [4, 5], "no": [40, 50], "": [4, ""]}
    cross = {"columns": "ill", "value": "count"}
    assert frame(columns, **cross).unread == ("column 'D' of T",)
    assert frame(columns, **cross, ignore=["D"]).unread == ()


NOTE: list[object] = ["Source: register 2024"]


@pytest.mark.parametrize(
    ("below", "unread"),
    [
        ([[], ["F", 20], ["M", "30%"]], ("rows 6 to 7 of T1",)),
        ([[], NOTE, ["F", "D"], NOTE, ["20 (a)"]], ("row 7 of T1", "row 9 of T1")),
        ([[], ["F", "=1+1"]], ("row 6 of T1",)),
        ([[], NOTE, ["(a) preliminary"]], ()),
    ],
)
def test_rows_with_data_below_the_empty_row_are_named(
    tmp_path: Path, below: list[list[object]], unread: tuple[str, ...]
) -> None:
    path = book(tmp_path / "b.xlsx", T1=[*ROWS, *below])
    table = {**TABLE, "suppressed": {"marks": ["D"], "below": 5}}
    assert of(path, table).unread == unread
    assert of(path, {**table, "ignore": ["6:9"]}).unread == ()


def test_tables_below_and_beside_each_other_share_a_sheet(tmp_path: Path) -> None:
    rows = [["sex", "Persons", "ill", "Cases"], ["F", 40, "yes", 30], ["M", 50, "no", 60], [], *ROWS[:2]]
    path = book(tmp_path / "b.xlsx", T1=rows)
    first, below = TABLE, {**TABLE, "header": 5}
    beside = {"sheet": "T1", "rows": ["ill"], "values": {"Cases": "count"}}
    assert of(path, first, beside, below).unread == ()
    assert of(path, first, below).unread == ("column 'ill' of T1", "column 'Cases' of T1")
    assert of(path, first, beside).unread == ("row 6 of T1",)


def test_an_ignored_row_inside_a_table_is_left_out(tmp_path: Path) -> None:
    path = book(tmp_path / "b.xlsx", T1=[*ROWS[:3], ["of these abroad", 3], ROWS[3]])
    with raises_code(InvalidInputError, "not-declared"):
        of(path, TABLE)
    assert [one.name for one in of(path, {**TABLE, "ignore": ["4:4"]}).statistics] == [
        "T1 B2 (sex F)", "T1 B3 (sex M)", "T1 B5 (everybody)",
    ]  # fmt: skip


@pytest.mark.parametrize("rows", [[*ROWS[:3], ["Total", "=B2+B3"]], [ROWS[0], ['="F"', 40]], [*ROWS[:3], ["M", "=9"]]])
def test_a_formula_without_a_value_is_refused(tmp_path: Path, rows: list[list[object]]) -> None:
    """Libraries that write workbooks store no values; a spreadsheet shows them to everybody."""
    with raises_code(InvalidInputError, "formula-without-value: ="):
        of(book(tmp_path / "b.xlsx", T1=rows), TABLE)


@pytest.mark.parametrize(("cell", "words"), [("20 (a)", "alone"), ("~20", "alone"), ("n/a", "empty the cell")])
def test_the_remedy_for_a_cell_that_is_no_number_hides_no_number(cell: str, words: str) -> None:
    with raises_code(InvalidInputError, f"not-a-number: {cell} … {words}") as error:
        frame({"sex": ["F"], "Persons": [cell]}, values={"Persons": "count"})
    assert ("suppressed" in error.value.remedy) == (cell == "n/a")


def test_preflight_is_not_green_where_something_was_not_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = book(tmp_path / "b.xlsx", T1=[*ROWS[:3], ["Total", 90], [], ["F", 3]], raw=[["Ada"]])
    text = 'format = 1\nkind = "tables"\n{}[attributes]\nsex = ["F", "M"]\nill = "boolean"\n[[tables]]\nsheet = "T1"\n'
    text += 'rows = ["sex"]\nvalues = {{Persons = "count"}}\n{}'
    (tmp_path / "b.toml").write_text(text.format("", ""))
    assert cli.main(["preflight", str(path)]) != 0
    shown = " ".join(capsys.readouterr().out.split())
    headline = "not everything was searched: hidden sheet 'raw', row 6 of T1 not read"
    assert shown.startswith(f"Nothing was found so far, and {headline}")
    assert "add what was not read to the mapping, or to its ignore = [...]" in shown
    (tmp_path / "b.toml").write_text(text.format('ignore = ["raw"]\n', 'ignore = ["6:6"]\n'))
    assert cli.main(["preflight", str(path)]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "sheet 'raw' is no part of the release, as the release file says" in shown
    assert shown.endswith("preflight: nothing was found in these tables alone")

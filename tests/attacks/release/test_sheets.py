"""Tables in sheets: every published cell is found, under the name of its place, and says what is true."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import openpyxl
import pandas as pd
import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from python_calamine import CalamineWorkbook
from support.places import EXAMPLES
from support.refusals import expect_code, raises_code
from support.table_oracle import untrue

from privet.attacks.release.file import published_tables, read_tables, tables_of
from privet.attacks.release.sheet_cells import coordinate, number_of
from privet.attacks.release.sheets import KEYS as SHEET_KEYS
from privet.attacks.release.statistics import EVERYBODY, Between, Mean, Quantile, Share, Statistic, Tables
from privet.errors import InvalidInputError
from privet.records.conditions import condition, holds

ATTRIBUTES: dict[str, Any] = {
    "sex": ["F", "M"],
    "age": {"min": 0, "max": 99},
    "income": {"min": 0, "max": 50000, "step": 100},
    "smokes": "boolean",
}
PEOPLE = [  # sex, age, ward
    ("F", 8, "A"), ("F", 34, "A"), ("F", 36, "A"), ("F", 51, "B"), ("F", 67, "B"), ("F", 71, "C"), ("F", 84, "C"),
    ("M", 3, "A"), ("M", 29, "B"), ("M", 44, "C"), ("M", 45, "D"), ("M", 62, "D"), ("M", 66, "C"), ("M", 80, "D"),
]  # fmt: skip
BANDS: list[tuple[str, Callable[[int], bool]]] = [
    ("Total", lambda age: age >= 0),
    ("under 18", lambda age: age < 18),
    ("18–64", lambda age: 18 <= age <= 64),
    ("65 and over", lambda age: age >= 65),
]
Rows = Sequence[Sequence[object]]


# The example


def example_sheets() -> dict[str, list[list[object]]]:
    """The workbook of examples/, from the people. `write_example` writes it."""
    first: list[list[object]] = [
        ["Patients by sex and age"],
        [],
        ["Sex", "Age group", "Patients", "Mean age", "Oldest"],
    ]
    for label, sexes in (("Total", "FM"), ("Women", "F"), ("Men", "M")):
        for place, (band, inside) in enumerate(BANDS):
            ages = [age for sex, age, _ in PEOPLE if sex in sexes and inside(age)]
            shown = [len(ages), float(round(Decimal(sum(ages)) / len(ages), 1)), max(ages)] if len(ages) >= 3 else "DDD"
            first.append([label if place == 0 else None, band, *shown])
    first += [[], ["D: fewer than 3 patients"]]
    second: list[list[object]] = [["Site", "Both sexes", "Women", "Men"]]
    for site, wards in (("All", "ABCD"), ("North", "AB"), ("South", "CD")):
        women, men = (sum(sex == one and ward in wards for sex, _, ward in PEOPLE) for one in "FM")
        hidden = ["D" if count < 3 else "x" for count in (women, men)]  # hiding one alone would hide nothing
        second.append([site, women + men, *(hidden if "D" in hidden else (women, men))])
    third: list[list[object]] = [["Ward", "Patients", "% women", "Oldest"]]
    for ward in "ABCD":
        inside = [(sex, age) for sex, age, place in PEOPLE if place == ward]
        women = sum(sex == "F" for sex, _ in inside)
        share = f"{100 * women / len(inside):.0f}%"
        third.append([ward, len(inside) // 3 * 3, share, max(age for _, age in inside)])
    return {"T1": first, "T2": second, "T3": third}


def write_example(path: Path) -> None:
    write(path, example_sheets())


def write(path: Path, sheets: Mapping[str, Rows]) -> Path:
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(list(row))
    book.save(path)
    return path


def cells_of(path: Path) -> dict[str, Any]:
    with CalamineWorkbook.from_path(path) as book:
        return {name: book.get_sheet_by_name(name).to_python(skip_empty_area=False) for name in book.sheet_names}


def test_the_example_is_what_its_people_give(tmp_path: Path) -> None:
    write_example(tmp_path / "again.xlsx")
    assert cells_of(EXAMPLES / "clinic-tables.xlsx") == cells_of(tmp_path / "again.xlsx")


def test_the_example_is_true_of_its_people() -> None:
    found = read_tables(EXAMPLES / "clinic-tables.toml")
    names = [statistic.name for statistic in found.statistics]
    people = [{"sex": sex, "age": Fraction(age), "ward": ward} for sex, age, ward in PEOPLE]
    assert untrue(found, people) == []
    assert {"T1 C4 (everybody)", "T1 D8 (mean age, sex Women)", "T1 C15 (sex Men, age 65 and over)"} < set(names)
    assert {"T2 B3 (site North)", "T3 C2 (percent, sex = 'F', ward A)"} < set(names)
    assert {statistic.table for statistic in found.statistics} == {"T1", "T2", "T3"}
    means = [one for one in found.statistics if "T1 D5" in one.name]
    assert [(one.hides, one.count, one.measures) for one in means] == [("mean age", None, ())]  # D says no number
    hidden = {one.name: (one.count, one.mark) for one in found.statistics if one.mark in ("primary", "complementary")}
    assert hidden["T2 C3 (site North, sex Women)"] == (Between(Fraction(0)), "complementary")
    assert hidden["T1 C5 (age under 18)"] == (Between(Fraction(0), Fraction(2)), "primary")
    for one_less in range(len(people)):
        assert untrue(found, people[:one_less] + people[one_less + 1 :])


# One table at a time


def read(rows: Rows, table: dict[str, Any], **document: Any) -> dict[str, Statistic]:
    """cell -> statistic, from a data frame with these rows."""
    frame = pl.DataFrame([[str(cell) for cell in row] for row in rows[1:]], list(map(str, rows[0])), orient="row")
    found = published_tables(ATTRIBUTES, tables=[{"frame": frame, "name": "T", **table}], **document)
    return {statistic.name.split()[1]: statistic for statistic in found.statistics}


def refused(tmp_path: Path, rows: Rows, table: dict[str, Any], **document: Any) -> InvalidInputError:
    write(tmp_path / "book.xlsx", {"T": rows})
    given = {"attributes": ATTRIBUTES, "workbook": "book.xlsx", "tables": [{"sheet": "T", **table}], **document}
    with pytest.raises(InvalidInputError) as error:
        tables_of(given, tmp_path)
    assert "\n" not in error.value.problem + error.value.remedy
    return error.value


def of(label: object, name: str = "age", **document: Any) -> Any:
    return read([[name, "n"], [label, 5]], {"rows": [name], "values": {"n": "count"}}, **document)["B2"].where


@pytest.mark.parametrize(
    ("label", "text"),
    [
        ("5", "age = 5"),
        ("5 years", "age = 5"),
        ("18-24", "age BETWEEN 18 AND 24"),
        ("18–24", "age BETWEEN 18 AND 24"),
        ("18 to 24 years old", "age BETWEEN 18 AND 24"),
        ("Aged 18 - 24", "age BETWEEN 18 AND 24"),
        ("65+", "age >= 65"),
        ("65 and over", "age >= 65"),
        ("65 years or older", "age >= 65"),
        ("≥ 65", "age >= 65"),
        ("over 64", "age > 64"),
        (">64", "age > 64"),
        ("under 5", "age < 5"),
        ("Under 5 years", "age < 5"),
        ("<5", "age < 5"),
        ("up to 4", "age <= 4"),
        ("4 and under", "age <= 4"),
    ],
)
def test_bands(label: str, text: str) -> None:
    attributes = {"age": tuple(map(Fraction, range(100)))}
    assert of(label) == condition(text, attributes)


@pytest.mark.proof
@given(st.integers(0, 99), st.integers(0, 99), st.sampled_from(["{}-{}", "{} – {} years", "{} to {}"]))
def test_a_band_holds_exactly_its_ages(low: int, high: int, pattern: str) -> None:
    low, high = sorted((low, high))
    group = of(pattern.format(low, high))
    assert [age for age in range(100) if holds(group, {"age": Fraction(age)})] == list(range(low, high + 1))


def test_labels_that_are_values_totals_or_explained() -> None:
    attributes = {"sex": ("F", "M"), "smokes": (False, True), "age": (Fraction(1), Fraction(2))}
    assert of("f", "sex") == of("F", "sex") == condition("sex = 'F'", attributes)
    assert of("yes", "smokes") == of("TRUE", "smokes") == condition("smokes = TRUE", attributes)
    for total in ("Total", "ALL", "Both  sexes", "All sexs", "all sex"):
        assert of(total, "sex") == EVERYBODY
    assert of("Insgesamt", "sex", total=["insgesamt"]) == EVERYBODY
    assert of("Women", "sex", labels={"sex": {"women": "F"}}) == of("F", "sex")
    assert of("Anybody", "sex", labels={"sex": {"Anybody": ["F", "M"]}}) == condition("sex IN ('F', 'M')", attributes)
    assert of("Babies", labels={"age": {"Babies": 1}}) == condition("age = 1", attributes)
    assert of("Smoking", "smokes", labels={"smokes": {"smoking": True}}) == of("yes", "smokes")
    assert of("Minors", labels={"age": {"Minors": "age < 2"}}) == condition("age < 2", attributes)
    assert of("Minors", "group", labels={"group": {"Minors": "age < 2"}}) == condition("age < 2", attributes)
    assert of("1.000", "income", decimal=",") == of("1,000", "income")


def test_an_own_value_wins_over_a_total() -> None:
    found = published_tables(
        {"kind": ["all", "Old", "old"]},
        tables=[
            {"frame": pd.DataFrame({"kind": ["all", "Old"], "n": [1, 2]}), "rows": ["Kind"], "values": {"n": "count"}}
        ],
    )
    kinds = {"kind": ("all", "Old", "old")}
    assert [s.where for s in found.statistics] == [condition("kind = 'all'", kinds), condition("kind = 'Old'", kinds)]
    assert [s.name for s in found.statistics] == ["frame B2 (kind all)", "frame B3 (kind Old)"]


@pytest.mark.parametrize(
    ("label", "name"),
    [
        ("X", "sex"),
        ("OLD", "age"),
        ("200", "age"),
        ("9-3", "age"),
        ("1,2-3", "age"),
        ("5..6", "age"),
        ("maybe", "smokes"),
    ],
)
def test_labels_that_mean_nothing(tmp_path: Path, label: str, name: str) -> None:
    error = refused(tmp_path, [[name, "n"], [label, 5]], {"rows": [name], "values": {"n": "count"}})
    expect_code(f"not-declared: book.xlsx, sheet 'T': A2: {label!r} … {name}", error)


LONG: Rows = [
    ["sex", "age", "Persons", "Mean age", "%"],
    ["F", "18-24", "1,234", "20.5", "57.1 %"],
    ["M", "", "D", "c", ""],
]


def test_a_long_table() -> None:
    found = read(
        LONG,
        {
            "rows": ["sex", {"column": "Age", "attribute": "age"}],
            "values": {"Persons": "count", "Mean age": {"mean": "age", "decimals": 1}, "%": "percent"},
            "fill": True,
        },
        suppressed={"marks": ["D", "c"], "below": 3, "least": 1},
    )
    assert [s.name for s in found.values()] == [
        "T C2 (sex F, age 18-24)",
        "T D2 (mean age, sex F, age 18-24)",
        "T E2 (percent, sex F, age 18-24)",
        "T C3 (sex M, age 18-24)",
        "T D3 (mean age, sex M, age 18-24)",
    ]
    assert found["C2"].count == Between(Fraction(1234), Fraction(1234))
    assert found["D2"].measures == (Mean("age", Between(Fraction("20.45"), Fraction("20.55"))),)
    assert found["E2"].measures == (Share(Between(Fraction("0.5705"), Fraction("0.5715"))),)
    assert found["C3"].count == Between(Fraction(1), Fraction(2))
    assert (found["D3"].hides, found["D3"].count, found["D3"].measures) == ("mean age", None, ())


def test_a_cross_table() -> None:
    found = read(
        [
            ["", "Both sexes", "F", "M", "Note"],
            ["under 18", 3, 1, 2, "a"],
            ["18+", 9, 9, "", ""],
            ["", "", "", "", ""],
            ["x"] * 5,
        ],
        {"rows": [{"column": "A", "attribute": "age"}], "columns": "sex", "value": "count", "ignore": ["Note"]},
    )
    assert list(found) == ["B2", "C2", "D2", "B3", "C3", "D3"]
    assert (found["D3"].count, found["D3"].mark) == (Between(Fraction(0)), "empty")
    assert found["C2"].name == "T C2 (age under 18, sex F)"
    assert found["B3"].name == "T B3 (age 18+)"


def test_roundings_of_a_table_and_of_a_column() -> None:
    rows = [["sex", "a", "b", "c", "d", "e"], ["F", 6, 5, 20, 30, 40]]
    values = [
        {"column": "a", "count": True},
        {"column": "b", "count": True, "rounded": 5},
        {"column": "c", "mean": "age"},
        {"column": "d", "quantile": "age", "level": 0.9, "discrete": True, "exact": True},
        {"column": "e", "median": "age", "least": 40},
    ]
    found = read(rows, {"rows": ["sex"], "values": values, "random_rounded": 3, "decimals": 1})
    said = [s.count or s.measures[0].value for s in found.values()]
    assert [(b.low, b.high) for b in said] == [
        (4, 8), (3, 7), (Fraction("19.95"), Fraction("20.05")), (30, 30), (40, Fraction("40.05")),
    ]  # fmt: skip
    assert found["E2"].measures == (Quantile("age", Between(Fraction(30), Fraction(30)), Fraction(9, 10), True),)
    (rounded,) = read([["sex", "n"], ["F", 10]], {"rows": ["sex"], "values": {"n": "count"}, "rounded": 5}).values()
    assert rounded.count == Between(Fraction(8), Fraction(12))


def test_conditions_of_a_table_and_of_a_column() -> None:
    values = [
        {"column": "n", "count": True, "where": "sex = 'F'"},
        {"column": "p", "percent": True, "where": "sex = 'F'", "of": ["age"]},
        {"column": "q", "percent": True, "of": "sex = 'F'"},
    ]
    found = read([["age", "n", "p", "q"], ["18+", 6, 50, 50]], {"rows": ["age"], "values": values, "where": "smokes"})
    smoker = {"smokes": True, "sex": "F", "age": Fraction(20)}
    assert found["B2"].name == "T B2 (sex = 'F', age 18+)"
    assert holds(found["B2"].where, smoker)
    for change in ({"smokes": False}, {"sex": "M"}, {"age": Fraction(3)}):
        assert not holds(found["B2"].where, smoker | change)
    row, women = (found[cell].measures[0] for cell in ("C2", "D2"))
    assert isinstance(row, Share)
    assert isinstance(women, Share)
    assert holds(row.of, smoker | {"sex": "M"})
    assert not holds(row.of, smoker | {"age": Fraction(3)})
    assert not holds(row.of, smoker | {"smokes": False})
    assert holds(women.of, smoker | {"age": Fraction(3)})
    assert not holds(women.of, smoker | {"sex": "M"})


def test_a_header_of_two_rows_blocks_of_lines_and_columns_by_letter(tmp_path: Path) -> None:
    rows: Rows = [
        ["Title"],
        ["", 2024, "", "A"],
        ["Age", "B", "A", "A"],
        ["Women"],
        ["0-17", 1, 2, 3],
        ["18+", 4, 5, 6],
        [],
        ["Men"],
        ["0-17", 7, 8, 9],
    ]
    women: dict[str, Any] = {
        "sheet": "T",
        "header": "2:3",
        "rows": [{"column": "A:A", "attribute": "age"}],
        "values": {"B:B": "count", "C:C": {"count": True, "where": "smokes"}},
    }
    men = {**women, "lines": ["9:9"], "where": "sex = 'M'", "ignore": ["D:D"]}
    women |= {"lines": ["5:5", "6:6"], "where": "sex = 'F'", "skip": ["C6"]}
    book = write(tmp_path / "b.xlsx", {"T": rows})
    found = tables_of({"attributes": ATTRIBUTES, "tables": [women, men]}, None, book)
    counts = {one.name.split()[1]: one.count and one.count.low for one in found.statistics}
    assert counts == {"B5": 1, "C5": 2, "B6": 4, "B9": 7, "C9": 8}
    assert found.unread == ("column 'A' of T", "cell C6 of T")
    girl = {"sex": "F", "age": Fraction(3), "smokes": True, "income": Fraction(0)}
    assert [holds(one.where, girl) for one in found.statistics] == [True, True, False, False, False]
    left = tables_of({"attributes": ATTRIBUTES, "tables": [men]}, None, book)
    assert left.unread == ("rows 5 to 6 of T",)


def test_texts_that_say_zero() -> None:
    values = {"n": "count", "p": {"percent": True, "of": []}, "m": "mean age"}
    rows = [["sex", "n", "p", "m"], ["F", "–", "–", "–"], ["M", 3, "100", 4]]
    found = read(rows, {"rows": ["sex"], "values": values, "zeros": ["–"]})
    assert list(found) == ["B2", "C2", "B3", "C3", "D3"]
    assert (found["B2"].count, found["B2"].mark) == (Between(Fraction(0), Fraction(0)), "")
    assert found["C2"].measures == (Share(Between(Fraction(0), Fraction("0.005"))),)
    rounded = read(
        rows[:2], {"rows": ["sex"], "values": {"n": "count"}, "ignore": ["p", "m"], "random_rounded": 3}, zeros=["–"]
    )
    assert rounded["B2"].count == Between(Fraction(0), Fraction(2))


@pytest.mark.parametrize(
    ("cell", "said", "low", "high"),
    [
        ("12", {}, 11500, 12500),
        ("12.3", {}, 12250, 12350),
        ("12.345", {}, 12345, 12345),
        ("12", {"rounded": 100}, 11950, 12050),
        ("12", {"exact": True}, 12000, 12000),
    ],
)
def test_counts_in_thousands(cell: str, said: dict[str, Any], low: int, high: int) -> None:
    of_table = {"rows": ["sex"], "values": {"n": {"count": True, **said}}, "times": 1000}
    of_column = {"rows": ["sex"], "values": {"n": {"count": True, "times": 1000, **said}}}
    for table in (of_table, of_column):
        assert read([["sex", "n"], ["F", cell]], table)["B2"].count == Between(Fraction(low), Fraction(high))


@pytest.mark.parametrize("share", ["0.57", "0.571428571428571428"])
def test_percentages_as_shares_of_one(share: str) -> None:
    (found,) = read(
        [["sex", "p"], ["F", share]], {"rows": ["sex"], "values": {"p": {"percent": True, "times": 100}}}
    ).values()
    ((bounds,),) = [[measure.value for measure in found.measures]]
    assert bounds.low is not None
    assert bounds.high is not None
    assert bounds.low < Fraction(share) < bounds.high
    assert bounds.high - bounds.low <= Fraction(1, 10 ** (len(share) - 5 if len(share) > 9 else 2))


def test_marks_without_a_bound_hide_any_number() -> None:
    table = {"rows": ["sex"], "values": {"n": "count"}, "suppressed": [{"marks": "*", "below": 5}, {"marks": [" x "]}]}
    found = read([["sex", "n"], ["Total", "7"], ["F", "*"], ["M", "x"]], table, suppressed={"marks": ["7"]})
    assert list(found) == ["B2", "B3", "B4"]
    assert (found["B3"].count, found["B3"].mark) == (Between(Fraction(0), Fraction(4)), "")
    assert (found["B4"].count, found["B4"].mark) == (Between(Fraction(0)), "")


def test_marks_say_why_a_cell_is_hidden() -> None:
    marks = [{"marks": "c", "below": 5, "kind": "primary"}, {"marks": "x", "kind": "complementary"}]
    table = {"rows": ["sex"], "values": {"n": "count"}, "suppressed": marks}
    found = read([["sex", "n"], ["Total", "7"], ["F", "c"], ["M", "x"]], table)
    assert [(one.count, one.mark) for one in found.values()] == [
        (Between(Fraction(7), Fraction(7)), ""),
        (Between(Fraction(0), Fraction(4)), "primary"),
        (Between(Fraction(0)), "complementary"),
    ]
    wrong = [{"marks": "c", "kind": "secondary"}]
    with raises_code(InvalidInputError, "unknown-choice: 'secondary'"):
        read([["sex", "n"], ["Total", "7"]], {**table, "suppressed": wrong})


# Where cells come from


CSV = "\ufeffsex;Persons\nF;1.234\nM;7\n"


def csv_table(tmp_path: Path, name: str = "t.csv") -> Path:
    (tmp_path / name).write_text(CSV, encoding="utf-8")
    return tmp_path


def counts(found: Tables) -> dict[str, Any]:
    return {s.name: s.count and s.count.low for s in found.statistics}


def test_a_csv_file_beside_the_release_file(tmp_path: Path) -> None:
    csv_table(tmp_path)
    (tmp_path / "r.toml").write_text(
        'format = 1\nkind = "tables"\ndecimal = ","\n[attributes]\nsex = ["F", "M"]\n'
        '[[tables]]\nfile = "t.csv"\ndelimiter = ";"\nrows = ["sex"]\nvalues = {Persons = "count"}\n'
    )
    assert counts(read_tables(tmp_path / "r.toml")) == {"t.csv B2 (sex F)": 1234, "t.csv B3 (sex M)": 7}


def test_a_folder_of_csv_files_serves_as_workbook(tmp_path: Path) -> None:
    folder = csv_table(tmp_path, "T1.csv")
    table = {"delimiter": ";", "rows": ["sex"], "values": {"Persons": "count"}, "decimal": ","}
    document = {"attributes": ATTRIBUTES, "tables": [{"sheet": "T1", **table}, {"file": "T1.csv", **table}]}
    assert len(tables_of(document, Path("elsewhere"), folder).statistics) == 4


def test_excel_numbers_are_numbers_whatever_the_decimal_sign(tmp_path: Path) -> None:
    rows = [["sex", "n", "m", "day"], ["F", 4, 1.5, dt.date(2020, 1, 1)], ["M", "1.234", "1,5", None]]
    book = write(tmp_path / "b.xlsx", {"T": rows})
    table = {"sheet": "T", "rows": ["sex"], "values": {"n": "count", "m": "mean age"}, "decimal": ","}
    found = tables_of({"attributes": ATTRIBUTES, "tables": [table]}, None, book).statistics
    assert [s.count.low if s.count else s.measures[0].value.low for s in found] == [
        4, Fraction("1.45"), 1234, Fraction("1.45"),
    ]  # fmt: skip


def test_data_frames() -> None:
    data = {"sex": ["F", "M", "Total"], "n": [1.0, float("nan"), 3.0]}
    table = {"rows": ["sex"], "values": {"n": "count"}}
    for frame in (pd.DataFrame(data), pl.DataFrame(data)):
        found = published_tables(ATTRIBUTES, tables=[{"frame": frame, **table}])
        assert counts(found) == {"frame B2 (sex F)": 1, "frame B3 (sex M)": 0, "frame B4 (everybody)": 3}  # at least


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        (3, "not-a-table: table 1:"),
        ({}, "not-exactly-one: cells"),
        ({"file": "t.csv", "sheet": "T"}, "not-exactly-one: cells"),
        ({"file": 3}, "wrong-type: file … is 3"),
        ({"sheet": "T"}, "missing-entry: workbook"),
        ({"file": "none.csv"}, "unreadable-file: none.csv"),
        ({"file": "t.csv", "delimiter": ";;"}, "wrong-type: ';;'"),
        ({"file": "t.csv", "delimiter": "\n"}, "wrong-type: delimiter"),
        ({"frame": [1, 2]}, "wrong-type: frame"),
        ({"file": "t.csv", "row": ["sex"]}, "unknown-entry: 'row'"),
    ],
)
def test_places_that_are_refused(tmp_path: Path, entry: Any, words: str) -> None:
    with raises_code(InvalidInputError, words):
        tables_of({"attributes": ATTRIBUTES, "tables": [entry]}, csv_table(tmp_path))


def test_workbooks_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "text.xlsx").write_text("no workbook")
    write(tmp_path / "book.xlsx", {"T1": [], "T2": []})
    table = {"sheet": "T", "rows": ["sex"], "values": {"n": "count"}}
    for name, words in (
        ("none.xlsx", "unreadable-file: none.xlsx"),
        ("text.xlsx", "unreadable-file: text.xlsx"),
        ("book.xlsx", "unknown-sheet: book.xlsx … 'T' … 'T1' … 'T2'"),
        (3, "wrong-type: workbook … is 3"),
    ):
        with raises_code(InvalidInputError, words):
            tables_of({"attributes": ATTRIBUTES, "workbook": name, "tables": [table]}, tmp_path)


GOOD = {"rows": ["sex"], "values": {"n": "count"}}
FOUR: Rows = [["sex", "n"], ["F", 4]]


@pytest.mark.parametrize(
    ("rows", "table", "words"),
    [
        ([], GOOD, "empty: 'T' … it is"),
        ([[None], [None], ["x"]], GOOD, "missing-header: 1"),
        (FOUR, {**GOOD, "header": 9}, "missing-header: 9"),
        (FOUR, {**GOOD, "header": 0}, "too-small: least 1"),
        (FOUR, {**GOOD, "header": 2}, "unknown-column: 'sex' … row 2"),
        (FOUR, {**GOOD, "rows": "sex"}, "not-a-list: rows"),
        (FOUR, {**GOOD, "rows": ["income"]}, "unknown-column: 'income' … row 1"),
        (FOUR, {**GOOD, "rows": [{"column": 3, "attribute": "sex"}]}, "unknown-column: column 3"),
        (FOUR, {**GOOD, "rows": [{"column": "sex", "attribut": "sex"}]}, "unknown-entry: 'attribut'"),
        (FOUR, {**GOOD, "rows": ["n"]}, "unknown-attribute: section … 'n'"),
        (FOUR, {**GOOD, "rows": [{"column": "n", "attribute": 3}]}, "unknown-attribute: 3"),
        (FOUR, {"rows": ["sex"]}, "not-exactly-one: numbers"),
        (FOUR, {**GOOD, "value": "count"}, "not-exactly-one: numbers"),
        (FOUR, {**GOOD, "columns": "sex"}, "not-exactly-one: numbers"),
        (FOUR, {"rows": ["sex"], "columns": "sex"}, "not-exactly-one: numbers"),
        (FOUR, {**GOOD, "values": 3}, "not-a-list: values"),
        (FOUR, {**GOOD, "values": [3]}, "not-a-table: table"),
        (FOUR, {**GOOD, "values": {"m": "count"}}, "unknown-column: 'm'"),
        (FOUR, {**GOOD, "values": {"n": "average age"}}, "not-exactly-one: measure"),
        (FOUR, {**GOOD, "values": {"n": {"mean": "age", "count": True}}}, "not-exactly-one: measure"),
        (FOUR, {**GOOD, "values": {"n": "mean"}}, "unknown-attribute: True"),
        (FOUR, {**GOOD, "values": {"n": "mean sex"}}, "type-mismatch: sex"),
        (FOUR, {**GOOD, "values": {"n": "mean height"}}, "unknown-attribute: 'height'"),
        (FOUR, {**GOOD, "values": {"n": "count age"}}, "unneeded-option: 'age'"),
        (FOUR, {**GOOD, "values": {"n": {"count": True, "level": 0.5}}}, "unknown-entry: 'level'"),
        (FOUR, {**GOOD, "values": {"n": {"count": True, "where": "x = 1"}}}, "unknown-column: 'x'"),
        (FOUR, {**GOOD, "values": {"n": {"count": True, "rounded": 3}}}, "contradiction: B2 … 4"),
        (FOUR, {**GOOD, "values": {"n": {"percent": True, "of": 3}}}, "wrong-type: B2"),
        (FOUR, {**GOOD, "fill": 1}, "wrong-type: fill … is 1"),
        (FOUR, {**GOOD, "total": "All"}, "not-a-list: total"),
        (FOUR, {**GOOD, "decimal": ";"}, "unknown-choice: ';'"),
        (FOUR, {**GOOD, "suppressed": {"mark": "D"}}, "unknown-entry: 'mark'"),
        (FOUR, {**GOOD, "suppressed": {"marks": [3]}}, "not-a-list: suppressed"),
        (FOUR, {"rows": ["sex"], "columns": "age", "value": "count"}, "not-declared: 1 … 'n'"),
        (FOUR, {"rows": ["sex"], "columns": "age", "value": "sum sex"}, "type-mismatch: value: … sex"),
        ([["sex", "n"], ["F", "many"]], GOOD, "not-a-number: B2 … 'many'"),
        ([["sex", "n"], ["F", "1,23"]], GOOD, "not-a-number: '1,23'"),
        ([["sex", "n"], ["F", -4]], GOOD, "negative: B2 … -4"),
        ([["sex", "n"], ["F", 4.5]], GOOD, "contradiction: B2 … fits"),
        ([["sex", "n"], ["", 4]], GOOD, "missing-value: A2:"),
        ([["sex", "n"], ["", 4]], {**GOOD, "fill": True}, "missing-value: A2:"),
        ([["n", "sex"], [4]], GOOD, "missing-value: B2:"),
        ([["sex", "n", "N"], ["F", 4, 4]], GOOD, "duplicate-name: 'n'"),
        (FOUR, {**GOOD, "header": "1:3"}, "missing-header: 3"),
        (FOUR, {**GOOD, "header": "2:1"}, "reversed-range: header … '2:1'"),
        (FOUR, {**GOOD, "lines": ["2"]}, "wrong-format: lines … '2'"),
        (FOUR, {**GOOD, "lines": ["2:1"]}, "reversed-range: lines … '2:1'"),
        (FOUR, {**GOOD, "lines": ["1:2"]}, "out-of-range: lines … '1:2'"),
        (FOUR, {**GOOD, "lines": ["2:3"]}, "out-of-range: lines … '2:3'"),
        (FOUR, {**GOOD, "skip": ["n"]}, "wrong-format: skip … 'n'"),
        (FOUR, {**GOOD, "skip": ["B2"]}, "empty: publishes"),
        (FOUR, {**GOOD, "times": 0}, "not-positive: times"),
        (FOUR, {**GOOD, "zeros": 3}, "not-a-list: zeros"),
        ([["sex", "n"]], GOOD, "empty: publishes"),
        ([["sex", "n"], ["F"]], GOOD, "empty: publishes"),
    ],
)
def test_tables_that_are_refused_by_cell(tmp_path: Path, rows: Rows, table: dict[str, Any], words: str) -> None:
    error = refused(tmp_path, rows, table)
    expect_code(words, error)
    assert "sheet 'T'" in error.problem


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        (3, "not-a-table: labels must"),
        ({"sex": 3}, "not-a-table: sex"),
        ({"sex": {"Women": "female"}}, "unknown-column: 'Women' … 'female'"),
        ({"sex": {"Women": 3}}, "not-declared: 3"),
        ({"sex": {"Women": []}}, "empty: list"),
        ({"age": {"Old": [True]}}, "not-declared: age … True"),
        ({"site": {"North": ["A"]}}, "not-declared: 'A'"),
    ],
)
def test_labels_that_are_refused(tmp_path: Path, labels: Any, words: str) -> None:
    expect_code(words, refused(tmp_path, FOUR, GOOD, labels=labels))


def test_the_same_cell_twice_is_refused(tmp_path: Path) -> None:
    book = write(tmp_path / "b.xlsx", {"T": FOUR})
    with raises_code(InvalidInputError, "duplicate-name: 'T B2 (sex F)'"):
        tables_of({"attributes": ATTRIBUTES, "tables": [{"sheet": "T", **GOOD}] * 2}, None, book)


# Cells


@given(st.integers(0, 10**6), st.integers(0, 16383))
def test_coordinates_are_those_of_spreadsheets(row: int, column: int) -> None:
    assert coordinate(row, column) == f"{openpyxl.utils.get_column_letter(column + 1)}{row + 1}"


@given(st.integers(-(10**12), 10**12), st.sampled_from(["", ",", " ", "\u00a0", "\u202f", "'"]), st.booleans())
def test_numbers_in_groups_of_three(number: int, mark: str, comma: bool) -> None:
    mark = "." if comma and mark == "," else mark
    text = f"{number:,}".replace(",", mark)
    assert number_of(text, "," if comma else ".") == number
    assert number_of(text + (",25" if comma else ".25"), "," if comma else ".") == Decimal(f"{number}.25")


@pytest.mark.parametrize("text", ["", "x", "1,23", "1,2345", "1 2345", "1.2.3", "--1", "1e5", "١", "1,234 567"])
def test_what_is_no_number(text: str) -> None:
    assert number_of(text, ".") is None


def test_a_minus_sign_is_a_minus() -> None:
    assert number_of("\u22121,234.5", ".") == Decimal("-1234.5")


# Whatever somebody writes


WORDS = st.sampled_from(
    ["sex", "age", "n", "count", "mean age", "sex = 'F'", "D", ",", "A", "F", "", "true", "\x00", "65+"]
)
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.floats() | st.decimals() | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS | st.sampled_from(SHEET_KEYS), inner, max_size=3),
    max_leaves=6,
)
CELLS = st.lists(st.lists(WORDS | st.integers(-3, 3), min_size=2, max_size=2), max_size=3)


@given(st.sampled_from(SHEET_KEYS), ANYTHING, CELLS)
@example("rows", [[]], [])
def test_any_mapping_is_read_or_refused(key: str, value: Any, cells: Rows) -> None:
    frame = pd.DataFrame([*FOUR[1:], *cells], columns=["sex", "n"])
    try:
        published_tables(ATTRIBUTES, tables=[{"frame": frame, **GOOD, key: value}])
    except InvalidInputError as error:
        assert "\n" not in error.problem + error.remedy  # noqa: PT017  both ways are right

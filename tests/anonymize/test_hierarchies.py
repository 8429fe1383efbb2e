"""What a value may be replaced by: checked, read, built, and given to columns of data."""

from __future__ import annotations

import gzip
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.refusals import expect_code, raises_code

from privet import anonymize
from privet.anonymize import builders
from privet.anonymize.hierarchy import Hierarchy, of_rows
from privet.anonymize.hierarchy_file import read_hierarchies, read_hierarchy, write_hierarchy
from privet.errors import InvalidInputError
from privet.records.microdata import RecordColumn, column

AGES = Hierarchy("age", (("21", "28", "47"), ("20-29", "20-29", "40-49"), ("*", "*", "*")))


def made(*texts: str | None) -> RecordColumn:
    return column("c", list(texts))


def rows(hierarchy: Hierarchy) -> dict[str, tuple[str, ...]]:
    return {row[0]: row[1:] for row in zip(*hierarchy.levels, strict=True)}


# What one is


def test_levels_group_values() -> None:
    assert AGES.height == 3
    assert AGES.values == ("21", "28", "47")
    assert [AGES.grouping(level).tolist() for level in range(3)] == [[0, 1, 2], [0, 0, 1], [0, 0, 0]]
    assert AGES.labels(1) == ("20-29", "40-49")
    assert AGES.sizes(1).tolist() == [2, 1]
    with pytest.raises(ValueError, match="read-only"):
        AGES.grouping(1)[0] = 5


@pytest.mark.parametrize(
    ("levels", "said"),
    [
        ((), "empty: empty"),
        (((), ()), "empty: empty"),
        ((("a", "b"), ("*",)), "wrong-length: different"),
        ((("a", "b", "a"), ("*", "*", "*")), "duplicate-value: 'a' … twice"),
        (
            (("a", "b", "c"), ("x", "x", "y"), ("1", "2", "2")),
            "contradiction: 'a' … 'b' … 'x' … 1",
        ),
    ],
)
def test_what_is_no_hierarchy(levels: tuple[tuple[str, ...], ...], said: str) -> None:
    with raises_code(InvalidInputError, "contradiction|duplicate-value|empty|wrong-length: 'age'") as caught:
        Hierarchy("age", levels)
    expect_code(said, caught.value)


@given(st.lists(st.lists(st.integers(0, 2), min_size=2, max_size=4), min_size=1, max_size=6))
def test_a_contradiction_is_two_values_together_that_part(groups: list[list[int]]) -> None:
    """Against the definition, pair by pair."""
    width = min(map(len, groups))
    levels = [[str(i) for i in range(len(groups))], *([str(g[j]) for g in groups] for j in range(width))]
    parts = any(
        low[i] == low[j] and high[i] != high[j]
        for low, high in pairwise(levels)
        for i in range(len(groups))
        for j in range(i)
    )
    try:
        Hierarchy("c", tuple(map(tuple, levels)))
    except InvalidInputError:
        assert parts
    else:
        assert not parts


def test_a_column_is_fitted() -> None:
    wider, places = AGES.fitted(made("47", "21", "47"))
    assert wider is AGES
    assert places.tolist() == [0, 2]  # the codes are in the order of texts: 21, 47


def test_a_missing_value_is_one_of_its_own_below_a_level_that_says_nothing() -> None:
    wider, places = AGES.fitted(made("47", None))
    assert rows(wider)[""] == ("", "*")
    assert places.tolist() == [2, 3]
    with_row = of_rows("age", [("21", "*"), ("", "unknown")])
    assert with_row.fitted(made("21", None))[0] is with_row
    one = Hierarchy("c", (("a",),))  # a ground level of one value tells it from missing
    assert one.with_missing().levels == (("a", ""),)


def test_values_without_a_row_are_named_up_to_three() -> None:
    with raises_code(InvalidInputError, "not-declared: for 1 value … '5'"):
        AGES.fitted(made("5", "21"))
    with raises_code(InvalidInputError, "not-declared: for 4 values … '1' … '2' … '3'"):
        AGES.fitted(made("1", "2", "3", "4"))


# Files


def test_a_file_is_read_back(tmp_path: Path) -> None:
    odd = of_rows("c", [("a;b", "x", "*"), ('say "so"', "x", "*"), ("line\nbreak", "y", "*"), ("ü", "y", "*")])
    write_hierarchy(odd, tmp_path / "c.csv")
    assert read_hierarchy(tmp_path / "c.csv") == odd


@pytest.mark.parametrize(
    ("text", "encoding"),
    [("21;2*\n47;4*\n", "utf-8"), ("21,2*\r\n47,4*", "utf-8-sig"), ("21\t2*\n\n47\t4*\n21\t2*\n", "utf-16")],
)
def test_other_marks_and_encodings(tmp_path: Path, text: str, encoding: str) -> None:
    (tmp_path / "h.txt").write_bytes(text.encode(encoding))
    assert read_hierarchy(tmp_path / "h.txt", "age").levels == (("21", "47"), ("2*", "4*"))


def test_semicolons_go_before_other_marks_and_spaces_do_not_count(tmp_path: Path) -> None:
    path = tmp_path / "h.csv"
    path.write_text("a, b, c; x, y, z ;*\n d, e, f;x, y, z;*\n")  # five fields by commas, three by semicolons
    assert rows(read_hierarchy(path)) == {"a, b, c": ("x, y, z", "*"), "d, e, f": ("x, y, z", "*")}
    path.write_text("a;1,*\nb;2,*\n")
    assert rows(read_hierarchy(path, delimiter=",")) == {"a;1": ("*",), "b;2": ("*",)}


def test_a_quote_that_is_not_closed(tmp_path: Path) -> None:
    (tmp_path / "h.csv").write_text('a;*\nb;"*\nc;*\n')
    with raises_code(InvalidInputError, "unclosed-quote"):
        read_hierarchy(tmp_path / "h.csv")


def test_old_encodings_and_gzip(tmp_path: Path) -> None:
    with gzip.open(tmp_path / "x_hierarchy_city.csv.gz", "wb") as file:
        file.write("Köln;*\n".encode("cp1252"))
    assert read_hierarchies(tmp_path)["city"].values == ("Köln",)


def test_a_wrong_encoding_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "h.csv").write_bytes("Köln;*\n".encode("cp1252"))
    with raises_code(InvalidInputError, "unreadable-file") as caught:
        read_hierarchy(tmp_path / "h.csv", encoding="utf-8")
    assert "encoding" in caught.value.remedy
    with raises_code(InvalidInputError, "unknown-choice: 'no-such'"):
        read_hierarchy(tmp_path / "h.csv", encoding="no-such")
    with raises_code(InvalidInputError, "unreadable-file"):
        read_hierarchy(tmp_path / "none.csv")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "empty: empty"),
        ("\n\n", "empty: empty"),
        ("a;x;*\nb;*\n", "wrong-length: 2 fields … and 3 … row 1"),
        ("a;x;*\na;y;*\n", "duplicate-value: different … 'a'"),
        ("a;x;1\nb;x;2\n", "contradiction: contradicts"),
    ],
)
def test_files_that_are_wrong(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "age.csv").write_text(text)
    with raises_code(InvalidInputError, said):
        read_hierarchy(tmp_path / "age.csv", delimiter=";")


def test_folders(tmp_path: Path) -> None:
    for name in ("age.csv", "zip.csv", "notes.md", ".hidden.csv"):
        (tmp_path / name).write_text("a;*\n")
    assert set(read_hierarchies(tmp_path)) == {"age", "zip"}
    assert set(read_hierarchies(tmp_path, ["zip", "sex"])) == {"zip"}
    (tmp_path / "data_hierarchy_sex.csv").write_text("F;*\n")  # now age.csv may be data
    assert set(read_hierarchies(tmp_path)) == {"sex"}
    (tmp_path / "other_hierarchy_sex.csv").write_text("F;*\n")
    with raises_code(InvalidInputError, "duplicate-name: for … 'sex'"):
        read_hierarchies(tmp_path)
    with raises_code(InvalidInputError, "folder-missing"):
        read_hierarchies(tmp_path / "none")
    (tmp_path / "empty").mkdir()
    with raises_code(InvalidInputError, "missing-file"):
        read_hierarchies(tmp_path / "empty")
    with raises_code(InvalidInputError, "cannot-write: written"):
        write_hierarchy(AGES, tmp_path / "none" / "a.csv")
    (tmp_path / "plain").write_text("a;*\n")
    assert read_hierarchy(tmp_path / "plain").name == "plain"


# Builders


def test_intervals() -> None:
    found = rows(builders.intervals(made("7", "12", "39", None), (5, 10, 20)))
    assert found == {
        "7": ("5-9", "0-9", "0-19", "*"), "12": ("10-14", "10-19", "0-19", "*"), "39": ("35-39", "30-39", "20-39", "*")
    }  # fmt: skip
    assert rows(builders.intervals(made("-3", "3"), (1, 10))) == {
        "-3": ("-3", "[-10, -1]", "*"),
        "3": ("3", "0-9", "*"),
    }
    assert rows(builders.intervals(made("0.25", "7"), ("2.5",))) == {"0.25": ("[0, 2.5)", "*"), "7": ("[5, 7.5)", "*")}


def test_intervals_with_ends() -> None:
    found = rows(builders.intervals(made("1", "18", "29", "64", "65", "99"), (10, 20), low=18, high=65))
    assert found["1"] == ("<18", "<18", "*")
    assert found["18"] == ("18-27", "18-37", "*")
    assert found["64"] == ("58-64", "58-64", "*")  # cut off where the last group begins
    assert found["65"] == found["99"] == (">=65", ">=65", "*")


@pytest.mark.parametrize(
    ("widths", "more", "said"),
    [
        ((5, 12), {}, "contradiction: within"),
        ((5, 5), {}, "contradiction: within"),
        ((0,), {}, "not-positive: 0"),
        ((5,), {"low": 9, "high": 9}, "reversed-range"),
    ],
)
def test_intervals_that_cannot_be(widths: tuple[int, ...], more: dict[str, int], said: str) -> None:
    with raises_code(InvalidInputError, said):
        builders.intervals(made("1"), widths, **more)
    with raises_code(InvalidInputError, "not-a-number: 'x' … 'c'"):
        builders.intervals(made("1", "x"))


@given(
    st.lists(st.fractions(-1000, 1000, max_denominator=20).map(lambda f: format(float(f), ".4f")), min_size=1),
    st.sampled_from([(1, 3), (Fraction(1, 2), 5), (7,)]),
)
def test_a_number_is_in_its_interval(texts: list[str], widths: tuple[Fraction, ...]) -> None:
    column_ = made(*texts)
    for text, row in rows(builders.intervals(column_, widths)).items():
        for label, width in zip(row, widths, strict=False):
            inside = label.strip("[]()").replace(", ", " ").split(" ")
            if label == text:
                continue
            if len(inside) == 1 and label[0] != "[":  # whole numbers, as 20-29
                inside = label.rsplit("-", 1) if "-" in label[1:] else [label, label]
            low, high = map(Fraction, inside)
            assert low <= Fraction(text) <= high
            assert high - low <= width


def test_prefixes() -> None:
    found = rows(builders.prefixes(made("13053", "123", "9")))
    assert found["13053"] == ("1305*", "130**", "13***", "1****", "*")
    assert found["123"] == ("123", "123", "12***", "1****", "*")
    assert found["9"] == ("9", "9", "9", "9", "*")
    assert rows(builders.prefixes(made("abcd"), "#", 2)) == {"abcd": ("ab##", "*")}
    for mask in ("", "**"):
        with raises_code(InvalidInputError, "invalid-mark"):
            builders.prefixes(made("a"), mask)


@given(st.lists(st.text("ab*", max_size=5), min_size=1), st.integers(1, 3))
def test_prefixes_are_hierarchies_of_any_texts(texts: list[str], step: int) -> None:
    builders.prefixes(made(*texts), "*", step)  # which are checked when they are made


def test_dates() -> None:
    found = rows(builders.dates(made("1958-05-12", "2001-12-31", None)))
    assert found["1958-05-12"] == ("1958-05", "1958-Q2", "1958", "1950-1959", "*")
    assert found["2001-12-31"] == ("2001-12", "2001-Q4", "2001", "2000-2009", "*")
    timed = rows(builders.dates(made("1958-05-12 17:30:00", "1958-05-13")))
    assert timed["1958-05-12 17:30:00"] == ("1958-05-12", "1958-05", "1958-Q2", "1958", "1950-1959", "*")
    assert rows(builders.dates(made("12.05.1958"), "%d.%m.%Y"))["12.05.1958"][0] == "1958-05"
    with raises_code(InvalidInputError, "not-a-date: '1958-13-01' … 'c' … ISO"):
        builders.dates(made("1958-13-01"))
    with raises_code(InvalidInputError, "not-a-date: '%d.%m.%Y'"):
        builders.dates(made("1958-12-01"), "%d.%m.%Y")


def test_rare_values_are_merged() -> None:
    many = made(*["a"] * 5, *["b"] * 3, "c", "d", None)
    assert rows(builders.merge_rare(many, 4)) == {
        "a": ("a", "*"), "b": ("(other)", "*"), "c": ("(other)", "*"), "d": ("(other)", "*")
    }  # fmt: skip
    taken = made(*["(other)"] * 5, "c", "d")
    assert rows(builders.merge_rare(taken, 2))["c"] == ("((other))", "*")


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["F", "M"], ("*",)),
        ([f"19{year}-01-01" for year in range(20, 40)], ("1920-01", "1920-Q1", "1920", "1920-1929", "*")),
        ([f"{zipcode:05}" for zipcode in range(10050, 10099)], ("1005*", "100**", "10***", "1****", "*")),
        ([f"0{n}" for n in range(10, 30)], ("01*", "0**", "*")),
        ([f"E1{n}.9" for n in range(0, 10)], ("E10.*", "E10**", "E1***", "E****", "*")),
        ([str(n) for n in range(0, 90)], ("0-4", "0-9", "0-19", "*")),
        ([str(1950 + n) for n in range(50)], ("1950-1954", "1950-1959", "1940-1959", "*")),
        ([f"{n / 10}" for n in range(0, 100)], ("[0, 0.5)", "[0, 1)", "[0, 2)", "*")),
        ([str(n) for n in range(20, 30)], ("20-21", "20-23", "16-23", "*")),
        ([*"abcdefghij", *("a" * 500)], ("a", "*")),
        ([*"abcdefghij"] * 50, ("*",)),
        ([f"{'é' * n}" for n in range(1, 20)], ("*",)),  # all are rare
    ],
)  # fmt: skip
def test_what_is_suggested(texts: list[str], expected: tuple[str, ...]) -> None:
    found = builders.suggest(made(*texts))
    assert rows(found)[min(texts)] == expected
    assert len(found.labels(found.height - 1)) == 1


@given(st.lists(st.one_of(st.none(), st.text(max_size=6), st.integers().map(str), st.dates().map(str)), min_size=1))
def test_something_is_suggested_for_everything(texts: list[str | None]) -> None:
    one = made(*texts)
    if one.texts == (None,):
        with raises_code(InvalidInputError, "empty: values"):
            builders.suggest(one)
        return
    wider, places = builders.suggest(one).fitted(one)
    assert [wider.values[place] for place in places] == [text or "" for text in one.texts]


def test_numbers_alike() -> None:
    """All the same number: some width."""
    assert builders.widths_of([Fraction(3)] * 2) == [2, 4, 8]
    assert builders.widths_of([Fraction(0), Fraction(10**6)]) == [50000, 100000, 200000]
    assert builders.widths_of([Fraction(0), Fraction(200)]) == [10, 50, 100]
    assert builders.widths_of([Fraction(0), Fraction(201)]) == [50, 100, 200]
    assert builders.widths_of([Fraction(0), Fraction(1, 5)]) == [Fraction(1, 100), Fraction(1, 20), Fraction(1, 10)]
    assert builders.number_of("nan") is None
    assert builders.number_of("1e999") is None
    assert builders.number_of("1" * 100) is None
    assert builders.number_of(" 1.50 ") == Fraction(3, 2)
    assert np.isclose(float(builders.plain(Fraction(1, 3))), 1 / 3)


# The room


def test_the_room_has_what_it_lists() -> None:
    assert dir(anonymize) == sorted(anonymize.__all__) == sorted(anonymize.WHERE)
    for name in anonymize.__all__:
        for _ in range(2):  # the first time loads a module, which must not take the name
            assert getattr(anonymize, name).__name__ == name
    assert not set(anonymize.PLACES) & set(anonymize.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        anonymize.nothing  # noqa: B018

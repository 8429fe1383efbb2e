"""Drafts for a useful first answer: who is the unit, how much of one counts, ranges, codes, and what looks wrong."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import duckdb
import numpy as np
import pytest
from support.refusals import raises_code

from privet.catalog.vault_file import parse
from privet.core.schema import Boolean, Category, Date, Integer, Kind, Number, Text, Timestamp
from privet.errors import InvalidInputError
from privet.sources import unit_draft
from privet.sources.describing import DraftTable, describe
from privet.sources.number_draft import about, marks, percent
from privet.sources.unit_draft import LIMITS, First, error, find_limits, kept, placed, unit_rows, width_in_means


@pytest.fixture
def drafted(tmp_path: Path) -> Callable[..., DraftTable]:
    def draft(header: str, rows: Sequence[str], **options: object) -> DraftTable:
        path = tmp_path / "data.csv"
        path.write_text("\n".join([header, *rows]) + "\n")
        return describe(path, **options)  # type: ignore[arg-type]

    return draft


# Who is the unit


@pytest.mark.parametrize(
    ("header", "unit"),
    [
        ("patient_type,patient_nr,clinic_id,visit_id", "patient_nr"),  # not the first, nor the one with the most values
        ("a,customer,clinic_id,order_id", "customer"),
        ("a,userId,b,valid", "userId"),
        ("paid,covid,grid,CASEID", "CASEID"),
        ("a,b,clinic_id,visit_id", "visit_id"),
        ("a,b,clinic_id,visits", None),
        ("patient_type,b,clinic_id,visits", None),
        ("a,b,number_of_children,ideology", None),
    ],
)
def test_the_unit_is_a_column_that_names_people(
    header: str, unit: str | None, drafted: Callable[..., DraftTable]
) -> None:
    """The columns have 3, 100, 12 and 300 values in 300 rows."""
    rows = [f"{n % 3},{n % 100},{n % 12},{n}" for n in range(300)]
    assert drafted(header, rows).table().unit == unit


def test_what_has_too_few_values_is_said(drafted: Callable[..., DraftTable]) -> None:
    rows = [f"{n % 5},{n}" for n in range(500)]
    draft = drafted("patient,size", rows)
    assert draft.table().unit is None
    assert "'patient' has few different values" in draft.toml()
    assert "--unit" in str(draft)
    assert drafted("patient,size", rows, unit="patient").table().unit == "patient"
    with raises_code(InvalidInputError, "unknown-column: 'nobody'"):
        drafted("patient,size", rows, unit="nobody")


def test_rows_without_a_unit_are_said(drafted: Callable[..., DraftTable]) -> None:
    draft = drafted("patient_id,size", [f"{f'p{n}' if n % 10 else ''},{n % 7}" for n in range(200)])
    assert draft.table().unit == "patient_id"
    assert "10 % of the rows have no 'patient_id': they belong to nobody and never count" in str(draft)
    mostly_empty = drafted("reply_to_user_id,size", [f"{'' if n % 5 else n},{n % 7}" for n in range(500)])
    assert mostly_empty.table().unit is None
    assert "or is empty in most rows" in str(mostly_empty)


@pytest.mark.parametrize("value", ["{n}.5", "{n} kg", "2020-01-01 10:{n:02}"])
def test_numbers_with_decimals_and_times_name_nobody(value: str, drafted: Callable[..., DraftTable]) -> None:
    draft = drafted("patient_id;size", [value.format(n=n) + f";{n % 7}" for n in range(50)])
    assert draft.table().unit is None


# What counts of a unit


def test_each_id_once_is_one_row(drafted: Callable[..., DraftTable]) -> None:
    draft = drafted("patient_id,ward", [f"p{n},{'AB'[n % 2]}" for n in range(100)])
    table = draft.table()
    assert (table.max_groups, table.max_rows_per_group, table.max_rows) == (1, 1, None)
    assert "Each value occurs in only one row" in draft.notes["unit"]
    assert "a count by ward is off by about 10 at epsilon 0.1 and 1 at epsilon 1" in str(draft)
    assert dict(table.columns) == {"ward": Category(["A", "B"])}  # nothing is known of what is constant


def visits(people: int, most: int) -> list[str]:
    """Of person n there are 1 + n % most rows, in wards in turn, always of one sex and year."""
    return [
        f"p{n},{'ABC'[turn % 3]},{'FM'[n % 2]},{1950 + n % 50},{turn}"
        for n in range(people)
        for turn in range(1 + n % most)
    ]


def test_a_limit_of_all_rows_and_what_is_constant(drafted: Callable[..., DraftTable]) -> None:
    draft = drafted("person,ward,sex,born,turn", visits(600, 4))
    table = draft.table()
    assert (table.max_groups, table.max_rows_per_group, table.max_rows) == (4, 4, 4)
    assert "max_rows = 4  # check" in draft.toml()
    assert "max_groups" not in draft.toml()
    assert parse(f'format = 1\nneighbors = "replace"\n{draft.toml()}').tables["data"] == table
    constant = {name for name, kind in table.columns.items() if kind.constant_per_unit}
    assert constant == {"sex", "born"}
    assert "delete the entry if that can change" in draft.notes["column sex"]
    assert "(19 of 20 units have at most 4)" in str(draft)
    assert "no rows are left out" in str(draft)


def test_few_people_with_very_many_rows_do_not_raise_the_limit(drafted: Callable[..., DraftTable]) -> None:
    rows = [f"p{n},{'AB'[n % 2]}" for n in range(3000) for _ in range(2 if n else 900)]
    low, high = (drafted("person,ward", rows, epsilon=epsilon).table().max_rows for epsilon in (0.1, 5))
    assert (low, high) == (2, 2)
    assert "9 % of the rows are left out" not in str(drafted("person,ward", rows))
    assert "13 % of the rows are left out" in str(drafted("person,ward", rows))


def test_a_higher_price_keeps_more_rows(drafted: Callable[..., DraftTable]) -> None:
    rows = [f"p{n},{'AB'[n % 2]}" for n in range(800) for _ in range(1 + 800 // (n + 1))]
    limits = [drafted("person,ward", rows, epsilon=epsilon).table().max_rows or 1 for epsilon in ("0.05", "0.5", "5")]
    assert limits == sorted(limits)
    assert limits[0] < limits[-1]
    with raises_code(InvalidInputError, "not-positive"):
        drafted("person,ward", rows, epsilon=0)


def test_rows_of_nobody_and_tables_without_groups(drafted: Callable[..., DraftTable]) -> None:
    empty = drafted("patient_id,size", [])
    assert (empty.table().unit, str(empty).count("limits")) == (None, 0)
    assert drafted("patient_id,size", [], unit="patient_id").table().max_rows_per_group == 1
    draft = drafted("patient_id,x", [f"p{n % 60},{n}.25" for n in range(120)] + [",1.25"] * 10)
    assert draft.table().max_rows == 2
    assert "a count is off by about 20 at epsilon 0.1 and 2 at epsilon 1 (the table has about 120 rows" in str(draft)


def rows_in(connection: duckdb.DuckDBPyConnection, rows: list[tuple[str | None, str | None]]) -> str:
    connection.execute("CREATE OR REPLACE TABLE t (u VARCHAR, g VARCHAR)")
    connection.executemany("INSERT INTO t VALUES (?, ?)", rows)
    return "SELECT u, g FROM t"


def test_places_are_those_of_the_definition() -> None:
    """The first row of each group in turn, then the second of each; groups and rows beyond a limit have no place."""
    with duckdb.connect() as connection:
        sql = rows_in(connection, [("a", "x")] * 5 + [("a", "y")] * 2 + [("b", "x"), (None, "x"), ("b", None)])
        table = kept(connection, sql)
        assert table[:, 1].sum() == 2  # one row of a and one of b
        assert list(np.sort(table[:, 2])) in ([1, 1, 2], [1, 1, 2])
        assert list(np.sort(table[:, 4])) == [1, 2, 3]  # of a: x y x y
        assert list(np.sort(table[:, -1])) == [1, 2, 6]
        one = connection.execute(f"SELECT count(place) FROM ({placed(sql, 1, 3)})").fetchall()[0][0]
        assert one in (2 + 1, 3 + 1)  # all of y, or three of x; and a row of b
        assert connection.execute(f"SELECT count(place) FROM ({placed(sql, 2, 1)})").fetchall()[0][0] == 4
        assert kept(connection, sql, rows_are_units=True)[:, 1].sum() == 10


def test_the_expected_error_is_that_of_simulated_noise() -> None:
    """A count of 100 rows of which 90 are left, with half of the price. Standard error of 200,000 draws below 0.2 %."""
    draw = np.random.default_rng(1)
    noise = draw.laplace(scale=3 / 0.25, size=200_000)
    of_count, of_mean = error(np.array([100.0]), np.array([90.0]), 3, 0.5)
    assert abs(of_count * 100 - np.abs(noise - 10).mean()) < 0.1
    ends = 45 + draw.laplace(scale=3 / 0.25, size=(2, 200_000))  # the two sums of a mean in the middle of its range
    assert abs(of_mean - np.abs(np.clip(ends[0] / ends.sum(axis=0), 0, 1) - 0.5).mean()) < 0.02
    assert error(np.array([100.0]), np.array([0.0]), 3, 0.5)[1] == 0.5  # a mean of nothing is anywhere in its range
    assert tuple(sorted(set(LIMITS))) == LIMITS


def test_limits_are_fair_to_all_useful_first_questions() -> None:
    """No other limit serves the question better that is served worst; a narrow range alone wants a higher limit than a
    wide one alone."""
    rows = [(f"p{n}", "AB"[n % 2]) for n in range(900) for _ in range(1 + 600 // (n + 1))]
    with duckdb.connect() as connection:
        counted = unit_rows(connection, {"g": rows_in(connection, list(rows))}, people=True)
    table, epsilons, widths = counted.tables["g"], (0.1, 1.0), (0.1, 8.0)

    def error_of(asked: First, limit: int) -> float:
        of_count, of_mean = error(table[:, -1], table[:, limit], limit, asked.epsilon)
        return of_count + asked.width * of_mean

    asked = [First(column="g", epsilon=epsilon, width=width) for epsilon in epsilons for width in widths]
    least = {one: min(error_of(one, limit) for limit in LIMITS if limit <= 601) for one in asked}
    useful = [one for one in asked if least[one] <= 0.5]
    assert 1 < len(useful) < len(asked)  # at epsilon 0.1 nothing is known of the wide range
    worst = {limit: max(error_of(one, limit) / least[one] for one in useful) for limit in LIMITS if limit <= 601}
    found = find_limits(counted, epsilons=epsilons, widths=widths)
    assert found.ratio == pytest.approx(worst[found.max_rows])
    assert found.ratio <= 1.05 * min(worst.values())
    assert found.served_worst in useful
    narrow, wide = (find_limits(counted, epsilons=(1.0,), widths=(width,)).max_rows for width in widths)
    assert wide < found.max_rows < narrow or wide < narrow == found.max_rows


def test_no_fair_limit_is_said(drafted: Callable[..., DraftTable]) -> None:
    """Most people have one row, few have 25. A count of 30 small groups wants one row at epsilon 0.1; one of two large
    groups wants all rows at epsilon 1."""
    rows = [
        f"p{n},{'AB'[(n + turn) % 2]},d{(n + turn) % 30},{(n + turn) % 7 + 50}"
        for n in range(3000)
        for turn in range(25 if n < 60 else 1)
    ]
    head, said = "person,ward,name,x", "no limit is within 1.5 times the least error for all first questions: one by"
    assert said in str(drafted(head, rows))
    assert said not in str(drafted(head, rows, epsilon=1))
    assert said not in str(drafted(head, rows[1500:]))


def test_nobody_in_the_part_that_is_read(drafted: Callable[..., DraftTable], monkeypatch: pytest.MonkeyPatch) -> None:
    """Of many rows only those of some units are read: here of none, for the only one is not among them."""
    monkeypatch.setattr(unit_draft, "MOST_ROWS", 200)
    drafts = [
        drafted("patient_id,ward", [f"p{one},{'AB'[n % 2]}" for n in range(300)], unit="patient_id") for one in range(8)
    ]
    assert {draft.table().unit for draft in drafts} == {"patient_id"}
    assert {draft.limits.first is None for draft in drafts if draft.limits is not None} == {False, True}
    assert not any("nan" in str(draft) or "occurs in only one row" in draft.toml() for draft in drafts)


def test_widths_in_means() -> None:
    assert [width_in_means(*one) for one in ((100, 50), (100, -50), (1, 1000), (5, 0), (0, 0))] == [2, 2, 0.1, 20, 0.1]


# Ranges, steps, codes


def test_numbers_near_the_largest_float(drafted: Callable[..., DraftTable]) -> None:
    """Their range is wider than a float can say. It is drafted as if they were smaller."""
    rows = [f"p{n % 100},w{n % 3},{'-' * (n % 2)}1e308" for n in range(600)]
    kind = drafted("person,ward,x", rows).table().columns["x"]
    assert isinstance(kind, Number)
    assert (kind.low, kind.high) == (-(10**150), 10**150)


def column(drafted: Callable[..., DraftTable], values: Sequence[object], name: str = "x") -> Kind:
    return drafted(f"{name}|other", [f"{value}|text {n}" for n, value in enumerate(values)]).table().columns[name]


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["3.0", "", "17.0"], Integer(0, 20)),  # whole numbers with gaps, as pandas writes them
        (["36.6", "37", "41.2"], Number(36, 42, step="0.1")),
        (["0.25", "3"], Number(0, 3, step="0.01")),
        (["0.123456789", "0.9"], Number(0, 1, step="0.000001")),
        (["1000.1234567", "1000.2"], Number("1000.12", "1000.2", step="0.0000001")),
        (["2500", "4100"], Integer(2500, 4500)),
        (["-40.5", "-41.5"], Number("-41.5", "-40.5", step="0.1")),
        (["-40", "-3"], Integer(-40, 0)),
        (["1", "2", "3"], Integer(1, 3)),
        (["0", "7"], Integer(0, 8)),
        (["1e30", "2e30"], Number(10**30, 2 * 10**30, step=10**24)),
        (["0", "0"], Integer(0, 1)),
        ([*range(20), *[999] * 5], Integer(0, 20)),
        ([*range(20), *[999] * 4], Integer(0, 1000)),  # too few to be a code
        ([*range(60), *[99] * 9], Integer(0, 100)),  # not apart from the others
        ([*range(20), *[-9] * 5], Integer(0, 20)),
        ([*range(-20, 20), *[-9] * 5], Integer(-20, 20)),
        ([*range(20), *[-1] * 5, *[-2] * 5], Integer(0, 20)),
        ([*[-2, -1, 0, 1, 2] * 9], Integer(-2, 2)),  # scores
        ([*range(-7, 30), *range(-7, 30), *range(-7, 0), *range(-7, 0), *range(-7, 0)], Integer(-8, 30)),
        ([999] * 30, Integer(0, 1000)),
        (["yes", "no"] * 20, Boolean()),
        (["-0.1", "1.1"], Number("-0.15", "1.5", step="0.01")),  # a mark may need another decimal
        ([1, *([2, 50] * 1000)], Integer(1, 50)),  # without the 1 the range would be wider
        (["1e999", "2e999"], Text()),  # beyond all numbers
    ],
)
def test_ranges_steps_and_codes(values: Sequence[object], kind: Kind, drafted: Callable[..., DraftTable]) -> None:
    assert column(drafted, values) == kind


@pytest.mark.parametrize(
    ("name", "kind"),
    [("month", Integer(1, 12)), ("Hour of day", Integer(0, 23)), ("months", Integer(0, 8)), ("age", Integer(0, 120))],
)
def test_ranges_that_everybody_knows(name: str, kind: Kind, drafted: Callable[..., DraftTable]) -> None:
    assert column(drafted, [2, 3, 7], name) == kind


def test_a_known_range_that_is_much_wider_is_said(drafted: Callable[..., DraftTable]) -> None:
    notes = [drafted("age", [str(n % most) for n in range(300)]).notes["column age"] for most in (19, 90)]
    assert "all values in this file are from 0 to 20; if anybody may know that, declare it" in notes[0]
    assert "answers then need 6 times less noise" in notes[0]
    assert "noise" not in notes[1]


def test_an_age_with_decimals(drafted: Callable[..., DraftTable]) -> None:
    assert column(drafted, ["0.5", "98"], "age") == Number(0, 120, step="0.1")


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["2023-02-01", "2024-11-30"], Date("2022-01-01", "2025-12-31")),
        (["1931-02-01", "2005-11-30"], Date("1920-01-01", "2015-12-31")),
        (["0001-02-01", "0002-11-30"], Date("0001-01-01", "0003-12-31")),
        (["2023-02-01T10:00", "2023-02-01 11:00"], Timestamp("2022-01-01", "2024-12-31T23:59:59")),
        (["1987", "1990"], Integer(1986, 1991)),
    ],
)
def test_years_that_occur_are_widened(values: Sequence[str], kind: Kind, drafted: Callable[..., DraftTable]) -> None:
    assert column(drafted, values) == kind


def test_one_far_value_does_not_widen_a_range(drafted: Callable[..., DraftTable]) -> None:
    values = [n % 90 for n in range(2000)] + [70_000]
    draft = drafted("x", [str(value) for value in values])
    assert draft.table().columns["x"] == Integer(0, 100)
    note = draft.notes["column x"]
    assert "less than 0.1 % of the values lie outside and count as 0 or 100" in note
    assert "low = 0, high = 80000 would keep them all, with 800 times the noise" in note


def test_a_typed_column_without_values(tmp_path: Path) -> None:
    with duckdb.connect() as connection:
        selected = "NULL::INTEGER AS n, NULL::DOUBLE AS x, CASE WHEN i > 3 THEN i END::DOUBLE AS gaps"
        connection.execute(f"COPY (SELECT {selected} FROM range(9) t(i)) TO '{tmp_path / 'data.parquet'}'")
    columns = describe(tmp_path / "data.parquet").table().columns
    assert dict(columns) == {"n": Integer(0, 1), "x": Number(0, 1, step="0.000001"), "gaps": Integer(0, 8)}


def test_a_mean_of_many_rows_needs_the_whole_range(drafted: Callable[..., DraftTable]) -> None:
    """Where noise is small, a value that is cut off moves the mean by more."""
    rows = [str(n % 90 if n % 150 else 400) for n in range(60_000)]
    assert drafted("x", rows, epsilon=5).table().columns["x"] == Integer(0, 400)


@pytest.mark.parametrize(
    ("low", "high", "whole", "expected"),
    [(0, 0, False, (0, 1)), (-5, 0, False, (-5, 0)), (-0.5, 90, False, (-10, 100)), (0, 0.3, False, (0, 0.3))],
)
def test_marks(low: float, high: float, whole: bool, expected: tuple[float, float]) -> None:
    assert tuple(map(float, marks(low, high, whole=whole))) == expected


def test_numbers_for_people() -> None:
    assert [about(value) for value in (0.123, 1.0, 12.3, 1234, 98765)] == ["0.1", "1", "12", "1,200", "99,000"]
    assert [percent(share) for share in (0.00001, 0.0123, 0.5)] == ["less than 0.1 %", "1.2 %", "50 %"]


# What looks wrong in a file


@pytest.mark.parametrize(
    ("text", "options", "remark"),
    [
        ("a^b^c\n1^2^3\n", {}, "give --delimiter '^'"),
        ("a;b\n1;2\n", {"delimiter": ","}, "give --delimiter ';'"),
        ("a b c\n1 2 3\n", {}, "give --delimiter ' '"),
        ("name of all\n1\n", {}, ""),
        ("a,b\n1,2,5\n3,4,5\n", {}, "2 rows have more or fewer fields than the header, which has 2: look for texts"),
        ("a,b\n" + "1,2\n" * 99 + "1\n", {}, "1 row has more or fewer"),
        ("a,b;c;d\n1;2,2;5\n1;3,3;5\n2;5;6\n", {"delimiter": ","}, "give --delimiter ';', or look for texts"),
        ("a,b\n1,2\n", {}, ""),
        ("a,b\nk.A.,2\n", {}, "missing in every column: 'k.A.'"),
    ],
)
def test_remarks_on_a_file(text: str, options: dict[str, str], remark: str, tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_text(text)
    draft = describe(path, **options)  # type: ignore[arg-type]
    assert any(remark in one for one in draft.remarks) if remark else not draft.remarks
    assert remark in str(draft)
    assert f"# check: {draft.remarks[0] if draft.remarks else ''}" in draft.toml() + "# check: "

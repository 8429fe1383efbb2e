"""SQL text against the plan it means, or the reason it is refused."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path

import pytest
from sql_writer import TABLES, UNITS, VISITS, shown, sql_of

from privet.core.expression import Column, Compare, Literal, Relation
from privet.core.narrow import narrowed
from privet.core.plan import Function, Plan, fingerprint
from privet.core.ranges import shape_of
from privet.core.schema import Integer
from privet.core.shape import Form, shape_of_kind
from privet.errors import RefusedQueryError
from privet.sql import plan_of
from privet.sql.constants import number_of

HERE = Path(__file__).parent
PAIRS = re.findall(r"^(?!#)(.+?)\n=> (.*)$", (HERE / "plans.sql").read_text(), re.MULTILINE)
PAGE = (HERE.parent / "docs" / "sql.md").read_text()
ARGUMENTS = {function: 1 for function in Function if function not in (Function.COUNT, Function.COUNT_DISTINCT)}
ARGUMENTS |= dict.fromkeys((Function.COVAR_POP, Function.COVAR_SAMP, Function.CORR), 2)
SHAPES = {name: shape_of_kind(kind) for name, kind in VISITS.items()}


def refused(text: object, tables: dict[str, dict[str, Integer]] | None = None) -> RefusedQueryError:
    with pytest.raises(RefusedQueryError) as caught:
        plan_of(text, TABLES if tables is None else tables, units=UNITS)  # type: ignore[arg-type]
    return caught.value


def result_of(text: str) -> str:
    try:
        return shown(plan_of(text, TABLES, units=UNITS))
    except RefusedQueryError as error:
        return f"REFUSED: {error.problem}"


@pytest.mark.parametrize(("text", "expected"), PAIRS, ids=[text for text, _ in PAIRS])
def test_pair(text: str, expected: str) -> None:
    assert result_of(text) == expected


def test_there_are_many_pairs() -> None:
    assert len(PAIRS) >= 320
    assert len({text for text, _ in PAIRS}) == len(PAIRS)


@pytest.mark.parametrize("text", [text for text, result in PAIRS if result.startswith("visits")])
def test_every_expression_of_a_plan_has_a_shape(text: str) -> None:
    plan = plan_of(text, TABLES, units=UNITS)
    inside = narrowed(SHAPES, plan.where)
    if plan.where is not None:
        assert shape_of(plan.where, SHAPES).form is Form.TRUTH
    for key in plan.keys:
        shape_of(key.value, inside)
    for aggregate in plan.aggregates:
        forms = [shape_of(value, inside).form for value in (aggregate.value, aggregate.second) if value is not None]
        assert set(forms) <= {Form.NUMBER} or aggregate.function in (Function.COUNT, Function.COUNT_DISTINCT)
        assert len(forms) == ARGUMENTS.get(aggregate.function, len(forms))
        assert (aggregate.quantile is not None) == (aggregate.function is Function.QUANTILE)
    names = {column.name for column in (*plan.keys, *plan.aggregates)}
    assert len(names) == len(plan.keys) + len(plan.aggregates)
    assert names >= {*plan.outputs, *(order.name for order in plan.order)}
    assert fingerprint(plan)


@pytest.mark.parametrize("text", [text for text, result in PAIRS if not result.startswith("REFUSED")])
def test_a_plan_written_as_sql_is_read_the_same(text: str) -> None:
    plan = plan_of(text, TABLES, units=UNITS)
    again = plan_of(sql_of(plan, UNITS[plan.table]), TABLES, units=UNITS)
    assert (again.table, again.where, again.keys) == (plan.table, plan.where, plan.keys)
    assert fingerprint(again.aggregates) == fingerprint(plan.aggregates)


def sql_on_the_page(heading: str) -> list[str]:
    section = PAGE.split(f"## {heading}\n")[1].split("\n## ")[0]
    blocks = re.findall(r"^```sql\n(.*?)^```", section, re.MULTILINE | re.DOTALL)
    return [query.strip() for block in blocks for query in block.split(";") if query.strip()]


def test_queries_on_the_page_are_answered() -> None:
    queries = sql_on_the_page("What can be asked")
    assert len(queries) >= 24
    for query in queries:
        assert isinstance(plan_of(query, TABLES, units=UNITS), Plan)


def test_remedies_on_the_page() -> None:
    rows = re.findall(r"^\| `(.+?)` \| (.+?) \|$", PAGE.split("## What is refused\n")[1], re.MULTILINE)
    assert len(rows) >= 20
    for query, remedy in rows:
        assert refused(query.replace("\\|", "|")).remedy == remedy.replace("`", ""), query


# What pairs cannot show


@pytest.mark.parametrize("text", [None, 3, b"SELECT COUNT(*) FROM visits"])
def test_only_text_is_read(text: object) -> None:
    assert refused(text).problem == "the query is not a text"


@pytest.mark.parametrize("text", ["", " \n ", ";;", "/* nothing */"])
def test_nothing_to_read(text: str) -> None:
    assert refused(text).problem == "the query is empty"


def test_the_unit_is_counted_and_nothing_else() -> None:
    tables = {"t": {"x": Integer(0, 9)}, "u": {"x": Integer(0, 9), "id": Integer(0, 9)}}
    units = {"t": "user", "u": "id"}  # a keyword; and a column that the owner declared as well
    plan = plan_of("SELECT COUNT(DISTINCT user), COUNT(DISTINCT x) FROM t", tables, units=units)
    assert [(a.function, a.value) for a in plan.aggregates] == [
        (Function.COUNT_DISTINCT, None), (Function.COUNT_DISTINCT, Column("x"))
    ]  # fmt: skip
    with pytest.raises(RefusedQueryError, match="says who somebody is"):
        plan_of("SELECT COUNT(*) FROM t WHERE user = 3", tables, units=units)
    with pytest.raises(RefusedQueryError, match="there is no column 'user'"):
        plan_of("SELECT COUNT(DISTINCT user) FROM t", tables)
    plan = plan_of("SELECT COUNT(DISTINCT ID), COUNT(DISTINCT id + 1) FROM u WHERE id < 5", tables, units=units)
    assert [aggregate.value is None for aggregate in plan.aggregates] == [True, False]
    assert plan.where == Compare(Relation.LESS, Column("id"), Literal(Fraction(5)))


def test_names_that_differ_in_case_only() -> None:
    tables = {"t": {"ab": Integer(0, 1), "aB": Integer(0, 1)}, "T": {"x": Integer(0, 1)}}
    assert plan_of("SELECT SUM(aB) FROM t", tables).aggregates[0].value == Column("aB")
    assert refused("SELECT SUM(AB) FROM t", tables).problem == "column 'AB' could be 'ab' or 'aB'"
    assert plan_of("SELECT COUNT(*) FROM T", tables).table == "T"


def test_columns_named_like_keywords() -> None:
    columns = {name: Integer(0, 9) for name in ("left", "timestamp", "index", "row", "year", "count", "first", "end")}
    plan = plan_of(
        'SELECT SUM("left"), SUM("end") FROM t WHERE year > 1 AND timestamp > 2 AND "count" < 3', {"t": columns}
    )
    assert shown(plan).startswith("t | where ((year > 1) AND (timestamp > 2) AND (count < 3)) | sum_left=SUM(left)")
    assert refused("SELECT COUNT(*) FROM t WHERE left(index) = 1", {"t": columns}).problem == "LEFT is not answered yet"


def test_long_lists_of_names_are_cut() -> None:
    columns = {f"column_{i:03}": Integer(0, 9) for i in range(300)}
    error = refused("SELECT SUM(colum_7) FROM t", {"t": columns})
    assert error.remedy.startswith("did you mean column_")
    assert error.remedy.endswith("column_011, ...")
    assert refused("SELECT SUM(a) FROM t", {"t": {"b\nc": Integer(0, 1)}}).remedy == "the columns are: 'b\\nc'"
    assert refused("SELECT SUM(a) FROM t", {}).remedy == "the tables are: none"


def test_a_column_that_is_too_wide_matters_only_where_it_is_used() -> None:
    tables = {"t": {"a": Integer(0, 9), "wide": Integer(0, 10**40)}}
    assert plan_of("SELECT SUM(a) FROM t", tables).table == "t"
    assert "too large" in refused("SELECT SUM(wide) FROM t", tables).problem or refused(
        "SELECT SUM(wide) FROM t", tables
    )


def test_made_up_names_never_take_a_given_name() -> None:
    plan = plan_of("SELECT COUNT(*), SUM(age) AS count, ward FROM visits GROUP BY ward, smoker", TABLES)
    assert plan.outputs == ("count_2", "count", "ward")
    assert [key.name for key in plan.keys] == ["ward", "smoker"]
    plan = plan_of("SELECT COUNT(*) AS ward FROM visits GROUP BY ward", TABLES)
    assert plan.keys[0].name == "ward_2"


def test_names_and_numbers_of_columns_are_bounded() -> None:
    assert "too long" in refused(f"SELECT COUNT(*) AS {'n' * 101} FROM visits").problem
    many = ", ".join(["COUNT(*)"] * 501)
    assert refused(f"SELECT {many} FROM visits").problem == "the query has more than 500 keys and aggregates"
    long_name = {"t": {"c" * 200: Integer(0, 9)}}
    assert plan_of(f"SELECT SUM({'c' * 200}) FROM t", long_name).outputs == ("sum_" + "c" * 86,)


def test_what_where_excludes_need_not_fit() -> None:
    wide = {"t": {"x": Integer(0, 10**9)}}
    assert "as large as" in refused("SELECT SUM(x * x * x) FROM t", wide).problem
    assert plan_of("SELECT SUM(x * x * x) FROM t WHERE x < 1000", wide).table == "t"


@pytest.mark.parametrize("text", ["1_0", "١", "1e", "--1", "nan", "1e401", ""])
def test_numbers_are_plain(text: str) -> None:
    with pytest.raises(RefusedQueryError):
        number_of(text)


def test_doubling_is_counted() -> None:
    """NULLIF holds its argument twice: twenty of them in each other would be a million nodes."""
    assert refused(f"SELECT SUM({'NULLIF(' * 20}age{', 1)' * 20}) FROM visits").problem == "an expression is too long"
    sums = ", ".join([f"SUM({'NULLIF(' * 9}age{', 1)' * 9})"] * 9)
    assert refused(f"SELECT {sums} FROM visits").problem == "the query is too long"


def test_equal_numbers_and_truths_are_told_apart() -> None:
    """In Python True == 1; a key of booleans is still not a key of numbers."""
    text = "SELECT CASE WHEN smoker THEN {} END, COUNT(*) FROM visits GROUP BY CASE WHEN smoker THEN {} END"
    assert plan_of(text.format("TRUE", "TRUE"), TABLES).keys
    assert "neither grouped" in refused(text.format("TRUE", "1")).problem

"""SQL text against the plan it means, or the reason it is refused."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction

import pytest
from support.places import ROOT
from support.refusals import expect_code, raises_code
from support.sql_writer import FACTS, PAIRS, TABLES, UNITS, shown, sql_of

from privet.catalog.declarations import Source, Table
from privet.core.expression import Column, Compare, Literal, Relation, columns_in
from privet.core.narrow import narrowed
from privet.core.origin import origin_of, shapes_of
from privet.core.plan import Function, Joined, PerUnit, Plan, Scan, fingerprint
from privet.core.ranges import shape_of
from privet.core.schema import Category, Integer
from privet.core.shape import Form, shape_of_kind
from privet.errors import RefusedQueryError
from privet.sql import TableFacts, plan_of
from privet.sql.constants import number_of
from privet.sql.known_tables import MOST_SELECTS
from privet.sql.scopes import MOST_TABLES

PAGE = (ROOT / "docs" / "sql.md").read_text()
ARGUMENTS = {function: 1 for function in Function if function not in (Function.COUNT, Function.COUNT_DISTINCT)}
ARGUMENTS |= dict.fromkeys((Function.COVAR_POP, Function.COVAR_SAMP, Function.CORR), 2)
SHAPES = {table: {name: shape_of_kind(kind) for name, kind in columns.items()} for table, columns in TABLES.items()}


def refused(text: object, tables: dict[str, dict[str, Integer]] | None = None) -> RefusedQueryError:
    with pytest.raises(RefusedQueryError) as caught:
        plan_of(text, TABLES if tables is None else tables, units=UNITS, facts=FACTS)  # type: ignore[arg-type]
    return caught.value


@pytest.mark.parametrize(("text", "expected"), PAIRS, ids=[text for text, _ in PAIRS])
def test_pair(text: str, expected: str) -> None:
    if expected.startswith("REFUSED: "):
        expect_code(expected.removeprefix("REFUSED: "), refused(text))
    else:
        assert shown(plan_of(text, TABLES, units=UNITS, facts=FACTS)) == expected


def test_there_are_many_pairs() -> None:
    assert len(PAIRS) >= 600
    assert len({text for text, _ in PAIRS}) == len(PAIRS)


@pytest.mark.parametrize("text", [text for text, result in PAIRS if not result.startswith("REFUSED")])
def test_every_expression_of_a_plan_has_a_shape(text: str) -> None:
    plan = plan_of(text, TABLES, units=UNITS, facts=FACTS)
    columns = shapes_of(origin_of(plan), SHAPES)
    inside = narrowed(columns, plan.where)
    if plan.where is not None:
        assert shape_of(plan.where, columns).form is Form.TRUTH
    for key in plan.keys:
        shape_of(key.value, inside)
    for aggregate in plan.aggregates:
        forms = [shape_of(value, inside).form for value in (aggregate.value, aggregate.second) if value is not None]
        assert set(forms) <= {Form.NUMBER} or aggregate.function in (Function.COUNT, Function.COUNT_DISTINCT)
        assert len(forms) == ARGUMENTS.get(aggregate.function, len(forms))
        assert (aggregate.quantile is not None) == (aggregate.function is Function.QUANTILE)
    names = {column.name for column in (*plan.keys, *plan.aggregates, *plan.computed)}
    assert len(names) == len(plan.keys) + len(plan.aggregates) + len(plan.computed)
    assert names >= {*plan.outputs, *(order.name for order in plan.order)}
    assert {key.name for key in plan.keys} >= {name for level in plan.levels for name in level}
    computed = {name for part in plan.computed for name in columns_in(part.value)}
    assert names - {part.name for part in plan.computed} | {one.name for one in plan.totals} >= computed
    assert fingerprint(plan)


@pytest.mark.parametrize("text", [text for text, result in PAIRS if not result.startswith(("REFUSED", "("))])
def test_a_plan_written_as_sql_is_read_the_same(text: str) -> None:
    plan = plan_of(text, TABLES, units=UNITS, facts=FACTS)
    again = plan_of(sql_of(plan, UNITS[plan.table]), TABLES, units=UNITS)
    assert (again.table, again.where, again.keys) == (plan.table, plan.where, plan.keys)
    assert fingerprint(again.aggregates) == fingerprint(plan.aggregates)


def sql_on_the_page(heading: str) -> list[str]:
    section = PAGE.split(f"## {heading}\n")[1].split("\n## ")[0]
    blocks = re.findall(r"^```sql\n(.*?)^```", section, re.MULTILINE | re.DOTALL)
    return [query.strip() for block in blocks for query in block.split(";") if query.strip()]


def test_queries_on_the_page_are_answered() -> None:
    queries = sql_on_the_page("What can be asked")
    assert len(queries) >= 40
    for query in queries:
        assert isinstance(plan_of(query, TABLES, units=UNITS, facts=FACTS), Plan)


def test_remedies_on_the_page() -> None:
    rows = re.findall(r"^\| `(.+?)` \| (.+?) \|$", PAGE.split("## What is refused\n")[1], re.MULTILINE)
    assert len(rows) >= 20
    for query, remedy in rows:
        assert refused(query.replace("\\|", "|")).remedy == remedy.replace("`", ""), query


# What pairs cannot show


@pytest.mark.parametrize("text", [None, 3, b"SELECT COUNT(*) FROM visits"])
def test_only_text_is_read(text: object) -> None:
    expect_code("wrong-type", refused(text))


@pytest.mark.parametrize("text", ["", " \n ", ";;", "/* nothing */"])
def test_nothing_to_read(text: str) -> None:
    expect_code("empty", refused(text))


def test_the_unit_is_counted_and_nothing_else() -> None:
    tables = {"t": {"x": Integer(0, 9)}, "u": {"x": Integer(0, 9), "id": Integer(0, 9)}}
    units = {"t": "user", "u": "id"}  # a keyword; and a column that the owner declared as well
    plan = plan_of("SELECT COUNT(DISTINCT user), COUNT(DISTINCT x) FROM t", tables, units=units)
    assert [(a.function, a.value) for a in plan.aggregates] == [
        (Function.COUNT_DISTINCT, None), (Function.COUNT_DISTINCT, Column("x"))
    ]  # fmt: skip
    with raises_code(RefusedQueryError, "unit-as-value"):
        plan_of("SELECT COUNT(*) FROM t WHERE user = 3", tables, units=units)
    with raises_code(RefusedQueryError, "unknown-column: 'user'"):
        plan_of("SELECT COUNT(DISTINCT user) FROM t", tables)
    plan = plan_of("SELECT COUNT(DISTINCT ID), COUNT(DISTINCT id + 1) FROM u WHERE id < 5", tables, units=units)
    assert [aggregate.value is None for aggregate in plan.aggregates] == [True, False]
    assert plan.where == Compare(Relation.LESS, Column("id"), Literal(Fraction(5)))


def test_names_that_differ_in_case_only() -> None:
    tables = {"t": {"ab": Integer(0, 1), "aB": Integer(0, 1)}, "T": {"x": Integer(0, 1)}}
    assert plan_of("SELECT SUM(aB) FROM t", tables).aggregates[0].value == Column("aB")
    expect_code("ambiguous-name: 'AB' … 'ab' … 'aB'", refused("SELECT SUM(AB) FROM t", tables))
    assert plan_of("SELECT COUNT(*) FROM T", tables).table == "T"


def test_columns_named_like_keywords() -> None:
    columns = {name: Integer(0, 9) for name in ("left", "timestamp", "index", "row", "year", "count", "first", "end")}
    plan = plan_of(
        'SELECT SUM("left"), SUM("end") FROM t WHERE year > 1 AND timestamp > 2 AND "count" < 3', {"t": columns}
    )
    assert shown(plan).startswith("t | where ((year > 1) AND (timestamp > 2) AND (count < 3)) | sum_left=SUM(left)")
    expect_code("type-mismatch: LEFT", refused("SELECT COUNT(*) FROM t WHERE left(index, 1) = '1'", {"t": columns}))
    expect_code("unsupported-function: ROW", refused("SELECT COUNT(*) FROM t WHERE row(index) = 1", {"t": columns}))


def test_long_lists_of_names_are_cut() -> None:
    columns = {f"column_{i:03}": Integer(0, 9) for i in range(300)}
    error = refused("SELECT SUM(colum_7) FROM t", {"t": columns})
    assert "column_007" in error.remedy
    assert error.remedy.endswith("column_011, ...")
    expect_code("unknown-column: 'a' … 'b\\nc'", refused("SELECT SUM(a) FROM t", {"t": {"b\nc": Integer(0, 1)}}))
    expect_code("unknown-table: 't' … none", refused("SELECT SUM(a) FROM t", {}))


def test_a_column_that_is_too_wide_matters_only_where_it_is_used() -> None:
    tables = {"t": {"a": Integer(0, 9), "wide": Integer(0, 10**40)}}
    assert plan_of("SELECT SUM(a) FROM t", tables).table == "t"
    expect_code("too-fine", refused("SELECT SUM(wide) FROM t", tables))


def test_made_up_names_never_take_a_given_name() -> None:
    plan = plan_of("SELECT COUNT(*), SUM(age) AS count, ward FROM visits GROUP BY ward, smoker", TABLES)
    assert plan.outputs == ("count_2", "count", "ward")
    assert [key.name for key in plan.keys] == ["ward", "smoker"]
    plan = plan_of("SELECT COUNT(*) AS ward FROM visits GROUP BY ward", TABLES)
    assert plan.keys[0].name == "ward_2"


def test_names_and_numbers_of_columns_are_bounded() -> None:
    expect_code("invalid-name", refused(f"SELECT COUNT(*) AS {'n' * 101} FROM visits"))
    many = ", ".join(["COUNT(*)"] * 501)
    expect_code("too-many: 500", refused(f"SELECT {many} FROM visits"))
    long_name = {"t": {"c" * 200: Integer(0, 9)}}
    assert plan_of(f"SELECT SUM({'c' * 200}) FROM t", long_name).outputs == ("sum_" + "c" * 86,)


def test_what_where_excludes_need_not_fit() -> None:
    wide = {"t": {"x": Integer(0, 10**9)}}
    expect_code("too-fine", refused("SELECT SUM(x * x * x) FROM t", wide))
    assert plan_of("SELECT SUM(x * x * x) FROM t WHERE x < 1000", wide).table == "t"


@pytest.mark.parametrize("text", ["1_0", "١", "1e", "--1", "nan", "1e401", ""])
def test_numbers_are_plain(text: str) -> None:
    with pytest.raises(RefusedQueryError):
        number_of(text)


def test_doubling_is_counted() -> None:
    """NULLIF holds its argument twice: twenty of them in each other would be a million nodes."""
    expect_code("too-long: expression", refused(f"SELECT SUM({'NULLIF(' * 20}age{', 1)' * 20}) FROM visits"))
    sums = ", ".join([f"SUM({'NULLIF(' * 9}age{', 1)' * 9})"] * 9)
    expect_code("too-long: query … too … long", refused(f"SELECT {sums} FROM visits"))


def test_equal_numbers_and_truths_are_told_apart() -> None:
    """In Python True == 1; a key of booleans is still not a key of numbers."""
    text = "SELECT CASE WHEN smoker THEN {} END, COUNT(*) FROM visits GROUP BY CASE WHEN smoker THEN {} END"
    assert plan_of(text.format("TRUE", "TRUE"), TABLES).keys
    expect_code("not-grouped", refused(text.format("TRUE", "1")))


# Joins and sub-queries: what pairs cannot show


def test_without_facts_every_table_is_private_and_has_one_row_a_unit() -> None:
    text = "SELECT COUNT(*) FROM visits JOIN stays ON patient_id = pid"
    plan = plan_of(text, TABLES, units=UNITS)
    assert plan.origin == Joined(left=Scan(table="visits"), right=Scan(table="stays"), by_unit=True, names=(), most=1)
    assert plan_of(
        text, TABLES, units=UNITS, facts={"stays": TableFacts(max_groups=3, max_rows_per_group=2)}
    ) == replace(plan, origin=replace(plan.origin, most=6))


def test_declared_tables_are_facts() -> None:
    """What a vault holds can be given as it is."""
    source = Source(kind="memory")
    visits = Table(name="visits", source=source, unit="pid", columns={"ward": Category(["A"])}, max_rows=7)
    wards = Table(
        name="wards", source=source, unit=None, public=True, key=("ward",),
        columns={"ward": Category(["A"]), "size": Integer(0, 9)},
    )  # fmt: skip
    facts = {"visits": visits, "wards": wards}
    columns = {name: table.columns for name, table in facts.items()}
    text = "SELECT SUM(size) FROM visits a JOIN visits b USING (pid) JOIN wards w ON w.ward = a.ward"
    plan = plan_of(text, columns, units={"visits": "pid"}, facts=facts)
    assert isinstance(plan.origin, Joined)
    assert isinstance(plan.origin.left, Joined)
    assert (plan.origin.most, plan.origin.left.most) == (1, 7)


def test_rows_that_are_units_meet_a_public_table_by_its_key_only() -> None:
    tables = {"t": {"x": Integer(0, 9)}, "p": {"x": Integer(0, 9), "y": Integer(0, 9)}}
    for key, answered in ((("x",), True), (("y",), False), (("x", "y"), False), ((), False)):
        facts = {"p": TableFacts(public=True, key=key)}
        for text in ("SELECT SUM(y) FROM t JOIN p USING (x)", "SELECT SUM(y) FROM t LEFT JOIN p USING (x)"):
            if answered:
                assert plan_of(text, tables, facts=facts).origin.most == 1  # type: ignore[union-attr]
            else:
                with raises_code(RefusedQueryError, "unbounded-join: 'p'"):
                    plan_of(text, tables, facts=facts)


def test_a_unit_that_is_declared_is_a_unit_first() -> None:
    tables = {"t": {"id": Integer(0, 9), "x": Integer(0, 9)}, "s": {"y": Integer(0, 9)}}
    units = {"t": "id", "s": "who"}
    plan = plan_of("SELECT id, SUM(y) FROM t JOIN s ON who = id WHERE id < 5 GROUP BY id", tables, units=units)
    assert (
        shown(plan) == "(t JOIN s BY UNIT MOST 1 GIVES y) | where (id < 5) | by id=id | sum_y=SUM(y) | show id, sum_y"
    )
    plan = plan_of("SELECT AVG(n) FROM (SELECT id, COUNT(*) AS n FROM t WHERE id > 2 GROUP BY id)", tables, units=units)
    assert isinstance(plan.origin, PerUnit)
    assert plan.origin.keys == ()
    plan = plan_of("SELECT COUNT(*) FROM s LEFT JOIN t ON who = id WHERE id IS NULL", tables, units=units)
    assert shown(plan).startswith("(s LEFT JOIN t BY UNIT MOST 1 GIVES id AS t_id) | where (t_id IS NULL) |")


def test_names_of_both_tables_are_told_apart() -> None:
    """Whatever the case, since engines do not tell it."""
    tables = {"t": {"Age": Integer(0, 9), "u_age": Integer(0, 9)}, "u": {"age": Integer(0, 9), "pid": Integer(0, 9)}}
    plan = plan_of(
        "SELECT SUM(u.age), SUM(u.pid) FROM t JOIN u ON t.pid = u.uid", tables, units={"t": "pid", "u": "uid"}
    )
    assert isinstance(plan.origin, Joined)
    assert plan.origin.names == (("age", "u_age_2"), ("pid", "u_pid"))


def test_too_many_tables_and_sub_queries() -> None:
    joins = " ".join(f"JOIN stays s{i} ON s{i}.pid = v.patient_id" for i in range(MOST_TABLES - 1))
    assert plan_of(f"SELECT COUNT(*) FROM visits v {joins}", TABLES, units=UNITS, facts=FACTS)
    more = f"{joins} JOIN stays ON stays.pid = v.patient_id"
    too_many = f"too-many: {MOST_TABLES} tables"
    expect_code(too_many, refused(f"SELECT COUNT(*) FROM visits v {more}"))
    doubled = "WITH t0 AS (SELECT patient_id FROM visits), " + ", ".join(
        f"t{i + 1} AS (SELECT a.patient_id FROM t{i} a JOIN t{i} b USING (patient_id))" for i in range(20)
    )
    expect_code(too_many, refused(f"{doubled} SELECT COUNT(*) FROM t20"))
    looked = " AND ".join(f"patient_id IN (SELECT pid FROM stays WHERE nights > {i})" for i in range(MOST_TABLES))
    expect_code(too_many, refused(f"SELECT COUNT(*) FROM visits WHERE {looked}"))
    same = " AND ".join(["patient_id IN (SELECT pid FROM stays)"] * MOST_SELECTS)
    assert plan_of(f"SELECT COUNT(*) FROM visits WHERE {same}", TABLES, units=UNITS, facts=FACTS)
    expect_code("too-many: 50", refused(f"SELECT COUNT(*) FROM visits WHERE {same} AND {same}"))


def test_substitution_is_counted() -> None:
    """Every name doubles what it stands for."""
    doubled = "WITH t0 AS (SELECT age AS x FROM visits), " + ", ".join(
        f"t{i + 1} AS (SELECT x + x AS x FROM t{i})" for i in range(20)
    )
    expect_code("too-long: expression", refused(f"{doubled} SELECT SUM(x) FROM t20"))
    aliases = ", ".join(f"a{i} + a{i} AS a{i + 1}" for i in range(20))
    expect_code("too-long: query … too … long", refused(f"SELECT COUNT(*) AS a0, {aliases} FROM visits"))


def test_hidden_aggregates_are_asked_for_once() -> None:
    plan = plan_of(
        "SELECT SUM(cost) / COUNT(*) AS a, SUM(cost) AS s, COUNT(*) AS n FROM visits HAVING SUM(cost) > COUNT(*)",
        TABLES,
    )
    assert [aggregate.name for aggregate in plan.aggregates] == ["s", "n"]
    assert plan.outputs == ("a", "s", "n")


def test_columns_that_are_too_wide_matter_only_where_they_are_used() -> None:
    tables = {"t": {"a": Integer(0, 9)}, "u": {"wide": Integer(0, 10**40), "b": Integer(0, 9)}}
    units = {"t": "pid", "u": "pid"}
    assert plan_of("SELECT SUM(b) FROM t JOIN u USING (pid)", tables, units=units)
    with raises_code(RefusedQueryError, "too-fine"):
        plan_of("SELECT SUM(wide) FROM t JOIN u USING (pid)", tables, units=units)


def test_words_of_joins_and_of_fetch_can_be_columns() -> None:
    """Where there is no JOIN, ON is a name like any other, if somebody declared it."""
    kinds = {name: Integer(0, 9) for name in ("on", "using", "rows", "row", "next", "only")}
    for name in kinds:
        plan = plan_of(f"SELECT SUM({name}) AS s FROM t WHERE {name} > 3 GROUP BY {name}", {"t": kinds})
        assert plan.keys[0].value == plan.aggregates[0].value == Column(name)
    fetched = plan_of("SELECT next, COUNT(*) AS n FROM t GROUP BY next LIMIT 3", {"t": kinds})
    assert fetched.limit == 3

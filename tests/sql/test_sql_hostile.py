"""Whatever the text: a plan or one short refusal in our own words. Nothing else, and no long wait."""

from __future__ import annotations

import sys
from random import Random

import pytest
import sqlglot
from hypothesis import given, settings
from hypothesis import strategies as st
from support.refusals import expect_code
from support.sql_soup import broken, mutated, outcome, soup

import privet.sql
from privet.core.plan import Plan
from privet.core.schema import Integer
from privet.errors import RefusedQueryError
from privet.sql import plan_of
from privet.sql.words import DEEPEST, LONGEST

WHERE = "SELECT COUNT(*) FROM visits WHERE "


def refusal(text: str) -> RefusedQueryError:
    found = outcome(text)
    assert isinstance(found, RefusedQueryError), text
    return found


ATTACKS = """
ATTACH 'x.db'
COPY visits TO 'x.csv'
PRAGMA version
SET threads = 1
INSTALL httpfs
LOAD httpfs
EXPORT DATABASE 'x'
IMPORT DATABASE 'x'
CREATE TABLE x (a INT)
DROP TABLE visits
DELETE FROM visits
INSERT INTO visits VALUES (1)
UPDATE visits SET age = 1
ALTER TABLE visits ADD COLUMN x INT
CALL f()
EXPLAIN SELECT COUNT(*) FROM visits
DESCRIBE visits
SHOW TABLES
VACUUM
BEGIN
USE main
PIVOT visits ON ward USING COUNT(*)
SUMMARIZE visits
VALUES (1)
TABLE visits
EXECUTE x
GRANT ALL
SELECT COUNT(*) FROM read_csv('/etc/passwd')
SELECT COUNT(*) FROM read_text('/etc/passwd')
SELECT COUNT(*) FROM glob('*')
SELECT COUNT(*) FROM '/etc/passwd'
SELECT COUNT(*) FROM 'x.parquet'
SELECT COUNT(*) FROM "/etc/passwd"
SELECT COUNT(*) FROM information_schema.tables
SELECT COUNT(*) FROM duckdb_settings()
SELECT COUNT(*) FROM range(9)
SELECT COUNT(*) FROM (VALUES (1))
SELECT getenv('HOME'), COUNT(*) FROM visits GROUP BY 1
SELECT COUNT(*) FROM query('SELECT 1')
SELECT COUNT(*) FROM visits WHERE age = (SELECT 1)
SELECT COUNT(*) INTO x FROM visits
SELECT COUNT(*) FROM visits FOR UPDATE
SELECT COUNT(*) FROM visits WHERE random() < 0.5
SELECT COUNT(*) FROM visits; SELECT 1
SELECT COUNT(*) FROM visits;;DROP TABLE visits;
SELECT COUNT(*) FROM visits /*! UNION SELECT 1 */ UNION SELECT 1
SELECT COUNT(*) FROM visits /* open
SELECT $$x$$, COUNT(*) FROM visits
SELECT COUNT(*) FROM visits WHERE city = N'a'
SELECT COUNT(*) FROM visits WHERE city = x'41'
SELECT COUNT(*) FROM visits WHERE age = :age
SELECT COUNT(*) FROM visits WHERE age = @age
SELECT COUNT(*) FROM visits WHERE [x FOR x IN [1]] = 1
SELECT COUNT(*) FROM visits WHERE {'a': 1} = 1
SELECT COUNT(*) FROM visits WHERE list_transform(x -> 1)
SELECT COLUMNS('.*'), COUNT(*) FROM visits
SELECT COUNT(*) FROM visits TABLESAMPLE 1 ROWS
SELECT COUNT(*) FROM visits WINDOW w AS ()
SELECT COUNT(*) FROM visits QUALIFY 1
SELECT TOP 3 COUNT(*) FROM visits
SELECT COUNT(*) FROM visits ASOF JOIN visits
SELECT COUNT(*) FROM visits LATERAL VIEW explode(x)
SELECT COUNT(*) FROM visits@10
SELECT COUNT(*) FROM visits.visits.visits.visits
SELECT COUNT(*) FROM visits, LATERAL x
SELECT COUNT(*) FROM visits WHERE age = 1e999999999
SELECT COUNT(*) FROM visits LIMIT 1e300
SELECT COUNT(*) FROM visits WHERE age = NaN
SELECT COUNT(*) FROM visits WHERE age = 'inf'::DOUBLE
SELECT COUNT(*) FROM visits WHERE day = DATE '0000-00-00'
SELECT COUNT(*) FROM visits WHERE day = DATE '99999-01-01'
SELECT MIN(patient_id) FROM visits
SELECT MEDIAN(patient_id) FROM visits
SELECT COUNT(DISTINCT patient_id + 0) FROM visits
SELECT COUNT(DISTINCT COALESCE(patient_id, 1)) FROM visits
SELECT SUM(CASE WHEN patient_id = 1 THEN cost END) FROM visits
SELECT COUNT(*) FILTER (WHERE patient_id IS NULL) FROM visits
SELECT COUNT(*) FROM visits WHERE "PATIENT_ID" IN (1, 2)
SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY patient_id) FROM visits
SELECT patient_id FROM visits
SELECT COUNT(DISTINCT patient_id), patient_id FROM visits GROUP BY ALL
SELECT COUNT(*) FROM visits WHERE COUNT(DISTINCT patient_id) = 1
SELECT COUNT(*) FROM visits GROUP BY COUNT(DISTINCT patient_id)
SELECT DISTINCT COUNT(*) FROM visits
SELECT ALL DISTINCT ward FROM visits
SELECT DISTINCT(ward), COUNT(*) FROM visits GROUP BY 1
SELECT COUNT(*) FROM visits WHERE DISTINCT age = 1
SELECT COUNT(DISTINCT age) DISTINCT FROM visits
SELECT COUNT(ALL DISTINCT age) FROM visits
SELECT MEDIAN(DISTINCT age) FROM visits
SELECT QUANTILE(age, DISTINCT 0.5) FROM visits
SELECT PERCENTILE_CONT(DISTINCT 0.5) WITHIN GROUP (ORDER BY age) FROM visits
SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY DISTINCT age) FROM visits
SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY ALL) FROM visits
SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY age LIMIT 1) FROM visits
SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY age) WITHIN GROUP (ORDER BY age) FROM visits
SELECT PERCENTILE_CONT(0.5) WITHIN GROUP BY age FROM visits
SELECT COUNT(*) WITHIN GROUP (ORDER BY age) FROM visits
SELECT COUNT(*) FROM visits WITHIN GROUP (ORDER BY age)
SELECT WITHIN GROUP (ORDER BY age), COUNT(*) FROM visits
SELECT MAX(age) KEEP (DENSE_RANK FIRST ORDER BY day) FROM visits
SELECT MAX(age) IGNORE NULLS FROM visits
SELECT MAX(age HAVING MAX cost) FROM visits
SELECT [COUNT(*)] FROM visits
SELECT ARRAY[COUNT(*)] FROM visits
SELECT MAX([age, cost]) FROM visits
SELECT MAX(ARRAY[age]) FROM visits
SELECT QUANTILE(age, [0.5 FOR x IN y]) FROM visits
SELECT QUANTILE(age, ['0.5']) FROM visits
SELECT QUANTILE(age, [0.5, NULL]) FROM visits
SELECT QUANTILE(age, [,]) FROM visits
SELECT QUANTILE(age, [1 2]) FROM visits
SELECT QUANTILE(age, [-]) FROM visits
SELECT QUANTILE(age, [1/0]) FROM visits
SELECT QUANTILE(age, [1:2]) FROM visits
SELECT QUANTILE(age, [0.5]::DOUBLE[]) FROM visits
SELECT QUANTILE(age, ARRAY<DOUBLE>[0.5]) FROM visits
SELECT QUANTILE(age, 1e-7) FROM visits
SELECT QUANTILE(age, 0.5 + 1e-300) FROM visits
SELECT QUANTILE(age, 'inf'::DOUBLE) FROM visits
SELECT QUANTILE(age, (SELECT 0.5)) FROM visits
SELECT QUANTILE(*, 0.5) FROM visits
SELECT MIN(*) FROM visits
SELECT CORR(*, *) FROM visits
SELECT "MODE"(age) FROM visits
SELECT COUNT(*) FROM visits v JOIN stays s ON v.patient_id <> s.pid
SELECT COUNT(*) FROM visits v JOIN stays s ON TRUE
SELECT COUNT(*) FROM visits v JOIN stays s ON v.patient_id + 0 = s.pid
SELECT COUNT(*) FROM visits v JOIN stays s ON v.patient_id = s.pid OR TRUE
SELECT COUNT(*) FROM visits v JOIN stays s ON NOT v.patient_id = s.pid
SELECT COUNT(*) FROM visits v JOIN stays s ON (v.patient_id, v.ward) = (s.pid, s.ward)
SELECT COUNT(*) FROM visits v JOIN stays s ON v.patient_id IN (s.pid)
SELECT COUNT(*) FROM visits v JOIN stays s ON v.patient_id = v.patient_id
SELECT COUNT(*) FROM visits v OUTER JOIN stays s ON v.patient_id = s.pid
SELECT COUNT(*) FROM visits v POSITIONAL JOIN stays s
SELECT COUNT(*) FROM visits v CROSS APPLY stays s
SELECT COUNT(*) FROM visits v LEFT JOIN LATERAL (SELECT 1) t ON TRUE
SELECT COUNT(*) FROM visits v JOIN wards w ON v.patient_id = w.ward
SELECT COUNT(*) FROM wards w LEFT JOIN visits v ON v.ward = w.ward
SELECT COUNT(*) FROM (SELECT patient_id AS p FROM visits) t WHERE p = 3
SELECT p, COUNT(*) FROM (SELECT patient_id AS p FROM visits) t GROUP BY p
SELECT MAX(p) FROM (SELECT patient_id AS p FROM visits) t
SELECT COUNT(*) FROM (SELECT patient_id + 1 AS p FROM visits) t
SELECT COUNT(*) FROM (SELECT patient_id, COUNT(*) AS n FROM visits GROUP BY patient_id HAVING patient_id = 3)
SELECT MIN(m) FROM (SELECT patient_id, MIN(patient_id) AS m FROM visits GROUP BY patient_id)
SELECT COUNT(*) FROM visits WHERE patient_id IN (SELECT 3 FROM stays)
SELECT COUNT(*) FROM visits WHERE 3 IN (SELECT pid FROM stays)
SELECT COUNT(*) FROM visits WHERE (patient_id, ward) IN (SELECT pid, ward FROM stays)
SELECT COUNT(*) FROM visits WHERE patient_id IN (SELECT pid FROM stays LIMIT 1)
SELECT COUNT(*) FROM visits WHERE patient_id = (SELECT MAX(pid) FROM stays)
SELECT COUNT(*) FROM visits WHERE EXISTS (SELECT 1 FROM stays WHERE pid = 3)
SELECT COUNT(*) FROM visits v WHERE EXISTS (SELECT 1 FROM stays WHERE pid <> v.patient_id)
SELECT COUNT(*) FROM visits v WHERE EXISTS (SELECT 1 FROM stays WHERE pid = v.patient_id OR TRUE)
SELECT COUNT(*) FROM visits v WHERE EXISTS (SELECT 1 FROM stays WHERE pid = v.patient_id AND COUNT(*) > 3)
SELECT COUNT(*) FROM visits WHERE EXISTS (visits)
SELECT COUNT(*) FROM visits WHERE EXISTS (1)
SELECT COUNT(*) FROM visits WHERE EXISTS ()
WITH t AS (visits) SELECT COUNT(*) FROM t
WITH t AS (DELETE FROM visits) SELECT COUNT(*) FROM visits
WITH t AS (SELECT * FROM visits) DELETE FROM t
WITH t AS (SELECT age FROM visits), t AS (SELECT nothing FROM t) SELECT COUNT(*) FROM t
WITH "-" (a) AS (SELECT age FROM visits) SELECT SUM(a) FROM "-"
WITH t AS MATERIALIZED (SELECT age FROM visits) SELECT SUM(x) FROM t
SELECT SUM(a) FROM (SELECT age FROM visits) AS "-" (a)
SELECT COUNT(*) FROM ((SELECT age FROM visits) UNION (SELECT age FROM visits))
SELECT (SELECT COUNT(*) FROM visits) AS n
SELECT COUNT(*), ARRAY(SELECT age FROM visits) FROM visits
SELECT COUNT(*) FROM visits GROUP BY (SELECT 1)
SELECT COUNT(*) FROM visits ORDER BY (SELECT age FROM visits LIMIT 1)
SELECT COUNT(*) FROM visits LIMIT (SELECT COUNT(*) FROM stays)
SELECT COUNT(*) FILTER (WHERE (SELECT TRUE)) FROM visits
SELECT patient_id, COUNT(*) FROM visits GROUP BY ROLLUP (patient_id)
SELECT ward, COUNT(*) FROM visits GROUP BY GROUPING SETS (GROUPING SETS (patient_id))
SELECT ward, COUNT(*) FROM visits GROUP BY GROUPING SETS ()
SELECT COUNT(*) + patient_id FROM visits
SELECT CASE WHEN patient_id = 3 THEN COUNT(*) END FROM visits
SELECT COUNT(*) FROM visits HAVING patient_id IN (SELECT pid FROM stays)
"""
BROKEN = (
    WHERE + "age = 1\x00", WHERE + "city = '\ud800'", WHERE + "age = " + "9" * 5000, WHERE + "age = \u0661",
    WHERE + "city = E'\\x41'",
)  # fmt: skip


@pytest.mark.parametrize("text", [*ATTACKS.strip().splitlines(), *BROKEN])
def test_attacks_are_refused(text: str) -> None:
    assert refusal(text)


NESTED = """
(|smoker|)
NOT |smoker|
NOT (|smoker|)
- |age = 1|
+|age = 1|
CASE WHEN |smoker| THEN TRUE END
CASE |age| WHEN 1 THEN 1 END
(||
||)
CASE WHEN smoker THEN |1| END
COALESCE(|smoker|, TRUE)
NULLIF(|smoker|, TRUE)
ABS(|age|) = 1
CAST(|age| AS INT)
DATE(|day|)
INT(|age|)
ROW(|1|)
ARRAY[|1|]
STRUCT(|1|)
f(|1|)
EXTRACT(year FROM |day|)
IF(|smoker|, 1, 2)
smoker AND |smoker|
age + |1 = 1|
age * |1 = 1|
smoker OR smoker AND |smoker|
age = |1|
|age|::INT
|smoker| IS NULL
age BETWEEN |1| AND 2
age IN (|1|)
age.|age|
(SELECT |1|)
/*|smoker|*/
'||
"|x|"
1e-399 * |age = 1|
date_trunc('day', |day|)
DECIMAL(|1|)
CAST(age AS DECIMAL(|1|))
$$|x|
[|1|]
COUNT(DISTINCT |age|) = 1
COUNT(|DISTINCT| age) = 1
MEDIAN(|age|) = 1
QUANTILE(|age|, 0.5) = 1
QUANTILE(age, |0.5|) = 1
QUANTILE(age, [|0.5|]) = 1
PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY |age|)
PERCENTILE_CONT(|0.5|) WITHIN GROUP (ORDER BY age)
CORR(|age|, cost)
MAX(|age|) FILTER (WHERE smoker)
WITHIN GROUP (|ORDER BY age|)
patient_id IN (SELECT pid FROM stays WHERE |TRUE|)
EXISTS (SELECT 1 FROM stays s WHERE s.pid = visits.patient_id AND |TRUE|)
EXISTS (|SELECT 1|)
age IN (SELECT |age| FROM visits)
(SELECT 1 FROM |visits|)
SAFE_DIVIDE(|COUNT(*)|, 1) = 1
COUNT(*) / |COUNT(*)| = 1
"""  # what stands before, in the middle and after


@pytest.mark.parametrize("levels", [DEEPEST - 5, 100, 400, 10_000])
@pytest.mark.parametrize("form", NESTED.strip("\n").splitlines())
def test_depth_never_crashes(form: str, levels: int) -> None:
    before, middle, after = form.split("|")
    outcome(WHERE + before * levels + middle + after * levels)


def test_depth_of_the_caller_does_not_matter() -> None:
    """The parser is recursive: with little stack left there is still a refusal."""

    def at(frames: int) -> Plan | RefusedQueryError:
        return at(frames - 1) if frames else outcome(WHERE + "(" * 20 + "smoker" + ")" * 20)

    assert isinstance(at(0), Plan)
    found = at(sys.getrecursionlimit() - 250)
    assert isinstance(found, RefusedQueryError)
    expect_code("too-deep", found)


def test_columns_named_like_types_do_not_slow_the_parser() -> None:
    """INTERVAL LIST ARRAY ... took minutes while the parser saw keywords; declared names reach it as plain names."""
    columns = {name: Integer(0, 9) for name in ("interval", "list", "array", "struct", "map", "row", "int", "date")}
    for words in ("interval list array ", "struct < ", "array [ ", "row ( ", "int ", "date ( ", "map { ", "int ( "):
        with pytest.raises(RefusedQueryError):
            plan_of("SELECT COUNT(*) FROM t WHERE " + words * 24, {"t": columns})
    assert plan_of("SELECT SUM(interval + list * row) FROM t WHERE date = 1 AND int < 2", {"t": columns}).where


def test_length_is_bounded() -> None:
    expect_code("too-long: characters", refusal(WHERE + "smoker AND " * 100_000))
    expect_code("too-long: words", refusal(WHERE + "+".join(["1"] * 10_000) + " = 1"))
    expect_code("not-a-number", refusal(WHERE + "1" * (LONGEST - len(WHERE))))


@pytest.mark.proof
def test_long_chains_of_conditions_are_answered() -> None:
    for sign in ("AND", "OR"):
        plan = outcome(WHERE + f" {sign} ".join(["age = 1"] * 2000))
        assert isinstance(plan, Plan)
    plan = outcome(WHERE + f"age IN ({', '.join(map(str, range(5000)))})")
    assert isinstance(plan, Plan)


def test_quantiles_are_bounded() -> None:
    many = [f"0.{n:03}" for n in range(1, 101)]
    lists = ", ".join(f"QUANTILE(age, [{', '.join(part)}])" for part in (many[:50], many[50:99]))
    plan = outcome(f"SELECT {lists} FROM visits")
    assert isinstance(plan, Plan)
    assert len(plan.aggregates) == 99
    too_many = "too-many: 99"
    expect_code(too_many, refusal(f"SELECT {lists}, MEDIAN(age) FROM visits"))
    expect_code(too_many, refusal(f"SELECT {lists}, COUNT(*) FROM visits HAVING MAX(cost) > 1"))
    expect_code(too_many, refusal(f"SELECT {lists}, COUNT(*) FROM visits ORDER BY MIN(cost)"))
    expect_code(too_many, refusal(f"SELECT QUANTILE(age, [{', '.join(many)}]) FROM visits"))
    expect_code(too_many, refusal(f"SELECT QUANTILE(age, [{', '.join(['0.5'] * 5000)}]) FROM visits"))
    expect_code(
        too_many, refusal(f"SELECT PERCENTILE_CONT([{','.join(many)}]) WITHIN GROUP (ORDER BY age) FROM visits")
    )


def test_a_list_of_quantiles_of_a_long_expression_is_counted() -> None:
    long = "+".join(["age"] * 80)
    listed = ", ".join(f"0.{n:02}" for n in range(1, 99))
    expect_code("too-long: query … too … long", refusal(f"SELECT QUANTILE({long}, [{listed}]) FROM visits"))


def test_a_list_may_be_the_only_bracket() -> None:
    """Whatever stands in brackets and is no plain number never reaches the parser."""
    for inside in ("age", "'a'", "(1)", "[1]", "{}", "ARRAY", "1 FOR x IN y", "SELECT 1", "*", "1::INT", "x -> x"):
        for around in ("QUANTILE(age, [{}])", "QUANTILE(age, ARRAY[{}])", "[{}]", "age[{}]", "MEDIAN([0.5, {}])"):
            assert refusal(f"SELECT {around.format(inside)}, COUNT(*) FROM visits")


def test_constants_do_not_grow() -> None:
    expect_code("too-large", refusal(WHERE + "1e300 * 1e300 = age"))


def test_the_parser_s_surprises_are_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any error of the code below is one refusal with constant words."""

    def fails(*_: object) -> None:
        raise ZeroDivisionError("secret")

    monkeypatch.setattr(privet.sql, "tree_of", fails)
    expect_code("syntax-error", refusal("SELECT COUNT(*) FROM visits"))


# Fuzzing: mutations of good and bad queries, and soup of words


@pytest.mark.proof
@pytest.mark.parametrize("kind", [mutated, soup, broken])
def test_twenty_thousand_strings(kind: object) -> None:
    random = Random(f"{kind.__name__} {sqlglot.__version__}")  # type: ignore[attr-defined]
    plans = 0
    for _ in range(7000):
        plans += isinstance(outcome(kind(random)), Plan)  # type: ignore[operator]
    if kind is mutated:
        assert plans > 100  # the fuzzer also reaches what lies behind the parser


WRAPPERS = (
    "({})", "NOT ({})", "COALESCE({}, {})", "CASE WHEN {} THEN {} END", "CASE {} WHEN 1 THEN {} END", "IF({}, 1, {})",
    "- ({})", "NULLIF({}, 1)", "CAST({} AS DATE)", "DATE({})", "YEAR({})", "EXTRACT(day FROM {})",
    "{} BETWEEN {} AND 2", "{} IN (1)", "{}::DECIMAL(3, 1)", "date_trunc('day', {})", "SUM({})",
    "COUNT(*) FILTER (WHERE {})", "{} IS NULL", "LEAST({}, 1)", "date_part('day', {})",
    "COUNT(DISTINCT {})", "MEDIAN({})", "QUANTILE({}, 0.5)", "CORR({}, {})", "MAX({}) FILTER (WHERE {})",
    "PERCENTILE_CONT({}) WITHIN GROUP (ORDER BY {} DESC)", "PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY {})",
    "QUANTILE({}, [0.5, 0.9])", "patient_id IN (SELECT pid FROM stays WHERE {})", "(SELECT {} FROM visits)",
    "EXISTS (SELECT {} FROM stays s WHERE s.pid = visits.patient_id AND {})", "{} IN (SELECT {} FROM stays)",
    "COUNT(*) / {}", "SAFE_DIVIDE({}, SUM(cost))",
)  # fmt: skip


@pytest.mark.proof
@settings(max_examples=150)
@given(st.lists(st.sampled_from(WRAPPERS), min_size=DEEPEST, max_size=DEEPEST))
def test_mixed_nesting_takes_no_exponential_time(wrappers: list[str]) -> None:
    """Each level is one of the accepted forms; the parser must not try both sides of each again and again."""
    text = "age"
    for wrapper in wrappers[:-3]:
        text = wrapper.replace("{}", text, 1).replace("{}", "day")
    outcome(WHERE + text)
    outcome(f"SELECT {text} FROM visits GROUP BY {text} HAVING {text}")
    outcome(f"SELECT COUNT(*) FROM visits JOIN stays ON {text} GROUP BY ROLLUP ({text})")


FROMS = (
    "(SELECT * FROM {} WHERE smoker)", "(SELECT patient_id, COUNT(*) AS age FROM {} GROUP BY patient_id)", "({})",
    "(SELECT a.* FROM {} a JOIN wards ON a.ward = wards.ward)", "(SELECT DISTINCT patient_id, age FROM {})",
    "(SELECT patient_id, age + age AS age FROM {})", "(WITH t AS (SELECT * FROM {}) SELECT * FROM t)",
    "(SELECT a.patient_id, b.age FROM {} a JOIN {} b USING (patient_id))",
    "(SELECT patient_id FROM visits WHERE patient_id IN (SELECT patient_id FROM {}))",
    "(SELECT a.patient_id, b.age FROM visits a LEFT JOIN {} b ON a.patient_id = b.patient_id)",
)  # fmt: skip


@pytest.mark.proof
@settings(max_examples=150)
@given(st.lists(st.sampled_from(FROMS), min_size=1, max_size=DEEPEST - 3))
def test_nested_sub_queries_take_no_exponential_time(froms: list[str]) -> None:
    text = "visits"
    for one in froms:
        text = one.replace("{}", text, 1).replace("{}", "visits")
    outcome(f"SELECT SUM(age), COUNT(*) FROM {text} AS t WHERE age > 3")

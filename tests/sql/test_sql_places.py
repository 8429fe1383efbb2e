"""A refusal quotes one line of what the user wrote and marks the construct in it."""

from __future__ import annotations

import itertools
import pickle
from fractions import Fraction

import pytest
from sqlglot import exp
from support.sql_writer import FACTS, TABLES, UNITS

import privet.cli
import privet.sql
from privet.cli import main
from privet.errors import InvalidInputError, RefusedQueryError
from privet.records.conditions import condition
from privet.sql import plan_of
from privet.sql.places import BEFORE, WIDEST, place_of, quoted
from privet.sql.words import tokens_of

MARKED = """
SELECT COUNT(*) FROM visits WHERE age = '30'
                                  ^^^^^^^^^^
SELECT COUNT(*) FROM visits WHERE agee > 3
                                  ^^^^
SELECT SUM(cost / 0.0) FROM visits
           ^^^^^^^^^^
SELECT COUNT(*) FROM nowhere
                     ^^^^^^^
SELECT SUM(  cost/0.0  ) FROM visits
             ^^^^^^^^
SELECT COUNT(*) FROM visits WHERE age > 3 AND age > CURRENT_DATE
                                                    ^^^^^^^^^^^^
SELECT COUNT(*), MODE(age) FROM visits
                 ^^^^
SELECT QUANTILE(age, 50) FROM visits
       ^^^^^^^^^^^^^^^^^
SELECT QUANTILE(age, [0.5, age]) FROM visits
                           ^^^
SELECT ward, COUNT(*) FROM visits
       ^^^^
SELECT ward, COUNT(*) FROM visits GROUP BY 3
                                           ^
SELECT ward, COUNT(*) FROM visits GROUP BY ward ORDER BY 4
                                                         ^
SELECT ward, COUNT(*) FROM visits GROUP BY ward LIMIT -1
                                                ^^^^^^^^
SELECT COUNT(*) FROM visits WHERE (age = 3
                                         ^
SELECT COUNT(*) FROM visits; SELECT 1
                           ^
SELECT * FROM visits
       ^
SELECT DATE(DATE(arrived)), COUNT(*) FROM visits GROUP BY 1
            ^^^^
SELECT COUNT(*) FROM visits JOIN wards USING (city)
                            ^^^^^^^^^^^^^^^^^^^^^^^
SELECT COUNT(*) FROM visits RIGHT JOIN wards USING (ward)
                            ^^^^^
""".strip("\n").splitlines()
PAIRS = [(one, two) for one, two in itertools.pairwise(MARKED) if "^" in two]


def refused(text: str) -> RefusedQueryError:
    with pytest.raises(RefusedQueryError) as caught:
        plan_of(text, TABLES, units=UNITS, facts=FACTS)
    return caught.value


@pytest.mark.parametrize(("text", "mark"), PAIRS)
def test_the_construct_is_marked(text: str, mark: str) -> None:
    assert refused(text).place == f"  {text}\n  {mark}"


@pytest.mark.parametrize(
    ("text", "remedy"),
    [
        ("SELECT COUNT(*) FROM visits JOIN wards", "write JOIN wards ON visits.ward = wards.ward"),
        ("SELECT COUNT(*) FROM visits v, wards w", "write JOIN wards AS w ON v.ward = w.ward"),
        (
            "SELECT COUNT(*) FROM stays s, visits",
            "write JOIN visits ON visits.patient_id = s.pid; a sub-query must select it",
        ),
        ("SELECT COUNT(*) FROM visits JOIN (SELECT size FROM wards) AS w", "write JOIN w ON visits.x = w.x"),
        ("SELECT COUNT(*) FROM wards w JOIN visits ON w.size > 3", "write JOIN wards AS w ON visits.ward = w.ward"),
        (
            "SELECT COUNT(*) FROM visits JOIN wards w ON w.sise = 3",
            "did you mean size? the columns are: ward, size, region",
        ),
        ("SELECT COUNT(*) FROM visits WHERE smoker = 'yes'", "compare with TRUE or FALSE, without quotes"),
        ("SELECT COUNT(*) FROM visits WHERE age = city", "use values of one kind"),
    ],
)
def test_remedies_can_be_pasted(text: str, remedy: str) -> None:
    with pytest.raises(RefusedQueryError) as caught:
        plan_of(text, TABLES, units=UNITS, facts=FACTS)
    assert caught.value.remedy == remedy


def test_only_the_line_is_quoted() -> None:
    error = refused("SELECT COUNT(*)\nFROM visits -- where else?\nWHERE city\t= 3\n  AND smoker")
    assert str(error) == (
        "= mixes a number and a text\n  WHERE city = 3\n        ^^^^^^^^\n"
        "  remedy: write texts in single quotes, and numbers without"
    )


def test_what_the_parser_rewrites_is_marked_by_its_names() -> None:
    assert refused("SELECT COUNT(*) FROM visits WHERE IFNULL(age, 3) = 'x'").place.endswith("^" * len("age, 3) = 'x'"))


def test_the_same_words_elsewhere_are_not_meant() -> None:
    error = refused("SELECT SUM(age) AS a, SUM(age) FILTER (WHERE age) FROM visits")
    assert error.place.endswith("\n                        ^^^^^^^^^^^^^^^^^^^^^^^^^^^")


def test_long_lines_are_cut() -> None:
    many = " AND ".join(["smoker"] * 50)
    shown, mark = refused(f"SELECT COUNT(*) FROM visits WHERE {many} AND agee > 3 AND {many}").place.splitlines()
    assert len(shown) <= WIDEST + 2
    assert shown.startswith("  ...")
    assert shown.endswith("...")
    assert mark == " " * (BEFORE + 2) + "^^^^"
    assert shown[BEFORE + 2 :].startswith("agee > 3")


def test_nothing_that_a_terminal_would_act_upon() -> None:
    error = refused("SELECT COUNT(*) FROM visits WHERE city = '\x1b[31m' AND agee")
    assert "\x1b" not in error.place
    assert error.place.splitlines()[1].endswith(" ^^^^")


def test_places_that_are_not_there() -> None:
    assert quoted("", (0, 1)) == "  \n  ^"
    assert place_of(None, "SELECT", tokens_of) == ""
    assert place_of(exp.Null(), "SELECT 1", tokens_of) == ""
    assert place_of((7, 8), "SELECT 1", tokens_of) == "  SELECT 1\n         ^"
    long = exp.Tuple(expressions=[exp.Null() for _ in range(300)])
    assert place_of(long, "SELECT 1", tokens_of) == ""


def test_a_place_that_fails_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> str:
        raise ZeroDivisionError("secret")

    monkeypatch.setattr(privet.sql, "place_of", fails)
    assert refused("SELECT COUNT(*) FROM visits WHERE agee > 3").place == ""


def test_errors_travel_with_their_place() -> None:
    error = refused("SELECT COUNT(*) FROM visits WHERE agee > 3")
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error)
    assert error.part is None


def test_conditions_about_records_keep_their_own_words() -> None:
    with pytest.raises(InvalidInputError) as caught:
        condition("agee > 3", {"age": (Fraction(1), Fraction(2))})
    assert "^" not in str(caught.value)


def test_the_command_line_shows_the_place(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    error = refused("SELECT COUNT(*) FROM visits WHERE agee > 3")

    def refuses(_: object) -> int:
        raise error

    monkeypatch.setattr(privet.cli, "_run", refuses)
    assert main(["query"]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert lines[1:3] == error.place.splitlines()
    assert lines[3].startswith("  remedy: ")

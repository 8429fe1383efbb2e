"""The verbs of a vault, in this process: what is printed, what a program reads, and the exit codes."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from support.refusals import expect_code, failed

from privet import cli, suggest
from privet.backends.duckdb import DuckDb
from privet.cli import ask, verb
from privet.core.accountant import Budget
from privet.core.schema import Integer
from privet.errors import PrivetError
from privet.ledger import sqlite
from privet.vault import create
from privet.vault import open as open_vault

Run = Callable[..., str]
Fails = Callable[..., PrivetError]
COUNT = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"
DRAFT = """\
[tables.visits]
source = {kind = "csv", path = "elsewhere.csv"}
unit = "pid"

[tables.visits.columns]
ward = {kind = "category", values = ["A", "B"]}
cost = {kind = "number", low = 0, high = 100, step = 0.5}
"""


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [f"{n // 2},{'AB'[n % 2]},{n % 100}" for n in range(400)]
    Path("visits.csv").write_text("\n".join(["pid,ward,cost", *rows]) + "\n")
    Path("visits.toml").write_text(DRAFT)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command that must succeed; what it printed."""

    def one(*words: str) -> str:
        assert cli.main(list(words)) == 0, capsys.readouterr().err
        out, err = capsys.readouterr()
        assert err == ""
        return out

    return one


@pytest.fixture
def fails(capsys: pytest.CaptureFixture[str]) -> Fails:
    """Run a command that must end with this code; the error."""

    def one(code: int, *words: str) -> PrivetError:
        error = failed(list(words), capsys)
        assert cli.exit_code(error) == code
        return error

    return one


@pytest.fixture
def vault(run: Run) -> str:
    run("init", "v", "--epsilon", "1", "--delta", "1e-6")
    run("add", "v", "visits.csv", "--columns", "visits.toml", "--max-groups", "2")
    return "v"


def result(text: str, kind: str) -> Any:
    answer = json.loads(text)
    assert (answer["privet"], answer["kind"]) == (1, kind)
    return answer["result"]


# --- the owner's verbs


def test_init_says_what_never_changes(run: Run) -> None:
    out = run("init", "v", "--epsilon", "1/2", "--delta", "1e-9", "--neighbors", "replace", "--on-exhausted", "warn")
    assert "v: epsilon 0.5, delta 1e-9 for everything that is ever answered." in out
    assert "Neighbors: replace. When the budget is used up: warn." in out
    told = result(run("init", "w", "--epsilon", "2", "--json"), "vault")
    assert told == {
        "vault": "w", "epsilon": 2.0, "delta": 0.0, "rho": 0.0, "neighbors": "add-remove", "on_exhausted": "refuse",
    }  # fmt: skip
    assert "epsilon 2 for everything" in run("init", "x", "--epsilon", "2")


def test_describe_prints_a_draft_and_never_overwrites_one(run: Run, fails: Fails) -> None:
    assert "A draft for the owner alone" in run("describe", "visits.csv")
    out = run("describe", "visits.csv", "--out", "draft.toml", "--name", "people", "--delimiter", ",")
    assert "Next: edit draft.toml, then privet add VAULT visits.csv --columns draft.toml" in out
    assert "[tables.people]" in Path("draft.toml").read_text()
    expect_code("file-exists: draft.toml", fails(2, "describe", "visits.csv", "--out", "draft.toml"))
    told = result(run("describe", "visits.csv", "--json"), "draft")
    assert told["out"] is None
    assert "\n[tables.visits]" in told["toml"]
    assert result(run("describe", "visits.csv", "--out", "b.toml", "--json"), "draft")["out"] == "b.toml"


def test_a_header_cannot_command_the_terminal(run: Run) -> None:
    Path("bad.csv").write_text("pid,\x1b[2Jward\n" + "1,A\n" * 50)
    out = run("describe", "bad.csv")
    assert "\x1b" not in out
    assert "?[2Jward" in out


def test_add_prints_what_was_declared(run: Run) -> None:
    run("init", "v", "--epsilon", "1")
    out = run("add", "v", "visits.csv", "--columns", "visits.toml", "--max-groups", "2", "--max-rows-per-group", "3")
    assert 'source = {kind = "csv", path = "visits.csv"}' in out
    assert "max_groups = 2\nmax_rows_per_group = 3\n" in out
    assert "The table protects each pid, with all its rows." in out
    with open_vault("v") as opened:
        assert opened.declaration("visits").max_rows_per_group == 3
    told = result(
        run("add", "v", "visits.csv", "--columns", "visits.toml", "--name", "two", "--unit", "pid", "--json"), "table"
    )
    assert (told["name"], told["unit"], told["version"]) == ("two", "pid", 1)


def test_columns_that_are_never_missing(run: Run, fails: Fails) -> None:
    run("init", "v", "--epsilon", "1")
    run("describe", "visits.csv", "--out", "draft.toml")
    assert "# check: add never_missing = true to a column" in Path("draft.toml").read_text()
    add = ["add", "v", "visits.csv", "--columns", "visits.toml", "--never-missing"]
    out = run(*add, "ward", "--constant-per-unit", "ward")
    assert "never_missing = true, constant_per_unit = true" in out
    rows = result(
        run("query", "v", "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward", "--epsilon", "0.1", "--json"),
        "answer",
    )["rows"]
    assert None not in [row["ward"] for row in rows]
    expect_code("unknown-column: 'wrd'", fails(2, *add, "wrd", "--name", "again"))


def test_rows_can_be_units(run: Run) -> None:
    run("init", "v", "--epsilon", "1")
    Path("visits.toml").write_text(DRAFT + "\n")
    out = run("add", "v", "visits.csv", "--columns", "visits.toml", "--rows-are-units")
    assert "The table protects each row." in out
    assert "rows_are_units = true" in out


def test_a_public_table_is_drafted_declared_and_joined(run: Run, fails: Fails) -> None:
    Path("wards.csv").write_text("ward,region,beds\nA,north,20\nB,south,30\n")
    run("init", "v", "--epsilon", "1")
    run("add", "v", "visits.csv", "--columns", "visits.toml")
    out = run("describe", "wards.csv", "--public", "--out", "wards.toml")
    assert "wards: public, told apart by ward" in out
    assert "If everybody may read all of it, declare it." in out
    draft = Path("wards.toml").read_text()
    assert "public = true  # check: " in draft
    assert 'region = {kind = "category", values = ["north", "south"]}' in draft
    out = run("add", "v", "wards.csv", "--columns", "wards.toml")
    assert 'public = true\nkey = ["ward"]\n' in out
    assert "nobody in it is protected" in out
    assert "Next: join it to a table of people: FROM visits JOIN wards USING (ward)" in out
    assert run("check", "v") == "visits: can be read\nwards: can be read\n"
    joined = "SELECT region, COUNT(*) AS n FROM visits JOIN wards USING (ward) GROUP BY region"
    rows = result(run("query", "v", joined, "--epsilon", "0.1", "--json"), "answer")["rows"]
    assert [row["region"] for row in rows] == ["north", "south", None]
    expect_code(
        "private-table-needed: 'wards'", fails(2, "query", "v", "SELECT COUNT(*) AS n FROM wards", "--epsilon", "0.1")
    )
    run("dummy", "v", "wards", "--rows", "3", "--out", "dummy.csv")


def test_the_command_line_says_whether_a_table_is_public(run: Run, fails: Fails) -> None:
    run("init", "v", "--epsilon", "1")
    add = ["add", "v", "visits.csv", "--columns", "visits.toml", "--name"]
    told = result(run(*add, "a", "--public", "--key", "ward", "--key", "cost", "--json"), "table")
    assert (told["unit"], told["public"]) == (None, True)
    assert 'key = ["ward", "cost"]' in told["toml"]
    Path("visits.toml").write_text(DRAFT.replace('unit = "pid"', 'public = true\nkey = ["ward"]'))
    assert 'key = ["ward"]' in run(*add, "b", "--public")
    assert "Next: join it to a table of people: FROM visits JOIN b" not in run(*add, "c", "--unit", "pid")
    with open_vault("v") as opened:
        assert (opened.declaration("c").public, opened.declaration("c").key) == (False, ())
    expect_code("unknown-column: 'no'", fails(2, *add, "d", "--key", "no"))
    expect_code("wrong-usage: cannot be used together", fails(2, *add, "e", "--public", "--rows-are-units"))
    expect_code("unneeded-option: protected", fails(2, *add, "f", "--public", "--max-groups", "2"))
    Path("visits.toml").write_text(DRAFT)
    expect_code("unneeded-option: public … not", fails(2, *add, "g", "--key", "ward"))


def test_what_cannot_be_added(run: Run, fails: Fails) -> None:
    run("init", "v", "--epsilon", "1")
    add = ["add", "v", "visits.csv"]
    expect_code("missing-option: visits.csv … --out … table.toml", fails(2, *add))
    expect_code("unreadable-file: no.toml", fails(2, *add, "--columns", "no.toml"))
    for text, problem in (
        ("x = [", "wrong-format: TOML"),
        ("[tables.a]\nsource = 1", "missing-entry: bad.toml"),
        (DRAFT + DRAFT.replace("visits", "b"), "not-exactly-one: 2 tables"),
        ("", "not-exactly-one: 0 tables"),
    ):
        Path("bad.toml").write_text(text)
        expect_code(problem, fails(2, *add, "--columns", "bad.toml"))
    Path("bad.toml").write_bytes(b"\xff\xfe")
    expect_code("not-utf8: in UTF-8", fails(2, *add, "--columns", "bad.toml"))
    expect_code("vault-missing", fails(2, "add", "nowhere", "visits.csv", "--columns", "visits.toml"))
    expect_code(
        "wrong-usage: cannot be used together",
        fails(2, *add, "--columns", "visits.toml", "--unit", "pid", "--rows-are-units"),
    )


def test_check_tells_which_tables_can_be_read(vault: str, run: Run, fails: Fails) -> None:
    assert run("check", vault) == "visits: can be read\n"
    assert result(run("check", vault, "visits", "--json"), "check") == {"visits": None}
    expect_code("unknown-table: 'x'", fails(2, "check", vault, "x"))
    Path("visits.csv").unlink()
    expect_code("missing-file: 1 of 1 tables", fails(2, "check", vault))
    assert run("init", "empty", "--epsilon", "1")
    assert run("check", "empty") == "no table is declared yet\n"


def test_check_prints_one_document_whatever_it_says(vault: str, run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copy("visits.csv", "other.csv")
    run("add", vault, "other.csv", "--columns", "visits.toml", "--name", "other")
    Path("visits.csv").unlink()
    for more in ([], ["--fit"]):
        assert cli.main(["check", vault, "--json", *more]) == 2
        said = capsys.readouterr()
        assert said.err == ""
        told = result(said.out, "check")  # which fails if anything stands beside it
        problem = told["visits"]["problem"] if more else told["visits"]
        assert "there is no file at" in problem
        assert (told["other"]["fit"] is not None and told["visits"]["fit"] is None) if more else told["other"] is None


def test_what_was_counted_in_the_data_is_printed_below_what_is_public(run: Run) -> None:
    run("init", "v", "--epsilon", "1")
    with Path("visits.csv").open("a") as file:
        file.write("7,A,unknown\n" * 3)
    public, line, private = run("add", "v", "visits.csv", "--columns", "visits.toml").partition(
        "Everything above is public from now on.\n"
    )
    assert line
    assert "note:" not in public
    assert private.startswith("For you alone:\nnote: 'cost': 3 of 403 values cannot be read")


@pytest.mark.parametrize(
    ("place", "told"),
    [
        ((DuckDb, "ready"), "nothing was charged"),
        ((DuckDb, "habits"), "stays charged"),
        ((suggest, "_read"), "stays charged"),  # after everything is paid and stored
    ],
)
def test_a_suggestion_that_is_stopped_says_whether_it_was_charged(
    place: tuple[object, str],
    told: str,
    vault: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def stop(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as stopped:
        stopped.setattr(*place, stop)
        assert cli.main(["suggest", vault, COUNT, "--epsilon", "0.25"]) == 130
    said = capsys.readouterr()
    assert said.out == ""
    assert told in said.err
    with open_vault(vault) as opened:
        assert float(opened.budget.spent.epsilon) == (0 if told.startswith("nothing") else 0.25)


def test_new_data_are_a_new_version(vault: str, run: Run, fails: Fails) -> None:
    assert run("update", vault, "visits").startswith("visits is now version 2. What was spent stays spent.")
    Path("visits.csv").rename("visits-2027.csv")
    assert json.loads(run("update", vault, "visits", "visits-2027.csv", "--json"))["result"]["version"] == 3
    expect_code("missing-file: 'nowhere.csv'", fails(2, "update", vault, "visits", "nowhere.csv"))
    expect_code("unknown-table: 'wards'", fails(2, "update", vault, "wards"))


def test_a_file_that_was_replaced_is_checked_by_its_content(vault: str, run: Run, fails: Fails) -> None:
    text = Path("visits.csv").read_text()
    Path("visits.csv").unlink()
    Path("visits.csv").write_text(text)
    expect_code("data-changed: 'visits' … --digest", fails(2, "query", vault, COUNT, "--epsilon", "0.01"))
    expect_code("table-unavailable", fails(2, "query", vault, COUNT, "--epsilon", "0.01", "--analyst", "anna"))
    fails(2, "check", vault)
    assert "visits: can be read" in run("check", vault, "visits", "--digest")
    assert "visits: can be read" in run("check", vault)
    Path("visits.csv").write_text(text + text.splitlines()[-1] + "\n")
    expect_code("data-changed: privet update", fails(2, "check", vault, "--digest"))
    run("update", vault, "visits")
    run("query", vault, COUNT, "--epsilon", "0.01")


def test_a_table_is_removed(vault: str, run: Run, fails: Fails) -> None:
    assert run("query", vault, COUNT, "--epsilon", "0.5")
    spent = run("budget", vault, "--json")
    said = run("remove", vault, "visits")
    assert "stays spent" in said
    assert "answers stay in the ledger" in said
    assert "version 2" in said
    assert run("budget", vault, "--json") == spent
    expect_code("unknown-table: 'visits'", fails(2, "remove", vault, "visits"))
    fails(2, "query", vault, COUNT, "--epsilon", "0.5")


def test_who_may_ask_is_said_when_a_vault_is_made(vault: str, run: Run, fails: Fails) -> None:
    run("init", "closed", "--epsilon", "1", "--analysts", "granted")
    assert 'analysts = "granted"' in Path("closed/vault.toml").read_text()
    expect_code("unknown-choice: 'some'", fails(2, "init", "other", "--epsilon", "1", "--analysts", "some"))
    toml = Path(vault, "vault.toml")
    toml.write_text(toml.read_text().replace("\nneighbors", '\nanalysts = "granted"\nneighbors'))
    expect_code("not-granted: 'anna'", fails(2, "query", vault, COUNT, "--epsilon", "0.01", "--analyst", "anna"))
    run("budget", vault, "--grant", "anna", "--epsilon", "1")
    run("query", vault, COUNT, "--epsilon", "0.01", "--analyst", "anna")


def test_a_table_in_memory_is_checked_elsewhere(fails: Fails) -> None:
    with create("m", budget=Budget(1)) as made:
        made.add_table("t", {"x": [1, 2]}, unit=None, columns={"x": Integer(0, 9)})
    expect_code("not-attached: vault.attach", fails(2, "check", "m"))


def test_bounds_are_suggested_for_a_price(vault: str, run: Run, fails: Fails) -> None:
    question = "SELECT ward, AVG(cost) AS a FROM visits GROUP BY ward"
    said = run("suggest", vault, question, "--epsilon", "0.1")
    assert said.startswith("max_groups ")
    assert "paid now" in said
    told = result(run("suggest", vault, question, "--epsilon", "0.1", "--json"), "bounds")
    assert (told["replayed"], told["cost"]["epsilon"]) == (True, 0.1)
    expect_code("wrong-usage: --epsilon", fails(2, "suggest", vault, question))


def test_a_question_chooses_its_limits(vault: str, run: Run) -> None:
    auto = ("--max-groups", "3", "--max-rows-per-group", "20", "--bounds", "auto")
    by_cost = "SELECT CASE WHEN cost < 25 THEN 1 WHEN cost < 50 THEN 2 WHEN cost < 75 THEN 3 ELSE 4 END AS q,"
    by_cost += " COUNT(*) AS n FROM visits GROUP BY 1"
    page = " ".join(run("explain", vault, by_cost, "--epsilon", "0.4", *auto).split())
    assert "released first, to choose limits │ └─ how many units have how many rows: 25.0 % of the price" in page
    assert "It chooses how many rows of each pid count in all: 1, 2, 4, 8, 16, 32 or 60 rows" in page
    facts = json.loads(run("explain", vault, by_cost, "--epsilon", "0.4", "--json", *auto))["result"]
    assert (facts["choosing"]["limits"][-1], facts["choosing"]["epsilon"], facts["cost"]["epsilon"]) == (60, 0.1, 0.4)
    told = json.loads(run("query", vault, by_cost, "--epsilon", "0.4", "--json", *auto))["result"]
    assert told["fitted"]["declared"] == 60
    assert told["cost"]["epsilon"] == 0.4
    Path("answer.json").write_text(run("query", vault, by_cost, "--epsilon", "0.4", "--json", *auto))
    assert "The charge covers the price." in run("recheck", "answer.json")
    kept = " ".join(run("explain", vault, COUNT, "--epsilon", "0.4", *auto).split())
    assert "The limits stay as declared, and nothing is spent on choosing them: it has fewer than 4 groups" in kept
    facts = json.loads(run("explain", vault, COUNT, "--epsilon", "0.4", "--json", *auto))["result"]
    assert facts["choosing"]["kept"].startswith("it has fewer than 4 groups")
    told = " ".join(run("query", vault, COUNT, "--epsilon", "0.4", *auto).split())
    assert "Chosen nothing, so the limits are as declared: it has fewer than 4 groups" in told
    assert json.loads(run("explain", vault, COUNT, "--epsilon", "0.4", "--json"))["result"]["choosing"] is None


def test_dummy_rows(vault: str, run: Run, fails: Fails) -> None:
    assert "10 made-up rows in d.csv" in run("dummy", vault, "visits", "--rows", "10", "--out", "d.csv")
    assert len(Path("d.csv").read_text().splitlines()) == 11
    expect_code("file-exists: d.csv", fails(2, "dummy", vault, "visits", "--out", "d.csv"))
    assert result(run("dummy", vault, "visits", "--out", "e.csv", "--json"), "dummy") == {"rows": 100, "out": "e.csv"}


# --- asking


def test_a_query_is_paid_once_and_then_free(vault: str, run: Run) -> None:
    first = run("query", vault, COUNT, "--epsilon", "0.25")
    again = run("query", vault, COUNT, "--epsilon", "0.25")
    assert first.splitlines()[:4] == again.splitlines()[:4]
    assert "free of charge" not in first
    assert "Answered again from the ledger, free of charge." in again
    paid = run("query", vault, COUNT, "--epsilon", "0.25", "--fresh", "--key", "k1")
    assert "free of charge" not in paid
    assert "free of charge" in run("query", vault, COUNT, "--epsilon", "0.25", "--fresh", "--key", "k1")
    assert result(run("budget", vault, "--json"), "budget")["spent"]["epsilon"] == 0.5


def test_rows_count_by_their_weight(vault: str, run: Run, fails: Fails) -> None:
    asked = [vault, COUNT, "--epsilon", "0.1", "--weight"]
    assert "the sum of cost" in run("explain", *asked, "cost")
    plain, heavy = (
        result(run("query", *words, "--json"), "answer")["rows"][0]["n"]["high"]
        for words in (asked[:-1], [*asked, "cost"])
    )
    assert heavy > 10 * plain
    expect_code("unknown-column: mean", fails(2, "query", *asked, "csot"))


def test_answers_fit_to_print(vault: str, run: Run, fails: Fails) -> None:
    totals = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ROLLUP (ward)"
    asked = ["query", vault, totals, "--epsilon", "0.01"]
    told = result(run(*asked, "--published", "--json"), "answer")
    *parts, total = (row["n"]["value"] for row in told["rows"])
    assert sum(parts) == total
    assert min(parts) >= 0
    assert told["published"] == {"whole": True, "nonnegative": True, "additive": True}
    assert "Made fit to print" in run(*asked, "--published")
    assert "Made fit to print" not in run(*asked)
    before = run("budget", vault)
    cube = "SELECT ward, cost > 50 AS dear, COUNT(*) AS n FROM visits GROUP BY CUBE (ward, dear)"
    expect_code("contradictory-options: inside", fails(2, "query", vault, cube, "--epsilon", "0.01", "--published"))
    assert run("budget", vault) == before


def test_a_query_for_a_program_with_files(vault: str, run: Run) -> None:
    told = result(run("query", vault, COUNT, "--rho", "0.01", "--json", "--csv", "n.csv", "--chart", "n.svg"), "answer")
    assert told["columns"] == ["ward", "n"]
    assert len(told["receipt"]["digest"]) == 64
    assert (told["csv"], told["chart"]) == ("n.csv", "n.svg")
    rows = list(csv.DictReader(Path("n.csv").read_text().splitlines()))
    assert [row["ward"] for row in rows] == ["A", "B", ""]
    assert [float(row["n_low"]) for row in rows] == [row["n"]["low"] for row in told["rows"]]
    assert ElementTree.parse("n.svg").getroot().tag.endswith("svg")


def test_a_quantile_that_is_not_known_says_so_in_every_file(vault: str, run: Run) -> None:
    """Nearly always at this price. Without an interval there is a number, whatever it is."""
    asked = ("query", vault, "SELECT ward, MEDIAN(cost) AS m FROM visits GROUP BY ward", "--epsilon", "0.001")
    run(*asked, "--csv", "m.csv", "--chart", "m.svg", "--published")
    rows = list(csv.DictReader(Path("m.csv").read_text().splitlines()))
    whole = [(float(row["m_low"]), float(row["m_high"])) == (0, 100) for row in rows]
    assert [row["m"] == "unknown" for row in rows] == whole
    assert Path("m.svg").read_text().count(">unknown<") == whole.count(True)
    alone = result(run(*asked, "--no-quantile-intervals", "--json"), "answer")["rows"]
    assert all(row["m"]["value"] is not None and row["m"]["low"] is None for row in alone)


def test_the_question_from_a_file_or_stdin(vault: str, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("q.sql").write_text("﻿" + COUNT, encoding="utf-8")
    shown = run("query", vault, "--file", "q.sql", "--epsilon", "0.1")
    monkeypatch.setattr(sys, "stdin", io.StringIO(COUNT))
    assert run("query", vault, "-", "--epsilon", "0.1").splitlines()[1] == shown.splitlines()[1]


def test_stdin_that_is_no_text(vault: str, fails: Fails, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"\xff"), encoding="utf-8"))
    expect_code("not-utf8: stdin", fails(2, "query", vault, "-", "--epsilon", "0.1"))


def test_accuracy_can_be_asked_for(vault: str, run: Run, fails: Fails) -> None:
    both = "SELECT COUNT(*) AS n, SUM(cost) AS s FROM visits"
    told = result(run("query", vault, both, "--within", "n=40", "--within", "s=4000", "--json"), "answer")
    row = told["rows"][0]
    assert row["n"]["high"] - row["n"]["value"] <= 40
    assert row["s"]["high"] - row["s"]["value"] <= 4000
    assert run("explain", vault, COUNT, "--within", "10%", "--expected", "400")
    expect_code("duplicate-name: given … twice", fails(2, "query", vault, both, "--within", "1", "--within", "2"))
    expect_code("duplicate-name: given … twice", fails(2, "query", vault, both, "--within", "n=1", "--within", "n=2"))


def test_explain_spends_nothing(vault: str, run: Run) -> None:
    text = run("explain", vault, COUNT, "--epsilon", "0.5")
    assert "3 groups by ward" in text
    told = result(run("explain", vault, COUNT, "--epsilon", "0.5", "--json"), "explanation")
    assert told["about_n_more"] == 2
    assert "Nobody has asked yet." in run("budget", vault)


@pytest.mark.parametrize(
    ("code", "words", "problem"),
    [
        (2, ["query", "v"], "not-exactly-one: question"),
        (2, ["query", "v", COUNT, "--file", "q.sql"], "not-exactly-one: questions"),
        (2, ["query", "v", COUNT], "missing-price"),
        (2, ["query", "v", "DROP TABLE visits", "--epsilon", "1"], "unsupported-sql"),
        (2, ["query", "v", COUNT, "--epsilon", "x"], "not-a-number: epsilon"),
        (2, ["query", "v", COUNT, "--epsilon", "0.1", "--chart", "x.png"], "wrong-ending: SVG"),
        (2, ["query", "v", COUNT, "--epsilon", "0.1", "--chart", "no/x.svg"], "cannot-write: x.svg … --chart … FOLDER"),
        (2, ["query", "v", COUNT, "--epsilon", "0.1", "--csv", "no/x.csv"], "cannot-write: x.csv … --csv … FOLDER"),
        (2, ["query", "v", "SELECT cost, COUNT(*) FROM visits GROUP BY cost", "--epsilon", "0.1", "--chart", "x.svg"],
         "too-many: 202"),
        (3, ["query", "v", COUNT, "--epsilon", "2"], "budget-exceeded: epsilon 2 … 1"),
    ],
)  # fmt: skip
@pytest.mark.usefixtures("vault")
def test_what_is_refused_costs_nothing(code: int, words: list[str], problem: str, run: Run, fails: Fails) -> None:
    expect_code(problem, fails(code, *words))
    assert result(run("budget", "v", "--json"), "budget")["spent"]["epsilon"] == 0
    assert sorted(path.name for path in Path().iterdir()) == ["v", "visits.csv", "visits.toml"]


@pytest.mark.parametrize("option", ["--csv", "--chart"])
def test_no_file_is_overwritten(vault: str, option: str, run: Run, fails: Fails) -> None:
    """Not even the ledger's own; and nothing is charged."""
    for name in ("visits.csv", "v/ledger.sqlite", "old.svg"):
        path = Path(name) if option == "--csv" else Path(name).with_suffix(".svg")
        if not path.exists():
            path.write_text("old")
        before = path.read_bytes()
        expect_code("file-exists", fails(2, "query", vault, COUNT, "--epsilon", "0.1", option, str(path)))
        assert path.read_bytes() == before
    assert result(run("budget", vault, "--json"), "budget")["spent"]["epsilon"] == 0


def test_a_failure_after_the_charge_has_its_own_code(
    vault: str, run: Run, fails: Fails, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> Any:
        raise MemoryError

    monkeypatch.setattr(DuckDb, "exact", broken)
    expect_code("release-failed: 2", fails(4, "query", vault, COUNT, "--epsilon", "0.1"))
    assert "failure" in run("ledger", vault, "list")


# --- Ctrl-C


def test_stopped_after_the_charge(
    vault: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(DuckDb, "exact", stop)
    assert cli.main(["query", vault, COUNT, "--epsilon", "0.1"]) == cli.STOPPED
    assert capsys.readouterr().err == ("privet: stopped after the charge: entry 2 of the ledger stays charged\n")


@pytest.mark.parametrize(
    ("charged", "said"), [(False, "nothing was charged"), (True, "entry 2 of the ledger stays charged")]
)
def test_stopped_in_the_middle_of_the_charge(
    charged: bool, said: str, vault: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nobody was told whether the charge came through: the ledger is asked."""
    spend = sqlite.SqliteLedger.spend

    def stop(self: sqlite.SqliteLedger, charge: Any) -> None:
        if charged:
            spend(self, charge)
        raise KeyboardInterrupt

    monkeypatch.setattr(sqlite.SqliteLedger, "spend", stop)
    assert cli.main(["query", vault, COUNT, "--epsilon", "0.1"]) == cli.STOPPED
    assert capsys.readouterr().err == f"privet: stopped: {said}\n"


def test_stopped_before_or_after_everything(
    vault: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(ask, "_check_files", stop)
        assert cli.main(["query", vault, COUNT, "--epsilon", "0.1"]) == cli.STOPPED
    assert capsys.readouterr().err == "privet: stopped: nothing was charged\n"
    monkeypatch.setattr(ask, "_deliver", stop)
    assert cli.main(["query", vault, COUNT, "--epsilon", "0.1"]) == cli.STOPPED
    assert "stopped after the answer was stored (entry 2)" in capsys.readouterr().err


# --- the book


def test_the_budget_in_words_and_numbers(vault: str, run: Run) -> None:
    run("query", vault, COUNT, "--epsilon", "0.25")
    out = run("budget", vault, "--grant", "anna", "--epsilon", "0.5", "--delta", "1e-7")
    assert "Budget of v: epsilon 1, delta 1e-6" in out
    assert "[########......................]  epsilon 0.25 of 1 spent, 0.75 left" in out
    assert "zCDP gauge" in out
    assert "The cap holds." in out
    assert re.search(
        r"\(owner\)  epsilon 0.25, rho 0.03125\n   anna     epsilon 0, rho 0 +epsilon 0.5, delta 1e-7$", out, re.M
    )
    own = run("budget", vault, "--analyst", "anna")
    assert "Budget of v for anna: epsilon 0.5, delta 1e-7" in own
    told = result(run("budget", vault, "--json"), "budget")
    assert told["remaining"]["epsilon"] == 0.75
    assert [who["analyst"] for who in told["analysts"]] == ["", "anna"]
    assert result(run("budget", vault, "--analyst", "anna", "--json"), "budget")["analysts"] is None


def test_gauges_that_are_gone_and_budgets_without_delta(run: Run) -> None:
    run("init", "v", "--epsilon", "1", "--delta", "1e-6")
    run("add", "v", "visits.csv", "--columns", "visits.toml")
    run("query", "v", COUNT, "--rho", "0.001")
    assert "certifies nothing any more: something without a price in epsilon was released" in run("budget", "v")
    assert "epsilon without limit, rho 0.001" in run("ledger", "v", "list")
    assert result(run("budget", "v", "--json"), "budget")["remaining"]["epsilon"] is None
    run("init", "w", "--epsilon", "1")
    assert "zCDP" not in run("budget", "w")


def test_a_passed_cap_is_loud(run: Run) -> None:
    run("init", "v", "--epsilon", "0.1", "--on-exhausted", "warn")
    run("add", "v", "visits.csv", "--columns", "visits.toml")
    assert run("query", "v", COUNT, "--epsilon", "0.2").startswith("!! the cap no longer holds")
    out = run("budget", "v")
    assert "The cap no longer holds: the policy let charges pass it, epsilon 0.2, rho 0.02 so far." in out
    assert "BEYOND THE CAP epsilon 0.2, rho 0.02" in run("ledger", "v", "list")


def test_a_vault_for_testing_says_so(run: Run) -> None:
    create("t", budget=Budget(1), testing=True).close()
    assert "NOT PRIVATE: this vault was made for testing" in run("budget", "t")


def test_a_budget_too_small_for_rho_has_a_full_bar(run: Run) -> None:
    create("t", budget=Budget("1e-6", "1e-40")).close()
    assert "zCDP gauge" in run("budget", "t")


def test_suspended_and_reinstated(vault: str, run: Run, fails: Fails, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> Any:
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(DuckDb, "exact", broken)
        for _ in range(3):
            fails(4, "query", vault, COUNT, "--epsilon", "0.01", "--analyst", "anna")
    expect_code("analyst-suspended", fails(3, "query", vault, COUNT, "--epsilon", "0.01", "--analyst", "anna"))
    assert re.search(r"^   anna .* suspended$", run("budget", vault), re.M)
    run("budget", vault, "--reinstate", "anna")
    run("query", vault, COUNT, "--epsilon", "0.01", "--analyst", "anna")


def test_data_that_are_gone_are_told_to_the_owner_alone(vault: str, fails: Fails) -> None:
    Path("visits.csv").rename("away.csv")
    expect_code("missing-file: 'visits.csv'", fails(2, "query", vault, COUNT, "--epsilon", "0.01"))
    told = fails(2, "query", vault, COUNT, "--epsilon", "0.01", "--analyst", "anna")
    expect_code("table-unavailable", told)
    assert "visits" not in str(told)


@pytest.mark.parametrize(
    "words", [["--grant", "anna"], ["--epsilon", "1"], ["--delta", "1e-9"], ["--grant", "a", "--reinstate", "b"]]
)
def test_half_a_grant_is_none(words: list[str], vault: str, fails: Fails) -> None:
    fails(2, "budget", vault, *words)


def test_the_ledger_listed_and_verified(vault: str, run: Run, fails: Fails) -> None:
    told = result(
        run("query", vault, "SELECT COUNT(*) AS n\nFROM visits -- " + "x" * 99, "--epsilon", "0.1", "--json"), "answer"
    )
    entry, digest = told["receipt"]["entry"], told["receipt"]["digest"]
    lines = run("ledger", vault, "list").splitlines()
    assert [line.split()[2] for line in lines] == ["opening", "charge", "answer"]
    assert lines[1].endswith("...")
    assert "to entry 2" in lines[2]
    entries = result(run("ledger", vault, "--json", "list"), "ledger")
    assert [one["number"] for one in entries] == [1, 2, 3]
    assert entries[1]["digest"] == digest
    assert run("ledger", vault, "verify").startswith("All 3 entries are consistent.\n")
    for receipt in (f"{entry}:{digest}", f"{entry}:{digest[:16]}", f"{entry}:{digest[:16].upper()}..."):
        assert "and with the receipt." in run("ledger", vault, "verify", "--receipt", receipt)
    assert result(run("ledger", vault, "verify", "--json"), "verified")["entry"] == 3
    other = "0" * 64
    expect_code("ledger-tampered: 2", fails(4, "ledger", vault, "verify", "--receipt", f"2:{other}"))
    expect_code("ledger-tampered: at 3", fails(4, "ledger", vault, "verify", "--receipt", f"9:{other}"))
    for wrong in ("2", "2:abc", "x:" + other, "2:" + "g" * 64, "2:" + other + "0"):
        expect_code("syntax-error: receipt", fails(2, "ledger", vault, "verify", "--receipt", wrong))


def test_backup_restore_and_export(vault: str, run: Run, fails: Fails) -> None:
    run("query", vault, COUNT, "--epsilon", "0.1")
    assert "copy.sqlite has all 3 entries." in run("ledger", vault, "backup", "copy.sqlite")
    told = result(run("query", vault, COUNT, "--epsilon", "0.2", "--json"), "answer")["receipt"]
    assert "lines of JSON" in run("ledger", vault, "export", "all.jsonl")
    assert len(Path("all.jsonl").read_text().splitlines()) == 5
    expect_code("file-exists", fails(2, "ledger", vault, "restore", "copy.sqlite"))
    for old in Path(vault).glob("ledger.sqlite*"):
        old.unlink()
    expect_code("vault-missing", fails(2, "budget", vault))
    assert "Restored: the ledger has 3 entries. If anything was spent after" in run(
        "ledger", vault, "restore", "copy.sqlite"
    )
    receipt = f"{told['entry']}:{told['digest']}"
    expect_code("ledger-tampered: at 3", fails(4, "ledger", vault, "verify", "--receipt", receipt))


def test_a_ledger_with_lost_entries_is_accepted_aloud(vault: str, run: Run, fails: Fails) -> None:
    run("ledger", vault, "backup", "b.sqlite")
    run("query", vault, COUNT, "--epsilon", "0.5")
    Path(vault, "ledger.sqlite").unlink()
    expect_code("backup-too-old: --forget", fails(4, "ledger", vault, "restore", "b.sqlite"))
    run("ledger", vault, "restore", "b.sqlite", "--forget")
    assert "the cap may not hold: entries of the ledger were lost" in run("query", vault, COUNT, "--epsilon", "0.5")
    expect_code("nothing-to-do: nothing", fails(2, "ledger", vault, "accept"))
    Path(vault, "ledger.sqlite-anchor").unlink()
    expect_code("ledger-tampered: `privet ledger VAULT accept`", fails(4, "budget", vault))
    assert "Every answer from now on says so" in " ".join(run("ledger", vault, "accept").split())
    assert "the anchor remembered nothing, the ledger ended at entry" in run("ledger", vault, "list")


def test_ledgers_that_are_not_there(fails: Fails) -> None:
    expect_code("vault-missing", fails(2, "ledger", "nowhere", "list"))
    Path("empty").mkdir()
    fails(4, "ledger", "empty", "list")
    expect_code("wrong-usage: ACTION", fails(2, "ledger", "empty"))


# --- letters


def test_letters_that_a_stream_does_not_know() -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii")
    verb.plain_letters(stream, io.StringIO())
    stream.write("5 ± 2 日")
    stream.flush()
    assert raw.getvalue() == b"5 +/- 2 ?"
    with pytest.raises(UnicodeDecodeError):
        b"\xff".decode("utf-8", errors="privet")

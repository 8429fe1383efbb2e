"""Errors speak the language of where they are read: options in a terminal, arguments in Python, JSON for a program."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.places import SOURCE

from privet import cli
from privet.cli.wording import in_terminal

COMMANDS = cli._parser()._subparsers._group_actions[0].choices
IN_A_TERMINAL = [
    ("query", "give epsilon=0.5, or rho=0.01", "give `--epsilon 0.5`, or `--rho 0.01`"),
    ("query", 'for example other="all other cities"', "for example `--other 'all other cities'`"),
    ("query", 'give within="5%"', "give `--within 5%`"),
    ("query", "give private_keys=True and a delta", "give `--private-keys` and a delta"),
    ("query", "give quantile_intervals=False", "give `--no-quantile-intervals`"),
    ("query", "give epsilon= instead of rho=", "give --epsilon instead of --rho"),
    ("query", "max_groups must be 1", "--max-groups must be 1"),
    ("query", "for example delta=1e-9 or epsilon=1/3", "for example `--delta 1e-9` or `--epsilon 1/3`"),
    ("query", "run `privet query epsilon=1`", "run `privet query epsilon=1`"),
    ("query", "WHERE age=3 AND n_units = 2", "WHERE age=3 AND n_units = 2"),
    ("query", "unit=None, or divide by vault.partition", "unit=None, or divide by `privet partition`"),
    ("add", "or unit=None if each row is one person", "or `--rows-are-units` if each row is one person"),
    ("init", "for example pv.Budget(epsilon=1, delta=1e-9)", "for example `--epsilon 1`, `--delta 1e-9`"),
    ("anonymize", 'for example quasi=["age", "sex"]', "for example `--quasi age,sex`"),
    ("anonymize", "k=7 is more than the 5 records", "`--k 7` is more than the 5 records"),
]  # fmt: skip


@pytest.mark.parametrize(("command", "python", "terminal"), IN_A_TERMINAL)
def test_arguments_become_options(command: str, python: str, terminal: str) -> None:
    assert in_terminal(python, COMMANDS[command]) == terminal


def test_the_library_names_no_options() -> None:
    """Outside cli/ an error says epsilon=0.5. Whole commands, in backquotes, may be named anywhere."""
    found = [
        f"{path.name}:{line}: {text}"
        for path in SOURCE.rglob("*.py")
        if "cli" not in path.parts
        for line, text in _words_of_errors(path)
        if re.search(r"(?<![\w-])--[a-z]", re.sub("`[^`]*`|plink .*", "", text))
    ]
    assert not found


def _words_of_errors(path: Path) -> Iterator[tuple[int, str]]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "").endswith("Error"):
            for argument in node.args:
                text = "".join(
                    str(part.value) if isinstance(part, ast.Constant) else "" for part in _pieces(argument)
                )  # what is filled in does not matter
                yield argument.lineno, text


def _pieces(text: ast.expr) -> Iterator[ast.expr]:
    """The constants of a text, in their order, also of one with something filled in."""
    if isinstance(text, ast.JoinedStr):
        yield from text.values
    elif isinstance(text, ast.BinOp | ast.IfExp):
        for side in (text.left, text.right) if isinstance(text, ast.BinOp) else (text.body, text.orelse):
            yield from _pieces(side)
    else:
        yield text


@pytest.mark.parametrize(
    ("words", "code", "problem"),
    [
        (["query", "v.privet", "SELECT COUNT(*) AS n FROM t", "--epsilom", "1", "--json"], "wrong-usage", "--epsilom"),
        (["query", "--json"], "wrong-usage", "VAULT"),
        (["qeury", "--json"], "unknown-choice", "qeury"),
        (["meaning", "--epsilon", "-1", "--json"], "not-positive", "epsilon"),
        (["check", "nowhere.privet", "--json"], "vault-missing", "nowhere.privet"),
    ],
)
def test_with_json_an_error_is_json(
    words: list[str], code: str, problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """On stdout, where a program looks for the result; a person reads the same words on stderr."""
    assert cli.main(words) == 2
    said = capsys.readouterr()
    document = json.loads(said.out)
    assert (document["privet"], document["kind"], document["result"]["code"]) == (1, "error", code)
    assert problem in document["result"]["problem"]
    assert said.err == f"privet: {document['result']['problem']}\n  remedy: {document['result']['remedy']}\n"


def test_a_file_with_a_pattern_for_a_name_is_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    name, rows = "[x]*?.csv", "id,age\n" + "".join(f"{at},{at % 9}\n" for at in range(90))
    Path(name).write_text(rows)
    Path("x1.csv").write_text("other\n1\n")
    for words in (
        ["describe", name, "--out", "t.toml", "--name", "t"],
        ["init", "v.privet", "--epsilon", "9"],
        ["add", "v.privet", name, "--columns", "t.toml", "--unit", "id"],
        ["check", "v.privet"],
        ["query", "v.privet", "SELECT COUNT(*) AS n FROM t", "--epsilon", "1"],
        ["update", "v.privet", "t", name],
        ["anonymize", name, "--quasi", "age", "--drop", "id", "--k", "5", "--out", "[y]*.csv"],
    ):
        assert cli.main(words) == 0, (words, capsys.readouterr().err)
    assert Path("[y]*.csv").read_text().startswith("age\n")
    assert cli.main(["attack", "uniqueness", name, "--on", "id,age"]) == 1
    assert "90 records" in capsys.readouterr().out

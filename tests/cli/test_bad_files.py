"""Files that are cut, corrupt or not what their name says: one line, exit code 2, from every command that reads one."""

from __future__ import annotations

import gzip
import random
from pathlib import Path

import duckdb
import pytest
from support.places import EXAMPLES

from privet import cli

PEOPLE = "id,age,sex,sick\n" + "".join(f"p{at},{20 + at % 7},{'fm'[at % 2]},{'ny'[at % 3 == 0]}\n" for at in range(900))
PACKED = gzip.compress(PEOPLE.encode())
NOISE = random.Random(1).randbytes(5000)
BAD = {
    "empty.csv": b"",
    "empty.csv.gz": b"",
    "empty.xlsx": b"",
    "empty.parquet": b"",
    "empty.duckdb": b"",
    "cut.csv.gz": PACKED[: len(PACKED) // 2],
    "cut-in-its-header.csv.gz": PACKED[:12],
    "wrong-sum.csv.gz": PACKED[:-8] + bytes(byte ^ 0x55 for byte in PACKED[-8:]),
    "wrong-block.csv.gz": PACKED[:10] + b"\xff" * 200,
    "plain.csv.gz": PEOPLE.encode(),
    "binary.csv": NOISE,
    "zeros.csv": bytes(5000),
    "binary.xlsx": NOISE,
    "binary.parquet": NOISE,
    "binary.duckdb": NOISE,
}
COMMANDS = {
    "describe": ["describe", "BAD"],
    "add": ["add", "v.privet", "BAD", "--columns", "people.toml"],
    "anonymize": ["anonymize", "BAD", "--quasi", "age,sex"],
    "anonymize --encoding": ["anonymize", "BAD", "--quasi", "age,sex", "--encoding", "utf-8"],
    "anonymize --hierarchies": ["anonymize", "people.csv", "--quasi", "age,sex", "--hierarchies", "BAD"],
    "pseudonymize": ["pseudonymize", "BAD", "--columns", "id", "--key", "k", "--out", "shipped"],
    "pseudonymize --key": ["pseudonymize", "people.csv", "--columns", "id", "--key", "BAD", "--out", "shipped"],
    "compare": ["compare", "BAD", "--quasi", "age,sex", "--sensitive", "sick"],
    "linkage": ["attack", "linkage", "BAD", "people.csv", "--on", "age,sex"],
    "linkage, known": ["attack", "linkage", "people.csv", "BAD", "--on", "age,sex"],
    "uniqueness": ["attack", "uniqueness", "BAD"],
    "scoreboard": ["attack", "scoreboard", "BAD", "people.csv", "--person", "id", "--item", "age"],
    "pseudonyms": ["attack", "pseudonyms", "BAD", "--column", "id", "--format", "9"],
    "records": ["attack", "anonymized", "BAD", "--quasi", "age,sex", "--sensitive", "sick"],
    "membership": ["attack", "membership", "BAD", "--people", "people.csv", "--size", "10"],
    "membership --data": ["attack", "membership", "--data", "BAD", "--size", "10"],
    "leak": ["attack", "leak", "BAD", "--columns", "age:0:100"],
    "tables": ["attack", "tables", "BAD"],
    "queries": ["attack", "differencing", "BAD"],
    "subsets": ["attack", "subsets", "BAD"],
    "subsets --truth": ["attack", "subsets", "people.csv", "--truth", "BAD"],
    "preflight": ["preflight", "BAD"],
    "audit scores": ["audit", "scores", "BAD", "--epsilon", "1"],
    "query --file": ["query", "v.privet", "--file", "BAD", "--epsilon", "1"],
    "add --columns": ["add", "v.privet", "people.csv", "--columns", "BAD"],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("bad")
    (place / "people.csv").write_text(PEOPLE)
    for name, content in BAD.items():
        (place / name).write_bytes(content)
    for ending in (".csv", ".xlsx", ".parquet"):
        (place / f"folder{ending}").mkdir()
    duckdb.sql(f"COPY (FROM read_csv('{place / 'people.csv'}')) TO '{place / 'cut.parquet'}'")
    book = EXAMPLES
    for path, whole in (
        (place / "cut.parquet", (place / "cut.parquet").read_bytes()),
        (place / "cut.xlsx", next(book.rglob("*.xlsx")).read_bytes()),
    ):
        path.write_bytes(whole[: len(whole) // 2])
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        assert cli.main(["init", "v.privet", "--epsilon", "9"]) == 0
        assert cli.main(["describe", "people.csv", "--out", "people.toml"]) == 0
    return place


@pytest.mark.parametrize("others", [False, pytest.param(True, marks=pytest.mark.proof)])
@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_says_it_in_one_line(
    name: str, others: bool, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each command with a quarter of the files, each file with some of the commands; as a proof, all others."""
    monkeypatch.chdir(folder)
    files = sorted([*BAD, *(path.name for path in folder.glob("folder.*")), "cut.parquet", "cut.xlsx", "missing.csv"])
    assert len(files) == len(BAD) + 6
    for place, file in enumerate(files, list(COMMANDS).index(name)):
        if others == (place % 4 == 0):
            continue
        if (name, file) == ("pseudonymize --key", "missing.csv"):  # a key is made there
            continue
        assert cli.main([file if word == "BAD" else word for word in COMMANDS[name]]) == 2, file
        said = capsys.readouterr()
        problem, remedy = said.err.splitlines()[:2]
        assert problem.startswith("privet: "), file
        assert remedy.startswith("  remedy: "), file
        assert "Traceback" not in said.err
        assert "unrecognized arguments" not in problem
        assert "invalid choice" not in problem

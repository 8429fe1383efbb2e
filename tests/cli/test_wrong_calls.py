"""Wrong calls of the command line: the right exit code, one clear line, and a remedy that works when typed in."""

from __future__ import annotations

import json
import os
import random
import re
import shlex
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from support.places import EXAMPLES

from privet import cli

LIST = Path(__file__).with_name("wrong_calls.txt")
CALL = re.compile(r"^\$ (?P<call>privet.*)\n(?P<code>\d) (?P<problem>.*)\n> (?P<remedy>.*)$", re.MULTILINE)
QUESTION = "SELECT COUNT(*) AS n FROM visits"
SECRET = re.compile(r"px\d{4}|Quendolin")  # ids of visits.csv and names of people.csv: values of the data
PARSER = cli._parser()
LONG_WORK = ("privet demo", "privet attack regimes", "privet audit vault")  # that they are understood is enough
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]+")


@dataclass(frozen=True, slots=True)
class Wrong:
    """One call, and what a user may expect of it."""

    call: str
    code: int
    problem: str
    remedy: str


@dataclass(frozen=True, slots=True)
class Said:
    """What one call returned and said."""

    code: int
    out: str
    err: str

    @property
    def problem(self) -> str:
        return self.err.partition("\n")[0]

    @property
    def remedy(self) -> str:
        return self.err.partition("  remedy: ")[2]


WRONG = [
    Wrong(found["call"], int(found["code"]), found["problem"], found["remedy"])
    for found in CALL.finditer(LIST.read_text())
]


def test_no_call_is_overlooked() -> None:
    lines = [line for line in LIST.read_text().splitlines() if line.startswith("$ ")]
    assert [f"$ {wrong.call}" for wrong in WRONG] == lines
    assert len({wrong.call for wrong in WRONG}) == len(WRONG) >= 120


def played(line: str, capsys: pytest.CaptureFixture[str]) -> Said:
    """The line as typed into a shell, in this process."""
    capsys.readouterr()
    try:
        code = cli.main(shlex.split(line)[1:])
    except SystemExit as left:  # --help
        code = int(left.code or 0)
    return Said(code, *capsys.readouterr())


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that wrong_calls.txt describes."""
    folder = tmp_path_factory.mktemp("wrong")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        _files()
        _vaults()
    return folder


def _files() -> None:
    draw = random.Random(3)
    rows = [
        f"px{4700 + draw.randrange(60)},{draw.choice('ABC')},{draw.randrange(100, 90000) / 100},2026-03-{day:02}"
        for day in range(1, 29) for _ in range(9)
    ]  # fmt: skip
    people = [
        f"Quendolin {at},{13000 + at % 7},{20 + at % 9},{'fm'[at % 2]},{('flu', 'ulcer', 'none')[at % 3]}"
        for at in range(60)
    ]
    texts = {
        "visits.csv": ["patient_id,ward,cost,day", *rows],
        "wards.csv": ["ward,floor", "A,1", "B,2", "C,3"],
        "people.csv": ["name,zip,age,sex,disease", *people],
        "released.csv": ["zip,age,sex,disease", *(row.partition(",")[2] for row in people)],
        "means.csv": ["name,mean", *(f"q{at},0.{at}" for at in range(1, 9))],
        "known.csv": ["name," + ",".join(f"q{at}" for at in range(1, 9)), *(f"z{at},0,1,0,1,1,0,1,0" for at in "ab")],
        "counts.csv": ["count", "1", "2", "4"],
        "scores.csv": ["score,included", *(f"{draw.random()},{at % 2}" for at in range(40))],
        "points.csv": ["person,item", "t,a", "t,b"],
        "ratings.csv": ["person,item", "x,a", "x,b", "y,c"],
        "mechanisms.py": ["def noisy_count(data):", "    return len(data)"],
        "header.csv": ["zip,age,sex,disease"],
        "taken.csv": ["mine"],
        "broken.toml": ["[tables.visits", "version = 1"],
    }
    for name, lines in texts.items():
        Path(name).write_text("\n".join(lines) + "\n")
    for name in ("my visits.csv", "[x]*.csv", "visits.dat"):
        shutil.copy("visits.csv", name)
    for name in ("hospital.toml", "clinic-tables.xlsx", "clinic-tables.toml"):
        shutil.copy(EXAMPLES / name, name)
    shutil.copy(EXAMPLES / "clinic-tables.xlsx", "lonely.xlsx")
    Path("empty.csv").touch()
    Path("noise.csv").write_bytes(draw.randbytes(4000))
    Path("folder.d").mkdir()


def _vaults() -> None:
    for line in (
        "privet describe visits.csv --out visits.toml",
        "privet describe wards.csv --public --out wards.toml",
        "privet init clinic.privet --epsilon 3 --delta 1e-9",
        "privet init small.privet --epsilon 0.1",
        *(
            f"privet add {vault} {file}.csv --columns {file}.toml {rest}"
            for vault in ("clinic.privet", "small.privet")
            for file, rest in (("visits", "--unit patient_id --max-groups 2"), ("wards", "--public --key ward"))
        ),
        "privet budget clinic.privet --grant anna --epsilon 1",
        f'privet query clinic.privet "{QUESTION}" --epsilon 0.1',
        "privet ledger clinic.privet backup backup.db",
    ):
        assert cli.main(shlex.split(line)[1:]) == 0, line
    Path("answer.json").write_text(json.dumps({"privet": 1}))
    text = Path("visits.toml").read_text()
    assert "{kind" in text
    Path("typo.toml").write_text(text.replace("{kind", "{knid"))


@pytest.fixture
def folder(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy for remedies, since they may do what they say. Data that are declared stay the same files."""
    copy = shutil.copytree(made, tmp_path / "copy", copy_function=_linked)
    monkeypatch.chdir(copy)
    return copy


def _linked(source: str, copy: str) -> None:
    (os.link if source.endswith(".csv") else shutil.copy2)(source, copy)


@pytest.mark.parametrize("wrong", WRONG, ids=lambda wrong: wrong.call.removeprefix("privet "))
def test_a_wrong_call_is_answered(wrong: Wrong, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = {path: path.stat().st_size for path in folder.rglob("*")}
    said = played(wrong.call, capsys)
    assert said.code == wrong.code, said
    assert not said.out
    lines = said.err.splitlines()
    assert lines[0].startswith("privet: ")
    assert sum(line.startswith("  remedy: ") for line in lines) == 1
    assert lines[-1].startswith("  remedy: ")
    assert "Traceback" not in said.err
    assert not SECRET.search(said.err)
    assert re.search(wrong.problem, said.problem, re.IGNORECASE), said.err
    assert re.search(wrong.remedy, said.remedy, re.IGNORECASE), said.err
    assert {path: path.stat().st_size for path in folder.rglob("*")} == before, "a wrong call changes nothing"
    for typed in typed_in(wrong.call, said):
        if typed.startswith(LONG_WORK) and "--help" not in typed:
            assert not cli._parser().parse_known_args(shlex.split(typed)[1:])[1]
            continue
        further = played(typed, capsys)
        assert further.code in (0, 1, 3) or further.problem != said.problem, (typed, further)
    assert not (unknown := set(OPTION.findall(re.sub("`privet [^`]*`", "", said.remedy))) - _options_of(wrong.call)), (
        unknown
    )


def typed_in(call: str, said: Said) -> Iterator[str]:
    """What stands in backquotes, typed in: a whole command, or options put into the call, in place of a wrong one."""
    misspelled = re.search("has no option (--[a-z-]+)", said.problem)
    for text in re.findall(r"`([^`]+)`", said.remedy):
        if text.startswith("privet "):
            yield text
        elif text.startswith("--") and misspelled:
            yield call.replace(misspelled[1], text)
        elif text.startswith("--"):
            yield shlex.join([*_without(shlex.split(call), text.split()[0]), *shlex.split(text)])
        elif text.startswith("SELECT "):
            words = shlex.split(call)
            yield shlex.join([*words[:3], text, *words[words.index("--epsilon") :]])


def _without(words: list[str], option: str) -> list[str]:
    if option not in words:
        return words
    place = words.index(option)
    value = place + 1 < len(words) and not words[place + 1].startswith("--")
    return words[:place] + words[place + 1 + value :]


def _options_of(call: str) -> set[str]:
    """All options of the command, and of the commands above it."""
    parser, known = PARSER, set(OPTION.findall(PARSER.format_help()))
    for word in shlex.split(call)[1:]:
        inner = parser._subparsers and parser._subparsers._group_actions[0].choices.get(word)
        if not inner:
            continue
        parser = inner
        known |= set(parser._option_string_actions)
    return known

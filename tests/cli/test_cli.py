"""The command line as people and programs meet it."""

from __future__ import annotations

import io
import json
import runpy
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from support.refusals import expect_code, refused

import privet
from privet import cli
from privet.demo import story

PRIVET = [sys.executable, "-m", "privet"]


@pytest.fixture
def no_drawing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(story, "chart", lambda: "<svg/>")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as leaving:
        cli.main(["--version"])
    assert leaving.value.code == 0
    assert capsys.readouterr().out == f"privet {privet.__version__}\n"


@pytest.mark.parametrize("verb", cli.VERBS)
def test_every_command_explains_itself_with_an_example(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as leaving:
        cli.main([verb, "--help"])
    assert leaving.value.code == 0
    text = capsys.readouterr().out
    assert f"example:\n  privet {verb} " in text
    assert "--json" in text


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as leaving:
        cli.main(["--help"])
    assert leaving.value.code == 0
    text = capsys.readouterr().out
    assert all(verb in text for verb in cli.VERBS)


def test_demo_prints_the_story_and_draws_the_picture_here(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["privet", "demo"])
    assert cli.main() == 0
    out, err = capsys.readouterr()
    assert out.startswith("Privet demo")
    assert "demo.svg" in out
    assert "\x1b" not in out
    assert err == ""
    assert ElementTree.parse("demo.svg").getroot().tag.endswith("svg")


@pytest.mark.usefixtures("no_drawing")
def test_json_has_the_envelope_and_the_place_of_the_picture(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    picture = tmp_path / "Bild ü.SVG"
    assert cli.main(["demo", "--json", "--out", str(picture)]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["privet"], answer["kind"]) == (1, "demo")
    assert answer["result"]["picture"] == str(picture)
    assert answer["result"]["uniform"]["certain_one_week"] == 1 / 7
    assert answer["result"]["private"]["again_is_free"] is True
    assert picture.read_text(encoding="utf-8").startswith("<svg")


def test_meaning_prints_the_text_and_draws_nothing(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.main(["meaning", "--epsilon", "1", "--prior", "0.01"]) == 0
    out, err = capsys.readouterr()
    assert out == f"{privet.meaning(epsilon=1, prior='0.01')}\n"
    assert err == ""
    assert list(tmp_path.iterdir()) == []


def test_meaning_for_a_program_and_with_a_picture(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    asked = ["meaning", "--epsilon", "0.1", "--delta", "1e-6", "--neighbors", "add-remove", "--about", "value"]
    assert cli.main([*asked, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["privet"], answer["kind"]) == (1, "meaning")
    expected = privet.meaning(epsilon="0.1", delta="1e-6", about="value").to_json()
    assert answer["result"] == {**expected, "picture": None}
    picture = tmp_path / "x.svg"
    assert cli.main([*asked, "--json", "--out", str(picture)]) == 0
    assert json.loads(capsys.readouterr().out)["result"]["picture"] == str(picture)
    assert ElementTree.parse(picture).getroot().tag.endswith("svg")


@pytest.mark.parametrize(
    ("words", "problem", "cure"),
    [
        ([], "nothing-to-do: command", "privet demo"),
        (["frobnicate"], "unknown-choice: 'frobnicate'", "demo"),
        (["fro\nb\x1b[2J"], r"unknown-choice: 'fro\nb\x1b[2J'", "demo"),
        (["--frobnicate"], "wrong-usage: --frobnicate", "privet --help"),
        (["demo", "--frob\nnicate"], "wrong-usage: --frob", "privet demo --help"),
        (["demo", "--js"], "wrong-usage: --js", "did you mean `--json`?"),
        (["demo", "--out"], "wrong-usage: --out", "privet demo --help"),
        (["demo", "--out", "chart.png"], "wrong-ending: chart.png", ".svg"),
        (["demo", "--out", "no/such\nfolder/x.svg"], "cannot-write: folder/x.svg", "--out FOLDER/x.svg"),
        (["meaning"], "wrong-usage: --epsilon", "privet meaning --help"),
        (["meaning", "--epsilon", "-1"], "not-positive: epsilon … above 0", "--epsilon 1"),
        (["meaning", "--epsilon", "1", "--prior", "1.5"], "out-of-range: prior", "0.01"),
        (["meaning", "--epsilon", "1", "--neighbors", "x"], "unknown-choice: neighbors", "add-remove"),
        (["meaning", "--epsilon", "1", "--out", "chart.png"], "wrong-ending: chart.png", ".svg"),
        (["meaning", "--epsilon", "1", "--out", "no/such/x.svg"], "cannot-write: no/such/x.svg", "--out FOLDER/x.svg"),
    ],
)  # fmt: skip
@pytest.mark.usefixtures("no_drawing")
def test_bad_input_is_one_line_and_a_remedy(
    words: list[str], problem: str, cure: str, capsys: pytest.CaptureFixture[str]
) -> None:
    error = refused(words, capsys)
    expect_code(problem, error)
    assert cure in error.remedy


@pytest.mark.usefixtures("no_drawing")
def test_a_folder_in_the_place_of_the_picture(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "x.svg").mkdir()
    assert str(tmp_path / "x.svg") in refused(["demo", "--out", str(tmp_path / "x.svg")], capsys).problem


@pytest.mark.parametrize(
    ("stream", "setting", "expected"),
    [(Terminal(), None, True), (Terminal(), "", True), (Terminal(), "1", False), (io.StringIO(), None, False)],
)
def test_color_only_for_a_terminal_whose_owner_wants_it(
    stream: io.StringIO, setting: str | None, expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    if setting is not None:
        monkeypatch.setenv("NO_COLOR", setting)
    assert cli.wants_color(stream) is expected


def test_a_reader_who_leaves_early_is_no_error(tmp_path: Path) -> None:
    """`privet demo | head -0`: the pipe is closed before anything is written."""
    code = "from privet import cli, demo; demo.chart = lambda: '<svg/>'; raise SystemExit(cli.main(['demo']))"
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        running.stdout.close()
        complaint = running.stderr.read()
        assert running.wait(timeout=30) == cli.READER_GONE
    assert complaint == b""


def test_python_m_privet_says_the_same_and_nothing_breaks_in_ascii(tmp_path: Path) -> None:
    done = subprocess.run(
        [*PRIVET, "nonsense"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={"PYTHONIOENCODING": "ascii"},
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    line, remedy = done.stderr.splitlines()
    assert line.startswith("privet: ")
    assert "'nonsense'" in line
    assert remedy.startswith("  remedy: ")
    assert remedy.endswith(", ".join(cli.VERBS))


def test_the_command_line_loads_nothing_heavy() -> None:
    heavy = "{'numpy', 'altair', 'vl_convert', 'cryptography', 'duckdb', 'sqlglot', 'tomli_w'}"
    code = f"import sys, privet.cli; privet.cli._parser(); print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_the_module_is_the_command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["privet", "--version"])
    with pytest.raises(SystemExit) as leaving:
        runpy.run_module("privet", run_name="__main__")
    assert leaving.value.code == 0
    assert capsys.readouterr().out == f"privet {privet.__version__}\n"

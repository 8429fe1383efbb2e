"""The complete help text of the program and of each command."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support.golden import no_others, same_words

from privet import cli
from privet.cli import attack, audit

FOLDER = Path(__file__).parent / "golden"
COMMANDS: dict[str, list[str]] = {
    "privet": [],
    **{verb: [verb] for verb in cli.VERBS},
    **{f"attack-{kind}": ["attack", kind] for kind in attack.KINDS},
    **{f"audit-{kind}": ["audit", kind] for kind in audit.KINDS},
}


@pytest.mark.parametrize("name", COMMANDS)
def test_help(name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "1000")
    with pytest.raises(SystemExit) as leaving:
        cli.main([*COMMANDS[name], "--help"])
    assert leaving.value.code == 0
    same_words(FOLDER / f"{name}.txt", _one_line_each(capsys.readouterr().out))


def test_every_golden_file_belongs_to_a_command() -> None:
    no_others(FOLDER, set(COMMANDS))


def _one_line_each(text: str) -> str:
    """The usage and each option on one line: how far they are indented depends on the version of Python."""
    usage, rest = text.split("\n\n", 1)
    rest = re.sub(r"\n {12,}", "  ", rest)
    return "\n\n".join((" ".join(usage.split()), re.sub(r"(?<=\S)  +", "  ", rest)))

"""Ctrl-C keeps what was found: exit code 130, a result that says it was stopped, and never a green one."""

from __future__ import annotations

import json
import random
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

import pytest
from support.places import EXAMPLES

from privet import cli
from privet.attacks.proofs.work import STOPPED
from privet.audits import stages
from privet.cli import attack
from privet.cli.attack import linkage, pseudonyms, regimes, release
from privet.cli.audit import function
from privet.cli.progress import Tell

LEAKY = "import random\ndef leak(data):\n    return len(data)\ndef fair(data):\n    return random.random()\n"


@pytest.fixture(autouse=True)
def interrupts() -> Iterator[None]:
    """As in a terminal: what a shell starts in the background inherits that Ctrl-C is ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def press(monkeypatch: pytest.MonkeyPatch, module: ModuleType, at: str, times: int = 1) -> list[str]:
    """Ctrl-C when the command begins something of this name. Returns what it began."""
    begun: list[str] = []

    @contextmanager
    def counting() -> Iterator[Tell]:
        def tell(what: str, _done: int, _of: int) -> None:
            begun.append(what)
            if sum(one.startswith(at) for one in begun) <= times and what.startswith(at):
                signal.raise_signal(signal.SIGINT)

        yield tell

    monkeypatch.setattr(module, "counting", counting)
    return begun


def stopped(words: list[str], capsys: pytest.CaptureFixture[str]) -> dict[str, object]:
    """The JSON of a command that was stopped."""
    assert cli.main([*words, "--json"]) == 130
    said = capsys.readouterr()
    assert "Traceback" not in said.err
    assert not STOPPED.is_set()
    assert not stages.STOPPED.is_set()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    document = json.loads(said.out)
    assert document["kind"] in ("attack", "audit")
    result: dict[str, object] = document["result"]
    assert result["stopped"] is True
    return result


def test_an_attack_on_tables_keeps_what_it_proved(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["attack", "tables", str(EXAMPLES / "census-block.toml")]
    press(monkeypatch, release, "searching what is learned")
    result = stopped(words, capsys)
    assert result["alarm"] == "bad"
    assert result["proven"]
    assert "stopped with Ctrl-C" in result["limits"]
    assert str(result["headline"]).startswith("stopped with Ctrl-C: ")


def test_preflight_is_not_passed_when_it_is_stopped(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """The same tables pass when they are left alone."""
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "T.csv").write_text("ward,p,q,Total\nA,40,50,90\nB,60,70,130\nTotal,100,120,220")
    (tmp_path / "b.toml").write_text(
        'format = 1\nkind = "tables"\n[attributes]\nward = ["A", "B"]\nill = ["p", "q"]\n'
        '[[tables]]\nsheet = "T"\nrows = ["ward"]\ncolumns = "ill"\nvalue = "count"\n'
    )
    words = ["preflight", str(tmp_path / "b")]
    assert cli.main([*words, "--json"]) == 0
    capsys.readouterr()
    press(monkeypatch, attack, "searching what is learned")
    assert stopped(words, capsys)["alarm"] == "neutral"
    press(monkeypatch, attack, "searching what is learned")
    assert cli.main(words) == 130
    assert "preflight: not decided (" in capsys.readouterr().out


def test_ids_that_were_found_are_kept(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    import hashlib  # noqa: PLC0415

    path = tmp_path / "p.csv"
    path.write_text("id\n" + "".join(f"{hashlib.md5(b'%06d' % at).hexdigest()}\n" for at in range(40)))
    press(monkeypatch, pseudonyms, "hashing")
    result = stopped(["attack", "pseudonyms", str(path), "--column", "id", "--format", "999999"], capsys)
    assert "stopped with Ctrl-C" in result["limits"]


def test_links_are_kept_without_a_control(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    draw = random.Random(1)
    rows = [f"{at},{draw.randrange(10**4)},{draw.randrange(1900, 2000)},{'fm'[at % 2]}" for at in range(300)]
    for name in ("released", "known"):
        (tmp_path / f"{name}.csv").write_text("\n".join(["id,zip,born,sex", *rows]))
    words = ["attack", "linkage", str(tmp_path / "released.csv"), str(tmp_path / "known.csv"),
             "--on", "zip,born,sex", "--truth", "id"]  # fmt: skip
    press(monkeypatch, linkage, "control")
    result = stopped(words, capsys)
    assert result["claimed"] == 300
    press(monkeypatch, linkage, "reading")
    assert cli.main([*words, "--json"]) == 130
    document = json.loads(capsys.readouterr().out)
    assert (document["kind"], document["result"]["code"]) == ("error", "stopped")


def test_columns_that_single_out_are_kept(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "p.csv"
    path.write_text("a,b\n" + "".join(f"{at},{at % 3}\n" for at in range(30)))
    press(monkeypatch, linkage, "counting", times=1)
    assert stopped(["attack", "uniqueness", str(path)], capsys)["limits"] == ["stopped with Ctrl-C"]


@pytest.mark.parametrize("name", ["leak", "fair"])
def test_an_audit_that_was_stopped_is_never_green(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """A violation stays one; what was consistent so far is inconclusive."""
    path = tmp_path / "m.py"
    path.write_text(LEAKY)
    words = ["audit", "function", f"{path}:{name}", "--epsilon", "1", "--neighbors", "[1]", "[]", "--samples", "20000"]
    press(monkeypatch, function, "testing draws")
    verdict = str(stopped(words, capsys)["verdict"])
    assert verdict.startswith({"leak": "violated", "fair": "inconclusive"}[name])
    press(monkeypatch, function, "testing draws")
    assert cli.main(words) == 130
    said = capsys.readouterr().out
    assert "stopped with Ctrl-C" in said
    assert "consistent" not in said


def test_the_second_one_ends_it_at_once(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    begun = press(monkeypatch, release, "", times=2)
    assert cli.main(["attack", "tables", str(EXAMPLES / "census-block.toml")]) == 130
    said = capsys.readouterr()
    assert len(begun) == 2
    assert said.out == ""
    assert said.err.splitlines()[-1] == "privet: stopped before anything was found, so nothing is known"


@pytest.mark.parametrize("kind", ["membership", "subsets"])
def test_runs_that_were_made_are_kept(
    kind: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """If they are enough for an interval."""
    wanted = [45, 10]

    @contextmanager
    def counting() -> Iterator[Tell]:
        def tell(_what: str, done: int, _of: int) -> None:
            if done == wanted[0]:
                signal.raise_signal(signal.SIGINT)

        yield tell

    monkeypatch.setattr(regimes, "counting", counting)
    words = ["attack", "leak", "--made", "60,1", "--epsilons", "1", "--kind", kind]
    result = stopped(words, capsys)
    assert (result["runs"], result["limits"]) == (46, ["stopped with Ctrl-C"])
    wanted.pop(0)
    assert cli.main(words) == 130
    assert capsys.readouterr().err.splitlines()[-1] == "privet: stopped before anything was found, so nothing is known"


def test_what_keeps_nothing_says_so(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    press(monkeypatch, regimes, "")
    assert cli.main(["attack", "regimes", "--people", "50", "--statistics", "20"]) == 130
    assert capsys.readouterr().err == "privet: stopped before anything was found, so nothing is known\n"

"""The one list of what the guarantee rests on: it is sound, everything made from it agrees, and releases keep to it."""

from __future__ import annotations

import ast
import importlib.util
import shutil
import sys
import types
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from support import every_release
from support.places import ROOT
from support.scripts import script

from privet.vault import Vault


def loaded(name: str, path: Path) -> types.ModuleType:
    """A script as a module."""
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    sys.modules[name] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


trusted = loaded("trusted", ROOT / "tools" / "trusted.py")
LIST = trusted.load()
READ, FENCE, QUESTION = LIST.read[0], LIST.fences[0], LIST.questions[0]


# ---- the list


def test_the_list_is_sound_and_what_is_made_from_it_agrees() -> None:
    assert trusted.problems(LIST) == []
    assert trusted.stale(LIST, write=False) == []


def test_it_can_be_read_in_an_hour() -> None:
    assert LIST.all_lines(learners=False) <= LIST.most_lines <= 2000
    assert LIST.all_lines(learners=True) <= LIST.most_lines_of_learners <= 400
    assert len(LIST.questions) >= 10
    assert {one.file for one in LIST.questions} <= {one.file for one in LIST.read}
    assert {fence.kind for fence in LIST.fences} == set(trusted.KINDS)


WRONG = {
    "core/nothing.py is not there": {"read": (*LIST.read, replace(READ, file="core/nothing.py"))},
    "nowhere/ is not there": {"fences": (*LIST.fences, replace(FENCE, files=("nowhere/",)))},
    "noise/ is fenced twice": {"fences": (*LIST.fences, replace(FENCE, files=("noise/",)))},
    "core/laws.py is read as a whole and fenced": {"fences": (*LIST.fences, replace(FENCE, files=("core/laws.py",)))},
    "stats/whitening.py: suggest.py is not on the reading list": {
        "fences": (*LIST.fences, replace(FENCE, files=("stats/whitening.py",), against="suggest.py"))
    },
    "stats/whitening.py: a fence has tests if it is 'tested', and only then": {
        "fences": (*LIST.fences, replace(FENCE, files=("stats/whitening.py",), tests=()))
    },
    "test_law.py::test_nothing is not there": {
        "fences": (*LIST.fences, replace(FENCE, files=("stats/whitening.py",), tests=("test_law.py::test_nothing",)))
    },
    "nothing: test_nothing.py is not there": {"tests": {**LIST.tests, "stats/whitening.py": ["nothing"]}},
    "Why? suggest.py is not on the reading list": {"questions": (replace(QUESTION, ask="Why?", file="suggest.py"),)},
    "stats/whitening.py is read in part, and the rest has no fence": {
        "read": (*LIST.read, replace(READ, file="stats/whitening.py", parts=("read",)))
    },
    "stats/whitening.py has no nothing": {
        "read": (*LIST.read, replace(READ, file="stats/whitening.py", parts=("nothing",)))
    },
    "engine.py has no tests": {"tests": {name: tests for name, tests in LIST.tests.items() if name != "engine.py"}},
    f"{LIST.all_lines(learners=False)} lines to read: more than 10": {"most_lines": 10},
    f"{LIST.all_lines(learners=True)} lines to read: more than 10": {"most_lines_of_learners": 10},
}


@pytest.mark.parametrize("problem", WRONG)
def test_a_list_that_is_wrong_is_refused(problem: str) -> None:
    assert problem in trusted.problems(replace(LIST, **WRONG[problem]))


def test_a_file_has_the_fence_that_names_it_or_that_of_its_room() -> None:
    assert LIST.fence("noise/ranked.py").against == "core/laws.py"
    assert LIST.fence("noise/fast.py").against == "noise/reference.py"
    assert LIST.fence("core/laws.py") is None
    assert LIST.fence("cli/ask.py") is None
    assert LIST.known("privet.core.laws")
    assert LIST.known("privet")
    assert LIST.known("privet.ledger")
    assert not LIST.known("privet.cli")
    assert not LIST.known("privet.core.nothing")
    assert LIST.tests_of("noise/fast.py") == ["package", "fast_words"]
    assert LIST.tests_of("backends/kernel_loops.py") == LIST.tests["backends/"]


def test_lines_of_parts() -> None:
    method = "    x = 1\n\n    @a.b\n    def f(self):\n        pass\n"
    text = f"import a\n\n\n@a.b\nclass C:\n{method}\n\ndef g():\n    return 1\n"
    assert trusted.spans(text) == {"C": (4, 10), "C.f": (8, 10), "g": (13, 14)}


# ---- what is made from it


def copied(folder: Path) -> Path:
    """The files that hold something made from the list, and what it is made from."""
    for name in {file for file, _ in trusted.BLOCKS} | {trusted.LIST}:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    for name in ("src", "tests"):
        (folder / name).symlink_to(ROOT / name)
    return folder


def test_a_change_of_the_list_is_noticed_and_written(tmp_path: Path) -> None:
    root = copied(tmp_path)
    changed = (
        (root / trusted.LIST)
        .read_text()
        .replace('file = "core/laws.py"\nlook = "', 'file = "core/laws.py"\nlook = "New: ')
    )
    (root / trusted.LIST).write_text(changed)
    there = trusted.load(root)
    assert trusted.stale(there, write=False) == ["docs/design/review.md: reading"]
    assert trusted.stale(there, write=True) == ["docs/design/review.md: reading"]
    assert trusted.stale(there, write=False) == []
    assert "| New: " in (root / "docs" / "design" / "review.md").read_text()


def test_an_edit_by_hand_is_noticed(tmp_path: Path) -> None:
    root = copied(tmp_path)
    path = root / "pyproject.toml"
    path.write_text(path.read_text().replace('    "privet.core.laws",\n', "", 1))
    assert trusted.stale(trusted.load(root), write=False) == ["pyproject.toml: import rule"]


def test_marks_that_are_missing() -> None:
    with pytest.raises(SystemExit, match="are missing"):
        trusted.updated("text", "block", ("begin", "end"))
    assert trusted.updated("a begin x end b", "new", ("begin", "end")) == "a begin\nnew\nend b"


def test_as_a_command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert trusted.main(["--check"]) == 0
    assert trusted.main(["--coverage"]) == 0
    files = capsys.readouterr().out.strip().split(",")
    assert {"src/privet/engine.py", "src/privet/noise/fast.py"} <= set(files)
    assert "src/privet/report/page.py" not in files
    assert all((ROOT / file).is_file() for file in files)
    monkeypatch.setattr(trusted, "load", lambda: replace(LIST, most_lines=10))
    assert trusted.main(["--check"]) == 1
    assert "more than 10" in capsys.readouterr().out
    monkeypatch.setattr(trusted, "load", lambda: replace(LIST, questions=LIST.questions[1:]))
    assert trusted.main(["--check"]) == 1
    assert "docs/design/review.md: questions does not agree with" in capsys.readouterr().out


def test_a_file_that_calls_itself_trusted_is_on_the_list_and_the_other_way_round() -> None:
    """A room says so in its package; what is read says so there or itself."""
    source = ROOT / "src" / "privet"
    said = {file: ast.get_docstring(ast.parse((source / file).read_text())) or "" for file in LIST.files}
    marked = {file for file, words in said.items() if words.startswith("TRUSTED")}
    rooms = {trusted.room_of(file) for file in marked if file.endswith("/__init__.py")}
    listed = {*LIST.trusted(), *map(trusted.room_of, LIST.trusted())}
    assert {file for file in marked if file not in listed and trusted.room_of(file) not in listed} == set()
    assert {file for file in LIST.whole if file not in marked and trusted.room_of(file) not in rooms} == set()


# ---- releases keep to it


@pytest.fixture(scope="module")
def vault(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Vault]:
    with every_release.made_vault(tmp_path_factory.mktemp("traced") / "made.privet") as made:
        yield made


@pytest.mark.parametrize("kind", every_release.KINDS)
def test_every_module_that_a_release_enters_is_read_or_fenced(kind: str, vault: Vault) -> None:
    with every_release.entered() as found:
        every_release.KINDS[kind](vault)
    assert {"privet.vault.vault", "privet.core.accountant"} <= found
    assert ("privet.noise.fast" in found) == (kind != "pricing")
    assert [module for module in sorted(found) if not LIST.known(module)] == []


def test_the_trace_sees_threads_and_compiled_loops(vault: Vault) -> None:
    with every_release.entered() as found:
        every_release.compiled(vault)
    assert {
        "privet.backends.kernel",
        "privet.backends.kernel_loops",
        "privet.ledger.transaction",
        "privet.noise.fast",
    } <= found


def test_a_module_without_a_place_is_found(vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: between the price and the ledger's units there is a module that nobody has listed."""
    planted = types.ModuleType("privet.planted")
    exec("def price(loss, share): return original(loss, share)", planted.__dict__)
    account = sys.modules["privet.ledger.account"]
    planted.__dict__["original"] = account.price
    monkeypatch.setattr(account, "price", planted.price)
    with every_release.entered() as found:
        vault.sql(every_release.SUM, epsilon=1).release(fresh=True)
    assert [module for module in sorted(found) if not LIST.known(module)] == ["privet.planted"]


# ---- mutation


def test_what_is_mutated_comes_from_the_list() -> None:
    mutation = script("mutation")
    assert mutation.chosen(LIST, None, fenced=False) == [one.file for one in LIST.read]
    assert mutation.chosen(LIST, None, fenced=True) == LIST.trusted()
    assert mutation.chosen(LIST, "core/laws.py", fenced=False) == ["core/laws.py"]
    assert mutation.is_read(LIST, "core/laws.py", 1)
    text = (ROOT / "src" / "privet" / "core" / "measures.py").read_text().splitlines()
    assert mutation.is_read(LIST, "core/measures.py", text.index("class Measure:") + 1)
    assert not mutation.is_read(LIST, "core/measures.py", 1)

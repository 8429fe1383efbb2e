"""What Privet writes: never over what was there, nor through a link; reports over reports of Privet alone."""

from __future__ import annotations

import csv
import hashlib
import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from support.refusals import expect_code, raises_code, refused

from privet import cli, output
from privet.anonymize import builders
from privet.anonymize.hierarchy_file import write_hierarchy
from privet.anonymize.key_file import Key
from privet.errors import InvalidInputError
from privet.records import microdata

PEOPLE = "id,age,sex,sick\n" + "".join(f"p{at},{20 + at % 7},{'fm'[at % 2]},{'ny'[at % 3 == 0]}\n" for at in range(60))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "people.csv").write_text(PEOPLE)
    (tmp_path / "hashed.csv").write_text("id\n" + "a" * 32 + "\n")
    assert cli.main(["init", "v.privet", "--epsilon", "9"]) == 0
    assert cli.main(["describe", "people.csv", "--out", "people.toml"]) == 0
    assert cli.main(["add", "v.privet", "people.csv", "--columns", "people.toml"]) == 0
    capsys.readouterr()
    return tmp_path


COUNT = "SELECT COUNT(*) AS n FROM people"
COMMANDS = {
    "anonymize": (["anonymize", "people.csv", "--quasi", "age,sex", "--drop", "id", "--out"], "o.csv"),
    "pseudonymize": (["pseudonymize", "people.csv", "--columns", "id", "--key", "k", "--out"], "o.csv"),
    "describe": (["describe", "people.csv", "--out"], "o.toml"),
    "dummy": (["dummy", "v.privet", "people", "--out"], "o.csv"),
    "csv": (["query", "v.privet", COUNT, "--epsilon", "1", "--csv"], "o.csv"),
    "chart": (["query", "v.privet", COUNT + " GROUP BY sex", "--epsilon", "1", "--chart"], "o.svg"),
    "matches": (["attack", "linkage", "people.csv", "people.csv", "--on", "age,sex", "--matches"], "o.csv"),
    "ids": (["attack", "pseudonyms", "hashed.csv", "--column", "id", "--format", "9", "--ids"], "o.csv"),
    "attack": (["attack", "regimes", "--people", "20", "--statistics", "20", "--epsilon", "1", "--out"], "o.html"),
    "compare": (["compare", "people.csv", "--quasi", "age,sex", "--sensitive", "sick", "--out"], "o.html"),
    "audit": (["audit", "function", "none.py:f", "--epsilon", "1", "--out"], "o.html"),
    "demo": (["demo", "--out"], "o.svg"),
    "meaning": (["meaning", "--epsilon", "1", "--out"], "o.svg"),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_no_command_writes_over_a_file_or_through_a_link(
    name: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Refused before the work: what would take long, or cost something, is never begun."""
    words, place = COMMANDS[name]
    target = folder / place
    for make in (
        lambda: target.write_text("mine"),
        lambda: target.symlink_to(folder / "people.csv"),
        lambda: target.hardlink_to(folder / "people.csv"),
        lambda: target.symlink_to(folder / "nowhere"),
    ):
        make()
        before = target.read_text() if target.exists() else None
        error = refused([*words, place], capsys)
        expect_code("file-exists|would-overwrite", error)
        assert error.problem.startswith((place, "--out"))
        assert (target.read_text() if target.exists() else None) == before
        assert not (folder / "nowhere").exists()
        target.unlink()
    assert (folder / "people.csv").read_text() == PEOPLE


@pytest.mark.parametrize("name", ["attack", "meaning"])
def test_a_report_replaces_a_report(name: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words, place = COMMANDS[name]
    for _ in range(2):
        assert cli.main([*words, place]) == 0
    (folder / "link").with_suffix(Path(place).suffix).symlink_to(folder / place)
    expect_code("file-exists: link … --out", refused([*words, f"link{Path(place).suffix}"], capsys))


def _records(path: Path) -> None:
    microdata.write(microdata.Microdata({"a": microdata.column("a", ["x"])}, 1), path)


def _hierarchy(path: Path) -> None:
    write_hierarchy(builders.suggest(microdata.column("a", ["x", "y"])), path)


@pytest.mark.parametrize("write", [_records, _hierarchy])
def test_the_python_functions_write_new_files_only(write: Callable[[Path], None], tmp_path: Path) -> None:
    data, link, dangling = tmp_path / "data.csv", tmp_path / "link.csv", tmp_path / "dangling.csv"
    data.write_text("mine")
    link.symlink_to(data)
    dangling.symlink_to(tmp_path / "nowhere.csv")
    for path in (data, link, dangling):
        with raises_code(InvalidInputError, "file-exists"):
            write(path)
    assert data.read_text() == "mine"
    assert sorted(tmp_path.iterdir()) == sorted([data, link, dangling])


def test_what_another_put_there_meanwhile_stays(tmp_path: Path) -> None:
    """As in a race: the name was free when the work began."""

    def write(path: Path) -> None:
        with output.new_output(path) as part:
            part.write_text("late")
            path.write_text("first")

    for path in (tmp_path / "a.csv", tmp_path / "a.html"):
        with raises_code(InvalidInputError, "file-exists: exists"):
            write(path)
        assert path.read_text() == "first"
    assert len(list(tmp_path.iterdir())) == 2


def test_of_many_that_write_one_name_one_wins(tmp_path: Path) -> None:
    path, start, won = tmp_path / "a.csv", threading.Barrier(8), []

    def work(text: str) -> None:
        start.wait()
        try:
            output.write_text(path, text)
        except InvalidInputError:
            return
        won.append(text)

    threads = [threading.Thread(target=work, args=(f"text {at}",)) for at in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert won == [path.read_text()]
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_that_cannot_be_read_is_not_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.html"
    output.write_text(path, output.MARKS[".html"])
    output.check_free(path)

    def closed(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(Path, "open", closed)
    with raises_code(InvalidInputError, "file-exists: written"):
        output.check_free(path)


def test_a_key_file_is_written_by_one_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "clinic.key"
    first = Key.new()
    first.write(place)
    with raises_code(InvalidInputError, "would-overwrite"):
        Key.new().write(place)  # as of two that found no key at the same time
    (tmp_path / ".clinic.key.new").write_text("")
    with raises_code(InvalidInputError, "file-busy"):
        first.rotated().write(place)
    (tmp_path / ".clinic.key.new").unlink()
    link = tmp_path / "link.key"
    link.symlink_to(place)
    with raises_code(InvalidInputError, "not-supported"):
        first.rotated().write(link)

    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with raises_code(InvalidInputError, "cannot-write"):
            first.rotated().write(place)
    assert Key.read(place) == first
    assert sorted(tmp_path.iterdir()) == [place, link]


@pytest.mark.parametrize(
    "text", ["=1+1", "+1-2", "-a", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "＝1", "-1e", "+", "-1-1", "=cmd|' /C x'!A0"]
)
def test_formulas_get_an_apostrophe(text: str) -> None:
    assert output.spreadsheet_safe(text) == f"'{text}"


@pytest.mark.parametrize(
    "text", ["", "a", "a=1", "1", "-1", "+1", "-1.5", "-1,5", "-.5", "+1.", "-1e-5", "+2E10", "'=1", " "]
)
def test_numbers_and_other_texts_stay(text: str) -> None:
    assert output.spreadsheet_safe(text) == text


HOSTILE = "id,age,sex,=who\n" + "".join(f"=p{at},{-1 - at % 2},+f,@x\n" for at in range(40))
WITH_TEXTS = {
    "anonymize": ["anonymize", "hostile.csv", "--quasi", "age", "--drop", "id", "--out", "o.csv"],
    "pseudonymize": ["pseudonymize", "hostile.csv", "--columns", "id", "--key", "k", "--out", "o.csv"],
    "dummy": ["dummy", "h.privet", "hostile", "--out", "o.csv"],
    "query": [
        "query",
        "h.privet",
        "SELECT sex, COUNT(*) AS n FROM hostile GROUP BY sex",
        "--epsilon",
        "1",
        "--csv",
        "o.csv",
    ],
    "ids": ["attack", "pseudonyms", "ids.csv", "--column", "id", "--format", "=9", "--hash", "md5", "--ids", "o.csv"],
}


@pytest.fixture
def hostile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "hostile.csv").write_text(HOSTILE)
    hashes = [hashlib.md5(f"={at}".encode()).hexdigest() for at in range(10)]
    (tmp_path / "ids.csv").write_text("id\n" + "".join(f"{one}\n" for one in hashes))
    assert cli.main(["init", "h.privet", "--epsilon", "9"]) == 0
    assert cli.main(["describe", "hostile.csv", "--out", "hostile.toml"]) == 0
    assert cli.main(["add", "h.privet", "hostile.csv", "--columns", "hostile.toml", "--unit", "id"]) == 0
    return tmp_path


@pytest.mark.parametrize("name", WITH_TEXTS)
def test_every_csv_can_be_made_safe(name: str, hostile: Path) -> None:
    def cells() -> list[str]:
        with (hostile / "o.csv").open(newline="") as file:
            found = [cell for row in csv.reader(file) for cell in row]
        (hostile / "o.csv").unlink()
        return found

    code = 1 if name == "ids" else 0  # an attack that finds the ids
    assert cli.main(WITH_TEXTS[name]) == code
    plain = cells()
    assert any(cell[:1] in "=+@" for cell in plain if cell)
    assert cli.main([*WITH_TEXTS[name], "--spreadsheet-safe"]) == code
    safe = cells()
    assert not [cell for cell in safe if cell[:1] in ("=", "+", "@")]
    if name == "anonymize":
        assert safe == [output.spreadsheet_safe(cell) for cell in plain]


def test_a_mapping_can_be_made_safe(hostile: Path) -> None:
    words = ["pseudonymize", "hostile.csv", "--columns", "id==kind", "--key", "k", "--spreadsheet-safe"]
    assert cli.main([*words, "--out", "1.csv"]) == 0
    assert cli.main([*words, "--out", "2.csv", "--rotate", "--mapping", "m.csv"]) == 0
    with (hostile / "m.csv").open(newline="") as file:
        kinds = {row[0] for row in csv.reader(file)}
    assert kinds == {"kind", "'=kind"}


def test_two_columns_that_become_one_name_are_both_written(tmp_path: Path) -> None:
    columns = {name: microdata.column(name, [text]) for name, text in (("=a", "x"), ("'=a", "y"))}
    microdata.write(microdata.Microdata(columns, 1), tmp_path / "a.csv", spreadsheet_safe=True)
    assert (tmp_path / "a.csv").read_text() == "'=a,'=a\nx,y\n"

"""Keyed pseudonyms: the same over tables, never two ids with one, and a key that stays in its file."""

from __future__ import annotations

import hashlib
import hmac
import itertools
import json
import os
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.refusals import expect_code, raises_code, refused

from privet import cli
from privet.anonymize import pseudonyms
from privet.anonymize.direct import by_name, by_values
from privet.anonymize.key_file import Key, warnings_about
from privet.anonymize.pseudonyms import PseudonymKind, mapping, pseudonym, pseudonymize
from privet.attacks.pseudonyms.reversal import attack_pseudonyms
from privet.errors import InvalidInputError
from privet.records import microdata
from privet.records.microdata import Microdata

KEY = Key({1: b"k" * 32, 2: b"l" * 32})


def table(**columns: list[str | None]) -> Microdata:
    size = len(next(iter(columns.values())))
    return Microdata({name: microdata.column(name, texts) for name, texts in columns.items()}, size)


PATIENTS = table(
    patient_id=["7", "8", None, "9"], name=["Ada Lo", "Bo Hu", "Cy Ra", "Di Wu"], doctor=["7", "8", "7", "8"]
)
VISITS = table(visit=["1", "2", "3"], patient=["9", "7", "7"])


def listed(data: Microdata, name: str) -> list[str | None]:
    return list(data[name].listed())


# What a pseudonym is


def test_a_pseudonym_is_hmac_of_kind_and_id() -> None:
    made = pseudonymize({"patients": PATIENTS}, {"patient_id": "patient"}, KEY, version=1)
    expected = hmac.new(b"k" * 32, b"\0\0\0\7patient7", hashlib.sha256).hexdigest()[:32]
    assert listed(made.tables["patients"], "patient_id")[0] == expected
    assert made.version == 1


def test_the_same_id_of_a_kind_is_the_same_everywhere_and_other_kinds_are_not() -> None:
    columns = {"patient_id": "patient", "patient": "patient", "doctor": "doctor"}
    made = pseudonymize({"patients": PATIENTS, "visits": VISITS}, columns, KEY)
    people, visits = made.tables["patients"], made.tables["visits"]
    seven, _, missing, nine = listed(people, "patient_id")
    assert listed(visits, "patient") == [nine, seven, seven]
    assert missing is None
    assert listed(people, "doctor")[0] != seven
    assert listed(visits, "visit") == ["1", "2", "3"]
    assert [(kind.name, kind.ids) for kind in made.kinds] == [("patient", 3), ("doctor", 2)]
    assert made.version == 2


@settings(max_examples=100)
@given(
    st.lists(st.one_of(st.none(), st.text(max_size=8)), min_size=1, max_size=40),
    st.integers(min_value=4, max_value=8),
)
def test_one_to_one(ids: list[str | None], length: int) -> None:
    made = pseudonymize({"t": table(id=ids)}, {"id": "id"}, KEY, length=length, lengthen=True)
    pairs = set(zip(ids, listed(made.tables["t"], "id"), strict=True))
    assert len(pairs) == len({one for one, _ in pairs}) == len({other for _, other in pairs})
    assert all((one is None) == (other is None) for one, other in pairs)


@given(st.tuples(st.text(max_size=4), st.text(max_size=4)), st.tuples(st.text(max_size=4), st.text(max_size=4)))
def test_no_two_pairs_of_kind_and_id_are_one_message(one: tuple[str, str], other: tuple[str, str]) -> None:
    assert (pseudonym(*one, b"k") == pseudonym(*other, b"k")) == (one == other)


def test_ids_are_made_normal_only_on_request() -> None:
    data = table(id=["A1", " a1", "a1 "])
    assert len(set(listed(pseudonymize({"t": data}, {"id": "id"}, KEY).tables["t"], "id"))) == 3
    trimmed = pseudonymize({"t": data}, {"id": "id"}, KEY, normal=["trim"])
    assert len(set(listed(trimmed.tables["t"], "id"))) == 2
    both = pseudonymize({"t": data}, {"id": "id"}, KEY, normal=["trim", "case"])
    assert set(listed(both.tables["t"], "id")) == {pseudonym("a1", "id", b"l" * 32)[:32]}


def test_the_order_of_ids_is_gone_and_unused_texts_are_too() -> None:
    column = microdata.RecordColumn(
        "id", microdata.narrow(microdata.column("x", ["0", "2"]).codes * 2, 3), ("a", "b", "c")
    )
    made = pseudonymize({"t": Microdata({"id": column}, 2)}, {"id": "id"}, KEY)
    texts = made.tables["t"]["id"].texts
    assert texts == tuple(sorted(pseudonym(one, "id", b"l" * 32)[:32] for one in "ac"))


def test_collisions_fail_or_lengthen() -> None:
    ids: list[str | None] = [str(one) for one in range(2000)]
    with raises_code(InvalidInputError, "too-small: taken"):
        pseudonymize({"t": table(id=ids)}, {"id": "id"}, KEY, length=4)
    made = pseudonymize({"t": table(id=ids)}, {"id": "id"}, KEY, length=4, lengthen=True)
    (kind,) = made.kinds
    assert kind.length > 4
    assert len(set(listed(made.tables["t"], "id"))) == 2000
    full = [pseudonym(str(one), "id", b"l" * 32) for one in range(2000)]
    assert len({text[: kind.length - 1] for text in full}) < 2000  # no shorter one would do


def test_the_birthday_bound_holds_by_enumeration() -> None:
    """All functions from 3 ids to 16 pseudonyms: one letter."""
    worlds = list(itertools.product(range(16), repeat=3))
    share = Fraction(sum(len(set(world)) < 3 for world in worlds), len(worlds))
    assert share <= PseudonymKind(name="", columns=(), ids=3, length=1).chance == Fraction(3, 16)
    assert PseudonymKind(name="", columns=(), ids=100, length=1).chance == 1


def test_nobody_reverses_them_without_the_key() -> None:
    data = table(id=[f"{one:03}" for one in range(50)])
    made = listed(pseudonymize({"t": data}, {"id": "id"}, KEY).tables["t"], "id")
    assert attack_pseudonyms(made, formats="999").verdict == "not reversed"


def test_rotation_and_who_can_follow_it() -> None:
    old = pseudonymize({"t": VISITS}, {"patient": "p"}, KEY, version=1)
    new = pseudonymize({"t": VISITS}, {"patient": "p"}, KEY)
    pairs = mapping({"t": VISITS}, {"patient": "p"}, KEY, 1)
    before, after = listed(old.tables["t"], "patient"), listed(new.tables["t"], "patient")
    assert {(one, other) for _, one, other in pairs} == set(zip(before, after, strict=True))
    assert not set(before) & set(after)
    with raises_code(InvalidInputError, "unknown-entry: version 3"):
        pseudonymize({"t": VISITS}, {"patient": "p"}, KEY, version=3)


@pytest.mark.parametrize(
    ("columns", "options"),
    [({"x": "x"}, {}), ({}, {}), ({"visit": "v"}, {"drop": ["visit"]}), ({"visit": "v"}, {"drop": ["y"]}),
     ({"visit": "v"}, {"length": 3}), ({"visit": "v"}, {"length": 65}), ({"visit": "v"}, {"normal": ["upper"]})],
)  # fmt: skip
def test_wrong_input(columns: dict[str, str], options: dict[str, object]) -> None:
    with pytest.raises(InvalidInputError):
        pseudonymize({"t": VISITS}, columns, KEY, **options)  # type: ignore[arg-type]


# Direct identifiers


@pytest.mark.parametrize(
    ("texts", "like"),
    [(["ada@x.org", "b.c@d.example"], "e-mail addresses"), (["+49 30 1234567", "030 / 7654321"], "phone numbers"),
     (["(212) 555-0100", "212-555-0199"], "phone numbers"), (["078-05-1120", "219-09-9999"], "social security numbers"),
     (["10.0.0.1", "192.168.1.77"], "internet addresses"), (["Heart Disease", "Viral Infection"], None),
     ([f"Ada {chr(65 + a)}{chr(97 + b)}" for a in range(6) for b in range(6)], "full names"),
     (["2020-01-01", "2021-02-02"], None), (["7", "12"], None), ([], None)],
)  # fmt: skip
def test_values_that_look_like_people(texts: list[str], like: str | None) -> None:
    assert by_values(microdata.column("x", texts)) == like


@pytest.mark.parametrize(
    ("name", "like"),
    [("lastName", "names"), ("e-mail", "e-mail addresses"), ("Phone_No", "phone numbers"), ("ward", None),
     ("file_name", None), ("first name", "names"), ("ssn", "social security numbers")],
)  # fmt: skip
def test_names_of_columns_that_look_like_people(name: str, like: str | None) -> None:
    assert by_name(name) == like


def test_hints_name_what_is_left() -> None:
    data = table(id=["1", "2"], mail=["ada@x.org", "bo@x.org"], surname=["Lo", "Hu"])
    made = pseudonymize({"t": data}, {"id": "id"}, KEY)
    assert [hint.column for hint in made.hints] == ["t.mail", "t.surname"]
    assert "t.mail looks like e-mail addresses" in str(made)
    assert pseudonymize({"t": data}, {"id": "id"}, KEY, drop=["mail", "surname"]).hints == ()


# The key file


def test_a_key_file_is_for_its_owner_and_never_shown(tmp_path: Path) -> None:
    key = Key.new()
    path = tmp_path / "a.key"
    key.write(path)
    again = Key.read(path)
    assert again == key
    assert key.versions[1].hex() not in repr(key)
    assert len(key.versions[1]) == 32
    if os.name == "posix":
        assert path.stat().st_mode & 0o777 == 0o600
        assert warnings_about(path, tmp_path / "elsewhere") == []
        path.chmod(0o644)
        assert "others on this machine" in warnings_about(path, tmp_path / "elsewhere")[0]
    assert "beside the output" in warnings_about(path, tmp_path)[0]
    turned = key.rotated()
    assert turned.latest == 2
    assert turned.versions[1] == key.versions[1] != turned.versions[2]


@pytest.mark.parametrize(
    "text",
    ["nonsense", "format = 1", "keys = 3", "[[keys]]\nversion = 1\nkey = 'zz'", "[[keys]]\nversion = 1\nkey = 'aabb'",
     "keys = []",
     "[[keys]]\nversion = 1\nkey = '" + "ab" * 32 + "'\n" + "[[keys]]\nversion = 1\nkey = '" + "cd" * 32 + "'"],
)  # fmt: skip
def test_a_file_that_is_no_key_file(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.key").write_text(text)
    with raises_code(InvalidInputError, "wrong-format") as refused:
        Key.read(tmp_path / "a.key")
    assert "ab" * 32 not in str(refused.value)


def test_a_key_file_that_cannot_be_read_or_written(tmp_path: Path) -> None:
    with raises_code(InvalidInputError, "unreadable-file"):
        Key.read(tmp_path / "none.key")
    with raises_code(InvalidInputError, "cannot-write"):
        Key.new().write(tmp_path / "none" / "a.key")


# On the command line


@pytest.fixture
def files(tmp_path: Path) -> Path:
    microdata.write(PATIENTS, tmp_path / "patients.csv")
    microdata.write(VISITS, tmp_path / "visits.parquet")
    (tmp_path / "keys").mkdir()
    return tmp_path


def command(files: Path, *more: str, out: str = "out") -> list[str]:
    words = ["pseudonymize", str(files / "patients.csv"), str(files / "visits.parquet"), "--out", str(files / out)]
    return [*words, "--key", str(files / "keys" / "a.key"), *more]


def run(files: Path, *more: str, out: str = "out") -> int:
    return cli.main(command(files, *more, out=out))


def test_command(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    columns = ("--columns", "patient_id=p,patient=p")
    assert run(files, *columns, "--drop", "name") == 0
    told = capsys.readouterr()
    assert ", new: back it up" in told.out
    assert told.err == ""
    people, visits = microdata.read(files / "out" / "patients.csv"), microdata.read(files / "out" / "visits.parquet")
    assert list(people.columns) == ["patient_id", "doctor"]
    assert listed(visits, "patient")[0] == listed(people, "patient_id")[3]
    assert run(files, *columns, "--json", out="again") == 0
    told = capsys.readouterr()
    result = json.loads(told.out)["result"]
    assert (result["key_version"], result["key_made"]) == (1, False)
    assert result["hints"][0]["column"] == "patients.name"
    assert Key.read(files / "keys" / "a.key").versions[1].hex() not in told.out + told.err
    assert listed(microdata.read(files / "again" / "patients.csv"), "patient_id") == listed(people, "patient_id")


def test_command_rotates(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    columns = ("--columns", "patient_id=p,patient=p")
    assert run(files, *columns, "--length", "8") == 0
    assert (
        run(files, *columns, "--rotate", "--length", "8", "--mapping", str(files / "keys" / "map.csv"), out="two") == 0
    )
    pairs = microdata.read(files / "keys" / "map.csv")
    before = listed(microdata.read(files / "out" / "patients.csv"), "patient_id")
    after = listed(microdata.read(files / "two" / "patients.csv"), "patient_id")
    follow = dict(zip(listed(pairs, "old"), listed(pairs, "new"), strict=True))
    assert [one if one is None else follow[one] for one in before] == after
    if os.name == "posix":
        assert (files / "keys" / "map.csv").stat().st_mode & 0o777 == 0o600
    capsys.readouterr()


def test_command_with_one_file(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["pseudonymize", str(files / "patients.csv"), "--columns", "patient_id", "--trim", "--fold"]
    assert cli.main([*words, "--key", str(files / "a.key"), "--out", str(files / "shipped.csv")]) == 0
    assert "beside the output" in capsys.readouterr().err
    excel = files / "book.xlsx"
    import openpyxl  # noqa: PLC0415

    book = openpyxl.Workbook()
    for row in (("id", "x"), ("1", "a"), ("2", "b")):
        book.active.append(row)
    book.save(excel)
    words = ["pseudonymize", str(excel), "--columns", "id", "--key", str(files / "keys" / "b.key")]
    assert cli.main([*words, "--out", str(files / "o")]) == 0
    assert (files / "o" / "book.csv").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--columns", "nope"], "unknown-column: 'nope'"),
        (["--columns", "=x"], "syntax-error: '=x'"),
        (["--columns", "visit,visit"], "syntax-error: 'visit'"),
        (["--columns", "visit", "--rotate"], "missing-file: a.key"),
        (["--columns", "visit", "--mapping", "m.csv"], "unneeded-option: --mapping … --rotate"),
        (["--columns", "visit", "--length", "2"], "out-of-range: 2 letters"),
    ],
)
def test_command_refuses(files: Path, capsys: pytest.CaptureFixture[str], words: list[str], said: str) -> None:
    expect_code(said, refused(command(files, *words), capsys))
    assert not (files / "out").exists()
    assert not (files / "keys" / "a.key").exists()


def test_command_overwrites_nothing(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    expect_code("file-exists: patients.csv", refused(command(files, "--columns", "visit", out=""), capsys))
    twice = ["pseudonymize", str(files / "patients.csv"), str(files / "patients.csv"), "--columns", "name"]
    assert cli.main([*twice, "--key", "k", "--out", "o"]) == 2
    assert run(files, "--columns", "visit", out="one.csv") == 2
    (files / "taken").write_text("")
    assert run(files, "--columns", "visit", out="taken") == 2
    mapping_place = str(files / "nowhere" / "m.csv")
    assert run(files, "--columns", "visit") == 0
    capsys.readouterr()
    rotated = command(files, "--columns", "visit", "--rotate", "--mapping", mapping_place, out="three")
    expect_code("cannot-write: nowhere", refused(rotated, capsys))


def test_a_sign_of_life() -> None:
    heard: list[tuple[str, int, int]] = []
    pseudonyms.pseudonymize({"t": VISITS}, {"patient": "p"}, KEY, progress=lambda *said: heard.append(said))
    assert heard == [("hashing p", 0, 2)]


def test_an_attack_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ids = [f"{one:04}" for one in range(0, 9999, 100)]
    plain = table(id=[hashlib.md5(one.encode()).hexdigest() for one in ids])
    microdata.write(plain, tmp_path / "t.csv")
    words = ["attack", "pseudonyms", str(tmp_path / "t.csv"), "--column", "id"]
    found = str(tmp_path / "ids.csv")
    assert cli.main([*words, "--format", "9999", "--ids", found, "--json", "--out", str(tmp_path / "r.html")]) == 1
    told = capsys.readouterr()
    assert "this takes at most" in told.err
    assert json.loads(told.out)["result"]["reversed"] == len(ids)
    assert sorted(listed(microdata.read(found), "id")) == ids
    assert cli.main([*words, "--ids", found]) == 2
    (tmp_path / "k").write_text("6b\n")
    assert cli.main([*words, "--format", "9", "--hmac-key", str(tmp_path / "k")]) == 0
    (tmp_path / "k").write_text("no key")
    assert cli.main([*words, "--format", "9", "--hmac-key", str(tmp_path / "k")]) == 2
    assert cli.main([*words, "--secret-bits", "256"]) == 0
    assert "not reversible" in capsys.readouterr().out


def test_two_ids_with_one_hash_would_be_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pseudonyms, "pseudonym", lambda *_: "0" * 64)
    with pytest.raises(AssertionError, match="two ids"):
        pseudonymize({"t": VISITS}, {"patient": "p"}, KEY, lengthen=True)


# Nothing is lost


def test_a_key_file_never_loses_a_version(tmp_path: Path) -> None:
    """Two who start at the same time both make a first key: the second one must not take its place."""
    path = tmp_path / "k"
    first = Key.new()
    first.write(path)
    with raises_code(InvalidInputError, "would-overwrite"):
        Key.new().write(path)
    first.rotated().write(path)
    with raises_code(InvalidInputError, "would-overwrite"):
        first.rotated().write(path)
    assert Key.read(path).latest == 2
    (tmp_path / "data.csv").write_text("a\n1\n")
    with raises_code(InvalidInputError, "wrong-format"):
        Key.new().write(tmp_path / "data.csv")
    assert (tmp_path / "data.csv").read_text() == "a\n1\n"


def test_an_id_of_spaces_is_missing_where_spaces_mean_nothing() -> None:
    data = table(id=["7", " 7 ", "  ", None])
    first, second, blank, missing = listed(
        pseudonymize({"t": data}, {"id": "id"}, KEY, normal=["trim"]).tables["t"], "id"
    )
    assert first == second is not None
    assert blank is missing is None
    kept = listed(pseudonymize({"t": data}, {"id": "id"}, KEY).tables["t"], "id")
    assert kept[2] is not None


@pytest.mark.parametrize(
    "names",
    [["--key", "out.csv"], ["--key", "k", "--rotate", "--mapping", "k"],
     ["--key", "k", "--rotate", "--mapping", "out.csv"]],
)  # fmt: skip
def test_no_file_is_written_over_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], names: list[str]
) -> None:
    """The key would be gone, and with it whose the pseudonyms are."""
    monkeypatch.chdir(tmp_path)
    microdata.write(PATIENTS, tmp_path / "p.csv")
    if "--rotate" in names:
        KEY.write("k")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    refused(["pseudonymize", "p.csv", "--columns", "patient_id", "--out", "out.csv", *names], capsys)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_all_tables_are_written_or_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    microdata.write(PATIENTS, tmp_path / "p.csv")
    microdata.write(VISITS, tmp_path / "v.csv")
    files = [str(tmp_path / "p.csv"), str(tmp_path / "v.csv")]
    words = ["pseudonymize", *files, "--columns", "patient_id=p, patient=p", "--drop", "name, visit"]
    words += ["--key", str(tmp_path / "k"), "--out", str(tmp_path / "out")]
    write, written = microdata.write, []

    def full(data: Microdata, path: Path, **options: Any) -> None:
        write(data, path, **options)
        written.append(path)
        if len(written) == 2:
            raise OSError(28, "No space left on device", str(path))

    monkeypatch.setattr(microdata, "write", full)
    expect_code("cannot-write: No space left", refused(words, capsys))
    assert list((tmp_path / "out").iterdir()) == []
    assert Key.read(tmp_path / "k").latest == 1  # kept: it harms nobody
    monkeypatch.undo()
    assert cli.main(words) == 0
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["p.csv", "v.csv"]
    assert "visit" not in (tmp_path / "out" / "v.csv").read_text()


def test_a_mapping_beside_the_output_is_warned_of(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    microdata.write(PATIENTS, tmp_path / "p.csv")
    KEY.write(tmp_path / "k")
    words = [
        "pseudonymize",
        str(tmp_path / "p.csv"),
        "--columns",
        "patient_id",
        "--key",
        str(tmp_path / "k"),
        "--rotate",
    ]
    mapped = tmp_path / "out" / "m.csv"
    assert cli.main([*words, "--out", str(tmp_path / "out"), "--mapping", str(mapped)]) == 0
    assert "links the old pseudonyms to the new ones" in capsys.readouterr().err
    assert mapped.stat().st_mode & 0o777 == 0o600

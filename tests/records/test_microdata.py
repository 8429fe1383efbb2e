"""Reading and writing records: the quick way and the engine's must give the same, and what is written is read back."""

from __future__ import annotations

import gzip
import random
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest
from support.refusals import raises_code

from privet.errors import InvalidInputError
from privet.records import microdata, plain_csv
from privet.records.microdata import Microdata, RecordColumn, column, narrow, read, write


def texts(data: Microdata) -> dict[str, list[str | None]]:
    return {one.name: one.listed().tolist() for one in data}


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Reads through the engine only."""

    def reading(path: Path, **options: Any) -> Microdata:
        with monkeypatch.context() as patch:
            patch.setattr(microdata, "_read_plain", lambda *_: None)
            return read(path, **options)

    return reading


@cache
def engine() -> duckdb.DuckDBPyConnection:
    return duckdb.connect()


def quick(path: Path, **options: Any) -> Microdata | None:
    return microdata._read_plain(engine(), path, options.pop("columns", None), options)


def random_file(seed: int) -> bytes:
    """Lines of fields, with spaces, empty ones, other letters, empty lines at the end, and any line end."""
    chance = random.Random(seed)
    width, end = chance.randint(1, 4), chance.choice([b"\n", b"\r\n"])
    mark = chance.choice([",", ";", "\t", "|"])
    pool = [
        "",
        " ",
        "a",
        "b ",
        " c",
        "ü",
        "日本語",
        "12345678",
        "123456789",
        "x" * chance.choice([16, 17, 64, 65]),
        "NA",
    ]
    lines = [mark.join(f"name{number}" for number in range(width))]
    lines += [mark.join(chance.choice(pool) for _ in range(width)) for _ in range(chance.randint(0, 60))]
    body = end.join(line.encode() for line in lines) + chance.choice([b"", end, end * 3])
    return chance.choice([b"", b"\xef\xbb\xbf"]) + body


def test_both_ways_read_the_same(tmp_path: Path, slow: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine does not read in blocks of ours: what it reads is compared with both sizes."""
    hits = {64: 0, 4096: 0}
    for seed in range(40):
        path = tmp_path / f"{seed}.csv"
        path.write_bytes(random_file(seed))
        options: dict[str, Any] = {"missing": ("NA",)} if seed % 3 == 0 else {}
        if seed % 4 == 0:
            options["columns"] = ["name0"]
        wanted = slow(path, **options)
        for block in hits:
            monkeypatch.setattr(plain_csv, "BLOCK", block)
            found = quick(path, **options)
            if found is None:
                continue
            hits[block] += 1
            assert len(found) == len(wanted)
            for one in found:
                assert one.listed().tolist() == wanted[one.name].listed().tolist(), (seed, block)
                assert one.texts == wanted[one.name].texts
                assert one.codes.dtype == wanted[one.name].codes.dtype
    assert min(hits.values()) > 15


@pytest.mark.parametrize(
    "body",
    [
        b'a,b\n"1",2\n',  # quoted
        b'a,"b"\n1,2\n',
        b"a,b\n1,2\n\n3,4\n",  # an empty line between
        b"a,b\n1\n2,3\n",  # too short
        b"a,b\n1,2,3,4\n",  # too long, and a whole number of records
        b"a,b\n1,2,3\n4\n",  # as many fields in all as there should be
        b"a,b\n1\n2,3,4\n",
        b"a,b\n1\n2\n",
        b"a,b\n1,2\r3,4\n",  # a line end in the middle
        b"a,b\n1\r5,2\n",
        b"a,b\r1,2\r",
        b"a,b\n1,\0\n",
        b"\na,b\n1,2\n",
        b"a,b",
        b"a,b\n\xff,2\n",  # not UTF-8
        b"a\xff,b\n1,2\n",
        b"a,b\n" + b"x" * 65 + b",1\n",
        "a,b\n1,ü\n".encode("utf-16"),
        b"a,A\n1,2\n",  # the same name twice
    ],
)
def test_what_is_not_plain_is_left_to_the_engine(tmp_path: Path, body: bytes) -> None:
    path = tmp_path / "records.csv"
    path.write_bytes(body)
    assert quick(path) is None


def test_options_that_the_quick_way_does_not_know(tmp_path: Path) -> None:
    path = tmp_path / "records.csv"
    path.write_text("a b\n1 2\n")
    assert quick(path, delimiter=" ") is None
    assert quick(path, skip=1) is None
    assert quick(path, encoding="latin-1") is None
    assert quick(path, encoding="no such") is None
    assert quick(path, kind="parquet") is None
    assert quick(path.with_suffix(".parquet")) is None
    assert texts(read(path, delimiter=" ")) == {"a": ["1"], "b": ["2"]}


def test_a_file_without_names_and_one_that_is_packed(tmp_path: Path) -> None:
    path = tmp_path / "records.csv.gz"
    path.write_bytes(gzip.compress(b"1,x\n2,y\n"))
    assert texts(quick(path)) == {"column1": ["1", "2"], "column2": ["x", "y"]}
    assert texts(read(path)) == texts(quick(path))


def test_a_line_without_an_end_is_not_read_forever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plain_csv, "BLOCK", 16)
    path = tmp_path / "records.csv"
    path.write_bytes(b"a,b\n" + b"x" * 100)
    assert quick(path) is None


def test_more_texts_than_slots_and_too_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "records.csv"
    numbers = [str(number * 7919 % 5000) for number in range(5000)]
    path.write_text("\n".join(["n", *numbers, *numbers]) + "\n")
    monkeypatch.setattr(plain_csv, "SLOTS", 4)
    monkeypatch.setattr(plain_csv, "BLOCK", 2000)
    assert quick(path)["n"].listed().tolist() == [*numbers, *numbers]
    monkeypatch.setattr(plain_csv, "MOST", 4999)
    assert quick(path) is None


def test_two_texts_of_one_hash_are_not_taken_for_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plain_csv, "_hashed", lambda fields: np.zeros(len(fields[0]), dtype=np.uint64))
    path = tmp_path / "records.csv"
    path.write_text("n\n1\n2\n")
    assert quick(path) is None
    assert texts(read(path)) == {"n": ["1", "2"]}


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("mark", [",", ";"])
def test_what_is_written_is_read_back(tmp_path: Path, kind: str, mark: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(microdata, "ROWS", 7)
    monkeypatch.setattr(microdata, "COMBINATIONS", 30)
    monkeypatch.setattr(microdata, "LISTED", 5)
    pool = ["a", "b;c", "d,e", 'f"g', "h\ni", "j\rk", "ü", None, "it's"]
    chance = random.Random(1)
    names = ["plain", "with, comma", 'quo"te', "few"]
    data = {name: [chance.choice(pool if name != "few" else ["a", None]) for _ in range(40)] for name in names}
    made = Microdata({name: column(name, values) for name, values in data.items()}, 40)
    path = tmp_path / f"it's.{kind}"
    write(made, path, delimiter=mark)
    options = {"delimiter": mark} if kind == "csv" else {}
    assert texts(read(path, **options)) == data


def test_one_column_with_missing_values_keeps_its_lines(tmp_path: Path) -> None:
    path = tmp_path / "one.csv"
    write(Microdata({"a": column("a", ["x", None, "y"])}, 3), path)
    assert path.read_text() == 'a\nx\n""\ny\n'


def test_nothing_is_written_where_it_cannot_be(tmp_path: Path) -> None:
    made = Microdata({"a": column("a", ["x"])}, 1)
    for name in ("no/a.csv", "no/a.parquet"):
        with raises_code(InvalidInputError, "cannot-write"):
            write(made, tmp_path / name)
    with raises_code(InvalidInputError, "wrong-ending: CSV"):
        write(made, tmp_path / "a.txt")


def test_frames_and_what_is_wrong_with_a_source(tmp_path: Path) -> None:
    frame = {"a": ["x", None, "y", "x"], "b": [1, 2, 3, 4]}
    data = read(frame)
    assert texts(data) == {"a": ["x", None, "y", "x"], "b": ["1", "2", "3", "4"]}
    assert read(data) is data
    assert list(read(data, columns=["b"]).columns) == ["b"]
    assert list(read(frame, columns=["b"]).columns) == ["b"]
    assert data["a"].texts == ("x", "y", None)
    path = tmp_path / "a.csv"
    path.write_text("a,b\n1,2\n")
    for problem, work in {
        "unknown-column: no column … 'c'": lambda: data["c"],
        "unknown-column: 'c' … not": lambda: read(path, columns=["c"]),
        "missing-file": lambda: read(tmp_path / "none.csv"),
        "unknown-option": lambda: read(path, delimeter=";"),
        "empty: column": lambda: read(path, columns=[]),
        "wrong-ending: test_microdata.py": lambda: read(__file__),
    }.items():
        with raises_code(InvalidInputError, problem):
            work()
    path.with_suffix(".parquet").write_bytes(b"no")
    with raises_code(InvalidInputError, "unreadable-file"):
        read(path.with_suffix(".parquet"))


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ('a,b,c\n1,2,3\n"x,5,6\n7,8,9\n', "unclosed-quote"),
        ("a,b,c\n1,2,3\nSmith, Ann,2,3\n", "wrong-length: 1 record"),
        ("a,b,c\n2,3\n1,2,3\n3\n", "wrong-length: 2 records"),
        ('a,b,c\n"1",2,3\n"1, 2",3\n', "wrong-length: 1 record"),
    ],
)
def test_values_in_other_columns_than_theirs_are_refused(tmp_path: Path, body: str, said: str) -> None:
    """They would be shipped as they are: the whole rest of a file in a name, or an age in a remark."""
    path = tmp_path / "records.csv"
    path.write_text(body)
    with raises_code(InvalidInputError, said):
        read(path, delimiter=",")


def test_a_delimiter_at_the_end_of_lines_does_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "records.csv"
    path.write_text("a,b\n1,2,\n3,4, ,\n")
    assert texts(read(path)) == {"a": ["1", "3"], "b": ["2", "4"]}


def test_columns_that_are_not_read_are_told(tmp_path: Path) -> None:
    path = tmp_path / "records.csv"
    path.write_text(",a,b,B\n0,1,2,3\n")
    for quotes in (False, True):
        if quotes:
            path.write_text(path.read_text().replace("1", '"1"'))
        data = read(path)
        assert (list(data.columns), data.left_out) == (["a"], ("", "b", "B"))
        assert read(path, columns=["a"]).left_out == ()


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_file_is_written_as_a_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    path = tmp_path / f"a.{ending}"
    data = Microdata({"a": column("a", ["x"])}, 1)

    def stop(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", stop)
        with pytest.raises(KeyboardInterrupt):
            write(data, path)
    assert list(tmp_path.iterdir()) == []
    write(data, path)
    assert texts(read(path)) == {"a": ["x"]}
    assert list(tmp_path.iterdir()) == [path]


def test_codes_are_as_small_as_can_be() -> None:
    assert narrow(np.array([0, 255]), 256).dtype == np.uint8
    assert narrow(np.array([0, 256]), 257).dtype == np.uint16
    assert narrow(np.zeros(0, dtype=np.int64), 0).dtype == np.uint8
    assert RecordColumn("a", np.array([0], dtype=np.uint8), ("x",)).listed().tolist() == ["x"]

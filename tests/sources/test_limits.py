"""Files that would keep a machine busy for hours, fill it, or end the process: refused with numbers. Without the checks
some of these tests take minutes, and one aborts."""

from __future__ import annotations

import gzip
import os
import zipfile
from collections.abc import Iterator
from pathlib import Path

import openpyxl
import pytest
from support.refusals import raises_code

import privet as pv
from privet.catalog.declarations import Source, Table
from privet.core.schema import Integer
from privet.errors import InvalidInputError
from privet.records.microdata import read
from privet.sources import limits
from privet.sources.describing import describe
from privet.vault import Vault

COLUMNS = {"x": Integer(0, 9)}


@pytest.fixture
def vault(tmp_path: Path) -> Iterator[Vault]:
    with pv.create(tmp_path / "v.privet", budget=pv.Budget(1)) as made:
        yield made


def refused(vault: Vault, path: Path, code: str) -> None:
    """Everything that a file can be given to says the same."""
    with raises_code(InvalidInputError, code):
        describe(path)
    with raises_code(InvalidInputError, code):
        vault.add_table("t", path, unit=None, columns=COLUMNS)
    with raises_code(InvalidInputError, code):
        read(path)


def packed(path: Path, data: bytes, times: int) -> None:
    """A packed file of the same part again and again, each of which was packed once."""
    path.write_bytes(gzip.compress(b"x\n") + gzip.compress(data) * times)


def test_a_packed_file_that_grows_beyond_all_measure(vault: Vault, tmp_path: Path) -> None:
    packed(tmp_path / "t.csv.gz", b"1\n" * 2**24, 60)  # 2 GB
    refused(vault, tmp_path / "t.csv.gz", "too-large: 't.csv.gz' … 200")


def test_what_grows_as_files_do_is_read(vault: Vault, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "FREE", 1000)
    with gzip.open(tmp_path / "t.csv.gz", "wt") as file:
        file.write("x\n" + "".join(f"{number * number % 10007 % 10}\n" for number in range(10_000)))
    assert vault.add_table("t", tmp_path / "t.csv.gz", unit=None, columns=COLUMNS).version == 1


@pytest.mark.parametrize("ending", [".csv", ".jsonl", ".parquet", ".arrow", ".xlsx", ".db", ".sqlite", ".sav", ".dta"])
def test_a_pipe_is_refused_before_it_is_opened(ending: str, vault: Vault, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / f"t{ending}")
    options = {"table": "t"} if ending in (".db", ".sqlite") else {}
    with raises_code(InvalidInputError, "not-a-file"):
        describe(tmp_path / f"t{ending}", **options)
    with raises_code(InvalidInputError, "not-a-file"):
        vault.add_table("t", tmp_path / f"t{ending}", unit=None, columns=COLUMNS, **options)


def test_a_device_is_no_file() -> None:
    with raises_code(InvalidInputError, "not-a-file"):
        describe("/dev/zero", kind="csv")


def test_a_quote_that_is_never_closed(vault: Vault, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text('id,x\n1,2\n"3,4\n' + "5,6\n" * 390_000)
    with raises_code(InvalidInputError, "unclosed-quote: line 3"):
        describe(tmp_path / "t.csv")
    (tmp_path / "t.csv").write_text('id,x\n1,2\n"3,4\n')
    with raises_code(InvalidInputError, "unclosed-quote: line 3"):
        vault.add_table("t", tmp_path / "t.csv", unit=None, columns=COLUMNS)


def test_many_columns_are_not_drafted_but_some_of_them_can_be_declared(vault: Vault, tmp_path: Path) -> None:
    names = [f"c{number}" for number in range(20_000)]
    (tmp_path / "t.csv").write_text(",".join(names) + "\n" + ("1," * 19_999 + "1\n") * 3)
    with raises_code(InvalidInputError, "too-large: 20,000 … 4,000"):
        describe(tmp_path / "t.csv")
    (tmp_path / "t.csv").write_text(",".join(names[:5000]) + "\n" + ("1," * 4_999 + "1\n") * 3)
    vault.add_table("t", tmp_path / "t.csv", unit=None, columns={"c4999": Integer(0, 9)})


def book(path: Path, far: str) -> None:
    made = openpyxl.Workbook()
    made.active["A1"], made.active["A2"], made.active[far] = "x", 5, "stray"
    made.save(path)


@pytest.mark.parametrize("far", ["XFD1048576", "XFD3000", "AG1048576"])
def test_a_sheet_with_one_far_cell(far: str, vault: Vault, tmp_path: Path) -> None:
    book(tmp_path / "t.xlsx", far)
    refused(vault, tmp_path / "t.xlsx", "too-large: 33,554,432")


@pytest.mark.parametrize("far", ["XFD9", "A100000"])
def test_a_sheet_with_a_cell_less_far(far: str, vault: Vault, tmp_path: Path) -> None:
    book(tmp_path / "t.xlsx", far)
    vault.add_table("t", tmp_path / "t.xlsx", unit=None, columns=COLUMNS)


def binary(path: Path, sheet: bytes) -> Path:
    with zipfile.ZipFile(path, "w") as made:
        made.writestr("xl/worksheets/sheet1.bin", sheet)
    return path


def test_a_binary_sheet_says_how_far_it_reaches(vault: Vault, tmp_path: Path) -> None:
    """Rows and columns are counted from 0."""
    start = b"\x81\x01\x00" + limits.SIZE_RECORD
    far = b"".join(number.to_bytes(4, "little") for number in (0, 2**20 - 1, 0, 32))
    refused(vault, binary(tmp_path / "t.xlsb", start + far), "too-large: 1,048,576 … 33 … 34,603,008")
    less = b"".join(number.to_bytes(4, "little") for number in (0, 2**20 - 1, 0, 31))
    for sheet in (start + less, b"\x81\x01\x00"):
        limits.check_book(binary(tmp_path / "t.xlsb", sheet))  # raises nothing


def test_cells_of_which_only_the_format_is_far_do_no_harm(vault: Vault, tmp_path: Path) -> None:
    made = openpyxl.Workbook()
    made.active["A1"], made.active["A2"] = "x", 5
    made.active["XFD1048576"].font = openpyxl.styles.Font(bold=True)
    made.save(tmp_path / "t.xlsx")
    vault.add_table("t", tmp_path / "t.xlsx", unit=None, columns=COLUMNS)


def bomb(path: Path, pieces: int) -> None:
    """A workbook with so many times 16 MB of nothing beside its sheet."""
    book(path, "A3")
    info = zipfile.ZipInfo("xl/bomb.xml")
    info.compress_type = zipfile.ZIP_DEFLATED
    with zipfile.ZipFile(path, "a") as made, made.open(info, "w") as file:
        for _ in range(pieces):
            file.write(bytes(2**24))


def test_a_workbook_that_unpacks_to_too_much(tmp_path: Path) -> None:
    bomb(tmp_path / "t.xlsx", 17)
    with raises_code(InvalidInputError, "too-large: 't.xlsx'"):
        describe(tmp_path / "t.xlsx")


def test_what_a_workbook_says_of_its_size_need_not_be_so(
    vault: Vault, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "FREE", 2**23)
    bomb(tmp_path / "t.xlsx", 1)
    data, real = (tmp_path / "t.xlsx").read_bytes(), (2**24).to_bytes(4, "little")
    assert data.count(real) == 2
    (tmp_path / "t.xlsx").write_bytes(data.replace(real, (10).to_bytes(4, "little")))
    refused(vault, tmp_path / "t.xlsx", "too-large: 't.xlsx'")


def test_a_broken_workbook_is_said_to_be_one(vault: Vault, tmp_path: Path) -> None:
    book(tmp_path / "t.xlsx", "A3")
    data = bytearray((tmp_path / "t.xlsx").read_bytes())
    data[60:90] = bytes(30)
    (tmp_path / "t.xlsx").write_bytes(data)
    refused(vault, tmp_path / "t.xlsx", "unreadable-file")


def test_a_table_of_a_pipe_is_not_available(vault: Vault, tmp_path: Path) -> None:
    """A file that becomes one later: nothing is opened."""
    os.mkfifo(tmp_path / "t.csv")
    table = Table(name="t", source=Source(kind="csv", path="t.csv"), unit=None, columns=COLUMNS)
    with raises_code(InvalidInputError, "not-a-file"):
        vault._backend.ready(table)

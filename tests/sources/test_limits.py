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


def test_a_packed_file_that_grows_beyond_all_measure(
    vault: Vault, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "FREE", 2**20)
    packed(tmp_path / "t.csv.gz", b"1\n" * 2**20, 40)
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


@pytest.mark.parametrize("name", ["t.zip", "t.TAR", "t.tar.gz", "t.csv.bz2"])
def test_an_archive_is_to_be_unpacked(name: str, vault: Vault, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(b"PK")
    refused(vault, tmp_path / name, f"wrong-ending: {name} … packed")


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


def open_document(path: Path, rows: str) -> Path:
    """A workbook of LibreOffice, with so much as is needed to read it."""
    names = " ".join(f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"' for name in NAMESPACES)
    sheet = f'<table:table table:name="S">{rows}</table:table>'
    body = f"<office:body><office:spreadsheet>{sheet}</office:spreadsheet></office:body>"
    with zipfile.ZipFile(path, "w") as made:
        made.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        made.writestr("META-INF/manifest.xml", '<manifest:manifest xmlns:manifest="m"/>')
        made.writestr("content.xml", f"<office:document-content {names}>{body}</office:document-content>")
    return path


NAMESPACES = ("office", "table", "text")
X = '<table:table-cell office:value-type="string"><text:p>x</text:p></table:table-cell>'
FIVE = '<table:table-cell office:value-type="float" office:value="5"><text:p>5</text:p></table:table-cell>'
ROW = "<table:table-row>{}</table:table-row>"
MANY = '<table:table-row table:number-rows-repeated="{}">{}</table:table-row>'
GAP = "<table:table-cell table:style-name='a>b' table:number-columns-repeated=\"{}\"/>"
HEAD = ROW.format(X) + ROW.format(FIVE)


@pytest.mark.parametrize(
    "rows",
    [
        HEAD + MANY.format(1048573, GAP.format(16384)) + ROW.format(GAP.format(16383) + FIVE),
        HEAD + MANY.format(20000, GAP.format(9)) + ROW.format(GAP.format(3000) + FIVE.replace("><", " ><")),
        HEAD + MANY.format(1048574, GAP.format(32) + FIVE),
        HEAD + MANY.format(1048574, GAP.format(33).replace("style-name='a>b'", "formula='of:=1>0'")),
        HEAD.replace("</table:table-row>", GAP.format(16383) + FIVE + "</table:table-row>") + MANY.format(9000, FIVE),
    ],
)
@pytest.mark.parametrize("block", [7, 1 << 20])
def test_an_open_document_with_a_far_cell(
    rows: str, block: int, vault: Vault, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "BLOCK", block)
    refused(vault, open_document(tmp_path / "t.ods", rows), "too-large: at most 33,554,432")


@pytest.mark.parametrize(
    "rows",
    [
        HEAD + MANY.format(1048574, GAP.format(16384)),  # what LibreOffice writes below each sheet
        ROW.format(X + GAP.format(16383)) + ROW.format(FIVE + GAP.format(16383)) + "<table:table-row/>",
        ROW.format(X) + MANY.format(100_000, FIVE),
        ROW.format(X + GAP.format(3000) + FIVE) + MANY.format(300, FIVE),
    ],
)
def test_an_open_document_with_cells_less_far(rows: str, vault: Vault, tmp_path: Path) -> None:
    vault.add_table("t", open_document(tmp_path / "t.ods", rows), unit=None, columns=COLUMNS)


def test_an_open_document_with_a_tag_without_an_end(
    vault: Vault, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "BLOCK", 100)
    monkeypatch.setattr(limits, "LONGEST_CELL", 5000)
    open_document(tmp_path / "t.ods", HEAD + ROW.format(f'<table:table-cell table:style-name="{"s" * 9000}"/>'))
    refused(vault, tmp_path / "t.ods", "too-large: 5,000")


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

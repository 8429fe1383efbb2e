"""PLINK files, byte by byte."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from support.refusals import raises_code

from privet.errors import InvalidInputError
from privet.records import plink
from privet.records.plink import read_plink

DATA = os.environ.get("PRIVET_DATA")
# Two SNPs of five people, four in a byte, the first in the lowest bits: 00 two copies, 10 one, 11 none, 01 missing.
BED = bytes([0x6C, 0x1B, 0x01, 0b01_11_10_00, 0b00000000, 0b11_11_11_11, 0b00000001])
BIM = "1\trs1\t0\t100\tA\tC\n1\t.\t0\t200\tG\tT\n"
FAM = "f1 anna 0 0 2 1\nf1 bo 0 0 1 1\nf2 cy 0 0 1 2\nf2 dee 0 0 2 2\nf3 ève 0 0 2 1\n\n"


def made(folder: Path, bed: bytes = BED, bim: str | bytes = BIM, fam: str | bytes = FAM) -> Path:
    (folder / "x.bed").write_bytes(bed)
    for ending, text in (("bim", bim), ("fam", fam)):
        (folder / f"x.{ending}").write_bytes(text if isinstance(text, bytes) else text.encode())
    return folder / "x.bed"


def test_a_small_file(tmp_path: Path) -> None:
    path = made(tmp_path)
    for given in (path, str(path.with_suffix("")), path.with_suffix(".fam")):
        data = read_plink(given)
        assert data.counts.tolist() == [[2, 0], [1, 0], [0, 0], [-1, 0], [2, -1]]
        assert data.counts.dtype == np.int8
    assert data.people == ("anna", "bo", "cy", "dee", "ève")
    assert data.snps == ("rs1", "1:200")
    assert data.alleles == (("A", "C"), ("G", "T"))


def test_every_byte_against_the_definition(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All 256 bytes, in blocks of a few SNPs, against a reader that goes bit by bit."""
    people, codes = 4, {(0, 0): 2, (1, 0): -1, (0, 1): 1, (1, 1): 0}  # (low bit, high bit)
    bim = "".join(f"1 s{snp} 0 {snp} A C\n" for snp in range(256))
    path = made(tmp_path, bytes([0x6C, 0x1B, 1, *range(256)]), bim, "".join(f"f p{n} 0 0 0 0\n" for n in range(people)))
    expected = [[codes[snp >> 2 * n & 1, snp >> 2 * n + 1 & 1] for snp in range(256)] for n in range(people)]
    assert read_plink(path).counts.tolist() == expected
    monkeypatch.setattr(plink, "BLOCK", 4 * 7)
    assert read_plink(path).counts.tolist() == expected


def test_the_same_name_in_two_families(tmp_path: Path) -> None:
    fam = FAM.replace("bo", "anna").replace("f1 anna 0 0 1", "f9 anna 0 0 1")
    assert read_plink(made(tmp_path, fam=fam)).people[:2] == ("f1 anna", "f9 anna")


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"bed": b"PK" + BED[2:]}, "wrong-format: PLINK"),
        ({"bed": b"\x6c"}, "wrong-format: PLINK"),
        ({"bed": BED[:2]}, "wrong-format: PLINK"),
        ({"bed": BED[:2] + b"\x07" + BED[3:]}, "wrong-format: PLINK"),
        ({"bed": BED[:2] + b"\x00" + BED[3:]}, "unsupported-format"),
        ({"bed": BED + b"\x00"}, "wrong-length: 8 bytes … 5 people … and 2 … SNPs"),
        ({"bim": BIM + "1 rs3 0 300 A\n"}, "wrong-length: 3 … x.bim … has 5 fields … of 6"),
        ({"fam": b"\xff\xfe\x00"}, "not-utf8: x.fam … UTF … -8"),
        ({"bim": "\n"}, "empty: x.bim"),
        ({"fam": FAM.replace("bo", "anna")}, "duplicate-name: x.fam … 'f1 anna'"),
    ],
)
def test_wrong_files(tmp_path: Path, changed: dict[str, bytes], says: str) -> None:
    path = made(tmp_path, **changed)
    with raises_code(InvalidInputError, says):
        read_plink(path)


def test_more_than_fits(tmp_path: Path) -> None:
    """Refused before the genotypes are read: they may be those of another file."""
    path = made(tmp_path, bed=b"")
    with raises_code(InvalidInputError, "too-large: 5 people … with 2 … SNPs … for 9 genotypes"):
        read_plink(path, most=9)
    assert read_plink(made(tmp_path), most=10).counts.shape == (5, 2)


@pytest.mark.parametrize("gone", [".bed", ".bim", ".fam"])
def test_a_missing_file(tmp_path: Path, gone: str) -> None:
    path = made(tmp_path)
    path.with_suffix(gone).unlink()
    with raises_code(InvalidInputError, f"unreadable-file: x{gone}"):
        read_plink(path)


@pytest.mark.skipif(DATA is None, reason="PRIVET_DATA is not set: no real data here")
def test_real_genotypes() -> None:
    (path,) = (Path(str(DATA)) / "hapmap3").glob("*.bed")
    data = read_plink(path)
    assert data.counts.shape == (957, 14079) == (len(data.people), len(data.snps))
    bits = np.unpackbits(np.fromfile(path, np.uint8)[3:], bitorder="little").reshape(14079, -1, 2)[:, :957]
    low, high = bits[..., 0].astype(bool), bits[..., 1].astype(bool)
    for value, there in ((2, ~low & ~high), (-1, low & ~high), (1, ~low & high), (0, low & high)):
        assert np.array_equal(there, value == data.counts.T)

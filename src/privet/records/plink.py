"""Genotypes in PLINK's binary format: NAME.bed with NAME.bim (a line a SNP) and NAME.fam (a line a person).

    data = read_plink("hapmap.bed")
    data.counts[person, snp]            # copies of the SNP's first allele: 0, 1, 2, or -1 for missing

A .bed file starts with the bytes 6c 1b 01 and then has for each SNP two bits a person, four people in a byte, the first
in the lowest bits: 00 two copies of the first allele of .bim, 10 one, 11 none, 01 missing.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from privet.core.rational import show
from privet.errors import InvalidInputError

MAGIC = b"\x6c\x1b"
SNP_MAJOR, PERSON_MAJOR = 1, 0
COPIES = np.array([2, -1, 1, 0], np.int8)  # by code
BYTES = COPIES[(np.arange(256)[:, None] >> np.array([0, 2, 4, 6])) & 3]  # of each byte, four people
BLOCK = 1 << 24  # cells that are decoded at a time
ENDINGS = (".bed", ".bim", ".fam")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Genotypes:
    """A row a person, a column a SNP. `alleles` are the counted and the other one."""

    counts: npt.NDArray[np.int8]
    people: tuple[str, ...]
    snps: tuple[str, ...]
    alleles: tuple[tuple[str, str], ...]


def read_plink(path: str | os.PathLike[str], *, most: int | None = None) -> Genotypes:
    """`path` is one of the three files, or their name without the ending. More genotypes than `most` are refused before
    they are read."""
    given = Path(path)
    stem = given.with_suffix("") if given.suffix.lower() in ENDINGS else given
    bed, bim, fam = (stem.with_name(stem.name + ending) for ending in ENDINGS)
    markers = _lines(bim, 6, "chromosome, name, distance, position and two alleles")
    persons = _lines(fam, 6, "family, person, father, mother, sex and phenotype")
    if most is not None and len(persons) * len(markers) > most:
        raise InvalidInputError(
            f"{len(persons):,} people with {len(markers):,} SNPs need too much memory: this is for {most:,} genotypes",
            "keep fewer SNPs, for example with plink --thin 0.1 --make-bed; neighboring SNPs repeat each other",
            "too-large",
        )
    return Genotypes(
        counts=_decoded(bed, len(persons), len(markers)),
        people=_people(fam, persons),
        snps=tuple(f"{line[0]}:{line[3]}" if line[1] == "." else line[1] for line in markers),
        alleles=tuple((line[4], line[5]) for line in markers),
    )


def _lines(path: Path, fields: int, what: str) -> list[list[str]]:
    try:
        lines = [line.split() for line in path.read_text(encoding="utf-8-sig").splitlines()]
    except UnicodeDecodeError:
        raise InvalidInputError(
            f"{path.name} is not in UTF-8", f"save it as text with {what} in each line", "not-utf8"
        ) from None
    except OSError as error:
        raise _unreadable(path, error) from None
    while lines and not lines[-1]:
        lines.pop()
    if not lines:
        raise InvalidInputError(f"{path.name} is empty", f"give a file with {what} in each line", "empty")
    for number, line in enumerate(lines, 1):
        if len(line) != fields:
            raise InvalidInputError(
                f"line {number} of {path.name} has {len(line)} fields instead of {fields}",
                f"each line has {what}",
                "wrong-length",
            )
    return lines


def _unreadable(path: Path, error: OSError) -> InvalidInputError:
    return InvalidInputError(
        f"cannot read {path}: {error.strerror}",
        "PLINK data are three files of one name: .bed, .bim and .fam",
        "unreadable-file",
    )


def _people(path: Path, lines: list[list[str]]) -> tuple[str, ...]:
    """The name of the person, with the family before it if another family has somebody of the same name."""
    alone = tuple(line[1] for line in lines)
    names = alone if len(set(alone)) == len(alone) else tuple(f"{line[0]} {line[1]}" for line in lines)
    if len(set(names)) < len(names):
        twice = next(name for place, name in enumerate(names) if name in names[:place])
        raise InvalidInputError(
            f"{path.name} has {show(twice)} twice", "give each person a line of their own", "duplicate-name"
        )
    return names


def _decoded(path: Path, people: int, snps: int) -> npt.NDArray[np.int8]:
    try:
        data = np.fromfile(path, np.uint8)
    except OSError as error:
        raise _unreadable(path, error) from None
    if data[:2].tobytes() != MAGIC or len(data) < 3 or data[2] not in (SNP_MAJOR, PERSON_MAJOR):
        raise InvalidInputError(
            f"{path.name} is not a PLINK .bed file",
            "give a .bed file; it begins with the bytes 6c 1b 01",
            "wrong-format",
        )
    if data[2] == PERSON_MAJOR:
        raise InvalidInputError(
            f"{path.name} is stored by person, an old format of PLINK",
            "convert it with plink --make-bed",
            "unsupported-format",
        )
    width = -(-people // 4)
    if len(data) != 3 + snps * width:
        raise InvalidInputError(
            f"{path.name} has {len(data):,} bytes; {people:,} people and {snps:,} SNPs need {3 + snps * width:,}",
            "give the .bim and .fam files that were written with it",
            "wrong-length",
        )
    rows = data[3:].reshape(snps, width)
    counts = np.empty((people, snps), np.int8)
    each = max(1, BLOCK // (4 * width))
    for first in range(0, snps, each):
        block = BYTES[rows[first : first + each]].reshape(-1, 4 * width)
        counts[:, first : first + each] = block[:, :people].T
    return counts

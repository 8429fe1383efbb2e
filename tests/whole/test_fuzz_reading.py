"""One unit moves answers as far as their price says, whatever held the rows; planted bugs of reading are found."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from typing import Any

import pytest
from support.fuzz_reading import fuzz
from support.hostile_ids import FAMILIES

from privet.sources import delimited, files, frames, relation, rows

CASES = 400
KINDS = ("sensitivity",)
SEEDS = range(2)  # which ones does not matter: nothing may be found. benchmarks/fuzz.py --reading takes new ones


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.proof) for seed in SEEDS[1:])])
def test_no_unit_moves_an_answer_about_files_further_than_its_price_says(seed: int) -> None:
    """800 pairs of neighbors here; benchmarks/fuzz.py --reading tries 50,000."""
    tally = fuzz(seed, CASES)
    assert tally.violations == []
    assert tally.cases >= CASES
    assert tally.also["pairs that differ in nobody's rows"] > tally.also["pairs of databases"] / 10
    assert tally.also["refused"] < tally.also["databases"] / 5
    assert tally.also["not added"] < tally.rounds / 5


# Planted bugs


def caught(*sources: str, about: object, first: int = 0) -> bool:
    """Whether some seed finds a move that is too far; `first` is one that finds it soon. Ids that are like `about` are
    enough: others only take time."""
    families = [family for family in FAMILIES if any(type(one) is type(about) and one == about for one in family)]
    return any(fuzz(seed, 300, KINDS, sources, families).found(KINDS) for seed in (first, *range(8)))


def test_ids_of_all_files_read_as_floats_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine's own union of Parquet files: one file of floats, and everybody's ids are floats."""
    monkeypatch.setattr(files, "_by_type", lambda *_: ([], []))
    monkeypatch.setattr(files, "check_types", lambda *_: None)
    assert caught("parquet", about=2**53 + 1)


@pytest.fixture
def backslashes() -> Iterator[None]:
    """Bytes that an encoding does not know are spelled out by Python, as texts may be."""
    right = codecs.lookup_error("privet.bytes")
    codecs.register_error("privet.bytes", codecs.backslashreplace_errors)
    yield
    codecs.register_error("privet.bytes", right)


@pytest.mark.proof
@pytest.mark.usefixtures("backslashes")
def test_bytes_that_look_like_their_spelling_are_caught() -> None:
    assert caught("csv", about="\\xfc")


def test_halves_that_look_like_their_spelling_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    right = relation.spelled
    for module in (rows, frames):
        monkeypatch.setattr(module, "spelled", lambda value, **_: right(value, unit=False))
    assert caught("dict", about="\ud800", first=2)


def test_ids_in_lower_case_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    right = relation.read

    def lower(table: Any, column: Any, given: Any) -> tuple[str, str]:
        sql, type_ = right(table, column, given)
        return (f"lower({sql})" if column.kind is None and type_ == "VARCHAR" else sql), type_

    for module in (relation, files):
        monkeypatch.setattr(module, "read", lower)
    assert caught(about="A", first=11)


def test_units_that_are_cleaned_as_numbers_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the unit is also declared: "1.234" and "1234" are two people."""
    right = relation.read

    def cleaned(table: Any, column: Any, given: Any) -> tuple[str, str]:
        sql, type_ = right(table, column, given)
        marks = table.source.decimal, table.source.thousands
        return (relation._plain_number(sql, *marks) if column.kind is None else sql), type_

    monkeypatch.setattr(relation, "read", cleaned)
    assert caught("csv", about="1.234", first=3)


def test_a_reader_that_lets_one_row_decide_about_others_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """A short row makes the slow reader read the file, and this one cuts off the first letter of ids."""
    right = rows.insert

    def cut(connection: Any, table: Any, places: Any, given: Any) -> Any:
        unit = places[-1]
        return right(connection, table, places, ([*row[:unit], row[unit][1:], *row[unit + 1 :]] for row in given))

    monkeypatch.setattr(delimited, "insert", cut)
    assert caught("csv", about="A", first=6)

"""Whatever keeps the rows, one person moves an answer as far as its price says; people read as one are found."""

from __future__ import annotations

import pytest
from fuzz_reading import OFTEN, SELDOM, fuzz

from privet.sources import files, relation, rows

CASES = 2_000


def test_no_person_moves_an_answer_further_whatever_keeps_the_rows() -> None:
    tally = fuzz(0, CASES)
    assert tally.violations == []
    assert tally.cases >= CASES
    assert tally.attained == 1
    assert set(tally.by_container) == {container.name for container in [*OFTEN, *SELDOM]}


def violated(container: str) -> bool:
    """Whether a seed finds it, and in this container."""
    found = (fuzz(seed, 1_000, stop=1).violations for seed in range(3))
    return any(text.startswith(container) for texts in found for text in texts)


def test_types_that_are_unified_over_files_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """As it was: `union_by_name` alone."""
    monkeypatch.setattr(files, "_by_type", lambda *_: ([], []))
    assert violated("folder")


def test_bytes_spelled_like_texts_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """As it was: a byte and the text that looks like its spelling are one person."""
    only_halves = rows.spelled
    monkeypatch.setattr(rows, "spelled", lambda text, **_: only_halves(text, unit=False))
    monkeypatch.setattr(relation, "_text", lambda sql, *_: f"nullif(trim({sql}, ' '), '')")
    assert violated("csv")


def test_floats_beyond_their_precision_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "_number_text", lambda value, **_: str(value))
    assert violated("")

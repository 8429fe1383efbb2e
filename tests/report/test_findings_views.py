"""What an attack found, in a terminal, in JSON and in a data frame."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.made_findings import SAMPLES, block, likely, nasty, nobody, thousand

from privet.attacks.finding import Finding, ShownTable, Strength
from privet.report.findings.page import page_of
from privet.report.findings.text import page
from privet.report.page import to_html
from privet.report.terminal import WIDTH, Pen, terminal_width, wrapped


@pytest.mark.parametrize("name", SAMPLES)
def test_the_terminal_page_fits_and_is_safe(name: str) -> None:
    findings = SAMPLES[name]()
    lines = str(findings).split("\n")
    assert max(map(terminal_width, lines)) <= WIDTH
    assert all(line.isprintable() and line == line.rstrip() for line in lines)
    assert page(findings, Pen(color=False)) == str(findings)


def test_the_terminal_page_tells_the_same() -> None:
    text = str(block())
    assert "      record   sex M, age 84, race Black, married married\n      sure     proof\n" in text
    assert "      from     1A all; 2D Black male; 5A 65 and older\n      because  48.5 × 4 − 36.7 × 3 = 84\n" in text
    assert "   statistic          still certain  data sets that fit\n   3B married adults              2" in text
    assert text.endswith("The attack took 0.8 s.")
    assert "sure     likely, 93 %, 2 people" in str(likely())
    assert "Worst records" not in str(nobody())
    assert "How it is known" not in str(nobody())


def test_the_terminal_page_shows_ten_records_and_thirty_rows() -> None:
    text = str(thousand())
    assert "   10  2 people are 9 years old" in text
    assert "    9  1 people are 8" in text
    assert "   and 301 more findings" in text
    assert "   and 195 more rows" in text
    assert "Repair\n   Publish the age in steps" in text
    assert "and 120 more" in str(nasty())


def test_color_marks_what_is_bad() -> None:
    pen = Pen(color=True)
    assert page(block(), pen).startswith("\x1b[1;31m7 of 7")
    assert page(nobody(), pen).startswith("\x1b[1mNone of")


def test_a_wide_table_is_told_row_by_row() -> None:
    table = ShownTable("T", "", ("name", "words"), (("a", "b" * 92), ("c", "d")))
    text = str(replace(nobody(), tables=(table,)))
    assert f"T\n   - name: a\n     words:\n       {'b' * 92}\n   - name: c\n     words: d\n" in text


@given(st.text(max_size=400), st.sampled_from(["", "   - "]))
def test_wrapping_loses_no_letter(text: str, margin: str) -> None:
    lines = wrapped(text, margin, " " * len(margin))
    assert all(terminal_width(line) <= WIDTH for line in lines)
    shown = "".join(letter if letter.isprintable() else "?" for letter in text)
    assert "".join("".join(lines).removeprefix(margin.rstrip()).split()) == "".join(shown.split())


def test_wrapping_breaks_between_words_at_100_columns() -> None:
    assert wrapped("x" * 49 + " " + "y" * 50) == ["x" * 49 + " " + "y" * 50]
    assert wrapped("x" * 50 + " " + "y" * 50) == ["x" * 50, "y" * 50]
    assert wrapped("統" * 51) == ["統" * 50, "統"]
    assert terminal_width("e\u0301") == 1


def test_json_is_plain_and_complete() -> None:
    plain = block().to_json()
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain
    assert (plain["solutions"], plain["proven"], plain["share"], plain["seconds"]) == (1, 7, 0.5, 0.84)
    assert (plain["people"], plain["certain"], plain["score"]) == (7, 7, None)
    assert plain["findings"][6] == {
        "claim": "A man of 84 lives here",
        "strength": "proof",
        "people": 1,
        "record": {"sex": "M", "age": "84", "race": "Black", "married": "married"},
        "evidence": ["1A all", "2D Black male", "5A 65 and older"],
        "reasoning": "48.5 × 4 − 36.7 × 3 = 84",
        "confidence": None,
    }
    assert plain["tables"][0]["rows"][0] == ["3B married adults", "2", "22"]
    assert plain["assumptions"] == list(block().assumptions)
    assert plain["not_tried"] == list(block().not_tried)
    assert type(plain["findings"][0]["strength"]) is str
    score = thousand().to_json()["score"]
    assert score["success"] == {"value": 0.861, "low": 0.838, "high": 0.882}
    assert score["claimed"] == 778
    assert Fraction(1, 2) in block().numbers.values()


def test_a_data_frame_has_a_row_a_finding() -> None:
    frame = thousand().to_pandas()
    assert len(frame) == 311
    assert list(frame.columns) == [
        "claim", "strength", "people", "confidence", "reasoning", "evidence", "record.age", "record.race",
    ]  # fmt: skip
    assert frame["record.age"][2] == "2"
    assert frame["evidence"][2] == ("table 0, row 2", "table 1, row 2")
    assert list(nobody().to_pandas().columns)[:2] == ["claim", "strength"]
    assert len(nobody().to_pandas()) == 0


def test_what_the_claim_says_is_not_said_again() -> None:
    line = "week 2 − week 1 = 5 − 4 = 1"
    finding = Finding(
        claim=f"Ada is ill: {line}, name Ada", strength=Strength.PROOF, record={"name": "Ada"}, reasoning=line
    )
    one = replace(nobody(), proven=1, findings=(finding,))
    assert str(one).count(line) == 1
    assert "record" not in str(one).split("Worst records")[1].split("sure")[0]
    assert to_html(page_of(one)).count(line) == 1

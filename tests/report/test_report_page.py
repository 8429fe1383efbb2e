"""The report: one safe file, the same facts on a page, in a terminal, in JSON and in a data frame."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.made_findings import NASTY, SAMPLES, block, likely, nasty, nobody, thousand
from support.page_reader import Reader
from support.refusals import raises_code

from privet import __version__
from privet.attacks.finding import Finding, Findings, Score, ShownTable, Strength
from privet.errors import InvalidInputError
from privet.report import page as pages
from privet.report.findings import chart
from privet.report.findings.page import page_of, verdict
from privet.report.findings.words import score_sentences, sureness
from privet.report.page_style import STYLE
from privet.report.terminal import seconds_words
from privet.stats.intervals import Interval

any_text = st.text(st.characters(exclude_categories=()), min_size=1, max_size=40)


def read(findings: Findings) -> Reader:
    return Reader(pages.to_html(page_of(findings)))


def small(**changes: object) -> Findings:
    return replace(likely(), score=None, **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", SAMPLES)
def test_a_page_is_closed_and_calls_nobody(name: str) -> None:
    reader = read(SAMPLES[name]())
    names = {name for name, _ in reader.attributes}
    assert not {name for name in names if name.startswith("on")} | (names & {"src", "action", "style"})
    assert [value for name, value in reader.attributes if name == "href"] == ["data:,"]
    assert reader.tags.count("h1") == 1
    assert "main" in reader.tags
    assert reader.text.index("What was assumed") < reader.text.index("What was not tried")
    assert f"Made with Privet {__version__}" in reader.text


def with_texts(texts: list[str]) -> str:
    """A report in which every place for a text has one."""
    a, b, c, d, e, f, g, h, i = texts
    table = pages.PageTable(a, (b, c), ((d, (e, f)), (pages.Noted(g, (h,)), i)), stacked=True)
    figure = pages.Figure("<svg></svg>", a, b, key=(("full", c),))
    parts = (table, pages.PageText((a, b)), pages.List((c, d)), figure)
    sections = (pages.Section(e, parts), pages.Section(i, ()))
    return pages.to_html(pages.Report(title=f, headline=g, verdict="bad", lead=h, foot=i, sections=sections))


@given(st.lists(any_text | st.sampled_from(["<p>", '"><p>', "</style><p>", "&#60;p>"]), min_size=9, max_size=9))
def test_no_text_becomes_markup(texts: list[str]) -> None:
    text = with_texts(texts)
    assert Reader(text).tags == Reader(with_texts(["x"] * 9)).tags
    text.encode()


def test_hostile_text_is_shown_as_it_is_and_cannot_command() -> None:
    text = pages.to_html(page_of(nasty()))
    assert "<script" not in text
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert '<script>alert("1")</script>&??[31m??' in Reader(text).text


def test_the_policy_allows_this_style_only() -> None:
    text = pages.to_html(page_of(nobody()))
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)
    assert policy is not None
    assert policy[1].startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in policy[1]
    assert "http" not in policy[1]
    assert f"<style>{STYLE}</style>" in text
    assert "url(" not in STYLE
    assert "@import" not in STYLE


def colors(part: str) -> dict[str, str]:
    return dict(re.findall(r"--(\w+):(#\w+)", part))


def contrast(one: str, other: str) -> float:
    """As WCAG 2 defines it."""

    def light(color: str) -> float:
        digits = color[1:] if len(color) == 7 else "".join(2 * digit for digit in color[1:])
        parts = [int(digits[at : at + 2], 16) / 255 for at in (0, 2, 4)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted((light(one), light(other)))
    return (high + 0.05) / (low + 0.05)


def test_words_and_marks_can_be_told_from_their_ground() -> None:
    day, night, paper = (STYLE.split("@media")[place] for place in (0, 1, 3))
    assert "dark" in night
    assert paper.startswith(" print")
    for part in (day, night, paper):
        color = colors(part)
        assert min(contrast(color[word], color["ground"]) for word in ("ink", "soft")) >= 4.5
        assert contrast(color["ink"], color["shade"]) >= 4.5
        assert min(contrast(color[mark], color["ground"]) for mark in ("full", "hollow")) >= 3
    bands = re.findall(r"\.band(?:\.\w+)?\{[^}]*background:(#\w+)", day)
    assert len(bands) == 3
    assert min(contrast("#fff", band) for band in bands) >= 4.5


def test_the_worst_records_come_with_their_cells() -> None:
    reader = read(block())
    assert "7 of 7 people are certain" in reader.text
    assert (
        "A man of 84 lives here 48.5 × 4 − 36.7 × 3 = 84 M 84 Black married proof 1A all 2D Black male" in reader.text
    )
    for heading in ("What is known", "sex", "age", "race", "married", "How sure", "Evidence", "Repair"):
        assert heading in reader.text
    assert "People" not in reader.text  # each is one
    scopes = [value for name, value in reader.attributes if name == "scope"]
    assert scopes.count("row") == 7 + 3
    assert scopes.count("col") == 7 + 3
    assert "The attack took 0.8 s." in reader.text


def test_much_is_cut_and_the_rest_is_counted() -> None:
    reader = read(thousand())
    assert "The worst 50 of 311 findings" in reader.text
    assert "And 261 more findings: to_json() and to_pandas() have all." in reader.text
    assert "And 25 more rows." in reader.text
    assert "and 27 more" in reader.text  # finding 39 has 39 cells
    assert "likely, 99.999 %" in reader.text
    assert "age 1, race B" in reader.text  # records that differ in form stand below the claim


def test_all_that_is_short_is_shown() -> None:
    found = block().findings[0]
    rows = tuple((str(number), "x") for number in range(200))
    cells = tuple(f"c{number}" for number in range(12))
    many = replace(
        block(), findings=(replace(found, evidence=cells),) * 50, tables=(ShownTable("T", "", ("a", "b"), rows),)
    )
    assert "more" not in read(many).text
    one_over = replace(
        many,
        findings=(replace(found, evidence=(*cells, "d")),) * 51,
        tables=(ShownTable("T", "", ("a", "b"), (*rows, ("1", "y"))),),
    )
    text = read(one_over).text
    assert "And 1 more findings" in text
    assert "And 1 more rows" in text
    assert "and 1 more" in text


def test_attributes_have_columns_only_if_they_are_few() -> None:
    record = {f"a{number}": f"v{number}" for number in range(7)}
    few = small(findings=(Finding(claim="c", strength=Strength.PROOF, record=dict(list(record.items())[:6])),))
    many = small(findings=(Finding(claim="c", strength=Strength.PROOF, record=record),))
    assert "a4 a5 How sure c v0 v1" in read(few).text  # and no column for evidence that there is not
    assert "What is known How sure c a0 v0, a1 v1" in read(many).text
    told = replace(many, findings=(replace(many.findings[0], evidence=("cell 7",)),))
    assert "What is known How sure Evidence c a0 v0, a1 v1" in read(told).text


def test_the_verdict_is_careful() -> None:
    guess = Finding(claim="c", strength=Strength.CONFIDENCE, confidence=0.6)
    score = thousand().score
    assert score is not None
    assert verdict(block()) == "bad"
    assert verdict(nobody()) == "good"
    assert verdict(replace(nobody(), findings=(guess,))) == "neutral"
    assert verdict(replace(nobody(), score=score)) == "neutral"
    assert (
        verdict(replace(nobody(), score=replace(score, success=replace(score.success, low=score.baseline.high))))
        == "good"
    )
    assert "Certain means" in read(block()).text


def test_each_kind_of_evidence_is_explained_once_the_strongest_first() -> None:
    text = read(thousand()).text
    places = [text.index(f"{kind}: ") for kind in ("Proof", "Two solvers", "Likely")]
    assert places == sorted(places)
    assert "Two solvers:" not in read(likely()).text
    assert "How it is known" not in read(nobody()).text


def test_nothing_stated_is_said() -> None:
    assert read(likely()).text.count("Nothing is stated.") == 2
    assert str(likely()).count("Nothing is stated.") == 2
    assert "Nothing is stated." not in read(block()).text


@pytest.mark.parametrize(
    ("people", "certain", "full", "hollow", "caption"),
    [
        (7, 7, 7, 0, "One figure is one person."),
        (60, 1, 1, 59, "One figure is one person."),
        (61, 0, 0, 61, "One square is one person."),
        (400, 399, 399, 1, "One square is one person."),
        (401, 400, 200, 1, "One square is 2 people, rounded."),
        (1000, 778, 156, 44, "One square is 5 people, rounded."),
        (10**6, 1, 1, 199, "One square is 5,000 people, rounded."),
        (10**6, 10**6 - 1, 199, 1, "One square is 5,000 people, rounded."),
        (None, 3, 3, 0, "One figure is one person. How many people there are besides is not known."),
    ],
)
def test_one_mark_a_person(people: int | None, certain: int, full: int, hollow: int, caption: str) -> None:
    figure = chart.people_figure(people, certain)
    assert figure is not None
    per_mark = 4 if "figure" in caption else 2  # a figure has a head and a body, each placed and then drawn
    drawn = {name: path.upper().count("M") for name, path in re.findall(r'class="(\w+)"[^>]* d="([^"]*)"', figure.svg)}
    assert drawn == {name: n * per_mark for name, n in (("full", full), ("hollow", hollow)) if n}
    assert figure.caption == caption
    assert [mark for mark, _ in figure.key] == ["full", *(["hollow"] if hollow else [])]
    assert figure.alt.startswith(f"{certain:,} ")
    assert ("not certain" in figure.alt) == (people is not None)


@pytest.mark.parametrize("people", [0, None])
def test_nobody_to_draw(people: int | None) -> None:
    assert chart.people_figure(people, 0) is None
    assert "The people" not in read(replace(nobody(), people=people)).text


@given(st.integers(1, 10**9), st.data())
def test_no_picture_is_large_and_nobody_is_rounded_away(people: int, data: st.DataObject) -> None:
    certain = data.draw(st.integers(0, people))
    figure = chart.people_figure(people, certain)
    assert figure is not None
    assert ('class="full"' in figure.svg) == (certain > 0)
    assert ('class="hollow"' in figure.svg) == (certain < people)
    assert figure.svg.count("m") < 4 * 400 + 100


def test_marks_stay_inside_the_picture() -> None:
    for marks in (1, 19, 20, 21, 60, 61, 400):
        svg = chart.people_svg(marks, 1)
        box = re.search(r'viewBox="0 0 (\d+) (\d+)"', svg)
        assert box is not None
        places = [(int(x), int(y)) for x, y in re.findall(r"M(\d+) (\d+)", svg)]
        size = (24, 28) if marks <= 60 else (13, 13)
        assert max(x for x, _ in places) + size[0] <= int(box[1]) <= chart.WIDTH
        assert max(y for _, y in places) + size[1] <= int(box[2])
        assert len(set(places)) == marks


def test_the_score_is_drawn_and_told() -> None:
    text = read(thousand()).text
    assert "778 claims" in text
    assert "right for 86.1 % (83.8 % to 88.2 %) of people, without it for 31.2 %" in text
    assert "for people who are not in the data, for 29.5 % (26.7 % to 32.4 %)" in text
    assert "The release adds 54.9 percentage points (49.6 to 59.9)." in text
    score = thousand().score
    assert score is not None
    figure = chart.score_figure(score)
    assert "people not in it" in figure.svg
    assert "with the release: 86.1 %, between 83.8 % and 88.2 %" in figure.alt
    alone = chart.score_figure(replace(score, control=None))
    assert "people not in it" not in alone.svg
    assert "people not in it" not in alone.alt
    drawn = json.dumps(chart.score_chart(score).to_dict())
    assert '"value": 0.861, "low": 0.838, "high": 0.882' in drawn
    assert chart.bars_chart(ShownTable("Bars", "", ("age", "people"), (("1", "2"), ("2", "3")))).to_dict()["mark"]


@pytest.mark.parametrize(
    ("claimed", "right", "words"),
    [
        (0, 0, "Nothing is claimed about a single person, record or cell."),
        (1, 1, "The one claim is true."),
        (2, 2, "All 2 claims are true."),
        (3, 2, "1 of 3 claims is false."),
        (3, 1, "2 of 3 claims are false."),
    ],
)
def test_false_claims_are_said(claimed: int, right: int, words: str) -> None:
    same = Interval(0.5, 0.4, 0.6)
    score = Score(claimed=claimed, right=right, success=same, baseline=same, control=None)
    assert score_sentences(score)[0] == words
    assert "not in the data" not in score_sentences(score)[1]


@pytest.mark.parametrize(
    ("seconds", "words"), [(0.0, "less than 0.1 s"), (0.1, "0.1 s"), (9.94, "9.9 s"), (10, "10 s"), (1234.5, "1,234 s")]
)
def test_seconds(seconds: float, words: str) -> None:
    assert seconds_words(seconds) == words


@pytest.mark.parametrize(
    ("strength", "confidence", "words"),
    [
        (Strength.PROOF, None, "proof"),
        (Strength.RESOLVED, None, "two solvers"),
        (Strength.CONFIDENCE, None, "likely"),
        (Strength.CONFIDENCE, 0.9999999, "likely, 99.9999 %"),
        (Strength.CONFIDENCE, 1.0, "likely, 100 %"),
    ],
)
def test_a_confidence_is_never_rounded_up(strength: Strength, confidence: float | None, words: str) -> None:
    shown = sureness(Finding(claim="c", strength=strength, confidence=confidence))
    assert shown == words or (confidence and shown.startswith("likely, 99.9999") and "100" not in shown)


def test_columns_of_numbers_and_of_short_texts_are_set_apart() -> None:
    rows = (("a long text of some words", "1,234", "F"), ("b", "−7.5 %", "M"))
    section = pages.Section("S", (pages.PageTable("S", ("x", "y", "z"), rows), pages.PageTable("other", ("x",), ())))
    text = pages.to_html(pages.Report(title="", headline="", verdict="good", sections=(section,)))
    assert text.count('class="number"') == 3
    assert text.count('class="short"') == 3
    assert text.count('<caption class="quiet">S<') == 1
    assert "<caption>other<" in text
    assert "−7.5\u00a0%" in text
    assert '<p class="lead">' not in text


@pytest.mark.parametrize("text", ["1", "1,234", "-7.5", "−7.5 %", "±3", "0.5 %"])
def test_numbers(text: str) -> None:
    assert pages.is_number(text)


@pytest.mark.parametrize("text", ["", "-", "1a", "3A", "%", "1 to 2", "2026-01-01"])
def test_no_numbers(text: str) -> None:
    assert not pages.is_number(text)


def test_a_notebook_shows_a_part_of_a_page() -> None:
    text = block()._repr_html_()
    assert text.startswith('<div class="privet privet-inline"><style>')
    assert "<html" not in text
    assert "7 of 7 people are certain" in Reader(text).text


def test_writing(tmp_path: Path) -> None:
    path = tmp_path / "report.HTML"
    assert block().report(str(path)) == path
    assert path.read_text(encoding="utf-8") == pages.to_html(page_of(block()))
    nasty().report(path)


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("report.pdf", "wrong-ending: HTML"),
        ("report", "wrong-ending: HTML"),
        (f"{NASTY}.txt", "wrong-ending: HTML"),
        ("missing/report.html", "cannot-write: such"),
        ("folder.html", "file-exists"),
        ("nul\0l.html", "cannot-write"),
        ("half\ud800.html", "cannot-write"),
    ],
)
def test_a_file_that_cannot_be_written_is_one_clear_line(name: str, problem: str, tmp_path: Path) -> None:
    (tmp_path / "folder.html").mkdir()
    with raises_code(InvalidInputError, problem) as caught:
        block().report(tmp_path / name)
    assert caught.value.problem.isprintable()
    assert caught.value.remedy

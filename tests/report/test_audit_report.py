"""What an audit found, as people meet it: on a page, in a terminal, in a notebook, as a picture."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.made_audits import (
    AUDITS,
    CHECKS,
    broken,
    fine,
    floats,
    gaussian,
    gdp,
    laplace,
    large,
    nothing,
    small,
    zcdp,
)
from support.page_reader import Reader

from privet.audits import Audit, Checks, Claim, Witness
from privet.report.audit import chart, words
from privet.report.audit.page import page_of
from privet.report.page import to_html
from privet.report.terminal import WIDTH, Pen, terminal_width
from privet.stats import binomial

EVERYTHING = {**AUDITS, **CHECKS}
CLAIMS = [Claim(epsilon=1), Claim(epsilon=0.3, delta=0.05), Claim(rho=0.5), Claim(mu=1), Claim(epsilon=8)]


def read(found: Audit | Checks) -> Reader:
    return Reader(to_html(page_of(found)))


@pytest.mark.parametrize("name", EVERYTHING)
def test_a_page_is_closed_and_calls_nobody(name: str) -> None:
    reader = read(EVERYTHING[name]())
    names = {name for name, _ in reader.attributes}
    assert not {name for name in names if name.startswith("on")} | (names & {"src", "action", "style"})
    assert [value for name, value in reader.attributes if name == "href"] == ["data:,"]
    assert reader.tags.count("h1") == 1
    assert "What was not tested" in reader.text
    assert "proved" not in reader.text


@pytest.mark.parametrize("name", EVERYTHING)
def test_a_terminal_shows_it_safely(name: str) -> None:
    found = EVERYTHING[name]()
    lines = found.text().split("\n")
    assert max(map(terminal_width, lines)) <= WIDTH
    assert all(line.isprintable() and line == line.rstrip() for line in lines)


def test_what_is_false_is_said_first_with_its_numbers() -> None:
    reader = read(floats())
    for fact in ("6.91", "1 in 1,000,000", "2.72 times", "1000 times", "2^-53", "12 pairs", "100,000 outputs"):
        assert fact in reader.text
    assert 'class="band bad"' in to_html(page_of(floats()))


def test_the_witness_names_both_data_sets_in_their_order() -> None:
    text = read(floats()).text
    first, second = text.index("The first 1.0 0 75,000 0.00 %"), text.index("The second 0.0 20,321 75,000 27.09 %")
    assert first < second
    shown = floats().text()
    assert "0 of 75,000 draws, 0.00 %, 1.0" in shown
    assert "20,321 of 75,000 draws, 27.09 %, 0.0" in shown
    assert "380 of 750 draws, 50.67 %\n" in f"{small().text()}\n"  # nothing said of the data


def test_consistent_is_never_more_than_that() -> None:
    reader = read(laplace())
    assert "0.955" in reader.text
    assert "8.41" in reader.text
    assert 'class="band good"' in to_html(page_of(laplace()))


def test_too_few_draws_are_no_good_news() -> None:
    reader = read(small())
    assert "3.61" in reader.text
    assert 'class="band neutral"' in to_html(page_of(small()))


def test_delta_rho_and_mu_are_named() -> None:
    assert "The claim of epsilon 0.5 at delta 1e-05 is false" in read(gaussian()).text
    assert "times as likely, apart from a chance of 1e-05" in read(gaussian()).text
    assert "with 5% of false alarms is right in at most" in read(zcdp()).text
    assert "How large is mu?" in read(gdp()).text
    assert "times as likely" not in read(large()).text
    assert "times as likely" not in large().text()


def test_the_mu_in_words_is_the_gaussian_curve() -> None:
    """A test with 5 % false alarms against a shift of one standard deviation is right in 25.96 % of cases."""
    assert words.in_words(gdp()).endswith("is right in at most 26 % of the other cases.")


@pytest.mark.parametrize(("confidence", "odds"), [(0.5, "1 in 2"), (0.95, "1 in 20"), (0.999999, "1 in 1,000,000")])
def test_odds(confidence: float, odds: str) -> None:
    assert words.odds(confidence) == odds


def test_both_probabilities_have_a_range_with_the_stated_confidence() -> None:
    first, second = words.chances(laplace())
    assert (first.hits, second.hits) == (54_475, 20_063)
    assert first.low == pytest.approx(binomial.lower(54_475, 75_000, 2.5e-7), abs=1e-9)
    assert second.high == pytest.approx(binomial.upper(20_063, 75_000, 2.5e-7), abs=1e-9)
    turned = words.chances(replace(laplace(), witness=replace(laplace().witness, likelier=1)))
    assert (turned[0].hits, turned[1].hits) == (20_063, 54_475)
    assert str(first) == "71.8 % to 73.5 %"


def test_colors_mark_the_verdict_and_what_is_too_much() -> None:
    pen = Pen(color=True)
    assert floats().text(pen).startswith("\x1b[1;31mThe claim")
    assert "\x1b[1;31mshown, at least" in floats().text(pen)
    assert laplace().text(pen).startswith("\x1b[1;32mNothing")
    assert "\x1b[1;31m" not in laplace().text(pen)
    assert small().text(pen).startswith("\x1b[1mNot decided")
    assert "\x1b[1;31mviolated\x1b[0m" in broken().text(pen)


def test_bars_are_as_long_as_their_numbers() -> None:
    lines = [line for line in floats().text().split("\n") if "#" in line]
    assert [line.count("#") for line in lines] == [5, 36, 44]
    svg = chart.bars_svg(floats())
    widths = [float(width) for width in re.findall(r'<rect[^>]* width="([\d.]+)"', svg)]
    assert widths[1] / widths[0] == pytest.approx(6.912, rel=0.01)
    assert widths[2] / widths[0] == pytest.approx(8.4172, rel=0.01)
    assert 'class="bar-bad"' in svg
    assert 'class="bar-good"' in chart.bars_svg(laplace())
    assert chart.bars_figure(floats()).alt == "epsilon: claimed 1, shown, at least 6.91, could have been shown 8.41"


def test_a_bar_of_nothing_is_a_thin_line() -> None:
    assert 'class="bar-good" x="158" y="42.0" width="1.0"' in chart.bars_svg(small())
    assert "shown, at least        # 0\n" in small().text()


@pytest.mark.parametrize("claim", CLAIMS, ids=str)
def test_the_curve_is_that_of_the_claim_in_both_directions(claim: Claim) -> None:
    """On the curve the event or its opposite uses up the claim; a little above, one of them contradicts it."""
    for q in (0.0, 1e-4, 0.01, 0.2, 0.5, 0.9):
        p = chart.reach(claim, q)
        assert q <= p <= 1
        inside, outside = p - 1e-6, p + 1e-6
        if inside > q:
            assert max(claim.least(inside, q), claim.least(1 - q, 1 - inside)) <= claim.value
        if outside < 1:
            assert max(claim.least(outside, q), claim.least(1 - q, 1 - outside)) > claim.value
        assert not q or p == pytest.approx(claim.most(q), abs=1e-8)
    assert chart.reach(claim, 1.0) == 1


def test_the_curve_of_epsilon_and_delta_is_the_known_one() -> None:
    """min(e**eps q + delta, 1 - e**-eps (1 - delta - q))"""
    for q in (0.0, 0.03, 0.3, 0.6, 0.95):
        best = min(math.exp(0.3) * q + 0.05, 1 - math.exp(-0.3) * (1 - 0.05 - q), 1)
        assert chart.reach(Claim(epsilon=0.3, delta=0.05), q) == pytest.approx(best, abs=1e-8)


def test_the_picture_has_the_witness_its_box_and_the_tests() -> None:
    drawn = json.dumps(laplace().chart().to_dict())
    first, second = words.chances(laplace())
    assert f'"other": {second.share}, "here": {first.share}' in drawn
    assert f'"other": {second.low}, "right": {second.high}, "here": {first.low}, "top": {first.high}' in drawn
    assert "Claimed: epsilon 1. Shown: at least 0.955." in drawn
    assert drawn.count("tests that were seen") == 1
    assert "tests that were seen" not in json.dumps(gaussian().chart().to_dict())
    for logarithmic in (False, True):
        assert ('"type": "log"' in json.dumps(laplace().chart().to_dict()["hconcat"][logarithmic])) == logarithmic


def test_a_share_of_nothing_stays_on_a_logarithmic_picture() -> None:
    panel = chart._panel(floats(), chart._least_share(floats())).to_dict()
    shares = [float(share) for share in re.findall(r'"(?:other|here)": ([\d.e-]+)', json.dumps(panel))]
    assert min(shares) == 1e-5


def test_shares_of_few_draws_are_not_drawn_where_they_would_show() -> None:
    noisy = replace(laplace(), roc=((0.0, 0.0), (0.0, 0.0002), (0.3, 0.7), (1.0, 1.0)))
    start = chart._least_share(noisy)
    drawn = json.dumps(chart._panel(noisy, start).to_dict())
    assert f'"other": {start}, "here": 0.0002,' not in drawn
    assert '"other": 0.0, "here": 0.0002,' in json.dumps(chart._panel(noisy, 0.0).to_dict())


def test_a_long_event_is_cut_in_the_picture_only() -> None:
    long = replace(floats(), witness=replace(floats().witness, event="x" * 400))
    assert "x" * 100 not in json.dumps(long.chart().to_dict())
    assert "x" * 400 in read(long).text


@given(st.integers(0, 750), st.integers(0, 750))
def test_every_count_can_be_shown(here: int, there: int) -> None:
    found = replace(small(), witness=replace(small().witness, hits=(here, there)))
    assert f"{here:,} of 750 draws" in found.text()
    assert words.chances(found)[0].low <= Fraction(here, 750) <= words.chances(found)[0].high


@dataclass(frozen=True, slots=True)
class Guesses(Witness):
    """As of canaries: right and wrong guesses instead of an event on two data sets."""

    def __str__(self) -> str:
        return f"{self.hits[0]} of {self.draws} guesses were right"


def test_a_witness_that_is_no_event_speaks_for_itself() -> None:
    found = replace(laplace(), witness=Guesses("the highest scores", 0, (80, 20), 100))
    reader = read(found)
    assert "80 of 100 guesses were right." in reader.text
    assert "The event" not in reader.text
    assert "Came up" not in reader.text
    assert "the witness, and its box" not in reader.text + json.dumps(found.chart().to_dict())
    assert "Shown: the event" not in reader.text
    assert "100,000 numbers, in 0.4 s." in reader.text
    assert "   80 of 100 guesses were right." in found.text()


def test_a_data_set_with_other_draws() -> None:
    found = replace(laplace(), witness=replace(laplace().witness, hits=(40, 900), draws=80, other_draws=9000))
    assert [one.draws for one in words.chances(found)] == [80, 9000]
    assert "900 of 9,000 draws, 10.00 %" in found.text()
    assert "in 40 of 80 draws on the first data set and in 900 of 9,000 on the second" in str(found.witness)


def test_checks_are_listed_with_their_numbers() -> None:
    reader = read(broken())
    assert "1 of 3 checks" in reader.text
    assert "declared 1 moved 2" in reader.text
    assert [line.split()[0] for line in broken().text().split("\n")[4:7]] == ["consistent", "violated", "inconclusive"]


def test_headlines_of_checks() -> None:
    assert words.checks_headline(fine()) == "1 checks, no violation"
    assert words.checks_headline(CHECKS["undecided"]()) == "1 of 2 checks could not be decided"
    assert words.checks_lead(CHECKS["undecided"]()).startswith("timing: 20 runs")
    assert words.checks_headline(nothing()) == "Nothing was checked"
    assert 'class="band neutral"' in to_html(page_of(nothing()))


def test_a_notebook_and_a_file(tmp_path: Path) -> None:
    path = tmp_path / "audit.html"
    assert laplace().report(path) == path
    assert path.read_text(encoding="utf-8") == to_html(page_of(laplace()))
    for found in (laplace(), broken()):
        assert found._repr_html_().startswith('<div class="privet privet-inline"><style>')

"""The story's numbers, each against a second computation; the simulations against their laws, at 1e-9."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from xml.etree import ElementTree

import mpmath
import numpy as np
import pytest
from fit import FALSE_ALARM

from privet import demo
from privet.core.laws import DiscreteLaplace
from privet.report import charts
from privet.report.terminal import Pen, at_least, at_most, one_line, percent

MANY = 400_000
SVG = "{http://www.w3.org/2000/svg}"
LAW = DiscreteLaplace(Fraction(10))


@pytest.fixture(scope="module")
def story() -> demo.Story:
    return demo.tell()


@pytest.fixture(scope="module")
def picture() -> ElementTree.Element:
    return ElementTree.fromstring(demo.chart())


def hoeffding(runs: int) -> float:
    """How far the mean of `runs` numbers in [0, 1] strays from its expectation, with probability 1e-9."""
    return math.sqrt(math.log(2 / FALSE_ALARM) / (2 * runs))


def expected(epsilon: float, score: Callable[[float], float]) -> float:
    """The expectation of score(belief in the truth) after ten weeks.

    A week's number is on the truth's side (ill: 5 or more; healthy: 4 or less) with probability 1 / (1 + q), and
    then multiplies the odds by e^epsilon; on the other side it divides them.
    """
    side = 1 / (1 + math.exp(-epsilon))
    return sum(
        math.comb(10, votes) * side**votes * (1 - side) ** (10 - votes)
        * score(1 / (1 + math.exp(-epsilon * (2 * votes - 10))))
        for votes in range(11)
    )  # fmt: skip


def guess(belief: float) -> float:
    return 0.5 if math.isclose(belief, 0.5) else float(belief > 0.5)


# --- 1 exact counts


def test_the_exact_counts_differ_by_the_newcomer_who_is_then_certainly_ill(story: demo.Story) -> None:
    assert (story.exact.first, story.exact.second) == (demo.Week(4, 2436), demo.Week(5, 2437))
    assert (story.exact.joined, story.exact.new_cases, story.exact.certain) == (1, 1, Fraction(1))


# --- 2 uniform noise


@pytest.mark.parametrize("reach", range(7))
def test_certainty_is_the_mass_where_the_other_diagnosis_has_none(reach: int) -> None:
    law = demo.uniform_law(reach)
    numbers = range(-20, 30)
    healthy = {y: law.get(y - 4, Fraction(0)) for y in numbers}
    ill = {y: law.get(y - 5, Fraction(0)) for y in numbers}
    assert sum(law.values()) == 1
    assert demo.proving(law) == (
        [y for y in numbers if healthy[y] > ill[y] == 0],
        [y for y in numbers if ill[y] > healthy[y] == 0],
    )
    assert demo.certainty(law) == sum(healthy[y] for y in numbers if not ill[y]) == Fraction(1, 2 * reach + 1)


def test_ten_weeks_of_uniform_noise(story: demo.Story) -> None:
    uniform = story.uniform
    assert (uniform.proves_healthy, uniform.proves_ill) == ([1], [8])
    assert uniform.certain_one_week == Fraction(1, 7)
    assert uniform.certain_all_weeks == 1 - Fraction(6, 7) ** 10
    assert uniform.simulated_wrong == 0


def test_the_simulation_agrees_and_would_not_with_noise_one_wider(story: demo.Story) -> None:
    """False alarm 1e-9; noise from -4 to 4 (or -2 to 2) would be told apart."""
    slack = hoeffding(story.runs)
    assert abs(story.uniform.simulated_certain - (1 - (6 / 7) ** 10)) < slack
    assert all(abs((1 - (1 - 1 / n) ** 10) - (1 - (6 / 7) ** 10)) > 2 * slack for n in (5, 9))


def test_a_wrong_certainty_would_be_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Noise one too high gives 8 for a healthy newcomer, too: the count of wrong proofs sees it."""
    monkeypatch.setattr(demo, "uniform", lambda limit, size: np.full(size, limit))
    assert demo.uniform_noise(10).simulated_wrong == 5


# --- 3 discrete Laplace noise


def test_beliefs_follow_bayes_rule() -> None:
    """All releases of two weeks near the counts, with likelihoods multiplied out at 50 digits."""
    releases = list(itertools.product(range(-3, 13), repeat=2))
    with mpmath.workdps(50):
        for release, belief in zip(releases, demo.belief_in_illness(np.array(releases), LAW), strict=True):
            healthy, ill = (
                mpmath.fprod(mpmath.exp(-mpmath.mpf(abs(y - count)) / 10) for y in release) for count in (4, 5)
            )
            assert abs(belief - ill / (healthy + ill)) < 1e-15


def test_the_promised_bounds_hold_and_are_reached(story: demo.Story) -> None:
    floor, ceiling = float(story.laplace.belief_floor), float(story.laplace.belief_ceiling)
    rng = np.random.default_rng(1)
    wild = rng.integers(-(10**6), 10**6, size=(10_000, 10))
    beliefs = demo.belief_in_illness(wild, LAW)
    assert floor - 1e-15 < beliefs.min() < beliefs.max() < ceiling + 1e-15
    witnesses = demo.belief_in_illness(np.array([[4] * 10, [5] * 10]), LAW)
    assert witnesses == pytest.approx([floor, ceiling], abs=1e-15)


def test_factors_and_bounds_are_rounded_against_us(story: demo.Story) -> None:
    laplace = story.laplace
    assert (laplace.epsilon, laplace.epsilon_all_weeks) == (Fraction(1, 10), Fraction(1))
    with mpmath.workdps(50):
        for bound, truth in (
            (laplace.factor_one_week, mpmath.exp(mpmath.mpf(1) / 10)),
            (laplace.factor_all_weeks, mpmath.e),
            (laplace.belief_ceiling, mpmath.e / (1 + mpmath.e)),
            (-laplace.belief_floor, -1 / (1 + mpmath.e)),
        ):
            assert 0 <= mpmath.mpf(bound.numerator) / bound.denominator - truth < 1e-18


def test_the_story_stays_inside_the_bounds(story: demo.Story) -> None:
    laplace, slack = story.laplace, hoeffding(story.runs)
    assert 0.5 <= laplace.simulated_surest <= float(laplace.belief_ceiling) + 1e-15
    assert abs(laplace.simulated_mean - expected(0.1, lambda belief: belief)) < slack
    assert abs(laplace.simulated_right - expected(0.1, guess)) < slack
    assert laplace.example_truth == 5
    assert len(laplace.example) == story.weeks == 10


def test_many_runs_tell_epsilon_from_one_a_fifth_larger() -> None:
    """False alarm 1e-9 each; power: 20 % more or less epsilon moves the share of right guesses by over 2 slacks."""
    laplace, slack = demo.laplace_noise(MANY), hoeffding(MANY)
    assert abs(laplace.simulated_right - expected(0.1, guess)) < slack
    assert abs(laplace.simulated_mean - expected(0.1, lambda belief: belief)) < slack
    assert all(abs(expected(wrong, guess) - expected(0.1, guess)) > 2 * slack for wrong in (0.08, 0.12))
    assert laplace.simulated_surest == pytest.approx(float(laplace.belief_ceiling), abs=1e-15)


def test_the_price(story: demo.Story) -> None:
    assert story.laplace.within == 30
    assert story.big_error == Fraction(30, 40_000) < Fraction(1, 1000)


# --- what is shown


def test_the_page_fits_a_small_terminal_and_every_alphabet(story: demo.Story) -> None:
    lines = demo.page(story, "demo.svg", Pen(color=False)).splitlines()
    assert len(lines) <= 45
    assert max(map(len, lines)) <= 100
    assert all(line.isascii() and line.isprintable() for line in lines)


def test_the_page_says_what_was_computed_and_where_to_go(story: demo.Story) -> None:
    text = demo.page(story, "folder/demo.svg", Pen(color=False))
    for words in (
        "4 of 2,436", "5 of 2,437", "100 %", "1/7 = 14.3 %", "78.6 %", "10,000 times 10 weeks", "26.89 % and 73.11 %",
        "within 30", "40,000", "0.075 %", "not a proof", "docs/privacy-promise.md", "docs/claims.md", "make test",
        "folder/demo.svg", percent(story.uniform.simulated_certain), percent(story.laplace.simulated_right),
    ):  # fmt: skip
        assert words in text


def test_no_result_is_printed_by_heart(story: demo.Story) -> None:
    """Another story gives another page."""
    other = replace(
        story,
        runs=77,
        weeks=11,
        big_count=60_000,
        exact=replace(story.exact, new_cases=0, certain=Fraction(1, 4)),
        uniform=replace(
            story.uniform,
            proves_healthy=[-2, -1],
            proves_ill=[10, 11],
            certain_one_week=Fraction(1, 3),
            certain_all_weeks=Fraction(1, 8),
            simulated_certain=0.123,
            simulated_wrong=6,
        ),
        laplace=replace(
            story.laplace,
            example=[1, 2, 3],
            belief_floor=Fraction(1, 3),
            belief_ceiling=Fraction(2, 3),
            simulated_surest=0.6543,
            simulated_mean=0.5432,
            simulated_right=0.4321,
            within=33,
        ),
    )
    text = demo.page(other, "x.svg", Pen(color=False))
    for words in (
        "77 times 11 weeks", "is healthy. Certainty: 25 %", "-2, -1", "10, 11", "0 to 9", "1/3 = 33.3 %", "12.5 %",
        "12.3 %", "wrong in 6", "1 2 3\n", "33.33 % and 66.67 %", "65.43 %", "54.3 %", "43.2 %", "within 33",
        "60,000", "0.055 %",
    ):  # fmt: skip
        assert words in text, words


def test_colors_change_nothing_but_colors(story: demo.Story) -> None:
    plain, colored = (demo.page(story, "demo.svg", Pen(color=color)) for color in (False, True))
    assert "\x1b[1;31m100 %\x1b[0m" in colored
    assert re.sub(r"\x1b\[[0-9;]*m", "", colored) == plain


def test_numbers_for_programs_are_the_same(story: demo.Story) -> None:
    numbers = story.numbers()
    assert numbers["exact"]["second"] == {"ill": 5, "patients": 2437}
    assert numbers["uniform"]["certain_one_week"] == 1 / 7
    assert numbers["laplace"]["simulated_mean"] == story.laplace.simulated_mean
    assert numbers["big_error"] == 0.00075


def test_rounding_of_what_is_promised() -> None:
    assert (at_most(Fraction(2, 3)), at_least(Fraction(2, 3)), percent(Fraction(2, 3), 2)) == (
        "0.67",
        "0.66",
        "66.67 %",
    )
    assert (at_most(Fraction(1, 2)), at_least(Fraction(1, 2))) == ("0.50", "0.50")


def test_foreign_text_is_shown_on_one_line_without_commands() -> None:
    assert one_line("a\nb\x1b[2Jc\udcff \u00e9") == "a?b?[2Jc? \u00e9"


# --- the picture


def texts(picture: ElementTree.Element) -> list[str]:
    return [
        " ".join("".join(part.itertext()) for part in (list(text) or [text])) for text in picture.iter(f"{SVG}text")
    ]


def test_the_picture_states_its_finding_and_marks_each_proof(picture: ElementTree.Element) -> None:
    words = texts(picture)
    assert any("discrete Laplace noise never does" in line for line in words)
    assert {"Exact count", "Uniform noise, -3 to 3", "Discrete Laplace noise, epsilon = 1"} <= set(words)
    assert words.count("seen only if ill") == words.count("seen only if healthy") == 2
    assert sum(path.get("stroke-width") == "2" for path in picture.iter(f"{SVG}path")) == 4
    assert "1 and 8 are proofs: one of them comes with probability 1/7 every week" in words
    assert "Any number fits both diagnoses: the odds shift by a factor of at most e^1 = 2.72" in words


def test_the_picture_is_readable_at_1000_pixels_and_needs_no_network(picture: ElementTree.Element) -> None:
    assert picture.tag == f"{SVG}svg"
    assert int(picture.get("width", "9999")) <= 1000
    sizes = [float(text.get("font-size", "0px").removesuffix("px")) for text in picture.iter(f"{SVG}text")]
    assert min(sizes) >= 12
    raw = ElementTree.tostring(picture, encoding="unicode")
    assert not re.search(r"href|url\(|<(image|script|style)|@import", raw)
    assert set(re.findall(r"https?://[^\"']+", raw)) <= {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}


def test_the_bars_carry_the_probabilities(picture: ElementTree.Element) -> None:
    spoken = {path.get("aria-label") for path in picture.iter(f"{SVG}path")}
    q = math.exp(-1)
    for number in range(-1, 11):
        for diagnosis, count in (("healthy", 4), ("ill", 5)):
            chance = (1 - q) / (1 + q) * q ** abs(number - count)
            assert f"if {diagnosis}, {number} is published with probability {chance:.1%}" in spoken


def test_rows_mark_what_only_one_diagnosis_can_give() -> None:
    panel = charts.Panel(title="t", finding=["f"], healthy={1: 0.5, 2: 0.5, 3: 0.0}, ill={2: 0.5, 3: 0.5})
    proofs = [(row["diagnosis"], row["left"], row["proof"]) for row in panel.rows() if row["proof"]]
    assert proofs == [("healthy", 1 - charts.BAR, "seen only|if healthy"), ("ill", 3.0, "seen only|if ill")]


def test_ticks_are_few_and_stop_at_the_tallest_bar() -> None:
    chart = charts.likelihood_panels(
        [charts.Panel(title="t", finding=["f"], healthy={0: top}, ill={1: top}) for top in (0.03, 1 / 7, 0.46, 1.0)],
        "t",
        [],
    )
    ticks = [panel["layer"][0]["encoding"]["y"]["axis"]["values"] for panel in chart.to_dict()["hconcat"]]
    assert ticks == [[0, 0.01, 0.02, 0.03], [0, 0.05, 0.1], [0, 0.2, 0.4], [0, 0.25, 0.5, 0.75, 1]]

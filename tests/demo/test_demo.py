"""The story's numbers, each against a second computation; the simulations against their laws, at 1e-9."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from support.fit import FALSE_ALARM

import privet as pv
from privet.core.laws import DiscreteLaplace
from privet.core.measures import Role
from privet.demo import story as demo
from privet.demo import table_story
from privet.report import charts
from privet.report.terminal import Pen, at_least, at_most, one_line, percent

MANY = 400_000
SVG = "{http://www.w3.org/2000/svg}"
LAW = DiscreteLaplace(Fraction(10000, 2549))
PLAIN = Pen(color=False)


@pytest.fixture(scope="module")
def story() -> demo.Story:
    return demo.tell()


@pytest.fixture(scope="module")
def picture() -> ElementTree.Element:
    return ElementTree.fromstring(demo.chart())


def hoeffding(runs: int) -> float:
    """How far the mean of `runs` numbers in [0, 1] strays from its expectation, with probability 1e-9."""
    return math.sqrt(math.log(2 / FALSE_ALARM) / (2 * runs))


# --- 1 exact answers


def test_the_exact_answers_are_those_of_the_table(story: demo.Story) -> None:
    people, newcomer = demo.hospital()
    assert story.exact.first == demo.Week(2436, 4, round(Fraction(sum(p.age for p in people), 2436), 4))
    assert (story.exact.second.patients, story.exact.second.ill) == (2437, 5)
    assert story.exact.ages == [newcomer.age]
    assert newcomer.ill
    assert len({person.patient_id for person in (*people, newcomer)}) == 2437


@pytest.mark.parametrize("age", [0, 1, 50, 86, 100])
def test_two_averages_give_every_age_away(age: int) -> None:
    """Four decimals of two averages leave one age: 0.00005 * 4873 is less than a half."""
    people, newcomer = demo.hospital()
    second = demo.publish([*people, replace(newcomer, age=age)])
    assert demo.fitting_ages(demo.publish(people), second) == [age]


def test_a_coarser_average_would_leave_several_ages() -> None:
    weeks = demo.Week(100, 4, Fraction(50)), demo.Week(101, 4, Fraction("50.297"))
    assert demo.fitting_ages(*weeks) == [80]
    wide = demo.Week(30_000, 4, Fraction(50)), demo.Week(30_001, 4, Fraction("50.001"))
    assert demo.fitting_ages(*wide) == [78, 79, 80, 81, 82, 83]


# --- 2 uniform noise


@pytest.mark.parametrize("reach", range(7))
def test_certainty_is_the_mass_where_the_other_diagnosis_has_none(reach: int) -> None:
    law = demo.uniform_law(reach)
    numbers = range(-20, 30)
    healthy = {y: law.get(y - 4, Fraction(0)) for y in numbers}
    ill = {y: law.get(y - 5, Fraction(0)) for y in numbers}
    assert sum(law.values()) == 1
    assert demo.proving(law, 4) == (
        [y for y in numbers if healthy[y] > ill[y] == 0],
        [y for y in numbers if ill[y] > healthy[y] == 0],
    )
    assert demo.certainty(law, 4) == sum(healthy[y] for y in numbers if not ill[y]) == Fraction(1, 2 * reach + 1)


def test_ten_weeks_of_uniform_noise(story: demo.Story) -> None:
    uniform = story.uniform
    assert (uniform.proves_healthy, uniform.proves_ill) == ([1], [8])
    assert uniform.certain_one_week == Fraction(1, 7)
    assert uniform.certain_all_weeks == 1 - Fraction(6, 7) ** 10
    assert uniform.simulated_wrong == 0


def test_the_simulation_agrees_and_would_not_with_noise_one_wider(story: demo.Story) -> None:
    """False alarm 1e-9; noise from -4 to 4 (or -2 to 2) would be told apart."""
    slack = hoeffding(story.uniform.runs)
    assert abs(story.uniform.simulated_certain - (1 - (6 / 7) ** 10)) < slack
    assert all(abs((1 - (1 - 1 / n) ** 10) - (1 - (6 / 7) ** 10)) > 2 * slack for n in (5, 9))


def test_a_wrong_certainty_would_be_counted(story: demo.Story, monkeypatch: pytest.MonkeyPatch) -> None:
    """Noise one too high gives 8 for a healthy newcomer, too: the count of wrong proofs sees it."""
    monkeypatch.setattr(demo, "uniform", lambda limit, size: np.full(size, limit))
    assert demo.uniform_noise(10, story.exact).simulated_wrong == 5


# --- 3 a vault


def test_the_vault_answered_what_was_asked(story: demo.Story) -> None:
    """Each number within ten half widths: false alarm below 1e-9 each."""
    private = story.private
    for answer, week in zip(private.weeks, (story.exact.first, story.exact.second), strict=True):
        row = answer.interval()[0]
        for name in ("patients", "ill", "age"):
            cell = row[name]
            assert abs(cell["value"] - float(getattr(week, name))) <= 10 * (cell["high"] - cell["low"])
        assert answer.cost.epsilon == private.price
        assert not answer.replayed
        assert answer.warnings == ()
    wards = {row["ward"]: row["patients"] for row in private.wards.interval()}
    people, newcomer = demo.hospital()
    for ward, cell in wards.items():
        true = sum(person.ward == ward for person in (*people, newcomer))
        assert abs(cell["value"] - true) <= 10 * (cell["high"] - cell["low"])
    assert set(wards) == set(demo.WARDS)


def test_the_attack_on_the_vault_is_the_attack_on_the_table(story: demo.Story) -> None:
    first, second = (answer.rows[0] for answer in story.private.weeks)
    assert story.private.cases == second["ill"] - first["ill"]
    assert float(story.private.age) == pytest.approx(
        second["patients"] * second["age"] - first["patients"] * first["age"], abs=1e-6
    )


def test_the_best_guess_is_a_bound_that_is_reached(story: demo.Story) -> None:
    """Bayes' rule over all published pairs, ill and not ill: the larger likelihood wins."""
    ill = next(r for r in story.private.weeks[0].priced.recipes if r.aggregate.name == "ill")
    part = story.private.weeks[0].priced.parts[ill.measures[0]]
    assert part.law == LAW
    assert part.measure.role is Role.PAIR
    q = math.exp(-0.2549)
    most = [q ** abs(x) for x in range(-151, 151)]
    both = (max(most[x - 1] * most[y], most[x] * most[y - 1]) for x in range(1, 302) for y in range(1, 302))
    right = math.fsum(both) * ((1 - q) / (1 + q)) ** 2 / 2
    assert abs(float(story.private.best_guess) - right) < 1e-12


def test_the_simulated_guess_agrees_and_tells_a_scale_a_fifth_off(story: demo.Story) -> None:
    """False alarm 1e-9; power: 20 % more or less scale moves the share by over two slacks."""
    slack = hoeffding(MANY)
    assert abs(demo.guesses(LAW, MANY, 4) - float(demo.best_guess(LAW))) < slack
    for wrong in (Fraction(32, 5), Fraction(48, 5)):
        assert abs(float(demo.best_guess(DiscreteLaplace(wrong)) - demo.best_guess(LAW))) > slack
    assert abs(story.private.simulated_guess - float(story.private.best_guess)) < hoeffding(story.private.runs)


# --- 4 the budget


def test_the_budget_was_used_up_and_the_ledger_verified(story: demo.Story) -> None:
    private = story.private
    assert private.spent == private.budget == Fraction(3, 2)
    assert private.again_is_free
    assert private.refused == "this query costs epsilon 0.5; nothing is left of the budget"
    assert private.entries == 7  # the opening, three charges, three answers
    assert private.receipt.startswith("7:")
    assert float(private.belief.high) == pytest.approx(1 / (1 + math.exp(-1.5)))


def test_a_budget_that_does_not_refuse_would_be_seen(tmp_path: Path) -> None:
    with pv.create(tmp_path / "v", budget=pv.Budget(5)) as vault:
        columns = {"ill": pv.Boolean(), "age": pv.Integer(0, 100)}
        vault.add_table("patients", {"ill": [True], "age": [1]}, unit=None, columns=columns)
        assert demo.refusal(vault) == "not refused"


# --- what is shown


def test_the_page_fits_a_terminal(story: demo.Story) -> None:
    lines = demo.page(story, "demo.svg", PLAIN).splitlines()
    assert len(lines) <= 84
    assert max(map(len, lines)) <= 105
    assert all(line.replace("±", "").isascii() and line.isprintable() for line in lines)


def test_the_page_says_what_was_computed_and_where_to_go(story: demo.Story) -> None:
    text = demo.page(story, "folder/demo.svg", PLAIN)
    for words in (
        "2,436 patients, 4 ill", "2,437 patients, 5 ill", "the newcomer is ill", "the newcomer is 86 years old",
        "1/7 = 14.3 %", "78.6 %", "10,000 times", "right 56.4 % of the time", "epsilon 1.5 of 1.5 spent",
        "free, answered from the ledger", "refused: this query costs epsilon 0.5", "7 entries, verified",
        "between 18.2 % and 81.8 %", "a theorem, not a demo", "docs/privacy-promise.md", "docs/claims.md",
        "privet demo --files .", "folder/demo.svg",
        percent(story.uniform.simulated_certain), percent(story.private.simulated_guess),
        f"finds {story.private.cases} more cases",
    ):  # fmt: skip
        assert words in text, words


def test_no_result_is_printed_by_heart(story: demo.Story) -> None:
    """Another story gives another page."""
    other = demo.Story(
        exact=replace(story.exact, second=replace(story.exact.second, ill=4), ages=[12, 13]),
        uniform=replace(
            story.uniform, runs=77, weeks=11, proves_healthy=[-2, -1], proves_ill=[10, 11],
            certain_one_week=Fraction(1, 3), certain_all_weeks=Fraction(1, 8), simulated_certain=0.123,
            simulated_wrong=6,
        ),
        private=replace(
            story.private, cases=0, age=Fraction(12), best_guess=Fraction(2, 3), runs=66, simulated_guess=0.321,
            again_is_free=False, refused="not refused", spent=Fraction(1, 2), entries=99,
            belief=replace(story.private.belief, low=Fraction(1, 3), high=Fraction(2, 3)),
        ),
        table=replace(story.table, certain=3, data_sets=1234, right=False, still_certain=2, refused=False, people=9),
    )  # fmt: skip
    text = demo.page(other, "x.svg", PLAIN)
    for words in (
        "0 more case: the newcomer is healthy", "is 12 or 13 years old", "-2 or -1 is published only if healthy",
        "10 or 11 only if ill", "1/3 = 33.3 %", "12.5 % in 11 weeks", "77 times", "12.3 %", "wrong in 6",
        "0 more cases and a newcomer aged 12: both right, by luck", "right 66.7 % of", "66 times", "32.1 %",
        "[##########....................]  epsilon 0.5 of 1.5", "charged again", "refused: not refused", "99 entries",
        "between 33.3 % and 66.7 %", "the 9 (made-up) people", "1,234 data sets fit", "3 of 9 people, and not right",
        "finds 2 who would follow if all intervals held",
    ):  # fmt: skip
        assert words in text, words


def test_a_table_gives_seven_people_away_and_a_vault_does_not(story: demo.Story) -> None:
    table = story.table
    assert (table.people, table.certain, table.data_sets, table.right) == (7, 7, 1, True)
    assert 0 <= table.still_certain <= table_story.CROWD
    assert [row.group for row in table.rows if row.count is None] == ["65 and over"]
    text = demo.page(story, "x.svg", PLAIN)
    for words in (
        "Only one data set fits",
        "7 of 7 people, and right about everybody",
        "F 82 smokes, M 10, M 14, M 40",
    ):
        assert words in text
    numbers = story.numbers()["table"]
    assert numbers["records"][0] == {"sex": "F", "age": 9, "smokes": False}
    assert numbers["rows"][0] == {"group": "everybody", "count": 7, "median": 31, "mean": 35.0}


def test_answers_that_contradict_each_other_give_nobody_away(story: demo.Story) -> None:
    """Noise may make the two tables disagree about how many people there are."""
    first, second = story.table.answers
    few, many = (replace(first, noisy=tuple(tuple([n] * len(v)) for v in first.noisy)) for n in (-1000, 10_000))
    assert table_story.attack_answers((few, many)) == (0, True)
    text = demo.page(replace(story, table=replace(story.table, refused=True)), "x.svg", PLAIN)
    assert "finds nothing: no data set fits noisy numbers" in text
    assert second.columns == ("smokes", "people", "age")


def test_luck_is_told(story: demo.Story) -> None:
    one = replace(story.private, cases=1, age=Fraction(-900))
    assert "one of them right, by luck" in demo.page(replace(story, private=one), "x.svg", PLAIN)
    none = replace(story.private, cases=7, age=Fraction(-900))
    assert "a newcomer aged -900: both wrong" in demo.page(replace(story, private=none), "x.svg", PLAIN)


def test_colors_change_nothing_but_colors(story: demo.Story) -> None:
    plain, colored = (demo.page(story, "demo.svg", Pen(color=color)) for color in (False, True))
    assert "\x1b[1;31mis ill\x1b[0m" in colored
    assert re.sub(r"\x1b\[[0-9;]*m", "", colored) == plain


def test_numbers_for_programs_are_the_same(story: demo.Story) -> None:
    numbers = story.numbers()
    assert numbers["exact"]["second"] == {"patients": 2437, "ill": 5, "age": float(story.exact.second.age)}
    assert numbers["uniform"]["certain_one_week"] == 1 / 7
    assert numbers["private"]["weeks"][1]["rows"] == story.private.weeks[1].to_json()["rows"]
    assert numbers["private"]["simulated_guess"] == story.private.simulated_guess
    assert numbers["private"]["belief"]["prior"] == 0.5


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

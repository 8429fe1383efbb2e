"""Plans side by side: tables that are right where nothing was changed, attacks that find what was planted."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from privet import cli
from privet.anonymize.builders import suggest
from privet.anonymize.hierarchy_file import write_hierarchy
from privet.compare import Comparison, Measured, Way, compare_releases, comparison, ways
from privet.compare.counted import MOST_BINS, bins, error, pairs, shipped_tables, tables
from privet.compare.private import guesses, noisy_tables
from privet.errors import InvalidInputError
from privet.records import microdata
from privet.records.microdata import Microdata, RecordColumn
from privet.report.compare.page import _labels, page_of, plans_chart
from privet.report.compare.words import MEANING, ONLY, headline, row, setting
from privet.stats.intervals import Interval

QUASI = ["age", "sex", "town"]


def people(count: int = 1200, seed: int = 1) -> Microdata:
    random = np.random.default_rng(seed)
    age = random.integers(20, 70, count)
    columns = {
        "name": [f"p{one}" for one in range(count)],
        "age": [str(one) for one in age],
        "sex": random.choice(["F", "M"], count).tolist(),
        "town": random.choice(["Ulm", "Bonn", "Kiel", "Jena"], count).tolist(),
        "ill": np.where(random.random(count) < np.where(age >= 45, 0.8, 0.2), "yes", "no").tolist(),
    }
    return Microdata({name: microdata.column(name, texts) for name, texts in columns.items()}, count)


@pytest.fixture(scope="module")
def compared() -> Comparison:
    return compare_releases(people(), QUASI, "ill", ids=["name"])


def test_all_plans_are_measured(compared: Comparison) -> None:
    found = {way.name: way for way in compared.ways}
    assert not any(way.problem for way in compared.ways)
    assert found["as it is"].certain == found["as it is"].together == Interval(1.0, *_ends(found["as it is"].certain))
    dropped, five = found["ids dropped"], found["k = 5"]
    assert dropped.error == pytest.approx(0)
    assert dropped.alone == pytest.approx(_alone(people()), abs=0.1)
    assert dropped.certain is not None
    assert dropped.together is not None
    assert dropped.together.value >= dropped.certain.value > 0.5
    assert (five.alone, five.suppressed <= 0.05) == (0.0, True)
    assert found["k = 100"].ncp > five.ncp > 0
    noisy = found["noisy tables, epsilon 1"]
    assert (noisy.guarantee, noisy.ncp, noisy.alone) == ("epsilon 1", None, 0.0)
    assert noisy.together is not None
    assert noisy.together.value == 0
    assert 0 < noisy.error < 1


def _ends(interval: Interval | None) -> tuple[float, float]:
    assert interval is not None
    return interval.low, interval.high


def _alone(data: Microdata) -> float:
    keys: dict[tuple[str, ...], int] = {}
    rows = list(zip(*(data[name].listed() for name in QUASI), strict=True))[: len(data) // 2]
    for key in rows:
        keys[key] = keys.get(key, 0) + 1
    return sum(count == 1 for count in keys.values()) / len(rows)


def test_correlation_is_no_gain(compared: Comparison) -> None:
    """Illness goes with age in everybody: what k = 10 tells of people in it, it tells of those held out."""
    way = next(way for way in compared.ways if way.name == "k = 10")
    assert way.success is not None
    assert way.advantage is not None
    assert way.success.value > compared.baseline.high
    assert way.advantage.low < 0 < way.advantage.high
    dropped = next(way for way in compared.ways if way.name == "ids dropped")
    assert dropped.advantage is not None
    assert dropped.advantage.low > 0


def test_what_is_shown(compared: Comparison, tmp_path: Path) -> None:
    text = str(compared)
    assert all(len(line) <= 100 for line in text.splitlines())
    page = compared.report(tmp_path / "plans.html").read_text()
    assert "<svg" in page
    assert "privet" in compared._repr_html_()
    assert json.dumps(compared.to_json())
    assert compared.to_json()["ways"][1]["name"] == "ids dropped"


def test_labels_do_not_cover_each_other(compared: Comparison) -> None:
    rows = [{"name": "k = 5", "error": 0.1, "certain": 0.0}, {"name": "k = 6", "error": 0.1, "certain": 0.0}]
    one, other = _labels(rows, 1.0, (0.0, 1.0))
    assert abs(one["certain"] - other["certain"]) * 380 >= 17
    assert plans_chart(compared).to_dict()["width"] == 620


def test_plans_that_cannot_be_carried_out() -> None:
    found = compare_releases(people(60), QUASI, "ill", plans=ways(QUASI, "ill")[3:4])
    (way,) = found.ways
    assert way.name == "k = 100"
    assert way.problem
    assert headline(found) == "No plan that ships records could be carried out"
    assert way.problem in str(found)
    assert any(section.title == "What could not be done" for section in page_of(found).sections)
    assert row(way)[2:] == ("-",) * 9


def test_plans_of_ones_own_and_headlines() -> None:
    mine = Way(name="nothing but the secret", make=lambda data: Microdata(
        {one.name: one if one.name == "ill" else RecordColumn(one.name, one.codes * 0, ("*",)) for one in data},
        len(data),
    ))  # fmt: skip
    found = compare_releases(people(100), QUASI, "ill", plans=[mine])
    assert headline(found).startswith("Nobody is certain with nothing but the secret")
    some = Measured(name="k = 2", guarantee="none", error=0.5, together=Interval(0.25, 0.2, 0.3))
    one = Comparison(
        subject="x", quasi=("a",), sensitive="b", records=5, baseline=Interval(0.5, 0, 1), ways=(some,), seconds=1
    )
    assert headline(one) == "25.0 % of people are certain with k = 2, whose tables are wrong by 50.0 %"


# Tables


def test_tables_of_what_was_not_changed_are_right() -> None:
    data = people(300).only([*QUASI, "ill"])
    binned = {one.name: bins(one) for one in data}
    true = tables(data, binned)
    assert list(true) == pairs([*QUASI, "ill"])
    assert all(table.sum() == pytest.approx(1) for table in true.values())
    assert error(true, shipped_tables(data, data, binned)) == pytest.approx(0)
    rows = list(zip(data["sex"].listed(), data["town"].listed(), strict=True))
    place = {name: {text: code for code, text in enumerate(data[name].texts)} for name in ("sex", "town")}
    for sex, town in set(rows):
        cell = true["sex", "town"][place["sex"][sex], place["town"][town]]
        assert cell == pytest.approx(rows.count((sex, town)) / 300)


def test_a_generalized_value_is_spread_evenly() -> None:
    data = Microdata(
        {name: microdata.column(name, list(texts)) for name, texts in {"x": "abcc", "y": "ppqq"}.items()}, 4
    )
    shipped = Microdata({"x": microdata.column("x", ["ab", "ab", "*", "*"]), "y": data["y"]}, 4)
    binned = {one.name: bins(one) for one in data}
    found = shipped_tables(data, shipped, binned)["x", "y"]
    assert found == pytest.approx(np.array([[0.25, 1 / 6], [0.25, 1 / 6], [0.0, 1 / 6]]))


def test_bins() -> None:
    many = microdata.column("x", [str(one) for one in range(100)])
    assert bins(many).count == MOST_BINS
    place = dict(zip(many.texts, bins(many).of.tolist(), strict=True))
    assert (place["0"], place["99"]) == (0, MOST_BINS - 1)
    assert all(place[str(one)] <= place[str(one + 1)] for one in range(99))
    with_missing = microdata.column("x", [*[str(one) for one in range(100)], None])
    assert bins(with_missing).of[-1] == MOST_BINS - 1
    texts = microdata.column("x", [f"t{one:03}" for one in range(100)])
    assert sorted(set(bins(texts).of.tolist())) == list(range(MOST_BINS))


def test_noisy_tables_are_near_the_truth_where_epsilon_is_large() -> None:
    data = people(400).only(["sex", "town", "ill"])
    binned = {one.name: bins(one) for one in data}
    noisy = noisy_tables(data, binned, Fraction(900))
    assert error(tables(data, binned), noisy) < 0.01
    found = guesses(noisy, data, np.arange(400), binned, "ill")
    assert set(found.tolist()) <= {0, 1}


def test_guesses_from_tables_are_those_of_bayes() -> None:
    """One known column: the most frequent value of its row."""
    data = Microdata({"x": microdata.column("x", list("aabb")), "s": microdata.column("s", list("uuvu"))}, 4)
    binned = {one.name: bins(one) for one in data}
    noisy = {("x", "s"): np.array([[0.5, 0.0], [0.05, 0.45]])}
    assert guesses(noisy, data, np.arange(4), binned, "s").tolist() == [0, 0, 1, 1]


# Input, and the command line


@pytest.mark.parametrize(
    ("count", "quasi", "sensitive"),
    [(10, QUASI, "ill"), (50, [], "ill"), (50, ["ill"], "ill"), (50, ["sex", "sex"], "ill")],
)
def test_wrong_input(count: int, quasi: list[str], sensitive: str) -> None:
    with pytest.raises(InvalidInputError):
        compare_releases(people(count), quasi, sensitive)
    with pytest.raises(InvalidInputError):
        compare_releases(people(50), QUASI, "ill", epsilon=0)


def test_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = people(400)
    microdata.write(data, tmp_path / "people.csv")
    folder = tmp_path / "hierarchies"
    folder.mkdir()
    for name in QUASI:
        write_hierarchy(suggest(data[name]), folder / f"{name}.csv")
    words = ["compare", str(tmp_path / "people.csv"), "--quasi", ",".join(QUASI), "--sensitive", "ill"]
    assert cli.main([*words, "--hierarchies", str(folder), "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["result"]["ways"]) == 9
    assert cli.main([*words, "--suppress", "0.1"]) == 0
    assert "The report" not in capsys.readouterr().out
    assert cli.main([*words, "--out", str(tmp_path / "p.html")]) == 0
    assert "The report is in" in capsys.readouterr().out
    assert (tmp_path / "p.html").exists()
    assert cli.main([*words, "--epsilon", "none"]) == 2


@pytest.mark.skipif(shutil.which("chromium") is None, reason="no chromium here; `make system-deps` installs it")
def test_the_page_fits_a_browser(compared: Comparison, tmp_path: Path) -> None:
    from playwright.sync_api import sync_playwright  # noqa: PLC0415

    path = compared.report(tmp_path / "plans.html")
    with sync_playwright() as play:
        browser = play.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--headless", "--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_page()
        said: list[str] = []
        page.on("console", lambda message: said.append(message.text))
        page.goto(path.as_uri(), wait_until="networkidle")
        wide = []
        for width in (1100, 390):
            page.set_viewport_size({"width": width, "height": 900})
            wide.append(page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))
        browser.close()
    assert (wide, said) == ([0, 0], [])


def test_the_guess_from_noisy_tables_sees_no_record_of_the_data() -> None:
    """Which value of a bin is guessed is taken from people who are not in the data: the tables do not tell."""
    secret = [str(number % 100) for number in range(400)]
    data = Microdata({"x": microdata.column("x", ["a"] * 400), "s": microdata.column("s", secret)}, 400)
    trial = comparison.divided(data, ["x"], "s", 0)
    before = comparison._bin_names(trial).tolist()
    shifted = data["s"].codes.copy()
    shifted[trial.shipped] = shifted[trial.shipped][0]
    changed = {**data.columns, "s": RecordColumn("s", shifted, data["s"].texts)}
    assert comparison._bin_names(replace(trial, data=Microdata(changed, 400))).tolist() == before


def test_people_who_are_not_in_the_data_are_known_by_the_same_words() -> None:
    """That a smith is a craftsman is in the hierarchy, though no smith was shipped: the control is not worse for it."""

    class Jobs:
        levels = (("baker", "smith"), ("craft", "craft"))

    original = Microdata({"job": microdata.column("job", ["baker", "smith"])}, 2).only(["job"])
    shipped = Microdata({"job": microdata.column("job", ["craft"])}, 1)
    first = Microdata({"job": RecordColumn("job", original["job"].codes[:1], original["job"].texts)}, 1)
    trial = comparison.divided(people(40), QUASI, "ill", 0)
    told = [comparison._agreement(replace(trial, quasi=("job",), hierarchies=levels), first, shipped)["job"].tolist()
            for levels in (None, {"job": Jobs})]  # fmt: skip
    assert told == [[[True], [False]], [[True], [True]]]


def test_the_page_does_not_promise_more_than_the_definition(compared: Comparison) -> None:
    assert "e^epsilon" in ONLY
    assert any("list of values" in text for text in MEANING)
    assert "as many held out" not in setting(compared)

"""Leak against noise: the limits against the trade-off curve itself, and attacks that stay below them."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.refusals import raises_code, refused

from privet import cli
from privet.compare.leak_runs import deviation, law_for, most_auc, most_right
from privet.compare.leakage import leak, made
from privet.core.laws import DiscreteGaussian, DiscreteLaplace
from privet.errors import InvalidInputError
from privet.interpret import best_true_positive_rate, group_delta

PRICES = [
    (Fraction(1, 10), Fraction(0), 1), (Fraction(1), Fraction(1, 100), 1), (Fraction(3), Fraction(1, 10), 2),
    (Fraction(200), Fraction(1, 10**6), 1),
]  # fmt: skip


@pytest.mark.parametrize(("epsilon", "delta", "steps"), PRICES)
def test_limits_are_those_of_the_trade_off_curve(epsilon: Fraction, delta: Fraction, steps: int) -> None:
    far, leaked = steps * epsilon, group_delta(steps, epsilon, delta)
    rates = [Fraction(step, 400) for step in range(401)]
    curve = [float(best_true_positive_rate(rate, far, leaked)) for rate in rates]
    area = sum(curve[1:-1]) / 400 + (curve[0] + curve[-1]) / 800  # a concave curve: a little less than it
    assert area <= most_auc((epsilon, delta), steps) <= area + 0.003
    for rate in (0.5, 0.1):
        best = max(rate * y + (1 - rate) * (1 - float(x)) for x, y in zip(rates, curve, strict=True))
        assert best <= most_right((epsilon, delta), steps, rate) <= best + 0.005


def test_a_known_limit() -> None:
    assert most_auc((Fraction(1), Fraction(0)), 1) == pytest.approx(math.e / (1 + math.e))
    assert most_auc((Fraction(1), Fraction(0)), 2) == pytest.approx(math.e**2 / (1 + math.e**2))
    assert most_right((Fraction(1), Fraction(0)), 1, 0.5) == pytest.approx(math.e / (1 + math.e))
    assert most_auc((Fraction(900), Fraction(0)), 2) == 1


def test_noise_has_the_sensitivity_of_all_columns() -> None:
    assert law_for((Fraction(2), Fraction(0)), (1, 1, 1000)) == DiscreteLaplace(Fraction(501))
    law = law_for((Fraction(2), Fraction(1, 10**6)), (1, 2))
    assert isinstance(law, DiscreteGaussian)
    assert deviation(law) == math.sqrt(law.variance)
    chances = {x: math.exp(-abs(x) / 2) for x in range(-200, 201)}
    spread = math.sqrt(sum(x**2 * p for x, p in chances.items()) / sum(chances.values()))
    assert deviation(DiscreteLaplace(Fraction(2))) == pytest.approx(spread)
    assert deviation(None) == 0


def test_membership_falls_with_noise_and_stays_under_the_limit() -> None:
    data, heard = made(200, 200, seed=3), []
    found = leak(
        data, columns=list(data), epsilons=["0.5", 100, 1000], runs=60, progress=lambda *news: heard.append(news)
    )
    strong, weak, weakest = found.numbers["levels"]
    assert heard[1] == ("attacking releases", 1, 60)
    assert found.numbers["exact"]["value"] > 0.6  # .70 over other seeds, with a deviation of .017
    assert strong["success"]["low"] < strong["most"] < 0.63  # and the attack is near 1/2: 10 standard deviations away
    assert abs(strong["success"]["value"] - 0.5) < 0.06
    assert weakest["success"]["value"] > strong["success"]["value"] + 0.05
    assert weak["error"] == pytest.approx(math.sqrt(2) * 200 / 100 / 100, rel=0.05)
    assert found.tables[0].rows[-1][:3] == ("∞", "none", "0 %")
    assert "not private" in found.lead
    assert "at epsilon 0.5 it has an AUC of" in found.headline
    assert found.pictures[0].curves[-1].style == "bound"


def test_gaussian_noise_and_the_other_relation() -> None:
    data = made(60, 5)
    kind: dict[str, Any] = {"columns": list(data), "epsilons": [1], "delta": "1e-6", "runs": 40}
    both = [leak(data, neighbors=relation, **kind) for relation in ("replace", "add-remove")]
    levels = [found.numbers["levels"][0] for found in both]
    assert levels[0]["error"] == levels[1]["error"]
    assert levels[0]["most"] < levels[1]["most"]
    assert both[0].tables[0].rows[0][1] == "Gaussian"
    assert any("two steps" in line for line in both[1].assumptions)


def test_subset_sums_give_all_secrets_until_there_is_noise() -> None:
    data, heard = made(60, 1, seed=1), []
    found = leak(
        data, columns=["a1"], attack="subsets", epsilons=[1, 10**3], runs=40,
        progress=lambda *news: heard.append(news),
    )  # fmt: skip
    assert heard[-1] == ("attacking releases", 39, 40)
    again = leak(data, columns=["a1"], attack="subsets", epsilons=[1], runs=40)  # the same people, other noise
    assert again.numbers["exact"] == found.numbers["exact"]
    strong, weak = found.numbers["levels"]
    assert found.numbers["exact"]["value"] == 1
    assert strong["success"]["low"] <= strong["most"] < 0.8
    assert weak["success"]["value"] > 0.9
    assert strong["error"] == pytest.approx(math.sqrt(2) * 120 / 30, rel=1e-3)
    assert found.numbers["blind"] == 33 / 60
    assert "% of secrets" in found.headline
    assert asdict(found.pictures[1].curves[0])["x"] == (1, 1000)


def _file(folder: Path, rows: int = 60) -> Path:
    random = np.random.default_rng(0)
    lines = [f"{random.choice(['yes', 'No'])},{random.integers(0, 120)},{random.normal():.3f}" for _ in range(rows)]
    path = folder / "people.csv"
    path.write_text("\n".join(["smoker,age,score", *lines, "yes,,0.5", ""]), encoding="utf-8")
    return path


def test_columns_of_a_file(tmp_path: Path) -> None:
    found = leak(_file(tmp_path), columns=["smoker", ("age", 0, 100), ("score", -2, "2.5")], epsilons=[5], runs=40)
    assert found.subject == "people.csv"
    assert found.numbers["people_in_a_release"] == 30  # two thirds of three quarters; who has no age is left out
    assert found.numbers["levels"][0]["error"] == pytest.approx(math.sqrt(2) * 3 / 5 / 30, rel=1e-3)


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        ({"columns": []}, "wrong-length: are 0 columns"),
        ({"columns": ["a1", "a1"]}, "wrong-length: are 2 columns"),
        ({"columns": ["a9"]}, "unknown-column"),
        ({"epsilons": []}, "missing-price"),
        ({"epsilons": [0]}, "not-positive"),
        ({"attack": "guessing"}, "unknown-choice: attack"),
        ({"attack": "subsets", "columns": ["a1", "a2"]}, "not-binary: one"),
        ({"neighbors": "nobody"}, "unknown-choice: neighbors"),
        ({"runs": 3}, "too-small: 40"),
        ({"seed": -1}, "too-small: least 0"),
        ({"columns": [("a1", 1, 0)]}, "reversed-range: 'a1'"),
    ],
)
def test_what_is_refused(wrong: dict[str, Any], problem: str) -> None:
    with raises_code(InvalidInputError, problem):
        leak(made(60, 2), **{"columns": ["a1"], "epsilons": [1], "runs": 40} | wrong)


def test_data_that_are_refused(tmp_path: Path) -> None:
    path = _file(tmp_path)
    with raises_code(InvalidInputError, "not-binary: 'age'"):
        leak(path, columns=["age"])
    with raises_code(InvalidInputError, "not-a-number"):
        leak(path, columns=[("smoker", 0, 1)])
    with raises_code(InvalidInputError, "too-few: 12"):
        leak({"a": [0, 1] * 6 + [None] * 50}, columns=["a"])
    with raises_code(InvalidInputError, "wrong-length: different"):
        leak({"a": [0, 1], "b": [1]}, columns=["a", "b"])
    with raises_code(InvalidInputError, "too-large"):
        made(10**11, 5)


def test_of_many_people_most_are_in_every_release() -> None:
    data = made(1200, 3)
    found = leak(data, columns=list(data), epsilons=[1], runs=40)
    assert found.numbers["people_in_a_release"] == 700  # 300 are known to the attacker, 200 of a pool of 600 are out
    assert found.numbers["exact"]["value"] < 0.6  # 3 attributes of 700 people say next to nothing


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page, few = tmp_path / "leak.html", ["--runs", "40", "--epsilons", "1, 5"]
    words = ["attack", "leak", str(_file(tmp_path)), "--columns", "smoker,age:0:100"]
    assert cli.main([*words, *few, "--out", str(page)]) == 0
    assert "Leak and error" in page.read_text()
    capsys.readouterr()
    assert cli.main(["attack", "leak", "--made", "60,3", *few, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["result"]["runs"] == 40
    for wrong in (["--made", "60"], ["--made", "60,x"], [], [*words[2:], "--made", "60,3"], [str(tmp_path / "x.csv")]):
        refused(["attack", "leak", *wrong], capsys)

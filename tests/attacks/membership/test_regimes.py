"""Error regimes: the forecasts against attacks on made data, and what is said of them.

Simulated means have margins of 5 standard deviations: a false alarm in a million or less, each.
"""

from __future__ import annotations

import json
import math
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.refusals import raises_code, refused

from privet import cli
from privet.attacks.membership.regimes import (
    KINDS,
    Point,
    attack_regimes,
    gaussian_error,
    laplace_error,
    membership_auc,
    membership_aucs,
    membership_error,
    reconstruction_error,
    recovered_share,
    recovered_shares,
    sampling_error,
)
from privet.core.accountant import Budget
from privet.errors import InvalidInputError
from privet.report.findings.page import page_of


def test_forecasts_are_the_known_ones() -> None:
    assert membership_auc(100, 1000, 0) == pytest.approx(0.989, abs=0.003)  # measured, as a public anchor
    assert membership_auc(1000, 3000, 0) == pytest.approx(0.893, abs=0.004)
    least_squares = 0.5 * math.erfc(-0.25 * math.sqrt(3) / 0.25 / math.sqrt(2))  # 4 answers a person, error .25 sqrt n
    assert recovered_share(1000, 4000, 0.25 / math.sqrt(1000)) == pytest.approx(least_squares, abs=0.01)
    assert recovered_share(1000, 4000, 0.25 / math.sqrt(1000)) > least_squares  # ridge is never worse
    assert recovered_share(1000, 2000, 0) == 1
    assert sampling_error(100) == 0.05


@pytest.mark.parametrize("ratio", [0.4, 1.0, 3.0, 30.0])
def test_an_error_and_what_it_allows_are_inverse(ratio: float) -> None:
    people, d = 500, ratio * 500
    if ratio >= 1:
        assert membership_auc(people, d, membership_error(people, d)) == pytest.approx(0.75)
    else:
        assert membership_error(people, d) == 0
        assert membership_auc(people, d, 0) < 0.75
    assert recovered_share(people, d, reconstruction_error(people, d)) == pytest.approx(0.75)
    assert reconstruction_error(people, 0.3 * people) == 0
    assert recovered_share(people, 0.3 * people, 0) < 0.75


def test_attacks_do_as_forecast() -> None:
    """Means of 12 runs. Over 40 other seeds their standard deviations are .0125 at most, and they are .0023 from the
    forecast on average."""
    people, ratio, errors, runs = 100, 2.0, (0.1, 0.4, 1.5), 12
    random = np.random.default_rng(7)
    aucs = np.array([membership_aucs(people, ratio, errors, random) for _ in range(runs)]).mean(axis=0)
    shares = np.array([recovered_shares(people, ratio, errors, random) for _ in range(runs)]).mean(axis=0)
    scaled = [error / math.sqrt(people) for error in errors]
    for error, auc, share in zip(scaled, aucs, shares, strict=True):
        assert abs(auc - membership_auc(people, 200, error)) < 0.06
        assert abs(share - recovered_share(people, 200, error)) < 0.065
    assert aucs[0] > aucs[2] + 0.1
    assert shares[0] > shares[2] + 0.1


def test_noise_is_that_of_privet() -> None:
    for epsilon in (Fraction(1), Fraction(7)):
        chance = {x: math.exp(-abs(x) * epsilon / 3) for x in range(-400, 401)}
        variance = sum(x**2 * p for x, p in chance.items()) / sum(chance.values())
        assert laplace_error(50, 3, epsilon) == pytest.approx(math.sqrt(variance) / 50)
    assert laplace_error(1000, 1000, Fraction(1)) == pytest.approx(math.sqrt(2), rel=1e-6)
    assert laplace_error(10, 1, Fraction(10**5)) < 1e-300
    rho = Budget(1, "1e-6").rho
    assert gaussian_error(100, 50, Fraction(1), Fraction(1, 10**6)) == pytest.approx(math.sqrt(25 / rho) / 100)


def test_what_is_said() -> None:
    heard: list[tuple[str, int, int]] = []
    found = attack_regimes(
        people=200, statistics=300, epsilon=1, delta="1e-6", progress=lambda *news: heard.append(news)
    )
    limits = found.numbers["errors"]
    assert list(limits) == ["sampling", "membership", "reconstruction", "laplace", "gaussian"]
    assert found.headline == f"300 means of 200 people: these attacks work while the error of a mean is below" \
        f" {max(limits['membership'], limits['reconstruction']):.2g}"  # fmt: skip
    assert heard[0] == ("attacking made data", 0, 8)
    assert {point["statistics"] for point in found.numbers["points"]} == {20, 40, 100, 200, 300, 400, 1000, 2000}
    assert found.tables[1].title == "The attacks on made data, 300 means"
    assert "This epsilon needs an error of 2.1 (Laplace) or " in found.tables[0].text
    assert [curve.name for curve in found.pictures[0].curves][-4:] == list(KINDS)
    assert sum(len(curve.x) for curve in found.pictures[0].curves if curve.style == "points") == 64
    assert page_of(found).verdict == "neutral"
    assert page_of(found).title == "Error regimes of 200 people and 300 means"
    assert not any("made with" in line for line in found.assumptions)
    assert json.dumps(found.to_json())


@pytest.mark.proof
def test_few_statistics_and_many_people() -> None:
    found = attack_regimes(people=3000, statistics=5)
    assert found.headline == "5 means of 3,000 people: these attacks stay below 75 %, even on exact means"
    assert "Membership does not work, even on exact means." in found.tables[0].text
    assert found.tables[0].rows[1][2:] == ("not even 0", "–")
    assert found.tables[1].title == "The attacks on made data, 3,000 means"
    assert "made with 2,000 people for membership and 400 for reconstruction" in found.assumptions[-1]
    assert found.numbers["epsilon"] is None
    pure = attack_regimes(people=20, statistics=20, epsilon=2)
    assert list(pure.numbers["errors"])[-1] == "laplace"


def test_a_point_is_one_of_four_kinds() -> None:
    point = Point(statistics=1, error=1, auc=0.8, auc_forecast=0, recovered=0.8, recovered_forecast=0)
    kinds = [replace(point, auc=auc, recovered=share).kind for auc in (0.8, 0.7) for share in (0.8, 0.7)]
    assert kinds == [KINDS[0], KINDS[3], KINDS[2], KINDS[1]]


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        ({"people": 9}, "too-small: 10"),
        ({"statistics": 0}, "too-small: statistics … least 1"),
        ({"epsilon": 0}, "not-a-number|not-positive: epsilon"),
        ({"epsilon": "one"}, "not-a-number|not-positive: epsilon"),
        ({"epsilon": 10**6}, "out-of-range: epsilon"),
        ({"epsilon": None, "delta": "1e-6"}, "missing-price"),
        ({"delta": 1}, "out-of-range: delta"),
        ({"people": 10**23}, "too-many"),
        ({"seed": -1}, "too-small: least 0"),
    ],
)
def test_what_is_refused(wrong: dict[str, Any], problem: str) -> None:
    with raises_code(InvalidInputError, problem):
        attack_regimes(**{"people": 100, "statistics": 10, "epsilon": 1} | wrong)


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "regimes.html"
    words = ["attack", "regimes", "--people", "50", "--statistics", "100"]
    assert cli.main([*words, "--epsilon", "1", "--delta", "1e-6", "--out", str(page)]) == 0
    assert "Where attacks stop" in page.read_text()
    assert capsys.readouterr().out.startswith("100 means of 50 people: these attacks work while")
    assert cli.main([*words, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["result"]["errors"]["sampling"] == pytest.approx(0.5 / math.sqrt(50))
    refused([*words, "--delta", "1e-6"], capsys)

"""What `meaning` says in words, JSON and pictures, and what it refuses."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any
from xml.etree import ElementTree

import altair as alt
import pytest
from support.refusals import expect_code

import privet as pv
from privet import interpret
from privet.errors import InvalidInputError
from privet.interpret import best_true_positive_rate
from privet.report.meaning.chart import _corners
from privet.report.meaning.text import NO_POSTERIOR
from privet.report.terminal import Pen, ceiling, share_at_least, share_at_most


@pytest.mark.parametrize(
    ("share", "most", "least"),
    [
        ("0", "0 %", "0 %"),
        ("0.01", "1 %", "1 %"),
        ("0.123456", "12.4 %", "12.3 %"),
        ("0.000012345", "0.00124 %", "0.00123 %"),
        ("0.00000012345", "1.24e-5 %", "1.23e-5 %"),
        ("0.999955", "99.9955 %", "99.9955 %"),
        ("0.99995555", "99.99556 %", "99.99555 %"),
        ("0.99999999999", "100 %", "99.999999 %"),
        ("1", "100 %", "100 %"),
    ],
)
def test_percentages(share: str, most: str, least: str) -> None:
    assert (share_at_most(Fraction(share)), share_at_least(Fraction(share))) == (most, least)


def test_long_numbers_are_short_in_print() -> None:
    assert [ceiling(Fraction(x)) for x in ("1", "730", "2.7182", "1234567", "12345678", "1e130")] == [
        "1", "730", "2.72", "1240000", "1.24e+7", "1e+130",
    ]  # fmt: skip


CASES: list[dict[str, Any]] = [
    {"epsilon": 1, "prior": 0.01},
    {"epsilon": 1},
    {"epsilon": 0.1, "delta": 1e-6, "prior": 0.3},
    {"epsilon": 5, "about": "value", "prior": "0.999999999999", "groups": [1, 10**9, 3, 4, 5, 6]},
    {"epsilon": 5, "delta": "0.1", "about": "value", "groups": ()},
    {"epsilon": 300, "delta": "0.123456", "about": "value", "groups": [10**9] * 9},
    {"epsilon": "1e-400", "prior": "1e-400", "neighbors": "replace"},
    {"epsilon": "1/3", "prior": "2/3", "neighbors": "replace", "about": "value"},
]


@pytest.mark.parametrize("case", CASES)
def test_the_text_fits_a_terminal_and_is_plain(case: dict[str, Any]) -> None:
    text = str(pv.meaning(**case))
    lines = text.splitlines()
    assert len(lines) <= 40
    assert max(map(len, lines)) <= 100
    assert text.isascii()
    assert "\x1b" not in text


def test_the_text_starts_with_people_and_tells_the_limits() -> None:
    text = str(pv.meaning(epsilon=1, prior=0.01))
    assert "Somebody who was 1 % sure that this person is in the table\n   can be at most 2.68 % sure" in text
    assert text.index("Somebody") < text.index("Which epsilon? Not ours to choose")
    assert "lecture notes S1, S3, S4" in text
    assert "twice the average age" in text
    assert "a factor of at most 2.72" in text
    assert "\x1b[1m" in pv.meaning(epsilon=1).text(Pen(color=True))
    assert "and 2 more groups" in str(pv.meaning(epsilon=1, groups=range(1, 7)))
    assert "two steps" in str(pv.meaning(epsilon=1, about="value"))


def test_with_delta_there_is_no_limit_on_beliefs_and_the_text_says_why() -> None:
    asked = pv.meaning(epsilon=1, delta="1e-6", prior=0.01)
    assert (asked.posterior, asked.examples, asked.odds_factor) == (None, (), None)
    assert NO_POSTERIOR[0] in str(asked)
    told = asked.to_json()
    assert told["posterior"] is None
    assert told["no_posterior_because"].startswith("No limit can be given")
    assert pv.meaning(epsilon=1).to_json()["no_posterior_because"] is None


def test_json_is_complete_and_plain() -> None:
    told = json.loads(json.dumps(pv.meaning(epsilon="0.1", prior="0.5", delta=0).to_json(), allow_nan=False))
    assert (told["epsilon"], told["delta"], told["prior"]) == (0.1, 0.0, 0.5)
    assert (told["neighbors"], told["about"]) == ("add-remove", "membership")
    assert told["effective"] == {"epsilon": pytest.approx(0.1), "delta": 0.0}
    assert told["posterior"]["prior"] == 0.5
    assert 0.475 < told["posterior"]["low"] < 0.476
    assert 0.524 < told["posterior"]["high"] < 0.525
    assert [group["people"] for group in told["groups"]] == [2, 5, 10]
    assert told["useful_from"] == 10
    assert {line["epsilon"] for line in told["guidance"]} == {"0.01 to 1", "0.1", "0.5 to 5"}
    assert len(told["not_promised"]) == 2
    assert pv.meaning(epsilon=1).to_json()["prior"] is None


@pytest.mark.parametrize("case", CASES[:5])
def test_the_picture_shows_what_holds(case: dict[str, Any]) -> None:
    asked = pv.meaning(**case)
    assert isinstance(asked.chart(), alt.HConcatChart)
    assert asked.chart().to_dict()["hconcat"]  # Altair compares the chart with its schema
    words = "".join(ElementTree.fromstring(asked.svg()).itertext())
    assert ("What somebody can come to believe" in words) is (asked.delta == 0)
    assert ("Groups are protected less" in words) is (asked.delta > 0)
    one_percent = asked.trade_off[1].true_positive_rate
    assert f"1 % false alarms: at most {share_at_most(one_percent)} true" in words
    assert ("before:" in words) is (asked.posterior is not None)


def test_the_curve_in_the_picture_is_the_curve() -> None:
    """Straight lines between the corners meet the bound everywhere."""
    for epsilon, delta in itertools.product(map(Fraction, ("0.001", "1", "20")), map(Fraction, ("0", "1e-9", "0.3"))):
        corners = [(row["false"], row["true"]) for row in _corners(epsilon, delta)]
        for rate in map(Fraction, ("0", "0.01", "0.25", "0.5", "0.9", "1")):
            (x0, y0), (x1, y1) = next(pair for pair in itertools.pairwise(corners) if pair[0][0] <= rate <= pair[1][0])
            drawn = y1 if x0 == x1 else y0 + (y1 - y0) * (float(rate) - x0) / (x1 - x0)
            assert math.isclose(drawn, best_true_positive_rate(rate, epsilon, delta), abs_tol=1e-9)


@pytest.mark.parametrize("delta", [0, 1e-6])
def test_a_notebook_shows_the_picture_and_the_main_figures(delta: float) -> None:
    page = pv.meaning(epsilon=1, delta=delta, prior=0.01)._repr_html_()
    root = ElementTree.fromstring(page)
    assert root.find("{http://www.w3.org/2000/svg}svg") is not None
    words = "".join(root.itertext())
    assert "at most 73.2 %" in words
    assert ("2.68 % sure after" in words) is (delta == 0)
    assert ("with probability up to delta" in words) is (delta > 0)


def test_it_is_a_value() -> None:
    assert pv.meaning(epsilon=1) == pv.meaning(epsilon="1.0")
    assert pv.meaning is interpret.meaning
    with pytest.raises(AttributeError):
        pv.meaning(epsilon=1).epsilon = 2  # type: ignore[misc]
    with pytest.raises(TypeError):
        pv.meaning()  # type: ignore[call-arg]  there is no default epsilon


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        ({"epsilon": 0}, "not-positive: above 0"),
        ({"epsilon": float("nan")}, "not-finite"),
        ({"epsilon": 301}, "too-large: 301"),
        ({"delta": 1}, "out-of-range: least 0 … not 1"),
        ({"delta": -0.1}, "out-of-range: least 0"),
        ({"prior": 0}, "out-of-range: between 0 … 1"),
        ({"prior": 1}, "out-of-range: between 0 … 1"),
        ({"neighbors": "both"}, "unknown-choice: 'add-remove' … 'replace' … 'both'"),
        ({"neighbors": ["replace"]}, "unknown-choice: 'add-remove' … 'replace'"),
        ({"about": None}, "unknown-choice: membership"),
        ({"groups": [0]}, "too-small: least 1"),
        ({"groups": [2.5]}, "not-whole"),
        ({"groups": "25"}, "not-whole"),
        ({"groups": 5}, "not-a-list: not 5"),
        ({"groups": [10**9 + 1]}, "too-large: 1,000,000,000"),
    ],
)
def test_bad_input_gets_one_clear_error(wrong: dict[str, Any], problem: str) -> None:
    ask: Callable[..., Any] = pv.meaning
    with pytest.raises(InvalidInputError) as caught:
        ask(**{"epsilon": 1, **wrong})
    expect_code(problem, caught.value)

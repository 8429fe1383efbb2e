"""A few things known of a person against what many did: found if there, left alone if not."""

from __future__ import annotations

import math

import numpy as np
import pytest
from support.made_linkage import table, world
from support.refusals import raises_code

from privet.attacks import attack_scoreboard
from privet.attacks.linkage.scoreboard import Names, decoy_rankings, events_of, points_of, quantile, ranked
from privet.errors import InvalidInputError
from privet.report.findings.page import page_of
from privet.report.page import to_html

NAMES = Names(who="person", item="item", value="stars", date="day")
DETAILS = {"value": "stars", "date": "day"}


def test_people_are_found_and_strangers_are_not() -> None:
    made = world()
    found = attack_scoreboard(made.released, made.points, target="target", truth="truth", rate=0.05, **DETAILS)
    numbers = found.numbers
    assert (numbers["targets"], numbers["table_people"]) == (120, 340)
    assert numbers["right"] >= 50  # of 60 who are there
    assert numbers["matched"] - numbers["right"] <= 9  # of 60 who are not, at a rate of 5 %: chance of more below 1e-3
    assert numbers["control"]["low"] <= 0.05
    assert found.score is not None
    assert found.score.success.low > 0.8
    assert found.score.baseline.value == 1 / 340
    first = found.findings[0]
    assert first.claim.startswith("target t")
    assert first.evidence[0].startswith("item i")
    assert "standard deviations, above" in first.reasoning
    assert f"{numbers['matched']} of 120 people are found by what is known of them, {numbers['right']} of" in str(found)
    assert "matched: " in to_html(page_of(found))


def test_without_the_truth_and_without_values() -> None:
    made = world(known=12)
    plain = attack_scoreboard(made.released, made.points, target="target", rate=0.05)
    assert plain.score is None
    assert "right" not in plain.numbers
    assert plain.numbers["matched"] > 30
    assert plain.headline.endswith("are found by what is known of them")


def test_scores_are_as_defined() -> None:
    """By one pair of rows after another."""
    made = world(people=30, items=40, outside=5, known=4)
    events, points = events_of(made.released, NAMES), points_of(made.points, made.released["item"], _of_points())
    found = ranked(events, points, (1.5, 30.0), lambda *_: None)
    support = np.bincount(events.item, minlength=40)
    for target in range(points.targets):
        scores = np.zeros(events.people)
        for at in np.flatnonzero(points.target == target):
            for event in np.flatnonzero(events.item == points.item[at]):
                likeness = math.exp(-abs(points.value[at] - events.value[event]) / 1.5)
                likeness += math.exp(-abs(points.date[at] - events.date[event]) / 30)
                scores[events.person[event]] += likeness / 2 / math.log(max(support[points.item[at]], 2))
        order = np.sort(scores)
        assert found.score[target] == pytest.approx(order[-1])
        assert found.second[target] == pytest.approx(order[-2])
        if order[-1] > 0:
            assert scores[found.best[target]] == pytest.approx(order[-1])
            assert found.eccentricity[target] == pytest.approx((order[-1] - order[-2]) / scores.std())


def _of_points() -> Names:
    return Names(who="target", item="item", value="stars", date="day")


def test_a_decoy_is_not_in_the_table_that_it_is_scored_against(monkeypatch: pytest.MonkeyPatch) -> None:
    made = world(people=50, outside=10)
    events, points = events_of(made.released, NAMES), points_of(made.points, made.released["item"], _of_points())
    monkeypatch.setattr("privet.attacks.linkage.scoreboard.CELLS", 200)  # several at a time, not all
    held, spare = decoy_rankings(events, points, 15, (1.5, 30.0), lambda *_: None)
    assert len(held) == len(spare) == 15
    itself = ranked(events, points, (1.5, 30.0), lambda *_: None)
    assert np.median(np.concatenate([held, spare])) < np.median(itself.eccentricity)


def test_the_threshold_is_the_rank_that_keeps_the_rate() -> None:
    """Of D + 1 in random order the last exceeds the k-th smallest of the others in D + 1 - k of D + 1 cases."""
    decoys = np.arange(1.0, 100.0)  # 99 of them
    assert quantile(decoys, 0.05) == 95
    assert quantile(decoys, 0.01) == 99
    assert quantile(decoys, 0.001) == math.inf
    made = world(people=40, outside=5)
    few = attack_scoreboard(made.released, made.points, target="target", decoys=10, **DETAILS)
    assert few.numbers["matched"] == 0
    assert few.numbers["threshold"] is None
    assert few.headline == "0 of 10 people are found by what is known of them"


def test_items_that_nobody_has_and_rows_that_say_nothing() -> None:
    released = table(
        person=["a", "a", "b", "b", "c", None, "d"], item=["x", "y", "x", "z", "z", "x", None], day=["2020-05-01"] * 7
    )
    points = table(person=["1", "1", "2", None], item=["Y ", "x", "never", "x"], day=["2020-05", None, "2020", "2021"])
    found = attack_scoreboard(released, points, date="day", rate=0.5)
    assert found.numbers["table_people"] == 3
    assert found.numbers["targets"] == 2


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"rate": 0.0}, "out-of-range: of 0"),
        ({"widths": (0.0, 1.0)}, "not-positive: width … above 0"),
        ({"decoys": 0}, "too-few: 0 decoys"),
        ({"value": "item"}, "not-a-number"),
        ({"date": "item"}, "not-a-number"),
        ({"item": "thing"}, "unknown-column"),
        ({"truth": "item"}, "no-overlap: target"),
    ],
)
def test_wrong_input_is_told_in_one_line(change: dict[str, object], problem: str) -> None:
    made = world(people=30, outside=5)
    with raises_code(InvalidInputError, problem):
        attack_scoreboard(made.released, made.points, **{"target": "target", **change})  # type: ignore[arg-type]


def test_tables_with_nobody_in_them() -> None:
    some = table(person=["a", "b", "c"], item=["x", "y", "z"])
    with raises_code(InvalidInputError, "missing-value: item"):
        attack_scoreboard(table(person=[None], item=["x"]), some)
    with raises_code(InvalidInputError, "too-few: 2 people"):
        attack_scoreboard(table(person=["a", "b"], item=["x", "y"]), some)
    with raises_code(InvalidInputError, "missing-value: target"):
        attack_scoreboard(some, table(person=[None], item=["x"]))

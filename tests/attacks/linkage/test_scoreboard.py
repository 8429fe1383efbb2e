"""A few things known of a person against what many did: found if there, left alone if not."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pytest
from support.made_linkage import table, world
from support.refusals import raises_code
from support.sequential import Rates, decide

from privet.attacks import attack_scoreboard
from privet.attacks.linkage.scoreboard import Names, events_of, points_of, ranked
from privet.attacks.linkage.scoreboard_decoys import (
    ERRORS,
    LAWS,
    POPULAR,
    RARE,
    RAREST,
    UNIFORM,
    chances,
    fewest,
    simulate_strangers,
    threshold,
)
from privet.errors import InvalidInputError
from privet.records.microdata import Microdata
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
        gains: dict[int, list[float]] = {}
        for at in np.flatnonzero(points.target == target):
            for event in np.flatnonzero(events.item == points.item[at]):
                likeness = math.exp(-abs(points.value[at] - events.value[event]) / 1.5)
                likeness += math.exp(-abs(points.date[at] - events.date[event]) / 30)
                gain = likeness / 2 / math.log(max(support[points.item[at]], 2))
                scores[events.person[event]] += gain
                gains.setdefault(int(events.person[event]), []).append(gain)
        order = np.sort(scores)
        assert found.score[target] == pytest.approx(order[-1])
        assert found.second[target] == pytest.approx(order[-2])
        if order[-1] > 0:
            assert scores[found.best[target]] == pytest.approx(order[-1])
            own = found.best[target]
            most = max(gains[int(own)])
            assert found.eccentricity[target] == pytest.approx((order[-1] - most - order[-2]) / scores.std())


def _of_points() -> Names:
    return Names(who="target", item="item", value="stars", date="day")


def test_a_stranger_is_scored_as_if_the_own_rows_had_never_been_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hidden, or left out of the table: the same scores, to the last digit of how rare an item is."""
    made = world(people=60, outside=10)
    monkeypatch.setattr("privet.attacks.linkage.scoreboard.CELLS", 200)  # several at a time, not all
    person, item = made.released["person"], made.released["item"]
    who = [str(person.texts[code]) for code in person.codes]
    what = [str(item.texts[code]) for code in item.codes]
    names = Names(who="person", item="item", value=None, date=None)
    events = events_of(made.released, names)
    for place, name in enumerate(sorted(set(who))[:3]):
        mine = [one for one, owner in zip(what, who, strict=True) if owner == name][:5]
        others = [(owner, one) for owner, one in zip(who, what, strict=True) if owner != name]
        fewer = table(person=[owner for owner, _ in others], item=[one for _, one in others])
        asked = table(person=["x"] * len(mine), item=mine)
        number = sorted({int(code) for code in person.codes}, key=int).index(
            next(int(code) for code in person.codes if person.texts[code] == name)
        )
        hidden = ranked(events, points_of(asked, item, names), (1.5, 30.0), _quiet, hidden=np.array([number]))
        gone = ranked(events_of(fewer, names), points_of(asked, fewer["item"], names), (1.5, 30.0), _quiet)
        assert hidden.eccentricity[0] == pytest.approx(gone.eccentricity[0]), place
        assert hidden.second[0] == pytest.approx(gone.second[0])


def _quiet(*_: object) -> None:
    return None


def test_wrong_points_are_drawn_by_every_law() -> None:
    made = world(people=50, outside=10)
    events, points = events_of(made.released, NAMES), points_of(made.points, made.released["item"], _of_points())
    support = np.diff(events.starts)
    assert np.ptp(chances(events, UNIFORM)[support > 0]) == 0
    assert chances(events, POPULAR) == pytest.approx(support / support.sum())
    rare = chances(events, RARE)
    assert rare[support == 2].max() == pytest.approx(rare[support == 1].max() / 2)
    assert support[chances(events, RAREST) > 0].max() == 1
    assert all(chances(events, law)[support == 0].sum() == 0 for law in (UNIFORM, POPULAR, RARE, RAREST))
    ranking = ranked(events, points, (1.5, 30.0), _quiet)
    found = simulate_strangers(events, points, ranking, 15, 0.3, (1.5, 30.0), _quiet)
    assert {one.law for one in found.families} >= set(LAWS)
    assert all(len(one.eccentricity) == 15 for one in found.families)
    assert len(found.spare) == 15
    assert found.threshold == max(one.needed for one in found.families)
    assert np.median(found.families[0].eccentricity) < np.median(ranking.eccentricity)


def test_points_that_all_fit_leave_no_law_of_their_own() -> None:
    released = table(person=list("aabbcc"), item=list("xyxzyz"))
    found = attack_scoreboard(released, table(person=["1", "1"], item=["x", "y"]), rate=0.9)
    assert {one["law"] for one in found.numbers["laws"]} == {"all points true", *LAWS} - {ERRORS}


def test_the_threshold_keeps_the_rate_with_confidence() -> None:
    """None of n above it tells of a rate of 5 % if 0.95^n is 5 % at most: 59. One of n: 93 (Clopper and Pearson)."""
    strangers = np.arange(1.0, 101.0)
    assert fewest(0.05) == 59
    assert threshold(strangers[:58], 0.05) == math.inf
    assert threshold(strangers[:59], 0.05) == 59
    assert threshold(strangers[:92], 0.05) == 92
    assert threshold(strangers[:93], 0.05) == 92


def test_too_few_strangers_are_no_sign_of_safety() -> None:
    made = world(people=40, outside=5)
    few = attack_scoreboard(made.released, made.points, target="target", decoys=10, **DETAILS)
    assert few.numbers["matched"] == 0
    assert few.numbers["threshold"] is None
    assert few.headline.startswith("Nobody can be matched at a rate of 0.01: 10 simulated strangers are too few, 299")
    assert "no sign of safety" in few.headline
    assert "too few" in few.tables[0].text


def rare_world(law: str, seed: int) -> tuple[Microdata, Microdata]:
    """650 people, 150 of them not in the table, who did 15 to 60 of 1,500 things by a law of Zipf. Eight points are
    known of each of the 150 and of 50 others, with stars and days that are a little off; two of eight name another
    thing."""
    draw = np.random.default_rng((seed, 7))
    popular = 1 / np.arange(1, 1501) ** 1.2
    did = [draw.choice(1500, int(draw.integers(15, 60)), replace=False, p=popular / popular.sum()) for _ in range(650)]
    details = [(draw.integers(1, 6, len(mine)), draw.integers(0, 1000, len(mine))) for mine in did]
    rows = [(f"u{who}", *row) for who in range(150, 650) for row in zip(did[who], *details[who], strict=True)]
    support = np.bincount(np.concatenate(did[150:]), minlength=1500)
    weight = {"popular": support, "even": support > 0, "rare": (support > 0) / np.maximum(support, 1)}[law]
    points: list[tuple[object, ...]] = []
    for who in range(200):
        some = draw.permutation(len(did[who]))[:8]
        things = [*did[who][some[:6]], *draw.choice(1500, 2, replace=False, p=weight / weight.sum())]
        stars, days = (
            of[some] + draw.integers(-most, most + 1, 8) for of, most in zip(details[who], (1, 9), strict=True)
        )
        truth = None if who < 150 else f"u{who}"
        points += [(f"t{who}", *row, truth) for row in zip(things, stars, days, strict=True)]
    return _columns(rows, ("person", "item", "stars", "day")), _columns(
        points, ("target", "item", "stars", "day", "truth")
    )


def _columns(rows: list[tuple[object, ...]], names: tuple[str, ...]) -> Microdata:
    return table(**{name: [None if row[at] is None else str(row[at]) for row in rows] for at, name in enumerate(names)})


def matched_strangers(law: str, seeds: range, details: dict[str, str]) -> tuple[int, int]:
    """Of 150 in each run at a rate of 2 %, and of 50 who are there those rightly found."""
    wrong = right = 0
    for seed in seeds:
        released, points = rare_world(law, seed)
        found = attack_scoreboard(released, points, target="target", truth="truth", rate=0.02, **details).numbers
        wrong += found["matched"] - found["right"]
        right += found["right"]
    return wrong, right


def test_rare_wrong_points_match_no_more_strangers_than_stated() -> None:
    """Of 300 strangers more than 20 have a chance of 1e-6 at a rate of 2 %. Where the strangers that set the threshold
    had true points only, and their own rows counted in how rare an item is, 53 were matched."""
    wrong, right = matched_strangers("rare", range(2), DETAILS)
    assert wrong <= 20
    assert right >= 50  # of 100


@pytest.mark.proof
@pytest.mark.parametrize("law", ["popular", "even", "rare"])
def test_the_rate_is_kept_over_many_tables(law: str) -> None:
    """150 strangers in each table, without and with details in turns. A rate of 2 % is rejected with a chance of 1e-6,
    one of 2.5 % is missed with a chance of 2 % at most."""
    rates, found = Rates(stated=0.02, too_high=0.025, alarm=1e-6, miss=0.02), list[int]()

    def tables() -> Iterator[tuple[int, int]]:
        for seed in range(10, 110):
            wrong, right = matched_strangers(law, range(seed, seed + 1), DETAILS if seed % 2 else {})
            found.extend([right] if seed % 2 else [])
            yield wrong, 150

    outcome = decide(rates, tables())
    assert outcome.accepted, outcome
    assert len(found) >= 2
    assert sum(found) >= 25 * len(found)  # of 50 in each table with details


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
        ({"rate": 0.0}, "out-of-range: not 0"),
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

"""Linkage that once found nobody, or promised too much: each test fails on that code."""

from __future__ import annotations

import numpy as np
import pytest
from support.made_families import COLUMNS, families, slip
from support.made_linkage import Pair, table

from privet.attacks import attack_linkage, attack_scoreboard

TEN = (*COLUMNS, "number")


def two_wrong_in_ten(people: int, missing: float = 0.0) -> Pair:
    """Like febrl4: everybody is in both tables. Two of ten values are wrong, in columns drawn at random."""
    draw = np.random.default_rng(2)
    made = families(people, 1)
    made["number"] = np.array([f"{n}" for n in draw.permutation(9 * 10**5)[:people] + 10**5], object)
    order = draw.permutation(people)
    other = {name: made[name][order].copy() for name in TEN}
    for row in range(people):
        for at in draw.choice(10, 2, replace=False):
            text = str(other[TEN[at]][row])
            other[TEN[at]][row] = slip(text, draw) if len(text) > 2 else "?"
    for name in TEN:
        other[name][draw.random(people) < missing] = None
    ids = np.arange(people).astype(str)
    return Pair(table(id=ids, **{name: made[name] for name in TEN}), table(id=ids[order], **other))


def linked(made: Pair, columns: tuple[str, ...] = TEN) -> dict[str, float]:
    return dict(attack_linkage(made.released, made.known, on=list(columns), truth="id").findings.numbers)


def test_two_wrong_values_in_ten_hide_nobody_and_all_are_counted() -> None:
    numbers = linked(two_wrong_in_ten(300))
    assert numbers["linked"] >= 290
    assert numbers["right"] == numbers["linked"]
    assert numbers["people_in_both"] == pytest.approx(300, rel=0.03)


def test_more_columns_with_missing_values_find_no_fewer() -> None:
    made = two_wrong_in_ten(300, missing=0.1)
    few, many = (linked(made, columns) for columns in (TEN[:5], TEN))
    assert many["right"] >= max(few["right"], 270)
    assert many["right"] == many["linked"]


def test_evidence_by_column_and_what_each_rule_would_lose() -> None:
    found = attack_linkage(*(getattr(two_wrong_in_ten(200), side) for side in ("released", "known")), on=list(TEN))
    titles = [one.title for one in found.findings.tables]
    why = next((one for one in found.findings.tables if one.title.startswith("Why record ")), None)
    assert why is not None, titles
    assert {*TEN} < {row[0] for row in why.rows}
    rules = next(one for one in found.findings.tables if one.title == "What a single blocking rule would lose")
    assert len(rules.rows) > 1


def test_who_is_twice_in_one_file_is_found() -> None:
    """The two tables one after the other: everybody is twice."""
    made = two_wrong_in_ten(150)
    one = table(**{name: [*made.released[name].listed(), *made.known[name].listed()] for name in ("id", *TEN)})
    numbers = attack_linkage(one, on=list(TEN), truth="id").findings.numbers
    assert numbers["right"] == numbers["pairs"]
    assert numbers["recall"] > 0.8


def strangers(seed: int) -> Pair:
    """500 people in the table and 150 who are not, who did 15 to 60 of 1,500 things by a law of Zipf. Eight points are
    known of each of the 150, with stars and days a little off; two of eight name another thing, drawn by rarity."""
    draw = np.random.default_rng((seed, 7))
    popular = 1 / np.arange(1, 1501) ** 1.2
    did = [draw.choice(1500, int(draw.integers(15, 60)), replace=False, p=popular / popular.sum()) for _ in range(650)]
    stars, days = ([draw.integers(1, most, len(one)) for one in did] for most in (6, 1000))
    rows = [(f"u{who}", *row) for who in range(150, 650) for row in zip(did[who], stars[who], days[who], strict=True)]
    support = np.bincount(np.concatenate(did[150:]), minlength=1500)
    rare = (support > 0) / np.maximum(support, 1)
    points: list[tuple[object, ...]] = []
    for who in range(150):
        some = draw.permutation(len(did[who]))[:8]
        things = [*did[who][some[:6]], *draw.choice(1500, 2, replace=False, p=rare / rare.sum())]
        near = stars[who][some] + draw.integers(-1, 2, 8), days[who][some] + draw.integers(-9, 10, 8)
        points += [(f"t{who}", *row) for row in zip(things, *near, strict=True)]
    names = ("person", "item", "stars", "day")
    return Pair(*(table(**{name: [str(row[at]) for row in part] for at, name in enumerate(names)})
                  for part in (rows, points)))  # fmt: skip


def test_rare_wrong_titles_match_no_more_strangers_than_stated() -> None:
    """None of 300 is in the table. More than 20 matches have a chance of 1e-6 at a rate of 2 %."""
    matched = 0
    for made in map(strangers, range(2)):
        found = attack_scoreboard(made.released, made.known, value="stars", date="day", rate=0.02)
        matched += found.numbers["matched"]
    assert matched <= 20

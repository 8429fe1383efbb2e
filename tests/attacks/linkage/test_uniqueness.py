"""How many people a few facts single out."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.made_linkage import pair, table
from support.refusals import raises_code

from privet.attacks import attack_uniqueness
from privet.attacks.linkage.uniqueness import unique_records
from privet.errors import InvalidInputError

traces = st.dictionaries(st.integers(0, 6), st.sets(st.integers(0, 5), min_size=2), min_size=2)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(*[st.sampled_from(["a", "b", None])] * 3), min_size=1, max_size=15))
def test_sets_of_columns_are_counted_exactly(rows: list[tuple[str | None, ...]]) -> None:
    data = table(**{name: [row[at] for row in rows] for at, name in enumerate("xyz")})
    found = attack_uniqueness(data, most=2)
    sets = {tuple(one["columns"]): one["unique"] for one in found.numbers["sets"]}
    expected = [some for size in (1, 2) for some in itertools.combinations("xyz", size)]
    assert list(sets) == [*expected, ("x", "y", "z")]
    for some, unique in sets.items():
        counts = Counter(tuple(row["xyz".index(name)] for name in some) for row in rows)
        assert unique == sum(1 for count in counts.values() if count == 1)
    assert found.proven == sets["x", "y", "z"]


def test_the_smallest_sets_come_first() -> None:
    made = pair(500).released
    found = attack_uniqueness(made, on=["sex", "age", "zip", "job"])
    sizes = [int(row[1]) for row in found.tables[0].rows]
    assert sizes == sorted(sizes)
    assert sizes.count(2) == 5
    assert sizes.count(4) == 1
    assert found.headline.startswith(
        f"{unique_records(made, ['sex', 'age', 'zip', 'job']):,} of 500 records are unique"
    )
    assert attack_uniqueness(made, on=["sex"]).numbers["sets"] == [{"columns": ["sex"], "unique": 0}]
    wide = table(**{f"c{at}": ["1", "2"] for at in range(9)})
    assert attack_uniqueness(wide, most=1).headline.endswith("and more")


@settings(max_examples=40, deadline=None)
@given(traces)
def test_points_are_tried_against_everybody(places: dict[int, set[int]]) -> None:
    """All people are drawn, and two points of two are all points there are: then the share is known."""
    pairs = {person: set(sorted(some)[:2]) for person, some in places.items()}
    rows = [(person, place) for person, some in pairs.items() for place in some for _ in range(2)]
    data = table(who=[str(one) for one, _ in rows], cell=[str(other) for _, other in rows])
    (one,) = attack_uniqueness(data, person="who", points=[2]).numbers["points"]
    assert one["of"] == len(pairs)
    assert one["unique"] == sum(all(not mine <= other for who, other in pairs.items() if who != person)
                                for person, mine in pairs.items())  # fmt: skip


def test_more_points_single_out_more_people() -> None:
    draw = np.random.default_rng(0)
    who, cell = draw.integers(0, 300, 9000), draw.zipf(1.4, 9000) % 200
    hour = draw.integers(0, 3, 9000)
    data = table(who=list(map(str, who)), cell=list(map(str, cell)), hour=list(map(str, hour)))
    found = attack_uniqueness(data, person="who", points=(4, 1, 2, 2), people=150)
    rows = found.numbers["points"]
    assert [row["points"] for row in rows] == [1, 2, 4]
    assert rows[0]["value"] < rows[1]["value"] < rows[2]["value"]
    assert all(row["low"] <= row["value"] <= row["high"] for row in rows)
    assert found.people == 150
    assert found.headline.startswith("4 random points single out ")
    assert found.numbers["table_people"] == 300
    assert "How many points are enough" in str(found)
    one = attack_uniqueness(data, person="who", on=["cell"], points=[1], people=10)
    assert one.headline.startswith("1 random point single")


def test_nobody_has_so_many_points() -> None:
    data = table(who=["a", "b"], cell=["1", "2"])
    found = attack_uniqueness(data, person="who", points=[1, 9])
    assert [row["of"] for row in found.numbers["points"]] == [2, 0]
    assert found.headline == "1 random point single out 100.0 % of people"
    assert attack_uniqueness(data, person="who", points=[9]).people == 0


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"points": []}, "not-positive: nothing"),
        ({"most": 0}, "not-positive: nothing"),
        ({"on": ["no"]}, "unknown-column"),
        ({"on": [], "person": "who"}, "too-few: column"),
        ({"most": 8}, "too-many: 13 … 7,098 … to 8"),
    ],
)
def test_wrong_input_is_told_in_one_line(change: dict[str, object], problem: str) -> None:
    data = table(who=["a"], **{f"c{at}": ["1"] for at in range(12)})
    with raises_code(InvalidInputError, problem):
        attack_uniqueness(data, **change)  # type: ignore[arg-type]


def test_tables_with_nothing_in_them() -> None:
    with raises_code(InvalidInputError, "missing-value: person … point"):
        attack_uniqueness(table(who=[None], cell=["1"]), person="who")
    with raises_code(InvalidInputError, "empty: the table"):
        attack_uniqueness(table(who=[]))

"""k, l, t and risks of tables that are shipped, against slow definitions; the tables of the literature; coding."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.refusals import raises_code

from privet.anonymize.builders import flat, prefixes
from privet.anonymize.checks import Checked, check
from privet.anonymize.coding import bottom_code, top_code
from privet.anonymize.generalization import generalize
from privet.anonymize.hierarchy import of_rows
from privet.anonymize.models import T
from privet.anonymize.mondrian_cuts import mondrian
from privet.errors import InvalidInputError
from privet.records.microdata import Microdata, RecordColumn, column


def table(**columns: list[str | None]) -> Microdata:
    return Microdata({name: column(name, texts) for name, texts in columns.items()}, len(next(iter(columns.values()))))


# Against slow definitions


def slow(rows: list[tuple[str, str, str]]) -> dict[str, float]:
    """Two quasi-identifiers and a sensitive value, class by class."""
    kept = [row for row in rows if row[:2] != ("*", "*")] or rows  # stars only: one class
    classes: dict[tuple[str, str], list[str]] = {}
    for row in kept:
        classes.setdefault(row[:2], []).append(row[2])
    every = sorted({row[2] for row in rows})
    overall = Counter(row[2] for row in rows)
    distances, ordered, entropies, ratios = [], [], [], []
    for values in classes.values():
        found = Counter(values)
        apart = [Fraction(found[v], len(values)) - Fraction(overall[v], len(rows)) for v in every]
        distances.append(sum(map(abs, apart)) / 2)
        moved = [abs(sum(apart[: place + 1])) for place in range(len(every))]
        ordered.append(sum(moved) / max(len(every) - 1, 1))
        entropies.append(-sum(n / len(values) * math.log(n / len(values)) for n in found.values()))
        falling = sorted(found.values(), reverse=True)
        ratios.append(Fraction(falling[0], sum(falling[1:])) if len(falling) > 1 else math.inf)
    sizes = list(map(len, classes.values()))
    return {
        "suppressed": len(rows) - len(kept),
        "k": min(sizes, default=0),
        "uniques": sizes.count(1),
        "distinct": min((len(set(values)) for values in classes.values()), default=0),
        "entropy": math.exp(min(entropies)) if entropies else 0,
        "two": float(max(ratios, default=math.inf)),
        "t": float(max(distances, default=0)),
        "ordered": float(max(ordered, default=0)),
        "alike": sum(len(values) for values in classes.values() if len(set(values)) == 1),
        "highest": 1 / min(sizes) if sizes else 0,
        "average": len(sizes) / len(kept) if kept else 0,
        "above": sum(size for size in sizes if 1 / size > 0.2) / len(kept) if kept else 0,
    }


def flattened(found: Checked) -> dict[str, float]:
    told, risk = found.diversity["c"], found.risks.prosecutor
    assert told.ordered_t is not None
    return {
        "suppressed": found.suppressed, "k": found.k, "uniques": found.uniques, "distinct": told.distinct,
        "entropy": told.entropy, "two": told.recursive.get(2, math.inf), "t": told.t, "ordered": told.ordered_t,
        "alike": told.alike, "highest": risk.highest, "average": risk.average, "above": risk.above,
    }  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from("ab*"), st.sampled_from("xy*"), st.sampled_from(["1", "2", "10"])),
        min_size=1, max_size=30,
    ),
    st.booleans(),
)  # fmt: skip
def test_counts_are_those_of_the_definitions(rows: list[tuple[str, str, str]], sorting: bool) -> None:
    """Both ways to number classes: tables with a place for each number, and sorting."""
    made = table(**{name: [row[place] for row in rows] for place, name in enumerate("abc")})
    expected = slow([(a, b, {"1": "1", "2": "2", "10": "9"}[c]) for a, b, c in rows])  # 10 is more than 2
    with pytest.MonkeyPatch.context() as patch:
        if sorting:
            patch.setattr("privet.anonymize.checks.MOST_LISTED", 0)
            patch.setattr("privet.anonymize.checks.FITS", 2)
        assert flattened(check(made, ["a", "b"], "c")) == pytest.approx(expected)


def test_values_in_the_order_of_their_texts() -> None:
    made = table(a=["x", "x", "y", "y"], c=["low", "low", None, "high"])
    assert check(made, "a", "c").diversity["c"].ordered_t == 0.25  # high, low, missing; 0.375 with missing first
    same = check(table(a=["x"], c=["v"]), ["a"], ["c"])
    assert same.diversity["c"].ordered_t == 0


def test_an_ordered_distance_of_too_many_values_is_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("privet.anonymize.checks.MOST_CELLS", 3)
    assert check(table(a=["x", "y"], c=["1", "2"]), "a", "c").diversity["c"].ordered_t is None


# Risks


def test_a_population_lowers_the_risk_of_who_is_not_known_to_be_there() -> None:
    shipped = table(a=["x"] * 2 + ["y"] * 4 + ["*"])
    everybody = table(a=["x"] * 10 + ["y"] * 5 + ["z"] * 100, b=["1"] * 115)
    risks = check(shipped, "a", population=everybody).risks
    assert (risks.prosecutor.highest, risks.prosecutor.average) == (1 / 2, pytest.approx(2 / 6))
    assert risks.prosecutor.above == 1
    assert risks.marketer == pytest.approx((2 / 10 + 4 / 5) / 6)
    assert risks.journalist.highest == 1 / 5
    assert risks.journalist.average == pytest.approx(max(2 / 15, (2 / 10 + 4 / 5) / 6))
    assert risks.journalist.above == 0
    assert (risks.population, risks.outside) == (115, 0)
    assert risks.prosecutor.highest >= risks.journalist.highest >= risks.marketer
    text = str(check(shipped, "a", population=everybody))
    assert "journalist at most 20.0%, on average 16.7%; marketer 16.7%" in text
    assert "prosecutor at most 50.0%" in text


def test_a_population_that_lacks_people_counts_as_the_table() -> None:
    risks = check(table(a=["x", "x", "q"]), "a", population=table(a=["x"])).risks
    assert risks.outside == 2
    assert risks.journalist == risks.prosecutor


def test_without_a_population_all_averages_are_the_same() -> None:
    risks = check(table(a=["x", "x", "y"]), "a", threshold=0.5).risks
    assert risks.prosecutor == risks.journalist
    assert risks.prosecutor.average == risks.marketer == pytest.approx(2 / 3)
    assert risks.prosecutor.above == pytest.approx(1 / 3)


def test_a_table_of_stars_is_one_class() -> None:
    """The top of every hierarchy: nobody is told apart, and nobody is suppressed."""
    found = check(table(a=["*", "*"], c=["1", "2"]), ["a"], "c", population=table(a=["*"] * 4))
    assert (found.k, found.classes, found.suppressed, found.average_size) == (2, 1, 0, 2)
    assert found.risks.prosecutor.highest == 1 / 2
    assert found.risks.journalist.highest == 1 / 4
    assert found.diversity["c"].distinct == 2


def test_a_star_that_is_a_value_is_no_suppression() -> None:
    shipped = table(a=["*", "*", "x"])
    assert check(shipped, "a").suppressed == 2
    found = check(shipped, "a", suppressed=None)
    assert (found.suppressed, found.classes, found.k) == (0, 2, 1)
    assert check(table(a=[None, "x"]), "a", suppressed=None).suppressed == 0  # a missing value is none either


def test_values_that_nobody_has_do_not_lengthen_the_way() -> None:
    """A column keeps the texts of records that were taken away. From 1 to 3 is all the way, whatever else there was."""
    codes = np.array([0, 0, 2, 2], dtype=np.uint8)
    shipped = table(a=["x", "x", "y", "y"])
    one = Microdata({**shipped.columns, "c": RecordColumn("c", codes, ("1", "2", "3", "other", None))}, 4)
    assert check(one, "a", "c").diversity["c"].ordered_t == 0.5
    assert mondrian(one, "a", k=1, models=[T("0.4", "c", ordered=True)]).sizes.tolist() == [4]
    assert mondrian(one, "a", k=1, models=[T("0.5", "c", ordered=True)]).sizes.tolist() == [2, 2]


def test_a_star_in_one_column_is_not_suppression() -> None:
    assert check(table(a=["*", "x"], b=["1", "1"]), ["a", "b"]).suppressed == 0
    assert check(table(a=["-", "x"]), "a", suppressed="-").suppressed == 1


@pytest.mark.parametrize(
    ("quasi", "sensitive", "said"),
    [
        ([], None, "missing-name: quasi-identifier"),
        (["a", "a"], None, "duplicate-name: 'a'"),
        (["a"], "a", "duplicate-name: 'a'"),
        (["q"], None, "unknown-column: 'q'"),
    ],
)
def test_what_cannot_be_checked(quasi: list[str], sensitive: str | None, said: str) -> None:
    with raises_code(InvalidInputError, said):
        check(table(a=["1"]), quasi, sensitive)
    with raises_code(InvalidInputError, "empty: records"):
        check(table(a=[]), "a")


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"threshold": "x"}, "not-a-number|not-finite: threshold"),
        ({"threshold": math.nan}, "not-a-number|not-finite: threshold"),
        ({"population": table(a=[])}, "empty: population"),
    ],
)
def test_what_cannot_be_asked(more: dict[str, Any], said: str) -> None:
    with raises_code(InvalidInputError, said):
        check(table(a=["x"]), "a", **more)


def test_json_and_text() -> None:
    found = check(table(a=["x", "x", "y", "y"], c=["1", "2", "3", "3"]), "a", "c")
    document = found.to_json()
    assert document["quasi"] == ["a"]
    assert document["diversity"]["c"]["recursive"] == {"1": 1.0}
    assert document["risks"]["prosecutor"]["highest"] == 0.5
    assert "2 records in classes where all have one value" in str(found)
    mixed = str(check(table(a=["x", "x"], c=["1", "2"]), "a", "c"))
    assert "recursive (c, 2) with c above 1.00" in mixed


# The tables of the literature

PATIENTS = """
13053 28 Russian Heart    13068 29 American Heart   13068 21 Japanese Viral   13053 23 American Viral
14853 50 Indian Cancer    14853 55 Russian Heart    14850 47 American Viral   14850 49 American Viral
13053 31 American Cancer  13053 37 Indian Cancer    13068 36 Japanese Cancer  13068 35 American Cancer
"""
NAMES = ("zip", "age", "nationality")
CELLS = np.array(PATIENTS.split()).reshape(12, 4).T
PEOPLE = table(**{name: list(map(str, cells)) for name, cells in zip([*NAMES, "condition"], CELLS, strict=True)})
FOUR = {
    "zip": ["130**"] * 4 + ["1485*"] * 4 + ["130**"] * 4,
    "age": ["<30"] * 4 + [">=40"] * 4 + ["3*"] * 4,
    "nationality": ["*"] * 12,
}


def shipped(found: Microdata) -> dict[str, list[str | None]]:
    return {name: list(found[name].listed()) for name in NAMES}


def test_the_4_anonymous_patients() -> None:
    """The example of Machanavajjhala et al. 2007: 4-anonymous, and in the last class all have cancer."""
    assert check(PEOPLE, NAMES, "condition").uniques == 12
    released = table(**FOUR, condition=list(PEOPLE["condition"].listed()))  # type: ignore[arg-type]
    found = check(released, NAMES, "condition")
    assert (found.k, found.classes, found.suppressed) == (4, 3, 0)
    assert (found.diversity["condition"].distinct, found.diversity["condition"].alike) == (1, 4)
    assert found.risks.prosecutor.highest == 1 / 4


def test_the_4_anonymous_patients_are_the_optimum_of_their_hierarchies() -> None:
    zips = [(zip_, "1485*" if zip_.startswith("148") else "130**", "*") for zip_ in PEOPLE["zip"].texts if zip_]
    ages = [(age, "<30" if age < "30" else "3*" if age < "40" else ">=40", "*") for age in PEOPLE["age"].texts if age]
    hierarchies = {
        "zip": of_rows("zip", zips),
        "age": of_rows("age", ages),
        "nationality": flat(PEOPLE["nationality"]),
    }
    found = generalize(PEOPLE, NAMES, hierarchies=hierarchies, k=4, suppress=0)
    assert shipped(found.data) == FOUR
    assert found.node == {"zip": 1, "age": 1, "nationality": 1}


def test_mondrian_finds_the_same_patients_alike() -> None:
    hierarchies = {"zip": prefixes(PEOPLE["zip"]), "nationality": flat(PEOPLE["nationality"])}
    found = mondrian(PEOPLE, ["zip", "age"], k=4, hierarchies=hierarchies)
    assert found.sizes.tolist() == [4, 4, 4]
    assert list(found.data["zip"].listed()) == FOUR["zip"]
    assert list(found.data["age"].listed()) == ["21-29"] * 4 + ["47-55"] * 4 + ["31-37"] * 4
    assert check(found.data, ["zip", "age"], "condition").diversity["condition"].alike == 4


def test_the_6_anonymous_patients_of_the_other_hospital() -> None:
    """Ganta, Kasiviswanathan and Smith 2008, "Composition Attacks": two releases about the same person."""
    under = ["AIDS", "Tuberculosis", "Flu", "Tuberculosis", "Cancer", "Cancer"]
    over = ["Cancer", "Cancer", "Cancer", "Tuberculosis", "Viral", "Viral"]
    ages = [str(age) for age in (20, 22, 25, 27, 31, 34, 35, 36, 40, 45, 50, 60)]
    zips = [f"130{place:02}" for place in range(12)]
    made = table(zip=list(zips), age=list(ages), nationality=[*"ABCDEF"] * 2, condition=[*under, *over])
    hierarchies = {
        "zip": of_rows("zip", [(zip_, "130**", "*") for zip_ in zips]),
        "age": of_rows("age", [(age, "<35" if age < "35" else ">=35", "*") for age in ages]),
        "nationality": flat(made["nationality"]),
    }
    found = generalize(made, NAMES, hierarchies=hierarchies, k=6, suppress=0)
    assert shipped(found.data) == {
        "zip": ["130**"] * 12, "age": ["<35"] * 6 + [">=35"] * 6, "nationality": ["*"] * 12
    }  # fmt: skip
    told = check(found.data, NAMES, "condition")
    assert (told.k, told.classes, told.diversity["condition"].distinct) == (6, 2, 3)
    halves = mondrian(made, "age", k=6)
    assert list(halves.data["age"].listed()) == ["20-34"] * 6 + ["35-60"] * 6
    # of a patient of both hospitals, 31 years old, both releases together leave one condition
    here = list(PEOPLE["condition"].listed())[8:]
    assert set(here) & set(under) == {"Cancer"}


# Top and bottom coding


def test_top_and_bottom_coding() -> None:
    made = table(age=["17", "90", "93", "101", None], name=["a"] * 5)
    found = top_code(made, "age", 90)
    assert list(found.data["age"].listed()) == ["17", "90", "90", "90", None]
    assert found.data["age"].texts == ("17", "90", None)
    assert found.data["name"] is made["name"]
    assert (found.changed, found.at_limit, found.share) == (2, 3, 0.4)
    assert str(found) == (
        "age: 2 of 5 records (40.00%) were above 90 and are now 90, which means 90 or more; 3 have it"
    )
    low = bottom_code(made, "age", "17.5")
    assert list(low.data["age"].listed())[:2] == ["17.5", "90"]
    assert "below 17.5 and are now 17.5, which means 17.5 or less; 1 have it" in str(low)


def test_a_limit_is_written_as_the_data_have_it() -> None:
    assert list(top_code(table(a=["90.0", "95.5"]), "a", 90).data["a"].listed()) == ["90.0", "90.0"]
    nothing = top_code(table(a=["1", "2"]), "a", 5)
    assert (nothing.changed, nothing.at_limit) == (0, 0)
    assert list(nothing.data["a"].listed()) == ["1", "2"]


def test_what_cannot_be_coded() -> None:
    for data, limit, said in (
        (table(a=["1", "x"]), 5, "not-a-number: 'x' … 'a'"),
        (table(a=[]), 5, "empty: records"),
        (table(a=["1"]), "much", "not-a-number: limit"),
        (table(b=["1"]), 5, "unknown-column: column 'a'"),
    ):
        with raises_code(InvalidInputError, said):
            top_code(data, "a", limit)

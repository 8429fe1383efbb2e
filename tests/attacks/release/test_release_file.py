"""The release file: what published numbers say, what is refused, and that the truth always fits what was read."""

from __future__ import annotations

import random
import re
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.places import EXAMPLES, ROOT
from support.refusals import expect_code, raises_code
from support.table_oracle import number_of, untrue

from privet.attacks.release.file import KEYS, published_tables, read_tables, tables_of
from privet.attacks.release.published import COUNT, QUALIFIERS, SAID, Scale, between, written_unit
from privet.attacks.release.sheets import KEYS as SHEET_KEYS
from privet.attacks.release.statistics import (
    EVERYBODY,
    Between,
    Largest,
    Mean,
    Quantile,
    Share,
    Smallest,
    Statistic,
    Total,
)
from privet.errors import InvalidInputError
from privet.records.conditions import condition

EXAMPLE = EXAMPLES / "census-block.toml"
ATTRIBUTES: dict[str, Any] = {
    "sex": ["F", "M"],
    "age": {"min": 0, "max": 115},
    "income": {"min": 0, "max": 50, "step": Decimal("0.5")},
    "smokes": "boolean",
}
BLOCK = "8FBS 18MWS 24FWS 30MWM 36FBM 66FBM 84MBM"


def one(**said: Any) -> Statistic:
    return published_tables(ATTRIBUTES, [said]).statistics[0]


def limits(published: Between | None) -> tuple[Any, Any]:
    assert published is not None
    return published.low, published.high


def refused(document: dict[str, Any]) -> InvalidInputError:
    with pytest.raises(InvalidInputError) as error:
        tables_of(document)
    assert "\n" not in error.value.problem + error.value.remedy
    return error.value


# What a number says


@pytest.mark.parametrize(
    ("written", "low", "high"),
    [
        (4, 4, 4),
        (0, 0, 0),
        (Decimal("4.0"), 4, 4),
        (np.int64(4), 4, 4),
        ({"value": 4, "exact": True}, 4, 4),
        ({"value": 10, "rounded": 5}, 8, 12),
        ({"value": 8, "rounded": 4}, 6, 10),
        ({"value": 0, "rounded": 5}, 0, 2),
        ({"value": 6, "random_rounded": 3}, 4, 8),
        ({"value": 0, "random_rounded": 3}, 0, 2),
        ({"value": 4, "decimals": 0}, 4, 4),
        ({"below": 3}, 0, 2),
        ({"below": 3, "least": 1}, 1, 2),
        ({"above": 3}, 4, None),
        ({"least": 3, "most": 7}, 3, 7),
        ({"value": 10, "rounded": 10, "least": 8}, 8, 15),
    ],
)
def test_counts(written: Any, low: Any, high: Any) -> None:
    assert limits(one(count=written).count) == (low, high)


@pytest.mark.parametrize(
    ("written", "low", "high"),
    [
        ({"age": Decimal("33.5"), "decimals": 1}, "33.45", "33.55"),
        ({"age": Decimal("33.5")}, "33.45", "33.55"),
        ({"age": Decimal("38.0")}, "37.95", "38.05"),
        ({"age": 38}, "37.5", "38.5"),
        ({"age": 38, "decimals": 1}, "37.95", "38.05"),
        ({"age": 33.5}, "33.45", "33.55"),
        ({"age": Fraction(100, 3)}, "100/3", "100/3"),
        ({"age": {"value": Decimal("33.5"), "exact": True}}, "33.5", "33.5"),
        ({"age": {"value": 35, "rounded": 5}, "decimals": 1}, "32.5", "37.5"),  # its own table replaces the shared
        ({"age": 35, "random_rounded": 5}, "30", "40"),  # not whole: the end points may be included
    ],
)
def test_means(written: Any, low: str, high: str) -> None:
    (measure,) = one(mean=written).measures
    assert isinstance(measure, Mean)
    assert limits(measure.value) == (Fraction(low), Fraction(high))


def test_a_computed_double_is_no_contradiction() -> None:
    (measure,) = one(mean={"age": 100 / 3}).measures
    low, high = limits(measure.value)
    assert low < Fraction(100, 3) < high
    assert high - low == Fraction(1, 10**13)


def test_several_attributes_share_their_qualifiers() -> None:
    statistic = one(mean={"age": Decimal("33.5"), "income": 1200, "decimals": 1})
    assert [measure.attribute for measure in statistic.measures] == ["age", "income"]
    assert limits(statistic.measures[1].value) == (Fraction("1199.95"), Fraction("1200.05"))


def test_sums_and_extremes_lie_on_the_grid_of_the_values() -> None:
    said = one(sum={"age": 100}, min={"age": 3}, max={"income": 100}).measures
    assert said == (
        Total("age", Between(Fraction(100), Fraction(100))),
        Smallest("age", Between(Fraction(3), Fraction(3))),
        Largest("income", Between(Fraction("99.5"), Fraction("100.5"))),  # written more coarsely than the step
    )
    (total,) = one(sum={"income": {"value": 99, "random_rounded": 3}}).measures
    assert limits(total.value) == (Fraction("96.5"), Fraction("101.5"))
    (total,) = one(sum={"age": {"below": 100}}).measures
    assert limits(total.value) == (None, 99)


def test_medians_and_quantiles() -> None:
    exact, coarse = one(median={"age": 30, "income": 100}).measures
    assert exact == Quantile("age", Between(Fraction(30), Fraction(30)))
    assert limits(coarse.value) == (Fraction("99.5"), Fraction("100.5"))
    (discrete,) = one(median={"age": 30, "discrete": True}).measures
    assert discrete == Quantile("age", Between(Fraction(30), Fraction(30)), Fraction(1, 2), True)
    (upper,) = one(quantile={"age": 40, "level": Decimal("0.75"), "discrete": True}).measures
    assert upper == Quantile("age", Between(Fraction("39.5"), Fraction("40.5")), Fraction(3, 4), True)
    pair = one(quantile=[{"age": 20, "level": 0.25}, {"age": {"value": 40, "level": 0.75}}]).measures
    assert [measure.level for measure in pair if isinstance(measure, Quantile)] == [Fraction(1, 4), Fraction(3, 4)]


def test_percentages() -> None:
    (plain,) = one(where="age < 18", percent=Decimal("57.1")).measures
    assert plain == Share(Between(Fraction("0.5705"), Fraction("0.5715")), EVERYBODY)
    (part,) = one(percent={"value": 100, "decimals": 0, "of": "sex = 'F'"}).measures
    assert isinstance(part, Share)
    assert limits(part.value) == (Fraction("0.995"), 1)
    assert part.of == condition("sex = 'F'", {"sex": ("F", "M")})
    (low,) = one(percent=0).measures
    assert limits(low.value) == (0, Fraction("0.005"))


def test_the_last_digit_that_was_written() -> None:
    assert written_unit(38) == 1
    assert written_unit(Decimal("38.00")) == Fraction(1, 100)
    assert written_unit(Decimal("4E+3")) == 1
    assert written_unit(Fraction(1, 3)) == 0
    assert written_unit(0.25) == Fraction(1, 100)


@given(st.integers(0, 10**6), st.sampled_from([2, 3, 5, 7, 10]), st.integers(0, 10**9))
def test_the_true_count_lies_in_what_rounding_published(count: int, base: int, seed: int) -> None:
    down = count // base * base
    up = down if down == count else down + base
    drawn = random.Random(seed).choice([down, up])
    low, high = limits(between({"value": drawn, "random_rounded": base}, COUNT))
    assert low <= count <= high
    assert high - max(low, 0) <= 2 * base - 2
    nearest = down if count - down <= up - count else up
    low, high = limits(between({"value": nearest, "rounded": base}, COUNT))
    assert low <= count <= high


@given(st.lists(st.integers(0, 115), min_size=1, max_size=9), st.integers(0, 3), st.booleans())
def test_what_was_published_about_people_is_true_of_them(ages: list[int], decimals: int, upwards: bool) -> None:
    """However halves were turned, and whatever the group."""
    people = [{"age": Fraction(age), "sex": "FM"[place % 2], "smokes": True} for place, age in enumerate(ages)]

    def printed(number: Fraction) -> Decimal:
        turn = "ROUND_HALF_UP" if upwards else "ROUND_HALF_DOWN"
        long = Decimal(number.numerator) / Decimal(number.denominator)
        return long.quantize(Decimal(1).scaleb(-decimals), rounding=turn)

    def quantile(level: Fraction) -> Fraction:
        found = number_of(Quantile("age", Between(), level), values)
        assert found is not None
        return found

    values = sorted(person["age"] for person in people)
    women = [person["age"] for person in people if person["sex"] == "F"]
    published = published_tables(
        ATTRIBUTES,
        [
            {
                "name": "all",
                "count": len(ages),
                "sum": {"age": sum(ages)},
                "mean": {"age": printed(sum(values, Fraction(0)) / len(values))},
                "median": {"age": printed(quantile(Fraction(1, 2))), "decimals": decimals},
                "quantile": {"age": printed(quantile(Fraction(3, 4))), "level": 0.75},
                "min": {"age": min(ages)},
                "max": {"age": max(ages)},
            },
            {"name": "women", "where": "sex = 'F'", "percent": printed(Fraction(100 * len(women), len(ages)))},
            {"where": "sex = 'M'", "count": {"most": len(ages)}},
        ],
    )
    assert untrue(published, people) == []
    assert untrue(published, [*people, people[0]])


# The file


def test_the_census_block() -> None:
    published = read_tables(EXAMPLE)
    people = [
        {"age": Fraction(code[:-3]), "sex": code[-3], "race": code[-2], "married": code[-1]} for code in BLOCK.split()
    ]
    assert untrue(published, people) == []
    assert len(published.statistics) == 14
    assert sum(statistic.count == Between(Fraction(0), Fraction(2)) for statistic in published.statistics) == 7
    assert list(published.rules) == ["nobody under 15 is married"]
    older = [{**people[0], "age": Fraction(9)}, *people[1:]]
    assert "total" in untrue(published, older)


def test_a_file_is_read_with_its_decimals(tmp_path: Path) -> None:
    path = tmp_path / "r.toml"
    path.write_text(
        'format = 1\nkind = "tables"\n[attributes]\nage = {min = 0, max = 9}\n[[statistics]]\nmean = {age = 3.0}\n'
        'table = "T"\n',
        encoding="utf-8-sig",
    )
    (statistic,) = read_tables(str(path)).statistics
    assert statistic == Statistic(
        name="everybody", table="T", measures=(Mean("age", Between(Fraction("2.95"), Fraction("3.05"))),)
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x", "wrong-format: r.toml: … TOML"),
        ("", "unsupported-format: r.toml: … None"),
        ("format = 2", "unsupported-format: r.toml: … is 2"),
        ("format = 1\nkind = 'graph'", "unsupported-format: r.toml: … 'graph'"),
        ("format = 1\nkind = 'tables'", "missing-entry: r.toml"),
        ("format = 1\nkind = 'tables'\nattribute = 3", "unknown-entry: r.toml: … 'attribute'"),
    ],
)
def test_a_broken_file_is_refused_by_its_name(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "r.toml"
    path.write_text(text)
    with raises_code(InvalidInputError, words):
        read_tables(path)


def test_a_file_that_is_no_text_or_not_there(tmp_path: Path) -> None:
    (tmp_path / "r.toml").write_bytes(b"\xff\xfe\x00")
    for name in ("r.toml", "none.toml"):
        with raises_code(InvalidInputError, f"unreadable-file: {name}"):
            read_tables(tmp_path / name)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([], "empty: list"),
        (["F", "F"], "duplicate-value: 'F'"),
        ([1, 2, 1.0], "duplicate-value: 1 twice"),
        (["F", 1], "type-mismatch: mixed"),
        ([True, False], "type-mismatch: mixed"),
        ([None], "not-a-number|not-finite: finite"),
        ("text", "wrong-type: say"),
        (3, "wrong-type: say"),
        ({"min": 0}, "missing-entry: max is … missing"),
        ({"max": 0}, "missing-entry: min is … missing"),
        ({"min": 5, "max": 1}, "reversed-range: 5 … max 1"),
        ({"min": True, "max": 1}, "not-a-number: min"),
        ({"min": 0, "max": 1, "stop": 1}, "unknown-entry: 'stop'"),
        ({"min": 0, "max": 1, "step": 0}, "not-positive: step … above 0"),
        ({"min": 0, "max": 1, "step": 0.3}, "off-grid"),
        ({"min": 0, "max": 10**6}, "too-many"),
        ({"min": 0, "max": 10**300}, "too-many"),
    ],
)
def test_attributes_that_are_refused(values: Any, words: str) -> None:
    error = refused({"attributes": {"x": values}, "statistics": [{"count": 1}]})
    expect_code(words, error)
    assert "attribute 'x'" in error.problem


@pytest.mark.parametrize(
    ("attributes", "words"),
    [
        ({}, "empty: attributes"),
        (3, "not-a-table: attributes"),
        ({"Sex": ["F"], "sex": ["F"]}, "duplicate-name: twice"),
        ({" ": ["F"]}, "invalid-name: attribute"),
        ({"level": {"min": 0, "max": 1}}, "reserved-name"),
    ],
)
def test_names_of_attributes_that_are_refused(attributes: Any, words: str) -> None:
    expect_code(words, refused({"attributes": attributes, "statistics": [{"count": 1}]}))


def test_attributes() -> None:
    found = published_tables(
        {"level": ["low", "high"], "on": "boolean", "size": [3, Decimal("1.5")], "x": {"min": -1, "max": 1}},
        [{"where": "on AND level = 'low' AND size = 1.5 AND x < 0", "count": 1}],
    )
    assert found.attributes == {
        "level": ("low", "high"), "on": (False, True), "size": (3, Fraction(3, 2)), "x": (-1, 0, 1),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({}, "missing-entry: nothing"),
        ({"counts": 3}, "unknown-entry: 'counts'"),
        ({"count": -1}, "negative: -1"),
        ({"count": "4"}, "not-a-number: '4'"),
        ({"count": True}, "not-a-number: True … not"),
        ({"count": None}, "not-a-number|not-finite: finite"),
        ({"count": Decimal("nan")}, "not-a-number|not-finite: finite"),
        ({"count": 4.5}, "contradiction: fits"),
        ({"count": {}}, "missing-entry: number … missing"),
        ({"count": {"decimals": 1}}, "missing-entry: number … missing"),
        ({"count": {"value": 3, "exact": True, "rounded": 3}}, "contradictory-options"),
        ({"count": {"value": 3, "exact": False}}, "unknown-choice: exact"),
        ({"count": {"value": 3, "rounded": 0}}, "not-positive: rounded … above 0"),
        ({"count": {"value": 10, "rounded": 4}}, "contradiction: = 4"),
        ({"count": {"value": 4, "random_rounded": 3}}, "contradiction: random_rounded … 3"),
        ({"count": {"below": 1, "least": 1}}, "contradiction: fits"),
        ({"count": {"bellow": 1}}, "unknown-entry: 'bellow'"),
        ({"count": {"value": 4, "level": 1}}, "unknown-entry: 'level'"),
        ({"mean": 4}, "not-a-table: say"),
        ({"mean": {}}, "missing-entry: names"),
        ({"mean": {"decimals": 1}}, "missing-entry: names"),
        ({"mean": {"height": 1}}, "unknown-attribute: 'height'"),
        ({"mean": {"age": 1, "level": 0.5}}, "unknown-attribute: 'level'"),
        ({"mean": {"age": {"value": 1, "rouned": 5}}}, "unknown-entry: 'rouned'"),
        ({"mean": {"age": {"decimals": 1}}}, "missing-entry: mean … published"),
        ({"mean": {"age": {"least": 3, "most": 2}}}, "contradiction: fits"),
        ({"mean": {"age": "3"}}, "not-a-number: '3'"),
        ({"mean": {"age": Decimal("3.25"), "decimals": 1}}, "contradiction: 1 … 3.25"),
        ({"mean": {"age": 3, "decimals": -1}}, "too-small: least 0"),
        ({"mean": {"age": 3, "decimals": 31}}, "too-large: 31"),
        ({"sum": {"sex": 1}}, "type-mismatch: sum … sex"),
        ({"median": {"sex": 1}}, "type-mismatch: median"),
        ({"sum": {"smokes": 1}}, "type-mismatch: smokes"),
        ({"sum": {"age": Decimal("3.25")}}, "contradiction: fits"),
        ({"median": {"age": Decimal("nan")}}, "not-a-number|not-finite: finite"),
        ({"median": {"age": 3, "discrete": 1}}, "wrong-type: discrete … is 1"),
        ({"median": {"age": 3, "level": 0.5}}, "unknown-attribute: 'level'"),
        ({"quantile": {"age": 3}}, "missing-entry: level"),
        ({"quantile": {"age": 3, "level": 75}}, "out-of-range: 1 … level 75 … between 0"),
        ({"quantile": {"age": 3, "level": 0}}, "out-of-range: 0"),
        ({"percent": 101}, "too-large: 101 … 100"),
        ({"percent": -1}, "negative: -1"),
        ({"percent": {"value": 3, "of": "height = 3"}}, "unknown-column: 'height'"),
        ({"percent": {"value": 3, "of": 3}}, "wrong-type: condition"),
        ({"count": 1, "where": "sex = 'X'"}, "unknown-choice: 'X'"),
        ({"count": 1, "where": "sex = 'F' GROUP BY sex"}, "not-a-condition"),
        ({"count": 1, "where": 3}, "wrong-type: condition"),
        ({"count": 1, "table": 3}, "invalid-name: 3 … table"),
    ],
)
def test_statistics_that_are_refused_by_name(said: dict[str, Any], words: str) -> None:
    error = refused({"attributes": ATTRIBUTES, "statistics": [{"name": "cell 1", **said}]})
    expect_code(words, error)
    assert "statistic 'cell 1'" in error.problem


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ({"statistics": 3}, "not-a-list: statistics"),
        ({"statistics": []}, "empty: published"),
        ({"statistics": [3]}, "not-a-table: number 1"),
        ({"statistics": [{"count": 1}, {"x": 1}]}, "unknown-entry: number 2"),
        ({"statistics": [{"count": 1}, {"count": 2}]}, "duplicate-name: 'everybody'"),
        ({"statistics": [{"where": "age < 3", "cont": 2}]}, "unknown-entry: 'age < 3'"),
        ({"statistics": [{"name": 3, "count": 1}]}, "invalid-name: 3 … a statistic"),
        ({"statistics": [{"name": "", "count": 1}]}, "invalid-name: ''"),
        ({"statistics": [{"count": 1}], "rules": 3}, "not-a-table: rules"),
        ({"statistics": [{"count": 1}], "public": "sex"}, "not-a-list: public"),
        ({"statistics": [{"count": 1}], "public": ["sex", "height"]}, "unknown-attribute: 'height' … public"),
        ({"statistics": [{"count": 1}], "public": [["sex"]]}, "unknown-attribute: 'sex'"),
        ({"statistics": [{"count": 1}], "rules": {"adults": "age > "}}, "syntax-error: 'adults'"),
    ],
)
def test_documents_that_are_refused(document: dict[str, Any], words: str) -> None:
    expect_code(words, refused({"attributes": ATTRIBUTES, **document}))


def test_public_attributes() -> None:
    assert published_tables(ATTRIBUTES, [{"count": 1}], public=["sex", "age"]).public == ("sex", "age")
    assert published_tables(ATTRIBUTES, [{"count": 1}]).public == ()


def test_names_are_made_of_the_condition() -> None:
    long = " OR ".join(["sex = 'F'"] * 30)
    found = published_tables(ATTRIBUTES, [{"where": "sex =\n  'F'", "count": 3}, {"where": long, "count": 3}])
    assert found.statistics[0].name == "sex = 'F'"
    assert found.statistics[1].name.endswith("...")
    assert len(found.statistics[1].name) == 200


def test_a_scale_without_limits_has_none() -> None:
    assert between({"least": 3}, Scale()) == Between(Fraction(3), None)
    assert between({"above": 3, "below": 4}, Scale()) == Between(Fraction(3), Fraction(4))


# Whatever somebody writes


WORDS = st.sampled_from(["sex", "age", "F", "sex = 'F'", "boolean", "", "1", "\x00", "everybody"])
NAMES = WORDS | st.sampled_from([*SAID, *QUALIFIERS, "where", "name", "value", "level", "of", "min", "max", "step"])
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.decimals() | st.fractions() | WORDS | st.dates(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=6,
)


@given(NAMES, ANYTHING)
def test_anything_is_read_or_refused(name: str, value: Any) -> None:
    for document in (
        {"attributes": ATTRIBUTES, "statistics": [{"count": 1, name: value}]},
        {"attributes": ATTRIBUTES, "statistics": [{"mean": {"age": 3, name: value}}]},
        {"attributes": {**ATTRIBUTES, name: value}, "statistics": [{"count": 1}]},
        {"attributes": ATTRIBUTES, "statistics": [{"count": 1}], "rules": {name: value}},
        {"attributes": ATTRIBUTES, "statistics": value},
        {"attributes": value, "rules": value, "tables": value},
        {"attributes": ATTRIBUTES, "statistics": [{"count": 1}], "public": value},
    ):
        try:
            tables_of(document)
        except InvalidInputError as error:
            assert "\n" not in error.problem + error.remedy  # noqa: PT017  both ways are right


# The page


def test_the_page_names_every_key_and_its_files_are_read(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "releases.md").read_text()
    for key in {*KEYS, *SHEET_KEYS, *SAID, *QUALIFIERS, "level", "discrete", "of", "step"} - {"frame"}:
        assert re.search(rf"`[^`\n]*\b{key}\b[^`\n]*`|^{key} =|^\[+{key}", page, re.MULTILINE), key
    first, second, *_ = re.findall(r"^```toml\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    (tmp_path / "r.toml").write_text(first + second)
    women, men, old, *_ = read_tables(tmp_path / "r.toml").statistics
    assert [limits(statistic.count) for statistic in (women, men, old)] == [(4, 4), (10, 14), (0, 2)]
    assert [limits(statistic.measures[0].value) for statistic in (women, men)] == [
        (Fraction("33.45"), Fraction("33.55")), (Fraction("37.5"), Fraction("42.5")),
    ]  # fmt: skip

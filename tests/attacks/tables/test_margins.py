"""Tables of records at hand, attacked: the truth always fits, and what is proven is there."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.refusals import raises_code

from privet.attacks import (
    Between,
    Knowledge,
    Smallest,
    Statistic,
    attack_tables,
    holds,
    margins,
    read_records,
    records_of,
)
from privet.attacks.proofs.certificate import DENIAL, Leaf
from privet.attacks.proofs.work import Work
from privet.attacks.tables.certain import Certain
from privet.attacks.tables.outcome import arithmetic
from privet.attacks.tables.reconstruction import solve
from privet.errors import InvalidInputError

ATTRIBUTES = {"sex": ("F", "M"), "band": (Fraction(0), Fraction(1), Fraction(2)), "ill": (False, True)}
RECORDS = st.lists(
    st.fixed_dictionaries({name: st.sampled_from(values) for name, values in ATTRIBUTES.items()}), max_size=12
)


@given(records=RECORDS, by=st.sampled_from([1, 2, 3]), below=st.sampled_from([0, 3]))
@settings(max_examples=25, deadline=None)
def test_the_truth_fits_and_every_proof_is_true(records: list[dict[str, object]], by: int, below: int) -> None:
    tables = margins(records, ATTRIBUTES, by, below=below)
    for statistic in tables.statistics:
        count = sum(holds(statistic.where, record) for record in records)
        assert statistic.count.low <= count <= statistic.count.high
        assert (
            below <= count or statistic.count == Between(Fraction(0), Fraction(below - 1)) or statistic.name == "total"
        )
    found = attack_tables(tables, Knowledge(truth=tuple(records)), repair=False, limit=50)
    assert found.score is not None
    assert found.score.right == found.score.claimed == found.proven + found.numbers["certain_as_published"]
    if by == 3 and not below:
        assert found.score.claimed == len(records)  # the table is the data


def test_lists_of_attributes_make_the_tables_and_name_their_cells() -> None:
    people = [{"sex": "F", "band": Fraction(1), "ill": True}]
    tables = margins(people, ATTRIBUTES, [["sex"], ["band", "ill"]])
    assert [one.name for one in tables.statistics] == [
        "total", "sex F", "sex M", "band 0, ill no", "band 0, ill yes", "band 1, ill no", "band 1, ill yes",
        "band 2, ill no", "band 2, ill yes",
    ]  # fmt: skip
    assert Counter(one.table for one in tables.statistics) == {"": 1, "sex": 2, "band × ill": 6}


@pytest.mark.parametrize(
    ("records", "by", "problem"),
    [
        ([], 0, "too-small: by"),
        ([], [["ward"]], "unknown-attribute: 'ward'"),
        ([{"sex": "X", "band": Fraction(0), "ill": True}], 1, "not-declared: sex 'X'"),
        ([{"band": Fraction(0), "ill": True}], 1, "not-declared: sex None"),
    ],
)
def test_what_cannot_be_counted_is_refused(records: list[dict[str, object]], by: object, problem: str) -> None:
    with raises_code(InvalidInputError, problem):
        margins(records, ATTRIBUTES, by)  # type: ignore[arg-type]


def test_the_arithmetic_of_a_short_proof_is_shown() -> None:
    """Two women, one of whom is not ill: one ill woman. The sum is written out, and a longer one is not."""
    records = [
        {"sex": "F", "band": Fraction(0), "ill": True},
        {"sex": "F", "band": Fraction(0), "ill": False},
        {"sex": "M", "band": Fraction(0), "ill": False},
    ]
    tables = margins(records, ATTRIBUTES, [["sex"], ["ill"], ["sex", "ill"]])
    left = replace(tables, statistics=tuple(one for one in tables.statistics if one.name != "sex F, ill yes"))
    lines = {finding.claim: finding.reasoning for finding in attack_tables(left, repair=False).findings}
    assert lines["one person with sex F, ill yes"].endswith("= 1")


class TestArithmetic:
    """Leaves by hand: what is a plain sum of counts is shown, everything else is not."""

    def line(self, weights: tuple[tuple[int, int], ...], count: int = 1) -> str:
        people = [{"sex": "F", "band": Fraction(0), "ill": False}] * 3
        tables = margins(people, {"sex": ("F", "M")}, 1)
        smaller = replace(tables, statistics=(*tables.statistics, SMALLEST))
        found = solve(replace(smaller, attributes=ATTRIBUTES), Work(30), 5)
        return arithmetic(found, Certain(0, count, Leaf(weights)))

    def test_a_sum_and_a_share_of_one(self) -> None:
        assert self.line(((0, 1), (2, -1), (DENIAL, -1)), 3) == "3 (total) − 0 (sex M) = 3"
        assert self.line(((0, 2), (DENIAL, -2)), 3) == "(2 × 3 (total)) / 2 = 3"

    def test_what_is_not_shown(self) -> None:
        assert self.line(((0, 1), (DENIAL, -1)), 2) == ""  # the sum is 3
        assert self.line(((3, 1), (DENIAL, -1))) == ""  # not a count
        assert self.line(tuple((0, 1) for _ in range(9))) == ""


SMALLEST = Statistic(name="youngest", measures=(Smallest("band", Between(Fraction(0), Fraction(0))),))


def test_records_from_texts(tmp_path: Path) -> None:
    tables = margins([], {**ATTRIBUTES, "code": ("07", "7")}, 1)
    path = tmp_path / "r.csv"
    path.write_text("sex,band,ill,code,name\nF,01,Yes,07,Ada\nX,2.0,0,7,Ben\nM,many,maybe,8,Cy\n")
    assert read_records(path, tables) == (
        {"sex": "F", "band": Fraction(1), "ill": True, "code": "07"},
        {"sex": "X", "band": Fraction(2), "ill": False, "code": "7"},
        {"sex": "M", "band": "many", "ill": "maybe", "code": "8"},
    )
    assert records_of([{"band": 1, "ill": True}], tables) == ({"band": Fraction(1), "ill": True},)

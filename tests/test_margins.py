"""Tables of records at hand, attacked: the truth always fits, and what is proven is there."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privet.attacks import Between, Knowledge, holds, margins, reconstruct
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
    found = reconstruct(tables, Knowledge(truth=tuple(records)), repair=False, limit=50)
    assert found.score is not None
    assert found.score.right == found.score.claimed == found.certain
    if by == 3 and not below:
        assert found.certain == len(records)  # the table is the data


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
        ([], 0, "by must be at least 1"),
        ([], [["ward"]], "there is no attribute 'ward'"),
        ([{"sex": "X", "band": Fraction(0), "ill": True}], 1, "a record has sex 'X'"),
        ([{"band": Fraction(0), "ill": True}], 1, "a record has sex None"),
    ],
)
def test_what_cannot_be_counted_is_refused(records: list[dict[str, object]], by: object, problem: str) -> None:
    with pytest.raises(InvalidInputError) as error:
        margins(records, ATTRIBUTES, by)  # type: ignore[arg-type]
    assert error.value.problem.startswith(problem)

"""What suppressed and rounded counts hide, against every data set; which of them are alarms; that no clock is read."""

from __future__ import annotations

import time
from fractions import Fraction

import pytest
from support.made_releases import equal, exactly, hidden, solved
from support.places import EXAMPLES
from support.random_tables import random_system
from support.table_disclosures import Compared

from privet.attacks import attack_tables, published_tables, read_tables
from privet.attacks.finding import Findings
from privet.attacks.proofs.prover import Prover
from privet.attacks.proofs.work import Work
from privet.attacks.release.statistics import Between, Mark, Statistic, Tables
from privet.attacks.tables.decide import Decided, Decider, Decision
from privet.attacks.tables.suppressed import shown, suppressed

TOTAL = Statistic(name="total", count=exactly(3))


def release(*statistics: Statistic) -> Tables:
    ages = tuple(map(Fraction, (0, 30)))
    return Tables(attributes={"sex": ("F", "M"), "age": ages}, statistics=(TOTAL, *statistics))


def women(count: Between, mark: Mark = "") -> Statistic:
    return Statistic(name="women", where=equal("sex", "F"), count=count, mark=mark)


def test_ranges_of_hidden_counts() -> None:
    half = Statistic(name="half", where=equal("age", Fraction(0)), count=Between(Fraction(1, 2)))
    nobody = Statistic(name="none", where=equal("age", Fraction(99)), count=Between(None, Fraction(5)))
    cells = hidden(release(women(Between(None, Fraction(2))), half, nobody))
    assert [(cell.low, cell.high, cell.undone) for cell in cells] == [(0, 2, False), (1, 3, False), (0, 0, False)]
    assert cells[2].empty  # nobody can have that age, whatever is published
    (table,) = shown(cells)
    assert table.rows == (
        ("women", "0 to 2", "0 to 2", ""),
        ("half", "0.5 or more", "1 to 3", ""),
        ("none", "0 to 5", "0", ""),
    )
    assert hidden(release(women(exactly(1)))) == ()


def test_bounds_are_those_of_every_data_set() -> None:
    compared = [Compared(random_system(seed)).bounds() for seed in range(60)]
    assert [one.wrong for one in compared if one.wrong] == []
    assert sum(one.cells for one in compared) > 100


@pytest.mark.proof
def test_bounds_of_300_systems() -> None:
    compared = [Compared(random_system(seed)).bounds() for seed in range(1000, 1300)]
    assert [one.wrong for one in compared if one.wrong] == []
    assert sum(one.cells for one in compared) > 500


def test_bounds_that_nobody_tightened_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The comparison fails if the bounds are those of the first data set that was met."""
    monkeypatch.setattr(Decider, "decide", lambda _self, claim, _work: Decided(claim, Decision.HOLDS))
    assert any(Compared(random_system(seed), limit=1).bounds().wrong for seed in range(60))


def two_by_two(corner: object, beside: object, below: object = 6) -> Findings:
    """Sexes by age, with totals: the corner is 1, the cell beside it 4, below it 6, the last one 9."""
    statistics = [
        {"name": "all", "count": 20},
        {"name": "F", "where": "sex = 'F'", "count": 5},
        {"name": "young", "where": "age = 0", "count": 7},
        {"name": "F young", "where": "sex = 'F' AND age = 0", "count": corner},
        {"name": "F old", "where": "sex = 'F' AND age = 1", "count": beside},
        {"name": "M young", "where": "sex = 'M' AND age = 0", "count": below},
        {"name": "M old", "where": "sex = 'M' AND age = 1", "count": 9},
    ]
    return attack_tables(published_tables({"sex": ["F", "M"], "age": [0, 1]}, statistics), repair=False)


PRIMARY = {"suppressed": "primary", "below": 3}
COMPLEMENTARY = {"suppressed": "complementary"}


def test_complementary_cells_are_audited_like_primary_ones() -> None:
    """The last cell was published: everything follows. The complementary ones are 4 and 6, which no rule hides."""
    found = two_by_two(PRIMARY, COMPLEMENTARY, COMPLEMENTARY)
    assert {cell["cell"]: (cell["low"], cell["high"]) for cell in found.numbers["cells"]} == {
        "F young": (1, 1), "F old": (4, 4), "M young": (6, 6),
    }  # fmt: skip
    assert (found.numbers["undone"], found.numbers["undone_complementary"]) == (1, 2)
    assert found.alarm == "bad"
    assert "1 of 3 suppressed cells is undone" in found.headline
    titles = [table.title for table in found.tables]
    assert titles == ["Suppressed and rounded counts", "Complementary suppressed counts"]


def test_an_undone_complementary_cell_under_the_rule_is_an_alarm() -> None:
    """The one of 1 is marked as complementary, and the rule hides counts below 3."""
    found = two_by_two(COMPLEMENTARY, {"suppressed": "primary", "below": 5}, COMPLEMENTARY)
    assert {cell["cell"]: cell["alarm"] for cell in found.numbers["cells"]} == {
        "F young": True, "F old": True, "M young": False,
    }  # fmt: skip


def test_rounding_that_is_undone_is_counted_apart() -> None:
    found = two_by_two({"value": 0, "random_rounded": 3}, 4)
    assert (found.numbers["undone"], found.numbers["unrounded"], found.alarm) == (0, 1, "bad")
    assert "1 of 1 rounded count is undone" in found.headline


def test_an_undone_cell_without_a_mark_is_an_alarm() -> None:
    assert two_by_two({"below": 3}, 4).numbers["undone"] == 1


def test_no_work_decides_no_cell_and_nothing_is_called_safe() -> None:
    found = solved(release(women(Between(None, Fraction(2)))))
    (cell,) = suppressed(found, Decider(found), Work(0))
    assert (cell.open, cell.low, cell.high, cell.undone) == (True, 0, 3, False)
    assert shown([cell])[0].rows == (("women", "0 to 2", "0 to 3", "not decided"),)


def test_a_cell_that_is_not_decided_limits_headline_color_and_exit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Prover, "at_least", lambda *_: None)
    monkeypatch.setattr(Prover, "prove", lambda *_: None)
    monkeypatch.setattr("privet.attacks.tables.decide.impossible", lambda *_: False)
    found = attack_tables(release(women(Between(Fraction(0), Fraction(2)))), repair=False)
    assert found.headline.startswith("Nothing was found so far, and not everything was searched: ")
    assert "1 suppressed cell not decided" in found.headline
    assert found.alarm == "neutral"
    assert found.numbers["limits"]


CLOCKS = ("time", "time_ns", "monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns", "process_time")


def test_no_clock_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """So the same report comes from a busy machine. Solvers count their own work."""

    def ticking(*_: object) -> float:
        raise AssertionError("a clock was read")

    before = two_by_two(PRIMARY, COMPLEMENTARY, COMPLEMENTARY)
    block = read_tables(EXAMPLES / "census-block.toml")
    with monkeypatch.context() as patch:
        for name in CLOCKS:
            patch.setattr(time, name, ticking)
        after = two_by_two(PRIMARY, COMPLEMENTARY, COMPLEMENTARY)
        attack_tables(block, seconds=0.5)  # with a repair
    assert after.to_json() == before.to_json()

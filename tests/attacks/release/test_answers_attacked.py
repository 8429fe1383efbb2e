"""A vault's answers as a release: the intervals become statistics, and nothing more is read into them."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pytest

import privet as pv
from privet.attacks import Between, Mean, Tables, Total, attack_tables, tables_of_answers
from privet.attacks.release.statistics import EVERYBODY
from privet.vault import Vault

ATTRIBUTES = {"ward": ("A", "B"), "age": tuple(Fraction(n) for n in range(100))}


@pytest.fixture
def vault(tmp_path: Path) -> Iterator[Vault]:
    with pv.create(tmp_path / "v.privet", budget=pv.Budget(100)) as made:
        rows = {"ward": ["A", "A", "B", None], "age": [10, 20, 30, 40]}
        made.add_table("t", rows, unit=None, columns={"ward": pv.Category(["A", "B"]), "age": pv.Integer(0, 99)})
        yield made


def read(vault: Vault, sql: str) -> Tables:
    return tables_of_answers([vault.sql(sql, epsilon=1).release()], ATTRIBUTES, "0.9", most=9)


def test_choices_and_the_rest_are_not_used(tmp_path: Path) -> None:
    """A quantile has no interval, and nobody knows which groups are in the rest."""
    assert len(read_ranked(tmp_path).statistics) == 1


def read_ranked(folder: Path) -> Tables:
    with pv.create(folder / "w.privet", budget=pv.Budget(100, 1e-6)) as made:
        rows = {"ward": [f"w{n}" for n in range(9)], "age": [10] * 9}
        made.add_table("t", rows, unit=None, columns={"ward": pv.Text(), "age": pv.Integer(0, 99)})
        text = "SELECT ward, COUNT(*) AS n, MEDIAN(age) AS m FROM t GROUP BY ward"
        rest = made.sql(text, epsilon=1, delta="1e-9", other="rest").release()
        ranked = made.sql("SELECT MEDIAN(age) AS m FROM t", epsilon=1).release()
    assert [row["ward"] for row in rest.rows] == ["rest"]
    return tables_of_answers([rest, ranked], ATTRIBUTES, "0.9", most=9)


def test_every_usable_number_becomes_a_statistic(vault: Vault) -> None:
    usable, others = "COUNT(*) AS n, SUM(age) AS s, AVG(age) AS a", "COUNT(age) AS k, SUM(2 * age) AS d"
    sql = f"SELECT ward, {usable}, {others} FROM t GROUP BY ward"
    answer = vault.sql(sql, epsilon=1).release()
    tables = tables_of_answers([answer], ATTRIBUTES, "0.9", most=9)
    rows = answer.interval("0.9")
    assert len(rows) == 3  # A, B and no ward
    assert [one.name for one in tables.statistics[:4]] == [
        "at most", "answer 1, row 1: n of ward A", "answer 1, row 1: s of ward A", "answer 1, row 1: a of ward A",
    ]  # fmt: skip
    assert len(tables.statistics) == 1 + 3 * 3  # COUNT(age) and the sum of an expression are not used
    n, s, a = (rows[0][name] for name in ("n", "s", "a"))
    assert tables.statistics[1].count == Between(Fraction(max(n["low"], 0)), Fraction(n["high"]))
    assert tables.statistics[2].measures == (Total("age", Between(Fraction(s["low"]), Fraction(s["high"]))),)
    (mean,) = tables.statistics[3].measures
    assert isinstance(mean, Mean)
    assert float(mean.value.low) == pytest.approx(a["low"])
    assert tables.confidence == max(Fraction(0), 1 - 9 * Fraction(1, 10))


def test_where_and_no_groups(vault: Vault) -> None:
    tables = read(vault, "SELECT COUNT(*) AS n FROM t WHERE age >= 18")
    assert tables.statistics[1].name == "answer 1, row 1: n of everybody"
    assert tables.confidence == Fraction(9, 10)
    everybody = read(vault, "SELECT COUNT(*) AS n FROM t")
    assert everybody.statistics[1].where == EVERYBODY


def test_groups_that_are_not_shown_are_not_used(vault: Vault) -> None:
    assert len(read(vault, "SELECT COUNT(*) AS n FROM t GROUP BY ward").statistics) == 1


def test_aggregates_that_are_not_shown_are_not_used(vault: Vault) -> None:
    sql = "SELECT ward, COUNT(*) AS n FROM t GROUP BY ward ORDER BY SUM(age)"
    assert len(read(vault, sql).statistics) == 4


def test_nobody_is_certain_however_narrow_the_intervals(vault: Vault) -> None:
    """At epsilon 40 the intervals are exact for all that anybody can tell; certain they are not."""
    answer = vault.sql("SELECT ward, COUNT(*) AS n FROM t WHERE ward IS NOT NULL GROUP BY ward", epsilon=40).release()
    found = attack_tables(tables_of_answers([answer], ATTRIBUTES, "0.9", most=9), repair=False, limit=5)
    assert found.proven == 0
    assert found.numbers["proven"] == 3  # two in A, one in B
    assert (
        found.headline
        == "Nobody is certain, since the numbers are noisy; if all intervals hold, 3 of 3 people are certain"
    )


@pytest.mark.parametrize(("share", "claimed"), [("0.97", 3), ("0.9", 0)])
def test_what_follows_from_noisy_numbers_is_never_proven(tmp_path: Path, share: str, claimed: int) -> None:
    """It is claimed where all intervals together hold with 90 % or more: two of 97 % do, two of 90 % do not."""
    with pv.create(tmp_path / "w.privet", budget=pv.Budget(200)) as made:
        made.add_table("t", {"ward": ["A", "A", "B"]}, unit=None, columns={"ward": pv.Category(["A", "B"])})
        answer = made.sql("SELECT ward, COUNT(*) AS n FROM t GROUP BY ward", epsilon=150).release()
    found = attack_tables(tables_of_answers([answer], {"ward": ("A", "B")}, share, most=9))
    assert (found.proven, found.claimed) == (0, claimed)
    assert found.headline.startswith(
        "Nobody is certain, since the numbers are noisy; if all intervals hold, 3 of 3 people"
    )
    assert ("Certain means" in str(found)) is False
    assert ("Claimed means" in str(found)) is bool(claimed)

"""Questions about people from SQL to the answer, on the real engine without noise: what textbooks and pandas say."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from support.refusals import raises_code

import privet as pv
from privet.backends import Spread
from privet.core.laws import Choice, Choices, DiscreteGaussian, DiscreteLaplace, Law, Top
from privet.core.measures import Measure
from privet.core.ranks import rank
from privet.errors import InvalidInputError, RefusedQueryError
from privet.estimates.accuracy import half_width
from privet.estimates.moments import Estimate
from privet.vault import Vault

F = Fraction
CITIES = ["Basel"] * 60 + ["Bern"] * 30 + ["Chur"] * 9 + ["", None, "İzmir"]
COLUMNS = {
    "ward": pv.Category(["A", "B"]),
    "age": pv.Integer(0, 120),
    "cost": pv.Number(0, 5000, step="0.01"),
    "city": pv.Text(),
    "zip": pv.Integer(0, 10**9),
}


class NoNoise:
    """Nothing is added; of values, the smallest whose rank is right is chosen."""

    def draw(self, law: Law, size: int) -> npt.NDArray[np.int64]:
        return np.zeros(size, np.int64)

    def choose(self, spread: Spread, measure: Measure, law: Choice) -> int:
        sought = rank(measure, law, int(spread.counts.sum()))
        values = np.concatenate([[measure.low], spread.values, [measure.high]])
        upto = sought.unit * np.cumsum(np.concatenate([[sought.below], spread.counts, [sought.above]]))
        return int(values[max(np.searchsorted(upto, sought.target), 1 - min(sought.below, 1))])

    def choose_all(self, spread: Spread, measure: Measure, law: Choices) -> list[int]:
        return [self.choose(spread, replace(measure, quantile=one, quantiles=()), law) for one in measure.quantiles]

    def top(self, scores: Sequence[int], law: Top) -> list[int]:
        return sorted(range(len(scores)), key=lambda place: -scores[place])[: law.rounds]


def frame() -> pd.DataFrame:
    rng = np.random.default_rng(8)
    size = 3000
    return pd.DataFrame(
        {
            "pid": rng.integers(0, 700, size),
            "household": rng.integers(0, 200, size),
            "ward": rng.choice(["A", "B"], size),
            "age": rng.integers(0, 100, size),
            "cost": np.round(np.minimum(rng.lognormal(6, 1, size), 5000), 2),
            "city": rng.choice(np.array(CITIES, dtype=object), size),
            "zip": rng.integers(0, 40, size) ** 4,
        }
    )


FRAME = frame()


@pytest.fixture(scope="module")
def vault(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Vault]:
    folder = tmp_path_factory.mktemp("asked") / "v.privet"
    with pv.create(folder, budget=pv.Budget(1000, "1e-5"), testing=True) as vault:
        vault.add_table("t", FRAME, unit="pid", max_groups=50, max_rows_per_group=200, columns=COLUMNS)
        vault.replace_noise(NoNoise())
        yield vault


def asked(vault: Vault, text: str, **more: Any) -> list[dict[str, Any]]:
    return vault.sql(text, **{"epsilon": 1, **more}).release(fresh=True).rows


def test_moments_are_those_of_the_textbook(vault: Vault) -> None:
    text = """SELECT ward, COUNT(*) AS n, SUM(cost) AS s, AVG(cost) AS a, VAR_POP(cost) AS vp, VAR_SAMP(cost) AS vs,
        STDDEV(age) AS d, STDDEV_POP(age) AS dp, COVAR_POP(age, cost) AS cp, COVAR_SAMP(age, cost) AS cs,
        CORR(age, cost) AS r FROM t WHERE ward IS NOT NULL GROUP BY ward"""
    for price in ({"epsilon": 50}, {"epsilon": 50, "delta": "1e-9"}, {"rho": 9, "epsilon": None}):
        for row in vault.sql(text, **{"epsilon": 1, **price}).release(fresh=True).lines():
            own = FRAME[FRAME["ward"] == row["ward"]]
            cost, age = own["cost"], own["age"]
            expected = {
                "n": len(own), "s": cost.sum(), "a": cost.mean(), "vp": cost.var(ddof=0), "vs": cost.var(),
                "d": age.std(), "dp": age.std(ddof=0), "cp": np.cov(age, cost, ddof=0)[0, 1], "cs": age.cov(cost),
                "r": age.corr(cost),
            }  # fmt: skip
            for name, value in expected.items():
                found = row[name]  # its interval may be the whole range: then it is not shown
                assert isinstance(found, Estimate)
                assert math.isclose(found.value, value, rel_tol=1e-6), name


def test_people_and_values_are_counted_once(vault: Vault) -> None:
    rows = asked(vault, "SELECT ward, COUNT(DISTINCT pid) AS p, COUNT(DISTINCT city) AS c FROM t GROUP BY ward")
    for row in rows[:2]:
        own = FRAME[FRAME["ward"] == row["ward"]]
        assert (row["p"], row["c"]) == (own["pid"].nunique(), own["city"].nunique())
    assert rows[2] == {"ward": None, "p": 0, "c": 0}


def test_quantiles_have_their_rank(vault: Vault) -> None:
    text = "SELECT ward, QUANTILE(cost, [0.1, 0.5, 0.9]) AS q, MIN(cost) AS low, MAX(cost) AS high FROM t GROUP BY ward"
    limits = {"epsilon": 100, "max_rows_per_group": 30}
    answer = vault.sql(text, **limits, quantile_intervals=False).release()
    whole = vault.sql(text, **limits).release()
    assert "rows in rank with probability 95 %; it aims" in str(answer)
    for row in answer.rows[:2]:
        costs = np.sort(FRAME.loc[FRAME["ward"] == row["ward"], "cost"])
        for name, share in (("q_10", 0.1), ("q_50", 0.5), ("q_90", 0.9)):
            assert row[name] == pytest.approx(np.quantile(costs, share, method="inverted_cdf"))
        assert costs[0] < row["low"] <= row["q_10"]
        assert row["q_90"] <= row["high"] < costs[-1]
    for row in whole.interval()[:2]:
        costs = np.sort(FRAME.loc[FRAME["ward"] == row["ward"], "cost"])
        for name, share in (("q_10", 0.1), ("q_50", 0.5), ("q_90", 0.9)):
            assert row[name]["low"] < np.quantile(costs, share) < row[name]["high"]
        assert row["low"]["low"] < costs[0] < row["low"]["value"] <= row["low"]["high"]
        assert row["high"]["low"] < costs[-1] <= row["high"]["high"]
    assert whole.rows[2] == {"ward": None, **dict.fromkeys(("q_10", "q_50", "q_90", "low", "high"))}


def test_bounds_of_a_question_bind(vault: Vault) -> None:
    text = "SELECT ward, COUNT(*) AS n FROM t GROUP BY ward"
    pairs = FRAME.groupby(["pid", "ward"]).size()
    assert sum(row["n"] for row in asked(vault, text, max_rows_per_group=1)) == len(pairs)
    assert sum(row["n"] for row in asked(vault, text, max_groups=1, max_rows_per_group=1)) == FRAME["pid"].nunique()
    wide, narrow = (vault.sql(text, epsilon=1, max_groups=n).error["n"] for n in (3, 1))
    assert wide > 2 * narrow


def test_groups_that_nobody_declared_are_those_with_enough_people(vault: Vault) -> None:
    text = "SELECT city, COUNT(DISTINCT pid) AS p, COUNT(*) AS n, AVG(age) AS a FROM t GROUP BY city"
    query = vault.sql(text, epsilon=4, delta="1e-7", max_groups=6)
    threshold = query.priced.parts[-1].threshold
    assert threshold is not None
    people = FRAME.groupby("city", dropna=False)["pid"].nunique()
    shown = {key if isinstance(key, str) else None for key, count in people.items() if count >= threshold}
    assert 2 <= len(shown) < len(people)
    rows = query.release(fresh=True).rows
    assert {row["city"] for row in rows} == shown
    for row in rows:
        own = FRAME[FRAME["city"] == row["city"]]
        assert (row["p"], row["n"]) == (own["pid"].nunique(), len(own))
        assert row["a"] in (None, pytest.approx(own["age"].mean()))  # of few rows it is unknown
    assert query.cost.delta == F(1, 10**7) >= query.cost.rho_delta  # Gaussian noise has no delta on that gauge
    assert f"about {threshold:,} people or more, counted with Gaussian noise." in str(query.release())
    few = vault.sql(text, epsilon=4, delta="1e-12", max_groups=1).release()
    assert "people or more, counted with Laplace noise." in str(few)


def test_no_group_may_have_enough_people(vault: Vault) -> None:
    answer = vault.sql("SELECT city, COUNT(*) AS n FROM t GROUP BY city", epsilon="0.01", delta="1e-7").release()
    assert answer.rows == []
    assert "No group has enough people to be shown." in str(answer)
    assert "<tbody></tbody>" in answer._repr_html_()


def test_the_rest_is_one_row_with_everybody_else_once(vault: Vault) -> None:
    text = "SELECT city, ward, COUNT(*) AS n, COUNT(DISTINCT pid) AS p FROM t GROUP BY city, ward ORDER BY n"
    rows = asked(vault, text, epsilon=4, delta="1e-7", max_groups=20, other="elsewhere")
    (rest,) = [row for row in rows if row["city"] == "elsewhere"]
    assert rest["ward"] == "elsewhere"
    assert sum(row["n"] for row in rows) == len(FRAME)
    shown = {(row["city"], row["ward"]) for row in rows}
    hidden = FRAME[[pair not in shown for pair in zip(FRAME["city"], FRAME["ward"], strict=True)]]
    assert rest["p"] == hidden["pid"].nunique()


def test_the_people_of_the_rest_are_a_number_of_their_own(vault: Vault) -> None:
    """One person moves it by 1; the other groups are counted where they are chosen. An error is that of either."""
    text = "SELECT city, ward, COUNT(DISTINCT pid) AS p FROM t GROUP BY city, ward"
    query = vault.sql(text, epsilon=4, delta="1e-7", max_groups=20, other="elsewhere")
    of_rest, keys = query.priced.parts
    assert (of_rest.sensitivity.l1, keys.sensitivity.l1) == (1, 20)
    widths = [half_width(part.law, F(95, 100)) for part in (of_rest, keys)]  # type: ignore[arg-type]
    assert query.error["p"] == max(widths)
    words = " ".join(query.explain().split())
    assert "how many units the rest has" in words
    assert "p = COUNT(DISTINCT unit), from [1] and [2]" in words
    spans = {(row["city"], row["ward"]): row["p"] for row in query.release(fresh=True).interval()}
    rest = spans.pop(("elsewhere", "elsewhere"))
    hidden = FRAME[[pair not in spans for pair in zip(FRAME["city"], FRAME["ward"], strict=True)]]
    assert rest["value"] == hidden["pid"].nunique() > 0
    assert rest["high"] - rest["value"] == widths[0]
    basel = FRAME[(FRAME["city"] == "Basel") & (FRAME["ward"] == "A")]
    assert spans["Basel", "A"]["value"] == basel["pid"].nunique()
    assert spans["Basel", "A"]["high"] - spans["Basel", "A"]["value"] == widths[1]


def test_rows_as_people_of_the_rest_keep_their_total(vault: Vault) -> None:
    """With one row a person and group COUNT(*) is a number of people; totals need it of all cells."""
    text = "SELECT city, COUNT(*) AS n FROM t GROUP BY {}"
    price = {"epsilon": 4, "delta": "1e-7", "max_groups": 6, "max_rows_per_group": 1, "other": "elsewhere"}
    alone, total = (vault.sql(text.format(keys), **price) for keys in ("city", "ROLLUP (city)"))
    assert [part.measure.rest for part in alone.priced.parts] == [True, False]
    assert [part.measure.rest for part in total.priced.parts] == [False, False]
    rows = total.release(fresh=True).rows
    assert rows[-1]["n"] == sum(row["n"] for row in rows[:-1])


def test_declared_groups_can_be_chosen_too(vault: Vault) -> None:
    """A billion groups, of which forty occur."""
    text = "SELECT zip, COUNT(*) AS n FROM t GROUP BY zip"
    with raises_code(RefusedQueryError, "too-many: 1,000,000") as caught:
        vault.sql(text, epsilon=1)
    assert "private_keys=True" in caught.value.remedy
    rows = asked(vault, text, epsilon=4, delta="1e-7", max_groups=40, max_rows_per_group=20, private_keys=True)
    assert {row["zip"] for row in rows} <= set(FRAME["zip"])
    with raises_code(RefusedQueryError, "unneeded-option: text"):
        vault.sql(text, epsilon=1, delta="1e-7", private_keys=True, other="x")


def test_the_noise_that_errs_less_is_taken(vault: Vault) -> None:
    text = "SELECT age, COUNT(*) AS n FROM t GROUP BY age"
    few, many = (vault.sql(text, epsilon=1, delta="1e-7", max_groups=n, max_rows_per_group=1) for n in (1, 60))
    pure = vault.sql(text, epsilon=1, max_groups=60, max_rows_per_group=1)
    assert isinstance(few.priced.parts[0].law, DiscreteLaplace)
    assert few.cost.delta == 0  # not needed, not charged
    assert isinstance(many.priced.parts[0].law, DiscreteGaussian)
    assert (many.cost.epsilon, many.cost.delta) == (1, F(1, 10**7))
    assert many.error["n"] < pure.error["n"]


def test_a_household_is_a_unit_like_any_other(tmp_path: Path) -> None:
    columns = {name: kind for name, kind in COLUMNS.items() if name in ("ward", "age")}
    with pv.create(tmp_path / "h", budget=pv.Budget(100), testing=True) as vault:
        vault.add_table("t", FRAME, unit="household", max_groups=2, max_rows_per_group=40, columns=columns)
        vault.replace_noise(NoNoise())
        (row,) = asked(vault, "SELECT COUNT(DISTINCT household) AS h, COUNT(*) AS n FROM t")
        assert row == {"h": FRAME["household"].nunique(), "n": len(FRAME)}


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        ({}, "missing-delta"),
        ({"delta": 0}, "not-positive: above 0"),
        ({"delta": 2}, "out-of-range"),
        ({"within": 5, "epsilon": None}, "not-declared"),
        ({"delta": "1e-9", "other": ""}, "wrong-type"),
        ({"delta": "1e-9", "max_groups": 0}, "too-small: max_groups … least 1"),
        ({"delta": "1e-9", "max_groups": 2**41}, "limit-too-high"),
        ({"delta": "1e-9", "max_rows_per_group": 1.5}, "not-whole"),
    ],
)
def test_what_is_wrong_is_said_and_costs_nothing(vault: Vault, more: dict[str, Any], problem: str) -> None:
    spent = vault.budget.spent
    with raises_code(InvalidInputError, problem):
        vault.sql("SELECT city, COUNT(*) AS n FROM t GROUP BY city", **{"epsilon": 1, **more})
    assert vault.budget.spent == spent


def test_without_a_delta_in_the_budget_such_groups_are_refused(tmp_path: Path) -> None:
    with pv.create(tmp_path / "v", budget=pv.Budget(1)) as vault:
        vault.add_table("t", FRAME, unit="pid", columns=COLUMNS)
        with raises_code(RefusedQueryError, "not-declared: budget"):
            vault.sql("SELECT city, COUNT(*) AS n FROM t GROUP BY city", epsilon=1)
        with raises_code(RefusedQueryError, "unneeded-option: here"):
            vault.sql("SELECT ward, COUNT(*) AS n FROM t GROUP BY ward", epsilon=1, other="x")


def test_rows_that_are_units_have_no_bounds_to_choose(tmp_path: Path) -> None:
    with pv.create(tmp_path / "v", budget=pv.Budget(1, "1e-6")) as vault:
        vault.add_table("t", FRAME, unit=None, columns=COLUMNS)
        with raises_code(InvalidInputError, "rows-are-units: bound"):
            vault.sql("SELECT COUNT(*) AS n FROM t", epsilon=1, max_groups=3)


def test_keys_that_are_times_come_back_as_times(tmp_path: Path) -> None:
    """Not declared, so chosen privately: hours of the days on which somebody arrived."""
    arrived = [f"2026-03-0{1 + n % 2} 14:{n % 60:02}:00" for n in range(400)]
    frame = pd.DataFrame({"who": range(400), "arrived": pd.to_datetime(arrived)})
    with pv.create(tmp_path / "v.privet", budget=pv.Budget(10, "1e-6"), testing=True) as vault:
        kinds = {"arrived": pv.Timestamp("1900-01-01", "2100-01-01")}
        vault.add_table("t", frame, unit="who", columns=kinds)
        text = "SELECT date_trunc('hour', arrived) AS h, COUNT(*) AS n FROM t GROUP BY h"
        exact = pv.testing.exact(vault.sql(text, epsilon=5, delta="1e-7", private_keys=True), key=b"k")
    assert exact.keys == ((datetime(2026, 3, 1, 14),), (datetime(2026, 3, 2, 14),))

"""ORDER BY … DESC LIMIT: groups that are chosen by their scores first, then measured; from SQL to the answer."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from support.refusals import raises_code

import privet as pv
from privet import recheck
from privet.backends import Task
from privet.backends.duckdb import DuckDb
from privet.backends.reference import Reference, measured
from privet.core.cells import Keys
from privet.core.laws import DiscreteGaussian, DiscreteLaplace, Law, Top
from privet.core.loss import Loss
from privet.core.measures import Role
from privet.engine import Fit, run
from privet.errors import RefusedQueryError, ReleaseFailedError
from privet.estimates.pricing import EARLIER, Way, ways_of
from privet.ledger import Charge
from privet.query import Query
from privet.vault import Vault

WARDS = [f"w{number:02}" for number in range(40)]
COLUMNS = {
    "ward": pv.Category(WARDS), "stay": pv.Integer(0, 99), "cost": pv.Number(-5, 10, step="0.5"),
    "day": pv.Date("2020-01-01", "2022-12-31"), "smoker": pv.Boolean(), "city": pv.Text(),
}  # fmt: skip
BY_WARD = "SELECT ward, COUNT(*) AS n FROM t GROUP BY ward ORDER BY n DESC LIMIT 3"


ROWS_IN_ALL = {"max_groups": 20, "max_rows_per_group": 9, "max_rows": 100}


class NoNoise:
    """Nothing is added, and the best scores are chosen; of equal ones the first."""

    def draw(self, law: Law, size: int) -> npt.NDArray[np.int64]:
        return np.zeros(size, np.int64)

    def choose(self, *_: object) -> int:
        raise NotImplementedError

    def top(self, scores: Sequence[int], law: Top) -> list[int]:
        return sorted(range(len(scores)), key=lambda place: -scores[place])[: law.rounds]


def rows_of_people() -> dict[str, list[Any]]:
    """Person p has a row in each of the wards p, p - 7, p - 14, ... and more in the first one; ward 5 is missing."""
    rows: dict[str, list[Any]] = {name: [] for name in ("who", *COLUMNS)}
    for who in range(40):
        for ward in [*range(who, -1, -7), 0, 0, 0, 0]:
            rows["who"].append(f"p{who}")
            rows["ward"].append(None if ward == 5 else WARDS[ward])
            rows["stay"].append(ward * 2)
            rows["cost"].append((ward % 31) / 2 - 5)
            rows["day"].append(f"{2020 + ward % 3}-0{1 + ward % 9}-11")
            rows["smoker"].append(ward % 2 == 0)
            rows["city"].append("Ulm")
    return rows


@pytest.fixture(params=["add-remove", "replace"])
def vault(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Vault]:
    budget = pv.Budget(100, "1e-6")
    with pv.create(tmp_path / "v.privet", budget=budget, neighbors=request.param, testing=True) as made:
        made.add_table("t", rows_of_people(), unit="who", max_groups=20, max_rows_per_group=9, columns=COLUMNS)
        yield made


def quiet(asked: Query, *, backend: Any = None) -> Query:
    return replace(asked, gate=replace(asked.gate, noise=NoNoise(), backend=backend or asked.gate.backend))


def stages_of(task: Task, chosen: Sequence[Keys]) -> tuple[Task, Task]:
    assert task.top is not None
    score, law = task.top
    return task.scoring(score), task.measuring(law.rounds).showing(chosen)


QUESTIONS = [
    BY_WARD,
    "SELECT ward, COUNT(DISTINCT who) AS n, SUM(stay) AS s FROM t GROUP BY ward ORDER BY n DESC, ward LIMIT 4",
    "SELECT stay, SUM(cost) AS s FROM t GROUP BY stay ORDER BY s DESC LIMIT 2",
    "SELECT FLOOR(cost) AS c, smoker, COUNT(*) AS n FROM t GROUP BY 1, 2 ORDER BY n DESC LIMIT 3",
    "SELECT date_trunc('month', day) AS m, SUM(stay) AS s, COUNT(*) AS n FROM t GROUP BY 1 ORDER BY s DESC LIMIT 5",
    "SELECT ward, COUNT(cost) AS n, 2 * COUNT(cost) AS twice FROM t WHERE stay > 9 GROUP BY 1 ORDER BY n DESC LIMIT 3",
]


@pytest.mark.parametrize("text", QUESTIONS)
def test_the_best_groups_are_shown_with_their_numbers(vault: Vault, text: str) -> None:
    """Without noise: what measuring all groups gives, whoever computes it, and for keys of every type."""
    asked = vault.sql(text, epsilon=1)
    assert asked.priced.top is not None
    everything = asked.of_all_groups()
    expected = quiet(everything).release().rows
    assert quiet(asked).release().rows == expected
    numbers = [name for name, value in expected[0].items() if name in ("n", "s", "twice") and value]
    assert len(expected) == asked.plan.limit
    assert numbers
    task = asked.task(b"secret")
    kernel, portable = (DuckDb(Path(), {"t": rows_of_people()}, portable=one) for one in (False, True))
    for engine in (kernel, portable):
        for stage in stages_of(task, list(task.cells.keys())[:3]):
            assert engine.exact(stage, engine.write(stage)) == asked.gate.backend.exact(stage)
        engine.close()


def test_the_definition_chooses_and_measures_the_same(vault: Vault) -> None:
    rows = rows_of_people()
    listed = [dict(zip(rows, values, strict=True)) for values in zip(*rows.values(), strict=True)]
    for text in QUESTIONS[:2]:
        task = vault.sql(text, epsilon=1).task(b"secret")
        chosen = [("w00",), (None,), ("w21",)]
        for stage in stages_of(task, chosen):
            assert Reference({"t": listed}).exact(stage) == vault._gate([vault.tables["t"]]).backend.exact(stage)


def test_a_score_is_measured_as_what_it_is(vault: Vault) -> None:
    """As a measure of its own nobody would know what to count."""
    (*_, part) = vault.sql(BY_WARD, epsilon=1).priced.parts
    with pytest.raises(ValueError, match="measured as what it is"):
        measured(part.measure, [[]])


def test_rows_in_other_groups_no_longer_count_against_a_person(tmp_path: Path) -> None:
    """Of 12 groups a person may have 6, whichever they are; of the 2 that are shown, both."""
    rows = {"who": [p for p in range(30) for _ in range(12)], "g": [g for _ in range(30) for g in range(12)]}
    with pv.create(tmp_path / "v", budget=pv.Budget(9), testing=True) as made:
        made.add_table("t", rows, unit="who", max_groups=6, max_rows_per_group=1, columns={"g": pv.Integer(0, 11)})
        asked = made.sql("SELECT g, COUNT(*) AS n FROM t GROUP BY g ORDER BY n DESC LIMIT 2", epsilon=1)
        assert asked.priced.top is not None
        answer = quiet(asked).release()
        assert [row["n"] for row in answer.rows] == [30, 30]
        every = pv.testing.exact(asked, key=b"key").parts[-1].values
        assert every == (30,) * 12 + (0,)  # a choice costs the same
        assert answer.limits == answer.choice_limits == ("at most 1 row per person in each group",)
        assert answer.to_json()["best"]["limits"] == list(answer.limits)


NOT_CHOSEN = [
    "SELECT ward, COUNT(*) AS n FROM t GROUP BY ward ORDER BY n LIMIT 3",
    "SELECT ward, COUNT(*) AS n FROM t GROUP BY ward ORDER BY n DESC",
    "SELECT ward, COUNT(*) AS n FROM t GROUP BY ward LIMIT 3",
    "SELECT ward, COUNT(*) AS n FROM t GROUP BY ward ORDER BY ward DESC LIMIT 3",
    "SELECT ward, COUNT(*) AS n FROM t GROUP BY ward ORDER BY n DESC LIMIT 0",
    "SELECT ward, COUNT(*) AS n FROM t GROUP BY ward ORDER BY n DESC LIMIT 41",
    "SELECT ward, COUNT(*) AS n FROM t GROUP BY ward ORDER BY n DESC LIMIT 3 OFFSET 1",
    "SELECT ward, COUNT(*) AS n FROM t GROUP BY ward HAVING COUNT(*) > 5 ORDER BY n DESC LIMIT 3",
    "SELECT ward, COUNT(*) AS n, AVG(stay) AS a FROM t GROUP BY ward ORDER BY a DESC LIMIT 3",
    "SELECT ward, COUNT(DISTINCT stay) AS n FROM t GROUP BY ward ORDER BY n DESC LIMIT 3",
    "SELECT ward, 2 * COUNT(*) AS n FROM t GROUP BY ward ORDER BY n DESC LIMIT 3",
    "SELECT ward, MAX(stay) AS n FROM t GROUP BY ward ORDER BY n DESC LIMIT 3",
    "SELECT ward, smoker, COUNT(*) AS n FROM t GROUP BY ROLLUP (ward, smoker) ORDER BY n DESC LIMIT 3",
    "SELECT ward, COUNT(*) AS n, COUNT(*) / SUM(COUNT(*)) OVER () AS s FROM t GROUP BY ward ORDER BY n DESC LIMIT 3",
    "SELECT COUNT(*) AS n FROM t ORDER BY n DESC LIMIT 1",
]


@pytest.mark.parametrize("text", NOT_CHOSEN)
def test_what_is_asked_of_all_groups_as_before(vault: Vault, text: str) -> None:
    asked = vault.sql(text, epsilon=1)
    assert asked.priced.top is None
    assert asked.of_all_groups() is asked
    assert not [former for former in asked.earlier() if former.top is not None]


def test_other_prices_and_limits_decide(vault: Vault) -> None:
    """Where a person has few groups, or LIMIT leaves many, all groups are measured; and for a wanted accuracy."""
    assert vault.sql(BY_WARD, epsilon=1, max_groups=20).priced.top is not None
    assert vault.sql(BY_WARD, epsilon=1, max_groups=3).priced.top is None
    assert vault.sql(BY_WARD.replace("3", "19"), epsilon=1).priced.top is None
    assert vault.sql(BY_WARD, within=500).priced.top is None
    city = "SELECT city, COUNT(*) AS n FROM t GROUP BY city ORDER BY n DESC LIMIT 3"
    assert vault.sql(city, epsilon=1, delta="1e-8").priced.top is None
    assert vault.sql(BY_WARD, epsilon=1, delta="1e-8", private_keys=True).priced.top is None
    laws = {}
    for price in ({"epsilon": 1}, {"rho": "0.05"}, {"rho": "0.05", "delta": "1e-8"}, {"epsilon": 3, "delta": "1e-7"}):
        asked = vault.sql(BY_WARD, **price)
        first, last = asked.priced.parts[0].law, asked.priced.parts[-1].law
        assert isinstance(last, Top)
        assert last.flip == isinstance(first, DiscreteLaplace)
        laws[tuple(price)] = type(first)
        assert asked.release().rows
    assert laws["rho",] == laws["rho", "delta"] == DiscreteGaussian
    assert laws["epsilon",] == DiscreteLaplace


def test_the_answer_carries_what_it_was_priced_by(vault: Vault) -> None:
    for price in ({"epsilon": 1}, {"rho": "0.05", "delta": "1e-8"}):
        answer = vault.sql(BY_WARD, **price).release()
        assert recheck.problems(answer.guarantee) == []
        assert answer.guarantee is not None
        *_, top = answer.guarantee["parts"]
        assert (top["role"], top["groups"], top["cells"], top["law"]["rounds"]) == ("top", 41, 41, 3)
        (count,) = answer.guarantee["parts"][:-1]
        assert (count["role"], count["groups"], count["cells"]) == ("count", 3, 3)
        assert json.loads(json.dumps(answer.to_json()))["rows"]
        text = str(answer)
        assert "3 of 41 groups were chosen privately by n, then measured: each interval holds by itself." in text
        assert "LIMIT chose" not in text
        assert " in n." in text  # no more is said of the choice
        text = str(vault.sql(BY_WARD, **ROWS_IN_ALL, **price).release())  # the three groups have 27 rows of a person
        assert "in n, counting at most 9 rows per person in each group and at most 100 rows per person in all." in text
        assert all(row["n"]["low"] is not None for row in answer.interval())
        every = answer.interval(Fraction(1, 2))
        assert [row["ward"] for row in every] == [row["ward"] for row in answer.rows]


def test_words_of_explain(vault: Vault) -> None:
    chosen = " ".join(vault.sql(BY_WARD, epsilon=1).explain().split())
    assert "3 of 41 groups by ward, chosen before they are measured" in chosen
    assert "which groups are shown, by how many rows: " in chosen
    assert "another LIMIT is another question" in chosen
    assert "LIMIT chooses rows" not in chosen
    assert "ORDER BY: it sorts the groups by published numbers" in chosen
    assert "At most 9 rows of each who count in each group: rows beyond that" in chosen
    limited = " ".join(vault.sql(BY_WARD, epsilon=1, **ROWS_IN_ALL).explain().split())
    assert "At most 9 rows of each who count in each group and 100 rows in all: rows beyond that" in limited
    assert "In the chosen groups at most 3 groups of each who count, with 9 rows in each." in limited
    every = vault.sql(BY_WARD, epsilon=1, max_groups=2).explain()
    assert "(choosing the groups first and measuring only these would err more)" in every
    assert "LIMIT: they look at published numbers only" in every
    assert "In the chosen groups" not in every
    assert "--bounds auto" in every
    assert "--bounds auto" not in chosen  # that would measure all groups
    assert "would err more" not in vault.sql(NOT_CHOSEN[0], epsilon=1).explain()


def test_the_same_question_is_free_and_another_limit_is_not(vault: Vault) -> None:
    first = vault.sql(BY_WARD, epsilon=1).release(key="mine")
    spent = vault.budget.spent
    for again in (
        BY_WARD,
        BY_WARD.replace("n DESC", "n DESC, ward"),
        BY_WARD.replace("AS n", "AS m").replace("BY n", "BY m"),
    ):
        answer = vault.sql(again, epsilon=1).release(key="mine")
        assert answer.replayed
        assert [list(row.values()) for row in answer.rows] == [list(row.values()) for row in first.rows]
    assert vault.budget.spent == spent
    assert not vault.sql(BY_WARD.replace("3", "2"), epsilon=1).release().replayed
    assert vault.budget.spent.epsilon == 2


def test_an_answer_about_all_groups_is_taken_where_there_is_one(vault: Vault) -> None:
    """As earlier versions stored it, or as somebody asked it without LIMIT; with the intervals that it needs."""
    every = vault.sql(BY_WARD.partition(" ORDER")[0], epsilon=1).release(key="all")
    answer = vault.sql(BY_WARD, epsilon=1).release()
    assert "Answered before" in vault.sql(BY_WARD, epsilon=1).explain()
    assert answer.replayed
    assert answer.receipt == every.receipt
    assert answer.rows == sorted(every.rows, key=lambda row: -row["n"])[:3]
    assert "LIMIT chose rows by noisy numbers" in str(answer)
    assert vault.sql(BY_WARD, epsilon=1).release(key="all").replayed
    fresh = vault.sql(BY_WARD, epsilon=1).release(fresh=True)
    assert not fresh.replayed
    assert "chosen privately" in str(fresh)


def test_bounds_are_suggested_as_for_all_groups(vault: Vault) -> None:
    text = "SELECT ward, SUM(stay) AS s FROM t GROUP BY ward ORDER BY s DESC LIMIT 2"
    found = vault.suggest_bounds(text, epsilon=1)
    assert set(found.ranges) == {"stay"}
    assert vault.suggest_bounds(text, epsilon=1).replayed
    plain = vault.suggest_bounds(text.partition(" ORDER")[0], epsilon=1)
    assert plain.replayed == found.replayed or plain.cost == found.cost


def test_exact_numbers_have_the_scores_of_all_groups(vault: Vault) -> None:
    asked = vault.sql(BY_WARD, epsilon=1)
    found = pv.testing.exact(asked, key=b"key")
    assert found.keys == (("w00",), ("w01",), ("w02",))
    count, top = found.parts
    assert (top.role, top.mechanism, top.rounds, len(top.values)) == ("top", "permute-and-flip", 3, 41)
    assert top.values[:3] == count.values
    assert (count.rounds, count.max_parts_touched <= 3) == (None, True)
    chosen = pv.testing.exact(asked, key=b"key", keys=[(None,), ("w39",)])
    assert chosen.keys == ((None,), ("w39",))
    assert chosen.parts[1] == top
    assert asked.priced.parts[-1].measure.score is Role.COUNT


@pytest.mark.parametrize("stage", [0, 1])
def test_a_failure_says_nothing_and_is_free_once_before_the_choice(vault: Vault, stage: int) -> None:
    """When scores cannot be had nothing was drawn, so the first retry is free; when the chosen groups cannot be
    measured, the choice was drawn."""
    asked, calls = vault.sql(BY_WARD, epsilon=1), []

    class Failing:
        def __init__(self, backend: Any) -> None:
            self.backend = backend

        def exact(self, task: Any, written: Any = None) -> Any:
            calls.append(task)
            if len(calls) == stage + 1:
                raise ValueError("ward w07")
            return self.backend.exact(task, written)

        def __getattr__(self, name: str) -> Any:
            return getattr(self.backend, name)

    failing = replace(asked, gate=replace(asked.gate, backend=Failing(asked.gate.backend)))  # type: ignore[arg-type]
    with pytest.raises(ReleaseFailedError) as caught:
        failing.release()
    assert "w07" not in str(caught.value)
    assert vault.budget.spent.epsilon == 1
    asked.release()
    assert vault.budget.spent.epsilon == 1 + stage


@pytest.mark.parametrize("chosen", [[0, 1], [0, 1, 1], [0, 1, 2, 3]])
def test_as_many_groups_as_were_paid_for(vault: Vault, chosen: list[int]) -> None:
    class Greedy(NoNoise):
        def top(self, scores: Sequence[int], law: Top) -> list[int]:
            return chosen

    asked = vault.sql(BY_WARD, epsilon=1)
    with pytest.raises(ReleaseFailedError):
        replace(asked, gate=replace(asked.gate, noise=Greedy())).release()


def test_frames_ask_the_same(vault: Vault) -> None:
    frame = vault.table("t").group_by("ward").agg(n=pv.count()).sort("n", descending=True).head(3)
    assert frame.query(epsilon=1).request == vault.sql(BY_WARD, epsilon=1).request


def test_a_question_that_chooses_its_limits_measures_all_groups(vault: Vault) -> None:
    """One task is picked by noisy numbers, or some cells are: not both. The gate refuses what does."""
    query = vault.sql(BY_WARD, epsilon=1, bounds="auto")
    assert query.fitting is not None
    assert not [way for way in (*query.fitting.ways, query.fitting.declared) if way.top is not None]
    assert query.of_all_groups() is query
    chosen = vault.sql(BY_WARD, epsilon="0.1")
    fit = Fit(tasks=[chosen.task(b"")], pick=lambda _: 0)
    with raises_code(RefusedQueryError, "gate-refused: no delta and chooses no cells"):
        run(Charge(loss=query.cost, request=query.request), [query.choosing(b"")], query.gate, fit)
    assert vault.budget.spent.epsilon == 0


@pytest.mark.parametrize("kind", ["habits", "private"])
def test_only_public_cells_are_chosen_by_their_scores(vault: Vault, kind: str) -> None:
    """Habits are priced as one bin a unit, and a choice among keys that nobody declared would tell their names."""
    query = vault.sql(BY_WARD, epsilon=1)
    task = query.task(b"")
    noise = task.laws[0]
    task = (
        replace(task, habits=("rows",), bins=4)
        if kind == "habits"
        else replace(task, cells=replace(task.cells, private=True), laws=(noise, noise), threshold=10**6)
    )
    loss = Loss(epsilon=Fraction(50), delta=Fraction(1, 10**9), rho=Fraction(2500), rho_delta=Fraction(1, 10**9))
    with raises_code(RefusedQueryError, "gate-refused: cells are chosen that are not public"):
        run(Charge(loss=loss, request=query.request), [task], query.gate)
    assert vault.budget.spent.epsilon == 0


def test_what_was_asked_of_all_groups_is_an_earlier_way(vault: Vault) -> None:
    """The first of them as it would be asked without LIMIT, the others as earlier versions asked it."""
    query = vault.sql(BY_WARD, epsilon=1)
    assert ways_of(query.priced) == {Way.TOP}
    everything = vault.sql(BY_WARD.partition(" ORDER")[0], epsilon=1)
    assert query.of_all_groups().request == everything.request
    assert [former.top for former in query.earlier()] == [None] * 3
    assert not any(Way.TOP in ways for ways in EARLIER)

"""Body mass indices, geometric means and the like, asked of a vault in SQL and with frames."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction as F
from pathlib import Path
from random import Random
from typing import Any

import pandas as pd
import pytest
from support.refusals import raises_code

import privet as pv
from privet.core.schema import Integer, Kind
from privet.errors import RefusedQueryError

PEOPLE = pd.DataFrame({
    "id": range(3000),
    "kg": [40 + i % 90 for i in range(3000)],
    "cm": [140 + i % 70 for i in range(3000)],
    "cost": [None if i % 10 == 0 else (i % 97) * 3 for i in range(3000)],
})  # fmt: skip
COLUMNS: dict[str, Kind] = {"kg": Integer(30, 200), "cm": Integer(100, 220), "cost": Integer(0, 400)}


@pytest.fixture(scope="module")
def vault(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    folder: Path = tmp_path_factory.mktemp("row-functions") / "vault"
    with pv.create(folder, budget=pv.Budget(epsilon=1000, delta="1e-6")) as made:
        made.add_table("people", PEOPLE, unit="id", columns=COLUMNS)
        yield made


ASKED = {
    "SELECT AVG(kg / POWER(cm / 100.0, 2)) AS a FROM people": (PEOPLE.kg / (PEOPLE.cm / 100) ** 2).mean,
    "SELECT EXP(AVG(LN(cost))) AS a FROM people WHERE cost > 0": lambda: math.exp(positive().map(math.log).mean()),
    "SELECT AVG(LN(NULLIF(cost, 0))) AS a FROM people": lambda: positive().map(math.log).mean(),
    "SELECT AVG(LOG10(GREATEST(cost, 1))) AS a FROM people WHERE cost IS NOT NULL": lambda: (
        PEOPLE.cost.dropna().clip(lower=1).map(math.log10).mean()
    ),
    "SELECT AVG(SQRT(kg * cm / 3600)) AS a FROM people": lambda: (PEOPLE.kg * PEOPLE.cm / 3600).map(math.sqrt).mean(),
    "SELECT AVG(POWER(kg, -0.5)) AS a FROM people": (PEOPLE.kg**-0.5).mean,
    "SELECT AVG(EXP(cm / 100.0)) AS a FROM people": lambda: (PEOPLE.cm / 100).map(math.exp).mean(),
    "SELECT MEDIAN(ROUND(kg / cm, 2)) AS a FROM people": (PEOPLE.kg / PEOPLE.cm).median,
    "SELECT SQRT(AVG(kg * kg)) AS a FROM people": lambda: math.sqrt((PEOPLE.kg**2).mean()),
    "SELECT COUNT(*) AS a FROM people WHERE kg / POWER(cm / 100.0, 2) > 25": (
        PEOPLE.kg / (PEOPLE.cm / 100) ** 2 > 25
    ).sum,
}


def positive() -> Any:
    return PEOPLE.cost[PEOPLE.cost > 0]


@pytest.mark.parametrize("text", ASKED)
def test_answers_are_what_pandas_says(vault: Any, text: str) -> None:
    """At a price so high that noise is far below 1 %: more than that has a chance below 1e-20."""
    answer = vault.sql(text, epsilon=20).release()
    assert answer.interval()[0]["a"]["value"] == pytest.approx(ASKED[text](), rel=0.01)
    assert vault.sql(text, epsilon=20).release().receipt.entry == answer.receipt.entry  # the stored one


def test_frames_ask_the_same(vault: Any) -> None:
    col, people = pv.col, vault.table("people")
    pairs = [
        ("kg / POWER(cm / 100.0, 2)", col("kg") / (col("cm") / 100) ** 2),
        ("SQRT(kg)", col("kg").sqrt()), ("POWER(kg, 0.5)", col("kg") ** 0.5), ("CBRT(kg)", col("kg").cbrt()),
        ("LN(kg)", col("kg").log()), ("LOG(2, kg)", col("kg").log(2)), ("LOG10(kg)", col("kg").log10()),
        ("EXP(kg / 100)", (col("kg") / 100).exp()), ("1 / kg", 1 / col("kg")),
        ("FLOOR(kg / cm)", col("kg") // col("cm")),
        ("POWER(kg, -1.5)", col("kg") ** -1.5), ("POWER(kg, 1.0 / 3)", col("kg") ** F(1, 3)),
    ]  # fmt: skip
    for words, expression in pairs:
        asked = vault.sql(f"SELECT AVG({words}) AS a FROM people", epsilon=1)
        framed = people.agg(a=pv.mean(expression)).query(epsilon=1)
        assert framed.priced.plan == asked.priced.plan
        assert "rounded" in str(asked.explain()) or "sqrt" in repr(expression)
    assert repr(col("kg").log(2) ** 0.5) == 'col("kg").log(2) ** 0.5'
    for remedied in (col("cost").clip(1).log(), col("kg") / col("cost").clip(1)):
        people.agg(a=pv.mean(remedied)).query(epsilon=1).release()
    with raises_code(RefusedQueryError, "out-of-domain: .clip(1)"):
        people.agg(a=pv.mean(col("cost").log())).query(epsilon=1)


REMEDIED = [
    ("AVG(LN(cost))", ["AVG(LN(NULLIF(cost, 0)))", "AVG(LN(GREATEST(cost, 1)))"], "cost > 0"),
    ("AVG(kg / cost)", ["AVG(kg / NULLIF(cost, 0))", "AVG(kg / GREATEST(cost, 1))"], "cost > 0"),
    ("AVG(SQRT(cost - 9))", ["AVG(SQRT(GREATEST(cost - 9, 0)))"], "cost >= 9"),
    ("AVG(EXP(cost))", ["AVG(EXP(LEAST(cost, 80)))"], "cost <= 80"),
]


@pytest.mark.parametrize(("wrong", "right", "condition"), REMEDIED)
def test_remedies_work_as_typed_and_nothing_was_charged(
    vault: Any, wrong: str, right: list[str], condition: str
) -> None:
    before = vault.budget.spent
    with pytest.raises(RefusedQueryError):
        vault.sql(f"SELECT {wrong} FROM people", epsilon=1)
    assert (vault.budget.spent) == before
    for text in [*(f"SELECT {one} FROM people" for one in right), f"SELECT {wrong} FROM people WHERE {condition}"]:
        vault.sql(text, epsilon=1).release()


def test_compositions_are_refused_before_the_charge_or_answered(vault: Any) -> None:
    """Nothing may fail after it: whatever is priced is answered."""
    rng, answered = Random("compositions"), 0

    def made(depth: int) -> str:
        if not depth:
            return rng.choice(["kg", "cm", "cost", "2.5", "kg - cm"])
        inner, other = made(depth - 1), made(rng.randrange(depth))
        return rng.choice([
            f"LN(GREATEST({inner}, 1))", f"SQRT(GREATEST({inner}, 0))", f"EXP(LEAST({inner}, 9))",
            f"({inner}) / NULLIF({other}, 0)", f"POWER(GREATEST({inner}, 0.5), -1.5)",
            f"LOG10(NULLIF(ABS({inner}), 0))", f"ROUND({inner}, 1)", f"({inner}) * ({other})",
        ])  # fmt: skip

    for _ in range(60):
        value = made(rng.randint(1, 3))
        try:
            query = vault.sql(f"SELECT AVG({value}) FROM people WHERE cost IS NOT NULL", epsilon=1)
            answer = query.release()
        except RefusedQueryError:
            continue
        answered += answer is not None
    assert answered >= 25

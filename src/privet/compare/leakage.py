"""Leak against noise: how well an attack does on an owner's own data at each epsilon, beside what the noise costs.

    leak("patients.csv", columns=["smoker", "diabetes", ("age", 0, 100)]).report("leak.html")

Each run publishes sums of some of the people with the noise that Privet adds, from the operating system's entropy, and
an attack is made on them. This reads raw data: its numbers are for the owner, and not to be published.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import numpy as np

from privet.attacks.finding import Findings
from privet.compare.leak_findings import WORDS, Leak, Level, findings_of
from privet.compare.leak_runs import (
    FEWEST_RUNS,
    MOST_PEOPLE,
    LeakValues,
    Price,
    Progress,
    Steps,
    deviation,
    law_for,
    members,
    membership,
    subset_tops,
    subsets,
)
from privet.core.accountant import Budget
from privet.core.rational import rational, show, whole
from privet.core.unit import Neighbors, neighbors_from
from privet.errors import InvalidInputError
from privet.estimates.textbook import Grid
from privet.records import microdata

Column = str | tuple[str, object, object]  # a yes or no, or (name, lowest, highest)
YES, NO = {"1", "true", "yes", "1.0"}, {"0", "false", "no", "0.0"}
FINE = 1000  # steps from the lowest to the highest number
FEWEST_PEOPLE, MOST_COLUMNS = 40, 500
MOST_MADE = 10**7


def leak(  # noqa: PLR0913  all but the data by name
    data: object,
    *,
    columns: Sequence[Column],
    epsilons: Sequence[object] = ("0.1", "0.3", 1, 3, 10),
    attack: Literal["membership", "subsets"] = "membership",
    delta: object = 0,
    neighbors: str = "replace",
    runs: int = 200,
    seed: int = 0,
    progress: Progress | None = None,
) -> Findings:
    """`data`: a file or data frame with a person in each row, or columns by name. `columns`: of yes/no, or numbers with
    a range, which is declared and not read from the data. The attack "membership" is on the sums of the columns;
    "subsets" on sums of the one column over random halves of the people. `seed` divides the people; the noise has
    none."""
    start, values = time.perf_counter(), _values(data, columns)
    relation, repeated = neighbors_from(neighbors), whole(runs, "runs", FEWEST_RUNS)
    whole(seed, "seed", 0)
    prices = _prices(epsilons, delta)
    if attack not in WORDS:
        raise InvalidInputError(f"there is no attack {show(attack)}", "write membership or subsets", "unknown-choice")
    if attack == "subsets" and values.tops != (1,):
        raise InvalidInputError(
            "the attack on subset sums needs exactly one yes/no column", "name one yes/no column", "not-binary"
        )
    return findings_of(_measured(values, attack, relation, prices, (repeated, seed, progress)), _subject(data), start)


def _measured(
    values: LeakValues, attack: str, relation: Neighbors, prices: list[Price], how: tuple[int, int, Progress | None]
) -> Leak:
    whole_table = attack == "membership"
    tops = values.tops if whole_table else subset_tops(values)
    laws = [law_for(price, tops) for price in prices]
    found, runs = (membership if whole_table else subsets)(values, [*laws, None], *how)
    inside = members(values) if whole_table else min(values.people, MOST_PEOPLE)
    counted = inside if whole_table else inside // 2
    return Leak(
        attack=attack,
        relation=relation,
        levels=tuple(
            Level(price=price, law=law, error=deviation(law) / (counted * tops[0]), success=success)
            for price, law, success in zip(prices, laws, found, strict=False)
        ),
        exact=found[-1],
        rate=float(values.steps[:, 0].mean()),
        inside=inside,
        counted=counted,
        runs=runs,
    )


def _subject(data: object) -> str:
    return Path(data).name if isinstance(data, str | os.PathLike) else "the records"


def made(people: int, attributes: int, seed: int = 0) -> dict[str, list[int]]:
    """Made people with independent yes/no attributes whose rates lie between 1/4 and 3/4: columns by name."""
    number, columns = whole(people, "people", 1), whole(attributes, "attributes", 1)
    if number * columns > MOST_MADE:
        raise InvalidInputError(
            f"{number:,} people with {columns:,} attributes are too many to simulate",
            f"simulate {MOST_MADE:,} values at most",
            "too-large",
        )
    random = np.random.default_rng(whole(seed, "seed", 0))
    rates = random.uniform(0.25, 0.75, columns)
    table = (random.random((number, columns)) < rates).astype(int)
    return {f"a{place + 1}": table[:, place].tolist() for place in range(len(rates))}


# What is read


def _prices(epsilons: Sequence[object], delta: object) -> list[Price]:
    chance = rational(delta, "delta")
    budgets = [Budget(epsilon, chance) for epsilon in epsilons]
    prices = sorted({(budget.epsilon, budget.delta) for budget in budgets})
    if not prices:
        raise InvalidInputError("no epsilon is given", "for example 0.1, 1 and 10", "missing-price")
    return prices


def _values(data: object, columns: Sequence[Column]) -> LeakValues:
    """People with a missing value are left out. Numbers are rounded to a thousandth of their range, and clamped."""
    wanted = [(one, None, None) if isinstance(one, str) else one for one in columns]
    names = [name for name, _, _ in wanted]
    if not names or len(set(names)) < len(names) or len(names) > MOST_COLUMNS:
        raise InvalidInputError(
            f"there are {len(names)} columns", f"name 1 to {MOST_COLUMNS} columns, each once", "wrong-length"
        )
    texts = _texts(data, names)
    fine = FINE if any(low is not None for _, low, _ in wanted) else 1
    found = [_steps(name, texts[name], low, high, fine) for name, low, high in wanted]
    steps = np.stack(found, axis=1)
    whole_rows = steps[(steps >= 0).all(axis=1)]
    if len(whole_rows) < FEWEST_PEOPLE:
        raise InvalidInputError(
            f"{len(whole_rows)} people have a value in each column", f"give {FEWEST_PEOPLE} people or more", "too-few"
        )
    return LeakValues(names=tuple(names), steps=whole_rows, tops=(fine,) * len(names), people=len(whole_rows))


def _texts(data: object, names: Sequence[str]) -> dict[str, list[str | None]]:
    if isinstance(data, dict):
        missing = [name for name in names if name not in data]
        if missing:
            raise InvalidInputError(
                f"there is no column {show(missing[0])}", f"name some of {', '.join(data)}", "unknown-column"
            )
        if len({len(data[name]) for name in names}) > 1:
            raise InvalidInputError(
                "the columns have different numbers of people",
                "give one value per person in each column",
                "wrong-length",
            )
        return {name: [None if value is None else str(value) for value in data[name]] for name in names}
    records = microdata.read(data, columns=list(names))
    return {name: records[name].listed().tolist() for name in names}


def _steps(name: str, texts: list[str | None], low: object, high: object, fine: int) -> Steps:
    """In whole steps; -1 where nothing is known."""
    read = {text: _step(name, text, low, high, fine) for text in dict.fromkeys(texts)}
    return np.array([read[text] for text in texts], np.int64)


def _step(name: str, text: str | None, low: object, high: object, fine: int) -> int:
    if text is None:
        return -1
    if low is None:
        if text.lower() not in YES | NO:
            raise InvalidInputError(
                f"column {show(name)} is not yes or no", f"give a range, {name}:0:100, or another column", "not-binary"
            )
        return fine if text.lower() in YES else 0
    bottom, top = rational(low, f"the lowest {name}"), rational(high, f"the highest {name}")
    if bottom >= top:
        raise InvalidInputError(f"the range of {show(name)} is empty", "give the lowest number first", "reversed-range")
    value = min(max(rational(text, f"a value of {name}"), bottom), top)
    return Grid((top - bottom) / fine).steps(value - bottom)

"""The demo's second story: seven neighbors behind a small published table, and the same table under privacy."""

from __future__ import annotations

import csv
import statistics
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from privet import attacks
from privet.answer import Answer
from privet.core.accountant import Budget
from privet.core.schema import Boolean, Category, Integer, Kind
from privet.errors import InvalidInputError
from privet.vault import create

OLDEST = 99
SMALL = 3  # groups below it are not published
DECIMALS = 1
PRICE = Fraction(1, 2)
ATTRIBUTES: dict[str, Any] = {"sex": ["F", "M"], "smokes": "boolean", "age": {"min": 0, "max": OLDEST}}
RULES = {"children do not smoke": "NOT smokes OR age >= 16"}
SECONDS = 20.0
CROWD = 50  # nobody thinks that more people than that live in the house


@dataclass(frozen=True, slots=True)
class Neighbor:
    sex: str
    age: int
    smokes: bool


NEIGHBORS = (
    Neighbor("F", 31, True),
    Neighbor("F", 59, True),
    Neighbor("F", 82, True),
    Neighbor("M", 40, False),
    Neighbor("M", 14, False),
    Neighbor("M", 10, False),
    Neighbor("F", 9, False),
)
GROUPS: dict[str, tuple[str, Callable[[Neighbor], bool]]] = {
    "everybody": ("", lambda _: True),
    "women and girls": ("sex = 'F'", lambda one: one.sex == "F"),
    "men and boys": ("sex = 'M'", lambda one: one.sex == "M"),
    "smokers": ("smokes", lambda one: one.smokes),
    "non-smokers": ("NOT smokes", lambda one: not one.smokes),
    "female smokers": ("sex = 'F' AND smokes", lambda one: one.sex == "F" and one.smokes),
    "under 18": ("age < 18", lambda one: one.age < 18),
    "65 and over": ("age >= 65", lambda one: one.age >= 65),
}
QUESTIONS = (
    "SELECT sex, COUNT(*) AS people, AVG(age) AS age FROM house WHERE sex IS NOT NULL GROUP BY sex",
    "SELECT smokes, COUNT(*) AS people, AVG(age) AS age FROM house WHERE smokes IS NOT NULL GROUP BY smokes",
)


@dataclass(frozen=True, slots=True)
class PublishedTable:
    """One row of the table; nothing but a D where too few people are in it."""

    group: str
    where: str
    count: int | None
    median: float | None
    mean: float | None

    def statistic(self) -> dict[str, Any]:
        """As the release file would say it."""
        said: dict[str, Any] = {"name": self.group, **({"where": self.where} if self.where else {})}
        if self.count is None:
            return {**said, "count": {"below": SMALL}}
        mean = {"age": self.mean, "decimals": DECIMALS}
        return {**said, "count": self.count, "median": {"age": self.median}, "mean": mean}


@dataclass(frozen=True, slots=True, kw_only=True)
class StoryTable:
    """What was published, what follows from it, and what follows from the same under privacy."""

    rows: tuple[PublishedTable, ...]
    people: int
    certain: int
    data_sets: int
    records: tuple[Neighbor, ...]  # as reconstructed
    right: bool
    price: Fraction
    answers: tuple[Answer, ...]
    still_certain: int
    refused: bool  # the noisy numbers contradict each other

    def numbers(self) -> dict[str, Any]:
        plain = {
            name: getattr(self, name)
            for name in ("people", "certain", "data_sets", "right", "still_certain", "refused")
        }
        rows = [{"group": row.group, "count": row.count, "median": row.median, "mean": row.mean} for row in self.rows]
        people = [{"sex": one.sex, "age": one.age, "smokes": one.smokes} for one in self.records]
        return {**plain, "rows": rows, "records": people, "answers": [answer.to_json() for answer in self.answers]}


def tell_table(neighbors: tuple[Neighbor, ...] = NEIGHBORS) -> StoryTable:
    rows = tuple(publish(neighbors, group) for group in GROUPS)
    found = attacks.attack_tables(
        attacks.published_tables(ATTRIBUTES, [row.statistic() for row in rows], RULES), seconds=SECONDS, repair=False
    )
    records = tuple(Neighbor(one["sex"], one["age"], one["smokes"]) for one in found.numbers["records"])
    answers = ask(neighbors)
    still, refused = attack_answers(answers)
    return StoryTable(
        rows=rows,
        people=len(neighbors),
        certain=found.proven,
        data_sets=found.numbers["solutions"],
        records=records,
        right=sorted(map(repr, records)) == sorted(map(repr, neighbors)),
        price=PRICE,
        answers=answers,
        still_certain=still,
        refused=refused,
    )


def publish(neighbors: tuple[Neighbor, ...], group: str) -> PublishedTable:
    where, belongs = GROUPS[group]
    ages = [one.age for one in neighbors if belongs(one)]
    if len(ages) < SMALL:
        return PublishedTable(group, where, None, None, None)
    return PublishedTable(group, where, len(ages), statistics.median(ages), round(sum(ages) / len(ages), DECIMALS))


def ask(neighbors: tuple[Neighbor, ...]) -> tuple[Answer, ...]:
    """The same questions to a vault."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        path = Path(folder) / "house.csv"
        with path.open("w", encoding="utf-8", newline="") as file:
            rows = [(number, one.sex, one.age, str(one.smokes).lower()) for number, one in enumerate(neighbors)]
            csv.writer(file).writerows([("person", "sex", "age", "smokes"), *rows])
        with create(Path(folder) / "house.privet", budget=Budget(len(QUESTIONS) * PRICE)) as vault:
            columns: dict[str, Kind] = {"sex": Category(["F", "M"]), "age": Integer(0, OLDEST), "smokes": Boolean()}
            vault.add_table("house", path, unit="person", columns=columns)
            return tuple(vault.sql(question, epsilon=PRICE).release() for question in QUESTIONS)


def attack_answers(answers: tuple[Answer, ...]) -> tuple[int, bool]:
    """(people who would follow if all intervals held, whether these contradict each other)."""
    values = attacks.published_tables(ATTRIBUTES, [{"count": 0}]).attributes
    try:
        found = attacks.attack_tables(
            attacks.tables_of_answers(answers, values, most=CROWD), seconds=SECONDS, limit=1, repair=False
        )
    except InvalidInputError:
        return 0, True
    return found.numbers["proven"], False

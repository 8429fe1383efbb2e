"""The first story: one newcomer in a hospital; exact answers, a little noise, and a vault with a budget.

Everything is computed here and now: the attack from the published numbers, probabilities exactly, simulations with
real draws from `privet.noise`, private answers by a real vault in a temporary folder. The patients are made up.
"""

from __future__ import annotations

import csv
import math
import random
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from privet.answer import Answer
from privet.core.accountant import Budget
from privet.core.exponential import exp_enclosure
from privet.core.laws import DiscreteLaplace
from privet.core.mechanisms import laplace_epsilon, laplace_for
from privet.core.schema import Boolean, Category, Integer, Kind
from privet.demo.table_story import StoryTable, tell_table
from privet.demo.told import page
from privet.engine import FreshNoise
from privet.errors import BudgetExceededError
from privet.interpret import Belief, posterior
from privet.noise.selection import uniform
from privet.report.charts import Panel, likelihood_panels, svg
from privet.report.terminal import at_most, plain_numbers
from privet.typing import Integers
from privet.vault import Vault, create

__all__ = ["chart", "page", "tell"]

WEEKS = 10
RUNS = 10_000
REACH = 3  # uniform noise from -3 to 3
DECIMALS = 4  # of a published average age
WARDS = ("surgery", "heart", "lungs", "emergency")
PATIENTS, ILL = 2436, 4
BUDGET, PRICE = Fraction(3, 2), Fraction(1, 2)
WEEKLY = "SELECT COUNT(*) AS patients, SUM(ill) AS ill, AVG(age) AS age FROM patients"
BY_WARD = "SELECT ward, COUNT(*) AS patients, AVG(age) AS age FROM patients WHERE ward IS NOT NULL GROUP BY ward"
CHART_EPSILON = Fraction(1)  # bars of noise at a smaller one would be too flat to see
PRECISION = 64
COLUMNS: Mapping[str, Kind] = {"ward": Category(WARDS), "age": Integer(0, 100), "ill": Boolean()}

Law = Mapping[int, Fraction]  # the probability of every noise that can occur


@dataclass(frozen=True, slots=True)
class Patient:
    patient_id: int
    ward: str
    age: int
    ill: bool


@dataclass(frozen=True, slots=True)
class Week:
    """What is published: counts, and an average rounded to four decimals."""

    patients: int
    ill: int
    age: Fraction


@dataclass(frozen=True, slots=True, kw_only=True)
class ExactStory:
    """Both weeks published as they are, and what follows about the newcomer."""

    first: Week
    second: Week
    ages: list[int]  # that fit both averages


@dataclass(frozen=True, slots=True, kw_only=True)
class Uniform:
    """Noise from -reach to reach, each equally likely."""

    reach: int
    weeks: int
    runs: int
    proves_healthy: list[int]
    proves_ill: list[int]
    certain_one_week: Fraction
    certain_all_weeks: Fraction
    simulated_certain: float
    simulated_wrong: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Private:
    """What a vault answered, and what the same attacker makes of it."""

    question: str
    price: Fraction
    budget: Fraction
    weeks: list[Answer]
    cases: int  # more in week 2, by the published numbers
    age: Fraction  # of the newcomer, by the published numbers
    best_guess: Fraction  # how often anybody can tell ill from healthy; rounded up
    runs: int
    simulated_guess: float
    ward_question: str
    wards: Answer
    again_is_free: bool
    refused: str
    spent: Fraction
    entries: int
    receipt: str
    belief: Belief

    def numbers(self) -> dict[str, Any]:
        plain = {part.name: getattr(self, part.name) for part in fields(self)}
        answers = {"weeks": [week.to_json() for week in self.weeks], "wards": self.wards.to_json()}
        return {**plain, **answers, "belief": asdict(self.belief)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    exact: ExactStory
    uniform: Uniform
    private: Private
    table: StoryTable

    def numbers(self) -> dict[str, Any]:
        """Everything that the terminal prints, for a program to read."""
        told = {"exact": asdict(self.exact), "uniform": asdict(self.uniform), "private": self.private.numbers()}
        return dict(plain_numbers({**told, "table": self.table.numbers()}))


def tell(runs: int = RUNS) -> Story:
    """Compute the whole story; noise is fresh, so some numbers differ each time."""
    week, newcomer = hospital()
    first, second = week, [*week, newcomer]
    exact = ExactStory(first=publish(first), second=publish(second), ages=fitting_ages(publish(first), publish(second)))
    private = ask_the_vault(first, second, runs, exact)
    return Story(exact=exact, uniform=uniform_noise(runs, exact), private=private, table=tell_table())


def hospital() -> tuple[list[Patient], Patient]:
    """Made-up patients, always the same ones, and the newcomer."""
    chance = random.Random(PATIENTS)  # noqa: S311  not noise: it makes up a table
    ill = set(chance.sample(range(PATIENTS), ILL))
    ages = [min(100, max(0, round(chance.gauss(50, 20)))) for _ in range(PATIENTS)]
    people = [Patient(number, chance.choice(WARDS), ages[number], number in ill) for number in range(PATIENTS)]
    return people, Patient(PATIENTS, "heart", 86, True)


def publish(people: Sequence[Patient]) -> Week:
    average = Fraction(sum(person.age for person in people), len(people))
    return Week(len(people), sum(person.ill for person in people), round(average, DECIMALS))


def fitting_ages(first: Week, second: Week) -> list[int]:
    """Ages of a newcomer for which both published averages can be true: each is rounded by up to half a digit."""
    half = Fraction(1, 2 * 10**DECIMALS)
    middle, off = implied_age(first, second), half * (first.patients + second.patients)
    return list(range(math.ceil(middle - off), math.floor(middle + off) + 1))


def implied_age(first: Week, second: Week) -> Fraction:
    """What all ages add up to in week 2, less what they add up to in week 1."""
    return second.patients * second.age - first.patients * first.age


def uniform_law(reach: int) -> Law:
    return {x: Fraction(1, 2 * reach + 1) for x in range(-reach, reach + 1)}


def proving(law: Law, healthy: int) -> tuple[list[int], list[int]]:
    """The published numbers that occur only if the newcomer is healthy, and only if ill: infinite odds."""
    if_healthy, if_ill = ({truth + x for x in law} for truth in (healthy, healthy + 1))
    return sorted(if_healthy - if_ill), sorted(if_ill - if_healthy)


def certainty(law: Law, healthy: int) -> Fraction:
    """The probability that one published number proves the diagnosis; the same for either diagnosis here."""
    only_healthy, only_ill = proving(law, healthy)
    if_healthy = sum((law[number - healthy] for number in only_healthy), Fraction(0))
    if_ill = sum((law[number - healthy - 1] for number in only_ill), Fraction(0))
    return (if_healthy + if_ill) / 2


def uniform_noise(runs: int, exact: ExactStory) -> Uniform:
    """`runs` attackers watch ten weeks each; in every other run the newcomer is ill."""
    law, healthy = uniform_law(REACH), exact.first.ill
    only_healthy, only_ill = proving(law, healthy)
    truth = _truth(runs, healthy)
    published = truth[:, np.newaxis] + uniform(2 * REACH + 1, runs * WEEKS).reshape(runs, WEEKS) - REACH
    says_healthy, says_ill = np.isin(published, only_healthy).any(axis=1), np.isin(published, only_ill).any(axis=1)
    certain = certainty(law, healthy)
    return Uniform(
        reach=REACH,
        weeks=WEEKS,
        runs=runs,
        proves_healthy=only_healthy,
        proves_ill=only_ill,
        certain_one_week=certain,
        certain_all_weeks=1 - (1 - certain) ** WEEKS,
        simulated_certain=float((says_healthy | says_ill).mean()),
        simulated_wrong=int(np.where(truth > healthy, says_healthy, says_ill).sum()),
    )


def ask_the_vault(first: Sequence[Patient], second: Sequence[Patient], runs: int, exact: ExactStory) -> Private:
    """Both weeks and one more question, until nothing is left."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        tables = [_write(Path(folder) / f"week{number}.csv", week) for number, week in ((1, first), (2, second))]
        with create(Path(folder) / "hospital.privet", budget=Budget(BUDGET)) as vault:
            vault.add_table("patients", tables[0], unit="patient_id", columns=COLUMNS)
            answers = [vault.sql(WEEKLY, epsilon=PRICE).release()]
            vault.update_table("patients", tables[1])
            answers.append(vault.sql(WEEKLY, epsilon=PRICE).release())
            return _told(vault, answers, runs, exact)


def _told(vault: Vault, answers: Sequence[Answer], runs: int, exact: ExactStory) -> Private:
    wards = vault.sql(BY_WARD, epsilon=PRICE).release()
    again = vault.sql(WEEKLY, epsilon=PRICE).release()
    refused = refusal(vault)
    vault.ledger.verify()
    noisy = [_noisy_week(answer) for answer in answers]
    asked = answers[0].priced
    ill = next(recipe for recipe in asked.recipes if recipe.aggregate.name == "ill")
    law = asked.parts[ill.measures[0]].law
    assert isinstance(law, DiscreteLaplace)  # noqa: S101  a price in epsilon is paid with it
    head, spent = vault.ledger.head(), vault.budget.spent.epsilon
    return Private(
        question=WEEKLY,
        price=PRICE,
        budget=BUDGET,
        weeks=list(answers),
        cases=noisy[1].ill - noisy[0].ill,
        age=implied_age(*noisy),
        best_guess=best_guess(law),
        runs=runs,
        simulated_guess=guesses(law, runs, exact.first.ill),
        ward_question=BY_WARD,
        wards=wards,
        again_is_free=again.replayed and vault.budget.spent.epsilon == spent,
        refused=refused,
        spent=spent or Fraction(0),
        entries=head.entry,
        receipt=f"{head.entry}:{head.digest}",
        belief=posterior(Fraction(1, 2), BUDGET),
    )


def refusal(vault: Vault) -> str:
    """What the vault says to one question too many."""
    try:
        vault.sql(WEEKLY, epsilon=PRICE).release(fresh=True)
    except BudgetExceededError as error:
        return error.problem
    return "not refused"


def _noisy_week(answer: Answer) -> Week:
    row = answer.rows[0]
    return Week(row["patients"], row["ill"], Fraction(row["age"]))


def best_guess(law: DiscreteLaplace) -> Fraction:
    """How often the best test between two counts that differ by 1 is right: 1 / (1 + exp(-1 / scale)), rounded up. Of a
    pair one number is 1 larger and the other 1 smaller; the best test looks whether both are, and is right as often."""
    return Fraction(1 << PRECISION, (1 << PRECISION) + exp_enclosure(1 / law.scale, PRECISION)[0])


def guesses(law: DiscreteLaplace, runs: int, healthy: int) -> float:
    """How often that test was right with fresh noise: it says "ill" from one case more on."""
    truth = _truth(runs, healthy)
    says_ill = truth + FreshNoise().draw(law, runs) > healthy
    return float((says_ill == (truth > healthy)).mean())


def _truth(runs: int, healthy: int) -> Integers:
    """The true count of each run: the newcomer is healthy in the first, ill in the second, and so on."""
    return healthy + np.arange(runs, dtype=np.int64) % 2


def _write(path: Path, people: Sequence[Patient]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["patient_id", "ward", "age", "ill"])
        writer.writerows([person.patient_id, person.ward, person.age, str(person.ill).lower()] for person in people)
    return path


def chart() -> str:
    """The picture of the story, as SVG text."""
    flat, law = uniform_law(REACH), laplace_for(CHART_EPSILON, 1)
    edges = " and ".join(str(number) for proofs in proving(flat, ILL) for number in proofs)
    panels = [
        _panel("Exact count", ("Each number fits one diagnosis only:", "always a proof"), {0: Fraction(1)}),
        _panel(
            f"Uniform noise, -{REACH} to {REACH}",
            (f"{edges} are proofs: one of them comes", f"with probability {certainty(flat, ILL)} every week"),
            flat,
        ),
        _laplace_panel(law, range(ILL - REACH - 2, ILL + REACH + 4)),
    ]
    title = "Exact counts and noise with edges can prove the newcomer ill; discrete Laplace noise never does"
    subtitle = (
        f"How likely each published number is if the newcomer is healthy (true count {ILL})"
        f" or ill (true count {ILL + 1}),",
        f"for an attacker who knows the other {PATIENTS:,} patients. Heights are scaled per panel.",
    )
    return svg(likelihood_panels(panels, title, subtitle))


def _panel(title: str, finding: tuple[str, str], law: Law) -> Panel:
    healthy, ill = ({truth + x: float(p) for x, p in law.items()} for truth in (ILL, ILL + 1))
    return Panel(title=title, finding=finding, healthy=healthy, ill=ill)


def _laplace_panel(law: DiscreteLaplace, numbers: range) -> Panel:
    epsilon = laplace_epsilon(law, sensitivity=1)
    top = math.tanh(epsilon / 2)  # (1 - q) / (1 + q), so that all probabilities add up to 1
    odds = Fraction(1 << PRECISION, exp_enclosure(epsilon, PRECISION)[0])

    def chances(truth: int) -> dict[int, float]:
        return {number: top * math.exp(-law.exponent(number - truth)) for number in numbers}

    return Panel(
        title=f"Discrete Laplace noise, epsilon = {epsilon}",
        finding=(
            "Any number fits both diagnoses: the odds",
            f"shift by a factor of at most e^{epsilon} = {at_most(odds)}",
        ),
        healthy=chances(ILL),
        ill=chances(ILL + 1),
        endless=True,
    )

"""Attackers who may only ask conditions over public attributes: of a function, and of a vault with a budget."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.refusals import raises_code

import privet as pv
from privet.attacks import Errors, attack_answers, privacy
from privet.attacks.subsets.predicates import people_guessed, polynomial, public_of
from privet.attacks.subsets.predicates_findings import allowed
from privet.attacks.subsets.predicates_mean import Looked, fitting, posterior_mean
from privet.errors import BudgetExceededError, InvalidInputError
from privet.interpret import best_true_positive_rate
from privet.records.conditions import Conditions, holds

Record = dict[str, Any]


def people(number: int, seed: int = 0) -> list[Record]:
    draw = np.random.default_rng(seed)
    return [
        {
            "id": 37 * place + 5,
            "ward": ["north", "south", "it's"][int(draw.integers(3))],
            "age": None if draw.random() < 0.1 else int(draw.integers(0, 4)),
            "smoker": bool(draw.random() < 0.5),
            "dose": ["0.5", "1.5", "2"][int(draw.integers(3))],
        }
        for place in range(number)
    ]


def counter(records: list[Record], secrets: Any, secret: str = "ill = 1") -> Callable[[str], float]:
    """Counts as a slow reference does: the condition is read and evaluated on every record."""
    numbers = {name: tuple(Fraction(str(row[name])) for row in records if row[name] is not None) for name in ("id", "age", "dose")}  # noqa: E501  # fmt: skip
    known: Any = {**numbers, "ward": ("north", "south", "it's"), "smoker": (True, False)}
    reader = Conditions(known | {"ill": (Fraction(0), Fraction(1))})
    exact = [
        {name: Fraction(str(row[name])) if name in numbers and row[name] is not None else row[name] for name in row}
        | {"ill": Fraction(int(bit))}
        for row, bit in zip(records, secrets, strict=True)
    ]  # fmt: skip

    def count(condition: str) -> float:
        assert secret in condition
        expression = reader.read(condition)
        return float(sum(holds(expression, row) for row in exact))

    return count


def test_conditions_mean_what_the_attacker_thinks() -> None:
    """Of every kind of attribute, missing values and quotes included, evaluated by the reader of conditions."""
    records = people(50)
    shown = public_of(records, None)
    draw, count = np.random.default_rng(3), counter(records, np.ones(50))
    for _ in range(25):
        text, members = shown.predicate(draw)
        assert count(f"{text} AND (ill = 1)") == (members * shown.top).sum()


def test_ids_far_apart_and_negative_are_hashed_in_wide_numbers() -> None:
    records = [{"id": -7 + 90_000_019 * place} for place in range(20)]
    shown = public_of(records, None)
    text, members = shown.predicate(np.random.default_rng(0))
    assert 'CAST("id" AS BIGINT) + 7' in text
    reader = Conditions({"id": tuple(Fraction(row["id"]) for row in records)})
    held = [holds(reader.read(text), {"id": Fraction(row["id"])}) for row in records]
    assert held == [bool(members[at]) for at in shown.classes]
    wider = public_of([{"id": 10**12 * place} for place in range(20)], None)
    assert " IN (" in wider.predicate(np.random.default_rng(0))[0]
    text = public_of([{"id": place} for place in range(40)], None).predicate(np.random.default_rng(0))[0]
    assert '* "id" +' in text  # from 0 on, nothing is taken off


def test_three_people_are_hashed_independently() -> None:
    """Over all polynomials modulo 5, three different people take every three values equally often."""
    x = np.array([0, 2, 3])
    seen = [tuple(polynomial(x, weights, 5)) for weights in product(range(5), repeat=3)]
    assert len(set(seen)) == 125


def test_exact_answers_give_everybody_away() -> None:
    """150 answers about 60 people without errors: they are told apart unless the conditions are of less than full rank,
    which 76 random ones are with a chance below 2^-16; then more are asked."""
    records, secrets = people(60), np.random.default_rng(1).integers(0, 2, 60)
    found = attack_answers(
        counter(records, secrets), records, secret="ill = 1", attributes=["id", "ward"], errors=Errors("exact"),
        truth=secrets, names="id",
    )  # fmt: skip
    assert found.numbers["recovered"] >= 0.97
    assert found.numbers["queries"] < 241
    assert "sure enough" in found.numbers["ended"]
    assert found.findings[0].claim.startswith('"ill = 1" is ')
    assert found.score is not None
    assert found.score.advantage.low > 0.2
    assert found.pictures[0].curves[0].name == "attack"


def test_people_who_agree_are_told_by_their_number_only() -> None:
    records, secrets = people(60), np.random.default_rng(2).integers(0, 2, 60)
    found = attack_answers(
        counter(records, secrets), records, secret="ill = 1", attributes=["ward", "smoker", "age"],
        errors=Errors("exact"), truth=secrets,
    )  # fmt: skip
    shown = public_of(records, ["ward", "smoker", "age"])
    ones = np.bincount(shown.classes, secrets)
    best = np.maximum(ones, shown.top - ones).sum() / 60  # who knows these numbers can do no better
    assert found.numbers["classes"] == len(shown.top) < 60
    assert "classes" in found.tables[0].text
    assert best - 0.1 <= found.numbers["recovered"] <= best


def test_fewer_answers_than_people_are_used_as_far_as_they_go() -> None:
    """As often right as said: 4 worlds of 60 people, within 15 points, five standard deviations of the mean."""
    said, right = [], []
    for seed in range(4):
        records, secrets = people(60, seed), np.random.default_rng(100 + seed).integers(0, 2, 60)
        found = attack_answers(
            counter(records, secrets), records, secret="ill = 1", attributes=["id"], queries=30, truth=secrets,
            errors=Errors("normal", 1) if seed % 2 else None, rate=0.5, seed=seed,
        )  # fmt: skip
        assert found.numbers["decoder"] == "posterior mean"
        assert "fewer answers than classes" in found.tables[0].text
        said.append(found.numbers["expected"])
        right.append(found.numbers["recovered"])
    assert np.mean(right) > 0.6
    assert np.mean(said) == pytest.approx(np.mean(right), abs=0.15)


def test_the_posterior_mean_is_the_linear_one_and_of_one_person_that_of_bayes() -> None:
    """One answer about one person: the exact posterior by two likelihoods. Two people: the textbook formula."""
    looked = Looked.of(np.ones((1, 1), np.uint8), np.array([0.9]), 0.3, np.array([1]))
    one = posterior_mean(looked, Errors("normal", 0.5))
    odds = 0.3 / 0.7 * np.exp((0.9**2 - 0.1**2) / (2 * 0.25))
    assert one.values == pytest.approx([odds / (1 + odds)])
    top, a = np.array([5, 300]), np.array([[1, 1]], np.uint8)
    two = posterior_mean(Looked.of(a, np.array([160.0]), 0.5, top), Errors("laplace", 2))
    gain = 0.25 * top / (0.25 * top.sum() + 8)
    assert two.values == pytest.approx(0.5 * top + gain * (160 - 152.5))
    assert two.bits.tolist() == np.rint(two.values).tolist()


def test_a_refusal_ends_the_asking_and_what_was_answered_is_used() -> None:
    records, secrets = people(40), np.random.default_rng(3).integers(0, 2, 40)
    count, left = counter(records, secrets), [25]

    def stingy(condition: str) -> float:
        left[0] -= 1
        if left[0] < 0:
            raise BudgetExceededError("nothing is left", "ask for more")
        return count(condition)

    found = attack_answers(stingy, records, secret="ill = 1", attributes=["id"])
    assert found.numbers["ended"] == "after 25 answers no more were given: nothing is left"
    assert found.numbers["queries"] == 25
    assert found.score is None
    assert found.headline.startswith("The guesses are expected")
    with pytest.raises(BudgetExceededError):
        attack_answers(stingy, records, secret="ill = 1")  # at once: nothing was learned


def test_a_budget_of_epsilon_1_keeps_guesses_under_the_trade_off_curve(tmp_path: Path) -> None:
    """40 people at 50:50. Under the curve at most 88.1 % are to be expected; noise of scale 40 on sums of 10 leaves
    about 51 %: 36 of 40 have a chance below 1e-6, and exact answers to the same questions give everybody away."""
    draw = np.random.default_rng(4)
    ill = draw.integers(0, 2, 40)
    rows = {"id": list(range(1, 41)), "ill": [bool(bit) for bit in ill]}
    with pv.create(tmp_path / "v.privet", budget=pv.Budget(1)) as vault:
        vault.add_table("t", rows, unit="id", columns={"id": pv.Integer(1, 99), "ill": pv.Boolean()})

        def ask(condition: str) -> float:
            text = f"SELECT COUNT(DISTINCT id) AS n FROM t WHERE {condition}"
            return float(vault.sql(text, epsilon="0.025").release().rows[0]["n"])

        found = attack_answers(
            ask, [{"id": number} for number in rows["id"]], secret="ill", errors=Errors("laplace", 40), truth=ill,
            privacy=privacy(1), queries=100,
        )  # fmt: skip
    assert found.numbers["queries"] == 40
    assert "no more were given" in found.numbers["ended"]
    assert found.numbers["recovered"] < 0.89
    assert found.numbers["allowed"] == pytest.approx(1 / (1 + np.exp(-2)))
    assert found.score is not None
    assert found.score.advantage.low < 0.3
    assert found.tables[1].title == "What the promise allows"
    assert found.tables[1].rows[1][0] == "more than without the answers"
    assert found.pictures[0].curves[-1].style == "bound"


@pytest.mark.parametrize("rate", [0.5, 0.1, 0.9])
@pytest.mark.parametrize("delta", [0.0, 0.05])
def test_what_a_promise_allows_is_the_best_test_under_its_curve(rate: float, delta: float) -> None:
    promise = privacy(1, delta, "replace")
    most = 0.0
    for alarms in np.linspace(0, 1, 2001):
        hits = float(best_true_positive_rate(Fraction(float(alarms)), promise.epsilon, promise.delta))
        most = max(most, rate * hits + (1 - rate) * (1 - float(alarms)))
    assert allowed(promise, rate) == pytest.approx(most, abs=1e-3)
    assert allowed(promise, rate) >= most - 1e-12


def test_guesses_of_a_decoder_that_cannot_tell_how_sure_it_is() -> None:
    from dataclasses import replace  # noqa: PLC0415

    from privet.attacks.subsets.predicates import PredicateQueries  # noqa: PLC0415

    shown = public_of([{"w": "a"}, {"w": "a"}, {"w": "b"}], None)
    found = posterior_mean(Looked.of(np.array([[1, 0]], np.uint8), np.array([2.0]), 0.5, shown.top), None)
    asked = PredicateQueries(
        public=shown, questions=1, examples=("x",), decoded=replace(found, right=None), stated=None, rate=0.5, ended=""
    )
    guesses, sure, chance = people_guessed(asked)
    assert guesses[0] == guesses[1] == 1
    assert ((sure >= 0.5) & (sure <= 1)).all()
    assert chance[2] == 0.5


@pytest.mark.parametrize(
    ("records", "given", "problem"),
    [
        ([], {}, "wrong-shape: attributes"),
        ([{"a": 1}, {"b": 2}], {}, "wrong-shape: attributes"),
        ([1, 2], {}, "wrong-shape: attributes"),
        ([{"a": 1}, {"a": 1}], {}, "no-variation: 2 people"),
        ([{"a": 1}, {"a": 2}], {"attributes": []}, "empty: see"),
        ([{"a": 1}, {"a": 2}], {"attributes": ["b"]}, "unknown-column"),
        ([{"a": 1, "b": 1}, {"a": 2, "b": 1}], {"names": "b"}, "not-unique"),
        ([{"a": 1}, {"a": 2}], {"queries": 0}, "not-positive: not 0"),
        ([{"a": 1}, {"a": 2}], {"rate": 2}, "out-of-range: of 2"),
        ([{"a": 1}, {"a": 2}], {"truth": [1]}, "wrong-length: 1 values … for 2"),
        ([{"a": 1}, {"a": 2}], {"errors": Errors("normal", -1)}, "negative: size … -1"),
    ],
)
def test_what_cannot_be_asked_is_refused(records: Any, given: dict[str, Any], problem: str) -> None:
    with raises_code(InvalidInputError, problem):
        attack_answers(lambda _: 1.0, records, secret="s", **given)


@pytest.mark.parametrize("answer", ["many", None, float("nan")])
def test_an_answer_that_is_no_number_is_refused(answer: Any) -> None:
    with raises_code(InvalidInputError, "not-a-number: no number"):
        attack_answers(lambda _: answer, [{"a": 1}, {"a": 2}], secret="s")


@pytest.mark.parametrize("attributes", [["id"], ["ward", "age"]])
def test_noise_that_hides_everybody_makes_nobody_sure(attributes: list[str]) -> None:
    """Twice as many answers as people, with errors of scale 100: no decoder's value of 0 or 1 is a probability. A claim
    at 95 % needs a sum of some 80 errors' evidence at a hundredth of a deviation each: below 1e-9."""
    records, secrets = people(30), np.random.default_rng(5).integers(0, 2, 30)
    draw, count = np.random.default_rng(6), counter(records, secrets)
    found = attack_answers(
        lambda condition: count(condition) + draw.laplace(0, 100), records, secret="ill = 1", attributes=attributes,
        errors=Errors("laplace", 100), truth=secrets, rate=0.5, queries=60,
    )  # fmt: skip
    assert found.numbers["queries"] >= found.numbers["classes"]
    assert found.claimed == 0
    assert found.numbers["expected"] < 0.7


def test_people_whom_the_attacker_does_not_know_of_are_noticed() -> None:
    """Thirty strangers in the data, and a claim that answers are exact: the errors that these make are found instead,
    of about the deviation of 15 coins. With the right list the claim stays."""
    records, secrets = people(60), np.random.default_rng(7).integers(0, 2, 60)
    listed = records[:30]
    found = attack_answers(
        counter(records, secrets), listed, secret="ill = 1", attributes=["id"], errors=Errors("exact"),
        truth=secrets[:30], names="id",
    )  # fmt: skip
    assert found.numbers["errors"]["law"] == "normal"
    assert "somebody else is in the data" in found.tables[0].text
    assert 1 < found.numbers["errors"]["size"] < 20
    assert found.claimed < 30
    looked = Looked.of(np.eye(20, dtype=np.uint8), np.ones(20), 0.5, np.ones(20, np.int64))
    assert fitting(looked, Errors("exact")) == Errors("exact")
    assert fitting(looked, Errors("outliers", 0, 0.1)) == Errors("outliers", 0, 0.1)


@pytest.mark.parametrize("number", [40, 60])  # without and with a decoder that can tell how sure it is
def test_many_classes_are_not_taken_apart_unless_they_must(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("privet.attacks.subsets.predicates.MANY", 10)
    records, secrets = people(number), np.random.default_rng(1).integers(0, 2, number)
    found = attack_answers(
        counter(records, secrets), records, secret="ill = 1", attributes=["id"], errors=Errors("exact"), truth=secrets,
    )  # fmt: skip
    assert found.numbers["recovered"] >= 0.97
    assert found.claimed >= 0.9 * number
    assert found.numbers["decoder"] == ("amp" if number == 60 else "box least squares")


def test_a_secret_that_nobody_has() -> None:
    found = attack_answers(lambda _: 0.0, [{"id": number} for number in range(30)], secret="s")
    assert found.numbers["rate"] == pytest.approx(0.01, abs=0.02)
    assert all(finding.claim.startswith('"s" is false') for finding in found.findings)


def test_names_and_kinds_of_attributes(tmp_path: Path) -> None:
    path = tmp_path / "public.csv"
    path.write_text('ward,"odd ""name"""\n1,true\n2,false\n1,\n', encoding="utf-8")
    shown = public_of(path, None)
    assert shown.names == ("person 1", "person 2", "person 3")
    assert [one.name for one in shown.attributes] == ['"ward"', '"odd ""name"""']
    assert shown.attributes[0].texts == ("1", "2")
    assert shown.attributes[1].texts == ("FALSE", "TRUE", None)
    path.write_text("zip,dose\n007,1.5\n7,1.50\n8,1.5\n", encoding="utf-8")
    assert public_of(path, None).top.tolist() == [2, 1]  # no condition over numbers tells the first two apart
    assert public_of(path, None, ["zip"]).top.tolist() == [1, 1, 1]
    path.write_text("ward\n1\n2\n1\n", encoding="utf-8")
    assert public_of(path, ["ward"], ["ward"]).attributes[0].texts == ("'1'", "'2'")

"""From reconstruction to membership and back, beside direct attacks on made data.

Chances of a false alarm: where a share of n people is compared with a law, the margin is 5 standard deviations (6e-7).
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from support.refusals import raises_code

from privet.attacks.membership import members
from privet.attacks.membership.reductions import (
    NOBODY,
    People,
    agreement,
    candidates,
    decide,
    each,
    guess_secrets,
    in_reconstruction,
    membership_by_reconstruction,
    reconstruction_by_membership,
    scores_of,
    threshold,
)
from privet.errors import InvalidInputError
from privet.stats.roc import roc

Floats = npt.NDArray[np.float64]


def _normal_cdf(z: float) -> float:
    return math.erfc(-z / math.sqrt(2)) / 2


# Reconstruction => membership


def _subset_sums(people: int, answers: int, noise: float, seed: int) -> tuple[Floats, Floats, Floats]:
    """Who is counted, everybody's bit, and the noisy sums."""
    random = np.random.default_rng(seed)
    rows = random.integers(0, 2, (answers, people)).astype(float)
    bits = random.integers(0, 2, people).astype(float)
    return rows, bits, rows @ bits + random.normal(0, noise, answers)


def _posterior(rows: Floats, sums: Floats, noise: float) -> Floats:
    """The exact chance of a yes for everybody, by going through all data sets."""
    worlds = np.array(list(itertools.product((0.0, 1.0), repeat=rows.shape[1])))
    likelihood = np.exp(-(((sums - worlds @ rows.T) / noise) ** 2).sum(axis=1) / 2)
    return np.asarray(likelihood @ worlds / likelihood.sum())


def test_with_exact_chances_it_is_the_likelihood_ratio_test() -> None:
    people, noise = 7, 1.5
    scores: dict[str, list[float]] = {"reduced": [], "direct": []}
    for seed in range(20):
        rows, _, sums = _subset_sums(people, 9, noise, seed)
        chance = np.clip(_posterior(rows, sums, noise), 0, 1)
        worlds = np.array(list(itertools.product((0.0, 1.0), repeat=people)))
        likelihood = np.exp(-(((sums - worlds @ rows.T) / noise) ** 2).sum(axis=1) / 2)
        for place, secret in itertools.product(range(people), (0, 1)):
            has = worlds[:, place] == secret
            scores["direct"].append(float(likelihood[has].mean() / likelihood.mean()))
            scores["reduced"].append(float(agreement(chance, People(records=[place], secrets=[secret]))[0]))
    assert scores["direct"] == pytest.approx([2 * score for score in scores["reduced"]])  # P[secret] is 1/2


@pytest.mark.proof
def test_least_squares_tells_who_is_in_the_data_as_well_as_it_reconstructs() -> None:
    people, answers, noise = 400, 1600, 5.0
    rows, bits, sums = _subset_sums(people, answers, noise, 1)

    def least_squares(release: tuple[Floats, Floats]) -> Floats:
        return np.clip(np.linalg.lstsq(release[0], release[1], rcond=None)[0], 0, 1)

    others = np.random.default_rng(2).integers(0, 2, people)
    places = list(range(people))
    found = membership_by_reconstruction(
        least_squares,
        (rows, sums),
        People(records=places, secrets=bits.astype(int).tolist()),
        People(records=places, secrets=others.tolist()),
    )
    recovered = float(((least_squares((rows, sums)) > 0.5) == bits).mean())
    forecast = _normal_cdf(0.5 * math.sqrt((answers - people) / 4) / noise)  # of least squares: docs/attacks/regimes.md
    assert found.numbers["found"]["value"] == recovered
    assert abs(recovered - forecast) < 5 * math.sqrt(forecast * (1 - forecast) / people)
    assert abs(found.numbers["alarms"]["value"] - 0.5) < 5 * 0.5 / math.sqrt(people)
    assert found.score is not None
    assert found.score.success.value == recovered
    # The direct test, by the law of the estimates: log cosh-like ratio of a normal around the secret to the mixture.
    spread = noise / math.sqrt((answers - people) / 4)
    estimate = np.linalg.lstsq(rows, sums, rcond=None)[0]
    direct = [_log_ratio(estimate, secrets, spread) for secrets in (bits, others)]
    auc = roc(*direct).auc
    assert auc.low < found.numbers["auc"]["value"] < auc.high
    assert "advantage of" in found.headline
    assert found.pictures[0].shares


def _log_ratio(estimate: Floats, secrets: Floats, spread: float) -> Floats:
    own = np.exp(-(((estimate - secrets) / spread) ** 2) / 2)
    other = np.exp(-(((estimate - 1 + secrets) / spread) ** 2) / 2)
    return np.asarray(np.log(2 * own / (own + other)))


def test_whole_records() -> None:
    found = [("Ann, 30", "flu"), ("Bob, 40", "none"), ("Ann, 30", "flu")]
    people = People(records=["Ann, 30", "Bob, 40", "Cy, 50"], secrets=["flu", "flu", "flu"])
    assert in_reconstruction(found, people).tolist() == [2, 0, 0]
    inside = People(records=["Ann, 30", "Bob, 40"], secrets=["flu", "none"])
    outside = People(records=["Ann, 30", "Dan, 60"], secrets=["none", "flu"])
    findings = membership_by_reconstruction(iter, found, inside, outside, gives="records", chance=0.25)
    assert findings.numbers["found"]["value"] == 1
    assert findings.numbers["alarms"]["value"] == 0
    assert findings.tables[0].rows[1][2] == "chance: 25.0 %"


# Membership => reconstruction


def _groups(
    people: int, attributes: int, seed: int, values: int = 2, others: int = 400
) -> tuple[Floats, npt.NDArray[np.int64], Floats]:
    """Attributes of people in the data, their secrets, and attributes of others; rates of 1/2."""
    random = np.random.default_rng(seed)
    records = random.integers(0, 2, (people + others, attributes)).astype(float)
    return records[:people], np.arange(people) % values, records[people:]


def inner_product(statistics: Floats, records: Any) -> Floats:
    """Dwork et al.'s test: how far a person and the published means lean to the same side."""
    return np.asarray((np.asarray(records) - 0.5) @ (statistics - 0.5))


def likelihood(statistics: tuple[Floats, int], records: Any) -> Floats:
    """The log likelihood ratio of means of `size` people with this person among them, to without: normal laws."""
    means, size = statistics
    person = np.asarray(records)
    shift, variance = (person - 0.5) / size, 0.25 / size
    inside = (means - 0.5 - shift) ** 2 / (2 * 0.25 * (size - 1) / size**2) + math.log((size - 1) / size) / 2
    return np.asarray(((means - 0.5) ** 2 / (2 * variance) - inside).sum(axis=1))


def test_the_largest_log_likelihood_is_the_most_likely_secret() -> None:
    """The direct attack: the statistics of both parts, if the person is in one of them and somebody else in the other.
    It must agree for everybody."""
    records, secrets, _ = _groups(40, 200, 3)
    parts = {value: records[secrets == value] for value in (0, 1)}
    releases = {value: (part.mean(axis=0), len(part)) for value, part in parts.items()}
    scores = scores_of(likelihood, releases, records)
    size, variance = 20, 0.25 / 20

    def log_law(value: int, person: Floats, *, there: bool) -> float:
        means = releases[value][0]
        middle, spread = (0.5, variance) if not there else (0.5 + (person - 0.5) / size, 0.25 * (size - 1) / size**2)
        return float((-((means - middle) ** 2) / (2 * spread) - 0.5 * np.log(spread)).sum())

    for person, score in zip(records, scores, strict=True):
        direct = [sum(log_law(v, person, there=v == own) for v in (0, 1)) for own in (0, 1)]
        assert score[1] - score[0] == pytest.approx(direct[1] - direct[0])
        assert (score[1] > score[0]) == (direct[1] > direct[0])


def test_a_forced_choice_is_right_as_often_as_the_auc_of_the_test() -> None:
    """The own part's score has the law of people inside, the other part's the law of people outside, and the two are
    independent: the larger one is the own with the chance that is called AUC."""
    size, attributes = 100, 100
    right, z = [], math.sqrt(attributes / size)  # of this test: mean 1 / (4 size) an attribute, variance 1 / (16 size)
    for seed in range(10):
        records, secrets, outside = _groups(2 * size, attributes, seed)
        releases = {value: records[secrets == value].mean(axis=0) for value in (0, 1)}
        found = reconstruction_by_membership(
            inner_product,
            releases,
            People(records=records, secrets=secrets.tolist()),
            People(records=outside, secrets=[0, 0, 1, 1] * 100),
            rate=0.05,
        )
        right.append(found.numbers["recovered"]["value"])
    auc = _normal_cdf(z / math.sqrt(2))
    spread = math.sqrt(auc * (1 - auc) / (2 * size * 10))
    assert abs(np.mean(right) - auc) < 5 * spread + 0.005  # people of one run share its statistics; the laws are normal
    assert found.score is not None
    assert found.score.control is not None
    assert abs(found.score.control.value - 0.5) < 0.25  # 200 people who share two releases; 5 deviations of .05 at most


def test_exact_statistics_of_many_attributes_give_all_and_others_get_none() -> None:
    records, secrets, outside = _groups(60, 4000, 5, values=3)
    names = ["ill", "well", "unknown"]
    told = [names[value] for value in secrets]
    releases = {name: records[secrets == value].mean(axis=0) for value, name in enumerate(names)}
    found = reconstruction_by_membership(
        each(lambda means, person: float(inner_product(means, [person])[0])),
        releases,
        People(records=records, secrets=told),
        People(records=outside, secrets=told[:1] * 400),
    )
    assert found.numbers["right"] == found.claimed == 60
    assert found.numbers["outside_undecided"]["value"] > 0.8
    assert found.tables[0].rows[0][2].startswith("100.0 %")
    assert found.headline.startswith("Tests of who is in the data tell the secret of 60 of 60 people")
    # The direct attack, which uses all records at once: sums of attributes over those who are ill, least squares.
    sums = releases["ill"] * (secrets == 0).sum()
    bits = np.linalg.lstsq(records.T, sums, rcond=None)[0] > 0.5
    assert (bits == (secrets == 0)).all()
    guessed = guess_secrets(inner_product, releases, outside[:20], [1e9, 1e9, 1e9])
    assert guessed.secrets == [None] * 20
    assert guess_secrets(inner_product, releases, records[:3], [0, 0, 0]).secrets == told[:3]


def test_over_the_membership_test_of_this_package() -> None:
    """Its likelihood test tells secrets, and ranks people of both parts as the stand-in above does."""
    records, secrets, outside = _groups(60, 2000, 8)
    releases = {value: records[secrets == value].mean(axis=0) for value in (0, 1)}

    def test(means: Floats, people: Any) -> Floats:
        return members.scores(means, people, np.full(2000, 0.5), size=30)

    found = reconstruction_by_membership(
        test,
        releases,
        People(records=records, secrets=secrets.tolist()),
        People(records=outside, secrets=[0, 0, 1, 1] * 100),
    )
    assert found.numbers["right"] == 60  # z is 8: one score in 10^8 is on the wrong side
    assert found.numbers["outside_undecided"]["value"] > 0.8


def test_one_data_set_with_the_secret_in_its_records() -> None:
    """What is published are means of products of the secret's sign with each attribute: candidates differ in sign."""
    records, secrets, outside = _groups(50, 3000, 6)
    signs = 2.0 * secrets - 1
    published = ((records - 0.5) * signs[:, None]).mean(axis=0) + 0.5

    def as_if(record: Floats, value: Any) -> Floats:
        return np.asarray((record - 0.5) * (2 * value - 1) + 0.5)

    test = candidates(inner_product, as_if)
    found = reconstruction_by_membership(
        test,
        {0: (published, 0), 1: (published, 1)},
        People(records=records, secrets=secrets.tolist()),
        People(records=outside, secrets=[0, 0, 1, 1] * 100),
    )
    assert found.numbers["right"] == 50
    assert found.numbers["outside_undecided"]["value"] > 0.8


@given(hnp.arrays(np.float64, (6, 3), elements=st.sampled_from([0.0, 1.0, 2.0])), st.integers(0, 2))
def test_the_rule_and_what_follows_from_it(scores: Floats, own: int) -> None:
    """A secret is missed only if the own part says OUT or another one raises an alarm."""
    limits = np.array([0.5, 0.5, 1.5])
    places = decide(scores, limits)
    for row, place in zip(scores, places, strict=True):
        said = [at for at in range(3) if row[at] > limits[at]]
        best = [at for at in said if row[at] == max(row[one] for one in said)]
        assert place == (best[0] if len(best) == 1 else NOBODY)
        assert (place == own) >= (own in said) - sum(other in said for other in range(3) if other != own)


def test_a_threshold_lets_through_what_was_asked() -> None:
    scores = list(range(100))
    assert [sum(one > threshold(scores, rate) for one in scores) for rate in (0, 0.01, 0.29, 0.5)] == [0, 1, 29, 50]
    assert threshold([3, 3, 3], 0.5) == 3


PEOPLE = People(records=[0, 1], secrets=[0, 1])


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        (lambda: People(records=[1], secrets=[]), "wrong-length: 1 records … and 0 secrets"),
        (lambda: People(records=[], secrets=[]), "wrong-length: 0 records"),
        (lambda: agreement([0, 1], People(records=[0], secrets=["ill"])), "not-binary"),
        (lambda: agreement([0, 2], PEOPLE), "out-of-range: not … from 0 … 1"),
        (lambda: agreement([0], PEOPLE), "unknown-person: 1 guesses"),
        (lambda: agreement([0, 1], People(records=[-1], secrets=[1])), "unknown-person: 2 guesses"),
        (lambda: agreement([0, 1], People(records=["Ann"], secrets=[1])), "unknown-person: 2 guesses"),
        (lambda: agreement([[0, 1]], PEOPLE), "wrong-length: guess"),
        (lambda: agreement([], PEOPLE), "wrong-length: are 0 numbers"),
        (lambda: agreement(["a", "b"], PEOPLE), "not-a-number: these"),
        (lambda: agreement([0, math.nan], PEOPLE), "not-finite: not"),
        (lambda: membership_by_reconstruction(list, [0, 1], PEOPLE, PEOPLE, chance=2), "out-of-range: of 2"),
        (lambda: threshold([1, 2], 1), "out-of-range: false-alarm … of 1"),
        (lambda: guess_secrets(inner_product, {0: np.ones(1)}, [[1]], [0]), "too-few: two … values"),
        (lambda: guess_secrets(lambda *_: [1], {0: 0, 1: 1}, [[1], [2]], [0, 0]), "wrong-length: score"),
        (lambda: guess_secrets(lambda *_: [1], {0: 0, 1: 1}, [[1]], [0]), "wrong-length: threshold"),
        (lambda: reconstruction_by_membership(lambda *_: [1, 1], {0: 0, 2: 1}, PEOPLE, PEOPLE), "missing-entry: of 1"),
        (
            lambda: reconstruction_by_membership(
                lambda *_: [1], {0: 0, 1: 1}, PEOPLE, People(records=[1], secrets=[1])
            ),
            "too-few: outside",
        ),
    ],
)
def test_what_is_refused(call: Any, problem: str) -> None:
    with raises_code(InvalidInputError, problem):
        call()


def test_records_that_cannot_be_counted() -> None:
    lists, plain = People(records=[[1]], secrets=[2]), People(records=[1], secrets=[2])
    for people, guessed in ((lists, []), (plain, [([1], 2)]), (plain, 3)):
        with raises_code(InvalidInputError, "wrong-type"):
            membership_by_reconstruction(lambda told: told, guessed, people, people, gives="records")
    with raises_code(InvalidInputError, "unknown-choice: gives"):
        membership_by_reconstruction(lambda _: [1], None, plain, plain, gives="thing")  # type: ignore[arg-type]


def test_few_people_outside_are_said_to_be_few() -> None:
    """One person sets the thresholds, and another one is above with chance 1/2, whatever the rate."""
    draw = np.random.default_rng(0)
    records = draw.integers(0, 2, (20, 200))
    secrets = [0, 1] * 10
    parts = {value: records[value::2].mean(axis=0) for value in (0, 1)}

    def lean(means: Any, people: Any) -> Any:
        return (np.asarray(people) - 0.5) @ (means - 0.5)

    for others, told in ((2, True), (300, False)):
        outside = People(records=draw.integers(0, 2, (others, 200)), secrets=[0, 1] * (others // 2))
        found = reconstruction_by_membership(lean, parts, People(records=records, secrets=secrets), outside)
        assert any("one person in 2" in line for line in found.assumptions) == told

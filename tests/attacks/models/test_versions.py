"""Whole attacks on two versions: who is recognized, who is claimed, and what keeps a report from a green light."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom, nbinom
from support.refusals import raises_code

import privet as pv
from privet.attacks import Asking, Findings, Stacked, attack_versions
from privet.attacks.models.model_files import update_of
from privet.errors import InvalidInputError
from privet.report.findings.page import page_of, verdict
from privet.report.page import to_html

OVERFIT = Stacked(hidden=(64,), epochs=60, batch=20, rate=0.01)
CALM = Stacked(hidden=(), epochs=3, batch=20, rate=0.01)
Pair = tuple[Any, Any]
ADDED, REMOVED, OTHERS = 30, 30, 300


def world(seed: int = 0, base: int = 100, others: int = OTHERS) -> tuple[Pair, Pair, Pair, Pair]:
    """Records of both versions, added ones, removed ones, and others: all alike."""
    draw = np.random.default_rng(seed)
    people = base + ADDED + REMOVED + others
    rows = draw.normal(size=(people, 20)).astype(np.float32)
    labels = (rows[:, :3].sum(axis=1) + 2 * draw.normal(size=people) > 0).astype(int)
    ends = np.cumsum([0, base, ADDED, REMOVED, others])
    fixed, added, removed, outside = ((rows[start:end], labels[start:end]) for start, end in pairwise(ends))
    return fixed, added, removed, outside


def both(*pairs: Pair) -> Pair:
    return np.concatenate([one[0] for one in pairs]), np.concatenate([one[1] for one in pairs])


def attacked(how: Stacked = OVERFIT, seed: int = 0, *, remove: bool = False, **options: Any) -> Findings:
    """An update that adds records, or one that replaces some; each version is trained with a seed of its own."""
    base, added, removed, others = world(seed)
    before, after = how.fit(*(both(base, removed) if remove else base), seed=seed), how.fit(*both(base, added), seed=99)
    candidates, truth = (both(added, removed), REMOVED) if remove else (added, 0)
    said = ["added"] * ADDED + ["removed"] * truth
    return attack_versions(before, after, candidates, others, **{"truth": said, "seed": seed} | options)


def again(seed: int = 0, how: Stacked = OVERFIT, **options: Any) -> Findings:
    return attacked(how, seed, **{"base": world(seed)[0], "refit": how, "shadows": 16, "models": 3} | options)


@pytest.fixture(scope="module")
def update() -> Findings:
    return again(remove=True)


def limits(found: Findings) -> str:
    return " / ".join(found.numbers["limits"])


def best(found: Findings, which: str = "added") -> dict[str, Any]:
    reached: dict[str, Any] = found.numbers[which]["attacks"][found.numbers[which]["main"]]
    return reached


# Who is recognized


def test_two_versions_give_away_more_than_one() -> None:
    """Ten updates, without any training by the attacker: of 300 added records, those recognized from both versions and
    from the later one alone."""
    found = [attacked(seed=seed) for seed in range(10)]
    two = sum(round(best(one)["found"]["value"] * ADDED) for one in found)
    single = sum(round(one.numbers["added"]["alone"]["value"] * ADDED) for one in found)
    assert two >= 30
    assert single <= two / 4


def test_shadow_pairs_recognize_more(update: Findings) -> None:
    for which in ("added", "removed"):
        numbers = update.numbers[which]
        assert numbers["main"] in ("LiRA", "LiRA offline")
        assert best(update, which)["auc"]["low"] > 0.5
        assert best(update, which)["again"]["low"] > numbers["attacks"]["difference"]["control"]["value"]
    assert update.numbers["limits"] == []
    assert verdict(update) == "bad"
    assert abs(update.numbers["shared_chance"]) < 0.3  # each version was trained anew


def test_claims_are_records_with_names_and_a_direction(update: Findings) -> None:
    assert update.score is not None
    assert update.claimed == len(update.findings) == update.score.claimed > 5
    assert update.score.right >= 0.8 * update.score.claimed  # 299 of 309 over 25 seeds
    assert {one.section for one in update.findings} <= {"Records that were added", "Records that were removed"}
    assert all(one.confidence is not None and one.confidence >= 0.95 for one in update.findings)
    for which, first in (("added", 1), ("removed", ADDED + 1)):
        risk = update.numbers[which]["risk"]
        assert len(risk) == ADDED + REMOVED
        assert [one["score"] for one in risk] == sorted((one["score"] for one in risk), reverse=True)
        own = {f"candidate {first + place}" for place in range(ADDED)}
        assert sum(one["name"] in own for one in risk[:10]) >= 8


def test_removal_is_addition_in_the_other_direction() -> None:
    base, added, _, others = world()
    small, large = OVERFIT.fit(*base, seed=1), OVERFIT.fit(*both(base, added), seed=2)
    one = attack_versions(small, large, added, others, truth=["added"] * ADDED)
    other = attack_versions(large, small, added, others, truth=["removed"] * ADDED)
    assert one.numbers["added"] == other.numbers["removed"]
    assert "removed" not in one.numbers


def test_without_the_truth_somebody_can_be_claimed() -> None:
    found = attacked(remove=True, truth=None)
    assert found.score is None
    assert found.pictures == ()
    assert "not said" in limits(found)
    assert set(found.numbers) >= {"added", "removed"}
    assert found.headline.startswith("Claimed of 60 candidates: ")


def test_the_same_seed_gives_the_same_result(update: Findings) -> None:
    assert again(remove=True).to_json() | {"seconds": 0} == update.to_json() | {"seconds": 0}
    assert update.numbers["reproducible"] is True


def test_a_report_is_a_page_a_terminal_and_json(update: Findings, tmp_path: Path) -> None:
    assert "recognized from the two versions" in str(update)
    assert "Where nobody may be recognized" in to_html(page_of(update))
    assert json.loads(json.dumps(update.to_json()))["attack"] == "versions"
    assert update.report(tmp_path / "versions.html").exists()


# Who is not


def test_nobody_is_claimed_where_the_update_is_ignored() -> None:
    """Twenty updates of overfit networks that were trained anew on the old records alone. Each claims somebody with 5 %
    at most, and of 600 records those who pass are as many as above the highest of 150 others."""
    claimed = hits = bad = 0
    for seed in range(20):
        base, added, _, others = world(seed)
        before, after = (OVERFIT.fit(*base, seed=seed + more) for more in (0, 1000))
        found = attack_versions(before, after, added, others, truth=["added"] * ADDED, seed=seed)
        claimed, bad = claimed + bool(found.claimed), bad + (verdict(found) == "bad")
        hits += round(best(found)["found"]["value"] * ADDED)
    assert binom.sf(8, 20, 0.05) < 1e-6
    assert nbinom.sf(25, 20, 150 / 180) < 1e-6
    assert claimed <= bad <= 8
    assert hits <= 25


def test_nobody_is_claimed_where_nothing_leaks() -> None:
    found = [again(seed, CALM, models=2) for seed in range(5)]
    assert sum(one.claimed for one in found) == 0
    assert [verdict(one) for one in found].count("bad") == 0


def test_people_in_neither_version_are_not_recognized() -> None:
    """Five overfit updates with shadow pairs: of 750 people in neither version those who pass, as above."""
    found = [again(seed, models=0) for seed in range(5)]
    alarms = sum(round(best(one)["control"]["value"] * 150) for one in found)
    assert nbinom.sf(40, 5, 150 / 300) < 1e-6
    assert alarms <= 40
    assert sum(one.claimed for one in found) > 20


def test_candidates_in_neither_version_are_seldom_claimed() -> None:
    """Half of the candidates of five updates were not added. With many others a few can be claimed surely enough."""
    claimed = wrong = 0
    for seed in range(5):
        base, added, neither, others = world(seed, others=1500)
        before, after = OVERFIT.fit(*base, seed=1), OVERFIT.fit(*both(base, added), seed=2)
        said = ["added"] * ADDED + ["neither"] * REMOVED
        found = attack_versions(before, after, both(added, neither), others, truth=said, seed=seed)
        assert found.score is not None
        claimed, wrong = claimed + found.score.claimed, wrong + found.score.claimed - found.score.right
    assert claimed >= 5
    assert wrong <= 0.25 * claimed


@pytest.mark.parametrize("how_far", [3.0, 0.2])
def test_people_of_another_kind_are_not_claimed(how_far: float) -> None:
    """The update is ignored, and the odds of the added records change more, or less, than those of others."""
    base, (rows, labels), _, others = world()
    other = rows * how_far, labels
    pair = [OVERFIT.fit(*base, seed=seed) for seed in (1, 2)]
    found = attack_versions(*pair, other, others, truth=["added"] * ADDED)
    assert "so nobody is claimed" in limits(found)
    assert found.claimed == 0
    assert verdict(found) == "neutral"


class Moody:
    """Of the rows with a mark, it is surer or less sure with each training."""

    def __init__(self, rows: Any, _: Any, *, seed: int) -> None:
        self.mood = 4.0 * (seed % 2)

    def predict_proba(self, rows: Any) -> Any:
        odds = np.where(rows[:, 0] > 0, self.mood, 0.0) + rows[:, 1]
        return np.column_stack([1 / (1 + np.exp(odds)), 1 / (1 + np.exp(-odds))])


def version(kind: float) -> Any:
    """What a model says that has learned so much of people whose first column is high."""

    def answer(rows: Any) -> Any:
        second = 1 / (1 + np.exp(-rows[:, 1] / 10 - kind * (rows[:, 0] > 2)))
        return np.column_stack([1 - second, second])

    return answer


@pytest.mark.parametrize("truth", [None, ["added"] * 30 + ["neither"] * 30])
def test_an_update_for_people_of_a_new_kind_claims_none_of_them(truth: list[str] | None) -> None:
    """It changes what the model says of all of them, whether they were added or not."""
    for seed in range(3):
        draw = np.random.default_rng(seed)
        rows, labels = draw.normal(size=(660, 3)), draw.integers(0, 2, 660)
        rows[:60, 0] += 4
        labels[:60] = draw.random(60) < 0.9

        people = (rows[:60], labels[:60]), (rows[60:], labels[60:])
        found = attack_versions(version(0.0), version(2.0), *people, truth=truth, seed=seed)
        assert found.claimed == 0
        assert found.alarm == "neutral"
        assert any("in their columns or classes" in words for words in found.numbers["limits"])


def test_who_stands_out_without_a_change_is_not_claimed() -> None:
    """All added records have the mark, and no others: training gives them other odds each time."""
    draw = np.random.default_rng(0)
    rows = draw.normal(size=(500, 2))
    rows[:, 0] = np.where(np.arange(500) < 40, 1.0, -1.0)
    labels = np.concatenate([np.ones(40, int), np.arange(460) % 2])
    added, others, base = ((rows[part], labels[part]) for part in (slice(40), slice(40, 400), slice(400, None)))
    pair = Moody(*base, seed=0), Moody(*base, seed=1)
    found = attack_versions(*pair, added, others, truth=["added"] * 40, base=base, refit=Moody, shadows=8, models=8)
    assert "stand out where nothing changed" in limits(found) or "differ from others" in limits(found)
    assert found.claimed == 0


# What keeps it from a green light


def test_versions_that_are_the_same_say_nothing() -> None:
    base, added, _, others = world()
    model = OVERFIT.fit(*base, seed=1)
    found = attack_versions(model, model, added, others, truth=["added"] * ADDED)
    assert "the two versions give the same answers" in limits(found)
    assert found.claimed == 0
    assert best(found)["found"]["value"] == 0
    assert verdict(found) == "neutral"


def test_nobody_is_claimed_without_others_or_with_few() -> None:
    base, added, _, (rows, labels) = world()
    pair = OVERFIT.fit(*base, seed=1), OVERFIT.fit(*both(base, added), seed=2)
    for others, said in ((None, "no others were given"), ((rows[:60], labels[:60]), "60 others are too few")):
        found = attack_versions(*pair, added, others, truth=["added"] * ADDED, base=base, refit=OVERFIT, shadows=4)
        assert said in limits(found)
        assert found.headline.startswith("Nobody can be claimed")
        assert found.claimed == 0
        assert verdict(found) != "good"


def test_few_records_and_few_pairs_are_said_to_be_few() -> None:
    base, (rows, labels), _, others = world()
    added = rows[:1], labels[:1]
    pair = CALM.fit(*base, seed=1), CALM.fit(*both(base, added), seed=2)
    for shadows, said in ((2, "too few pairs"), (6, "only 6 pairs"), (0, "no pairs of versions")):
        found = attack_versions(*pair, added, others, truth=["added"], base=base, refit=CALM, shadows=shadows, models=1)
        assert said in limits(found)
        assert "1 added record: too few" in limits(found)
        assert verdict(found) != "good"


def test_labels_alone_are_said_to_be_less() -> None:
    found = attacked(CALM, answers="labels")
    assert "labels only" in limits(found)
    assert verdict(found) != "good"


def test_versions_with_other_classes_are_noticed() -> None:
    base, added, _, others = world()
    new = added[0], np.where(np.arange(ADDED) < 5, 2, added[1])
    pair = OVERFIT.fit(*base, seed=1), OVERFIT.fit(*both(base, new), seed=2)
    found = attack_versions(*pair, new, others, truth=["added"] * ADDED)
    assert "different classes (1 new, 0 gone)" in limits(found)
    assert verdict(found) != "good" or found.claimed


def test_training_that_cannot_be_repeated_or_ignores_its_records_is_said() -> None:
    draws = np.random.default_rng(0)
    options: dict[str, Any] = {"shadows": 4, "models": 0}
    found = again(
        how=CALM, refit=lambda rows, labels: CALM.fit(rows, labels, seed=int(draws.integers(1000))), **options
    )
    assert found.numbers["reproducible"] is False
    assert "different models" in limits(found)
    fixed = CALM.fit(*world()[0], seed=0)
    deaf = again(how=CALM, refit=lambda _rows, _labels: fixed, **options)
    assert "whichever records" in limits(deaf)
    assert verdict(deaf) != "good"


def test_trainings_that_fail_are_left_out_and_counted() -> None:
    calls = iter(range(10**6))

    def refit(rows: Any, labels: Any, *, seed: int) -> Any:
        if next(calls) % 6 == 1:
            raise RuntimeError("no memory")
        return CALM.fit(rows, labels, seed=seed)

    found = again(how=CALM, refit=refit, models=0)
    assert "trainings failed (RuntimeError)" in limits(found)
    assert found.numbers["pairs"] + found.numbers["failed"] >= 16
    assert 0 < found.numbers["pairs"] < 16


def test_pairs_that_are_unlike_the_versions_are_noticed() -> None:
    base, added, _, others = world()
    pair = OVERFIT.fit(*base, seed=1), OVERFIT.fit(*both(base, added), seed=2)
    found = attack_versions(*pair, added, others, truth=["added"] * ADDED, base=base, refit=CALM, shadows=16, models=0)
    assert "unlike the two versions" in limits(found)


def test_copies_are_noticed() -> None:
    base, (rows, labels), _, others = world()
    added = (
        np.concatenate([rows, rows[:1], base[0][:2], others[0][:3]]),
        np.concatenate([labels, labels[:1], base[1][:2], others[1][:3]]),
    )
    pair = CALM.fit(*base, seed=1), CALM.fit(*both(base, added), seed=2)
    found = attack_versions(*pair, added, others, truth=["added"] * len(added[1]), base=base, shadows=0)
    for said in ("3 records are among candidates", "2 candidates have the same record", "2 records have a copy"):
        assert said in limits(found)


class Silent:
    """Says nothing of some rows."""

    def __init__(self, model: Any, limit: float) -> None:
        self.model, self.limit = model, limit

    def predict_proba(self, rows: Any) -> Any:
        found = np.array(self.model.predict_proba(rows))
        found[rows[:, 0] > self.limit] = np.nan
        return found


def test_records_without_an_answer_are_counted() -> None:
    base, added, _, others = world()
    pair = [Silent(OVERFIT.fit(*base, seed=seed), limit) for seed, limit in ((1, 1.5), (2, 1.0))]
    found = attack_versions(*pair, added, others, truth=["added"] * ADDED, base=base, refit=OVERFIT, shadows=4)
    assert "no finite answer for" in limits(found)
    with raises_code(InvalidInputError, "not-finite: later"):
        attack_versions(pair[0], Silent(pair[0], -np.inf), added, others)


def test_each_service_has_its_own_kept_answers(tmp_path: Path) -> None:
    base, added, _, others = world()
    services = [CALM.fit(*base, seed=seed).predict_proba for seed in (1, 2)]
    asking = Asking(kept=tmp_path / "kept")
    found = attack_versions(*services, added, others, truth=["added"] * ADDED, asking=asking)
    assert found.numbers["rows_asked"] == asking.asked == 2 * (ADDED + OTHERS)
    assert sorted(path.name for path in (tmp_path / "kept").iterdir()) == ["after", "before"]
    swapped = attack_versions(*services[::-1], added, others, truth=["added"] * ADDED, asking=asking)
    assert "kept answers are not" in limits(swapped)


# Wrong inputs


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"truth": ["added"]}, f"wrong-length: 1 … {ADDED}"),
        ({"truth": ["new"] * ADDED}, "unknown-choice: new"),
        ({"truth": ["neither"] * ADDED}, "no-variation"),
        ({"names": ["a"]}, f"wrong-length: 1 … {ADDED}"),
        ({"refit": 3, "base": world()[0]}, "not-callable"),
        ({"shadows": -1}, "negative|out-of-range|too-small: shadows"),
        ({"models": -1}, "negative|out-of-range|too-small: models"),
        ({"answers": "odds"}, "unknown-choice"),
        ({"base": 3}, "wrong-type: base"),
    ],
)
def test_wrong_arguments_are_refused(change: dict[str, Any], code: str) -> None:
    with raises_code(InvalidInputError, code):
        attacked(CALM, **change)


def test_versions_that_answer_in_different_ways_are_refused() -> None:
    base, added, _, others = world()
    model = CALM.fit(*base, seed=1)
    with raises_code(InvalidInputError, "not-supported: probabilities … labels"):
        attack_versions(model, model.predict, added, others)
    with raises_code(InvalidInputError, "wrong-shape"):
        attack_versions(model, model, (added[0][:, :3], added[1]), others)


# The training data of two versions


def test_an_update_is_read_off_the_training_data() -> None:
    rows = np.arange(12.0)[:, None]
    before = rows[[0, 1, 1, 2, 3]], np.array([0, 1, 1, 0, 0])
    after = rows[[3, 1, 2, 7, 0, 0]], np.array([0, 1, 1, 0, 0, 0])
    added, removed, both_, names = update_of(before, after, ("old.csv", "new.csv"))
    assert (added, removed, both_) == ([2, 3, 5], [2, 3], [0, 1, 4])
    assert names[0] == "record 3 of new.csv"
    assert names[3:] == ["record 3 of old.csv", "record 4 of old.csv"]


def test_it_is_public() -> None:
    assert pv.attacks.attack_versions is attack_versions

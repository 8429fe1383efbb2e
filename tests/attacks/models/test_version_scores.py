"""Scores of two versions, against slow definitions, and when somebody is claimed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from privet.attacks.models import version_scores as module
from privet.attacks.models.version_pairs import Pairs, Update, _chances
from privet.attacks.models.version_reach import WRONG, sureness
from privet.attacks.models.version_scores import (
    ATTACKS,
    NEIGHBORS,
    Known,
    chances,
    change_needed,
    left_out,
    scores_of,
    shared_chance,
    threshold,
    wrong_shares,
)
from privet.stats.roc import roc

PEOPLE = 120


def world(seed: int = 0, pairs: int = 12, shared: float = 0.5, leak: float = 1.5) -> tuple[Any, Any, Known, Any]:
    """Odds that differ from record to record; a later version shares some of the chance of the first one."""
    draw = np.random.default_rng(seed)
    joined = np.array([draw.permutation(np.arange(PEOPLE) < 30) for _ in range(pairs + 1)])
    left = np.array([draw.permutation(np.arange(PEOPLE) < 10) for _ in range(pairs + 1)]) & ~joined
    usual, chance = draw.normal(0, 2, PEOPLE), draw.normal(size=joined.shape)
    first = usual + chance + leak * left
    second = usual + shared * chance + 0.5 * draw.normal(size=joined.shape) + leak * joined
    known = Pairs(first=first[1:], second=second[1:], joined=joined[1:], left=left[1:])
    out = ~joined[0] & ~left[0]
    return first[0], second[0], Known(np.arange(PEOPLE) % 2, out, known), joined[0]


def test_a_rise_is_compared_with_people_next_to_one() -> None:
    first, second, known, _ = world()
    found = scores_of(ATTACKS["relative"], first, second, known)
    for person in range(PEOPLE):
        own = np.flatnonzero(known.usual & (known.labels == known.labels[person]) & (np.arange(PEOPLE) != person))
        order = own[np.argsort(first[own])]
        rises = (second - first)[order]
        expected = [
            ((second - first)[person] - part.mean()) / part.std()
            for start in range(len(order) - NEIGHBORS + 1)
            if (part := rises[start : start + NEIGHBORS]).size
        ]
        assert np.abs(np.array(expected) - found[person]).min() < 1e-9  # some people in a row
    middle = np.argsort(first)[PEOPLE // 2]
    below = known.usual & (known.labels == known.labels[middle]) & (first < first[middle])
    assert below.sum() > NEIGHBORS // 2


def test_people_of_a_rare_class_are_compared_with_all() -> None:
    first, second, known, _ = world()
    rare = Known(np.where(np.arange(PEOPLE) < 5, 2, known.labels), known.usual, known.pairs)
    assert np.isfinite(ATTACKS["relative"](first, second, rare)).all()
    nobody = Known(known.labels, np.zeros(PEOPLE, bool), known.pairs)
    assert np.isnan(ATTACKS["relative"](first, second, nobody)).all()
    assert set(scores_of(ATTACKS["relative"], first, second, nobody)) == {0.0}


def test_what_versions_share_is_the_slope_within_records() -> None:
    _, _, known, _ = world(pairs=200, shared=0.7)
    assert shared_chance(known.pairs) == pytest.approx(0.7, abs=0.05)
    assert shared_chance(known.pairs.later_alone) == 0
    x, y = [], []
    for record in range(PEOPLE):
        out = ~known.pairs.joined[:, record] & ~known.pairs.left[:, record]
        x.append(known.pairs.first[out, record] - known.pairs.first[out, record].mean())
        y.append(known.pairs.second[out, record] - known.pairs.second[out, record].mean())
    assert shared_chance(known.pairs) == pytest.approx(stats.linregress(np.concatenate(x), np.concatenate(y)).slope)


def test_versions_that_do_not_vary_share_nothing() -> None:
    """Training without chance: the first odds differ by rounding alone, and would be blown up."""
    _, _, known, _ = world()
    known.pairs.first[:] = 1 / 3 + 1e-16 * np.random.default_rng(0).integers(0, 2, known.pairs.first.shape)
    assert shared_chance(known.pairs) == 0


@pytest.mark.parametrize("shared", [0.0, 1.0])
def test_the_ratio_uses_the_first_version_as_far_as_it_helps(shared: float) -> None:
    """Where versions share nothing, it is the ratio of the later one alone; where they share all, that of the rise."""
    first, second, known, joined = world(5, 60, shared)
    auc = roc((found := scores_of(ATTACKS["LiRA"], first, second, known))[joined], found[~joined]).auc.value
    for other in (np.zeros(PEOPLE), first):
        pairs = Pairs(
            first=known.pairs.first * bool(other.any()), second=known.pairs.second, joined=known.pairs.joined,
            left=known.pairs.left,
        )  # fmt: skip
        alone = scores_of(ATTACKS["LiRA"], other, second, Known(known.labels, known.usual, pairs))
        assert auc > roc(alone[joined], alone[~joined]).auc.value - 0.03
    assert auc > 0.8


@pytest.mark.parametrize("name", ATTACKS)
def test_every_attack_tells_who_joined(name: str) -> None:
    first, second, known, joined = world(3, 30, leak=3)
    scores = scores_of(ATTACKS[name], first, second, known)
    out = ~joined
    assert roc(scores[joined], scores[out]).auc.low > 0.6


@pytest.mark.parametrize("name", ATTACKS)
def test_who_is_silent_comes_last(name: str) -> None:
    first, second, known, _ = world(4)
    second[2] = np.nan
    known.pairs.second[3, 5], known.pairs.first[:, 7] = np.nan, np.nan
    scores = scores_of(ATTACKS[name], first, second, known)
    assert np.isfinite(scores).all()
    assert scores.argmin() == 2
    assert all(np.isfinite(row).all() for row in left_out(ATTACKS[name], known))


def test_a_pair_is_attacked_by_others_only() -> None:
    _, _, known, _ = world(pairs=16)
    before = list(left_out(ATTACKS["LiRA"], known))
    known.pairs.second[8] += np.random.default_rng(1).normal(0, 5, PEOPLE)  # in the fold of pair 0
    after = list(left_out(ATTACKS["LiRA"], known))
    assert np.array_equal(before[0], after[0])
    assert not np.allclose(before[1], after[1])


def test_the_smaller_change_is_that_of_the_attack_that_knows_classes() -> None:
    """Of one class all odds rise by much, and of the other one by little."""
    draw = np.random.default_rng(0)
    labels, first = np.arange(PEOPLE) % 2, draw.normal(size=PEOPLE)
    second = first + 5 * labels + 0.1 * draw.normal(size=PEOPLE)
    known = Known(labels, np.ones(PEOPLE, bool), world()[2].pairs)
    plain, fine = (change_needed(name, first, second, known, 0.01) for name in ("difference", "relative"))
    assert fine < plain - 2


def test_a_threshold_is_passed_as_rarely_as_it_says() -> None:
    """Of one more person like the others, over 4,000 draws: 1 % pass at most. More than 100 of 10,000 times 2 have a
    chance below 1e-6, and fewer than half as many, too."""
    draw, passed = np.random.default_rng(0), 0
    for _ in range(4000):
        scores = draw.normal(size=300).round(1)  # with ties
        passed += int(scores[-1] > threshold(scores[:-1], 0.01))
    assert stats.binom.sf(75, 4000, 0.01) < 1e-6
    assert passed <= 75
    assert threshold(np.arange(98.0), 0.01) == np.inf
    assert threshold(np.arange(99.0), 0.01) == 98


def test_a_chance_is_a_rank_and_agrees_with_the_threshold() -> None:
    usual = np.array([1.0, 2.0, 2.0, 5.0])
    assert chances(np.array([0.0, 2.0, 3.0, 6.0]), usual) == pytest.approx(np.array([5, 4, 2, 1]) / 5)
    draw = np.random.default_rng(1)
    many, scores = draw.normal(size=450), draw.normal(1, 2, size=200)
    assert np.array_equal(scores > threshold(many, 0.01), chances(scores, many) <= 0.01)


def test_wrong_shares_are_those_of_benjamini_and_hochberg() -> None:
    chance = np.random.default_rng(0).random(50) ** 3
    assert wrong_shares(chance) == pytest.approx(stats.false_discovery_control(chance))


def test_claims_are_seldom_wrong() -> None:
    """Of the claims of 300 updates, each of which adds half of 40 candidates, WRONG are wrong at most, on average."""
    draw, claimed, wrong, shares = np.random.default_rng(0), 0, 0, []
    for _ in range(300):
        usual, scores = draw.normal(size=400), draw.normal(size=40)
        scores[:20] += 3.5
        sure = sureness(chances(scores, usual)) > 0
        claimed, wrong = claimed + int(sure.sum()), wrong + int(sure[20:].sum())
        shares.append(sure[20:].sum() / max(sure.sum(), 1))
    assert claimed > 1000
    assert wrong > 0
    assert float(np.mean(shares)) <= WRONG + 5 * float(np.std(shares)) / np.sqrt(300)


def test_without_the_correction_claims_would_be_wrong_more_often(monkeypatch: pytest.MonkeyPatch) -> None:
    def any_claims() -> int:
        draw = np.random.default_rng(0)
        return sum(bool((sureness(chances(draw.normal(size=40), draw.normal(size=400))) > 0).any()) for _ in range(300))

    assert any_claims() <= 40  # 5 % of 300, and 41 have a chance below 1e-6
    assert stats.binom.sf(40, 300, WRONG) < 1e-6
    monkeypatch.setattr("privet.attacks.models.version_reach.wrong_shares", lambda chance: 0 * chance)
    assert any_claims() > 60


def test_everybody_has_a_turn_in_pairs() -> None:
    people = np.arange(50)
    update = Update(
        records=None, base=0, candidates=12, usual=people > 30, added=people < 7, removed=(people >= 7) & (people < 12),
        known=True,
    )  # type: ignore[arg-type]  # fmt: skip
    joined, left = _chances(update, 8, np.random.default_rng(0))
    assert (joined.sum(axis=1) == 7).all()
    assert (left.sum(axis=1) == 5).all()
    assert not (joined & left).any()
    turns = (joined | left)[:4].sum(axis=0)
    assert turns.max() == 1
    assert turns.sum() == 48
    assert module.OF_PAIRS == ("LiRA", "LiRA offline")

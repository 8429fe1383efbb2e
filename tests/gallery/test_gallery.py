"""The gallery: broken entries are really broken on their domains, twins are really private, and the auditor agrees.

Three kinds of proof, for each entry one or more. Listed: the exact law on neighbors, every noise listed. Additive:
without noise, how far neighbors are apart in units of the noise that was asked for. Seen: an event, written here by
hand: it comes up in at least 1 of 50 draws on one data set, so that fewer than 1 of 100 has no chance, and never on
the other.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import islice
from typing import Any

import numpy as np
import pytest
from support.listed_noise import ListedNoise, least_parameter
from support.places import ROOT
from support.refusals import expect_code, raises_code, refused

from privet import cli, gallery
from privet.cli.audit import gallery as audit_gallery
from privet.core.laws import DiscreteGaussian
from privet.errors import InvalidInputError
from privet.estimates.calibration import gaussian_delta
from privet.gallery import (
    GalleryEntry,
    draws,
    float_noise,
    key_choices,
    learning,
    maxima,
    run,
    sessions,
    sparse,
    tables,
)
from privet.gallery.entry import Pick
from privet.report.terminal import Pen

SEED = 8
ENTRIES = {entry.name: entry for entry in gallery.entries(SEED)}
BROKEN = [name for name, entry in ENTRIES.items() if not entry.correct]
TINY = 1e-9


def pairs(entry: GalleryEntry, number: int) -> Iterator[tuple[Any, Any]]:
    return islice(entry.domain.pairs(np.random.default_rng(SEED)), number)


# --- listed: the exact law ---


class Loud(Pick):
    """A large epsilon has narrow noise, so that a few columns of it can be listed. Proofs are the same at any."""

    def epsilon(self, low: float = 0, high: float = 0) -> Fraction:
        return Fraction(8)

    def whole(self, low: int, high: int) -> int:
        return low


LOUD = {
    entry.name: entry
    for make in (
        *sparse.ITEMS,
        *maxima.ITEMS,
        tables.prefix_sums,
        sessions.cached_noise,
        sessions.refund,
        learning.untold_search,
    )
    for entry in make(Loud(np.random.default_rng(SEED)))
}

Neighbors = tuple[Any, Any]
ONE: list[Neighbors] = [(0, 1), (3, 2), (7, 8), (4, 3)]
SCORES: list[Neighbors] = [([0, 0, 0], [1, 1, 1]), ([0, 0, 0], [1, -1, -1]), ([2, 0, 1], [1, 1, 2])]
BITS: list[Neighbors] = [([0], []), ([1, 1], [1]), ([0, 0, 1], [0, 1]), ([0, 1, 1, 1, 0, 1], [1, 1, 1, 0, 1])]
KINDS: list[Neighbors] = [([0], []), ([1, 2], [2]), ([0, 0, 1], [0, 1]), ([2, 2], [2])]
OTHERS: list[Neighbors] = [([0], [1]), ([2], [0])]
MANY: list[Neighbors] = [*OTHERS, ([0, 0, 0], [1, 0, 0]), ([0, 1, 1], [1, 1, 1])]
VALUES: list[Neighbors] = [([4], []), ([0, 4], [0]), ([1, 3], [3])]
LISTED: dict[str, list[Neighbors]] = {
    "svt-3-value-with-the-same-noise": [([1, 1], [0, 2]), ([0, 0, 0], [1, 1, 1])],
    "svt-4-noise-without-the-count": SCORES,
    "svt-5-answers-without-noise": SCORES,
    "svt-6-never-closes": SCORES,
    "svt-threshold-noise-again": [([1, 1], [0, 2]), ([0, 0, 0], [1, 1, 1])],
    "noisy-max-shows-value-laplace": [([0, 0, 0], [1, 1, 1])],
    "noisy-max-shows-value-exponential": SCORES,
    "noisy-max-one-noise-for-all": SCORES,
    "exponential-mechanism-off-by-two": SCORES,
    "exponential-mechanism-weighted-score": MANY,
    "median-candidates-from-data": VALUES,
    "laplace-half-scale": ONE,
    "one-sided-noise": ONE,
    "rounded-noise": ONE,
    "data-dependent-last-bit": ONE,
    "data-dependent-precision": ONE,
    "classic-gaussian-at-epsilon-10": ONE,
    "prefix-sums-wrong-neighbors": KINDS,
    "bounds-from-data": VALUES,
    "local-sensitivity-noise": VALUES,
    "propose-without-test": [(["Aar"], []), (["Aar", "Bex"], ["Bex"]), (["Aar"] * 9, ["Aar"] * 8)],
    "key-threshold-too-low": [(["Aar"], []), (["Aar", "Bex"], ["Bex"]), (["Aar"] * 9, ["Aar"] * 8)],
    "noise-cached-by-query-text": KINDS,
    "budget-depends-on-data": KINDS,
    "untold-hyper-parameter-search": SCORES,
    "one-hot-bits-at-full-epsilon": OTHERS,
    "asked-again-at-full-epsilon": [([0], [1])],
}  # fmt: skip
LISTED_TWINS: dict[str, list[Neighbors]] = LISTED | {
    "redrawn-until-not-negative": ONE,
    "discrete-laplace-by-int": ONE,
    "uniform-noise": ONE,
    "mean-with-private-n": [([2], []), ([0, 2], [0]), ([1, 2], [2])],
    "abort-depends-on-data": BITS,
    "randomized-response-wrong-probability": OTHERS,
    "fixed-seed": BITS,
    "float-laplace": [(0.0, 1.0), (0.3, -0.7), (1.999, 1.0)],
    "reordered-float-sum": [([64.0, 0.25], [0.25]), ([64.0, 64.0, 0.25], [0.25, 64.0])],
}


@pytest.mark.parametrize("name", LISTED)
def test_the_law_of_a_broken_entry_contradicts_its_claim(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = (ENTRIES | LOUD)[name]
    assert worst(entry, LISTED[name], monkeypatch) > 1.05 * entry.claim.value


@pytest.mark.parametrize("name", LISTED_TWINS)
def test_the_law_of_a_twin_keeps_its_claim(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    twin = (ENTRIES | LOUD)[f"{name}-fixed"]
    assert 0 < worst(twin, LISTED_TWINS[name], monkeypatch) <= float(twin.claim.value) + TINY


def worst(entry: GalleryEntry, neighbors: list[Neighbors], monkeypatch: pytest.MonkeyPatch) -> float:
    noise = ListedNoise(monkeypatch, [draws, *gallery.FAMILIES])
    laws = [[noise.law(entry.mechanism, data) for data in both] for both in neighbors]
    return max(least_parameter(entry.claim, p, q) for p, q in laws)


# --- additive: the distance without noise, in units of the noise ---

ADDITIVE = [
    "laplace-half-scale", "laplace-euclidean-change", "gaussian-largest-change", "histogram-scale-epsilon",
    "histogram-two-cells-change", "every-answer-at-full-epsilon", "every-column-at-full-epsilon",
    "clamped-noise-raw-data", "replace-sensitivity-under-add-remove", "tree-noise-for-one-level",
    "person-with-unbounded-rows", "row-limit-off-by-one", "person-in-many-groups", "join-fan-out",
    "reordered-float-sum", "sgd-clips-the-batch", "sgd-noise-divided-by-the-lot", "sgd-clips-each-coordinate",
]  # fmt: skip
ADDITIVE_TWINS = [
    *ADDITIVE, "laplace-decimal-logarithm", "bounds-from-data", "nan-survives-the-clamp", "local-sensitivity-noise",
    "domain-from-data", "fixed-seed", "noise-cached-by-query-text", "one-sided-noise", "uniform-noise",
]  # fmt: skip


class NoNoise:
    """Records what was asked for, and adds nothing."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.prices: list[Callable[[float], float]] = []
        for module in (draws, *gallery.FAMILIES):
            for name in ("discrete_laplace", "discrete_gaussian"):
                if hasattr(module, name):
                    monkeypatch.setattr(module, name, getattr(self, name))

    def discrete_laplace(self, scale: Fraction, count: int) -> Any:
        self.prices += [lambda change: abs(change) / float(scale)] * count
        return np.zeros(count, np.int64)

    def discrete_gaussian(self, sigma: Fraction, count: int) -> Any:
        self.prices += [lambda change: change**2 / (2 * float(sigma) ** 2)] * count
        return np.zeros(count, np.int64)

    def price(self, entry: GalleryEntry, both: Neighbors) -> float:
        """The sum over all numbers of what their change costs with this noise: epsilon, or rho."""
        exact = []
        for data in both:
            self.prices = []
            exact.append(np.ravel(entry.mechanism(data, 1)))
        return sum(price(change) for price, change in zip(self.prices, exact[0] - exact[1], strict=True))


@pytest.mark.parametrize("name", ADDITIVE)
def test_neighbors_are_too_far_apart_for_the_noise_of_a_broken_entry(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry, noise = ENTRIES[name], NoNoise(monkeypatch)
    assert max(noise.price(entry, both) for both in pairs(entry, 400)) > 1.2 * entry.claim.value


@pytest.mark.parametrize("name", ADDITIVE_TWINS)
def test_neighbors_are_close_enough_for_the_noise_of_a_twin(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    twin, noise = ENTRIES[ENTRIES[name].twin], NoNoise(monkeypatch)
    most = max(noise.price(twin, both) for both in pairs(twin, 400))
    assert 0.5 * twin.claim.value < most <= float(twin.claim.value) + TINY


# --- seen: events by hand ---

DRAWS = 20_000
Event = Callable[[Any], Any]


def finer(step: float) -> Event:
    return lambda outputs: np.asarray(outputs, np.float64) % step != 0


SEEN: dict[str, tuple[Any, Any, Event]] = {  # comes up on the first data set, and never on the second
    "uniform-noise": (0, 1, lambda x: x < 1 - reach(ENTRIES["uniform-noise"])),
    "float-laplace": (0.0, 1.0, finer(2.0**-53)),
    "float-gaussian-ziggurat": (0.0, 1.0, finer(2.0**-53)),
    "float-gaussian-box-muller": (0.0, 1.0, finer(2.0**-53)),
    "float-gaussian-polar": (0.0, 1.0, finer(2.0**-24)),
    "domain-from-data": (["Aar", "Bex"], ["Aar"], lambda x: np.full(len(x), x.shape[1] == 2)),
    "group-by-without-threshold": (["Aar", "Bex"], ["Aar"], lambda x: np.array(["Bex" in one for one in x])),
    "nan-survives-the-clamp": ([0.0, math.nan], [0.0], np.isnan),
}


def reach(entry: GalleryEntry) -> int:
    """How far uniform noise goes, from 20,000 draws of a few values."""
    return int(np.max(entry.mechanism(0, DRAWS)))


def drawn(entry: GalleryEntry, data: Any) -> Any:
    if entry.mechanism.__code__.co_argcount == 2:
        return entry.mechanism(data, DRAWS)
    return [entry.mechanism(data) for _ in range(DRAWS // 10)]


@pytest.mark.parametrize("name", SEEN)
def test_an_event_tells_two_neighbors_apart(name: str) -> None:
    first, second, event = SEEN[name]
    assert np.mean(event(drawn(ENTRIES[name], first))) > 0.01
    assert not np.any(event(drawn(ENTRIES[name], second)))


def test_the_noise_of_a_fixed_seed_is_always_the_same() -> None:
    broken = ENTRIES["fixed-seed"].mechanism
    assert len({broken([0]) for _ in range(20)}) == 1
    assert broken([0]) != broken([])


def test_an_abort_shows_the_number_of_rows() -> None:
    broken = ENTRIES["abort-depends-on-data"].mechanism
    outcomes = []
    for rows in range(8):
        try:
            outcomes.append(len(broken([1] * rows, 3)) == 3)
        except ValueError:
            outcomes.append(False)
    least = outcomes.index(True)
    assert outcomes == [False] * least + [True] * (8 - least)
    assert 2 <= least <= 5


def largest(entry: GalleryEntry) -> int:
    return max(max(data, default=0) for both in pairs(entry, 50) for data in both)


TOP = largest(ENTRIES["mean-with-private-n"])
FAR = TOP * (1 + 0.7 / float(ENTRIES["mean-with-private-n"].claim.value))
LIKELIER: dict[str, tuple[Any, Any, Event]] = {  # too much more often on the first than on the second
    "laplace-decimal-logarithm": (0, 1, lambda x: x <= 0),
    "discrete-laplace-by-int": (0, 1, lambda x: x == 0),
    "redrawn-until-not-negative": (0, 1, lambda x: x == 0),
    "variance-for-deviation": (0, 1, lambda x: x <= 0),
    "mean-with-private-n": ([TOP], [TOP, 0], lambda x: x > FAR),
    "amplified-without-sampling": ([], [0], lambda x: x <= 0),
    "randomized-response-wrong-probability": ([0], [1], lambda x: x[:, 0] == 0),
}


@pytest.mark.parametrize("name", LIKELIER)
def test_an_event_is_too_likely_on_one_of_two_neighbors(name: str) -> None:
    """Each share less or more six standard deviations: wrong with a chance of 2e-9."""
    entry, (first, second, event), n = ENTRIES[name], LIKELIER[name], 20 * DRAWS
    p, q = (float(np.mean(event(entry.mechanism(data, n)))) for data in (first, second))
    p, q = p - 6 * math.sqrt(p / n), q + 6 * math.sqrt(q / n)
    assert entry.claim.least(p, q) > entry.claim.value


# --- twins that neither list nor add up ---


@pytest.mark.parametrize("name", ["ziggurat", "box-muller", "polar"])
def test_a_gaussian_twin_has_its_delta(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    twin = ENTRIES[f"float-gaussian-{name}-fixed"]
    asked: list[Fraction] = []

    def none(sigma: Fraction, size: int) -> Any:
        asked.append(sigma)
        return np.zeros(size, np.int64)

    monkeypatch.setattr(float_noise, "discrete_gaussian", none)
    apart = max(abs(twin.mechanism(a, 1)[0] - twin.mechanism(b, 1)[0]) for a, b in pairs(twin, 400))
    assert 1 <= apart <= float_noise.MOVES / float_noise.STEPS
    law = DiscreteGaussian(asked[0] ** 2)
    assert len(set(asked)) == 1
    assert gaussian_delta(law, float_noise.MOVES, Fraction(twin.claim.value)) <= twin.claim.delta


def test_a_lone_key_is_shown_with_probability_delta_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    twin = ENTRIES["group-by-without-threshold-fixed"]
    for x in range(60):
        monkeypatch.setattr(key_choices, "discrete_laplace", lambda _scale, size, x=x: np.full(size, x))
        if twin.mechanism(["Aar"]):
            break
    ratio = math.exp(-float(twin.claim.value))
    tail = ratio**x / (1 + ratio)  # P[noise >= x]
    assert ratio * float(twin.claim.delta) < tail <= twin.claim.delta


def test_sampled_rows_cost_what_is_claimed() -> None:
    """One row against none: the law of (a biased coin + noise), by hand. The share of rows taken is in the claim."""
    twin = ENTRIES["amplified-without-sampling-fixed"]
    shares = [1 / one_in for one_in in (2, 4, 8)]
    found = [share for share in shares if 1 <= math.log1p(math.expm1(twin.claim.value) / share) <= 2.001]
    for share in found:
        epsilon = math.log1p(math.expm1(twin.claim.value) / share)
        law = {x: math.exp(-abs(x) * epsilon) * math.tanh(epsilon / 2) for x in range(-40, 41)}
        with_row = {x: (1 - share) * law[x] + share * law[x - 1] for x in range(-39, 41)}
        assert max(abs(math.log(with_row[x] / law[x])) for x in with_row) <= float(twin.claim.value) + TINY
    assert found
    seen = drawn(twin, [0] * 8)
    assert any(abs(np.mean(seen) - 8 * share) < 0.1 for share in found)  # 20,000 draws: 0.1 is ten deviations


def test_rounded_normal_noise_has_the_deviation_that_mu_asks_for() -> None:
    """20 % off would be 28 standard deviations away."""
    twin = ENTRIES["variance-for-deviation-fixed"]
    spread = np.std(twin.mechanism(0, DRAWS))
    assert 0.95 < spread * float(twin.claim.value) < 1.1  # rounding adds a twelfth to the variance


# --- the whole ---


def test_every_entry_is_proved_one_way_or_another() -> None:
    by_hand = ["fixed-seed", "abort-depends-on-data"]
    assert {*LISTED, *ADDITIVE, *SEEN, *LIKELIER, *by_hand} == set(BROKEN)
    others = [f"float-gaussian-{name}" for name in ("ziggurat", "box-muller", "polar")]
    others += ["group-by-without-threshold", "amplified-without-sampling", "variance-for-deviation"]
    assert {*LISTED_TWINS, *ADDITIVE_TWINS, *others} == set(BROKEN)


def test_the_list_of_the_gallery() -> None:
    assert len(BROKEN) >= 36
    for name in BROKEN:
        broken, twin = ENTRIES[name], ENTRIES[ENTRIES[name].twin]
        assert (twin.correct, twin.twin, twin.name) == (True, name, f"{name}-fixed")
        assert broken.claim == twin.claim
        assert broken.domain == twin.domain
        assert broken.says.endswith(".")
        assert twin.says.endswith(".")
        assert "|" not in broken.says + twin.says
    assert (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8") == gallery.page()


def test_a_seed_picks_the_parameters() -> None:
    again, other = gallery.entries(SEED), gallery.entries(SEED + 1)
    assert [entry.claim for entry in again] == [entry.claim for entry in ENTRIES.values()]
    assert [entry.name for entry in other] == list(ENTRIES)
    assert sum(a.claim != b.claim for a, b in zip(again, other, strict=True)) > len(again) / 2


def test_a_number_lies_within_its_limits() -> None:
    pick = Pick(np.random.default_rng(0))
    assert {pick.whole(2, 3) for _ in range(50)} == {2, 3}
    assert all(Fraction(1, 2) <= pick.epsilon() <= Fraction(3, 2) for _ in range(200))


def test_exact_choices_have_the_law_of_the_exponential_mechanism() -> None:
    """Three indices, 90,000 draws: each share within seven standard deviations."""
    losses = [Fraction(0), Fraction(1), Fraction(1, 2)]
    shares = np.bincount(draws.choose(losses, 90_000), minlength=3) / 90_000
    heights = np.exp([-float(loss) for loss in losses])
    assert np.max(np.abs(shares - heights / heights.sum())) < 7 * 0.5 / 300


# --- the auditor on the gallery, and the command ---

SOME = ["svt-5", "noisy-max-one", "uniform-noise", "float-laplace", "histogram-two", "propose", "person-with",
        "fixed-seed", "sgd-noise", "randomized-response"]  # fmt: skip


@pytest.mark.proof
@pytest.mark.parametrize("name", SOME)
def test_the_auditor_catches_the_broken_one_and_spares_its_twin(name: str) -> None:
    """A correct one is flagged with a chance of 1e-6; a broken one is far beyond its claim. There is no clock."""
    broken, twin = run.run(SEED, only=name, seconds=None, samples=20_000, processes=1)
    assert broken.flagged
    assert broken.right
    assert broken.bound > broken.claimed
    assert not twin.flagged
    assert twin.right
    assert twin.name == f"{broken.name}-fixed"


def test_several_processes_give_the_rows_in_order() -> None:
    told: list[tuple[str, int, int]] = []
    rows = run.run(
        SEED, only="uniform-noise", seconds=None, samples=4000, processes=2, progress=lambda *news: told.append(news)
    )
    assert [row.name for row in rows] == ["uniform-noise", "uniform-noise-fixed"]
    assert [(done, of) for _, done, of in told] == [(1, 2), (2, 2)]
    assert {text for text, _, _ in told} == {"audited uniform-noise", "audited uniform-noise-fixed"}


def test_a_name_that_is_not_there() -> None:
    with raises_code(InvalidInputError, "unknown-choice: 'magic'") as refused:
        run.run(SEED, only="magic")
    assert "uniform-noise" in refused.value.remedy
    assert "-fixed" not in refused.value.remedy


def test_the_command_prints_a_table_and_json(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # 4,000 draws missed the broken one in fewer than one run of a hundred; ten times as many in one of 10**20
    audited = run.run(SEED, only="uniform-noise", seconds=None, samples=40_000, processes=1)
    asked: list[Any] = []

    def ready(seed: int, **how: Any) -> Any:
        asked.append((seed, how["seconds"], how["only"]))
        return audited

    monkeypatch.setattr(run, "run", ready)
    assert cli.main(["audit", "gallery", "--seed", "8", "--only", "uniform-noise", "--seconds", "2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[:2] == ["mechanism", "is"]
    assert lines[1].split()[:3] == ["uniform-noise", "broken", "violated"]
    assert lines[2].split()[:4] == ["uniform-noise-fixed", "correct", "nothing", "found"]
    assert lines[-1].startswith("1 of 1 broken mechanisms caught, 0 of 1 correct ones flagged")
    assert cli.main(["audit", "gallery", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["privet"], answer["kind"]) == (1, "gallery")
    assert answer["result"]["caught"] == 1
    first = answer["result"]["rows"][0]
    assert {"name", "correct", "flagged", "bound", "ceiling", "method", "seconds", "claim", "says"} <= set(first)
    assert (first["name"], first["correct"], first["flagged"]) == ("uniform-noise", False, True)
    assert asked == [(8, 2.0, "uniform-noise"), (0, run.SECONDS, "")]


def test_the_command_fails_if_one_is_missed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (row,) = run.run(SEED, only="uniform-noise-fixed", seconds=None, samples=4000, processes=1)
    monkeypatch.setattr(run, "run", lambda *_, **__: (replace(row, correct=False),))
    monkeypatch.setattr(audit_gallery, "pen", lambda: Pen(True))
    assert cli.main(["audit", "gallery"]) == 1
    assert "\x1b[1;31m0 of 1 broken mechanisms caught" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["audit"], "wrong-usage: WHAT"),
        (["audit", "gallery", "--seconds", "0"], "not-positive: seconds"),
        (["audit", "gallery", "--seed", "-1"], "negative: seed … -1"),
        (["audit", "magic"], "wrong-usage: audit magic"),
    ],
)
def test_bad_words(words: list[str], problem: str, capsys: pytest.CaptureFixture[str]) -> None:
    expect_code(problem, refused(words, capsys))

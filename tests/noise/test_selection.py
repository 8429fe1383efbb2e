"""Private choices: output probabilities by enumeration, ratios between all neighbors, and witnesses."""

from __future__ import annotations

import contextlib
import copy
import itertools
import math
import os
import pickle
import subprocess
import sys
import textwrap
from bisect import bisect_right
from collections.abc import Iterator
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from support.fit import FALSE_ALARM, p_value
from support.racing import race
from support.refusals import raises_code

from privet.core.laws import DiscreteLaplace
from privet.core.mechanisms import key_threshold
from privet.errors import InvalidInputError
from privet.noise import AboveThreshold, exponential, noisy_max, randomized_response, selection
from privet.noise.entropy import KEYSTREAM
from privet.noise.fast import sampler
from privet.noise.selection import choose, flips_exp, geometric, uniform
from privet.typing import Integers

EPSILON = Fraction(4, 5)
E = 0.8
ROUNDING = 1e-9  # sums of floats below, of a few hundred terms


class Scripted:
    """A source that hands out given words, then the keystream's."""

    epoch = 0

    def __init__(self, *words: int) -> None:
        self.words = list(words)

    def fill(self, out: np.ndarray) -> None:
        KEYSTREAM.fill(out)
        for i in range(min(len(out), len(self.words))):
            out[i] = self.words.pop(0)


def neighbors(scores: tuple[int, ...], monotone: bool) -> Iterator[tuple[int, ...]]:
    """All score vectors that a neighbor may have at sensitivity 1."""
    moves = [(0, 1), (-1, 0)] if monotone else [(-1, 0, 1)]
    for move in moves:
        for change in itertools.product(move, repeat=len(scores)):
            yield tuple(s + c for s, c in zip(scores, change, strict=True))


# ---- exponential mechanism


def exponential_law(scores: tuple[int, ...], monotone: bool) -> list[float]:
    weights = [math.exp(E * s / (1 if monotone else 2)) for s in scores]
    return [w / sum(weights) for w in weights]


@pytest.mark.parametrize("monotone", [False, True])
def test_exponential_ratios_between_all_neighbors(monotone: bool) -> None:
    worst = 0.0
    for scores in itertools.product(range(3), repeat=3):
        for other in neighbors(scores, monotone):
            pairs = zip(exponential_law(scores, monotone), exponential_law(other, monotone), strict=True)
            worst = max(worst, *(p / q for p, q in pairs))
    assert worst <= math.exp(E) * (1 + ROUNDING)
    # The witness: the first of n candidates loses a vote, and all others gain one unless scores are monotone.
    n = 10**5
    step = E if monotone else E / 2
    rivals = 1 if monotone else math.exp(step)
    ratio = math.exp(step) * (1 + (n - 1) * rivals) / (math.exp(step) + n - 1)
    assert math.exp(E) * 0.999 < ratio <= math.exp(E)


@pytest.mark.proof
@pytest.mark.parametrize("monotone", [False, True])
def test_exponential_has_its_law(monotone: bool) -> None:
    scores = (3, 0, Fraction(5, 2), -4, 3)
    draws = [exponential(scores, epsilon=EPSILON, sensitivity=1, monotone=monotone) for _ in range(20_000)]
    counts = np.bincount(draws, minlength=5)
    law, wrong = (np.array([float(p) for p in exponential_law(scores, m)]) for m in (monotone, not monotone))
    assert p_value(counts, law) > FALSE_ALARM
    assert p_value(counts, wrong) < FALSE_ALARM


@pytest.mark.parametrize("monotone", [False, True])
def test_exponential_takes_what_is_best_by_far(monotone: bool) -> None:
    """Anything else has a chance of exp(-400,000) at most."""
    scores = [0, 10**6, Fraction(1, 2)]
    assert exponential(scores, epsilon=EPSILON, sensitivity=1, monotone=monotone) == 1


GAMMAS = [
    [Fraction(0)],
    [Fraction(0), Fraction(0)],
    [Fraction(1, 3), Fraction(0), Fraction(7, 5)],
    [Fraction(600), Fraction(0), Fraction(10**9), Fraction(1, 10**9)],
    [Fraction(i, 7) for i in range(60)],
    [Fraction(3), Fraction(10**5), Fraction(0)],
]


@pytest.mark.counted
@pytest.mark.parametrize("gammas", GAMMAS, ids=len)
def test_choose_decides_right_at_every_border(gammas: list[Fraction]) -> None:
    """U just below, at and just above each border C[i] / C[last], within 2**-64, and at both ends."""
    with mp.workprec(500):
        weights = [mp.exp(-mp.mpf(g.numerator) / g.denominator) for g in gammas]
        borders = [mp.fsum(weights[: i + 1]) / mp.fsum(weights) for i in range(len(weights) - 1)]
        words = {0, 1, 2**64 - 1, 2**63}
        for border in borders:
            near = int(mp.floor(border * 2**64))
            words |= {near + d for d in (-(2**48), -2, -1, 0, 1, 2, 2**48)}
        for word in sorted(w for w in words if 0 <= w < 2**64):
            for more in (0, 2**63, 2**64 - 1):
                u = (mp.mpf(word) + mp.mpf(more) / 2**64 + mp.mpf(1) / 2**65) / 2**64
                expected = bisect_right(borders, u)  # how many are no larger
                assert choose(gammas, Scripted(word, more, 2**63)) == expected


# ---- report noisy max


def noisy_max_law(scores: tuple[int, ...], monotone: bool) -> list[float]:
    """P[i wins]: i has noise r, nobody is above it, and of k others who tie with it one is drawn by lot."""
    q = math.exp(-E / (1 if monotone else 2))

    def at_most(bound: int) -> float:
        return 1 - q ** (bound + 1) if bound >= 0 else 0.0

    law = []
    for i, s in enumerate(scores):
        wins = 0.0
        for r in range(140):
            ties = [(1 - q) * q**r]  # ties[k]: nobody above, k others level
            for t in scores[:i] + scores[i + 1 :]:
                below, level = at_most(s + r - t - 1), at_most(s + r - t) - at_most(s + r - t - 1)
                ties = [a * below + b * level for a, b in zip([*ties, 0], [0, *ties], strict=True)]
            wins += sum(p / (k + 1) for k, p in enumerate(ties))
        law.append(wins)
    return law


@pytest.mark.parametrize("monotone", [False, True])
def test_noisy_max_ratios_between_all_neighbors(monotone: bool) -> None:
    laws = {s: noisy_max_law(s, monotone) for s in itertools.product(range(-1, 4), repeat=3)}
    assert all(abs(sum(law) - 1) < ROUNDING for law in laws.values())
    worst = 0.0
    for scores in itertools.product(range(3), repeat=3):
        for other in neighbors(scores, monotone):
            worst = max(worst, *(p / q for p, q in zip(laws[scores], laws[other], strict=True)))
    assert worst <= math.exp(E) * (1 + ROUNDING)
    assert worst >= math.exp(E) * (1 - ROUNDING)  # attained, not only approached


@pytest.mark.proof
@pytest.mark.parametrize("monotone", [False, True])
def test_noisy_max_has_its_law(monotone: bool) -> None:
    scores = (1, 3, 2, 3)
    draws = [noisy_max(scores, epsilon=EPSILON, sensitivity=1, monotone=monotone) for _ in range(20_000)]
    counts = np.bincount(draws, minlength=4)
    law, wrong = (np.array([float(p) for p in noisy_max_law(scores, m)]) for m in (monotone, not monotone))
    assert p_value(counts, law / law.sum()) > FALSE_ALARM
    assert p_value(counts, wrong / wrong.sum()) < FALSE_ALARM


@pytest.mark.proof
@pytest.mark.parametrize(("choice", "law"), [(exponential, exponential_law), (noisy_max, noisy_max_law)])
def test_choices_scale_with_the_sensitivity(choice: object, law: object) -> None:
    """Thirty times the scores at thirty times the sensitivity: the laws by their own formulas."""
    scores = (1, 3, 2, 3)
    draws = [choice([30 * s for s in scores], epsilon=EPSILON, sensitivity=30) for _ in range(20_000)]
    counts = np.bincount(draws, minlength=4)
    if choice is exponential:
        expected = np.array(law(scores, False))
    else:
        q = math.exp(-E / 60)  # noise of scale 60 on scores that are 30 apart
        expected = geometric_race([30 * s for s in scores], q)
    assert p_value(counts, expected / expected.sum()) > FALSE_ALARM
    assert p_value(counts, np.full(4, 0.25)) < FALSE_ALARM


def geometric_race(scores: list[int], q: float) -> np.ndarray:
    """P[i has the largest score + geometric noise], ties by lot, summed over the value m of the maximum."""
    wins = np.zeros(len(scores))
    for m in range(max(scores), max(scores) + 4000):
        below = np.array([1 - q ** (m - s) for s in scores])  # P[stays below m]
        level = np.array([(1 - q) * q ** (m - s) for s in scores])  # P[lands on m]
        for i in range(len(scores)):
            ties = np.array([1.0])
            for j in range(len(scores)):
                if j != i:
                    ties = np.convolve(ties, [below[j], level[j]])
            wins[i] += level[i] * (ties / np.arange(1, len(ties) + 1)).sum()
    return wins


def test_noisy_max_errs_no_more_than_exponential() -> None:
    """Expected score, for all small score vectors: the permute-and-flip mechanism dominates."""
    for scores in itertools.product(range(4), repeat=3):
        ours, theirs = (
            sum(p * s for p, s in zip(law(scores, False), scores, strict=True))
            for law in (noisy_max_law, exponential_law)
        )
        assert ours >= theirs - ROUNDING


def test_noisy_max_takes_arrays_and_refuses_what_it_cannot_add() -> None:
    assert noisy_max(np.array([0, 10**9], np.int32), epsilon=1, sensitivity=1) == 1
    assert noisy_max([-(2**61) + 1, 2**61 - 1], epsilon=1, sensitivity=1) == 1
    for scores in (
        [2**61, 0],
        [0, -(2**61)],
        [2**63, 0],
        [2**70, 0],
        np.array([1.0, 2.0]),
        np.array([True, False]),
        np.array([[0, 5, 3]]),
    ):
        with raises_code(InvalidInputError, "out-of-range: scores"):
            noisy_max(scores, epsilon=1, sensitivity=1)
    for nothing in (
        lambda: noisy_max([], epsilon=1, sensitivity=1),
        lambda: exponential([], epsilon=1, sensitivity=1),
    ):
        with raises_code(InvalidInputError, "empty"):
            nothing()


def test_errors_never_quote_scores() -> None:
    secret = 123.456
    sparse = AboveThreshold(0, epsilon=1, sensitivity=1)
    for ask in (
        lambda: noisy_max([secret, 2], epsilon=1, sensitivity=1),
        lambda: exponential([secret, float("nan")], epsilon=1, sensitivity=1),
        lambda: exponential([1, "123.456x"], epsilon=1, sensitivity=1),
        lambda: sparse.is_above(secret),
    ):
        with raises_code(InvalidInputError, "not-a-number|not-whole") as caught:
            ask()
        assert "123" not in str(caught.value)
        assert caught.value.__suppress_context__


def test_geometric_is_one_sided() -> None:
    """x >= 0 stays, x < 0 becomes -1 - x: both halves of the Laplace law are the geometric law."""
    draws = geometric(DiscreteLaplace(Fraction(3)), 200_000)
    q = math.exp(-1 / 3)
    counts = np.bincount(np.minimum(draws, 60), minlength=61)
    law = np.append((1 - q) * q ** np.arange(60), q**60)
    assert p_value(counts, law) > FALSE_ALARM
    assert draws.min() == 0


# ---- sparse vector


def laplace_at_least(k: int, q: float) -> float:
    """P[X >= k] of the discrete Laplace."""
    return q**k / (1 + q) if k > 0 else 1 - q ** (1 - k) / (1 + q)


def transcript_law(values: tuple[int, ...], answers: str, positives: int, monotone: bool) -> float:
    """P[answers] for threshold 0, summed over the threshold's noise z."""
    half = E / 2
    q_threshold = math.exp(-half)
    q_value = math.exp(-half / (positives * (1 if monotone else 2)))
    total = 0.0
    for z in range(-90, 91):
        p = (1 - q_threshold) / (1 + q_threshold) * q_threshold ** abs(z)
        for value, answer in zip(values, answers, strict=True):
            above = laplace_at_least(z - value, q_value)
            p *= above if answer == "y" else 1 - above
        total += p
    return total


TRANSCRIPTS = {1: ["y", "ny", "nny", "nnn"], 2: ["yy", "nyy", "yny", "nnn", "ynn"]}


@pytest.mark.parametrize("monotone", [False, True])
@pytest.mark.parametrize("positives", [1, 2])
def test_sparse_vector_ratios_between_all_neighbors(monotone: bool, positives: int) -> None:
    worst = 0.0
    for answers in TRANSCRIPTS[positives]:
        for values in ((0,) * len(answers), (-1, 1, 0)[: len(answers)], (2, -2, 1)[: len(answers)]):
            p = transcript_law(values, answers, positives, monotone)
            for other in neighbors(values, monotone):
                worst = max(worst, p / transcript_law(other, answers, positives, monotone))
    assert 1.0 < worst <= math.exp(E) * (1 + ROUNDING)


def test_sparse_vector_attains_its_price() -> None:
    """The witness: hundreds of values that must stay below rule out a low threshold."""
    runs, height = 400, 12
    ours = (height,) * runs + (-20,)
    theirs = (height + 1,) * runs + (-21,)
    answers = "n" * runs + "y"
    ratio = transcript_law(ours, answers, 1, False) / transcript_law(theirs, answers, 1, False)
    assert abs(math.log(ratio) / E - 1) < ROUNDING


@pytest.mark.proof
@pytest.mark.parametrize("monotone", [False, True])
def test_sparse_vector_has_its_law(monotone: bool) -> None:
    values = (-2, 0, 1)
    answers = ["y", "ny", "nny", "nnn"]
    counts = dict.fromkeys(answers, 0)
    for _ in range(20_000):
        sparse = AboveThreshold(0, epsilon=EPSILON, sensitivity=1, monotone=monotone)
        said = ""
        while len(said) < 3 and "y" not in said:
            said += "y" if sparse.is_above(values[len(said)]) else "n"
        counts[said] += 1
    law, wrong = ([float(transcript_law(values[: len(a)], a, 1, m)) for a in answers] for m in (monotone, not monotone))
    observed = [counts[a] for a in answers]
    assert p_value(observed, law) > FALSE_ALARM
    assert p_value(observed, wrong) < FALSE_ALARM


def test_sparse_vector_closes() -> None:
    sparse = AboveThreshold(10, epsilon=50, sensitivity=1, positives=2)
    assert [sparse.is_above(v) for v in (10**6, -(10**6), 10**6)] == [True, False, True]
    assert sparse.positives_left == 0
    with raises_code(InvalidInputError, "closed"):
        sparse.is_above(1)
    assert sparse.positives_left == 0


def test_sparse_vector_answers_for_one_process_only(monkeypatch: pytest.MonkeyPatch) -> None:
    sparse = AboveThreshold(0, epsilon=1, sensitivity=1)
    for duplicate in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="two copies would answer for one price"):
            duplicate(sparse)
    monkeypatch.setattr(KEYSTREAM, "_pid", -1)  # as after a fork
    with raises_code(InvalidInputError, "other-process"):
        sparse.is_above(0)


class Forking:
    """A sampler after whose draw the process is another one: a signal handler may fork at any line."""

    def __init__(self, law: DiscreteLaplace) -> None:
        self._sampler = sampler(law)

    def draw(self, size: int) -> Integers:
        found = self._sampler.draw(size)
        KEYSTREAM._pid = -1
        return found


def test_a_sparse_vector_forked_off_while_it_opens_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(selection, "sampler", Forking)
        sparse = AboveThreshold(0, epsilon=1, sensitivity=1)
    with raises_code(InvalidInputError, "other-process"):
        sparse.is_above(0)


def test_a_sparse_vector_forked_off_in_the_middle_of_an_answer_gives_none(monkeypatch: pytest.MonkeyPatch) -> None:
    sparse = AboveThreshold(0, epsilon=50, sensitivity=1)
    monkeypatch.setattr(sparse, "_sampler", Forking(DiscreteLaplace(Fraction(1))))
    with raises_code(InvalidInputError, "other-process"):
        sparse.is_above(10**6)
    assert sparse.positives_left == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_forked_child_has_no_sparse_vector_even_if_a_thread_was_asking() -> None:
    """The child must refuse, and not wait for the lock of a thread that it lacks."""
    script = """
        import os, warnings
        import privet as pv
        from privet.errors import InvalidInputError
        warnings.simplefilter("ignore", DeprecationWarning)
        sparse = pv.noise.AboveThreshold(0, epsilon=1, sensitivity=1)
        sparse._lock.acquire()
        pid = os.fork()
        if pid == 0:
            try:
                sparse.is_above(0)
            except InvalidInputError:
                os._exit(7)
            os._exit(0)
        sparse._lock.release()
        sparse.is_above(0)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(script)], check=True, timeout=120)


def test_threads_share_the_positives() -> None:
    """Eight threads ask a sure question of many sparse vectors: each says yes exactly as often as it was paid for."""
    opened = [AboveThreshold(0, epsilon=50, sensitivity=1, positives=2) for _ in range(200)]
    yes = [0] * len(opened)

    def ask() -> None:
        for i, sparse in enumerate(opened):
            with contextlib.suppress(InvalidInputError):
                yes[i] += sparse.is_above(10**6)

    race(ask)
    assert max(yes) <= 2
    assert all(sparse.positives_left == 0 for sparse in opened)


# ---- keys


def test_rare_keys_are_shown_as_rarely_as_promised() -> None:
    """False-alarm rate 1e-9. Power: a threshold lower by 1 shows 64 % more; 60 % more is rejected but for 1e-14."""
    law, delta, keys = DiscreteLaplace(Fraction(2)), Fraction(1, 50), 4
    threshold = key_threshold(law, delta, keys)
    people = 40_000
    shown = 1 + sampler(law).draw(people * keys) >= threshold
    revealed = int(shown.reshape(people, keys).any(axis=1).sum())
    tail = math.exp(-(threshold - 1) / 2) / (1 + math.exp(-1 / 2))
    chance = 1 - (1 - tail) ** keys
    assert chance <= delta
    assert p_value([revealed, people - revealed], [chance, 1 - chance]) > FALSE_ALARM
    assert p_value([revealed, people - revealed], [1.6 * chance, 1 - 1.6 * chance]) < FALSE_ALARM


# ---- randomized response


@pytest.mark.parametrize("categories", [2, 3, 7])
def test_randomized_response_ratio_is_exactly_the_price(categories: int) -> None:
    truth = np.full(60_000, categories - 1)
    counts = np.bincount(randomized_response(truth, categories=categories, epsilon=EPSILON), minlength=categories)
    others = 1 / (math.exp(EPSILON) + categories - 1)
    law = [others] * (categories - 1) + [math.exp(EPSILON) * others]
    wrong_price = math.exp(1.2 * EPSILON)
    wrong = [1 / (wrong_price + categories - 1)] * (categories - 1) + [wrong_price / (wrong_price + categories - 1)]
    assert p_value(counts, law) > FALSE_ALARM
    assert p_value(counts, wrong) < FALSE_ALARM
    assert math.isclose(law[-1] / law[0], math.exp(EPSILON))  # the witness: two people who differ in this code


def test_randomized_response_keeps_shape_and_checks_codes() -> None:
    assert randomized_response(np.zeros((3, 4), np.int8), categories=2, epsilon=1).shape == (3, 4)
    assert randomized_response(np.zeros(0, np.int64), categories=2, epsilon=1).size == 0
    for codes in (np.array([0, 2]), np.array([-1, 0]), np.array([0.0]), np.array([True])):
        with raises_code(InvalidInputError, "out-of-range: from 0 … 1"):
            randomized_response(codes, categories=2, epsilon=1)
    assert 0 <= randomized_response(np.zeros(1, int), categories=2**62, epsilon=1)[0] < 2**62
    with raises_code(InvalidInputError, "too-many: 2**62"):
        randomized_response(np.zeros(1, int), categories=2**62 + 1, epsilon=1)


def test_flips_exp_decides_right_at_the_border() -> None:
    gamma = Fraction(5, 7)
    with mp.workprec(300):
        border = mp.exp(-mp.mpf(5) / 7)
        word = int(mp.floor(border * 2**64))
        rest = int(mp.floor((border * 2**64 - word) * 2**64))
    assert not flips_exp(gamma, 1, Scripted(word, rest + 1))[0]
    assert flips_exp(gamma, 1, Scripted(word, rest - 1))[0]
    assert flips_exp(gamma, 3, Scripted(0, word - 1, word + 1)).tolist() == [True, True, False]


def test_uniform_draws_again_what_is_too_large() -> None:
    """Three bits for seven values: 7 is drawn again."""
    assert uniform(7, 2, Scripted(7 << 61, 6 << 61, 5 << 61)).tolist() == [5, 6]
    assert uniform(1, 4).tolist() == [0, 0, 0, 0]
    for limit, bits in ((2, 1), (3, 2), (5, 3), (9, 4), (2**62, 62)):  # the largest value takes all of its bits
        assert uniform(limit, 1, Scripted(limit - 1 << 64 - bits, 0)).tolist() == [limit - 1]
    assert p_value(np.bincount(uniform(7, 70_000)), np.full(7, 1 / 7)) > FALSE_ALARM

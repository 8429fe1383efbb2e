"""Choices by rank: output probabilities by bisection against the definition, both ways of deciding, and witnesses."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, product

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from support.fit import EXPECTED_AT_LEAST, FALSE_ALARM, p_value
from support.plain_statistics import flip_law
from support.refusals import raises_code

from privet.core.laws import Choice
from privet.errors import InvalidInputError
from privet.noise import ranked
from privet.noise.entropy import KEYSTREAM, Bits
from privet.noise.ranked import RankLoss, choose_by_rank, flip_by_rank, stretches_of

PREFIX = 128  # bits of U that the bisections fix
FEW_BITS = 500


class Scripted:
    """A source that hands out given words, then the keystream's."""

    epoch = 0

    def __init__(self, *words: int) -> None:
        self.words = list(words)

    def fill(self, out: np.ndarray) -> None:
        KEYSTREAM.fill(out)
        for i in range(min(len(out), len(self.words))):
            out[i] = self.words.pop(0)


def prefixed(u: int) -> Scripted:
    """U = u / 2**128 to many digits."""
    return Scripted(*words_of(u))


def words_of(u: int) -> tuple[int, ...]:
    return u >> 64, u & 2**64 - 1, 0, 0, 0, 0


@dataclass(frozen=True)
class Case:
    """A small cell in plain Python."""

    rows: tuple[int, ...]
    low: int
    high: int
    unit: int
    target: int
    rate: Fraction

    @property
    def arrays(self) -> tuple[np.ndarray, np.ndarray]:
        values, counts = np.unique(np.array(self.rows, np.int64), return_counts=True)
        return values, counts.astype(np.int64)

    @property
    def loss(self) -> RankLoss:
        return RankLoss(low=self.low, high=self.high, unit=self.unit, target=self.target)

    def draw(self, source: Scripted) -> int:
        return choose_by_rank(*self.arrays, self.loss, Choice(self.rate), source)


def stretched(values: np.ndarray, counts: np.ndarray, loss: RankLoss) -> ranked.Stretches:
    """All stretches of rows without any that nobody has."""
    return stretches_of(values, np.concatenate([[0], np.cumsum(counts)]), loss)


def drawn_at(stretches: ranked.Stretches, rate: Fraction, *words: int) -> int:
    """The stretch that these words of U draw."""
    bits = Bits(Scripted(*words))
    return ranked.choose_stretch(stretches, rate, bits, bits.take(64))


# ---- rows that nobody has


@pytest.mark.parametrize("rows", [(), (2, 3), (0, 2, 3), (2, 9), (0, 0, 9)])
def test_rows_that_nobody_has_count_like_others(rows: tuple[int, ...]) -> None:
    """For every way to choose, with the same bits; what was given is left as it is."""
    for below, above in ((0, 0), (3, 0), (0, 2), (4, 1)):
        case = Case(rows, 0, 9, 2, len(rows) + 1, Fraction(1, 3))
        same = Case((*rows, *[0] * below, *[9] * above), 0, 9, 2, len(rows) + 1, Fraction(1, 3))
        loss = RankLoss(low=0, high=9, unit=2, target=len(rows) + 1, below=below, above=above)
        values, counts = case.arrays
        for u in range(0, 2**128, 2**128 // 50):
            drawn = choose_by_rank(values, counts, loss, Choice(case.rate), prefixed(u))
            assert drawn == same.draw(prefixed(u))
        flipped = [flip_by_rank(values, counts, loss, Choice(Fraction(60))) for _ in range(5)]
        best = {v for v, one in enumerate(losses(same)) if one == min(losses(same))}
        assert set(flipped) <= best
        assert all(map(np.array_equal, (values, counts), case.arrays))


def test_too_many_rows_that_nobody_has_are_refused() -> None:
    for below, above in ((-1, 0), (0, -1), (2**38 + 1, 0), (0, 2**38 + 1)):
        with raises_code(InvalidInputError, "out-of-range: below and above"):
            RankLoss(low=0, high=9, unit=2, target=1, below=below, above=above)
    with raises_code(InvalidInputError, "not-whole: below"):
        RankLoss(low=0, high=9, unit=2, target=1, below=1.5)  # type: ignore[arg-type]
    loss = RankLoss(low=0, high=9, unit=2, target=1, below=2**38)
    many = np.array([2**40 - 2**38 + 1])
    for choose in (choose_by_rank, flip_by_rank):
        with raises_code(InvalidInputError, "wrong-shape: "):
            choose(np.array([4]), many, loss, Choice(HALF))


@pytest.mark.parametrize("rows", [(), (2, 3), (0, 2, 3), (2, 9), (0, 0, 9), tuple(range(3, 47, 3))])
def test_only_what_weighs_nothing_is_left_out(rows: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """The stretches near the target are those of the whole, in one piece, and the others are further than the reach."""
    values, counts = Case(rows, 0, 50, 1, 0, HALF).arrays
    ranks = np.concatenate([[0], np.cumsum(counts)])
    cut = set()
    for reach, unit, below, above in product((0, 2, 9), (1, 3), (0, 7), (0, 7)):
        monkeypatch.setattr(ranked, "REACH", reach)
        for target in range(-3, unit * (len(rows) + 14) + 3):
            loss = RankLoss(low=0, high=50, unit=unit, target=target, below=below, above=above)
            whole, (near, left_out) = ranked._all_of(values, ranks, loss), ranked._near(values, ranks, loss, HALF)
            start = whole.best - near.best
            inside = slice(start, start + len(near.sizes))
            for name in ("starts", "sizes", "losses"):
                assert getattr(near, name).tolist() == getattr(whole, name)[inside].tolist()
            assert left_out == (start > 0)
            others = np.delete(whole.losses, np.arange(len(whole.losses))[inside])
            assert (others * HALF > reach).all()
            cut.add((left_out, len(near.sizes) + start < len(whole.sizes)))
    assert (len(cut) > 3) == (len(rows) > 3)  # left, right, both and neither were seen


def test_a_draw_below_what_floats_know_looks_at_all_stretches() -> None:
    """U = 0 draws the leftmost candidates, however little they weigh; 1 - 2**-350 the rightmost ones."""
    case = Case(tuple(range(100, 220)), 0, 1000, 2, 120, Fraction(2))
    assert case.draw(Scripted(*[0] * 60)) == 0
    assert case.draw(Scripted(*[2**64 - 1] * 5, 2**64 - 2**34, *[0] * 60)) == 220


# ---- the definition: one candidate after the other


def losses(case: Case) -> list[int]:
    """loss(v) for every v of low ... high."""
    table = []
    for v in range(case.low, case.high + 1):
        below, up_to = sum(x < v for x in case.rows), sum(x <= v for x in case.rows)
        table.append(max(case.unit * below - case.target, case.target - case.unit * up_to))
    return table


def reference_law(case: Case) -> list[mp.mpf]:
    """P[v] for every v of low ... high."""
    least = min(losses(case))
    weights = [mp.exp(-mp.mpf(case.rate.numerator) * (loss - least) / case.rate.denominator) for loss in losses(case)]
    return [w / mp.fsum(weights) for w in weights]


HALF = Fraction(1, 2)
CASES = {
    "empty": Case((), -2, 4, 2, 0, HALF),
    "empty, one candidate": Case((), 5, 5, 2, 0, HALF),
    "one value": Case((3,), 0, 8, 2, 1, HALF),
    "one value, the only candidate": Case((3,), 3, 3, 2, 1, HALF),
    "all the same": Case((4,) * 5, 1, 9, 2, 5, HALF),
    "all at the lower end": Case((0,) * 3, 0, 4, 1, 0, HALF),
    "all at the upper end": Case((4,) * 3, 0, 4, 1, 3, HALF),
    "both ends": Case((-3, 3), -3, 3, 2, 2, HALF),
    "every candidate": Case((0, 1, 2, 2, 3), 0, 3, 4, 15, Fraction(1, 3)),
    "median between two": Case((1, 3, 6, 9), 0, 10, 2, 4, Fraction(2, 7)),
    "median of ties": Case((1, 3, 3, 3, 9), -1, 10, 2, 5, Fraction(2, 7)),
    "minimum": Case((2, 2, 5, 7), 0, 9, 1, 0, HALF),
    "maximum": Case((2, 2, 5, 7), 0, 9, 1, 4, HALF),
    "target below": Case((2, 2, 5, 7), 0, 9, 3, -(10**30), HALF),
    "target above": Case((2, 2, 5, 7), 0, 9, 3, 10**30, HALF),
    "large rate": Case((2, 4, 5, 7), 0, 9, 10, 21, Fraction(10**30)),
    "rate just within reach": Case((2, 4, 5, 7), 0, 9, 10, 20, Fraction(64, 10)),
    "rate just out of reach": Case((2, 4, 5, 7), 0, 9, 10, 20, Fraction(129, 10)),
    "small rate": Case((2, 4, 5, 7), 0, 9, 10, 20, Fraction(1, 10**399)),
}


def smallest_prefix(reaches: Callable[[int], bool]) -> int:
    """The smallest u with reaches(u), which is false first and then true."""
    below, above = -1, 1 << PREFIX
    while above - below > 1:
        middle = (below + above) // 2
        below, above = (below, middle) if reaches(middle) else (middle, above)
    return above


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_probability_of_every_stretch_is_the_definitions(case: Case) -> None:
    """Bisection finds where the drawn stretch changes: at the definition's sums, in all 128 bits."""
    stretches = stretched(*case.arrays, case.loss)
    with mp.workprec(FEW_BITS):
        sums = [mp.mpf(0), *accumulate(reference_law(case))]
        for index, start in enumerate(stretches.starts.tolist()):
            border = int(mp.ceil(sums[start - case.low] * 2**PREFIX - mp.mpf(2) ** -250))  # 0 stays 0
            found = smallest_prefix(lambda u, i=index: drawn_at(stretches, case.rate, *words_of(u)) >= i)
            if stretches.sizes[index]:
                assert found == border


@pytest.mark.parametrize("size", [1, 2, 3, 7, 10**6 + 3, 2**62, 2**62 + 1, 2**63 - 1])
def test_every_place_of_a_stretch_is_as_likely(size: int) -> None:
    """Place k begins at U = k / size, in all 128 bits."""
    for k in {0, 1, size // 3, size // 2, size - 1}:
        found = smallest_prefix(lambda u, k=k: ranked._place(size, Bits(prefixed(u))) >= k)
        assert found == -(-(k << PREFIX) // size)
    assert ranked._place(size, Bits(Scripted(*[2**64 - 1] * 4, 0))) == size - 1


def test_a_place_at_a_border_takes_the_bits_it_needs() -> None:
    """128 bits of 1/3 leave open on which side of it U is; the next word says it."""
    third = (2**64 - 1) // 3
    assert ranked._place(3, Bits(Scripted(third, third, third - 1))) == 0
    assert ranked._place(3, Bits(Scripted(third, third, third + 1))) == 1
    assert ranked._place(3, Bits(Scripted(third, third, third, third + 1))) == 1


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_law_of_the_value_by_enumeration(case: Case) -> None:
    """2**6 values of U, 2**3 places for each: a stretch is off by at most two of those, a place by one of these."""
    found = np.zeros(case.high - case.low + 1)
    for u in range(2**6):
        for place in range(2**3):
            found[case.draw(Scripted((2 * u + 1) << 57, (2 * place + 1) << 60, 0)) - case.low] += 2.0**-9
    with mp.workprec(FEW_BITS):
        law = np.array([float(p) for p in reference_law(case)])
    sizes = stretched(*case.arrays, case.loss).sizes
    of_stretch = law * np.repeat(sizes, sizes)
    assert (np.abs(found - law) <= 2**-5 + 2**-3 * of_stretch).all()
    assert found[(law > 2**-5) & (np.repeat(sizes, sizes) <= 8)].all()
    assert not found[law < 2**-60].any()


# ---- stretches


@st.composite
def cases(draw: st.DrawFn) -> Case:
    low = draw(st.integers(-20, 5))
    high = draw(st.integers(low, low + 25))
    rows = tuple(draw(st.lists(st.integers(low, high), max_size=12)))
    unit = draw(st.integers(1, 7))
    target = draw(st.integers(-3, unit * len(rows) + 3))
    rate = draw(st.fractions(Fraction(1, 1000), 40, max_denominator=1000))
    return Case(rows, low, high, unit, target, rate)


@given(cases())
def test_stretches_are_the_definition(case: Case) -> None:
    found = stretched(*case.arrays, case.loss)
    expected = np.array(losses(case)) - min(losses(case))
    assert np.repeat(found.losses, found.sizes).tolist() == expected.tolist()
    assert found.starts[0] == case.low
    assert (found.starts[:-1] + found.sizes[:-1]).tolist() == found.starts[1:].tolist()
    assert len(found.sizes) <= len(set(case.rows)) + 2
    assert found.sizes[found.best] >= 1
    assert found.losses[found.best] == 0
    steps = np.diff(found.losses)
    assert (steps[: found.best] <= 0).all()
    assert (steps[found.best :] >= 0).all()


def test_the_largest_ranks_and_ranges_fit() -> None:
    """2**40 rows, a unit of 2**22 and 2**63 - 1 candidates: everything as in whole numbers."""
    edge = 2**62 - 1
    values, counts = np.array([-edge, 5, edge]), np.array([2**38, 2**39, 2**38])
    for target in (0, 1, 2**60, 2**60 + 1, 2**61, 2**62 - 1, 2**62, 2**70, -1):
        loss = RankLoss(low=-edge, high=edge, unit=2**22, target=target)
        found = stretched(values, counts, loss)
        assert sum(found.sizes.tolist()) == 2**63 - 1
        places = [
            (v, above)
            for start, size, above in zip(
                *map(np.ndarray.tolist, (found.starts, found.sizes, found.losses)), strict=True
            )
            for v in ({start, start + size - 1} if size else ())
        ]
        table = dict(zip(values.tolist(), counts.tolist(), strict=True))
        losses = [
            max(
                2**22 * sum(n for x, n in table.items() if x < v) - target,
                target - 2**22 * sum(n for x, n in table.items() if x <= v),
            )
            for v, _ in places
        ]
        assert [above for _, above in places] == [one - min(losses) for one in losses]


# ---- floats and integers


def spread(seed: int, size: int, width: int) -> tuple[np.ndarray, np.ndarray]:
    """Generated values, some of them in clusters, with counts from 1 to 2**20."""
    random = np.random.default_rng(seed)
    far = random.integers(-width, width, size // 2)
    values = np.unique(np.concatenate([far, far[: size // 4] + 1, np.arange(size // 4) * 3]))
    return values, np.floor(2.0 ** random.uniform(0, 20, len(values))).astype(np.int64)


RATES = [
    Fraction(1, 10**12),
    Fraction(1, 10**9),
    Fraction(1, 10**7),
    Fraction(1, 10**4),
    Fraction(1, 3),
    Fraction(10**9),
]


@pytest.mark.parametrize("rate", RATES, ids=lambda r: f"{float(r):.0e}")
@pytest.mark.parametrize("width", [10**4, 2**61], ids=["narrow", "wide"])
def test_integers_decide_as_floats_do(rate: Fraction, width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same words once as ever, and once with all decisions too close for floats."""
    values, counts = spread(7, 600, width)
    n = int(counts.sum())
    words = np.random.default_rng(8).integers(0, 2**64, (12, 8), np.uint64).tolist()
    for share in (Fraction(0), Fraction(1, 100), HALF, Fraction(1)):
        loss = RankLoss(low=-width - 5, high=width + 5, unit=100, target=int(share * 100 * n))
        quick = [choose_by_rank(values, counts, loss, Choice(rate), Scripted(*row)) for row in words]
        with monkeypatch.context() as patch:
            patch.setattr(ranked, "FLOAT_ERROR", 2.0)
            patch.setattr(ranked, "_float_sums", lambda stretches, _: np.ones(len(stretches.sizes)))
            slow = [choose_by_rank(values, counts, loss, Choice(rate), Scripted(*row)) for row in words]
        assert quick == slow


def true_sums(stretches: ranked.Stretches, rate: Fraction) -> list[mp.mpf]:
    """C[i] / C[last] by the definition, with nothing left out."""
    weights = [
        size * mp.exp(-mp.mpf(rate.numerator) * loss / rate.denominator)
        for size, loss in zip(stretches.sizes.tolist(), stretches.losses.tolist(), strict=True)
    ]
    sums = list(accumulate(weights))
    return [s / sums[-1] for s in sums]


@pytest.mark.parametrize("rate", RATES, ids=lambda r: f"{float(r):.0e}")
@pytest.mark.parametrize("width", [10**6, 2**61], ids=["narrow", "wide"])
def test_float_sums_keep_their_error(rate: Fraction, width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Against 500 bits, over more than one piece. The claimed error has room for what U itself is off by."""
    monkeypatch.setattr(ranked, "CHUNK", 1 << 8)
    values, counts = spread(9, 3000, width)
    loss = RankLoss(low=-width - 5, high=width + 5, unit=3, target=2 * int(counts.sum()))
    stretches = stretched(values, counts, loss)
    sums = ranked._float_sums(stretches, rate)
    assert (np.diff(sums) >= 0).all()
    with mp.workprec(FEW_BITS):
        shares = true_sums(stretches, rate)
        worst = max(abs(mp.mpf(s) / mp.mpf(sums[-1]) - share) for s, share in zip(sums.tolist(), shares, strict=True))
    assert worst < 0.75 * ranked.FLOAT_ERROR


@pytest.mark.parametrize("rate", RATES, ids=lambda r: f"{float(r):.0e}")
def test_enclosures_hold_the_weights_and_are_tight(rate: Fraction) -> None:
    values, counts = spread(10, 400, 2**61)
    loss = RankLoss(low=-(2**61), high=2**61, unit=3, target=int(counts.sum()))
    stretches = stretched(values, counts, loss)
    bits, among = 64 + ranked.SPARE, (50, len(values) - 50)
    lows, highs = zip(*ranked._enclosures(stretches, rate, bits, among), strict=True)
    with mp.workprec(FEW_BITS):
        weights = [
            mp.mpf(2) ** bits * size * mp.exp(-mp.mpf(rate.numerator) * above / rate.denominator)
            for size, above in zip(stretches.sizes.tolist(), stretches.losses.tolist(), strict=True)
        ]
        first, last = among
        parts = [mp.fsum(weights[:first]), *weights[first : last + 1], mp.fsum(weights[last + 1 :])]
        assert len(parts) == len(lows)
        assert all(low <= part <= high for low, part, high in zip(lows, parts, highs, strict=True))
    assert sum(highs) - sum(lows) < sum(lows) >> 64 + 16


def test_a_draw_at_a_border_takes_the_bits_it_needs() -> None:
    """U agrees with a border for 64, 128 and 192 bits; the next bits put it to one side."""
    case = CASES["median of ties"]
    stretches = stretched(*case.arrays, case.loss)
    with mp.workprec(FEW_BITS):
        border = true_sums(stretches, case.rate)[1]
        for words in (1, 2, 3):
            u = int(mp.floor(border * mp.mpf(2) ** (64 * words)))
            script = [u >> 64 * i & 2**64 - 1 for i in range(words)][::-1]
            assert drawn_at(stretches, case.rate, *script, 0, 0, 0) == 1
            assert drawn_at(stretches, case.rate, *script, *[2**64 - 1] * 3) == 2


def test_integers_are_quick_for_many_values(monkeypatch: pytest.MonkeyPatch) -> None:
    """200,000 stretches: exp is enclosed once for each step that differs, not once for each stretch."""
    calls = []

    def counted(gamma: Fraction, bits: int) -> tuple[int, int]:
        calls.append(gamma)
        return original(gamma, bits)

    original = ranked.exp_enclosure
    monkeypatch.setattr(ranked, "exp_enclosure", counted)
    values = np.arange(200_000) * 5
    counts = 1 + np.arange(len(values)) % 3
    loss = RankLoss(low=-10, high=10**6 + 10, unit=2, target=int(counts.sum()))
    stretches = stretched(values, counts, loss)
    for rate in (Fraction(1, 10**6), Fraction(1, 4)):  # all of them near, nearly all of them far
        index = ranked._settle(3 << 62, 64, stretches, rate, (0, len(values) + 1))
        assert drawn_at(stretches, rate, 3 << 62) == index
    assert len(calls) <= 2 * 5  # 2, 4, 6, and the two first steps away from the target


# ---- the law in draws


def test_draws_have_the_law_and_no_other() -> None:
    """20,000 draws. False alarms 1e-9; a rate 20 % off is rejected with probability above 1 - 1e-9."""
    case = Case((3, 5, 5, 8, 9, 9, 9, 12, 14, 19), 0, 24, 4, 30, Fraction(1, 8))
    draws = 20_000
    values, counts = case.arrays
    drawn = [choose_by_rank(values, counts, case.loss, Choice(case.rate)) for _ in range(draws)]
    seen = np.bincount(np.array(drawn) - case.low, minlength=case.high - case.low + 1)

    def law(rate: Fraction) -> np.ndarray:
        other = Case(case.rows, case.low, case.high, case.unit, case.target, rate)
        return np.array([float(p) for p in reference_law(other)])

    true = law(case.rate)
    assert p_value(seen, true) > FALSE_ALARM
    for wrong in (law(case.rate * Fraction(6, 5)), law(case.rate * Fraction(4, 5))):
        assert (wrong * draws).min() >= EXPECTED_AT_LEAST  # so that no bins are merged, and the power is this:
        shift = draws * float(((true - wrong) ** 2 / wrong).sum())
        freedom = len(true) - 1
        assert stats.ncx2.cdf(stats.chi2.isf(FALSE_ALARM, freedom), freedom, shift) < 1e-9
        assert p_value(seen, wrong) < FALSE_ALARM


def test_a_wide_range_has_its_law() -> None:
    """One value among 2**63 - 1 candidates, at a rate where it is drawn about every other time: P by hand."""
    edge, rate = 2**62 - 1, Fraction(4367, 200)
    loss = RankLoss(low=-edge, high=edge, unit=2, target=1)
    weight = math.exp(-2 * float(rate))  # every other value is one row further off than 17, which is safe by one
    chance = 1 / (1 + 2 * edge * weight)
    draws = 4000
    drawn = [choose_by_rank(np.array([17]), np.array([1]), loss, Choice(rate)) for _ in range(draws)]
    seen = [sum(v < 17 for v in drawn), sum(v == 17 for v in drawn), sum(v > 17 for v in drawn)]
    sides = (1 - chance) / 2
    assert 0.4 < chance < 0.6
    assert p_value(seen, [sides, chance, 1 - sides - chance]) > FALSE_ALARM
    assert p_value(seen, [0.4, 0.2, 0.4]) < FALSE_ALARM
    outer = np.array([v for v in drawn if v != 17], np.float64) / edge  # uniform on both sides
    assert stats.kstest(outer, stats.uniform(-1, 2).cdf).pvalue > FALSE_ALARM


def test_witnesses() -> None:
    """Where only one result is possible, or nearly: e**-10**6 is never seen."""
    sure = Choice(Fraction(10**6))
    values, counts = np.array([10, 20, 30, 40]), np.array([1, 1, 1, 1])

    def drawn(unit: int, target: int) -> set[int]:
        loss = RankLoss(low=0, high=50, unit=unit, target=target)
        return {choose_by_rank(values, counts, loss, sure) for _ in range(2000)}

    assert drawn(2, 3) == {20}
    assert drawn(2, 4) == set(range(20, 31))  # any of them is a median
    assert drawn(1, 0) == set(range(11))
    assert drawn(1, 4) == set(range(40, 51))
    assert drawn(4, 1) == {10}  # the smallest value: a quarter of a row is below
    assert drawn(4, 15) == {40}
    nothing = np.array([], np.int64)
    alone = RankLoss(low=-7, high=-7, unit=1, target=0)
    assert choose_by_rank(nothing, nothing, alone, sure) == -7


# ---- refusals


def test_bad_cells_are_refused_without_a_word_about_them() -> None:
    loss = RankLoss(low=0, high=12345, unit=2, target=5678)
    assert "5678" not in repr(loss)
    one = np.array([1, 1])
    many = np.broadcast_to(np.int64(678), 2**30 + 1)
    refused = [
        (np.array([678, 678]), one),
        (np.array([678, 67]), one),
        (np.array([-678, 67]), one),
        (np.array([67, 12346]), one),
        (np.array([-(2**63), 2**63 - 1]), one),
        (np.array([67, 678]), np.array([0, 678])),
        (np.array([67, 678]), np.array([-678, 678])),
        (np.array([67, 678]), np.array([2**40, 678])),
        (np.array([67, 678]), np.array([2**62, 2**62])),
        (np.array([67, 678]), np.array([678])),
        (np.array([67.0, 678.0]), one),
        (np.array([67, 678]), one.astype(np.uint64)),
        (np.array([[67, 678]]), np.array([[1, 1]])),
        (many, many),
    ]
    for values, counts in refused:
        with raises_code(InvalidInputError, "wrong-shape: int64") as caught:
            choose_by_rank(values, counts, loss, Choice(HALF))
        assert "67" not in str(caught.value)


def test_bad_questions_are_refused() -> None:
    good = {"low": 0, "high": 9, "unit": 2, "target": 5678}
    for wrong, words in (
        ({"low": 10}, "out-of-range: lower"),
        ({"low": -(2**62)}, "out-of-range: 2**62"),
        ({"high": 2**62}, "out-of-range: 2**62"),
        ({"unit": 0}, "out-of-range: between 1 … 4194304"),
        ({"unit": 2**22 + 1}, "out-of-range: between 1 … 4194304"),
        ({"target": 5678.5}, "not-whole: numbers"),
        ({"high": HALF}, "not-whole: numbers"),
    ):
        with raises_code(InvalidInputError, words) as caught:
            RankLoss(**{**good, **wrong})
        assert "5678" not in str(caught.value)
    nothing = np.array([], np.int64)
    for rate in (Fraction(0), Fraction(-1)):
        with raises_code(InvalidInputError, "not-positive: above 0"):
            choose_by_rank(nothing, nothing, RankLoss(**good), Choice(rate))


def test_permute_and_flip_by_rank_has_its_law() -> None:
    """4,000 draws. False alarms 1e-9; the exponential mechanism's law is rejected."""
    case = Case((3, 5, 5, 5, 5, 5, 5, 7), 2, 8, 2, 8, Fraction(1, 4))
    values, counts = case.arrays
    draws = [flip_by_rank(values, counts, case.loss, Choice(case.rate, flip=True)) for _ in range(4_000)]
    taken = [math.exp(-float(case.rate) * (one - min(losses(case)))) for one in losses(case)]
    seen = np.bincount(np.array(draws) - case.low, minlength=case.high - case.low + 1)
    assert p_value(seen, flip_law(taken)) > FALSE_ALARM
    assert p_value(seen, [float(p) for p in reference_law(case)]) < FALSE_ALARM

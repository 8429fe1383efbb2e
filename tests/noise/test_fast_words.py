"""The block sampler, word by word: every decision on hostile words equals an independent oracle's.

The oracle (tests/support/oracle.py) knows mpmath and the two formulas of the laws; it never calls privet's exponential.
Nothing here is random from run to run, so a red test is a bug.
"""

from __future__ import annotations

import math
import random
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import pytest
from support.oracle import WORD, Script, boundary, ctx, exponent, f, real, verdict, words_of

from privet.core.exponential import exp_enclosure, is_below
from privet.core.laws import DiscreteGaussian, DiscreteLaplace, Law
from privet.errors import NoiseOverflowError
from privet.noise import fast
from privet.noise.entropy import Bits
from privet.noise.fast import SLACK, Blocks, exp_float, keep

F = Fraction
SCALES = [F(1, 10**9), F(1, 10), F(1, 3), F(7, 10), F(1), F(17, 10), F(633, 10), F(64), F(642, 10), F(10003, 10)]
SCALES += [10**6 + F(1, 7), F(2**40 * 101, 100), 2**49 + F(1, 3), 2**50 - F(1, 3)]
SIGMAS = [F(1, 4), F(1, 3), F(17, 10), F(633, 10), F(10003, 10), F(10**6), F(2**40), 2**50 - F(1, 3)]
LAWS: list[Law] = [DiscreteLaplace(s) for s in SCALES] + [DiscreteGaussian(s * s) for s in SIGMAS]
BLOCKS_EACH = 100  # blocks of a law that are tried word by word; both ends and the middle are always among them
counted: dict[Law, int] = {}


@lru_cache(maxsize=64)
def table(law: Law) -> Blocks:
    return Blocks(law)


def named(law: Law) -> str:
    size = law.scale if isinstance(law, DiscreteLaplace) else law.variance
    return f"{type(law).__name__}-{float(size):.4g}"


every_law = pytest.mark.parametrize("law", LAWS, ids=named)


class Case(NamedTuple):
    """One word, the word that follows if it is left open, the word that then repeats for ever, and the truth."""

    word: int
    more: int
    x: int
    kept: bool


def decide(blocks: Blocks, words: list[int], more: list[int], rest: list[int], last: int) -> tuple[list, list]:
    """Values and decisions of the fast path: `propose`, then `settle` for what is open, exactly as Sampler does."""
    array = np.array(words, np.uint64)
    x = np.empty(len(words), np.int64)
    kept = np.ones(len(words), bool)
    undecided = blocks.propose(array, x)
    values = x[undecided]
    source = Script(np.array(more, np.uint64)[undecided], rest, last)
    kept[undecided] = blocks.settle(array[undecided], values, source)
    x[undecided] = values
    return x.tolist(), kept.tolist()


def pack(blocks: Blocks, cell: int, prefix: int, place: int) -> int:
    """The word's three fields, as the module's docstring draws them."""
    return cell << 48 | prefix << blocks.shift | place


def chosen_blocks(blocks: Blocks, rng: random.Random) -> list[int]:
    """Both ends, the middle, and others at random."""
    whole = range(blocks.tail)
    must = {*whole[:12], *whole[-12:], *whole[blocks.half - 12 : blocks.half + 12]}
    others = [b for b in whole if b not in must]
    return sorted(must | set(rng.sample(others, min(len(others), BLOCKS_EACH - len(must)))))


def targets(blocks: Blocks, block: int, edge: int, rng: random.Random) -> list[int]:
    """U in units of 2**-(known + 64): at the true boundary, SLACK away, at the quick threshold, and at the ends."""
    known = 48 - blocks.shift
    unit = int(SLACK * 2**64) << known
    around = [edge + d for d in (-2, -1, 0, 1, 2)]
    around += [edge + side * unit + d for side in (-1, 1) for d in (-1 << known + 12, 0, 1 << known + 12)]
    quick = int(blocks.quick[block]) >> 16 + blocks.shift
    around += [(quick + d << 64) + low for d, low in ((-1, WORD), (-1, 0), (0, 0), (0, rng.getrandbits(64)), (1, 0))]
    around += [0, (1 << known + 64) - 1]
    return [u for u in around if 0 <= u < 1 << known + 64]


def cases(law: Law, blocks: Blocks, last: int, rng: random.Random) -> list[Case]:
    """Hostile words of one law, each with what the oracle says of it when all later words are `last`."""
    known, made = 48 - blocks.shift, []
    starts = np.searchsorted(blocks.cells, np.arange(blocks.dead + 2))
    for block in chosen_blocks(blocks, rng):
        first, final = int(starts[block]), int(starts[block + 1]) - 1
        factor = F(blocks.height) / (final - first + 1)
        for place in sorted({0, (1 << blocks.shift) - 1, rng.getrandbits(blocks.shift)}):
            x = (block - blocks.half << blocks.shift) + place
            deep = boundary(law, factor, x, known + 192)
            for u in targets(blocks, block, deep >> 128, rng):
                kept = verdict(u, last, deep, x)
                if kept is not None:
                    word = pack(blocks, rng.choice((first, final)), u >> 64, place)
                    made.append(Case(word, u & WORD, x, kept))
    return made


@every_law
def test_every_decision_equals_the_oracle(law: Law) -> None:
    rng, blocks = random.Random(20240229), table(law)
    counted[law] = 0
    for last in (0, WORD, 0x9E3779B97F4A7C15):
        made = cases(law, blocks, last, rng)
        x, kept = decide(blocks, [c.word for c in made], [c.more for c in made], [], last)
        wrong = [(c, *got) for c, *got in zip(made, x, kept, strict=True) if (c.x, c.kept) != tuple(got)]
        assert not wrong, wrong[:3]
        assert {True, False} == set(kept)
        counted[law] += len(made)


def test_the_hostile_words_are_a_hundred_thousand_or_more() -> None:
    for law in LAWS:
        if law not in counted:  # this test runs alone
            test_every_decision_equals_the_oracle(law)
    assert sum(counted.values()) >= 100_000


@every_law
def test_bits_after_the_second_word_decide_the_rest(law: Law) -> None:
    """V, `more` and the next word are the boundary's own, or one unit of the last beside it."""
    rng, blocks = random.Random(7), table(law)
    known = 48 - blocks.shift
    for block in rng.sample(range(blocks.tail), min(blocks.tail, 12)):
        cell = int(np.searchsorted(blocks.cells, block))
        place = rng.getrandbits(blocks.shift)
        x = (block - blocks.half << blocks.shift) + place
        deep = boundary(law, F(blocks.height) / int(blocks.weights[block]), x, known + 256)
        for step, last in ((-1, 0), (-1, WORD), (0, 0), (0, WORD), (1, 0), (1, WORD)):
            u = (deep >> 128) + step
            expected = verdict(u, last, deep, x)
            if u >= 0 and expected is not None:
                word = pack(blocks, cell, u >> 128, place)
                got = decide(blocks, [word], [u >> 64 & WORD], [u & WORD], last)
                assert got == ([x], [expected]), (x, step, last)


@every_law
def test_every_cell_proposes_its_block_and_dead_cells_never_keep(law: Law) -> None:
    blocks = table(law)
    cells = np.arange(1 << 16, dtype=np.uint64)
    block = blocks.cells.astype(np.int64)
    inside = block < blocks.tail
    for place in {0, (1 << blocks.shift) - 1}:
        x = np.empty(1 << 16, np.int64)
        undecided = blocks.propose(cells << np.uint64(48) | np.uint64(place), x)
        assert np.array_equal(x[inside], (block[inside] - blocks.half) * 2**blocks.shift + place)
        assert set(np.flatnonzero(~inside)) <= set(undecided.tolist())
    dead = [pack(blocks, int(c), 0, 0) for c in np.flatnonzero(block == blocks.dead)]
    assert dead
    assert not any(decide(blocks, dead, [0] * len(dead), [], 0)[1])


@every_law
def test_the_table_is_exact(law: Law) -> None:
    """Weights are the numbers of cells and at least height * f everywhere in the block; quick keeps no wrong word."""
    blocks = table(law)
    size, height = 1 << blocks.shift, real(F(blocks.height))
    assert int(blocks.weights.sum()) == len(blocks.cells) == 65536
    assert np.array_equal(np.bincount(blocks.cells, minlength=blocks.dead + 1), blocks.weights)
    assert np.all(np.diff(blocks.cells) >= 0)
    assert (blocks.tail, blocks.dead, blocks.edge) == (2 * blocks.half, 2 * blocks.half + 1, blocks.half * size)
    assert blocks.weights.min() >= 0
    assert np.all(blocks.weights[: blocks.dead] >= 1)
    assert int(blocks.quick[blocks.tail]) == int(blocks.quick[blocks.dead]) == 0
    for block in range(blocks.tail):
        left = (block - blocks.half) * size
        ends = f(law, left), f(law, left + size - 1)
        weight, quick = int(blocks.weights[block]), int(blocks.quick[block])
        assert weight >= height * max(ends)
        assert quick % (1 << 16 + blocks.shift) == 0
        assert quick * weight <= height * min(ends) * 2**64
    assert int(blocks.weights[blocks.tail]) >= height * 256 * f(law, blocks.edge)
    # a stride of the tail halves f at least: the tail's acceptance never exceeds 1, however far out
    stride = size << 6
    halving = exponent(law, blocks.edge + stride) - exponent(law, blocks.edge)
    assert real(halving) >= ctx.log(2)


# The tail ------------------------------------------------------------------------------------------------------


def tail_word(blocks: Blocks) -> int:
    return pack(blocks, int(np.searchsorted(blocks.cells, blocks.tail)), 0, 0)


def tail_draw(
    blocks: Blocks, left: int, strides: int, place: int, *, u: int = WORD, later: int = 0
) -> tuple[int, bool]:
    """One tail draw from written bits: the side, that many ones and a zero, the place, then U."""
    width = blocks.shift + 6
    ones = [(1, 1)] * strides
    fields = [(left, 1), *ones, (0, 1), (place, width), (u, 64)]
    used = sum(width for _, width in fields)
    fields.append((later >> 64 - (-used % 64), -used % 64))  # the last word is filled up with what comes later
    x, kept = decide(blocks, [tail_word(blocks)], [WORD], words_of(fields), later)
    return x[0], kept[0]


SMALL = [DiscreteLaplace(F(7, 10)), DiscreteGaussian(F(1, 9)), DiscreteLaplace(F(642, 10)), DiscreteGaussian(F(9))]


@pytest.mark.parametrize("law", SMALL, ids=named)
def test_tail_proposals_times_acceptance_are_f(law: Law, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each tail integer comes from one (side, strides, place), and mass * factor is the same for all: Fractions."""
    blocks, seen = table(law), {}

    def spy(u: int, known: int, factor: Fraction, gamma: Fraction, bits: Bits) -> bool:
        heard.append((u, known, factor, gamma))
        return keep(u, known, factor, gamma, bits)

    monkeypatch.setattr(fast, "keep", spy)
    width = blocks.shift + 6
    for left in (0, 1):
        for strides in range(4):
            mass = F(int(blocks.weights[blocks.tail]), 2**16) / 2 / 2 ** (strides + 1) / 2**width
            for place in range(1 << width):
                heard: list[tuple] = []
                x, _ = tail_draw(blocks, left, strides, place, later=WORD)
                [(u, known, factor, gamma)] = heard
                assert (u, known) == (WORD, 64)
                assert gamma == exponent(law, x)
                assert mass * factor == F(blocks.height) / 2**16 / 2**blocks.shift
                assert real(factor) * f(law, x) <= 1
                assert x not in seen
                seen[x] = left
    span = range(blocks.edge, blocks.edge + (4 << width))
    assert {x for x, left in seen.items() if not left} == set(span)
    assert {x for x, left in seen.items() if left} == {-1 - d for d in span}


@every_law
def test_tail_decisions_at_the_boundary(law: Law) -> None:
    blocks, rng = table(law), random.Random(3)
    width = blocks.shift + 6
    for strides in (0, 1, 2, 5):
        for left in (0, 1):
            place = rng.getrandbits(width)
            distance = blocks.edge + (strides << width) + place
            x = -1 - distance if left else distance
            factor = F(blocks.height) / int(blocks.weights[blocks.tail]) * 2 ** (strides + 8)
            deep = boundary(law, factor, x, 64 + 128)
            for u in ((deep >> 128) - 1, deep >> 128, (deep >> 128) + 1):
                for later in (0, WORD):
                    truth = verdict(u, later, deep, x)
                    if u >= 0 and truth is not None:
                        assert tail_draw(blocks, left, strides, place, u=u, later=later) == (x, truth)


@pytest.mark.parametrize("law", [DiscreteLaplace(2**49 + F(1, 3)), DiscreteLaplace(2**50 - F(1, 3))], ids=named)
def test_a_tail_value_of_62_bits_is_refused_and_one_below_is_not(law: Law) -> None:
    blocks = table(law)
    width = blocks.shift + 6
    for left in (0, 1):
        strides, place = divmod(2**62 - left - blocks.edge, 1 << width)
        with pytest.raises(NoiseOverflowError):
            tail_draw(blocks, left, strides, place)
        strides, place = divmod(2**62 - 1 - left - blocks.edge, 1 << width)
        x, kept = tail_draw(blocks, left, strides, place)
        assert (abs(x), x < 0, kept) == (2**62 - 1, bool(left), False)


# The whole law -------------------------------------------------------------------------------------------------


def acceptance(blocks: Blocks, cell: int, place: int) -> Fraction:
    """The share of all U that is kept, found from outside by bisection: good to 2**-(known + 320)."""
    bits = 48 - blocks.shift + 320
    low, high = 0, 1 << bits  # kept below low, refused from high on
    while high - low > 1:
        u = (low + high) // 2
        more, *rest = [u >> 64 * i & WORD for i in (4, 3, 2, 1, 0)]
        [kept] = decide(blocks, [pack(blocks, cell, u >> 320, place)], [more], rest, 0)[1]
        low, high = (u, high) if kept else (low, u)
    return F(high, 1 << bits)


@pytest.mark.parametrize("law", [SMALL[0], SMALL[1], SMALL[3]], ids=named)
def test_the_output_law_is_proportional_to_f_to_thirty_digits(law: Law) -> None:
    """P[x is kept] over all 65,536 cells, measured from outside, divided by f(x): one number for every x."""
    blocks = table(law)
    cells = np.bincount(blocks.cells, minlength=blocks.dead + 1)
    ratios = []
    for x in range(-blocks.edge, blocks.edge):
        block, place = divmod(x + blocks.edge, 1 << blocks.shift)
        share = F(int(cells[block]), 2 ** (16 + blocks.shift))
        measured = share * acceptance(blocks, int(np.searchsorted(blocks.cells, block)), place)
        ratios.append(real(measured) / f(law, x))
    assert max(ratios) / min(ratios) - 1 < ctx.mpf(10) ** -30
    assert abs(ratios[0] / (real(F(blocks.height)) / 2 ** (16 + blocks.shift)) - 1) < ctx.mpf(10) ** -30


# The arithmetic underneath -------------------------------------------------------------------------------------


@pytest.mark.parametrize("squarings", [6, 11])
def test_exp_float_error_bound(squarings: int) -> None:
    cap, bound = 2.0 ** (squarings - 2), 2.0 ** (squarings - 44)
    dense = np.linspace(0, cap, 400_001)
    assert np.max(np.abs(exp_float(dense, squarings) / np.exp(-dense) - 1)) < bound - 1e-12
    tiny = [0.0, 5e-324, 1e-300, 2.0**-60, 2.0**-53, 2.0**-30, 1e-9]
    top = [cap * (1 - 2.0**-k) for k in range(1, 54)] + [cap]
    borders = [k * math.log(2) for k in range(1, int(cap)) if k * math.log(2) < cap]
    hard = np.array(tiny + top + borders + random.Random(1).choices(dense.tolist(), k=1500))
    errors = [
        abs(ctx.mpf(got) / ctx.exp(-ctx.mpf(gamma)) - 1)
        for gamma, got in zip(hard.tolist(), exp_float(hard, squarings).tolist(), strict=True)
    ]
    assert max(errors) < bound
    assert max(errors) > 2.0 ** (squarings - 54)  # the proof itself arrives at 2**(squarings - 49)
    assert exp_float(np.zeros(1), squarings)[0] == 1
    above = np.array([np.nextafter(cap, np.inf), cap + 1, 1e300, np.inf])
    assert np.all(exp_float(above, squarings) == exp_float(np.array([cap]), squarings))


def hostile_gammas(rng: random.Random) -> list[Fraction]:
    """Gammas that are zero, minute, next to a power of two, next to log 2 multiples, or monstrous to write."""
    ln2 = F(int(ctx.floor(ctx.ldexp(ctx.log(2), 300))), 2**300)
    gammas = [F(1, 10**300), F(1, 2**200), F(1, 3), F(1), F(7, 2), F(255), F(256), F(257), F(10**6)]
    gammas += [F(2) ** k + sign * F(1, 10**80) for k in range(-3, 9) for sign in (-1, 0, 1)]
    gammas += [k * ln2 for k in (1, 2, 3, 10, 100)]
    gammas += [F(rng.getrandbits(2000) | 1, 10**600 + 7) * rng.choice((1, 50)) for _ in range(10)]
    gammas += [F(rng.getrandbits(60), rng.getrandbits(57) | 1) for _ in range(150)]
    return gammas


@pytest.mark.parametrize("bits", [1, 8, 64, 128, 256])
def test_exp_enclosure_is_valid_and_tight(bits: int) -> None:
    for gamma in hostile_gammas(random.Random(bits)):
        low, high = exp_enclosure(gamma, bits)
        truth = ctx.ldexp(ctx.exp(-real(gamma)), bits)
        assert 0 <= low <= truth <= high, gamma
        assert high - low <= 2, gamma
    assert exp_enclosure(F(0), bits) == (1 << bits, 1 << bits)


def hostile_comparisons(rng: random.Random) -> list[tuple[Fraction, Fraction]]:
    """(factor, gamma) pairs with factor * exp(-gamma) in (0, 1], down to about 2**-60."""
    factors = [F(1), F(1, 3), F(10**40, 10**40 + 1), F(rng.getrandbits(900), 2**900), F(2**200), F(10**30, 3)]
    pairs = [(factor, gamma) for factor in factors for gamma in hostile_gammas(rng)]
    return [(c, g) for c, g in pairs if ctx.ldexp(1, -60) < real(c) * ctx.exp(-real(g)) <= 1]


def test_keep_and_is_below_agree_with_mpmath() -> None:
    """Right wherever they answer, and only the unit that holds the boundary is left open."""
    rng = random.Random(5)
    pairs = hostile_comparisons(rng)
    assert len(pairs) > 200
    for factor, gamma in pairs:
        bits = rng.choice((64, 76, 112))
        edge = ctx.ldexp(real(factor) * ctx.exp(-real(gamma)), bits)
        for d in (-2, -1, 0, 1, 2):
            u = int(ctx.floor(edge)) + d
            truth = True if u + 1 <= edge else False if u >= edge else None
            got = is_below(u, bits, factor, gamma)
            near = min(abs(u - edge), abs(u + 1 - edge)) < ctx.ldexp(1, -28)
            assert got == truth or (got is None and near), (factor, gamma, d)
            if got is not None:  # then `keep` says the same, and draws nothing
                assert keep(u, bits, factor, gamma, Bits(Script([], [], None))) is truth
    assert [is_below(u, 2, F(1, 2), F(0)) for u in (0, 1, 2, 3)] == [True, True, False, False]
    assert is_below(0, 64, F(1), F(10**6)) is None
    assert is_below(1, 64, F(1), F(10**6)) is False


def test_keep_draws_until_the_bits_decide() -> None:
    """The first three words of U are those of the boundary; the fourth lies one below or one above it."""
    for factor, gamma in hostile_comparisons(random.Random(6)):
        if gamma == 0:
            continue
        deep = int(ctx.floor(ctx.ldexp(real(factor) * ctx.exp(-real(gamma)), 256)))
        if deep & WORD in (0, WORD) or deep >> 256:
            continue
        w = [deep >> 64 * i & WORD for i in (3, 2, 1, 0)]
        for last, truth in ((w[3] - 1, True), (w[3] + 1, False)):
            source = Script([w[1]], [w[2], last], 0x5555555555555555)
            assert keep(w[0], 64, factor, gamma, Bits(source)) is truth

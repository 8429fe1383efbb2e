"""Does the form of a number give the data away? Last bits, decimals, grids, zeros, infinities, what noise can reach.

Noise is often right as a real number and wrong as a float: outputs that one data set can give and its neighbor cannot.
Each check sorts outputs by one trait of their form, finds the event that tells the data sets apart best on a quarter of
the draws, and tests it on the others.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np

from privet.audits.canaries import read_confidence
from privet.audits.claims import Claim
from privet.audits.reachable import SHARES, ReachSampler, grades, usable
from privet.audits.verdict import CONSISTENT, INCONCLUSIVE, VIOLATED, Check, Checks, down
from privet.core.rational import positive, show, whole
from privet.errors import InvalidInputError
from privet.stats import binomial
from privet.typing import Floats, Integers, Truths

Sides = tuple[Floats, Floats]
FEWEST = 1000
LOOKING = 4  # one part in 4 finds the event
MOST_NUMBERS = 2_000_000  # drawn from each data set: long vectors get fewer draws
SPELLED = 5_000  # numbers whose decimals are counted; spelling a number out is slow
SUSPICIOUS = 3  # epsilon: without a claim, what never comes up on one data set and gives away so much is a violation
PROBED = 500  # rows that tell whether a sampler is in play at all
OWN = 0.9  # share of them that it must reach from their own center
LOWEST, ZERO = -1074, 1024  # powers of two that a last bit can be; the last place is for zero
DECIMALS = 40
ON_GRID = 1e-5  # of a step
MARGIN = 2.5  # standard deviations
FILLED = 10  # hits that a cell of a mixed event must have
BETTER = 0.01  # what a later event must promise above an earlier, plainer one
NOT_TESTED = ("traits of the form other than these, and several outputs taken together",)


@dataclass(frozen=True, slots=True)
class _Trait:
    """Sorts rows of outputs into cells 0, 1, ... size - 1; `words` names a set of cells."""

    name: str
    size: int
    cells: Callable[[Floats], Integers]
    words: Callable[[Integers], str]
    most: int | None = None  # rows that it looks at
    ordered: bool = True  # beginnings and ends of the cells mean something


def float_support(  # noqa: PLR0913 -- what is audited, and settings by name
    mechanism: Callable[..., Any],
    neighbors: Sequence[Any],
    *,
    centers: Sequence[Any] | None = None,
    scale: object = 1,
    claim: Claim | None = None,
    samples: int = 400_000,
    confidence: object = 0.999999,
    batch: bool | None = None,
) -> Checks:
    """Is the support of the output the same whatever the data? The bounds of all checks hold together.

    `mechanism(data)` returns a number or a vector; `mechanism(data, size)` returns `size` of them. With `centers`, the
    true values on the two data sets, and the `scale` of the noise (sigma, or the b of Laplace) the noise is also taken
    apart: outputs that a known sampler can reach from one center and not from the other. Without a claim, a form that
    one data set never shows is a violation once it gives away more than epsilon = 3; give the claim if yours is larger.
    """
    wanted = Claim(epsilon=SUSPICIOUS) if claim is None else claim
    sure = read_confidence(wanted, confidence)
    if not isinstance(neighbors, tuple | list) or len(neighbors) != 2:
        raise InvalidInputError(
            "neighbors must be a pair of data sets", "give neighbors=(data, data_without_one)", "wrong-shape"
        )
    sides = _draw(mechanism, neighbors, whole(samples, "samples", FEWEST), batch)
    looking = len(sides[0]) // LOOKING
    traits = [*_forms(*(side[:looking] for side in sides))]
    others: list[Check] = []
    if centers is not None:
        noises, others = _noises(_centers(centers, sides[0].shape[1]), float(positive(scale, "scale")), sides)
        traits += noises
    miss = math.nextafter(float((1 - sure) / (2 * len(traits))), 0)
    tested = [_check(trait, sides, wanted, miss, never=claim is None) for trait in traits]
    return Checks(
        subject="the form of the output is the same whatever the data",
        checks=(*tested, *others),
        not_tested=NOT_TESTED if centers is not None else (*NOT_TESTED, "noise taken apart: give centers and scale"),
    )


def _check(trait: _Trait, sides: Sides, claim: Claim, miss: float, *, never: bool) -> Check:
    """With `never` an event counts only if it did not come up on the other data set at all."""
    looking = len(sides[0]) // LOOKING
    looked = [_counts(trait, side[:looking]) for side in sides]
    chosen, likelier = _pick(looked[0], looked[1], float(claim.delta), ordered=trait.ordered)
    tested = [_counts(trait, side[looking:]) for side in sides]
    draws = int(tested[0].sum())
    hits = [int(tested[side][chosen].sum()) for side in (likelier, 1 - likelier)]
    bound = claim.least(binomial.lower(hits[0], draws, miss), binomial.upper(hits[1], draws, miss))
    ceiling = claim.least(binomial.lower(draws, draws, miss), binomial.upper(0, draws, miss))
    broken = bound > claim.value and not (never and hits[1])
    event = trait.words(chosen)
    name = claim.parameter
    names = ("first", "second") if likelier == 0 else ("second", "first")
    return Check(
        name=trait.name,
        verdict=VIOLATED if broken else INCONCLUSIVE if ceiling <= claim.value else CONSISTENT,
        says=f"{name} is at least {down(bound, 2)}: “{event}” came up in {hits[0]:,} of {draws:,} draws on the "
        f"{names[0]} data set and in {hits[1]:,} on the {names[1]}",
        figures={name: bound, "event": event, "likelier": likelier, "hits": hits, "draws": draws, "ceiling": ceiling},
    )


def _counts(trait: _Trait, rows: Floats) -> Integers:
    return np.bincount(trait.cells(rows[: trait.most]), minlength=trait.size)


def _pick(first: Integers, second: Integers, delta: float, *, ordered: bool) -> tuple[Integers, int]:
    """The cells that promise most, and the data set on which they come up more often."""
    draws = int(first.sum())
    best: tuple[float, Integers, int] = (-math.inf, np.arange(1), 0)
    for likelier, (often, rare) in enumerate(((first, second), (second, first))):
        for cells in _candidates(often, rare, ordered=ordered):
            promise = _promise(int(often[cells].sum()), int(rare[cells].sum()), draws, delta)
            if promise > best[0] + BETTER:
                best = (promise, cells, likelier)
    return best[1], best[2]


def _candidates(often: Integers, rare: Integers, *, ordered: bool) -> Iterator[Integers]:
    """Beginnings, ends and single cells, then well-filled cells by falling ratio. Plain ones come first."""
    for cell in np.flatnonzero(often + rare):
        if ordered:
            yield np.arange(cell + 1)
            yield np.arange(cell, len(often))
        yield np.array([cell])
    full = np.flatnonzero(often >= FILLED)
    ranked = full[np.argsort(-(often[full] + 0.5) / (rare[full] + 0.5), kind="stable")]
    for place in range(len(ranked)):
        yield ranked[: place + 1]


def _promise(often: int, rare: int, draws: int, delta: float) -> float:
    """log((p - delta) / q) with p and q at the far ends of their score intervals."""

    def end(hits: int, sign: float) -> float:
        half = MARGIN * math.sqrt(hits * (1 - hits / draws) + MARGIN**2 / 4)
        return (hits + MARGIN**2 / 2 + sign * half) / (draws + MARGIN**2)

    return math.log(max(end(often, -1.0) - delta, 1e-300)) - math.log(end(rare, 1.0))


# --- traits of the form ---


def _forms(first: Floats, second: Floats) -> Iterator[_Trait]:
    yield _Trait("last bits", ZERO - LOWEST + 1, _last_bits, _bit_words)
    yield _Trait("decimals", DECIMALS + 1, _decimals, _decimal_words, SPELLED // first.shape[1] + 1)
    yield _grid_trait(_grid(first), _grid(second))
    yield _Trait("sign of zero", 2, _minus_zero, _listed("not minus zero", "minus zero"))
    yield _Trait("nan and infinity", 4, _odd, _listed("finite", "nan", "infinity", "minus infinity"), ordered=False)


def _listed(*names: str) -> Callable[[Integers], str]:
    return lambda chosen: "output is " + " or ".join(names[cell] for cell in chosen)


def _last_bits(rows: Floats) -> Integers:
    """The largest power of two that divides every number of the row (Mironov 2012); zero and infinity have all."""
    mantissa, exponent = np.frexp(np.where(np.isfinite(rows), rows, 0))
    digits = np.ldexp(mantissa, 53).astype(np.int64)
    power = np.frexp((digits & -digits).astype(np.float64))[1] - 1 + exponent.astype(np.int64) - 53
    return np.asarray(np.where(digits == 0, ZERO, power).min(axis=1) - LOWEST, np.int64)


def _bit_words(chosen: Integers) -> str:
    low, high = int(chosen.min()) + LOWEST, int(chosen.max()) + LOWEST
    if len(chosen) == high - low + 1:
        if low == LOWEST:
            return f"output is not a multiple of 2^{high + 1}"
        if high == ZERO:
            return f"output is a multiple of 2^{low}"
        if low == high:
            return f"the last bit of the output is 2^{low}"
    return f"the last bit of the output is one of {len(chosen)} between 2^{low} and 2^{high}"


def _decimals(rows: Floats) -> Integers:
    """Digits behind the point when written out; the longest of the row. What is no number has none."""
    return np.array([max(map(_behind_point, row)) for row in rows.tolist()], np.int64)


def _behind_point(value: float) -> int:
    if not math.isfinite(value) or value.is_integer():
        return 0
    return min(DECIMALS, -int(Decimal(repr(value)).as_tuple().exponent))


def _decimal_words(chosen: Integers) -> str:
    low, high = int(chosen.min()), int(chosen.max())
    if len(chosen) == high - low + 1:
        if low == 0:
            return f"output has at most {high} decimals"
        if high == DECIMALS:
            return f"output has at least {low} decimals"
        if low == high:
            return f"output has exactly {low} decimals"
    return f"output has one of {len(chosen)} numbers of decimals between {low} and {high}"


def _minus_zero(rows: Floats) -> Integers:
    return np.asarray(((rows == 0) & np.signbit(rows)).any(axis=1), np.int64)


def _odd(rows: Floats) -> Integers:
    kinds = np.isnan(rows) + 2 * np.isposinf(rows).astype(np.int64) + 3 * np.isneginf(rows).astype(np.int64)
    return np.asarray(kinds.max(axis=1), np.int64)


@dataclass(frozen=True, slots=True)
class _Grid:
    """Numbers offset + k * step."""

    offset: float
    step: float

    def holds(self, rows: Floats) -> Truths:
        with np.errstate(invalid="ignore", over="ignore"):
            place = (rows - self.offset) / self.step
            return np.asarray((np.abs(place - np.rint(place)) < ON_GRID).all(axis=1), np.bool_)


def _grid(rows: Floats) -> _Grid | None:
    """The grid that outputs lie on, if they lie on one: its step is the smallest gap."""
    values = np.unique(rows[np.isfinite(rows)])
    if len(values) < 2:
        return None
    with np.errstate(over="ignore"):
        step, reach = float(np.diff(values).min()), float(values[-1] - values[0])
    if reach == math.inf or reach / step > 1 / ON_GRID**2:
        return None
    grid = _Grid(float(values[0]), reach / round(reach / step))
    return grid if bool(grid.holds(values[:, None]).all()) else None


def _grid_trait(first: _Grid | None, second: _Grid | None) -> _Trait:
    def cells(rows: Floats) -> Integers:
        on = [np.zeros(len(rows), np.bool_) if grid is None else grid.holds(rows) for grid in (first, second)]
        return on[0].astype(np.int64) + 2 * on[1]

    steps = ["no grid" if grid is None else f"steps of {grid.step:.6g}" for grid in (first, second)]
    names = (
        "on the grid of neither data set",
        f"on the grid of the first ({steps[0]}) only",
        f"on the grid of the second ({steps[1]}) only",
        "on both grids",
    )
    return _Trait("rounding", 4, cells, _listed(*names), ordered=False)


# --- noise taken apart ---


def _centers(centers: Sequence[Any], numbers: int) -> Sides:
    pair = [np.asarray(center, np.float64).reshape(-1) for center in centers]
    if len(pair) != 2 or any(len(center) not in (1, numbers) for center in pair):
        raise InvalidInputError(
            "centers must be the two true values, as long as an output",
            "give centers=(f(data), f(data_without_one))",
            "wrong-length",
        )
    return pair[0], pair[1]


def _noises(centers: Sides, scale: float, sides: Sides) -> tuple[list[_Trait], list[Check]]:
    """A trait for every sampler that may be in play, a check that says so for every other."""
    traits, others = [], []
    for sampler in usable(sides[0].shape[1]):
        own = [
            float((grades(sampler, side[:PROBED], center, scale) > 0).mean())
            for side, center in zip(sides, centers, strict=True)
        ]
        if min(own) >= OWN:
            traits.append(_noise(sampler, centers, scale))
        else:
            says = f"the noise is of another kind: a share of {min(own):.3f} fits its own center"
            others.append(Check(name=sampler.name, verdict=CONSISTENT, says=says, figures={"own": own}))
    return traits, others


def _noise(sampler: ReachSampler, centers: Sides, scale: float) -> _Trait:
    base = len(SHARES) + 1

    def cells(rows: Floats) -> Integers:
        first, second = (grades(sampler, rows, center, scale).astype(np.int64) for center in centers)
        return first * base + second

    def words(chosen: Integers) -> str:
        better = set(np.sign(chosen // base - chosen % base).tolist())
        if len(better) > 1 or 0 in better:
            return f"the noise fits the two centers in one of {len(chosen)} ways"
        names = ("first", "second") if 1 in better else ("second", "first")
        return f"the noise can come from the {names[0]} center, and not, or less easily, from the {names[1]}"

    return _Trait(sampler.name, base**2, cells, words, ordered=False)


# --- draws ---


def _draw(mechanism: Callable[..., Any], neighbors: Sequence[Any], size: int, batch: bool | None) -> Sides:
    many = _takes_size(mechanism) if batch is None else batch
    one = [_rows(mechanism(data, 1) if many else [mechanism(data)], 1) for data in neighbors]
    numbers = one[0].shape[1]
    size = min(size, max(FEWEST, MOST_NUMBERS // numbers))
    drawn = [
        _rows(mechanism(data, size) if many else [mechanism(data) for _ in range(size)], size) for data in neighbors
    ]
    if drawn[0].shape != drawn[1].shape:
        raise InvalidInputError(
            "the mechanism returns vectors of different lengths on the two data sets",
            "audit the length itself first: pv.audits.audit(mechanism, claim, neighbors)",
            "wrong-output",
        )
    return drawn[0], drawn[1]


def _takes_size(mechanism: Callable[..., Any]) -> bool:
    try:
        parameters = inspect.signature(mechanism).parameters.values()
    except (TypeError, ValueError):  # some built-in functions do not tell
        return False
    required = [item for item in parameters if item.default is item.empty and item.kind in (0, 1)]
    return len(required) == 2


def _rows(raw: Any, size: int) -> Floats:
    try:
        array = np.asarray(raw)
    except ValueError:  # vectors of several lengths
        array = np.empty(0)
    if array.dtype.kind not in "biuf":
        array = np.empty(0)
    if array.ndim not in (1, 2) or len(array) != size or array.size == 0:
        raise InvalidInputError(
            f"the mechanism must return numbers, or vectors of one length: {size} of them, not {show(raw)}",
            "return a float or a 1-d array from mechanism(data), or `size` of them from mechanism(data, size)",
            "wrong-output",
        )
    return array.astype(np.float64).reshape(size, -1)

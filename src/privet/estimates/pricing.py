"""What a user is ready to pay, or how near the answer must be: from that to the noise of every part."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction
from functools import partial

from privet.core.accountant import Budget, how_many, rho_cap
from privet.core.claim import claim
from privet.core.loss import NOTHING, Loss
from privet.core.measures import KEYS, Measure
from privet.core.parts import Gauge, Part, priced, sensitivity_of, total_loss
from privet.core.plan import Function
from privet.core.rational import below_one, positive, show
from privet.errors import InvalidInputError, RefusedQueryError
from privet.estimates.accuracy import price_within
from privet.estimates.calibration import epsilon_of_rho
from privet.estimates.families import has_families, with_families
from privet.estimates.joint import with_pairs
from privet.estimates.levels import most_cells
from privet.estimates.moments import SQUARED
from privet.estimates.priced import Outline, Priced, at_price, formerly, lowered, variants
from privet.estimates.split import costs, error, shares
from privet.estimates.top import by_scores, missed

SHARE = Fraction(95, 100)
MOST = 1000  # an epsilon: no budget has more
LEAST = Fraction(1, 10**40)  # a delta: no budget has less, but 0
Wanted = Mapping[str, object] | object | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """What a user gave: one of epsilon, rho and within. There is no default.

    A delta may come with epsilon, for Gaussian noise where that errs less, or with rho, which is then booked as an
    epsilon as well; keys that are not public need one.
    """

    epsilon: object = None
    delta: object = None
    rho: object = None
    within: Wanted = None
    expected: Wanted = None

    def __post_init__(self) -> None:
        given = [name for name in ("epsilon", "rho", "within") if getattr(self, name) is not None]
        if len(given) != 1:
            raise InvalidInputError(
                f"a question needs one price, not {' and '.join(given) or 'none'}",
                f"give only one of {' and '.join(given)}"
                if given
                else "give epsilon=0.5, or rho=0.01, or within=10 (how far off an answer may be); there is no default",
                "several-prices" if given else "missing-price",
            )
        if self.delta is not None and self.within is not None:
            raise InvalidInputError(
                "within= finds the price itself, so it takes no delta", "leave delta out", "unneeded-delta"
            )
        if self.expected is not None and self.within is None:
            raise InvalidInputError(
                "expected= says what within= is relative to", 'for example within="5%", expected=1000', "missing-option"
            )


Nested = Callable[[Outline, Gauge], Outline]
Candidate = tuple[float, Callable[[], Priced]]  # with the squared error of all aggregates together; priced if taken
SINGLE = (Function.COUNT, Function.COUNT_DISTINCT, Function.SUM)


class Way(StrEnum):
    """How a price may be spent beside Laplace noise on single numbers; those that err least are taken."""

    PAIRS = "pairs"
    SQUARES = "squares"
    KEYS = "keys"  # by Gaussian noise, and people of the rest counted apart
    TOP = "top"  # groups that LIMIT leaves are chosen by their scores first, and only these are measured
    FAMILIES = "families"  # quantiles of the same numbers one inside the other


EVERY = frozenset(Way)
ALL_GROUPS = EVERY - {Way.TOP}
ALIKE = ALL_GROUPS - {Way.FAMILIES}  # whatever the limits, the same measures
EARLIER = (frozenset({Way.PAIRS}), frozenset[Way]())  # what earlier versions knew, the latest first
NUMBERS = {Way.PAIRS: 2, Way.SQUARES: 3}  # of a sum and its count


def ways_of(asked: Priced) -> frozenset[Way]:
    """Those that it takes."""
    numbers = {measure.numbers for measure in asked.measures}
    keys = [part.measure.rest or (part.measure is KEYS and part.gauge is Gauge.RHO) for part in asked.parts]
    others = {Way.KEYS: any(keys), Way.TOP: asked.top is not None, Way.FAMILIES: has_families(asked)}
    taken = [way for way, many in NUMBERS.items() if many in numbers]
    return frozenset(taken + [way for way, true in others.items() if true])


def ask(
    read: Outline, budget: Budget, price: Price, *, finite: bool = False, allowed: frozenset[Way] = EVERY
) -> Priced:
    """The question at a price, or at the lowest price that is accurate enough. `finite`: every price has an epsilon.
    Groups that LIMIT leaves are chosen first if that errs less: the choice and the numbers together."""
    delta = _delta(read, budget, price)
    if price.within is not None:
        return _within(read, budget, _targets(read, price), finite=finite)
    total, found = _cheapest(_ways(read if Way.KEYS in allowed else formerly(read), price, delta, allowed))
    if finite and found.loss.epsilon is None:
        raise InvalidInputError(
            "the owner of this vault allows rho only with a delta, so that it is booked as an epsilon as well",
            f"give delta= as well, for example delta={example_delta(budget)}, or epsilon= instead of rho=",
            "missing-delta",
        )
    chosen = by_scores(read) if Way.TOP in allowed else None
    if chosen is None:
        return found
    with suppress(RefusedQueryError):
        lost, best = _cheapest(_ways(chosen, price, delta, allowed))
        if lost <= (total + missed(found)) * (1 + ROUNDING):  # if alike, the narrower intervals decide
            return best
    return found


def _ways(
    read: Outline, price: Price, delta: Fraction | None, allowed: frozenset[Way]
) -> Iterator[Iterator[Candidate]]:
    """Each kind of noise that the price can buy."""
    for_keys = None if read.former or not read.cells.private else delta
    epsilon = None if price.epsilon is None else _amount(price.epsilon, "epsilon", MOST)

    def nested(one: Outline, gauge: Gauge) -> Outline:
        return with_families(one, gauge, epsilon) if Way.FAMILIES in allowed else one

    plain = variants(read)
    for variant in plain:
        joint = nested(variant, Gauge.RHO)
        if epsilon is None:
            rho = _amount(price.rho, "rho", MOST**2 // 2)
            yield _shared(joint, Gauge.RHO, rho, None) if delta is None else _booked(joint, rho, delta)
            if for_keys is not None:
                yield _with_keys(joint, for_keys, rho=rho)
        else:
            pure = nested(variant, Gauge.EPSILON)
            yield _shared(pure, Gauge.EPSILON, epsilon, delta)
            yield _gaussian(joint, epsilon, delta)
            if for_keys is not None:
                yield _with_keys(joint, for_keys, epsilon=epsilon)
                yield _beside_keys(pure, epsilon, for_keys)
    if epsilon is not None:
        squared = any(one.function in SQUARED for one in read.plan.aggregates)
        held = allowed & ({Way.PAIRS, Way.SQUARES} if squared else {Way.PAIRS})
        centered = _centered(plain[-1]) if held else None
        if centered is not None:
            for way in sorted(held):
                yield from _joint(centered, epsilon, delta, nested, NUMBERS[way])


def example_delta(budget: Budget) -> str:
    """A tenth of what all questions together may use of the budget's delta."""
    return f"{float(budget.delta / 40):.2g}"


def _cheapest(ways: Iterable[Iterator[Candidate]]) -> tuple[float, Priced]:
    """The way that errs least; it is refused only if all are."""
    found: list[Candidate] = []
    refused: list[RefusedQueryError] = []
    for way in ways:
        try:
            found += way
        except RefusedQueryError as problem:
            refused.append(problem)
    for total, asked in sorted(found, key=lambda candidate: candidate[0]):
        try:
            return total, asked()
        except RefusedQueryError as problem:
            refused.append(problem)
    raise refused[0]


def _amount(given: object, name: str, most: int) -> Fraction:
    """Exponentials of larger prices would take for ever, and no budget has them."""
    amount = positive(given, name)
    if amount > most:
        raise InvalidInputError(
            f"{name} is above {most}, which is more than any budget can have", f"for example {name}=0.5", "too-large"
        )
    return amount


def _delta(read: Outline, budget: Budget, price: Price) -> Fraction | None:
    given = None if price.delta is None else below_one(price.delta, "delta")
    if given == 0:
        raise InvalidInputError(
            "delta must be above 0", "leave it out, or give a small one, for example delta=1e-9", "not-positive"
        )
    if given is not None and given < LEAST:
        raise InvalidInputError(
            "delta must be at least 1e-40", "leave it out, or give a small one, for example delta=1e-9", "too-small"
        )
    if given is not None and not budget.delta and not read.cells.private:
        raise InvalidInputError("this budget has no delta", "leave delta out", "unneeded-delta")
    if not read.cells.private or (given is not None and budget.delta):
        return given
    names = ", ".join(key.name for key in read.plan.keys)
    listed = "list the groups: WHERE x IN ('a', 'b')"
    if not budget.delta:
        raise RefusedQueryError(
            f"the groups by {names} are not public, and choosing them from the data needs a delta, which this budget"
            " does not have",
            f"{listed}, or declare them as a Category",
            "not-declared",
        )
    if price.within is not None:
        raise InvalidInputError(
            f"the groups by {names} are not public", f"give epsilon= and delta=, or {listed}", "not-declared"
        )
    example, all_ = example_delta(budget), f"{float(budget.delta / 4):.1e}"
    raise InvalidInputError(
        f"the groups by {names} are not public: choosing them from the data needs a delta",
        f"give a delta, for example delta={example} (the budget has {all_} for all such questions), or {listed}",
        "missing-delta",
    )


def _shared(read: Outline, gauge: Gauge, amount: Fraction, delta: Fraction | None) -> Iterator[Candidate]:
    """All measures by noise of one kind."""
    found = costs(read.released, read.recipes, read.setting(delta), gauge)

    def asked() -> Priced:
        prices = [amount * share for share in shares(found, gauge)]
        return at_price(read, gauge, prices, delta if read.cells.private else None)

    yield error(found, gauge, amount), asked


@claim("rho-with-delta")
def _booked(read: Outline, rho: Fraction, delta: Fraction) -> Iterator[Candidate]:
    """All measures together in zCDP, booked as the epsilon that their rho implies at delta unless their pure prices are
    lower; keys have a half of delta for themselves. Each part's loss is its share of that joint price."""
    rest = delta / 2 if read.cells.private else delta
    for total, asked in _shared(read, Gauge.RHO, rho, rest):
        yield total, partial(_with_epsilon, asked, len(_noisy(read)), rest)


@claim("rho-with-delta")
def _with_epsilon(asked: Callable[[], Priced], together: int, delta: Fraction) -> Priced:
    """The first parts, so many `together`, at the epsilon that their rho implies at delta."""
    plain = asked()
    noisy, keys = plain.parts[:together], plain.parts[together:]
    paid = total_loss(noisy)
    if paid.rho and (paid.epsilon is None or paid.epsilon > epsilon_of_rho(paid.rho, delta)):
        epsilon, whole = epsilon_of_rho(paid.rho, delta), paid.rho
        shares_ = [(part.loss.rho or whole) / whole for part in noisy]
        noisy = tuple(
            _paid(part, replace(part.loss, epsilon=epsilon * share, delta=delta * share))
            for part, share in zip(noisy, shares_, strict=True)
        )
    return replace(plain, parts=(*noisy, *keys))


def _noisy(read: Outline) -> tuple[Measure, ...]:
    """What is released at one joint price: all but the choice of keys that are not public."""
    return read.measures if read.cells.private else read.released


def _centered(read: Outline) -> Outline | None:
    """With every sum beside its count if that is there, even where the middle of its range is 0."""
    sums = [recipe for recipe in read.recipes if recipe.aggregate.function is Function.SUM]
    return read if all(len(recipe.measures) > 1 for recipe in sums) else lowered(read, joint=True)


def _joint(
    centered: Outline, epsilon: Fraction, delta: Fraction | None, nested: Nested, most: int
) -> Iterator[Iterator[Candidate]]:
    """By Laplace noise, with pairs, or with squares and pairs, where these err less."""
    paired = with_pairs(centered, most)
    if paired is not None:
        paired = nested(paired, Gauge.EPSILON)
        yield _shared(paired, Gauge.EPSILON, epsilon, delta)
        if delta is not None and centered.cells.private and not centered.former:
            yield _beside_keys(paired, epsilon, delta)


@claim("gaussian-price")
def _gaussian(read: Outline, epsilon: Fraction, delta: Fraction | None) -> Iterator[Candidate]:
    """All measures together in zCDP, at a rho that implies (epsilon, delta); keys have a half of delta for themselves.

    Each part's loss is its share of that joint price.
    """
    if delta is None or not read.measures:
        return
    setting = read.setting(delta / 2)
    found = costs(read.released, read.recipes, setting, Gauge.RHO)[: len(_noisy(read))]
    keys, for_keys, rest = [], Fraction(0), delta
    if read.cells.private:
        rest = delta / 2
        alone = costs(read.released, read.recipes, setting, Gauge.EPSILON)[-1]
        whole = error(found, Gauge.RHO, max(rho_cap(epsilon, rest), SMALLEST)) * float(epsilon) ** 2
        for_keys = epsilon * shares([alone, whole], Gauge.EPSILON)[0]
        keys = list(priced(read.released[-1:], setting, Gauge.EPSILON, [for_keys]))
    rho = rho_cap(epsilon - for_keys, rest)
    if rho < SMALLEST:
        return

    def asked() -> Priced:
        parts = shares(found, Gauge.RHO)
        noisy = priced(_noisy(read), setting, Gauge.RHO, [rho * share for share in parts])
        joint = [
            _paid(part, Loss(epsilon=(epsilon - for_keys) * share, delta=rest * share, rho=rho * share))
            for part, share in zip(noisy, parts, strict=True)
        ]
        return Priced.of(read, (*joint, *keys))

    yield error(found, Gauge.RHO, rho) + (alone / float(for_keys) ** 2 if keys else 0), asked


@claim("gaussian-keys-price")
def _with_keys(
    read: Outline, delta: Fraction, *, epsilon: Fraction | None = None, rho: Fraction | None = None
) -> Iterator[Candidate]:
    """Keys by Gaussian noise, and all measures with them in one zCDP price: epsilon or rho is given, and follows from
    the other at a half of delta. The other half is for keys of one unit alone. A part's loss is its share."""
    half = delta / 2
    if rho is None:
        assert epsilon is not None  # noqa: S101  one of the two is given
        rho = rho_cap(epsilon, half)
    if rho < SMALLEST:
        return
    epsilon = epsilon_of_rho(rho, half) if epsilon is None else epsilon
    setting = read.setting(half, Gauge.RHO)
    found = costs(read.released, read.recipes, setting, Gauge.RHO)
    split = shares(found, Gauge.RHO)
    parts = priced(read.released, setting, Gauge.RHO, [rho * share for share in split])
    joint = [
        _paid(part, replace(part.loss, epsilon=epsilon * share, delta=part.loss.delta + half * share, rho=rho * share))
        for part, share in zip(parts, split, strict=True)
    ]
    yield error(found, Gauge.RHO, rho), partial(Priced.of, read, joint)


@claim("gaussian-keys-price")
def _beside_keys(read: Outline, epsilon: Fraction, delta: Fraction) -> Iterator[Candidate]:
    """Keys by Gaussian noise, at a rho that implies a part of epsilon, and all measures by noise of a pure price."""
    half = delta / 2
    at_all = rho_cap(epsilon, half)
    if not read.measures or at_all < SMALLEST:
        return
    setting = read.setting(half, Gauge.RHO)
    *found, alone = costs(read.released, read.recipes, setting, Gauge.EPSILON)
    whole = error(found, Gauge.EPSILON, Fraction(1))
    for_keys = epsilon * shares([alone * float(epsilon**2 / at_all), whole], Gauge.EPSILON)[0]
    rho = rho_cap(for_keys, half)
    if rho < SMALLEST:
        return
    prices = [(epsilon - for_keys) * share for share in shares(found, Gauge.EPSILON)]
    (keys,) = priced(read.released[-1:], setting, Gauge.RHO, [rho])
    keys = _paid(keys, replace(keys.loss, epsilon=for_keys, delta=delta))
    noisy = priced(read.measures, setting, Gauge.EPSILON, prices)
    total = error(found, Gauge.EPSILON, epsilon - for_keys) + alone / float(rho)
    yield total, partial(Priced.of, read, (*noisy, keys))


SMALLEST = Fraction(1, 10**12)  # a rho below it is of no use
ROUNDING = 1e-9  # of floats


def _paid(part: Part, loss: Loss) -> Part:
    return replace(part, loss=loss)


def _within(read: Outline, budget: Budget, targets: Mapping[int, Fraction], *, finite: bool) -> Priced:
    """Laplace or Gaussian noise, whichever leaves room for more such questions in the whole budget."""
    gauges = [Gauge.EPSILON, Gauge.RHO] if budget.delta and not finite else [Gauge.EPSILON]
    found = [at_price(read, gauge, [_share(read, n, gauge, targets[n]) for n in sorted(targets)]) for gauge in gauges]
    return max(found, key=lambda asked: how_many(budget, NOTHING, asked.loss))


def _share(read: Outline, number: int, gauge: Gauge, target: Fraction) -> Fraction:
    """Totals are as near as their parts must be."""
    measure, cells = read.measures[number], most_cells(read.plan, read.cells)
    return price_within(sensitivity_of(measure, read.setting()), gauge, int(target / measure.step), SHARE, cells)


def _targets(read: Outline, price: Price) -> dict[int, Fraction]:
    """How far each measure may be off; the strictest, where two aggregates share one."""
    targets: dict[int, Fraction] = {}
    for recipe in read.recipes:
        name, function = recipe.aggregate.name, recipe.aggregate.function
        if function not in SINGLE:
            raise InvalidInputError(
                f"the error of {function} {name} depends on the number of rows, which is private",
                "give epsilon= and look at explain(), or ask for SUM and COUNT within= bounds",
                "unsupported-function",
            )
        target = _absolute(name, _of(price.within, name, "within"), _of(price.expected, name, "expected"))
        (number,) = recipe.measures
        targets[number] = min(target, targets.get(number, target))
    return targets


def _of(wanted: Wanted, name: str, what: str) -> object:
    if not isinstance(wanted, Mapping):
        return wanted
    if name not in wanted:
        raise InvalidInputError(
            f"{what} says nothing about {name}", f'for example {what}={{"{name}": 10}}', "missing-entry"
        )
    return wanted[name]


def _absolute(name: str, within: object, expected: object) -> Fraction:
    """A number, or a percentage of what is expected."""
    relative = isinstance(within, str) and within.endswith("%")
    if relative != (expected is not None):
        raise InvalidInputError(
            f"within={show(within)} for {name}" + (" is relative to nothing" if relative else " is already absolute"),
            "add expected=1000, or give within=50" if relative else 'leave out expected=, or give within="5%"',
            "missing-option" if relative else "unneeded-option",
        )
    if not relative:
        return positive(within, "within")
    return positive(str(within)[:-1], "within") / 100 * positive(expected, "expected")

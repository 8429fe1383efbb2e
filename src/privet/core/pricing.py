"""What a user is ready to pay, or how near the answer must be: from that to the noise of every part."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from privet.core.accountant import Budget, how_many
from privet.core.accuracy import price_within
from privet.core.contribution import reach
from privet.core.loss import NOTHING
from privet.core.parts import Gauge
from privet.core.question import Outline, Question, question
from privet.core.rational import positive, show
from privet.errors import InvalidInputError

SHARE = Fraction(95, 100)
Wanted = Mapping[str, object] | object | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """What a user gave: one of epsilon, rho and within. There is no default."""

    epsilon: object = None
    rho: object = None
    within: Wanted = None
    expected: Wanted = None

    def __post_init__(self) -> None:
        given = [name for name in ("epsilon", "rho", "within") if getattr(self, name) is not None]
        if len(given) != 1:
            raise InvalidInputError(
                f"a question needs one price, not {' and '.join(given) or 'none'}",
                "give epsilon=0.5, or rho=0.01, or within=10 (how far off it may be); there is no default",
            )
        if self.expected is not None and self.within is None:
            raise InvalidInputError(
                "expected= says what within= is relative to", 'give such as within="5%", expected=1000'
            )


def ask(read: Outline, budget: Budget, price: Price) -> Question:
    """The question at a price, or at the lowest price that is accurate enough."""
    if price.epsilon is not None:
        return _equal_shares(read, Gauge.EPSILON, positive(price.epsilon, "epsilon"))
    if price.rho is not None:
        return _equal_shares(read, Gauge.RHO, positive(price.rho, "rho"))
    return _within(read, budget, _targets(read, price))


def _equal_shares(read: Outline, gauge: Gauge, amount: Fraction) -> Question:
    return question(read, gauge, [amount / len(read.measures)] * len(read.measures))


def _within(read: Outline, budget: Budget, targets: Mapping[int, Fraction]) -> Question:
    """Laplace or Gaussian noise, whichever leaves room for more such questions in the whole budget."""
    gauges = [Gauge.EPSILON, Gauge.RHO] if budget.delta else [Gauge.EPSILON]
    found = [question(read, gauge, [_share(read, n, gauge, targets[n]) for n in sorted(targets)]) for gauge in gauges]
    return max(found, key=lambda asked: how_many(budget, NOTHING, asked.loss))


def _share(read: Outline, number: int, gauge: Gauge, target: Fraction) -> Fraction:
    measure = read.measures[number]
    far = reach(measure.low, measure.high, read.cells.count, read.bounds)
    return price_within(far, gauge, int(target / measure.step), SHARE)


def _targets(read: Outline, price: Price) -> dict[int, Fraction]:
    """How far each measure may be off; the strictest, where two aggregates share one."""
    targets: dict[int, Fraction] = {}
    for recipe in read.recipes:
        name = recipe.aggregate.name
        if recipe.count is not None:
            raise InvalidInputError(
                f"how far the average {name} may be off depends on the number of rows, which is private",
                "give epsilon= and look at explain(), or ask for SUM and COUNT within= bounds",
            )
        target = _absolute(name, _of(price.within, name, "within"), _of(price.expected, name, "expected"))
        targets[recipe.measure] = min(target, targets.get(recipe.measure, target))
    return targets


def _of(wanted: Wanted, name: str, what: str) -> object:
    if not isinstance(wanted, Mapping):
        return wanted
    if name not in wanted:
        raise InvalidInputError(f"{what} says nothing about {name}", f'give such as {what}={{"{name}": 10}}')
    return wanted[name]


def _absolute(name: str, within: object, expected: object) -> Fraction:
    """A number, or a percentage of what is expected."""
    relative = isinstance(within, str) and within.endswith("%")
    if relative != (expected is not None):
        raise InvalidInputError(
            f"within={show(within)} for {name}" + (" is relative to nothing" if relative else " is already absolute"),
            'give within=50, or within="5%" together with expected=1000',
        )
    if not relative:
        return positive(within, "within")
    return positive(str(within)[:-1], "within") / 100 * positive(expected, "expected")

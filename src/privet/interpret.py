"""What an epsilon says about a person: beliefs, guesses and groups. No data, no default, no recommendation.

Everything is computed from q = exp(-epsilon) in fractions. Every bound is rounded against us: floors down, ceilings up.
"""

from __future__ import annotations

import html
import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from privet.core.exponential import exp_enclosure
from privet.core.rational import below_one, positive, rational, show, whole
from privet.core.unit import Neighbors, neighbors_from
from privet.errors import InvalidInputError
from privet.report.meaning.text import GUIDANCE, NO_POSTERIOR, NOT_PROMISED, main_figures, page
from privet.report.terminal import Pen

if TYPE_CHECKING:
    import altair as alt

ABOUT = {"membership": "is the person in the table?", "value": "which of two values does the person have?"}
FALSE_POSITIVE_RATES = tuple(Fraction(rate) for rate in ("0.001", "0.01", "0.05", "0.1", "0.5"))
EXAMPLES = tuple(Fraction(prior) for prior in ("0.01", "0.1", "0.5"))
LARGEST_EPSILON = 300  # e^300 is 10^130, as good as no promise, and e^(2 * 300) still fits a float
LARGEST_GROUP = 10**9
PRECISION = 192  # bits of e^-x, and of 1 - e^-x
LARGEST_PRECISION = 4096  # enough up to x = 2700; beyond, even delta = 1e-400 grows to 1 in any group
DIGITS = 20  # of every bound


@dataclass(frozen=True, slots=True, kw_only=True)
class Belief:
    """What somebody who knows everybody else and believed `prior` can believe after seeing everything released."""

    prior: Fraction
    low: Fraction
    high: Fraction


@dataclass(frozen=True, slots=True, kw_only=True)
class RocPoint:
    """No test with this false-positive rate has a higher true-positive rate."""

    false_positive_rate: Fraction
    true_positive_rate: Fraction


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupMeaning:
    """The promise for `people` people taken together, and the most accurate guess about all of them at 50:50."""

    people: int
    epsilon: Fraction
    delta: Fraction
    best_guess: Fraction


@dataclass(frozen=True, slots=True, kw_only=True)
class Meaning:
    """`epsilon` and `delta` are the price of everything released; the effective ones answer the question `about`."""

    epsilon: Fraction
    delta: Fraction
    prior: Fraction | None
    neighbors: str
    about: str
    effective_epsilon: Fraction
    effective_delta: Fraction
    odds_factor: Fraction | None  # how far the odds can move; None if delta > 0
    posterior: Belief | None  # None if delta > 0 or no prior was given
    examples: tuple[Belief, ...]  # the same for some priors; empty if delta > 0
    trade_off: tuple[RocPoint, ...]
    best_guess: Fraction  # the most accurate guess between two equally likely cases
    groups: tuple[GroupMeaning, ...]
    useful_from: int  # people: results about fewer than 1 / epsilon drown in the noise

    def to_json(self) -> dict[str, Any]:
        """Plain numbers and text. Ceilings are rounded up to the next float, floors down."""
        return {
            "epsilon": float(self.epsilon),
            "delta": float(self.delta),
            "prior": None if self.prior is None else float(self.prior),
            "neighbors": self.neighbors,
            "about": self.about,
            "effective": {"epsilon": _ceiling(self.effective_epsilon), "delta": _ceiling(self.effective_delta)},
            "odds_factor": None if self.odds_factor is None else _ceiling(self.odds_factor),
            "posterior": None if self.posterior is None else _belief_json(self.posterior),
            "no_posterior_because": " ".join(NO_POSTERIOR) if self.delta else None,
            "examples": [_belief_json(belief) for belief in self.examples],
            "trade_off": [
                {
                    "false_positive_rate": float(point.false_positive_rate),
                    "true_positive_rate_at_most": _ceiling(point.true_positive_rate),
                }
                for point in self.trade_off
            ],
            "best_guess_at_most": _ceiling(self.best_guess),
            "groups": [
                {
                    "people": group.people,
                    "epsilon": _ceiling(group.epsilon),
                    "delta": _ceiling(group.delta),
                    "best_guess_at_most": _ceiling(group.best_guess),
                }
                for group in self.groups
            ],
            "useful_from": self.useful_from,
            "guidance": [{"epsilon": span, "says": words, "source": source} for span, words, source in GUIDANCE],
            "not_promised": [" ".join(lines) for lines in NOT_PROMISED],
        }

    def __str__(self) -> str:
        return self.text(Pen(color=False))

    def text(self, pen: Pen) -> str:
        """The figures in words, for a terminal of 100 columns."""
        return page(self, pen)

    def chart(self) -> alt.HConcatChart:
        """What somebody can come to believe (groups, if delta > 0), and how well anybody can tell."""
        from privet.report.meaning.chart import meaning_chart  # noqa: PLC0415  brings Altair

        return meaning_chart(self)

    def svg(self) -> str:
        """The chart as SVG text."""
        from privet.report.charts import svg  # noqa: PLC0415  brings Altair

        return svg(self.chart())

    def _repr_html_(self) -> str:
        lines = "".join(f"<p>{html.escape(line)}</p>" for line in main_figures(self))
        return f"<div>{lines}{self.svg()}</div>"


def meaning(  # noqa: PLR0913  all by name, and each a question that only the caller can answer
    *,
    epsilon: object,
    delta: object = 0,
    prior: object = None,
    neighbors: str = "add-remove",
    about: str = "membership",
    groups: Iterable[int] = (2, 5, 10),
) -> Meaning:
    """What (epsilon, delta) says about a person, when that is the price of everything released.

    `prior` is what somebody believed before; `neighbors` is the relation that the price was computed for. Under
    add-remove, `about="value"` counts twice: taking one value out and putting the other in are two steps.
    """
    price, slack = _epsilon(epsilon), below_one(delta, "delta")
    believed = None if prior is None else _prior(prior)
    relation = neighbors_from(neighbors)
    _choice(about, "about", ABOUT)
    steps = 2 if (relation, about) == (Neighbors.ADD_REMOVE, "value") else 1
    effective, leak = steps * price, group_delta(steps, price, slack)
    return Meaning(
        epsilon=price,
        delta=slack,
        prior=believed,
        neighbors=relation.value,
        about=about,
        effective_epsilon=effective,
        effective_delta=leak,
        odds_factor=None if slack else _up(1 / _decay(effective)[0]),
        posterior=None if slack or believed is None else posterior(believed, effective),
        examples=() if slack else tuple(posterior(example, effective) for example in EXAMPLES),
        trade_off=tuple(_roc_point(rate, effective, leak) for rate in FALSE_POSITIVE_RATES),
        best_guess=best_guess(effective, leak),
        groups=tuple(_group(people, steps, price, slack) for people in _sizes(groups)),
        useful_from=math.ceil(1 / price),
    )


def posterior(prior: Fraction, epsilon: Fraction) -> Belief:
    """The odds move by a factor from e^-epsilon to e^epsilon, by Bayes' rule; pure epsilon only."""
    q = _decay(epsilon)[0]
    other = 1 - prior
    return Belief(prior=prior, low=_down(prior * q / (prior * q + other)), high=_up(prior / (prior + other * q)))


def best_true_positive_rate(false_positive_rate: Fraction, epsilon: Fraction, delta: Fraction) -> Fraction:
    """The trade-off curve: min(1, e^epsilon a + delta, 1 - e^-epsilon (1 - a - delta)) at the rate a."""
    q = _decay(epsilon)[0]
    steep = false_positive_rate / q + delta
    flat = 1 - q * (1 - false_positive_rate - delta)
    return _up(min(Fraction(1), steep, flat))


def best_guess(epsilon: Fraction, delta: Fraction) -> Fraction:
    """The most accurate guess at 50:50: (1 + tv) / 2 with tv = (e^epsilon - 1 + 2 delta) / (e^epsilon + 1)."""
    q = _decay(epsilon)[0]
    return _up((1 + (1 - q + 2 * delta * q) / (1 + q)) / 2)


def group_delta(steps: int, epsilon: Fraction, delta: Fraction) -> Fraction:
    """The delta of `steps` neighbors in a row: delta (e^(steps epsilon) - 1) / (e^epsilon - 1), at most 1."""
    if steps == 1 or delta == 0:
        return delta
    far, near = _decay(steps * epsilon)[0], _decay(epsilon)[1]
    if far == 0:
        return Fraction(1)
    return min(Fraction(1), _up(delta * (1 / far - 1) / (1 / near - 1)))


def _group(people: int, steps: int, epsilon: Fraction, delta: Fraction) -> GroupMeaning:
    chain = people * steps
    leak = group_delta(chain, epsilon, delta)
    return GroupMeaning(
        people=people, epsilon=chain * epsilon, delta=leak, best_guess=best_guess(chain * epsilon, leak)
    )


def _roc_point(rate: Fraction, epsilon: Fraction, delta: Fraction) -> RocPoint:
    return RocPoint(false_positive_rate=rate, true_positive_rate=best_true_positive_rate(rate, epsilon, delta))


@lru_cache(maxsize=64)
def _decay(epsilon: Fraction) -> tuple[Fraction, Fraction]:
    """exp(-epsilon), rounded down and up. As 2**-1.5 < 1 / e, a large epsilon needs 1.5 bits for each unit."""
    small = max(0, epsilon.denominator.bit_length() - epsilon.numerator.bit_length())
    bits = min(PRECISION + small + math.ceil(epsilon * 3 / 2), LARGEST_PRECISION)
    low, high = exp_enclosure(epsilon, bits)
    return Fraction(low, 1 << bits), Fraction(high, 1 << bits)


def _up(value: Fraction) -> Fraction:
    """At least the value: the same to about 20 digits, so that fractions stay short."""
    unit = _unit(value)
    return math.ceil(value / unit) * unit


def _down(value: Fraction) -> Fraction:
    unit = _unit(value)
    return math.floor(value / unit) * unit


def _unit(value: Fraction) -> Fraction:
    """A power of ten, about 20 digits below the value."""
    digits = (value.numerator.bit_length() - value.denominator.bit_length()) * 30103 // 100000  # log10(2) = 0.30103
    return Fraction(10) ** (digits - DIGITS)


def _ceiling(value: Fraction) -> float:
    """The smallest float that is not below the value."""
    nearest = float(value)
    return nearest if Fraction(nearest) >= value else math.nextafter(nearest, math.inf)


def _floor(value: Fraction) -> float:
    nearest = float(value)
    return nearest if Fraction(nearest) <= value else math.nextafter(nearest, -math.inf)


def _belief_json(belief: Belief) -> dict[str, float]:
    return {"prior": float(belief.prior), "low": _floor(belief.low), "high": _ceiling(belief.high)}


def _epsilon(value: object) -> Fraction:
    epsilon = positive(value, "epsilon")
    if epsilon > LARGEST_EPSILON:
        raise InvalidInputError(
            f"an epsilon of {show(value)} promises nothing: the odds may move by a factor of more than 10^130",
            f"give an epsilon of at most {LARGEST_EPSILON}",
            "too-large",
        )
    return epsilon


def _prior(value: object) -> Fraction:
    prior = rational(value, "prior")
    if not 0 < prior < 1:
        raise InvalidInputError(
            f"prior must lie strictly between 0 and 1, not {show(value)}",
            "give a probability, for example prior=0.01; somebody who is already certain cannot be moved",
            "out-of-range",
        )
    return prior


def _choice(value: object, name: str, allowed: dict[str, str]) -> None:
    if not (isinstance(value, str) and value in allowed):
        raise InvalidInputError(
            f"{name} must be {' or '.join(allowed)}, not {show(value)}",
            "give " + " or ".join(f'{name}="{word}" ({text})' for word, text in allowed.items()),
            "unknown-choice",
        )


def _sizes(groups: Iterable[int]) -> list[int]:
    try:
        sizes = [whole(size, "a group", 1) for size in groups]
    except TypeError:
        raise InvalidInputError(
            f"groups must be a list of whole numbers, not {show(groups)}", "for example groups=[2, 5, 10]", "not-a-list"
        ) from None
    if sizes and max(sizes) > LARGEST_GROUP:
        raise InvalidInputError(
            f"a group has at most {LARGEST_GROUP:,} people, not {show(max(sizes))}",
            f"give groups of at most {LARGEST_GROUP:,}",
            "too-large",
        )
    return sizes

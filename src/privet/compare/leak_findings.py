"""What a comparison of leak and noise found, in words and pictures."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction

import numpy as np

from privet.attacks.finding import Curve, Findings, Picture, ShownTable
from privet.compare.leak_runs import Price, most_auc, most_right
from privet.core.laws import Law
from privet.core.unit import Neighbors
from privet.stats.intervals import Interval

BENDS = 40  # places at which the limit is drawn
WORDS = {"membership": "AUC of the membership test", "subsets": "share of secrets that are right"}
COLUMNS = ("epsilon", "noise", "error of a mean", "attack", "95 % interval", "limit")
LEAD = (
    "A simulation on the owner's data, with Privet's own noise. It reads raw data: the numbers on this page are not"
    " private. Do not publish them."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """One epsilon: the noise it takes, how wrong a mean is (as a share of its range), and what the attack got."""

    price: Price
    law: Law
    error: float
    success: Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class Leak:
    """`exact`: without noise. `rate`: of the secret. A release has `inside` people; a mean is of `counted`."""

    attack: str
    relation: Neighbors
    levels: tuple[Level, ...]
    exact: Interval
    rate: float
    inside: int
    counted: int
    runs: int

    @property
    def blind(self) -> float:
        return 0.5 if self.attack == "membership" else max(self.rate, 1 - self.rate)

    def most(self, price: Price) -> float:
        """That any attack can get. Another person in somebody's place is two steps under add-remove."""
        steps = 2 if self.relation is Neighbors.ADD_REMOVE else 1
        return most_auc(price, steps) if self.attack == "membership" else most_right(price, steps, self.rate)


def findings_of(leak: Leak, subject: str, start: float) -> Findings:
    return Findings(
        attack="leak",
        subject=subject,
        headline=_headline(leak),
        people=None,
        findings=(),
        pictures=(_leak_picture(leak), _error_picture(leak)),
        tables=(ShownTable("Leak and error", _table_text(leak), COLUMNS, _rows(leak)),),
        assumptions=_assumptions(leak),
        not_tried=("Other attacks: an attack that was not tried may do better, up to the limit in the table.",),
        numbers={
            "kind": leak.attack,
            "people_in_a_release": leak.inside,
            "blind": leak.blind,
            "runs": leak.runs,
            "exact": asdict(leak.exact),
            "levels": [_level_json(leak, level) for level in leak.levels],
        },
        seconds=time.perf_counter() - start,
        lead=LEAD,
    )


def _level_json(leak: Leak, level: Level) -> dict[str, object]:
    return {
        "epsilon": float(level.price[0]),
        "delta": float(level.price[1]),
        "error": level.error,
        "success": asdict(level.success),
        "most": leak.most(level.price),
    }


def _headline(leak: Leak) -> str:
    """At the epsilon nearest to 1."""

    def figure(part: Interval) -> str:
        return f"an AUC of {part.value:.2f}" if leak.attack == "membership" else f"{100 * part.value:.0f} % of secrets"

    blind = "" if leak.attack == "membership" else f" (blind guessing: {100 * leak.blind:.0f} %)"
    level = min(leak.levels, key=lambda one: abs(math.log(one.price[0])))
    return (
        f"Exact statistics give the attack {figure(leak.exact)}; at epsilon {float(level.price[0]):g} it has"
        f" {figure(level.success)}{blind}, and a mean is wrong by {_percent(level.error)} of its range"
    )


def _percent(share: float) -> str:
    return f"{100 * share:,.0f} %" if share >= 1 else f"{100 * share:.3g} %"


def _rows(leak: Leak) -> tuple[tuple[str, ...], ...]:
    rows = [
        (
            f"{float(level.price[0]):g}",
            type(level.law).__name__.removeprefix("Discrete"),
            _percent(level.error),
            *_told(level.success),
            f"{leak.most(level.price):.3f}",
        )
        for level in leak.levels
    ]
    return (*rows, ("∞", "none", "0 %", *_told(leak.exact), "1.000"))


def _told(part: Interval) -> tuple[str, str]:
    return f"{part.value:.3f}", f"{part.low:.3f} to {part.high:.3f}"


def _table_text(leak: Leak) -> str:
    what = "means" if leak.attack == "membership" else "means over half of the people"
    return (
        f"The error is the standard deviation of the noise of one of the {what}, of {leak.counted:,} people, as a share"
        f" of its range. The attack's figure is the {WORDS[leak.attack]}. No attack on a release with this epsilon gets"
        " beyond the last column: that is a theorem. The result of this attack is no promise."
    )


def _assumptions(leak: Leak) -> tuple[str, ...]:
    steps = "two steps" if leak.relation is Neighbors.ADD_REMOVE else "one step"
    known = {
        "membership": "The attacker knows the person's values, and the records of other people who are in no release.",
        "subsets": "The attacker knows who is in which subset, a random half, and how common the secret is.",
    }
    return (
        f"Each of {leak.runs:,} runs publishes statistics of {leak.inside:,} people at once, for the whole epsilon.",
        f"Neighbors: {leak.relation.value}. Somebody else in a person's place counts as {steps}; the number of people"
        " is known.",
        "Ranges of columns are declared; values beyond are clamped. People with a missing value are left out.",
        known[leak.attack],
    )


def _epsilons(leak: Leak) -> tuple[float, ...]:
    return tuple(float(level.price[0]) for level in leak.levels)


def _across(x: Sequence[float], name: str, height: float) -> Curve:
    """A level line over the whole picture."""
    ends = (x[0], x[-1]) if len(x) > 1 else (x[0],)
    return Curve(name=name, x=ends, y=(height,) * len(ends))


def _leak_picture(leak: Leak) -> Picture:
    """The limit is no straight line, so it is drawn at more places than were tried."""
    x, parts = _epsilons(leak), [level.success for level in leak.levels]
    places = np.unique(np.geomspace(x[0], x[-1], BENDS)).tolist()
    limit = tuple(leak.most((Fraction(place), leak.levels[0].price[1])) for place in places)
    values, low, high = (tuple(getattr(part, name) for part in parts) for name in ("value", "low", "high"))
    return Picture(
        title="Leak: what the attack gets",
        text="What the attack got in the simulation, below the limit at that epsilon.",
        alt=f"The attack has {values[0]:.2f} at epsilon {x[0]:g} and {values[-1]:.2f} at {x[-1]:g}; without noise it"
        f" has {leak.exact.value:.2f}; blind guessing is {leak.blind:.2f}.",
        x="epsilon",
        y=WORDS[leak.attack],
        curves=(
            Curve(name="this attack", x=x, y=values, low=low, high=high),
            _across(x, "the same attack without noise", leak.exact.value),
            _across(x, "blind guessing", leak.blind),
            Curve(name="limit for every attack", x=tuple(places), y=limit, style="bound"),
        ),
        log_x=True,
    )


def _error_picture(leak: Leak) -> Picture:
    x, errors = _epsilons(leak), tuple(level.error for level in leak.levels)
    sampling = 0.5 / math.sqrt(leak.counted)
    return Picture(
        title="Noise: what it costs",
        text="The standard deviation of the noise of a mean, as a share of its range, beside its sampling error: how"
        " far even an exact mean of this many people is from the mean of everybody.",
        alt=f"The error falls from {errors[0]:.2g} at epsilon {x[0]:g} to {errors[-1]:.2g} at {x[-1]:g}; the sampling"
        f" error is {sampling:.2g}.",
        x="epsilon",
        y="error of a mean (share of its range)",
        curves=(Curve(name="noise", x=x, y=errors), _across(x, "sampling error of a yes/no, at most", sampling)),
        log_x=True,
        log_y=True,
    )

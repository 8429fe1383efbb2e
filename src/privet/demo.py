"""The first story: one newcomer in a hospital, and three ways to publish a count.

Every number is computed here: probabilities exactly, simulations with real draws from `privet.noise`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from privet import noise
from privet.core.exponential import exp_enclosure
from privet.core.laws import DiscreteLaplace
from privet.core.mechanisms import laplace_epsilon, laplace_for, laplace_half_width
from privet.noise.selection import uniform
from privet.report.charts import Panel, likelihood_panels, svg
from privet.report.terminal import Pen, at_least, at_most, percent

WEEKS = 10
RUNS = 10_000
REACH = 3  # uniform noise from -3 to 3
EPSILON = Fraction(1, 10)  # of one weekly count
CHART_EPSILON = Fraction(1)  # bars of noise at 1/10 would be too flat to see
SHARE = Fraction(95, 100)  # of the weekly counts, for the typical error
BIG_COUNT = 40_000  # cases in a large group of hospitals
PRECISION = 64

Law = Mapping[int, Fraction]  # the probability of every noise that can occur
Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Week:
    ill: int
    patients: int


FIRST, SECOND = Week(4, 2436), Week(5, 2437)


@dataclass(frozen=True, slots=True, kw_only=True)
class Exact:
    """Both counts published as they are."""

    first: Week
    second: Week
    joined: int
    new_cases: int
    certain: Fraction


@dataclass(frozen=True, slots=True, kw_only=True)
class Uniform:
    """Noise from -reach to reach, each equally likely."""

    reach: int
    proves_healthy: list[int]
    proves_ill: list[int]
    certain_one_week: Fraction
    certain_all_weeks: Fraction
    simulated_certain: float
    simulated_wrong: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Laplace:
    """Discrete Laplace noise. Factors and ceilings are rounded up, floors down."""

    epsilon: Fraction
    epsilon_all_weeks: Fraction
    factor_one_week: Fraction
    factor_all_weeks: Fraction
    belief_floor: Fraction
    belief_ceiling: Fraction
    example_truth: int
    example: list[int]
    simulated_surest: float
    simulated_mean: float
    simulated_right: float
    share: Fraction
    within: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    weeks: int
    runs: int
    exact: Exact
    uniform: Uniform
    laplace: Laplace
    big_count: int

    @property
    def big_error(self) -> Fraction:
        """The typical error of the private count, as a part of the big count."""
        return Fraction(self.laplace.within, self.big_count)

    def numbers(self) -> dict[str, Any]:
        """Everything that the terminal prints, for a program to read."""
        return {**_plain(asdict(self)), "big_error": float(self.big_error)}


def tell(runs: int = RUNS) -> Story:
    """Compute the whole story; the simulations draw fresh noise, so their numbers differ a little each time."""
    return Story(
        weeks=WEEKS,
        runs=runs,
        exact=exact_counts(),
        uniform=uniform_noise(runs),
        laplace=laplace_noise(runs),
        big_count=BIG_COUNT,
    )


def chart() -> str:
    """The picture of the story, as SVG text."""
    point, flat, law = {0: Fraction(1)}, uniform_law(REACH), laplace_for(CHART_EPSILON, 1)
    edges = " and ".join(str(number) for proofs in proving(flat) for number in proofs)
    panels = [
        _panel("Exact count", ("Each number fits one diagnosis only:", "always a proof"), point),
        _panel(
            f"Uniform noise, -{REACH} to {REACH}",
            (f"{edges} are proofs: one of them comes", f"with probability {certainty(flat)} every week"),
            flat,
        ),
        _laplace_panel(law, range(FIRST.ill - REACH - 2, SECOND.ill + REACH + 3)),
    ]
    title = "Exact counts and noise with edges can prove the newcomer ill; discrete Laplace noise never does"
    subtitle = (
        f"How likely each published number is if the newcomer is healthy (true count {FIRST.ill})"
        f" or ill (true count {SECOND.ill}),",
        f"for an attacker who knows the other {FIRST.patients:,} patients. Heights are scaled per panel.",
    )
    return svg(likelihood_panels(panels, title, subtitle))


def uniform_law(reach: int) -> Law:
    return {x: Fraction(1, 2 * reach + 1) for x in range(-reach, reach + 1)}


def proving(law: Law) -> tuple[list[int], list[int]]:
    """The published numbers that occur only if the newcomer is healthy, and only if ill: infinite odds."""
    healthy, ill = ({truth + x for x in law} for truth in (FIRST.ill, SECOND.ill))
    return sorted(healthy - ill), sorted(ill - healthy)


def certainty(law: Law) -> Fraction:
    """The probability that one published number proves the diagnosis; the same for either diagnosis here."""
    healthy, ill = proving(law)
    if_healthy = sum((law[number - FIRST.ill] for number in healthy), Fraction(0))
    if_ill = sum((law[number - SECOND.ill] for number in ill), Fraction(0))
    return (if_healthy + if_ill) / 2


def belief_in_illness(published: Ints, law: DiscreteLaplace) -> Floats:
    """What an attacker who starts at 50:50 believes after each row of published numbers: Bayes' rule.

    One number multiplies the odds of "ill" by exp((|number - healthy count| - |number - ill count|) / scale).
    """
    steps = np.abs(published - FIRST.ill) - np.abs(published - SECOND.ill)
    belief: Floats = 1 / (1 + np.exp(-steps.sum(axis=1) / float(law.scale)))
    return belief


def exact_counts() -> Exact:
    return Exact(
        first=FIRST,
        second=SECOND,
        joined=SECOND.patients - FIRST.patients,
        new_cases=SECOND.ill - FIRST.ill,
        certain=certainty({0: Fraction(1)}),
    )


def uniform_noise(runs: int) -> Uniform:
    """`runs` attackers watch ten weeks each; in every other run the newcomer is ill."""
    law = uniform_law(REACH)
    healthy, ill = proving(law)
    truth = _truth(runs)
    published = truth[:, np.newaxis] + uniform(2 * REACH + 1, runs * WEEKS).reshape(runs, WEEKS) - REACH
    says_healthy, says_ill = np.isin(published, healthy).any(axis=1), np.isin(published, ill).any(axis=1)
    wrong = np.where(truth == SECOND.ill, says_healthy, says_ill)
    certain = certainty(law)
    return Uniform(
        reach=REACH,
        proves_healthy=healthy,
        proves_ill=ill,
        certain_one_week=certain,
        certain_all_weeks=1 - (1 - certain) ** WEEKS,
        simulated_certain=float((says_healthy | says_ill).mean()),
        simulated_wrong=int(wrong.sum()),
    )


def laplace_noise(runs: int) -> Laplace:
    law = laplace_for(EPSILON, sensitivity=1)
    one_week = laplace_epsilon(law, sensitivity=1)
    all_weeks = WEEKS * one_week
    truth = _truth(runs)
    published = truth[:, np.newaxis] + noise.discrete_laplace(law.scale, runs * WEEKS).reshape(runs, WEEKS)
    ill = belief_in_illness(published, law)
    right = np.where(truth == SECOND.ill, ill, 1 - ill)  # belief in what is true
    ceiling = _odds(all_weeks) / (1 + _odds(all_weeks))
    return Laplace(
        epsilon=one_week,
        epsilon_all_weeks=all_weeks,
        factor_one_week=_odds(one_week),
        factor_all_weeks=_odds(all_weeks),
        belief_floor=1 - ceiling,
        belief_ceiling=ceiling,
        example_truth=int(truth[-1]),
        example=[int(number) for number in published[-1]],
        simulated_surest=float(np.maximum(ill, 1 - ill).max()),
        simulated_mean=float(right.mean()),
        simulated_right=float((right > 0.5).mean() + (right == 0.5).mean() / 2),
        share=SHARE,
        within=laplace_half_width(law, SHARE),
    )


def _truth(runs: int) -> Ints:
    """The true count of each run: the newcomer is healthy in the first, ill in the second, and so on."""
    return np.where(np.arange(runs) % 2, SECOND.ill, FIRST.ill).astype(np.int64)


def _odds(epsilon: Fraction) -> Fraction:
    """exp(epsilon), rounded up."""
    return Fraction(1 << PRECISION, exp_enclosure(epsilon, PRECISION)[0])


def _panel(title: str, finding: tuple[str, str], law: Law) -> Panel:
    healthy, ill = ({truth + x: float(p) for x, p in law.items()} for truth in (FIRST.ill, SECOND.ill))
    return Panel(title=title, finding=finding, healthy=healthy, ill=ill)


def _laplace_panel(law: DiscreteLaplace, numbers: range) -> Panel:
    epsilon = laplace_epsilon(law, sensitivity=1)
    top = math.tanh(epsilon / 2)  # (1 - q) / (1 + q), so that all probabilities add up to 1

    def chances(truth: int) -> dict[int, float]:
        return {number: top * math.exp(-law.exponent(number - truth)) for number in numbers}

    return Panel(
        title=f"Discrete Laplace noise, epsilon = {epsilon}",
        finding=(
            "Any number fits both diagnoses: the odds",
            f"shift by a factor of at most e^{epsilon} = {at_most(_odds(epsilon))}",
        ),
        healthy=chances(FIRST.ill),
        ill=chances(SECOND.ill),
        endless=True,
    )


def _plain(value: Any) -> Any:
    """Fractions as floats, all the way down."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return float(value) if isinstance(value, Fraction) else value


def page(story: Story, picture: str, pen: Pen) -> str:
    """The story for a terminal of 100 columns, for somebody who has never heard of differential privacy."""
    parts = [
        [
            pen.head("Privet demo: one newcomer, three ways to publish a count"),
            "A hospital publishes every week how many of its patients have a certain disease. One person",
            "joins. Can somebody who reads the published numbers find out whether that newcomer is ill?",
        ],
        _exact_lines(story.exact, pen),
        _uniform_lines(story, pen),
        _laplace_lines(story, pen),
        _price_lines(story, pen),
        [
            "You have seen three releases and one attacker, not a proof. The number of patients was public.",
            f"  picture, with epsilon {CHART_EPSILON}   {picture}",
            "  the promise, and limits   docs/privacy-promise.md",
            "  proofs, each with a test  docs/claims.md",
            "  run those tests           make test",
        ],
    ]
    return "\n\n".join("\n".join(lines) for lines in parts) + "\n"


def _exact_lines(exact: Exact, pen: Pen) -> list[str]:
    diagnosis = "is ill" if exact.new_cases else "is healthy"
    return [
        pen.head("1  The exact count"),
        f"   week 1   {exact.first.ill} of {exact.first.patients:,} patients have the disease",
        f"   week 2   {exact.second.ill} of {exact.second.patients:,}",
        f"   {exact.joined} person joined, nobody else changed, {exact.new_cases} case more: the newcomer {diagnosis}."
        f" Certainty: {pen.bad(percent(exact.certain, 0))}.",
    ]


def _uniform_lines(story: Story, pen: Pen) -> list[str]:
    uniform, exact = story.uniform, story.exact
    only_healthy, only_ill = (", ".join(map(str, x)) for x in (uniform.proves_healthy, uniform.proves_ill))
    low, high = uniform.proves_healthy[-1] + 1, uniform.proves_ill[0] - 1
    one, every = uniform.certain_one_week, uniform.certain_all_weeks
    return [
        pen.head(f"2  A little noise: add a whole number from -{uniform.reach} to {uniform.reach}, all equally likely"),
        "   The worst case, which a promise must cover: the attacker knows everybody but the newcomer.",
        f"   Only two true counts are left: {exact.first.ill} (newcomer healthy) and {exact.second.ill} (ill).",
        f"   published {only_healthy:<9} possible only if healthy: {pen.bad('certain')}",
        f"   published {f'{low} to {high}':<9} equally likely either way: nothing learned",
        f"   published {only_ill:<9} possible only if ill:     {pen.bad('certain')}",
        f"   Chance that the attacker becomes certain: {one} = {percent(one)} in one week,"
        f" {pen.bad(percent(every))} within {story.weeks} weeks.",
        f"   Tried with fresh noise, {story.runs:,} times {story.weeks} weeks: certain in"
        f" {percent(uniform.simulated_certain)} of them, and wrong in {uniform.simulated_wrong}.",
        "   It looks harmless and fails: noise with a smallest and a largest value has tell-tale edges.",
    ]


def _laplace_lines(story: Story, pen: Pen) -> list[str]:
    laplace = story.laplace
    one, every = float(laplace.epsilon), float(laplace.epsilon_all_weeks)
    floor, ceiling = at_least(laplace.belief_floor * 100), at_most(laplace.belief_ceiling * 100)
    return [
        pen.head(f"3  Differential privacy: discrete Laplace noise, epsilon = {one:g} a week"),
        f"   {story.weeks} weeks, true count {laplace.example_truth} in each, published as:"
        f" {' '.join(map(str, laplace.example))}",
        f"   Every whole number, even below zero, can come up either way: {pen.good('nothing is ever certain')}.",
        f"   One week shifts the odds by a factor of at most e^{one:g} = {at_most(laplace.factor_one_week)};"
        f" {story.weeks} weeks by e^{every:g} = {at_most(laplace.factor_all_weeks)}.",
        f"   So a belief that starts at 50 % {pen.good(f'stays between {floor} % and {ceiling} %')},"
        " whatever is published.",
        f"   Tried with fresh noise, {story.runs:,} times {story.weeks} weeks:",
        f"     surest the attacker ever was    {percent(laplace.simulated_surest, 2)}",
        f"     belief in the truth, on average {percent(laplace.simulated_mean)}",
        f"     best guess was right            {percent(laplace.simulated_right)}   (tossing a coin: 50 %)",
    ]


def _price_lines(story: Story, pen: Pen) -> list[str]:
    laplace, small = story.laplace, story.exact.first
    return [
        pen.head(
            f"   The price: {percent(laplace.share, 0)} of the weekly counts are within {laplace.within} of the truth"
        ),
        f"     {small.ill} cases of {small.patients:,}   the noise hides the count itself: useless here",
        f"     {story.big_count:,} cases       {laplace.within} is {percent(story.big_error, 3)} of it: hardly noticed",
        "   Differential privacy protects single people. It pays off for counts that are large compared",
        f"   with 1/epsilon = {float(1 / laplace.epsilon):g}. Every further week adds its epsilon: keep a budget.",
    ]

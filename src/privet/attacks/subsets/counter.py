"""A running counter, published after every arrival: whose arrival counted?

    found = attack_counter(counts, errors=Errors("laplace", 1), truth=secrets)

Everybody who arrives adds 0 or 1 to the count, who arrives when is known, and the count is published again and again,
each time rounded or with fresh noise. The true count is then a hidden walk that is seen through errors: forward and
backward sums over all counts that are possible give every arrival's probability exactly (the forward-backward algorithm
for hidden Markov models: Baum and others 1970), in time proportional to the arrivals times the counts that the errors
leave possible.

Where several people arrive between two publications, only their sum steps: the steps then have the binomial law, and
everybody of one step has the same probability, the mean of the step divided by its people.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from privet.attacks.finding import Finding, Findings, ShownTable, Strength
from privet.attacks.subsets.decoders import checked
from privet.attacks.subsets.decoders.problem import Errors
from privet.attacks.subsets.findings import errors_words
from privet.attacks.subsets.score import SURE, calibration, scored
from privet.attacks.subsets.subset_sums import Guesses, check_errors, secrets_of, variance_of
from privet.core.claim import claim
from privet.errors import InvalidInputError
from privet.typing import Floats, Integers

TAIL = 40.0  # counts whose errors are less likely than e^-40 times the most likely one are left out
MOST_LISTED = 1000
TRIALS = 20  # of a simulation that says what is to be expected
MOST_SIMULATED = 20_000  # arrivals in all of them
RATES = 9  # tried, where the counts leave the rate open
NEGLIGIBLE = 1e-9  # the chance of a rate that changes nothing
OPEN = 0.02  # standard deviation of the rate: a smaller one changes nobody's probability by much
LEAD = (
    f"Found means: the guess about this person is right with a probability of {100 * SURE:.0f} % or more, by Bayes'"
    " rule from all published counts. The others are guessed, too, less surely."
)
ASSUMED = (
    "Who arrived before which publication is known, and everybody adds 0 or 1 to the count.",
    "Errors of different publications are independent of each other.",
)
NOT_TRIED = ("Arrivals that depend on each other.", "Counters that forget, such as of the last seven days.")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Steps:
    """`counts` after each step, in which `sizes` people arrived; people stand in the order of their arrival."""

    counts: Floats
    sizes: Integers
    names: tuple[str, ...]

    @property
    def step_of(self) -> Integers:
        """The step in which each person arrived."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FoundSteps:
    """`means`: how many of each step's people are expected to have added 1."""

    steps: Steps
    errors: Errors
    rate: float
    means: Floats
    forecast: float


def attack_counter(  # noqa: PLR0913  what is published, what is known, and the truth, each by its name
    counts: object,
    *,
    errors: Errors,
    rate: float | None = None,
    arrivals: Sequence[int] | None = None,
    truth: object = None,
    names: Sequence[str] | None = None,
    subject: str = "a running counter",
    progress: Callable[[str, int, int], object] | None = None,
) -> Findings:
    """`counts` are the published ones, in their order; before each one person arrived, or as many as `arrivals` says.
    A counter that is rounded to tens has Errors("bounded", 5). `rate` is the share of people who add 1 (None: every
    rate that the last count leaves open, by how likely it makes all counts)."""
    start = time.perf_counter()
    steps = steps_of(counts, arrivals, names)
    check_errors(errors)
    if errors.law == "outliers":
        raise InvalidInputError(
            "a counter with outliers is not attacked", "give normal, laplace, bounded or exact", "not-supported"
        )
    rates = _rates(steps, errors, rate)
    known = secrets_of(truth, steps.names, "truth")
    tell = progress or (lambda *_: None)
    expected = forecast(steps, errors, float(rates.mean()))
    tell(f"forecast: {100 * expected:.1f} % right", 0, 1)
    tell("decoding", 0, 1)
    means, share = mixed(steps, errors, rates)
    found = FoundSteps(steps=steps, errors=errors, rate=share, means=means, forecast=expected)
    return _findings(found, known, subject, time.perf_counter() - start)


def steps_of(counts: object, arrivals: Sequence[int] | None, names: Sequence[str] | None) -> Steps:
    given = np.asarray(counts) if arrivals is None else np.asarray(arrivals)
    if given.ndim != 1 or not given.size:
        raise InvalidInputError("there are no counts", "give the published counts, in their order", "empty")
    sizes = np.ones(len(given), np.int64) if arrivals is None else given.astype(np.int64)
    if arrivals is not None and (given.dtype.kind not in "iu" or (sizes < 1).any()):
        raise InvalidInputError(
            "arrivals before a count are fewer than 1", "give a whole number of 1 or more for each", "not-positive"
        )
    numbers = checked.numbers(counts, len(sizes))
    people = int(sizes.sum())
    called = tuple(f"arrival {number}" for number in range(1, people + 1)) if names is None else tuple(names)
    if len(called) != people or len(set(called)) < people:
        raise InvalidInputError(
            f"{len(set(called)):,} different names do not go with {people:,} arrivals",
            "name everybody once",
            "wrong-length",
        )
    return Steps(counts=numbers, sizes=sizes, names=called)


def _rates(steps: Steps, errors: Errors, rate: float | None) -> Floats:
    """The one that is known, or those within three standard deviations of what the last count says. With noise that is
    large against the number of people it says little: a rate near 0 because of one low count would make everybody's 0
    look sure."""
    if rate is not None:
        if not 0 < rate < 1:
            raise InvalidInputError(
                f"a rate of {rate:g} leaves nothing to guess", "give a share between 0 and 1", "out-of-range"
            )
        return np.array([rate])
    people = len(steps.names)
    least = 1 / (people + 2)
    seen = min(max((float(steps.counts[-1]) + 1) / (people + 2), least), 1 - least)
    deviation = math.hypot(variance_of(errors) ** 0.5 / people, 0.5 / math.sqrt(people))
    if deviation < OPEN:
        return np.array([seen])
    return np.linspace(max(seen - 3 * deviation, least), min(seen + 3 * deviation, 1 - least), RATES)


# The hidden walk


def mixed(steps: Steps, errors: Errors, rates: Floats) -> tuple[Floats, float]:
    """What every rate makes of the counts, by Bayes' rule for the rate if all these are equally likely before; and the
    mean rate."""
    walks = [_walked(steps, errors, float(rate)) for rate in rates]
    logs = np.array([walk.log for walk in walks])
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    likely = np.flatnonzero(weights > NEGLIGIBLE)  # of others the backward sums may be too small for numbers
    means = np.array([_means(steps, walks[place]) for place in likely])
    return np.asarray(weights[likely] @ means / weights[likely].sum()), float(weights @ rates)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Walk:
    """The forward sums, and what they are made of."""

    forward: list[Floats]
    bands: list[tuple[int, int]]
    laws: dict[int, Floats]
    likely: list[Floats]
    log: float  # of the chance of these counts, up to what is the same for every rate


@claim("counter-posterior")
def posterior(steps: Steps, errors: Errors, rate: float) -> Floats:
    """For each step, how many of its people are expected to have added 1, given all counts. Exact but for what TAIL
    leaves out, and for rounding.

    With alpha[t][c] proportional to P(counts up to t, true count c) and beta[t][c] to P(counts after t | c), the mean
    step is the sum over c and s of s * alpha[t-1][c] * binomial(s) * likelihood[t][c+s] * beta[t][c+s], divided by the
    same sum without the factor s.
    """
    return _means(steps, _walked(steps, errors, rate))


def _walked(steps: Steps, errors: Errors, rate: float) -> Walk:
    total = np.cumsum(steps.sizes)
    bands = [_band(count, errors, int(most)) for count, most in zip(steps.counts, total, strict=True)]
    laws = {int(size): _binomial(int(size), rate) for size in np.unique(steps.sizes)}
    likely = [_likelihood(np.arange(low, high + 1), count, errors)
              for (low, high), count in zip(bands, steps.counts, strict=True)]  # fmt: skip
    forward, low, log = [np.ones(1)], 0, 0.0
    for place, size in enumerate(steps.sizes):
        spread = np.convolve(forward[-1], laws[int(size)])
        now = _cut(spread, low, bands[place]) * likely[place]
        if not now.sum() > 0:
            raise InvalidInputError(
                f"no arrivals fit count {place + 1:,}, {steps.counts[place]:g}, with these errors",
                "give larger errors, or correct the counts",
                "contradiction",
            )
        forward.append(now / now.sum())
        log += math.log(now.sum())
        low = bands[place][0]
    return Walk(forward=forward, bands=bands, laws=laws, likely=likely, log=log)


def _means(steps: Steps, walk: Walk) -> Floats:
    means, after = np.empty(len(steps.sizes)), np.ones(len(walk.forward[-1]))
    for place in range(len(steps.sizes) - 1, -1, -1):
        law, before = walk.laws[int(steps.sizes[place])], walk.forward[place]
        low = walk.bands[place - 1][0] if place else 0
        seen, first = walk.likely[place] * after, walk.bands[place][0]
        reached = [_cut(seen, first, (low + step, low + step + len(before) - 1)) for step in range(len(law))]
        weights = np.array([before @ one for one in reached]) * law
        if not weights.sum() > 0:
            raise InvalidInputError(
                f"the counts up to {place + 1:,} and those after do not go together at this rate",
                "give another rate or larger errors, or leave the rate out",
                "contradiction",
            )
        means[place] = weights @ np.arange(len(law)) / weights.sum()
        back = law @ np.array(reached)
        after = back / back.max()
    return means


def _band(count: float, errors: Errors, most: int) -> tuple[int, int]:
    """True counts that are possible, or likely enough to matter."""
    match errors.law:
        case "normal":
            reach = errors.size * math.sqrt(2 * TAIL)
        case "laplace":
            reach = errors.size * TAIL
        case _:
            reach = errors.size + 1e-6
    low, high = max(math.ceil(count - reach), 0), min(math.floor(count + reach), most)
    if high < low:
        low = high = min(max(round(count), 0), most)  # nothing fits: the nearest, whose likelihood says so
    return low, high


def _likelihood(values: Integers, count: float, errors: Errors) -> Floats:
    """Of each true count, up to a factor: the largest is 1 where the law has a peak."""
    gap = np.abs(values - count)
    match errors.law:
        case "normal":
            logs = -0.5 * (gap / errors.size) ** 2
        case "laplace":
            logs = -gap / errors.size
        case _:
            return np.asarray((gap <= errors.size + 1e-6).astype(np.float64))
    if logs.max() < -TAIL - 1:  # of a count that is far from all that are possible
        return np.zeros(len(values))
    return np.asarray(np.exp(logs - logs.max()))


def _binomial(size: int, rate: float) -> Floats:
    logs = [
        math.lgamma(size + 1) - math.lgamma(hits + 1) - math.lgamma(size - hits + 1)
        + hits * math.log(rate) + (size - hits) * math.log1p(-rate)
        for hits in range(size + 1)
    ]  # fmt: skip
    return np.asarray(np.exp(np.array(logs)))


def _cut(values: Floats, low: int, band: tuple[int, int]) -> Floats:
    """The values of whole numbers from `low` on, read over a band of others: 0 where there are none."""
    found = np.zeros(band[1] - band[0] + 1)
    first, last = max(low, band[0]), min(low + len(values) - 1, band[1])
    if first <= last:
        found[first - band[0] : last - band[0] + 1] = values[first - low : last - low + 1]
    return found


# What is to be expected, and what was found


def forecast(steps: Steps, errors: Errors, rate: float) -> float:
    """The mean share that is right in made counters of the same steps, which the same attack decodes."""
    draw = np.random.default_rng(0)
    some = steps.sizes[: max(MOST_SIMULATED // max(int(steps.sizes.mean()), 1), 1)]
    trials = max(min(TRIALS, MOST_SIMULATED // int(some.sum())), 1)
    right, step = [], _rounded_to(steps, errors)
    for _ in range(trials):
        bits = (draw.random(int(some.sum())) < rate).astype(np.int8)
        exact = np.cumsum(bits)[np.cumsum(some) - 1].astype(np.float64)
        counts = np.rint(exact / step) * step if step else exact + _made_noise(errors, len(some), draw)
        made = Steps(counts=counts, sizes=some, names=())
        chance = posterior(made, errors, rate) / some
        right.append(float(((chance[made.step_of] > 0.5) == bits).mean()))
    return float(np.mean(right))


def _rounded_to(steps: Steps, errors: Errors) -> float:
    """Twice a largest error, if all counts are multiples of that: made counts are then rounded, too, as the errors of
    rounding are no draws of their own. 0 if not."""
    step = 2 * errors.size
    return step if errors.law == "bounded" and step > 0 and not (steps.counts % step).any() else 0.0


def _made_noise(errors: Errors, number: int, draw: np.random.Generator) -> Floats:
    match errors.law:
        case "normal":
            return draw.normal(0, errors.size, number)
        case "laplace":
            return draw.laplace(0, errors.size, number)
        case _:
            return draw.uniform(-errors.size, errors.size, number)


def _findings(found: FoundSteps, truth: Guesses | None, subject: str, seconds: float) -> Findings:
    steps, errors, expected = found.steps, found.errors, found.forecast
    chance = np.clip((found.means / steps.sizes)[steps.step_of], 0, 1)
    guesses, confidence = (chance > 0.5).astype(np.int8), np.maximum(chance, 1 - chance)
    score = None if truth is None else scored(guesses, confidence, truth, None)
    drawn = None if truth is None else calibration(guesses, confidence, truth)
    sure = np.flatnonzero(confidence >= SURE)
    order = sure[np.argsort(-confidence[sure], kind="stable")][:MOST_LISTED]
    people = len(steps.names)
    headline = f"The guesses are expected to be right for about {100 * confidence.mean():.1f} % of {people:,} people"
    if score is not None and truth is not None:
        known = int((truth >= 0).sum())
        headline = f"{round(score.success.value * known):,} of {known:,} people's arrivals are guessed right"
    return Findings(
        attack="counter",
        subject=subject,
        headline=headline,
        people=people,
        claimed=len(sure),
        findings=tuple(_finding(steps.names[at], int(guesses[at]), float(confidence[at])) for at in order),
        tables=(_expected(steps, errors, expected),),
        pictures=() if drawn is None else (drawn,),
        score=score,
        assumptions=(*ASSUMED, f"The counts are published {errors_words(errors)}."),
        not_tried=NOT_TRIED,
        numbers={
            "recovered": None if score is None else score.success.value,
            "expected": float(confidence.mean()),
            "forecast": expected,
            "people": people,
            "publications": len(steps.counts),
            "rate": found.rate,
            "errors": {"law": errors.law, "size": errors.size, "share": errors.share},
            "baseline": None if score is None else score.baseline.value,
            "sure": len(sure),
        },
        seconds=seconds,
        word="found",
        lead=LEAD,
    )


def _finding(name: str, bit: int, confidence: float) -> Finding:
    said = "added 1 to the count" if bit else "added nothing to the count"
    return Finding(claim=f"{name} {said}", strength=Strength.CONFIDENCE, confidence=confidence)


def _expected(steps: Steps, errors: Errors, expected: float) -> ShownTable:
    rows: tuple[tuple[str, ...], ...] = (
        ("forward-backward", f"{100 * expected:.1f} %", "made counters, decoded in the same way"),
    )
    many = f" Several people arrive before a count ({len(steps.counts):,} counts): only their sum is known."
    return ShownTable(
        "What was to be expected",
        f"The share of {len(steps.names):,} people who are guessed right from counts {errors_words(errors)}."
        + (many if len(steps.counts) < len(steps.names) else ""),
        ("decoder", "right", "why"),
        rows,
    )

"""What the attack will find, and how far its probabilities are to be trusted: the attack itself, on simulated data.

Secrets and errors are drawn for the very queries that were asked, and each simulated data set is attacked in the same
way as the given one: with the same choice of a decoder, and with the share of ones read off the answers. So the
forecast is that of the estimator which is used. Runs go on until their mean is known to CLOSE or the work is spent,
counted in cells of the matrix that decoders read. Problems that are too large for this follow the laws of many people
(`decoders.expected`).

The runs also say what no law of many people does. A decoder that steps in where another failed sees the harder data
sets only, so its share is that of the runs in which it stepped in. And with few people the probabilities of message
passing are too sure: the runs show by how much.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from privet.attacks.subsets.decoders.problem import Decoded, Errors, Forecast, Matrix
from privet.typing import Floats, Integers, Truths

Progress = Callable[[str, int, int], object]
MOST_CELLS = 1 << 24  # of the matrix: 2,000 people and 4 queries for each
WORK = 1 << 35  # cells that decoders may read in all runs together
FEWEST, MOST_RUNS = 19, 59
AT_EACH_END = 20  # one run in 20 lies below the interval, one above
CLOSE = 0.006  # the deviation of the mean of all runs at which there are enough
FEW_RUNS = 5  # of one decoder: fewer say nothing about it
UNSURE = 0.94  # below what is called sure
MULTIPLE = 1e-9  # of a step: how far a multiple of it may be off
SURE_ODDS = 30.0  # logarithm: nobody is surer
ORDERS = 8  # in which people get their ones, to see by how much a mean answer varies
WIDE = 4.0  # deviations on both sides of a mean answer that may fit it
NUMBERS = 13  # of ones that are tried between
LEAST_RATE = 0.01  # a share of people with the secret that is read off the answers is never less, nor 1 less it more


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Asked:
    """What is attacked, and how. `read` gives the share of ones that the attack would read off other answers."""

    matrix: Matrix
    answers: Floats
    errors: Errors
    decoder: str
    rate: float
    read: Callable[[Floats], float]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Trials:
    """One entry per simulated data set."""

    people: int
    shares: Floats  # of people whose bit was right
    decoders: tuple[tuple[str, bool], ...]  # the one taken, and whether it said how sure each bit is
    trust: float  # what log odds of message passing are multiplied by, from 0 to 1

    def forecast(self, decoder: str) -> Forecast:
        ordered, runs = np.sort(self.shares), len(self.shares)
        beyond = (runs + 1) // AT_EACH_END - 1  # the next data set is as likely to have any rank among these
        known = beyond >= 0
        return Forecast(
            decoder=decoder,
            recovered=float(self.shares.mean()),
            why=f"by simulation: {runs} data sets with {runs * self.people:,} secrets were attacked",
            low=float(ordered[beyond]) if known else None,
            high=float(ordered[runs - 1 - beyond]) if known else None,
        )

    def share(self, found: Decoded) -> float:
        """Of right bits where this decoder was taken and came to the same end, less its deviation and one more wrong
        bit."""
        some = self.shares[[one == (found.decoder, found.right is not None) for one in self.decoders]]
        if len(some) < FEW_RUNS:
            return min(UNSURE, float(self.shares.min()))
        deviation = float(some.std(ddof=1)) / math.sqrt(len(some))
        return max(float(some.mean()) - deviation - 1 / (len(some) * self.people), 0.5)

    def tempered(self, right: Floats) -> Floats:
        """Probabilities that are as often right as they say."""
        return tempered(right, self.trust)


def as_rounded(errors: Errors, answers: Floats) -> Errors:
    """Bounded errors of answers that are all multiples of twice the bound are those of rounding to it."""
    step = 2 * errors.size
    if errors.law != "bounded" or not step:
        return errors
    off = np.abs(answers - step * np.rint(answers / step))
    return replace(errors, step=step) if (off <= MULTIPLE * step).all() else errors


def expected(asked: Asked, progress: Progress | None) -> tuple[Trials | None, tuple[Forecast, ...]]:
    """Of this attack, by simulation. Where that is too much work: of every decoder that suits, or of the one that was
    asked for."""
    from privet.attacks.subsets.decoders import choice  # noqa: PLC0415  brings numba
    from privet.attacks.subsets.decoders.expected import forecast  # noqa: PLC0415

    tell = progress or (lambda *_: None)
    law, rate, people = as_rounded(asked.errors, asked.answers), asked.rate, asked.matrix.shape[1]
    ones = ones_that_fit(asked.matrix, asked.answers, law.step) if law.step else None
    if ones is not None:
        rate = min(max(float(ones.numbers @ ones.chances) / people, LEAST_RATE), 1 - LEAST_RATE)
    tried = None
    if asked.matrix.shape[0] * people <= MOST_CELLS:
        tried = _trials(asked, law, ones, tell)
        forecasts: tuple[Forecast, ...] = (tried.forecast(asked.decoder),)
    elif asked.decoder == choice.AUTO:
        forecasts = choice.forecasts(asked.matrix, law, rate=rate, progress=progress)
    else:
        forecasts = (forecast(asked.decoder, asked.matrix, law, rate=rate, progress=progress),)
    for one in forecasts:
        tell(f"forecast: {one.decoder} {right_words(one)} right ({one.why})", 0, 1)
    return tried, forecasts


def right_words(one: Forecast) -> str:
    between = "" if one.low is None or one.high is None else f" ({100 * one.low:.1f} to {100 * one.high:.1f} %)"
    return f"{100 * one.recovered:.1f} %{between}"


def _trials(asked: Asked, law: Errors, ones: Ones | None, tell: Progress) -> Trials:
    from privet.attacks.subsets.decoders import choice  # noqa: PLC0415  brings numba
    from privet.attacks.subsets.decoders.expected import simulated_answers  # noqa: PLC0415

    rows, people = asked.matrix.shape
    random = np.random.default_rng(people)
    whole = bool((asked.answers == np.rint(asked.answers)).all()) and not law.step  # rounded after the noise
    shares: list[float] = []
    decoders: list[tuple[str, bool]] = []
    said: list[tuple[Floats, Truths]] = []
    work = 0
    while len(shares) < MOST_RUNS and work < WORK:
        if len(shares) >= FEWEST and float(np.std(shares)) <= CLOSE * math.sqrt(len(shares)):
            break
        tell("simulating", len(shares), MOST_RUNS)
        secrets = _secrets(people, asked.rate if ones is None else ones, random)
        answers = simulated_answers(asked.matrix, secrets, law, random)
        answers = np.rint(answers) if whole else answers
        found = choice.decode(asked.matrix, answers, asked.errors, decoder=asked.decoder, rate=asked.read(answers))
        correct = found.bits == secrets
        shares.append(float(correct.mean()))
        decoders.append((found.decoder, found.right is not None))
        said += [] if found.right is None else [(found.right, correct)]
        work += 2 * rows * people * found.rounds
    return Trials(people=people, shares=np.array(shares), decoders=tuple(decoders), trust=trust_of(said))


def _secrets(people: int, ones: Ones | float, random: np.random.Generator) -> Floats:
    if not isinstance(ones, Ones):
        return (random.random(people) < ones).astype(np.float64)
    secrets = np.zeros(people)
    secrets[random.permutation(people)[: random.choice(ones.numbers, p=ones.chances)]] = 1
    return secrets


def _odds(right: Floats) -> Floats:
    with np.errstate(divide="ignore"):
        return np.asarray(np.clip(np.log(right) - np.log1p(-right), -SURE_ODDS, SURE_ODDS))


def tempered(right: Floats, trust: float) -> Floats:
    """Log odds multiplied by a factor."""
    return np.asarray(1 / (1 + np.exp(-trust * _odds(right))))


def trust_of(told: list[tuple[Floats, Truths]]) -> float:
    """The factor of log odds, at most 1, with which what happened is likeliest: the slope of that likelihood falls."""
    if not told:
        return 1.0
    odds = np.concatenate([_odds(right) for right, _ in told])
    correct = np.concatenate([right for _, right in told])

    def slope(factor: float) -> float:
        return float((odds * (correct - 1 / (1 + np.exp(-factor * odds)))).sum())

    low, high = 0.0, 1.0
    if slope(high) >= 0:
        return high
    for _ in range(20):
        middle = (low + high) / 2
        low, high = (middle, high) if slope(middle) > 0 else (low, middle)
    return low


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ones:
    """Numbers of people with a 1, and how likely each is."""

    numbers: Integers
    chances: Floats


def ones_that_fit(matrix: Matrix, answers: Floats, step: float) -> Ones:
    """The numbers of ones with which rounded sums have about the mean of the answers. Where sums lie between two
    multiples of the step decides how much rounding tells; if all answers are the same, many numbers fit. Each is as
    likely as the distance from the mean answer in deviations, which a few orders show: by Student's law."""
    people, target = matrix.shape[1], float(answers.mean())
    random = np.random.default_rng(people)
    orders = [random.permutation(people) for _ in range(ORDERS)]

    def means(ones: int) -> Floats:
        secrets = np.zeros((ORDERS, people))
        for row, order in zip(secrets, orders, strict=True):
            row[order[:ones]] = 1
        return np.array([(step * np.rint(matrix.times(row) / step)).mean() for row in secrets])

    def first(reached: Callable[[int], bool]) -> int:
        low, high = -1, people
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if reached(middle) else (middle, high)
        return high

    middle = first(lambda ones: float(means(ones).mean()) >= target)
    deviation = float(means(middle).std(ddof=1)) * math.sqrt(1 + 1 / ORDERS)
    reach = WIDE * deviation + MULTIPLE * step
    low = first(lambda ones: float(means(ones).mean()) >= target - reach)
    high = first(lambda ones: float(means(ones).mean()) > target + reach) - (1 if reach < step * 1e-6 else 0)
    numbers = np.unique(np.linspace(low, max(low, high), NUMBERS).round().astype(np.int64))
    off = np.array([float(means(int(ones)).mean()) for ones in numbers]) - target
    chances = (1 + np.square(off / (deviation + MULTIPLE * step)) / (ORDERS - 1)) ** (-ORDERS / 2)
    return Ones(numbers=numbers, chances=chances / chances.sum())

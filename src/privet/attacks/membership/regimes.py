"""Error regimes: how wrong published means have to be so that attacks stop, for so many people and statistics.

    attack_regimes(people=1000, statistics=1000, epsilon=1).report("regimes.html")

All errors are standard deviations of one published mean of yes/no values with rates of 1/2 (v = 1/4). n people are in
the data, d means are published, with independent errors of size s.

* Sampling error, sqrt(v / n): what a mean of n people says of everybody is wrong by so much anyway.
* Membership, about sqrt(d) / n. A person's record and the means lean to the same side. For people inside, the score is
  higher by z of its standard deviations, z = sqrt(d) (v / n) / sqrt(v (v / n + s^2)), and the AUC is Phi(z / sqrt 2).
* Reconstruction, about sqrt(d) / n from d of the order of n on. The means are over random halves of the people, of a
  secret. The best linear decoder sees every secret with a normal error of variance t solving
  t = (4 n^2 s^2 + n v t / (v + t)) / d (Tse and Hanly 1999), and is right for a share Phi(1 / (2 sqrt t)).
* Differential privacy: the noise that Privet adds to d sums of which one person moves each by 1, divided by n.

Independent errors average out, which is why more statistics help. An error of sqrt(v / n) that does not, such as that
of answering from a random half of the people, hides the other half from every attack, whatever d is: this is why the
notes put the limit of reconstruction at 1 / sqrt(n).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from statistics import NormalDist

import numpy as np

from privet.attacks.finding import Curve, Findings, Picture, ShownTable
from privet.attacks.promise import Privacy, privacy
from privet.core.accountant import Budget
from privet.core.mechanisms import gaussian_for_rho, laplace_for
from privet.core.rational import whole
from privet.errors import InvalidInputError
from privet.stats.roc import roc

# Attacks that are really run, on simulated data, for the picture of error regimes.
#
# People have yes/no attributes with rates of 1/2, independent of each other. A release is d means with independent
# normal errors of a given size. How well the attacks do depends on d / n and on error x sqrt(n) only, so a large number
# of people is simulated by a smaller one with the same two.

MEMBERS, SECRETS = 2000, 400  # people at most, for the one attack and the other
SEEN = 250  # people inside whose scores are looked at, and as many outside


def membership_aucs(people: int, ratio: float, errors: Sequence[float], random: np.random.Generator) -> list[float]:
    """The inner-product test: how far a person and the means lean to the same side. For rates of 1/2 it ranks people as
    the likelihood ratio does, up to a term that is the same for all. Errors are x sqrt(n)."""
    n = min(people, MEMBERS)
    attributes, seen = max(1, round(ratio * n)), min(n, SEEN)
    inside, outside = (random.integers(0, 2, (seen, attributes), np.int8).astype(np.float32) - 0.5 for _ in range(2))
    rest = random.binomial(n - seen, 0.5, attributes) - (n - seen) / 2
    means = (inside.sum(axis=0, dtype=np.float64) + rest) / n
    noise = random.normal(size=(len(errors), attributes)) * (np.array(errors) / math.sqrt(n))[:, None]
    published = (means + noise).astype(np.float32).T
    return [
        roc(mine, theirs).auc.value
        for mine, theirs in zip((inside @ published).T, (outside @ published).T, strict=True)
    ]


def recovered_shares(people: int, ratio: float, errors: Sequence[float], random: np.random.Generator) -> list[float]:
    """The best linear decoder of a secret yes or no of everybody, from d means over random halves of the people: ridge
    regression, with the weight that the size of the error asks for. Errors are x sqrt(n)."""
    n = min(people, SECRETS)
    answers = max(1, round(ratio * n))
    signs = random.integers(0, 2, (answers, n)).astype(np.float64) - 0.5
    secrets = random.integers(0, 2, n).astype(np.float64) - 0.5
    counted = signs - signs.mean(axis=0)  # what all answers have in common says nothing of one person
    left, sizes, right = np.linalg.svd(counted, full_matrices=False)
    clean = counted @ secrets
    noise = random.normal(size=answers)
    shares = []
    for error in errors:
        spread = error * math.sqrt(n)  # of a sum
        weights = sizes / (sizes**2 + 4 * spread**2 + 1e-9)  # 1/4 is the variance of a secret
        guess = right.T @ (weights * (left.T @ (clean + spread * (noise - noise.mean()))))
        shares.append(float((np.sign(guess) == np.sign(secrets)).mean()))
    return shares


Progress = Callable[[str, int, int], object]
VARIANCE = 0.25  # of a yes/no with a rate of 1/2
WORKS = 0.75  # an attack works from this AUC, or this share of secrets, on
NORMAL = NormalDist()
RATIOS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)  # statistics a person, of the points
FARTHEST = 20.0  # statistics a person: there is no point beyond
ERRORS = tuple(0.04 * 2.0**step for step in range(8))  # x sqrt(n), of the points
LEAST = 0.02  # x sqrt(n): no line is drawn below
STEPS = 60  # of a line
MOST = 10**12  # people or statistics
KINDS = ("both attacks work", "neither works", "reconstruction alone works", "membership alone works")
LEAD = (
    "A forecast, and attacks on made data: nobody's data were attacked. Below a line the attack works, above it fails;"
    " it works if its AUC, or the share of secrets it gets right, is 75 % or more (50 % is blind guessing)."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """Two attacks on made data, and what was expected of them."""

    statistics: int
    error: float
    auc: float
    auc_forecast: float
    recovered: float
    recovered_forecast: float

    @property
    def kind(self) -> str:
        return KINDS[{(True, True): 0, (False, False): 1, (False, True): 2, (True, False): 3}[self.works]]

    @property
    def works(self) -> tuple[bool, bool]:
        return self.auc >= WORKS, self.recovered >= WORKS


def sampling_error(people: int) -> float:
    return math.sqrt(VARIANCE / people)


def membership_auc(people: int, statistics: float, error: float) -> float:
    z = math.sqrt(statistics * VARIANCE / (VARIANCE / people + error**2)) / people
    return NORMAL.cdf(z / math.sqrt(2))


def membership_error(people: int, statistics: float, auc: float = WORKS) -> float:
    """The error at which the AUC is this; 0 if it is less even for exact means."""
    z = math.sqrt(2) * NORMAL.inv_cdf(auc)
    return math.sqrt(max(0.0, VARIANCE * (statistics / (people * z) ** 2 - 1 / people)))


def recovered_share(people: int, statistics: float, error: float) -> float:
    """The positive root of the equation for t above, which is a quadratic one."""
    noise, load = 4 * (people * error) ** 2 / statistics, people / statistics
    half = (noise + load * VARIANCE - VARIANCE) / 2
    t = half + math.sqrt(half**2 + noise * VARIANCE)
    return NORMAL.cdf(0.5 / math.sqrt(t)) if t > 0 else 1.0


def reconstruction_error(people: int, statistics: float, share: float = WORKS) -> float:
    """The error at which this share of secrets is right; 0 if it is less even for exact means."""
    t = (0.5 / NORMAL.inv_cdf(share)) ** 2
    return math.sqrt(max(0.0, statistics * t - people * VARIANCE * t / (VARIANCE + t))) / (2 * people)


def laplace_error(people: int, statistics: int, epsilon: Fraction) -> float:
    """Of discrete Laplace noise of scale b = d / epsilon: 1 / (sqrt 2 sinh(1 / 2b)), for a sum."""
    scale = float(laplace_for(epsilon, statistics).scale)
    return 1 / (math.sqrt(2) * math.sinh(min(1 / (2 * scale), 700.0)) * people)


def gaussian_error(people: int, statistics: int, epsilon: Fraction, delta: Fraction) -> float:
    """Of discrete Gaussian noise for the whole zCDP budget that Privet grants (epsilon, delta)."""
    law = gaussian_for_rho(Budget(epsilon, delta).rho, statistics)
    return math.sqrt(law.variance) / people


def attack_regimes(  # noqa: PLR0913  all by name
    *,
    people: int,
    statistics: int,
    epsilon: object = None,
    delta: object = 0,
    seed: int = 0,
    progress: Progress | None = None,
) -> Findings:
    """The picture, and where these numbers fall in it. Without `epsilon` no noise is drawn; `delta` above 0 adds
    Gaussian noise."""
    start, n, d = time.perf_counter(), whole(people, "people", 10), whole(statistics, "statistics", 1)
    whole(seed, "seed", 0)
    if max(n, d) > MOST:
        raise InvalidInputError(
            f"{max(n, d):,} people or statistics are too many", f"give {MOST:,} at most", "too-many"
        )
    if epsilon is None and delta:
        raise InvalidInputError(
            "a delta without an epsilon promises nothing", "give an epsilon, such as 1", "missing-price"
        )
    promise = None if epsilon is None else privacy(epsilon, delta)
    if promise is not None:
        Budget(promise.epsilon, promise.delta)  # refuses what no vault takes
    points = simulate(n, d, seed, progress)
    limits = {
        "sampling": sampling_error(n),
        "membership": membership_error(n, d),
        "reconstruction": reconstruction_error(n, d),
        **_noise(n, d, promise),
    }
    return Findings(
        attack="regimes",
        subject=f"{n:,} people and {d:,} means",
        headline=_headline(n, d, limits),
        people=None,
        findings=(),
        pictures=(_picture(n, d, promise, points),),
        tables=(_limits_table(limits), _points_table(n, d, points)),
        assumptions=_assumptions(n),
        not_tried=(
            "Correlated attributes and rare ones: privet attack membership.",
            "Decoders that use that a secret is a yes or no: privet attack subsets goes further with few statistics.",
        ),
        numbers={
            "n": n, "d": d, "errors": limits, "points": [asdict(point) for point in points],
            "epsilon": None if promise is None else float(promise.epsilon),
            "delta": None if promise is None else float(promise.delta),
        },
        seconds=time.perf_counter() - start,
        lead=LEAD,
    )  # fmt: skip


def simulate(people: int, statistics: int, seed: int = 0, progress: Progress | None = None) -> list[Point]:
    """A column of points for each ratio of statistics to people; the own ratio is one of them if it is not far off."""
    own = statistics / people
    ratios = sorted({*RATIOS, *([own] if RATIOS[0] / 2 <= own <= FARTHEST else [])})
    random, found = np.random.default_rng(seed), []
    for done, ratio in enumerate(ratios):
        if progress is not None:
            progress("attacking made data", done, len(ratios))
        aucs = membership_aucs(people, ratio, ERRORS, random)
        shares = recovered_shares(people, ratio, ERRORS, random)
        d = max(1, round(ratio * people))
        for scaled, auc, share in zip(ERRORS, aucs, shares, strict=True):
            error = scaled / math.sqrt(people)
            found.append(
                Point(
                    statistics=d, error=error, auc=auc, auc_forecast=membership_auc(people, d, error),
                    recovered=share, recovered_forecast=recovered_share(people, d, error),
                )
            )  # fmt: skip
    return found


def _noise(people: int, statistics: int, promise: Privacy | None) -> dict[str, float]:
    if promise is None:
        return {}
    found = {"laplace": laplace_error(people, statistics, promise.epsilon)}
    if promise.delta:
        found["gaussian"] = gaussian_error(people, statistics, promise.epsilon, promise.delta)
    return found


# In words


def _headline(people: int, statistics: int, limits: dict[str, float]) -> str:
    most = max(limits["membership"], limits["reconstruction"])
    told = f"work while the error of a mean is below {most:.2g}" if most else "stay below 75 %, even on exact means"
    return f"{statistics:,} means of {people:,} people: these attacks {told}"


def _sentence(limits: dict[str, float]) -> str:
    parts = [
        f"{name.capitalize()} works while the error of each mean is below {limits[name]:.2g}."
        if limits[name]
        else f"{name.capitalize()} does not work, even on exact means."
        for name in ("membership", "reconstruction")
    ]
    noise = [f"{limits[name]:.2g} ({name.capitalize()})" for name in ("laplace", "gaussian") if name in limits]
    needed = [f"This epsilon needs an error of {' or '.join(noise)}."] if noise else []
    rest = "Errors are standard deviations; a mean lies between 0 and 1, so one of 0.5 leaves nothing."
    return " ".join([*parts, f"The sampling error is {limits['sampling']:.2g}.", *needed, rest])


def _limits_table(limits: dict[str, float]) -> ShownTable:
    laws = {
        "sampling": ("sampling error", "1 / (2 √n)"),
        "membership": ("membership, below", "about √d / (2n)"),
        "reconstruction": ("reconstruction, below", "about √d / (3n), d large"),
        "laplace": ("Laplace noise", "√2 d / (epsilon n)"),
        "gaussian": ("Gaussian noise", "√d / (√(2 rho) n)"),
    }
    most = max(limits["membership"], limits["reconstruction"])
    rows = [
        (*laws[name], f"{size:.3g}" if size else "not even 0", f"{size / most:.3g} times" if most else "–")
        for name, size in limits.items()
    ]
    return ShownTable(
        "With these numbers",
        _sentence(limits),
        ("what", "law", "error of a mean", "of what stops both"),
        tuple(rows),
    )


def _points_table(people: int, statistics: int, points: Sequence[Point]) -> ShownTable:
    own = [point for point in points if point.statistics == statistics]
    near = own or [point for point in points if point.statistics == people]
    rows = [
        (
            f"{point.error:.2g}", f"{point.auc:.3f}", f"{point.auc_forecast:.3f}",
            f"{100 * point.recovered:.1f} %", f"{100 * point.recovered_forecast:.1f} %",
        )
        for point in near
    ]  # fmt: skip
    return ShownTable(
        f"The attacks on made data, {near[0].statistics:,} means",
        ""
        if own
        else "Attacks are run up to 20 statistics a person, and from 1 in 20 on; these are as many as people.",
        ("error of a mean", "membership AUC", "AUC forecast", "secrets right", "share forecast"),
        tuple(rows),
    )


def _assumptions(people: int) -> tuple[str, ...]:
    fewer = (
        (
            f"The points were made with {min(people, MEMBERS):,} people for membership and {min(people, SECRETS):,} for"
            " reconstruction: both depend on d / n and error × √n only.",
        )
        if people > SECRETS
        else ()
    )
    return (
        "Attributes are yes or no, independent, and half of the people have each. The attacker knows these rates.",
        "Errors are normal and independent of each other; one that answers from a sample of the people is not.",
        "Membership: means of attributes, and the attacker knows the person's. Reconstruction: means of one secret over"
        " random halves of the people, who are known.",
        "Noise for differential privacy: one person moves each sum by at most 1, and the number of people is known.",
        *fewer,
    )


def _picture(people: int, statistics: int, promise: Privacy | None, points: Sequence[Point]) -> Picture:
    low, high = min(points[0].statistics, statistics), max(points[-1].statistics, statistics)
    places = [round(place) for place in np.geomspace(low, high, STEPS)]
    least = LEAST / math.sqrt(people)
    curves = [
        Curve(name="sampling error, 1/(2√n)", x=(low, high), y=(sampling_error(people),) * 2),
        _line("membership works below, about √d/n", places, lambda d: membership_error(people, d), least),
        _line("reconstruction works below", places, lambda d: reconstruction_error(people, d), least),
    ]
    if promise is not None:
        said = f"epsilon {float(promise.epsilon):g}"
        curves.append(_line(f"Laplace noise, {said}", places, lambda d: laplace_error(people, d, promise.epsilon)))
        if promise.delta:
            name = f"Gaussian noise, {said}, delta {float(promise.delta):g}"
            curves.append(_line(name, places, lambda d: gaussian_error(people, d, promise.epsilon, promise.delta)))
    heights = [y for curve in curves for y in curve.y] + [point.error for point in points]
    curves.append(Curve(name=f"your {statistics:,} means", x=(statistics,) * 2, y=(min(heights), max(heights))))
    for kind in KINDS:
        some = [point for point in points if point.kind == kind]
        curves.append(
            Curve(
                name=kind, style="points",
                x=tuple(float(point.statistics) for point in some), y=tuple(point.error for point in some),
            )
        )  # fmt: skip
    return Picture(
        title="Where attacks stop",
        text="Each point is two attacks on made data with so many means and such an error. Lines are forecasts.",
        alt="The points where attacks work lie below the lines of membership and reconstruction, which rise with the"
        " number of statistics; noise for differential privacy, where it is drawn, lies above them.",
        x="statistics published (d)",
        y="error of each published mean",
        curves=tuple(curves),
        log_x=True,
        log_y=True,
    )


def _line(name: str, places: Sequence[int], height: Callable[[int], float], least: float = 0.0) -> Curve:
    shown = [(float(place), size) for place in dict.fromkeys(places) if (size := height(place)) > least]
    return Curve(name=name, x=tuple(x for x, _ in shown), y=tuple(y for _, y in shown))

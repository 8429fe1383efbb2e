"""How sure guesses from answers about classes of people are, whatever the answers: the linear posterior mean.

A decoder that fits values in a box ends at 0 and 1 for most people, however large the errors are: its values are no
probabilities. Those here are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from privet.attacks.subsets.decoders.normal import cdf
from privet.attacks.subsets.decoders.problem import Decoded, Errors
from privet.attacks.subsets.subset_sums import variance_of
from privet.typing import Floats, Integers

Members = npt.NDArray[np.uint8]
SLACK = 1e-9  # of variances, where answers are exact
CLEAR = 6.0  # standard deviations by which residuals are larger than they can be by chance
TOO_LARGE = 1.25  # the least factor of a variance that is called one
HALVINGS = 60
UNKNOWN = Errors("bounded", 0.5)  # if nobody says: those of rounding


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Looked:
    """Answers about classes, taken apart into directions that do not disturb each other.

    With everybody's secret 1 at the rate p and independent, class c has the mean p * top[c] and the variance
    V = p (1 - p) top[c]. Let A V^(1/2) = U s W' be the singular values: then the covariance of answers with errors of
    variance v is S = U s^2 U' + v I, and whatever v is costs no more than a sum.
    """

    rate: float
    top: Integers
    turn: Floats  # U'
    left: Floats  # U' (answers - A mean)
    beyond: float  # the square of what lies in no direction of U
    sizes: Floats  # s
    right: Floats  # W'
    rows: int

    @classmethod
    def of(cls, members: Members, answers: Floats, rate: float, top: Integers, *, shared: bool = False) -> Looked:
        """`shared`: all answers may be off by the same number, so only how they differ from each other counts."""
        a = members.astype(np.float64)
        if shared:
            a, answers = a - a.mean(axis=0), answers - answers.mean()
        off = answers - a @ (rate * top)
        u, sizes, right = np.linalg.svd(a * np.sqrt(rate * (1 - rate) * top), full_matrices=False)
        left = u.T @ off
        return cls(
            rate=rate, top=top, turn=u.T, left=left, beyond=float(np.square(off - u @ left).sum()), sizes=sizes,
            right=right, rows=len(a),
        )  # fmt: skip

    def at(self, rate: float) -> Looked:
        """The same answers with another rate. All directions stay: only the sizes change, by the root of p (1 - p), and
        the mean, which A takes to U (s / sqrt(p (1 - p))) W' sqrt(top)."""
        stretch = math.sqrt(rate * (1 - rate) / (self.rate * (1 - self.rate)))
        left = self.left + (self.rate - rate) * self._all
        return replace(self, rate=rate, left=left, sizes=self.sizes * stretch)

    def of_others(self, answers: Floats) -> Looked:
        """Other answers to the same queries."""
        turned = self.turn @ answers
        beyond = float(np.square(answers - turned @ self.turn).sum())  # the mean lies in directions of U
        return replace(self, left=turned - self.rate * self._all, beyond=beyond)

    def seen(self, noise: float) -> tuple[float, float]:
        """The share of ones that the answers alone show, by least squares, and the number of people who would show it
        as well if their secrets were known: with exact answers, at most all who are in a query."""
        inverse = 1 / (self.sizes**2 + noise + SLACK)
        info = float((self._all**2 * inverse).sum())
        return self.rate + float((self._all * self.left * inverse).sum()) / info, self.rate * (1 - self.rate) * info

    @property
    def _all(self) -> Floats:
        """What all answers would be if everybody had a 1, U' A top."""
        return np.asarray(self.sizes * (self.right @ np.sqrt(self.top)) / math.sqrt(self.rate * (1 - self.rate)))

    def distance(self, noise: float) -> float:
        """(answers - A mean) S^-1 (answers - A mean) for each answer: 1 on average, if errors have this variance."""
        inside = float((self.left**2 / (self.sizes**2 + noise + SLACK)).sum())
        return (inside + self.beyond / (noise + SLACK)) / self.rows


def posterior_mean(looked: Looked, errors: Errors | None) -> Decoded:
    """The best linear guess, also from fewer answers than unknowns, where much is left to what was believed before.

    The linear estimate of least mean square error is mean + V A' S^-1 (answers - A mean). It errs by the variance
    W = V - V^2 (A' S^-1 A)[c, c]. To all but the belief itself this is as good as one look at the class with normal
    error of variance t = 1 / (1 / W - 1 / V), at x = t (estimate / W - mean / V); for a single person Bayes' rule with
    two values then gives odds p / (1 - p) * exp((2 x - 1) / (2 t)). The count of a larger class is taken as normal: it
    is the nearest whole number with the chance to be within a half of it. Unknown errors are taken to be those of
    rounding.
    """
    told = errors or UNKNOWN
    rate, top, noise = looked.rate, looked.top, variance_of(told) + SLACK
    mean, variance = rate * top, rate * (1 - rate) * top
    linear = mean + np.sqrt(variance) * ((looked.sizes / (looked.sizes**2 + noise) * looked.left) @ looked.right)
    gained = (looked.sizes**2 / (looked.sizes**2 + noise)) @ looked.right**2  # 1 - W / V
    left = np.maximum(1 - gained, SLACK)
    precision = gained / left / variance  # 1 / W - 1 / V
    look = (linear - mean) / variance + precision * linear  # x / t: linear / W - mean / V
    odds = np.clip(np.log(rate / (1 - rate)) + look - precision / 2, -700, 700)
    chance = 1 / (1 + np.exp(-odds))
    values = np.where(top == 1, chance, np.clip(linear, 0, top))
    near = 2 * cdf(0.5 / np.sqrt(variance * left)) - 1
    return Decoded(
        decoder="posterior mean",
        values=values,
        bits=np.rint(values).astype(np.uint8 if top.max() < 256 else np.int64),
        right=np.where(top == 1, np.maximum(chance, 1 - chance), near),
        errors=told,
        rounds=1,
        converged=True,
    )


def judged(found: Decoded, linear: Decoded, top: Integers) -> Decoded:
    """The whole numbers of a decoder that cannot tell how sure they are, each as likely as the posterior mean says."""
    if found.right is not None:
        return found
    assert linear.right is not None  # noqa: S101  it always is
    alone = np.where(found.bits == 1, linear.values, 1 - linear.values)
    many = np.where(found.bits == linear.bits, linear.right, 1 - linear.right)
    return replace(found, values=linear.values, right=np.where(top == 1, alone, many))


def fitting(looked: Looked, errors: Errors | None) -> Errors | None:
    """The errors as stated, unless the answers are too far from what they can be: then normal ones, as large as the
    answers ask for.

    The distance has standard deviation sqrt(2 / m) for normal errors and at most sqrt(5 / m) for Laplace ones. It falls
    when errors grow, so those for which it is 1 are found by halving. Somebody in the data whom the attacker does not
    know of, wrong attributes and errors larger than stated all show.
    """
    if errors is not None and errors.law == "outliers":
        return errors
    if looked.distance(variance_of(errors or UNKNOWN)) <= TOO_LARGE + CLEAR * math.sqrt(5 / looked.rows):
        return errors
    low, high = 0.0, float(looked.left @ looked.left) + looked.beyond  # S is at least v I: the distance is below 1
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if looked.distance(middle) > 1 else (low, middle)
    return Errors("normal", math.sqrt(high))

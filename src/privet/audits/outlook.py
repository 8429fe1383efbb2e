"""What counts promise for a claim, for many events at once. A guess that steers the search; no bound rests on it."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np

from privet.audits.claims import Claim
from privet.typing import Floats, Integers

ORDERS = 1 + 2.0 ** np.arange(-6, 9, 2)  # of Rényi divergences
STEPS = np.linspace(-9, 9, 3001)
GRID = 40  # probabilities that are tried
NORMAL = np.array([math.erfc(-z / math.sqrt(2)) / 2 for z in STEPS])


def promise(claim: Claim, likelier: Integers, other: Integers, draws: Integers | int, margin: Floats | float) -> Floats:
    """The parameter, with both probabilities at the far ends of their score intervals of `margin` deviations.

    Below zero where the event speaks for the other side, so that the nearest miss is still the best.
    """
    p, q = _end(likelier, draws, -margin), _end(other, draws, margin)
    with np.errstate(all="ignore"):
        return _promise(claim, p, q)


def outlook(
    claim: Claim, hits: tuple[Integers, Integers], draws: Integers | int, size: float, margins: tuple[float, float]
) -> Floats:
    """What a test of `size` draws is likely to give. Of what was seen, one margin is taken for luck; of the test, the
    other for its bound."""
    p, q = _end(hits[0], draws, -margins[0]), _end(hits[1], draws, margins[0])
    with np.errstate(all="ignore"):
        return _promise(claim, _end(p * size, size, -margins[1]), _end(q * size, size, margins[1]))


def visible_from(claim: Claim, draws: int, miss: float, times: float) -> float:
    """From which probability on an output shows, to a test of so many draws, that the truth is `times` the claim; 1 if
    none does. Counts are taken to be as expected."""
    worse = Claim(**{claim.parameter: times * float(claim.value)}, delta=claim.delta)
    rare = np.geomspace(0.5 / draws, 0.5, GRID)
    likelier = np.array([worse.most(chance) for chance in rare.tolist()])
    margin = NormalDist().inv_cdf(1 - miss / 2)
    with np.errstate(all="ignore"):
        seen = _promise(claim, _end(likelier * draws, draws, -margin), _end(rare * draws, draws, margin))
    shown = likelier[seen > float(claim.value)]
    return float(shown.min()) if len(shown) else 1.0


def _promise(claim: Claim, p: Floats, q: Floats) -> Floats:
    match claim.parameter:
        case "epsilon":
            return _epsilon(p, q, float(claim.delta))
        case "rho":
            return np.where(p > q, np.maximum(_rho(p, q), _rho(1 - q, 1 - p)), p - q)
        case _:
            return _quantile(p) - _quantile(q)


def _end(hits: Integers | Floats, draws: Integers | float, margin: Floats | float) -> Floats:
    square = margin**2
    half = margin * np.sqrt(hits * (1 - hits / draws) + square / 4)
    return np.asarray(np.clip((hits + square / 2 + half) / (draws + square), 1e-300, 1 - 1e-16), np.float64)


def _epsilon(p: Floats, q: Floats, delta: float) -> Floats:
    gains = ((np.maximum(p - delta, 1e-300), q), (np.maximum(1 - q - delta, 1e-300), 1 - p))
    return np.asarray(np.maximum(*(np.log(gain) - np.log(price) for gain, price in gains)), np.float64)


def _rho(p: Floats, q: Floats) -> Floats:
    orders = ORDERS[:, None]
    heads = orders * np.log(p) + (1 - orders) * np.log(q)
    tails = orders * np.log1p(-p) + (1 - orders) * np.log1p(-q)
    return np.asarray((np.logaddexp(heads, tails) / ((orders - 1) * orders)).max(axis=0), np.float64)


def _quantile(p: Floats) -> Floats:
    return np.where(p < 0.5, np.interp(p, NORMAL, STEPS), -np.interp(1 - p, NORMAL, STEPS))

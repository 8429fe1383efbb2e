"""How much of a true guarantee the auditor certifies, and how soon it refutes a false one.

Noise whose law is known is audited from outside. `share` is the certified bound over the true parameter: 1 cannot be
reached with finitely many draws. Discrete Gaussian noise is held against its exact curve, listed from its law.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from evidence import Evidence, options, parse

import privet as pv
from privet.audits import Claim, audit, exact_epsilon

DELTAS = ("0.01", "0.02", "0.05", "0.1", "0.2")
CHANGES = ((1, 1), (20, 20), (2, 1), (20, 10))  # sigma, and how far one person moves the answer
DRAWS = {"refuted": 1_000_000, "Laplace": 2_000_000, "Gaussian": 8_000_000}  # of one audit


def laplace(scale: int) -> Callable[[int, int], Any]:
    """Sensitivity `scale` at epsilon 1: on the integers at scale 1, nearly on the line at scale 1000."""
    return lambda data, size: scale * data + pv.noise.discrete_laplace(scale, size)


def gaussian(sigma: int, change: int) -> Callable[[int, int], Any]:
    return lambda data, size: change * data + pv.noise.discrete_gaussian(sigma, size)


def true_epsilon(sigma: int, change: int, delta: Fraction) -> float:
    """From the law itself; what is left out of it is counted as if it leaked (Bounds)."""
    reach = math.ceil(12 * sigma)
    weights = np.exp(-(np.arange(-reach, reach + 1) ** 2) / (2 * sigma**2))
    law = dict(zip(range(-reach, reach + 1), ((1 - 1e-12) * weights / weights.sum()).tolist(), strict=True))
    return exact_epsilon(law, {value + change: chance for value, chance in law.items()}, delta).high


def uniform(data: int, size: int) -> Any:
    return data + np.random.default_rng().uniform(-1, 1, size)


def svt_without_noise(data: Any, size: int) -> Any:
    """Sparse vector whose comparisons have a noisy threshold, but answers without noise (variant 5)."""
    threshold = np.random.default_rng().laplace(0, 2, (size, 1))
    return np.asarray(data) + np.zeros((size, 1)) >= threshold


def certified(rounds: int, draws: dict[str, int], deltas: Sequence[str]) -> list[dict[str, Any]]:
    rows = []
    for scale in (1, 10, 1000):
        for _ in range(rounds):
            found = audit(laplace(scale), Claim(epsilon=1), (0, 1), samples=draws["Laplace"])
            rows.append(_row(f"discrete Laplace, scale {scale}", "epsilon = 1", 1.0, found))
    for sigma, change in CHANGES:
        for delta in deltas:
            true = true_epsilon(sigma, change, Fraction(delta))
            if true > 0:
                claim = Claim(epsilon=math.ceil(true * 10**6) / 10**6, delta=delta)
                found = audit(gaussian(sigma, change), claim, (0, 1), samples=draws["Gaussian"])
                rows.append(_row(f"discrete Gaussian, sigma {sigma}, change {change}", str(claim), true, found))
    return rows


def refuted(rounds: int, draws: dict[str, int]) -> list[dict[str, Any]]:
    zeros, ones = np.zeros(2), np.array([1, -1])
    cases = {
        "uniform noise": (uniform, (0, 1)),
        "sparse vector 5, answers without noise": (svt_without_noise, (zeros, ones)),
    }
    rows = []
    for name, (mechanism, pair) in cases.items():
        found = [audit(mechanism, Claim(epsilon=1), pair, samples=draws["refuted"]) for _ in range(rounds)]
        rows.append(
            {
                "mechanism": name,
                "refuted": sum(one.violated for one in found),
                "of": rounds,
                "most_draws": max(one.samples for one in found),
                "least_bound": round(min(one.lower_bound for one in found), 3),
            }
        )
    return rows


def _row(name: str, claim: str, true: float, found: Any) -> dict[str, Any]:
    row = {
        "mechanism": name,
        "claim": claim,
        "true": round(true, 6),
        "certified": round(found.lower_bound, 4),
        "share": round(found.lower_bound / true, 4),
        "flagged": found.violated,
        "draws": found.samples,
        "seconds": round(found.seconds, 2),
    }
    print(f"{name}, {claim}: {row['certified']} of {row['true']} ({row['share']:.1%}), {row['seconds']} s", flush=True)
    return row


def main(given: Sequence[str] | None = None) -> None:
    parser = options(__doc__)
    parser.add_argument("--rounds", type=int, default=10)
    parser.set_defaults(draws=DRAWS, deltas=DELTAS)
    read = parse(parser, given, rounds=1, draws=dict.fromkeys(DRAWS, 20_000), deltas=DELTAS[:1])
    evidence = Evidence(read, "certified")
    rows, early = certified(read.rounds, read.draws, read.deltas), refuted(read.rounds, read.draws)
    for row in early:
        print(row, flush=True)
    result = {
        "confidence": 0.999999,
        "least_share": {
            kind: min(row["share"] for row in rows if row["mechanism"].startswith(f"discrete {kind}"))
            for kind in ("Laplace", "Gaussian")
        },
        "flagged_by_mistake": sum(row["flagged"] for row in rows),
        "certified": rows,
        "refuted": early,
    }
    print(result["least_share"])
    evidence.save(result)


if __name__ == "__main__":
    main()

"""Releases through everything (vault, SQL, ledger, engine, noise) on two neighboring tables, and the sharpest test.

The test is the likelihood ratio of the two tables: the best that anybody can do who knows both of them and wants to
know which one was asked. Real releases are few, because each is written to disk twice; draws of step 5 alone, on the
exact numbers recorded from both tables, are many.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

import privet as pv
from privet.audits import Audit, Claim, audit
from privet.core.laws import DiscreteGaussian, DiscreteLaplace
from privet.core.parts import Law, Part
from privet.engine import FreshNoise, NoiseSource
from privet.noise.fast import sampler
from privet.query import Query
from privet.vault import Vault

COLUMNS = {
    "age": pv.Integer(0, 120), "cost": pv.Number(0, 100, step="0.01"), "ward": pv.Category(["A", "B", "C"]),
    "day": pv.Date("2020-01-01", "2020-12-31"), "smoker": pv.Boolean(),
}  # fmt: skip
Rows = list[tuple[str, float | None, float | None, str, str, bool]]
OTHERS: Rows = [("q", 40, 12.34, "A", "2020-02-29", True), ("r", 70, 99.0, "B", "2020-06-01", False)]
HIGH: Rows = [("p", 120, 100.0, "A", "2020-03-01", True)]
LOW: Rows = [("p", 0, 0.0, "A", "2020-03-01", True)]
ELSEWHERE: Rows = [("p", 120, 100.0, "B", "2020-03-01", True)]
MANY: Rows = [("p", 120, 100.0, ward, "2020-03-01", True) for ward in ("A", "B") for _ in range(2)]
EPSILON, RHO = Fraction(2, 5), Fraction(1, 50)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """A question, and two neighboring tables that differ in one person as far as they can."""

    name: str
    text: str
    first: Rows = field(default_factory=list)
    second: Rows = field(default_factory=lambda: HIGH)
    unit: str | None = None
    neighbors: str = "add-remove"
    gaussian: bool = False

    @property
    def price(self) -> dict[str, object]:
        return {"rho": RHO} if self.gaussian else {"epsilon": EPSILON}

    @property
    def claim(self) -> Claim:
        """What was paid for. A price in rho promises less than its Gaussian keeps, so the Gaussian's own curve is used:
        (m, Phi(m / 2 - 1) - e^m Phi(-m / 2 - 1)) with m = sqrt(2 rho), and 5 % for the lattice that it lies on."""
        if not self.gaussian:
            return Claim(EPSILON)
        m = math.sqrt(2 * RHO)
        delta = normal(m / 2 - 1) - math.exp(m) * normal(-m / 2 - 1)
        return Claim(m, 1.05 * delta)


def normal(z: float) -> float:
    return math.erfc(-z / math.sqrt(2)) / 2


BY_WARD = "SELECT ward, SUM(cost) AS s FROM t GROUP BY ward"
SHAPES = [
    Shape(name="count", text="SELECT COUNT(*) AS n FROM t"),
    Shape(name="sum", text="SELECT SUM(cost) AS s FROM t"),
    Shape(name="average", text="SELECT AVG(age) AS a FROM t"),
    Shape(name="grouped", text="SELECT ward, COUNT(*) AS n, SUM(cost) AS s FROM t GROUP BY ward"),
    Shape(name="where", text="SELECT SUM(age) AS s FROM t WHERE cost >= 50 AND smoker"),
    Shape(name="case", text="SELECT SUM(CASE WHEN ward = 'A' THEN age ELSE -age END) AS s FROM t"),
    Shape(name="dates", text="SELECT date_trunc('month', day) AS m, COUNT(*) AS n FROM t GROUP BY 1"),
    Shape(name="people", text=BY_WARD, unit="who", second=MANY),
    Shape(name="replace a row", text="SELECT SUM(cost) AS s FROM t", first=LOW, neighbors="replace"),
    Shape(name="replace a person", text=BY_WARD, unit="who", neighbors="replace", first=HIGH * 2, second=ELSEWHERE * 2),
    Shape(name="rho", text="SELECT COUNT(*) AS n, SUM(cost) AS s FROM t", gaussian=True),
    Shape(name="rho, people", text=BY_WARD, unit="who", second=MANY, gaussian=True),
]  # fmt: skip


class Narrow:
    """Half of the noise that was paid for: what an audit must find."""

    def draw(self, law: Law, size: int) -> npt.NDArray[np.int64]:
        half = (
            DiscreteLaplace(law.scale / 2) if isinstance(law, DiscreteLaplace) else DiscreteGaussian(law.variance / 4)
        )
        return sampler(half).draw(size)


class Pair:
    """Two vaults for releases and the exact numbers behind them, from vaults for testing on the same files."""

    def __init__(self, folder: Path, shape: Shape) -> None:
        self.shape = shape
        self._vaults: list[Vault] = []
        self.queries: list[Query] = []
        self.exact: list[list[list[int]]] = []
        for side, own in enumerate((shape.first, shape.second)):
            place = folder / f"{shape.name} {side}"
            place.mkdir(parents=True)
            frame = pd.DataFrame([*OTHERS, *own], columns=["who", *COLUMNS])
            frame.to_parquet(place / "data.parquet")
            self.queries.append(self._query(place, testing=False))
            recorded = pv.testing.exact(self._query(place, testing=True), key=b"recorded")
            self.exact.append([list(part.values) for part in recorded.parts])

    def _query(self, place: Path, *, testing: bool) -> Query:
        shape = self.shape
        budget = pv.Budget(1000, 1e-9)  # the highest cap there is: room for 2,500 releases
        vault = pv.create(place / f"testing {testing}", budget=budget, neighbors=shape.neighbors, testing=testing)
        self._vaults.append(vault)
        limits: dict[str, Any] = {} if shape.unit is None else {"max_groups": 2, "max_rows_per_group": 2}
        if shape.neighbors == "replace" and shape.unit is not None:
            limits["max_groups"] = 1
        vault.add_table("t", place / "data.parquet", unit=shape.unit, columns=COLUMNS, **limits)
        return vault.sql(shape.text, **shape.price)

    def close(self) -> None:
        for vault in self._vaults:
            vault.close()

    @property
    def parts(self) -> Sequence[Part]:
        return self.queries[0].question.parts

    def attained(self) -> Fraction:
        """How much of the price these two tables use up: 1 if no two others are easier to tell apart."""
        used = Fraction(0)
        for part, a, b in zip(self.parts, *self.exact, strict=True):
            moved = [abs(x - y) for x, y in zip(a, b, strict=True)]
            if isinstance(part.law, DiscreteLaplace):
                used += sum(moved) / part.law.scale / EPSILON
            else:
                used += sum(step * step for step in moved) / (2 * part.law.variance) / RHO
        return used

    def ratios(self, noisy: Sequence[Sequence[int]]) -> list[float]:
        """The log-likelihood ratio of second to first, for vectors that hold many releases side by side."""
        total: npt.NDArray[np.float64] | float = 0.0
        for part, vector, a, b in zip(self.parts, noisy, *self.exact, strict=True):
            seen = np.array(vector, np.int64).reshape(-1, len(a))
            first, second = (np.abs(seen - np.array(exact, np.int64)).astype(np.float64) for exact in (a, b))
            if isinstance(part.law, DiscreteLaplace):
                total = total + (first - second).sum(axis=1) / float(part.law.scale)
            else:
                total = total + (first**2 - second**2).sum(axis=1) / (2 * float(part.law.variance))
        return np.round(total, 9).tolist()  # type: ignore[no-any-return]

    def releases(self, side: int, size: int) -> list[float]:
        """Real releases, each charged, computed, noised, stored and delivered."""
        found: list[float] = []
        for _ in range(size):
            found += self.ratios(self.queries[side].release(fresh=True).noisy)
        return found

    def draws(self, side: int, size: int, noise: NoiseSource) -> list[float]:
        """Step 5 of the engine, its own code, on many copies of the recorded exact numbers."""
        query = self.queries[side]
        body = query._publish([vector * size for vector in self.exact[side]], noise)
        return self.ratios(json.loads(body)["noisy"])


def audit_draws(pair: Pair, samples: int, confidence: object, noise: NoiseSource | None = None) -> Audit:
    source = noise or FreshNoise()
    draw: Callable[[int, int], list[float]] = lambda side, size: pair.draws(side, size, source)  # noqa: E731
    return audit(draw, pair.shape.claim, (0, 1), samples=samples, confidence=confidence)


def audit_releases(pair: Pair, samples: int, confidence: object) -> Audit:
    return audit(pair.releases, pair.shape.claim, (0, 1), samples=samples, confidence=confidence)

"""Releases through everything (vault, SQL, ledger, engine, noise) on two neighboring tables, and the sharpest test.

Of a question over keys that are not public it is looked at which keys are shown, and with which numbers of people. The
test is the likelihood ratio of the two tables: the best that anybody can do who knows both of them and wants to
know which one was asked. Real releases are few, because each is written to disk twice; draws of step 5 alone, on the
exact numbers recorded from both tables, are many.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

import privet as pv
from privet import engine
from privet.audits import Audit, Claim, audit
from privet.backends import Spread
from privet.core.accountant import rho_cap
from privet.core.cells import Cells, Keys
from privet.core.laws import Choice, DiscreteGaussian, DiscreteLaplace, Law, Top
from privet.core.measures import Measure
from privet.core.mechanisms import gaussian_key_threshold, key_threshold
from privet.core.parts import Part
from privet.core.ranks import rank
from privet.engine import FreshNoise, NoiseSource
from privet.noise.fast import sampler
from privet.noise.ranked import RankLoss, choose_by_rank
from privet.noise.top import choose_top
from privet.query import Query
from privet.vault import Vault
from support.fuzz_checks import far_apart, losses_apart, rank_losses
from support.plain_statistics import flip_law

COLUMNS = {
    "age": pv.Integer(0, 120), "cost": pv.Number(0, 100, step="0.01"), "ward": pv.Category(["A", "B", "C"]),
    "day": pv.Date("2020-01-01", "2020-12-31"), "smoker": pv.Boolean(), "stay": pv.Integer(0, 9), "city": pv.Text(),
}  # fmt: skip
Rows = list[tuple[Any, ...]]  # who, then the columns; the last two may be left out
OTHERS: Rows = [("q", 40, 12.34, "A", "2020-02-29", True), ("r", 70, 99.0, "B", "2020-06-01", False)]
HIGH: Rows = [("p", 120, 100.0, "A", "2020-03-01", True)]
LOW: Rows = [("p", 0, 0.0, "A", "2020-03-01", True)]
ELSEWHERE: Rows = [("p", 120, 100.0, "B", "2020-03-01", True)]
MANY: Rows = [("p", 120, 100.0, ward, "2020-03-01", True) for ward in ("A", "B") for _ in range(2)]
DIFFERENT: Rows = [("p", age, 100.0, ward, "2020-03-01", True) for ward in ("A", "B") for age in (1, 2)]
REST = (*[None] * 6, 0, "Graz")  # of a row that says no more
EPSILON, RHO, DELTA = Fraction(2, 5), Fraction(1, 50), Fraction(1, 20)


def staying(*days: int, who: str = "s") -> Rows:
    return [(f"{who}{n}", 40, 0.0, "A", "2020-02-29", True, stay) for n, stay in enumerate(days)]


def living(*cities: str, who: str = "p") -> Rows:
    return [(who, 40, 0.0, "A", "2020-02-29", True, 0, city) for city in cities]


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
    private: bool = False
    lone: bool = False  # the person has keys that nobody else has
    former: bool = False  # as version 0.1 asked: with Laplace noise on keys

    @property
    def price(self) -> dict[str, object]:
        if self.private:
            return {"epsilon": EPSILON, "delta": DELTA}
        return {"rho": RHO} if self.gaussian else {"epsilon": EPSILON}

    def asked(self, vault: Vault, **more: Any) -> Query:
        query = vault.sql(**{"text": self.text, **self.price, **more})
        if not self.former:
            return query
        earlier = list(query.earlier())
        return query.at(earlier[-1]) if earlier else query

    @property
    def claim(self) -> Claim:
        """What was paid for. A price in rho promises less than its Gaussian keeps, so the Gaussian's own curve is used:
        (m, Phi(m / 2 - 1) - e^m Phi(-m / 2 - 1)) with m = sqrt(2 rho), and 5 % for the lattice that it lies on."""
        if not self.gaussian:
            return Claim(EPSILON, DELTA if self.private else 0)
        m = math.sqrt(2 * RHO)
        delta = normal(m / 2 - 1) - math.exp(m) * normal(-m / 2 - 1)
        return Claim(m, 1.05 * delta)


def normal(z: float) -> float:
    return math.erfc(-z / math.sqrt(2)) / 2


BY_WARD = "SELECT ward, SUM(cost) AS s FROM t GROUP BY ward"
BY_CITY = "SELECT city, COUNT(DISTINCT who) AS n FROM t GROUP BY city"
CROWD: Rows = [row for n in range(18) for row in living("Ulm", "Bonn", who=f"c{n}")]
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
    Shape(name="different people", text="SELECT ward, COUNT(DISTINCT who) AS n FROM t GROUP BY ward", unit="who",
          second=MANY),
    Shape(name="different values", text="SELECT ward, COUNT(DISTINCT age) AS n FROM t GROUP BY ward", unit="who",
          second=DIFFERENT),
    Shape(name="variance", text="SELECT VAR_SAMP(age) AS v FROM t"),
    Shape(name="deviation, rho", text="SELECT STDDEV(age) AS v FROM t", gaussian=True),
    Shape(name="covariance", text="SELECT COVAR_POP(age, cost) AS v FROM t"),
    Shape(name="correlation", text="SELECT CORR(age, cost) AS v FROM t"),
    # Others are at both ends, so many at each that no value is better than another; then one comes, or changes ends.
    Shape(name="median", text="SELECT MEDIAN(stay) AS m FROM t WHERE ward = 'A'",
          first=staying(9), second=[*staying(9), *staying(0, who="p")]),
    Shape(name="quantile", text="SELECT QUANTILE(stay, 0.25) AS q FROM t WHERE ward = 'A'",
          first=staying(9, 9, 9), second=[*staying(9, 9, 9), *staying(0, who="p")]),
    Shape(name="median, replace", text="SELECT MEDIAN(stay) AS m FROM t WHERE ward = 'A'", neighbors="replace",
          first=staying(9, 9, 9), second=[*staying(9, 9), *staying(0, who="p")]),
    Shape(name="min", text="SELECT MIN(stay) AS m FROM t WHERE ward = 'A'",
          first=staying(*[0] * 26, *[9] * 27), second=[*staying(*[0] * 26, *[9] * 27), *staying(0, who="p")]),
    Shape(name="max", text="SELECT MAX(stay) AS m FROM t WHERE ward = 'A'",
          first=staying(*[0] * 26, *[9] * 27), second=[*staying(*[0] * 26, *[9] * 27), *staying(9, who="p")]),
    Shape(name="shown keys", text=BY_CITY, unit="who", private=True, former=True,
          first=CROWD, second=[*CROWD, *living("Ulm", "Bonn")]),
    Shape(name="lone keys", text=BY_CITY, unit="who", private=True, former=True, lone=True,
          second=living("Here", "There")),
    Shape(name="shown keys, Gaussian", text=BY_CITY, unit="who", private=True,
          first=CROWD, second=[*CROWD, *living("Ulm", "Bonn")]),
    Shape(name="lone keys, Gaussian", text=BY_CITY, unit="who", private=True, lone=True,
          second=living("Here", "There")),
]  # fmt: skip


class Narrow:
    """Half of the noise that was paid for, and choices at six times the rate: what an audit must find."""

    def draw(self, law: Law, size: int) -> npt.NDArray[np.int64]:
        half = (
            DiscreteLaplace(law.scale / 2) if isinstance(law, DiscreteLaplace) else DiscreteGaussian(law.variance / 4)
        )
        return sampler(half).draw(size)

    def choose(self, spread: Spread, measure: Measure, law: Choice) -> int:
        sought = rank(measure, law, int(spread.counts.sum()))
        loss = RankLoss.of(sought, measure.low, measure.high)
        return choose_by_rank(spread.values, spread.counts, loss, Choice(6 * law.rate))

    def top(self, scores: Sequence[int], law: Top) -> list[int]:
        return choose_top(scores, replace(law, rate=6 * law.rate))


class Pair:
    """Two vaults for releases and the exact numbers behind them, from vaults for testing on the same files."""

    def __init__(self, folder: Path, shape: Shape) -> None:
        self.shape = shape
        self._vaults: list[Vault] = []
        self.queries: list[Query] = []
        self.exact: list[list[list[Any]]] = []
        self.people: list[dict[Keys, int]] = []
        self._ratios: dict[tuple[int, int, int | None], float] = {}  # of keys, by their people and what is seen
        for side, own in enumerate((shape.first, shape.second)):
            place = folder / f"{shape.name} {side}"
            place.mkdir(parents=True)
            rows = [(*row, *REST[len(row) :]) for row in [*OTHERS, *own]]
            frame = pd.DataFrame(rows, columns=["who", *COLUMNS])
            frame.to_parquet(place / "data.parquet")
            self.queries.append(self._query(place, testing=False))
            recorded = pv.testing.exact(self._query(place, testing=True), key=b"recorded")
            self.exact.append([list(part.values) for part in recorded.parts])
            if shape.private:
                self.people.append(dict(zip(recorded.keys, recorded.parts[-1].values, strict=True)))

    def _query(self, place: Path, *, testing: bool) -> Query:
        """With the highest cap there is: room for 2,500 releases. Deltas that an audit can see are beyond any cap."""
        shape = self.shape
        vault = pv.create(
            place / f"testing {testing}",
            budget=pv.Budget(1000, 1e-9),
            neighbors=shape.neighbors,
            testing=testing,
            on_exhausted="warn" if shape.private else "refuse",
        )
        self._vaults.append(vault)
        limits: dict[str, Any] = {} if shape.unit is None else {"max_groups": 2, "max_rows_per_group": 2}
        if shape.neighbors == "replace" and shape.unit is not None:
            limits["max_groups"] = 1
        vault.add_table("t", place / "data.parquet", unit=shape.unit, columns=COLUMNS, **limits)
        return shape.asked(vault)

    def close(self) -> None:
        for vault in self._vaults:
            vault.close()

    @property
    def parts(self) -> Sequence[Part]:
        return self.queries[0].priced.parts

    def attained(self) -> Fraction:
        """How much of the price these two tables use up: 1 if no two others are easier to tell apart.

        Of a choice, how much of what losses can move by. Of lone keys, how much of delta: nearly all, as a threshold is
        a whole number.
        """
        if self.shape.private:
            return self._attained_by_keys()
        used = Fraction(0)
        for part, a, b in zip(self.parts, *self.exact, strict=True):
            if isinstance(part.law, Choice):
                used += 2 * part.law.rate * far_apart(losses_apart(part, a, b))[0] / EPSILON
                continue
            moved = [abs(x - y) for x, y in zip(a, b, strict=True)]
            if isinstance(part.law, DiscreteLaplace):
                used += sum(moved) / part.law.scale / EPSILON
            else:
                used += sum(step * step for step in moved) / (2 * part.law.variance) / RHO
        return used

    def _attained_by_keys(self) -> Fraction:
        first, second = self.people
        law = self.parts[-1].law
        if self.shape.lone:
            lone = max(len(second.keys() - first.keys()), len(first.keys() - second.keys()))
            shown = Fraction(lone * (1 - math.exp(self._log_p(1, None))))
            return shown / DELTA if isinstance(law, DiscreteLaplace) else shown / (DELTA / 2)
        moved = sum(abs(first[key] - second[key]) for key in first)  # each by 1
        if isinstance(law, DiscreteLaplace):
            return moved / law.scale / EPSILON
        assert isinstance(law, DiscreteGaussian)
        return moved / (2 * law.variance) / rho_cap(EPSILON, DELTA / 2)

    def ratios(self, noisy: Sequence[Sequence[int]]) -> list[float]:
        """The log-likelihood ratio of second to first, for vectors that hold many releases side by side."""
        total: npt.NDArray[np.float64] | float = 0.0
        for part, vector, a, b in zip(self.parts, noisy, *self.exact, strict=True):
            seen = np.array(vector, np.int64).reshape(-1, len(a))
            if isinstance(part.law, Choice):
                logs = [np.array([_logs(part, spread) for spread in exact]) for exact in (a, b)]
                cells = np.arange(len(a))
                total = total + (logs[1] - logs[0])[cells, seen - part.measure.low].sum(axis=1)
                continue
            first, second = (np.abs(seen - np.array(exact, np.int64)).astype(np.float64) for exact in (a, b))
            if isinstance(part.law, DiscreteLaplace):
                total = total + (first - second).sum(axis=1) / float(part.law.scale)
            else:
                total = total + (first**2 - second**2).sum(axis=1) / (2 * float(part.law.variance))
        return np.round(total, 9).tolist()  # type: ignore[no-any-return]

    def ratio_of_keys(self, shown: Mapping[Keys, int]) -> float:
        """The same for keys that are shown or not. A key that cannot be shown settles it."""
        first, second = self.people
        total = 0.0
        for key in {**first, **second}:
            case = (first.get(key, 0), second.get(key, 0), shown.get(key))
            if case not in self._ratios:  # many draws are the same
                one, other, seen = case
                self._ratios[case] = self._log_p(other, seen) - self._log_p(one, seen)
            total += self._ratios[case]
        return round(total, 9)

    def _log_p(self, people: int, seen: int | None) -> float:
        """Of a key with so many people, and a noisy number if it is shown. Of nobody nothing is shown.

        Of Laplace noise P[X < t] = 1 - q**t / (1 + q) for t > 0 and q**(1 - t) / (1 + q) otherwise, with q = exp(-1 /
        scale).
        """
        part = self.parts[-1]
        assert part.threshold is not None
        if people == 0:
            return 0.0 if seen is None else -SURE
        t = part.threshold - people
        if isinstance(part.law, DiscreteGaussian):
            below, each = bell(part.law)
            return math.log(below(t)) if seen is None else each(seen - people)
        assert isinstance(part.law, DiscreteLaplace)
        scale = float(part.law.scale)
        q = math.exp(-1 / scale)
        if seen is not None:
            return math.log((1 - q) / (1 + q)) - abs(seen - people) / scale
        return math.log(1 - q**t / (1 + q) if t > 0 else q ** (1 - t) / (1 + q))

    def releases(self, side: int, size: int) -> list[float]:
        """Real releases, each charged, computed, noised, stored and delivered."""
        found: list[float] = []
        for _ in range(size):
            answer = self.queries[side].release(fresh=True)
            if self.shape.private:
                shown = zip(answer.priced.cells.keys(), answer.noisy[-1], strict=True)
                found.append(self.ratio_of_keys(dict(shown)))
            else:
                found += self.ratios(answer.noisy)
        return found

    def draws(self, side: int, size: int, noise: NoiseSource) -> list[float]:
        """What the engine does with exact numbers, its own code, on many copies of those that were recorded."""
        query = self.queries[side]
        if self.shape.private:
            return self._draws_of_keys(query, self.people[side], size, noise)
        vectors = [[_recorded(value) for value in vector] * size for vector in self.exact[side]]
        task = query.task(b"")
        task = replace(task, cells=Cells(domains=((None,) * (task.cells.count * size),)))
        return self.ratios(engine._added(task, vectors, noise))

    def _draws_of_keys(self, query: Query, people: Mapping[Keys, int], size: int, noise: NoiseSource) -> list[float]:
        copies: list[dict[Keys, int]] = [{} for _ in range(size)]
        named: dict[Any, int] = {(*key, n): count for key, count in people.items() for n in range(size)}
        for (*key, number), noisy in engine._shown(query.task(b""), named, noise).items():
            copies[number][tuple(key)] = noisy
        return [self.ratio_of_keys(shown) for shown in copies]

    def with_a_low_threshold(self) -> None:
        """A planted bug: a threshold at which one lone key is hidden well enough, whatever a person has."""
        self._ratios.clear()
        for side, query in enumerate(self.queries):
            *rest, part = query.priced.parts
            assert not isinstance(part.law, Choice)
            lowest = key_threshold if isinstance(part.law, DiscreteLaplace) else gaussian_key_threshold
            low = replace(part, threshold=lowest(part.law, DELTA, 1))  # type: ignore[operator]
            question = replace(query.priced, parts=(*rest, low))
            self.queries[side] = replace(query, priced=question)


@lru_cache(maxsize=16)
def bell(law: DiscreteGaussian) -> tuple[Callable[[int], float], Callable[[int], float]]:
    """P[X < t], and the logarithm of P[X = x], term by term."""
    variance = float(law.variance)
    far = math.ceil(12 * math.sqrt(variance)) + 2
    weights = [math.exp(-x * x / (2 * variance)) for x in range(-far, far + 1)]
    sums = [0.0, *accumulate(weights)]
    return (
        lambda t: sums[max(min(t + far, len(weights)), 0)] / sums[-1],
        lambda x: -x * x / (2 * variance) - math.log(sums[-1]),
    )


SURE = 99.0  # a log-likelihood ratio that stands for an infinite one


def _recorded(value: Any) -> Any:
    """A spread from the pairs that it was recorded as."""
    if isinstance(value, int):
        return value
    pairs = np.array(value, np.int64).reshape(-1, 2)
    return Spread(pairs[:, 0].copy(), pairs[:, 1].copy())


def _logs(part: Part, spread: Any) -> npt.NDArray[np.float64]:
    """The logarithm of the probability of every candidate."""
    assert isinstance(part.law, Choice)
    candidates = range(part.measure.low, part.measure.high + 1)
    weights = -float(part.law.rate) * np.array(rank_losses(part, part.law, spread, candidates))
    if part.law.flip:
        return np.log(flip_law(np.exp(weights - weights.max()).tolist()))
    return np.asarray(weights - math.log(np.exp(weights).sum()), np.float64)


def audit_draws(pair: Pair, samples: int, confidence: object, noise: NoiseSource | None = None) -> Audit:
    source = noise or FreshNoise()
    draw: Callable[[int, int], list[float]] = lambda side, size: pair.draws(side, size, source)  # noqa: E731
    return audit(draw, pair.shape.claim, (0, 1), samples=samples, confidence=confidence)


def audit_control(pair: Pair, samples: int, confidence: object) -> Audit:
    """With a planted bug. Its pair is of no use afterwards."""
    if pair.shape.lone:
        pair.with_a_low_threshold()
        return audit_draws(pair, samples, confidence)
    return audit_draws(pair, samples, confidence, Narrow())


def audit_releases(pair: Pair, samples: int, confidence: object) -> Audit:
    return audit(pair.releases, pair.shape.claim, (0, 1), samples=samples, confidence=confidence)

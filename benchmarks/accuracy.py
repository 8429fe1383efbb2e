"""How far is each aggregate from the best mechanism that is known? The computed numbers of docs/accuracy.md.

    python benchmarks/accuracy.py [--tiny] [--json FILE]

Everything is computed from declarations and laws, nothing is drawn. What Privet does is taken from its own pricing; the
other side of a ratio is a formula of the paper that docs/accuracy.md names, or the same question asked another way. A
ratio says how many times larger Privet's standard deviation is; below 1 Privet errs less. Where the error depends on
the data (averages, variances), ratios are given at several means and spreads. Values lie between -1 and 1 in formulas.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from statistics import NormalDist
from typing import Any

from evidence import Evidence, options, parse

from privet.core.accountant import Budget, rho_cap
from privet.core.expression import Column, Not
from privet.core.expression import IsNull as Missing
from privet.core.measures import Measure, Role
from privet.core.parts import Gauge, Setting, keys_for
from privet.core.plan import Aggregate, Function, Plan
from privet.core.schema import Integer
from privet.core.sensitivity import Bounds
from privet.core.unit import Neighbors
from privet.estimates.calibration import gaussian_for
from privet.estimates.priced import Priced, outline
from privet.estimates.pricing import Price, Way, ask
from privet.estimates.split import costs, error, variance

WIDTH = 100
KINDS = {"x": Integer(0, WIDTH), "y": Integer(0, WIDTH)}
BUDGET = Budget(9, "1e-6")
EPSILONS = (0.1, 0.5, 1.0, 2.0, 4.0)
LISTED: tuple[tuple[Way, ...], ...] = ((), (Way.PAIRS,), tuple(Way))
Row = dict[str, Any]


def asked(*functions: Function, relation: Neighbors = Neighbors.ADD_REMOVE, ways: Sequence[Way] = tuple(Way)) -> Priced:
    """A question about column x at epsilon 1, each row a unit, without missing values."""
    made = [
        Aggregate(name=f"a{place}", function=one, value=Column("x"), second=Column("y") if one in COVARIANCES else None)
        for place, one in enumerate(functions)
    ]
    plan = Plan(
        table="t",
        where=Not(Missing(Column("x"))),
        keys=(),
        aggregates=tuple(made),
        outputs=tuple(one.name for one in made),
    )
    bounds = Bounds(groups=1, rows=1, neighbors=relation)
    return ask(outline(plan, KINDS, bounds), BUDGET, Price(epsilon=1), allowed=frozenset(ways))


COVARIANCES = (Function.COVAR_POP, Function.COVAR_SAMP, Function.CORR)


def scales(priced: Priced) -> dict[Role, float]:
    """Of the noise on each number, in units of what one row can add to it."""
    return {part.measure.role: float(part.law.scale) / part.measure.size for part in priced.parts}  # type: ignore[union-attr]


# One number: Laplace beside the staircase, Gaussian beside its exact curve and beside correlated noise


def staircase(epsilon: float) -> float:
    """The least standard deviation of the staircase mechanism at sensitivity 1, over its one parameter."""
    b = math.exp(-epsilon)

    def variance(gamma: float) -> float:
        height = (1 - b) / (2 * (gamma + b * (1 - gamma)))
        found = (
            b**k * (((k + gamma) ** 3 - k**3) + b * ((k + 1) ** 3 - (k + gamma) ** 3)) / 3
            for k in range(math.ceil(60 / epsilon))
        )
        return 2 * height * math.fsum(found)

    return math.sqrt(min(variance(step / 200) for step in range(1, 200)))


def sums(epsilons: Sequence[float]) -> Iterator[Row]:
    for epsilon in epsilons:
        yield {"epsilon": epsilon, "laplace_to_staircase": math.sqrt(2) / epsilon / staircase(epsilon)}


def gaussian(epsilons: Sequence[float]) -> Iterator[Row]:
    """Noise from rho, which is what composes, beside the smallest discrete Gaussian that meets the price alone."""
    for epsilon in epsilons:
        for delta in (Fraction(1, 10**6), Fraction(1, 10**9)):
            price = Fraction(str(epsilon))
            composed = 1 / math.sqrt(2 * rho_cap(price, delta))
            exact = math.sqrt(gaussian_for(price, delta, 1).variance)
            yield {"epsilon": epsilon, "delta": float(delta), "from_rho_to_exact": composed / exact}


def groups_of_a_person(most: Sequence[int]) -> Iterator[Row]:
    """Counts in as many cells as a person can be in. Correlated Gaussian noise: (root + 1) / 2 in place of the root,
    for add-remove. Noise by the norm of the largest coordinate: a radius of Gamma(d + 1), uniform in the cube."""
    for d in most:
        root = math.sqrt(d)
        cube = math.sqrt((d + 1) * (d + 2) / 3)
        yield {
            "groups": d,
            "gaussian_to_correlated": 2 * root / (root + 1),
            "laplace_to_cube": math.sqrt(2) * d / cube,
        }


# Averages and variances


def averages() -> Iterator[Row]:
    """Beside the noise of an average of a known number of people under replace: root of 2 over epsilon, times the width
    over their number. And beside half of the price for a sum and a count each, as most libraries do."""
    for relation in Neighbors:
        pair = scales(asked(Function.AVG, relation=relation))[Role.PAIR]
        for t in (0.0, 0.25, 0.5):
            ours = pair * math.sqrt(2 * ((1 - t) ** 2 + t**2))
            halves = 2 * math.sqrt(2) * math.hypot(1, t)
            yield {
                "relation": str(relation),
                "mean": t,
                "to_known_number": ours / math.sqrt(2),
                "halves_of_sum_and_count": halves / ours if relation is Neighbors.ADD_REMOVE else None,
            }


def by_squares(scale: float, m: float, s: float) -> float:
    """The variance of a variance, times the square of the number of rows, to first order."""
    return 2 * scale**2 * (((1 - m) ** 2 - s) ** 2 + (1 - m * m + s) ** 2 + ((1 + m) ** 2 - s) ** 2)


def by_pair(pair: float, square: float, m: float, s: float) -> float:
    count = m * m - s + 0.5
    return 2 * pair**2 * ((count - 2 * m) ** 2 + (count + 2 * m) ** 2) + 2 * square**2 / 4


def by_three(total: float, square: float, count: float, m: float, s: float) -> float:
    return 2 * (total * 2 * m) ** 2 + 2 * square**2 / 4 + 2 * (count * (m * m - s + 0.5)) ** 2


def apart(relation: Neighbors) -> tuple[float, float, float]:
    """The scales of a sum, of its squares and of the count, asked for separately, in this order."""
    parts = asked(Function.VAR_POP, relation=relation, ways=()).parts
    found = {part.measure.role: float(part.law.scale) / part.measure.size for part in parts}  # type: ignore[union-attr]
    total, square = (
        float(part.law.scale) / part.measure.size  # type: ignore[union-attr]
        for part in parts
        if part.measure.role is Role.SUM
    )
    return total, square, found[Role.COUNT]


def variances() -> Iterator[Row]:
    """Three squares beside a pair and a sum of squares, and beside three numbers: at the mean m and, of the largest
    variance that there can be, at this share."""
    for relation in Neighbors:
        one = scales(asked(Function.VAR_POP, relation=relation))[Role.SQUARES]
        two = scales(asked(Function.VAR_POP, relation=relation, ways=[Way.PAIRS]))
        for m in (0.0, 0.5, 0.9):
            for share in (0.05, 1 / 3):
                s = share * (1 - m * m)
                ours = by_squares(one, m, s)
                yield {
                    "relation": str(relation),
                    "mean": m,
                    "share_of_variance": share,
                    "pair_to_squares": math.sqrt(by_pair(two[Role.PAIR], two[Role.SUM], m, s) / ours),
                    "apart_to_squares": math.sqrt(by_three(*apart(relation), m, s) / ours),
                }


def family() -> Row:
    """The numbers of one row may also be a + r x, (1 - 2 p)(1 - x * x), a - r x, where a = p + (1 / 2 - p) x * x and r
    is the most that keeps them above 0. At p = 1/4 these are the three squares. The mean error over all means, beside
    the best p."""

    def mean_error(p: float) -> float:
        q, found = 0.5 - p, []
        r = 2 * math.sqrt(p * q) if p <= q else p + q
        for step in range(-100, 101):
            m = step / 100
            s = (1 - m * m) / 3
            both, middle = 1 + m * m - s, m * m - s + 1 - 1 / (2 * q)
            found.append((both - m / r) ** 2 + (both + m / r) ** 2 + middle**2)
        return math.sqrt(sum(found) / len(found))

    best = min((step / 400 for step in range(4, 180)), key=mean_error)
    return {"best_p": best, "squares_to_best": mean_error(0.25) / mean_error(best)}


def together() -> Iterator[Row]:
    """Several aggregates of one column at one price: how many times larger the error is than at three prices."""
    questions = {
        "COUNT, SUM, AVG": (Function.COUNT, Function.SUM, Function.AVG),
        "COUNT, AVG, STDDEV": (Function.COUNT, Function.AVG, Function.STDDEV_SAMP),
    }
    for name, functions in questions.items():
        for relation in Neighbors:
            ways = [_whole(asked(*functions, relation=relation, ways=allowed)) for allowed in LISTED]
            yield {
                "question": name,
                "relation": str(relation),
                "apart_to_ours": ways[0] / min(ways),
                "pairs_to_ours": ways[1] / min(ways),
            }


def _whole(priced: Priced) -> float:
    found = costs(priced.released, priced.recipes, priced.setting(), Gauge.EPSILON)
    return math.sqrt(error(found, Gauge.EPSILON, Fraction(1)))


def covariances() -> Iterator[Row]:
    """Beside four products of u, v and of the other column's: (s - x)(t - y) at the four corners, over all means."""
    grid = [step / 10 for step in range(-10, 11)]
    products = sum(2 * 4 * (1 + x * x) * (1 + y * y) for x in grid for y in grid) / len(grid) ** 2
    for relation in Neighbors:
        times = 1 if relation is Neighbors.ADD_REMOVE else 4
        yield {
            "relation": str(relation),
            "ours_to_products": _whole(asked(Function.COVAR_POP, relation=relation)) / math.sqrt(products * times),
        }


# Choices and keys


def quantiles() -> Iterator[Row]:
    """Every quantile at its share of the price, beside one inside the other."""
    for relation, gauge, m in itertools.product(Neighbors, Gauge, (3, 9, 19)):
        setting = Setting(cells=1, bounds=Bounds(groups=1, rows=1, neighbors=relation))
        shares = tuple(Fraction(n, m + 1) for n in range(1, m + 1))
        one = Measure(role=Role.QUANTILE, value=Column("x"), high=WIDTH, quantile=Fraction(1, 2))
        apart = [variance(replace(one, quantile=share), setting, gauge) for share in shares]
        nested = m * variance(replace(one, quantiles=shares), setting, gauge)
        ratio = error(apart, gauge, Fraction(1)) / error([nested], gauge, Fraction(1))
        yield {"relation": str(relation), "gauge": gauge.value, "quantiles": m, "apart_to_nested": math.sqrt(ratio)}


def keys(most: Sequence[int]) -> Iterator[Row]:
    """The number of people from which a key is shown, at (1, 1e-6): Laplace, and Gaussian noise at the same price."""
    delta = Fraction(1, 10**6)
    for groups in most:
        bounds = Bounds(groups=groups, rows=1, neighbors=Neighbors.ADD_REMOVE)
        _, laplace, _ = keys_for(Fraction(1), delta, bounds)
        sigma = math.sqrt(groups / (2 * rho_cap(Fraction(1), delta / 2)))
        normal = 1 + math.ceil(sigma * NormalDist().inv_cdf(1 - float(delta) / 2 / groups))
        yield {"groups": groups, "laplace": laplace, "gaussian": normal}


def chosen() -> Iterator[Row]:
    """ORDER BY ... LIMIT: noise for all groups of a person, beside half of the price for so many exponential rounds and
    half for measuring what they chose."""
    for groups, limit in ((10, 3), (40, 5), (40, 20)):
        yield {"groups": groups, "limit": limit, "all_to_chosen": groups / (2 * min(limit, groups))}


def totals() -> Iterator[Row]:
    """A total of so many cells, beside a number of its own at half of the price."""
    for cells in (4, 12, 40, 200):
        yield {"cells": cells, "summed_to_own": math.sqrt(cells) / 2}


def main(given: Sequence[str] | None = None) -> None:
    parser = options(__doc__)
    parser.set_defaults(epsilons=EPSILONS, most=(2, 5, 12, 20, 40))
    read = parse(parser, given, epsilons=(1.0,), most=(5,))
    evidence = Evidence(read, "accuracy")
    sections: dict[str, Callable[[], Any]] = {
        "sums": lambda: list(sums(read.epsilons)),
        "gaussian": lambda: list(gaussian(read.epsilons)),
        "groups_of_a_person": lambda: list(groups_of_a_person(read.most)),
        "averages": lambda: list(averages()),
        "variances": lambda: list(variances()),
        "family": family,
        "together": lambda: list(together()),
        "covariances": lambda: list(covariances()),
        "quantiles": lambda: list(quantiles()),
        "keys": lambda: list(keys(read.most)),
        "chosen": lambda: list(chosen()),
        "totals": lambda: list(totals()),
    }
    found = {name: work() for name, work in sections.items()}
    for name, rows in found.items():
        print(name)
        for row in rows if isinstance(rows, list) else [rows]:
            print("   ", ", ".join(f"{key} {_short(value)}" for key, value in row.items()))
    evidence.save(found)


def _short(value: object) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)


if __name__ == "__main__":
    main()

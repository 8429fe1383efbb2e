"""Anonymization as its definitions have it, slowly: every node, every class, fractions, powers. And random tables."""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from privet.anonymize.hierarchy import Hierarchy
from privet.anonymize.models import DistinctL, EntropyL, K, RecursiveL, T
from privet.records.microdata import Microdata, column

Row = tuple[str, ...]


@dataclass(frozen=True)
class Made:
    """A table with hierarchies, and what is asked of it."""

    quasi: list[Row]  # a tuple of ground values for each record
    secrets: dict[str, list[str]]
    levels: list[tuple[Row, ...]]
    models: tuple[Any, ...] = (K(2),)
    suppress: str = "0"
    measure: str = "ncp"
    weights: dict[str, Any] = field(default_factory=dict)

    @property
    def names(self) -> list[str]:
        return [f"q{place}" for place in range(len(self.levels))]

    @property
    def hierarchies(self) -> dict[str, Hierarchy]:
        return {name: Hierarchy(name, levels) for name, levels in zip(self.names, self.levels, strict=True)}

    @property
    def data(self) -> Microdata:
        columns = [column(name, [row[place] for row in self.quasi]) for place, name in enumerate(self.names)]
        columns += [column(name, values) for name, values in self.secrets.items()]
        return Microdata({one.name: one for one in columns}, len(self.quasi))

    @property
    def nodes(self) -> list[tuple[int, ...]]:
        return list(itertools.product(*(range(len(levels)) for levels in self.levels)))

    def general(self, node: tuple[int, ...]) -> list[Row]:
        """Each record as it is at a node."""
        return [
            tuple(levels[at][levels[0].index(value)] for value, levels, at in zip(row, self.levels, node, strict=True))
            for row in self.quasi
        ]

    @property
    def limit(self) -> int:
        return math.floor(Fraction(self.suppress) * len(self.quasi))


def suppressed(made: Made, node: tuple[int, ...], models: tuple[Any, ...] | None = None) -> list[bool]:
    """For each record whether its class fails a model."""
    rows = made.general(node)
    fails = {}
    for look in set(rows):
        here = [number for number, row in enumerate(rows) if row == look]
        fails[look] = not all(_holds(made, model, here) for model in (made.models if models is None else models))
    return [fails[row] for row in rows]


def _holds(made: Made, model: Any, here: list[int]) -> bool:
    if isinstance(model, K):
        return len(here) >= model.k
    everybody = made.secrets[model.column]
    return holds(model, Counter(everybody[number] for number in here), Counter(everybody))


def holds(model: Any, counts: Counter[str], overall: Counter[str]) -> bool:
    """By the definition of the model."""
    size, falling = counts.total(), sorted(counts.values(), reverse=True)
    match model:
        case DistinctL():
            return len(counts) >= model.l
        case EntropyL():
            return Fraction(size) ** size >= Fraction(str(model.l)) ** size * math.prod(c**c for c in falling)
        case RecursiveL():
            return falling[0] < Fraction(str(model.c)) * sum(falling[model.l - 1 :])
        case T():
            shares = [
                Fraction(counts[value], size) - Fraction(overall[value], overall.total()) for value in sorted(overall)
            ]
            if not model.ordered:
                return sum(map(abs, shares)) / 2 <= Fraction(str(model.t))
            moved = sum(map(abs, itertools.accumulate(shares)))
            return moved <= Fraction(str(model.t)) * (len(shares) - 1)
        case _:
            raise AssertionError


def loss(made: Made, node: tuple[int, ...], gone: list[bool]) -> Fraction:
    """By the definition of the measure, not divided by the largest possible where people do not divide it."""
    rows, records = made.general(node), len(made.quasi)
    sizes = Counter(row for row, out in zip(rows, gone, strict=True) if not out)
    if made.measure == "discernibility":
        return Fraction(sum(size * size for size in sizes.values()) + sum(gone) * records)
    if made.measure == "average_class_size":
        return Fraction(records, len(sizes) + any(gone))
    lost, most = Fraction(0), Fraction(0)
    for place, (levels, at) in enumerate(zip(made.levels, node, strict=True)):
        weight = Fraction(made.weights.get(f"q{place}", 1))
        for row, out in zip(made.quasi, gone, strict=True):
            one, star = _lost(made, place, levels, at, row[place])
            lost += weight * (star if out else one)
            most += weight * star
    return lost / most if most else Fraction(0)


def _lost(made: Made, place: int, levels: tuple[Row, ...], at: int, value: str) -> tuple[Fraction, Fraction]:
    """What a value loses at a level, and what it loses when it is suppressed."""
    own = levels[0].index(value)
    if made.measure == "ncp":
        covered = sum(label == levels[at][own] for label in levels[at])
        return Fraction(covered - 1, max(len(levels[0]) - 1, 1)), Fraction(1)
    counts = Counter(levels[at][levels[0].index(row[place])] for row in made.quasi)
    ground = Counter(row[place] for row in made.quasi)
    star = _bits(len(made.quasi), ground[value])
    return star - _bits(len(made.quasi), counts[levels[at][own]]), star


def _bits(records: int, count: int) -> Fraction:
    return Fraction(round(math.log2(records / count) * 2**24))


def best(made: Made) -> tuple[Fraction, int, int, tuple[int, ...]] | None:
    """Loss, suppressed records, sum of levels and node of the optimum; None where no node keeps any record."""
    found = []
    for node in made.nodes:
        gone = suppressed(made, node)
        if sum(gone) <= made.limit and not all(gone):
            found.append((loss(made, node, gone), sum(gone), sum(node), node))
    return min(found, default=None)


# Random tables


def levels(chance: random.Random, values: int) -> tuple[Row, ...]:
    """A hierarchy over so many values: groups that merge at random, ending in a star more often than not."""
    groups = [f"v{number}" for number in range(values)]
    found = [tuple(groups)]
    for level in range(chance.randint(0, 2)):
        names = {group: f"g{level}{chance.randrange(1 + len(set(groups)) // 2)}" for group in sorted(set(groups))}
        groups = [names[group] for group in groups]
        found.append(tuple(groups))
    if chance.random() < 0.8:
        found.append(("*",) * values)
    return tuple(found)


def models(chance: random.Random, secrets: list[str]) -> tuple[Any, ...]:
    """Some models, at least one."""
    possible = [K(chance.randint(1, 4))]
    for name in secrets:
        possible += [
            DistinctL(chance.randint(1, 3), name),
            EntropyL(chance.choice([1, 1.5, 2, "1.7547653506033232", 3]), name),
            RecursiveL(chance.choice([1, 2, "2.5"]), chance.randint(1, 3), name),
            T(chance.choice([0, "0.1", "1/3", 0.4]), name, ordered=chance.random() < 0.5),
        ]
    return tuple(chance.sample(possible, chance.choice([1, 1, 2, 3])))


def table(seed: int, **given: Any) -> Made:
    """A small random table."""
    chance = random.Random(seed)
    records, width = chance.randint(1, 24), chance.randint(1, 3)
    domains = [chance.randint(1, 5) for _ in range(width)]
    quasi = [tuple(f"v{int(chance.triangular(0, size, 0))}" for size in domains) for _ in range(records)]
    secrets = {name: [chance.choice("aaabc") for _ in range(records)] for name in ("s", "u")}
    asked = {
        "models": models(chance, list(secrets)),
        "suppress": chance.choice(["0", "0.05", "0.3", "1"]),
        "measure": chance.choice(["ncp", "entropy", "discernibility", "average_class_size"]),
    }
    if asked["measure"] in ("ncp", "entropy") and chance.random() < 0.3:
        asked["weights"] = {"q0": "2.5"}
    return Made(quasi, secrets, [levels(chance, size + 1) for size in domains], **(asked | given))

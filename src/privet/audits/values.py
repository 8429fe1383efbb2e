"""What one record of a data set can be: a number of a range, or one of a list."""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass
from typing import Any

import numpy as np

from privet.core.rational import show
from privet.errors import InvalidInputError

PROBES = 8  # values of a range that are tried beside its ends


@dataclass(frozen=True, slots=True)
class Between:
    """Every number from `low` to `high`."""

    low: float
    high: float

    def __post_init__(self) -> None:
        if not (math.isfinite(self.low) and math.isfinite(self.high) and self.low < self.high):
            raise InvalidInputError(
                f"Between needs two numbers that rise, not {show(self.low)} and {show(self.high)}",
                "write Between(0, 1)",
                "reversed-range",
            )

    def __str__(self) -> str:
        return f"from {self.low:g} to {self.high:g}"

    def corners(self) -> list[float]:
        inside = [0.0] if self.low < 0 < self.high else []
        return [self.high, self.low, *inside, (self.low + self.high) / 2, self.low + (self.high - self.low) / 3]

    def listed(self) -> tuple[float, ...]:
        """Nothing is listed."""
        return ()

    def probes(self) -> tuple[float, ...]:
        """Some that lie evenly; there is no end of them."""
        return tuple(self.low + (self.high - self.low) * (place + 0.5) / PROBES for place in range(PROBES))

    def draw(self, generator: np.random.Generator) -> float:
        return float(generator.uniform(self.low, self.high))


@dataclass(frozen=True, slots=True)
class Listed:
    """A few records, of any type."""

    records: tuple[Any, ...]

    def __str__(self) -> str:
        return f"{len(self.records)} different ones"

    def corners(self) -> list[Any]:
        """The largest and smallest in every field, those that are no ordinary number, then the others."""
        found: list[int] = []
        width = max(len(fields(record)) for record in self.records)
        for field in range(width):
            known = [(fields(record)[field], n) for n, record in enumerate(self.records) if len(fields(record)) > field]
            plain = [(value, n) for value, n in known if finite(value)]
            found += [max(plain)[1], min(plain)[1]] if plain else []
            found += [n for value, n in known if isinstance(value, float) and not math.isfinite(value)][:2]
            found += [n for value, n in known if value is None][:1]
        order = dict.fromkeys([*found, *range(len(self.records))])
        return [self.records[n] for n in order]

    def listed(self) -> tuple[Any, ...]:
        return self.records

    def probes(self) -> tuple[Any, ...]:
        """All of them."""
        return self.records

    def draw(self, generator: np.random.Generator) -> Any:
        return self.records[generator.integers(len(self.records))]


def fields(record: Any) -> tuple[Any, ...]:
    return tuple(record) if isinstance(record, tuple | list) else (record,)


def finite(value: Any) -> bool:
    return isinstance(value, numbers.Real) and math.isfinite(value)


def read_values(values: object) -> Between | Listed:
    if isinstance(values, Between):
        return values
    if not isinstance(values, list | tuple | range) or not len(values):
        raise InvalidInputError(
            f"values must be a list of records, or Between(low, high), not {show(values)}",
            "write Rows([0, 1]) or Rows(Between(0, 100))",
            "not-a-list",
        )
    return Listed(tuple(values))

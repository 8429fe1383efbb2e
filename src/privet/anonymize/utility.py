"""How much a generalization loses, in whole numbers, and what it loses at least before it is tried.

    ncp                   mean over records and quasi-identifiers of the share of all ground values that a value covers
                          beside its own: 0 for itself, 1 for a star (ARX calls it loss); a suppressed record is 1
    entropy               bits that are no longer told, of all bits (non-uniform entropy)
    discernibility        for each record the size of its class; for a suppressed record all records
    average_class_size    records for each class, those suppressed being one class

A *node* is a level for each quasi-identifier. Below it lie its specializations, above it its generalizations. A
search wants bounds: `floors` for every node before anything is counted; `below`, for all specializations of a node
that was counted, where some records are known to be suppressed in all of them; and `above`, for all generalizations.
Each is proved where it stands, and tested by enumeration.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from privet.anonymize.hierarchy import Hierarchy
from privet.core.rational import positive, show
from privet.errors import InvalidInputError
from privet.typing import Floats, Integers, Truths

Node = tuple[int, ...]
STEPS = 2**24  # of a bit: entropies are whole numbers of them


@dataclass(frozen=True, slots=True)
class Classes:
    """Classes of a node: how many records each has, and where its values stand: that of class c in quasi-identifier i
    is `columns[i][rows[c]]`, a place in the labels of the level."""

    node: Node
    sizes: Integers
    columns: tuple[npt.NDArray[np.integer], ...]
    rows: npt.NDArray[np.intp]

    def __len__(self) -> int:
        return len(self.sizes)

    @property
    def records(self) -> int:
        return int(self.sizes.sum())

    def values(self, place: int) -> npt.NDArray[np.integer]:
        return self.columns[place][self.rows]

    def where(self, chosen: Truths) -> Classes:
        return Classes(self.node, self.sizes[chosen], self.columns, self.rows[chosen])

    def without(self, most: Integers) -> Classes:
        """What is left of the classes when so many records of each are taken away."""
        left = self.sizes - most
        return Classes(self.node, left[left > 0], self.columns, self.rows[left > 0])


class UtilityMeasure(Protocol):
    """A loss is an int or a Fraction; divided by `total` it is at most 1. Bounds are floats of that share."""

    @property
    def total(self) -> int: ...

    def loss(self, classes: Classes, gone: Classes) -> int | Fraction:
        """Of all classes of a node, where those `gone` are suppressed."""
        ...

    def floors(self) -> Floats:
        """For each node what it loses at least."""
        ...

    def below(self, node: Node, gone: Classes) -> Floats:
        """For each node at or below `node` what it loses at least, where in all of them at least so many records of the
        classes `gone` are suppressed."""
        ...

    def above(self, classes: Classes) -> float:
        """What every node at or above this one loses at least."""
        ...

    def shown(self, loss: int | Fraction) -> float:
        """As people know it."""
        ...


@dataclass(frozen=True, slots=True)
class Additive:
    """A loss that adds up over records and quasi-identifiers: ncp and entropy.

    `credit[i][j][g]` is what value g at level j of quasi-identifier i still tells; a suppressed record tells nothing.
    `told[i][j]` is the sum of it over all records at that level, and `factor[i]` what one unit of it is worth.
    Credits never grow from level to level. `inner[i][j][m][g]` is the least credit, at a level m below j, of the values
    that g is made of.
    """

    credit: tuple[tuple[Integers, ...], ...]
    told: tuple[tuple[int, ...], ...]
    factor: tuple[int, ...]
    inner: tuple[tuple[tuple[Integers, ...], ...], ...]

    @property
    def total(self) -> int:
        """All that the ground values tell: the loss where every record is suppressed."""
        return sum(factor * told[0] for factor, told in zip(self.factor, self.told, strict=True)) or 1

    def loss(self, classes: Classes, gone: Classes) -> int:
        """What generalizing all records takes away, and what suppressing some takes away on top."""
        taken = sum(
            factor * (told[0] - told[level])
            for factor, told, level in zip(self.factor, self.told, classes.node, strict=True)
        )
        return taken + sum(
            factor * int(sums @ credit[level])
            for factor, sums, credit, level in zip(
                self.factor, self._sums(gone), self.credit, classes.node, strict=True
            )
        )

    def _sums(self, classes: Classes) -> Iterator[Integers]:
        """For each quasi-identifier, how many records of the classes have each value."""
        for place, level in enumerate(classes.node):
            groups = len(self.credit[place][level])
            yield np.bincount(classes.values(place), weights=classes.sizes, minlength=groups).astype(np.int64)

    def floors(self) -> Floats:
        """What generalizing alone takes away: suppression only adds to it, since no credit is negative."""
        parts = [
            [factor * (told[0] - each) / self.total for each in told]
            for factor, told in zip(self.factor, self.told, strict=True)
        ]
        return _outer(parts)

    def below(self, node: Node, gone: Classes) -> Floats:
        """A node Y below X = `node` loses what generalizing to Y takes away, plus what its suppressed records tell at
        Y. Of a class of X in `gone` at least its size are among them, whichever. One that has value g at X has at Y,
        in each quasi-identifier, one of the values that g is made of, so it tells there at least the least credit of
        those (`inner`)."""
        parts = [
            [factor * (told[0] - told[low] + int(sums @ inner[level][low])) / self.total for low in range(level + 1)]
            for factor, told, sums, inner, level in zip(
                self.factor, self.told, self._sums(gone), self.inner, node, strict=True
            )
        ]
        return _outer(parts)

    def above(self, classes: Classes) -> float:  # noqa: ARG002  nothing beyond the floors
        return 0.0

    def shown(self, loss: int | Fraction) -> float:
        return float(Fraction(loss) / self.total)


@dataclass(frozen=True, slots=True)
class Discernibility:
    """The sum over classes of their size squared; a suppressed record counts as all `records`.

    `least` is the size that a class must have to be kept.
    """

    heights: Node
    records: int
    least: int

    @property
    def total(self) -> int:
        return self.records**2

    def loss(self, classes: Classes, gone: Classes) -> int:
        kept = int(classes.sizes @ classes.sizes) - int(gone.sizes @ gone.sizes)
        return kept + gone.records * self.records

    def floors(self) -> Floats:
        """A record that is kept is in a class of at least `least`; one that is not counts more."""
        return np.full(self.heights, min(self.least, self.records) / self.records)

    def below(self, node: Node, gone: Classes) -> Floats:
        """The records `gone` count as all records each, and the others as in `floors`."""
        away = gone.records
        rest = (self.records - away) * min(self.least, self.records)
        return np.full(tuple(level + 1 for level in node), (away * self.records + rest) / self.total)

    def above(self, classes: Classes) -> float:
        """Above this node a record's class has all records of its class here, and more; or else it is suppressed and
        counts as all records. So each counts at least the size of its class here."""
        return int(classes.sizes @ classes.sizes) / self.total

    def shown(self, loss: int | Fraction) -> float:
        return float(loss)


@dataclass(frozen=True, slots=True)
class AverageClassSize:
    """Records for each class; all that are suppressed together are one class. The loss is 1 / number of classes."""

    heights: Node
    records: int
    least: int

    @property
    def total(self) -> int:
        return 1

    def loss(self, classes: Classes, gone: Classes) -> Fraction:
        return Fraction(1, len(classes) - len(gone) + (len(gone) > 0))

    def floors(self) -> Floats:
        """Classes of `least` records: no more than fit into the table, and one of those suppressed."""
        return np.full(self.heights, self._at_least(0))

    def below(self, node: Node, gone: Classes) -> Floats:
        """Classes of `least` records fit into what is not `gone`."""
        return np.full(tuple(level + 1 for level in node), self._at_least(gone.records))

    def _at_least(self, away: int) -> float:
        return 1 / ((self.records - away) // self.least + 1)

    def above(self, classes: Classes) -> float:
        """Every class above is made of whole classes of this node, and so are the suppressed records together. So
        there are no more than here."""
        return 1 / len(classes)

    def shown(self, loss: int | Fraction) -> float:
        return float(self.records * Fraction(loss))


def ncp(hierarchies: Sequence[Hierarchy], counts: Sequence[Integers], weights: Sequence[Fraction]) -> Additive:
    """A value that covers c of m ground values still tells (m - c) / (m - 1); if there is but one, all of it. `counts`
    are the records of each ground value. Multiples of all m - 1 make it whole."""
    spans = [max(len(one.levels[0]) - 1, 1) for one in hierarchies]
    credit = tuple(tuple(_uncovered(one, level) for level in range(one.height)) for one in hierarchies)
    return _additive(hierarchies, counts, credit, [weight / span for weight, span in zip(weights, spans, strict=True)])


def _uncovered(hierarchy: Hierarchy, level: int) -> Integers:
    ground = len(hierarchy.levels[0])
    covered = np.bincount(hierarchy.grouping(level))
    return (ground - covered if ground > 1 else np.ones(1)).astype(np.int64)


def entropy(hierarchies: Sequence[Hierarchy], counts: Sequence[Integers], weights: Sequence[Fraction]) -> Additive:
    """A value of c records of n still tells log2(n / c) bits, in steps of 2^-24: rounding keeps their order."""
    credit = tuple(
        tuple(_bits(np.bincount(one.grouping(level), weights=count)) for level in range(one.height))
        for one, count in zip(hierarchies, counts, strict=True)
    )
    return _additive(hierarchies, counts, credit, weights)


def _bits(counts: npt.NDArray[Any]) -> Integers:
    there = np.maximum(counts, 1)  # a value that no record has tells nothing to nobody
    steps: Integers = np.rint(np.log2(counts.sum() / there) * STEPS).astype(np.int64)
    return steps


def _additive(
    hierarchies: Sequence[Hierarchy],
    counts: Sequence[Integers],
    credit: tuple[tuple[Integers, ...], ...],
    worth: Sequence[Fraction],
) -> Additive:
    told = tuple(
        tuple(int(count @ credits[level][one.grouping(level)]) for level in range(one.height))
        for one, count, credits in zip(hierarchies, counts, credit, strict=True)
    )
    inner = tuple(
        tuple(tuple(_least(one, credits, level, low) for low in range(level + 1)) for level in range(one.height))
        for one, credits in zip(hierarchies, credit, strict=True)
    )
    common = math.lcm(*(one.denominator for one in worth))
    return Additive(credit, told, tuple(int(one * common) for one in worth), inner)


def _least(hierarchy: Hierarchy, credit: tuple[Integers, ...], level: int, low: int) -> Integers:
    """For each value of a level the least credit of the values at a lower level that it is made of."""
    found = np.full(len(credit[level]), np.iinfo(np.int64).max)
    np.minimum.at(found, hierarchy.grouping(level), credit[low][hierarchy.grouping(low)])
    return found


def _outer(parts: Sequence[Sequence[float]]) -> Floats:
    """For each node the sum of what its levels have."""
    return reduce(np.add.outer, [np.array(part) for part in parts])


ADDITIVE = {"ncp": ncp, "entropy": entropy}
MEASURES = ("ncp", "entropy", "discernibility", "average_class_size")


def measure_of(
    name: str,
    hierarchies: Sequence[Hierarchy],
    counts: Sequence[Integers],
    *,
    least: int = 1,
    weights: Sequence[Fraction] = (),
) -> UtilityMeasure:
    """The measure of this name, for records with so many of each ground value, and classes of at least `least`."""
    if name not in MEASURES:
        raise InvalidInputError(
            f"there is no measure {show(name)}", f"use one of {', '.join(MEASURES)}", "unknown-choice"
        )
    heights = tuple(one.height for one in hierarchies)
    records = int(counts[0].sum())
    if name not in ADDITIVE and weights:
        raise InvalidInputError(
            f"{name} has no weights", "give weights only with the measures ncp and entropy", "unneeded-option"
        )
    if name == "discernibility":
        return Discernibility(heights, records, least)
    if name == "average_class_size":
        return AverageClassSize(heights, records, least)
    return ADDITIVE[name](hierarchies, counts, weights or [Fraction(1)] * len(hierarchies))


def weights_of(names: Sequence[str], given: Mapping[str, object]) -> list[Fraction]:
    """The weight of each quasi-identifier; 1 where none is given."""
    for name in given:
        if name not in names:
            raise InvalidInputError(
                f"{show(name)} has a weight but is not a quasi-identifier",
                f"use one of {', '.join(map(show, names))}",
                "unknown-column",
            )
    return [positive(given.get(name, 1), f"the weight of {name}") for name in names]

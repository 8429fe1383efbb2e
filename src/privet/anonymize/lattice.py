"""The search: which node of the lattice of levels loses least, with no more than so many records suppressed.

Best first: the node whose loss could still be the least is looked at next, and from it a way up to where enough records
stay; halving that way finds the border quickly. What is counted at a node tells about others:

- records that models which prune (see `models`) suppress at a node are suppressed at all nodes below it. Of a class
  that fails another model, no more records are kept at any node below than its largest part that holds has. If those
  that are not kept are too many, all these nodes are out; if not, they raise what they lose at least (`measures`);
- where nothing may be suppressed, a node that fails any model rules out all below: the classes there are parts of its
  classes, and a class whose parts all hold holds. (For t: a distance from the table is convex, and a class a mixture
  of its parts. Entropy: it is concave. Recursive: of a sum, the largest is at most the sum of the largest, and what is
  left without the l - 1 largest is at least the sum of what is left.)

Losses are compared as whole numbers; bounds are floats that may be wrong in their last digits, so a node within 1e-12
of the best is still looked at. Of nodes that lose the same, one that suppresses fewer records is better, then one with
lower levels in all, then the one that comes first. So the result does not depend on the way it was found.
"""

from __future__ import annotations

import time
from bisect import insort
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from operator import le

import numpy as np
import numpy.typing as npt

from privet.anonymize.counting import Frequencies, FrequencyLevels
from privet.anonymize.models import Counts, K, Model
from privet.anonymize.utility import Classes, Node, UtilityMeasure
from privet.typing import Integers, Truths

Progress = Callable[[str, int, int], object]
Loss = int | Fraction
OUT = np.inf
SLACK = 1e-12
SMALLER = 0.6  # of the rows that it was counted from: then a table is worth keeping
KEPT = 8  # times the rows of the first table may be held in all
CELLS = 2**22  # of a table of classes and sensitive values in memory


@dataclass(frozen=True, slots=True)
class Demand:
    """What classes must fulfil: the models, and how many values each sensitive column has how often."""

    models: tuple[Model, ...]
    columns: tuple[str, ...]
    overall: tuple[Counts, ...]

    @property
    def least(self) -> int:
        """Records that every class has that holds."""
        return max([1, *(model.k for model in self.models if isinstance(model, K)), *self.distinct])

    @property
    def distinct(self) -> tuple[int, ...]:
        """For each sensitive column, how many of its values every class has that holds."""
        return tuple(
            max([1, *(model.distinct(overall) for model in self.models if model.column == name)])
            for name, overall in zip(self.columns, self.overall, strict=True)
        )

    @property
    def others(self) -> tuple[Model, ...]:
        """Models of which `least` and `distinct` are not all."""
        return tuple(model for model in self.models if not model.prunes)


@dataclass(frozen=True, slots=True)
class Look:
    """What was found at a node: all its classes, and which are kept. `gone` are the others. `must` are classes of which
    so many records, or others in place of them, are suppressed at all nodes below."""

    classes: Classes
    kept: Truths
    gone: Classes
    must: Classes

    @property
    def suppressed(self) -> int:
        return self.gone.records


@dataclass(frozen=True, slots=True)
class Best:
    """A node that suppresses few enough records, and its loss."""

    look: Look
    loss: Loss

    @property
    def order(self) -> tuple[Loss, int, int, Node]:
        """The best comes first."""
        node = self.look.classes.node
        return self.loss, self.look.suppressed, sum(node), node


@dataclass(slots=True)
class FoundNode:
    """How a search ended. `bound`: no node that was left out loses less, as a share of the measure's total.
    `fewest`: the least number of records that any node seen suppresses."""

    best: Best | None
    bound: float
    optimal: bool
    looks: int
    fewest: int


@dataclass(slots=True)
class Lattice:
    """All nodes. `records` at the ground values; no more than `limit` may be suppressed."""

    ground: Frequencies
    levels: FrequencyLevels
    demand: Demand
    measure: UtilityMeasure
    limit: int
    tables: list[Frequencies] = field(init=False)
    _held: int = 0

    def __post_init__(self) -> None:
        self.tables = [self.ground]

    def table(self, node: Node) -> Frequencies:
        """The counts at a node, from the smallest table at or below it."""
        source = next(one for one in self.tables if all(map(le, one.node, node)))
        if source.node == node:
            return source
        found = self.levels.rolled(source, node, [len(overall) for overall in self.demand.overall])
        room = KEPT * len(self.ground) + 2**16
        if len(found) <= SMALLER * len(source) and self._held + len(found) <= room:
            found = found.plain
            insort(self.tables, found, key=len)  # the smallest first
            self._held += len(found)
        return found

    def look(self, node: Node) -> Look:
        """Count the node: which classes are kept."""
        table = self.table(node)
        classes = table.classes
        failed = classes.sizes < self.demand.least
        for place, number in enumerate(self.demand.distinct):
            if number > 1:
                failed |= _kinds(table, place, len(self.demand.overall[place])) < number
        gone = must = classes.where(failed)
        kept = ~failed
        if self.demand.others:
            most = np.where(failed, 0, classes.sizes)
            for model in self.demand.others:
                self._ask(model, table, kept, most)
            gone = classes.where(~kept)
            most[most < self.demand.least] = 0  # what is kept of a class has at least one class in it
            must = classes.without(most)
        if self.limit == 0:
            must = gone
        return Look(classes, kept, gone, must)

    def _ask(self, model: Model, table: Frequencies, kept: Truths, most: Integers) -> None:
        """Whether a model holds for the classes that are still kept, and if not, how many records of them may be."""
        place = self.demand.columns.index(model.column or "")
        overall = self.demand.overall[place]
        for chosen in _blocks(np.flatnonzero(kept), max(1, CELLS // len(overall))):
            counts = _counts(table, place, len(overall), chosen)
            holds = model.holds(counts, overall)
            kept[chosen] = holds
            failing = chosen[~holds]
            most[failing] = np.minimum(most[failing], model.most(counts[~holds], overall))


class LatticeSearch:
    """`lower` has for every node what it loses at least, as far as is known, and OUT where nothing is left to know."""

    def __init__(self, lattice: Lattice, seconds: float | None = None, progress: Progress | None = None) -> None:
        self.lattice, self.progress = lattice, progress
        self.until = None if seconds is None else time.monotonic() + seconds
        self.lower = lattice.measure.floors()
        self.best: Best | None = None
        self.looks = 0
        self.fewest = int(lattice.ground.weights.sum())

    def run(self) -> FoundNode:
        """The best node, or the best one found in time; the top is always looked at."""
        self.visit(tuple(height - 1 for height in self.lattice.levels.heights))
        while not self._settled(node := self._lowest()):
            if self._late():
                return self._found(min(float(self.lower[node]), self.share), optimal=False)
            self._climb(node)
            self._tell()
        return self._found(self.share, optimal=True)

    def _found(self, bound: float, *, optimal: bool) -> FoundNode:
        return FoundNode(self.best, bound, optimal, self.looks, self.fewest)

    @property
    def share(self) -> float:
        """The best loss so far, as a share of the total."""
        return OUT if self.best is None else float(Fraction(self.best.loss) / self.lattice.measure.total)

    def _lowest(self) -> Node:
        return tuple(map(int, np.unravel_index(int(self.lower.argmin()), self.lower.shape)))

    def _settled(self, node: Node) -> bool:
        """Whether the node was looked at, is out, or loses more than the best."""
        lower = float(self.lower[node])
        return lower == OUT or lower > self.share * (1 + SLACK)

    def _late(self) -> bool:
        return self.until is not None and time.monotonic() >= self.until

    def _climb(self, node: Node) -> None:
        """Halve the way from a node to the top, towards the lowest one on it that suppresses few enough records."""
        way = self._way(node)
        low, high = 0, len(way) - 1
        while low <= high and not self._late():
            middle = (low + high) // 2
            if self._settled(way[middle]) or self.visit(way[middle]):
                high = middle - 1
            else:
                low = middle + 1

    def _way(self, node: Node) -> list[Node]:
        """Up through nodes that are not out, each time to the one that may lose least."""
        way = [node]
        while True:
            upper = [
                (*node[:place], level + 1, *node[place + 1 :])
                for place, (level, height) in enumerate(zip(node, self.lower.shape, strict=True))
                if level + 1 < height
            ]
            node = min(upper, key=lambda one: float(self.lower[one]), default=node)
            if not upper or self.lower[node] == OUT:
                return way
            way.append(node)

    def visit(self, node: Node) -> bool:
        """Look at a node, and use what it says about others. Whether all that prunes leaves enough records."""
        look = self.lattice.look(node)
        self.looks += 1
        below = self.lower[tuple(slice(0, level + 1) for level in node)]
        enough = look.must.records <= self.lattice.limit
        if not enough:
            below[...] = OUT
        else:
            np.maximum(below, self.lattice.measure.below(node, look.must), out=below)
            above = self.lower[tuple(slice(level, None) for level in node)]
            np.maximum(above, self.lattice.measure.above(look.classes), out=above)
        self._keep(look)
        self.lower[node] = OUT
        return enough

    def _keep(self, look: Look) -> None:
        self.fewest = min(self.fewest, look.suppressed)
        if not look.kept.any() or look.suppressed > self.lattice.limit:
            return
        found = Best(look, self.lattice.measure.loss(look.classes, look.gone))
        if self.best is None or found.order < self.best.order:
            self.best = found

    def _tell(self) -> None:
        if self.progress is not None:
            done = int(np.count_nonzero(self.lower > self.share * (1 + SLACK)))
            self.progress("nodes", done, self.lower.size)


def _kinds(table: Frequencies, place: int, values: int) -> npt.NDArray[np.intp]:
    """How many different sensitive values each class has."""
    pairs = table.member * values + table.secret(place)
    if table.sensitive > 1:
        pairs = np.unique(pairs)  # rows may differ in another sensitive column
    return np.bincount(pairs // values, minlength=len(table.starts))


def _counts(table: Frequencies, place: int, values: int, chosen: npt.NDArray[np.intp]) -> Counts:
    """How often the chosen classes, in rising order, have each sensitive value."""
    row = np.full(len(table.starts), -1, dtype=np.intp)
    row[chosen] = np.arange(len(chosen))
    member = row[table.member]
    there = member >= 0
    cells = member[there] * values + table.secret(place)[there]
    sums = np.bincount(cells, weights=table.weights[there], minlength=len(chosen) * values)
    return sums.astype(np.int64).reshape(len(chosen), values)


def _blocks(places: npt.NDArray[np.intp], size: int) -> Iterator[npt.NDArray[np.intp]]:
    for start in range(0, len(places), size):
        yield places[start : start + size]

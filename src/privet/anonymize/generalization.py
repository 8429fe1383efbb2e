"""The optimal full-domain generalization: one level for each quasi-identifier, and records suppressed that stand out.

    made = generalize(data, ["age", "sex", "zip"], hierarchies=read_hierarchies("hierarchies"), k=5, suppress=0.05)
    print(made); made.write("shipped.csv")

Of all choices of levels that keep the privacy models with at most a share `suppress` of the records suppressed, it is
the one that loses least, and this is proved by the search (`lattice`), not hoped for. It is what ARX finds.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil, floor, prod
from typing import Any

import numpy as np
import numpy.typing as npt

from privet.anonymize.counting import Frequencies, FrequencyLevels, counted
from privet.anonymize.hierarchy import Hierarchy
from privet.anonymize.hierarchy_file import given_hierarchies
from privet.anonymize.lattice import Best, Demand, FoundNode, Lattice, LatticeSearch, Look, Progress
from privet.anonymize.models import K, Model, asked, check_k, columns_of, many_records, values_of
from privet.anonymize.result import Anonymized, recoded
from privet.anonymize.utility import MEASURES, measure_of, weights_of
from privet.core.rational import positive, rational, show
from privet.errors import InvalidInputError
from privet.records.microdata import Microdata, RecordColumn, read
from privet.typing import Integers

MOST_NODES = 2**24  # of which bounds are held in memory
DIGITS = 10**6  # of a share that is proposed
DIRECT = 2**26  # possible keys that a table of classes may have
Keys = npt.NDArray[Any]  # of 32 or 64 bits


@dataclass(frozen=True, slots=True)
class Quasi:
    """A quasi-identifier: its hierarchy, and the ground value of each code of its column."""

    column: RecordColumn
    hierarchy: Hierarchy
    ground: npt.NDArray[np.int32]

    def groups(self, level: int) -> npt.NDArray[np.int32]:
        """For each code of the column its group at a level."""
        return self.hierarchy.grouping(level)[self.ground]


@dataclass(frozen=True, slots=True, kw_only=True)
class GeneralizeTask:
    """What is to be anonymized, and how."""

    records: Microdata
    quasi: tuple[Quasi, ...]
    models: tuple[Model, ...]
    sensitive: tuple[str, ...]
    limit: int  # records that may be suppressed
    measure: str
    weights: list[Fraction]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(one.column.name for one in self.quasi)

    @property
    def hierarchies(self) -> list[Hierarchy]:
        return [one.hierarchy for one in self.quasi]


def generalize(  # noqa: PLR0913  what a steward may want to say, each by name
    data: object,
    quasi: Sequence[str],
    *,
    hierarchies: Mapping[str, Hierarchy] | str | os.PathLike[str] | None = None,
    k: int | None = 5,
    l: int | None = None,  # noqa: E741  its name in the field
    t: object | None = None,
    models: Sequence[Model] = (),
    sensitive: str | Sequence[str] | None = None,
    suppress: object = 0.05,
    measure: str = "ncp",
    weights: Mapping[str, object] | None = None,
    seconds: object | None = None,
    progress: Progress | None = None,
) -> Anonymized:
    """The best generalization of records (a file, a data frame, or Microdata).

    k, l (different values) and t (distance) are short for models; `models` may have others. `suppress` is the share of
    records that may be suppressed. `weights` say how much more one quasi-identifier matters than another. After
    `seconds` the best found so far is given back, with what no choice goes below. Hierarchies are given by column, or
    as the folder of their files; a column without one gets the one that fits its values.
    """
    records = read(data)
    begun = time.perf_counter()
    patience = None if seconds is None else float(positive(seconds, "seconds"))
    private = (sensitive,) if isinstance(sensitive, str) else tuple(sensitive or ())
    wanted = asked(k, l, t, models, private)
    named = tuple([quasi] if isinstance(quasi, str) else quasi or ())
    task = GeneralizeTask(
        records=records,
        quasi=quasi_identifiers(records, named, columns_of(wanted, private), hierarchies),
        models=wanted,
        sensitive=columns_of(wanted, private),
        limit=limit_of(suppress, len(records)),
        measure=measure,
        weights=weights_of(named, weights or {}),
    )
    _check_size(task)
    lattice = _lattice(task, weighted=bool(weights))
    found = LatticeSearch(lattice, patience, progress).run()
    return _made(task, lattice, found, begun)


# What is asked


def quasi_identifiers(
    records: Microdata,
    names: Sequence[str],
    sensitive: Sequence[str],
    hierarchies: Mapping[str, Hierarchy] | str | os.PathLike[str] | None,
) -> tuple[Quasi, ...]:
    """The columns by which somebody may be known, with a hierarchy each."""
    if not len(records):
        raise InvalidInputError("there are no records", "check the file", "empty")
    if not names:
        raise InvalidInputError("no quasi-identifier is named", 'for example quasi=["age", "sex"]', "missing-name")
    twice = {name for name in names if list(names).count(name) > 1}
    if twice:
        raise InvalidInputError(
            f"quasi-identifier {show(min(twice))} is named twice", "name each column once", "duplicate-name"
        )
    for name in sensitive:
        records[name]  # or it is not there
        if name in names:
            raise InvalidInputError(
                f"column {show(name)} is both sensitive and a quasi-identifier",
                "name it in only one of the two lists",
                "duplicate-name",
            )
    given = given_hierarchies(hierarchies, names)
    return tuple(_quasi(records[name], given.get(name)) for name in names)


def _quasi(column: RecordColumn, hierarchy: Hierarchy | None) -> Quasi:
    if hierarchy is None:
        from privet.anonymize.builders import suggest  # noqa: PLC0415  only where one is missing

        hierarchy = suggest(column)
    return Quasi(column, *hierarchy.fitted(column))


def limit_of(suppress: object, records: int) -> int:
    """How many records a share is, rounded down."""
    share = rational(suppress, "suppress")
    if not 0 <= share <= 1:
        raise InvalidInputError(
            f"suppress must be from 0 to 1, not {show(suppress)}",
            f"give a share of the records, for example suppress={_as_share(share)}",
            "out-of-range",
        )
    return floor(share * records)


def _as_share(share: Fraction) -> float:
    """Who writes 20 means 20 percent."""
    return float(share / 100) if 1 < share <= 100 else 0.05


def _check_size(task: GeneralizeTask) -> None:
    """Refuse what cannot be, and what does not fit into memory."""
    least, records = max([1, *(model.k for model in task.models if isinstance(model, K))]), len(task.records)
    check_k(least, records)
    nodes = prod(one.height for one in task.hierarchies)
    if nodes > MOST_NODES:
        raise InvalidInputError(
            f"there are {nodes:,} ways to choose levels, too many to search",
            "give fewer quasi-identifiers or hierarchies with fewer levels, or use mondrian",
            "too-many",
        )


# The search


def _lattice(task: GeneralizeTask, *, weighted: bool) -> Lattice:
    """The records, counted, and what is wanted of their classes."""
    columns: list[npt.NDArray[Any]] = []
    sizes, used = [], []
    for one in task.quasi:
        there: npt.NDArray[Any] = one.ground
        number: npt.NDArray[Any] = one.column.codes
        if len(np.unique(there)) < len(there):  # a missing value and the empty text
            there, codes = np.unique(there, return_inverse=True)
            number = codes.astype(number.dtype)[number]
        columns.append(number)
        sizes.append(len(there))
        used.append(there)
    private, overall = [], []
    for name in task.sensitive:
        values, counts = values_of(task.records[name])
        private.append(values)
        overall.append(counts)
    found = counted([*columns, *private], [*sizes, *map(len, overall)], len(columns))
    quasi = (there[value] for there, value in zip(used, found.columns[: len(used)], strict=True))
    ground = replace(found, columns=(*quasi, *found.columns[len(used) :]))
    demand = Demand(task.models, task.sensitive, tuple(overall))
    weights = task.weights if weighted else []
    measure = measure_of(task.measure, task.hierarchies, _marginals(task, ground), least=demand.least, weights=weights)
    return Lattice(ground, FrequencyLevels(task.hierarchies), demand, measure, task.limit)


def _marginals(task: GeneralizeTask, ground: Frequencies) -> list[Integers]:
    """How many records have each ground value."""
    return [
        np.bincount(values, weights=ground.weights, minlength=len(one.levels[0])).astype(np.int64)
        for one, values in zip(task.hierarchies, ground.columns, strict=False)
    ]


def _best(task: GeneralizeTask, found: FoundNode) -> Best:
    if found.best is not None:
        return found.best
    wanted, records = ", ".join(map(str, task.models)), len(task.records)
    within = f"{wanted} with at most {task.limit:,} of {many_records(records)} suppressed"
    if not found.optimal:
        raise InvalidInputError(
            f"no choice of levels was found in time for {within}",
            "give more seconds, for example seconds=60",
            "out-of-time",
        )
    if found.fewest == records:
        raise InvalidInputError(
            f"no choice of levels that was tried keeps any record under {wanted}",
            "ask for less: a smaller k or l, a larger t; or give hierarchies that end in one group",
            "unreachable-model",
        )
    share = Fraction(ceil(Fraction(found.fewest, records) * DIGITS), DIGITS)
    raise InvalidInputError(
        f"no choice of levels gives {within}",
        f"let {found.fewest:,} be suppressed: suppress={float(share)}; or ask for less, or give wider top levels",
        "unreachable-model",
    )


# The records to ship


def _made(task: GeneralizeTask, lattice: Lattice, found: FoundNode, begun: float) -> Anonymized:
    best = _best(task, found)
    look = best.look
    node = look.classes.node
    numbers = _numbered(task, look)
    gone = numbers < 0 if look.suppressed else None
    columns = {one.name: one for one in task.records}
    for one, level in zip(task.quasi, node, strict=True):
        labels = one.hierarchy.levels[level]
        columns[one.column.name] = recoded(one.column, [labels[place] for place in one.ground], gone)
    return Anonymized(
        data=Microdata(columns, len(task.records)),
        original=task.records,
        quasi=task.names,
        sensitive=task.sensitive,
        classes=numbers,
        suppressed=look.suppressed,
        node=dict(zip(task.names, node, strict=True)),
        measures=_measures(task, lattice, best),
        models=task.models,
        method="full-domain generalization",
        seconds=time.perf_counter() - begun,
        optimal=found.optimal,
        measure=task.measure,
        bound=lattice.measure.shown(Fraction(found.bound) * lattice.measure.total),
        looks=found.looks,
        nodes=prod(lattice.levels.heights),
    )


def _numbered(task: GeneralizeTask, look: Look) -> npt.NDArray[np.int32]:
    """For each record the number of its class; -1 where it is suppressed.

    Keys of records and of classes are made together, value by value. Before there would be more possible keys than a
    table may have, those that some class has are numbered anew."""
    records: Keys = np.zeros(len(task.records), dtype=np.int32)
    classes: Keys = np.zeros(len(look.classes), dtype=np.int32)
    radix = 1
    for place, (one, level) in enumerate(zip(task.quasi, look.classes.node, strict=True)):
        size = len(one.hierarchy.labels(level))
        if radix * size > DIRECT:
            classes, records, radix = _ranked(classes, records, radix)
        radix *= size
        kind: Any = np.int64 if radix > DIRECT else np.int32
        classes = classes.astype(kind, copy=False) * kind(size) + look.classes.values(place).astype(kind)
        records = records.astype(kind, copy=False)
        records *= kind(size)
        records += one.groups(level).astype(kind)[one.column.codes]
    if radix > DIRECT:
        classes, records, radix = _ranked(classes, records, radix)
    lookup = np.empty(radix, dtype=np.int32)
    lookup[classes] = np.where(look.kept, np.cumsum(look.kept) - 1, -1)
    return lookup[records]


def _ranked(classes: Keys, records: Keys, radix: int) -> tuple[Keys, Keys, int]:
    """The same keys, numbered in their order without gaps. Every record has the key of some class."""
    if radix > DIRECT:
        there = np.unique(classes)
        classes, records = np.searchsorted(there, classes), np.searchsorted(there, records)
        return classes.astype(np.int32), records.astype(np.int32), len(there)
    number = np.zeros(radix, dtype=np.int32)
    number[classes] = 1
    np.cumsum(number, out=number)
    number -= 1
    return number[classes], number[records], int(number[-1]) + 1


def _measures(task: GeneralizeTask, lattice: Lattice, best: Best) -> dict[str, float]:
    """By all measures, each quasi-identifier weighing the same but in the one that was minimized."""
    counts = _marginals(task, lattice.ground)
    found: dict[str, float] = {}
    for name in MEASURES:
        same = name == task.measure
        measure = lattice.measure if same else measure_of(name, task.hierarchies, counts)
        found[name] = measure.shown(best.loss if same else measure.loss(best.look.classes, best.look.gone))
    return found

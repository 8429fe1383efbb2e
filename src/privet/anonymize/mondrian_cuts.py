"""Mondrian: cut the table in two at a median, then each part again, as long as both halves are as they must be.

    found = mondrian(data, ["age", "zip", "sex"], k=5)
    found.data                          # ages such as 17-25; every record looks like at least four others

Each part is cut on the axis where its records are farthest apart (LeFevre, DeWitt and Ramakrishnan 2006, "Mondrian
Multidimensional K-Anonymity"). *Strict*: records with the same value stay on the same side, so that parts do not
overlap. *Relaxed*: where no such cut is left, records with the value in the middle are dealt to both sides. Nothing
is suppressed, and values are as narrow as each part allows, so the same age may be 17-25 here and 20-22 there. The
cut is greedy: there may be a better partition; finding the best is NP-hard (same paper).
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import pairwise
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

from privet.anonymize.axes import Axis, axis
from privet.anonymize.hierarchy import Hierarchy
from privet.anonymize.hierarchy_file import given_hierarchies
from privet.anonymize.models import K, Model, asked, check_k, check_names, columns_of, values_of
from privet.anonymize.result import Anonymized
from privet.errors import InvalidInputError
from privet.records.microdata import Microdata, RecordColumn, narrow, read
from privet.typing import Floats, Integers, Truths, Words

Progress = Callable[[str, int, int], object]
MOST_AXES = 64  # one bit each
FITS = 2**62
AT_A_TIME = 2**22  # entries of the tables of sensitive values
SHARE = 2**15  # rows for which a task of its own is worth it
PARTS = 8  # tasks for each processor: they do not all take as long


@dataclass(slots=True, eq=False, kw_only=True)
class _Tree:
    """Rows in the order of the parts they are in, and the loops that cut them."""

    rows: npt.NDArray[Any]
    order: npt.NDArray[Any]
    axes: tuple[Axis, ...]
    k: int
    strict: bool
    loops: ModuleType
    position: Floats = field(init=False)
    first: Integers = field(init=False)
    groups: npt.NDArray[np.uint32] = field(init=False)
    beginnings: Integers = field(init=False)

    def __post_init__(self) -> None:
        self.position = np.concatenate([one.position for one in self.axes])
        self.first = _starts([len(one.position) for one in self.axes])
        self.groups = np.concatenate([level for one in self.axes for level in one.groups])
        self.beginnings = _starts([len(one.position) * len(one.groups) for one in self.axes])

    def split(self, starts: Integers, ends: Integers, tried: Words) -> Integers:
        middles = np.empty(len(starts), np.int64)

        def task(some: slice) -> None:
            self.loops.split(
                self.rows, self.order, starts[some], ends[some], tried[:, some], self.k, not self.strict,
                self.position, self.first, self.groups, self.beginnings, middles[some],
            )  # fmt: skip

        in_threads(task, ends - starts)
        return middles

    def tables(self, starts: Integers, ends: Integers, place: int, size: int) -> Integers:
        """How often each sensitive value occurs in each part."""
        found = np.zeros((len(starts), size), np.int64)
        in_threads(
            lambda some: self.loops.count(self.rows, starts[some], ends[some], place, found[some]), ends - starts
        )
        return found


def in_threads(task: Callable[[slice], None], sizes: Integers) -> None:
    """Do a task for consecutive parts, in pieces of about as many rows."""
    workers = os.cpu_count() or 1
    behind = np.cumsum(sizes)
    pieces = int(min(workers * PARTS, behind[-1] // SHARE + 1))
    edges = np.unique(np.searchsorted(behind, np.arange(1, pieces) * (behind[-1] / pieces)))
    bounds = [0, *(int(edge) for edge in edges if 0 < edge < len(sizes)), len(sizes)]
    some = [slice(start, end) for start, end in pairwise(bounds)]
    if len(some) == 1:
        task(some[0])
        return
    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(task, some))


def _starts(sizes: Sequence[int]) -> Integers:
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class _Check:
    """The models of one sensitive column, whose codes are at a place behind the ranks."""

    models: tuple[Model, ...]
    place: int
    overall: Integers

    def hold(self, tree: _Tree, starts: Integers, ends: Integers) -> Truths:
        good = np.ones(len(starts), np.bool_)
        step = max(1, AT_A_TIME // len(self.overall))
        for some in (slice(start, start + step) for start in range(0, len(starts), step)):
            counts = tree.tables(starts[some], ends[some], self.place, len(self.overall))
            for model in self.models:
                good[some] &= model.holds(counts, self.overall)
        return good


def _checks(table: Microdata, rules: Sequence[Model], sensitive: Sequence[str], axes: int) -> list[_Check]:
    """All but the number of records, which the loops see to."""
    found = []
    for place, name in enumerate(sensitive, axes):
        models = tuple(model for model in rules if model.column == name)
        if models:
            found.append(_Check(models, place, values_of(table[name])[1]))
    return found


def _grown(tree: _Tree, checks: Sequence[_Check], progress: Progress | None) -> tuple[Integers, Integers]:
    """Where the parts start and end that cannot be cut any more. A part with a half that is not as it must be is tried
    on its other axes."""
    records = len(tree.order)
    starts, ends, tried = np.array([0]), np.array([records]), np.zeros((2, 1), np.uint64)
    done: list[tuple[Integers, Integers]] = []
    finished = 0
    while len(starts):
        middles = tree.split(starts, ends, tried)
        cut = middles >= 0
        done.append((starts[~cut], ends[~cut]))
        finished += int((done[-1][1] - done[-1][0]).sum())
        if progress is not None:
            progress("cutting", finished, records)
        starts, ends, middles, tried = starts[cut], ends[cut], middles[cut], tried[:, cut]
        good = np.ones(len(starts), np.bool_)
        for check in checks:
            good &= check.hold(tree, starts, middles) & check.hold(tree, middles, ends)
        fresh = np.zeros((2, 2 * int(good.sum())), np.uint64)
        tried = np.concatenate([fresh, tried[:, ~good]], axis=1)
        ends = np.concatenate([middles[good], ends[good], ends[~good]])
        starts = np.concatenate([starts[good], middles[good], starts[~good]])
        order = np.argsort(starts)
        starts, ends = starts[order], ends[order]
        tried = np.ascontiguousarray(tried[:, order])  # or the loops are compiled a second time, for columns in a row
    starts = np.concatenate([some for some, _ in done])
    order = np.argsort(starts)
    return starts[order], np.concatenate([some for _, some in done])[order]


@dataclass(frozen=True, slots=True, eq=False)
class _Released:
    """An axis after the cuts: the code of each part, the texts of codes, what each part loses, and the bits that it
    still tells, of those that there were."""

    codes: Integers
    texts: tuple[str | None, ...]
    losses: Floats
    bits: Floats
    all_bits: float


def _released(tree: _Tree, starts: Integers, ends: Integers) -> list[_Released]:
    """What the values of each part are called. Parts with the same extent share a name, made once."""
    shape = (len(starts), len(tree.axes))
    lows, highs = np.empty(shape, tree.rows.dtype), np.empty(shape, tree.rows.dtype)
    in_threads(
        lambda some: tree.loops.reach(tree.rows, starts[some], ends[some], lows[some], highs[some]), ends - starts
    )
    found = []
    for number, one in enumerate(tree.axes):
        counts = np.bincount(tree.rows[:, number], minlength=len(one.texts))
        if one.listing:
            sets = np.empty(len(starts), np.uint64)
            tree.loops.listed(tree.rows, starts, ends, number, sets)
            keys, inverse = np.unique(sets, return_inverse=True)
            named = one.listed(keys, counts)
        else:
            size = np.int64(len(one.texts))
            keys, inverse = np.unique(lows[:, number] * size + highs[:, number], return_inverse=True)
            named = one.named(keys // size, keys % size, counts)
        texts, codes = _ordered(named.texts)
        bits, all_bits = np.log2(len(tree.rows) / named.covered), _bits(counts)
        found.append(_Released(codes[inverse], texts, named.losses[inverse], bits[inverse], all_bits))
    return found


def _bits(counts: Integers) -> float:
    """What the values tell as they are: the fewer records have one, the more."""
    there = counts[counts > 0]
    return float(there @ np.log2(there.sum() / there))


def _ordered(texts: Sequence[str | None]) -> tuple[tuple[str | None, ...], Integers]:
    """Each text once, in order, missing last, as a column has it; and where each of those given is."""
    distinct = sorted(text for text in dict.fromkeys(texts) if text is not None)
    found: tuple[str | None, ...] = (*distinct, *((None,) if None in texts else ()))
    place = {text: code for code, text in enumerate(found)}
    return found, np.fromiter((place[text] for text in texts), np.int64, len(texts))


def _classes(released: Sequence[_Released]) -> Integers:
    """The number of each part: parts that are called the same look the same, and are one class."""
    key = np.zeros(len(released[0].codes), np.int64)
    reach = 1
    for one in released:
        if reach * len(one.texts) >= FITS:
            distinct, key = np.unique(key, return_inverse=True)
            reach = len(distinct)
        key, reach = key * len(one.texts) + one.codes, reach * len(one.texts)
    return np.unique(key, return_inverse=True)[1]


def mondrian(  # noqa: PLR0913  what a steward may want to say, each by name
    data: object,
    quasi: Sequence[str],
    *,
    k: int | None = 5,
    l: int | None = None,  # noqa: E741  its name in the field
    t: object | None = None,
    models: Sequence[Model] = (),
    sensitive: str | Sequence[str] | None = None,
    hierarchies: Mapping[str, Hierarchy] | str | os.PathLike[str] | None = None,
    strict: bool = True,
    progress: Progress | None = None,
) -> Anonymized:
    """Records (a file, a data frame, or Microdata) in parts, each of which is as the models say.

    k, l (different values) and t (distance) are short for models; `models` may have others. Hierarchies are for
    categories and for codes such as ZIP codes: other numbers and dates have an order of their own.
    """
    table = read(data)
    begun = time.perf_counter()
    private = (sensitive,) if isinstance(sensitive, str) else tuple(sensitive or ())
    wanted = asked(k, l, t, models, private)
    private, names = columns_of(wanted, private), (quasi,) if isinstance(quasi, str) else tuple(quasi or ())
    if len(names) > MOST_AXES:
        raise InvalidInputError(f"there are {len(names)} quasi-identifiers", f"name at most {MOST_AXES}", "too-many")
    check_names(table, names, private)
    given = given_hierarchies(hierarchies, names)
    axes = tuple(axis(table[name], given.get(name)) for name in names)
    checks = _checks(table, wanted, private, len(axes))
    least = max((model.k for model in wanted if isinstance(model, K)), default=1)
    _feasible(len(table), least, checks)
    tree = _planted(table, axes, private, k=least, strict=strict)
    starts, ends = _grown(tree, checks, progress)
    released = _released(tree, starts, ends)
    classes = _classes(released)
    part = np.empty(len(table), np.int32)
    part[tree.order] = np.repeat(np.arange(len(starts), dtype=np.int32), ends - starts)
    columns = {one.name: one for one in table}
    for one, new in zip(axes, released, strict=True):
        columns[one.name] = RecordColumn(one.name, narrow(new.codes, len(new.texts))[part], new.texts)
    return Anonymized(
        data=Microdata(columns, len(table)),
        original=table,
        quasi=names,
        sensitive=private,
        classes=classes.astype(np.int32)[part],
        suppressed=0,
        node=None,
        measures=_measures(released, ends - starts, classes),
        models=wanted,
        method=f"{'strict' if strict else 'relaxed'} Mondrian",
        seconds=time.perf_counter() - begun,
    )


def _planted(table: Microdata, axes: tuple[Axis, ...], sensitive: Sequence[str], *, k: int, strict: bool) -> _Tree:
    from privet.anonymize import mondrian_loops  # noqa: PLC0415  slow to import

    order = np.arange(len(table), dtype=np.int32 if len(table) < 2**31 else np.int64)
    return _Tree(rows=_rows(table, axes, sensitive), order=order, axes=axes, k=k, strict=strict, loops=mondrian_loops)


def _rows(table: Microdata, axes: Sequence[Axis], sensitive: Sequence[str]) -> npt.NDArray[Any]:
    """A row a record: its rank on each axis, then its sensitive codes."""
    longest = max(*(len(one.texts) for one in axes), *(len(table[name].texts) for name in sensitive), 0)
    rows = np.empty((len(table), len(axes) + len(sensitive)), np.uint16 if longest <= 2**16 else np.uint32)
    for place, one in enumerate(axes):
        rows[:, place] = one.ranks.astype(rows.dtype)[table[one.name].codes]
    for place, name in enumerate(sensitive, len(axes)):
        rows[:, place] = values_of(table[name])[0]
    return rows


def _feasible(records: int, k: int, checks: Sequence[_Check]) -> None:
    """All records together must be as the models say, or there is nothing to start from."""
    check_k(k, records)
    for check in checks:
        for model in check.models:
            if not model.holds(check.overall[None, :], check.overall)[0]:
                raise InvalidInputError(
                    f"not even all records together satisfy {model}",
                    "give a smaller l or a larger c",
                    "unreachable-model",
                )


def _measures(released: Sequence[_Released], sizes: Integers, classes: Integers) -> dict[str, float]:
    """ncp: the mean share of its axis that a value covers. The others as for full-domain generalization."""
    records, of_classes = int(sizes.sum()), np.bincount(classes, weights=sizes)
    losses = sum(float(one.losses @ sizes) for one in released)
    told, all_bits = sum(float(one.bits @ sizes) for one in released), sum(one.all_bits for one in released)
    return {
        "ncp": losses / (records * len(released)),
        "entropy": max(0.0, 1 - told / all_bits) if all_bits else 0.0,
        "discernibility": float(of_classes @ of_classes),
        "average_class_size": records / len(of_classes),
    }

"""Which statistics to leave out: the single one that protects most people, and the fewest that protect everybody.

A claim stands as long as everything that its proof rests on is published. So whoever wants to protect everybody must
leave out something from every proof; the fewest such statistics are a lower limit, found again after each try, until
nobody is certain any more. Totals that say how many people there are stay. What is protected are records that no
published count says; what is learned about known people and what suppressed cells hide are not looked at here.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from privet.attacks.finding import ShownTable
from privet.attacks.proofs.prover import Prover
from privet.attacks.proofs.solver import smallest_cover
from privet.attacks.proofs.work import Work
from privet.attacks.tables.certain import Progress, Search
from privet.attacks.tables.encode import kinds_of
from privet.attacks.tables.narrowing import Prepared, prepare

if TYPE_CHECKING:
    from privet.attacks.tables.reconstruction import Reconstruction

SHOWN = 10
SHARPENED = 50  # more proofs than that are not looked at one by one
Names = frozenset[str]
ONLY_RECORDS = (
    "What is learned about known people, and suppressed cells, may need more: attack the tables again without them."
)


@dataclass(frozen=True, slots=True)
class Repair:
    """Without `left_out`, `certain` people are still certain."""

    left_out: tuple[str, ...]
    certain: int


@dataclass(frozen=True, slots=True)
class Repairs:
    """`single` are all that were tried, best first. `smallest` protects everybody, with as few statistics as possible
    if `is_smallest`; at least `at_least` are needed in any case."""

    certain: int  # before any repair
    tables: tuple[tuple[str, int], ...]  # left out as a whole, and how many are then still certain
    single: tuple[Repair, ...]
    tried_all: bool
    smallest: Repair | None
    at_least: int | None  # None: the totals alone make somebody certain
    enough: tuple[tuple[str, ...], ...]  # for each claim, statistics that prove it without the others

    @property
    def is_smallest(self) -> bool:
        return self.smallest is not None and len(self.smallest.left_out) == self.at_least

    def numbers(self) -> dict[str, Any]:
        return {
            "leave_out_one": [{"statistic": one.left_out[0], "still_certain": one.certain} for one in self.single],
            "leave_out_table": [{"table": name, "still_certain": certain} for name, certain in self.tables],
            "tried_all": self.tried_all,
            "smallest": None if self.smallest is None else list(self.smallest.left_out),
            "is_smallest": self.is_smallest,
            "at_least": self.at_least,
        }

    def shown(self) -> tuple[ShownTable, ...]:
        rows = tuple(
            (one.left_out[0], str(self.certain - one.certain), str(one.certain)) for one in self.single[:SHOWN]
        )
        text = "One statistic left out, the others published as they are: how many records stay certain."
        if not self.tried_all:
            text += " The work ran out before all were tried."
        columns = ("left out", "protected", "still certain")
        tables = tuple((name, str(self.certain - certain), str(certain)) for name, certain in self.tables)
        whole = [ShownTable("Leave out one table", "A whole table left out.", columns, tables)] if tables else []
        return (*whole, ShownTable("Leave out one statistic", text, columns, rows), self._smallest_table())

    def _smallest_table(self) -> ShownTable:
        title = "Smallest repair"
        if self.smallest is None and self.at_least is None:
            return ShownTable(
                title, "Somebody is certain by the totals of everybody alone: publish those rounded, or not at all."
            )
        if self.smallest is None:
            return ShownTable(
                title, f"Not found in the work given; at least {self.at_least} statistics must be left out."
            )
        number = len(self.smallest.left_out)
        what = f"{number} statistic{'s' if number > 1 else ''}"
        sure = "no smaller choice does" if self.is_smallest else f"at least {self.at_least} are needed"
        text = f"Leaving out {what} protects everybody: no record is certain then ({sure}). {ONLY_RECORDS}"
        return ShownTable(title, text, ("leave out",), tuple((name,) for name in self.smallest.left_out))


def best_repairs(found: Reconstruction, work: Work, progress: Progress) -> Repairs:
    bench = _Bench(found)
    if len(found.told) <= SHARPENED:
        bench.sharpen(work.part(0.3), progress)
    tables = _tables(bench, work.part(0.3), progress)
    single, tried_all = _singles(bench, work.part(0.6), progress)
    smallest, at_least = _smallest(bench, work, progress)
    return Repairs(
        certain=sum(one.count for one in found.told),
        tables=tuple(tables),
        single=tuple(single),
        tried_all=tried_all,
        smallest=smallest,
        at_least=at_least,
        enough=tuple(bench.listed(names) for _, _, names in bench.proofs),
    )


@dataclass(frozen=True, slots=True)
class _Tried:
    """What is still certain when something is left out: how many people of which kind, and why."""

    counts: dict[int, int]
    cores: frozenset[Names]

    @property
    def certain(self) -> int:
        return sum(self.counts.values())


class _Bench:
    """The whole release with its kinds, which stay the same whatever is left out."""

    def __init__(self, found: Reconstruction) -> None:
        self._tables = found.tables
        self._kinds = kinds_of(found.tables)
        self._limit = frozenset(found.encoded.limit)
        self.names = [one.name for one in found.tables.statistics if one.name not in self._limit]
        places = found.prepared.places
        self.proofs = [(places[one.kind], one.count, frozenset(found.sources(one)) - self._limit) for one in found.told]
        self._told = {kind for kind, _, _ in self.proofs}
        self._floors = {places[kind]: floor for kind, floor in enumerate(found.floors)}
        self._known: dict[Names, _Tried] = {}
        self._prepared = found.prepared

    def without(
        self, names: Iterable[str], work: Work, *, why: bool = False, wanted: int | None = None
    ) -> _Tried | None:
        """None if time ran out. Where one kind is wanted and not certain, the others are not looked at."""
        left_out = frozenset(names)
        if left_out in self._known:
            return self._known[left_out]
        kept = tuple(one for one in self._tables.statistics if one.name not in left_out)
        small = prepare(replace(self._tables, statistics=kept), self._kinds, work.part(0.3), self._prepared)
        search = Search(small.encoded.system, len(small.encoded.kinds), work)
        search.go_on([self._floors.get(place, 0) for place in small.places[: search.kinds]])
        prover = Prover(search.system)
        if wanted is not None and not self._is_certain(search, prover, small, wanted):
            return _Tried({}, frozenset())
        certain = search.certain(
            prover, [at for at in range(search.kinds) if small.places[at] in self._told], prove=why
        )
        if search.undecided or not work.left:
            return None
        cores = [small.sources(one.claim(), one.proof) - self._limit for one in certain] if why else []
        tried = _Tried({small.places[one.kind]: one.count for one in certain}, frozenset(cores))
        if why:
            self._known[left_out] = tried
        return tried

    def _is_certain(self, search: Search, prover: Prover, small: Prepared, kind: int) -> bool:
        return kind in small.places and search.decided(small.places.index(kind), prover, prove=False) is not None

    def tables(self) -> dict[str, list[str]]:
        """The cells of each table, totals apart."""
        cells: dict[str, list[str]] = {}
        for one in self._tables.statistics:
            if one.table and one.name not in self._limit:
                cells.setdefault(one.table, []).append(one.name)
        return cells

    def listed(self, names: Names) -> tuple[str, ...]:
        """With the totals, in the order of the release."""
        wanted = names | self._limit
        return tuple(one.name for one in self._tables.statistics if one.name in wanted)

    def sharpen(self, work: Work, progress: Progress) -> None:
        """Finds, for every proof, a few statistics that are enough: any of them that can go, goes."""
        for number, (kind, count, names) in enumerate(self.proofs):
            progress("finding the cells that did it", number, len(self.proofs))
            dropped = frozenset(self.names) - names
            for left_out, known in self._known.items():  # what was enough for another claim may be enough for this one
                if len(left_out) > len(dropped) and known.counts.get(kind, 0) >= count:
                    dropped = left_out
            for name in sorted(frozenset(self.names) - dropped, key=self.names.index):
                tried = self.without(dropped | {name}, work, why=True, wanted=kind) if work.left else None
                if tried is not None and tried.counts.get(kind, 0) >= count:
                    dropped |= {name}
            self.proofs[number] = kind, count, frozenset(self.names) - dropped


def _tables(bench: _Bench, work: Work, progress: Progress) -> list[tuple[str, int]]:
    """Every table of several, left out as a whole; what protects most comes first."""
    groups = bench.tables()
    tried = []
    for done, (name, cells) in enumerate(groups.items() if len(groups) > 1 else ()):
        progress("leaving out tables", done, len(groups))
        result = bench.without(cells, work) if work.left else None
        if result is not None:
            tried.append((name, result.certain))
    return sorted(tried, key=lambda pair: pair[1])


def _singles(bench: _Bench, work: Work, progress: Progress) -> tuple[list[Repair], bool]:
    """Most promising first. A statistic can protect at most the people whose proofs rest on it."""
    promise = {name: sum(count for _, count, names in bench.proofs if name in names) for name in bench.names}
    everybody = sum(count for _, count, _ in bench.proofs)
    best, tried = 0, list[Repair]()
    order = sorted(bench.names, key=lambda name: -promise[name])
    for done, name in enumerate(order):
        if promise[name] < max(best, 1):
            break  # no statistic from here on can protect more
        progress("trying repairs", done, len(order))
        result = bench.without([name], work) if work.left else None
        if result is None:
            return sorted(tried, key=lambda one: one.certain), False
        tried.append(Repair((name,), result.certain))
        best = max(best, everybody - tried[-1].certain)
    return sorted(tried, key=lambda one: one.certain), True


def _smallest(bench: _Bench, work: Work, progress: Progress) -> tuple[Repair | None, int | None]:
    """(a repair that protects everybody, how many statistics any such repair has at least: None if there is none)."""
    cores = {names for _, _, names in bench.proofs}
    at_least = 0
    while work.left:
        if frozenset() in cores:
            return None, None  # somebody is certain by the totals alone
        progress("looking for the smallest repair", at_least, at_least + 1)
        chosen = smallest_cover(cores, work)
        if chosen is None:
            break
        at_least = len(chosen)
        result = bench.without(chosen, work, why=True)
        if result is None:
            break
        if not result.certain:
            return Repair(tuple(name for name in bench.names if name in chosen), 0), at_least
        cores |= result.cores
    return None, at_least

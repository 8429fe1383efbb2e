"""What a table of records promises, read off the table alone: k, l, t, who is alone, and the risks.

    found = check("shipped.csv", ["age", "zip"], sensitive="disease")
    found.k, found.diversity["disease"].distinct, found.risks.prosecutor.highest

It shares no line with the searches whose results it is used on: classes are counted again, from the texts that are
shipped. A record with "*" in every quasi-identifier is suppressed: it is in no class, but its sensitive value is part
of the table, and so of what t-closeness compares with. Where all records are like that, they are one class.

Risks are those of El Emam and Dankar (2008, "Protecting Privacy Using k-Anonymity"; El Emam 2013, "Guide to the
De-identification of Personal Health Information"). A class has f records here and F people in the population:

    prosecutor    knows that the person is in the table: 1/f; on average over records, classes / records
    journalist    does not know: 1/F; on average the larger of classes / sum of F, and the marketer's
    marketer      links all records and wants many right: the mean over records of 1/F

Without a table of the population F is taken to be f, the worst case: then all averages are the same number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from privet.anonymize.models import check_names
from privet.core.rational import rational
from privet.errors import InvalidInputError
from privet.records.microdata import RecordColumn, read
from privet.sources.relation import NUMBER_TEXT
from privet.typing import Integers, Truths

THRESHOLD = 0.2  # a risk that many guidelines allow at most: classes of 5
FITS = 2**62
MOST_LISTED = 2**24  # numbers that a table may have a place for
MOST_CELLS = 2**26  # of classes times sensitive values, for an ordered distance


@dataclass(frozen=True, slots=True, kw_only=True)
class Risk:
    """Of being found: for the record at most risk, on average, and the share of records above the threshold."""

    highest: float
    average: float
    above: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Risks:
    """See the page above. `outside`: classes for which the population had fewer people than the table has records,
    which cannot be; there the table counts."""

    prosecutor: Risk
    journalist: Risk
    marketer: float
    threshold: float
    population: int | None = None
    outside: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Diversity:
    """Of one sensitive column, in the class where it is worst.

    `distinct`: different values. `entropy`: l of entropy l-diversity, e to the smallest entropy. `recursive[l]`: the
    (c, l) that holds is that with any c above it. `t`: the largest distance from the whole table, half the sum of
    differences; `ordered_t`: with values in their order, None if there are too many. `alike`: records in classes in
    which all have one value, who need not be found to be known.
    """

    distinct: int
    entropy: float
    recursive: Mapping[int, float]
    t: float
    ordered_t: float | None
    alike: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """`k`: the size of the smallest class. `uniques`: records alone in theirs."""

    quasi: tuple[str, ...]
    records: int
    suppressed: int
    k: int
    classes: int
    uniques: int
    average_size: float
    diversity: Mapping[str, Diversity]
    risks: Risks

    def to_json(self) -> dict[str, Any]:
        found = asdict(self)
        found["quasi"] = list(self.quasi)
        for one in found["diversity"].values():
            one["recursive"] = {str(l): c for l, c in one["recursive"].items()}  # noqa: E741  its name in the field
        return found

    def __str__(self) -> str:
        lines = [
            f"{self.records:,} records, {self.suppressed:,} suppressed; classes: {self.classes:,}, of"
            f" {self.average_size:.1f} on average; k={self.k}, {self.uniques:,} records alone in their class",
            *(_told(name, one) for name, one in self.diversity.items()),
            _risked(self.risks),
        ]
        return "\n".join(lines)


def _told(name: str, one: Diversity) -> str:
    recursive = f", recursive (c, 2) with c above {one.recursive[2]:.2f}" if 2 in one.recursive else ""
    return (
        f"{name}: distinct l={one.distinct}, entropy l={one.entropy:.2f}{recursive}, t={one.t:.3f};"
        f" {one.alike:,} records in classes where all have one value"
    )


def _risked(risks: Risks) -> str:
    if risks.population is None:
        return f"risk of being found: at most {risks.prosecutor.highest:.1%}, on average {risks.prosecutor.average:.1%}"
    prosecutor, journalist = risks.prosecutor, risks.journalist
    return (
        f"risk of being found: prosecutor at most {prosecutor.highest:.1%}, on average {prosecutor.average:.1%};"
        f" journalist at most {journalist.highest:.1%}, on average {journalist.average:.1%};"
        f" marketer {risks.marketer:.1%}"
    )


def check(  # noqa: PLR0913  each by name
    data: object,
    quasi: Sequence[str],
    sensitive: str | Sequence[str] | None = None,
    *,
    suppressed: str | None = "*",
    population: object = None,
    threshold: object = THRESHOLD,
) -> Checked:
    """Count a table that is shipped, or about to be. `population` is a table with the same quasi-identifiers, written
    in the same way, with a row for everybody whom a record could be of. `suppressed` is what stands in every
    quasi-identifier of a suppressed record; None if no record is suppressed."""
    table = read(data)
    names = (quasi,) if isinstance(quasi, str) else tuple(quasi or ())
    allowed = float(rational(threshold, "threshold"))
    private = (sensitive,) if isinstance(sensitive, str) else tuple(sensitive or ())
    check_names(table, names, private)
    columns = [table[name] for name in names]
    gone = np.logical_and.reduce([_is(one, suppressed) for one in columns])
    gone &= not gone.all()  # a table of stars is one class: nobody is told apart
    kept = ~gone
    people = None if population is None else read(population, columns=names)
    if people is not None and not len(people):
        raise InvalidInputError("there is nobody in the population", "check its file, or leave it out", "empty")
    numbers, others = _numbers(columns, [] if people is None else [people[name] for name in names])
    counts = np.bincount(numbers[kept])
    there = np.flatnonzero(counts)
    sizes, classes = counts[there], (np.cumsum(counts > 0) - 1)[numbers[kept]]
    everybody = None if people is None else _found_in(there, others)
    return Checked(
        quasi=names,
        records=len(table),
        suppressed=int(gone.sum()),
        k=int(sizes.min()),
        classes=len(sizes),
        uniques=int((sizes == 1).sum()),
        average_size=float(sizes.mean()),
        diversity={name: _diversity(table[name], kept, classes, sizes) for name in private},
        risks=_risks(sizes, everybody, allowed, None if people is None else len(people)),
    )


def _is(column: RecordColumn, text: str | None) -> Truths:
    return np.array([text is not None and one == text for one in column.texts], np.bool_)[column.codes]


def _numbers(columns: Sequence[RecordColumn], others: Sequence[RecordColumn]) -> tuple[Integers, Integers]:
    """A number for each record of both tables, the same for records that look the same."""
    count = len(columns[0].codes)
    found: Integers = np.zeros(count + (len(others[0].codes) if others else 0), np.int64)
    reach = 1
    for place, one in enumerate(columns):
        both = [one, *([others[place]] if others else [])]
        texts = {text: number for number, text in enumerate({text: None for each in both for text in each.texts})}
        codes = np.concatenate([np.array([texts[text] for text in each.texts])[each.codes] for each in both])
        if reach * len(texts) > FITS:
            found, reach = _renumbered(found, reach)
        found, reach = found * len(texts) + codes, reach * len(texts)
    found, _ = _renumbered(found, reach)
    return found[:count], found[count:]


def _renumbered(numbers: Integers, reach: int) -> tuple[Integers, int]:
    """From 0 on, without gaps, in the same order; and how many there are."""
    if reach > MOST_LISTED:
        distinct, found = np.unique(numbers, return_inverse=True)
        return found, len(distinct)
    there = np.bincount(numbers, minlength=reach) > 0
    return (np.cumsum(there) - 1)[numbers], int(there.sum())


def _found_in(classes: Integers, others: Integers) -> Integers:
    """How many people of the population look like each class."""
    counts = np.bincount(others, minlength=int(classes.max(initial=0)) + 1)
    return counts[classes]


# Sensitive values


def _diversity(column: RecordColumn, kept: Truths, classes: Integers, sizes: Integers) -> Diversity:
    values = _in_order(column)
    overall = np.bincount(values) / len(values)
    pairs, counts = _counted(classes * len(overall) + values[kept], len(sizes) * len(overall))
    owner, value = pairs // len(overall), pairs % len(overall)
    starts = np.searchsorted(owner, np.arange(len(sizes)))
    shares = counts / sizes[owner]
    distinct = np.bincount(owner)
    entropies = -np.add.reduceat(shares * np.log(shares), starts)
    apart = np.add.reduceat(np.abs(shares - overall[value]) - overall[value], starts) + 1  # with those it has not
    return Diversity(
        distinct=int(distinct.min()),
        entropy=float(np.exp(entropies.min())),
        recursive=_recursive(owner, counts, starts, int(distinct.min())),
        t=float(max(0.0, apart.max() / 2)),
        ordered_t=_ordered(owner, value, shares, overall, len(sizes)),
        alike=int(sizes[distinct == 1].sum()),
    )


def _counted(numbers: Integers, reach: int) -> tuple[Integers, Integers]:
    """The distinct ones in order, and how often each occurs."""
    if reach > MOST_LISTED:
        return np.unique(numbers, return_counts=True)
    counts = np.bincount(numbers)
    there = np.flatnonzero(counts)
    return there, counts[there]


def _in_order(column: RecordColumn) -> Integers:
    """For each record the rank of its value among those that are there: numbers by size if all are, texts otherwise,
    missing last."""
    there = np.flatnonzero(np.bincount(column.codes)).tolist()
    order: list[Any] = [(text is None, text or "") for text in (column.texts[code] for code in there)]
    if all(missing or NUMBER_TEXT.fullmatch(text) for missing, text in order):
        order = [(missing, float(text or 0)) for missing, text in order]
    ranks = np.zeros(len(column.texts), np.int64)
    for rank, place in enumerate(sorted(range(len(order)), key=order.__getitem__)):
        ranks[there[place]] = rank
    return ranks[column.codes]


def _recursive(owner: Integers, counts: Integers, starts: Integers, fewest: int) -> dict[int, float]:
    """For each l that all classes have: the most frequent over all from the l-th on, where that is largest."""
    order = np.lexsort((-counts, owner))
    falling = counts[order].astype(float)
    place = np.arange(len(falling)) - starts[owner]  # 0 for the most frequent
    first = falling[starts]
    found = {}
    for l in range(1, min(fewest, 10) + 1):  # noqa: E741
        rest = np.add.reduceat(np.where(place >= l - 1, falling, 0.0), starts)
        found[l] = float((first / rest).max())
    return found


def _ordered(owner: Integers, value: Integers, shares: Any, overall: Any, classes: int) -> float | None:
    """How far shares must be moved along the values, with 1 from the first to the last."""
    if len(overall) < 2:
        return 0.0
    if classes * len(overall) > MOST_CELLS:
        return None
    apart = np.zeros((classes, len(overall)))
    apart[owner, value] = shares
    moved = np.abs(np.cumsum(apart - overall, axis=1)).sum(axis=1)
    return float(moved.max() / (len(overall) - 1))


# Risks


def _risks(sizes: Integers, everybody: Integers | None, threshold: float, population: int | None) -> Risks:
    records = int(sizes.sum())
    there = sizes if everybody is None else np.maximum(sizes, everybody)
    marketer = float((sizes / there).sum() / records)
    prosecutor, journalist = (
        Risk(
            highest=1 / int(of.min()),
            average=max(len(of) / int(of.sum()), float((sizes / of).sum() / records)),
            above=int(sizes[1 / of > threshold].sum()) / records,
        )
        for of in (sizes, there)
    )
    return Risks(
        prosecutor=prosecutor,
        journalist=journalist,
        marketer=marketer,
        threshold=threshold,
        population=population,
        outside=0 if everybody is None else int((everybody < sizes).sum()),
    )

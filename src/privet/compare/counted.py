"""Two-way tables of counts, of records as they are and of what a plan ships: how far apart are they?

A generalized value is spread evenly over the values that it stands for, as an analyst would who knows no better.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from privet.anonymize.builders import number_of
from privet.records.microdata import Microdata, RecordColumn
from privet.typing import Integers, Truths

Table = npt.NDArray[np.float64]
Pair = tuple[str, str]
MOST_BINS = 32
SUPPRESSED = "*"


@dataclass(frozen=True, slots=True, eq=False)
class TableBins:
    """The values of a column, put into few bins for the tables: bin of each code, and how many there are."""

    of: Integers
    count: int


def bins(column: RecordColumn) -> TableBins:
    """Few values a bin each; many numbers in bins of the same width; many texts in order, some a bin."""
    size = len(column.texts)
    if size <= MOST_BINS:
        return TableBins(np.arange(size), size)
    numbers = [None if text is None else number_of(text) for text in column.texts]
    known = [float(number) for number in numbers if number is not None]
    if len(known) >= size - 1 and max(known) > min(known):
        low, width = min(known), (max(known) - min(known)) / (MOST_BINS - 1)
        places = [MOST_BINS - 1 if number is None else int((float(number) - low) / width) for number in numbers]
        return TableBins(np.minimum(places, MOST_BINS - 1), MOST_BINS)
    return TableBins(np.arange(size) * MOST_BINS // size, MOST_BINS)


def pairs(columns: Sequence[str]) -> list[Pair]:
    return list(itertools.combinations(columns, 2))


def tables(data: Microdata, binned: Mapping[str, TableBins]) -> dict[Pair, Table]:
    """Of records as they are: each sums to 1."""
    places = {name: one.of[data[name].codes] for name, one in binned.items()}
    return {
        (a, b): np.bincount(
            places[a] * binned[b].count + places[b], minlength=binned[a].count * binned[b].count
        ).reshape(binned[a].count, binned[b].count)
        / max(1, len(data))
        for a, b in pairs(list(binned))
    }  # fmt: skip


def shipped_tables(original: Microdata, shipped: Microdata, binned: Mapping[str, TableBins]) -> dict[Pair, Table]:
    """Of what is shipped instead of these records, row by row."""
    spread = {name: _spread(original[name], shipped[name], one) for name, one in binned.items()}
    found = {}
    for a, b in pairs(list(binned)):
        one, other = shipped[a], shipped[b]
        sizes = len(one.texts), len(other.texts)
        keys = one.codes.astype(np.int64) * sizes[1] + other.codes
        used, counts = np.unique(keys, return_counts=True)
        rows, columns = np.divmod(used, sizes[1])
        weighted = spread[a][rows] * (counts / max(1, len(original)))[:, None]
        found[a, b] = np.asarray(weighted.T @ spread[b][columns])
    return found


def error(one: Mapping[Pair, Table], other: Mapping[Pair, Table]) -> float:
    """The mean over all tables of half the sum of |share - share|: the share of people in a wrong cell."""
    return float(np.mean([np.abs(one[pair] - other[pair]).sum() / 2 for pair in one]))


def stands_for(original: RecordColumn, shipped: RecordColumn) -> Truths:
    """A table: which values of the records each shipped text stood for somewhere. A star stands for all."""
    found = np.zeros((len(shipped.texts), len(original.texts)), np.bool_)
    found[shipped.codes, original.codes] = True
    found[[text == SUPPRESSED for text in shipped.texts]] = True
    return found


def _spread(original: RecordColumn, shipped: RecordColumn, binned: TableBins) -> Table:
    """A table: how the people with a shipped text are spread over the bins."""
    over = stands_for(original, shipped).astype(np.float64)
    over /= np.maximum(over.sum(axis=1, keepdims=True), 1)
    found = np.zeros((len(shipped.texts), binned.count))
    np.add.at(found.T, binned.of, over.T)
    return found

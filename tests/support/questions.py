"""A hundred questions that analysts ask, in the SQL that they write, over made-up tables of a hospital, a gene study,
a web site, an outbreak and a trading company. `test_questions.py` asks them all.

`python tests/support/questions.py` writes docs/questions.md, which lists them.
"""

from __future__ import annotations

import datetime as dt
import json
import random
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import privet as pv

HERE = Path(__file__).parent
PAGE = HERE.parent.parent / "docs" / "questions.md"
HEAD = re.compile(r"-- (?P<vault>\w+) \| (?P<words>[^{]*?)\s*(?P<options>\{.*\})?\n(-- refused: (?P<refused>.*)\n)?")
TITLES = {
    "hospital": "A hospital",
    "genes": "A gene study: genotype and phenotype",
    "web": "A web site",
    "outbreak": "An outbreak",
    "trade": "Customers of a trading company (the TPC-H questions that aggregate over customers)",
}
PEOPLE = 400
DAY, LAST = dt.date(2024, 1, 1), dt.date(2025, 12, 31)
WARDS, REGIONS = ["cardiology", "oncology", "surgery", "geriatrics"], ["north", "south", "east"]
CODES = ["E11.9", "E11.2", "I10", "I21.0", "J45", "C50.9", "Z00"]
GENES = ["AA", "AG", "GG"]
PAGES = ["/", "/help", "/buy", "/blog/one", "/blog/two", "/account"]
NATIONS = {"FRANCE": "EUROPE", "GERMANY": "EUROPE", "KENYA": "AFRICA", "PERU": "AMERICA", "CHINA": "ASIA"}
SEGMENTS = ["AUTOMOBILE", "BUILDING", "MACHINERY"]
PRIORITIES = ["1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECIFIED", "5-LOW"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """A table: its columns as lists, and how it is declared."""

    rows: dict[str, list[Any]]
    declared: dict[str, Any] = field(default_factory=dict)


def tables() -> dict[str, dict[str, Made]]:
    """For each vault its tables."""
    rng = random.Random(7)
    return {
        "hospital": _hospital(rng),
        "genes": _genes(rng),
        "web": _web(rng),
        "outbreak": _outbreak(rng),
        "trade": _trade(rng),
    }


def _day(rng: random.Random) -> dt.date:
    return DAY + dt.timedelta(days=rng.randrange((LAST - DAY).days + 1))


def _columns(rows: list[dict[str, Any]]) -> dict[str, list[Any]]:
    return {name: [row[name] for row in rows] for name in rows[0]}


def _hospital(rng: random.Random) -> dict[str, Made]:
    people = [
        {
            "patient_id": n,
            "sex": rng.choice("FM"),
            "age": min(100, max(0, round(rng.gauss(55, 20)))),
            "bmi": round(rng.uniform(16, 45), 1),
            "smoker": rng.random() < 0.3,
            "region": rng.choice(REGIONS),
            "weight": rng.randint(1, 5),
        }
        for n in range(PEOPLE)
    ]
    visits = [
        {
            "patient_id": rng.randrange(PEOPLE),
            "ward": rng.choice(WARDS),
            "day": _day(rng),
            "cost": round(rng.lognormvariate(6, 1), 2),
            "nights": min(30, int(rng.expovariate(0.3))),
            "emergency": rng.random() < 0.2,
            "note": rng.choice(["routine", "follow-up visit", "Fall at home", None]),
            "arrived": dt.datetime.combine(_day(rng), dt.time(rng.randrange(24), rng.randrange(60))),
        }
        for _ in range(4 * PEOPLE)
    ]
    found = [
        {"patient_id": rng.randrange(PEOPLE), "code": rng.choice(CODES), "day": _day(rng)} for _ in range(2 * PEOPLE)
    ]
    labs = [
        {
            "patient_id": rng.randrange(PEOPLE),
            "test": rng.choice(["glucose", "ldl"]),
            "value": round(rng.uniform(40, 300), 1),
        }
        for _ in range(3 * PEOPLE)
    ]
    wards = [{"ward": ward, "beds": 20 + 5 * n, "building": "AB"[n % 2]} for n, ward in enumerate(WARDS)]
    days = pv.Date(DAY.isoformat(), LAST.isoformat())
    return {
        "patients": Made(
            rows=_columns(people),
            declared={
                "unit": "patient_id",
                "columns": {
                    "sex": pv.Category(["F", "M"]),
                    "age": pv.Integer(0, 100),
                    "bmi": pv.Number(10, 60, step="0.1"),
                    "smoker": pv.Boolean(),
                    "region": pv.Category(REGIONS),
                    "weight": pv.Integer(1, 5),
                },
            },
        ),
        "visits": Made(
            rows=_columns(visits),
            declared={
                "unit": "patient_id",
                "max_groups": 4,
                "max_rows_per_group": 3,
                "columns": {
                    "ward": pv.Category(WARDS),
                    "day": days,
                    "cost": pv.Number(0, 5000, step="0.01"),
                    "nights": pv.Integer(0, 30),
                    "emergency": pv.Boolean(),
                    "note": pv.Text(),
                    "arrived": pv.Timestamp("2024-01-01T00:00", "2025-12-31T23:59:59"),
                },
            },
        ),
        "diagnoses": Made(
            rows=_columns(found),
            declared={
                "unit": "patient_id",
                "max_groups": 3,
                "max_rows_per_group": 1,
                "columns": {"code": pv.Category(CODES), "day": days},
            },
        ),
        "labs": Made(
            rows=_columns(labs),
            declared={
                "unit": "patient_id",
                "max_groups": 2,
                "max_rows_per_group": 3,
                "columns": {"test": pv.Category(["glucose", "ldl"]), "value": pv.Number(0, 500, step="0.1")},
            },
        ),
        "wards": Made(
            rows=_columns(wards),
            declared={
                "public": True,
                "key": "ward",
                "columns": {
                    "ward": pv.Category(WARDS),
                    "beds": pv.Integer(0, 100),
                    "building": pv.Category(["A", "B"]),
                },
            },
        ),
    }


def _genes(rng: random.Random) -> dict[str, Made]:
    people = []
    for n in range(PEOPLE):
        rs1, rs2 = rng.choice(GENES), rng.choice(GENES)
        sick = rng.random() < 0.2 + 0.2 * rs1.count("G")
        people.append(
            {
                "subject": f"S{n:04}",
                "rs1": rs1,
                "rs2": rs2,
                "sick": sick,
                "sex": rng.choice("FM"),
                "age": rng.randint(18, 90),
                "height": round(rng.gauss(170, 10), 1),
                "dose": rs1.count("G"),
            }
        )
    return {
        "study": Made(
            rows=_columns(people),
            declared={
                "unit": "subject",
                "columns": {
                    "rs1": pv.Category(GENES),
                    "rs2": pv.Category(GENES),
                    "sick": pv.Boolean(),
                    "sex": pv.Category(["F", "M"]),
                    "age": pv.Integer(18, 90),
                    "dose": pv.Integer(0, 2),
                    "height": pv.Number(120, 220, step="0.1"),
                },
            },
        )
    }


def _web(rng: random.Random) -> dict[str, Made]:
    views = [
        {
            "visitor": f"v{rng.randrange(PEOPLE)}",
            "page": rng.choice(PAGES),
            "country": rng.choice(["DE", "FR", "PE"]),
            "at": dt.datetime.combine(_day(rng), dt.time(rng.randrange(24), rng.randrange(60))),
            "seconds": min(600, int(rng.expovariate(0.02))),
            "bought": rng.random() < 0.05,
            "device": rng.choice(["phone", "desktop"]),
            "search": rng.choice([None, "shoes", "red shoes", "Hat", "returns"]),
        }
        for _ in range(6 * PEOPLE)
    ]
    return {
        "views": Made(
            rows=_columns(views),
            declared={
                "unit": "visitor",
                "max_rows": 12,
                "columns": {
                    "page": pv.Category(PAGES),
                    "country": pv.Category(["DE", "FR", "PE"]),
                    "bought": pv.Boolean(),
                    "at": pv.Timestamp("2024-01-01T00:00", "2025-12-31T23:59:59"),
                    "seconds": pv.Integer(0, 600),
                    "device": pv.Category(["phone", "desktop"]),
                    "search": pv.Text(),
                },
            },
        ),
        "pages": Made(
            rows={
                "page": PAGES,
                "section": ["home", "help", "shop", "blog", "blog", "shop"],
                "words": [120, 800, 60, 900, 1500, 40],
            },
            declared={
                "public": True,
                "key": "page",
                "columns": {
                    "page": pv.Category(PAGES),
                    "section": pv.Category(["home", "help", "shop", "blog"]),
                    "words": pv.Integer(0, 5000),
                },
            },
        ),
    }


def _outbreak(rng: random.Random) -> dict[str, Made]:
    cases = [
        {
            "case_id": n,
            "district": rng.choice(["A", "B", "C", "D"]),
            "onset": _day(rng),
            "age": rng.randint(0, 95),
            "hospital": rng.random() < 0.2,
            "died": rng.random() < 0.03,
            "household": rng.randrange(PEOPLE // 2),
            "vaccinated": rng.choice([True, False, None]),
            "lat": round(rng.uniform(47, 55), 1),
        }
        for n in range(PEOPLE)
    ]
    for case in cases:
        case["reported"] = min(LAST, case["onset"] + dt.timedelta(days=rng.randrange(12)))
    days = pv.Date(DAY.isoformat(), LAST.isoformat())
    return {
        "cases": Made(
            rows=_columns(cases),
            declared={
                "unit": None,
                "columns": {
                    "district": pv.Category(["A", "B", "C", "D"]),
                    "onset": days,
                    "reported": days,
                    "age": pv.Integer(0, 110),
                    "hospital": pv.Boolean(),
                    "died": pv.Boolean(),
                    "vaccinated": pv.Boolean(),
                    "lat": pv.Number(40, 60, step="0.1"),
                },
            },
        ),
        "districts": Made(
            rows={
                "district": ["A", "B", "C", "D"],
                "people": [12000, 8000, 30000, 5000],
                "urban": [True, False, True, False],
            },
            declared={
                "public": True,
                "key": "district",
                "columns": {
                    "district": pv.Category(["A", "B", "C", "D"]),
                    "people": pv.Integer(0, 10**6),
                    "urban": pv.Boolean(),
                },
            },
        ),
    }


def _trade(rng: random.Random) -> dict[str, Made]:
    """The tables of the usual decision-support benchmark, small; what belongs to a customer names the customer."""
    names = list(NATIONS)
    customers = [
        {
            "custkey": n,
            "nation": rng.choice(names),
            "acctbal": round(rng.uniform(-999, 9999), 2),
            "mktsegment": rng.choice(SEGMENTS),
        }
        for n in range(PEOPLE)
    ]
    orders, items = [], []
    for order in range(3 * PEOPLE):
        customer, day = rng.randrange(PEOPLE), _day(rng)
        lines = rng.randint(1, 4)
        orders.append(
            {
                "custkey": customer,
                "orderkey": order,
                "orderdate": day,
                "totalprice": round(rng.uniform(900, 90_000), 2),
                "orderpriority": rng.choice(PRIORITIES),
                "orderstatus": rng.choice("FOP"),
            }
        )
        for _ in range(lines):
            shipped = min(LAST, day + dt.timedelta(days=rng.randint(1, 90)))
            items.append(
                {
                    "custkey": customer,
                    "orderkey": order,
                    "partkey": rng.randrange(20),
                    "quantity": rng.randint(1, 50),
                    "extendedprice": round(rng.uniform(900, 50_000), 2),
                    "discount": rng.randrange(11) / 100,
                    "tax": rng.randrange(9) / 100,
                    "returnflag": rng.choice("ANR"),
                    "linestatus": rng.choice("FO"),
                    "shipdate": shipped,
                    "commitdate": min(LAST, day + dt.timedelta(days=30)),
                    "shipmode": rng.choice(["AIR", "MAIL", "SHIP", "TRUCK"]),
                }
            )
    days = pv.Date(DAY.isoformat(), LAST.isoformat())
    limits = {"unit": "custkey", "max_rows": 20}
    return {
        "customer": Made(
            rows=_columns(customers),
            declared={
                "unit": "custkey",
                "columns": {
                    "nation": pv.Category(names),
                    "acctbal": pv.Number(-1000, 10_000, step="0.01"),
                    "mktsegment": pv.Category(SEGMENTS),
                },
            },
        ),
        "orders": Made(
            rows=_columns(orders),
            declared=limits
            | {
                "columns": {
                    "orderkey": pv.Integer(0, 10**7),
                    "orderdate": days,
                    "totalprice": pv.Number(0, 100_000, step="0.01"),
                    "orderpriority": pv.Category(PRIORITIES),
                    "orderstatus": pv.Category(["F", "O", "P"]),
                },
            },
        ),
        "lineitem": Made(
            rows=_columns(items),
            declared=limits
            | {
                "columns": {
                    "orderkey": pv.Integer(0, 10**7),
                    "partkey": pv.Integer(0, 19),
                    "quantity": pv.Integer(1, 50),
                    "extendedprice": pv.Number(0, 60_000, step="0.01"),
                    "discount": pv.Number(0, "0.1", step="0.01"),
                    "tax": pv.Number(0, "0.08", step="0.01"),
                    "returnflag": pv.Category(["A", "N", "R"]),
                    "linestatus": pv.Category(["F", "O"]),
                    "shipdate": days,
                    "commitdate": days,
                    "shipmode": pv.Category(["AIR", "MAIL", "SHIP", "TRUCK"]),
                },
            },
        ),
        "nation": Made(
            rows={"nation": names, "region": list(NATIONS.values())},
            declared={
                "public": True,
                "key": "nation",
                "columns": {"nation": pv.Category(names), "region": pv.Category(sorted(set(NATIONS.values())))},
            },
        ),
        "part": Made(
            rows={
                "partkey": list(range(20)),
                "type": [
                    f"{m} {s}" for m in ("PROMO", "STANDARD") for s in ("TIN", "BRASS", "STEEL", "COPPER", "NICKEL")
                ]
                * 2,
                "brand": [f"Brand#{n % 4}" for n in range(20)],
                "size": [n % 10 + 1 for n in range(20)],
            },
            declared={
                "public": True,
                "key": "partkey",
                "columns": {
                    "partkey": pv.Integer(0, 19),
                    "type": pv.Text(),
                    "brand": pv.Category([f"Brand#{n}" for n in range(4)]),
                    "size": pv.Integer(1, 50),
                },
            },
        ),
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What somebody wants to know, and how they write it. `refused`: the code of why it is not answered."""

    vault: str
    words: str
    sql: str
    options: dict[str, Any] = field(default_factory=dict)
    refused: str | None = None


def asked() -> list[Asked]:
    found = []
    for block in (HERE / "questions.sql").read_text().strip().split("\n\n"):
        head = HEAD.match(block)
        assert head is not None, block
        found.append(
            Asked(
                vault=head["vault"],
                words=head["words"],
                sql=block[head.end() :].strip().rstrip(";"),
                options=json.loads(head["options"] or "{}"),
                refused=head["refused"],
            )
        )
    return found


ASKED = asked()


def page_of(listed: list[Asked]) -> str:
    answered = sum(one.refused is None for one in listed)
    lines = [
        "# What analysts ask",
        "",
        f"{len(listed)} questions in the SQL that people write: {answered} are answered, {len(listed) - answered} are"
        " refused with what to write instead. They are run by the tests (`tests/support/questions.sql`, made-up tables"
        " in `tests/support/questions.py`); this page is made from them.",
    ]
    for vault, title in TITLES.items():
        lines += ["", f"## {title}"]
        for one in listed:
            if one.vault == vault:
                mark = "" if one.refused is None else " (refused)"
                options = "".join(f", {name}={value!r}" for name, value in one.options.items())
                lines += [
                    "",
                    f"**{one.words}**{mark}" + (f" with{options[1:]}" if options else ""),
                    "",
                    "```sql",
                    one.sql,
                    "```",
                ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page_of(ASKED))

"""Declared forms of texts: the engine reads what the definition says, and nothing that fits no form."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from random import Random

import duckdb
import pytest

from privet.catalog.writing import Writing
from privet.sources.forms import UNREADABLE, moment, moment_sql, number_sql, plain_number

FORMATS = [
    "%d.%m.%Y", "%m/%d/%Y %H:%M", "%m/%d/%Y %I:%M:%S %p", "%d-%b-%Y %H:%M", "%d %B %Y", "%Y%m%d", "%Y%m%d%H%M%S",
    "%d/%m/%y", "%Y-%m-%d %H:%M:%S.%f", "%d/%b/%Y:%H:%M:%S %z", "%Y-%m-%dT%H:%M:%S.%f%z", "%b %d, %Y", "%d%b%Y",
    "%Y年%m月%d日", "%I%p %d'%m'%Y", "%d.%m.%Y, %H:%M Uhr", "%y%m%d", "%Y/%m/%d %H.%M.%S,%f", "%B%d%Y",
    "%Y-%m-%d%H:%M %z", "%d\t%m\t%Y", "T%Y-%m-%dT%HZ", "%S.%f %H:%M %d.%m.%Y",
]  # fmt: skip
MOMENTS = [(None, "utc"), (None, "ignore")] + [
    (one, offset) for one in FORMATS for offset in (("utc", "ignore") if one.endswith("%z") else (None,))
]
NUMBERS: list[tuple[str, str, tuple[str, ...]]] = [
    (".", "", ()), (".", ",", ("$",)), (",", ".", ("€", "kg", "Kg.")), (",", "\u202f", ("€", "%")),
    (".", "'", ("CHF", "Fr.", "Fr")), (",", " ", ()), (".", "|", ("kg",)), (".", "^", ("]",)), (",", "\\", ("°C",)),
    (".", ",", ("E", "e", "EUR", "m2", "$", "^", "a|b", "a.b)", "\\", "[", "'")),
]  # fmt: skip
NASTY = [*"0123456789:/-. +TZ,'$€kgEe%\u00a0\u202f\tapPMmé\u017f\u0130K\n\0()", "\ufeff", "٣"]
DAYS = [
    "", " ", "?", "infinity", "-infinity", "epoch", "0000-12-31 23:30-01:00", "0000-01-01", "2020-02-30", "29.02.2023",
    "00.01.2020", "1.0.2020", "9999-12-31T23:59:59.999999-00:01", "0001-01-01T00:00+00:01", "2020-01-31-05:00",
]  # fmt: skip


@pytest.fixture(scope="module")
def engine() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        yield connection


def broken(rng: Random, text: str) -> str:
    letters = list(text)
    for _ in range(rng.choice([0, 0, 0, 1, 1, 2])):
        place = rng.randrange(len(letters) + 1)
        letters[place : place + rng.randrange(2)] = [rng.choice(NASTY)] * rng.randrange(3)
    return "".join(letters)


def random_moment(rng: Random, form: str | None) -> str:
    day = dt.datetime(
        rng.choice([1, 2, 1899, 1969, 1970, 2000, 2024, 9998, 9999]), rng.choice([1, 2, 12, rng.randint(1, 12)]),
        rng.choice([1, rng.randint(1, 28)]), rng.choice([0, 1, 11, 12, 13, 23]), rng.randrange(60),
        rng.choice([0, 59]), rng.randrange(10**6),
    )  # fmt: skip
    zone = rng.choice(["", "Z", "z", "UTC", "+02:00", "-0530", "+14", "-23:59", "+24:00", "+02:60", "-00:00"])
    if form is None:
        text = day.isoformat(sep=rng.choice(" T"), timespec=rng.choice(["minutes", "seconds", "microseconds"]))
        text += rng.choice(["", "", "1", "999", "1234"]) if "." in text else ""
        return text[:10] if rng.random() < 0.1 else text + rng.choice(["", " "]) * bool(zone) + zone
    text = day.strftime(form.replace("%z", "").replace("%Y", "{Y}")).replace("{Y}", f"{day.year:04d}")
    if rng.random() < 0.3:
        text = text.replace("/0", "/").replace(" 0", " ").lstrip("0")
    if rng.random() < 0.5:
        text = text.replace(f"{day.microsecond:06d}", rng.choice(["1", "123456789", "1234567890", "000000001"]))
    return rng.choice([text, text, text.lower(), text.upper()]) + (zone if form.endswith("%z") else "")


@pytest.mark.parametrize(("form", "offset"), MOMENTS)
def test_the_engine_reads_times_as_defined(
    form: str | None, offset: str | None, engine: duckdb.DuckDBPyConnection
) -> None:
    Writing(date_format=form, offset=offset)
    rng = Random(f"{form} {offset}")
    texts = [broken(rng, random_moment(rng, form)) for _ in range(400)] + DAYS + [None]
    meant = [None if text is None else moment(text, form, offset) for text in texts]
    assert sum(one is not None for one in meant) > 50
    for type_ in ("TIMESTAMP", "DATE"):
        ends = f"{type_} '0001-01-01' AND {type_} '9999-12-31" + (" 23:59:59.999999'" if type_ == "TIMESTAMP" else "'")
        read = f"SELECT {moment_sql('x', form, offset, type_)} AS v FROM (SELECT unnest(?::VARCHAR[]) AS x)"
        query = f"SELECT CASE WHEN v BETWEEN {ends} THEN v END, v IS NULL, typeof(v) FROM ({read})"
        for text, own, (value, missing, told) in zip(
            texts, meant, engine.execute(query, [texts]).fetchall(), strict=True
        ):
            assert told == type_
            assert missing == (text is None), text  # what is unreadable is told from what is missing
            assert value == (own.date() if own is not None and type_ == "DATE" else own), text


def random_number(rng: Random, decimal: str, thousands: str, marks: tuple[str, ...]) -> str:
    whole = rng.choice([rng.randrange(10), rng.randrange(10**4), rng.randrange(10**7), rng.randrange(10**30)])
    text = f"{whole:,}".replace(",", thousands) if rng.random() < 0.6 else str(whole)
    text += decimal + str(rng.randrange(10 ** rng.randrange(6))) if rng.random() < 0.5 else ""
    text += rng.choice(["e5", "E-3", "e+999", "e"]) if rng.random() < 0.1 else ""
    mark, gap, sign = (
        rng.choice([*marks, ""]),
        rng.choice(["", "", " ", "\u00a0", "\t "]),
        rng.choice(["", "", "-", "+"]),
    )
    return rng.choice([
        sign + mark + gap + text, mark + gap + sign + text, sign + text + gap + mark, mark + text + mark,
        sign + mark + gap + sign + text,
    ])  # fmt: skip


@pytest.mark.parametrize(("decimal", "thousands", "marks"), NUMBERS)
def test_the_engine_reads_numbers_as_defined(
    decimal: str, thousands: str, marks: tuple[str, ...], engine: duckdb.DuckDBPyConnection
) -> None:
    Writing(decimal=decimal, thousands=thousands, marks=marks)
    rng = Random(f"{decimal} {thousands} {marks}")
    texts: list[str | None] = [broken(rng, random_number(rng, decimal, thousands, marks)) for _ in range(600)]
    texts += ["", None, " ", "?", "12,34", "1,2,3", "1,23,456", "8,50", "1.2.3", "-", "+", "--5", "$", "1e5", "."]
    meant = [None if text is None else plain_number(text, decimal, thousands, marks) for text in texts]
    assert sum(one not in (None, UNREADABLE) for one in meant) > 100
    query = f"SELECT {number_sql('x', decimal, thousands, marks)} FROM (SELECT unnest(?::VARCHAR[]) AS x)"
    assert [value for (value,) in engine.execute(query, [texts]).fetchall()] == meant


@pytest.mark.parametrize(
    ("text", "form", "offset", "time"),
    [
        ("2020-01-31T14:05:06Z", None, "utc", "2020-01-31 14:05:06"),
        ("2020-01-31T14:05:06+02:00", None, "utc", "2020-01-31 12:05:06"),
        ("2020-01-31T14:05:06+02:00", None, "ignore", "2020-01-31 14:05:06"),
        ("2020-01-01 00:30 -0530", None, "utc", "2020-01-01 06:00:00"),
        ("2020-01-01 00:30", None, "utc", "2020-01-01 00:30:00"),
        ("2020-01-01", None, "utc", "2020-01-01 00:00:00"),
        ("2020-01-31T14:05:06.1234569", None, "utc", "2020-01-31 14:05:06.123456"),
        ("01/31/2017 14:05", "%m/%d/%Y %H:%M", None, "2017-01-31 14:05:00"),
        ("1/31/2017 2:05 PM", "%m/%d/%Y %I:%M %p", None, "2017-01-31 14:05:00"),
        ("1/31/2017 12:05 am", "%m/%d/%Y %I:%M %p", None, "2017-01-31 00:05:00"),
        ("31/01/2017 14:05", "%m/%d/%Y %H:%M", None, None),
        ("31.1.17", "%d.%m.%y", None, "2017-01-31 00:00:00"),
        ("31.1.69", "%d.%m.%y", None, "1969-01-31 00:00:00"),
        ("31.1.17", "%d.%m.%Y", None, None),  # not the year 17
        ("10/Oct/2000:13:55:36 -0700", "%d/%b/%Y:%H:%M:%S %z", "utc", "2000-10-10 20:55:36"),
        ("2020-01-31T24:00Z", None, "utc", None),
        ("0001-01-01T00:00+00:01", None, "utc", None),
    ],
)
def test_times(text: str, form: str | None, offset: str | None, time: str | None) -> None:
    assert moment(text, form, offset) == (None if time is None else dt.datetime.fromisoformat(time))


@pytest.mark.parametrize(
    ("text", "how", "number"),
    [
        ("$8,217.50", (".", ",", ("$",)), "8217.50"),
        ("-$ 1,000", (".", ",", ("$",)), "-1000"),
        ("$-1", (".", ",", ("$",)), "-1"),
        ("8217.50", (".", ",", ("$",)), "8217.50"),
        ("8,50", (".", ",", ("$",)), UNREADABLE),  # not 850
        ("1,23,456", (".", ",", ()), "123456"),
        ("45 %", (".", "", ("%",)), "45"),
        ("12 kg", (".", "", ("kg",)), "12"),
        ("12 g", (".", "", ("kg",)), UNREADABLE),
        ("1.234,5 kg", (",", ".", ("kg",)), "1234.5"),
        ("Rs.500", (".", "", ("Rs", "Rs.")), "500"),  # the longer mark first: not 0.5
        ("1,5", (",", "", ()), "1.5"),
        ("(5)", (".", "", ()), UNREADABLE),
    ],
)
def test_numbers(text: str, how: tuple[str, str, tuple[str, ...]], number: str) -> None:
    assert plain_number(text, *how) == number

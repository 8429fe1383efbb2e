"""Columns that look as if they named people: a hint for who is about to ship a table, and no proof of anything."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from privet.records.microdata import Microdata, RecordColumn

SEEN = 2000  # texts of a column
MOST = 0.6  # of them must look like it
FEWEST = {"full names": 30}  # different texts, where other things look the same: Heart Disease is nobody's name
SHAPES = {
    "e-mail addresses": re.compile(r"[^@\s]+@[^@\s]+\.[^@\s.]{2,}"),
    "social security numbers": re.compile(r"\d{3}-\d{2}-\d{4}"),
    "phone numbers": re.compile(
        r"(?=(?:\D*\d){7,15}\D*$)"  # so many digits in all
        r"(?:\+\d[\d ()./-]+|\(?0\d[\d ()./-]+|\(\d{3}\) ?[\d .-]+|\d{3}[-. ]\d{3}[-. ]\d{4})"
    ),
    "full names": re.compile(
        r"[A-ZÀ-Þ][a-zà-ÿ'’-]+(?: [A-ZÀ-Þ]\.)?(?: [A-ZÀ-Þ][a-zà-ÿA-Z'’-]+){1,2}"
        r"|[A-ZÀ-Þ][\w'’-]+, [A-ZÀ-Þ][\w'’-]+.*"
    ),
    "internet addresses": re.compile(r"\d{1,3}(?:\.\d{1,3}){3}"),
}  # fmt: skip
WORDS = {
    "name": "names", "surname": "names", "forename": "names", "firstname": "names", "lastname": "names",
    "nachname": "names", "vorname": "names", "email": "e-mail addresses", "mail": "e-mail addresses",
    "phone": "phone numbers", "telephone": "phone numbers", "mobile": "phone numbers", "fax": "phone numbers",
    "ssn": "social security numbers", "passport": "passport numbers", "iban": "bank accounts", "address": "addresses",
    "street": "addresses", "ip": "internet addresses", "mrn": "record numbers",
}  # fmt: skip
NOT_PEOPLE = {"file", "user", "drug", "product", "street", "city", "country", "ward", "department", "column", "table"}


@dataclass(frozen=True, slots=True)
class Hint:
    """A column that looks like direct identifiers, and what says so."""

    column: str  # "table.column"
    like: str
    why: str

    def __str__(self) -> str:
        return f"hint: {self.column} looks like {self.like} ({self.why}); drop it, or replace it"


def hints(table: str, data: Microdata, treated: Sequence[str] = ()) -> Iterator[Hint]:
    """Columns besides those treated, by what they hold, or else by what they are called."""
    for column in data:
        if column.name in treated:
            continue
        like, why = by_values(column), "its values"
        if like is None:
            like, why = by_name(column.name), "its name"
        if like is not None:
            yield Hint(f"{table}.{column.name}", like, why)


def by_values(column: RecordColumn) -> str | None:
    texts = list(islice((text.strip() for text in column.texts if text is not None and text.strip()), SEEN))
    for name, shape in SHAPES.items():
        alike = sum(map(bool, map(shape.fullmatch, texts)))
        if alike >= max(MOST * len(texts), FEWEST.get(name, 2)):
            return name
    return None


def by_name(name: str) -> str | None:
    words = re.findall("[a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower())
    joined = ["".join(words), *words]
    if set(words) & NOT_PEOPLE and "name" in words:
        return None
    return next((WORDS[word] for word in joined if word in WORDS), None)

"""Top and bottom coding: the few with an extreme value get the value at the limit.

    made = top_code(data, "age", 90)
    made.data                           # 93 and 101 are now 90, which means 90 or more
    made.share                          # 0.004 of the records were changed

Who is 101 stands out by that alone. The limit stays a number, so that hierarchies and intervals go on working; write
beside the data that it means "or more". A coded value is still the truth about nobody above it: means are wrong.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from privet.anonymize.builders import number_of, plain
from privet.core.rational import rational, show
from privet.errors import InvalidInputError
from privet.records.microdata import Microdata, RecordColumn, column, narrow


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Coded:
    """`changed` records have got the `value` at the limit; `at_limit` have it now, with those that had it before."""

    data: Microdata
    column: str
    value: str
    top: bool
    changed: int
    at_limit: int

    @property
    def share(self) -> float:
        """Of all records, those that were changed."""
        return self.changed / len(self.data)

    def __str__(self) -> str:
        beyond = f"{'above' if self.top else 'below'} {self.value}"
        meaning = f"{self.value} or {'more' if self.top else 'less'}"
        return (
            f"{self.column}: {self.changed:,} of {len(self.data):,} records ({self.share:.2%}) were {beyond} and are"
            f" now {self.value}, which means {meaning}; {self.at_limit:,} have it"
        )


def top_code(data: Microdata, name: str, limit: object) -> Coded:
    """All numbers above the limit become the limit. Missing values stay missing."""
    return _coded(data, name, rational(limit, "the limit"), top=True)


def bottom_code(data: Microdata, name: str, limit: object) -> Coded:
    """All numbers below the limit become the limit."""
    return _coded(data, name, rational(limit, "the limit"), top=False)


def _coded(data: Microdata, name: str, limit: Fraction, *, top: bool) -> Coded:
    if not len(data):
        raise InvalidInputError("there are no records", "check the file, its header and its delimiter", "empty")
    old = data[name]
    numbers = [None if text is None else _number(text, name) for text in old.texts]
    value = next((text for text, number in zip(old.texts, numbers, strict=True) if number == limit), plain(limit))
    beyond = np.array([number is not None and (number > limit if top else number < limit) for number in numbers])
    texts = [value if gone else text for text, gone in zip(old.texts, beyond, strict=True)]
    new = column(name, texts)  # each code once: what it becomes
    codes = new.codes[old.codes]
    made = RecordColumn(name, narrow(codes, len(new.texts)), new.texts)
    return Coded(
        data=Microdata({**data.columns, name: made}, len(data)),
        column=name,
        value=str(value),
        top=top,
        changed=int(beyond[old.codes].sum()),
        at_limit=int((codes == made.texts.index(value)).sum()) if value in made.texts else 0,
    )


def _number(text: str, name: str) -> Fraction:
    number = number_of(text)
    if number is None:
        raise InvalidInputError(
            f"{show(text)} in column {show(name)} is not a number",
            "code columns of numbers, or correct that value",
            "not-a-number",
        )
    return number

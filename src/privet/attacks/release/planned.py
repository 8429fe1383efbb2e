"""The tables that one could publish about records at hand: to attack them before anybody else can."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

from privet.attacks.release.domain import value_text
from privet.attacks.release.statistics import Between, Statistic, Tables
from privet.core.expression import And, Column, Compare, Literal, Relation, Value
from privet.core.rational import show, whole
from privet.errors import InvalidInputError

TOTAL = "total"


def margins(
    records: Iterable[Mapping[str, Value]],
    attributes: Mapping[str, tuple[Value, ...]],
    by: int | Sequence[Sequence[str]],
    *,
    below: int = 0,
) -> Tables:
    """Counts of all combinations of `by` attributes at a time (3: all three-way tables), or of the lists of attributes
    given; counts below `below` are suppressed, zeros included."""
    rows = [dict(record) for record in records]
    lists = list(itertools.combinations(attributes, whole(by, "by", 1))) if isinstance(by, int) else [*map(tuple, by)]
    for name in dict.fromkeys(name for names in lists for name in names):
        if name not in attributes:
            raise InvalidInputError(
                f"there is no attribute {show(name)}", f"there are: {', '.join(attributes)}", "unknown-attribute"
            )
        for row in rows:
            if row.get(name) not in attributes[name]:
                raise InvalidInputError(
                    f"a record has {name} {show(row.get(name))}",
                    f"list all values of {name} in attributes",
                    "not-declared",
                )
    everybody = Statistic(name=TOTAL, count=Between(Fraction(len(rows)), Fraction(len(rows))))
    tables = [cell for names in lists for cell in _table(rows, attributes, names, below)]
    return Tables(attributes=dict(attributes), statistics=(everybody, *tables))


def _table(
    rows: Sequence[Mapping[str, Value]], attributes: Mapping[str, tuple[Value, ...]], names: Sequence[str], below: int
) -> list[Statistic]:
    """One statistic a cell, those with nobody included."""
    counts = Counter(tuple(row[name] for name in names) for row in rows)
    cells = []
    for key in itertools.product(*(attributes[name] for name in names)):
        count = Fraction(counts[key])
        terms = tuple(Compare(Relation.EQUAL, Column(n), Literal(v)) for n, v in zip(names, key, strict=True))
        words = ", ".join(f"{name} {value_text(value)}" for name, value in zip(names, key, strict=True))
        shown = Between(Fraction(0), Fraction(below - 1)) if count < below else Between(count, count)
        cells.append(
            Statistic(
                name=words, table=" × ".join(names), where=And(terms) if len(terms) > 1 else terms[0], count=shown
            )
        )
    return cells

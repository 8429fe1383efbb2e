"""How many values of a column cannot be read as declared, for the owner alone; and when that is refused."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

from privet.backends.reading import FLOATS, reading
from privet.backends.spelling import quoted
from privet.catalog.declarations import Table
from privet.catalog.vault_file import column_line
from privet.core.rational import show
from privet.core.schema import Category, Date, Integer, Number, Timestamp
from privet.errors import InvalidInputError
from privet.sources import Raw
from privet.sources.candidates import Candidate
from privet.sources.form_draft import beside

MOST = Fraction(9, 10)  # of the values; if more cannot be read, the declaration is refused


@dataclass(frozen=True, slots=True, kw_only=True)
class Unread:
    """How many values a column has, and how many of them cannot be read. What is empty is no value."""

    column: str
    values: int
    unread: int

    def refused(self, table: Table) -> bool:
        """A category may list the few texts that anybody asks about; if it lists none of them, it is a slip."""
        if isinstance(table.columns[self.column], Category):
            return 0 < self.values == self.unread
        return self.unread > MOST * self.values


def counts(table: Table, raw: Raw) -> Iterator[tuple[str, str]]:
    """For every column a statement that reads all its values as questions do: a number, the values, those unread."""
    for name, kind in table.columns.items():
        source, type_ = f"source.{quoted(name)}", raw.types[name]
        how = reading(replace(kind, never_missing=False), type_, source, "r")
        value = f"nullif({source}, '')" if type_ == "VARCHAR" else source
        value = f"CASE WHEN NOT isnan({source}) THEN {source} END" if type_ in FLOATS else value
        read = f"SELECT {how.first} AS r, {value} IS NOT NULL AS v FROM {raw.relation} AS source"  # noqa: S608
        read = f"SELECT r, v, {how.second} AS s FROM ({read})"  # noqa: S608  names are quoted
        counted = "count(*) FILTER (v), count(*) FILTER (v AND s IS NULL)"
        yield name, f"SELECT bit_xor(hash(r, s)), {counted} FROM ({read})"  # noqa: S608


def refusal(table: Table, found: Unread, form: Candidate | None) -> InvalidInputError:
    """What the owner is told: with numbers, and with the words to declare if the form of the texts is known."""
    kind = table.columns[found.column]
    problem = (
        f"table {show(table.name)}: {found.unread:,} of {found.values:,} values of column {show(found.column)}"
        f" cannot be read as {type(kind).__name__.lower()} and would count as missing"
    )
    remedy = f"correct the values, or declare {show(found.column)} as the file has it: `privet describe` drafts that"
    if isinstance(kind, Category):
        remedy = "list the texts as they are in the data, letter by letter: `privet describe` shows the frequent ones"
    fits = Integer | Number if form is not None and form.number else Date | Timestamp
    if form is not None and isinstance(kind, fits):
        remedy = _declare(table, found.column, form)
    return InvalidInputError(problem, remedy, "unreadable-column")


def _declare(table: Table, name: str, form: Candidate) -> str:
    writing = beside(form.writing, table.source) if form.number else form.writing
    line = column_line(replace(table, writing={**table.writing, name: writing}), name)
    return f"declare how they are written: {line} (in Python: writing={{{name!r}: {writing.given!r}}})"

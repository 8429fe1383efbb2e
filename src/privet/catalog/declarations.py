"""What the owner declares: the tables, who is protected, how much of one unit counts, which values there can be."""

from __future__ import annotations

import codecs
import json
import os
import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, cast

from privet.catalog.writing import Writing, is_thousands_mark, writing_from
from privet.core.partition import Partition, check_partition
from privet.core.plan import fingerprint
from privet.core.rational import show, whole
from privet.core.schema import Category, Integer, Kind, Number
from privet.core.unit import Neighbors, neighbors_from
from privet.errors import InvalidInputError
from privet.spelling import did_you_mean

MOST_OF_A_UNIT = 2**40
LIMITS = ("max_groups", "max_rows_per_group", "max_rows")  # of one unit
LARGEST_STEP = 10**38 // 2**40  # a sum over 2**40 rows then still fits 38 digits
LONGEST_NAME = 200
READING = {"missing", "decimal", "thousands", "date_format"}  # how a text becomes a value, wherever it is kept
STATISTICAL = ("sas", "spss", "stata")  # kinds of files with labels of values
OPTIONS = {
    "csv": READING | {"path", "delimiter", "encoding", "skip", "names"},
    "json": READING | {"path", "encoding"},
    "excel": READING | {"path", "sheet", "skip", "names"},
    "parquet": READING | {"path"},
    "arrow": READING | {"path"},
    "duckdb": READING | {"path", "table"},
    "sqlite": READING | {"path", "table"},
    **{kind: READING | {"path", "encoding", "labels"} for kind in STATISTICAL},
    "memory": READING,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where a table's rows are and how their texts are read. Options that do not apply to the kind are refused."""

    kind: Literal["csv", "json", "excel", "parquet", "arrow", "duckdb", "sqlite", "sas", "spss", "stata", "memory"]
    path: str | None = None  # from the folder that holds the vault, or absolute; CSV, Parquet: also a folder or pattern
    delimiter: str = ","
    encoding: str = "utf-8"
    skip: int = 0  # lines or sheet rows before the header
    names: tuple[str, ...] = ()  # the columns of a file without a header
    sheet: str | None = None  # None: the first
    table: str | None = None  # in a DuckDB or SQLite file
    labels: bool = True  # of the values in SAS, SPSS and Stata files: categories and texts are read as their labels
    missing: tuple[str, ...] = ()  # texts that mean "no value"; so does an empty field
    decimal: str = "."
    thousands: str = ""
    date_format: str | None = None  # such as "%d.%m.%Y"; None: 2020-01-31

    def __post_init__(self) -> None:
        if self.kind not in OPTIONS:
            raise InvalidInputError(
                f"there is no source of kind {show(self.kind)}",
                f"{did_you_mean(self.kind, OPTIONS)}use one of {listed(OPTIONS)}",
                "unknown-choice",
            )
        for name, default in defaults(self).items():
            if name not in OPTIONS[self.kind] and getattr(self, name) != default:
                others = ", ".join(
                    f"{other}=" for other in sorted(OPTIONS[self.kind]) if other not in ("names", "path")
                )
                raise InvalidInputError(
                    f"{name}= does not apply to a source of kind {self.kind}",
                    f"leave it out; {self.kind} takes {others or 'no option'}",
                    "unneeded-option",
                )
        _check_path(self)
        object.__setattr__(self, "names", texts(self.names, "names"))
        object.__setattr__(self, "missing", texts(self.missing, "missing"))
        _check_reading(self)
        _check_different(self.names, "names", "column")

    def locate(self, base: Path) -> Path:
        """The file, folder or pattern, from the folder that holds the vault."""
        return Path(os.path.abspath(base / cast(str, self.path)))  # noqa: PTH100  # resolve() would follow links


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """One table: the column that names the protected unit (None: each row is one), its limits and its columns."""

    name: str
    source: Source
    unit: str | None
    columns: Mapping[str, Kind]
    max_groups: int = 1
    max_rows_per_group: int = 1
    max_rows: int | None = None
    missing: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # further codes of single columns
    version: int = 1  # the owner counts it up
    public: bool = False  # everybody may read it: there is no unit
    key: tuple[str, ...] = ()  # columns that tell the rows of a public table apart
    types: Mapping[str, str] = field(default_factory=dict)  # the engine's, as recorded; what is absent is not compared
    writing: Mapping[str, Writing] = field(default_factory=dict)  # how the texts of single columns are written

    @property
    def domain(self) -> str:
        """What is one unit here."""
        return "rows" if self.unit is None else "people"

    @property
    def protects(self) -> str:
        """Whom it protects, as vault.toml says it: the first charge about the table fixes it."""
        if self.public:
            return "public = true"
        return "rows_are_units = true" if self.unit is None else f"unit = {json.dumps(self.unit, ensure_ascii=False)}"

    @property
    def digest(self) -> str:
        """Names how its rows are read, and whose they are; not where they lie, nor how many of a unit count."""
        written = {name: [sorted(one.given.items())] for name, one in self.writing.items()}  # none in older digests
        kinds = [
            [name, repr(kind), self.missing.get(name, ()), *written.get(name, ())]
            for name, kind in self.columns.items()
        ]
        options = [[part.name, getattr(self.source, part.name)] for part in fields(Source) if part.name != "path"]
        options = [option for option in options if option != ["labels", True]]  # nor is this
        return fingerprint(self.name, self.version, self.unit, kinds, options)

    def __post_init__(self) -> None:
        check_name(self.name, "a table")
        try:
            _check_table(self)
        except InvalidInputError as error:
            raise inside(f"table {show(self.name)}", error) from None
        for name in ("version", *LIMITS):  # as plain integers, whatever library they come from
            number = getattr(self, name)
            object.__setattr__(self, name, None if number is None else whole(number, name))
        object.__setattr__(self, "columns", MappingProxyType(dict(self.columns)))
        object.__setattr__(self, "key", texts(self.key, "key"))
        codes = {name: texts(given, "missing") for name, given in self.missing.items()}
        object.__setattr__(self, "missing", MappingProxyType({name: given for name, given in codes.items() if given}))
        written = {name: writing_from(given, self.columns[name]) for name, given in self.writing.items()}
        object.__setattr__(self, "writing", MappingProxyType({name: one for name, one in written.items() if one.given}))
        known = {name: type_ for name, type_ in self.types.items() if name in self.columns or name == self.unit}
        object.__setattr__(self, "types", MappingProxyType(known))


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalog:
    """All declarations of one vault. One vault protects one kind of unit, under one relation."""

    neighbors: Neighbors
    tables: Mapping[str, Table] = field(default_factory=dict)
    partition: Partition | None = None  # as the ledger has it, for people to read
    rho_without_delta: str = "allow"  # or "refuse": every price then has a finite epsilon
    analysts: str = "anyone"  # or "granted": those who were granted a budget of their own
    removed: Mapping[str, int] = field(default_factory=dict)  # tables that were, and their last versions

    def __post_init__(self) -> None:
        _check_choice(
            self.rho_without_delta, "rho_without_delta", ("allow", "refuse"), "every price must have an epsilon"
        )
        _check_choice(self.analysts, "analysts", ("anyone", "granted"), "only analysts with a grant may ask")
        object.__setattr__(self, "neighbors", neighbors_from(self.neighbors))
        for name, table in self.tables.items():
            if name != table.name:
                raise InvalidInputError(
                    f"table {show(table.name)} is listed as {show(name)}", "use its own name", "contradiction"
                )
        _check_different(self.tables, "the catalog", "table")
        object.__setattr__(self, "removed", MappingProxyType(dict(self.removed)))
        for name, last in self.removed.items():
            check_name(name, "a table")
            whole(last, f"the version of the removed table {show(name)}", 1)
        for name, table in self.tables.items():
            if table.version <= self.last_removed(name):
                raise InvalidInputError(
                    f"table {show(name)} has version {table.version}, but a table of that name was removed with version"
                    f" {self.last_removed(name)}",
                    f"write version = {self.last_removed(name) + 1}",
                    "too-small",
                )
        if (
            len({table.domain for table in self.tables.values() if not table.public}) > 1
        ):  # neighbors differ in one unit over all tables
            raise InvalidInputError(
                "some tables protect people and others rows", "use one vault for each kind of unit", "mixed-units"
            )
        object.__setattr__(self, "tables", MappingProxyType(dict(self.tables)))

    def last_removed(self, name: str) -> int:
        """The last version of a removed table of this name; 0 if there was none."""
        return max((last for other, last in self.removed.items() if folded(other) == folded(name)), default=0)

    def with_table(self, table: Table) -> Catalog:
        """One table more. Its version is above that of a removed one of the same name: no answer about that is its."""
        check_table_name(table.name)
        if table.name in self.tables:
            raise InvalidInputError(
                f"there is already a table {show(table.name)}",
                "choose another name, or update the table",
                "table-exists",
            )
        table = replace(table, version=max(table.version, self.last_removed(table.name) + 1))
        return replace(self, tables={**self.tables, table.name: table})

    def without_table(self, name: str) -> Catalog:
        """One table less. Its last version is remembered."""
        if self.partition is not None and self.partition.table == name:
            raise InvalidInputError(
                f"table {show(name)} says which part each unit is in, and that never changes",
                "keep it: questions about a part need it",
                "already-divided",
            )
        kept = {other: table for other, table in self.tables.items() if other != name}
        old = {other: last for other, last in self.removed.items() if folded(other) != folded(name)}
        return replace(self, tables=kept, removed={**old, name: self.tables[name].version})

    def divided(self, table: str, column: str) -> Partition:
        """The partition by this column, to be declared: its values are the parts."""
        register = self.tables.get(table)
        if register is None or register.public:
            private = [name for name, other in self.tables.items() if not other.public]
            raise InvalidInputError(
                f"there is no table {show(table)} that has units",
                f"use one of {listed(private)}",
                "unknown-table" if register is None else "private-table-needed",
            )
        kind = register.columns.get(column)
        if not isinstance(kind, Category):
            usable = [name for name, other in register.columns.items() if isinstance(other, Category)]
            raise InvalidInputError(
                f"table {show(table)} has no category {show(column)}",
                f"divide by one of {listed(usable)}",
                "unknown-column",
            )
        partition = Partition(table=table, column=column, parts=kind.values, register=register.digest)
        check_partition(partition, self.neighbors)
        return partition

    def updated(self, table: Table) -> Catalog:
        """The same table with other declarations or data: its version must grow, or old answers would be replayed."""
        old = self.tables.get(table.name)
        if old is None:
            raise InvalidInputError(
                f"there is no table {show(table.name)}", f"use one of {listed(self.tables)}", "unknown-table"
            )
        if table.public != old.public:
            raise InvalidInputError(
                f"table {show(table.name)} is {'' if old.public else 'not '}public, and that never changes",
                "declare another table",
                "unit-fixed",
            )
        if table.unit != old.unit:
            raise InvalidInputError(
                f"table {show(table.name)} protects by {show(old.unit)}, and that never changes",
                "make a new vault for another unit",
                "unit-fixed",
            )
        if self.partition is not None and self.partition.table == table.name:
            raise InvalidInputError(
                f"table {show(table.name)} says which part each unit is in, and that never changes",
                "make a new vault for other data, or keep what changes in a table of its own",
                "already-divided",
            )
        if table != old and table.version <= old.version:
            raise InvalidInputError(
                f"table {show(table.name)} changes, but its version is not above {old.version}",
                f"give version={old.version + 1}",
                "too-small",
            )
        return replace(self, tables={**self.tables, table.name: table})


def _check_choice(value: object, name: str, choices: tuple[str, str], meaning: str) -> None:
    if value not in choices:
        raise InvalidInputError(
            f"{name} must be {choices[0]!r} or {choices[1]!r}, not {show(value)}",
            f"give {choices[1]!r} if {meaning}",
            "unknown-choice",
        )


def portable(path: str | Path, base: Path) -> str:
    """How vault.toml names a file: from the folder that holds the vault if it lies there, otherwise in full."""
    full = Path(os.path.abspath(path))  # noqa: PTH100  # resolve() would follow links
    start = Path(os.path.abspath(base))  # noqa: PTH100
    return (full.relative_to(start) if full.is_relative_to(start) else full).as_posix()


def _check_path(source: Source) -> None:
    if source.kind == "memory":
        return
    if not isinstance(source.path, str) or not source.path.strip() or "\0" in source.path:
        raise InvalidInputError(f"a {source.kind} source needs a path", 'write path = "visits.csv"', "missing-option")
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]+:/", source.path):
        raise InvalidInputError(
            f"{show(source.path)} is not a file here", "copy the data to this machine", "not-supported"
        )
    for name in ("sheet", "table"):
        if not isinstance(getattr(source, name), str | None):
            raise InvalidInputError(f"{name} must be a text", f"give the {name}'s name", "wrong-type")
    if source.kind in ("duckdb", "sqlite") and not source.table:
        raise InvalidInputError(
            f"a {source.kind} source needs the table's name", 'write table = "visits"', "missing-name"
        )
    if not isinstance(source.labels, bool):
        raise InvalidInputError("labels must be true or false", "write labels = false to read codes", "wrong-type")


def _check_reading(source: Source) -> None:
    whole(source.skip, "skip", 0)
    if not _is_mark(source.delimiter) or source.delimiter in '"\r\n':
        raise InvalidInputError(
            f"delimiter must be one character, not {show(source.delimiter)}", 'for example ";" or "\\t"', "invalid-mark"
        )
    if source.decimal not in (".", ","):
        raise InvalidInputError(
            f"decimal must be '.' or ',', not {show(source.decimal)}", 'give "." or ","', "unknown-choice"
        )
    if source.thousands != "" and (not is_thousands_mark(source.thousands) or source.thousands == source.decimal):
        raise InvalidInputError(
            f"thousands must be one mark other than decimal, not {show(source.thousands)}",
            'give " ", or "," where decimal is ".", or "." where decimal is ","',
            "invalid-mark",
        )
    try:
        codecs.lookup(source.encoding)
        "".encode(source.encoding)  # some codecs are not for text
    except (LookupError, TypeError, ValueError):
        raise InvalidInputError(
            f"there is no encoding {show(source.encoding)}",
            'for example "utf-8", "latin-1" or "cp1252"',
            "unknown-choice",
        ) from None
    _check_date_format(source.date_format)


def _is_mark(text: object) -> bool:
    return isinstance(text, str) and len(text) == 1 and text != "\0"


def _check_date_format(text: object) -> None:
    if text is None:
        return
    parts = re.findall("%.?", text, re.DOTALL) if isinstance(text, str) else []
    codes = {"%d": "day", "%m": "month", "%b": "month", "%B": "month", "%Y": "year", "%y": "year"}
    if sorted(codes.get(part, part) for part in parts) != ["day", "month", "year"]:
        raise InvalidInputError(
            f"date_format {show(text)} does not name day, month and year once each",
            'use %d, %m (or %b, %B) and %Y (or %y), such as "%d.%m.%Y"; a form with a time belongs to its column:'
            ' arrival = {kind = "timestamp", date_format = "%d.%m.%Y %H:%M", ...}',
            "wrong-format",
        )


def _check_table(table: Table) -> None:
    if not isinstance(table.source, Source):
        raise InvalidInputError("source is not a Source", "give a Source that says where the rows are", "wrong-type")
    if not isinstance(table.columns, Mapping) or not table.columns:
        raise InvalidInputError(
            "no column is declared", "declare each column that people may ask about", "not-declared"
        )
    for name, kind in table.columns.items():
        _check_column(name, kind)
    if table.unit is not None:
        check_name(table.unit, "the unit column")
    _check_different(dict.fromkeys([*table.columns, *([table.unit] if table.unit else [])]), "columns", "column")
    _check_public(table)
    for name in LIMITS:
        limit = getattr(table, name)
        if limit is not None:
            limit_of(limit, name)
        if table.unit is None and limit not in (1, None):
            raise InvalidInputError(
                f"each row is a unit, so {name} is 1, not {limit}",
                f"leave {name} out, or name a unit column",
                "rows-are-units",
            )
    whole(table.version, "version", 1)
    _check_types(table.types)
    unknown = [name for name in [*table.missing, *table.writing] if name not in table.columns]
    if unknown:
        raise InvalidInputError(
            f"it says how {show(unknown[0])} is read, which is not declared", "declare the column", "unknown-column"
        )
    for name, given in table.writing.items():
        try:
            _check_marks(writing_from(given, table.columns[name]), table.source)
        except InvalidInputError as error:
            raise inside(f"column {show(name)}", error) from None


def marks_of(writing: Writing, source: Source) -> tuple[str, str]:
    """The decimal mark and the mark between thousands of a column."""
    thousands = source.thousands if writing.thousands is None else writing.thousands
    return writing.decimal or source.decimal, thousands


def _check_marks(writing: Writing, source: Source) -> None:
    decimal, thousands = marks_of(writing, source)
    if thousands == decimal:
        raise InvalidInputError(
            f"{show(decimal)} cannot be the decimal mark and stand between thousands",
            'give both, for example decimal = ".", thousands = ","',
            "contradiction",
        )


def _check_types(types: object) -> None:
    if not isinstance(types, Mapping) or not all(isinstance(part, str) for item in types.items() for part in item):
        raise InvalidInputError(
            f"types must name the type of each column, not {show(types)}", "leave types out", "wrong-type"
        )


def _check_public(table: Table) -> None:
    if table.public and table.unit is not None:
        raise InvalidInputError(
            "it is public, but has a unit to protect", "leave one of them out", "contradictory-options"
        )
    if table.public and any(getattr(table, name) not in (1, None) for name in LIMITS):
        raise InvalidInputError(
            "nobody is protected in a public table", f"leave out {' and '.join(LIMITS)}", "unneeded-option"
        )
    key = texts(table.key, "key")
    if key and not table.public:
        raise InvalidInputError(
            "a key tells the rows of a public table apart, and it is not public", "leave key out", "unneeded-option"
        )
    for name in key:
        if name not in table.columns:
            raise InvalidInputError(
                f"{show(name)} in its key is not declared", f"use {listed(table.columns)}", "unknown-column"
            )


def with_limits(given: Mapping[str, Any]) -> dict[str, Any]:
    """The limits of a unit that were given. If all its rows are bounded, what is not said of groups needs no limit."""
    said = {name: given[name] for name in LIMITS if given.get(name) is not None}
    return dict.fromkeys(LIMITS, whole(said["max_rows"], "max_rows", 1)) | said if "max_rows" in said else said


def limit_of(value: object, name: str) -> int:
    """How many groups or rows of a unit count."""
    limit = whole(value, name, 1)
    if limit > MOST_OF_A_UNIT:
        raise InvalidInputError(
            f"{name} is above 2**40, which bounds nothing",
            f"give the usual number for one unit, for example {name}=3",
            "limit-too-high",
        )
    return limit


def _check_column(name: object, kind: object) -> None:
    check_name(name, "a column")
    if not isinstance(kind, Kind):
        raise InvalidInputError(
            f"column {show(name)}: {show(kind)} is not a kind of column",
            "for example pv.Integer(0, 120) or pv.Text()",
            "wrong-type",
        )
    if isinstance(kind, Integer | Number) and max(abs(bound) for bound in kind.steps) > LARGEST_STEP:
        raise InvalidInputError(
            f"column {show(name)}: a bound is more than {LARGEST_STEP} steps from 0",
            "use a coarser step or less range",
            "too-fine",
        )


def check_name(name: object, what: str) -> None:
    if not isinstance(name, str) or not name.strip() or name != name.strip() or len(name) > LONGEST_NAME:
        raise InvalidInputError(
            f"{show(name)} cannot name {what}",
            f"use 1 to {LONGEST_NAME} characters, with no spaces at the ends",
            "invalid-name",
        )
    if any(unicodedata.category(letter) in ("Cc", "Cs", "Zl", "Zp") for letter in name):
        raise InvalidInputError(
            f"{show(name)} cannot name {what}", "use no line breaks or control characters", "invalid-name"
        )


def check_table_name(name: str) -> None:
    """Of a new table: older vaults may have any name."""
    if not re.fullmatch(r"[^\W\d]\w*(?:[ .-]\w+)*", name):
        plain = re.sub(r"\W+", "_", name).strip("_")
        example = plain if plain[:1].isalpha() else "visits"
        raise InvalidInputError(
            f"{show(name)} cannot be the name of a table",
            f'begin with a letter, and use letters, digits and _: name="{example}"',
            "invalid-name",
        )


def folded(name: str) -> str:
    """The same for names that SQL or a reader takes for the same."""
    return unicodedata.normalize("NFC", name).casefold()


def _check_different(names: Iterable[str], where: str, what: str) -> None:
    """SQL does not tell upper from lower case, and nobody tells composed from decomposed letters."""
    seen: dict[str, str] = {}
    for name in names:
        key = folded(name)
        if key in seen:
            raise InvalidInputError(
                f"{where}: {what}s {show(seen[key])} and {show(name)} differ only in case, or not at all",
                f"rename one {what}",
                "duplicate-name",
            )
        seen[key] = name


def texts(value: object, name: str) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not all(isinstance(text, str) for text in value):
        raise InvalidInputError(
            f"{name} must be a list of texts, not {show(value)}", f'for example {name} = ["NA"]', "not-a-list"
        )
    return tuple(value)


def inside(place: str, error: InvalidInputError) -> InvalidInputError:
    return InvalidInputError(f"{place}: {error.problem}", error.remedy, error.code)


def listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "none"


def defaults(source: Source) -> dict[str, object]:
    return {part.name: part.default for part in fields(source) if part.default is not MISSING}

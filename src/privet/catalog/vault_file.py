"""The declarations of a vault, and the file vault.toml that keeps them.

Everything there is public knowledge: no secret, and nothing that was read from the data. A relative path starts at the
folder that holds the vault, so a vault moves together with its data.
"""

from __future__ import annotations

import datetime as dt
import os
import re
import secrets
import tomllib
from collections.abc import Mapping
from dataclasses import fields
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, cast

import tomli_w

from privet.catalog.declarations import (  # fmt: skip
    LIMITS,
    OPTIONS,
    Catalog,
    Source,
    Table,
    check_name,
    defaults,
    inside,
    listed,
    portable,
    texts,
    with_limits,
)
from privet.catalog.writing import NAMES, Writing, options_of, writing_from
from privet.core.partition import Partition
from privet.core.rational import show
from privet.core.schema import FLAGS, Boolean, Category, Date, Integer, Kind, Number, Text, Timestamp
from privet.core.unit import neighbors_from
from privet.errors import InvalidInputError
from privet.spelling import closest, did_you_mean

__all__ = [
    "Catalog",
    "Source",
    "Table",
    "column_line",
    "dump",
    "parse",
    "partition_section",
    "portable",
    "read",
    "section",
    "write",
]

FORMAT = 1
KINDS = {
    "integer": Integer,
    "number": Number,
    "boolean": Boolean,
    "category": Category,
    "date": Date,
    "timestamp": Timestamp,
    "text": Text,
}
HEAD = """\
# What Privet knows about the data. All of it is public: no secret, and no value from the data.
# You may edit it by hand; raise `version` when a table's data or declaration change. Do not change `unit`,
# `rows_are_units` or `public` of a table that was asked about: the ledger refuses it. Comments are not kept.
"""
REMOVED = "# The last versions of removed tables: a new table of the same name begins with a higher one.\n[removed]"


def read(path: Path) -> Catalog:
    """The declarations in a file that a steward may have edited."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise InvalidInputError(
            f"{path.name} cannot be read", "check that the vault's folder has it, in UTF-8", "vault-unreadable"
        ) from None
    try:
        return parse(text)
    except InvalidInputError as error:
        raise inside(path.name, error) from None


def parse(text: str) -> Catalog:
    """The declarations in the text of a vault.toml."""
    try:
        document = tomllib.loads(text, parse_float=Decimal)  # 0.01 means one hundredth
    except (tomllib.TOMLDecodeError, ArithmeticError, RecursionError, ValueError) as error:
        raise InvalidInputError(f"this is not TOML: {error}", "correct that place", "wrong-format") from None
    if document.get("format") != FORMAT:
        raise InvalidInputError(
            f"format is {show(document.get('format'))}, not {FORMAT}",
            f"write format = {FORMAT}, or update Privet",
            "unsupported-format",
        )
    known = {"format", "neighbors", "rho_without_delta", "analysts", "partition", "removed", "tables"}
    _only(document, known, "the file")
    if "neighbors" not in document:
        raise InvalidInputError(
            "neighbors is missing", 'write neighbors = "add-remove" or neighbors = "replace"', "missing-entry"
        )
    tables = {name: _table(name, entry) for name, entry in _mapping(document.get("tables", {}), "tables").items()}
    partition = None if "partition" not in document else _partition(document["partition"])
    return Catalog(
        neighbors=neighbors_from(document["neighbors"]),
        tables=tables,
        partition=partition,
        rho_without_delta=document.get("rho_without_delta", "allow"),
        analysts=document.get("analysts", "anyone"),
        removed=_mapping(document.get("removed", {}), "removed"),
    )


def _partition(entry: object) -> Partition:
    given, wanted = _mapping(entry, "partition"), {"table", "column", "parts"}
    _only(given, wanted, "partition")
    if wanted - set(given):
        raise InvalidInputError(
            f"partition needs {listed(wanted)}", f"add {listed(wanted - set(given))}", "missing-entry"
        )
    for name in ("table", "column"):
        check_name(given[name], f"a partition's {name}")
    return Partition(table=given["table"], column=given["column"], parts=texts(given["parts"], "parts"))


def _table(name: str, entry: object) -> Table:
    check_name(name, "a table")
    given = _mapping(entry, f"tables.{name}")
    try:
        known = {"source", "unit", "rows_are_units", "public", "key", "columns", "version", "types", *LIMITS}
        _only(given, known, "the table")
        columns = {column: _column(column, kind) for column, kind in _mapping(given.get("columns"), "columns").items()}
        limits = with_limits(given) | {key: given[key] for key in ("version", "public", "key", "types") if key in given}
        source, unit = _source(given.get("source")), _unit(given)
    except InvalidInputError as error:
        raise inside(f"table {show(name)}", error) from None
    kinds = {column: kind for column, (kind, _, _) in columns.items()}
    codes = {column: codes for column, (_, codes, _) in columns.items()}
    written = {column: writing for column, (_, _, writing) in columns.items()}
    return Table(name=name, source=source, unit=unit, columns=kinds, missing=codes, writing=written, **limits)


def _unit(given: Mapping[str, Any]) -> str | None:
    """Forgetting the unit would protect rows instead of people, so either choice is written out."""
    said = [name for name in ("unit", "rows_are_units", "public") if name in given]
    if len(said) != 1 or given.get("rows_are_units", True) is not True or given.get("public", True) is not True:
        raise InvalidInputError(
            "it does not say whom to protect",
            'write one of unit = "patient_id", rows_are_units = true, or public = true if everybody may read it',
            "missing-unit",
        )
    if "unit" in given and not isinstance(given["unit"], str):
        raise InvalidInputError(
            f"unit must be a column's name, not {show(given['unit'])}", 'write unit = "patient_id"', "wrong-type"
        )
    return given.get("unit")


def _source(entry: object) -> Source:
    given = _mapping(entry, "source")
    _only(given, {part.name for part in fields(Source)}, "source")
    if "kind" not in given:
        raise InvalidInputError("source has no kind", f"write kind = one of {listed(OPTIONS)}", "missing-entry")
    return Source(**given)


def _column(name: str, entry: object) -> tuple[Kind, tuple[str, ...], Writing]:
    given = dict(_mapping(entry, f"column {show(name)}"))
    try:
        if "kind" not in given:
            near = next((other for other in given if closest(other, ["kind"])), None)
            problem = "its kind is missing" + (f"; it has an unknown entry {show(near)}" if near else "")
            raise InvalidInputError(problem, 'write kind = "integer", or another kind', "unknown-choice")
        word, codes = given.pop("kind"), texts(given.pop("missing", ()), "missing")
        writing = {name: given.pop(name) for name in NAMES if name in given}
        kind = KINDS.get(word) if isinstance(word, str) else None
        if kind is None:
            raise InvalidInputError(
                f"there is no kind {show(word)}",
                f"{did_you_mean(word, KINDS)}use one of {listed(KINDS)}",
                "unknown-choice",
            )
        wanted = {part.name for part in fields(kind)} - set(FLAGS)
        _only(given, wanted | set(FLAGS) | options_of(kind), f"kind {word}")
        if wanted - set(given):
            raise InvalidInputError(
                f"kind {word} needs {listed(wanted)}", f"add {listed(wanted - set(given))}", "missing-entry"
            )
        made = cast(Kind, kind(**given))
        return made, codes, writing_from(writing, made)
    except InvalidInputError as error:
        raise inside(f"column {show(name)}", error) from None


def _mapping(value: object, place: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        problem = "is missing" if value is None else "is not a section"
        raise InvalidInputError(
            f"{place} {problem}", "write it as name = value pairs", "missing-entry" if value is None else "wrong-type"
        )
    return value


def _only(given: Mapping[str, object], known: set[str], place: str) -> None:
    for name in given:
        if name not in known:
            raise InvalidInputError(
                f"{place} has an unknown entry {show(name)}",
                f"{did_you_mean(name, known)}use {listed(known)}",
                "unknown-entry",
            )


def write(path: Path, catalog: Catalog) -> None:
    """Replace the file at once: whoever reads it, even after a crash, sees the old or the new text in whole."""
    try:
        text = dump(catalog).encode()
    except UnicodeEncodeError:
        raise InvalidInputError(
            "a name, path or value is not Unicode text", "rename or retype it", "not-utf8"
        ) from None
    try:
        replace_file(path, text)
    except OSError:
        raise InvalidInputError(
            f"{path.name} cannot be written", "check the disk and the folder's permissions", "cannot-write"
        ) from None


def replace_file(path: Path, text: bytes, mode: int = 0o666) -> None:
    """Durably, at once or not at all."""
    new = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        new.replace(path)
        _sync_folder(path.parent)
    finally:
        new.unlink(missing_ok=True)


def _sync_folder(folder: Path) -> None:
    if os.name == "posix":  # elsewhere a folder cannot be opened
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def dump(catalog: Catalog) -> str:
    """The text of a vault.toml."""
    head = f"{HEAD}\nformat = {FORMAT}\nneighbors = {_value(str(catalog.neighbors))}\n"
    for name, default in (("rho_without_delta", "allow"), ("analysts", "anyone")):
        if getattr(catalog, name) != default:
            head += f"{name} = {_value(getattr(catalog, name))}\n"
    parts = [] if catalog.partition is None else [partition_section(catalog.partition)]
    if catalog.removed:
        parts.append("\n".join([REMOVED, *(_line(name, last, None) for name, last in catalog.removed.items()), ""]))
    return "\n".join([head, *parts, *(section(table) for table in catalog.tables.values())])


def partition_section(partition: Partition) -> str:
    """The part about the parts of the units. It repeats what the ledger says, which never changes."""
    entries = {"table": partition.table, "column": partition.column, "parts": partition.parts}
    return "\n".join(["[partition]", *(_line(key, value, None) for key, value in entries.items())]) + "\n"


def section(table: Table, notes: Mapping[str, str] | None = None) -> str:
    """The part about one table. Notes stand behind entries, such as "unit" or "column age"."""
    notes = notes or {}
    source = {"kind": table.source.kind} | {
        name: getattr(table.source, name)
        for name, default in defaults(table.source).items()
        if getattr(table.source, name) != default
    }
    unit: dict[str, object] = {"unit": table.unit} if table.unit is not None else {"rows_are_units": True}
    if table.public:
        unit = {"public": True} | ({"key": list(table.key)} if table.key else {})
    limits = {name: limit for name in LIMITS if (limit := getattr(table, name)) is not None}
    if limits == dict.fromkeys(LIMITS, table.max_rows):
        limits = {"max_rows": table.max_rows}  # the others follow from it
    types = {"types": dict(table.types)} if table.types else {}
    entries = {
        "version": table.version,
        "source": source,
        **unit,
        **(limits if table.unit is not None else {}),
        **types,
    }
    place = f"tables.{_key(table.name)}"
    lines = [f"[{place}]", *(_line(key, value, notes.get(key)) for key, value in entries.items())]
    lines += ["", f"[{place}.columns]"]
    lines += [column_line(table, name, notes.get(f"column {name}")) for name in table.columns]
    return "\n".join(lines) + "\n"


def column_line(table: Table, name: str, note: str | None = None) -> str:
    """The line about one column."""
    codes = {"missing": table.missing[name]} if name in table.missing else {}
    written = table.writing[name].given if name in table.writing else {}
    return _line(name, _spelled(table.columns[name]) | written | codes, note)


def _spelled(kind: Kind) -> dict[str, object]:
    word = next(word for word, made in KINDS.items() if isinstance(kind, made))
    given = {part.name: getattr(kind, part.name) for part in fields(kind) if part.name not in FLAGS}
    return {"kind": word} | given | {name: True for name in FLAGS if getattr(kind, name)}


def _line(key: str, value: object, note: str | None) -> str:
    return f"{_key(key)} = {_value(value)}" + (f"  # {note}" if note else "")


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _value(name)


def _value(value: object) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_key(name)} = {_value(part)}" for name, part in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_value(part) for part in value) + "]"
    if isinstance(value, Fraction):
        return _decimal(value)
    return tomli_w.dumps({"x": cast(str | int | dt.date, value)}).strip().removeprefix("x = ")


def _decimal(value: Fraction) -> str:
    """Exactly: as a decimal number if it is one, otherwise as the text of a fraction."""
    digits = next((n for n in range(400) if 10**n % value.denominator == 0), None)
    if digits is None:
        return f'"{value}"'
    whole_part, rest = divmod(abs(value.numerator) * 10**digits // value.denominator, 10**digits)
    sign = "-" if value < 0 else ""
    return f"{sign}{whole_part}.{rest:0{digits}}" if digits else f"{sign}{whole_part}"

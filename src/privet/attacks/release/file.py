"""Published tables from a readable file, or from the same structure in Python. docs/releases.md is the page for it."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal
from fractions import Fraction
from math import lcm
from pathlib import Path
from shlex import quote
from typing import Any

from privet.attacks.release.published import SAID, WORDS, Reader, at, mapping, only, sequence
from privet.attacks.release.sheet_cells import TABLES
from privet.attacks.release.statistics import EVERYBODY, Between, Mark, Statistic, Tables
from privet.catalog.declarations import LONGEST_NAME, check_name, texts
from privet.core.expression import Value
from privet.core.rational import positive, rational, show
from privet.errors import InvalidInputError

FORMAT = 1
OTHERS = {"queries": "attack_differencing", "tables": "attack_tables"}  # the attack of each kind of file
KEYS = (
    "format", "kind", "attributes", "public", "rules", "statistics",
    "tables", "workbook", "labels", "total", "suppressed", "zeros", "decimal", "ignore", "questions",
)  # fmt: skip
MOST_VALUES = 10**6  # of one attribute


def read_tables(path: Path | str, workbook: Path | None = None) -> Tables:
    """What a release file says. `workbook` has the sheets it names: an Excel file, or a folder of CSV files."""
    path = Path(path)
    with document_of(path, "tables") as document:
        return tables_of(document, path.parent, workbook)


@contextmanager
def document_of(path: Path, kind: str) -> Iterator[Mapping[str, Any]]:
    """What a release file of this kind says. Whatever is refused inside is refused in the name of the file."""
    if kind == "tables" and path.suffix.lower() in TABLES:
        raise InvalidInputError(
            f"{path.name} holds only tables; the attack needs a release file, which says what they mean",
            f"draft it with `privet describe {quote(str(path))} --release --out "
            f"{quote(str(path.with_suffix('.toml')))}`, check the draft, and attack the draft",
            "wrong-format",
        )
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError):
        raise InvalidInputError(
            f"{path.name} cannot be read", "check that the file is there, in UTF-8", "unreadable-file"
        ) from None
    with at(path.name):
        try:
            document = tomllib.loads(text, parse_float=Decimal)  # 38.0 keeps its decimals
        except (tomllib.TOMLDecodeError, ArithmeticError, RecursionError, ValueError) as error:
            remedy = (
                "correct that place" if path.suffix.lower() == ".toml" else "name a TOML file as in docs/releases.md"
            )
            raise InvalidInputError(f"this is not TOML: {error}", remedy, "wrong-format") from None
        for key, wanted, written in (("format", FORMAT, "1"), ("kind", kind, f'"{kind}"')):
            if document.get(key) != wanted:
                other = OTHERS.get(str(document.get(key))) if key == "kind" else None
                remedy = f"write {key} = {written}" + (f", or attack it with attacks.{other}" if other else "")
                raise InvalidInputError(f"{key} is {show(document.get(key))}", remedy, "unsupported-format")
        yield document


def published_tables(
    attributes: Mapping[str, Any],
    statistics: Sequence[Mapping[str, Any]] = (),
    rules: Mapping[str, str] | None = None,
    **more: Any,
) -> Tables:
    """The same from Python, with the keys of the file. A sheet may here also be a data frame: {"frame": df, ...}."""
    return tables_of({"attributes": attributes, "statistics": statistics, "rules": rules or {}, **more})


def tables_of(document: Mapping[str, Any], folder: Path | None = None, workbook: Path | None = None) -> Tables:
    """What a document says. The files that it names lie in the folder."""
    only(document, KEYS)
    if "attributes" not in document:
        raise InvalidInputError(
            "attributes are missing", 'write such as [attributes] and sex = ["F", "M"]', "missing-entry"
        )
    attributes = attributes_of(mapping(document["attributes"], "attributes"))
    reader = Reader(attributes)
    rules = {}
    for name, text in mapping(document.get("rules", {}), "rules").items():
        with at(f"rule {show(name)}"):
            rules[name] = reader.conditions.read(text)
    written = sequence(document.get("statistics", []), "statistics")
    statistics = [_statistic(entry, place, reader) for place, entry in enumerate(written, 1)]
    unread, ignored = tuple[str, ...](), tuple[str, ...]()
    if workbook is not None or any(key in document for key in ("tables", "workbook", "ignore")):
        from privet.attacks.release.sheets import read_sheets  # noqa: PLC0415  not everybody has sheets to open

        sheets = read_sheets(document, reader, folder or Path(), workbook)
        statistics += sheets.statistics
        unread, ignored = sheets.unread, sheets.ignored
    if not statistics:
        raise InvalidInputError("nothing was published", "add [[statistics]] or [[tables]]", "empty")
    _check_names(statistics)
    public = _public(document.get("public", []), attributes)
    return Tables(
        attributes=attributes,
        statistics=tuple(statistics),
        rules=rules,
        public=public,
        unread=unread,
        ignored=ignored,
        questions=texts(document.get("questions", ()), "questions"),
    )


def _public(given: Any, attributes: Mapping[str, Any]) -> tuple[str, ...]:
    names = sequence(given, "public")
    for name in names:
        if not isinstance(name, str) or name not in attributes:
            raise InvalidInputError(
                f"there is no attribute {show(name)} to be public",
                f"the attributes are: {', '.join(attributes)}",
                "unknown-attribute",
            )
    return tuple(names)


def _check_names(statistics: Iterable[Statistic]) -> None:
    """Findings name the statistics they rest on."""
    seen = set()
    for statistic in statistics:
        if statistic.name in seen:
            raise InvalidInputError(
                f"two statistics have the name {show(statistic.name)}", "give each a name of its own", "duplicate-name"
            )
        seen.add(statistic.name)


# Attributes


def attributes_of(given: Mapping[str, Any]) -> dict[str, tuple[Value, ...]]:
    """Each attribute with all values that anybody can have."""
    if not given:
        raise InvalidInputError("there are no attributes", 'write such as sex = ["F", "M"] below [attributes]', "empty")
    found: dict[str, tuple[Value, ...]] = {}
    for name, entry in given.items():
        check_name(name, "an attribute")
        with at(f"attribute {show(name)}"):
            if name.lower() in {other.lower() for other in found}:
                raise InvalidInputError(
                    "it stands there twice", "SQL does not tell upper from lower case: rename one", "duplicate-name"
                )
            found[name] = _values(entry)
            if name in WORDS and isinstance(found[name][0], Fraction):
                raise InvalidInputError(
                    "its name is a word of this format", "rename it, such as to its first letters", "reserved-name"
                )
    return found


def _values(entry: Any) -> tuple[Value, ...]:
    """All values that anybody can have."""
    if entry == "boolean":
        return False, True
    if isinstance(entry, Mapping):
        return _numbers(entry)
    if not isinstance(entry, list | tuple):
        raise InvalidInputError(
            f"{show(entry)} does not say which values there can be",
            'write a list of texts, {min = 0, max = 115} or "boolean"',
            "wrong-type",
        )
    return _listed(entry)


def _listed(entry: Sequence[Any]) -> tuple[Value, ...]:
    if not entry:
        raise InvalidInputError("its list is empty", "list all values that anybody can have", "empty")
    words = all(isinstance(value, str) for value in entry)
    if not words and any(isinstance(value, bool | str) for value in entry):
        raise InvalidInputError(
            "its list is mixed", 'list only texts or only numbers; or write "boolean"', "type-mismatch"
        )
    values = tuple(value if words else rational(value, "a value") for value in entry)
    if len(set(values)) < len(values):
        twice = next(value for place, value in enumerate(values) if value in values[:place])
        raise InvalidInputError(f"it lists {show(twice)} twice", "list each value once", "duplicate-value")
    _check_size(len(values))
    return values


def _numbers(entry: Mapping[str, Any]) -> tuple[Value, ...]:
    only(entry, ("min", "max", "step"))
    for bound in ("min", "max"):
        if bound not in entry:
            raise InvalidInputError(f"{bound} is missing", "write such as {min = 0, max = 115}", "missing-entry")
        if isinstance(entry[bound], bool):
            raise InvalidInputError(f"{bound} is {show(entry[bound])}", "write a number", "not-a-number")
    low, high = rational(entry["min"], "min"), rational(entry["max"], "max")
    step = positive(entry.get("step", 1), "step")
    if low > high:
        raise InvalidInputError(
            f"min {show(entry['min'])} is above max {show(entry['max'])}",
            "give the smaller one as min",
            "reversed-range",
        )
    steps = (high - low) / step
    if steps.denominator != 1:
        raise InvalidInputError(
            f"max {show(entry['max'])} is not whole steps of {show(step)} above min {show(entry['min'])}",
            "move max, or write another step",
            "off-grid",
        )
    _check_size(int(steps) + 1)
    bottom = lcm(low.denominator, step.denominator)
    first, wide = int(low * bottom), int(step * bottom)
    return tuple(Fraction(first + wide * place, bottom) for place in range(int(steps) + 1))


def _check_size(size: int) -> None:
    if size > MOST_VALUES:
        raise InvalidInputError(
            "it has too many values", f"use a coarser step: at most {MOST_VALUES:,} values", "too-many"
        )


# Statistics


def _statistic(entry: Any, place: int, reader: Reader) -> Statistic:
    name, where = None, None
    if isinstance(entry, Mapping):
        name, where = entry.get("name"), entry.get("where")
    shown = name or where
    with at(f"statistic {show(shown)}" if isinstance(shown, str) else f"statistic number {place}"):
        given = mapping(entry, "it")
        only(given, ("name", "table", "where", *SAID))
        name = given.get("name", _made_name(where))
        check_name(name, "a statistic")
        if "table" in given:
            check_name(given["table"], "a table")
        condition = reader.conditions.read(where) if "where" in given else EVERYBODY
        count: Between | None
        mark: Mark
        count, mark = reader.count(given["count"]) if "count" in given else (None, "")
        measures = reader.measures(given)
        if count is None and not measures:
            raise InvalidInputError("it says nothing", f"add one of {', '.join(SAID)}", "missing-entry")
        table = given.get("table", "")
        return Statistic(name=name, table=table, where=condition, count=count, mark=mark, measures=measures)


def _made_name(where: object) -> str:
    """The condition in one line."""
    text = " ".join(str(where or "everybody").split())
    return text if len(text) <= LONGEST_NAME else text[: LONGEST_NAME - 3] + "..."

"""Verbs of the owner: make a vault, describe a file, declare it as a table, divide the units, check, make up rows."""

from __future__ import annotations

import argparse
import re
import tomllib
from dataclasses import asdict, replace
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

from privet.cli import verb
from privet.cli.progress import working
from privet.core.rational import show
from privet.errors import InvalidInputError, PrivetError
from privet.report.terminal import ceiling, one_line

if TYPE_CHECKING:
    from collections.abc import Mapping

    from privet.catalog.declarations import Table
    from privet.core.schema import Kind
    from privet.vault import Vault

BAD_INPUT = 2  # exit code
MOVES = {
    "add-remove": "come or go in one part: each part has the whole budget",
    "replace": "go from one part to another: any two parts share the whole budget",
}
FORMATS = "CSV, JSON lines, Excel, Parquet, Arrow, DuckDB, SQLite, SAS, SPSS or Stata"
READING = (
    "kind",
    "delimiter",
    "encoding",
    "skip",
    "sheet",
    "table",
    "missing",
    "decimal",
    "thousands",
    "date_format",
    "labels",
)


def _init_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("vault", metavar="FOLDER", help="a new folder, such as clinic.privet")
    command.add_argument(
        "--epsilon", required=True, help="the most that all answers together may cost; there is no default"
    )
    command.add_argument(
        "--delta", default="0", help="delta of the budget: 0 (the default), or a small number such as 1e-9"
    )
    command.add_argument(
        "--neighbors", default="add-remove", help="neighboring tables: add-remove (the default) or replace"
    )
    command.add_argument(
        "--on-exhausted",
        default="refuse",
        help="when the budget is used up: refuse (the default), or warn and answer anyway",
    )
    command.add_argument(
        "--rho-without-delta",
        default="allow",
        help="prices in rho that come without a delta: allow (the default), or refuse, so that each has an epsilon",
    )
    command.add_argument(
        "--analysts",
        default="anyone",
        help="who may ask as an analyst: anyone (default), or granted for only those with a budget of their own",
    )
    verb.json_option(command)


def _init(options: argparse.Namespace) -> None:
    from privet.core.accountant import Budget  # noqa: PLC0415
    from privet.vault import create  # noqa: PLC0415  brings NumPy and DuckDB

    budget = Budget(options.epsilon, options.delta)
    with create(
        options.vault,
        budget=budget,
        neighbors=options.neighbors,
        on_exhausted=options.on_exhausted,
        rho_without_delta=options.rho_without_delta,
        analysts=options.analysts,
    ) as vault:
        terms = vault.terms
    if options.json:
        cap = {"epsilon": float(budget.epsilon), "delta": float(budget.delta), "rho": float(budget.rho)}
        result = {"vault": options.vault, **cap, "neighbors": terms.neighbors, "on_exhausted": terms.policy}
        verb.print_json("vault", result)
        return
    delta = f", delta {ceiling(budget.delta)}" if budget.delta else ""
    print(
        f"{one_line(options.vault)}: epsilon {ceiling(budget.epsilon, 6)}{delta} for everything that is ever answered."
    )
    print(f"Neighbors: {terms.neighbors}. When the budget is used up: {terms.policy}. None of this ever changes.")
    print("Next: privet describe FILE --out table.toml")


def _reading_options(command: argparse.ArgumentParser) -> None:
    group = command.add_argument_group("how to read the file, if the guess is wrong")
    group.add_argument(
        "--kind",
        choices=("csv", "json", "excel", "parquet", "arrow", "duckdb", "sqlite", "sas", "spss", "stata"),
        help="kind of file, if its name does not show it",
    )
    group.add_argument("--delimiter", help="the character between fields, such as ';'")
    group.add_argument("--encoding", help="encoding of the file: utf-8, cp1252, latin-1, ...")
    group.add_argument("--skip", type=int, help="number of lines before the header")
    group.add_argument("--sheet", help="sheet of an Excel file")
    group.add_argument("--table", help="table of a DuckDB or SQLite file")
    group.add_argument(
        "--no-labels",
        dest="labels",
        action="store_false",
        default=None,
        help="read the codes of SAS, SPSS and Stata files instead of their labels",
    )
    group.add_argument(
        "--missing", action="append", metavar="CODE", help='text that means "no value"; may be given again'
    )
    group.add_argument("--decimal", choices=(".", ","), help="the decimal mark")
    group.add_argument("--thousands", help="the mark between thousands")
    group.add_argument("--date-format", help="how dates are written, for example %%d.%%m.%%Y")


def _reading(options: argparse.Namespace) -> dict[str, Any]:
    """What was given of how to read the file."""
    return {name: value for name in READING if (value := getattr(options, name)) is not None}


def _describe_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("file", metavar="FILE", help=f"{FORMATS}; a folder of CSV or Parquet files")
    command.add_argument(
        "--release",
        action="store_true",
        help="FILE holds tables to publish (.xlsx, CSV, or a folder of CSV files): draft the release file for attack "
        "tables and preflight",
    )
    command.add_argument("--name", help="the table's name (default: the file's)")
    unit = command.add_mutually_exclusive_group()
    unit.add_argument(
        "--unit", metavar="COLUMN", help="the column that identifies a person (default: one whose name suggests it)"
    )
    unit.add_argument(
        "--public", action="store_true", help="everybody may read this table; the draft then lists all its texts"
    )
    command.add_argument(
        "--epsilon",
        help="epsilon of a typical question, for which limits and ranges are drafted (default: from 0.1 to 1)",
    )
    command.add_argument(
        "--out", metavar="TABLE.toml", type=Path, help="write the draft to this file; then check and edit it"
    )
    _reading_options(command)
    verb.json_option(command)


def _describe_release(options: argparse.Namespace) -> None:
    """The draft, or what it understood; then what it could not decide, and the next command."""
    from privet.attacks import draft_release  # noqa: PLC0415

    unneeded = [name for name in ("name", "public", *READING) if getattr(options, name) not in (None, False)]
    if unneeded:
        raise InvalidInputError(
            f"--release does not go with --{unneeded[0].replace('_', '-')}", "leave it out", "contradictory-options"
        )
    path, out = Path(options.file), options.out
    if out is not None:
        verb.check_output(out, "--out")
    with working("reading the tables"):
        draft = draft_release(path, None if out is None else out.parent)
    if out is not None:
        verb.write(out, draft.toml(), "--out")
    if options.json:
        told = {"toml": draft.toml(), "out": None if out is None else str(out)}
        verb.print_json("draft", told | {"questions": draft.questions, "unread": draft.unread})
        return
    print("\n".join(one_line(line) for line in (draft.toml() if out is None else str(draft)).splitlines()))
    if out is not None:
        print(f"\nNext: answer the questions in {out}, and delete each one once it is answered; then")
        print(f"  privet attack tables {quote(str(out))}")


def _describe(options: argparse.Namespace) -> None:
    if options.release:
        _describe_release(options)
        return
    from privet.sources.describing import describe  # noqa: PLC0415  brings DuckDB

    if options.out is not None:
        verb.check_output(options.out, "--out")
    with working("reading the file"), verb.file_named(options.file):
        said = {"name": options.name, "unit": options.unit, "epsilon": options.epsilon, "public": options.public}
        draft = describe(options.file, **said, **_reading(options))
    if options.out is not None:
        verb.write(options.out, draft.toml(), "--out")
    if options.json:
        verb.print_json("draft", {"toml": draft.toml(), "out": None if options.out is None else str(options.out)})
        return
    print("\n".join(one_line(line) for line in str(draft).splitlines()))  # a header may hold terminal commands
    private = "A draft for the owner alone, made from the data. Put in what anybody may know, then declare it."
    public = "A draft with texts from the file. If everybody may read all of it, declare it."
    print(public if options.public else private)
    if options.out is not None:
        print(f"Next: edit {options.out}, then privet add VAULT {options.file} --columns {options.out}")


def _add_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("vault", metavar="VAULT")
    command.add_argument("file", metavar="FILE", help=f"{FORMATS}; it stays where it is")
    command.add_argument(
        "--columns", metavar="TABLE.toml", type=Path, help="the draft of `privet describe --out`, checked and edited"
    )
    command.add_argument("--name", help="the table's name; the draft's own if not given")
    unit = command.add_mutually_exclusive_group()
    unit.add_argument("--unit", metavar="COLUMN", help="the column that names a person; the draft's own if not given")
    unit.add_argument("--rows-are-units", action="store_true", help="each row is a different person")
    unit.add_argument(
        "--public", action="store_true", help="everybody may read this table, for joins; nobody in it is protected"
    )
    command.add_argument(
        "--key",
        action="append",
        metavar="COLUMN",
        help="column that tells the rows of a public table apart; may be given again",
    )
    command.add_argument(
        "--never-missing",
        action="append",
        metavar="COLUMN",
        help="no value of this column is ever missing: a missing one counts as the lowest; may be given again",
    )
    command.add_argument(
        "--constant-per-unit",
        action="append",
        metavar="COLUMN",
        help="all rows of one person have the same value in this column, such as sex; may be given again",
    )
    command.add_argument(
        "--max-groups", type=int, metavar="N", help="count one person in at most N groups of an answer"
    )
    command.add_argument(
        "--max-rows-per-group", type=int, metavar="N", help="count at most N rows of one person per group"
    )
    command.add_argument(
        "--max-rows", type=int, metavar="N", help="count at most N rows of one person in all; alone: in any groups"
    )
    _reading_options(command)
    verb.json_option(command)


def _add(options: argparse.Namespace) -> None:
    from privet.catalog.vault_file import section  # noqa: PLC0415

    with verb.opened(options.vault) as vault:
        table = _declared(options, vault)
        verb.check_input(options.file)
        with working("reading the file"):
            table = vault.declare(table)
        unread = vault.unreadable(table.name)
    if options.json:
        told = {"name": table.name, "unit": table.unit, "public": table.public, "version": table.version}
        verb.print_json("table", {**told, "toml": section(table), "unreadable": _counts(unread)})
        return
    print(section(table), end="")
    if table.public:
        _print_unread(unread)
        print("\nDeclared. Everybody may read this table: nobody in it is protected.")
        print(
            f"Next: join it to a table of people: FROM visits JOIN {table.name} USING ({', '.join(table.key) or '...'})"
        )
        return
    protects = "each row" if table.unit is None else f"each {table.unit}, with all its rows"
    print(f"\nDeclared. The table protects {protects}. Everything above is public from now on.")
    if unread:
        print("For you alone:")
    _print_unread(unread)
    print(f"For you alone: privet check {options.vault} {table.name} --fit shows how much the limits and ranges keep.")
    name = table.name if re.fullmatch(r"\w+", table.name) else f'\\"{table.name}\\"'
    print(f'Next: privet explain {options.vault} "SELECT COUNT(*) AS n FROM {name}" --epsilon 0.1')  # noqa: S608


def _counts(unread: Mapping[str, tuple[int, int]]) -> dict[str, dict[str, int]]:
    return {name: {"unreadable": count, "values": values} for name, (count, values) in unread.items()}


def _print_unread(unread: Mapping[str, tuple[int, int]]) -> None:
    """For the owner alone: it is counted in the data."""
    for name, (count, values) in unread.items():
        print(f"note: {one_line(show(name))}: {count:,} of {values:,} values cannot be read and count as missing")


def _declared(options: argparse.Namespace, vault: Vault) -> Table:
    """The draft's table with what was given on the command line."""
    from privet.catalog.declarations import portable, with_limits  # noqa: PLC0415

    if options.columns is None:
        raise InvalidInputError(
            "the columns are not declared",
            f"run `privet describe {quote(options.file)} --out table.toml`, check it, then give --columns table.toml",
            "missing-option",
        )
    table = _from_draft(options.columns, vault)
    source = replace(table.source, path=portable(options.file, vault.base), **_reading(options))
    changes = with_limits(vars(options))
    if options.rows_are_units or options.public:
        changes = {"unit": None, "max_groups": 1, "max_rows_per_group": 1, "max_rows": None, **changes}
    elif options.unit is not None:
        changes["unit"] = options.unit
    if options.public or options.rows_are_units or options.unit is not None:  # the draft's own word no longer holds
        changes |= {"public": options.public, "key": table.key if options.public else ()}
    if options.key is not None:
        changes["key"] = tuple(options.key)
    changes["columns"] = _flagged(table, options)
    return replace(table, name=options.name or table.name, source=source, **changes)


def _flagged(table: Table, options: argparse.Namespace) -> dict[str, Kind]:
    """The columns, with what the command line says about single ones."""
    from privet.core.schema import FLAGS  # noqa: PLC0415

    columns = dict(table.columns)
    for flag in FLAGS:
        for name in getattr(options, flag) or ():
            if name not in columns:
                raise InvalidInputError(
                    f"--{flag.replace('_', '-')} names {show(name)}, which is not declared",
                    f"give one of {', '.join(columns)}",
                    "unknown-column",
                )
            said: dict[str, Any] = {flag: True}
            columns[name] = replace(columns[name], **said)
    return columns


def _from_draft(path: Path, vault: Vault) -> Table:
    from privet.catalog.vault_file import parse  # noqa: PLC0415

    text = verb.read_text(path, "the declarations")
    try:
        tomllib.loads(text)  # by itself, so that a line number in the error is that of the file
        declared = parse(f'format = 1\nneighbors = "{vault.terms.neighbors}"\n{text}')
    except tomllib.TOMLDecodeError as error:
        remedy = "correct the file at that place"
        if path.suffix.lower() != ".toml":
            remedy = "give --columns the TOML file that `privet describe --out` wrote"
        raise InvalidInputError(f"{path} is not TOML: {error}", remedy, "wrong-format") from None
    except InvalidInputError as error:
        raise InvalidInputError(f"{path}: {error.problem}", error.remedy, error.code) from None
    if len(declared.tables) != 1:
        raise InvalidInputError(
            f"{path} has {len(declared.tables)} tables", "keep only the table to add", "not-exactly-one"
        )
    return next(iter(declared.tables.values()))


def _update_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("vault", metavar="VAULT")
    command.add_argument("name", metavar="TABLE")
    command.add_argument("file", metavar="FILE", nargs="?", help="where the data are now (default: where they were)")
    _reading_options(command)
    verb.json_option(command)


def _update(options: argparse.Namespace) -> None:
    if options.file is not None:
        verb.check_input(options.file)
    with verb.opened(options.vault) as vault, working("reading the file"):
        table = vault.update_table(options.name, options.file, **_reading(options))
        unread = vault.unreadable(table.name)
    if options.json:
        verb.print_json("table", {"name": table.name, "version": table.version, "unreadable": _counts(unread)})
        return
    _print_unread(unread)
    print(f"{one_line(table.name)} is now version {table.version}. What was spent stays spent.")
    print("Stored answers about earlier versions are not repeated for this version.")


def _remove_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("vault", metavar="VAULT")
    command.add_argument("name", metavar="TABLE")
    verb.json_option(command)


def _remove(options: argparse.Namespace) -> None:
    with verb.opened(options.vault) as vault:
        last = vault.remove_table(options.name)
    if options.json:
        verb.print_json("removed", {"name": options.name, "last_version": last})
        return
    print(f"{one_line(options.name)} is removed and can no longer be asked about. What was spent stays spent.")
    print("Its answers stay in the ledger, and its data stay where they are. A new table with this name begins with")
    print(f"version {last + 1}, so that no answer about the removed table is given for it.")


def _partition_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("vault", metavar="VAULT")
    command.add_argument(
        "table", metavar="TABLE", help="the table that says which part a unit is in; it cannot be updated afterwards"
    )
    command.add_argument(
        "column", metavar="COLUMN", help="a category column, such as hospital: its values are the parts"
    )
    verb.json_option(command)


def _partition(options: argparse.Namespace) -> None:
    from privet.catalog.vault_file import partition_section  # noqa: PLC0415

    with verb.opened(options.vault) as vault:
        made = vault.partition(options.table, options.column)
        neighbors = vault.terms.neighbors
    if options.json:
        verb.print_json("partition", {"table": made.table, "column": made.column, "parts": made.parts})
        return
    print(partition_section(made), end="")
    print(
        f"\nDivided into {len(made.parts)} parts, forever. A question about one part is charged to it alone, one about"
    )
    print(f"everybody to all of them. Under {neighbors} a unit can {MOVES[neighbors]}.")
    print(f"Next: privet query {options.vault} SELECT --part NAME --epsilon E")


def _check_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("vault", metavar="VAULT")
    command.add_argument("table", metavar="TABLE", nargs="?", help="check this table only (default: all tables)")
    command.add_argument(
        "--fit",
        action="store_true",
        help="show the owner how many rows the limits keep, how many values are clamped, missing or unreadable, and"
        " what to change",
    )
    command.add_argument(
        "--digest",
        action="store_true",
        help="for files that were moved or copied: check that their content is what it was when they were declared"
        " (for the owner's eyes only)",
    )
    verb.json_option(command)


def _check(options: argparse.Namespace) -> int:
    with verb.opened(options.vault) as vault, working("reading the tables"):
        names = [options.table] if options.table is not None else list(vault.tables)
        checked = {name: _checked(vault, name, options.digest) for name in names}
        problems = {name: found for name, found in checked.items() if isinstance(found, PrivetError)}
        unread = {name: vault.unreadable(name) for name in names if name not in problems}
        fits = {name: vault.check_fit(name) for name in unread if options.fit}
    if options.json:
        told: dict[str, Any] = {name: None if name not in problems else problems[name].problem for name in names}
        if options.fit:
            told = {
                name: {"problem": told[name], "fit": asdict(fits[name]) if name in fits else None} for name in names
            }
        elif options.digest:
            told = {name: {"problem": told[name], "compared": checked[name] is True} for name in names}
        verb.print_json("check", told)
    else:
        for name in names:
            well = "can be read" if checked[name] else "can be read; nothing was noted to compare its files with"
            print(f"{one_line(name)}: {one_line(problems[name].problem) if name in problems else well}")
            if name in fits:
                print("\n".join(map(one_line, fits[name].lines())))
            else:
                _print_unread(unread.get(name, {}))
        if not names:
            print("no table is declared yet")
    if problems and options.json:
        return BAD_INPUT
    if problems:
        first = next(iter(problems.values()))
        raise InvalidInputError(f"{len(problems)} of {len(names)} tables cannot be read", first.remedy, first.code)
    return 0


def _checked(vault: Vault, name: str, digest: bool) -> PrivetError | bool:
    """What is wrong with a table; otherwise whether all that was asked for could be compared."""
    if vault.declaration(name).source.kind == "memory":
        return InvalidInputError(
            f"table {show(name)} lives in the memory of another program",
            "check it there, with vault.attach",
            "not-attached",
        )
    try:
        return vault.check(name, digest=digest)
    except PrivetError as error:
        return error


def _dummy_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("vault", metavar="VAULT")
    command.add_argument("table", metavar="TABLE")
    command.add_argument("--rows", type=int, default=100, help="number of rows (100)")
    command.add_argument("--seed", type=int, default=0, help="another seed gives other rows (0)")
    command.add_argument("--out", metavar="FILE.csv", type=Path, required=True, help="write the rows to this file")
    verb.spreadsheet_option(command)
    verb.json_option(command)


def _dummy(options: argparse.Namespace) -> None:
    from privet.catalog.dummy import write_csv  # noqa: PLC0415

    verb.check_output(options.out, "--out")
    with verb.opened(options.vault) as vault:
        table, safe = vault.declaration(options.table), options.spreadsheet_safe
        write_csv(options.out, table, options.rows, seed=options.seed, spreadsheet_safe=safe)
    if options.json:
        verb.print_json("dummy", {"rows": options.rows, "out": str(options.out)})
    else:
        print(
            f"{options.rows:,} made-up rows in {options.out}. They come from the declarations and never saw the data."
        )


VERBS = {
    "init": verb.Verb(
        "make a vault: a folder with a budget that never changes",
        "privet init clinic.privet --epsilon 3 --delta 1e-9",
        _init_options,
        _init,
    ),
    "describe": verb.Verb(
        "draft the declaration of a file, for its owner to check",
        "privet describe visits.csv --out visits.toml",
        _describe_options,
        _describe,
    ),
    "add": verb.Verb(
        "declare a file as a table of a vault: whom to protect, which values there can be",
        "privet add clinic.privet visits.csv --columns visits.toml --unit patient_id --max-groups 5",
        _add_options,
        _add,
    ),
    "update": verb.Verb(
        "declare that a table's data have changed; the budget is not refilled",
        "privet update clinic.privet visits visits-2027.csv",
        _update_options,
        _update,
    ),
    "remove": verb.Verb(
        "forget a table; what was spent stays spent, and its answers stay in the ledger",
        "privet remove clinic.privet visits",
        _remove_options,
        _remove,
    ),
    "partition": verb.Verb(
        "divide the units into parts that are charged separately, once and forever",
        "privet partition clinic.privet patients hospital",
        _partition_options,
        _partition,
    ),
    "check": verb.Verb(
        "check that the declared tables can be read", "privet check clinic.privet", _check_options, _check
    ),
    "dummy": verb.Verb(
        "make up rows of a table, to draft questions with; no data are read",
        "privet dummy clinic.privet visits --rows 1000 --out dummy.csv",
        _dummy_options,
        _dummy,
    ),
}

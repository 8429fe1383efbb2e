"""`privet pseudonymize`: ids become keyed pseudonyms, the same over tables; names and the like are dropped."""

from __future__ import annotations

import argparse
import csv
import io
import os
import stat
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from privet.cli.progress import counting
from privet.cli.verb import Verb, json_option, print_json, spreadsheet_option
from privet.core.rational import show
from privet.errors import InvalidInputError
from privet.output import check_free, new_output, spreadsheet_safe

if TYPE_CHECKING:
    from privet.anonymize.key_file import Key
    from privet.records.microdata import Microdata

ENDINGS = (".csv", ".parquet")


def _options(command: argparse.ArgumentParser) -> None:
    command.add_argument("files", metavar="FILE", nargs="+", type=Path, help="tables: CSV, Excel, Parquet or DuckDB")
    command.add_argument(
        "--columns", required=True, metavar="A,B=KIND",
        help="columns with ids; those of one kind share pseudonyms (the kind is the column's name, if none is given)",
    )  # fmt: skip
    command.add_argument(
        "--key", required=True, metavar="KEYFILE", type=Path, help="the key file; created if it does not exist"
    )
    command.add_argument("--out", required=True, metavar="DIR|FILE", type=Path, help="a new folder, or one new file")
    command.add_argument("--drop", metavar="C,D", default="", help="columns to leave out, such as name,email")
    command.add_argument("--length", type=int, default=32, metavar="N", help="number of letters in a pseudonym (32)")
    command.add_argument("--lengthen", action="store_true", help="take more letters if two ids would share a pseudonym")
    command.add_argument("--trim", action="store_true", help="ignore spaces around ids")
    command.add_argument("--fold", action="store_true", help="ignore upper and lower case in ids")
    command.add_argument("--rotate", action="store_true", help="make a new version of the key, and use it")
    command.add_argument(
        "--mapping", metavar="FILE.csv", type=Path, help="with --rotate: write old and new pseudonyms to this file"
    )
    spreadsheet_option(command)
    json_option(command)


def _pseudonymize(options: argparse.Namespace) -> None:
    places = _places(options.files, options.out)
    if options.mapping is not None and not options.rotate:
        raise InvalidInputError("--mapping needs --rotate", "add --rotate, or leave --mapping out", "unneeded-option")
    for path in places.values():
        check_free(path, "--out")
    if options.mapping is not None:
        check_free(options.mapping, "--mapping")
    written = [*places.values(), *([options.mapping] if options.mapping else [])]
    if len({path.resolve() for path in (*written, options.key)}) <= len(written):
        raise InvalidInputError(
            "two files would have the same name", "give --key, --out and --mapping different names", "would-overwrite"
        )
    from privet.anonymize import pseudonyms  # noqa: PLC0415
    from privet.anonymize.key_file import warnings_about  # noqa: PLC0415
    from privet.records import microdata  # noqa: PLC0415  brings NumPy and DuckDB

    columns, normal = _kinds(options.columns), [*["trim"] * options.trim, *["case"] * options.fold]
    with counting() as progress:
        tables = {}
        for done, path in enumerate(options.files):
            progress(f"reading {path.name}", done, len(options.files))
            tables[path.stem] = microdata.read(path)
        key, fresh = _key(options.key, rotate=options.rotate)
        drop = [name.strip() for name in options.drop.split(",") if name.strip()]
        made = pseudonyms.pseudonymize(
            tables, columns, key,
            length=options.length, lengthen=options.lengthen, drop=drop, normal=normal, progress=progress,
        )  # fmt: skip
        pairs = []
        if options.mapping is not None:
            lengths = {kind.name: kind.length for kind in made.kinds}
            pairs = pseudonyms.mapping(tables, columns, key, key.latest - 1, lengths=lengths, normal=normal)
        if fresh:
            key.write(options.key)  # before what it made: pseudonyms without their key are lost
        _write(made.tables, places, options.mapping, pairs, safe=options.spreadsheet_safe)
    folders = {path.parent for path in places.values()}
    warned = warnings_about(options.key, *folders)
    if options.mapping is not None and any(options.mapping.resolve().is_relative_to(one.resolve()) for one in folders):
        warned.append(f"{options.mapping} lies beside the output: it links the old pseudonyms to the new ones")
    for line in warned:
        sys.stderr.write(f"privet: warning: {line}\n")
    files = {name: str(path) for name, path in places.items()}
    if options.json:
        print_json("pseudonymize", {**made.to_json(), "files": files, "key_made": fresh, "warnings": warned})
        return
    print(made)
    print(f"key: version {made.version} of {options.key}" + (", new: back it up" if fresh else ""))
    print(f"written: {', '.join(files.values())}")


def _kinds(text: str) -> dict[str, str]:
    """patient_id,doctor=person: the kind of id of each column."""
    found: dict[str, str] = {}
    for part in filter(None, map(str.strip, text.split(","))):
        column, _, kind = part.partition("=")
        if not column or column in found:
            raise InvalidInputError(
                f"--columns cannot be read at {show(part)}",
                "for example --columns patient_id,doctor=person",
                "syntax-error",
            )
        found[column] = kind or column
    return found


def _places(files: Sequence[Path], out: Path) -> Mapping[str, Path]:
    """Where each table goes."""
    names = [path.stem for path in files]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InvalidInputError(f"two tables are called {show(twice)}", "give each file its own name", "duplicate-name")
    if out.suffix.lower() in ENDINGS:
        if len(files) > 1:
            raise InvalidInputError(
                "several tables do not go into one file", "name a folder with --out", "contradictory-options"
            )
        return {names[0]: out}
    return {
        path.stem: out / (path.name if path.suffix.lower() in ENDINGS else f"{path.stem}.csv") for path in files
    }  # fmt: skip


def _key(path: Path, *, rotate: bool) -> tuple[Key, bool]:
    """The key, and whether it is still to be written."""
    from privet.anonymize.key_file import Key  # noqa: PLC0415

    if not path.exists():
        if rotate:
            raise InvalidInputError(
                f"there is no key {path} to rotate", "name the key file that made the old pseudonyms", "missing-file"
            )
        return Key.new(), True
    key = Key.read(path)
    return (key.rotated(), True) if rotate else (key, False)


def _write(
    tables: Mapping[str, Microdata],
    places: Mapping[str, Path],
    mapping: Path | None,
    pairs: Sequence[tuple[str, str, str]],
    *,
    safe: bool,
) -> None:
    """All files or none: each is written under another name first, and gets its own when all are there."""
    from privet.records import microdata  # noqa: PLC0415

    try:
        with ExitStack() as parts:
            for name, table in tables.items():
                places[name].parent.mkdir(parents=True, exist_ok=True)
                microdata.write(table, parts.enter_context(new_output(places[name])), spreadsheet_safe=safe)
            if mapping is not None:
                pairs = (
                    [(spreadsheet_safe(a), spreadsheet_safe(b), spreadsheet_safe(c)) for a, b, c in pairs]
                    if safe
                    else pairs
                )
                _write_mapping(parts.enter_context(new_output(mapping)), pairs)
    except OSError as error:
        raise InvalidInputError(
            f"cannot write {error.filename}: {error.strerror}",
            "name a file in a folder that you may write to",
            "cannot-write",
        ) from None


def _write_mapping(path: Path, pairs: Sequence[tuple[str, str, str]]) -> None:
    """For its owner alone, as the keys are."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([("kind", "old", "new"), *pairs])
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, stat.S_IRUSR | stat.S_IWUSR)
    with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
        file.write(text.getvalue())


VERBS = {
    "pseudonymize": Verb(
        "replace ids with keyed pseudonyms, the same in all tables, and drop names",
        "privet pseudonymize patients.csv visits.csv --columns patient_id --key ~/keys/clinic.key --out shipped",
        _options,
        _pseudonymize,
    ),
}

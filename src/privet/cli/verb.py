"""What all verbs share: their form, JSON, colors and files."""

from __future__ import annotations

import argparse
import codecs
import io
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from privet.errors import InvalidInputError
from privet.output import check_free, write_text
from privet.report.terminal import Pen, one_line

if TYPE_CHECKING:
    from privet.ledger import Ledger
    from privet.vault import Vault

ASCII = {"±": "+/-"}


@dataclass(frozen=True, slots=True)
class Verb:
    """One command: what `--help` says, the options it takes, and what it does."""

    text: str
    example: str
    options: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int | None] | None  # an exit code, if it is not 0; None: its kinds do it


def add_commands(group: Any, verbs: Mapping[str, Verb]) -> None:
    """The commands of a group of sub-parsers."""
    for name, verb in verbs.items():
        command = group.add_parser(
            name,
            help=verb.text,
            description=verb.text,
            epilog=f"example:\n  {verb.example}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        command.example = verb.example.partition("\n")[0]
        command.set_defaults(run=verb.run, chosen=name, parser=command)
        verb.options(command)


def kinds_of(title: str, kinds: Mapping[str, Verb]) -> Callable[[argparse.ArgumentParser], None]:
    """The options of a verb that has commands of its own."""

    def options(command: argparse.ArgumentParser) -> None:
        add_commands(command.add_subparsers(title=title, metavar="WHAT", required=True), kinds)

    return options


def envelope(kind: str, result: Any) -> dict[str, Any]:
    """What every JSON answer of Privet is wrapped in."""
    return {"privet": 1, "kind": kind, "result": result}


def print_json(kind: str, result: Any) -> None:
    print(json.dumps(envelope(kind, result), indent=2, allow_nan=False))


def json_option(command: argparse.ArgumentParser) -> None:
    command.add_argument("--json", action="store_true", help="print JSON for a program to read")


def spreadsheet_option(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--spreadsheet-safe",
        action="store_true",
        help="in CSV files, put an apostrophe before texts that a spreadsheet would read as formulas; numbers stay",
    )


def wants_color(stream: TextIO) -> bool:
    """Only for a person at a terminal who has not asked for none (https://no-color.org)."""
    return stream.isatty() and not os.environ.get("NO_COLOR")


def pen() -> Pen:
    return Pen(wants_color(sys.stdout))


def opened(path: str) -> Vault:
    from privet.vault import open  # noqa: PLC0415  brings NumPy and DuckDB

    return open(path)


def plain_letters(*streams: TextIO) -> None:
    """A letter that a terminal or a pipe does not know is replaced, and is no reason to fail after a charge."""
    codecs.register_error("privet", _replaced)
    for stream in streams:
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="privet")


def _replaced(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(ASCII.get(letter, "?") for letter in error.object[error.start : error.end]), error.end


def check_picture(path: Path, option: str = "--out") -> None:
    """Before the work, not after it."""
    _check_ending(path, option, "the picture is an SVG file", ".svg")


def result_options(command: argparse.ArgumentParser) -> None:
    """Of attacks and audits: where the report goes."""
    command.add_argument("--out", metavar="FILE.html", type=Path, help="write the report to this file")
    json_option(command)


def check_report(path: Path | None) -> None:
    """Before the work, not after it."""
    if path is not None:
        _check_ending(path, "--out", "the report is an HTML file", ".html")


def check_seconds(seconds: float | None) -> None:
    if seconds is not None and not seconds > 0:
        raise InvalidInputError(f"seconds must be above 0, not {seconds:g}", "for example --seconds 60", "not-positive")


def _check_ending(path: Path, option: str, what: str, ending: str) -> None:
    if path.suffix.lower() != ending:
        raise InvalidInputError(
            f"{what}, but {one_line(str(path))} does not end in {ending}",
            f"give {option} a name that ends in {ending}",
            "wrong-ending",
        )
    check_output(path, option)


def check_table(path: Path, option: str = "--out") -> None:
    """Before the work, not after it."""
    if path.suffix.lower() not in (".csv", ".parquet"):
        raise InvalidInputError(
            f"{one_line(path.name)} is neither CSV nor Parquet",
            f"give {option} a name that ends in .csv or .parquet",
            "wrong-ending",
        )
    check_output(path, option)


def check_output(path: Path, option: str) -> None:
    """Before the work, and before something is paid for: a file that can be written, and that nobody would miss.

    This is the rule for the files of every verb (see `privet.output`). Leaves nothing behind.
    """
    check_free(path, option)
    with _explained(path, option):
        if not path.exists():
            path.open("x").close()
            path.unlink()


def write(path: Path, text: str, option: str) -> None:
    check_free(path, option)
    with _explained(path, option):
        write_text(path, text)


@contextmanager
def _explained(path: Path, option: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InvalidInputError(
            f"cannot write {path}: {error.strerror}",
            f"name a file in a folder that you may write to: {option} FOLDER/{path.name}",
            "cannot-write",
        ) from None


@contextmanager
def charge_is_told(ledger: Ledger, request: str | None = None) -> Iterator[None]:
    """Ctrl-C may come at any moment of a release; the ledger knows whether that was after the charge. Without a request
    any charge since may be this one."""
    before = ledger.head().entry
    try:
        yield
    except KeyboardInterrupt as stop:
        if not getattr(stop, "__notes__", []):
            new = [entry for entry in ledger.entries() if entry.number > before and request in (None, entry.request)]
            charged = f"entry {new[0].number} of the ledger stays charged" if new else "nothing was charged"
            stop.add_note(f"stopped: {charged}")
        raise


def check_input(name: str) -> None:
    """Of data: before a vault is opened for them."""
    from privet.sources.sniff import check_there  # noqa: PLC0415  brings DuckDB

    check_there(Path(name), name)


@contextmanager
def file_named(name: str) -> Iterator[None]:
    """What is wrong with a file begins with its name."""
    try:
        yield
    except InvalidInputError as error:
        if Path(name).name not in error.problem:
            error.problem = f"{one_line(name)}: {error.problem}"
        raise


def read_text(path: Path, what: str) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InvalidInputError(
            f"cannot read {path}: {error.strerror}", f"name the file that has {what}", "unreadable-file"
        ) from None
    except UnicodeDecodeError:
        raise InvalidInputError(
            f"{path} is not in UTF-8", f"save the file that has {what} as UTF-8", "not-utf8"
        ) from None

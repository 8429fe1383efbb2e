"""`privet attack pseudonyms`: the ids behind a column of hashes."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from privet.cli.attack.result import check, seconds_option, show, so_far
from privet.cli.progress import counting
from privet.cli.stopping import stoppable
from privet.cli.verb import Verb, check_table, read_text, result_options, spreadsheet_option
from privet.errors import InvalidInputError


def _options(command: argparse.ArgumentParser) -> None:
    command.add_argument("file", metavar="FILE", type=Path, help="a table: CSV, Excel, Parquet or DuckDB")
    command.add_argument("--column", required=True, metavar="C", help="the column with the pseudonyms")
    command.add_argument(
        "--format", action="append", metavar="F",
        help="what ids look like, such as 9A99 or taxi-medallion; may be given again (default: likely formats)",
    )  # fmt: skip
    command.add_argument("--hash", metavar="NAME", help="for example md5 or sha256 (default: all that fit)")
    known = command.add_mutually_exclusive_group()
    known.add_argument("--salt", metavar="TEXT", help="text before or after every id")
    known.add_argument("--salts", metavar="F", help="a format of short salts to try, such as 999")
    known.add_argument("--hmac-key", metavar="KEYFILE", type=Path, help="a file with the HMAC key, in hexadecimal")
    known.add_argument(
        "--secret-bits", type=int, metavar="N", help="the pseudonyms are keyed (HMAC) with N bits that nobody knows"
    )
    command.add_argument(
        "--ids", metavar="FILE.csv", type=Path, help="write all pseudonyms with their ids to this file"
    )
    spreadsheet_option(command)
    seconds_option(command)
    result_options(command)


def _attack(options: argparse.Namespace) -> int:
    check(options)
    if options.ids is not None:
        check_table(options.ids, "--ids")
    key = None if options.hmac_key is None else _key(options.hmac_key)
    from privet.attacks.proofs.work import STOPPED  # noqa: PLC0415
    from privet.attacks.pseudonyms.reversal import attack_pseudonyms  # noqa: PLC0415  brings NumPy and DuckDB

    with stoppable(STOPPED) as stopped, counting() as progress:
        found = attack_pseudonyms(
            options.file, options.column,
            formats=options.format, algorithm=options.hash, salt=options.salt, salts=options.salts, key=key,
            secret_bits=options.secret_bits, seconds=options.seconds, progress=progress,
            forecast=lambda ahead: sys.stderr.write(f"privet: {ahead}\n"),
        )  # fmt: skip
        findings = so_far(found.findings, stopped=stopped.is_set())
    if options.ids is not None:
        from privet.records import microdata  # noqa: PLC0415

        columns = {"pseudonym": tuple(found.ids), "id": tuple(found.ids.values())}
        made = {name: microdata.column(name, texts) for name, texts in columns.items()}
        shown = microdata.Microdata(made, len(found.ids))
        microdata.write(shown, options.ids, spreadsheet_safe=options.spreadsheet_safe)
    return show(findings, options)


def _key(path: Path) -> bytes:
    try:
        return bytes.fromhex(read_text(path, "the key of HMAC").strip())
    except ValueError:
        raise InvalidInputError(
            f"{path} is not a key in hexadecimal",
            "write the key as hexadecimal digits, for example 00ff1e…",
            "wrong-format",
        ) from None


KINDS = {
    "pseudonyms": Verb(
        "find the ids behind hashed pseudonyms by hashing every possible id",
        "privet attack pseudonyms trips.csv --column medallion --format taxi-medallion",
        _options,
        _attack,
    ),
}

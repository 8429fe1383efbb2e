"""`privet attack anonymized`: an anonymized table, alone and beside others."""

from __future__ import annotations

import argparse
from pathlib import Path

from privet.cli.attack.result import check, show
from privet.cli.progress import working
from privet.cli.verb import Verb, result_options
from privet.errors import InvalidInputError


def _options(command: argparse.ArgumentParser) -> None:
    command.add_argument("released", metavar="RELEASED", type=Path, help="the table: CSV, Excel, Parquet or DuckDB")
    command.add_argument("--quasi", required=True, metavar="A,B", help="columns that an attacker knows about people")
    command.add_argument("--sensitive", required=True, metavar="C", help="the column that the attacker wants to know")
    command.add_argument(
        "--also", action="append", default=[], type=Path, metavar="SECOND",
        help="another release with some of the same people; may be given again",
    )  # fmt: skip
    command.add_argument(
        "--known", action="append", default=[], metavar="A=1,B=2",
        help="a person to look for, given by quasi-identifiers; may be given again",
    )  # fmt: skip
    command.add_argument("--truth", type=Path, metavar="FILE", help="the original records, to score the attack")
    command.add_argument(
        "--population", type=Path, metavar="FILE", help="people who are not in the table, as a control group"
    )
    command.add_argument(
        "--hierarchies",
        type=Path,
        metavar="DIR",
        help="folder of hierarchies such as job.csv, which say what general words stand for",
    )
    result_options(command)


def _attack(options: argparse.Namespace) -> int:
    check(options)
    from privet.attacks.anonymized.equivalence import attack_anonymized  # noqa: PLC0415  brings NumPy and DuckDB

    with working("attacking the table"):
        found = attack_anonymized(
            options.released,
            [name.strip() for name in options.quasi.split(",") if name.strip()],
            options.sensitive,
            also=options.also,
            truth=options.truth,
            population=options.population,
            known=[_person(text) for text in options.known] or None,
            hierarchies=options.hierarchies,
        )
    return show(found, options)


def _person(text: str) -> dict[str, str]:
    parts = [part.partition("=") for part in text.split(",")]
    if not all(name.strip() and equals for name, equals, _ in parts):
        raise InvalidInputError(
            f"--known cannot be read: {text}", "for example --known zip=13012,age=28", "syntax-error"
        )
    return {name.strip(): value.strip() for name, _, value in parts}


KINDS = {
    "anonymized": Verb(
        "what an anonymized table still reveals, alone and together with a second release",
        "privet attack anonymized released.csv --quasi zip,age --sensitive condition --also second.csv",
        _options,
        _attack,
    ),
}

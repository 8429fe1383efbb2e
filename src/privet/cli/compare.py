"""`privet compare`: several ways to ship the same records, and what attacks get from each."""

from __future__ import annotations

import argparse
from pathlib import Path

from privet.cli.attack.result import check
from privet.cli.progress import counting
from privet.cli.verb import Verb, pen, print_json, result_options


def _options(command: argparse.ArgumentParser) -> None:
    command.add_argument("data", metavar="DATA", type=Path, help="the records: CSV, Excel, Parquet or DuckDB")
    command.add_argument("--quasi", required=True, metavar="A,B", help="columns that an attacker knows about people")
    command.add_argument("--sensitive", required=True, metavar="C", help="the column that nobody should learn")
    command.add_argument("--ids", default="", metavar="D,E", help="direct identifiers, such as names")
    command.add_argument("--hierarchies", type=Path, metavar="DIR", help="folder of hierarchies such as age.csv")
    command.add_argument(
        "--suppress", default="0.05", metavar="SHARE", help="largest share of records to suppress (0.05)"
    )
    command.add_argument("--epsilon", default="1", metavar="E", help="epsilon of the noisy tables (1)")
    result_options(command)


def _compare(options: argparse.Namespace) -> None:
    check(options)
    from privet.compare import compare_releases  # noqa: PLC0415  brings NumPy and DuckDB

    with counting() as progress:
        found = compare_releases(
            options.data, _names(options.quasi), options.sensitive,
            ids=_names(options.ids), hierarchies=options.hierarchies, suppress=options.suppress,
            epsilon=options.epsilon, progress=progress,
        )  # fmt: skip
    if options.out is not None:
        found.report(options.out)
    if options.json:
        print_json("compare", found.to_json())
        return
    from privet.report.compare.words import text_of  # noqa: PLC0415

    print(text_of(found, pen()))
    if options.out is not None:
        print(f"\nThe report is in {options.out}")


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


VERBS = {
    "compare": Verb(
        "compare ways to ship the same records: what each leaves to use, and what attacks get",
        "privet compare patients.csv --quasi age,sex,zip --sensitive disease --out plans.html",
        _options,
        _compare,
    ),
}

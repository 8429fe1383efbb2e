"""What the attacks on the command line share: the options of every attack, and how a result is shown."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from privet.cli.verb import check_report, check_seconds, pen, print_json

if TYPE_CHECKING:
    from privet.attacks import Findings


def seconds_option(command: argparse.ArgumentParser) -> None:
    command.add_argument("--seconds", type=float, default=60, metavar="S", help="stop after about S seconds (60)")


def check(options: argparse.Namespace) -> None:
    """Before the work, not after it."""
    check_seconds(getattr(options, "seconds", None))
    check_report(options.out)


def show(findings: Findings, options: argparse.Namespace) -> None:
    from privet.report.findings.text import page  # noqa: PLC0415

    if options.out is not None:
        findings.report(options.out)
    if options.json:
        print_json("attack", findings.to_json())
    else:
        print(page(findings, pen()))
        if options.out is not None:
            print(f"\nThe report is in {options.out}")

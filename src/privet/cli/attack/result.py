"""What the attacks on the command line share: the options of every attack, how a result is shown, the exit codes."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from privet.cli.stopping import STOPPED, WORDS
from privet.cli.verb import check_report, check_seconds, pen, print_json

if TYPE_CHECKING:
    from privet.attacks import Findings

NOTHING, FOUND, BAD_INPUT, INCONCLUSIVE = 0, 1, 2, 3
EXIT_CODES = """\
exit codes:
  0    the attack looked everywhere it says and found nothing, which is no promise
  1    something is proven or claimed about a person or a suppressed number
  2    bad input
  3    inconclusive: nothing was found, and not everything was read, searched or decided"""


def seconds_option(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--seconds",
        type=float,
        default=60,
        metavar="S",
        help="how much work to do, in seconds of an ordinary machine (60); no clock is read",
    )


def check(options: argparse.Namespace) -> None:
    """Before the work, not after it."""
    check_seconds(getattr(options, "seconds", None))
    check_report(options.out)


def exit_code(result: Mapping[str, Any]) -> int:
    """One rule for all attacks, by what their JSON says."""
    if result.get("alarm") == "bad" or any(result.get(key) for key in ("proven", "claimed", "learned_if_present")):
        return FOUND
    if "problem" in result:
        return BAD_INPUT
    return INCONCLUSIVE if result.get("limits") else NOTHING


def so_far(findings: Findings, *, stopped: bool) -> Findings:
    """What was found until somebody stopped the attack. It says so, and is never green."""
    if not stopped:
        return findings
    known = bool(findings.known) if findings.alarm is None else findings.alarm == "bad"
    return replace(
        findings,
        headline=f"{WORDS}: {findings.headline}",
        numbers={**findings.numbers, "limits": [*findings.numbers.get("limits", ()), WORDS], "stopped": True},
        alarm=findings.alarm if known else "neutral",
    )


def show(findings: Findings, options: argparse.Namespace) -> int:
    """Prints it, writes the report, and says by the exit code what was found."""
    from privet.report.findings.text import page  # noqa: PLC0415

    if options.out is not None:
        findings.report(options.out)
    if options.json:
        print_json("attack", findings.to_json())
    else:
        print(page(findings, pen()))
        if options.out is not None:
            print(f"\nThe report is in {options.out}")
    return STOPPED if findings.numbers.get("stopped") else exit_code(findings.to_json())

"""What every audit on the command line shares: the claim, the settings, how a result is shown, the exit codes."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from privet.cli.stopping import STOPPED, WORDS
from privet.cli.verb import pen, print_json
from privet.report.terminal import one_line, plain_numbers

if TYPE_CHECKING:
    from privet.audits import Audit, Checks, Claim

CODES = {"consistent": 0, "violated": 1, "inconclusive": 3}
EXIT_CODES = """\
exit codes:
  0    consistent: nothing contradicts the claim, which is no proof of it
  1    violated: the claim is false
  2    bad input
  3    inconclusive: this audit could not have contradicted the claim, or did not try all that was listed"""


def claim_options(command: argparse.ArgumentParser) -> None:
    claim = command.add_argument_group("what is claimed (one of them; there is no default)")
    claim.add_argument("--epsilon", help="differential privacy, with --delta if it is not pure")
    claim.add_argument("--delta", default="0", help="its delta (0)")
    claim.add_argument("--rho", help="zero-concentrated differential privacy")
    claim.add_argument("--mu", help="Gaussian differential privacy")


def claim_of(options: argparse.Namespace) -> Claim:
    from privet.audits import Claim  # noqa: PLC0415  brings NumPy

    return Claim(options.epsilon, options.delta, rho=options.rho, mu=options.mu)


def show(found: Audit | Checks, options: argparse.Namespace, *, stopped: bool = False) -> int:
    """Prints it, writes the report, and says by the exit code what was found."""
    if stopped:
        return _so_far(found, options)
    if options.out is not None:
        found.report(options.out)
    if options.json:
        print_json("checks" if hasattr(found, "checks") else "audit", plain_numbers(found.to_json()))
    else:
        print(found.text(pen()))
        if options.out is not None:
            print(f"\nThe report is in {one_line(str(options.out))}")
    return code(found.verdict)


def _so_far(found: Audit | Checks, options: argparse.Namespace) -> int:
    """Of an audit that was stopped. A violation stays one; anything else says nothing of the claim."""
    if options.json:
        told = (
            plain_numbers(found.to_json()) | {"stopped": True} | ({} if found.violated else {"verdict": "inconclusive"})
        )
        print_json("checks" if hasattr(found, "checks") else "audit", told)
    elif found.violated:
        show(found, options)
        print(f"\n{WORDS}: not everything asked for was tried.")
    else:
        print(
            f"inconclusive: {WORDS}. Nothing contradicts the claim so far; not everything that was asked for was tried."
        )
    return STOPPED


def code(verdict: str) -> int:
    return CODES[verdict.split(maxsplit=1)[0]]


def given(options: argparse.Namespace, *names: str) -> dict[str, Any]:
    """Settings that were given; the others are left to the audit."""
    return {name: value for name in names if (value := getattr(options, name)) is not None}

"""The command line. Verbs load what they need when they run, so that `privet --help` is quick."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from privet import __version__
from privet.cli import anonymize, ask, attack, audit, book, compare, owner, pseudonymize, recheck, show
from privet.cli.verb import Verb, add_commands, envelope, plain_letters, wants_color
from privet.core.rational import show as shown
from privet.errors import (
    BudgetExceededError,
    InvalidInputError,
    LedgerError,
    PrivetError,
    ReleaseFailedError,
    SuspendedError,
)
from privet.report.terminal import one_line

__all__ = ["envelope", "main", "wants_color"]

BAD_INPUT, REFUSED, FAILED = 2, 3, 4
STOPPED, READER_GONE = 130, 141  # what a shell reports for Ctrl-C, and for a program stopped by a closed pipe
EXIT_CODES = """\
exit codes:
  0    done
  1    an attack or preflight found something; an audit found a violation, or a wrong verdict in the gallery; recheck
       found a charge that is too small
  2    bad input, or a question that is not answered; nothing was charged
  3    refused by the budget, or the analyst is suspended; nothing was charged; an attack, preflight or an
       audit is inconclusive
  4    the ledger cannot be used, or a release failed after its charge
  130  stopped with Ctrl-C; says whether something was charged
  141  the reader of a pipe went away"""

VERBS: dict[str, Verb] = {
    **show.VERBS, **owner.VERBS, **ask.VERBS, **book.VERBS, **recheck.VERBS, **attack.VERBS,
    **audit.VERBS, **anonymize.VERBS, **compare.VERBS, **pseudonymize.VERBS,
}  # fmt: skip
GROUPS = {  # in this order in `privet --help`
    "start here": ("demo", "meaning"),
    "attack a release before somebody else does": ("attack", "preflight"),
    "answer questions under differential privacy, for the owner": (
        "init", "describe", "add", "update", "remove", "partition", "check", "dummy", "ledger",
    ),
    "answer questions under differential privacy, for the analyst": (
        "suggest", "explain", "query", "budget", "recheck",
    ),
    "audit the guarantee": ("audit",),
    "ship records that reveal less": ("anonymize", "pseudonymize", "compare"),
}  # fmt: skip
RENAMED = {("attack", "queries"): "differencing", ("attack", "records"): "anonymized"}  # since version 0.1


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one verb and return the exit code."""
    plain_letters(sys.stdout, sys.stderr)
    try:
        try:
            code = _run(sys.argv[1:] if arguments is None else arguments)
        finally:
            sys.stdout.flush()  # here, and not when Python exits, so that a closed pipe is met below
    except PrivetError as error:
        place = f"{error.place}\n" if error.place else ""
        sys.stderr.write(f"privet: {one_line(error.problem)}\n{place}  remedy: {one_line(error.remedy)}\n")
        return exit_code(error)
    except KeyboardInterrupt as stop:
        notes = getattr(stop, "__notes__", ["stopped: nothing was charged"])
        sys.stderr.write(f"privet: {'; '.join(notes)}\n")
        return STOPPED
    except BrokenPipeError:  # `privet demo | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or Python complains when it exits
        return READER_GONE
    return code


def exit_code(error: PrivetError) -> int:
    """What the process returns for this error."""
    match error:
        case BudgetExceededError() | SuspendedError():
            return REFUSED
        case LedgerError() | ReleaseFailedError():
            return FAILED
        case _:
            return BAD_INPUT


def _run(words: Sequence[str]) -> int:
    _check_verb(words)
    options = _parser().parse_args(words)
    return options.run(options) or 0


class _Parser(argparse.ArgumentParser):
    """Raises what it does not understand, with a remedy."""

    def error(self, message: str) -> NoReturn:
        raise InvalidInputError(message, f"run `{self.prog} --help` to see its options", "wrong-usage")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="privet",
        usage="privet [-h] [--version] COMMAND ...",
        description="Attack a release, answer under differential privacy, audit the promise.",
        epilog=f"{_commands()}\n{EXIT_CODES}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"privet {__version__}")
    parser.set_defaults(run=_no_verb)
    verbs = parser.add_subparsers(prog="privet", metavar="COMMAND", parser_class=_Parser, help=argparse.SUPPRESS)
    add_commands(verbs, VERBS)
    return parser


def _commands() -> str:
    """The commands by what they are for, a line each."""
    lines = []
    for title, names in GROUPS.items():
        lines += [f"{title}:", *(f"  {name:<14}{VERBS[name].text}" for name in names), ""]
    return "\n".join(lines)


def _check_verb(words: Sequence[str]) -> None:
    """The first word is the command: no option before it takes a value."""
    verb = next((word for word in words if not word.startswith("-")), None)
    if verb is not None and verb not in VERBS:
        raise InvalidInputError(
            f"there is no command {shown(verb)}", f"the commands are: {', '.join(VERBS)}", "unknown-choice"
        )
    new = RENAMED.get((verb, words[1])) if verb and len(words) > 1 else None
    if new:
        raise InvalidInputError(f"`privet {verb} {words[1]}` was renamed", f"run `privet {verb} {new}`", "renamed")


def _no_verb(_options: argparse.Namespace) -> NoReturn:
    raise InvalidInputError(
        "no command was given", "try `privet demo`, or `privet --help` for all commands", "nothing-to-do"
    )

"""The command line. Verbs load what they need when they run, so that `privet --help` is quick."""

from __future__ import annotations

import argparse
import os
import re
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from privet import __version__
from privet.cli import anonymize, ask, attack, audit, book, compare, fit, owner, pseudonymize, recheck, show
from privet.cli.parser import Parser
from privet.cli.progress import alive
from privet.cli.stopping import NOTHING_YET, STOPPED
from privet.cli.verb import Verb, add_commands, envelope, plain_letters, print_json, wants_color
from privet.cli.wording import in_terminal
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
from privet.spelling import closest

__all__ = ["envelope", "main", "wants_color"]

FILES_HERE = "privet demo --files ."
BAD_INPUT, REFUSED, FAILED = 2, 3, 4
READER_GONE = 141  # what a shell reports for a program stopped by a closed pipe
FILES = """\
files:
  examples/ and docs/, named in help texts and messages, are in the package: `privet demo --files .` writes them here

"""
EXIT_CODES = """\
exit codes:
  0    done
  1    an attack or preflight found something; an audit found a violation, or a wrong verdict in the gallery; recheck
       found a charge that is too small
  2    bad input, or a question that is not answered; nothing was charged
  3    refused by the budget, or the analyst is suspended; nothing was charged; an attack, preflight or an
       audit is inconclusive
  4    the ledger cannot be used, or a release failed after its charge
  130  stopped with Ctrl-C; a message says whether anything was charged; attacks and audits show what they had found
  141  the reader of a pipe went away"""

VERBS: dict[str, Verb] = {
    **show.VERBS, **owner.VERBS, **ask.VERBS, **fit.VERBS, **book.VERBS, **recheck.VERBS, **attack.VERBS,
    **audit.VERBS, **anonymize.VERBS, **compare.VERBS, **pseudonymize.VERBS,
}  # fmt: skip
GROUPS = {  # in this order in `privet --help`
    "start here": ("demo", "meaning"),
    "attack a release before somebody else does": ("attack", "preflight"),
    "answer questions under differential privacy, for the owner": (
        "init", "describe", "add", "update", "remove", "partition", "check", "dummy", "ledger",
    ),
    "answer questions under differential privacy, for the analyst": (
        "suggest", "explain", "query", "fit", "budget", "recheck",
    ),
    "audit the guarantee": ("audit",),
    "ship records that reveal less": ("anonymize", "pseudonymize", "compare"),
}  # fmt: skip
RENAMED = {("attack", "queries"): "differencing", ("attack", "records"): "anonymized"}  # since version 0.1


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one verb and return the exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    plain_letters(sys.stdout, sys.stderr)
    told = "--json" in words
    try:
        try:
            code = _run(words)
        finally:
            sys.stdout.flush()  # here, and not when Python exits, so that a closed pipe is met below
    except PrivetError as error:
        return _refused(error, told=told)
    except KeyboardInterrupt as stop:
        return _stopped("; ".join(getattr(stop, "__notes__", ["stopped: nothing was charged"])), told=told)
    except BrokenPipeError:  # `privet demo | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or Python complains when it exits
        return READER_GONE
    return code


def _refused(error: PrivetError, *, told: bool) -> int:
    """Words for a person on stderr and, if JSON was asked for, the same for a program on stdout."""
    problem, remedy = one_line(error.problem), one_line(error.remedy)
    place = f"{error.place}\n" if error.place else ""
    sys.stderr.write(f"privet: {problem}\n{place}  remedy: {remedy}\n")
    if told:
        print_json("error", {"code": error.code, "problem": problem, "place": error.place, "remedy": remedy})
    return exit_code(error)


def _stopped(words: str, *, told: bool) -> int:
    sys.stderr.write(f"privet: {words}\n")
    if told:
        print_json("error", {"code": "stopped", "problem": words, "place": "", "remedy": "run the command again"})
    return STOPPED


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
    options, unknown = _parser().parse_known_args(words)
    command: Parser = vars(options).pop("parser")  # options travel to other processes
    if unknown:
        raise command.not_known(unknown, words)
    try:
        with alive(command.prog.removeprefix("privet ")):
            return _finished(options)
    except KeyboardInterrupt as stop:
        if words[0] in ("attack", "audit", "preflight") and not getattr(stop, "__notes__", []):
            asked = getattr(options, "vault", None) if words[0] == "attack" else None
            stop.add_note(NOTHING_YET if asked is None else f"stopped: questions asked of {asked} stay charged")
        raise
    except PrivetError as error:  # the library speaks Python
        error.problem, error.remedy = in_terminal(error.problem, command, ""), in_terminal(error.remedy, command)
        if _names_files(error, words):
            error.remedy = f"{error.remedy}; `{FILES_HERE}` writes the folders examples and docs"
        raise


def _finished(options: argparse.Namespace) -> int:
    """What the verb returns. Somebody's file that ends the process must not make it look as if nothing was found."""
    try:
        return options.run(options) or 0
    except SystemExit:
        raise InvalidInputError(
            "a Python file ends the program before the work is done",
            "remove sys.exit() and exit() from it, or put them under if __name__ == '__main__':",
            "code-fails",
        ) from None


def _names_files(error: PrivetError, words: Sequence[str]) -> bool:
    """Is it about a file of the package that is not in this folder?"""
    named = re.findall(r"\bdocs/[\w/-]+\.md", error.remedy)
    if error.code in ("missing-file", "unreadable-file", "folder-missing"):
        named += [word for word in words if word.startswith(("examples/", "docs/"))]
    return any(not Path(name).exists() for name in named)


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="privet",
        usage="privet [-h] [--version] COMMAND ...",
        description="Attack a release, answer under differential privacy, audit the promise.",
        epilog=f"{_commands()}\n{FILES}{EXIT_CODES}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"privet {__version__}")
    parser.set_defaults(run=_no_verb, parser=parser)
    verbs = parser.add_subparsers(prog="privet", metavar="COMMAND", parser_class=Parser, help=argparse.SUPPRESS)
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
    if verb is not None and words[0] not in (verb, "-h", "--help", "--version"):
        raise InvalidInputError(
            f"the first word must be a command, not {shown(words[0])}",
            "`privet --help` lists the commands",
            "wrong-usage",
        )
    if verb is not None and verb not in VERBS:
        near = closest(verb, VERBS)
        guess = f"did you mean `privet {near}`? " if near else ""
        raise InvalidInputError(
            f"there is no command {shown(verb)}", f"{guess}the commands are: {', '.join(VERBS)}", "unknown-choice"
        )
    if verb == "ledger" and len(words) > 2 and words[1] in book.ACTIONS:
        right = shlex.join(["privet", verb, words[2], words[1], *words[3:]])
        raise InvalidInputError(
            f"the vault comes before {shown(words[1])}, not after it", f"run `{right}`", "wrong-order"
        )
    new = RENAMED.get((verb, words[1])) if verb and len(words) > 1 else None
    if new:
        raise InvalidInputError(f"`privet {verb} {words[1]}` was renamed", f"run `privet {verb} {new}`", "renamed")


def _no_verb(_options: argparse.Namespace) -> NoReturn:
    raise InvalidInputError(
        "no command was given", "try `privet demo`, or `privet --help` for all commands", "nothing-to-do"
    )

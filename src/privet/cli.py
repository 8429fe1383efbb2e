"""The command line. Verbs load what they need when they run, so that `privet --version` is quick.

Exit codes: 0 done; 2 bad input, with one line that says what is wrong and one with the remedy.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn, TextIO

from privet import __version__
from privet.core.rational import show
from privet.errors import InvalidInputError, PrivetError
from privet.report.terminal import Pen, one_line

BAD_INPUT = 2
READER_GONE = 141  # what a shell reports for a program stopped by a closed pipe


@dataclass(frozen=True, slots=True)
class Verb:
    """One command: what `--help` says, the options it takes, and what it does. All verbs stand in VERBS, below."""

    text: str
    options: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], None]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one verb and return the exit code."""
    try:
        try:
            _run(sys.argv[1:] if arguments is None else arguments)
        finally:
            sys.stdout.flush()  # here, and not when Python exits, so that a closed pipe is met below
    except PrivetError as error:
        sys.stderr.write(f"privet: {one_line(error.problem)}\n  remedy: {one_line(error.remedy)}\n")
        return BAD_INPUT
    except BrokenPipeError:  # `privet demo | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or Python complains when it exits
        return READER_GONE
    return 0


def _run(words: Sequence[str]) -> None:
    _check_verb(words)
    options = _parser().parse_args(words)
    options.run(options)


class _Parser(argparse.ArgumentParser):
    """Raises what it does not understand, with a remedy."""

    def error(self, message: str) -> NoReturn:
        raise InvalidInputError(message, f"run `{self.prog} --help` to see what can be written")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="privet", description="Attack a release, answer under differential privacy, audit the promise."
    )
    parser.add_argument("--version", action="version", version=f"privet {__version__}")
    parser.set_defaults(run=_no_verb)
    verbs = parser.add_subparsers(title="commands", metavar="COMMAND", parser_class=_Parser)
    for name, verb in VERBS.items():
        command = verbs.add_parser(name, help=verb.text, description=verb.text, allow_abbrev=False)
        verb.options(command)
        command.set_defaults(run=verb.run)
    return parser


def _check_verb(words: Sequence[str]) -> None:
    """The first word is the command: no option before it takes a value."""
    verb = next((word for word in words if not word.startswith("-")), None)
    if verb is not None and verb not in VERBS:
        raise InvalidInputError(f"there is no command {show(verb)}", f"the commands are: {', '.join(VERBS)}")


def _no_verb(_options: argparse.Namespace) -> NoReturn:
    raise InvalidInputError("no command was given", "try `privet demo`, or `privet --help` for all commands")


def _demo_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("--json", action="store_true", help="print the numbers for a program to read")
    command.add_argument(
        "--out", metavar="FILE.svg", type=Path, default=Path("demo.svg"), help="where to draw the picture (demo.svg)"
    )


def _demo(options: argparse.Namespace) -> None:
    picture: Path = options.out
    _check_picture(picture)
    from privet import demo  # noqa: PLC0415  brings NumPy and Altair

    story = demo.tell()
    _write(picture, demo.chart(), "demo")
    if options.json:
        print(json.dumps(envelope("demo", {**story.numbers(), "picture": str(picture)}), indent=2))
    else:
        print(demo.page(story, one_line(str(picture)), Pen(wants_color(sys.stdout))), end="")


def _meaning_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("--epsilon", required=True, help="the price of everything released; there is no default")
    command.add_argument("--delta", default="0", help="its delta (0)")
    command.add_argument("--prior", help="what somebody believed before, such as 0.01")
    command.add_argument("--neighbors", default="add-remove", help="add-remove (the default) or replace")
    command.add_argument("--about", default="membership", help="membership (the default) or value")
    command.add_argument("--json", action="store_true", help="print the numbers for a program to read")
    command.add_argument("--out", metavar="FILE.svg", type=Path, help="draw the picture there as well")


def _meaning(options: argparse.Namespace) -> None:
    from privet.interpret import meaning  # noqa: PLC0415  only this verb needs it

    picture: Path | None = options.out
    asked = ("epsilon", "delta", "prior", "neighbors", "about")
    answer = meaning(**{name: getattr(options, name) for name in asked})
    if picture is not None:
        _check_picture(picture)
        _write(picture, answer.svg(), "meaning")
    if options.json:
        result = {**answer.to_json(), "picture": None if picture is None else str(picture)}
        print(json.dumps(envelope("meaning", result), indent=2))
    else:
        print(answer.text(Pen(wants_color(sys.stdout))))


VERBS = {
    "demo": Verb(
        "one newcomer in a hospital, and three ways to publish a count (about 2 seconds)", _demo_options, _demo
    ),
    "meaning": Verb("what an epsilon says about a person, in words and numbers", _meaning_options, _meaning),
}


def envelope(kind: str, result: dict[str, Any]) -> dict[str, Any]:
    """What every JSON answer of Privet is wrapped in."""
    return {"privet": 1, "kind": kind, "result": result}


def wants_color(stream: TextIO) -> bool:
    """Only for a person at a terminal who has not asked for none (https://no-color.org)."""
    return stream.isatty() and not os.environ.get("NO_COLOR")


def _check_picture(path: Path) -> None:
    """Before the work, not after it."""
    if path.suffix.lower() != ".svg":
        raise InvalidInputError(
            f"the picture is an SVG file, which {path} is not", "give --out a name that ends in .svg"
        )


def _write(path: Path, text: str, name: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InvalidInputError(
            f"cannot write {path}: {error.strerror}",
            f"name a file in a folder that you may write to: --out FOLDER/{name}.svg",
        ) from None

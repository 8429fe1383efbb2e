"""Reads the command line. What it does not understand is an error with a remedy that can be typed in."""

from __future__ import annotations

import argparse
import re
import shlex
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn

from privet.core.rational import show
from privet.errors import InvalidInputError
from privet.spelling import closest

USAGE = "wrong-usage"
NUMBERS = {"int": ("a whole number", "3"), "float": ("a number", "0.5")}


class Parser(argparse.ArgumentParser):
    """Raises what it does not understand. `own` is the command's example, as far as it goes."""

    example = ""

    def error(self, message: str) -> NoReturn:
        raise next((found for found in self._explained(message) if found), self._other(message))

    def _explained(self, message: str) -> Iterator[InvalidInputError | None]:
        """One of these knows the message; argparse has only words for what went wrong."""
        error = sys.exc_info()[1]
        if isinstance(error, argparse.ArgumentError):
            yield self._about(str(error.argument_name), str(error.message))
        if missing := re.fullmatch("the following arguments are required: (.*)", message):
            yield self._missing(missing[1].split(", "))

    def _about(self, option: str, message: str) -> InvalidInputError | None:
        action = self._action(option)
        if choice := re.match(r"invalid choice: (?P<given>.*?)(?:, maybe .*)? \(choose from", message):
            names = [str(name) for name in action.choices or ()]
            return self._no_choice(option, choice["given"].strip("'\""), names)
        if wrong := re.fullmatch(r"invalid (\w+) value: (.*)", message):
            kind, example = NUMBERS.get(wrong[1], ("another value", None))
            example = action.default if action.default is not None else example
            remedy = f"write another value after {option}" if example is None else f"for example `{option} {example}`"
            return InvalidInputError(f"{option} needs {kind}, not {wrong[2]}", remedy, USAGE)
        if message.startswith("expected "):
            return InvalidInputError(
                f"{option} needs a value" if "one" in message else f"{option}: {message.replace('argument', 'value')}",
                f"write it after the option: {self._shown(action)}; {self._see()}",
                USAGE,
            )
        if other := re.fullmatch("not allowed with argument (.*)", message):
            return InvalidInputError(
                f"{other[1]} and {option} cannot be used together", "leave out one of the two", USAGE
            )
        return None

    def _no_choice(self, option: str, given: str, names: Sequence[str]) -> InvalidInputError:
        here = f"{self.prog} {given}" if self._action(option).option_strings == [] else f"{option} {given}"
        near = closest(given, names)
        if near is None:
            guess = ""
        elif here.startswith("-"):
            guess = f"did you mean `{option} {near}`? "
        elif self.prog.count(" ") > 1 or self._get_positional_actions()[0].choices:
            guess = f"did you mean `{self.prog} {near}`? "
        else:  # something stands between them
            guess = f"did you mean {near}? "
        one = f"{option} cannot be {show(given)}" if here.startswith("-") else f"there is no `{here}`"
        return InvalidInputError(one, f"{guess}the choices are: {', '.join(names)}", USAGE)

    def _missing(self, names: Sequence[str]) -> InvalidInputError:
        shown = [self._shown(self._action(name)) for name in names]
        return InvalidInputError(
            f"{_and(shown)} {'is' if len(shown) == 1 else 'are'} missing",
            f"for example `{self.example}`; {self._see()}" if self.example else self._see(),
            USAGE,
        )

    def _other(self, message: str) -> InvalidInputError:
        return InvalidInputError(message, self._see(), USAGE)

    def _see(self) -> str:
        return f"`{self.prog} --help` explains all options"

    def _action(self, name: str) -> argparse.Action:
        """Of an option, or of a place: in messages its name is that of the help."""
        return next(
            action
            for action in self._actions
            if name in (*action.option_strings, "/".join(action.option_strings), action.metavar, action.dest)
        )

    def _shown(self, action: argparse.Action) -> str:
        if not action.option_strings:
            return str(action.metavar or action.dest)
        value: Any = action.metavar or ("" if action.nargs == 0 else action.dest.upper())
        return " ".join([action.option_strings[0], *([value] if isinstance(value, str) else value)]).strip()

    def not_known(self, words: Sequence[str], typed: Sequence[str]) -> InvalidInputError:
        """Words that no option and no place took."""
        option = next((word for word in words if word.startswith("-")), None)
        if option is not None:
            name = option.partition("=")[0]
            near = closest(name, [known for known in self._option_string_actions if known.startswith("--")])
            guess = f"did you mean `{near}`? " if near else ""
            return InvalidInputError(f"`{self.prog}` has no option {name}", f"{guess}{self._see()}", USAGE)
        whole = _in_quotes(words, typed)
        remedy = f"put it in quotes: {shlex.quote(whole)}" if whole else "put a name or question with spaces in quotes"
        return InvalidInputError(
            f"`{self.prog}` does not know what to do with {_and(words)}", f"{remedy}; {self._see()}", USAGE
        )


def _in_quotes(words: Sequence[str], typed: Sequence[str]) -> str | None:
    """A file whose name has spaces, or a question, that the shell took apart."""
    for start in range(len(typed)):
        for end in range(len(typed), start + 1, -1):
            name = " ".join(typed[start:end])
            if words[0] in typed[start + 1 : end] and Path(name).is_file():
                return name
    upper = [word.upper() for word in typed]
    if "SELECT" in upper:
        rest = list(typed[upper.index("SELECT") :])
        return " ".join(rest[: next((at for at, word in enumerate(rest) if word.startswith("--")), len(rest))])
    return None


def _and(names: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))

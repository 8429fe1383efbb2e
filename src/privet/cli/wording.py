"""What an error says in a terminal: the library writes `epsilon=0.5`, and there one types `--epsilon 0.5`."""

from __future__ import annotations

import argparse
import ast
import re
import shlex

# name=value as Python writes it: a text, a number, a word, a list or dictionary without others inside, or nothing.
_GIVEN = re.compile(
    r"(?<![\w.`-])(?P<name>[a-z]+(?:_[a-z]+)*)="
    r"(?P<value>\"[^\"]*\"|'[^']*'|\[[^\[\]]*\]|\{[^{}]*\}|[+-]?\w+(?:[.+/-]\w+)*|)(?![\w=(])"
)
_NAME = re.compile(r"(?<![\w.`'\"-])[a-z]+(?:_[a-z]+)+(?![\w=.(`'\"])")
_CALLS = (  # what Python calls, and what it is called in a terminal
    (re.compile(r"\b(?:pv\.)?(?:audits\.)?(?:Claim|Budget)\(([^()]*)\)"), r"\1"),
    (re.compile(r"\basking=Asking\(([^()]*)\)"), r"\1"),
    (re.compile(r"\bpv\.create(?:\([^()]*\))?"), "`privet init`"),
    (re.compile(r"\bvault\.partition(?:\([^()]*\))?"), "`privet partition`"),
    (re.compile(r"\bvault\.suggest_bounds(?:\([^()]*\))?"), "`privet suggest`"),
    (re.compile(r"\b(?:vault\.)?update_table\b"), "`privet update`"),
    (re.compile(r"\b(?:pv\.)?attacks\.attack_([a-z]+)"), r"`privet attack \1`"),
    (re.compile(r"\bexplain\(\)"), "`privet explain`"),
)
_QUOTED = re.compile(r"(`[^`]*`)")


def in_terminal(text: str, command: argparse.ArgumentParser, mark: str = "`") -> str:
    """The same words, with the options of this command where the library names its parameters.

    What stands in backquotes already, and names that this command has no option for, stay as they are.
    """
    for pattern, words in _CALLS:
        text = pattern.sub(words, text)
    parts = _QUOTED.split(text)
    for place in range(0, len(parts), 2):
        part = _GIVEN.sub(lambda found: _option(found, command, mark), parts[place])
        parts[place] = _NAME.sub(lambda found: _named(found[0], command) or found[0], part)
    return "".join(parts)


def _option(found: re.Match[str], command: argparse.ArgumentParser, mark: str) -> str:
    name, value = found["name"], found["value"]
    if (name, value) == ("unit", "None"):
        name, value = "rows_are_units", "True"
    if value == "False":
        denied = _named(f"no_{name}", command)
        return f"{mark}{denied}{mark}" if denied else found[0]
    option = _named(name, command)
    if option is None:
        return found[0]
    if not value:
        return option
    return f"{mark}{option}{mark}" if value == "True" else f"{mark}{option} {shlex.quote(_typed(value))}{mark}"


def _named(name: str, command: argparse.ArgumentParser) -> str | None:
    option = f"--{name.replace('_', '-')}"
    return option if option in command._option_string_actions else None


def _typed(value: str) -> str:
    """A value of Python as one word: "x" as x, a list with commas, a dictionary as a=b,c=d."""
    try:
        read = ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return value
    match read:
        case dict():
            return ",".join(f"{key}={item}" for key, item in read.items())
        case list():
            return ",".join(map(str, read))
        case str():
            return read
        case _:
            return value

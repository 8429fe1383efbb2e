"""`privet audit function`: somebody's Python function against what is claimed of it."""

from __future__ import annotations

import argparse
import importlib.util
import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from privet.cli.audit.result import EXIT_CODES, claim_of, claim_options, given, show
from privet.cli.progress import counting
from privet.cli.stopping import stoppable
from privet.cli.verb import Verb, check_report, result_options
from privet.core.rational import show as shown
from privet.errors import InvalidInputError
from privet.report.terminal import one_line

if TYPE_CHECKING:
    from privet.audits import Domain

REMEDY = "name a function of data in a Python file: mechanisms.py:noisy_count"
DOMAINS = "rows:0,1 (lists of records), rows:0..10 (numbers), people:0,1 (rows of persons), answers:5 (query answers)"

USUAL = "rows:0,1"


def _options(command: argparse.ArgumentParser) -> None:
    command.add_argument("function", metavar="FILE.py:NAME", help="mechanism(data), or mechanism(data, size)")
    claim_options(command)
    data = command.add_argument_group("data sets (neighbors are searched among lists of 0s and 1s if none are given)")
    data.add_argument(
        "--neighbors", nargs=2, metavar="JSON", help="two data sets that differ in one person, such as '[1, 0]' '[1]'"
    )
    data.add_argument("--domain", help=f"search neighbors there: {DOMAINS}")
    data.add_argument("--replace", action="store_true", help="neighbors have another record, not one more or less")
    data.add_argument("--most", type=int, metavar="N", help="search data sets of up to N records or people (64)")
    command.add_argument("--pairs", type=int, metavar="N", help="look at up to N pairs of data sets (1000)")
    command.add_argument("--samples", type=int, metavar="N", help="draws from each data set (1000000)")
    command.add_argument("--seconds", type=float, metavar="S", help="stop after that long")
    command.add_argument("--confidence", help="that the bound is true (0.999999)")
    command.add_argument(
        "--ignore-float-bits", action="store_true", help="round outputs first, to see mistakes beside floating point"
    )
    result_options(command)


def _run(options: argparse.Namespace) -> int:
    check_report(options.out)
    claim, neighbors = claim_of(options), _neighbors(options)
    mechanism = load(options.function)
    from privet.audits import audit  # noqa: PLC0415  brings NumPy

    settings = given(options, "samples", "seconds", "confidence", "pairs", "ignore_float_bits")
    from privet.audits.stages import STOPPED  # noqa: PLC0415

    with stoppable(STOPPED) as stopped, counting() as progress:
        found = audit(mechanism, claim, neighbors, progress=progress, **settings)
        return show(found, options, stopped=stopped.is_set())


def load(text: str, remedy: str = REMEDY) -> Callable[..., Any]:
    """The function that FILE.py:NAME names. The file is run as Python runs it: its own folder comes first."""
    path, _, name = text.rpartition(":")
    if not path.endswith(".py") or not name:
        raise InvalidInputError(f"{shown(text)} does not name a function in a file", remedy, "syntax-error")
    module = _module(Path(path), remedy)
    found = vars(module).get(name)
    if not callable(found):
        names = [key for key, value in vars(module).items() if _own_function(value, module)]
        problem = f"{one_line(path)} has no {shown(name)}" if found is None else f"{shown(name)} is not a function"
        remedy = f"its functions are: {', '.join(names)}" if names else remedy
        raise InvalidInputError(problem, remedy, "unknown-function")
    return found  # type: ignore[no-any-return]


def _module(path: Path, remedy: str) -> ModuleType:
    if not path.is_file():
        raise InvalidInputError(f"there is no file {one_line(str(path))}", remedy, "missing-file")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None  # noqa: S101  the name ends in .py
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(path.absolute().parent))
    sys.modules.setdefault(path.stem, module)  # so that other processes find its functions by name
    try:
        exec(compile(path.read_bytes(), str(path), "exec"), module.__dict__)  # noqa: S102  as it is now, not as cached
    except Exception as error:  # whatever somebody's file does
        raise InvalidInputError(
            f"{one_line(str(path))} does not run: {type(error).__name__}: {one_line(str(error))}",
            "correct the file: `python FILE.py` shows where it fails",
            "code-fails",
        ) from None
    return module


def _own_function(value: object, module: ModuleType) -> bool:
    return callable(value) and getattr(value, "__module__", None) == module.__name__


def _neighbors(options: argparse.Namespace) -> Any:
    if options.neighbors is not None and options.domain is not None:
        raise InvalidInputError(
            "--neighbors and --domain exclude each other", "give two data sets or a domain", "contradictory-options"
        )
    if options.neighbors is not None:
        unneeded = "--replace" if options.replace else "" if options.most is None else "--most"
        if unneeded:
            raise InvalidInputError(
                f"{unneeded} is about a search, and --neighbors gives the data sets",
                f"leave out {unneeded} or --neighbors",
                "unneeded-option",
            )
        return tuple(map(_data, options.neighbors))
    return domain_of(USUAL if options.domain is None else options.domain, replace=options.replace, most=options.most)


def _data(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise InvalidInputError(
            f"{shown(text)} is not JSON: {error.msg} at letter {error.pos + 1}", "for example '[1, 0]'", "syntax-error"
        ) from None


def domain_of(text: str, *, replace: bool, most: int | None = None) -> Domain:
    """Such as rows:0,1 or rows:0..10 or people:a,b or answers:5."""
    from privet import audits  # noqa: PLC0415  brings NumPy

    kind, _, rest = text.partition(":")
    relation: Any = "replace" if replace else "add-remove"
    match kind:
        case "rows" if rest:
            return audits.Rows(_values(rest), neighbors=relation, most=most)
        case "people" if rest:
            return audits.People(_values(rest), neighbors=relation, **({} if most is None else {"most": most}))
        case "answers" if rest.isdecimal() and not replace and most is None:
            return audits.Answers(int(rest))
        case _:
            raise InvalidInputError(f"there is no domain {shown(text)}", f"use one of {DOMAINS}", "unknown-choice")


def _values(text: str) -> Any:
    """Values with commas between them, or a range of numbers."""
    from privet.audits import Between  # noqa: PLC0415

    low, dots, high = text.partition("..")
    if dots:
        try:
            ends = float(low), float(high)
        except ValueError:
            raise InvalidInputError(
                f"{shown(text)} is not a range of numbers", "write such as 0..10", "syntax-error"
            ) from None
        return Between(*ends)
    return [_value(part) for part in text.split(",")]


def _value(text: str) -> Any:
    """A number, true, false or null where it reads as one; otherwise the text itself."""
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text


KINDS = {
    "function": Verb(
        "a Python function against its claim: run it on neighbors, count, bound from below",
        f"privet audit function mechanisms.py:noisy_count --epsilon 1 --neighbors '[1, 0]' '[1]'\n\n{EXIT_CODES}",
        _options,
        _run,
    )
}

"""`privet recheck`: compute the price of an answer again, from what the answer carries."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from privet import recheck
from privet.cli.verb import Verb, json_option, print_json, read_text
from privet.errors import InvalidInputError
from privet.report.terminal import one_line

REMEDY = (
    "repeat the query (the same query is free) as `privet query ... --json > answer.json`, or the fit as"
    " `privet fit ... --out model.json`, then recheck that file"
)


def _options(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "answer",
        metavar="ANSWER.json",
        help="the output of `privet query --json`, the JSON file of a model, or - for stdin",
    )
    json_option(command)


def _recheck(options: argparse.Namespace) -> int:
    text = _text(options.answer)
    try:
        found = recheck.recheck(_known(recheck.guarantee_of(text)))
    except InvalidInputError:
        raise
    except ValueError as error:
        raise InvalidInputError(f"{one_line(options.answer)}: {error}", REMEDY, "wrong-format") from None
    if options.json:
        print_json("recheck", _as_json(found))
    else:
        print(recheck.report(found))
    return 1 if found.problems else 0


def _known(guarantee: Any) -> Any:
    """Noisy training steps are priced by a library, and not by the arithmetic here."""
    if isinstance(guarantee, dict) and "descent" in guarantee:
        raise InvalidInputError(
            "the price of a network cannot be computed again here: its steps are priced by dp-accounting",
            "read the schedule in the file's guarantee, and compute its price with dp-accounting",
            "not-supported",
        )
    return guarantee


def _text(name: str) -> str:
    if name != "-":
        return read_text(Path(name), "the answer as JSON")
    try:
        return sys.stdin.read()
    except UnicodeDecodeError:
        raise InvalidInputError("the text on stdin cannot be read", "send the answer as UTF-8", "not-utf8") from None


def _as_json(found: recheck.Recheck) -> dict[str, Any]:
    """Fractions are texts, as in the answer; a very long one is rounded up to ten digits."""
    parts = [
        {"role": part.role, "sensitivity": moved._asdict(), "price": _amounts(cost)}
        for part, moved, cost in found.parts
    ]
    return {
        "enough": not found.problems,
        "problems": found.problems,
        "neighbors": found.neighbors,
        "parts": parts,
        "price": _amounts(found.price),
        "charge": _amounts(found.charge),
        "not_seen": recheck.UNSEEN,
    }


def _amounts(cost: recheck.Cost) -> dict[str, str | None]:
    return {
        name: None if amount is None else recheck.show(amount).removeprefix("about ")
        for name, amount in cost._asdict().items()
    }


VERBS = {
    "recheck": Verb(
        "check the price of an answer or a model from its limits and noise alone; needs no vault and no data",
        "privet recheck answer.json",
        _options,
        _recheck,
    ),
}

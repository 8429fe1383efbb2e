"""`privet audit scores`: scores of canaries, from one run or from many, as a lower bound."""

from __future__ import annotations

import argparse
import csv
import io
from pathlib import Path

from privet.cli.audit.result import EXIT_CODES, claim_of, claim_options, given, show
from privet.cli.verb import Verb, check_report, read_text, result_options
from privet.core.rational import show as shown
from privet.errors import InvalidInputError
from privet.report.terminal import one_line

COLUMNS = ("score", "included")
INCLUDED = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}
REMEDY = "write a CSV file with the columns score and included, and a line for every canary or run"


def _options(command: argparse.ArgumentParser) -> None:
    command.add_argument("file", metavar="FILE.csv", type=Path, help="columns score (a number) and included (1 or 0)")
    command.add_argument(
        "--runs",
        required=True,
        choices=("one", "many"),
        help="one: all canaries in one run, each put in by a fair coin; many: every line is a run of its own",
    )
    claim_options(command)
    command.add_argument("--confidence", help="that the bound is true (0.99)")
    result_options(command)


def _run(options: argparse.Namespace) -> int:
    check_report(options.out)
    claim = claim_of(options)
    scores, included = read_scores(options.file)
    from privet import audits  # noqa: PLC0415  brings NumPy

    settings = given(options, "confidence")
    if options.runs == "one":
        return show(audits.one_run(scores, included, claim, **settings), options)
    inside, outside = (
        [score for score, here in zip(scores, included, strict=True) if here is side] for side in (True, False)
    )
    return show(audits.from_scores(inside, outside, claim, **settings), options)


def read_scores(path: Path) -> tuple[list[float], list[bool]]:
    """The two columns of the file, whatever else it has."""
    rows = csv.DictReader(io.StringIO(read_text(path, "the scores")))
    missing = [name for name in COLUMNS if name not in (rows.fieldnames or ())]
    if missing:
        raise InvalidInputError(f"{one_line(str(path))} has no column {missing[0]}", REMEDY, "wrong-columns")
    scores, included = [], []
    for row in rows:
        scores.append(_score(row["score"], rows.line_num))
        included.append(_included(row["included"], rows.line_num))
    return scores, included


def _score(text: str | None, line: int) -> float:
    try:
        return float(text or "")
    except ValueError:
        raise InvalidInputError(
            f"line {line}: the score {shown(text or '')} is not a number", REMEDY, "not-a-number"
        ) from None


def _included(text: str | None, line: int) -> bool:
    found = INCLUDED.get((text or "").strip().lower())
    if found is None:
        raise InvalidInputError(
            f"line {line}: included is {shown(text or '')}", "write 1 (the canary was in the data) or 0", "not-binary"
        )
    return found


KINDS = {
    "scores": Verb(
        "scores of canaries against the claim: a bound from one run, or from runs with and without a canary",
        f"privet audit scores scores.csv --runs one --epsilon 8 --delta 1e-5\n\n{EXIT_CODES}",
        _options,
        _run,
    )
}

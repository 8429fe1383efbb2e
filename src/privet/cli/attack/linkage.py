"""`privet attack linkage`, `scoreboard` and `uniqueness`: who can be found in released records."""

from __future__ import annotations

import argparse
from pathlib import Path

from privet.cli.attack.result import check, show, so_far
from privet.cli.progress import counting
from privet.cli.stopping import stoppable, unless_stopped
from privet.cli.verb import Verb, check_table, result_options
from privet.errors import InvalidInputError


def _linkage_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("released", metavar="RELEASED", help="the released records: CSV, Excel, Parquet, DuckDB")
    command.add_argument(
        "known",
        metavar="KNOWN",
        nargs="?",
        help="a table of people whom somebody knows; without it: who is twice in RELEASED",
    )
    command.add_argument(
        "--on", default="", metavar="A=B,C", help="columns to compare, released=known where names differ (all shared)"
    )
    command.add_argument(
        "--truth", default="", metavar="ID", help="column with the true ids (or A=B); used for the score only"
    )
    command.add_argument(
        "--precision",
        type=float,
        default=0.95,
        metavar="P",
        help="claim a link only if it is true with at least this probability (0.95)",
    )
    command.add_argument(
        "--exact", action="store_true", help="assume that every value is right: no typos, no wrong values"
    )
    command.add_argument("--one-to-one", action="store_true", help="link each person to at most one record")
    command.add_argument(
        "--hierarchies",
        type=Path,
        metavar="DIR",
        help="folder of hierarchies such as job.csv, which say what general words stand for",
    )
    command.add_argument(
        "--matches", metavar="FILE.csv", type=Path, help="write the best guess for each record to this file"
    )
    result_options(command)


def pairs_of(text: str, option: str) -> dict[str, str]:
    """Such as a=b,c."""
    found = {}
    for part in filter(None, map(str.strip, text.split(","))):
        one, sign, other = (piece.strip() for piece in part.partition("="))
        if not one or (sign and not other):
            raise InvalidInputError(
                f"{option} {text} is not a list of columns", f"for example {option} zip=postcode,sex", "syntax-error"
            )
        found[one] = other or one
    return found


def _linkage(options: argparse.Namespace) -> int:
    check(options)
    if options.matches is not None:
        check_table(options.matches, "--matches")
    on, truth = pairs_of(options.on, "--on"), list(pairs_of(options.truth, "--truth").items())
    if len(truth) > 1:
        raise InvalidInputError("--truth must name one column of ids", "for example --truth id=person", "syntax-error")
    from privet import attacks  # noqa: PLC0415  brings NumPy and DuckDB
    from privet.attacks.proofs.work import STOPPED  # noqa: PLC0415

    with stoppable(STOPPED) as stopped, counting() as progress:
        found = attacks.attack_linkage(
            options.released,
            options.known,
            on=on or None,
            truth=_truth(truth, options.known),
            hierarchies=options.hierarchies,
            precision=options.precision,
            errors=not options.exact,
            one_to_one=options.one_to_one,
            progress=unless_stopped(stopped, progress, "control"),
        )
        findings = so_far(found.findings, stopped=stopped.is_set())
    if options.matches is not None:
        found.write(options.matches)
    return show(findings, options)


def _truth(pairs: list[tuple[str, str]], known: str | None) -> tuple[str, str] | str | None:
    """Of one table a column is enough."""
    if not pairs:
        return None
    return pairs[0][0] if known is None and pairs[0][0] == pairs[0][1] else pairs[0]


def _scoreboard_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("released", metavar="RELEASED", help="what many people did: one row per person and item")
    command.add_argument("points", metavar="POINTS", help="what is known: one row per known thing about a target")
    command.add_argument("--person", default="person", metavar="COLUMN", help="column that says who did it (person)")
    command.add_argument("--item", default="item", metavar="COLUMN", help="column that says what was done (item)")
    command.add_argument("--value", metavar="COLUMN", help="column with a number that belongs to it, such as stars")
    command.add_argument("--date", metavar="COLUMN", help="column that says when it was done")
    command.add_argument(
        "--target", metavar="COLUMN", help="column of POINTS that says whom the point is about (as --person)"
    )
    command.add_argument(
        "--truth", metavar="COLUMN", help="column of POINTS with the real person; used for the score only"
    )
    command.add_argument("--rate", type=float, default=0.01, metavar="R", help="largest share of false matches (0.01)")
    result_options(command)


def _scoreboard(options: argparse.Namespace) -> int:
    check(options)
    from privet import attacks  # noqa: PLC0415

    with counting() as progress:
        found = attacks.attack_scoreboard(
            options.released,
            options.points,
            person=options.person,
            item=options.item,
            value=options.value,
            date=options.date,
            target=options.target,
            truth=options.truth,
            rate=options.rate,
            progress=progress,
        )
    return show(found, options)


def _uniqueness_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("data", metavar="DATA", help="records; with --person, one row per thing that a person did")
    command.add_argument("--on", default="", metavar="A,B", help="the columns that may be known (all)")
    command.add_argument(
        "--person", metavar="COLUMN", help="column that says who did it; then count points of people, not columns"
    )
    command.add_argument(
        "--points", default="1,2,3,4", metavar="P,Q", help="numbers of points that the attacker knows (1,2,3,4)"
    )
    command.add_argument("--most", type=int, default=3, metavar="N", help="try sets of at most N columns (3)")
    result_options(command)


def _uniqueness(options: argparse.Namespace) -> int:
    check(options)
    points = [part.strip() for part in options.points.split(",") if part.strip()]
    if not points or not all(part.isascii() and part.isdigit() for part in points):
        raise InvalidInputError(
            f"--points {options.points} is not a list of numbers", "for example --points 1,2,3,4", "syntax-error"
        )
    from privet import attacks  # noqa: PLC0415
    from privet.attacks.proofs.work import STOPPED  # noqa: PLC0415

    with stoppable(STOPPED) as stopped, counting() as progress:
        found = attacks.attack_uniqueness(
            options.data,
            on=list(pairs_of(options.on, "--on")) or None,
            person=options.person,
            points=[int(part) for part in points],
            most=options.most,
            progress=progress,
        )
        found = so_far(found, stopped=stopped.is_set())
    return show(found, options)


KINDS = {
    "linkage": Verb(
        "link released records to a table of known people: who is found, and how surely",
        "privet attack linkage released.csv voters.csv --on zip=postcode,sex --out report.html",
        _linkage_options,
        _linkage,
    ),
    "scoreboard": Verb(
        "find a person by a few things known about them, among what many people did (ratings, trips)",
        "privet attack scoreboard ratings.csv points.csv --person user --item movie --value stars",
        _scoreboard_options,
        _scoreboard,
    ),
    "uniqueness": Verb(
        "find which columns, or how many points, single people out",
        "privet attack uniqueness people.csv --on sex,birth,zip",
        _uniqueness_options,
        _uniqueness,
    ),
}

"""`privet audit gallery`: broken mechanisms and their correct twins, and what the auditor says of each."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from privet.cli.progress import counting
from privet.cli.stopping import STOPPED, WORDS, stoppable
from privet.cli.verb import Verb, json_option, pen, print_json
from privet.errors import InvalidInputError

if TYPE_CHECKING:
    from privet.gallery.run import GalleryRow

NOT_AS_IT_SHOULD_BE = 1  # the exit code if a broken mechanism was missed, or a correct one flagged


def _options(command: argparse.ArgumentParser) -> None:
    command.add_argument("--seed", type=int, default=0, metavar="N", help="picks the parameters of the mechanisms (0)")
    command.add_argument("--only", default="", metavar="NAME", help="only mechanisms whose names begin with this")
    command.add_argument("--seconds", type=float, metavar="S", help="how long to try each mechanism (3)")
    json_option(command)


def _gallery(options: argparse.Namespace) -> int:
    """Exit code 0 if all broken mechanisms are caught and no correct one is flagged."""
    from privet.gallery.run import SECONDS, run  # noqa: PLC0415  brings NumPy

    seconds = SECONDS if options.seconds is None else options.seconds
    if not seconds > 0:
        raise InvalidInputError(f"seconds must be above 0, not {seconds:g}", "for example --seconds 3", "not-positive")
    if options.seed < 0:
        raise InvalidInputError(f"a seed is not negative, as {options.seed} is", "for example --seed 7", "negative")
    from privet.audits.stages import STOPPED as STOP  # noqa: PLC0415

    with stoppable(STOP) as asked, counting() as progress:
        rows = run(options.seed, seconds=seconds, only=options.only, progress=progress)
        stopped = asked.is_set()
    if options.json:
        told = {"seed": options.seed, **_counts(rows), "rows": [row.to_json() for row in rows]}
        print_json("gallery", told | ({"stopped": True} if stopped else {}))
    else:
        print(_table(rows, stopped=stopped))
    if stopped:
        return STOPPED
    return 0 if all(row.right for row in rows) else NOT_AS_IT_SHOULD_BE


def _counts(rows: Sequence[GalleryRow]) -> dict[str, int]:
    broken = [row for row in rows if not row.correct]
    correct = [row for row in rows if row.correct]
    return {
        "broken": len(broken),
        "caught": sum(row.flagged for row in broken),
        "correct": len(correct),
        "flagged": sum(row.flagged for row in correct),
    }


def _table(rows: Sequence[GalleryRow], *, stopped: bool) -> str:
    """A line a mechanism, and one that counts them."""
    from privet.audits.verdict import down  # noqa: PLC0415

    cells = [("mechanism", "is", "the auditor says", "at least", "claimed", "seconds", "found by")]
    for row in rows:
        says = "violated" if row.flagged else "nothing found"
        numbers = (down(row.bound, 2), f"{row.claimed:.3g}", f"{row.seconds:.1f}")
        cells.append((row.name, "correct" if row.correct else "broken", says, *numbers, row.method))
    widths = [max(len(line[column]) for line in cells) for column in range(6)]
    lines = ["  ".join([*(line[i].ljust(widths[i]) for i in range(6)), line[6]]) for line in cells]
    marked = [pen().head(lines[0]), *(_marked(row, line) for row, line in zip(rows, lines[1:], strict=True))]
    return "\n".join([*marked, "", _sentence(rows, stopped=stopped)])


def _marked(row: GalleryRow, line: str) -> str:
    return line if row.right else pen().bad(line)


def _sentence(rows: Sequence[GalleryRow], *, stopped: bool) -> str:
    n = _counts(rows)
    words = (
        f"{n['caught']} of {n['broken']} broken mechanisms caught, "
        f"{n['flagged']} of {n['correct']} correct ones flagged; {sum(row.seconds for row in rows):.0f} s of work"
    )
    if stopped:
        return f"{words}; {WORDS}: the others were not audited"
    return pen().good(words) if all(row.right for row in rows) else pen().bad(words)


KINDS = {
    "gallery": Verb(
        "audit broken mechanisms and their correct twins; exit code 1 if one is missed or flagged by mistake",
        "privet audit gallery --seed 7 --json",
        _options,
        _gallery,
    )
}

"""Verbs of the analyst: query, explain and suggest."""

from __future__ import annotations

import argparse
import csv
import io
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from privet.cli import verb
from privet.cli.progress import working
from privet.errors import InvalidInputError
from privet.output import spreadsheet_safe

if TYPE_CHECKING:
    from privet.answer import Answer
    from privet.query import Query
    from privet.vault import Vault


def _text_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("vault", metavar="VAULT")
    command.add_argument("sql", metavar="SELECT", nargs="?", help="the question in quotes, or - to read it from stdin")
    command.add_argument("--file", metavar="Q.sql", type=Path, help="read the question from a file")
    command.add_argument("--analyst", metavar="NAME", default="", help="who asks; the owner if not given")
    command.add_argument(
        "--part", metavar="NAME", help="ask about the units of this part alone; only this part is charged"
    )
    verb.json_option(command)


def _question_options(command: argparse.ArgumentParser) -> None:
    _text_options(command)
    price = command.add_argument_group("price (one of them; there is no default)")
    price.add_argument("--epsilon", help="pure epsilon, paid with Laplace noise")
    price.add_argument("--rho", help="zCDP, paid with Gaussian noise; the vault needs a delta")
    price.add_argument(
        "--within",
        action="append",
        metavar="N",
        help="largest error of the answer, with probability 95 %%: 50, or 5%% with --expected, or n=50",
    )
    price.add_argument("--expected", action="append", metavar="N", help="what 5%% is relative to: 1000, or n=1000")
    price.add_argument(
        "--delta",
        help="with --epsilon: allows groups that nobody declared, and Gaussian noise where its error is smaller",
    )
    limits = command.add_argument_group("what counts of one unit (the table's own limits if not given)")
    limits.add_argument("--max-groups", type=int, metavar="N", help="count at most N groups of a unit")
    limits.add_argument(
        "--max-rows-per-group", type=int, metavar="N", help="count at most N rows of a unit in each group"
    )
    limits.add_argument(
        "--max-rows", type=int, metavar="N", help="count at most N rows of a unit in all; if given alone, in any groups"
    )
    limits.add_argument(
        "--bounds",
        choices=["auto"],
        help="spend a quarter of epsilon to choose lower limits, where this reduces the error",
    )
    groups = command.add_argument_group("groups")
    groups.add_argument("--private-keys", action="store_true", help="show only groups with enough people")
    groups.add_argument("--other", metavar="NAME", help="add a row with this name for all groups that are not shown")
    command.add_argument(
        "--no-quantile-intervals",
        action="store_true",
        help="spend the whole price of a quantile on its value: it errs less, and nothing tells by how much",
    )
    command.add_argument(
        "--weight", metavar="COLUMN", help="count each row as often as this column says, as in surveys"
    )


def _query_options(command: argparse.ArgumentParser) -> None:
    _question_options(command)
    command.add_argument(
        "--key",
        help="a text of your choice for this request: a retry with the same text never pays twice for one answer",
    )
    command.add_argument("--fresh", action="store_true", help="pay again even if the answer is stored")
    command.add_argument(
        "--published",
        action="store_true",
        help="make the numbers fit to print, free of charge: whole, never below 0, adding up to their totals",
    )
    command.add_argument(
        "--csv", metavar="FILE.csv", type=Path, help="write the rows with their intervals to this file"
    )
    verb.spreadsheet_option(command)
    command.add_argument("--chart", metavar="FILE.svg", type=Path, help="draw them in this SVG file")


def _query(options: argparse.Namespace) -> None:
    with verb.opened(options.vault) as vault:
        asked = _asked(vault, options)
        _check_files(options, asked)
        if options.published:
            from privet.estimates.publication import AS_PRINTED, check_publication  # noqa: PLC0415

            check_publication(AS_PRINTED, asked.plan)  # before it is paid for
        with verb.charge_is_told(vault.ledger, asked.request), working("answering"):
            answer = asked.release(key=options.key, fresh=options.fresh)
    with _answer_is_kept(answer.receipt.entry):
        _deliver(answer.published() if options.published else answer, options)


def _check_files(options: argparse.Namespace, asked: Query) -> None:
    """Whatever can go wrong with the files goes wrong before anything is paid."""
    if options.csv is not None:
        verb.check_output(options.csv, "--csv")
    if options.chart is not None:
        from privet.report.answer.chart import check_drawable  # noqa: PLC0415  brings Altair

        verb.check_picture(options.chart, "--chart")
        check_drawable(asked.priced)


@contextmanager
def _answer_is_kept(entry: int) -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt as stop:
        stop.add_note(f"stopped after the answer was stored (entry {entry}): the same question gives it again, free")
        raise


def _deliver(answer: Answer, options: argparse.Namespace) -> None:
    """First to whoever asked; a file that fails then loses nothing."""
    files = {name: str(path) for name in ("csv", "chart") if (path := getattr(options, name)) is not None}
    if options.json:
        verb.print_json("answer", {**answer.to_json(), **files})
    else:
        from privet.report.answer.text import text  # noqa: PLC0415

        print(text(answer, verb.pen()))
    if options.csv is not None:
        verb.write(options.csv, _csv(answer, safe=options.spreadsheet_safe), "--csv")
    if options.chart is not None:
        from privet.report.charts import svg  # noqa: PLC0415  brings Altair

        verb.write(options.chart, svg(answer.chart()), "--chart")


def _csv(answer: Answer, *, safe: bool) -> str:
    """Numbers n with n_low and n_high beside them; a missing key is empty, and a number that is not known says so."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    table = answer.table(intervals=True, unknown="unknown")
    for row in (tuple(table), *zip(*table.values(), strict=True)):
        writer.writerow([spreadsheet_safe(cell) if safe and isinstance(cell, str) else cell for cell in row])
    return text.getvalue()


def _explain(options: argparse.Namespace) -> None:
    with verb.opened(options.vault) as vault:
        asked = _asked(vault, options)
        if options.json:
            from privet.report.explain.explanation import explanation  # noqa: PLC0415

            verb.print_json("explanation", explanation(asked).to_json())
        else:
            print(asked.explain(verb.pen()))


def _asked(vault: Vault, options: argparse.Namespace) -> Query:
    return vault.sql(
        _text(options),
        epsilon=options.epsilon,
        delta=options.delta,
        rho=options.rho,
        within=_wanted(options.within, "--within"),
        expected=_wanted(options.expected, "--expected"),
        analyst=options.analyst,
        max_groups=options.max_groups,
        max_rows_per_group=options.max_rows_per_group,
        max_rows=options.max_rows,
        bounds=options.bounds,
        private_keys=options.private_keys,
        other=options.other,
        weight=options.weight,
        part=options.part,
        quantile_intervals=not options.no_quantile_intervals,
    )


def _suggest_options(command: argparse.ArgumentParser) -> None:
    _text_options(command)
    command.add_argument("--epsilon", required=True, help="the price of the suggestion; there is no default")


def _suggest(options: argparse.Namespace) -> None:
    with verb.opened(options.vault) as vault, verb.charge_is_told(vault.ledger), working("looking"):
        found = vault.suggest_bounds(
            _text(options), epsilon=options.epsilon, analyst=options.analyst, part=options.part
        )
    if options.json:
        verb.print_json("bounds", found.to_json())
    else:
        print(found)


def _text(options: argparse.Namespace) -> str:
    if (options.sql is None) == (options.file is None):
        raise InvalidInputError(
            "there is no question" if options.sql is None else "there are two questions, one of them in --file",
            'give one: "SELECT COUNT(*) AS n FROM visits" in quotes, or --file q.sql, or - to read it from stdin',
            "not-exactly-one",
        )
    if options.file is not None:
        return verb.read_text(options.file, "the question")
    if options.sql != "-":
        return str(options.sql)
    try:
        return sys.stdin.read()
    except UnicodeDecodeError:
        raise InvalidInputError("stdin is not text in UTF-8", "send the question as UTF-8", "not-utf8") from None


def _wanted(given: list[str] | None, option: str) -> Mapping[str, Any] | str | None:
    """One number for all aggregates, or name=number for each."""
    if given is None:
        return None
    if len(given) == 1 and "=" not in given[0]:
        return given[0]
    pairs = [text.rpartition("=") for text in given]
    if any(not name for name, _, _ in pairs) or len({name for name, _, _ in pairs}) < len(pairs):
        raise InvalidInputError(
            f"{option} was given twice for the same number",
            f"give {option} 50 once, or {option} n=50 for each name",
            "duplicate-name",
        )
    return {name: number for name, _, number in pairs}


VERBS = {
    "suggest": verb.Verb(
        "suggest how many groups and rows of a unit to count, and a range for numbers; this is charged",
        'privet suggest clinic.privet "SELECT ward, AVG(cost) AS c FROM visits GROUP BY ward" --epsilon 0.1',
        _suggest_options,
        _suggest,
    ),
    "explain": verb.Verb(
        "show the price, noise and expected error of a question; nothing is spent and no data are touched",
        'privet explain clinic.privet "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward" --epsilon 0.5',
        _question_options,
        _explain,
    ),
    "query": verb.Verb(
        "ask a question: pay, compute, publish; the same question again is free",
        'privet query clinic.privet "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward" --epsilon 0.5 --chart n.svg',
        _query_options,
        _query,
    ),
}

"""`privet attack subsets` and `privet attack counter`: sums over known people, and counts that are published again."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from privet.cli.attack.result import NOTHING, check, show
from privet.cli.progress import counting
from privet.cli.verb import Verb, opened, result_options
from privet.errors import InvalidInputError

if TYPE_CHECKING:
    from privet.answer import Answer
    from privet.attacks import Findings
    from privet.attacks.subsets.decoders import Errors
    from privet.vault import Vault

TOLD = 1 - 1e-9  # of an answer's errors, to read their scale off the interval


def _options(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "file", metavar="FILE", nargs="?", type=Path,
        help="answers, and who is in which query: CSV with the columns answer,NAME,NAME,... or .npz (queries, answers)",
    )  # fmt: skip
    command.add_argument(
        "--members", metavar="FILE.csv", type=Path, help="query,person; FILE then has the columns query,answer"
    )
    command.add_argument("--noise", metavar="LAW:SIZE", help="normal:3, laplace:2, bounded:5, outliers:3:0.1 or exact")
    command.add_argument("--truth", metavar="FILE.csv", type=Path, help="name,value: the secrets, to score the attack")
    command.add_argument(
        "--rate",
        type=float,
        metavar="P",
        help="share of people whose secret is 1 (default: estimated from the answers)",
    )
    command.add_argument(
        "--decoder", default="auto", metavar="NAME", help="which decoder (default: the one for these errors)"
    )
    _simulated_options(command.add_argument_group("simulated people, to see how much error is enough"))
    _vault_options(command.add_argument_group("ask a vault conditions on what anybody can see; this is charged"))
    result_options(command)


def _simulated_options(group: Any) -> None:
    group.add_argument("--simulate", action="store_true", help="simulate secrets, queries and answers, and attack them")
    group.add_argument("--people", metavar="N", help="number of people; with --vault, a table of everybody")
    group.add_argument("--queries-per-person", type=float, default=4, metavar="K", help="ask K queries per person (4)")
    group.add_argument("--alpha", type=float, metavar="A", help="errors of A times the square root of N")
    group.add_argument("--error", type=float, metavar="E", help="errors of this size, instead of --alpha")
    group.add_argument("--law", default="normal", metavar="LAW", help="normal, laplace, bounded, outliers or exact")
    group.add_argument("--outliers", type=float, metavar="SHARE", help="share of answers that are arbitrary")
    group.add_argument("--structure", default="random", metavar="S", help="random, sparse, ranges, prefix or all")
    group.add_argument(
        "--exhaustive", action="store_true", help="ask all subsets of a few people, with errors up to the size"
    )
    group.add_argument("--seed", type=int, default=1, metavar="N", help="seed of the simulated data (1)")


def _vault_options(group: Any) -> None:
    group.add_argument("--vault", metavar="VAULT", help="the vault to ask")
    group.add_argument("--table", metavar="NAME", help="the table of the vault")
    group.add_argument("--secret", metavar="CONDITION", help='the secret to find out, such as "ill" or "ill = 1"')
    group.add_argument("--attributes", default="", metavar="A,B", help="columns that anybody can see (all of --people)")
    group.add_argument("--names", metavar="COLUMN", help="column of --people with names, for findings and truth")
    group.add_argument("--epsilon", help="the price of each question; there is no default")
    group.add_argument("--queries", type=int, metavar="N", help="ask at most N questions (4 per person)")
    group.add_argument("--analyst", metavar="NAME", default="", help="who asks; the owner if not given")


def _subsets(options: argparse.Namespace) -> int:
    check(options)
    ways = [options.file is not None, options.simulate, options.vault is not None]
    if sum(ways) != 1:
        raise InvalidInputError(
            "exactly one target of the attack is needed",
            "give FILE, --simulate, or --vault with a table",
            "not-exactly-one",
        )
    attack = (_file, _simulated, _asked)[ways.index(True)]
    with counting() as progress:
        found = attack(options, forecasts_first(progress, told=not options.json))
    code = show(found, options)
    return NOTHING if options.simulate else code  # simulated people are nobody


def forecasts_first(progress: Callable[[str, int, int], None], *, told: bool) -> Callable[[str, int, int], None]:
    """What is to be expected is printed before it is tried."""

    def tell(what: str, done: int, of: int) -> None:
        if told and what.startswith("forecast: "):
            print(what, flush=True)
        else:
            progress(what, done, of)

    return tell


def _file(options: argparse.Namespace, progress: Callable[[str, int, int], None]) -> Findings:
    from privet.attacks.subsets.file import read_errors, read_secrets, read_subsets  # noqa: PLC0415
    from privet.attacks.subsets.subset_sums import attack_subsets  # noqa: PLC0415  brings NumPy

    errors = None if options.noise is None else read_errors(options.noise)
    sums = read_subsets(options.file, options.members)
    return attack_subsets(
        sums.matrix,
        sums.answers,
        names=sums.names,
        errors=errors,
        rate=options.rate,
        decoder=options.decoder,
        truth=None if options.truth is None else read_secrets(options.truth),
        subject=sums.subject,
        progress=progress,
    )


def _simulated(options: argparse.Namespace, progress: Callable[[str, int, int], None]) -> Findings:
    people = _whole(options.people, "--people 16000")
    law: Any = "bounded" if options.exhaustive else "outliers" if options.outliers is not None else options.law
    if (options.alpha is None) == (options.error is None) and law != "exact":
        raise InvalidInputError(
            "exactly one size of errors is needed", "give --alpha 0.25, or --error 3, or --law exact", "not-exactly-one"
        )
    alpha = options.alpha if options.error is None else options.error / math.sqrt(max(people, 1))
    from privet.attacks.subsets.made import simulate  # noqa: PLC0415
    from privet.attacks.subsets.subset_sums import attack_subsets  # noqa: PLC0415  brings NumPy

    progress("making", 0, 1)
    made = simulate(
        people,
        options.queries_per_person,
        alpha or 0.0,
        law=law,
        share=0.1 if options.outliers is None else options.outliers,
        structure="all" if options.exhaustive else options.structure,
        rate=0.5 if options.rate is None else options.rate,
        seed=options.seed,
    )
    return attack_subsets(
        made.queries,
        made.answers,
        errors=made.errors,
        rate=options.rate,
        decoder="exhaustive" if options.exhaustive else options.decoder,
        truth=made.secrets,
        subject=f"simulated answers about {people:,} people",
        progress=progress,
    )


def _whole(text: str | None, example: str) -> int:
    if text is None or not (text.isascii() and text.isdigit()) or len(text) > 12:
        raise InvalidInputError("the number of people must be a number", f"for example {example}", "not-whole")
    return int(text)


def _asked(options: argparse.Namespace, progress: Callable[[str, int, int], None]) -> Findings:
    needed = ("people", "table", "secret", "epsilon")
    missing = [name for name in needed if getattr(options, name) is None]
    if missing:
        raise InvalidInputError(
            f"to ask a vault --{missing[0]} is needed",
            "for example --people public.csv --table visits --secret ill --epsilon 0.01",
            "missing-option",
        )
    from privet.attacks.promise import Privacy  # noqa: PLC0415
    from privet.attacks.subsets.file import read_secrets  # noqa: PLC0415
    from privet.attacks.subsets.predicates import attack_answers  # noqa: PLC0415  brings NumPy

    truth = None if options.truth is None else read_secrets(options.truth)
    with opened(options.vault) as vault:
        table, terms = vault.declaration(options.table), vault.terms
        asker = _Asker(vault, options.table, table.unit, options.epsilon, options.analyst)
        return attack_answers(
            asker.count,
            options.people,
            secret=options.secret,
            attributes=[name.strip() for name in options.attributes.split(",") if name.strip()] or None,
            texts=[name for name, kind in table.columns.items() if type(kind).__name__ in ("Category", "Text")],
            queries=options.queries,
            errors=asker.errors,
            rate=options.rate,
            privacy=Privacy(epsilon=terms.budget.epsilon, delta=terms.budget.delta, neighbors=terms.neighbors.value),
            truth=truth,
            names=options.names,
            subject=f"{Path(options.vault).name}, table {options.table}",
            progress=progress,
        )


class _Asker:
    """Counts units that meet a condition, at a price each."""

    def __init__(self, vault: Vault, table: str, unit: str | None, epsilon: str, analyst: str) -> None:
        self._vault, self._epsilon, self._analyst = vault, epsilon, analyst
        counted = "COUNT(*)" if unit is None else f"COUNT(DISTINCT {_quoted(unit)})"
        self._question = f"SELECT {counted} AS n FROM {_quoted(table)} WHERE "  # noqa: S608  names are quoted
        self._last: Answer | None = None

    def count(self, condition: str) -> float:
        asked = self._vault.sql(self._question + condition, epsilon=self._epsilon, analyst=self._analyst)
        self._last = asked.release()
        return float(self._last.rows[0]["n"])

    def errors(self) -> Errors:
        """As the last answer says: its interval is as wide as Laplace errors leave out a share of 1 - TOLD."""
        from privet.attacks.subsets.decoders import Errors  # noqa: PLC0415  brings NumPy

        assert self._last is not None  # noqa: S101  after an answer
        n = self._last.interval(TOLD)[0]["n"]
        return Errors("laplace", (n["high"] - n["low"]) / 2 / -math.log(1 - TOLD))


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _counter_options(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "file", metavar="FILE.csv", type=Path,
        help="one row per publication, in order: count, or count,arrivals (how many came), or count,name (who came)",
    )  # fmt: skip
    command.add_argument("--noise", required=True, metavar="LAW:SIZE", help="normal:3, laplace:1, bounded:5 or exact")
    command.add_argument("--truth", metavar="FILE.csv", type=Path, help="name,value: who added 1, to score the attack")
    command.add_argument(
        "--rate", type=float, metavar="P", help="share of people who add 1 (default: estimated from the last count)"
    )
    result_options(command)


def _counter(options: argparse.Namespace) -> int:
    check(options)
    from privet.attacks.subsets.counter import attack_counter  # noqa: PLC0415  brings NumPy
    from privet.attacks.subsets.file import read_counts, read_errors, read_secrets  # noqa: PLC0415

    counts, arrivals, names = read_counts(options.file)
    with counting() as progress:
        found = attack_counter(
            counts,
            errors=read_errors(options.noise),
            rate=options.rate,
            arrivals=arrivals,
            names=names,
            truth=None if options.truth is None else read_secrets(options.truth),
            subject=options.file.name,
            progress=forecasts_first(progress, told=not options.json),
        )
    return show(found, options)


KINDS = {
    "subsets": Verb(
        "noisy sums over known subsets of people: whose secret is 0 and whose is 1",
        "privet attack subsets --simulate --people 16000 --queries-per-person 4 --alpha 0.25 --out report.html",
        _options,
        _subsets,
    ),
    "counter": Verb(
        "a running count, published after every arrival: who added to it",
        "privet attack counter counts.csv --noise laplace:1 --out report.html",
        _counter_options,
        _counter,
    ),
}

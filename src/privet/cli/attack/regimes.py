"""`privet attack regimes` and `privet attack leak`: how much noise stops attacks, in general and on an owner's data."""

from __future__ import annotations

import argparse
from pathlib import Path

from privet.cli.attack.result import check, show, so_far
from privet.cli.progress import counting
from privet.cli.stopping import stoppable
from privet.cli.verb import Verb, result_options
from privet.errors import InvalidInputError

RANGE = 3  # parts of name:low:high


def _regimes_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("--people", type=int, required=True, metavar="N", help="number of people in the data")
    command.add_argument("--statistics", type=int, required=True, metavar="D", help="number of published means")
    command.add_argument("--epsilon", metavar="E", help="also show the noise of this epsilon")
    command.add_argument("--delta", default=0, metavar="D", help="also show Gaussian noise with this delta (0: none)")
    command.add_argument("--seed", type=int, default=0, metavar="S", help="seed of the simulated data (0)")
    result_options(command)


def _regimes(options: argparse.Namespace) -> int:
    check(options)
    from privet.attacks.membership.regimes import attack_regimes  # noqa: PLC0415  brings NumPy

    with counting() as progress:
        found = attack_regimes(
            people=options.people, statistics=options.statistics, epsilon=options.epsilon, delta=options.delta,
            seed=options.seed, progress=progress,
        )  # fmt: skip
    return show(found, options)


def _leak_options(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "data", metavar="DATA", type=Path, nargs="?", help="records, one row per person: CSV, Excel, Parquet or DuckDB"
    )
    command.add_argument(
        "--columns", metavar="A,B:0:100", help="yes/no columns, and numbers with their lowest and highest value"
    )
    command.add_argument("--made", metavar="N,D", help="simulate N people with D attributes instead of reading a file")
    command.add_argument("--epsilons", default="0.1,0.3,1,3,10", metavar="E,F", help="(0.1,0.3,1,3,10)")
    command.add_argument("--delta", default="0", metavar="D", help="Gaussian noise with this delta (0: Laplace)")
    command.add_argument(
        "--kind", default="membership", metavar="K",
        help="the attack: membership; or subsets, on one yes/no column (membership)",
    )  # fmt: skip
    command.add_argument("--neighbors", default="replace", metavar="R", help="replace or add-remove (replace)")
    command.add_argument("--runs", type=int, default=200, metavar="R", help="number of releases to attack (200)")
    command.add_argument(
        "--seed", type=int, default=0, metavar="S", help="seed of the choice who is in a release; noise has no seed (0)"
    )
    result_options(command)


def _leak(options: argparse.Namespace) -> int:
    check(options)
    if (options.data is None) == (options.made is None) or (options.data is None) != (options.columns is None):
        raise InvalidInputError(
            "leak needs records and their columns, or --made alone",
            "for example: privet attack leak patients.csv --columns smoker,age:0:99",
            "not-exactly-one",
        )
    from privet.attacks.proofs.work import STOPPED  # noqa: PLC0415
    from privet.compare.leakage import leak, made  # noqa: PLC0415  brings NumPy and DuckDB

    with stoppable(STOPPED) as stopped, counting() as progress:
        data: object = options.data if options.made is None else made(*_sizes(options.made), seed=options.seed)
        columns = _columns(options.columns) if options.columns else list(data)  # type: ignore[call-overload]
        found = leak(
            data, columns=columns, epsilons=_listed(options.epsilons), attack=options.kind, delta=options.delta,
            neighbors=options.neighbors, runs=options.runs, seed=options.seed, progress=progress,
        )  # fmt: skip
        found = so_far(found, stopped=stopped.is_set())
    return show(found, options)


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _columns(text: str) -> list[str | tuple[str, object, object]]:
    columns: list[str | tuple[str, object, object]] = []
    for part in _listed(text):
        pieces = part.rsplit(":", RANGE - 1)
        columns.append((pieces[0], pieces[1], pieces[2]) if len(pieces) == RANGE else part)
    return columns


def _sizes(text: str) -> tuple[int, int]:
    sizes = [int(part) for part in _listed(text) if part.isdecimal()]
    if len(sizes) != 2 or len(_listed(text)) != 2:
        raise InvalidInputError(
            f"--made cannot be read: {text}", "give PEOPLE,ATTRIBUTES, for example --made 400,200", "syntax-error"
        )
    return sizes[0], sizes[1]


KINDS = {
    "regimes": Verb(
        "how large the error of published means must be to stop attacks, tried on simulated data",
        "privet attack regimes --people 1000 --statistics 1000 --epsilon 1 --out regimes.html",
        _regimes_options,
        _regimes,
    ),
    "leak": Verb(
        "for the owner: what an attack gets from your data at each epsilon, and the error of the statistics",
        "privet attack leak patients.csv --columns smoker,diabetes,age:0:100 --out leak.html",
        _leak_options,
        _leak,
    ),
}

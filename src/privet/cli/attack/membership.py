"""`privet attack membership`: who is among the people whose means were published."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from privet.cli.attack.result import check, show
from privet.cli.progress import counting
from privet.cli.verb import Verb, result_options
from privet.errors import InvalidInputError

if TYPE_CHECKING:
    from privet.attacks import Findings, Privacy
    from privet.attacks.membership.files import Progress


def _options(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "statistics", metavar="STATISTICS", nargs="?", type=Path,
        help="a table with the columns name and mean (or frequency, of an allele), and optionally count",
    )  # fmt: skip
    command.add_argument(
        "--people",
        metavar="FILE",
        type=Path,
        help="the people to test: PLINK .bed, or a table with one column per mean",
    )
    command.add_argument("--reference", metavar="FILE", type=Path, help="similar people who are not in the data")
    command.add_argument(
        "--population",
        metavar="FILE",
        type=Path,
        help="means of the population: columns name and mean, and optionally deviation",
    )
    command.add_argument("--size", type=int, metavar="N", help="number of people behind the means (default: estimated)")
    command.add_argument(
        "--noise", type=float, default=0.0, metavar="SD", help="standard deviation of the noise in each mean (0)"
    )
    command.add_argument(
        "--members", metavar="FILE", type=Path, help="the truth, for the score: names of the members, one per line"
    )
    command.add_argument("--target", metavar="NAME", help="report about this person only")
    command.add_argument("--name", default="name", metavar="COLUMN", help="column with the names of people (name)")
    command.add_argument(
        "--test", default="auto", metavar="TEST", help="likelihood, inner product or Homer (likelihood)"
    )
    command.add_argument("--no-whiten", action="store_true", help="treat attributes as independent")
    command.add_argument(
        "--epsilon", metavar="E", help="the promise of the release; with --data: publish with this epsilon"
    )
    command.add_argument("--delta", default="0", metavar="D", help="delta of the promise (0)")
    command.add_argument(
        "--neighbors", default="add-remove", metavar="WHICH", help="add-remove or replace (add-remove)"
    )
    command.add_argument(
        "--data",
        metavar="FILE",
        type=Path,
        help="try it out: draw --size of these people, publish their means, attack them",
    )
    command.add_argument("--seed", type=int, default=1, metavar="S", help="seed of that draw (1)")
    result_options(command)


def _attack(options: argparse.Namespace) -> int:
    check(options)
    if (options.data is None) == (options.statistics is None):
        raise InvalidInputError(
            "name either published STATISTICS or --data to try it on",
            "for example: privet attack membership means.csv --people known.csv --reference others.csv",
            "not-exactly-one",
        )
    with counting() as progress:
        found = _tried(options, progress) if options.data is not None else _published(options, progress)
    return show(found, options)


def _published(options: argparse.Namespace, progress: Progress) -> Findings:
    if options.people is None:
        raise InvalidInputError("no people to test are given", "name a file of people with --people", "missing-option")
    from privet.attacks.membership import files  # noqa: PLC0415  brings NumPy
    from privet.attacks.membership.members import attack_membership  # noqa: PLC0415

    statistics = files.statistics_of(options.statistics)
    people = files.people_of(options.people, options.name)
    reference = None if options.reference is None else files.people_of(options.reference, options.name)
    population = None if options.population is None else files.population_of(options.population)
    size = options.size if options.size is not None else statistics.counts
    return attack_membership(
        statistics.means,
        files.in_order(people, statistics.names),
        population=None if population is None else population.in_order(statistics.names),
        reference=None if reference is None else files.in_order(reference, statistics.names),
        size=size,
        noise=options.noise,
        members=None if options.members is None else files.names_in(options.members, people.people),
        test=options.test,
        whiten=False if options.no_whiten else "auto",
        privacy=None if options.epsilon is None else _privacy(options, options.neighbors),
        target=options.target,
        names=people.people,
        subject=options.statistics.name,
        progress=progress,
    )


def _privacy(options: argparse.Namespace, neighbors: str) -> Privacy:
    from privet.attacks.promise import privacy  # noqa: PLC0415

    return privacy(options.epsilon, options.delta, neighbors)


def _tried(options: argparse.Namespace, progress: Progress) -> Findings:
    """With --epsilon, means of Privet's noise. Replacing a person moves each of d sums by the largest value at most, so
    all together by d times that: the scale of the noise is this over epsilon."""
    if options.size is None:
        raise InvalidInputError("--data needs the number of people to draw", "for example --size 100", "missing-option")
    if options.delta != "0":
        raise InvalidInputError("with --data the promise is epsilon alone", "leave --delta out", "unneeded-delta")
    from privet.attacks.membership.files import people_of  # noqa: PLC0415
    from privet.attacks.membership.trial import trial  # noqa: PLC0415

    return trial(
        people_of(options.data, options.name),
        size=options.size,
        seed=options.seed,
        privacy=None if options.epsilon is None else _privacy(options, "replace"),
        draw=None if options.epsilon is None else _laplace,
        test=options.test,
        whiten=False if options.no_whiten else "auto",
        target=options.target,
        subject=options.data.name,
        progress=progress,
    )


def _laplace(scale: object, size: int) -> object:
    from privet.noise import discrete_laplace  # noqa: PLC0415  attacks may not know it

    return discrete_laplace(scale, size)


KINDS = {
    "membership": Verb(
        "published means: who is among the people behind them (genome studies, surveys)",
        "privet attack membership means.csv --people known.csv --reference others.csv --size 100 --out report.html",
        _options,
        _attack,
    ),
}

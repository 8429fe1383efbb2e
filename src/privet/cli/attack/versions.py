"""`privet attack versions`: whose records an update of a model added or removed."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from privet.cli.attack.models import REMEDY
from privet.cli.attack.result import check, show
from privet.cli.audit.function import load
from privet.cli.progress import counting
from privet.cli.verb import Verb, result_options
from privet.errors import InvalidInputError


def _options(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "fit", metavar="FILE.py:FIT", help="a function that trains a model: fit(X, y) or fit(X, y, seed)"
    )
    command.add_argument(
        "--before", metavar="FILE", type=Path, required=True, help="records that the earlier version was trained on"
    )
    command.add_argument(
        "--after", metavar="FILE", type=Path, required=True, help="records that the later version was trained on"
    )
    command.add_argument(
        "--others", metavar="FILE", type=Path, required=True, help="similar records that neither was trained on"
    )
    command.add_argument("--label", metavar="COLUMN", required=True, help="the column with the class")
    for which in ("before", "after"):
        command.add_argument(
            f"--model-{which}",
            metavar="FILE.py:NAME",
            help=f"the {'earlier' if which == 'before' else 'later'} version: a function of rows"
            f" (default: FIT trains it on --{which})",
        )
    command.add_argument(
        "--kept",
        metavar="DIR",
        type=Path,
        help="save the answers of both functions in this folder, to continue later",
    )
    command.add_argument(
        "--shadows", type=int, default=32, metavar="N", help="number of pairs of versions to train the attack on (32)"
    )
    command.add_argument(
        "--models", type=int, default=4, metavar="N", help="number of further pairs to attack, for intervals (4)"
    )
    command.add_argument(
        "--answers",
        default="auto",
        metavar="KIND",
        help="what both versions return: probabilities, scores or labels (auto)",
    )
    command.add_argument(
        "--seed", type=int, default=0, metavar="S", help="seed of the training and of who is in each pair (0)"
    )
    result_options(command)


def _attack(options: argparse.Namespace) -> int:
    check(options)
    _check_models(options)
    fit = load(options.fit, REMEDY)
    given = [None if name is None else load(name, REMEDY) for name in (options.model_before, options.model_after)]
    from privet.attacks.models.model_files import pairs_of, update_of  # noqa: PLC0415  brings NumPy and DuckDB
    from privet.attacks.models.outputs import Asking  # noqa: PLC0415
    from privet.attacks.models.version_attack import attack_versions  # noqa: PLC0415

    (before, after, others), _ = pairs_of((options.before, options.after, options.others), options.label)
    added, removed, both, names = update_of(before, after, (options.before.name, options.after.name))
    if not names:
        raise InvalidInputError(
            f"{options.before.name} and {options.after.name} have the same records, so nothing was added or removed",
            "give the training data of two versions that differ",
            "no-variation",
        )
    with counting() as progress:
        found = attack_versions(
            *_versions(given, fit, (before, after), options.seed),
            _joined(after, added, before, removed),
            others,
            truth=["added"] * len(added) + ["removed"] * len(removed),
            base=(after[0][both], after[1][both]) if len(both) > 1 else None,
            refit=fit,
            shadows=options.shadows,
            models=options.models,
            answers=options.answers,
            asking=Asking(kept=options.kept),
            names=names,
            seed=options.seed,
            subject=f"{options.before.name} and {options.after.name}",
            progress=progress,
        )
    return show(found, options)


def _check_models(options: argparse.Namespace) -> None:
    if (options.model_before is None) != (options.model_after is None):
        there, missing = ("before", "after") if options.model_after is None else ("after", "before")
        raise InvalidInputError(
            f"--model-{there} is one version, and --model-{missing} is missing",
            f"name a function with --model-{missing}, or leave both out",
            "missing-option",
        )
    if options.kept is not None and options.model_before is None:
        raise InvalidInputError(
            "--kept saves the answers of --model-before and --model-after, which are missing",
            "name two functions, or leave --kept out",
            "missing-option",
        )


def _versions(given: list[Any], fit: Any, data: tuple[Any, Any], seed: int) -> tuple[Any, Any]:
    """A new version is trained with another seed, as chance would have it."""
    from privet.attacks.models.shadows import fitted  # noqa: PLC0415

    if given[0] is not None:
        return given[0], given[1]
    before, after = (
        fitted(fit, pair, seed + place, f"the records {('before', 'after')[place]} the update")
        for place, pair in enumerate(data)
    )
    return before, after


def _joined(after: Any, added: list[int], before: Any, removed: list[int]) -> tuple[Any, Any]:
    import numpy as np  # noqa: PLC0415

    rows, classes = (np.concatenate([after[at][added], before[at][removed]]) for at in (0, 1))
    return rows, classes


KINDS = {
    "versions": Verb(
        "two versions of a model: whose records the update added or removed",
        "privet attack versions train.py:fit --before before.csv --after after.csv --others test.csv --label income"
        " --out report.html",
        _options,
        _attack,
    ),
}

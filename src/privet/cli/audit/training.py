"""`privet audit training`: somebody's function that trains a model, against what is claimed of it."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from privet.cli.audit.function import load
from privet.cli.audit.result import EXIT_CODES, claim_of, claim_options, given, show
from privet.cli.progress import counting
from privet.cli.verb import Verb, check_report, result_options
from privet.core.rational import show as shown
from privet.errors import InvalidInputError

REMEDY = "name a function in a Python file: train.py:fit"
SCORE_REMEDY = "name a function of (model, rows, labels) in a Python file: train.py:score"


def _options(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "fit",
        metavar="FILE.py:FIT",
        help="a function that trains a model: fit(X, y) or fit(X), with seed and units if it takes them",
    )
    command.add_argument(
        "--data", metavar="FILE", type=Path, required=True, help="records that are in every training; a few are enough"
    )
    command.add_argument("--label", metavar="COLUMN", help="the column with the class, or the number to predict")
    command.add_argument("--unit", metavar="COLUMN", help="the column with the person (default: each record is one)")
    claim_options(command)
    command.add_argument(
        "--neighbors", default="add-remove", metavar="WHICH", help="add-remove or replace (add-remove)"
    )
    canaries = command.add_argument_group("canaries (valid records, which go into the data or stay out)")
    canaries.add_argument(
        "--canaries",
        type=int,
        metavar="N",
        help="number in one training, each in or out by a coin; 1: the same one in every second training (1000)",
    )
    canaries.add_argument("--runs", type=int, metavar="N", help="number of trainings (1)")
    canaries.add_argument(
        "--kinds", metavar="KIND,...", help="mislabeled, corner, repeated (default: all that the data allow)"
    )
    canaries.add_argument(
        "--range",
        action="append",
        default=[],
        metavar="COLUMN=LOW..HIGH",
        help="the declared range of a column, may be given again (default: that of the data)",
    )
    canaries.add_argument("--classes", metavar="A,B,...", help="all classes of the label (default: those of the data)")
    canaries.add_argument(
        "--rows", type=int, metavar="N", help="rows of a repeated canary (default: twice as many as anybody has)"
    )
    canaries.add_argument(
        "--score",
        metavar="FILE.py:NAME",
        help="a function of (model, rows, labels): a number per record, high if it looks trained on",
    )
    command.add_argument("--confidence", help="how sure the bound is (0.95)")
    command.add_argument("--seed", type=int, default=0, metavar="S", help="seed of the coins (0)")
    result_options(command)


def _run(options: argparse.Namespace) -> int:
    check_report(options.out)
    claim = claim_of(options)
    fit = load(options.fit, REMEDY)
    score = None if options.score is None else load(options.score, SCORE_REMEDY)
    from privet import audits  # noqa: PLC0415  brings NumPy
    from privet.attacks.models.model_files import training_records  # noqa: PLC0415  and DuckDB

    found = training_records(options.data, options.label, options.unit)
    ranges = _ranges(options.range, [*found.names, *([] if options.label is None else [options.label])])
    settings = given(options, "canaries", "runs", "rows", "confidence", "seed", "neighbors")
    with counting() as progress:
        result = audits.audit_training(
            fit,
            found.rows if found.labels is None else (found.rows, found.labels),
            claim,
            kinds=None if options.kinds is None else _listed(options.kinds),
            bounds=_bounds(ranges, found.names),
            classes=None if options.classes is None else _classes(options.classes, found.labels),
            targets=ranges.get(options.label),
            units=found.units,
            score=score,
            progress=progress,
            **settings,
        )
        return show(result, options)


def _ranges(texts: Sequence[str], names: Sequence[str]) -> dict[str, tuple[float, float]]:
    """COLUMN=LOW..HIGH."""
    found = {}
    for text in texts:
        name, _, ends = text.rpartition("=")
        low, _, high = ends.partition("..")
        if name not in names:
            raise InvalidInputError(
                f"{shown(text)} is not about a column of the file",
                f"give --range COLUMN=LOW..HIGH with one of {', '.join(names)}",
                "unknown-column",
            )
        try:
            found[name] = float(low), float(high)
        except ValueError:
            raise InvalidInputError(
                f"{shown(text)} is not a range of numbers", f"for example {name}=0..10", "syntax-error"
            ) from None
    return found


def _bounds(ranges: dict[str, tuple[float, float]], names: Sequence[str]) -> list[Any] | None:
    """Of each column: as declared, or None for what the data hold."""
    found = [ranges.get(name) for name in names]
    return found if any(one is not None for one in found) else None


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _classes(text: str, labels: Any) -> list[Any]:
    """As the labels of the file are: numbers or texts."""
    listed = _listed(text)
    if labels is None or labels.dtype.kind == "O":
        return listed
    try:
        return [float(one) for one in listed]
    except ValueError:
        raise InvalidInputError(
            f"{shown(text)} has a class that is not a number, and the labels of the file are numbers",
            "write the classes as in the file, for example --classes 0,1",
            "wrong-type",
        ) from None


KINDS = {
    "training": Verb(
        "a function that trains a model: canaries in its data test what it claims, and bound epsilon from below",
        "privet audit training train.py:fit --data train.csv --label y --epsilon 1 --delta 1e-6"
        f" --neighbors add-remove\n\n{EXIT_CODES}",
        _options,
        _run,
    )
}

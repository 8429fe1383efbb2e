"""`privet attack model` and `attributes`: who was in the training data of a model, and what it reveals about them."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from privet.cli.attack.result import check, show
from privet.cli.audit.function import load
from privet.cli.progress import counting
from privet.cli.verb import Verb, result_options
from privet.errors import InvalidInputError

REMEDY = "name a function in a Python file: train.py:fit"


def _options(command: argparse.ArgumentParser) -> None:
    _record_options(command)
    command.add_argument(
        "--shadows", type=int, default=64, metavar="N", help="number of models to train the attack on (64)"
    )
    _models_options(command)
    command.add_argument("--epsilon", metavar="E", help="epsilon of the promise of the training, which is tested")
    command.add_argument("--delta", default="0", metavar="D", help="delta of the promise (0)")
    command.add_argument(
        "--neighbors", default="add-remove", metavar="WHICH", help="add-remove or replace (add-remove)"
    )
    _seed_option(command)
    result_options(command)


def _attribute_options(command: argparse.ArgumentParser) -> None:
    _record_options(command)
    command.add_argument(
        "--sensitive", metavar="COLUMN", required=True, help="the column to infer, with at most 20 values"
    )
    _models_options(command)
    _seed_option(command)
    result_options(command)


def _record_options(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "fit", metavar="FILE.py:FIT", help="a function that trains a model: fit(X, y) or fit(X, y, seed)"
    )
    command.add_argument(
        "--members", metavar="FILE", type=Path, required=True, help="records that the model was trained on"
    )
    command.add_argument(
        "--others", metavar="FILE", type=Path, required=True, help="similar records that it was not trained on"
    )
    command.add_argument("--label", metavar="COLUMN", required=True, help="the column with the class")
    command.add_argument(
        "--model",
        metavar="FILE.py:NAME",
        help="the model under attack: a function of rows (default: FIT on the members)",
    )
    command.add_argument(
        "--kept", metavar="DIR", type=Path, help="save the answers of --model in this folder, to continue later"
    )


def _models_options(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--models", type=int, default=8, metavar="N", help="number of further models to attack, for intervals (8)"
    )
    command.add_argument(
        "--answers",
        default="auto",
        metavar="KIND",
        help="what the model returns: probabilities, scores or labels (auto)",
    )


def _seed_option(command: argparse.ArgumentParser) -> None:
    command.add_argument("--seed", type=int, default=0, metavar="S", help="seed of the choice who is in each model (0)")


def _attack(options: argparse.Namespace) -> int:
    given = _given(options)
    from privet.attacks.models.model_attack import attack_model  # noqa: PLC0415  brings NumPy and DuckDB
    from privet.attacks.promise import privacy  # noqa: PLC0415

    promise = None if options.epsilon is None else privacy(options.epsilon, options.delta, options.neighbors)
    with counting() as progress:
        found = attack_model(
            _model(given, options),
            *given.pairs,
            shadows=options.shadows,
            privacy=promise,
            progress=progress,
            **_shared(given, options),
        )
    return show(found, options)


def _attributes(options: argparse.Namespace) -> int:
    if options.sensitive == options.label:
        raise InvalidInputError(
            "--sensitive and --label name one column, and the attacker knows the label",
            "name another column with --sensitive",
            "contradictory-options",
        )
    given = _given(options)
    from privet.attacks.models.attribute_attack import attack_attributes  # noqa: PLC0415  brings NumPy and DuckDB
    from privet.attacks.models.attribute_columns import place_of  # noqa: PLC0415

    place_of(given.pairs[0][0], options.sensitive, given.names)  # before anything is trained
    with counting() as progress:
        found = attack_attributes(
            _model(given, options),
            *given.pairs,
            sensitive=options.sensitive,
            columns=given.names,
            progress=progress,
            **_shared(given, options),
        )
    return show(found, options)


@dataclass(frozen=True, slots=True)
class _Given:
    """What the files hold: how to train, a function under attack if one is named, members and others, columns."""

    fit: Callable[..., Any]
    service: Callable[..., Any] | None
    pairs: Sequence[Any]
    names: list[str]


def _given(options: argparse.Namespace) -> _Given:
    check(options)
    if options.kept is not None and options.model is None:
        raise InvalidInputError(
            "--kept saves the answers of --model, which is missing",
            "name a function with --model, or leave --kept out",
            "missing-option",
        )
    fit = load(options.fit, REMEDY)
    service = None if options.model is None else load(options.model, REMEDY)
    from privet.attacks.models.model_files import pairs_of  # noqa: PLC0415  brings NumPy and DuckDB

    pairs, names = pairs_of((options.members, options.others), options.label)
    return _Given(fit, service, pairs, names)


def _shared(given: _Given, options: argparse.Namespace) -> dict[str, Any]:
    """What every attack on a model takes."""
    from privet.attacks.models.outputs import Asking  # noqa: PLC0415

    return {
        "refit": given.fit,
        "models": options.models,
        "answers": options.answers,
        "asking": Asking(kept=options.kept),
        "seed": options.seed,
        "subject": options.members.name,
    }


def _model(given: _Given, options: argparse.Namespace) -> Any:
    if given.service is not None:
        return given.service
    from privet.attacks.models.shadows import train  # noqa: PLC0415

    return trained(train, given.fit, given.pairs[0], options.seed)


def trained(
    train: Callable[..., Any], fit: Callable[..., Any], pair: Any, seed: int, which: str = "the members"
) -> Any:
    try:
        return train(fit, (pair[0].copy(), pair[1].copy()), seed)  # it may change them
    except Exception as error:  # whatever somebody's function raises
        raise InvalidInputError(
            f"the function cannot train on {which} ({type(error).__name__})",
            "it gets an array of rows (numbers, or objects where a column has texts) and the class of each row; run it"
            " in Python to see where it fails",
            "code-fails",
        ) from None


KINDS = {
    "model": Verb(
        "a trained model: who was in its training data",
        "privet attack model train.py:fit --members train.csv --others test.csv --label income --out report.html",
        _options,
        _attack,
    ),
    "attributes": Verb(
        "a trained model: what it reveals about a sensitive column, by correlation or as a leak",
        "privet attack attributes train.py:fit --members train.csv --others test.csv --label income --sensitive smoker"
        " --out report.html",
        _attribute_options,
        _attributes,
    ),
}

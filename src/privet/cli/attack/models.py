"""`privet attack model` and `attributes`: who was in the training data of a model, and what it reveals about them."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from privet.cli.attack.result import check, show
from privet.cli.audit.function import load
from privet.cli.progress import counting
from privet.cli.verb import Verb, result_options
from privet.core.rational import show as shown
from privet.errors import InvalidInputError

REMEDY = "name a function in a Python file: train.py:fit"
SERVICE = ("rate", "batch", "header", "request", "response")
VARIABLE = re.compile(r"\$(?:\{(\w+)\}|(\w+))")


def _options(command: argparse.ArgumentParser) -> None:
    _record_options(command)
    command.add_argument(
        "--shadows",
        type=int,
        default=64,
        metavar="N",
        help="number of shadow models, on which the attack is trained (64)",
    )
    _models_options(command)
    command.add_argument(
        "--compare",
        metavar="FILE.py:FIT",
        help="train the same model privately with this function, and attack both: leak and accuracy side by side",
    )
    command.add_argument("--epsilon", metavar="E", help="epsilon of the promise of the training, which is tested")
    command.add_argument("--delta", default="0", metavar="D", help="delta of the promise (0)")
    command.add_argument(
        "--neighbors", default="add-remove", metavar="WHICH", help="add-remove or replace (add-remove)"
    )
    _last_options(command)


def _attribute_options(command: argparse.ArgumentParser) -> None:
    _record_options(command)
    command.add_argument(
        "--sensitive", metavar="COLUMN", required=True, help="the column to infer, with at most 20 values"
    )
    _models_options(command)
    _last_options(command)


def _record_options(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "fit",
        metavar="FILE.py:FIT",
        nargs="?",
        help="a function that trains a model: fit(X, y) or fit(X, y, seed); without it, give --model",
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
        help="the model under attack: a function of rows, or an address (default: FIT trains it on the members)",
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


def _last_options(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--seed", type=int, default=0, metavar="S", help="seed of the random choices, such as who is in each model (0)"
    )
    _service_options(command.add_argument_group("a model behind an address, such as --model https://host/predict"))
    result_options(command)


def _service_options(group: Any) -> None:
    group.add_argument("--rate", type=float, metavar="N", help="send at most N requests per second, evenly spaced")
    group.add_argument("--batch", type=int, metavar="N", help="send N rows per request (1000)")
    group.add_argument(
        "--header", action="append", default=[], metavar="'NAME: $VARIABLE'",
        help="send this header, with the value of an environment variable; may be given again",
    )  # fmt: skip
    group.add_argument("--request", metavar="FIELD", help="field of the request with the rows (instances)")
    group.add_argument(
        "--response",
        metavar="FIELD",
        help="field of the response with the answers, such as outputs.scores (predictions)",
    )


def _attack(options: argparse.Namespace) -> int:
    _check_comparison(options)
    given = _given(options)
    private = None if options.compare is None else load(options.compare, REMEDY)
    from privet.attacks.models.compare_models import compare_models  # noqa: PLC0415  brings NumPy and DuckDB
    from privet.attacks.models.model_attack import attack_model  # noqa: PLC0415
    from privet.attacks.promise import privacy  # noqa: PLC0415

    promise = None if options.epsilon is None else privacy(options.epsilon, options.delta, options.neighbors)
    settings = {**_settings(options), "shadows": options.shadows, "privacy": promise}
    with counting() as progress:
        settings["progress"] = progress
        if given.fit is not None and private is not None:
            found = compare_models(given.fit, private, *given.pairs, model=given.service, **settings)
        else:
            found = attack_model(_model(given, options), *given.pairs, refit=given.fit, **settings)
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
    settings = {**_settings(options), "sensitive": options.sensitive, "columns": given.names, "refit": given.fit}
    with counting() as progress:
        found = attack_attributes(_model(given, options), *given.pairs, **settings, progress=progress)
    return show(found, options)


@dataclass(frozen=True, slots=True)
class _Given:
    """How to train, the model under attack if --model names one, members and others, and their columns."""

    fit: Callable[..., Any] | None
    service: Callable[..., Any] | None
    pairs: Sequence[Any]
    names: list[str]


def _given(options: argparse.Namespace) -> _Given:
    check(options)
    _check_models(options)
    fit = None if options.fit is None else load(options.fit, REMEDY)
    service = _service(options)
    from privet.attacks.models.model_files import pairs_of  # noqa: PLC0415  brings NumPy and DuckDB

    return _Given(fit, service, *pairs_of((options.members, options.others), options.label))


def _settings(options: argparse.Namespace) -> dict[str, Any]:
    """What every attack on a model takes."""
    from privet.attacks.models.outputs import Asking  # noqa: PLC0415

    return {
        **{name: getattr(options, name) for name in ("models", "answers", "seed")},
        "asking": Asking(kept=options.kept, **({} if options.batch is None else {"batch": options.batch})),
        "subject": options.members.name,
    }


def _model(given: _Given, options: argparse.Namespace) -> Any:
    from privet.attacks.models.shadows import fitted  # noqa: PLC0415

    if given.service is not None or given.fit is None:
        return given.service
    return fitted(given.fit, given.pairs[0], options.seed)


def _check_models(options: argparse.Namespace) -> None:
    """Is there a model, and is it one whose answers are saved if that is asked?"""
    if options.kept is not None and options.model is None:
        raise InvalidInputError(
            "--kept saves the answers of --model, which is missing",
            "name a function with --model, or leave --kept out",
            "missing-option",
        )
    if options.fit is None and options.model is None:
        raise InvalidInputError(
            "there is no model to attack",
            "name a function that trains it, such as train.py:fit, or the model itself with --model",
            "missing-option",
        )


def _check_comparison(options: argparse.Namespace) -> None:
    if options.compare is None:
        return
    if options.fit is None:
        raise InvalidInputError(
            "--compare trains two models, and there is no function for the first one",
            "name it before the options: privet attack model train.py:fit --compare train.py:private ...",
            "missing-option",
        )
    if options.epsilon is None:
        raise InvalidInputError(
            "--compare needs the promise of the private training",
            "give it as --epsilon 1, and --delta 1e-6 if there is one",
            "missing-option",
        )


def _service(options: argparse.Namespace) -> Any:
    """What --model names; None if the model is trained here."""
    remote = options.model is not None and options.model.lower().startswith(("http://", "https://"))
    given = [name for name in SERVICE if getattr(options, name) not in (None, [])]
    if given and not remote:
        raise InvalidInputError(
            f"--{given[0]} applies only to a model behind an address",
            f"give the address with --model, or leave --{given[0]} out",
            "unneeded-option",
        )
    if not remote:
        return None if options.model is None else load(options.model, REMEDY)
    from privet.attacks.models.endpoint import Endpoint  # noqa: PLC0415  brings NumPy

    fields = {"rows": options.request, "answer": options.response, "per_second": options.rate}
    headers = dict(_header(text) for text in options.header)
    return Endpoint(options.model, headers=headers, **{name: one for name, one in fields.items() if one is not None})


def _header(text: str) -> tuple[str, str]:
    """Everybody on a machine can read its command lines, so the value stands in an environment variable."""
    name, colon, value = (part.strip() for part in text.partition(":"))
    names = [one or other for one, other in VARIABLE.findall(value)]
    if not colon or not names:
        raise InvalidInputError(
            "--header needs a name, a colon and an environment variable",
            "put the value into a variable and name it, in single quotes: --header 'Authorization: Bearer $TOKEN'",
            "syntax-error",
        )
    if missing := [one for one in names if one not in os.environ]:
        raise InvalidInputError(
            f"there is no environment variable {shown(missing[0])}", f"set it: export {missing[0]}=...", "missing-name"
        )
    return name, VARIABLE.sub(lambda found: os.environ[found[1] or found[2]], value)


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

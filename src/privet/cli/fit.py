"""`privet fit`: fit a model to a vault's table, and write it to a file; or score it by cross-validation."""

from __future__ import annotations

import argparse
import json
import pickle
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from privet.cli import verb
from privet.cli.progress import working
from privet.core.rational import show
from privet.errors import InvalidInputError
from privet.output import new_output
from privet.spelling import did_you_mean

if TYPE_CHECKING:
    from privet.learn.cross_validation import CrossValidation
    from privet.learn.table_fit import FitPlan
    from privet.vault import Vault

PRICED = ("epsilon", "delta", "bounds", "classes", "targets", "categories", "neighbors", "max_rows")
SCORED = ("scoring", "score_epsilon")
TARGETS = {None: "no target", "class": "a target with classes", "number": "a target that is a number"}


class _List(argparse.Action):
    """As --help: prints and exits."""

    def __call__(self, *_: object, **__: object) -> None:
        for name, learner in learners().items():
            own = [given for given in learner().get_params() if given not in PRICED]
            sys.stdout.write(
                f"{name:<20}{TARGETS[learner._target]}" + (f"; --set {' '.join(own)}" if own else "") + "\n"
            )
        raise SystemExit(0)


def learners() -> Mapping[str, Any]:
    """By name. Brings scikit-learn, or says that it is missing."""
    from privet import learn  # noqa: PLC0415  an extra
    from privet.learn.base import PrivateEstimator  # noqa: PLC0415

    found = {name: getattr(learn, name) for name in sorted(learn.__all__, key=str.casefold)}
    return {name: one for name, one in found.items() if isinstance(one, type) and issubclass(one, PrivateEstimator)}


def _options(command: argparse.ArgumentParser) -> None:
    command.add_argument("vault", metavar="VAULT")
    command.add_argument("table", metavar="TABLE")
    command.add_argument(
        "model", metavar="MODEL", help="the model to fit, such as GaussianNB or KMeans; `privet fit --list` lists all"
    )
    command.add_argument("--list", action=_List, nargs=0, help="list the models and exit")
    command.add_argument("--target", metavar="COLUMN", help="the column that the model predicts")
    command.add_argument(
        "--features", metavar="A,B,...", help="learn from these columns (default: all that can be used)"
    )
    command.add_argument(
        "--where", metavar="CONDITION", help='learn only from rows that meet this condition, such as "age >= 18"'
    )
    command.add_argument(
        "--max-rows", type=int, metavar="N", help="at most N rows of each unit count (default: the table's limits)"
    )
    command.add_argument("--epsilon", required=True, help="the price; there is no default")
    command.add_argument("--delta", default="0", help="above 0: allows Gaussian noise, where it is smaller (0)")
    command.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a setting of the model, such as n_clusters=3; may be given again",
    )
    command.add_argument(
        "--folds",
        type=int,
        metavar="K",
        help="score the model by cross-validation and write none, at the price of K - 1 fits and one test",
    )
    command.add_argument(
        "--scoring", metavar="NAME", help="with --folds: accuracy for classes; rmse or r2 for numbers (rmse)"
    )
    command.add_argument(
        "--score-epsilon", metavar="EPSILON", help="with --folds: the price of a test (default: --epsilon)"
    )
    command.add_argument("--analyst", metavar="NAME", default="", help="who asks; the owner if not given")
    command.add_argument(
        "--explain", action="store_true", help="show the price, the rounds and the noise, and spend nothing"
    )
    command.add_argument(
        "--out",
        metavar="FILE",
        type=Path,
        help="write the model to this new file: .json (read by privet.learn.load) or .pickle",
    )
    verb.json_option(command)


def _fit(options: argparse.Namespace) -> None:
    learner = _learner(options)
    _check_folds(options)
    _check_file(options.out)
    with verb.opened(options.vault) as vault:
        plan = _planned(vault, learner, options)
        if options.explain:
            if options.json:
                verb.print_json("fit", plan.to_json())
            else:
                print(plan.explain())
            return
        with verb.charge_is_told(vault.ledger, plan.planned.charge.request), working("learning"):
            found = plan.release()
    if options.folds is None:
        _deliver(found, options)
    else:
        _show(found, options)


def _planned(vault: Vault, learner: Any, options: argparse.Namespace) -> FitPlan:
    features = None if options.features is None else [name.strip() for name in options.features.split(",")]
    asked = {"target": options.target, "features": features, "max_rows": options.max_rows}
    asked |= {"where": options.where, "analyst": options.analyst}
    if options.folds is None:
        return vault.plan_fit(learner, options.table, **asked)
    asked |= {name: getattr(options, name) for name in ("folds", *SCORED)}
    return vault.plan_cross_validation(learner, options.table, **asked)


def _learner(options: argparse.Namespace) -> Any:
    """The model that was named, with its settings; letters may be small, and words divided."""
    known = learners()
    wanted = _bare(options.model)
    name = next((name for name in known if _bare(name) == wanted), None)
    if name is None:
        raise InvalidInputError(
            f"there is no model {show(options.model)}",
            f"{did_you_mean(options.model, known)}the models are: {', '.join(known)}",
            "unknown-choice",
        )
    return known[name](epsilon=options.epsilon, delta=options.delta, **_settings(options.set, known[name]))


def _bare(name: str) -> str:
    return "".join(letter for letter in name.casefold() if letter.isalnum())


def _settings(given: Sequence[str], learner: Any) -> dict[str, Any]:
    """NAME=VALUE, where a value is a number, true, false, null, a list in brackets, or else a text."""
    own = [name for name in learner().get_params() if name not in PRICED]
    found = {}
    for text in given:
        name, mark, value = text.partition("=")
        if not mark or name not in own:
            raise InvalidInputError(
                f"{show(text)} is not a setting of {learner.__name__}",
                f"write NAME=VALUE; the settings are: {', '.join(own) or 'none'}",
                "unknown-option",
            )
        try:
            found[name] = json.loads(value)
        except ValueError:
            found[name] = value
    return found


def _check_folds(options: argparse.Namespace) -> None:
    """Options that mean nothing beside the others."""
    given = [name for name in SCORED if getattr(options, name) is not None]
    if options.folds is None and given:
        raise InvalidInputError(
            f"--{given[0].replace('_', '-')} applies only to a cross-validation",
            "give --folds, for example --folds 5, or leave it out",
            "missing-option",
        )
    if options.folds is not None and options.out is not None:
        raise InvalidInputError(
            "a cross-validation makes no model to write with --out",
            "leave --out out; to write the scores to a file, add --json > scores.json",
            "contradiction",
        )


def _check_file(path: Path | None) -> None:
    """Before the price is paid, not after it."""
    if path is None:
        return
    if path.suffix.lower() not in (".json", ".pickle", ".pkl"):
        raise InvalidInputError(
            f"{show(path.name)} is neither JSON nor a pickle",
            "give --out a name that ends in .json or .pickle",
            "wrong-ending",
        )
    verb.check_output(path, "--out")


def _deliver(model: Any, options: argparse.Namespace) -> None:
    """First the file: the same fit again is free, if that fails."""
    from privet.learn.model_file import model_json, text_of  # noqa: PLC0415

    if options.out is not None:
        if options.out.suffix.lower() == ".json":
            verb.write(options.out, text_of(model), "--out")
        else:
            with new_output(options.out) as part:
                part.write_bytes(pickle.dumps(model))
    where = None if options.out is None else str(options.out)
    if options.json:
        verb.print_json("model", {**model_json(model), "file": where})
        return
    print(model.privacy_)
    print(_where(options.out))


def _show(found: CrossValidation, options: argparse.Namespace) -> None:
    if options.json:
        verb.print_json("cross-validation", found.to_json())
    else:
        print(found)


def _where(path: Path | None) -> str:
    if path is None:
        return "the model was not written to a file: the same command with --out model.json writes it, free of charge"
    if path.suffix.lower() == ".json":
        return f"the model is in {path}: privet.learn.load({json.dumps(str(path))}) reads it"
    return f"the model is in {path}: pickle.load reads it; never open a pickle that you do not trust"


VERBS = {
    "fit": verb.Verb(
        "fit a model to a table under differential privacy, or score it (--folds); the same fit again is free",
        "privet fit clinic.privet visits GaussianNB --target readmitted --epsilon 1 --out model.json",
        _options,
        _fit,
    ),
}

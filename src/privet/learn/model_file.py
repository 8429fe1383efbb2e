"""Models as JSON: coefficients, declarations and the card, for people and programs; read without running anything."""

from __future__ import annotations

import datetime as dt
import json
import math
from collections.abc import Mapping
from dataclasses import asdict, fields
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from privet.core import schema
from privet.core.rational import show
from privet.core.schema import Boolean, Category, Date, Integer, Kind, Number, Timestamp
from privet.errors import InvalidInputError
from privet.learn.base import PrivateEstimator
from privet.learn.card import ModelCard
from privet.learn.table_columns import Feature, TableColumns
from privet.output import write_text

FORMAT = 1
KINDS = {kind.__name__: kind for kind in (Boolean, Category, Date, Integer, Number, Timestamp)}
APART = ("privacy_", "table_columns_")  # attributes with a form of their own


def save(model: PrivateEstimator, path: str | Path) -> None:
    """Write the fitted `model` to `path`, a new file that ends in .json. `load` reads it.

    Raises InvalidInputError if the model is not fitted, or the file exists or ends in something else."""
    name = Path(path)
    if name.suffix.lower() != ".json":
        raise InvalidInputError(
            f"{show(name.name)} does not end in .json", 'for example save(model, "model.json")', "wrong-ending"
        )
    write_text(name, text_of(model))


def text_of(model: PrivateEstimator) -> str:
    """The file's text. `privet recheck` finds the price in it."""
    return json.dumps({"privet": 1, "kind": "model", "result": model_json(model)}, indent=1, allow_nan=False) + "\n"


def model_json(model: PrivateEstimator) -> dict[str, Any]:
    if not hasattr(model, "privacy_"):
        raise InvalidInputError("this model is not fitted", "call fit first", "missing-value")
    attributes = {name: value for name, value in vars(model).items() if _learned(name) and name not in APART}
    columns = getattr(model, "table_columns_", None)
    card = asdict(model.privacy_)
    return {
        "format": FORMAT,
        "model": type(model).__name__,
        "parameters": {name: _written(value) for name, value in model.get_params(deep=False).items()},
        "fitted": {name: _written(value) for name, value in attributes.items()},
        "columns": None if columns is None else _columns_json(columns),
        "guarantee": card.pop("guarantee"),
        "card": card,
    }


def load(path: str | Path) -> Any:
    """Return the model that `save` wrote to `path`. Unlike a pickle, the file runs no code.

    Raises InvalidInputError if the file cannot be read or is not the file of a model."""
    name = Path(path)
    try:
        found = json.loads(name.read_text(encoding="utf-8"))
        return _model(found["result"])
    except OSError as error:
        raise InvalidInputError(
            f"cannot read {name}: {error.strerror}", "give the path of a model's file", "missing-file"
        ) from None
    except InvalidInputError:
        raise
    except Exception:  # whatever is wrong, the file was not written by `save`
        raise InvalidInputError(
            f"{show(name.name)} is not the file of a model",
            "give a file that `save` or `privet fit` wrote",
            "wrong-format",
        ) from None


def _learned(name: str) -> bool:
    """Attributes that a fit gave: coef_ and the like, and what predictions need beside them."""
    return name.endswith("_") or name.startswith("_")


def _model(result: Mapping[str, Any]) -> PrivateEstimator:
    from privet import learn  # noqa: PLC0415  the list of learners, which is above

    if result["format"] != FORMAT:
        raise InvalidInputError(
            f"the file has format {show(result['format'])}, and this version reads {FORMAT}",
            "read it with the version that wrote it",
            "wrong-format",
        )
    kind = {name: getattr(learn, name) for name in learn.__all__}.get(result["model"])
    if not (isinstance(kind, type) and issubclass(kind, PrivateEstimator)):
        raise InvalidInputError(
            f"there is no learner {show(result['model'])}", "read it with the version that wrote it", "unknown-choice"
        )
    model = kind(**{name: _read(value) for name, value in result["parameters"].items()})
    for name, value in result["fitted"].items():
        if not _learned(name) or name.startswith("__") or hasattr(kind, name):
            raise InvalidInputError(f"{show(name)} is not learned", "give a file that `save` wrote", "wrong-format")
        setattr(model, name, _read(value))
    if result["columns"] is not None:
        model.table_columns_ = _columns(result["columns"])
    model.privacy_ = _card(result)
    return model


def _card(result: Mapping[str, Any]) -> ModelCard:
    lists = {name: tuple(result["card"][name]) for name in ("warnings", "not_promised")}
    return ModelCard(**{**result["card"], **lists, "guarantee": result["guarantee"]})


def _written(value: Any) -> Any:
    """As JSON: plain values as they are, others with their kind as a key."""
    match value:
        case np.ndarray():
            return {"array": [_written(one) for one in value.tolist()], "type": _type_of(value)}
        case np.generic():
            return _written(value.item())
        case float():
            return value if math.isfinite(value) else {"float": str(value)}
        case Fraction():
            return {"fraction": str(value)}
        case tuple():
            return {"tuple": [_written(one) for one in value]}
        case range() | list():
            return [_written(one) for one in value]
        case dict():
            return {"pairs": [[_written(key), _written(one)] for key, one in value.items()]}
        case bool() | int() | str() | None:
            return value
        case _:
            raise InvalidInputError(
                f"a value of type {type(value).__name__} cannot be written as JSON", "write a pickle", "not-supported"
            )


def _type_of(array: Any) -> str:
    return "object" if array.dtype == object else str(array.dtype.str)


def _read(value: Any) -> Any:
    match value:
        case {"array": list(items), "type": str(kind)}:
            found = [_read(one) for one in items]
            return np.array(found, object if kind == "object" else np.dtype(kind))
        case {"float": str(text)}:
            return float(text)
        case {"fraction": str(text)}:
            return Fraction(text)
        case {"tuple": list(items)}:
            return tuple(_read(one) for one in items)
        case {"pairs": list(pairs)}:
            return {_read(key): _read(one) for key, one in pairs}
        case list(items):
            return [_read(one) for one in items]
        case _:
            return value


def _columns_json(columns: TableColumns) -> dict[str, Any]:
    listed = [
        {"source": one.source, "value": one.value, "coded": one.coded, "declared": _kind_json(one.kind)}
        for one in columns.features
    ]
    return {"table": columns.table, "features": listed}


def _columns(found: Mapping[str, Any]) -> TableColumns:
    features = tuple(
        Feature(source=one["source"], value=one["value"], coded=one["coded"], kind=_kind(one["declared"]))
        for one in found["features"]
    )
    return TableColumns(table=found["table"], features=features)


def _kind_json(kind: Kind) -> dict[str, Any]:
    given = {part.name: getattr(kind, part.name) for part in fields(kind)}
    plain = {name: _plain(value) for name, value in given.items() if name not in schema.FLAGS or value}
    return {"kind": type(kind).__name__, **plain}


def _plain(value: Any) -> Any:
    match value:
        case Fraction():
            return str(value)
        case dt.date():
            return value.isoformat()
        case tuple():
            return list(value)
        case _:
            return value


def _kind(found: Mapping[str, Any]) -> Kind:
    given = {name: value for name, value in found.items() if name != "kind"}
    made: Kind = KINDS[found["kind"]](**given)
    return made

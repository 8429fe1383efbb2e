"""Models trained again. Coins decide who is in each of them, so it is known, and independent of everything else.

Every member who is a candidate shares a slot with somebody who was not in the data. A coin for each slot puts one of
the two into a model, so all models are trained on as many records as the model under attack. Members without a slot are
in every model.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from privet.attacks.models.outputs import Asking, Kind, Outputs, outputs
from privet.attacks.models.records import Records
from privet.errors import InvalidInputError
from privet.typing import Floats, Integers, Truths

Refit = Callable[..., Any]  # rows, classes (and seed=, if it takes one) -> a model
Progress = Callable[[str, int, int], None]
SEEDS = 2**31


@runtime_checkable
class Stack(Protocol):
    """A refit that trains many models at once: on which rows each of them learns, and the seed of each."""

    def fit_many(self, rows: Any, labels: Any, chosen: list[Integers], seeds: list[int]) -> list[Any]: ...


@dataclass(frozen=True, slots=True, eq=False)
class Pool:
    """All records; `slots` has the places of a member and of somebody who is not one, side by side; `fixed` those of
    members without a slot."""

    records: Records
    slots: Integers
    fixed: Integers

    @property
    def candidates(self) -> Integers:
        """First the members, then the others, both in the order of slots."""
        return self.slots.T.ravel()

    @property
    def truth(self) -> Truths:
        """Of the model under attack."""
        return np.repeat([True, False], len(self.slots))


@dataclass(frozen=True, slots=True, eq=False)
class Told:
    """What models said of the candidates, a row each (`odds`, and `top` with a layer more), and who was in them."""

    odds: Floats
    top: Floats
    inside: Truths

    def __len__(self) -> int:
        return len(self.odds)

    def chosen(self, which: Truths) -> Told:
        return Told(self.odds[which], self.top[which], self.inside[which])

    def model(self, place: int) -> Outputs:
        return Outputs(self.odds[place], self.top[place])


@dataclass(frozen=True, slots=True, eq=False)
class Trained:
    """`failed`: how many trainings raised an error, and the kind of the last one: its words may hold data."""

    told: Told
    failed: int
    error: str


def pool_of(members: Records, others: Records, draw: np.random.Generator) -> Pool:
    size = min(len(members), len(others))
    inside = draw.permutation(len(members))
    outside = len(members) + draw.permutation(len(others))[:size]
    slots = np.stack([inside[:size], outside], axis=1)
    return Pool(members.and_then(others), slots, np.sort(inside[size:]))


def refit_of(model: Any) -> Refit | None:
    """scikit-learn's way to train a model like this one: a clone, with a seed of its own where it takes one."""
    if not all(callable(getattr(model, name, None)) for name in ("fit", "get_params", "set_params")):
        return None
    try:
        clone = importlib.import_module("sklearn.base").clone
    except ImportError:
        raise InvalidInputError(
            "training a model like this one again needs scikit-learn",
            'install it with pip install "privet[learn]", or give refit= a function of (X, y) that returns a model',
            "missing-extra",
        ) from None

    def again(rows: Any, labels: Any, *, seed: int) -> Any:
        copy = clone(model)
        seeds = [name for name in copy.get_params() if name == "random_state" or name.endswith("__random_state")]
        return copy.set_params(**dict.fromkeys(seeds, seed)).fit(rows, labels)

    return again


def takes_seed(refit: Refit) -> bool:
    try:
        return "seed" in inspect.signature(refit).parameters
    except (TypeError, ValueError):
        return False


def train(refit: Refit | Stack, pair: tuple[Any, npt.NDArray[Any]], seed: int) -> Any:
    """A model on these rows and classes."""
    if isinstance(refit, Stack):
        return refit.fit_many(*pair, [np.arange(len(pair[1]))], [seed])[0]
    return refit(*pair, **({"seed": seed} if takes_seed(refit) else {}))


def fitted(refit: Refit | Stack, pair: tuple[Any, Any], seed: int, which: str = "the members") -> Any:
    """A model to attack, trained on these records. Raises InvalidInputError if that fails."""
    try:
        return train(refit, (pair[0].copy(), pair[1].copy()), seed)  # it may change them
    except Exception as error:  # whatever somebody's function raises
        raise InvalidInputError(
            f"the function cannot train on {which} ({type(error).__name__})",
            "it gets an array of rows (numbers, or objects where a column has texts) and the class of each row; run it"
            " in Python to see where it fails",
            "code-fails",
        ) from None


def trained(  # noqa: PLR0913, PLR0917  what is trained, on what, and how it is asked
    refit: Refit | Stack,
    pool: Pool,
    classes: npt.NDArray[Any],
    kind: Kind,
    draw: np.random.Generator,
    models: int,
    tell: Callable[[int, int], None],
    asked: Records | None = None,
) -> Trained:
    """Models on coins of their own, and what they say of every candidate, or of the records in `asked`. One that fails
    is left out."""
    failed, error = 0, ""
    asked = pool.records.take(pool.candidates) if asked is None else asked
    rows: list[tuple[Outputs, Truths]] = []
    for inside, make in _models(refit, pool, models, draw):
        tell(len(rows) + failed, models)
        try:
            told = outputs(make(), asked, classes, kind, Asking())[0]
            if not np.isfinite(told.odds).any():
                raise ArithmeticError
            rows.append((told, inside))
        except Exception as problem:  # whatever training raises
            failed, error = failed + 1, type(problem).__name__
    return Trained(_stacked(rows, len(asked)), failed, error)


def _models(
    refit: Refit | Stack, pool: Pool, models: int, draw: np.random.Generator
) -> Iterator[tuple[Truths, Callable[[], Any]]]:
    """Who is in, and a function that makes the model."""
    coins = draw.random((models, len(pool.slots))) < 0.5
    insides = np.concatenate([coins, ~coins], axis=1)
    chosen = [draw.permutation(np.concatenate([pool.fixed, pool.candidates[row]])) for row in insides]
    seeds = [int(seed) for seed in draw.integers(SEEDS, size=models)]
    yield from zip(insides, makers(refit, pool.records, chosen, seeds), strict=True)


def makers(
    refit: Refit | Stack, records: Records, chosen: list[Integers], seeds: list[int]
) -> Iterator[Callable[[], Any]]:
    """For each list of places and its seed a function that gives the model of these records."""
    if isinstance(refit, Stack):
        yield from (partial(_same, model) for model in refit.fit_many(records.rows, records.labels, chosen, seeds))
        return
    for places, seed in zip(chosen, seeds, strict=True):
        yield partial(_again, refit, records, places, seed)


def _same(model: Any) -> Any:
    return model


def _again(refit: Refit, records: Records, places: Integers, seed: int) -> Any:
    chosen = records.take(places)
    return train(refit, (chosen.rows, chosen.labels), seed)


def _stacked(rows: list[tuple[Outputs, Truths]], size: int) -> Told:
    if not rows:
        return Told(np.empty((0, size)), np.empty((0, size, 0)), np.empty((0, size), np.bool_))
    return Told(
        np.stack([told.odds for told, _ in rows]),
        np.stack([told.top for told, _ in rows]),
        np.stack([inside for _, inside in rows]),
    )

"""Learners and their lessons for tests: what each row adds in each round, and what two tables add, given the same
noisy sums."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from privet import training
from privet.backends import Course
from privet.backends.contributions import Lesson, Recode, RowFunction, Rows, Scaled, Vectors
from privet.backends.held_rows import HeldRows
from privet.catalog.declarations import Source, Table
from privet.core.rounds import Form, Priced, Round, Sums, priced
from privet.core.schema import Integer
from privet.core.unit import Neighbors
from privet.learn.base import PrivateEstimator
from privet.learn.categorical_bayes import CategoricalNB
from privet.learn.declared import Declared
from privet.learn.gaussian_bayes import GaussianNB
from privet.learn.kmeans import KMeans
from privet.learn.linear import LinearRegression, Ridge
from privet.learn.logistic import LogisticRegression
from privet.learn.pca import PCA
from privet.learn.scaler import StandardScaler
from privet.typing import Floats
from support.row_functions import block_of

NUMBERS: dict[str, Any] = {"bounds": (-1, 3)}
CLASSES: dict[str, Any] = {"classes": ["no", "so", "yes"]}
LEARNERS: dict[str, Callable[..., PrivateEstimator]] = {
    "StandardScaler": lambda **more: StandardScaler(**NUMBERS | more),
    "GaussianNB": lambda **more: GaussianNB(**NUMBERS | CLASSES | more),
    "LogisticRegression": lambda **more: LogisticRegression(**NUMBERS | CLASSES | more),
    "OneMargin": lambda **more: LogisticRegression(**NUMBERS | {"classes": ["no", "yes"]} | more),
    "CategoricalNB": lambda **more: CategoricalNB(**CLASSES | {"categories": [["a", "b"], [0, 1, 2]]} | more),
    "KMeans": lambda **more: KMeans(**NUMBERS | {"n_clusters": 2} | more),
    "PCA": lambda **more: PCA(**NUMBERS | more),
    "LinearRegression": lambda **more: LinearRegression(**NUMBERS | {"targets": (0, 10)} | more),
    "Ridge": lambda **more: Ridge(**NUMBERS | {"targets": (0, 10)} | more),
}
COLUMNS = 2


def table_of(name: str, rows: int, seed: int = 1) -> tuple[Any, Any]:
    """X and y, within what is declared."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 3, rows)
    if name == "CategoricalNB":
        words = np.array(["a", "b"], object)[rng.integers(0, 2, rows)]
        return np.column_stack([words, rng.integers(0, 3, rows).astype(object)]), np.array(["no", "so", "yes"])[labels]
    matrix = np.clip(rng.normal([0.5, 1.5], [0.4, 0.7], (rows, COLUMNS)) + 0.3 * labels[:, None], -1, 3)
    words, two = np.array(["no", "so", "yes"])[labels], np.array(["no", "yes", "yes"])[labels]
    target = {"GaussianNB": words, "LogisticRegression": words, "OneMargin": two}
    return matrix, target.get(name, np.clip(matrix.sum(axis=1) + rng.normal(size=rows), 0, 10))


@dataclass(frozen=True)
class Setting:
    """A learner with everything that is declared and priced."""

    model: PrivateEstimator
    declared: Declared
    prices: Priced
    neighbors: Neighbors

    def lesson(self) -> Lesson:
        return self.model._lesson(self.declared, self.prices)

    @property
    def course(self) -> Course:
        kinds = {f"c{at}": Integer(0, column.top) for at, column in enumerate(self.declared.columns)}
        unit = None if self.declared.rows == 1 else "who"
        table = Table(name="t", source=Source(kind="memory"), unit=unit, columns=kinds)
        rows, rounds = self.declared.rows, self.prices.rounds
        return Course(table=table, columns=tuple(kinds), rows=rows, rounds=rounds, secret=b"s" * 16)


def setting(model: PrivateEstimator, neighbors: Neighbors = Neighbors.ADD_REMOVE, rows: int = 1) -> Setting:
    model.set_params(neighbors=neighbors.value, max_rows=rows)
    declared = model._declared([f"x{at}" for at in range(COLUMNS)], rows > 1)
    return Setting(model, declared, priced(model._shares(declared), rows, neighbors, *model._price()), neighbors)


def raw_of(made: Setting, X: Any, y: Any) -> Floats:  # noqa: N803
    raw, _ = made.model._rows(np.asarray(X), y, None, made.declared)
    return raw


def transcript(made: Setting, raw: Floats, seed: int = 3) -> list[list[list[int]]]:
    """Noisy sums as there may be."""
    rng, rows, heard = np.random.default_rng(seed), Rows(raw), []

    def answer(one: Round, function: RowFunction) -> list[list[int]]:
        exact = rows.sums(function, [each.sums for each in one])
        heard.append(
            [[v + int(rng.normal() * each.deviation) for v in vector] for vector, each in zip(exact, one, strict=True)]
        )
        return heard[-1]

    training._play(made.lesson(), made.prices.rounds, answer, rows)
    return heard


def exact_sums(made: Setting, rows: Rows, heard: list[list[list[int]]]) -> Iterator[tuple[Sums, list[int]]]:
    """What these rows add up to in each round, after the same noisy sums."""
    found: list[tuple[Sums, list[int]]] = []
    told = iter(heard)

    def answer(one: Round, function: RowFunction) -> list[list[int]]:
        measured = [each.sums for each in one]
        found.extend(zip(measured, rows.sums(function, measured), strict=True))
        return next(told)

    training._play(made.lesson(), made.prices.rounds, answer, rows)
    return iter(found)


def rows_of(made: Setting, raw: Floats, units: Any = None) -> Rows:
    return HeldRows(raw, units).rows(made.course)


def steps_of(made: Setting, heard: list[list[list[int]]]) -> Iterator[tuple[Round, RowFunction, Recode | None]]:
    """The row function of each round, and what the rows were recoded by."""
    told, rounds, recode = iter(heard), iter(made.prices.rounds), None
    lesson = made.lesson()
    step = next(lesson)
    try:
        while True:
            if isinstance(step, Recode):
                recode = step
                step = lesson.send([])
            else:
                yield next(rounds), step, recode
                step = lesson.send(next(told))
    except StopIteration:
        return


def added(sums: Sums, given: Vectors | Scaled, values: Floats) -> Floats:
    """What each row adds, before any limit: of a gram the vector that is multiplied by itself."""
    if isinstance(given, Vectors):
        return given.matrix
    if given.by is None:
        assert sums.form is Form.GRAM
        return values
    return np.einsum("ia,ib->iab", given.by, values).reshape(len(values), -1)


def extremes(declared: Declared) -> Floats:
    """Rows at all ends of all ranges, in the middle, and near the ends; of categories all of them."""
    ends = [
        range(column.top + 1) if column.values else (0, 1, column.top // 3, column.top // 2, column.top)
        for column in declared.columns
    ]
    return np.array(list(itertools.product(*ends)), float)


def lengths(made: Setting, heard: list[list[list[int]]]) -> Iterator[tuple[Sums, Floats, Floats]]:
    """For each vector of each round: what is declared, and the sums and squared lengths of the extreme rows."""
    raw = extremes(made.declared)
    for one, function, recode in steps_of(made, heard):
        block = block_of(raw, recode)
        for each, given in zip(one, function(block), strict=True):
            matrix = added(each.sums, given, block.values)
            yield each.sums, np.abs(matrix).sum(axis=1), (matrix**2).sum(axis=1)

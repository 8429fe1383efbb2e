"""Naive Bayes for categories from one round of noisy marginals: each class with each category of each column."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from privet.backends.contributions import Block, Lesson, Vectors
from privet.core.claim import claim
from privet.core.rational import show
from privet.core.rounds import Priced, Shares, counts
from privet.errors import InvalidInputError
from privet.learn.declared import Column, Declared
from privet.learn.memory import codes_of, is_value
from privet.learn.naive_bayes import NaiveBayes
from privet.typing import Floats

SPREAD = 2.0  # squared: how far the rate of a category in a class is from that of all rows, in multiples of that
LISTS = (Sequence, np.ndarray)
LEAST = 0.05  # of the count that is expected where a category says nothing about the class


class CategoricalNB(NaiveBayes):
    """Naive Bayes for categories, as scikit-learn's.

    epsilon, delta: the price. categories: for each column the list of its values, or one list for all columns.
    classes: all labels. neighbors: "add-remove" or "replace". max_rows: how many rows of a unit count.

    A fit leaves out rows with a category that was not declared; a prediction ignores such a value.
    """

    _texts = True
    bounds: Any = None

    def __init__(  # noqa: PLR0913
        self,
        *,
        epsilon: Any = None,
        delta: Any = 0,
        categories: Any = None,
        classes: Any = None,
        neighbors: str = "add-remove",
        max_rows: int = 1,
    ) -> None:
        self.epsilon, self.delta, self.categories, self.classes = epsilon, delta, categories, classes
        self.neighbors, self.max_rows = neighbors, max_rows

    def _features(self, names: list[str]) -> tuple[Column, ...]:
        return categories_from(self.categories, names)

    def _shares(self, declared: Declared) -> Shares:
        cells = len(declared.classes) * sum(sizes_of(declared))
        return [[(counts(cells, len(declared.features)), Fraction(1))]]

    def _lesson(self, declared: Declared, prices: Priced) -> Lesson:
        sizes, classes = sizes_of(declared), len(declared.classes)
        (noisy,) = yield lambda block: [Vectors(marked_cells(block, sizes, classes))]
        table = np.array(noisy, np.float64).reshape(classes, -1)
        marginals = np.split(table, np.cumsum(sizes)[:-1], axis=1)
        rows, marginals = _agreeing(marginals)
        shares = _shares_of(marginals, rows, prices.rounds[0][0].deviation)
        return {
            "classes_": np.array(declared.classes),
            "class_count_": rows,
            "class_log_prior_": np.log(rows / rows.sum()),
            "categories_": [column.values for column in declared.features],
            "n_categories_": np.array(sizes),
            "feature_log_prob_": [np.log(share) for share in shares],
        }

    @claim("row-functions")
    def _predicted(self, raw: Floats, declared: Declared) -> Floats:
        found = np.tile(self.class_log_prior_, (len(raw), 1))
        for at, logs in enumerate(self.feature_log_prob_[: len(declared.features)]):
            found = found + logs.T[raw[:, at].astype(np.int64)]
        return np.asarray(found.argmax(axis=1), np.float64)

    def _joint(self, X: Any) -> Floats:  # noqa: N803
        rows = self._checked(X, dtype=None, ensure_all_finite=False)
        found = np.tile(self.class_log_prior_, (len(rows), 1))
        for at, (values, logs) in enumerate(zip(self.categories_, self.feature_log_prob_, strict=True)):
            codes = codes_of(rows[:, at], values)
            known = ~np.isnan(codes)
            found[known] += logs.T[codes[known].astype(np.int64)]
        return found


def categories_from(categories: object, names: Sequence[str]) -> tuple[Column, ...]:
    if categories is None:
        raise InvalidInputError(
            "categories are missing: they never come from the data",
            'give a list for each column: categories=[["a", "b"], [0, 1, 2]]',
            "not-declared",
        )
    lists = list(categories) if isinstance(categories, LISTS) and not isinstance(categories, str) else []
    if lists and not any(isinstance(each, LISTS) and not isinstance(each, str) for each in lists):
        lists = [lists] * len(names)
    if len(lists) != len(names) or not lists:
        raise InvalidInputError(
            f"categories do not fit {len(names)} columns",
            "give one list of values for each column, or one list for all columns",
            "wrong-type",
        )
    return tuple(_category(name, values) for name, values in zip(names, lists, strict=True))


def _category(name: str, values: object) -> Column:
    plain = values if isinstance(values, LISTS) and not isinstance(values, str) else ()
    found = tuple(value.item() if isinstance(value, np.generic) else value for value in plain)
    if not found or not all(is_value(value) for value in found) or len(set(found)) != len(found):
        raise InvalidInputError(
            f"the categories of {name} must be one or more different values, not {show(values)}",
            'for example ["a", "b"]',
            "wrong-type",
        )
    return Column(name=name, values=found, top=len(found) - 1)


def sizes_of(declared: Declared) -> list[int]:
    return [len(column.values) for column in declared.features]


@claim("row-functions")
def marked_cells(block: Block, sizes: Sequence[int], classes: int) -> Floats:
    """A row is in one cell for each column: that of its class and its category."""
    width = sum(sizes)
    found = np.zeros((len(block.raw), classes * width))
    begin = block.raw[:, -1].astype(np.int64) * width
    for at, size in enumerate(sizes):
        found[np.arange(len(found)), begin + block.raw[:, at].astype(np.int64)] = 1.0
        begin = begin + size
    return found


def _agreeing(marginals: Sequence[Floats]) -> tuple[Floats, list[Floats]]:
    """The rows of each class, from all columns (a sum of fewer noisy counts weighs more), and counts that add up."""
    weights = np.array([1 / one.shape[1] for one in marginals])
    totals = np.array([one.sum(axis=1) for one in marginals])
    rows = np.maximum(weights @ totals / weights.sum(), 1.0)
    fitted = [one + ((rows - one.sum(axis=1)) / one.shape[1])[:, None] for one in marginals]
    return rows, fitted


def _shares_of(marginals: Sequence[Floats], rows: Floats, noise: float) -> list[Floats]:
    """Shares of the categories in each class, drawn to those of all rows: the more, the stronger noise and chance are
    beside what a category may say about the class."""
    shares = []
    for found in marginals:
        everybody = np.maximum(found.sum(axis=0), 1.0)
        expected = np.outer(rows, everybody / everybody.sum())
        said = SPREAD * expected**2
        drawn = expected + said / (said + expected + noise**2) * (found - expected)
        drawn = np.maximum(drawn, LEAST * expected)
        shares.append(drawn / drawn.sum(axis=1, keepdims=True))
    return shares

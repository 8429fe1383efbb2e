"""What all learners share: what must be declared, the way to the gate, the card, and scikit-learn's conventions."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Protocol, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_array, validate_data

from privet import training
from privet.answer import warnings_of
from privet.backends import Course
from privet.backends.contributions import Lesson
from privet.backends.held_rows import HeldRows
from privet.catalog.declarations import Source, Table
from privet.core.expression import Expression
from privet.core.laws import DiscreteGaussian
from privet.core.loss import Loss
from privet.core.plan import fingerprint
from privet.core.rational import below_one, positive, whole
from privet.core.rounds import Priced, Round, Shares, priced
from privet.core.schema import Integer
from privet.core.unit import Neighbors, neighbors_from
from privet.engine import Gate, Release
from privet.errors import InvalidInputError
from privet.learn.card import ModelCard
from privet.learn.declared import Column, Declared, classes_from, ranges_from, steps_of
from privet.learn.memory import NOBODY, codes_of, column_from, numbers_of, table_from, units_from
from privet.learn.own_gate import own_gate
from privet.ledger import Charge, Receipt, Stored
from privet.ledger.refusal import check_ready
from privet.typing import Floats, Integers

NOT_PROMISED = (
    "rows without a value that the learner needs, or with an undeclared label, are left out silently",
    "predictions and scores of private rows are exact functions of these rows: do not publish them",
    "how long the fit took is not protected",
)


ELSEWHERE = ("epsilon", "delta", "bounds", "classes", "targets", "categories", "neighbors", "max_rows")


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """Whom a fit is charged to, and of which table. Of a vault's table also what of its rows is learned from."""

    gate: Gate
    table: Table
    columns: tuple[str, ...]
    values: tuple[Expression, ...] = ()
    where: Expression | None = None
    analyst: str = ""
    note: str = ""
    vault: bool = False
    said: Mapping[str, str] = field(default_factory=dict)  # what a model card says of the columns


class Method(Protocol):
    """How a learner learns: what it costs, the one release, and what follows from what was stored."""

    @property
    def loss(self) -> Loss: ...
    @property
    def rounds(self) -> tuple[Round, ...]: ...
    def released(self, charge: Charge, course: Course, gate: Gate) -> Release: ...
    def fitted(self, course: Course, body: bytes) -> dict[str, Any]: ...
    def facts(self, course: Course, neighbors: Neighbors) -> dict[str, Any]:
        """What the model card says of it."""
        ...


@dataclass(frozen=True, slots=True)
class InRounds:
    """Rounds of noisy sums."""

    prices: Priced
    lesson: Callable[[], Lesson] = field(repr=False)

    @property
    def loss(self) -> Loss:
        return self.prices.loss

    @property
    def rounds(self) -> tuple[Round, ...]:
        return self.prices.rounds

    def released(self, charge: Charge, course: Course, gate: Gate) -> Release:
        return training.train(charge, course, self.lesson, gate)

    def fitted(self, course: Course, body: bytes) -> dict[str, Any]:
        return dict(training.replayed(course, self.lesson, body))

    def facts(self, course: Course, neighbors: Neighbors) -> dict[str, Any]:
        gaussian = isinstance(self.rounds[0][0].law, DiscreteGaussian)
        return {
            "rho": str(self.loss.rho) if gaussian else None,
            "rounds": len(self.rounds),
            "noise": f"discrete {'Gaussian' if gaussian else 'Laplace'} noise, exact whole numbers",
            "guarantee": training.guarantee(course, neighbors, self.loss),
            "not_promised": NOT_PROMISED,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """A fit before it is made: how it learns, and the price. Rows play no part in it."""

    declared: Declared
    told: Told
    method: Method
    course: Course
    charge: Charge

    @property
    def stored(self) -> Stored | None:
        """What was learned before in the same way, on a vault."""
        return self.told.gate.ledger.stored(self.charge.request) if self.told.vault else None

    def delivered(self, model: str) -> tuple[dict[str, Any], ModelCard]:
        """What was learned, and its card. It is paid for, unless the same was learned before: then it is made of what
        was stored, free of charge."""
        gate, stored = self.told.gate, self.stored
        if stored is None:
            check_ready(gate.ready, self.charge.analyst)
            release = self.method.released(self.charge, self.course, gate)
            body, receipt = release.body, release.receipt
        else:
            body, receipt = stored.body, stored.receipt
        return self.method.fitted(self.course, body), self.card(model, receipt, replayed=stored is not None)

    def card(self, model: str, receipt: Receipt | None, *, replayed: bool) -> ModelCard:
        told, loss, ledger = self.told, self.method.loss, self.told.gate.ledger
        return ModelCard(
            model=model,
            epsilon=str(loss.epsilon),
            delta=str(loss.delta),
            neighbors=ledger.terms.neighbors.value,
            unit="rows" if told.table.unit is None else told.table.unit,
            rows_per_unit=self.declared.rows,
            declared=told.said or _ranges(self.declared),
            table=f"{told.table.name}, version {told.table.version}" if told.vault else None,
            receipt={"entry": receipt.entry, "digest": receipt.digest} if told.vault and receipt else None,
            replayed=replayed,
            warnings=warnings_of(ledger) if told.vault else (),
            **self.method.facts(self.course, ledger.terms.neighbors),
        )


def _ranges(declared: Declared) -> dict[str, Any]:
    said: dict[str, Any] = {column.name: [column.low, column.high] for column in declared.features}
    if declared.target is not None:
        target = declared.target
        said["target"] = list(target.values) if target.values else [target.low, target.high]
    return said


class PrivateEstimator(BaseEstimator):  # type: ignore[misc]
    """A learner states its rounds (`_shares`), and what it does in them (`_lesson`).

    Its constructor has epsilon and delta (the price), bounds (the range of each column), neighbors (the relation) and
    max_rows (of a unit that count); with `_target` "class" also classes (all labels), with "number" also targets (the
    range of y).
    """

    _target: str | None = None
    _texts = False  # are the features categories?
    epsilon: Any
    delta: Any
    bounds: Any
    neighbors: Any
    max_rows: Any

    @abstractmethod
    def _shares(self, declared: Declared) -> Shares:
        """Of each round, in order, what it measures and its share of the price. The shares add up to 1."""

    @abstractmethod
    def _lesson(self, declared: Declared, prices: Priced) -> Lesson:
        """Yields the row function of each round (or a `Recode`), is sent noisy sums, returns fitted attributes by name.
        It is played twice, with rows and from the stored noisy sums: it must be a function of what it is sent."""

    @abstractmethod
    def _predicted(self, raw: Floats, declared: Declared) -> Floats:
        """Of a fitted learner with a target, for rows as they were read: the place of the class, or the number's steps.
        A row function: of each row the same bits wherever it stands (claim row-functions)."""

    def fit(self, X: Any, y: Any = None, units: Any = None) -> Self:  # noqa: N803
        """Fit to rows in memory, and return this learner. No ledger counts the fit.

        `X` has a row for each record: an array, a list of rows or a data frame. `y` has the label or number of each
        row, for learners with a target. `units` has the person of each row; without it each row is one person.

        Raises InvalidInputError if a declaration is missing, or if X, y or units do not fit it."""
        with self._opened(X, y, units) as (declared, told):
            return self._learn(declared, told)

    @contextmanager
    def _opened(self, X: Any, y: Any, units: Any, times: int = 1) -> Iterator[tuple[Declared, Told]]:  # noqa: N803
        """What is declared of rows in memory, and a gate for them with a budget for so many fits."""
        epsilon, delta = self._price()
        rows = table_from(self, X, texts=self._texts)
        declared = self._declared([str(name) for name in self._names(rows.shape[1])], units is not None)
        raw, numbers = self._rows(rows, y, units, declared)
        unit = None if units is None else "unit"
        kinds = {f"column {at}": Integer(0, column.top) for at, column in enumerate(declared.columns)}
        table = Table(name="rows", source=Source(kind="memory"), unit=unit, columns=kinds)
        with own_gate(HeldRows(raw, numbers), times * epsilon, delta, neighbors_from(self.neighbors)) as gate:
            yield declared, Told(gate=gate, table=table, columns=tuple(kinds))

    def _price(self) -> tuple[Fraction, Fraction]:
        if self.epsilon is None:
            raise InvalidInputError(
                "epsilon is missing: the price of a fit has no default",
                "for example epsilon=1; delta=1e-6 as well allows Gaussian noise",
                "missing-value",
            )
        return positive(self.epsilon, "epsilon"), below_one(self.delta, "delta")

    def _learn(self, declared: Declared, told: Told) -> Self:
        """The one way from declarations to a model: through the gate, then from what it stored."""
        return self._learned(self._planned(declared, told))

    def _planned(self, declared: Declared, told: Told) -> Planned:
        """Everything that is known before rows are read."""
        epsilon, delta = self._price()
        method = self._method(declared, told.gate.ledger.terms.neighbors, epsilon, delta)
        course = Course(
            table=told.table,
            columns=told.columns,
            rows=declared.rows,
            rounds=method.rounds,
            secret=told.gate.secret(),
            values=told.values,
            where=told.where,
        )
        asked = [told.table.digest, list(told.columns), list(told.values), told.where]
        request = fingerprint("fit", type(self).__name__, *asked, repr(declared), repr(method), _said(self))
        charge = Charge(loss=method.loss, request=request, analyst=told.analyst, note=told.note)
        return Planned(declared=declared, told=told, method=method, course=course, charge=charge)

    def _method(self, declared: Declared, neighbors: Neighbors, epsilon: Fraction, delta: Fraction) -> Method:
        prices = priced(self._shares(declared), declared.rows, neighbors, epsilon, delta)
        return InRounds(prices, lambda: self._lesson(declared, prices))

    def _learned(self, planned: Planned) -> Self:
        found, card = planned.delivered(type(self).__name__)
        for name, value in found.items():
            setattr(self, name, value)
        self.n_features_in_ = len(planned.declared.features)
        self.privacy_ = card
        return self

    def _checked(self, X: Any, **how: Any) -> Any:  # noqa: N803
        """Rows to predict from. A data frame is read as declared if the model was fitted to a table."""
        table = getattr(self, "table_columns_", None)
        if table is None or not hasattr(X, "columns"):
            return validate_data(self, X, reset=False, **how)
        return check_array(table.matrix(X), **how)

    def _names(self, columns: int) -> Sequence[Any]:
        """Of the columns of X: a frame's names have been noted."""
        return getattr(self, "feature_names_in_", [f"x{at}" for at in range(columns)])

    def _declared(self, names: list[str], people: bool) -> Declared:
        """Everything that is declared, checked before a value is looked at."""
        neighbors_from(self.neighbors)
        features = self._features(names)
        target = None
        if self._target == "class":
            target = Column(name="target", values=(found := classes_from(self.classes)), top=len(found) - 1)
        elif self._target == "number":
            (target,) = ranges_from(self.targets, ["target"], "targets")
        rows = whole(self.max_rows, "max_rows", 1) if people else 1
        return Declared(features=features, target=target, rows=rows)

    def _features(self, names: list[str]) -> tuple[Column, ...]:
        """What is declared of each column of X: a range, unless a learner says otherwise."""
        return ranges_from(self.bounds, names)

    def _rows(self, rows: Any, y: Any, units: Any, declared: Declared) -> tuple[Floats, Integers | None]:
        """Whole numbers of steps. Rows with a missing value, a label that is no class or no unit are left out."""
        columns = [_read(rows[:, at], column) for at, column in enumerate(declared.features)]
        if declared.target is not None:
            columns.append(_read(self._labels(y, len(rows)), declared.target))
        raw = np.column_stack(columns)
        kept = ~np.isnan(raw).any(axis=1)
        people = None if units is None else units_from(units, len(rows))
        if people is not None:
            kept &= people != NOBODY
        return np.ascontiguousarray(raw[kept]), None if people is None else people[kept]

    def _labels(self, y: Any, rows: int) -> Any:
        if y is None:
            raise InvalidInputError(
                f"{type(self).__name__} requires y to be passed, but the target y is None",
                "give y, one value per row",
                "missing-value",
            )
        return column_from(y, rows, "y")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True  # in a fit: rows with a missing value are left out
        tags.target_tags.required = self._target is not None
        tags.non_deterministic = True
        return tags


def _read(values: Any, column: Column) -> Floats:
    """Whole numbers from 0 to the column's top; NaN where there is no value, or one that was not declared."""
    with np.errstate(all="ignore"):  # a warning would tell of a value
        return codes_of(values, column.values) if column.values else steps_of(numbers_of(values), column)


def _said(learner: BaseEstimator) -> list[list[Any]]:
    """What was said to its constructor, but for the price and the declarations, which a request names in another form:
    epsilon=1 and epsilon=1.0 are the same."""
    said = [(name, value) for name, value in sorted(learner.get_params(deep=False).items()) if name not in ELSEWHERE]
    return [
        [name, repr(np.asarray(value).tolist() if isinstance(value, np.ndarray) else value)] for name, value in said
    ]

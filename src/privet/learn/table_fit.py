"""A fit on a vault's table: planned from declarations, looked at free of charge, then released as a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import clone

from privet.answer import loss_json, warnings_of
from privet.catalog.declarations import Table
from privet.core.expression import Expression
from privet.core.laws import DiscreteGaussian
from privet.core.loss import Loss
from privet.core.rational import show, whole
from privet.core.rounds import Noisy
from privet.core.unit import Neighbors
from privet.engine import Gate
from privet.errors import InvalidInputError, RefusedQueryError
from privet.learn.base import Planned, PrivateEstimator, Told
from privet.learn.card import ModelCard, amount
from privet.learn.declared import Declared
from privet.learn.table_columns import (
    Feature,
    TableColumns,
    check_known,
    class_of,
    features_of,
    kind_words,
    number_target,
)
from privet.ledger.refusal import about_n_more

DECLARED = ("bounds", "classes", "targets", "categories")  # what a table says of its columns


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What is learned, of whom, and who asks."""

    target: str | None = None
    features: Sequence[str] | None = None
    max_rows: int | None = None
    where: Expression | None = None
    condition: str = ""  # the same, as it was written
    analyst: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FitPlan:
    """A planned fit. To look at it costs nothing and touches no data; `release` charges the ledger and fits."""

    learner: PrivateEstimator
    planned: Planned = field(repr=False)
    columns: TableColumns = field(repr=False)
    analyst: str = ""
    what: str = "fit"

    @property
    def name(self) -> str:
        """Of what is learned, on a card."""
        return type(self.learner).__name__

    def more(self, heading: str) -> list[str]:  # noqa: ARG002  a fit has nothing to add
        """Lines that `explain` adds to those below a heading."""
        return []

    @property
    def cost(self) -> Loss:
        """Its price on both gauges."""
        return self.planned.charge.loss

    @property
    def about_n_more(self) -> int:
        """For how many such fits the budget is still enough, this one included."""
        return about_n_more(self.planned.told.gate.ledger, self.cost, self.analyst)

    @property
    def answered(self) -> bool:
        """Whether it is free, because the same fit was made before."""
        return self.planned.stored is not None

    def release(self) -> Any:
        """Charge the ledger, fit, and return the fitted model. The same fit again is free, from what the ledger stored.

        Raises BudgetExceededError before any data are read."""
        learner = clone(self.learner)
        learner._learned(self.planned)
        learner.table_columns_ = self.columns
        learner.feature_names_in_ = np.array(self.columns.names, object)
        return learner

    def explain(self) -> str:
        """The columns, whom the fit protects, noise and price, as text. Nothing is spent."""
        return "\n".join(_explained(self))

    def to_json(self) -> dict[str, Any]:
        """The same as `explain`, and the guarantee, for a program."""
        card = self.card
        return {
            "model": card.model,
            "table": card.table,
            "features": self.columns.names,
            "declared": dict(card.declared),
            "neighbors": card.neighbors,
            "unit": card.unit,
            "rows_per_unit": card.rows_per_unit,
            "noise": [[_noise_json(one) for one in each] for each in self.planned.course.rounds],
            "cost": loss_json(self.cost),
            "about_n_more": self.about_n_more,
            "free": self.answered,
            "guarantee": card.guarantee,
            "warnings": list(warnings_of(self.planned.told.gate.ledger)),
        }

    @property
    def card(self) -> ModelCard:
        """The model card as it will be, without an entry of the ledger."""
        return self.planned.card(self.name, None, replayed=False)


def fit_plan(estimator: Any, table: Table, gate: Gate, asked: Asked) -> FitPlan:
    """From what was asked and declared to rounds and a price. No data are touched."""
    learner, neighbors = _learner(estimator), gate.ledger.terms.neighbors
    if table.public:
        raise RefusedQueryError(
            f"table {show(table.name)} is public", "read it yourself: it needs no budget", "private-table-needed"
        )
    target = _target_of(learner, table, asked.target)
    columns = features_of(table, asked.features, asked.target, coded=learner._texts)
    seen = [*columns.features, *([] if target is None else [target])]
    declared = Declared(
        features=tuple(feature.column for feature in columns.features),
        target=None if target is None else target.column,
        rows=_rows(table, asked.max_rows),
    )
    learner.set_params(neighbors=neighbors.value, max_rows=declared.rows)
    told = Told(
        gate=gate,
        table=table,
        columns=tuple(feature.name for feature in seen),
        values=tuple(feature.expression for feature in seen),
        where=asked.where,
        analyst=asked.analyst,
        note=_note(learner, table, columns, asked),
        vault=True,
        said=_said(seen, asked),
    )
    return FitPlan(learner=learner, planned=learner._planned(declared, told), columns=columns, analyst=asked.analyst)


def _learner(estimator: Any) -> PrivateEstimator:
    """A clone: the estimator that was given stays as it is."""
    if not isinstance(estimator, PrivateEstimator):
        raise InvalidInputError(
            f"{show(type(estimator).__name__)} does not learn with differential privacy",
            "give a learner of pv.learn, for example pv.learn.GaussianNB(epsilon=1); fit a pipeline step by step",
            "wrong-type",
        )
    given = [name for name in DECLARED if getattr(estimator, name, None) is not None]
    if given:
        raise InvalidInputError(
            f"{given[0]}= is given, and the table declares it already",
            f"leave {given[0]}= out: columns, ranges and classes come from the declarations",
            "unneeded-option",
        )
    return clone(estimator)  # type: ignore[no-any-return]


def _target_of(learner: PrivateEstimator, table: Table, name: str | None) -> Feature | None:
    kind = type(learner).__name__
    if learner._target is None:
        if name is not None:
            raise InvalidInputError(f"{kind} has no target", "leave target= out", "unneeded-option")
        return None
    if name is None:
        raise InvalidInputError(
            f"{kind} needs a target: the column that it predicts",
            f"give target= as one of {', '.join(table.columns)}",
            "missing-option",
        )
    check_known(table, name)
    return class_of(table, name) if learner._target == "class" else number_target(table, name)


def _rows(table: Table, given: int | None) -> int:
    """Of a unit that count: as asked, or as the table limits them."""
    if table.unit is None:
        if given is not None:
            raise InvalidInputError(
                "each row is a unit here, so there are no rows of a unit to limit",
                "leave max_rows out",
                "rows-are-units",
            )
        return 1
    if given is not None:
        return whole(given, "max_rows", 1)
    return table.max_rows or table.max_groups * table.max_rows_per_group


def _note(learner: PrivateEstimator, table: Table, columns: TableColumns, asked: Asked) -> str:
    """What the ledger notes for people."""
    target = "" if asked.target is None else f"{asked.target} "
    passing = f" where {asked.condition}" if asked.condition else ""
    return f"fit {type(learner).__name__}: {target}from {', '.join(columns.sources)} of {table.name}{passing}"


def _said(seen: Sequence[Feature], asked: Asked) -> dict[str, str]:
    """What a card says: each column of the table once, as declared."""
    said = {feature.source: kind_words(feature.kind) for feature in seen}
    if asked.target is not None:
        said[asked.target] += ", the target"
    return said | ({"only rows where": asked.condition} if asked.condition else {})


def _noise_json(noisy: Noisy) -> dict[str, Any]:
    return {"sums": noisy.sums.numbers, "law": _law(noisy), "deviation": noisy.deviation, "rows": _in_rows(noisy)}


def _law(noisy: Noisy) -> str:
    return "discrete Gaussian" if isinstance(noisy.law, DiscreteGaussian) else "discrete Laplace"


def _in_rows(noisy: Noisy) -> float:
    """The noise on a sum, as a multiple of the most that one row adds to all sums together."""
    return float(noisy.deviation / noisy.sums.most**0.5)


PRESENCE = {
    Neighbors.ADD_REMOVE: "and whether it is in the table at all (add-remove)",
    Neighbors.REPLACE: "but not how many there are, which is public (replace)",
}


def _explained(plan: FitPlan) -> list[str]:
    told, card = plan.planned.told, plan.card
    names = plan.columns.names
    shown = ", ".join(names[:12]) + (f" and {len(names) - 12} more" if len(names) > 12 else "")
    return [
        "What is learned",
        f"   {card.model} from {card.table}: {len(names)} {'number' if len(names) == 1 else 'numbers'} for each row",
        f"   {shown}",
        *(f"   {name}: {said}" for name, said in card.declared.items()),
        f"   {_missing(plan)}",
        *plan.more("What is learned"),
        "",
        "Who is protected",
        *_protected(told.table, card.rows_per_unit, told.gate.ledger.terms.neighbors),
        "",
        "Noise",
        *(_rounds(plan.planned) or [f"   {card.rounds:,} steps. {card.noise}."]),
        *plan.more("Noise"),
        "",
        "Price",
        f"   {amount('epsilon', plan.cost.epsilon, plan.cost.delta)}"
        f"; {amount('rho', plan.cost.rho, plan.cost.rho_delta)} on the other gauge",
        *plan.more("Price"),
        *_standing(plan),
        "",
        "Nothing was spent, and no data were touched.",
    ]


def _missing(plan: FitPlan) -> str:
    if plan.learner._texts or all(feature.value is None for feature in plan.columns.features):
        return "Rows without one of these values are left out."
    return "Rows without one of these numbers are left out; a missing category is 0 in each of its numbers."


def _protected(table: Table, rows: int, neighbors: Neighbors) -> list[str]:
    if table.unit is None:
        return [f"   Each row by itself, {PRESENCE[neighbors]}."]
    count = "1 row of each counts" if rows == 1 else f"{rows:,} rows of each count"
    return [
        f"   Each {table.unit} with all its rows, {PRESENCE[neighbors]}.",
        f"   At most {count}: rows beyond that are dropped, and so are rows without {table.unit}.",
    ]


def _rounds(planned: Planned) -> list[str]:
    lines = []
    for number, one in enumerate(planned.course.rounds, 1):
        for noisy in one:
            sums = f"{noisy.sums.numbers:,} {'sum' if noisy.sums.numbers == 1 else 'sums'}"
            lines.append(
                f"   round {number}: {sums}, {_law(noisy)} noise; its standard deviation is"
                f" {round(_in_rows(noisy), 3):,g} times the most that one row adds"
            )
    return lines


def _standing(plan: FitPlan) -> list[str]:
    if plan.answered:
        return [f"   The same {plan.what} was made before: its result is computed again, free of charge."]
    return [f"   The budget is enough for about {plan.about_n_more:,} such {plan.what}s, this one included."]

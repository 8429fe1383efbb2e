"""The model card: what a model cost, what was declared, how it was learned, and what is not promised."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from html import escape
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCard:
    """`privacy_` of a fitted model. Everything in it follows from declarations and released numbers."""

    model: str
    epsilon: str
    delta: str
    rho: str | None
    neighbors: str
    unit: str  # "rows", or whom the table protects
    rows_per_unit: int
    rounds: int
    noise: str  # its law and its arithmetic
    declared: Mapping[str, Any]
    guarantee: Mapping[str, Any] = field(repr=False)  # what `privet recheck` reads
    table: str | None = None  # of a vault; None: the model was fitted without one
    receipt: Mapping[str, Any] | None = None  # of the vault's ledger
    replayed: bool = False  # computed from what an earlier fit stored: free of charge
    warnings: tuple[str, ...] = ()
    not_promised: tuple[str, ...] = ()

    def to_json(self) -> str:
        """The card as the text of a JSON object."""
        return json.dumps(asdict(self), indent=2, default=str)

    def __str__(self) -> str:
        """For people, such as a steward who decides whether the model may be handed on."""
        return "\n".join([*(f"!! {warning}" for warning in self.warnings), *self._lines()])

    def _lines(self) -> list[str]:
        rows = "1 row" if self.rows_per_unit == 1 else f"{self.rows_per_unit:,} rows"
        unit = "each row" if self.unit == "rows" else f"each unit ({self.unit}), with at most {rows}"
        rho = f"; {amount('rho', Fraction(self.rho))}" if self.rho else ""
        return [
            f"{self.model}, learned with differential privacy",
            *([f"from: table {self.table}"] if self.table else []),
            f"price: {amount('epsilon', Fraction(self.epsilon), Fraction(self.delta))}{rho}",
            f"protects: {unit}; neighbors: {self.neighbors}",
            f"learned in {self.rounds} {'round' if self.rounds == 1 else 'rounds'} of noisy sums ({self.noise})",
            *(f"declared: {name} = {value}" for name, value in self.declared.items()),
            f"ledger: {self._entry()}",
            *(f"not promised: {text}" for text in self.not_promised),
        ]

    def _entry(self) -> str:
        if self.receipt is None:
            return "none; no ledger counts this fit"
        again = ", given again free of charge" if self.replayed else ""
        return f"entry {self.receipt['entry']}{again}"

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"


def amount(name: str, value: Fraction | None, delta: Fraction = Fraction(0)) -> str:
    """A price in decimals, rounded up."""
    if value is None:
        return f"no {name} price"
    return f"{name} {_up(value)}" + (f", delta {_up(delta)}" if delta or name == "epsilon" else "")


def _up(value: Fraction) -> str:
    found = Context(6, ROUND_CEILING).divide(Decimal(value.numerator), Decimal(value.denominator)).normalize()
    return f"{found:f}" if abs(found.adjusted()) < 6 else f"{found:e}"

"""TRUSTED: training by noisy gradients as work that is paid for: the schedule that is priced is the one followed."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np

from privet import training
from privet.backends import Course
from privet.backends.contributions import Rows
from privet.core.claim import claim
from privet.core.loss import Loss
from privet.core.rounds import Round
from privet.core.unit import Neighbors
from privet.engine import Gate, Release, cost_fields
from privet.learn.base import NOT_PROMISED
from privet.learn.descent import Recipe, Train, Units, trained
from privet.learn.network import Layers
from privet.learn.schedule import COIN_BITS, loss_of
from privet.ledger import Charge
from privet.noise.floats import FloatNoise
from privet.typing import Floats

FLOATS = (
    "not float-exact: noise and sums are floats of 53 bits, so single bits of the weights are not covered",
    "`privet recheck` cannot compute the price of noisy training steps",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Descent:
    """What `training.paid` is given. `tops` are those of the columns that are read: the features, then the target."""

    recipe: Recipe
    epsilon: Fraction
    delta: Fraction
    tops: tuple[int, ...]
    people: bool = True  # rows say whose they are
    train: Train = field(default=trained, repr=False)
    attributes: Callable[[Layers], dict[str, Any]] = field(default=lambda _: {}, repr=False)

    @claim("descent-work")
    def price(self, rows: int, neighbors: Neighbors) -> Loss:  # noqa: ARG002  however many rows: a unit is clipped as one
        return loss_of(replace(self.recipe.schedule, neighbors=neighbors), self.epsilon, self.delta)

    @claim("descent-work")
    def done(self, rows: Rows) -> bytes:
        """The weights of the network that was trained."""
        if self.people and rows.units is None:
            raise ValueError("the rows of people do not say whose they are")
        layers = self.train(Units.of(*self._read(rows.raw), rows.units), self.recipe, FloatNoise())
        return json.dumps({"layers": [layer.tolist() for layer in layers]}, separators=(",", ":")).encode()

    def _read(self, raw: Floats) -> tuple[Floats, Floats]:
        """Features from -1 to 1; targets likewise, or places of classes. Whatever was read, nothing can fail."""
        raw = np.clip(np.nan_to_num(raw), 0, self.tops)
        middle = raw * (2 / np.maximum(np.array(self.tops, np.float64), 1)) - 1
        return middle[:, :-1], raw[:, -1] if self.recipe.kind.classes else middle[:, -1]

    @property
    def loss(self) -> Loss:
        return self.price(1, self.recipe.schedule.neighbors)

    @property
    def rounds(self) -> tuple[Round, ...]:
        return ()

    def released(self, charge: Charge, course: Course, gate: Gate) -> Release:
        return training.paid(charge, course, replace(self, people=course.table.unit is not None), gate)

    def fitted(self, course: Course, body: bytes) -> dict[str, Any]:  # noqa: ARG002
        return self.attributes([np.array(layer, np.float64) for layer in json.loads(body)["layers"]])

    def facts(self, course: Course, neighbors: Neighbors) -> dict[str, Any]:  # noqa: ARG002
        schedule = self.recipe.schedule
        steps = {
            "coin": f"{schedule.coin}/{1 << COIN_BITS}",
            "steps": schedule.steps,
            "noise": str(schedule.noise),
            "clip": self.recipe.clip,
        }
        return {
            "rho": None,
            "rounds": schedule.steps,
            "noise": f"Gaussian noise in floats, {float(schedule.noise):g} clip norms; each step takes "
            f"{100 * schedule.rate:.3g} % of the units by chance",
            "guarantee": {"neighbors": neighbors.value, "descent": steps, "cost": cost_fields(self.loss)},
            "not_promised": (*NOT_PROMISED, *FLOATS),
        }

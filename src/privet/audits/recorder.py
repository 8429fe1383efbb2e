"""An object from which a program takes its noise, and which writes down what was asked for.

For tests. The noise is drawn in floating point, so what a program gives with it is not for release.
"""

from __future__ import annotations

import copy
import math
import numbers
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from privet.audits.costs import FREE, AuditCost, gaussian, pure
from privet.audits.likeness import same
from privet.core.rational import rational, show
from privet.errors import InvalidInputError
from privet.typing import Floats

L1, L2, LINF = "l1", "l2", "linf"
Exact = Fraction | float  # a float is infinite or NaN
PURE = ("laplace", "geometric")  # what moves by d costs d / scale, and not less


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request for noise. `settings` are the numbers that say how much; `place` is where the program asked."""

    kind: str
    value: tuple[Exact, ...]
    shape: tuple[int, ...]
    sensitivity: Fraction
    norm: str
    settings: Mapping[str, Exact]
    place: str

    @property
    def declared(self) -> Fraction:
        """As `distance` measures."""
        return self.sensitivity**2 if self.norm == L2 else self.sensitivity

    def distance(self, other: Request) -> Exact:
        """How far two values are apart, exactly; in l2 it is the square. Infinite, if only one of them is finite."""
        steps = [_apart(one, two) for one, two in zip(self.value, other.value, strict=True)]
        if any(isinstance(step, float) for step in steps):
            return math.inf
        match self.norm:
            case "l1":
                return sum(steps, Fraction(0))
            case "l2":
                return sum((step * step for step in steps), Fraction(0))
        return max(steps, default=Fraction(0))

    def cost(self, distance: Exact) -> AuditCost:
        """What it costs if values are so far apart."""
        if distance == 0:
            return FREE
        if isinstance(distance, float):
            return AuditCost()
        settings = self.settings
        match self.kind:
            case "laplace" | "geometric":
                return pure(distance / Fraction(settings["scale"]))
            case "gaussian":
                return gaussian(distance / Fraction(settings["sigma"]) ** 2)
            case "choose" | "first above":
                return (
                    pure(Fraction(settings["epsilon"]) * distance / self.sensitivity)
                    if self.sensitivity
                    else AuditCost()
                )
        return _declared_cost(settings)

    def __str__(self) -> str:
        return f"{self.kind}, {self.place}"


def _declared_cost(settings: Mapping[str, Exact]) -> AuditCost:
    """Of a law that only the program knows: what it says, however far the value has moved."""
    if "rho" in settings:
        return AuditCost(rho=Fraction(settings["rho"]))
    delta = Fraction(settings["delta"])
    return (
        AuditCost(epsilon=Fraction(settings["epsilon"]), delta=delta) if delta else pure(Fraction(settings["epsilon"]))
    )


class Recorder:
    """Noise for a program under test: `recorder.laplace(total, sensitivity=1, scale=2)` gives total + noise.

    A value is a number, or a list or an array of numbers; its sensitivity is the most that one person moves it: in sum
    for Laplace and geometric noise (l1), in Euclidean length for Gaussian noise (l2), in any one place for a choice
    (linf). `width` makes all noise wider, or takes it away (0), to get to branches that are rarely taken.
    """

    def __init__(self, *, width: float = 1.0) -> None:
        self.requests: list[Request] = []
        self.outputs: list[Any] = []
        self.width = width
        self._chance = np.random.default_rng()

    def laplace(self, value: Any, *, sensitivity: object, scale: object) -> Any:
        """value + noise with density proportional to exp(-|x| / scale)."""
        request = self._request("laplace", value, sensitivity, L1, {"scale": _above_zero(scale, "scale")})
        return self._given(request, lambda: self._added(request, self._chance.laplace, "scale"))

    def gaussian(self, value: Any, *, sensitivity: object, sigma: object) -> Any:
        """value + normal noise of this standard deviation."""
        request = self._request("gaussian", value, sensitivity, L2, {"sigma": _above_zero(sigma, "sigma")})
        return self._given(request, lambda: self._added(request, self._chance.normal, "sigma"))

    def geometric(self, value: Any, *, sensitivity: object, scale: object) -> Any:
        """Whole numbers with whole noise: P[x] is proportional to exp(-|x| / scale)."""
        request = self._request("geometric", value, sensitivity, L1, {"scale": _above_zero(scale, "scale")})
        if any(isinstance(number, float) or number.denominator != 1 for number in request.value):
            raise InvalidInputError(
                "geometric noise is added to whole numbers", "round the value, or use laplace", "not-whole"
            )
        return self._given(request, lambda: self._counted(request))

    def choose(self, scores: Any, *, sensitivity: object, epsilon: object, monotone: bool = False) -> int:
        """The place of a high score, by the exponential mechanism: P[i] proportional to exp(rate * scores[i]).

        The rate is epsilon / (2 * sensitivity); epsilon / sensitivity, if one person moves all scores one way.
        """
        request = self._choice("choose", scores, sensitivity, epsilon, {"monotone": Fraction(bool(monotone))})
        return int(self._given(request, lambda: self._best(request, monotone)))

    def first_above(self, values: Any, threshold: object, *, sensitivity: object, epsilon: object) -> int | None:
        """The place of the first value above the threshold, or None: sparse vector, its threshold noisy as well."""
        limit = _finite(threshold, "threshold")
        request = self._choice("first above", values, sensitivity, epsilon, {"threshold": limit})
        found: int | None = self._given(request, lambda: self._first(request, float(limit)))
        return found

    def noisy(  # noqa: PLR0913  a law of any kind, and its price by name
        self,
        value: Any,
        draw: Callable[[], Any],
        *,
        kind: str,
        sensitivity: object,
        norm: str = L1,
        epsilon: object = None,
        delta: object = 0,
        rho: object = None,
    ) -> Any:
        """Any other law: `draw()` gives the noisy value; its price, if the value moves no further, is what you say."""
        if norm not in (L1, L2, LINF):
            raise InvalidInputError(
                f"norm must be l1, l2 or linf, not {show(norm)}", "say how distances are measured", "unknown-choice"
            )
        if (epsilon is None) == (rho is None):
            raise InvalidInputError(
                "the price of this noise is missing", "give epsilon (and delta), or rho", "missing-price"
            )
        price = {"epsilon": epsilon, "delta": delta} if rho is None else {"rho": rho}
        settings = {name: _finite(number, name) for name, number in price.items()}
        return self._given(self._request(kind, value, sensitivity, norm, settings), draw)

    def _given(self, request: Request, draw: Callable[[], Any]) -> Any:
        """What the program gets. It may change what it got; the record stays."""
        output = draw()
        self.requests.append(request)
        self.outputs.append(copy.deepcopy(output))
        return output

    def _request(self, kind: str, value: Any, sensitivity: object, norm: str, settings: Mapping[str, Exact]) -> Request:
        array = np.array(value, dtype=object)
        return Request(
            kind=kind,
            value=tuple(_exact(item) for item in array.ravel()),
            shape=array.shape,
            sensitivity=_at_least_zero(sensitivity),
            norm=norm,
            settings=settings,
            place=_place(),
        )

    def _choice(
        self, kind: str, values: Any, sensitivity: object, epsilon: object, more: Mapping[str, Exact]
    ) -> Request:
        settings = {"epsilon": _above_zero(epsilon, "epsilon"), **more}
        request = self._request(kind, values, sensitivity, LINF, settings)
        if len(request.shape) != 1 or not request.value:
            raise InvalidInputError(
                "there is nothing to choose from", "give a list with one number a candidate", "empty"
            )
        return request

    def _added(self, request: Request, law: Callable[..., Floats], name: str) -> Any:
        noise = law(0.0, float(request.settings[name]), len(request.value)) * self.width
        noisy = np.array([float(number) for number in request.value]) + noise
        return noisy.reshape(request.shape) if request.shape else float(noisy[0])

    def _counted(self, request: Request) -> Any:
        scale = float(request.settings["scale"]) * self.width
        stop = -math.expm1(-1 / scale) if scale else 1.0
        both = self._chance.geometric(stop, (2, len(request.value)))
        noisy = [int(number) + int(more) for number, more in zip(request.value, both[0] - both[1], strict=True)]
        return np.array(noisy).reshape(request.shape) if request.shape else noisy[0]

    def _best(self, request: Request, monotone: bool) -> int:
        """The largest score with Gumbel noise has the law of the exponential mechanism."""
        scores = np.array([float(number) for number in request.value])
        rate = float(request.settings["epsilon"]) / float(request.sensitivity or 1) / (1 if monotone else 2)
        return int(np.argmax(scores * rate + self.width * self._chance.gumbel(size=len(scores))))

    def _first(self, request: Request, threshold: float) -> int | None:
        """Half of epsilon for the threshold, half for the first value above it, which may move against it."""
        scale = 2 * float(request.sensitivity) / float(request.settings["epsilon"]) * self.width
        values = np.array([float(number) for number in request.value])
        limit = threshold + self._chance.laplace(0.0, scale)
        above = values + self._chance.laplace(0.0, 2 * scale, len(values)) >= limit
        return int(np.argmax(above)) if above.any() else None


def _apart(one: Exact, two: Exact) -> Any:
    if isinstance(one, float) or isinstance(two, float):
        return Fraction(0) if same(one, two) else math.inf
    return abs(one - two)


def _exact(value: Any) -> Exact:
    """The number as it is: a float is the fraction that it stands for, not the decimal that it prints as."""
    match value:
        case np.floating() | float():
            number = float(value)
            return Fraction(number) if math.isfinite(number) else number
        case numbers.Integral():
            return Fraction(int(value))
        case numbers.Rational():
            return Fraction(int(value.numerator), int(value.denominator))
    return rational(value, "a value that noise is added to")


def _finite(value: object, name: str) -> Fraction:
    number = _exact(value)
    if isinstance(number, float):
        raise InvalidInputError(
            f"{name} must be a finite number, not {show(value)}", f"give {name} as a number", "not-finite"
        )
    return number


def _at_least_zero(value: object) -> Fraction:
    number = _finite(value, "sensitivity")
    if number < 0:
        raise InvalidInputError(
            f"sensitivity must be at least 0, not {show(value)}",
            "give the most that one person can move the value",
            "negative",
        )
    return number


def _above_zero(value: object, name: str) -> Fraction:
    number = _finite(value, name)
    if number <= 0:
        raise InvalidInputError(
            f"{name} must be above 0, not {show(value)}", f"give {name} as a positive number", "not-positive"
        )
    return number


def _place() -> str:
    """The line that asked: the first one outside of this file."""
    frame: Any = sys._getframe()
    while frame.f_code.co_filename == __file__:
        frame = frame.f_back
    return f"line {frame.f_lineno} of {frame.f_code.co_name}"

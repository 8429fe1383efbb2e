"""Small neural networks by noisy gradients (DP-SGD), with scikit-learn's interface."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from privet.core.rational import positive, show, whole
from privet.core.unit import Neighbors
from privet.errors import InvalidInputError
from privet.gpu import torch_with_cuda
from privet.learn.base import PrivateEstimator
from privet.learn.declared import Declared
from privet.learn.descent import Recipe, Train, trained
from privet.learn.network import ACTIVATIONS, WIDEST, Kind, Layers, probabilities, scores
from privet.learn.schedule import checked, coin_of, least_noise
from privet.learn.work import Descent
from privet.typing import Floats

DEEPEST = 8
MOST = Fraction(10**6)


def _moderate(given: Any, name: str) -> float:
    """Clip norms and steps whose squares floats hold with all their digits: noise of 1e-320 would be rounded away."""
    found = positive(given, name)
    if not 1 / MOST <= found <= MOST:
        raise InvalidInputError(
            f"{name} must be between 1e-6 and 1e6, not {show(given)}", f"for example {name}=0.1", "out-of-range"
        )
    return float(found)


class _Network(PrivateEstimator):
    """What both have. Rows are read as from -1 to 1; `coefs_` are those for rows as they are, cut to their bounds."""

    hidden_layer_sizes: Any
    activation: Any
    sampling_rate: Any
    epochs: Any
    clip: Any
    learning_rate_init: Any
    device: Any

    def _method(self, declared: Declared, neighbors: Neighbors, epsilon: Fraction, delta: Fraction) -> Descent:
        inside, kind = self._inside(), self._kind(declared)
        rate = positive(self.sampling_rate, "sampling_rate")
        if rate > 1:
            raise InvalidInputError(
                f"sampling_rate must be at most 1, not {show(self.sampling_rate)}",
                "it is the chance of a unit to join a step, for example sampling_rate=0.1",
                "out-of-range",
            )
        coin, steps = coin_of(rate), math.ceil(positive(self.epochs, "epochs") / rate)
        schedule = least_noise(coin=coin, steps=steps, neighbors=neighbors, epsilon=epsilon, delta=checked(delta))
        recipe = Recipe(
            schedule=schedule,
            kind=kind,
            sizes=(len(declared.features), *inside, max(kind.classes, 1)),
            clip=_moderate(self.clip, "clip"),
            rate=_moderate(self.learning_rate_init, "learning_rate_init"),
        )
        return Descent(
            recipe=recipe,
            epsilon=epsilon,
            delta=delta,
            tops=tuple(column.top for column in declared.columns),
            train=self._train(declared),
            attributes=lambda layers: self._attributes(declared, layers),
        )

    def _train(self, declared: Declared) -> Train:
        if self.device == "cpu":
            return trained
        if self.device != "cuda" or declared.rows > 1:
            raise InvalidInputError(
                f'device must be "cpu", or "cuda" with one row per unit, not {show(self.device)}',
                'give device="cpu", or max_rows=1',
                "unknown-choice",
            )
        from privet.learn.cuda import trained_on  # noqa: PLC0415

        return partial(trained_on, torch_with_cuda())

    def _kind(self, declared: Declared) -> Kind:
        if self.activation not in ACTIVATIONS:
            raise InvalidInputError(
                f"activation must be one of {', '.join(ACTIVATIONS)}, not {show(self.activation)}",
                'for example activation="relu"',
                "unknown-choice",
            )
        return Kind(activation=self.activation, classes=len(declared.classes))

    def _inside(self) -> tuple[int, ...]:
        sizes = self.hidden_layer_sizes
        listed = tuple(sizes) if isinstance(sizes, tuple | list | np.ndarray) else (sizes,)
        found = tuple(whole(size, "hidden_layer_sizes", 1) for size in listed)
        if len(found) > DEEPEST or max(found, default=1) > WIDEST:
            raise InvalidInputError(
                f"hidden_layer_sizes has at most {DEEPEST} layers of at most {WIDEST:,} units",
                "for example hidden_layer_sizes=(64,)",
                "too-large",
            )
        return found

    def _attributes(self, declared: Declared, layers: Layers) -> dict[str, Any]:
        """Weights for rows as they are: (row - middle) / half was what the network saw; where half is 0 it saw -1."""
        half, middle = (declared.highs - declared.lows) / 2, (declared.highs + declared.lows) / 2
        first, wide = layers[0], half > 0
        weights = np.where(wide[:, None], first[:-1] / np.where(wide, half, 1)[:, None], 0.0)
        offset = np.where(wide[:, None], weights * middle[:, None], first[:-1]).sum(axis=0)
        layers = [np.vstack([weights, first[-1] - offset]), *layers[1:]]
        if declared.target is not None and not declared.classes:
            high, low = declared.target.high, declared.target.low
            layers[-1] = layers[-1] * ((high - low) / 2)
            layers[-1][-1] += (high + low) / 2
        return {
            "coefs_": [layer[:-1] for layer in layers],
            "intercepts_": [layer[-1] for layer in layers],
            "n_layers_": len(layers) + 1,
            "n_outputs_": layers[-1].shape[1],
            "out_activation_": "softmax" if declared.classes else "identity",
            "_lows": declared.lows,
            "_highs": declared.highs,
        }

    def _scores(self, X: Any) -> Floats:  # noqa: N803
        check_is_fitted(self)
        rows = np.clip(self._checked(X, dtype=np.float64), self._lows, self._highs)
        layers = [np.vstack(pair) for pair in zip(self.coefs_, self.intercepts_, strict=True)]
        return scores(layers, rows, Kind(activation=self.activation, classes=0))


class MLPClassifier(ClassifierMixin, _Network):  # type: ignore[misc]
    """A small network with a softmax output, trained by DP-SGD. Its noise is in floats, not exact.

    epsilon, delta: the price; delta is at least 1e-10. bounds: (low, high) of all columns, or one pair for each.
    classes: all labels. hidden_layer_sizes: units of each hidden layer. activation: "relu", "tanh" or "identity".
    sampling_rate: the chance that a unit joins a step. epochs: how often a unit joins a step on average.
    clip: the longest gradient of a unit. learning_rate_init: the rate of Adam. device: "cpu", or "cuda" for torch.
    neighbors: "add-remove" or "replace". max_rows: how many rows of a unit count.

    There is no batch size, which would reveal how many rows there are, and no `loss_curve_`: losses of rows are not
    private.
    """

    _target = "class"

    def __init__(  # noqa: PLR0913
        self,
        *,
        epsilon: Any = None,
        delta: Any = 0,
        bounds: Any = None,
        classes: Any = None,
        hidden_layer_sizes: Any = (64,),
        activation: str = "relu",
        sampling_rate: Any = 0.1,
        epochs: Any = 30,
        clip: Any = 1,
        learning_rate_init: Any = 0.03,
        neighbors: str = "add-remove",
        max_rows: int = 1,
        device: str = "cpu",
    ) -> None:
        self.epsilon, self.delta, self.bounds, self.classes = epsilon, delta, bounds, classes
        self.hidden_layer_sizes, self.activation = hidden_layer_sizes, activation
        self.sampling_rate, self.epochs, self.clip = sampling_rate, epochs, clip
        self.learning_rate_init = learning_rate_init
        self.neighbors, self.max_rows, self.device = neighbors, max_rows, device

    def _attributes(self, declared: Declared, layers: Layers) -> dict[str, Any]:
        return super()._attributes(declared, layers) | {"classes_": np.array(declared.classes)}

    def predict_proba(self, X: Any) -> Floats:  # noqa: N803
        """The probability of each class (columns in the order of `classes_`) for each row of X."""
        return probabilities(self._scores(X))

    def predict_log_proba(self, X: Any) -> Floats:  # noqa: N803
        """The logarithms of `predict_proba`."""
        found = self._scores(X)
        found = found - found.max(axis=1, keepdims=True)
        return np.asarray(found - np.log(np.exp(found).sum(axis=1, keepdims=True)), np.float64)

    def predict(self, X: Any) -> Any:  # noqa: N803
        """The likeliest class for each row of X."""
        found = self._scores(X).argmax(axis=1)
        return self.classes_[found]


class MLPRegressor(RegressorMixin, _Network):  # type: ignore[misc]
    """A small network with one number as its output, trained on squared error by DP-SGD.

    targets: (low, high) of y. All else is as in MLPClassifier.
    """

    _target = "number"

    def __init__(  # noqa: PLR0913
        self,
        *,
        epsilon: Any = None,
        delta: Any = 0,
        bounds: Any = None,
        targets: Any = None,
        hidden_layer_sizes: Any = (64,),
        activation: str = "relu",
        sampling_rate: Any = 0.1,
        epochs: Any = 30,
        clip: Any = 1,
        learning_rate_init: Any = 0.03,
        neighbors: str = "add-remove",
        max_rows: int = 1,
        device: str = "cpu",
    ) -> None:
        self.epsilon, self.delta, self.bounds, self.targets = epsilon, delta, bounds, targets
        self.hidden_layer_sizes, self.activation = hidden_layer_sizes, activation
        self.sampling_rate, self.epochs, self.clip = sampling_rate, epochs, clip
        self.learning_rate_init = learning_rate_init
        self.neighbors, self.max_rows, self.device = neighbors, max_rows, device

    def _attributes(self, declared: Declared, layers: Layers) -> dict[str, Any]:
        target = declared.columns[-1]
        return super()._attributes(declared, layers) | {"_ends": (target.low, target.high)}

    def predict(self, X: Any) -> Floats:  # noqa: N803
        """The number for each row of X, clamped to the declared range of targets."""
        return np.clip(self._scores(X)[:, 0], *self._ends)

"""What a fit shows besides noisy sums: nothing. Errors, warnings and the form of a model are the same for any table of
the declared types, and nothing of the rows stays in a model, its copies or its pickle."""

from __future__ import annotations

import copy
import json
import pickle
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from support.lessons import COLUMNS, LEARNERS, Setting, exact_sums, extremes, setting, table_of

from privet.backends.contributions import Rows
from privet.engine import FreshNoise
from privet.errors import ReleaseFailedError
from privet.learn import base
from privet.learn.base import PrivateEstimator
from privet.learn.card import ModelCard
from privet.learn.gaussian_bayes import GaussianNB
from privet.learn.linear import LinearRegression
from privet.learn.scaler import StandardScaler

NAMES = list(LEARNERS)
DECLARED = {-1.0, 3.0, 0.0, 10.0}  # ends of ranges
PLAIN = (int, float, str, bytes, bool, type(None), np.generic)


def labels_like(name: str, rows: int) -> Any:
    return np.full(rows, 3.0) if "R" in name and "NB" not in name else np.array(["so"] * rows)


def tables(name: str) -> dict[str, tuple[Any, Any]]:
    """The same types, and as different values as there are: from nobody to outliers."""
    number = name != "CategoricalNB"
    X, y = table_of(name, 40)  # noqa: N806
    made: dict[str, tuple[Any, Any]] = {"usual": (X, y), "nobody": (X[:0], y[:0]), "one row": (X[:1], y[:1])}
    made["one label"] = X, labels_like(name, 40)
    made["alike"] = np.repeat(X[:1], 40, axis=0), np.repeat(y[:1], 40)
    made["missing"] = np.full((40, COLUMNS), np.nan if number else None, X.dtype), y
    made["other labels"] = X, np.full(40, np.nan) if y.dtype.kind == "f" else np.array(["?"] * 40)
    far = np.full((40, COLUMNS), 1e308 if number else "unseen", X.dtype)
    far[::2] = -1e308 if number else 7
    made["outliers"] = far, y
    if number:
        made["infinite"] = np.where(far > 0, np.inf, -np.inf), y
        made["tiny"] = np.full((40, COLUMNS), 5e-324), y
    return made


def form(value: Any) -> Any:
    """What there is, without the numbers."""
    if isinstance(value, np.ndarray):
        return "array", value.shape, value.dtype.kind, value.tolist() if value.dtype.kind in "UO" else None
    if isinstance(value, list | tuple):
        return type(value).__name__, [form(each) for each in value]
    if isinstance(value, ModelCard):
        return json.loads(value.to_json())
    return type(value).__name__, value if isinstance(value, str | int | tuple) else None


def shown(model: PrivateEstimator, X: Any, y: Any, **more: Any) -> Any:  # noqa: N803
    """All that can be seen of a fit but noisy numbers: its end, warnings, and the form of the model."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            model.fit(X, y, **more)
        except Exception as error:
            return type(error).__name__, str(error), error.__context__
    assert not caught
    return {name: form(value) for name, value in sorted(vars(model).items())}


def check_nothing_shows(make: Any, name: str, **more: Any) -> None:
    found = {case: shown(make(**more), *table) for case, table in tables(name).items()}
    for case, one in found.items():
        assert one == found["usual"], case


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("delta", [0, 1e-6])
def test_the_form_of_a_model_is_the_same_for_every_table(name: str, delta: float) -> None:
    check_nothing_shows(LEARNERS[name], name, epsilon=1, delta=delta)


@pytest.mark.parametrize("name", NAMES)
def test_numbers_are_finite_and_models_work_whatever_the_table(name: str) -> None:
    usual = tables(name)["usual"][0]
    for case, table in tables(name).items():
        model = LEARNERS[name](epsilon=0.1).fit(*table)
        for value in vars(model).values():
            if isinstance(value, np.ndarray) and value.dtype.kind == "f":
                assert np.isfinite(value).all(), case
        used = model.predict(usual) if hasattr(model, "predict") else model.transform(usual)
        assert len(used) == len(usual)


@pytest.mark.parametrize("bounds", [(0, 1e-100), (-1e100, 1e100), (3, 3)], ids=str)
@pytest.mark.parametrize("name", [name for name in NAMES if name != "CategoricalNB"])
def test_ranges_of_any_width(name: str, bounds: tuple[float, float]) -> None:
    more = {"targets": bounds} if name in ("LinearRegression", "Ridge") else {}
    model = LEARNERS[name](epsilon=1, bounds=bounds, **more).fit(*tables(name)["usual"])
    for value in vars(model).values():
        assert not isinstance(value, np.ndarray) or value.dtype.kind != "f" or np.isfinite(value).all()


@pytest.mark.parametrize("name", NAMES)
def test_what_is_not_declared_is_one_error_for_every_table(name: str) -> None:
    missing = "categories" if name == "CategoricalNB" else "bounds"
    check_nothing_shows(LEARNERS[name], name, epsilon=1, **{missing: None})
    check_nothing_shows(LEARNERS[name], name)


@pytest.mark.parametrize("name", NAMES)
def test_a_failure_after_the_charge_says_nothing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: Any) -> Any:
        raise ValueError("row 7 is Nora Vogel")

    monkeypatch.setattr(FreshNoise, "draw", failing)
    with pytest.raises(ReleaseFailedError) as caught:
        LEARNERS[name](epsilon=1).fit(*table_of(name, 30))
    assert "Nora" not in str(caught.value)
    assert caught.value.__context__ is None


def test_classes_and_ranges_from_the_data_are_noticed() -> None:
    """Planted: what could be declared is looked up instead."""

    class Looked(GaussianNB):
        def fit(self, X: Any, y: Any = None, units: Any = None) -> Any:  # noqa: N803
            self.classes = [*np.unique(y)[:2], "yes"] if len(np.unique(y)) else ["no", "yes"]
            return super().fit(X, y, units)

    class Ranged(LinearRegression):
        def fit(self, X: Any, y: Any = None, units: Any = None) -> Any:  # noqa: N803
            self.targets = (float(np.nanmin(y, initial=1)), float(np.nanmax(y, initial=0)) + 1)
            return super().fit(X, y, units)

    class Counted(StandardScaler):
        def fit(self, X: Any, y: Any = None, units: Any = None) -> Any:  # noqa: N803
            self.n_samples_seen_ = len(X)
            return super().fit(X, y, units)

    declared = {"bounds": (-1, 3), "epsilon": 1}
    for kind, name in ((Looked, "GaussianNB"), (Ranged, "LinearRegression"), (Counted, "StandardScaler")):
        with pytest.raises(AssertionError):
            check_nothing_shows(lambda kind=kind: kind(**declared), name)  # type: ignore[misc]


# --------------------------------------------------------------------------------------------------------- leftovers


def inside(value: Any, seen: set[int]) -> Iterator[Any]:
    """Everything that can be reached from a value, arrays behind views too."""
    if id(value) in seen:
        return
    seen.add(id(value))
    yield value
    parts: list[Any] = []
    if isinstance(value, dict):
        parts = [*value.keys(), *value.values()]
    elif isinstance(value, list | tuple | set | frozenset):
        parts = list(value)
    elif isinstance(value, np.ndarray):
        parts = [value.base, *(value.ravel().tolist() if value.dtype == object else [])]
    elif not isinstance(value, (*PLAIN, type)):
        parts = [getattr(value, name) for name in getattr(type(value), "__slots__", ())]
        parts += [getattr(value, "__dict__", {}), getattr(value, "__closure__", None)]
    for part in parts:
        yield from inside(part, seen)


def check_nothing_stays(model: PrivateEstimator, X: Any, y: Any) -> None:  # noqa: N803
    """No array that is as long as the rows or holds one of their numbers; no file, gate, back end or generator."""
    kept = list(inside(vars(model), set()))
    both = [*np.ravel(X), *y]
    numbers = {float(x) for x in both if isinstance(x, float)} - DECLARED
    for value in kept:
        assert isinstance(value, (*PLAIN, dict, list, tuple, np.ndarray, ModelCard)), type(value)
        if isinstance(value, np.ndarray):
            assert value.size < len(X)
            assert value.dtype.kind != "f" or not numbers & set(value.ravel().tolist())
    for copied in (pickle.dumps(model), pickle.dumps(copy.deepcopy(model)), repr(vars(model)).encode()):
        assert b"HeldRows" not in copied
        assert b"Ledger" not in copied
        for number in numbers:
            assert np.float64(number).tobytes() not in copied
            assert np.array(number, ">f8").tobytes() not in copied
            assert repr(number).encode() not in copied


@pytest.mark.parametrize("name", NAMES)
def test_nothing_of_the_rows_stays_in_a_model(name: str) -> None:
    X, y = table_of(name, 500)  # noqa: N806
    units = np.arange(500) // 2
    check_nothing_stays(LEARNERS[name](epsilon=1, max_rows=2).fit(X, y, units=units), X, y)


@pytest.mark.parametrize(
    "leftover", [lambda raw: raw, lambda raw: raw[:1].copy(), lambda raw: raw[3, :1], lambda raw: lambda: raw]
)
def test_leftovers_are_noticed(leftover: Any) -> None:
    X, y = table_of("PCA", 500)  # noqa: N806
    model = LEARNERS["PCA"](epsilon=1).fit(X, y)
    model.left_ = leftover(X)
    with pytest.raises(AssertionError):
        check_nothing_stays(model, X, y)


def wild_sums(made: Setting, seed: int) -> list[list[list[int]]]:
    """Numbers of all sizes, far above any noise: squares, sums and quotients of them overflow."""
    rng = np.random.default_rng(seed)
    heard = []
    for one in made.prices.rounds:
        drawn = [
            rng.choice([-1, 0, 1], each.sums.numbers) * 2.0 ** rng.integers(0, 1000, each.sums.numbers) for each in one
        ]
        heard.append([[int(number) for number in vector] for vector in drawn])
    return heard


def end_of(made: Setting, raw: Any, heard: list[list[list[int]]]) -> str:
    try:
        return str(len(list(exact_sums(made, Rows(raw), heard))))
    except Exception as error:
        return type(error).__name__


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("delta", [0, 1e-6])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of the noisy sums alone
def test_no_row_decides_whether_a_fit_fails(name: str, delta: float) -> None:
    """Noise may leave no number to go on with. Then a fit fails for every table or for none, the empty one included."""
    made = setting(LEARNERS[name](epsilon=1, delta=delta))
    raw = extremes(made.declared)
    for seed in range(20):
        heard = wild_sums(made, seed)
        assert end_of(made, raw, heard) == end_of(made, raw[:0], heard), seed


def test_what_is_not_promised_is_said() -> None:
    said = " ".join(base.NOT_PROMISED)
    for word in ("without a value", "predictions", "how long"):
        assert word in said

"""scikit-learn's conventions: its own checks, pipelines, copies; and what is different because it is private."""

from __future__ import annotations

import re
from typing import Any
from unittest import SkipTest

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.utils.estimator_checks import parametrize_with_checks
from support.lessons import LEARNERS, table_of

from privet.engine import FreshNoise
from privet.learn.base import PrivateEstimator

NAMES = list(LEARNERS)
WIDE: dict[str, dict[str, Any]] = {
    "CategoricalNB": {"categories": list(range(-10, 11)), "classes": [0, 1, 2]},
    "GaussianNB": {"bounds": (-10, 10), "classes": [0, 1, 2]},
    "LogisticRegression": {"bounds": (-10, 10), "classes": [0, 1, 2]},
    "LinearRegression": {"bounds": (-10, 10), "targets": (-10, 10)},
    "Ridge": {"bounds": (-10, 10), "targets": (-10, 10)},
}
MISSING = "rows with a missing value are left out of a fit, but have no prediction"
DECLARED = "classes are declared: none is taken from the data"
VALUES = "an error would tell of a value: what cannot be read, and a label that is no class, counts as missing"
EMPTY = "an error would tell that there are no rows"
COLUMN = "a column of labels is as good as a list of them"
KEPT = "which row is in which cluster is not kept: it is a function of single rows"
EXCEPTIONS = {
    "check_dtype_object": VALUES,
    "check_supervised_y_no_nan": VALUES,
    "check_classifiers_regression_target": VALUES,
    "check_estimators_empty_data_messages": EMPTY,
    "check_classifiers_classes": DECLARED,
    "check_classifiers_train": DECLARED,
    "check_supervised_y_2d": COLUMN,
    "check_clustering": KEPT,
}


def failing(model: PrivateEstimator) -> dict[str, str]:
    """The checks that do not hold, and why."""
    name = type(model).__name__
    listed = dict(EXCEPTIONS)
    if name not in ("StandardScaler", "CategoricalNB"):
        listed["check_estimators_pickle"] = MISSING
    if name == "LogisticRegression":
        listed["check_decision_proba_consistency"] = DECLARED
    if name == "CategoricalNB":
        listed["check_classifiers_one_label"] = "its rows have no declared category"
    return listed


MODELS = [
    LEARNERS[name](epsilon=1000, **WIDE.get(name, {"bounds": (-10, 10)})) for name in NAMES if name != "OneMargin"
]


@parametrize_with_checks(MODELS, expected_failed_checks=failing)  # type: ignore[untyped-decorator]
def test_checks_of_scikit_learn(estimator: Any, check: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without noise, so that nothing fails by chance, and two fits can be compared."""
    monkeypatch.setattr(FreshNoise, "draw", lambda _, __, size: np.zeros(size, np.int64))
    try:
        check(estimator)
    except SkipTest as reason:  # these checks are for models that learn the same twice, or need a switch of SciPy
        if not re.search("is non deterministic|SCIPY_ARRAY_API", str(reason)):
            raise


@pytest.mark.parametrize("name", NAMES)
def test_copies_and_parameters(name: str) -> None:
    model = LEARNERS[name](epsilon=2)
    again = clone(model)
    assert again.get_params() == model.get_params()
    assert clone(again.set_params(epsilon=3)).epsilon == 3
    model.fit(*table_of(name, 30))
    assert not hasattr(clone(model), "privacy_")
    assert model.fit(*table_of(name, 40)).privacy_.model == type(model).__name__


@pytest.mark.parametrize("name", NAMES)
def test_names_of_columns(name: str) -> None:
    X, y = table_of(name, 50)  # noqa: N806
    frame = pd.DataFrame(X, columns=["age", "pay"])
    model = LEARNERS[name](epsilon=2).fit(frame, y)
    assert model.feature_names_in_.tolist() == ["age", "pay"]
    assert model.n_features_in_ == 2
    assert list(model.privacy_.declared)[:2] == ["age", "pay"]
    use = model.predict if hasattr(model, "predict") else model.transform
    assert len(use(frame)) == 50
    with pytest.raises(ValueError, match="feature names should match"):
        use(frame[["pay", "age"]])
    assert not hasattr(model.fit(X, y), "feature_names_in_")
    with pytest.raises(ValueError, match="1 features"):
        use(X[:, :1])


def test_pipelines() -> None:
    X, y = table_of("GaussianNB", 2000)  # noqa: N806
    scaled = LEARNERS["StandardScaler"](epsilon=5)
    model = make_pipeline(scaled, LEARNERS["GaussianNB"](epsilon=5, bounds=(-4, 4)))
    assert set(model.fit(X, y).predict(X)) <= {"no", "so", "yes"}
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "word": ["x", "y"] * 1000})
    parts = ColumnTransformer(
        [("numbers", clone(scaled), ["a", "b"]), ("words", OneHotEncoder(categories=[["x", "y"]]), ["word"])]
    )
    assert parts.fit_transform(frame).shape == (2000, 4)
    axes = LEARNERS["PCA"](epsilon=1, n_components=1).set_output(transform="pandas").fit_transform(frame[["a", "b"]])
    assert axes.columns.tolist() == ["pca0"]
    assert LEARNERS["KMeans"](epsilon=1).fit(X).get_feature_names_out().tolist() == ["kmeans0", "kmeans1"]
    assert scaled.fit(frame[["a", "b"]]).get_feature_names_out().tolist() == ["a", "b"]


def test_scores() -> None:
    for name in ("GaussianNB", "CategoricalNB", "LinearRegression", "Ridge"):
        X, y = table_of(name, 120)  # noqa: N806
        found = cross_val_score(LEARNERS[name](epsilon=50), X, y, cv=3)
        assert np.isfinite(found).all()

"""Models as JSON: the same predictions after a round trip, and a file that can do nothing but give numbers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.learned_vault import vault_of, visits
from support.refusals import raises_code

from privet import learn, recheck
from privet.errors import InvalidInputError
from privet.learn.model_file import _read, _written, model_json, text_of
from privet.vault import Vault


@pytest.fixture(scope="module")
def vault(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Vault]:
    with vault_of(tmp_path_factory.mktemp("vault"), visits()) as made:
        yield made


def models(vault: Vault) -> dict[str, Any]:
    rows = np.arange(40.0).reshape(20, 2)
    return {
        "bayes": vault.fit(learn.GaussianNB(epsilon=1), "visits", target="ill"),
        "categories": vault.fit(
            learn.CategoricalNB(epsilon=1), "visits", target="smoker", features=["ward", "ill", "age"]
        ),
        "line": vault.fit(learn.LinearRegression(epsilon=1), "visits", target="cost", features=["age", "sex", "day"]),
        "logistic": vault.fit(learn.LogisticRegression(epsilon=1), "visits", target="ill"),
        "network": vault.fit(learn.MLPClassifier(epsilon=1, delta=1e-6, epochs=1), "visits", target="ill"),
        "clusters": vault.fit(learn.KMeans(2, epsilon=1), "visits", features=["age", "day"], where="age > 20"),
        "axes": vault.fit(learn.PCA(epsilon=1, delta=1e-6), "visits", features=["age", "cost"]),
        "scaler alone": learn.StandardScaler(epsilon="1/3", bounds=[(0, 40), (1, 50)], with_mean=False).fit(rows),
        "bayes alone": learn.GaussianNB(epsilon=1, bounds=(0, 40), classes=np.array([3, 5])).fit(rows, [3, 5] * 10),
    }


def given(model: Any, rows: Any) -> Any:
    return model.predict(rows) if hasattr(model, "predict") else model.transform(rows)


def test_a_model_is_the_same_after_it_was_written_and_read(vault: Vault, tmp_path: Path) -> None:
    frame = visits(seed=9).dropna(subset=["age"])
    for name, model in models(vault).items():
        path = tmp_path / f"{name}.json"
        learn.save(model, path)
        found = learn.load(path)
        rows = np.arange(12.0).reshape(6, 2) if "alone" in name else frame
        np.testing.assert_array_equal(given(found, rows), given(model, rows))
        assert str(found.privacy_) == str(model.privacy_)
        assert vars(found).keys() == vars(model).keys()
        assert text_of(found) == path.read_text()
        if name != "network":  # whose price `recheck` does not know
            assert recheck.problems(recheck.guarantee_of(path.read_text())) == []
            assert recheck.problems(recheck.guarantee_of(model.privacy_.to_json())) == []
        assert "secret-" not in path.read_text()


def test_values_of_every_kind() -> None:
    for value in (
        None, True, 3, 2.5, "x", float("inf"), Fraction(1, 3), (1, ("a",)), [1, [2.0]], {"a": 1, 2: (3,)},
    ):  # fmt: skip
        assert _read(json.loads(json.dumps(_written(value)))) == value
        assert type(_read(json.loads(json.dumps(_written(value))))) is type(value)
    assert np.isnan(_read(_written(float("nan"))))
    assert _written(np.float64(2)) == 2.0
    assert _written(range(3)) == [0, 1, 2]
    for array in (
        np.arange(6.0).reshape(2, 3),
        np.array(["a", "bc"]),
        np.array([True]),
        np.array([], int),
        np.array(["a", None], object),
    ):
        again = _read(json.loads(json.dumps(_written(array))))
        np.testing.assert_array_equal(again, array)
        assert again.dtype == array.dtype
    with raises_code(InvalidInputError, "not-supported: object"):
        _written(object())


def test_what_is_no_model_is_refused(vault: Vault, tmp_path: Path) -> None:
    with raises_code(InvalidInputError, "missing-value"):
        model_json(learn.PCA(epsilon=1))
    model = vault.fit(learn.PCA(1, epsilon=1), "visits", features=["age"])
    with raises_code(InvalidInputError, "wrong-ending: 'model.pkl'"):
        learn.save(model, tmp_path / "model.pkl")
    with raises_code(InvalidInputError, "missing-file"):
        learn.load(tmp_path / "none.json")
    whole = json.loads(text_of(model))
    path = tmp_path / "model.json"
    wrong: dict[str, Any] = {
        "no JSON": "{",
        "another kind": json.dumps({"result": 3}),
        "no fit": json.dumps({"result": {**whole["result"], "fitted": 3}}),
        "a later format": json.dumps({"result": {**whole["result"], "format": 2}}),
        "no learner": json.dumps({"result": {**whole["result"], "model": "load"}}),
        "another learner": json.dumps({"result": {**whole["result"], "model": "os.system"}}),
        "a method": json.dumps({"result": {**whole["result"], "fitted": {"transform": 1}}}),
        "a method with an underscore": json.dumps({"result": {**whole["result"], "fitted": {"_lesson": 1}}}),
        "a special name": json.dumps({"result": {**whole["result"], "fitted": {"__class__": 1}}}),
        "another parameter": json.dumps({"result": {**whole["result"], "parameters": {"x": 1}}}),
    }
    for case, text in wrong.items():
        path.write_text(text)
        with raises_code(InvalidInputError, "wrong-format|unknown-choice"):
            pytest.fail(f"{case}: {learn.load(path)}")


def test_no_file_is_written_over_another(vault: Vault, tmp_path: Path) -> None:
    model = vault.fit(learn.PCA(1, epsilon=1), "visits", features=["age"])
    learn.save(model, tmp_path / "model.json")
    with raises_code(InvalidInputError, "file-exists"):
        learn.save(model, tmp_path / "model.json")

"""`privet fit`: what is printed, which files are written, and when it is paid."""

from __future__ import annotations

import json
import pickle
import sys
from collections.abc import Callable
from importlib import util
from pathlib import Path

import pytest
from support.refusals import expect_code, failed

import privet as pv
from privet import cli, learn
from privet.errors import PrivetError

Run = Callable[..., str]
Fails = Callable[..., PrivetError]
FIT = ("fit", "v.privet", "visits", "GaussianNB", "--target", "ward", "--epsilon", "1")


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [f"{n // 2},{'AB'[n % 2]},{n % 100}" for n in range(400)]
    Path("visits.csv").write_text("\n".join(["pid,ward,cost", *rows]) + "\n")
    columns = {"ward": pv.Category(["A", "B"]), "cost": pv.Number(0, 100, step="0.5")}
    with pv.create("v.privet", budget=pv.Budget(3, 1e-6)) as vault:
        vault.add_table("visits", "visits.csv", unit="pid", columns=columns, max_rows=2)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def one(*words: str) -> str:
        assert cli.main(list(words)) == 0, capsys.readouterr().err
        out, err = capsys.readouterr()
        assert err == ""
        return out

    return one


@pytest.fixture
def fails(capsys: pytest.CaptureFixture[str]) -> Fails:
    def one(*words: str) -> PrivetError:
        return failed(list(words), capsys)

    return one


def spent() -> float:
    with pv.open("v.privet") as vault:
        return float(vault.budget.spent.epsilon or 0)


def test_a_model_is_learned_written_and_given_again(run: Run) -> None:
    out = run(*FIT, "--out", "model.json")
    assert "GaussianNB, learned with differential privacy" in out
    assert "price: epsilon 1, delta 0" in out
    assert "with at most 2 rows" in out
    assert 'the model is in model.json: privet.learn.load("model.json") reads it' in out
    model = learn.load("model.json")
    assert spent() == 1
    assert "given again free of charge" in run(*FIT, "--out", "model.pickle")
    again = pickle.loads(Path("model.pickle").read_bytes())
    assert again.theta_.tolist() == model.theta_.tolist()
    assert "the model was not written" in run(*FIT)
    assert spent() == 1
    assert "The charge covers the price." in run("recheck", "model.json")


def test_as_json(run: Run) -> None:
    found = json.loads(run(*FIT, "--json", "--out", "model.json"))
    assert (found["kind"], found["result"]["file"]) == ("model", "model.json")
    assert found["result"]["fitted"] == json.loads(Path("model.json").read_text())["result"]["fitted"]
    assert found["result"]["card"]["receipt"]["entry"] == 2
    planned = json.loads(run(*FIT, "--explain", "--json"))
    assert (planned["kind"], planned["result"]["free"], planned["result"]["cost"]["epsilon"]) == ("fit", True, 1.0)


def test_it_is_explained_before_it_is_paid(run: Run) -> None:
    out = run(*FIT, "--explain")
    for words in ("GaussianNB from visits, version 1: 1 number", "cost: 0 to 100 in steps of 0.5", "round 2: "):
        assert words in out
    assert "The budget is enough for about 3 such fits, this one included." in out
    assert spent() == 0


def test_the_price_of_a_network_is_not_rechecked_here(run: Run, fails: Fails) -> None:
    network = ("fit", "v.privet", "visits", "MLPClassifier", "--target", "ward", "--epsilon", "1", "--delta", "1e-7")
    run(*network, "--set", "epochs=1", "--out", "network.json")
    expect_code("not-supported: network", fails("recheck", "network.json"))


def test_settings_and_conditions(run: Run, fails: Fails) -> None:
    kmeans = ("fit", "v.privet", "visits", "k-means", "--epsilon", "1")
    run(*kmeans, "--set", "n_clusters=3", "--features", "cost", "--where", "cost >= 50", "--out", "k.json")
    model = learn.load("k.json")
    assert model.cluster_centers_.shape == (3, 1)
    assert "only rows where = cost >= 50" in str(model.privacy_)
    expect_code("not-a-number|not-whole: three", fails(*kmeans, "--set", "n_clusters=three"))
    expect_code("unknown-option: 'clusters=3' … n_clusters", fails(*kmeans, "--set", "clusters=3"))
    expect_code("unknown-option: n_clusters", fails(*kmeans, "--set", "epsilon=9"))
    assert spent() == 1


def test_a_model_is_scored_in_folds(run: Run, fails: Fails) -> None:
    folds = (*FIT[:-1], "0.5", "--folds", "3")
    out = run(*folds, "--explain")
    for words in ("Each pid is in one of 3 folds.", "epsilon 1.5, delta 0", "about 2 such cross-validations"):
        assert words in out
    assert spent() == 0
    out = run(*folds)
    for words in ("accuracy (share of right predictions): ", "   fold 3: ", "price: epsilon 1.5, delta 0", "entry 2"):
        assert words in out
    found = json.loads(kept := run(*folds, "--json"))
    assert (found["kind"], len(found["result"]["folds"])) == ("cross-validation", 3)
    assert found["result"]["card"]["replayed"]
    Path("scores.json").write_text(kept)
    assert "The charge covers the price." in run("recheck", "scores.json")
    planned = json.loads(run(*folds, "--scoring", "accuracy", "--score-epsilon", "0.25", "--explain", "--json"))
    assert (planned["result"]["cost"]["epsilon"], planned["result"]["folds"]) == (1.25, 3)
    for words, code in (
        ((*folds, "--out", "model.json"), "contradiction: --out"),
        ((*FIT, "--score-epsilon", "1"), "missing-option: --score-epsilon … --folds"),
        ((*FIT, "--scoring", "accuracy"), "missing-option: --scoring … --folds"),
        ((*folds[:-1], "1"), "too-small|not-positive|out-of-range: folds"),
        ((*folds, "--scoring", "r2"), "unknown-choice: 'r2' … accuracy"),
    ):
        expect_code(code, fails(*words))
    assert spent() == 1.5


def test_the_models_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as leaving:
        cli.main(["fit", "--list"])
    assert leaving.value.code == 0
    out = capsys.readouterr().out
    assert "GaussianNB          a target with classes" in out
    assert "KMeans              no target; --set n_clusters" in out


def test_what_is_refused_costs_nothing(fails: Fails) -> None:
    """Also files: before the price is paid, not after it."""
    Path("there.json").write_text("mine")
    for words, code in (
        (("fit", "v.privet", "visits", "GausianNB", "--epsilon", "1"), "unknown-choice: 'GausianNB' … GaussianNB"),
        ((*FIT, "--out", "there.json"), "file-exists: there.json"),
        ((*FIT, "--out", "model.txt"), "wrong-ending: 'model.txt'"),
        ((*FIT, "--out", "nowhere/model.json"), "cannot-write"),
        ((*FIT[:-1], "9"), "budget-exceeded"),
        ((*FIT, "--features", "ward"), "contradiction: 'ward'"),
        ((*FIT[:-2],), "wrong-usage: --epsilon"),
        (("fit", "v.privet", "visits", "PCA", "--epsilon", "1", "--target", "ward"), "unneeded-option: PCA"),
    ):
        expect_code(code, fails(*words))
    assert Path("there.json").read_text() == "mine"
    assert spent() == 0


def test_a_missing_extra_is_named(fails: Fails, monkeypatch: pytest.MonkeyPatch) -> None:
    find = util.find_spec
    monkeypatch.setattr(util, "find_spec", lambda name, *more: None if name == "sklearn" else find(name, *more))
    for name in [name for name in sys.modules if name.startswith("privet.learn")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delattr(pv, "learn", raising=False)
    expect_code('missing-extra: scikit-learn … pip install "privet[learn]"', fails(*FIT))

"""The search against every node tried, its bounds by enumeration, what it gives back, and what it says of bad input."""

from __future__ import annotations

import dataclasses
import json
import os
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import anonymity_oracle as oracle
from support.anonymity_oracle import Made
from support.refusals import expect_code, raises_code

from privet.anonymize import counting, generalization, lattice
from privet.anonymize.generalization import GeneralizeTask, generalize, limit_of, quasi_identifiers
from privet.anonymize.hierarchy import Hierarchy
from privet.anonymize.lattice import Lattice, LatticeSearch
from privet.anonymize.models import DistinctL, EntropyL, K, RecursiveL, T, columns_of
from privet.anonymize.result import Anonymized
from privet.anonymize.utility import MEASURES
from privet.errors import InvalidInputError
from privet.records.microdata import Microdata, RecordColumn, read

DATA = os.environ.get("PRIVET_DATA")
PRUNING = (K, DistinctL)


def made_of(made: Made, **more: Any) -> Anonymized:
    return generalize(
        made.data, made.names, hierarchies=made.hierarchies, k=None, models=made.models, suppress=made.suppress,
        measure=made.measure, weights=made.weights, **more,
    )  # fmt: skip


def lattice_of(made: Made) -> Lattice:
    private = columns_of(made.models)
    task = GeneralizeTask(
        records=made.data,
        quasi=quasi_identifiers(made.data, made.names, private, made.hierarchies),
        models=made.models,
        sensitive=private,
        limit=made.limit,
        measure=made.measure,
        weights=[Fraction(made.weights.get(name, 1)) for name in made.names],
    )
    return generalization._lattice(task, weighted=bool(made.weights))


@pytest.mark.parametrize("start", range(0, 800, 100))
def test_the_optimum_is_that_of_trying_every_node(start: int) -> None:
    feasible = 0
    for seed in range(start, start + 100):
        made = oracle.table(seed)
        wanted = oracle.best(made)
        if wanted is None:
            with pytest.raises(InvalidInputError):
                made_of(made)
            continue
        feasible += 1
        found = made_of(made)
        loss, suppressed, _, node = wanted
        assert tuple(found.node.values()) == node, seed
        assert found.optimal
        assert found.suppressed == suppressed
        assert found.measures[made.measure] == pytest.approx(float(loss))
        assert found.bound == pytest.approx(float(loss))
        check_release(made, found, node)
    assert feasible >= 50


def check_release(made: Made, found: Anonymized, node: tuple[int, ...]) -> None:
    """Each record as it should look, in the right class, and all measures as defined."""
    gone = oracle.suppressed(made, node)
    rows = [("*",) * len(node) if out else row for row, out in zip(made.general(node), gone, strict=True)]
    shown = list(zip(*(found.data[name].listed() for name in made.names), strict=True))
    assert shown == rows
    for name, values in made.secrets.items():
        assert found.data[name].listed().tolist() == values
    assert [at < 0 for at in found.classes] == gone
    together = {(at, row) for at, row in zip(found.classes.tolist(), rows, strict=True) if at >= 0}
    assert len(together) == len({at for at, _ in together}) == len({row for _, row in together}) == len(found.sizes)
    assert {at for at, _ in together} == set(range(len(together)))
    for measure in MEASURES:
        weights = made.weights if measure == made.measure else {}
        slow = oracle.loss(dataclasses.replace(made, measure=measure, weights=weights), node, gone)
        assert found.measures[measure] == pytest.approx(float(slow))


@pytest.mark.parametrize("measure", MEASURES)
def test_bounds_hold_at_every_node_and_are_reached(measure: str) -> None:
    reached = 0
    for seed in range(60):
        made = oracle.table(seed, measure=measure, weights={})
        found = lattice_of(made)
        looks = {node: found.look(node) for node in made.nodes}
        losses = {
            node: float(Fraction(found.measure.loss(look.classes, look.gone)) / found.measure.total)
            for node, look in looks.items()
        }
        floors = found.measure.floors()
        assert floors.shape == tuple(map(len, made.levels))
        for upper, look in looks.items():
            assert floors[upper] <= losses[upper] * (1 + 1e-12)
            below, above = found.measure.below(upper, look.must), found.measure.above(look.classes)
            for lower in made.nodes:
                if all(one <= other for one, other in zip(lower, upper, strict=True)) and found.limit:
                    assert below[lower] <= losses[lower] * (1 + 1e-12)
                    reached += below[lower] >= losses[lower] * (1 - 1e-12) and lower != upper
                if all(one >= other for one, other in zip(lower, upper, strict=True)):
                    assert above <= losses[lower] * (1 + 1e-12)
                    reached += lower != upper and above >= losses[lower] * (1 - 1e-12)
    assert reached > 20


def test_records_that_must_go_are_gone_at_every_node_below() -> None:
    for seed in range(80):
        made = oracle.table(seed)
        found = lattice_of(made)
        pruning = tuple(model for model in made.models if isinstance(model, PRUNING))
        for upper in made.nodes:
            must = {number for number in range(len(made.quasi)) if oracle.suppressed(made, upper, pruning)[number]}
            look = found.look(upper)
            assert look.must.records >= len(must)
            if made.limit == 0 and look.must.records:
                lower = [node for node in made.nodes if all(a <= b for a, b in zip(node, upper, strict=True))]
                assert all(any(oracle.suppressed(made, node)) for node in lower)
            elif made.limit:
                for node in made.nodes:
                    if all(one <= other for one, other in zip(node, upper, strict=True)):
                        assert look.must.records <= sum(oracle.suppressed(made, node))


@pytest.mark.parametrize("model", [EntropyL(2, "s"), RecursiveL(2, 2, "s"), T("0.4", "s"), T("0.2", "s", ordered=True)])
def test_pruning_by_a_model_for_which_it_is_wrong_loses_the_optimum(model: Any) -> None:
    for seed in range(400):
        made = oracle.table(seed, models=(model,), suppress="0.3", measure="ncp", weights={})
        wanted = oracle.best(made)
        right, wrong = LatticeSearch(lattice_of(made)).run(), LatticeSearch(Pruned(**parts(lattice_of(made)))).run()
        assert (wanted is None) == (right.best is None)
        if wanted is not None:
            assert right.best.look.classes.node == wanted[3]
            if wrong.best is None or wrong.best.order != right.best.order:
                return
    raise AssertionError("planted, and not seen")


class Pruned(Lattice):
    """A wrong one: takes what one node suppresses for suppressed at all nodes below."""

    def look(self, node: tuple[int, ...]) -> lattice.Look:
        look = Lattice.look(self, node)
        return dataclasses.replace(look, must=look.gone)


def parts(one: Lattice) -> dict[str, Any]:
    return {name: getattr(one, name) for name in ("ground", "levels", "demand", "measure", "limit")}


# What is given back


def rows(**columns: list[str | None]) -> dict[str, list[str | None]]:
    return columns


PEOPLE = rows(
    age=["21", "22", "23", "24", "61", "62"],
    sex=["F", "F", "M", "M", "F", None],
    ill=["a", "b", "a", "a", "b", "b"],
)
HIERARCHIES = {
    "age": Hierarchy("age", (("21", "22", "23", "24", "61", "62"), ("20s",) * 4 + ("60s",) * 2, ("*",) * 6)),
    "sex": Hierarchy("sex", (("F", "M"), ("*", "*"))),
}


def test_a_small_release_as_it_looks(tmp_path: Path) -> None:
    made = generalize(PEOPLE, ["age", "sex"], hierarchies=HIERARCHIES, k=2, suppress="1/3", sensitive="ill")
    assert made.node == {"age": 1, "sex": 0}
    assert made.suppressed == 2
    assert made.data["age"].listed().tolist() == ["20s"] * 4 + ["*"] * 2
    assert made.data["sex"].listed().tolist() == ["F", "F", "M", "M", "*", "*"]
    assert made.labels == {"age": ("*", "20s", "60s"), "sex": ("*", "F", "M", None)}
    assert made.classes.tolist() == [0, 0, 1, 1, -1, -1]
    assert made.original["age"].listed().tolist() == PEOPLE["age"]
    assert made.sensitive == ("ill",)
    assert made.sizes.tolist() == [2, 2]
    assert "suppressed (33.33%)" in str(made)
    assert "the optimum" in str(made)
    assert "levels: age 1, sex 0" in str(made)
    told = made.to_json()
    assert told["suppressed"] == 2
    assert told["ncp"] == pytest.approx((4 * 3 / 5 / 2 + 2) / 6)
    assert told["node"] == {"age": 1, "sex": 0}
    assert {"seconds", "optimal", "bound", "classes", "smallest_class", "entropy"} <= told.keys()
    json.dumps(told)
    assert made.to_pandas().shape == (6, 3)
    assert made.to_pandas(keep_suppressed=False).shape == (4, 3)
    made.write(tmp_path / "all.csv")
    made.write(tmp_path / "kept.csv", keep_suppressed=False)
    assert len(read(tmp_path / "all.csv")) == 6
    assert texts_of(read(tmp_path / "kept.csv")) == texts_of(made.rows(keep_suppressed=False))


def test_a_single_suppressed_record_is_not_shipped(tmp_path: Path) -> None:
    """Whoever is in no class would be known to be the one with the stars."""
    people = {"a": ["x"] * 6 + ["y"], "ill": ["flu", "cold"] * 3 + ["odd"]}
    made = generalize(people, "a", k=2, suppress="0.2")
    assert (made.suppressed, made.stars_hold) == (1, False)
    made.write(tmp_path / "out.csv")
    assert read(tmp_path / "out.csv")["ill"].texts == ("cold", "flu")
    assert made.rows(keep_suppressed=False)["ill"].texts == ("cold", "flu")  # and not its disease either
    made.write(tmp_path / "all.csv", keep_suppressed=True)
    assert read(tmp_path / "all.csv")["a"].listed().tolist() == ["x"] * 6 + ["*"]


def test_suppressed_records_are_a_class_too() -> None:
    people = {"a": ["x"] * 6 + ["y", "z"], "ill": ["flu", "cold"] * 3 + ["odd", "odd"]}
    for asked, holds in {(1, None): True, (2, None): False, (None, "0.3"): True}.items():
        made = generalize(people, "a", k=2, l=asked[0], t=asked[1], sensitive="ill", suppress="0.3")
        assert (made.suppressed, made.stars_hold) == (2, holds), asked
    assert generalize(people, "a", k=1).stars_hold


def test_a_shuffled_file_has_the_same_records_in_another_order(tmp_path: Path) -> None:
    people = {"a": [str(age) for age in range(200)], "b": [f"n{age}" for age in range(200)]}
    made = generalize(people, "a", k=1)
    made.write(tmp_path / "out.csv", shuffle=True)
    rows = [(a, b) for a, b in zip(*texts_of(read(tmp_path / "out.csv")).values(), strict=True)]
    assert rows != list(zip(*people.values(), strict=True))  # but once in 200! times
    assert sorted(rows) == sorted(zip(*people.values(), strict=True))
    kept = generalize({"a": ["x"] * 9 + ["y"], "b": list("123456789*")}, "a", k=2, suppress="0.1")
    assert sorted(kept.rows(keep_suppressed=False, shuffle=True)["b"].listed()) == list("123456789")


def test_columns_that_nothing_looked_at_are_told(tmp_path: Path) -> None:
    people = {"name": [f"n{place}" for place in range(9)], "a": ["x"] * 9, "ill": ["flu", "cold", "flu"] * 3}
    made = generalize(people, "a")
    assert (made.untouched, made.telling) == (["name", "ill"], ["name"])
    assert "although most records have a value of their own: name" in str(made)
    (tmp_path / "twice.csv").write_text("a,b,B\n" + "x,1,2\n" * 6)
    assert "not read, for their names or types: 'b', 'B'" in str(generalize(tmp_path / "twice.csv", "a"))
    assert "not read" not in str(made)


def texts_of(data: Microdata) -> dict[str, list[str | None]]:
    return {one.name: one.listed().tolist() for one in data}


def test_missing_values_stay_missing_and_hide_at_the_top() -> None:
    made = generalize(PEOPLE, "sex", hierarchies=HIERARCHIES, k=1)
    assert made.data["sex"].listed().tolist() == PEOPLE["sex"]
    assert made.suppressed == 0
    assert made.rows(keep_suppressed=False) is made.data
    made = generalize(PEOPLE, ["sex"], hierarchies=HIERARCHIES, k=2, suppress=0)
    assert made.data["sex"].listed().tolist() == ["*"] * 6
    data = Microdata({"sex": RecordColumn("sex", np.array([0, 2, 1, 1], dtype=np.uint8), ("", "F", None))}, 4)
    made = generalize(data, ["sex"], hierarchies=HIERARCHIES, k=2, suppress=0)
    assert made.node == {"sex": 0}  # an empty text is missing, too, so there are two of them
    assert made.classes.tolist() == [1, 1, 0, 0]
    assert made.data["sex"].listed().tolist() == [None, None, "F", "F"]


def test_hierarchies_from_a_folder_or_none_at_all(tmp_path: Path) -> None:
    (tmp_path / "sex.csv").write_text("F;*\nM;*\n;*\n")
    made = generalize(PEOPLE, ["sex"], hierarchies=tmp_path, k=3, suppress=0)
    assert made.node == {"sex": 1}
    made = generalize(PEOPLE, ["age", "sex"], k=3, suppress=0)
    assert min(made.sizes) >= 3


def test_weights_say_what_matters() -> None:
    made = {}
    for heavy in ("age", "sex"):
        made[heavy] = generalize(
            PEOPLE, ["age", "sex"], hierarchies=HIERARCHIES, k=2, suppress=0, weights={heavy: 100}
        )  # fmt: skip
    assert made["age"].node == {"age": 1, "sex": 1}
    assert made["sex"].node["age"] == 2 or made["sex"].node["sex"] == 1


def test_many_values_that_fit_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys beyond 64 bits, and tables of keys that would be too large: the result is the same."""
    chance = np.random.default_rng(3)
    data = {f"q{place}": [str(value) for value in chance.integers(0, 900, 300)] for place in range(8)}
    hierarchies = {}
    for name, values in data.items():
        ground = tuple(sorted(set(values)))
        hierarchies[name] = Hierarchy(name, (ground, tuple(value[-1] for value in ground), ("*",) * len(ground)))
    wanted = generalize(data, list(data), hierarchies=hierarchies, k=3, suppress=0.2)
    for name, value in {"DIRECT": 64, "DENSE": 1}.items():
        monkeypatch.setattr(generalization if name == "DIRECT" else counting, name, value)
    made = generalize(data, list(data), hierarchies=hierarchies, k=3, suppress=0.2)
    assert made.node == wanted.node
    assert made.classes.tolist() == wanted.classes.tolist()
    for small in (2**20, 2**30):
        monkeypatch.setattr(counting, "LARGEST", small)
        made = generalize(data, list(data), hierarchies=hierarchies, k=3, suppress=0.2)
        assert made.node == wanted.node
        assert sorted(made.sizes) == sorted(wanted.sizes)


def test_classes_in_blocks_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lattice, "CELLS", 4)
    for seed in range(20):
        made = oracle.table(seed, models=(T("1/3", "s"), EntropyL(2, "u")), suppress="1")
        wanted = oracle.best(made)
        if wanted is not None:
            assert tuple(made_of(made).node.values()) == wanted[3]


# Time, and what cannot be


def test_when_time_is_up_the_best_so_far_is_told_with_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    made = oracle.table(5, models=(K(2),), suppress="0.3", measure="ncp")
    ticks = iter(range(1000))
    monkeypatch.setattr(lattice.time, "monotonic", lambda: next(ticks))
    optimum = made_of(made)
    seen = 0
    for seconds in range(1, 12):
        found = made_of(made, seconds=seconds)
        assert found.bound <= optimum.measures["ncp"] + 1e-12 <= found.measures["ncp"] + 2e-12
        if not found.optimal:
            seen += 1
            assert "nothing is below" in str(found)
    assert seen


def test_without_time_and_without_luck(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Made([("v0",), ("v1",)] * 2, {"s": list("abaa")}, [(("v0", "v1"), ("*", "*"))], (EntropyL(2, "s"),), "0.5")
    monkeypatch.setattr(lattice.time, "monotonic", iter(range(1000)).__next__)
    with raises_code(InvalidInputError, "out-of-time"):
        made_of(made, seconds=1)


def test_progress_goes_up_to_all_nodes() -> None:
    told: list[tuple[str, int, int]] = []
    made = oracle.table(5, models=(K(2),), suppress="0.3", measure="ncp")
    made_of(made, progress=lambda *news: told.append(news))
    assert [done for _, done, _ in told] == sorted(done for _, done, _ in told)
    assert told[-1] == ("nodes", len(made.nodes), len(made.nodes))


def refused(**changed: Any) -> InvalidInputError:
    given: dict[str, Any] = {"data": PEOPLE, "quasi": ["age", "sex"], "hierarchies": HIERARCHIES, "k": 2} | changed
    with pytest.raises(InvalidInputError) as caught:
        generalize(given.pop("data"), given.pop("quasi"), **given)
    assert "\n" not in caught.value.problem
    assert "\n" not in caught.value.remedy
    return caught.value


@pytest.mark.parametrize(
    ("problem", "changed"),
    [
        ("too-large: k=7 … the 6 records", {"k": 7}),
        ("too-large: k=2 … the 1 record", {"data": {"age": ["21"], "sex": ["F"]}}),
        ("empty: records", {"data": {"age": np.array([], dtype=object), "sex": np.array([], dtype=object)}}),
        ("missing-name: named", {"quasi": []}),
        ("duplicate-name: quasi-identifier … 'age'", {"quasi": ["age", "age"]}),
        ("unknown-column: column … 'zip'", {"quasi": ["zip"]}),
        ("unknown-column: column … 'zip'", {"sensitive": "zip", "l": 2}),
        ("duplicate-name: 'sex' … quasi-identifier", {"sensitive": ["ill", "sex"], "l": 2}),
        ("duplicate-name: 'sex' … quasi-identifier", {"models": [EntropyL(2, "sex")]}),
        ("out-of-range: suppress … from 0 … 1.5", {"suppress": 1.5}),
        ("not-finite: suppress", {"suppress": float("nan")}),
        ("unknown-choice: 'loss'", {"measure": "loss"}),
        ("unneeded-option", {"measure": "discernibility", "weights": {"age": 2}}),
        ("unknown-column: 'zip' … quasi-identifier", {"weights": {"zip": 2}}),
        ("not-positive: weight … above 0", {"weights": {"age": 0}}),
        ("not-positive: seconds … above 0", {"seconds": 0}),
        ("wrong-type: 'age'", {"hierarchies": {"age": "ages.csv"}}),
    ],
)
def test_bad_input_is_one_clear_line(problem: str, changed: dict[str, Any]) -> None:
    expect_code(problem, refused(**changed))


def test_what_would_be_feasible_is_told() -> None:
    half = {"sex": Hierarchy("sex", (("F", "M", ""), ("F", "M", "")))}
    error = refused(quasi=["sex"], hierarchies=half, suppress=0)
    expect_code("unreachable-model: k=2 … most 0 … 6 records", error)
    assert "let 1 be suppressed: suppress=0.166667" in error.remedy
    made = generalize(PEOPLE, ["sex"], hierarchies=half, k=2, suppress=0.166667)
    assert made.suppressed == 1
    expect_code("unreachable-model: keeps", refused(quasi=["sex"], sensitive="ill", l=3, suppress=1))


def test_too_many_levels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generalization, "MOST_NODES", 5)
    expect_code("too-many: are 6 ways", refused())


def test_the_limit_is_a_whole_number_of_records() -> None:
    assert [limit_of(share, 100) for share in (0, 0.29, "0.299", 1)] == [0, 29, 29, 100]  # 0.29 * 100 is 28.99...
    assert limit_of(0.05, 30_162) == 1508


# Adult: the optima that ARX finds

QUASI = ["sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation"]


@pytest.mark.skipif(DATA is None, reason="PRIVET_DATA is not set: no real data here")
@pytest.mark.parametrize(
    ("asked", "ncp", "suppressed"),
    [
        ({"k": 5}, 0.2618, 1248),
        ({"k": 10}, 0.3315, 1484),
        ({"k": 100}, 0.5429, 1254),
        ({"k": 5, "l": 2, "sensitive": "salary-class"}, 0.3588, 1282),
    ],
    ids=str,
)
def test_adult(asked: dict[str, Any], ncp: float, suppressed: int) -> None:
    folder = Path(DATA or "") / "adult_arx"
    made = generalize(folder / "adult.csv.gz", QUASI, hierarchies=folder, suppress=0.05, **asked)
    assert made.optimal
    assert (round(made.measures["ncp"], 4), made.suppressed) == (ncp, suppressed)

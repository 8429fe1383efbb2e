"""Attribute inference on simulated people of whom the truth is known: correlation, leaks, and neither."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from support.refusals import raises_code

from privet.attacks import Asking, Findings, Stacked, attack_attributes
from privet.errors import InvalidInputError
from privet.report.findings.page import verdict

Pair = tuple[Any, Any]
PEOPLE = 300
TOLD = 0.99999  # of the probability of a label that a model has by heart


def world(seed: int, strength: float, people: int = PEOPLE, columns: int = 5) -> tuple[Pair, Pair]:
    """Members and twice as many others. The first column is sensitive; the label depends on it with this strength."""
    draw = np.random.default_rng(seed)
    rows = draw.normal(size=(3 * people, columns)).round(3)
    rows[:, 0] = draw.integers(0, 2, 3 * people)
    labels = (strength * (2 * rows[:, 0] - 1) + rows[:, 2] + draw.normal(size=3 * people) > 0).astype(int)
    return (rows[:people], labels[:people]), (rows[people:], labels[people:])


class Law:
    """What is true of everybody. It has not seen anybody."""

    classes_ = np.array([0, 1])

    def __init__(self, strength: float) -> None:
        self.strength = strength

    def predict_proba(self, rows: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        second = 1 / (1 + np.exp(-1.7 * (self.strength * (2 * rows[:, 0] - 1) + rows[:, 2])))
        return np.column_stack([1 - second, second])


class Memory(Law):
    """The same, but it has the labels of some people by heart: those whose second column is at most `most`."""

    def __init__(self, strength: float, members: Pair, most: float = np.inf) -> None:
        super().__init__(strength)
        self.known = {tuple(row): int(label) for row, label in zip(members[0].tolist(), members[1], strict=True)}
        self.most = most

    def predict_proba(self, rows: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        found = super().predict_proba(rows)
        for place, row in enumerate(rows.tolist()):
            if row[1] <= self.most and (label := self.known.get(tuple(row))) is not None:
                found[place] = (1 - TOLD, TOLD) if label else (TOLD, 1 - TOLD)
        return found


def attacked(model: Any, people: tuple[Pair, Pair], **options: Any) -> Findings:
    return attack_attributes(model, *people, **({"sensitive": 0, "models": 0} | options))


def limits(found: Findings) -> str:
    return " / ".join(found.numbers["limits"])


def test_correlation_is_no_leak() -> None:
    """Of 20 seeds, each claims a leak with at most 2.5 %; by chance more than two would come up in 2 % of choices of
    seeds. The seeds are fixed."""
    found = [attacked(Law(1.5), world(seed, 1.5)).numbers for seed in range(20)]
    assert sum(one["leak"] for one in found) <= 2
    assert all(one["correlation"] for one in found)
    for one in found[:3]:
        best = one["attacks"][one["main"]]
        assert best["inferred"]["low"] > 0.1
        assert best["others"]["value"] > 0.7


def test_what_the_model_adds_for_others_is_correlation() -> None:
    """Nothing without the model tells the column: it goes with the label one way or the other, by another column."""
    draw = np.random.default_rng(1)
    rows = draw.normal(size=(900, 4)).round(3)
    rows[:, 0] = draw.integers(0, 2, 900)

    def label(some: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return (some[:, 0] > 0) ^ (some[:, 2] > 0)

    labels = (label(rows) ^ (draw.random(900) < 0.1)).astype(int)
    people = (rows[:300], labels[:300]), (rows[300:], labels[300:])
    found = attacked(lambda some: np.where(label(some)[:, None], [0.1, 0.9], [0.9, 0.1]), people)
    best = found.numbers["attacks"][found.numbers["main"]]
    assert best["added"]["low"] > 0.25
    assert (found.numbers["leak"], found.alarm, verdict(found)) == (False, "neutral", "neutral")
    assert "no leak of the training data" in found.headline
    assert best["leak"]["low"] < 0 < best["leak"]["high"]


@pytest.mark.parametrize("strength", [0.0, 1.5])
def test_a_model_that_knows_its_members_by_heart(strength: float) -> None:
    """Members are guessed right always, others as without the model."""
    for seed in range(5):
        members, others = world(seed, strength)
        found = attacked(Memory(strength, members), (members, others))
        one = found.numbers["attacks"]["largest" if strength == 0 else found.numbers["shown"]]
        assert found.numbers["leak"]
        assert one["leak"]["low"] > 0
        if strength == 0:
            assert one["members"]["value"] == 1.0
            true = 0.5  # the rest that is not guessed without it
            assert abs(one["leak"]["value"] - true) < 0.12  # four standard deviations
            assert one["leak"]["low"] <= true <= one["leak"]["high"]
    assert (found.alarm, verdict(found)) == ("bad", "bad")
    assert found.headline.startswith("The model leaks its training data: it adds")


def test_the_list_has_those_who_are_known_by_heart() -> None:
    """Half of the members are: nobody else is guessed with the model alone."""
    members, others = world(3, 0.0)
    found = attacked(Memory(0.0, members, most=0.0), (members, others))
    half = {f"member {place + 1}" for place in np.flatnonzero(members[0][:, 1] <= 0)}
    risk = found.numbers["risk"]
    assert len(risk) == PEOPLE
    assert {one["name"] for one in risk[:50]} <= half
    leak = found.numbers["attacks"]["largest"]["leak"]
    assert leak["low"] < len(half) / PEOPLE / 2 < leak["high"]
    assert leak["low"] > 0
    listed = next(table for table in found.tables if "only with the model" in table.title)
    assert listed.rows[0][0] in half
    assert (found.claimed, found.proven, found.findings) == (0, 0, ())


def test_neither_correlation_nor_leak() -> None:
    """Of 20 seeds, a leak with at most 2.5 % each, and correlation with as much for either of two comparisons."""
    draws = [world(seed, 0.0) for seed in range(20)]

    def noise(rows: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """It depends on the column, and on nothing that has to do with people."""
        second = 0.5 + 0.3 * np.sin(1000 * rows.sum(axis=1) + 17 * rows[:, 0])
        return np.column_stack([1 - second, second])

    found = [attacked(noise, people).numbers for people in draws]
    assert sum(one["leak"] for one in found) <= 2
    assert sum(one["correlation"] for one in found) <= 3
    values = [one["attacks"]["calibrated"]["leak"]["value"] for one in found]
    assert abs(float(np.mean(values))) < 0.03
    clean = next(one for one, numbers in zip(draws, found, strict=True) if not numbers["limits"])
    assert "Neither a leak nor correlation" in attacked(noise, clean).headline


def test_models_trained_again() -> None:
    """Coins decide who is in. An overfit network leaks over models, and what it says of shadow members shows how."""
    members, others = world(2, 1.0, people=120, columns=12)
    how = Stacked(hidden=(32,), epochs=120, batch=20, rate=0.01)
    model = how.fit(*members, seed=0)
    found = attacked(model, (members, others), refit=how, models=6)
    numbers = found.numbers
    assert (numbers["models"], numbers["failed"], numbers["leak"]) == (6, 0, True)
    assert max(one["models_leak"]["low"] for one in numbers["attacks"].values()) > 0
    assert "shadow" in numbers["attacks"]
    assert "over 6 models trained again" in " ".join(found.tables[0].columns)


class Constant(Law):
    def __init__(self, _rows: Any, _labels: Any) -> None:
        super().__init__(1.0)


def test_models_trained_again_that_learn_from_nobody() -> None:
    for seed in range(5):
        people = world(seed, 1.0, people=100)
        found = attacked(Law(1.0), people, refit=Constant, models=6, seed=seed).numbers
        assert not found["leak"]
        assert all(one["models_leak"]["low"] < 0 for one in found["attacks"].values())


def test_where_members_are_other_people_only_coins_say_something() -> None:
    members, others = world(1, 1.0)
    members[0][:, 3] += 1
    found = attacked(Memory(1.0, members), (members, others))
    assert not found.numbers["leak"]
    assert "differ in more than being" in limits(found)
    assert (found.alarm, found.headline.split(":")[0]) == ("neutral", "Not decided")
    refit = attacked(
        Memory(1.0, members), (members, others), refit=lambda rows, labels: Memory(1.0, (rows, labels)), models=4
    )
    assert refit.numbers["leak"]
    assert "over 4 models trained again" in refit.headline


def test_others_who_are_easier_to_guess_are_other_people() -> None:
    members, others = world(4, 0.0)[0], world(4, 3.0)[1]
    assert "differ in more than being" in limits(attacked(Law(1.0), (members, others)))


def fails(_rows: Any, _labels: Any) -> Law:
    raise ZeroDivisionError


def deaf(rows: npt.NDArray[Any]) -> npt.NDArray[Any]:
    return np.where(rows[:, [2]] > 0, [0.2, 0.8], [0.8, 0.2])


def silent(rows: npt.NDArray[Any]) -> npt.NDArray[Any]:
    return np.where(rows[:, [1]] > 2, np.nan, Law(1.0).predict_proba(rows))


def labels_only(rows: npt.NDArray[Any]) -> npt.NDArray[Any]:
    return np.asarray(Law(1.0).predict_proba(rows).argmax(axis=1))


@pytest.mark.parametrize(
    ("model", "people", "options", "expected"),
    [
        (Law(1.0), 20, {}, "too few"),
        (Law(1.0), 60, {}, "would not be seen"),
        (deaf, PEOPLE, {}, "no answer of the model changes with column 0"),
        (silent, PEOPLE, {}, "no finite answer for"),
        (labels_only, PEOPLE, {}, "returns labels only"),
        (Law(1.0), PEOPLE, {"refit": fails, "models": 3}, "3 of 3 trainings failed (ZeroDivisionError)"),
    ],
)
def test_what_was_not_looked_at_is_a_limit(model: Any, people: int, options: dict[str, Any], expected: str) -> None:
    found = attacked(model, world(0, 1.0, people), **options)
    assert expected in limits(found)
    assert found.alarm != "good"
    assert verdict(found) in ("neutral", "bad")
    assert expected in found.headline


def test_twins_and_missing_values_are_limits() -> None:
    members, others = world(0, 1.0)
    others[0][:3], others[1][:3] = members[0][:3], members[1][:3]
    others[0][5, 0] = members[0][7, 0] = np.nan
    found = attacked(Law(1.0), (members, others))
    assert "3 records are among members and others alike" in limits(found)
    assert "no column 0 is known of 2 people" in limits(found)
    assert (found.numbers["members"], len(found.numbers["risk"])) == (PEOPLE - 1, PEOPLE - 1)
    assert "member 8" not in {one["name"] for one in found.numbers["risk"]}


def numbered(seed: int, strength: float = 0.0) -> tuple[Pair, Pair]:
    """The second column is a number of the person; those of members are whole, so that a model may know them."""
    members, others = world(seed, strength, columns=3)
    for rows, _ in (members, others):
        places = np.arange(len(rows))
        rows[:, 1] = places % PEOPLE + (0 if rows is members[0] else 0.25 + 0.25 * (places // PEOPLE))
    return members, others


def test_more_weight_for_members_is_a_limit() -> None:
    """A model that is a little surer of members, so that no guess changes."""
    members, others = numbered(0)

    def service(rows: npt.NDArray[Any]) -> npt.NDArray[Any]:
        place = rows[:, 1].astype(int)
        own = (rows[:, 1] == place) & (members[0][place, 0] == rows[:, 0])
        odds = 4 * rows[:, 0] - 2 + 0.6 * own * (2 * members[1][place] - 1)
        return np.column_stack([-odds / 2, odds / 2])

    found = attacked(service, (members, others))
    assert not found.numbers["leak"]
    assert "gives the true column 0 of members more weight" in limits(found)
    assert (found.numbers["answers"], found.alarm) == ("scores", "neutral")


def test_worse_guesses_for_others_are_no_leak() -> None:
    """A model that is wrong about others tells who is a member, but nobody's value."""
    members, others = numbered(0, strength=3.0)

    def service(rows: npt.NDArray[Any]) -> npt.NDArray[Any]:
        wrong = np.where(rows[:, 0] > 0, 0.1, 0.9)
        second = np.where(rows[:, 1] % 1 == 0, 0.5, wrong)
        return np.column_stack([1 - second, second])

    found = attacked(service, (members, others))
    assert found.numbers["attacks"]["largest"]["leak"]["low"] > 0
    assert not found.numbers["leak"]
    assert "no better guess was found" in limits(found)


def test_frames_keep_their_types() -> None:
    members, others = world(0, 1.0)
    frames = []
    for rows, labels in (members, others):
        frame = pd.DataFrame(rows, columns=["s", "a", "b", "c", "d"])
        frame["s"] = pd.Categorical(np.where(frame["s"] > 0, "yes", "no"), ["yes", "no"])
        frame["c"] = np.where(frame["c"] > 0, "left", "right")
        frame.loc[3, "d"] = np.nan
        frames.append((frame, labels))

    class Framed(Law):
        def predict_proba(self, rows: Any) -> npt.NDArray[np.float64]:
            assert list(rows["s"].cat.categories) == ["yes", "no"]
            plain = rows[["s", "a", "b"]].assign(s=(rows["s"] == "yes").astype(float)).to_numpy()
            return super().predict_proba(plain)

    found = attack_attributes(Framed(1.0), *frames, sensitive="s", models=0)
    array = attacked(Law(1.0), (members, others))
    assert found.numbers["sensitive"] == "s"
    assert found.numbers["attacks"]["largest"]["members"] == array.numbers["attacks"]["largest"]["members"]
    assert "s is guessed right" in found.headline


def test_one_member_and_values_that_pandas_calls_missing() -> None:
    members, others = world(0, 1.0, people=10)
    frames = [
        (pd.DataFrame(rows[:count]).astype({0: "Int64"}), labels[:count])
        for (rows, labels), count in ((members, 2), (others, 13))
    ]
    frames[0][0].iloc[0, 0] = frames[1][0].iloc[4, 0] = pd.NA
    found = attacked(lambda rows: Law(1.0).predict_proba(rows.to_numpy(float)), (frames[0], frames[1]))
    assert (found.numbers["members"], found.numbers["others"], found.numbers["taught"]) == (1, 6, 6)
    assert "1 member, 6 of the control, 6 to teach" in limits(found)
    assert [one["name"] for one in found.numbers["risk"]] == ["member 2"]


def test_shadow_models_that_say_nothing_are_left_out() -> None:
    class Silent(Law):
        def predict_proba(self, rows: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
            return np.full((len(rows), 2), np.nan)

    found = attacked(Law(1.0), world(0, 1.0, people=50), refit=lambda *_: Silent(1.0), models=3)
    assert (found.numbers["failed"], "shadow" in found.numbers["attacks"]) == (3, False)
    assert "shadow was not tried" in limits(found)


def test_texts_and_names() -> None:
    (rows, labels), (more, truth) = world(0, 1.0, people=100)
    text = np.array([str(place % 30) for place in range(300)], object)
    members = np.column_stack([rows.astype(object), text[:100]]), labels
    others = np.column_stack([more.astype(object), text[100:]]), truth
    names = [f"p{place}" for place in range(100)]
    found = attack_attributes(
        lambda some: Law(1.0).predict_proba(some[:, :5].astype(float)), members, others, sensitive="x",
        columns=["x", "a", "b", "c", "d", "e"], names=names, models=0,
    )  # fmt: skip
    assert {one["name"] for one in found.numbers["risk"]} == set(names)
    assert "200 people" not in found.headline
    assert any("2 values for 300 people are 600 answers" in line for line in found.assumptions)


def test_a_service_that_errs_goes_on_where_it_was(tmp_path: Path) -> None:
    people, calls = world(0, 1.0, people=50), []

    def service(rows: npt.NDArray[Any]) -> npt.NDArray[Any]:
        calls.append(len(rows))
        if len(calls) == 3:
            raise TimeoutError
        return Law(1.0).predict_proba(rows)

    once = Asking(batch=100, retries=0, kept=tmp_path)
    with raises_code(InvalidInputError, "code-fails: TimeoutError"):
        attacked(service, people, asking=once)
    found = attacked(service, people, asking=Asking(batch=100, retries=0, kept=tmp_path))
    assert calls == [100, 100, 100, 20, 100]  # 300 answers in all, and 20 to know the model
    assert found.numbers["rows_asked"] == 120
    assert attacked(Law(1.0), people).numbers["attacks"] == found.numbers["attacks"]


def test_kept_answers_of_another_model_are_a_limit(tmp_path: Path) -> None:
    people = world(0, 1.0, people=50)
    for strength in (1.0, 0.5):
        found = attacked(lambda rows: Law(strength).predict_proba(rows), people, asking=Asking(kept=tmp_path))  # noqa: B023
    assert "kept answers" in limits(found)


def test_the_same_seed_gives_the_same() -> None:
    people = world(0, 1.0, people=60)
    first, again, other = (attacked(Law(1.0), people, seed=seed).numbers for seed in (1, 1, 2))
    assert first == again != other


# Wrong inputs


class Strict(Law):
    """Fails on a value that it has not seen together with another one."""

    def predict_proba(self, rows: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        if ((rows[:, 0] == 1) & (rows[:, 1] > 1)).any():
            raise KeyError
        return super().predict_proba(rows)


class Broken(Law):
    def predict_proba(self, rows: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        raise KeyError


def test_a_model_that_fails_where_the_value_is_changed() -> None:
    members, others = world(0, 1.0, people=50)
    for rows, _ in (members, others):
        rows[rows[:, 1] > 1, 0] = 0
    with raises_code(InvalidInputError, "code-fails: column 0 … 1"):
        attacked(Strict(1.0), (members, others))
    with raises_code(InvalidInputError, "code-fails: KeyError"):
        attacked(Broken(1.0), (members, others))
    with raises_code(InvalidInputError, "not-finite"):
        attacked(lambda rows: np.full((len(rows), 2), np.nan), (members, others))


Change = Callable[[Pair], Pair]


def column(values: Callable[[Pair], Any]) -> Change:
    def change(pair: Pair) -> Pair:
        rows = pair[0].astype(object)
        rows[:, 0] = values(pair)
        return rows, pair[1]

    return change


@pytest.mark.parametrize(
    ("change", "options", "code"),
    [
        (column(lambda _: 1), {}, "no-variation: one value"),
        (column(lambda _: None), {}, "no-variation: no value"),
        (column(lambda pair: np.arange(len(pair[1]))), {}, "too-many: 20"),
        (column(lambda pair: np.where(pair[1] == 1, "yes", "no")), {}, "nothing-to-do: label"),
        (column(lambda pair: [[one] for one in pair[1]]), {}, "wrong-type"),
        (None, {"sensitive": 5}, "unknown-column: 5 … 4"),
        (None, {"sensitive": -1}, "unknown-column"),
        (None, {"sensitive": True}, "unknown-column"),
        (None, {"sensitive": "x"}, "unknown-column: columns="),
        (None, {"sensitive": "smokr", "columns": ["smoker", *"abcd"]}, "unknown-column: did you mean"),
        (None, {"sensitive": "a", "columns": [*"aabcd"]}, "ambiguous-name"),
        (None, {"columns": ["a"]}, "wrong-length"),
        (None, {"names": ["a"]}, "wrong-length"),
        (None, {"models": -1}, "too-small"),
        (None, {"models": 1, "refit": 5}, "not-callable"),
        (None, {"answers": "odds"}, "unknown-choice"),
        (lambda pair: (pair[0][:9], pair[1][:9]), {}, "too-few: 10"),
        (lambda pair: (pair[0][:, :, None], pair[1]), {}, "wrong-shape"),
        (lambda pair: (pair[0], np.zeros(len(pair[1]))), {}, "no-variation"),
    ],
)
def test_wrong_inputs(change: Change | None, options: dict[str, Any], code: str) -> None:
    members, others = world(0, 1.0, people=30)
    if change is not None:
        members, others = change(members), change(others)
    with raises_code(InvalidInputError, code):
        attacked(Law(1.0), (members, others), **options)

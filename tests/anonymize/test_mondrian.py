"""Mondrian against a slow recursion, and what it ships against a separate check."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.processes import run_plain
from support.refusals import raises_code

from privet.anonymize.axes import axis
from privet.anonymize.builders import flat, prefixes
from privet.anonymize.checks import check
from privet.anonymize.hierarchy import Hierarchy, of_rows
from privet.anonymize.hierarchy_file import write_hierarchy
from privet.anonymize.models import EntropyL, RecursiveL, T
from privet.anonymize.mondrian_cuts import mondrian
from privet.anonymize.result import Anonymized
from privet.errors import InvalidInputError
from privet.records.microdata import Microdata, column

DATA = os.environ.get("PRIVET_DATA")
JOBS = of_rows(
    "job",
    [("nurse", "health", "*"), ("doctor", "health", "*"), ("cook", "food", "*"), ("baker", "food", "*")],
)


def table(**columns: list[str | None]) -> Microdata:
    return Microdata({name: column(name, texts) for name, texts in columns.items()}, len(next(iter(columns.values()))))


def people(count: int, seed: int = 0, *, missing: bool = False) -> Microdata:
    draw = np.random.default_rng(seed)
    ages = [str(age) for age in draw.integers(18, 90, count)]
    jobs = [JOBS.values[place] for place in draw.integers(0, 4, count)]
    return table(
        age=[None if missing and place % 7 == 0 else age for place, age in enumerate(ages)],
        born=[f"19{year}-0{month}-11" for year, month in draw.integers([20, 1], [99, 10], (count, 2))],
        job=[None if missing and place % 5 == 0 else job for place, job in enumerate(jobs)],
        sick=[f"s{value}" for value in draw.integers(0, 4, count)],
    )


QUASI = ("age", "born", "job")


def texts(found: Anonymized, name: str) -> list[str | None]:
    return list(found.data[name].listed())


# Against a slow recursion


def slow(points: list[tuple[int, ...]], k: int, spans: list[float]) -> list[list[int]]:
    """The parts of whole-number points, by the definition: cut at the place nearest to the median, on the axis where
    the points are farthest apart, and if that leaves fewer than k on a side on the next one."""

    def cut(part: list[int]) -> list[list[int]]:
        def width(place: int) -> float:
            least, values = min(point[place] for point in points), [points[i][place] for i in part]
            return (max(values) - least) / spans[place] - (min(values) - least) / spans[place]  # rounded as over there

        for place in sorted(range(len(spans)), key=lambda place: -width(place)):
            counts = Counter(points[i][place] for i in part)
            best = None
            for value in sorted(counts)[:-1]:
                left = sum(count for other, count in counts.items() if other <= value)
                smaller = min(left, len(part) - left)
                if smaller >= k and (best is None or smaller > best[0]):
                    best = (smaller, value)
            if best:
                halves = (
                    [i for i in part if points[i][place] <= best[1]],
                    [i for i in part if points[i][place] > best[1]],
                )
                return [*cut(halves[0]), *cut(halves[1])]
        return [part]

    return cut(list(range(len(points))))


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 3), st.integers(0, 40)), min_size=1, max_size=40),
    st.integers(1, 6),
)
def test_the_parts_are_those_of_the_slow_recursion(points: list[tuple[int, int, int]], k: int) -> None:
    if len(points) < k:
        return
    made = table(**{name: [str(point[place]) for point in points] for place, name in enumerate("abc")})
    spans = [float(max(values) - min(values)) or 1.0 for values in zip(*points, strict=True)]
    found = mondrian(made, list("abc"), k=k)
    parts = [sorted(np.flatnonzero(found.classes == one).tolist()) for one in range(found.classes.max() + 1)]
    assert sorted(parts) == sorted(sorted(part) for part in slow(points, k, spans))
    loss = sum(
        (max(points[i][place] for i in part) - min(points[i][place] for i in part)) / spans[place]
        for part in parts
        for _ in part
        for place in range(3)
    )
    assert found.measures["ncp"] == pytest.approx(loss / (3 * len(points)))
    assert found.measures["discernibility"] == sum(len(part) ** 2 for part in parts)
    assert found.measures["average_class_size"] == pytest.approx(len(points) / len(parts))


@settings(max_examples=40, deadline=None)
@given(st.integers(5, 60), st.integers(1, 5), st.tuples(*[st.booleans()] * 3), st.integers(0, 999))
def test_what_is_shipped_is_k_anonymous_and_true(
    count: int, k: int, choices: tuple[bool, bool, bool], seed: int
) -> None:
    strict, missing, with_hierarchy = choices
    made = people(count, seed, missing=missing)
    found = mondrian(made, QUASI, k=k, strict=strict, hierarchies={"job": JOBS} if with_hierarchy else None)
    assert check(found.data, QUASI).k >= k
    assert np.array_equal(np.bincount(found.classes), found.sizes)
    assert found.data["sick"] is made["sick"]
    nodes = {(label, value) for row in zip(*JOBS.levels, strict=True) for label in row for value in row[:1]}
    for old, new in zip(made["age"].listed(), texts(found, "age"), strict=True):
        assert new in (old, "*") or between(old, new, "-", int)
    for old, new in zip(made["born"].listed(), texts(found, "born"), strict=True):
        assert new == old or between(old, new, " to ", str)
    for old, new in zip(made["job"].listed(), texts(found, "job"), strict=True):
        listed = old in (new or "").strip("{}").split(", ") if old else False
        assert new in (old, "*") or listed or (new, old) in nodes
    assert 0 <= found.measures["ncp"] <= 1
    assert 0 <= found.measures["entropy"] <= 1


def between(old: str | None, new: str | None, joint: str, read: type) -> bool:
    assert old is not None
    assert new is not None
    low, high = new.split(joint)
    return bool(read(low) <= read(old) <= read(high))


@pytest.mark.parametrize("strict", [True, False])
def test_nothing_can_be_cut_further(strict: bool) -> None:
    """Relaxed, parts of 2k differ in nothing; strict, no value of a part leaves k on both sides."""
    made, k = people(400), 4
    found = mondrian(made, QUASI, k=k, strict=strict)
    for one in range(found.classes.max() + 1):
        members = np.flatnonzero(found.classes == one)
        if not strict:
            assert len(members) < 2 * k or all(len({made[name].codes[i] for i in members}) == 1 for name in QUASI)
            continue
        for name in QUASI:
            codes = axis(made[name]).ranks[made[name].codes[members]]
            assert all(min((codes <= cut).sum(), (codes > cut).sum()) < k for cut in codes)


def test_dealing_out_makes_smaller_parts() -> None:
    made = table(a=["1"] * 30 + ["2"], b=["x"] * 30 + ["y"])
    assert len(mondrian(made, ["a", "b"], k=5).sizes) == 1
    found = mondrian(made, ["a", "b"], k=5, strict=False)
    assert sorted(Counter(texts(found, "a")).items()) == [("1", 23), ("1-2", 8)]  # those that look the same are a class
    assert found.sizes.tolist() == [23, 8]
    assert found.method == "relaxed Mondrian"


# Models


@pytest.mark.parametrize("strict", [True, False])
def test_models_hold_in_every_class(strict: bool) -> None:
    made = people(600)
    told = check(mondrian(made, QUASI, l=3, sensitive="sick", strict=strict).data, QUASI, "sick").diversity["sick"]
    assert told.distinct >= 3
    made_t = mondrian(made, QUASI, k=2, t=0.3, sensitive="sick", strict=strict)
    assert check(made_t.data, QUASI, "sick").diversity["sick"].t <= 0.3
    assert 1 < len(made_t.sizes) < len(mondrian(made, QUASI, k=2).sizes)
    models = [EntropyL(2.5, "sick"), RecursiveL(1, 2, "sick"), T(0.4, "sick", ordered=True)]
    mixed = check(mondrian(made, QUASI, k=None, models=models, strict=strict).data, QUASI, "sick").diversity["sick"]
    assert mixed.entropy >= 2.5
    assert mixed.recursive[2] < 1
    assert mixed.ordered_t is not None
    assert mixed.ordered_t <= 0.4


def test_another_axis_is_tried_where_a_half_is_refused() -> None:
    """By age the halves would be all sick or all well; by sex they are mixed."""
    made = table(age=["20"] * 4 + ["80"] * 4, sex=["F", "M"] * 4, sick=["yes"] * 4 + ["no"] * 4)
    found = mondrian(made, ["age", "sex"], k=2, l=2, sensitive="sick")
    assert sorted(set(texts(found, "sex"))) == ["F", "M"]
    assert set(texts(found, "age")) == {"20-80"}


def test_many_values_are_counted_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    made = people(300)
    whole = mondrian(made, QUASI, l=2, sensitive=["sick"])
    assert mondrian(made, QUASI, sensitive="sick").sensitive == ("sick",)  # named only, so that it is told
    monkeypatch.setattr("privet.anonymize.mondrian_cuts.AT_A_TIME", 5)
    assert np.array_equal(mondrian(made, QUASI, l=2, sensitive=["sick"]).classes, whole.classes)


# Names


def test_numbers_of_all_kinds() -> None:
    made = table(
        a=["-5", "-5", "3", "3"], b=["1", "1.0", "01", "+1"], c=["0.1", "0.2", "10", "9"],
        d=["100000000000000000000001", "100000000000000000000002", "1", "1"],
    )  # fmt: skip
    assert texts(mondrian(made, "a", k=4), "a") == ["[-5, 3]"] * 4
    assert texts(mondrian(made, "b", k=1), "b") == ["+1"] * 4  # one number, called by the first of its texts
    assert texts(mondrian(made, "c", k=2), "c") == ["0.1-0.2", "0.1-0.2", "9-10", "9-10"]
    assert texts(mondrian(made, "d", k=1), "d") == list(made["d"].listed())  # which floats do not tell apart


def test_missing_values_part_first() -> None:
    made = table(a=[None, "1", None, "2", "3", "4"])
    assert texts(mondrian(made, "a", k=2), "a") == [None, "1-2", None, "1-2", "3-4", "3-4"]
    assert texts(mondrian(made, "a", k=3), "a") == ["*", "1-3", "*", "1-3", "1-3", "*"]
    few = mondrian(table(a=[None, "1", "2", "3", "4"], b=[None, "x", "x", "y", "y"]), ["a", "b"], k=2)
    assert texts(few, "a")[0] == "*"
    assert texts(few, "b")[0] == "*"
    assert check(few.data, ["a", "b"]).k >= 2
    nothing = mondrian(table(a=[None, None]), "a", k=2)
    assert texts(nothing, "a") == [None, None]
    assert nothing.measures == {"ncp": 0.0, "entropy": 0.0, "discernibility": 4.0, "average_class_size": 2.0}


def test_hierarchies_name_the_lowest_node() -> None:
    made = table(job=["nurse", "doctor", "cook", "baker", "cook", "nurse"])
    found = mondrian(made, "job", k=3, hierarchies={"job": JOBS})
    assert texts(found, "job") == ["health", "health", "food", "food", "food", "health"]
    assert found.measures["ncp"] == pytest.approx(1 / 3)  # 2 of 4 values: 1 beside its own, of 3
    assert found.measures["entropy"] == pytest.approx(1 - 1 / (1 / 3 * np.log2(3) * 2 + 1 / 3 * np.log2(6)))
    one = mondrian(table(job=["nurse", "cook", "cook", "baker"]), "job", k=2, hierarchies={"job": JOBS})
    assert texts(one, "job") == ["*"] * 4


def test_a_hierarchy_without_one_top_ends_in_a_star() -> None:
    two = Hierarchy("job", (("a", "b", "c"), ("x", "x", "y")))
    found = mondrian(table(job=["a", "c", "b"]), "job", k=3, hierarchies={"job": two})
    assert texts(found, "job") == ["*"] * 3
    assert found.measures["ncp"] == 1
    ground = Hierarchy("job", (("a", "b"),))
    assert texts(mondrian(table(job=["a", "b"]), "job", k=1, hierarchies={"job": ground}), "job") == ["a", "b"]


def test_a_hierarchy_knows_missing_values() -> None:
    made = table(job=["nurse", None, "doctor", None])
    assert texts(mondrian(made, "job", k=2, hierarchies={"job": JOBS}), "job") == ["health", None, "health", None]
    assert texts(mondrian(made, "job", k=4, hierarchies={"job": JOBS}), "job") == ["*"] * 4


def test_more_values_than_are_listed_get_a_hierarchy() -> None:
    made = table(zip=[f"A{place:03}" for place in range(70)])
    assert set(texts(mondrian(made, "zip", k=70), "zip")) == {"A0**"}
    assert texts(mondrian(made, "zip", k=70, hierarchies={"zip": flat(made["zip"])}), "zip")[0] == "*"
    assert texts(mondrian(made, "zip", k=70, hierarchies={"zip": prefixes(made["zip"])}), "zip")[0] == "A0**"


def test_many_columns_and_many_values() -> None:
    """More classes than fit a number of 62 bits if each column had its say, and ranks beyond 16 bits."""
    draw = np.random.default_rng(0)
    wide = table(**{f"c{place}": [str(n) for n in draw.permutation(100)] for place in range(12)})
    found = mondrian(wide, list(wide.columns), k=2)
    assert check(found.data, found.quasi).k >= 2
    long = table(n=[str(n) for n in draw.permutation(70_000)], m=[str(n) for n in draw.integers(0, 9, 70_000)])
    told: list[tuple[str, int, int]] = []
    found = mondrian(long, ["n", "m"], k=5, progress=lambda *news: told.append(news))
    assert check(found.data, ["n", "m"]).k >= 5
    assert told[-1] == ("cutting", 70_000, 70_000)
    assert found.original is long


# What cannot be


@pytest.mark.parametrize(
    ("quasi", "more", "said"),
    [
        ([], {}, "missing-name: quasi-identifier"),
        (["age", "age"], {}, "duplicate-name: column 'age'"),
        (["age", "sick"], {"l": 2, "sensitive": "sick"}, "duplicate-name: 'sick'"),
        (["name"], {}, "unknown-column: 'name'"),
        (["age"], {"k": 13}, "too-large: k=13 … 12"),
        (["age"], {"k": 0}, "too-small: k … least 1"),
        (["age"], {"l": 5, "sensitive": "sick"}, "unreachable-model: l=5"),
        (["age"], {"l": 2}, "missing-name: l needs … sensitive"),
        ([f"c{place}" for place in range(65)], {}, "too-many: 65"),
        (["job"], {"hierarchies": {"job": of_rows("job", [("nurse", "*")])}}, "not-declared: for 3 values"),
        (["job"], {"hierarchies": {"job": "jobs.csv"}}, "wrong-type: 'job'"),
        (["job"], {"hierarchies": "nowhere"}, "folder-missing: 'nowhere'"),
        (None, {}, "missing-name: quasi-identifier"),
    ],
)
def test_what_cannot_be_is_one_line(quasi: Any, more: dict[str, object], said: str) -> None:
    with raises_code(InvalidInputError, said):
        mondrian(people(12), quasi, **more)  # type: ignore[arg-type]


def test_hierarchies_in_a_folder(tmp_path: Path) -> None:
    write_hierarchy(JOBS, tmp_path / "job.csv")
    named = (mondrian(people(40), ["job"], k=9, hierarchies=given) for given in (tmp_path, {"job": JOBS}))
    assert len({tuple(texts(one, "job")) for one in named}) == 1


def test_one_record_and_none() -> None:
    with raises_code(InvalidInputError, "too-large: k=2 … the 1 record"):
        mondrian(table(a=["1"]), "a", k=2)
    assert texts(mondrian(table(a=["1"]), "a", k=1), "a") == ["1"]
    with raises_code(InvalidInputError, "empty: records"):
        mondrian(table(a=[]), "a")


PLAIN = """
import test_mondrian as t
for strict in (True, False):
    t.test_nothing_can_be_cut_further(strict)
    t.test_models_hold_in_every_class(strict)
t.test_dealing_out_makes_smaller_parts()
t.test_hierarchies_name_the_lowest_node()
t.test_a_hierarchy_without_one_top_ends_in_a_star()
t.test_numbers_of_all_kinds()
wide = t.table(n=[str(37 * n % 1000) for n in range(1000)], m=["1", "2"] * 500)
assert t.check(t.mondrian(wide, ["n", "m"], k=5).data, ["n", "m"]).k >= 5
"""


def test_the_loops_without_a_compiler_do_the_same() -> None:
    run_plain(PLAIN, Path(__file__).parent)


def test_loops_load_late() -> None:
    code = "import sys, privet.anonymize.mondrian_cuts; print('numba' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "False\n"


@pytest.mark.skipif(DATA is None, reason="PRIVET_DATA is not set: no real data here")
def test_real_records_of_people() -> None:
    path = Path(str(DATA)) / "adult_arx" / "adult.csv.gz"
    quasi = ["sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation"]
    found = mondrian(path, quasi, k=5)
    assert check(found.data, quasi).k == 5
    assert found.measures["ncp"] < 0.044
    told = check(mondrian(path, quasi, k=5, l=2, sensitive="salary-class").data, quasi, "salary-class")
    assert (told.k >= 5, told.diversity["salary-class"].distinct) == (True, 2)
    assert Fraction(told.records) == 30_162

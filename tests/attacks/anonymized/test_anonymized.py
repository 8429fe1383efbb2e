"""Attacks on anonymized tables: the classical examples, and slow counts beside the quick ones."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from support.refusals import expect_code, raises_code, refused

from privet import cli
from privet.attacks.anonymized import equivalence, two_releases
from privet.attacks.anonymized.equivalence import attack_anonymized
from privet.attacks.anonymized.homogeneity import certain_without, classes_of, distance, homogeneous, recheck, skews
from privet.attacks.anonymized.matching_classes import MANY, certain_classes, left_over, overlaps, reach
from privet.attacks.anonymized.two_releases import fits, pairs
from privet.attacks.finding import Strength
from privet.errors import InvalidInputError
from privet.records import microdata
from privet.records.microdata import Microdata

QUASI = ["zip", "age"]
HOSPITAL_A = [
    *[("130**", "<30", value) for value in ("AIDS", "Heart Disease", "Viral Infection", "Viral Infection")],
    *[("1485*", ">=40", value) for value in ("Cancer", "Heart Disease", "Viral Infection", "Viral Infection")],
    *[("130**", "3*", "Cancer")] * 4,
]
HOSPITAL_B = [
    *[("130**", "<35", value) for value in ("AIDS", "Tuberculosis", "Flu", "Tuberculosis", "Cancer", "Cancer")],
    *[("130**", ">=35", value) for value in ("Cancer", "Cancer", "Cancer", "Tuberculosis", *["Viral Infection"] * 2)],
]


def frame(rows: list[tuple[str | None, ...]], names: tuple[str, ...] = ("zip", "age", "condition")) -> Microdata:
    columns = {name: microdata.column(name, [row[at] for row in rows]) for at, name in enumerate(names)}
    return Microdata(columns, len(rows))


A, B = frame(HOSPITAL_A), frame(HOSPITAL_B)
ALICE = {"zip": "13012", "age": 28}


# The classical examples


def test_a_class_with_one_value_gives_everybody_in_it_away() -> None:
    found = attack_anonymized(A, QUASI, "condition")
    assert (found.people, found.proven) == (12, 4)
    (only,) = found.findings
    assert only.claim == "All 4 people with zip 130**, age 3* have condition Cancer"
    assert (only.strength, only.people) == (Strength.PROOF, 4)
    assert found.numbers["certain_with_ruled_out"] == [4, 4, 12]
    assert found.score is not None
    assert (found.score.success.value, found.score.baseline.value) == (8 / 12, 5 / 12)


def test_alice_was_in_two_hospitals() -> None:
    found = attack_anonymized(A, QUASI, "condition", also=[B], known=[ALICE, {"zip": "13053", "age": 36}, {"age": 20}])
    first = found.findings[0]
    assert first.claim == "The person with zip 13012, age 28 has condition AIDS"
    assert "a.csv" not in first.reasoning
    assert "Heart Disease" in first.reasoning
    assert found.proven == 3  # without a zip code there is no other class of people below 30 either
    assert [len(one["alone"]) for one in found.numbers["known"]] == [3, 1, 3]
    alone = attack_anonymized(A, QUASI, "condition", known=[ALICE])
    assert alone.proven == 0
    assert alone.headline == "None of 1 person is certain"


def test_pairs_of_classes_without_anybody_to_look_for() -> None:
    found = attack_anonymized(A, QUASI, "condition", also=[B])
    assert "1 pair of classes gives somebody away who is in both releases" in found.headline
    assert found.findings[0].claim.endswith("has condition AIDS")
    alone = attack_anonymized(frame(HOSPITAL_A[:8]), QUASI, "condition", also=[B])
    assert alone.headline.startswith("Nobody is certain by one release, but 1 pair")


def test_the_report_reads_well(tmp_path: Path) -> None:
    path = attack_anonymized(A, QUASI, "condition", also=[B], known=[ALICE]).report(tmp_path / "r.html")
    text = path.read_text()
    assert "only AIDS fits in all releases" in text
    assert "Attackers who can rule out values" in text


# Slow counts beside the quick ones

VALUES = st.sampled_from(["u", "v", "w", None])
ROWS = st.lists(st.tuples(st.sampled_from("ab*"), st.sampled_from(["1", "*", None]), VALUES), min_size=1, max_size=25)


def slow(rows: list[tuple[str | None, ...]]) -> dict[tuple[str | None, ...], list[str | None]]:
    found: dict[tuple[str | None, ...], list[str | None]] = {}
    for *quasi, value in rows:
        if quasi != ["*", "*"]:
            found.setdefault(tuple(quasi), []).append(value)
    return found


@given(ROWS)
def test_classes_are_counted_right(rows: list[tuple[str | None, ...]]) -> None:
    classes, naive = classes_of(frame(rows), QUASI, "condition"), slow(rows)
    assert len(classes.sizes) == len(naive)
    assert classes.suppressed == len(rows) - sum(map(len, naive.values()))
    for m, count in enumerate(certain_without(classes, np.where(classes.unknown, MANY, classes.distinct), 2)):
        fits_m = [some for some in naive.values() if None not in some and len(set(some)) <= m + 1]
        assert count == sum(map(len, fits_m))
    alike = [some for some in naive.values() if len(set(some)) == 1 and some[0] is not None]
    assert sorted(classes.sizes[homogeneous(classes)].tolist()) == sorted(map(len, alike))
    assert all(recheck(classes, int(number)) for number in homogeneous(classes))
    shares = {value: [row[2] for row in rows].count(value) / len(rows) for value in {row[2] for row in rows}}
    far = [
        sum(abs(some.count(value) / len(some) - share) for value, share in shares.items()) / 2
        for some in naive.values()
    ]  # fmt: skip
    assert distance(classes) == pytest.approx(max(far, default=0.0))
    for one in skews(classes, 10):
        label = tuple(text or None for text in classes.label(one.number).values())
        some = naive[label]
        assert some.count(one.value) == one.people
        assert one.inside == one.people / len(some) > one.overall == shares[one.value]


def test_two_counts_that_differ_stop_the_attack(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(equivalence, "certain_classes", lambda classes, _: np.arange(len(classes.sizes)))
    with pytest.raises(AssertionError, match="differ"):
        attack_anonymized(A, QUASI, "condition")


TEXTS = st.one_of(
    st.none(), st.sampled_from(["*", "<30", ">=40", "3*", "28", "30-39", "[20, 30[", "{28, 41}", "", "40+", "unknown"])
)


@settings(max_examples=60)
@given(st.lists(st.tuples(TEXTS, VALUES), min_size=1, max_size=12), TEXTS)
def test_what_is_left_for_somebody(rows: list[tuple[str | None, ...]], known: str | None) -> None:
    """The table of everybody's candidates and the slow walk through the records agree."""
    classes = classes_of(frame(rows, ("age", "condition")), ["age"], "condition")
    person = frame([(known, "u")], ("age", "condition"))
    (fit,) = fits([classes], person, np.array([0]))
    assert set(fit.values) == left_over(classes, person, 0)


def test_overlaps_of_what_texts_say() -> None:
    one, other = ["28", "35", None, "{28, 41}"], ["<30", "3*", "*", "[40, 50]"]
    assert overlaps(one, other).tolist() == [
        [True, False, True, False], [False, True, True, False], [True] * 4, [True, False, True, True],
    ]  # fmt: skip
    assert overlaps([], []).shape == (0, 0)


def test_classes_that_overlap_are_not_certain() -> None:
    rows = [("20-29", "u"), ("20-29", "u"), ("25-34", "v"), ("40-49", "w"), ("45-54", "w")]
    classes = classes_of(frame(rows, ("age", "condition")), ["age"], "condition")
    assert [classes.label(int(one))["age"] for one in certain_classes(classes, reach(classes, 1))] == ["40-49", "45-54"]
    found = attack_anonymized(frame(rows, ("age", "condition")), ["age"], "condition")
    assert found.proven == 2
    assert any("2 more classes" in text for text in found.assumptions)


def test_pairs_by_hand() -> None:
    first, second = (classes_of(one, QUASI, "condition") for one in (A, B))
    expected = set()
    for a, b in itertools.product(range(3), range(2)):
        one, other = first.label(a), second.label(b)
        if all(overlaps([one[name]], [other[name]])[0, 0] for name in QUASI):
            common = set(first.values_of(a)) & set(second.values_of(b))
            if len(common) == 1 and len(first.values_of(a)) > 1 and len(second.values_of(b)) > 1:
                expected.add((a, b, *common))
    some, number = pairs(first, second, 10)
    assert {(pair.first, pair.second, pair.value) for pair in some} == expected
    assert number == len(expected) == 1


# Success, baseline, control


def people(seed: int, count: int, *, linked: bool) -> pd.DataFrame:
    """Disease depends on age in everybody (`linked`), or on nothing."""
    random = np.random.default_rng(seed)
    age = random.integers(20, 60, count)
    ill = random.random(count) < (np.where(age >= 40, 0.9, 0.1) if linked else 0.5)
    return pd.DataFrame({"age": age.astype(str), "ill": np.where(ill, "yes", "no")})


def test_correlation_is_no_leak() -> None:
    """Old people are ill everywhere: the guess is as good for people who are not in the data."""
    inside, outside = people(1, 1500, linked=True), people(2, 1500, linked=True)
    released = inside.assign(age=np.where(inside.age.astype(int) >= 40, "40-59", "20-39"))
    found = attack_anonymized(released, ["age"], "ill", truth=inside, population=outside)
    score = found.score
    assert score is not None
    assert score.control is not None
    assert score.success.value > 0.85
    assert score.baseline.value < 0.6
    assert score.advantage.low < 0
    assert any("Control" in text for text in found.assumptions)
    assert any("the original records" in text for text in found.assumptions)


def test_a_leak_is_more_than_the_control() -> None:
    inside, outside = people(3, 300, linked=False), people(4, 300, linked=False)
    inside["age"] = [str(1000 + row) for row in range(300)]  # unique, so that everybody is known
    found = attack_anonymized(inside, ["age"], "ill", truth=inside, population=outside)
    assert found.score is not None
    assert found.proven == 300
    assert found.score.success.value == 1.0
    assert found.score.advantage.low > 0.3


def test_many_people_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(equivalence, "SCORED", 50)
    inside = people(5, 200, linked=True)
    found = attack_anonymized(inside, ["age"], "ill", truth=inside)
    assert found.score is not None
    assert found.score.success.low < found.score.success.value


def test_missing_values_and_suppressed_records() -> None:
    rows = [("a", "1", "u"), ("a", "1", None), ("*", "*", "v"), ("b", "2", None), (None, "3", "u")]
    found = attack_anonymized(frame(rows), QUASI, "condition", known=[{"zip": "zz", "age": 9}])
    assert found.numbers["suppressed"] == 1
    assert found.numbers["homogeneous_people"] == 1
    assert found.numbers["known"] == [{"row": 0, "alone": ["v"], "together": ["v"]}]  # one of the suppressed
    assert any("Classes are suppressed as a whole" in text for text in found.assumptions)
    assert "zip (missing), age 3" in found.findings[-1].claim


def test_what_an_anonymization_gives_back_can_be_attacked() -> None:
    from privet.anonymize.mondrian_cuts import mondrian  # noqa: PLC0415

    made = mondrian(people(1, 60, linked=True), ["age"], k=5, sensitive="ill")
    assert attack_anonymized(made, ["age"], "ill").people == 60


@pytest.mark.parametrize(
    ("quasi", "sensitive", "options"),
    [([], "condition", {}), (["zip"], "zip", {}), (["zip", "zip"], "age", {}), (["nope"], "age", {}),
     (QUASI, "condition", {"known": []}), (QUASI, "condition", {"known": [{"sex": "F"}]}),
     (QUASI, "condition", {"known": ["Alice"]}), (QUASI, "nope", {})],
)  # fmt: skip
def test_wrong_input(quasi: list[str], sensitive: str, options: dict[str, object]) -> None:
    with pytest.raises(InvalidInputError):
        attack_anonymized(A, quasi, sensitive, **options)


def test_empty_tables() -> None:
    with raises_code(InvalidInputError, "empty"):
        attack_anonymized(frame([]), QUASI, "condition")
    with raises_code(InvalidInputError, "missing-value"):
        attack_anonymized(frame([("a", "1", None)]), QUASI, "condition")


def test_people_to_look_for_from_a_table() -> None:
    found = attack_anonymized(A, QUASI, "condition", also=[B], known=frame([("13012", "28", "")]))
    assert found.proven == 1


def test_the_only_person_of_a_class() -> None:
    found = attack_anonymized(frame([("a", "1", "u"), ("b", "1", "v")]), QUASI, "condition")
    assert found.findings[0].claim == "The one person with zip a, age 1 has condition u"
    assert found.headline == "2 of 2 people are certain without being singled out"


def test_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    microdata.write(A, tmp_path / "a.csv")
    microdata.write(B, tmp_path / "b.csv")
    words = ["attack", "anonymized", str(tmp_path / "a.csv"), "--quasi", "zip,age", "--sensitive", "condition"]
    also = ["--also", str(tmp_path / "b.csv"), "--known", "zip=13012,age=28"]
    assert cli.main([*words, *also, "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["result"]["known"][0]["together"] == ["AIDS"]
    assert cli.main([*words, "--out", str(tmp_path / "r.html")]) == 1
    assert "4 of 12 people are certain" in capsys.readouterr().out
    expect_code("syntax-error: --known … 13012", refused([*words, "--known", "13012"], capsys))


# What must not be called certain


def left(rows: list[tuple[str | None, ...]], known: dict[str, object], **options: object) -> list[str | None]:
    found = attack_anonymized(frame(rows), QUASI, "condition", known=[known], **options)  # type: ignore[arg-type]
    return list(found.numbers["known"][0]["together"])


def test_who_is_known_in_part_may_be_suppressed() -> None:
    """A class of the same zip code is there, but the suppressed one may have it, too."""
    rows = [*[("130**", "3*", "Cancer")] * 4, ("*", "*", "Flu")]
    assert left(rows, {"zip": "13012", "age": 35}) == ["Cancer"]
    assert left(rows, {"zip": "13012"}) == ["Cancer", "Flu"]
    assert left(rows, {"zip": "13012", "age": "30-49"}) == ["Cancer", "Flu"]
    assert left(rows, {"zip": "13012", "age": "3*"}) == ["Cancer"]
    assert left(rows, {"zip": "13012", "age": "middle"}) == ["Cancer", "Flu"]


class Jobs:
    levels = (("baker", "smith", "judge"), ("craft", "craft", "court"), ("*", "*", "*"))


def test_a_word_that_the_release_does_not_have_says_nothing() -> None:
    """Who does not know that a baker is a craftsman cannot take a baker for the suppressed record."""
    rows = [("craft", "1", "u"), ("craft", "1", "w"), ("court", "1", "v"), ("*", "*", "x")]
    baker = {"zip": "baker", "age": 1}
    assert left(rows, baker) == ["u", "v", "w", "x"]
    assert left(rows, baker, hierarchies={"zip": Jobs}) == ["u", "w"]
    assert left(rows, {"zip": "judge", "age": 1}, hierarchies={"zip": Jobs}) == ["v"]
    assert left(rows, {"zip": "monk", "age": 1}, hierarchies={"zip": Jobs}) == ["u", "v", "w", "x"]
    words = attack_anonymized(frame(rows), QUASI, "condition").assumptions
    assert any("Different words" in text for text in words)


def test_ranges_of_words_overlap_by_their_hierarchy() -> None:
    rows = [("craft", "1", "u"), ("craft", "1", "u"), ("baker", "1", "v")]
    assert attack_anonymized(frame(rows), QUASI, "condition").proven == 3
    assert attack_anonymized(frame(rows), QUASI, "condition", hierarchies={"zip": Jobs}).proven == 0


def test_a_star_is_no_value_to_be_certain_of() -> None:
    found = attack_anonymized(frame([*[("a", "1", "*")] * 3, ("b", "1", "u"), ("b", "1", "*")]), QUASI, "condition")
    assert (found.proven, found.findings) == (0, ())
    starred = [("a", "1", "Cancer"), ("a", "1", "*")]
    assert left(starred, {"zip": "a", "age": 1}, also=[frame([("a", "1", "Cancer"), ("a", "1", "Flu")])]) == [
        "Cancer", "Flu",
    ]  # fmt: skip
    assert left(starred, {"zip": "a", "age": 1}) == ["Cancer", None]  # a missing one may be any
    assert left(starred, {"zip": "a", "age": 1}, also=[frame([("a", "1", "Flu")])]) == ["Flu"]


def test_the_same_value_written_in_two_ways_is_one() -> None:
    """Cancer is not all that is left because one hospital writes flu and the other Flu."""
    one, other = [("a", "1", "flu"), ("a", "1", "Cancer")], [("a", "1", "Flu"), ("a", "1", "Cancer")]
    assert left(one, {"zip": "a", "age": 1}, also=[frame(other)]) == ["Cancer", "flu"]
    classes = [classes_of(frame(rows), QUASI, "condition") for rows in (one, other)]
    assert pairs(classes[0], classes[1], 10) == ([], 0)


def test_values_that_are_ranges_do_not_exclude_each_other() -> None:
    one, other = [("a", "1", "20-30"), ("a", "1", "40-50")], [("a", "1", "25"), ("a", "1", "40-50")]
    classes = [classes_of(frame(rows), QUASI, "condition") for rows in (one, other)]
    assert pairs(classes[0], classes[1], 10) == ([], 0)
    assert len(left(one, {"zip": "a", "age": 1}, also=[frame(other)])) == 3
    assert left(one[:1], {"zip": "a", "age": 1}, also=[frame(other)]) == ["20-30"]  # certain by the first alone
    third = [("a", "1", "60"), ("a", "1", "45")]
    both = classes_of(frame(third), QUASI, "condition")
    some, number = pairs(classes[0], both, 10)
    assert ([pair.value for pair in some], number) == (["40-50"], 1)


def test_too_many_ranges_to_compare_leave_everything_possible(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(two_releases, "MOST_VALUES", 2)
    one, other = [("a", "1", "20-30"), ("a", "1", "40-50")], [("a", "1", "40-50"), ("a", "1", "60-70")]
    assert len(left(one, {"zip": "a", "age": 1}, also=[frame(other)])) == 3


def test_values_ruled_out_count_those_of_classes_that_overlap() -> None:
    rows = [("20-29", "u"), ("20-29", "u"), ("25-34", "v"), ("40-49", "w"), ("45-54", None)]
    found = attack_anonymized(frame(rows, ("age", "condition")), ["age"], "condition")
    assert found.proven == 0
    assert found.numbers["certain_with_ruled_out"] == [0, 3, 3]
    assert found.numbers["homogeneous_people"] == 4


def test_claims_are_compared_with_the_truth() -> None:
    """Values were swapped before the release: what it says for sure is wrong of some people."""
    rows = [*[("a", "1", "u")] * 4, *[("b", "2", "v")] * 4]
    truth = [*[("a", "1", "u")] * 3, ("a", "1", "v"), *[("b", "2", "v")] * 4, ("c", "9", "u")]
    score = attack_anonymized(frame(rows), QUASI, "condition", truth=frame(truth)).score
    assert score is not None
    assert (score.claimed, score.right) == (8, 7)


def test_the_truth_is_found_by_hierarchies(tmp_path: Path) -> None:
    """Nobody fits a class by the words alone; without hierarchies it is said, and the guess is poor."""
    rows = [*[("craft", "1", "u")] * 4, *[("court", "1", "v")] * 5]
    truth = [*[("baker", "1", "u")] * 4, *[("judge", "1", "v")] * 5, ("judge", "7", "v")]
    (tmp_path / "zip.csv").write_text("baker;craft;*\nsmith;craft;*\njudge;court;*\n")
    blind = attack_anonymized(frame(rows), QUASI, "condition", truth=frame(truth))
    seeing = attack_anonymized(frame(rows), QUASI, "condition", truth=frame(truth), hierarchies=tmp_path)
    assert blind.score is not None
    assert seeing.score is not None
    assert (blind.score.success.value, seeing.score.success.value) == (0.6, 1.0)
    assert any(text.startswith("1 of the people") for text in seeing.assumptions)


def test_a_table_of_suppressed_records_only() -> None:
    found = attack_anonymized(frame([("*", "*", "u"), ("*", "*", "v")]), QUASI, "condition")
    assert (found.proven, found.numbers["classes"], found.numbers["suppressed"]) == (0, 0, 2)


@st.composite
def shipped(draw: st.DrawFn, people: list[tuple[int, str, str]]) -> list[tuple[str | None, ...]]:
    """People of an age, a job and a value as a full-domain generalization ships them: ages in ranges, jobs as they are,
    in words, or all alike; small classes suppressed; some values starred."""
    width, level, least = draw(st.sampled_from([1, 2, 3])), draw(st.integers(0, 2)), draw(st.integers(1, 3))
    job = dict(zip(Jobs.levels[0], Jobs.levels[level], strict=True))
    rows = [
        (
            job[one],
            f"{age // width * width}-{age // width * width + width - 1}",
            draw(st.sampled_from([*value * 5, "*"])),
        )
        for age, one, value in people
    ]
    labels = [row[:2] for row in rows]
    return [row if labels.count(row[:2]) >= least else ("*", "*", row[2]) for row in rows]


PEOPLE = st.lists(
    st.tuples(st.integers(0, 5), st.sampled_from(Jobs.levels[0]), st.sampled_from("uvw")), min_size=2, max_size=9
)


@settings(max_examples=150)
@given(st.data(), PEOPLE)
def test_the_true_value_is_never_excluded(data: st.DataObject, everybody: list[tuple[int, str, str]]) -> None:
    """Whoever is in both releases, known wholly or in part, with hierarchies or without: the value is among those left,
    and so whoever is called certain has it."""
    releases = [frame(data.draw(shipped(everybody))) for _ in range(2)]
    assume(any(text != "*" for text in releases[0]["condition"].texts))
    asked = [(st.sampled_from([job, None]), st.sampled_from([str(age), f"{age}-9", None])) for age, job, _ in everybody]
    known = [{"zip": data.draw(job), "age": data.draw(age)} for job, age in asked]
    levels = data.draw(st.sampled_from([None, {"zip": Jobs}]))
    found = attack_anonymized(releases[0], QUASI, "condition", also=releases[1:], known=known, hierarchies=levels)
    for one, (_, _, value) in zip(found.numbers["known"], everybody, strict=True):
        assert value in one["together"] or None in one["together"]
        assert value in one["alone"] or None in one["alone"]

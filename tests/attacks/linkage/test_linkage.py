"""Released records against known people: found are those who can be found, and nobody else is claimed."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from support.made_linkage import Pair, pair, table
from support.refusals import raises_code

from privet.attacks import Linkage, attack_linkage
from privet.attacks.finding import Strength
from privet.attacks.linkage import evidence
from privet.errors import InvalidInputError
from privet.records.microdata import Microdata, column
from privet.report.findings.page import page_of
from privet.report.page import to_html
from privet.stats.binomial import share

DATA = os.environ.get("PRIVET_DATA")
SHARED = ["sex", "age", "zip"]


def right(found: Linkage, made: Pair) -> tuple[int, int]:
    """Claims, and how many of them are true."""
    guess = found.to_pandas()
    linked = guess[guess.verdict == "linked"]
    ours, theirs = made.released["id"].listed(), made.known["id"].listed()
    pairs = zip(linked.released_row.astype(int), linked.known_row.astype(int), strict=True)
    return len(linked), sum(ours[one - 1] == theirs[other - 1] for one, other in pairs)


def alone(made: Pair, names: list[str]) -> int:
    """Records that fit one known person whom no other fits, counted in another way: both tables made equally coarse."""
    coarse = pd.DataFrame({"sex": made.known["sex"].listed()})
    age = made.known["age"].listed().astype(int) // 5 * 5
    coarse["age"] = [f"{one}-{one + 4}" for one in age]
    coarse["zip"] = [one[:4] + "*" for one in made.known["zip"].listed()]
    ours = pd.DataFrame({name: made.released[name].listed() for name in names}).value_counts()
    theirs = coarse[names].value_counts()
    return len(set(ours[ours == 1].index) & set(theirs[theirs == 1].index))


def test_the_same_people_in_both_tables_are_found_where_they_can_be() -> None:
    made = pair(3000, zips=4000)
    found = attack_linkage(made.released, made.known, on=SHARED, truth="id")
    numbers = found.findings.numbers
    assert numbers["uniquely_linkable"] == alone(made, SHARED) > 500
    claims, true = right(found, made)
    assert claims == numbers["linked"] == found.findings.claimed
    assert true >= 0.95 * claims
    assert numbers["right"] == true
    assert claims >= 0.9 * numbers["uniquely_linkable"]
    assert numbers["people_in_both"] == pytest.approx(3000, rel=0.01)
    assert numbers["control"]["value"] <= 0.05
    groups = found.to_pandas()
    several = groups[groups.verdict == "one of several"]
    assert (several.people_who_fit.astype(int) > 1).all()
    assert len(several) == numbers["fit_several"]


@pytest.mark.parametrize(("released", "known"), [(0.5, 0.5), (0.9, 0.6), (0.3, 1.0), (1.0, 0.3)])
def test_where_tables_overlap_in_part_the_claims_keep_their_precision(released: float, known: float) -> None:
    """A few thousand claims over several draws: 95 % are promised."""
    claims = true = 0
    for seed in range(4):
        made = pair(1500, released=released, known=known, zips=4000, seed=seed)
        found = attack_linkage(made.released, made.known, on=SHARED)
        both = len(set(made.released["id"].listed()) & set(made.known["id"].listed()))
        assert found.findings.numbers["people_in_both"] == pytest.approx(both, rel=0.2)
        one, other = right(found, made)
        claims, true = claims + one, true + other
    assert true >= 0.95 * claims - 3 * np.sqrt(0.05 * max(claims, 1))
    assert claims > 100


def test_a_search_that_is_cut_short_is_not_too_sure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evidence, "ROUNDS", 1)
    made = pair(1500, zips=4000)
    found = attack_linkage(made.released, made.known, on=SHARED)
    claims, true = right(found, made)
    assert true >= 0.95 * claims
    assert found.findings.numbers["people_in_both"] < 1500


def test_strangers_are_not_claimed() -> None:
    one, other = pair(2000, seed=1), pair(2000, seed=2)
    found = attack_linkage(one.released, other.known, on=SHARED)
    assert found.findings.numbers["linked"] <= 5
    assert found.findings.numbers["people_in_both"] < 200
    assert found.findings.headline.startswith("None of 2,000 records") or found.findings.claimed


def test_misspelled_names_are_forgiven() -> None:
    made = pair(600, typos=0.1, released=0.8, known=0.8)
    found = attack_linkage(made.released, made.known, truth="id")
    exact = attack_linkage(made.released, made.known, truth="id", errors=False)
    claims, true = right(found, made)
    assert true >= 0.97 * claims
    assert true >= right(exact, made)[1] + 20
    assert found.findings.numbers["agreement"]["name"] == pytest.approx(0.9, abs=0.04)
    assert any(" differs; " in one.reasoning for one in found.findings.findings)
    assert "Wrong values: every value was taken as right." in exact.findings.not_tried


def test_one_to_one_gives_nobody_away_twice() -> None:
    made = pair(800, known=0.5)
    found = attack_linkage(made.released, made.known, on=SHARED, truth="id", one_to_one=True)
    guess = found.to_pandas().known_row.dropna()
    assert guess.is_unique
    assert len(guess) > 350
    loose = attack_linkage(made.released, made.known, on=SHARED, truth="id").findings
    assert found.findings.claimed == loose.claimed


def test_the_page_starts_with_people_and_says_what_it_rests_on() -> None:
    made = pair(1200)
    found = attack_linkage(made.released, made.known, on=SHARED, truth=("id", "id"))
    claims, true = right(found, made)
    text = str(found)
    assert text.startswith(f"{claims:,} of 1,200 records are linked to a known person, ")
    assert "Linkage attack on the released table\nLinked means:" in text
    for heading in ("Worst records", "How many known people fit a record", "What made them unique",
                    "What a group gives away", "Main run and control", "Compared with the truth",
                    "What was assumed", "What was not tried"):  # fmt: skip
        assert heading in text
    first = found.findings.findings[0]
    assert first.strength is Strength.CONFIDENCE
    assert first.claim.startswith("record ")
    assert " is of name " in first.claim
    assert set(first.record) == {"name", "job"}
    assert [one.split()[0] for one in first.evidence] == SHARED
    assert "no other known person fits" in first.reasoning
    sure = [one.confidence or 0 for one in found.findings.findings]
    assert sure == sorted(sure, reverse=True)
    html = to_html(page_of(found.findings))
    assert "linked: " in html
    assert "How many known people fit a record" in html
    assert html.count("<svg") >= 3
    assert "Linked means" in found._repr_html_()
    assert json.loads(json.dumps(found.to_json()))["right"] == true


def test_the_table_of_matches_can_be_written(tmp_path: Path) -> None:
    made = pair(60, known=0.7)
    found = attack_linkage(made.released, made.known, on=SHARED)
    found.write(tmp_path / "matches.csv")
    lines = (tmp_path / "matches.csv").read_text().splitlines()
    assert lines[0] == "released_row,known_row,probability,nobody,people_who_fit,verdict"
    assert len(lines) == 61
    assert found.report(tmp_path / "r.html").exists()


def test_files_are_named_and_the_ids_are_never_compared(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,Age,zip\n1,10-19,654**\n2,20-29,123**\n")
    (tmp_path / "b.csv").write_text("id, age,ZIP,name\n1,12,65401,Ann\n2,25,12345,Bob\n")
    found = attack_linkage(tmp_path / "a.csv", str(tmp_path / "b.csv"), truth="id")
    assert found.findings.subject == "a.csv"
    assert set(found.findings.numbers["compared"]) == {"Age", "zip"}
    assert (
        "id" in attack_linkage(tmp_path / "a.csv", tmp_path / "b.csv").findings.numbers["compared"]
    )  # it is there to be used


def test_other_names_of_columns() -> None:
    made = pair(300)
    renamed = table(plz=made.known["zip"].listed(), sex=made.known["sex"].listed(), years=made.known["age"].listed(),
                    id=made.known["id"].listed())  # fmt: skip
    found = attack_linkage(made.released, renamed, on={"zip": "plz", "sex": "sex", "age": "years"}, truth="id")
    same = attack_linkage(made.released, made.known, on=SHARED, truth="id")
    assert found.findings.numbers["linked"] == same.findings.numbers["linked"]
    assert found.findings.findings == () or "known person" in found.findings.findings[0].claim


@pytest.mark.parametrize(
    ("released", "known"),
    [
        (table(a=["x"]), table(a=["x"])),
        (table(a=[None, None]), table(a=[None])),
        (table(a=["x", "x", "x"]), table(a=["x", "x"])),
        (table(a=["[9-3]", "1-2"]), table(a=["5", "2"])),
        (table(a=["x", "y"]), table(a=["p", "q"])),
        (table(a=["*", "x", "y"], b=["1", "*", "*"]), table(a=["x", "y", None], b=["1", "2", None])),
    ],
    ids=["one row", "all missing", "duplicates", "contradiction", "nothing agrees", "half missing"],
)
def test_small_and_odd_tables_are_no_reason_to_fail(released: Microdata, known: Microdata) -> None:
    for one_to_one in (False, True):
        found = attack_linkage(released, known, one_to_one=one_to_one)
        assert found.findings.claimed == 0
        assert len(found.to_pandas()) == len(released)
        assert str(found)
        assert to_html(page_of(found.findings))


def test_identical_tables_with_rare_values_are_linked() -> None:
    numbers = [str(number) for number in range(200)]
    found = attack_linkage(table(number=numbers), table(number=numbers[::-1]))
    assert found.findings.claimed == 200
    assert found.findings.headline == "200 of 200 records are linked to a known person"
    one = attack_linkage(table(number=numbers, x=["a"] * 200), table(number=[*numbers[:1], *["-1"] * 199]))
    assert one.findings.claimed <= 1


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"precision": 1.0}, "out-of-range: of 1"),
        ({"on": ["sex", "height"]}, "unknown-column"),
        ({"on": []}, "no-overlap: common"),
        ({"on": ["id"], "truth": "id"}, "contradictory-options"),
        ({"truth": "who"}, "unknown-column"),
        ({"truth": ("id", "name"), "on": ["sex"]}, "no-overlap: released"),
    ],
)
def test_wrong_input_is_told_in_one_line(change: dict[str, object], problem: str) -> None:
    made = pair(20)
    with raises_code(InvalidInputError, problem):
        attack_linkage(made.released, made.known, **change)  # type: ignore[arg-type]


def test_a_table_of_guesses_has_numbers() -> None:
    """Probabilities as texts would be sorted and compared as texts."""
    made = pair(60, known=0.5)
    guess = attack_linkage(made.released, made.known, on=SHARED).to_pandas()
    kinds = {name: str(kind) for name, kind in guess.dtypes.items() if name != "verdict"}
    assert kinds == {
        "released_row": "Int64", "known_row": "Int64", "probability": "float64", "nobody": "float64",
        "people_who_fit": "Int64",
    }  # fmt: skip
    assert ((guess.probability >= 0) & (guess.probability <= 1)).all()


def test_two_tables_of_strangers_are_scored() -> None:
    """Nobody is in both, so every known person who is claimed is a false claim."""
    made, others = pair(120), pair(120, seed=5)
    renamed = [f"other {name}" for name in others.known["id"].listed()]
    known = Microdata({**others.known.columns, "id": column("id", renamed)}, len(others.known))
    numbers = attack_linkage(made.released, known, on=SHARED, truth="id").findings.numbers
    assert (numbers["right"], numbers["held_out"]) == (0, len(known))
    assert numbers["control"]["value"] <= 0.05


def test_tables_without_rows_or_shared_columns() -> None:
    made = pair(20)
    nobody = Microdata({name: column(name, []) for name in SHARED}, 0)
    with raises_code(InvalidInputError, "empty: released"):
        attack_linkage(nobody, made.known)
    with raises_code(InvalidInputError, "empty: known"):
        attack_linkage(made.released, nobody)
    with raises_code(InvalidInputError, "no-overlap: common"):
        attack_linkage(table(a=["x"]), made.known)


def test_everybody_held_out_is_no_control() -> None:
    found = attack_linkage(table(id=["1"], a=["x"]), table(id=["1"], a=["x"]), truth="id")
    assert found.findings.numbers["held_out"] == 0
    assert share(0, 0).high == 1


def test_ids_may_be_missing() -> None:
    ours = table(id=["1", None, "3"], a=["x", "y", "z"])
    found = attack_linkage(ours, table(id=["1", None, "4"], a=["x", "y", "w"]), truth="id")
    assert found.findings.score is not None
    assert found.findings.score.success.value in (0, 1)


def test_progress_is_told() -> None:
    made, told = pair(40), []
    attack_linkage(made.released, made.known, truth="id", progress=lambda *words: told.append(words))
    assert {"reading", "comparing", "weighing pairs"} <= {words[0] for words in told}
    assert any(words[0].startswith("control: ") for words in told)


@pytest.mark.skipif(DATA is None, reason="PRIVET_DATA is not set: no real data here")
def test_the_pair_of_thirty_thousand() -> None:
    """As it is, it is 3-anonymous: everybody is one of three. Of half of its people, thousands stand alone."""
    folder = Path(str(DATA)) / "linkage_pair"
    frames = []
    for name in ("data_medical", "data_demographic"):
        with gzip.open(folder / f"{name}.csv.gz", "rt") as file:
            frames.append(pd.read_csv(file, dtype=str))
    whole = attack_linkage(*frames, truth="ID").findings
    assert (whole.certain, whole.numbers["fit_several"], whole.tables[0].rows) == (0, 30000, (("one of 3", "30,000"),))
    half = set(frames[0].ID.sample(15000, random_state=1))
    ours, theirs = (frame[frame.ID.isin(half)].sample(frac=1, random_state=2) for frame in frames)
    found = attack_linkage(ours, theirs, truth="ID").findings
    assert found.numbers["uniquely_linkable"] > 3000
    assert found.numbers["recall"]["low"] > 0.9
    assert found.numbers["precision"]["low"] > 0.95
    assert found.numbers["control"]["high"] < 0.05


def neighbors(people: int, seed: int) -> dict[str, list[str]]:
    """Columns that go together: a zip code is in a city, a city in a state, a house number in a street."""
    draw = np.random.default_rng(seed)
    place, age = draw.integers(0, 300, people), draw.integers(18, 90, people)
    return {
        "zip": [f"{10000 + one}" for one in place],
        "city": [f"city{one // 3}" for one in place],
        "state": [f"st{one // 30}" for one in place],
        "age": [str(one) for one in age],
        "decade": [f"g{one // 10}" for one in age],
        "sex": draw.choice(["F", "M"], people).tolist(),
        "name": draw.choice([f"{a}{b}" for a in ("meier", "schulz", "wolf") for b in "abcdefgh"], people).tolist(),
    }


def parted(whole: dict[str, list[str]], records: int, both: int) -> Pair:
    """The first so many people are released; those after them are known, and `both` of them are in both."""
    ids = [str(number) for number in range(len(whole["zip"]))]
    every = {"id": ids, **whole}
    shuffled = np.random.default_rng(0).permutation(np.arange(records - both, len(ids)))
    return Pair(
        table(**{name: values[:records] for name, values in every.items()}),
        table(**{name: [values[one] for one in shuffled] for name, values in every.items()}),
    )


@pytest.mark.parametrize("seed", [8, 15])
def test_of_strangers_whose_columns_go_together_nobody_is_claimed(seed: int) -> None:
    """One value may be wrong, and all others agree: with columns that say the same thing twice this is no wonder."""
    made = parted(neighbors(1500, seed), 600, 0)
    assert right(attack_linkage(made.released, made.known, on=[*neighbors(1, 0)]), made) == (0, 0)


def test_families_are_not_taken_for_one_person() -> None:
    """Of people who share a name, a street and a zip code a third are in both tables: claims keep their precision."""
    claimed = true = 0
    for seed in (3, 14, 25):
        draw = np.random.default_rng(seed)
        house = draw.integers(0, 440, 1320)
        whole = {
            "zip": [f"{10000 + one % 300}" for one in house],
            "street": [f"s{one % 977}" for one in house],
            "name": [f"n{one % 501}" for one in house],
            "age": [str(one // 5 * 5) for one in draw.integers(18, 90, 1320)],
            "sex": draw.choice(["F", "M"], 1320).tolist(),
        }
        made = parted(whole, 600, 360)
        some, good = right(attack_linkage(made.released, made.known, on=[*whole]), made)
        claimed, true = claimed + some, true + good
    assert claimed > 500
    assert true / claimed >= 0.95

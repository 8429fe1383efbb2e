"""Linkage with any number of wrong values: the parts of the model against what defines them, and claims that keep what
they say, on families, shared addresses, few coarse columns and tables that have nobody in common."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
import pytest
from support.made_families import COLUMNS, Wrong, families, slip, two_tables
from support.made_linkage import COARSE, Pair, coarse, table
from support.refusals import raises_code

from privet.attacks import Linkage, attack_linkage
from privet.attacks.linkage import blocking, evidence
from privet.attacks.linkage.agreement import ALIKE, DIFFERENT, MISSING, SAME, SLIP, Comparer, compared
from privet.attacks.linkage.axis import axis
from privet.attacks.linkage.blocking import Blocking
from privet.attacks.linkage.both import InBoth, Scores, crowding, people_in_both
from privet.attacks.linkage.evidence import weigh
from privet.attacks.linkage.join import classes
from privet.attacks.linkage.model import average_levels, compare, patterns
from privet.errors import InvalidInputError
from privet.records.microdata import Microdata, column
from privet.report.findings.page import page_of
from privet.report.page import to_html

QUIET = lambda *_: None  # noqa: E731
FIVE = ("first", "last", "birth", "sex", "zip")


def comparer_of(made: Pair, names: Sequence[str]) -> Comparer:
    tables = classes(made.released, names), classes(made.known, names)
    rows = len(made.released) + len(made.known)
    columns = [compared(axis(made.released[name], made.known[name]), rows) for name in names]
    return Comparer(columns=columns, tables=tables)


def claims(found: Linkage, made: Pair) -> tuple[np.ndarray, np.ndarray]:
    """The probability of the best guess for each record, and whether it is right."""
    guess = found.to_pandas()
    chance = guess.probability.astype(float).to_numpy()
    ours, theirs = made.released["id"].listed(), made.known["id"].listed()
    person = [None if pd.isna(row) else theirs[int(row) - 1] for row in guess.known_row]
    return chance, np.array([one == other for one, other in zip(ours, person, strict=True)])


# ---------------------------------------------------------------- comparing
FILL = [f"{a}{b}{c}" for a in ("ka", "re", "so", "tu") for b in ("lin", "mar", "dor", "wen") for c in ("a", "o")]
DAYS = [f"19{50 + n:02d}-{1 + n % 12:02d}-{1 + n % 28:02d}" for n in range(40)]
CODES = [f"{10000 + 317 * n}" for n in range(40)]
AMOUNTS = [f"{17.25 * n + 3:.2f}" for n in range(40)]


@pytest.mark.parametrize(
    ("fill", "kind", "one", "other", "level"),
    [
        (FILL, "name", "Karlina", "karlina ", SAME),
        (FILL, "name", "marthamo", "marhtamo", SLIP),
        (FILL, "name", "johannson", "johansen", SLIP),
        (FILL, "name", "dwayne", "duane", ALIKE),
        (FILL, "name", "j", "johanna", ALIKE),
        (FILL, "name", "karlina", "sowen", DIFFERENT),
        (FILL, "name", "karlina", None, MISSING),
        (DAYS, "date", "1980-05-07", "1980-07-05", SLIP),
        (DAYS, "date", "1980-05-07", "1980-05-17", SLIP),
        (DAYS, "date", "1980-05-07", "1980-05-28", ALIKE),
        (DAYS, "date", "1980-05-07", "07.05.1980", SAME),
        (DAYS, "date", "1980-05-07", "1961-11-30", DIFFERENT),
        (CODES, "digits", "65418", "65481", SLIP),
        (CODES, "digits", "065418", "65418", SAME),
        (CODES, "digits", "654180", "65411", ALIKE),
        (CODES, "digits", "65418", "12345", DIFFERENT),
        (AMOUNTS, "number", "1000.00", "1003.00", SLIP),
        (AMOUNTS, "number", "1000.00", "1050.00", ALIKE),
        (AMOUNTS, "number", "1000.00", "1500.00", DIFFERENT),
        ([], "code", "F", "M", DIFFERENT),
        (["20-29", "30-39"], "range", "40-49", "45", SAME),
        (["20-29", "30-39"], "range", "40-49", "50", DIFFERENT),
    ],
)
def test_values_agree_by_their_kind(fill: list[str], kind: str, one: str | None, other: str | None, level: int) -> None:
    column_of = compared(axis(column("x", [*fill, one]), column("x", [*fill, other])), 100)
    assert column_of.kind == kind
    places = [list(side.texts).index(text) for side, text in
              ((column("x", [*fill, one]), one), (column("x", [*fill, other]), other))]  # fmt: skip
    assert column_of.levels((0, 1), np.array(places[:1]), np.array(places[1:])).tolist() == [level]


def test_a_column_without_words_and_one_with_unicode_are_compared() -> None:
    nothing = compared(axis(column("x", [None, None]), column("x", [None])), 3)
    assert nothing.levels((0, 1), np.array([0]), np.array([0])).tolist() == [MISSING]
    ours, theirs = column("x", ["Zürich", "Łódź", *FILL]), column("x", ["ZU\u0308RICH", "Łodź", *FILL])
    both = compared(axis(ours, theirs), 100)
    at = [list(ours.texts).index("Zürich"), list(ours.texts).index("Łódź")]
    other = [list(theirs.texts).index("ZU\u0308RICH"), list(theirs.texts).index("Łodź")]
    assert both.levels((0, 1), np.array(at), np.array(other)).tolist() == [SAME, SLIP]


def test_a_rare_value_that_agrees_has_its_own_chance() -> None:
    made = Pair(table(a=["x"] * 9 + ["y"]), table(a=["x"] * 8 + ["y"] * 2))
    comparer = comparer_of(made, ["a"])
    logs = comparer.log_chance((0, 1), np.arange(2), np.zeros((2, 1), np.int8), np.full((1, 4), 0.25))
    assert np.exp(logs[:, 0]) == pytest.approx([17 / 20, 2 / 10])


# ---------------------------------------------------------------- blocking
def test_blocks_have_the_pairs_that_share_a_rule_and_no_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """By one comparison after another, with room for all pairs."""
    made = two_tables(families(120, 5), shares=(0.8, 0.8), errors=Wrong(wrong=0.2), seed=5)
    found = Blocking(comparer_of(made, COLUMNS))
    monkeypatch.setattr(blocking, "COMPARED", 1000)
    found.size = 3
    ours, theirs = (len(side) for side in found.comparer.tables)
    one, other = (part.ravel() for part in np.meshgrid(np.arange(ours), np.arange(theirs), indexing="ij"))
    shared = np.any([found.agree(rule, one, other) for rule in found.rules], axis=0)
    listed = found.pairs((0, 1), np.arange(ours), np.arange(theirs))
    expected = set(zip(one[shared].tolist(), other[shared].tolist(), strict=True))
    pairs = list(zip(*(part.tolist() for part in listed), strict=True))
    assert len(pairs) == len(set(pairs))
    assert expected <= set(pairs)
    assert len(set(pairs) - expected) <= 0.05 * len(pairs) + 3  # two blocks may have one number


def test_the_size_of_blocks_keeps_to_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    made = two_tables(families(400, 2), shares=(1, 1), errors=Wrong(), seed=2)
    sizes = []
    for budget in (2, 50):
        monkeypatch.setattr(blocking, "BUDGET", budget)
        found = Blocking(comparer_of(made, COLUMNS))
        found.fit(np.arange(len(found.comparer.tables[0])))
        sizes.append(found.size)
    assert sizes[0] < sizes[1]


def test_what_blocking_loses_is_not_told_too_low(monkeypatch: pytest.MonkeyPatch) -> None:
    """With few pairs allowed, the share of people whose pair is no candidate is at most the one stated."""
    monkeypatch.setattr(blocking, "BUDGET", 1)
    made = two_tables(families(1500, 3), shares=(1, 1), errors=Wrong(wrong=0.15), seed=3, columns=FIVE)
    comparer = comparer_of(made, FIVE)
    found = weigh(comparer, errors=True, progress=QUIET)
    ours, theirs = comparer.tables
    assert found.blocking is not None
    pairs = found.blocking.pairs((0, 1), np.arange(len(ours)), np.arange(len(theirs)))
    listed = set(zip(*(part.tolist() for part in pairs), strict=True)) | set(
        zip(found.found.released.tolist(), found.found.known.tolist(), strict=True)
    )
    place = {name: row for row, name in enumerate(made.known["id"].listed().tolist())}
    true = [(int(ours.of[row]), int(theirs.of[place[name]])) for row, name in enumerate(made.released["id"].listed())]
    lost = np.mean([pair not in listed for pair in true])
    assert lost > 0.01
    assert found.loss >= lost - 3 * math.sqrt(lost / len(true))


# ---------------------------------------------------------------- the model
def test_patterns_are_rows_that_are_the_same_also_of_many_columns() -> None:
    levels = np.random.default_rng(0).integers(-1, 4, (300, 50)).astype(np.int8)
    levels[150:] = levels[:150]
    rows, pattern = patterns(levels)
    assert (rows[pattern] == levels).all()
    assert len(rows) == len({tuple(row) for row in levels.tolist()})


def scores(ratio: Sequence[float], left: int, right: int) -> Scores:
    """One pair for each ratio, each of another record."""
    made = Pair(table(a=[str(n) for n in range(left)]), table(a=[str(n) for n in range(right)]))
    pairs = np.arange(len(ratio)) % left, np.arange(len(ratio)) % right
    comparer = comparer_of(made, ["a"])
    some = compare(comparer, (0, 1), pairs, average_levels(comparer, (0, 1)))
    return Scores(pairs=some, ratio=np.array(ratio), sizes=np.ones(left), left=left, of=left, right=right)


def test_people_in_both_are_pairs_beyond_those_that_decoys_have() -> None:
    """300 pairs of one person and 200 of kin, who are as common among decoys."""
    high, low = 20.0, 12.0
    across, decoys = scores([high] * 300 + [low] * 200, 1000, 1000), scores([low] * 200, 1000, 1000)
    sure = np.array([0.99] * 300 + [0.1] * 200)
    both = people_in_both(across, [decoys], sure)
    assert both.estimate == pytest.approx(300)
    assert 290 < both.low <= 300
    assert people_in_both(across, [decoys], None).estimate == pytest.approx(300)
    nobody = people_in_both(decoys, [decoys], None)
    assert nobody.low < 1
    assert people_in_both(across, [], None).low < 1  # without decoys nothing is known


def test_groups_of_a_fixed_size_hide_more_people_than_chance() -> None:
    """Everybody has exactly two others. Half of all people are in each table: seen alone means two are unseen."""
    both = InBoth(estimate=500, low=500, records=1000, people=1000)
    rows, others = np.repeat(np.arange(1000), 2), np.arange(2000) % 1000
    fixed = scores([9.0] * 2000, 1000, 1000)
    pairs = type(fixed.pairs)(**{name: getattr(fixed.pairs, name) for name in fixed.pairs.__slots__} | {
        "one": rows, "other": others, "sides": (0, 0)})  # fmt: skip
    found = crowding(
        both, [Scores(pairs=pairs, ratio=fixed.ratio, sizes=np.ones(1000), left=1000, of=1000, right=999)], 5.0
    )
    assert found == pytest.approx(1 / both.unseen)
    chance = np.random.default_rng(0).poisson(1.0, 1000)
    rows = np.repeat(np.arange(1000), chance)
    pairs = type(pairs)(**{name: getattr(pairs, name) for name in pairs.__slots__} | {
        "one": rows, "other": rows[::-1], "many": np.ones(len(rows))})  # fmt: skip
    loose = Scores(pairs=pairs, ratio=np.full(len(rows), 9.0), sizes=np.ones(1000), left=1000, of=1000, right=999)
    assert crowding(both, [loose], 5.0) < 1.15


# ---------------------------------------------------------------- claims that keep what they say
def ten_columns(people: int, seed: int) -> dict[str, np.ndarray]:
    draw = np.random.default_rng(seed)
    made = families(people, seed)
    return {name: made[name] for name in COLUMNS} | {
        "number": np.array([f"{n}" for n in draw.permutation(9 * 10**5)[:people] + 10**5], object)
    }


def test_two_wrong_values_in_ten_are_no_hiding_place() -> None:
    """Each of 400 people has two wrong values, in columns drawn at random: nearly all are linked, all rightly."""
    whole = ten_columns(400, 1)
    draw = np.random.default_rng(2)
    order = draw.permutation(400)
    other = {name: values[order].copy() for name, values in whole.items()}
    names = list(whole)
    for row in range(400):
        for at in draw.choice(10, 2, replace=False):
            text = str(other[names[at]][row])
            other[names[at]][row] = slip(text, draw) if len(text) > 2 else "?"
    ids = np.arange(400).astype(str)
    made = Pair(table(id=ids, **whole), table(id=ids[order], **other))
    found = attack_linkage(made.released, made.known, on=names, truth="id").findings
    assert found.numbers["linked"] >= 390
    assert found.numbers["right"] == found.numbers["linked"]
    assert found.numbers["people_in_both"] == pytest.approx(400, rel=0.02)


def test_more_columns_and_missing_values_do_not_make_it_worse() -> None:
    linked = []
    for columns in (FIVE, COLUMNS):
        made = two_tables(families(700, 4), shares=(0.8, 0.8), errors=Wrong(wrong=0.05, missing=0.2), seed=4,
                          columns=columns)  # fmt: skip
        chance, right = claims(attack_linkage(made.released, made.known, on=list(columns)), made)
        assert right[chance >= 0.95].mean() >= 0.97
        both = len(set(made.released["id"].listed()) & set(made.known["id"].listed()))
        linked.append(float((right & (chance >= 0.95)).sum()) / both)
    assert linked[0] > 0.5
    assert linked[1] > max(0.8, linked[0])


def three_anonymous(seed: int) -> Pair:
    """Everybody has two others with the same values; half of the people are in each table, drawn by themselves."""
    draw = np.random.default_rng(seed)
    group = np.repeat(draw.permutation(4000)[:900], 3)
    area, decade = group // 8, group % 8
    ids, zips = np.arange(len(group)).astype(str), [f"{one:03d}{draw.integers(10)}" for one in area]
    years = [str(10 * one + draw.integers(10)) for one in decade]
    rows = [draw.permutation(np.flatnonzero(draw.random(len(group)) < 0.5)) for _ in range(2)]
    return Pair(
        table(id=ids[rows[0]], zip=[f"{area[one]:03d}*" for one in rows[0]],
              age=[f"{10 * decade[one]}-{10 * decade[one] + 9}" for one in rows[0]]),
        table(id=ids[rows[1]], zip=[zips[one] for one in rows[1]], age=[years[one] for one in rows[1]]),
    )  # fmt: skip


def pooled(made: Sequence[Pair], columns: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    parts = [claims(attack_linkage(one.released, one.known, on=list(columns)), one) for one in made]
    return np.concatenate([chance for chance, _ in parts]), np.concatenate([right for _, right in parts])


def test_a_few_coarse_columns_are_not_enough_to_be_sure() -> None:
    """A record of a group of three that fits one person only is that person's in one case of three."""
    chance, right = pooled([three_anonymous(seed) for seed in range(3)], ["zip", "age"])
    assert (chance >= 0.6).mean() < 0.02
    assert 0.25 < right[chance >= 0.25].mean() < 0.42
    likely = chance >= 0.25
    assert chance[likely].mean() <= right[likely].mean() + 0.05


@pytest.mark.parametrize("people", [500, 2000])
def test_in_two_tables_of_the_same_people_all_who_fit_one_person_only_are_claimed(people: int) -> None:
    """All counts are the same in both tables: nobody is missing and nothing is wrong."""
    made = coarse(people, 3)
    found = attack_linkage(made.released, made.known, on=list(COARSE), truth="id").findings.numbers
    assert found["uniquely_linkable"] > 100
    assert found["right"] == found["linked"] == found["uniquely_linkable"]


@pytest.mark.parametrize(("share", "wrong"), [(0.5, 0.0), (0.8, 0.0), (0.9, 0.02), (0.95, 0.0), (1.0, 0.05)])
def test_coarse_tables_that_differ_are_claimed_as_often_as_they_are_right(share: float, wrong: float) -> None:
    """And strangers no more often than stated."""
    chances, rights, strangers, stated = [], [], [], []
    for seed in range(3):
        made = coarse(1000, 40 + seed, (1, share), wrong)
        found = attack_linkage(made.released, made.known, on=list(COARSE))
        chance, right = claims(found, made)
        alone = ~np.isin(made.released["id"].listed().astype(str), made.known["id"].listed().astype(str))
        chances, rights, strangers = [*chances, chance], [*rights, right], [*strangers, chance[alone]]
        stated.append(found.findings.numbers["strangers_claimed"])
    in_range(np.concatenate(chances), np.concatenate(rights))
    claimed = np.concatenate(strangers) >= 0.5
    assert claimed.sum() <= np.mean(stated) * len(claimed) + 3 * math.sqrt(np.mean(stated) * len(claimed) + 1)


WORLDS = {
    "torn": {"shares": (0.6, 0.6), "errors": Wrong(wrong=0.1)},
    "whole": {"shares": (0.5, 0.5), "errors": Wrong(wrong=0.1), "whole": True},
    "many wrong": {"shares": (0.5, 0.5), "errors": Wrong(wrong=0.2, missing=0.1)},
    "few columns": {"shares": (0.5, 0.5), "errors": Wrong(wrong=0.1), "columns": FIVE},
}


@pytest.mark.parametrize("world", WORLDS)
def test_claims_are_right_as_often_as_they_say(world: str) -> None:
    """In each range of probabilities, up to three standard errors."""
    options = {"columns": COLUMNS} | WORLDS[world]
    made = [two_tables(families(800, seed), seed=seed, **options) for seed in range(2)]
    check(*pooled(made, options["columns"]))


@pytest.mark.proof
@pytest.mark.parametrize("world", [*WORLDS, "crowded"])
def test_claims_over_twenty_seeds(world: str) -> None:
    options = {"columns": COLUMNS} | WORLDS.get(world, WORLDS["torn"])
    crowded = 0.4 if world == "crowded" else 0.0
    made = [two_tables(families(600, 100 + seed, crowded=crowded), seed=seed, **options) for seed in range(20)]
    check(*pooled(made, options["columns"]))


def check(chance: np.ndarray, right: np.ndarray) -> None:
    assert (right & (chance >= 0.95)).sum() > 100
    in_range(chance, right)


def in_range(chance: np.ndarray, right: np.ndarray) -> None:
    for low, high in ((0.5, 0.8), (0.8, 0.95), (0.95, 0.99), (0.99, 1.1)):
        here = (chance >= low) & (chance < high)
        if here.any():
            spread = math.sqrt(float((chance[here] * (1 - chance[here])).sum()) + 1)
            assert right[here].sum() >= chance[here].sum() - 3 * spread, (low, here.sum())


@pytest.mark.parametrize("columns", [COLUMNS, FIVE, ("birth", "sex", "zip")], ids=["nine", "five", "three"])
def test_of_strangers_nobody_is_claimed(columns: Sequence[str]) -> None:
    """Families are torn apart by the two tables, which have nobody in common."""
    strangers = false = 0
    for seed in range(3):
        people = families(900, 50 + seed)
        side = np.random.default_rng(seed).random(900) < 0.5
        halves = [
            two_tables({name: values[part] for name, values in people.items()}, shares=(1, 1), seed=seed + place,
                       errors=Wrong(wrong=0.1), columns=columns)
            for place, part in enumerate((side, ~side))
        ]  # fmt: skip
        found = attack_linkage(halves[0].released, halves[1].known, on=list(columns)).findings
        strangers, false = strangers + found.numbers["records"], false + found.claimed
        assert found.numbers["people_in_both_low"] < 30
    assert strangers > 1200
    assert false <= 2


def test_columns_that_say_nothing_change_nothing() -> None:
    """An empty column, a constant one, and the order of columns."""
    made = two_tables(families(400, 9), shares=(0.8, 0.8), errors=Wrong(), seed=9)
    plain = attack_linkage(made.released, made.known, on=list(COLUMNS))
    more = [
        Microdata(dict(side.columns) | {"none": column("none", [None] * len(side)),
                                        "one": column("one", ["x"] * len(side))}, len(side))
        for side in (made.released, made.known)
    ]  # fmt: skip
    wide = attack_linkage(*more, on=["none", *COLUMNS[::-1], "one"])
    assert claims(wide, made)[1].sum() == pytest.approx(claims(plain, made)[1].sum(), rel=0.01)
    same = attack_linkage(made.released, made.known, on=list(COLUMNS[::-1]))
    assert same.to_pandas().known_row.tolist() == plain.to_pandas().known_row.tolist()


def test_rows_that_are_twice_make_it_modest_not_bold() -> None:
    made = two_tables(families(300, 6), shares=(0.9, 0.9), errors=Wrong(wrong=0.02), seed=6)
    twice = Microdata(
        {one.name: type(one)(one.name, np.tile(one.codes, 2), one.texts) for one in made.released},
        2 * len(made.released),
    )
    chance, _ = claims(attack_linkage(twice, made.known, on=list(COLUMNS)), Pair(twice, made.known))
    assert chance.max() <= 0.51  # of two rows that are alike, either may be the person's


def test_a_large_table_is_learned_from_a_part_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    made = two_tables(families(900, 8), shares=(0.8, 0.8), errors=Wrong(wrong=0.05), seed=8)
    whole = claims(attack_linkage(made.released, made.known, on=list(COLUMNS)), made)
    monkeypatch.setattr(evidence, "FITTED", 300)
    monkeypatch.setattr(evidence, "DECOYS", 200)
    monkeypatch.setattr(evidence, "AT_ONCE", 100)
    some = claims(attack_linkage(made.released, made.known, on=list(COLUMNS)), made)
    assert some[1][some[0] >= 0.95].mean() >= 0.97
    assert (some[1] & (some[0] >= 0.95)).sum() >= 0.85 * (whole[1] & (whole[0] >= 0.95)).sum()


def test_the_evidence_of_a_link_is_told_in_bits() -> None:
    made = two_tables(families(500, 7), shares=(0.9, 0.9), errors=Wrong(wrong=0.1), seed=7)
    found = attack_linkage(made.released, made.known, on=list(COLUMNS)).findings
    why = [one for one in found.tables if one.title.startswith("Why record ")]
    assert len(why) == 3
    for one in why:
        assert {row[0] for row in one.rows} == {*COLUMNS, "columns that go together", "before comparing"}
        bits = {row[0]: int(row[2]) for row in one.rows}
        assert bits["before comparing"] < 0
        assert sum(bits.values()) > 4  # claimed: the odds are at least 19
        assert all(int(row[2]) <= 0 for row in one.rows if row[1] in ("different", "missing"))
    rules = next(one for one in found.tables if one.title == "What a single blocking rule would lose")
    lost = [int(row[1].replace(",", "")) for row in rules.rows]
    assert lost == sorted(lost)
    assert 0 <= lost[0] < lost[-1] <= found.claimed
    assert to_html(page_of(found)).count("<svg") >= 5


# ---------------------------------------------------------------- within one table
def with_repeats(people: int, seed: int, share: float) -> Microdata:
    """A table in which some people are a second time, with wrong values."""
    draw = np.random.default_rng(seed)
    whole = families(people, seed)
    rows = np.concatenate([np.arange(people), np.flatnonzero(draw.random(people) < share)])
    rows = rows[draw.permutation(len(rows))]
    made = two_tables({name: whole[name][rows] for name in (*COLUMNS, "household")}, shares=(1, 0.1), seed=seed,
                      errors=Wrong(wrong=0.05)).released  # fmt: skip
    ids = [str(rows[int(one)]) for one in made["id"].listed()]
    return Microdata(dict(made.columns) | {"id": column("id", ids)}, len(made))


def test_who_is_twice_in_a_table_is_found() -> None:
    data = with_repeats(1500, 3, 0.2)
    found = attack_linkage(data, on=list(COLUMNS), truth="id")
    numbers = found.findings.numbers
    assert numbers["true_pairs"] > 250
    assert numbers["recall"] > 0.75
    assert numbers["right"] >= 0.97 * numbers["pairs"]
    assert found.findings.headline.startswith(f"{numbers['people']:,} people are in the released table more than once")
    guess = found.to_pandas()
    assert list(guess.columns) == ["row", "other_row", "probability"]
    assert "Nothing audits these probabilities" in str(found)
    assert to_html(page_of(found.findings))


def test_families_are_not_taken_for_repeats() -> None:
    """Nobody is twice in the table; a few coarse columns are never enough."""
    found = [attack_linkage(with_repeats(1200, seed, 0.0), on=list(COLUMNS)).findings for seed in range(3)]
    assert sum(one.numbers["pairs"] for one in found) <= 5
    assert attack_linkage(with_repeats(900, 1, 0.0), on=["sex", "city", "zip"]).findings.claimed == 0
    assert found[0].headline.startswith("Nobody is linked") or found[0].claimed


def test_small_tables_by_themselves() -> None:
    for data in (table(a=["x"]), table(a=["x", "x"]), table(a=[None, None, None]), table(a=["x", "y"], b=["1", None])):
        found = attack_linkage(data)
        assert found.findings.claimed == 0
        assert str(found)
    with raises_code(InvalidInputError, "contradictory-options"):
        attack_linkage(table(a=["x", "y"]), one_to_one=True)

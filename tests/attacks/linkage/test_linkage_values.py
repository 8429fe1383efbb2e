"""What one value says, and whether two may be of the same person."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
import pytest

from privet.attacks.linkage.axis import LinkAxis, axis
from privet.attacks.linkage.value_kinds import as_days, as_numbers, is_free, joined, plain
from privet.records.microdata import RecordColumn, column

NOTHING = (None, "", "*", "*****", "  ")


def codes(one: RecordColumn) -> dict[str | None, int]:
    return {text: code for code, text in enumerate(one.texts)}


def fits(released: list[str | None], known: list[str | None]) -> dict[tuple[str | None, str | None], bool]:
    ours, theirs = column("x", released), column("x", known)
    both = axis(ours, theirs)
    return {
        (one, other): bool(both.overlap(np.array([a]), np.array([b]))[0])
        for (one, a), (other, b) in itertools.product(codes(ours).items(), codes(theirs).items())
    }


@pytest.mark.parametrize(
    ("general", "inside", "outside"),
    [
        ("10-19", ("10", "19", "12.5", "012", "[15-25]", ">18"), ("9", "20", "<10", ">19", "[20, 30]")),
        ("[26-30]", ("26", "30", "30+"), ("25", "31", "31 or more")),
        ("[20, 30[", ("20", "29.9", "[10, 21)"), ("30", "(30, 40]", "19")),
        ("]20, 30]", ("21", "30"), ("20",)),
        ("(20; 30)", ("21",), ("20", "30")),
        ("<30", ("29", "-5", "-10--5", "<10"), ("30", ">=30", ">30")),
        ("under 30", ("29",), ("30",)),
        ("≤30", ("30", "29", "up to 3"), ("31", "over 30")),
        (">=40", ("40", "99", ">50"), ("39", "<40")),
        ("≥40", ("40",), ("39",)),
        (">40", ("41", "> 50"), ("40",)),
        ("40+", ("40", "400"), ("39",)),
        ("3*", ("30", "39", "35-50"), ("3", "29", "40", "300")),
        ("-5..5", ("0", "−5", "+5"), ("6",)),
        ("10 to 19", ("11",), ("20",)),
        ("{5, 28}", ("5", "28", "20-29"), ("6", "10-19")),
        ("007", ("7", "07", "7.0"), ("70",)),
    ],
)
def test_numbers_and_their_ranges(general: str, inside: tuple[str, ...], outside: tuple[str, ...]) -> None:
    found = fits([general], [*inside, *outside])
    assert {other for (_, other), agree in found.items() if agree} == set(inside)
    back = fits([*inside, *outside], [general])  # it makes no difference which table is general
    assert {one for (one, _), agree in back.items() if agree} == set(inside)


@pytest.mark.parametrize(
    ("general", "inside", "outside"),
    [
        ("1980", ("1980-05-17", "31.12.1980", "1980-05"), ("1979-12-31", "1981")),
        ("1980-02", ("1980-02-29", "1980"), ("1980-03-01", "1980-01-31 23:59:59")),
        ("1980-1989", ("1985-01-01", "1989-12-31"), ("1990-01-01",)),
        ("198*", ("1985-01-01", "1989-12"), ("1990-01-01", "1979")),
        ("1980-12", ("1980-12-31",), ("1981-01-01",)),
        ("1980-01-05 to 1980-02-05", ("1980-01-31", "1980-02"), ("1980-02-06",)),
        ("{1980, 1985-01-02}", ("1980-05-05", "1985-01-02"), ("1982-01-01",)),
    ],
)
def test_years_and_months_against_dates(general: str, inside: tuple[str, ...], outside: tuple[str, ...]) -> None:
    found = fits([general], [*inside, *outside])
    assert {other for (_, other), agree in found.items() if agree} == set(inside)


@pytest.mark.parametrize(
    ("general", "inside", "outside"),
    [
        ("654**", ("65418", "65400", "6****", "65***"), ("6541", "654189", "65318")),
        ("AB*", ("abc", "ABZ"), ("ab", "abcd", "bbc")),
        ("{Berlin, Bonn}", ("BERLIN", "bonn "), ("Köln", "be")),
        ("Zu\u0308rich", ("Z\u00fcrich", "ZÜRICH", " zürich  "), ("Zurich",)),
        ("12345678901234567", ("12345678901234567",), ("12345678901234568", "a")),
        ("{}", ("{}",), ("a", "b")),
    ],
)
def test_codes_and_texts(general: str, inside: tuple[str, ...], outside: tuple[str, ...]) -> None:
    found = fits([general, "some text", "other words"], [*inside, *outside, "x y", "z y"])
    assert {other for (one, other), agree in found.items() if agree and one == general} == set(inside)


def test_what_says_nothing_fits_everything() -> None:
    assert all(map(is_free, NOTHING))
    assert not is_free("3*")
    found = fits([*NOTHING, "1"], ["1", "2", None])
    assert all(agree for (one, _), agree in found.items() if one in NOTHING)
    assert found["1", None]
    assert not found["1", "2"]


def test_a_word_among_numbers_agrees_with_itself_only() -> None:
    numbers: list[str | None] = [str(number) for number in range(20)]
    found = fits(["10-19", "unknown", "[9-3]"], [*numbers, "unknown"])
    assert found["10-19", "12"]
    assert {other for (one, other), agree in found.items() if agree and one == "unknown"} == {"unknown"}
    assert not any(agree for (one, _), agree in found.items() if one == "[9-3]")  # a contradiction


def test_what_is_no_date_and_no_number() -> None:
    assert as_days("1980-13") is None
    assert as_days("1990-1980") is None
    assert as_days("1980-02-05 to 1980-01-05") is None
    assert as_days("198**") is None
    assert as_days("spring") is None
    assert as_numbers("1" * 40) is None
    assert as_numbers("12345678901234567") is None
    assert as_numbers("ab*") is None
    assert as_days("000*") is None  # there is no year 0


def test_plain_texts() -> None:
    assert plain("  Stra\u00dfe\t1 ") == "strasse 1"
    assert plain("\ufb01n") == "fin"


def test_intervals_are_joined() -> None:
    assert joined([((5, 0), (7, 0)), ((1, 0), (3, 0)), ((2, 0), (4, 0))]) == (((1, 0), (4, 0)), ((5, 0), (7, 0)))


@dataclass(frozen=True)
class Ladder:
    levels: tuple[tuple[str, ...], ...]


def test_a_hierarchy_says_what_a_label_covers() -> None:
    ladder = Ladder((("nurse", "clerk", "doctor", "judge"), ("health", "law", "health", "law"), ("*",) * 4))
    ours, theirs = column("job", ["health", "law", "*", "Judge", "odd"]), column("job", ["nurse", "clerk", "odd", "x"])
    both = axis(ours, theirs, ladder)
    places, names = codes(ours), codes(theirs)
    agree = {
        (one, other)
        for one, other in itertools.product(places, names)
        if both.overlap(np.array([places[one]]), np.array([names[other]]))[0]
    }
    expected = {("health", "nurse"), ("law", "clerk"), ("odd", "odd")} | {("*", other) for other in names}
    assert agree == expected
    assert both.texts is None


def test_a_label_that_skips_ground_values_has_pieces() -> None:
    ladder = Ladder((("a", "b", "c"), ("x", "y", "x"), ("p", "p", "q")))  # x is not inside one of p and q
    both = axis(column("v", ["x"]), column("v", ["a", "b", "c"]), ladder)
    assert both.overlap(np.zeros(3, np.int64), np.arange(3)).tolist() == [True, False, True]
    assert both.released.pieces


def slow_chance(both: LinkAxis, code: int) -> float:
    there = [place for place in range(len(both.known.low)) if not both.known.free[place]]
    people = both.known.people
    agree = sum(int(people[p]) for p in there if both.overlap(np.array([code]), np.array([p]))[0])
    total = max(sum(int(people[p]) for p in there), 1)
    records = sum(int(n) for n, free in zip(both.released.people, both.released.free, strict=True) if not free)
    pooled = (max(agree, 0.5) + int(both.released.people[code])) / (total + records)
    return min(max(max(agree, 0.5) / total, pooled), 1.0)


def test_the_chance_to_agree_counts_people() -> None:
    released = column("x", ["10-19", "20-29", "{5, 28}", "<15", "77", "*"])
    known = column("x", ["12", "12", "14", "28", "5", None, "20-24", "60"])
    both = axis(released, known)
    told = [code for code, text in enumerate(released.texts) if text != "*"]
    assert [both.chance()[code] for code in told] == [slow_chance(both, code) for code in told]
    rare = codes(released)["77"]
    assert both.chance()[rare] == 1.5 / 12  # nobody of 7, counted as half a person, and 1 of 5 records


def test_what_many_records_have_is_not_rare_because_few_known_people_have_it() -> None:
    both = axis(column("x", ["a"] * 50 + ["b"] * 50), column("x", ["a"] + ["b"] * 99))
    assert both.chance().tolist() == [51 / 200, 99 / 100]

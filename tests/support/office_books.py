"""Workbooks laid out like those of statistical offices. All people, places and numbers are invented.

Every number is a `Count` or a `Percent` of the people behind the book: who is in it stands beside the place where it is
printed, so that a draft can be compared with what was meant, cell by cell.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import openpyxl
from openpyxl.styles import Alignment

from privet.attacks.release.sheet_cells import coordinate

Person = Mapping[str, Any]
Who = Callable[[Person], bool]


def everybody(_: Person) -> bool:
    return True


@dataclass(frozen=True)
class Count:
    who: Who = everybody


@dataclass(frozen=True)
class Percent:
    who: Who
    of: Who = everybody
    digits: int = 1


@dataclass(frozen=True, kw_only=True)
class Page:
    name: str
    rows: Sequence[Sequence[object]]
    merged: Sequence[str] = ()
    indents: Mapping[str, int] = field(default_factory=dict)
    formats: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Office:
    """`values` are all that anybody can have, as the draft should name them, with one age for each band. `shown` is how
    a count is printed."""

    people: Sequence[Person]
    values: Mapping[str, Sequence[Any]]
    pages: Sequence[Page]
    shown: Callable[[int], object]

    def write(self, path: Path) -> Path:
        if path.suffix == ".csv":
            lines = [["" if cell is None else str(self.printed(cell)) for cell in row] for row in self.pages[0].rows]
            path.write_text("".join(";".join(f'"{cell}"' for cell in line) + "\n" for line in lines), encoding="utf-8")
            return path
        book = openpyxl.Workbook()
        book.remove(book.active)  # type: ignore[arg-type]
        for page in self.pages:
            sheet = book.create_sheet(page.name)
            for row in page.rows:
                sheet.append([self.printed(cell) for cell in row])
            for area in page.merged:
                sheet.merge_cells(area)
            for cell, depth in page.indents.items():
                sheet[cell].alignment = Alignment(indent=depth)
            for cell, form in page.formats.items():
                sheet[cell].number_format = form
        book.save(path)
        return path

    def printed(self, cell: object) -> object:
        if isinstance(cell, Count):
            return self.shown(sum(map(cell.who, self.people)))
        if isinstance(cell, Percent):
            group = [person for person in self.people if cell.of(person)]
            part = sum(map(cell.who, group))
            hidden = isinstance(self.shown(part), str) and part
            return self.shown(part) if hidden else round(100 * part / len(group), cell.digits)
        return cell

    def cells(self) -> Iterator[tuple[str, Count | Percent]]:
        """Where each number is printed."""
        for page in self.pages:
            for place, row in enumerate(page.rows):
                for column, cell in enumerate(row):
                    if isinstance(cell, Count | Percent):
                        yield f"{page.name} {coordinate(place, column)}", cell

    def records(self) -> list[Person]:
        names = list(self.values)
        return [dict(zip(names, row, strict=True)) for row in itertools.product(*self.values.values())]

    def possible(self, fits: Callable[[object, int], bool]) -> dict[str, tuple[int, int]]:
        """For every printed count the fewest and the most people there, over all lists of people of the same number
        for whom every cell could have been printed as it was. Tried one after the other."""
        records, number = self.records(), len(self.people)
        counts = [(place, cell.who, self.printed(cell)) for place, cell in self.cells() if isinstance(cell, Count)]
        members = [(place, [who(record) for record in records], shown) for place, who, shown in counts]
        found: dict[str, tuple[int, int]] = {}
        for people in itertools.combinations_with_replacement(range(len(records)), number):
            numbers = {place: sum(member[one] for one in people) for place, member, _ in members}
            if all(fits(shown, numbers[place]) for place, _, shown in members):
                for place, count in numbers.items():
                    low, high = found.get(place, (count, count))
                    found[place] = min(low, count), max(high, count)
        return found


def _is(**wanted: Any) -> Who:
    return lambda person: all(
        value(person[name]) if callable(value) else person[name] == value for name, value in wanted.items()
    )


def _people(names: Sequence[str], *rows: tuple[Any, ...]) -> list[Person]:
    """Each row ends with how many such people there are."""
    return [dict(zip(names, row, strict=False)) for row in rows for _ in range(row[-1])]


def _child(age: int) -> bool:
    return age < 18


def _adult(age: int) -> bool:
    return 18 <= age < 65


def _old(age: int) -> bool:
    return age >= 65


def database_office() -> Office:
    """As a statistical database exports it: a header of three rows with merged cells, a date above the rows, signs for
    nothing and for secret, explained below."""
    bands = [("under 18 years", _child), ("18 to under 65 years", _adult), ("65 years and over", _old), ("Total", bool)]
    rows = [
        [label, *(Count(_is(age=band, sex=sex)) for sex in ("male", "female")), Count(_is(age=band))]
        for label, band in bands[:3]
    ]
    total = ["Total", Count(_is(sex="male")), Count(_is(sex="female")), Count()]
    return Office(
        people=_people(
            ("age", "sex"), (5, "female", 1), (30, "male", 3), (30, "female", 1), (70, "male", 1), (70, "female", 3)
        ),
        values={"age": (5, 30, 70), "sex": ("male", "female")},
        shown=lambda number: "-" if number == 0 else "." if number < 2 else number,
        pages=[
            Page(
                name="23199-0002",
                rows=[
                    ["Table: 23199-0002"],
                    ["Patients treated for tuberculosis: age groups, sex"],
                    ["Statistics of the health office, district of Nordau"],
                    [],
                    ["Age groups", "Sex", None, "Total"],
                    [None, "male", "female", None],
                    [None, "number", "number", "number"],
                    ["31.12.2023"],
                    *rows,
                    total,
                    ["__________"],
                    ["Explanation of symbols: - = nothing; . = number unknown or confidential"],
                    ["(C) Health office of Nordau, 2024"],
                ],
                merged=["A5:A7", "B5:C5", "D5:D6"],
            )
        ],
    )


def census_office() -> Office:
    """As census tables are published: a cover, notes on a sheet of their own, codes beside names, shorthand in square
    brackets, a header over a header."""
    health, sexes = ("Good health", "Bad health"), ("Males", "Females")
    wards = [("E05000001", "Norton"), ("E05000002", "Sutton")]
    first = [
        [code, ward, Count(_is(area_name=ward)), *(Count(_is(area_name=ward, general_health=one)) for one in health)]
        for code, ward in wards
    ]
    second = [
        [
            ward,
            *(Count(_is(area_name=ward, general_health=one)) for one in health),
            *(Count(_is(area_name=ward, sex=sex, general_health=one)) for sex in sexes for one in health),
        ]
        for _, ward in wards
    ]
    return Office(
        people=_people(
            ("area_name", "sex", "general_health"),
            ("Norton", "Males", "Good health", 3),
            ("Norton", "Females", "Bad health", 1),
            ("Sutton", "Females", "Good health", 3),
        ),
        values={"area_name": ("Norton", "Sutton"), "sex": sexes, "general_health": health},
        shown=lambda number: "[c]" if 0 < number < 3 else number,
        pages=[
            Page(name="Cover", rows=[["Health in Castlebury, 2021"], ["This workbook has two tables."]]),
            Page(name="Notes", rows=[["Notes"], ["[c] = confidential: fewer than 3 people"]]),
            Page(
                name="Table 1",
                rows=[
                    ["Table 1: Usual residents by ward and general health, Castlebury"],
                    ["This worksheet contains one table."],
                    [],
                    ["Area code", "Area name", "All usual residents", "Good health", "Bad health [note 1]"],
                    *first,
                    ["E05", "Castlebury", Count(), *(Count(_is(general_health=one)) for one in health)],
                ],
            ),
            Page(
                name="Table 2",
                rows=[
                    ["Table 2: Usual residents by sex, general health and ward, Castlebury"],
                    [],
                    [None, "All persons", None, "Males", None, "Females", None],
                    ["Area name", *health, *health, *health],
                    *second,
                    [],
                    ["Source: Census"],
                ],
                merged=["B3:C3", "D3:E3", "F3:G3"],
            ),
        ],
    )


def survey_office() -> Office:
    """As labor statistics are printed: dots that lead to numbers, indented labels, numbers beside percentages, a blank
    column, footnotes, (D) for what is withheld."""

    def row(label: str, who: Who) -> list[object]:
        cells: list[object] = [label, Count(who), Percent(who)]
        for shift in ("Day shift", "Night shift"):
            cells += [None, Count(_both(who, shift)), Percent(_both(who, shift), _is(shift=shift))]
        return cells

    def _both(who: Who, shift: str) -> Who:
        return lambda person: who(person) and person["shift"] == shift

    return Office(
        people=_people(
            ("sex", "shift"), ("Men", "Day shift", 4), ("Men", "Night shift", 2), ("Women", "Day shift", 1),
            ("Women", "Night shift", 3),
        ),
        values={"sex": ("Men", "Women"), "shift": ("Day shift", "Night shift")},
        shown=lambda number: "(D)" if 0 < number < 3 else number,
        pages=[
            Page(
                name="Table A-4",
                rows=[
                    ["Table A-4. Workers at the Dunmore plant by sex and shift, 2022 (1)"],
                    [],
                    ["Characteristic", "Total", None, None, "Day shift", None, None, "Night shift", None],
                    [None, "Number", "Percent", None, "Number", "Percent", None, "Number", "Percent"],
                    row("Total.....................", everybody),
                    row("Men.....................", _is(sex="Men")),
                    row("Women (2)...............", _is(sex="Women")),
                    [],
                    ["(1) Annual average of the plant's own records."],
                    ["(2) Includes apprentices."],
                    ["(D) Withheld to avoid disclosing data of single persons; fewer than 3 workers."],
                ],
                merged=["B3:C3", "E3:F3", "H3:I3"],
                indents={"A6": 1, "A7": 1},
            )
        ],
    )  # fmt: skip


# Layouts that were written when the first three were understood, without a change of the code for the first try


def line_office() -> Office:
    """As an online database writes CSV: each header text repeated, a column for the period, bands that overlap."""
    diagnoses = ("Infection", "Injury")
    sexes, bands = ("Men", "Women"), ((lambda age: age <= 20), (lambda age: age >= 20))

    def row(label: str, **who: Any) -> list[object]:
        return [label, "2022", *(Count(_is(sex=sex, age=band, **who)) for sex in sexes for band in bands)]

    return Office(
        people=_people(
            ("diagnosis", "sex", "age", "year"), ("Infection", "Men", 5, 2022, 4), ("Infection", "Men", 30, 2022, 5),
            ("Infection", "Women", 30, 2022, 6), ("Injury", "Men", 5, 2022, 1), ("Injury", "Women", 5, 2022, 7),
        ),
        values={"diagnosis": diagnoses, "sex": sexes, "age": (5, 30), "year": (2022,)},
        shown=lambda number: "." if 0 < number < 4 else number,
        pages=[
            Page(
                name="line.csv",
                rows=[
                    ["Hospital admissions; diagnosis, sex, age"],
                    ["", "Sex", "Men", "Men", "Women", "Women"],
                    ["", "Age", *(["0 to 20 years", "20 years or older"] * 2)],
                    ["Diagnosis", "Period", *(["number"] * 4)],
                    *(row(label, diagnosis=label) for label in diagnoses),
                    row("Total diagnoses"),
                    ["Source: Bureau of numbers"],
                ],
            )
        ],
    )  # fmt: skip


def union_office() -> Office:
    """As a union of countries writes workbooks: a list of facts above the table, the names of both attributes below
    each other in the corner, a column of letters beside each column of numbers."""
    bands = (("From 15 to 24 years", lambda age: age <= 24), ("From 25 to 64 years", lambda age: age >= 25))
    people = _people(("geo", "age"), ("Eastmark", 20, 2), ("Eastmark", 40, 9), ("Westmark", 20, 5), ("Westmark", 40, 4))

    def row(label: str, **who: Any) -> list[object]:
        cells: list[object] = [label]
        for _, band in bands:
            number = sum(map(_is(age=band, **who), people))
            cells += [Count(_is(age=band, **who)), "c" if 0 < number < 3 else None]
        return [*cells, Count(_is(**who)), None]

    return Office(
        people=people,
        values={"geo": ("Eastmark", "Westmark"), "age": (20, 40)},
        shown=lambda number: ":" if 0 < number < 3 else number,
        pages=[
            Page(name="Summary", rows=[["Contents"], ["Sheet 1", "Persons employed by age class"]]),
            Page(
                name="Sheet 1",
                rows=[
                    ["Data extracted on 01/02/2024 from [EURODATA]"],
                    ["Dataset:", "Persons employed by age class and region [emp_x]"],
                    ["Last updated:", "05/01/2024 23:00"],
                    [],
                    ["Time frequency", "Annual"],
                    ["Unit of measure", "Persons"],
                    ["Time", "2022"],
                    [],
                    ["AGE (Labels)", bands[0][0], None, bands[1][0], None, "Total", None],
                    ["GEO (Labels)"],
                    row("Eastmark", geo="Eastmark"),
                    row("Westmark", geo="Westmark"),
                    row("Total"),
                    [],
                    ["Special value"],
                    [":", "not available"],
                    ["Observation flags:"],
                    ["c", "confidential"],
                ],
            ),
        ],
    )


def island_office() -> Office:
    """As a small country rounds: all counts to base 3, a section for each sex with a total of its own, labels indented
    by spaces, what the letter means and from which count on in two notes."""
    births, regions = ("Before 2000", "2000 or later"), ("Northland", "Southland")

    def row(label: str, **who: Any) -> list[object]:
        return [label, *(Count(_is(year_of_birth=one, **who)) for one in births), Count(_is(**who))]

    sections: list[list[object]] = []
    for sex in ("Males", "Females"):
        sections += [[sex], *(row(f"  {one}", region=one, sex=sex) for one in regions)]
        sections.append(row(f"  Total {sex.lower()}", sex=sex))
    return Office(
        people=_people(
            ("sex", "region", "year_of_birth"), ("Males", "Northland", "Before 2000", 12),
            ("Males", "Northland", "2000 or later", 7), ("Males", "Southland", "Before 2000", 9),
            ("Males", "Southland", "2000 or later", 2), ("Females", "Northland", "Before 2000", 14),
            ("Females", "Northland", "2000 or later", 8), ("Females", "Southland", "Before 2000", 3),
            ("Females", "Southland", "2000 or later", 11),
        ),
        values={"sex": ("Males", "Females"), "region": regions, "year_of_birth": births},
        shown=lambda number: "C" if 0 < number < 6 else 3 * ((number + 1) // 3),
        pages=[
            Page(
                name="Table 7",
                rows=[
                    ["Table 7"],
                    ["Beneficiaries by sex, region and year of birth"],
                    ["At 30 June 2023"],
                    [],
                    ["Region", "Year of birth", None, "Total"],
                    [None, *births, None],
                    *sections,
                    row("Total people"),
                    [],
                    ["All counts were randomly rounded to base 3, and those under 6 suppressed for confidentiality."],
                    ["Symbol: C confidential"],
                ],
                merged=["B5:C5", "D5:D6", "A5:A6"],
            )
        ],
    )  # fmt: skip

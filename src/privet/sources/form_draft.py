"""What a draft says of how texts are written: for all columns where it can, for single ones where they differ."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from privet.catalog.declarations import Source
from privet.catalog.writing import Writing
from privet.core.rational import show
from privet.core.schema import Integer, Kind, Number
from privet.sources.candidates import Candidate
from privet.sources.number_draft import about, percent
from privet.sources.profile import ColumnFacts

PLAIN_DATE = "%Y-%m-%d"
MUCH = 3  # times the width of what occurs
SHARES = (0.001, 0.01, 0.02, 0.05, 0.1)
Known = Mapping[str, ColumnFacts]


def settled(known: Known, source: Source) -> dict[str, ColumnFacts]:
    """Where 03/04 could be of March or of April: as it is given, or as in a column where it is sure."""
    forms = [fact.form for fact in known.values() if fact.form]
    sure = {_day_first(form.writing.date_format) for form in forms if form.rival is None} - {None}
    sure |= {_day_first(source.date_format)} - {None}
    result = dict(known)
    for name, fact in known.items():
        rival = fact.form.rival if fact.form else None
        if fact.form and rival and sure == {_day_first(rival.date_format)}:
            result[name] = replace(fact, form=replace(fact.form, writing=rival, rival=fact.form.writing))
    return result


def _day_first(date_format: str | None) -> bool | None:
    """Whether the day is before the month; None if it cannot be taken for the month."""
    if date_format is None or "%m" not in date_format or date_format.startswith("%Y"):
        return None
    return date_format.index("%d") < date_format.index("%m")


def reading_of(source: Source, known: Known) -> Source:
    """The options for all columns: codes for "missing", the form of dates, the decimal mark. Given ones win."""
    codes = dict.fromkeys([*source.missing, *(code for fact in known.values() for code in fact.codes)])
    source = replace(source, missing=tuple(codes))
    forms = [fact.form for fact in known.values() if fact.form]
    days = [form for form in forms if not (form.number or form.time)]
    formats = {form.writing.date_format for form in days} | {
        PLAIN_DATE for fact in known.values() if "date" in fact.fits
    }
    if source.date_format is None and len(formats) == 1 and days and not any(form.unread for form in days):
        source = replace(source, date_format=formats.pop())
    numbers = [form.writing for form in forms if form.number and not form.whole]
    point = any("number" in fact.fits and "fraction" in fact.some and not fact.form for fact in known.values())
    comma = [one for one in numbers if one.decimal == "," and one.thousands in ("", ".")]
    alike = bool(comma) and len(comma) == len(numbers) and not any(form.misread for form in forms)
    if alike and not point and (source.decimal, source.thousands) == (".", ""):
        source = replace(source, decimal=",", thousands=".")
    return source


def writings(source: Source, known: Known) -> dict[str, Writing]:
    """What single columns say besides."""
    found = {}
    for name, fact in known.items():
        if fact.form is None:
            iso = "date" in fact.fits and source.date_format is not None
            found[name] = Writing(date_format=PLAIN_DATE) if iso else Writing()
        elif fact.form.number:
            found[name] = fact.form.writing if fact.form.misread else beside(fact.form.writing, source)
        elif fact.form.time or fact.form.writing.date_format != source.date_format:
            found[name] = fact.form.writing
    return {name: writing for name, writing in found.items() if writing.given}


def beside(writing: Writing, source: Source) -> Writing:
    """How a column of numbers is written, without what holds for all columns."""
    same = writing.decimal == source.decimal and writing.thousands in ("", source.thousands)
    return replace(writing, decimal=None, thousands=None) if same else writing


def notes_of(fact: ColumnFacts, kind: Kind) -> list[str]:
    """How the texts of a column are read, where they could be read in another way; which count as missing; and how many
    values cannot be read or lie outside."""
    if fact.several:
        return [
            f"its dates have several forms ({', '.join(fact.several)}): write them all in one form to ask about them"
            " as dates"
        ]
    notes = [] if fact.form is None else _of_numbers(fact.form) if fact.form.number else _of_moments(fact.form)
    if fact.own_codes:
        notes.append(f'{", ".join(fact.own_codes)} counts as missing: if it is a real value, remove it from "missing"')
    if fact.form is None and "number" in fact.fits and fact.odd and len(fact.own_codes) == len(_coded(fact)):
        notes.append("one text that is not a number counts as missing")
    elif fact.form is not None and fact.form.unread and not fact.own_codes:
        most = next(share for share in SHARES if fact.form.unread <= share)
        notes.append(f"less than {most:.1%} of the values cannot be read and count as missing".replace(".0%", "%"))
    return notes + _outside(fact, kind)


def _coded(fact: ColumnFacts) -> tuple[int, ...]:
    return () if fact.numbers is None else fact.numbers.codes


def _outside(fact: ColumnFacts, kind: Kind) -> list[str]:
    """What a narrower range leaves out, and which one would not."""
    if fact.numbers is None or not isinstance(kind, Integer | Number):
        return []
    wide = fact.numbers.ranges[0]
    used = next((one for one in fact.numbers.ranges if (one.low, one.high) == (kind.low, kind.high)), None)
    if used is None and kind.high - kind.low > MUCH * wide.width:  # as of ages of children
        times = about(float((kind.high - kind.low) / wide.width))
        return [
            f"all values in this file are from {show(wide.low)} to {show(wide.high)}; if anybody may know that, declare"
            f" it: answers then need {times} times less noise"
        ]
    if used is None or not used.outside:
        return []
    times = about(float(wide.width / used.width))
    return [
        f"{percent(used.outside)} of the values lie outside and count as {show(kind.low)} or {show(kind.high)};"
        f" low = {show(wide.low)}, high = {show(wide.high)} would keep them all, with {times} times the noise"
    ]


def _of_moments(form: Candidate) -> list[str]:
    notes, written = [], form.writing
    if written.offset is not None:
        notes.append('times with an offset become UTC: 14:00+02:00 is 12:00 (offset = "ignore" keeps 14:00)')
    if form.rival is not None and form.rival.date_format:
        notes.append(f'day and month could be the other way round: then write date_format = "{form.rival.date_format}"')
    if written.date_format and "%y" in written.date_format:
        notes.append("years 69 to 99 are 1969 to 1999, 00 to 68 are 2000 to 2068")
    return notes


def _of_numbers(form: Candidate) -> list[str]:
    notes = []
    for mark in form.writing.marks:
        notes.append('"45 %" is read as 45' if mark == "%" else f"{show(mark)} beside a number is ignored")
    if len(form.writing.marks) > 1:
        notes.append("numbers with different marks are taken as they are: nothing is converted")
    if form.rival is not None:
        said = "1,234" if form.writing.thousands == "," or form.rival.thousands == "," else "1.234"
        one, other = ("1234", "1.234") if form.writing.thousands else ("1.234", "1234")
        how = f'decimal = "{form.rival.decimal}", thousands = "{form.rival.thousands}"'
        notes.append(f"{said} is read as {one}; if it is {other}, write {how}")
    return notes

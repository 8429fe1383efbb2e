"""The attributes of a draft: labels of several tables that divide people in the same way, and what each label means."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from privet.attacks.drafts.divisions import REST, Dim
from privet.attacks.drafts.layout import ALIKE
from privet.attacks.drafts.readings import TableDraft
from privet.attacks.drafts.vocabulary import (
    AGE_WORDS,
    FEMALE,
    MALE,
    SEX_NAMES,
    VAGUE,
    Band,
    band_of,
    is_total,
    known_total,
    measure_of,
    sort_of,
)
from privet.attacks.release.published import WORDS, Reader
from privet.attacks.release.sheet_labels import folded
from privet.errors import InvalidInputError

OLDEST = 115
WIDEST = 1000  # values of a numeric attribute that a draft proposes
BY = re.compile(r"\bby\s+(.+?)(?:\s*[;:(,]\s*(?:in\s)?\d{4}.*|\s+in\s.*|[;:(].*|\.$|$)", re.IGNORECASE)
SPLIT = re.compile(r"\s*(?:,\s*and\s|,|\band\b|/|×|\bx\b|\bby\b)\s*")


@dataclass(slots=True)
class Attribute:
    """`kind`: "text", "band" (whole numbers) or "year". Of texts: single values, and labels that stand for several."""

    name: str
    kind: str
    values: dict[str, None] = field(default_factory=dict)
    unions: dict[str, list[str]] = field(default_factory=dict)
    bands: list[Band] = field(default_factory=list)

    def declared(self) -> Any:
        """As a release file says it."""
        if self.kind == "year":
            return sorted({int(value) for value in self.values})
        if self.kind == "band":
            return {"min": self.least, "max": self.most}
        return list(self.values)

    @property
    def least(self) -> int:
        return (
            min((band.low for band in self.bands if band.low is not None), default=0)
            if all(band.low is not None for band in self.bands)
            else min(0, *(band.high or 0 for band in self.bands), 0)
        )

    @property
    def most(self) -> int:
        ends = [band.high if band.high is not None else band.low or 0 for band in self.bands]
        if all(band.high is not None for band in self.bands):
            return max(ends)
        return max(OLDEST, *ends) if self.name == "age" else max(ends) + 1

    @property
    def open_end(self) -> bool:
        return any(band.high is None for band in self.bands)

    def meaning(self, label: str) -> Any:
        """Of a label as [labels] says it: a value, a list of values, or a condition."""
        if self.kind == "band":
            return self.condition(label)
        if self.kind == "year":
            return int(label)
        found = self._leaves(label)
        return found[0] if len(found) == 1 else found

    def condition(self, label: str) -> str:
        """In SQL."""
        if self.kind == "band":
            band = band_of(label) or Band(None, None)
            if band.low is not None and band.low == band.high:
                return f"{self.name} = {band.low}"
            if band.low is not None and band.high is not None:
                return f"{self.name} BETWEEN {band.low} AND {band.high}"
            return f"{self.name} >= {band.low}" if band.low is not None else f"{self.name} <= {band.high}"
        if self.kind == "year":
            return f"{self.name} = {int(label)}"
        texts = ["'" + leaf.replace("'", "''") + "'" for leaf in self._leaves(label)]
        return f"{self.name} = {texts[0]}" if len(texts) == 1 else f"{self.name} IN ({', '.join(texts)})"

    def _leaves(self, label: str) -> list[str]:
        if label in self.unions or label in self.values:
            return self.unions.get(label, [label])
        key = folded(label)
        same = [value for value in (*self.unions, *self.values) if folded(value) == key]
        if not same:
            same = [
                value for value in self.values for words in (MALE, FEMALE) if key in words and folded(value) in words
            ]
        return self.unions.get(same[0], [same[0]]) if same else [label]


class Attributes:
    """All attributes of a draft. Each division of people gets the name of one."""

    def __init__(self, tables: Sequence[TableDraft]) -> None:
        self.known: dict[str, Attribute] = {}
        self.asks: list[str] = []
        self._dims: dict[str, list[tuple[Dim, str]]] = {}
        dims = [(dim, table) for table in tables for dim in table.dims]
        for dim, table in sorted(dims, key=lambda pair: not (pair[0].names or sort_of(list(pair[0].labels)))):
            if dim.labels:
                self._dims.setdefault(self._name(dim, table), []).append((dim, table.place))
        for name, same in self._dims.items():
            self._add(name, same)
        for dim, table in dims:
            if not dim.labels:  # totals only
                dim.attribute = next(
                    (other.attribute for other in table.dims if other.attribute), next(iter(self.known), "")
                )

    # Names

    def _name(self, dim: Dim, table: TableDraft) -> str:
        """By what the labels are; by the header or the title; by labels that another table has, too."""
        labels = [label for label in dim.labels if not label.endswith(REST)]
        sort, named = (
            sort_of(labels),
            [
                name
                for name in dim.names
                if measure_of(name) in ("", "count") and not is_total(name) and folded(name) not in VAGUE
            ],
        )
        said = folded(named[-1]) if named else ""
        if sort == "sex" or any(folded(name) in SEX_NAMES for name in named):
            return "sex"
        ages = [label for label in labels if AGE_WORDS.search(folded(label))]
        if sort == "year":
            return "year"
        if (
            re.search(r"\bage|\balter", said)
            or (sort == "band" and (ages or not named))
            or (len(ages) * 2 > len(labels) > 0 and any(map(band_of, labels)))
        ):
            return "age"
        if named and len(named[-1]) <= 40 and (identifier(named[-1]) != ""):
            return self._alone(identifier(named[-1]), labels, table)
        for name, others in self._dims.items():
            known = {folded(label) for other, _ in others for label in (*other.labels, *other.unions)}
            if len(known & {folded(label) for label in labels}) > ALIKE * len(labels):
                return name
        name = self._by_title(table, labels)
        if not name:
            name = f"group{sum(other.startswith('group') for other in self._dims) + 1}"
            shown = ", ".join(repr(label) for label in labels[:3])
            self.asks.append(f"{table.place}: does everybody have exactly one of {shown}? The draft calls it {name}")
        return self._alone(name, labels, table)

    def _by_title(self, table: TableDraft, labels: Sequence[str]) -> str:
        """Population by sex and marital status: words that the labels have, too, or what is left of these words."""
        for text in table.block.title:
            found = BY.search(text)
            words = [identifier(word) for word in SPLIT.split(found[1])] if found else []
            free = [
                word
                for word in words
                if word
                and not measure_of(word.replace("_", " "))
                and len(word) <= 40
                and word not in (*self._dims, *VAGUE, "sex", "gender", "year")
                and "age" not in word.split("_")
            ]
            inside = {part for label in labels for part in identifier(label).split("_") if len(part) > 3}
            near = [word for word in free if inside & set(word.split("_"))]
            if len(near) == 1 or len(free) == 1:
                return (near if len(near) == 1 else free)[0]
        return ""

    def _alone(self, name: str, labels: Sequence[str], table: TableDraft) -> str:
        """The name, or another one if a table uses it for quite other labels."""
        others = self._dims.get(name, [])
        known = {folded(label) for other, _ in others for label in (*other.labels, *other.unions)}
        if not others or known & {folded(label) for label in labels}:
            return name
        shown = ", ".join(map(repr, labels[:3]))
        self.asks.append(f"{table.place}: how do the labels {shown} relate to those of {name} above?")
        return f"{name}_{sum(other.startswith(name) for other in self._dims) + 1}"

    # Values

    def _add(self, name: str, same: Sequence[tuple[Dim, str]]) -> None:
        labels = [label for dim, _ in same for label in dim.labels]
        sort = "year" if name == "year" and all(label.isdecimal() for label in labels) else "text"
        bands = [band for label in labels if (band := band_of(label)) is not None]
        if name != "sex" and sort == "text" and len(bands) == len(labels) and not any(dim.rest for dim, _ in same):
            sort = "band"
        attribute = Attribute(_plain(name), sort, bands=bands if sort == "band" else [])
        if sort == "band" and attribute.most - attribute.least > WIDEST:
            attribute.kind = sort = "text"
        if sort == "text" and len(_overlapping(bands)) > 0:
            self.asks.append(
                f"{name}: the labels {_overlapping(bands)[0]} overlap; say how in [labels.{attribute.name}]"
            )
        for dim, place in same if sort == "band" else ():
            pairs = _overlapping(band for label in dim.labels if (band := band_of(label)) is not None)
            if pairs:
                what = f"the labels {pairs[0]} overlap; who counts in both?"
                self.asks.append(f"{place}: {what} Say in [labels.{attribute.name}] what they mean")
        if sort == "band" and attribute.open_end and attribute.name != "age":
            self.asks.append(
                f"{name}: what is the highest value that anybody can have? The draft says {attribute.most}"
            )
        self.known[attribute.name] = attribute
        for dim, _ in sorted(same, key=lambda pair: not pair[0].unions):
            dim.attribute = attribute.name
            if sort != "band":
                self._values(attribute, dim)
        if sort == "text":
            self._rest(attribute, same)
            self._compare(attribute, same)

    def _values(self, attribute: Attribute, dim: Dim) -> None:
        for label, leaves in dim.unions.items():
            attribute.unions.setdefault(label, list(leaves))
        known = {folded(value) for value in (*attribute.values, *attribute.unions)}
        for label in dim.labels:
            spelled = [
                value
                for value in attribute.values
                for words in (MALE, FEMALE)
                if attribute.name == "sex" and {folded(label), folded(value)} <= words
            ]
            if folded(label) not in known and not spelled:
                attribute.values[label] = None
                known.add(folded(label))

    def _rest(self, attribute: Attribute, same: Sequence[tuple[Dim, str]]) -> None:
        """People of whom no label speaks: where all known labels do not add up to the total."""
        full = [
            (dim, place) for dim, place in same if len({folded(label) for label in dim.labels}) >= len(attribute.values)
        ]
        for dim, place in full or same:
            if dim.rest:
                shown = ", ".join(map(repr, list(dim.labels)[:3]))
                self.asks.append(
                    f"{place}: {shown}, ... do not add up to the total; who is missing? The draft calls them {REST!r}"
                )
                attribute.values[REST] = None
                return

    def _compare(self, attribute: Attribute, same: Sequence[tuple[Dim, str]]) -> None:
        """Tables that list other values than the first."""

        def leaves(dim: Dim) -> set[str]:
            return {leaf for label in dim.labels for leaf in attribute._leaves(label)} - {REST}

        first = leaves(same[0][0]) if len(same) > 1 else set()
        for dim, place in same[1:]:
            other = leaves(dim)
            if other != first and not (dim.rest and other < first):
                shown = ", ".join(repr(label) for label in sorted(first ^ other)[:3])
                self.asks.append(
                    f"{attribute.name}: is it right that {same[0][1]}, and {place}, do not list the same values? Only"
                    f" one of them has {shown}"
                )
                return


def identifier(text: str) -> str:
    """A name for an attribute that conditions can use."""
    name = re.sub(r"\W+", "_", folded(re.sub(r"\(.*?\)", "", text))).strip("_")
    return name if name[:1].isalpha() else ""


def _plain(name: str) -> str:
    """Not a word of SQL, or of release files."""
    try:
        Reader({name: ("x", "y")}).conditions.read(f"{name} = 'x'")
    except InvalidInputError:
        return f"{name}_"
    return f"{name}_" if name in WORDS else name


def _overlapping(bands: Iterable[Band]) -> list[str]:
    different = list(dict.fromkeys(bands))
    ends = [
        (band.low if band.low is not None else -(10**9), band.high if band.high is not None else 10**9, band)
        for band in different
    ]
    return [
        f"{one[2].text()} and {two[2].text()}"
        for place, one in enumerate(ends)
        for two in ends[place + 1 :]
        if one[0] <= two[1] and two[0] <= one[1]
    ]


def total_words(labels: Iterable[str], name: str) -> list[str]:
    """Those that release files do not take as totals by themselves."""
    return [label for label in labels if not known_total(label, name)]


PEOPLE_AGED = re.compile(
    r"\baged?\s+((?:\d+\s*(?:-|–|to)\s*\d+)|(?:\d+\s*(?:\+|(?:years\s+)?(?:and|or)\s+(?:over|above|older)))|(?:under|over)\s+\d+)",
    re.IGNORECASE,
)


def band_in(title: str) -> Band | None:
    """Of whom a title speaks: "persons aged 16 and over"."""
    found = PEOPLE_AGED.search(title)
    return band_of(found[1]) if found else None

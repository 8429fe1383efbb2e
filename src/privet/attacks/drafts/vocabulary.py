"""Words of published tables: marks in cells, notes that explain them, measures, units, totals, and kinds of label."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import pairwise

from privet.attacks.release.sheet_cells import Cell, number_of
from privet.attacks.release.sheet_labels import BANDS, DASHES, TOTALS, UNITS, folded
from privet.attacks.release.unread import FLAG
from privet.core.expression import Relation

# Marks

SIGNS = re.compile(r"[*.\u00b7\u2026:/~†‡-]{1,3}|[\u2010-\u2015\u2212]{1,2}|\[[a-z]+\]|\([A-Z]{1,2}\)|[<≤]\s?\d+")
LETTERS = frozenset((
    "c", "x", "s", "d", "z", "np", "nd", "na", "n/a", "n.a.", "n.p.", "n.d.", "k.a.", "..c", "conf.", "confidential",
    "suppressed",
))  # fmt: skip
CODE = re.compile(r"code|schl.ssel|(?<![a-z])(ids?|nr|no|key|ags|nuts|iso)(?![a-z])", re.IGNORECASE)  # in a header
BELOW = re.compile(r"([<≤])\s?(\d+)")
LONGEST_MARK = 16
FEWER = re.compile(r"(?:less|fewer|smaller|lower) than (\d+)|(?:below|under) (\d+)|<\s?(\d+)")
UP_TO = re.compile(r"(\d+) or (?:less|fewer)|(?:at most|up to) (\d+)|≤\s?(\d+)")
FROM_TO = re.compile(r"(?:from |between |of )?(\d+) ?(?:-|to|and) ?(\d+)\b")
SECOND = re.compile(
    r"complementar|secondar|consequential|other (?:cells|values|counts|figures|numbers)|subtract"
    r"|cannot be (?:computed|derived)"
)
HIDDEN = re.compile(
    r"confidential|suppress|withheld|for publication|disclos|secre|not (?:published|shown|released)|hidden|protect"
    r"|too (?:few|small)|geheim|privacy"
)
ZERO = re.compile(
    r"\b(?:nil|zero|nothing|none|null)\b|no (?:people|persons|cases|patients|records)|nichts vorhanden|genau null"
)
ROUGHLY = re.compile(r"rounds? to zero|rounded to zero|less than half|or rounded")
LEGEND = re.compile(
    r"[\"'\u201c\u2018`]?(?P<mark>[^\s\"'\u201c\u201d\u2019]{1,12})[\"'\u201d\u2019`]?\s*"
    r"(?:=|:|\u2013|\u2014|-(?=\s)|\b(?:means|denotes|indicates|stands for|shows|marks|represents|is used)\b)"
    r"\s*(?P<words>.+)"
)  # fmt: skip
MEANS = r"\s*(?:=|:|\u2013|\u2014|-(?=\s)|\b(?:means|denotes|indicates|stands for)\b)"
PREFIX = re.compile(r"^[A-Za-z ]{1,40}:\s*(?=\S{1,12}\s*(?:=|:|means|denotes|indicates))")
LISTED = re.compile(r"^(?:notes?|symbols?|key|legend|flags?|signs?)\s*:\s*", re.IGNORECASE)
NEXT = re.compile(rf"[;,.]\s+(?=[\"'\u201c(\[]?\S{{1,12}}{MEANS})|\s{{3,}}")
REPLACED = re.compile(
    r"(?:replaced|shown|indicated|marked|denoted|displayed|represented|suppressed|given|hidden) (?:by|as|with|using) "
    r"[\"'\u201c\u2018(]?(?P<mark>[^\s\"'\u201d\u2019,;]{1,10}?)[\"'\u201d\u2019)]?[.,;]?(?:\s|$)"
)


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a mark says: `zero`, or a count from `least` to below `below`; `kind` as in suppressed = ...; `sure` is
    False if nobody has said so."""

    zero: bool = False
    below: int | None = None
    least: int | None = None
    kind: str = ""
    sure: bool = False


def legend_marks(texts: Iterable[str]) -> frozenset[str]:
    """Letters that notes explain as marks."""
    found = [
        match["mark"]
        for text in texts
        for part in NEXT.split(PREFIX.sub("", text))
        if (match := LEGEND.fullmatch(part.strip()))
    ]
    return frozenset(folded(mark) for mark in found if folded(mark) in LETTERS)


def is_number(cell: Cell) -> bool:
    """Also with a percent sign, a footnote or a letter behind it."""
    return isinstance(cell, Decimal) or any(number_of(unflagged(cell), point) is not None for point in ".,")


def unflagged(cell: str) -> str:
    text = re.sub(r"^(?:±|\+/-)\s?|(?<=\d)\s?[a-z]$", "", cell)
    return text if BELOW.fullmatch(cell) else FLAG.sub("", text).strip()


def may_hide(cell: Cell) -> bool:
    """Whether a text is a mark wherever it stands among numbers."""
    return isinstance(cell, str) and (SIGNS.fullmatch(cell) is not None or folded(cell) in LETTERS)


def meaning_of(mark: str, notes: Sequence[str]) -> Meaning:
    """What the notes say of a mark; otherwise what it says itself."""
    bound = BELOW.fullmatch(mark)
    if bound is not None:
        return Meaning(below=int(bound[2]) + (bound[1] == "≤"), kind="primary", sure=True)
    for note in notes:
        for words in _explained(note, mark):
            found = _meant(words.casefold())
            if found is not None:
                return _with_rule(found, notes)
    return Meaning()


def _with_rule(meaning: Meaning, notes: Sequence[str]) -> Meaning:
    """A mark for what is confidential hides what the rule says, if one note has a rule."""
    if meaning.zero or meaning.below is not None or meaning.kind != "primary":
        return meaning
    rules = {
        found for note in notes if HIDDEN.search(note.casefold()) and (found := _meant(note.casefold())) is not None
    }
    bounded = [rule for rule in rules if rule.below is not None and rule.kind == "primary"]
    return bounded[0] if len(bounded) == 1 else meaning


def _explained(note: str, mark: str) -> Iterator[str]:
    """The words that a note has about a mark. It may explain several."""
    named = LISTED.sub("", note)
    if named.startswith(f"{mark} ") and not re.match(MEANS, named[len(mark) :]):
        yield named[len(mark) :]
    text = PREFIX.sub("", note)
    starts = [0, *(found.end() for found in NEXT.finditer(text)), len(text)]
    for start, end in pairwise(starts):
        part = text[start:end].strip().rstrip(" ;,.")
        legend = LEGEND.fullmatch(part)
        if legend is not None and legend["mark"] == mark:
            yield legend["words"]
    for sentence in re.split(r"(?<=[.;])\s+", note):
        if any(replaced["mark"] == mark for replaced in REPLACED.finditer(sentence)):
            yield sentence


def _meant(words: str) -> Meaning | None:
    words = DASHES.sub("-", words)
    if ROUGHLY.search(words):
        return None
    zero = ZERO.search(words) is not None
    fewer, up_to, band = FEWER.search(words), UP_TO.search(words), FROM_TO.search(words)
    second = SECOND.search(words) is not None
    if zero and not (fewer or up_to or band or HIDDEN.search(words)):
        return Meaning(zero=True, sure=True)
    if second and not (fewer or up_to or band):
        return Meaning(kind="complementary", sure=True)
    kind = "" if second else "primary"  # one mark for both: nothing is said about why, and it may be any number
    if second:
        return Meaning(sure=True)
    if band is not None and int(band[1]) < int(band[2]):
        return Meaning(least=int(band[1]), below=int(band[2]) + 1, kind=kind, sure=True)
    if fewer is not None:
        return Meaning(below=int(next(filter(None, fewer.groups()))), kind=kind, sure=True)
    if up_to is not None:
        return Meaning(below=int(next(filter(None, up_to.groups()))) + 1, kind=kind, sure=True)
    return Meaning(kind="primary") if HIDDEN.search(words) else None


# Notes about all numbers

ROUNDED = re.compile(
    r"round\w*[^.;]*?\b(?:to|base|of)\s(?:the (?:nearest|next) |a |base |multiples? of |nearest )*(\d[\d,]*)"
)
PERTURBED = re.compile(
    r"perturb|randomly adjusted|random adjustment|noise|swapp(?:ed|ing)|small random|differential privacy"
)
UNITS_OF = (
    (re.compile(r"\bin millions\b|\(millions?\)|\bmillions of\b"), 1_000_000),
    (re.compile(r"\bthousands?\b|['\u2019]000s?\b|\bin 1[ ,.]?000\b|\btsd\b|\(1[ ,.]000\)"), 1000),
)


def rounding_of(notes: Iterable[str]) -> tuple[int, str] | None:
    """The base that notes speak of, and how: "rounded", "random_rounded", or "" if they do not say."""
    for note in map(str.casefold, notes):
        found = ROUNDED.search(note)
        if found is not None:
            how = (
                "random_rounded" if "random" in note or "controlled" in note else "rounded" if "nearest" in note else ""
            )
            return int(found[1].replace(",", "")), how
    return None


def times_of(texts: Iterable[str]) -> int:
    return next((times for text in texts for pattern, times in UNITS_OF if pattern.search(text.casefold())), 1)


def is_perturbed(notes: Iterable[str]) -> bool:
    return any(PERTURBED.search(note.casefold()) and not ROUNDED.search(note.casefold()) for note in notes)


# Measures

COUNTS = re.compile(
    r"(?:the )?(?:number|no\.?|n|counts?|persons?|people|freq(?:uency|\.)?|anzahl|nombre|cases|estimate)(?: of .*)?"
)
PERCENT = re.compile(r"^%|^(?:per ?cent(?:age)?|share|proportion)\b|\(?%\)?$|\bper ?cent(?:age)?\b|\bin %")
STATISTICS = re.compile(
    r"(?:(?P<mean>mean|average|avg)|(?P<median>median)|(?P<min>minimum|youngest)|(?P<max>maximum|oldest))\b\.?(?: of)?"
    r"\s*(?P<of>.*)"
)
OTHER = re.compile(
    r"\b(?:rate|ratio|index|change|growth|error|margin|moe|interval|cv|density|per [\d,]+|standard|difference)\b"
)


def measure_of(text: str) -> str:
    """ "count", "percent", "mean age", "other" for a number that is none of people; "" if it is no measure."""
    words = " ".join(
        re.sub(r"\((?:['\u2019]000|thousands?|in thousands|number|no\.?|years)\)", "", folded(text)).split()
    )
    found = STATISTICS.fullmatch(words)
    if found is not None:
        word = next(name for name in ("mean", "median", "min", "max") if found[name])
        return f"{word} {found['of'] or 'age'}"
    if OTHER.search(words):
        return "other"
    if PERCENT.search(words):
        return "percent"
    return "count" if COUNTS.fullmatch(words) else ""


def without_percent(text: str) -> str:
    """The category in "% women" or "Women (%)"; nothing if it is everybody."""
    words = re.sub(r"\(?%\)?|\bper ?cent(?:age)?\b|\bshare of\b|\bin %", " ", text, flags=re.IGNORECASE)
    rest = re.sub(r"^of\s+", "", " ".join(words.split()).strip(" ,:-"))
    return "" if is_total(rest) else rest


# Labels

MALE = frozenset(
    ["m", "male", "males", "man", "men", "boy", "boys", "mann", "männer", "männlich", "hommes", "masculin"]
)
FEMALE = frozenset(
    [
        "f",
        "w",
        "female",
        "females",
        "woman",
        "women",
        "girl",
        "girls",
        "frau",
        "frauen",
        "weiblich",
        "femmes",
        "féminin",
    ]
)
VAGUE = frozenset(("characteristic", "characteristics", "item", "category", "variable", "group", "label", "subject"))
SEX_NAMES = frozenset(("sex", "gender", "geschlecht", "sexe"))
MORE_TOTALS = frozenset((
    "insgesamt", "gesamt", "zusammen", "ensemble", "grand total", "sum", "overall", "all categories", "all residents",
    "all usual residents", "total population", "total persons", "total people", "population", "all groups",
))  # fmt: skip
FOOTNOTE = re.compile(
    r"(?:\s*(?:\([a-z0-9]{1,2}\)|\[(?:note )?[a-z0-9]{1,3}\]|[\u00b9\u00b2\u00b3\u2070-\u2079]+|\*+|†|(?<=\s)\d\)))+$"
)
YEAR = re.compile(r"(?:19|20)\d\d")
AGE_WORDS = re.compile(r"\b(?:aged?|ages|years?|yrs?|old|alter|under|over|younger|older)\b")


def plain_label(text: str) -> str:
    """Without footnotes, dots that lead to the number, and a colon at the end."""
    return FOOTNOTE.sub("", re.sub(r"(?:\s*(?:\.\s?){2,}|:)\s*$", "", text)).strip()


def is_total(label: str) -> bool:
    text = folded(label)
    return text in TOTALS or text in MORE_TOTALS or re.match(r"(?:all|total|both)\b(?!.*\d)", text) is not None


def known_total(label: str, name: str) -> bool:
    """Whether the reader of release files takes it as a total without being told."""
    return folded(label) in TOTALS or folded(label) in (f"all {folded(name)}", f"all {folded(name)}s")


@dataclass(frozen=True, slots=True)
class Band:
    """Whole numbers from low to high, both included. None: no end."""

    low: int | None
    high: int | None

    def text(self) -> str:
        if self.low is not None and self.low == self.high:
            return str(self.low)
        if self.low is None:
            return f"under {(self.high or 0) + 1}"
        return f"{self.low}+" if self.high is None else f"{self.low}-{self.high}"


def band_of(label: str) -> Band | None:
    """ "18-24", "65 and over": as release files read them."""
    text = " ".join(UNITS.sub(" ", DASHES.sub("-", folded(label))).split())
    for pattern, relations in BANDS:
        found = pattern.fullmatch(text)
        if found is None:
            continue
        numbers = [number_of(digits, ".") for digits in found.groups() if digits is not None]
        if any(number is None or number != int(number) for number in numbers):
            return None
        band = Band(None, None)
        for relation, number in zip(relations, map(int, filter(lambda one: one is not None, numbers)), strict=True):  # type: ignore[arg-type]
            band = _narrowed(band, relation, number)
        return band if band.low is None or band.high is None or band.low <= band.high else None
    return None


def _narrowed(band: Band, relation: Relation, number: int) -> Band:
    match relation:
        case Relation.EQUAL:
            return Band(number, number)
        case Relation.GREATER_EQUAL:
            return replace(band, low=number)
        case Relation.GREATER:
            return replace(band, low=number + 1)
        case Relation.LESS_EQUAL:
            return replace(band, high=number)
        case _:
            return replace(band, high=number - 1)


def sort_of(labels: Sequence[str]) -> str:
    """ "sex", "year" or "band" if the labels tell; otherwise ""."""
    words = {folded(label) for label in labels}
    if words and (words <= MALE | FEMALE or (words & MALE and words & FEMALE and len(words - MALE - FEMALE) <= 2)):
        return "sex"
    if words and all(YEAR.fullmatch(word) for word in words):
        return "year"
    return "band" if labels and all(band_of(label) is not None for label in labels) else ""

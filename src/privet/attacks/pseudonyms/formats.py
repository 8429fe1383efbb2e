"""What ids look like, in a small language, and all ids that look like this, by number.

    9A99            a digit, a capital letter, two digits: 26,000 ids
    [5-9]9{4}       a digit from 5 to 9, four digits
    AA-9999|9999    either of the two
    taxi-medallion  a format with a name, see NAMED
    date            days from 1900 to 2029 as 1984-07-31; also date:DD.MM.YYYY, or date:YYYYMMDD:1950-1999
    @emails.txt     a line a candidate

9 is a digit, A or X a capital letter, a a small one, h a hexadecimal digit; [...] is one of some letters; {4} repeats;
what follows a backslash, and everything else, stands for itself.
"""

from __future__ import annotations

import calendar
import re
import string
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path

from privet.core.rational import show
from privet.errors import InvalidInputError

Slot = tuple[bytes, ...]  # what can stand at one place
CLASSES = {
    "9": string.digits, "A": string.ascii_uppercase, "X": string.ascii_uppercase, "a": string.ascii_lowercase,
    "h": "0123456789abcdef",
}  # fmt: skip
NAMED = {
    "taxi-medallion": "9A99|AA999|AAA999",  # New York's, 18,278,000 of them
    "taxi-license": "599999|5999999",
    "ssn": "[0-8]99-99-9999|[0-8]99999999",
    "us-phone": "[2-9]99[2-9]9{6}|[2-9]99-[2-9]99-9999",
}
DAYS = (1900, 2029)  # years, first and last
ORDERS = ("YYYY-MM-DD", "YYYYMMDD", "DD.MM.YYYY", "MM/DD/YYYY", "DDMMYYYY", "MMDDYYYY")
# What is tried where nothing is declared, the likeliest and smallest first: numbers, dates, letters before numbers.
LADDER = (
    *("9" * digits for digits in range(1, 8)), "date", *(f"date:{order}" for order in ORDERS[1:]),
    "A9999", "A99999", "AA9999", "taxi-medallion", "99999999", "A9{6}", "AA99999", "999-99-999", "9{9}", "A9{7}",
    "AA9{6}", "ssn", "us-phone",
)  # fmt: skip
TOKEN = re.compile(r"(\\.|\[(?:\\.|[^\]\\])+\]|[^\[\]{}|\\])(?:\{(\d{1,3})\})?", re.DOTALL)
MOST = 2**62  # ids are counted in 64 bits


@dataclass(frozen=True, slots=True)
class Format:
    """One format: an id has one of the choices of each slot, one slot after the other."""

    text: str
    slots: tuple[Slot, ...]

    @property
    def size(self) -> int:
        return prod(map(len, self.slots))

    @property
    def longest(self) -> int:
        """Bytes of the longest id."""
        return sum(max(map(len, slot)) for slot in self.slots)

    def id(self, number: int) -> bytes:
        """The id with this number; the last slot turns fastest."""
        chosen: list[bytes] = []
        for slot in reversed(self.slots):
            number, place = divmod(number, len(slot))
            chosen.append(slot[place])
        return b"".join(reversed(chosen))

    def ids(self, start: int, count: int) -> Iterator[bytes]:
        return map(self.id, range(start, min(start + count, self.size)))


def formats_of(declared: str | Iterable[str] | None) -> tuple[Format, ...]:
    """The formats that were declared, or else the ladder of guesses. Each is tried once, however often, and in however
    many ways, it is written."""
    words = LADDER if declared is None else (declared,) if isinstance(declared, str) else tuple(declared)
    if not words:
        raise InvalidInputError("no format of ids is given", "for example 9999999 or taxi-medallion", "empty")
    found: dict[tuple[Slot, ...], Format] = {}
    for word in words:
        for format in _read(str(word)):
            found.setdefault(format.slots, format)
    return tuple(found.values())


def space(formats: Sequence[Format]) -> int:
    return sum(format.size for format in formats)


def _read(word: str) -> list[Format]:
    name, *rest = word.split(":")
    if word.startswith("@"):
        return [_listed(word)]
    if name == "date":
        return [Format(word, (_days(word, rest),))]
    return [_parsed(part) for part in _alternatives(NAMED.get(word, word))]


def _alternatives(word: str) -> list[str]:
    """Split at | where it is neither escaped nor one of the letters in brackets."""
    parts = [""]
    for piece in re.findall(r"\\.|\[(?:\\.|[^\]\\])*\]|.", word, re.DOTALL):
        if piece == "|":
            parts.append("")
        else:
            parts[-1] += piece
    return parts


def _parsed(text: str) -> Format:
    slots: list[Slot] = []
    place = 0
    while place < len(text):
        token = TOKEN.match(text, place)
        if token is None:
            raise InvalidInputError(
                f"the format {show(text)} cannot be read at character {place + 1}",
                "for example 9A99, [5-9]9999 or A{2}-9{4}; put a backslash before a letter that stands for itself",
                "syntax-error",
            )
        slots += [_slot(token[1], text)] * int(token[2] or 1)
        place = token.end()
    found = Format(text, tuple(slots))
    if not slots:
        raise InvalidInputError("a format of ids is empty", "for example 9999999 or taxi-medallion", "empty")
    if found.size > MOST:
        raise InvalidInputError(
            f"the format {show(text)} has more than 2^62 ids, which nobody can try",
            "give a narrower format",
            "too-many",
        )
    return found


def _slot(token: str, text: str) -> Slot:
    if token.startswith("\\"):
        letters = token[1]
    elif token.startswith("["):
        letters = "".join(_set(token[1:-1], text))
    else:
        letters = CLASSES.get(token, token)
    return tuple(letter.encode() for letter in dict.fromkeys(letters))


def _set(inside: str, text: str) -> Iterator[str]:
    letters = re.findall(r"\\.|.", inside, re.DOTALL)
    while letters:
        first = letters.pop(0)
        if len(letters) >= 2 and letters[0] == "-":
            last = letters[1][-1]
            del letters[:2]
            if ord(last) < ord(first[-1]):
                raise InvalidInputError(f"a range in {show(text)} runs backward", "for example [5-9]", "reversed-range")
            yield from map(chr, range(ord(first[-1]), ord(last) + 1))
        else:
            yield first[-1]


def _days(word: str, rest: Sequence[str]) -> Slot:
    order = rest[0] if rest else ORDERS[0]
    years = re.fullmatch(r"(\d{4})-(\d{4})", rest[1]) if len(rest) == 2 else None
    if order not in ORDERS or len(rest) > 2 or (len(rest) == 2 and years is None):
        raise InvalidInputError(
            f"the dates {show(word)} cannot be read",
            f"for example date:{ORDERS[0]}:1920-2010; {', '.join(ORDERS)}",
            "syntax-error",
        )
    first, last = (int(years[1]), int(years[2])) if years else DAYS
    if not 1 <= first <= last:
        raise InvalidInputError(f"the years of {show(word)} run backward", "for example 1920-2010", "reversed-range")
    return tuple(
        order.replace("YYYY", f"{year:04}").replace("MM", f"{month:02}").replace("DD", f"{day:02}").encode()
        for year in range(first, last + 1)
        for month in range(1, 13)
        for day in range(1, calendar.monthrange(year, month)[1] + 1)
    )


def _listed(word: str) -> Format:
    try:
        lines = Path(word[1:]).read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError, ValueError):
        raise InvalidInputError(
            f"the list {show(word[1:])} cannot be read", "name a UTF-8 file, one candidate per line", "unreadable-file"
        ) from None
    ids = tuple(dict.fromkeys(line.encode() for line in lines if line))
    if not ids:
        raise InvalidInputError(f"the list {show(word[1:])} is empty", "write one candidate per line", "empty")
    return Format(word, (ids,))

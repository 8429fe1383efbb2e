"""What the functions on texts mean, character by character (code points); the same in every engine.

Case is where engines and versions of Unicode differ, so the letters whose case changes are listed here.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from typing import assert_never

from privet.core import expression as e

TextFunction = e.Recased | e.Trimmed | e.Length | e.Sliced | e.Concat | e.Replaced | e.Piece | e.Like

LONGEST = 65_535  # what LENGTH says of longer texts
LONE = re.compile("[\ud800-\udfff]")
ALPHABETS = (range(0x250), range(0x370, 0x588), range(0x1E00, 0x1F00))  # Latin, Greek, Cyrillic, Armenian, Vietnamese
CASELESS = (  # marks, scripts and signs without upper and lower case, and emoji
    range(0x300, 0x345), range(0x346, 0x370), range(0x588, 0x10A0), range(0x1100, 0x13A0), range(0x1400, 0x1C80),
    range(0x2000, 0x2126), range(0x2190, 0x24B6), range(0x2500, 0x2C00), range(0x2E00, 0xA640), range(0xAC00, 0xD800),
    range(0xE000, 0xFB00), range(0xFB1D, 0xFF21), range(0x1F000, 0x1F130), range(0x1F300, 0x20000),
    range(0x20000, 0x30000),
)  # fmt: skip


def held(text: str) -> str:
    """A text as an engine can hold it. Half a surrogate pair cannot be in any data; it becomes a character that nobody
    uses."""
    return LONE.sub(lambda half: f"\U0010ffff{ord(half.group()):x}", text)


def _cased(letters: e.Letters) -> dict[int, str]:
    """Each letter in that case, where it is one letter: by Unicode's simple mapping, which never changes once a letter
    is in Unicode."""
    pairs = [(code, getattr(chr(code), letters)()) for code in itertools.chain(*ALPHABETS)]
    found = {code: other for code, other in pairs if len(other) == 1 and other != chr(code)}
    return found | ({ord("ß"): "ẞ"} if letters is e.Letters.UPPER else {ord("İ"): "i"})


CASED = {letters: _cased(letters) for letters in e.Letters}


def applied(function: TextFunction, *texts: str) -> str | int | bool:
    """The function on these texts, in place of its items."""
    text = held("".join(texts))
    match function:
        case e.Concat():
            return text
        case e.Recased(letters):
            return text.translate(CASED[letters])
        case e.Trimmed(side):
            return trimmed(side, text)
        case e.Length():
            return min(len(text), LONGEST)
        case e.Sliced(_, start, stop):
            return text[start:stop]
        case e.Replaced(_, old, new):
            return text.replace(held(old), held(new))
        case e.Piece(_, separator, place):
            return next(itertools.islice(text.split(held(separator)), place - 1, None), "")
        case e.Like(_, pattern):
            return fits(pieces(pattern), text)
        case _:
            assert_never(function)


def trimmed(side: e.Side, text: str) -> str:
    text = text if side is e.Side.END else text.lstrip(" ")
    return text if side is e.Side.START else text.rstrip(" ")


# Patterns

Stretch = tuple[str | None, ...]  # characters; None is any one


def pieces(pattern: str) -> list[Stretch]:
    """The stretches between the % of a pattern."""
    found: list[list[str | None]] = [[]]
    marks = iter(held(pattern))
    for mark in marks:
        match mark:
            case "%":
                found.append([])
            case "_":
                found[-1].append(None)
            case "\\":
                found[-1].append(next(marks, "\\"))
            case _:
                found[-1].append(mark)
    return [tuple(stretch) for stretch in found]


def fits(stretches: Sequence[Stretch], text: str) -> bool:
    """Each stretch between two % is taken where it is found first: a later place would leave less for the others."""
    first, *middle = stretches
    if not middle:
        return len(text) == len(first) and _at(first, text, 0)
    last, place = middle.pop(), len(first)
    end = len(text) - len(last)
    if place > end or not (_at(first, text, 0) and _at(last, text, end)):
        return False
    for stretch in middle:
        place = next((i for i in range(place, end - len(stretch) + 1) if _at(stretch, text, i)), -1)
        if place < 0:
            return False
        place += len(stretch)
    return True


def _at(stretch: Stretch, text: str, place: int) -> bool:
    return all(mark is None or text[place + i] == mark for i, mark in enumerate(stretch))

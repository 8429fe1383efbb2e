"""Two registers of a town, written some years apart: a second generator for linkage, unlike made_families in structure.

Names have heavy tails (a new name whenever a draw asks for one). Sons bear their fathers' whole names, twins share
the day of birth, women marry and change their names, households move between the registers and take all their members
along. Some records are read badly: errors come together, and each column is missing at a rate of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from support.made_linkage import Pair, table

FINE = ("given", "family", "born", "sex", "street", "postcode", "phone")
MIDDLE = ("family", "year", "sex", "postcode")
COARSE = ("sex", "band", "district", "status")
COLUMN_SETS = {"fine": FINE, "middle": MIDDLE, "coarse": COARSE}
SIZES = (300, 300, 500, 800, 1200, 2000, 5000)  # by the seed
OVERLAPS = (0.0, 0.2, 0.5, 0.9, 1.0)
MISSING = {"given": 0.01, "family": 0.005, "born": 0.04, "year": 0.02, "sex": 0.0, "street": 0.08, "postcode": 0.03,
           "phone": 0.45, "band": 0.0, "district": 0.02, "status": 0.1}  # fmt: skip
LIKE = {"o": "0", "i": "l", "l": "1", "m": "rn", "n": "u", "e": "c", "a": "o", "s": "5",
        "1": "7", "3": "8", "5": "6", "0": "8", "9": "4"}  # fmt: skip
CONSONANTS, VOWELS = "bcdfghjklmnprstvwz", "aeiou"


@dataclass(frozen=True, kw_only=True)
class Register:
    """How a pair of registers is drawn. `bad`: the share of records that are read badly."""

    overlap: float
    columns: Sequence[str] = FINE
    bad: float = 0.1
    faults: tuple[float, float] = (0.015, 0.35)  # of a value in a good and in a bad record
    missing: bool = True
    by_household: bool = False


def registers(size: int, setting: Register, seed: int) -> Pair:
    """Two tables of `size` records each, `overlap` of whom are the same people."""
    draw = np.random.default_rng([seed, 77])
    shared = round(setting.overlap * size)
    people = _town(2 * size - shared, draw)
    units = people["household"] if setting.by_household else np.arange(len(people["household"]))
    order = np.argsort(draw.permutation(int(units.max()) + 1)[units], kind="stable")
    first, second = order[:size], order[size - shared :]
    later = _later(people, draw)
    rows = [draw.permutation(part) for part in (first, second)]
    sides = [
        table(id=[str(one) for one in part], **_written(some, part, setting, draw))
        for some, part in zip((people, later), rows, strict=True)
    ]
    return Pair(*sides)


def _town(people: int, draw: np.random.Generator) -> dict[str, np.ndarray]:
    """Households are couples with or without children, or people by themselves."""
    household, role = [], []
    while len(household) < people:
        home = household[-1] + 1 if household else 0
        kind = draw.random()
        members = [0] if kind < 0.35 else [0, 1] if kind < 0.6 else [0, 1] + [2] * int(draw.integers(1, 5))
        household += [home] * len(members)
        role += members
    home, part = np.array(household[:people]), np.array(role[:people])
    homes = int(home.max()) + 1
    sex = np.where(part == 0, draw.random(people) < 0.3, np.where(part == 1, True, draw.random(people) < 0.5))
    surname = _tailed(homes, 40.0, 0.75, draw)[home]
    surname = np.where((part == 1) & (draw.random(people) < 0.15), 10**6 + np.arange(people) % 97, surname)
    given = np.where(sex, 5000, 0) + _tailed(people, 12.0, 0.35, draw)
    head = np.flatnonzero(np.diff(home, prepend=-1))[home]
    junior = (part == 2) & ~sex & (draw.random(people) < 0.08)
    given = np.where(junior, given[head], given)
    day = draw.integers(0, 365 * 55, homes)[home] + np.where(part == 1, draw.integers(-2000, 2000, people), 0)
    day = day + np.where(part == 2, draw.integers(8500, 13000, people), 0)
    twin = (part == 2) & (np.roll(part, 1) == 2) & (np.roll(home, 1) == home) & (draw.random(people) < 0.05)
    day = np.where(twin, np.roll(day, 1), day)
    status = np.where(part == 2, 0, np.where(draw.random(people) < 0.8, 1, draw.integers(2, 4, people)))
    return {"household": home, "sex": sex, "surname": surname, "given": given, "day": day, "status": status,
            "place": draw.integers(0, 10**6, homes)[home], "line": draw.integers(0, 10**7, homes)[home]}  # fmt: skip


def _later(people: dict[str, np.ndarray], draw: np.random.Generator) -> dict[str, np.ndarray]:
    """Some years on: one household in eight has moved, one woman in twenty has married."""
    home, number = people["household"], len(people["household"])
    moved = (draw.random(int(home.max()) + 1) < 0.125)[home]
    place = np.where(moved, draw.integers(0, 10**6, int(home.max()) + 1)[home], people["place"])
    line = np.where(moved & (draw.random(number) < 0.7), people["line"] + 1 + home, people["line"])
    wed = people["sex"] & (people["status"] != 1) & (draw.random(number) < 0.05)
    surname = np.where(wed, draw.permutation(people["surname"]), people["surname"])
    return people | {"place": place, "line": line, "surname": surname, "status": np.where(wed, 1, people["status"])}


def _written(
    people: dict[str, np.ndarray], rows: np.ndarray, setting: Register, draw: np.random.Generator
) -> dict[str, list[str | None]]:
    some = {name: values[rows] for name, values in people.items()}
    day = np.array("1930-01-01", dtype="datetime64[D]") + some["day"]
    year = day.astype("datetime64[Y]").astype(int) + 1970
    street = some["place"] // 900
    texts = {
        "given": [_word(int(one), 2) for one in some["given"]],
        "family": [_word(int(one) + 20_000, 3) for one in some["surname"]],
        "born": [str(one) for one in day],
        "year": [str(one) for one in year],
        "sex": ["F" if one else "M" for one in some["sex"]],
        "street": [f"{_word(int(one) + 900_000, 3)} {spot % 900 // 9}"
                   for one, spot in zip(street, some["place"], strict=True)],
        "postcode": [f"{1000 + 13 * (int(one) // 8)}" for one in street],
        "phone": [f"{one:07d}" for one in some["line"]],
        "band": [f"{one // 10 * 10}s" for one in year],
        "district": [f"D{one // 40}" for one in street],
        "status": [("single", "married", "widowed", "divorced")[one] for one in some["status"]],
    }  # fmt: skip
    bad = draw.random(len(rows)) < setting.bad
    fault = np.where(bad, setting.faults[1], setting.faults[0])
    return {name: _misread(texts[name], fault, name if setting.missing else "", draw) for name in setting.columns}


def _misread(texts: list[str], fault: np.ndarray, name: str, draw: np.random.Generator) -> list[str | None]:
    """Letters that look alike, a lost beginning or end, or the value of the line above."""
    found: list[str | None] = list(texts)
    for row in np.flatnonzero(draw.random(len(texts)) < fault):
        text, kind = texts[row], draw.random()
        if kind < 0.25 or len(text) < 4:
            found[row] = texts[row - 1]
        elif kind < 0.45:
            found[row] = text[1:] if draw.random() < 0.5 else text[:-1]
        else:
            found[row] = "".join(LIKE.get(one, one) if draw.random() < 0.4 else one for one in text)
    for row in np.flatnonzero(draw.random(len(texts)) < MISSING.get(name, 0.0)):
        found[row] = None
    return found


def _tailed(many: int, strength: float, discount: float, draw: np.random.Generator) -> np.ndarray:
    """Numbers of names: a fresh one with a chance that falls slowly, else that of somebody before (Pitman and Yor)."""
    found = np.zeros(many, np.int64)
    kinds = 0
    for at in range(many):
        if draw.random() < (strength + discount * kinds) / (strength + at):
            found[at], kinds = kinds, kinds + 1
        else:
            found[at] = found[int(draw.integers(at))]
    return found


def _word(number: int, syllables: int) -> str:
    """A pronounceable word for each number."""
    mixed, parts = (number * 2654435761 + 12345) % 2**32, []
    for _ in range(syllables):
        mixed, letter = divmod(mixed, len(CONSONANTS))
        mixed, vowel = divmod(mixed, len(VOWELS))
        parts.append(CONSONANTS[letter] + VOWELS[vowel])
    return "".join(parts) + CONSONANTS[mixed % len(CONSONANTS)]

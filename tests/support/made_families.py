"""Simulated families, for the tests and the benchmark of linkage: people share names, streets and phones with their
kin, and each of two tables has some of them, with values that are wrong or missing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from support.made_linkage import Pair, table

SYLLABLES = np.array([  # of names and streets
    f"{a}{b}"
    for a in ("b", "d", "f", "h", "k", "l", "m", "n", "r", "s", "t", "w")
    for b in ("a", "en", "in", "o", "er")
])  # fmt: skip
LETTERS = "abcdefghijklmnopqrstuvwxyz"
COLUMNS = ("first", "last", "birth", "sex", "street", "house", "city", "zip", "phone")


@dataclass(frozen=True, kw_only=True)
class Wrong:
    """How often a value is wrong, and how often it is missing."""

    wrong: float = 0.1
    missing: float = 0.05


def families(people: int, seed: int, *, crowded: float = 0.0) -> dict[str, np.ndarray]:
    """So many people in households of one to six. `crowded`: the share of households that live at few addresses, such
    as homes and dormitories."""
    draw = np.random.default_rng(seed)
    sizes = draw.choice([1, 2, 3, 4, 5, 6], people, p=[0.3, 0.3, 0.16, 0.14, 0.07, 0.03])
    house = np.repeat(np.arange(people), sizes)[:people]
    homes = int(house.max()) + 1
    last_names, streets = _words(draw, 1500, 3), _words(draw, 800, 3)
    first_names = _words(draw, 400, 2)
    cities = _words(draw, 60, 2)
    address = np.where(draw.random(homes) < crowded, draw.integers(0, max(homes // 200, 1), homes), np.arange(homes))
    city, street, number = draw.integers(0, 60, homes), _skewed(draw, 800, homes), draw.integers(1, 120, homes)
    family = _skewed(draw, 1500, homes)
    spot = address[house]
    own = draw.random(people) < 0.1  # another last name than the household
    year = (draw.normal(1960, 12, homes)[house] + draw.choice([0, 2, 27, 30], people)).astype(int)
    return {
        "first": first_names[_skewed(draw, 400, people)],
        "last": last_names[np.where(own, _skewed(draw, 1500, people), family[house])],
        "birth": np.array([f"{y}-{m:02d}-{d:02d}" for y, m, d in
                           zip(year, draw.integers(1, 13, people), draw.integers(1, 29, people), strict=True)], object),
        "sex": draw.choice(np.array(["F", "M"], object), people),
        "street": streets[street[spot]],
        "house": number[spot].astype(str).astype(object),
        "city": cities[city[spot]],
        "zip": np.array([f"{10000 + 37 * c + c % 5}" for c in city[spot] * 7 + street[spot] % 7], object),
        "phone": np.array([f"0{600000000 + 7919 * h % 99999999}" for h in house], object),
        "household": house,
    }  # fmt: skip


def two_tables(
    people: dict[str, np.ndarray], *, shares: tuple[float, float], errors: Wrong, seed: int,
    columns: Sequence[str] = COLUMNS, whole: bool = False,
) -> Pair:  # fmt: skip
    """Each person is in a table with the chance given, or each household if `whole`. Values are wrong in both."""
    draw = np.random.default_rng(seed + 7919)
    number = len(people["sex"])
    unit = people["household"] if whole else np.arange(number)
    sides = []
    for share in shares:
        chosen = draw.permutation(np.flatnonzero((draw.random(int(unit.max()) + 1) < share)[unit]))
        made = {name: spoiled(people[name][chosen], errors, draw) for name in columns}
        sides.append(table(id=[str(one) for one in chosen], **made))
    return Pair(*sides)


def spoiled(values: np.ndarray, errors: Wrong, draw: np.random.Generator) -> list[str | None]:
    """Half of the wrong values are slips of the pen, a quarter are another person's, a quarter are cut short."""
    found: list[str | None] = values.tolist()
    for row in np.flatnonzero(draw.random(len(found)) < errors.wrong):
        kind = draw.random()
        text = str(found[row])
        if kind < 0.25 or len(text) < 3:
            found[row] = str(values[draw.integers(len(values))])
        elif kind < 0.5:
            found[row] = text[: max(len(text) // 2, 1)]
        else:
            found[row] = slip(text, draw)
    for row in np.flatnonzero(draw.random(len(found)) < errors.missing):
        found[row] = None
    return found


def slip(text: str, draw: np.random.Generator) -> str:
    at, other = int(draw.integers(len(text) - 1)), LETTERS[int(draw.integers(26))]
    if text[at].isdigit():
        other = str(draw.integers(10))
    return {
        0: text[:at] + text[at + 1] + text[at] + text[at + 2 :],
        1: text[:at] + other + text[at + 1 :],
        2: text[:at] + text[at + 1 :],
        3: text[:at] + other + text[at:],
    }[int(draw.integers(4))]


def _words(draw: np.random.Generator, many: int, syllables: int) -> np.ndarray:
    found: dict[str, None] = {}
    while len(found) < many:
        found["".join(draw.choice(SYLLABLES, syllables))] = None
    return np.array(list(found), object)


def _skewed(draw: np.random.Generator, kinds: int, many: int) -> np.ndarray:
    weight = 1 / (np.arange(kinds) + 5)
    return draw.choice(kinds, many, p=weight / weight.sum())

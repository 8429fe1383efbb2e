"""Made-up people, for the tests of linkage: two tables of them, or what many did and a few things known of some."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privet.records.microdata import Microdata, column

FIRST = ("Anna", "Berta", "Carla", "Dora", "Emil", "Frieda", "Gustav", "Heinrich", "Ida", "Jakob", "Karl", "Lena")
COARSE = ("sex", "age", "area")
LAST = ("Schneider", "Fischer", "Zimmermann", "Hofmann", "Lehmann", "Krause", "Baumann", "Vogel", "Winter", "Sommer")


@dataclass(frozen=True)
class Pair:
    released: Microdata
    known: Microdata


def table(**columns: object) -> Microdata:
    made = {name: column(name, np.array(values, dtype=object)) for name, values in columns.items()}
    return Microdata(made, len(next(iter(made.values())).codes))


def pair(
    people: int, *, released: float = 1.0, known: float = 1.0, zips: int = 400, seed: int = 0, typos: float = 0.0
) -> Pair:
    """People with sex, age and zip code. The zip code depends on the age, as columns do. Each is in a table with the
    probability given; the orders of the two tables have nothing to do with each other."""
    draw = np.random.default_rng(seed)
    age = draw.integers(18, 90, people)
    zips_of = (draw.integers(0, zips, people) * (1 + age // 30)) % zips
    sex = draw.choice(["F", "M"], people)
    name = [f"{draw.choice(FIRST)} {draw.choice(LAST)}" for _ in range(people)]
    job = draw.choice(["baker", "miller", "smith", "judge"], people)
    ours = draw.permutation(np.flatnonzero(draw.random(people) < released))
    theirs = draw.permutation(np.flatnonzero(draw.random(people) < known))
    wrong = draw.random(people) < typos
    spelled = [_swapped(text, draw) if bad else text for text, bad in zip(name, wrong, strict=True)]
    return Pair(
        table(
            id=[str(one) for one in ours],
            name=[name[one] for one in ours],
            sex=[sex[one] for one in ours],
            age=[f"{age[one] // 5 * 5}-{age[one] // 5 * 5 + 4}" for one in ours],
            zip=[f"{10000 + zips_of[one]:05d}"[:4] + "*" for one in ours],
            job=[str(job[one]) for one in ours],
        ),
        table(
            id=[str(one) for one in theirs],
            name=[spelled[one] for one in theirs],
            sex=[sex[one] for one in theirs],
            age=[str(age[one]) for one in theirs],
            zip=[f"{10000 + zips_of[one]:05d}" for one in theirs],
        ),
    )


def coarse(people: int, seed: int, shares: tuple[float, float] = (1, 1), wrong: float = 0.0) -> Pair:
    """Sex, age by tens and areas. A wrong value is somebody else's."""
    draw = np.random.default_rng(seed)
    whole = [draw.integers(0, 2, people), draw.integers(2, 9, people), draw.integers(0, 100, people)]
    sides = []
    for share in shares:
        rows = draw.permutation(np.flatnonzero(draw.random(people) < share))
        values = [np.where(draw.random(len(rows)) < wrong, draw.permutation(one[rows]), one[rows]) for one in whole]
        named = {name: [f"{name}{one}" for one in part] for name, part in zip(COARSE, values, strict=True)}
        sides.append(table(id=rows.astype(str), **named))
    return Pair(*sides)


def _swapped(text: str, draw: np.random.Generator) -> str:
    at = int(draw.integers(1, len(text) - 2))
    return text[:at] + text[at + 1] + text[at] + text[at + 2 :]


@dataclass(frozen=True)
class World:
    """Everybody's ratings; the first `outside` people are not in the released table."""

    released: Microdata
    points: Microdata


def world(people: int = 400, items: int = 600, known: int = 8, outside: int = 60, seed: int = 0) -> World:
    """Items are popular in a heavy-tailed way. Of the points known, two of eight are wrong, and dates are off."""
    draw = np.random.default_rng(seed)
    popular = 1 / np.arange(1, items + 1)
    rows, points = [], []
    for person in range(people):
        mine = draw.choice(items, int(draw.integers(15, min(60, items))), replace=False, p=popular / popular.sum())
        events = [(f"u{person}", f"i{one}", int(draw.integers(1, 6)), int(draw.integers(0, 1000))) for one in mine]
        rows += events if person >= outside else []
        if person < 2 * outside:
            told = [events[at] for at in draw.permutation(len(events))[:known]]
            truth = f"u{person}" if person >= outside else None
            for number, (_, item, stars, day) in enumerate(told):
                thing = f"i{draw.integers(items)}" if number % 4 == 3 else item
                points.append((f"t{person}", thing, stars + int(draw.integers(-1, 2)), day + int(draw.integers(-9, 10)),
                               truth))  # fmt: skip
    return World(_table(rows, "person"), _table(points, "target", "truth"))


def _table(rows: list[tuple[object, ...]], who: str, *more: str) -> Microdata:
    names = (who, "item", "stars", "day", *more)
    return table(**{name: [None if row[at] is None else str(row[at]) for row in rows] for at, name in enumerate(names)})

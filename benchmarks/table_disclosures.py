"""Does the attack on tables say all that is so, and nothing else? `python benchmarks/table_disclosures.py [--tiny]`.

Three parts. Small random systems, with everything that is learned about known people for every set of public
attributes, and the bounds of every suppressed cell, against all data sets. Clinics of 40 and of 150 simulated
people, with suppressed and rounded cells, where every claim is compared with the people. The same attack on a quiet
machine and with all processors busy: the reports must be equal.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from evidence import ROOT, Evidence, options, parse
from support.random_tables import random_system
from support.table_disclosures import Compared

from privet import attacks
from privet.attacks.finding import Findings

SYSTEMS_FROM = 5000  # seeds, fixed before looking
SIZES = (40, 150)
VALUES: dict[str, Any] = {
    "sex": ["F", "M"],
    "race": ["white", "black", "asian", "other"],
    "age": {"min": 0, "max": 99},
    "ward": ["A", "B", "C"],
    "hiv": ["no", "yes"],
}
BANDS = {"age <= 17": range(18), "age BETWEEN 18 AND 64": range(18, 65), "age >= 65": range(65, 100)}
TABLES = (("race", "sex"), ("race", "hiv"), ("age", "hiv"), ("ward", "age"), ("race", "ward"), ("sex", "hiv"))
Person = Mapping[str, Any]


def systems(number: int) -> dict[str, int]:
    total = Counter[str]()
    for seed in range(SYSTEMS_FROM, SYSTEMS_FROM + number):
        one = Compared(random_system(seed)).disclosures().bounds()
        total.update(
            systems=1,
            subsets=one.subsets,
            facts=one.facts,
            cells=one.cells,
            without_certificate=one.without_certificate,
            differences=len(one.wrong),
        )
    return dict(total)


def made_up(number: int, chance: random.Random) -> list[Person]:
    return [
        {
            "sex": chance.choice("FM"),
            "race": chance.choices(VALUES["race"], (0.7, 0.2, 0.08, 0.02))[0],
            "age": min(99, int(chance.gammavariate(4, 11))),
            "ward": chance.choices("ABC", (0.6, 0.3, 0.1))[0],
            "hiv": "yes" if chance.random() < 0.06 else "no",
        }
        for _ in range(number)
    ]


def _labels(name: str) -> dict[str, Sequence[Any]]:
    return dict(BANDS) if name == "age" else {f"{name} = '{value}'": [value] for value in VALUES[name]}


def published(people: Sequence[Person], chance: random.Random) -> dict[str, Any]:
    """Some two-way tables with margins. Counts below 3 are suppressed, and often one more in the row, as somebody does
    who does not look at columns; one table may be rounded."""
    statistics: dict[str, dict[str, Any]] = {"everybody": {"name": "everybody", "count": len(people)}}
    for first, second in chance.sample(TABLES, 3):
        rounded = chance.random() < 0.15
        for where, values in _labels(first).items():
            inside = [person for person in people if person[first] in values]
            statistics.setdefault(where, {"name": where, "where": where, "count": len(inside)})
            hidden = 0
            for other, others in _labels(second).items():
                count = sum(person[second] in others for person in inside)
                name = f"{where} AND {other}"
                said: Any = count
                if count < 3:
                    said, hidden = {"suppressed": "primary", "below": 3}, hidden + 1
                elif hidden == 1 and chance.random() < 0.7:
                    said, hidden = {"suppressed": "complementary"}, 2
                elif rounded:
                    said = {"value": count - count % 3, "random_rounded": 3}
                statistics[name] = {"name": name, "where": name, "count": said}
    return {"attributes": VALUES, "statistics": list(statistics.values())}


def _fits(record: Mapping[str, str], person: Person) -> bool:
    """Whether what is said of somebody in words is so of a person."""
    for name, words in record.items():
        values = set(words.split(" or "))
        low, _, high = words.partition(" to ")
        near = name == "age" and high and int(low) <= person[name] <= int(high)
        if words != "any" and str(person[name]) not in values and not near:
            return False
    return True


def false_claims(found: Findings, people: Sequence[Person]) -> int:
    """Claims that are not so of these people, and bounds that do not hold the true count."""
    wrong = 0
    for one in found.findings:
        if one.section.startswith("Records"):
            wrong += sum(_fits(one.record, person) for person in people) < one.people
        elif one.section.startswith("Learned about"):
            learned_last = one.claim.partition(" has " if " has " in one.claim else " have ")[2]
            names = [part.split(" ")[0] for part in learned_last.split(", ")]
            known = {name: words for name, words in one.record.items() if name not in names}
            group = [person for person in people if _fits(known, person)]
            wrong += not group or not all(_fits(one.record, person) for person in group)
    return wrong


def clinics(seeds: int) -> dict[str, Any]:
    total, headlines = Counter[str](), list[str]()
    for size in SIZES:
        for seed in range(seeds):
            chance = random.Random(1000 * size + seed)
            people = made_up(size, chance)
            tables = attacks.published_tables(**published(people, chance))
            found = attacks.attack_tables(tables, seconds=20, limit=50, repair=False)
            public = next(name for name in VALUES if any(name in one.name for one in tables.statistics))
            known = attacks.Knowledge(public=(public,))
            fewer = attacks.attack_tables(tables, known, seconds=20, limit=50, repair=False)
            bounds = {cell["cell"]: (cell["low"], cell["high"]) for cell in found.numbers["cells"]}
            counts = {one.name: sum(attacks.holds(one.where, _exact(p)) for p in people) for one in tables.statistics}
            total.update(
                clinics=1,
                records=sum(one.section.startswith("Records") for one in found.findings),
                facts=found.numbers["learned"],
                cells=len(bounds),
                undone=found.numbers["undone"] + found.numbers["unrounded"],
                false=false_claims(found, people),
                false_bounds=sum(not low <= counts[name] <= high for name, (low, high) in bounds.items()),
                limited=bool(found.numbers["limits"]),
                lost_by_more_public=_lost(fewer, found),
            )
            headlines.append(f"{size}: {found.headline}")
    return dict(total) | {"first_headlines": headlines[:: max(1, seeds)]}


def _exact(person: Person) -> dict[str, Any]:
    from fractions import Fraction  # noqa: PLC0415

    return {**person, "age": Fraction(person["age"])}


def _lost(fewer: Findings, more: Findings) -> int:
    """Facts of a search with fewer public attributes that the other one does not have."""
    claims = {finding.claim for finding in more.findings}
    return sum(
        finding.section.startswith("Learned about") and not any(finding.claim in claim for claim in claims)
        and not any(finding.claim.partition(" has ")[2] in claim for claim in claims)
        for finding in fewer.findings
    )  # fmt: skip


def _busy(stop: Any) -> None:
    while not stop.is_set():
        sum(range(10_000))


def busy(number: int, workers: int) -> dict[str, Any]:
    """A clinic with little work, so that limits bind, and the census block: JSON of both runs."""
    chance = random.Random(7)
    clinic = attacks.published_tables(**published(made_up(150, chance), chance))
    block = attacks.read_tables(ROOT / "examples" / "census-block.toml")

    def reports() -> list[str]:
        asked = ((clinic, 0.02), (block, 0.3), (clinic, 2))[:number]
        return [json.dumps(attacks.attack_tables(one, seconds=work).to_json()) for one, work in asked]

    quiet = reports()
    context = multiprocessing.get_context("spawn")
    stop = context.Event()
    busy_ones = [context.Process(target=_busy, args=(stop,)) for _ in range(workers)]
    for worker in busy_ones:
        worker.start()
    loaded = reports()
    stop.set()
    for worker in busy_ones:
        worker.join()
    limited = sum(bool(json.loads(one)["limits"]) for one in quiet)
    return {"reports": len(quiet), "limited": limited, "equal": sum(a == b for a, b in zip(quiet, loaded, strict=True))}


def main(given: Sequence[str] | None = None) -> None:
    parser = options(__doc__)
    parser.add_argument("--only", choices=("systems", "clinics", "busy"), help="measure one part, keep the others")
    parser.set_defaults(number=300, seeds=20, reports=3, workers=os.cpu_count() or 1)
    asked = parse(parser, given, number=3, seeds=1, reports=1, workers=1)
    parts = {
        "systems": lambda: systems(asked.number),
        "clinics": lambda: clinics(asked.seeds),
        "busy": lambda: busy(asked.reports, asked.workers),
    }
    kept = json.loads(asked.json.read_text())["result"] if asked.only and asked.json and asked.json.exists() else {}
    evidence = Evidence(asked, "table-disclosures")
    for name, part in parts.items():
        if asked.only in (None, name):
            kept[name] = part()
            kept.setdefault("commits", {})[name] = evidence.facts["commit"]
            print(json.dumps({name: kept[name]}, indent=1), flush=True)
            evidence.save(kept)


if __name__ == "__main__":
    main()

"""Who is found in published means: forecast and observed, on made people and on real genotypes, exact and with noise.

Made people with independent attributes: AUC and people found, beside the forecast, over several seeds. A vault: sums of
40 columns at a total epsilon of 1, with a person and without, over many releases, under the trade-off curve; the same
sums without noise. How many claims about people are wrong, with 20 to 200 people who are known to be out
(`member_claims.py`). With PRIVET_DATA: HapMap genotypes, 100 and 400 people drawn, whitened and not, with controls,
within one population, and published with Laplace noise at epsilon 1.
"""

from __future__ import annotations

import json
import math
import os
import tempfile
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from evidence import Evidence, options, parse
from member_claims import OUT, STUDIES, claims

import privet as pv
from privet.attacks.membership.files import PeopleTable, people_of
from privet.attacks.membership.members import attack_membership, scores
from privet.attacks.membership.trade_off import under
from privet.attacks.membership.trial import trial
from privet.attacks.promise import privacy
from privet.stats.roc import roc

Floats = npt.NDArray[np.float64]
SEEDS = range(1, 6)
SETTINGS = ((100, 1000, 0.0), (1000, 3000, 0.0), (300, 1000, 0.02), (100, 3000, 0.2))  # people, attributes, noise
NUMBERS = (
    "auc",
    "plain_auc",
    "forecast",
    "plain_forecast",
    "tpr",
    "forecast_tpr",
    "control_auc",
    "effective_attributes",
)
COLUMNS, PEOPLE, RELEASES = 40, 8, 200
CLAIMS = (2000, 2020)  # seeds: others than those that claims were first looked at with


def spread(found: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Mean, smallest and largest over seeds; and in how many of them the control's interval has .5."""
    rows = list(found)
    told: dict[str, Any] = {
        name: {"mean": float(np.mean(column)), "low": min(column), "high": max(column)}
        for name in NUMBERS
        if (column := [row[name] for row in rows if name in row])
    }
    told["control_has_half"] = sum(row["control_low"] <= 0.5 <= row["control_high"] for row in rows)
    return told | {"seeds": len(rows), "whitened": sum(row["whitened"] for row in rows)}


def independent(kind: str, size: int, attributes: int, noise: float, seeds: Iterable[int]) -> dict[str, Any]:
    top = 2 if kind == "genotypes" else 1

    def one(seed: int) -> dict[str, Any]:
        draw = np.random.default_rng(seed)
        usual = draw.uniform(0.05, 0.95, attributes)
        made = draw.binomial(top, usual, (size + 1000, attributes)).astype(np.float64)
        means = made[:size].mean(axis=0) + draw.normal(0, 1, attributes) * noise
        found = attack_membership(means, made, population=top * usual, size=size, noise=noise, members=np.arange(size))
        return dict(found.numbers)

    return {"kind": kind, "people": size, "attributes": attributes, "noise": noise} | spread(map(one, seeds))


def on_a_vault(releases: int, columns: int) -> dict[str, Any]:
    """One person, in or out, and many releases of either: what epsilon speaks of. Then many persons and exact sums."""
    draw = np.random.default_rng(1)
    names = [f"c{place}" for place in range(columns)]
    rest, person = draw.integers(0, 2, (PEOPLE - 1, columns)), draw.integers(0, 2, (1, columns)).astype(np.float64)
    usual, noise = np.full(columns, 0.5), math.sqrt(2) * columns / PEOPLE
    sql = "SELECT " + ", ".join(f"SUM({name}) AS {name}" for name in names) + " FROM "
    found: list[list[float]] = []
    with (
        tempfile.TemporaryDirectory() as folder,
        pv.create(Path(folder) / "v.privet", budget=pv.Budget(2 * releases)) as vault,
    ):
        for table, rows in (("inside", np.concatenate([rest, person])), ("outside", rest)):
            values = {name: rows[:, at].astype(int).tolist() for at, name in enumerate(names)}
            vault.add_table(table, values, unit=None, columns=dict.fromkeys(names, pv.Integer(0, 1)))
            answers = [vault.sql(sql + table, epsilon=1).release(fresh=True).rows[0] for _ in range(releases)]
            means = [np.array([float(answer[name]) for name in names]) / PEOPLE for answer in answers]
            found.append([float(scores(one, person, usual, size=PEOPLE, noise=noise)[0]) for one in means])
    runs = (np.arange(releases), np.arange(releases))
    return {"noisy": _under(roc(found[0], found[1], runs=runs)), "exact": _exact_sums(draw, usual, releases)}


def _exact_sums(draw: np.random.Generator, usual: Floats, releases: int) -> dict[str, Any]:
    """The same number of columns and people, published exactly, in releases with a person and without."""
    found: list[list[float]] = [[], []]
    for _ in range(releases):
        rows = draw.integers(0, 2, (PEOPLE, len(usual))).astype(np.float64)
        found[0] += scores(rows.mean(axis=0), rows[:1], usual, size=PEOPLE).tolist()
        found[1] += scores(rows[1:].sum(axis=0) / PEOPLE, rows[:1], usual, size=PEOPLE).tolist()
    return _under(roc(found[0], found[1], runs=(np.arange(releases), np.arange(releases))))


def _under(curve: Any) -> dict[str, Any]:
    best, auc = curve.largest_advantage, curve.auc
    return {
        "auc": [auc.value, auc.low, auc.high],
        "largest_advantage": [best.value, best.low, best.high],
        "largest_advantage_at_most": (math.e - 1) / (math.e + 1),
        "under_limit": under(curve, privacy(1)).holds,
    }


def hapmap(folder: Path) -> dict[str, Any]:
    start = time.process_time()
    data = people_of(next(folder.glob("*.bed")), "name")
    read = time.process_time() - start
    return {"cpu_seconds_reading": read} | genotypes(data, within(data, folder), (100, 400, 60), SEEDS)


def genotypes(
    data: PeopleTable, some: PeopleTable, sizes: tuple[int, int, int], seeds: Sequence[int]
) -> dict[str, Any]:
    """`some` are the people within one population. The third size is drawn from them."""
    few, many, inside = sizes
    told: dict[str, Any] = {"people": len(data.people), "snps": len(data.attributes)}
    start = time.process_time()
    told[f"{few} people"] = spread(trial(data, size=few, seed=seed).numbers for seed in seeds)
    told["cpu_seconds_each"] = (time.process_time() - start) / len(seeds)
    told[f"{many} people"] = spread(trial(data, size=many, seed=seed).numbers for seed in seeds)
    told[f"{few} people, Homer"] = spread(trial(data, size=few, seed=seed, test="Homer").numbers for seed in seeds)
    told["within CEU, TSI"] = {"people": len(some.people)} | spread(
        trial(some, size=inside, seed=seed).numbers for seed in seeds
    )
    claim = privacy(1, neighbors="replace")
    noisy = [trial(data, size=few, seed=seed, privacy=claim, draw=pv.noise.discrete_laplace).numbers for seed in seeds]
    told[f"{few} people, epsilon 1"] = spread(noisy) | {"under_limit": sum(one["under_limit"] for one in noisy)}
    return told


def generated_genotypes() -> dict[str, Any]:
    """For --tiny: independent genotypes, half of the people as the population."""
    draw, people, snps = np.random.default_rng(2), 120, 60
    values = draw.binomial(2, draw.uniform(0.1, 0.9, snps), (people, snps)).astype(np.float64)
    names = tuple(f"p{number}" for number in range(people))
    data = PeopleTable(people=names, attributes=tuple(f"s{number}" for number in range(snps)), values=values)
    some = PeopleTable(people=names[:60], attributes=data.attributes, values=values[:60])
    return genotypes(data, some, (20, 40, 10), (1,))


def within(data: PeopleTable, folder: Path) -> PeopleTable:
    """People of European origin only."""
    lines = [line.split() for line in (folder / "relationships_w_pops_121708.txt").read_text().splitlines()[1:]]
    chosen = {line[1] for line in lines if line[6] in ("CEU", "TSI")}
    rows = [place for place, name in enumerate(data.people) if name in chosen]
    return PeopleTable(
        people=tuple(data.people[row] for row in rows), attributes=data.attributes, values=data.values[rows]
    )


def main(given: Sequence[str] | None = None) -> None:
    parser = options(__doc__)
    parser.set_defaults(seeds=SEEDS, settings=SETTINGS, releases=RELEASES, columns=COLUMNS, claims=CLAIMS, outs=OUT)
    read = parse(
        parser, given, seeds=SEEDS[:1], settings=((20, 50, 0.0),), releases=5, columns=3, claims=(0, 2), outs=(20,)
    )
    evidence, folder = Evidence(read, "membership"), os.environ.get("PRIVET_DATA")
    found: dict[str, Any] = {
        "independent": [
            independent(kind, *one, read.seeds) for kind in ("yes or no", "genotypes") for one in read.settings
        ],
        "vault": on_a_vault(read.releases, read.columns),
        "claims": [one for size in STUDIES for one in claims(range(*read.claims), read.outs, size)],
    }
    if read.tiny:
        found["hapmap"] = generated_genotypes()
    else:
        found["hapmap"] = None if folder is None else hapmap(Path(folder) / "hapmap3")
    print(json.dumps(found, indent=2))
    evidence.save(found)


if __name__ == "__main__":
    main()

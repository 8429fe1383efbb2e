"""A sensitive column, guessed with a model, without it, and for people who were not in the data. A part of models.py.

Models that follow a law and know nobody; models that have half of their members by heart, so that the leak is known;
networks that overfit or do not, on simulated people and on Adult (who is married, without the column relationship,
which says it).
"""

from __future__ import annotations

import csv
import gzip
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from model_data import FAMILY, NUMBERS, TEXTS, Data, Floats, mean, one_hot

import privet as pv
from privet.attacks.models.stacked import Stacked


class Law:
    """The sensitive column, the first one, moves the label with this strength. `known`: members whose label the model
    has by heart."""

    classes_ = np.array([0, 1])

    def __init__(self, strength: float, known: Data | None = None) -> None:
        self.strength = strength
        pairs = () if known is None else zip(known[0].tolist(), known[1].tolist(), strict=True)
        self.known = {tuple(row): label for row, label in pairs}

    def predict_proba(self, rows: Floats) -> Floats:
        odds = 1.7 * (self.strength * (2 * rows[:, 0] - 1) + rows[:, 1])
        for place, row in enumerate(rows.tolist() if self.known else ()):
            odds[place] = {0: -12, 1: 12}.get(self.known.get(tuple(row), 2), odds[place])
        return np.stack([1 / (1 + np.exp(odds)), 1 / (1 + np.exp(-odds))], axis=1)


def smokers(seed: int, people: int, strength: float) -> Data:
    draw = np.random.default_rng(seed)
    rows = draw.normal(size=(people, 12)).astype(np.float32)
    rows[:, 0] = draw.integers(0, 2, people)
    labels = strength * (2 * rows[:, 0] - 1) + rows[:, 1] + draw.normal(size=people) > 0
    return rows, labels.astype(np.int64)


def married(folder: Path) -> Data:
    """Adult, with the column to infer first."""
    with gzip.open(folder / "adult_full" / "adult_full_48842.csv.gz", "rt") as file:
        rows = list(csv.DictReader(file))
    numbers = np.array([[float(row[name]) for name in NUMBERS] for row in rows])
    texts = [one_hot(np.array([row[name] for row in rows])) for name in TEXTS if name not in FAMILY]
    whether = np.array([row["marital-status"].startswith("Married") for row in rows])
    scaled = (numbers - numbers.mean(axis=0)) / numbers.std(axis=0)
    table = np.column_stack([whether, scaled, *texts]).astype(np.float32)
    return table, np.array([row["income"] == ">50K" for row in rows], int)


def inferred(model: Any, data: Data, members: int, **options: Any) -> dict[str, Any]:
    """The first column, of the first records and of twice as many others."""
    parts = [tuple(part[some] for part in data) for some in (slice(members), slice(members, 3 * members))]
    return dict(pv.attacks.attack_attributes(model, *parts, sensitive=0, **options).numbers)


def attributes_of_laws(seeds: Sequence[int], people: int) -> dict[str, Any]:
    """How often a leak is found where there is none, and what is found of one that is known: half of the members are
    guessed right for sure, in place of every second one."""
    told: dict[str, Any] = {"seeds": len(seeds)}
    for name, strength, share in (("correlation", 1.5, 0.0), ("independent", 0.0, 0.0), ("half by heart", 0.0, 0.5)):
        runs = []
        for seed in seeds:
            data = smokers(seed, 3 * people, strength)
            known = tuple(part[: round(share * people)] for part in data)
            model = Law(strength or 0.5, (known[0], known[1]) if share else None)
            runs.append(inferred(model, data, people, models=0, seed=seed))
        leaks = [run["attacks"]["largest"]["leak"] for run in runs]
        told[name] = {
            "leaks": sum(run["leak"] for run in runs),
            "correlations": sum(run["correlation"] for run in runs),
            "largest": mean([leak["value"] for leak in leaks]),
            "true": share / 2,
            "within": sum(leak["low"] <= share / 2 <= leak["high"] for leak in leaks),
        }
    return told


def attributes_of_networks(data: Sequence[Data], size: int, how: Stacked, models: int) -> dict[str, Any]:
    """Each seed draws other people and trains another network."""
    runs, spent = [], 0.0
    for seed, (rows, labels) in enumerate(data):
        order = np.random.default_rng(seed).permutation(len(labels))[: 3 * size]
        people = rows[order], labels[order]
        model = how.fit(people[0][:size], people[1][:size], seed=seed)
        start = time.process_time()
        runs.append(inferred(model, people, size, refit=how, models=models, seed=seed))
        spent += time.process_time() - start
    told: dict[str, Any] = {"seeds": len(runs), "seconds": spent / len(runs), "leaks": sum(run["leak"] for run in runs)}
    for name in runs[0]["attacks"]:
        kinds = ("members", "others", "members_without", "others_without", "added", "leak", "models_leak")
        told[name] = {kind: mean([run["attacks"][name][kind]["value"] for run in runs]) for kind in kinds}
    return told


def attributes(read: Any, sets: dict[str, Data], how: tuple[Stacked, Stacked]) -> dict[str, Any]:
    few, many = read.people
    seeds = range(read.seeds)
    found = {"laws": attributes_of_laws(read.laws, 2 * few)}
    for name, network in zip(("overfit", "calm"), how, strict=True):
        made = [smokers(seed, 3 * few, 1.0) for seed in seeds]
        found[f"simulated, {name}"] = attributes_of_networks(made, few, network, read.again)
        for what, data in sets.items():
            found[f"{what}, {name}"] = attributes_of_networks([data] * len(seeds), many, network, read.again)
    return found

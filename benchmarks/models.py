"""Who is found in the training data of models: overfit networks on real records, and what claims are worth.

With PRIVET_DATA: networks of 128 units trained on 600 records of Adult, and on 600 of location30, until they know
them by heart; each seed draws other records, and every attack runs on the same models. Without: only simulated data.
Claims: simulated models that overfit, and models that do not leak, many seeds: how many claims are wrong. Planted:
records with a wrong class that the model knows by heart; whether they head the list of risks. Speed: networks trained
at once and one after the other, in processor seconds of the same run. Attributes: a sensitive column, guessed with
models that follow a law and know nobody, with models that have half of their members by heart (so the leak is known),
and with networks that overfit or do not, on simulated people and on Adult (who is married, without the column
relationship, which says it).
"""

from __future__ import annotations

import csv
import gzip
import json
import math
import os
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from evidence import Evidence, options, parse

import privet as pv
from privet.attacks.models.over_models import student
from privet.attacks.models.stacked import Stacked

Floats = npt.NDArray[np.float64]
Data = tuple[npt.NDArray[np.float32], npt.NDArray[np.int64]]
OVERFIT = Stacked(hidden=(128,), epochs=150, batch=32)
SHORTER = Stacked(hidden=(128,), epochs=40, batch=32)  # knows records of 446 columns by heart
NUMBERS = ("age", "educational-num", "capital-gain", "capital-loss", "hours-per-week")
FAMILY = ("marital-status", "relationship")
TEXTS = ("workclass", "marital-status", "occupation", "relationship", "race", "gender")


def adult(folder: Path) -> Data:
    with gzip.open(folder / "adult_full" / "adult_full_48842.csv.gz", "rt") as file:
        rows = list(csv.DictReader(file))
    numbers = np.array([[float(row[name]) for name in NUMBERS] for row in rows])
    numbers = (numbers - numbers.mean(axis=0)) / numbers.std(axis=0)
    texts = [_one_hot(np.array([row[name] for row in rows])) for name in TEXTS]
    return np.column_stack([numbers, *texts]).astype(np.float32), np.array(
        [row["income"] == ">50K" for row in rows], int
    )


def _one_hot(values: npt.NDArray[Any]) -> Floats:
    found, places = np.unique(values, return_inverse=True)
    return np.eye(len(found))[places]


def location30(folder: Path) -> Data:
    table = np.loadtxt(folder / "location30" / "location30.csv.gz", delimiter=",", dtype=np.int64)
    return table[:, 1:].astype(np.float32), table[:, 0]


def simulated(draw: np.random.Generator, people: int, signal: float = 1.0) -> Data:
    """Thirty columns, of which a yes or no depends in part."""
    rows = draw.normal(size=(people, 30)).astype(np.float32)
    return rows, (signal * rows[:, :5].sum(axis=1) + 2 * draw.normal(size=people) > 0).astype(np.int64)


def attacked(data: Data, size: int, seed: int, how: Stacked, counts: tuple[int, int]) -> dict[str, Any]:
    rows, labels = data
    draw = np.random.default_rng(seed)
    order = draw.permutation(len(labels))[: 2 * size]
    inside, outside = order[:size], order[size:]
    model = how.fit(rows[inside], labels[inside], seed=seed)
    start = time.process_time()
    found = pv.attacks.attack_model(
        model, (rows[inside], labels[inside]), (rows[outside], labels[outside]),
        refit=how, shadows=counts[0], models=counts[1], seed=seed,
    )  # fmt: skip
    right = float((model.predict(rows[outside]) == labels[outside]).mean())
    return dict(found.numbers) | {"seconds": time.process_time() - start, "accuracy": right, "score": found.score}


def over_seeds(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Each seed draws other records and trains another model: Student's interval of the mean over seeds."""
    told: dict[str, Any] = {"seeds": len(runs)} | {
        name: float(np.mean([run[name] for run in runs])) for name in ("seconds", "accuracy", "shadows", "models")
    }
    for name in runs[0]["attacks"]:
        told[name] = {
            what: _mean([run["attacks"][name][what]["value"] for run in runs])
            for what in ("auc", "found", "models_auc", "models_found", "control_auc")
        }
    return told | _claims(runs)


def _claims(runs: list[dict[str, Any]]) -> dict[str, Any]:
    scores = [run["score"] for run in runs]
    return {
        "main": [run["main"] for run in runs],
        "claimed": sum(score.claimed for score in scores),
        "right": sum(score.right for score in scores),
        "claimed_others": sum(run["claimed_others"] for run in runs),
        "others": sum(run["slots"] for run in runs),
        "limited": sum(bool(run["limits"]) for run in runs),
    }


def _mean(values: list[float]) -> dict[str, float]:
    wide = (
        student(len(values) - 1, 0.05) * float(np.std(values, ddof=1)) / math.sqrt(len(values)) if values[1:] else 1.0
    )
    return {"mean": float(np.mean(values)), "low": float(np.mean(values)) - wide, "high": float(np.mean(values)) + wide}


def claims(seeds: Sequence[int], people: int, how: Stacked, counts: tuple[int, int]) -> dict[str, Any]:
    def one(seed: int) -> dict[str, Any]:
        return attacked(simulated(np.random.default_rng(seed), 2 * people), people, seed, how, counts)

    return {"seeds": len(seeds)} | _claims([one(seed) for seed in seeds])


def planted(seeds: Sequence[int], people: int, count: int, how: Stacked, counts: tuple[int, int]) -> dict[str, Any]:
    """Members far from the border of two classes, with the class of the other side. How many of them are among the
    first of the list of risks, as many as are planted; and among twice as many."""
    first, twice = 0, 0
    for seed in seeds:
        draw = np.random.default_rng(seed)
        rows = draw.normal(size=(2 * people, 30)).astype(np.float32)
        side = rows[:, :5].sum(axis=1)
        labels = (side > 0).astype(np.int64)
        wrong = np.flatnonzero(np.abs(side[:people]) > np.median(np.abs(side)))[:count]
        labels[wrong] = 1 - labels[wrong]
        inside = (rows[:people], labels[:people])
        model = how.fit(*inside, seed=seed)
        outside = (rows[people:], labels[people:])
        found = pv.attacks.attack_model(model, inside, outside, refit=how, shadows=counts[0], models=0, seed=seed)
        wanted = {f"member {place + 1}" for place in wrong}
        ranked = [one["name"] for one in found.numbers["risk"]]
        first += len(wanted & set(ranked[:count]))
        twice += len(wanted & set(ranked[: 2 * count]))
    return {"seeds": len(seeds), "planted": count * len(seeds), "in the first": first, "in twice as many": twice}


def speed(people: int, models: int, epochs: int) -> list[dict[str, Any]]:
    from sklearn.neural_network import MLPClassifier  # noqa: PLC0415  the peer

    draw, told = np.random.default_rng(0), []
    for columns, width, batch in ((100, 128, 200), (100, 128, 32), (30, 32, 32)):
        rows, labels = draw.normal(size=(2 * people, columns)), draw.integers(0, 2, 2 * people)
        chosen = [draw.permutation(2 * people)[:people] for _ in range(models)]
        start = time.process_time()
        how = Stacked(hidden=(width,), epochs=epochs, batch=batch, tol=-math.inf)
        how.fit_many(rows, labels, chosen, list(range(models)))
        middle = time.process_time()
        with warnings.catch_warnings(action="ignore"):  # that it could train for longer
            for places in chosen:
                peer = MLPClassifier((width,), max_iter=epochs, batch_size=batch, n_iter_no_change=epochs + 1)
                peer.fit(rows[places], labels[places])
        stacked, sequential = middle - start, time.process_time() - middle
        told.append(
            {"columns": columns, "width": width, "batch": batch, "models": models, "stacked": stacked,
             "sequential": sequential, "ratio": sequential / stacked}
        )  # fmt: skip
    return told


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
    texts = [_one_hot(np.array([row[name] for row in rows])) for name in TEXTS if name not in FAMILY]
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
            "largest": _mean([leak["value"] for leak in leaks]),
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
        told[name] = {kind: _mean([run["attacks"][name][kind]["value"] for run in runs]) for kind in kinds}
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


def main(given: Sequence[str] | None = None) -> None:
    parser = options(__doc__)
    parser.add_argument("--seeds", type=int, default=5, help="seeds of each part on real records (5)")
    parser.set_defaults(counts=(64, 4), few=(32, 4), people=(150, 600), claims=range(100, 120), times=(600, 16, 30))
    parser.set_defaults(laws=range(200, 500), again=8)
    read = parse(
        parser, given, seeds=2, counts=(4, 2), few=(4, 2), people=(30, 30), claims=range(2), times=(40, 2, 1),
        laws=range(2), again=3,
    )  # fmt: skip
    evidence, folder, (few, many) = Evidence(read, "models"), os.environ.get("PRIVET_DATA"), read.people
    tiny = Stacked(hidden=(4,), epochs=2, batch=32)
    overfit, shorter = (tiny, tiny) if read.tiny else (OVERFIT, SHORTER)
    calm = Stacked(hidden=(), epochs=5, batch=32, rate=1e-2)
    found: dict[str, Any] = {
        "claims, overfit": claims(read.claims, few, overfit, read.few),
        "claims, no leak": claims(read.claims, few, calm, read.few),
        "planted": planted(read.claims[: read.seeds], few, 5, overfit, read.few),
        "speed": speed(*read.times),
    }
    sets: dict[str, tuple[Data, Stacked]] = {}
    if read.tiny:
        sets = dict.fromkeys(("adult", "location30"), (simulated(np.random.default_rng(0), 200), tiny))
    elif folder is not None:
        sets = {"adult": (adult(Path(folder)), overfit), "location30": (location30(Path(folder)), shorter)}
    found["real"] = {
        name: over_seeds([attacked(data, many, seed, how, read.counts) for seed in range(read.seeds)])
        for name, (data, how) in sets.items()
    } or None
    homes = {"adult": smokers(0, 200, 1.0)} if read.tiny else {} if folder is None else {"adult": married(Path(folder))}
    found["attributes"] = attributes(read, homes, (overfit, calm))
    print(json.dumps(found, indent=2))
    evidence.save(found)


if __name__ == "__main__":
    main()

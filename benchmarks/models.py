"""Who is found in the training data of models: overfit networks on real records, and what claims are worth.

With PRIVET_DATA: networks of 128 units trained on 600 records of Adult, and on 600 of location30, until they know
them by heart; each seed draws other records, and every attack runs on the same models. Without: only simulated data.
Claims: simulated models that overfit, and models that do not leak, many seeds: how many claims are wrong. Planted:
records with a wrong class that the model knows by heart; whether they head the list of risks. Speed: networks trained
at once and one after the other, in processor seconds of the same run. Versions: who is recognized from two versions
of a network before and after an update. Attributes: see model_attributes.py. Private: the same records, learned by
Privet's own learners at epsilon 1; whether more coins are guessed right than that allows.
"""

from __future__ import annotations

import json
import math
import os
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from evidence import Evidence, options, parse
from model_attributes import attributes, married, smokers
from model_data import Data, adult, location30, mean, simulated
from model_versions import claims as versions_claims
from model_versions import ignored, reached, updated

import privet as pv
from privet.attacks.models.stacked import Stacked

OVERFIT = Stacked(hidden=(128,), epochs=150, batch=32)
DELTA = "1e-6"
SHORTER = Stacked(hidden=(128,), epochs=40, batch=32)  # knows records of 446 columns by heart


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


def attacked_privately(data: Data, size: int, seed: int, learner: Any, counts: tuple[int, int]) -> dict[str, Any]:
    """The same records as in `attacked`. Ranges are those of all records: here they are public."""
    rows, labels = data[0].astype(np.float64), data[1]
    order = np.random.default_rng(seed).permutation(len(labels))[: 2 * size]
    inside, outside = order[:size], order[size:]
    low, high = rows.min(axis=0), rows.max(axis=0)
    bounds = list(zip(low.tolist(), np.where(high > low, high, low + 1).tolist(), strict=True))
    classes = np.unique(labels).tolist()

    def fit(chosen: Any, known: Any) -> Any:
        return learner(epsilon=1, delta=DELTA, bounds=bounds, classes=classes).fit(chosen, known)

    model, start = fit(rows[inside], labels[inside]), time.process_time()
    found = pv.attacks.attack_model(
        model, (rows[inside], labels[inside]), (rows[outside], labels[outside]),
        refit=fit, shadows=counts[0], models=counts[1], seed=seed, privacy=pv.attacks.privacy(1, DELTA),
    )  # fmt: skip
    right = float((model.predict(rows[outside]) == labels[outside]).mean())
    return dict(found.numbers) | {
        "seconds": time.process_time() - start, "accuracy": right, "score": found.score,
    }  # fmt: skip


def private(sets: dict[str, tuple[Data, Stacked]], size: int, seeds: int, counts: tuple[int, int]) -> dict[str, Any]:
    from privet import learn  # noqa: PLC0415  brings scikit-learn

    told: dict[str, Any] = {}
    for name, (data, _) in sets.items():
        for learner in (learn.LogisticRegression, learn.MLPClassifier):
            runs = [attacked_privately(data, size, seed, learner, counts) for seed in range(seeds)]
            told[f"{name}, {learner.__name__}"] = over_seeds(runs) | {
                "violated": sum(run["violated"] for run in runs),
                "guessers": [run["guesser"] for run in runs],
                "coins": [run["coins"] for run in runs],
            }
    return told


def over_seeds(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Each seed draws other records and trains another model: Student's interval of the mean over seeds."""
    told: dict[str, Any] = {"seeds": len(runs)} | {
        name: float(np.mean([run[name] for run in runs])) for name in ("seconds", "accuracy", "shadows", "models")
    }
    for name in runs[0]["attacks"]:
        told[name] = {
            what: mean([run["attacks"][name][what]["value"] for run in runs])
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


def versions(sets: dict[str, tuple[Data, Stacked]], read: Any, how: Stacked, calm: Stacked) -> dict[str, Any]:
    """With shadow pairs, and where the attacker trains nothing."""
    sizes, few = read.update, read.small_update

    def drawn(seed: int) -> Data:
        return simulated(np.random.default_rng(seed), sum(few))

    found: dict[str, Any] = {
        "ignored update": ignored(drawn, few, read.claims, how),
        "no leak": versions_claims([updated(drawn(seed), few, seed, calm, read.pairs) for seed in read.claims]),
        "overfit": versions_claims([updated(drawn(seed), few, seed, how, read.pairs) for seed in read.claims]),
    }
    for name, (data, trained) in sets.items():
        for words, counts in (("", read.pairs), (", nothing trained", (0, 0))):
            runs = [updated(data, sizes, seed, trained, counts) for seed in range(read.seeds)]
            found[name + words] = reached(runs, mean)
    return found


def main(given: Sequence[str] | None = None) -> None:
    parser = options(__doc__)
    parser.add_argument("--seeds", type=int, default=5, help="seeds of each part on real records (5)")
    parser.add_argument(
        "--part", choices=("all", "versions", "attributes", "private"), default="all", help="what is measured (all)"
    )
    parser.set_defaults(
        counts=(64, 4), few=(32, 4), people=(150, 600), claims=range(100, 120), times=(600, 16, 30),
        pairs=(32, 2), update=(600, 50, 1000, 0), small_update=(150, 30, 300, 30), laws=range(200, 500), again=8,
        private=(16, 4),
    )  # fmt: skip
    read = parse(
        parser, given, seeds=2, counts=(4, 2), few=(4, 2), people=(30, 30), claims=range(2), times=(40, 2, 1),
        pairs=(4, 2), update=(40, 10, 110, 0), small_update=(40, 10, 110, 10), laws=range(2), again=3, private=(4, 2),
    )  # fmt: skip
    evidence, folder, (few, many) = Evidence(read, "models"), os.environ.get("PRIVET_DATA"), read.people
    tiny = Stacked(hidden=(4,), epochs=2, batch=32)
    overfit, shorter = (tiny, tiny) if read.tiny else (OVERFIT, SHORTER)
    calm = Stacked(hidden=(), epochs=5, batch=32, rate=1e-2)
    sets: dict[str, tuple[Data, Stacked]] = {}
    if read.tiny:
        sets = dict.fromkeys(("adult", "location30"), (simulated(np.random.default_rng(0), 200), tiny))
    elif folder is not None:
        sets = {"adult": (adult(Path(folder)), overfit), "location30": (location30(Path(folder)), shorter)}
    found: dict[str, Any] = {}
    if read.part in ("all", "versions"):
        found["versions"] = versions(sets, read, overfit, calm)
    if read.part in ("all", "attributes"):
        homes = {} if folder is None else {"adult": married(Path(folder))}
        homes = {"adult": smokers(0, 200, 1.0)} if read.tiny else homes
        found["attributes"] = attributes(read, homes, (overfit, calm))
    if read.part == "all":
        found |= {
            "claims, overfit": claims(read.claims, few, overfit, read.few),
            "claims, no leak": claims(read.claims, few, calm, read.few),
            "planted": planted(read.claims[: read.seeds], few, 5, overfit, read.few),
            "speed": speed(*read.times),
        }
        found["real"] = {
            name: over_seeds([attacked(data, many, seed, how, read.counts) for seed in range(read.seeds)])
            for name, (data, how) in sets.items()
        } or None
    if read.part in ("all", "private"):
        found["private"] = private(sets, many, read.seeds, read.private) or None
    print(json.dumps(found, indent=2))
    evidence.save(found)


if __name__ == "__main__":
    main()

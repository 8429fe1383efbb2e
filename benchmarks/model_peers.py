"""Who is found in the training data of the same models: Privet's attacks beside SACRO-ML's and ART's, in one run.

    python benchmarks/model_peers.py [--seeds 5] [--tiny] [--json FILE]

scikit-learn's networks of 128 units, trained on 600 records of Adult and on 600 of location30 until they know them by
heart (PRIVET_DATA; without it and with --tiny, simulated records). Each seed draws other records. All attackers get the
model, its 600 records, 600 others, and 64 shadow models (ART 16). AUC, and members found at 1 % false alarms, by the
same code from each attacker's scores. The peers (.venv-peers-models, built when it is missing) run with every setting
listed in peers/run_models.py; SACRO-ML's quantile regression learns from the same others that it is scored on.
"""

from __future__ import annotations

import json
import os
import pickle
import tempfile
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from evidence import Evidence, options, parse
from model_data import Data, adult, location30, mean, simulated
from peers.process import PeerError
from peers.sampler import Process
from sklearn.neural_network import MLPClassifier

import privet as pv
from privet.stats.roc import roc

RATE = 0.01


def attacked(data: Data, sizes: tuple[int, int, int], seed: int, epochs: int, peer: Process | None) -> dict[str, Any]:
    size, shadows, models = sizes
    order = np.random.default_rng(seed).permutation(len(data[1]))[: 2 * size]
    rows = data[0].astype(np.float64)  # in floats of half the width, chances of 1 are infinite odds to SACRO-ML
    inside, outside = ((rows[part], data[1][part]) for part in (order[:size], order[size:]))
    with warnings.catch_warnings(action="ignore"):  # that it could train for longer
        model = MLPClassifier((128,), max_iter=epochs, batch_size=32, random_state=seed).fit(*inside)
    start = time.process_time()
    found = pv.attacks.attack_model(model, inside, outside, shadows=shadows, models=models, seed=seed)
    told = {
        name: {"auc": one["auc"]["value"], "found": one["found"]["value"]}
        for name, one in found.numbers["attacks"].items()
    }
    told["all of Privet's"] = {"seconds": time.process_time() - start, "main": found.numbers["main"]}
    return told | ({} if peer is None else _of_peers(peer, model, inside, outside, shadows, seed))


def _of_peers(  # noqa: PLR0913, PLR0917  one model and what is known
    peer: Process, model: Any, inside: Data, outside: Data, shadows: int, seed: int
) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "model").write_bytes(pickle.dumps(model))
        np.savez(folder / "in.npz", rows_in=inside[0], labels_in=inside[1], rows_out=outside[0], labels_out=outside[1])
        places = {"model": str(folder / "model"), "path": str(folder / "in.npz"), "out": str(folder / "out.npz")}
        answer = peer.ask(places | {"shadows": shadows, "seed": seed})
        scores = np.load(folder / "out.npz")
        told: dict[str, Any] = {one: {"failed": why} for one, why in answer["failed"].items()}
        for one in scores.files:
            values = np.nan_to_num(scores[one], nan=-np.inf)
            curve = roc(values[: len(inside[1])], values[len(inside[1]) :])
            told[one] = {
                "auc": curve.auc.value, "found": curve.tpr_at(RATE).value, "seconds": answer["seconds"][one],
            }  # fmt: skip
    return told


def over_seeds(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Means over seeds with Student's intervals; where an attack failed, its words."""
    told: dict[str, Any] = {}
    for name in runs[0]:
        fields = [run.get(name, {}) for run in runs]
        failed = [one["failed"] for one in fields if "failed" in one]
        if failed:
            told[name] = {"failed": failed[0], "times": len(failed)}
        else:
            numbers = [key for key in fields[0] if isinstance(fields[0][key], float)]
            told[name] = {key: mean([one[key] for one in fields]) for key in numbers}
            told[name] |= {key: [one[key] for one in fields] for key in fields[0] if key not in numbers}
    return told


def main(given: Sequence[str] | None = None) -> None:
    parser = options(__doc__)
    parser.add_argument("--seeds", type=int, default=5, help="draws of records (5)")
    parser.set_defaults(sizes=(600, 64, 0), epochs=(150, 40))
    read = parse(parser, given, seeds=2, sizes=(40, 6, 0), epochs=(5, 5))
    evidence, folder = Evidence(read, "model-peers"), os.environ.get("PRIVET_DATA")
    sets = dict.fromkeys(("adult", "location30"), simulated(np.random.default_rng(0), 200))
    if folder is not None and not read.tiny:
        sets = {"adult": adult(Path(folder)), "location30": location30(Path(folder))}
    try:
        peer = Process("models", "run_models.py")
    except PeerError as error:
        print(f"the peers do not run here: {error}")
        peer = None
    found: dict[str, Any] = {"versions": {} if peer is None else peer.versions, "seeds": read.seeds, "sets": {}}
    for (name, data), epochs in zip(sets.items(), read.epochs, strict=True):
        runs = [attacked(data, read.sizes, seed, epochs, peer) for seed in range(read.seeds)]
        found["sets"][name] = over_seeds(runs)
        evidence.save(found)
    if peer is not None:
        peer.close()
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()

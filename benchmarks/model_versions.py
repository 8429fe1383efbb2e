"""Who is recognized from two versions of a model: overfit networks before and after an update, and updates that say
nothing. A part of models.py."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

import privet as pv
from privet.attacks.models.stacked import Stacked

Data = tuple[npt.NDArray[np.float32], npt.NDArray[np.int64]]
Mean = Callable[[list[float]], dict[str, float]]


Sizes = tuple[int, int, int, int]  # records in both versions, added ones, others, and candidates in neither version


def updated(data: Data, sizes: Sizes, seed: int, how: Stacked, counts: tuple[int, int]) -> pv.attacks.Findings:
    """All records are drawn anew for each seed. Each version is trained with its own seed. Without counts of pairs,
    the attacker trains nothing."""
    rows, labels = data
    order = np.random.default_rng(seed).permutation(len(labels))[: sum(sizes)]
    base, added, others, neither = np.split(order, np.cumsum(sizes)[:3])
    asked, after = np.concatenate([added, neither]), np.concatenate([base, added])
    pair = [how.fit(rows[part], labels[part], seed=2 * seed + place) for place, part in enumerate((base, after))]
    truth = ["added"] * len(added) + ["neither"] * len(neither)
    return pv.attacks.attack_versions(
        *pair, (rows[asked], labels[asked]), (rows[others], labels[others]), truth=truth,
        base=(rows[base], labels[base]), refit=how, shadows=counts[0], models=counts[1], seed=seed,
    )  # fmt: skip


def reached(runs: list[pv.attacks.Findings], mean: Mean) -> dict[str, Any]:
    """Over draws of records; each attack on both versions, and on the later one alone."""
    parts = [dict(run.numbers["added"]) for run in runs]
    told: dict[str, Any] = {"seeds": len(runs), "records": sum(part["records"] for part in parts)}
    for name in parts[0]["attacks"]:
        told[name] = {
            what: mean([part["attacks"][name][what]["value"] for part in parts])
            for what in ("auc", "found", "alone", "control")
        }
    return told | claims(runs)


def claims(runs: list[pv.attacks.Findings]) -> dict[str, Any]:
    scores = [run.score for run in runs if run.score is not None]
    return {
        "main": [run.numbers["added"]["main"] for run in runs],
        "claimed": sum(score.claimed for score in scores),
        "right": sum(score.right for score in scores),
        "runs with claims": sum(bool(score.claimed) for score in scores),
        "alarms": sum(run.alarm == "bad" for run in runs),
        "limited": sum(bool(run.numbers["limits"]) for run in runs),
    }


def ignored(data: Callable[[int], Data], sizes: Sizes, seeds: Sequence[int], how: Stacked) -> Any:
    """Both versions are trained on the old records: whoever is claimed is claimed wrongly."""
    claimed, hits, records = 0, 0, 0
    for seed in seeds:
        rows, labels = data(seed)
        base, added, others, _ = np.split(np.arange(sum(sizes)), np.cumsum(sizes)[:3])
        pair = [how.fit(rows[base], labels[base], seed=2 * seed + place) for place in (0, 1)]
        found = pv.attacks.attack_versions(
            *pair, (rows[added], labels[added]), (rows[others], labels[others]), truth=["added"] * len(added), seed=seed
        )
        part = found.numbers["added"]
        claimed, records = claimed + found.claimed, records + len(added)
        hits += round(part["attacks"][part["main"]]["found"]["value"] * len(added))
    return {"seeds": len(seeds), "records": records, "recognized": hits, "claimed": claimed}

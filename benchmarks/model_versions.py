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


def updated(
    data: Data, sizes: tuple[int, int, int], seed: int, how: Stacked, counts: tuple[int, int]
) -> pv.attacks.Findings:
    """Records of both versions, added ones and others are drawn anew for each seed. Each version is trained with its
    own seed. Without counts of pairs, the attacker trains nothing."""
    rows, labels = data
    base, added, others = np.split(
        np.random.default_rng(seed).permutation(len(labels))[: sum(sizes)], np.cumsum(sizes)[:2]
    )
    after = np.concatenate([base, added])
    pair = [how.fit(rows[part], labels[part], seed=2 * seed + place) for place, part in enumerate((base, after))]
    return pv.attacks.attack_versions(
        *pair, (rows[added], labels[added]), (rows[others], labels[others]), truth=["added"] * len(added),
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


def ignored(data: Callable[[int], Data], sizes: tuple[int, int, int], seeds: Sequence[int], how: Stacked) -> Any:
    """Both versions are trained on the old records: whoever is claimed is claimed wrongly."""
    claimed, hits, records = 0, 0, 0
    for seed in seeds:
        rows, labels = data(seed)
        base, added, others = np.split(np.arange(sum(sizes)), np.cumsum(sizes)[:2])
        pair = [how.fit(rows[base], labels[base], seed=2 * seed + place) for place in (0, 1)]
        found = pv.attacks.attack_versions(
            *pair, (rows[added], labels[added]), (rows[others], labels[others]), truth=["added"] * len(added), seed=seed
        )
        part = found.numbers["added"]
        claimed, records = claimed + found.claimed, records + len(added)
        hits += round(part["attacks"][part["main"]]["found"]["value"] * len(added))
    return {"seeds": len(seeds), "records": records, "recognized": hits, "claimed": claimed}

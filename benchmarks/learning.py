"""Learners under differential privacy beside diffprivlib's and scikit-learn's, in one run.

    PRIVET_DATA=folder python benchmarks/learning.py [--only NAME ...] [--tasks NAME ...] [--tiny] [--json FILE]
        [--resume] [--speed]

A cell is a task, an estimator, an epsilon and a delta. Privet fits with its defaults and what has to be declared;
diffprivlib (.venv-peers-learning, built when it is missing) with its defaults and with every call of CALLS, given the
same bounds. It has no delta: its figures stand beside both of ours. `peer` is that call which scores best in the cell,
chosen afterwards, which is luck that nobody has who has to choose beforehand. Not every one of its calls keeps what it
promises: see audit_peers.py. Its GaussianNB makes noisy counts add up to the exact number of rows, and charges somebody
who changes class once for two classes. Classes it takes from the data. A fit of its that takes more than PATIENCE, or
fails, ends that call in the cell, with the reason in `failures`.

Each seed splits the table anew, 7 : 3, for everybody. Scores, all of the test rows and all "higher is better":
accuracy; R2; for k-means the share of the squared distances to the mean that the centres take away, for PCA the share
of the variance that the components span. The base rate is the most frequent class, 0, 0, and that of components drawn
at random. `privet`, `peer` and so on: mean over the seeds and half the width of its 95 % interval.

Not worse: the 95 % interval of the difference to the best call, seed by seed, reaches 0 or lies above it. Better: it
lies above 0. A cell counts as learnable where anybody's interval lies above the base rate.
"""

from __future__ import annotations

import json
import math
import os
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from evidence import Evidence, commit, options, parse
from learning_speed import speed
from learning_tasks import TASKS, Array, Task, generated
from peers.process import PeerError
from peers.sampler import Process
from scipy.stats import t as student
from sklearn import cluster, decomposition, linear_model, naive_bayes

SEEDS = 10
EPSILONS = (0.1, 1.0, 8.0)
DELTAS = (0.0, 1e-6)
TRAIN = 0.7
LARGE = 5_000  # rows: there scikit-learn's k-means needs no further starts
PATIENCE = 10.0  # seconds of processor time for one fit of the peer
Call = dict[str, Any]


@dataclass(frozen=True)
class Kind:
    """An estimator by its name in Privet. `declared` and `calls` are of a task; the first call is the default one."""

    name: str
    fits: Callable[[Task], bool]
    declared: Callable[[Task], Call]
    plain: Callable[[Task], Any]
    peer: str
    calls: Callable[[Task], list[Call]]


def _norm(task: Task, share: float) -> float:
    return share * math.sqrt(task.rows.shape[1])


def _classes(task: Task) -> Call:
    return {"bounds": (0, 1), "classes": list(task.classes)}


def _logistic_calls(task: Task) -> list[Call]:
    return [
        {"data_norm": _norm(task, share), "C": c, "max_iter": 1000} for share in (1, 0.5, 0.25) for c in (1.0, 0.01)
    ]


def _bayes_calls(_: Task) -> list[Call]:
    return [{"bounds": (0.0, 1.0), "var_smoothing": smoothing} for smoothing in (1e-9, 1e-3, 1e-2, 1e-1)]


def _component_calls(task: Task) -> list[Call]:
    plain = {"n_components": task.components, "bounds": (0.0, 1.0)}
    return [
        plain | {"data_norm": _norm(task, share), "centered": centered}
        for centered, share in ((False, 1), (False, 0.5), (False, 0.25), (True, 0.5), (True, 0.25))
    ]


def _line_calls(_: Task) -> list[Call]:
    return [{"bounds_X": (0.0, 1.0), "bounds_y": (0.0, 1.0), "fit_intercept": one} for one in (True, False)]


KINDS = (
    Kind(
        "LogisticRegression",
        lambda task: task.labels is not None,
        _classes,
        lambda _: linear_model.LogisticRegression(max_iter=2000),
        "LogisticRegression",
        _logistic_calls,
    ),
    Kind(
        "LinearRegression",
        lambda task: task.targets is not None,
        lambda _: {"bounds": (0, 1), "targets": (0, 1)},
        lambda _: linear_model.LinearRegression(),
        "LinearRegression",
        _line_calls,
    ),
    Kind(
        "GaussianNB",
        lambda task: task.labels is not None,
        _classes,
        lambda _: naive_bayes.GaussianNB(),
        "GaussianNB",
        _bayes_calls,
    ),
    Kind(
        "CategoricalNB",
        lambda task: (task.labels is not None and task.numbers < task.rows.shape[1]) or task.name == "generated",
        lambda task: {
            "categories": [list(range(size)) for size in task.categories],
            "classes": list(task.classes),
        },
        lambda task: naive_bayes.CategoricalNB(min_categories=list(task.categories)),
        "GaussianNB",
        _bayes_calls,
    ),
    Kind(
        "KMeans",
        lambda task: task.clusters > 0,
        lambda task: {"n_clusters": task.clusters, "bounds": (0, 1)},
        lambda task: cluster.KMeans(task.clusters, n_init=1 if len(task.rows) > LARGE else 5, random_state=0),
        "KMeans",
        lambda task: [{"n_clusters": task.clusters, "bounds": (0.0, 1.0)}],
    ),
    Kind(
        "PCA",
        lambda task: task.components > 0,
        lambda task: {"n_components": task.components, "bounds": (0, 1)},
        lambda task: decomposition.PCA(task.components),
        "PCA",
        _component_calls,
    ),
)


@dataclass(frozen=True)
class Split:
    """One seed's rows, for one estimator."""

    seed: int
    train: Array
    test: Array
    target: Array | None
    truth: Array | None

    @classmethod
    def of(cls, task: Task, name: str, seed: int) -> Split:
        order = np.random.default_rng(seed).permutation(len(task.rows))
        first, second = np.split(order, [int(TRAIN * len(order))])
        rows = matrix(task, name)
        target = {"LinearRegression": task.targets, "KMeans": None, "PCA": None}.get(name, task.labels)
        labels = (None, None) if target is None else (target[first], target[second])
        return cls(seed, rows[first], rows[second], *labels)

    def arguments(self) -> tuple[Array, ...]:
        return (self.train,) if self.target is None else (self.train, self.target)


def matrix(task: Task, name: str) -> Array:
    """Clusters and components are those of the numbers."""
    if name == "CategoricalNB":
        return task.codes
    return task.rows[:, : task.numbers] if name in ("KMeans", "PCA") else task.rows


def found(model: Any, name: str, split: Split) -> Array:
    plain = {"KMeans": "cluster_centers_", "PCA": "components_"}.get(name)
    return np.asarray(getattr(model, plain) if plain else model.predict(split.test))


def score(name: str, split: Split, what: Array) -> float:
    """Higher is better: see above."""
    if name in ("KMeans", "PCA"):
        middled = split.test - split.test.mean(axis=0)
        whole = float((middled**2).sum())
        if name == "PCA":
            return float(((middled @ what.T) ** 2).sum()) / whole
        to = ((split.test[:, None, :] - what[None, :, :]) ** 2).sum(axis=2) if len(what) else middled**2
        return 1 - float(to.min(axis=1).sum()) / whole
    if name == "LinearRegression":
        return 1 - float(((split.truth - what) ** 2).sum()) / float(((split.truth - split.truth.mean()) ** 2).sum())
    return float(np.mean(what == split.truth))


def base(name: str, task: Task, split: Split) -> float:
    if name == "PCA":
        return task.components / split.test.shape[1]
    if name in ("KMeans", "LinearRegression"):
        return 0.0
    values, counts = np.unique(split.target, return_counts=True)
    return float(np.mean(split.truth == values[counts.argmax()]))


def narrow(task: Task, name: str) -> Task:
    """The task with the matrix that the estimator gets: norms are of its columns."""
    rows = task.rows if name == "CategoricalNB" else matrix(task, name)
    return Task(**{**vars(task), "rows": rows})


class Learners:
    """Everybody's scores, seed by seed. The peer is None where it could not be installed."""

    def __init__(self, peer: Process | None, folder: Path) -> None:
        self.peer, self.folder = peer, folder
        self.failures: dict[str, str] = {}  # of calls, in the peer's words

    def privet(self, kind: Kind, task: Task, split: Split, epsilon: float, delta: float) -> tuple[float, float]:
        from privet import learn  # noqa: PLC0415  scripts that only list tasks do without

        model = getattr(learn, kind.name)(epsilon=epsilon, delta=delta, **kind.declared(task))
        begun = time.process_time()
        model.fit(*split.arguments())
        seconds = time.process_time() - begun
        return score(kind.name, split, found(model, kind.name, split)), seconds

    def plain(self, kind: Kind, task: Task, split: Split) -> float:
        model = kind.plain(task).fit(*split.arguments())
        return score(kind.name, split, found(model, kind.name, split))

    def all_of(self, kind: Kind, splits: Sequence[Split], call: Call) -> list[float]:
        """Seed by seed, up to the first one with which it fails."""
        scores: list[float] = []
        for split in splits:
            failed = bool(scores) and not math.isfinite(scores[-1])
            scores.append(-math.inf if failed else self.others(kind, split, call))
        return scores

    def others(self, kind: Kind, split: Split, call: Call) -> float:
        """A peer that fails, or takes more than PATIENCE, scores nothing: -inf."""
        given, out = self.folder / "in.npz", self.folder / "out.npy"
        moved = {"train": split.train, "test": split.test}
        if call.get("centered"):  # the caller's part: from the middle of the bounds
            moved = {side: rows - 0.5 for side, rows in moved.items()}
        np.savez(given, **moved, **({} if split.target is None else {"target": split.target}))
        ask = {"model": kind.peer, "arguments": call, "path": str(given), "out": str(out), "seed": split.seed}
        ask["patience"] = PATIENCE
        try:
            self.peer.ask(ask)
        except PeerError as error:
            self.failures[json.dumps(call)] = str(error)
            return -math.inf
        what = np.load(out)
        return score(kind.name, split, what) if np.isfinite(what).all() else -math.inf


def interval(scores: Sequence[float]) -> list[float]:
    """Mean, and half the width of its 95 % interval."""
    values = np.array(scores, float)
    if not np.isfinite(values).all():
        return [-math.inf, 0.0]
    half = student.ppf(0.975, len(values) - 1) * values.std(ddof=1) / math.sqrt(len(values)) if len(values) > 1 else 0.0
    return [float(values.mean()), float(half)]


def above(scores: Sequence[float], others: Sequence[float]) -> tuple[bool, bool]:
    """Is the one not worse, and is it better, seed by seed?"""
    if not np.isfinite(others).all():
        return True, True
    mean, half = interval([one - other for one, other in zip(scores, others, strict=True)])
    return mean + half >= 0, mean - half > 0


def compared(task: Task, kind: Kind, learners: Learners, read: Any) -> list[dict[str, Any]]:
    """The cells of one estimator on one task."""
    shaped = narrow(task, kind.name)
    splits = [Split.of(task, kind.name, seed) for seed in range(read.seeds)]
    peers = splits
    if kind.peer != kind.name:
        peers = [Split.of(task, kind.peer, seed) for seed in range(read.seeds)]
    plain = [learners.plain(kind, shaped, split) for split in splits]
    bases = [base(kind.name, shaped, split) for split in splits]
    cells = []
    for epsilon in EPSILONS:
        calls = kind.calls(shaped) if learners.peer else []
        learners.failures.clear()
        theirs = [learners.all_of(kind, peers, call | {"epsilon": epsilon}) for call in calls]
        for delta in DELTAS:
            runs = [learners.privet(kind, shaped, split, epsilon, delta) for split in splits]
            ours = [one for one, _ in runs]
            cell = {"task": task.name, "estimator": kind.name, "epsilon": epsilon, "delta": delta}
            cell |= {"privet": interval(ours), "plain": interval(plain), "base": interval(bases)[0]}
            cell |= {"seconds": float(np.mean([seconds for _, seconds in runs]))}
            cell["learnable"] = above(ours, bases)[1]
            cell |= {"failures": dict(learners.failures)} if learners.failures else {}
            cells.append(rounded(cell | beside(ours, theirs, calls, bases, cell["learnable"])))
            show(cells[-1])
    return cells


def beside(
    ours: list[float], theirs: list[list[float]], calls: list[Call], bases: list[float], learnable: bool
) -> dict[str, Any]:
    if not theirs:
        return {}
    best = max(range(len(theirs)), key=lambda call: interval(theirs[call])[0])
    not_worse, better = above(ours, theirs[best])
    if np.isfinite(theirs[best]).all():
        learnable = learnable or above(theirs[best], bases)[1]
    facts = {"peer_default": interval(theirs[0]), "peer": interval(theirs[best]), "call": calls[best]}
    return facts | {"not_worse": not_worse, "better": better, "learnable": learnable}


def rounded(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, 4) if math.isfinite(value) else None
    if isinstance(value, list):
        return [rounded(one) for one in value]
    if isinstance(value, dict):
        return {name: one if name in ("epsilon", "delta") else rounded(one) for name, one in value.items()}
    return value


def show(cell: dict[str, Any]) -> None:
    words = f"{cell['task']:<14}{cell['estimator']:<19}{cell['epsilon']:>5g} {cell['delta']:<6g}"
    words += f"{cell['privet'][0]:>8.3f} ±{cell['privet'][1]:.3f}"
    for who in ("peer", "peer_default"):
        mean = cell.get(who, [None])[0]
        words += f"{'-' if mean is None else format(mean, '.3f'):>9}"
    sign = "" if "better" not in cell else "better" if cell["better"] else "same" if cell["not_worse"] else "WORSE"
    print(f"{words}{cell['plain'][0]:>8.3f}{cell['base']:>8.3f}{cell['seconds']:>8.2f} s  {sign}", flush=True)


def summary(cells: list[dict[str, Any]]) -> dict[str, Any]:
    judged = [cell for cell in cells if "better" in cell]
    learnable = [cell for cell in judged if cell["learnable"]]
    return {
        "cells": len(cells),
        "beside_peer": len(judged),
        "not_worse": sum(cell["not_worse"] for cell in judged),
        "learnable": len(learnable),
        "better": sum(cell["better"] for cell in learnable),
    }


def by_estimator(cells: list[dict[str, Any]]) -> dict[str, Any]:
    names = list(dict.fromkeys(cell["estimator"] for cell in cells))
    return {name: summary([cell for cell in cells if cell["estimator"] == name]) for name in names}


def _peer() -> Process | None:
    try:
        return Process("learning", "run_learning.py")
    except PeerError as error:
        print(f"diffprivlib does not run here: {error}")
        return None


def kept(read: Any) -> list[dict[str, Any]]:
    """With --resume the cells of a run of this commit that was cut off."""
    if not (read.resume and read.json and read.json.exists()):
        return []
    result = json.loads(read.json.read_text(encoding="utf-8"))["result"]
    same = result["commit"] == commit()["commit"] and result["seeds"] == read.seeds
    return result["cells"] if same else []


def measure(read: Any, peer: Process | None, evidence: Evidence) -> list[dict[str, Any]]:
    """The file is written again after each estimator of each task."""
    tasks = [task for source in ((generated,) if read.tiny else TASKS) for task in source()]
    cells = kept(read)
    done = {(cell["estimator"], cell["task"]) for cell in cells}
    versions = {"versions": {} if peer is None else peer.versions}
    with tempfile.TemporaryDirectory() as folder:
        learners = Learners(peer, Path(folder))
        for kind in KINDS:
            for task in tasks:
                wanted = kind.name in (read.only or [kind.name]) and task.name in (read.tasks or [task.name])
                if wanted and kind.fits(task) and (kind.name, task.name) not in done:
                    cells += compared(task, kind, learners, read)
                    result = {"seeds": read.seeds, "summary": summary(cells), "estimators": by_estimator(cells)}
                    evidence.save(versions | result | {"cells": cells})
    return cells


def main(given: Sequence[str] | None = None) -> None:
    parser = options(__doc__)
    parser.add_argument("--only", nargs="*", metavar="NAME", help="these estimators")
    parser.add_argument("--tasks", nargs="*", metavar="NAME", help="these tasks")
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--resume", action="store_true", help="go on where a run of this commit was cut off")
    parser.add_argument("--speed", action="store_true", help="a million rows beside scikit-learn instead")
    read = parse(parser, given, seeds=2)
    if read.speed:
        Evidence(read, "learning-speed").save(speed(read.tiny))
        return
    if not read.tiny and "PRIVET_DATA" not in os.environ:
        print("PRIVET_DATA is not set: only the tables of scikit-learn")
    evidence, peer = Evidence(read, "learning"), _peer()
    heads = f"{'privet':>15}{'peer':>9}{'default':>9}{'plain':>8}{'base':>8}"
    print(f"{'task':<14}{'estimator':<19}{'eps':>5} {'delta':<6}{heads}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scikit-learn's, about figures that are not private
        cells = measure(read, peer, evidence)
    if peer is not None:
        peer.close()
    whole = summary(cells)
    print(
        f"not worse in {whole['not_worse']} of {whole['beside_peer']} cells, better in {whole['better']} of the "
        f"{whole['learnable']} in which anybody clearly beats the base rate"
    )


if __name__ == "__main__":
    main()

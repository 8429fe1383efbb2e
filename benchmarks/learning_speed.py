"""Logistic regression of a million rows beside scikit-learn's, both in this process: `learning.py --speed`."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression as Exact

ROWS, COLUMNS, TIMES = 1_000_000, 50, 3
CALLS = {"delta 1e-6": {"delta": 1e-6}, "delta 0": {"delta": 0}}


def speed(tiny: bool) -> dict[str, Any]:
    """Seconds of processor time, the least of some, one after the other in each turn."""
    from privet.learn import LogisticRegression  # noqa: PLC0415  as in learning.py

    rows, times = (2000, 1) if tiny else (ROWS, TIMES)
    chance = np.random.default_rng(1)
    matrix = chance.normal(size=(rows, COLUMNS))
    slopes = chance.normal(size=COLUMNS) / COLUMNS**0.5 * 3
    labels = (chance.random(rows) < 1 / (1 + np.exp(-matrix @ slopes))).astype(int)
    models: dict[str, Any] = {"scikit-learn": Exact}
    for name, call in CALLS.items():
        models[name] = lambda call=call: LogisticRegression(epsilon=1, bounds=(-5, 5), classes=[0, 1], **call)
    seconds: dict[str, list[float]] = {name: [] for name in models}
    scores = {}
    for _ in range(times):
        for name, make in models.items():
            begun = time.process_time()
            model = make().fit(matrix, labels)
            seconds[name].append(time.process_time() - begun)
            scores[name] = round(float(model.score(matrix, labels)), 4)
    least = {name: round(min(taken), 2) for name, taken in seconds.items()}
    ratios = {name: round(min(seconds[name]) / min(seconds["scikit-learn"]), 1) for name in CALLS}
    for name in models:
        print(f"{name:<14}{least[name]:>8.2f} s{scores[name]:>9.4f}")
    return {"rows": rows, "columns": COLUMNS, "seconds": least, "ratios": ratios, "accuracy": scores}

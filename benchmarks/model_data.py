"""Records on which models are trained, and means over draws. For benchmarks of attacks on models."""

from __future__ import annotations

import csv
import gzip
import math
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from privet.attacks.models.over_models import student

Floats = npt.NDArray[np.float64]
Data = tuple[npt.NDArray[np.float32], npt.NDArray[np.int64]]
NUMBERS = ("age", "educational-num", "capital-gain", "capital-loss", "hours-per-week")
FAMILY = ("marital-status", "relationship")
TEXTS = ("workclass", "marital-status", "occupation", "relationship", "race", "gender")


def adult(folder: Path) -> Data:
    with gzip.open(folder / "adult_full" / "adult_full_48842.csv.gz", "rt") as file:
        rows = list(csv.DictReader(file))
    numbers = np.array([[float(row[name]) for name in NUMBERS] for row in rows])
    numbers = (numbers - numbers.mean(axis=0)) / numbers.std(axis=0)
    texts = [one_hot(np.array([row[name] for row in rows])) for name in TEXTS]
    return np.column_stack([numbers, *texts]).astype(np.float32), np.array(
        [row["income"] == ">50K" for row in rows], int
    )


def one_hot(values: npt.NDArray[Any]) -> Floats:
    found, places = np.unique(values, return_inverse=True)
    return np.eye(len(found))[places]


def location30(folder: Path) -> Data:
    table = np.loadtxt(folder / "location30" / "location30.csv.gz", delimiter=",", dtype=np.int64)
    return table[:, 1:].astype(np.float32), table[:, 0]


def simulated(draw: np.random.Generator, people: int, signal: float = 1.0) -> Data:
    """Thirty columns, of which a yes or no depends in part."""
    rows = draw.normal(size=(people, 30)).astype(np.float32)
    return rows, (signal * rows[:, :5].sum(axis=1) + 2 * draw.normal(size=people) > 0).astype(np.int64)


def mean(values: list[float]) -> dict[str, float]:
    wide = (
        student(len(values) - 1, 0.05) * float(np.std(values, ddof=1)) / math.sqrt(len(values)) if values[1:] else 1.0
    )
    return {"mean": float(np.mean(values)), "low": float(np.mean(values)) - wide, "high": float(np.mean(values)) + wide}

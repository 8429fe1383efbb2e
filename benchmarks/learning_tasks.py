"""The tasks of learning.py: tables that everybody has, and four from PRIVET_DATA. Bounds and categories are declared.

A declared bound is a round number that somebody who has not seen the table could write down: a code book's, or that of
the quantity. Every learner, Privet's and the peer's, gets the same matrix: numbers scaled from their bounds to 0..1,
and a column for each category.
"""

from __future__ import annotations

import csv
import gzip
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine

Array = np.ndarray[Any, Any]
BINS = 8  # of a number, where a learner takes categories

# The ten quantities of load_breast_cancer, and how much the mean, its standard error and the worst may reach.
CANCER = (30, 40, 200, 2500, 0.2, 0.4, 0.5, 0.25, 0.4, 0.1)
CANCER_FACTORS = (1, 0.2, 1.5)
DIABETES = ((18, 90), (1, 2), (15, 45), (60, 140), (90, 320), (40, 250), (20, 100), (2, 10), (3, 6.5), (50, 130))

ADULT_NUMBERS = {
    "age": (17, 90),
    "educational-num": (1, 16),
    "capital-gain": (0, 20_000),
    "capital-loss": (0, 4_000),
    "hours-per-week": (0, 80),
}
ADULT_WORDS = {
    "workclass": "Federal-gov Local-gov Never-worked Private Self-emp-inc Self-emp-not-inc State-gov Without-pay ?",
    "marital-status": "Divorced Married-AF-spouse Married-civ-spouse Married-spouse-absent Never-married Separated "
    "Widowed",
    "occupation": "Adm-clerical Armed-Forces Craft-repair Exec-managerial Farming-fishing Handlers-cleaners "
    "Machine-op-inspct Other-service Priv-house-serv Prof-specialty Protective-serv Sales Tech-support "
    "Transport-moving ?",
    "relationship": "Husband Not-in-family Other-relative Own-child Unmarried Wife",
    "race": "Amer-Indian-Eskimo Asian-Pac-Islander Black Other White",
    "gender": "Female Male",
}
NIST_NUMBERS = {"AGEP": (0, 99), "EDU": (0, 12), "NOC": (0, 8), "NPF": (0, 12)}  # "N" reads as 0
NIST_WORDS = {
    "SEX": "1 2",
    "MSP": "1 2 3 4 5 6",
    "HISP": "0 1 2 3 4",
    "RAC1P": "1 2 3 4 5 6 7 8 9",
    "HOUSING_TYPE": "1 2 3",
    "OWN_RENT": "0 1 2",
    "INDP_CAT": "N 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18",
    "DPHY": "1 2 N",
}
PUMS_NUMBERS = {
    "age": (18, 95),
    "educ": (1, 16),
    "children": (0, 10),
    "englishability": (0, 4),
}
PUMS_WORDS = dict.fromkeys(
    ("sex", "latino", "black", "asian", "married", "divorced", "uscitizen", "disability", "militaryservice"), "0 1"
) | {"employed": "0 1"}
INCOME = (0, 100_000)


@dataclass(frozen=True)
class Task:
    """A matrix in 0..1 (`rows`), codes of categories (`codes`, each below `categories`), and what is predicted."""

    name: str
    rows: Array
    numbers: int  # that many columns of `rows`, the first ones, are numbers
    codes: Array
    categories: tuple[int, ...]
    labels: Array | None = None
    classes: tuple[int, ...] = ()
    targets: Array | None = None
    clusters: int = 0
    components: int = 0


def bundled() -> Iterator[Task]:
    """Those that scikit-learn has in it."""
    cancer = load_breast_cancer()
    tops = [top * factor for factor in CANCER_FACTORS for top in CANCER]
    yield _numeric("breast_cancer", cancer.data, [(0, top) for top in tops], cancer.target, clusters=3, components=5)
    digits = load_digits()
    yield _numeric("digits", digits.data, [(0, 16)] * 64, digits.target, clusters=10, components=10)
    diabetes = load_diabetes(scaled=False)
    rows = _scaled(diabetes.data, DIABETES)
    yield Task("diabetes", rows, rows.shape[1], *_binned(rows), targets=np.clip(diabetes.target, 0, 400) / 400)


def others() -> Iterator[Task]:
    """Small tables on which defaults are chosen: no result comes from them."""
    wine, iris = load_wine(), load_iris()
    tops = (20, 8, 5, 40, 200, 5, 7, 1, 5, 20, 3, 5, 2000)
    yield _numeric("wine", wine.data, [(0, top) for top in tops], wine.target, clusters=3, components=3)
    yield _numeric("iris", iris.data, [(0, 10)] * 4, iris.target, clusters=3, components=2)


def real() -> Iterator[Task]:
    """Those of PRIVET_DATA; none where it is not set."""
    given = os.environ.get("PRIVET_DATA")
    if given is None:
        return
    folder = Path(given)
    yield from _adult(folder / "adult_full" / "adult_full_48842.csv.gz")
    yield from _nist(folder / "nist_excerpts" / "national2019.csv.gz")
    yield from _pums(folder / "pums_fulton" / "FultonPUMS5full.csv.gz")


def generated() -> Iterator[Task]:
    """For --tiny: two classes, a line, and two clusters in three columns."""
    chance = np.random.default_rng(1)
    labels = chance.integers(0, 2, 120)
    rows = np.clip(chance.normal(0.3 + 0.4 * labels[:, None], 0.1, (120, 3)), 0, 1)
    yield Task(
        "generated", rows, 3, *_binned(rows), labels, (0, 1), targets=rows.mean(axis=1), clusters=2, components=1
    )


def _numeric(name: str, data: Array, bounds: Any, labels: Array, **sizes: int) -> Task:
    rows, classes = _scaled(data, bounds), tuple(range(int(labels.max()) + 1))
    return Task(name, rows, rows.shape[1], *_binned(rows), labels, classes, **sizes)


def _adult(path: Path) -> Iterator[Task]:
    table = _read(path)
    label = np.array([row["income"] == ">50K" for row in table], np.int64)
    yield _mixed("adult", table, ADULT_NUMBERS, ADULT_WORDS, label, clusters=6, components=2)


def _nist(path: Path) -> Iterator[Task]:
    """Who has an income above the median of their state? People of 15 years or older."""
    table = [row for row in _read(path) if row["PINCP_DECILE"] != "N"]
    label = np.array([int(row["PINCP_DECILE"]) >= 5 for row in table], np.int64)
    yield _mixed("nist_income", table, NIST_NUMBERS, NIST_WORDS, label, clusters=6, components=2)


def _pums(path: Path) -> Iterator[Task]:
    """A person's income, cut to 0 .. 100,000."""
    table = _read(path)
    low, high = INCOME
    income = (np.clip([float(row["income"]) for row in table], low, high) - low) / (high - low)
    yield _mixed("pums_income", table, PUMS_NUMBERS, PUMS_WORDS, None, targets=income)


def _mixed(
    name: str,
    table: list[dict[str, str]],
    numbers: dict[str, tuple[float, float]],
    words: dict[str, str],
    labels: Array | None,
    **more: Any,
) -> Task:
    plain = np.array([[_number(row[column]) for column in numbers] for row in table])
    scaled = _scaled(plain, tuple(numbers.values()))
    codes, sizes = _binned(scaled)
    blocks, coded = [scaled], [codes]
    for column, values in words.items():
        places = {value: place for place, value in enumerate(values.split())}
        at = np.array([places[row[column]] for row in table])
        blocks.append(np.eye(len(places))[at])
        coded.append(at[:, None])
        sizes += (len(places),)
    classes = () if labels is None else (0, 1)
    return Task(name, np.hstack(blocks), len(numbers), np.hstack(coded), sizes, labels, classes, **more)


def _number(text: str) -> float:
    return 0.0 if text == "N" else float(text)


def _read(path: Path) -> list[dict[str, str]]:
    with gzip.open(path, "rt", encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def _scaled(data: Any, bounds: Any) -> Array:
    low, high = np.array(bounds, float).T
    return np.clip((np.asarray(data, float) - low) / (high - low), 0, 1)


def _binned(rows: Array) -> tuple[Array, tuple[int, ...]]:
    return np.minimum((rows * BINS).astype(np.int64), BINS - 1), (BINS,) * rows.shape[1]


TASKS: tuple[Callable[[], Iterator[Task]], ...] = (bundled, real)

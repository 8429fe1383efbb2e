"""A vault with visits of people to learn from, with and without noise, and what its rows are as numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import privet as pv
from privet.vault import Vault

COLUMNS = {
    "age": pv.Integer(10, 99),
    "cost": pv.Number(-5, 50, step="0.25"),
    "ward": pv.Category(["A", "B", "C"]),
    "smoker": pv.Boolean(),
    "sex": pv.Category(["f", "m"]),
    "day": pv.Date("2020-01-01", "2020-12-31"),
    "note": pv.Text(),
    "ill": pv.Category(["no", "yes"]),
}
FEATURES = ["age", "cost", "ward=A", "ward=B", "ward=C", "smoker", "sex=m", "day"]


class NoNoise:
    """For vaults that are labelled NOT PRIVATE."""

    def draw(self, law: object, size: int) -> Any:
        return np.zeros(size, np.int64)


def visits(people: int = 40, rows: int = 3, seed: int = 7) -> pd.DataFrame:
    """Some values are beyond their range, some missing, some undeclared; some rows are nobody's."""
    rng = np.random.default_rng(seed)
    n = people * rows
    frame = pd.DataFrame(
        {
            "who": np.where(rng.random(n) < 0.03, None, np.repeat([f"p{one}" for one in range(people)], rows)),
            "age": rng.integers(0, 110, n).astype(float),
            "cost": rng.normal(20, 20, n).round(3),
            "ward": rng.choice(["A", "B", "C", "D", None], n),
            "smoker": rng.random(n) < 0.3,
            "sex": rng.choice(["f", "m"], n),
            "day": pd.Timestamp("2019-12-20") + pd.to_timedelta(rng.integers(0, 390, n), unit="D"),
            "note": [f"secret-{one}" for one in range(n)],
        }
    )
    frame["ill"] = np.where(frame.age + frame.cost + rng.normal(0, 20, n) > 75, "yes", "no")
    frame.loc[rng.random(n) < 0.05, "ill"] = "?"
    frame.loc[rng.random(n) < 0.05, "age"] = np.nan
    return frame


def vault_of(
    folder: Path, frame: pd.DataFrame, *, testing: bool = True, unit: str | None = "who", **limits: Any
) -> Vault:
    folder.mkdir(parents=True, exist_ok=True)
    frame.to_parquet(folder / "visits.parquet")
    vault = pv.create(folder / "clinic.privet", budget=pv.Budget(100, 1e-3), testing=testing)
    vault.add_table("visits", folder / "visits.parquet", unit=unit, columns=COLUMNS, **limits)
    if testing:
        vault.replace_noise(NoNoise())
    return vault


def as_numbers(frame: pd.DataFrame) -> dict[str, list[tuple[float, ...]]]:
    """By hand: each person's rows as the learner gets them, in steps; last the class."""
    found: dict[str, list[tuple[float, ...]]] = {}
    for row in frame.itertuples():
        if pd.isna(row.who) or np.isnan(row.age) or row.ill not in ("no", "yes"):
            continue
        age = min(max(row.age, 10), 99) - 10
        cost = np.floor(min(max(row.cost, -5), 50) / 0.25 + 0.5) + 20
        wards = [float(row.ward == ward) for ward in "ABC"]
        day = min(max((row.day - pd.Timestamp("2020-01-01")).days, 0), 365)
        numbers = (age, cost, *wards, float(row.smoker), float(row.sex == "m"), day, float(row.ill == "yes"))
        found.setdefault(row.who, []).append(tuple(map(float, numbers)))
    return found

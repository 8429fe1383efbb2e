"""A model from a vault, privately: simulated visits, what a fit would cost, the fit, and how well it does.

Run it with `python examples/readmission.py`. It needs `pip install "privet[learn]"` and pandas.
"""

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

import privet as pv


def visits(people: int, rng: np.random.Generator) -> pd.DataFrame:
    """One to three visits of each person. Older people and those in ward C come back more often."""
    who = np.repeat(np.arange(people), rng.integers(1, 4, people))
    age, ward = rng.integers(18, 96, people)[who], rng.choice(list("ABC"), len(who))
    odds = np.exp((age - 65) / 10 + 1.5 * (ward == "C"))
    back = np.where(rng.random(len(who)) < odds / (1 + odds), "yes", "no")
    return pd.DataFrame({"patient": who, "age": age, "ward": ward, "readmitted": back})


def main(folder: Path) -> float:
    """How often the model is right about people whom it has not seen."""
    rng = np.random.default_rng(1)
    visits(8_000, rng).to_csv(folder / "visits.csv", index=False)
    columns = {
        "age": pv.Integer(18, 100),
        "ward": pv.Category(["A", "B", "C"]),
        "readmitted": pv.Category(["no", "yes"]),
    }
    with pv.create(folder / "clinic.privet", budget=pv.Budget(epsilon=3, delta=1e-6)) as vault:
        vault.add_table("visits", folder / "visits.csv", unit="patient", max_rows=3, columns=columns)
        plan = vault.plan_fit(pv.learn.GaussianNB(epsilon=1), "visits", target="readmitted")
        print(plan.explain())  # nothing is spent yet
        model = plan.release()
        print(model.privacy_)
        again = vault.fit(pv.learn.GaussianNB(epsilon=1), "visits", target="readmitted")
        print(f"the same again is free: {again.privacy_.replayed}; spent: epsilon {vault.budget.spent.epsilon}")
    pv.learn.save(model, folder / "model.json")
    others = visits(2_000, rng)
    right = float(pv.learn.load(folder / "model.json").score(others, others.readmitted))
    print(f"right about {right:.0%} of the visits of other people")
    return right


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        main(Path(name))

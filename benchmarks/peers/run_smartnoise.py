"""SmartNoise SQL over a data frame, which it keeps in SQLite. Run by its own virtual environment.

It spends its epsilon on every column that it adds noise to, so each gets an equal share of the epsilon asked for; what
`get_privacy_cost` says is checked. AVG is a sum and a count, and shares the count with COUNT(amount). A person is
bounded to groups x rows rows, whichever: the same L1 bound. The places are public (censor_dims is off).

Laplace only: in 1.0.10 Gaussian noise fails for sums ("Unable to find appropriate noise scale") and takes the L1 bound
for the L2 one in counts, which is worse than Laplace. There are no quantiles.
"""

import warnings
from typing import Any

import pandas as pd
from snsql import Privacy, from_df
from wire import Ask, Prepare, Release, Table, serve

warnings.simplefilter("ignore")
SQL = {"count": "COUNT(amount)", "sum": "SUM(amount)", "mean": "AVG(amount)"}
NOISY = {"count": {"count"}, "sum": {"sum"}, "mean": {"count", "sum"}}


def described(table: Table) -> dict[str, Any]:
    kind = {"type": "int" if table["whole"] else "float", "lower": table["low"], "upper": table["high"]}
    columns: dict[str, Any] = {"place": {"type": "string"}, "amount": kind | {"nullable": False}}
    if table["person"]:
        columns["person"] = {"type": "int", "private_id": True}
    options = {"row_privacy": not table["person"], "sample_max_ids": table["person"], "censor_dims": False}
    options |= {"clamp_counts": False, "max_ids": table["groups"] * table["rows"] if table["person"] else 1}
    return {"": {"d": {"t": options | columns}}}


def load(table: Table) -> Prepare:
    privacy = Privacy(epsilon=1.0, delta=1e-6)
    reader = from_df(pd.read_parquet(table["path"]), privacy=privacy, metadata=described(table))

    def prepare(ask: Ask) -> Release:
        unknown = [name for name in ask["aggregates"] if name not in SQL]
        if unknown or ask["noise"] != "laplace":
            raise NotImplementedError("no quantiles, and Laplace noise only")
        mechanisms = set().union(*(NOISY[name] for name in ask["aggregates"]))
        privacy.epsilon, privacy.delta = ask["epsilon"] / len(mechanisms), ask["delta"]
        chosen = ", ".join(f"{SQL[name]} AS a{number}" for number, name in enumerate(ask["aggregates"]))
        text = f"SELECT place, {chosen} FROM d.t GROUP BY place"
        cost = float(reader.get_privacy_cost(text)[0])
        if abs(cost - ask["epsilon"]) > 1e-9:
            raise ValueError(f"it would cost epsilon {cost}, not {ask['epsilon']}")
        return lambda: [{place: values for place, *values in reader.execute(text)[1:]}]

    return prepare


if __name__ == "__main__":
    serve(["smartnoise-sql", "opendp", "pandas"], load)

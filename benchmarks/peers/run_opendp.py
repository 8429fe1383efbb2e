"""OpenDP's Context for Polars. Run by its own virtual environment.

Rows: the places are declared an invariant, its quickest way. People: `identifier` with `truncate_per_group` and
`truncate_num_groups`, and the places are joined, since truncation forbids the invariant. In 0.16

- `truncate_num_groups(k)` keeps k - 1 places (a rank that starts at 1 is compared by < k) and pays for k, so we give
  k + 1: it keeps k and pays for k + 1. The noise "laplace, k as documented" gives k;
- keep="sample" fails ("multiple fields with name"), so we use keep="first": the first places by name.

Preparing is `resolve`, its search for the noise's scale, which does not look at the data and takes seconds.
"gaussian" is zCDP with the most rho that OpenDP converts to (epsilon, delta). Its mean is `dp.mean`, except beside a
count and a sum: there it is their quotient, which costs nothing.
"""

import warnings
from functools import cache
from pathlib import Path
from typing import Any

import opendp.prelude as dp
import polars as pl
from wire import Answer, Ask, Prepare, Release, Table, serve

dp.enable_features("contrib")
warnings.simplefilter("ignore")
AS_DOCUMENTED = "laplace, k as documented"


@cache
def rho_for(epsilon: float, delta: float) -> float:
    """The most rho that OpenDP itself converts to (epsilon, delta)."""

    def spent(rho: float) -> float:
        scale = (1 / (2 * rho)) ** 0.5
        noise = dp.m.make_gaussian(dp.atom_domain(T="i64"), dp.absolute_distance(T="f64"), scale)
        return dp.c.make_zCDP_to_approxDP(noise).map(1.0).epsilon(delta)

    low, high = 1e-9, 10.0
    for _ in range(60):
        middle = (low * high) ** 0.5
        low, high = (middle, high) if spent(middle) <= epsilon else (low, middle)
    return low


def expressions(table: Table, ask: Ask) -> list[pl.Expr]:
    fill: Any = 0 if table["whole"] else 0.0
    amount = pl.col("amount").fill_null(fill)
    amount = amount if table["whole"] else amount.fill_nan(fill)
    bounds = (table["low"], table["high"]) if table["whole"] else (float(table["low"]), float(table["high"]))
    candidates = [type(fill)(value) for value in table["candidates"]]
    made = []
    for number, name in enumerate(computed(ask["aggregates"])):
        match name:
            case "count":
                expression = dp.len(signed=True)
            case "sum":
                expression = amount.dp.sum(bounds)
            case "mean":
                expression = amount.dp.mean(bounds)
            case "median":
                expression = amount.dp.median(candidates)
            case _:
                expression = amount.dp.quantile(name, candidates)
        made.append(expression.alias(f"a{number}"))
    return made


def computed(aggregates: list[Any]) -> list[Any]:
    """A mean beside a count and a sum is computed from them."""
    return [name for name in aggregates if name != "mean"] if {"count", "sum"} <= set(aggregates) else aggregates


def load(table: Table) -> Prepare:
    frame = pl.scan_parquet(Path(table["path"]))
    keys = None if table["keys"] is None else pl.LazyFrame({"place": table["keys"]})
    unit = dp.unit_of(contributions=1, **({"identifier": "person"} if table["person"] else {}))
    facts: dict[str, Any] = {"max_length": table["largest"]}
    if keys is not None:
        facts |= {"by": ["place"], "max_groups": len(table["keys"])}
        facts |= {} if table["person"] else {"invariant": "keys"}

    def prepare(ask: Ask) -> Release:
        if ask["noise"] == "gaussian":
            loss = dp.loss_of(rho=rho_for(ask["epsilon"], ask["delta"]))
        else:
            loss = dp.loss_of(epsilon=ask["epsilon"])
        query = dp.Context.compositor(
            data=frame, privacy_unit=unit, privacy_loss=loss, split_evenly_over=1, margins=[dp.polars.Margin(**facts)]
        ).query()
        if table["person"]:
            groups = table["groups"] + (ask["noise"] != AS_DOCUMENTED)
            query = query.truncate_per_group(table["rows"], by=["place"], keep="first")
            query = query.truncate_num_groups(groups, by=["place"], keep="first")
        made = expressions(table, ask)
        if keys is None:
            asked = query.select(*made)
        else:
            asked = query.group_by("place").agg(*made)
            asked = asked.with_keys(keys) if table["person"] else asked
        measurement = asked.resolve()

        def release() -> list[Answer]:
            found = measurement(frame).collect()
            return [{row.get("place", ""): in_order(row, ask["aggregates"]) for row in found.iter_rows(named=True)}]

        return release

    return prepare


def in_order(row: dict[str, Any], aggregates: list[Any]) -> list[float]:
    values = {name: row[f"a{number}"] for number, name in enumerate(computed(aggregates))}
    if "mean" not in values and "mean" in aggregates:
        values["mean"] = values["sum"] / values["count"] if values["count"] else float("nan")
    return [values[name] for name in aggregates]


if __name__ == "__main__":
    serve(["opendp", "polars"], load)

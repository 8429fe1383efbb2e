"""PipelineDP on its local backend with public partitions. Run by its own virtual environment.

The rows are tuples in memory before the clock starts. Rows as units: `contribution_bounds_already_enforced`, its
quickest way; then no step but the noise is random, so further releases draw the noise again over the same sums
(`Again`), which is the same law and saves minutes. People: every release is a whole pass with its own bounding.

Budgets by its naive accountant (the one by privacy loss distributions needs a package that it does not bring along).
"""

import operator
from collections.abc import Iterable
from functools import partial
from typing import Any

import pipeline_dp as pdp
import pyarrow.parquet as pq
from wire import Answer, Ask, Prepare, Table, serve

NAMED = {"count": pdp.Metrics.COUNT, "sum": pdp.Metrics.SUM, "mean": pdp.Metrics.MEAN}
NOISES = {"laplace": pdp.NoiseKind.LAPLACE, "gaussian": pdp.NoiseKind.GAUSSIAN}


class Again(pdp.LocalBackend):
    """Computes the metrics of each partition several times: each draws its own noise."""

    def __init__(self, times: int) -> None:
        super().__init__()
        self.times = times

    def map_values(self, col: Iterable[Any], fn: Any, stage_name: str | None = None) -> Iterable[Any]:
        if stage_name != "Compute DP metrics":
            return super().map_values(col, fn, stage_name)
        return ((key, [fn(value) for _ in range(self.times)]) for key, value in col)


def metric(name: Any) -> Any:
    if name in NAMED:
        return NAMED[name]
    return pdp.Metrics.PERCENTILE(50 if name == "median" else 100 * name)


def column(name: Any) -> str:
    if name in NAMED:
        return str(name)
    return f"percentile_{50 if name == 'median' else 100 * name:g}"


def load(table: Table) -> Prepare:
    read = pq.read_table(table["path"])
    person = read["person"].to_pylist() if table["person"] else range(len(read))
    rows = list(zip(person, read["place"].to_pylist(), read["amount"].to_pylist(), strict=True))
    first, second, third = (operator.itemgetter(number) for number in range(3))

    def release(ask: Ask) -> list[Answer]:
        times = 1 if table["person"] else ask["releases"]
        accountant = pdp.NaiveBudgetAccountant(ask["epsilon"], ask["delta"])
        engine = pdp.DPEngine(accountant, Again(times))
        params = pdp.AggregateParams(
            metrics=[metric(name) for name in ask["aggregates"]],
            noise_kind=NOISES[ask["noise"]],
            max_partitions_contributed=table["groups"] if table["person"] else 1,
            max_contributions_per_partition=table["rows"] if table["person"] else 1,
            min_value=table["low"],
            max_value=table["high"],
            contribution_bounds_already_enforced=not table["person"],
        )
        extractors = pdp.DataExtractors(
            privacy_id_extractor=first if table["person"] else None, partition_extractor=second, value_extractor=third
        )
        pending = engine.aggregate(rows, params, extractors, public_partitions=table["keys"])
        accountant.compute_budgets()
        found = list(pending)
        names = [column(name) for name in ask["aggregates"]]
        return [
            {place: [float(getattr(draws[number], name)) for name in names] for place, draws in found}
            for number in range(times)
        ]

    return lambda ask: partial(release, ask)


if __name__ == "__main__":
    serve(["pipeline-dp", "python-dp"], load)

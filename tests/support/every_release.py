"""One release of each kind and one pricing, and which modules of Privet they enter."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any
from unittest import mock

import pandas as pd

import privet as pv
from privet.backends import pile
from privet.backends.duckdb import DuckDb
from privet.vault import Vault

WARDS = ["A", "B", "C"]
SUM = "SELECT ward, COUNT(*) AS n, SUM(cost) AS c, AVG(cost) AS a, COUNT(DISTINCT pid) AS p FROM visits GROUP BY ward"
JOIN = "SELECT sex, region, COUNT(*) AS n FROM visits JOIN patients USING (pid) JOIN wards USING (ward) GROUP BY 1, 2"
PER_PERSON = "SELECT AVG(s) AS a FROM (SELECT pid, LEAST(SUM(cost), 20) AS s FROM visits GROUP BY pid)"
FUNCTIONS = (
    "SELECT EXTRACT(MONTH FROM day) AS m, UPPER(ward) AS w, SUM(CASE WHEN cost > 3 THEN ROUND(cost) ELSE 1 END) AS s"
    " FROM visits WHERE day < '2020-06-01' GROUP BY ROLLUP (m, w) HAVING s > 1 ORDER BY s LIMIT 3"
)


def made_vault(folder: Path) -> Vault:
    """Visits and patients, who are divided by hospital; and a public table of wards."""
    vault = pv.create(folder, budget=pv.Budget(epsilon=100, delta=1e-6), neighbors="add-remove")
    people = range(60)
    day = pd.Timestamp("2020-03-01")
    visits = {"pid": [*people, *people], "ward": WARDS * 40, "cost": [n % 9 for n in range(120)], "day": [day] * 120}
    vault.add_table(
        "visits", pd.DataFrame({**visits, "city": ["Bern"] * 120}), unit="pid", max_groups=2, max_rows_per_group=2,
        columns={
            "ward": pv.Category(WARDS), "cost": pv.Integer(0, 9), "day": pv.Date("2020-01-01", "2020-12-31"),
            "city": pv.Text(),
        },
    )  # fmt: skip
    patients = {"pid": list(people), "sex": ["F", "M"] * 30, "hospital": ["north", "south"] * 30}
    declared = {"sex": pv.Category(["F", "M"]), "hospital": pv.Category(["north", "south"])}
    vault.add_table("patients", pd.DataFrame(patients), unit="pid", columns=declared)
    wards = pd.DataFrame({"ward": WARDS, "region": ["N", "N", "S"]})
    kinds = {"ward": pv.Category(WARDS), "region": pv.Category(["N", "S"])}
    vault.add_table("wards", wards, public=True, key="ward", columns=kinds)
    vault.partition("patients", "hospital")
    return vault


def portable(vault: Vault) -> None:
    """The same questions where nothing but SQL is used, as in engines that have no kernel."""
    kernel, vault._backend = vault._backend, DuckDb(vault.base, vault._memory, portable=True)
    try:
        vault.sql(SUM, epsilon=1).release(fresh=True)
        vault.sql("SELECT city, COUNT(*) AS n FROM visits GROUP BY city", epsilon=1, delta=1e-8).release(fresh=True)
        vault.sql("SELECT MEDIAN(cost) AS m FROM visits", epsilon=1).release(fresh=True)
    finally:
        vault._backend.close()
        vault._backend = kernel


def compiled(vault: Vault) -> None:
    """With compiled loops, as for many rows."""
    with mock.patch.multiple(pile, WORTH_A_START=0, WORTH_A_CALL=0):
        vault.sql(SUM, epsilon=1).release(fresh=True)


def by_method_calls(vault: Vault) -> None:
    frame = vault.table("visits").filter(pv.col("cost") > 1).group_by("ward")
    frame.agg(n=pv.count(), m=pv.mean(pv.col("cost"))).release(epsilon=1)


def rows_as_units(folder: Path) -> None:
    """From a file of texts, each row a unit, replaced and not added."""
    csv = folder.parent / "rows.csv"
    csv.write_text("ward,cost\n" + "A,1\nB,2\n" * 20)
    with pv.create(folder, budget=pv.Budget(epsilon=10), neighbors="replace") as vault:
        columns = {"ward": pv.Category(WARDS), "cost": pv.Number(0, 9, step="0.5")}
        vault.add_table("rows", csv, unit=None, columns=columns)
        vault.sql("SELECT ward, SUM(cost) AS s FROM rows GROUP BY ward", epsilon=1).release().to_pandas()


KINDS: dict[str, Callable[[Vault], Any]] = {
    "declared groups, Laplace noise": lambda vault: vault.sql(SUM, epsilon=1).release(),
    "declared groups, Gaussian noise": lambda vault: vault.sql(SUM, rho=0.01).release(),
    "keys from the data": lambda vault: vault.sql(
        "SELECT city, COUNT(*) AS n FROM visits GROUP BY city", epsilon=1, delta=1e-8, other="others"
    ).release(),
    "quantiles": lambda vault: vault.sql(
        "SELECT MEDIAN(cost) AS m, MIN(cost) AS a, MAX(cost) AS b FROM visits", epsilon=1
    ).release(),
    "quantiles in zCDP": lambda vault: vault.sql("SELECT MEDIAN(cost) AS m FROM visits", rho=0.01).release(),
    "several tables": lambda vault: vault.sql(JOIN, epsilon=1).release(),
    "a sub-query for each person": lambda vault: vault.sql(PER_PERSON, epsilon=1).release(),
    "functions, totals and conditions": lambda vault: vault.sql(FUNCTIONS, epsilon=1).release(),
    "a part": lambda vault: vault.sql(SUM, epsilon=1, part="north").release(),
    "suggested bounds": lambda vault: vault.suggest_bounds("SELECT SUM(cost) AS s FROM visits", epsilon=1),
    "chosen limits": lambda vault: vault.sql(SUM, epsilon=1, max_groups=4, bounds="auto").release().fitted.limit,
    "method calls": by_method_calls,
    "the portable engine": portable,
    "the compiled kernel": compiled,
    "rows as units, a file, replace": lambda vault: rows_as_units(vault.folder.parent / "rows.privet"),
    "pricing": lambda vault: vault.sql(SUM, epsilon=1).explain(),
}


@contextmanager
def entered() -> Iterator[set[str]]:
    """The modules of Privet whose code runs meanwhile, in this thread and in those that begin. Compiled loops do not
    show; those that are loaded count as entered if anything in their room is."""
    found: set[str] = set()

    def watch(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            found.add(frame.f_globals.get("__name__", ""))

    before = sys.getprofile(), threading.getprofile()
    threading.setprofile(watch)
    sys.setprofile(watch)
    try:
        yield found
    finally:
        sys.setprofile(before[0])
        threading.setprofile(before[1])
        found &= {name for name in found if name.partition(".")[0] == "privet"}
        found |= {name for name in _compiled() if any(one.startswith(name.rpartition(".")[0] + ".") for one in found)}


def _compiled() -> set[str]:
    """Loaded modules of Privet with loops as machine code."""
    ours = {name: module for name, module in sys.modules.items() if name.startswith("privet.")}
    return {name for name, module in ours.items() if any(hasattr(one, "py_func") for one in vars(module).values())}

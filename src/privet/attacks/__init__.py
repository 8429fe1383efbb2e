"""Attacks on what is about to be published: evidence, and where possible proof.

An attack is a function of a release and of declared knowledge. It never touches a vault: import rules keep the engine,
the ledger and the data out of this room.
"""

from __future__ import annotations

from privet.attacks.certificate import check
from privet.attacks.finding import Finding, Findings, Interval, Score, Strength
from privet.attacks.margins import margins
from privet.attacks.reconstruction import reconstruct
from privet.attacks.release import (
    Between,
    Knowledge,
    Largest,
    Mean,
    Quantile,
    Share,
    Smallest,
    Statistic,
    Tables,
    Total,
)  # fmt: skip
from privet.attacks.release_file import read_tables, tables, tables_of
from privet.attacks.scoring import read_records, records_of
from privet.predicate import holds

__all__ = [
    "Between", "Finding", "Findings", "Interval", "Knowledge", "Largest", "Mean", "Quantile", "Score", "Share",
    "Smallest", "Statistic", "Strength", "Tables", "Total", "check", "holds", "margins", "read_records", "read_tables",
    "reconstruct", "records_of", "tables", "tables_of",
]  # fmt: skip

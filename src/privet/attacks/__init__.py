"""Attacks on what is about to be published: evidence, and where possible proof.

An attack is a function of a release and of declared knowledge. It never touches a vault: import rules keep the engine,
the ledger and the data out of this room.
"""

from __future__ import annotations

from privet.attacks.answers import tables_of_answers
from privet.attacks.certificate import check
from privet.attacks.differencing import differencing
from privet.attacks.finding import Finding, Findings, Interval, Score, Strength
from privet.attacks.margins import margins
from privet.attacks.queries import Noise, Privacy, Queries, Query, Secret, number, privacy, two_means, two_releases
from privet.attacks.queries_file import queries_of, read_queries
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
    "Between", "Finding", "Findings", "Interval", "Knowledge", "Largest", "Mean", "Noise", "Privacy", "Quantile",
    "Queries", "Query", "Score", "Secret", "Share", "Smallest", "Statistic", "Strength", "Tables", "Total", "check",
    "differencing", "holds", "margins", "number", "privacy", "queries_of", "read_queries", "read_records",
    "read_tables", "reconstruct", "records_of", "tables", "tables_of", "tables_of_answers", "two_means",
    "two_releases",
]  # fmt: skip

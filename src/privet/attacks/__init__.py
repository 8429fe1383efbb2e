"""Attacks on what is about to be published: evidence, and where possible proof.

An attack is a function of a release and of declared knowledge. It never touches a vault: import rules keep the engine,
the ledger and the data out of this room.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from privet.attacks.anonymized.equivalence import attack_anonymized
    from privet.attacks.differencing.difference import attack_differencing
    from privet.attacks.differencing.file import queries_of, read_queries
    from privet.attacks.differencing.queries import (
        Noise,
        PublishedQuery,
        Queries,
        Secret,
        number,
        two_means,
        two_releases,
    )
    from privet.attacks.drafts.release_draft import DraftRelease, draft_release
    from privet.attacks.finding import Curve, Finding, Findings, Picture, Score, Strength
    from privet.attacks.linkage.linking import Linkage, attack_linkage
    from privet.attacks.linkage.scoreboard import attack_scoreboard
    from privet.attacks.linkage.uniqueness import attack_uniqueness
    from privet.attacks.membership.members import attack_membership
    from privet.attacks.membership.reductions import membership_by_reconstruction, reconstruction_by_membership
    from privet.attacks.membership.regimes import attack_regimes
    from privet.attacks.models.attribute_attack import attack_attributes
    from privet.attacks.models.compare_models import compare_models
    from privet.attacks.models.endpoint import Endpoint
    from privet.attacks.models.model_attack import attack_model
    from privet.attacks.models.outputs import Asking
    from privet.attacks.models.stacked import Stacked
    from privet.attacks.models.version_attack import attack_versions
    from privet.attacks.promise import Privacy, privacy
    from privet.attacks.proofs.certificate import check
    from privet.attacks.pseudonyms.reversal import attack_pseudonyms
    from privet.attacks.release.answers import tables_of_answers
    from privet.attacks.release.file import published_tables, read_tables, tables_of
    from privet.attacks.release.planned import margins
    from privet.attacks.release.statistics import (
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
    )
    from privet.attacks.subsets.counter import attack_counter
    from privet.attacks.subsets.decoders.problem import Errors
    from privet.attacks.subsets.file import read_errors, read_secrets, read_subsets
    from privet.attacks.subsets.made import simulate
    from privet.attacks.subsets.predicates import attack_answers
    from privet.attacks.subsets.subset_sums import attack_subsets
    from privet.attacks.tables.reconstruction import attack_tables
    from privet.attacks.tables.scoring import read_records, records_of
    from privet.records.conditions import holds
    from privet.records.plink import read_plink
    from privet.stats.intervals import Interval

PLACES = {  # the solvers take a second to load, so a release with a mistake in it is told so first
    "release.answers": ("tables_of_answers",),
    "promise": ("Privacy", "privacy"),
    "proofs.certificate": ("check",),
    "subsets.counter": ("attack_counter",),
    "differencing.difference": ("attack_differencing",),
    "membership.regimes": ("attack_regimes",),
    "finding": ("Curve", "Finding", "Findings", "Picture", "Score", "Strength"),
    "linkage.linking": ("Linkage", "attack_linkage"),
    "membership.members": ("attack_membership",),
    "models.attribute_attack": ("attack_attributes",),
    "models.compare_models": ("compare_models",),
    "models.endpoint": ("Endpoint",),
    "models.model_attack": ("attack_model",),
    "models.outputs": ("Asking",),
    "models.stacked": ("Stacked",),
    "models.version_attack": ("attack_versions",),
    "release.planned": ("margins",),
    "drafts.release_draft": ("DraftRelease", "draft_release"),
    "subsets.predicates": ("attack_answers",),
    "differencing.queries": (
        "Noise", "PublishedQuery", "Queries", "Secret", "number", "two_means", "two_releases",
    ),
    "differencing.file": ("queries_of", "read_queries"),
    "tables.reconstruction": ("attack_tables",),
    "anonymized.equivalence": ("attack_anonymized",),
    "membership.reductions": ("membership_by_reconstruction", "reconstruction_by_membership"),
    "release.statistics": (
        "Between", "Knowledge", "Largest", "Mean", "Quantile", "Share", "Smallest", "Statistic", "Tables", "Total",
    ),
    "release.file": ("read_tables", "published_tables", "tables_of"),
    "pseudonyms.reversal": ("attack_pseudonyms",),
    "tables.scoring": ("read_records", "records_of"),
    "linkage.scoreboard": ("attack_scoreboard",),
    "subsets.file": ("read_errors", "read_secrets", "read_subsets"),
    "subsets.made": ("simulate",),
    "subsets.subset_sums": ("attack_subsets",),
    "linkage.uniqueness": ("attack_uniqueness",),
}  # fmt: skip
WHERE = {name: f"privet.attacks.{place}" for place, names in PLACES.items() for name in names}
WHERE["Interval"] = "privet.stats.intervals"
WHERE["Errors"] = "privet.attacks.subsets.decoders.problem"
WHERE["holds"] = "privet.records.conditions"
WHERE["read_plink"] = "privet.records.plink"
__all__ = [
    "Asking", "Between", "Curve", "DraftRelease", "Endpoint", "Errors", "Finding", "Findings", "Interval", "Knowledge",
    "Largest", "Linkage", "Mean", "Noise", "Picture", "Privacy", "PublishedQuery", "Quantile", "Queries", "Score",
    "Secret", "Share", "Smallest", "Stacked", "Statistic", "Strength", "Tables", "Total", "attack_anonymized",
    "attack_answers", "attack_attributes", "attack_counter", "attack_differencing", "attack_linkage",
    "attack_membership", "attack_model", "attack_pseudonyms", "attack_regimes", "attack_scoreboard", "attack_subsets",
    "attack_tables", "attack_uniqueness", "attack_versions", "check", "compare_models", "draft_release", "holds",
    "margins", "membership_by_reconstruction", "number", "privacy", "published_tables", "queries_of", "read_errors",
    "read_plink", "read_queries", "read_records", "read_secrets", "read_subsets", "read_tables",
    "reconstruction_by_membership", "records_of", "simulate", "tables_of", "tables_of_answers", "two_means",
    "two_releases",
]  # fmt: skip
RENAMED = {  # names of version 0.1
    "Query": "PublishedQuery",
    "attack_records": "attack_anonymized",
    "differencing": "attack_differencing",
    "link": "attack_linkage",
    "membership": "attack_membership",
    "reconstruct": "attack_tables",
    "regimes": "attack_regimes",
    "reverse": "attack_pseudonyms",
    "running_counter": "attack_counter",
    "scoreboard": "attack_scoreboard",
    "subsets": "attack_subsets",
    "tables": "published_tables",
    "uniqueness": "attack_uniqueness",
}


def __getattr__(name: str) -> Any:
    if name in RENAMED:
        raise AttributeError(f"privet.attacks.{name} was renamed to {RENAMED[name]}", name=name)
    if name not in WHERE:
        raise AttributeError(f"module 'privet.attacks' has no attribute '{name}'")
    return getattr(importlib.import_module(WHERE[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)

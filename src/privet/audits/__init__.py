"""Untrusted: checks that a mechanism keeps its promise. An audit gives a lower bound on epsilon, never a proof."""

from __future__ import annotations

from privet.audits.assertion import NotPrivateError, assert_private
from privet.audits.canaries import from_scores
from privet.audits.channels import side_channels
from privet.audits.claims import Claim
from privet.audits.counted import audit
from privet.audits.distances import float_sum, sensitivity
from privet.audits.domains import Answers, Domain, Pairs, People, Rows
from privet.audits.enumerated import EpsilonBounds, exact_delta, exact_epsilon, privacy_curve
from privet.audits.float_form import float_support
from privet.audits.listed_laws import exact
from privet.audits.one_run import one_run
from privet.audits.recorder import Recorder
from privet.audits.replay import replay
from privet.audits.training_audit import TrainingAudit, audit_training
from privet.audits.values import Between
from privet.audits.verdict import Audit, Check, Checks, Witness

__all__ = [
    "Answers", "Audit", "Between", "Check", "Checks", "Claim", "Domain", "EpsilonBounds", "NotPrivateError", "Pairs",
    "People", "Recorder", "Rows", "TrainingAudit", "Witness", "assert_private", "audit", "audit_training", "exact",
    "exact_delta", "exact_epsilon", "float_sum", "float_support", "from_scores", "one_run", "privacy_curve", "replay",
    "sensitivity", "side_channels",
]  # fmt: skip

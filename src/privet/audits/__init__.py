"""Untrusted: checks that a mechanism keeps its promise. An audit gives a lower bound on epsilon, never a proof."""

from __future__ import annotations

from privet.audits.claims import Claim
from privet.audits.enumerated import Bounds, exact_delta, exact_epsilon, privacy_curve
from privet.audits.frequency import audit
from privet.audits.verdict import Audit, Check, Checks, Witness

__all__ = [
    "Audit", "Bounds", "Check", "Checks", "Claim", "Witness", "audit", "exact_delta", "exact_epsilon", "privacy_curve",
]  # fmt: skip

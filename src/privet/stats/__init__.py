"""Statistics that attacks, audits and comparisons share: one formula for one figure."""

"""The verb audit: what it audits is a command of its own, in a file of its own."""

from __future__ import annotations

from privet.cli.audit import function, gallery, scores, training, vault
from privet.cli.verb import Verb, kinds_of

KINDS: dict[str, Verb] = {**function.KINDS, **vault.KINDS, **scores.KINDS, **training.KINDS, **gallery.KINDS}

VERBS = {
    "audit": Verb(
        "look for a broken promise: a lower bound on epsilon, and how far the audit could see (--json for a program)",
        "privet audit function mechanisms.py:noisy_count --epsilon 1",
        kinds_of("what to audit", KINDS),
        None,
    )
}

"""The verb audit: what it audits is a command of its own, in a file of its own."""

from __future__ import annotations

import argparse

from privet.cli import audit_function, audit_gallery, audit_scores, audit_vault
from privet.cli.verb import Verb

KINDS: dict[str, Verb] = {**audit_function.KINDS, **audit_vault.KINDS, **audit_scores.KINDS, **audit_gallery.KINDS}


def _options(command: argparse.ArgumentParser) -> None:
    kinds = command.add_subparsers(title="what to audit", metavar="WHAT", required=True)
    for name, kind in KINDS.items():
        part = kinds.add_parser(
            name,
            help=kind.text,
            description=kind.text,
            epilog=f"example:\n  {kind.example}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        part.set_defaults(audit=kind.run)
        kind.options(part)


def _audit(options: argparse.Namespace) -> int | None:
    code: int | None = options.audit(options)
    return code


VERBS = {
    "audit": Verb(
        "look for a broken promise: a lower bound on epsilon, and how far the audit could see (--json for a program)",
        "privet audit function mechanisms.py:noisy_count --epsilon 1",
        _options,
        _audit,
    )
}

"""Side channels of a vault: the same question to two neighboring tables, again and again."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from typing import Any

from privet.answer import Answer
from privet.audits.channels import side_channels as watch
from privet.audits.claims import Claim
from privet.audits.likeness import look
from privet.audits.verdict import Checks
from privet.ledger import Receipt
from privet.query import Query
from privet.testing.exact_vectors import check_fixed


def side_channels(
    first: Query, second: Query, *, fresh: bool = True, claim: Claim | None = None, **settings: Any
) -> Checks:
    """`pv.audits.side_channels` of two queries that differ in nothing but the table: charge, look, repeats, time.

    With fresh=True each question is paid for and computed again; otherwise the second time it is answered from what was
    stored. `claim` is what the choice of keys that are not public is held against.
    """
    check_fixed(first)
    return watch(
        lambda query: query.release(fresh=fresh),
        (first, second),
        charge=_spent,
        look=_look,
        content=_content,
        claim=claim,
        **settings,
    )


def _spent(query: Query) -> object:
    spent = query.gate.ledger.spent()
    return spent.loss, spent.over


def _content(answer: Answer) -> object:
    """The noisy numbers, and the keys that are shown."""
    return answer.noisy, tuple(answer.priced.cells.keys())


def _look(answer: Answer) -> Hashable:
    """All that a reader sees, with the noisy numbers and the entry of the ledger taken out."""
    sizes = [len(vector) for vector in answer.noisy]
    noisy = tuple(tuple(range(size)) for size in sizes)
    blank = replace(answer, noisy=noisy, receipt=Receipt(entry=0, digest=""))
    return str(blank), repr(blank), look(blank.rows), look(blank.to_json()), answer.columns, answer.warnings

"""A gate for one fit without a vault: a ledger in a temporary folder, for the charge of this fit alone."""

from __future__ import annotations

import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import cast

from privet.backends import Backend
from privet.backends.held_rows import HeldRows
from privet.core.accountant import Budget
from privet.core.unit import Neighbors
from privet.engine import FreshNoise, Gate
from privet.ledger import Policy, Terms
from privet.ledger import sqlite as ledgers

LARGEST = Fraction(1000)  # epsilon of a budget


@contextmanager
def own_gate(rows: HeldRows, epsilon: Fraction, delta: Fraction, neighbors: Neighbors) -> Iterator[Gate]:
    twice = min(2 * epsilon, max(epsilon, LARGEST))  # the ledger rounds prices up, and caps down
    budget = Budget(twice, min(8 * delta, 1 - Fraction(1, 10**6)))  # a gauge accepts a quarter of delta
    folder = Path(tempfile.mkdtemp(prefix="privet-fit-"))
    terms = Terms(budget=budget, neighbors=neighbors, policy=Policy.REFUSE, testing=False)
    try:
        ledger = ledgers.create(folder / "ledger.sqlite", terms)
        try:
            backend = cast(Backend, rows)
            yield Gate(ledger=ledger, backend=backend, noise=FreshNoise(), secret=lambda: secrets.token_bytes(16))
        finally:
            ledger.close()
    finally:
        shutil.rmtree(folder, ignore_errors=True)

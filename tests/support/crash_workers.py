"""What the crash harness kills: loops that charge, store and deliver until somebody ends them."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from itertools import count

from privet.core.loss import pure
from privet.core.partition import Partition
from privet.errors import InvalidInputError
from privet.ledger import Charge
from privet.ledger.sqlite import SqliteLedger
from privet.ledger.sqlite import open as open_ledger

Deliver = Callable[..., None]
THREADS = 8
PARTS = ("north", "south")


def in_order(place: str, deliver: Deliver) -> None:
    """The right order: durable charge, durable answer, delivery."""

    def ask(ledger: SqliteLedger, request: str) -> None:
        receipt = ledger.spend(charge(request))
        ledger.store(receipt, request.encode())
        deliver(request=request, entry=receipt.entry, digest=receipt.digest)

    _loop(place, ask)


def of_parts(place: str, deliver: Deliver) -> None:
    """The right order, for parts and for everybody; whoever comes first divides the units."""
    with open_ledger(place) as ledger, suppress(InvalidInputError):  # divided before a kill
        ledger.divide(Partition(table="t", column="c", parts=PARTS))

    def ask(ledger: SqliteLedger, request: str) -> None:
        part = (None, *PARTS)[int(request, 16) % 3]
        receipt = ledger.spend(replace(charge(request), part=part))
        ledger.store(receipt, request.encode())
        deliver(request=request, entry=receipt.entry, digest=receipt.digest)

    _loop(place, ask)


def late(place: str, deliver: Deliver) -> None:
    """The wrong order, which the harness must catch: delivery, and then the charge."""

    def ask(ledger: SqliteLedger, request: str) -> None:
        deliver(request=request)
        ledger.store(ledger.spend(charge(request)), request.encode())

    _loop(place, ask)


def charge(request: str) -> Charge:
    return Charge(loss=pure(Fraction(1, 1000)), request=request)


def _loop(place: str, ask: Callable[[SqliteLedger, str], None]) -> None:
    with open_ledger(place) as ledger:

        def work(name: int) -> None:
            for number in count():
                ask(ledger, hashlib.sha256(f"{os.getpid()} {name} {number}".encode()).hexdigest())

        threads = [threading.Thread(target=work, args=(name,)) for name in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

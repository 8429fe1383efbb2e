"""What the crash harness kills, one floor up: loops that ask a vault for releases until somebody ends them.

Opening a vault takes longer than opening a ledger, so the kill comes after a random number of deliveries.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import threading
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path

import privet as pv
import privet.sql  # before the clock starts
from privet import engine
from privet.engine import FreshNoise
from privet.ledger import Charge, Kind
from privet.query import Query
from privet.vault import Vault
from support.crash_harness import Tally, started, uncharged

Deliver = Callable[..., None]
THREADS = 4
MOST_DELIVERIES = 30  # before a kill
LATER = 0.05  # seconds
COLUMNS = {"age": pv.Integer(0, 120), "ward": pv.Category(["A", "B"])}


def make_vault(folder: Path) -> Path:
    """A vault with room for a million small releases, on a file."""
    data = folder / "data.csv"
    data.write_text("age,ward\n" + "".join(f"{number % 90},{'AB'[number % 2]}\n" for number in range(100)))
    with pv.create(folder / "v.privet", budget=pv.Budget(1000)) as vault:
        vault.add_table("t", data, unit=None, columns=COLUMNS)
    return folder / "v.privet"


def releases(place: str, deliver: Deliver) -> None:
    """Real releases; each answer is handed on with its receipt and the digest of what was stored."""

    def ask(query: Query) -> None:
        answer = query.release(fresh=True)
        deliver(
            request=query.request, entry=answer.receipt.entry, digest=answer.receipt.digest, answer=stored(answer.noisy)
        )

    _loop(place, ask)


def late(place: str, deliver: Deliver) -> None:
    """The engine's steps in the wrong order, which the harness must catch: the answer goes out before the charge."""

    def ask(query: Query) -> None:
        body = engine._body([engine._noisy(query.task(b""), [None], query.gate.backend, FreshNoise())])
        deliver(request=query.request, answer=hashlib.sha256(body).hexdigest())
        ledger = query.gate.ledger
        ledger.store(ledger.spend(Charge(loss=query.cost, request=query.request)), body)

    _loop(place, ask)


def stored(noisy: tuple[tuple[int, ...], ...]) -> str:
    """The digest of the stored answer, as the ledger writes it."""
    return hashlib.sha256(json.dumps({"noisy": noisy}, separators=(",", ":")).encode()).hexdigest()


def _loop(place: str, ask: Callable[[Query], None]) -> None:
    """Every question is another one, so that each has a request of its own."""
    with pv.open(place) as vault:

        def work(name: int) -> None:
            for number in count():
                unlike = ((os.getpid() * THREADS + name) * 10**6 + number) * 1000 + 999
                text = f"SELECT ward, COUNT(*) AS n FROM t WHERE age <> {unlike} GROUP BY ward"
                ask(vault.sql(text, epsilon="0.0005"))

        threads = [threading.Thread(target=work, args=(name,)) for name in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


def kill_many(worker: str, place: Path, kills: int) -> Tally:
    """Every kill is at another moment: after so many deliveries, and a little later."""
    tally, delivered = Tally(), place / "delivered.jsonl"
    delivered.touch()
    for _ in range(kills):
        seen = delivered.stat().st_size
        _kill_one(worker, place, delivered, random.randrange(MOST_DELIVERIES))
        tally.kills += 1
        lines = delivered.read_bytes()[seen:].splitlines()
        tally.delivered += len(lines)
        tally.uncharged += uncharged(place / "ledger.sqlite", [json.loads(line) for line in lines])
    return tally


def _kill_one(worker: str, place: Path, delivered: Path, after: int) -> None:
    before = delivered.read_bytes().count(b"\n")
    with started(f"support.query_workers:{worker}", place, delivered) as process:
        while delivered.read_bytes().count(b"\n") < before + after:
            assert process.poll() is None, "the worker ended by itself"
            time.sleep(0.001)
        time.sleep(random.uniform(0, LATER))
        assert process.poll() is None, "the worker ended by itself"
        process.kill()


def unstored(vault: Vault, lines: list[dict[str, object]]) -> int:
    """How many delivered answers are not in the ledger as they were delivered."""
    kept = {(entry.about, entry.detail) for entry in vault.ledger.entries() if entry.kind is Kind.ANSWER}
    return sum((line.get("entry"), line["answer"]) not in kept for line in lines)

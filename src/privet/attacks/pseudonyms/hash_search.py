"""All ids of a format, hashed and looked up, on all cores: compiled where there are loops for it, else by `hashlib`."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from itertools import islice
from types import ModuleType
from typing import Any

import numpy as np

from privet.attacks.proofs.work import STOPPED, Work
from privet.attacks.pseudonyms.formats import Format
from privet.attacks.pseudonyms.schemes import BITS, HashReading, Scheme, plain_digest
from privet.typing import Words

Progress = Callable[[str, int, int], object]
AT_A_TIME = 2**17  # ids, of a thread with compiled loops
SLOWLY = 2**13  # without them
PACE, SLOW_PACE = 4e6, 2.5e5  # ids a second on an ordinary machine, with and without them
TRIAL = 2**14  # ids hashed to measure how fast it goes
RATES = {"sha3_224": 144, "sha3_256": 136, "sha3_384": 104, "sha3_512": 72}  # bytes of a block
WORDS = {"md5": 4, "sha1": 5, "sha224": 7, "sha256": 8, "sha384": 6, "sha512": 8}  # of a digest
MOST_BITS = 27  # the map of bits takes at most 16 MB


@dataclass(frozen=True, slots=True, eq=False)
class Targets:
    """The pseudonyms to look for: a sorted array of their first bits, and a map of bits that says no to most."""

    reading: HashReading
    numbers: Mapping[str, int]  # pseudonym as the reading spells it -> its number
    wanted: Words
    bitmap: Words
    shift: np.uint64
    mask: np.uint64

    @classmethod
    def of(cls, reading: HashReading, normal: Iterable[str]) -> Targets:
        numbers = {text: number for number, text in enumerate(dict.fromkeys(normal))}
        bits = min(64, reading.bits)
        mask = np.uint64(2**64 - 2 ** (64 - bits))
        wanted = np.unique(np.fromiter(map(reading.leading, numbers), np.uint64, len(numbers)) & mask)
        width = min(bits, MOST_BITS, max(16, len(wanted).bit_length() + 6))
        bitmap, slots = np.zeros(2**width // 64, np.uint64), wanted >> np.uint64(64 - width)
        np.bitwise_or.at(bitmap, (slots >> np.uint64(6)).astype(np.intp), np.uint64(1) << (slots & np.uint64(63)))
        return cls(reading, numbers, wanted, bitmap, np.uint64(64 - width), mask)


def loops() -> ModuleType | None:
    """The compiled loops, if there is a compiler for them, and bytes lie in the order that they take for granted."""
    if sys.byteorder != "little":
        return None
    try:
        from privet.attacks.pseudonyms import hash_loops as reversal_loops  # noqa: PLC0415  slow to import
    except ImportError:
        return None
    return reversal_loops


@dataclass(frozen=True, slots=True, eq=False)
class Sweep:
    """One format, hashed in one way. `swept` says which ids of a stretch have a hash that is wanted."""

    format: Format
    scheme: Scheme
    targets: Targets
    compiled: ModuleType | None
    how: Any
    text: Any

    @classmethod
    def of(cls, format: Format, scheme: Scheme, targets: Targets) -> Sweep:
        before, after = scheme.around
        found = loops() if fits(format, scheme) else None
        how = None if found is None else _how(found, scheme)
        return cls(format, scheme, targets, found, how, None if found is None else _text(format, before, after))

    @property
    def cores(self) -> int:
        """The loops let other threads run; Python's own hashes of short texts do not."""
        return 1 if self.compiled is None else os.cpu_count() or 1

    def swept(self, start: int, count: int) -> list[tuple[int, bytes]]:
        """Number and id of each hit, confirmed by `hashlib`: (number of the pseudonym, id)."""
        if self.compiled is None:
            ids: Iterable[bytes] = self.format.ids(start, count)
        else:
            hits = np.empty(min(count, self.format.size - start), np.int64)
            table = (self.targets.bitmap, self.targets.shift, self.targets.wanted, self.targets.mask)
            found = self.compiled.sweep(self.how, self.text, table, start, hits)
            ids = map(self.format.id, hits[:found].tolist())
        return list(self._confirmed(ids))

    def _confirmed(self, ids: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
        spelled, numbers = self.targets.reading.spelled, self.targets.numbers
        for one in ids:
            number = numbers.get(spelled(self.scheme.digest(one)))
            if number is not None:
                yield number, one

    def pace(self) -> tuple[float, float]:
        """Ids a second, all cores together, measured on a few; and how many seconds the first call takes, which may
        compile."""
        count = min(TRIAL, self.format.size)
        start = time.perf_counter()
        self.swept(0, 1)
        first = time.perf_counter() - start
        spent, done = 0.0, 0
        while spent < 0.02:
            start = time.perf_counter()
            self.swept(0, count)
            spent, done = spent + time.perf_counter() - start, done + count
        return done / spent * self.cores, first

    def run(self, work: Work, tell: Callable[[int], object]) -> tuple[list[tuple[int, bytes]], int]:
        """The hits, and how many ids were tried with the work that is left. `tell` hears how many are done."""
        step, pace = (AT_A_TIME, PACE) if self.compiled is not None else (SLOWLY, SLOW_PACE)
        last = int(min(self.format.size, work.left * pace))
        starts, hits, done = iter(range(0, last, step)), list[tuple[int, bytes]](), 0
        pending: dict[Future[list[tuple[int, bytes]]], int] = {}
        with ThreadPoolExecutor(self.cores) as pool:
            while True:
                fresh = islice(starts, 0 if STOPPED.is_set() else 2 * self.cores - len(pending))
                pending |= {pool.submit(self.swept, start, step): start for start in fresh}
                if not pending:
                    work.used(done / pace)
                    return hits, done
                ready, _ = wait(pending, return_when=FIRST_COMPLETED)
                for job in ready:
                    hits += job.result()
                    done += min(step, self.format.size - pending.pop(job))
                tell(done)


def fits(format: Format, scheme: Scheme) -> bool:
    """Whether there is a loop for it: one block must hold the id, the salt and what the hash puts behind them."""
    length = format.longest + len(scheme.salt)
    name = scheme.algorithm
    if name == "crc32":
        return length < 144
    if name in RATES:
        return scheme.key is None and length < RATES[name]
    return name in WORDS and length <= (111 if name in ("sha384", "sha512") else 55)


def _how(found: ModuleType, scheme: Scheme) -> Any:
    """Which hash, the state before the id, that of the outer hash of HMAC, words of a digest, bytes of a block."""
    name = scheme.algorithm
    if name == "crc32" or name in RATES:
        return found.CRC32 if name == "crc32" else found.SHA3, _state(()), _state(())[:0], 0, RATES.get(name, 0)
    family = {"md5": found.MD5, "sha1": found.SHA1}.get(name, found.SHA512 if BITS[name] > 256 else found.SHA256)
    start = _state(found.STARTS[name])
    if scheme.key is None:
        return family, start, start[:0], WORDS[name], 0
    block = 128 if family == found.SHA512 else 64
    key = (scheme.key if len(scheme.key) <= block else plain_digest(name, scheme.key)).ljust(block, b"\0")
    inner, outer = (_after(found, family, start, bytes(one ^ pad for one in key)) for pad in (0x36, 0x5C))
    return family, inner, outer, WORDS[name], 0


def _state(words: Iterable[int]) -> Words:
    given = list(words)
    return np.array([*given, *[0] * (8 - len(given))], np.uint64)


def _after(
    found: ModuleType, family: int, start: Words, block: bytes
) -> Words:  # fmt: skip
    """The state after a first block, which is the key of HMAC."""
    state, words = start.copy(), np.zeros(144, np.uint8)
    swap = 0 if family == found.MD5 else 7 if family == found.SHA512 else 3
    words[np.arange(len(block)) ^ swap] = np.frombuffer(block, np.uint8)
    found.compress(family, state, words, np.zeros(80, np.uint64))
    return state


def _text(format: Format, before: bytes, after: bytes) -> Any:
    """The choices of all slots one after the other, where each begins, and which is the first of each slot."""
    choices = [choice for slot in format.slots for choice in slot]
    letters = np.frombuffer(b"".join(choices), np.uint8)
    starts = np.cumsum([0, *map(len, choices)], dtype=np.int64)
    firsts = np.cumsum([0, *map(len, format.slots)], dtype=np.int64)
    return letters, starts, firsts, np.frombuffer(before, np.uint8), np.frombuffer(after, np.uint8)

"""A matrix of zeros and ones, kept as bits: 64,000 random subsets of 16,000 people are 128 MB.

A plain array of the same, as 32-bit numbers, has 4 GB, and a product has to read all of it. Here a product is one
look-up for eight bits (see `packed_loops`), which takes about a third of a nanosecond: no memory is waited for.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from privet.attacks.subsets.decoders.vectors import table, vector
from privet.errors import InvalidInputError
from privet.typing import Floats, Words

SALT = 1_618_033
WORD = 64
SHARE = 1 << 20  # words of a thread: fewer take less time than to start it
CHUNK = 1 << 26  # bits that are plain bytes at a time


@dataclass(frozen=True, slots=True, eq=False)
class Packed:
    """`words[t, row]` has columns 64 t and on, the first in its lowest bit. Bits beyond the last person are 0."""

    words: Words
    people: int

    @classmethod
    def of(cls, values: object) -> Packed:
        """From a table of zeros and ones."""
        array = table(values)
        rows, people = array.shape
        words = np.zeros((-(-people // WORD), rows), np.uint64)
        step = max(1, CHUNK // max(1, people))
        for start in range(0, rows, step):
            some = array[start : start + step]
            if not ((some == 0) | (some == 1)).all():
                raise InvalidInputError(
                    "the matrix has numbers other than 0 and 1", "use Dense for such coefficients", "not-binary"
                )
            packed = np.packbits(some == 1, axis=1, bitorder="little")
            filled = np.zeros((len(some), 8 * len(words)), np.uint8)
            filled[:, : packed.shape[1]] = packed
            words[:, start : start + step] = filled.view("<u8").T
        return cls(words, people)

    @classmethod
    def random(cls, rows: int, people: int, seed: int) -> Packed:
        """Every person is in every row with chance one half, independently. The plain table is never made."""
        if rows < 0 or people < 0:
            raise InvalidInputError(f"{rows} rows of {people} people", "give numbers from 0 on", "negative")
        generator = np.random.PCG64((SALT, seed))  # other bits than those of a secret drawn with default_rng(seed)
        words = np.empty((-(-people // WORD), rows), np.uint64)
        for tile in words:
            tile[:] = generator.random_raw(rows)
        if people % WORD:
            words[-1] &= np.uint64((1 << people % WORD) - 1)
        return cls(words, people)

    @property
    def shape(self) -> tuple[int, int]:
        return self.words.shape[1], self.people

    def times(self, values: Floats) -> Floats:
        from privet.attacks.subsets.decoders import packed_loops  # noqa: PLC0415  slow to import

        rows, people = self.shape
        filled = np.zeros(WORD * len(self.words))
        filled[:people] = vector(values, people, "people")
        sums = np.zeros(rows)
        self._in_threads(lambda start, stop: packed_loops.times(self.words, filled, start, stop, sums), rows)
        return sums

    def back(self, numbers: Floats) -> Floats:
        from privet.attacks.subsets.decoders import packed_loops  # noqa: PLC0415  slow to import

        rows, people = self.shape
        numbers = vector(numbers, rows, "answers")
        sums = np.zeros(WORD * len(self.words))
        self._in_threads(lambda start, stop: packed_loops.back(self.words, numbers, start, stop, sums), len(self.words))
        return sums[:people]

    def block(self, start: int, stop: int) -> Floats:
        some = np.ascontiguousarray(self.words[:, start:stop].T, dtype="<u8")
        count = some.shape[0]
        bits = np.unpackbits(some.view(np.uint8).reshape(count, 8 * len(self.words)), axis=1, bitorder="little")
        return bits[:, : self.people].astype(np.float64)

    def _in_threads(self, task: Callable[[int, int], None], parts: int) -> None:
        """A task for all parts, rows or words of a row, in as many pieces as there are processors."""
        pieces = max(1, min(os.cpu_count() or 1, parts, self.words.size // SHARE))
        bounds = list(pairwise(piece * parts // pieces for piece in range(pieces + 1)))
        if pieces == 1:
            task(0, parts)
            return
        with ThreadPoolExecutor(pieces) as pool:
            list(pool.map(lambda bound: task(*bound), bounds))

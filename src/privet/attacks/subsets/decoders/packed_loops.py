"""Products with a matrix of bits, compiled. Importing this file imports numba, so `packed` does it late.

A word is 64 columns of one row. Eight columns, a byte, have 256 possible sums: they are computed once, and then every
byte is one look-up and one addition. The tables of a word are 16 KB, which stay in the fastest cache. The transposed
product turns this round: numbers are added up by byte, and 256 totals then give the sums of eight columns, so no
transposed copy is needed.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from privet.machine_code import compiled
from privet.typing import Floats

Words = npt.NDArray[np.uint64]  # [column / 64, row]

LOW = np.uint64(0xFF)


@compiled
def tabulate(values: Floats, first: int, table: Floats) -> None:
    """All sums of eight values each, from column `first` on: a set without its highest member was done before."""
    for byte in range(8):
        table[byte, 0] = 0.0
        size = 1
        for bit in range(8):
            value = values[first + 8 * byte + bit]
            for low in range(size):
                table[byte, size + low] = table[byte, low] + value
            size *= 2


@compiled
def times(words: Words, values: Floats, start: int, stop: int, sums: Floats) -> None:
    """Some rows of matrix times values into `sums`; as many values as columns, filled up to whole words."""
    table = np.empty((8, 256))
    for tile in range(words.shape[0]):
        tabulate(values, 64 * tile, table)
        for row in range(start, stop):
            word = words[tile, row]
            one = table[0, word & LOW] + table[1, (word >> np.uint64(8)) & LOW]
            two = table[2, (word >> np.uint64(16)) & LOW] + table[3, (word >> np.uint64(24)) & LOW]
            three = table[4, (word >> np.uint64(32)) & LOW] + table[5, (word >> np.uint64(40)) & LOW]
            four = table[6, (word >> np.uint64(48)) & LOW] + table[7, word >> np.uint64(56)]
            sums[row] += (one + two) + (three + four)


@compiled
def back(words: Words, numbers: Floats, start: int, stop: int, sums: Floats) -> None:
    """The columns in some words of the transposed matrix times numbers, into `sums`."""
    totals = np.empty((8, 256))
    for tile in range(start, stop):
        totals[:] = 0.0
        for row in range(words.shape[1]):
            word, number = words[tile, row], numbers[row]
            totals[0, word & LOW] += number
            totals[1, (word >> np.uint64(8)) & LOW] += number
            totals[2, (word >> np.uint64(16)) & LOW] += number
            totals[3, (word >> np.uint64(24)) & LOW] += number
            totals[4, (word >> np.uint64(32)) & LOW] += number
            totals[5, (word >> np.uint64(40)) & LOW] += number
            totals[6, (word >> np.uint64(48)) & LOW] += number
            totals[7, word >> np.uint64(56)] += number
        for byte in range(8):
            for bit in range(8):
                total = 0.0
                for kept in range(256):
                    if (kept >> bit) & 1:
                        total += totals[byte, kept]
                sums[64 * tile + 8 * byte + bit] = total

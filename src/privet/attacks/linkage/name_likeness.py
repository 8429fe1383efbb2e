"""How alike two texts are, if one may be misspelled: Jaro's measure (1989) with Winkler's bonus for the start (1990).

Letters match if they are equal and not farther apart than half the longer text less one. With m matches, t of which
stand in another order (counted in pairs), Jaro's measure is (m / |a| + m / |b| + (m - t) / m) / 3, and 0 if m = 0.
Winkler adds a tenth of what is missing to 1 for each of the first four letters that are equal.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from privet.typing import Floats, Integers, Truths

Letters = npt.NDArray[np.uint32]
LONGEST = 40  # letters of a text that are compared
PREFIX, BONUS = 4, 0.1
AT_A_TIME = 1 << 15
SIMILAR = 0.9  # from here on one text may be the other, misspelled


def letters(texts: npt.NDArray[np.str_]) -> tuple[Letters, Integers]:
    """A row of letters for each text, filled up with 0, and how many there are."""
    short = texts.astype(f"U{LONGEST}")
    rows = np.ascontiguousarray(short).view(np.uint32).reshape(len(texts), LONGEST)
    length = np.char.str_len(short).astype(np.int64)
    return rows[:, : max(int(length.max(initial=0)), 1)], length


def similarity(
    texts: tuple[Letters, Integers], others: tuple[Letters, Integers], left: Integers, right: Integers
) -> Floats:
    """For pairs of texts, by their places."""
    found = np.empty(len(left))
    for start in range(0, len(left), AT_A_TIME):
        part = slice(start, start + AT_A_TIME)
        one, other = left[part], right[part]
        found[part] = _jaro_winkler(texts[0][one], others[0][other], texts[1][one], others[1][other])
    return found


def _jaro_winkler(one: Letters, other: Letters, length: Integers, width: Integers) -> Floats:
    window = np.maximum(np.maximum(length, width) // 2 - 1, 0)
    taken, given = _matched(one, other, window)
    matches = taken.sum(axis=1).astype(np.float64)
    moved = (_in_order(one, taken) != _in_order(other, given)).sum(axis=1) // 2
    some = np.maximum(matches, 1)
    jaro = (matches / np.maximum(length, 1) + matches / np.maximum(width, 1) + (matches - moved) / some) / 3
    short = min(one.shape[1], other.shape[1], PREFIX)
    same = (one[:, :short] == other[:, :short]) & (one[:, :short] > 0)
    start = np.cumprod(same, axis=1).sum(axis=1)
    return np.where(matches > 0, jaro + start * BONUS * (1 - jaro), 0.0)


def _matched(one: Letters, other: Letters, window: Integers) -> tuple[Truths, Truths]:
    """Which letters of each text have a partner: from left to right, the first free one within the window."""
    taken, given = np.zeros(one.shape, np.bool_), np.zeros(other.shape, np.bool_)
    reach = int(window.max(initial=0))
    for at in range(one.shape[1]):
        here, there = one[:, at], one[:, at] > 0
        for place in range(max(0, at - reach), min(other.shape[1], at + reach + 1)):
            hit = there & ~taken[:, at] & ~given[:, place] & (here == other[:, place]) & (abs(at - place) <= window)
            taken[:, at] |= hit
            given[:, place] |= hit
    return taken, given


def _in_order(rows: Letters, matched: Truths) -> Letters:
    """The matched letters moved to the left, filled up with 0 to the same width on both sides."""
    found = np.zeros((len(rows), LONGEST), np.uint32)
    row, at = np.nonzero(matched)
    found[row, (np.cumsum(matched, axis=1) - 1)[row, at]] = rows[row, at]
    return found

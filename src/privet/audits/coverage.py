"""Which sizes of data sets a search tries, and what it has tried when it ends: values, sizes and pairs.

A search that left something out must say so. So what was tried is read off the pairs that were really drawn from, not
off a plan.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

EVERY = 16  # sizes up to here are tried one by one; rules that start at a number of people mostly start below
ROUND = (20, 25, 30, 50, 100, 200, 500, 1000)
USUAL, LARGEST = 8, 64  # records of most data sets, and of the largest, where the user gives no limit
SPANS = 6  # in a sentence


def sizes_to(most: int) -> list[int]:
    """1, 2, 3, ... 16, then 32, 64 and so on, and `most` itself."""
    doubled = [EVERY << power for power in range(1, most.bit_length())]
    return [size for size in (*range(1, EVERY + 1), *doubled) if size < most] + [most]


def round_sizes_to(most: int) -> list[int]:
    """Where rules like to start: "at least 20" shows between 19 and 20, "more than 20" between 20 and 21."""
    return [size for number in ROUND for size in (number, number + 1) if size <= most]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """What a search for neighbors has looked at.

    `values` of the `listed` ones were the record that came, went or changed; `listed` is None where values are not
    listed. `sizes` are those of the larger data set of each pair, and `largest` is the limit. `given` is the number of
    pairs that the user gave, if that is all there is. `raised` counts pairs on which every call raised.
    """

    pairs: int
    values: int = 0
    listed: int | None = None
    sizes: tuple[int, ...] = ()
    largest: int = 0
    noun: str = "records"
    given: int = 0
    raised: int = 0
    hurried: bool = False  # the seconds that the user gave ended the search
    events: int = 0  # sets of outputs that were compared

    @property
    def complete(self) -> bool:
        """Whether all was tried that the user listed or gave, up to the largest size."""
        values = self.listed is None or self.values == self.listed
        return values and self.pairs >= self.given and (not self.sizes or self.sizes[-1] == self.largest)

    def __str__(self) -> str:
        if self.given:
            if self.pairs < self.given:
                return f"{self.pairs:,} of the {self.given:,} pairs given"
            return "the pair given" if self.given == 1 else f"the {self.given:,} pairs given"
        inside = ", ".join([*self._values(), *([f"sizes up to {self.sizes[-1]:,}"] if self.sizes else [])])
        return f"the {self.pairs:,} pairs tried" + (f" ({inside})" if inside else "")

    def _values(self) -> list[str]:
        if self.listed is None:
            return [f"{self.values:,} different values"] if self.values else []
        if self.values < self.listed:
            return [f"{self.values:,} of {self.listed:,} values"]
        return [f"all {self.listed:,} values" if self.listed > 1 else "the only value"]

    def left_out(self) -> list[str]:
        """What the search did not try, as phrases."""
        found = []
        if self.listed is not None and self.values < self.listed:
            found.append(f"{self.listed - self.values:,} of the {self.listed:,} values listed")
        if self.pairs < self.given:
            found.append(f"{self.given - self.pairs:,} of the {self.given:,} pairs given")
        if self.sizes:
            found.append(f"data sets with other numbers of {self.noun} than {spans(self.sizes)}")
        if self.raised:
            found.append(f"outputs on {self.raised:,} pairs on which every call raised")
        if self.hurried:
            found.append("pairs for which the given seconds left no time: more seconds, or none, try more")
        return found

    def to_json(self) -> dict[str, Any]:
        return {
            "pairs": self.pairs,
            "values": self.values,
            "values_listed": self.listed,
            "sizes": list(self.sizes),
            "largest_size": self.largest or None,
            "pairs_given": self.given or None,
            "pairs_that_raised": self.raised,
            "events": self.events,
            "complete": self.complete,
        }


def spans(sizes: Sequence[int]) -> str:
    """Such as "1 to 16, 32 and 64"."""
    runs: list[list[int]] = []
    for size in sizes:
        if runs and size == runs[-1][1] + 1:
            runs[-1][1] = size
        else:
            runs.append([size, size])
    texts = [f"{low:,}" if low == high else f"{low:,} to {high:,}" for low, high in runs]
    if len(texts) > SPANS:
        texts = [*texts[: SPANS - 1], f"{len(texts) - SPANS} others", texts[-1]]
    return " and ".join([", ".join(texts[:-1]), texts[-1]] if len(texts) > 1 else texts)


def changed(one: Iterable[Any], other: Iterable[Any]) -> set[str]:
    """The records, in words, that one list has more often than the other."""
    bags = Counter(map(repr, one)), Counter(map(repr, other))
    return {*(bags[0] - bags[1]), *(bags[1] - bags[0])}


def is_plain(data: Any) -> bool:
    """Lists and tuples of numbers, texts and nothing: two of them are the same if they read the same."""
    if isinstance(data, list | tuple):
        return all(map(is_plain, data))
    return data is None or type(data) in (bool, int, float, str)

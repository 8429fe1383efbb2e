"""Which sizes and values of data sets a search tries, and what it has tried when it ends.

A search that left something out must say so. So what was tried is read off the pairs that were really drawn from, not
off a plan.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, cycle, islice
from typing import Any, Protocol

from privet.audits.values import Between, Listed

EVERY = 16  # sizes up to here are tried one by one; rules that start at a number of people mostly start below
ROUND = (20, 25, 30, 50, 100, 200, 500, 1000)
USUAL, LARGEST = 8, 64  # records of most data sets, and of the largest, where the user gives no limit
SPANS = 20  # in a sentence
CORNERS = 6  # records that are tried in every place
FEW = 12  # listed values of which every two are tried together
ADD_REMOVE, REPLACE = "add-remove", "replace"


def sizes_to(most: int) -> list[int]:
    """1, 2, 3, ... 16, then 32, 64 and so on, and `most` itself."""
    doubled = [EVERY << power for power in range(1, most.bit_length())]
    return [size for size in (*range(1, EVERY + 1), *doubled) if size < most] + [most]


def round_sizes_to(most: int) -> list[int]:
    """Where rules like to start: "at least 20" shows between 19 and 20, "more than 20" between 20 and 21."""
    return [size for number in ROUND for size in (number, number + 1) if size <= most]


class Lists(Protocol):
    """A domain of lists of records, or of rows of people, with `values`."""

    @property
    def values(self) -> Between | Listed: ...
    @property
    def neighbors(self) -> str: ...
    @property
    def most(self) -> int: ...
    @property
    def most_rows(self) -> int: ...

    def key(self, value: Any) -> str: ...

    def one_more(self, records: list[Any], own: list[Any], other: list[Any]) -> tuple[Any, Any]:
        """Beside `records`, somebody with `own` comes; under "replace", in the place of somebody with `other`."""
        ...


def covering(domain: Lists) -> Iterator[tuple[Any, Any]]:
    """Pairs of neighbors with every size that is tried; with every listed value, alone and among others; and with every
    two of them, if they are few."""
    corners, probes, rows = domain.values.corners()[:CORNERS], domain.values.probes(), domain.most_rows
    first, low, last = corners[0], corners[min(1, len(corners) - 1)], corners[-1]
    for size in sizes_to(domain.most):
        yield domain.one_more([last] * (size - 1), [first] * rows, [low])
        yield domain.one_more(list(islice(cycle(corners), size - 1)), [low], [first])
        if domain.neighbors == REPLACE and len(corners) > 2:  # somebody leaves the others, who are all alike
            yield domain.one_more([last] * (size - 1), [first], [last])
    for size in round_sizes_to(domain.most):
        yield domain.one_more([last] * (size - 1), [first], [low])
    crowd = list(islice(cycle(corners), min(domain.most, USUAL) - 1))
    for base, others, own in (([], (low, first), 1), (crowd, (first, low), rows)):
        for value in probes:
            yield domain.one_more(base, [value] * own, [_another(value, others)])
    if domain.most > 1 and len(domain.values.listed()) <= FEW:
        for one, two in combinations(domain.values.listed(), 2):
            yield domain.one_more([one], [two], [one])


def _another(value: Any, others: tuple[Any, Any]) -> Any:
    return others[repr(value) == repr(others[0])]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """What a search for neighbors has looked at.

    `values` of the `listed` ones were the record that came, went or changed; `listed` is None where values are not
    listed. `together` counts pairs of listed values that met: one of the two data sets has both, the other has not.
    `sizes` are those of the larger data set of each pair, and `largest` is the limit. `given` is the number of pairs
    that the user gave, if that is all there is. `raised` counts pairs on which every call raised.
    """

    pairs: int
    values: int = 0
    listed: int | None = None
    together: int = 0
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
        inside = ", ".join([*self._values(), *self._sizes()])
        return f"the {self.pairs:,} pairs tried" + (f" ({inside})" if inside else "")

    @property
    def couples(self) -> int:
        """Pairs of listed values, where there are more than two and a data set has room for two."""
        listed = self.listed or 0
        return listed * (listed - 1) // 2 if listed > 2 and self.largest > 1 else 0

    def _sizes(self) -> list[str]:
        if not self.sizes:
            return []
        every = self.sizes == tuple(range(1, self.sizes[-1] + 1))
        return [f"{'all' if every else 'some'} sizes up to {self.sizes[-1]:,}"]

    def _values(self) -> list[str]:
        if self.listed is None:
            return [f"{self.values:,} different values"] if self.values else []
        if self.values < self.listed:
            return [f"{self.values:,} of {self.listed:,} values"]
        if self.listed == 1:
            return ["the only value"]
        some = "all" if self.together >= self.couples else "some" if self.together else "no"
        return [f"all {self.listed:,} values", *([f"{some} pairs of values"] if self.couples else [])]

    def left_out(self) -> list[str]:
        """What the search did not try, as phrases."""
        found = []
        if self.listed is not None and self.values < self.listed:
            found.append(f"{self.listed - self.values:,} of the {self.listed:,} values listed")
        if self.couples:
            alone = self.couples - self.together
            pairs = f"{alone:,} of the {self.couples:,} pairs of values in one data set, and " if alone else ""
            found.append(f"{pairs}most combinations of three or more values, or of values that repeat")
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
            "value_pairs": self.together,
            "value_pairs_listed": self.couples or None,
            "sizes": list(self.sizes),
            "largest_size": self.largest or None,
            "pairs_given": self.given or None,
            "pairs_that_raised": self.raised,
            "events": self.events,
            "complete": self.complete,
        }


def tally(domain: Lists, looked: Sequence[tuple[Any, Any]], sizes: tuple[int, ...], noun: str) -> Tried:
    """What these pairs of lists of records have tried. A single value cannot be replaced by another one: then to have
    it is all that can be tried."""
    everything = {domain.key(value) for value in domain.values.listed()}
    moved = set().union(*(changed(one, other) for one, other in looked))
    tried = everything if len(everything) == 1 else everything & moved if everything else moved
    return Tried(
        pairs=len(looked), values=len(tried), listed=len(everything) or None, sizes=sizes, largest=domain.most,
        noun=noun, together=len(set().union(*(met(one, other, everything) for one, other in looked))),
    )  # fmt: skip


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
        more = len(texts) - SPANS
        texts = [*texts[: SPANS - 1], f"{more} other{'' if more == 1 else 's'}", texts[-1]]
    return " and ".join([", ".join(texts[:-1]), texts[-1]] if len(texts) > 1 else texts)


def changed(one: Iterable[Any], other: Iterable[Any]) -> set[str]:
    """The records, in words, that one list has more often than the other."""
    bags = Counter(map(repr, one)), Counter(map(repr, other))
    return {*(bags[0] - bags[1]), *(bags[1] - bags[0])}


def met(one: Iterable[Any], other: Iterable[Any], listed: set[str]) -> set[frozenset[str]]:
    """Pairs of listed values, in words, that one of the two data sets has both of, and the other has not."""
    sides = {*map(repr, one)} & listed, {*map(repr, other)} & listed
    return {
        frozenset((new, beside))
        for here, there in (sides, sides[::-1])
        for new in here - there
        for beside in here
        if beside != new
    }


def is_plain(data: Any) -> bool:
    """Lists and tuples of numbers, texts and nothing: two of them are the same if they read the same."""
    if isinstance(data, list | tuple):
        return all(map(is_plain, data))
    return data is None or type(data) in (bool, int, float, str)

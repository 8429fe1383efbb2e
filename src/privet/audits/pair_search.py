"""Looks for the pair of neighbors that tells most: many pairs with a few draws, half of them with more, and so on.

Draws of the search are never used to test. A pair that was dropped is not in the result, except in the number of pairs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain, islice

import numpy as np

from privet.audits.claims import Claim
from privet.audits.coverage import is_plain
from privet.audits.domains import CORE, Coverable, DataPair, Domain, Pairs
from privet.audits.outputs import OTHER
from privet.audits.source import CELLS, AuditSource
from privet.audits.stages import STOPPED, Clock, Progress, Track, best_first, sizes
from privet.errors import InvalidInputError

SEED = 0x5EED  # candidates are the same in every run: draws of the mechanism are random enough
SHARE = 0.25  # of all draws, at most, for pairs that are known to break things, and of the time
PART = 0.05  # of the draws of a data set, for a pair that is among the best
MOST_PAIRS = 1000  # in all, where the user gives no number
LEFT = 16
GROUP = 8  # pairs at a time
VERY_FEW, FEWEST, USUAL = 8, 24, 256  # draws of a pair in the first round
SURE = 4.5  # standard deviations: what a lucky pair out of hundreds does not reach
CONFIRMING = 4  # times the draws of a pair so far, fresh, that must say the same


@dataclass(slots=True, eq=False)
class PairSearch:
    """Candidates, best first, and which pairs were drawn from."""

    tracks: list[Track] = field(default_factory=list)
    looked: list[DataPair] = field(default_factory=list)
    raised: int = 0  # pairs on which every call raised
    hurried: bool = False  # the clock ended it
    dropped_events: int = 0  # that were compared on pairs that were dropped


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Searcher:
    """What a search needs: a mechanism, a claim, and how much it may do."""

    source: AuditSource
    claim: Claim
    samples: int
    clock: Clock
    progress: Progress
    most_pairs: int = MOST_PAIRS
    coarse: bool = False  # whether outputs are rounded, so that bits of floats do not show

    def search(self, domain: Domain) -> PairSearch:
        """The pairs that are worth testing, best first.

        First those that are known to break things, as many as a share of the draws is enough for; then those that cover
        what the domain lists, all of them. Stops early where a pair has shown enough already: that will be tested next.
        """
        size = min(USUAL, max(FEWEST, self.samples // 400))
        found = PairSearch()
        pairs = self._candidates(domain, size)
        enough = self._first_round(found, pairs, size)
        if not found.tracks:
            raise InvalidInputError(
                f"the mechanism raised in every call on both data sets ({self.source.error[:200]})",
                "give data that it takes: neighbors=(data, data_without_one_person), or another domain",
                "code-fails",
            )
        self._halve(found, size, enough=enough)
        return found

    def _candidates(self, domain: Domain, size: int) -> list[DataPair]:
        if isinstance(domain, Pairs):
            return list(domain.listed[: self.most_pairs])
        most = min(CORE, max(3, int(SHARE * self.samples) // (2 * size)))
        core = islice(domain.pairs(np.random.default_rng(SEED)), most)
        cover: Iterator[DataPair] = domain.cover() if isinstance(domain, Coverable) else iter(())
        return list(islice(_different(chain(core, cover)), self.most_pairs))

    def _first_round(self, found: PairSearch, pairs: list[DataPair], size: int) -> bool:
        """A few draws of each. Says whether one of them is enough."""
        for start in range(0, len(pairs), GROUP):
            self.progress("searching for neighbors", start, len(pairs))
            group = pairs[start : start + GROUP]
            fresh = self._first(found, group, size)
            found.tracks += fresh
            if self._enough(fresh):
                return True
            room = CELLS // (2 * size * max([1, *(track.reader.width for track in found.tracks)]))
            if len(found.tracks) > max(2 * LEFT, room):
                _keep(found, best_first(found.tracks), max(LEFT, room // 2))
            if self._late():
                found.hurried = len(found.looked) < len(pairs)
                return True
        return False

    def _halve(self, found: PairSearch, size: int, *, enough: bool) -> None:
        """Half of them with more draws, and so on: the fewer are left, the more like each other they are.

        A pair has no more draws than are looked at before the first test; where no clock runs, as many as with this
        test, if that is a small part of all.
        """
        looking, tests = sizes(self.samples)
        if self.clock.seconds is None:
            looking = max(looking, min(looking + tests[0], int(PART * self.samples)))
        most = len(found.looked)
        found.tracks = best_first(found.tracks)
        while not enough and len(found.tracks) > LEFT:
            self.progress("searching for neighbors", most - len(found.tracks), most)
            _keep(found, found.tracks, max(LEFT, len(found.tracks) // 2))
            size *= 2
            in_time = self.clock.draws(SHARE / (2 * len(found.tracks)), self.source.pace)
            for track in found.tracks:
                track.look(self.source, int(min(size, looking - track.drawn, in_time)))
            enough = self._enough(found.tracks) or self.clock.left < (1 - SHARE) * (self.clock.seconds or 0)
            found.tracks = best_first(found.tracks)
        _keep(found, found.tracks, LEFT)

    def _enough(self, tracks: list[Track]) -> bool:
        """Looks for events; says whether one of them all but refutes the claim, also on draws that it was not found
        on: luck would end the search before it has tried everything."""
        last = min(self.samples, max(FEWEST, self.clock.draws(1 / 4, self.source.pace)))
        for track in tracks:
            track.find(self.claim, 2, last)
        return any(
            track.sure(self.claim, SURE) and track.confirmed(self.source, self.claim, CONFIRMING * track.drawn, SURE)
            for track in tracks
        )

    def _late(self) -> bool:
        return STOPPED.is_set() or self.clock.left < (1 - SHARE / 2) * (self.clock.seconds or 0)

    def _first(self, found: PairSearch, pairs: list[DataPair], size: int) -> list[Track]:
        """A few draws of each pair, fewer if they take long; pairs that only ever raise are left out."""
        tracks: list[Track] = []
        for data in pairs:
            if (tracks or found.tracks) and self._late():
                break
            track = Track(data, coarse=self.coarse)
            if not self.source.drawn and self.clock.seconds is not None:
                track.look(self.source, VERY_FEW)  # how long do they take?
            few = int(min(size, self.clock.draws(SHARE / 8, self.source.pace)))
            track.look(self.source, max(VERY_FEW, few) - track.drawn)
            found.looked.append(data)
            if _only_raises(track):
                found.raised += 1
            else:
                tracks.append(track)
        return tracks


def _keep(found: PairSearch, tracks: list[Track], number: int) -> None:
    """The first of them; of the others only what they cost is remembered."""
    found.tracks = tracks[:number]
    found.dropped_events += sum(track.compared for track in tracks[number:])


def _different(pairs: Iterator[DataPair]) -> Iterator[DataPair]:
    """Without those that came before, where a text says all of them."""
    seen: set[str] = set()
    for pair in pairs:
        text = repr(pair) if is_plain(pair) else ""
        if not text or text not in seen:
            yield pair
        seen.add(text)


def _only_raises(track: Track) -> bool:
    """Nothing but one kind of error, the same on both data sets."""
    tokens = [outputs.tokens for seen in track.seen for outputs in seen]
    if any(part is None for part in tokens):
        return False
    kinds = np.unique(np.concatenate([part.ravel() for part in tokens if part is not None]))
    return len(kinds) == 1 and kinds[0] > OTHER and track.reader.token(int(kinds[0])).startswith("raised ")

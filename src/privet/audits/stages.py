"""Tests that grow: events found on earlier draws, counted on fresh ones, four times as many each time.

Why the bound is true, whenever it stops. Before a stage draws anything, its events, its number of draws and its share
of the false-alarm rate are fixed: by earlier draws, the clock, and what is left of the rate. Given all that, each of
its bounds is wrong with no more than the chance it was given (`joint`). The shares of all stages that can ever be run
sum to the rate at most, so that with the stated confidence no bound of any stage is wrong; then the best of them may be
reported, whichever that is, and it does not matter why the last stage was the last. A stage that is cut short in its
middle is dropped as a whole.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from threading import Event as Flag
from typing import Any

import numpy as np

from privet.audits import joint
from privet.audits.claims import Claim
from privet.audits.coarse import OutputGrid, learn
from privet.audits.events import Event, View, find_events
from privet.audits.features import Pair
from privet.audits.outlook import promise
from privet.audits.outputs import OutputReader, Outputs, joined
from privet.audits.source import AuditSource
from privet.typing import Integers

FIRST, GROWTH = 1900, 3.2  # draws up to the end of the first stage; each is at least so many times larger in all
LOOKING = 4  # one draw in four finds events, at first; later all draws of earlier stages do
EARLY = 0.2  # of the false-alarm rate, for all stages but the last
EVENTS, LAST_EVENTS = 6, 3  # tested in a stage; each costs its part of the rate
BRIEF = 2  # of a pair that is only looked at: what is likely to come of it, and what it promises so far
TESTED = 2  # of these, the ones whose bound is worked out: those that look best
KEPT, CELLS = 500_000, 1_000_000  # draws of a data set, and numbers in them, that are remembered
RANKS = 50_000  # of these, at most, that rank cells; the rest picks events
BREADTH = (1, 1, 2, 3)  # pairs of neighbors that are tested in the last stage, the one before it, and so on
POOL = (2, 3, 6, 8, 16)  # pairs that are looked at before that, with a third as many draws as the test will have
PATIENCE = 0.5  # seconds between two looks at the clock
UNTIMED = 200_000  # draws between two signs of progress, where there is no clock
MANY = 1000
SMALL = 20_000  # draws, of a mechanism that gives many in one call
FEWEST = 200  # draws that are worth a test
FINDING = 0.25  # of the time left, for pairs beyond those that are tested
LIMIT = 2.0  # times the seconds given, after which a stage is dropped

Progress = Callable[[str, int, int], object]


def sizes(samples: int) -> tuple[int, list[int]]:
    """Draws to look at first, and draws of each stage. Three quarters or so are in the last."""
    count = max(0, int(math.log(samples / FIRST, GROWTH)))
    growth = (samples / FIRST) ** (1 / count) if count else 1.0
    totals = [round(samples / growth ** (count - number)) for number in range(count + 1)]
    looking = totals[0] // LOOKING
    return looking, [total - before for before, total in zip([looking, *totals], totals, strict=False)]


@dataclass(slots=True, eq=False)
class Track:
    """One pair of neighbors, and what was drawn from them so far."""

    data: tuple[Any, Any]
    reader: OutputReader = field(default_factory=OutputReader)
    seen: tuple[list[Outputs], list[Outputs]] = field(default_factory=lambda: ([], []))
    drawn: int = 0
    events: list[Event] = field(default_factory=list)
    outlook: float = 0.0  # what a last test of it is likely to give
    coarse: bool = False  # whether outputs are rounded
    grid: OutputGrid | None = None
    compared: int = 0  # events, so far

    def look(self, source: AuditSource, size: int) -> None:
        """Draws that are only looked at."""
        while size > 0:
            chunk = min(size, source.chunk(self.reader.width), MANY + 3 * self.drawn)  # outputs may turn out wide
            self.keep(self.draw(source, chunk))
            self.drawn += chunk
            size -= chunk

    def draw(self, source: AuditSource, size: int) -> list[Outputs]:
        """Fresh draws on both data sets."""
        draw = source.draw if self.drawn else source.first
        draws = [draw(data, size, self.reader) for data in self.data]
        if not self.coarse:
            return draws
        self.grid = self.grid or learn(draws, self.reader)
        return [self.grid.rounded(outputs) for outputs in draws]

    def keep(self, draws: list[Outputs]) -> None:
        for seen, outputs in zip(self.seen, draws, strict=True):
            room = min(KEPT, CELLS // max(1, self.reader.width)) - sum(map(len, seen))
            if room > 0:
                seen.append(outputs.rows(slice(0, room)))

    def find(self, claim: Claim, limit: int, size: float, *, brief: bool = False) -> None:
        """Events that look best on all draws so far, where the last test will have `size` draws."""
        rank, pick = self._halves()
        self.events, self.outlook, compared = find_events(rank, pick, claim, limit, self.reader, size=size, brief=brief)
        self.compared += compared

    @property
    def promised(self) -> float:
        return self.events[0].promised

    def sure(self, claim: Claim, margin: float) -> bool:
        """Whether an event, on the draws that it was picked on, goes beyond the claim by a wide margin."""
        return self._beyond(self._halves()[1], claim, margin)

    def confirmed(self, source: AuditSource, claim: Claim, size: int, margin: float) -> bool:
        """The same on fresh draws, to which no event owes anything."""
        draws = self.draw(source, size)
        found = self._beyond((draws[0], draws[1]), claim, margin)
        self.keep(draws)
        self.drawn += size
        return found

    def _beyond(self, draws: Pair, claim: Claim, margin: float) -> bool:
        for event in self.events:
            hits = [event.view.counts(draws[side])[event.chosen].sum() for side in (event.likelier, 1 - event.likelier)]
            if promise(claim, np.array([hits[0]]), np.array([hits[1]]), len(draws[0]), margin)[0] > claim.value:
                return True
        return False

    def _halves(self) -> tuple[Pair, Pair]:
        first, second = (joined(seen).widened(self.reader.width) for seen in self.seen)
        half = min(len(first) // 2, RANKS)
        ranks, picks = slice(0, half), slice(half, None)
        return (first.rows(ranks), second.rows(ranks)), (first.rows(picks), second.rows(picks))


def best_first(tracks: list[Track]) -> list[Track]:
    """In turn the one that promises most, and the one with the best outlook.

    A leak in one output of a hundred promises nothing for long, and would be dropped for pairs that never get further.
    """
    rankings = [sorted(tracks, key=key) for key in (lambda track: -track.promised, _outlook)]
    return list(dict.fromkeys(track for both in zip(*rankings, strict=True) for track in both))


def _outlook(track: Track) -> float:
    return -track.outlook


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FoundStage:
    """One event tested: the bound it gives, and its counts."""

    bound: float
    event: Event
    hits: tuple[int, int]
    draws: int
    miss: float  # the chance that this bound is wrong
    counts: tuple[Integers, Integers]  # cells of the view on the likelier data set and on the other
    track: Track

    def told(self, claim: Claim) -> FoundStage:
        """The same, told by what stays away, where that is what gives the bound."""
        likelier, other = (hits / self.draws for hits in self.hits)
        if not claim.absence_says_more(likelier, other):
            return self
        event = replace(
            self.event,
            chosen=~self.event.chosen,
            likelier=1 - self.event.likelier,
            order=self.event.order[::-1],
        )
        hits = (self.draws - self.hits[1], self.draws - self.hits[0])
        return replace(self, event=event, hits=hits, counts=(self.counts[1], self.counts[0]))


STOPPED = Flag()  # set by whoever wants running audits to end with what they have: then no time is left


@dataclass(slots=True, eq=False)
class Clock:
    """How much time there is."""

    seconds: float | None
    started: float = field(default_factory=time.perf_counter)

    @property
    def spent(self) -> float:
        return time.perf_counter() - self.started

    @property
    def left(self) -> float:
        if STOPPED.is_set():
            return 0.0
        return math.inf if self.seconds is None else self.seconds - self.spent

    def draws(self, share: float, pace: float) -> float:
        """For how many draws a share of the time left is enough."""
        return share * self.left / max(pace, 1e-9)

    @property
    def over(self) -> bool:
        return STOPPED.is_set() or (self.seconds is not None and self.spent > LIMIT * self.seconds + 1)


@dataclass(slots=True, kw_only=True)
class Stages:
    """Runs them on tracks, best first, until something is violated or everything is used up."""

    claim: Claim
    source: AuditSource
    clock: Clock
    miss: float
    progress: Progress
    finding: float = 0.0  # seconds that the last look for events took, for a pair

    def run(self, tracks: list[Track], tests: list[int], samples: int) -> list[FoundStage]:
        """All bounds. The last of the list is of the last stage."""
        found: list[FoundStage] = []
        left, before = self.miss, samples - sum(tests)
        for number, planned in enumerate(tests):
            to_come = len(tests) - 1 - number
            if to_come and self._quick(planned, tracks, to_come, len(tests)):
                if found:
                    tracks = self._narrowed(tracks, to_come, before, samples, tested=False)
                before += planned
                continue
            size, stop = self._size(planned, tracks, to_come, samples - tracks[0].drawn)
            if size < FEWEST and found:
                break
            last = to_come == 0 or stop
            tracks = self._narrowed(tracks, 0 if stop else to_come, min(before, size // 2), samples)
            before += planned
            tested_tracks = tracks[: BREADTH[min(0 if stop else to_come, len(BREADTH) - 1)]]
            if last:  # what the search drew beyond its part is not drawn again
                size = min(size, max(FEWEST, samples - max(track.drawn for track in tested_tracks)))
            share = left if last else self.miss * EARLY / (len(tests) - 1)
            left -= share
            for track in tested_tracks:
                self.progress("testing draws", track.drawn, samples)
                tested = self._test(track, size, share / len(tested_tracks), last)
                found += tested
                if any(one.bound > self.claim.value for one in tested):
                    return found
            if stop:
                break
        return found

    def _narrowed(
        self, tracks: list[Track], to_come: int, looking: int, samples: int, *, tested: bool = True
    ) -> list[Track]:
        """The best of them, looked at again, best first; those that will be tested have events for it.

        Pairs with an outlook on less than the first promises already are left out. A stage that is not tested narrows
        them all the same: without it, the last stage would choose its pair by as few draws as the first one.
        """
        size = min(samples, max(FEWEST, self._fits(tracks, 0)))
        breadth = BREADTH[min(to_come, len(BREADTH) - 1)]
        first, *others = tracks[: POOL[min(to_come, len(POOL) - 1)]]
        pool = [first, *(track for track in others if track.outlook >= first.promised)]
        enough = self.clock.left * (1 - FINDING)
        started, drawing = self.clock.spent, self.source.spent
        looked: list[Track] = []
        for track in pool:
            if len(looked) >= breadth and self.clock.left < enough:
                break
            in_time = self.clock.draws(0.5 / len(pool), self.source.pace)
            track.look(self.source, int(min(looking - track.drawn, in_time)))
            if len(pool) > breadth:
                track.find(self.claim, BRIEF, size, brief=True)
            looked.append(track)
        ranking = best_first(looked) if to_come else sorted(looked, key=_outlook)
        for track in ranking[: breadth if tested else 0]:
            track.find(self.claim, LAST_EVENTS if to_come == 0 else EVENTS, size)
        self.finding = (self.clock.spent - started - (self.source.spent - drawing)) / len(looked)
        return ranking

    def _quick(self, planned: int, tracks: list[Track], to_come: int, stages: int) -> bool:
        """Whether drawing takes less time than to find events in what was drawn; then a larger stage tells more.

        Where the user gave no seconds, nothing depends on the clock: then all stages but the first are too small that
        have few draws, if many are drawn in one call.
        """
        if self.clock.seconds is None:
            return to_come < stages - 1 and planned < SMALL and self.source.may_start_anew
        return self.finding * self._looked(tracks, to_come) > self._takes(tracks, to_come) * planned

    def _size(self, planned: int, tracks: list[Track], to_come: int, rest: int) -> tuple[int, bool]:
        """Draws of this stage, and whether time allows no other; then this one has one pair, as the last has, and
        all draws that there is time for."""
        if self._fits(tracks, to_come) >= 2 * planned:
            return planned, False
        return max(FEWEST // 2, min(rest, int(self._fits(tracks, 0)))), True

    def _fits(self, tracks: list[Track], to_come: int) -> float:
        """Draws for which there is time, if they are as many for each pair."""
        left = self.clock.left - self.finding * self._looked(tracks, to_come)
        return max(0.0, left) / max(self._takes(tracks, to_come), 1e-9)

    def _takes(self, tracks: list[Track], to_come: int) -> float:
        """Seconds for one draw of each pair that is tested, and a third of one where pairs are only looked at."""
        tested = min(len(tracks), BREADTH[min(to_come, len(BREADTH) - 1)])
        return 2 * (tested + self._looked(tracks, to_come) / 3) * self.source.pace

    def _looked(self, tracks: list[Track], to_come: int) -> int:
        return min(len(tracks), POOL[min(to_come, len(POOL) - 1)])

    def _test(self, track: Track, size: int, share: float, last: bool) -> list[FoundStage]:
        events = track.events[: LAST_EVENTS if last else EVENTS]
        # A batch that raises is drawn anew, once: what is wrong then has up to twice its chance, with and without it
        chances = 2 if self.source.may_start_anew else 1
        miss = math.nextafter(share / (chances * len(events)), 0)
        counts = self._counted(track, {event.view for event in events}, size)
        if counts is None:
            return []
        found = []
        for event in events:
            sides = counts[event.view]
            both = (sides[event.likelier], sides[1 - event.likelier])
            hits = (int(both[0][event.chosen].sum()), int(both[1][event.chosen].sum()))
            found.append((event, hits, both))
        margin = math.sqrt(-2 * math.log(miss))
        found.sort(key=lambda one: -self._guess(one[1], size, margin))
        return [
            FoundStage(
                bound=joint.least(self.claim, *hits, size, miss), event=event, hits=hits, draws=size, miss=miss,
                counts=both, track=track,
            )
            for event, hits, both in found[: len(found) if last else TESTED]
        ]  # fmt: skip

    def _guess(self, hits: tuple[int, int], size: int, margin: float) -> float:
        return float(promise(self.claim, np.array(hits[:1]), np.array(hits[1:]), size, margin)[0])

    def _counted(self, track: Track, views: set[View], size: int) -> dict[View, list[Integers]] | None:
        """Fresh draws, a chunk at a time, sorted into cells. None if time ran out in the middle."""
        counts: dict[View, list[Integers]] = {}
        done = 0
        while done < size:
            chunk = min(size - done, self.source.chunk(track.reader.width), self._patient())
            draws = track.draw(self.source, chunk)
            with self.source.counting():
                for view in views:
                    found = [view.counts(outputs) for outputs in draws]
                    counts[view] = [old + new for old, new in zip(counts[view], found, strict=True)] if done else found
            track.keep(draws)
            done += chunk
            self.progress("testing draws", track.drawn + done, track.drawn + size)
            if done < size and self.clock.over:
                return None
        track.drawn += size
        return counts

    def _patient(self) -> int:
        """Draws between two looks at the clock. Where nobody looks, the same number on every machine."""
        if self.clock.seconds is None:
            return UNTIMED if self.source.may_start_anew else UNTIMED // 20
        return max(1, int(PATIENCE / max(self.source.pace, 1e-9)))

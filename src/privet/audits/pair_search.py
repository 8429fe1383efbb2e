"""Looks for the pair of neighbors that tells most: many pairs with a few draws, half of them with more, and so on.

Draws of the search are never used to test. A pair that was dropped is not in the result, except in the number of pairs.
"""

from __future__ import annotations

from itertools import islice

import numpy as np

from privet.audits.claims import Claim
from privet.audits.domains import DataPair, Domain
from privet.audits.outputs import OTHER
from privet.audits.source import AuditSource
from privet.audits.stages import Clock, Progress, Track, best_first, sizes
from privet.errors import InvalidInputError

SEED = 0x5EED  # candidates are the same in every run: draws of the mechanism are random enough
SHARE = 0.25  # of all draws, at most, and of the time
MOST_PAIRS, LEFT = 48, 16
GROUP = 8  # pairs at a time
VERY_FEW, FEWEST, USUAL = 8, 24, 128  # draws of a pair in the first round
SURE = 4.5  # standard deviations: what a lucky pair out of hundreds does not reach


def find_tracks(  # noqa: PLR0913 -- what is searched, by whom, with what
    domain: Domain, source: AuditSource, claim: Claim, *, samples: int, clock: Clock, progress: Progress
) -> tuple[list[Track], int]:
    """The pairs that are worth testing, best first, and how many were looked at.

    Stops early where a pair has shown enough already: that will be tested next.
    """
    looking, _ = sizes(samples)
    size = min(USUAL, max(FEWEST, samples // 400))
    most = min(MOST_PAIRS, max(3, int(SHARE * samples) // (2 * size)))
    pairs = islice(domain.pairs(np.random.default_rng(SEED)), most)
    tracks: list[Track] = []
    looked, enough = 0, False
    while not enough and (group := list(islice(pairs, GROUP))):
        progress("searching for neighbors", looked, most)
        fresh = _first(group, source, size, clock)
        looked += len(fresh)
        enough = _ranked(fresh, claim, _last(samples, source, clock)) or _late(clock)
        tracks += fresh
    if not tracks:
        raise InvalidInputError(
            f"the mechanism raised in every call on both data sets ({source.error[:200]})",
            "give data that it takes: neighbors=(data, data_without_one_person), or another domain",
            "code-fails",
        )
    tracks = best_first(tracks)
    while not enough and len(tracks) > LEFT:
        progress("searching for neighbors", most - len(tracks), most)
        del tracks[max(LEFT, len(tracks) // 2) :]
        for track in tracks:
            track.look(source, min(size, looking - track.drawn))
        size *= 2
        enough = _ranked(tracks, claim, _last(samples, source, clock)) or clock.left < (1 - SHARE) * (
            clock.seconds or 0
        )
        tracks = best_first(tracks)
    return tracks[:LEFT], looked


def _last(samples: int, source: AuditSource, clock: Clock) -> float:
    """Draws that the last test may have: there is time for so many."""
    return min(samples, max(FEWEST, clock.draws(1 / 4, source.pace)))


def _ranked(tracks: list[Track], claim: Claim, size: float) -> bool:
    """Looks for events; says whether one of them all but refutes the claim."""
    for track in tracks:
        track.find(claim, 2, size)
    return any(track.sure(claim, SURE) for track in tracks)


def _late(clock: Clock) -> bool:
    return clock.left < (1 - SHARE / 2) * (clock.seconds or 0)


def _first(pairs: list[DataPair], source: AuditSource, size: int, clock: Clock) -> list[Track]:
    """A few draws of each pair, fewer if they take long; pairs that only ever raise are left out."""
    tracks: list[Track] = []
    for data in pairs:
        if tracks and _late(clock):
            break
        track = Track(data)
        if not source.drawn and clock.seconds is not None:
            track.look(source, VERY_FEW)  # how long do they take?
        few = int(min(size, clock.draws(SHARE / 8, source.pace)))
        track.look(source, max(VERY_FEW, few) - track.drawn)
        if not _only_raises(track):
            tracks.append(track)
    return tracks


def _only_raises(track: Track) -> bool:
    """Nothing but one kind of error, the same on both data sets."""
    tokens = [outputs.tokens for seen in track.seen for outputs in seen]
    if any(part is None for part in tokens):
        return False
    kinds = np.unique(np.concatenate([part.ravel() for part in tokens if part is not None]))
    return len(kinds) == 1 and kinds[0] > OTHER and track.reader.token(int(kinds[0])).startswith("raised ")

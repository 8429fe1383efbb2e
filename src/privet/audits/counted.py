"""Run a mechanism on neighbors, count, and bound a claim's parameter from below. Nothing is assumed of the mechanism.

The one call of this room: it looks for neighbors, for events, and tests what it found on fresh draws.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from privet.audits import coarse, joint
from privet.audits.canaries import read_confidence
from privet.audits.claims import Claim
from privet.audits.coverage import Tried
from privet.audits.domains import Coverable, Domain, Pairs, Rows, is_pair
from privet.audits.outlook import visible_from
from privet.audits.outputs import MOST_COLUMNS
from privet.audits.pair_search import MOST_PAIRS, PairSearch, Searcher
from privet.audits.source import AuditSource
from privet.audits.stages import Clock, FoundStage, Progress, Stages, Track, sizes
from privet.audits.verdict import TIMES, Audit, Witness
from privet.core.rational import positive, show, whole
from privet.errors import InvalidInputError
from privet.stats import binomial

FEWEST_SAMPLES = 1000
LONGEST = 60  # letters of a data set in words
POINTS = 60  # of the ROC curve
LOOKING = 0.1  # of the time that is left, for a look at each pair before the first test


def audit(  # noqa: PLR0913 -- what is audited, and settings by name
    mechanism: Callable[..., Any],
    claim: Claim,
    neighbors: Any = "search",
    *,
    domain: Domain | None = None,
    samples: int = 1_000_000,
    seconds: object = None,
    confidence: object = 0.999999,
    batch: bool | None = None,
    progress: Progress | None = None,
    pairs: int = MOST_PAIRS,
    ignore_float_bits: bool = False,
) -> Audit:
    """A lower bound on the parameter that is claimed of `mechanism`, at worst over neighbors that were found.

    `mechanism(data)` returns one output of any kind; `mechanism(data, size)` returns `size` independent ones.
    `neighbors`: a pair of data sets, a list of pairs, a domain, or "search" with a `domain` (by default lists of 0s and
    1s, of which one record comes or goes). Stops at the first violation, or when `samples` a data set or `seconds` are
    used up. Without `seconds` nothing depends on the clock. The bound is true with chance `confidence`. `batch` says
    whether the mechanism takes a size, where its signature does not tell; `progress(what, done, of)` is called on the
    way.

    Up to `pairs` pairs of data sets are looked at. If that is too few for all values that the domain lists, the result
    is inconclusive. `ignore_float_bits` rounds outputs to a grid of about 1/1024 of their spread before anything is
    looked at, so that the audit sees what else is wrong with noise in floating point.
    """
    sure, total, limit = _check(claim, samples, confidence, seconds)
    if progress is not None and not callable(progress):
        raise InvalidInputError(
            f"progress must be callable, not {show(progress)}", "give a function (what, done, of)", "not-callable"
        )
    source, where = AuditSource(mechanism, batch), _domain(neighbors, domain)
    clock, report = Clock(limit), progress or _silent
    search = Searcher(
        source=source, claim=claim, samples=total, clock=clock, progress=report,
        most_pairs=whole(pairs, "pairs", 1), coarse=bool(ignore_float_bits),
    ).search(where)  # fmt: skip
    tracks = search.tracks
    looking, tests = sizes(total)
    for track in tracks:
        track.look(source, int(min(looking - track.drawn, clock.draws(LOOKING / len(tracks), source.pace))))
    stages = Stages(claim=claim, source=source, clock=clock, miss=float(1 - sure), progress=report)
    found = stages.run(tracks, tests, total)
    if not found:
        raise InvalidInputError(
            "the mechanism became so slow that no test was finished in time",
            "give more seconds, or none",
            "out-of-time",
        )
    return _result(found, claim, sure=sure, tried=_tried(where, search, tracks), domain=where, seconds=clock.spent)


def _tried(domain: Domain, search: PairSearch, tracks: list[Track]) -> Tried:
    tally = domain.tally(search.looked) if isinstance(domain, Coverable) else Tried(pairs=len(search.looked))
    events = search.dropped_events + sum(track.compared for track in tracks)
    return replace(tally, raised=search.raised, hurried=search.hurried, events=events)


def _result(  # noqa: PLR0913 -- all that is said in it
    found: list[FoundStage], claim: Claim, *, sure: Fraction, tried: Tried, domain: Domain, seconds: float
) -> Audit:
    best, last = max(found, key=lambda one: one.bound), max(found, key=lambda one: one.draws)
    grid = best.track.grid
    bits = grid is None and best.bound > claim.value and coarse.from_float_bits(best, claim)
    best = best.told(claim)
    rarest = claim.most(binomial.upper(0, last.draws, last.miss))
    return Audit(
        claim=claim,
        lower_bound=best.bound,
        confidence=float(sure),
        ceiling=max(joint.least(claim, last.draws, 0, last.draws, last.miss), best.bound),
        rarest=rarest,
        visible=visible_from(claim, last.draws, last.miss, TIMES),
        witness=_witness(best),
        samples=best.track.drawn,
        seconds=seconds,
        method=best.event.view.name,
        pairs=tried.pairs,
        tried=tried,
        float_bits=_float_words(best) if bits else "",
        rounded="" if grid is None else str(grid),
        roc=_roc(best),
        not_tested=(
            *_not_tested(tried, domain, rarest),
            *([] if grid is None else [f"the last bits of floating-point numbers, and anything else below: {grid}"]),
            *([f"what an output has beyond its first {MOST_COLUMNS:,} parts"] if best.track.reader.cut else []),
        ),
    )


def _witness(found: FoundStage) -> Witness:
    first, second = (_words(data) for data in found.track.data)
    return Witness(str(found.event), found.event.likelier, found.hits, found.draws, (first, second))


def _words(data: Any) -> str:
    text = repr(data.tolist() if isinstance(data, np.ndarray) else data)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def _roc(found: FoundStage) -> tuple[tuple[float, float], ...]:
    """Shares of the draws that a threshold takes, cell by cell, those first that speak most for the likelier one."""
    likelier, other = (np.concatenate([[0], np.cumsum(side[found.event.order])]) / found.draws for side in found.counts)
    places = np.unique(np.linspace(0, len(other) - 1, POINTS).astype(int))
    points = {(float(other[place]), float(likelier[place])) for place in places}
    return tuple(sorted({*points, (found.hits[1] / found.draws, found.hits[0] / found.draws), (1.0, 1.0)}))


def _float_words(found: FoundStage) -> str:
    """For who never heard of doubles."""
    often = "only" if not found.hits[1] else "far more often"
    place = ("first", "second")[found.event.likelier]
    return (
        "This comes from the last bits of floating-point numbers: a computer leaves gaps between such numbers, the "
        f"gaps depend on the true answer, and so some outputs come up {often} on the {place} data set, however good "
        "the noise looks."
    )


def _not_tested(tried: Tried, domain: Domain, rarest: float) -> tuple[str, ...]:
    looked = "one pair of data sets" if tried.pairs == 1 else f"{tried.pairs:,} pairs of data sets"
    return (
        f"other inputs: {looked} out of {domain}",
        *tried.left_out(),
        f"leaks in outputs with a probability below {rarest:.1e}",
        "how long an answer takes, and anything else that is not in the output",
        "several answers together: calls are taken to be independent of each other",
    )


def _silent(text: str, done: int, total: int) -> None:
    """Nobody wants to know."""


def _domain(neighbors: Any, domain: Domain | None) -> Domain:
    if isinstance(neighbors, str) and neighbors == "search":
        chosen = Rows([0, 1]) if domain is None else domain
        if not isinstance(chosen, Domain):
            raise InvalidInputError(
                f"domain must be a domain of data sets, not {show(domain)}",
                "write domain=pv.audits.Rows([0, 1]), or another of People, Answers and Pairs",
                "wrong-type",
            )
        return chosen
    if domain is not None:
        raise InvalidInputError(
            "neighbors and domain are both given",
            'give neighbors="search" with a domain, or a pair without one',
            "contradictory-options",
        )
    if isinstance(neighbors, Domain):
        return neighbors
    several = isinstance(neighbors, list) and all(isinstance(pair, tuple) and is_pair(pair) for pair in neighbors)
    return Pairs(neighbors if several else [neighbors])


def _check(claim: object, samples: object, confidence: object, seconds: object) -> tuple[Fraction, int, float | None]:
    sure = read_confidence(claim, confidence)
    limit = None if seconds is None else float(positive(seconds, "seconds"))
    return sure, whole(samples, "samples", FEWEST_SAMPLES), limit

"""Audit the whole gallery: which broken mechanisms are caught, and whether a twin is flagged by mistake."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

from privet.audits import audit
from privet.audits.stages import STOPPED
from privet.core.rational import show
from privet.errors import InvalidInputError
from privet.gallery import GalleryEntry, entries

SECONDS = 4.8  # for each entry; a broken one is mostly found in less than one
SAMPLES = (
    8_000_000  # from each data set, at most; a claim of epsilon 10 cannot be contradicted with fewer than millions
)

TWIN = "-fixed"  # how the names of correct twins end

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class GalleryRow:
    """What the auditor said of one entry."""

    name: str
    correct: bool
    flagged: bool
    bound: float  # epsilon, rho or mu is at least this
    ceiling: float
    method: str
    seconds: float
    samples: int
    claimed: float
    claim: str
    says: str
    witness: str

    @property
    def right(self) -> bool:
        return self.flagged != self.correct

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class GalleryJob:
    """What another process needs to know: it builds the entry again, from the seed and its name."""

    seed: int
    name: str
    seconds: float | None
    samples: int


def run(  # noqa: PLR0913 -- settings, by name
    seed: int = 0,
    *,
    seconds: float | None = SECONDS,
    twin_seconds: float | None = None,
    samples: int = SAMPLES,
    only: str = "",
    processes: int | None = None,
    progress: Progress | None = None,
) -> tuple[GalleryRow, ...]:
    """Audit the entries whose names begin with `only`, several processes at a time; rows in the order of the gallery.
    Those that are ready, if somebody stops it.

    Each has `seconds`, or as long as `samples` from each data set take; correct twins have `twin_seconds`, if given.
    """
    names, found = _names(seed, only), dict[str, GalleryRow]()
    limits = [twin_seconds or seconds if name.endswith(TWIN) else seconds for name in names]
    jobs = [
        GalleryJob(seed=seed, name=name, seconds=limit, samples=samples)
        for name, limit in zip(names, limits, strict=True)
    ]
    try:
        for done, row in enumerate(_rows(jobs, processes or os.cpu_count() or 1), 1):
            found[row.name] = row
            if progress is not None:
                progress(f"audited {row.name}", done, len(names))
            if STOPPED.is_set():
                break
    except KeyboardInterrupt:  # in another process, too
        if not (found and STOPPED.is_set()):
            raise
    return tuple(found[name] for name in names if name in found)


def _rows(jobs: Sequence[GalleryJob], processes: int) -> Iterator[GalleryRow]:
    """As they are ready. Nothing of an entry is sent to another process but its name."""
    if processes == 1 or len(jobs) == 1:
        yield from map(audited, jobs)
        return
    with ProcessPoolExecutor(min(processes, len(jobs))) as pool:
        try:
            yield from (future.result() for future in as_completed([pool.submit(audited, job) for job in jobs]))
        except BaseException:  # nobody waits for the others
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _names(seed: int, only: str) -> list[str]:
    names = [entry.name for entry in entries(seed)]
    chosen = [name for name in names if name.startswith(only)]
    if not chosen:
        raise InvalidInputError(
            f"no mechanism of the gallery has a name that begins with {show(only)}",
            f"give one of: {', '.join(name for name in names if not name.endswith(TWIN))}",
            "unknown-choice",
        )
    return chosen


@lru_cache(maxsize=1)
def _built(seed: int) -> dict[str, GalleryEntry]:
    return {entry.name: entry for entry in entries(seed)}


def audited(job: GalleryJob) -> GalleryRow:
    """One call of the auditor, which sees the mechanism, the claim and the domain."""
    entry = _built(job.seed)[job.name]
    found = audit(entry.mechanism, entry.claim, domain=entry.domain, samples=job.samples, seconds=job.seconds)
    return GalleryRow(
        name=entry.name,
        correct=entry.correct,
        flagged=found.violated,
        bound=found.lower_bound,
        ceiling=found.ceiling,
        method=found.method,
        seconds=found.seconds,
        samples=found.samples,
        claimed=float(entry.claim.value),
        claim=str(entry.claim),
        says=entry.says,
        witness=str(found.witness),
    )

"""Reversal of pseudonyms: every id that there can be, hashed, and looked up among the pseudonyms.

    found = attack_pseudonyms("trips.csv", "medallion", formats="taxi-medallion", seconds=60)
    found.ids["cd9f05…"]            # "5X55"
    print(found)                    # the findings

A hash hides nothing that can be listed: a taxi medallion is one of 18 million, and a laptop hashes them in seconds.
What helps is a key that nobody knows: then there is nothing to list, see `privet.anonymize.pseudonymize`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

from privet.attacks.proofs.work import Work
from privet.attacks.pseudonyms.formats import Format, space
from privet.attacks.pseudonyms.hash_search import Sweep
from privet.attacks.pseudonyms.schemes import Scheme, by_chance
from privet.attacks.pseudonyms.search_plan import SearchForecast, SearchPlan, forecast_of, planned
from privet.attacks.pseudonyms.words import CERTAIN_BITS, FoundIds, Reversed, told
from privet.core.rational import show
from privet.errors import InvalidInputError

Progress = Callable[[str, int, int], object]
CHANCE = 1e-9  # of taking another hash for the one that was used


def attack_pseudonyms(  # noqa: PLR0913  the rest is keyword-only
    data: object,
    column: str | None = None,
    *,
    formats: str | Iterable[str] | None = None,
    algorithm: str | None = None,
    salt: str | bytes | None = None,
    key: bytes | None = None,
    salts: str | None = None,
    secret_bits: int | None = None,
    seconds: float = 60,
    progress: Progress | None = None,
    forecast: Callable[[SearchForecast], object] | None = None,
) -> Reversed:
    """The ids behind a column of hashes. `data` is a file, a data frame or records, or the pseudonyms themselves.

    `formats` say what ids look like (see `reversal_formats`); without them likely ones are tried, small ones first.
    `salt` stands before or after the id; `key` is that of HMAC; `salts` is a format of salts to try, such as 9999.
    `secret_bits` says that the owner used HMAC with a key of so many bits, which an attacker does not have.
    `forecast` hears how long everything takes, before it begins. `seconds` says how much to hash: what an ordinary
    machine hashes in that time, so that a busy one finds the same.
    """
    if not seconds > 0:
        raise InvalidInputError(
            f"seconds must be above 0, not {show(seconds)}", "for example seconds=60", "not-positive"
        )
    plan = planned(data, column, formats, algorithm, salt, key, salts)
    ahead = forecast_of(plan)
    if forecast is not None:
        forecast(ahead)
    found, work, start = FoundIds(), Work(seconds), time.perf_counter()
    if secret_bits is None:
        found = _search(plan, work, progress or (lambda *_: None))
    return told(plan, ahead, found, secret_bits=secret_bits, seconds=time.perf_counter() - start)


def _search(plan: SearchPlan, work: Work, progress: Progress) -> FoundIds:
    """Likely schemes in all formats, then the others; once a scheme is settled, it alone; if none is, the best."""
    found = FoundIds()
    for some in plan.rounds:
        for format in plan.formats:
            for scheme in some if found.scheme is None else (found.scheme,):
                _sweep(plan, found, scheme, format, work, progress)
                if found.stopped or found.scheme is not None:
                    break
            everybody = len(found.candidates) == plan.pseudonyms_sought
            if found.stopped or (everybody and plan.targets.reading.bits >= CERTAIN_BITS):
                return found
        if found.scheme is not None:
            return found
    found.scheme = max(
        (scheme for scheme in found.hits if _possible(plan, found, scheme)),
        key=lambda scheme: len(found.hits[scheme]),
        default=None,
    )
    return found


def _sweep(  # noqa: PLR0913, PLR0917
    plan: SearchPlan, found: FoundIds, scheme: Scheme, format: Format, work: Work, progress: Progress
) -> None:
    of, names = space(plan.formats) * len(plan.schemes), plan.pseudonyms_sought
    tell = _teller(progress, f"hashing {format.text}, {len(found.candidates):,} of {names:,} found", found, of)
    hits, done = Sweep.of(format, scheme, plan.targets).run(work, tell)
    found.hashed += done
    found.add(scheme, format, hits)
    found.stopped = done < format.size
    if found.scheme is None and _settled(plan, found, scheme):
        found.scheme = scheme


def _teller(progress: Progress, what: str, found: FoundIds, of: int) -> Callable[[int], object]:
    before = found.hashed
    return lambda done: progress(what, before + done, of)


def _settled(plan: SearchPlan, found: FoundIds, scheme: Scheme) -> bool:
    """Whether no other scheme need be tried. With salts the same text may be read in two ways: 4209 is the id 09 after
    the salt 42, and the id 42 before the salt 09; so one that explains few pseudonyms waits for a better one."""
    hits = found.hits.get(scheme, ())
    return _possible(plan, found, scheme) and (not scheme.salt or 2 * len(hits) >= plan.pseudonyms_sought)


def _possible(plan: SearchPlan, found: FoundIds, scheme: Scheme) -> bool:
    """Whether so many hits can hardly be chance, however many schemes are tried."""
    real = sum(number not in plan.decoys for number, _, _ in found.hits.get(scheme, ()))
    chance = by_chance(real, space(plan.formats), plan.pseudonyms_sought, plan.targets.reading.bits)
    return chance * len(plan.schemes) <= CHANCE

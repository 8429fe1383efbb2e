"""What a reversal found, in words: who is known, how sure that is, what leaks even where nobody is known."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from privet.attacks.finding import Finding, Findings, ShownTable, Strength
from privet.attacks.pseudonyms.formats import Format, space
from privet.attacks.pseudonyms.schemes import Scheme
from privet.attacks.pseudonyms.search_plan import SearchForecast, SearchPlan, duration
from privet.errors import InvalidInputError

if TYPE_CHECKING:
    import pandas as pd

CERTAIN_BITS = 128  # no two ids share that many, whatever was not tried
NEGLIGIBLE = 1e-9  # a chance
ENOUGH = 128  # bits of a key that nobody guesses
MOST_FINDINGS = 1000
REVERSIBLE, NOT_REVERSIBLE, NOT_REVERSED = "reversible", "not reversible", "not reversed"
LEAKS = (
    "Equal ids stay equal, so anyone who knows how many records a person has may know their pseudonym.",
    "Anyone who has the key can reverse the pseudonyms: protect it like the ids.",
    "Other columns may still reveal who somebody is: see linkage.",
)


@dataclass(slots=True)
class FoundIds:
    """What a search has so far: for each scheme its hits (number of the pseudonym, id, format)."""

    scheme: Scheme | None = None  # the one that was used, once that is settled
    hits: dict[Scheme, list[tuple[int, bytes, str]]] = field(default_factory=dict)
    hashed: int = 0
    stopped: bool = False  # the work ran out

    def add(self, scheme: Scheme, format: Format, hits: Sequence[tuple[int, bytes]]) -> None:
        if hits:
            self.hits.setdefault(scheme, []).extend((number, one, format.text) for number, one in hits)

    @property
    def candidates(self) -> dict[int, dict[bytes, str]]:
        """The ids that each pseudonym may be, with their formats."""
        found: dict[int, dict[bytes, str]] = {}
        for number, one, format in self.hits.get(self.scheme, ()) if self.scheme else ():
            found.setdefault(number, {})[one] = format
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Reversed:
    """`ids`: the id of each pseudonym that has one candidate. `findings`: the same for people to read, and how sure it
    is: behind a short hash there may be an id that was not tried."""

    verdict: str
    ids: Mapping[str, str]
    scheme: Scheme | None
    forecast: SearchForecast
    findings: Findings

    def report(self, path: str | Path) -> Path:
        return self.findings.report(path)

    def to_json(self) -> dict[str, Any]:
        return self.findings.to_json()

    def to_pandas(self) -> pd.DataFrame:
        import pandas as pd  # noqa: PLC0415  only who asks for it needs it

        return pd.DataFrame({"pseudonym": list(self.ids), "id": list(self.ids.values())})

    def __str__(self) -> str:
        return str(self.findings)

    def _repr_html_(self) -> str:
        return self.findings._repr_html_()


def told(
    plan: SearchPlan, ahead: SearchForecast, found: FoundIds, *, secret_bits: int | None, seconds: float
) -> Reversed:
    if secret_bits is not None and secret_bits < 1:
        raise InvalidInputError(
            f"a key of {secret_bits} bits is not a key", "for example secret_bits=256", "not-positive"
        )
    numbers, normal = plan.targets.numbers, plan.pseudonyms.reading.normal
    names = {text: numbers[spelled] for text in plan.pseudonyms.counts if (spelled := normal(text)) is not None}
    by_number = found.candidates
    candidates = {text: by_number[number] for text, number in names.items() if number in by_number}
    single = {text: _shown(next(iter(ids))) for text, ids in candidates.items() if len(ids) == 1}
    by_chance = space(plan.formats) / 2 ** min(plan.targets.reading.bits, 1000)
    complete = plan.declared and not found.stopped and len(candidates) == len(names)
    inside = explained(len(candidates), len(names), by_chance)
    surely = complete or plan.targets.reading.bits >= CERTAIN_BITS
    certain = len(single) if surely else 0
    verdict = REVERSIBLE if candidates else NOT_REVERSED
    if secret_bits is not None and secret_bits >= ENOUGH:
        verdict = NOT_REVERSIBLE
    decoys = sum(number in plan.decoys for number in found.candidates)
    most = max(map(len, candidates.values()), default=0)
    doubts = [doubt(ids, inside, by_chance) for ids in range(1, 1 + most)]
    findings = Findings(
        attack="reversal",
        subject=f"{plan.subject}, {plan.pseudonyms.name}",
        headline=_headline(plan, len(single), verdict, surely=surely),
        people=len(plan.pseudonyms.counts),
        proven=certain,
        findings=tuple(_findings(plan, found, candidates, [0.0] * most if surely else doubts)),
        tables=tuple(_tables(plan, ahead, candidates, secret_bits)),
        assumptions=tuple(_assumptions(plan, found, decoys, by_chance)),
        not_tried=tuple(_not_tried(plan, found, candidates)),
        numbers=_numbers(plan, ahead, found, single, verdict, decoys, len(candidates) - len(single)),
        seconds=seconds,
        alarm="bad" if candidates else "neutral" if found.stopped else None,
    )
    return Reversed(verdict=verdict, ids=single, scheme=found.scheme, forecast=ahead, findings=findings)


def explained(found: int, sought: int, by_chance: float) -> float:
    """The share of pseudonyms whose ids are among those that were tried. By chance an id is found for a share q of the
    others too, q = 1 - exp(-by_chance), so a share f = s + (1 - s) q is found: s = (f - q) / (1 - q). That it is all of
    them is never known, nor that it is none where one was found."""
    chance = -math.expm1(-by_chance)
    share = (found / max(sought, 1) - chance) / max(1 - chance, 1e-9)
    return min(max(share, 1 / (sought + 1)), sought / (sought + 1))


def doubt(ids: int, inside: float, by_chance: float) -> float:
    """The chance that none of so many ids behind a pseudonym is the right one, because that was not tried.

    Other ids are behind it by a Poisson law of mean b, `by_chance`. So n are seen with chance b^(n-1) / (n-1)! if the
    right one was tried, else b^n / n!, both times exp(-b); by Bayes' rule, with a share s of them tried, none is right
    with chance (1 - s) b / n / (s + (1 - s) b / n).
    """
    rest = (1 - inside) * by_chance / ids
    return rest / (inside + rest)


def _shown(one: bytes) -> str:
    return one.decode(errors="replace")


def _headline(plan: SearchPlan, reversed: int, verdict: str, *, surely: bool) -> str:
    total = len(plan.pseudonyms.counts)
    of = f"of {total:,} {'pseudonym' if total == 1 else 'pseudonyms'}"
    if verdict == NOT_REVERSIBLE:
        return f"{plan.pseudonyms.name} is not reversible without the key"
    if not reversed:
        return f"None {of} was reversed"
    return f"{reversed:,} {of} {'is' if reversed == 1 else 'are'} {'' if surely else 'probably '}reversed"


def _findings(
    plan: SearchPlan, found: FoundIds, candidates: Mapping[str, Mapping[bytes, str]], doubts: Sequence[float]
) -> list[Finding]:
    """Whose pseudonym is there most often comes first; those with several candidates last. `doubts`: that none of 1, 2,
    ... candidates is right."""
    counts = plan.pseudonyms.counts
    order = sorted(candidates, key=lambda text: (len(candidates[text]), -counts[text], text))
    listed = []
    for text in order[:MOST_FINDINGS]:
        ids = [_shown(one) for one in candidates[text]]
        sure = len(ids) == 1 and not doubts[0]
        listed.append(
            Finding(
                claim=f"{_short(text)} is {ids[0]}"
                if len(ids) == 1
                else f"{_short(text)} is one of {', '.join(ids[:5])}",
                strength=Strength.PROOF if sure else Strength.CONFIDENCE,
                record={"pseudonym": text, "id": ids[0] if len(ids) == 1 else " or ".join(ids[:5])},
                evidence=(f"{counts[text]:,} record{'s' * (counts[text] > 1)}",),
                reasoning=f"{found.scheme} of it begins with these {plan.targets.reading.bits} bits",
                confidence=None if sure else (1 - doubts[len(ids) - 1]) / len(ids),
                certificate=(found.scheme, tuple(candidates[text])),
            )
        )
    return listed


def _short(text: str) -> str:
    return text if len(text) <= 16 else f"{text[:12]}…"


def _tables(
    plan: SearchPlan,
    ahead: SearchForecast,
    candidates: Mapping[str, Mapping[bytes, str]],
    secret_bits: int | None,
) -> list[ShownTable]:
    by_format = Counter(next(iter(ids.values())) for ids in candidates.values())
    rows = tuple(
        (format.text, f"{format.size:,}", duration(format.size / ahead.rate), f"{by_format[format.text]:,}")
        for format in plan.formats
    )
    text = f"{ahead.rate / 1e6:.1f} million hashes a second on this machine, with {ahead.schemes[0]}."
    space_table = ShownTable("All possible ids", text, ("format", "ids", "time for all", "found"), rows)
    if secret_bits is not None:
        return [_key_table(ahead, secret_bits), _leak_table(plan)]
    if candidates:
        return [space_table]
    return [space_table, _key_table(ahead, ENOUGH), _leak_table(plan)]


def _key_table(ahead: SearchForecast, bits: int) -> ShownTable:
    """A key is tried on one pseudonym whose id is known: then each costs one hash."""
    log10 = bits * math.log10(2) - math.log10(ahead.rate * 3600 * 24 * 365.25)
    years = f"10^{log10:.0f} years" if log10 > 6 else duration(10**log10 * 3600 * 24 * 365.25)
    enough = "Nobody can try that many" if bits >= ENOUGH else "That is within reach of somebody with more machines"
    text = (
        f"If a key of {bits} bits was used (HMAC), there is no list of ids to hash without it: even an attacker who"
        f" knows one id with its pseudonym must try up to 2^{bits} keys, which takes {years} at this speed. {enough}."
    )
    return ShownTable("A key that nobody knows", text)


def _leak_table(plan: SearchPlan) -> ShownTable:
    counts = sorted(plan.pseudonyms.counts.values(), reverse=True)
    often = sum(count > 1 for count in counts)
    alone = sum(number == 1 for number in Counter(counts).values())
    rows = (
        ("pseudonyms with more than one record, which can be linked to each other", f"{often:,}"),
        ("records of the most frequent one", f"{counts[0]:,}"),
        ("pseudonyms with a number of records that no other has", f"{alone:,}"),
    )
    text = " ".join(LEAKS)
    return ShownTable("What still leaks", text, ("what", "number"), rows)


def _assumptions(plan: SearchPlan, found: FoundIds, decoys: int, by_chance: float) -> list[str]:
    listed = [
        "The ids have one of the listed formats." if plan.declared else "The ids have one of the guessed formats.",
        "Every hit was hashed again with Python's own hashlib, and agrees in all letters of the pseudonym.",
        f"Control: {len(plan.decoys):,} random pseudonyms of nobody were searched, too; {decoys:,} of them had a hit.",
    ]
    if found.scheme is not None:
        listed.append(
            f"The pseudonyms are {found.scheme}: the probability that chance gives this many hits is below one in 10^9."
        )
    if by_chance > NEGLIGIBLE:
        listed.append(
            f"Several ids may share a short hash: {by_chance:.2g} other possible ids fit it by chance, on average."
        )
    if plan.pseudonyms.others:
        listed.append(f"{plan.pseudonyms.others:,} other values of the column look different and were left out.")
    return listed


def _not_tried(plan: SearchPlan, found: FoundIds, candidates: Mapping[str, Any]) -> list[str]:
    listed = ["Other formats of ids, and ids with letters that the formats do not have."]
    if found.stopped:
        listed.append(f"The search stopped after {found.hashed:,} hashes: give more seconds.")
    if len(candidates) < len(plan.pseudonyms.counts):
        listed.append("Salts and keys that were not given; hashes of hashes; slow hashes made for passwords.")
    return listed


def _numbers(  # noqa: PLR0913, PLR0917
    plan: SearchPlan,
    ahead: SearchForecast,
    found: FoundIds,
    single: Mapping[str, str],
    verdict: str,
    decoys: int,
    ambiguous: int,
) -> dict[str, Any]:
    return {
        "verdict": verdict,
        "pseudonyms": len(plan.pseudonyms.counts),
        "reversed": len(single),
        "ambiguous": ambiguous,
        "scheme": None if found.scheme is None else str(found.scheme),
        "ids": ahead.ids,
        "hashes": found.hashed,
        "rate": ahead.rate,
        "forecast_seconds": ahead.seconds,
        "stopped": found.stopped,
        "limits": ["not all ids were tried: the work ran out"] if found.stopped else [],
        "control": {"pseudonyms": len(plan.decoys), "hits": decoys},
    }

"""Differencing: answers that are harmless one by one, added up and subtracted until one person is left.

Give the people, who is counted in which query, and the published answers. Back comes everybody whose secret is certain,
with the queries that gave them away; who is within a narrow range; and, where the answers are noisy, who is known with
high probability. docs/attacks/differencing.md is the page for it.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor

from privet.attacks.differencing.determined import SecretRange, Settled, settle
from privet.attacks.differencing.noisy import CERTAINTY, NoisyEstimate, ceiling, estimates, has_it, pooled_rate
from privet.attacks.differencing.queries import Queries
from privet.attacks.differencing.score import Guess, score
from privet.attacks.differencing.words import number_text, range_claim, reasoning, value_claim, who
from privet.attacks.finding import Finding, Findings, ShownTable, Strength
from privet.attacks.proofs.work import Work
from privet.attacks.tables.certain import Progress, silent

NARROW = Fraction(1, 10)  # of the secret's range: what is worth a finding
NO_TIME = "Time ran out before it was clear that all answers can be true together, so nothing is claimed."


@dataclass(frozen=True, slots=True)
class PersonEstimate:
    """What is claimed of one person in a class. `value` is the best guess in the secret's units, with `confidence`;
    `before` is the confidence of a guess without the release."""

    low: Fraction
    high: Fraction
    value: Fraction
    confidence: float
    before: float


def attack_differencing(
    queries: Queries,
    *,
    seconds: float = 60,
    truth: Mapping[str, object] | None = None,
    progress: Progress = silent,
) -> Findings:
    """The attack. `truth` (name -> secret) scores it; `progress` is told (what, done, of how many)."""
    start = time.perf_counter()
    work = Work(seconds)
    settled = settle(queries, work, progress)
    sure = {at: found for at, found in settled.ranges.items() if settled.exists and not _known(queries, settled, found)}
    exact = {at: steps for at, found in sure.items() if (steps := _same(queries, settled, at, found)) is not None}
    narrow = {
        at: sides for at, found in sure.items() if at not in exact and (sides := _side(queries, settled, at, found))
    }
    sums = {at: found.low for at, found in settled.ranges.items() if settled.exists and found.low == found.high}
    guessed = _guessed(queries, estimates(queries, settled.classes, sums))
    likely = {at: told for at, (_, told) in guessed.items() if told.confidence >= CERTAINTY and at not in narrow}
    control = settled.classes.control
    assert not {control} & {*exact, *narrow, *guessed}  # noqa: S101  whoever is in no query cannot be known
    found = [
        *(_exact_finding(queries, settled, at, steps) for at, steps in _fewest_first(settled, exact)),
        *(_range_finding(queries, settled, at, *narrow[at]) for at in _worst_first(narrow)),
        *(_likely_finding(queries, settled, at, *guessed[at]) for at in _surest_first(likely)),
    ]
    people = sum(queries.people.values())
    certain = sum(settled.classes.sizes[at] for at in exact)
    names = [name for at in exact for name in settled.classes.names[at]]
    guesses = _guesses(queries, settled, exact, narrow, guessed)
    limits = _limits(settled)
    return Findings(
        attack="differencing",
        subject=queries.subject,
        headline=_headline(settled, people, certain, len(narrow), len(likely)),
        people=people,
        proven=certain,
        findings=tuple(found),
        tables=tuple(_tables(queries, settled, guessed)),
        score=None if truth is None else score(queries, guesses, truth),
        assumptions=tuple(_assumptions(queries)),
        not_tried=tuple(_not_tried(queries, settled)),
        numbers={
            "determined": names,
            "queries": len(queries.queries),
            "up_to_noise": len(likely),
            "in_range": len(narrow),
            "limits": limits,
            "unsettled": [name for at in settled.unsettled for name in settled.classes.names[at]],
        },
        seconds=time.perf_counter() - start,
        alarm="bad" if found else "neutral" if limits else None,
    )


# What is known of one person


def _same(queries: Queries, settled: Settled, column: int, found: SecretRange) -> int | None:
    """The steps that everybody in the class has: one person's, or the end of the range if all of them are there."""
    size, top = settled.classes.sizes[column], queries.secret.top
    if found.low != found.high or (size > 1 and found.low not in (0, size * top)):
        return None
    return found.low // size


def _known(queries: Queries, settled: Settled, found: SecretRange) -> bool:
    """Whether it follows from what the attacker knew before."""
    known = [queries.queries[place].known for place in settled.classes.places]
    return any(known) and bool(found.shown.rows) and all(known[row] for row in found.shown.rows)


def _side(queries: Queries, settled: Settled, column: int, found: SecretRange) -> tuple[Fraction, Fraction] | None:
    """A narrow range of everybody in the class."""
    size, top, secret = settled.classes.sizes[column], queries.secret.top, queries.secret
    low, high = max(0, found.low - (size - 1) * top), min(top, found.high)
    return (secret.value(low), secret.value(high)) if high - low <= NARROW * top else None


def _guessed(queries: Queries, found: Mapping[int, NoisyEstimate]) -> dict[int, tuple[NoisyEstimate, PersonEstimate]]:
    if not queries.secret.boolean:
        return {at: (estimate, _interval(queries, estimate)) for at, estimate in found.items()}
    rate = pooled_rate(queries) if found else Fraction(1, 2)
    caps = {True: ceiling(rate, queries.privacy), False: ceiling(1 - rate, queries.privacy)}
    guesses = {}
    for at, estimate in found.items():
        chance = has_it(estimate, rate)
        yes = chance >= 0.5
        value = Fraction(yes)
        confidence = min(chance if yes else 1 - chance, caps[yes])
        guesses[at] = (estimate, PersonEstimate(value, value, value, confidence, float(max(rate, 1 - rate))))
    return guesses


def _interval(queries: Queries, estimate: NoisyEstimate) -> PersonEstimate:
    """Where the number lies with 95 %; if that is not narrow, nothing is claimed."""
    secret, width = queries.secret, estimate.law.halfwidth()
    low = max(0, floor((Fraction(estimate.value - width) - secret.low) / secret.step))
    high = min(secret.top, ceil((Fraction(estimate.value + width) - secret.low) / secret.step))
    low, high = min(low, secret.top), max(high, 0)
    nearest = min(max(round((Fraction(estimate.value) - secret.low) / secret.step), low), high)
    share = Fraction(high - low + 1, secret.top + 1)
    confidence = min(CERTAINTY, ceiling(share, queries.privacy)) if high - low <= NARROW * secret.top else 0.0
    return PersonEstimate(secret.value(low), secret.value(high), secret.value(nearest), confidence, float(share))


# Findings


def _exact_finding(queries: Queries, settled: Settled, column: int, steps: int) -> Finding:
    found, secret = settled.ranges[column], queries.secret
    why = reasoning(queries, settled.classes, found)
    claim = value_claim(settled.classes, column, secret, steps)
    value = ("yes" if steps else "no") if secret.boolean else number_text(secret.value(steps))
    return Finding(
        claim=claim if found.combination is None else f"{claim}: {why}",
        strength=Strength.PROOF,
        people=settled.classes.sizes[column],
        record={"name": who(settled.classes, column), secret.name: value},
        evidence=found.shown.evidence,
        reasoning=why,
        certificate=found.shown,
    )


def _range_finding(queries: Queries, settled: Settled, column: int, low: Fraction, high: Fraction) -> Finding:
    found, secret = settled.ranges[column], queries.secret
    return Finding(
        claim=range_claim(settled.classes, column, secret, low, high),
        strength=Strength.PROOF,
        people=settled.classes.sizes[column],
        record={"name": who(settled.classes, column), secret.name: f"{number_text(low)} to {number_text(high)}"},
        evidence=found.shown.evidence,
        reasoning=reasoning(queries, settled.classes, found),
        certificate=found.shown,
    )


def _likely_finding(
    queries: Queries, settled: Settled, column: int, estimate: NoisyEstimate, told: PersonEstimate
) -> Finding:
    secret, name = queries.secret, who(settled.classes, column)
    if secret.boolean:
        value = "yes" if told.value else "no"
        claim = value_claim(settled.classes, column, secret, int(told.value))
    else:
        value = f"{number_text(told.low)} to {number_text(told.high)}"
        claim = range_claim(settled.classes, column, secret, told.low, told.high)
    return Finding(
        claim=f"{claim}, probably",
        strength=Strength.CONFIDENCE,
        record={"name": name, secret.name: value},
        evidence=tuple(queries.queries[row].name for row in estimate.rows),
        reasoning=f"{len(estimate.rows)} answers together say {estimate.value:.4g} ± {estimate.law.sd:.2g}; "
        f"a guess without them is right with {told.before * 100:.1f} %",
        confidence=told.confidence,
    )


def _fewest_first(settled: Settled, exact: Mapping[int, int]) -> list[tuple[int, int]]:
    """A person before a group."""
    return sorted(exact.items(), key=lambda item: settled.classes.sizes[item[0]])


def _worst_first(narrow: Mapping[int, tuple[Fraction, Fraction]]) -> list[int]:
    return sorted(narrow, key=lambda at: narrow[at][1] - narrow[at][0])


def _surest_first(likely: Mapping[int, PersonEstimate]) -> list[int]:
    return sorted(likely, key=lambda at: -likely[at].confidence)


def _guesses(
    queries: Queries,
    settled: Settled,
    exact: Mapping[int, int],
    narrow: Mapping[int, tuple[Fraction, Fraction]],
    guessed: Mapping[int, tuple[NoisyEstimate, PersonEstimate]],
) -> dict[str, Guess]:
    """By person, for the score."""
    secret = queries.secret
    guesses: dict[str, Guess] = {}
    for at, names in enumerate(settled.classes.names):
        if at in exact:
            value = secret.value(exact[at])
            guess = Guess(value, value, value, claimed=True)
        elif at in narrow:
            guess = Guess(*narrow[at], None, claimed=True)
        elif at in guessed:
            told = guessed[at][1]
            claimed = told.confidence >= CERTAINTY
            guess = Guess(told.low, told.high, told.value, claimed)
        else:
            guess = Guess(secret.low, secret.high, None, claimed=False)
        guesses |= dict.fromkeys(names, guess)
    return guesses


# Words around them


def _headline(settled: Settled, people: int, certain: int, narrow: int, likely: int) -> str:
    if not settled.exists:
        return NO_TIME
    of = f"of {people:,} {'person' if people == 1 else 'people'}"
    first = f"{certain:,} {of} {'is' if certain == 1 else 'are'} certain" if certain else f"None {of} is certain"
    more = [f"{narrow:,} within a narrow range"] if narrow else []
    more += [f"{likely:,} up to noise"] if likely else []
    return ", ".join([first, *more])


def _tables(
    queries: Queries, settled: Settled, guessed: Mapping[int, tuple[NoisyEstimate, PersonEstimate]]
) -> list[ShownTable]:
    tables = []
    if not settled.exists and settled.ranges:
        names = [who(settled.classes, at) for at in settled.ranges]
        text = f"If all answers are true, arithmetic gives the sums of {len(names):,} classes of people."
        tables.append(ShownTable("Not claimed", text, ("people",), tuple((name,) for name in names)))
    if queries.secret.boolean and guessed:
        rows = sorted(guessed.items(), key=lambda item: -item[1][1].confidence)
        cells = tuple(
            (who(settled.classes, at), "yes" if told.value else "no", f"{told.confidence * 100:.1f} %",
             f"{told.before * 100:.1f} %")
            for at, (_, told) in rows
        )  # fmt: skip
        text = f"Only those with at least {CERTAINTY:.0%} count as known up to noise."
        tables.append(
            ShownTable("Best guesses", text, ("name", queries.secret.name, "right", "without the answers"), cells)
        )
    return tables


def _assumptions(queries: Queries) -> list[str]:
    secret, said = queries.secret, queries.privacy
    values = "yes or no" if secret.boolean else f"from {number_text(secret.low)} to {number_text(secret.high)}"
    told = [
        "The answers are exact, rounded or noisy exactly as stated.",
        "Everybody's secret is the same in all queries, and the attacker knows who is counted in which query.",
        f"{secret.name}: {values}" + ("." if secret.boolean else f", in steps of {number_text(secret.step)}."),
        "Control: the same attack on somebody who is in no query found nothing.",
    ]
    noisy = [query.noise.law for query in queries.queries if query.noise is not None]
    if noisy and secret.boolean:
        source = "as declared" if secret.rate is not None else "taken from the answers together"
        told.append(f"Before the answers, {float(pooled_rate(queries)):.1%} were expected to have it, {source}.")
    if noisy:
        told.append("The noise of each answer is independent of the others and of the people.")
    if "laplace" in noisy:
        told.append("Sums of Laplace noises are averaged over 20,000 draws with a fixed seed.")
    if said is not None and said.delta:
        told.append(f"The answers keep delta {number_text(said.delta)}, which is no bound on what anybody can believe.")
    elif said is not None:
        twice = (
            ", counted twice: to change a value is to take one person out and put one in"
            if said.neighbors == "add-remove"
            else ""
        )
        told.append(f"No confidence is above what epsilon {number_text(said.epsilon)} allows{twice}.")
    return told


def _not_tried(queries: Queries, settled: Settled) -> list[str]:
    told = ["Other knowledge about people than who is counted in which query."]
    if any(query.noise is not None for query in queries.queries):
        told.append("Noisy answers together with ranges or rounded answers; guesses without an unbiased estimate.")
    return [*told, *_limits(settled)]


def _limits(settled: Settled) -> list[str]:
    """What was not decided."""
    left = sum(settled.classes.sizes[at] for at in settled.unsettled)
    undecided = [f"For {left:,} people no proof was found in time, for or against."] if left else []
    return undecided if settled.exists else [*undecided, NO_TIME]

"""The differencing attack against the truth, which only the owner has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from privet.attacks.differencing.queries import Queries
from privet.attacks.finding import Score
from privet.core.rational import rational, show
from privet.errors import InvalidInputError
from privet.stats.binomial import share
from privet.stats.intervals import Interval


@dataclass(frozen=True, slots=True)
class Guess:
    """What the attack says of one person, in the secret's units: between low and high, best `value`; `claimed` if a
    finding says so."""

    low: Fraction
    high: Fraction
    value: Fraction | None
    claimed: bool


def score(queries: Queries, guesses: Mapping[str, Guess], truth: Mapping[str, object]) -> Score:
    """Where the attack has no guess of its own, it takes the best constant one, as the baseline does for everybody."""
    values = {name: _true_value(queries, name, given) for name, given in truth.items()}
    if not values:
        raise InvalidInputError("truth is empty", "for example truth={'Ada': True}", "empty")
    constant = max(Counter(values.values()).items(), key=lambda item: (item[1], -item[0]))[0]
    right = {name: _best(guesses[name], constant) == value for name, value in values.items()}
    claimed = [name for name in values if guesses[name].claimed]
    asked = {name for query in queries.queries for name in query.members}
    outside = [right[name] for name in values if name not in asked]
    success = _share(list(right.values()))
    baseline = _share([value == constant for value in values.values()])
    control = _share(outside) if outside else None
    return Score(
        claimed=len(claimed),
        right=sum(guesses[name].low <= values[name] <= guesses[name].high for name in claimed),
        success=success,
        baseline=baseline,
        control=control,
    )


def _true_value(queries: Queries, name: str, given: object) -> Fraction:
    secret = queries.secret
    if queries.people.get(name) != 1:
        raise InvalidInputError(
            f"the truth names {show(name)}, who is not one of the people", "correct the name", "unknown-person"
        )
    value = Fraction(given) if isinstance(given, bool) else rational(given, f"the truth of {show(name)}")
    if not secret.low <= value <= secret.high or ((value - secret.low) / secret.step).denominator != 1:
        raise InvalidInputError(
            f"the truth of {show(name)} is {show(given)}, which {secret.name} cannot be",
            "correct it, or the secret",
            "not-declared",
        )
    return value


def _best(guess: Guess, constant: Fraction) -> Fraction:
    value = constant if guess.value is None else guess.value
    return min(max(value, guess.low), guess.high)


def _share(hits: Sequence[bool]) -> Interval:
    return share(sum(hits), len(hits))

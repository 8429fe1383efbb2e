"""From one attack to another: whoever reconstructs can tell who is in the data, and whoever can tell reconstructs.

    found = membership_by_reconstruction(decode, release, inside, outside)        # decode(release) -> a guess for each
    found = reconstruction_by_membership(test, {0: without, 1: with_it}, inside, outside)   # test(statistics, records)

Reconstruction => membership. Somebody who knows a person's secret calls the person IN if the reconstruction has that
secret. It has it for a share r of the people in the data, and for others as often as chance has it: so r is the
true-positive rate, chance the false-positive rate, and r less chance the advantage. If the guesses are the exact
chances of a secret, given the release, this is the likelihood-ratio test itself: P[release | secret] / P[release] =
P[secret | release] / P[secret], by Bayes.

Membership => reconstruction. Statistics are published for the part of the data with each value of the secret. A person
is tested against each part. IN one: that is the secret. OUT of all: not in the data, written None (and ⊥ on a page). IN
several: the largest score; None again if two are equal. With a test that finds a share t and raises a false alarm with
chance a, of k values, at least t - (k - 1) a of the secrets are found: a secret is missed only if the own part says OUT
or one of the k - 1 others raises an alarm. Of people who are not in the data at most k a get a secret. If the scores
are log likelihood ratios, the largest score is the most likely secret: log P[statistics | in part v] is the score of
part v but for what all values have in common.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from privet.attacks.finding import Findings
from privet.errors import InvalidInputError
from privet.typing import Floats, Integers

Test = Callable[[Any, Sequence[Any]], npt.ArrayLike]  # statistics, records -> scores; a larger one means: IN
NOBODY = -1  # the place of None among values


@dataclass(frozen=True, slots=True, kw_only=True)
class People:
    """Who they are, as the attack needs it, and the secret that each really has."""

    records: Sequence[Any]
    secrets: Sequence[Hashable]

    def __post_init__(self) -> None:
        if len(self.records) != len(self.secrets) or not len(self.records):
            raise InvalidInputError(
                f"there are {len(self.records):,} records and {len(self.secrets):,} secrets",
                "give at least one person, and the secret of each",
                "wrong-length",
            )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Guessed:
    """The place of everybody's secret among `values`, NOBODY for None; the score of each value; where IN starts."""

    values: tuple[Hashable, ...]
    places: Integers
    scores: Floats  # people x values
    thresholds: Floats

    @property
    def secrets(self) -> list[Hashable | None]:
        return [None if place == NOBODY else self.values[place] for place in self.places]


def each(test: Callable[[Any, Any], float]) -> Test:
    """A test of many people from a test of one."""
    return lambda statistics, records: [test(statistics, record) for record in records]


# Reconstruction => membership


def in_reconstruction(guessed: Iterable[tuple[Hashable, Hashable]], people: People) -> Floats:
    """For an attack that gives whole records, as pairs of what is known and the secret: how many of them are the
    person's. Above 0 is IN."""
    counts = Counter(_pairs(guessed))
    pairs = _pairs(zip(people.records, people.secrets, strict=True))
    return np.array([counts[pair] for pair in pairs], np.float64)


def _pairs(given: Iterable[tuple[Hashable, Hashable]]) -> list[tuple[Hashable, Hashable]]:
    try:
        listed = list(given)
        Counter(listed)
    except TypeError:
        raise InvalidInputError(
            "records are not pairs that can be counted",
            "give (what is known, secret) with tuples in place of lists",
            "wrong-type",
        ) from None
    return listed


def agreement(guesses: npt.ArrayLike, people: People) -> Floats:
    """For an attack that guesses a yes or no of everybody in a list, in which `records` are places: how far its guess
    agrees with the secret, from 0 to 1. A guess is 0 or 1, or a number in between, such as the chance of a yes. Above
    1/2 is IN."""
    told = _numbers(guesses, None, "a guess for everybody in the list")
    if not set(people.secrets) <= {0, 1}:
        raise InvalidInputError(
            "a secret is not a yes or no", "write 0 and 1, or use records in place of a list", "not-binary"
        )
    if told.min() < 0 or told.max() > 1:
        raise InvalidInputError("a guess is not from 0 to 1", "clip the decoder's values to 0 and 1", "out-of-range")
    places = np.asarray(people.records)
    if places.dtype.kind not in "iu" or places.min() < 0 or places.max() >= len(told):
        raise InvalidInputError(
            f"the attack made {len(told):,} guesses, and somebody's place is none of them",
            "give each person's place in the list that the attack guesses for, from 0",
            "unknown-person",
        )
    return np.asarray(np.where(np.array(people.secrets, np.float64) == 1, told[places], 1 - told[places]))


def membership_by_reconstruction(  # noqa: PLR0913  all that a trial is made of, by name
    attack: Callable[[Any], Any],
    release: Any,
    inside: People,
    outside: People,
    *,
    gives: Literal["guesses", "records"] = "guesses",
    chance: float = 0.5,
    subject: str = "a reconstruction",
) -> Findings:
    """Attacks, then calls IN whose secret was guessed. The attack gives guesses, as `agreement` wants them, or records,
    as `in_reconstruction` does. `outside`: people whose secret is not in the data, such as somebody else at a place in
    the list. `chance`: how often a secret is guessed without the release."""
    from privet.attacks.membership.reductions_findings import of_membership  # noqa: PLC0415  words

    start = time.perf_counter()
    if not 0 <= chance <= 1:
        raise InvalidInputError(f"a chance of {chance:g} is none", "give a number from 0 to 1", "out-of-range")
    if gives not in ("guesses", "records"):
        raise InvalidInputError(f"an attack gives no {gives}", "write guesses or records", "unknown-choice")
    guessed = attack(release)
    if gives == "records":
        guessed = _pairs(guessed)
    score = in_reconstruction if gives == "records" else agreement
    scores = [score(guessed, some) for some in (inside, outside)]
    return of_membership(scores[0], scores[1], chance, subject, start)


# Membership => reconstruction


def threshold(scores: npt.ArrayLike, rate: float) -> float:
    """Above which at most a share `rate` of these people lies, none of whom is in the data."""
    if not 0 <= rate < 1:
        raise InvalidInputError(f"a false-alarm rate of {rate:g} is none", "give one from 0 to below 1", "out-of-range")
    ranked = -np.sort(-_numbers(scores, None, "scores of people who are not in the data"))
    return float(ranked[int(rate * len(ranked) + 1e-9)])


def decide(scores: Floats, thresholds: Floats) -> Integers:
    """The place of each person's secret: the largest score of those above their threshold, NOBODY if there is none or
    two are equal."""
    said = np.where(scores > thresholds, scores, -np.inf)
    best = said.max(axis=1, keepdims=True)
    alone = ((said == best).sum(axis=1) == 1) & (best[:, 0] > -np.inf)
    return np.asarray(np.where(alone, said.argmax(axis=1), NOBODY), np.int64)


def guess_secrets(
    test: Test, releases: Mapping[Hashable, Any], records: Sequence[Any], thresholds: Sequence[float]
) -> Guessed:
    """One release for each value of the secret, with the statistics of those who have it."""
    scores = scores_of(test, releases, records)
    return _guessed(releases, scores, thresholds)


def scores_of(test: Test, releases: Mapping[Hashable, Any], records: Sequence[Any]) -> Floats:
    """People x values."""
    if len(releases) < 2:
        raise InvalidInputError(
            "there are not two values of the secret", "give the statistics of each value's people", "too-few"
        )
    columns = [_numbers(test(one, records), (len(records),), "a score for each person") for one in releases.values()]
    return np.stack(columns, axis=1)


def candidates(test: Test, with_secret: Callable[[Any, Hashable], Any]) -> Test:
    """For one data set whose records have the secret: where a release is expected, give (statistics, value). The person
    is tested as somebody with this value."""

    def test_candidate(statistics: tuple[Any, Hashable], records: Sequence[Any]) -> npt.ArrayLike:
        published, value = statistics
        return test(published, [with_secret(record, value) for record in records])

    return test_candidate


def reconstruction_by_membership(  # noqa: PLR0913  all that a trial is made of, by name
    test: Test,
    releases: Mapping[Hashable, Any],
    inside: People,
    outside: People,
    *,
    rate: float = 0.01,
    subject: str = "statistics for each value of the secret",
) -> Findings:
    """Every second person outside sets the thresholds, so that each test raises a false alarm for a share `rate` of
    them; the others are the control."""
    from privet.attacks.membership.reductions_findings import of_reconstruction  # noqa: PLC0415  words

    start = time.perf_counter()
    unknown = {*inside.secrets, *outside.secrets} - {*releases}
    if unknown:
        raise InvalidInputError(
            f"no statistics are given for a secret of {next(iter(unknown))!r}", "give them, too", "missing-entry"
        )
    if len(outside.records) < 2:
        raise InvalidInputError(
            "one person outside cannot set thresholds and be the control", "give two or more", "too-few"
        )
    others = scores_of(test, releases, outside.records)
    limits = [threshold(others[::2, place], rate) for place in range(len(releases))]
    found = guess_secrets(test, releases, inside.records, limits)
    control = _guessed(releases, others[1::2], limits)
    secrets = (inside.secrets, outside.secrets[1::2])
    return of_reconstruction((found, control), secrets, (rate, len(others[::2])), subject, start)


def _guessed(releases: Mapping[Hashable, Any], scores: Floats, thresholds: Sequence[float]) -> Guessed:
    limits = _numbers(thresholds, (len(releases),), "a threshold for each value")
    return Guessed(values=tuple(releases), places=decide(scores, limits), scores=scores, thresholds=limits)


def _numbers(given: npt.ArrayLike, shape: tuple[int, ...] | None, what: str) -> Floats:
    try:
        numbers = np.asarray(given, np.float64)
    except (TypeError, ValueError):
        raise InvalidInputError(
            f"{what} is needed, and these are no numbers", "give finite numbers", "not-a-number"
        ) from None
    if numbers.shape != (shape or (numbers.size,)) or not numbers.size:
        raise InvalidInputError(
            f"{what} is needed, and there are {numbers.size:,} numbers", "give one for each", "wrong-length"
        )
    if not np.isfinite(numbers).all():
        raise InvalidInputError(f"{what} is needed, and one is not finite", "give finite numbers", "not-finite")
    return numbers

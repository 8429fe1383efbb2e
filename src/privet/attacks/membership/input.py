"""What a membership attack is given, checked and in the form that the tests take."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from privet.attacks.membership.likelihoods import Kind, Population, PublishedMeans
from privet.core.rational import show
from privet.errors import InvalidInputError
from privet.typing import Floats, Truths

Option = TypeVar("Option", bound=str)
TINY = 1e-9
LARGEST = 1e100  # of any number; squares of larger ones are infinite
MOST_PEOPLE = 1e12


def one_of(value: object, allowed: Iterable[Option], what: str) -> Option:
    for one in allowed:
        if value == one:
            return one
    raise InvalidInputError(
        f"there is no {what} {show(value)}", f"use {', '.join(map(repr, allowed))} or leave it out", "unknown-choice"
    )


def rows_of(values: npt.ArrayLike, what: str) -> Floats:
    """A row a person. Missing is NaN, or -1 among whole numbers from -1 to 2."""
    rows = _numbers(values, what)
    if rows.ndim != 2 or not rows.size:
        raise InvalidInputError(
            f"{what}: {'nothing' if not rows.size else 'no table'} is given",
            "give a table with a row for each person and a column for each attribute",
            "wrong-shape",
        )
    if np.isinf(rows).any():
        raise InvalidInputError(f"{what}: a value is infinite", "write NaN for what is missing", "not-finite")
    coded = np.isin(rows, (-1, 0, 1, 2)) | np.isnan(rows)
    return np.where(rows == -1, np.nan, rows) if coded.all() else rows


def _numbers(values: npt.ArrayLike, what: str) -> Floats:
    try:
        numbers = np.asarray(values, np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InvalidInputError(
            f"{what}: something is not a number",
            "give numbers: 0 or 1, copies of an allele, or measurements",
            "not-a-number",
        ) from None
    if (np.abs(numbers[np.isfinite(numbers)]) > LARGEST).any():
        raise InvalidInputError(f"{what}: a number is beyond 1e100", "measure in a larger unit", "too-large")
    return numbers


def _kind(tables: Iterable[Floats | None]) -> Kind:
    kinds: tuple[Kind, ...] = ("yes or no", "genotypes", "numbers")
    found = 0
    for table in tables:
        if table is not None:
            known = table[np.isfinite(table)]
            found = max(found, 0 if np.isin(known, (0, 1)).all() else 1 if np.isin(known, (0, 1, 2)).all() else 2)
    return kinds[found]


def population_of(
    population: npt.ArrayLike | None, sample: Floats | None, seen: tuple[Floats, Floats | None]
) -> Population:
    """From frequencies, or from a sample of people; with both, the sample is for whitening only. `seen` is everybody,
    which tells what kind of attributes these are."""
    rows, known = seen
    if known is not None and known.shape[1] != rows.shape[1]:
        raise InvalidInputError(
            f"people have {rows.shape[1]:,} attributes, reference people {known.shape[1]:,}",
            "give the same attributes in the same order for both",
            "wrong-length",
        )
    if known is not None and np.array_equal(known, rows, equal_nan=True):
        raise InvalidInputError(
            "the reference people are the people to test",
            "give reference people who are known to be out of the data: nobody can be found among those",
            "contradictory-options",
        )
    kind = _kind(seen)
    if population is not None:
        usual = _declared(population, kind, sample, rows.shape[1])
    elif sample is not None:
        usual = _sampled(kind, sample)
    else:
        raise InvalidInputError(
            "nothing says what is usual",
            "give population frequencies, or reference people who are not in the data",
            "missing-option",
        )
    if sample is None:
        return usual
    with np.errstate(divide="ignore", invalid="ignore"):
        return replace(usual, sample=usual.units(sample))


def _declared(population: npt.ArrayLike, kind: Kind, sample: Floats | None, attributes: int) -> Population:
    given = np.atleast_2d(_numbers(population, "population"))
    if given.ndim != 2 or given.shape[0] > 2 or given.shape[1] != attributes:
        raise InvalidInputError(
            f"population: there are not {attributes:,} means, one for each attribute",
            "give the means, or the means and below them the standard deviations",
            "wrong-length",
        )
    if not np.isfinite(given).all() or (given[1:] < 0).any():
        raise InvalidInputError(
            "population: a mean or deviation is none", "give finite numbers, deviations of 0 or more", "not-finite"
        )
    top = 2 if kind == "genotypes" else 1
    if kind != "numbers" and (given[0].min() < 0 or given[0].max() > top):
        raise InvalidInputError(
            f"population: a mean is not from 0 to {top}", f"give means of values from 0 to {top}", "out-of-range"
        )
    if len(given) == 2:
        spread = given[1]
    elif kind != "numbers":
        spread = np.sqrt(given[0] * (1 - given[0] / top))
    elif sample is not None:
        spread = _deviations(sample)
    else:
        raise InvalidInputError(
            "population: numbers need standard deviations",
            "give means and below them deviations, or reference people",
            "missing-option",
        )
    return Population(kind=kind, means=given[0], deviations=spread, people=math.inf)


def _sampled(kind: Kind, sample: Floats) -> Population:
    """What nobody in the sample has, half a person has (Jeffreys), so that it is rare and not impossible."""
    there = np.isfinite(sample).sum(axis=0)
    means = np.divide(np.nansum(sample, axis=0), there, out=np.full(len(there), np.nan), where=there > 0)
    spread = _deviations(sample)
    if kind != "numbers":
        top = 2 if kind == "genotypes" else 1
        share = (there * means + top / 2) / (top * (there + 1))
        spread = np.where(spread > 0, spread, np.sqrt(top * share * (1 - share)))
    return Population(kind=kind, means=means, deviations=spread, people=float(len(sample)))


def _deviations(sample: Floats) -> Floats:
    there = np.maximum(np.isfinite(sample).sum(axis=0), 1)
    means = np.nansum(sample, axis=0) / there
    return np.asarray(np.sqrt(np.nansum((sample - means) ** 2, axis=0) / there))


def published_of(
    statistics: npt.ArrayLike, size: npt.ArrayLike | None, noise: npt.ArrayLike, usual: Population
) -> tuple[PublishedMeans, Population, Truths]:
    """Also which attributes are of use: published (not NaN), known of the population, not the same for everybody."""
    means = _numbers(statistics, "statistics")
    if means.shape != usual.means.shape:
        raise InvalidInputError(
            f"there are {means.size:,} statistics for {len(usual.means):,} attributes",
            "give a published mean for each attribute of the people, NaN where none was published",
            "wrong-length",
        )
    if np.isinf(means).any():
        raise InvalidInputError("statistics: a mean is infinite", "write NaN where none was published", "not-finite")
    sizes = _spread(1.0 if size is None else size, means, "size", 1.0)
    if (sizes > MOST_PEOPLE).any():
        raise InvalidInputError("size is more than there are people", "give the number of people", "too-large")
    errors = _spread(noise, means, "noise", 0.0)
    if usual.kind != "numbers" and ((means < -TINY) | (means > usual.top + TINY))[errors == 0].any():
        raise InvalidInputError(
            f"statistics: an exact mean of values from 0 to {usual.top} is not from 0 to {usual.top}",
            "divide counts by the number of people; if there is noise in the means, say how much",
            "out-of-range",
        )
    used = np.isfinite(means) & np.isfinite(usual.means) & (usual.deviations > 0)
    if not used.any():
        raise InvalidInputError(
            "no attribute tells anything",
            "publish or give attributes in which people of the population differ",
            "no-variation",
        )
    fewer = replace(
        usual,
        means=usual.means[used],
        deviations=usual.deviations[used],
        sample=None if usual.sample is None else usual.sample[:, used],
    )
    return PublishedMeans(means=means[used], sizes=sizes[used], noise=errors[used]), fewer, used


def _spread(value: npt.ArrayLike, means: Floats, what: str, least: float) -> Floats:
    given = _numbers(value, what)
    if given.shape not in ((), means.shape):
        raise InvalidInputError(
            f"{what}: there are {given.size:,} for {means.size:,} statistics", "give one, or one each", "wrong-length"
        )
    if not np.isfinite(given).all() or (given < least).any():
        raise InvalidInputError(
            f"{what} must be {least:g} or more",
            "give " + ("the number of people" if least else "a standard deviation"),
            "too-small",
        )
    return np.broadcast_to(given, means.shape).astype(np.float64)


def size_from(published: PublishedMeans, usual: Population) -> PublishedMeans:
    """How many people there were, from how far their means are from the usual: on average sqrt(v / n), besides noise
    and the error of the reference sample."""
    far = ((published.means - usual.means) ** 2 - published.noise**2) / usual.deviations**2
    rest = float(far.mean()) - 1 / usual.people
    if rest <= 0:
        raise InvalidInputError(
            "the means do not tell of how many people they are: they are as near to the usual as noise lets them be",
            "give size, the number of people",
            "missing-option",
        )
    return replace(published, sizes=np.full(len(published.means), max(1 / rest, 1.0)))


def asked_about(names: Sequence[str] | None, people: int) -> tuple[str, ...]:
    if names is None:
        return tuple(f"person {place + 1}" for place in range(people))
    if len(names) != people:
        raise InvalidInputError(
            f"there are {len(names):,} names for {people:,} people", "name everybody once", "wrong-length"
        )
    if len(set(names)) < people:
        raise InvalidInputError("two people have the same name", "name everybody once", "duplicate-name")
    return tuple(names)


def truth_of(members: npt.ArrayLike, names: tuple[str, ...]) -> Truths:
    """Who is in: a truth value for each, or the places or names of those who are."""
    given: npt.NDArray[Any] = np.asarray(members)
    if given.dtype == np.bool_ and given.shape == (len(names),):
        inside = given
    elif given.ndim == 1 and given.dtype.kind in "iuU" and np.isin(given, _all_of(given, names)).all():
        inside = np.isin(_all_of(given, names), given)
    else:
        raise InvalidInputError(
            "members do not say who is in",
            "give True or False for each person, or the places (from 0) of those inside",
            "wrong-shape",
        )
    if given.dtype != np.bool_ and len(np.unique(given)) < len(given):
        raise InvalidInputError(
            "members name somebody twice",
            "name each once; if 0 and 1 mean out and in, write False and True",
            "duplicate-name",
        )
    if inside.all() or not inside.any():
        raise InvalidInputError(
            f"{'everybody' if inside.all() else 'nobody'} asked about is in the data",
            "ask about people of both kinds, or leave members out",
            "no-variation",
        )
    return np.asarray(inside, np.bool_)


def _all_of(given: npt.NDArray[Any], names: tuple[str, ...]) -> npt.NDArray[Any]:
    return np.array(names) if given.dtype.kind == "U" else np.arange(len(names))

"""Sums over known subsets of people, answered with errors: whose secret is 0 and whose is 1 (Dinur and Nissim 2003).

    found = attack_subsets(queries, answers, errors=Errors("normal", 31), truth=secrets)
    made = simulate(16_000, 4, 0.25)                     # a data set to try it on

`queries` says who is in which sum: an array of 0 and 1 with one row per query and one column per person, a SciPy matrix
(sparse), a list with the numbers (from 0) of the people in each query, or a Matrix of `decoders`. `errors` says how far
off answers are; without it that is read off the residuals. What to expect of each decoder is said before anything is
decoded. Fewer answers than people: see `fewer`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from privet.attacks.finding import Findings
from privet.attacks.subsets.decoders.problem import Decoded, Errors, Forecast, Matrix
from privet.attacks.subsets.forecast import LEAST_RATE, UNSURE, Asked, Trials, as_rounded, expected
from privet.core.rational import show
from privet.errors import InvalidInputError
from privet.typing import Floats

Progress = Callable[[str, int, int], object]
Guesses = npt.NDArray[np.int8]  # 0 or 1 for everybody; -1: not told
TOO_SURE = 0.02  # how much larger than the forecast the mean probability of guesses from rounded answers may be


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Sums:
    """Answers to who-is-in-which-sum. `people` have names, or are numbered from 1."""

    matrix: Matrix
    answers: Floats
    names: tuple[str, ...]
    subject: str = "answers about subsets"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class KnownBits:
    """Beside the sums, as it was given."""

    errors: Errors | None
    rate: float | None
    truth: object
    control: object


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AttackedSums:
    """What an attack on sums came to, before it is put into words."""

    sums: Sums
    decoded: Decoded
    forecasts: tuple[Forecast, ...]
    trials: Trials | None  # the same attack on simulated data; None: the problem is too large
    rate: float
    stated: Errors | None  # what was said of the errors; a proof rests on nothing less
    doubted: bool  # no guesses fit what was said, so the errors were read off the residuals
    unfit: bool  # nor do any fit these: nobody's guess is called better than a coin's
    truth: Guesses | None
    control: Guesses | None
    seconds: float

    @property
    def forecast(self) -> Forecast | None:
        """That of this attack, or where it was too large to be simulated, of the decoder which was used."""
        if self.trials is not None:
            return self.forecasts[0]
        return next((one for one in self.forecasts if one.decoder == self.decoded.decoder), None)

    @property
    def _right(self) -> Floats | None:
        """What the decoder says of each bit, unless it takes errors of rounding for chance and is surer than rounded
        answers let it be."""
        right = self.decoded.right
        if right is None or self.forecast is None:
            return right
        right = right if self.trials is None else self.trials.tempered(right)
        rounded = as_rounded(self.decoded.errors, self.sums.answers).step > 0
        return None if rounded and float(right.mean()) > self.forecast.recovered + TOO_SURE else right

    @property
    def confidence(self) -> Floats:
        """How likely each bit is right. Where every data set was tried, the share of those that fit and have it: these
        are equally likely, if all errors up to a bound that was stated are. Where a decoder cannot tell one bit from
        another, what is expected of all; but then a size of errors that was only guessed makes nobody sure."""
        decoded, people = self.decoded, len(self.sums.names)
        if self.unfit:
            return np.full(people, 0.5)
        if (right := self._right) is not None:
            return right
        told = decoded.errors.size == 0 and self.sums.answers.any()  # what fits without errors speaks for itself
        guessed = (self.doubted or self.stated is None) and not told
        share = 0.5 if self.forecast is None else self.forecast.recovered
        if self.trials is not None and decoded.errors.law != "exact":
            share = self.trials.share(decoded)
        all_alike = np.full(people, min(share, UNSURE) if guessed else share)
        if decoded.decoder != "exhaustive":
            return all_alike
        fitting = np.where(decoded.bits == 1, decoded.values, 1 - decoded.values)
        return np.minimum(fitting, all_alike) if guessed else fitting


def attack_subsets(  # noqa: PLR0913  what is known, what is guessed, and the truth, each by its name
    queries: object,
    answers: object,
    *,
    errors: Errors | None = None,
    names: Sequence[str] | None = None,
    rate: float | None = None,
    decoder: str = "auto",
    truth: object = None,
    control: object = None,
    subject: str = "answers about subsets",
    progress: Progress | None = None,
) -> Findings:
    """Guesses everybody's secret bit from noisy sums. `rate` is the share of people who have it, as far as anybody
    knows (None: read off the answers). `truth` is used for the score only: 0 or 1 for everybody, or by name for some;
    `control` are secrets of as many other people, about whom the answers tell nothing (None: the truth, shuffled)."""
    from privet.attacks.subsets.findings import findings_of  # noqa: PLC0415  it knows this file

    sums = sums_of(queries, answers, names, subject)
    check_errors(errors)
    known = KnownBits(errors=errors, rate=rate, truth=truth, control=control)
    return findings_of(attacked(sums, known, decoder, progress))


def attacked(sums: Sums, given: KnownBits, decoder: str, progress: Progress | None) -> AttackedSums:
    """Where the guesses do not fit the errors, they are made again without what was stated, and without a rate that all
    answers together seem to show: nobody's guess is to look sure because the noise was thought to be small, or because
    all answers are too large."""
    start = time.perf_counter()
    from privet.attacks.subsets.fewer import attacked_few  # noqa: PLC0415  it knows this file

    truth, control = (secrets_of(getattr(given, what), sums.names, what) for what in ("truth", "control"))
    few = sums.matrix.shape[0] < sums.matrix.shape[1]
    found = attacked_few(sums, given) if few else _decoded(sums, given, decoder, progress)
    if not few and not _fits(found):
        again = replace(given, errors=None, rate=0.5 if given.rate is None else given.rate)
        found = replace(_decoded(sums, again, decoder, progress), doubted=True)
        found = replace(found, unfit=not _fits(found), stated=given.errors)
    return replace(found, truth=truth, control=control, seconds=time.perf_counter() - start)


def _fits(found: AttackedSums) -> bool:
    from privet.attacks.subsets.decoders.residuals import fits  # noqa: PLC0415  brings numba

    errors = found.decoded.errors if found.stated is None else found.stated
    if found.decoded.errors != errors:  # a bound that no values are within
        return False
    return fits(found.sums.matrix, found.sums.answers, found.decoded, found.confidence, errors)


def _decoded(sums: Sums, given: KnownBits, decoder: str, progress: Progress | None) -> AttackedSums:
    from privet.attacks.subsets.decoders.choice import decode  # noqa: PLC0415  brings numba

    share = rate_of(sums, given.rate)

    def told(errors: Errors) -> tuple[Trials | None, tuple[Forecast, ...]]:
        asked = Asked(
            matrix=sums.matrix, answers=sums.answers, errors=errors, decoder=decoder, rate=share,
            read=lambda answers: rate_of(replace(sums, answers=answers), given.rate),
        )  # fmt: skip
        return expected(asked, progress)

    before = None if given.errors is None else told(given.errors)
    found = decode(sums.matrix, sums.answers, given.errors, decoder=decoder, rate=share, progress=progress)
    tried, forecasts = before or told(found.errors)
    return AttackedSums(
        sums=sums,
        decoded=found,
        forecasts=forecasts,
        trials=tried,
        rate=share,
        stated=given.errors,
        doubted=False,
        unfit=False,
        truth=None,
        control=None,
        seconds=0.0,
    )


# What is given


def sums_of(queries: object, answers: object, names: Sequence[str] | None, subject: str) -> Sums:
    """One clear line for whatever cannot be decoded, before anything is."""
    from privet.attacks.subsets.decoders import checked  # noqa: PLC0415  brings numba

    people = None if names is None else len(names)
    matrix = matrix_of(queries, people)
    rows, columns = matrix.shape
    called = tuple(f"person {number}" for number in range(1, columns + 1)) if names is None else tuple(names)
    if len(called) != columns:
        raise InvalidInputError(
            f"there are {len(called):,} names for {columns:,} people in the queries",
            "give a name a column",
            "wrong-length",
        )
    if len(set(called)) < len(called):
        twice = next(name for place, name in enumerate(called) if name in called[:place])
        raise InvalidInputError(
            f"two people have the name {show(twice)}", "give everybody a name of its own", "duplicate-name"
        )
    numbers = checked.numbers(answers, rows)
    check_rows(matrix)
    return Sums(matrix=matrix, answers=numbers, names=called, subject=subject)


def matrix_of(queries: object, people: int | None) -> Matrix:
    if all(hasattr(queries, name) for name in ("shape", "times", "back", "block")):
        return queries  # type: ignore[return-value]
    if isinstance(queries, np.ndarray):
        return _of_array(queries)
    if all(hasattr(queries, name) for name in ("tocsr", "shape", "nnz")):
        return _of_scipy(queries)
    if isinstance(queries, Sequence) and not isinstance(queries, str):
        return _of_lists(queries, people)
    raise InvalidInputError(
        f"queries are {type(queries).__name__}, which says nobody is in which sum",
        "give an array of 0 and 1 with one column per person, or a list of lists of people's numbers",
        "wrong-type",
    )


def _of_array(array: npt.NDArray[Any]) -> Matrix:
    from privet.attacks.subsets.decoders.packed import Packed  # noqa: PLC0415  brings numba

    if array.ndim != 2 or 0 in array.shape:
        raise InvalidInputError(
            f"queries are an array of shape {array.shape}",
            "give one row per query and one column per person",
            "wrong-shape",
        )
    _check_binary(array)
    return Packed.of(array)


def _check_binary(entries: npt.NDArray[Any]) -> None:
    if entries.dtype.kind not in "biuf" or not np.isin(entries, (0, 1)).all():
        raise InvalidInputError(
            "queries have numbers that are not 0 or 1", "say 1 for who is in the sum and 0 for who is not", "not-binary"
        )


def _of_scipy(given: Any) -> Matrix:
    """A sparse matrix or array of SciPy, which need not be installed. An entry that is said twice is added up there."""
    from privet.attacks.subsets.decoders.listed import Sparse  # noqa: PLC0415  brings numba

    rows = given.tocsr().copy()
    if len(rows.shape) != 2 or 0 in rows.shape:
        raise InvalidInputError(
            f"queries are a sparse matrix of shape {rows.shape}",
            "give one row per query and one column per person",
            "wrong-shape",
        )
    rows.sum_duplicates()
    rows.eliminate_zeros()
    _check_binary(rows.data)
    return Sparse(rows.indptr.astype(np.int64), rows.indices.astype(np.int32), int(rows.shape[1]))


def _of_lists(lists: Sequence[Any], people: int | None) -> Matrix:
    from privet.attacks.subsets.decoders.listed import Sparse  # noqa: PLC0415  brings numba

    if not lists:
        raise InvalidInputError("there are no queries", "give the people of at least one query", "empty")
    try:
        rows = [np.asarray(one) for one in lists]
    except ValueError:
        rows = []
    if not rows or not all(row.ndim == 1 and (row.dtype.kind in "iu" or not row.size) for row in rows):
        raise InvalidInputError(
            "a query is not a list of people's numbers",
            "for example [[0, 3], [1, 2]], or an array of 0 and 1 with one column per person",
            "not-a-list",
        )
    places = [np.unique(row).astype(np.int64) for row in rows]
    if any(len(place) < len(row) for place, row in zip(places, rows, strict=True)):
        raise InvalidInputError("a query names somebody twice", "name everybody once", "duplicate-name")
    most = max((int(place[-1]) for place in places if len(place)), default=-1)
    size = most + 1 if people is None else people
    if most >= size or any(place[0] < 0 for place in places if len(place)):
        raise InvalidInputError(
            f"a query names a person who is none of the {size:,}", "number people from 0 to one less", "unknown-person"
        )
    if not size:
        raise InvalidInputError("no query asks about anybody", "name the people of each query", "empty")
    return Sparse.of(places, size)


def check_rows(matrix: Matrix) -> None:
    sizes = matrix.times(np.ones(matrix.shape[1]))
    if (sizes == 0).any():
        raise InvalidInputError(
            f"query {int(np.argmax(sizes == 0)) + 1:,} asks about nobody", "leave out what is a sum of no one", "empty"
        )


def check_errors(errors: Errors | None) -> None:
    if errors is None:
        return
    if not (np.isfinite(errors.size) and errors.size >= 0):
        raise InvalidInputError(
            f"the size of errors must be 0 or more, not {errors.size:g}", "give a size of 0 or more", "negative"
        )
    if not 0 <= errors.share < 1:
        raise InvalidInputError(
            f"a share of outliers of {errors.share:g} is none", "give one from 0 to below 1", "out-of-range"
        )
    if errors.law in ("normal", "laplace") and errors.size == 0:
        raise InvalidInputError(
            f"{errors.law} errors of size 0 are none", 'give a size above 0, or Errors("exact")', "not-positive"
        )


def variance_of(errors: Errors) -> float:
    """Of normal errors of standard deviation 1, Laplace ones of scale 1 and even ones up to 1: 1, 2 and 1/3."""
    return {"normal": 1.0, "outliers": 1.0, "laplace": 2.0, "bounded": 1 / 3, "exact": 0.0}[errors.law] * errors.size**2


def rate_of(sums: Sums, rate: float | None) -> float:
    """The answers divided by how many people they are about, in the middle: wild ones do not move it. Where they are
    noisy it stays near a half, as the linear estimate of least mean square error does if every rate is as likely
    (variance 1/12): a rate near 0 by chance would make everybody's 0 look sure."""
    if rate is not None:
        if not 0 < rate < 1:
            raise InvalidInputError(
                f"a rate of {rate:g} leaves nothing to guess", "give a share between 0 and 1", "out-of-range"
            )
        return rate
    shares = np.sort(sums.answers / sums.matrix.times(np.ones(len(sums.names))))
    number = len(shares)
    share = float(np.sum(shares * _middle(number)))
    quartiles = shares[number // 4], shares[number - 1 - number // 4]
    variance = (float(quartiles[1] - quartiles[0]) / 1.35) ** 2 / number  # of a mean, by the quartiles of normal ones
    share = 0.5 + (share - 0.5) / (1 + 12 * variance)
    return min(max(share, LEAST_RATE), 1 - LEAST_RATE)


def _middle(number: int) -> Floats:
    """Weights that leave a quarter on either side out."""
    weights = np.zeros(number)
    weights[number // 4 : number - number // 4] = 1
    return np.asarray(weights / weights.sum())


def secrets_of(given: object, names: Sequence[str], what: str) -> Guesses | None:
    """0 or 1 for everybody, or by name for some of them; -1 where nothing is told."""
    if given is None:
        return None
    if isinstance(given, Mapping):
        places = {name: place for place, name in enumerate(names)}
        strangers = [name for name in given if name not in places]
        if strangers:
            raise InvalidInputError(
                f"the {what} names {show(strangers[0])}, who is not one of the people",
                "correct the name",
                "unknown-person",
            )
        values = np.full(len(names), -1.0)
        values[[places[name] for name in given]] = _bits(list(given.values()), what)
        if not given:
            raise InvalidInputError(f"the {what} is empty", "give 0 or 1 for at least one person", "empty")
        return values.astype(np.int8)
    bits = _bits(given, what)
    if bits.shape != (len(names),):
        raise InvalidInputError(
            f"the {what} has {bits.size:,} values for {len(names):,} people",
            "give 0 or 1 for everybody, or by name",
            "wrong-length",
        )
    return bits.astype(np.int8)


def _bits(given: Any, what: str) -> Floats:
    try:
        values = np.asarray(given, np.float64)
    except (TypeError, ValueError):
        values = np.array([np.nan])
    if not np.isin(values, (0, 1)).all():
        raise InvalidInputError(
            f"the {what} has a secret that is not 0 or 1",
            "the attack is on yes-or-no secrets: write 0 or 1",
            "not-binary",
        )
    return values

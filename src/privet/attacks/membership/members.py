"""Who is among the people whose means were published? The attack of Homer et al. on genome studies, with its best test.

    found = attack_membership(means, people, reference=others, size=100)
    found = attack_membership(means, people, population=frequencies, size=100, members=truth)    # with the score

`people` are those somebody asks about: a row each, a column for each published mean; yes or no (0/1), genotypes (0/1/2)
or numbers; NaN, and -1 among whole numbers up to 2, is missing. What is usual comes from `population` (means, or means
and standard deviations) or from `reference`, people like these who are not in the data.

docs/attacks/membership.md is the page.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from privet.attacks.finding import Findings
from privet.attacks.membership.forecast import Expected, expected, lead, separation
from privet.attacks.membership.input import (
    asked_about,
    one_of,
    population_of,
    published_of,
    rows_of,
    size_from,
    truth_of,
)
from privet.attacks.membership.likelihoods import (
    TESTS,
    LikelihoodModel,
    Population,
    PublishedMeans,
    Test,
    model,
)
from privet.attacks.promise import Privacy
from privet.errors import InvalidInputError
from privet.stats.intervals import Interval
from privet.stats.roc import Roc, roc
from privet.typing import Floats, Truths

Progress = Callable[[str, int, int], object]
LEARNED = 2 / 3  # of the reference people; the others calibrate
GAIN = 1.02  # in standard deviations, from which whitening is worth it
FEWEST = 20  # reference people to whiten with
CALIBRATE = 2  # reference people at least, besides
TINY = 1e-12
HALVES = 5  # of people who are out, published for control
MADE, CELLS = 500, 2**24  # people made up where nobody is known to be out
MISSED = 0.01  # of values, more than others miss, from which a p-value takes it into account, if it is below MATTERS
MATTERS = 0.05
SALT = (
    0x6D656D626572  # other draws than those of data that somebody made with a plain seed: people made up must be others
)
DEPENDENT, DEVIATIONS = 1.2, 6  # times the chance of likeness, and beyond chance, from which people are too much alike


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MembershipResult:
    """`calibration` people are out; a p-value is the share of them that scores as high. `made`: they are made up.
    `plain`: the same attack with attributes taken for independent. `stand_in`: what is usual is what the people asked
    about have. `sized`: the number of people in the data was estimated. `alike`: people asked about are more alike than
    people made up with independent attributes, so these do not say how somebody who is out scores. `ahead`: how far
    people who are out but like the members are above those who are known to be out, in standard deviations of these;
    `unlike`: it is more than noise in the means gives by chance.
    `beyond`: how far a score is above that."""

    model: LikelihoodModel
    forecast: Expected
    plain_forecast: Expected
    scores: Floats
    p_values: Floats
    beyond: Floats
    ahead: float
    unlike: bool
    calibration: int
    made: bool
    members: Truths | None
    curve: Roc | None
    plain_curve: Roc | None
    control: Interval | None
    alike: bool = False
    stand_in: bool = False
    sized: bool = False
    names: tuple[str, ...] = ()
    target: int | None = None
    privacy: Privacy | None = None


def attack_membership(  # noqa: PLR0913  what is known, and how to use it
    statistics: npt.ArrayLike,
    people: npt.ArrayLike,
    *,
    population: npt.ArrayLike | None = None,
    reference: npt.ArrayLike | None = None,
    size: npt.ArrayLike | None = None,
    noise: npt.ArrayLike = 0,
    members: npt.ArrayLike | None = None,
    test: str = "auto",
    whiten: bool | Literal["auto"] = "auto",
    privacy: Privacy | None = None,
    target: str | int | None = None,
    names: Sequence[str] | None = None,
    subject: str = "published means",
    progress: Progress | None = None,
) -> Findings:
    """`statistics` are means over `size` people (estimated if not given) with normal noise of standard deviation
    `noise`, or noise about like that. `members` says which of `people` are in, for the score only: True or False each,
    or their places. `whiten` needs reference people; "auto" does it where it tells more. `target` is the one of
    `people` (a name or a place) whom the findings are about."""
    from privet.attacks.membership.findings import findings_of  # noqa: PLC0415  it knows this file

    start = time.perf_counter()
    tell = progress or (lambda *_: None)
    chosen: Test = "likelihood" if test == "auto" else one_of(test, TESTS, "test")
    _check(whiten, chosen, reference)
    rows, known = rows_of(people, "people"), None if reference is None else rows_of(reference, "reference people")
    called = asked_about(names, len(rows))
    inside = None if members is None else truth_of(members, called)
    place = None if target is None else _place(target, called)
    learned, others = _split(known, population, whiten)
    stand_in = population is None and known is None and len(rows) >= FEWEST
    usual = population_of(population, rows if stand_in else learned, (rows, known))
    published, usual, used = published_of(statistics, size, noise, usual)
    tell("weighing attributes", 0, 1)
    published = size_from(published, usual) if size is None else published
    ready = model(published, usual, chosen, whiten=_whitens(False if stand_in else whiten, published, usual, chosen))
    tell("scoring people", 0, 1)
    result = _attacked(ready, rows[:, used], inside, None if others is None else others[:, used])
    result = replace(result, stand_in=stand_in, sized=size is None, names=called, target=place, privacy=privacy)
    return findings_of(result, subject, start)


def _attacked(ready: LikelihoodModel, rows: Floats, inside: Truths | None, others: Floats | None) -> MembershipResult:
    plain = ready if not ready.whitened else model(ready.published, ready.population, ready.test, whiten=False)
    out = _made(ready.population) if others is None else others
    asked = _asked(ready, len(rows), inside)
    scores, theirs = ready.scores(rows), ready.scores(out)
    curve, leading = _curve(scores, inside), lead(ready, out)
    gap = leading.ahead * max(float(theirs.std(ddof=1)), TINY)
    return MembershipResult(
        model=ready,
        forecast=expected(ready, out, asked),
        plain_forecast=expected(plain, out, asked),
        scores=scores,
        p_values=_with_gaps(ready, rows, out, gap),
        beyond=(scores - gap - theirs.mean()) / max(float(theirs.std(ddof=1)), TINY),
        ahead=leading.ahead,
        unlike=leading.shown,
        calibration=len(out),
        made=others is None,
        members=inside,
        curve=curve,
        plain_curve=_curve(plain.scores(rows), inside) if ready.whitened else curve,
        control=None if inside is None else _control(ready, rows, inside),
        alike=others is None and too_much_alike(ready.population.units(rows)),
    )


def _asked(ready: LikelihoodModel, people: int, inside: Truths | None) -> tuple[int, int]:
    """How many people in and out the result is about; where it is not known, as if half of them were in."""
    if inside is not None:
        return int(inside.sum()), int((~inside).sum())
    half = min(round(ready.size), people // 2)
    return half, people - half


def scores(  # noqa: PLR0913  as the attack
    statistics: npt.ArrayLike,
    people: npt.ArrayLike,
    population: npt.ArrayLike | None = None,
    *,
    test: str = "likelihood",
    size: npt.ArrayLike | None = None,
    noise: npt.ArrayLike = 0,
    reference: npt.ArrayLike | None = None,
    whiten: bool = False,
) -> Floats:
    """The scores alone, larger for people who are in: of one test, on all reference people."""
    chosen: Test = one_of(test, TESTS, "test")
    _check(whiten, chosen, reference)
    rows, known = rows_of(people, "people"), None if reference is None else rows_of(reference, "reference people")
    usual = population_of(population, known, (rows, known))
    published, usual, used = published_of(statistics, size, noise, usual)
    published = size_from(published, usual) if size is None else published
    return model(published, usual, chosen, whiten=whiten).scores(rows[:, used])


def p_values(scores: Floats, out: Floats) -> Floats:
    """The share of people who are out, the person included, that scores as high. If the person is out and like them,
    all orders are equally likely, so it is at most p with chance p (a rank test; exact, whatever the law)."""
    higher = len(out) - np.searchsorted(np.sort(out), scores, side="left")
    return np.asarray((higher + 1) / (len(out) + 1), np.float64)


def _with_gaps(ready: LikelihoodModel, rows: Floats, out: Floats, ahead: float) -> Floats:
    """P-values of people whose scores are `ahead` already because they are like the members.

    Somebody of whom much is missing scores as people do of whom little is known, which is higher than people who are
    out: little speaks against them. So such a person is compared with people of whom the same is missing."""
    usual = float(np.median(np.isnan(out).mean(axis=1)))
    gaps = np.isnan(rows)
    found = p_values(ready.scores(rows) - ahead, ready.scores(out))
    for place in np.flatnonzero((gaps.mean(axis=1) > usual + MISSED) & (found < MATTERS)):
        like = ready.scores(np.where(gaps[place], np.nan, out))
        found[place] = max(found[place], p_values(ready.scores(rows[place : place + 1]) - ahead, like)[0])
    return found


def too_much_alike(units: Floats) -> bool:
    """Whether attributes depend on each other, as those of neighboring SNPs and of people of several origins do. With
    independent ones the product of two different people varies with the sum over attributes of variance squared. Few
    people do not tell."""
    if len(units) < FEWEST:
        return False
    pairs = len(units) * (len(units) - 1) / 2
    chance = float(((units**2).mean(axis=0) ** 2).sum())
    return variance_of_products(units, pairs) > chance * max(DEPENDENT, 1 + DEVIATIONS * math.sqrt(2 / pairs))


def variance_of_products(rows: Floats, pairs: float) -> float:
    """The variance of the products of every two different rows. The squares of X X' add up to those of X' X, which has
    a side for each column: many people with few attributes need little memory."""
    narrow = rows if len(rows) <= rows.shape[1] else rows.T
    step = max(CELLS // len(narrow), 1)
    squares = sum(float(((narrow[at : at + step] @ narrow.T) ** 2).sum()) for at in range(0, len(narrow), step))
    own = np.einsum("ij,ij->i", rows, rows)
    mean = (float((rows.sum(axis=0) ** 2).sum()) - float(own.sum())) / 2 / pairs
    return (squares - float((own**2).sum())) / 2 / pairs - mean**2


def _check(whiten: object, test: Test, reference: object) -> None:
    if whiten not in (True, False, "auto"):
        raise InvalidInputError(
            "whiten is neither True, False nor auto", 'leave it out, or write whiten="auto"', "unknown-choice"
        )
    if whiten is True and reference is None:
        raise InvalidInputError(
            "whitening needs reference people", "give reference people who are not in the data", "missing-option"
        )
    if whiten is True and test == "Homer":
        raise InvalidInputError(
            "Homer's test has no weights to whiten", "use the test likelihood or inner product", "contradictory-options"
        )


def _split(
    known: Floats | None, population: npt.ArrayLike | None, whiten: bool | str
) -> tuple[Floats | None, Floats | None]:
    """Those who say what is usual, and others on whom nothing depends: who was used to fit a test no longer scores like
    somebody who is out. The split is always the same."""
    if known is None:
        return None, None
    fits = population is None or whiten is not False
    cut = math.ceil(LEARNED * len(known)) if fits else 0
    if len(known) - cut < CALIBRATE:
        raise InvalidInputError(
            f"{len(known)} reference people are too few",
            "give more, of whom some fit the test and some calibrate it",
            "too-few",
        )
    order = np.random.default_rng((SALT, 0)).permutation(len(known))
    return known[order[:cut]] if fits else None, known[order[cut:]]


def _made(usual: Population) -> Floats:
    """People with independent attributes."""
    draw = np.random.default_rng((SALT, 1))
    count = max(2, min(MADE, CELLS // len(usual.means)))
    if usual.kind == "numbers":
        return draw.normal(usual.means, usual.deviations, (count, len(usual.means)))
    return draw.binomial(usual.top, usual.means / usual.top, (count, len(usual.means))).astype(np.float64)


def _whitens(whiten: bool | Literal["auto"], published: PublishedMeans, usual: Population, test: Test) -> bool:
    """Where it is for us to choose: fit both on half of the sample, and see which should tell more on the other half.
    The people who calibrate have no part in it."""
    if whiten != "auto":
        return whiten
    if test == "Homer" or usual.sample is None or len(usual.sample) < FEWEST:
        return False
    half = len(usual.sample) // 2
    fitted = replace(usual, sample=usual.sample[:half], people=float(half))
    found = [separation(model(published, fitted, test, whiten=way), usual.sample[half:]) for way in (False, True)]
    return found[1].apart > GAIN * found[0].apart


def _curve(scores: Floats, inside: Truths | None) -> Roc | None:
    return None if inside is None else roc(scores[inside], scores[~inside])


def _control(ready: LikelihoodModel, rows: Floats, inside: Truths) -> Interval | None:
    """The AUC of the same attack on means of other people: half of those who are out. Nobody asked about is among them,
    so members and the other half must look alike. The mean over some halves, with the mean of their intervals: that is
    no narrower than one of them and moves less."""
    draw = np.random.default_rng((SALT, 2))
    out = np.flatnonzero(~inside)
    half = len(out) // 2
    if half < 2:
        return None
    size = np.full(len(ready.published.means), float(half))
    again = model(replace(ready.published, sizes=size), ready.population, ready.test, whiten=ready.whitened)
    found = []
    for _ in range(HALVES):
        order = draw.permutation(out)
        study = rows[order[:half]]
        there = np.isfinite(study).sum(axis=0)
        means = np.where(there > 0, np.nansum(study, axis=0) / np.maximum(there, 1), ready.population.means)
        noisy = means + draw.normal(0, 1, len(means)) * ready.published.noise
        other = replace(again, published=replace(again.published, means=noisy))
        found.append(roc(other.scores(rows[inside]), other.scores(rows[order[half:]])).auc)
    value, low, high = (math.fsum(getattr(auc, end) for auc in found) / HALVES for end in ("value", "low", "high"))
    return Interval(value, low, high)


def _place(target: str | int, names: tuple[str, ...]) -> int:
    if isinstance(target, int | np.integer) and not isinstance(target, bool) and 0 <= target < len(names):
        return int(target)
    if isinstance(target, str) and target in names:
        return names.index(target)
    raise InvalidInputError(
        f"there is no {target} among the people", "name one of them, or give the place, from 0", "unknown-person"
    )

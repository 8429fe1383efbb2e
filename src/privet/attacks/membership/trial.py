"""Would it work on data like mine? Draw a study out of people at hand, publish its means, and attack these."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Literal

import numpy as np

from privet.attacks.finding import Findings
from privet.attacks.membership.files import PeopleTable, Progress
from privet.attacks.membership.input import rows_of
from privet.attacks.membership.members import attack_membership
from privet.attacks.promise import Privacy
from privet.core.rational import whole
from privet.errors import InvalidInputError
from privet.typing import Floats

Draw = Callable[[object, int], object]  # whole numbers of noise, by scale and how many


def trial(  # noqa: PLR0913  a study, and how to attack it
    data: PeopleTable,
    *,
    size: int,
    seed: int = 1,
    privacy: Privacy | None = None,
    draw: Draw | None = None,
    test: str = "auto",
    whiten: bool | Literal["auto"] = "auto",
    target: str | None = None,
    subject: str = "a trial",
    progress: Progress | None = None,
) -> Findings:
    """`size` people at random are the study, half of the others the reference, and the rest is asked about together
    with the study. With `draw`, discrete Laplace noise, the sums are published under the epsilon of `privacy`."""
    if not 2 <= size <= len(data.people) - 6:
        raise InvalidInputError(
            f"{size:,} of {len(data.people):,} people cannot be a study",
            "leave at least 6 who are not in it, and take 2 or more",
            "out-of-range",
        )
    order = np.random.default_rng(whole(seed, "seed", 0)).permutation(len(data.people))
    half = (len(order) - size) // 2
    study, reference, rest = order[:size], order[size : size + half], order[size + half :]
    values = rows_of(data.values, "people")
    asked = np.concatenate([study, rest])
    if draw is None or privacy is None:
        means, noise, sizes = _exact(values[study])
    else:
        means, noise, sizes = _noisy(values[study], values[reference], _top(values), privacy.epsilon, draw)
    return attack_membership(
        means,
        values[asked],
        reference=values[reference],
        size=sizes,
        noise=noise,
        members=np.arange(size),
        test=test,
        whiten=whiten,
        privacy=privacy,
        target=target,
        names=[data.people[place] for place in asked],
        subject=f"{subject}, {size:,} people drawn",
        progress=progress,
    )


def _exact(study: Floats) -> tuple[Floats, float, Floats]:
    """Means of those who have a value; NaN, which is not published, where nobody has."""
    there = np.isfinite(study).sum(axis=0)
    means = np.divide(np.nansum(study, axis=0), there, out=np.full(len(there), np.nan), where=there > 0)
    return means, 0.0, np.maximum(there, 1).astype(np.float64)


def _top(values: Floats) -> int:
    """Of everybody at hand and not of the study: what the noise is for must not tell who was drawn."""
    if not np.isin(values[np.isfinite(values)], (0, 1, 2)).all():
        raise InvalidInputError(
            "noise here is for yes or no (0/1) and genotypes (0/1/2)",
            "leave epsilon out, or publish with a vault",
            "not-supported",
        )
    return 2 if (values == 2).any() else 1


def _noisy(study: Floats, reference: Floats, top: int, epsilon: Fraction, draw: Draw) -> tuple[Floats, float, Floats]:
    """Sums of whole numbers from 0 to `top`, with the value that most reference people have where one is missing, so
    that how many are missing is not published. Another person of those at hand in somebody's place moves d sums by
    `top` each at most, so the scale d * top / epsilon is the Laplace mechanism's (Dwork, McSherry, Nissim and Smith
    2006). The reference people are out, and stay so."""
    people, attributes = study.shape
    there = np.maximum(np.isfinite(reference).sum(axis=0), 1)
    usual = np.rint(np.nansum(reference, axis=0) / there)
    sums = np.where(np.isfinite(study), study, usual).sum(axis=0)
    scale = attributes * top / epsilon
    means = (sums + np.asarray(draw(scale, attributes), np.float64)) / people
    return means, math.sqrt(2) * float(scale) / people, np.full(attributes, float(people))

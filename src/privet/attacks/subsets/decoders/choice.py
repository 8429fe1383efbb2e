"""Which decoder: by the errors as they are stated, or as the residuals of a first fit look.

    found = decode(matrix, answers, Errors("bounded", 10.0))

Up to 16 people and bounded errors: every data set is tried, since then there is a proof. Random subsets: message
passing, which is the best for these, and whose result is checked: if it did not come to rest, or if its residuals are
larger than the errors, the decoder for any matrix is tried, too, and the better fit is taken. For any other matrix: box
least squares for normal errors, L1 for heavy tails and wild answers, Chebyshev for bounded ones.
"""

from __future__ import annotations

from privet.attacks.subsets.decoders import (
    absolute,
    amp,
    box,
    chebyshev,
    checked,
    exhaustive,
    expected,
    known,
    residuals,
)
from privet.attacks.subsets.decoders.checked import Question
from privet.attacks.subsets.decoders.descent import Progress
from privet.attacks.subsets.decoders.problem import Decoded, Errors, Forecast, Matrix
from privet.errors import InvalidInputError

AUTO = "auto"
PROVABLE = 16  # people for whom every data set is tried unasked
MATCHED = {
    "exact": box.NAME, "normal": box.NAME, "bounded": chebyshev.NAME, "laplace": absolute.NAME,
    "outliers": absolute.NAME,
}  # fmt: skip


def decode(  # noqa: PLR0913  the problem, and what is known of it
    matrix: Matrix,
    answers: object,
    errors: Errors | None = None,
    *,
    decoder: str = AUTO,
    rate: float | None = None,
    top: object = None,
    progress: Progress | None = None,
) -> Decoded:
    """`rate` is the share of people with a 1, `top` the largest value of each person (1 for all if not given)."""
    name = decoder if decoder == AUTO else known.named(decoder)
    asked = checked.question(matrix, answers, top)
    if rate is not None:
        checked.rate(rate)
    law = None if errors is None else checked.errors(errors)
    if law is None and name in (AUTO, amp.DECODER):
        law = residuals.guessed(matrix, asked.answers, asked.top)
    if name != AUTO or law is None:
        alike = name == box.NAME and amp.looks_random(matrix)
        return known.decode(name, matrix, asked.answers, law, rate=rate, top=asked.top, alike=alike, progress=progress)
    proven = None if errors is None else _proven(matrix, asked, law)  # a guess at the errors proves nothing
    return proven or _chosen(matrix, asked, law, rate, progress)


def forecasts(
    matrix: Matrix, errors: Errors, *, rate: float = 0.5, progress: Progress | None = None
) -> tuple[Forecast, ...]:
    """Of every decoder that suits this matrix and these errors, the best first."""
    checked.sized(matrix)
    checked.errors(errors)
    names = [box.NAME, absolute.NAME]
    if errors.law == "bounded":
        names.append(chebyshev.NAME)
    if _provable(matrix, errors):
        names.append(exhaustive.NAME)
    random = amp.looks_random(matrix)
    if random:
        names.append(amp.DECODER)
    found = [expected.forecast(name, matrix, errors, rate=rate, random=random, progress=progress) for name in names]
    return tuple(sorted(found, key=lambda forecast: -forecast.recovered))


def _provable(matrix: Matrix, errors: Errors) -> bool:
    return matrix.shape[1] <= PROVABLE and errors.law in ("bounded", "exact") and exhaustive.suits(matrix)


def _proven(matrix: Matrix, asked: Question, errors: Errors) -> Decoded | None:
    """By trying every data set; nothing if none fits, for then the stated bound is wrong."""
    if not _provable(matrix, errors) or (asked.top != 1).any():
        return None
    try:
        return exhaustive.decode(matrix, asked.answers, errors)
    except InvalidInputError:
        return None


def _chosen(matrix: Matrix, asked: Question, errors: Errors, rate: float | None, progress: Progress | None) -> Decoded:
    random = amp.looks_random(matrix)

    def found(name: str) -> Decoded:
        return known.decode(
            name, matrix, asked.answers, errors, rate=rate, top=asked.top, alike=random, progress=progress
        )

    def misfit(decoded: Decoded) -> float:
        return residuals.misfit(matrix, asked.answers, decoded)

    if (asked.top != 1).any() or not random:
        return found(MATCHED[errors.law])
    first = found(amp.DECODER)
    if first.converged and misfit(first) <= residuals.FITS:
        return first
    return min(first, found(MATCHED[errors.law]), key=misfit)

"""All decoders by name."""

from __future__ import annotations

import numpy as np

from privet.attacks.subsets.decoders import absolute, amp, box, chebyshev, exhaustive
from privet.attacks.subsets.decoders.descent import Progress
from privet.attacks.subsets.decoders.problem import Decoded, Errors, Matrix
from privet.errors import InvalidInputError

NAMES = (amp.DECODER, box.NAME, absolute.NAME, chebyshev.NAME, exhaustive.NAME)
SHORT = {"box": box.NAME}


def named(name: str) -> str:
    """The full name, however it is spelled."""
    wanted = SHORT.get(name.lower(), name)
    for full in NAMES:
        if wanted.lower() == full.lower():
            return full
    raise InvalidInputError(f"there is no decoder {name!r}", f"name one of auto, {', '.join(NAMES)}", "unknown-choice")


def decode(  # noqa: PLR0913  what all decoders take together
    name: str,
    matrix: Matrix,
    answers: object,
    errors: Errors | None,
    *,
    rate: float | None = None,
    top: object = None,
    alike: bool = False,
    progress: Progress | None = None,
) -> Decoded:
    """By a full name. Message passing needs to know the errors; `alike`: see `box`."""
    if name in (amp.DECODER, exhaustive.NAME) and top is not None and (np.asarray(top) != 1).any():
        raise InvalidInputError(
            f"{name} finds zeros and ones only",
            "use another decoder for groups of people with the same attributes",
            "not-supported",
        )
    if name == amp.DECODER:
        if errors is None:
            raise InvalidInputError(
                "message passing needs the law of errors", "state it, or use another decoder", "missing-option"
            )
        return amp.decode(matrix, np.asarray(answers, np.float64), errors, rate=rate, progress=progress)
    if name == exhaustive.NAME:
        return exhaustive.decode(matrix, answers, errors)
    if name == box.NAME:
        return box.decode(matrix, answers, errors, top=top, alike=alike, progress=progress)
    fitted = absolute.decode if name == absolute.NAME else chebyshev.decode
    return fitted(matrix, answers, errors, top=top, progress=progress)

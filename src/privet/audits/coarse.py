"""Outputs on a coarse grid, where the last bits of floating-point numbers do not show.

Noise in floating point tells data sets apart by the gaps between such numbers (Mironov 2012), however good its law is.
That is a true finding, and it hides every other one: it is seen first. On a grid of about a thousandth of the spread of
the outputs the gaps are gone, and a wrong scale or a wrong sensitivity is still there. To round is to process the
output further, so what is shown of rounded outputs is true of the mechanism.

The grid of a pair is learnt from its first draws, which are never used to test, and stays as it is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from privet.audits.claims import Claim
from privet.audits.outlook import promise
from privet.audits.outputs import PLAIN, Numbers, OutputReader, Outputs, joined
from privet.audits.views import Digits, LastBits, ValueView
from privet.typing import Floats, Truths

if TYPE_CHECKING:
    from privet.audits.stages import FoundStage

STEPS = 1024  # of the grid, over half of the outputs
PRECISION = 40  # bits below the largest output: many times the gap between doubles there
BITS = 20  # of a number that no grid was learnt for
ROUND = 9  # decimals: a number with fewer was rounded by somebody, and has no last bits
CLEARLY = 0.9


@dataclass(frozen=True, slots=True, eq=False)
class OutputGrid:
    """A step for each column that had fractions; 0 for others, of which fractions keep their first 20 bits."""

    steps: Floats
    reader: OutputReader

    def rounded(self, outputs: Outputs) -> Outputs:
        values, tokens = outputs.numbers, outputs.tokens
        if values.dtype.kind == "f":
            steps = np.zeros(values.shape[1])
            steps[: len(self.steps)] = self.steps[: len(steps)]
            values = to_grid(values, steps)
        decimals = [place for place in self.reader.decimals() if place < values.shape[1]]
        if decimals:
            values = values.copy()
            values[:, decimals] = 0
        if tokens is not None:
            tokens = np.where(tokens == self.reader.known("-0.0"), PLAIN, tokens).astype(np.int32)
        return Outputs(values, tokens, outputs.shapes)

    def __str__(self) -> str:
        used = sorted({int(math.log2(step)) for step in self.steps if step})
        if not used:
            return f"numbers with fractions were rounded to their first {BITS} bits"
        steps = f"2^{used[0]}" if len(used) == 1 else f"2^{used[0]} to 2^{used[-1]}"
        return f"numbers with fractions were rounded to multiples of {steps}, about 1/{STEPS} of their spread"


def learn(draws: list[Outputs], reader: OutputReader) -> OutputGrid:
    """From some draws of each data set."""
    width = reader.width
    wide = [outputs.widened(width) for outputs in draws]
    return OutputGrid(np.array([_step([_finite(part, place) for part in wide]) for place in range(width)]), reader)


def to_grid(values: Numbers, steps: Floats) -> Floats:
    """Steps are powers of two: to divide by one loses nothing."""
    with np.errstate(all="ignore"):
        grid = np.rint(values / np.where(steps > 0, steps, 1)) * steps
        mantissa, exponent = np.frexp(np.where(np.isfinite(values), values, 0))
        bits = np.ldexp(np.rint(mantissa * 2.0**BITS), exponent - BITS)
        whole = ~np.isfinite(values) | (values == np.rint(values))
    return np.asarray(np.where(steps > 0, grid, np.where(whole, values, bits)) + 0.0, np.float64)


def _finite(outputs: Outputs, place: int) -> Floats:
    column = outputs.part(place)
    values = column.numbers if column.tokens is None else column.numbers[column.tokens == PLAIN]
    return np.asarray(values[np.isfinite(values)], np.float64)


def _step(sides: list[Floats]) -> float:
    """A power of two: at most the spread of the noise over 1024, and many times the gap between doubles."""
    both = np.concatenate(sides)
    if not len(both) or np.array_equal(both, np.rint(both)):
        return 0.0
    spreads = [float(np.subtract(*np.quantile(side, [0.75, 0.25]))) for side in sides if len(side)]
    spread = min((one for one in spreads if one > 0), default=0.0) or float(np.ptp(both))
    largest = float(np.abs(both).max())
    least = 2.0 ** min(1000, math.frexp(largest)[1] - PRECISION)
    return max(least, 2.0 ** (math.frexp(spread / STEPS)[1] - 1)) if spread else least


# --- is a finding made of bits? ---


def from_float_bits(found: FoundStage, claim: Claim) -> bool:
    """Whether an event of numbers with long fractions tells clearly less when the numbers are rounded."""
    sorter, draws = found.event.view.sorter, [joined(seen) for seen in found.track.seen]
    bits = isinstance(sorter, LastBits | ValueView) or (isinstance(sorter, Digits) and sorter.of_doubles)
    columns = [found.event.view.feature.column(outputs) for outputs in draws]
    if not bits or any(column.numbers.dtype.kind != "f" for column in columns):
        return False
    chosen = [found.event.chosen[sorter.cells(column)] for column in columns]
    numbers = [column.numbers for column in columns]
    hits = [part[which] for part, which in zip(numbers, chosen, strict=True)]
    fractions = np.concatenate([part[np.isfinite(part)] for part in hits])
    if not len(fractions) or (np.round(fractions, ROUND) == fractions).mean() > 0.5:
        return False
    step = np.array(_step([part[np.isfinite(part)].astype(np.float64) for part in numbers]))
    cells = np.unique(to_grid(np.concatenate(hits), step))
    coarse = [np.isin(to_grid(part, step), cells) for part in numbers]
    return _promised(coarse, found.event.likelier, claim) < CLEARLY * _promised(chosen, found.event.likelier, claim)


def _promised(sides: list[Truths], likelier: int, claim: Claim) -> float:
    """What shares of the draws promise, with equally many on both sides."""
    draws = min(map(len, sides))
    hits = [np.array([int(sides[side][:draws].sum())]) for side in (likelier, 1 - likelier)]
    return float(promise(claim, hits[0], hits[1], draws, 1.0)[0])

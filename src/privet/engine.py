"""TRUSTED: the one gate. Whatever is released passes `run`, in this order, and nobody else holds all three parts.

A crash at any line loses budget, never privacy: the charge is durable before data are touched, the answer is durable
before it is delivered, and there are no refunds.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from privet.backends import Spread
from privet.core.claim import claim
from privet.core.laws import Choice, Law
from privet.core.loss import Loss
from privet.core.measures import Measure
from privet.core.ranks import rank
from privet.errors import PrivetError, ReleaseFailedError
from privet.ledger import Charge, Ledger, Receipt
from privet.noise.fast import sampler
from privet.noise.ranked import RankLoss, choose_by_rank, flip_by_rank

Exact = TypeVar("Exact")


class NoiseSource(Protocol):
    """Where noise comes from: the operating system, but for vaults that were made for testing."""

    def draw(self, law: Law, size: int) -> npt.NDArray[np.int64]: ...

    def choose(self, spread: Spread, measure: Measure, law: Choice) -> int: ...


class FreshNoise:
    """Exact draws from the operating system's entropy."""

    def draw(self, law: Law, size: int) -> npt.NDArray[np.int64]:
        return sampler(law).draw(size)

    def choose(self, spread: Spread, measure: Measure, law: Choice) -> int:
        """One of all values between the measure's bounds, by its rank among those that are there."""
        sought = rank(measure, law, int(spread.counts.sum()))
        loss = RankLoss(low=measure.low, high=measure.high, unit=sought.unit, target=sought.target)
        return (flip_by_rank if law.flip else choose_by_rank)(spread.values, spread.counts, loss, law)


class Watched:
    """The same noise, and whether any was drawn yet."""

    def __init__(self, noise: NoiseSource) -> None:
        self._noise = noise
        self.drawn = False

    def draw(self, law: Law, size: int) -> npt.NDArray[np.int64]:
        self.drawn = True
        return self._noise.draw(law, size)

    def choose(self, spread: Spread, measure: Measure, law: Choice) -> int:
        self.drawn = True
        return self._noise.choose(spread, measure, law)


@dataclass(frozen=True, slots=True, kw_only=True)
class Job(Generic[Exact]):
    """One release: its price, how to compute what is protected, how to publish it.

    `price` sees declarations only and refuses what is unbounded. `exact` gets noise for what is chosen from the data on
    the way, such as keys that are not public. `publish` adds the noise and gives what is stored.
    """

    price: Callable[[], Loss]
    charge: Callable[[Loss], Charge]
    exact: Callable[[NoiseSource], Exact]
    publish: Callable[[Exact, NoiseSource], bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    receipt: Receipt
    body: bytes


@claim("spend-before-you-look", "one-repeat")
def run(job: Job[Exact], ledger: Ledger, noise: NoiseSource) -> Release:
    """The path of every release."""
    loss = job.price()  # 1 sensitivity and 2 price: refuses what is unbounded
    receipt = ledger.spend(job.charge(loss))  # 3 durable, or raises: data still untouched
    watched = Watched(noise)
    try:
        exact = job.exact(watched)  # 4 the only line that sees data
        body = job.publish(exact, watched)  # 5 noise and free post-processing ...
        ledger.store(receipt, body)  # ... durable before it is delivered
        return Release(receipt=receipt, body=body)
    except Exception:  # noqa: S110  what went wrong may quote data, so nobody is told
        pass
    except BaseException as stop:
        stop.add_note(f"stopped after the charge: entry {receipt.entry} of the ledger stays charged, without an answer")
        with suppress(PrivetError):  # the answer may be stored already
            ledger.fail(receipt, before_any_draw=not watched.drawn)
        raise
    ledger.fail(receipt, before_any_draw=not watched.drawn)
    raise _failed(receipt)


def _failed(receipt: Receipt) -> ReleaseFailedError:
    return ReleaseFailedError(
        f"the release failed after its charge, and the charge stays (entry {receipt.entry} of the ledger)",
        "ask again (the first retry is free if no noise was drawn before the failure);"
        " if it fails again, ask the owner to run `privet check VAULT`",
    )

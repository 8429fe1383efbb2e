"""What is claimed, and what an audit found."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from fractions import Fraction

from privet.core.rational import below_one, positive


@dataclass(frozen=True, slots=True, init=False)
class Claim:
    """A mechanism is said to be (epsilon, delta)-differentially private."""

    epsilon: Fraction
    delta: Fraction

    def __init__(self, epsilon: object, delta: object = 0) -> None:
        object.__setattr__(self, "epsilon", positive(epsilon, "epsilon"))
        object.__setattr__(self, "delta", below_one(delta, "delta"))

    def __str__(self) -> str:
        return f"epsilon = {float(self.epsilon):g}, delta = {float(self.delta):g}"


@dataclass(frozen=True, slots=True)
class Witness:
    """The event that gave the bound, and its counts."""

    event: str
    likelier: int  # 0 or 1: the data set, of the two neighbors, on which it comes up more often
    hits: tuple[int, int]  # on the likelier data set, on the other
    draws: int  # from each

    def __str__(self) -> str:
        name = ("first", "second")
        return (
            f"“{self.event}” came up in {self.hits[0]:,} of {self.draws:,} draws on the {name[self.likelier]} data set "
            f"and in {self.hits[1]:,} on the {name[1 - self.likelier]}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """A lower bound on epsilon at the claimed delta, true with probability `confidence`.

    `ceiling` is the most that this audit could have shown of any mechanism. An event can only contradict the claim if
    its probability is above `rarest` on one of the data sets. `samples` were drawn from each data set.
    """

    claim: Claim
    lower_bound: float
    confidence: float
    ceiling: float
    rarest: float
    witness: Witness
    samples: int
    seconds: float

    @property
    def violated(self) -> bool:
        return self.lower_bound > self.claim.epsilon

    @property
    def verdict(self) -> str:
        if self.violated:
            return "violated"
        if self.ceiling <= self.claim.epsilon:
            return "inconclusive"
        return f"consistent up to {_down(self.ceiling, 2)}"

    def __str__(self) -> str:
        found = f"epsilon is at least {_down(self.lower_bound, 3)} (confidence {self.confidence:.10g}): {self.witness}"
        work = f"{self.samples:,} draws a data set, {self.seconds:.1f} s"
        ceiling = _down(self.ceiling, 2)
        if self.violated:
            return (
                f"violated: the claim of {self.claim} is false; {found}. "
                f"This audit could have shown epsilon up to {ceiling}, so the truth may be worse ({work})."
            )
        if self.ceiling <= self.claim.epsilon:
            return (
                f"inconclusive: this audit can show epsilon up to {ceiling} only, so it could not contradict the claim "
                f"of {self.claim}; {found}. Take more samples ({work})."
            )
        return (
            f"consistent up to {ceiling}: nothing seen contradicts the claim of {self.claim}; {found}. "
            f"This is not a proof: only this pair of data sets and a few events were tried, and a leak in outputs with "
            f"a probability below {self.rarest:.1e} would not have been seen ({work})."
        )

    def to_json(self) -> str:
        result = {
            "verdict": self.verdict,
            "violated": self.violated,
            "claim": {"epsilon": float(self.claim.epsilon), "delta": float(self.claim.delta)},
            "lower_bound": self.lower_bound,
            "confidence": self.confidence,
            "ceiling": self.ceiling,
            "rarest": self.rarest,
            "witness": {
                "event": self.witness.event,
                "likelier": self.witness.likelier,
                "hits": list(self.witness.hits),
                "draws": self.witness.draws,
            },
            "samples": self.samples,
            "seconds": self.seconds,
        }
        return json.dumps({"privet": 1, "kind": "audit", "result": result}, ensure_ascii=False)


def _down(value: float, digits: int) -> str:
    """Rounded down: a lower bound is never printed larger than it is."""
    return f"{math.floor(value * 10**digits) / 10**digits:.{digits}f}"

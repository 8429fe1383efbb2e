"""What the gallery is made of: an entry, and the parameters that a seed picks for it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from privet.audits import Claim
    from privet.audits.domains import Domain

Mechanism = Callable[..., Any]
Pair = tuple["GalleryEntry", "GalleryEntry"]
Make = Callable[["Pick"], Pair]


@dataclass(frozen=True, slots=True, kw_only=True)
class GalleryEntry:
    """A mechanism with what is claimed of it. An auditor gets `mechanism`, `claim` and `domain`, and nothing else."""

    name: str
    correct: bool
    claim: Claim
    mechanism: Mechanism
    domain: Domain
    says: str  # what is wrong with it, or why it is right
    twin: str  # the name of the entry that is right where this is wrong, or the other way round


def pair(name: str, claim: Claim, domain: Domain, broken: Mechanism, fixed: Mechanism) -> Pair:
    """A broken mechanism and its correct twin, under one claim. What their docstrings say, the entries say."""
    right = f"{name}-fixed"
    make = partial(GalleryEntry, claim=claim, domain=domain)
    return (
        make(name=name, correct=False, mechanism=broken, says=_sentences(broken), twin=right),
        make(name=right, correct=True, mechanism=fixed, says=_sentences(fixed), twin=name),
    )


def _sentences(mechanism: Mechanism) -> str:
    return " ".join((inspect.getdoc(mechanism) or "").split())


class Pick:
    """Parameters within sensible limits. Numbers are fractions or integers, so that twins are exact."""

    def __init__(self, generator: np.random.Generator) -> None:
        self._generator = generator

    def epsilon(self, low: float = 0.5, high: float = 1.5) -> Fraction:
        return self.number(low, high)

    def number(self, low: float, high: float) -> Fraction:
        """A hundredth between the limits."""
        return Fraction(self.whole(round(100 * low), round(100 * high)), 100)

    def whole(self, low: int, high: int) -> int:
        return int(self._generator.integers(low, high + 1))

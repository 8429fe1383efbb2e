"""Correlated attributes, weighed so that what many of them say together counts once.

Neighboring SNPs repeat each other, and people of one origin share thousands of small differences. A test that takes
attributes for independent adds such echoes up: they hide who is in a study, and somebody who merely comes from where
its people come from looks like one of them. Weighing with the inverse of the covariance takes the echoes out.

The covariance comes from some hundred reference people, far fewer than attributes, so it is shrunk toward
independence with the weight of Ledoit and Wolf ("A well-conditioned estimator for large-dimensional covariance
matrices", 2004), which needs no tuning. Everything is computed through the small side, people x people: no matrix of
attributes x attributes is ever made.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privet.typing import Floats

LEAST = 1e-3  # of shrinkage: no attribute follows from others for sure


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Weights:
    """The inverse of diag(base) + c Z'Z, for reference people Z. By Woodbury's identity it is
    1/base - (Z/base)' (I/c + Z (Z/base)')^-1 (Z/base); `core` is the inverse in the middle, people x people, and
    `tall` is Z/base. Without both, attributes are taken for independent."""

    base: Floats
    tall: Floats | None = None
    core: Floats | None = None

    def times(self, rows: Floats) -> Floats:
        """Each row, weighed."""
        light = rows / self.base
        if self.tall is None or self.core is None:
            return light
        return np.asarray(light - ((rows @ self.tall.T) @ self.core) @ self.tall)


def shrinkage(rows: Floats) -> float:
    """How much of the covariance is replaced by a multiple of the identity, from 0 to 1, for rows centered at 0 with
    columns of like variance. With S the sample covariance and m its mean variance, that is
    min(b, d) / d for d = |S - m I|^2 and b = sum |z z' - S|^2 / N^2, in squared entries. Both come from Z Z'."""
    people, columns = rows.shape
    gram = rows @ rows.T
    lengths = np.diagonal(gram)
    mean = float(lengths.sum()) / (people * columns)
    whole = float((gram**2).sum()) / people**2
    distance = whole - columns * mean**2
    error = (float((lengths**2).sum()) - people * whole) / people**2
    return 1.0 if distance <= error else error / distance


def whitened(rows: Floats, share: float, noise: Floats) -> Weights:
    """The inverse of `share` * covariance + diag(noise), with the covariance of `rows`, shrunk: what published means
    vary by, in units of each attribute's own deviation."""
    shrunk = max(shrinkage(rows), LEAST)
    base = share * shrunk + noise
    if shrunk == 1:
        return Weights(base=base)
    tall = rows / base
    middle = np.eye(len(rows)) * (len(rows) / (share * (1 - shrunk))) + rows @ tall.T
    return Weights(base=base, tall=tall, core=np.linalg.inv(middle).astype(np.float64))

"""What tests of budgets charge: terms, parts, requests and charges; and the worst mechanism that has a price."""

from __future__ import annotations

import hashlib
import math
from fractions import Fraction

from privet.core.accountant import Budget
from privet.core.loss import pure
from privet.core.partition import Partition
from privet.core.unit import Neighbors
from privet.ledger import Charge, Policy, Terms


def terms(
    epsilon: object = 3,
    delta: object = 1e-9,
    policy: Policy = Policy.REFUSE,
    neighbors: Neighbors = Neighbors.ADD_REMOVE,
) -> Terms:
    return Terms(budget=Budget(epsilon, delta), neighbors=neighbors, policy=policy, testing=False)


def parts(*names: str) -> Partition:
    return Partition(table="patients", column="hospital", parts=names or ("north", "south", "west"), register="r")


def sha(text: object) -> str:
    return hashlib.sha256(str(text).encode()).hexdigest()


def charge(epsilon: object = "0.1", request: object = "q", **more: str) -> Charge:
    return Charge(loss=pure(Fraction(str(epsilon))), request=sha(request), **more)


def canonical(epsilon: float, delta: float) -> dict[str, tuple[float, float]]:
    """The worst (epsilon, delta)-DP mechanism: P and Q of its four outputs."""
    e = math.exp(epsilon)
    return {
        "proof": (delta, 0.0),
        "yes": ((1 - delta) * e / (1 + e), (1 - delta) / (1 + e)),
        "no": ((1 - delta) / (1 + e), (1 - delta) * e / (1 + e)),
        "disproof": (0.0, delta),
    }

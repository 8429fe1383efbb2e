"""JAX Privacy's auditor of scores on the mechanisms of the contest that return a number. Run by its own environment.

Made for canaries: it bounds epsilon by the best threshold on a score. A number is its own score; for a vector there is
none without knowing the mechanism, so those are left out. As many draws and the same confidence as Privet.
"""

import time
from typing import Any

import numpy as np
from contest import ENTRIES
from draws import Request, answer
from jax_privacy.auditing import CanaryScoreAuditor

LEVEL = 1e-6
DRAWS = 500_000


def judge(request: Request) -> tuple[dict[str, Any], bytes]:
    begun = time.perf_counter()
    mechanism, neighbors, _ = ENTRIES[request["mechanism"]]
    generator = np.random.default_rng()
    first, second = (mechanism(generator, data, DRAWS) for data in neighbors)
    if first.ndim > 1:
        raise NotImplementedError("it judges scores, and a vector is none")
    epsilon = float(CanaryScoreAuditor(second, first).epsilon_clopper_pearson(LEVEL, one_sided=False))
    says, seconds = f"epsilon at least {epsilon:.3g}", round(time.perf_counter() - begun, 2)
    return {"violated": epsilon > 1, "says": says, "level": LEVEL, "seconds": seconds}, b""


if __name__ == "__main__":
    answer(["jax-privacy", "jax"], judge)

"""StatDP (as PyStatDP, which is what the index has) on the mechanisms of the contest. Run by its own environment.

All processors, and a fifth of the runs that are its default, which takes a fifth of the time. It asks for one output at
a time; ours are drawn in batches that are handed out one by one, which is to its advantage too. It gives a p-value for
the claim; its authors read 0.05 or less as a violation.
"""

import logging
import time
from typing import Any

import numpy as np
from contest import ENTRIES
from draws import Request, answer
from pystatdp import pystatdp

LEVEL = 0.05
RUNS = {"event_iterations": 20_000, "detect_iterations": 100_000}  # to choose an event, and to test it
BATCH = 10_000
drawn: dict[str, list[Any]] = {}
generators: list[np.random.Generator] = []


def algorithm(queries: Any, epsilon: float, name: str) -> Any:  # noqa: ARG001 -- StatDP looks for it
    """One output. The second argument must be the budget."""
    key = f"{name} {queries}"
    if not drawn.get(key):
        if not generators:  # made here, in a process of the pool: copies of one made before would draw the same
            generators.append(np.random.default_rng())
        outputs = ENTRIES[name][0](generators[0], queries, BATCH)
        drawn[key] = [tuple(row) for row in outputs] if outputs.ndim > 1 else list(outputs)
    return drawn[key].pop()


def judge(request: Request) -> tuple[dict[str, Any], bytes]:
    begun = time.perf_counter()
    neighbors = tuple(np.array(side) for side in ENTRIES[request["mechanism"]][1])
    arguments = {"epsilon": 1.0, "name": request["mechanism"]}
    found = pystatdp().detect_counterexample(
        algorithm, 1.0, arguments, databases=neighbors, quiet=True, loglevel=logging.ERROR, **RUNS
    )
    p_value = found[0][1]
    seconds = round(time.perf_counter() - begun, 2)
    return {"violated": p_value <= LEVEL, "says": f"p-value {p_value:.3g}", "level": LEVEL, "seconds": seconds}, b""


if __name__ == "__main__":
    answer(["pystatdp", "numpy"], judge)

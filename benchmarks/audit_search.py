"""Searches of audits over many seeds: how often a mistake in one listed value, or from a number of people on, is found,
and how many correct mechanisms are flagged by mistake.

    python benchmarks/audit_search.py [--seeds 20] [--samples 4000] [--processes 2] [--json FILE]

Each audit tries all listed values and sizes up to 64. Mechanisms draw from a generator with the seed, and no audit has
a limit of time, so that the same seeds give the same result on every machine.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from evidence import Evidence, mapped, options, parse

from privet.audits import Claim, Domain, People, Rows, audit

VALUES = list(range(101))
CAP = 10
CONFIDENCE = 0.999999  # what pv.audits.audit takes by itself
Draw = np.random.Generator
Mechanism = Callable[[Draw], Callable[[Any, int], Any]]


def noise(draw: Draw, scale: float, size: int) -> Any:
    """Discrete Laplace: the difference of two geometric numbers."""
    chance = 1 - np.exp(-1 / scale)
    return draw.geometric(chance, size) - draw.geometric(chance, size)


def total(draw: Draw, odd: int | None = None) -> Callable[[Any, int], Any]:
    """A sum of values up to 10; the value `odd` is not clipped."""
    return lambda data, size: sum(v if v == odd else min(v, CAP) for v in data) + noise(draw, CAP, size)


def tally(draw: Draw, people: int | None = None) -> Callable[[Any, int], Any]:
    """A sum of 0s and 1s; from so many records on with a third of its noise."""
    return lambda data, size: sum(data) + noise(draw, 1 if people is None or len(data) < people else 1 / 3, size)


def of_people(draw: Draw, people: int | None = None) -> Callable[[Any, int], Any]:
    """The same of the last row of each person."""
    return lambda rows, size: tally(draw, people)(list(dict(rows).values()), size)


def floats(draw: Draw, scale: float) -> Callable[[Any, int], Any]:
    return lambda data, size: sum(data) + draw.laplace(0, scale, size)


def response(draw: Draw) -> Callable[[Any, int], Any]:
    """Randomized response to whether a certain value is there."""
    return lambda data, size: draw.random(size) < 1 / (1 + np.exp(1 - 2 * (57 in data)))  # log-odds of -1 and 1


def histogram(draw: Draw) -> Callable[[Any, int], Any]:
    def counts(data: list[int], size: int) -> Any:
        exact = np.bincount(np.array(data, np.int64), minlength=3)
        return exact + np.stack([noise(draw, 1, size) for _ in range(3)], axis=1)

    return counts


BOTH = ("add-remove", "replace")
BITS = {"ignore_float_bits": True}
BROKEN: dict[str, tuple[Mechanism, Domain, dict[str, Any]]] = {
    **{f"one value of 101, {r}": (lambda d: total(d, 57), Rows(VALUES, neighbors=r), {}) for r in BOTH},
    **{f"from 12 records on, {r}": (lambda d: tally(d, 12), Rows([0, 1], neighbors=r), {}) for r in BOTH},
    **{f"from 12 people on, {r}": (lambda d: of_people(d, 12), People([0, 1], neighbors=r), {}) for r in BOTH},
    "wrong scale behind float bits": (lambda d: floats(d, 0.5), Rows([0, 1]), BITS),
}
CORRECT: dict[str, tuple[Mechanism, Domain, dict[str, Any]]] = {
    **{f"clipped sum, {r}": (total, Rows(VALUES, neighbors=r), {}) for r in BOTH},
    **{f"count, {r}": (tally, Rows([0, 1], neighbors=r), {}) for r in BOTH},
    "count of people": (of_people, People([0, 1]), {}),
    "randomized response": (response, Rows(VALUES), {}),
    "histogram": (histogram, Rows([0, 1, 2]), {}),
    "float sum, bits ignored": (lambda d: floats(d, 1.0), Rows([0, 1]), BITS),
}


def row(seeds: int, samples: int, name: str) -> dict[str, Any]:
    made, domain, settings = (BROKEN | CORRECT)[name]
    found = [
        audit(made(np.random.default_rng(seed)), Claim(1), domain=domain, samples=samples, **settings)
        for seed in range(seeds)
    ]
    bounds = [round(one.lower_bound, 3) for one in found]
    return {
        "name": name,
        "flagged": sum(one.violated for one in found),
        "of": seeds,
        "complete": sum(one.complete for one in found),
        "lower_bound": [min(bounds), max(bounds)],
        "example": found[0].verdict,
    }


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    broken, correct = ([one for one in rows if one["name"] in kind] for kind in (BROKEN, CORRECT))
    audits = sum(one["of"] for one in correct)
    return {
        "caught": sum(one["flagged"] for one in broken),
        "of": sum(one["of"] for one in broken),
        "false_alarms": sum(one["flagged"] for one in correct),
        "audits_of_correct_mechanisms": audits,
        "false_alarms_expected_at_most": round(audits * (1 - CONFIDENCE), 9),
        "broken": broken,
        "correct": correct,
    }


def main(given: Sequence[str] | None = None) -> None:
    parser = options(__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--samples", type=int, default=4000)
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.set_defaults(names=[*BROKEN, *CORRECT])
    few = ["from 12 records on, add-remove", "count, add-remove"]
    read = parse(parser, given, seeds=1, samples=1000, processes=1, names=few)
    evidence, rows = Evidence(read, "audit-search"), []
    for one in mapped(partial(row, read.seeds, read.samples), read.names, read.processes):
        rows.append(one)
        print(f"{one['name']}: flagged {one['flagged']} of {one['of']}, {one['example']}", flush=True)
    evidence.save({"samples": read.samples} | summary(rows))


if __name__ == "__main__":
    main()

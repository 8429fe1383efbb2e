"""How often people are claimed to be in a release wrongly, where few people are known to be out.

In each run a study is drawn, its exact means are published, and as many people who are in as people who are out are
asked about. A claim says how sure it is, if in and out were equally likely before; here they are. Runs are independent,
claims of one run are not (they share the people who are known to be out), so intervals are over runs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from privet.attacks.membership.members import attack_membership

Floats = npt.NDArray[np.float64]
Draw = np.random.Generator
ASKED = 60  # people in, and as many out, of each run
STUDIES = (60, 100)  # people: as many as are asked about, and a study of whom few can be told
OUT = (20, 30, 60, 200)  # people who are known to be out, besides those who say what is usual
KNOWN = 3  # reference people for each of these: two of three say what is usual
FAR = (0.0005, 0.002, 0.01)  # Fst: neighboring European countries are at 0.002 to 0.005
Z = 1.96


def genotypes(draw: Draw, people: int) -> Callable[[int], Floats]:
    """Two draws of each of ten times as many variants as people."""
    usual = draw.beta(0.8, 0.8, 10 * people).clip(0.02, 0.98)
    return lambda count: draw.binomial(2, usual, (count, len(usual))).astype(np.float64)


def skewed(draw: Draw, people: int) -> Callable[[int], Floats]:
    """Yes or no, where yes is rare: most attributes below 10 %."""
    usual = draw.beta(0.5, 6, 12 * people).clip(0.004, 0.9)
    return lambda count: (draw.random((count, len(usual))) < usual).astype(np.float64)


def correlated(draw: Draw, people: int) -> Callable[[int], Floats]:
    """Yes or no in blocks of eight that go together, and four origins with frequencies of their own."""
    blocks, width = 2 * people, 8
    limits = draw.normal(0, 1, (blocks, width))
    origins = draw.normal(0, 0.25, (4, blocks, 1))

    def rows(count: int) -> Floats:
        shared = draw.normal(0, math.sqrt(0.6), (count, blocks, 1)) + origins[draw.integers(0, 4, count)]
        own = draw.normal(0, math.sqrt(0.4), (count, blocks, width))
        return (shared + own > limits).reshape(count, -1).astype(np.float64)

    return rows


KINDS = {"genotypes": genotypes, "skewed yes or no": skewed, "correlated": correlated}


def another(draw: Draw, people: int, far: float) -> tuple[Callable[[int], Floats], Callable[[int], Floats]]:
    """Genotypes of two populations whose frequencies differ as an Fst of `far` says (Balding and Nichols)."""
    usual = draw.beta(0.8, 0.8, 10 * people).clip(0.05, 0.95)
    spread = (1 - far) / far
    moved = [draw.beta(usual * spread, (1 - usual) * spread).clip(0.01, 0.99) for _ in range(2)]
    first, second = (
        lambda count, at=at: draw.binomial(2, at, (count, len(at))).astype(np.float64)  # type: ignore[misc]
        for at in moved
    )
    return first, second


def one_run(like: Callable[[int], Floats], others: Callable[[int], Floats], size: int, out: int) -> dict[str, Any]:
    """What was claimed of people asked about, half of them in; `others` are the reference people."""
    study, strangers, known = like(size), like(ASKED), others(KNOWN * out)
    asked = np.concatenate([study[:ASKED], strangers])
    names = [str(place) for place in range(2 * ASKED)]
    found = attack_membership(study.mean(axis=0), asked, reference=known, size=size, names=names)
    sure = [(int(str(one.record["name"])), float(one.confidence or 0)) for one in found.findings]
    return {
        "right": sum(place < ASKED for place, _ in sure),
        "wrong": sum(place >= ASKED for place, _ in sure),
        "said_wrong": math.fsum(1 - confidence for _, confidence in sure),
    }


def rate(runs: list[dict[str, Any]], above: str, below: Callable[[dict[str, Any]], float]) -> list[float] | None:
    """A ratio of sums over runs, with the 95 % interval that runs give."""
    tops, bottoms = np.array([run[above] for run in runs]), np.array([below(run) for run in runs])
    if not bottoms.sum():
        return None
    value = tops.sum() / bottoms.sum()
    error = (tops - value * bottoms).std(ddof=1) * math.sqrt(len(runs)) / bottoms.sum() if len(runs) > 1 else value
    return [round(float(one), 4) for one in (value, max(value - Z * error, 0.0), value + Z * error)]


def row(name: str, out: int, size: int, runs: list[dict[str, Any]]) -> dict[str, Any]:
    claims = sum(run["right"] + run["wrong"] for run in runs)
    return {
        "data": name,
        "known_out": out,
        "study": size,  # people
        "runs": len(runs),
        "claims": claims,
        "wrong": sum(run["wrong"] for run in runs),
        "wrong_claims": rate(runs, "wrong", lambda run: run["right"] + run["wrong"]),
        "wrong_claims_said": round(math.fsum(run["said_wrong"] for run in runs) / claims, 4) if claims else None,
        "strangers_claimed": rate(runs, "wrong", lambda _: ASKED),
        "strangers_claimed_allowed": round(max(0.01, 1 / (out + 1)), 4),
        "members_claimed": rate(runs, "right", lambda _: ASKED),
    }


def claims(seeds: range, outs: Iterable[int], size: int) -> Iterator[dict[str, Any]]:
    """Each kind of data and number of people known to be out; and reference people who are not like the study."""
    for out in outs:
        for name, kind in KINDS.items():
            worlds = (kind(np.random.default_rng([seed, out]), ASKED) for seed in seeds)
            yield row(name, out, size, [one_run(like, like, size, out) for like in worlds])
        for far in FAR:
            pairs = (another(np.random.default_rng([seed, out]), ASKED, far) for seed in seeds)
            runs = [one_run(*both, size, out) for both in pairs]
            yield row(f"genotypes, reference people of another population (Fst {far:g})", out, size, runs)

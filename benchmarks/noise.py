"""How fast is the noise? Privet beside OpenDP, python-dp and numpy, in one run: `python benchmarks/noise.py`.

Every time is processor time, so that other work on the machine counts little. The contenders take turns, several
rounds long, and a ratio is taken within a round: a slow minute slows both sides of it. Mechanisms are built and
used once before the clock starts, and the peers live in processes that stay up: no import is measured.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache, partial
from importlib.metadata import version
from itertools import product, repeat
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from evidence import Evidence, options, parse
from peers.process import PeerError, python_of

PEERS, LAWS = ("opendp", "python-dp"), ("laplace", "gaussian")
SCALES, PRIVET_ONLY_SCALE = (0.5, 3.0, 100.3, 1e4, 1e6), 2**40 * 1.01
SIZE_SCALE, SIZES = 1000.3, {1: 20_000, 100: 20_000, 10**4: 200, 10**5: 20, 10**6: 2, 10**7: 1}  # size -> calls
# contender -> (draws in a call, calls in a round); the peers get fewer draws because they take longer
PLAN = {"privet": (10**6, 4), "opendp": (20_000, 1), "python-dp": (50_000, 1), "numpy (UNSAFE)": (10**6, 4)}
SINGLE_CALLS = {"privet": 20_000, "opendp": 1_000, "python-dp": 20_000, "numpy (UNSAFE)": 20_000}
Call, Row = Callable[[], object], dict[str, Any]
Cell = tuple[str, str, float, int, int]  # contender, law, scale, draws in a call, calls


def privet_call(law: str, scale: float, size: int) -> Call:
    """The public functions, tables built."""
    from privet import noise  # noqa: PLC0415 - the peers' environment has no Privet

    draw = noise.discrete_laplace if law == "laplace" else noise.discrete_gaussian
    return lambda: draw(scale, size)


def opendp_call(law: str, scale: float, size: int) -> Call:
    """The fastest of OpenDP's integer forms that we found.

    Many draws: make_laplace(vector_domain(atom_domain(T="i64")), l1_distance(T="i64"), scale) or
    make_gaussian(the same domain, l2_distance(T="f64"), scale) on an int64 array of zeros, which is a little faster
    than a list. i32, u64 and make_geometric without bounds are no faster; make_geometric with bounds is some
    2000 times slower. One draw: atom_domain(T="i64") and absolute_distance, which is faster than a vector of one.
    """
    import opendp.prelude as dp  # noqa: PLC0415

    dp.enable_features("contrib")
    atom, distance_type = dp.atom_domain(T="i64"), "i64" if law == "laplace" else "f64"
    make = dp.m.make_laplace if law == "laplace" else dp.m.make_gaussian
    if size == 1:
        one = make(atom, dp.absolute_distance(T=distance_type), scale)
        return lambda: one(0)
    metric = dp.l1_distance if law == "laplace" else dp.l2_distance
    many, zeros = make(dp.vector_domain(atom), metric(T=distance_type), scale), np.zeros(size, np.int64)
    return lambda: many(zeros)


def python_dp_call(law: str, scale: float, size: int) -> Call:
    """add_noise on an int, the documented way; there is no bulk form, and `map` is the fastest loop around it."""
    from pydp.algorithms import numerical_mechanisms as mechanisms  # noqa: PLC0415

    if law == "laplace":
        mechanism = mechanisms.LaplaceMechanism(epsilon=1 / scale, sensitivity=1)
    else:
        mechanism = mechanisms.GaussianMechanism.create_from_standard_deviation(scale)
    if size == 1:
        return lambda: mechanism.add_noise(0)
    return lambda: list(map(mechanism.add_noise, repeat(0, size)))


def numpy_call(law: str, scale: float, size: int) -> Call:
    """Floats, which give the protected value away in their last bits: speed without privacy."""
    generator = np.random.default_rng()
    draw = generator.laplace if law == "laplace" else generator.normal
    return lambda: draw(0.0, scale, size)


def keystream_call(_law: str, _scale: float, size: int) -> Call:
    """Random words alone: no sampler that takes one word a draw can be faster than this."""
    from privet.noise.entropy import KEYSTREAM  # noqa: PLC0415

    words = np.empty(size, np.uint64)
    return lambda: KEYSTREAM.fill(words)


CALLS = {"privet": privet_call, "numpy (UNSAFE)": numpy_call, "AES-256-CTR words": keystream_call}
CALLS |= {"opendp": opendp_call, "python-dp": python_dp_call}


@cache
def warm_call(contender: str, law: str, scale: float, size: int) -> Call:
    call = CALLS[contender](law, scale, size)
    call()
    return call


def timed(call: Call, calls: int = 1) -> float:
    """Processor seconds of that many calls."""
    start = time.process_time()
    for _ in repeat(None, calls):
        call()
    return time.process_time() - start


def serve(peer: str) -> None:
    """The peer's side: a request (law, scale, size, calls) a line, answered by its seconds, until the input ends."""
    print(json.dumps(version(peer)), flush=True)
    for line in sys.stdin:
        *cell, calls = json.loads(line)
        print(json.dumps(timed(warm_call(peer, *cell), calls)), flush=True)


class Peer:
    """A peer in a process of its own, which ends by itself when ours closes its input."""

    def __init__(self, name: str, python: Path) -> None:
        self.name, command = name, [python, __file__, "--peer", name]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.version = self._answer()

    def seconds(self, *request: Any) -> float:
        print(json.dumps(request), file=self.process.stdin, flush=True)
        return float(self._answer())

    def _answer(self) -> Any:
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"{self.name} stopped; its error is above\n  remedy: delete .venv-peers-noise and run this again")
        return json.loads(line)


def started() -> tuple[dict[str, Peer], dict[str, str]]:
    """The peers that run here, and why the others do not."""
    try:
        python = python_of("noise")
    except PeerError as error:
        return {}, dict.fromkeys(PEERS, str(error))
    return {name: Peer(name, python) for name in PEERS}, {}


def spread(values: list[float]) -> Row:
    return {name: float(f"{f(values):.4g}") for name, f in (("median", median), ("min", min), ("max", max))}


def in_turns(seconds: Callable[..., float], groups: list[list[Cell]], rounds: int) -> list[Row]:
    """Every cell measured once a round, and set against the first cell of its group in the same round."""
    times: dict[Cell, list[float]] = {cell: [] for group in groups for cell in group}
    for number in range(rounds):
        print(f"round {number + 1} of {rounds}", file=sys.stderr, flush=True)
        for cell, values in times.items():
            values.append(seconds(*cell) / (cell[3] * cell[4]))
    rows = []
    for cell, first in ((cell, group[0]) for group in groups for cell in group):
        row: Row = dict(zip(("contender", "law", "scale", "draws_a_call", "calls"), cell, strict=True))
        row["draws_a_second"] = spread([1 / t for t in times[cell]])
        row["ns_a_draw"] = spread([1e9 * t for t in times[cell]])
        if cell != first:
            row["privet_times_faster"] = spread([a / b for a, b in zip(times[cell], times[first], strict=True)])
        rows.append(row)
    return rows


def measure(
    seconds: Callable[..., float], rounds: int, share: int, absent: dict[str, str], *, tiny: bool
) -> dict[str, list[Row]]:
    """Speed by scale, by size, and of one draw. `share` divides the peers' draws and the single draws."""
    plan = PLAN | {name: (PLAN[name][0] // share, 1) for name in PEERS}
    plan = {name: (1000, 1) if tiny else calls for name, calls in plan.items() if name not in absent}
    single_calls = {name: calls // share for name, calls in SINGLE_CALLS.items() if name not in absent}
    calls = {1: 10, 10**4: 1} if tiny else SIZES
    speed = [[(name, law, scale, *plan[name]) for name in plan] for law in LAWS for scale in SCALES]
    speed += [[("privet", law, PRIVET_ONLY_SCALE, *plan["privet"])] for law in LAWS]
    speed += [[("AES-256-CTR words", "the limit", 0.0, 10**6, 10)]]
    sizes = [[(name, "laplace", SIZE_SCALE, *n) for name in ("privet", "numpy (UNSAFE)")] for n in calls.items()]
    single = [[(name, law, SIZE_SCALE, 1, n) for name, n in single_calls.items()] for law in LAWS]
    tables = (("speed", speed), ("sizes", sizes), ("single", single))
    return {table: in_turns(seconds, groups, rounds) for table, groups in tables}


def measure_preparation(rounds: int) -> list[Row]:
    """Milliseconds of what is done once: the table of a new scale, its first draw, a Gaussian's calibration."""
    from privet.estimates.calibration import gaussian_for  # noqa: PLC0415

    rows = []
    for law, scale in product(LAWS, (1.0, 1e3, 1e6)):
        fresh = [scale + 0.001 * (n + 1) for n in range(rounds)]
        for what, size in (("table", 0), ("first draw, table built", 1)):  # to draw nothing builds the table alone
            times = [1e3 * timed(privet_call(law, s, size)) for s in fresh]
            rows.append({"what": f"{law} {what}", "scale": f"{scale:g}", "ms": spread(times)})
    uncached = partial(gaussian_for.__wrapped__, Fraction(1), Fraction(1, 10**9), 1)
    times = [1e3 * timed(uncached) for _ in range(rounds)]
    return [*rows, {"what": "gaussian calibration, eps 1, delta 1e-9", "scale": "", "ms": spread(times)}]


def judge(tables: dict[str, list[Row]]) -> list[Row]:
    """What we set out to reach, each judged by the median of the worst scale, size or law."""

    def worst(table: str, contender: str, law: str, draws: int = 1) -> float | None:
        rows = [r for r in tables[table] if (r["contender"], r["law"]) == (contender, law)]
        ratios = (r["privet_times_faster"]["median"] for r in rows if r["draws_a_call"] >= draws)
        return min(ratios, default=None)

    laplace, gaussian = (worst("speed", "opendp", law) for law in LAWS)
    unsafe = worst("sizes", "numpy (UNSAFE)", "laplace", draws=10**4)
    one = max(r["ns_a_draw"]["median"] for r in tables["single"] if r["contender"] == "privet") / 1000
    judged = [
        (">= 400 x opendp Laplace", laplace, laplace and laplace >= 400),
        (">= 200 x opendp Gaussian", gaussian, gaussian and gaussian >= 200),
        ("not slower than numpy's unsafe Laplace from 1e4 draws up", unsafe, unsafe and unsafe >= 1),
        ("one draw <= 20 microseconds", one, one <= 20),
    ]  # None: the contender is absent
    return [{"goal": goal, "measured": measured, "reached": reached} for goal, measured, reached in judged]


def show(title: str, head: str, rows: list[list[str]]) -> None:
    """Print an aligned table: the first two columns to the left, the others to the right."""
    table = [head.split("|"), *rows]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    print(f"\n{title}")
    for row in table:
        print("  ".join(f"{cell:{'<' if i < 2 else '>'}{widths[i]}}" for i, cell in enumerate(row)).rstrip())


def text(values: Row, unit: float = 1.0) -> list[str]:
    """Median and range in that unit, to three digits."""
    mid, low, high = (f"{float(f'{v / unit:.3g}'):,g}" for v in values.values())
    return [mid, f"{low} - {high}"]


def show_all(result: Row) -> None:
    """The tables for people."""
    for title, table, key, unit in (
        ("Integer noise by scale: thousand draws a second", "speed", "draws_a_second", 1e3),
        ("Laplace by size: nanoseconds a draw", "sizes", "ns_a_draw", 1),
        ("One draw: microseconds (the batches it comes from included)", "single", "ns_a_draw", 1e3),
    ):
        rows = []
        for r in result[table]:
            ratio = text(r["privet_times_faster"]) if "privet_times_faster" in r else ["", ""]
            work = [f"{r['scale']:g}" if r["scale"] else "", f"{r['calls']:,} x {r['draws_a_call']:,}"]
            rows.append([r["law"], r["contender"], *work, *text(r[key], unit), *ratio])
        show(title, "law||scale|draws a round|median|range|Privet is x faster|range", rows)
    rows = [[r["what"], r["scale"], *text(r["ms"])] for r in result["preparation"]]
    show("Done once: milliseconds", "what|scale|median|range", rows)
    rows = [[g["goal"], *_judgment(g)] for g in result["goals"]]
    show("Goals, each by the median of the worst scale, size or law", "goal||measured", rows)


def _judgment(goal: Row) -> list[str]:
    if goal["measured"] is None:
        return ["not measured", ""]
    return ["reached" if goal["reached"] else "MISSED", f"{goal['measured']:.4g}"]


def facts(peers: dict[str, Peer], absent: dict[str, str]) -> Row:
    """What was measured and on what: no names of machines or folders."""
    machine = {"cpus": os.cpu_count(), "processor": platform.machine(), "python": platform.python_version()}
    machine |= {"numpy": np.__version__, "peers": {name: peer.version for name, peer in peers.items()}}
    return {"machine": machine, "absent": absent, "clock": "processor time"}


def main(given: Sequence[str] | None = None) -> None:
    parser = options(__doc__)
    parser.add_argument("--quick", action="store_true", help="5 rounds instead of 9, and fewer draws of the peers")
    parser.add_argument("--peer", choices=PEERS, help=argparse.SUPPRESS)
    parser.set_defaults(rounds=9, share=1)
    read = parse(parser, given, rounds=1, share=100)
    if read.peer:
        sys.exit(serve(read.peer))
    if read.quick and not read.tiny:
        read.rounds, read.share = 5, 10
    evidence, (peers, absent) = Evidence(read, "benchmark-noise"), started()

    def seconds(contender: str, *cell: Any) -> float:
        here = contender not in peers
        return timed(warm_call(contender, *cell[:-1]), cell[-1]) if here else peers[contender].seconds(*cell)

    tables = measure(seconds, read.rounds, read.share, absent, tiny=read.tiny)
    result = facts(peers, absent) | {"rounds": read.rounds, "goals": judge(tables)} | tables
    result |= {"preparation": measure_preparation(read.rounds)}
    show_all(result)
    evidence.save(result)


if __name__ == "__main__":
    main()

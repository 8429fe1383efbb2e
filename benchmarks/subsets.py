"""How many secrets noisy sums give away, how fast, and how near to the forecast.

These are the numbers of docs/attacks/subsets.md.
Everything is made here, seeds are fixed. CPU seconds stand beside those of the clock, for machines that do other work.
"""

from __future__ import annotations

import resource
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from evidence import Evidence, options, parse

import privet as pv
from privet.attacks import Errors, Findings, attack_answers, attack_counter, attack_subsets, privacy, simulate
from privet.attacks.subsets.made import Made

TRIALS = {2: 40, 4: 40, 8: 40, 10: 40, 12: 40, 14: 10, 16: 5}  # of the exhaustive attack, by the number of people
SEEDS = range(1, 6)
LAWS = (("normal", 0.25), ("laplace", 0.25), ("bounded", 0.5), ("outliers", 0.05), ("outliers", 0.25))


def timed(name: str, run: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    wall, cpu = time.perf_counter(), time.process_time()
    found = run()
    spent = {"seconds": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2  # kilobytes on Linux
    row = {"what": name, **found, **{key: round(value, 2) for key, value in spent.items()}, "peak_gb": round(peak, 2)}
    print("  ".join(f"{key} {value}" for key, value in row.items()), flush=True)
    return row


def told(found: Findings) -> dict[str, Any]:
    numbers = found.numbers
    keys = ("decoder", "recovered", "forecast", "expected", "baseline", "allowed", "queries")
    return {
        key: round(value, 4) if isinstance(value, float) else value
        for key in keys
        if (value := numbers.get(key)) is not None
    }


def attacked(made: Made, **given: Any) -> dict[str, Any]:
    return told(attack_subsets(made.queries, made.answers, errors=made.errors, truth=made.secrets, **given))


def matched(people: int, laws: Sequence[tuple[str, float]]) -> list[dict[str, Any]]:
    """Which decoder for which errors: each one that suits, on the same answers."""
    rows = []
    for law, alpha in laws:
        made = simulate(people, 4, alpha, law=law, seed=2)  # type: ignore[arg-type]
        for decoder in ("auto", "amp", "box", "L1", "Chebyshev"):
            name = f"{law} errors, alpha {alpha}, {people:,} people, {decoder}"
            rows.append(timed(name, lambda made=made, decoder=decoder: attacked(made, decoder=decoder)))
    return rows


def every_subset(
    tried: Mapping[int, int], small_sizes: Sequence[int], large_sizes: Sequence[int]
) -> list[dict[str, Any]]:
    """All subsets with errors up to E: never more than 4E wrong. E = n / 401: 99 % are right. Errors are random, or
    those of somebody who wants the attack to fail: every answer is halfway to another data set."""

    def trials(people: int, error: float, *, hostile: bool = False) -> dict[str, Any]:
        wrong = []
        for seed in range(tried[people]):
            made = simulate(people, 1, error / people**0.5, law="bounded", structure="all", seed=seed)
            if hostile:
                made = replace(made, answers=made.queries.times(_halfway(made.secrets, int(2 * error))))
            found = attack_subsets(
                made.queries, made.answers, errors=made.errors, decoder="exhaustive", truth=made.secrets
            ).numbers
            wrong.append(round(people * (1 - found["recovered"])))
            if not wrong[-1] <= found["most_wrong"] <= 4 * error:
                raise AssertionError(f"{wrong[-1]} of {people} are wrong at E = {error}, seed {seed}")
        law = "halfway to another data set" if hostile else "random"
        return {
            "errors": law,
            "error": round(error, 3),
            "most_wrong": max(wrong),
            "four_e": 4 * error,
            "trials": tried[people],
        }

    sizes = [(people, error) for people in tried for error in (0.4, 1.0, 2.0)]
    rows = [
        timed(f"every subset of {people} people", lambda p=people, e=error, h=hostile: trials(p, e, hostile=h))
        for people, error in sizes
        for hostile in (False, True)
    ]
    small = [timed(f"every subset of {n} people, E = n / 401", lambda n=n: trials(n, n / 401)) for n in small_sizes]
    many = [  # 2^n subsets are too many here: 4n random ones, whose errors are as large
        timed(
            f"{n:,} people, 4 random subsets each, E = n / 401, Chebyshev",
            lambda n=n: attacked(simulate(n, 4, n**0.5 / 401, law="bounded"), decoder="Chebyshev"),
        )
        for n in large_sizes
    ]
    return [*rows, *small, *many]


def _halfway(secrets: Any, flips: int) -> Any:
    """Between the secrets and what they become if so many ones and as many zeros are turned."""
    turned = np.concatenate([np.flatnonzero(secrets == bit)[:flips] for bit in (0, 1)])
    halfway = secrets.astype(float)
    halfway[turned] = 0.5
    return halfway


def asked(size: int, seeds: Iterable[int]) -> list[dict[str, Any]]:
    """Conditions over an id: exact answers, and a vault with epsilon 1 in all."""
    ill = np.random.default_rng(7).integers(0, 2, size)
    people = [{"id": number} for number in range(1, size + 1)]
    rows = {"id": [one["id"] for one in people], "ill": [bool(bit) for bit in ill]}
    with tempfile.TemporaryDirectory() as folder:
        return [
            timed(
                f"conditions, exact answers, {size} people", lambda: _asked(rows, people, ill, Path(folder) / "e", None)
            ),
            *(
                timed(
                    f"conditions, a vault of epsilon 1, run {run}",
                    lambda run=run: _asked(rows, people, ill, Path(folder) / f"v{run}", "0.005"),
                )
                for run in seeds
            ),
        ]


def _asked(rows: Any, people: list[dict[str, int]], ill: Any, folder: Path, epsilon: str | None) -> dict[str, Any]:
    """Exact answers come from NumPy: what somebody gives who adds no noise."""
    with pv.create(folder.with_suffix(".privet"), budget=pv.Budget(1)) as vault:
        vault.add_table("t", rows, unit="id", columns={"id": pv.Integer(1, 500), "ill": pv.Boolean()})

        def ask(condition: str) -> float:
            asked = vault.sql(f"SELECT COUNT(DISTINCT id) AS n FROM t WHERE {condition}", epsilon=epsilon)
            return float(asked.release().rows[0]["n"])

        exact = _exact(ill)
        found = attack_answers(
            exact if epsilon is None else ask,
            people,
            secret="ill",
            truth=ill,
            errors=Errors("exact") if epsilon is None else Errors("laplace", 1 / float(epsilon)),
            privacy=None if epsilon is None else privacy(1),
        )
    gain = found.score.advantage if found.score is not None else None
    return told(found) | {
        "advantage": None if gain is None else [round(x, 3) for x in (gain.value, gain.low, gain.high)]
    }


def _exact(ill: Any) -> Callable[[str], float]:
    import duckdb  # noqa: PLC0415

    connection = duckdb.connect()
    connection.execute("CREATE TABLE t (id INTEGER, ill BOOLEAN)")
    connection.executemany("INSERT INTO t VALUES (?, ?)", [[n + 1, bool(bit)] for n, bit in enumerate(ill)])

    def count(condition: str) -> float:
        row = connection.execute(f"SELECT COUNT(*) FROM t WHERE {condition}").fetchone()
        return float(row[0]) if row else 0.0

    return count


def counters(arrivals: int) -> list[dict[str, Any]]:
    def run(law: Any, size: float) -> dict[str, Any]:
        draw = np.random.default_rng(3)
        bits = draw.integers(0, 2, arrivals)
        noise = {"laplace": draw.laplace, "normal": draw.normal}[law](0, size, arrivals)
        return told(attack_counter(np.cumsum(bits) + noise, errors=Errors(law, size), rate=0.5, truth=bits))

    laws = (("laplace", 0.5), ("laplace", 1.0), ("laplace", 5.0), ("normal", 1.0))
    return [
        timed(f"counter, {arrivals:,} arrivals, {law} {size}", lambda law=law, size=size: run(law, size))
        for law, size in laws
    ]


def main(given: Sequence[str] | None = None) -> None:
    parser = options(__doc__)
    parser.add_argument("--people", type=int, default=16_000, help="of the large run")
    parser.set_defaults(seeds=SEEDS, laws=LAWS, trials=TRIALS, small=(12, 16), large=(802, 1604, 4010))
    parser.set_defaults(asked=200, arrivals=10_000)
    read = parse(
        parser, given, people=100, seeds=SEEDS[:1], laws=LAWS[:1], trials={2: 1, 6: 1}, small=(6,), large=(40,),
        asked=12, arrivals=200,
    )  # fmt: skip
    evidence, people = Evidence(read, "subsets"), read.people
    rows = [
        timed(
            f"{people:,} people, 4 queries each, alpha 0.25, seed {seed}",
            lambda seed=seed: attacked(simulate(people, 4, 0.25, seed=seed)),
        )
        for seed in read.seeds
    ]
    rows += [*matched(min(people, 2000), read.laws), *every_subset(read.trials, read.small, read.large)]
    rows += [*asked(read.asked, read.seeds), *counters(read.arrivals)]
    evidence.save({"rows": rows})


if __name__ == "__main__":
    main()

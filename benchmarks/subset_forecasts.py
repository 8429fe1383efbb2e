"""How near the forecast of the attack on noisy sums is to its result, and whether its probabilities hold.

Four parts: rounded answers from fine to coarse steps, sums over structured lists of people, claims under Laplace errors
and claims from fewer answers than people, both with the exact interval for the number of wrong ones. Every data set is
made here; seeds are fixed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from evidence import Evidence, options, parse

from privet.attacks.subsets.decoders.problem import Errors
from privet.attacks.subsets.subset_sums import AttackedSums, KnownBits, attacked, sums_of

SEEDS = 20
FIRST = 7000  # seed: those below were looked at while the attack was written
ROUNDED = (  # people, answers per person, share of people in a query, share of ones, step
    (200, 4, 0.5, 0.5, 20), (50, 4, 0.5, 0.5, 10), (200, 1.5, 0.5, 0.2, 13),
)  # fmt: skip
STRUCTURED = (("bands", 200, "normal", 0.5), ("windows", 64, "normal", 0.5))
CLAIMS = (  # people, answers per person, share of people in a query, share of ones, scale over the root of people
    ("small errors", 200, 4, 0.5, 0.5, 0.15), ("rounded to 1 afterwards", 200, 4, 0.5, 0.5, 0.15),
)  # fmt: skip
FEW = (  # people, answers, people in a query, share of ones, law and scale of errors
    (100, 5, 10, 0.1, "exact", 0.0), (200, 3, 20, 0.06, "normal", 1.0), (200, 3, 60, 0.02, "normal", 1.0),
    (100, 60, 10, 0.1, "exact", 0.0), (80, 60, 4, 0.05, "laplace", 0.3), (120, 90, 3, 0.5, "normal", 0.15),
)  # fmt: skip
PARTS = ("rounded", "structured", "claims", "few")
CLAIM = 0.95
BANDS = ((0.9, 0.95), (0.95, 0.99), (0.99, 0.999), (0.999, 1.1))


def random_queries(people: int, rows: int, share: float, draw: np.random.Generator) -> Any:
    """Nobody is left out, and no query is about nobody."""
    queries = (draw.random((rows, people)) < share).astype(np.uint8)
    return _filled(queries, draw)


def _filled(queries: Any, draw: np.random.Generator) -> Any:
    rows, people = queries.shape
    empty = np.flatnonzero(~queries.any(axis=1))
    queries[empty, draw.integers(0, people, len(empty))] = 1
    missing = np.flatnonzero(~queries.any(axis=0))
    queries[draw.integers(0, rows, len(missing)), missing] = 1
    return queries


def structured_queries(kind: str, people: int, rows: int, draw: np.random.Generator) -> Any:
    """Lists of people in an order: any range, running counts, windows of a tenth, halves of halves; or one-way bands
    of eight people over attributes that order them anew."""
    place, width = np.arange(people), max(people // 10, 2)
    if kind == "bands":
        sizes = people // 8
        bands = [np.arange(people) * sizes // people == band for band in range(sizes)]
        orders = [draw.permutation(people) for _ in range(-(-rows // sizes))]
        return np.array([band[order] for order in orders for band in bands], np.uint8)[:rows]
    if kind == "hierarchy":
        levels = [1 << level for level in range(people.bit_length())]
        tree = [(start, start + size) for size in levels for start in range(0, people, size)]
        ends = np.array([tree[row % len(tree)] for row in range(max(rows, len(tree)))])
    elif kind == "prefixes":
        ends = np.stack([np.zeros(rows, int), np.arange(rows) % people + 1], axis=1)
    elif kind == "windows":
        starts = draw.integers(0, people - width + 1, rows)
        ends = np.stack([starts, starts + width], axis=1)
    else:
        ends = np.sort(draw.integers(0, people + 1, (rows, 2)), axis=1)
    return _filled(((ends[:, :1] <= place) & (place < ends[:, 1:])).astype(np.uint8), draw)


def attack(queries: Any, answers: Any, errors: Errors | None) -> AttackedSums:
    sums = sums_of(queries, answers, None, "simulated")
    return attacked(sums, KnownBits(errors=errors, rate=None, truth=None, control=None), "auto", None)


def noisy(exact: Any, law: str, size: float, draw: np.random.Generator) -> tuple[Any, Errors]:
    if law == "rounded":
        return size * np.rint(exact / size), Errors("bounded", size / 2)
    errors = {"laplace": draw.laplace, "normal": draw.normal}[law](0, size, len(exact))
    return exact + errors, Errors(law, size)  # type: ignore[arg-type]


def compared(name: str, runs: Iterable[tuple[AttackedSums, Any]]) -> dict[str, Any]:
    """Forecast and result over all seeds, and how many results the interval holds."""
    results, said, inside = [], [], 0
    for found, secrets in runs:
        forecast, right = found.forecast, float((found.decoded.bits == secrets).mean())
        if forecast is None or forecast.low is None or forecast.high is None:
            raise AssertionError(f"no forecast for {name}")
        results.append(right)
        said.append(forecast.recovered)
        inside += forecast.low - 1e-9 <= right <= forecast.high + 1e-9
    row = {
        "what": name, "said": round(float(np.mean(said)), 4), "got": round(float(np.mean(results)), 4),
        "off": round(float(np.mean(results) - np.mean(said)), 4), "inside": inside, "runs": len(results),
        "deviation_of_results": round(float(np.std(results)), 4),
    }  # fmt: skip
    print(row, flush=True)
    return row


def rounded(setting: tuple[int, float, float, float, float], seeds: int) -> dict[str, Any]:
    people, each, share, rate, step = setting

    def runs() -> Iterable[tuple[AttackedSums, Any]]:
        for seed in range(FIRST, FIRST + seeds):
            draw = np.random.default_rng((seed, people, 1))
            secrets = draw.random(people) < rate
            queries = random_queries(people, round(each * people), share, draw)
            yield attack(queries, *noisy(queries @ secrets, "rounded", step, draw)), secrets

    return compared(f"{people} people, {each} answers each, {share} in a query, {rate} ones, step {step}", runs())


def structured(setting: tuple[str, int, str, float], seeds: int) -> dict[str, Any]:
    kind, people, law, size = setting

    def runs() -> Iterable[tuple[AttackedSums, Any]]:
        for seed in range(FIRST, FIRST + seeds):
            draw = np.random.default_rng((seed, people, 2))
            secrets = draw.random(people) < 0.5
            queries = structured_queries(kind, people, 2 * people, draw)
            yield attack(queries, *noisy(queries @ secrets, law, size, draw)), secrets

    return compared(f"{kind}, {people} people, {law} {size}", runs())


def claims(setting: tuple[str, int, float, float, float, float], seeds: int) -> dict[str, Any]:
    """How many are wrong, and how many may be."""
    name, people, each, share, rate, alpha = setting
    sure: list[Any] = []
    wrong: list[Any] = []
    for seed in range(seeds):
        draw = np.random.default_rng((FIRST + seed, people, 3))
        secrets, rows, scale = draw.random(people) < rate, round(each * people), alpha * people**0.5
        queries = random_queries(people, rows, share, draw)
        answers = queries @ secrets + draw.laplace(0, scale, rows)
        answers = np.rint(answers) if "rounded" in name else answers
        found = attack(queries, answers, Errors("laplace", scale))
        sure.append(found.confidence)
        wrong.append(found.decoded.bits != secrets)
    row = {
        "what": name,
        "setting": setting[1:],
        "data_sets": seeds,
        **_bands(np.concatenate(sure), np.concatenate(wrong)),
    }
    print(row, flush=True)
    return row


def few(setting: tuple[int, int, int, float, str, float], seeds: int) -> dict[str, Any]:
    """Twice as many data sets, as they are small. Of people in no query nothing may be claimed."""
    people, rows, size, rate, law, scale = setting
    sure, wrong = [], []
    claims_of_nobody_asked = 0
    for seed in range(FIRST, FIRST + 2 * seeds):
        draw = np.random.default_rng((seed, people, 4))
        secrets, queries = draw.random(people) < rate, np.zeros((rows, people), np.uint8)
        for query in queries:
            query[draw.choice(people, size, replace=False)] = 1
        answers, errors = queries @ secrets, Errors("exact")
        if law != "exact":
            answers, errors = noisy(answers, law, scale, draw)
        found = attack(queries, answers, errors)
        sure.append(found.confidence)
        wrong.append(found.decoded.bits != secrets)
        claims_of_nobody_asked += int((sure[-1][~queries.any(axis=0)] >= CLAIM).sum())
    chances, missed = np.concatenate(sure), np.concatenate(wrong)
    some = chances >= CLAIM
    row = {
        "setting": setting, "data_sets": 2 * seeds, "claims": int(some.sum()), "wrong": int(missed[some].sum()),
        "expected": round(float((1 - chances[some]).sum()), 1), "interval": wrong_interval(1 - chances[some]),
        "claims_of_people_in_no_query": claims_of_nobody_asked,
    }  # fmt: skip
    print(row, flush=True)
    return row


def _bands(sure: Any, wrong: Any) -> dict[str, Any]:
    found = {}
    for low, high in BANDS:
        some = (low <= sure) & (sure < high)
        if some.any():
            few, many = wrong_interval(1 - sure[some])
            found[f"from {low:g}"] = {
                "claims": int(some.sum()), "wrong": int(wrong[some].sum()),
                "expected": round(float((1 - sure[some]).sum()), 1), "interval": [few, many],
            }  # fmt: skip
    return found


def wrong_interval(chances: Any, level: float = 0.99) -> tuple[int, int]:
    """Between which numbers of wrong claims lie, if each is wrong with its own chance and all are independent: the law
    of their number is the product of (1 - chance + chance z), here by its values on the circle."""
    size = len(chances) + 1
    if float(chances.sum()) < 500:  # the tail beyond holds nothing
        size = min(size, 2048)
    circle = np.exp(2j * np.pi * np.arange(size) / size)
    logs = np.array([np.log(1 + chances * (z - 1)).sum() for z in circle])
    law = np.maximum(np.fft.fft(np.exp(logs)).real / size, 0)
    below = np.cumsum(law)
    return int(np.searchsorted(below, (1 - level) / 2)), int(np.searchsorted(below, (1 + level) / 2))


def main(given: Sequence[str] | None = None) -> None:
    parser = options(__doc__)
    parser.add_argument("--part", choices=PARTS, default=PARTS[0])
    parser.set_defaults(first=None, seeds=SEEDS)
    read = parse(parser, given, first=1, seeds=1)
    evidence = Evidence(read, f"subset-{read.part}")
    measured: dict[str, tuple[Sequence[Any], Any]] = {
        "rounded": (ROUNDED, rounded), "structured": (STRUCTURED, structured), "claims": (CLAIMS, claims),
        "few": (FEW, few),
    }  # fmt: skip
    settings, measure = measured[read.part]
    rows: list[dict[str, Any]] = []
    for one in settings[: read.first]:
        rows.append(measure(one, read.seeds))
        evidence.save({"settings": len(settings), "finished": len(rows), "rows": rows})


if __name__ == "__main__":
    main()

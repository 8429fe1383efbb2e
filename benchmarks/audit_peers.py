"""Other libraries' mechanisms audited by Privet, and other auditors beside ours. `python benchmarks/audit_peers.py`.

Each library has a virtual environment of its own (.venv-peers-NAME, built when it is missing) and draws in processes
of its own, see peers/draws.py; the auditor sees nothing but the draws. `claimed` is what the library promises and
`audited` what the audit was asked to contradict: where a promise is far off, a weaker one is contradicted too, and the
bound is above that. An audit stops as soon as it has done so. `seconds` has the drawing in it, and not the start of the
processes.

The auditors are all given the same mechanisms, claims and pairs of neighbors (peers/contest.py), and each runs at its
own usual settings; their levels differ, and are in the result.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from evidence import Evidence, options, parse
from peers.contest import ENTRIES
from peers.process import PeerError
from peers.sampler import Process, Sampler

from privet.audits import Audit, Claim, audit, float_support

SURE = 0.999999  # of one audit, unless its case says otherwise
MOST_FLOATS = 50_000  # draws of the float check
SAMPLES = 1_000_000  # what an audit takes by itself
PURE, ALMOST = Claim(epsilon=1), Claim(epsilon=1, delta=1e-5)
NUMBER = (0, 1)
ONE_LABEL_EACH = [0, 1, 1]  # a classifier wants two classes; the features of one person are what changes
SCORES = ([0, 0, 1, 1], [1, 1, 0, 0])


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A mechanism of a library. `wrong`: why its promise is false; where it is empty, nothing is known against it."""

    name: str
    claimed: Claim
    wrong: str = ""
    neighbors: tuple[Any, Any] = NUMBER
    audited: Claim | None = None
    samples: int = 200_000
    sure: float = SURE
    floats: bool = True  # a number whose last bits are looked at too


@dataclass(frozen=True, slots=True, kw_only=True)
class Library:
    environment: str | None  # None: ours
    script: str
    cases: tuple[Case, ...]
    processes: int = 1


FLOATS = "the sum of a float and float noise has fewer bits when the answer is large"
LIBRARIES = (
    Library(
        environment=None,
        script="draw_numpy.py",
        cases=(
            Case(name="laplace, floats", claimed=PURE, audited=Claim(epsilon=8), wrong=FLOATS, samples=350_000),
            Case(name="gaussian, floats", claimed=Claim(rho="0.5"), audited=Claim(rho=2), wrong=FLOATS),
        ),
    ),
    Library(
        environment="opendp",
        script="draw_opendp.py",
        processes=os.cpu_count() or 1,
        cases=(
            Case(name="laplace, floats", claimed=PURE, samples=100_000),
            Case(name="laplace, integers", claimed=PURE, floats=False),
            Case(name="gaussian, floats", claimed=Claim(rho="0.5"), samples=100_000),
        ),
    ),
    Library(
        environment="diffprivlib",
        script="draw_diffprivlib.py",
        processes=os.cpu_count() or 1,
        cases=(
            Case(
                name="logistic regression",
                claimed=PURE,
                audited=Claim(epsilon=2),
                wrong="the curvature of one person's loss grows with the square of the norm, and is taken for its norm",
                neighbors=([[[0], [0], [0]], ONE_LABEL_EACH], [[[100], [0], [0]], ONE_LABEL_EACH]),
                samples=16_000,
                sure=0.9999,  # a fit takes a millisecond or two
                floats=False,
            ),
            Case(
                name="linear regression",
                claimed=PURE,
                audited=Claim(epsilon=4),
                wrong="a sum of squares gets the noise for the lower bound alone: none at all for features from 0 up",
                neighbors=([[[1], [1]], [0, 1]], [[[100], [1]], [0, 1]]),
                samples=10_000,
                floats=False,
            ),
            Case(name="laplace, floats", claimed=PURE, audited=Claim(epsilon=4), wrong=FLOATS),
            Case(name="gaussian, floats", claimed=ALMOST, audited=Claim(epsilon=4, delta=1e-5), wrong=FLOATS),
            Case(name="geometric", claimed=PURE, floats=False),
            Case(name="snapping", claimed=PURE),
        ),
    ),
    Library(
        environment="smartnoise-sql",
        script="draw_smartnoise.py",
        processes=os.cpu_count() or 1,
        cases=(Case(name="laplace, floats", claimed=PURE, samples=20_000),),
    ),
    Library(
        environment="pipeline-dp",
        script="draw_pipelinedp.py",
        processes=os.cpu_count() or 1,
        cases=(
            Case(name="laplace, floats", claimed=PURE),
            Case(
                name="gaussian, floats",
                claimed=ALMOST,
                audited=Claim(epsilon=4, delta=1e-5),
                wrong="its noise lies on a grid, 2^-54 here, that floats next to 1 cannot hold",
            ),
            Case(name="exponential mechanism", claimed=PURE, neighbors=SCORES, samples=50_000, floats=False),
        ),
    ),
)
AUDITORS = {  # name: its script, run by the environment of that name
    "pystatdp": "judge_pystatdp.py",
    "jax-privacy": "judge_jax_privacy.py",
}
LOOKED_FOR = {  # auditors that the package index did not have when this was written, by any of these names
    "DP-Auditorium": ("dp-auditorium",),
    "DP-Sniper": ("dp-sniper", "dpsniper"),
    "StatDP": ("statdp",),
    "Delta-Siege": ("delta-siege",),
    "dp-tester": ("dp-tester",),
}


def audit_library(library: Library, most: int) -> Iterator[dict[str, Any]]:
    sampler = Sampler(library.environment, library.script, library.processes)
    name = library.environment or "numpy"
    try:
        for case in library.cases:
            before = sampler.processor
            found = audit(
                sampler.mechanism(case.name),
                case.audited or case.claimed,
                case.neighbors,
                samples=min(case.samples, most),
                confidence=case.sure,
            )
            sampler.check()
            facts = {"library": name, "mechanism": case.name, "versions": sampler.versions}
            facts |= {"claimed": str(case.claimed), "wrong": case.wrong} | shown(found)
            facts |= {"processor_seconds_of_drawing": round(sampler.processor - before, 2)}
            yield facts | ({"float_check": check_floats(sampler, case, most)} if case.floats else {})
    finally:
        sampler.close()


def check_floats(sampler: Sampler, case: Case, most: int) -> dict[str, Any]:
    """Whether the form of the numbers alone contradicts the claim."""
    begun = time.perf_counter()
    found = float_support(
        sampler.mechanism(case.name),
        case.neighbors,
        claim=case.claimed,
        samples=min(case.samples, MOST_FLOATS, most),
        confidence=SURE,
    )
    sampler.check()
    says = [f"{check.name}: {check.says}" for check in found.checks if check.verdict == found.verdict]
    return {"verdict": found.verdict, "says": says, "seconds": round(time.perf_counter() - begun, 2)}


def shown(found: Audit) -> dict[str, Any]:
    witness = found.witness
    return {
        "audited": str(found.claim),
        "verdict": found.verdict,
        "violated": found.violated,
        "lower_bound": round(found.lower_bound, 4),
        "confidence": found.confidence,
        "ceiling": round(found.ceiling, 4),
        "witness": {"event": witness.event, "hits": list(witness.hits), "draws": witness.draws},
        "method": found.method,
        "samples": found.samples,
        "seconds": round(found.seconds, 2),
    }


def ours(name: str, samples: int) -> dict[str, Any]:
    mechanism, neighbors, _ = ENTRIES[name]
    generator = np.random.default_rng()
    found = audit(
        lambda data, size: mechanism(generator, data, size),
        PURE,
        (neighbors[0], neighbors[1]),
        samples=samples,
        confidence=SURE,
    )
    row = shown(found)
    says = f"epsilon at least {row['lower_bound']:.3g}"
    return {"violated": found.violated, "says": says, "seconds": row["seconds"], "samples": found.samples}


def compare_auditors(samples: int) -> tuple[list[dict[str, Any]], dict[str, Any], dict[str, str]]:
    """Rows of (mechanism, auditor), the versions of the auditors, and why some are absent."""
    rows = [entry(name, "privet") | ours(name, samples) for name in ENTRIES]
    versions = {}
    absent = {name: f"not on the package index as {' or '.join(names)}" for name, names in LOOKED_FOR.items()}
    for auditor, script in AUDITORS.items():
        try:
            process = Process(auditor, script)
        except PeerError as error:
            absent[auditor] = str(error)
            continue
        versions[auditor] = process.versions
        rows += [entry(name, auditor) | judged(process, name) for name in ENTRIES]
        process.close()
    return rows, versions, absent


def entry(name: str, auditor: str) -> dict[str, Any]:
    return {"mechanism": name, "auditor": auditor, "holds": ENTRIES[name][2]}


def judged(process: Process, name: str) -> dict[str, Any]:
    try:
        return process.ask({"mechanism": name})
    except PeerError as error:
        return {"not_available": str(error)}


def audit_libraries(most: int) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """A row a mechanism, and why some libraries are absent."""
    head = f"{'library':<15}{'mechanism':<22}{'claimed':<29}{'verdict':<20}"
    print(f"{head}{'bound':>7}{'seconds':>9}  {'float check':<12}  witness")
    rows: list[dict[str, Any]] = []
    absent = {}
    for library in LIBRARIES:
        try:
            for row in audit_library(library, most):
                rows.append(row)
                show_audit(row)
        except PeerError as error:
            absent[library.environment or "numpy"] = str(error)
    return rows, absent


def show_audit(row: dict[str, Any]) -> None:
    event = row["witness"]["event"]
    floats = row["float_check"]["verdict"] if "float_check" in row else "-"
    words = f"{row['library']:<15}{row['mechanism']:<22}{row['claimed']:<29}{row['verdict']:<20}"
    print(f"{words}{row['lower_bound']:>7.3f}{row['seconds']:>7.2f} s  {floats:<12}  {event[:60]}", flush=True)


def show_auditors(rows: list[dict[str, Any]], absent: dict[str, str]) -> None:
    """A line a mechanism: verdict and seconds of each auditor."""
    names = list(dict.fromkeys(row["auditor"] for row in rows))
    found = {(row["mechanism"], row["auditor"]): row for row in rows}
    print(f"\n{'mechanism':<29}{'truth':<10}" + "".join(f"{name:<30}" for name in names))
    for mechanism, (_, _, holds) in ENTRIES.items():
        cells = (judgment(found[mechanism, name]) for name in names)
        print(f"{mechanism:<29}{'private' if holds else 'broken':<10}" + "".join(f"{cell:<30}" for cell in cells))
    for name, why in absent.items():
        print(f"{name} does not run here: {why}")


def judgment(row: dict[str, Any]) -> str:
    if "not_available" in row:
        return "not available"
    said = "violated" if row["violated"] else "not violated"
    right = "" if row["violated"] != row["holds"] else " (wrong)"
    return f"{said}{right}, {row['seconds']:.1f} s"


def main(given: Sequence[str] | None = None) -> int:
    parser = options(__doc__)
    parser.set_defaults(most=10**9, samples=SAMPLES)
    read = parse(parser, given, most=5_000, samples=5_000)
    evidence = Evidence(read, "audit-peers")
    audits, absent = audit_libraries(read.most)
    auditors, versions, missing = compare_auditors(read.samples)
    show_auditors(auditors, missing)
    good = all(row["violated"] == bool(row["wrong"]) for row in audits) and not absent
    evidence.save(
        {
            "threads": os.cpu_count(),
            "as_expected": good,
            "audits": audits,
            "auditors": auditors,
            "auditor_versions": versions,
            "absent": absent | missing,
        }
    )
    return 0 if good or read.tiny else 1


if __name__ == "__main__":
    sys.exit(main())

"""Weak violations over many seeds: how often an audit finds a mechanism that spends 1.2 to 1.5 times what it claims,
and how many sound twins are flagged by mistake.

    python benchmarks/audit_weak.py [--first 5000] [--seeds 20] [--samples 40000] [--processes 2] [--json FILE]

Mechanisms draw from a generator with the seed, and no audit has a limit of time, so that the same seeds give the same
result on every machine. What is missed is kept with the sentence that the audit printed: it must say what it could not
have seen.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from evidence import Evidence, mapped, options, parse
from weak_mechanisms import WEAK

from privet.audits import audit
from privet.stats.binomial import share

CONFIDENCE = 0.999999  # what pv.audits.audit takes by itself


def row(seeds: range, samples: int, job: tuple[str, bool]) -> dict[str, Any]:
    """One mechanism, or its sound twin, over all seeds."""
    name, sound = job
    weak = WEAK[name]
    factor = 1.0 if sound else weak.factor
    found = [
        audit(weak.make(np.random.default_rng(seed), factor), weak.claim, domain=weak.domain, samples=samples)
        for seed in seeds
    ]
    flagged, bounds = sum(one.violated for one in found), [round(one.lower_bound, 3) for one in found]
    interval = share(flagged, len(found))
    return {
        "name": name,
        "factor": factor,
        "flagged": flagged,
        "of": len(found),
        "interval": [round(interval.low, 3), round(interval.high, 3)],
        "lower_bound": [min(bounds), max(bounds)],
        "said_if_missed": next((one.verdict for one in found if not one.violated), None),
    }


def main(given: Sequence[str] | None = None) -> None:
    parser = options(__doc__)
    parser.add_argument("--first", type=int, default=5000)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--samples", type=int, default=40_000)
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.set_defaults(names=list(WEAK))
    read = parse(parser, given, seeds=1, samples=2000, processes=1, names=["sum, replace"])
    evidence, rows = Evidence(read, "audit-weak"), []
    jobs = [(name, sound) for name in read.names for sound in (False, True)]
    work = partial(row, range(read.first, read.first + read.seeds), read.samples)
    for one in mapped(work, jobs, read.processes):
        rows.append(one)
        print(f"{one['name']} ({one['factor']}): flagged {one['flagged']} of {one['of']}", flush=True)
        weak, sound = ([kept for kept in rows if (kept["factor"] == 1) == wanted] for wanted in (False, True))
        audits = sum(kept["of"] for kept in sound)
        evidence.save(
            {
                "samples": read.samples,
                "first_seed": read.first,
                "caught": sum(kept["flagged"] for kept in weak),
                "of": sum(kept["of"] for kept in weak),
                "false_alarms": sum(kept["flagged"] for kept in sound),
                "audits_of_sound_mechanisms": audits,
                "false_alarms_expected_at_most": round(audits * (1 - CONFIDENCE), 9),
                "weak": weak,
                "sound": sound,
            }
        )


if __name__ == "__main__":
    main()

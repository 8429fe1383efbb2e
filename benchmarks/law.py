"""Goodness of fit of the fast samplers with many draws: the law, and the smallest wrong scale that would be noticed.

    python benchmarks/law.py [--draws 1000000000] [--tiny] [--json FILE]

For each scale: the p-value of the law itself, and of scales 5 %, 1 % and 0.1 % off. A p-value below 1e-9 rejects.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from evidence import Evidence, options, parse
from support.fit import FALSE_ALARM, p_value
from support.noise_laws import GAUSSIAN_SCALES, LAPLACE_SCALES, bin_edges, gaussian_cdf, laplace_cdf

import privet as pv

PIECE = 10_000_000
OFF = (Fraction(1), Fraction(21, 20), Fraction(101, 100), Fraction(1001, 1000))


def measure(kind: str, scale: Fraction, draws: int) -> dict[str, object]:
    draw, cdf = {
        "Laplace": (pv.noise.discrete_laplace, laplace_cdf),
        "Gaussian": (pv.noise.discrete_gaussian, gaussian_cdf),
    }[kind]
    edges = bin_edges(float(scale), cdf)
    counts = np.zeros(len(edges) + 1, np.int64)
    for start in range(0, draws, PIECE):
        values = draw(scale, min(PIECE, draws - start))
        counts += np.bincount(np.searchsorted(edges, values, side="left"), minlength=len(counts))
    laws = {off: np.diff(cdf(edges, float(scale * off)), prepend=0, append=1) for off in OFF}
    p_values = {f"{float(off - 1):.1%} off": p_value(counts, law) for off, law in laws.items()}
    return {"law": kind, "scale": float(scale), "bins": len(counts), "p_values": p_values}


def main(given: Sequence[str] | None = None) -> None:
    parser = options(__doc__)
    parser.add_argument("--draws", type=int, default=10_000_000)
    parser.set_defaults(first=0)
    read = parse(parser, given, draws=20_000, first=-2)
    evidence, rows = Evidence(read, "noise-law"), []
    for kind, scales in (("Laplace", LAPLACE_SCALES), ("Gaussian", GAUSSIAN_SCALES)):
        for scale in scales[read.first :]:
            rows.append(measure(kind, scale, read.draws))
            cells = "  ".join(f"{name}: {p:.3g}" for name, p in rows[-1]["p_values"].items())
            print(f"{kind:9} {float(scale):<12.6g} {cells}", flush=True)
    evidence.save(
        {
            "draws_per_scale": read.draws,
            "false_alarm": FALSE_ALARM,
            "accepted": all(row["p_values"]["0.0% off"] > FALSE_ALARM for row in rows),
            "rows": rows,
        }
    )


if __name__ == "__main__":
    main()

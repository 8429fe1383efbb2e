"""Untrusted: broken mechanisms, each with a correct twin, to try an auditor on.

Every mechanism here was published, sold or written in earnest somewhere, or is a mistake that is easily made. A seed
picks the parameters (epsilon, sizes, ranges); noise is fresh in every run. The auditor never imports this room: it gets
a callable, a claim and a domain of inputs, and has to find out. docs/gallery.md is the list.
"""

from __future__ import annotations

import zlib

import numpy as np

from privet.gallery import float_noise, key_choices, learning, maxima, noises, people, sessions, sharing, sparse, tables
from privet.gallery.entry import GalleryEntry, Pick

__all__ = ["GalleryEntry", "entries", "page"]

FAMILIES = (sparse, maxima, noises, float_noise, tables, key_choices, people, sessions, learning, sharing)


def entries(seed: int) -> tuple[GalleryEntry, ...]:
    """All entries, each broken one followed by its twin. The same seed picks the same parameters."""
    return tuple(
        entry
        for family in FAMILIES
        for make in family.ITEMS
        for entry in make(Pick(np.random.default_rng([seed, zlib.crc32(make.__name__.encode())])))
    )


def page() -> str:
    """docs/gallery.md: what is wrong with each mechanism, and why its twin is right."""
    found = entries(0)
    lines = [
        "# The gallery",
        "",
        f"{len(found) // 2} broken mechanisms, each with a correct twin under the same claim. `privet audit gallery`",
        "audits them all; it gives the auditor a callable, a claim and a domain of inputs, and nothing else. A seed",
        "picks the parameters, so these are families and not examples. This page is made from the code;",
        "`benchmarks/gallery.py` runs many seeds.",
    ]
    for family in FAMILIES:
        title = family.__name__.rpartition(".")[2].replace("_", " ").capitalize()
        lines += ["", f"## {title}", "", (family.__doc__ or "").strip()]
        lines += ["", "| mechanism | what is wrong | its twin |", "|---|---|---|"]
        made = [make(Pick(np.random.default_rng(0))) for make in family.ITEMS]
        lines += [f"| {broken.name} | {broken.says} | {fixed.says} |" for broken, fixed in made]
    return "\n".join(lines) + "\n"

"""Records made less telling before they are shipped: generalized, suppressed, coded, their ids replaced.

None of it is a guarantee: who knows more than was thought of may still find people. `pv.attacks` shows how.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from privet.anonymize.builders import dates, flat, intervals, merge_rare, prefixes, suggest
    from privet.anonymize.checks import Checked, check
    from privet.anonymize.coding import bottom_code, top_code
    from privet.anonymize.generalization import generalize
    from privet.anonymize.hierarchy import Hierarchy
    from privet.anonymize.hierarchy_file import read_hierarchies, read_hierarchy, write_hierarchy
    from privet.anonymize.key_file import Key
    from privet.anonymize.models import DistinctL, EntropyL, K, RecursiveL, T
    from privet.anonymize.mondrian_cuts import mondrian
    from privet.anonymize.pseudonyms import Pseudonymized, mapping, pseudonymize
    from privet.anonymize.result import Anonymized
    from privet.records.microdata import Microdata, read, write

PLACES = {  # no place has the name of something in it: importing it would hide that
    "builders": ("dates", "flat", "intervals", "merge_rare", "prefixes", "suggest"),
    "checks": ("Checked", "check"),
    "coding": ("bottom_code", "top_code"),
    "generalization": ("generalize",),
    "hierarchy": ("Hierarchy",),
    "hierarchy_file": ("read_hierarchies", "read_hierarchy", "write_hierarchy"),
    "key_file": ("Key",),
    "models": ("DistinctL", "EntropyL", "K", "RecursiveL", "T"),
    "mondrian_cuts": ("mondrian",),
    "pseudonyms": ("Pseudonymized", "mapping", "pseudonymize"),
    "result": ("Anonymized",),
}
WHERE = {name: f"privet.anonymize.{place}" for place, names in PLACES.items() for name in names}
WHERE |= dict.fromkeys(("Microdata", "read", "write"), "privet.records.microdata")
__all__ = [
    "Anonymized", "Checked", "DistinctL", "EntropyL", "Hierarchy", "K", "Key", "Microdata", "Pseudonymized",
    "RecursiveL", "T", "bottom_code", "check", "dates", "flat", "generalize", "intervals", "mapping", "merge_rare",
    "mondrian", "prefixes", "pseudonymize", "read", "read_hierarchies", "read_hierarchy", "suggest", "top_code",
    "write", "write_hierarchy",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in WHERE:
        raise AttributeError(f"module 'privet.anonymize' has no attribute '{name}'")
    return getattr(importlib.import_module(WHERE[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)

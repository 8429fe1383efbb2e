"""Records made less telling before they are shipped: generalized, suppressed, coded, their ids replaced.

None of it is a guarantee: who knows more than was thought of may still find people. `pv.attacks` shows how.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from privet.anonymize.builders import dates as dates
    from privet.anonymize.builders import flat as flat
    from privet.anonymize.builders import intervals as intervals
    from privet.anonymize.builders import merge_rare as merge_rare
    from privet.anonymize.builders import prefixes as prefixes
    from privet.anonymize.builders import suggest as suggest
    from privet.anonymize.checks import Checked as Checked
    from privet.anonymize.checks import check as check
    from privet.anonymize.coding import bottom_code as bottom_code
    from privet.anonymize.coding import top_code as top_code
    from privet.anonymize.generalization import generalize as generalize
    from privet.anonymize.hierarchy import Hierarchy as Hierarchy
    from privet.anonymize.hierarchy_file import read_hierarchies as read_hierarchies
    from privet.anonymize.hierarchy_file import read_hierarchy as read_hierarchy
    from privet.anonymize.hierarchy_file import write_hierarchy as write_hierarchy
    from privet.anonymize.key_file import Key as Key
    from privet.anonymize.models import DistinctL as DistinctL
    from privet.anonymize.models import EntropyL as EntropyL
    from privet.anonymize.models import K as K
    from privet.anonymize.models import RecursiveL as RecursiveL
    from privet.anonymize.models import T as T
    from privet.anonymize.mondrian_cuts import mondrian as mondrian
    from privet.anonymize.pseudonyms import Pseudonymized as Pseudonymized
    from privet.anonymize.pseudonyms import mapping as mapping
    from privet.anonymize.pseudonyms import pseudonymize as pseudonymize
    from privet.anonymize.result import Anonymized as Anonymized
    from privet.records.microdata import Microdata as Microdata
    from privet.records.microdata import read as read
    from privet.records.microdata import write as write

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

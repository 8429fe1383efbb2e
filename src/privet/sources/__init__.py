"""From declared files and data frames to relations that the embedded engine can read.

    connection = connect(scratch)
    raw = attach(connection, table, base, memory)      # one for each table
    harden(connection, raw.files)                      # from here on it reads nothing else

Texts stay texts: which number or date they mean is decided later, by the declaration, with rules that never fail.
"""

from __future__ import annotations

from privet.sources.attach import Stamp, attach, digest, stamp, types_of
from privet.sources.lock import connect, harden
from privet.sources.relation import Raw, check_complete, expected, unreadable

__all__ = [
    "Raw",
    "Stamp",
    "attach",
    "check_complete",
    "connect",
    "digest",
    "expected",
    "harden",
    "stamp",
    "types_of",
    "unreadable",
]

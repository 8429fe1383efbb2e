"""The data-frame front: method calls -> Plan. Untrusted: it may misread what was meant, never what it costs.

`vault.table("visits")` gives a Frame. Its methods describe a question step by step; nothing touches data, and the plan
is the one that SQL has for the same question. docs/frames.md is the page for analysts.
"""

from __future__ import annotations

from privet.frame.frames import Frame, frame_of
from privet.frame.summary import Summary

__all__ = ["Frame", "Summary", "frame_of"]

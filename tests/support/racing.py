"""Threads that get in each other's way as often as the interpreter allows."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable


def race(work: Callable[[], None], threads: int = 8) -> None:
    """Run the same work on several threads at once, switching between them all the time."""
    racing = [threading.Thread(target=work) for _ in range(threads)]
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for thread in racing:
            thread.start()
        for thread in racing:
            thread.join()
    finally:
        sys.setswitchinterval(before)

"""A sign of life for a person at a terminal: after two seconds one line says what is done, how far, and how long still.

There is one sign for a command, which `alive` starts. What works inside says what it does with `working`, or with
`counting` how far it is. Nothing is written where nobody looks, and the line is wiped before anything else is printed.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO

from privet.report.terminal import one_line

PATIENCE = 2.0  # seconds before the first sign
NEWS = 0.5  # seconds between two of them
SURE = 0.02  # of the work is to be done before anybody says how long the rest takes

Tell = Callable[[str, int, int], None]


class Sign:
    """The line, and a thread that keeps it up to date while the work says nothing."""

    def __init__(self, stream: TextIO, what: str) -> None:
        self.stream, self.what, self.done, self.of = stream, what, 0, 0
        self.since = self._begun = time.monotonic()
        self._lock = threading.RLock()
        self._over = threading.Event()
        self._wide = 0

    def tell(self, what: str, done: int = 0, of: int = 0) -> None:
        with self._lock:
            if done < self.done or not done or of != self.of:  # another piece of work
                self.since = time.monotonic()
            self.what, self.done, self.of = what, done, of

    def line(self, now: float) -> str:
        """Such as "privet: proving, 12 of 30, 4 s, about 6 s left"."""
        parts = [f"privet: {one_line(self.what)}"]
        if self.of > 1:
            parts.append(f"{self.done:,} of {self.of:,}")
        parts.append(f"{now - self._begun:.0f} s")
        if self.done > SURE * self.of > 0 and self.done < self.of:
            parts.append(f"about {_rough((now - self.since) * (self.of - self.done) / self.done)} left")
        return ", ".join(parts)

    def show(self) -> None:
        with self._lock:
            line = self.line(time.monotonic())
            self.stream.write(f"\r{line.ljust(self._wide)}")
            self.stream.flush()
            self._wide = len(line)

    def wipe(self) -> None:
        """Something else is printed now."""
        with self._lock:
            if self._wide:
                self.stream.write(f"\r{' ' * self._wide}\r")
                self.stream.flush()
                self._wide = 0

    def run(self) -> None:
        wait = PATIENCE
        while not self._over.wait(wait):
            self.show()
            wait = NEWS

    def end(self) -> None:
        with self._lock:
            self._over.set()
            self.wipe()


class _Beside:
    """A stream on the same screen: the sign gives way to what is written there. An answer ends it."""

    def __init__(self, stream: TextIO, before: Callable[[], None]) -> None:
        self._stream, self._before = stream, before

    def write(self, text: str) -> int:
        self._before()
        return self._stream.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


_signs: list[Sign] = []  # the one of the running command, if somebody looks


@contextmanager
def alive(command: str) -> Iterator[None]:
    """While a command runs."""
    out, err = sys.stdout, sys.stderr
    if not err.isatty():
        yield
        return
    sign = Sign(err, command)
    thread = threading.Thread(target=sign.run, daemon=True)
    _signs.append(sign)
    thread.start()
    if out.isatty():
        sys.stdout = _Beside(out, sign.end)
    sys.stderr = _Beside(err, sign.wipe)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = out, err
        _signs.remove(sign)
        sign.end()
        thread.join()


@contextmanager
def working(words: str) -> Iterator[None]:
    """What is done in this block, in words."""
    with counting() as tell:
        tell(words, 0, 0)
        yield


@contextmanager
def counting() -> Iterator[Tell]:
    """How far the work in this block is: call it with what is done, how much, and of how much."""
    if not _signs:
        yield lambda _what, _done, _of: None
        return
    sign = _signs[-1]
    before = sign.what
    try:
        yield sign.tell
    finally:
        sign.tell(before)


def _rough(seconds: float) -> str:
    for size, name in ((3600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {name}"
    return f"{seconds:.0f} s"

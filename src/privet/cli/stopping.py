"""Ctrl-C keeps what was found: the first one ends the work at the next step, the second one ends the command."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event
from typing import Any

from privet.cli.progress import Tell
from privet.errors import PrivetError

STOPPED = 130  # the exit code, as a shell reports it for Ctrl-C
WORDS = "stopped with Ctrl-C"
NOTHING_YET = "stopped before anything was found, so nothing is known"
NEWS = "privet: stopping; what was found so far follows in a moment (press Ctrl-C again to stop at once)\n"


@contextmanager
def stoppable(stopped: Event, stop: Callable[[], None] | None = None, *, news: str = NEWS) -> Iterator[Event]:
    """In this block the first Ctrl-C sets `stopped` and calls `stop`, also while compiled code is running."""
    owner = os.getpid()
    stopped.clear()
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:  # somebody else decides what Ctrl-C does
        yield stopped
        return

    def asked() -> None:
        if not stopped.is_set():
            stopped.set()
            sys.stderr.write(news)
            if stop is not None:
                stop()

    def first(_number: int, _frame: Any) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        if os.getpid() != owner:  # a process that was forked: it has its own work
            raise KeyboardInterrupt
        asked()

    before = signal.signal(signal.SIGINT, first)
    try:
        with _heard_at_once(asked):
            yield stopped
    except PrivetError:
        if not stopped.is_set():
            raise
        end = KeyboardInterrupt()
        end.add_note(NOTHING_YET)
        raise end from None
    finally:
        signal.signal(signal.SIGINT, before)
        stopped.clear()


def unless_stopped(stopped: Event, tell: Tell, keeps: str = "") -> Tell:
    """The same progress; but it ends the work where there is nothing yet to be kept. `keeps`: how later steps begin."""

    def told(what: str, done: int, of: int) -> None:
        if stopped.is_set() and not (keeps and what.startswith(keeps)):
            raise KeyboardInterrupt
        tell(what, done, of)

    return told


@contextmanager
def _heard_at_once(asked: Callable[[], None]) -> Iterator[None]:
    """Python runs a handler only between two steps of its own; a thread hears of the signal while a solver runs."""
    if os.name != "posix":
        yield
        return
    end, start = os.pipe()
    os.set_blocking(start, False)
    before = signal.set_wakeup_fd(start, warn_on_full_buffer=False)

    def listen() -> None:
        while heard := os.read(end, 1):
            if heard[0] == signal.SIGINT:
                asked()

    listener = threading.Thread(target=listen, daemon=True)
    listener.start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(before)
        os.close(start)
        listener.join()
        os.close(end)

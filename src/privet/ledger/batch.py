"""TRUSTED: group commit. Whoever comes first commits for all who wait: one writer at a time, and no extra thread.

A lone caller pays one commit and no hand-over. While a commit is under way others queue up; the first of them commits
the whole queue next.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Generic, TypeVar

from privet.errors import LedgerError

Work = TypeVar("Work")
Result = TypeVar("Result")

MOST = 256  # jobs in one transaction
LOOK_AGAIN = 1.0  # seconds; should the thread that was to wake us have been interrupted


class Job(Generic[Work, Result]):
    """One caller's work, and what came of it."""

    __slots__ = ("_asleep", "done", "error", "result", "work")

    def __init__(self, work: Work) -> None:
        self.work = work
        self.done = False
        self.result: Result | None = None
        self.error: Exception | None = None
        self._asleep = threading.Lock()
        self._asleep.acquire()

    def sleep(self) -> None:
        self._asleep.acquire(timeout=LOOK_AGAIN)

    def wake(self) -> None:
        with suppress(RuntimeError):  # awake already
            self._asleep.release()


class Batches(Generic[Work, Result]):
    """`commit` takes jobs, all there are, sets the result or the error of each, and returns when that is durable."""

    def __init__(self, commit: Callable[[Iterator[Job[Work, Result]]], None]) -> None:
        self._commit = commit
        self._waiting: deque[Job[Work, Result]] = deque()
        self.turn = threading.Lock()

    def give_back(self) -> None:
        """End our turn; the first who waits is next."""
        self.turn.release()
        self._call_next()

    def submit(self, work: Work) -> Result:
        """Do the work, with whatever else is waiting; raises what went wrong with it."""
        job: Job[Work, Result] = Job(work)
        self._waiting.append(job)
        try:
            while not job.done:
                # Nobody sleeps for ever: we were in the queue before we found the turn taken, and whoever has it
                # looks at the queue after giving it back.
                if self.turn.acquire(blocking=False):
                    try:
                        self._lead()
                    finally:
                        self.give_back()
                else:
                    job.sleep()
        except BaseException:  # interrupted: take the work back, unless somebody has begun it
            with suppress(ValueError):
                self._waiting.remove(job)
            self._call_next()
            raise
        if job.error is not None:
            raise job.error
        return job.result  # type: ignore[return-value]

    def _lead(self) -> None:
        begun: list[Job[Work, Result]] = []
        try:
            self._commit(self._take(begun))
        finally:
            for job in begun:
                if job.result is None and job.error is None:  # interrupted in the middle of it
                    job.error = LedgerError(
                        "the ledger was interrupted", "ask again; this may have been charged", "interrupted"
                    )
                job.done = True
                job.wake()

    def _take(self, begun: list[Job[Work, Result]]) -> Iterator[Job[Work, Result]]:
        """What waits, and what comes while the first of it are worked on."""
        while len(begun) < MOST:
            try:
                begun.append(self._waiting.popleft())
            except IndexError:
                return
            yield begun[-1]

    def _call_next(self) -> None:
        with suppress(IndexError):
            self._waiting[0].wake()

    def forget(self) -> None:
        """After a fork: what waits here belongs to threads of the parent."""
        self._waiting.clear()

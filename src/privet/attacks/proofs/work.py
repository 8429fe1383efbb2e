"""How much solvers may do, counted in steps of theirs: a busy machine finds what a quiet one finds."""

from __future__ import annotations

from threading import Event

STOPPED = Event()  # set by whoever wants running attacks to end with what they have: then no work is left
ITERATION = 2e-8  # seconds that an entry of a linear program takes in one step of the simplex method, about
START = 10  # steps that setting up and reading a linear program costs


class Work:
    """What is left of an amount of work, in seconds of an ordinary machine. Solvers say what was used. No clock is
    read here: what is found must not depend on how busy the machine is."""

    def __init__(self, seconds: float, of: Work | None = None) -> None:
        self._left = max(0.0, seconds)
        self.spent = 0.0
        self._of = of

    @property
    def left(self) -> float:
        return 0.0 if STOPPED.is_set() else self._left

    def part(self, share: float) -> Work:
        """This share of what is left. What it uses is used up here, too."""
        return self.at_most(self.left * share)

    def at_most(self, seconds: float) -> Work:
        """The same, but for an amount."""
        return Work(min(self.left, seconds), self)

    def used(self, seconds: float) -> None:
        self._left = max(0.0, self._left - seconds)
        self.spent += seconds
        if self._of is not None:
            self._of.used(seconds)

    def steps(self, entries: int) -> int:
        """How many simplex steps are left for a program with this many entries; at least one."""
        return max(1, int(self.left / (ITERATION * max(1, entries))) - START)

    def stepped(self, steps: int, entries: int) -> None:
        self.used((steps + START) * ITERATION * max(1, entries))

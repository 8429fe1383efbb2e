"""Calls a mechanism, and takes down whatever comes: outputs, or that it raised."""

from __future__ import annotations

import copy
import inspect
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from privet.audits.outputs import OutputReader, OutputRow, Outputs, Raised, joined
from privet.core.rational import show
from privet.errors import InvalidInputError

CELLS = 4_000_000  # numbers held at a time, while draws are counted
REPEATED = 16  # draws that must agree for a batch to be the same batch again


class AuditSource:
    """Draws from one mechanism. Knows how long a draw takes.

    A batch that raises, or that comes out the same twice, is not `size` independent draws; from then on the mechanism
    is asked for one at a time, so that what it does to one draw is counted as often as it is drawn.
    """

    def __init__(self, mechanism: Callable[..., Any], batch: bool | None) -> None:
        self._mechanism = mechanism
        self._batch = _batch(mechanism, batch)
        self._one_by_one = False
        self.spent, self.drawn = 0.0, 0
        self.error = ""  # what was raised last

    @property
    def may_start_anew(self) -> bool:
        """Whether a batch that raises will be drawn once more, one draw at a time."""
        return self._batch and not self._one_by_one

    @property
    def pace(self) -> float:
        """Seconds a draw."""
        return self.spent / max(1, self.drawn)

    @contextmanager
    def counting(self) -> Iterator[None]:
        """What is done with draws is part of what they take."""
        started = time.perf_counter()
        yield
        self.spent += time.perf_counter() - started

    def draw(self, data: Any, size: int, reader: OutputReader) -> Outputs:
        started = time.perf_counter()
        found = reader.read(self._raw(data, size), size)
        self.spent += time.perf_counter() - started
        self.drawn += size
        return found

    def first(self, data: Any, size: int, reader: OutputReader) -> Outputs:
        """Draws in two halves, which are compared."""
        if not self._batch or self._one_by_one:
            return self.draw(data, size, reader)
        halves = [self.draw(data, size // 2, reader) for _ in range(2)]
        if size // 2 >= REPEATED and _same(*halves):
            self._one_by_one = True
            return self.draw(data, size, reader)
        return joined([*halves, *([self.draw(data, 1, reader)] if size % 2 else [])])

    def chunk(self, width: int) -> int:
        """Draws that fit into memory."""
        return max(1000, CELLS // max(1, width))

    def _raw(self, data: Any, size: int) -> Any:
        if not self._batch:
            return [self._call(data) for _ in range(size)]
        if not self._one_by_one:
            try:
                return self._mechanism(_own(data), size)
            except Exception as error:
                self.error = f"{type(error).__name__}: {error}"
                self._one_by_one = True
        return [self._call(data, 1) for _ in range(size)]

    def _call(self, data: Any, *size: int) -> Any:
        try:
            found = self._mechanism(_own(data), *size)
        except Exception as error:
            self.error = f"{type(error).__name__}: {error}"
            return Raised(type(error).__name__)
        if size:
            if np.shape(found)[:1] != (1,) if isinstance(found, np.ndarray) else not isinstance(found, list | tuple):
                OutputReader().read(found, 1)  # says what is wrong
            return OutputRow(found) if isinstance(found, np.ndarray) else found[0]
        return found


def _own(data: Any) -> Any:
    """A copy, so that a mechanism that changes its data in place does not change what the next call sees."""
    if isinstance(data, np.ndarray) and data.dtype.kind != "O":
        return data.copy()
    if isinstance(data, list) and _hashable(tuple(data)):
        return data.copy()
    return data if _hashable(data) else _deep(data)


def _hashable(data: Any) -> bool:
    """What can be hashed is not changed, as a rule: numbers, texts, tuples of such."""
    try:
        hash(data)
    except TypeError:
        return False
    return True


def _deep(data: Any) -> Any:
    try:
        return copy.deepcopy(data)
    except Exception:  # a connection, say; then there is no copy to be had
        return data


def _same(first: Outputs, second: Outputs) -> bool:
    """Twice the same, though the draws differ from one to the next."""
    if first.numbers.shape != second.numbers.shape or not np.array_equal(first.shapes, second.shapes):
        return False
    differ = bool((first.numbers[1:] != first.numbers[:-1]).any())
    return differ and np.array_equal(first.numbers, second.numbers)


def _batch(mechanism: object, batch: bool | None) -> bool:
    """As asked for, or by the signature: a second parameter without a default is the number of draws."""
    if not callable(mechanism):
        raise InvalidInputError(
            f"the mechanism must be callable, not {show(mechanism)}", "give a function", "not-callable"
        )
    try:
        signature = inspect.signature(mechanism)
    except ValueError:  # some built-in functions do not tell
        return bool(batch)
    required = [
        parameter
        for parameter in signature.parameters.values()
        if parameter.default is parameter.empty
        and parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
    ]
    guess = len(required) > 1 if batch is None else batch
    try:
        signature.bind(*(("data", 1) if guess else ("data",)))
    except TypeError:
        wanted = "mechanism(data, size)" if guess else "mechanism(data)"
        raise InvalidInputError(
            f"the mechanism cannot be called as {wanted}",
            "wrap it in a lambda of the data, or of the data and the number of draws",
            "not-callable",
        ) from None
    return guess

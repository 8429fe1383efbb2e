"""A query's result as NumPy arrays, batch by batch, while the engine works on the next ones.

The engine hands batches over by Arrow's C stream interface: structures in memory of a fixed layout, which need no
package to read. Only columns of 32 or 64 bits without NULL come here, so a column is one piece of memory.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt

Batch = dict[str, npt.NDArray[Any]]
FORMATS: dict[bytes, type[np.generic]] = {b"i": np.int32, b"I": np.uint32, b"l": np.int64, b"L": np.uint64}
NAME = b"arrow_array_stream"


def _called(result: type[Any] | None, *given: type[Any]) -> Any:
    """A function in the engine. It runs without the interpreter's lock, so other threads can work meanwhile."""
    return ctypes.CFUNCTYPE(result, *given)


class _Schema(ctypes.Structure):
    """What a column holds, or the table of all columns."""


class _Array(ctypes.Structure):
    """A column of one batch, or the batch with a child for each column."""


class _Stream(ctypes.Structure):
    """Gives one batch after the other."""


_Schema._fields_ = [
    ("format", ctypes.c_char_p),
    ("name", ctypes.c_char_p),
    ("metadata", ctypes.c_char_p),
    ("flags", ctypes.c_int64),
    ("count", ctypes.c_int64),
    ("children", ctypes.POINTER(ctypes.POINTER(_Schema))),
    ("dictionary", ctypes.POINTER(_Schema)),
    ("release", _called(None, ctypes.POINTER(_Schema))),
    ("private", ctypes.c_void_p),
]
_Array._fields_ = [
    ("length", ctypes.c_int64),
    ("nulls", ctypes.c_int64),
    ("offset", ctypes.c_int64),
    ("buffer_count", ctypes.c_int64),
    ("count", ctypes.c_int64),
    ("buffers", ctypes.POINTER(ctypes.c_void_p)),
    ("children", ctypes.POINTER(ctypes.POINTER(_Array))),
    ("dictionary", ctypes.POINTER(_Array)),
    ("release", _called(None, ctypes.POINTER(_Array))),
    ("private", ctypes.c_void_p),
]
_Stream._fields_ = [
    ("schema", _called(ctypes.c_int, ctypes.POINTER(_Stream), ctypes.POINTER(_Schema))),
    ("next", _called(ctypes.c_int, ctypes.POINTER(_Stream), ctypes.POINTER(_Array))),
    ("error", _called(ctypes.c_char_p, ctypes.POINTER(_Stream))),
    ("release", _called(None, ctypes.POINTER(_Stream))),
    ("private", ctypes.c_void_p),
]


class _Owned:
    """A structure that the engine filled and that is given back to it with this object."""

    def __init__(self, made: type[_Schema] | type[_Array], fill: Callable[[Any, Any], int], stream: _Stream) -> None:
        self.filled: Any = made()
        if fill(ctypes.byref(stream), ctypes.byref(self.filled)) != 0:
            raise duckdb.Error(stream.error(ctypes.byref(stream)))

    def __del__(self) -> None:
        if self.filled.release:
            self.filled.release(ctypes.byref(self.filled))


def batches(cursor: duckdb.DuckDBPyConnection, sql: str) -> Iterator[Batch]:
    """The columns of a query by name, some rows at a time. Arrays are only read; each keeps its batch in memory."""
    capsule = cursor.sql(sql).__arrow_c_stream__()
    stream = _Stream.from_address(_address(capsule))  # lives as long as the capsule
    table = _Owned(_Schema, stream.schema, stream)
    columns = [table.filled.children[place].contents for place in range(table.filled.count)]
    types = {column.name.decode(): FORMATS[column.format] for column in columns}
    while True:
        batch = _Owned(_Array, stream.next, stream)
        if not batch.filled.release:
            return
        if batch.filled.length:
            yield {name: _column(batch, place, type_) for place, (name, type_) in enumerate(types.items())}


def _address(capsule: object) -> int:
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    found: int = pointer(capsule, NAME)
    return found


def _column(batch: _Owned, place: int, type_: type[np.generic]) -> npt.NDArray[Any]:
    """One column where it lies. The array holds on to the memory, which holds on to the batch."""
    column = batch.filled.children[place].contents
    if column.nulls != 0:
        raise ValueError("a column with NULL")
    size = np.dtype(type_).itemsize
    memory = (ctypes.c_char * (column.length * size)).from_address(column.buffers[1] + column.offset * size)
    memory.owner = batch
    found = np.frombuffer(memory, type_)
    found.flags.writeable = False
    return found

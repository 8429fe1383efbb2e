"""The definition of the rows of a course, in slow and plain Python: value by value, unit by unit."""

from __future__ import annotations

import datetime as dt
import hashlib
from collections import defaultdict
from fractions import Fraction

import numpy as np

from privet.backends import Course
from privet.backends.content import identity
from privet.backends.readable import is_nobody, read
from privet.core import calendar
from privet.core.evaluate import evaluate
from privet.core.expression import Value
from privet.core.ranges import shape_of
from privet.core.shape import Shape, shape_of_kind
from support import nasty


def steps(value: Value, shape: Shape) -> int:
    """How many steps a value is above the lowest one."""
    match value:
        case bool():
            return int(value)
        case Fraction():
            return int(value / shape.step) - shape.low
        case dt.datetime():
            return calendar.microseconds(value) - shape.low
        case dt.date():
            return calendar.days(value) - shape.low
        case _:
            raise TypeError(value)


def defined(course: Course, made: nasty.Made) -> list[tuple[float, ...]]:
    """Rows with a unit that pass and have every value; of a unit the first by a keyed hash of their numbers."""
    table = course.table
    shapes = {name: shape_of_kind(kind) for name, kind in table.columns.items()}
    units: dict[object, list[tuple[float, ...]]] = defaultdict(list)
    for place, raw in enumerate(made.rows):
        row = {name: read(raw[name], kind) for name, kind in table.columns.items()}
        if table.unit is not None and is_nobody(raw[table.unit]):
            continue
        if course.where is not None and evaluate(course.where, row) is not True:
            continue
        values = [evaluate(value, row) for value in course.values]
        if any(value is None for value in values):
            continue
        numbers = [steps(value, shape_of(one, shapes)) for value, one in zip(values, course.values, strict=True)]
        units[place if table.unit is None else identity(raw[table.unit])].append(tuple(map(float, numbers)))
    return [one for rows in units.values() for one in sorted(rows, key=lambda row: _word(row, course))[: course.rows]]


def _word(row: tuple[float, ...], course: Course) -> bytes:
    return hashlib.blake2b(np.array(row).tobytes(), key=course.secret).digest()

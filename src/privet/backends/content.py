"""What the hash that decides who keeps what sees of units, keys and rows: texts that stand for contents, not places."""

from __future__ import annotations

import datetime as dt
import hashlib
from collections.abc import Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import assert_never

from privet.backends import Task
from privet.backends.readable import text_of
from privet.core import calendar
from privet.core.cells import Keys
from privet.core.claim import claim
from privet.core.expression import Value
from privet.core.ranges import shape_of
from privet.core.shape import Shape
from privet.core.texts import held

REST = "rest"  # no key looks like it: every key begins with a number or N


def held_key(key: Keys) -> Keys:
    return tuple(held(value) if isinstance(value, str) else value for value in key)


def digest(text: str) -> str:
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()


def item(text: str | None) -> str:
    """A text with its length in bytes before it, so that no two lists of items look the same side by side."""
    return "N" if text is None else f"{len(text.encode())}:{text}"


def items(values: Iterable[Value], shapes: Iterable[Shape]) -> str:
    return "".join(item(canonical(value, shape)) for value, shape in zip(values, shapes, strict=True))


def unit_text(unit: object) -> str:
    """What the hash sees of a unit. Two units may look alike to it; they are told apart by their values."""
    match unit:
        case float() | Decimal():
            return str(int(unit)) if -(2**53) < unit < 2**53 and unit == int(unit) else ""
        case dt.datetime():
            return str(calendar.microseconds(unit))
        case _:
            return text_of(unit) or ""


@claim("unit-wise")
def identity(unit: object) -> object:
    """What a unit is called in every table: its text, so that 1, 1.0 and "1" are one unit wherever they stand. Of the
    values of one column no two have the same. What has no text is only like itself."""
    match unit:
        case Decimal():
            text = f"{unit:f}"
            return text.rstrip("0").rstrip(".") if "." in text else text
        case float():
            return unit_text(unit) or unit
        case _:
            word = text_of(unit)
            return unit if word is None else word


def key_shapes(task: Task) -> list[Shape]:
    return [shape_of(key.value, task.passing) for key in task.plan.keys]


@claim("bounding")
def cell_text(task: Task, shapes: Sequence[Shape], key: Keys, cell: int) -> str:
    """What the hash sees of a cell: of public ones the place, which never changes; of others the key, so that which
    cells a unit keeps does not depend on what other keys were chosen."""
    if not task.cells.private:
        return str(cell)
    return REST if task.cells.chosen is not None and cell == len(task.cells.chosen) else items(key, shapes)


def canonical(value: Value, shape: Shape) -> str | None:
    match value:
        case None:
            return None
        case str():
            return held(value)
        case bool():
            return "true" if value else "false"
        case Fraction():
            return str(value / shape.step)
        case dt.datetime():
            return str(calendar.microseconds(value))
        case dt.date():
            return str(calendar.days(value))
        case _:
            assert_never(value)

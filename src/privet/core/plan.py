"""A question as data: what it is asked of, a condition, groups, bounded aggregates, free post-processing.

No price, engine or connection inside. Fronts make plans; the engine, the backends and the attacks read them.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
from dataclasses import dataclass, field, fields, is_dataclass
from enum import StrEnum
from fractions import Fraction
from typing import Any

from privet.core.expression import Expression


class Function(StrEnum):
    COUNT = "COUNT"
    COUNT_DISTINCT = "COUNT DISTINCT"
    SUM = "SUM"
    AVG = "AVG"
    VAR_POP = "VAR_POP"
    VAR_SAMP = "VAR_SAMP"
    STDDEV_POP = "STDDEV_POP"
    STDDEV_SAMP = "STDDEV_SAMP"
    COVAR_POP = "COVAR_POP"
    COVAR_SAMP = "COVAR_SAMP"
    CORR = "CORR"
    QUANTILE = "QUANTILE"
    MIN = "MIN"
    MAX = "MAX"


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """What to group by. Its values are public: they follow from the declarations."""

    name: str
    value: Expression


@dataclass(frozen=True, slots=True, kw_only=True)
class Aggregate:
    """COUNT(*) has no value; COUNT(x) counts where x is not NULL; COUNT DISTINCT without a value counts units.

    `second` is the other column of COVAR and CORR; `quantile` lies between 0 and 1.
    """

    name: str
    function: Function
    value: Expression | None = None
    second: Expression | None = None
    quantile: Fraction | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Computed:
    """What is computed from published numbers: of keys and aggregates, by their names."""

    name: str
    value: Expression


@dataclass(frozen=True, slots=True, kw_only=True)
class Total:
    """What an aggregate is of all groups that have the same values of the keys in `level`, made of the noisy numbers of
    these groups. Computed columns name it; it is no column of the answer."""

    name: str
    aggregate: str
    level: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """By an output or hidden column; NULLs come last either way."""

    name: str
    descending: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan:
    """The rows of a declared table."""

    table: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Joined:
    """Each row of `left` beside the rows of `right` that match it: of the same unit, with `by_unit`, otherwise of a
    public table; and equal in every pair of `on`, a column of the left and one of the right. NULL matches nothing.

    `names` gives the columns of the right that are there, (its name, its name here). With `outer` a row that nothing
    matches stays, without values. `most` rows of the right count of one unit, chosen as bounding does; of a public
    table it is None, or 1 where its rows are told apart by `on`: then no row of the left is there twice.
    """

    left: Origin
    right: Origin
    by_unit: bool
    on: tuple[tuple[str, str], ...] = ()
    names: tuple[tuple[str, str], ...]
    outer: bool = False
    most: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PerUnit:
    """One row for each unit and keys, of rows that pass `where`: what a unit's own rows add up to, exactly.

    Of COUNT, COUNT DISTINCT, SUM, AVG (rounded to a step of its column, halves up), MIN and MAX. As in SQL, no value
    is there where all are missing, but for counts.
    """

    source: Origin
    where: Expression | None = None
    keys: tuple[Key, ...] = ()
    aggregates: tuple[Aggregate, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class By:
    """One step of an order; NULLs come last either way."""

    value: Expression
    descending: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Numbered:
    """The rows that pass `where`, each with its number 1, 2, 3, ... among those of its unit with the same values of
    `keys`; of these the ones from `first` to `last` stay.

    Rows are numbered in the order of `by`; those that it leaves equal, in the order of the texts of their `columns`, in
    the direction of the last of `by`: so descending numbers are the ascending ones from the other end. A row has these
    columns and its number, called `name`, and no others: two rows with the same text are the same row, so what comes
    out never depends on the order in which rows were stored or read.
    """

    source: Origin
    where: Expression | None = None
    keys: tuple[Expression, ...] = ()
    by: tuple[By, ...]
    columns: tuple[str, ...]
    name: str
    first: int = 1
    last: int | None = None


Origin = Scan | Joined | PerUnit | Numbered


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """It is asked of the rows of `table`, or of `origin`, which begins with that table.

    `levels` gives the key names of every grouping to show; without any it is that by all keys. Coarser ones are sums of
    it. `outputs` names the keys, aggregates and computed columns to show, in order; others may serve HAVING and ORDER
    BY only. HAVING, ORDER BY and LIMIT see published values, so they are free. In `having` a column is a key, an
    aggregate or a computed one. With
    `private_keys` only groups with enough units are shown, also where all are public; `other` names one more row for
    what is not shown. With `intervals` quantiles, MIN and MAX have intervals, paid from their own price. `totals` are
    what computed columns may use beside the numbers of their own row.
    """

    table: str
    origin: Origin | None = None
    where: Expression | None = None
    keys: tuple[Key, ...] = ()
    aggregates: tuple[Aggregate, ...]
    levels: tuple[tuple[str, ...], ...] = ()
    computed: tuple[Computed, ...] = ()
    outputs: tuple[str, ...]
    having: Expression | None = None
    order: tuple[Order, ...] = ()
    limit: int | None = None
    offset: int = 0
    private_keys: bool = False
    other: str | None = None
    intervals: bool = True
    totals: tuple[Total, ...] = field(default=(), metadata={"added": True})


def canonical(value: Any) -> Any:
    """Plans, prices and declarations as plain JSON values, the same for equal ones and never for unequal ones.

    A field with "added" in its metadata came after answers had been stored: it is named, and left out where it has its
    default, so that what earlier versions stored under a request is found again.
    """
    if is_dataclass(value) and not isinstance(value, type):
        found: list[Any] = [type(value).__name__]
        for each in fields(value):
            item = getattr(value, each.name)
            if "added" not in each.metadata:
                found.append(canonical(item))
            elif item != each.default:
                found.append(["added", each.name, canonical(item)])
        return found
    match value:
        case None | bool() | int() | str():
            return value
        case Fraction():
            return ["fraction", str(value)]
        case dt.date():
            return [type(value).__name__, value.isoformat()]
        case list() | tuple():
            return ["list", *(canonical(item) for item in value)]
        case _:
            raise TypeError(f"no canonical form for {type(value).__name__}")


def fingerprint(*values: Any) -> str:
    """A digest that names a request for ever."""
    text = json.dumps(canonical(values), separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()

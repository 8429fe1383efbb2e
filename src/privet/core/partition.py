"""The owner's parts of all units, such as hospitals or regions: each unit is in one part, or in none.

A question about one part sees the units of that part and nobody else, so what it costs is charged to that part alone
(docs/design/rules.md, rule 8).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import assert_never

from privet.core.claim import claim
from privet.core.expression import And, Case, Column, Compare, Expression, Literal, Relation
from privet.core.origin import origin_of, shapes_of
from privet.core.plan import Aggregate, Function, Joined, Numbered, Origin, PerUnit, Plan, Scan
from privet.core.rational import show
from privet.core.shape import Shapes
from privet.core.unit import Neighbors
from privet.errors import InvalidInputError, RefusedQueryError

MOST_PARTS = {Neighbors.ADD_REMOVE: 100, Neighbors.REPLACE: 40}  # replacing, every two of them have an account
LONGEST_PART = 200  # bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Partition:
    """The part of a unit is the first of `parts` that its rows in `table` have in `column`; of a row unit, its value
    there. `register` is a digest of how that table was declared then: in the ledger, not in the declarations."""

    table: str
    column: str
    parts: tuple[str, ...]
    register: str = ""

    def place(self, part: object) -> int:
        """The number of a part."""
        if not isinstance(part, str) or part not in self.parts:
            raise InvalidInputError(
                f"there is no part {show(part)}", f"the parts are: {', '.join(self.parts)}", "unknown-part"
            )
        return self.parts.index(part)


def check_partition(partition: Partition, neighbors: Neighbors) -> None:
    """Raise unless its parts can be told apart and counted."""
    most = MOST_PARTS[neighbors]
    if not 2 <= len(partition.parts) <= most:
        raise InvalidInputError(
            f"a partition has 2 to {most} parts under {neighbors}, not {len(partition.parts)}",
            f"divide the units by a category with 2 to {most} values",
            "out-of-range",
        )
    if len(set(partition.parts)) < len(partition.parts):
        raise InvalidInputError("a partition lists a part twice", "list each part once", "duplicate-value")
    for part in partition.parts:
        if not _is_name(part):
            raise InvalidInputError(
                f"{show(part)} cannot name a part", f"use a text of 1 to {LONGEST_PART} bytes", "invalid-name"
            )


def _is_name(part: object) -> bool:
    try:
        return isinstance(part, str) and 1 <= len(part.encode()) <= LONGEST_PART
    except UnicodeEncodeError:  # half of a surrogate pair
        return False


@claim("one-part-a-unit")
def of_part(plan: Plan, partition: Partition, part: str, declared: Mapping[str, Shapes]) -> Plan:
    """The same question, asked of the units of this part: their rows are joined with the unit's own part, which is
    made of nothing but that unit's rows in the register. `declared` are the columns of every table of the plan."""
    origin, place = origin_of(plan), partition.place(part)
    name = _fresh("part", shapes_of(origin, declared))
    return replace(plan, origin=_with_part(origin, name, partition), where=_both(plan.where, _is_at(name, place)))


def _with_part(origin: Origin, name: str, partition: Partition) -> Joined:
    made = Aggregate(name=name, function=Function.MIN, value=_place_of(partition))
    own = PerUnit(source=Scan(table=partition.table), aggregates=(made,))
    return Joined(left=origin, right=own, by_unit=True, names=((name, name),))


def _is_at(name: str, place: int) -> Expression:
    return Compare(Relation.EQUAL, Column(name), Literal(Fraction(place)))


@claim("one-part-a-unit")
def of_part_by_row(plan: Plan, partition: Partition, part: str) -> Plan:
    """The same where each row is a unit: its part is its own value."""
    partition.place(part)
    if plan.table != partition.table or not _keeps(origin_of(plan), partition.column):
        raise RefusedQueryError(
            f"each row is a unit, and only those of {show(partition.table)} have a part",
            f"ask rows of {show(partition.table)}, or leave the part out",
            "not-divided",
        )
    return replace(plan, where=_both(plan.where, _has(partition, part)))


def _has(partition: Partition, part: str) -> Expression:
    return Compare(Relation.EQUAL, Column(partition.column), Literal(part))


@claim("one-part-a-unit")
def asks_part(plan: Plan, partition: Partition, part: str, *, by_row: bool) -> bool:
    """Is the plan asked of this part alone? Only what the two functions above make is; more conditions may follow."""
    origin, wanted = origin_of(plan), list(_conditions(plan.where))
    if by_row:
        return plan.table == partition.table and _keeps(origin, partition.column) and _has(partition, part) in wanted
    if not isinstance(origin, Joined) or len(origin.names) != 1:
        return False
    name = origin.names[0][1]
    made = origin == _with_part(origin.left, name, partition)
    return made and part in partition.parts and _is_at(name, partition.place(part)) in wanted


def _conditions(where: Expression | None) -> Iterator[Expression | None]:
    """All of which a row must fulfill."""
    if isinstance(where, And):
        for item in where.items:
            yield from _conditions(item)
    else:
        yield where


def _place_of(partition: Partition) -> Expression:
    """The number of a row's part; a value that is no part has none."""
    column = Column(partition.column)
    branches = tuple(
        (Compare(Relation.EQUAL, column, Literal(part)), Literal(Fraction(place)))
        for place, part in enumerate(partition.parts)
    )
    return Case(branches, Literal(None))


def _keeps(origin: Origin, column: str) -> bool:
    """Is this column what the leading table has there? A join could put another of that name in its place."""
    match origin:
        case Scan():
            return True
        case Joined():
            return column not in {here for _, here in origin.names} and _keeps(origin.left, column)
        case PerUnit() | Numbered():
            return False
        case _:
            assert_never(origin)


def _both(where: Expression | None, here: Expression) -> Expression:
    return here if where is None else And((where, here))


def _fresh(name: str, taken: Iterable[str]) -> str:
    used = {other.casefold() for other in taken}
    while name in used:
        name += "_"
    return name

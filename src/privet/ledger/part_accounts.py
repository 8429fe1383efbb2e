"""TRUSTED and PURE: parts of the units in the ledger. Which accounts a charge is counted in, and how entries name it.

Under add-remove each part has an account with the whole budget: what everybody was asked about, and that part's own
charges. Under replace a unit can go from one part to another, so each two parts have one, which counts both.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from privet.core.claim import claim
from privet.core.partition import Partition
from privet.core.rational import show
from privet.core.unit import Neighbors
from privet.errors import InvalidInputError
from privet.ledger.schema import ALL

ONE, TWO = "part:", "parts:"


@claim("parallel-parts")
@lru_cache(maxsize=1024)
def counted(partition: Partition | None, neighbors: Neighbors, part: str | None) -> tuple[str, ...]:
    """The accounts, beside the analyst's own, that a charge is added to: of a question about everybody all of them,
    of a question about a part those in which a unit of that part is counted."""
    if partition is None:
        if part is not None:
            raise InvalidInputError(
                "the units of this vault are not divided into parts", "leave the part out", "not-divided"
            )
        return (ALL,)
    pairs = itertools.combinations(partition.parts, 2) if neighbors is Neighbors.REPLACE else ()
    groups = [*((one,) for one in partition.parts), *pairs]
    if part is None:
        return (ALL, *map(_name, groups))
    partition.place(part)
    return tuple(_name(group) for group in groups if part in group)


def _name(parts: tuple[str, ...]) -> str:
    """Different for different parts: JSON keeps two names apart, whatever they contain."""
    return ONE + parts[0] if len(parts) == 1 else TWO + json.dumps(parts)


def called(account: str) -> str:
    """How we name an account to the one who asked."""
    if account.startswith(TWO):
        one, other = json.loads(account.removeprefix(TWO))
        return f"the budget of parts {show(one)} and {show(other)} together"
    if account.startswith(ONE):
        return f"the budget of part {show(account.removeprefix(ONE))}"
    return "the budget" if account == ALL else "your share of the budget"


def partition_text(partition: Partition) -> str:
    """The detail of its entry."""
    names = {"column": partition.column, "register": partition.register, "table": partition.table}
    return json.dumps({**names, "parts": partition.parts}, sort_keys=True)


def partition_from(text: str) -> Partition:
    said = json.loads(text)
    return Partition(
        table=str(said["table"]),
        column=str(said["column"]),
        parts=tuple(map(str, said["parts"])),
        register=str(said["register"]),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What the detail of a charge says: what is one unit, whose units, and whom new tables protect."""

    domain: str
    part: str | None = None
    noted: Mapping[str, str] = field(default_factory=dict)


def charge_text(said: Said) -> str:
    """The detail of a charge. A domain never begins with {."""
    more = {"part": said.part} if said.part is not None else {}
    noted = {"noted": dict(said.noted)} if said.noted else {}
    return json.dumps({"domain": said.domain, **more, **noted}, sort_keys=True) if more or noted else said.domain


def charge_from(text: str) -> Said:
    if not text.startswith("{"):
        return Said(domain=text)
    parts = json.loads(text)
    part = None if parts.get("part") is None else str(parts["part"])
    noted = {str(name): str(protects) for name, protects in parts.get("noted", {}).items()}
    return Said(domain=str(parts["domain"]), part=part, noted=noted)

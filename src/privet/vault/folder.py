"""The folder of a vault: what lies in it, and whether declarations and ledger agree."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from privet.catalog import vault_file
from privet.catalog.declarations import Catalog, Table
from privet.core.rational import show
from privet.errors import InvalidInputError
from privet.ledger import Ledger, anchor
from privet.ledger.transaction import other_protection

PUBLIC, EACH_ROW = "public = true", "rows_are_units = true"  # whom a table protects, in the words of the ledger
DECLARATIONS, LEDGER = "vault.toml", "ledger.sqlite"


def remains(folder: Path) -> list[Path]:
    """What a creation that was interrupted has left: no table, and nothing that a ledger ever released. Anything else
    in the folder is somebody's."""
    found, ledger = list(folder.iterdir()), re.escape(LEDGER)
    ours = re.compile(
        rf"\.?{re.escape(DECLARATIONS)}(\.[0-9a-f]+)?|{ledger}(\.part(-wal|-shm|-journal)?|-anchor(\.[0-9a-f]+)?)?"
    )
    seen = anchor.read(folder / LEDGER)
    begun = all(ours.fullmatch(one.name) for one in found) and not _size(folder / LEDGER)
    if found and not (begun and _declares_nothing(folder / DECLARATIONS) and (seen is None or seen.entry == 1)):
        raise InvalidInputError(
            f"{show(str(folder))} is not empty", "name a new folder, or open the vault that is there", "vault-exists"
        )
    return found


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _declares_nothing(path: Path) -> bool:
    try:
        return not path.exists() or not vault_file.read(path).tables
    except InvalidInputError:
        return False


def check_agreed(declared: Catalog, ledger: Ledger) -> None:
    """What the ledger has charged for, by hand-edited declarations, must be what they still say."""
    if ledger.terms.neighbors is not declared.neighbors:
        raise InvalidInputError(
            f"{DECLARATIONS} says {declared.neighbors}, but the ledger was created with {ledger.terms.neighbors}",
            f'write neighbors = "{ledger.terms.neighbors}" in {DECLARATIONS} again: the relation never changes',
            "relation-fixed",
        )
    for table in declared.tables.values():
        check_protection(ledger, table)


def check_protection(ledger: Ledger, table: Table) -> None:
    """Raise InvalidInputError if the ledger was charged for the table under another unit."""
    said = ledger.noted.get(table.name.casefold(), table.protects)
    if said != table.protects:
        raise other_protection(table.name, said, table.protects)


def check_domain(ledger: Ledger, table: Table) -> None:
    """Raise InvalidInputError if the ledger was charged for another kind of unit, even if its tables are gone."""
    others = {said for said in ledger.noted.values() if said not in (PUBLIC, table.protects)}
    if not table.public and any((said == EACH_ROW) != (table.unit is None) for said in others):
        raise InvalidInputError(
            f"the ledger has charged for {'people' if table.unit is None else 'rows'}, and table {show(table.name)}"
            f" protects {table.domain}",
            "make a new vault for another kind of unit",
            "mixed-units",
        )


def with_parts(folder: Path, declared: Catalog, ledger: Ledger) -> Catalog:
    """The declarations with the ledger's parts: its word holds. They are written down if a crash prevented that."""
    partition = ledger.partition
    said = None if partition is None else replace(partition, register="")
    if declared.partition == said:
        return declared
    if declared.partition is None:
        with ledger.exclusive():
            declared = replace(vault_file.read(folder / DECLARATIONS), partition=said)
            vault_file.write(folder / DECLARATIONS, declared)
        return declared
    there = "no parts" if said is None else "other parts"
    remedy = (
        f"remove [partition] from {DECLARATIONS}"
        if said is None
        else f"write this there again: {vault_file.partition_section(said)}"
    )
    raise InvalidInputError(
        f"{DECLARATIONS} has a partition, but the ledger has {there}", remedy, "declaration-changed"
    )

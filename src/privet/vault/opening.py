"""Vaults are created once and opened often."""

from __future__ import annotations

import os
from pathlib import Path

from privet.catalog import vault_file
from privet.catalog.declarations import Catalog
from privet.core.accountant import Budget
from privet.core.rational import show
from privet.core.unit import neighbors_from
from privet.errors import InvalidInputError
from privet.ledger import Policy, Terms
from privet.ledger import sqlite as ledgers
from privet.ledger.connection import alone_in, sync_folder
from privet.spelling import did_you_mean
from privet.vault.folder import DECLARATIONS, LEDGER, check_agreed, remains, with_parts
from privet.vault.keywords import known_keywords
from privet.vault.vault import Vault


@known_keywords()
def create(  # noqa: PLR0913  the public contract
    path: str | os.PathLike[str],
    *,
    budget: Budget,
    neighbors: str = "add-remove",
    on_exhausted: str = "refuse",
    rho_without_delta: str = "allow",
    analysts: str = "anyone",
    testing: bool = False,
) -> Vault:
    """A new vault: an empty folder becomes one. The budget, the relation and the policy never change.

    With rho_without_delta="refuse" a price in rho needs a delta, so that every charge has a finite epsilon. With
    analysts="granted" only the owner and analysts with a grant may ask. The owner may change these lines of vault.toml
    later.
    """
    folder = Path(path)
    terms = Terms(
        budget=_checked_budget(budget),
        neighbors=neighbors_from(neighbors),
        policy=_policy(on_exhausted),
        testing=testing,
    )
    new = [one for one in (folder.absolute(), *folder.absolute().parents) if not one.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with alone_in(folder):
            for rest in remains(folder):
                rest.unlink()
            declared = Catalog(neighbors=terms.neighbors, rho_without_delta=rho_without_delta, analysts=analysts)
            vault_file.write(folder / DECLARATIONS, declared)
            vault = Vault(folder, declared, ledgers.create(folder / LEDGER, terms))  # last: it makes the folder a vault
    except OSError as error:
        raise InvalidInputError(
            f"cannot create the folder {show(str(folder))}: {error.strerror}", "name another folder", "cannot-write"
        ) from None
    for one in new:  # their names are durable, too
        sync_folder(one.parent)
    return vault


def open(path: str | os.PathLike[str]) -> Vault:
    """The vault in a folder. Tables that live in memory need `attach` before they can be asked."""
    folder = Path(path)
    if not (folder / DECLARATIONS).is_file() or not (folder / LEDGER).is_file():
        raise InvalidInputError(
            f"{show(str(folder))} is not a vault", f"{_near(folder)}make one with pv.create", "vault-missing"
        )
    declared = vault_file.read(folder / DECLARATIONS)
    ledger = ledgers.open(folder / LEDGER)
    try:
        check_agreed(declared, ledger)
        return Vault(folder, with_parts(folder, declared, ledger), ledger)
    except BaseException:
        ledger.close()
        raise


def _near(folder: Path) -> str:
    """A vault beside it with a name like it."""
    try:
        beside = [other.name for other in folder.absolute().parent.iterdir() if (other / DECLARATIONS).is_file()]
    except OSError:
        return ""
    return did_you_mean(folder.name, beside)


def _checked_budget(budget: object) -> Budget:
    if not isinstance(budget, Budget):
        raise InvalidInputError(
            f"budget must be a Budget, not {show(budget)}", "give pv.Budget(epsilon=1, delta=1e-9)", "wrong-type"
        )
    return budget


def _policy(text: object) -> Policy:
    try:
        return Policy(text)  # type: ignore[arg-type]
    except ValueError:
        raise InvalidInputError(
            f"on_exhausted must be 'refuse' or 'warn', not {show(text)}",
            "give on_exhausted='refuse', which keeps the promise",
            "unknown-choice",
        ) from None

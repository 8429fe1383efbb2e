"""A data frame with a budget around it, in one call: for notebooks, lessons and first tries."""

from __future__ import annotations

import secrets
import shutil
import tempfile
import weakref
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from privet.core.schema import Kind
from privet.errors import InvalidInputError
from privet.vault.opening import create
from privet.vault.vault import Vault

if TYPE_CHECKING:
    import os
    from types import EllipsisType

    from privet.backends import Backend
    from privet.core.accountant import Budget
    from privet.frame import Frame
    from privet.ledger import Ledger

TEMPORARY = "temporary: the ledger ends with this process, and nobody else can check it"


def from_frame(  # noqa: PLR0913  what create and add_table need
    data: object,
    *,
    unit: str | EllipsisType | None = ...,
    columns: Mapping[str, Kind] | None = None,
    budget: Budget,
    neighbors: str = "add-remove",
    folder: str | os.PathLike[str] | None = None,
    name: str = "data",
    **declared: Any,
) -> Frame:
    """A vault with one table, and the frame of that table. `declared` goes to `add_table`: max_groups=3 and so on.

    Without a `folder` the vault lies in a temporary one and is removed when nothing refers to it any more, at the
    latest with this process. Then its ledger is gone, too: made anew, it knows nothing of what was released before,
    and the promise holds for each ledger by itself only. Give a folder for data that matter.
    """
    if not columns:
        raise InvalidInputError(
            "no column is declared: which values there can be must come from what everybody may know, not from data",
            'say it: pv.from_frame(data, unit="patient_id", budget=pv.Budget(epsilon=1),'
            ' columns={"age": pv.Integer(0, 120), "cost": pv.Number(0, 5000, step="0.01"),'
            ' "ward": pv.Category(["A", "B"])})',
            "not-declared",
        )
    vault = create(_fresh_folder() if folder is None else folder, budget=budget, neighbors=neighbors)
    try:
        vault.add_table(name, data, unit=unit, columns=columns, **declared)
    except BaseException:
        _end(vault._backend, vault.ledger, vault.folder)  # or a second try would find the folder taken
        raise
    if folder is None:
        _only_for_now(vault)
    return vault.table(name)


def _fresh_folder() -> Path:
    return Path(tempfile.gettempdir()) / f"privet-{secrets.token_hex(16)}"


def _only_for_now(vault: Vault) -> None:
    vault.note = TEMPORARY
    weakref.finalize(vault, _end, vault._backend, vault.ledger, vault.folder)


def _end(backend: Backend, ledger: Ledger, folder: Path) -> None:
    backend.close()
    ledger.close()
    shutil.rmtree(folder, ignore_errors=True)

"""What the files of the tables were like when they were declared, for the owner alone: `files.json` in the vault.

Size and time of a file, and a digest of it, are functions of the data (docs/design/rules.md, rule 7). They stand in no
declaration, entry, export or receipt, and no analyst is told which of them differs. The digest is keyed, so that it
says nothing to somebody who sees it without the key beside it.
"""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from privet.backends.duckdb import DuckDb
from privet.catalog.declarations import Table
from privet.catalog.vault_file import replace_file
from privet.core.rational import show
from privet.errors import InvalidInputError

FILES = "files.json"
KEY_BYTES = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenFiles:
    """The notes of one vault."""

    folder: Path
    backend: DuckDb

    def note(self, table: Table) -> None:
        """As the files are now, with their digest: for a table that is declared now."""
        if table.source.kind == "memory":
            return
        notes, marks = self._read(), self._marks(table)  # marks first: a file that changes meanwhile is noticed
        key = notes.setdefault("key", secrets.token_hex(KEY_BYTES))
        digest = self.backend.digest(table, bytes.fromhex(key))
        notes["tables"][table.name] = {"version": table.version, "files": marks, "digest": digest}
        self._write(notes)

    def forget(self, name: str) -> None:
        notes = self._read()
        if notes["tables"].pop(name, None) is not None:
            self._write(notes)

    def check_same(self, table: Table, *, divides: bool) -> None:
        """For the owner: raise InvalidInputError if the files are others than when the table was declared. No content
        is read. What an older version of Privet declared is not compared. A table that `divides` the units into parts
        cannot be updated."""
        noted = self._noted(table)
        if noted is not None and noted["files"] != self._marks(table):
            raise InvalidInputError(
                f"table {show(table.name)}: its files were replaced or changed since version {table.version} was"
                f" declared: {_difference(noted['files'], self._marks(table))}",
                f"if the data are the same, only moved or copied, run `privet check {self.folder.name} {table.name}"
                f" --digest`; {self._remedy(table, divides)}",
                "data-changed",
            )

    def compare(self, table: Table, *, divides: bool) -> bool:
        """For the owner: the same by the content. Files that are only moved or copied are noted as they are now; so are
        those of which nothing was noted, unless the table `divides` the units. False if nothing was compared."""
        if table.source.kind == "memory":
            return False
        noted, key = self._noted(table), self._read().get("key")
        if noted is None or key is None:
            if not divides:
                self.note(table)
            return False
        if self.backend.digest(table, bytes.fromhex(key)) != noted["digest"]:
            raise InvalidInputError(
                f"table {show(table.name)}: its data have changed since version {table.version} was declared",
                self._remedy(table, divides),
                "data-changed",
            )
        if noted["files"] != self._marks(table):
            self.note(table)
        return True

    def _remedy(self, table: Table, divides: bool) -> str:
        if divides:
            return "if they are new, put the old data back: they say which part each unit is in, and that never changes"
        return f"if they are new, run `privet update {self.folder.name} {table.name}`, which raises its version"

    def _marks(self, table: Table) -> list[list[Any]]:
        return [list(mark) for mark in self.backend.marks(table)] if table.source.kind != "memory" else []

    def _noted(self, table: Table) -> dict[str, Any] | None:
        """Of this version: a change that was interrupted has noted another."""
        noted: dict[str, Any] | None = self._read()["tables"].get(table.name)
        return noted if noted is not None and noted["version"] == table.version else None

    def _read(self) -> dict[str, Any]:
        try:
            found: dict[str, Any] = json.loads((self.folder / FILES).read_text(encoding="utf-8"))
            for one in found["tables"].values():
                if not (isinstance(one["version"], int) and isinstance(one["files"], list) and one["digest"]):
                    raise ValueError
            return found
        except FileNotFoundError:
            return {"tables": {}}
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            raise InvalidInputError(
                f"{FILES} cannot be read",
                f"remove it from {self.folder.name}, then run `privet check {self.folder.name} --digest`",
                "vault-unreadable",
            ) from None

    def _write(self, notes: dict[str, Any]) -> None:
        try:
            replace_file(self.folder / FILES, json.dumps(notes, indent=1).encode(), mode=0o600)
        except OSError:
            raise InvalidInputError(
                f"{FILES} cannot be written", "check the disk and the folder's permissions", "cannot-write"
            ) from None


def _difference(old: list[list[Any]], new: list[list[Any]]) -> str:
    """In words, for the owner."""
    names = [[one[0] for one in files] for files in (old, new)]
    if names[0] != names[1]:
        return (
            f"there were {len(old):,} files, now there are {len(new):,}"
            if len(old) != len(new)
            else "the files have other names"
        )
    one, other = next(pair for pair in zip(old, new, strict=True) if pair[0] != pair[1])
    if one[3] != other[3]:
        return f"{one[0]} had {one[3]:,} bytes, now it has {other[3]:,}"
    return f"{one[0]} is another file, or was written again"

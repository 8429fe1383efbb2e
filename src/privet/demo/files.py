"""The examples and pages that help texts name: part of the package, and written to a folder for whoever wants them."""

from __future__ import annotations

import shutil
from pathlib import Path

from privet.core.rational import show
from privet.errors import InvalidInputError

NAMES = ("examples", "docs")


def write(folder: Path) -> list[Path]:
    """Copies them into the folder, which is made if it is not there. Nothing is overwritten."""
    new = [folder / name for name in NAMES]
    taken = next((path for path in new if path.exists()), None)
    if taken is not None:
        raise InvalidInputError(
            f"{show(str(taken))} exists already", 'name another folder, for example files="privet-files"', "file-exists"
        )
    try:
        for path in new:
            shutil.copytree(_place() / path.name, path)
    except OSError as error:
        raise InvalidInputError(
            f"cannot write {show(str(folder))}: {error.strerror or 'not all files'}",
            "name a folder that you may write to",
            "cannot-write",
        ) from None
    return new


def _place() -> Path:
    """In the installed package, or in the repository."""
    inside = Path(__file__).parents[1] / "files"
    return inside if inside.is_dir() else Path(__file__).parents[3]

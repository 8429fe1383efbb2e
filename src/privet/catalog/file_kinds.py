"""Which kind of source a path names, and which files it stands for: itself, those of a folder, or of a pattern."""

from __future__ import annotations

from pathlib import Path

from privet.core.rational import show
from privet.errors import InvalidInputError

ENDINGS = {
    ".csv": "csv", ".tsv": "csv", ".tab": "csv", ".txt": "csv", ".gz": "csv",
    ".jsonl": "json", ".ndjson": "json", ".json": "json",
    ".parquet": "parquet", ".parq": "parquet", ".pq": "parquet",
    ".arrow": "arrow", ".feather": "arrow", ".ipc": "arrow",
    ".xlsx": "excel", ".xlsm": "excel", ".xlsb": "excel", ".xls": "excel", ".ods": "excel",
    ".duckdb": "duckdb", ".db": "duckdb", ".sqlite": "sqlite", ".sqlite3": "sqlite", ".db3": "sqlite",
    ".sas7bdat": "sas", ".xpt": "sas", ".sav": "spss", ".zsav": "spss", ".por": "spss", ".dta": "stata",
}  # fmt: skip
ARCHIVES = (".zip", ".7z", ".rar", ".tar", ".tar.gz", ".tgz", ".bz2", ".xz", ".zst")
MANY = ("csv", "parquet")  # kinds that may be a folder or a pattern
SQLITE = b"SQLite format 3\0"


def kind_of(path: Path) -> str | None:
    """By its ending; of a folder or a pattern by the files there. None if that says nothing.

    Raises InvalidInputError for an archive, and for a folder with files of two kinds."""
    if not path.is_file():
        found = {kind for kind in MANY if find(path, kind)}
        if len(found) > 1:
            raise InvalidInputError(
                f"{show(path.name)} has CSV and Parquet files",
                'say which are meant: kind = "csv" or kind = "parquet"',
                "contradictory-options",
            )
        if found or path.is_dir():
            return next(iter(found), "parquet")
    if path.name.lower().endswith(ARCHIVES):
        raise InvalidInputError(
            f"{show(path.name)} is packed", "unpack it, and name the file with the table", "wrong-ending"
        )
    kind = ENDINGS.get(_ending(path))
    if kind == "duckdb" and path.is_file():  # both kinds of database are called .db
        with path.open("rb") as file:
            return "sqlite" if file.read(len(SQLITE)) == SQLITE else kind
    return kind


def find(path: Path, kind: str) -> tuple[Path, ...]:
    """One file, all files of this kind below a folder, or those that a pattern names now, in a fixed order.

    Names that start with "_" or "." are notes of the program that wrote the folder.
    """
    if kind not in MANY or path.is_file():
        return (path,)
    anchor = Path(path.anchor)
    found = path.rglob("*") if path.is_dir() else anchor.glob(str(path.relative_to(anchor)))
    fits = _is_part if path.is_dir() else _may_be
    return tuple(sorted(file for file in found if file.name[0] not in "_." and file.is_file() and fits(file, kind)))


def _is_part(file: Path, kind: str) -> bool:
    return _ending(file) == f".{kind}"


def _may_be(file: Path, kind: str) -> bool:
    """A pattern says itself what it means, but never files of another kind."""
    return ENDINGS.get(_ending(file), kind) == kind


def _ending(path: Path) -> str:
    """The last one; of a file that is packed with gzip the one before, if that says something."""
    inner = Path(path.stem).suffix.lower()
    return inner if path.suffix.lower() == ".gz" and inner in ENDINGS else path.suffix.lower()

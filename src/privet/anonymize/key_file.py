"""The key file of pseudonyms: apart from the data, for its owner alone, and never printed.

Each rotation adds a version; old ones stay, so that who holds the file can still tell which new pseudonym an old one
became. Delete a version from the file, and nobody can any more.
"""

from __future__ import annotations

import datetime as dt
import os
import secrets
import stat
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

from privet.core.rational import show
from privet.errors import InvalidInputError

BYTES = 32  # of a key: 256 bits
SHORTEST = 16
HEAD = """\
# Keys of pseudonyms (Privet). Anyone who has this file can reverse them: keep it apart from the data, back it up,
# and send it to nobody.
format = 1
kind = "pseudonym-keys"
"""


@dataclass(frozen=True, slots=True)
class Key:
    """All versions of a key, by number."""

    versions: dict[int, bytes] = field(repr=False)
    made: dict[int, str] = field(default_factory=dict)

    @property
    def latest(self) -> int:
        return max(self.versions)

    def secret(self, version: int | None = None) -> bytes:
        number = self.latest if version is None else version
        if number not in self.versions:
            raise InvalidInputError(
                f"the key file has no version {number}",
                f"it has {', '.join(map(str, sorted(self.versions)))}",
                "unknown-entry",
            )
        return self.versions[number]

    @classmethod
    def new(cls) -> Key:
        return cls({}).rotated()

    def rotated(self) -> Key:
        """With one more version, which is used from now on."""
        number = max(self.versions, default=0) + 1
        today = dt.datetime.now(dt.UTC).date().isoformat()
        return Key(self.versions | {number: secrets.token_bytes(BYTES)}, self.made | {number: today})

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Key:
        place = Path(path)
        try:
            said = tomllib.loads(place.read_text(encoding="utf-8"))
            listed = {int(one["version"]): bytes.fromhex(one["key"]) for one in said["keys"]}
            made = {int(one["version"]): str(one.get("made", "")) for one in said["keys"]}
        except OSError as error:
            raise InvalidInputError(
                f"cannot read the key file {place}: {error.strerror}",
                "name a key file, or a new file to create one",
                "unreadable-file",
            ) from None
        except (UnicodeDecodeError, tomllib.TOMLDecodeError, KeyError, TypeError, ValueError):
            raise _no_keys(place) from None  # without a word of what is in it
        if not listed or min(map(len, listed.values())) < SHORTEST or len(listed) < len(said["keys"]):
            raise _no_keys(place)
        return cls(listed, made)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Whole or not at all, readable for its owner alone. A version that is in the file already is never lost: the
        pseudonyms that it made could not be made again."""
        place = Path(path)
        if place.is_symlink():
            raise InvalidInputError(f"the key file {place} is a link", "name the file it points to", "not-supported")
        fresh = place.with_name(f".{place.name}.new")  # one name for all, so that only one process at a time writes
        try:
            handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, stat.S_IRUSR | stat.S_IWUSR)
        except FileExistsError:
            raise InvalidInputError(
                f"another program is writing the key file {place}",
                f"wait until it is done; if no program is running, remove {fresh}",
                "file-busy",
            ) from None
        except OSError as error:
            raise _unwritable(place, error) from None
        try:
            with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
                self._check_kept(place)
                file.write(self._text())
                file.flush()
                os.fsync(file.fileno())
            fresh.replace(place)
        except BaseException as error:
            fresh.unlink(missing_ok=True)
            if isinstance(error, OSError):
                raise _unwritable(place, error) from None
            raise

    def _check_kept(self, place: Path) -> None:
        if place.exists() and not Key.read(place).versions.items() <= self.versions.items():
            raise InvalidInputError(
                f"{place} has keys that would be lost",
                "read this file before you rotate its key, or name a new one",
                "would-overwrite",
            )

    def _text(self) -> str:
        parts = [
            f'\n[[keys]]\nversion = {number}\nmade = "{self.made.get(number, "")}"\nkey = "{secret.hex()}"\n'
            for number, secret in sorted(self.versions.items())
        ]
        return HEAD + "".join(parts)


def warnings_about(path: Path, *outputs: Path) -> list[str]:
    """What is wrong with where a key file lies, or with who may read it."""
    found = []
    folder = path.resolve().parent
    if any(output.resolve() == folder or folder.is_relative_to(output.resolve()) for output in outputs):
        found.append(
            f"the key file {path} lies beside the output: anyone who gets that folder can reverse the pseudonyms"
        )
    if os.name == "posix" and path.exists() and path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        found.append(f"others on this machine may read the key file {path}: run chmod 600 {path}")
    return found


def _unwritable(place: Path, error: OSError) -> InvalidInputError:
    return InvalidInputError(
        f"cannot write the key file {place}: {error.strerror}",
        "name a file in a folder that you may write to",
        "cannot-write",
    )


def _no_keys(place: Path) -> InvalidInputError:
    return InvalidInputError(
        f"{show(place.name)} is not a key file with versions of at least {8 * SHORTEST} bits",
        "name a new file: a key is created in it",
        "wrong-format",
    )

"""Private folders for rows that do not fit into memory; those of killed processes are swept when the next one starts.

A process holds a lock on a file in its folder, which the system lifts however the process ends. A folder is removed
only if it is this user's, has that file, and the lock is free. Kernels may not see each other's locks (a network
drive, a virtual machine), so the file also names the running kernel, and folders of another one are left alone.
"""

from __future__ import annotations

import contextlib
import os
import platform
import shutil
import stat
import tempfile
from pathlib import Path
from typing import Any

fcntl: Any  # Windows has none: there nothing is swept
try:
    import fcntl
except ImportError:  # pragma: no cover
    fcntl = None

PREFIX, LOCK = "privet-", "privet.lock"
BOOT = Path("/proc/sys/kernel/random/boot_id")  # another one after each start; containers share it


class Scratch:
    """A new folder in the temporary folder, for its owner alone (0700), until `remove` or the end of a `with`."""

    def __init__(self) -> None:
        sweep()
        self.path = Path(tempfile.mkdtemp(prefix=PREFIX))
        self._process = os.getpid()
        self._handle = _locked(self.path)

    def remove(self) -> None:
        """Once, and never by a forked child: the files are its parent's."""
        if self._process != os.getpid():
            return
        self._process = -1
        shutil.rmtree(self.path, ignore_errors=True)
        if self._handle is not None:
            os.close(self._handle)

    def __enter__(self) -> Path:
        return self.path

    def __exit__(self, *error: object) -> None:
        self.remove()


def _locked(folder: Path) -> int | None:
    """The lock file gets its name when it is locked: nobody ever finds that of a living process free."""
    if fcntl is None:
        return None
    new = folder / f"{LOCK}.new"
    handle = os.open(new, os.O_RDWR | os.O_CREAT | os.O_EXCL, stat.S_IRUSR | stat.S_IWUSR)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.write(handle, _kernel())
        new.rename(folder / LOCK)
    except OSError:  # a file system without locks: the folder is not marked, so it is never swept
        os.close(handle)
        return None
    return handle


def sweep() -> None:
    """Remove what killed processes of this user left behind."""
    if fcntl is not None:
        for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
            with contextlib.suppress(OSError):
                _sweep(folder)


def _sweep(folder: Path) -> None:
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
        return
    handle = os.open(folder / LOCK, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        if os.read(handle, 1024) == _kernel():
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)  # raises if the process lives
            if os.fstat(handle).st_nlink:  # or another has swept it, and the name may be a new folder's
                shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(handle)


def _kernel() -> bytes:
    try:
        return BOOT.read_bytes()
    except OSError:  # not Linux
        return platform.node().encode()

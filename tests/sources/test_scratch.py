"""Scratch folders: private, gone in the end, and swept when their process was killed; never those of anybody else."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from privet.records import microdata
from privet.sources import scratch
from privet.sources.scratch import LOCK, Scratch, sweep

pytest.importorskip("fcntl", reason="nothing is swept on this system")


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A temporary folder of its own."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


@pytest.fixture
def other(place: Path) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """Another process with a database that has rows on the disk."""
    script = """
        import sys
        from pathlib import Path
        from privet.backends.duckdb import DuckDb
        backend = DuckDb(Path(), {})
        folder = backend._scratch_folder()
        (folder / "rows").write_text("private")
        print(folder, flush=True)
        sys.stdin.read()
    """
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(place)},
    )
    assert process.stdout is not None
    yield process, Path(process.stdout.readline().strip())
    process.kill()
    process.communicate()


def test_a_killed_process_is_swept_and_a_living_one_is_not(other: tuple[subprocess.Popen[str], Path]) -> None:
    process, folder = other
    assert folder.stat().st_mode & 0o777 == 0o700
    sweep()
    assert (folder / "rows").read_text() == "private"
    process.kill()
    process.wait()
    assert folder.exists()
    (folder.parent / "people.csv").write_text("a\n1\n")
    microdata.read(folder.parent / "people.csv")  # whatever needs scratch sweeps first
    assert sorted(folder.parent.iterdir()) == [folder.parent / "people.csv"]


def test_a_process_that_ends_leaves_nothing(other: tuple[subprocess.Popen[str], Path]) -> None:
    process, folder = other
    process.communicate()
    assert process.returncode == 0
    assert not folder.exists()


def test_own_folders_are_not_swept_and_end_with_their_use(place: Path) -> None:
    with Scratch() as one, Scratch() as two:
        assert one.exists()
        assert two.exists()
    assert list(place.iterdir()) == []


def test_another_process_does_not_remove_it(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Scratch()
    with monkeypatch.context() as patch:
        patch.setattr(os, "getpid", lambda: -2)
        made.remove()
    assert made.path.exists()
    made.remove()
    made.remove()
    assert not made.path.exists()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_forked_child_neither_removes_nor_unlocks(place: Path) -> None:
    script = """
        import os, sys
        from privet.sources.scratch import Scratch, sweep
        scratch = Scratch()
        pid = os.fork()
        if pid == 0:
            scratch.remove()
            os._exit(0)
        os.waitpid(pid, 0)
        assert scratch.path.exists()
        pid = os.fork()  # another process, with no descriptor of the lock
        if pid == 0:
            os.close(scratch._handle)
            sweep()
            os._exit(0)
        os.waitpid(pid, 0)
        assert scratch.path.exists()
        scratch.remove()
    """
    subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], check=True, env={**os.environ, "TMPDIR": str(place)}
    )
    assert list(place.iterdir()) == []


def _dead(place: Path, name: str = "privet-dead") -> Path:
    """What a killed process leaves."""
    folder = place / name
    folder.mkdir(0o700)
    (folder / LOCK).write_bytes(scratch._kernel())
    return folder


def test_only_marked_folders_of_this_user_and_this_kernel_are_swept(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dead = _dead(place)
    foreign, plain, odd = _dead(place, "privet-kernel"), place / "privet-plain", _dead(place, "other")
    (foreign / LOCK).write_bytes(b"another kernel")
    plain.mkdir()
    (plain / "file").write_text("mine")
    link, file = place / "privet-link", place / "privet-file"
    link.symlink_to(odd)
    file.write_text("mine")
    linked = place / "privet-linked"
    linked.mkdir()
    (linked / LOCK).symlink_to(odd / LOCK)
    kept = [foreign, plain, odd, link, file, linked]
    with monkeypatch.context() as patch:
        patch.setattr(os, "getuid", lambda: -1)
        sweep()
    assert dead.exists()
    sweep()
    assert sorted(place.iterdir()) == sorted(kept)


def test_what_another_has_swept_is_left_alone(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between opening the lock file and locking it, another process sweeps, and a third makes a folder of that name."""
    dead = _dead(place)
    flock = scratch.fcntl.flock

    def late(handle: int, how: int) -> None:
        (dead / LOCK).unlink()
        (dead / "rows").write_text("of a living process")
        flock(handle, how)

    with monkeypatch.context() as patch:
        patch.setattr(scratch.fcntl, "flock", late)
        sweep()
    assert (dead / "rows").exists()


def test_without_locks_nothing_is_marked_or_swept(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_locks(*_: object) -> None:
        raise OSError

    with monkeypatch.context() as patch:
        patch.setattr(scratch.fcntl, "flock", no_locks)
        with Scratch() as folder:
            assert not (folder / LOCK).exists()
    dead = _dead(place)
    monkeypatch.setattr(scratch, "fcntl", None)
    with Scratch() as folder:
        assert list(folder.iterdir()) == []
    assert list(place.iterdir()) == [dead]


def test_a_kernel_without_a_boot_id_is_known_by_its_name(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scratch, "BOOT", place / "none")
    _dead(place)
    sweep()
    assert list(place.iterdir()) == []

"""Our side of the wire: the peers' virtual environments, built when they are missing, and their processes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent
HERE = Path(__file__).resolve().parent
SCRIPTS = {"opendp": "run_opendp.py", "smartnoise-sql": "run_smartnoise.py", "pipeline-dp": "run_pipelinedp.py"}
PEERS = tuple(SCRIPTS)
_left_out: list[str] = []  # why no peer starts


class PeerError(Exception):
    """What a peer raised, in its own words, or why it is not here."""


class Peer:
    """A peer in a process of its own, which ends by itself when ours closes its input."""

    def __init__(self, name: str) -> None:
        self.name = name
        command = [python_of(name), HERE / SCRIPTS[name]]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.versions = self._answer()

    def load(self, table: dict[str, Any]) -> None:
        self._request({"table": table})

    def release(self, **ask: Any) -> dict[str, Any]:
        """{"seconds": [...], "answers": [...]}"""
        return self._request({"ask": ask})

    def close(self) -> None:
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()

    def _request(self, request: dict[str, Any]) -> dict[str, Any]:
        print(json.dumps(request), file=self.process.stdin, flush=True)
        answer = self._answer()
        if "error" in answer:
            raise PeerError(answer["error"])
        return answer

    def _answer(self) -> dict[str, Any]:
        line = self.process.stdout.readline()
        if not line:
            raise PeerError(f"{self.name} stopped: see above")
        return json.loads(line)


def leave_out(why: str) -> None:
    """From now on every peer is absent: none is installed or started."""
    _left_out.append(why)


def python_of(name: str) -> Path:
    """The python of .venv-peers-NAME, which is built when it is missing or the pins have changed."""
    if _left_out:
        raise PeerError(_left_out[-1])
    folder, pins = ROOT / f".venv-peers-{name}", HERE / f"{name}.txt"
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    ready = folder / "pins-installed"
    if ready.exists() and ready.read_text() == pins.read_text():
        return python
    print(f"building {folder.name} (once)", file=sys.stderr, flush=True)
    if shutil.which("uv") and "torch==" not in pins.read_text():  # pip finds a build of torch for the processor alone
        make = ["uv", "venv", "--quiet", "--clear", "--python", sys.executable, folder]
        install = ["uv", "pip", "install", "--quiet", "--python", python, "-r", pins]
    else:
        make = [sys.executable, "-m", "venv", "--clear", folder]
        install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", pins]
    if any(subprocess.run(command, check=False).returncode for command in (make, install)):
        raise PeerError(f"{name} could not be installed: see above; check access to a package index")
    ready.write_text(pins.read_text())
    return python

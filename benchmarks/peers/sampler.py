"""Our side of an audit of a peer: its mechanisms as functions of (data, size), drawn in processes of the peer's own."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from peers.process import HERE, PeerError, python_of


class Process:
    """One process in the environment of a peer (None: ours), which ends by itself when we close its input."""

    def __init__(self, environment: str | None, script: str) -> None:
        command = [python_of(environment) if environment else sys.executable, HERE / script]
        one_thread = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")  # tiny fits: threads only wait
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=os.environ | one_thread
        )
        self.name = Path(script).stem
        self.versions = self.receive()[0]

    def send(self, request: dict[str, Any]) -> None:
        self.process.stdin.write(json.dumps(request).encode() + b"\n")
        self.process.stdin.flush()

    def receive(self) -> tuple[dict[str, Any], bytes]:
        line = self.process.stdout.readline()
        if not line:
            raise PeerError(f"{self.name} stopped: see above")
        head = json.loads(line)
        if "error" in head:
            raise PeerError(head["error"])
        return head, self.process.stdout.read(head.get("bytes", 0))

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        self.send(request)
        return self.receive()[0]

    def close(self) -> None:
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


class Sampler:
    """Draws from the mechanisms of one peer, shared out over a few processes that work at the same time.

    An auditor takes what a mechanism raises for an output. A peer that failed is no output, so the failure is kept:
    `check` raises it after the audit.
    """

    def __init__(self, environment: str | None, script: str, processes: int = 1) -> None:
        self.workers = [Process(environment, script) for _ in range(processes)]
        self.versions = self.workers[0].versions
        self.failed: PeerError | None = None
        self.processor = 0.0  # seconds of all processes, for drawing

    def mechanism(self, name: str) -> Callable[[Any, int], Any]:
        def draw(data: Any, size: int) -> Any:
            try:
                return self._draw(name, data, size)
            except PeerError as error:
                self.failed = error
                raise

        return draw

    def _draw(self, name: str, data: Any, size: int) -> Any:
        shares = [len(part) for part in np.array_split(np.arange(size), len(self.workers))]
        busy = [(worker, share) for worker, share in zip(self.workers, shares, strict=True) if share]
        for worker, share in busy:
            worker.send({"mechanism": name, "data": data, "size": share})
        answers = [worker.receive() for worker, _ in busy]
        self.processor += sum(head["processor"] for head, _ in answers)
        return np.concatenate([np.load(io.BytesIO(body), allow_pickle=False) for _, body in answers])

    def check(self) -> None:
        if self.failed:
            raise self.failed

    def close(self) -> None:
        for worker in self.workers:
            worker.close()

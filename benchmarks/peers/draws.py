"""The peer's side of an audit: a JSON request a line, a JSON answer a line, until the input ends.

{"mechanism", "data", "size"} is answered by {"bytes": n, "processor": seconds} and, behind it, n bytes of an .npy
file: `size` draws from that mechanism on that data. Auditors (`judge_*`) answer a request with their verdict and no
bytes. {"error": text} stands for what a peer raised. NumPy and the peer's own library are all that is imported.
"""

import io
import json
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import numpy as np

Request = dict[str, Any]
Mechanism = Callable[[Any, int], Any]


def serve(packages: list[str], mechanisms: dict[str, Mechanism]) -> None:
    """Draw until nobody asks."""

    def reply(request: Request) -> tuple[dict[str, Any], bytes]:
        begun = time.process_time()
        drawn = np.asarray(mechanisms[request["mechanism"]](request["data"], request["size"]))
        file = io.BytesIO()
        np.save(file, drawn, allow_pickle=False)
        return {"bytes": file.tell(), "processor": time.process_time() - begun}, file.getvalue()

    answer(packages, reply)


def answer(packages: list[str], reply: Callable[[Request], tuple[dict[str, Any], bytes]]) -> None:
    """The first line that goes out has the versions of the packages."""
    out, sys.stdout = sys.stdout.buffer, sys.stderr  # whatever the peer prints must not look like an answer
    _send(out, {name: version(name) for name in packages}, b"")
    for line in sys.stdin:
        try:
            head, body = reply(json.loads(line))
        except Exception as error:  # the peer's own words are the result
            head, body = {"error": f"{type(error).__name__}: {' '.join(str(error).split())[:400]}"}, b""
        _send(out, head, body)


def _send(out: Any, head: dict[str, Any], body: bytes) -> None:
    out.write(json.dumps(head).encode() + b"\n" + body)
    out.flush()

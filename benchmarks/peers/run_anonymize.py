"""anjana anonymizes, pycanon checks. Run by a virtual environment of their own.

{"anonymize": {"path", "out", "quasi", "hierarchies": {column: path}, "k", "l", "sensitive", "suppress"}} is answered by
{"seconds": [wall, processor]}: anjana on a frame that is in memory, written to "out" after the clock has stopped.
{"check": {"path", "quasi", "sensitive"}} is answered by what pycanon finds, and its time.
"""

import contextlib
import json
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import pandas as pd
from anjana.anonymity import k_anonymity, l_diversity
from pycanon import anonymity as canon


def frame(path: str, separator: str) -> pd.DataFrame:
    return pd.read_csv(path, sep=separator, dtype=str, keep_default_na=False)


def timed(work: Callable[[], Any]) -> tuple[Any, list[float]]:
    begun = time.perf_counter(), time.process_time()
    found = work()
    return found, [time.perf_counter() - begun[0], time.process_time() - begun[1]]


def anonymize(ask: dict[str, Any]) -> dict[str, Any]:
    data = frame(ask["path"], ";")
    trees = {
        name: dict(pd.read_csv(path, sep=";", header=None, dtype=str, keep_default_na=False))
        for name, path in ask["hierarchies"].items()
    }
    percent = 100 * ask["suppress"]
    if ask["l"] is None:
        found, seconds = timed(lambda: k_anonymity(data, [], ask["quasi"], ask["k"], percent, trees))
    else:
        found, seconds = timed(
            lambda: l_diversity(data, [], ask["quasi"], ask["sensitive"], ask["k"], ask["l"], percent, trees)
        )
    found.to_csv(ask["out"], index=False)
    return {"seconds": seconds, "records": len(found)}


def check(ask: dict[str, Any]) -> dict[str, Any]:
    data = frame(ask["path"], ",")
    k, seconds = timed(lambda: int(canon.k_anonymity(data, ask["quasi"])))
    found = {"k": k, "seconds": seconds}
    if ask["sensitive"]:
        secret = [ask["sensitive"]]
        found["l"] = int(canon.l_diversity(data, ask["quasi"], secret))
        found["t"] = float(canon.t_closeness(data, ask["quasi"], secret))
    return found


def main() -> None:
    out, sys.stdout = sys.stdout, sys.stderr  # what the peers print must not look like an answer
    print(json.dumps({name: version(name) for name in ("anjana", "pycanon", "pandas")}), file=out, flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        try:
            with contextlib.redirect_stdout(sys.stderr):
                reply = anonymize(request["anonymize"]) if "anonymize" in request else check(request["check"])
        except Exception as error:  # the peer's own words are the result
            reply = {"error": f"{type(error).__name__}: {' '.join(str(error).split())[:400]}"}
        print(json.dumps(reply), file=out, flush=True)


if __name__ == "__main__":
    main()

"""The peer's side of the wire: a JSON request a line, a JSON answer a line, until the input ends.

{"table": Table} loads a table and is answered by {}. {"ask": Ask} is answered by {"seconds", "answers"}: the time,
[wall, processor], and the answer, {place: [a number for each aggregate]}, of every release. The first time includes
what a peer prepares for the question. {"error": text} stands for what a peer raised.

Table: "path" (Parquet with the columns person, place, amount), "person" (is a unit all rows of a person, or one row?),
"keys" (the public places; null: no GROUP BY), "low", "high", "groups", "rows" (the bounds of a person), "largest" (a
public bound on the rows of a place), "whole" (are the amounts integers?), "candidates" (for quantiles).
Ask: "aggregates" (count, sum, mean, median, or a number: that quantile), "epsilon", "delta", "noise", "releases".
"""

import json
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

Table, Ask = dict[str, Any], dict[str, Any]
Answer = dict[str, list[float]]
Release = Callable[[], list[Answer]]  # one answer, or as many as were asked for if one pass gives them all
Prepare = Callable[[Ask], Release]


def serve(packages: list[str], load: Callable[[Table], Prepare]) -> None:
    """Answer until nobody asks."""
    out, sys.stdout = sys.stdout, sys.stderr  # whatever the peer prints must not look like an answer
    print(json.dumps({name: version(name) for name in packages}), file=out, flush=True)
    prepare: Prepare | None = None
    for line in sys.stdin:
        request = json.loads(line)
        try:
            if "table" in request:
                prepare, reply = load(request["table"]), {}
            else:
                reply = _released(prepare, request["ask"])
        except Exception as error:  # the peer's own words are the result
            reply = {"error": f"{type(error).__name__}: {' '.join(str(error).split())[:400]}"}
        print(json.dumps(reply), file=out, flush=True)


def clocks() -> tuple[float, float]:
    """Wall and processor, all threads."""
    return time.perf_counter(), time.process_time()


def _released(prepare: Prepare, ask: Ask) -> dict[str, Any]:
    begun = clocks()
    release = prepare(ask)
    seconds: list[list[float]] = []
    answers: list[Answer] = []
    while len(answers) < ask["releases"]:
        answers += release()
        seconds.append([now - then for now, then in zip(clocks(), begun, strict=True)])
        begun = clocks()
    return {"seconds": seconds, "answers": answers}

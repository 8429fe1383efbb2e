"""What the scripts in this folder share: their options, the file that docs/evidence keeps, and work in processes.

Importing it puts tests/ on the path: several scripts run the same checks as the tests (tests/support), only longer.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from peers import process

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT / "tests") not in sys.path:
    sys.path.append(str(ROOT / "tests"))

One, Other = TypeVar("One"), TypeVar("Other")


def options(doc: str) -> argparse.ArgumentParser:
    """A parser with the two options that every script has."""
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the result to FILE")
    parser.add_argument(
        "--tiny", action="store_true", help="test this script: smallest sizes, generated data, no peers"
    )
    return parser


def parse(parser: argparse.ArgumentParser, given: Sequence[str] | None, **tiny: Any) -> argparse.Namespace:
    """The options. With --tiny the sizes are those of `tiny`, whatever was given; no peer starts or is installed."""
    read = parser.parse_args(given)
    if read.tiny:
        vars(read).update(tiny)
        process.leave_out("left out: --tiny runs Privet alone")
    return read


class Evidence:
    """The file of one run. Made before the measurement, so that it names the commit that is measured."""

    def __init__(self, read: argparse.Namespace, kind: str) -> None:
        self.file, self.kind, self.facts = read.json, kind, commit() | ({"tiny": True} if read.tiny else {})
        self.started = time.time()

    def save(self, result: dict[str, Any]) -> None:
        """With commit and seconds; called again, it writes the file again."""
        if self.file is not None:
            facts = self.facts | {"seconds": round(time.time() - self.started)}
            body = {"privet": 1, "kind": self.kind, "result": facts | result}
            self.file.write_text(json.dumps(body, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def commit(checkout: Path = ROOT) -> dict[str, Any]:
    """The commit that is measured, and whether its source was changed since."""

    def git(*words: str) -> str:
        return subprocess.run(["git", *words], cwd=checkout, capture_output=True, text=True, check=True).stdout.strip()

    return {"commit": git("rev-parse", "--short", "HEAD"), "source_changed": bool(git("status", "--short", ":/src"))}


def mapped(work: Callable[[One], Other], jobs: Iterable[One], processes: int) -> Iterator[Other]:
    """Results in the order of the jobs. One process is this one: nothing is imported anew."""
    if processes == 1:
        yield from map(work, jobs)
        return
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        yield from pool.imap(work, jobs)

"""`privet attack tables` and `privet attack differencing`: statistics that are about to be published."""

from __future__ import annotations

import argparse
import multiprocessing
import os
from collections.abc import Iterable
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from multiprocessing.synchronize import Event as EventType
from pathlib import Path
from typing import TYPE_CHECKING, Any

from privet.cli.attack.result import (
    BAD_INPUT,
    FOUND,
    INCONCLUSIVE,
    NOTHING,
    check,
    exit_code,
    seconds_option,
    show,
    so_far,
)
from privet.cli.progress import counting
from privet.cli.stopping import STOPPED, WORDS, stoppable
from privet.cli.verb import Verb, print_json, result_options
from privet.errors import InvalidInputError

if TYPE_CHECKING:
    from privet.attacks import Findings


SUMMED = ("people", "proven", "certain", "learned", "undone", "unrounded")
WORST = (FOUND, BAD_INPUT, INCONCLUSIVE, NOTHING)  # of several releases, the first of these that one of them has


_ended: EventType | None = None


def _options(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "files", metavar="FILE.toml", nargs="+", type=Path, help="what is published; see docs/releases.md"
    )
    command.add_argument(
        "--public",
        metavar="A,B",
        default="",
        help="attributes that anybody can see (default: all; every subset is tried)",
    )
    command.add_argument("--truth", metavar="FILE.csv", type=Path, help="the real records, to score the attack")
    command.add_argument("--limit", type=int, default=1000, metavar="N", help="list at most N data sets (1000)")
    command.add_argument("--no-repair", action="store_true", help="do not look for what to leave out")
    seconds_option(command)
    result_options(command)


def _attack(options: argparse.Namespace) -> int:
    check(options)
    if len(options.files) > 1:
        return _many(options)
    (path,) = options.files
    from privet.attacks.proofs import solver, work  # noqa: PLC0415  brings OR-Tools

    with stoppable(work.STOPPED, solver.stop) as stopped, counting() as progress:
        findings = so_far(_findings(path, options, progress), stopped=stopped.is_set())
    return show(findings, options)


def _findings(path: Path, options: argparse.Namespace, progress: Any) -> Findings:
    from privet import attacks  # noqa: PLC0415  brings NumPy and OR-Tools

    if options.chosen == "differencing":
        return attacks.attack_differencing(attacks.read_queries(path), seconds=options.seconds, progress=progress)
    tables = attacks.read_tables(path)
    truth = attacks.read_records(options.truth, tables) if options.truth else None
    public = tuple(name for name in options.public.split(",") if name)
    return attacks.attack_tables(
        tables,
        attacks.Knowledge(public=public, truth=truth),
        seconds=options.seconds,
        limit=options.limit,
        repair=not options.no_repair,
        subject=path.name,
        progress=progress,
    )


def _many(options: argparse.Namespace) -> int:
    """One release after another, one processor each; one line per release."""
    if options.out is not None or options.truth is not None:
        raise InvalidInputError(
            "--out and --truth need exactly one file", "attack each file alone", "contradictory-options"
        )
    results, ended = dict[Path, dict[str, Any]](), multiprocessing.Event()
    with counting() as progress, _processes(ended) as pool:
        jobs = {pool.submit(_one, path, options): path for path in options.files}
        try:
            for done, job in enumerate(as_completed(jobs), 1):
                results[jobs[job]] = job.result()
                progress("attacking", done, len(jobs))
        except KeyboardInterrupt:
            ended.set()
            pool.shutdown(cancel_futures=True)  # those that are running end by themselves, with what they have
            results |= {path: job.result() for job, path in jobs.items() if job.done() and not _failed(job)}
    left = {"problem": WORDS, "remedy": "attack it again", "stopped": True}
    listed = [{"file": str(path), **results.get(path, left)} for path in options.files]
    total = {key: sum(one.get(key) or 0 for one in listed) for key in SUMMED}
    if options.json:
        print_json("attack", {**total, "releases": listed})
    else:
        print(_lines(listed, total))
    if any(one.get("stopped") for one in listed):
        return STOPPED
    return min(map(exit_code, listed), key=WORST.index)


def _processes(ended: EventType) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(os.cpu_count(), initializer=_begin, initargs=(ended,))


def _begin(ended: EventType) -> None:
    """In each process. What waits there for its turn does not begin any more."""
    global _ended  # noqa: PLW0603  there is no other way to hand it over
    _ended = ended


def _failed(job: Future[dict[str, Any]]) -> bool:
    return job.cancelled() or job.exception() is not None


def _one(path: Path, options: argparse.Namespace) -> dict[str, Any]:
    from privet.attacks.proofs import solver, work  # noqa: PLC0415
    from privet.errors import PrivetError  # noqa: PLC0415

    if _ended is not None and _ended.is_set():
        raise KeyboardInterrupt
    try:
        with stoppable(work.STOPPED, solver.stop, news="") as stopped:
            return so_far(_findings(path, options, lambda *_: None), stopped=stopped.is_set()).to_json()
    except PrivetError as error:  # the others go on
        return {"problem": error.problem, "remedy": error.remedy}


def _lines(listed: Iterable[dict[str, Any]], total: dict[str, int]) -> str:
    counts = [f"{total['proven']:,} of {total['people']:,} people are certain"]
    if total["learned"]:
        counts.append(f"things learned about known people: {total['learned']:,}")
    if total["undone"] + total["unrounded"]:
        counts.append(f"suppressed or rounded counts undone: {total['undone'] + total['unrounded']:,}")
    lines = ["; ".join(counts), ""]
    lines += [f"{Path(one['file']).name}: {one.get('headline') or one['problem']}" for one in listed]
    return "\n".join(lines)


KINDS = {
    "tables": Verb(
        "published tables: who is certain, what is learned about known people, which suppressed cells are undone",
        "privet attack tables examples/census-block.toml --out report.html",
        _options,
        _attack,
    ),
    "differencing": Verb(
        "answers to queries: what their differences reveal about one person",
        "privet attack differencing examples/hospital.toml --out report.html",
        _options,
        _attack,
    ),
}

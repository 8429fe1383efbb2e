"""Verbs of whoever is about to publish: attack and preflight."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import TYPE_CHECKING, Any

from privet.cli.verb import Verb, counting, json_option, pen, print_json
from privet.errors import InvalidInputError

if TYPE_CHECKING:
    from privet.attacks import Findings

SOMEBODY = 1  # the exit code of a preflight that found somebody


def _common(command: argparse.ArgumentParser) -> None:
    command.add_argument("--seconds", type=float, default=60, metavar="S", help="how long to try (60)")
    command.add_argument("--out", metavar="FILE.html", type=Path, help="write the report there")
    json_option(command)


def _attack_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("kind", choices=("tables", "queries"), help="what is published: tables, or answers to queries")
    command.add_argument(
        "files", metavar="FILE.toml", nargs="+", type=Path, help="what is published; see docs/releases.md"
    )
    command.add_argument("--public", metavar="A,B", default="", help="attributes that anybody can see of a person")
    command.add_argument("--truth", metavar="FILE.csv", type=Path, help="the real records, to score the attack")
    command.add_argument("--limit", type=int, default=1000, metavar="N", help="list at most so many data sets (1000)")
    command.add_argument("--no-repair", action="store_true", help="do not look for what to leave out")
    _common(command)


def _attack(options: argparse.Namespace) -> None:
    _check(options)
    if len(options.files) > 1:
        _many(options)
        return
    (path,) = options.files
    with counting() as progress:
        findings = _findings(path, options, progress)
    _show(findings, options)


def _findings(path: Path, options: argparse.Namespace, progress: Any) -> Findings:
    from privet import attacks  # noqa: PLC0415  brings NumPy and OR-Tools

    if options.kind == "queries":
        return attacks.differencing(attacks.read_queries(path), seconds=options.seconds, progress=progress)
    tables = attacks.read_tables(path)
    truth = attacks.read_records(options.truth, tables) if options.truth else None
    public = tuple(name for name in options.public.split(",") if name)
    return attacks.reconstruct(
        tables,
        attacks.Knowledge(public=public, truth=truth),
        seconds=options.seconds,
        limit=options.limit,
        repair=not options.no_repair,
        subject=path.name,
        progress=progress,
    )


def _check(options: argparse.Namespace) -> None:
    """Before the work, not after it."""
    if not options.seconds > 0:
        raise InvalidInputError(f"seconds must be above 0, not {options.seconds:g}", "give such as --seconds 60")
    if options.out is not None and options.out.suffix.lower() != ".html":
        raise InvalidInputError(
            f"the report is an HTML file, which {options.out} is not", "give --out a name that ends in .html"
        )


def _show(findings: Findings, options: argparse.Namespace) -> None:
    from privet.report.findings_text import page  # noqa: PLC0415

    if options.out is not None:
        findings.report(options.out)
    if options.json:
        print_json("attack", findings.to_json())
    else:
        print(page(findings, pen()))
        if options.out is not None:
            print(f"\nThe report is in {options.out}")


def _many(options: argparse.Namespace) -> None:
    """One release after another, a processor each; a line a release."""
    if options.out is not None or options.truth is not None:
        raise InvalidInputError("--out and --truth go with one file", "attack the files one by one for that")
    results: dict[Path, dict[str, Any]] = {}
    with counting() as progress, ProcessPoolExecutor(os.cpu_count()) as pool:
        jobs = {pool.submit(_one, path, options): path for path in options.files}
        for done, job in enumerate(as_completed(jobs), 1):
            results[jobs[job]] = job.result()
            progress("attacking", done, len(jobs))
    listed = [{"file": str(path), **results[path]} for path in options.files]
    total = {key: sum(one.get(key) or 0 for one in listed) for key in ("people", "certain")}
    if options.json:
        print_json("attack", {**total, "releases": listed})
    else:
        print(_lines(listed, total))


def _one(path: Path, options: argparse.Namespace) -> dict[str, Any]:
    from privet.errors import PrivetError  # noqa: PLC0415

    try:
        return _findings(path, options, lambda *_: None).to_json()
    except PrivetError as error:  # the others go on
        return {"problem": error.problem, "remedy": error.remedy}


def _lines(listed: Iterable[dict[str, Any]], total: dict[str, int]) -> str:
    lines = [f"{total['certain']:,} of {total['people']:,} people are certain", ""]
    lines += [f"{Path(one['file']).name}: {one.get('headline') or one['problem']}" for one in listed]
    return "\n".join(lines)


def _preflight_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("workbook", metavar="WORKBOOK", type=Path, help="an Excel file, or a folder of CSV files")
    command.add_argument(
        "--mapping", metavar="FILE.toml", type=Path, help="says what the sheets mean (the workbook's name with .toml)"
    )
    _common(command)


def _preflight(options: argparse.Namespace) -> int:
    """Exit code 1 if somebody is certain, or if that could not be decided."""
    _check(options)
    mapping: Path = options.mapping or options.workbook.with_suffix(".toml")
    if not options.workbook.exists():
        raise InvalidInputError(f"there is no {options.workbook}", "name an Excel file, or a folder of CSV files")
    if not mapping.exists():
        raise InvalidInputError(
            f"there is no {mapping}, which would say what the sheets of {options.workbook.name} mean",
            "write it as docs/releases.md shows, or name another file with --mapping",
        )
    from privet import attacks  # noqa: PLC0415

    with counting() as progress:
        tables = attacks.read_tables(mapping, options.workbook)
        findings = attacks.reconstruct(
            tables, seconds=options.seconds, subject=options.workbook.name, progress=progress
        )
    _show(findings, options)
    harmed = findings.certain + int(findings.numbers["disclosed"])
    undecided = int(findings.numbers["undecided"])
    if not options.json:
        print(f"\n{_verdict(harmed, undecided)}")
    return SOMEBODY if harmed or undecided else 0


def _verdict(harmed: int, undecided: int) -> str:
    if harmed:
        return "preflight: do not publish these tables as they are"
    if undecided:
        return "preflight: not decided in the time given; try --seconds with more"
    return "preflight: nobody is certain from these tables alone"


VERBS = {
    "attack": Verb(
        "attack what is about to be published: who is certain, by which cells, and what to leave out",
        "privet attack tables examples/census-block.toml --out report.html",
        _attack_options,
        _attack,
    ),
    "preflight": Verb(
        "check a workbook before it is published; exit code 1 if somebody is certain",
        "privet preflight examples/clinic-tables.xlsx",
        _preflight_options,
        _preflight,
    ),
}

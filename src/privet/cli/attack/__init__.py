"""Verbs of whoever is about to publish: attack and preflight. What is attacked is a command of its own, in a file of
its own."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from shlex import quote
from typing import Any

from privet.cli.attack import anonymized, linkage, membership, models, pseudonyms, regimes, release, subsets, versions
from privet.cli.attack.result import EXIT_CODES, check, seconds_option, show, so_far
from privet.cli.progress import counting
from privet.cli.stopping import WORDS, stoppable
from privet.cli.verb import Verb, kinds_of, result_options
from privet.errors import InvalidInputError

KINDS: dict[str, Verb] = {  # a file a kind of attack; each has a mapping of its own
    **release.KINDS, **linkage.KINDS, **pseudonyms.KINDS, **anonymized.KINDS,
    **membership.KINDS, **models.KINDS, **versions.KINDS, **regimes.KINDS, **subsets.KINDS,
}  # fmt: skip
KINDS = {name: replace(verb, example=f"{verb.example}\n\n{EXIT_CODES}") for name, verb in KINDS.items()}


def _preflight_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("workbook", metavar="WORKBOOK", type=Path, help="an Excel file, or a folder of CSV files")
    command.add_argument(
        "--mapping", metavar="FILE.toml", type=Path, help="says what the sheets mean (the workbook's name with .toml)"
    )
    seconds_option(command)
    result_options(command)


def _preflight(options: argparse.Namespace) -> int:
    check(options)
    mapping: Path = options.mapping or options.workbook.with_suffix(".toml")
    if not options.workbook.exists():
        raise InvalidInputError(
            f"there is no {options.workbook}", "name an Excel file, or a folder of CSV files", "missing-file"
        )
    if not mapping.exists():
        raise InvalidInputError(
            f"there is no {mapping}, the file that says what the sheets of {options.workbook.name} mean",
            f"draft it with `privet describe {quote(str(options.workbook))} --release --out {quote(str(mapping))}` and "
            "check it, or name another file with --mapping",
            "missing-file",
        )
    from privet import attacks  # noqa: PLC0415
    from privet.attacks.proofs import solver, work  # noqa: PLC0415

    with stoppable(work.STOPPED, solver.stop) as stopped, counting() as progress:
        tables = attacks.read_tables(mapping, options.workbook)
        findings = attacks.attack_tables(
            tables, seconds=options.seconds, subject=options.workbook.name, progress=progress
        )
        findings = so_far(findings, stopped=stopped.is_set())
    code = show(findings, options)
    if not options.json:
        print(f"\n{_verdict(findings.to_json())}")
    return code


def _verdict(result: Mapping[str, Any]) -> str:
    if result["alarm"] == "bad":
        return f"preflight: do not publish these tables as they are ({', '.join(_reasons(result))})"
    if result["limits"]:
        return "; ".join([f"preflight: not decided ({', '.join(result['limits'])})", *_remedies(result["limits"])])
    if result["learned_if_present"]:
        return "preflight: look at what would be learned about people who may be in the data"
    if result["alarm"] == "neutral":
        return "preflight: passed, with remarks: nothing was found that falls under a rule"
    return "preflight: nothing was found in these tables alone"


def _remedies(limits: Sequence[str]) -> Iterator[str]:
    if any(not limit.endswith(("not used", "not audited", "not read", "not answered", WORDS)) for limit in limits):
        yield "try --seconds with more"
    if any(limit.endswith("not answered") for limit in limits):
        yield "answer the questions in the mapping, and delete each one once it is answered"
    if any(limit.endswith("not read") for limit in limits):
        yield "add what was not read to the mapping, or to its ignore = [...] if it is not published"


def _reasons(result: Mapping[str, Any]) -> list[str]:
    """The counts apart, those that are not 0."""
    names = {
        "known": "people certain",
        "learned": "things learned about known people",
        "undone": "suppressed cells undone",
        "unrounded": "rounded counts undone",
    }
    counts = {**result, "known": result["proven"] or result["claimed"]}
    return [f"{what}: {counts[key]:,}" for key, what in names.items() if counts[key]]


VERBS = {
    "attack": Verb(
        "attack what you plan to publish: who is revealed, by what, and what to leave out (--json for a program)",
        "privet attack tables examples/census-block.toml --out report.html",
        kinds_of("what to attack", KINDS),
        None,
    ),
    "preflight": Verb(
        "check a workbook before you publish it; exit code 1 if it reveals a person or a suppressed cell",
        f"privet preflight examples/clinic-tables.xlsx\n\n{EXIT_CODES}",
        _preflight_options,
        _preflight,
    ),
}

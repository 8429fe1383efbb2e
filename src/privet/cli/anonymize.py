"""The verb of who must ship records: anonymize."""

from __future__ import annotations

import argparse
import csv
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING, Any

from privet.cli.progress import counting
from privet.cli.verb import Verb, check_seconds, check_table, json_option, pen, print_json, spreadsheet_option
from privet.core.rational import show
from privet.errors import InvalidInputError

if TYPE_CHECKING:
    from privet.anonymize.checks import Checked
    from privet.anonymize.coding import Coded
    from privet.anonymize.hierarchy import Hierarchy
    from privet.anonymize.models import Model
    from privet.anonymize.result import Anonymized
    from privet.records.microdata import Microdata

MEASURES = {
    "ncp": "ncp", "discernibility": "discernibility", "class-size": "average_class_size", "entropy": "entropy",
}  # fmt: skip
LONGEST = 28  # letters of an example


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Plan:
    """What is to be done with a table."""

    data: Microdata
    quasi: tuple[str, ...]
    sensitive: tuple[str, ...]
    hierarchies: Mapping[str, Hierarchy]
    suggested: tuple[str, ...]  # columns whose hierarchy was made from their values
    coded: tuple[Coded, ...]
    dropped: tuple[str, ...]


def _options(command: argparse.ArgumentParser) -> None:
    add = command.add_argument
    add("data", metavar="DATA", type=Path, help="the records: a CSV, Excel, Parquet or DuckDB file")
    add("--quasi", metavar="A,B", required=True, help="columns that others may know about a person")
    add("--sensitive", metavar="C", default="", help="columns that nobody should learn, used for l and t")
    add(
        "--hierarchies",
        metavar="DIR",
        type=Path,
        help="folder of hierarchies such as age.csv; for other columns they are built from the values",
    )
    add("--k", type=int, default=5, metavar="K", help="at least K records look the same (5)")
    add("--l", type=int, metavar="L", help="and these have at least L different sensitive values")
    add("--entropy-l", metavar="L", help="entropy l-diversity: as mixed as if L values were equally frequent")
    add(
        "--recursive-l",
        metavar="C,L",
        help="the most frequent value occurs less often than C times the L-th and all rarer values together",
    )
    add("--t", metavar="T", help="sensitive values are at most T away from those of the whole table, for example 0.2")
    add(
        "--suppress",
        default="0.05",
        metavar="SHARE",
        help="largest share of records to suppress (0.05); not for mondrian",
    )
    add(
        "--method",
        choices=("optimal", "mondrian"),
        default="optimal",
        help="optimal: one level per column; mondrian: cut the records into classes (optimal)",
    )
    add("--relaxed", action="store_true", help="mondrian: a cut may divide records with the same value")
    add("--measure", choices=tuple(MEASURES), default="ncp", help="which loss to minimize (ncp); not for mondrian")
    add("--seconds", type=float, metavar="S", help="after S seconds, take the best result so far; not for mondrian")
    add("--top-code", metavar="A=90", action="append", default=[], help="numbers above 90 in column A become 90")
    add("--bottom-code", metavar="A=5", action="append", default=[], help="numbers below 5 in column A become 5")
    add("--drop", metavar="A,B", default="", help="columns to leave out, such as names and ids")
    kept = command.add_mutually_exclusive_group()
    stars = "write suppressed records with stars, even if they are too few or too alike"
    kept.add_argument("--keep-suppressed", action="store_const", const=True, dest="keep", help=stars)
    kept.add_argument("--drop-suppressed", action="store_const", const=False, dest="keep", help="never write them")
    add("--shuffle", action="store_true", help="write the records in an order that reveals nothing")
    add("--encoding", metavar="NAME", help="encoding of the file (default: guessed)")
    add("--delimiter", metavar="MARK", help="delimiter of the file (default: guessed)")
    add("--out", metavar="FILE", type=Path, help="write the records to this file: .csv or .parquet")
    spreadsheet_option(command)
    json_option(command)


def _anonymize(options: argparse.Namespace) -> None:
    _check(options)
    try:
        plan, made, checked = _done(options)
    except KeyboardInterrupt as stop:
        stop.add_note("stopped: nothing was written")
        raise
    if options.json:
        print_json("anonymize", _json(plan, made, checked, options))
    else:
        print("\n".join(_text(plan, made, checked, options)))


def _done(options: argparse.Namespace) -> tuple[_Plan, Anonymized, Checked]:
    from privet.anonymize.checks import check  # noqa: PLC0415

    with counting() as progress:
        progress("reading", 0, 0)
        plan = _plan(options)
        made = _made(plan, options, progress)
        progress("checking", 0, 0)
        checked = check(made.data, made.quasi, made.sensitive, suppressed="*" if made.suppressed else None)
        options.keep = made.stars_hold if options.keep is None else options.keep
        if options.out is not None:
            progress("writing", 0, 0)
            made.write(
                options.out,
                keep_suppressed=options.keep,
                shuffle=options.shuffle,
                spreadsheet_safe=options.spreadsheet_safe,
            )
    return plan, made, checked


def _check(options: argparse.Namespace) -> None:
    """Before the work, not after it."""
    out: Path | None = options.out
    if out is not None:
        _check_apart(out, options)
        check_table(out)
    check_seconds(options.seconds)
    if options.relaxed and options.method != "mondrian":
        raise InvalidInputError(
            "--relaxed goes with --method mondrian", "leave it out, or change the method", "unneeded-option"
        )


def _check_apart(out: Path, options: argparse.Namespace) -> None:
    """What is written must not be part of what is read, now or next time."""
    from privet.anonymize.hierarchy_file import column_of  # noqa: PLC0415

    place, data = out.resolve(), options.data.resolve()
    beside = place.parent == data.parent and fnmatch(place.name, data.name)  # the same, or one of part*.parquet
    if beside or data in place.parents:
        raise InvalidInputError("--out would overwrite the data", "give --out another name", "would-overwrite")
    trees = options.hierarchies
    if trees is not None and place.parent == trees.resolve() and column_of(place) in names(options.quasi):
        raise InvalidInputError("--out would overwrite a hierarchy", "give --out another name", "would-overwrite")


# What is asked


def names(text: str) -> tuple[str, ...]:
    """Between commas; a name with a comma in it is in quotes, as in CSV."""
    found = next(csv.reader([text], skipinitialspace=True), [])
    return tuple(name.strip() for name in found if name.strip())


def _plan(options: argparse.Namespace) -> _Plan:
    from privet.anonymize.builders import suggest  # noqa: PLC0415  brings NumPy and DuckDB
    from privet.anonymize.coding import bottom_code, top_code  # noqa: PLC0415
    from privet.records.microdata import Microdata, read  # noqa: PLC0415

    given = {key: value for key in ("encoding", "delimiter") if (value := getattr(options, key)) is not None}
    if options.encoding is not None:
        _check_encoding(options.data, options.encoding)
    data = read(options.data, **given)
    quasi, sensitive, dropped = names(options.quasi), names(options.sensitive), names(options.drop)
    lost = [name for name in data.left_out if name not in dropped]
    for name in (*quasi, *sensitive, *lost, *(name for name in dropped if name not in data.left_out)):
        if name not in data.columns:
            _check_twice(options.data, name, data)
            read(options.data, columns=[name], **given)  # says why it is not among them
    _check_names(quasi, sensitive, dropped)
    if not len(data):
        raise InvalidInputError(
            f"{options.data.name} has no records", "check the file, its header and its delimiter", "empty"
        )
    coded = []
    for function, pairs in ((top_code, options.top_code), (bottom_code, options.bottom_code)):
        for name, limit in map(_limit, pairs):
            coded.append(function(data, name, limit))
            data = coded[-1].data
    kept = Microdata({one.name: one for one in data if one.name not in dropped}, len(data))
    found = dict(_hierarchies(options.hierarchies, quasi))
    suggested = tuple(name for name in quasi if name not in found)
    if options.method == "optimal":
        found |= {name: suggest(kept[name]) for name in suggested}
    return _Plan(
        data=kept, quasi=quasi, sensitive=sensitive, hierarchies=found, suggested=suggested,
        coded=tuple(coded), dropped=dropped,
    )  # fmt: skip


def _check_names(quasi: Sequence[str], sensitive: Sequence[str], dropped: Sequence[str]) -> None:
    if not quasi:
        raise InvalidInputError("no quasi-identifier is named", "for example --quasi age,zip", "missing-name")
    named = [*quasi, *sensitive, *dropped]
    for name in named:
        if named.count(name) > 1:
            raise InvalidInputError(
                f"column {show(name)} is named twice",
                "name it in one of --quasi, --sensitive and --drop",
                "duplicate-name",
            )


def _check_twice(path: Path, name: str, data: Microdata) -> None:
    """None of the columns of a file is lost without a word."""
    if [other.casefold() for other in data.left_out].count(name.casefold()) > 1:
        raise InvalidInputError(
            f"column {show(name)} is in {path.name} twice",
            "rename one; upper and lower case are the same",
            "duplicate-name",
        )


def _check_encoding(path: Path, encoding: str) -> None:
    """Bytes that the encoding does not know would be shipped spelled out."""
    from privet.catalog.declarations import Source  # noqa: PLC0415
    from privet.catalog.file_kinds import kind_of  # noqa: PLC0415
    from privet.sources.delimited import open_text  # noqa: PLC0415
    from privet.sources.relation import unreadable  # noqa: PLC0415
    from privet.sources.sniff import BLOCK  # noqa: PLC0415

    if not path.is_file() or kind_of(path) != "csv":
        return
    Source(kind="csv", path=str(path), encoding=encoding)  # or there is no such encoding
    try:
        with open_text(path, encoding, errors="strict") as file:
            while file.read(BLOCK):
                pass
    except (OSError, EOFError, zlib.error):
        raise unreadable() from None
    except UnicodeError:
        raise InvalidInputError(
            f"{path.name} is not in {encoding}", "for example --encoding cp1252, or leave it out", "wrong-encoding"
        ) from None


def _hierarchies(folder: Path | None, quasi: Sequence[str]) -> Mapping[str, Hierarchy]:
    from privet.anonymize.hierarchy_file import read_hierarchies  # noqa: PLC0415

    return {} if folder is None else read_hierarchies(folder, quasi)


def _limit(pair: str) -> tuple[str, str]:
    name, equals, limit = pair.rpartition("=")
    if not equals or not name:
        raise InvalidInputError(
            f"{show(pair)} is not a column and a limit", "for example --top-code age=90", "syntax-error"
        )
    return name.strip(), limit.strip()


def _models(options: argparse.Namespace, sensitive: Sequence[str]) -> list[Model]:
    from privet.anonymize.models import EntropyL, RecursiveL  # noqa: PLC0415

    found: list[Model] = []
    for given, what in ((options.l, "l"), (options.entropy_l, "l"), (options.recursive_l, "l"), (options.t, "t")):
        if given is not None and not sensitive:
            raise InvalidInputError(f"{what} needs a sensitive column", "give --sensitive disease", "missing-name")
    if options.entropy_l is not None:
        found += [EntropyL(options.entropy_l, name) for name in sensitive]
    if options.recursive_l is not None:
        c, comma, l = options.recursive_l.rpartition(",")  # noqa: E741  their names in the field
        if not comma or not l.strip().isdecimal():
            raise InvalidInputError(f"{show(options.recursive_l)} is not C,L", "for example 3,2", "syntax-error")
        found += [RecursiveL(c.strip(), int(l), name) for name in sensitive]
    return found


def _made(plan: _Plan, options: argparse.Namespace, progress: Any) -> Anonymized:
    asked: dict[str, Any] = {
        "k": options.k, "l": options.l, "t": options.t, "models": _models(options, plan.sensitive),
        "sensitive": plan.sensitive, "hierarchies": plan.hierarchies, "progress": progress,
    }  # fmt: skip
    if options.method == "mondrian":
        from privet.anonymize.mondrian_cuts import mondrian  # noqa: PLC0415

        return mondrian(plan.data, plan.quasi, strict=not options.relaxed, **asked)
    from privet.anonymize.generalization import generalize  # noqa: PLC0415

    measure, seconds = MEASURES[options.measure], None if options.seconds is None else str(options.seconds)
    return generalize(plan.data, plan.quasi, suppress=options.suppress, measure=measure, seconds=seconds, **asked)


# What is said


def _json(plan: _Plan, made: Anonymized, checked: Checked, options: argparse.Namespace) -> dict[str, Any]:
    found = checked.to_json()
    return {
        **made.to_json(),
        "k": checked.k,
        "l": {name: one.distinct for name, one in checked.diversity.items()},
        "t": {name: one.t for name, one in checked.diversity.items()},
        "diversity": found["diversity"],
        "risks": found["risks"],
        "uniques": checked.uniques,
        "columns": [
            {"column": name, "level": _level(made, name), "before": before, "after": after}
            for name, before, after in _examples(made)
        ],
        "suggested": list(plan.suggested),
        "coded": [
            {"column": one.column, "value": one.value, "top": one.top, "changed": one.changed, "share": one.share}
            for one in plan.coded
        ],
        "dropped": list(plan.dropped),
        "untouched": made.untouched,
        "telling": made.telling,
        "suppressed_written": options.keep,
        "out": None if options.out is None else str(options.out),
    }


def _level(made: Anonymized, name: str) -> int | None:
    return None if made.node is None else made.node[name]


def _examples(made: Anonymized) -> list[tuple[str, str, str]]:
    """For each quasi-identifier a value before and after: the most frequent of those that were changed, if any was. Of
    one and the same record they would be all that tells who it is."""
    import numpy as np  # noqa: PLC0415

    found = []
    kept = made.classes >= 0
    for name in made.quasi:
        old, new = made.original[name], made.data[name]
        place = {text: code for code, text in enumerate(new.texts)}
        same = np.array([place.get(text, -1) for text in old.texts])
        changed = kept & (same[old.codes] != new.codes)
        shown = changed if changed.any() else kept
        record = int(np.argmax(shown & (old.codes == np.bincount(old.codes[shown]).argmax())))
        before, after = (one.texts[one.codes[record]] for one in (old, new))
        found.append((name, before or "(missing)", after or "(missing)"))
    return found


def _text(plan: _Plan, made: Anonymized, checked: Checked, options: argparse.Namespace) -> list[str]:
    ink = pen()
    records = len(made.data)
    lines = [ink.head(f"{options.data.name}: {records:,} records, {', '.join(map(str, made.models))}"), ""]
    lines += [str(one) for one in plan.coded]
    if plan.dropped:
        lines.append(f"left out: {', '.join(plan.dropped)}")
    lines += ["", *_table(plan, made), ""] if lines[-1] else [*_table(plan, made), ""]
    lines += _loss(made)
    lines += ["", "counted again in the records to ship:", *(f"  {line}" for line in str(checked).splitlines()), ""]
    lines += [ink.bad("This is no guarantee."), *_warnings(made, checked)]
    if options.out is not None:
        lines += _written(made, options)
    return lines


def _table(plan: _Plan, made: Anonymized) -> list[str]:
    from privet.report.terminal import terminal_width  # noqa: PLC0415

    rows = [("column", "level", "a value before", "after")]
    for name, before, after in _examples(made):
        level = "cut" if made.node is None else f"{made.node[name]} of {plan.hierarchies[name].height - 1}"
        rows.append((name, level, _short(before), _short(after)))
    widths = [max(terminal_width(row[place]) for row in rows) for place in range(4)]
    notes = ["", *("  suggested hierarchy" if made.node and row[0] in plan.suggested else "" for row in rows[1:])]
    return [
        "  ".join(text + " " * (width - terminal_width(text)) for text, width in zip(row, widths, strict=True)).rstrip()
        + note
        for row, note in zip(rows, notes, strict=True)
    ]


def _short(text: str) -> str:
    from privet.report.terminal import one_line  # noqa: PLC0415

    line = one_line(text)
    return line if len(line) <= LONGEST else line[: LONGEST - 3] + "..."


def _loss(made: Anonymized) -> list[str]:
    records = len(made.data)
    measures = ", ".join(f"{name.replace('_', ' ')} {value:.4g}" for name, value in made.measures.items())
    found = f"{made.method}, {made.seconds:.2f} s"
    if made.node is not None:
        best = "the optimum" if made.optimal else "the best found in the time given"
        found += f": {best} by {made.measure.replace('_', ' ')}, {made.looks:,} of {made.nodes:,} choices counted"
    suppressed = f"suppressed: {made.suppressed:,} of {records:,} records ({made.suppressed / records:.2%})"
    return [found, suppressed, f"lost: {measures}"]


def _warnings(made: Anonymized, checked: Checked) -> list[str]:
    lines = [
        "Anyone who knows more about a person than these columns, or has a second release, may still learn about them."
    ]
    if made.untouched:
        lines.append(f"Shipped unchanged and not checked: {', '.join(made.untouched)}.")
    if made.telling:
        lines.append(f"Most records have a value of their own in {', '.join(made.telling)}: leave it out with --drop.")
    for name, one in checked.diversity.items():
        if one.alike:
            lines.append(
                f"{one.alike:,} records are in classes where all have the same {name}: "
                "this reveals the value without finding the record."
            )
    if not made.sensitive:
        lines.append("No --sensitive column was named, so values that a whole class shares were not checked.")
    lines.append("Attack these records as others would: see docs/attacks/anonymized.md and docs/anonymize.md.")
    return lines


def _written(made: Anonymized, options: argparse.Namespace) -> list[str]:
    lines = ["", f"The records are in {options.out}"]
    if made.suppressed and not options.keep:
        why = "" if made.stars_hold else ": as a class of their own they would not satisfy the models"
        lines.append(f"without the {made.suppressed:,} that are suppressed{why}")
    elif not made.stars_hold:
        lines.append("The suppressed records in it do not satisfy the models: they are too few, or too alike.")
    if not options.shuffle:
        lines.append("They are in the order of the data: if that order reveals something, add --shuffle.")
    return lines


VERBS = {
    "anonymize": Verb(
        "generalize and suppress records before you ship them (k, l, t); says what this does not promise",
        "privet anonymize patients.csv --quasi age,zip,sex --k 5 --sensitive disease --l 2 --out shipped.csv",
        _options,
        _anonymize,
    )
}

"""Records without names against a table with names: who can be found in what was released.

    linkage = attack_linkage("released.csv", "known.csv", truth=("id", "id"))
    print(linkage)
    linkage.to_pandas()                 # a row for each released record: the best guess and its probability

What the two tables have in common is compared; a released 654** or 10-19 fits anyone who lives in 65418 and is 12. How
it works: values to intervals (value_kinds, axis), pairs that fit (join) or share something rare (blocking), how they
agree (agreement), what that says (model, both), the probability of each pair if nobody has two records (matching,
rings), what decoys say of it (decoy_check), guesses (guess). evidence.py has the whole path. One table only: within.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from privet.attacks.finding import Findings
from privet.attacks.linkage.agreement import Comparer, compared
from privet.attacks.linkage.axis import AxisLevels, axis, read_levels
from privet.attacks.linkage.evidence import Evidence, Progress, weigh
from privet.attacks.linkage.guess import Guesses, guesses
from privet.attacks.linkage.join import JoinClasses, classes
from privet.core.rational import show
from privet.errors import InvalidInputError
from privet.records.microdata import Microdata, RecordColumn, read, write
from privet.typing import Integers, Truths

if TYPE_CHECKING:
    import pandas as pd

Shared = Sequence[str] | Mapping[str, str]
PRECISION = 0.95


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LinkSetting:
    """What is compared with what. `truth` is never seen by the attack, only by its score."""

    released: Microdata
    known: Microdata
    shared: Mapping[str, str]  # released column: known column
    hierarchies: Mapping[str, AxisLevels]
    truth: tuple[str, str] | None
    precision: float
    errors: bool
    one_to_one: bool
    subject: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Linked:
    """What the attack thinks: guesses, and what they rest on."""

    evidence: Evidence
    guesses: Guesses

    def claimed(self, precision: float) -> Truths:
        """Which records are claimed to be of the person guessed."""
        return np.asarray(self.guesses.probability >= precision)

    def unique(self) -> Truths:
        """Records that fit one known person only, whom no other record fits."""
        found, fits = self.evidence.found, self.evidence.found.fits
        ours, theirs = self.evidence.comparer.tables
        fitting = np.bincount(found.released[fits], theirs.people[found.known[fits]], len(ours))
        rivals = np.bincount(found.known[fits], ours.people[found.released[fits]], len(theirs))
        alone = fits & (fitting[found.released] == 1) & (rivals[found.known] == 1)
        marked = np.zeros(len(ours), np.bool_)
        marked[found.released[alone]] = True
        return marked[ours.of] & ~self.guesses.silent


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Linkage:
    """The findings, and a table of all released records with the best guess for each."""

    findings: Findings
    matches: Microdata

    def to_pandas(self) -> pd.DataFrame:
        """A row for each released record: its row number, the guessed person, the probability, how many people fit."""
        import pandas as pd  # noqa: PLC0415  only who asks for it needs it

        table = pd.DataFrame({one.name: one.listed() for one in self.matches})
        chances = [name for name in table.columns if name in ("probability", "nobody")]
        rows = [name for name in table.columns if name not in (*chances, "verdict")]
        return table.astype(dict.fromkeys(chances, "float64")).astype(dict.fromkeys(rows, "Int64"))

    def write(self, path: str | os.PathLike[str]) -> None:
        """The same table as a CSV or Parquet file."""
        write(self.matches, path)

    def report(self, path: str | Path) -> Path:
        return self.findings.report(path)

    def to_json(self) -> dict[str, Any]:
        return self.findings.to_json()

    def __str__(self) -> str:
        return str(self.findings)

    def _repr_html_(self) -> str:
        return self.findings._repr_html_()


def attack_linkage(  # noqa: PLR0913  options of one attack
    released: object,
    known: object = None,
    *,
    on: Shared | None = None,
    truth: tuple[str, str] | str | None = None,
    hierarchies: Mapping[str, AxisLevels] | str | os.PathLike[str] | None = None,
    precision: float = PRECISION,
    errors: bool = True,
    one_to_one: bool = False,
    progress: Progress | None = None,
) -> Linkage:
    """Finds the people of `known` in `released`: files, data frames or Microdata. Without `known`: who is in `released`
    more than once.

    `on` names the columns to compare, as {released: known} where the names differ; without it, all that both have.
    `hierarchies`, or a folder of them, say what words of the release stand for, by its columns.
    `truth` names the columns of ids that tell who is who: they are for the score only. A link is claimed if it is right
    with probability `precision` at least. With `errors` any number of values of a pair may be wrong, misspelled or
    missing. `one_to_one` gives each person to one record at most in the best guesses; what is claimed is one-to-one in
    any case. `progress` is called with what is done, how far it is, and of how much.

    Returns a Linkage. Raises InvalidInputError if a table is empty, nothing is in common, or options contradict.
    """
    from privet.attacks.linkage.findings import findings_of, matches_of  # noqa: PLC0415  they know this file

    start = time.perf_counter()
    tell = progress or (lambda *_: None)
    if not 0.5 < precision < 1:
        raise InvalidInputError(
            f"a precision of {precision:g} cannot be promised",
            "give a probability below 1, for example precision=0.95",
            "out-of-range",
        )
    tell("reading", 0, 1)
    if known is None:
        return _within(released, on, truth, hierarchies, precision, plain=errors and not one_to_one, progress=tell)
    tables = read(released), read(known)
    ids = (truth, truth) if isinstance(truth, str) else truth
    shared = shared_columns(*tables, on, ids)
    setting = LinkSetting(
        released=tables[0],
        known=tables[1],
        shared=shared,
        hierarchies=read_levels(hierarchies, list(shared)),
        truth=ids,
        precision=precision,
        errors=errors,
        one_to_one=one_to_one,
        subject=_name(released),
    )
    linked = attack(setting, tell)
    found = findings_of(setting, linked, tell, start)
    return Linkage(findings=found, matches=matches_of(setting, linked))


def _within(  # noqa: PLR0913  options of one attack
    released: object,
    on: Shared | None,
    truth: tuple[str, str] | str | None,
    hierarchies: Mapping[str, AxisLevels] | str | os.PathLike[str] | None,
    precision: float,
    *,
    plain: bool,
    progress: Progress,
) -> Linkage:
    """Who is in one table more than once."""
    from privet.attacks.linkage.within import repeats  # noqa: PLC0415
    from privet.attacks.linkage.within_findings import Told, pairs_table, within_findings  # noqa: PLC0415

    start = time.perf_counter()
    if not plain or isinstance(truth, tuple) or isinstance(on, Mapping):
        raise InvalidInputError(
            "these options are for two tables", "give a second table, or leave them out", "contradictory-options"
        )
    data = read(released)
    shared = list(shared_columns(data, data, on, None if truth is None else (truth, truth)))
    levels = read_levels(hierarchies, shared)
    codes = np.stack([data[name].codes.astype(np.int64) for name in shared], axis=1)
    table = JoinClasses(codes=codes, of=np.arange(len(data)), people=np.ones(len(data), np.int64))
    columns = [compared(axis(data[name], data[name], levels.get(name)), 2 * len(data)) for name in shared]
    found = repeats(Comparer(columns=columns, tables=(table, table)), progress)
    subject = _name(released)
    told = within_findings(data, shared, found, Told(precision, truth, subject, start))
    return Linkage(findings=told, matches=pairs_table(found, precision))


def _name(data: object) -> str:
    return Path(data).name if isinstance(data, str | os.PathLike) else "the released table"


def attack(setting: LinkSetting, progress: Progress) -> Linked:
    """The attack itself: sees the shared columns and nothing else."""
    ours, theirs = list(setting.shared), list(setting.shared.values())
    axes = []
    for number, (one, other) in enumerate(setting.shared.items()):
        progress("reading values", number, len(ours))
        axes.append(axis(setting.released[one], setting.known[other], setting.hierarchies.get(one)))
    tables = classes(setting.released, ours), classes(setting.known, theirs)
    rows = len(setting.released) + len(setting.known)
    comparer = Comparer(columns=[compared(one, rows) for one in axes], tables=tables)
    evidence = weigh(comparer, errors=setting.errors, progress=progress)
    best = guesses(tables, evidence.found, evidence.chance, one_to_one=setting.one_to_one)
    return Linked(evidence=evidence, guesses=best)


def shared_columns(
    released: Microdata, known: Microdata, on: Shared | None, truth: tuple[str, str] | None
) -> dict[str, str]:
    """Released column: known column. The ids of the truth are never among them."""
    for data, what in ((released, "released"), (known, "known")):
        if not len(data):
            raise InvalidInputError(f"the {what} table has no rows", "give a table with at least one record", "empty")
    if truth is not None:
        _ = released[truth[0]], known[truth[1]]
    if on is None:
        there = {_folded(name): name for name in known.columns}
        pairs = {name: there[_folded(name)] for name in released.columns if _folded(name) in there}
        hidden = truth or ("", "")
        pairs = {one: other for one, other in pairs.items() if one != hidden[0] and other != hidden[1]}
    else:
        pairs = dict(on) if isinstance(on, Mapping) else {name: name for name in on}
    if not pairs:
        ours, theirs = (", ".join(map(show, data.columns)) for data in (released, known))
        raise InvalidInputError(
            f"the tables have no column in common: {ours} against {theirs}",
            'say which belong together, such as on={"zip": "postcode"}',
            "no-overlap",
        )
    for one, other in pairs.items():
        _ = released[one], known[other]
        if truth is not None and (one == truth[0] or other == truth[1]):
            raise InvalidInputError(
                f"{show(one)} is the truth and cannot be compared",
                "leave it out of the columns",
                "contradictory-options",
            )
    return pairs


def _folded(name: str) -> str:
    return name.strip().casefold()


def without(data: Microdata, rows: Integers) -> Microdata:
    """The same table without these rows."""
    keep = np.ones(len(data), np.bool_)
    keep[rows] = False
    return Microdata({one.name: RecordColumn(one.name, one.codes[keep], one.texts) for one in data}, int(keep.sum()))

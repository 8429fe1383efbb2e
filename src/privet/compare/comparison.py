"""Compare plans: the same records shipped in several ways, and the same attacks on each.

    compare_releases("patients.csv", ["age", "zip"], "disease").report("plans.html")

A random half of the records is held out before anything is made: they are the control. What is guessed as well of
people who are not in the data is knowledge about people like them, and no leak. For the composition attack every way
is gone a second time, for a second set of people that overlaps the first.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from privet.anonymize.hierarchy import Hierarchy
from privet.anonymize.hierarchy_file import read_hierarchies
from privet.anonymize.result import Anonymized
from privet.attacks.anonymized.equivalence import best_guesses
from privet.attacks.anonymized.homogeneity import SecretClasses, classes_of
from privet.attacks.anonymized.matching_classes import Agreement, overlaps
from privet.attacks.anonymized.two_releases import fits
from privet.compare.counted import Pair, Table, TableBins, bins, error, shipped_tables, stands_for, tables
from privet.compare.measured import Comparison, Measured
from privet.compare.private import guesses, noisy_tables
from privet.compare.ways import Way, ways
from privet.core.rational import positive, show
from privet.errors import InvalidInputError, PrivetError
from privet.records import microdata
from privet.records.microdata import Microdata, RecordColumn
from privet.stats.binomial import share
from privet.stats.intervals import Interval, difference

Progress = Callable[[str, int, int], object]
Rows = npt.NDArray[np.intp]
GUESSED = 2000  # people, drawn at random, whose secret is guessed
OVERLAP = 2000  # people in both releases who are looked for
FEWEST = 20  # records


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Trial:
    """One data set, divided: `shipped` people and `held_out` ones, and a second shipment of `second` people."""

    data: Microdata
    quasi: tuple[str, ...]
    sensitive: str
    shipped: Rows
    held_out: Rows
    second: Rows
    binned: Mapping[str, TableBins]
    true: Mapping[Pair, Table]
    asked: Rows  # of the shipped
    control: Rows  # of those held out
    both: Rows  # in the first and the second
    hierarchies: Mapping[str, Hierarchy] | None  # say what the words of a release stand for, to an attacker as well


def compare_releases(  # noqa: PLR0913  the rest is keyword-only
    data: object,
    quasi: Sequence[str],
    sensitive: str,
    *,
    plans: Sequence[Way] | None = None,
    ids: Sequence[str] = (),
    hierarchies: Mapping[str, Hierarchy] | str | os.PathLike[str] | None = None,
    suppress: object = 0.05,
    epsilon: object = 1,
    seed: int = 0,
    progress: Progress | None = None,
) -> Comparison:
    """`plans`: the ways to compare, those of `ways` if none are given. `ids`: direct identifiers, which no plan but
    the first ships. `epsilon` is that of the noisy tables. `seed` divides the people."""
    began, tell = time.perf_counter(), progress or (lambda *_: None)
    records = microdata.read(data, columns=[*ids, *quasi, sensitive])
    spent = positive(epsilon, "epsilon")
    given = read_hierarchies(hierarchies, quasi) if isinstance(hierarchies, str | os.PathLike) else hierarchies
    chosen = plans if plans is not None else ways(
        quasi, sensitive, hierarchies=given, suppress=suppress, epsilon=spent, ids=bool(ids)
    )  # fmt: skip
    trial = replace(divided(records.only([*quasi, sensitive]), quasi, sensitive, seed), hierarchies=given)
    values = records[sensitive].codes
    constant = np.bincount(values[trial.shipped], minlength=len(records[sensitive].texts)).argmax()
    found = []
    for done, way in enumerate(chosen):
        tell(way.name, done, len(chosen))
        found.append(_measured(trial, way))
    return Comparison(
        subject=Path(data).name if isinstance(data, str | os.PathLike) else "the records",
        quasi=tuple(quasi),
        sensitive=sensitive,
        records=len(trial.shipped),
        baseline=share(int((values[trial.asked] == constant).sum()), len(trial.asked)),
        ways=tuple(found),
        seconds=time.perf_counter() - began,
    )


def divided(data: Microdata, quasi: Sequence[str], sensitive: str, seed: int) -> Trial:
    if len(data) < FEWEST:
        raise InvalidInputError(
            f"{len(data)} records are too few to hold half of them out", f"give at least {FEWEST} records", "too-few"
        )
    if not quasi or sensitive in quasi or len(set(quasi)) < len(quasi):
        raise InvalidInputError(
            f"the quasi-identifiers {show(list(quasi))} do not go with {show(sensitive)}",
            "name each column once, and the sensitive column separately",
            "duplicate-name",
        )
    random = np.random.default_rng(seed)
    order = random.permutation(len(data))
    half = len(data) // 2
    shipped, held_out = order[:half], order[half:]
    both = shipped[: half // 2]
    second = np.concatenate([both, held_out[: half - len(both)]])
    binned = {name: bins(data[name]) for name in (*quasi, sensitive)}
    known = np.array([text is not None for text in data[sensitive].texts], np.bool_)[data[sensitive].codes]
    return Trial(
        data=data,
        quasi=tuple(quasi),
        sensitive=sensitive,
        shipped=np.sort(shipped),
        held_out=np.sort(held_out),
        second=np.sort(second),
        binned=binned,
        true=tables(_some(data, np.sort(shipped)), binned),
        asked=shipped[known[shipped]][:GUESSED],
        control=held_out[known[held_out]][:GUESSED],
        both=both[known[both]][:OVERLAP],
        hierarchies=None,
    )


def _measured(trial: Trial, way: Way) -> Measured:
    began = time.perf_counter()
    try:
        found = _noisy(trial, way.epsilon) if way.epsilon is not None else _records(trial, way)
    except PrivetError as problem:  # such as nothing feasible; the others go on
        return Measured(name=way.name, guarantee=way.guarantee, problem=problem.problem)
    return Measured(name=way.name, guarantee=way.guarantee, seconds=time.perf_counter() - began, **found)


def _records(trial: Trial, way: Way) -> dict[str, Any]:
    assert way.make is not None  # noqa: S101  for the type checker: without epsilon there is a make
    original = _some(trial.data, trial.shipped)
    made = way.make(original)
    shipped = made.data if isinstance(made, Anonymized) else made
    classes = classes_of(shipped, trial.quasi, trial.sensitive)
    agree = _agreement(trial, original, shipped)
    guess = {
        name: best_guesses(classes, trial.data, rows, agree)
        for name, rows in (("in", trial.asked), ("out", trial.control))
    }
    texts = np.array(classes.values, dtype=object)
    success, control = _shares(trial, texts[guess["in"]], texts[guess["out"]])
    if way.ids:  # whoever has the name has the record
        success = share(len(trial.asked), len(trial.asked))
    people = len(trial.shipped)
    certain, together = _certain(trial, way, classes, agree)
    return {
        "ncp": made.measures["ncp"] if isinstance(made, Anonymized) else 0.0,
        "suppressed": classes.suppressed / people,
        "error": error(trial.true, shipped_tables(original, shipped, trial.binned)),
        "alone": 1.0 if way.ids else float((classes.sizes == 1).sum()) / people,
        "certain": certain,
        "together": together,
        "success": success,
        "control": control,
        "advantage": difference(success, control),
    }


def _certain(trial: Trial, way: Way, classes: SecretClasses, agree: Agreement) -> tuple[Interval, Interval]:
    """Of people in both shipments, those for whom one value is left, by the first and by both."""
    people = len(trial.both)
    if way.ids:
        return share(people, people), share(people, people)
    assert way.make is not None  # noqa: S101
    original = _some(trial.data, trial.second)
    made = way.make(original)
    shipped = made.data if isinstance(made, Anonymized) else made
    other = classes_of(shipped, trial.quasi, trial.sensitive)
    found = fits([classes, other], trial.data, trial.both, [agree, _agreement(trial, original, shipped)])
    return (
        share(sum(fit.sure_alone for fit in found), people),
        share(sum(fit.sure for fit in found), people),
    )


def _noisy(trial: Trial, epsilon: Fraction) -> dict[str, Any]:
    noisy = noisy_tables(_some(trial.data, trial.shipped), trial.binned, epsilon)
    names = _bin_names(trial)
    guess = [
        names[guesses(noisy, trial.data, rows, trial.binned, trial.sensitive)]
        for rows in (trial.asked, trial.control)
    ]  # fmt: skip
    success, control = _shares(trial, *guess)
    return {
        "suppressed": 0.0,
        "error": error(trial.true, noisy),
        "alone": 0.0,
        "certain": share(0, len(trial.both)),  # with epsilon-DP every value stays possible, whatever is seen
        "together": share(0, len(trial.both)),
        "success": success,
        "control": control,
        "advantage": difference(success, control),
    }


def _bin_names(trial: Trial) -> npt.NDArray[np.object_]:
    """The most frequent text of each bin of the secret, which is what is guessed where the bin is: among people who are
    not in the data, since the noisy tables do not tell."""
    column, binned = trial.data[trial.sensitive], trial.binned[trial.sensitive]
    counts = np.bincount(column.codes[trial.held_out], minlength=len(column.texts))
    order = np.argsort(counts, kind="stable")
    names = np.full(binned.count, None, dtype=object)
    names[binned.of[order]] = np.array(column.texts, dtype=object)[order]
    return names


def _shares(
    trial: Trial, inside: npt.NDArray[np.object_], outside: npt.NDArray[np.object_]
) -> tuple[Interval, Interval]:
    column = trial.data[trial.sensitive]
    texts = np.array(column.texts, dtype=object)
    right = [int((guess == texts[column.codes[rows]]).sum()) for guess, rows in
             ((inside, trial.asked), (outside, trial.control))]  # fmt: skip
    return share(right[0], len(trial.asked)), share(right[1], len(trial.control))


def _agreement(trial: Trial, original: Microdata, shipped: Microdata) -> Agreement:
    """A text agrees with what it was seen to stand for, and with what it says, such as 130** or [20, 30["""
    return {
        name: stands_for(original[name], shipped[name]).T
        | overlaps(original[name].texts, shipped[name].texts, (trial.hierarchies or {}).get(name))
        for name in trial.quasi
    }


def _some(data: Microdata, rows: Rows) -> Microdata:
    return Microdata({one.name: RecordColumn(one.name, one.codes[rows], one.texts) for one in data}, len(rows))

"""Attacks on an anonymized table: what it says about people although nobody's record can be told.

    attack_anonymized("released.csv", ["zip", "age"], "condition")
    attack_anonymized(hospital_a, ["zip", "age"], "condition", also=[hospital_b], known=[{"zip": "13012", "age": 28}])

Homogeneity, skewness, background knowledge, and two releases together. With the original records (`truth`) and with
people who are not in the data (`population`) it is also said how much of that is the release's doing: that smokers
have more often lung cancer is no leak, and is guessed as well of those who are not in the table.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from privet.attacks.anonymized.homogeneity import SecretClasses, certain_without, classes_of, homogeneous, recheck
from privet.attacks.anonymized.matching_classes import (
    Agreement,
    agreement,
    candidates,
    certain_classes,
    in_parts,
    left_over,
    reach,
    readable,
    value_counts,
)
from privet.attacks.anonymized.two_releases import Fit, Pair, fits, pairs
from privet.attacks.anonymized.words import told
from privet.attacks.finding import Findings, Score
from privet.attacks.linkage.axis import AxisLevels, read_levels
from privet.attacks.linkage.value_kinds import plain
from privet.errors import InvalidInputError
from privet.records import microdata
from privet.records.microdata import Microdata
from privet.stats.binomial import share
from privet.stats.intervals import Interval
from privet.typing import Integers

SCORED = 2000  # people, drawn at random, of whom the guess is compared with the truth
MOST_CLASSES, MOST_PAIRS = 200, 100  # listed
RULED_OUT = 2  # values
SEED = 0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AttackedRecords:
    """What was found, as numbers; `records_words` says it."""

    subject: str
    others: tuple[str, ...]
    releases: tuple[SecretClasses, ...]
    certain: Integers  # classes, the largest first
    overlapping: Integers  # homogeneous classes that somebody of another class may be taken for
    without: list[int]  # people certain with 0, 1, ... values ruled out
    known: Microdata | None
    fits: tuple[Fit, ...]
    pairs: tuple[Pair, ...]
    pairs_in_all: int
    score: Score
    leveled: bool  # with hierarchies
    unfitting: int  # people of the truth and of the population whom no class fits
    checked: int  # classes that were gone through once more


def attack_anonymized(  # noqa: PLR0913  the rest is keyword-only
    released: object,
    quasi: Sequence[str],
    sensitive: str,
    *,
    also: Sequence[object] = (),
    truth: object = None,
    population: object = None,
    known: object = None,
    hierarchies: Mapping[str, AxisLevels] | str | os.PathLike[str] | None = None,
    suppressed: str = "*",
) -> Findings:
    """`also`: further releases with people of this one. `truth`: the original records of these people. `population`:
    records of people who are not in the release, for control. `known`: people that are looked for, with what an
    attacker knows of them, in the columns of the quasi-identifiers. A value of theirs may be as it is, 28, or as
    general as in a release, 2*. `hierarchies`, or a folder of them, say what words of a release stand for."""
    began = time.perf_counter()
    columns = [*quasi, sensitive]
    levels = read_levels(hierarchies, quasi)
    releases = [classes_of(_read(one, columns), quasi, sensitive, suppressed) for one in (released, *also)]
    first = releases[0]
    sought = None if known is None else _people(known, quasi)
    left = reach(first, RULED_OUT + 1, levels)
    alike = certain_classes(first, left)
    overlapping = homogeneous(first)[~np.isin(homogeneous(first), alike)]
    some, number = pairs(first, releases[1], MOST_PAIRS, levels) if len(releases) > 1 else ([], 0)
    fitting = [] if sought is None else fits(releases, sought, np.arange(len(sought)), hierarchies=levels)
    _recheck(releases, alike[:MOST_CLASSES], sought, fitting, levels)
    guess = _Guess(first, alike, levels)
    found = AttackedRecords(
        subject=_name(released),
        others=tuple(map(_name, also)),
        releases=tuple(releases),
        certain=alike,
        overlapping=overlapping,
        without=certain_without(first, left, RULED_OUT),
        known=sought,
        fits=tuple(fitting),
        pairs=tuple(some),
        pairs_in_all=number,
        score=_score(guess, _maybe(truth, columns), _maybe(population, columns)),
        leveled=bool(levels),
        unfitting=guess.unfitting,
        checked=min(len(alike), MOST_CLASSES),
    )
    return told(found, truth is not None, time.perf_counter() - began)


def _recheck(
    releases: Sequence[SecretClasses],
    alike: Integers,
    sought: Microdata | None,
    fitting: Sequence[Fit],
    levels: Mapping[str, AxisLevels],
) -> None:
    """What is called a proof is found a second time, record by record, by code that has nothing in common with the
    first: one value in a class, one value in all releases for somebody."""
    right = all(recheck(releases[0], int(number)) for number in alike)
    for fit in [fit for fit in fitting if fit.sure][:MOST_CLASSES]:
        assert sought is not None  # noqa: S101  for the type checker: there are fits of people who are known only
        left = [left_over(one, sought, fit.row, levels) for one in releases]
        right = right and _in_all(releases, left) == {plain(str(fit.values[0]))}
    if not right:
        raise AssertionError("two ways to count the same records differ")


def _in_all(releases: Sequence[SecretClasses], left: Sequence[set[str | None]]) -> set[str]:
    """Of the values left by the first release that has none missing, those that no other excludes; as plain texts."""
    regions = readable([text for one in releases for text in one.values])

    def meets(one: str, other: str) -> bool:
        mine, theirs = regions.get(plain(one)), regions.get(plain(other))
        return not (mine and theirs) or any(a <= d and c <= b for a, b in mine for c, d in theirs)

    base = next((some for some in left if None not in some), set())
    return {
        plain(one)
        for one in base
        if one is not None
        and all(None in some or any(other is not None and meets(one, other) for other in some) for some in left)
    }


def best_guesses(
    classes: SecretClasses, people: Microdata, rows: npt.NDArray[np.intp], agree: Agreement | None = None
) -> Integers:
    """For each of these people the most frequent value, as its number, of the classes they may be in; where there are
    none, the most frequent of all."""
    there, overall = np.array([text is not None for text in classes.values], np.bool_), _overall(classes)
    told = agreement(classes, people).agree if agree is None else agree
    parts = [np.zeros(0, np.int64)]
    for some in in_parts(classes, rows):
        counts = np.where(there, value_counts(classes, candidates(classes, people, some, told)), 0.0)
        parts.append(np.where(counts.any(axis=1), np.argmax(counts, axis=1), overall))
    return np.concatenate(parts)


@dataclass(slots=True)
class _Guess:
    """Guesses about people by the classes that they fit, and how many fitted none."""

    classes: SecretClasses
    certain: Integers
    levels: Mapping[str, AxisLevels]
    unfitting: int = 0

    def compared(self, people: Microdata) -> tuple[Interval, Interval, int, int]:
        """Of some people drawn at random: how often the guess is right, how often the most frequent value is, how many
        are in a class that is called certain, and how many of these have its value."""
        classes = self.classes
        values = np.array(people[classes.sensitive].texts, dtype=object)[people[classes.sensitive].codes]
        rows = np.flatnonzero([value is not None for value in values])
        if len(rows) > SCORED:
            rows = np.sort(np.random.default_rng(SEED).choice(rows, SCORED, replace=False))
        agree = agreement(classes, people, self.levels).agree
        names = np.array(classes.values, dtype=object)
        right = names[best_guesses(classes, people, rows, agree)] == values[rows]
        constant = values[rows] == names[_overall(classes)]
        sure = np.zeros(len(rows), np.bool_)
        for some in in_parts(classes, np.arange(len(rows))):
            found = candidates(classes, people, rows[some], agree)
            self.unfitting += int((~found.any(axis=1)).sum())
            sure[some] = found[:, self.certain].any(axis=1)
        of = len(rows)
        return share(int(right.sum()), of), share(int(constant.sum()), of), int(sure.sum()), int((sure & right).sum())


def _score(guess: _Guess, truth: Microdata | None, population: Microdata | None) -> Score:
    """Success: of the people in the table, by the class that each record is in, or by the truth, if it is given. Then
    the claims are compared with it, too, for the people who were drawn; without it they agree with the table, which
    they were read from."""
    classes, overall = guess.classes, _overall(guess.classes)
    claimed = right = int(classes.sizes[guess.certain].sum())
    if truth is None:
        values, members = classes.data[classes.sensitive].codes, classes.members
        guesses = np.append(classes.mode, -1)[members]  # -1 for the suppressed, and where all values are missing
        guesses = np.where(guesses >= 0, guesses, overall)
        there = np.array([text is not None for text in classes.values], np.bool_)[values]
        success = share(int(((guesses == values) & there).sum()), int(there.sum()))
        baseline = share(int(((values == overall) & there).sum()), int(there.sum()))
    else:
        success, baseline, claimed, right = guess.compared(truth)
    control = None if population is None else guess.compared(population)[0]
    return Score(
        claimed=claimed,
        right=right,
        success=success,
        baseline=baseline,
        control=control,
    )


def _overall(classes: SecretClasses) -> int:
    there = np.array([text is not None for text in classes.values], np.bool_)
    if not there.any():
        raise InvalidInputError(
            f"{classes.sensitive} has no values", "name a sensitive column that has values", "missing-value"
        )
    return int(np.argmax(np.where(there, classes.shares, -1.0)))


def _read(data: object, columns: Sequence[str]) -> Microdata:
    """Of an `Anonymized` the records to ship."""
    held = getattr(data, "data", None)
    return microdata.read(held if isinstance(held, Microdata) else data, columns=list(columns))


def _maybe(data: object, columns: Sequence[str]) -> Microdata | None:
    return None if data is None else _read(data, columns)


def _people(known: object, quasi: Sequence[str]) -> Microdata:
    """What is not known of somebody is left out, or empty."""
    if not isinstance(known, Sequence) or isinstance(known, str):
        return _read(known, quasi)
    if not known or not all(isinstance(one, Mapping) for one in known):
        raise InvalidInputError(
            "known is empty: there is nobody to look for", "for example known=[{'age': 28, 'zip': '13012'}]", "empty"
        )
    strange = sorted({str(name) for one in known for name in one} - set(quasi))
    if strange:
        raise InvalidInputError(
            f"{strange[0]} is in known, but is not a quasi-identifier",
            f"use {', '.join(quasi)}",
            "unknown-column",
        )
    columns = {name: microdata.column(name, [_text(one.get(name)) for one in known]) for name in quasi}
    return Microdata(columns, len(known))


def _text(value: Any) -> str | None:
    return None if value is None or value == "" else str(value)


def _name(data: object) -> str:
    return Path(data).name if isinstance(data, str | os.PathLike) else "the release"

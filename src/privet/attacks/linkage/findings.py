"""A linkage in words: people first, the worst records, what made them unique, and what was assumed."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from privet.attacks.finding import Finding, Findings, ShownTable, Strength
from privet.attacks.linkage.evidence import Progress
from privet.attacks.linkage.linking import Linked, LinkSetting
from privet.attacks.linkage.score import Scored, scored
from privet.records.microdata import Microdata, RecordColumn, narrow
from privet.stats.intervals import Interval
from privet.typing import Integers, Truths

MOST_LISTED = 5000  # findings; the table of matches has all
MOST_SHOWN = 6  # columns of a person, and of a record
GROUPS = ((1, 1), (2, 2), (3, 3), (4, 4), (5, 9), (10, 99), (100, None))
LEAD = (
    "Linked means: with at least the probability shown, the record belongs to this person, if the assumptions below"
    " hold. Records that fit several people are not claimed; how many they fit is told."
)
ASSUMED = (
    "A row of the known table is one person, and a person has one record in the release at most.",
    "The same person is told of in the same way in both tables, but for one wrong value in a pair at most.",
    "Columns are independent of each other for different people, apart from the excess that the release itself shows.",
    "A missing value, and a *, may be anything. Leading zeros, capitals, accents written in two ways and spaces play no"
    " part.",
)
NOT_TRIED = (
    "Two wrong values in the same pair.",
    "Numbers and dates that are nearly the same: they agree, or they do not.",
    "Texts that sound alike, nicknames, and words in another order.",
    "What is published elsewhere, and what the order of the rows may tell.",
)


def findings_of(setting: LinkSetting, linked: Linked, progress: Progress, start: float) -> Findings:
    claimed = linked.claimed(setting.precision)
    score = scored(setting, linked, progress)
    skipped = linked.evidence.skipped
    more = (f"Everybody who fits {skipped:,} records: too many different columns are missing in them.",) if skipped else ()
    exact = () if setting.errors else ("Wrong values: every value was taken as right.",)
    return Findings(
        attack="linkage",
        subject=setting.subject,
        headline=_headline(linked, claimed, score),
        people=len(setting.released),
        claimed=int(claimed.sum()),
        findings=_worst(setting, linked, claimed),
        tables=tuple(_tables(setting, linked, claimed, score)),
        score=None if score is None else score.score,
        assumptions=ASSUMED,
        not_tried=(*more, *exact, *NOT_TRIED),
        numbers=_numbers(setting, linked, claimed, score),
        seconds=time.perf_counter() - start,
        word="linked",
        lead=LEAD,
    )


def _headline(linked: Linked, claimed: Truths, score: Scored | None) -> str:
    number, records = int(claimed.sum()), len(claimed)
    several = int((linked.guesses.fitting > 1).sum())
    if not number:
        middle = int(np.median(linked.guesses.fitting[linked.guesses.fitting > 1])) if several else 0
        rest = f": {several:,} of them fit several people, {middle:,} in the middle" if several else ""
        return f"None of {records:,} records is linked to one person{rest}"
    verb = "is" if number == 1 else "are"
    rightly = "" if score is None else f", {_percent(score.precision.value)} of them rightly"
    return f"{number:,} of {records:,} records {verb} linked to a known person{rightly}"


def _percent(value: float) -> str:
    """Rounded down: 99.97 % is not 100 %."""
    tenths = int(value * 1000) / 10
    return f"{tenths:g} %"


def _worst(setting: LinkSetting, linked: Linked, claimed: Truths) -> tuple[Finding, ...]:
    """The surest first; among equals those whose values are the rarest."""
    rows = np.flatnonzero(claimed)
    rarity = _fitting_by_chance(linked)[linked.evidence.comparer.tables[0].of[rows]]
    order = np.lexsort((rows, rarity, -linked.guesses.probability[rows]))[:MOST_LISTED]
    return tuple(_finding(setting, linked, int(rows[at]), float(rarity[at])) for at in order)


def _fitting_by_chance(linked: Linked) -> np.ndarray[Any, np.dtype[np.float64]]:
    """How many other known people would fit a class if columns were independent."""
    ours, theirs = linked.evidence.comparer.tables[0], linked.evidence.comparer.tables[1]
    log = np.zeros(len(ours))
    for at, column in enumerate(linked.evidence.comparer.columns):
        codes, axis = ours.codes[:, at], column.axis
        log += np.where(axis.released.free[codes], 0.0, np.log(axis.chance()[codes]))
    return np.asarray(np.exp(log) * (int(theirs.people.sum()) - 1))


def _finding(setting: LinkSetting, linked: Linked, row: int, by_chance: float) -> Finding:
    person = int(linked.guesses.person[row])
    hidden = set() if setting.truth is None else set(setting.truth)
    shared = set(setting.shared.values())
    who = [name for name in setting.known.columns if name not in shared | hidden][:MOST_SHOWN]
    what = [name for name in setting.released.columns if name not in setting.shared and name not in hidden]
    named = ", ".join(f"{name} {_text(setting.known[name], person)}" for name in who)
    fits = int(linked.guesses.fitting[row])
    people = "no other known person fits" if fits == 1 else f"{fits:,} known people fit, this one best"
    return Finding(
        claim=f"record {row + 1} is of {named or f'known person {person + 1}'}",
        strength=Strength.CONFIDENCE,
        record={name: _text(setting.released[name], row) for name in what[:MOST_SHOWN]},
        evidence=tuple(f"{name} {_text(setting.released[name], row)}" for name in setting.shared),
        reasoning=f"{people if fits else 'one value differs'}; {by_chance:.2g} others would by chance",
        confidence=float(linked.guesses.probability[row]),
    )


def _text(column: RecordColumn, row: int) -> str:
    text = column.texts[int(column.codes[row])]
    return "(missing)" if text is None else text


def _tables(setting: LinkSetting, linked: Linked, claimed: Truths, score: Scored | None) -> list[ShownTable]:
    parts = [_groups(linked), _columns(linked, claimed), _given_away(setting, linked)]
    return [*(part for part in parts if part is not None), *([] if score is None else [_control(score)])]


def _groups(linked: Linked) -> ShownTable:
    fitting = linked.guesses.fitting
    counts = [("nobody", int((fitting == 0).sum()))]
    for low, high in GROUPS:
        inside = (fitting >= low) & (fitting <= (high or fitting.max(initial=low)))
        name = f"{low:,}" if low == high else f"{low:,} to {high:,}" if high else f"{low:,} or more"
        counts.append((f"one of {name}", int(inside.sum())))
    counts[1] = ("one person", counts[1][1])
    return ShownTable(
        "How many known people fit a record",
        "A record that fits several people hides its person among them, and only among them.",
        ("it may be", "records"),
        tuple((name, f"{number:,}") for name, number in counts if number),
        bars=True,
    )


def _columns(linked: Linked, claimed: Truths) -> ShownTable | None:
    """Seen in the release alone: who is no longer alone in it without a column."""
    if not claimed.any() or len(linked.evidence.comparer.columns) < 2:
        return None
    codes, people = linked.evidence.comparer.tables[0].codes, linked.evidence.comparer.tables[0].people
    places = linked.evidence.comparer.tables[0].of[claimed]
    rows = []
    for at, axis in enumerate(linked.evidence.comparer.columns):
        same = np.unique(np.delete(codes, at, axis=1), axis=0, return_inverse=True)[1]
        size = np.bincount(same, people)[same]
        rows.append((axis.name, int((size[places] > 1).sum())))
    return ShownTable(
        "What made them unique",
        "So many of the linked records would share all other values with another record if this column were left out.",
        ("column", "no longer alone"),
        tuple((name, f"{number:,}") for name, number in sorted(rows, key=lambda row: -row[1])),
    )


def _given_away(setting: LinkSetting, linked: Linked) -> ShownTable | None:
    """A group whose records all say the same gives it away of each of its people, without any link."""
    hidden = set() if setting.truth is None else {setting.truth[0]}
    names = [name for name in setting.released.columns if name not in setting.shared and name not in hidden]
    several = (linked.evidence.comparer.tables[0].people > 1) & (_class_fits(linked) > 0)
    rows = []
    for name in names:
        column = setting.released[name]
        same = _same_value(linked.evidence.comparer.tables[0].of, column.codes.astype(np.int64), len(several))
        if len(column.texts) > 1 and (number := int(linked.evidence.comparer.tables[0].people[several & same].sum())):
            rows.append((name, f"{number:,}"))
    if not rows:
        return None
    return ShownTable(
        "What a group gives away",
        "These records are in a group of two or more that look alike and all have the same value here: whoever is known"
        " to be in the release, and fits the group, has this value. No link is needed.",
        ("column", "records"),
        tuple(rows),
    )


def _class_fits(linked: Linked) -> Integers:
    found = linked.evidence.found
    return np.bincount(found.released[found.fits], minlength=len(linked.evidence.comparer.tables[0]))


def _same_value(place: Integers, codes: Integers, size: int) -> Truths:
    """For each class whether all of its records have the same code."""
    low, high = np.full(size, np.iinfo(np.int64).max), np.full(size, -1)
    np.minimum.at(low, place, codes)
    np.maximum.at(high, place, codes)
    return np.asarray(low == high)


def _control(score: Scored) -> ShownTable:
    rows = (
        ("claims that are right", score.right, score.claimed, score.precision),
        ("records that can be linked, and were", score.found, score.unique, score.recall),
        ("people not in the release, but claimed", score.false, score.held_out, score.control),
    )
    return ShownTable(
        "Main run and control",
        "Can be linked: fits one known person only, whom no other record fits. For the control some known people's"
        " records were taken out of the release, and the attack was run again. Intervals are 95 % (Clopper and"
        " Pearson).",
        ("what", "number", "of", "share", "interval"),
        tuple((what, f"{hits:,}", f"{of:,}", _percent(part.value), _range(part)) for what, hits, of, part in rows),
    )


def _range(part: Interval) -> str:
    return f"{_percent(part.low)} to {_percent(part.high)}"


def _numbers(setting: LinkSetting, linked: Linked, claimed: Truths, score: Scored | None) -> dict[str, Any]:
    fitting = linked.guesses.fitting
    common = {
        "records": len(setting.released),
        "known": len(setting.known),
        "linked": int(claimed.sum()),
        "uniquely_linkable": int(linked.unique().sum()),
        "fit_several": int((fitting > 1).sum()),
        "fit_nobody": int((fitting == 0).sum()),
        "people_in_both": round(linked.evidence.both.estimate, 1),
        "people_in_both_low": round(linked.evidence.both.low, 1),
        "crowding": linked.evidence.crowding,
        "blocking_loses": linked.evidence.loss,
        "strangers_claimed": linked.evidence.calibration.strangers,
        "stated_precision": setting.precision,
        "compared": dict(setting.shared),
        "agreement": _agreement(linked),
    }
    if score is None:
        return common
    parts = {"precision": score.precision, "recall": score.recall, "control": score.control}
    told = {name: {"value": part.value, "low": part.low, "high": part.high} for name, part in parts.items()}
    return common | told | {"right": score.right, "held_out": score.held_out, "falsely_claimed": score.false}


def _agreement(linked: Linked) -> dict[str, float]:
    """For each column how often the values of one person are the same."""
    model = linked.evidence.model
    same = model.mix @ model.match[:, :, 0]
    return {column.name: float(m) for column, m in zip(linked.evidence.comparer.columns, same, strict=True)}


def matches_of(setting: LinkSetting, linked: Linked) -> Microdata:
    """A row for each released record. The guess is a row number of the known table, from 1 on, or missing."""
    best = linked.guesses
    claimed = linked.claimed(setting.precision)
    verdict = np.where(claimed, 0, np.where(best.fitting > 1, 1, 2))
    columns = (
        _numbered("released_row", np.arange(1, len(claimed) + 1)),
        _numbered("known_row", best.person + 1, missing=0),
        _rounded("probability", best.probability),
        _rounded("nobody", best.nobody),
        _numbered("people_who_fit", best.fitting),
        RecordColumn("verdict", narrow(verdict, 3), ("linked", "one of several", "not linked")),
    )
    return Microdata({one.name: one for one in columns}, len(claimed))


def _numbered(name: str, numbers: Integers, missing: int | None = None) -> RecordColumn:
    distinct, codes = np.unique(numbers, return_inverse=True)
    texts = tuple(None if one == missing else str(one) for one in distinct.tolist())
    return RecordColumn(name, narrow(codes, len(texts)), texts)


def _rounded(name: str, shares: np.ndarray[Any, np.dtype[np.float64]]) -> RecordColumn:
    """To four digits, downward, so that nothing likely looks sure."""
    distinct, codes = np.unique(np.floor(shares * 10_000).astype(np.int64), return_inverse=True)
    return RecordColumn(name, narrow(codes, len(distinct)), tuple(f"{one / 10_000:.4f}" for one in distinct.tolist()))

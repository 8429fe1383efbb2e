"""A linkage in words: people first, the worst records, what made them unique, and what was assumed."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from privet.attacks.finding import Finding, Findings, ShownTable, Strength
from privet.attacks.linkage.agreement import SAME
from privet.attacks.linkage.bits import bits_of
from privet.attacks.linkage.evidence import Progress
from privet.attacks.linkage.linking import Linked, LinkSetting
from privet.attacks.linkage.score import Scored, scored
from privet.attacks.linkage.table_columns import numbered, rounded
from privet.attacks.linkage.within_findings import rules_table
from privet.records.microdata import Microdata, RecordColumn, narrow
from privet.stats.intervals import Interval
from privet.typing import Floats, Integers, Truths

MOST_LISTED = 5000  # findings; the table of matches has all
MOST_SHOWN = 6  # columns of a person, and of a record
GROUPS = ((1, 1), (2, 2), (3, 3), (4, 4), (5, 9), (10, 99), (100, None))
LEAD = (
    "Linked means: with at least the probability shown, the record belongs to this person, if the assumptions below"
    " hold. Records that fit several people are not claimed; how many they fit is told."
)
ASSUMED = (
    "A row of the known table is one person, and a person has one record in the release at most. Rows that are twice in"
    " a table look like two people who are alike, and make claims more modest.",
    "People are in the two tables independently of each other. A family that is in one table only is no more, and no"
    " less, common than chance makes it.",
    "Two people in one table are as alike as two people in different tables. How often they are is counted within the"
    " tables, with all families, shared addresses and columns that go together.",
    "Values of one person are wrong in one column independently of others, apart from records that are wrong in many.",
    "A missing value, and a *, may be anything. Leading zeros, capitals, accents written in two ways and spaces play no"
    " part.",
)
NOT_TRIED = (
    "Texts that sound alike, nicknames, words in another order, and values in another column.",
    "What is published elsewhere, and what the order of the rows may tell.",
)
LOSS_TOLD = 0.001  # a share of pairs
MOST_PICTURED = 3  # links whose evidence is drawn


def findings_of(setting: LinkSetting, linked: Linked, progress: Progress, start: float) -> Findings:
    claimed = linked.claimed(setting.precision)
    score = scored(setting, linked, progress)
    more, given_away, alone = _not_searched(linked), _given_away(setting, linked), linked.guesses.fitting == 1
    exact = () if setting.errors else ("Wrong values: every value was taken as right.",)
    return Findings(
        attack="linkage",
        subject=setting.subject,
        headline=_headline(linked, claimed, score) + _groups_tell(given_away),
        people=len(setting.released),
        claimed=int(claimed.sum()),
        alarm="bad" if claimed.any() or given_away else "neutral" if more or alone.any() else None,
        findings=_worst(setting, linked, claimed),
        tables=tuple(_tables(linked, claimed, score, given_away)),
        score=None if score is None else score.score,
        assumptions=ASSUMED,
        not_tried=(*more, *exact, *NOT_TRIED),
        numbers=_numbers(setting, linked, claimed, score) | {"given_away": given_away, "limits": more},
        seconds=time.perf_counter() - start,
        word="linked",
        lead=LEAD,
    )


def _not_searched(linked: Linked) -> list[str]:
    """What may be there and was not compared."""
    found, skipped, loss = [], linked.evidence.skipped, linked.evidence.loss
    if skipped:
        found.append(f"Everybody who fits {skipped:,} records: too many different columns are missing in them.")
    if linked.evidence.blocking is not None and loss >= LOSS_TOLD:
        found.append(
            f"Pairs that share nothing rare: at the error rates seen, about {loss:.1%} of the pairs of one person. If"
            " values are wrong more often than in the pairs that were found, it is more."
        )
    return found


def _headline(linked: Linked, claimed: Truths, score: Scored | None) -> str:
    number, records = int(claimed.sum()), len(claimed)
    alone = int(((linked.guesses.fitting == 1) & ~claimed).sum())
    if not number:
        several = linked.guesses.fitting[linked.guesses.fitting > 1]
        fit = [f"{alone:,} of them fit one known person, which may be chance"] if alone else []
        if len(several):
            fit.append(
                f"{len(several):,} {'' if fit else 'of them '}fit several people (median: {int(np.median(several)):,})"
            )
        return f"None of {records:,} records is linked to one person" + (f": {', '.join(fit)}" if fit else "")
    verb = "is" if number == 1 else "are"
    rightly = "" if score is None else f", {_percent(score.precision.value)} of them rightly"
    more = f"; {alone:,} more {'fits' if alone == 1 else 'fit'} one known person only" if alone else ""
    return f"{number:,} of {records:,} records {verb} linked to a known person{rightly}{more}"


def _groups_tell(given_away: Mapping[str, int]) -> str:
    """What is known without a link: of the column of which most is."""
    if not given_away:
        return ""
    name, number = max(given_away.items(), key=lambda item: item[1])
    others = f", and {len(given_away) - 1} more columns" if len(given_away) > 1 else ""
    return f"; groups that look alike give away {name} of {number:,} {'record' if number == 1 else 'records'}{others}"


def _percent(value: float) -> str:
    """Rounded down: 99.97 % is not 100 %."""
    tenths = int(value * 1000) / 10
    return f"{tenths:g} %"


def _worst(setting: LinkSetting, linked: Linked, claimed: Truths) -> tuple[Finding, ...]:
    rows, rarity = worst_rows(linked, claimed)
    differ = _differing(setting, linked, rows)
    return tuple(
        _finding(setting, linked, int(row), words or _alone(linked, int(row)), float(rare))
        for row, rare, words in zip(rows, rarity, differ, strict=True)
    )


def _alone(linked: Linked, row: int) -> str:
    fits = int(linked.guesses.fitting[row])
    return "no other known person fits" if fits == 1 else f"{fits:,} known people fit, this one best"


def worst_rows(linked: Linked, claimed: Truths) -> tuple[Integers, Floats]:
    """The surest first; among equals those whose values are the rarest, with how many others would fit by chance."""
    rows = np.flatnonzero(claimed)
    rarity = _fitting_by_chance(linked)[linked.evidence.comparer.tables[0].of[rows]]
    order = np.lexsort((rows, rarity, -linked.guesses.probability[rows]))[:MOST_LISTED]
    return rows[order], rarity[order]


def _fitting_by_chance(linked: Linked) -> Floats:
    """How many other known people would fit a class if columns were independent."""
    ours, theirs = linked.evidence.comparer.tables[0], linked.evidence.comparer.tables[1]
    log = np.zeros(len(ours))
    for at, column in enumerate(linked.evidence.comparer.columns):
        codes, axis = ours.codes[:, at], column.axis
        log += np.where(axis.released.free[codes], 0.0, np.log(axis.chance()[codes]))
    return np.asarray(np.exp(log) * (int(theirs.people.sum()) - 1))


def _finding(setting: LinkSetting, linked: Linked, row: int, why: str, by_chance: float) -> Finding:
    person = int(linked.guesses.person[row])
    hidden = set() if setting.truth is None else set(setting.truth)
    shared = set(setting.shared.values())
    who = [name for name in setting.known.columns if name not in shared | hidden][:MOST_SHOWN]
    what = [name for name in setting.released.columns if name not in setting.shared and name not in hidden]
    named = ", ".join(f"{name} {_text(setting.known[name], person)}" for name in who)
    return Finding(
        claim=f"record {row + 1} is of {named or f'known person {person + 1}'}",
        strength=Strength.CONFIDENCE,
        record={name: _text(setting.released[name], row) for name in what[:MOST_SHOWN]},
        evidence=tuple(f"{name} {_text(setting.released[name], row)}" for name in setting.shared),
        reasoning=f"{why}; {by_chance:.2g} others would fit by chance",
        confidence=float(linked.guesses.probability[row]),
    )


def _differing(setting: LinkSetting, linked: Linked, rows: Integers) -> list[str]:
    """For each of these records, such as `last Meier / Meyer differs`; empty where nothing does."""
    ours, theirs = linked.evidence.comparer.tables
    people = linked.guesses.person[rows]
    levels = linked.evidence.comparer.levels((0, 1), ours.of[rows], theirs.of[people])
    columns = [(one, setting.released[one], setting.known[other]) for one, other in setting.shared.items()]
    told = []
    for row, person, level in zip(rows.tolist(), people.tolist(), levels > SAME, strict=True):
        names = [
            f"{name} {_text(one, row)} / {_text(other, person)}"
            for (name, one, other), wrong in zip(columns, level.tolist(), strict=True)
            if wrong
        ]
        told.append(f"{'; '.join(names)} {'differs' if len(names) == 1 else 'differ'}" if names else "")
    return told


def _text(column: RecordColumn, row: int) -> str:
    text = column.texts[int(column.codes[row])]
    return "(missing)" if text is None else text


def _tables(linked: Linked, claimed: Truths, score: Scored | None, given_away: Mapping[str, int]) -> list[ShownTable]:
    evidence = linked.evidence
    parts = [
        *_pictures(linked, claimed),
        _groups(linked),
        _columns(linked, claimed),
        _given_away_table(given_away),
    ]
    if evidence.blocking is not None and claimed.any():
        ours, theirs = evidence.comparer.tables
        parts.append(rules_table(evidence.blocking, ours.of[claimed], theirs.of[linked.guesses.person[claimed]]))
    return [*(part for part in parts if part is not None), *([] if score is None else [_control(score)])]


def _pictures(linked: Linked, claimed: Truths) -> list[ShownTable]:
    """The evidence of the first links in bits, for and against."""
    ours, theirs = linked.evidence.comparer.tables
    made = []
    for row in worst_rows(linked, claimed)[0][:MOST_PICTURED].tolist():
        person = int(linked.guesses.person[row])
        told = bits_of(linked.evidence, int(ours.of[row]), int(theirs.of[person]))
        made.append(
            ShownTable(
                f"Why record {row + 1} is linked",
                "Bits for the link, and against it where they are below 0: each one doubles or halves the odds.",
                ("column", "agreement", "bits"),
                tuple((name, how, str(bits)) for name, how, bits in told),
                bars=True,
            )
        )
    return made


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
        "Linked records that would share all other values with another record if this column were left out.",
        ("column", "no longer alone"),
        tuple((name, f"{number:,}") for name, number in sorted(rows, key=lambda row: -row[1])),
    )


def _given_away(setting: LinkSetting, linked: Linked) -> dict[str, int]:
    """column -> records in groups that all have the same value there: that gives it away, without any link."""
    hidden = set() if setting.truth is None else {setting.truth[0]}
    names = [name for name in setting.released.columns if name not in setting.shared and name not in hidden]
    ours = linked.evidence.comparer.tables[0]
    several = (ours.people > 1) & (_class_fits(linked) > 0)
    found = {}
    for name in names:
        column = setting.released[name]
        codes = column.codes.astype(np.int64)
        if column.texts and column.texts[-1] is None:  # that values are missing says nothing: no two are the same
            codes = np.where(codes == len(column.texts) - 1, len(column.texts) + np.arange(len(codes)), codes)
        same = _same_value(ours.of, codes, len(several))
        if len(column.texts) > 1 and (number := int(ours.people[several & same].sum())):
            found[name] = number
    return found


def _given_away_table(given_away: Mapping[str, int]) -> ShownTable | None:
    if not given_away:
        return None
    return ShownTable(
        "What a group gives away",
        "These records are in a group of two or more that look alike and all have the same value here. A person who"
        " is known to be in the release and fits the group has this value. No link is needed.",
        ("column", "records"),
        tuple((name, f"{number:,}") for name, number in given_away.items()),
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
        numbered("released_row", np.arange(1, len(claimed) + 1)),
        numbered("known_row", best.person + 1, missing=0),
        rounded("probability", best.probability),
        rounded("nobody", best.nobody),
        numbered("people_who_fit", best.fitting),
        RecordColumn("verdict", narrow(verdict, 3), ("linked", "one of several", "not linked")),
    )
    return Microdata({one.name: one for one in columns}, len(claimed))

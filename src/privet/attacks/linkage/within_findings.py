"""Links within one table in words: people first, the surest pairs, and what was assumed."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from privet.attacks.finding import Finding, Findings, Score, ShownTable, Strength
from privet.attacks.linkage.blocking import Blocking
from privet.attacks.linkage.table_columns import numbered, rounded
from privet.attacks.linkage.within import Repeats
from privet.records.microdata import Microdata
from privet.stats.binomial import share
from privet.stats.intervals import exactly
from privet.typing import Integers, Truths

MOST_LISTED, MOST_RULES = 5000, 12
LEAD = (
    "Linked means: with at least the probability shown, two rows are of one person, if the assumptions below hold."
    " Nothing audits these probabilities: a table by itself has no pairs that are known to be of two people."
)
ASSUMED = (
    "Most pairs of rows are of two people. Those that agree more than by chance, and differ in the same columns again"
    " and again, are taken for families, addresses or columns that go together, and not for one person.",
    "A missing value may be anything. Leading zeros, capitals, accents written in two ways and spaces play no part.",
)
NOT_TRIED = (
    "Rows that agree in so little that many pairs of other rows do by chance: they are never claimed.",
    "Texts that sound alike, nicknames, and words in another order.",
)


@dataclass(frozen=True, slots=True)
class Told:
    """How sure a claim must be, the column of ids if there is one, what was attacked, and when that began."""

    precision: float
    truth: str | None
    subject: str
    start: float


def within_findings(data: Microdata, on: list[str], found: Repeats, told: Told) -> Findings:
    precision, truth, subject = told.precision, told.truth, told.subject
    groups = found.people(precision, len(data))
    rows = sum(map(len, groups))
    people = "1 person is" if len(groups) == 1 else f"{len(groups):,} people are"
    headline = f"{people} in {subject} more than once, in {rows:,} of {len(data):,} rows"
    if not groups:
        headline = f"Nobody is linked to a second row among {len(data):,} rows"
    numbers = {"records": len(data), "linked": rows, "people": len(groups), "stated_precision": precision}
    claimed = found.chance >= precision
    score = _score(data, found, claimed, truth)
    if score is not None:
        numbers |= {"right": score[0].right, "true_pairs": score[1], "recall": score[0].right / max(score[1], 1)}
    return Findings(
        attack="linkage",
        subject=subject,
        headline=headline,
        people=len(data),
        claimed=rows,
        findings=_findings(data, on, found, precision),
        tables=(_rules(found, claimed),) if claimed.any() else (),
        score=None if score is None else score[0],
        assumptions=ASSUMED,
        not_tried=NOT_TRIED,
        numbers=numbers | {"compared": on, "pairs": int(claimed.sum())},
        seconds=time.perf_counter() - told.start,
        word="linked",
        lead=LEAD,
    )


def _score(data: Microdata, found: Repeats, claimed: Truths, truth: str | None) -> tuple[Score, int] | None:
    """Against ids that are the same for rows of one person; and how many such pairs there are."""
    if truth is None:
        return None
    codes = data[truth].codes.astype(np.int64)
    sizes = np.bincount(codes)
    pairs = int((sizes * (sizes - 1) // 2).sum())
    right = int((codes[found.one] == codes[found.other])[claimed].sum())
    every = len(data) * (len(data) - 1) // 2
    return (
        Score(
            claimed=int(claimed.sum()),
            right=right,
            success=share(right, max(pairs, 1)),
            baseline=exactly(pairs / max(every, 1)),
            control=None,
        ),
        pairs,
    )


def _findings(data: Microdata, on: list[str], found: Repeats, precision: float) -> tuple[Finding, ...]:
    order = np.lexsort((found.other, found.one, -found.chance))
    order = order[found.chance[order] >= precision][:MOST_LISTED]
    made = []
    for at in order.tolist():
        one, other = int(found.one[at]), int(found.other[at])
        texts = [
            (data[name].texts[int(data[name].codes[one])], data[name].texts[int(data[name].codes[other])])
            for name in on
        ]
        differ = [f"{name} {left} / {right}" for name, (left, right) in zip(on, texts, strict=True) if left != right]
        made.append(
            Finding(
                claim=f"rows {one + 1} and {other + 1} are one person",
                strength=Strength.CONFIDENCE,
                evidence=tuple(
                    f"{name} {left}" for name, (left, right) in zip(on, texts, strict=True) if left == right
                ),
                reasoning=f"differs: {'; '.join(differ)}" if differ else "nothing differs",
                confidence=float(found.chance[at]),
            )
        )
    return tuple(made)


def _rules(found: Repeats, claimed: Truths) -> ShownTable:
    one, other = found.one[claimed], found.other[claimed]
    return rules_table(found.blocking, one, other)


def rules_table(blocking: Blocking, one: Integers, other: Integers) -> ShownTable:
    """What each blocking rule by itself would have lost of the pairs that are claimed."""
    kept = [(blocking.words(rule), int(blocking.agree(rule, one, other).sum())) for rule in blocking.rules]
    kept.sort(key=lambda row: -row[1])
    return ShownTable(
        "What a single blocking rule would lose",
        f"Pairs were compared if one of {len(kept):,} rules put them into a small block. The number is that of"
        " linked pairs that this rule alone would lose.",
        ("rule", "lost"),
        tuple((name, f"{len(one) - number:,}") for name, number in kept[:MOST_RULES]),
    )


def pairs_table(found: Repeats, precision: float) -> Microdata:
    """A row for each pair with a probability of a half or more, the surest first."""
    order = np.lexsort((found.other, found.one, -found.chance))
    order = order[found.chance[order] >= min(0.5, precision)]
    columns = (
        numbered("row", found.one[order] + 1),
        numbered("other_row", found.other[order] + 1),
        rounded("probability", found.chance[order]),
    )
    return Microdata({one.name: one for one in columns}, len(order))

"""What the attacks on an anonymized table found, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from privet.attacks.anonymized.homogeneity import SecretClasses, distance, skews
from privet.attacks.finding import Finding, Findings, ShownTable, Strength

if TYPE_CHECKING:
    from privet.attacks.anonymized.equivalence import AttackedRecords
    from privet.attacks.anonymized.two_releases import Fit, Pair

MOST_LISTED = 200
MOST_SKEWS = 10
LEAD = (
    "Certain means: everybody in the table who looks like this has the value, so anyone who knows that a person is in"
    " the table, and knows these things about them, knows the value too. No record had to be singled out."
)


def told(found: AttackedRecords, scored_by_truth: bool, seconds: float) -> Findings:
    first = found.releases[0]
    people = len(first.data) if found.known is None else len(found.known)
    sure = [fit for fit in found.fits if fit.sure]
    certain = int(first.sizes[found.certain].sum()) if found.known is None else len(sure)
    listed = [
        *(_person(found, fit) for fit in sure[:MOST_LISTED]),
        *(_pair(found, pair) for pair in found.pairs),
        *(_class(first, int(number)) for number in found.certain[:MOST_LISTED]),
    ]
    return Findings(
        attack="records",
        subject=" and ".join([found.subject, *found.others]),
        headline=_headline(found, people, certain),
        people=people,
        proven=certain,
        findings=tuple(listed),
        tables=tuple(_tables(found)),
        score=found.score,
        assumptions=tuple(_assumptions(found, scored_by_truth)),
        not_tried=(
            "People whose quasi-identifiers are wrong in the table, or known only roughly.",
            "What else an attacker may know: other columns, other people in the class, other tables.",
        ),
        numbers=_numbers(found),
        seconds=seconds,
        lead=LEAD if certain else "",
        alarm="bad" if certain or found.pairs_in_all else None,
    )


def _headline(found: AttackedRecords, people: int, certain: int) -> str:
    word = "person" if people == 1 else "people"
    what = f"{certain:,} of {people:,} {word} {'is' if certain == 1 else 'are'} certain"
    if found.known is not None:
        return f"{what} in {found.releases[0].sensitive}" if certain else f"None of {people:,} {word} is certain"
    if found.others and found.pairs_in_all:
        several = "pair of classes gives" if found.pairs_in_all == 1 else "pairs of classes give"
        joint = f"{found.pairs_in_all:,} {several} somebody away who is in both releases"
        return f"{what}; {joint}" if certain else f"Nobody is certain by one release, but {joint}"
    return f"{what} without being singled out" if certain else f"None of {people:,} {word} is certain"


def _class(classes: SecretClasses, number: int) -> Finding:
    ((value, size),) = classes.values_of(number).items()
    label = classes.label(number)
    who = f"All {size:,} people" if size > 1 else "The one person"
    return Finding(
        claim=f"{who} with {_words(label)} {'have' if size > 1 else 'has'} {classes.sensitive} {value}",
        strength=Strength.PROOF,
        people=size,
        record={**label, classes.sensitive: str(value)},
        evidence=(f"class of {size:,}",),
        reasoning="homogeneity: the class has no other value",
        certificate=number,
    )


def _person(found: AttackedRecords, fit: Fit) -> Finding:
    assert found.known is not None  # noqa: S101  for the type checker: there are fits of people who are known only
    first, people = found.releases[0], found.known
    label = {
        name: text for name in first.quasi if (text := people[name].texts[people[name].codes[fit.row]]) is not None
    }
    alone = len(fit.alone) == 1
    why = "homogeneity" if alone else f"composition: {found.subject} leaves {_choice(fit.alone)}"
    return Finding(
        claim=f"The person with {_words(label)} has {first.sensitive} {fit.values[0]}",
        strength=Strength.PROOF,
        record={**label, first.sensitive: str(fit.values[0])},
        evidence=(found.subject,) if alone else (found.subject, *found.others),
        reasoning=why if alone else f"{why}; only {fit.values[0]} fits in all releases",
        certificate=fit,
    )


def _pair(found: AttackedRecords, pair: Pair) -> Finding:
    first, second = found.releases[:2]
    one, other = first.label(pair.first), second.label(pair.second)
    name = first.sensitive
    return Finding(
        claim=f"A person who is in both releases, with {_words(one)} and {_words(other)}, has {name} {pair.value}",
        strength=Strength.PROOF,
        record={name: pair.value, **{f"{key} in both": _both(one[key], other[key]) for key in first.quasi}},
        evidence=(f"{found.subject}: class of {first.sizes[pair.first]:,}",
                  f"{found.others[0]}: class of {second.sizes[pair.second]:,}"),
        reasoning=f"composition: {_values(first, pair.first)} and {_values(second, pair.second)} share one value",
        certificate=pair,
    )  # fmt: skip


def _choice(values: Sequence[str | None]) -> str:
    return ", ".join("any other value" if value is None else value for value in values)


def _both(one: str, other: str) -> str:
    return one if one == other else f"{one} and {other}"


def _values(classes: SecretClasses, number: int) -> str:
    return ", ".join(str(value) for value in classes.values_of(number))


def _words(label: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {text or '(missing)'}" for name, text in label.items())


def _tables(found: AttackedRecords) -> list[ShownTable]:
    first = found.releases[0]
    people = int(first.sizes.sum())
    rows = tuple(
        (f"{number}", f"{count:,}", f"{count / max(1, people) * 100:.1f} %")
        for number, count in enumerate(found.without)
    )
    known = ShownTable(
        "Attackers who can rule out values",
        "A class with d values is certain for an attacker who can rule out d - 1 of them: a man has no ovarian cancer,"
        f" and the attacker's own value may be one. Of {people:,} people in classes.",
        ("values ruled out", "people certain", "share"),
        rows,
    )
    tables = [_sizes(first), known]
    worst = skews(first, MOST_SKEWS)
    if worst:
        text = (
            f"In these classes a value is much more frequent than in all records. The largest distance of a class from"
            f" all records (t) is {distance(first):.2f}."
        )
        cells = tuple(
            (_words(first.label(one.number)), one.value, f"{one.inside * 100:.1f} %", f"{one.overall * 100:.1f} %",
             f"{one.people:,}")
            for one in worst
        )  # fmt: skip
        tables.append(
            ShownTable(
                "Skewed classes", text, ("class", first.sensitive, "in the class", "in all records", "people"), cells
            )
        )
    if found.fits:
        tables.append(_left(found))
    return tables


def _sizes(classes: SecretClasses) -> ShownTable:
    sizes, gone = classes.sizes, classes.suppressed
    rows = (
        ("classes", f"{len(sizes):,}"),
        ("people in the smallest class", f"{int(sizes.min(initial=len(classes.data))):,}"),
        ("people alone in their class", f"{int((sizes == 1).sum()):,}"),
        ("classes with one value of " + classes.sensitive, f"{int((classes.distinct == 1).sum()):,}"),
        ("suppressed records", f"{gone:,}"),
    )
    return ShownTable("The released table", "", ("what", "number"), rows)


def _left(found: AttackedRecords) -> ShownTable:
    """People who are looked for, by how many values are left for them."""
    alone, together = ([len(side) for side in sides] for sides in zip(
        *((fit.alone, fit.values) for fit in found.fits), strict=True
    ))  # fmt: skip
    numbers = sorted({*alone, *together})
    rows = tuple(
        ("none: not in it" if n == 0 else str(n), f"{alone.count(n):,}", f"{together.count(n):,}") for n in numbers
    )
    text = "How many values fit the people to look for, in the first release and in all releases together."
    return ShownTable("Values left", text, ("values left", "first release", "all releases"), rows)


def _assumptions(found: AttackedRecords, scored_by_truth: bool) -> list[str]:
    first = found.releases[0]
    listed = [
        "A row is one person. The people to look for are in the table, with the right quasi-identifiers.",
        f"The values of {first.sensitive} in the table are right: none was swapped or changed.",
    ]
    if len(found.certain):
        listed.append(
            f"{found.checked:,} of {len(found.certain):,} classes with one value were checked a second time, record by"
            " record."
        )
    if not found.leveled:
        listed.append(
            "Different words mean different people: without hierarchies the attack does not know that a baker is a"
            " craftsman."
        )
    if found.unfitting:
        listed.append(
            f"{found.unfitting:,} of the people that were compared fit no class; the guess for them is the most"
            " frequent value of all."
        )
    if len(found.overlapping):
        listed.append(
            f"{len(found.overlapping):,} more classes with one value overlap other classes, so they are not counted as"
            " certain."
        )
    if first.suppressed:
        listed.append(
            "Classes are suppressed as a whole, as in full-domain generalization: a person who fits a class of the"
            " table is in that class, and not among the suppressed records."
        )
    if found.others:
        listed.append("The people to look for are in all releases, with the same value.")
    success = "the original records" if scored_by_truth else "the records of the table itself"
    listed.append(f"The best guess is the most frequent value of a class; it was compared with {success}.")
    listed.append(
        "Control: the same guess for people who are not in the data."
        if found.score.control is not None
        else "No people outside the data were given, so it is not known how much of this the release gave away, and"
        " how much is true of similar people anywhere."
    )
    return listed


def _numbers(found: AttackedRecords) -> dict[str, Any]:
    first = found.releases[0]
    return {
        "records": len(first.data),
        "suppressed": first.suppressed,
        "classes": len(first.sizes),
        "smallest_class": int(first.sizes.min(initial=len(first.data))),
        "uniques": int((first.sizes == 1).sum()),
        "homogeneous_classes": len(found.certain) + len(found.overlapping),
        "homogeneous_people": int(first.sizes[found.certain].sum() + first.sizes[found.overlapping].sum()),
        "certain_with_ruled_out": found.without,
        "distance": distance(first),
        "composition_pairs": found.pairs_in_all,
        "known": [
            {"row": fit.row, "alone": list(fit.alone), "together": list(fit.values)} for fit in found.fits
        ],
    }  # fmt: skip

"""What do two versions of a model reveal together? Whose records an update added or removed, and how sure that is."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from privet.attacks.finding import Findings
from privet.attacks.models.likeness import SAME
from privet.attacks.models.model_attack import refit_from
from privet.attacks.models.outputs import Asking, Kind, kind_of, outputs
from privet.attacks.models.records import Records, classes_of, keys, records_from, repeated, shared
from privet.attacks.models.shadows import Progress, Refit, Stack, train
from privet.attacks.models.version_pairs import (
    Training,
    Update,
    changed_pairs,
    unchanged_pairs,
)
from privet.attacks.models.version_reach import Learned, Reach, reach
from privet.core.rational import whole
from privet.errors import InvalidInputError
from privet.typing import Floats, Truths

TRUTHS = ("added", "removed", "neither")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class VersionsResult:
    """`reached`: what was found of who was added and of who was removed, where there is somebody to find."""

    update: Update
    kind: Kind
    names: tuple[str, ...]
    odds: tuple[Floats, Floats]
    reached: dict[str, Reach]
    learned: Learned
    reproducible: bool | None
    limits: tuple[str, ...]
    asked: int


def attack_versions(  # noqa: PLR0913  what is known, and how to use it
    before: Any,
    after: Any,
    candidates: object,
    others: object = None,
    *,
    truth: Sequence[str] | None = None,
    base: object = None,
    refit: Refit | Stack | None = None,
    shadows: int = 32,
    models: int = 4,
    answers: str = "auto",
    asking: Asking | None = None,
    names: Sequence[str] | None = None,
    seed: int = 0,
    subject: str = "two versions of a model",
    progress: Progress | None = None,
) -> Findings:
    """Find out whose records an update of a classifier added or removed, and return what was found with a report.

    before, after: both versions: fitted classifiers, or functions of rows that return probabilities, scores or classes.
    candidates: records (X, y) that may have been added or removed.
    others: similar records that neither version was trained on. Half of them show what an update does to people who are
        not in it, and the other half are the control. Without others, nobody is claimed.
    truth: "added", "removed" or "neither" for each candidate. With it, the attack is scored.
    base: records that both versions were trained on. With them and the truth, pairs of versions are trained again.
    refit: trains a model on (X, y), with `seed=` if it takes one; or a `Stacked`. Without it, a scikit-learn model is
        cloned.
    shadows: the number of pairs of versions to train the attack on. models: the number of further pairs to attack, and
        of pairs without changes.
    answers: "probabilities", "scores" or "labels"; "auto" uses the most detailed one that both versions have.
    asking: how a function is queried, and where its answers are saved.
    names: a name for each candidate. seed: of all random choices. subject: the name of the versions in the report.
    progress: a function that is called with a step's name, how many of its parts are done, and how many there are.

    Raises InvalidInputError if the records, the truth, the versions or their answers cannot be used."""
    from privet.attacks.models.version_findings import findings_of  # noqa: PLC0415  it knows this file

    start, tell = time.perf_counter(), progress or (lambda *_: None)
    counts = whole(shadows, "shadows", 0), whole(models, "models", 0)
    draw, asked = np.random.default_rng(whole(seed, "seed", 0)), asking or Asking()
    update = _update(candidates, others, base, truth, draw)
    called, classes = _names(names, update.candidates), classes_of(update.records, update.records)
    tell("asking the versions", 0, 1)
    odds, kind, doubts = _answers((before, after), update, classes, answers, asked)
    limits = [*_versions_doubted((before, after), odds), *doubts, *_records_doubted(update)]
    learned, same = Learned.nothing(len(update.usual)), None
    again = refit_from(after, refit, update.records.rows) if counts[0] and update.base and update.known else None
    if again is not None and update.usual.any():
        training = Training(refit=again, update=update, classes=classes, kind=kind, draw=draw, progress=tell)
        learned = _learned(training, counts)
        same, deaf = _trained_alike(training) if len(learned.shadows) else (None, False)
        limits += ["training the same records twice gives different models"] if same is False else []
        limits += ["training gives the same model whichever records it gets"] if deaf else []
    result = VersionsResult(
        update=update,
        kind=kind,
        names=called,
        odds=odds,
        reached=_reached(update, odds, learned),
        learned=learned,
        reproducible=same,
        limits=tuple(limits),
        asked=asked.asked,
    )
    return findings_of(result, subject, start)


def _update(
    candidates: object, others: object, base: object, truth: Sequence[str] | None, draw: np.random.Generator
) -> Update:
    asked = records_from(candidates, "candidates", 1)
    outside = asked.take(np.arange(0)) if others is None else records_from(others, "others")
    fixed = asked.take(np.arange(0)) if base is None else records_from(base, "base records")
    size, people = len(asked), len(asked) + len(outside)
    usual = np.zeros(people, np.bool_)
    usual[size + draw.permutation(len(outside))[: (len(outside) + 1) // 2]] = True
    said = np.full(people, "neither", dtype=object)
    said[:size] = "neither" if truth is None else _truth(truth, size)
    return Update(
        records=fixed.and_then(asked).and_then(outside),
        base=len(fixed),
        candidates=size,
        usual=usual,
        added=said == "added",
        removed=said == "removed",
        known=truth is not None,
    )


def _truth(given: Sequence[str], candidates: int) -> list[str]:
    said = [str(one) for one in given]
    if len(said) != candidates:
        raise InvalidInputError(
            f"there are {len(said):,} truths for {candidates:,} candidates",
            "say for each candidate whether it was added, removed or neither",
            "wrong-length",
        )
    if unknown := sorted(set(said) - set(TRUTHS)):
        raise InvalidInputError(
            f"the truth of a candidate is {unknown[0]!r}", f"say one of {', '.join(TRUTHS)} for each", "unknown-choice"
        )
    if set(said) == {"neither"}:
        raise InvalidInputError(
            "no candidate was added or removed", "give the records that the update added or removed", "no-variation"
        )
    return said


def _names(given: Sequence[str] | None, candidates: int) -> tuple[str, ...]:
    if given is None:
        return tuple(f"candidate {place + 1}" for place in range(candidates))
    if len(given) != candidates:
        raise InvalidInputError(
            f"there are {len(given):,} names for {candidates:,} candidates",
            "give one name for each candidate",
            "wrong-length",
        )
    return tuple(map(str, given))


def _answers(
    versions: tuple[Any, Any], update: Update, classes: npt.NDArray[Any], answers: str, asking: Asking
) -> tuple[tuple[Floats, Floats], Kind, list[str]]:
    """The odds of everybody who is asked about in either version. Each has a folder of its own for kept answers."""
    kinds = [kind_of(version, answers) for version in versions]
    found, told, doubts = [], [], []
    for place, (version, kind) in enumerate(zip(versions, kinds, strict=True)):
        folder = None if asking.kept is None else Path(asking.kept) / ("before", "after")[place]
        own = replace(asking, kept=folder)
        seen, said = outputs(version, update.asked, classes, kind, own)
        asking.asked += own.asked
        if not np.isfinite(seen.odds).any():
            raise InvalidInputError(
                f"the {('earlier', 'later')[place]} version returns no finite number",
                "give versions that return numbers or classes for these records",
                "not-finite",
            )
        found.append(seen.odds)
        told.append(said)
        doubts += [own.doubt] if own.doubt else []
    if told[0] != told[1]:
        raise InvalidInputError(
            f"the earlier version returns {told[0]} and the later one {told[1]}",
            'give answers="labels", or two versions that return the same',
            "not-supported",
        )
    return (found[0], found[1]), told[0], doubts


def _versions_doubted(versions: tuple[Any, Any], odds: tuple[Floats, Floats]) -> list[str]:
    found = []
    if np.allclose(*odds, rtol=0, atol=SAME, equal_nan=True):
        found.append("the two versions give the same answers")
    classes = [set(np.asarray(getattr(one, "classes_", ())).tolist()) for one in versions]
    if all(classes) and classes[0] != classes[1]:
        new, gone = len(classes[1] - classes[0]), len(classes[0] - classes[1])
        found.append(f"the two versions know different classes ({new} new, {gone} gone)")
    silent = int((~np.isfinite(odds[0]) | ~np.isfinite(odds[1])).sum())
    return [*found, *([f"no finite answer for {silent} of {len(odds[0])} records"] if silent else [])]


def _records_doubted(update: Update) -> list[str]:
    """Records of which a copy is elsewhere, so that being added makes less of a difference."""
    asked, places = update.asked, np.arange(len(update.usual))
    candidates, others = asked.take(places[update.tested]), asked.take(places[~update.tested])
    found = []
    if twins := shared(candidates, others):
        found.append(f"{twins} {'record is' if twins == 1 else 'records are'} among candidates and others alike")
    if copies := repeated(candidates):
        found.append(f"{copies} candidates have the same record as another one")
    base = set(keys(update.records)[: update.base])
    if stay := sum(one in base for one in keys(update.records)[update.base :]):
        found.append(f"{stay} {'record has' if stay == 1 else 'records have'} a copy in both versions")
    return found


def _learned(training: Training, counts: tuple[int, int]) -> Learned:
    shadows = changed_pairs(training, counts[0], "training pairs of versions")
    if not len(shadows) or not counts[1]:
        return replace(Learned.nothing(len(training.update.usual)), shadows=shadows)
    update, what = training.update, "training without changes"
    return Learned(
        shadows=shadows,
        models=changed_pairs(training, counts[1], "training pairs to attack"),
        unchanged=(
            unchanged_pairs(training, counts[1] * bool(update.added.any()), update.removed, what),
            unchanged_pairs(training, counts[1] * bool(update.removed.any()), update.added, what),
        ),
    )


def _reached(update: Update, odds: tuple[Floats, Floats], learned: Learned) -> dict[str, Reach]:
    """Removed is added, in the other direction of time."""
    ways = {
        "added": (odds, update.added, update.removed, learned),
        "removed": (odds[::-1], update.removed, update.added, learned.turned),
    }
    return {
        which: reach(seen, update, joined, left, pairs)
        for which, (seen, joined, left, pairs) in ways.items()
        if joined.any() or not update.known
    }


def _trained_alike(training: Training) -> tuple[bool | None, bool]:
    """Whether training twice on the records of the later version, with one seed, gives the same model (None: it
    failed), and whether training on those of the earlier one does."""
    update = training.update
    try:
        one, two, other = (_once(training, inside) for inside in (update.added, update.added, update.removed))
    except Exception:  # whatever training raises; failures are counted where pairs are trained
        return None, False
    return _alike(one, two), _alike(one, other)


def _once(training: Training, inside: Truths) -> Floats:
    update = training.update
    chosen: Records = update.records.take(update.trained_on(inside))
    model = train(training.refit, (chosen.rows, chosen.labels), 0)
    return outputs(model, update.asked, training.classes, training.kind, Asking())[0].odds


def _alike(one: Floats, other: Floats) -> bool:
    return bool(np.allclose(one, other, rtol=0, atol=SAME, equal_nan=True))

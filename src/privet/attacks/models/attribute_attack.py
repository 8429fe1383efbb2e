"""What does a model reveal about a sensitive column of the people in its training data? Beside two controls: the same
guesses without the model, and for people who were not in the data."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from privet.attacks.finding import Findings
from privet.attacks.models.attribute_columns import (
    MISSING,
    Sensitive,
    changed,
    examples_of,
    known_columns,
    one_hot,
    sensitive_of,
)
from privet.attacks.models.attribute_gains import Gains, OverModels, Plain, gains, over_models, shifted, weightier
from privet.attacks.models.attribute_guesses import (
    ATTACKS,
    Attack,
    Facts,
    Guess,
    best,
    frequent,
    guess,
    shadow,
    without,
)
from privet.attacks.models.model_attack import names_of, refit_from
from privet.attacks.models.outputs import Asking, Kind, Outputs, kind_of, outputs
from privet.attacks.models.records import Records, classes_of, records_from, shared
from privet.attacks.models.shadows import SEEDS, Pool, Progress, Refit, Stack, Trained, pool_of, train, trained
from privet.core.rational import show, whole
from privet.errors import InvalidInputError
from privet.typing import Floats, Integers, Truths

FEWEST = 10  # others, half of whom teach the attack
PEOPLE = 30  # of each kind, below which nothing can be said
WIDE = 0.2  # a leak that should have been seen
SHADOWS = 4  # models trained on the people who teach
STILL = 1e-6  # log odds within which an answer did not change


@dataclass(frozen=True, slots=True, eq=False)
class People:
    """Members first, then others who are asked about, then others who teach. Nobody whose value is missing is here."""

    records: Records
    sensitive: Sensitive
    members: int
    others: int
    missing: int
    names: tuple[str, ...]

    @property
    def teach(self) -> Integers:
        return np.arange(self.members + self.others, len(self.records))

    @property
    def parts(self) -> tuple[Integers, Integers]:
        both = np.arange(self.members + self.others)
        return both[: self.members], both[self.members :]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AttributeResult:
    """`main` did best on others who taught, before anybody else was looked at. `plain`: without the model. `models`:
    how many were trained again for intervals over models."""

    people: People
    kind: Kind
    main: str
    plain: Plain
    guesses: dict[str, Guess]
    attacks: dict[str, Gains]
    shifted: bool
    models: int
    failed: int
    rows_asked: int
    limits: tuple[str, ...]


def attack_attributes(  # noqa: PLR0913  what is known, and how to use it
    model: Any,
    members: object,
    others: object,
    *,
    sensitive: str | int,
    columns: Sequence[str] | None = None,
    refit: Refit | Stack | None = None,
    models: int = 8,
    answers: str = "auto",
    asking: Asking | None = None,
    names: Sequence[str] | None = None,
    seed: int = 0,
    subject: str = "a model",
    progress: Progress | None = None,
) -> Findings:
    """Find out how well a sensitive column can be inferred from a classifier, a person's other columns and label, and
    whether that is correlation or a leak of the training data. Returns what was found with a report.

    model: a fitted classifier, or a function of rows that returns probabilities, scores or classes.
    members: records (X, y) that the model was trained on. others: similar records that it was not trained on. The
        attack learns from half of them, and the other half are the control.
    sensitive: the column of X to infer: its name, or its place, counted from 0. It may have at most 20 values.
    columns: the names of the columns, if X is an array.
    refit: trains a model on (X, y), with `seed=` if it takes one; or a `Stacked`. Without it, a scikit-learn model is
        cloned. models: the number of models to train again, so that intervals are over models.
    answers: "probabilities", "scores" or "labels"; "auto" uses the most detailed one that the model has.
    asking: how a function is queried, and where its answers are saved.
    names: a name for each member. subject: the model's name in the report.
    seed: of all random choices: who is in each model trained again, and from which of the others the attack learns.
    progress: a function that is called with a step's name, how many of its parts are done, and how many there are.

    Raises InvalidInputError if the records, the column, the model or its answers cannot be used."""
    from privet.attacks.models.attribute_findings import findings_of  # noqa: PLC0415  it knows this file

    start, tell = time.perf_counter(), progress or (lambda *_: None)
    known, out = records_from(members, "members"), records_from(others, "others")
    classes, count = classes_of(known, out), whole(models, "models", 0)
    draw, asked = np.random.default_rng(whole(seed, "seed", 0)), asking or Asking()
    people = _people(known, out, (sensitive, columns), names_of(names, len(known)), draw)
    again = refit_from(model, refit, known.rows) if count else None
    tell("asking the model", 0, 1)
    own, kind = _answers(model, people, classes, kind_of(model, answers), asked)
    facts = _facts(people, own, kind)
    learned = None
    if again is not None:
        learned = _trained(again, people, classes, kind, draw, count, partial(tell, "training models to attack"))
    limits = ([asked.doubt] if asked.doubt else []) + _twins(known, out)
    return findings_of(_result(people, facts, kind, learned, limits, asked.asked), subject, start)


def _people(
    members: Records,
    others: Records,
    wanted: tuple[str | int, Sequence[str] | None],
    names: list[str],
    draw: np.random.Generator,
) -> People:
    every = members.and_then(others)
    sensitive = sensitive_of(every, *wanted)
    _check_label(sensitive, every)
    there = sensitive.codes != MISSING
    inside = np.flatnonzero(there[: len(members)])
    outside = len(members) + draw.permutation(np.flatnonzero(there[len(members) :]))
    if not len(inside) or len(outside) < FEWEST:
        raise InvalidInputError(
            f"there are {len(inside):,} members and {len(outside):,} others whose {show(sensitive.name)} is known",
            f"give 1 member and {FEWEST} others, or more: half of the others teach the attack",
            "too-few",
        )
    asked = len(outside) // 2
    places = np.concatenate([inside, np.sort(outside[:asked]), np.sort(outside[asked:])])
    kept = Sensitive(sensitive.name, sensitive.place, sensitive.values, sensitive.codes[places])
    told = tuple(names[place] for place in inside)
    missing = len(there) - int(there.sum())
    return People(every.take(places), kept, len(inside), asked, missing, told)


def _check_label(sensitive: Sensitive, records: Records) -> None:
    there = sensitive.codes != MISSING
    pairs = set(zip(sensitive.codes[there].tolist(), records.labels[there].tolist(), strict=True))
    if len(pairs) == len(sensitive.values) == len({label for _, label in pairs}):
        raise InvalidInputError(
            f"column {show(sensitive.name)} and the label determine each other, and the attacker knows the label",
            "name a column that the label does not give away",
            "nothing-to-do",
        )


def _answers(
    model: Any, people: People, classes: npt.NDArray[Any], kind: Kind | None, asking: Asking
) -> tuple[Outputs, Kind]:
    """About each person with each value."""
    examples = examples_of(people.sensitive)
    asked = changed(people.records, people.sensitive, examples, people.records)
    try:
        found = outputs(model, asked, classes, kind, asking)
    except InvalidInputError as error:
        if error.code != "code-fails" or kind is None:
            raise
        _name_the_value(model, people, examples, (classes, kind))
        raise
    if not np.isfinite(found[0].odds).any():
        raise InvalidInputError(
            "the model returns no finite number",
            "give a model that returns numbers or classes for these records",
            "not-finite",
        )
    return found


def _name_the_value(model: Any, people: People, examples: Integers, how: tuple[npt.NDArray[Any], Kind]) -> None:
    """If the model takes the records as they are, but not with each value in the sensitive column."""
    try:
        outputs(model, people.records, *how, Asking())
    except InvalidInputError:
        return
    for value, example in zip(people.sensitive.values, examples, strict=True):
        try:
            outputs(
                model, changed(people.records, people.sensitive, np.array([example]), people.records), *how, Asking()
            )
        except InvalidInputError as error:
            raise InvalidInputError(
                f"the model fails if column {show(people.sensitive.name)} is set to {show(value)}: {error.problem}",
                "the attack changes this column and no other: give a model that takes every value of it in each record,"
                " or leave records with this value out",
                "code-fails",
            ) from error


def _facts(people: People, own: Outputs, kind: Kind) -> Facts:
    known = known_columns(people.records.rows, people.sensitive, people.teach)
    labels = np.unique(people.records.labels, return_inverse=True)[1]
    odds, says = _tables(own.odds, own.top[:, 0], len(people.sensitive.values), kind)
    told = one_hot(people.records.labels, people.teach)
    size = len(people.sensitive.values)
    return Facts(odds, says, known, np.column_stack([known, told]), labels, people.sensitive.codes, size)


def _tables(odds: Floats, top: Floats, size: int, kind: Kind) -> tuple[Floats, Truths]:
    """A row for each person, a column for each value: the odds of the true label, and whether the model says it."""
    says = odds > 0 if kind == "labels" else odds >= top
    return odds.reshape(size, -1).T, says.reshape(size, -1).T


@dataclass(frozen=True, slots=True, eq=False)
class Learned:
    """Models trained again, the pool from which coins chose, and the places of people whom they were asked about.
    `shadows`: what models trained on the people who teach say of these (log odds, and whether that is the label)."""

    trained: Trained
    pool: Pool
    places: Integers
    shadows: list[tuple[Floats, Truths]]


def _trained(  # noqa: PLR0913, PLR0917  what is trained, on what, and how it is asked
    refit: Refit | Stack,
    people: People,
    classes: npt.NDArray[Any],
    kind: Kind,
    draw: np.random.Generator,
    models: int,
    tell: Any,
) -> Learned:
    """Coins choose between a member and somebody else. Those who teach are in shadow models, and in no other."""
    shadows = _shadows(refit, people, classes, kind, draw)
    members, others = (people.records.take(part) for part in people.parts)
    pool = pool_of(members, others, draw)
    places = np.concatenate([pool.candidates, people.teach])
    asked = changed(people.records, people.sensitive, examples_of(people.sensitive), people.records.take(places))
    return Learned(trained(refit, pool, classes, kind, draw, models, tell, asked), pool, places, shadows)


def _shadows(
    refit: Refit | Stack, people: People, classes: npt.NDArray[Any], kind: Kind, draw: np.random.Generator
) -> list[tuple[Floats, Truths]]:
    """One that fails is left out."""
    taught, found = people.records.take(people.teach), []
    asked = changed(people.records, people.sensitive, examples_of(people.sensitive), taught)
    for seed in draw.integers(SEEDS, size=SHADOWS):
        pair = people.records.take(people.teach)
        try:
            own = outputs(train(refit, (pair.rows, pair.labels), int(seed)), asked, classes, kind, Asking())[0]
        except Exception:  # noqa: S112  whatever training raises; the same training is counted with the other models
            continue
        if np.isfinite(own.odds).any():
            found.append(_tables(own.odds, own.top[:, 0], len(people.sensitive.values), kind))
    return found


def _result(  # noqa: PLR0913, PLR0917  what came of each step
    people: People, facts: Facts, kind: Kind, learned: Learned | None, limits: list[str], sent: int
) -> AttributeResult:
    way, plain = without(facts, people.teach)
    main = best(facts, people.teach, plain)
    other = plain(facts, people.teach)
    base, usual = (guess(weights, facts, other) for weights in (other, frequent(facts, people.teach)))
    tried = dict(ATTACKS)
    if learned is not None and learned.shadows:
        tried["shadow"] = shadow([facts.take(people.teach, *one) for one in learned.shadows])
    guesses = {name: guess(attack(facts, people.teach), facts, other) for name, attack in tried.items()}
    over = {} if learned is None else _over(learned, tried, facts, other, kind)
    level, given = len(tried), Plain(way, base, usual)
    attacks = {name: gains(one, given, people.parts, over.get(name), level) for name, one in guesses.items()}
    differ = shifted(facts, base, people.parts)
    heavy = any(weightier(one, base, people.parts, level) for one in guesses.values())
    found = [*_unlooked(facts, people, kind, learned), *limits]
    found += _unsure(attacks, people.sensitive.name, heavy=heavy, differ=differ)
    return AttributeResult(
        people=people,
        kind=kind,
        main=main,
        plain=given,
        guesses=guesses,
        attacks=attacks,
        shifted=differ,
        models=0 if learned is None else len(learned.trained.told),
        failed=0 if learned is None else learned.trained.failed,
        rows_asked=sent or facts.odds.size,
        limits=tuple(found),
    )


def _over(
    learned: Learned, tried: dict[str, Attack], facts: Facts, other: Floats, kind: Kind
) -> dict[str, OverModels | None]:
    """Of each attack, the gains on models trained again, in which coins decided who is a member."""
    told, size = learned.trained.told, len(learned.pool.candidates)
    teach, weights = np.arange(size, len(learned.places)), other[learned.places]
    rights: dict[str, list[tuple[Truths, Truths]]] = {name: [] for name in tried}
    for at in range(len(told)):
        odds, says = _tables(told.odds[at], told.top[at][:, 0], facts.size, kind)
        mine = facts.take(learned.places, odds, says)
        base = guess(weights, mine, weights)
        for name, attack in tried.items():
            found = guess(attack(mine, teach), mine, weights)
            rights[name].append((found.right[:size], base.right[:size]))
    return {name: over_models(pairs, told.inside, len(tried)) for name, pairs in rights.items()}


def _twins(members: Records, others: Records) -> list[str]:
    twins = shared(members, others)
    return [f"{twins} {'record is' if twins == 1 else 'records are'} among members and others alike"] if twins else []


def _unlooked(facts: Facts, people: People, kind: Kind, learned: Learned | None) -> list[str]:
    """What was not looked at, so that nothing found says less than it seems."""
    found, name = [], people.sensitive.name
    counts = (people.members, people.others, len(people.teach))
    if min(counts) < PEOPLE:
        ones = "member" if counts[0] == 1 else "members"
        found.append(
            f"too few people: {counts[0]} {ones}, {counts[1]} of the control, {counts[2]} to teach"
            f" ({PEOPLE} of each are needed)"
        )
    if people.missing:
        found.append(f"no {name} is known of {people.missing:,} {'person' if people.missing == 1 else 'people'}")
    if silent := int((~facts.told).sum()):
        found.append(f"no finite answer for {silent:,} of {len(facts.codes):,} people")
    told = facts.odds[facts.told]
    if not len(told) or float(np.ptp(told, axis=1).max()) <= STILL:
        found.append(f"no answer of the model changes with {name}, so these attacks learn nothing from the model")
    if kind == "labels":
        found.append("the model returns labels only: probabilities may reveal more")
    if learned is not None and learned.trained.failed:
        of = learned.trained.failed + len(learned.trained.told)
        found.append(f"{learned.trained.failed} of {of} trainings failed ({learned.trained.error})")
    if learned is not None and not learned.shadows:
        found.append("no model could be trained on those who teach, so shadow was not tried")
    return found


def _unsure(attacks: dict[str, Gains], name: str, *, heavy: bool, differ: bool) -> list[str]:
    """Why no leak is found although there may be one."""
    ones = attacks.values()
    found = ["members and others differ in more than being in the training data"] if differ else []
    if any(one.leaks(shifted=differ) for one in ones) or (differ and any(one.leak.low > 0 for one in ones)):
        return found
    if any(one.differs for one in ones):
        found.append("the model adds more for members than for others, although no better guess was found")
    elif heavy:
        found.append(f"the model gives the true {name} of members more weight than that of others")
    if (unseen := max(one.leak.high for one in ones)) > WIDE:
        found.append(f"too few people: a leak of up to {math.ceil(100 * unseen)} points would not be seen")
    return found

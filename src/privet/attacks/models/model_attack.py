"""Who was in the training data of a model? Membership attacks with shadow models, and how sure they are."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from privet.attacks.finding import Findings
from privet.attacks.models.coins import Guesses, guesses
from privet.attacks.models.likeness import SAME, too_many_alarms, unlike
from privet.attacks.models.measured import SHIFT, Measured, measured
from privet.attacks.models.model_scores import ATTACKS, Shadows, left_out, scores_of
from privet.attacks.models.outputs import Asking, Kind, Outputs, kind_of, outputs
from privet.attacks.models.quantile_regression import NAME as QUANTILES
from privet.attacks.models.quantile_regression import described, regression
from privet.attacks.models.quantile_regression import unlike as unlike_people
from privet.attacks.models.records import Records, classes_of, records_from, repeated, shared
from privet.attacks.models.shadows import Pool, Progress, Refit, Stack, Told, Trained, pool_of, refit_of, train, trained
from privet.attacks.models.stacked import stacked_like
from privet.attacks.models.thresholds import sureness, thresholds
from privet.attacks.promise import Privacy
from privet.core.rational import whole
from privet.errors import InvalidInputError
from privet.typing import Floats

ENOUGH = 16  # shadow models, below which attacks that need them are much weaker than they could be
USABLE = 4  # below which they are not tried
PEOPLE = 30  # in slots, below which nothing can be said


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ModelResult:
    """`main` is the attack that did best on shadow models. `sure`: of each candidate, 0 where nothing is claimed.
    `guesser` guessed the coins: it did best of those whose score of a slot says nothing of other coins of the model."""

    pool: Pool
    kind: Kind
    names: tuple[str, ...]
    attacks: dict[str, Measured]
    main: str
    sure: Floats
    shadows: Trained
    models: Trained
    reproducible: bool | None
    coins: list[Guesses] | None
    guesser: str
    privacy: Privacy | None
    own: Outputs
    limits: tuple[str, ...]
    asked: int
    failed_calls: int

    @property
    def best(self) -> Measured:
        return self.attacks[self.main]


def attack_model(  # noqa: PLR0913  what is known, and how to use it
    model: Any,
    members: object,
    others: object,
    *,
    refit: Refit | Stack | None = None,
    shadows: int = 64,
    models: int = 8,
    answers: str = "auto",
    asking: Asking | None = None,
    privacy: Privacy | None = None,
    names: Sequence[str] | None = None,
    seed: int = 0,
    subject: str = "a model",
    progress: Progress | None = None,
) -> Findings:
    """Find out who was in the training data of a classifier, and return what was found with a report.

    model: a fitted classifier, or a function of rows that returns probabilities, scores or classes.
    members: records (X, y) that the model was trained on. others: similar records that it was not trained on.
    refit: trains a model on (X, y), with `seed=` if it takes one; or a `Stacked`. Without it, a scikit-learn model is
        cloned; on any other model, only the attacks without shadow models run: loss and quantile regression.
    shadows: the number of shadow models (trained with known members) on which the attack is trained.
    models: the number of further models to attack, so that intervals are over models.
    answers: "probabilities", "scores" or "labels"; "auto" uses the most detailed one that the model has.
    asking: how a function is queried, and where its answers are saved.
    privacy: what the training promises, for example `privet.attacks.privacy(1, "1e-5")`. It is tested on the models
        trained again.
    names: a name for each member. seed: of the coins that decide who is in each model trained again.
    subject: the model's name in the report.
    progress: a function that is called with a step's name, how many of its parts are done, and how many there are.

    Raises InvalidInputError if the records, the model or its answers cannot be used."""
    from privet.attacks.models.model_findings import findings_of  # noqa: PLC0415  it knows this file

    start = time.perf_counter()
    result = model_result(
        model, members, others, refit=refit, shadows=shadows, models=models, answers=answers, asking=asking,
        privacy=privacy, names=names, seed=seed, progress=progress,
    )  # fmt: skip
    return findings_of(result, subject, start)


def model_result(  # noqa: PLR0913  as above
    model: Any,
    members: object,
    others: object,
    *,
    refit: Refit | Stack | None = None,
    shadows: int = 64,
    models: int = 8,
    answers: str = "auto",
    asking: Asking | None = None,
    privacy: Privacy | None = None,
    names: Sequence[str] | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> ModelResult:
    """The attack, before it is put into words. One seed makes the same slots and coins for every model."""
    tell = progress or (lambda *_: None)
    known, out = records_from(members, "members"), records_from(others, "others")
    classes, counts = classes_of(known, out), (whole(shadows, "shadows", 0), whole(models, "models", 0))
    draw, asked = np.random.default_rng(whole(seed, "seed", 0)), asking or Asking()
    pool, called = pool_of(known, out, draw), names_of(names, len(known))
    again = refit_from(model, refit, known.rows) if counts[0] else None
    asked.tell = partial(tell, "asking the model")
    asked.tell(0, 1)
    own, kind = outputs(model, pool.records.take(pool.candidates), classes, kind_of(model, answers), asked)
    if not np.isfinite(own.odds).any():
        raise InvalidInputError(
            "the model returns no finite number",
            "give a model that returns numbers or classes for these records",
            "not-finite",
        )
    learned = Trained(_nothing(pool), 0, ""), Trained(_nothing(pool), 0, "")
    if again is not None:
        learn = partial(trained, again, pool, classes, kind, draw)
        taught = learn(counts[0], partial(tell, "training shadow models"))
        learned = taught, learn(counts[1] if len(taught.told) else 0, partial(tell, "training models to attack"))
    result = _result(pool, own, kind, learned, privacy)
    repeats = None if not len(result.shadows.told) else again
    same, deaf = (None, False) if repeats is None else _trained_alike(repeats, pool, classes, kind)
    expected = None if privacy is not None else same  # private training has to be random
    limits = (*result.limits, *_unclear(known, out, expected, deaf), *([asked.doubt] if asked.doubt else []))
    result = replace(result, asked=asked.asked, failed_calls=asked.failed)
    return replace(result, names=_candidates(called, pool), reproducible=same, limits=limits)


def _unclear(members: Records, others: Records, same: bool | None, deaf: bool) -> list[str]:
    """Where a model that had a record does not differ as it should from one that had not."""
    found = ["training the same records twice gives different models"] if same is False else []
    if deaf:
        found.append("training gives the same model whichever records it gets")
    if twins := shared(members, others):
        found.append(f"{twins} {'record is' if twins == 1 else 'records are'} among members and others alike")
    if copies := repeated(members):
        found.append(f"{copies} members have the same record as another one, so a model without them still has it")
    return found


def refit_from(model: Any, given: Refit | Stack | None, rows: Any) -> Refit | Stack | None:
    again = given if given is not None else stacked_like(model, rows) or refit_of(model)
    if again is not None and not (callable(again) or isinstance(again, Stack)):
        raise InvalidInputError(
            "refit is not a function", "give a function of (X, y) that returns a model", "not-callable"
        )
    return again


def names_of(given: Sequence[str] | None, members: int) -> list[str]:
    if given is None:
        return [f"member {place + 1}" for place in range(members)]
    if len(given) != members:
        raise InvalidInputError(
            f"there are {len(given):,} names for {members:,} members", "give one name for each member", "wrong-length"
        )
    return [str(name) for name in given]


def _candidates(members: list[str], pool: Pool) -> tuple[str, ...]:
    count = len(members)
    return tuple(members[place] if place < count else f"other {place - count + 1}" for place in pool.candidates)


def _nothing(pool: Pool) -> Told:
    size = 2 * len(pool.slots)
    return Told(np.empty((0, size)), np.empty((0, size, 0)), np.empty((0, size), np.bool_))


def _result(
    pool: Pool, own: Outputs, kind: Kind, learned: tuple[Trained, Trained], privacy: Privacy | None
) -> ModelResult:
    (shadows, models), labels = learned, pool.records.labels[pool.candidates]
    used, usable = Shadows(shadows.told, labels), len(shadows.told) >= USABLE
    tried = list(ATTACKS) if usable else ["loss"]
    taught = {name: left_out(ATTACKS[name], used) for name in tried}
    attacks = {
        name: measured(
            scores_of(ATTACKS[name], own, used),
            pool.truth,
            np.array([scores_of(ATTACKS[name], models.told.model(place), used) for place in range(len(models.told))]),
            models.told.inside,
            (taught[name], shadows.told.inside),
        )
        for name in tried
    }
    guesser = max(tried, key=lambda name: attacks[name].taught)
    attacks[QUANTILES], taught[QUANTILES] = _by_quantiles(pool, own, used, models.told)
    main = max(attacks, key=lambda name: attacks[name].taught) if usable else _without_shadows(pool)
    best = attacks[main]
    steps = [] if len(shadows.told) < USABLE else thresholds(taught[main], shadows.told.inside)
    sure = sureness(best.scores, steps)
    other = unlike(own.odds, pool.truth, shadows.told) or too_many_alarms(sure, pool.truth)
    guessed = attacks[guesser].model_scores
    coins = guesses(guessed, models.told.inside, privacy, models.failed) if len(models.told) else []
    return ModelResult(
        pool=pool,
        kind=kind,
        names=(),
        attacks=attacks,
        main=main,
        sure=np.zeros(len(sure)) if other else sure,
        shadows=shadows,
        models=models,
        reproducible=None,
        coins=coins,
        guesser=guesser,
        privacy=privacy,
        own=own,
        limits=tuple(_limits(own, pool, kind, learned, other=other) + _untested(best, coins, privacy)),
        asked=0,
        failed_calls=0,
    )


def _by_quantiles(pool: Pool, own: Outputs, used: Shadows, models: Told) -> tuple[Measured, Floats]:
    """The attack that learns from those who were not in a model how sure it is of others; and its scores of shadow
    models. What it learns depends on the coins of other slots, so it guesses no coins."""
    who = described(pool)

    def of(told: Told) -> Floats:
        rows = [scores_of(regression(who, ~told.inside[at]), told.model(at), used) for at in range(len(told))]
        return np.array(rows).reshape(told.inside.shape)

    taught, mine = of(used.told), scores_of(regression(who, ~pool.truth), own, used)
    found = measured(mine, pool.truth, of(models), models.inside, (taught, used.told.inside))
    if found.control is None:  # no shadow models tell whether members and others are alike
        found = replace(found, shifted=unlike_people(own.odds, pool.truth, who, SHIFT))
    return found, taught


def _without_shadows(pool: Pool) -> str:
    """Which attack is shown first where no shadow models tell: fixed before anything is asked."""
    return QUANTILES if len(pool.slots) >= PEOPLE else "loss"


def _limits(own: Outputs, pool: Pool, kind: Kind, learned: tuple[Trained, Trained], *, other: bool) -> list[str]:
    """Why an attack that finds nothing says less than it seems."""
    shadows, models = learned
    found, size, failed = [], len(shadows.told), shadows.failed + models.failed
    if len(pool.slots) < PEOPLE:
        found.append(f"{len(pool.slots)} members and as many others are too few ({PEOPLE} are needed)")
    if failed:
        found.append(
            f"{failed} of {failed + size + len(models.told)} trainings failed ({shadows.error or models.error})"
        )
    if size == 0:
        found.append("no shadow models: only attacks without them were tried")
    elif size < ENOUGH:
        weak = "only attacks without them were tried" if size < USABLE else "the attacks are weaker than they could be"
        found.append(f"only {size} shadow {'model' if size == 1 else 'models'}: {weak}")
    if kind == "labels" or len(np.unique(own.odds[np.isfinite(own.odds)])) <= 2:  # right or wrong
        found.append("the model returns labels only: probabilities may reveal more")
    if silent := int((~np.isfinite(own.odds)).sum()):
        found.append(f"no finite answer for {silent} of {len(own.odds)} records")
    if other:
        found.append("the models trained again are unlike the model, so nobody is claimed")
    return found


def _untested(best: Measured, coins: list[Guesses] | None, privacy: Privacy | None) -> list[str]:
    found = []
    if best.shifted:
        found.append("members and others differ in more than being in the training data")
    if privacy is not None and coins is None:
        found.append("the promise was not tested: its delta is too large for so many records")
    if privacy is not None and coins == []:
        found.append("the promise was not tested: no model was trained again")
    return found


def _trained_alike(refit: Refit | Stack, pool: Pool, classes: Any, kind: Kind) -> tuple[bool | None, bool]:
    """Whether training twice on the same records, with the same seed, gives the same model (None: it failed), and
    whether training on others in place of the members does."""
    asked = pool.records.take(pool.candidates)
    try:
        one, two, other = (
            outputs(_model_of(refit, pool, side), asked, classes, kind, Asking())[0].odds for side in (0, 0, 1)
        )
    except Exception:  # whatever training raises; failures are counted where shadow models are trained
        return None, False
    alike = partial(np.allclose, one, rtol=0, atol=SAME, equal_nan=True)
    return bool(alike(two)), bool(alike(other))


def _model_of(refit: Refit | Stack, pool: Pool, side: int) -> Any:
    chosen = pool.records.take(np.concatenate([pool.fixed, pool.slots[:, side]]))
    return train(refit, (chosen.rows, chosen.labels), 0)

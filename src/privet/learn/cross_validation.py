"""Cross-validation under differential privacy: each fold is left out once, and what was learned is scored on it.

A unit is in one fold with all its rows. One charge pays for everything: a unit is learned from in all folds but one,
and tested in that one (claim folds-price).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from fractions import Fraction
from html import escape
from typing import Any

from sklearn.base import clone

from privet import training
from privet.answer import loss_json
from privet.backends import Course
from privet.backends.contributions import Lesson
from privet.core.loss import Loss, sequential
from privet.core.plan import fingerprint
from privet.core.rational import positive, show, whole
from privet.core.rounds import Priced, Round, priced
from privet.core.unit import Neighbors
from privet.engine import Gate, Release
from privet.errors import BudgetExceededError, InvalidInputError, RefusedQueryError
from privet.estimates.calibration import epsilon_of_rho
from privet.learn.base import NOT_PROMISED, InRounds, Planned, PrivateEstimator
from privet.learn.card import ModelCard, amount
from privet.learn.scores import SURE, WORDS, Score, score, score_shares, scored_rows, scoring_of
from privet.learn.table_fit import FitPlan
from privet.ledger import Charge

MOST = 20  # folds
CHANCE = "how far scores would differ with other people: the intervals are about noise alone"


@dataclass(frozen=True, slots=True)
class InFolds:
    """A fit for each fold, on the units of all others, and a test on those of that fold."""

    fit: InRounds
    test: Priced
    folds: int
    tested: Callable[[Any], Lesson] = field(repr=False)
    scored: Callable[[Sequence[Any]], dict[str, Any]] = field(repr=False)

    @property
    def loss(self) -> Loss:
        """Of as many fits as there are other folds, and one test. Fits with Gaussian noise are converted together."""
        one, times = self.fit.loss, self.folds - 1
        if not one.delta or one.rho is None:
            return sequential([*[one] * times, self.test.loss])
        epsilon = epsilon_of_rho(times * one.rho, one.delta)
        return sequential([Loss(epsilon=epsilon, delta=one.delta, rho=times * one.rho), self.test.loss])

    @property
    def rounds(self) -> tuple[Round, ...]:
        return self.fit.rounds

    def released(self, charge: Charge, course: Course, gate: Gate) -> Release:
        return training.train(charge, course, self.fit.lesson, gate, self.tested)

    def fitted(self, course: Course, body: bytes) -> dict[str, Any]:
        return self.scored(training.replayed(course, self.fit.lesson, body, self.tested))

    def facts(self, course: Course, neighbors: Neighbors) -> dict[str, Any]:
        said = self.fit.facts(course, neighbors)
        return said | {
            "rho": str(self.loss.rho) if said["rho"] else None,
            "rounds": self.folds * (len(self.rounds) + 1),
            "guarantee": training.guarantee(course, neighbors, self.loss),
            "not_promised": (NOT_PROMISED[0], CHANCE, NOT_PROMISED[2]),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class CrossValidation:
    """What came out. `score` is that of all folds together, and `folds` has those of each. All of it may be shown."""

    scoring: str
    score: Score
    folds: tuple[Score, ...]
    privacy: ModelCard

    def __str__(self) -> str:
        return "\n".join([*self.lines(), "", str(self.privacy)])

    def lines(self) -> list[str]:
        """The scores, for people."""
        return [
            f"{self.scoring} ({WORDS[self.scoring]}): {self.score}, all folds together",
            *(f"   fold {number}: {one}" for number, one in enumerate(self.folds, 1)),
            f"   in brackets: what noise leaves open; the exact score is inside in {100 * SURE} of 100 cases",
        ]

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"

    def to_json(self) -> dict[str, Any]:
        """The same for a program. `privet recheck` finds the price in it."""
        card = asdict(self.privacy)
        return {
            "scoring": self.scoring,
            "score": asdict(self.score),
            "folds": [asdict(one) for one in self.folds],
            "guarantee": card.pop("guarantee"),
            "card": card,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class CrossValidationPlan(FitPlan):
    """A planned cross-validation. To look at it costs nothing and touches no data; `release` charges and scores."""

    scoring: str
    what: str = "cross-validation"

    def release(self) -> CrossValidation:
        """Charge the ledger, and return the scores. The same again is free, from what the ledger stored.

        Raises BudgetExceededError before any data are read."""
        try:
            found, card = self.planned.delivered(self.name)
        except BudgetExceededError as error:  # the price that was refused is not the learner's epsilon
            fits = self._method.folds - 1
            error.remedy = f"give a smaller epsilon: it is paid for {fits} fits and a test; or ask the owner for more"
            raise
        return CrossValidation(scoring=self.scoring, privacy=card, **found)

    @property
    def name(self) -> str:
        return f"{self.planned.course.folds} folds of {type(self.learner).__name__}"

    def to_json(self) -> dict[str, Any]:
        """The same as `explain`, and the guarantee, for a program."""
        fit, test = self._method.fit.loss, self._method.test.loss
        own = {"folds": self._method.folds, "scoring": self.scoring, "fit": loss_json(fit), "test": loss_json(test)}
        return FitPlan.to_json(self) | own

    @property
    def _method(self) -> InFolds:
        assert isinstance(self.planned.method, InFolds)  # noqa: S101  `validated` made it
        return self.planned.method

    def more(self, heading: str) -> list[str]:
        folds = self._method.folds
        of_unit = "row" if self.planned.told.table.unit is None else self.planned.told.table.unit
        together = "; with Gaussian noise, fits cost less together" if self._method.fit.loss.delta else ""
        said = {
            "What is learned": [
                f"   Each {of_unit} is in one of {folds} folds. Each fold is left out once: a model learned from the"
                f" others predicts it.",
                f"   Score: {self.scoring}, the {WORDS[self.scoring]}.",
            ],
            "Noise": [f"   these rounds for each of {folds} models; then a round of scores, discrete Laplace noise"],
            "Price": [
                f"   each {of_unit} is in {folds - 1} of {folds} fits ({_priced(self._method.fit.loss)} each{together})"
                f" and in one test ({_priced(self._method.test.loss)})",
            ],
        }
        return said.get(heading, [])


def _priced(loss: Loss) -> str:
    return amount("epsilon", loss.epsilon, loss.delta)


def validated(plan: FitPlan, folds: Any, scoring: Any, score_epsilon: Any) -> CrossValidationPlan:
    """From a planned fit to a planned cross-validation of it."""
    planned, scoring = _in_folds(plan.learner, plan.planned, folds, scoring, score_epsilon)
    return CrossValidationPlan(
        learner=plan.learner,
        planned=planned,
        columns=plan.columns,
        analyst=plan.analyst,
        scoring=scoring,
    )


def cross_validate(  # noqa: PLR0913  the public contract
    estimator: PrivateEstimator,
    X: Any,  # noqa: N803
    y: Any = None,
    *,
    units: Any = None,
    folds: Any = 5,
    scoring: Any = None,
    score_epsilon: Any = None,
) -> CrossValidation:
    """Cross-validate a learner on rows in memory; `estimator` is not changed. No ledger counts it.

    `estimator` is a learner of `privet.learn` with a target, a price and declarations. `X`, `y` and `units` are as in
    its `fit`. `folds` is the number of parts into which the units are divided. `scoring` is "accuracy" for classes,
    "rmse" (default) or "r2" for numbers. `score_epsilon` is the price of a test (default: the epsilon of the learner).

    Returns the scores. The price is that of `folds` - 1 fits and one test.
    Raises InvalidInputError if something is missing or does not fit."""
    if not isinstance(estimator, PrivateEstimator):
        raise InvalidInputError(
            f"{show(type(estimator).__name__)} does not learn with differential privacy",
            "give a learner of pv.learn, for example pv.learn.GaussianNB(epsilon=1, ...)",
            "wrong-type",
        )
    learner = clone(estimator)
    price = _score_epsilon(learner, score_epsilon)
    times = _folds(folds) - 1 + int(-(-price // learner._price()[0]))
    with learner._opened(X, y, units, times) as (declared, told):
        planned, scoring = _in_folds(learner, learner._planned(declared, told), folds, scoring, price)
        found, card = planned.delivered(f"{folds} folds of {type(learner).__name__}")
    return CrossValidation(scoring=scoring, privacy=card, **found)


def _in_folds(
    learner: PrivateEstimator, planned: Planned, folds: Any, scoring: Any, score_epsilon: Any
) -> tuple[Planned, str]:
    fit, count = _method_of(learner, planned), _folds(folds)
    scoring, price = scoring_of(scoring, str(learner._target)), _score_epsilon(learner, score_epsilon)
    told, target = planned.told, planned.declared.columns[-1]
    neighbors = told.gate.ledger.terms.neighbors
    test = priced(score_shares(scoring), planned.declared.rows, neighbors, price, Fraction(0))
    (one,) = test.rounds

    def tested(found: Any) -> Lesson:
        model = clone(learner)
        for name, value in found.items():
            setattr(model, name, value)
        return (
            yield lambda block: scored_rows(
                scoring, model._predicted(block.raw, planned.declared), block.raw[:, -1], target
            )
        )

    def scored(sums: Sequence[Sequence[Sequence[int]]]) -> dict[str, Any]:
        together = [[sum(each) for each in zip(*vectors, strict=True)] for vectors in zip(*sums, strict=True)]
        each = tuple(score(scoring, target, one, of_fold) for of_fold in sums)
        return {"score": score(scoring, target, one, together, count), "folds": each}

    method = InFolds(fit, test, count, tested, scored)
    request = fingerprint("cross-validation", planned.charge.request, count, scoring, str(price))
    note = planned.charge.note.replace("fit", f"cross-validate in {count} folds", 1)
    charge = replace(planned.charge, loss=method.loss, request=request, note=note)
    course = replace(planned.course, folds=count, test=one)
    return replace(planned, method=method, course=course, charge=charge), scoring


def _method_of(learner: PrivateEstimator, planned: Planned) -> InRounds:
    kind = type(learner).__name__
    if learner._target is None:
        raise RefusedQueryError(
            f"{kind} has no target, so there is nothing to score",
            "choose a learner with a target; `privet fit --list` lists all",
            "not-supported",
        )
    if not isinstance(planned.method, InRounds):
        raise RefusedQueryError(
            f"{kind} draws noise of its own in floats, and is not cross-validated",
            "choose its settings on public or simulated data, or cross-validate another learner",
            "not-supported",
        )
    return planned.method


def _folds(given: Any) -> int:
    found = whole(given, "folds", 2)
    if found > MOST:
        raise InvalidInputError(
            f"folds must be at most {MOST}, not {show(given)}: a fit is paid for each fold but one",
            "for example folds=5",
            "too-large",
        )
    return found


def _score_epsilon(learner: PrivateEstimator, given: Any) -> Fraction:
    return learner._price()[0] if given is None else positive(given, "score_epsilon")

"""A model, and the same model trained privately: the same attack on both, and how often each is right, on one page."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from privet.attacks.finding import Findings, Picture, ShownTable
from privet.attacks.membership.trade_off import picture
from privet.attacks.models.measured import RATE
from privet.attacks.models.model_attack import ModelResult, model_result
from privet.attacks.models.model_findings import LEAD, coins_table, findings_of, verdict
from privet.attacks.models.outputs import Asking
from privet.attacks.models.records import records_from
from privet.attacks.models.shadows import Progress, Refit, Stack, fitted
from privet.attacks.promise import Privacy
from privet.errors import InvalidInputError
from privet.stats.binomial import share
from privet.stats.intervals import Interval

NAMES, SIDES = ("model", "private model"), ("others", "members")
Pair = tuple[ModelResult, ModelResult]
Rights = tuple[dict[str, Interval], ...]


def compare_models(  # noqa: PLR0913  two models, and how to attack both
    fit: Refit | Stack,
    private_fit: Refit | Stack,
    members: object,
    others: object,
    *,
    privacy: Privacy,
    model: Any = None,
    shadows: int = 64,
    models: int = 8,
    answers: str = "auto",
    asking: Asking | None = None,
    names: Sequence[str] | None = None,
    seed: int = 0,
    subject: str = "a model",
    progress: Progress | None = None,
) -> Findings:
    """Attack a model and the same model trained privately, and return both results, with the accuracy of each.

    fit: a function of (X, y) that trains the model, and gets `seed=` if it takes one; or a `Stacked`.
    private_fit: the same, for the private training.
    members: records (X, y) to train on. others: similar records that neither model is trained on.
    privacy: what private_fit promises, for example `privet.attacks.privacy(1, "1e-6")`.
    model: the model itself, if it is trained already. Without it, `fit` trains it on the members.
    shadows, models, answers, names, seed, progress: as in `attack_model`. For both models the same people are tested,
        and the same coins decide who is in the models trained again. asking: how `model` is queried.
    subject: the model's name in the report.

    Raises InvalidInputError if the records, a model, its training or its answers cannot be used."""
    start, tell = time.perf_counter(), progress or (lambda *_: None)
    for what, one in (("fit", fit), ("private_fit", private_fit)):
        if not (callable(one) or isinstance(one, Stack)):
            raise InvalidInputError(
                f"{what} is not a function", "give a function of (X, y) that returns a model", "not-callable"
            )
    known = records_from(members, "members")

    def attacked(which: int, own: Any, again: Refit | Stack, promise: Privacy | None) -> ModelResult:
        return model_result(
            own, members, others, refit=again, shadows=shadows, models=models, answers=answers,
            asking=None if which else asking, privacy=promise, names=names, seed=seed,
            progress=lambda what, done, of: tell(f"{NAMES[which]}: {what}", done, of),
        )  # fmt: skip

    own = fitted(fit, (known.rows, known.labels), seed) if model is None else model
    plain = attacked(0, own, fit, None)
    private = attacked(1, fitted(private_fit, (known.rows, known.labels), seed), private_fit, privacy)
    return _together((plain, private), privacy, subject, start)


def _together(results: Pair, privacy: Privacy, subject: str, start: float) -> Findings:
    plain, private = (findings_of(result, subject, start) for result in results)
    both, limits = (plain, private), _apart(plain.numbers["limits"], private.numbers["limits"])
    right = tuple({side: accuracy(result, inside=side == "members") for side in SIDES} for result in results)
    return Findings(
        attack="model comparison",
        subject=subject,
        headline=_headline(both, right, privacy, limits),
        people=plain.people,
        claimed=int(np.any([result.sure > 0 for result in results], axis=0).sum()),
        findings=tuple(
            replace(one, section=f"In the {name}")
            for name, found in zip(NAMES, both, strict=True)
            for one in found.findings
        ),
        tables=(_side_by_side(both, right), *([coins_table(results[1])] if results[1].coins else [])),
        pictures=(_picture(results, privacy),),
        assumptions=(
            "Both models are attacked with the same people and the same coins.",
            *_apart(plain.assumptions, private.assumptions),
        ),
        not_tried=plain.not_tried,
        numbers={
            name: {**found.numbers, "accuracy": {side: asdict(one) for side, one in own.items()}}
            for name, found, own in zip(("model", "private"), both, right, strict=True)
        }
        | {"violated": private.numbers["violated"], "limits": limits},
        seconds=time.perf_counter() - start,
        word="claimed",
        alarm="bad" if "bad" in {plain.alarm, private.alarm} else "neutral" if limits else None,
        lead=LEAD,
    )


def accuracy(result: ModelResult, *, inside: bool) -> Interval:
    """Of this model on the tested members, or on the others: how often the true class is its likeliest one. Where
    classes tie, each is as likely to be taken. A record without an answer is not right."""
    own, which = result.own, result.pool.truth == inside
    with np.errstate(invalid="ignore"):
        hits = (own.odds >= own.top[:, 0]) / (own.top == own.top[:, :1]).sum(axis=1).clip(1)
    return share(round(float(hits[which].sum())), int(which.sum()))


def _apart(one: Sequence[str], other: Sequence[str]) -> list[str]:
    """What is said of both models once; then what is said of one of them, with its name."""
    return [
        *(words for words in one if words in other),
        *(f"{NAMES[0]}: {words}" for words in one if words not in other),
        *(f"{NAMES[1]}: {words}" for words in other if words not in one),
    ]


def _headline(both: tuple[Findings, Findings], right: Rights, privacy: Privacy, limits: list[str]) -> str:
    """People found in each, then what privacy costs in accuracy, then what keeps it from saying more."""
    of = both[0].numbers["slots"]
    first, second = (round(found.numbers["tpr"] * of) for found in both)
    ways = [found.numbers["main"] for found in both]
    at = "At one false alarm in 100" if of * RATE >= 1 else f"With no false alarm among {of:,} others"
    slack = f", delta {float(privacy.delta):g}" if privacy.delta else ""
    parts = [
        f"{at}, {first:,} of {of:,} members {'is' if first == 1 else 'are'} found in the model ({ways[0]}), and"
        f" {second:,} in the private model ({ways[1]}; epsilon {float(privacy.epsilon):g}{slack})",
        f"the model classifies {_percent(right[0]['others'])} of the others correctly, and the private model"
        f" {_percent(right[1]['others'])}",
    ]
    if both[1].numbers["violated"]:
        parts.append("the promise of privacy is not kept")
    if limits:
        parts.append(f"limited: {', '.join(limits)}")
    return "; ".join(parts)


def _side_by_side(both: tuple[Findings, Findings], right: Rights) -> ShownTable:
    rows = []
    for name, found, own in zip(NAMES, both, right, strict=True):
        main = found.numbers["attacks"][found.numbers["main"]]
        rows.append(
            (
                f"{name} ({found.numbers['main']})",
                _decimals(main["auc"]),
                _share(main["found"]),
                _decimals(main["models_auc"]),
                _share(main["models_found"]),
                _share(asdict(own["others"])),
                _share(asdict(own["members"])),
            )
        )
    counts = [found.numbers["models"] for found in both]
    return ShownTable(
        "The model beside the same model trained privately",
        "Each model is shown under the attack that did best on its own shadow models. AUC: the chance that a member"
        " scores higher than somebody who was not in the training data. Found: members above the threshold that one in"
        f" 100 of the others passes. Trained again: {counts[0]} models and {counts[1]} private ones. Right: how often"
        " the model calls the true class the likeliest one, among the people who are tested. Intervals hold with 95 %.",
        (
            "attacked", "AUC", "found", "AUC, trained again", "found, trained again", "right about others",
            "right about members",
        ),
        tuple(rows),
    )  # fmt: skip


def _picture(results: Pair, privacy: Privacy) -> Picture:
    """Without bands, which would hide each other: intervals are in the table. The limit of the promise is drawn only
    where coins decided who was in: for models trained again."""
    plain, private = (result.best for result in results)
    text = "How many people in the data are found, against how many others are taken for one, for every threshold."
    if plain.model_curve is None or private.model_curve is None:
        title = "Members and others, told apart: both models"
        drawn = picture(plain.curve, None, title), picture(private.curve, None, title)
    else:
        title = "Members and others, told apart: models trained again"
        steps = 2 if privacy.neighbors == "add-remove" else 1
        said = verdict(results[1]) or ""
        drawn = (
            picture(plain.model_curve, None, title),
            picture(private.model_curve, privacy, title, steps=steps, verdict=said),
        )
        text += f" No test of a private model that keeps its promise is above the limit.{said}"
    curves = [replace(one.curves[0], name=name, low=(), high=()) for name, one in zip(NAMES, drawn, strict=True)]
    return replace(
        drawn[1],
        text=text,
        alt=" ".join(f"{name.capitalize()}: {one.alt}" for name, one in zip(NAMES, drawn, strict=True)),
        curves=(*curves, *drawn[1].curves[1:]),
    )


def _percent(interval: Interval) -> str:
    return f"{100 * interval.value:.0f} %"


def _share(interval: dict[str, float] | None) -> str:
    if interval is None:
        return "not known"
    return "{:.1f} % ({:.1f} to {:.1f} %)".format(*(100 * interval[end] for end in ("value", "low", "high")))


def _decimals(interval: dict[str, float] | None) -> str:
    if interval is None:
        return "not known"
    return "{:.3f} ({:.3f} to {:.3f})".format(*(interval[end] for end in ("value", "low", "high")))

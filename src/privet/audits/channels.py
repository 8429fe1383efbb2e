"""What an answer tells beside its numbers: the charge, its look, errors, repeats, seeds, time.

Anything that answers can be asked: a function, a vault, a server. Nothing is known of it but what came back. Noise is
allowed to show in numbers only, so everything else must be the same on two neighbors; where a look depends on noise
(groups that are shown or not) it is counted, and a claim says how far counts may differ.
"""

from __future__ import annotations

import math
import random
import time
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from privet.audits.claims import Claim
from privet.audits.likeness import look as plain_look
from privet.audits.likeness import same
from privet.audits.timing import POWER, Timing, compare, in_words
from privet.audits.verdict import CONSISTENT, INCONCLUSIVE, VIOLATED, Check, Checks
from privet.core.rational import rational, show, whole
from privet.errors import InvalidInputError
from privet.stats import binomial

EVENTS = 8  # looks that are tested
LONGEST = 160  # characters of a look that are printed
MISS = 1e-6  # the false-alarm rate of what is counted
WARM = 3  # blocks that are asked first and not timed
SIDES = ("first", "second")
Ask = Callable[[Any], Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One time that a data set was asked. `spent` is the reading after it."""

    answer: Any  # its content, or the error
    look: Hashable
    spent: Any
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """How to ask. `charge` reads what was spent so far; `look` is all of an answer that must not depend on the data."""

    ask: Ask
    charge: Callable[[Any], Any] | None = None
    look: Callable[[Any], Hashable] = plain_look
    content: Callable[[Any], Any] = lambda answer: answer
    clock: Callable[[], float] = time.perf_counter

    def once(self, data: Any) -> Seen:
        began = self.clock()
        try:
            answer = self.ask(data)
        except Exception as error:  # an error is an answer, too
            answer = error
        seconds = self.clock() - began
        spent = self.read(data)
        if isinstance(answer, BaseException):
            return Seen(answer=answer, look=plain_look(answer), spent=spent, seconds=seconds)
        return Seen(answer=self.content(answer), look=self.look(answer), spent=spent, seconds=seconds)

    def read(self, data: Any) -> Any:
        return None if self.charge is None else self.charge(data)


def side_channels(  # noqa: PLR0913  what is asked, and settings by name
    ask: Ask,
    neighbors: tuple[Any, Any],
    *,
    charge: Callable[[Any], Any] | None = None,
    start: Callable[[], Ask] | None = None,
    claim: Claim | None = None,
    look: Callable[[Any], Hashable] = plain_look,
    content: Callable[[Any], Any] = lambda answer: answer,
    repeats: int = 200,
    starts: int = 21,
    seconds: float | None = None,
    margin: float = 0.0,
    rate: object = 1e-4,
    clock: Callable[[], float] = time.perf_counter,
) -> Checks:
    """Ask two neighbors again and again, in random order, and compare everything but the numbers.

    `ask(data)` gives an answer or raises. `charge(data)` reads what was spent on that side so far: then it is seen
    whether charges are the same and whether fresh noise is ever free. `start()` makes a new asker (an object, a
    process): then it is seen whether all of them give the same "random" answer. `claim` is what looks that vary by
    noise are held against. `look` gives all of an answer that must not depend on the data, `content` what must not be
    fresh for free; as they stand, everything but numbers, and everything. Each side is asked `repeats` times, or less
    if that would take more than `seconds`: the number is fixed before the first one counts. Times are compared at a
    false-alarm rate of `rate`; differences of up to `margin` seconds are let pass.
    """
    both = _check(ask, neighbors, claim)
    asking = Asking(ask=ask, charge=charge, look=look, content=content, clock=clock)
    before = [asking.read(data) for data in both]
    warm, blocks = _observe(asking, both, whole(repeats, "repeats", 2), seconds)
    sides = [[block[side] for block in (*warm, *blocks)] for side in (0, 1)]
    checks = [_looks(sides, claim)]
    if charge is not None:
        checks.append(_charges(before, sides))
    checks.append(_repeats(before, sides, charged=charge is not None))
    if start is not None:
        checks.append(_seeds(start, both, whole(starts, "starts", 2)))
    checks.append(_times(blocks, float(rational(rate, "rate")), margin))
    missing = [
        (charge, "whether charges are the same, and whether fresh noise is free: give charge="),
        (start, "whether two objects or processes give the same random answer: give start="),
    ]
    return Checks(
        subject=f"side channels of {getattr(ask, '__name__', 'an asker')} on two neighbors",
        checks=tuple(checks),
        not_tested=(*(words for given, words in missing if given is None), "neighbors other than these two"),
    )


def _check(ask: object, neighbors: object, claim: object) -> tuple[Any, Any]:
    if not callable(ask):
        raise InvalidInputError(f"ask must be callable, not {show(ask)}", "give a function ask(data)", "not-callable")
    if not isinstance(neighbors, tuple) or len(neighbors) != 2:
        raise InvalidInputError(
            "neighbors must be a pair of data sets", "give neighbors=(data, data_without_one_person)", "wrong-shape"
        )
    if claim is not None and not isinstance(claim, Claim):
        raise InvalidInputError(
            f"claim must be a Claim, not {show(claim)}", "write pv.audits.Claim(epsilon=1)", "wrong-type"
        )
    return neighbors


def _observe(
    asking: Asking, both: tuple[Any, Any], repeats: int, seconds: float | None
) -> tuple[list[list[Seen]], list[list[Seen]]]:
    """Blocks of one question to each side, the first or the second first: a few to warm up, then those that count."""
    coin = random.SystemRandom()

    def block() -> list[Seen]:
        order = coin.sample((0, 1), 2)
        seen = {side: asking.once(both[side]) for side in order}
        return [seen[0], seen[1]]

    began = asking.clock()
    warm = [block() for _ in range(WARM)]
    each = max((asking.clock() - began) / WARM, 1e-9)
    size = repeats if seconds is None else max(2, min(repeats, int(seconds / each) - WARM))
    return warm, [block() for _ in range(size)]


def _looks(sides: Sequence[Sequence[Seen]], claim: Claim | None) -> Check:
    """Shape, order, names, types, errors."""
    counts = [Counter(seen.look for seen in side) for side in sides]
    asked = len(sides[0])
    if all(one.look == two.look for one, two in zip(*sides, strict=True)):
        words = "all look the same" if len(counts[0]) == 1 else "look the same, question by question"
        return Check(name="look", verdict=CONSISTENT, says=f"{asked} answers on each data set {words}")
    if claim is not None:
        return _counted(sides, claim)
    if not counts[0].keys() & counts[1].keys() and min(map(len, counts)) == 1:
        explained = _explains(asked)
        says = f"{_differing(sides)}. Noise does this with odds above {MISS:g} only if epsilon is above {explained:.2g}"
        return Check(name="look", verdict=VIOLATED, says=says, figures={"epsilon": explained})
    says = (
        f"{len(counts[0])} looks on one data set, {len(counts[1])} on the other. If they vary by noise, "
        "give claim=, and they are held against it"
    )
    return Check(name="look", verdict=INCONCLUSIVE, says=says)


def _differing(sides: Sequence[Sequence[Seen]]) -> str:
    first, second = (_cut(side[0].look) for side in sides)
    return f"answers look like {first} on the first data set and like {second} on the second"


def _cut(looks: Hashable) -> str:
    text = repr(looks)
    return text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."


def _explains(asked: int) -> float:
    """The largest epsilon at which noise has odds below MISS to show one look on one side always, on the other never.

    Of a look with probability p there and q here, p <= e^epsilon * q, the odds are (p * (1 - q))^n; p * (1 - q) is at
    most 1 - 1 / e^epsilon from epsilon = ln 2 on, and e^epsilon / 4 below. Over all looks the sum of p is 1, which
    takes one n away; two sides can be the constant one.
    """
    share = (MISS / 2) ** (1 / (asked - 1))
    return -math.log1p(-share) if share > 0.5 else max(0.0, math.log(4 * share))


def _counted(sides: Sequence[Sequence[Seen]], claim: Claim) -> Check:
    """One half of the answers names looks, the other is counted: Clopper–Pearson bounds that hold for all of them."""
    half = len(sides[0]) // 2
    named = [Counter(seen.look for seen in side[:half]) for side in sides]
    gap = Counter({one: abs(named[0][one] - named[1][one]) for one in {**named[0], **named[1]}})
    events = [one for one, _ in gap.most_common(EVENTS)]
    draws, miss = len(sides[0]) - half, MISS / (4 * len(events))
    counts = [Counter(seen.look for seen in side[half:]) for side in sides]

    def least(likelier: int, other: int) -> float:
        return claim.least(binomial.lower(likelier, draws, miss), binomial.upper(other, draws, miss))

    bounds = [(least(counts[a][one], counts[1 - a][one]), one, a) for one in events for a in (0, 1)]
    bound, best, side = max(bounds, key=lambda item: item[0])
    ceiling = least(draws, 0)
    says = (
        f"the look {_cut(best)} came up {counts[side][best]} times of {draws} on the {SIDES[side]} data set and "
        f"{counts[1 - side][best]} on the other: {claim.parameter} is at least {bound:.3g}, and at most {ceiling:.3g} "
        f"could have been shown; the claim is {float(claim.value):g}"
    )
    able = CONSISTENT if ceiling > claim.value else INCONCLUSIVE
    verdict = VIOLATED if bound > claim.value else able
    return Check(name="look", verdict=verdict, says=says, figures={"bound": bound, "ceiling": ceiling})


def _charges(before: Sequence[Any], sides: Sequence[Sequence[Seen]]) -> Check:
    """The same reading after every question, however it ended."""
    if not same(before[0], before[1]):
        raise InvalidInputError(
            "something was spent on one of the data sets before",
            "give two askers that start from the same budget",
            "not-comparable",
        )
    for number, (one, two) in enumerate(zip(*sides, strict=True), start=1):
        if not same(one.spent, two.spent):
            says = (
                f"after question {number} {show(one.spent)} is spent on one data set and {show(two.spent)} on the other"
            )
            return Check(name="charge", verdict=VIOLATED, says=says)
    return Check(name="charge", verdict=CONSISTENT, says=f"the same after each of {len(sides[0])} questions")


def _repeats(before: Sequence[Any], sides: Sequence[Sequence[Seen]], *, charged: bool) -> Check:
    """Fresh noise that costs nothing can be averaged away."""
    new, free = 0, 0
    for start, side in zip(before, sides, strict=True):
        known: list[Any] = []
        spent = start
        for seen in side:
            if not isinstance(seen.answer, BaseException) and not any(same(seen.answer, one) for one in known):
                known.append(seen.answer)
                new += len(known) > 1
                free += same(seen.spent, spent)
            spent = seen.spent
    asked = 2 * len(sides[0])
    if charged and free:
        says = f"{free} new answers of {asked} cost nothing: whoever asks often enough averages the noise away"
        return Check(name="repeats", verdict=VIOLATED, says=says, figures={"free": free, "new": new})
    if new and not charged:
        says = f"{new} of {asked} answers to the same question were new; nobody says whether they were paid for"
        return Check(name="repeats", verdict=INCONCLUSIVE, says=says, figures={"new": new})
    says = (
        f"{new} of {asked} answers to the same question were new, and each was paid for"
        if new
        else (f"the same question got the same answer, {asked} times")
    )
    return Check(name="repeats", verdict=CONSISTENT, says=says, figures={"new": new})


def _seeds(start: Callable[[], Ask], both: tuple[Any, Any], starts: int) -> Check:
    """New objects or processes with the same noise: then the noise of one gives away that of another."""
    answers: list[list[Any]] = [[], []]
    for _ in range(starts):
        asking = Asking(ask=start())
        for side, data in enumerate(both):
            answers[side].append(asking.once(data).answer)
    fixed = [all(same(one, side[0]) for one in side) for side in answers]
    if not all(fixed):
        says = f"{starts} fresh starts do not give the same answers"
        return Check(name="seeds", verdict=CONSISTENT, says=says)
    if same(answers[0][0], answers[1][0]):
        return Check(name="seeds", verdict=CONSISTENT, says="the answer is always the same, on both data sets")
    likely = MISS ** (1 / (starts - 1))
    says = (
        f"{starts} fresh starts give the same answer each time, and it depends on the data: the noise is fixed. (If no "
        f"answer has a probability above {likely:.2g}, the odds of that are below {MISS:g}.)"
    )
    return Check(name="seeds", verdict=VIOLATED, says=says)


def _times(blocks: Sequence[Sequence[Seen]], rate: float, margin: float) -> Check:
    found = compare(np.array([two.seconds - one.seconds for one, two in blocks]), rate, margin)
    return Check(name="time", verdict=_verdict(found), says=_says(found, len(blocks), rate, margin), figures={
        "odds": found.odds, "difference": found.difference, "would_have_seen": found.seen, "blocks": len(blocks),
    })  # fmt: skip


def _verdict(found: Timing) -> str:
    if found.alarm:
        return VIOLATED
    return INCONCLUSIVE if found.seen is None else CONSISTENT


def _says(found: Timing, blocks: int, rate: float, margin: float) -> str:
    beyond = f" beyond {in_words(margin)}" if margin else ""
    if found.seen is None:
        return (
            f"{blocks} questions to each side can never show a difference at a false-alarm rate of {rate:g}: ask more"
        )
    told = f"a difference of {in_words(found.seen)} would have been seen with a probability of about {POWER:g}"
    if found.alarm:
        later = "second" if found.difference > 0 else "first"
        return (
            f"the {later} data set takes longer, by {in_words(abs(found.difference))} in the median{beyond}; odds of "
            f"at most {found.odds:.1e} if time did not depend on the data"
        )
    return f"no difference{beyond} shows in {blocks} questions to each side (false-alarm rate {rate:g}); {told}"

"""Grey box: a program run again on a neighbor, with everything that was noisy frozen.

Say a program touches its data only to make values, hands each value to a noise mechanism, and goes on with what it got
back. The usual proof that it is private then has four steps, and each can be looked at in one pair of runs:

1. Given what the mechanisms returned so far, the next request does not depend on the data: the same mechanism, the
   same scale, the same declared sensitivity, the same shape. Otherwise control flow or scale leaks.
2. The two values of each request, on neighbors and with the same history, are no further apart than was declared.
3. The final output is a function of what was returned and of nothing else.
4. What the requests cost adds up to no more than the claim (adaptive composition).

So `replay` runs the program on one data set and keeps what each request returned; on the other it hands out the same
again, whatever the value is now, and compares. Steps 1 to 3 must hold for every history that can come up, not only for
likely ones, so histories without noise and with ten times the noise are tried as well. No statistics are involved: a
difference that was seen is there, and its size is exact. A wrong sensitivity, a scale or a branch that depends on data,
a data-dependent number of requests and raw data in the output are each found by one pair that shows them.

What it cannot see: noise that is drawn elsewhere (it is noticed that there is some, if the output changes on the same
data), a sampler whose law is not what it says, histories that never came up, and pairs that were not tried. Step 4 is
a bound, not the truth: noisy values that never get out cost nothing. A sum above the claim therefore breaks the claim
only where all noisy values are in the output and the bound is attained; otherwise it is inconclusive.
"""

from __future__ import annotations

import copy
import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from privet.audits.claims import Claim
from privet.audits.costs import together
from privet.audits.domains import DataPair, Domain, Pairs
from privet.audits.likeness import leaves, same
from privet.audits.recorder import L2, PURE, Exact, Recorder, Request
from privet.audits.verdict import CONSISTENT, INCONCLUSIVE, VIOLATED, Check, Checks
from privet.core.rational import rational, show, whole
from privet.errors import InvalidInputError

WIDTHS = (0.0, 1.0, 10.0, 1.0)  # of the noise, run after run
ROUNDING = 1e-9  # by which prices may be off: programs compute them in floats
NAMES = {
    "requests": "the same requests",
    "noise": "the same noise",
    "distance": "distances",
    "output": "the output",
}
NOT_TESTED = (
    "noise that the program draws elsewhere, and whether its own samplers have the law that they claim",
    "pairs of data sets, and histories of noise, that did not come up",
)


class _ApartError(BaseException):
    """The two runs went different ways. Not an Exception, so that no program takes it for its own."""


class _Replayed(Recorder):
    """Hands out what another run got."""

    def __init__(self, first: Recorder) -> None:
        super().__init__()
        self._record = first
        self.apart = False

    def _given(self, request: Request, draw: Callable[[], Any]) -> Any:  # noqa: ARG002  nothing is drawn again
        place = len(self.requests)
        self.requests.append(request)
        before = self._record.requests[place : place + 1]
        self.apart = self.apart or not before or _form(before[0]) != _form(request)
        if self.apart:
            raise _ApartError
        return copy.deepcopy(self._record.outputs[place])


def _form(request: Request) -> tuple[str, tuple[int, ...]]:
    return request.kind, request.shape


@dataclass(frozen=True, slots=True)
class _End:
    """How a run ended."""

    output: Any = None
    error: tuple[str, str] | None = None

    def __str__(self) -> str:
        return show(self.output) if self.error is None else f"{self.error[0]}: {self.error[1]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    """Two runs with one history: what was asked, how far values were apart, and what it costs."""

    width: float
    requests: Sequence[Request]
    distances: Sequence[Exact]
    released: bool  # is every noisy value in the output?

    def cost(self, claim: Claim, *, declared: bool) -> float:
        far = [request.declared for request in self.requests] if declared else self.distances
        return together([request.cost(one) for request, one in zip(self.requests, far, strict=True)], claim)


@dataclass(slots=True)
class _Found:
    """The first violation of each kind, and what was tried."""

    tolerance: Fraction
    first: dict[str, str] = field(default_factory=dict)
    unseen: str = ""  # randomness that the recorder did not give
    rounded: str = ""
    runs: list[list[_Run]] = field(default_factory=list)  # for each pair
    ends: list[_End] = field(default_factory=list)
    asked: set[int] = field(default_factory=set)

    def note(self, name: str, words: str) -> None:
        self.first.setdefault(name, words)


def replay(  # noqa: PLR0913  what is looked at, and how much of it
    program: Callable[[Any, Recorder], Any],
    claim: Claim,
    neighbors: Any,
    *,
    pairs: int = 50,
    runs: int = 8,
    tolerance: object = 1e-9,
) -> Checks:
    """Does `program(data, recorder)`, which takes all its noise from the recorder, keep its claim on these neighbors?

    `neighbors` is a pair, a list of pairs, or a domain of which so many `pairs` are tried, each with `runs` histories
    of noise. Distances are exact; one that is above the declared sensitivity by a share of up to `tolerance` is put
    down to the rounding of floats and only mentioned. See the head of this module for what it shows and what it cannot.
    """
    _check(program, claim)
    found = _Found(tolerance=rational(tolerance, "tolerance"))
    times = whole(runs, "runs", 1)
    for first, second in itertools.islice(pairs_of(neighbors), whole(pairs, "pairs", 1)):
        found.runs.append([])
        for number in range(times):
            both = (first, second) if number // len(WIDTHS) % 2 == 0 else (second, first)
            _compare(program, both, WIDTHS[number % len(WIDTHS)], found)
    if found.ends and all(end.error is not None for end in found.ends):
        raise InvalidInputError(
            f"the program raises on every data set: {found.ends[0]}",
            "call it once by hand, program(data, Recorder())",
            "code-fails",
        )
    return Checks(
        subject=f"replay of {getattr(program, '__name__', 'a program')} against the claim of {claim}",
        checks=(*(_check_of(name, found) for name in NAMES), _price(found, claim)),
        not_tested=NOT_TESTED,
    )


def pairs_of(neighbors: Any) -> Iterator[DataPair]:
    """A list of tuples has several pairs; a domain gives its own, without end."""
    several = isinstance(neighbors, list) and all(isinstance(pair, tuple) for pair in neighbors)
    domain = neighbors if isinstance(neighbors, Domain) else Pairs(neighbors if several else [neighbors])
    return domain.pairs(np.random.default_rng())


def _check(program: object, claim: object) -> None:
    if not isinstance(claim, Claim):
        raise InvalidInputError(
            f"claim must be a Claim, not {show(claim)}", "write pv.audits.Claim(epsilon=1)", "wrong-type"
        )
    if not callable(program):
        raise InvalidInputError(
            f"the program must be callable, not {show(program)}",
            "give a function program(data, recorder)",
            "not-callable",
        )


def _compare(program: Callable[[Any, Recorder], Any], both: tuple[Any, Any], width: float, found: _Found) -> None:
    """One history: recorded on the first data set, replayed there, to see that it repeats, and on the other."""
    record = Recorder(width=width)
    first = _run(program, both[0], record)
    found.asked.add(len(record.requests))
    found.ends.append(first)
    again = _Replayed(record)
    repeated = _run(program, both[0], again)
    if _differ(record, again) or not _alike(first, repeated):
        found.unseen = f"on the same data and with the same noise it gave {first} and then {repeated}"
    replayed = _Replayed(record)
    second = _run(program, both[1], replayed)
    found.ends.append(second)
    words = _differ(record, replayed)
    if words:
        found.note("requests", words + ("" if second.error is None else f" ({second})"))
        return
    distances = [_settle(n, *two, found) for n, two in enumerate(zip(record.requests, replayed.requests, strict=True))]
    if not _alike(first, second):
        found.note("output", f"with the same noise it gives {first} on one data set and {second} on the other")
    released = first.error is None and not Counter(_all(record.outputs)) - Counter(_all(first.output))
    found.runs[-1].append(_Run(width=width, requests=record.requests, distances=distances, released=released))


def _all(outputs: Any) -> list[str]:
    return [repr(leaf) for leaf in leaves(outputs)]


def _run(program: Callable[[Any, Recorder], Any], data: Any, recorder: Recorder) -> _End:
    try:
        return _End(program(data, recorder))
    except Exception as error:  # an error is an output, too
        return _End(error=(type(error).__name__, str(error)))
    except _ApartError:
        return _End(error=("stopped", "it went another way"))


def _alike(one: _End, two: _End) -> bool:
    return one.error == two.error and same(one.output, two.output)


def _differ(record: Recorder, replayed: Recorder) -> str:
    """Where the second sequence of requests leaves the first, in words; empty if it does not."""
    for number, (one, two) in enumerate(zip(record.requests, replayed.requests, strict=False), start=1):
        if _form(one) != _form(two):
            return f"request {number} is {_described(one)} on one data set and {_described(two)} on the other"
    one_size, two_size = len(record.requests), len(replayed.requests)
    if one_size == two_size:
        return ""
    longer = record.requests if one_size > two_size else replayed.requests
    number = min(one_size, two_size) + 1
    return f"request {number} ({longer[number - 1]}) is made on one data set only"


def _described(request: Request) -> str:
    size = "one number" if not request.shape else f"{' x '.join(map(str, request.shape))} numbers"
    return f"{request.kind} for {size} ({request.place})"


def _settle(place: int, one: Request, two: Request, found: _Found) -> Exact:
    """Compare one request on two data sets; gives how far apart its values are."""
    name = f"request {place + 1} ({one})"
    terms, others = _terms(one), _terms(two)
    if terms != others:
        changed = next(key for key in {**terms, **others} if terms.get(key) != others.get(key))
        words = (
            f"{changed} is {_term(terms.get(changed))} on one data set and {_term(others.get(changed))} on the other"
        )
        found.note("noise", f"{name}: {words}")
    distance = one.distance(two)
    least = min(one.declared, two.declared)
    if distance > least:
        words = f"{name}: {_moved(one, two, distance)}; declared {_number(min(one.sensitivity, two.sensitivity))}"
        if distance <= least * (1 + found.tolerance) ** (2 if one.norm == L2 else 1):
            found.rounded = found.rounded or words
        else:
            found.note("distance", words)
    if one.settings.get("monotone") and len({b > a for a, b in zip(one.value, two.value, strict=True) if a != b}) > 1:
        found.note("distance", f"{name}: some scores rise and some fall; declared monotone")
    return distance


def _terms(request: Request) -> dict[str, Any]:
    return {"sensitivity": request.sensitivity, "norm": request.norm, **request.settings}


def _term(value: Any) -> str:
    return str(value) if isinstance(value, str | None) else _number(value)


def _moved(one: Request, two: Request, distance: Exact) -> str:
    if not one.shape:
        return f"values {_number(one.value[0])} and {_number(two.value[0])} differ by {_length(one, distance)}"
    place = next(n for n, (a, b) in enumerate(zip(one.value, two.value, strict=True)) if a != b)
    return (
        f"two vectors of {len(one.value)} are {_length(one, distance)} apart ({one.norm}), the first difference is "
        f"{_number(one.value[place])} and {_number(two.value[place])} at {place}"
    )


def _length(request: Request, distance: Exact) -> str:
    return _number(math.sqrt(distance) if request.norm == L2 and distance != math.inf else distance)


def _number(number: Exact) -> str:
    exact = isinstance(number, Fraction) and number.denominator == 1
    return show(int(number)) if exact else repr(float(number))


def _check_of(name: str, found: _Found) -> Check:
    tried = f"{sum(map(len, found.runs))} histories on {len(found.runs)} pairs"
    if name in found.first:
        verdict = VIOLATED if name == "distance" or not found.unseen else INCONCLUSIVE
        return Check(name=NAMES[name], verdict=verdict, says=found.first[name] + _also(name, found))
    if name in ("requests", "output") and found.unseen:
        return Check(name=NAMES[name], verdict=INCONCLUSIVE, says=found.unseen + _elsewhere())
    says = {
        "requests": f"{_span(found.asked)} requests a run, the same on both data sets ({tried})",
        "noise": f"scales and declared sensitivities do not depend on the data ({tried})",
        "distance": f"no value moved further than was declared ({tried})",
        "output": f"the same on both data sets, once the noise is frozen ({tried})",
    }[name]
    more = f"; by the rounding of floats: {found.rounded}" if name == "distance" and found.rounded else ""
    return Check(name=NAMES[name], verdict=CONSISTENT, says=says + more)


def _also(name: str, found: _Found) -> str:
    return f"; but {found.unseen}{_elsewhere()}" if found.unseen and name != "distance" else ""


def _elsewhere() -> str:
    return ": there is chance in it that does not come from the recorder, or outputs that cannot be compared"


def _span(sizes: set[int]) -> str:
    return str(min(sizes)) if len(sizes) == 1 else f"{min(sizes)} to {max(sizes)}"


def _price(found: _Found, claim: Claim) -> Check:
    """Step 4. What is declared must be paid for; or else what has moved, on each pair that was tried."""
    runs = [(one, runs) for runs in found.runs for one in runs]
    declared = max((one.cost(claim, declared=True) for one, _ in runs), default=0.0)
    moved = max((one.cost(claim, declared=False) for one, _ in runs), default=0.0)
    most = float(claim.value) * (1 + ROUNDING)
    name, figures = claim.parameter, {"declared": _figure(declared), "moved": _figure(moved)}
    claimed = f"the claim is {float(claim.value):g}"
    if not runs:
        verdict, says = INCONCLUSIVE, "no history was the same on both data sets, so nothing can be added up"
    elif declared <= most:
        verdict, says = CONSISTENT, f"all requests together cost {name} {declared:.6g}; {claimed}"
    elif moved <= most:
        verdict = CONSISTENT
        says = (
            f"what is declared adds up to {name} {declared:.6g}, but one person never moved more than {moved:.6g} of "
            f"it; {claimed}. Enough, if nobody can move more"
        )
    elif any(one.cost(claim, declared=False) > most and _attained(one, others, claim) for one, others in runs):
        verdict = VIOLATED
        says = f"all requests together cost {name} {moved:.6g}, and the output has every noisy value; {claimed}"
    else:
        verdict = INCONCLUSIVE
        says = (
            f"all requests together cost {name} {moved:.6g} as far as is known; {claimed}. Noise whose result does not "
            "get out may cost less: ask for it in one request, by choose, first_above or noisy"
        )
    return Check(name="price", verdict=verdict, says=says, figures=figures)


def _figure(cost: float) -> float | None:
    """JSON has no infinity."""
    return cost if math.isfinite(cost) else None


def _attained(run: _Run, others: Sequence[_Run], claim: Claim) -> bool:
    """Is the cost of what has moved the truth, and not only a bound?

    Where all noisy values get out, their joint density is known. Of Laplace noise, at the history without noise, its
    logarithm is the sum of distance / scale apart: that contradicts a smaller pure epsilon. Gaussian noise on values
    that are always equally far apart is one Gaussian mechanism, and its curve is exact.
    """
    if not all(one.released for one in others) or not any(one.width for one in others):
        return False  # without noise a number may be in the output by chance
    kinds = {request.kind for request, far in zip(run.requests, run.distances, strict=True) if far}
    if claim.parameter == "epsilon" and not claim.delta and kinds <= {*PURE}:
        return run.width == 0
    return kinds == {"gaussian"} and all(one.distances == run.distances for one in others)

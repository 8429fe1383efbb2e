"""Attackers who may only ask how many people meet a condition over attributes that anybody can see.

    found = attack_answers(count, "public.csv", secret="ill = 1", attributes=["id", "ward"], truth=secrets)

Random subsets are made of conditions: half of the values of each attribute, drawn anew for each question, and of all
attributes the exclusive or, so that two people who differ anywhere are in the same subset half of the time. A number
with many values, such as an id, is hashed by a polynomial modulo a prime: of degree two, so that any three people fall
into it independently (Carter and Wegman 1981). People who agree in everything are one class: how many of them have the
secret is all that the answers reveal, and all of them are guessed alike.

`answer` is any function from a condition to a number, such as one that asks a live vault. It is asked until the guesses
are sure enough, until `queries` were asked, or until it refuses with an error of `privet.errors`: what was answered up
to then is used.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from privet.attacks.finding import Findings
from privet.attacks.promise import Privacy
from privet.attacks.subsets.decoders.problem import Decoded, Errors
from privet.attacks.subsets.predicates_mean import UNKNOWN, Looked, fitting, judged, posterior_mean
from privet.attacks.subsets.subset_sums import Guesses, check_errors, secrets_of, variance_of
from privet.core.rational import show
from privet.errors import InvalidInputError, PrivetError
from privet.records.microdata import Microdata, column, read
from privet.typing import Floats, Integers, Truths

PRIMES = (32_749, 2_147_483_647)  # a prime times a number below it stays below 2^31, and 2^63
FEW_VALUES = 16  # of a whole number: these are listed, more are hashed
ROUNDS = (1.25, 2.0, 3.0, 4.0)  # questions for each class, after which it is decided whether to go on
MANY = 1000  # classes: up to here answers are taken apart, at the cost of the cube of their number
ENOUGH = 0.995  # right, as far as the decoder can tell
WHOLE = re.compile(r"[+-]?\d{1,18}")
NUMBER = re.compile(r"[+-]?\d{1,18}(\.\d{1,18})?")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Attribute:
    """`codes` of people, and the text in SQL of each code; None is a missing value. `numbers`: to be hashed."""

    name: str
    codes: Integers
    texts: tuple[str | None, ...]
    numbers: Integers | None = None

    def half(self, draw: np.random.Generator) -> tuple[str, Truths]:
        """A condition that half of the values meet, and who of the people does; never unknown."""
        if self.numbers is not None:
            return self._hashed(draw)
        chosen = draw.random(len(self.texts)) < 0.5
        listed = [text for text, there in zip(self.texts, chosen, strict=True) if there and text is not None]
        inside = f"{self.name} IN ({', '.join(listed)})" if listed else ""
        if None in self.texts:
            missing = bool(chosen[self.texts.index(None)])
            one = f"{self.name} IS NULL" if missing else f"{self.name} IS NOT NULL"
            inside = f"{one} {'OR' if missing else 'AND'} {inside}" if inside else one if missing else ""
        return inside, chosen[self.codes]

    def _hashed(self, draw: np.random.Generator) -> tuple[str, Truths]:
        assert self.numbers is not None  # noqa: S101
        low = int(self.numbers.min())
        prime = next(one for one in PRIMES if one > int(self.numbers.max()) - low)
        a, b, c = map(int, draw.integers(0, prime, 3))
        name = self.name if prime == PRIMES[0] else f"CAST({self.name} AS BIGINT)"  # or an engine of 32 bits overflows
        shifted = name if low == 0 else f"({name} - {low})" if low > 0 else f"({name} + {-low})"
        text = f"(({a} * {shifted} + {b}) % {prime} * {shifted} + {c}) % {prime} % 2 = 0"
        return text, polynomial(self.numbers - low, (a, b, c), prime) % 2 == 0


def polynomial(x: Integers, weights: tuple[int, int, int], prime: int) -> Integers:
    """Of degree two, modulo a prime: for three different x below it, every three values are equally likely."""
    a, b, c = weights
    return np.asarray(((a * x + b) % prime * x + c) % prime)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Public:
    """What anybody can see of people: `classes` says which of them look alike, `top` how many each has."""

    attributes: tuple[Attribute, ...]
    names: tuple[str, ...]
    classes: Integers
    top: Integers

    def predicate(self, draw: np.random.Generator) -> tuple[str, Truths]:
        """A random subset as a condition, and the classes that are in it. Never nobody."""
        while True:
            halves = [one.half(draw) for one in self.attributes]
            texts = [text for text, _ in halves if text]
            inside = np.logical_xor.reduce([there for _, there in halves])
            members = np.zeros(len(self.top), np.bool_)
            members[self.classes] = inside
            if members.any():
                return _exclusive(texts), members


def _exclusive(texts: Sequence[str]) -> str:
    """True if an odd number of them is."""
    text = f"({texts[0]})"
    for more in texts[1:]:
        text = f"({text} <> ({more}))"
    return text


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PredicateQueries:
    """What was asked, what came of it, and why no more was asked."""

    public: Public
    questions: int
    examples: tuple[str, ...]
    decoded: Decoded
    stated: Errors | None
    rate: float
    ended: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PredicateResult:
    """Beside the answers."""

    secret: str
    truth: Guesses | None
    privacy: Privacy | None
    subject: str


def attack_answers(  # noqa: PLR0913  who is asked, about whom, what is promised, and the truth, each by its name
    answer: Callable[[str], float],
    people: object,
    *,
    secret: str,
    attributes: Sequence[str] | None = None,
    texts: Sequence[str] = (),
    queries: int | None = None,
    errors: Errors | Callable[[], Errors] | None = None,
    rate: float | None = None,
    privacy: Privacy | None = None,
    truth: object = None,
    names: str | None = None,
    subject: str = "an answering function",
    seed: int = 1,
    progress: Callable[[str, int, int], object] | None = None,
) -> Findings:
    """`people` is a table with a row for everybody in the data: records, a data frame or a file. `secret` is the
    condition to find out, such as "ill = 1"; `attributes` are the columns that may be asked about (all), of which
    `texts` are no numbers although they look like some. At most `queries` are asked (four for each class of people).
    `errors`: of the answers, or a function that says so after the first answer. `privacy` is what is promised for all
    answers together; `names` a column with everybody's name, for findings and truth (the first one that is different
    for everybody)."""
    from privet.attacks.subsets.predicates_findings import findings_of  # noqa: PLC0415  it knows this file

    start = time.perf_counter()
    public = public_of(people, attributes, texts, names)
    known = secrets_of(truth, public.names, "truth")
    most = round(ROUNDS[-1] * len(public.top)) + 1 if queries is None else queries
    if most < 1:
        raise InvalidInputError(
            f"the number of questions must be at least 1, not {most}", "ask at least one", "not-positive"
        )
    if rate is not None and not 0 < rate < 1:
        raise InvalidInputError(
            f"a rate of {rate:g} leaves nothing to guess", "give a share between 0 and 1", "out-of-range"
        )
    asked = _Asker(answer, secret, public, progress or (lambda *_: None)).run(most, seed, errors, rate)
    told = PredicateResult(secret=secret, truth=known, privacy=privacy, subject=subject)
    return findings_of(asked, told, time.perf_counter() - start)


class _Asker:
    """Collects answers, and decodes what it has."""

    def __init__(
        self, answer: Callable[[str], float], secret: str, public: Public, progress: Callable[[str, int, int], object]
    ) -> None:
        self._answer, self._secret, self._public, self._tell = answer, secret, public, progress
        self._rows: list[Truths] = []
        self._numbers: list[float] = []
        self._examples: list[str] = []

    def run(
        self, most: int, seed: int, errors: Errors | Callable[[], Errors] | None, rate: float | None
    ) -> PredicateQueries:
        """In rounds; after each it is decided whether to go on."""
        draw = np.random.default_rng(seed)
        ends = sorted({min(round(many * len(self._public.top)) + 1, most) for many in ROUNDS} | {most})
        for end in ends:
            refusal = self._ask(end, most, draw)
            stated = errors() if callable(errors) else errors
            found = self._decode(stated, rate)
            if refusal is not None:
                ended = f"after {len(self._rows):,} answers no more were given: {refusal.problem}"
                break
            if end < most and sure_of(found, self._public) >= ENOUGH:
                ended = f"after {len(self._rows):,} answers the guesses were sure enough"
                break
            ended = f"{most:,} questions were asked, as many as were allowed"
        return PredicateQueries(
            public=self._public,
            questions=len(self._rows),
            examples=tuple(self._examples),
            decoded=found,
            stated=stated,
            rate=self._rate(rate, found.errors),
            ended=ended,
        )

    def _ask(self, end: int, most: int, draw: np.random.Generator) -> PrivetError | None:
        """Until there are this many answers. A refusal of the very first question is passed on: nothing was learned."""
        while len(self._rows) < end:
            self._tell("asking", len(self._rows), most)
            text, members = self._public.predicate(draw)
            question = f"{text} AND ({self._secret})"
            try:
                self._numbers.append(_checked(self._answer(question)))
            except PrivetError as refusal:
                if not self._rows:
                    raise
                return refusal
            self._rows.append(members)
            self._examples = self._examples or [question]
        return None

    def _decode(self, errors: Errors | None, rate: float | None) -> Decoded:
        check_errors(errors)
        members, answers, top = np.array(self._rows, np.uint8), np.array(self._numbers), self._public.top
        if errors is None and not answers.any():
            errors = UNKNOWN  # nothing can be read off these
        share = self._rate(rate, errors)
        if len(top) > MANY and len(members) >= len(top):  # message passing measures how large errors are
            found = self._fitted(errors, share)
            if found.right is not None:
                return found
        looked = Looked.of(members, answers, share, top)
        fitted = fitting(looked, errors)
        if fitted != errors:  # strangers in the data make all answers too large, and with them the rate
            share = 0.5 if rate is None else rate
            looked = Looked.of(members, answers, share, top, shared=True)
            fitted = fitting(looked, errors)
        linear = posterior_mean(looked, fitted)
        return linear if len(members) < len(top) else judged(self._fitted(fitted, share), linear, top)

    def _fitted(self, errors: Errors | None, rate: float) -> Decoded:
        from privet.attacks.subsets.decoders.choice import decode  # noqa: PLC0415  brings numba
        from privet.attacks.subsets.decoders.packed import Packed  # noqa: PLC0415

        top = self._public.top
        each = None if (top == 1).all() else top
        members = Packed.of(np.array(self._rows, np.uint8))
        return decode(members, np.array(self._numbers), errors, rate=rate, top=each)

    def _rate(self, rate: float | None, errors: Errors | None) -> float:
        """As given, or by all answers together. Where they are noisy it stays near the middle, as the linear estimate
        of least mean square error does if every rate is as likely (variance 1/12); never too near to 0 or 1."""
        if rate is not None:
            return rate
        asked = float((np.array(self._rows, np.uint8) @ self._public.top).sum())
        noise = 0.0 if errors is None else len(self._rows) * variance_of(errors) / asked**2
        seen = 0.5 + (sum(self._numbers) / asked - 0.5) / (1 + 12 * noise)
        return float(np.clip(seen, 0.01, 0.99))


def _checked(number: object) -> float:
    try:
        found = float(number)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        found = np.nan
    if not np.isfinite(found):
        raise InvalidInputError(
            f"an answer is {show(number)}, which is no number", "answer with a number", "not-a-number"
        )
    return found


def sure_of(found: Decoded, public: Public) -> float:
    """How many of the classes' counts are right, as far as the decoder can tell."""
    assert found.right is not None  # noqa: S101  see _decode
    return float(np.average(found.right, weights=public.top))


# What anybody can see


def public_of(
    people: object, attributes: Sequence[str] | None, texts: Sequence[str] = (), names: str | None = None
) -> Public:
    data = _read(people)
    chosen = list(data.columns) if attributes is None else list(dict.fromkeys(attributes))
    if not chosen or not len(data):
        raise InvalidInputError(
            "there is nobody, or nothing that anybody can see", "give a table with one row per person", "empty"
        )
    found = tuple(_attribute(name, data, plain=name in texts) for name in chosen)
    codes = np.array([one.codes for one in found]).T
    _, classes, top = np.unique(codes, axis=0, return_inverse=True, return_counts=True)
    if len(top) < 2:
        raise InvalidInputError(
            f"all {len(data):,} people agree in {', '.join(chosen)}",
            "name an attribute in which they differ",
            "no-variation",
        )
    return Public(attributes=found, names=_names(data, names), classes=classes.reshape(-1), top=top.astype(np.int64))


def _read(people: object) -> Microdata:
    if isinstance(people, Sequence) and not isinstance(people, str):
        records = [dict(one) if isinstance(one, Mapping) else {} for one in people]
        header = list(records[0]) if records else []
        if not header or any(list(one) != header for one in records):
            raise InvalidInputError(
                "people are not records with the same attributes",
                "for example [{'id': 1, 'ward': 'north'}]",
                "wrong-shape",
            )
        listed = {name: column(name, [_text(one[name]) for one in records]) for name in header}
        return Microdata(listed, len(records))
    return read(people)


def _text(value: Any) -> str | None:
    return None if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _attribute(name: str, data: Microdata, *, plain: bool) -> Attribute:
    held = data[name]
    quoted = '"' + name.replace('"', '""') + '"'
    texts = [text for text in held.texts if text is not None]
    codes = held.codes.astype(np.int64)
    if not plain and {text.lower() for text in texts} <= {"true", "false"}:
        spelled: tuple[str | None, ...] = tuple(None if text is None else text.upper() for text in held.texts)
        return Attribute(name=quoted, codes=codes, texts=spelled)
    if not plain and texts and all(NUMBER.fullmatch(text) for text in texts):
        codes, spelled = _merged(codes, held.texts)
        values = [int(text) for text in spelled if text is not None and WHOLE.fullmatch(text)]
        hashed = len(values) == len(spelled) > FEW_VALUES and max(values) - min(values) < PRIMES[-1]
        numbers = np.array(values, np.int64)[codes] if hashed else None
        return Attribute(name=quoted, codes=codes, texts=spelled, numbers=numbers)
    literals = tuple(None if text is None else "'" + text.replace("'", "''") + "'" for text in held.texts)
    return Attribute(name=quoted, codes=codes, texts=literals)


def _merged(codes: Integers, texts: Sequence[str | None]) -> tuple[Integers, tuple[str | None, ...]]:
    """Numbers that are spelled in two ways, such as 1.5 and 1.50, are one: no condition tells them apart."""
    first: dict[Fraction | None, str | None] = {}
    for text in texts:
        first.setdefault(None if text is None else Fraction(text), text)
    places = {number: place for place, number in enumerate(first)}
    new = np.array([places[None if text is None else Fraction(text)] for text in texts], np.int64)
    return new[codes], tuple(first.values())


def _names(data: Microdata, wanted: str | None) -> tuple[str, ...]:
    """Of the column that was asked for, or of the first that is different for everybody, or numbers."""
    unlike = [one for one in data if len(one.texts) == len(data) and None not in one.texts]
    if wanted is not None:
        if data[wanted] not in unlike:
            raise InvalidInputError(
                f"column {show(wanted)} is not a name for everybody", "name one without repeats", "not-unique"
            )
        unlike = [data[wanted]]
    if not unlike:
        return tuple(f"person {number}" for number in range(1, len(data) + 1))
    return tuple(str(text) for text in unlike[0].listed())


def people_guessed(asked: PredicateQueries) -> tuple[Guesses, Floats, Floats]:
    """For everybody the guess, how sure it is, and the chance of a 1: in a class of s people of whom k are expected to
    have it, k/s."""
    public, found = asked.public, asked.decoded
    chance = np.clip(found.values / public.top, 0, 1)
    guesses = (2 * found.bits.astype(np.int64) > public.top).astype(np.int8)
    sure = np.where(guesses == 1, chance, 1 - chance)
    if found.right is not None:
        sure = np.where(public.top == 1, found.right, sure)
    return guesses[public.classes], sure[public.classes], chance[public.classes]

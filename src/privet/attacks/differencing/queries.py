"""Questions about known people and the answers that somebody gave: what the differencing attack reads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor
from typing import Any, Literal

from privet.attacks.promise import Privacy
from privet.attacks.release.published import COUNT, Scale, between
from privet.attacks.release.statistics import Between
from privet.catalog.declarations import check_name
from privet.core.rational import positive, rational, show, whole
from privet.errors import InvalidInputError

LARGEST = 2**53  # of any sum in steps: solvers count in doubles
Measure = Literal["count", "sum", "mean"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Secret:
    """What nobody but the person should know: a yes or no, or a number from low to high in steps.

    `rate` is how many in a hundred have it as far as anybody knows, as a share; None: taken from the answers.
    """

    name: str = "the condition"
    low: Fraction = Fraction(0)
    high: Fraction = Fraction(1)
    step: Fraction = Fraction(1)
    boolean: bool = True
    rate: Fraction | None = None

    @property
    def top(self) -> int:
        """How many steps from low to high."""
        return int((self.high - self.low) / self.step)

    def value(self, steps: int) -> Fraction:
        return self.low + steps * self.step


@dataclass(frozen=True, slots=True)
class Noise:
    """Independent of everything else: normal with a standard deviation, or Laplace with a scale."""

    law: Literal["normal", "laplace"]
    scale: Fraction


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedQuery:
    """A number published about the members: how many have the secret, or the sum or mean of it. With noise, `value` is
    the noisy number."""

    name: str
    members: tuple[str, ...]
    measure: Measure
    value: Between
    noise: Noise | None = None
    known: bool = False  # not published: the attacker knows it anyway, such as of own accounts


@dataclass(frozen=True, slots=True, kw_only=True)
class Queries:
    """`people` are names with how many people each stands for: 1 is a person, more a group that is only counted."""

    people: Mapping[str, int]
    secret: Secret
    queries: tuple[PublishedQuery, ...]
    privacy: Privacy | None = None
    subject: str = "queries"

    def __post_init__(self) -> None:
        if not self.people:
            raise InvalidInputError("there are no people", "name people, or groups of people with their size", "empty")
        if not self.queries:
            raise InvalidInputError("there are no queries", "add at least one query with its published answer", "empty")
        if sum(self.people.values()) * self.secret.top > LARGEST:
            raise InvalidInputError(f"{self.secret.name} has too many steps", "use a coarser step", "too-many")
        seen = set[str]()
        for query in self.queries:
            _check(query, self)
            if query.name in seen:
                raise InvalidInputError(
                    f"two queries have the name {show(query.name)}", "give each a name of its own", "duplicate-name"
                )
            seen.add(query.name)

    def size(self, query: PublishedQuery) -> int:
        return sum(self.people[name] for name in query.members)

    def steps(self, query: PublishedQuery) -> Between:
        """What the answer says about the sum of the members' steps above low, in whole numbers."""
        size = self.size(query)
        factor = size if query.measure == "mean" else 1

        def steps(bound: Fraction | None) -> Fraction | None:
            return None if bound is None else (bound * factor - size * self.secret.low) / self.secret.step

        low, high = steps(query.value.low), steps(query.value.high)
        return Between(None if low is None else Fraction(ceil(low)), None if high is None else Fraction(floor(high)))


def _check(query: PublishedQuery, queries: Queries) -> None:
    place = f"query {show(query.name)}"
    for name in query.members:
        if name not in queries.people:
            raise InvalidInputError(
                f"{place} names {show(name)}, who is not among the people", "correct the name", "unknown-person"
            )
    if len(set(query.members)) < len(query.members):
        raise InvalidInputError(f"{place} names somebody twice", "name everybody once", "duplicate-name")
    size = queries.size(query)
    if query.measure == "mean" and not size:
        raise InvalidInputError(f"{place} is a mean of nobody", "leave it out, or correct its condition", "empty")
    if query.measure == "count" and not queries.secret.boolean:
        raise InvalidInputError(
            f"{place} counts, but {queries.secret.name} is a number", "write sum or mean", "type-mismatch"
        )
    if query.noise is not None:
        return
    if queries.privacy is not None:
        raise InvalidInputError(
            f"{place} has no noise, so the answers do not keep epsilon {show(queries.privacy.epsilon)}",
            "write its noise, or leave privacy out",
            "contradiction",
        )
    steps, most = queries.steps(query), size * queries.secret.top
    if steps.low is not None and steps.low > most:
        what = f"{size:,} {'person' if size == 1 else 'people'}"
        raise InvalidInputError(
            f"{place}: its answer is more than its {what} can have", "correct the answer", "out-of-range"
        )
    if steps.high is not None and steps.high < 0:
        raise InvalidInputError(
            f"{place}: its answer is less than its people can have", "correct the answer", "out-of-range"
        )
    if steps.low is not None and steps.high is not None and steps.low > steps.high:
        raise InvalidInputError(
            f"{place}: no values of {queries.secret.name} have this {query.measure}",
            "check the number, its decimals and the step",
            "contradiction",
        )


# Two releases


def answered(measure: Measure, given: Any, secret: Secret) -> Between:
    """What a published number says, by the rules of docs/releases.md."""
    entry = given if isinstance(given, Mapping) else {"value": given}
    if measure == "count":
        return between(entry, COUNT)
    whole_steps = measure == "sum" and (secret.low / secret.step).denominator == 1
    return between(entry, Scale(grid=secret.step if whole_steps else None))


def two_releases(
    before: tuple[int, int],
    after: tuple[int, int],
    *,
    joined: str | Iterable[str],
    left: str | Iterable[str] = (),
    secret: str = "the condition",  # noqa: S107
) -> Queries:
    """How many have it of how many people, at two times, and who came and went: `before=(4, 2436)`."""
    return _two(
        [("before", "count", *before), ("after", "count", *after)], (_names(joined), _names(left)), Secret(name=secret)
    )


def two_means(
    before: tuple[Any, int], after: tuple[Any, int], *, joined: str | Iterable[str], secret: Secret,
    left: str | Iterable[str] = (),
) -> Queries:  # fmt: skip
    """A mean of how many people, at two times: `before=(50000, 24)`, or `({"value": 50000, "decimals": 0}, 24)`."""
    return _two([("before", "mean", *before), ("after", "mean", *after)], (_names(joined), _names(left)), secret)


def number(name: str, low: object, high: object, step: object = 1) -> Secret:
    """A secret number, such as `number("salary", 0, 500_000)`."""
    check_name(name, "a secret")
    least, most, size = rational(low, "min"), rational(high, "max"), positive(step, "step")
    if least >= most:
        raise InvalidInputError(
            f"min {show(low)} is not below max {show(high)}", "give the smaller one as min", "reversed-range"
        )
    if ((most - least) / size).denominator != 1:
        raise InvalidInputError(
            f"max {show(high)} is not whole steps above min {show(low)}", "move max or the step", "off-grid"
        )
    return Secret(name=name, low=least, high=most, step=size, boolean=False)


def _names(given: str | Iterable[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)


def _two(
    told: list[tuple[str, Measure, Any, int]], moved: tuple[tuple[str, ...], tuple[str, ...]], secret: Secret
) -> Queries:
    joined, left = moved
    sizes = [whole(size, f"the number of people {name}", 1) for name, _, _, size in told]
    stayed = sizes[0] - len(left)
    if stayed != sizes[1] - len(joined) or stayed < 0:
        raise InvalidInputError(
            f"{sizes[0]:,} people less {len(left)} who left and {len(joined)} who joined are not {sizes[1]:,}",
            "name everybody who joined or left",
            "contradiction",
        )
    people = dict.fromkeys((*joined, *left), 1)
    if len(people) < len(joined) + len(left):
        raise InvalidInputError("somebody is named twice", "name everybody once, as joined or left", "duplicate-name")
    others = (f"the {stayed:,} others",) if stayed else ()
    people |= dict.fromkeys(others, stayed)
    queries = (
        PublishedQuery(name=name, members=others + members, measure=measure, value=answered(measure, value, secret))
        for (name, measure, value, _), members in zip(told, (left, joined), strict=True)
    )
    return Queries(people=people, secret=secret, queries=tuple(queries), subject="two releases")

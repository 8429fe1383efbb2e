"""What a class of records must look like to be kept: k-anonymity, l-diversity in three forms, t-closeness.

    K(5)                              # at least 5 records
    DistinctL(2, "salary")            # at least 2 different salaries
    EntropyL(2, "salary")             # salaries as mixed as if 2 were equally frequent
    RecursiveL(3, 2, "salary")        # the most frequent salary less than 3 times all but it
    T(0.2, "salary")                  # salaries distributed almost as in the whole table

A class is all records that look the same in their quasi-identifiers. One that does not hold is suppressed as a whole.
Every decision is made in whole numbers, so that a class on the border is on the same side everywhere.

Where records may be suppressed, only K and DistinctL *prune*: a class that fails has no part that holds, so that along
specialization ever more records are suppressed. For the others this is wrong: of salaries a a a b, which are not as
mixed as two equally frequent ones, the part a b is. But each of them needs some number of different values, told by
`distinct`, and that much of them prunes.

More can be said. Classes that hold also hold together, for each model here: a union has no fewer records and values,
an entropy is concave, a distance convex, the largest count of a union at most the sum of the largest, and what is left
without the l - 1 largest at least the sum of what is left. So wherever a class is split, those of its records that are
kept are together a part of it that holds, and are no more than the largest such part: `most` is a bound on that.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from privet.core.rational import positive, rational, show, whole
from privet.errors import InvalidInputError
from privet.records.microdata import Codes, Microdata, RecordColumn
from privet.sources.relation import NUMBER_TEXT
from privet.typing import Truths

Counts = npt.NDArray[np.int64]  # a row a class, a column a sensitive value
FITS = 2**62
UNSURE = 1e-9  # of an entropy times the records: far above what floats lose
EXPONENT = 50_000  # up to which powers are compared as whole numbers


class Model(Protocol):
    """A condition on classes. `column` is the sensitive one that it looks at, if any."""

    prunes: ClassVar[bool]

    @property
    def column(self) -> str | None: ...

    def holds(self, counts: Counts, overall: Counts) -> Truths:
        """For each class whether it may be kept. `overall` are the counts of the whole table, values in order."""
        ...

    def distinct(self, overall: Counts) -> int:
        """So many different sensitive values every class has that holds."""
        ...

    def most(self, counts: Counts, overall: Counts) -> Counts:
        """For each class that does not hold, how many of its records at most are kept, however it is split."""
        ...


@dataclass(frozen=True, slots=True)
class K:
    """k-anonymity (Sweeney 2002): at least k records look the same."""

    k: int
    prunes: ClassVar[bool] = True

    def __post_init__(self) -> None:
        whole(self.k, "k", 1)

    @property
    def column(self) -> None:
        return None

    def holds(self, counts: Counts, overall: Counts) -> Truths:  # noqa: ARG002  all models are asked the same way
        found: Truths = counts.sum(axis=1) >= self.k
        return found

    def distinct(self, overall: Counts) -> int:  # noqa: ARG002
        return 1

    def most(self, counts: Counts, overall: Counts) -> Counts:  # noqa: ARG002
        return np.zeros(len(counts), dtype=np.int64)

    def __str__(self) -> str:
        return f"k={self.k}"


@dataclass(frozen=True, slots=True)
class DistinctL:
    """Distinct l-diversity (Machanavajjhala et al. 2007): at least l different sensitive values."""

    l: int  # noqa: E741  its name in the field
    column: str
    prunes: ClassVar[bool] = True

    def __post_init__(self) -> None:
        whole(self.l, "l", 1)

    def holds(self, counts: Counts, overall: Counts) -> Truths:  # noqa: ARG002
        found: Truths = (counts > 0).sum(axis=1) >= self.l
        return found

    def distinct(self, overall: Counts) -> int:  # noqa: ARG002
        return self.l

    def most(self, counts: Counts, overall: Counts) -> Counts:  # noqa: ARG002
        return np.zeros(len(counts), dtype=np.int64)

    def __str__(self) -> str:
        return f"distinct l={self.l} of {self.column}"


@dataclass(frozen=True, slots=True)
class EntropyL:
    """Entropy l-diversity: the entropy of the sensitive values is at least log l.

    With counts c of s records that is s^s >= l^s · the product of c^c. Values equally frequent have the entropy of
    their number; other classes are decided by floats, unless these are near the border, then by those powers, with what
    all counts have in common divided out (both sides are then the same root). A class so near the border that its
    powers would have millions of digits is taken to fail.
    """

    l: object  # noqa: E741
    column: str
    prunes: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if rational(self.l, "l") < 1:
            raise InvalidInputError(f"l must be at least 1, not {show(self.l)}", "give l as 1 or more", "too-small")

    @property
    def exact(self) -> Fraction:
        return rational(self.l, "l")

    def holds(self, counts: Counts, overall: Counts) -> Truths:  # noqa: ARG002
        sizes, most, kinds = counts.sum(axis=1), counts.max(axis=1), (counts > 0).sum(axis=1)
        logs = np.log(np.maximum(counts, 1))
        over = sizes * np.log(np.maximum(sizes, 1)) - (counts * logs).sum(axis=1) - sizes * math.log(self.exact)
        found: Truths = over > 0
        even = most * kinds == sizes
        found[even] = kinds[even] >= math.ceil(self.exact)
        for place in np.flatnonzero(~even & (np.abs(over) <= UNSURE * (1 + sizes))):
            found[place] = self._powers(counts[place])
        return found

    def _powers(self, counts: Counts) -> bool:
        common = int(np.gcd.reduce(counts))
        parts = [int(count) // common for count in counts if count]
        size = sum(parts)
        if size > EXPONENT:
            return False
        up, down = self.exact.as_integer_ratio()
        return bool((size * down) ** size >= up**size * math.prod(part**part for part in parts))

    def distinct(self, overall: Counts) -> int:  # noqa: ARG002
        """The entropy of m values is at most log m."""
        return math.ceil(self.exact)

    def most(self, counts: Counts, overall: Counts) -> Counts:
        """A part of s records that holds has no value with a larger share than p, see `_largest_share`. So (1 - p)·s of
        them do not have the most frequent value of the class, and there are no more of those than in the class."""
        sizes: Counts = counts.sum(axis=1)
        rest = sizes - counts.max(axis=1)
        share = self._largest_share(len(overall))
        if share >= 1:
            return sizes
        largest: Counts = np.floor(rest / (1 - share) * (1 + UNSURE)).astype(np.int64)
        return np.minimum(sizes, largest)

    def _largest_share(self, values: int) -> float:
        """Where a value has the share p, the entropy is largest if the others share the rest alike, and falls with p
        from 1 / values on. Halving finds the p at which it is log l, from above."""
        low, high, wanted = 1 / values, 1.0, math.log(self.exact)
        for _ in range(60):
            middle = (low + high) / 2
            rest = 1 - middle
            spread = -middle * math.log(middle) - (rest * math.log(rest / max(values - 1, 1)) if rest else 0)
            low, high = (middle, high) if spread >= wanted else (low, middle)
        return min(1.0, high + UNSURE)

    def __str__(self) -> str:
        return f"entropy l={self.l} of {self.column}"


@dataclass(frozen=True, slots=True)
class RecursiveL:
    """Recursive (c, l)-diversity: the most frequent value is less frequent than c times all from the l-th on."""

    c: object
    l: int  # noqa: E741
    column: str
    prunes: ClassVar[bool] = False

    def __post_init__(self) -> None:
        positive(self.c, "c")
        whole(self.l, "l", 1)

    def holds(self, counts: Counts, overall: Counts) -> Truths:  # noqa: ARG002
        up, down = rational(self.c, "c").as_integer_ratio()
        if counts.shape[1] < self.l:
            return np.zeros(len(counts), dtype=np.bool_)
        falling = -np.sort(-counts, axis=1)
        rest = falling[:, self.l - 1 :].sum(axis=1)
        first = falling[:, 0]
        if int(counts.sum(axis=1).max(initial=0)) * max(up, down) >= FITS:
            first, rest = first.astype(object), rest.astype(object)
        return np.asarray(first * down < rest * up, dtype=np.bool_)

    def distinct(self, overall: Counts) -> int:  # noqa: ARG002
        """With fewer than l values nothing is left from the l-th on."""
        return self.l

    def most(self, counts: Counts, overall: Counts) -> Counts:  # noqa: ARG002
        """In a part that holds, every value is less frequent than c times all from the l-th on; and what is left
        without the l - 1 largest is no more in the part than in the class."""
        up, down = rational(self.c, "c").as_integer_ratio()
        rest = -np.sort(-counts, axis=1)[:, self.l - 1 :].sum(axis=1)
        top = counts.max(axis=1)
        if int(rest.max(initial=0)) * up >= FITS:
            rest = rest.astype(object)
        largest = np.clip((rest * up - 1) // down, 0, top).astype(np.int64)
        found: Counts = np.minimum(counts, largest[:, None]).sum(axis=1)
        return found

    def __str__(self) -> str:
        return f"recursive c={self.c}, l={self.l} of {self.column}"


@dataclass(frozen=True, slots=True)
class T:
    """t-closeness (Li et al. 2007): the sensitive values of a class are distributed almost as in the whole table.

    The distance is half the sum of all differences of shares, or, where the values are `ordered`, how far shares must
    be moved, with 1 from the first value to the last. With counts c of s records and C of N in the table, both compare
    sums of c·N - C·s, which are whole numbers. The table is all records: those suppressed keep their sensitive values.
    """

    t: object
    column: str
    ordered: bool = False
    prunes: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not 0 <= rational(self.t, "t") <= 1:
            raise InvalidInputError(f"t must be from 0 to 1, not {show(self.t)}", "for example t=0.2", "out-of-range")

    def holds(self, counts: Counts, overall: Counts) -> Truths:
        up, down = rational(self.t, "t").as_integer_ratio()
        values, everybody = len(overall), int(overall.sum())
        sizes = counts.sum(axis=1)
        steps = max(values - 1, 2)  # at least the 2 of "half the sum"
        if int(sizes.max(initial=0)) * everybody * max(up, down) * steps >= FITS:
            counts, overall, sizes = counts.astype(object), overall.astype(object), sizes.astype(object)
        apart = counts * everybody - sizes[:, None] * overall
        if self.ordered:
            apart, steps = np.cumsum(apart, axis=1), values - 1
        else:
            steps = 2
        return np.asarray(np.abs(apart).sum(axis=1) * down <= up * steps * (sizes * everybody), dtype=np.bool_)

    def distinct(self, overall: Counts) -> int:
        """Shares of values that a class does not have are part of the distance, so those it has must have 1 - t in the
        table: the fewest that do are the most frequent ones. An ordered distance may be small even so."""
        if self.ordered:
            return 1
        needed = (1 - rational(self.t, "t")) * int(overall.sum())
        reached = np.cumsum(-np.sort(-overall))
        return max(1, int(np.searchsorted(reached, math.ceil(needed))) + 1)

    def most(self, counts: Counts, overall: Counts) -> Counts:
        """Let values A have the share P in the table, and a part of s records hold. Then A has at least the share P - t
        in it, so (P - t)·s records, and no more than in the class. (Half the sum of differences is the largest
        difference of any A.) A are single values, and all together that are too rare in the class. For an ordered
        distance A are the first or the last values, whose difference is at most values - 1 times it."""
        everybody, sizes = int(overall.sum()), counts.sum(axis=1)
        if self.ordered:
            far = float(rational(self.t, "t")) * (len(overall) - 1)
            firsts, shares = np.cumsum(counts, axis=1), np.cumsum(overall) / everybody
            sets = [(firsts, shares), (sizes[:, None] - firsts, 1 - shares)]
        else:
            far = float(rational(self.t, "t"))
            rare = counts * everybody < sizes[:, None] * overall
            sets = [(counts, overall / everybody)]
            sets += [((counts * rare).sum(axis=1)[:, None], ((rare * overall).sum(axis=1) / everybody)[:, None])]
        found: Counts = sizes
        for inside, share in sets:
            least = share - far - UNSURE  # a little less, for what floats lose
            allowed = np.where(least > 0, inside / np.where(least > 0, least, 1), np.inf).min(axis=1)
            found = np.minimum(found, np.floor(np.minimum(allowed, sizes) + UNSURE).astype(np.int64))
        return found

    def __str__(self) -> str:
        return f"{'ordered ' if self.ordered else ''}t={self.t} of {self.column}"


def asked(
    k: int | None,
    l: int | None,  # noqa: E741
    t: object | None,
    models: Sequence[Model],
    sensitive: Sequence[str],
) -> tuple[Model, ...]:
    """All models that the arguments of an anonymization name: l and t are for each sensitive column."""
    if (l is not None or t is not None) and not sensitive:
        raise InvalidInputError(
            f"{'l' if l is not None else 't'} needs a sensitive column", 'give sensitive="disease"', "missing-name"
        )
    found: list[Model] = [] if k is None else [K(k)]
    if l is not None:
        found += [DistinctL(l, name) for name in sensitive]
    if t is not None:
        found += [T(t, name) for name in sensitive]
    for model in models:
        if not callable(getattr(model, "holds", None)):
            raise InvalidInputError(
                f"{show(model)} is not a privacy model", 'for example EntropyL(2, "disease")', "wrong-type"
            )
    found += models
    if not found:
        raise InvalidInputError(
            "no privacy model is given", "for example k=5, or l=2 with a sensitive column", "missing-option"
        )
    return tuple(dict.fromkeys(found))


def columns_of(models: Sequence[Model], sensitive: Sequence[str] = ()) -> tuple[str, ...]:
    """The sensitive columns that are named, each once."""
    named = (model.column for model in models)
    return tuple(dict.fromkeys([*sensitive, *(name for name in named if name is not None)]))


def check_names(table: Microdata, quasi: Sequence[str], sensitive: Sequence[str]) -> None:
    """Raise unless there are records, and the columns are there and named once."""
    if not quasi:
        raise InvalidInputError("no quasi-identifier is named", 'for example quasi=["age", "sex"]', "missing-name")
    for name in (*quasi, *sensitive):
        table[name]  # is there
        if [*quasi, *sensitive].count(name) > 1:
            raise InvalidInputError(f"column {show(name)} is named twice", "name each column once", "duplicate-name")
    if not len(table):
        raise InvalidInputError("there are no records", "check the file, its header and its delimiter", "empty")


def check_k(k: int, records: int) -> None:
    if k > records:
        many = many_records(records)
        raise InvalidInputError(f"k={k} is more than the {many}", f"give k={records} or less", "too-large")


def many_records(records: int) -> str:
    return "1 record" if records == 1 else f"{records:,} records"


def values_of(column: RecordColumn) -> tuple[Codes, Counts]:
    """Of a sensitive column: the number of each record's value, among those that some record has, in the order that an
    ordered distance means, and how many records have each. Numbers go by size if all are numbers, else all are texts;
    missing ones come last. For other models the order does not matter."""
    counts = np.bincount(column.codes, minlength=len(column.texts)).astype(np.int64)
    used = np.flatnonzero(counts)  # a value that nobody has would make the way from the first to the last longer
    texts = [text for code in used if (text := column.texts[code]) is not None]
    if all(NUMBER_TEXT.fullmatch(text) for text in texts):  # float() takes nan and 1_000, too
        used[: len(texts)] = used[np.argsort([float(text) for text in texts], kind="stable")]
    number: npt.NDArray[Any] = np.zeros(len(counts), dtype=column.codes.dtype)
    number[used] = np.arange(len(used))
    return number[column.codes], counts[used]

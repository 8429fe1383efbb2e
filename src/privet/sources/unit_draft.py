"""What a draft says of the unit: which column names a person, which columns are the same in all rows of one, and how
many rows of one should count.

The limits are fair to all useful first questions at once, a count and a mean by group: rows that are left out on one
hand, noise on the other. The question that they serve worst, beside its own best limits, is served as well as possible.
All of it is counted in the data and is for the owner alone.
"""
# ruff: noqa: S608  every name in a statement is quoted or generated here

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product

import duckdb
import numpy as np
import numpy.typing as npt

from privet.core.rational import show
from privet.sources.number_draft import EPSILONS, about, percent
from privet.sources.profile import ColumnFacts
from privet.sources.relation import quoted

PERSON = (
    r"person|people|patient|customer|client|user|member|subject|employee|student|pupil|household|participant|respondent"
    r"|proband|donor|resident|citizen|passenger|applicant|claimant|offender|victim|inmate|mrn|ssn|idnr|pidp"
)
ID = (
    r"(?<![a-z])(id|pid|uid|nr|no|key)(?![a-z])"
    r"|(?<![a-z])(case|subj|cust|hh|emp|stud|resp|child|pat|acc|rec|obs|row)(id|nr|no)$"
)
MOSTLY = 0.5  # of the rows must have a unit
FEWEST = 20  # different values of a unit
FEWEST_OTHERS = 50  # of a column whose name does not say both, person and id
LIMITS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50, 60, 80, 100, 150, 200, 300, 400, 500, 600, 800, 1000)
MOST_COLUMNS, MOST_ROWS, MOST_LIMIT = 6, 1_000_000, LIMITS[-1]
ENOUGH = 20  # people with several rows, or nothing is said of what is constant
RELATIVE = 0.75  # of the noise of a mean: its two sums have as much noise each, and it lies between their ends
WORST = 0.5  # of a range is what a mean is off where there is noise alone
WIDTHS = (0.5, 2.0)  # of ranges, in means, where no column says which
NARROWEST, WIDEST = 0.1, 20.0  # of those that columns say
USEFUL = 0.5  # of the numbers is what a first question may be off; limits need not be fair to any other
FAIR = 1.5  # times the least error
AS_GOOD = 1.05  # times the worst ratio: then the lower limit


@dataclass(frozen=True, slots=True, kw_only=True)
class Grouped:
    """How far a count by one column is off, for a typical group: for every epsilon its expected error. `left_out` is
    the share of the rows that do not count."""

    column: str | None
    size: float
    left_out: float
    errors: Mapping[float, float]

    def __str__(self) -> str:
        by = "" if self.column is None else f" by {self.column}"
        ends = " and ".join(f"{about(error)} at epsilon {epsilon:g}" for epsilon, error in self.errors.items())
        of = "the table" if self.column is None else "a typical group"
        lost = "no rows are left out" if not self.left_out else f"{percent(self.left_out)} of the rows are left out"
        return f"a count{by} is off by about {ends} ({of} has about {about(self.size)} rows; {lost})"


@dataclass(frozen=True, slots=True, kw_only=True)
class First:
    """A first question: a count and a mean by a column, at an epsilon. The range of the numbers is `width` times as
    wide as their mean is large."""

    column: str | None
    epsilon: float
    width: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """`max_rows` rows of a unit count; 1 where each value of the unit occurs once. `usual` is the number of rows that
    19 of 20 units have at most."""

    max_rows: int = 1
    once: bool = True
    usual: int = 1
    first: Grouped | None = None
    least: Mapping[First, float] = field(default_factory=dict)  # error of each useful question with its own best limit
    ratio: float = 1.0  # how many times that its error is, at worst
    served_worst: First | None = None

    @property
    def noise(self) -> float:
        """Of a mean by group beside a count, at epsilon 1, as a share of the width of its range."""
        size = 0.0 if self.first is None else self.first.size * (1 - self.first.left_out)
        return 2 * RELATIVE * self.max_rows / max(size, 1)

    def lines(self) -> list[str]:
        """How many rows of a unit count, and how far a first count is off, for the owner."""
        if self.first is None:
            return []
        usual = f"19 of 20 units have at most {self.usual}"
        many = f"{self.max_rows} rows of each unit count in all ({usual})"
        said = many if self.max_rows > 1 else "1 row of each unit counts"
        return [f"limits: {said}; {self.first}", *self._unfair()]

    def _unfair(self) -> list[str]:
        """What to say where no limit is good for all first questions."""
        worst = self.served_worst
        if worst is None or self.ratio <= FAIR:
            return []
        by = "" if worst.column is None else f" by {show(worst.column)}"
        return [
            f"check: no limit is within {FAIR} times the least error for all first questions: one{by} at epsilon"
            f" {worst.epsilon:g} errs about {self.ratio:.2g} times as much as with a limit of its own. If you know the"
            " price of a question, draft with --epsilon"
        ]


# Who is the unit


def find_unit(known: Mapping[str, ColumnFacts], rows: int) -> tuple[str | None, str]:
    """The column that seems to name a person, and what to say of one that was passed over, or of rows of nobody."""
    named = {name: _named(name) for name, fact in known.items() if any(_named(name)) and _could_name(fact)}
    many = [name for name, says in named.items() if not _few(says, known[name], rows)]
    found = min(many, key=lambda name: (not all(named[name]), not named[name][0], -known[name].distinct), default=None)
    passed = [name for name in named if name not in many and named[name][0]]
    if found is None and passed:
        return None, (
            f"{show(passed[0])} has few different values, or is empty in most rows, so it is not proposed as the unit."
            " If it does identify people, draft again with --unit"
        )
    if found is not None and known[found].filled < rows:
        lost = percent(1 - known[found].filled / rows)
        return found, f"{lost} of the rows have no {show(found)}: they belong to nobody and never count"
    return found, ""


def _named(name: str) -> tuple[bool, bool]:
    """Whether a name speaks of people, and whether it speaks of an id or is nothing but a word for people."""
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).casefold()
    person = re.search(PERSON, apart) is not None
    return person, re.search(ID, apart) is not None or re.fullmatch(PERSON, apart) is not None


def _could_name(fact: ColumnFacts) -> bool:
    """Texts and whole numbers can; numbers with decimals, times and truths cannot."""
    if fact.first is not None or fact.form is not None or "boolean" in fact.fits:
        return False
    return fact.numbers is None or fact.numbers.places == 0


def _few(says: tuple[bool, bool], fact: ColumnFacts, rows: int) -> bool:
    """Whether a column has too few values to tell people apart: types of patients, clinics with a number; or whether
    most rows have none."""
    if fact.distinct < 2 or fact.filled < MOSTLY * rows:
        return True
    if all(says):
        return fact.distinct < min(FEWEST, rows / 10)
    return fact.distinct < max(min(FEWEST_OTHERS, rows / 10), rows / 200)


# What one unit has


def constant_columns(
    connection: duckdb.DuckDBPyConnection, relation: str, unit: str, columns: Iterable[str]
) -> set[str]:
    """The columns that have one value in all rows of a unit, or none. Nothing is said where few have several rows."""
    names = list(columns)
    if not names:
        return set()
    same = ", ".join(
        f"(min({one}) IS NOT DISTINCT FROM max({one}) AND count({one}) IN (0, count(*))) AS c{place}"
        for place, one in enumerate(map(quoted, names))
    )
    person, every = quoted(unit), ", ".join(f"bool_and(c{place})" for place in range(len(names)))
    people = f"SELECT {same} FROM {relation} WHERE {person} IS NOT NULL GROUP BY {person} HAVING count(*) > 1"
    several, *found = connection.execute(f"SELECT count(*), {every} FROM ({people})").fetchall()[0]
    return {name for name, constant in zip(names, found, strict=True) if constant} if several >= ENOUGH else set()


Rows = Mapping[str | None, str]  # column by which rows are grouped, or None -> SQL of their units u and groups g
Counts = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitRows:
    """Of each column that groups: how many rows of each group count with each limit of all rows of a unit."""

    tables: Mapping[str | None, Counts]  # [group, limit]
    most: int = 1
    usual: int = 1
    people: bool = True


def unit_rows(connection: duckdb.DuckDBPyConnection, rows: Rows, *, people: bool) -> UnitRows:
    """Counts them, of many rows in a part of the units. Without `people` each row is a unit."""
    name, one = next(iter(rows.items()))
    if not people:
        return UnitRows(tables={name: kept(connection, one, rows_are_units=True)}, people=False)
    sizes = f"SELECT count(*) AS n FROM ({one}) WHERE u IS NOT NULL GROUP BY u"
    facts = f"SELECT sum(n), max(n), quantile_disc(n, 0.95) FROM ({sizes})"
    number, most, usual = connection.execute(facts).fetchall()[0]
    if number is None:
        return UnitRows(tables={})
    part = number // MOST_ROWS + 1
    some = {name: sql for name, sql in rows.items() if name is not None} or rows
    tables = {name: part * kept(connection, sampled(sql, part)) for name, sql in list(some.items())[:MOST_COLUMNS]}
    return UnitRows(tables=tables, most=most, usual=usual)


def find_limits(counted: UnitRows, *, epsilons: Sequence[float] = EPSILONS, widths: Iterable[float] = WIDTHS) -> Limits:
    """The limit with which no useful first question errs much more than with the best limit for it alone: by any of the
    columns, at any of the epsilons, about numbers with ranges of any of the widths."""
    if not counted.people or not any(map(len, counted.tables.values())):  # nobody, or nobody in the part that is read
        first = next((_grouped(*one, 1, epsilons) for one in counted.tables.items()), None)
        return Limits(once=counted.most == 1, usual=counted.usual, first=first)
    limits = [limit for limit in LIMITS if limit < counted.most] + [min(counted.most, MOST_LIMIT)]
    errors: dict[First, Counts] = {}
    for (name, table), epsilon in product(counted.tables.items(), epsilons):
        of_counts, of_means = np.array([error(table[:, -1], table[:, one], one, epsilon) for one in limits]).T
        for width in sorted(set(widths)):
            errors[First(column=name, epsilon=epsilon, width=width)] = of_counts + width * of_means
    least = {asked: float(one.min()) for asked, one in errors.items()}
    bound = max(USEFUL, *least.values()) if min(least.values()) > USEFUL else USEFUL
    least = {asked: one for asked, one in least.items() if one <= bound}
    ratios = np.array([errors[asked] / one for asked, one in least.items()])
    worst = ratios.max(axis=0)
    place = int((worst <= AS_GOOD * worst.min()).argmax())
    name = next(iter(counted.tables))
    return Limits(
        max_rows=limits[place],
        once=counted.most == 1,
        usual=counted.usual,
        first=_grouped(name, counted.tables[name], limits[place], epsilons),
        least=least,
        ratio=float(worst[place]),
        served_worst=list(least)[int(ratios[:, place].argmax())],
    )


def width_in_means(width: float, mean: float) -> float:
    """How many times as wide a range is as the mean in it is large."""
    return round(float(np.clip(width / max(abs(mean), width / WIDEST), NARROWEST, WIDEST)), 1) if width else NARROWEST


def sampled(rows: str, part: int) -> str:
    """The rows of one unit in so many."""
    return rows if part == 1 else f"SELECT * FROM ({rows}) WHERE hash(u) % {part} = 0"


def kept(connection: duckdb.DuckDBPyConnection, rows: str, *, rows_are_units: bool = False) -> Counts:
    """How many rows of each group count with each limit of all rows of a unit: [group, limit]."""
    places = f"SELECT g, 1 AS place FROM ({rows})" if rows_are_units else placed(rows)
    counted = f"SELECT g, least(place, {MOST_LIMIT + 1}) AS p, count(*) AS n FROM ({places}) GROUP BY ALL ORDER BY ALL"
    found = connection.execute(counted).fetchall()
    names = {name: number for number, name in enumerate(dict.fromkeys(name for name, _, _ in found))}
    table = np.zeros((len(names), MOST_LIMIT + 2))
    for name, place, number in found:
        table[names[name], place] = number
    return table.cumsum(axis=1)


def placed(rows: str, groups: int | None = None, in_group: int | None = None) -> str:
    """SQL that gives each row of a unit u and a group g its place among those of the unit: the first of each group in
    turn, then the second of each, and so on. Rows beyond so many groups, or so many rows in a group, have none."""
    order = "1" if groups is None else "dense_rank() OVER (PARTITION BY u ORDER BY hash(g, u), g)"
    turn = "row_number() OVER (PARTITION BY u, g)"
    turns = f"SELECT u, g, {turn} AS turn, {order} AS o FROM ({rows}) WHERE u IS NOT NULL"
    within = " AND ".join(
        [f"{name} <= {limit}" for name, limit in (("o", groups), ("turn", in_group)) if limit is not None] or ["TRUE"]
    )
    place = "row_number() OVER (PARTITION BY u ORDER BY NOT w, turn, hash(g, u))"
    return f"SELECT g, CASE WHEN w THEN {place} END AS place FROM (SELECT *, {within} AS w FROM ({turns}))"


def error(size: Counts, left: Counts, reach: int, epsilon: float) -> tuple[float, float]:
    """Of a count and a mean by group that share a price: the expected error of the counts as a share of the numbers of
    all groups together, and that of the means as a share of a range. So many rows of a group are there, so many are
    left; a unit moves the numbers by `reach` rows."""
    noise, rows = reach / (epsilon / 2), max(size.sum(), 1)
    mean = np.minimum(RELATIVE * noise / np.maximum(left, 1), WORST)
    return float(_off(size - left, noise).sum() / rows), float((mean * size).sum() / rows)


def _off(lost: Counts, noise: float) -> Counts:
    """The expected error of a count from which rows are missing and that has Laplace noise of a scale."""
    return lost + noise * np.exp(-lost / noise)


def _grouped(column: str | None, table: Counts, limit: int, epsilons: Sequence[float]) -> Grouped | None:
    if not len(table):
        return None
    size, left = table[:, -1], table[:, limit]
    errors = {epsilon: float(_off(size - left, limit / epsilon).mean()) for epsilon in epsilons}
    return Grouped(column=column, size=float(size.mean()), left_out=float(1 - left.sum() / size.sum()), errors=errors)

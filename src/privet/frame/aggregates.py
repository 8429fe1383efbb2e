"""What a group's rows are made into: pv.count(), pv.mean("cost") and the like."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from privet.core.plan import Function
from privet.core.rational import rational, show, whole
from privet.core.shape import Form
from privet.errors import InvalidInputError, RefusedQueryError
from privet.frame.columns import Expr, condition_of, named
from privet.frame.row_scopes import Rows
from privet.frame.value_methods import written
from privet.sql.aggregates import FINEST, HALF, Asked
from privet.sql.terms import MOMENTS, NAMES, Term, number, truth


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Aggregation(Expr):
    """One number of a group. `where` restricts it to rows that fulfill a condition, as FILTER does in SQL."""

    _asked: Callable[[Rows], Asked] = None  # type: ignore[assignment]  # always given

    def where(self, condition: Expr) -> Aggregation:
        kept = condition_of(condition, "where")
        return _aggregate(
            lambda rows: self._asked(rows).where(truth(kept._read(rows), "where")), f"{self._text}.where({kept!r})"
        )


def _aggregate(asked: Callable[[Rows], Asked], text: str) -> Aggregation:
    made: Aggregation = Aggregation(lambda scope: scope.aggregate(made), text, None, False, asked)
    return made


def count(what: str | Expr | None = None) -> Aggregation:
    """Rows; with a column, those where it is not missing."""
    if what is None:
        return _aggregate(lambda _: Asked(function=Function.COUNT), "count()")
    item = named(what)

    def asked(rows: Rows) -> Asked:
        value = item._read(rows)
        every = value.constant and value.form is not Form.NOTHING
        return Asked(function=Function.COUNT, value=None if every else value)

    return _aggregate(asked, f"count({_shown(what)})")


def n_units() -> Aggregation:
    """How many of those that are protected: people, or rows where each row is one."""
    return _aggregate(_units, "n_units()")


def _units(rows: Rows) -> Asked:
    if rows.per_unit:
        raise RefusedQueryError(
            "the number of units of each unit is always 1", "leave it out of per_unit: it is 1", "constant-value"
        )
    return Asked(function=Function.COUNT_DISTINCT)


def n_distinct(what: str | Expr) -> Aggregation:
    """How many different values; of the column that says who somebody is, how many people."""
    item = named(what)

    def asked(rows: Rows) -> Asked:
        if isinstance(what, str) and rows.is_unit(what):
            return _units(rows)
        value = item._read(rows)
        if value.constant:
            raise RefusedQueryError(
                f"{item!r} is a constant", "name a column to count its different values", "constant-value"
            )
        return Asked(function=Function.COUNT_DISTINCT, value=value)

    return _aggregate(asked, f"n_distinct({_shown(what)})")


def sum(what: str | Expr) -> Aggregation:
    return _of_numbers("sum", Function.SUM, what)


def mean(what: str | Expr) -> Aggregation:
    return _of_numbers("mean", Function.AVG, what)


def var(what: str | Expr, *, ddof: int = 1) -> Aggregation:
    """The variance, as of a sample; with ddof=0 as of everybody."""
    return _of_numbers("var", _spread(ddof, Function.VAR_POP, Function.VAR_SAMP), what, tail=_tail(ddof))


def std(what: str | Expr, *, ddof: int = 1) -> Aggregation:
    return _of_numbers("std", _spread(ddof, Function.STDDEV_POP, Function.STDDEV_SAMP), what, tail=_tail(ddof))


def min(what: str | Expr) -> Aggregation:
    """Nearly the smallest: the one smallest value is one person's own."""
    return _of_numbers("min", Function.MIN, what)


def max(what: str | Expr) -> Aggregation:
    return _of_numbers("max", Function.MAX, what)


def median(what: str | Expr) -> Aggregation:
    item = named(what)
    return _aggregate(
        lambda rows: Asked(function=Function.QUANTILE, value=_number("median", item, rows), quantile=HALF),
        f"median({_shown(what)})",
    )


def quantile(what: str | Expr, share: object) -> Aggregation:
    """The value below which a share of rows lies: pv.quantile("cost", 0.9)."""
    item, part = named(what), _share(share)

    def asked(rows: Rows) -> Asked:
        value = _number("quantile", item, rows)
        if part in (0, 1):
            return Asked(function=Function.MAX if part else Function.MIN, value=value)
        return Asked(function=Function.QUANTILE, value=value, quantile=part)

    return _aggregate(asked, f"quantile({_shown(what)}, {show(share)})")


def cov(one: str | Expr, other: str | Expr, *, ddof: int = 1) -> Aggregation:
    return _of_two("cov", _spread(ddof, Function.COVAR_POP, Function.COVAR_SAMP), (one, other), tail=_tail(ddof))


def corr(one: str | Expr, other: str | Expr) -> Aggregation:
    """Pearson's correlation."""
    return _of_two("corr", Function.CORR, (one, other))


def _of_numbers(name: str, function: Function, what: str | Expr, tail: str = "") -> Aggregation:
    item = named(what)
    return _aggregate(
        lambda rows: Asked(function=function, value=_number(name, item, rows)), f"{name}({_shown(what)}{tail})"
    )


def _of_two(name: str, function: Function, what: tuple[str | Expr, str | Expr], tail: str = "") -> Aggregation:
    one, other = (named(item) for item in what)

    def asked(rows: Rows) -> Asked:
        return Asked(function=function, value=_number(name, one, rows), second=_number(name, other, rows))

    return _aggregate(asked, f"{name}({', '.join(map(_shown, what))}{tail})")


def _number(name: str, item: Expr, rows: Rows) -> Term:
    """Dates have no sum; of one unit's own rows the first and the last can be taken."""
    value = item._read(rows)
    if value.form is Form.NOTHING:
        raise RefusedQueryError(f"{name} needs a number, not None", "give a number column", "type-mismatch")
    if value.form in MOMENTS:
        if rows.per_unit and name in ("min", "max"):
            return value
        raise RefusedQueryError(
            f"{name} needs a number, not {NAMES[value.form]}",
            'take a part of it, pv.col("day").dt.year, or the days since one: pv.col("day") - date(2020, 1, 1)',
            "type-mismatch",
        )
    return number(value, name)


def _share(value: object) -> Fraction:
    share = rational(value, "the share of a quantile")
    if not 0 <= share <= 1:
        remedy = f"give {show(share / 100)}" if 1 < share <= 100 else "give 0.5 for the median"
        raise InvalidInputError(f"a quantile needs a share from 0 to 1, not {show(value)}", remedy, "out-of-range")
    if share.denominator > FINEST:
        raise InvalidInputError(f"the share {show(value)} is too fine", "give at most six decimals", "too-fine")
    return share


def _spread(ddof: object, everybody: Function, sample: Function) -> Function:
    given = whole(ddof, "ddof", 0)
    if given > 1:
        raise InvalidInputError(f"ddof is {given}", "give ddof=1 for a sample, ddof=0 for everybody", "unknown-choice")
    return sample if given else everybody


def _tail(ddof: int) -> str:
    return "" if ddof else ", ddof=0"


def _shown(what: object) -> str:
    return written(what) if isinstance(what, str) else repr(what)

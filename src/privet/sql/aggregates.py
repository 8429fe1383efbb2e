"""Aggregates in their many spellings: which function, taken of which expressions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

from sqlglot import exp

from privet.core.expression import Literal
from privet.core.origin import MADE
from privet.core.plan import By, Function
from privet.core.rational import show
from privet.core.shape import Form
from privet.errors import RefusedQueryError
from privet.sql.numbering import OF_ONE_ROW, of_one_row, only_first
from privet.sql.registry import Read, given, not_understood, written
from privet.sql.scopes import Scope, short
from privet.sql.terms import MOMENTS, NAMES, Term, chosen, literal, number, truth

ONE_NUMBER = {
    "SUM": Function.SUM, "AVG": Function.AVG, "MEAN": Function.AVG, "MIN": Function.MIN, "MAX": Function.MAX,
    "VARIANCE": Function.VAR_SAMP, "VAR_SAMP": Function.VAR_SAMP, "VARIANCE_SAMP": Function.VAR_SAMP,
    "VAR": Function.VAR_SAMP, "VAR_POP": Function.VAR_POP, "VARIANCE_POP": Function.VAR_POP, "VARP": Function.VAR_POP,
    "STDDEV": Function.STDDEV_SAMP, "STDDEV_SAMP": Function.STDDEV_SAMP, "STD": Function.STDDEV_SAMP,
    "STDEV": Function.STDDEV_SAMP, "STDDEV_POP": Function.STDDEV_POP, "STDDEVP": Function.STDDEV_POP,
    "STDEVP": Function.STDDEV_POP,
}  # fmt: skip
TWO_NUMBERS = {"COVAR_POP": Function.COVAR_POP, "COVAR_SAMP": Function.COVAR_SAMP, "CORR": Function.CORR}
WITHIN = ("PERCENTILE_CONT", "PERCENTILE_DISC", "APPROX_PERCENTILE_CONT", "APPROX_PERCENTILE_DISC")
QUANTILES = (
    "QUANTILE", "QUANTILE_CONT", "QUANTILE_DISC", "PERCENTILE", "APPROX_QUANTILE", "APPROX_PERCENTILE",
    "PERCENTILE_APPROX", *WITHIN,
)  # fmt: skip
DISTINCTS = ("COUNT_DISTINCT", "APPROX_COUNT_DISTINCT", "APPROX_DISTINCT")
COUNTS = ("COUNT", "COUNT_IF", "COUNTIF", *DISTINCTS)
SPELLINGS = frozenset({*COUNTS, *ONE_NUMBER, *TWO_NUMBERS, *QUANTILES, *OF_ONE_ROW, "MEDIAN"})

FINEST = 10**6  # denominator of a quantile
MOST_QUANTILES = 99  # in one query, with MIN and MAX
HALF = Fraction(1, 2)
TOO_MANY = (f"the query asks for more than {MOST_QUANTILES} quantiles", "ask for fewer, or in several queries")
NO_CONDITION = "put the condition into WHERE"
ONE = literal(Fraction(1))
NULL = literal(None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One aggregate as it was read. `label` tells those of one list apart."""

    function: Function
    value: Term | None = None
    second: Term | None = None
    quantile: Fraction | None = None
    label: str = ""

    def where(self, condition: Term) -> Asked:
        """FILTER: only rows where the condition is true, since aggregates leave NULLs out."""
        if self.value is None and self.function is Function.COUNT_DISTINCT:
            raise RefusedQueryError("a count of units has no FILTER", NO_CONDITION, "unit-as-value")
        value = chosen([(condition, self.value or ONE)], NULL)
        second = None if self.second is None else chosen([(condition, self.second)], NULL)
        return replace(self, value=value, second=second)


def is_aggregate(node: exp.Expr) -> bool:
    named = isinstance(node, exp.Anonymous) and node.name.upper() in SPELLINGS
    return named or isinstance(node, exp.Filter | exp.WithinGroup)


class Aggregates:
    """Reads aggregates. `row` reads the expressions inside; `scope` knows the column that says whose a row is.

    `people` says that they are taken over people, not of the rows of each one; these `number` puts in an order.
    """

    def __init__(
        self, row: Callable[[str], Read], scope: Scope, *, people: bool, number: Callable[[tuple[By, ...]], Term]
    ) -> None:
        self.row = row
        self.scope = scope
        self.people = people
        self.number = number

    def one(self, node: exp.Expr, clause: str) -> Asked:
        first, *others = self.read(node)
        if others or first.label:
            raise RefusedQueryError(
                f"{clause} has a list of quantiles", "ask for one quantile there: QUANTILE(x, 0.5)", "too-many"
            )
        return first

    def read(self, node: exp.Expr) -> list[Asked]:
        """What a node asks for: one aggregate, or several for a list of quantiles."""
        asked = self._asked(node)
        if not self.people and any(one.function not in MADE for one in asked):
            raise RefusedQueryError(
                f"{written(node)} cannot be taken of each unit's rows",
                "use COUNT, SUM, AVG, MIN or MAX there",
                "unsupported-function",
            )
        return asked

    def _asked(self, node: exp.Expr) -> list[Asked]:
        if isinstance(node, exp.Filter):
            if not is_aggregate(node.this):
                raise not_understood(node)
            condition = truth(self.row("FILTER")(node.expression.this), "FILTER")
            if node.this.name.upper() in OF_ONE_ROW:
                return [self._of_one_row(node.this, condition)]
            return [asked.where(condition) for asked in self.read(node.this)]
        if isinstance(node, exp.WithinGroup):
            return self._within(node)
        name = node.name.upper()
        if name in OF_ONE_ROW:
            return [self._of_one_row(node, None)]
        if name in QUANTILES:
            item, shares = _arguments(node, "(x, 0.5)", 2)
            return list(self._quantiles(name, item, shares))
        if name in TWO_NUMBERS:
            value, second = (self._number(name, item) for item in _arguments(node, "(x, y)", 2))
            return [Asked(function=TWO_NUMBERS[name], value=value, second=second)]
        (item,) = _arguments(node, "(x)", 1)
        if name in COUNTS:
            return [self._count(name, item)]
        if name == "MEDIAN":
            return [Asked(function=Function.QUANTILE, value=self._number(name, item), quantile=HALF)]
        return [Asked(function=ONE_NUMBER[name], value=self._number(name, item))]

    def _of_one_row(self, node: exp.Expr, condition: Term | None) -> Asked:
        """All rows of a unit but one are left without a value, and the least of these values is that of the one."""
        if self.people:
            unit = short(next((unit for item in self.scope.items for unit in item.rows.units), "patient_id"))
            raise RefusedQueryError(
                f"{written(node)} would show the value of one row",
                f"take it for each person in a sub-query (SELECT {unit}, ... AS v ... GROUP BY {unit}), and aggregate v"
                " outside, for example AVG(v)",
                "unsupported-function",
            )
        value, by, wanted = of_one_row(node, condition, self.row(node.name.upper()))
        return Asked(function=Function.MIN, value=only_first(value, self.number(by), wanted))

    def _number(self, name: str, node: exp.Expr) -> Term:
        value = self.row(name)(node)
        if value.form is Form.NOTHING:
            raise RefusedQueryError(f"{name} needs a number, not NULL", "give a number column", "type-mismatch")
        if value.form in MOMENTS and not self.people and ONE_NUMBER.get(name) in (Function.MIN, Function.MAX):
            return value  # the first and last day of each one are exact, and noise comes later
        if value.form in MOMENTS:
            raise RefusedQueryError(
                f"{name} needs a number, not {NAMES[value.form]}",
                "take EXTRACT(year FROM day), or the days since one: CAST(day AS DATE) - DATE '2020-01-01'",
                "type-mismatch",
            )
        return number(value, name)

    def _count(self, name: str, node: exp.Expr) -> Asked:
        if name in DISTINCTS:
            return self._distinct(node)
        if name == "COUNT" and isinstance(node, exp.Distinct):
            if len(node.expressions) != 1 or isinstance(node.expressions[0], exp.Tuple | exp.Star):
                raise RefusedQueryError(
                    "COUNT(DISTINCT ...) does not have one argument", "write COUNT(DISTINCT x)", "wrong-arguments"
                )
            return self._distinct(node.expressions[0])
        if name == "COUNT" and isinstance(node, exp.Star) and not given(node):
            return Asked(function=Function.COUNT)
        value = self.row(name)(node)
        if name != "COUNT":
            return Asked(function=Function.COUNT, value=chosen([(truth(value, name), ONE)], NULL))
        every = value.constant and value.form is not Form.NOTHING
        return Asked(function=Function.COUNT, value=None if every else value)

    def _distinct(self, node: exp.Expr) -> Asked:
        if self.scope.is_unit(node.unnest()):
            if not self.people:
                raise RefusedQueryError(
                    f"{written(node)} is the same in all rows of a unit", "leave it out: it is 1", "constant-value"
                )
            return Asked(function=Function.COUNT_DISTINCT)
        if any(self.scope.is_hidden(column) for column in node.find_all(exp.Column)):
            raise RefusedQueryError(
                f"{written(node)} computes with the unit, which says who somebody is", NO_CONDITION, "unit-as-value"
            )
        value = self.row("COUNT(DISTINCT ...)")(node)
        if value.constant:
            raise RefusedQueryError(
                f"COUNT(DISTINCT ...) of the constant {written(node)}", "write COUNT(DISTINCT x)", "constant-value"
            )
        return Asked(function=Function.COUNT_DISTINCT, value=value)

    # Quantiles

    def _within(self, node: exp.WithinGroup) -> list[Asked]:
        """PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY x DESC): the share counts from the largest value down."""
        name = node.this.name.upper()
        if not is_aggregate(node.this) or name not in WITHIN:
            raise RefusedQueryError(
                f"{written(node.this)} has no WITHIN GROUP", "write QUANTILE(x, 0.5)", "unsupported-sql"
            )
        (shares,) = _arguments(node.this, "(0.5) WITHIN GROUP (ORDER BY x)", 1)
        order = node.args.get("expression")
        listed = [] if order is None else order.expressions
        if len(listed) != 1 or given(listed[0]) - {"this", "desc"}:
            raise RefusedQueryError(
                "WITHIN GROUP needs exactly ORDER BY x",
                f"write {name}(0.5) WITHIN GROUP (ORDER BY x)",
                "unsupported-sql",
            )
        return list(self._quantiles(name, listed[0].this, shares, descending=bool(listed[0].args.get("desc"))))

    def _quantiles(self, name: str, item: exp.Expr, shares: exp.Expr, *, descending: bool = False) -> Iterator[Asked]:
        value = self._number(name, item)
        many = isinstance(shares, exp.Array)
        listed = shares.expressions if many else [shares]
        if len(listed) > MOST_QUANTILES:
            raise RefusedQueryError(*TOO_MANY, "too-many")
        found = [self._share(name, share) for share in listed]
        if len(set(found)) < len(found) or not found:
            raise RefusedQueryError(
                f"{name} has an empty list, or one quantile twice", "list each quantile once", "duplicate-value"
            )
        for share in found:
            quantile = 1 - share if descending else share
            label = percent(quantile) if many else ""
            if quantile in (0, 1):
                yield Asked(function=Function.MAX if quantile else Function.MIN, value=value, label=label)
            else:
                yield Asked(function=Function.QUANTILE, value=value, quantile=quantile, label=label)

    def _share(self, name: str, node: exp.Expr) -> Fraction:
        match self.row(name)(node).expression:
            case Literal(Fraction() as share):
                pass
            case _:
                raise RefusedQueryError(
                    f"{name} needs a constant number, not {written(node)}",
                    "write, for example, 0.5 for the median",
                    "constant-needed",
                )
        if not 0 <= share <= 1:
            remedy = f"write {float(share / 100):g}" if 1 < share <= 100 else "write 0.5 for the median"
            raise RefusedQueryError(f"{name} needs a number from 0 to 1, not {show(share)}", remedy, "out-of-range")
        if share.denominator > FINEST:
            raise RefusedQueryError(f"{name} of {written(node)} is too fine", "give at most six decimals", "too-fine")
        return share


def percent(quantile: Fraction) -> str:
    """For names: 0.25 is 25, 0.999 is 99_9, one third is 1_of_3."""
    hundredths = 100 * quantile
    if (hundredths * 10**4).denominator == 1:
        return f"{float(hundredths):g}".replace(".", "_")
    return f"{quantile.numerator}_of_{quantile.denominator}"


def _arguments(node: exp.Expr, example: str, count: int) -> list[exp.Expr]:
    if len(node.expressions) != count:
        what = "one argument" if count == 1 else "two arguments"
        raise RefusedQueryError(
            f"{written(node)} does not have {what}", f"write {node.name.upper()}{example}", "wrong-arguments"
        )
    return list(node.expressions)

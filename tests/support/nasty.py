"""Random tables full of values that break readers, and random plans over them. Used by every test of backends.

The makers take a `random.Random`, for fuzzing in volume; `tables` and `plans` are the same as hypothesis strategies.
"""

from __future__ import annotations

import datetime as dt
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from random import Random
from typing import Any
from zlib import crc32

import duckdb
from hypothesis import strategies as st

from privet.backends import Task
from privet.backends.duckdb import SAME_FOR_ALL_DATA
from privet.backends.sqlgen import statement
from privet.catalog.vault_file import Source, Table
from privet.core.cells import cells_of
from privet.core.expression import (
    Absolute,
    And,
    Arithmetic,
    AsDate,
    AsTime,
    Case,
    Coalesce,
    Column,
    Compare,
    Concat,
    Exponential,
    Expression,
    Extracted,
    Field,
    Greatest,
    In,
    IsNull,
    Least,
    Length,
    Letters,
    Like,
    Literal,
    Local,
    Logarithm,
    Modulo,
    Not,
    Or,
    Period,
    Piece,
    Power,
    Quotient,
    Real,
    Recased,
    Relation,
    Replaced,
    Root,
    Rounded,
    Rounding,
    Shifted,
    Side,
    Sign,
    Sliced,
    Trimmed,
    Truncated,
    Value,
    Written,
)  # fmt: skip
from privet.core.measures import measures_of
from privet.core.narrow import narrowed
from privet.core.plan import Aggregate, Function, Key, Plan
from privet.core.ranges import shape_of
from privet.core.schema import Boolean, Category, Date, Integer, Kind, Number, Text, Timestamp
from privet.core.sensitivity import Bounds
from privet.core.shape import Form, Shapes, shape_of_kind, shape_of_value
from privet.core.unit import Neighbors
from privet.errors import RefusedQueryError
from privet.sources import Raw

Row = dict[str, Any]
FEW_CELLS = 200  # a plan with more is not made: the reference would be slow


@dataclass(frozen=True)
class Sql:
    """A value that Python has no object for, such as an infinite date. It means nothing, so it is read as NULL."""

    text: str


@dataclass(frozen=True)
class Made:
    table: Table
    types: dict[str, str]
    rows: list[Row]


WORDS = [
    "A", "B", "a", "A ", " A", "", "'", "''", '"', "\\", "%", "\0", "A\0", "é", "e\u0301", "שלום", "👩‍👩‍👧",
    "\U0010ffff", "\ufffd", "NULL", "null", "NaN", "true", "1", "0", "x" * 5000, "a;DROP TABLE t", "a\nb", "\t", "--",
    "$1", "?", "ß", "ẞ", "İı", "ŉ", "ΣΑΣς", "Ǆǅǆΐϓ", "ſµ", "აႠᲐ", "Ⓐⓐ", "Ａａ", "\u212a", "ɐⱯ", "ꙁꙀ", "𐐀𐐨", "Zürich",
    "  a b  ", "\u00a0 a\u3000", "a-b--c", "-", "aaa", "100%", "a_b", "A.B*", "\n", "\u0345", "Ա ա և", "ﬁ", "ĳĲ",
]  # fmt: skip
PATTERNS = [
    "%", "", "a%", "%a", "%a%", "_", "__", "_%", "%_", "a_b", "%a_%", "%a%b%", "%b%a%", "a\\%", "%\\_%", "\\\\", "\\",
    "%\\", "\\a", "%é%", "e_", "%\0", "A%A", "%A A%", "%👩%_", "%a%a%a%", "\n", "%.%", "x%x", "%ß", "'", "\ud800%",
]  # fmt: skip
BERLIN = (3_600_000_000, ((1_585_443_600_000_000, 7_200_000_000), (1_603_587_600_000_000, 3_600_000_000)))
ODD_ZONE = (-17_762_000_000, ((-2_717_650_800_000_000, -18_000_000_000), (0, 3_600_000_000), (7, -43_200_000_000)))
NUMBER_TEXTS = [
    "1e5", " 12 ", "\t7\t", "1_000", "0x10", "１２", "+", "-", ".", "", " ", "1.", ".5", "-.5", "+1.5e+001", "NaN",
    "nan", "inf", "-inf", "Infinity", "-0", "0", "1e999", "-1e999", "1e-999", "1e1000", "9" * 400,
    "0." + "0" * 400 + "1", "1" + "0" * 330 + "e-330", "4.9e-324", "2.4703282292062328e-324", "1,5", "1 2", "--1",
    "+-1", "1e", "1e+", "e5", "1\n", "\n1", "1\u00a0", "\u22121", "0.5", "1.005", "2.675", "0.125", "0.145",
    "9007199254740993", "0.1e1", "1f", "1d", "true", "12abc", "1\0", "½", "٣",
]  # fmt: skip
FLOATS = [
    0.0, -0.0, 5e-324, -5e-324, 2.2e-308, 1e308, -1e308, 1.7976931348623157e308, float("nan"), float("inf"),
    float("-inf"), 2.0**53 - 1, 2.0**53, 2.0**53 + 2, -(2.0**53), 2.0**62, 2.0**63, -(2.0**63), 2.0**64, 1e25, 1e26,
    1e38, 0.5, 1.5, 2.5, -0.5, -1.5, 0.005, 0.015, 0.025, 1.005, 0.1, 0.3, 0.07, 0.145, 4999.995, 4999.994999, 1 / 3,
    0.49999999999999994, 7.0, 100.0, -3.25,
]  # fmt: skip
DAYS = [
    "0001-01-01", "9999-12-31", "2020-02-29", "2023-02-28", "1969-12-31", "1970-01-01", "2000-02-29", "1900-03-01",
    "2021-01-03", "2020-12-31", "2021-01-01", "2026-12-28",
]  # fmt: skip
DAY_TEXTS = [
    *DAYS, "2023-02-29", "0000-01-01", "10000-01-01", "2020-1-1", " 2020-01-01", "2020-01-01 ", "2020/01/01",
    "20200101", "infinity", "-infinity", "2020-13-01", "2020-00-10", "2020-01-32", "２０２０-01-01", "2020-01-01 (BC)",
    "", "epoch",
]  # fmt: skip
TIMES = [
    "0001-01-01 00:00:00", "9999-12-31 23:59:59.999999", "1969-12-31 23:59:59.999999", "1970-01-01 00:00:00",
    "2020-02-29 12:30:15.5", "2021-01-03 23:59:59", "2020-12-31 23:59:59.999999", "1899-12-31 00:00:00.000001",
    "2026-11-15 06:07:08",
]  # fmt: skip
TIME_TEXTS = [
    *TIMES, *DAYS, "2020-01-01T10:11", "2020-01-01 10:11", "2020-01-01 24:00:00", "2020-01-01 10:11:60",
    "2020-01-01T10:11:12.1234567", "2020-01-01 10:11:12.", "2020-01-01 10:11:12.1", "2020-01-01 10:11:12Z",
    "2020-01-01 10:11:12+02", "2023-02-29 10:00", "2020-01-01  10:11", "10:11", "infinity", "2020-01-01 1:02",
    "2020-01-01T", "now",
]  # fmt: skip
TRUTH_TEXTS = [
    "true",
    "TRUE",
    " t ",
    "Yes",
    "y",
    "1",
    "false",
    "F",
    "no",
    "N\t",
    "0",
    "on",
    "off",
    "01",
    "1.0",
    "",
    "ye",
    "nope",
    "ｔ",
    "t\n",
]
NAMES = [
    "cost",
    "a b",
    'quo"te',
    "select",
    "größe",
    "名前",
    "r0",
    "c0",
    "u",
    "cell",
    "k0",
    "v0",
    "t",
    "x",
    "one",
    "source",
    "a.b",
    "'",
    "😀",
    "1",
    "%s",
    "$1",
]
BITS = {"TINYINT": 7, "SMALLINT": 15, "INTEGER": 31, "BIGINT": 63, "HUGEINT": 127,
        "UTINYINT": 8, "USMALLINT": 16, "UINTEGER": 32, "UBIGINT": 64, "UHUGEINT": 128}  # fmt: skip
DECIMALS = [
    "DECIMAL(4,1)",
    "DECIMAL(9,2)",
    "DECIMAL(18,3)",
    "DECIMAL(18,18)",
    "DECIMAL(38,0)",
    "DECIMAL(38,10)",
    "DECIMAL(38,38)",
]


def _whole(rng: Random, type_: str) -> int:
    bits, signed = BITS[type_], not type_.startswith("U")
    low, high = (-(2**bits) if signed else 0), 2**bits - 1
    near = [
        low,
        low + 1,
        high,
        high - 1,
        0,
        1,
        2,
        3,
        5,
        7,
        49,
        50,
        51,
        100,
        2**53 - 1,
        2**53,
        2**53 + 1,
        2**62,
        2**63 - 1,
        2**126,
    ]
    near += [-number for number in near] + [rng.randint(-20, 20)] * 20
    return rng.choice([number for number in near if low <= number <= high])


def _decimal(rng: Random, type_: str) -> Decimal:
    width, digits = map(int, type_[8:-1].split(","))
    most = 10**width - 1
    near = [
        0,
        1,
        -1,
        5,
        -5,
        10**digits,
        5 * 10**digits // 10,
        15 * 10**digits // 10,
        most,
        -most,
        rng.randint(-most, most),
    ]
    near += [rng.randint(-30, 30) * 10**digits // rng.choice([1, 2, 4, 8, 10])] * 12
    number = max(-most, min(most, rng.choice(near)))
    sign, places = ("-" if number < 0 else ""), f"{abs(number):0{digits + 1}}"
    return Decimal(f"{sign}{places[: len(places) - digits]}.{places[len(places) - digits :]}")


def _float(rng: Random, type_: str) -> float:
    number = rng.choice(
        [
            *FLOATS,
            rng.uniform(-5, 30),
            rng.randint(-40, 60) / 8,
            rng.randint(-400, 900) / 100,
            rng.randint(-400, 900) / 100,
        ]
    )
    if type_ == "DOUBLE":
        return number
    try:
        return float(struct.unpack("f", struct.pack("f", number))[0])
    except OverflowError:
        return 3.4028234663852886e38


def _day(rng: Random) -> dt.date:
    return rng.choice(
        [dt.date.fromisoformat(rng.choice(DAYS)), dt.date(2020, 1, 1) + dt.timedelta(days=rng.randint(-400, 900))]
    )


def _time(rng: Random) -> dt.datetime:
    near = dt.datetime(2020, 1, 1) + dt.timedelta(microseconds=rng.randint(-(10**14), 10**14))
    return rng.choice([dt.datetime.fromisoformat(rng.choice(TIMES)), near, near.replace(microsecond=0)])


def raw_value(rng: Random, type_: str, kind: Kind | None) -> Any:
    """A value of an engine's type; texts are such that mean something under the kind, or nearly."""
    if rng.random() < 0.1:
        return None
    if type_ in BITS:
        return _whole(rng, type_)
    if type_.startswith("DECIMAL"):
        return _decimal(rng, type_)
    match type_:
        case "FLOAT" | "DOUBLE":
            return _float(rng, type_)
        case "BOOLEAN":
            return rng.random() < 0.5
        case "DATE":
            infinite = [
                Sql("'infinity'::DATE"),
                Sql("'-infinity'::DATE"),
                Sql("'0044-03-15 (BC)'::DATE"),
                Sql("'20000-01-01'::DATE"),
            ]
            return rng.choice([*infinite, *(_day(rng) for _ in range(12))])
        case "TIMESTAMP":
            infinite = [
                Sql("'infinity'::TIMESTAMP"),
                Sql("'-infinity'::TIMESTAMP"),
                Sql("'0044-03-15 (BC) 01:00'::TIMESTAMP"),
            ]
            return rng.choice([*infinite, Sql("'290000-01-01'::TIMESTAMP"), *(_time(rng) for _ in range(12))])
        case _:
            return _text(rng, kind)


def _text(rng: Random, kind: Kind | None) -> str:
    match kind:
        case Integer() | Number():
            return rng.choice(
                [*NUMBER_TEXTS, str(rng.randint(-20, 40)), repr(rng.randint(-400, 900) / 100), repr(rng.choice(FLOATS))]
            )
        case Boolean():
            return rng.choice(TRUTH_TEXTS)
        case Date():
            return rng.choice([*DAY_TEXTS, *(_day(rng).isoformat() for _ in range(12))])
        case Timestamp():
            return rng.choice([*TIME_TEXTS, *(_time(rng).isoformat(sep=rng.choice(" T")) for _ in range(12))])
        case Category():
            return rng.choice([*kind.values, *kind.values, *WORDS])
        case _:
            return rng.choice([*WORDS[:6], *WORDS])


TYPES: dict[type[Kind], list[str]] = {
    Integer: [*BITS, *DECIMALS, "FLOAT", "DOUBLE", "DOUBLE", "VARCHAR", "VARCHAR", "BOOLEAN", "INTEGER", "BIGINT"],
    Number: [*BITS, *DECIMALS, "FLOAT", "DOUBLE", "DOUBLE", "DOUBLE", "VARCHAR", "VARCHAR", "BOOLEAN"],
    Boolean: [*BITS, *DECIMALS, "FLOAT", "DOUBLE", "VARCHAR", "VARCHAR", "BOOLEAN", "BOOLEAN"],
    Category: [*BITS, "VARCHAR", "VARCHAR", "VARCHAR", "VARCHAR", "BOOLEAN", "DATE"],
    Text: [*BITS, "VARCHAR", "VARCHAR", "VARCHAR", "VARCHAR", "BOOLEAN", "DATE"],
    Date: ["DATE", "TIMESTAMP", "VARCHAR"],
    Timestamp: ["DATE", "TIMESTAMP", "VARCHAR"],
}
UNIT_TYPES = [*BITS, "VARCHAR", "VARCHAR", "VARCHAR", "BOOLEAN", "DOUBLE", "FLOAT", "DECIMAL(9,2)", "DATE", "TIMESTAMP"]
UNITS = ["p", "p ", "P", "q", "", "1", "1.0", "é", "e\u0301", "p\0"]
STEPS = [
    Fraction(1),
    Fraction(1, 2),
    Fraction(1, 100),
    Fraction(1, 3),
    Fraction(5),
    Fraction(7, 10),
    Fraction(1, 10**9),
    Fraction(10**12),
]


def random_kind(rng: Random) -> Kind:
    return some_never_missing(_random_kind(rng))


def some_never_missing(kind: Kind) -> Kind:
    """Every fourth kind is never missing. Its own text decides, so that no draw is used up."""
    return replace(kind, never_missing=True) if crc32(repr(kind).encode()) % 4 == 0 else kind


def _random_kind(rng: Random) -> Kind:
    match rng.randrange(8):
        case 0 | 1:
            low = rng.choice([0, 0, -3, 5, -10, -(2**62), 2**53])
            return Integer(low, low + rng.choice([0, 1, 5, 20, 120, 2**62, 2**64]))
        case 2 | 3:
            step = rng.choice(STEPS)
            low = rng.choice([0, 0, -7, 4, -(10**4)])
            return Number(low * step, (low + rng.choice([0, 1, 9, 500, 500_000, 10**20])) * step, step=step)
        case 4:
            return Boolean()
        case 5:
            return Category(rng.sample(WORDS, rng.randint(1, 5)))
        case 6:
            days = sorted([_day(rng), _day(rng)])
            return Date(*days)
        case _:
            times = sorted([_time(rng), _time(rng)])
            return rng.choice([Text(), Timestamp(*times), Timestamp(*times)])


def random_limits(rng: Random) -> dict[str, int | None]:
    """Of groups, of rows in each, and sometimes of all rows."""
    groups, rows = rng.randint(1, 4), rng.randint(1, 4)
    in_all = rng.randint(1, groups * rows) if rng.random() < 0.4 else None
    return {"max_groups": groups, "max_rows_per_group": rows, "max_rows": in_all}


def random_table(rng: Random, *, unit: bool | None = None, rows: int | None = None) -> Made:
    """A table with nasty names and values; with a unit column, without one, or either."""
    names = rng.sample(NAMES, rng.randint(1, 5))
    kinds: dict[str, Kind] = {name: random_kind(rng) for name in names}
    types = {name: rng.choice(TYPES[type(kind)]) for name, kind in kinds.items()}
    with_unit = rng.random() < 0.5 if unit is None else unit
    limits = random_limits(rng) if with_unit else {}
    named = "unit id" if with_unit else None
    if named:
        types[named] = rng.choice(UNIT_TYPES)
    table = Table(name="t", source=Source(kind="memory"), unit=named, columns=kinds, **limits)
    pools = {name: [raw_value(rng, type_, kinds.get(name)) for _ in range(12)] for name, type_ in types.items()}
    if named:
        units = rng.sample(UNITS, 4) if types[named] == "VARCHAR" else pools[named][:4]
        pools[named] = [*units, None]
    count = rng.choice([0, 1, 5, 30, 60]) if rows is None else rows
    made = [{name: rng.choice(pool) for name, pool in pools.items()} for _ in range(count)]
    return Made(table=table, types=types, rows=made)


class Maker:
    """Random expressions over a table's columns, of every form and every node."""

    def __init__(self, rng: Random, columns: Shapes) -> None:
        self.rng = rng
        self.columns = columns
        self.nodes: dict[Form, list[Callable[[int], Expression]]] = {
            Form.NUMBER: [
                self._arithmetic,
                self._arithmetic,
                self._difference,
                self._absolute,
                self._rounded,
                self._extracted,
                self._modulo,
                self._power,
                self._length,
                self._quotient,
                self._root,
                self._lookup,
            ],
            Form.TRUTH: [
                self._compare,
                self._compare,
                self._and,
                self._or,
                self._not,
                self._is_null,
                self._in,
                self._like,
            ],
            Form.DATE: [self._cut_day, self._as_date, self._shifted_day],
            Form.TIME: [self._cut_time, self._as_time, self._shifted_time, self._local],
            Form.WORD: [
                self._recased,
                self._recased,
                self._trimmed,
                self._sliced,
                self._concat,
                self._replaced,
                self._piece,
                self._written,
            ],
        }

    def make(self, form: Form, depth: int) -> Expression:
        if depth <= 0 or self.rng.random() < 0.2:
            return self.leaf(form)
        common = [self._case, self._coalesce, *([self._extreme] if form in (Form.NUMBER, Form.DATE, Form.TIME) else [])]
        special = self.nodes[form]
        if special and self.rng.random() < 0.65:
            return self.rng.choice(special)(depth - 1)
        return self.rng.choice(common)(form, depth - 1)

    def leaf(self, form: Form) -> Expression:
        if self.rng.random() < 0.04:
            return Literal(None)
        named = [name for name, shape in self.columns.items() if shape.form is form]
        if named and self.rng.random() < 0.75:
            return Column(self.rng.choice(named))
        return Literal(self.constant(form))

    def constant(self, form: Form) -> Value:
        rng = self.rng
        match form:
            case Form.NUMBER:
                ends = [end * s.step for s in self.columns.values() if s.form is form for end in (s.low, s.high)]
                plain = [Fraction(n, d) for n in (-3, 0, 1, 2, 7, 100) for d in (1, 2, 3, 100)]
                return rng.choice([*ends, *plain])
            case Form.TRUTH:
                return rng.random() < 0.5
            case Form.DATE:
                return _day(rng)
            case Form.TIME:
                return _time(rng)
            case _:
                listed = [value for s in self.columns.values() for value in s.values or ()]
                return rng.choice([*listed, *listed, *WORDS, "\ud800"])

    def _form(self) -> Form:
        return self.rng.choice([Form.NUMBER, Form.TRUTH, Form.DATE, Form.TIME, Form.WORD])

    def _several(self, form: Form, depth: int) -> tuple[Expression, ...]:
        return tuple(self.make(form, depth) for _ in range(self.rng.randint(1, 3)))

    def _arithmetic(self, depth: int) -> Expression:
        return Arithmetic(self.rng.choice(list(Sign)), self.make(Form.NUMBER, depth), self.make(Form.NUMBER, depth))

    def _difference(self, depth: int) -> Expression:
        return Arithmetic(Sign.SUBTRACT, self.make(Form.DATE, depth), self.make(Form.DATE, depth))

    def _absolute(self, depth: int) -> Expression:
        return Absolute(self.make(Form.NUMBER, depth))

    def _rounded(self, depth: int) -> Expression:
        step = self.rng.choice([*STEPS, Fraction(10), Fraction(3, 7), Fraction(1)])
        return Rounded(self.rng.choice(list(Rounding)), self.make(Form.NUMBER, depth), step)

    def _extracted(self, depth: int) -> Expression:
        return Extracted(self.rng.choice(list(Field)), self.make(self.rng.choice([Form.DATE, Form.TIME]), depth))

    def _compare(self, depth: int) -> Expression:
        form = self._form()
        other = self.rng.choice([Form.DATE, Form.TIME]) if form in (Form.DATE, Form.TIME) else form
        ordered = form not in (Form.WORD, Form.TRUTH)
        relation = self.rng.choice(list(Relation) if ordered else [Relation.EQUAL, Relation.UNEQUAL])
        sides = [self.make(form, depth), self.leaf(other) if self.rng.random() < 0.6 else self.make(other, depth)]
        self.rng.shuffle(sides)
        return Compare(relation, *sides)

    def _and(self, depth: int) -> Expression:
        return And(self._several(Form.TRUTH, depth))

    def _or(self, depth: int) -> Expression:
        return Or(self._several(Form.TRUTH, depth))

    def _not(self, depth: int) -> Expression:
        return Not(self.make(Form.TRUTH, depth))

    def _is_null(self, depth: int) -> Expression:
        return IsNull(self.make(self._form(), depth))

    def _in(self, depth: int) -> Expression:
        form = self._form()
        other = self.rng.choice([Form.DATE, Form.TIME]) if form in (Form.DATE, Form.TIME) else form
        return In(self.make(form, depth), tuple(self.constant(other) for _ in range(self.rng.randint(0, 4))))

    def _case(self, form: Form, depth: int) -> Expression:
        branches = tuple((self.make(Form.TRUTH, depth), self.make(form, depth)) for _ in range(self.rng.randint(1, 2)))
        return Case(branches, self.make(form, depth))

    def _coalesce(self, form: Form, depth: int) -> Expression:
        return Coalesce(self._several(form, depth))

    def _extreme(self, form: Form, depth: int) -> Expression:
        return self.rng.choice([Least, Greatest])(self._several(form, depth))

    def _cut_day(self, depth: int) -> Expression:
        return Truncated(self.rng.choice(list(Period)), self.make(Form.DATE, depth))

    def _as_date(self, depth: int) -> Expression:
        return AsDate(self.make(self.rng.choice([Form.DATE, Form.TIME]), depth))

    def _cut_time(self, depth: int) -> Expression:
        return Truncated(self.rng.choice(list(Period)), self.make(Form.TIME, depth))

    def _as_time(self, depth: int) -> Expression:
        return AsTime(self.make(self.rng.choice([Form.DATE, Form.TIME]), depth))

    def _modulo(self, depth: int) -> Expression:
        return Modulo(
            self.make(Form.NUMBER, depth), self.rng.choice([*STEPS, Fraction(3), Fraction(10), Fraction(7, 2)])
        )

    def _power(self, depth: int) -> Expression:
        return Power(self.make(Form.NUMBER, depth), self.rng.choice([1, 2, 2, 3, 4]))

    def _quotient(self, depth: int) -> Expression:
        left, right = self.make(Form.NUMBER, depth), self._above(self.make(Form.NUMBER, depth), Fraction(1, 2))
        if self.rng.random() < 0.3:
            right = Arithmetic(Sign.MULTIPLY, right, Literal(Fraction(-1)))
        elif self.rng.random() < 0.4:
            right = self.make(Form.NUMBER, depth)
            zero = Compare(Relation.EQUAL, right, Literal(Fraction(0)))
            right = Case(((zero, Literal(None)),), right)
        return self._near(Quotient(left, right))

    def _root(self, depth: int) -> Expression:
        item = self._above(self.make(Form.NUMBER, depth), Fraction(0))
        if self.rng.random() < 0.3:
            item = Quotient(item, self._above(self.make(Form.NUMBER, depth), Fraction(1, 2)))
        return self._near(Root(item, self.rng.choice([2, 2, 3, 4, 5, 6])))

    def _lookup(self, depth: int) -> Expression:
        if self.rng.random() < 0.4:
            few = (self.make(Form.NUMBER, depth), Literal(Fraction(self.rng.choice([-9, 9, 40]))))
            return self._near(Exponential(Rounded(Rounding.DOWN, Least(few), Fraction(1, 2))))
        least = self.rng.choice([Fraction(1, 3), Fraction(1), Fraction(7, 2)])
        return self._near(Logarithm(self._above(self.make(Form.NUMBER, depth), least), self.rng.choice([None, 2, 10])))

    def _above(self, item: Expression, least: Fraction) -> Expression:
        return Greatest((item, Literal(least)))

    def _near(self, real: Real) -> Expression:
        step = self.rng.choice([Fraction(1), Fraction(1, 100), Fraction(3, 7), Fraction(1, 10**4)])
        return Rounded(self.rng.choice(list(Rounding)), real, step)

    def _length(self, depth: int) -> Expression:
        return Length(self.make(Form.WORD, depth))

    def _like(self, depth: int) -> Expression:
        return Like(self.make(Form.WORD, depth), self.rng.choice(PATTERNS))

    def _shifted_day(self, depth: int) -> Expression:
        months, days = (
            self.rng.choice([0, 1, -1, 12, 13, -120_000, 120_000]),
            self.rng.choice([0, 1, -1, 7, 30, -(10**6)]),
        )
        return Shifted(self.make(Form.DATE, depth), months, days)

    def _shifted_time(self, depth: int) -> Expression:
        months, days = self.rng.choice([0, 1, -1, 12, -13, 120_000]), self.rng.choice([0, 1, -1, 7, 10**6])
        clock = self.rng.choice([0, 3_600_000_000, -1, 86_400_000_000, 5_400_000_001])
        return Shifted(self.make(Form.TIME, depth), months, days, clock)

    def _local(self, depth: int) -> Expression:
        return Local(self.make(Form.TIME, depth), "Some/Where", *self.rng.choice([BERLIN, ODD_ZONE, (0, ())]))

    def _recased(self, depth: int) -> Expression:
        return Recased(self.rng.choice(list(Letters)), self.make(Form.WORD, depth))

    def _trimmed(self, depth: int) -> Expression:
        return Trimmed(self.rng.choice(list(Side)), self.make(Form.WORD, depth))

    def _sliced(self, depth: int) -> Expression:
        start, stop = self.rng.choice(
            [(0, 1), (0, 3), (1, 2), (1, None), (2, 1), (-2, None), (0, -1), (1, -1), (-3, -1)]
        )
        return Sliced(self.make(Form.WORD, depth), start, stop)

    def _concat(self, depth: int) -> Expression:
        return Concat(self._several(Form.WORD, depth))

    def _replaced(self, depth: int) -> Expression:
        old, new = (
            self.rng.choice(["A", "a", "aa", "\0", "é", "-", "'", "\ud800"]),
            self.rng.choice(["", "b", "A ", "👩", "'"]),
        )
        return Replaced(self.make(Form.WORD, depth), old, new)

    def _piece(self, depth: int) -> Expression:
        return Piece(self.make(Form.WORD, depth), self.rng.choice(["-", " ", "a", "--", "é"]), self.rng.randint(1, 4))

    def _written(self, depth: int) -> Expression:
        period = self.rng.choice([Period.YEAR, Period.MONTH, Period.DAY])
        return Written(period, self.make(self.rng.choice([Form.DATE, Form.TIME]), depth))


def random_expression(rng: Random, columns: Shapes, depth: int = 3) -> Expression:
    """An expression that is accepted, of any form."""
    maker = Maker(rng, columns)
    while True:
        found = maker.make(maker._form(), depth)
        if _accepted(lambda: shape_of(found, columns)):  # noqa: B023
            return found


def _accepted(try_it: Callable[[], object]) -> bool:
    try:
        try_it()
    except RefusedQueryError:
        return False
    return True


SUMS = (Function.COUNT, Function.SUM, Function.AVG)
QUANTILES = [Fraction(1, 2), Fraction(1, 4), Fraction(3, 4), Fraction(1, 3), Fraction(9, 10), Fraction(1, 100)]


def random_plan(
    rng: Random,
    table: Table,
    functions: Sequence[Function] = SUMS,
    *,
    private: bool = False,
    declared: Shapes | None = None,
) -> Plan:
    """A plan that is accepted, with few cells; with `private` often over keys that are not public. Over the table's
    columns, or over those that are `declared`."""
    declared = declared or {name: shape_of_kind(kind) for name, kind in table.columns.items()}
    while True:
        maker = Maker(rng, declared)
        where = maker.make(Form.TRUTH, rng.randint(0, 3)) if rng.random() < 0.6 else None
        if where is not None and not _accepted(lambda: shape_of(where, declared)):  # noqa: B023
            continue
        passing = narrowed(declared, where)
        hidden = private and rng.random() < 0.4
        tried = (_key(rng, maker, place, passing, hidden) for place in range(rng.choice([0, 1, 1, 2])))
        keys = [key for key in tried if key]
        aggregates = [
            one
            for one in (_aggregate(rng, maker, place, passing, functions) for place in range(rng.randint(1, 3)))
            if one
        ]
        names = tuple(item.name for item in [*keys, *aggregates])
        if not aggregates:
            continue
        plan = Plan(
            table=table.name,
            where=where,
            keys=tuple(keys),
            aggregates=tuple(aggregates),
            outputs=names,
            private_keys=hidden,
            other="rest" if hidden and rng.random() < 0.5 else None,
        )
        if _few_cells(plan, passing):
            return plan


def _few_cells(plan: Plan, passing: Shapes) -> bool:
    """Or keys that are meant not to be public."""
    if not _accepted(lambda: cells_of(plan, passing)):
        return False
    cells = cells_of(plan, passing)
    return cells.count <= FEW_CELLS and (plan.private_keys or not cells.private)


def _key(rng: Random, maker: Maker, place: int, passing: Shapes, hidden: bool) -> Key | None:
    """Columns with few values, or whatever happens to have few; anything if its values need not be public."""
    for _ in range(20):
        form = maker._form()
        value = Column(rng.choice(list(passing))) if rng.random() < 0.3 else maker.make(form, rng.randint(0, 2))
        plan = Plan(
            table="t", keys=(Key(name=f"k{place}", value=value),), aggregates=(), outputs=(), private_keys=hidden
        )
        if not _accepted(lambda: shape_of(value, passing)):  # noqa: B023
            continue
        shape = shape_of(value, passing)
        small = hidden or shape.high - shape.low < FEW_CELLS or shape.period is not None
        if small and _few_cells(plan, passing):
            return plan.keys[0]
    return None


ANY_FORM = (Function.COUNT, Function.COUNT_DISTINCT)
PAIRS = (Function.COVAR_POP, Function.COVAR_SAMP, Function.CORR)


def _aggregate(
    rng: Random, maker: Maker, place: int, passing: Shapes, functions: Sequence[Function]
) -> Aggregate | None:
    for _ in range(20):
        function = rng.choice(functions)
        form = maker._form() if function in ANY_FORM else rng.choice([Form.NUMBER, Form.NUMBER, Form.TRUTH])
        value = None if function in ANY_FORM and rng.random() < 0.4 else maker.make(form, rng.randint(0, 3))
        found = Aggregate(
            name=f"a{place}",
            function=function,
            value=value,
            second=maker.make(Form.NUMBER, rng.randint(0, 2)) if function in PAIRS else None,
            quantile=rng.choice(QUANTILES) if function is Function.QUANTILE else None,
        )
        plan = Plan(table="t", aggregates=(found,), outputs=())
        if _accepted(lambda: measures_of(plan, passing)):  # noqa: B023
            return found
    return None


def task_of(
    plan: Plan,
    table: Table,
    neighbors: Neighbors = Neighbors.ADD_REMOVE,
    secret: bytes = b"secret",
    bounds: Bounds | None = None,
) -> Task:
    """What the engine asks a backend for this plan."""
    declared = {name: shape_of_kind(kind) for name, kind in table.columns.items()}
    passing = narrowed(declared, plan.where)
    limits = Bounds(groups=table.max_groups, rows=table.max_rows_per_group, in_all=table.max_rows, neighbors=neighbors)
    return Task(
        table=table,
        plan=plan,
        declared=declared,
        passing=passing,
        cells=cells_of(plan, passing),
        measures=measures_of(plan, passing)[0],
        bounds=bounds or limits,
        secret=secret,
    )


def tables(*, unit: bool | None = None) -> st.SearchStrategy[Made]:
    return st.randoms(use_true_random=False).map(lambda rng: random_table(rng, unit=unit))


def plans(table: Table) -> st.SearchStrategy[Plan]:
    return st.randoms(use_true_random=False).map(lambda rng: random_plan(rng, table))


class Store:
    """Rows of Python values in a real engine, typed as wanted, without the way through a file."""

    def __init__(self, threads: int = 1) -> None:
        self.connection = duckdb.connect(":memory:", config={"threads": threads})
        self.connection.execute(SAME_FOR_ALL_DATA)

    def put(self, made: Made, relation: str = "stored") -> Raw:
        columns = ", ".join(f"{_quoted(name)} {type_}" for name, type_ in made.types.items())
        self.connection.execute(f"CREATE OR REPLACE TABLE {relation} ({columns})")
        if made.rows:
            given = [row[name] for row in made.rows for name in made.types]
            slots = [value.text if isinstance(value, Sql) else "?" for value in given]
            width = len(made.types)
            lines = ", ".join(f"({', '.join(slots[i : i + width])})" for i in range(0, len(slots), width))
            values = [value for value in given if not isinstance(value, Sql)]
            self.connection.execute(f"INSERT INTO {relation} VALUES {lines}", values)
        return Raw(relation=relation, types=made.types)

    def exact(self, task: Task, raw: Raw) -> list[list[int]]:
        query = statement(task, raw)
        return query.dense(self.connection.execute(query.sql).fetchall(), task.cells.count)

    def close(self) -> None:
        self.connection.close()


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def fits(value: Value, shape: Any) -> bool:
    """Whether a value is one that its shape allows."""
    if value is None:
        return bool(shape.null)
    own = shape_of_value(value)
    if shape.form is Form.WORD:
        return shape.values is None or value in shape.values
    steps = own.low * own.step / shape.step if own.form is Form.NUMBER else Fraction(own.low)
    return own.form is shape.form and steps.denominator == 1 and shape.low <= steps <= shape.high


def nodes_in(thing: Any) -> set[str]:
    """Names of all nodes of an expression or plan."""
    if isinstance(thing, Sequence) and not isinstance(thing, str):
        return {name for part in thing for name in nodes_in(part)}
    if hasattr(thing, "__dataclass_fields__"):
        below = {name for field in thing.__dataclass_fields__ for name in nodes_in(getattr(thing, field))}
        return below | {type(thing).__name__}
    return set()

"""What a mechanism returned, read into columns: numbers, and tokens for everything that is not one.

One row a draw. A column is a place in the output: the output itself, its third part, the value of a key. A token is a
text, None, nan, minus zero, an exception, or that the place is missing. The structure (lengths, keys in their order,
kinds) is a token of its own, so that nothing that a reader of the output could see is lost on the way.

What one draw is read as must not depend on the draws beside it: else the draws of a batch, or of one chunk, would show
an event all together, and counts of it would not be binomial. So the shortcuts below, which read many draws at once,
give what `_flatten` gives for each of them alone; and the type of an array that holds a whole batch, which numpy chose
for all of them, is not looked at.
"""

from __future__ import annotations

import dataclasses
import math
import numbers
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from privet.core.rational import show
from privet.errors import InvalidInputError

Numbers = npt.NDArray[Any]  # int64 or float64
Tokens = npt.NDArray[np.int32]
Path = tuple[Any, ...]

PLAIN, MISSING, OTHER = 0, 1, 2  # tokens: a number; nothing at this place; a text too many
MOST_TOKENS = 100_000
MOST_COLUMNS = 4096
WIDE = 2**53  # beyond, a whole number may lose its last bits as a double
LOW_BITS = 2**16
CLOSING = {"[": "]", "(": ")"}
NUMBER = re.compile(r"(?<![\w.])[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
ADDRESS = re.compile(r"0x[0-9a-fA-F]+")


@dataclass(frozen=True, slots=True, eq=False)
class OutputColumn:
    """One place of every draw. `tokens` is None where all are numbers."""

    numbers: Numbers
    tokens: Tokens | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Outputs:
    """Draws: `numbers` (and `tokens`, if there are any) have a row each; `shapes` has the token of the structure."""

    numbers: Numbers
    tokens: Tokens | None
    shapes: Tokens

    def __len__(self) -> int:
        return len(self.shapes)

    def part(self, place: int) -> OutputColumn:
        return OutputColumn(self.numbers[:, place], None if self.tokens is None else self.tokens[:, place])

    def rows(self, where: slice) -> Outputs:
        return Outputs(self.numbers[where], None if self.tokens is None else self.tokens[where], self.shapes[where])

    def widened(self, width: int) -> Outputs:
        """With so many columns: those that these draws do not have are missing, those beyond are cut off."""
        size, have = self.numbers.shape
        if have == width:
            return self
        if have > width:
            return Outputs(
                self.numbers[:, :width], None if self.tokens is None else self.tokens[:, :width], self.shapes
            )
        values = np.zeros((size, width), self.numbers.dtype)
        values[:, :have] = self.numbers
        tokens = np.full((size, width), MISSING, np.int32)
        tokens[:, :have] = PLAIN if self.tokens is None else self.tokens
        return Outputs(values, tokens, self.shapes)


def joined(parts: Sequence[Outputs]) -> Outputs:
    """Draws of one reader, one after the other."""
    width = max(part.numbers.shape[1] for part in parts)
    wide = [part.widened(width) for part in parts]
    tokens = None
    if any(part.tokens is not None for part in wide):
        tokens = np.concatenate(
            [np.zeros(part.numbers.shape, np.int32) if part.tokens is None else part.tokens for part in wide]
        )
    return Outputs(
        np.concatenate([part.numbers for part in wide]), tokens, np.concatenate([part.shapes for part in wide])
    )


@dataclass(frozen=True, slots=True)
class Raised:
    """In place of an output: the mechanism raised. The text of an error is not looked at."""

    kind: str


@dataclass(frozen=True, slots=True, eq=False)
class OutputRow:
    """One draw out of an array of draws, still an array: of one row. Its type is the batch's and says nothing."""

    array: Numbers


class OutputReader:
    """Gives the same place the same column, and the same text the same token, in all draws of a pair."""

    def __init__(self) -> None:
        self._columns: dict[Path, int] = {}
        self._tokens: dict[str, int] = {}
        self.cut = False  # whether an output had more parts than are looked at

    @property
    def width(self) -> int:
        return len(self._columns)

    def read(self, raw: Any, size: int) -> Outputs:
        """`size` outputs: an array with a row each, or a list."""
        shape = np.shape(raw) if isinstance(raw, np.ndarray) else (len(raw),) if isinstance(raw, list | tuple) else ()
        if shape[:1] != (size,):
            given = f"shape {shape}" if shape else show(raw)
            raise InvalidInputError(
                f"the mechanism was asked for {size} outputs and returned {given}",
                "return an array or a list with one output a draw, or give batch=False for a mechanism(data) that "
                "returns one output",
                "wrong-output",
            )
        plain = _plain(raw)
        if plain is None:
            return self._read_each(
                [OutputRow(raw[n : n + 1]) for n in range(size)] if isinstance(raw, np.ndarray) else raw
            )
        self.cut |= isinstance(raw, np.ndarray) and raw.ndim == 2 and raw.shape[1] > MOST_COLUMNS
        return self._read_plain(plain)

    def place(self, column: int) -> str:
        """The column in words."""
        path = next(path for path, number in self._columns.items() if number == column)
        if not path:
            return "output"
        return "part " + " of part ".join(_key(key) for key in reversed(path))

    def token(self, number: int) -> str:
        if number in (MISSING, OTHER):
            return "missing" if number == MISSING else "another text"
        return next(text for text, known in self._tokens.items() if known == number)

    def known(self, text: str) -> int:
        """The token of a text; one that nothing has, if it never came up."""
        return self._tokens.get(text, -1)

    def decimals(self) -> list[int]:
        """Columns that say how many decimals a number in a text has."""
        return [number for path, number in self._columns.items() if path and str(path[-1]).startswith("the decimals")]

    def words(self, outputs: Outputs, row: int) -> str:
        """One draw in words."""
        wide = outputs.widened(self.width)
        tokens = np.zeros(self.width, np.int32) if wide.tokens is None else wide.tokens[row]
        cells = [
            show(number.item()) if token == PLAIN else self.token(int(token))
            for number, token in zip(wide.numbers[row], tokens, strict=True)
            if token != MISSING
        ]
        return cells[0] if len(cells) == 1 else f"({', '.join(cells)})"

    def _read_plain(self, plain: Plain) -> Outputs:
        values = plain.values
        places = [self._column((number,) if plain.several else ()) for number in range(values.shape[1])]
        shapes = np.full(len(values), self._number(plain.structure), np.int32)
        tokens = self._odd(values)
        if tokens is not None:
            values = np.where(tokens == PLAIN, values, 0)
        if places == list(range(self.width)):
            return Outputs(values, tokens, shapes)
        spread = np.zeros((len(values), self.width), values.dtype)
        spread[:, places] = values
        spread_tokens = np.full(spread.shape, MISSING, np.int32)
        spread_tokens[:, places] = PLAIN if tokens is None else tokens
        return Outputs(spread, spread_tokens, shapes)

    def _odd(self, values: Numbers) -> Tokens | None:
        """nan and minus zero are not like other numbers."""
        if values.dtype.kind != "f":
            return None
        nan, minus = np.isnan(values), (values == 0) & np.signbit(values)
        if not nan.any() and not minus.any():
            return None
        return np.where(nan, self._number("nan"), np.where(minus, self._number("-0.0"), PLAIN)).astype(np.int32)

    def _read_each(self, raw: Sequence[Any]) -> Outputs:
        """Any output at all, cell by cell."""
        shapes, rows, places, numbers_, tokens = [], [], [], [], []
        for row, output in enumerate(raw):
            cells: list[tuple[Path, float, str | None]] = []
            shapes.append(self._number(self._flat(output, cells)))
            self.cut |= len(cells) > MOST_COLUMNS
            for path, number, text in cells[:MOST_COLUMNS]:
                place = self._column(path)
                if place >= MOST_COLUMNS:
                    continue
                rows.append(row)
                places.append(place)
                numbers_.append(number)
                tokens.append(PLAIN if text is None else self._number(text))
        whole = all(isinstance(number, int) for number in numbers_)
        values = np.zeros((len(raw), self.width), np.int64 if whole else np.float64)
        found = np.full(values.shape, MISSING, np.int32)
        values[rows, places] = numbers_
        found[rows, places] = tokens
        return Outputs(values, None if not found.any() else found, np.array(shapes, np.int32))

    def _column(self, path: Path) -> int:
        """A new one for a new place, unless there are too many: keys may be as random as numbers are."""
        known = self._columns.get(path)
        if known is None:
            known = len(self._columns)
            if known < MOST_COLUMNS:
                self._columns[path] = known
            else:
                self.cut = True
        return known

    def _flat(self, output: Any, cells: list[tuple[Path, float, str | None]]) -> str:
        try:
            return _flatten(output, (), cells)
        except RecursionError:
            raise InvalidInputError(
                "an output of the mechanism is nested without end",
                "return numbers, texts, or lists of such",
                "wrong-output",
            ) from None

    def _number(self, text: str) -> int:
        known = self._tokens.get(text)
        if known is None:
            if len(self._tokens) >= MOST_TOKENS:
                return OTHER
            known = self._tokens[text] = OTHER + 1 + len(self._tokens)
        return known


def _key(key: Any) -> str:
    return key.removeprefix("the ") if isinstance(key, str) and key.startswith("the ") else show(key)


@dataclass(frozen=True, slots=True, eq=False)
class Plain:
    """Draws that have numbers in the same places, and one structure. Not `several`: each draw is one number."""

    values: Numbers  # a row each
    structure: str
    several: bool


def _plain(raw: Any) -> Plain | None:
    """Numbers of one kind in equally many places, without looking at each; None where that is not so."""
    if isinstance(raw, np.ndarray):
        return _plain_array(raw)
    kinds = set(map(type, raw))
    if kinds == {OutputRow} and len({(row.array.shape, row.array.dtype) for row in raw}) == 1:
        return _plain_array(np.concatenate([row.array for row in raw]))
    if kinds == {np.ndarray} and len({(part.shape, part.dtype) for part in raw}) == 1 and raw[0].ndim == 1:
        found = _plain_array(np.stack(raw))
        return None if found is None else Plain(found.values, _array(raw[0]), True)
    if kinds <= {list} or kinds <= {tuple}:
        return _plain_rows(raw, "[" if kinds == {list} else "(")
    kind = _kind(kinds)
    values = _numeric(raw, kind)
    return None if values is None else Plain(values.reshape(-1, 1), kind, False)


def _plain_array(raw: Numbers) -> Plain | None:
    """A batch."""
    if raw.dtype.kind not in "biuf" or raw.ndim not in (1, 2):
        return None
    if raw.dtype.kind in "iu" and raw.size and (raw.max() >= WIDE or raw.min() <= -WIDE):
        return None
    values = raw.astype(np.float64 if raw.dtype.kind == "f" else np.int64, copy=False)
    return Plain(values.reshape(len(raw), -1)[:, :MOST_COLUMNS], _row(raw), raw.ndim == 2)


def _plain_rows(raw: Sequence[Sequence[Any]], opening: str) -> Plain | None:
    lengths = set(map(len, raw))
    if len(lengths) != 1 or not 0 < next(iter(lengths)) <= MOST_COLUMNS:
        return None
    columns = list(zip(*raw, strict=True))
    kinds = [_kind(set(map(type, column))) for column in columns]
    values = [_numeric(column, kind) for column, kind in zip(columns, kinds, strict=True)]
    found = [value for value in values if value is not None]
    return Plain(np.stack(found, axis=1), _sequence(opening, kinds), True) if len(found) == len(columns) else None


def _kind(types: set[type]) -> str:
    """In a word, if they are all of one kind; else nothing. A float prints as 1.0 what a whole number prints as 1."""
    if types <= {bool, np.bool_}:
        return "bool"
    if bool not in types and all(issubclass(one, numbers.Integral) for one in types):
        return "whole number"
    return "float" if all(issubclass(one, float | np.floating) for one in types) else ""


def _numeric(raw: Sequence[Any], kind: str) -> Numbers | None:
    """As an array, if no whole number is so large that it would be read in two parts."""
    if kind == "float":
        return np.array(raw, np.float64)
    try:
        values = np.array(raw, np.int64) if kind else None
    except OverflowError:  # Python's integers have no end
        return None
    return None if values is None or values.max() >= WIDE or values.min() <= -WIDE else values


def _array(value: Numbers) -> str:
    return f"array {value.shape} of {value.dtype}"


def _row(batch: Numbers) -> str:
    return f"array {batch.shape[1:]}" if batch.ndim > 1 else "number"


def _sequence(opening: str, kinds: Sequence[str]) -> str:
    """The structure of a sequence: equal parts are counted, others listed."""
    inside = f"{len(kinds)} × {kinds[0]}" if len(kinds) > 1 and len(set(kinds)) == 1 else ", ".join(kinds)
    return f"{opening}{inside}{CLOSING.get(opening, '')}"


def _flatten(value: Any, path: Path, cells: list[tuple[Path, float, str | None]]) -> str:
    """Adds the cells of an output, and gives its structure."""
    match value:
        case Raised(kind):
            return _token(f"raised {kind}", path, cells)
        case None:
            return _token("None", path, cells)
        case bool() | np.bool_():
            cells.append((path, int(value), None))
            return "bool"
        case str():
            return _text(value, path, cells)
        case numbers.Integral():
            return _whole(int(value), path, cells)
        case float() | np.floating():
            return _float(float(value), path, cells)
        case Fraction():
            _whole(value.denominator, (*path, "the denominator"), cells)
            return f"fraction {_float(_double(value), path, cells)}"
        case Decimal():
            return f"decimal {_text(str(value), path, cells)}"
        case complex() | np.complexfloating():
            _float(float(value.imag), (*path, "the imaginary part"), cells)
            return f"complex {_float(float(value.real), path, cells)}"
        case Mapping():
            inside = [f"{show(key)}: {_flatten(part, (*path, key), cells)}" for key, part in value.items()]
            return "{" + ", ".join(inside) + "}"
        case set() | frozenset():
            for part in sorted(map(repr, value)):
                cells.append(((*path, part), 1, None))
            return f"set of {len(value)}"
        case list() | tuple():
            return _parts("[" if isinstance(value, list) else "(", value, path, cells)
        case np.ndarray():
            return _ndarray(value, path, cells)
        case OutputRow(batch):
            if batch.dtype.kind not in "biufc":  # texts or objects: each has a type of its own
                return _flatten(batch[0].tolist() if batch.ndim > 1 else batch[0], path, cells)
            _flatten(batch[0], path, cells)
            return _row(batch)
    return _object(value, path, cells)


def _parts(opening: str, parts: Sequence[Any], path: Path, cells: list[tuple[Path, float, str | None]]) -> str:
    return _sequence(opening, [_flatten(part, (*path, number), cells) for number, part in enumerate(parts)])


def _ndarray(value: Numbers, path: Path, cells: list[tuple[Path, float, str | None]]) -> str:
    if not value.ndim:
        return _flatten(value.item(), path, cells)
    parts = _parts("array ", list(value[:MOST_COLUMNS]), path, cells)
    return parts if value.dtype.kind == "O" else _array(value)


def _object(value: Any, path: Path, cells: list[tuple[Path, float, str | None]]) -> str:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        named = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        return type(value).__name__ + _flatten(named, path, cells)
    inside = _inside(value)
    if inside is not None:
        return type(value).__name__ + _flatten(inside, path, cells)
    if isinstance(value, Iterator):
        return f"iterator {_flatten(list(value), path, cells)}"
    if ADDRESS.search(repr(value)) and getattr(value, "__dict__", None):
        return type(value).__name__ + _flatten(vars(value), path, cells)
    # where an object lies in memory is chance
    return _text(f"{type(value).__name__} {ADDRESS.sub('', repr(value))}", path, cells)


def _inside(value: Any) -> Any:
    """What is in a table or vector of pandas, polars or PyTorch, none of which is imported; else None."""
    index: Any = getattr(value, "index", None)
    labels = {"index": index.tolist()} if callable(getattr(index, "tolist", None)) else {}
    if hasattr(value, "columns") and callable(getattr(value, "to_numpy", None)):
        kinds = [str(kind) for kind in value.dtypes]
        return {"columns": list(value.columns), "kinds": kinds, **labels, "rows": value.to_numpy().tolist()}
    for name in ("tolist", "to_list"):
        if callable(getattr(value, name, None)):
            kind, title = (getattr(value, part, None) for part in ("dtype", "name"))
            return {"kind": str(kind), "name": str(title), **labels, "values": getattr(value, name)()}
    return None


def _token(text: str, path: Path, cells: list[tuple[Path, float, str | None]]) -> str:
    cells.append((path, 0, text))
    return "text"


def _text(text: str, path: Path, cells: list[tuple[Path, float, str | None]]) -> str:
    """A text, with the numbers in it as columns of their own: their values, and how many decimals they have."""
    for place, found in enumerate(NUMBER.findall(text)[:8]):
        _float(float(found), (*path, f"the number {place}"), cells)
        decimals = len(found.partition(".")[2].lower().partition("e")[0])
        cells.append(((*path, f"the decimals {place}"), decimals, None))
    return _token(repr(NUMBER.sub("#", text)), path, cells)


def _whole(value: int, path: Path, cells: list[tuple[Path, float, str | None]]) -> str:
    if abs(value) < WIDE:
        cells.append((path, value, None))
        return "whole number"
    cells.append(((*path, "the low bits"), value % LOW_BITS, None))
    _float(_double(value), path, cells)
    return "whole number"


def _double(value: Any) -> float:
    try:
        return float(value)
    except (OverflowError, ValueError):
        return math.inf if value > 0 else -math.inf


def _float(value: float, path: Path, cells: list[tuple[Path, float, str | None]]) -> str:
    if math.isnan(value) or (value == 0 and math.copysign(1, value) < 0):
        cells.append((path, 0, "nan" if math.isnan(value) else "-0.0"))
    else:
        cells.append((path, value, None))
    return "float"

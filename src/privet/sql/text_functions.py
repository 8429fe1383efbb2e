"""The rules for functions on texts."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from privet.core import expression as e
from privet.core import texts
from privet.core.shape import Form
from privet.errors import RefusedQueryError
from privet.sql.constants import whole_of
from privet.sql.registry import Make, Read, named, rule
from privet.sql.terms import Term, folded, made, needed

_SIDES = {"LEADING": e.Side.START, "TRAILING": e.Side.END}


def _word(term: Term, what: str) -> Term:
    return needed(term, what, Form.WORD)


def _text(term: Term, what: str) -> str:
    """A constant."""
    match term.expression:
        case e.Literal(str(value)):
            return value
    raise RefusedQueryError(f"{what} needs a constant text", f"write it in single quotes: {what}", "constant-needed")


def _place(term: Term, what: str) -> int:
    value = term.expression.value if isinstance(term.expression, e.Literal) else None
    return whole_of(value, what, texts.LONGEST)


def recased(letters: e.Letters, item: Term) -> Term:
    item = _word(item, letters.upper())
    inner = item.expression.item if isinstance(item.expression, e.Recased) else item.expression
    return folded(e.Recased(letters, inner), Form.WORD, item)  # of two in a row the last one counts


def _recased(letters: e.Letters) -> Make:
    return lambda read, node: recased(letters, read(node.this))


rule(exp.Upper)(_recased(e.Letters.UPPER))
rule(exp.Lower)(_recased(e.Letters.LOWER))


@rule(exp.Trim, "this position expression")
def _trim(read: Read, node: exp.Trim) -> Term:
    return _trimmed(read, [node.this, *([node.expression] if node.expression else [])], node.args.get("position"))


@named("btrim")
def _btrim(read: Read, arguments: Sequence[exp.Expr]) -> Term | None:
    return _trimmed(read, arguments, None) if len(arguments) in (1, 2) else None


def _trimmed(read: Read, arguments: Sequence[exp.Expr], position: str | None) -> Term:
    item, *characters = map(read, arguments)
    if any(_text(one, "TRIM(x, ' ')") != " " for one in characters):
        raise RefusedQueryError(
            "TRIM removes spaces only", "write TRIM(x), or REPLACE(x, '-', '')", "unsupported-function"
        )
    item = _word(item, "TRIM")
    side = _SIDES.get(str(position), e.Side.BOTH)
    return folded(e.Trimmed(side, item.expression), Form.WORD, item)


@rule(exp.Length)
def _length(read: Read, node: exp.Length) -> Term:
    item = _word(read(node.this), "LENGTH")
    return folded(e.Length(item.expression), Form.NUMBER, item)


# Parts


@rule(exp.Substring, "this start length")
def _substring(read: Read, node: exp.Substring) -> Term:
    what = "SUBSTRING(x, 1, 3)"
    start = _place(read(node.args["start"]), what) if node.args.get("start") else 1
    length = _place(read(node.args["length"]), what) if node.args.get("length") else None
    if start < 1 or (length is not None and length < 0):
        raise RefusedQueryError(
            "SUBSTRING counts from 1", "write SUBSTRING(x, 1, 3); RIGHT(x, 3) counts from the end", "out-of-range"
        )
    return _sliced(read(node.this), start - 1, None if length is None else start - 1 + length, "SUBSTRING")


def _sliced(item: Term, start: int, stop: int | None, what: str) -> Term:
    item = _word(item, what)
    return folded(e.Sliced(item.expression, start, stop), Form.WORD, item)


@rule(exp.Left, "this expression")
def _left(read: Read, node: exp.Left) -> Term:
    return _sliced(read(node.this), 0, _place(read(node.expression), "LEFT(x, 3)"), "LEFT")


@rule(exp.Right, "this expression")
def _right(read: Read, node: exp.Right) -> Term:
    """The last characters; all but the first ones if the number is negative, as in PostgreSQL and DuckDB."""
    count = _place(read(node.expression), "RIGHT(x, 3)")
    start, stop = (-count, None) if count else (0, 0)
    return _sliced(read(node.this), start, stop, "RIGHT")


@rule(exp.SplitPart, "this delimiter part_index")
def _piece(read: Read, node: exp.SplitPart) -> Term:
    what = "SPLIT_PART(x, '-', 1)"
    item = _word(read(node.this), "SPLIT_PART")
    separator, place = (read(node.args[name]) for name in ("delimiter", "part_index"))
    piece = e.Piece(item.expression, _text(separator, what), _place(place, what))
    return folded(piece, Form.WORD, item)


# Put together


@rule(exp.DPipe, "this expression safe")
def _joined(read: Read, node: exp.DPipe) -> Term:
    items, top = [node.expression], node.this
    while isinstance(top, exp.DPipe):  # a long chain is as deep as it is long: no recursion here
        items.append(top.expression)
        top = top.this
    return _concat([_word(read(item), "||") for item in (top, *reversed(items))])


@rule(exp.Concat, "expressions safe coalesce")
def _concatenated(read: Read, node: exp.Concat) -> Term:
    """A missing text counts as empty, as in PostgreSQL and DuckDB."""
    items = [_word(read(item), "CONCAT") for item in node.expressions]
    return _concat([item if item.constant and item.form is Form.WORD else _or_empty(item) for item in items])


def _or_empty(item: Term) -> Term:
    return folded(e.Coalesce((item.expression, e.Literal(""))), Form.WORD, item)


def _concat(items: Sequence[Term]) -> Term:
    return folded(e.Concat(tuple(item.expression for item in items)), Form.WORD, *items)


@rule(exp.Replace, "this expression replacement")
def _replace(read: Read, node: exp.Replace) -> Term:
    what = "REPLACE(x, 'old', 'new')"
    item = _word(read(node.this), "REPLACE")
    old, new = (_text(read(node.args[name]), what) for name in ("expression", "replacement"))
    if not old:
        raise RefusedQueryError("REPLACE looks for an empty text", f"write {what}", "empty")
    return folded(e.Replaced(item.expression, old, new), Form.WORD, item)


# Patterns


def _like(read: Read, node: exp.Expr) -> Term:
    return _matched(read, node, None)


rule(exp.Like, "this expression negate")(_like)
rule(exp.ILike, "this expression negate")(_like)


@rule(exp.Escape, "this expression")
def _escaped(read: Read, node: exp.Escape) -> Term:
    return _matched(read, node.this, _text(read(node.expression), "ESCAPE '!'"))


def _matched(read: Read, node: exp.Expr, escape: str | None) -> Term:
    item, pattern = read(node.this), _pattern(_text(read(node.expression), "x LIKE 'B%'"), escape)
    if isinstance(node, exp.ILike):
        item, pattern = (
            recased(e.Letters.LOWER, item),
            str(texts.applied(e.Recased(e.Letters.LOWER, e.Literal("")), pattern)),
        )
    found = fitting(item, pattern)
    return made(e.Not(found.expression), Form.TRUTH, found) if node.args.get("negate") else found


def _pattern(text: str, escape: str | None) -> str:
    """With a backslash before characters that stand for themselves."""
    if escape is None and "\\" in text:
        raise RefusedQueryError(
            "a backslash in a pattern means different things in different systems",
            "add ESCAPE '\\', or ESCAPE ''",
            "invalid-pattern",
        )
    if escape is not None and len(escape) > 1:
        raise RefusedQueryError("ESCAPE needs one character", "write x LIKE '10!%' ESCAPE '!'", "invalid-mark")
    found, marks = [], iter(text)
    for mark in marks:
        if mark == escape:
            plain = next(marks, None)
            if plain is None:
                raise RefusedQueryError(
                    "a pattern ends with its escape character", "write the escape character twice", "invalid-pattern"
                )
            found.append(_plain(plain))
        else:
            found.append(_plain(mark) if mark == "\\" else mark)
    return "".join(found)


def _plain(text: str) -> str:
    return "".join(f"\\{mark}" if mark in "%_\\" else mark for mark in text)


def fitting(item: Term, pattern: str) -> Term:
    item = _word(item, "LIKE")
    return folded(e.Like(item.expression, pattern), Form.TRUTH, item)


def _around(before: str, after: str) -> Make:
    def make(read: Read, node: exp.Expr) -> Term:
        return _found(read, [node.this, node.expression], before, after)

    return make


def _found(read: Read, arguments: Sequence[exp.Expr], before: str, after: str) -> Term:
    item, text = map(read, arguments)
    return fitting(item, before + _plain(_text(text, "CONTAINS(x, 'text')")) + after)


rule(exp.StartsWith, "this expression")(_around("", "%"))
rule(exp.EndsWith, "this expression")(_around("%", ""))
rule(exp.Contains, "this expression")(_around("%", "%"))
named("prefix")(lambda read, arguments: _found(read, arguments, "", "%") if len(arguments) == 2 else None)
named("suffix")(lambda read, arguments: _found(read, arguments, "%", "") if len(arguments) == 2 else None)

"""From text to a syntax tree. Every word is looked at first: what is not on the list is refused by its name.

The parser takes exponential time on nested type names and overflows the stack on deep nesting, so neither reaches it;
brackets reach it around plain numbers only, and DISTINCT in COUNT and after SELECT only.
"""

from __future__ import annotations

import difflib
import itertools
import re
from collections.abc import Collection, Iterator, Sequence
from typing import cast

from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.errors import ParseError, TokenError
from sqlglot.parsers.duckdb import DuckDBParser
from sqlglot.tokenizer_core import Token, TokenType

from privet.core.rational import show
from privet.errors import RefusedQueryError
from privet.sql import functions
from privet.sql.aggregates import SPELLINGS
from privet.sql.from_clause import KINDS
from privet.sql.places import at, point

LONGEST = 64 * 1024  # characters
MOST_WORDS = 12_000
DEEPEST = 25  # levels; the parser uses up to 25 of Python's 1,000 frames for each
TOO_DEEP = (
    "the query is nested too deeply",
    f"nest at most {DEEPEST} parentheses, CASEs and NOTs, and chain at most 90 operators",
)
HOW = "ask SELECT keys, COUNT(*), SUM(x) or AVG(x) FROM table WHERE condition GROUP BY keys"
ONE_SELECT = "ask in several queries, and put the answers together, which is free"


class SqlReading(DuckDB):
    """DuckDB's words, with backticks for names as in Spark and BigQuery."""

    class Tokenizer(DuckDB.Tokenizer):
        IDENTIFIERS = ['"', "`"]  # noqa: RUF012  # the parent's type

    class Parser(DuckDBParser):
        TYPE_CONVERTERS = {}  # noqa: RUF012  # DECIMAL alone stays without sizes
        # Aggregates keep the name that the user wrote, and their arguments in order.
        FUNCTIONS = {  # noqa: RUF012
            n: make for n, make in DuckDBParser.FUNCTIONS.items() if n not in SPELLINGS and n not in functions.KEPT
        }
        FUNCTION_PARSERS = {  # noqa: RUF012
            n: parse
            for n, parse in DuckDBParser.FUNCTION_PARSERS.items()
            if n not in SPELLINGS and n not in functions.KEPT
        }


_DIALECT = SqlReading()
_NAMES = {TokenType.VAR, TokenType.IDENTIFIER}
_TYPES = {
    TokenType.TINYINT, TokenType.SMALLINT, TokenType.INT, TokenType.BIGINT, TokenType.INT128, TokenType.UTINYINT,
    TokenType.USMALLINT, TokenType.UINT, TokenType.UBIGINT, TokenType.UINT128, TokenType.DECIMAL, TokenType.FLOAT,
    TokenType.DOUBLE, TokenType.BOOLEAN, TokenType.DATE, TokenType.TIMESTAMP, TokenType.TIMESTAMPNTZ,
    TokenType.DATETIME, TokenType.TEXT, TokenType.VARCHAR,
}  # fmt: skip
_GRAMMAR = {
    TokenType.SELECT, TokenType.FROM, TokenType.WHERE, TokenType.GROUP_BY, TokenType.HAVING, TokenType.ORDER_BY,
    TokenType.ASC, TokenType.DESC, TokenType.FIRST, TokenType.LIMIT, TokenType.OFFSET, TokenType.ALIAS, TokenType.AND,
    TokenType.OR, TokenType.NOT, TokenType.IN, TokenType.IS, TokenType.ISNULL, TokenType.NOTNULL, TokenType.NULL,
    TokenType.TRUE, TokenType.FALSE, TokenType.BETWEEN, TokenType.CASE, TokenType.WHEN, TokenType.THEN, TokenType.ELSE,
    TokenType.END, TokenType.FILTER, TokenType.ALL, TokenType.COMMA, TokenType.L_PAREN, TokenType.R_PAREN,
    TokenType.PLUS, TokenType.DASH, TokenType.STAR, TokenType.SLASH, TokenType.EQ, TokenType.NEQ, TokenType.LT,
    TokenType.LTE, TokenType.GT, TokenType.GTE, TokenType.DCOLON, TokenType.DOT, TokenType.NUMBER, TokenType.STRING,
    TokenType.SEMICOLON, TokenType.DISTINCT, TokenType.L_BRACKET, TokenType.R_BRACKET, TokenType.JOIN, TokenType.ON,
    TokenType.USING, TokenType.WITH, TokenType.EXISTS, TokenType.ROLLUP, TokenType.CUBE, TokenType.GROUPING_SETS,
    TokenType.FETCH, TokenType.NEXT, TokenType.ROW, TokenType.ROWS, TokenType.ONLY, TokenType.OVER,
    TokenType.PARTITION_BY, TokenType.QUALIFY, *functions.SIGNS,
}  # fmt: skip
_SIDES = {TokenType.LEFT, TokenType.INNER, TokenType.OUTER}  # before JOIN, otherwise a name or a function
_BEFORE_JOIN = {TokenType.JOIN, TokenType.OUTER, TokenType.SEMI, TokenType.ANTI}
_BESIDE = {  # words that mean something beside others only; otherwise a column may be called so
    TokenType.ON: {TokenType.JOIN}, TokenType.USING: {TokenType.JOIN}, TokenType.NEXT: {TokenType.FETCH},
    TokenType.ONLY: {TokenType.FETCH}, TokenType.ROW: {TokenType.FETCH, TokenType.OFFSET},
    TokenType.ROWS: {TokenType.FETCH, TokenType.OFFSET},
}  # fmt: skip
_OPENING = {  # words that may stand before a parenthesis without being a function
    TokenType.SELECT, TokenType.FROM, TokenType.WHERE, TokenType.GROUP_BY, TokenType.HAVING, TokenType.ORDER_BY,
    TokenType.LIMIT, TokenType.OFFSET, TokenType.AND, TokenType.OR, TokenType.NOT, TokenType.IN, TokenType.BETWEEN,
    TokenType.CASE, TokenType.WHEN, TokenType.THEN, TokenType.ELSE, TokenType.FILTER, TokenType.ALIAS, TokenType.IS,
    TokenType.DISTINCT, TokenType.JOIN, TokenType.ON, TokenType.USING, TokenType.EXISTS, TokenType.ROLLUP,
    TokenType.CUBE, TokenType.GROUPING_SETS, TokenType.OVER, *functions.OPENING,
}  # fmt: skip
_LISTED = {TokenType.NUMBER, TokenType.COMMA, TokenType.DASH, TokenType.SLASH}
_BEFORE_LIST = {TokenType.L_PAREN, TokenType.COMMA}
_AFTER_LIST = {TokenType.R_PAREN, TokenType.COMMA}
_PREFIXES = {TokenType.NOT, TokenType.DASH, TokenType.PLUS}

LINES = ("REGR_SLOPE", "REGR_INTERCEPT", "REGR_R2")
FUNCTIONS = (*sorted(SPELLINGS), *LINES, "ROW_NUMBER", *functions.FUNCTIONS)
_THE_FUNCTIONS = (
    "the functions are: COUNT, SUM, AVG, MIN, MAX, MEDIAN, QUANTILE, VARIANCE, STDDEV, COVAR_POP, CORR, ABS, FLOOR,"
    " CEIL, ROUND, LEAST, GREATEST, COALESCE, NULLIF, IF, date_trunc, EXTRACT, CAST, UPPER, LOWER, SUBSTRING, LIKE and"
    " those of docs/sql.md"
)
_NO_ROWS = "no answer shows the value of one row: GROUP BY the column and count"
_FIRST = "write FIRST(x ORDER BY day) in a sub-query with GROUP BY unit"
_FREQUENT = "GROUP BY the column and take the largest counts: ORDER BY COUNT(*) DESC LIMIT 1"
_MOMENTS = "select AVG(x), AVG(x * x) and AVG(x * x * x) and compute with the answers: that is free"
_EVERY = "count the rows where it holds and where it does not: COUNT_IF(smoker), COUNT_IF(NOT smoker)"
_LIST = "write QUANTILE(x, [0.25, 0.5, 0.75]); other lists are not answered"
_RANKS = (
    "to rank groups, write ORDER BY COUNT(*) DESC LIMIT 10; to number a person's rows, ROW_NUMBER() OVER (PARTITION BY"
    " unit ORDER BY day) in a sub-query; for a share of the total, SUM(COUNT(*)) OVER () beside GROUP BY; for a first"
    " value, FIRST(x ORDER BY day) with GROUP BY unit"
)
_TOTALS = "a key that is added up over is NULL in the answer; leave GROUPING out"
_COLUMNS = "name the columns inside: SELECT x AS a"
REMEDIES = {
    **KINDS, "UNION": ONE_SELECT, "INTERSECT": ONE_SELECT, "EXCEPT": ONE_SELECT, "MINUS": ONE_SELECT,
    "LATERAL": "write a JOIN with a sub-query that has GROUP BY unit", "RECURSIVE": "write WITH without RECURSIVE",
    "DISTINCT": "GROUP BY the column and count its rows; DISTINCT is allowed in COUNT(DISTINCT x) and in sub-queries",
    "ANY": "write unit IN (SELECT unit FROM ...)", "SOME": "write unit IN (SELECT unit FROM ...)",
    "WINDOW": _RANKS, "RANK": _RANKS, "DENSE_RANK": _RANKS, "PERCENT_RANK": _RANKS, "CUME_DIST": _RANKS,
    "NTILE": _RANKS, "LAG": _RANKS, "LEAD": _RANKS, "NTH_VALUE": _RANKS, "GROUPING": _TOTALS, "GROUPING_ID": _TOTALS,
    "GROUP": "write GROUP BY keys, or QUANTILE(x, 0.5)", "TRY_DIVIDE": "write SAFE_DIVIDE(x, y), or x / y",
    "DIV0": "write SAFE_DIVIDE(x, y), or x / y",
    "ARRAY": _LIST, "APPROX_QUANTILES": _LIST, "QUANTILES": _LIST,
    "MODE": _FREQUENT, "TOP_K": _FREQUENT, "APPROX_TOP_K": _FREQUENT, "APPROX_TOP_COUNT": _FREQUENT,
    "LISTAGG": _NO_ROWS, "STRING_AGG": _NO_ROWS, "GROUP_CONCAT": _NO_ROWS, "ARRAY_AGG": _NO_ROWS, "LIST": _NO_ROWS,
    "COLLECT_LIST": _NO_ROWS, "COLLECT_SET": _NO_ROWS, "JSON_AGG": _NO_ROWS, "FIRST_VALUE": _FIRST,
    "LAST_VALUE": _FIRST, "ANY_VALUE": _FIRST, "ARBITRARY": _FIRST,
    "SKEWNESS": _MOMENTS, "KURTOSIS": _MOMENTS, "BOOL_AND": _EVERY, "BOOL_OR": _EVERY, "EVERY": _EVERY,
    "LOGICAL_AND": _EVERY, "LOGICAL_OR": _EVERY, "HISTOGRAM": "GROUP BY FLOOR(x / 10) and count",
    "MAD": "write MEDIAN(ABS(x - 40)) with a known middle", **functions.REMEDIES,
    "CURRENT_DATE": "write the date itself: DATE '2020-01-31'", "NOW": "write the time itself",
    "CURRENT_TIMESTAMP": "write the time itself", "?": "write the value itself", "$": "write the value itself",
}  # fmt: skip


def tree_of(text: str, names: Collection[str]) -> exp.Select:
    """The syntax tree of the one SELECT in a text. `names` are the declared names, in lower case."""
    tokens = _checked(_tokens(text), names)
    try:
        (tree,) = _DIALECT.parser().parse(tokens, text)  # no semicolon, one tree
    except ParseError as problem:
        raise _unreadable(text, problem) from None
    found = cast(exp.Select, tree).transform(_line, copy=False)
    return cast(exp.Select, found)  # of other trees `plan_from` refuses the arguments


def _line(node: exp.Expr) -> exp.Expr:
    """The least squares line of y over x, from moments of the rows that have both. Other nodes stay as they are."""
    call = node.this if isinstance(node, exp.Filter) else node
    if not isinstance(call, exp.Anonymous) or call.name.upper() not in LINES:
        return node
    name = call.name.upper()
    if len(call.expressions) != 2:
        raise RefusedQueryError(f"{name} does not have two arguments", f"write {name}(y, x)", "wrong-arguments")
    y, x = call.expressions
    if call is not node:
        y, x = (exp.Case().when(node.expression.this, value) for value in (y, x))
    if name == "REGR_R2":
        return exp.Pow(this=_call("CORR", y, x), expression=exp.Literal.number(2))
    y_alone, x_alone = (_where_both(value, y, x) for value in (y, x))  # as COVAR_POP has them: they share moments
    slope = exp.Paren(this=exp.Div(this=_call("COVAR_POP", y, x), expression=_call("VAR_POP", x_alone)))
    if name == "REGR_SLOPE":
        return slope
    rise = exp.Mul(this=slope, expression=_call("AVG", x_alone))
    return exp.Paren(this=exp.Sub(this=_call("AVG", y_alone), expression=rise))


def _where_both(value: exp.Expr, y: exp.Expr, x: exp.Expr) -> exp.Expr:
    """The value in rows that have both, NULL elsewhere."""
    lacking = exp.Or(this=_is_null(y), expression=_is_null(x))
    return exp.Case().when(lacking, exp.Null()).else_(value.copy())


def _is_null(value: exp.Expr) -> exp.Expr:
    return exp.Paren(this=exp.Is(this=value.copy(), expression=exp.Null()))


def _call(function: str, *columns: exp.Expr) -> exp.Expr:
    return exp.Anonymous(this=function, expressions=[column.copy() for column in columns])


def tokens_of(text: str) -> list[Token]:
    return _DIALECT.tokenize(text)


def _unreadable(text: str, problem: ParseError) -> RefusedQueryError:
    """The place is taken from the parser, the words are not."""
    place = problem.errors[0] if problem.errors else {}
    near, line, column = place.get("highlight") or text.strip()[-20:], place.get("line", 1), place.get("col", 1)
    error = RefusedQueryError(
        f"the query cannot be read at line {line}, column {column}, near {show(near)}",
        "check commas, quotes and parentheses there",
        "syntax-error",
    )
    return point(error, next((token for token in tokens_of(text) if (token.line, token.col) == (line, column)), None))


def _tokens(text: str) -> list[Token]:
    if not isinstance(text, str):
        raise RefusedQueryError("the query is not a text", "give SQL as a str", "wrong-type")
    if len(text) > LONGEST:
        raise RefusedQueryError(
            f"the query has {len(text):,} characters", f"write at most {LONGEST:,}, and BETWEEN for lists", "too-long"
        )
    if not text.isprintable() and re.search("[\x00\ud800-\udfff]", text):
        raise RefusedQueryError(
            "the query has characters that are not text", "remove NUL and broken characters", "syntax-error"
        )
    try:
        found = tokens_of(text)
    except TokenError:
        raise RefusedQueryError(
            "a quote or comment is not closed", "close it; write a quote inside a text twice: 'it''s'", "syntax-error"
        ) from None
    if any(comment.startswith("+") for token in found for comment in token.comments):
        raise RefusedQueryError("hints are not read", "remove the /*+ */ comment", "unsupported-sql")
    while found and found[-1].token_type is TokenType.SEMICOLON:
        found.pop()
    if len(found) > MOST_WORDS:
        raise RefusedQueryError(
            f"the query has {len(found):,} words", f"write at most {MOST_WORDS:,} words", "too-long"
        )
    return found


def _checked(tokens: list[Token], names: Collection[str]) -> list[Token]:
    """The same tokens; refused where one is not on the list or the nesting is too deep."""
    if not tokens:
        raise RefusedQueryError("the query is empty", HOW, "empty")
    if tokens[0].token_type not in (TokenType.SELECT, TokenType.FROM, TokenType.WITH):
        word = _word(tokens[0])
        raise RefusedQueryError(f"only SELECT is answered, not {word}", REMEDIES.get(word, HOW), "unsupported-sql")
    _check_depth(tokens)
    tokens = _with_flat_lists(tokens)
    names = {*names, *_given_names(tokens)}
    kinds = {token.token_type for token in tokens}
    for i, token in enumerate(tokens):
        if token.text.lower() in names and not kinds & _BESIDE.get(token.token_type, kinds):
            token.token_type = TokenType.VAR
        with at(token):
            _check_token(tokens, i, names)
    return tokens


def _given_names(tokens: Sequence[Token]) -> Iterator[str]:
    """What AS calls something, which may be a keyword: AS percent, AS rank."""
    for before, token in itertools.pairwise(tokens):
        if before.token_type is TokenType.ALIAS and token.token_type not in _GRAMMAR | _TYPES:
            yield token.text.lower()


def _check_token(tokens: Sequence[Token], i: int, names: Collection[str]) -> None:
    token, following = tokens[i], tokens[i + 1] if i + 1 < len(tokens) else None
    if token.token_type is TokenType.SEMICOLON:
        raise RefusedQueryError("there is more than one statement", "ask one SELECT at a time", "unsupported-sql")
    if token.token_type in _SIDES and following is not None and following.token_type in _BEFORE_JOIN:
        return
    if _zoned(tokens, i) or _spanned(tokens, i):
        return
    if following is not None and following.token_type is TokenType.ONLY and token.text.upper() == "ROW":
        token.token_type = TokenType.ROW  # FETCH FIRST 1 ROW ONLY; elsewhere it makes a structure
    if following is not None and following.token_type is TokenType.L_PAREN:
        _check_function(tokens, i)
    elif token.text.lower() in names and token.token_type not in _GRAMMAR and not _typing(tokens, i):
        token.token_type = TokenType.VAR  # a declared name that is a keyword: the parser would try other readings
    _check_word(token, following)
    if token.token_type is TokenType.DISTINCT:
        _check_distinct(tokens, i)


def _with_flat_lists(tokens: Sequence[Token]) -> list[Token]:
    """ARRAY[0.5, 0.9] as [0.5, 0.9]. A bracket is refused where it is no list of numbers as an argument.

    Lists in lists and types with brackets are what the parser is slow at.
    """
    kept: list[Token] = []
    inside = False
    for token, following in itertools.zip_longest(tokens, tokens[1:]):
        kind, next_kind = token.token_type, following and following.token_type
        if kind is TokenType.ARRAY and next_kind is TokenType.L_BRACKET:
            continue
        fits = not inside or kind in _LISTED
        if kind is TokenType.L_BRACKET and not inside:
            fits = inside = bool(kept) and kept[-1].token_type in _BEFORE_LIST
        elif kind is TokenType.R_BRACKET:
            fits, inside = inside and next_kind in _AFTER_LIST, False
        if not fits:
            raise point(
                RefusedQueryError(f"{_word(token)} is not answered{' in a list' * inside}", _LIST, "unsupported-sql"),
                token,
            )
        kept.append(token)
    return kept


def _check_distinct(tokens: Sequence[Token], i: int) -> None:
    """Only as in COUNT(DISTINCT x) and SELECT DISTINCT x."""
    before, following = tokens[i - 1].token_type, tokens[i + 1].token_type if i + 1 < len(tokens) else None
    if i >= 2 and before is TokenType.L_PAREN and tokens[i - 2].text.upper() == "COUNT":
        return
    if before is TokenType.SELECT and following not in (TokenType.ON, TokenType.L_PAREN):
        return
    compared = tokens[i - 1].token_type in (TokenType.IS, TokenType.NOT)
    remedy = "write x = y, and x IS NULL where that matters" if compared else REMEDIES["DISTINCT"]
    raise RefusedQueryError("DISTINCT is not answered", remedy, "unsupported-sql")


def _typing(tokens: Sequence[Token], i: int) -> bool:
    """DATE '2020-01-31', CAST(x AS DATE), x::DATE, and names in quotes."""
    after_type = i + 1 < len(tokens) and tokens[i + 1].token_type is TokenType.STRING
    cast_to = i > 0 and tokens[i - 1].token_type in (TokenType.ALIAS, TokenType.DCOLON)
    return (tokens[i].token_type in _TYPES and (after_type or cast_to)) or tokens[i].token_type is TokenType.IDENTIFIER


def _zoned(tokens: Sequence[Token], i: int) -> bool:
    """The second word of AT TIME ZONE."""
    around = [token.text.upper() for token in tokens[max(0, i - 1) : i + 2]]
    return around == ["AT", "TIME", "ZONE"] and tokens[i].token_type is TokenType.TIME


def _spanned(tokens: Sequence[Token], i: int) -> bool:
    """INTERVAL '7 days' or INTERVAL 7 DAY. After other words the parser would try many types."""
    following = [token.token_type for token in tokens[i + 1 : i + 3]]
    amount = following[:1] in ([TokenType.STRING], [TokenType.NUMBER])
    unit = len(following) < 2 or following[1] in _GRAMMAR or tokens[i + 2].text.upper() in functions.UNITS
    return tokens[i].token_type is TokenType.INTERVAL and amount and unit


def _check_word(token: Token, following: Token | None) -> None:
    kind = token.token_type
    called = kind in functions.CALLED and following is not None and following.token_type is TokenType.L_PAREN
    if not (called or kind in _GRAMMAR or kind in _TYPES or kind in _NAMES):
        word = _word(token)
        raise RefusedQueryError(f"{word} is not answered", REMEDIES.get(word, HOW), "unsupported-sql")
    glued = following is not None and following.start == token.end + 1
    if kind is TokenType.NUMBER and glued and following is not None and following.token_type in _NAMES:
        raise RefusedQueryError(
            f"{show(token.text + following.text)} is not a number",
            "write a number, for example 16, 0.5 or 1e3",
            "not-a-number",
        )


def _check_function(tokens: Sequence[Token], i: int) -> None:
    """The word before a parenthesis must be a known function or a word of the grammar."""
    token, kind = tokens[i], tokens[i].token_type
    before = tokens[i - 1].token_type if i else None
    within = i > 1 and [word.text.upper() for word in tokens[i - 1 : i + 1]] == ["WITHIN", "GROUP"]
    if kind in _OPENING or not re.match(r"\w", token.text) or _sized(token, before) or within:
        return
    name = token.text.upper()
    if name not in FUNCTIONS:
        close = difflib.get_close_matches(name, FUNCTIONS, 1, 0.8)
        remedy = f"did you mean {close[0]}?" if close else _THE_FUNCTIONS
        if before in (TokenType.WITH, TokenType.ALIAS):
            raise RefusedQueryError(f"{_word(token)} lists columns", _COLUMNS, "unsupported-sql")
        raise RefusedQueryError(
            f"{_word(token)} is not answered yet", REMEDIES.get(name, remedy), "unsupported-function"
        )


def _sized(token: Token, before: TokenType | None) -> bool:
    """DECIMAL(5, 2) after AS or ::, the one type with a parenthesis."""
    return token.token_type is TokenType.DECIMAL and before in (TokenType.ALIAS, TokenType.DCOLON)


def _check_depth(tokens: Sequence[Token]) -> None:
    """Parentheses, CASE and runs of NOT and signs count. DATE( inside DATE( is what the parser is slow at."""
    opened: list[tuple[int, bool]] = []
    depth = run = 0
    for i, token in enumerate(tokens):
        kind = token.token_type
        run = run + 1 if kind in _PREFIXES else run
        if kind in (TokenType.L_PAREN, TokenType.CASE):
            dated = bool(i) and kind is TokenType.L_PAREN and tokens[i - 1].token_type is TokenType.DATE
            if dated and any(inside for _, inside in opened):
                raise point(
                    RefusedQueryError("DATE is used inside DATE", "take the day once", "unsupported-sql"), tokens[i - 1]
                )
            opened.append((run + 1, dated))
            depth += run + 1
        elif kind in (TokenType.R_PAREN, TokenType.END) and opened:
            depth -= opened.pop()[0]
        if depth + run > DEEPEST:
            raise point(RefusedQueryError(*TOO_DEEP, "too-deep"), token)
        run = run if kind in _PREFIXES else 0


def _word(token: Token) -> str:
    """A keyword as it is known; anything else as the user wrote it."""
    word = " ".join(token.text.upper().split())
    return word if re.fullmatch(r"[A-Z_ ]{1,30}|[!-/:-@[-`{-~]{1,3}", word) else show(token.text)

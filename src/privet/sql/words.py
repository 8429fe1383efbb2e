"""From text to a syntax tree. Every word is looked at first: what is not on the list is refused by its name.

The parser takes exponential time on nested type names and overflows the stack on deep nesting, so neither reaches it.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Sequence
from typing import cast

from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.errors import ParseError, TokenError
from sqlglot.parsers.duckdb import DuckDBParser
from sqlglot.tokenizer_core import Token, TokenType

from privet.core.rational import show
from privet.errors import RefusedQueryError

LONGEST = 64 * 1024  # characters
MOST_WORDS = 12_000
DEEPEST = 25  # levels; the parser uses up to 25 of Python's 1,000 frames for each
TOO_DEEP = (
    "the query is nested too deeply",
    f"nest at most {DEEPEST} parentheses, CASEs and NOTs, and chain at most 90 operators",
)
HOW = "ask SELECT keys, COUNT(*), SUM(x) or AVG(x) FROM table WHERE condition GROUP BY keys"
ONE_TABLE = "ask about one declared table at a time"
NO_TEXT = "compare texts with =, <> or IN"


class Reading(DuckDB):
    """DuckDB's words, with backticks for names as in Spark and BigQuery."""

    class Tokenizer(DuckDB.Tokenizer):
        IDENTIFIERS = ['"', "`"]  # noqa: RUF012  # the parent's type

    class Parser(DuckDBParser):
        TYPE_CONVERTERS = {}  # noqa: RUF012  # DECIMAL alone stays without sizes


_DIALECT = Reading()
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
    TokenType.SEMICOLON,
}  # fmt: skip
_OPENING = {  # words that may stand before a parenthesis without being a function
    TokenType.SELECT, TokenType.FROM, TokenType.WHERE, TokenType.GROUP_BY, TokenType.HAVING, TokenType.ORDER_BY,
    TokenType.LIMIT, TokenType.OFFSET, TokenType.AND, TokenType.OR, TokenType.NOT, TokenType.IN, TokenType.BETWEEN,
    TokenType.CASE, TokenType.WHEN, TokenType.THEN, TokenType.ELSE, TokenType.FILTER, TokenType.ALIAS, TokenType.IS,
}  # fmt: skip
_PREFIXES = {TokenType.NOT, TokenType.DASH, TokenType.PLUS}

FUNCTIONS = (
    "COUNT", "SUM", "AVG", "MEAN", "COUNT_IF", "COUNTIF", "COALESCE", "IFNULL", "NVL", "NULLIF", "IF", "IIF", "LEAST",
    "GREATEST", "ABS", "FLOOR", "CEIL", "CEILING", "ROUND", "CAST", "TRY_CAST", "DATE", "DATE_TRUNC", "DATETRUNC",
    "EXTRACT", "DATE_PART", "DATEPART", "YEAR", "QUARTER", "MONTH", "WEEK", "WEEKOFYEAR", "DAY", "DAYOFMONTH",
    "DAYOFWEEK", "ISODOW", "DAYOFYEAR", "HOUR", "MINUTE", "SECOND",
)  # fmt: skip
_QUANTILES = "count the rows up to a limit instead: COUNT(*) FILTER (WHERE x <= 50)"
_SPREAD = "select COUNT(*), SUM(x) and SUM(x * x): the variance follows from them, which is free"
REMEDIES = {
    "JOIN": ONE_TABLE, "LEFT": ONE_TABLE, "RIGHT": ONE_TABLE, "FULL": ONE_TABLE, "INNER": ONE_TABLE,
    "CROSS": ONE_TABLE, "NATURAL": ONE_TABLE, "USING": ONE_TABLE, "UNION": ONE_TABLE, "INTERSECT": ONE_TABLE,
    "EXCEPT": ONE_TABLE, "WITH": "write one SELECT without WITH", "EXISTS": "write one SELECT without sub-queries",
    "DISTINCT": "GROUP BY the column instead; COUNT(DISTINCT x) is not answered yet",
    "OVER": "use GROUP BY; window functions are not answered", "PARTITION BY": "use GROUP BY",
    "QUALIFY": "use HAVING on the groups", "MEDIAN": _QUANTILES, "MIN": _QUANTILES, "MAX": _QUANTILES,
    "QUANTILE": _QUANTILES, "QUANTILE_CONT": _QUANTILES, "QUANTILE_DISC": _QUANTILES, "PERCENTILE_CONT": _QUANTILES,
    "PERCENTILE_DISC": _QUANTILES, "STDDEV": _SPREAD, "STDDEV_POP": _SPREAD, "STDDEV_SAMP": _SPREAD,
    "STD": _SPREAD, "VARIANCE": _SPREAD, "VAR_POP": _SPREAD, "VAR_SAMP": _SPREAD,
    "LIKE": NO_TEXT, "ILIKE": NO_TEXT, "GLOB": NO_TEXT, "SIMILAR TO": NO_TEXT, "||": NO_TEXT, "LOWER": NO_TEXT,
    "UPPER": NO_TEXT, "SUBSTRING": NO_TEXT, "SUBSTR": NO_TEXT, "CONCAT": NO_TEXT, "LENGTH": NO_TEXT, "TRIM": NO_TEXT,
    "REPLACE": NO_TEXT, "REGEXP_MATCHES": NO_TEXT, "//": "write FLOOR(x / 10)", "%": "write x - 10 * FLOOR(x / 10)",
    "MOD": "write x - 10 * FLOOR(x / 10)", "TRUNC": "write FLOOR(x) or CEIL(x)", "^": "write x * x",
    "**": "write x * x", "POW": "write x * x", "POWER": "write x * x", "INTERVAL": "write the date itself",
    "CURRENT_DATE": "write the date itself: DATE '2020-01-31'", "NOW": "write the time itself",
    "CURRENT_TIMESTAMP": "write the time itself", "?": "write the value itself", "$": "write the value itself",
    "FETCH": "write LIMIT 10", "ROLLUP": "GROUP BY the finest keys and add up the answers: that is free",
    "CUBE": "GROUP BY the finest keys and add up the answers: that is free",
    "GROUPING SETS": "GROUP BY the finest keys and add up the answers: that is free",
}  # fmt: skip


def tree_of(text: str, names: Collection[str]) -> exp.Select:
    """The syntax tree of the one SELECT in a text. `names` are the declared names, in lower case."""
    tokens = _checked(_tokens(text), names)
    try:
        (tree,) = _DIALECT.parser().parse(tokens, text)  # no semicolon, one tree
    except ParseError as problem:
        raise _unreadable(text, problem) from None
    return cast(exp.Select, tree)  # of other trees `plan_from` refuses the arguments


def _unreadable(text: str, problem: ParseError) -> RefusedQueryError:
    """The place is taken from the parser, the words are not."""
    place = problem.errors[0] if problem.errors else {}
    near, line, column = place.get("highlight") or text.strip()[-20:], place.get("line", 1), place.get("col", 1)
    return RefusedQueryError(
        f"the query cannot be read at line {line}, column {column}, near {show(near)}",
        "check commas, quotes and parentheses there",
    )


def _tokens(text: str) -> list[Token]:
    if not isinstance(text, str):
        raise RefusedQueryError("the query is not a text", "give SQL as a str")
    if len(text) > LONGEST:
        raise RefusedQueryError(
            f"the query has {len(text):,} characters", f"write it with at most {LONGEST:,}; use BETWEEN for long lists"
        )
    if not text.isprintable() and re.search("[\x00\ud800-\udfff]", text):
        raise RefusedQueryError("the query has characters that are no text", "remove NUL and broken characters")
    try:
        found = _DIALECT.tokenize(text)
    except TokenError:
        raise RefusedQueryError(
            "a quote or comment is not closed", "close it; a quote inside a text is doubled: 'it''s'"
        ) from None
    if any(comment.startswith("+") for token in found for comment in token.comments):
        raise RefusedQueryError("hints are not read", "remove the /*+ */ comment")
    while found and found[-1].token_type is TokenType.SEMICOLON:
        found.pop()
    if len(found) > MOST_WORDS:
        raise RefusedQueryError(f"the query has {len(found):,} words", f"write it with at most {MOST_WORDS:,}")
    return found


def _checked(tokens: list[Token], names: Collection[str]) -> list[Token]:
    """The same tokens; refused where one is not on the list or the nesting is too deep."""
    if not tokens:
        raise RefusedQueryError("the query is empty", HOW)
    if tokens[0].token_type not in (TokenType.SELECT, TokenType.FROM):
        word = _word(tokens[0])
        raise RefusedQueryError(f"only SELECT is answered, not {word}", REMEDIES.get(word, HOW))
    _check_depth(tokens)
    selects = 0
    for i, token in enumerate(tokens):
        selects += token.token_type is TokenType.SELECT
        if selects > 1:
            raise RefusedQueryError("a sub-query is not answered", "write one SELECT without sub-queries")
        if token.token_type is TokenType.SEMICOLON:
            raise RefusedQueryError("there is more than one statement", "ask one SELECT at a time")
        following = tokens[i + 1] if i + 1 < len(tokens) else None
        if following is not None and following.token_type is TokenType.L_PAREN:
            _check_function(tokens, i)
        elif token.text.lower() in names and token.token_type not in _GRAMMAR and not _typing(tokens, i):
            token.token_type = TokenType.VAR  # a declared name that is a keyword: the parser would try other readings
        _check_word(token, following)
    return tokens


def _typing(tokens: Sequence[Token], i: int) -> bool:
    """DATE '2020-01-31', CAST(x AS DATE), x::DATE, and names in quotes."""
    after_type = i + 1 < len(tokens) and tokens[i + 1].token_type is TokenType.STRING
    cast_to = i > 0 and tokens[i - 1].token_type in (TokenType.ALIAS, TokenType.DCOLON)
    return (tokens[i].token_type in _TYPES and (after_type or cast_to)) or tokens[i].token_type is TokenType.IDENTIFIER


def _check_word(token: Token, following: Token | None) -> None:
    kind = token.token_type
    if not (kind in _GRAMMAR or kind in _TYPES or kind in _NAMES):
        word = _word(token)
        raise RefusedQueryError(f"{word} is not answered", REMEDIES.get(word, HOW))
    glued = following is not None and following.start == token.end + 1
    if kind is TokenType.NUMBER and glued and following is not None and following.token_type in _NAMES:
        raise RefusedQueryError(
            f"{show(token.text + following.text)} is not a number", "write numbers such as 16, 0.5 or 1e3"
        )


def _check_function(tokens: Sequence[Token], i: int) -> None:
    """The word before a parenthesis must be a known function or a word of the grammar."""
    token, kind = tokens[i], tokens[i].token_type
    before = tokens[i - 1].token_type if i else None
    if kind in _OPENING or not re.match(r"\w", token.text) or _sized(token, before):
        return
    name = token.text.upper()
    if name not in FUNCTIONS:
        close = difflib.get_close_matches(name, FUNCTIONS, 1, 0.8)
        remedy = f"did you mean {close[0]}?" if close else "the functions are: " + ", ".join(FUNCTIONS[:3]) + _REST
        raise RefusedQueryError(f"{_word(token)} is not answered yet", REMEDIES.get(name, remedy))


_REST = ", ABS, FLOOR, CEIL, ROUND, LEAST, GREATEST, COALESCE, NULLIF, IF, date_trunc, EXTRACT, CAST"


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
                raise RefusedQueryError("DATE stands inside DATE", "take the day once")
            opened.append((run + 1, dated))
            depth += run + 1
        elif kind in (TokenType.R_PAREN, TokenType.END) and opened:
            depth -= opened.pop()[0]
        if depth + run > DEEPEST:
            raise RefusedQueryError(*TOO_DEEP)
        run = run if kind in _PREFIXES else 0


def _word(token: Token) -> str:
    """A keyword as it is known; anything else as the user wrote it."""
    word = " ".join(token.text.upper().split())
    return word if re.fullmatch(r"[A-Z_ ]{1,30}|[!-/:-@[-`{-~]{1,3}", word) else show(token.text)

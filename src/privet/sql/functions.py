"""The words of functions on values: names that may stand before a parenthesis, signs, and what to write instead."""

from __future__ import annotations

from sqlglot.tokenizer_core import TokenType

FUNCTIONS = (
    "COALESCE", "IFNULL", "NVL", "NVL2", "NULLIF", "IF", "IIF", "DECODE", "LEAST", "GREATEST", "ABS", "SIGN", "FLOOR",
    "CEIL", "CEILING", "ROUND", "TRUNC", "TRUNCATE", "MOD", "POWER", "POW", "SQRT", "CBRT", "LN", "LOG", "LOG2",
    "LOG10", "EXP", "SAFE_DIVIDE", "WIDTH_BUCKET", "CAST",
    "TRY_CAST", "DATE", "DATE_TRUNC", "DATETRUNC", "TIMESTAMP_TRUNC", "EXTRACT", "DATE_PART", "DATEPART", "YEAR",
    "ISOYEAR", "YEAROFWEEK", "QUARTER", "MONTH", "WEEK", "WEEKOFYEAR", "DAY", "DAYOFMONTH", "DAYOFWEEK", "ISODOW",
    "DAYOFWEEK_ISO", "DAYOFYEAR", "HOUR", "MINUTE", "SECOND", "DAYNAME", "MONTHNAME", "DATE_ADD", "DATEADD", "DATE_SUB",
    "ADD_MONTHS", "DATE_DIFF", "DATEDIFF", "LAST_DAY", "TO_CHAR", "STRFTIME", "DATE_FORMAT", "FORMAT_DATE", "TIMEZONE",
    "FROM_UTC_TIMESTAMP", "DATETIME", "UPPER", "UCASE", "LOWER", "LCASE", "TRIM", "BTRIM", "LTRIM", "RTRIM", "LENGTH",
    "LEN", "CHAR_LENGTH", "CHARACTER_LENGTH", "SUBSTR", "SUBSTRING", "LEFT", "RIGHT", "CONCAT", "REPLACE",
    "STARTS_WITH", "STARTSWITH", "PREFIX", "ENDS_WITH", "ENDSWITH", "SUFFIX", "CONTAINS", "SPLIT_PART",
)  # fmt: skip
# Dialects give these different orders of arguments: they are kept as the user wrote them, and read by `named`.
KEPT = {
    "DATE_TRUNC", "DATETRUNC", "DATE_ADD", "DATEADD", "DATE_SUB", "DATE_DIFF", "DATEDIFF", "DECODE", "TO_CHAR",
    "STRFTIME", "DATE_FORMAT", "FORMAT_DATE", "REGR_SLOPE", "REGR_INTERCEPT", "REGR_R2",
}  # fmt: skip
SIGNS = {
    TokenType.LIKE, TokenType.ILIKE, TokenType.ESCAPE, TokenType.DPIPE, TokenType.MOD, TokenType.DIV, TokenType.DSTAR,
    TokenType.CARET, TokenType.CARET_AT, TokenType.FOR,
}  # fmt: skip
# words of the grammar that are functions before a parenthesis
CALLED = {TokenType.LEFT, TokenType.RIGHT, TokenType.REPLACE, TokenType.TRUNCATE}
OPENING = {TokenType.LIKE, TokenType.ILIKE, TokenType.FOR}

SPANS = ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND", "MILLISECOND", "MICROSECOND")
UNITS = {*SPANS, *(f"{span}S" for span in SPANS)}

_PATTERN = "write x LIKE 'B%', where % is any text and _ one character"
_WEEKDAY = "engines number weekdays differently: write ISODOW(day), which is 1 on Mondays"
REMEDIES = {
    "GLOB": _PATTERN, "SIMILAR TO": _PATTERN, "~": _PATTERN, "~*": _PATTERN, "!~": _PATTERN, "RLIKE": _PATTERN,
    "REGEXP": _PATTERN, "REGEXP_MATCHES": _PATTERN, "REGEXP_LIKE": _PATTERN, "REGEXP_CONTAINS": _PATTERN,
    "REGEXP_FULL_MATCH": _PATTERN, "REGEXP_EXTRACT": "write SPLIT_PART(x, '-', 1) or SUBSTRING(x, 1, 3)",
    "REGEXP_REPLACE": "write REPLACE(x, 'old', 'new')", "CONTAINS_SUBSTR": "write x ILIKE '%text%'",
    "INSTR": "write CONTAINS(x, 'text')", "STRPOS": "write CONTAINS(x, 'text')",
    "POSITION": "write CONTAINS(x, 'text')", "INITCAP": "write UPPER(x) or LOWER(x)",
    "CONCAT_WS": "write CONCAT(x, '-', y)", "COLLATE": "write UPPER(x) = 'TEXT'",
    "DIV": "write x // 10, or FLOOR(x / 10)", "LOG1P": "write LN(x + 1)", "EXPM1": "write EXP(x) - 1",
    "WEEKDAY": _WEEKDAY, "AGE": "write DATE_DIFF('year', born, DATE '2024-01-31')",
    "MONTHS_BETWEEN": "write DATE_DIFF('month', first, last)", "TIMESTAMP_DIFF": "write DATE_DIFF('day', first, last)",
    "ANY": "write x IN ('a', 'b'), or x LIKE 'a%' OR x LIKE 'b%'", "INTERVAL": "write DATE_ADD(day, INTERVAL 7 DAY)",
}  # fmt: skip

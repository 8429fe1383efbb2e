"""Where in the user's text a refusal points: one line of it, with a mark below."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from sqlglot import ErrorLevel, exp
from sqlglot.tokenizer_core import Token

from privet.errors import RefusedQueryError

Span = tuple[int, int]  # the first character and the one behind the last
Tokenize = Callable[[str], Sequence[Token]]
WIDEST = 100  # characters of a line that are quoted
BEFORE = 40  # of them before the mark
LONGEST = 200  # words of a construct that is looked for


@contextmanager
def at(part: object) -> Iterator[None]:
    """Refusals inside point to this node, token or span, unless something smaller was named already."""
    try:
        yield
    except RefusedQueryError as error:
        point(error, part)
        raise


def point(error: RefusedQueryError, part: object) -> RefusedQueryError:
    error.part = part if error.part is None else error.part
    return error


def place_of(part: object, text: str, tokenize: Tokenize) -> str:
    """The line that a part stands in and a mark under it; empty where it cannot be found."""
    match part:
        case Token():
            return quoted(text, (part.start, part.end + 1))
        case (int(start), int(end)):
            return quoted(text, (start, end))
        case exp.Expr():
            span = _span(part, text, tokenize)
            return "" if span is None else quoted(text, span)
        case _:
            return ""


def quoted(text: str, span: Span) -> str:
    """At most one line, at most `WIDEST` characters of it, and nothing that a terminal would act upon."""
    line, place = _line(text, span[0])
    cut = max(0, place - BEFORE) if len(line) > WIDEST else 0
    shown = "".join(letter if letter.isprintable() else " " for letter in line[cut : cut + WIDEST]).rstrip()
    if cut:
        shown = "..." + shown[3:]
    if cut + WIDEST < len(line):
        shown = shown[:-3] + "..."
    width = max(1, min(span[1] - span[0], len(shown) - (place - cut)))
    return f"  {shown}\n  {' ' * (place - cut)}{'^' * width}"


def _line(text: str, start: int) -> tuple[str, int]:
    """The line of a character, and where it stands in it."""
    first = 0
    for line in text.splitlines(keepends=True):
        if first <= start < first + len(line):
            return line, start - first
        first += len(line)
    return "", 0


def _span(node: exp.Expr | None, text: str, tokenize: Tokenize) -> Span | None:
    """The smallest construct around a node that can be found in the text."""
    written = tokenize(text)
    while node is not None:
        known = _known(node)
        found = _found(node, known, written, tokenize) or known
        if found is not None:
            return found
        node = node.parent
    return None


def _known(node: exp.Expr) -> Span | None:
    """From the first to the last name or constant in it: the parser keeps where those stand."""
    places = [part.meta for part in node.walk() if "start" in part.meta]
    if not places:
        return None
    return min(place["start"] for place in places), max(place["end"] for place in places) + 1


def _found(node: exp.Expr, known: Span | None, written: Sequence[Token], tokenize: Tokenize) -> Span | None:
    """Where the same words stand in the text, around the known names."""
    sql = node.sql("duckdb", comments=False, unsupported_level=ErrorLevel.IGNORE)
    words = [_word(token) for token in tokenize(sql)]
    if not 0 < len(words) <= LONGEST:
        return None
    texts = [_word(token) for token in written]
    for i in range(len(texts) - len(words) + 1):
        if texts[i] == words[0] and texts[i : i + len(words)] == words:
            span = written[i].start, written[i + len(words) - 1].end + 1
            if known is None or (span[0] <= known[0] and known[1] <= span[1]):
                return span
    return None


def _word(token: Token) -> str:
    return token.text.upper()

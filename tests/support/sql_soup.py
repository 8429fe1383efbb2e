"""Texts that look like SQL: mutated questions, words in any order, broken ones; and what must come of any text."""

from __future__ import annotations

import re
from random import Random

from privet.core.plan import Plan, fingerprint
from privet.errors import RefusedQueryError
from privet.sql import plan_of
from privet.sql.places import WIDEST
from support.sql_writer import FACTS, PAIRS, TABLES, UNITS

# Words of engines and of the parser, which we do not use.
FOREIGN = re.compile(
    r"sqlglot|duckdb|traceback|exception|expected|token|invalid expression|required keyword|<class|0x\w{6}", re.I
)
GOOD = [text for text, _ in PAIRS]
SOUP = sorted(
    {word for text in GOOD for word in re.findall(r"\w+|'[^']*'|[^\w\s]", text)}
    | set("()[]{}.,;*/'\"`$?@#|&^~<>=!%\\\u00a0\né🙂")
    | {"::", "--", "/*", "*/", "UNION", "WITH", "LATERAL", "UNNEST", "STRUCT", "MAP", "OVER", "PIVOT", "TABLE"}
    | {"FULL", "NATURAL", "ASOF", "RECURSIVE", "(SELECT", "FROM (SELECT", "EXISTS (SELECT 1 FROM stays"}
)  # fmt: skip
LIKELY = re.findall(
    r"\S+", "age cost ward day arrived smoker 1 20 NULL TRUE AND OR NOT = < + * COUNT SUM ABS YEAR DESC DISTINCT MEDIAN"
)


def mutated(random: Random) -> str:
    words = re.findall(r"\w+|'[^']*'|\s+|[^\w\s]", random.choice(GOOD))
    for _ in range(random.randint(1, 3)):
        place = random.randrange(len(words) + 1)
        match random.randrange(6):
            case 0:
                words[place : place + 1] = []
            case 1:
                words[place:place] = [random.choice(SOUP)]
            case 2:
                names = [i for i, word in enumerate(words) if word.isalnum()]
                if names:
                    words[random.choice(names)] = random.choice(LIKELY)
            case 3:
                other = random.choice(GOOD).split(" ")
                start = random.randrange(len(other))
                words[place:place] = [" ", *other[start : start + random.randint(1, 6)], " "]
            case 4:
                words[place:place] = words[place : place + random.randint(1, 9)] * random.randint(1, 4)
            case _:
                words[place : place + 1] = ["(", *words[place : place + 3], ")"]
    return "".join(words)


def soup(random: Random) -> str:
    start = random.choice(
        ["SELECT ", "SELECT COUNT(*) FROM visits WHERE ", "SELECT ward, COUNT(*) FROM visits GROUP BY ", ""]
    )
    return start + " ".join(random.choices(SOUP, k=random.randint(1, 25)))


def broken(random: Random) -> str:
    text = list(random.choice(GOOD))
    for _ in range(random.randint(1, 5)):
        text[random.randrange(len(text))] = chr(random.choice([random.randrange(128), random.randrange(0x11_0000)]))
    return "".join(text)


def outcome(text: str) -> Plan | RefusedQueryError:
    """A plan, or a refusal that is short and says nothing that neither we nor the user wrote."""
    try:
        plan = plan_of(text, TABLES, units=UNITS, facts=FACTS)
    except RefusedQueryError as caught:
        error = caught
    else:
        assert plan.table in TABLES
        assert fingerprint(plan)
        return plan
    for line in (error.problem, error.remedy):
        assert 0 < len(line) <= 300, line
        assert line.isprintable(), line
        assert all(word.lower() in text.lower() for word in FOREIGN.findall(line)), line
    check_place(error.place, text)
    assert error.__cause__ is None
    assert error.__suppress_context__ or error.__context__ is None
    return error


def check_place(place: str, text: str) -> None:
    """Nothing, or a line of the text and a mark within it."""
    if place:
        line, mark = place.split("\n")
        assert line.isprintable(), line
        assert len(line) <= WIDEST + 2
        assert set(mark.strip()) == {"^"}
        assert len(mark) <= max(len(line), len(mark.rstrip("^")) + 1)
        assert all(word in text for word in re.findall(r"\w+", line.strip().strip(".")))

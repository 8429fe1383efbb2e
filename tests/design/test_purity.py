"""The core is pure: its syntax trees name only what is on a list. No clock, chance, file, network, NumPy or other room.

The list says what is allowed, so that nothing has to be thought of to be refused.
"""

from __future__ import annotations

import ast
import builtins
import re
from pathlib import Path

import pytest
from support.places import SOURCE

PURE = [*sorted((SOURCE / "core").rglob("*.py")), SOURCE / "errors.py"]

STANDARD = {
    "__future__": {"annotations"},
    "calendar": {"monthrange"},
    "collections.abc": {"Callable", "Iterable", "Iterator", "Mapping", "Sequence"},
    "dataclasses": {"dataclass", "field", "fields", "is_dataclass", "replace"},
    "datetime": {"date", "datetime", "timedelta"},
    "decimal": {"Decimal", "InvalidOperation"},
    "enum": {"StrEnum"},
    "fractions": {"Fraction"},
    "functools": {"lru_cache", "reduce"},
    "hashlib": {"sha256"},
    "itertools": {"chain", "islice", "product"},
    "json": {"dumps"},
    "math": {"ceil", "floor", "gcd", "isqrt", "log", "log10", "log1p", "prod", "trunc"},
    "numbers": {"Integral", "Number", "Rational", "Real"},
    "operator": {"index"},
    "re": {"compile"},
    "typing": {"Any", "TypeVar", "assert_never", "cast"},
}
BUILTINS = {
    "Exception", "OverflowError", "TypeError", "UnicodeEncodeError", "ValueError",
    "abs", "all", "any", "bool", "chr", "dict", "divmod", "enumerate", "filter", "float", "getattr", "int",
    "isinstance", "iter", "len", "list", "map", "max", "min", "next", "object", "ord", "property", "range", "repr",
    "round", "set", "sorted", "str", "sum", "super", "tuple", "type", "zip",
}  # fmt: skip
SPECIAL = {"__init__", "__module__", "__name__", "__qualname__", "__setattr__"}  # of the names with underscores around
PLACE = {"astimezone", "ctime", "fromtimestamp", "now", "timestamp", "today", "utcfromtimestamp", "utcnow"}  # here, now


def imported(node: ast.Import | ast.ImportFrom, rooms: tuple[str, ...]) -> list[str]:
    """What an import names and may not: another room, another library, or another name of an allowed one."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names if alias.name not in STANDARD and not of_room(alias.name, rooms)]
    if node.level:
        return ["an import relative to the file"]
    source = node.module or ""
    names = [(alias.name, f"{source}.{alias.name}") for alias in node.names]
    if of_room(source, rooms):
        return [whole for name, whole in names if name == "*"]
    return [whole for name, whole in names if name not in STANDARD.get(source, ()) and not of_room(whole, rooms)]


def of_room(name: str, rooms: tuple[str, ...]) -> bool:
    return any(name == room or name.startswith(f"{room}.") for room in rooms)


def modules_in(tree: ast.AST) -> dict[str, str]:
    """Name in the file -> the module behind it."""
    aliases = [alias for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
    return {alias.asname or alias.name.split(".")[0]: alias.name for alias in aliases}


def named(node: ast.AST, modules: dict[str, str]) -> list[str]:
    """What a node reads that is not on the lists."""
    match node:
        case ast.Attribute(value=ast.Name(id=module), attr=name) if module in modules:
            standard = STANDARD.get(modules[module])
            return [] if standard is None or name in standard else [f"{modules[module]}.{name}"]
        case ast.Attribute(attr=name) if name in PLACE or (name.startswith("__") and name not in SPECIAL):
            return [f".{name}"]
        case ast.Name(id=name) if (hasattr(builtins, name) or name.startswith("__")) and name not in BUILTINS:
            return [name]
        case ast.Call(func=ast.Name(id="getattr"), args=[ast.Name(id=module), *_]) if module in modules:
            return [f"getattr({module}, …)"]
        case ast.Call(func=ast.Name(id="getattr"), args=[_, ast.Constant(value=str(name)), *_]):
            return named(ast.Attribute(value=ast.Constant(0), attr=name), {})
    return []


def impurities(text: str, rooms: tuple[str, ...] = ("privet.core", "privet.errors")) -> list[str]:
    """Everything in a file that makes it impure."""
    tree = ast.parse(text)
    modules = modules_in(tree)
    found: list[str] = []
    for node in ast.walk(tree):
        found += imported(node, rooms) if isinstance(node, ast.Import | ast.ImportFrom) else named(node, modules)
    return found


@pytest.mark.parametrize("path", PURE, ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_pure_file_names_only_what_is_on_the_list(path: Path) -> None:
    assert impurities(path.read_text()) == []


def test_the_lists_hold_nothing_that_is_not_used() -> None:
    """What nobody needs is not allowed either."""
    text = "\n".join(path.read_text() for path in PURE)
    listed = BUILTINS | SPECIAL | set.union(*STANDARD.values())
    assert [name for name in sorted(listed) if not re.search(rf"\b{name}\b", text)] == []


def test_a_planted_import_in_the_core_is_refused() -> None:
    text = (SOURCE / "core" / "loss.py").read_text()
    assert impurities(text) == []
    assert impurities(text.replace("\n\n", "\nimport random, time, socket\n\n", 1)) == ["random", "time", "socket"]


PLANTED = {
    "def f():\n    import time": "time",
    "if True:\n    from os import path": "os.path",
    "from random import random": "random.random",
    "from datetime import datetime as d\nd.now()": ".now",
    "import datetime as dt\ndt.datetime.now()": ".now",
    "import datetime as dt\ndt.date.today()": ".today",
    "import datetime as dt\nf = dt.datetime.utcnow": ".utcnow",
    "import datetime as dt\ngetattr(dt.date, 'today')()": ".today",
    "import datetime as dt\ngetattr(dt, 'sys')": "getattr(dt, …)",
    "import datetime as dt\ndt.sys.modules": "datetime.sys",
    "from dataclasses import sys": "dataclasses.sys",
    "from json import *": "json.*",
    "import json\njson.load": "json.load",
    "import numpy as np": "numpy",
    "import importlib": "importlib",
    "__import__('time')": "__import__",
    "open('secret')": "open",
    "eval('1')": "eval",
    "exec('1')": "exec",
    "f = open": "open",
    "hash('a')": "hash",
    "id(1)": "id",
    "print(1)": "print",
    "globals()": "globals",
    "vars()": "vars",
    "__builtins__": "__builtins__",
    "().__class__": ".__class__",
    "getattr((), '__class__')": ".__class__",
    "from privet import noise": "privet.noise",
    "from privet.noise import fast": "privet.noise.fast",
    "from privet.estimates.split import split": "privet.estimates.split.split",
    "from privet.core import *": "privet.core.*",
    "import privet": "privet",
    "import privet.vault": "privet.vault",
    "from . import loss": "an import relative to the file",
}


@pytest.mark.parametrize("text", PLANTED)
def test_what_is_not_on_the_list_is_refused(text: str) -> None:
    assert PLANTED[text] in impurities(text)


def test_what_is_on_the_list_is_allowed() -> None:
    allowed = (
        "from privet import core, errors\nimport privet.core.loss\nfrom privet.core.loss import Loss\nimport math\n"
    )
    assert impurities(allowed + "math.gcd(max([1]), getattr(1, 'real'))") == []


def imports_of(path: Path) -> set[str]:
    """Every module that a file imports, at any depth."""
    nodes = list(ast.walk(ast.parse(path.read_text())))
    plain = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    return plain | {node.module or "." for node in nodes if isinstance(node, ast.ImportFrom)}


def test_the_checker_of_proofs_imports_the_list_of_claims_and_nothing_else_of_ours() -> None:
    """So that its verdict depends on no solver: what it reads is the certificate and the release."""
    allowed = {"__future__", "collections.abc", "dataclasses", "privet.core.claim"}
    assert imports_of(SOURCE / "attacks" / "proofs" / "certificate.py") == allowed

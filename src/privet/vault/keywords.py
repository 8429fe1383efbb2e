"""Calls with a keyword that does not exist: refused with the one that was probably meant, before anything is done."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from functools import wraps
from typing import ParamSpec, TypeVar

from privet.core.rational import show
from privet.errors import InvalidInputError
from privet.spelling import did_you_mean

P = ParamSpec("P")
R = TypeVar("R")
ELSEWHERE = {  # as vault.toml, the command line or other libraries say it
    "rows_are_units": "unit=None (each row is one person)",
    "id": 'unit="patient_id"', "user": 'unit="patient_id"', "unit_column": 'unit="patient_id"',
    "privacy_unit": 'unit="patient_id"', "eps": "epsilon", "user_id": 'unit="patient_id"',
    "path": "data", "file": "data", "filename": "data", "source": "data", "df": "data",
    "sep": "delimiter", "separator": "delimiter", "skiprows": "skip", "na_values": "missing",
}  # fmt: skip


def known_keywords(*others: Iterable[str]) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Of a function: its own parameters, and what it hands on."""

    def decorated(function: Callable[P, R]) -> Callable[P, R]:
        parameters = inspect.signature(function).parameters.values()
        known = {one.name for one in parameters if one.kind is not one.VAR_KEYWORD} | set().union(*others)

        @wraps(function)
        def called(*args: P.args, **kwargs: P.kwargs) -> R:
            for name in kwargs:
                if name not in known:
                    raise unknown_keyword(name, known - {"self"})
            return function(*args, **kwargs)

        return called

    return decorated


def unknown_keyword(name: str, known: Iterable[str]) -> InvalidInputError:
    meant = f"did you mean {ELSEWHERE[name]}? " if name in ELSEWHERE else did_you_mean(name, known)
    return InvalidInputError(
        f"there is no option {show(name)}", f"{meant}the options are: {', '.join(sorted(known))}", "unknown-option"
    )

"""Ids replaced by keyed pseudonyms, the same over tables, and direct identifiers dropped.

    key = Key.read("clinic.key")
    made = pseudonymize({"patients": patients, "visits": visits}, {"patient_id": "patient"}, key, drop=("name",))
    made.tables["visits"]

A pseudonym is HMAC-SHA-256 of the id and of the kind of id, under a key that never leaves its file, cut to some
letters. Who has no key cannot list ids and hash them (`pv.attacks.reverse`). The same id of the same kind gets the same
pseudonym in all tables, so that they can still be joined; an id of another kind gets another one, even if it is spelled
the same. Two ids never share a pseudonym: that is checked, not hoped for.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from privet.anonymize.direct import Hint, hints
from privet.anonymize.key_file import Key
from privet.core.rational import show
from privet.errors import InvalidInputError
from privet.records.microdata import Microdata, RecordColumn, narrow

Progress = Callable[[str, int, int], object]
LETTERS = 32  # of a pseudonym, 4 bits each
FEWEST, MOST = 4, 64
NORMAL: dict[str, Callable[[str], str]] = {"trim": str.strip, "case": str.casefold}
STEP = 2**16  # ids between two signs of life


@dataclass(frozen=True, slots=True, kw_only=True)
class PseudonymKind:
    """What was done for one kind of ids. `chance`: an upper bound on the chance, before any key was drawn, that two of
    so many ids share a pseudonym of this length: each of the n(n-1)/2 pairs does with 16^-length, if HMAC-SHA-256 is
    a pseudorandom function."""

    name: str
    columns: tuple[str, ...]  # "table.column"
    ids: int
    length: int

    @property
    def chance(self) -> Fraction:
        return min(Fraction(1), Fraction(self.ids * (self.ids - 1), 2 * 16**self.length))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Pseudonymized:
    """The tables to ship. `hints` name columns that are left and look as if they told who somebody is."""

    tables: Mapping[str, Microdata]
    kinds: tuple[PseudonymKind, ...]
    version: int
    dropped: tuple[str, ...]
    hints: tuple[Hint, ...]

    def to_json(self) -> dict[str, Any]:
        return {
            "key_version": self.version,
            "rows": {name: len(table) for name, table in self.tables.items()},
            "kinds": [
                {"kind": kind.name, "columns": kind.columns, "ids": kind.ids, "length": kind.length,
                 "collisions": 0, "chance_of_a_collision": float(kind.chance)}
                for kind in self.kinds
            ],
            "dropped": self.dropped,
            "hints": [{"column": hint.column, "looks_like": hint.like, "why": hint.why} for hint in self.hints],
        }  # fmt: skip

    def __str__(self) -> str:
        lines = [
            f"{kind.name}: {kind.ids:,} ids in {', '.join(kind.columns)} have pseudonyms of {kind.length} letters;"
            f" no two share one (chance beforehand: at most {float(kind.chance):.1g})"
            for kind in self.kinds
        ]
        lines += [f"dropped: {', '.join(self.dropped)}"] if self.dropped else []
        return "\n".join([*lines, *map(str, self.hints)])


def pseudonymize(  # noqa: PLR0913  the rest is keyword-only
    tables: Mapping[str, Microdata],
    columns: Mapping[str, str],
    key: Key,
    *,
    version: int | None = None,
    length: int = LETTERS,
    lengthen: bool = False,
    drop: Sequence[str] = (),
    normal: Sequence[str] = (),
    progress: Progress | None = None,
) -> Pseudonymized:
    """`columns`: the kind of id of each column with ids, such as {"patient_id": "patient", "id": "patient"}; a column
    is looked for in all tables. `normal`: "trim" and "case" take spaces around an id and capitals to mean nothing.
    Missing ids stay missing. If two ids would share a pseudonym, it fails, or, with `lengthen`, takes more letters."""
    _check(tables, columns, drop, length, normal)
    made: dict[str, dict[str, RecordColumn]] = {name: dict(table.columns) for name, table in tables.items()}
    kinds = []
    for kind in dict.fromkeys(columns.values()):
        places = [(t, c) for t, table in tables.items() for c in columns if columns[c] == kind and c in table.columns]
        used = [tables[t][c] for t, c in places]
        pseudonyms = _pseudonyms(used, kind, key.secret(version), normal, progress or (lambda *_: None))
        letters = _long_enough(pseudonyms, kind, length, lengthen=lengthen)
        for (t, c), column in zip(places, used, strict=True):
            made[t][c] = _replaced(column, pseudonyms, normal, letters)
        names = tuple(f"{t}.{c}" for t, c in places)
        kinds.append(PseudonymKind(name=kind, columns=names, ids=len(pseudonyms), length=letters))
    shipped = {
        name: Microdata({c: column for c, column in made[name].items() if c not in drop}, len(table))
        for name, table in tables.items()
    }
    return Pseudonymized(
        tables=shipped,
        kinds=tuple(kinds),
        version=key.latest if version is None else version,
        dropped=tuple(f"{name}.{c}" for name in tables for c in tables[name].columns if c in drop),
        hints=tuple(hint for name, table in shipped.items() for hint in hints(name, table, tuple(columns))),
    )


def mapping(  # noqa: PLR0913  the rest is keyword-only
    tables: Mapping[str, Microdata],
    columns: Mapping[str, str],
    key: Key,
    old: int,
    *,
    lengths: Mapping[str, int] | None = None,
    normal: Sequence[str] = (),
) -> list[tuple[str, str, str]]:
    """(kind, old pseudonym, new one) of every id, with the letters that its kind has: needs both keys and the ids. It
    links the old release to the new one, so keep it as the keys are kept."""
    pairs = []
    for kind in dict.fromkeys(columns.values()):
        length = (lengths or {}).get(kind, LETTERS)
        used = [table[c] for table in tables.values() for c in columns if columns[c] == kind and c in table.columns]
        for one in _ids(used, normal):
            before, now = (pseudonym(one, kind, key.secret(version))[:length] for version in (old, key.latest))
            pairs.append((kind, before, now))
    return sorted(pairs)


def pseudonym(one: str, kind: str, secret: bytes) -> str:
    """64 letters."""
    return hmac.digest(secret, _named(kind) + one.encode(errors="surrogatepass"), "sha256").hex()


def _named(kind: str) -> bytes:
    """The length of the kind comes first, so that no two pairs of kind and id are the same message."""
    named = kind.encode(errors="surrogatepass")
    return len(named).to_bytes(4, "big") + named


def normalized(text: str | None, normal: Sequence[str]) -> str | None:
    """What is empty then is missing, and not somebody."""
    if not normal or text is None:
        return text
    for name in normal:
        text = NORMAL[name](text)
    return text or None


def _check(
    tables: Mapping[str, Microdata], columns: Mapping[str, str], drop: Sequence[str], length: int, normal: Sequence[str]
) -> None:
    everywhere = {name for table in tables.values() for name in table.columns}
    if not tables or not columns:
        raise InvalidInputError(
            "there are no ids to replace", "name the tables and the columns that hold ids", "nothing-to-do"
        )
    for name in (*columns, *drop):
        if name not in everywhere:
            raise InvalidInputError(
                f"no table has a column {show(name)}",
                f"use one of {', '.join(map(show, sorted(everywhere)))}",
                "unknown-column",
            )
    both = sorted(set(columns) & set(drop))
    if both:
        raise InvalidInputError(f"{show(both[0])} is both replaced and dropped", "choose one", "duplicate-name")
    if not FEWEST <= length <= MOST:
        raise InvalidInputError(
            f"a pseudonym cannot have {length} letters", f"give {FEWEST} to {MOST} ({LETTERS} is usual)", "out-of-range"
        )
    for name in normal:
        if name not in NORMAL:
            raise InvalidInputError(
                f"there is no normal form {show(name)}", f"use {' or '.join(NORMAL)}", "unknown-choice"
            )


def _ids(columns: Sequence[RecordColumn], normal: Sequence[str]) -> list[str]:
    texts = (
        normalized(text, normal)
        for column in columns
        for text, there in zip(column.texts, _there(column), strict=True)
        if there
    )
    return list(dict.fromkeys(text for text in texts if text is not None))


def _there(column: RecordColumn) -> list[bool]:
    """Which texts some record has: a column may list more."""
    counts = np.bincount(column.codes, minlength=len(column.texts))
    return [bool(count) for count in counts]


def _pseudonyms(
    columns: Sequence[RecordColumn], kind: str, secret: bytes, normal: Sequence[str], progress: Progress
) -> dict[str, str]:
    ids = _ids(columns, normal)
    found: dict[str, str] = {}
    for start in range(0, len(ids), STEP):
        progress(f"hashing {kind}", start, len(ids))
        found |= {one: pseudonym(one, kind, secret) for one in ids[start : start + STEP]}
    return found


def _long_enough(pseudonyms: Mapping[str, str], kind: str, length: int, *, lengthen: bool) -> int:
    """Exactly checked: as many different pseudonyms as ids."""
    for letters in range(length, MOST + 1):
        distinct = len({text[:letters] for text in pseudonyms.values()})
        if distinct == len(pseudonyms):
            return letters
        if not lengthen:
            enough = _long_enough(pseudonyms, kind, length, lengthen=True)
            raise InvalidInputError(
                f"with {length} letters {len(pseudonyms) - distinct:,} of {len(pseudonyms):,} pseudonyms of {kind}"
                " are already taken by another id",
                f"give a length of {enough} or more, here better {max(enough + 6, 16)}",
                "too-small",
            )
    raise AssertionError("two ids with one HMAC-SHA-256")  # nobody has seen that


def _replaced(column: RecordColumn, pseudonyms: Mapping[str, str], normal: Sequence[str], letters: int) -> RecordColumn:
    """Listed in the order of pseudonyms, so that the order of the ids is gone."""
    there = _there(column)
    ids = [normalized(text, normal) if used else None for text, used in zip(column.texts, there, strict=True)]
    texts = [None if one is None else pseudonyms[one][:letters] for one in ids]
    listed = sorted({text for text in texts if text is not None})
    missing = any(used and one is None for one, used in zip(ids, there, strict=True))
    found: tuple[str | None, ...] = (*listed, *((None,) if missing else ()))
    place = {text: number for number, text in enumerate(found)}
    lookup = np.array([place.get(text, 0) for text in texts], dtype=np.uint32)
    return RecordColumn(column.name, narrow(lookup[column.codes], len(found)), found)

"""Labeled records: rows of numbers or of a data frame, with the class of each. Chosen and joined, never changed."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from privet.errors import InvalidInputError
from privet.typing import Integers

FEWEST = 2


@dataclass(frozen=True, slots=True, eq=False)
class Records:
    """`rows` is an array or a data frame; `labels` has the class of each row."""

    rows: Any
    labels: npt.NDArray[Any]

    def __len__(self) -> int:
        return len(self.labels)

    def take(self, places: Integers) -> Records:
        chosen = self.rows.iloc[places] if hasattr(self.rows, "iloc") else self.rows[places]
        return Records(chosen, self.labels[places])

    def and_then(self, others: Records) -> Records:
        return Records(_joined(self.rows, others.rows), np.concatenate([self.labels, others.labels]))


def records_from(given: object, which: str, fewest: int = FEWEST) -> Records:
    """From a pair (X, y)."""
    if not isinstance(given, tuple | list) or len(given) != 2:
        raise InvalidInputError(
            f"the {which} are not a pair (X, y)", "give the rows and their classes as (X, y)", "wrong-type"
        )
    rows = given[0] if hasattr(given[0], "iloc") else np.asarray(given[0])
    labels = np.asarray(given[1])
    if getattr(rows, "ndim", 0) < 2 or labels.ndim != 1 or len(rows) != len(labels):
        raise InvalidInputError(
            f"the {which} have rows of shape {np.shape(rows)} and classes of shape {labels.shape}",
            "give X with one row per record and y with one class per record",
            "wrong-shape",
        )
    if len(labels) < fewest:
        raise InvalidInputError(f"there are {len(labels)} {which}", f"give {fewest} or more", "too-few")
    return Records(rows, labels)


def classes_of(members: Records, others: Records) -> npt.NDArray[Any]:
    """The classes, in order. With one there is nothing that a classifier could tell, and nothing to attack."""
    try:
        found = np.unique(np.concatenate([members.labels, others.labels]))
    except TypeError:
        raise InvalidInputError(
            "classes are of several types", "write all classes as numbers or all as texts", "wrong-type"
        ) from None
    if not np.isin(np.unique(members.labels), np.unique(others.labels)).any():
        raise InvalidInputError(
            "members and others have no class in common, so the class alone tells them apart",
            "write classes alike in both: 1 and yes, or the number 1 and the text '1', are different classes",
            "wrong-type",
        )
    if len(found) < 2:
        raise InvalidInputError(
            "all records are of one class, so there is nothing to classify",
            "give records of two or more classes",
            "no-variation",
        )
    if found.dtype.kind == "f" and not (np.isfinite(found).all() and (found == np.rint(found)).all()):
        raise InvalidInputError(
            "classes have decimals, and regressions cannot be attacked",
            "give a classifier, with classes as whole numbers or texts",
            "not-supported",
        )
    return found


def shared(members: Records, others: Records) -> int:
    """How many records, with their class, are among either."""
    seen, size = keys(members.and_then(others)), len(members)
    return len(set(seen[:size]) & set(seen[size:]))


def repeated(members: Records) -> int:
    """How many of them are the very record of another one."""
    return sum(count for count in Counter(keys(members)).values() if count > 1)


def keys(records: Records) -> list[str]:
    """Of records of one form: 1 and 1.0 would be different texts."""
    rows = records.rows.to_numpy() if hasattr(records.rows, "iloc") else records.rows
    return [repr((row.tolist(), label)) for row, label in zip(rows, records.labels.tolist(), strict=True)]


def _joined(one: Any, other: Any) -> Any:
    if hasattr(one, "iloc") != hasattr(other, "iloc"):
        raise InvalidInputError(
            "one X is a data frame and the other one is not", "give two data frames or two arrays", "wrong-type"
        )
    if hasattr(one, "iloc"):
        import pandas as pd  # noqa: PLC0415  who has a frame has it

        if sorted(map(str, one.columns)) != sorted(map(str, other.columns)):
            raise InvalidInputError(
                "the data frames have different columns", "give both with the same columns", "wrong-shape"
            )
        both = pd.concat([one, other], ignore_index=True)
        for name in one.columns if one.columns.is_unique else ():  # concat forgets categories that differ
            kinds = one[name].dtype, other[name].dtype
            if kinds[0] != kinds[1] and all(isinstance(kind, pd.CategoricalDtype) for kind in kinds):
                known = [kind.categories for kind in kinds]
                both[name] = pd.Categorical(both[name], known[0].append(known[1]).unique())
        return both
    if one.shape[1:] != other.shape[1:]:
        raise InvalidInputError(
            f"rows have shapes {one.shape[1:]} and {other.shape[1:]}", "give both with the same columns", "wrong-shape"
        )
    return np.concatenate([one, other])

"""What an anonymization gives back: the records to ship, how they were made, and what was lost."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from privet.anonymize.models import Model, T, values_of
from privet.core.rational import show
from privet.records.microdata import Microdata, RecordColumn, narrow, write
from privet.typing import Integers, Truths

SUPPRESSED = "*"
NO_GUARANTEE = (
    "This is no guarantee: anyone who knows more about people than the quasi-identifiers, or sees a second release, "
    "may still learn about them."
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Anonymized:
    """`data`: all records in their order, quasi-identifiers generalized, those suppressed with "*" in each of them.
    `classes`: for each record the number of its class, -1 if it is suppressed. `node`: the level of each quasi-
    identifier, where one was chosen for all records. `optimal`: whether no other choice loses less; `bound`: none
    loses less than that, in the measure that was minimized."""

    data: Microdata
    original: Microdata
    quasi: tuple[str, ...]
    sensitive: tuple[str, ...]
    classes: npt.NDArray[np.int32]
    suppressed: int
    node: Mapping[str, int] | None
    measures: Mapping[str, float]
    models: tuple[Model, ...]
    method: str
    seconds: float
    optimal: bool = False
    measure: str = "ncp"
    bound: float | None = None
    looks: int | None = None  # nodes that were counted
    nodes: int | None = None  # nodes that there are

    @property
    def labels(self) -> dict[str, tuple[str | None, ...]]:
        """The values that each quasi-identifier has in the release."""
        return {name: self.data[name].texts for name in self.quasi}

    @property
    def sizes(self) -> Integers:
        """The number of records in each class."""
        return np.bincount(self.classes[self.classes >= 0])

    @property
    def untouched(self) -> list[str]:
        """Columns that are shipped as they are, and that nothing looked at."""
        return [one.name for one in self.data if one.name not in (*self.quasi, *self.sensitive)]

    @property
    def telling(self) -> list[str]:
        """Those of them in which most records have a value of their own, as names and ids are."""
        alone = {name: np.count_nonzero(np.bincount(self.data[name].codes) == 1) for name in self.untouched}
        return [name for name, count in alone.items() if 2 * count > len(self.data)]

    @property
    def stars_hold(self) -> bool:
        """Whether the suppressed records, too, are as the models say: with their stars they look the same, and whoever
        is known to be in no class is known to be one of them. T is not asked: it compares with the whole table, of
        which they are a part, and which would be another one without them."""
        gone = self.classes < 0
        if not gone.any():
            return True
        for model in self.models:
            counts, overall = np.array([[self.suppressed]]), np.array([len(self.data)])
            if model.column is not None:
                values, overall = values_of(self.data[model.column])
                counts = np.bincount(values[gone], minlength=len(overall))[None, :]
            if not isinstance(model, T) and not model.holds(counts, overall)[0]:
                return False
        return True

    def rows(self, *, keep_suppressed: bool = True, shuffle: bool = False) -> Microdata:
        """The records to ship, in their order, or in one that tells nothing."""
        there = self.classes >= 0 if self.suppressed and not keep_suppressed else None
        if there is None and not shuffle:
            return self.data
        places = np.arange(len(self.data)) if there is None else np.flatnonzero(there)
        if shuffle:
            places = places[np.argsort(np.frombuffer(os.urandom(8 * len(places)), dtype=np.uint64))]
        return Microdata({one.name: _at(one, places) for one in self.data}, len(places))

    def write(
        self,
        path: str | os.PathLike[str],
        *,
        keep_suppressed: bool | None = None,
        shuffle: bool = False,
        delimiter: str = ",",
        spreadsheet_safe: bool = False,
    ) -> None:
        """To a CSV or Parquet file. Suppressed records are written with their stars if they are as the models say
        (`stars_hold`), and left out if not, unless `keep_suppressed` says otherwise. With
        `spreadsheet_safe` texts that a spreadsheet would take for formulas have an apostrophe before them."""
        keep = self.stars_hold if keep_suppressed is None else keep_suppressed
        shipped = self.rows(keep_suppressed=keep, shuffle=shuffle)
        write(shipped, path, delimiter=delimiter, spreadsheet_safe=spreadsheet_safe)

    def to_pandas(self, *, keep_suppressed: bool = True) -> Any:
        import pandas  # noqa: PLC0415  not in the base install

        return pandas.DataFrame({one.name: one.listed() for one in self.rows(keep_suppressed=keep_suppressed)})

    def to_json(self) -> dict[str, Any]:
        sizes = self.sizes
        return {
            "method": self.method,
            "models": [str(model) for model in self.models],
            "quasi": list(self.quasi),
            "sensitive": list(self.sensitive),
            "records": len(self.data),
            "suppressed": self.suppressed,
            "classes": len(sizes),
            "smallest_class": int(sizes.min(initial=len(self.data))),
            "node": None if self.node is None else dict(self.node),
            **dict(self.measures),
            "measure": self.measure,
            "optimal": self.optimal,
            "bound": self.bound,
            "looks": self.looks,
            "nodes": self.nodes,
            "seconds": round(self.seconds, 3),
        }

    def __str__(self) -> str:
        records, sizes = len(self.data), self.sizes
        of = "" if self.nodes is None else f" ({self.looks:,} of {self.nodes:,} nodes counted)"
        best = "the optimum" if self.optimal else "the best found"
        bound = "" if self.optimal or self.bound is None else f"; nothing is below {self.bound:.4g}"
        lines = [
            f"{', '.join(map(str, self.models))}: {records:,} records in {len(sizes):,} classes, "
            f"{self.suppressed:,} suppressed ({self.suppressed / records:.2%})",
            f"{self.measure} {self.measures[self.measure]:.4f}: {best}{of}{bound}",
            *([] if self.node is None else [f"levels: {', '.join(f'{name} {at}' for name, at in self.node.items())}"]),
            *self._words(),
            NO_GUARANTEE,
        ]
        return "\n".join(lines)

    def _words(self) -> list[str]:
        """On columns that are not as one might think."""
        found = []
        if self.telling:
            found.append(
                f"shipped unchanged, although most records have a value of their own: {', '.join(self.telling)}"
            )
        if self.original.left_out:
            found.append(f"not read, for their names or types: {', '.join(map(show, self.original.left_out))}")
        return found


def _at(column: RecordColumn, places: npt.NDArray[np.intp]) -> RecordColumn:
    """The column at some records, with only the texts that these have."""
    codes = column.codes[places]
    counts = np.bincount(codes, minlength=len(column.texts))
    texts = tuple(text for text, count in zip(column.texts, counts, strict=True) if count)
    return RecordColumn(column.name, narrow((np.cumsum(counts > 0) - 1)[codes], len(texts)), texts)


def recoded(column: RecordColumn, texts: Sequence[str | None], gone: Truths | None = None) -> RecordColumn:
    """The column with `texts[code]` in place of each code, and "*" for the records that are gone. Only texts of
    `texts` and the star are listed, in order; the empty text is a missing value."""
    said = [text or None for text in texts]
    found = {*said, *([] if gone is None else [SUPPRESSED])}
    ordered: list[str | None] = [*sorted(text for text in found if text is not None), *({None} & found)]
    place = {text: number for number, text in enumerate(ordered)}
    lookup = np.array([place[text] for text in said], dtype=np.min_scalar_type(max(0, len(ordered) - 1)))
    codes = lookup[column.codes]
    if gone is not None:
        codes[gone] = place[SUPPRESSED]
    return RecordColumn(column.name, codes, tuple(ordered))

"""Ways to ship records that are compared: as they are, without ids, k-anonymous, with l or t, in parts, or not at all
but as tables under differential privacy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from privet.anonymize.generalization import generalize
from privet.anonymize.hierarchy import Hierarchy
from privet.anonymize.mondrian_cuts import mondrian
from privet.anonymize.result import Anonymized
from privet.records.microdata import Microdata

Make = Callable[[Microdata], Anonymized | Microdata]


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """`make` turns records into those to ship. None of the kinds that ship records promises anything against who knows
    more; with `epsilon` no records are shipped, but tables of counts, with a guarantee."""

    name: str
    make: Make | None = None
    epsilon: Fraction | None = None
    ids: bool = False  # direct identifiers are still in it

    @property
    def guarantee(self) -> str:
        return "none" if self.epsilon is None else f"epsilon {float(self.epsilon):g}"


def ways(  # noqa: PLR0913  the rest is keyword-only
    quasi: Sequence[str],
    sensitive: str,
    *,
    hierarchies: Mapping[str, Hierarchy] | None = None,
    suppress: object = 0.05,
    epsilon: Fraction = Fraction(1),
    ids: bool = False,
) -> tuple[Way, ...]:
    """The usual ones."""

    def optimal(**models: Any) -> Make:
        return lambda data: generalize(
            data, quasi, hierarchies=hierarchies, suppress=suppress, sensitive=sensitive, **models
        )

    def parts(**models: Any) -> Make:
        return lambda data: mondrian(data, quasi, hierarchies=hierarchies, sensitive=sensitive, **models)

    return (
        *([Way(name="as it is", make=lambda data: data, ids=True)] if ids else []),
        Way(name="ids dropped" if ids else "as it is", make=lambda data: data),
        Way(name="k = 5", make=optimal(k=5)),
        Way(name="k = 10", make=optimal(k=10)),
        Way(name="k = 100", make=optimal(k=100)),
        Way(name="k = 5, l = 2", make=optimal(k=5, l=2)),
        Way(name="k = 5, t = 0.2", make=optimal(k=5, t="0.2")),
        Way(name="Mondrian, k = 5", make=parts(k=5)),
        Way(name="Mondrian, k = 5, l = 2", make=parts(k=5, l=2)),
        Way(name=f"noisy tables, epsilon {float(epsilon):g}", epsilon=epsilon),
    )

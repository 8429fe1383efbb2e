"""Which certain records say more than a published table itself.

That there are seven women in a table of sexes is what the table is for, and so is the rest: who is no woman. A record
is a finding where no single table has all that it says: race, sex and illness together, from tables of two of them at a
time. The rest of a table is a finding only if it is as small as what the rule would suppress, or one person.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from privet.attacks.release.statistics import EVERYBODY, Share, Statistic, Tables
from privet.records.conditions import columns_of

if TYPE_CHECKING:
    from privet.attacks.tables.certain import Certain
    from privet.attacks.tables.reconstruction import Reconstruction

ALONE = 1  # people who are few where no rule for suppression is known


def beyond(found: Reconstruction) -> tuple[Certain, ...]:
    """The certain records that are findings. Noisy counts publish no cell."""
    if found.tables.confidence is not None:
        return found.certain
    places, members = found.prepared.places, found.prepared.whole.members
    counted = [members[one.name] for one in found.tables.statistics if one.count is not None]
    cells = {group[0] for group in counted if len(group) == 1}
    rests = _rests(found)
    few = max((high for _, high in rules(found.tables)), default=ALONE)
    return tuple(
        one
        for one in found.certain
        if places[one.kind] not in cells and (places[one.kind] not in rests or _is_few(found, one, few))
    )


def rules(tables: Tables) -> list[tuple[int, int]]:
    """From how many people to how many a count was suppressed, by the cells that were."""
    hidden = [one.count for one in tables.statistics if is_hidden(one) and one.mark in ("", "primary")]
    return [(int(count.low or 0), int(count.high)) for count in hidden if count is not None and count.high is not None]


def is_hidden(statistic: Statistic) -> bool:
    """Whether a count was suppressed or rounded. A bound on how many people there are in all is no suppressed cell,
    unless it was marked as one."""
    count = statistic.count
    if count is None or (count.low is not None and count.low == count.high):
        return False
    return bool(statistic.mark) or statistic.where != EVERYBODY


def _is_few(found: Reconstruction, one: Certain, few: int) -> bool:
    """As small as what is suppressed, and not only a lower bound of more."""
    return one.count <= few and all(values[one.kind] == one.count for values in found.solutions)


def _rests(found: Reconstruction) -> set[int]:
    """The kinds of the whole release that the counts of one table tell from all others."""
    members, kinds = found.prepared.whole.members, len(found.prepared.whole.kinds)
    alone = set[int]()
    for table in _tables(found.tables):
        chance = np.random.default_rng(0)
        mixed = np.zeros(kinds, dtype=np.uint64)
        for statistic in table:
            mixed[list(members[statistic.name])] += chance.integers(1, 2**63, dtype=np.uint64)
        _, place, counts = np.unique(mixed, return_inverse=True, return_counts=True)
        alone.update(np.flatnonzero(counts[place.reshape(-1)] == 1).tolist())
    return alone


def _tables(tables: Tables) -> Iterator[list[Statistic]]:
    """The counts and shares about the same attributes, with those about some of them."""
    listed = [one for one in tables.statistics if one.count is not None or _shares(one)]
    mentioned = {one.name: columns_of(one.where) for one in listed}
    for columns in dict.fromkeys(mentioned.values()):
        yield [one for one in listed if mentioned[one.name] <= columns]


def _shares(statistic: Statistic) -> bool:
    return any(isinstance(measure, Share) for measure in statistic.measures)

"""People with several rows: noise that fits a row does not fit a person. Neighbors lack all rows of one person."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from privet.audits import Claim, People, Rows
from privet.gallery.draws import counts, laplace
from privet.gallery.entry import Make, Pair, Pick, pair
from privet.noise import discrete_laplace

WARDS = ("A", "B", "C", "D")


def _kept(rows: Any, limit: int) -> int:
    """How many rows are left when every person keeps at most so many."""
    seen: defaultdict[Any, int] = defaultdict(int)
    for person, *_ in rows:
        seen[person] += 1
    return sum(min(number, limit) for number in seen.values())


def unbounded_rows(pick: Pick) -> Pair:
    epsilon, limit = pick.epsilon(), pick.whole(1, 3)

    def broken(data: Any, size: int) -> Any:
        """A count of visits with noise for one row, where a person may have any number of them."""
        return len(data) + discrete_laplace(1 / epsilon, size)

    def fixed(data: Any, size: int) -> Any:
        """Every person keeps at most so many rows, decided by that person's rows alone, and the noise is for all of
        them."""
        return _kept(data, limit) + discrete_laplace(limit / epsilon, size)

    return pair("person-with-unbounded-rows", Claim(epsilon=epsilon), People(list(WARDS)), broken, fixed)


def one_row_too_many(pick: Pick) -> Pair:
    epsilon, limit = pick.epsilon(), pick.whole(1, 2)

    def broken(data: Any, size: int) -> Any:
        """Rows of a person are kept while no more than the limit were seen before: one too many."""
        return _kept(data, limit + 1) + discrete_laplace(limit / epsilon, size)

    def fixed(data: Any, size: int) -> Any:
        """As many rows are kept as the noise is for."""
        return _kept(data, limit) + discrete_laplace(limit / epsilon, size)

    return pair("row-limit-off-by-one", Claim(epsilon=epsilon), People(list(WARDS)), broken, fixed)


def many_groups(pick: Pick) -> Pair:
    epsilon, wards = pick.epsilon(0.5, 1.2), WARDS[: pick.whole(2, 4)]

    def people(data: Any) -> Any:
        """How many different people each ward has seen."""
        return counts([ward for _, ward in set(map(tuple, data))], wards)

    def broken(data: Any, size: int) -> Any:
        """Different people a group, with noise for one group: a person who is in all groups changes them all."""
        return people(data) + laplace(1 / epsilon, size, len(wards))

    def fixed(data: Any, size: int) -> Any:
        """A person is in at most all groups, once each: the scale is the number of groups / epsilon."""
        return people(data) + laplace(len(wards) / epsilon, size, len(wards))

    return pair("person-in-many-groups", Claim(epsilon=epsilon), People(list(wards)), broken, fixed)


def fan_out(pick: Pick) -> Pair:
    epsilon = pick.epsilon()
    beds = {ward: pick.whole(1, 6) for ward in WARDS} | {"D": pick.whole(3, 6)}

    def joined(data: Any) -> int:
        return sum(beds[ward] for ward in data)

    def broken(data: Any, size: int) -> Any:
        """Rows counted after a join with a public table of beds, with noise for one row: the join makes many of one."""
        return joined(data) + discrete_laplace(1 / epsilon, size)

    def fixed(data: Any, size: int) -> Any:
        """The noise is for the most rows of the public table that one row can meet."""
        return joined(data) + discrete_laplace(max(beds.values()) / epsilon, size)

    return pair("join-fan-out", Claim(epsilon=epsilon), Rows(list(WARDS)), broken, fixed)


ITEMS: tuple[Make, ...] = (unbounded_rows, one_row_too_many, many_groups, fan_out)

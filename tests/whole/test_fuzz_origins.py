"""One unit moves answers about joined tables as far as their price says, and no further; planted bugs are found."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from support import fuzz_origins
from support.fuzz_origins import fuzz
from support.fuzz_sensitivity import About

from privet.backends import originsql
from privet.backends.origins import Origins
from privet.catalog.vault_file import Table
from privet.core import origin
from privet.core.plan import Joined, Numbered, PerUnit, Plan
from privet.core.shape import Shape
from privet.estimates import levels
from privet.query import Query

CASES = 400


def test_no_unit_moves_an_answer_about_several_tables_further_than_its_price_says() -> None:
    """Witnesses attain each bound: those of one seed do as a rule, and others are asked if not."""
    left = {f"{cell}/l1" for cell in ("COUNT/add-remove/unit", "COUNT/replace/unit", "COUNT/add-remove/kernel")}
    for seed in range(1, 7):
        tally = fuzz(seed, CASES)
        assert tally.violations == []
        assert tally.cases >= CASES
        assert tally.from_sql > tally.rounds / 4
        assert tally.private > tally.rounds / 20
        assert tally.totals > tally.rounds / 20
        assert tally.too_long < tally.rounds / 5
        left = {cell for cell in left if tally.attained.get(cell, 0) != 1}
        if not left:
            break
    assert not left


def test_no_unit_moves_an_answer_about_numbered_rows_further_than_its_price_says() -> None:
    tally = fuzz(1, CASES // 2, about=fuzz_origins.of_numbered_rows)
    assert tally.violations == []
    assert tally.from_sql > tally.rounds / 10
    for cell in ("COUNT/add-remove/unit", "COUNT/replace/unit"):
        assert tally.attained[f"{cell}/l1"] == 1


# Planted bugs


def caught(*kinds: str, about: About | None = None, cases: int = 400, first: int = 0) -> bool:
    """Whether some seed finds it before so many cases. `first` is one that finds it soon."""
    return any(fuzz(seed, cases, kinds, about).found(kinds) for seed in (first, *range(3)))


def joined(check: Callable[[Joined], bool]) -> About:
    """Questions about such joins."""

    def about(plan: Plan, _: Table) -> bool:
        return isinstance(plan.origin, Joined) and check(plan.origin)

    return about


def made(plan: Plan, _: Table) -> bool:
    """Questions about rows made for each unit."""
    return isinstance(plan.origin, PerUnit)


def in_both(monkeypatch: pytest.MonkeyPatch, place: str, **change: Any) -> None:
    """Let the engine and the reference work on another join than they were given: replaying finds nothing then."""
    for owner in (originsql._Layers, Origins):
        monkeypatch.setattr(owner, place, _changed(getattr(owner, place), change))


def _changed(right: Callable[..., Any], change: dict[str, Any]) -> Callable[..., Any]:
    return lambda self, given, *rest: right(self, replace(given, **change), *rest)


def test_a_join_that_ignores_units_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """One person's rows stand beside everybody's."""
    monkeypatch.setattr(originsql, "same_unit", lambda *_: "TRUE")
    monkeypatch.setattr("privet.backends.origins.identity", lambda _: None)
    assert caught("sensitivity", about=joined(lambda one: one.by_unit))


def test_units_that_are_matched_loosely_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def loose(left: tuple[str, str], right: tuple[str, str]) -> str:
        return f"left(CAST({left[1]} AS VARCHAR), 1) = left(CAST({right[1]} AS VARCHAR), 1)"

    monkeypatch.setattr(originsql, "same_unit", loose)
    assert caught("sensitivity", about=joined(lambda one: one.by_unit), first=3)


def test_a_choice_of_rows_over_all_units_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whose rows are joined then depends on who else is there."""
    right = originsql._Layers._chosen

    def leaking(self: Any, given: Joined, names: Sequence[str]) -> originsql.Layer:
        layer = right(self, given, names)
        return replace(layer, sql=layer.sql.replace("PARTITION BY u ", "")) if given.by_unit else layer

    monkeypatch.setattr(originsql._Layers, "_chosen", leaking)
    assert caught("sensitivity", about=joined(lambda one: one.by_unit and one.most is not None))


def test_sums_over_all_units_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A group for each key, in the name of somebody who has it."""
    right = originsql._Layers._per_unit

    def leaking(self: Any, given: PerUnit, names: Sequence[str]) -> originsql.Layer:
        layer = right(self, given, names)
        return replace(layer, sql=layer.sql.replace("(SELECT u", "(SELECT max(u) OVER () AS u", 1))

    monkeypatch.setattr(originsql._Layers, "_per_unit", leaking)
    assert caught("sensitivity", "replay", about=made)


def test_an_order_over_all_units_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """PARTITION BY without the unit: whose row is the first then depends on who else is there."""
    right = originsql._Layers._numbered

    def leaking(self: Any, given: Numbered, names: Sequence[str]) -> originsql.Layer:
        layer = right(self, given, names)
        return replace(layer, sql=layer.sql.replace("PARTITION BY u", "PARTITION BY 1"))

    monkeypatch.setattr(originsql._Layers, "_numbered", leaking)
    assert caught("sensitivity", about=fuzz_origins.of_numbered_rows)


def test_rows_that_are_there_twice_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each row is a unit, and a public table has two rows for it."""
    monkeypatch.setattr("privet.backends.originsql.check_unit_wise", lambda *_: None)
    monkeypatch.setattr("privet.backends.reference.check_unit_wise", lambda *_: None)
    monkeypatch.setattr(fuzz_origins, "check_unit_wise", lambda *_: None)
    in_both(monkeypatch, "_joined", most=None)
    assert caught("sensitivity", about=_of_rows)


def _of_rows(_: Plan, table: Table) -> bool:
    return table.unit is None


def test_a_range_of_sums_that_is_too_small_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    right = origin._made

    def small(*given: Any) -> Shape:
        shape = right(*given)
        return replace(shape, high=min(shape.high, 1)) if shape.high > 1 else shape

    monkeypatch.setattr(origin, "_made", small)
    assert caught("replay", "failed", about=made)


def test_totals_that_leave_a_group_out_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    right = levels.groups_of

    def short(*given: Any) -> Any:
        for group in right(*given):
            yield replace(group, cells=group.cells[:-1]) if len(group.cells) > 1 else group

    monkeypatch.setattr("privet.estimates.estimate.groups_of", short)
    assert caught("totals", about=fuzz_origins.of_totals)


def test_totals_that_are_another_release_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Query, "request", property(lambda self: repr(self.plan.levels)))
    assert caught("totals", about=fuzz_origins.of_totals)

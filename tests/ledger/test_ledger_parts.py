"""Parts of the units in the ledger: in which accounts a charge counts, and that nobody learns more than the cap."""

from __future__ import annotations

import functools
import itertools
import math
import sqlite3
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path

import pytest
from support.charges import canonical, charge, parts, sha, terms
from support.refusals import raises_code

from privet.core.accountant import Budget, within
from privet.core.loss import approximate, pure, sequential, zcdp
from privet.core.partition import LONGEST_PART, Partition
from privet.core.unit import Neighbors
from privet.errors import BudgetExceededError, InvalidInputError, LedgerError, TamperedError
from privet.ledger import Charge, Kind, Policy
from privet.ledger.part_accounts import Said, called, charge_from, charge_text, counted, partition_from, partition_text
from privet.ledger.schema import DIVIDED, FORMAT
from privet.ledger.sqlite import SqliteLedger, create, restore
from privet.ledger.sqlite import open as open_ledger

ADD, REPLACE = Neighbors.ADD_REMOVE, Neighbors.REPLACE
NASTY = ("a", "b", "a|b", 'a", "b', "parts:", '["a", "b"]', "\\", "é", "e\u0301", "all", "by:", " a")


@pytest.fixture(params=Neighbors)
def ledger(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SqliteLedger]:
    with create(tmp_path / "l.sqlite", terms(1, 1e-9, neighbors=request.param)) as made:
        yield made
        made.verify()


def epsilons(ledger: SqliteLedger, part: str | None = None) -> set[Fraction | None]:
    return {reading.spent.loss.epsilon for reading in ledger.readings(part)}


# ---- which accounts


def test_a_charge_counts_wherever_a_unit_that_it_saw_is_counted() -> None:
    both = ('parts:["north", "south"]', 'parts:["north", "west"]', 'parts:["south", "west"]')
    single = ("part:north", "part:south", "part:west")
    assert counted(None, ADD, None) == ("all",)
    assert counted(parts(), ADD, None) == ("all", *single)
    assert counted(parts(), ADD, "south") == ("part:south",)
    assert counted(parts(), REPLACE, None) == ("all", *single, *both)
    assert counted(parts(), REPLACE, "south") == ("part:south", both[0], both[2])
    with raises_code(InvalidInputError, "not-divided"):
        counted(None, ADD, "south")
    with raises_code(InvalidInputError, "unknown-part: 'east'"):
        counted(parts(), ADD, "east")


@pytest.mark.parametrize("neighbors", Neighbors)
def test_no_two_accounts_have_the_same_name(neighbors: Neighbors) -> None:
    names = counted(parts(*NASTY), neighbors, None)
    assert len(set(names)) == len(names) == 1 + len(NASTY) + (math.comb(len(NASTY), 2) if neighbors is REPLACE else 0)
    assert not any(name.startswith("by:") for name in names), "nor that of an analyst"
    assert len({called(name) for name in names}) == len(names)


def test_words_of_accounts() -> None:
    one, two = counted(parts("a", "b"), REPLACE, "a")
    assert called("all") == "the budget"
    assert called("by:bob") == "your share of the budget"
    assert called(one) == "the budget of part 'a'"
    assert called(two) == "the budget of parts 'a' and 'b' together"


def test_entries_say_what_they_mean_again() -> None:
    for part in (None, *NASTY):
        for noted in ({}, dict.fromkeys(NASTY, "rows_are_units = true")):
            said = Said(domain="people", part=part, noted=noted)
            assert charge_from(charge_text(said)) == said
    assert partition_from(partition_text(parts(*NASTY))) == parts(*NASTY)
    assert charge_from("") == Said(domain="")


# ---- charges


def test_a_part_is_charged_for_itself(ledger: SqliteLedger) -> None:
    assert ledger.partition is None
    ledger.spend(charge("0.2"))
    receipt = ledger.divide(parts())
    assert receipt == ledger.head()
    assert ledger.partition == parts()
    assert epsilons(ledger) == {Fraction("0.2")}, "what was spent before counts for everybody"
    ledger.spend(charge("0.3", part="north"))
    ledger.spend(charge("0.1", part="south", analyst="bob"))
    together = ledger.terms.neighbors is REPLACE
    assert ledger.spent(part="north").loss.epsilon == Fraction("0.6" if together else "0.5")
    assert ledger.spent(part="south").loss.epsilon == Fraction("0.6" if together else "0.3")
    assert ledger.spent(part="west").loss.epsilon == Fraction("0.5" if together else "0.2")
    assert ledger.spent().loss.epsilon == Fraction("0.6" if together else "0.5"), "the worst"
    assert ledger.spent("").loss.epsilon == Fraction("0.5")
    assert ledger.spent("bob").loss.epsilon == Fraction("0.1"), "an analyst's share counts everything"
    ledger.spend(charge("0.1"))
    assert ledger.spent(part="west").loss.epsilon == Fraction("0.6" if together else "0.3")
    assert [entry.part for entry in ledger.entries()] == [None, None, None, "north", "south", None]
    assert [entry.kind for entry in ledger.entries()][2] is Kind.PARTITION
    ledger.verify()


def test_each_part_has_the_whole_budget_under_add_remove(tmp_path: Path) -> None:
    with create(tmp_path / "l.sqlite", terms(1, 0)) as ledger:
        ledger.divide(parts())
        for part in parts().parts:
            ledger.spend(charge("0.9", part=part))
        ledger.spend(charge("0.1", part="west"))
        with raises_code(BudgetExceededError, "budget-exceeded: part 'west'"):
            ledger.spend(charge("0.1"))
        with raises_code(BudgetExceededError, "budget-exceeded: 0.1 … 'north'"):
            ledger.spend(charge("0.2", part="north"))
        before = ledger.readings()
        with pytest.raises(BudgetExceededError):
            ledger.spend(charge("0.05"))  # fits two of three
        assert ledger.readings() == before, "all accounts or none"
        ledger.spend(charge("0.1", part="north"))
        ledger.verify()


def test_each_two_parts_have_the_budget_together_under_replace(tmp_path: Path) -> None:
    with create(tmp_path / "l.sqlite", terms(1, 0, neighbors=REPLACE)) as ledger:
        ledger.divide(parts())
        ledger.spend(charge("0.6", part="north"))
        for part in ("south", "west"):
            ledger.spend(charge("0.4", part=part))
        with raises_code(BudgetExceededError, "budget-exceeded: 'north' … 'west'"):
            ledger.spend(charge("0.1", part="west"))
        assert ledger.spent().loss.epsilon == 1
        assert sum(reading.spent.loss.epsilon or 0 for reading in ledger.readings("south")[1:]) == Fraction("1.8")
        ledger.verify()


def test_either_gauge_certifies_each_part_by_itself(tmp_path: Path) -> None:
    """North has no pure price any more, south has no zCDP left; both may go on, with a question about both."""
    with create(tmp_path / "l.sqlite", terms(3, 1e-9)) as ledger:
        ledger.divide(parts("north", "south"))
        ledger.spend(Charge(loss=zcdp(Fraction("0.01")), request=sha(1), part="north"))
        ledger.spend(charge("1", part="south"))
        worst = ledger.spent().loss
        assert worst.epsilon is None
        assert worst.rho == Fraction(1, 2)
        ledger.spend(charge("0.1"))
        with raises_code(BudgetExceededError, "budget-exceeded: part 'north'"):
            ledger.spend(charge("1"))
        ledger.spend(charge("1", part="south"))
        ledger.verify()


def test_shares_failures_and_keys_go_on_as_before(ledger: SqliteLedger) -> None:
    ledger.divide(parts())
    ledger.grant("bob", Budget("0.3", 1e-9))
    first = ledger.spend(charge("0.2", "q", part="north", analyst="bob", key="k", domain="people"))
    ledger.store(first, b"42")
    with raises_code(BudgetExceededError, "budget-exceeded: share"):
        ledger.spend(charge("0.2", "r", part="south", analyst="bob", domain="people"))
    stored = ledger.replay("k", sha("q"))
    assert stored is not None
    assert (stored.charge.part, stored.charge.domain, stored.body) == ("north", "people", b"42")
    with raises_code(InvalidInputError, "mixed-units: rows"):
        ledger.spend(charge("0.1", "s", domain="rows"))
    ledger.fail(ledger.spend(charge("0.01", "t", part="south", analyst="bob", domain="people")))
    ledger.reinstate("bob")
    ledger.grant("bob", Budget(1, 1e-9))
    assert ledger.spent("bob").loss.epsilon == Fraction("0.21")


def test_a_delta_counts_in_parts(ledger: SqliteLedger) -> None:
    ledger.divide(parts())
    quarter = Fraction(1, 4 * 10**9)
    ledger.spend(Charge(loss=approximate(Fraction(1, 10), quarter), request=sha(1), part="north"))
    assert ledger.spent(part="north").loss.delta == quarter
    with raises_code(BudgetExceededError, "budget-exceeded: delta"):
        ledger.spend(Charge(loss=approximate(Fraction(1, 10), Fraction(1, 10**20)), request=sha(2), part="north"))
    ledger.spend(charge("0.1", part="north"))


def test_a_backup_and_an_export_have_the_parts(ledger: SqliteLedger) -> None:
    ledger.divide(parts())
    ledger.spend(charge("0.1", part="north"))
    ledger.backup(ledger.path.with_name("b.sqlite"))
    restore(ledger.path.with_name("b.sqlite"), ledger.path.with_name("c.sqlite"))
    with open_ledger(ledger.path.with_name("c.sqlite")) as copied:
        copied.verify(ledger.head())
        assert copied.partition == parts()
        assert copied.readings() == ledger.readings()


# ---- refused declarations


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (parts("north"), "out-of-range: 2"),
        (parts(*map(str, range(101))), "out-of-range: 2"),
        (parts("a", "a"), "duplicate-value"),
        (parts("a", ""), "invalid-name: part"),
        (parts("a", "x" * (LONGEST_PART + 1)), "invalid-name: part"),
        (parts("a", "\ud800"), "invalid-name: part"),
        (parts("a", 7), "invalid-name: part"),  # type: ignore[arg-type]
    ],
)
def test_parts_that_cannot_be_counted(ledger: SqliteLedger, wrong: Partition, words: str) -> None:
    head = ledger.head()
    with raises_code(InvalidInputError, words):
        ledger.divide(wrong)
    assert (ledger.head(), ledger.partition) == (head, None)
    ledger.divide(parts())


@pytest.mark.parametrize(("neighbors", "most"), [(ADD, 100), (REPLACE, 40)])
def test_as_many_parts_as_there_may_be(tmp_path: Path, neighbors: Neighbors, most: int) -> None:
    names = [f"{number:03}" + "x" * (LONGEST_PART - 3) for number in range(most + 1)]
    with create(tmp_path / "l.sqlite", terms(neighbors=neighbors)) as ledger:
        with raises_code(InvalidInputError, f"out-of-range: 2 to {most} … {neighbors} … {most + 1}"):
            ledger.divide(parts(*names))
        ledger.divide(parts(*names[:-1]))
        ledger.spend(charge("0.1"))
        ledger.spend(charge("0.1", part=names[0]))
        assert epsilons(ledger) == {Fraction("0.1"), Fraction("0.2")}
        ledger.verify()


def test_units_are_divided_once(ledger: SqliteLedger) -> None:
    ledger.divide(parts())
    with raises_code(InvalidInputError, "already-divided: 'hospital' … 'patients'"):
        ledger.divide(parts("a", "b"))
    assert ledger.partition == parts()


def test_a_warn_ledger_is_not_divided(tmp_path: Path) -> None:
    with create(tmp_path / "l.sqlite", terms(1, 0, Policy.WARN)) as ledger:
        with raises_code(InvalidInputError, "not-supported: charges"):
            ledger.divide(parts())
        ledger.verify()


def test_bad_parts_of_a_charge(ledger: SqliteLedger) -> None:
    with raises_code(InvalidInputError, "not-divided"):
        ledger.spend(charge(part="north"))
    ledger.divide(parts())
    for part in ("east", "", "all", "part:north"):
        with raises_code(InvalidInputError, "unknown-part"):
            ledger.spend(charge(part=part))
    with raises_code(InvalidInputError, "too-long: part"):
        ledger.spend(charge(part="x" * 201))
    with raises_code(InvalidInputError, "invalid-name: begin"):
        ledger.spend(charge(domain='{"domain": "people", "part": "north"}'))
    assert ledger.head().entry == 2


# ---- the file


def test_a_divided_ledger_cannot_be_opened_by_a_privet_that_would_not_charge_its_parts(ledger: SqliteLedger) -> None:
    """Such a Privet knows the format without parts. A ledger without parts stays as it was."""

    def version() -> int:
        other = sqlite3.connect(ledger.path)
        try:
            return other.execute("PRAGMA user_version").fetchone()[0]  # type: ignore[no-any-return]
        finally:
            other.close()

    assert version() == FORMAT
    with pytest.raises(InvalidInputError):
        ledger.divide(parts("a"))
    assert version() == FORMAT
    ledger.divide(parts())
    assert version() == DIVIDED


@pytest.mark.parametrize(("format_", "code"), [(5, "vault-newer"), (2, "vault-older")])
def test_another_format_is_refused(ledger: SqliteLedger, format_: int, code: str) -> None:
    other = sqlite3.connect(ledger.path, isolation_level=None)
    other.execute(f"PRAGMA user_version={format_}")
    with raises_code(LedgerError, f"{code}: format {format_} … 3 and 4"):
        open_ledger(ledger.path)
    other.execute(f"PRAGMA user_version={FORMAT}")
    other.close()


def test_a_division_that_fails_to_commit_leaves_nothing(ledger: SqliteLedger, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: Partition) -> str:
        raise RuntimeError

    with monkeypatch.context() as patch:
        patch.setattr("privet.ledger.transaction.partition_text", broken)  # after the accounts and the header
        with pytest.raises(RuntimeError):
            ledger.divide(parts())
    ledger.verify()
    assert ledger.partition is None
    with open_ledger(ledger.path) as again:
        assert len(again.readings()) == 1
        again.divide(parts())


def test_an_account_that_is_gone_stops_everything(tmp_path: Path) -> None:
    with create(tmp_path / "l.sqlite", terms()) as ledger:
        ledger.divide(parts())
        other = sqlite3.connect(ledger.path, isolation_level=None)
        other.execute("DELETE FROM account WHERE name = 'part:north'")
        other.close()
        for call in (lambda: ledger.spend(charge()), lambda: ledger.spend(charge(part="north")), ledger.readings):
            with raises_code(TamperedError, "ledger-tampered: account"):
                call()
        ledger.spend(charge(part="south"))
        with pytest.raises(TamperedError):
            ledger.verify()


# ---- the theorem: the strongest adaptive attacker, enumerated

Accounts = Callable[[str | None], tuple[str, ...]]  # where a charge of everybody (None) or of a part counts
MENU = (
    (pure(Fraction(1, 2)), canonical(0.5, 0)),
    (approximate(Fraction(1, 4), Fraction(1, 40)), canonical(0.25, 1 / 40)),
)
ASKED = (None, "north", "south")
CHOICES = tuple(itertools.product(ASKED, range(len(MENU))))


def strongest(budget: Budget, accounts: Accounts, world: set[str | None]) -> tuple[float, bool]:
    """The exact largest delta at E over ALL attackers who ask everybody or a part, adaptively, and stop when they like,
    where two data sets differ in one unit that questions about `world` depend on. All others answer the same of both.

    State: how often each choice was made, and the ratio of the likelihoods of the transcript so far; see
    `test_accountant.strongest`. Also returns whether an account was ever certified by the zCDP gauge alone.
    """
    threshold = math.exp(budget.epsilon)
    counted_in = [
        [place for place, (part, _) in enumerate(CHOICES) if name in accounts(part)]
        for name in sorted({name for part in ASKED for name in accounts(part)})
    ]
    zcdp_alone = False

    @functools.cache
    def holds(charges: tuple[int, ...]) -> bool:
        nonlocal zcdp_alone
        total = sequential([MENU[item][0] for item, times in enumerate(charges) for _ in range(times)])
        basic = total.epsilon is not None and total.epsilon <= budget.epsilon and total.delta <= budget.delta / 4
        zcdp_alone |= within(budget, total) and not basic
        return within(budget, total)

    @functools.cache
    def allowed(made: tuple[int, ...]) -> bool:
        return all(
            holds(tuple(sum(made[place] for place in places if CHOICES[place][1] == item) for item in range(len(MENU))))
            for places in counted_in
        )

    @functools.cache
    def best(made: tuple[int, ...], ratio: float) -> float:
        values = [max(0.0, 1 - threshold * ratio)]
        for place, (part, item) in enumerate(CHOICES):
            after = (*made[:place], made[place] + 1, *made[place + 1 :])
            if allowed(after):
                seen = MENU[item][1].values() if part in world else [(1.0, 1.0)]
                values.append(sum(p * best(after, round(q * ratio / p, 12)) for p, q in seen if p))
        return max(values)

    return best((0,) * len(CHOICES), 1.0), zcdp_alone


ADDED: tuple[set[str | None], ...] = ({None}, {None, "north"}, {None, "south"})
REPLACED: tuple[set[str | None], ...] = (*ADDED, {None, "north", "south"})


def by(neighbors: Neighbors) -> Accounts:
    return lambda part: counted(parts("north", "south"), neighbors, part)


@pytest.mark.parametrize(("neighbors", "worlds"), [(ADD, ADDED), (REPLACE, REPLACED)])
@pytest.mark.parametrize(("epsilon", "delta"), [(1, "0"), (1, "0.1"), ("0.75", "0.4")])
def test_no_adaptive_attacker_learns_more_of_a_unit_than_the_cap(
    neighbors: Neighbors, worlds: tuple[set[str | None], ...], epsilon: object, delta: str
) -> None:
    """Whichever part the unit is in, or between which parts it is replaced; also if only the zCDP gauge certifies."""
    budget = Budget(epsilon, delta)
    for world in worlds:
        reached, zcdp_alone = strongest(budget, by(neighbors), world)
        assert reached <= float(budget.delta) + 1e-9
        assert zcdp_alone == (delta == "0.4")


def test_a_ledger_that_forgets_an_account_is_caught() -> None:
    """The same enumeration finds wrong ledgers: replacing with single parts only, and parts that do not count what
    everybody was asked about."""
    budget = Budget(1, "0.1")
    assert strongest(budget, by(ADD), {None, "north", "south"})[0] > 0.1
    assert strongest(budget, lambda part: (str(part),), {None, "north"})[0] > 0.1

"""Edits behind the ledger's back show; and what cannot show without a receipt is said here, too."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest
from support.charges import charge, parts, sha, terms
from support.refusals import raises_code
from support.tampering import edit, rechain

from privet.core.accountant import Budget
from privet.core.loss import pure
from privet.core.unit import Neighbors
from privet.errors import LedgerError, TamperedError
from privet.ledger import Kind, Policy, Receipt
from privet.ledger.chain import exact_text
from privet.ledger.schema import ENTRY, FORMAT
from privet.ledger.sqlite import create, restore
from privet.ledger.sqlite import open as open_ledger

TRIGGERS = ("entry_next", "entry_edit", "entry_drop", "answer_edit", "answer_drop", "account_closed", "account_terms")
TRIGGERS += ("account_grows", "account_drop", "noted_edit", "noted_drop")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Nine entries of every kind, closed."""
    with create(tmp_path / "l.sqlite", terms(policy=Policy.WARN)) as ledger:
        ledger.store(ledger.spend(charge("0.5", "first", key="k")), b"42")
        ledger.grant("bob", Budget(2, 1e-12))
        ledger.fail(ledger.spend(charge("0.25", "second", analyst="bob")))
        ledger.reinstate("bob")
        ledger.store(ledger.spend(charge("0.125", "third", analyst="bob")), b"43")
        assert ledger.head().entry == 9
        ledger.verify()
    return tmp_path / "l.sqlite"


def verified(path: Path, receipt: Receipt | None = None) -> None:
    with open_ledger(path) as ledger:
        ledger.verify(receipt)


EDITS = {
    "an amount": "UPDATE entry SET epsilon = 1 WHERE number = 2",
    "an exact amount": """UPDATE entry SET exact = '["1/4", "0", "1/32", "0"]' WHERE number = 2""",
    "an analyst": "UPDATE entry SET analyst = 'eve' WHERE number = 5",
    "a time": "UPDATE entry SET time = '2020-01-01T00:00:00+00:00' WHERE number = 3",
    "a note": "UPDATE entry SET note = 'x' WHERE number = 2",
    "a key": "UPDATE entry SET key = NULL WHERE number = 2",
    "a digest": "UPDATE entry SET digest = 'x' WHERE number = 4",
    "over": "UPDATE entry SET over = 1 WHERE number = 2",
    "a number": "UPDATE entry SET number = 10 WHERE number = 9",
    "an entry in the middle": "DELETE FROM entry WHERE number = 4",
    "the last entry alone": "DELETE FROM entry WHERE number = 9",
    "all entries": "DELETE FROM entry",
    "an entry more": f"INSERT INTO entry SELECT 10, {', '.join(ENTRY[1:])}, digest FROM entry WHERE number = 8",
    "a sum": "UPDATE account SET epsilon = 0 WHERE name = 'all'",
    "an analyst's sum": "UPDATE account SET rho = 1 WHERE name = 'by:bob'",
    "a sum over the cap": "UPDATE account SET over_epsilon = 5 WHERE name = 'all'",
    "the cap": "UPDATE account SET epsilon_cap = 9000000000000 WHERE name = 'all'",
    "a share": "UPDATE account SET budget = NULL, epsilon_cap = NULL WHERE name = 'by:bob'",
    "the policy": "UPDATE account SET policy = 'refuse' WHERE name = 'all'",
    "failures": "UPDATE account SET failures = 1 WHERE name = 'by:bob'",
    "an account": "DELETE FROM account WHERE name = 'by:bob'",
    "one more": f"INSERT INTO account VALUES ('by:x', 'refuse', NULL, NULL, NULL, NULL{', 0' * 11})",
    "an answer": "UPDATE answer SET body = x'00' WHERE charge = 2",
    "an answer's request": f"UPDATE answer SET request = '{sha('other')}' WHERE charge = 2",
    "answers exchanged": "UPDATE answer SET body = CASE charge WHEN 2 THEN x'3433' ELSE x'3432' END",
    "an answer less": "DELETE FROM answer WHERE charge = 2",
    "an answer more": f"INSERT INTO answer VALUES (5, '{sha('second')}', x'00')",
    "a trigger": "CREATE TRIGGER more BEFORE INSERT ON entry BEGIN SELECT 1; END",
    "a table": "CREATE TABLE more (x)",
    "an index": "DROP INDEX entry_about",
}


@pytest.mark.parametrize("statement", EDITS.values(), ids=EDITS.keys())
def test_every_edit_is_seen(path: Path, statement: str) -> None:
    edit(path, statement)
    with raises_code(TamperedError, "ledger-tampered: restore"):
        verified(path)


@pytest.mark.parametrize("trigger", TRIGGERS)
def test_a_dropped_trigger_is_seen_at_once(path: Path, trigger: str) -> None:
    other = sqlite3.connect(path)
    other.execute(f"DROP TRIGGER {trigger}")
    other.close()
    with raises_code(TamperedError, "ledger-tampered: tables"):
        open_ledger(path)


def test_the_schema_may_not_change_while_the_ledger_is_open(path: Path) -> None:
    with open_ledger(path) as ledger:
        other = sqlite3.connect(path)
        other.execute("DROP TRIGGER entry_edit")
        other.close()
        with raises_code(TamperedError, "ledger-tampered: triggers"):
            ledger.verify()


def test_entries_that_vanish_while_the_ledger_is_open_are_seen(path: Path) -> None:
    with open_ledger(path) as ledger:
        edit(path, EDITS["all entries"])
        with raises_code(TamperedError, "ledger-tampered: opening … entry"):
            ledger.verify()


def test_an_index_that_hides_a_key_is_seen(path: Path) -> None:
    """The entry stays as it is, but a lookup by its key would not find it, and a retry would be charged again."""
    other = sqlite3.connect(path, isolation_level=None)
    row = other.execute("SELECT * FROM sqlite_master WHERE name = 'entry_key'").fetchone()
    other.execute("PRAGMA writable_schema=ON")
    other.execute("DELETE FROM sqlite_master WHERE name = 'entry_key'")
    other.close()
    edit(path, "UPDATE entry SET key = 'other' WHERE number = 2")
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("PRAGMA writable_schema=ON")
    other.execute("INSERT INTO sqlite_master VALUES (?, ?, ?, ?, ?)", row)
    other.close()
    with raises_code(TamperedError, "ledger-tampered: file"):
        verified(path)


def test_reordered_entries_are_seen(path: Path) -> None:
    edit(
        path,
        "UPDATE entry SET number = -5 WHERE number = 5",
        "UPDATE entry SET number = 5 WHERE number = 8",
        "UPDATE entry SET number = 8 WHERE number = -5",
    )
    with raises_code(TamperedError, "ledger-tampered: entry … 5 was"):
        verified(path)


FORGERIES = {
    "a price of the wrong kind": "UPDATE entry SET exact = '[1]' WHERE number = 2",
    "units that are not the price": "UPDATE entry SET epsilon = 1 WHERE number = 2",
    "a kind that we do not know": "UPDATE entry SET kind = 'refund' WHERE number = 2",
    "a negative price": """UPDATE entry SET exact = '["-1", "0", "1", "0"]' WHERE number = 2""",
    "a second opening": "UPDATE entry SET kind = 'opening' WHERE number = 4",
    "no opening": "UPDATE entry SET kind = 'reinstatement' WHERE number = 1",
    "an answer to no charge": "UPDATE entry SET about = 4 WHERE number = 3",
    "an answer to somebody else": "UPDATE entry SET analyst = 'eve' WHERE number = 9",
    "a cap that was never granted": """UPDATE entry SET detail = '{"delta": "0", "epsilon": "9"}' WHERE number = 4""",
    "a share too small": """UPDATE entry SET detail = '{"delta": "0", "epsilon": "1/8"}' WHERE number = 4""",
    "a charge for another unit": "UPDATE entry SET detail = 'rows' WHERE number = 5",
    "an analyst over the cap": "UPDATE entry SET over = 1 WHERE number = 5",
    "over although it fits": "UPDATE entry SET over = 1 WHERE number = 2",
    "a lower cap": """UPDATE entry SET detail = replace(detail, '\\"3\\"', '\\"1/5\\"') WHERE number = 1""",
}


@pytest.mark.parametrize("statement", FORGERIES.values(), ids=FORGERIES.keys())
def test_a_new_chain_does_not_hide_what_makes_no_sense(path: Path, statement: str) -> None:
    """All digests are recomputed, but the entries say what the ledger would never have done."""
    edit(path, statement)
    rechain(path)
    with pytest.raises(TamperedError):
        verified(path)


def test_an_analyst_who_was_suspended_cannot_have_asked(tmp_path: Path) -> None:
    path = tmp_path / "l.sqlite"
    with create(path, terms()) as ledger:
        for number in range(3):
            ledger.fail(ledger.spend(charge("0.1", number, analyst="bob")))
        ledger.reinstate("bob")
        ledger.spend(charge("0.1", 3, analyst="bob"))
    edit(  # the fourth charge now comes before the reinstatement
        path,
        "UPDATE entry SET number = 99 WHERE number = 9",
        "UPDATE entry SET number = 9 WHERE number = 8",
        "UPDATE entry SET number = 8 WHERE number = 99",
    )
    rechain(path)
    with raises_code(TamperedError, "ledger-tampered: 8"):
        verified(path)


def forge_amount(path: Path) -> None:
    """Halve the first price everywhere: entry, accounts and chain."""
    half = pure(Fraction(1, 4))
    edit(
        path,
        f"UPDATE entry SET exact = '{exact_text(half)}', epsilon = 250000000000, rho = 31250000000000 WHERE number = 2",
        "UPDATE account SET epsilon = epsilon - 250000000000, rho = rho - 93750000000000 WHERE name IN ('all', 'by:')",
    )
    rechain(path)


def truncate(path: Path) -> None:
    """Back to the moment before the last charge, sums and all."""
    edit(
        path,
        "DELETE FROM entry WHERE number > 7",
        "DELETE FROM answer WHERE charge = 8",
        "UPDATE account SET epsilon = epsilon - 125000000000, rho = rho - 7812500000000 WHERE name <> 'by:'",
    )
    rechain(path)


@pytest.mark.parametrize("forge", [forge_amount, truncate])
def test_a_perfect_forgery_is_seen_with_a_receipt_and_only_with_one(path: Path, forge: Callable[[Path], None]) -> None:
    """A hash chain is no signature: who can write the files can write a shorter or another chain, and an anchor that
    fits it (rule 10)."""
    with open_ledger(path) as ledger:
        receipt = ledger.head()
    forge(path)
    verified(path)  # NOT seen
    with raises_code(TamperedError, "ledger-tampered: receipt"):
        verified(path, receipt)


def test_a_restored_backup_is_seen_with_a_receipt_and_only_with_one(path: Path) -> None:
    backup, again = path.with_name("backup.sqlite"), path.with_name("again.sqlite")
    with open_ledger(path) as ledger:
        old = ledger.backup(backup)
        new = ledger.spend(charge("0.01"))
    restore(backup, again)
    verified(again)
    verified(again, old)
    with raises_code(TamperedError, "ledger-tampered: 10 … at 9"):
        verified(again, new)
    with open_ledger(again) as ledger:  # the two histories part here
        other = ledger.spend(charge("0.01"))
    with raises_code(TamperedError, "ledger-tampered: 10 … the one … receipt"):
        verified(again, new)
    with raises_code(TamperedError, "ledger-tampered: receipt"):
        verified(path, other)
    for wrong in (0, -1, 99):
        with raises_code(TamperedError, "ledger-tampered: receipt"):
            verified(path, Receipt(entry=wrong, digest=new.digest))


def test_a_tampered_backup_is_not_restored(path: Path) -> None:
    edit(path, EDITS["an amount"])
    with pytest.raises(TamperedError):
        restore(path, path.with_name("new.sqlite"))
    assert sorted(file.name for file in path.parent.iterdir()) == ["l.sqlite", "l.sqlite-anchor"]


def test_another_opening_is_seen_when_opening(path: Path) -> None:
    edit(path, "UPDATE entry SET detail = replace(detail, 'add-remove', 'replace') WHERE number = 1")
    with raises_code(TamperedError, "ledger-tampered: opening"):
        open_ledger(path)


@pytest.mark.parametrize("share", [0.2, 0.5, 0.8])
def test_a_damaged_file_is_an_error_with_a_remedy(path: Path, share: float) -> None:
    """Pages overwritten with noise: an error of ours, whichever page it hits."""
    content = bytearray(path.read_bytes())
    start = int(len(content) * share) // 4096 * 4096
    content[start : start + 4096] = b"\xa5" * 4096
    path.write_bytes(content)
    with pytest.raises(LedgerError):
        verified(path)


def test_the_database_refuses_edits_that_do_not_drop_its_triggers(path: Path) -> None:
    other = sqlite3.connect(path, isolation_level=None)
    for statement in (
        "UPDATE entry SET note = 'x'",
        "DELETE FROM entry",
        "REPLACE INTO entry SELECT * FROM entry WHERE number = 2",
        "INSERT INTO entry SELECT * FROM entry WHERE number = 2",
        "UPDATE answer SET body = x'00'",
        "DELETE FROM answer",
        "UPDATE account SET epsilon = epsilon - 1",
        "UPDATE account SET epsilon_cap = epsilon_cap + 1",
        "UPDATE account SET epsilon = epsilon_cap + 1, rho = rho_cap + 1 WHERE name = 'all'",
        "UPDATE account SET epsilon = NULL, rho = NULL WHERE name = 'all'",
        "UPDATE account SET over_epsilon = 1 WHERE name = 'by:bob'",
        "DELETE FROM account WHERE name = 'all'",
    ):
        with pytest.raises(sqlite3.IntegrityError):
            other.execute(statement)
    other.close()
    verified(path)


def test_refuse_never_writes_over_the_cap(tmp_path: Path) -> None:
    with create(tmp_path / "l.sqlite", terms()) as ledger:
        ledger.spend(charge())
    other = sqlite3.connect(tmp_path / "l.sqlite", isolation_level=None)
    with pytest.raises(sqlite3.IntegrityError, match="CHECK"):
        other.execute("UPDATE account SET over_rho = 1")
    with pytest.raises(sqlite3.IntegrityError, match="CHECK"):
        other.execute("UPDATE account SET over_delta = NULL")
    other.close()


def test_a_copied_file_is_the_same_ledger_twice(path: Path) -> None:
    """The sharp edge: two copies, each with the budget that is left. Only their receipts differ."""
    for name in ("l.sqlite", "l.sqlite-anchor"):
        shutil.copy(path.with_name(name), path.with_name(name.replace("l.", "copy.")))
    with open_ledger(path) as one, open_ledger(path.with_name("copy.sqlite")) as two:
        first, second = one.spend(charge("2")), two.spend(charge("2"))
        one.verify(first)
        two.verify(second)
        with pytest.raises(TamperedError):
            one.verify(second)
        assert [entry.kind for entry in one.entries()][-1] is Kind.CHARGE


@pytest.fixture(params=Neighbors)
def divided(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Two charges of everybody, parts in between, then one of each part; closed."""
    with create(tmp_path / "l.sqlite", terms(neighbors=request.param)) as ledger:
        ledger.spend(charge("0.5", "first", domain="people"))
        ledger.divide(parts("north", "south"))
        ledger.spend(charge("0.25", "second", domain="people"))
        ledger.spend(charge("0.125", "third", part="north", domain="people"))
        ledger.spend(charge("0.0625", "fourth", part="south", analyst="bob", domain="people"))
        assert ledger.head().entry == 6
        ledger.verify()
    return tmp_path / "l.sqlite"


ITS_PART = "(SELECT detail FROM entry WHERE number = 5)"
SUMS = "CASE name WHEN 'part:north' THEN 812500000000 ELSE 875000000000 END"
OF_PARTS = {
    "a charge moved to another part": "UPDATE entry SET detail = replace(detail, 'north', 'south') WHERE number = 5",
    "a charge of everybody moved to a part": f"UPDATE entry SET detail = {ITS_PART} WHERE number = 4",
    "a charge of a part moved to everybody": "UPDATE entry SET detail = 'people' WHERE number = 5",
    "the partition": "UPDATE entry SET kind = 'reinstatement', detail = '' WHERE number = 3",
    "the order of the parts": """UPDATE entry SET detail =
        replace(detail, '"north", "south"', '"south", "north"') WHERE number = 3""",
    "one part more": """UPDATE entry SET detail = replace(detail, '"south"]', '"south", "west"]') WHERE number = 3""",
    "the register": """UPDATE entry SET detail = replace(detail, '"r"', '"s"') WHERE number = 3""",
    "the sum of a part": "UPDATE account SET epsilon = 500000000000 WHERE name = 'part:north'",
    "the cap of a part": "UPDATE account SET epsilon_cap = 9000000000000 WHERE name = 'part:north'",
    "a part without a cap": "UPDATE account SET budget = NULL, epsilon_cap = NULL WHERE name = 'part:south'",
    "sums exchanged": f"UPDATE account SET epsilon = {SUMS} WHERE name IN ('part:north', 'part:south')",
    "an account of a part": "DELETE FROM account WHERE name = 'part:north'",
    "all accounts of parts": "DELETE FROM account WHERE name LIKE 'part%'",
    "the header": f"PRAGMA user_version={FORMAT}",
}


@pytest.mark.parametrize("statement", OF_PARTS.values(), ids=OF_PARTS.keys())
def test_every_edit_of_parts_is_seen(divided: Path, statement: str) -> None:
    edit(divided, statement)
    with raises_code(TamperedError, "ledger-tampered: restore"):
        verified(divided)


WITHOUT_SUMS = {"the order of the parts", "the register"}  # nothing is added up from these


@pytest.mark.parametrize("name", [name for name in OF_PARTS if name not in WITHOUT_SUMS])
def test_a_new_chain_does_not_hide_that_sums_of_parts_do_not_fit(divided: Path, name: str) -> None:
    edit(divided, OF_PARTS[name])
    rechain(divided)
    with pytest.raises(TamperedError):
        verified(divided)


def test_edited_parts_are_seen_before_anything_is_charged(divided: Path) -> None:
    edit(divided, OF_PARTS["the order of the parts"])
    with open_ledger(divided) as ledger:
        for call in (lambda: ledger.partition, ledger.readings):
            with raises_code(TamperedError, "ledger-tampered: parts … changed"):
                call()
        with raises_code(LedgerError, "ledger-tampered: parts … changed"):
            ledger.spend(charge("0.1"))


@pytest.mark.parametrize("number", [2, 3])
def test_parts_that_are_gone_are_seen_before_anything_is_charged(divided: Path, number: int) -> None:
    edit(divided, f"DELETE FROM entry WHERE number = {number}")
    with open_ledger(divided) as ledger, raises_code(TamperedError, "ledger-tampered: parts … changed"):
        ledger.readings()


THE_PARTS = "(SELECT detail FROM entry WHERE number = 3)"
NO_SENSE = {
    "parts for the second time": f"""UPDATE entry SET kind = 'partition', detail = {THE_PARTS}, exact = NULL
        WHERE number = 4""",
    "one part only": """UPDATE entry SET detail = replace(detail, '"north", ', '') WHERE number = 3""",
    "a part that is not there": "UPDATE entry SET detail = replace(detail, 'north', 'west') WHERE number = 5",
    "a part before there were any": f"UPDATE entry SET detail = {ITS_PART} WHERE number = 2",
    "a charge for another unit": "UPDATE entry SET detail = replace(detail, 'people', 'rows') WHERE number = 5",
    "a policy that passes the cap": "UPDATE entry SET detail = replace(detail, 'refuse', 'warn') WHERE number = 1",
    "a cap that was passed": """UPDATE entry SET detail = replace(detail, '\\"3\\"', '\\"4/5\\"') WHERE number = 1""",
    "no names": "UPDATE entry SET detail = '{}' WHERE number = 3",
    "a charge that names nothing": "UPDATE entry SET detail = '{}' WHERE number = 5",
}


@pytest.mark.parametrize("statement", NO_SENSE.values(), ids=NO_SENSE.keys())
def test_a_new_chain_does_not_hide_parts_that_make_no_sense(divided: Path, statement: str) -> None:
    edit(divided, statement)
    rechain(divided)
    with raises_code(TamperedError, "ledger-tampered: valid"):
        verified(divided)

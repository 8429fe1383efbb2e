"""TRUSTED: what each kind of entry does to the sums, inside one transaction of the database."""

from __future__ import annotations

import hashlib
import sqlite3
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from privet.core.accountant import Budget
from privet.core.claim import claim
from privet.core.loss import Loss
from privet.core.partition import Partition, check_partition
from privet.core.rational import show
from privet.errors import BudgetExceededError, InvalidInputError, SuspendedError, TamperedError
from privet.ledger import FAILURES_ALLOWED, Charge, Kind, Policy, Receipt, Terms
from privet.ledger.account import ROW, Account, account_from, budget_text, granted
from privet.ledger.chain import START, digest, exact_from, exact_text
from privet.ledger.connection import is_divided
from privet.ledger.part_accounts import Said, called, charge_from, charge_text, counted, partition_from, partition_text
from privet.ledger.refusal import Short, refusal
from privet.ledger.schema import ALL, DIVIDED, ENTRY, REPEATABLE
from privet.ledger.units import LARGEST, Units, caps

INSERT_ENTRY = f"INSERT INTO entry ({', '.join(ENTRY)}, digest) VALUES ({', '.join('?' * (len(ENTRY) + 1))})"  # noqa: S608
INSERT_ACCOUNT = f"INSERT INTO account ({', '.join(ROW)}) VALUES ({', '.join('?' * len(ROW))})"  # noqa: S608
EMPTY = dict.fromkeys(ENTRY) | {"analyst": "", "note": "", "over": 0, "detail": ""}


@lru_cache(maxsize=256)
def update(accounts: int, prefix: str = "") -> str:
    """Add a price to so many accounts, named :in_0 and so on, and to the analyst's own, all or none; too large is
    infinite.

    The CHECK of the table refuses a sum that no gauge certifies. Deltas have other units in the analyst's account.
    """

    def grown(name: str, price: str) -> str:
        column = prefix + name
        return f"{column} = CASE WHEN {column} + {price} <= {LARGEST} THEN {column} + {price} END"

    def of_row(name: str) -> str:
        return f"(CASE name WHEN :own THEN :own_{name} ELSE :{name} END)"

    columns = [grown("epsilon", ":epsilon"), grown("rho", ":rho")]
    columns += [grown(name, of_row(name)) for name in ("delta", "rho_delta")]
    columns.append("unfinished = unfinished + (name = :own)")
    names = ", ".join([":own", *(f":in_{place}" for place in range(accounts))])
    return f"UPDATE account SET {', '.join(columns)} WHERE name IN ({names})"  # noqa: S608


class Transaction:
    """One open transaction. It knows the head of the chain, which nobody else can move meanwhile."""

    def __init__(self, connection: sqlite3.Connection, terms: Terms, partition: Partition | None = None) -> None:
        self.connection = connection
        self.terms = terms
        self.partition = partition or partition_in(connection)  # of what another process has divided, too
        self._share = caps(terms.budget).share
        self._read: dict[str, Account] = {}  # as first read: for what charges within the cap do not change
        row = connection.execute("SELECT number, digest FROM entry ORDER BY number DESC LIMIT 1").fetchone()
        self.head = (
            Receipt(entry=0, digest=START) if row is None else Receipt(entry=row["number"], digest=row["digest"])
        )

    def attempt(self, work: Callable[[Transaction], Receipt]) -> Receipt | Exception:
        """Do one piece of work; or undo it alone, and say why. An error of the database is raised: it concerns all."""
        before = self.head
        self.connection.execute("SAVEPOINT work")
        try:
            outcome: Receipt | Exception = work(self)
        except sqlite3.Error:
            raise
        except Exception as error:
            self.head, outcome = before, error
            self._read.clear()
            self.connection.execute("ROLLBACK TO work")
        self.connection.execute("RELEASE work")
        return outcome

    def open(self, detail: str) -> Receipt:
        """The first entry and the account of everybody."""
        self._insert(Account(name=ALL, policy=self.terms.policy, budget=self.terms.budget, share=self._share))
        return self._append(kind=Kind.OPENING.value, detail=detail)

    @claim("ledger-cap", "one-repeat")
    def charge(self, charge: Charge) -> Receipt:
        """Add the price to the sums, or raise. What failed before any draw is repeated without a price, once."""
        if charge.key is not None:
            check_key(self.connection, charge.key, charge.request)
        self._check_domain(charge.domain)
        new = self._new_tables(charge.tables)
        names = counted(self.partition, self.terms.neighbors, charge.part)
        everybody, own = self._as_first_read(charge.analyst)
        if charge.analyst and own.suspended:
            raise _suspended(own)
        failed = self._repeatable(charge)
        if failed is not None:
            return self._repeat(charge, failed)
        over, amounts = self._pay(charge, names, (everybody, own))
        receipt = self._begin(
            charge,
            kind=Kind.CHARGE.value,
            over=int(over),
            detail=charge_text(Said(domain=charge.domain, part=charge.part, noted=new)),
            **amounts,
        )
        for name, protects in new.items():
            self.connection.execute("INSERT INTO noted VALUES (?, ?, ?)", (name, protects, receipt.entry))
        return receipt

    def _pay(
        self, charge: Charge, names: Sequence[str], accounts: tuple[Account, Account]
    ) -> tuple[bool, dict[str, int | None]]:
        """Is it beyond the cap, and the price in units."""
        everybody, own = accounts
        price = everybody.price(charge.loss)
        own_price = price if own.share == everybody.share else own.price(charge.loss)
        amounts = _columns(price)
        prices: dict[str, object] = {f"in_{place}": name for place, name in enumerate(names)}
        prices |= amounts | {"own": own.name, "own_delta": own_price.delta, "own_rho_delta": own_price.rho_delta}
        over = everybody.over != Units()  # once over, always over: what is certified is what came before
        if not over:
            try:
                self._update(prices, len(names))
            except sqlite3.IntegrityError:  # the CHECK of the account of everybody, of a part, or of the analyst's
                over = True
        if over:
            if charge.analyst or self.terms.policy is not Policy.WARN:
                raise _refused(everybody, self._found([*names, own.name]), charge.loss)
            self._update(prices, len(names), "over_")
            self._read.clear()
        else:
            self._read[own.name] = replace(own, unfinished=own.unfinished + 1)
        return over, amounts

    def _begin(self, charge: Charge, **columns: object) -> Receipt:
        """The entry of an attempt."""
        return self._append(
            analyst=charge.analyst,
            request=charge.request,
            key=charge.key,
            note=charge.note,
            exact=exact_text(charge.loss),
            **columns,
        )

    def _repeatable(self, charge: Charge) -> int | None:
        """The failure of the same question at the same price that may be repeated: before any draw, and not yet."""
        query = """SELECT number, about FROM entry WHERE kind = 'failure' AND request = ? AND analyst = ?
            AND NOT EXISTS (SELECT 1 FROM entry AS later WHERE later.about = entry.number)"""
        for failure in self.connection.execute(query, (charge.request, charge.analyst)).fetchall():
            paid = self.connection.execute("SELECT * FROM entry WHERE number = ?", (failure["about"],)).fetchone()
            if (paid["exact"], charge_from(paid["detail"]).part) == (exact_text(charge.loss), charge.part):
                return int(failure["number"])
        return None

    def _repeat(self, charge: Charge, failed: int) -> Receipt:
        """A second attempt at what was paid for. The first has ended with its failure, so only this one can store."""
        self._read.clear()
        change = "UPDATE account SET unfinished = unfinished + 1 WHERE name = ?"
        self.connection.execute(change, (f"by:{charge.analyst}",))
        return self._begin(
            charge,
            kind=Kind.REPEAT.value,
            about=failed,
            detail=charge_text(Said(domain=charge.domain, part=charge.part)),
        )

    @claim("noted-tables")
    def _new_tables(self, tables: Sequence[tuple[str, str]]) -> dict[str, str]:
        """Tables that were never asked before, or raise: whom a table protects is fixed by the first charge."""
        new = {}
        for name, protects in tables:
            query = "SELECT protects FROM noted WHERE name = ?"
            said = self.connection.execute(query, (name.casefold(),)).fetchone()
            if said is None:
                new[name.casefold()] = protects
            elif said["protects"] != protects:
                raise other_protection(name, said["protects"], protects)
        return new

    def accept(self, detail: str) -> Receipt:
        """The owner goes on without entries that are lost."""
        return self._append(kind=Kind.ACCEPTANCE.value, detail=detail)

    @claim("parallel-parts")
    def divide(self, partition: Partition, check: Callable[[], None] = lambda: None) -> Receipt:
        """An account for each part, or each two, that has spent what everybody was asked about so far. `check` raises
        if the partition is no longer what was declared; nobody can declare anything meanwhile."""
        check()
        if self.partition is not None:
            raise InvalidInputError(
                f"the units are divided already, by {show(self.partition.column)} of {show(self.partition.table)}",
                "use these parts: they never change",
                "already-divided",
            )
        if self.terms.policy is not Policy.REFUSE:
            raise InvalidInputError(
                "the policy of this vault lets charges pass the cap, so parts would promise nothing",
                'make a vault with on_exhausted="refuse"',
                "not-supported",
            )
        check_partition(partition, self.terms.neighbors)
        _, *names = counted(partition, self.terms.neighbors, None)
        (everybody,) = self._found([ALL])
        for name in names:
            self._insert(replace(everybody, name=name))
        self.connection.execute(f"PRAGMA user_version={DIVIDED}")
        receipt = self._append(kind=Kind.PARTITION.value, detail=partition_text(partition))
        self.partition = partition
        return receipt

    def _update(self, prices: dict[str, object], accounts: int, prefix: str = "") -> None:
        changed = self.connection.execute(update(accounts, prefix), prices).rowcount
        if changed != accounts + 1:
            raise TamperedError("an account of the ledger is missing", "do not use this ledger: restore a backup")

    def answer(self, receipt: Receipt, body: bytes) -> Receipt:
        """Keep an answer beside its charge."""
        attempt = self._open_attempt(receipt)
        self.connection.execute("INSERT INTO answer VALUES (?, ?, ?)", (receipt.entry, attempt["request"], body))
        return self._end(attempt, kind=Kind.ANSWER.value, detail=hashlib.sha256(body).hexdigest())

    @claim("one-repeat")
    def failure(self, receipt: Receipt, before_any_draw: bool) -> Receipt:
        """Count a failure. A charge is repeated once; a repeat is not."""
        attempt = self._open_attempt(receipt)
        repeatable = before_any_draw and attempt["kind"] == Kind.CHARGE
        marks = {"request": attempt["request"], "detail": REPEATABLE} if repeatable else {}
        change = "UPDATE account SET failures = failures + 1 WHERE name = ?"
        self.connection.execute(change, (f"by:{attempt['analyst']}",))
        return self._end(attempt, kind=Kind.FAILURE.value, **marks)

    def _end(self, attempt: sqlite3.Row, **columns: object) -> Receipt:
        """The outcome of an attempt."""
        self._read.clear()
        change = "UPDATE account SET unfinished = max(unfinished - 1, 0) WHERE name = ?"
        self.connection.execute(change, (f"by:{attempt['analyst']}",))
        return self._append(analyst=attempt["analyst"], about=attempt["number"], **columns)

    def grant(self, analyst: str, budget: Budget) -> Receipt:
        """Replace the analyst's account by one with this cap."""
        _, old = self._accounts(analyst)
        self._read.clear()
        self.connection.execute("DELETE FROM account WHERE name = ?", (old.name,))
        self._insert(granted(old, budget, self._losses(analyst)))
        return self._append(kind=Kind.GRANT.value, analyst=analyst, detail=budget_text(budget))

    def reinstate(self, analyst: str) -> Receipt:
        """Forgive the failures so far, and attempts that never ended."""
        _, own = self._accounts(analyst)
        self._read.clear()
        self.connection.execute("UPDATE account SET failures = 0, unfinished = 0 WHERE name = ?", (own.name,))
        return self._append(kind=Kind.REINSTATEMENT.value, analyst=analyst)

    @claim("ledger-chain")
    def _append(self, **columns: object) -> Receipt:
        number = self.head.entry + 1
        time = datetime.now(UTC).isoformat(timespec="microseconds")
        record = EMPTY | {"number": number, "time": time} | columns
        head = digest(self.head.digest, record)
        self.connection.execute(INSERT_ENTRY, [record[name] for name in ENTRY] + [head])
        self.head = Receipt(entry=number, digest=head)
        return self.head

    def _check_domain(self, domain: str) -> None:
        """One ledger counts for one kind of unit (rule 12), whatever a declaration says later."""
        # A kind is written out: one that is bound would make SQLite prepare the statement anew each time, for it
        # might be that of a partial index.
        first = self.connection.execute(
            "SELECT detail FROM entry WHERE kind = 'charge' ORDER BY number LIMIT 1"
        ).fetchone()
        if first is None:
            return
        said = charge_from(first["detail"]).domain
        if said != domain:
            raise InvalidInputError(
                f"this ledger counts what is learned about {said or 'units'}, not {domain or 'units'}",
                "create another vault for another unit",
                "mixed-units",
            )

    def _accounts(self, analyst: str) -> tuple[Account, Account]:
        """Of everybody, and the analyst's own, which begins with the first use of the name."""
        name = f"by:{analyst}"
        found = {account.name: account for account in self._found([ALL, name])}
        if name not in found:
            policy = Policy.REFUSE if analyst else self.terms.policy
            found[name] = Account(name=name, policy=policy, budget=None, share=self._share)
            self._insert(found[name])
        return found[ALL], found[name]

    def _found(self, names: Sequence[str]) -> list[Account]:
        return [account_from(row, self._share) for row in rows_of(self.connection, names)]

    def _as_first_read(self, analyst: str) -> tuple[Account, Account]:
        """Policy, share, failures and whether we are over: right for the whole transaction. The sums may be old."""
        name = f"by:{analyst}"
        if name not in self._read:
            self._read |= {account.name: account for account in self._accounts(analyst)}
        return self._read[ALL], self._read[name]

    def _insert(self, account: Account) -> None:
        self.connection.execute(INSERT_ACCOUNT, account.row())

    def _open_attempt(self, receipt: Receipt) -> sqlite3.Row:
        """The charge or the repeat of a receipt, if nothing has come of it yet."""
        query = "SELECT * FROM entry WHERE number = ? AND digest = ? AND kind IN ('charge', 'repeat')"
        row = self.connection.execute(query, (receipt.entry, receipt.digest)).fetchone()
        if row is None:
            raise InvalidInputError(
                "this receipt belongs to no charge in this ledger",
                "give the receipt that spend returned",
                "unknown-receipt",
            )
        if self.connection.execute("SELECT 1 FROM entry WHERE about = ?", (receipt.entry,)).fetchone() is not None:
            raise InvalidInputError(
                f"charge {receipt.entry} has its answer or failure already", "spend again for another release", "closed"
            )
        return row  # type: ignore[no-any-return]

    def _losses(self, analyst: str) -> Counter[Loss]:
        query = "SELECT exact, count(*) FROM entry WHERE kind = 'charge' AND analyst = ? GROUP BY exact"
        rows = self.connection.execute(query, (analyst,))
        return Counter({exact_from(exact): count for exact, count in rows})


def rows_of(connection: sqlite3.Connection, names: Sequence[str]) -> list[Any]:
    """Of these accounts, those that are there."""
    places = ", ".join("?" * len(names))
    return connection.execute(f"SELECT * FROM account WHERE name IN ({places})", names).fetchall()  # noqa: S608


def partition_in(connection: sqlite3.Connection) -> Partition | None:
    """The parts, as their entry says, if that is chained to the one before it. `verify` looks at all the rest."""
    if not is_divided(connection):
        return None
    record = connection.execute("SELECT * FROM entry WHERE kind = 'partition' LIMIT 1").fetchone()
    if record is not None:
        before = connection.execute("SELECT digest FROM entry WHERE number = ?", (record["number"] - 1,)).fetchone()
        if before is not None and digest(before["digest"], record) == record["digest"]:
            return partition_from(record["detail"])
    raise TamperedError("the parts of this ledger were changed", "restore a backup")


def check_key(connection: sqlite3.Connection, key: str, request: str) -> None:
    """A key belongs to one request forever (rule 5)."""
    query = "SELECT 1 FROM entry WHERE key = ? AND request <> ?"
    if connection.execute(query, (key, request)).fetchone() is not None:
        raise InvalidInputError(
            "this idempotency key was used for another request", "use a new key for each new request", "duplicate-key"
        )


def _columns(units: Units) -> dict[str, int | None]:
    return {"epsilon": units.epsilon, "delta": units.delta, "rho": units.rho, "rho_delta": units.rho_delta}


def _suspended(own: Account) -> SuspendedError:
    if own.failures > FAILURES_ALLOWED:
        return SuspendedError(
            f"{own.failures} of your queries failed, so you are suspended",
            "ask the owner to run `privet budget VAULT --reinstate NAME`",
        )
    return SuspendedError(
        f"{own.unfinished} of your queries have not finished and {own.failures} failed; at most"
        f" {FAILURES_ALLOWED + 1} together are allowed",
        "wait for your running queries; if there are none, ask the owner to run `privet budget VAULT --reinstate NAME`",
    )


def other_protection(name: str, said: str, now: str) -> InvalidInputError:
    """Whom a table protects was changed by hand. Both are spelled as in vault.toml."""
    return InvalidInputError(
        f"the ledger has charged for table {show(name)} with {said}, not with {now}, and that never changes",
        f"write {said} for {show(name)} in vault.toml again, or create a new vault",
        "unit-fixed",
    )


def _refused(everybody: Account, accounts: Sequence[Account], loss: Loss) -> BudgetExceededError:
    if everybody.over != Units():
        return BudgetExceededError("the owner's own queries passed the cap; nothing is left", "ask the owner for more")
    short = [
        Short(name=called(account.name), cap=account.caps, spent=account.total)
        for account in accounts
        if account.caps is not None and not account.takes(account.price(loss))
    ]
    return refusal(short, loss)

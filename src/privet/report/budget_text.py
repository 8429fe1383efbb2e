"""Where a budget stands, and the entries of a ledger, for a terminal. Spent is rounded up, left is rounded down."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from privet.answer import loss_json
from privet.core.accountant import Budget
from privet.core.loss import Amount, Loss
from privet.ledger import Entry, Kind
from privet.report.terminal import Pen, ceiling, floor, one_line

if TYPE_CHECKING:
    from privet.vault import Vault
    from privet.vault.budget_reading import BudgetReading

BAR = 30  # letters
OWNER = "(owner)"
LONGEST = 60  # letters of a note


def budget_text(vault: Vault, analyst: str | None, pen: Pen, part: str | None = None) -> str:
    """The budget of all, or the one that an analyst or a part has."""
    reading, terms = _asked(vault, analyst, part), vault.terms
    whose = f" for {one_line(analyst)}" if analyst else "" if part is None else f" for part {one_line(part)}"
    lines = [
        pen.head(f"Budget of {one_line(vault.folder.name)}{whose}: {_cap(reading.cap)}"),
        f"   {terms.neighbors} neighbors; when it is used up: {terms.policy}",
        f"   basic gauge  {_gauge('epsilon', reading.cap.epsilon, reading.spent.epsilon)}",
    ]
    if reading.cap.delta:
        lines.append(f"   zCDP gauge   {_gauge('rho', reading.cap.rho, reading.spent.rho)}")
    if terms.testing:
        lines.append(f"   {pen.bad('NOT PRIVATE: this vault was made for testing')}")
    if reading.holds:
        lines.append(f"   {pen.good('The cap holds.')} A question is answered while either gauge has room for it.")
    else:
        over = f"{pen.bad('The cap no longer holds:')} the policy let charges pass it, {_spent(reading.over)} so far."
        lines.append(f"   {over}")
    if len(reading.budgets) > 1:
        lines.append(f"   Such a question must fit {len(reading.budgets)} budgets; the largest amount spent is shown.")
    if analyst is None and part is None:
        lines += [*_parts(vault, pen), "", *_analysts(vault, pen)]
    return "\n".join(lines)


def _asked(vault: Vault, analyst: str | None, part: str | None) -> BudgetReading:
    return vault.budget_of(analyst) if part is None else vault.budget_of_part(part)


def budget_json(vault: Vault, analyst: str | None, part: str | None = None) -> dict[str, Any]:
    reading, terms = _asked(vault, analyst, part), vault.terms
    return {
        "analyst": analyst,
        "part": part,
        "cap": _cap_json(reading.cap),
        "spent": loss_json(reading.spent),
        "over": loss_json(reading.over),
        "remaining": {"epsilon": _number(reading.remaining.epsilon), "rho": _number(reading.remaining.rho)},
        "holds": reading.holds,
        "neighbors": terms.neighbors,
        "on_exhausted": terms.policy,
        "testing": terms.testing,
        "parts": [_part_json(vault, name) for name in vault.parts],
        "analysts": [_analyst_json(vault, name) for name in _names(vault)] if analyst is None else None,
    }


def entry_line(entry: Entry) -> str:
    """One line: number, time, kind, who, price or what it is about, and the note."""
    what = "" if entry.loss is None else _spent(entry.loss)
    if entry.about is not None:
        what = f"to entry {entry.about}"
    over = "BEYOND THE CAP " if entry.over else ""
    said = entry.detail if entry.kind is Kind.ACCEPTANCE else entry.note
    words = said if entry.part is None else f"[{entry.part}] {said}"
    note = one_line(" ".join(words.split()))
    note = note if len(note) <= LONGEST else note[: LONGEST - 3] + "..."
    who = one_line(entry.analyst) or OWNER
    return f"{entry.number:>6}  {entry.time[:19]}  {entry.kind:<13}  {who:<12}  {over}{what:<28}  {note}".rstrip()


def entry_json(entry: Entry) -> dict[str, Any]:
    return {
        "number": entry.number,
        "time": entry.time,
        "kind": entry.kind,
        "analyst": entry.analyst,
        "cost": None if entry.loss is None else loss_json(entry.loss),
        "request": entry.request,
        "key": entry.key,
        "note": entry.note,
        "about": entry.about,
        "over": entry.over,
        "part": entry.part,
        "digest": entry.digest,
    }


def _parts(vault: Vault, pen: Pen) -> list[str]:
    rows: list[tuple[str, ...]] = [("part", "spent", "left for questions about it")]
    for name in vault.parts:
        reading = vault.budget_of_part(name)
        left = [("epsilon", reading.remaining.epsilon), ("rho", reading.remaining.rho)]
        shown = [f"{gauge} {'none' if amount is None else floor(amount, 6)}" for gauge, amount in left]
        rows.append((one_line(name), _spent(reading.spent), ", ".join(shown[: 2 if reading.cap.delta else 1])))
    return ["", *_columns(rows, pen)] if len(rows) > 1 else []


def _part_json(vault: Vault, name: str) -> dict[str, Any]:
    reading = vault.budget_of_part(name)
    left = {"epsilon": _number(reading.remaining.epsilon), "rho": _number(reading.remaining.rho)}
    return {"part": name, "spent": loss_json(reading.spent), "remaining": left}


def _columns(rows: list[tuple[str, ...]], pen: Pen) -> list[str]:
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    shown = ["   " + "  ".join(f"{cell:<{w}}" for cell, w in zip(row, widths, strict=True)).rstrip() for row in rows]
    return [pen.head(shown[0]), *shown[1:]]


def _analysts(vault: Vault, pen: Pen) -> list[str]:
    rows: list[tuple[str, ...]] = [("who", "spent", "own cap", "")]
    for name in _names(vault):
        cap = vault.ledger.granted(name)
        own = "" if cap is None else _cap(cap)
        suspended = "suspended" if vault.ledger.suspended(name) else ""
        rows.append((one_line(name) or OWNER, _spent(vault.ledger.spent(name).loss), own, suspended))
    return _columns(rows, pen) if len(rows) > 1 else ["   Nobody has asked yet."]


def _analyst_json(vault: Vault, name: str) -> dict[str, Any]:
    cap = vault.ledger.granted(name)
    return {
        "analyst": name,
        "spent": loss_json(vault.ledger.spent(name).loss),
        "cap": None if cap is None else _cap_json(cap),
        "suspended": vault.ledger.suspended(name),
    }


def _names(vault: Vault) -> list[str]:
    """Everybody who was charged or granted something, the owner first."""
    owners = (Kind.OPENING, Kind.PARTITION)
    return sorted({entry.analyst for entry in vault.ledger.entries() if entry.kind not in owners})


def _gauge(name: str, cap: Fraction, spent: Amount) -> str:
    if spent is None:
        return f"[{'#' * BAR}]  certifies nothing any more: something without a price in {name} was released"
    filled = min(-(-spent * BAR // cap), BAR) if cap else BAR
    bar = "#" * int(filled) + "." * (BAR - int(filled))
    left = floor(max(cap - spent, Fraction(0)), 6)
    return f"[{bar}]  {name} {ceiling(spent, 6)} of {floor(cap, 6)} spent, {left} left"


def _cap(budget: Budget) -> str:
    return f"epsilon {floor(budget.epsilon, 6)}" + (f", delta {floor(budget.delta)}" if budget.delta else "")


def _cap_json(budget: Budget) -> dict[str, float]:
    return {"epsilon": float(budget.epsilon), "delta": float(budget.delta), "rho": float(budget.rho)}


def _spent(loss: Loss) -> str:
    parts = [("epsilon", loss.epsilon), ("rho", loss.rho)]
    return ", ".join(f"{name} {'without limit' if amount is None else ceiling(amount, 6)}" for name, amount in parts)


def _number(amount: Amount) -> float | None:
    return None if amount is None else float(amount)

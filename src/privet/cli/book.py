"""Verbs about what was spent: budget and ledger."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

from privet.cli.progress import working
from privet.cli.verb import Verb, json_option, opened, pen, print_json
from privet.core.rational import show
from privet.errors import InvalidInputError, TamperedError
from privet.output import check_free
from privet.report.terminal import one_line
from privet.spelling import did_you_mean

if TYPE_CHECKING:
    from privet.ledger import Receipt
    from privet.ledger.sqlite import SqliteLedger
    from privet.vault import Vault

LEAST_DIGEST = 16  # hex digits of a receipt, as answers show it


def _budget_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("vault", metavar="VAULT")
    whose = command.add_mutually_exclusive_group()
    whose.add_argument("--analyst", metavar="NAME", help="show the budget of this analyst")
    whose.add_argument("--part", metavar="NAME", help="show the budget of this part of the units")
    change = command.add_mutually_exclusive_group()
    change.add_argument(
        "--grant", metavar="NAME", help="cap this analyst at --epsilon; the cap of the vault still holds"
    )
    change.add_argument("--reinstate", metavar="NAME", help="let a suspended analyst ask again")
    command.add_argument("--epsilon", help="epsilon of a grant")
    command.add_argument("--delta", help="delta of a grant (0)")
    json_option(command)


def _budget(options: argparse.Namespace) -> None:
    from privet.report.budget_text import budget_json, budget_text  # noqa: PLC0415

    if (options.grant is None) != (options.epsilon is None) or (options.grant is None and options.delta is not None):
        lacks, given = ("--grant", "--epsilon or --delta") if options.grant is None else ("--epsilon", "--grant")
        raise InvalidInputError(
            f"{given} needs {lacks}", "give both, for example --grant anna --epsilon 1", "missing-option"
        )
    with opened(options.vault) as vault:
        if options.grant is not None:
            from privet.core.accountant import Budget  # noqa: PLC0415

            vault.grant(options.grant, Budget(options.epsilon, options.delta or "0"))
        if options.reinstate is not None:
            _check_known(vault, options.reinstate)
            vault.ledger.reinstate(options.reinstate)
        if options.json:
            print_json("budget", budget_json(vault, options.analyst, options.part))
        else:
            print(budget_text(vault, options.analyst, pen(), options.part))


def _check_known(vault: Vault, analyst: str) -> None:
    """Whoever never asked and has no grant was misspelled."""
    known = {entry.analyst for entry in vault.ledger.entries()} - {""}
    if analyst not in known:
        names = f"the analysts are: {', '.join(sorted(map(one_line, known)))}" if known else "no analyst has asked yet"
        raise InvalidInputError(
            f"there is no analyst {show(analyst)}", did_you_mean(analyst, known) + names, "unknown-person"
        )


def _ledger_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("vault", metavar="VAULT")
    json_option(command)
    actions = command.add_subparsers(title="actions", metavar="ACTION", required=True, dest="action")
    for name, (text, run) in ACTIONS.items():
        action = actions.add_parser(name, help=text, description=text, allow_abbrev=False)
        action.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help="for a program to read")
        action.set_defaults(act=run, parser=action)
        if name == "verify":
            action.add_argument(
                "--receipt", metavar="ENTRY:DIGEST", help="the receipt of an answer: shows whether entries are missing"
            )
        if name in ("backup", "restore", "export"):
            action.add_argument("file", metavar="FILE", type=Path)
        if name == "restore":
            action.add_argument(
                "--forget",
                action="store_true",
                help="restore even if the backup lacks entries that this vault has seen",
            )


def _ledger(options: argparse.Namespace) -> None:
    options.act(options)


def _opened(options: argparse.Namespace) -> SqliteLedger:
    """By itself: it can be looked at while declarations or data cannot be read."""
    from privet.ledger import sqlite  # noqa: PLC0415

    return sqlite.open(_path(options))


def _path(options: argparse.Namespace) -> Path:
    folder = Path(options.vault)
    if not folder.is_dir():
        raise InvalidInputError(
            f"{show(str(folder))} is not a vault", "give the folder that `privet init` made", "vault-missing"
        )
    return folder / "ledger.sqlite"


def _list(options: argparse.Namespace) -> None:
    from privet.report.budget_text import entry_json, entry_line  # noqa: PLC0415

    with _opened(options) as ledger:
        if options.json:
            print_json("ledger", [entry_json(entry) for entry in ledger.entries()])
            return
        for entry in ledger.entries():
            print(entry_line(entry))


def _verify(options: argparse.Namespace) -> None:
    with _opened(options) as ledger, working("replaying the ledger"):
        ledger.verify(None if options.receipt is None else _receipt(options.receipt, ledger))
        head = ledger.head()
    _say(
        options,
        "verified",
        head,
        f"All {head.entry} entries are consistent"
        + (" with each other and with the receipt." if options.receipt is not None else "."),
    )


def _receipt(text: str, ledger: SqliteLedger) -> Receipt:
    """The first 16 digits of a digest are enough to find the rest."""
    from privet.ledger import Receipt  # noqa: PLC0415

    found = re.fullmatch(rf"([0-9]{{1,15}}):([0-9a-f]{{{LEAST_DIGEST},64}})(\.\.\.)?", text.lower())
    if found is None:
        raise InvalidInputError(
            f"{show(text)} is not a receipt",
            f"give ENTRY:DIGEST as on the answer, for example 3:0123456789abcdef ({LEAST_DIGEST} digits or more)",
            "syntax-error",
        )
    number, digest = int(found[1]), found[2]
    full = next((entry.digest for entry in ledger.entries() if entry.number == number), None)
    if full is not None and not full.startswith(digest):
        raise TamperedError(
            f"the ledger is not consistent: entry {number} is not the one on the receipt",
            "do not use this ledger: restore a backup, then run `privet ledger VAULT verify --receipt ENTRY:DIGEST`",
        )
    return Receipt(entry=number, digest=full or digest)


def _backup(options: argparse.Namespace) -> None:
    check_free(options.file)
    with _opened(options) as ledger, working("copying the ledger"):
        head = ledger.backup(options.file)
    _say(options, "backup", head, f"{options.file} has all {head.entry} entries.")


def _restore(options: argparse.Namespace) -> None:
    from privet.ledger import sqlite  # noqa: PLC0415

    path = _path(options)
    if path.is_file() and path.stat().st_size:
        raise InvalidInputError(
            f"{one_line(options.vault)} already has a ledger, and a backup never replaces one",
            f"run `privet ledger {quote(options.vault)} verify`; if it is damaged, move {path.name} away first",
            "file-exists",
        )
    with working("restoring and replaying the ledger"):
        sqlite.restore(options.file, path, forget=options.forget)
    with _opened(options) as ledger:
        head = ledger.head()
    _say(
        options,
        "restored",
        head,
        f"Restored: the ledger has {head.entry} entries. If anything was spent after that backup, the ledger does not"
        " know it, but those who saw the answers do. Compare it with your newest receipt:"
        " privet ledger VAULT verify --receipt ENTRY:DIGEST.",
    )


def _accept(options: argparse.Namespace) -> None:
    from privet.ledger import sqlite  # noqa: PLC0415

    with working("replaying the ledger"):
        head = sqlite.accept(_path(options))
    _say(
        options,
        "accepted",
        head,
        "The ledger is used as it is. What the lost entries spent is not counted, so the cap may not hold. Every"
        " answer from now on says so.",
    )


def _export(options: argparse.Namespace) -> None:
    with _opened(options) as ledger:
        head = ledger.head()
        ledger.export(options.file)
    _say(options, "export", head, f"{options.file} has the entries as lines of JSON, without the answers.")


def _say(options: argparse.Namespace, kind: str, head: Receipt, words: str) -> None:
    if options.json:
        result: dict[str, Any] = {"entry": head.entry, "digest": head.digest}
        print_json(kind, result)
    else:
        print(f"{words}\nReceipt of the last entry: {head.entry}:{head.digest}")


ACTIONS = {
    "list": ("all entries, oldest first", _list),
    "verify": ("check that all entries, sums and answers are consistent", _verify),
    "backup": ("copy everything into a new file", _backup),
    "restore": ("restore the ledger of a vault that has none from a backup", _restore),
    "accept": ("continue although the newest entries or the anchor are lost; every later answer says so", _accept),
    "export": ("write the entries as lines of JSON", _export),
}
VERBS = {
    "budget": Verb(
        "show the cap, what is spent and what is left; grant analysts a share",
        "privet budget clinic.privet --grant anna --epsilon 1",
        _budget_options,
        _budget,
    ),
    "ledger": Verb(
        "list, verify, back up, restore, accept or export the ledger",
        "privet ledger clinic.privet verify --receipt 3:0123456789abcdef",
        _ledger_options,
        _ledger,
    ),
}

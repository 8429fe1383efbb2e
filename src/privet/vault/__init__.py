"""The owner's object: a folder with declarations and a ledger. The data stay where they are."""

from privet.vault.opening import create, open
from privet.vault.vault import Vault

__all__ = ["Vault", "create", "open"]

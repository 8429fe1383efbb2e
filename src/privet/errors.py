"""One tree of errors. Each says what is wrong and what to do about it, from public facts only."""

from __future__ import annotations


class PrivetError(Exception):
    """Anything Privet refuses. `problem` says what, `remedy` says what to write instead.

    `code` is for programs: words change, codes do not (docs/reference/errors.md). `place` is empty, or quotes a line of
    what the user wrote, with a mark below it.
    """

    code = ""
    place = ""

    def __init__(self, problem: str, remedy: str, code: str = "") -> None:
        super().__init__(problem, remedy)
        self.problem = problem
        self.remedy = remedy
        self.code = code or self.code

    def __str__(self) -> str:
        return "\n".join(filter(None, (self.problem, self.place, f"  remedy: {self.remedy}")))


class InvalidInputError(PrivetError, ValueError):
    """A value that a function cannot take."""

    code = "invalid-input"


class NoiseOverflowError(PrivetError, OverflowError):
    """A draw that its integer type cannot hold. Nothing is wrapped around or clipped."""

    code = "noise-overflow"


class RefusedQueryError(PrivetError):
    """A question that Privet does not answer. Nothing was charged and no data were read."""

    code = "refused-query"
    part: object = None  # of the text, while it is read


class TableUnavailableError(PrivetError):
    """A table that cannot be read now. Nothing was charged; why is for the owner's eyes only."""

    code = "table-unavailable"


class BudgetExceededError(PrivetError):
    """A charge that no gauge certifies. Nothing was charged and no data were read."""

    code = "budget-exceeded"


class LedgerError(PrivetError):
    """The ledger cannot be read or written. Nothing was delivered."""

    code = "ledger-unusable"


class TamperedError(LedgerError):
    """The ledger's entries do not fit each other, or do not fit a receipt."""

    code = "ledger-tampered"


class SuspendedError(PrivetError):
    """An analyst who may not ask for now."""

    code = "analyst-suspended"


class ReleaseFailedError(PrivetError):
    """Something went wrong after the charge. The text never says what, since that may depend on the data."""

    code = "release-failed"
